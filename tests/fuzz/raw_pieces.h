/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A raw file in memory whose parts a fuzz target chooses: headers, lengths and checksums are right, so that what is read is what is
 * in the parts. Then it is read: by one who counts, and as text and JSON.
 */
#ifndef TESTS_FUZZ_RAW_PIECES_H
#define TESTS_FUZZ_RAW_PIECES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/raw/read.h"
#include "support/memory_file.h"
#include "support/synth.h"
#include "tally/tally.h"
#include "wire/raw.h"

extern const struct format format_raw, format_text, format_json;

struct raw_pieces {
	uint8_t *data;
	size_t size, room;
};

static inline void raw_pieces_add(struct raw_pieces *p, const void *data, size_t n)
{
	if (p->size + n > p->room) {
		p->room = 2 * (p->size + n);
		p->data = realloc(p->data, p->room);
		if (!p->data)
			abort();
	}
	if (n)
		memcpy(p->data + p->size, data, n);
	p->size += n;
}

/* A block whose type and what else it says are in `b`. */
static inline void raw_pieces_block(struct raw_pieces *p, struct raw_block b, const void *payload,
				    size_t n)
{
	b.magic = RAW_BLOCK_MAGIC;
	b.stored = b.raw = (uint32_t)n;
	b.checksum = XXH3_64bits(payload, n);
	raw_pieces_add(p, &b, sizeof(b));
	raw_pieces_add(p, payload, n);
}

/* A chunk of `thread` that has `n` bytes behind `header` bytes. */
static inline void raw_pieces_chunk(struct raw_pieces *p, uint32_t type, uint32_t thread,
				    size_t header, const void *data, size_t n)
{
	struct wire_chunk h = {.magic = WIRE_CHUNK_MAGIC,
			       .version = WIRE_VERSION,
			       .header_size = (uint16_t)header,
			       .type = type,
			       .thread = thread,
			       .tid = 100 + thread,
			       .committed = (uint32_t)(header + n),
			       .base_tick = SYNTH_TICK0,
			       .next_id = 1,
			       .pointer_base = 0x7f1200000000ull};
	uint8_t *chunk = calloc(1, header + n);

	if (!chunk)
		abort();
	memcpy(chunk, &h, sizeof(h));
	if (n)
		memcpy(chunk + header, data, n);
	raw_pieces_block(p,
			 (struct raw_block){.type = RAW_CHUNK,
					    .thread = thread,
					    .chunk_type = type,
					    .first_tick = SYNTH_TICK0,
					    .last_tick = UINT64_MAX},
			 chunk, header + n);
	free(chunk);
}

/* The clock at a time, in ns since the process began. */
static inline void raw_pieces_clock(struct raw_pieces *p, uint64_t ns)
{
	const uint64_t tick = SYNTH_TICK0 + 2 * ns;
	const struct raw_tick_sync sync = {tick - 50, tick + 50, SYNTH_NS0 + ns,
					   SYNTH_REALTIME0 + ns};

	raw_pieces_block(p, (struct raw_block){.type = RAW_TICK_SYNC}, &sync, sizeof(sync));
}

static inline void raw_pieces_begin(struct raw_pieces *p)
{
	const struct raw_header h = {.magic = RAW_MAGIC,
				     .version = RAW_VERSION,
				     .header_size = sizeof(h),
				     .pid = 4242,
				     .wire_version = WIRE_VERSION,
				     .created_realtime = SYNTH_REALTIME0,
				     .hostname = "node1",
				     .rank = RANK_NONE};

	p->size = 0;
	raw_pieces_add(p, &h, sizeof(h));
	raw_pieces_clock(p, 0);
	raw_pieces_clock(p, 1000000000);
}

/* ---- reading ------------------------------------------------------------------------------- */

static inline void raw_pieces_ignore(struct stream_log *l, int severity, const char *text)
{
}

static struct stream_log raw_pieces_log = {raw_pieces_ignore};

static inline void raw_pieces_write(const char *path, const struct format *writer, bool ordered)
{
	struct format_options o = {.output = "/dev/null",
				   .force = true,
				   .entry_exit = ordered,
				   .log = &raw_pieces_log};
	struct stream_sink *sink;

	if (writer->write(&o, &sink) != KYMO_OK)
		abort();
	format_raw.read(path, NULL, ordered, sink, &o);
	writer->sink_free(sink);
}

static inline void raw_pieces_rows(struct tallies *a)
{
	for (unsigned kind = 0; kind < TALLY_KINDS; kind++)
		for (uint32_t i = 0; i < a->set[kind].count; i++) {
			struct tally *row = a->set[kind].rows[i];

			tally_expand(a, row);
			if (tally_distributed(a, row) && row->min <= row->max &&
			    tally_percentile(a, row, 0.1) > tally_percentile(a, row, 0.9))
				abort();
		}
}

static kymo_status_t (*raw_pieces_counted)(struct stream_sink *s, const struct trace *t);

/* While the trace is there: rows of what was counted in the program have their numbers in it. */
static inline kymo_status_t raw_pieces_end(struct stream_sink *s, const struct trace *t)
{
	kymo_status_t status = raw_pieces_counted(s, t);

	raw_pieces_rows(((struct tallies_sink *)s)->tallies);
	return status;
}

static inline void raw_pieces_count(const char *path)
{
	struct format_options o = {.log = &raw_pieces_log};
	struct tallies_sink s;

	tallies_sink_init(&s);
	raw_pieces_counted = s.sink.end;
	s.sink.end = raw_pieces_end;
	format_raw.read(path, NULL, false, &s.sink, &o);
	tallies_free(s.tallies);
}

static inline void raw_pieces_read(const struct raw_pieces *p)
{
	static struct memory_file file;

	if (!file.path[0] && !memory_file_open(&file))
		abort();
	if (!memory_file_set(&file, p->data, p->size))
		return;
	raw_pieces_count(file.path);
	raw_pieces_write(file.path, &format_text, true);
	raw_pieces_write(file.path, &format_json, false);
}

#endif
