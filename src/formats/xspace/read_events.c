/* SPDX-License-Identifier: Apache-2.0 */
/* What kind an event is: by its plane and line, then by what stats it has. docs/xspace.md has the table. */
#include <stdlib.h>

#include "base/bulk.h"
#include "formats/xspace/reader.h"

/* Numbers of calls are below. */
#define CALL_MAX (UINT64_C(1) << 40)
#define TIME_MAX (INT64_C(1) << 61)

/* ---- words of details ------------------------------------------------------------------------ */

bool xread_detail(struct part d, const char *key, struct part *out)
{
	size_t length = strlen(key);

	for (size_t i = 0, n; i < d.n; i += n + 1) {
		const uint8_t *space = memchr(d.s + i, ' ', d.n - i);

		n = space ? (size_t)(space - d.s) - i : d.n - i;
		if (n > length && memcmp(d.s + i, key, length) == 0 && d.s[i + length] == ':') {
			*out = (struct part){d.s + i + length + 1, n - length - 1};
			return true;
		}
	}
	return false;
}

uint64_t xread_detail_number(struct part d, const char *key)
{
	struct part p;
	uint64_t v = 0;

	if (!xread_detail(d, key, &p))
		return 0;
	for (size_t i = 0; i < p.n && p.s[i] >= '0' && p.s[i] <= '9'; i++) {
		if (v > (UINT64_MAX - 9) / 10)
			return 0;
		v = 10 * v + (uint64_t)(p.s[i] - '0');
	}
	return v;
}

struct part xread_name(const struct reader *r, const struct entry *e)
{
	const struct plane_in *p = &r->planes[r->lines[e->line].plane];
	struct part event = {e->data, e->length};
	struct proto_walk w = proto_walk(event);
	const struct event_name *n = NULL;
	struct proto_field f;

	while (proto_next(&w, &f))
		if (f.number == 1 && f.type == PROTO_NUMBER)
			n = xread_event_name(r, p, (int64_t)f.v);
	if (!n)
		return PART_NONE;
	return n->name.n ? n->name : n->display;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Python's tracer has names like "$train.py:3 main", and a line of its own. */
struct part xread_domain(const struct reader *r, const struct entry *e, const struct stats *s)
{
	struct part domain = stat_text(s, STAT_DOMAIN), activity = stat_text(s, STAT_ACTIVITY);
	const struct line_in *l = &r->lines[e->line];

	if (domain.n || activity.n)
		return domain.n ? domain : activity;
	if (l->what == ROW_RANGES)
		return l->name;
	if (part_begins(xread_name(r, e), "$"))
		return (struct part){(const uint8_t *)"python", 6};
	return (struct part){(const uint8_t *)"xla", 3};
}

/* Texts that its record refers to must be there before the first one. */
static void take_texts(struct reader *r, const struct entry *e, const struct stats *s)
{
	if (e->kind == ENTRY_RANGE || e->kind == ENTRY_PROCESS_RANGE || e->kind == ENTRY_MARK) {
		xread_text(r, xread_name(r, e));
		xread_text(r, xread_domain(r, e, s));
		xread_text(r, stat_text(s, STAT_CATEGORY));
	} else if (e->kind == ENTRY_COMM) {
		xread_text(r, stat_text(s, STAT_DATATYPE));
	}
}

/* ---- kinds ----------------------------------------------------------------------------------- */

struct entry *xread_add_entry(struct reader *r)
{
	static struct entry none;

