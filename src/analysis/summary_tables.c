/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the summary: host calls by domain, device work, memory, waiting, errors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/summary_parts.h"
#include "stream/names.h"

/* ---- columns ----------------------------------------------------------------------------------- */

static void add_dimensions(struct table *t, unsigned by, const char *op_heading)
{
	for (unsigned d = 0; d < dimension_count; d++) {
		if (by & dimensions[d].by)
			table_column(t, dimensions[d].name,
				     dimensions[d].by == BY_OP ? op_heading : dimensions[d].heading,
				     CELL_TEXT);
	}
}

static struct cell *put_labels(struct table *t, struct cell *c, const struct group *g)
{
	for (unsigned d = 0; d < dimension_count; d++) {
		if (g->label[d])
			cell_text(t, c++, g->label[d]);
	}
	return c;
}

static void add_spread(struct table *t)
{
	table_column(t, "average_ns", "average", CELL_TIME);
	table_column(t, "min_ns", "min", CELL_TIME);
	table_column(t, "p50_ns", "p50", CELL_TIME);
	table_column(t, "p99_ns", "p99", CELL_TIME);
	table_column(t, "max_ns", "max", CELL_TIME);
}

static struct cell *put_spread(struct cell *c, const struct groups *g, const struct tally *n)
{
	uint64_t timed = n->count - n->untimed;

	if (!timed)
		return c + 5;
	cell_number(c++, (n->total + timed / 2) / timed);
	cell_number(c++, n->min);
	cell_number(c++, tally_percentile(g->numbers, n, 0.5));
	cell_number(c++, tally_percentile(g->numbers, n, 0.99));
	cell_number(c++, n->max);
	return c;
}

static struct cell *put_percent(struct cell *c, uint64_t part, uint64_t whole)
{
	if (whole)
		cell_real(c, 100.0 * (double)part / (double)whole);
	return c + 1;
}

/* People see nothing for 0 where it is the rule: errors stand out. */
static struct cell *put_rare(struct cell *c, uint64_t v)
{
	cell_number(c, v);
	c->quiet = v == 0;
	return c + 1;
}

/* ---- gathering --------------------------------------------------------------------------------- */

/* The sums over all rows of a table. */
struct totals {
	uint64_t count, total, self, errors, untimed, bytes;
};

static struct totals totals_of(const struct groups *g)
{
	struct totals t = {0};

	for (uint32_t i = 0; i < g->count; i++) {
		t.count += g->list[i]->sum.count;
		t.total += g->list[i]->sum.total;
		t.self += g->list[i]->sum.self;
		t.errors += g->list[i]->sum.errors;
		t.untimed += g->list[i]->sum.untimed;
		t.bytes += g->list[i]->sum.bytes;
	}
	return t;
}

/* Groups all rows of a kind for which `wanted` says yes. False: no memory. */
static bool gather(struct groups *g, const struct summary *s, unsigned count, enum tally_kind kind,
		   unsigned by, bool (*wanted)(const void *, const struct trace *,
					       const struct tally *),
		   const void *data)
{
	if (!groups_init(g, s[0].trace, by & dimensions_of(kind)))
		return false;
	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[kind];

		for (uint32_t r = 0; r < set->count; r++) {
			if (!wanted || wanted(data, s[i].trace, set->rows[r]))
				groups_add(g, &s[i], kind, set->rows[r]);
		}
	}
	groups_sort(g);
	return !g->failed;
}

/* True when the summary has something to say by these dimensions about this kind. */
static bool applies(enum tally_kind kind, unsigned by)
{
	return (by & dimensions_of(kind)) != 0;
}

/* ---- host calls -------------------------------------------------------------------------------- */

static const char *domain_of(const struct trace *t, const struct tally *row)
{
	uint32_t op = row->key[2] < t->ops_count ? row->key[2] : 0;

	return t->domains[t->ops[op].domain].name;
}

static bool of_domain(const void *domain, const struct trace *t, const struct tally *row)
{
	return strcmp(domain_of(t, row), domain) == 0;
}

