/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information of a file that code was added to: that of the file, and entries for the moved instructions, which say what the
 * file's own say of those that they stand for. All of it is written anew, in another place of the file, as a table for searching leads to
 * it. LSB Core, "Exception Frames"; DWARF 4, section 6.4.
 */
#ifndef FUNCTIONS_FRAME_TABLE_H
#define FUNCTIONS_FRAME_TABLE_H

#include "base/text.h"
#include "functions/image.h"

struct frame_row {
	uint64_t at, bytes; /* of a function */
	uint64_t entry;     /* offset of what is said of it */
};

struct frame_table {
	struct image_part part; /* of the file; behind its last entry nothing is copied */
	struct frame_row *rows; /* by rising address */
	uint32_t count, room;
};

/* False: there is no memory, or the file has none, or of a kind that cannot be moved. frame_table_release() in any case. */
bool frame_table_open(struct frame_table *t, const struct image *m);
void frame_table_release(struct frame_table *t);

/* Code that was added. */
struct frame_moved {
	uint64_t at, bytes;
	uint64_t site;                 /* address of the instructions that it stands for */
	const struct plan_move *moves; /* `to` is behind the head */
	uint8_t head, count;
	uint8_t pushed; /* behind which byte the stack has a return address more; 0: it has none */
};

/* Where its parts begin. */
struct frame_places {
	uint64_t header, entries, end;
};

/*
 * Adds the table and the entries for the place `at`, at a multiple of 8, to `out`; how long they are does not depend on addresses. False: an
 * address is out of reach, or there is no memory. Code whose function is not described is left out, as all from a rule on that cannot be understood.
 */
bool frame_table_write(const struct frame_table *t, uint64_t at, const struct frame_moved *moved,
		       uint32_t count, struct text *out, struct frame_places *places);

#endif
