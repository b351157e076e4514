/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the summary that say what was measured: functions that samples met, and counters. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/formula.h"
#include "analysis/summary_parts.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "stream/symbol.h"

#define FUNCTIONS_SHOWN 25u

/* ---- functions ------------------------------------------------------------------------------- */

struct function {
	char *name, *module;
	uint64_t samples, self, total; /* the latter two: time */
	uint64_t in;                   /* samples that it is in the stack of */
	uint64_t seen;                 /* the stack that counted it last, plus 1 */
	bool inlined;                  /* wherever it was met */
};

struct functions {
	struct function *list;
	uint32_t count, room;
	uint64_t total, samples, lost, stacks;
	bool failed;
};

static void functions_release(struct functions *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		free(f->list[i].name);
		free(f->list[i].module);
	}
	free(f->list);
}

/* Position plus 1; 0: no memory. Asked once for each site, so that looking through is good enough. */
static uint32_t function_at(struct functions *f, const struct symbol *y)
{
	const char *name = y->function ? y->function : "(no name)";

	for (uint32_t i = 0; i < f->count; i++)
		if (strcmp(f->list[i].name, name) == 0 && strcmp(f->list[i].module, y->module) == 0)
			return i + 1;
	if (!vec_reserve(&f->list, &f->room, f->count, 1))
		return 0;
	f->list[f->count] = (struct function){
		.name = strdup(name), .module = strdup(y->module), .inlined = true};
	return ++f->count;
}

/* NULL: no memory. */
static struct function *function_of(struct functions *f, struct map *known, const struct symbol *y)
{
	uint64_t at = map_get(known, y->number + 1u);

	if (!at) {
		at = function_at(f, y);
		f->failed |= !at || !map_set(known, y->number + 1u, at);
	}
	return at ? &f->list[at - 1] : NULL;
}

/* A function counts once in the total of a stack, however often it is in it. */
static void add_frame(struct functions *f, struct function *x, const struct tally *row,
		      bool is_self)
{
	if (is_self) {
		x->self += row->total;
		x->samples += row->count;
	}
	if (x->seen != f->stacks) {
		x->total += row->total;
		x->in += row->count;
	}
	x->seen = f->stacks;
}

static void add_stack(struct functions *f, struct symbols *symbols, struct map *known,
		      const struct tally *row)
{
	uint32_t count;
	const uint32_t *sites =
		symbols_stack(symbols, row->key[KEY_SAMPLE_STACK], SYMBOLS_TIME, &count);

	f->samples += row->count;
	f->total += row->total;
	f->lost += row->errors;
	f->stacks++;
	for (uint32_t i = 0; i < count; i++) {
		const struct symbol *first = symbols_site(symbols, sites[i]), *y;

		for (y = first; y; y = y->caller) {
			struct function *x = function_of(f, known, y);

			if (!x)
				return;
			x->inlined &= y->caller != NULL;
			add_frame(f, x, row, i == 0 && y == first);
		}
	}
}

static void add_trace(struct functions *f, const struct summary *s)
{
	const struct tally_set *set = &s->tallies->set[TALLY_SAMPLE];
	struct symbols *symbols = set->count ? symbols_new(s->trace, NULL) : NULL;
	struct map known = {0};

	for (uint32_t i = 0; symbols && i < set->count; i++)
		if (set->rows[i]->key[KEY_SAMPLE_STACK] < s->trace->stacks_count)
			add_stack(f, symbols, &known, set->rows[i]);
	f->failed |= set->count && !symbols;
	map_release(&known);
	symbols_free(symbols);
}

static int by_self(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->in != y->in)
		return x->in > y->in ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void function_row(struct table *t, const struct functions *f, const struct function *x)
{
	struct cell *c = table_row(t);
	const uint64_t all = f->total ? f->total : f->samples, total = f->total ? x->total : x->in,
		       self = f->total ? x->self : x->samples;
	char name[1024];

	if (!c)
		return;
	snprintf(name, sizeof(name), "%s%s", x->name, x->inlined ? " (inlined)" : "");
	cell_text(t, c++, name);
	cell_text(t, c++, x->module);
	cell_number(c++, x->samples);
	if (f->total)
		cell_number(c++, self);
	cell_real(c++, 100.0 * (double)self / (double)(all ? all : 1));
	cell_number(c++, total);
	cell_real(c, 100.0 * (double)total / (double)(all ? all : 1));
}

/* As core/sample/sample.c notes it. */
bool summary_is_short_threads(const struct t_note *n)
{
	return strcmp(n->part, "short-lived threads") == 0;
}

static void note_short_threads(struct table *t, const struct summary *s)
{
	const struct trace *trace = s->trace;
	const struct t_note *first = NULL;
	uint64_t n = 0;

	for (uint32_t i = 1; i < trace->notes_count; i++) {
		const struct t_note *note = &trace->notes[i];

		if (!summary_is_short_threads(note))
			continue;
		first = first ? first : note;
		n += note->count;
	}
	if (first)
		table_note(t, "%s %s %s", UNITS_COUNT(n), n == 1 ? "thread" : "threads",
			   first->text);
}