static void calls_columns(struct table *t, unsigned by, bool nested, bool errors)
{
	add_dimensions(t, by & dimensions_of(TALLY_CALL), "call");
	table_column(t, "time_ns", "time", CELL_TIME);
	table_column_if(t, nested, "self_ns", "self", CELL_TIME);
	table_column(t, "percent", "%", CELL_PERCENT);
	table_column(t, "calls", "calls", CELL_COUNT);
	add_spread(t);
	table_column_if(t, errors, "errors", "errors", CELL_COUNT);
}

static void calls_rows(struct table *t, const struct groups *g, struct totals all)
{
	for (uint32_t i = 0; i < g->count && !t->failed; i++) {
		const struct tally *n = &g->list[i]->sum;
		struct cell *c = table_row(t);

		if (!c)
			return;
		c = put_labels(t, c, g->list[i]);
		cell_number(c++, n->total);
		cell_number(c++, n->self);
		c = put_percent(c, n->self, all.self);
		cell_number(c++, n->count);
		c = put_spread(c, g, n);
		put_rare(c, n->errors);
	}
}

static bool calls_table(struct report *r, const struct summary *s, unsigned count, unsigned by,
			enum tally_kind kind, const char *name, const char *title)
{
	struct groups g;
	bool ok = gather(&g, s, count, kind, by, of_domain, name);
	struct totals all = totals_of(&g);
	bool nested = all.self != all.total;
	struct table *t = NULL;
	char heading[160];

	if (ok) {
		snprintf(heading, sizeof(heading), "%s: %" PRIu64 "%s%s",
			 *title ? title : *name ? name : "Operations without definition",
			 all.count, kind == TALLY_CALL ? " call" : "",
			 kind == TALLY_CALL && all.count != 1 ? "s" : "");
		t = report_table(r, *name ? name : "unknown", heading);
	}
	if (t) {
		calls_columns(t, by, nested, all.errors != 0);
		calls_rows(t, &g, all);
		if (nested)
			table_note(t, "time includes traced calls made inside; self and %% do not");
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}

/* Each domain that has calls, in order of first appearance; one table each. */
static bool all_calls(struct report *r, const struct summary *s, unsigned count, unsigned by,
		      enum tally_kind kind)
{
	const char *seen[64];
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[kind];

		for (uint32_t k = 0; k < set->count; k++) {
			const char *name = domain_of(s[i].trace, set->rows[k]);
			const struct trace *t = s[i].trace;
			unsigned d;

			for (d = 0; d < n && strcmp(seen[d], name) != 0; d++)
				;
			if (d < n || n == sizeof(seen) / sizeof(*seen))
				continue;
			seen[n++] = name;
			if (!calls_table(r, s, count, by, kind, name,
					 t->domains[t->ops[set->rows[k]->key[2]].domain].title))
				return false;
		}
	}
	return true;
}

/* ---- markers ----------------------------------------------------------------------------------- */

/* Marks take no time: they are a table of their own. */
static bool is_mark(const struct trace *t, const struct tally *row)
{
	return row->key[2] < t->ops_count && strcmp(t->ops[row->key[2]].name, "mark") == 0;
}

static bool of_ranges(const void *data, const struct trace *t, const struct tally *row)
{
	return !is_mark(t, row);
}

static bool of_marks(const void *data, const struct trace *t, const struct tally *row)
{
	return is_mark(t, row);
}

