/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies; see tally.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/vec.h"
#include "wire/tally.h"

#include "record/fields.h"
#include "tally/tally.h"

#define NEST_MAX 64u

/* Time of calls that have ended inside a call that has not, by the id of that one. */
struct nest {
	uint64_t parent;
	uint64_t inside;
};

struct tally_thread {
	struct tally **ops; /* rows of TALLY_CALL by op */
	struct nest *nest;  /* NEST_MAX of them, once a nested call was seen */
	uint32_t depth;
};

/* One allocation or free, until they are put in order of time. */
struct memory_event {
	int64_t time;
	int64_t bytes;
	struct tally *pool;
};

#define MEMORY_EVENTS (1u << 20)

struct tally_memory {
	struct memory_event *events;
	uint32_t count, room;
	int64_t folded; /* events up to this time have been applied */
	bool any_folded;
};

/* Errors whose status was not kept. */
static void add_uncoded(struct tallies *a, uint32_t process, const struct t_tally *y)
{
	struct tally *row =
		y->errors ? tally_at(a, TALLY_ERROR,
				     (uint32_t[TALLY_KEYS]){[KEY_PROCESS] = process,
							    [KEY_ERROR_OP] = y->key[KEY_OP],
							    [KEY_ERROR_THREAD] = y->thread,
							    [KEY_ERROR_UNCODED] = 1})
			  : NULL;

	if (row)
		row->count += y->errors;
}

static void add_work(struct tally *row, const struct t_work *w)
{
	row->bytes += w->bytes;
	row->received += w->received;
	row->wait += w->wait;
	row->untimed += w->untimed;
	row->untimed_bytes += w->untimed_bytes;
	row->frees += w->frees;
	row->freed += w->freed;
	row->in_use += w->in_use;
	row->peak = w->peak > row->peak ? w->peak : row->peak;
}

static void add_histogram(struct tallies *a, struct tally *row, const struct t_tally *y)
{
	for (uint32_t b = 0; b < y->buckets; b++) {
		uint64_t ns = wire_tally_ns(wire_tally_middle(y->first + b), y->ns_per_tick);

		if (t_tally_bucket(y, b) &&
		    !histogram_add(&a->pool, &row->histogram, histogram_bucket(ns),
				   t_tally_bucket(y, b)))
			a->failed = true;
	}
}

/* A collective that carries no message: it has no datatype and no bytes. */
static bool is_barrier(const struct tallies *a, uint32_t op, uint32_t datatype, uint64_t bytes)
{
	return !datatype && !bytes && a->trace->ops[op].number == COMM_OP_COLLECTIVE;
}

/* What its process has added up: of all of the row together. */
static void add_messages(const struct tallies *a, struct tally *row, const struct t_tally *y)
{
	uint64_t bytes = y->work->bytes > y->work->received ? y->work->bytes : y->work->received;

	if (is_barrier(a, y->key[KEY_OP], y->key[KEY_COMM_DATATYPE], bytes))
		row->frees += y->count;
	else if (a->trace->ops[y->key[KEY_OP]].number == COMM_OP_COLLECTIVE)
		row->sum = -INFINITY; /* what the root has sent others have received */
	else
		row->sum += (double)bytes;
}

