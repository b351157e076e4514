/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the whole says: which begins and ends are pairs, what lies in what, which call submitted what,
 * which allocation a free is of; then the order in which records are handed on.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "formats/chrome/values.h"
#include "record/fields.h"
#include "stream/nest.h"

/* ---- orders ---------------------------------------------------------------------------------- */

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static const struct entry *entry_of(const void *index, const void *reader)
{
	return &((const struct reader *)reader)->entries[*(const uint32_t *)index];
}

static int in_file(const void *a, const void *b)
{
	return compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

static bool has_kind(const struct entry *e, uint32_t kinds)
{
	return kinds >> e->kind & 1;
}

#define KIND(name)  (1u << ENTRY_##name)
#define ASYNC_KINDS (KIND(ASYNC_BEGIN) | KIND(ASYNC_END) | KIND(MESSAGE_BEGIN))

/* Pairs: what belongs together, by time. */
static int by_pair(const void *a, const void *b, void *r)
{
	const struct entry *x = entry_of(a, r), *y = entry_of(b, r);
	int order = compare(x->thread, y->thread);

	if (has_kind(x, ASYNC_KINDS))
		order = (x->key > y->key) - (x->key < y->key);
	order = order ? order : compare(x->start, y->start);
	return order ? order : in_file(a, b);
}

static int by_start(const void *a, const void *b, void *r)
{
	int order = compare(entry_of(a, r)->start, entry_of(b, r)->start);

	return order ? order : in_file(a, b);
}

/* What lies in others comes before them. */
static int by_end(const void *a, const void *b, void *r)
{
	const struct entry *x = entry_of(a, r), *y = entry_of(b, r);
	int order = compare(x->end, y->end);

	order = order ? order : compare(y->start, x->start);
	return order ? order : in_file(b, a);
}

/* The entries of these kinds, sorted (`order` NULL: as they came); returns how many. */
static uint32_t pick(struct reader *r, uint32_t kinds,
		     int (*order)(const void *, const void *, void *))
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (has_kind(&r->entries[i], kinds))
			r->order[n++] = i;
	if (order)
		r->failed |= !bulk_sort(&r->order, n, sizeof(*r->order), order, r);
	return n;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

struct pairing {
	enum entry_kind begin, range;
	const char *what;
	bool keyed;
};

static void pair_end(struct reader *r, const struct pairing *p, struct entry *e, uint32_t *open)
{
	struct entry *b = *open ? &r->entries[*open - 1] : NULL;

	if (!b) {
		reader_leave_out(r, "%s without a begin", p->what, strlen(p->what));
	} else {
		b->end = e->start;
		*open = b->up;
		b->up = 0;
	}
	e->kind = ENTRY_NONE;
}

static enum entry_kind kind_of_begin(const struct reader *r, const struct entry *e,
				     const struct pairing *p)
{
	if (e->kind == ENTRY_MESSAGE_BEGIN)
		return ENTRY_MESSAGE;
	return p->range == ENTRY_RANGE && details_of(r, e)->op ? ENTRY_CALL : p->range;
}

/* What is still open ends with the file. */
static void leave_open(struct reader *r, uint32_t open)
{
	while (open) {
		struct entry *b = &r->entries[open - 1];

		b->end = r->window[1] > b->start ? r->window[1] : b->start;
		b->left_open = true;
		open = b->up;
		b->up = 0;
	}
}

static void find_pairs(struct reader *r, uint32_t kinds, const struct pairing *p)
{
	uint32_t n = pick(r, kinds, by_pair), open = 0;
	const struct entry *last = NULL;

	for (uint32_t i = 0; i < n; i++) {
		struct entry *e = &r->entries[r->order[i]];

		if (last && (p->keyed ? e->key != last->key : e->thread != last->thread)) {
			leave_open(r, open);
			open = 0;
		}
		last = e;
		if (e->kind == p->begin || e->kind == ENTRY_MESSAGE_BEGIN) {
			e->kind = kind_of_begin(r, e, p);
			e->up = open;
			open = r->order[i] + 1;
		} else {
			pair_end(r, p, e, &open);
		}
	}
	leave_open(r, open);
}

/* ---- nesting --------------------------------------------------------------------------------- */

/* Around it, of the other kind than what it lies in, + 1: surroundings have found theirs before. */
static uint32_t other_surrounding(const struct reader *r, const struct entry *e)
{
	const struct entry *x = e->up ? &r->entries[e->up - 1] : NULL;

	if (!x || !x->up)
		return 0;
	return r->entries[x->up - 1].kind != x->kind ? x->up : x->other;
}

/* Entries up to `count` of r->order as spans; ranges are numbered in the order of their starts. */
static bool nest_entries(struct reader *r, struct nest_span **list, uint32_t count)
{
	struct nest_span *spans = *list;

	for (uint32_t i = 0; i < count; i++) {
		const struct entry *e = &r->entries[r->order[i]];

		spans[i] = (struct nest_span){.start = e->start,
					      .end = e->end,
					      .thread = e->thread,
					      .number = r->order[i],
					      .holds = e->kind == ENTRY_CALL ||
						       e->kind == ENTRY_RANGE};
	}
	if (!nest_find(list, count))
		return false;
	spans = *list;
	for (uint32_t i = 0; i < count; i++) {
		struct entry *e = &r->entries[spans[i].number];

		e->up = spans[i].up ? spans[spans[i].up - 1].number + 1u : 0;
		e->other = other_surrounding(r, e);
		if (e->kind == ENTRY_RANGE)
			e->number = ++r->scopes[r->t->threads[e->thread].process];
	}
	return true;
}

static bool nest(struct reader *r)
{
	uint32_t n = pick(r, KIND(CALL) | KIND(RANGE) | KIND(MARK) | KIND(MEMORY), NULL);
	struct nest_span *spans = bulk_array((size_t)n + 1, sizeof(*spans));
	bool ok = spans && nest_entries(r, &spans, n);

	bulk_free(spans);
	return ok;
}

static void number_process_ranges(struct reader *r)
{
	uint32_t n = pick(r, KIND(PROCESS_RANGE), by_start);

	for (uint32_t i = 0; i < n; i++) {
		struct entry *e = &r->entries[r->order[i]];
		uint32_t process = e->thread ? r->t->threads[e->thread].process : 0;

		process = process ? process : reader_process_of(r, device_of(r, e));
		e->number = ++r->scopes[process];
	}
}

/* ---- device work ----------------------------------------------------------------------------- */

static uint32_t process_of(const struct reader *r, uint32_t entry)
{
	return r->t->threads[r->entries[entry].thread].process;
}

uint32_t reader_call(const struct reader *r, uint32_t process, uint64_t key)
{
	uint64_t i;

	map_each(&r->calls, key, i)
		if (process_of(r, (uint32_t)i - 1) == process)
			return (uint32_t)i;
	return 0;
}

/* Calls by their correlations; of two in a process that have the same the second gets a number of its own. */
static bool find_calls(struct reader *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entries[i];

		if (e->kind != ENTRY_CALL || !e->correlated)
			continue;
		if (reader_call(r, process_of(r, i), e->key)) {
			reader_leave_out(r, "correlations of %s that another call has", "calls", 5);
			e->correlated = false;
		} else if (!bulk_map_add(&r->calls, e->key, (uint64_t)i + 1)) {
			return false;
		}
	}
	for (uint32_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entries[i];

		if (e->kind == ENTRY_CALL && !e->correlated)
			e->key = ++r->largest_call;
	}
	return true;
}

