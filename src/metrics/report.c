/* SPDX-License-Identifier: Apache-2.0 */
/* Panels as tables of a report. People get tables that have values; programs, and who asks for a panel, all rows. */
#include "metrics/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 20, KERNELS_SHOWN = 10 };

/* A table of metrics of one kernel, evaluated. */
struct made {
	const struct metric_panel *panel;
	const struct metric_table *table;
	const struct kernel_group *group;
	struct metric_value *values;
	struct kernel_change *changes; /* base_count for each metric */
	uint32_t with_value;
	bool least, peaks, notes, parts, units; /* some row has that */
	bool elsewhere;                         /* some base is of another device */
};

static void release(struct made *m)
{
	for (uint32_t i = 0; m->values && i < m->table->metrics.count; i++)
		metric_value_release(&m->values[i]);
	free(m->values);
	free(m->changes);
}

static void look_at(const struct kernel_report *k, struct made *m, const struct metric *x,
		    const struct metric_value *v)
{
	m->with_value += !isnan(v->value);
	m->least |= !isnan(v->least);
	m->peaks |= !isnan(metric_share(v));
	m->notes |= v->why.length && (!isnan(v->value) || k->panels);
	m->notes |= v->no_peak.length && k->panels;
	m->parts |= !isnan(v->value) && v->rows < v->of;
	m->units |= x->unit != NULL;
}

static bool evaluate(const struct kernel_report *k, struct made *m)
{
	const struct metric_list *l = &m->table->metrics;
	bool good = true;

	m->values = calloc(l->count + 1u, sizeof(*m->values));
	m->changes = calloc((size_t)l->count * k->base_count + 1u, sizeof(*m->changes));
	for (uint32_t i = 0; good && m->values && m->changes && i < l->count; i++) {
		good = metric_evaluate(k->set, k->specs, &l->at[i], m->group, &m->values[i]);
		for (uint32_t b = 0; good && b < k->base_count; b++)
			good = kernel_change_of(k, b, &l->at[i], m->group, &m->values[i],
						&m->changes[(size_t)i * k->base_count + b]);
		for (uint32_t b = 0; good && b < k->base_count; b++)
			m->elsewhere |= m->changes[(size_t)i * k->base_count + b].elsewhere != NULL;
		look_at(k, m, &l->at[i], &m->values[i]);
	}
	return good && m->values && m->changes;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

void kernel_unit(const struct metric_set *set, const struct metric *m, struct text *out)
{
	static const char *const words[][2] = {{"per_kernel", "kernel"},
					       {"per_group", "group"},
					       {"per_wave", "wave"},
					       {"per_cycle", "cycle"},
					       {"per_second", "s"}};
	const char *unit = m->unit ? m->unit : "", *at = strstr(unit, "$per"),
		   *denom = set->denom ? set->denom : "per_kernel";

	if (!at) {
		text_add(out, unit);
		return;
	}
	text_add_bytes(out, unit, (size_t)(at - unit));
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i][0], denom) == 0)
			text_add(out, words[i][1]);
	text_add(out, at + strlen("$per"));
}

static void bar_text(double share, char out[BAR + 1])
{
	double filled = share < 0 ? 0 : share > 100 ? BAR : share * BAR / 100;

	memset(out, '.', BAR);
	memset(out, '#', (size_t)(filled + 0.5));
	out[BAR] = '\0';
}

static void real(struct cell *c, double v)
{
	if (!isnan(v))
		cell_real(c, v);
}

/* With its sign, or why there is none. */
static void change_text(struct table *t, struct cell *c, const struct kernel_change *x,
			double value)
{
	char buffer[40];

	if (!x->matched)
		cell_text(t, c, x->elsewhere ? "on another device" : "no such kernel");
	else if (isnan(x->value) || isnan(value))
		cell_text(t, c, "N/A");
	else if (isnan(x->change))
		cell_text(t, c, "was 0");
	else {
		snprintf(buffer, sizeof(buffer), "%+.1f %%", x->change);
		cell_text(t, c, buffer);
	}
}

