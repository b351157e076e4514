/* SPDX-License-Identifier: Apache-2.0 */
/* Taking chunks out of a shared buffer; see producer.h. */
#include "base/futex.h"
#include "drain/producer_inside.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/live.h"

enum {
	COUNT_SLACK_NS = 1000000000,
	COUNT_CPUS = 1024,
	TICKS_A_NS = 16,
	OPEN_BATCH = 256 /* threads read at once */
};
#define USAGE_MOST (1ull << 53) /* who says more than that, in ns or bytes, is not believed */

/* ---- chunks --------------------------------------------------------------------------------- */

struct found {
	uint64_t seq;
	uint32_t thread;
	uint32_t chunk;
	bool sure; /* was found by the first look */
};

/* Chunks found by a pass; the drain has one thread. */
static struct found found[SHM_CHUNK_MAX], defining[SHM_CHUNK_MAX];
/* What a chunk was at the first look: its stamp, and IN_STATE. */
static uint64_t looked[SHM_CHUNK_MAX];
#define IN_STATE (1ull << 32)
/* Chunks that have been copied, and are given back when they are in the file. */
static uint32_t taken[2 * SHM_CHUNK_MAX]; /* a broken program may show one as two */
static unsigned taken_count;

static int by_sequence(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static unsigned count_chunks(const struct producer *p, uint32_t count, enum shm_chunk_state state)
{
	struct shm_chunk_ctl *ctl = ctl_of(p);
	unsigned n = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is = atomic_load_explicit(&ctl[i].state, memory_order_acquire) == state;

		looked[i] = is ? atomic_load(&ctl[i].stamp) | IN_STATE : 0;
		n += is;
	}
	return n;
}

/*
 * Fills `found` with chunks in that state, but for definitions, so that chunks of a thread reach the file in order. One
 * look can see a thread's newer chunk and miss the older one that was handed over meanwhile; so it
 * looks twice, and of those that only the second look saw takes what precedes a chunk of the first. In a flight recorder
 * another chunk may be in the place of one that was seen: it has another stamp.
 */
static unsigned find_chunks(const struct producer *p, enum shm_chunk_state state, bool lasting_only)
{
	uint32_t count = chunk_count(p), thread = 0;
	struct shm_chunk_ctl *ctl = ctl_of(p);
	bool keep = false;
	unsigned n = 0, kept = 0;

	if (count_chunks(p, count, state) == 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct wire_chunk *c = chunk_of(p, i);

		if (atomic_load_explicit(&ctl[i].state, memory_order_acquire) != state)
			continue;
		/* The stamp of what may be overwritten is not 0; its header may just be changing. */
		if (lasting_only && atomic_load(&ctl[i].stamp) != 0)
			continue;
		if (c->type == WIRE_CHUNK_DEFINITIONS)
			continue;
		found[n++] = (struct found){c->seq, c->thread, i,
					    looked[i] == (atomic_load(&ctl[i].stamp) | IN_STATE)};
	}
	qsort(found, n, sizeof(found[0]), by_sequence);
	for (unsigned i = n; i-- > 0;) {
		keep = found[i].sure || (keep && found[i].thread == thread);
		thread = found[i].thread;
		found[i].sure = keep;
	}
	for (unsigned i = 0; i < n; i++)
		if (found[i].sure)
			found[kept++] = found[i];
	return kept;
}

static bool header_good(const struct producer *p, const struct wire_chunk *h, uint32_t committed)
{
	return h->magic == WIRE_CHUNK_MAGIC && h->version == WIRE_VERSION &&
	       h->header_size >= sizeof(*h) && h->header_size <= committed &&
	       committed <= p->chunk_size &&
	       (h->type == WIRE_CHUNK_RECORDS || h->type == WIRE_CHUNK_DEFINITIONS ||
		h->type == WIRE_CHUNK_TALLY || h->type == WIRE_CHUNK_LIVE);
}

