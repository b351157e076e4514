/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo diagnose`: what holds a run back, by how much, and what to try. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diagnose.h"
#include "analysis/site_rules.h"
#include "analysis/summary.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/pager.h"
#include "cli/site_rules.h"
#include "report/findings.h"
#ifdef KYMO_HAVE_SQLITE
#include "analysis/trace_store.h"
#endif
#ifdef KYMO_HAVE_METRICS
#include "metrics/findings.h"
#endif

struct diagnose_options {
	struct cli_filter filter;
	int format, names;
	int64_t top;
	bool all;
	const char *fail_on, *rules, *rule;
};

enum { NAMES_SHORT, NAMES_FULL };

static struct diagnose_options options;
static struct site_rules site; /* rules of the site */

#define AT(member) offsetof(struct diagnose_options, member)

static const struct knob rows[] = {
	{"format", 'f', KNOB_ENUM, 0, AT(format), "FORMAT", "text", REPORT_FORMATS, NULL,
	 "Findings", "How they are printed; times in csv and json are nanoseconds"},
	{"top", 0, KNOB_INTEGER, 0, AT(top), "N", "10", NULL, NULL, "Findings",
	 "Show so many findings; 0: all. In csv and json all are there"},
	{"all", 0, KNOB_FLAG, 0, AT(all), NULL, NULL, NULL, NULL, "Findings", "Show all"},
	{"names", 0, KNOB_ENUM, 0, AT(names), "HOW", "short", "short|full", NULL, "Findings",
	 "Cut names of kernels and functions to 60 columns, without the names of spaces before "
	 "them where they are longer; or show them whole, as csv and json do"},
	{"fail-on", 0, KNOB_STRING, 0, AT(fail_on), "RULE[>SHARE],...", NULL, NULL, NULL,
	 "Findings",
	 "Exit with status 1 if a finding of one of these rules is there (any: of any rule), with "
	 "SHARE if it could win more than so many per cent of the run: launch-bound>10,any>30"},
	{"rule", 0, KNOB_LIST, 0, AT(rule), "RULE,...", NULL, NULL, NULL, "Findings",
	 "Show what these rules find alone (kymo list rules); all are asked, and --fail-on judges "
	 "all"},
	{"rules", 0, KNOB_STRING, 0, AT(rules), "DIR", "/etc/kymo/rules.d", NULL, NULL, "Findings",
	 "Ask the rules in this folder as well: files NAME.sql (docs/diagnose.md)"},
	CLI_FILTER_KNOBS(struct diagnose_options),
};

static struct knob_table table = {.command = "diagnose",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

/* One of Kymo's or of the site's. */
static bool is_rule(const char *word, size_t n)
{
	for (uint32_t i = 0; i < rules_count; i++)
		if (strlen(rules[i]->id) == n && strncmp(rules[i]->id, word, n) == 0)
			return true;
#ifdef KYMO_HAVE_METRICS
	for (uint32_t i = 0; i < kernel_rules_count; i++)
		if (strlen(kernel_rules[i]->rule.id) == n &&
		    strncmp(kernel_rules[i]->rule.id, word, n) == 0)
			return true;
#endif
	for (uint32_t i = 0; i < site.count; i++)
		if (strlen(site.at[i]->rule.id) == n && strncmp(site.at[i]->rule.id, word, n) == 0)
			return true;
	return false;
}

/* ---- rules of the site ------------------------------------------------------------------------ */

static bool read_site_rules(void)
{
	int row = knob_find(&table, "rules");

	if (!options.rules || !*options.rules ||
	    site_rules_read(&site, options.rules, table.source[row] != KNOB_DEFAULT, &cli_log))
		return true;
	if (is_rule(options.rules, strcspn(options.rules, ",")))
		cli_note("what the rule %s finds alone: --rule %s", options.rules, options.rules);
	return false;
}

bool cli_site_rules(const char *named, struct site_rules *out, char error[KNOB_ERROR_MAX])
{
	const char *config = getenv("KYMO_CONFIG");
	int row = knob_find(&table, "rules");

	knob_defaults(&table);
	if ((named && !knob_set(&table, (unsigned)row, named, KNOB_ARGUMENT, error)) ||
	    !knob_parse_environment(&table, error) ||
	    (config && *config && !knob_parse_config(&table, config, error)))
		return false;
	error[0] = '\0';
	if (!read_site_rules())
		return false;
	*out = site;
	return true;
}

#ifdef KYMO_HAVE_SQLITE
static bool ask_site_rules(struct diagnosis *d, const char *trace)
{
	struct format_options o = {.log = &cli_log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Building the store"};
	struct store *store;
	bool ok;

	if (d->tl->partial || d->tl->window || d->tl->chosen) {
		text_add(&d->abstained, "rules of the site are asked of whole runs\n");
		return true;
	}
	if (trace_store_open(trace, false, &o, &store) != KYMO_OK)
		return true; /* said why */
	ok = site_rules_ask(&site, d, store, &cli_log);
	store_close(store);
	if (!ok)
		cli_error("not enough memory to ask the rules of the site");
	return ok;
}
#else
static bool ask_site_rules(struct diagnosis *d, const char *trace)
{
	cli_error("this kymo was built without SQLite, which rules of the site need");
	return true;
}
#endif

/* ---- rules of kernels ------------------------------------------------------------------------- */

#ifdef KYMO_HAVE_METRICS
enum { KERNELS_ASKED = 5 /* those that took most time */ };

static bool ask_store(struct diagnosis *d, struct store *store)
{
	struct metric_set set = {.denom = NULL};
	struct kernel_findings f = {.set = &set, .store = store};
	struct kernel_data data = {0};
	char error[200];
	bool ok = metric_set_read(&set, NULL, error, sizeof(error)) &&
		  kernel_data_read(&data, store, &cli_log) &&
		  kernel_findings_find(&f, &data, KERNELS_ASKED) && kernel_findings_tell(&f, d);

	kernel_findings_release(&f);
	kernel_data_release(&data);
	metric_set_release(&set);
	return ok;
}

static bool ask_kernel_rules(struct diagnosis *d, const struct summary *s,
			     const struct stream_filter *filter)
{
	struct format_options o = {.log = &cli_log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Building the store"};
	struct store *store;
	bool ok;

	if (!kernel_counters_in(s))
		return true;
	if (filter) {
		text_add(&d->abstained, "rules of kernels are asked of whole runs: kymo kernels "
					"takes a selection\n");
		return true;
	}
	if (trace_store_open(s->path, false, &o, &store) != KYMO_OK)
		return true; /* said why */
	ok = ask_store(d, store);
	store_close(store);
	if (!ok)
		cli_error("not enough memory to ask the rules of kernels");
	return ok;
}
#else
static bool ask_kernel_rules(struct diagnosis *d, const struct summary *s,
			     const struct stream_filter *filter)
{
	return true;
}
#endif

/* ---- --fail-on ---------------------------------------------------------------------------------- */

static const char *next_word(const char *list, const char **end)
{
	*end = list + strcspn(list, ",");
	return list;
}

static size_t rule_length(const char *word, const char *end)
{
	size_t n = strcspn(word, ">,");

	return (size_t)(end - word) < n ? (size_t)(end - word) : n;
}

static bool names_rule(const char *word, size_t n)
{
	return (n == 3 && strncmp(word, "any", 3) == 0) || is_rule(word, n);
}

/* Per cent after the `>`; false: that is no number. */
static bool share_of(const char *word, const char *end, double *share)
{
	const char *sign = memchr(word, '>', (size_t)(end - word));
	char *rest;

	*share = 0;
	if (!sign)
		return true;
	*share = strtod(sign + 1, &rest);
	while (rest < end && (*rest == ' ' || *rest == '%'))
		rest++;
	return rest == end && rest != sign + 1 && *share >= 0;
}

static bool check_fail_on(void)
{
	const char *end;

	if (options.fail_on && !*options.fail_on) {
		cli_usage("diagnose", "--fail-on: which rules? `kymo list rules` names them");
		return false;
	}
	for (const char *w = options.fail_on; w && *w; w = *end ? end + 1 : end) {
		double share;

		next_word(w, &end);
		if (!names_rule(w, rule_length(w, end))) {
			cli_usage("diagnose",
				  "--fail-on: there is no rule \"%.*s\"; `kymo list rules` names "
				  "them",
				  (int)rule_length(w, end), w);
			return false;
		}
		if (!share_of(w, end, &share)) {
			cli_usage("diagnose",
				  "--fail-on: \"%.*s\": after > there is a share in "
				  "per cent",
				  (int)(end - w), w);
			return false;
		}
	}
	return true;
}

/* --rule */
static bool check_rule(void)
{
	const char *end;

	for (const char *w = options.rule; w; w = *end ? end + 1 : NULL) {
		next_word(w, &end);
		if (is_rule(w, (size_t)(end - w)))
			continue;
		cli_usage("diagnose",
			  "--rule: there is no rule \"%.*s\"; `kymo list rules` names them",
			  (int)(end - w), w);
		return false;
	}
	return true;
}

static bool fails(const struct diagnosis *d)
{
	const char *end;

	for (const char *w = options.fail_on; w && *w; w = *end ? end + 1 : end) {
		double share;
		size_t n;

		next_word(w, &end);
		n = rule_length(w, end);
		share_of(w, end, &share);
		for (uint32_t i = 0; i < d->count; i++) {
			const struct finding *f = &d->findings[i];
			bool named = (n == 3 && strncmp(w, "any", 3) == 0) ||
				     (strlen(f->rule->id) == n && strncmp(f->rule->id, w, n) == 0);

			/* One without a gain is there or not. */
			if (named &&
			    (100 * diagnosis_share(d, f->gain) > share || (!f->gain && share == 0)))
				return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------ */

static int print(struct diagnosis *d)
{
	uint32_t top = options.all || options.top > UINT32_MAX ? 0 : (uint32_t)options.top;
	int result = fails(d) ? CLI_NO : CLI_OK;

	if (options.rule)
		diagnosis_keep(d, options.rule);
	if (options.format == REPORT_TEXT)
		pager_start(result);
	if (!findings_print(d, (enum report_format)options.format, top, 0, stdout)) {
		cli_error("the findings could not be written");
		return CLI_FAILURE;
	}
	return result;
}

/* Whom they wait for may be left out. */
static bool of_some_processes(void)
{
	return options.filter.ranks || options.filter.processes || options.filter.nodes;
}

static int tell(struct summary *s, const struct stream_filter *filter)
{
	struct symbols *symbols = symbols_new(s->trace, &cli_log);
	struct diagnosis d = {.whole_names =
				      !report_for_people((enum report_format)options.format) ||
				      options.names == NAMES_FULL};
	int result = CLI_FAILURE;

	if (symbols && diagnose(&d, s->path, s->timeline, s->tallies, symbols)) {
		if (of_some_processes())
			text_add(&d.abstained,
				 "some ranks or processes alone were chosen: how long they "
				 "wait for the others is not told\n");
		if ((!site.count || ask_site_rules(&d, s->path)) && ask_kernel_rules(&d, s, filter))
			result = print(&d);
		diagnosis_release(&d);
	} else {
		cli_error("not enough memory to diagnose %s", s->path);
	}
	symbols_free(symbols);
	return result;
}

static int diagnose_trace(const char *path)
{
	struct format_options o = {.log = &cli_log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	struct stream_filter *filter;
	kymo_status_t status;
	struct summary s;
	bool failed;
	int result;

	if (!check_fail_on() || !check_rule())
		return CLI_USAGE;
	filter = cli_filter_new(&options.filter, 1, &failed);
	if (failed)
		return CLI_USAGE;
	if (filter && !stream_filter_only_when(filter)) {
		stream_filter_free(filter);
		return cli_usage("diagnose",
				 "findings are told of whole runs, or of a part by time (--after, "
				 "--before), process, rank or node: what other options leave out "
				 "may be what the rest waited for");
	}
	o.filter = filter;
	status = summary_read(&s, path, SUMMARY_RAW, &o);
	result = cli_exit(status);
	/* What could be read of a damaged trace is told, and that some could not. */
	if (status == KYMO_OK) {
		result = tell(&s, filter);
		summary_release(&s);
	}
	stream_filter_free(filter);
	return result;
}

static int run_diagnose(int argc, char **argv)
{
	int result;

	if (argc != 1)
		return cli_usage("diagnose",
				 argc ? "one trace at a time"
				      : "which trace? (the directory that `kymo run` left)");
	if (!read_site_rules())
		return CLI_FAILURE;
	result = diagnose_trace(argv[0]);
	site_rules_release(&site);
	cli_log_finish();
	return result == CLI_OK && cli_told_errors() ? CLI_FAILURE : result;
}

const struct command cmd_diagnose = {
	.name = "diagnose",
	.operands = "[OPTION]... TRACE",
	.summary = "Tell what holds a run back, and what could be won",
	.about = "Findings, the one with the most to win first: how much of the run it could win, "
		 "where, what\n"
		 "shows it, what to try. `kymo list rules` explains the rules.",
	.knobs = &table,
	.traces = true,
	.run = run_diagnose,
};
