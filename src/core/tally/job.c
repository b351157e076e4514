/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tallies of this process as the table of one rank, to be added to those of the other ranks of
 * its job. What is given away is written down beside the tallies, not taken out of them: other
 * threads go on counting, and if the job's table never gets into a trace the process's own tallies
 * still hold everything. So nothing is lost and nothing counts twice, whoever dies when.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"
#include "base/vec.h"
#include "core/context/context.h"
#include "core/define/define.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tally/job.h"
#include "core/tally/tally.h"
#include "core/activity/activity.h"
#include "wire/job_tally.h"
#include "wire/tally.h"

#define THREADS_ROOM 1024u /* of ended threads that one definition names */

/* Under `tallies`. */
static struct {
	struct job_tally table; /* of threads that have ended */
	uint32_t *threads;      /* their indexes */
	uint64_t time;          /* ticks that they were there */
	uint32_t count, room;
	bool began, taken;
} ended;

_Atomic bool cap_tally_over;

static struct core_buffer *tally_buffer(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (core_buffers[i].used && core_buffers[i].desc.tally && core_buffers[i].ready)
			return &core_buffers[i];
	return NULL;
}

bool cap_tallies(void)
{
	return tally_buffer() != NULL;
}

void cap_tally_work(void)
{
	const struct core_buffer *b = tally_buffer();

	if (!b || core_buffer_private(b))
		return;
	atomic_store(&core_tally_works, true);
	pthread_mutex_lock(&core_live->configure);
	core_masks_update(); /* before the first is counted: plans say that it is */
	pthread_mutex_unlock(&core_live->configure);
	atomic_store(&cap_counted, 1ull << b->index);
}

void core_tally_fork_child(void)
{
	memset(&ended, 0, sizeof(ended));
	atomic_store(&cap_tally_over, false);
	core_work_fork_child();
}

/* ---- names ---------------------------------------------------------------------------------- */

struct names {
	char text[JOB_TALLY_NAMES][JOB_TALLY_NAME + 1];
};

/* Texts of definitions have no end mark: the next value follows. */
static void text_of(char out[JOB_TALLY_NAME + 1], const struct wire_def *d, unsigned i)
{
	size_t n;
	const char *s = wire_def_text(d, i, &n);

	snprintf(out, JOB_TALLY_NAME + 1, "%.*s", (int)(n < JOB_TALLY_NAME ? n : JOB_TALLY_NAME),
		 s);
}

/* Value `i` of a definition as text; "" where there is none. */
static void name_of(char out[JOB_TALLY_NAME + 1], uint16_t kind, uint64_t id, unsigned i)
{
	struct wire_def d;
	uint8_t *copy;

	out[0] = '\0';
	if (!id)
		return;
	pthread_mutex_lock(&core_live->define);
	copy = core_definition_find(kind, id, &d);
	pthread_mutex_unlock(&core_live->define);
	if (copy)
		text_of(out, &d, i);
	free(copy);
}

static uint32_t number_of(uint16_t kind, uint64_t id, unsigned i)
{
	struct wire_def d;
	uint32_t number = 0;
	uint8_t *copy;

	pthread_mutex_lock(&core_live->define);
	copy = id ? core_definition_find(kind, id, &d) : NULL;
	pthread_mutex_unlock(&core_live->define);
	if (copy)
		number = (uint32_t)wire_def_get(&d, i);
	free(copy);
	return number;
}

/* Queues are one rank's own; the device they belong to is not. */
static void name_agent(char out[JOB_TALLY_NAME + 1], uint32_t agent, uint32_t queue)
{
	if (!agent)
		agent = number_of(DEF_QUEUE, queue, DEF_QUEUE_AGENT);
	name_of(out, DEF_AGENT, agent, DEF_AGENT_NAME);
}

static void name_op(struct job_tally_row *r, struct names *n, uint16_t wire)
{
	const struct cap_domain *d = core_domain_of(wire);
	const kymo_op_desc_t *op;

	if (!d)
		return; /* the tallies lie where another process can write */
	op = &d->desc->ops[wire - d->base];

	snprintf(n->text[JOB_TALLY_DOMAIN], sizeof(n->text[0]), "%s", d->desc->name);
	snprintf(n->text[JOB_TALLY_TITLE], sizeof(n->text[0]), "%s", d->desc->title);
	snprintf(n->text[JOB_TALLY_OP], sizeof(n->text[0]), "%s", op->name);
	r->number = wire - d->base;
	r->flags = op->flags;
}