/* It still is what it was a moment ago, and perhaps more of it. */
static bool same_chunk(const struct wire_chunk *before, const struct wire_chunk *after)
{
	return after->magic == before->magic && after->thread == before->thread &&
	       after->seq == before->seq &&
	       atomic_load_explicit(&after->committed, memory_order_acquire) >=
		       atomic_load_explicit(&before->committed, memory_order_relaxed);
}

void producer_give_back(struct producer *p, uint32_t i)
{
	struct shm_chunk_ctl *ctl = ctl_of(p);
	enum shm_list list =
		ctl[i].list == SHM_LIST_DEFINITIONS ? SHM_LIST_DEFINITIONS : SHM_LIST_RECORDS;

	if ((atomic_load(&ctl[i].state) & ~(uint32_t)SHM_READING) != SHM_FULL)
		return; /* the program has written there */
	/* A process that dies between obtaining and beginning a chunk must not show it again. */
	memset(chunk_of(p, i), 0, sizeof(struct wire_chunk));
	atomic_store_explicit(&ctl[i].state, SHM_FREE, memory_order_relaxed);
	shm_push(p->shm, ctl, i, list);
	atomic_fetch_add(&p->shm->freed, 1);
	if (atomic_load(&p->shm->waiters))
		futex_wake(&p->shm->freed, FUTEX_ALL);
}

/* ---- definitions ---------------------------------------------------------------------------- */

/* The chunk that was being filled still is: there is none after it, and all before it were copied. */
static bool still_defining(const struct producer *p)
{
	const struct wire_chunk *c;

	if (p->defining == SHM_NONE)
		return false;
	c = chunk_of(p, p->defining);
	return c->seq == p->defining_seq && c->type == WIRE_CHUNK_DEFINITIONS &&
	       atomic_load_explicit(&ctl_of(p)[p->defining].state, memory_order_acquire) ==
		       SHM_FILLING;
}

/* Fills `out` with the chunks of definitions that are there, in no order. */
static unsigned look_for_definitions(const struct producer *p, struct found *out)
{
	struct shm_chunk_ctl *ctl = ctl_of(p);
	uint32_t count = chunk_count(p);
	unsigned n = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t state = atomic_load_explicit(&ctl[i].state, memory_order_acquire);
		const struct wire_chunk *c = chunk_of(p, i);

		if (state != SHM_FULL && state != SHM_FILLING)
			continue;
		/* Obtained, not begun: what its header says is no number yet. */
		if (!atomic_load_explicit(&c->committed, memory_order_acquire) &&
		    state == SHM_FILLING)
			continue;
		if (c->type == WIRE_CHUNK_DEFINITIONS)
			out[n++] = (struct found){c->seq, 0, i, state == SHM_FULL};
	}
	return n;
}

/*
 * All up to the newest that the first look saw. What a record needs was committed before its chunk was
 * seen, so the chunk that it was committed to is either full or being filled, and only the drain
 * lets go of full ones. But a look may see a chunk that was begun meanwhile and miss those between, which
 * lie where it had been already: the second look finds them. So nothing is ever missing before a
 * chunk that is taken, on which still_defining() relies.
 */
static unsigned find_definitions(const struct producer *p)
{
	uint64_t newest = 0;
	unsigned n;

	if (still_defining(p)) {
		defining[0] = (struct found){p->defining_seq, 0, p->defining, false};
		return 1;
	}
	n = look_for_definitions(p, defining);
	if (n == 0)
		return 0;
	for (unsigned i = 0; i < n; i++)
		newest = defining[i].seq > newest ? defining[i].seq : newest;
	n = look_for_definitions(p, defining);
	qsort(defining, n, sizeof(defining[0]), by_sequence);
	while (n > 0 && defining[n - 1].seq > newest)
		n--;
	return n;
}