static struct cell *put_changes(const struct kernel_report *k, struct table *t, struct cell *c,
				const struct kernel_change *x, double value, double by)
{
	for (uint32_t b = 0; b < k->base_count; b++, x++) {
		real(c++, x->value / by);
		real(c++, x->change);
		change_text(t, c++, x, value);
		if (x->elsewhere)
			cell_text(t, c, x->elsewhere);
		c++;
	}
	return c;
}

static void put_note(const struct kernel_report *k, const struct report *r, struct table *t,
		     struct cell *c, const struct metric_value *v)
{
	struct text note = {0};

	if (isnan(v->value))
		text_add(&note, "N/A: ");
	if (v->why.length)
		text_add(&note, v->why.s);
	if (v->no_peak.length && (k->panels || !r->people))
		text_addf(&note, "%s%s", note.length ? "; " : "", v->no_peak.s);
	if (note.length)
		cell_text(t, c, note.s);
	text_release(&note);
}

/* People read times in the unit that fits the value: the row is divided by `by`. */
static const char *time_unit(double value, double *by)
{
	static const char *const names[] = {"ns", "us", "ms", "s"};
	unsigned at = 0;

	*by = 1;
	for (; at < 3 && fabs(value) >= 1000 * *by; at++)
		*by *= 1000;
	return names[at];
}

static void put_row(const struct kernel_report *k, const struct report *r, struct table *t,
		    const struct made *m, uint32_t i)
{
	const struct metric *x = &m->table->metrics.at[i];
	const struct metric_value *v = &m->values[i];
	struct cell *c = table_row(t);
	char id[METRIC_ID_TEXT], bar[BAR + 1];
	struct text unit = {0};
	double by = 1;

	if (!c)
		return;
	if (r->people && x->unit && strcmp(x->unit, "ns") == 0)
		text_add(&unit, time_unit(v->value, &by));
	else
		kernel_unit(k->set, x, &unit);
	metric_id(m->panel, m->table, x, id);
	if (m->table->style != METRIC_DEVICE)
		cell_text(t, c, m->group->name);
	c++;
	cell_text(t, c++, m->group->device->label);
	cell_text(t, c++, id);
	cell_text(t, c++, x->name);
	real(c++, v->value / by);
	c = put_changes(k, t, c, &m->changes[(size_t)i * k->base_count], v->value, by);
	real(c++, v->least / by);
	real(c++, v->most / by);
	cell_text(t, c++, unit.s ? unit.s : "");
	text_release(&unit);
	real(c++, v->peak / by);
	real(c++, metric_share(v));
	if (r->people) {
		if (!isnan(metric_share(v)) && !isnan(v->value)) {
			bar_text(metric_share(v), bar);
			cell_text(t, c, bar);
		}
		c++;
	}
	cell_number(c++, isnan(v->value) ? 0 : v->rows);
	cell_number(c++, v->of);
	put_note(k, r, t, c, v);
}

/* People who have asked for no panel are spared what has no value. */
static void put_rows(const struct kernel_report *k, const struct report *r, struct table *t,
		     const struct made *m)
{
	uint32_t spared = 0;

	for (uint32_t i = 0; i < m->table->metrics.count; i++) {
		if (r->people && !k->panels && isnan(m->values[i].value))
			spared++;
		else if (metric_list_has(k->panels, m->panel, m->table, &m->table->metrics.at[i]))
			put_row(k, r, t, m, i);
	}
	if (spared)
		table_note(t, "%" PRIu32 " more without a value: --panel %u.%u", spared,
			   m->panel->id, m->table->id);
}