/* The key of an entry's row. */
static void key_of(struct job_tally_row *r, struct names *n, uint32_t wire,
		   const struct wire_work *w)
{
	memset(n, 0, sizeof(*n));
	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < JOB_TALLY_NAMES; i++)
		r->name[i] = n->text[i];
	r->kind = w ? (uint8_t)w->kind : WIRE_TALLY_CALL;
	switch (r->kind) {
	case WIRE_TALLY_DISPATCH:
		name_of(n->text[JOB_TALLY_DOMAIN], DEF_KERNEL, w->key[WIRE_KEY_DISPATCH_KERNEL],
			DEF_KERNEL_DOMAIN);
		name_of(n->text[JOB_TALLY_OP], DEF_KERNEL, w->key[WIRE_KEY_DISPATCH_KERNEL],
			DEF_KERNEL_NAME);
		name_agent(n->text[JOB_TALLY_A], w->key[WIRE_KEY_DISPATCH_AGENT],
			   w->key[WIRE_KEY_DISPATCH_QUEUE]);
		return;
	case WIRE_TALLY_ALLOCATION:
		name_agent(n->text[JOB_TALLY_A], w->key[WIRE_KEY_ALLOCATION_AGENT], 0);
		r->detail =
			w->key[WIRE_KEY_ALLOCATION_KIND] << 8 | w->key[WIRE_KEY_ALLOCATION_WHAT];
		return;
	case WIRE_TALLY_POOL:
		name_agent(n->text[JOB_TALLY_A], w->key[WIRE_KEY_POOL_AGENT], 0);
		r->detail = w->key[WIRE_KEY_POOL_KIND];
		return;
	default:
		break;
	}
	name_op(r, n, (uint16_t)wire);
	if (r->kind == WIRE_TALLY_COPY) {
		name_agent(n->text[JOB_TALLY_A], w->key[WIRE_KEY_COPY_SOURCE_AGENT], 0);
		name_agent(n->text[JOB_TALLY_B], w->key[WIRE_KEY_COPY_DESTINATION_AGENT], 0);
		r->detail = w->key[WIRE_KEY_COPY_KINDS];
	} else if (r->kind == WIRE_TALLY_COMM) {
		name_of(n->text[JOB_TALLY_A], DEF_STRING, w->key[WIRE_KEY_COMM_DATATYPE],
			DEF_STRING_TEXT);
	} else if (r->kind == WIRE_TALLY_MARKER) {
		for (unsigned i = 0; i < 3; i++)
			name_of(n->text[JOB_TALLY_A + i], DEF_STRING,
				w->key[WIRE_KEY_MARKER_NAME + i], DEF_STRING_TEXT);
	}
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Device work is in nanoseconds already. */
static bool in_ns(const struct job_tally_row *r)
{
	return r->kind == WIRE_TALLY_DISPATCH || r->kind == WIRE_TALLY_COPY;
}

static uint64_t ns_of(const struct job_tally_row *r, uint64_t time)
{
	return in_ns(r) ? time : core_tick_span(time);
}

static void add_times(struct job_tally *t, struct job_tally_row *r, const struct wire_tally *y)
{
	r->n[JOB_TALLY_TOTAL] += ns_of(r, y->total);
	r->n[JOB_TALLY_SELF] += ns_of(r, y->self);
	if (y->min != UINT64_MAX && ns_of(r, y->min) < r->min)
		r->min = ns_of(r, y->min);
	if (ns_of(r, y->max) > r->max)
		r->max = ns_of(r, y->max);
	for (uint32_t b = 0; b < WIRE_TALLY_BUCKETS; b++)
		if (y->histogram[b])
			job_tally_bucket(t, r, wire_tally_bucket(ns_of(r, wire_tally_middle(b))),
					 y->histogram[b]);
}

static void add_work(struct job_tally_row *r, const struct wire_work *w)
{
	r->n[JOB_TALLY_BYTES] += w->bytes;
	r->n[JOB_TALLY_RECEIVED] += w->received;
	r->n[JOB_TALLY_WAIT] += w->wait;
	r->n[JOB_TALLY_UNTIMED] += w->untimed;
	r->n[JOB_TALLY_UNTIMED_BYTES] += w->untimed_bytes;
	r->n[JOB_TALLY_FREES] += w->frees;
	r->n[JOB_TALLY_FREED] += w->freed;
}