/* What has been added to a chunk, as a chunk of its own: definitions do not depend on each other. */
static void copy_definitions(struct producer *p, uint32_t i, bool full)
{
	const struct wire_chunk *c = chunk_of(p, i);
	struct wire_chunk h;
	struct raw_block b;
	uint32_t committed, from;
	uint8_t *to;

	committed = atomic_load_explicit(&c->committed, memory_order_acquire);
	memcpy(&h, c, sizeof(h));
	if (!header_good(p, &h, committed)) {
		p->damaged_chunks += full;
		return;
	}
	from = i == p->defining && h.seq == p->defining_seq && p->defined > h.header_size
		       ? p->defined
		       : h.header_size;
	p->defining = full ? SHM_NONE : i;
	p->defining_seq = h.seq;
	p->defined = committed > from ? committed : from;
	if (committed <= from)
		return;
	b = (struct raw_block){.type = RAW_CHUNK,
			       .chunk_type = WIRE_CHUNK_DEFINITIONS,
			       .seq = h.seq,
			       .first_tick = h.base_tick,
			       .last_tick = UINT64_MAX,
			       .raw = h.header_size + committed - from};
	to = rawfile_reserve_needed(&p->file, b.raw);
	if (!to) { /* no memory: there is what others had, once they are written */
		rawfile_flush(&p->file);
		to = rawfile_reserve_needed(&p->file, b.raw);
	}
	if (!to) {
		p->damaged_chunks++;
		return;
	}
	memcpy(to, c, h.header_size);
	atomic_store_explicit(&h.committed, b.raw, memory_order_relaxed);
	memcpy(to, &h, sizeof(h));
	memcpy(to + h.header_size, (const uint8_t *)c + from, committed - from);
	rawfile_commit_needed(&p->file, &b);
}

/*
 * Everything defined so far. It goes into the file before the records that are pending, and is
 * looked at after these were copied: so whoever dies next, no record in the file lacks what it needs.
 */
static void take_definitions(struct producer *p)
{
	unsigned n = find_definitions(p);

	for (unsigned i = 0; i < n; i++) {
		/* It may have become full meanwhile: what is told here is what was seen. */
		copy_definitions(p, defining[i].chunk, defining[i].sure);
		if (defining[i].sure)
			taken[taken_count++] = defining[i].chunk;
	}
}

/* ---- what is lost ---------------------------------------------------------------------------- */

/*
 * Losing a record takes a nanosecond at least, however many processors lose. Who says more has written
 * over the counter; so has one whose counter goes back.
 */
static uint64_t most_of(const struct producer *p)
{
	return (clock_ns(CLOCK_MONOTONIC) - p->born + COUNT_SLACK_NS) * COUNT_CPUS;
}

static void take_count(struct producer *p, const _Atomic uint64_t *from, uint64_t most,
		       uint64_t *known)
{
	uint64_t now = atomic_load(from);

	if (now >= *known && now <= most)
		*known = now;
	else if (!p->counts_damaged) {
		p->counts_damaged = true;
		if (p->kept)
			p->kept->counts.counts_damaged = true;
		p->damaged_chunks++;
	}
}

static const struct producer_counts *take_counts(struct producer *p)
{
	uint64_t most = most_of(p);

	take_count(p, &p->shm->no_memory_records, most, &p->counts.no_memory_records);
	take_count(p, &p->shm->dropped_records, most, &p->counts.dropped_records);
	take_count(p, &p->shm->lost_records, most, &p->counts.lost_records);
	take_count(p, &p->shm->lost_definitions, most, &p->counts.lost_definitions);
	take_count(p, &p->shm->overwritten_records, most, &p->counts.overwritten_records);
	take_count(p, &p->shm->overhead_ticks, most * TICKS_A_NS, &p->counts.overhead_ticks);
	return &p->counts;
}

/* ---- copying -------------------------------------------------------------------------------- */

static bool losses_kept(const struct producer *p)
{
	const struct journal_counts *c = &p->kept->counts;

	return c->lost_records == p->file.lost_records &&
	       c->lost_definitions == p->file.lost_definitions &&
	       c->damaged_chunks == p->damaged_chunks && c->failed == p->file.failed;
}

