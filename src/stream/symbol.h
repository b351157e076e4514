/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function, file and line of call sites, looked up when asked for and kept. Works from symbol tables
 * where there is no debug information, and gives module and offset where there is nothing. C++
 * names are as they were written (demangle.h).
 */
#ifndef STREAM_SYMBOL_H
#define STREAM_SYMBOL_H

#include "stream/stream.h"

struct symbol {
	const char *function; /* with its parameters in C++; NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;        /* 0: unknown */
	const char *module;   /* file name without folder, "" unknown */
	uint64_t offset;      /* of the call in the module (its ELF address) */
};

struct symbols;

/* Borrows the trace. A module that is gone or was rebuilt since is warned about once. */
struct symbols *symbols_new(const struct trace *t, struct stream_log *log);
void symbols_free(struct symbols *s);

/* Never NULL; valid until symbols_free(). */
const struct symbol *symbols_site(struct symbols *s, uint32_t site);

/* Without result and parameters: "function file.c:12", "function+module", "libx.so+0x1234" or "0x401010" into `out`. */
const char *symbols_text(struct symbols *s, uint32_t site, char *out, size_t size);

#endif
