/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts any number of fixed-size items by time in bounded memory: full buffers are sorted and
 * appended to an unlinked temporary file, and merged when read back. Device work reaches a writer
 * in the order in which it was collected, which is not that of its own times.
 */
#ifndef STREAM_SPOOL_H
#define STREAM_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/status.h>

struct stream_log;

/* Every item begins with this. */
struct spool_key {
	int64_t time;
	uint64_t order; /* set by spool_add(): equal times keep the order of arrival */
};

struct spool_run {
	uint64_t offset, left; /* in the file: position, items not yet loaded */
	uint8_t *items;        /* loaded ones */
	uint32_t have, next;
};

struct spool {
	size_t size; /* of an item */
	int (*compare)(const void *,
		       const void *); /* of items; by time unless another one is set */
	uint32_t room, count;         /* items in the buffer */
	uint8_t *buffer;
	uint64_t added;
	int fd;           /* of the temporary file, -1: everything fits the buffer so far */
	uint64_t written; /* bytes in the file */
	struct spool_run *runs;
	uint32_t run_count, run_room;
	uint32_t *heap; /* runs by their next item, while reading */
	uint32_t heap_count;
	uint32_t load;   /* items of a run loaded at a time */
	char *directory; /* where the temporary file goes */
};

/* `bytes` bounds the memory of the buffer; the temporary file lies in `directory`. */
kymo_status_t spool_init(struct spool *s, size_t item_size, size_t bytes, const char *directory);

kymo_status_t spool_add(struct spool *s, void *item);

/* Ends adding and begins reading. */
kymo_status_t spool_rewind(struct spool *s);

/* Next item in order of time, borrowed until the next call; NULL at the end. */
kymo_status_t spool_next(struct spool *s, const void **item);

void spool_release(struct spool *s);

/*
 * Where those of a writer go: TMPDIR, else beside the output, or in it where that is a folder, which has room for as
 * much. NULL as the output: there is none. To be freed; NULL: no memory.
 */
char *spool_directory_of(const char *output, bool is_folder);

/* A new file in temporary_directory(); below 0: said why. */
int spool_temporary(struct stream_log *log);

/* Says that one could not be written or read. */
void spool_tell(struct stream_log *log, int error);

#endif