bool summary_functions(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct functions f = {0};
	struct table *t;
	uint32_t shown;

	for (unsigned i = 0; i < count; i++)
		add_trace(&f, &s[i]);
	t = f.samples || f.lost ? report_table(r, "functions", "Functions (samples of threads)")
				: NULL;
	if (t) {
		table_column(t, "function", "function", CELL_TEXT);
		table_column(t, "module", "module", CELL_TEXT);
		table_column(t, "samples", "samples", CELL_COUNT);
		if (f.total)
			table_column(t, "self_ns", "self", CELL_TIME);
		table_column(t, "self_percent", "%", CELL_PERCENT);
		if (f.total)
			table_column(t, "total_ns", "total", CELL_TIME);
		else /* by events: they stand for no time */
			table_column(t, "total_samples", "total", CELL_COUNT);
		table_column(t, "total_percent", "%", CELL_PERCENT);
		if (f.count)
			qsort(f.list, f.count, sizeof(*f.list), by_self);
		shown = f.count < FUNCTIONS_SHOWN ? f.count : FUNCTIONS_SHOWN;
		for (uint32_t i = 0; i < shown; i++)
			function_row(t, &f, &f.list[i]);
		if (shown < f.count)
			table_note(t, "%s more functions; kymo query, view sample_functions",
				   UNITS_COUNT(f.count - shown));
		if (f.lost)
			table_note(t, "%s samples were lost", UNITS_COUNT(f.lost));
		for (unsigned i = 0; i < count; i++)
			note_short_threads(t, &s[i]);
	}
	functions_release(&f);
	return !f.failed;
}

/* ---- counters -------------------------------------------------------------------------------- */

struct counted {
	const char *kind, *what; /* borrowed from the traces */
	const struct t_counter *counter;
	uint32_t instance;
	uint64_t records;
	double sum, low, high;
	/* Made of others, if not NULL; of their sums and averages: */
	const struct formula *formula;
	double average;
	bool has_sum, has_average;
};

struct counts {
	struct counted *list;
	uint32_t count, room;
	bool failed;
};

static bool same_counter(const struct counted *c, const struct t_counter *k, const char *kind,
			 const char *what, uint32_t instance)
{
	return c->instance == instance && strcmp(c->counter->name, k->name) == 0 &&
	       strcmp(c->counter->provider, k->provider) == 0 && strcmp(c->kind, kind) == 0 &&
	       strcmp(c->what, what) == 0;
}

static struct counted *count_at(struct counts *all, const struct t_counter *k, const char *kind,
				const char *what, uint32_t instance)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (same_counter(&all->list[i], k, kind, what, instance))
			return &all->list[i];
	if (!vec_reserve(&all->list, &all->room, all->count, 1)) {
		all->failed = true;
		return NULL;
	}
	all->list[all->count] =
		(struct counted){.kind = kind, .what = what, .counter = k, .instance = instance};
	return &all->list[all->count++];
}

/* The call or kernel of which it was counted. */
static const char *counted_of(const struct trace *t, const struct tally *row)
{
	uint32_t what = row->key[KEY_COUNTER_CALL_OP];

	if (strcmp(t->ops[row->key[KEY_OP]].name, "dispatch") == 0)
		return what < t->kernels_count ? t->kernels[what].name : "";
	return what && what < t->ops_count ? t->ops[what].name : "";
}

static void add_count(struct counts *all, const struct trace *t, const struct tally *row)
{
	const struct t_counter *k = &t->counters[row->key[KEY_COUNTER_COUNTER]];
	const char *kind = t->ops[row->key[KEY_OP]].name;
	struct counted *c =
		count_at(all, k, kind, counted_of(t, row), row->key[KEY_COUNTER_INSTANCE]);

	if (!c)
		return;
	c->low = !c->records || row->low < c->low ? row->low : c->low;
	c->high = !c->records || row->high > c->high ? row->high : c->high;
	c->sum += row->sum;
	c->records += row->count;
}

/* ---- formulas -------------------------------------------------------------------------------- */

static double average_of(const struct counted *c)
{
	return c->sum / (double)c->records;
}

/* Of levels there is no sum. */
static double whole_of(const struct counted *c)
{
	return c->counter->flags & 1 ? average_of(c) : c->sum;
}

static bool of_one(const struct counted *a, const struct counted *b)
{
	return a->instance == b->instance && strcmp(a->kind, b->kind) == 0 &&
	       strcmp(a->what, b->what) == 0;
}

