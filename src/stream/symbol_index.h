/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of a module by address. libdwfl's dwfl_module_addrinfo() walks through all symbols for each address, which takes
 * minutes where thousands of sites are in a library of a million symbols.
 */
#ifndef STREAM_SYMBOL_INDEX_H
#define STREAM_SYMBOL_INDEX_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_range {
	uint64_t start, end; /* of the module's own addresses */
	uint64_t ends_until; /* the highest end of this one and all before it */
	const char *name;    /* the module's */
	unsigned visibility; /* 0: the widest */
	int number;          /* in the module */
	bool sized;
};

struct symbol_ranges {
	struct symbol_range *at; /* by start */
	size_t count, room;
};

/* All zero: not made. A thread at a time. */
struct symbol_index {
	struct symbol_ranges sized;
	struct symbol_ranges
		labels; /* of assembly, without a size: up to the end of their section */
	bool made;
};

/*
 * The code that contains `address`: of several symbols with a size the one that begins last, then the one that is more
 * widely visible, then the shorter, then the first; without one the last label that no such symbol ends behind. NULL: there is none.
 */
const struct symbol_range *symbol_index_find(struct symbol_index *x, Dwfl_Module *m,
					     uint64_t address);
void symbol_index_release(struct symbol_index *x);

#endif
