/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping, columns and cells of the summary's tables; see summary_columns.h. */
#include "analysis/summary_columns.h"

#include <inttypes.h>
#include <math.h>

void add_dimensions(struct table *t, unsigned by, const char *op_heading)
{
	for (unsigned d = 0; d < dimension_count; d++) {
		if (by & dimensions[d].by)
			table_column(t, dimensions[d].name,
				     dimensions[d].by == BY_OP ? op_heading : dimensions[d].heading,
				     CELL_TEXT);
	}
}

struct cell *put_labels(struct table *t, struct cell *c, const struct group *g)
{
	for (unsigned d = 0; d < dimension_count; d++) {
		if (g->label[d])
			cell_text(t, c++, g->label[d]);
	}
	return c;
}

void add_spread(struct table *t)
{
	table_column_optional(t, 6, "average_ns", "average", CELL_TIME);
	table_column_optional(t, 3, "min_ns", "min", CELL_TIME);
	table_column_optional(t, 1, "p50_ns", "p50", CELL_TIME);
	table_column_optional(t, 2, "p99_ns", "p99", CELL_TIME);
	table_column_optional(t, 4, "max_ns", "max", CELL_TIME);
}

struct cell *put_spread(struct cell *c, const struct groups *g, const struct tally *n)
{
	uint64_t timed = n->count - n->untimed;

	if (!timed)
		return c + 5;
	cell_number(c++, (n->total + timed / 2) / timed);
	cell_number(c++, n->min);
	if (tally_distributed(g->numbers, n)) {
		cell_number(c, tally_percentile(g->numbers, n, 0.5));
		cell_number(c + 1, tally_percentile(g->numbers, n, 0.99));
	}
	c += 2;
	cell_number(c++, n->max);
	return c;
}

void put_curve(struct table *t, struct cell *c, const uint64_t at[CURVE_PARTS], uint64_t top,
	       const struct report *r)
{
	static const char *const fine[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	struct text line = {0};

	for (unsigned i = 0; i < CURVE_PARTS; i++) {
		double share = top ? (double)at[i] / (double)top : 0;
		unsigned height = at[i] ? 1 + (unsigned)(share * 6) : 0;

		height = height < 8 ? height : 7;
		if (r->people)
			text_add(&line, r->utf8 ? fine[height] : plain[height]);
		else
			text_addf(&line, "%s%" PRIu64, i ? " " : "", at[i]);
	}
	cell_text(t, c, line.s ? line.s : "");
	text_release(&line);
}

struct cell *put_percent(struct cell *c, uint64_t part, uint64_t whole)
{
	if (whole)
		cell_real(c, 100.0 * (double)part / (double)whole);
	return c + 1;
}

struct cell *put_nonzero(struct cell *c, uint64_t v)
{
	cell_number(c, v);
	c->quiet = v == 0;
	return c + 1;
}

struct cell *put_mean_size(struct cell *c, double bytes, uint64_t count)
{
	double mean = count ? bytes / (double)count : 0;

	if (count && isfinite(bytes))
		cell_real(c, mean < 100 ? round(mean * 10) / 10 : round(mean));
	return c + 1;
}

struct cell *put_rate(struct cell *c, const struct tally *n)
{
	uint64_t moved = n->bytes - n->untimed_bytes;

	if (n->total && moved)
		cell_real(c, (double)moved * 1e9 / (double)n->total);
	return c + 1;
}

uint64_t stayed(const struct tally *n)
{
	return n->untimed ? 0 : n->untimed_bytes;
}

struct totals totals_of(const struct groups *g)
{
	struct totals t = {0};

	for (uint32_t i = 0; i < g->count; i++) {
		t.count += g->list[i]->sum.count;
		t.total += g->list[i]->sum.total;
		t.self += g->list[i]->sum.self;
		t.errors += g->list[i]->sum.errors;
		t.untimed += g->list[i]->sum.untimed;
		t.bytes += g->list[i]->sum.bytes;
		t.stayed += stayed(&g->list[i]->sum);
	}
	return t;
}

bool row_is_state(const void *unused, const struct trace *t, const struct tally *row)
{
	uint32_t op = row->key[KEY_OP];

	return op < t->ops_count && t->ops[op].flags & KYMO_OP_STATE;
}

bool row_is_call(const void *unused, const struct trace *t, const struct tally *row)
{
	return !row_is_state(NULL, t, row);
}

bool gather(struct groups *g, const struct summary *s, unsigned count, enum tally_kind kind,
	    unsigned by, row_wanted *wanted, const void *data)
{
	if (!groups_init(g, s[0].trace, by))
		return false;
	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[kind];

		for (uint32_t r = 0; r < set->count; r++) {
			if (!wanted || wanted(data, s[i].trace, set->rows[r]))
				groups_add(g, &s[i], kind, set->rows[r]);
		}
	}
	groups_sort(g, ORDER_TIME);
	return !g->failed;
}
