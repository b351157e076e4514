/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a comparison. See compare.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "analysis/compare_same.h"
#include "base/plain.h"

#define LINE_FULL    44u /* of a line: one more reason would not fit */
#define REASONS      16u
#define PERCENT_MOST 9999 /* above it "more" says as much */
#define LABEL_MOST   30u  /* columns of a name; --names full shows more, --format json all */

static bool is_change(const struct compare_test *t)
{
	return t->verdict == VERDICT_UP || t->verdict == VERDICT_DOWN;
}

/* Which way first, then how much of a run, then how heavy. */
struct row {
	const struct compare_item *item;
	const struct quantity *quantity; /* instead */
	const struct compare_test *test;
	uint32_t number;
	double impact;
};

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	const int rank_a = a->test->verdict == VERDICT_UP ? 0 : is_change(a->test) ? 1 : 2;
	const int rank_b = b->test->verdict == VERDICT_UP ? 0 : is_change(b->test) ? 1 : 2;

	if (rank_a != rank_b)
		return rank_a - rank_b;
	if (a->impact != b->impact)
		return a->impact < b->impact ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

/* ---- cells ------------------------------------------------------------------------------------- */

static void add_percent(struct text *out, double share)
{
	double percent = 100 * share;

	if (!isfinite(percent) || percent > PERCENT_MOST)
		text_addf(out, ">+%d", PERCENT_MOST);
	else
		text_addf(out, fabs(percent) < 99.95 ? "%+.1f" : "%+.0f", percent);
}

static void cell_lines(struct table *t, struct cell *c, struct text *text)
{
	cell_text(t, c, text->s ? text->s : "");
	t->failed |= text->failed;
	text_release(text);
}

/* What is tested, or simply the two numbers where it is not. */
static double change_of(const struct compare_test *t)
{
	if (t->tested)
		return expm1(t->shift.shift);
	return t->a > 0 ? t->b / t->a - 1 : INFINITY;
}

static void cell_share(struct cell *c, double share)
{
	if (isfinite(share))
		cell_real(c, 100 * share);
}

static const char *verdict_of(const struct compare_test *t, bool call)
{
	switch (t->verdict) {
	case VERDICT_UP:
		return call ? "slower" : "more";
	case VERDICT_DOWN:
		return call ? "faster" : "less";
	case VERDICT_SAME:
		return "same";
	default:
		return "";
	}
}

static void people_columns(struct table *t)
{
	table_column(t, "item", "what", CELL_TEXT);
	table_column(t, "a_ns", "A", CELL_TIME);
	table_column(t, "b_ns", "B", CELL_TIME);
	table_column(t, "change", "change %", CELL_TEXT);
	table_column(t, "interval", "95 % sure", CELL_TEXT);
	table_column(t, "verdict", "", CELL_TEXT);
	for (unsigned i = 3; i <= 4 && i < t->column_count; i++)
		t->columns[i].right = true;
}

/* With such names a row still fits into 80 columns. */
static void cell_label(struct table *t, struct cell *c, const struct compare *compare,
		       const char *what)
{
	struct text label = {0};

	if (!compare->options.people || compare->options.full_names ||
	    plain_width(what) <= LABEL_MOST) {
		cell_text(t, c, what);
		return;
	}
	plain_add_cut(&label, what, LABEL_MOST - 3);
	text_add(&label, "...");
	cell_lines(t, c, &label);
}

static void people_row(struct table *t, const struct compare *compare, const char *what,
		       const struct compare_test *test, bool call)
{
	struct cell *c = table_row(t);
	struct text text = {0};

	if (!c)
		return;
	cell_label(t, c++, compare, what);
	if (test->a > 0)
		cell_number(c, (uint64_t)llround(test->a));
	if (test->b > 0)
		cell_number(c + 1, (uint64_t)llround(test->b));
	c += 2;
	if (test->a > 0 && test->b > 0)
		add_percent(&text, change_of(test));
	cell_lines(t, c++, &text);
	if (test->tested) {
		add_percent(&text, expm1(test->shift.low));
		text_add(&text, "..");
		add_percent(&text, expm1(test->shift.high));
	}
	cell_lines(t, c++, &text);
	cell_text(t, c, is_change(test) ? verdict_of(test, call) : test->tested ? "" : "?");
}