static void put_columns(const struct kernel_report *k, const struct report *r, struct table *t,
			const struct made *m)
{
	char name[32];

	table_column_if(t, false, "kernel", "kernel", CELL_TEXT);
	table_column_if(t, false, "device", "device", CELL_TEXT);
	table_column(t, "id", "id", CELL_TEXT);
	table_column(t, "metric", "metric", CELL_TEXT);
	table_column(t, "value", "value", CELL_NUMBER);
	for (uint32_t b = 1; b <= k->base_count; b++) {
		snprintf(name, sizeof(name), "base_%" PRIu32, b);
		table_column(t, table_own(t, name), k->base_count > 1 ? table_own(t, name) : "base",
			     CELL_NUMBER);
		snprintf(name, sizeof(name), "change_%" PRIu32 "_percent", b);
		table_column_if(t, false, table_own(t, name), "change", CELL_PERCENT);
		snprintf(name, sizeof(name), "changed_%" PRIu32, b);
		table_column(t, table_own(t, name), "change", CELL_TEXT);
		snprintf(name, sizeof(name), "base_%" PRIu32 "_device", b);
		table_column_if(t, m->elsewhere, table_own(t, name), "base is of", CELL_TEXT);
	}
	table_column_if(t, m->least, "min", "min", CELL_NUMBER);
	table_column_if(t, m->least, "max", "max", CELL_NUMBER);
	table_column_if(t, m->units, "unit", "unit", CELL_TEXT);
	table_column_if(t, m->peaks, "peak", "peak", CELL_NUMBER);
	table_column_if(t, m->peaks, "share_percent", "share %", CELL_PERCENT);
	if (r->people)
		table_column_if(t, m->peaks, "bar", "", CELL_TEXT);
	table_column_if(t, m->parts, "dispatches", "dispatches", CELL_COUNT);
	table_column_if(t, m->parts, "of", "of", CELL_COUNT);
	table_column_if(t, m->notes, "note", "note", CELL_TEXT);
	table_last_whole(t);
}

/* False: there is nothing to draw. */
static bool put_picture(struct report *r, const struct made *m, const char *id, const char *title)
{
	struct text picture = {0};
	struct table *t = NULL;

	if (chart_draw(m->table, m->values, &picture) && (t = report_table(r, id, title))) {
		char *save = NULL;

		t->drawn = true;
		table_column(t, "picture", "", CELL_TEXT);
		for (char *l = strtok_r(picture.s, "\n", &save); l;
		     l = strtok_r(NULL, "\n", &save)) {
			struct cell *c = table_row(t);

			if (c)
				cell_text(t, c, l);
		}
	}
	text_release(&picture);
	return t != NULL;
}

static void put_table(struct report *r, const struct kernel_report *k, const struct made *m)
{
	char id[METRIC_ID_TEXT];
	struct text title = {0};
	bool drawn = false;
	struct table *t;

	metric_id(m->panel, m->table, NULL, id);
	text_addf(&title, "%s %s: %s%s%s%s", id, m->table->title,
		  m->table->style == METRIC_DEVICE ? "" : m->group->name,
		  m->table->style == METRIC_DEVICE ? "" : " (", m->group->device->label,
		  m->table->style == METRIC_DEVICE ? "" : ")");
	/* Who asks for the panel gets its numbers as well. */
	if (title.s && m->table->style == METRIC_CHART && r->people)
		drawn = put_picture(r, m, id, title.s);
	if (drawn && k->panels)
		text_add(&title, ", in numbers");
	t = title.s && (!drawn || k->panels) ? report_table(r, id, title.s) : NULL;
	if (t) {
		put_columns(k, r, t, m);
		put_rows(k, r, t, m);
	}
	text_release(&title);
}

/* ---- kernels and dispatches ---------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of those that have a time; 0: none has. */
static uint32_t times_of(const struct kernel_group *g, double *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->count; i++)
		if (!isnan(g->times[i]))
			out[n++] = g->times[i];
	qsort(out, n, sizeof(*out), compare_numbers);
	return n;
}

