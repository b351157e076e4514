/* SPDX-License-Identifier: Apache-2.0 */
/* Values of metrics; see evaluate.h. */
#include "metrics/evaluate.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "metrics/parts.h"

/* One metric of one kernel. */
struct evaluation {
	const struct metric_set *set;
	const struct metric_specs *specs;
	const struct kernel_group *group;
	struct metric_names_had had;
	uint8_t *chosen; /* dispatches of which all that is needed is known */
	uint32_t rows;   /* how many those are */
	uint32_t used;   /* the least that a function over them had */
	unsigned depth;
	struct text counters, columns, variables; /* that are missing */
	struct text numberless;                   /* counters that are there, as no number */
	const char *why;                          /* what could not be computed */
	struct text reason;                       /* why a variable is */
	bool failed;
};

/* ---- specs -------------------------------------------------------------------------------------------- */

static bool add_spec(struct metric_specs *s, const char *word, size_t n, char *error, size_t size)
{
	const char *is = memchr(word, '=', n);
	char number[64], *end;
	double v;

	snprintf(number, sizeof(number), "%.*s", is ? (int)(word + n - is - 1) : 0,
		 is ? is + 1 : "");
	v = strtod(number, &end);
	if (!is || is == word || end == number || *end || !isfinite(v)) {
		snprintf(error, size, "\"%.*s\" is not NAME=NUMBER", (int)n, word);
		return false;
	}
	word += *word == '$';
	if (!vec_reserve(&s->at, &s->room, s->count, 1))
		return false;
	s->at[s->count].name = strndup(word, (size_t)(is - word));
	s->at[s->count].value = v;
	return s->at[s->count++].name != NULL;
}

bool metric_specs_read(struct metric_specs *s, const char *text, char *error, size_t size)
{
	snprintf(error, size, "there is no memory");
	for (const char *w = text; w && *w;) {
		size_t n = strcspn(w, ":,");

		if (!add_spec(s, w, n, error, size))
			return false;
		w += n + (w[n] != '\0');
	}
	return true;
}

static bool takes(const struct metric_formulas *list, const char *name)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct expression *all[] = {&list->at[i].value.e, &list->at[i].each.e,
						  &list->at[i].peak.e};

		for (unsigned x = 0; x < 3; x++)
			for (unsigned v = 0; v < all[x]->variable_count; v++)
				if (strcmp(all[x]->variables[v], name) == 0)
					return true;
	}
	return false;
}

static bool is_taken(const struct metric_set *set, const char *name)
{
	bool found = metric_variable_find(set, name) != NULL;

	for (uint32_t i = 0; !found && i < set->variables.count; i++)
		found = takes(&set->variables.at[i].formulas, name);
	for (uint32_t p = 0; !found && p < set->panels.count; p++)
		for (uint32_t t = 0; t < set->panels.at[p].tables.count; t++) {
			const struct metric_list *l = &set->panels.at[p].tables.at[t].metrics;

			for (uint32_t i = 0; !found && i < l->count; i++)
				found = takes(&l->at[i].formulas, name);
		}
	return found;
}

bool metric_specs_check(const struct metric_specs *s, const struct metric_set *set, char *error,
			size_t size)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const char *name = s->at[i].name, *guess = NULL;
		unsigned best = UINT_MAX;

		if (is_taken(set, name)) {
			if (s->at[i].value > 0)
				continue;
			snprintf(error, size, "%.80s=%g: a number above 0 is wanted", name,
				 s->at[i].value);
			return false;
		}
		for (uint32_t v = 0; v < set->variables.count; v++)
			if (text_nearer(name, set->variables.at[v].name, &best))
				guess = set->variables.at[v].name;
		snprintf(error, size,
			 "no formula takes $%.80s%s%s%s; `kymo list metrics` has the variables",
			 name, guess ? "; did you mean \"" : "", guess ? guess : "",
			 guess ? "\"?" : "");
		return false;
	}
	return true;
}

void metric_specs_release(struct metric_specs *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->at[i].name);
	free(s->at);
	*s = (struct metric_specs){0};
}

