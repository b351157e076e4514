/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as what a program leaves in the memory that it shares with its drain: full chunks one after the
 * other, and behind the last WORDS an offset and a value each, which are written over what stands before the chunks (header,
 * lists, threads), some before the drain has seen it, some between its passes. The drain lets go of the program, or writes a file.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "drain/producer.h"
#include "support/synth_producer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHUNK = 8192, CHUNKS = 8, WORDS = 8 };

static char work[] = "/tmp/kymo-fuzz-ring-XXXXXX";

static void clean(void)
{
	file_remove_tree(work);
}

static void prepare(void)
{
	static bool done;
	char raw[PATH_MAX];

	if (done)
		return;
	done = true;
	if (!mkdtemp(work))
		abort();
	snprintf(raw, sizeof(raw), "%s/raw", work);
	if (mkdir(raw, 0700) != 0)
		abort();
	atexit(clean);
	producer_guard_memory();
}

/* One of the words at the end: where, as a part of what lies before the chunks, and what. */
static void scribble(uint8_t *memory, size_t before, const uint8_t *words, unsigned n)
{
	uint32_t at, value;

	memcpy(&at, words + n * 8, 4);
	memcpy(&value, words + n * 8 + 4, 4);
	if (at)
		memcpy(memory + at % (before - 4), &value, 4);
}

static void drain(struct shm_header *h, int memfd, const uint8_t *words, size_t before)
{
	struct drain_totals totals = {0};
	struct producer *p;
	struct raw_end how;
	char path[PATH_MAX];
	kymo_status_t status;

	scribble((uint8_t *)h, before, words, 0);
	scribble((uint8_t *)h, before, words, 1);
	p = producer_new(memfd, getpid(), NULL, &status);
	if (!p)
		return;
	if (producer_begin(p, work)) {
		for (unsigned n = 2; n < WORDS; n += 2) {
			producer_pass(p);
			scribble((uint8_t *)h, before, words, n);
			scribble((uint8_t *)h, before, words, n + 1);
		}
		producer_finish(p, 0, &totals, &how, path);
		if (path[0] && unlink(path) != 0)
			abort();
	}
	producer_drop(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct synth s = {.chunk_size = CHUNK, .chunks = CHUNKS};
	uint8_t words[WORDS * 8] = {0};
	size_t tail = size < sizeof(words) ? size : sizeof(words), bytes, before;
	struct shm_header *h;
	int memfd;

	prepare();
	h = synth_buffer(&s, &memfd);
	if (!h)
		return 0;
	memcpy(words, data + size - tail, tail);
	size -= tail;
	before = h->chunks_offset;
	bytes = h->bytes;
	for (uint32_t i = 0; i < CHUNKS && (size_t)i * CHUNK < size; i++) {
		size_t n = size - (size_t)i * CHUNK;

		memcpy((uint8_t *)h + before + (size_t)i * CHUNK, data + (size_t)i * CHUNK,
		       n < CHUNK ? n : CHUNK);
		atomic_store(&shm_ctl(h)[i].state, SHM_FULL);
		atomic_fetch_add(&h->full, 1);
	}
	drain(h, memfd, words, before);
	munmap(h, bytes);
	return 0;
}