/*
 * The call that submitted it, + 1: of several processes' the last one that began before it, unless the file says the
 * process. In a device range there is none.
 */
static uint32_t submitter(const struct reader *r, const struct entry *e, uint32_t process)
{
	uint32_t best = 0;
	uint64_t i;

	if (!e->correlated)
		return 0;
	if (process)
		return reader_call(r, process, e->key);
	map_each(&r->calls, e->key, i) {
		int64_t start = r->entries[i - 1].start;

		if (!best || (start <= e->start && (r->entries[best - 1].start > e->start ||
						    r->entries[best - 1].start < start)))
			best = (uint32_t)i;
	}
	return best;
}

/* Bytes of copies, of some of which their call knows them alone. */
static uint64_t bytes_of(const struct reader *r, const struct entry *e)
{
	const struct device_details *d = device_of(r, e);
	const struct entry *call = e->up ? &r->entries[e->up - 1] : NULL;

	if (d->bytes || !call || d->op == COPY_OP_FILL)
		return d->bytes;
	return values_unsigned(details_bytes(r, call), details_of(r, call)->values, "size");
}

/* Its place; false: no memory. */
static bool add_placed(struct reader *r, const struct placed *p, uint32_t *place)
{
	if (!bulk_reserve(&r->placed, &r->placed_room, r->placed_count, 1)) {
		r->failed = true;
		return false;
	}
	*place = r->placed_count;
	r->placed[r->placed_count++] = *p;
	return true;
}

