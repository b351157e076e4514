/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of metrics: putting files together, finding things by their ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "metrics/parts.h"

const char *const device_class_names[DEVICE_CLASSES] = {"any", "nvidia", "amd", "cpu"};
const char *const metric_style_names[METRIC_STYLES] = {"table",   "bars",         "chart",
						       "device",  "kernels",      "dispatches",
						       "samples", "instructions", "lines"};

/* ---- putting together ------------------------------------------------------------------------------ */

/* `list` gets a copy of `item`, in whose place there is what it replaces, or nothing. False: no memory. */
#define PUT(list, item, found)                                                                     \
	do {                                                                                       \
		__typeof__(item) put_ = (item);                                                    \
		uint32_t at_ = (found);                                                            \
                                                                                                   \
		if (at_ < (list)->count) {                                                         \
			__typeof__(*put_) old_ = (list)->at[at_];                                  \
                                                                                                   \
			(list)->at[at_] = *put_;                                                   \
			*put_ = old_;                                                              \
		} else {                                                                           \
			if (!vec_reserve(&(list)->at, &(list)->room, (list)->count, 1))            \
				return false;                                                      \
			(list)->at[(list)->count++] = *put_;                                       \
			memset(put_, 0, sizeof(*put_));                                            \
		}                                                                                  \
	} while (0)