static void program_columns(struct table *t)
{
	static const struct {
		const char *name;
		enum cell_unit unit;
	} columns[] = {{"item", CELL_TEXT},
		       {"kind", CELL_TEXT},
		       {"per", CELL_TEXT},
		       {"calls_a", CELL_NUMBER},
		       {"calls_b", CELL_NUMBER},
		       {"a_ns", CELL_NUMBER},
		       {"b_ns", CELL_NUMBER},
		       {"change_percent", CELL_PERCENT},
		       {"low_percent", CELL_PERCENT},
		       {"high_percent", CELL_PERCENT},
		       {"p", CELL_NUMBER},
		       {"p_corrected", CELL_NUMBER},
		       {"detectable_percent", CELL_PERCENT},
		       {"share_percent", CELL_PERCENT},
		       {"verdict", CELL_TEXT},
		       {"reason", CELL_TEXT}};

	for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(t, columns[i].name, columns[i].name, columns[i].unit);
}

static double mean_count(const struct compare *c, unsigned side, uint32_t item)
{
	unsigned from = side ? c->count[0] : 0;
	double sum = 0;

	for (unsigned i = from; i < from + c->count[side]; i++)
		sum += item < c->runs[i].item_count ? (double)c->runs[i].items[item].count : 0;
	return sum / c->count[side];
}

static void program_row(struct table *t, const struct compare *compare, const struct row *row,
			const char *kind, bool call)
{
	const struct compare_test *test = row->test;
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, row->item ? row->item->label : row->quantity->name);
	cell_text(t, c++, kind);
	cell_text(t, c++, call ? "call" : "run");
	for (unsigned side = 0; side < 2; side++, c++)
		if (row->item)
			cell_real(c, mean_count(compare, side, row->number));
	cell_real(c++, test->a);
	cell_real(c++, test->b);
	cell_share(c++, change_of(test));
	if (test->tested) {
		cell_share(c, expm1(test->shift.low));
		cell_share(c + 1, expm1(test->shift.high));
		cell_real(c + 2, test->shift.p);
		cell_real(c + 3, test->p);
		cell_share(c + 4, test->detectable);
	}
	c += 5;
	if (row->item)
		cell_share(c, row->item->share);
	c++;
	if (test->tested)
		cell_text(t, c, verdict_of(test, call));
	c++;
	if (test->reason)
		cell_text(t, c, test->reason);
}

/* ---- tables ------------------------------------------------------------------------------------ */

static const char *const kinds[] = {"kernel", "copy", "call", "range"};

/* It would be judged, were there more of it. */
static bool is_heavy(const struct compare_test *t)
{
	return strcmp(t->reason, "little time") != 0 &&
	       strcmp(t->reason, "in one side only") != 0 &&
	       strcmp(t->reason, "not recorded in all runs") != 0 &&
	       strcmp(t->reason, "not in all runs") != 0;
}

/* Of an item people see the time of a call, and that of the run where only that has changed. */
static bool is_shown(const struct compare *c, const struct compare_item *x,
		     const struct compare_test *t)
{
	if (!c->options.people)
		return true;
	if (t == &x->each)
		return t->tested || (is_heavy(t) && x->share >= c->options.share);
	return is_change(t) ? !is_change(&x->each) : t->tested && !x->each.tested;
}

static uint32_t collect_rows(const struct compare *c, struct row *rows)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->item_count; i++) {
		const struct compare_item *x = &c->items[i];
		double impact = is_change(&x->each) || is_change(&x->all)
					? fabs(x->all.b - x->all.a)
					: x->share;

		if (is_shown(c, x, &x->each))
			rows[n++] = (struct row){x, NULL, &x->each, i, impact};
		if (is_shown(c, x, &x->all))
			rows[n++] = (struct row){x, NULL, &x->all, i, impact};
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	return n;
}

static void item_row(struct table *t, const struct compare *c, const struct row *row)
{
	bool call = row->test == &row->item->each;
	struct text what = {0};

	if (!c->options.people) {
		program_row(t, c, row, kinds[row->item->kind], call);
		return;
	}
	text_addf(&what, "%s%s", row->item->label, call ? "" : ", in all");
	people_row(t, c, what.s ? what.s : "", row->test, call);
	t->failed |= what.failed;
	text_release(&what);
}

