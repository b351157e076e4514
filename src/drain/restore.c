/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking over a producer from a drain that was killed: from the journal, what is in its memory, and
 * what is in its file. A chunk that is in the file already is given back, and no other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "drain/producer_inside.h"
#include "drain/scan.h"
#include "wire/defs.h"

enum { WARNING = 2 }; /* severity of a note */

static void take_counts(struct producer *p, const struct journal_counts *c)
{
	p->file.lost_records = c->lost_records;
	p->file.lost_definitions = c->lost_definitions;
	p->damaged_chunks = c->damaged_chunks;
	p->busy_ns = c->busy_ns;
	p->recorded = c->recorded;
	p->counts_damaged = c->counts_damaged;
	p->refusing = c->refusing;
	p->known_then = c->known_then;
}

struct producer *producer_restore(struct journal *j, struct journal_producer *kept)
{
	struct producer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->journal = j;
	p->kept = kept;
	p->memfd = kept->memfd;
	p->pidfd = kept->pidfd;
	p->place = -1;
	p->pid = kept->pid;
	p->image = kept->image;
	p->born = kept->born;
	p->header = kept->header;
	p->delay_before = kept->delay_before;
	p->job = kept->job;
	p->defining = SHM_NONE;
	p->ctl_offset = kept->ctl_offset;
	p->threads_offset = kept->threads_offset;
	p->chunks_offset = kept->chunks_offset;
	p->chunk_size = kept->chunk_size;
	p->chunk_max = kept->chunk_max;
	return p;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static bool is_used(uint32_t state)
{
	state &= ~(uint32_t)SHM_READING;
	return state == SHM_FULL || state == SHM_FILLING;
}

/* Chunks that hold something. One that was just being given back has lost its header already. */
static unsigned list_chunks(struct producer *p, struct scan_chunk *out)
{
	struct shm_chunk_ctl *ctl = ctl_of(p);
	uint32_t count = chunk_count(p);
	unsigned n = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t state = atomic_load_explicit(&ctl[i].state, memory_order_acquire);
		const struct wire_chunk *c = chunk_of(p, i);

		if (!is_used(state))
			continue;
		if (c->magic)
			out[n++] = (struct scan_chunk){.thread = c->thread,
						       .type = c->type,
						       .seq = c->seq,
						       .chunk = i,
						       .header_size = c->header_size};
		else if ((state & ~(uint32_t)SHM_READING) == SHM_FULL)
			producer_give_back(p, i);
	}
	return n;
}

/* It is told of in the last step of this producer's losses. */
static bool is_lost(const struct producer *p, const struct scan_chunk *c)
{
	const struct journal_loss *l = &p->journal->loss;
	unsigned n = l->count < JOURNAL_CHUNKS ? l->count : JOURNAL_CHUNKS;

	if (!atomic_load(&l->valid) || l->number != p->kept->number)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (l->chunks[i].chunk == c->chunk && l->chunks[i].thread == c->thread &&
		    l->chunks[i].seq == c->seq)
			return true;
	return false;
}

static void settle_definitions(struct producer *p, const struct scan_chunk *c, bool full)
{
	uint32_t committed =
		atomic_load_explicit(&chunk_of(p, c->chunk)->committed, memory_order_acquire);
	const struct journal_loss *l = &p->journal->loss;
	uint64_t done = c->header_size + c->copied;

	if (full && (is_lost(p, c) || done >= committed)) {
		producer_give_back(p, c->chunk);
		return;
	}
	if (atomic_load(&l->valid) && l->number == p->kept->number && l->defining == c->chunk &&
	    l->defining_seq == c->seq && l->defined > done)
		done = l->defined;
	if (done == c->header_size || done > p->chunk_size)
		return;
	p->defining = c->chunk;
	p->defining_seq = c->seq;
	p->defined = (uint32_t)done;
}