/* What the program counted and timed itself. */
static void add_counted(struct tallies *a, const struct t_tally *y)
{
	static const enum tally_kind kinds[WIRE_TALLY_KINDS] = {
		[WIRE_TALLY_CALL] = TALLY_CALL,
		[WIRE_TALLY_OTHER] = TALLY_ACTIVITY,
		[WIRE_TALLY_DISPATCH] = TALLY_DISPATCH,
		[WIRE_TALLY_COPY] = TALLY_COPY,
		[WIRE_TALLY_ALLOCATION] = TALLY_ALLOCATION,
		[WIRE_TALLY_SYNC] = TALLY_SYNC,
		[WIRE_TALLY_COMM] = TALLY_COMM,
		[WIRE_TALLY_MARKER] = TALLY_MARKER,
		[WIRE_TALLY_POOL] = TALLY_POOL};
	struct tally *row;

	if (!y->count && !(y->work && y->work->frees))
		return; /* the job's table has it */
	row = tally_at(a, kinds[y->kind], y->key);
	if (!row)
		return;
	if (y->work)
		add_work(row, y->work);
	if (y->work && y->kind == WIRE_TALLY_COMM)
		add_messages(a, row, y);
	row->min = row->count == 0 || y->min < row->min ? y->min : row->min;
	row->max = y->max > row->max ? y->max : row->max;
	row->count += y->count;
	row->errors += y->errors;
	row->total += y->total;
	row->self += y->self;
	if (y->kind == WIRE_TALLY_CALL)
		add_uncoded(a, y->key[KEY_PROCESS], y);
	if (row->counted)
		add_histogram(a, row, y);
	else
		row->counted = y;
}

void tally_expand(struct tallies *a, struct tally *row)
{
	if (row->counted)
		add_histogram(a, row, row->counted);
	row->counted = NULL;
}

struct tallies *tallies_empty(const struct trace *t)
{
	struct tallies *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->trace = t;
	a->thread_count = t->threads_count;
	a->threads = calloc(a->thread_count + 1u, sizeof(*a->threads));
	a->scopes = calloc(a->thread_count + 1u, sizeof(*a->scopes));
	a->memory = calloc(1, sizeof(*a->memory));
	if (!a->threads || !a->scopes || !a->memory) {
		tallies_free(a);
		return NULL;
	}
	return a;
}

struct tallies *tallies_new(const struct trace *t)
{
	struct tallies *a = tallies_empty(t);

	for (uint32_t i = 1; a && i < t->tallies_count; i++) {
		add_counted(a, &t->tallies[i]);
		a->coarse = true;
		a->counted |= !t->tallies[i].beside;
	}
	return a;
}

static void set_release(struct tally_set *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->rows[i]);
	free(s->rows);
	map_release(&s->places);
}

