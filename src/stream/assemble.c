/* SPDX-License-Identifier: Apache-2.0 */
/* Records out of tables, tied, nested and in order; see assemble.h. */
#include "stream/assemble.h"

#include <stdlib.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "stream/nest.h"

enum { SECOND = 1000000000 };

void assembly_release(struct assembly *a)
{
	bulk_free(a->items);
	bulk_free(a->order);
	bulk_map_release(&a->calls);
}

void assembly_window(struct assembly *a, int64_t start, int64_t end)
{
	a->first = a->any && a->first < start ? a->first : start;
	a->last = a->any && a->last > end ? a->last : end;
	a->any = true;
}

struct assembly_item *assembly_add(struct assembly *a, enum assembly_kind kind, uint32_t source,
				   int64_t row, const int64_t times[2])
{
	struct assembly_item *i = &a->none;

	if (a->count == INT32_MAX || !bulk_reserve(&a->items, &a->room, a->count, 1))
		a->failed = true;
	else
		i = &a->items[a->count++];
	*i = (struct assembly_item){.start = times[0],
				    .end = times[1],
				    .row = row,
				    .kind = (uint8_t)kind,
				    .source = (uint8_t)source};
	assembly_window(a, times[0], times[1]);
	return i;
}

/* ---- times ----------------------------------------------------------------------------------- */

bool assembly_time(struct unplaced *u, bool there, const int64_t *t)
{
	if (there && assembly_is_time(*t))
		return true;
	unplaced_lose(u, there ? "rows with times out of range" : "rows without a time", 1);
	return false;
}

void assembly_order_times(struct unplaced *u, int64_t times[2])
{
	if (times[1] >= times[0])
		return;
	unplaced_add(u, "ends before their starts", 1);
	times[1] = times[0];
}

static void shift_times(struct assembly *a)
{
	a->shift = a->first < SECOND ? SECOND - a->first : 0;
	for (uint32_t i = 0; i < a->count; i++) {
		struct assembly_item *x = &a->items[i];

		x->end = x->left_open && x->end < a->last ? a->last : x->end;
		x->start += a->shift;
		x->end += a->shift;
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

static uint64_t call_key(uint32_t process, uint64_t key)
{
	return hash_mix(hash_u64(process), key);
}

static uint32_t call_in(const struct assembly *a, uint32_t process, uint64_t key)
{
	uint64_t i;

	map_each(&a->calls, call_key(process, key), i)
		if (a->items[i - 1].process == process && a->items[i - 1].key == key)
			return (uint32_t)i;
	return 0;
}

static bool find_calls(struct assembly *a)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		struct assembly_item *x = &a->items[i];

		if (x->kind != ASSEMBLY_CALL || !x->key)
			continue;
		if (x->key > INT64_MAX || call_in(a, x->process, x->key)) {
			a->twice++;
			x->key = 0;
			continue;
		}
		largest = x->key > largest ? x->key : largest;
		if (!bulk_map_add(&a->calls, call_key(x->process, x->key), (uint64_t)i + 1))
			return false;
	}
	for (uint32_t i = 0; i < a->count; i++)
		if (a->items[i].kind == ASSEMBLY_CALL && !a->items[i].key)
			a->items[i].key = ++largest;
	return true;
}

/* Of a process that the file does not say, the only or last one with such a call that began before it. */
static uint32_t find_submitter(const struct assembly *a, const struct trace *t,
			       const struct assembly_item *x)
{
	uint32_t best = 0;

	if (!x->key || x->process)
		return x->key ? call_in(a, x->process, x->key) : 0;
	for (uint32_t p = 1; p < t->processes_count; p++) {
		uint32_t i = call_in(a, p, x->key);

		if (!i || (best && a->items[i - 1].start > x->start))
			continue;
		if (!best || a->items[best - 1].start > x->start ||
		    a->items[best - 1].start < a->items[i - 1].start)
			best = i;
	}
	return best;
}

static void tie_work(struct assembly *a, const struct trace *t)
{
	for (uint32_t i = 0; i < a->count; i++) {
		struct assembly_item *x = &a->items[i];

		if (x->kind == ASSEMBLY_WORK) {
			x->up = find_submitter(a, t, x);
			if (x->up) {
				x->process = a->items[x->up - 1].process;
				x->thread = a->items[x->up - 1].thread;
			}
			a->unplaced += !x->process;
		}
		x->process = x->process ? x->process : 1;
	}
}

/* ---- nesting --------------------------------------------------------------------------------- */

static bool is_nested(const struct assembly_item *x)
{
	return x->kind == ASSEMBLY_CALL || x->kind == ASSEMBLY_RANGE || x->kind == ASSEMBLY_MARK;
}

