/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file with two more segments, one to be run and one to be written (instrument.h). All addresses are of the file. */
#ifndef FUNCTIONS_REWRITE_H
#define FUNCTIONS_REWRITE_H

#include "base/text.h"
#include "functions/frame_table.h"

struct rewrite {
	const struct image *image;
	struct text *out; /* the new file */
	char *why;        /* IMAGE_WHY bytes */
	Elf64_Ehdr header;
	uint64_t base; /* address of the file's first byte */
	uint64_t plan_bytes, frames_bytes, stubs_bytes,
		slots_bytes; /* set before rewrite_lay_out() */
	/* Set by it. */
	uint64_t headers_at, note_at, note_end, plan_at, frames_at, stubs_at, slots_at, end;
	struct frame_places frames; /* set before rewrite_finish(), if there are bytes of them */
	struct text symbols, symbol_names; /* that rewrite_symbol() has added */
	bool unshadowed;
};

/* Copies the file. False: `why`. */
bool rewrite_open(struct rewrite *r);
/* Where everything will lie. False: `why`. */
bool rewrite_lay_out(struct rewrite *r);
/* A jump to `to` at `site`, where `count` bytes have to be the expected ones. False: `why`. */
bool rewrite_jump(struct rewrite *r, uint64_t site, uint64_t to, const uint8_t *expected,
		  unsigned count);
/* Code that was added has the name of the function with ".kymo", if the file has symbols. */
void rewrite_symbol(struct rewrite *r, const char *name, uint64_t at, uint64_t bytes);
/* Adds what was laid out. False: `why`. */
bool rewrite_finish(struct rewrite *r, const uint8_t id[PLAN_NOTE_ID], const struct text *plan,
		    const struct text *frames, const struct text *stubs);
void rewrite_release(struct rewrite *r);

#endif
