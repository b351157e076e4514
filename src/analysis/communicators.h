/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators that are called the same, told apart by numbers that are the same in all their ranks. */
#ifndef ANALYSIS_COMMUNICATORS_H
#define ANALYSIS_COMMUNICATORS_H

#include "stream/stream.h"

/* By index: its number + 1, 0: nothing else is called so. Of one rank each they are one. NULL: no memory. */
uint32_t *communicators_numbered(const struct trace *t);

#endif