/* What the process had in use of a kind of memory; the most is that of the thread that saw most. */
static void add_pool(struct job_tally *t, const struct wire_tally *y, const struct wire_work *w,
		     struct names *n)
{
	struct wire_work pool = *w;
	struct job_tally_row key, *r;

	pool.kind = WIRE_TALLY_POOL;
	key_of(&key, n, y->op, &pool);
	r = job_tally_row(t, &key);
	if (!r)
		return;
	r->min = 0;
	r->n[JOB_TALLY_COUNT] += y->count;
	r->n[JOB_TALLY_FREES] += w->frees;
	r->n[JOB_TALLY_IN_USE] += w->bytes - w->freed;
	if (w->peak > r->n[JOB_TALLY_PEAK])
		r->n[JOB_TALLY_PEAK] = w->peak;
}

/* A copy: the thread may be counting. */
static void add_entry(struct job_tally *t, const struct wire_tally *y, const struct wire_work *w)
{
	struct names *n = malloc(sizeof(*n));
	struct job_tally_row key, *r;

	if (!n) {
		t->failed = true;
		return;
	}
	key_of(&key, n, y->op, w);
	r = job_tally_row(t, &key);
	if (r) {
		r->n[JOB_TALLY_COUNT] += y->count;
		r->n[JOB_TALLY_ERRORS] += y->errors;
		add_times(t, r, y);
		if (w)
			add_work(r, w);
	}
	if (r && w && w->kind == WIRE_TALLY_ALLOCATION && !w->key[WIRE_KEY_ALLOCATION_PART])
		add_pool(t, y, w, n);
	free(n);
}

/* ---- threads that end ----------------------------------------------------------------------- */

static void fold(const struct wire_tally *y, const struct wire_work *w, void *data)
{
	add_entry(&ended.table, y, w);
}

static uint64_t there(const struct cap_thread *t)
{
	return t->start && !core_life_own(t->tid) ? tick_now() - t->start : 0;
}

void core_tally_fold(struct cap_thread *t)
{
	kymo_assert_held(&core_live->tallies);
	if (ended.taken)
		return;
	ended.time += there(t);
	if (!t->tally_ring.chunk)
		return;
	if (!vec_reserve(&ended.threads, &ended.room, ended.count, 1))
		return; /* then it is not given away */
	if (!ended.began)
		job_tally_init(&ended.table);
	ended.began = true;
	ended.threads[ended.count++] = t->index;
	core_tally_each(t, fold, NULL);
}

/* ---- taking --------------------------------------------------------------------------------- */

struct taking {
	struct core_buffer *buffer;
	struct job_tally *out;
	struct cap_thread *own;    /* writes down what is given */
	struct cap_thread *thread; /* whose entries are walked */
	uint64_t start, time;
};

/* Written down first: what cannot be is not given away. */
static void take_entry(const struct wire_tally *y, const struct wire_work *w, void *data)
{
	struct taking *k = data;
	struct wire_tally copy = *y;
	struct wire_work work = {.kind = WIRE_TALLY_CALL};

	if (w)
		work = *w;
	work.thread = k->thread->index;
	copy.flags = WIRE_TALLY_WORK | WIRE_TALLY_GIVEN;
	if (!core_tally_add(k->own, k->buffer, &copy, &work))
		return;
	copy.flags = y->flags;
	add_entry(k->out, &copy, w ? &work : NULL);
}

/* Names of definitions are looked up, so the list of threads must not be locked meanwhile. */
static void take_live(struct taking *k) REQUIRES(core_live->tallies)
{
	struct cap_thread **list;
	size_t count;

	kymo_assert_held(&core_live->tallies);
	if (!core_threads_list(&list, &count)) {
		k->out->failed = true;
		return;
	}
	for (struct cap_thread **t = list; t < list + count; t++) {
		k->thread = *t;
		k->start = (*t)->start && (*t)->start < k->start ? (*t)->start : k->start;
		k->time += there(*t);
		core_tally_each(*t, take_entry, k);
	}
	free(list);
}

static void define_given(const uint64_t *totals)
{
	struct wire_def d;
	uint32_t at = 0;

	do {
		uint32_t n = ended.count - at < THREADS_ROOM ? ended.count - at : THREADS_ROOM;

		wire_def_init(&d, DEF_JOB_GIVEN);
		wire_def_bytes(&d, ended.threads + at, n * sizeof(*ended.threads));
		wire_def_bytes(&d, totals, at ? 0 : JOB_TALLY_TOTALS * sizeof(*totals));
		cap_define(&d);
		at += n;
	} while (at < ended.count);
}