static void settle_records(struct producer *p, const struct scan_chunk *c, bool full)
{
	_Atomic uint32_t *state = &ctl_of(p)[c->chunk].state;
	uint32_t read = SHM_FULL | SHM_READING;

	if (c->found || is_lost(p, c)) {
		if (full)
			producer_give_back(p, c->chunk);
		else
			p->already[p->already_count++] =
				(struct journal_chunk){c->chunk, c->thread, c->seq};
		return;
	}
	atomic_compare_exchange_strong(state, &read, SHM_FULL); /* of a flight recorder */
}

static void settle_producer(struct producer *p, const struct scan *s)
{
	for (unsigned i = 0; i < s->count; i++) {
		const struct scan_chunk *c = &s->chunks[i];
		uint32_t state = atomic_load(&ctl_of(p)[c->chunk].state);
		bool full = (state & ~(uint32_t)SHM_READING) == SHM_FULL;

		if (!is_used(state))
			continue;
		if (c->type == WIRE_CHUNK_DEFINITIONS)
			settle_definitions(p, c, full);
		else
			settle_records(p, c, full);
	}
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Whoever reads the trace is told. */
static void write_note(struct producer *p)
{
	static const char format[] = RAW_NOTE_DRAIN_ENDED "%s %d; another went on in its place";
	int sig = p->journal->signal;
	struct wire_chunk h = {.magic = WIRE_CHUNK_MAGIC,
			       .version = WIRE_VERSION,
			       .header_size = sizeof(h),
			       .type = WIRE_CHUNK_DEFINITIONS,
			       .seq = UINT64_MAX,
			       .base_tick = tick_now()};
	struct raw_block b = {.type = RAW_CHUNK,
			      .chunk_type = WIRE_CHUNK_DEFINITIONS,
			      .seq = UINT64_MAX,
			      .first_tick = h.base_tick,
			      .last_tick = UINT64_MAX};
	struct wire_def d;
	char text[128];
	uint8_t *to;

	snprintf(text, sizeof(text), format, sig ? "signal" : "status",
		 sig ? sig : p->journal->status);
	wire_def_init(&d, DEF_NOTE);
	wire_def_u64(&d, WARNING);
	wire_def_string(&d, "drain");
	wire_def_string(&d, text);
	wire_def_u64(&d, h.base_tick);
	wire_def_u64(&d, 1);
	b.raw = (uint32_t)(sizeof(h) + wire_def_size(&d));
	to = rawfile_reserve_needed(&p->file, b.raw);
	if (!to)
		return;
	atomic_init(&h.committed, b.raw);
	memcpy(to, &h, sizeof(h));
	wire_def_write(&d, to + sizeof(h));
	rawfile_commit_needed(&p->file, &b);
}

static void continue_file(struct producer *p)
{
	char path[PATH_MAX];
	struct scan s = {.chunks = calloc(p->chunk_max, sizeof(*s.chunks))};

	p->already = calloc(p->chunk_max, sizeof(*p->already));
	memcpy(path, p->file.path, sizeof(path));
	if (s.chunks && p->already)
		s.count = list_chunks(p, s.chunks);
	rawfile_continue(&p->file, path, &s);
	if (p->kept->counts.failed)
		p->file.failed = p->kept->counts.failed;
	take_counts(p, &p->kept->counts);
	settle_producer(p, &s);
	write_note(p);
	p->told = s.told;
	p->open_told = s.open_told;
	p->next_sync = clock_ns(CLOCK_MONOTONIC);
	free(s.chunks);
}

static bool map_again(struct producer *p)
{
	if (!producer_map(p))
		return false;
	if (p->bytes == p->kept->bytes)
		return true;
	errno = EINVAL;
	return false;
}

bool producer_continue(struct producer *p)
{
	const struct journal_loss *l = &p->journal->loss;

	if (!map_again(p))
		return false;
	if (atomic_load(&l->valid) && l->number == p->kept->number)
		p->kept->counts = l->counts;
	p->asked = atomic_load(&p->shm->asked);
	if (p->begun)
		continue_file(p);
	producer_be_there(p);
	return true;
}

void producer_give_up(struct producer *p)
{
	if (map_again(p))
		atomic_store(&p->shm->drain_failed, EOWNERDEAD);
	producer_release(p);
}
