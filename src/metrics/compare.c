/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison with other traces: the same kernel there, and how much a metric has changed since. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/report.h"

/* "H200" of "H200 #1": devices of one model have numbers. */
static size_t model_length(const char *label)
{
	const char *at = strrchr(label, '#');

	return at && at > label && at[-1] == ' ' ? (size_t)(at - label - 1) : strlen(label);
}

static bool same_model(const char *a, const char *b)
{
	return model_length(a) == model_length(b) && strncmp(a, b, model_length(a)) == 0;
}

const struct kernel_group *kernel_match(const struct kernel_data *base,
					const struct kernel_group *g, const char **elsewhere)
{
	const struct kernel_group *found = NULL, *any = NULL;
	unsigned times = 0;

	*elsewhere = NULL;
	for (uint32_t i = 0; i < base->group_count; i++) {
		const struct kernel_group *b = &base->groups[i];

		if (strcmp(b->name, g->name) != 0)
			continue;
		if (strcmp(b->device->label, g->device->label) == 0)
			return b;
		any = b;
		times += b->device->class == g->device->class;
		found = b->device->class == g->device->class ? b : found;
	}
	found = times == 1 ? found : NULL;
	if (any && !(found && same_model(found->device->label, g->device->label)))
		*elsewhere = (found ? found : any)->device->label;
	return found;
}

bool kernel_change_of(const struct kernel_report *k, uint32_t base, const struct metric *m,
		      const struct kernel_group *g, const struct metric_value *v,
		      struct kernel_change *out)
{
	const char *elsewhere;
	const struct kernel_group *b = kernel_match(&k->bases[base].data, g, &elsewhere);
	struct metric_value was;
	bool good;

	*out = (struct kernel_change){
		.matched = b != NULL, .elsewhere = elsewhere, .value = NAN, .change = NAN};
	if (!b)
		return true;
	good = metric_evaluate(k->set, k->specs, m, b, &was);
	/* Of two formulas, as one of times with and without counters, nothing follows. */
	if (isnan(v->value) || was.formula == v->formula) {
		out->value = was.value;
		/* 0 and 0 are the same. */
		if (was.value != 0)
			out->change = 100 * (v->value - was.value) / fabs(was.value);
		else if (v->value == 0)
			out->change = 0;
	}
	metric_value_release(&was);
	return good;
}

/* ---- --fail-on -------------------------------------------------------------------------------------------- */

struct limit {
	const struct metric *metric;
	const struct metric_panel *panel;
	const struct metric_table *table;
	const char *word; /* as it was said */
	int length;
	bool above;
	double percent;
};

/* One word of the list. False: `error` says what is wrong with it. */
static bool limit_of(const struct metric_set *set, const char *word, size_t n, struct limit *out,
		     char *error, size_t size)
{
	size_t name = strcspn(word, "<>,");
	char number[40], *end;

	*out = (struct limit){.word = word, .length = (int)n};
	name = name < n ? name : n;
	while (name && word[name - 1] == ' ')
		name--;
	out->metric = metric_find(set, word, name, &out->panel, &out->table);
	if (!out->metric) {
		snprintf(error, size,
			 "there is no metric \"%.*s\", or several are called so; `kymo list "
			 "metrics` "
			 "has their ids",
			 (int)name, word);
		return false;
	}
	name = strcspn(word, "<>,");
	snprintf(number, sizeof(number), "%.*s", name < n ? (int)(n - name - 1) : 0,
		 name < n ? word + name + 1 : "");
	out->above = name < n && word[name] == '>';
	out->percent = strtod(number, &end);
	end += strspn(end, " %");
	if (end != number && !*end && isfinite(out->percent))
		return true;
	snprintf(error, size, "\"%.*s\": after > or < there is a change in per cent", (int)n, word);
	return false;
}

bool kernel_fail_on_check(const struct metric_set *set, const char *list, char *error, size_t size)
{
	if (!list[strspn(list, " ,")]) {
		snprintf(error, size, "it is empty: METRIC>PERCENT is wanted, as 7.3.1>5");
		return false;
	}
	for (const char *w = list; *w;) {
		size_t n = strcspn(w, ",");
		struct limit l;

		if (!limit_of(set, w, n, &l, error, size))
			return false;
		w += n + (w[n] == ',');
	}
	return true;
}

