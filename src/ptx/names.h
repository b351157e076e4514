/* SPDX-License-Identifier: Apache-2.0 */
/* Names inside a function: its registers, where branches go, which predicates have a block. */
#ifndef PTX_NAMES_H
#define PTX_NAMES_H

#include "ptx/scan.h"

struct ptx_register {
	struct ptx_word name;
	uint32_t many; /* %r<27>: 27; 0: the name is all of it */
	uint32_t bits; /* 1: a predicate */
	uint32_t depth;
};

struct ptx_names {
	const char *text;
	struct ptx_register *registers;
	uint32_t register_count, register_room;
	struct ptx_word *targets; /* sorted once they are all there */
	uint32_t target_count, target_room;
};

/* From the operands of a .reg, up to `end`. False: no memory. */
bool ptx_names_declare(struct ptx_names *n, uint32_t at, uint32_t end, uint32_t depth);
/* A scope of this depth ends. */
void ptx_names_leave(struct ptx_names *n, uint32_t depth);
/* 0: it is no register that is known. */
uint32_t ptx_names_bits(const struct ptx_names *n, struct ptx_word name);

/* Of all branches between: labels that they name. False: no memory. */
bool ptx_names_targets(struct ptx_names *n, uint32_t from, uint32_t to);
bool ptx_names_is_target(const struct ptx_names *n, struct ptx_word label);
void ptx_names_release(struct ptx_names *n);

#endif