static void report_items(struct report *r, const struct compare *c)
{
	struct table *t = report_table(r, "items", "Time of a call, median of a run");
	struct row *rows = calloc(2 * (size_t)c->item_count + 1, sizeof(*rows));
	uint32_t n;

	if (!t || !rows) {
		free(rows);
		r->failed = true;
		return;
	}
	t->ranked = true;
	if (c->options.people)
		people_columns(t);
	else
		program_columns(t);
	n = collect_rows(c, rows);
	for (uint32_t i = 0; i < n; i++)
		item_row(t, c, &rows[i]);
	free(rows);
	report_drop_empty(r);
}

static void report_runs(struct report *r, const struct compare *c)
{
	struct table *t = report_table(r, "runs", "Whole runs");

	if (!t)
		return;
	if (c->options.people)
		people_columns(t);
	else
		program_columns(t);
	for (uint32_t i = 0; i < c->quantity_count; i++) {
		const struct quantity *q = &c->quantities[i];
		const struct row row = {NULL, q, &q->test, i, 0};

		if (q->unit != QUANTITY_TIME)
			continue;
		if (c->options.people)
			people_row(t, c, q->name, &q->test, false);
		else
			program_row(t, c, &row, "run", false);
	}
	report_drop_empty(r);
}

static void amount_columns(struct table *t)
{
	table_column(t, "item", "what", CELL_TEXT);
	table_column(t, "a", "A", CELL_COUNT);
	table_column(t, "b", "B", CELL_COUNT);
	table_column(t, "change_percent", "change %", CELL_PERCENT);
}

/* Calls, kernels, bytes of a run: nothing of that is faster or slower. People see what differs. */
static void report_amounts(struct report *r, const struct compare *c)
{
	struct table *t = report_table(r, "amounts", "Amounts of a run");

	if (!t)
		return;
	amount_columns(t);
	for (uint32_t i = 0; i < c->quantity_count; i++) {
		const struct quantity *q = &c->quantities[i];
		struct cell *cell;

		if (q->unit == QUANTITY_TIME || (c->options.people && q->test.a == q->test.b))
			continue;
		cell = table_row(t);
		if (!cell)
			return;
		cell_text(t, cell++, q->name);
		cell_number(cell++, (uint64_t)llround(q->test.a));
		cell_number(cell++, (uint64_t)llround(q->test.b));
		cell_share(cell, change_of(&q->test));
	}
	report_drop_empty(r);
}

/* ---- work that differs ------------------------------------------------------------------------- */

static void count_range(const struct compare *c, unsigned side, uint32_t item, uint64_t *least,
			uint64_t *most)
{
	unsigned from = side ? c->count[0] : 0;

	*least = UINT64_MAX;
	*most = 0;
	for (unsigned i = from; i < from + c->count[side]; i++) {
		uint64_t n = item < c->runs[i].item_count ? c->runs[i].items[item].count : 0;

		*least = n < *least ? n : *least;
		*most = n > *most ? n : *most;
	}
}

/* "only in B", "more" where each run of B has more than any of A; NULL: neither. */
static const char *work_of(const struct compare *c, uint32_t item)
{
	const struct compare_item *x = &c->items[item];
	uint64_t least_a, most_a, least_b, most_b;

	if (x->each.reason && strcmp(x->each.reason, "not recorded in all runs") == 0)
		return NULL;
	if (x->missing[0] && x->missing[1])
		return NULL;
	if (x->missing[0] || x->missing[1])
		return x->missing[0] ? "only in B" : "only in A";
	count_range(c, 0, item, &least_a, &most_a);
	count_range(c, 1, item, &least_b, &most_b);
	return least_b > most_a ? "more" : least_a > most_b ? "fewer" : NULL;
}

static uint32_t collect_work(const struct compare *c, struct row *rows)
{
	static const struct compare_test none;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->item_count; i++) {
		const struct compare_item *x = &c->items[i];

		if (work_of(c, i))
			rows[n++] = (struct row){x, NULL, &none, i, fabs(x->all.b - x->all.a)};
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	return n;
}

static void work_row(struct table *t, const struct compare *c, const struct row *row)
{
	struct cell *cell = table_row(t);

	if (!cell)
		return;
	cell_label(t, cell++, c, row->item->label);
	cell_text(t, cell++, work_of(c, row->number));
	cell_number(cell++, (uint64_t)llround(mean_count(c, 0, row->number)));
	cell_number(cell++, (uint64_t)llround(mean_count(c, 1, row->number)));
	cell_number(cell++, (uint64_t)llround(row->item->all.a));
	cell_number(cell, (uint64_t)llround(row->item->all.b));
}

