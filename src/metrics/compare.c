/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison with other traces: the same kernel there, and how much a metric has changed since. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/report.h"

const struct kernel_group *kernel_match(const struct kernel_data *base,
					const struct kernel_group *g)
{
	const struct kernel_group *found = NULL;
	unsigned times = 0;

	for (uint32_t i = 0; i < base->group_count; i++) {
		const struct kernel_group *b = &base->groups[i];

		if (strcmp(b->name, g->name) != 0 || b->device->class != g->device->class)
			continue;
		if (strcmp(b->device->label, g->device->label) == 0)
			return b;
		found = b;
		times++;
	}
	return times == 1 ? found : NULL;
}

bool kernel_change_of(const struct kernel_report *k, uint32_t base, const struct metric *m,
		      const struct kernel_group *g, const struct metric_value *v,
		      struct kernel_change *out)
{
	const struct kernel_group *b = kernel_match(&k->bases[base].data, g);
	struct metric_value was;
	bool good;

	*out = (struct kernel_change){.matched = b != NULL, .value = NAN, .change = NAN};
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
	bool above;
	double percent;
};

/* One word of the list. False: `error` says what is wrong with it. */
static bool limit_of(const struct metric_set *set, const char *word, size_t n, struct limit *out,
		     char *error, size_t size)
{
	size_t name = strcspn(word, "<>,");
	char number[40], *end;

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
		if (!good || isnan(c.change))
			continue;
		*judged = true;
		if (l->above ? c.change > l->percent : c.change < l->percent)
			text_addf(out, "%s %s of %s (%s): %+.1f %% against %s\n", id,
				  l->metric->name, g->name, g->device->label, c.change,
				  k->bases[b].name);
	}
	metric_value_release(&v);
	return good;
}

bool kernel_fails(const struct kernel_report *k, const char *list, struct text *out,
		  struct text *unjudged)
{
	char error[200];

	for (const char *w = list; w && *w;) {
		size_t n = strcspn(w, ",");
		bool judged = false;
		struct limit l;

		for (uint32_t i = 0; i < k->data->group_count; i++)
			if (limit_of(k->set, w, n, &l, error, sizeof(error)) &&
			    !judge(k, &l, &k->data->groups[i], out, &judged))
				return false;
		if (!judged)
			text_addf(unjudged, "%s%.*s", unjudged->length ? ", " : "", (int)n, w);
		w += n + (w[n] == ',');
	}
	return !out->failed && !unjudged->failed;
}
