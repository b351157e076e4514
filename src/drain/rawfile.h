/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a raw file (wire/raw.h). Blocks are gathered and written together; when the file system
 * refuses, the file ends at the last whole block and what is lost from then on is counted.
 */
#ifndef DRAIN_RAWFILE_H
#define DRAIN_RAWFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/raw.h"

struct rawfile {
	int fd;
	int failed; /* errno of the first write that was refused, 0 while all is well */
	char path[PATH_MAX];
	uint64_t bytes;        /* in the file */
	uint64_t lost_records; /* not written because the file system refused */
	uint64_t lost_definitions;
	uint8_t *pending; /* blocks to be written */
	size_t pending_bytes;
	size_t pending_room;
};

/* Makes raw/HOST-PID-N.kyr in `trace`, N the first that is free. False: errno tells. */
bool rawfile_create(struct rawfile *f, const char *trace, const struct raw_header *h);

/* The same, named raw/HOST-WHAT-N.kyr. */
bool rawfile_create_as(struct rawfile *f, const char *trace, const char *what,
		       const struct raw_header *h);

/*
 * Room for the payload of a block; NULL: out of memory. The caller fills it, then commits with
 * `b->raw` bytes of it used; type, thread, seq and ticks are the caller's, the rest is filled in.
 */
uint8_t *rawfile_reserve(struct rawfile *f, size_t bytes);
void rawfile_commit(struct rawfile *f, struct raw_block *b);

/* Adds a block with that payload. */
void rawfile_add(struct rawfile *f, uint16_t type, const void *payload, uint32_t bytes);

/* Writes what is pending. False: the file has failed. */
bool rawfile_flush(struct rawfile *f);

void rawfile_close(struct rawfile *f);

/*
 * Rewrites a finished file with compressed blocks, if that saves anything: new file, rename. Stops
 * at `deadline` (CLOCK_MONOTONIC ns) and leaves the file as it was. Returns its size afterwards, 0
 * if it was left alone.
 */
uint64_t rawfile_compress(const char *path, uint64_t deadline);

#endif