static void report_work(struct report *r, const struct compare *c)
{
	struct table *t = report_table(r, "work", "Work that differs: calls of a run");
	struct row *rows = calloc(c->item_count + 1, sizeof(*rows));
	uint32_t n;

	if (!t || !rows) {
		free(rows);
		r->failed = true;
		return;
	}
	t->ranked = true;
	table_column(t, "item", "what", CELL_TEXT);
	table_column(t, "work", "", CELL_TEXT);
	table_column(t, "calls_a", "A", CELL_COUNT);
	table_column(t, "calls_b", "B", CELL_COUNT);
	table_column(t, "a_ns", "time in A", CELL_TIME);
	table_column(t, "b_ns", "time in B", CELL_TIME);
	n = collect_work(c, rows);
	for (uint32_t i = 0; i < n; i++)
		work_row(t, c, &rows[i]);
	free(rows);
	report_drop_empty(r);
}

/* ---- in words ---------------------------------------------------------------------------------- */

struct tests { /* that were made */
	uint32_t slower, faster, more, less;
	double *detectable; /* of times of a call, and of runs */
	uint32_t count;
};

static void count_verdict(struct tests *k, const struct compare_test *t, bool call)
{
	if (!t->tested)
		return;
	*(call ? &k->slower : &k->more) += t->verdict == VERDICT_UP;
	*(call ? &k->faster : &k->less) += t->verdict == VERDICT_DOWN;
	k->detectable[k->count++] = t->detectable;
}

static bool count_tests(const struct compare *c, struct tests *k)
{
	*k = (struct tests){.detectable = calloc(c->tests + 1, sizeof(*k->detectable))};
	if (!k->detectable)
		return false;
	for (uint32_t i = 0; i < c->item_count; i++) {
		count_verdict(k, &c->items[i].each, true);
		count_verdict(k, &c->items[i].all, false);
	}
	for (uint32_t i = 0; i < c->quantity_count; i++)
		count_verdict(k, &c->quantities[i].test, false);
	return true;
}

static void add_part(struct text *out, uint32_t n, const char *what)
{
	if (n)
		text_addf(out, "%s%u %s", out->length ? ", " : "", n, what);
}

/* What would have been found in half of the tests: stats_median() sorts. */
static void head_power(struct report *r, struct tests *k, bool work_differs)
{
	const char *what = work_differs ? "change of time found in what both did" : "change found";
	double half = 100 * stats_median(k->detectable, k->count);
	struct text least = {0};

	if (half > PERCENT_MOST)
		text_add(&least, "much more than 100 %");
	else
		text_addf(&least, "%.*f %% or more", half < 10, half);
	if (k->count == 1)
		report_head(r, "No %s; %s would have been, 4 times of 5.", what,
			    least.s ? least.s : "");
	else
		report_head(r, "No %s; %s would have been, in half of the %u tests.", what,
			    least.s ? least.s : "", k->count);
	r->failed |= least.failed;
	text_release(&least);
}

static void head_result(struct report *r, const struct compare *c, struct tests *k,
			bool work_differs)
{
	struct text line = {0};

	add_part(&line, k->slower, "slower");
	add_part(&line, k->more, "with more time of a run");
	add_part(&line, k->faster, "faster");
	add_part(&line, k->less, "with less time of a run");
	if (line.length)
		report_head(r, "Beyond noise: %s, of %u tests.", line.s, c->tests);
	else if (k->count)
		head_power(r, k, work_differs);
	else
		report_head(r, "Nothing could be judged; see below why.");
	r->failed |= line.failed;
	text_release(&line);
}

static void report_result(struct report *r, const struct compare *c, const struct tests *k)
{
	static const char *const ways[] = {"one run a side", "one run against several", "means",
					   "ranks"};
	struct table *t = report_table(r, "result", "Result");
	const double numbers[] = {c->count[0], c->count[1], c->tests, k->slower,
				  k->more,     k->faster,   k->less,  100 * c->lost_share};
	static const char *const names[] = {"runs_a", "runs_b", "tests", "slower",
					    "more",   "faster", "less",  "lost_percent"};
	struct cell *cell;

	if (!t)
		return;
	t->hidden = true;
	table_column(t, "way", "way", CELL_TEXT);
	table_column(t, "verdict", "verdict", CELL_TEXT);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		table_column(t, names[i], names[i], CELL_NUMBER);
	cell = table_row(t);
	if (!cell)
		return;
	cell_text(t, cell++, ways[c->way]);
	cell_text(t, cell++,
		  k->slower || k->more   ? "worse"
		  : k->faster || k->less ? "better"
		  : k->count             ? "no change found"
					 : "nothing judged");
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		cell_real(cell++, numbers[i]);
}