static bool judge(const struct kernel_report *k, const struct limit *l,
		  const struct kernel_group *g, struct text *out, bool *judged)
{
	struct metric_value v;
	bool good = metric_evaluate(k->set, k->specs, l->metric, g, &v);
	char id[METRIC_ID_TEXT];

	metric_id(l->panel, l->table, l->metric, id);
	for (uint32_t b = 0; good && b < k->base_count; b++) {
		struct kernel_change c;

		good = kernel_change_of(k, b, l->metric, g, &v, &c);
		if (!good || isnan(c.change) || c.elsewhere)
			continue; /* a device tells nothing of another */
		*judged = true;
		if (l->above ? c.change > l->percent : c.change < l->percent)
			text_addf(out,
				  "%s %s of %s (%s): %+.1f %% against %s, which %.*s forbids\n", id,
				  l->metric->name, g->name, g->device->label, c.change,
				  k->bases[b].name, l->length, l->word);
	}
	metric_value_release(&v);
	return good;
}

/* Of a kernel that is gone nothing has grown; who waits for a limit would think that all is well. */
static void judge_missing(const struct kernel_report *k, struct text *out, struct text *unjudged)
{
	const char *elsewhere;

	for (uint32_t b = 0; b < k->base_count; b++) {
		const struct kernel_data *was = &k->bases[b].data;

		for (uint32_t i = 0; i < was->group_count; i++)
			if (!kernel_match(k->data, &was->groups[i], &elsewhere) && !elsewhere)
				text_addf(out, "%s (%s) is in %s and not here\n",
					  was->groups[i].name, was->groups[i].device->label,
					  k->bases[b].name);
		for (uint32_t i = 0; i < k->data->group_count; i++) {
			kernel_match(was, &k->data->groups[i], &elsewhere);
			if (elsewhere)
				text_addf(unjudged, "%s%s, which was on %s in %s",
					  unjudged->length ? "; " : "", k->data->groups[i].name,
					  elsewhere, k->bases[b].name);
		}
	}
}

/* ---- kernels of one trace ------------------------------------------------------------------------------ */

static void only_rows(struct table *t, const struct kernel_data *of, const struct kernel_data *in,
		      const char *is_in)
{
	const char *elsewhere;

	for (uint32_t i = 0; i < of->group_count; i++) {
		const struct kernel_group *g = &of->groups[i];
		struct cell *c;

		if (kernel_match(in, g, &elsewhere) || !(c = table_row(t)))
			continue;
		cell_text(t, c++, g->name);
		cell_text(t, c++, g->device->label);
		cell_text(t, c++, is_in);
		cell_number(c++, g->count);
		if (g->total > 0)
			cell_number(c, (uint64_t)g->total);
		c++;
		if (elsewhere)
			cell_text(t, c, elsewhere);
	}
}

void kernel_only_table(struct report *r, const struct kernel_report *k)
{
	struct table *t =
		k->base_count ? report_table(r, "only_in_one", "Kernels that only one trace has")
			      : NULL;

	if (!t)
		return;
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column(t, "device", "device", CELL_TEXT);
	table_column(t, "trace", "only in", CELL_TEXT);
	table_column(t, "dispatches", "dispatches", CELL_COUNT);
	table_column(t, "sum_ns", "sum", CELL_TIME);
	table_column(t, "elsewhere", "in the other on", CELL_TEXT);
	for (uint32_t b = 0; b < k->base_count; b++) {
		only_rows(t, &k->bases[b].data, k->data, k->bases[b].name);
		only_rows(t, k->data, &k->bases[b].data, "this trace");
	}
	report_drop_empty(r);
}

/* --------------------------------------------------------------------------------------------------------- */

bool kernel_fails(const struct kernel_report *k, const char *list, struct text *out,
		  struct text *unjudged)
{
	char error[200];

	if (list)
		judge_missing(k, out, unjudged);
	for (const char *w = list; w && *w;) {
		size_t n = strcspn(w, ",");
		bool judged = false;
		struct limit l;

		for (uint32_t i = 0; i < k->data->group_count; i++)
			if (limit_of(k->set, w, n, &l, error, sizeof(error)) &&
			    !judge(k, &l, &k->data->groups[i], out, &judged))
				return false;
		if (!judged)
			text_addf(unjudged,
				  "%s%.*s, of which no kernel has a value in both traces (0 in the "
				  "baseline is none; --panel shows why)",
				  unjudged->length ? "; " : "", (int)n, w);
		w += n + (w[n] == ',');
	}
	return !out->failed && !unjudged->failed;
}