static double spec_of(const struct metric_specs *s, const char *name)
{
	for (uint32_t i = s ? s->count : 0; i; i--)
		if (strcmp(s->at[i - 1].name, name) == 0)
			return s->at[i - 1].value;
	return NAN;
}

/* ---- names and variables -------------------------------------------------------------------------------- */

static bool has_name(void *data, const char *name)
{
	const struct evaluation *e = data;

	return kernel_values_count(e->group, name) > 0;
}

static bool is_given(void *data, const char *variable)
{
	const struct evaluation *e = data;

	return !isnan(spec_of(e->specs, variable));
}

static const double *column_of(void *data, const char *name)
{
	const struct evaluation *e = data;

	return kernel_values_of(e->group, name);
}

static bool compute(struct evaluation *e, const struct expression *x, struct expression_value *out);

/* What the user says, what a file has, what the device says of itself. */
static bool variable_of(void *data, const char *name, struct expression_value *out)
{
	struct evaluation *e = data;
	const struct metric_variable *v = metric_variable_find(e->set, name);
	const struct metric_formula *f = NULL;
	bool good;

	out->number = spec_of(e->specs, name);
	if (!isnan(out->number))
		return true;
	if (v)
		f = metric_variable_formula(e->set, v, e->group->device->class, &e->had);
	if (!v) {
		out->number = kernel_device_property(e->group->device, name);
		return !isnan(out->number);
	}
	if (!f || !f->value.text || e->depth >= METRIC_VARIABLES_DEEP)
		return false;
	e->depth++;
	good = compute(e, &f->value.e, out);
	e->depth--;
	return good;
}

static bool compute(struct evaluation *e, const struct expression *x, struct expression_value *out)
{
	struct expression_source source = {.rows = e->group->count,
					   .chosen = e->chosen,
					   .data = e,
					   .column = column_of,
					   .variable = variable_of};

	if (!expression_compute(x, &source, out)) {
		e->failed = true;
		return false;
	}
	e->used = source.used < e->used ? source.used : e->used;
	e->why = e->why ? e->why : source.why;
	return true;
}

/* ---- what is missing --------------------------------------------------------------------------------------- */

static void add_word(struct text *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *w = list->length ? list->s : ""; *w;) {
		size_t k = strcspn(w, ",");

		if (k == n && strncmp(w, word, n) == 0)
			return;
		w += k + (w[k] == ',');
	}
	text_addf(list, "%s%s", list->length ? "," : "", word);
}

static void look_for_name(void *data, const char *name)
{
	struct evaluation *e = data;
	const double *values = kernel_values_of(e->group, name);

	if (!kernel_values_count(e->group, name))
		add_word(kernel_is_column(name) ? &e->columns
			 : values               ? &e->numberless
						: &e->counters,
			 name);
	for (uint32_t i = 0; values && i < e->group->count; i++)
		e->chosen[i] = e->chosen[i] && !isnan(values[i]);
}

static void look_for_variable(void *data, const char *name)
{
	struct evaluation *e = data;
	const struct metric_variable *v = metric_variable_find(e->set, name);
	const struct metric_formula *f = NULL;

	if (!v && !isnan(kernel_device_property(e->group->device, name)))
		return;
	add_word(&e->variables, name);
	if (v)
		f = metric_variable_formula(e->set, v, e->group->device->class, &e->had);
	if (f && f->none && !e->reason.length)
		text_add(&e->reason, f->none);
}

static void look(struct evaluation *e, const struct metric_expression *x)
{
	const struct metric_names_sink sink = {look_for_name, look_for_variable, e};

	if (x->text)
		metric_names(e->set, &x->e, e->group->device->class, &e->had, &sink);
}

/* A name that is nearly that of a column, or of a counter of the kernel; NULL: none is. */
static const char *nearly(const struct kernel_group *g, const char *name)
{
	const char *guess = NULL;
	unsigned best = UINT_MAX;

	for (unsigned i = 0; i < KERNEL_COLUMNS; i++)
		if (text_nearer(name, kernel_columns[i], &best))
			guess = kernel_columns[i];
	for (uint32_t i = 0; i < g->counter_count; i++)
		if (text_nearer(name, g->counters[i].name, &best))
			guess = g->counters[i].name;
	return guess;
}