/*
 * What was just counted as lost is not in the file, where who takes over from a drain that was
 * killed would look for it.
 */
static void keep_losses(struct producer *p)
{
	struct journal_loss *l;

	if (!p->kept || losses_kept(p))
		return;
	l = &p->journal->loss;
	atomic_store(&l->valid, 0);
	l->number = p->kept->number;
	l->counts = p->kept->counts;
	l->counts.lost_records = p->file.lost_records;
	l->counts.lost_definitions = p->file.lost_definitions;
	l->counts.damaged_chunks = p->damaged_chunks;
	l->counts.failed = p->file.failed;
	l->defining = p->defining;
	l->defining_seq = p->defining_seq;
	l->defined = p->defined;
	l->count = taken_count;
	for (unsigned i = 0; i < taken_count; i++) {
		const struct wire_chunk *c = chunk_of(p, taken[i]);

		l->chunks[i] = (struct journal_chunk){taken[i], c->thread, c->seq};
	}
	atomic_store(&l->valid, 1);
	p->kept->counts = l->counts;
}

/* The file system refuses: from now on it is its fault what the process loses. */
static void note_failure(struct producer *p)
{
	if (!p->refusing)
		p->known_then = *take_counts(p);
	p->refusing = true;
	if (p->kept && !p->kept->counts.refusing) {
		p->kept->counts.known_then = p->known_then;
		p->kept->counts.refusing = true;
	}
	atomic_store(&p->shm->drain_failed, (uint32_t)p->file.failed);
}

/* A chunk is given back when it is in the file: who takes over from a drain that was killed finds it. */
static void write_out(struct producer *p)
{
	take_definitions(p);
	if (!rawfile_flush(&p->file))
		note_failure(p);
	keep_losses(p);
	for (unsigned i = 0; i < taken_count; i++)
		producer_give_back(p, taken[i]);
	taken_count = 0;
}

/* Threads wait, or the pool grows, while much of it is on its way into the file. */
static void make_room(struct producer *p)
{
	if (!rawfile_fits(&p->file, p->chunk_size) || taken_count >= chunk_count(p) / 2)
		write_out(p);
}

/* There is work under way: `chunk` is our copy. */
static bool has_flight(const uint8_t *chunk, uint32_t bytes)
{
	struct wire_line l;

	for (size_t at = WIRE_LIVE_HEADER; at + sizeof(l) <= bytes; at += sizeof(l)) {
		memcpy(&l, chunk + at, sizeof(l));
		if (l.kind == WIRE_LINE_FLIGHT && l.state)
			return true;
	}
	return false;
}

static struct raw_block block_of(const struct wire_chunk *h, enum raw_block_type type,
				 uint32_t committed)
{
	return (struct raw_block){.type = (uint16_t)type,
				  .flags = h->type == WIRE_CHUNK_RECORDS ? raw_early_flags(h->early)
									 : 0,
				  .thread = h->thread,
				  .chunk_type = h->type,
				  .seq = h->seq,
				  .first_tick = h->base_tick,
				  .last_tick = UINT64_MAX,
				  .raw = committed};
}

static void note_recorded(struct producer *p, bool recorded)
{
	p->recorded |= recorded;
	if (p->kept)
		p->kept->counts.recorded = p->recorded;
}

/* Nobody changes it any more: it is written from where it is, behind the header that was checked. */
static void lend_chunk(struct producer *p, const struct wire_chunk *c, const struct wire_chunk *h,
		       uint32_t committed)
{
	struct raw_block b = block_of(h, RAW_CHUNK, committed);
	bool lent = rawfile_lend(&p->file, &b, h, sizeof(*h), c + 1);

	if (!lent) {
		write_out(p);
		lent = rawfile_lend(&p->file, &b, h, sizeof(*h), c + 1);
	}
	if (lent)
		note_recorded(p, committed > h->header_size || h->lost);
	else
		p->damaged_chunks++;
}

