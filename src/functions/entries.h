/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of .eh_frame in a file: LSB Core, "Exception Frames". What is damaged is told, and leads nowhere. */
#ifndef FUNCTIONS_ENTRIES_H
#define FUNCTIONS_ENTRIES_H

#include "functions/image.h"

/* How pointers are written. */
enum {
	ENTRY_OMIT = 0xff,
	ENTRY_PC_RELATIVE = 0x10,
	ENTRY_INDIRECT = 0x80,
	ENTRY_FORM = 0x0f,
	ENTRY_BASE = 0x70
};

struct cursor {
	const uint8_t *bytes;
	uint64_t at; /* address of *bytes */
	uint64_t left;
	bool bad;
};

struct cursor cursor_of(const struct image_part *p, uint64_t offset);
uint64_t cursor_fixed(struct cursor *c, unsigned n);
uint64_t cursor_leb(struct cursor *c, bool is_signed);
void cursor_skip(struct cursor *c, uint64_t n);
/* A number in the form of this encoding. */
uint64_t cursor_value(struct cursor *c, unsigned encoding);
/* An address; 0 is none. */
uint64_t cursor_pointer(struct cursor *c, unsigned encoding);

/* An entry, common or of a function; all are offsets in the part. */
struct entry {
	uint64_t common;    /* of its common entry; itself, if it is one */
	uint64_t next;      /* where the next one begins */
	struct cursor rest; /* behind what tells the two apart */
};

/* False: there is none. */
bool entry_at(const struct image_part *p, uint64_t offset, struct entry *out);

struct entry_common {
	unsigned pointers, pads; /* encodings */
	unsigned personality;    /* of the pointer at personality_at; ENTRY_OMIT: there is none */
	uint64_t personality_at;
	uint64_t code_align;
	int64_t data_align;
	bool augmented, signal;
	struct cursor beginning; /* instructions that hold for all its functions */
};

/* False: there is no common entry. */
bool entry_common(const struct image_part *p, uint64_t offset, struct entry_common *out);

/* What the entry of a function begins with. */
struct entry_function {
	uint64_t at, bytes;
	uint64_t pads;    /* address of the table of landing pads, 0: none */
	uint64_t pads_at; /* where that is said */
	struct cursor instructions;
};

bool entry_function(const struct entry *e, const struct entry_common *common,
		    struct entry_function *out);

/* The section, or what the table for searching it leads to. False: there is none. */
bool entries_find(const struct image *m, struct image_part *out);

#endif