static bool ranges_table(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	bool ok = gather(&g, s, count, TALLY_MARKER, by, of_ranges, NULL);
	struct totals all = totals_of(&g);
	struct table *t = NULL;
	char heading[80];

	snprintf(heading, sizeof(heading), "Ranges: %" PRIu64, all.count);
	if (ok)
		t = report_table(r, "ranges", heading);
	if (t) {
		add_dimensions(t, by & dimensions_of(TALLY_MARKER), "range");
		table_column(t, "time_ns", "time", CELL_TIME);
		table_column_if(t, all.self != all.total, "self_ns", "self", CELL_TIME);
		table_column(t, "percent", "%", CELL_PERCENT);
		table_column(t, "calls", "times", CELL_COUNT);
		add_spread(t);
		table_column_if(t, all.errors, "left_open", "left open", CELL_COUNT);
		calls_rows(t, &g, all);
		if (all.self != all.total)
			table_note(t, "time includes ranges inside; self and %% do not");
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}

static bool marks_table(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	bool ok = gather(&g, s, count, TALLY_MARKER, by, of_marks, NULL);
	struct table *t = ok ? report_table(r, "marks", "Marks") : NULL;

	if (t) {
		add_dimensions(t, by & dimensions_of(TALLY_MARKER), "mark");
		table_column(t, "calls", "times", CELL_COUNT);
		for (uint32_t i = 0; i < g.count; i++) {
			struct cell *c = table_row(t);

			if (!c)
				break;
			cell_number(put_labels(t, c, g.list[i]), g.list[i]->sum.count);
		}
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}

/* ---- device work ------------------------------------------------------------------------------- */

static void device_row(struct table *t, const struct groups *g, const struct group *x,
		       struct totals all, bool copies)
{
	const struct tally *n = &x->sum;
	uint64_t timed = n->count - n->untimed;
	struct cell *c = table_row(t);

	if (!c)
		return;
	c = put_labels(t, c, x);
	cell_number(c++, n->total);
	c = put_percent(c, n->total, all.total);
	cell_number(c++, n->count);
	if (copies) {
		cell_number(c++, n->bytes);
		if (n->total)
			cell_real(c, (double)(n->bytes - n->untimed_bytes) * 1e9 / (double)n->total);
		c++;
	}
	c = put_spread(c, g, n);
	if (timed)
		cell_number(c, (n->wait + timed / 2) / timed);
	c++;
	c = put_rare(c, n->untimed);
	put_rare(c, n->errors);
}

static bool device_table(struct report *r, const struct summary *s, unsigned count, unsigned by,
			 bool copies)
{
	enum tally_kind kind = copies ? TALLY_COPY : TALLY_DISPATCH;
	struct groups g;
	bool ok = gather(&g, s, count, kind, by, NULL, NULL);
	struct totals all = totals_of(&g);
	struct table *t = NULL;
	char heading[160];

	snprintf(heading, sizeof(heading), copies ? "Copies: %" PRIu64 : "Kernels: %" PRIu64
		 " dispatched", all.count);
	if (ok)
		t = report_table(r, copies ? "copies" : "kernels", heading);
	if (t) {
		add_dimensions(t, by & dimensions_of(kind), copies ? "copy" : "kernel");
		table_column(t, "time_ns", "device time", CELL_TIME);
		table_column(t, "percent", "%", CELL_PERCENT);
		table_column(t, "calls", copies ? "copies" : "dispatches", CELL_COUNT);
		if (copies) {
			table_column(t, "bytes", "bytes", CELL_BYTES);
			table_column(t, "bytes_per_second", "bandwidth", CELL_RATE);
		}
		add_spread(t);
		table_column(t, "wait_ns", "avg in queue", CELL_TIME);
		table_column_if(t, all.untimed, "untimed", "untimed", CELL_COUNT);
		table_column_if(t, all.errors, "errors", "failed", CELL_COUNT);
		for (uint32_t i = 0; i < g.count; i++)
			device_row(t, &g, g.list[i], all, copies);
		if (all.untimed)
			table_note(t, "untimed: the device gave no times; counted, but in no time");
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}

/* ---- messages ---------------------------------------------------------------------------------- */

static bool messages_table(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	bool ok = gather(&g, s, count, TALLY_COMM, by, NULL, NULL);
	struct totals all = totals_of(&g);
	struct table *t = NULL;
	char heading[80];

	snprintf(heading, sizeof(heading), "Messages: %" PRIu64, all.count);
	if (ok)
		t = report_table(r, "messages", heading);
	if (t) {
		add_dimensions(t, by & dimensions_of(TALLY_COMM), "message");
		table_column(t, "time_ns", "time", CELL_TIME);
		table_column(t, "percent", "%", CELL_PERCENT);
		table_column(t, "calls", "messages", CELL_COUNT);
		table_column(t, "sent", "sent", CELL_BYTES);
		table_column(t, "received", "received", CELL_BYTES);
		table_column(t, "bytes_each", "avg size", CELL_BYTES);
		add_spread(t);
		table_column_if(t, all.errors, "incomplete", "incomplete", CELL_COUNT);
	}
	for (uint32_t i = 0; t && i < g.count; i++) {
		const struct tally *n = &g.list[i]->sum;
		struct cell *c = table_row(t);

		if (!c)
			break;
		c = put_labels(t, c, g.list[i]);
		cell_number(c++, n->total);
		c = put_percent(c, n->total, all.total);
		cell_number(c++, n->count);
		cell_number(c++, n->bytes);
		cell_number(c++, n->received);
		cell_number(c++, (n->bytes > n->received ? n->bytes : n->received) / n->count);
		c = put_spread(c, &g, n);
		put_rare(c, n->errors);
	}
	if (t)
		report_drop_empty(r);
	groups_release(&g);
	return t != NULL;
}

/* ---- queues ------------------------------------------------------------------------------------ */

/* The time the traces took together: what a device could have been busy. */
static uint64_t wall(const struct summary *s, unsigned count)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < count; i++) {
		if (s[i].trace->end > s[i].trace->origin)
			ns += (uint64_t)(s[i].trace->end - s[i].trace->origin);
	}
	return ns;
}

/* Kernels and copies by device and queue, side by side. */
static bool queues_table(struct report *r, const struct summary *s, unsigned count)
{
	const unsigned by = BY_DEVICE | BY_QUEUE;
	struct groups k, c;
	struct groups both[2];
	bool ok = gather(&k, s, count, TALLY_DISPATCH, by, NULL, NULL);
	struct table *t = NULL;
	uint64_t whole = wall(s, count);

	ok = gather(&c, s, count, TALLY_COPY, by, NULL, NULL) && ok;
	both[0] = k;
	both[1] = c;
	if (ok)
		t = report_table(r, "queues", "Queues");
	if (t) {
		table_column(t, "queue", "queue", CELL_TEXT);
		table_column(t, "what", "what", CELL_TEXT);
		table_column(t, "time_ns", "device time", CELL_TIME);
		table_column(t, "percent", "% of run", CELL_PERCENT);
		table_column(t, "calls", "commands", CELL_COUNT);
		table_column(t, "bytes", "bytes", CELL_BYTES);
	}
	for (unsigned i = 0; t && i < 2; i++) {
		for (uint32_t n = 0; n < both[i].count; n++) {
			const struct group *x = both[i].list[n];
			struct cell *cell = table_row(t);

			if (!cell)
				break;
			cell_text(t, cell++, x->label[5]);
			cell_text(t, cell++, i ? "copies" : "kernels");
			cell_number(cell++, x->sum.total);
			cell = put_percent(cell, x->sum.total, whole);
			cell_number(cell++, x->sum.count);
			put_rare(cell, x->sum.bytes);
		}
	}
	if (t)
		report_drop_empty(r);
	groups_release(&k);
	groups_release(&c);
	return t != NULL;
}

/* ---- memory ------------------------------------------------------------------------------------ */

static bool pool_table(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct table *t = report_table(r, "memory", "Memory in use");
	struct text label = {0};
	bool many = false;

	if (!t)
		return false;
	table_column(t, "process", "process", CELL_TEXT);
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "kind", "kind", CELL_TEXT);
	table_column(t, "peak_bytes", "peak", CELL_BYTES);
	table_column(t, "peak_at_ns", "peak at", CELL_TIMESTAMP);
	table_column(t, "in_use_bytes", "at end", CELL_BYTES);
	table_column(t, "allocations", "allocations", CELL_COUNT);
	table_column(t, "frees", "frees", CELL_COUNT);
	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[TALLY_POOL];

		for (uint32_t k = 0; k < set->count; k++) {
			const struct tally *n = set->rows[k];
			struct cell *c = table_row(t);

			if (!c)
				break;
			label.length = 0;
			label_add(&label, &s[i], TALLY_POOL, n, BY_PROCESS);
			cell_text(t, c++, label.s ? label.s : "");
			label.length = 0;
			if (n->key[1])
				label_agent(&label, s[i].trace, n->key[1]);
			else
				text_add(&label, "(any of its context)");
			cell_text(t, c++, label.s ? label.s : "");
			cell_text(t, c++, name_memory_kind(n->key[2]));
			cell_number(c++, n->peak);
			cell_number(c++, n->peak_time > s[i].trace->origin
						 ? (uint64_t)(n->peak_time - s[i].trace->origin)
						 : 0);
			cell_number(c++, n->in_use);
			cell_number(c++, n->count);
			cell_number(c++, n->frees);
		}
		many |= s[i].tallies->late != 0;
	}
	if (many)
		table_note(t, "allocations reached the trace late: peaks are approximate");
	text_release(&label);
	report_drop_empty(r);
	return true;
}