static void foot_way(struct report *r, const struct compare *c)
{
	switch (c->way) {
	case COMPARE_RANKS:
		report_foot(r,
			    "Tested by ranks of runs (Mann-Whitney); %u tests together err in 5 %% "
			    "(Holm).",
			    c->tests);
		break;
	case COMPARE_MEANS:
		report_foot(r, "Tested by means of runs (t); %u tests together err in 5 %% (Holm).",
			    c->tests);
		break;
	case COMPARE_HISTORY:
		report_foot(r,
			    "One run is held against how those of the other side vary; %u tests "
			    "together",
			    c->tests);
		report_foot(r, "err in 5 %% (Holm).");
		break;
	default:
		report_foot(r,
			    "One run a side tells little: runs are taken to differ by %.3g %% "
			    "(--noise), and",
			    100 * c->options.noise);
		report_foot(r, "as parts of a run do. Several: kymo compare A1 A2 A3 A4 -- B1 B2 "
			       "B3 B4");
	}
	report_foot(r, "A change counts from %.3g %% on (--threshold).",
		    100 * c->options.threshold);
}

/* How many items were not judged, by why. Reasons are few and have one address each. */
static void foot_reasons(struct report *r, const struct compare *c)
{
	const char *reasons[REASONS];
	uint32_t counts[REASONS], n = 0;
	struct text line = {0};

	for (uint32_t i = 0; i < c->item_count; i++) {
		const char *why = c->items[i].each.reason;
		uint32_t k = 0;

		if (!why || c->items[i].all.tested)
			continue;
		while (k < n && strcmp(reasons[k], why) != 0)
			k++;
		if (k == REASONS)
			continue;
		counts[k] = k == n ? 1 : counts[k] + 1;
		reasons[k] = why;
		n += k == n;
	}
	for (uint32_t k = 0; k < n; k++) {
		text_addf(&line, "%s %s", line.length ? "," : ":", reasons[k]);
		if (strcmp(reasons[k], "little time") == 0)
			text_addf(&line, " (below --share %.3g)", 100 * c->options.share);
		text_addf(&line, " %u", counts[k]);
		if (k + 1 < n && line.length < LINE_FULL)
			continue;
		report_foot(r, "Not judged%s.", line.s ? line.s : "");
		line.length = 0;
	}
	r->failed |= line.failed;
	text_release(&line);
}

static void foot_counted(struct report *r, const struct compare *c)
{
	bool counted = false, uncompared = false;

	for (unsigned i = 0; i < c->count[0] + c->count[1]; i++) {
		counted |= c->runs[i].counted;
		uncompared |= c->runs[i].uncompared;
	}
	if (counted)
		report_foot(r, "Calls that were counted, not recorded, have no time of a call.");
	if (uncompared)
		report_foot(r, "What ranks have added up in their job is compared of calls alone.");
}

/* True: it differs. */
static bool count_work(const struct compare *c, uint32_t only[2], uint32_t *other)
{
	for (uint32_t i = 0; i < c->item_count; i++) {
		const struct compare_item *x = &c->items[i];

		if (!work_of(c, i))
			continue;
		if (x->missing[0] || x->missing[1])
			only[x->missing[0]]++;
		else
			++*other;
	}
	return only[0] || only[1] || *other;
}

kymo_status_t compare_report(struct report *r, struct compare *c)
{
	struct tests k;
	uint32_t only[2] = {0}, other = 0;
	bool ok = count_tests(c, &k), differs = count_work(c, only, &other);

	if (ok) {
		compare_same_head(r, c);
		head_result(r, c, &k, differs);
		if (differs)
			report_head(r,
				    "Work differs: %u only in A, %u only in B, %u with other "
				    "numbers of calls.",
				    only[0], only[1], other);
		report_result(r, c, &k);
		report_items(r, c);
		report_runs(r, c);
		report_work(r, c);
		report_amounts(r, c);
		foot_way(r, c);
		foot_reasons(r, c);
		foot_counted(r, c);
		compare_same_foot(r, c);
	}
	free(k.detectable);
	for (unsigned i = 0; i < r->table_count; i++)
		ok = ok && !r->tables[i]->failed;
	return ok && !r->failed ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}