	if (!bulk_reserve(&r->entries, &r->room, r->count, 1) || r->count == UINT32_MAX - 1) {
		r->failed = true;
		return &none;
	}
	r->entries[r->count] = (struct entry){0};
	return &r->entries[r->count++];
}

static enum entry_kind kind_on_thread(const struct stats *s)
{
	if (stat_of(s, STAT_ALLOC_DETAILS) || stat_of(s, STAT_FREE_DETAILS))
		return stat_of(s, STAT_CORRELATION) && !stat_of(s, STAT_ALLOCATION) ? ENTRY_CALL
										    : ENTRY_MEMORY;
	if (stat_text(s, STAT_SYNC).n)
		return ENTRY_SYNC;
	if (stat_of(s, STAT_CORRELATION))
		return ENTRY_CALL;
	return stat_of(s, STAT_MARK) ? ENTRY_MARK : ENTRY_RANGE;
}

static enum entry_kind kind_on_device(const struct stats *s, struct part name)
{
	if (stat_of(s, STAT_KERNEL_DETAILS))
		return ENTRY_DISPATCH;
	if (stat_of(s, STAT_MEMCPY_DETAILS) || stat_of(s, STAT_MEMSET_DETAILS) ||
	    part_begins(name, "Memcpy") || part_begins(name, "Memset"))
		return ENTRY_COPY;
	if (stat_of(s, STAT_ALLOC_DETAILS) || stat_of(s, STAT_FREE_DETAILS))
		return ENTRY_MEMORY;
	return ENTRY_DISPATCH;
}

static enum entry_kind kind_of(const struct line_in *l, const struct stats *s, struct part name)
{
	switch ((enum line_what)l->what) {
	case ROW_THREAD:
		return kind_on_thread(s);
	case ROW_RANGES:
		return stat_of(s, STAT_MARK) ? ENTRY_MARK : ENTRY_PROCESS_RANGE;
	case ROW_MESSAGES:
		return ENTRY_COMM;
	case ROW_COUNTERS:
		return ENTRY_COUNTER;
	case ROW_DERIVED:
		return ENTRY_NONE;
	default:
		return kind_on_device(s, name);
	}
}

/* ---- entries --------------------------------------------------------------------------------- */

/* What every kind needs to be known before the first record. */
static void define(struct reader *r, struct entry *e, const struct stats *s)
{
	const struct line_in *l = &r->lines[e->line];
	const struct plane_in *p = &r->planes[l->plane];
	const struct stat_value *pid = stat_of(s, STAT_PID);
	bool device = p->kind == PLANE_DEVICE;

	e->process = device && pid ? xread_process_of_pid(r, p->input, pid->u)
		     : device      ? xread_default_process(r, p->input)
				   : p->process;
	/* Of what is no range in a trace of Kymo's it is the one around it, as times say it, too. */
	e->scope = stat_of(s, STAT_ACTIVITY) ? 0 : (int64_t)stat_unsigned(s, STAT_SCOPE);
	e->key = stat_unsigned(s, STAT_CORRELATION);
	e->key &= CALL_MAX - 1; /* above are numbers of processes, where a file has several */
	e->correlated = e->key != 0;
	take_texts(r, e, s);
	if (e->kind == ENTRY_CALL)
		e->what = xread_op(r, e, s);
	if (e->kind == ENTRY_CALL && e->key > r->largest_call)
		r->largest_call = e->key;
	if (e->kind == ENTRY_COUNTER)
		e->what = xread_counter(r, e->process,
					device ? xread_agent(r, e->process, l->plane + 1) : 0,
					xread_name(r, e));
}

static bool add_ps(int64_t ns, int64_t ps, int64_t *out)
{
	int64_t whole = ps / 1000 - (ps % 1000 < 0);

	return !__builtin_add_overflow(ns, whole, out) && *out > -TIME_MAX && *out < TIME_MAX;
}

/* Of a line whose times are since the begin of recording: since 1970, where that is known. */
static bool zero_of(const struct reader *r, const struct line_in *l, int64_t *out)
{
	int64_t start = r->in.files[r->planes[l->plane].input].start;

	return !__builtin_add_overflow(l->timestamp_ns, l->timestamp_ns < SINCE_1970 ? start : 0,
				       out);
}

static void widen(struct reader *r, const struct entry *e)
{
	r->window[0] = e->start < r->window[0] ? e->start : r->window[0];
	r->window[1] = e->end > r->window[1] ? e->end : r->window[1];
}

/* False: it has no times, or such that cannot be. */
static bool take_times(struct reader *r, struct entry *e)
{
	struct part event = {e->data, e->length};
	struct proto_walk w = proto_walk(event);
	int64_t offset = 0, duration = 0, last, zero;
	struct proto_field f;
	bool summed = false;

	while (proto_next(&w, &f)) {
		if (proto_is(&f, 2, PROTO_NUMBER, &r->wrong))
			offset = (int64_t)f.v;
		else if (proto_is(&f, 3, PROTO_NUMBER, &r->wrong))
			duration = (int64_t)f.v;
		else if (proto_is(&f, 5, PROTO_NUMBER, &r->wrong))
			summed = true;
	}
	r->damaged += w.broken;
	if (summed) {
		unplaced_lose(&r->unplaced, "events that are a number of occurrences", 1);
		return false;
	}
	if (duration < 0 || __builtin_add_overflow(offset, duration, &last) ||
	    !zero_of(r, &r->lines[e->line], &zero) || !add_ps(zero, offset, &e->start) ||
	    !add_ps(zero, last, &e->end)) {
		unplaced_lose(&r->unplaced, "events at impossible times", 1);
		return false;
	}
	return true;
}

static void take_event(struct reader *r, uint32_t line, struct part event)
{
	struct entry e = {.data = event.s, .length = (uint32_t)event.n, .line = line};
	struct stats s;

	if (event.n > UINT32_MAX || !take_times(r, &e))
		return;
	xread_stats(r, &e, &s);
	e.kind = (uint8_t)kind_of(&r->lines[line], &s, xread_name(r, &e));
	if (e.kind == ENTRY_NONE) {
		unplaced_add(&r->unplaced,
			     "events of lines that others make (XLA Modules, Steps, ...)", 1);
		return;
	}
	if (!xread_name(r, &e).n)
		unplaced_add(&r->unplaced, "names of events that are not in the table", 1);
	define(r, &e, &s);
	widen(r, &e);
	*xread_add_entry(r) = e;
}

/* Of planes that are no host's or device's all is told; those of metadata have no lines. */
static void take_line(struct reader *r, uint32_t line)
{
	struct line_in *l = &r->lines[line];
	bool taken =
		r->planes[l->plane].kind == PLANE_HOST || r->planes[l->plane].kind == PLANE_DEVICE;
	struct proto_walk w = proto_walk(l->whole);
	struct proto_field f;

	if (l->what == ROW_THREAD && taken)
		xread_thread(r, l);
	while (!r->failed && proto_next(&w, &f)) {
		if (!proto_is(&f, 4, PROTO_PART, &r->wrong))
			continue;
		if (taken)
			take_event(r, line, f.s);
		else
			unplaced_add(&r->unplaced,
				     "events of planes that are no host's or device's", 1);
	}
}

void xread_events(struct reader *r)
{
	xread_define_processes(r);
	for (uint32_t i = 0; i < r->line_count && !r->failed; i++) {
		take_line(r, i);
		if (r->o->progress && i % 64 == 0)
			r->o->progress(r->o->progress_data, 0.5 * i / r->line_count);
	}
}
