/* SPDX-License-Identifier: Apache-2.0 */
/* A program that counts, as `kymo rewrite` makes it, and what is counted in it. */
#ifndef CORE_COUNTER_REWRITTEN_H
#define CORE_COUNTER_REWRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel, or a block, or something that each execution of a block does. Strings lie in the result's text. */
struct cap_rewritten_part {
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

struct cap_rewritten_list {
	struct cap_rewritten_part *at;
	uint32_t count, room;
};

struct cap_rewritten {
	char *text;          /* all of it */
	const char *source;  /* terminated; "" where all kernels are refused */
	const char *options; /* that building it needs */
	struct cap_rewritten_list kernels, blocks, parts;
	/* Arguments of kernels (`name`) that point to memory: `what` is its name, `block` its number. */
	struct cap_rewritten_list arguments;
	/* Of PTX: name, "visible" or "hidden", and in `space` whether it is "initialised". */
	struct cap_rewritten_list variables;
};

/*
 * `kymo rewrite` with these words behind it (argv[0] is "kymo", the last NULL) makes it of a program of so many bytes. False: `why` says why
 * there is none; nothing is to be released.
 */
bool cap_rewrite(const void *program, size_t bytes, char *const argv[], struct cap_rewritten *out,
		 char *why, size_t size);
void cap_rewritten_release(struct cap_rewritten *r);

/* Takes over `text`, of `length` bytes and terminated, in any case. False: it is no result. */
bool cap_rewritten_parse(char *text, size_t length, struct cap_rewritten *out);

#endif
