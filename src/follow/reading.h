/* SPDX-License-Identifier: Apache-2.0 */
/* Room that looks share: a window of a file, what is decompressed, a chunk of a program's memory. */
#ifndef FOLLOW_READING_H
#define FOLLOW_READING_H

#include "follow/process.h"

enum { READING_WINDOW = 256 << 10, READING_PAYLOAD_MOST = 64 << 20 };

/* A chunk that was found in a program's memory. */
struct reading_found {
	uint64_t seq;
	uint32_t thread, chunk, committed, type;
};

struct follow_reading {
	const struct follow_process *of; /* whose file the window is of; NULL: nobody's */
	uint8_t *window;
	size_t room, count;
	uint64_t at; /* its offset in the file */
	struct raw_buffer plain;
	uint8_t *chunk;
	size_t chunk_room;
	struct shm_chunk_ctl *ctl;
	uint32_t ctl_room;
	struct reading_found *found;
	uint32_t found_count, found_room;
};

#endif