static void place_device(struct reader *r, struct entry *e)
{
	const struct device_details *d = device_of(r, e);
	struct placed p = {0};

	e->up = submitter(r, e, d->process);
	if (e->up) {
		const struct entry *call = &r->entries[e->up - 1];

		e->thread = call->thread;
		if (e->kind != ENTRY_SYNC)
			r->t->ops[details_of(r, call)->op].flags |= KYMO_OP_SUBMITS;
	}
	p.process = e->up ? r->t->threads[e->thread].process : reader_process_of(r, d);
	p.agent = reader_agent(r, p.process, &d->place);
	p.queue = reader_queue(r, p.process, &d->place);
	if (e->kind == ENTRY_DISPATCH)
		p.kernel = reader_kernel(r, p.process, d->base.name);
	if (e->kind == ENTRY_COPY) {
		p.source_agent = reader_agent(r, p.process, &d->from);
		p.destination_agent = reader_agent(r, p.process, &d->to);
		p.bytes = bytes_of(r, e);
	}
	if (e->kind != ENTRY_PROCESS_RANGE) /* which is of its thread, or the first process */
		add_placed(r, &p, &e->other);
}

/* Work whose call is not there is the only process's, or the first's: others have nothing to say of it. */
static void place_devices(struct reader *r)
{
	const uint32_t kinds = KIND(DISPATCH) | KIND(COPY) | KIND(SYNC) | KIND(PROCESS_RANGE);
	for (uint32_t i = 0; i < r->count && !r->failed; i++) {
		struct entry *e = &r->entries[i];

		if (!has_kind(e, kinds) || (e->kind == ENTRY_PROCESS_RANGE && e->thread))
			continue;
		if (!r->fallback)
			r->fallback = r->t->processes_count > 1
					      ? 1
					      : reader_process(r, (struct span){"0", 1});
		place_device(r, e);
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* An address is an allocation's until it is freed. */
static bool find_lifetimes(struct reader *r)
{
	uint32_t n = pick(r, KIND(MEMORY), by_start);
	uint64_t allocations = 0;
	struct map live = {0};
	bool ok = true;

	for (uint32_t i = 0; i < n && ok; i++) {
		struct entry *e = &r->entries[r->order[i]];
		const struct device_details *d = device_of(r, e);
		struct placed p = {.process = r->t->threads[e->thread].process};
		uint64_t key, known;

		p.agent = reader_agent(r, p.process, &d->place);
		key = hash_mix(hash_mix(hash_u64(p.process), p.agent), d->address);
		known = d->op == ALLOCATION_OP_FREE ? map_remove(&live, key) : 0;
		p.allocation = known ? known : ++allocations;
		ok = add_placed(r, &p, &e->number);
		if (ok && d->op == ALLOCATION_OP_ALLOCATE)
			ok = bulk_map_set(&live, key, p.allocation);
	}
	bulk_map_release(&live);
	return ok;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool map_details(struct reader *r)
{
	void *mapped;

	if (!reader_flush(r))
		return false;
	if (!r->details_size)
		return true;
	mapped = mmap(NULL, r->details_size, PROT_READ, MAP_PRIVATE, r->details_file, 0);
	if (mapped != MAP_FAILED)
		r->mapped = mapped;
	return r->mapped != NULL;
}

/* Times of the trace begin with the first second: before 0 there is no time. */
static void find_window(struct reader *r)
{
	if (r->window[0] > r->window[1])
		r->window[0] = r->window[1] = 0;
	for (uint32_t i = 0; i < r->count; i++)
		if (r->entries[i].end > r->window[1])
			r->window[1] = r->entries[i].end;
	r->shift = 1000000000 - r->window[0];
}

bool reader_order(struct reader *r)
{
	static const struct pairing plain = {ENTRY_BEGIN, ENTRY_RANGE, "ends (phase E)", false},
				    async = {ENTRY_ASYNC_BEGIN, ENTRY_PROCESS_RANGE,
					     "ends (phases e, F)", true};

	r->order = bulk_array((size_t)r->count + 1, sizeof(*r->order));
	if (!r->order || !map_details(r))
		return false;
	find_window(r);
	find_pairs(r, KIND(BEGIN) | KIND(END), &plain);
	find_pairs(r, ASYNC_KINDS, &async);
	if (!find_calls(r))
		return false;
	place_devices(r);
	r->scopes = calloc((size_t)r->t->processes_count + 1, sizeof(*r->scopes));
	if (!r->scopes || r->failed || !nest(r) || !find_lifetimes(r))
		return false;
	number_process_ranges(r);
	reader_list_under_way(r);
	r->picked = pick(r, ~KIND(NONE), by_end);
	return !r->failed;
}