static int by_panel(const void *a, const void *b)
{
	const struct metric_panel *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_table(const void *a, const void *b)
{
	const struct metric_table *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static uint32_t panel_at(const struct metric_panel_list *l, unsigned id)
{
	uint32_t i = 0;

	while (i < l->count && l->at[i].id != id)
		i++;
	return i;
}

static uint32_t table_at(const struct metric_table_list *l, unsigned id)
{
	uint32_t i = 0;

	while (i < l->count && l->at[i].id != id)
		i++;
	return i;
}

static uint32_t variable_at(const struct metric_variable_list *l, const char *name)
{
	uint32_t i = 0;

	while (i < l->count && strcmp(l->at[i].name, name) != 0)
		i++;
	return i;
}

static bool merge_tables(struct metric_panel *into, struct metric_panel *more)
{
	for (uint32_t i = 0; i < more->tables.count; i++)
		PUT(&into->tables, &more->tables.at[i],
		    table_at(&into->tables, more->tables.at[i].id));
	if (into->tables.count)
		qsort(into->tables.at, into->tables.count, sizeof(*into->tables.at), by_table);
	return true;
}

static bool merge_panel(struct metric_set *set, struct metric_panel *more)
{
	uint32_t at = panel_at(&set->panels, more->id);

	if (at < set->panels.count)
		return merge_tables(&set->panels.at[at], more);
	PUT(&set->panels, more, at);
	return true;
}

bool metric_set_merge(struct metric_set *set, struct metric_set *more)
{
	for (uint32_t i = 0; i < more->panels.count; i++)
		if (!merge_panel(set, &more->panels.at[i]))
			return false;
	if (set->panels.count)
		qsort(set->panels.at, set->panels.count, sizeof(*set->panels.at), by_panel);
	for (uint32_t i = 0; i < more->variables.count; i++)
		PUT(&set->variables, &more->variables.at[i],
		    variable_at(&set->variables, more->variables.at[i].name));
	return true;
}

/* ---- release --------------------------------------------------------------------------------------- */

static void release_texts(struct metric_texts *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		free(l->at[i]);
	free(l->at);
}

static void release_expression(struct metric_expression *e)
{
	free(e->text);
	expression_release(&e->e);
}

static void release_formulas(struct metric_formulas *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		struct metric_formula *f = &l->at[i];

		release_expression(&f->value);
		release_expression(&f->each);
		release_expression(&f->peak);
		free(f->source);
		free(f->none);
	}
	free(l->at);
}

static void release_table(struct metric_table *t)
{
	for (uint32_t i = 0; i < t->metrics.count; i++) {
		struct metric *m = &t->metrics.at[i];

		free(m->name);
		free(m->unit);
		free(m->description);
		release_texts(&m->covers);
		release_formulas(&m->formulas);
	}
	free(t->metrics.at);
	free(t->title);
	release_texts(&t->covers);
}

static void release_panel(struct metric_panel *p)
{
	for (uint32_t i = 0; i < p->tables.count; i++)
		release_table(&p->tables.at[i]);
	free(p->tables.at);
	free(p->title);
	free(p->description);
}

void metric_set_release(struct metric_set *set)
{
	for (uint32_t i = 0; i < set->panels.count; i++)
		release_panel(&set->panels.at[i]);
	for (uint32_t i = 0; i < set->variables.count; i++) {
		struct metric_variable *v = &set->variables.at[i];

		free(v->name);
		free(v->unit);
		free(v->description);
		release_formulas(&v->formulas);
	}
	free(set->panels.at);
	free(set->variables.at);
	*set = (struct metric_set){0};
}

/* ---- finding --------------------------------------------------------------------------------------- */

const struct metric_variable *metric_variable_find(const struct metric_set *set, const char *name)
{
	uint32_t i;

	if (strcmp(name, "denom") == 0)
		name = set->denom ? set->denom : "per_kernel";
	i = variable_at(&set->variables, name);

	return i < set->variables.count ? &set->variables.at[i] : NULL;
}

void metric_id(const struct metric_panel *p, const struct metric_table *t, const struct metric *m,
	       char out[METRIC_ID_TEXT])
{
	if (m)
		snprintf(out, METRIC_ID_TEXT, "%u.%u.%u", p->id, t->id, m->id);
	else if (t)
		snprintf(out, METRIC_ID_TEXT, "%u.%u", p->id, t->id);
	else
		snprintf(out, METRIC_ID_TEXT, "%u", p->id);
}

const struct metric_table *metric_table_find(const struct metric_set *set, unsigned panel,
					     unsigned table)
{
	for (uint32_t i = 0; i < set->panels.count; i++)
		for (uint32_t k = 0;
		     set->panels.at[i].id == panel && k < set->panels.at[i].tables.count; k++)
			if (set->panels.at[i].tables.at[k].id == table)
				return &set->panels.at[i].tables.at[k];
	return NULL;
}

static bool is_word(const char *word, size_t n, const char *text)
{
	return strlen(text) == n && strncmp(word, text, n) == 0;
}

/* The word is the id of what these are, or of what they are in. */
static bool names(const char *word, size_t n, const struct metric_panel *p,
		  const struct metric_table *t, const struct metric *m)
{
	char id[METRIC_ID_TEXT];

	metric_id(p, NULL, NULL, id);
	if (is_word(word, n, id))
		return true;
	metric_id(p, t, NULL, id);
	if (t && is_word(word, n, id))
		return true;
	metric_id(p, t, m, id);
	return m && (is_word(word, n, id) || is_word(word, n, m->name));
}

/* The next word of a list with commas, without the spaces around it. False: there is none. */
static bool next_word(const char **list, const char **word, size_t *n)
{
	if (!*list || !**list)
		return false;
	*word = *list + strspn(*list, " ");
	*n = strcspn(*word, ",");
	*list = *word + *n + ((*word)[*n] == ',');
	while (*n && (*word)[*n - 1] == ' ')
		--*n;
	return true;
}

bool metric_list_has(const char *list, const struct metric_panel *p, const struct metric_table *t,
		     const struct metric *m)
{
	const char *word;
	size_t n;

	if (!list)
		return true;
	while (next_word(&list, &word, &n))
		if (names(word, n, p, t, m))
			return true;
	return false;
}

bool metric_list_has_table(const char *list, const struct metric_panel *p,
			   const struct metric_table *t)
{
	if (metric_list_has(list, p, t, NULL))
		return true;
	for (uint32_t i = 0; i < t->metrics.count; i++)
		if (metric_list_has(list, p, t, &t->metrics.at[i]))
			return true;
	return false;
}

static bool names_something(const struct metric_set *set, const char *word, size_t n)
{
	for (uint32_t i = 0; i < set->panels.count; i++) {
		const struct metric_panel *p = &set->panels.at[i];

		if (names(word, n, p, NULL, NULL))
			return true;
		for (uint32_t k = 0; k < p->tables.count; k++) {
			const struct metric_table *t = &p->tables.at[k];

			if (names(word, n, p, t, NULL))
				return true;
			for (uint32_t j = 0; j < t->metrics.count; j++)
				if (names(word, n, p, t, &t->metrics.at[j]))
					return true;
		}
	}
	return false;
}

const char *metric_list_unknown(const struct metric_set *set, const char *list, size_t *length)
{
	const char *word;

	while (next_word(&list, &word, length))
		if (!names_something(set, word, *length))
			return word;
	return NULL;
}

const struct metric *metric_find(const struct metric_set *set, const char *word, size_t length,
				 const struct metric_panel **panel,
				 const struct metric_table **table)
{
	const struct metric *found = NULL;
	char id[METRIC_ID_TEXT];
	unsigned times = 0;

	for (uint32_t i = 0; i < set->panels.count; i++) {
		const struct metric_panel *p = &set->panels.at[i];

		for (uint32_t k = 0; k < p->tables.count; k++)
			for (uint32_t j = 0; j < p->tables.at[k].metrics.count; j++) {
				const struct metric *m = &p->tables.at[k].metrics.at[j];

				metric_id(p, &p->tables.at[k], m, id);
				if (!is_word(word, length, id) && !is_word(word, length, m->name))
					continue;
				times++;
				found = m;
				*panel = p;
				*table = &p->tables.at[k];
			}
	}
	return times == 1 ? found : NULL;
}

const struct metric_formula *metric_formula_next(const struct metric_formulas *list,
						 unsigned device, uint32_t *at)
{
	/* Those of the class itself first, then those for all. */
	for (; *at < 2 * list->count; ++*at) {
		const struct metric_formula *f = &list->at[*at % list->count];
		bool first = *at < list->count;

		if (first ? f->device == device && device != DEVICE_ANY : f->device == DEVICE_ANY) {
			++*at;
			return f;
		}
	}
	return NULL;
}

/* ---- what an expression needs ------------------------------------------------------------------------ */

struct names_walk {
	const struct metric_set *set;
	unsigned device, depth;
	const struct metric_names_had *had;
	const struct metric_names_sink *sink;
};

static void walk(const struct names_walk *w, const struct expression *e)
{
	struct names_walk inner = *w;

	for (unsigned i = 0; i < e->name_count; i++)
		w->sink->name(w->sink->data, e->names[i]);
	if (++inner.depth > METRIC_VARIABLES_DEEP)
		return;
	for (unsigned i = 0; i < e->variable_count; i++) {
		const struct metric_variable *v = metric_variable_find(w->set, e->variables[i]);
		const struct metric_formula *f = NULL;

		if (w->had && w->had->given(w->had->data, e->variables[i]))
			continue;
		if (v)
			f = metric_variable_formula(w->set, v, w->device, w->had);
		if (f && f->value.text)
			walk(&inner, &f->value.e);
		else if (w->sink->variable)
			w->sink->variable(w->sink->data, e->variables[i]);
	}
}

void metric_names(const struct metric_set *set, const struct expression *e, unsigned device,
		  const struct metric_names_had *had, const struct metric_names_sink *sink)
{
	const struct names_walk w = {.set = set, .device = device, .had = had, .sink = sink};

	walk(&w, e);
}

struct had_all {
	const struct metric_names_had *had;
	bool all;
};

static void check_name(void *data, const char *name)
{
	struct had_all *a = data;

	a->all = a->all && a->had->has(a->had->data, name);
}

/* Of its own names alone: what its variables need, these choose. */
const struct metric_formula *metric_variable_formula(const struct metric_set *set,
						     const struct metric_variable *v,
						     unsigned device,
						     const struct metric_names_had *had)
{
	const struct metric_formula *f, *first = NULL;
	uint32_t at = 0;

	while ((f = metric_formula_next(&v->formulas, device, &at))) {
		struct had_all a = {had, true};

		first = first ? first : f;
		for (unsigned i = 0; had && i < f->value.e.name_count; i++)
			check_name(&a, f->value.e.names[i]);
		if (a.all)
			return f;
	}
	return first;
}