static bool is_note(const struct wire_def *d)
{
	return d->kind == DEF_NOTE;
}

static void take_notes(struct job_tally *out)
{
	struct names *n = calloc(1, sizeof(*n));
	struct wire_def d;
	const uint8_t *p;
	uint8_t *copy;
	size_t bytes;

	pthread_mutex_lock(&core_live->define);
	p = copy = core_definitions_copy(is_note, &bytes);
	pthread_mutex_unlock(&core_live->define);
	while (n && copy && wire_def_read(&p, copy + bytes, &d) == 1) {
		struct job_tally_row key = {.kind = JOB_TALLY_NOTE}, *r;

		for (unsigned i = 0; i < JOB_TALLY_NAMES; i++)
			key.name[i] = n->text[i];
		key.detail = (uint32_t)wire_def_get(&d, DEF_NOTE_SEVERITY);
		text_of(n->text[JOB_TALLY_DOMAIN], &d, DEF_NOTE_PART);
		text_of(n->text[JOB_TALLY_A], &d, DEF_NOTE_TEXT);
		r = job_tally_row(out, &key);
		if (r)
			r->n[JOB_TALLY_COUNT] += wire_def_get(&d, DEF_NOTE_COUNT);
	}
	free(copy);
	free(n);
}

/* ---- loads ---------------------------------------------------------------------------------- */

/* What users call the same: of devices, only that it is one. */
static void add_load(struct job_tally *t, const struct job_tally_row *of, uint32_t rank)
{
	bool self = of->kind == WIRE_TALLY_CALL || of->kind == WIRE_TALLY_OTHER ||
		    of->kind == WIRE_TALLY_MARKER;
	uint64_t ns = of->n[self ? JOB_TALLY_SELF : JOB_TALLY_TOTAL];
	struct job_tally_row key = *of;

	for (unsigned i = JOB_TALLY_A; i < JOB_TALLY_NAMES; i++)
		if (of->kind == WIRE_TALLY_COPY)
			key.name[i] = *of->name[i] ? "device" : "";
		else if (of->kind != WIRE_TALLY_MARKER || i == JOB_TALLY_C)
			key.name[i] = "";
	job_tally_load(t, &key, rank, ns);
	key.detail = 0;
	for (unsigned i = JOB_TALLY_OP; i < JOB_TALLY_NAMES; i++)
		key.name[i] = "";
	if (of->kind != WIRE_TALLY_CALL && of->kind != WIRE_TALLY_OTHER)
		key.name[JOB_TALLY_DOMAIN] = key.name[JOB_TALLY_TITLE] = "";
	job_tally_load(t, &key, rank, ns);
}

static void add_loads(struct job_tally *t, uint32_t rank)
{
	uint32_t count = t->count;

	for (uint32_t i = 0; i < count; i++)
		if (t->rows[i]->kind != WIRE_TALLY_ALLOCATION && t->rows[i]->kind < WIRE_TALLY_POOL)
			add_load(t, t->rows[i], rank);
}

/* ---- what backends call --------------------------------------------------------------------- */

void cap_tally_last(struct cap_frame *f)
{
	struct core_buffer *b = tally_buffer();
	struct cap_thread *t = cap_thread_current;

	if (!b || !(atomic_load(&f->buffers) >> b->index & 1))
		return;
	f->end = tick_now();
	core_tally_call(t, b, f);
	f->end = 0;
	atomic_fetch_and(&f->buffers, ~(1ull << b->index));
}

static void fill_costs(struct job_tally *t)
{
	struct wire_cost_sum calls;
	double ns;

	core_life_count_all();
	core_lines_costs(&calls);
	ns = tick_source_chosen == TICK_MONOTONIC_RAW ? 1 : 1e9 / (double)tick_rate();
	t->total[JOB_TALLY_OVERHEAD] = core_tick_span(core_cost(CAP_COST_PROGRAM));
	t->total[JOB_TALLY_WAITING] = core_tick_span(core_cost(CAP_COST_WAITING));
	t->total[JOB_TALLY_BESIDE] = core_tick_span(core_cost(CAP_COST_BESIDE));
	t->total[JOB_TALLY_LOADING] = core_tick_span(core_cost(CAP_COST_LOADING));
	t->total[JOB_TALLY_CALLS_COST] = (uint64_t)(calls.ticks * ns);
	t->total[JOB_TALLY_CALLS_VARIANCE] = (uint64_t)(calls.variance * ns * ns);
	t->total[JOB_TALLY_COST_SAMPLES] = calls.samples;
}