struct allocation_sum {
	uint64_t count, frees, bytes, freed;
};

static bool allocation_table(struct report *r, const struct summary *s, unsigned count)
{
	enum { KINDS = 8, WHATS = 8 };
	struct allocation_sum sum[KINDS][WHATS] = {0};
	struct table *t = report_table(r, "allocations", "Allocations");

	if (!t)
		return false;
	table_column(t, "what", "what", CELL_TEXT);
	table_column(t, "kind", "kind", CELL_TEXT);
	table_column(t, "allocations", "allocations", CELL_COUNT);
	table_column(t, "bytes", "bytes", CELL_BYTES);
	table_column(t, "frees", "frees", CELL_COUNT);
	table_column(t, "freed_bytes", "freed", CELL_BYTES);
	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[TALLY_ALLOCATION];

		for (uint32_t k = 0; k < set->count; k++) {
			const struct tally *n = set->rows[k];
			struct allocation_sum *a = &sum[n->key[2] < KINDS ? n->key[2] : KINDS - 1]
						       [n->key[3] < WHATS ? n->key[3] : WHATS - 1];

			a->count += n->count;
			a->frees += n->frees;
			a->bytes += n->bytes;
			a->freed += n->freed;
		}
	}
	for (unsigned i = 0; i < KINDS * WHATS; i++) {
		const struct allocation_sum *a = &sum[i / WHATS][i % WHATS];
		struct cell *c = a->count || a->frees ? table_row(t) : NULL;

		if (!c)
			continue;
		cell_text(t, c++, name_allocation_what(i % WHATS));
		cell_text(t, c++, name_memory_kind(i / WHATS));
		cell_number(c++, a->count);
		cell_number(c++, a->bytes);
		cell_number(c++, a->frees);
		cell_number(c++, a->freed);
	}
	report_drop_empty(r);
	return true;
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static bool sync_table(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	bool ok = gather(&g, s, count, TALLY_SYNC, by, NULL, NULL);
	struct totals all = totals_of(&g);
	struct table *t = ok ? report_table(r, "waiting", "Host waiting for devices") : NULL;

	if (t) {
		add_dimensions(t, by & dimensions_of(TALLY_SYNC), "for");
		table_column(t, "time_ns", "time", CELL_TIME);
		table_column(t, "percent", "%", CELL_PERCENT);
		table_column(t, "calls", "times", CELL_COUNT);
		add_spread(t);
		for (uint32_t i = 0; i < g.count; i++) {
			const struct tally *n = &g.list[i]->sum;
			struct cell *c = table_row(t);

			if (!c)
				break;
			c = put_labels(t, c, g.list[i]);
			cell_number(c++, n->total);
			c = put_percent(c, n->total, all.total);
			cell_number(c++, n->count);
			put_spread(c, &g, n);
		}
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}

/* ---- errors ------------------------------------------------------------------------------------ */

struct error_row {
	const char *call, *status;
	int32_t code;
	uint64_t count;
};

static int error_compare(const void *x, const void *y)
{
	const struct error_row *a = x, *b = y;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (strcmp(a->call, b->call) != 0)
		return strcmp(a->call, b->call);
	return (a->code > b->code) - (a->code < b->code);
}

static void error_add(struct error_row *rows, uint32_t *n, struct error_row e)
{
	for (uint32_t i = 0; i < *n; i++) {
		if (rows[i].code == e.code && strcmp(rows[i].call, e.call) == 0) {
			rows[i].count += e.count;
			return;
		}
	}
	rows[(*n)++] = e;
}

static struct error_row *error_rows(const struct summary *s, unsigned count, uint32_t *n)
{
	struct error_row *rows;
	uint32_t room = 1;

	for (unsigned i = 0; i < count; i++)
		room += s[i].tallies->set[TALLY_ERROR].count;
	rows = calloc(room, sizeof(*rows));
	for (unsigned i = 0; rows && i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[TALLY_ERROR];

		for (uint32_t k = 0; k < set->count; k++) {
			uint32_t o = set->rows[k]->key[1];
			const struct t_op *op = &s[i].trace->ops[o < s[i].trace->ops_count ? o : 0];
			int32_t code = (int32_t)set->rows[k]->key[2];

			error_add(rows, n, (struct error_row){op->name, rec_status_name(op, code),
							      code, set->rows[k]->count});
		}
	}
	if (rows && *n)
		qsort(rows, *n, sizeof(*rows), error_compare);
	return rows;
}

static bool error_table(struct report *r, const struct summary *s, unsigned count)
{
	uint32_t n = 0;
	struct error_row *rows = error_rows(s, count, &n);
	struct table *t = rows ? report_table(r, "errors", "Calls that returned an error") : NULL;

	if (t) {
		table_column(t, "call", "call", CELL_TEXT);
		table_column(t, "status", "status", CELL_TEXT);
		table_column(t, "code", "code", CELL_TEXT);
		table_column(t, "calls", "calls", CELL_COUNT);
	}
	for (uint32_t i = 0; t && i < n; i++) {
		struct cell *c = table_row(t);
		char code[16];

		if (!c)
			break;
		snprintf(code, sizeof(code), "%" PRId32, rows[i].code);
		cell_text(t, c++, rows[i].call);
		cell_text(t, c++, rows[i].status ? rows[i].status : "");
		cell_text(t, c++, code);
		cell_number(c, rows[i].count);
	}
	if (t)
		report_drop_empty(r);
	free(rows);
	return t != NULL;
}

/* ---- all --------------------------------------------------------------------------------------- */

kymo_status_t summary_report(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	bool ok = true, whole = by == BY_OP;

	summary_head(r, s, count);
	if (applies(TALLY_CALL, by))
		ok = all_calls(r, s, count, by, TALLY_CALL) &&
		     all_calls(r, s, count, by, TALLY_ACTIVITY);
	if (ok && applies(TALLY_MARKER, by))
		ok = ranges_table(r, s, count, by) && marks_table(r, s, count, by);
	if (ok && applies(TALLY_COMM, by))
		ok = messages_table(r, s, count, by);
	if (ok && applies(TALLY_DISPATCH, by))
		ok = device_table(r, s, count, by, false) && device_table(r, s, count, by, true);
	if (ok && applies(TALLY_SYNC, by))
		ok = sync_table(r, s, count, by);
	ok = ok && summary_imbalance(r, s, count, by);
	if (ok && whole)
		ok = queues_table(r, s, count) && pool_table(r, s, count, by) &&
		     allocation_table(r, s, count);
	if (ok && whole)
		ok = summary_functions(r, s, count) && summary_counters(r, s, count) &&
		     summary_telemetry(r, s, count);
	ok = ok && error_table(r, s, count) && summary_open_calls(r, s, count);
	summary_quality(r, s, count);
	for (unsigned i = 0; i < r->table_count; i++)
		ok = ok && !r->tables[i]->failed;
	return ok && !r->failed ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}
