/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function, file and line of call sites, looked up when asked for and kept. Works from symbol tables
 * where there is no debug information, and gives module and offset where there is nothing. C++
 * names are as they were written (demangle.h). Where the compiler has inlined functions, a site is in the
 * innermost of them, and leads to those around it.
 */
#ifndef STREAM_SYMBOL_H
#define STREAM_SYMBOL_H

#include "stream/stream.h"

struct symbol {
	const char *function; /* with its parameters in C++; NULL: unknown */
	const char *file;     /* NULL: unknown; of a kernel whose source came as text: NAME.cl */
	uint32_t line;        /* 0: unknown */
	const char *module;   /* file name without folder, "" unknown */
	uint64_t offset;      /* of the call in the module (its ELF address) */
	uint32_t number; /* of all symbols: the site, behind those functions around inlined ones */
	/* The function that this one was inlined into; its line is where it called this one. NULL: it was not. */
	const struct symbol *caller;
};

struct symbols;

/* Built with a library that reads debug information. */
bool symbols_have_lines(void);

/* Borrows the trace. A module that is gone or was rebuilt since is warned about once. */
struct symbols *symbols_new(const struct trace *t, struct stream_log *log);
void symbols_free(struct symbols *s);

/* Never NULL; valid until symbols_free(). */
const struct symbol *symbols_site(struct symbols *s, uint32_t site);

/* Machine code of the function that a place is in, as the file of its module has it. */
struct symbol_code {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t address; /* of the first byte, in the module */
	uint64_t
		at; /* of the place: of the instruction, or of a byte of the call that it is behind */
};

/* False: the file is gone or was rebuilt, or does not tell. Valid until symbols_free(). */
bool symbols_code(struct symbols *s, uint32_t site, struct symbol_code *out);

/*
 * The frames of a place in a stack, from the innermost function out:
 * for (y = symbols_site(s, site); y; y = y->caller)
 */

/* Which frames of Kymo's own code are left out. */
enum symbols_own {
	SYMBOLS_CALLER, /* all: the stack is that of a call, and ends in whoever made it */
	SYMBOLS_TIME /* those on the way; the innermost are one, "(Kymo)", since time was spent there */
};

/*
 * The places of a stack as it is shown, from the innermost one out: `*count` of them, valid until the next call. All that show stacks
 * ask here; what was recorded is in the trace.
 */
const uint32_t *symbols_stack(struct symbols *s, uint32_t stack, enum symbols_own own,
			      uint32_t *count);

/* Without result and parameters: "function file.c:12", "function+module", "libx.so+0x1234" or "0x401010" into `out`. */
const char *symbols_text(struct symbols *s, uint32_t site, char *out, size_t size);
const char *symbol_text(const struct symbol *y, char *out, size_t size);
/* "function(int)", else as symbol_text() has it; " (inlined)" behind it if it was. */
const char *symbol_frame(const struct symbol *y, char *out, size_t size);

#endif