static uint32_t fill_spans(const struct assembly *a, struct nest_span *spans)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		const struct assembly_item *x = &a->items[i];

		if (is_nested(x))
			spans[n++] = (struct nest_span){.start = x->start,
							.end = x->end,
							.thread = x->thread,
							.number = i & INT32_MAX,
							.holds = x->kind != ASSEMBLY_MARK};
	}
	return n;
}

static bool nest_items(struct assembly *a, struct nest_span **list, uint32_t *scopes)
{
	uint32_t n = fill_spans(a, *list);
	const struct nest_span *spans;

	if (!nest_find(list, n))
		return false;
	spans = *list;
	for (uint32_t i = 0; i < n; i++) {
		struct assembly_item *x = &a->items[spans[i].number];

		x->up = spans[i].up ? spans[spans[i].up - 1].number + 1u : 0;
		if (x->kind == ASSEMBLY_RANGE)
			x->number = ++scopes[x->process];
	}
	for (uint32_t i = 0; i < a->count; i++)
		if (a->items[i].kind == ASSEMBLY_PROCESS_RANGE)
			a->items[i].number = ++scopes[a->items[i].process];
	return true;
}

static bool nest(struct assembly *a, const struct trace *t)
{
	struct nest_span *spans = bulk_array((size_t)a->count + 1, sizeof(*spans));
	uint32_t *scopes = calloc((size_t)t->processes_count + 1, sizeof(*scopes));
	bool ok = spans && scopes && nest_items(a, &spans, scopes);

	bulk_free(spans);
	free(scopes);
	return ok;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* What lies in others comes before them; what ends when it began, after what was added before it. */
static int by_end(const void *a, const void *b, void *items)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct assembly_item *x = (const struct assembly_item *)items + i,
				   *y = (const struct assembly_item *)items + k;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	return x->start == x->end ? (i > k) - (i < k) : (i < k) - (i > k);
}

bool assembly_order(struct assembly *a, struct trace *t)
{
	a->order = bulk_array((size_t)a->count + 1, sizeof(*a->order));
	if (!a->order || a->failed)
		return false;
	shift_times(a);
	if (!find_calls(a))
		return false;
	tie_work(a, t);
	if (!nest(a, t))
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		a->order[i] = i;
	return bulk_sort(&a->order, a->count, sizeof(*a->order), by_end, a->items);
}

/* ---- records --------------------------------------------------------------------------------- */

const struct assembly_item *assembly_call(const struct assembly *a, const struct assembly_item *i)
{
	return i->kind == ASSEMBLY_WORK && i->up ? &a->items[i->up - 1] : NULL;
}

struct rec assembly_base(const struct assembly *a, const struct assembly_item *i)
{
	struct rec r = {.process = i->process,
			.thread = i->thread,
			.ok = true,
			.start = i->start,
			.end = i->end};
	const struct assembly_item *call = assembly_call(a, i);
	uint32_t up = call ? call->up : i->kind == ASSEMBLY_WORK ? 0 : i->up;

	while (up && !(r.scope && (r.parent || call))) {
		const struct assembly_item *x = &a->items[up - 1];

		if (x->kind == ASSEMBLY_RANGE && !r.scope)
			r.scope = x->number;
		if (x->kind == ASSEMBLY_CALL && !r.parent && !call)
			r.parent = x->key;
		up = x->up;
	}
	return r;
}

struct rec_device assembly_device(const struct assembly *a, const struct assembly_item *i)
{
	const struct assembly_item *call = assembly_call(a, i);
	int64_t queued = call && call->start < i->start ? call->start : 0;

	return (struct rec_device){.start = i->start,
				   .end = i->end,
				   .queued = queued,
				   .submitted = queued,
				   .correlation = call ? call->key : 0,
				   .submit = call ? call->start : 0,
				   .causal_violation = call && i->start < call->start};
}

kymo_status_t assembly_hand_on(const struct assembly *a, struct trace *t, struct stream_sink *sink,
			       assembly_take take, void *data,
			       void (*progress)(void *data, double done), void *progress_data)
{
	uint64_t lost = a->left_out ? a->left_out->lost : 0;
	kymo_status_t status;

	stream_sink_complete(sink);
	status = sink->begin(sink, t);
	for (uint32_t n = 0; n < a->count && status == KYMO_OK; n++) {
		status = take(data, sink, &a->items[a->order[n]]);
		if (n % 65536 == 0)
			bulk_rest();
		if (progress && n % 65536 == 0)
			progress(progress_data, 0.5 + 0.5 * n / a->count);
	}
	make_lost(t, 0, a->left_out ? a->left_out->lost - lost : 0, 0);
	if (status == KYMO_OK || status == KYMO_ERROR_LIMIT) {
		kymo_status_t end = sink->end(sink, t);

		status = status == KYMO_OK ? end : status;
	}
	return status;
}