/* A shell takes no other characters as they are. */
static bool is_plain(const char *list)
{
	return !list[strspn(
		list, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:+-/=@%")];
}

enum {
	OTHERS_MOST =
		32 /* kernels that are looked at, those with most time: there may be thousands */
};

/* Another kernel of the device has it: it was recorded, and this one left out. */
static bool others_have(const struct kernel_group *g, const char *list)
{
	char name[256];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(list, ","), list);
	for (uint32_t i = 0; i < g->all->group_count && i < OTHERS_MOST; i++)
		if (g->all->groups[i].device == g->device &&
		    kernel_values_count(&g->all->groups[i], name))
			return true;
	return false;
}

/* As --counters takes them: those of the host are of kernels only where that is said. */
static void tell_counters(const struct kernel_group *g, const char *list, struct text *why)
{
	const char *quote = is_plain(list) ? "" : "'", *name = list, *guess;

	if (strncmp(list, "instrument:", 11) == 0) {
		text_add(why, "not recorded: kymo run --instrument-kernels");
		return;
	}
	text_addf(why, "not recorded: kymo run --counters %s", quote);
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		text_addf(why, "%.*s%s%s", (int)n, list,
			  g->device->class == DEVICE_CPU ? ":kernel" : "", list[n] ? "," : "");
	}
	text_add(why, quote);
	if (others_have(g, name))
		text_add(why, "; of other kernels it was: --count-kernel left this one out, or its "
			      "launches cannot be counted");
	else if ((guess = nearly(g, name)))
		text_addf(why, "; did you mean \"%s\"?", guess);
}

static void tell_variables(const char *list, struct text *why)
{
	struct text specs = {0};

	text_add(why, "the trace does not tell ");
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		text_addf(why, "$%.*s%s", (int)n, list, list[n] ? ", " : "");
		text_addf(&specs, " --spec %.*s=NUMBER", (int)n, list);
	}
	text_addf(why, " of this device:%s", specs.s ? specs.s : "");
	why->failed |= specs.failed;
	text_release(&specs);
}

/* Why the formula has no value. */
static void tell_missing(const struct evaluation *e, const struct kernel_group *g, struct text *why)
{
	if (e->counters.length)
		tell_counters(g, e->counters.s, why);
	else if (e->columns.length && strstr(e->columns.s, "duration") && g->untimed)
		text_addf(why, "its dispatches have no times: %s", g->untimed);
	else if (e->columns.length)
		text_addf(why, "the runtime does not tell: %s", e->columns.s);
	else if (e->reason.length)
		text_add(why, e->reason.s);
	else if (e->variables.length)
		tell_variables(e->variables.s, why);
	else if (e->numberless.length)
		text_addf(why,
			  "the trace has no number of it, as they are not finite or missing: %s",
			  e->numberless.s);
	else if (!e->rows)
		text_add(why, "no dispatch has all counters that it is made of");
	else
		text_addf(why, "it cannot be computed of these values%s%s%s", e->why ? " (" : "",
			  e->why ? e->why : "", e->why ? ")" : "");
}

/* ---- metrics --------------------------------------------------------------------------------------------------- */

/* Least, most and average of a number of each dispatch. */
static void take_each(struct evaluation *e, const struct metric_formula *f,
		      struct metric_value *out)
{
	struct expression_value v;
	double sum = 0;
	uint32_t count = 0;

	if (!f->each.text || !compute(e, &f->each.e, &v))
		return;
	for (uint32_t i = 0; i < e->group->count; i++) {
		double x = v.column ? v.column[i] : v.number;

		if (!e->chosen[i] || isnan(x))
			continue;
		out->least = count ? fmin(out->least, x) : x;
		out->most = count ? fmax(out->most, x) : x;
		sum += x;
		count++;
	}
	free(v.column);
	if (!f->value.text && count) {
		out->value = sum / count;
		e->used = count < e->used ? count : e->used;
	}
}

