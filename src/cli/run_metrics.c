/* SPDX-License-Identifier: Apache-2.0 */
/* --metrics of `kymo run`: ids of `kymo list metrics`, in whose place the counters come that they are made of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <kymo/agent.h>

#include "base/perf_named.h"
#include "cli/cli.h"
#include "cli/run.h"
#ifdef KYMO_HAVE_METRICS
#include "metrics/data.h"

struct wanted {
	const struct metric_set *set;
	bool devices[DEVICE_CLASSES]; /* that are here */
	unsigned device;              /* whose counters are being added */
	bool named;                   /* which the user named */
	bool found;                   /* the word has formulas for it */
	struct text counters;
	struct text dropped;  /* what cannot be counted here */
	struct text left_out; /* words without a formula */
};

/* ---- devices of this machine --------------------------------------------------------------------------- */

static kymo_status_t look_at(const kymo_agent_t *a, void *data)
{
	struct wanted *w = data;

	if (a->type == KYMO_AGENT_CPU)
		w->devices[DEVICE_CPU] = true;
	else if (a->type == KYMO_AGENT_GPU && a->vendor && strcasestr(a->vendor, "nvidia"))
		w->devices[DEVICE_NVIDIA] = true;
	else if (a->type == KYMO_AGENT_GPU && a->vendor &&
		 (strcasestr(a->vendor, "amd") || strcasestr(a->vendor, "advanced micro")))
		w->devices[DEVICE_AMD] = true;
	return KYMO_OK;
}

/* ---- counters -------------------------------------------------------------------------------------------- */

static bool has_word(const struct text *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *w = list->length ? list->s : ""; *w;) {
		size_t k = strcspn(w, ",");

		if (k == n && strncmp(w, word, n) == 0)
			return true;
		w += k + (w[k] == ',');
	}
	return false;
}

/* Virtual machines often have no counters of cycles and instructions: the rest is counted nevertheless. */
static bool can_be_counted(struct wanted *w, const char *name)
{
	const struct perf_named *e =
		perf_named_find(strncmp(name, "perf:", 5) == 0 ? name + 5 : name);
	char reason[256];

	if (!e || perf_named_try(e, 0, reason, sizeof(reason)))
		return true;
	if (!has_word(&w->dropped, e->name)) {
		cli_note("--metrics: %s is not counted: %s", e->name, reason);
		text_addf(&w->dropped, "%s,", e->name);
	}
	return false;
}

/* What the runtime tells by itself is no counter. The host's are of calls and threads unless they are asked for of kernels. */
static void add_counter(void *data, const char *name)
{
	struct wanted *w = data;
	char word[256];

	if (strncmp(name, "instrument:", 11) ==
	    0) /* which kernels that is worth to, --instrument-kernels says */
		return;
	if (w->device == DEVICE_CPU && !w->named && !can_be_counted(w, name))
		return;
	snprintf(word, sizeof(word), "%s%s", name, w->device == DEVICE_CPU ? ":kernel" : "");
	if (!kernel_is_column(name) && !has_word(&w->counters, word))
		text_addf(&w->counters, "%s%s", w->counters.length ? "," : "", word);
}

static void add_expression(struct wanted *w, const struct metric_expression *e)
{
	const struct metric_names_sink sink = {add_counter, NULL, w};

	if (e->text)
		metric_names(w->set, &e->e, w->device, NULL, &sink);
}

/* Of its first formula for the device: further ones are for traces that lack something. */
static void add_metric(struct wanted *w, const struct metric *m)
{
	const struct metric_formula *f;
	uint32_t at = 0;

	f = metric_formula_next(&m->formulas, w->device, &at);
	if (!f || f->none)
		return;
	w->found = true;
	add_expression(w, &f->value);
	add_expression(w, &f->each);
}

static void add_named(struct wanted *w, const char *word)
{
	for (uint32_t i = 0; i < w->set->panels.count; i++) {
		const struct metric_panel *p = &w->set->panels.at[i];

		for (uint32_t n = 0; n < p->tables.count; n++) {
			const struct metric_table *t = &p->tables.at[n];

			for (uint32_t k = 0; k < t->metrics.count; k++)
				if (metric_list_has(word, p, t, &t->metrics.at[k]))
					add_metric(w, &t->metrics.at[k]);
		}
	}
}

/* DEVICE:WORD is of that kind of devices, also where none is here; else it is of those that are. */
static bool take_word(struct wanted *w, const char *word)
{
	const char *colon = strchr(word, ':');
	size_t n = 0;

	w->named = w->found = false;

	for (unsigned d = DEVICE_NVIDIA; d < DEVICE_CLASSES; d++) {
		const char *name = device_class_names[d];

		if (colon && strlen(name) == (size_t)(colon - word) &&
		    strncmp(word, name, strlen(name)) == 0) {
			w->named = true;
			w->device = d;
		}
	}
	word = w->named ? colon + 1 : word;
	if (!*word || metric_list_unknown(w->set, word, &n)) {
		cli_usage("run", "--metrics: there is no \"%s\"; `kymo list metrics` has their ids",
			  word);
		return false;
	}
	for (unsigned d = DEVICE_NVIDIA; !w->named && d < DEVICE_CLASSES; d++) {
		w->device = d;
		if (w->devices[d])
			add_named(w, word);
	}
	if (w->named)
		add_named(w, word);
	if (!w->found)
		text_addf(&w->left_out, "%s%s", w->left_out.length ? ", " : "", word);
	return true;
}

static bool take_list(struct wanted *w, const char *list)
{
	char *words = strdup(list), *save = NULL;
	bool good = words != NULL;

	for (char *s = good ? strtok_r(words, ",", &save) : NULL; s && good;
	     s = strtok_r(NULL, ",", &save))
		good = take_word(w, s);
	free(words);
	if (good && !w->counters.length) {
		cli_usage(
			"run",
			"--metrics %s: devices of this machine have no counters for it; for those "
			"of another: nvidia:ID, amd:ID, cpu:ID",
			list);
		good = false;
	}
	if (good && w->left_out.length)
		cli_note("--metrics: left out, as the devices of this machine have no formulas for "
			 "it: %s",
			 w->left_out.s);
	return good;
}

bool metrics_take(struct run_options *o)
{
	struct metric_set set = {.denom = NULL};
	struct wanted w = {.set = &set};
	char error[600];
	bool good;

	if (!o->metrics)
		return true;
	kymo_agents(look_at, &w);
	good = metric_set_read(&set, o->metrics_file, error, sizeof(error));
	if (!good)
		cli_error("%s%s", o->metrics_file ? "--metrics-file " : "", error);
	good = good && take_list(&w, o->metrics);
	if (good && o->counters)
		text_addf(&w.counters, ",%s", o->counters);
	if (good)
		counters_become(o, w.counters.s);
	else
		text_release(&w.counters);
	text_release(&w.dropped);
	text_release(&w.left_out);
	metric_set_release(&set);
	return good;
}
#else
bool metrics_take(struct run_options *o)
{
	if (!o->metrics)
		return true;
	cli_error("this kymo was built without SQLite or libyaml, which --metrics needs");
	return false;
}
#endif
