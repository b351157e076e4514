/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of x86-64, as far as moving them and following branches needs to know. Capstone decodes; it is loaded when it is wanted. */
#ifndef FUNCTIONS_DECODE_H
#define FUNCTIONS_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum decoded_kind {
	DECODED_PLAIN,
	DECODED_NOP,
	DECODED_JUMP,   /* direct, to `target` */
	DECODED_BRANCH, /* jcc */
	DECODED_SHORT,  /* loop, jrcxz: reaches 128 bytes, and no other form does */
	DECODED_CALL,
	DECODED_INDIRECT_JUMP,
	DECODED_INDIRECT_CALL,
	DECODED_RETURN,
	DECODED_STOP, /* ud2, hlt: what follows is not reached */
	DECODED_UNMOVABLE /* means something else in another place: far and interrupt returns, xbegin, eip-relative */
};

struct decoded {
	uint64_t at;
	uint64_t target;  /* of DECODED_JUMP, BRANCH, SHORT, CALL */
	uint64_t operand; /* address of a rip-relative operand, if `relative` */
	uint8_t bytes[15];
	uint8_t length;
	uint8_t kind;       /* enum decoded_kind */
	uint8_t opcode_at;  /* where prefixes end */
	uint8_t operand_at; /* where the displacement is, if `relative` */
	bool relative;
	bool by_rsp;   /* its memory operand is relative to rsp */
	bool sets_rsp; /* writes rsp */
	bool lea;      /* takes an address */
};

struct decoder;

/* NULL: Capstone is not here, `why` says so. One thread at a time. */
struct decoder *decoder_new(char *why, size_t size);
void decoder_free(struct decoder *d);

/* The instruction at `bytes`, whose address is `at`; false: it is none that is known. */
bool decode(struct decoder *d, const uint8_t *bytes, uint64_t left, uint64_t at,
	    struct decoded *out);

/* What was decoded last, as text: mnemonic and operands. */
void decoded_text(const struct decoder *d, char *out, size_t size);

/* Nothing goes on behind it. */
static inline bool decoded_ends(const struct decoded *i)
{
	return i->kind == DECODED_JUMP || i->kind == DECODED_INDIRECT_JUMP ||
	       i->kind == DECODED_RETURN || i->kind == DECODED_STOP;
}

static inline bool decoded_branches(const struct decoded *i)
{
	return i->kind == DECODED_JUMP || i->kind == DECODED_BRANCH || i->kind == DECODED_SHORT;
}

#endif
