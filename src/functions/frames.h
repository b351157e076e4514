/* SPDX-License-Identifier: Apache-2.0 */
/* Functions as call frame information (.eh_frame) has them: also those of files without symbols. LSB Core, "Exception Frames". */
#ifndef FUNCTIONS_FRAMES_H
#define FUNCTIONS_FRAMES_H

#include "functions/image.h"

struct frame {
	uint64_t at, bytes;
	uint64_t pads; /* address of the table of landing pads (LSDA), 0: none */
	bool fragment; /* at its first instruction the stack is not that of a function that was just called */
	bool outermost; /* there is no caller */
	bool signal;    /* returns from a signal handler */
};

struct frames {
	struct frame *items; /* by rising address */
	uint32_t count, room;
};

/* False: no memory. What is damaged ends the list. */
bool frames_read(const struct image *m, struct frames *out);
void frames_release(struct frames *f);

/* The one that begins there, or has the address in it; NULL: none. */
const struct frame *frames_at(const struct frames *f, uint64_t at);
const struct frame *frames_around(const struct frames *f, uint64_t at);

/* A landing pad lies in [from, to). What cannot be read counts as one. */
bool frame_has_pad(const struct image *m, const struct frame *f, uint64_t from, uint64_t to);

#endif