void tallies_free(struct tallies *a)
{
	if (!a)
		return;
	for (unsigned k = 0; k < TALLY_KINDS; k++)
		set_release(&a->set[k]);
	for (uint32_t i = 0; a->threads && i < a->thread_count; i++) {
		free(a->threads[i].ops);
		free(a->threads[i].nest);
	}
	for (uint32_t i = 0; a->scopes && i < a->thread_count; i++)
		free(a->scopes[i].nest);
	free(a->scopes);
	free(a->threads);
	if (a->memory)
		free(a->memory->events);
	free(a->memory);
	free(a->live);
	map_release(&a->live_places);
	histogram_pool_release(&a->pool);
	free(a);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint64_t key_hash(const uint32_t key[TALLY_KEYS])
{
	return hash_bytes(key, TALLY_KEYS * sizeof(*key));
}

/* A new row at the end of the set. */
static struct tally *row_new(struct tally_set *s, uint64_t hash, const uint32_t key[TALLY_KEYS])
{
	struct tally *row;

	if (!vec_reserve(&s->rows, &s->room, s->count, 1))
		return NULL;
	row = calloc(1, sizeof(*row));
	if (!row || !map_add(&s->places, hash, s->count + 1)) {
		free(row);
		return NULL;
	}
	memcpy(row->key, key, sizeof(row->key));
	row->min = UINT64_MAX;
	return s->rows[s->count++] = row;
}

/* The row with this key, made if there is none. */
static struct tally *find_row(struct tally_set *s, const uint32_t key[TALLY_KEYS])
{
	uint64_t i, hash = key_hash(key);

	map_each(&s->places, hash, i) {
		struct tally *row = s->rows[i - 1];

		if (memcmp(row->key, key, sizeof(row->key)) == 0)
			return row;
	}
	return row_new(s, hash, key);
}

struct tally *tally_at(struct tallies *a, enum tally_kind kind, const uint32_t key[TALLY_KEYS])
{
	uint32_t sum = key[1] + key[2] + key[3] + key[4];
	struct tally **recent = &a->set[kind].recent[sum % TALLY_RECENT], *row = *recent;

	if (row && memcmp(row->key, key, sizeof(row->key)) == 0)
		return row;
	row = find_row(&a->set[kind], key);
	if (row)
		*recent = row;
	a->failed |= !row;
	return row;
}

static inline void add_time(struct tallies *a, struct tally *row, uint64_t duration)
{
	row->total += duration;
	row->min = duration < row->min ? duration : row->min;
	row->max = duration > row->max ? duration : row->max;
	if (!histogram_add(&a->pool, &row->histogram, histogram_bucket(duration), 1))
		a->failed = true;
}

void tally_merge(struct tallies *a, struct tally *to, const struct tallies *source,
		 const struct tally *from)
{
	uint64_t n;

	to->count += from->count;
	to->errors += from->errors;
	to->total += from->total;
	to->self += from->self;
	to->recursive += from->recursive;
	to->min = from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	to->bytes += from->bytes;
	to->received += from->received;
	to->wait += from->wait;
	to->untimed += from->untimed;
	to->untimed_bytes += from->untimed_bytes;
	to->frees += from->frees;
	to->freed += from->freed;
	to->in_use += from->in_use;
	to->peak += from->peak;
	if (from->count) {
		to->low = to->count == from->count || from->low < to->low ? from->low : to->low;
		to->high =
			to->count == from->count || from->high > to->high ? from->high : to->high;
		to->last = from->last;
	}
	to->sum += from->sum;
	if (from->first && (!to->first || from->first < to->first))
		to->first = from->first;
	if (from->counted)
		add_histogram(a, to, from->counted);
	for (uint32_t b = 0; (n = histogram_next(&source->pool, &from->histogram, &b)) != 0; b++)
		if (!histogram_add(&a->pool, &to->histogram, b, n))
			a->failed = true;
}

uint64_t tally_percentile(const struct tallies *a, const struct tally *row, double share)
{
	uint64_t timed = row->count - row->untimed, v;

	if (!timed)
		return 0;
	v = histogram_at(&a->pool, &row->histogram, timed, share);
	return v < row->min ? row->min : v > row->max ? row->max : v;
}

bool tally_distributed(const struct tallies *a, const struct tally *row)
{
	uint32_t b = 0;

	return row->min == row->max || histogram_next(&a->pool, &row->histogram, &b) != 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/*
 * Calls of a thread arrive in order of their end, so those inside a call come right before it. An
 * outermost call leaves nothing open: what is still on the stack then belongs to lost records.
 */
static uint64_t nest_pass(struct tallies *a, struct tally_thread *t, uint64_t duration, uint64_t id,
			  uint64_t parent)
{
	uint64_t inside = 0;

	while (t->depth && t->nest[t->depth - 1].parent == id)
		inside += t->nest[--t->depth].inside;
	if (!parent) {
		t->depth = 0;
		return inside;
	}
	if (!t->nest)
		t->nest = calloc(NEST_MAX, sizeof(*t->nest));
	if (!t->nest) {
		a->failed = true;
		return inside;
	}
	if (t->depth && t->nest[t->depth - 1].parent == parent)
		t->nest[t->depth - 1].inside += duration;
	else if (t->depth < NEST_MAX)
		t->nest[t->depth++] = (struct nest){parent, duration};
	return inside;
}

/*
 * Of what nests: was another one of the row inside? Then the one that ended last was, and began later; where it
 * was not, it ended before this one began.
 */
static inline void look_for_same(struct tally *row, int64_t start)
{
	row->recursive += row->count && row->began >= start;
	row->began = start;
}

static struct tally *call_row(struct tallies *a, uint32_t thread, uint32_t op)
{
	struct tally_thread *t = &a->threads[thread];
	uint32_t process = a->trace->threads[thread].process;

	if (!t->ops)
		t->ops = calloc(a->trace->ops_count, sizeof(*t->ops));
	if (!t->ops) {
		a->failed = true;
		return NULL;
	}
	return t->ops[op] = tally_at(
		       a, TALLY_CALL,
		       (uint32_t[TALLY_KEYS]){process, thread, op, [TALLY_SCOPE] = a->scope});
}

static void count_error(struct tallies *a, const struct rec *r)
{
	struct tally *row = tally_at(a, TALLY_ERROR,
				     (uint32_t[TALLY_KEYS]){a->trace->threads[r->thread].process,
							    r->op, (uint32_t)r->status,
							    r->thread, [TALLY_SCOPE] = a->scope});

	if (!row)
		return;
	row->count++;
	if (!row->first || r->start < row->first)
		row->first = r->start;
}

static inline void count_call(struct tallies *a, const struct rec *r)
{
	uint64_t duration = (uint64_t)(r->end - r->start), inside = 0;
	struct tally_thread *t;
	struct tally *row;

	if (r->thread >= a->trace->threads_count || r->op >= a->trace->ops_count)
		return;
	/* What Kymo's own threads wait for is nothing that the program did. */
	if (__builtin_expect(a->trace->threads[r->thread].own, 0) &&
	    a->trace->ops[r->op].flags & KYMO_OP_STATE)
		return;
	t = &a->threads[r->thread];
	row = t->ops && !a->scoped ? t->ops[r->op] : NULL;
	if (__builtin_expect(!row, 0) && !(row = call_row(a, r->thread, r->op)))
		return;
	if (__builtin_expect(r->parent != 0 || t->depth != 0, 0))
		inside = nest_pass(a, t, duration, r->id, r->parent);
	if (__builtin_expect(inside != 0 || r->parent != 0, 0))
		look_for_same(row, r->start);
	row->count++;
	row->self += duration > inside ? duration - inside : 0;
	add_time(a, row, duration);
	if (__builtin_expect(!r->ok, 0)) {
		row->errors++;
		count_error(a, r);
	}
}

void tallies_call(struct tallies *a, const struct rec *r)
{
	count_call(a, r);
}

/* Ranges of a thread nest as its calls do; those that may end anywhere do not. */
void tallies_marker(struct tallies *a, const struct rec_marker *r)
{
	uint64_t duration =
		r->base.end > r->base.start ? (uint64_t)(r->base.end - r->base.start) : 0;
	uint64_t inside = 0;
	struct tally *row;

	if (r->base.thread >= a->thread_count)
		return;
	row = tally_at(a, TALLY_MARKER,
		       (uint32_t[TALLY_KEYS]){r->base.process, r->base.thread, r->base.op, r->name,
					      r->domain, r->category, [TALLY_SCOPE] = a->scope});
	if (!row)
		return;
	if (r->scope && !r->starter)
		inside = nest_pass(a, &a->scopes[r->base.thread], duration, (uint64_t)r->scope,
				   (uint64_t)r->base.scope);
	if (r->scope && !r->starter)
		look_for_same(row, r->base.start);
	row->count++;
	row->errors += r->left_open;
	row->self += duration > inside ? duration - inside : 0;
	add_time(a, row, duration);
}

void tallies_counter(struct tallies *a, const struct rec_counter *r)
{
	struct tally *row =
		tally_at(a, TALLY_COUNTER,
			 (uint32_t[TALLY_KEYS]){r->base.process, r->base.thread, r->base.op,
						r->kernel ? r->kernel : r->call_op, r->counter,
						(uint32_t)r->instance});

	if (!row)
		return;
	row->low = !row->count || r->value < row->low ? r->value : row->low;
	row->high = !row->count || r->value > row->high ? r->value : row->high;
	row->sum += r->value;
	row->last = r->value;
	row->count++;
}

/* Traces from anywhere say what they like: a sum does not start anew. */
static void add_count(uint64_t *sum, uint64_t n)
{
	*sum = n < UINT64_MAX - *sum ? *sum + n : UINT64_MAX;
}

void tallies_sample(struct tallies *a, const struct rec_sample *r)
{
	struct tally *row =
		tally_at(a, TALLY_SAMPLE,
			 (uint32_t[TALLY_KEYS]){r->base.process, r->base.thread, r->base.stack});

	if (!row)
		return;
	add_count(&row->errors, r->lost);
	if (r->lost)
		return;
	row->count++;
	row->total += (uint64_t)r->weight;
}

/* Least and most bytes of the records of a row; called before the record is counted. */
static void add_size(struct tally *row, uint64_t bytes)
{
	row->low = !row->count || (double)bytes < row->low ? (double)bytes : row->low;
	row->high = !row->count || (double)bytes > row->high ? (double)bytes : row->high;
}

static void add_comm_size(struct tallies *a, const struct rec_comm *r, uint64_t bytes,
			  uint64_t duration)
{
	struct tally *row = tally_at(
		a, TALLY_COMM_SIZE,
		(uint32_t[TALLY_KEYS]){r->base.process, r->base.op, tally_size_class(bytes),
				       r->communicator, [TALLY_SCOPE] = a->scope});

	if (!row)
		return;
	row->count++;
	row->total += duration;
	row->bytes += r->sent;
	row->received += r->received;
}

void tallies_device_sample(struct tallies *a, const struct rec_device_sample *r)
{
	struct tally *row =
		tally_at(a, TALLY_DEVICE_SAMPLE,
			 (uint32_t[TALLY_KEYS]){r->base.process, r->agent, r->code, r->reason});

	if (!row)
		return;
	row->count++;
	row->bytes += r->samples;
	row->untimed += r->idle;
	add_count(&row->errors, r->lost);
	add_count(&row->frees, r->full);
}

void tallies_comm(struct tallies *a, const struct rec_comm *r)
{
	uint64_t duration =
		r->base.end > r->base.start ? (uint64_t)(r->base.end - r->base.start) : 0;
	uint64_t bytes = r->sent > r->received ? r->sent : r->received;
	struct tally *row = tally_at(
		a, TALLY_COMM,
		(uint32_t[TALLY_KEYS]){r->base.process, r->base.thread, r->base.op, r->communicator,
				       (uint32_t)(r->peer + 1), r->datatype, a->scope});

	if (!row)
		return;
	add_comm_size(a, r, bytes, duration);
	add_size(row, bytes);
	row->sum += (double)bytes;
	row->frees += is_barrier(a, r->base.op, r->datatype, bytes);
	row->count++;
	row->errors += r->state != 0;
	row->bytes += r->sent;
	row->received += r->received;
	row->self += duration;
	add_time(a, row, duration);
}

static bool is_build(const struct trace *t, uint32_t op)
{
	return t->ops[op].number == CODE_OBJECT_OP_BUILD &&
	       strcmp(t->domains[t->ops[op].domain].name, "code_object") == 0;
}

/* A build for several devices leaves a record for each, with the time of the one call in all. */
static bool same_build(struct tallies *a, const struct rec *r)
{
	struct tally_build *last = &a->build;
	bool same = last->op == r->op && last->thread == r->thread && last->start == r->start &&
		    last->end == r->end;

	*last = (struct tally_build){r->op, r->thread, r->start, r->end};
	return same;
}

void tallies_other(struct tallies *a, const struct rec *r)
{
	uint64_t duration = r->end > r->start ? (uint64_t)(r->end - r->start) : 0;
	struct tally *row;

	if (is_build(a->trace, r->op) && same_build(a, r))
		return;
	row = tally_at(
		a, TALLY_ACTIVITY,
		(uint32_t[TALLY_KEYS]){r->process, r->thread, r->op, [TALLY_SCOPE] = a->scope});
	if (!row)
		return;
	row->count++;
	row->self += duration;
	row->errors += !r->ok;
	add_time(a, row, duration);
}

/* ---- device work ----------------------------------------------------------------------------- */

static void add_device(struct tallies *a, struct tally *row, const struct rec_device *d)
{
	int64_t from = d->queued ? d->queued : d->submit;

	row->count++;
	row->errors += d->status != 0;
	if (!device_timed(d)) {
		row->untimed++;
		return;
	}
	add_time(a, row, d->end > d->start ? (uint64_t)(d->end - d->start) : 0);
	if (from && d->start > from)
		row->wait += (uint64_t)(d->start - from);
}

void tallies_dispatch(struct tallies *a, const struct rec_dispatch *r)
{
	struct tally *row = tally_at(a, TALLY_DISPATCH,
				     (uint32_t[TALLY_KEYS]){r->base.process, r->agent, r->queue,
							    r->kernel, [TALLY_SCOPE] = a->scope});

	if (row)
		add_device(a, row, &r->device);
}

/* Its properties, JSON, say so where its runtime does: "host_unified_memory": 1. */
static bool shares_memory(const struct t_agent *g)
{
	static const char key[] = "\"host_unified_memory\"";
	const char *at = g->properties ? strstr(g->properties, key) : NULL;

	at = at ? at + sizeof(key) - 1 : NULL;
	return strcmp(g->type, "cpu") == 0 || (at && at[strspn(at, " :")] == '1');
}

/* The device has the host's memory: what is mapped stays where it lies. */
static bool mapped_in_place(const struct tallies *a, const struct rec_copy *r)
{
	uint32_t agent = copy_agent(a->trace, r);

	return agent && shares_memory(&a->trace->agents[agent]);
}

/*
 * Bytes that are no part of the bandwidth: without device times, or mapped where they lie, which is
 * known of the device or seen by a rate that no memory has.
 */
static uint64_t bytes_without_bandwidth(const struct tallies *a, const struct rec_copy *r)
{
	enum { MOST_BYTES_A_NS = 10000 };
	uint32_t op = a->trace->ops[r->base.op].number;
	int64_t ns = r->device.end > r->device.start ? r->device.end - r->device.start : 0;

	if (!device_timed(&r->device))
		return r->bytes;
	return (op == COPY_OP_MAP || op == COPY_OP_UNMAP) &&
			       (mapped_in_place(a, r) || r->bytes / MOST_BYTES_A_NS > (uint64_t)ns)
		       ? r->bytes
		       : 0;
}

static void add_copy_size(struct tallies *a, const struct rec_copy *r, uint32_t kinds)
{
	struct tally *row = tally_at(
		a, TALLY_COPY_SIZE,
		(uint32_t[TALLY_KEYS]){r->base.process, r->base.op, tally_size_class(r->bytes),
				       r->source_agent, r->destination_agent, kinds, a->scope});

	if (!row)
		return;
	row->count++;
	row->bytes += r->bytes;
	row->untimed_bytes += bytes_without_bandwidth(a, r);
	if (!device_timed(&r->device))
		row->untimed++;
	else if (r->device.end > r->device.start)
		row->total += (uint64_t)(r->device.end - r->device.start);
}

void tallies_copy(struct tallies *a, const struct rec_copy *r)
{
	uint32_t kinds = (uint32_t)r->source_kind << 8 | r->destination_kind;
	struct tally *row = tally_at(a, TALLY_COPY,
				     (uint32_t[TALLY_KEYS]){r->base.process, r->base.op, r->queue,
							    r->source_agent, r->destination_agent,
							    kinds, a->scope});

	if (!row)
		return;
	add_copy_size(a, r, kinds);
	add_size(row, r->bytes);
	row->bytes += r->bytes;
	row->untimed_bytes += bytes_without_bandwidth(a, r);
	add_device(a, row, &r->device);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int event_compare(const void *x, const void *y)
{
	const struct memory_event *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes; /* frees first */
}

static void event_apply(const struct memory_event *e)
{
	struct tally *p = e->pool;

	p->in_use += (uint64_t)e->bytes; /* may pass below zero while events are missing */
	if ((int64_t)p->in_use > (int64_t)p->peak) {
		p->peak = p->in_use;
		p->peak_time = e->time;
	}
}

/* Applies the oldest `n` events of those waiting. */
static void memory_fold(struct tally_memory *m, uint32_t n)
{
	kymo_assert(n <= m->count);
	if (n == 0)
		return;
	qsort(m->events, m->count, sizeof(*m->events), event_compare);
	for (uint32_t i = 0; i < n; i++)
		event_apply(&m->events[i]);
	m->folded = m->events[n - 1].time;
	m->any_folded = true;
	memmove(m->events, m->events + n, (m->count - n) * sizeof(*m->events));
	m->count -= n;
}

static void memory_add(struct tallies *a, struct memory_event e)
{
	struct tally_memory *m = a->memory;

	if (m->any_folded && e.time < m->folded)
		a->late++;
	if (m->count == MEMORY_EVENTS)
		memory_fold(m, m->count / 2);
	if (!vec_reserve(&m->events, &m->room, m->count, 1)) {
		a->failed = true;
		return;
	}
	m->events[m->count++] = e;
}

static void forget_live(struct tallies *a, uint32_t i)
{
	struct tally_live *last = &a->live[--a->live_count];

	map_remove(&a->live_places, a->live[i].key);
	if (i == a->live_count)
		return;
	a->live[i] = *last;
	if (!map_set(&a->live_places, last->key, i + 1)) /* it is there: this only replaces it */
		a->failed = true;
}

/* Records of two threads may come in another order than what they tell of happened. */
static void note_live(struct tallies *a, const struct rec_allocation *r, bool freed)
{
	uint64_t key = hash_add(hash_bytes(&r->allocation, sizeof(r->allocation)), &r->base.process,
				sizeof(r->base.process));
	uint64_t at = map_get(&a->live_places, key);

	if (!r->allocation || r->parent || (at && a->live[at - 1].freed == freed))
		return;
	if (at) {
		forget_live(a, (uint32_t)at - 1);
		return;
	}
	if (!vec_reserve(&a->live, &a->live_room, a->live_count, 1) ||
	    !map_set(&a->live_places, key, a->live_count + 1)) {
		a->failed = true;
		return;
	}
	a->live[a->live_count++] = (struct tally_live){.key = key,
						       .call = r->correlation,
						       .bytes = r->bytes,
						       .time = r->base.start,
						       .process = r->base.process,
						       .thread = r->base.thread,
						       .agent = r->agent,
						       .kind = r->kind,
						       .what = r->what,
						       .freed = freed};
}

bool tallies_leaks(struct tallies *a, uint32_t (*site_of)(void *data, const struct tally_live *l),
		   void *data)
{
	for (uint32_t i = 0; i < a->live_count; i++) {
		struct tally_live *l = &a->live[i];
		struct tally *row =
			l->freed ? NULL
				 : tally_at(a, TALLY_LEAK,
					    (uint32_t[TALLY_KEYS]){l->process, l->thread, l->agent,
								   l->kind, l->what,
								   site_of(data, l)});

		if (!row)
			continue;
		l->row = row;
		row->count++;
		row->bytes += l->bytes;
		if (!row->first || l->time < row->first)
			row->first = l->time;
	}
	return !a->failed;
}

void tallies_allocation(struct tallies *a, const struct rec_allocation *r)
{
	bool free_ = a->trace->ops[r->base.op].number == ALLOCATION_OP_FREE;
	struct tally *row = tally_at(a, TALLY_ALLOCATION,
				     (uint32_t[TALLY_KEYS]){r->base.process, r->agent, r->kind,
							    r->what, [TALLY_SCOPE] = a->scope});
	struct tally *pool;

	if (!row)
		return;
	row->count += !free_;
	row->frees += free_;
	row->bytes += free_ ? 0 : r->bytes;
	row->freed += free_ ? r->bytes : 0;
	note_live(a, r, free_);
	if (r->parent)
		return; /* part of another allocation */
	pool = tally_at(a, TALLY_POOL, (uint32_t[TALLY_KEYS]){r->base.process, r->agent, r->kind});
	if (!pool)
		return;
	pool->count += !free_;
	pool->frees += free_;
	memory_add(a, (struct memory_event){r->base.start,
					    free_ ? -(int64_t)r->bytes : (int64_t)r->bytes, pool});
}

/* ---- the rest -------------------------------------------------------------------------------- */

void tallies_sync(struct tallies *a, const struct rec_sync *r)
{
	uint64_t duration =
		r->base.end > r->base.start ? (uint64_t)(r->base.end - r->base.start) : 0;
	struct tally *row =
		tally_at(a, TALLY_SYNC,
			 (uint32_t[TALLY_KEYS]){r->base.process, r->base.thread, r->base.op,
						r->queue, [TALLY_SCOPE] = a->scope});

	if (!row)
		return;
	row->count++;
	row->self += duration;
	add_time(a, row, duration);
}

void tallies_loss(struct tallies *a, const struct rec_loss *r)
{
	struct tally *row = tally_at(a, TALLY_LOSS, (uint32_t[TALLY_KEYS]){r->process, r->thread});

	if (!row)
		return;
	row->count += r->count;
	row->errors += r->count == 0;
}

void tallies_end(struct tallies *a)
{
	struct tally_set *pools = &a->set[TALLY_POOL];

	memory_fold(a->memory, a->memory->count);
	for (uint32_t i = 0; i < pools->count; i++) {
		if ((int64_t)pools->rows[i]->in_use < 0)
			pools->rows[i]->in_use = 0;
	}
}

/* ---- a stream of records --------------------------------------------------------------------- */

static struct tallies_sink *sink_of(struct stream_sink *s)
{
	return (struct tallies_sink *)(void *)s;
}

/* `call`: that submitted it, of device work; else 0. */
static inline struct tallies *tallies_for(struct stream_sink *s, const struct rec *r, uint64_t call)
{
	struct tallies_sink *k = sink_of(s);

	if (__builtin_expect(k->scope_of != NULL, 0))
		k->tallies->scope = k->scope_of(k->data, r, call);
	return k->tallies;
}

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct tallies_sink *k = sink_of(s);

	k->tallies = tallies_new(t);
	if (!k->tallies)
		return KYMO_ERROR_NO_MEMORY;
	k->tallies->scoped = k->scope_of != NULL;
	return KYMO_OK;
}

static kymo_status_t add_call(struct stream_sink *s, const struct rec *r)
{
	count_call(tallies_for(s, r, 0), r);
	return KYMO_OK;
}

#define ADD(name, type, submitted)                                                                 \
	static kymo_status_t add_##name(struct stream_sink *s, const struct type *r)               \
	{                                                                                          \
		tallies_##name(tallies_for(s, &r->base, submitted), r);                            \
		return KYMO_OK;                                                                    \
	}
RECORD_TALLIED(ADD)

static kymo_status_t add_other(struct stream_sink *s, const struct rec *r)
{
	tallies_other(tallies_for(s, r, 0), r);
	return KYMO_OK;
}

/* Samples, which say nothing of time: whoever wants them adds up what they stand for. */
static kymo_status_t add_heap(struct stream_sink *s, const struct rec_heap *r)
{
	return KYMO_OK;
}

static kymo_status_t add_loss(struct stream_sink *s, const struct rec_loss *r)
{
	tallies_loss(sink_of(s)->tallies, r);
	return KYMO_OK;
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct tallies *a = sink_of(s)->tallies;

	tallies_end(a);
	return a->failed ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}

void tallies_sink_init(struct tallies_sink *s)
{
#define SET(name, type, submitted) .name = add_##name,
	*s = (struct tallies_sink){.sink = {.begin = begin,
					    .call = add_call,
					    RECORD_TALLIED(SET).other = add_other,
					    .heap = add_heap,
					    .loss = add_loss,
					    .end = end,
					    .brief = true,
					    .lists = true}};
	stream_sink_complete(&s->sink);
}