/* Lines of its own, or still growing: the copy is what is checked and written. */
static void copy_chunk(struct producer *p, const struct wire_chunk *c, const struct wire_chunk *h,
		       uint32_t committed, bool filling, enum raw_block_type type)
{
	struct raw_block b = block_of(h, type, committed);
	uint8_t *to = rawfile_reserve(&p->file, committed);
	struct wire_chunk after;

	if (!to) {
		write_out(p);
		to = rawfile_reserve(&p->file, committed);
	}
	if (!to) {
		p->damaged_chunks++;
		return;
	}
	memcpy(to, c, committed);
	memcpy(to, h, sizeof(*h));
	memcpy(&after, c, sizeof(after));
	if (filling && !same_chunk(h, &after))
		return;
	note_recorded(p,
		      (h->type == WIRE_CHUNK_RECORDS && (committed > h->header_size || h->lost)) ||
			      (h->type == WIRE_CHUNK_LIVE && has_flight(to, committed)));
	rawfile_commit(&p->file, &b);
}

/* Puts a chunk among the file's pending blocks. */
static void take_chunk(struct producer *p, uint32_t i, bool filling, enum raw_block_type type)
{
	const struct wire_chunk *c = chunk_of(p, i);
	struct wire_chunk h;
	uint32_t committed;

	memcpy(&h, c, sizeof(h));
	committed = atomic_load_explicit(&h.committed, memory_order_relaxed);
	if (filling && (h.magic == 0 || committed == 0))
		return; /* obtained, not begun */
	if (!header_good(p, &h, committed)) {
		p->damaged_chunks++;
		return;
	}
	if (filling && committed == h.header_size && h.lost == 0)
		return;
	/* At least what held of the records that are committed: it is said before they are. */
	atomic_thread_fence(memory_order_acquire);
	h.early = atomic_load_explicit(&c->early, memory_order_relaxed);
	make_room(p);
	if (!filling && h.type == WIRE_CHUNK_RECORDS)
		lend_chunk(p, c, &h, committed);
	else
		copy_chunk(p, c, &h, committed, filling, type);
}

/*
 * In a flight recorder a thread of the program may want the oldest chunk for itself at any time:
 * what is read is claimed first.
 */
static bool claim_chunk(const struct producer *p, const struct found *f)
{
	_Atomic uint32_t *state = &ctl_of(p)[f->chunk].state;
	const struct wire_chunk *c = chunk_of(p, f->chunk);
	uint32_t full = SHM_FULL;

	if (!atomic_compare_exchange_strong(state, &full, SHM_FULL | SHM_READING))
		return false;
	if (c->thread == f->thread && c->seq == f->seq)
		return true;
	atomic_store(state, SHM_FULL); /* another one by now; it has its place in the next pass */
	return false;
}

/* ---- how it stands -------------------------------------------------------------------------- */

/*
 * What is open is read through the file, which leaves what the process never touched without memory;
 * twice, while the process runs: a call that comes and goes meanwhile is none that lasts.
 */
static unsigned open_calls_of(const struct shm_thread *t, const struct shm_thread *again,
			      struct raw_open *out)
{
	uint32_t depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
	uint32_t n = depth < WIRE_OPEN_MAX ? depth : WIRE_OPEN_MAX, same = 0;

	if (t->tid == 0 || t->tid != again->tid || t->index != again->index)
		return 0;
	while (same < n && same < atomic_load_explicit(&again->depth, memory_order_relaxed) &&
	       memcmp(&t->open[same], &again->open[same], sizeof(t->open[0])) == 0)
		same++;
	for (uint32_t i = 0; i < same; i++)
		out[i] = (struct raw_open){t->open[i], t->index, t->tid, i, 0};
	return same;
}

/*
 * False: nobody has been there. Slots are used from the first on, and one that was used keeps its
 * number: what lies behind the last has no memory, and looking at it would make some.
 */
