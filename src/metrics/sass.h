/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of NVIDIA's kernels as text, by the disassembler of the user's toolkit: nvdisasm, else cuobjdump, in PATH
 * or in bin of CUDA_HOME, CUDA_PATH or /usr/local/cuda.
 */
#ifndef METRICS_SASS_H
#define METRICS_SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sass;
struct sqlite3;

/* NULL: no memory. */
struct sass *sass_new(void);
void sass_free(struct sass *s);

/* Why there is no text, with what to do about it; NULL: a disassembler is there. */
const char *sass_why(const struct sass *s);

/* Disassembles a module, once; no text of it where that fails. `name` says which one it is. */
void sass_module(struct sass *s, const char *name, const void *cubin, size_t bytes);

/* All modules that a store has code of; one that was cut is none. False: it cannot be read. */
bool sass_read(struct sass *s, struct sqlite3 *db);

struct sass_code {
	uint64_t address;
	char *text;
	bool first; /* of a basic block: something jumps here */
};

/* The instructions of a function, whose name is demangled; NULL: they are not known. */
const struct sass_code *sass_function(const struct sass *s, const char *module,
				      const char *function, uint32_t *count);

/* ---- sass_use.c: loads and their first uses, in program order and in one basic block ---------------- */

/* How many instructions behind the load at `i` its first use stands; 0: it is no load, or nothing in its block uses it. */
uint32_t sass_load_use(const struct sass_code *at, uint32_t count, uint32_t i);

/* Of the loads that the instruction at `i` is the first to use, the one that stands nearest; UINT32_MAX: there is none. */
uint32_t sass_load_of(const struct sass_code *at, uint32_t count, uint32_t i);

/* The instruction `offset` bytes into the function; UINT32_MAX: there is none. */
uint32_t sass_at(const struct sass_code *at, uint32_t count, uint64_t offset);

#endif
