/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of time that repeat, as users write them: "DELAY:DURATION:REPEAT". DELAY without recording, then DURATION
 * with it, and that again, REPEAT times in all; without REPEAT, or with 0, until the end.
 */
#ifndef BASE_PERIOD_H
#define BASE_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct period {
	uint64_t delay_ns, duration_ns; /* 0 and 0: no windows */
	uint64_t repeat;                /* 0: until the end */
};

/* False: `why` says what is wrong with it. */
bool period_parse(struct period *p, const char *text, char *why, size_t size);

#endif