static bool read_threads(const struct producer *p, uint32_t from, struct shm_thread *batch)
{
	memcpy(batch, (uint8_t *)p->shm + p->threads_offset + from * sizeof(*batch),
	       OPEN_BATCH * sizeof(*batch));
	for (unsigned i = 0; i < OPEN_BATCH; i++)
		if (batch[i].tid || batch[i].index)
			return true;
	return false;
}

static void write_open_calls(struct producer *p)
{
	struct shm_thread *batch = malloc(2 * OPEN_BATCH * sizeof(*batch)),
			  *again = batch + OPEN_BATCH;
	struct raw_open *calls = malloc(SHM_THREADS * WIRE_OPEN_MAX * sizeof(*calls));
	uint64_t tick = tick_now();
	unsigned n = 0;

	for (uint32_t i = 0; batch && calls && i < SHM_THREADS; i += OPEN_BATCH) {
		if (!read_threads(p, i, batch) || !read_threads(p, i, again))
			break;
		for (unsigned j = 0; j < OPEN_BATCH; j++)
			n += open_calls_of(&batch[j], &again[j], calls + n);
	}
	if (n || p->open_told)
		rawfile_add_at(&p->file, RAW_OPEN_CALLS, calls, (uint32_t)(n * sizeof(*calls)),
			       tick);
	p->open_told |= n > 0;
	free(batch);
	free(calls);
}

/*
 * Of the records lost, those that the file system has on its account: what it refused, and, since it
 * did, what found no room in a buffer that was not emptied any more.
 */
static uint64_t unwritten_of(const struct producer *p)
{
	const struct producer_counts *now = &p->counts, *then = &p->known_then;
	uint64_t since = p->refusing ? now->lost_records - then->lost_records : 0,
		 others = p->refusing ? now->no_memory_records - then->no_memory_records +
						now->dropped_records - then->dropped_records
				      : 0;

	return p->file.lost_records + (since > others ? since - others : 0);
}

static struct raw_end end_of(struct producer *p, int wait_status)
{
	const struct producer_counts *counts = take_counts(p);
	uint32_t state = atomic_load(&p->shm->state);
	struct raw_end end = {.status = -1, .tick = tick_now()};

	end.lost_records = counts->lost_records + p->file.lost_records;
	end.lost_definitions = counts->lost_definitions + p->file.lost_definitions;
	end.damaged_chunks = p->damaged_chunks;
	end.overhead_ticks = counts->overhead_ticks;
	end.overwritten_records = counts->overwritten_records;
	end.unwritten_records = unwritten_of(p);
	end.waiting_ticks = atomic_load(&p->shm->waiting_ticks);
	end.beside_ticks = atomic_load(&p->shm->beside_ticks);
	end.loading_ticks = atomic_load(&p->shm->loading_ticks);
	end.drain_ns = p->busy_ns;
	end.no_memory_records = counts->no_memory_records;
	end.dropped_records = counts->dropped_records;
	if (state == SHM_EXEC || p->superseded) {
		end.how = 3;
	} else if (state == SHM_LEFT) {
		end.how = RAW_END_LEFT;
	} else if (wait_status != -1 && WIFSIGNALED(wait_status)) {
		end.how = 2;
		end.status = WTERMSIG(wait_status);
	} else {
		end.how = state == SHM_FINALIZED ? 0 : 1;
		end.status = wait_status == -1 ? -1 : WEXITSTATUS(wait_status);
	}
	return end;
}

/* What is lost up to now, for those who read while the process runs, or when its end is missing. */
static void write_state(struct producer *p)
{
	struct raw_end now = end_of(p, -1);

	now.how = 5;
	now.status = -1;
	if (now.lost_records == p->told.lost_records &&
	    now.lost_definitions == p->told.lost_definitions &&
	    now.overwritten_records == p->told.overwritten_records &&
	    now.damaged_chunks == p->told.damaged_chunks)
		return;
	rawfile_add_at(&p->file, RAW_STATE, &now, sizeof(now), now.tick);
	p->told = now;
}