static double one_number(struct evaluation *e, const struct metric_expression *x)
{
	struct expression_value v;
	double number;

	if (!x->text || !compute(e, &x->e, &v))
		return NAN;
	/* A variable may have turned out to have a number for each dispatch. */
	number = v.column ? NAN : v.number;
	free(v.column);
	return number;
}

static void release_missing(struct evaluation *e)
{
	text_release(&e->counters);
	text_release(&e->columns);
	text_release(&e->variables);
	text_release(&e->reason);
	text_release(&e->numberless);
	e->why = NULL;
}

/* Of a formula with a value: what was chosen and missing for that is not needed any more. */
static void take_peak(struct evaluation *e, const struct metric_formula *f,
		      struct metric_value *out)
{
	release_missing(e);
	out->peak = one_number(e, &f->peak);
	if (!f->peak.text || out->peak > 0)
		return;
	text_add(&out->no_peak, "no peak: ");
	if (out->peak <= 0)
		text_addf(&out->no_peak, "it would be %g", out->peak);
	look(e, &f->peak);
	if (isnan(out->peak))
		tell_missing(e, e->group, &out->no_peak);
	out->peak = NAN;
}

static void evaluate_formula(struct evaluation *e, const struct metric_formula *f,
			     struct metric_value *out)
{
	memset(e->chosen, 1, e->group->count);
	look(e, &f->value);
	look(e, &f->each);
	e->rows = 0;
	for (uint32_t i = 0; i < e->group->count; i++)
		e->rows += e->chosen[i];
	e->used = e->rows;
	if (!e->counters.length && !e->columns.length && !e->variables.length &&
	    !e->numberless.length && e->rows) {
		out->value = one_number(e, &f->value);
		take_each(e, f, out);
	}
	out->formula = f;
	out->rows = e->used;
	if (isnan(out->value)) {
		out->least = out->most = NAN;
		tell_missing(e, e->group, &out->why);
		return;
	}
	take_peak(e, f, out);
	if (f->unproven)
		text_add(&out->why, "unproven: never compared with such a device");
}

/* The first formula with a value; without one, what the first one lacks. */
static void evaluate_all(struct evaluation *e, const struct metric *m, struct metric_value *out)
{
	const struct metric_formula *f;
	struct text first = {0};
	uint32_t at = 0;

	while (isnan(out->value) &&
	       (f = metric_formula_next(&m->formulas, e->group->device->class, &at))) {
		text_release(&out->why);
		if (f->none)
			text_add(&out->why, f->none);
		else
			evaluate_formula(e, f, out);
		release_missing(e);
		if (!first.length && out->why.length)
			text_add(&first, out->why.s);
	}
	if (isnan(out->value)) {
		text_release(&out->why);
		if (first.length)
			text_add(&out->why, first.s);
		else
			text_addf(&out->why, "no formula for this device (%s)",
				  device_class_names[e->group->device->class]);
	}
	text_release(&first);
}

bool metric_evaluate(const struct metric_set *set, const struct metric_specs *specs,
		     const struct metric *m, const struct kernel_group *g, struct metric_value *out)
{
	struct evaluation e = {.set = set,
			       .specs = specs,
			       .group = g,
			       .had = {has_name, is_given, NULL},
			       .chosen = malloc(g->count + 1u)};

	e.had.data = &e;
	*out = (struct metric_value){
		.value = NAN, .least = NAN, .most = NAN, .peak = NAN, .of = g->count};
	if (e.chosen)
		evaluate_all(&e, m, out);
	e.failed |= !e.chosen || out->why.failed;
	free(e.chosen);
	return !e.failed;
}

void metric_value_release(struct metric_value *v)
{
	text_release(&v->why);
	text_release(&v->no_peak);
}

double metric_share(const struct metric_value *v)
{
	return v->peak > 0 ? 100 * v->value / v->peak : NAN;
}
