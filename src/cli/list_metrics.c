/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list metrics`: panels, tables and metrics with their formulas, and what these are made of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "cli/cli.h"
#include "cli/list_output.h"
#ifdef KYMO_HAVE_METRICS
#include "metrics/metrics.h"

struct choice {
	const char *file;
	int device; /* enum device_class, or -1: all */
};

static const char *text_or_none(const char *s)
{
	return s ? s : "";
}

/* ---- what a formula needs ---------------------------------------------------------------------------- */

static void add_name(void *data, const char *name)
{
	struct text *list = data;
	size_t n = strlen(name);

	for (const char *w = list->length ? list->s : ""; *w;) {
		size_t k = strcspn(w, ",");

		if (k == n && strncmp(w, name, n) == 0)
			return;
		w += k + (w[k] == ',');
	}
	text_addf(list, "%s%s", list->length ? "," : "", name);
}

static void needs_of(const struct metric_set *set, const struct metric_formula *f, struct text *out)
{
	const struct metric_names_sink sink = {add_name, NULL, out};

	if (f->value.text)
		metric_names(set, &f->value.e, f->device, NULL, &sink);
	if (f->each.text)
		metric_names(set, &f->each.e, f->device, NULL, &sink);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

struct place {
	const char *id, *panel, *table;
	const char *name, *unit, *description;
	const struct metric_texts *covers;
};

/* People have lines. */
static void print_formula(const struct metric_formula *f)
{
	plain_printf(stdout, "      %s: ", device_class_names[f->device]);
	if (f->none)
		plain_printf(stdout, "N/A: %s", f->none);
	else
		plain_printf(stdout, "%s", f->value.text ? f->value.text : f->each.text);
	if (f->peak.text)
		plain_printf(stdout, "; peak %s", f->peak.text);
	if (f->unproven)
		fputs("; unproven", stdout);
	if (f->source)
		plain_printf(stdout, " [%s]", f->source);
	putchar('\n');
}

static void put_formula(struct list_output *o, const struct metric_set *set, const struct place *p,
			const struct metric_formula *f)
{
	struct text needs = {0}, covers = {0};

	if (list_format() == REPORT_TEXT) {
		print_formula(f);
		return;
	}
	needs_of(set, f, &needs);
	for (uint32_t i = 0; p->covers && i < p->covers->count; i++)
		text_addf(&covers, "%s%s", i ? "; " : "", p->covers->at[i]);
	LIST_ROW(o, p->id, p->panel, p->table, p->name, p->unit, device_class_names[f->device],
		 text_or_none(f->value.text), text_or_none(f->each.text),
		 text_or_none(f->peak.text), text_or_none(needs.s), text_or_none(f->none),
		 f->unproven ? "yes" : "", text_or_none(f->source), p->description,
		 text_or_none(covers.s));
	text_release(&needs);
	text_release(&covers);
}

static void put_formulas(struct list_output *o, const struct metric_set *set,
			 const struct choice *c, const struct place *p,
			 const struct metric_formulas *l)
{
	if (list_format() == REPORT_TEXT) {
		plain_printf(stdout, "    %s %s", p->id, p->name);
		if (*p->unit)
			plain_printf(stdout, " (%s)", p->unit);
		if (*p->description)
			plain_printf(stdout, ": %s", p->description);
		putchar('\n');
	}
	for (uint32_t i = 0; i < l->count; i++)
		if (c->device < 0 || l->at[i].device == DEVICE_ANY ||
		    (int)l->at[i].device == c->device)
			put_formula(o, set, p, &l->at[i]);
}

static void put_table(struct list_output *o, const struct metric_set *set, const struct choice *c,
		      const struct metric_panel *p, const struct metric_table *t)
{
	static const struct metric_formula by_itself = {
		.none = (char *)(uintptr_t) "the report makes it by itself"};
	char id[METRIC_ID_TEXT];

	metric_id(p, t, NULL, id);
	if (list_format() == REPORT_TEXT)
		plain_printf(stdout, "  %s %s\n", id, t->title);
	else if (!t->metrics.count || t->covers.count)
		put_formula(o, set, &(struct place){id, p->title, t->title, "", "", "", &t->covers},
			    &by_itself);
	for (uint32_t i = 0; i < t->metrics.count; i++) {
		const struct metric *m = &t->metrics.at[i];
		struct place place = {id,
				      p->title,
				      t->title,
				      m->name,
				      text_or_none(m->unit),
				      text_or_none(m->description),
				      &m->covers};

		metric_id(p, t, m, id);
		put_formulas(o, set, c, &place, &m->formulas);
	}
}

static void put_variables(struct list_output *o, const struct metric_set *set,
			  const struct choice *c)
{
	if (list_format() == REPORT_TEXT)
		puts("Variables");
	for (uint32_t i = 0; i < set->variables.count; i++) {
		const struct metric_variable *v = &set->variables.at[i];
		char name[80];
		struct place place = {
			name, "", "", "", text_or_none(v->unit), text_or_none(v->description),
			NULL};

		snprintf(name, sizeof(name), "$%s", v->name);
		put_formulas(o, set, c, &place, &v->formulas);
	}
}

static int put_set(const struct metric_set *set, const struct choice *c)
{
	struct list_output o;

	list_begin(&o, "metrics", "Metrics",
		   (const char *const[]){"id", "panel", "table", "metric", "unit", "device",
					 "value", "each", "peak", "needs", "none", "unproven",
					 "source", "description", "covers", NULL},
		   (const unsigned[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
	for (uint32_t i = 0; i < set->panels.count; i++) {
		const struct metric_panel *p = &set->panels.at[i];

		if (list_format() == REPORT_TEXT) {
			plain_printf(stdout, "%u %s", p->id, p->title);
			if (p->description)
				plain_printf(stdout, ": %s", p->description);
			putchar('\n');
		}
		for (uint32_t n = 0; n < p->tables.count; n++)
			put_table(&o, set, c, p, &p->tables.at[n]);
	}
	put_variables(&o, set, c);
	return list_end(&o);
}

/* --NAME VALUE or --NAME=VALUE; moves *at behind it. */
static const char *option(const char *name, int argc, char **argv, int *at)
{
	size_t n = strlen(name);

	if (strncmp(argv[*at], name, n) != 0)
		return NULL;
	if (argv[*at][n] == '=')
		return argv[*at] + n + 1;
	return argv[*at][n] == '\0' && *at + 1 < argc ? argv[++*at] : NULL;
}

static bool take(struct choice *c, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i], *device = option("--device", argc, argv, &i);
		const char *file = device ? NULL : option("--metrics-file", argc, argv, &i);

		for (int d = 0; device && d < DEVICE_CLASSES; d++)
			if (strcmp(device_class_names[d], device) == 0)
				c->device = d;
		if (file)
			c->file = file;
		if ((device && c->device < 0) || (!device && !file)) {
			cli_usage(
				"list",
				"list metrics takes --device nvidia|amd|cpu, --metrics-file FILE, "
				"not \"%s\"",
				device ? device : word);
			return false;
		}
	}
	return true;
}

static int run(int argc, char **argv)
{
	struct choice c = {.device = -1};
	struct metric_set set = {.denom = NULL};
	char error[600];
	int result = CLI_FAILURE;

	if (!take(&c, argc, argv))
		return CLI_USAGE;
	if (metric_set_read(&set, c.file, error, sizeof(error)))
		result = put_set(&set, &c);
	else
		cli_error("%s", error);
	metric_set_release(&set);
	return result;
}
#else
static int run(int argc, char **argv)
{
	cli_error("this kymo was built without SQLite or libyaml, which metrics of kernels need");
	return CLI_FAILURE;
}
#endif

extern const struct list list_metrics;
const struct list list_metrics = {
	"metrics", "Metrics of `kymo kernels` with their formulas and the counters that they need",
	run, "[--device nvidia|amd|cpu] [--metrics-file FILE]"};
