/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the summary about bytes: copies by direction and kind of memory, and sizes. */
#include "analysis/labels.h"
#include "analysis/summary_columns.h"
#include "base/units.h"

/* The range of a class of sizes, for programs; people read it in the label. */
static void size_columns(struct table *t, unsigned by)
{
	if (!(by & BY_SIZE))
		return;
	table_column_if(t, false, "size_from", "from", CELL_BYTES);
	table_column_if(t, false, "size_below", "below", CELL_BYTES);
}

static struct cell *put_size(struct cell *c, unsigned by, const struct group *x)
{
	uint32_t size_class = x->first->key[KEY_COMM_SIZE_CLASS];

	if (!(by & BY_SIZE))
		return c;
	cell_number(c++, tally_size_least(size_class));
	cell_number(c++, tally_size_least(size_class + 1));
	return c;
}

/* ---- copies ------------------------------------------------------------------------------------ */

static void copy_row(struct table *t, const struct group *x, unsigned by, struct totals all,
		     bool extremes)
{
	const struct tally *n = &x->sum;
	struct cell *c = table_row(t);

	if (!c)
		return;
	c = put_size(put_labels(t, c, x), by, x);
	cell_number(c++, n->bytes);
	c = put_percent(c, n->bytes, all.bytes);
	cell_number(c++, n->count);
	c = put_mean_size(c, (double)n->bytes, n->count);
	if (extremes) {
		/* Ranks that were counted together have kept no extremes. */
		if (n->high > 0 || n->bytes == 0) {
			cell_number(c, (uint64_t)n->low);
			cell_number(c + 1, (uint64_t)n->high);
		}
		c += 2;
	}
	cell_number(c++, n->total);
	put_rate(c, n);
}

/* Fills have no source, and what is mapped may stay where it lies: they have tables of their own.
 */
static bool is_copy(const void *data, const struct trace *t, const struct tally *row)
{
	return label_transfer(t, row) == TRANSFER_COPY;
}

static bool copy_table(struct report *r, const struct summary *s, unsigned count, unsigned by,
		       const char *name, const char *title)
{
	bool sizes = by & BY_SIZE;
	struct groups g;
	bool ok = gather(&g, s, count, sizes ? TALLY_COPY_SIZE : TALLY_COPY, by, is_copy, NULL);
	struct totals all = totals_of(&g);
	struct table *t = ok ? report_table(r, name, title) : NULL;

	if (t) {
		groups_sort(&g, sizes ? ORDER_SIZE : ORDER_BYTES);
		add_dimensions(t, by, "copy");
		size_columns(t, by);
		table_column(t, "bytes", "bytes", CELL_BYTES);
		table_column(t, "percent", "%", CELL_PERCENT);
		table_column(t, "calls", "copies", CELL_COUNT);
		table_column(t, "bytes_each", "avg size", CELL_BYTES_MEAN);
		if (!sizes) {
			table_column_optional(t, 1, "bytes_min", "min size", CELL_BYTES);
			table_column_optional(t, 2, "bytes_max", "max size", CELL_BYTES);
		}
		table_column(t, "time_ns", "device time", CELL_TIME);
		table_column(t, "bytes_per_second", "bandwidth", CELL_RATE);
		for (uint32_t i = 0; i < g.count; i++)
			copy_row(t, g.list[i], by, all, !sizes);
		report_drop_empty(r);
	}
	groups_release(&g);
	return t != NULL;
}

bool summary_traffic(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	return copy_table(r, s, count, by, "traffic", "Bytes copied");
}

bool summary_copy_sizes(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	return copy_table(r, s, count, by, "copy_sizes", "Sizes of copies");
}

/* ---- messages ---------------------------------------------------------------------------------- */

static uint64_t sum_of(const struct summary *s, unsigned count, enum tally_kind kind)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < count; i++)
		for (uint32_t k = 0; k < s[i].tallies->set[kind].count; k++)
			n += s[i].tallies->set[kind].rows[k]->count;
	return n;
}

static void tell_without_size(struct report *r, const struct summary *s, unsigned count)
{
	uint64_t all = sum_of(s, count, TALLY_COMM), known = sum_of(s, count, TALLY_COMM_SIZE);
	char number[32];

	if (all > known)
		report_foot(r,
			    "The sizes of %s messages were not kept: their ranks were counted "
			    "together (mode summary).",
			    units_count(all - known, number));
}

bool summary_message_sizes(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct groups g;
	bool ok = gather(&g, s, count, TALLY_COMM_SIZE, by, NULL, NULL);
	struct totals all = totals_of(&g);
	struct table *t = ok ? report_table(r, "message_sizes", "Sizes of messages") : NULL;

	if (t) {
		groups_sort(&g, ORDER_SIZE);
		add_dimensions(t, by, "message");
		size_columns(t, by);
		table_column(t, "calls", "messages", CELL_COUNT);
		table_column(t, "percent", "%", CELL_PERCENT);
		table_column(t, "sent", "sent", CELL_BYTES);
		table_column(t, "received", "received", CELL_BYTES);
		table_column(t, "time_ns", "time", CELL_TIME);
		table_column(t, "average_ns", "average", CELL_TIME);
		tell_without_size(r, s, count);
	}
	for (uint32_t i = 0; t && i < g.count; i++) {
		const struct tally *n = &g.list[i]->sum;
		struct cell *c = table_row(t);

		if (!c)
			break;
		c = put_size(put_labels(t, c, g.list[i]), by, g.list[i]);
		cell_number(c++, n->count);
		c = put_percent(c, n->count, all.count);
		c = put_nonzero(c, n->bytes);
		c = put_nonzero(c, n->received);
		cell_number(c++, n->total);
		if (n->count)
			cell_number(c, (n->total + n->count / 2) / n->count);
	}
	if (t)
		report_drop_empty(r);
	groups_release(&g);
	return t != NULL;
}
