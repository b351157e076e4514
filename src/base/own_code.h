/* SPDX-License-Identifier: Apache-2.0 */
/* Which code is Kymo's own: what stands before functions of the C library passes Kymo's own calls on. */
#ifndef BASE_OWN_CODE_H
#define BASE_OWN_CODE_H

#include <stdbool.h>

/* Of the libraries that are loaded now. Once, before the first question. */
void own_code_find(void);

/* Any thread, any time; locks nothing. */
bool own_code_has(const void *address);

#endif