/* What `first` is counted of: a row, if all counters of the formula are there. */
static bool add_derived(struct counts *all, uint32_t first, uint32_t count, const struct formula *f)
{
	struct counted made = all->list[first];
	double values[FORMULA_NAMES], averages[FORMULA_NAMES];
	bool found[FORMULA_NAMES] = {false};

	for (uint32_t i = 0; i < count; i++) {
		const struct counted *c = &all->list[i];
		int n = of_one(c, &all->list[first])
				? formula_counter(f, c->counter->provider, c->counter->name)
				: -1;

		if (n >= 0 && !found[n]) {
			values[n] = whole_of(c);
			averages[n] = average_of(c);
			found[n] = true;
		}
	}
	for (unsigned i = 0; i < f->name_count; i++)
		if (!found[i])
			return false;
	made.formula = f;
	made.sum = 0;
	made.has_sum = formula_value(f, values, &made.sum) && !formula_is_ratio(f, values);
	made.has_average = formula_value(f, averages, &made.average);
	if (vec_reserve(&all->list, &all->room, all->count, 1))
		all->list[all->count++] = made;
	else
		all->failed = true;
	return true;
}

/* `left`: of those that have no row although some of their counters are there. */
static void add_formulas(struct counts *all, const struct formula *list, unsigned formulas,
			 struct text *left)
{
	uint32_t count = all->count;

	for (unsigned k = 0; k < formulas; k++) {
		bool some = false, row = false;

		for (uint32_t i = 0; i < count; i++) {
			const struct t_counter *c = all->list[i].counter;
			int at = formula_counter(&list[k], c->provider, c->name);

			some |= at >= 0;
			row |= at == 0 && add_derived(all, i, count, &list[k]);
		}
		if (some && !row)
			text_addf(left, "%s%s", left->length ? ", " : "", list[k].name);
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *name_of(const struct counted *x)
{
	return x->formula ? x->formula->name : x->counter->name;
}

/* By kind and counter, the greatest first. */
static int by_counter(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;
	int order = strcmp(x->kind, y->kind);

	order = order ? order : strcmp(name_of(x), name_of(y));
	if (order)
		return order;
	return x->sum > y->sum ? -1 : x->sum < y->sum;
}

static void count_row(struct table *t, const struct counted *x)
{
	bool level =
		(x->counter->flags & 1) != 0; /* KYMO_COUNTER_GAUGE: a sum of levels says nothing */
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, x->kind);
	cell_text(t, c++, x->what);
	cell_text(t, c++, name_of(x));
	cell_text(t, c++, x->formula ? x->formula->unit : x->counter->unit);
	if (*x->counter->dimensions)
		cell_number(c, x->instance);
	c++;
	cell_number(c++, x->records);
	if (x->formula) {
		if (x->has_sum)
			cell_real(c, x->sum);
		if (x->has_average)
			cell_real(c + 1, x->average);
		return;
	}
	if (!level)
		cell_real(c, x->sum);
	c++;
	cell_real(c++, x->sum / (double)x->records);
	cell_real(c++, x->low);
	cell_real(c, x->high);
}

bool summary_counters(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct counts all = {0};
	struct formula *formulas;
	unsigned formula_count;
	struct text left = {0};
	struct table *t;
	uint32_t zero = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[TALLY_COUNTER];

		for (uint32_t k = 0; k < set->count; k++)
			if (set->rows[k]->key[KEY_COUNTER_COUNTER] < s[i].trace->counters_count &&
			    !s[i].trace->processes[set->rows[k]->key[KEY_PROCESS]].telemetry)
				add_count(&all, s[i].trace, set->rows[k]);
	}
	formulas = formulas_of(count ? s[0].trace->formulas : "", &formula_count);
	add_formulas(&all, formulas, formula_count, &left);
	t = all.count ? report_table(r, "counters", "Counters") : NULL;
	if (t) {
		table_column(t, "kind", "of each", CELL_TEXT);
		table_column(t, "name", "operation", CELL_TEXT);
		table_column(t, "counter", "counter", CELL_TEXT);
		table_column(t, "unit", "unit", CELL_TEXT);
		table_column(t, "instance", "instance", CELL_COUNT);
		table_column(t, "records", "records", CELL_COUNT);
		table_column(t, "sum", "sum", CELL_NUMBER);
		table_column(t, "average", "average", CELL_NUMBER);
		table_column(t, "min", "min", CELL_NUMBER);
		table_column(t, "max", "max", CELL_NUMBER);
		qsort(all.list, all.count, sizeof(*all.list), by_counter);
		for (uint32_t i = 0; i < all.count; i++) {
			if (all.list[i].formula || all.list[i].low != 0 || all.list[i].high != 0)
				count_row(t, &all.list[i]);
			else
				zero++;
		}
		if (left.length)
			table_note(
				t,
				"formulas without a row, as not all of their counters are of one "
				"operation: %s",
				left.s);
		if (zero)
			table_note(t,
				   "%s operations and counters at which nothing was counted are "
				   "left out",
				   UNITS_COUNT(zero));
	}
	for (unsigned i = 0; i < formula_count; i++)
		formula_release(&formulas[i]);
	free(formulas);
	text_release(&left);
	free(all.list);
	return !all.failed;
}