static void fill_totals(struct job_tally *t, const struct taking *k, int64_t offset,
			uint64_t clock_error)
{
	const struct shm_header *pool = k->buffer->pool->shm;

	t->total[JOB_TALLY_START] = tick_ns(k->start) + (uint64_t)offset;
	t->total[JOB_TALLY_END] = clock_ns(CLOCK_MONOTONIC_RAW) + (uint64_t)offset;
	t->total[JOB_TALLY_LOST] = atomic_load(&pool->lost_records);
	t->total[JOB_TALLY_LOST_DEFINITIONS] = atomic_load(&pool->lost_definitions);
	t->total[JOB_TALLY_UNTRACED] = atomic_load(&core_untraced);
	t->total[JOB_TALLY_UNTIMED_RECORDS] = atomic_load(&core_untimed);
	t->total[JOB_TALLY_NO_MEMORY] = atomic_load(&pool->no_memory_records);
	t->total[JOB_TALLY_DROPPED] = atomic_load(&pool->dropped_records);
	t->total[JOB_TALLY_CLOCK_ERROR] = clock_error;
	t->total[JOB_TALLY_THREAD_TIME] = core_tick_span(k->time + ended.time);
	fill_costs(t);
}

void cap_tally_take(struct job_tally *out, uint32_t rank, uint32_t world, int64_t offset,
		    uint64_t clock_error)
{
	struct taking k = {.buffer = tally_buffer(),
			   .out = out,
			   .own = cap_thread_attach(),
			   .start = UINT64_MAX};

	job_tally_init(out);
	out->total[JOB_TALLY_WORLD] = world;
	if (!k.buffer || core_buffer_private(k.buffer) || !k.own)
		return; /* a table of no rank */
	out->total[JOB_TALLY_RANKS] = 1;
	out->total[JOB_TALLY_FIRST_RANK] = out->total[JOB_TALLY_LAST_RANK] = rank;
	pthread_mutex_lock(&core_live->tallies);
	ended.taken = true;
	take_live(&k);
	if (ended.began)
		job_tally_merge(out, &ended.table);
	fill_totals(out, &k, offset, clock_error);
	define_given(out->total);
	pthread_mutex_unlock(&core_live->tallies);
	take_notes(out);
	add_loads(out, rank);
}

/*
 * Definitions go to all shared buffers, also where this process itself counts nothing. False: what is
 * defined now will not be in some trace; else how many definitions were lost so far.
 */
static bool definitions_arrive(uint64_t *lost)
{
	bool any = false;

	*lost = 0;
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		const struct core_buffer *b = &core_buffers[i];

		if (!b->used || !b->ready || b->retired || core_buffer_private(b))
			continue;
		if (core_pool_reader_ended(b->pool))
			return false;
		*lost += atomic_load(&b->pool->shm->lost_definitions);
		any = true;
	}
	return any;
}

bool cap_tally_write(const struct job_tally *t)
{
	size_t bytes;
	uint8_t *data = job_tally_encode(t, &bytes);
	uint64_t before, lost;
	bool written = data && definitions_arrive(&before);
	struct wire_def d;

	for (size_t at = 0; written && at < bytes; at += DEF_JOB_TALLY_PIECE) {
		size_t n = bytes - at < DEF_JOB_TALLY_PIECE ? bytes - at : DEF_JOB_TALLY_PIECE;

		wire_def_init(&d, DEF_JOB_TALLY);
		wire_def_u64(&d, at);
		wire_def_u64(&d, bytes);
		wire_def_bytes(&d, data + at, n);
		cap_define(&d);
		written = definitions_arrive(&lost) && lost == before;
	}
	free(data);
	return written;
}

void cap_tally_given(bool elsewhere)
{
	const struct core_buffer *b = tally_buffer();

	atomic_store(&cap_tally_over, true);
	if (b && elsewhere)
		atomic_store(&b->pool->shm->given, SHM_GIVEN);
}

void core_tally_not_all(void)
{
	const struct core_buffer *b = tally_buffer();

	if (b && atomic_load(&b->pool->shm->given) == SHM_GIVEN)
		atomic_store(&b->pool->shm->given, SHM_KEPT);
}
