/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of NVIDIA's kernels as text, by the disassembler of the user's toolkit: nvdisasm, else cuobjdump, in PATH
 * or in bin of CUDA_HOME, CUDA_PATH or /usr/local/cuda.
 */
#ifndef METRICS_SASS_H
#define METRICS_SASS_H

#include <stddef.h>
#include <stdint.h>

struct sass;

/* NULL: no memory. */
struct sass *sass_new(void);
void sass_free(struct sass *s);

/* Why there is no text, with what to do about it; NULL: a disassembler is there. */
const char *sass_why(const struct sass *s);

/* Disassembles a module, once; no text of it where that fails. `name` says which one it is. */
void sass_module(struct sass *s, const char *name, const void *cubin, size_t bytes);

/* The instruction `offset` bytes into a function, whose name is demangled; NULL: it is not known. */
const char *sass_instruction(const struct sass *s, const char *module, const char *function,
			     uint64_t offset);

#endif
