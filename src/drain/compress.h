/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression of raw files, block by block: a file may hold both kinds, and says the same to readers
 * whatever is compressed of it. The compressed file is a new one that takes the old one's place, so there
 * is a whole file at any time. It may begin while the file still grows. What does not check is not
 * touched: a damaged file stays as it is.
 */
#ifndef DRAIN_COMPRESS_H
#define DRAIN_COMPRESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "drain/replace.h"

enum compress_status {
	COMPRESS_MORE,      /* there is more to do */
	COMPRESS_WAITING,   /* what is whole of the file is done */
	COMPRESS_DONE,      /* it has taken the old one's place */
	COMPRESS_NOTHING,   /* there was nothing to gain */
	COMPRESS_DAMAGED,   /* the file does not check at offset `at` */
	COMPRESS_GROWING,   /* somebody may still write to it: it has no end, and changed lately */
	COMPRESS_GONE,      /* that file is not there any more, or somebody is replacing it */
	COMPRESS_FAILED,    /* errno */
	COMPRESS_IMPOSSIBLE /* this Kymo was built without zstd */
};

/* One file. What is read here by others is said. */
struct compress {
	struct replacement
		out; /* fd -1: nothing was gained so far, `out` would be the same as `in` */
	int in;
	uint64_t at;      /* of `in`, for readers: all before is done */
	uint64_t written; /* of `out`, once nothing is gathered */
	uint16_t last;    /* enum raw_block_type of the block before `at` */
	int failed;       /* errno of what went wrong: `out` is not to be used */
	int folder;       /* borrowed */
	bool unsynced; /* who compresses writes all files to disk together, before anybody looks for them */
	struct compress_work *work;
	char name[NAME_MAX + 1];
};

/* `folder` stays open for as long. False: errno. */
bool compress_open(struct compress *c, int folder, const char *name);

/* Does a part of it, about a millisecond's work: MORE, WAITING, FAILED or IMPOSSIBLE. */
enum compress_status compress_step(struct compress *c);

/* Writes what is gathered: then `out` has all up to `at`. */
bool compress_flush(struct compress *c);

/* Takes over what is left of a file as it is. */
bool compress_copy_rest(struct compress *c);

/*
 * After WAITING: the new file takes the place of the old one. `finished`: it is known that nobody writes
 * to it any more; else it waits for somebody who is just replacing it.
 */
enum compress_status compress_finish(struct compress *c, bool finished);

/* That alone, for who writes to the file `fd`, which is the old one. False: errno, nothing has changed. */
bool compress_take_place(struct compress *c, int fd);

void compress_close(struct compress *c);

/*
 * All of it, of a file that is finished, until `deadline` (CLOCK_MONOTONIC ns): blocks that are left then
 * stay as they are.
 */
enum compress_status compress_file(const char *path, uint64_t deadline);

/* Bytes of a whole file of `size` bytes if nothing of it were compressed. */
uint64_t compress_plain_size(const char *path, uint64_t size);

#endif
