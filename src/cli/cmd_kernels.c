/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo kernels`: how well kernels use their device. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/pager.h"
#include "report/report.h"
#ifdef KYMO_HAVE_METRICS
#include "analysis/trace_store.h"
#include "cli/kernels_roofline.h"
#include "metrics/findings.h"
#include "metrics/handlers.h"
#endif

struct kernels_options {
	struct cli_filter filter;
	const char *panel, *spec, *metrics_file, *baseline, *fail_on, *roofline, *roofs, *handler;
	int format, normalize;
	int64_t top;
	bool all, dark, force;
};

static struct kernels_options options;

#define AT(member)     offsetof(struct kernels_options, member)
#define NORMALIZATIONS "per_kernel|per_group|per_wave|per_cycle|per_second"

static const struct knob rows[] = {
	{"panel", 0, KNOB_LIST, 0, AT(panel), "ID,...", NULL, NULL, NULL, "Kernels",
	 "Show these panels (2), tables (12.1) or metrics (2.1.3) of `kymo list metrics`, also "
	 "what has no value, and why"},
	{"handler", 0, KNOB_STRING, 0, AT(handler), "NAME", NULL, NULL, NULL, "Kernels",
	 "Show what this handler reported instead (kymo run --handlers)"},
	{"normalize", 0, KNOB_ENUM, 0, AT(normalize), "HOW", "per_kernel", NORMALIZATIONS, NULL,
	 "Kernels", "What amounts are told of"},
	{"spec", 0, KNOB_STRING, KNOB_REPEAT, AT(spec), "NAME=NUMBER", NULL, NULL, NULL, "Kernels",
	 "What formulas take for a property of the device: cu_count=132"},
	{"metrics-file", 0, KNOB_STRING, 0, AT(metrics_file), "FILE", NULL, NULL, NULL, "Kernels",
	 "Add panels, or replace tables of Kymo's, by those of a file (docs/metrics.md)"},
	{"baseline", 0, KNOB_STRING, KNOB_REPEAT, AT(baseline), "TRACE", NULL, NULL, NULL,
	 "Kernels", "Compare with the same kernels of this trace"},
	{"fail-on", 0, KNOB_STRING, 0, AT(fail_on), "METRIC>PERCENT,...", NULL, NULL, NULL,
	 "Kernels",
	 "Exit with status 1 if a metric (its id or name) has changed by more than so many per "
	 "cent against a baseline: 7.3.1>5; with < by less: 2.1.2<-5"},
	{"format", 'f', KNOB_ENUM, 0, AT(format), "FORMAT", "text", REPORT_FORMATS, NULL, "Kernels",
	 "How they are printed; times in csv and json are nanoseconds"},
	{"top", 0, KNOB_INTEGER, 0, AT(top), "N", "3", NULL, NULL, "Kernels",
	 "Show panels of so many kernels; 0: of all. In csv and json all are there"},
	{"all", 0, KNOB_FLAG, 0, AT(all), NULL, NULL, NULL, NULL, "Kernels", "Of all kernels"},
	{"roofline", 0, KNOB_STRING, 0, AT(roofline), "FILE", NULL, NULL, NULL, "Kernels",
	 "Draw the kernels below the roofs of their device (`kymo calibrate`) instead, in a file "
	 "that "
	 "ends with .svg, .png, .jpg or .pdf; -: as text"},
	{"roofs", 0, KNOB_STRING, 0, AT(roofs), "FILE", NULL, NULL, NULL, "Kernels",
	 "Take the roofs of this file, which `kymo calibrate -f json` wrote on the machine of the "
	 "trace"},
	{"dark", 0, KNOB_FLAG, 0, AT(dark), NULL, NULL, NULL, NULL, "Kernels",
	 "Draw the roofline on dark ground"},
	{"force", 0, KNOB_FLAG, 0, AT(force), NULL, NULL, NULL, NULL, "Kernels",
	 "Replace a file of --roofline that is there"},
	CLI_FILTER_KNOBS(struct kernels_options),
};

static struct knob_table table = {.command = "kernels",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

#ifdef KYMO_HAVE_METRICS
enum { BASES = 16, ERROR = 600 };

/* What a run of the command holds. */
struct work {
	struct metric_set set;
	struct metric_specs specs;
	struct kernel_data data;
	struct store *store;
	struct kernel_base bases[BASES];
	uint32_t base_count;
	char *base_names;
};

static bool read_choices(struct work *w)
{
	static const char *const normalizations[] = {"per_kernel", "per_group", "per_wave",
						     "per_cycle", "per_second"};
	char error[ERROR] = "";
	const char *word;
	size_t n;

	if (!metric_set_read(&w->set, options.metrics_file, error, sizeof(error))) {
		cli_error("%s%s", options.metrics_file ? "--metrics-file " : "", error);
		return false;
	}
	w->set.denom = normalizations[options.normalize];
	if (!metric_specs_read(&w->specs, options.spec, error, sizeof(error)) ||
	    !metric_specs_check(&w->specs, &w->set, error, sizeof(error))) {
		cli_usage("kernels", "--spec: %s", error);
		return false;
	}
	if (options.panel && !options.panel[strspn(options.panel, " ,")]) {
		cli_usage("kernels", "--panel: it is empty; `kymo list metrics` has ids");
		return false;
	}
	word = metric_list_unknown(&w->set, options.panel, &n);
	if (word) {
		cli_usage("kernels",
			  "--panel: there is no \"%.*s\"; `kymo list metrics` has their ids",
			  (int)n, word);
		return false;
	}
	if ((options.roofs || options.dark || options.force) && !options.roofline) {
		cli_usage("kernels", "--roofs, --dark and --force are for --roofline FILE");
		return false;
	}
	if (roofline_plot_check("kernels", "--roofline", options.roofline) != CLI_OK)
		return false;
	if (options.handler &&
	    (options.panel || options.baseline || options.roofline || options.fail_on)) {
		cli_usage("kernels", "--handler shows tables of its own: no --panel, --baseline, "
				     "--fail-on and --roofline beside it");
		return false;
	}
	if (options.fail_on && !options.baseline) {
		cli_usage("kernels", "--fail-on judges changes: against which --baseline?");
		return false;
	}
	if (options.fail_on &&
	    !kernel_fail_on_check(&w->set, options.fail_on, error, sizeof(error))) {
		cli_usage("kernels", "--fail-on: %s", error);
		return false;
	}
	return true;
}

/* Reads the kernels of a trace; the store stays open where `keep` is not NULL. */
static kymo_status_t read_kernels(const char *path, const struct format_options *o,
				  struct kernel_data *d, struct store **keep)
{
	bool at_work = trace_being_written(path);
	struct store *s;
	kymo_status_t status = trace_store_open(path, false, o, &s);

	if (status != KYMO_OK)
		return status;
	cli_tell_recording(&cli_log, path, store_trace(s), at_work, "the panels are");
	if (!kernel_data_read(d, s, &cli_log))
		status = KYMO_ERROR_NO_MEMORY;
	if (keep)
		*keep = s;
	else
		store_close(s);
	return status;
}

/* Of a list with colons between paths, which may have some themselves: the longest that is there, else up to the first one. */
static size_t first_path(const char *list)
{
	for (size_t n = strlen(list); n; n--) {
		char *path = list[n] == '\0' || list[n] == ':' ? strndup(list, n) : NULL;
		const bool there = path && access(path, F_OK) == 0;

		free(path);
		if (there)
			return n;
	}
	return strcspn(list, ":");
}

static kymo_status_t read_base(struct work *w, const char *path, const struct format_options *o)
{
	struct kernel_base *base = &w->bases[w->base_count];

	if (w->base_count == BASES) {
		cli_error("--baseline: %d at most", BASES);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	base->name = path;
	w->base_count++;
	return read_kernels(path, o, &base->data, NULL);
}

static kymo_status_t read_bases(struct work *w, const struct format_options *o)
{
	kymo_status_t status = KYMO_OK;
	char *at;

	at = w->base_names = options.baseline ? strdup(options.baseline) : NULL;
	while (at && *at && status == KYMO_OK) {
		const size_t n = first_path(at);
		char *next = at[n] ? at + n + 1 : NULL;

		at[n] = '\0';
		if (n)
			status = read_base(w, at, o);
		at = next;
	}
	return status;
}

/* Rules know Kymo's own metrics, which a file may have replaced. */
static void add_findings(struct report *r, struct kernel_report *k)
{
	struct metric_set own = {.denom = NULL};
	struct kernel_findings f = {.set = &own, .specs = k->specs};
	char error[ERROR];

	if (metric_set_read(&own, NULL, error, sizeof(error)) &&
	    kernel_findings_find(&f, k->data, r->people ? k->top : 0))
		kernel_findings_report(r, &f);
	r->failed |= f.failed;
	kernel_findings_release(&f);
	metric_set_release(&own);
}

static int print(struct work *w)
{
	enum report_format format = (enum report_format)options.format;
	struct report r = {.top = options.all ? 0 : TABLE_TOP,
			   .more = "--all",
			   .people = report_for_people(format)};
	struct kernel_report k = {
		.set = &w->set,
		.specs = &w->specs,
		.data = &w->data,
		.bases = w->bases,
		.base_count = w->base_count,
		.panels = options.panel,
		.top = options.all || options.top > UINT32_MAX ? 0 : (uint32_t)options.top,
		.store = w->store,
		.log = &cli_log};
	struct text fails = {0}, unjudged = {0};
	int result = CLI_FAILURE;

	for (uint32_t b = 0; b < w->base_count; b++)
		report_head(&r, "base%s%.0u: %s", w->base_count > 1 ? "_" : "",
			    w->base_count > 1 ? b + 1 : 0, w->bases[b].name);
	if (!w->data.group_count)
		cli_error("there are no kernels in the trace, or in what was selected of it");
	else if (!kernel_report_make(&r, &k) ||
		 !kernel_fails(&k, options.fail_on, &fails, &unjudged))
		cli_error("the panels could not be made");
	else
		result = fails.length ? CLI_NO : CLI_OK;
	if (result != CLI_FAILURE && !options.panel)
		add_findings(&r, &k);
	if (result != CLI_FAILURE && format == REPORT_TEXT)
		pager_start(result);
	if (result != CLI_FAILURE && !report_print(&r, format, stdout)) {
		cli_error("the panels could not be written");
		result = CLI_FAILURE;
	}
	for (char *save = NULL, *l = fails.length ? strtok_r(fails.s, "\n", &save) : NULL; l;
	     l = strtok_r(NULL, "\n", &save))
		cli_note("--fail-on: %s", l);
	/* 0 would claim that it has not changed. */
	if (unjudged.length) {
		pager_end();
		cli_error("--fail-on cannot judge: %s", unjudged.s);
		result = CLI_FAILURE;
	}
	text_release(&fails);
	text_release(&unjudged);
	report_release(&r);
	return result;
}

static int draw(const struct work *w)
{
	return kernels_roofline(&(struct kernels_roofline){.set = &w->set,
							   .specs = &w->specs,
							   .data = &w->data,
							   .store = w->store,
							   .roofs = options.roofs,
							   .plot = {.output = options.roofline,
								    .dark = options.dark,
								    .force = options.force}});
}

static int print_handler(const struct work *w, const char *path)
{
	enum report_format format = (enum report_format)options.format;
	struct report r = {.top = 0, .more = "--all", .people = report_for_people(format)};
	uint32_t count = 0;
	int result = CLI_FAILURE;

	if (!handler_tables(&r, w->store, options.handler, &cli_log, &count))
		cli_error("the tables could not be made");
	else if (!count)
		cli_error("%s has nothing of a handler \"%s\": kymo run --handlers %s; notes of "
			  "`kymo info` say what stood against it",
			  path, options.handler, options.handler);
	else
		result = CLI_OK;
	if (result == CLI_OK && format == REPORT_TEXT)
		pager_start(result);
	if (result == CLI_OK && !report_print(&r, format, stdout)) {
		cli_error("the tables could not be written");
		result = CLI_FAILURE;
	}
	report_release(&r);
	return result;
}

static int read_and_print(struct work *w, const char *path)
{
	struct format_options o = {.log = &cli_log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Building the store"};
	struct stream_filter *filter;
	kymo_status_t status;
	bool failed;
	int result;

	filter = cli_filter_new(&options.filter, 1, &failed);
	if (failed)
		return CLI_USAGE;
	o.filter = filter;
	status = read_kernels(path, &o, &w->data, &w->store);
	if (status == KYMO_OK)
		status = stream_filter_finish(filter);
	stream_filter_free(filter);
	/* Of others what is selected by name; where they began is theirs. */
	filter = status == KYMO_OK ? cli_filter_new(&options.filter, 1, &failed) : NULL;
	o.filter = filter;
	if (status == KYMO_OK)
		status = read_bases(w, &o);
	stream_filter_free(filter);
	if (status != KYMO_OK)
		result = cli_exit(status);
	else
		result = options.handler    ? print_handler(w, path)
			 : options.roofline ? draw(w)
					    : print(w);
	return result;
}

static int run_kernels(int argc, char **argv)
{
	struct work w = {.set = {.denom = NULL}};
	int result = CLI_USAGE;

	if (argc != 1)
		return cli_usage("kernels",
				 argc ? "one trace at a time; others to compare it with: "
					"--baseline TRACE"
				      : "which trace? (the directory that `kymo run` left)");
	if (read_choices(&w))
		result = read_and_print(&w, argv[0]);
	for (uint32_t b = 0; b < w.base_count; b++)
		kernel_data_release(&w.bases[b].data);
	kernel_data_release(&w.data);
	if (w.store)
		store_close(w.store);
	free(w.base_names);
	metric_specs_release(&w.specs);
	metric_set_release(&w.set);
	cli_log_finish();
	return result <= CLI_NO && cli_told_errors() ? CLI_FAILURE : result;
}
#else
static int run_kernels(int argc, char **argv)
{
	cli_error("this kymo was built without SQLite or libyaml, which metrics of kernels need; "
		  "install their development files (libsqlite3-dev, libyaml-dev) and build again");
	return CLI_FAILURE;
}
#endif

const struct command cmd_kernels = {
	.name = "kernels",
	.operands = "[OPTION]... TRACE",
	.summary = "Tell how well kernels use their device, and what limits them",
	.about = "Panels of metrics of the kernels that take most time, of what the runtime told "
		 "and "
		 "of the\n"
		 "counters that were recorded of each dispatch (`kymo run --counters`, "
		 "`--metrics`).\n"
		 "What has no value is N/A, with the reason where its panel was asked for "
		 "(--panel).\n"
		 "`kymo list metrics` has all panels with their formulas; docs/metrics.md explains "
		 "them.\n"
		 "The n-th dispatches of a kernel alone: --kernel 'NAME#2-5'.",
	.knobs = &table,
	.traces = true,
	.run = run_kernels,
};
