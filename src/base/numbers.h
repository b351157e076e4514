/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of numbers as users write them, "0,4-7", and names of ranges with numbers of executions, "step#100-110". */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct number_list {
	struct number_span {
		uint64_t first, last;
	} * at; /* owned: free() */
	uint32_t count, room;
};

/* Adds what `text` lists. False: it is no such list, or there is no memory. */
bool numbers_parse(struct number_list *l, const char *text);

bool numbers_have(const struct number_list *l, uint64_t n);

/*
 * Cuts "#100-110" off `name` and adds the numbers, which begin with 1. Names may have # and other text in them, and
 * "ProfilerStep#5" may be the name of a range: which is meant tells the program. False: numbers that cannot be.
 */
bool numbers_cut(char *name, struct number_list *l);

#endif
