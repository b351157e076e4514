/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External merge sort, see spool.h. Readers of runs share a fixed amount of memory.
 */
#include "stream/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/temporary.h"
#include "base/vec.h"
#include "stream/stream.h"

#define SPOOL_MERGE_BYTES (8u << 20) /* memory of all run readers together */
#define SPOOL_LOAD_MIN    16u        /* items a run loads at least */

static int by_time(const void *a, const void *b)
{
	const struct spool_key *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

kymo_status_t spool_init(struct spool *s, size_t item_size, size_t bytes, const char *directory)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	s->size = item_size;
	s->compare = by_time;
	s->room = (uint32_t)(bytes / item_size);
	s->directory = strdup(directory);
	return s->directory ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static const char *told_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : NULL;
}

char *spool_directory_of(const char *output, bool is_folder)
{
	const char *slash = output ? strrchr(output, '/') : NULL;

	if (told_directory() || !output)
		return strdup(temporary_directory());
	if (is_folder)
		return strdup(output);
	if (slash)
		return strndup(output, slash == output ? 1 : (size_t)(slash - output));
	return strdup(".");
}

int spool_temporary(struct stream_log *log)
{
	int fd = temporary_file(temporary_directory());

	if (fd < 0)
		stream_error(log, "%s: no temporary file can be made: %s; set TMPDIR",
			     temporary_directory(), strerror(errno));
	return fd;
}

void spool_tell(struct stream_log *log, int error)
{
	stream_error(log, "temporary file: %s; free space or set TMPDIR", strerror(error));
}

static kymo_status_t write_all(struct spool *s, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t done = pwrite(s->fd, p, n, (off_t)s->written);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return KYMO_ERROR_SYSTEM;
		p += done;
		n -= (size_t)done;
		s->written += (uint64_t)done;
	}
	return KYMO_OK;
}

static struct spool_run *add_run(struct spool *s)
{
	if (!vec_reserve(&s->runs, &s->run_room, s->run_count, 1))
		return NULL;
	memset(&s->runs[s->run_count], 0, sizeof(*s->runs));
	return &s->runs[s->run_count++];
}

/* Most come in order, which is found out much faster than they are sorted. */
static void sort(struct spool *s)
{
	for (size_t i = 1; i < s->count; i++) {
		const uint8_t *item = s->buffer + i * s->size;

		if (s->compare(item - s->size, item) > 0) {
			qsort(s->buffer, s->count, s->size, s->compare);
			return;
		}
	}
}

static kymo_status_t spill(struct spool *s)
{
	struct spool_run *run;

	sort(s);
	if (s->fd < 0)
		s->fd = temporary_file(s->directory);
	if (s->fd < 0)
		return KYMO_ERROR_SYSTEM;
	run = add_run(s);
	if (!run)
		return KYMO_ERROR_NO_MEMORY;
	run->offset = s->written;
	run->left = s->count;
	s->count = 0;
	return write_all(s, s->buffer, run->left * s->size);
}

kymo_status_t spool_add(struct spool *s, void *item)
{
	if (!s->buffer) {
		s->buffer = malloc(s->room * s->size);
		if (!s->buffer)
			return KYMO_ERROR_NO_MEMORY;
	}
	if (s->count == s->room) {
		kymo_status_t status = spill(s);

		if (status)
			return status;
	}
	((struct spool_key *)item)->order = s->added++;
	memcpy(s->buffer + s->count++ * s->size, item, s->size);
	return KYMO_OK;
}

static kymo_status_t load_run(struct spool *s, struct spool_run *run)
{
	uint32_t n = run->left < s->load ? (uint32_t)run->left : s->load;
	size_t bytes = n * s->size, got = 0;

	while (got < bytes) {
		ssize_t done =
			pread(s->fd, run->items + got, bytes - got, (off_t)(run->offset + got));

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return KYMO_ERROR_SYSTEM;
		got += (size_t)done;
	}
	run->offset += bytes;
	run->left -= n;
	run->have = n;
	run->next = 0;
	return KYMO_OK;
}

static bool before(const struct spool *s, uint32_t a, uint32_t b)
{
	const struct spool_run *x = &s->runs[a], *y = &s->runs[b];

	return s->compare(x->items + x->next * s->size, y->items + y->next * s->size) < 0;
}

static void sift_down(struct spool *s, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1, swap;

		if (child >= s->heap_count)
			return;
		if (child + 1 < s->heap_count && before(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s, s->heap[child], s->heap[at]))
			return;
		swap = s->heap[at];
		s->heap[at] = s->heap[child];
		s->heap[child] = swap;
		at = child;
	}
}

static kymo_status_t open_runs(struct spool *s)
{
	uint32_t i;

	s->load = (uint32_t)(SPOOL_MERGE_BYTES / s->run_count / s->size);
	if (s->load < SPOOL_LOAD_MIN)
		s->load = SPOOL_LOAD_MIN;
	s->heap = malloc(s->run_count * sizeof(*s->heap));
	if (!s->heap)
		return KYMO_ERROR_NO_MEMORY;
	for (i = 0; i < s->run_count; i++) {
		kymo_status_t status;

		s->runs[i].items = malloc(s->load * s->size);
		if (!s->runs[i].items)
			return KYMO_ERROR_NO_MEMORY;
		status = load_run(s, &s->runs[i]);
		if (status)
			return status;
		s->heap[i] = i;
	}
	s->heap_count = s->run_count;
	for (i = s->heap_count; i-- > 0;)
		sift_down(s, i);
	return KYMO_OK;
}

/* Everything in memory is read as one run that needs no file. */
kymo_status_t spool_rewind(struct spool *s)
{
	struct spool_run *run;

	if (s->fd >= 0) {
		kymo_status_t status = s->count ? spill(s) : KYMO_OK;

		free(s->buffer);
		s->buffer = NULL;
		return status ? status : open_runs(s);
	}
	if (!s->count)
		return KYMO_OK;
	sort(s);
	run = add_run(s);
	s->heap = malloc(sizeof(*s->heap));
	if (!run || !s->heap)
		return KYMO_ERROR_NO_MEMORY;
	run->items = s->buffer;
	s->buffer = NULL;
	run->have = s->count;
	s->heap[0] = 0;
	s->heap_count = 1;
	return KYMO_OK;
}

/* Steps over the item handed out last, at the top of the heap. */
static kymo_status_t advance(struct spool *s)
{
	struct spool_run *run = &s->runs[s->heap[0]];

	kymo_assert(s->heap_count && run->next <= run->have);
	if (run->next == run->have && run->left) {
		kymo_status_t status = load_run(s, run);

		if (status)
			return status;
	}
	if (run->next == run->have)
		s->heap[0] = s->heap[--s->heap_count];
	sift_down(s, 0);
	return KYMO_OK;
}

kymo_status_t spool_next(struct spool *s, const void **item)
{
	struct spool_run *run;

	*item = NULL;
	if (s->heap_count && s->runs[s->heap[0]].next) {
		kymo_status_t status = advance(s);

		if (status)
			return status;
	}
	if (!s->heap_count)
		return KYMO_OK;
	run = &s->runs[s->heap[0]];
	*item = run->items + run->next++ * s->size;
	return KYMO_OK;
}

void spool_release(struct spool *s)
{
	uint32_t i;

	for (i = 0; i < s->run_count; i++)
		free(s->runs[i].items);
	free(s->runs);
	free(s->heap);
	free(s->buffer);
	free(s->directory);
	if (s->fd >= 0)
		close(s->fd);
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}