static double median(const double *sorted, uint32_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static void put_kernel(struct table *t, const struct kernel_group *g, double all)
{
	double *times = malloc((g->count + 1u) * sizeof(*times));
	struct cell *c = times ? table_row(t) : NULL;
	uint32_t n = c ? times_of(g, times) : 0;

	if (c) {
		cell_text(t, c++, g->name);
		cell_text(t, c++, g->device->label);
		cell_number(c++, g->count);
	}
	if (n) {
		cell_number(c++, (uint64_t)g->total);
		cell_number(c++, (uint64_t)(g->total / n + 0.5));
		cell_number(c++, (uint64_t)(median(times, n) + 0.5));
		cell_number(c++, (uint64_t)times[0]);
		cell_number(c++, (uint64_t)times[n - 1]);
		cell_real(c++, all > 0 ? 100 * g->total / all : 0);
		cell_number(c, n);
	}
	t->failed |= !times;
	free(times);
}

static void note_times(struct table *t, const struct kernel_data *d)
{
	const char *untimed = NULL;
	bool counted = false;

	for (uint32_t i = 0; i < d->group_count; i++)
		if (d->groups[i].programs)
			table_note(
				t,
				"%s: kernels of several programs have this name, and are one row; "
				"--panel 0.2 has the program of each dispatch",
				d->groups[i].name);
	for (uint32_t i = 0; i < d->group_count; i++) {
		counted |= d->groups[i].counted;
		untimed = untimed ? untimed : d->groups[i].untimed;
	}
	if (counted)
		table_note(t, "dispatches that were counted have the times that CUPTI counted");
	else if (untimed)
		table_note(t, "some dispatches have no times: %s", untimed);
}

static void put_kernels(struct report *r, const struct kernel_report *k, const char *id,
			const char *title)
{
	struct table *t = report_table(r, id, title);
	double all = 0;

	if (!t)
		return;
	t->ranked = true;
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "dispatches", "dispatches", CELL_COUNT);
	table_column(t, "sum_ns", "sum", CELL_TIME);
	table_column(t, "mean_ns", "mean", CELL_TIME);
	table_column(t, "median_ns", "median", CELL_TIME);
	table_column(t, "min_ns", "min", CELL_TIME);
	table_column(t, "max_ns", "max", CELL_TIME);
	table_column(t, "share_percent", "share %", CELL_PERCENT);
	table_column_if(t, false, "timed", "timed", CELL_COUNT);
	for (uint32_t i = 0; i < k->data->group_count; i++)
		all += k->data->groups[i].total;
	for (uint32_t i = 0; i < k->data->group_count; i++)
		put_kernel(t, &k->data->groups[i], all);
	note_times(t, k->data);
}

static void look_at_places(const struct kernel_data *d, bool *processes, bool *programs)
{
	for (uint32_t i = 0; i < d->group_count; i++) {
		*programs |= d->groups[i].programs;
		for (uint32_t n = 0; n < d->groups[i].count; n++)
			*processes |=
				d->groups[i].places[n].process != d->groups[0].places[0].process;
	}
}

static struct cell *put_place(struct cell *c, const struct kernel_place *p)
{
	const int64_t ids[] = {p->process, p->queue, p->program};

	for (unsigned i = 0; i < 3; i++, c++)
		if (ids[i] > 0)
			cell_number(c, (uint64_t)ids[i]);
	return c;
}

static void put_dispatches(struct report *r, const struct kernel_report *k, const char *id,
			   const char *title)
{
	static const uint8_t shown[] = {KERNEL_START,      KERNEL_DURATION,   KERNEL_ITEMS,
					KERNEL_GROUPS,     KERNEL_GROUP_SIZE, KERNEL_REGISTERS,
					KERNEL_LOCAL_BYTES};
	bool processes = false, programs = false;
	struct table *t = report_table(r, id, title);

	if (!t)
		return;
	t->ranked = true;
	look_at_places(k->data, &processes, &programs);
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "dispatch", "dispatch", CELL_COUNT);
	table_column_if(t, processes, "process", "process", CELL_ID);
	table_column(t, "queue", "queue", CELL_ID);
	table_column_if(t, programs, "program", "program", CELL_ID);
	table_column(t, "start_ns", "start", CELL_TIMESTAMP);
	table_column(t, "duration_ns", "duration", CELL_TIME);
	table_column(t, "items", "items", CELL_COUNT);
	table_column(t, "groups", "groups", CELL_COUNT);
	table_column(t, "group_size", "group size", CELL_COUNT);
	table_column(t, "registers", "registers", CELL_COUNT);
	table_column(t, "local_bytes", "local", CELL_BYTES);
	for (uint32_t i = 0; i < k->data->group_count; i++) {
		const struct kernel_group *g = &k->data->groups[i];

		for (uint32_t d = 0; d < g->count; d++) {
			struct cell *c = table_row(t);

			if (!c)
				return;
			cell_text(t, c++, g->name);
			cell_text(t, c++, g->device->label);
			cell_number(c++, d + 1u);
			c = put_place(c, &g->places[d]);
			for (unsigned n = 0; n < sizeof(shown); n++, c++)
				if (g->columns[shown[n]][d] >= 0 &&
				    g->columns[shown[n]][d] < 0x1p64)
					cell_number(c, (uint64_t)g->columns[shown[n]][d]);
		}
	}
}

