/* SPDX-License-Identifier: Apache-2.0 */
/* A program's source that counts, as `kymo rewrite` makes it, and what is counted in it. */
#ifndef CAPTURE_OPENCL_REWRITTEN_H
#define CAPTURE_OPENCL_REWRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel, or a block, or something that each execution of a block does. Strings lie in the result's text. */
struct ocl_rewritten_part {
	const char *name; /* of a block its function, of a kernel its own */
	const char *
		what; /* "load", "flop_single" ...; of a block its kind; of a kernel why it is refused, or NULL */
	const char *space; /* of accesses, else "" */
	const char *file;  /* "": the program's source */
	uint32_t block;    /* of what belongs to one */
	uint32_t site;     /* of accesses: which records name, plus 1; else 0 */
	uint32_t record;   /* of regions and arguments: likewise, as it is */
	uint32_t line, column;
	uint64_t bytes, times;
};

struct ocl_rewritten_list {
	struct ocl_rewritten_part *at;
	uint32_t count, room;
};

struct ocl_rewritten {
	char *text;          /* all of it */
	const char *source;  /* terminated; "" where all kernels are refused */
	const char *options; /* that building it needs */
	struct ocl_rewritten_list kernels, blocks, parts;
	/* Arguments of kernels (`name`) that point to memory: `what` is its name, `block` its number. */
	struct ocl_rewritten_list arguments;
};

/* `mode`: "count", "address", "block" or "both", see `kymo rewrite`; `extensions`: those of the device. False: `why` says why there is none; nothing is to be released. */
bool ocl_rewrite(const char *source, const char *mode, const char *options, const char *extensions,
		 struct ocl_rewritten *out, char *why, size_t size);
void ocl_rewritten_release(struct ocl_rewritten *r);

/* Takes over `text`, of `length` bytes and terminated, in any case. False: it is no result. */
bool ocl_rewritten_parse(char *text, size_t length, struct ocl_rewritten *out);

#endif
