/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what may be no memory at all. */
#ifndef BASE_CAREFUL_H
#define BASE_CAREFUL_H

#include <stddef.h>

/* Copies up to `size` bytes; returns how many. What lies after the first page comes as a whole or not at all. */
size_t careful_copy(void *out, const void *from, size_t size);

#endif