/* ---- all -------------------------------------------------------------------------------------------------- */

/* What people are not shown, and are told below the tables. */
struct rest {
	struct text empty;        /* of the last kernel: panels and tables without a value */
	struct text panel;        /* of the panel at hand: those of its tables */
	unsigned tables, without; /* of that panel */
	struct text known;        /* reasons of tables without a value that are shown */
	struct text same; /* tables that stand once, as other kernels have the same reasons */
};

static void rest_release(struct rest *e)
{
	text_release(&e->empty);
	text_release(&e->panel);
	text_release(&e->known);
	text_release(&e->same);
}

static void add_word(struct text *list, const char *id, const char *title)
{
	text_addf(list, "%s%s%s%s", list->length ? ", " : "", id, *title ? " " : "", title);
}

/* A table that has no value, for the reasons that it had for an earlier kernel. */
static bool is_told(const struct made *m, const char *id, struct rest *e)
{
	struct text reasons = {0};
	bool told;

	text_addf(&reasons, "\n%s\n", id);
	for (uint32_t i = 0; i < m->table->metrics.count; i++)
		text_addf(&reasons, "%s\t", m->values[i].why.length ? m->values[i].why.s : "");
	told = !m->with_value && reasons.s && e->known.s && strstr(e->known.s, reasons.s);
	if (!told && !m->with_value)
		text_add(&e->known, reasons.s ? reasons.s : "");
	text_release(&reasons);
	return told;
}

static bool has_word(const struct text *list, const char *word)
{
	size_t n = 0;

	for (const char *w = list->length ? list->s : ""; *w; w += n) {
		w += strspn(w, ", ");
		n = strcspn(w, ",");
		if (n == strlen(word) && strncmp(w, word, n) == 0)
			return true;
	}
	return false;
}

static bool put_metrics(struct report *r, const struct kernel_report *k, struct made *m,
			struct rest *e)
{
	bool good = evaluate(k, m);
	char id[METRIC_ID_TEXT];

	metric_id(m->panel, m->table, NULL, id);
	e->tables++;
	e->without += good && !m->with_value;
	if (good && !m->with_value && r->people && !k->panels)
		add_word(&e->panel, id, m->table->title);
	else if (good && ((!r->people && k->panels) || !is_told(m, id, e)))
		put_table(r, k, m);
	else if (good && !has_word(&e->same, id))
		add_word(&e->same, id, "");
	release(m);
	return good;
}

/* Tables that are not of single kernels. */
static bool put_common(struct report *r, const struct kernel_report *k,
		       const struct metric_panel *p, const struct metric_table *table,
		       struct rest *e)
{
	struct text title = {0};
	char id[METRIC_ID_TEXT];
	bool good = true;

	metric_id(p, table, NULL, id);
	text_addf(&title, "%s %s", id, table->title);
	if (table->style == METRIC_KERNELS)
		put_kernels(r, k, id, title.s);
	else if (table->style == METRIC_DISPATCHES && (k->panels || !r->people))
		put_dispatches(r, k, id, title.s);
	else if (table->style == METRIC_SAMPLES)
		good = samples_table(r, k, id, title.s);
	else if (table->style == METRIC_INSTRUCTIONS && (k->panels || !r->people))
		good = instructions_table(r, k, id, title.s);
	else if (table->style == METRIC_LINES)
		good = lines_table(r, k, id, title.s);
	for (uint32_t d = 0; table->style == METRIC_DEVICE && good && d < k->data->device_count;
	     d++)
		for (uint32_t i = 0; i < k->data->group_count; i++) {
			struct made m = {.panel = p, .table = table, .group = &k->data->groups[i]};

			if (m.group->device != k->data->devices[d])
				continue;
			good = put_metrics(r, k, &m, e);
			break;
		}
	text_release(&title);
	return good;
}

static bool is_common(const struct metric_table *t)
{
	return t->style >= METRIC_DEVICE;
}