/*
 * What threads have written so far of the chunks that they are filling. In a flight recorder such a
 * chunk may be handed over and taken for something newer while it is copied.
 */
static void copy_unfinished(struct producer *p)
{
	unsigned n = find_chunks(p, SHM_FILLING, false);

	for (unsigned i = 0; i < n; i++)
		take_chunk(p, found[i].chunk, true, RAW_PARTIAL);
}

static unsigned do_pass(struct producer *p, bool all)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool recorder, asked;
	uint32_t flush;
	unsigned n;

	producer_guard(p);
	producer_beat(p);
	p->next_pass = now + PRODUCER_PASS_NS;
	p->heard = atomic_load_explicit(&p->shm->bell, memory_order_acquire);
	flush = atomic_load(&p->shm->flush); /* which is raised before the bell is rung */
	recorder = p->shm->overwrite != 0;
	all |= !recorder || atomic_load(&p->shm->flushed) != flush;
	process_delay_now(p->pid, p->pidfd, &p->used.delay);
	n = find_chunks(p, SHM_FULL, !all);
	for (unsigned i = 0; i < n; i++) {
		if (recorder && !claim_chunk(p, &found[i]))
			continue;
		take_chunk(p, found[i].chunk, false, RAW_CHUNK);
		taken[taken_count++] = found[i].chunk;
	}
	asked = atomic_load(&p->shm->flushed) != flush;
	if (asked)
		copy_unfinished(p);
	if (!p->file.failed && (asked || now >= p->next_sync)) {
		process_used_now(p->pid, p->pidfd, &p->used);
		/* Else the room that is left is for what cannot be done without. */
		if (asked)
			write_open_calls(p);
		producer_sync(p);
		write_state(p);
		p->next_sync = now + SYNC_NS;
	}
	write_out(p);
	if (atomic_load_explicit(&p->shm->flushed, memory_order_relaxed) != flush) {
		atomic_store(&p->shm->flushed, flush);
		futex_wake(&p->shm->flushed, FUTEX_ALL);
	}
	return n;
}

static unsigned pass_chunks(struct producer *p, bool all)
{
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	unsigned n = do_pass(p, all);

	p->busy_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	if (p->kept)
		p->kept->counts.busy_ns = p->busy_ns;
	return n;
}

bool producer_calls(const struct producer *p, uint64_t now)
{
	producer_guard(p);
	return atomic_load_explicit(&p->shm->bell, memory_order_relaxed) != p->heard ||
	       now >= p->next_pass;
}

unsigned producer_pass(struct producer *p)
{
	if (!p->begun) {
		producer_guard(p);
		producer_beat(p);
		p->next_pass = clock_ns(CLOCK_MONOTONIC) + PRODUCER_PASS_NS;
		p->heard = atomic_load_explicit(&p->shm->bell, memory_order_acquire);
		return 0;
	}
	return pass_chunks(p, false);
}

/* ---- end ------------------------------------------------------------------------------------ */

/* Nothing is in the file that the job's table has not, and nothing went wrong. */
static bool given_away(const struct producer *p)
{
	return atomic_load(&p->shm->given) == SHM_GIVEN && !p->recorded && !p->damaged_chunks &&
	       !p->file.failed && !atomic_load(&p->shm->lost_records) &&
	       !atomic_load(&p->shm->lost_definitions) &&
	       atomic_load(&p->shm->state) == SHM_FINALIZED;
}

/* It goes only once that is known to who comes next, who would not find it. */
static void give_away(struct producer *p)
{
	if (p->given || !given_away(p))
		return;
	p->given = true;
	if (p->kept)
		journal_add(p->journal, JOURNAL_GIVEN_AWAY, &p->kept->number,
			    sizeof(p->kept->number), NULL);
}

