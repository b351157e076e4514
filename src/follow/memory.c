/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in the memory that a process shares with its drain and not in its file yet. It changes while it is read: how
 * far a chunk goes is read before it, whose it is once more after it. The process and the drain notice nothing.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "follow/reading.h"
#include "wire/live.h"

enum { CHUNK_MOST = 1 << 24, THREADS_AT_ONCE = 16 };

static bool read_at(const struct follow_process *p, void *to, uint64_t bytes, uint64_t at)
{
	return pread(p->memory, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* ---- where things are -------------------------------------------------------------------------- */

static bool fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t end)
{
	return offset >= sizeof(struct shm_header) && offset <= end && count * size <= end - offset;
}

static bool geometry_good(const struct shm_header *h, uint64_t bytes)
{
	return h->magic == SHM_MAGIC && h->version == SHM_VERSION && h->header_size == sizeof(*h) &&
	       h->bytes == bytes && h->chunk_max > 0 && h->chunk_max <= SHM_CHUNK_MAX &&
	       h->chunk_size >= sizeof(struct wire_chunk) && h->chunk_size <= CHUNK_MOST &&
	       fits(h->ctl_offset, h->chunk_max, sizeof(struct shm_chunk_ctl), bytes) &&
	       fits(h->threads_offset, SHM_THREADS, sizeof(struct shm_thread), bytes) &&
	       fits(h->chunks_offset, h->chunk_max, h->chunk_size, bytes);
}

void follow_take_memory(struct follow_process *p, int fd)
{
	struct stat st;

	if (p->memory >= 0 || p->ended || fstat(fd, &st) != 0 || st.st_size < 0) {
		close(fd);
		return;
	}
	p->memory = fd;
	p->memory_bytes = (uint64_t)st.st_size;
}

static void let_go(struct follow_process *p)
{
	if (p->memory >= 0)
		close(p->memory);
	p->memory = -1;
}

/* The process can write there: places are those of the first look. */
static bool take_header(struct follow_process *p)
{
	struct shm_header h;

	if (!read_at(p, &h, sizeof(h), 0) || !geometry_good(&h, p->memory_bytes) ||
	    (p->geometry &&
	     (h.chunk_size != p->shm.chunk_size || h.chunk_max != p->shm.chunk_max ||
	      h.chunks_offset != p->shm.chunks_offset || h.ctl_offset != p->shm.ctl_offset ||
	      h.threads_offset != p->shm.threads_offset)))
		return false;
	p->shm = h;
	p->geometry = true;
	return true;
}

/* ---- chunks ------------------------------------------------------------------------------------ */

static uint64_t place_of(const struct follow_process *p, uint32_t chunk)
{
	return p->shm.chunks_offset + (uint64_t)chunk * p->shm.chunk_size;
}

static bool header_good(const struct follow_process *p, const struct wire_chunk *h)
{
	return h->magic == WIRE_CHUNK_MAGIC && h->version == WIRE_VERSION &&
	       h->header_size >= sizeof(*h) && h->header_size <= h->committed &&
	       h->committed <= p->shm.chunk_size;
}

/* In an order in which chunks of a thread follow each other, definitions first. */
static int by_sequence(const void *a, const void *b)
{
	const struct reading_found *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void find_chunks(struct follow *f, const struct follow_process *p)
{
	struct follow_reading *r = f->reading;
	uint32_t count =
		p->shm.chunk_count < p->shm.chunk_max ? p->shm.chunk_count : p->shm.chunk_max;

	r->found_count = 0;
	if (!vec_reserve(&r->ctl, &r->ctl_room, 0, count) ||
	    !vec_reserve(&r->found, &r->found_room, 0, count)) {
		f->failed = true;
		return;
	}
	if (!read_at(p, r->ctl, count * sizeof(*r->ctl), p->shm.ctl_offset))
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t state = r->ctl[i].state & ~(uint32_t)SHM_READING;
		struct wire_chunk h;

		if ((state != SHM_FILLING && (state != SHM_FULL || f->stride > 1)) ||
		    !read_at(p, &h, sizeof(h), place_of(p, i)) || !header_good(p, &h))
			continue;
		r->found[r->found_count++] = (struct reading_found){
			.seq = h.seq,
			.thread = h.type == WIRE_CHUNK_DEFINITIONS ? 0 : h.thread,
			.chunk = i,
			.committed = h.committed,
			.type = h.type};
	}
	qsort(r->found, r->found_count, sizeof(*r->found), by_sequence);
}

/* Its bytes as far as they were committed; NULL: it is another chunk by now. */
static const uint8_t *copy_chunk(struct follow *f, const struct follow_process *p,
				 const struct reading_found *c)
{
	struct follow_reading *r = f->reading;
	struct wire_chunk after;

	if (!vec_reserve(&r->chunk, &r->chunk_room, 0, c->committed)) {
		f->failed = true;
		return NULL;
	}
	if (!read_at(p, r->chunk, c->committed, place_of(p, c->chunk)) ||
	    !read_at(p, &after, sizeof(after), place_of(p, c->chunk)) ||
	    after.magic != WIRE_CHUNK_MAGIC || after.seq != c->seq || after.type != c->type ||
	    after.header_size > c->committed ||
	    (c->type != WIRE_CHUNK_DEFINITIONS && after.thread != c->thread))
		return NULL;
	return r->chunk;
}

/* What the records need that were found was committed before them, perhaps after this chunk was found. */
static void take_definitions(struct follow *f, struct follow_process *p, struct reading_found *c)
{
	uint64_t done = map_get(&p->pieces, c->seq);
	const uint8_t *data;
	struct wire_chunk h;

	if (!read_at(p, &h, sizeof(h), place_of(p, c->chunk)) || !header_good(p, &h) ||
	    h.seq != c->seq)
		return;
	c->committed = h.committed;
	data = done < c->committed ? copy_chunk(f, p, c) : NULL;
	if (!data)
		return;
	follow_define(f, p, data, done > h.header_size ? done : h.header_size, c->committed);
	if (!map_set(&p->pieces, c->seq, c->committed))
		f->failed = true;
}

/* False: chunks before it are on their way into the file, and those of its thread that follow have to wait. */
static bool take_records(struct follow *f, struct follow_process *p, const struct reading_found *c)
{
	struct follow_thread *t = follow_thread_of(f, p, c->thread);
	const uint8_t *data;
	struct wire_chunk h;

	if (!t || c->seq < t->seq)
		return true;
	if (c->seq > t->seq && !p->shm.overwrite)
		return false;
	if (c->seq == t->seq && t->done >= c->committed)
		return true;
	data = copy_chunk(f, p, c);
	if (!data)
		return false;
	memcpy(&h, data, sizeof(h));
	if (c->seq != t->seq || !t->done)
		follow_begin_chunk(t, &h);
	f->spent += c->committed - t->done;
	return follow_records(f, p, t, data, c->committed, 1);
}

/* Chunks that are full have none of their thread after them but those that follow: the next one can be taken. */
static void take_all_records(struct follow *f, struct follow_process *p)
{
	const struct follow_reading *r = f->reading;
	uint32_t waits = 0;

	p->gap = false;
	for (uint32_t i = 0; i < r->found_count; i++) {
		const struct reading_found *c = &r->found[i];
		struct follow_thread *t;

		if (c->type != WIRE_CHUNK_RECORDS || (waits && c->thread == waits))
			continue;
		if (!take_records(f, p, c)) {
			p->gap = true;
			waits = c->thread;
			continue;
		}
		t = follow_thread_of(f, p, c->thread);
		if (t && t->seq == c->seq && i + 1 < r->found_count &&
		    r->found[i + 1].thread == c->thread && r->found[i + 1].seq == c->seq + 1 &&
		    (r->ctl[c->chunk].state & ~(uint32_t)SHM_READING) == SHM_FULL) {
			t->seq++;
			t->done = 0;
		}
	}
}

/* ---- open calls -------------------------------------------------------------------------------- */

static void add_open(struct follow_process *p, const struct shm_thread *t, uint64_t now)
{
	const struct wire_open *o = &t->open[0];
	const struct follow_op *op = o->op < p->op_room ? &p->ops[o->op] : NULL;
	uint64_t since = o->start && now > o->start ? now - o->start : 0;

	if (!t->depth || !op || !op->name)
		return;
	p->silent_threads += !map_get(&p->thread_places, t->index + 1ull);
	if (op->flags & KYMO_OP_WAITS)
		p->waiting += follow_ns(p, since);
	if (!p->open.start || o->start < p->open.start)
		p->open = (struct follow_call_open){o->op, o->start};
}

static void take_open_calls(const struct follow *f, struct follow_process *p)
{
	struct shm_thread threads[THREADS_AT_ONCE];
	uint32_t used = THREADS_AT_ONCE;

	p->waiting = 0;
	p->silent_threads = 0;
	p->open = (struct follow_call_open){0};
	if (p->tick_source != (uint64_t)tick_source_chosen)
		return;
	for (uint32_t i = 0; i < SHM_THREADS && used; i += THREADS_AT_ONCE) {
		if (!read_at(p, threads, sizeof(threads),
			     p->shm.threads_offset + i * sizeof(threads[0])))
			return;
		used = 0;
		for (uint32_t k = 0; k < THREADS_AT_ONCE; k++) {
			used += threads[k].tid != 0;
			if (threads[k].tid)
				add_open(p, &threads[k], f->tick);
		}
	}
}

/* ---- all --------------------------------------------------------------------------------------- */

static void take_lines_and_tallies(struct follow *f, struct follow_process *p)
{
	const struct follow_reading *r = f->reading;

	p->cost_ns = p->unrecorded_calls = 0;
	p->under_way = 0;
	for (uint32_t i = 0; i < r->found_count; i++) {
		const struct reading_found *c = &r->found[i];
		const uint8_t *data = c->type == WIRE_CHUNK_TALLY || c->type == WIRE_CHUNK_LIVE
					      ? copy_chunk(f, p, c)
					      : NULL;

		if (data && c->type == WIRE_CHUNK_TALLY)
			follow_tallies(f, p, data, c->committed);
		else if (data)
			follow_lines(f, p, data, c->committed);
	}
}

void follow_read_memory(struct follow *f, struct follow_process *p, bool again)
{
	const struct follow_reading *r = f->reading;

	p->gap = false;
	if (p->ended)
		let_go(p);
	if (p->memory < 0 || !take_header(p))
		return;
	find_chunks(f, p);
	for (uint32_t i = 0; i < r->found_count; i++)
		if (r->found[i].type == WIRE_CHUNK_DEFINITIONS)
			take_definitions(f, p, &r->found[i]);
	if (!again)
		take_lines_and_tallies(f, p);
	take_all_records(f, p);
	if (!again)
		take_open_calls(f, p);
}
