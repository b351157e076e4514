/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and lines of an address by debug information, with the functions that a compiler has inlined there.
 * For stream/symbol.c alone.
 */
#ifndef STREAM_DWARF_PLACE_H
#define STREAM_DWARF_PLACE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DWARF_PLACES = 64 }; /* of one address: deeper inlining is cut, the outermost place stays */

/* A function at an address. Texts are the module's. */
struct dwarf_place {
	const char
		*function; /* as the linker would have it; NULL in the outermost: not looked for */
	const char *file;  /* NULL: unknown */
	uint32_t line;     /* that is executed, or in which the function before it was called */
};

/* Of one module; zeroed before its first use. */
struct dwarf_units {
	struct dwarf_unit *at; /* by address; made when the file's own table has missed one */
	size_t count;
	bool known;
};

/*
 * Places of `address` (of the module, without the bias of a process), innermost first: inlined functions, then the one
 * that has the code. 0: there is no debug information of it.
 */
unsigned dwarf_places(struct dwarf_units *u, Dwfl_Module *elf, uint64_t address,
		      struct dwarf_place out[DWARF_PLACES]);
void dwarf_units_release(struct dwarf_units *u);

#endif