/* A drain before this one has written it, and then was killed. */
static bool is_already(const struct producer *p, const struct found *f)
{
	for (unsigned i = 0; i < p->already_count; i++)
		if (p->already[i].chunk == f->chunk && p->already[i].thread == f->thread &&
		    p->already[i].seq == f->seq)
			return true;
	return false;
}

void producer_count(struct producer *p, struct drain_totals *totals)
{
	const struct producer_counts *counts = take_counts(p);

	totals->lost_records += counts->lost_records + p->file.lost_records;
	totals->lost_definitions += counts->lost_definitions + p->file.lost_definitions;
	totals->unwritten_records += unwritten_of(p);
	totals->no_memory_records += counts->no_memory_records;
	totals->dropped_records += counts->dropped_records;
	totals->overwritten_records += counts->overwritten_records;
	totals->damaged_chunks += p->damaged_chunks;
	totals->bytes += p->file.bytes + p->file.saved;
	if (p->file.failed && !totals->failed)
		totals->failed = p->file.failed;
}

static uint64_t less(uint64_t all, uint64_t before)
{
	return all > before ? all - before : 0;
}

/* What the process told as its last is exact; the kernel's sums are not, and have what came after that. */
static void add_usage(struct producer *p, struct raw_end *end)
{
	uint64_t user = atomic_load(&p->shm->user_ns), system = atomic_load(&p->shm->system_ns);
	uint64_t resident = atomic_load(&p->shm->resident_bytes);
	bool told =
		resident && resident <= USAGE_MOST && user <= USAGE_MOST && system <= USAGE_MOST;

	end->user_ns = told && user > p->used.user ? user : p->used.user;
	end->system_ns = told && system > p->used.system ? system : p->used.system;
	end->user_ns = less(end->user_ns, atomic_load(&p->shm->user_before_ns));
	end->system_ns = less(end->system_ns, atomic_load(&p->shm->system_before_ns));
	end->resident_bytes = told ? resident : p->used.resident;
	if (told)
		end->usage = RAW_USAGE_WHOLE;
	else if (end->user_ns + end->system_ns)
		end->usage = RAW_USAGE_SEEN;
	if (p->used.delay > p->delay_before)
		end->delay_ns = p->used.delay - p->delay_before;
}

/* A thread was killed before it had counted what it took from the past, to write over it. */
static void finish_overwriting(struct producer *p)
{
	struct shm_chunk_ctl *ctl = ctl_of(p);
	uint32_t count = chunk_count(p);

	for (uint32_t i = 0; i < count; i++) {
		struct wire_chunk *c = chunk_of(p, i);

		if (atomic_load(&ctl[i].state) != SHM_TAKEN)
			continue;
		atomic_fetch_add(&p->shm->overwritten_records,
				 wire_chunk_records(c, 0, p->chunk_size));
		atomic_store(&c->committed, 0);
	}
}

void producer_finish(struct producer *p, int wait_status, struct drain_totals *totals,
		     struct raw_end *end, char *path)
{
	unsigned n;

	producer_guard(p);
	finish_overwriting(p);
	while (pass_chunks(p, true) > 0)
		;
	n = find_chunks(p, SHM_FILLING, false);
	for (unsigned i = 0; i < n; i++) {
		if (is_already(p, &found[i]))
			continue;
		take_chunk(p, found[i].chunk, true, RAW_CHUNK);
		taken[taken_count++] = found[i].chunk; /* which is given back by nobody */
	}
	write_out(p);
	write_open_calls(p);
	producer_sync(p);
	rawfile_flush(&p->file);
	give_away(p);
	*end = end_of(p, wait_status);
	add_usage(p, end);
	rawfile_end(&p->file, end);
	rawfile_close(&p->file);
	if (p->given && (unlink(p->file.path) == 0 || errno == ENOENT))
		p->file.path[0] = '\0';
	producer_count(p, totals);
	memcpy(path, p->file.path, PATH_MAX);
}