/* A panel without any value is named as a whole. */
static void end_panel(const struct metric_panel *p, struct rest *e)
{
	char id[METRIC_ID_TEXT];

	snprintf(id, sizeof(id), "%u", p->id);
	if (e->panel.length && e->without == e->tables)
		add_word(&e->empty, id, p->title);
	else if (e->panel.length)
		add_word(&e->empty, e->panel.s, "");
	text_release(&e->panel);
	e->tables = e->without = 0;
}

static bool put_tables(struct report *r, const struct kernel_report *k,
		       const struct kernel_group *g, struct rest *e)
{
	bool good = true;

	for (uint32_t i = 0; i < k->set->panels.count; i++) {
		const struct metric_panel *p = &k->set->panels.at[i];

		for (uint32_t n = 0; good && n < p->tables.count; n++) {
			struct made m = {.panel = p, .table = &p->tables.at[n], .group = g};

			if (is_common(m.table) != !g ||
			    !metric_list_has_table(k->panels, p, m.table))
				continue;
			good = g ? put_metrics(r, k, &m, e) : put_common(r, k, p, m.table, e);
		}
		end_panel(p, e);
	}
	return good;
}

static void tell_rest(struct report *r, const struct kernel_report *k, uint32_t shown,
		      const struct rest *e)
{
	if (e->empty.length)
		report_foot(r, "N/A here: %s. --panel ID says why, and what to record.",
			    e->empty.s);
	if (shown < k->data->group_count)
		report_foot(r,
			    "%" PRIu32 " of %" PRIu32 " kernels are shown: --top N, --kernel REGEX",
			    shown, k->data->group_count);
	if (k->data->ambiguous)
		report_foot(r,
			    "%" PRIu32 " values of counters are of calls that submitted several "
			    "kernels of one name, and belong to none of them",
			    k->data->ambiguous);
}

/* Into `t`, which gets its columns with the first of them. */
static bool put_flat(struct report *r, const struct kernel_report *k, struct table **t,
		     struct made *m)
{
	bool good = evaluate(k, m);

	if (good && !*t && (*t = report_table(r, "kernel_metrics", "Metrics of kernels")))
		put_columns(k, r, *t, m);
	if (good && *t)
		put_rows(k, r, *t, m);
	release(m);
	return good && *t;
}

bool kernel_report_flat(struct report *r, const struct kernel_report *k)
{
	struct table *t = NULL;
	bool good = true;

	for (uint32_t i = 0; i < k->data->group_count && (!k->top || i < k->top); i++)
		for (uint32_t p = 0; p < k->set->panels.count; p++) {
			const struct metric_panel *panel = &k->set->panels.at[p];

			for (uint32_t n = 0; good && n < panel->tables.count; n++) {
				struct made m = {.panel = panel,
						 .table = &panel->tables.at[n],
						 .group = &k->data->groups[i]};

				if (!is_common(m.table))
					good = put_flat(r, k, &t, &m);
			}
		}
	return good && !r->failed;
}

/* Whether any table that is asked for stands once for each kernel. */
static bool by_kernel(const struct kernel_report *k)
{
	for (uint32_t i = 0; i < k->set->panels.count; i++) {
		const struct metric_panel *p = &k->set->panels.at[i];

		for (uint32_t n = 0; n < p->tables.count; n++)
			if (!is_common(&p->tables.at[n]) &&
			    metric_list_has_table(k->panels, p, &p->tables.at[n]))
				return true;
	}
	return false;
}

bool kernel_report_make(struct report *r, const struct kernel_report *k)
{
	uint32_t shown = k->data->group_count;
	struct rest e = {.tables = 0};
	bool good = put_tables(r, k, NULL, &e);

	kernel_only_table(r, k);
	if (r->people && k->top && k->top < shown && by_kernel(k))
		shown = k->top;
	for (uint32_t i = 0; good && i < shown; i++) {
		text_release(&e.empty); /* the same of each kernel, nearly */
		good = put_tables(r, k, &k->data->groups[i], &e);
	}
	if (r->people)
		tell_rest(r, k, shown, &e);
	if (e.same.length)
		report_foot(r, "without a value for the same reasons, and so shown once: %s",
			    e.same.s);
	rest_release(&e);
	return good && !r->failed;
}
