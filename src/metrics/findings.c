/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the rules of kernels; see findings.h. */
#include "metrics/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "base/vec.h"

#define RULE(name) extern const struct kernel_rule kernel_rule_##name;
#include "metrics/rules/rules.list"
#undef RULE

const struct kernel_rule *const kernel_rules[] = {
#define RULE(name) &kernel_rule_##name,
#include "metrics/rules/rules.list"
#undef RULE
};
const uint32_t kernel_rules_count = sizeof(kernel_rules) / sizeof(*kernel_rules);

static double metric_of(struct kernel_findings *f, const struct kernel_group *g, const char *id,
			bool least)
{
	const struct metric_panel *panel;
	const struct metric_table *table;
	const struct metric *m = metric_find(f->set, id, strlen(id), &panel, &table);
	struct metric_value v;
	double value;

	if (!m)
		return NAN;
	f->failed |= !metric_evaluate(f->set, f->specs, m, g, &v);
	value = least ? v.least : v.value;
	metric_value_release(&v);
	return value;
}

double kernel_metric(struct kernel_findings *f, const struct kernel_group *g, const char *id)
{
	return metric_of(f, g, id, false);
}

double kernel_metric_least(struct kernel_findings *f, const struct kernel_group *g, const char *id)
{
	return metric_of(f, g, id, true);
}

void kernel_finding_add(struct kernel_findings *f, const struct kernel_group *g, const char *title,
			...)
{
	struct kernel_finding *x;
	char words[240];
	va_list list;

	if (!vec_reserve(&f->at, &f->room, f->count, 1)) {
		f->failed = true;
		return;
	}
	x = &f->at[f->count++];
	*x = (struct kernel_finding){.rule = f->rule, .group = g, .gain = NAN};
	va_start(list, title);
	vsnprintf(words, sizeof(words), title, list);
	va_end(list);
	text_add(&x->title, words);
}

void kernel_finding_bound(struct kernel_findings *f, double per_cent, const char *when)
{
	struct kernel_finding *x = f->failed ? NULL : &f->at[f->count - 1];

	if (!x || !(per_cent > 0 && per_cent <= 100))
		return;
	x->gain = 100 / per_cent;
	text_addf(&x->title, "; at most %.2f times as fast %s", x->gain, when);
}

bool kernel_findings_find(struct kernel_findings *f, const struct kernel_data *d, uint32_t most)
{
	for (uint32_t i = 0; i < d->group_count && (!most || i < most); i++)
		for (uint32_t r = 0; r < kernel_rules_count; r++) {
			f->rule = kernel_rules[r];
			if (f->rule->find)
				f->rule->find(f, &d->groups[i]);
		}
	if (f->store)
		f->failed |= !kernel_findings_lines(f, d, most);
	return !f->failed;
}

void kernel_findings_release(struct kernel_findings *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		text_release(&f->at[i].title);
	free(f->at);
	f->at = NULL;
	f->count = f->room = 0;
}

void kernel_findings_report(struct report *r, const struct kernel_findings *f)
{
	struct table *t = report_table(r, "findings", "Findings");

	if (!t)
		return;
	table_column(t, "kernel", "kernel", CELL_TEXT);
	table_column_optional(t, 1, "device", "device", CELL_TEXT);
	table_column(t, "rule", "rule", CELL_TEXT);
	table_column(t, "finding", "finding", CELL_TEXT);
	table_column(t, "panel", "see panel", CELL_TEXT);
	table_column_if(t, false, "at_most", "times as fast at most", CELL_NUMBER);
	table_column_if(t, false, "advice", "advice", CELL_TEXT);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct kernel_finding *x = &f->at[i];
		struct cell *c = table_row(t);

		if (!c)
			return;
		cell_text(t, c++, x->group->name);
		cell_text(t, c++, x->group->device->label);
		cell_text(t, c++, x->rule->rule.id);
		cell_text(t, c++, x->title.s ? x->title.s : "");
		cell_text(t, c++, x->rule->panel);
		cell_real(c++, x->gain);
		cell_text(t, c, x->rule->advice);
	}
	report_drop_empty(r);
}

bool kernel_findings_tell(const struct kernel_findings *f, struct diagnosis *d)
{
	uint32_t before = d->count;

	for (uint32_t i = 0; i < f->count; i++) {
		const struct kernel_finding *x = &f->at[i];
		struct finding *out;

		d->rule = &x->rule->rule;
		out = finding_add_fact(d, "%s", x->title.s ? x->title.s : "");
		if (!out)
			break;
		out->count = x->group->count;
		plain_addf(&out->where, "kernel %s on %s", x->group->name, x->group->device->label);
		text_add(&out->advice, x->rule->advice);
		text_add(&out->show, "kymo kernels --panel ");
		text_addf(&out->show, "%s ", x->rule->panel);
		text_add_shell(&out->show, d->path);
	}
	diagnosis_settle(d, before);
	return !d->failed;
}
