/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what `kymo run` and `kymo attach` are asked for can be had, and goes together; see run.h. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "telemetry/telemetry.h"

bool check_has_window(const struct run_options *o)
{
	return o->delay_ns || o->duration_ns || o->after_ns || o->before_ns || o->period;
}

void counters_become(struct run_options *o, char *list)
{
	static char *made;
	char *before = made;

	o->counters = made = list;
	free(before);
}

static enum knob_source source_of(const char *option)
{
	return run_options_table.source[knob_find(&run_options_table, option)];
}

/* When a preset would record gives way to what else says when. */
static void settle_times(struct run_options *o)
{
	static const char *const limits[] = {"delay", "duration", "after", "before"};
	bool said = false, of_preset = source_of("period") == KNOB_PRESET;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		said |= source_of(limits[i]) > KNOB_PRESET;
	if (of_preset && (said || o->start_paused)) {
		o->period = NULL;
	} else if (!of_preset && source_of("period") != KNOB_DEFAULT && !said) {
		o->delay_ns = o->duration_ns = o->after_ns = o->before_ns = 0;
	}
}

/* What says when to record, and cannot be said together. 0 or the exit status. */
static int check_times(const struct run_options *o)
{
	if (o->start_paused && check_has_window(o))
		return cli_usage("run",
				 "--start-paused leaves the time to the program: it goes with "
				 "none of --delay, --duration, --after, --before and --period");
	if (o->period && (o->delay_ns || o->duration_ns || o->after_ns || o->before_ns))
		return cli_usage("run",
				 "--period has a delay and a duration of its own: it goes with "
				 "none of --delay, --duration, --after and --before");
	if (o->before_ns && o->before_ns <= o->after_ns)
		return cli_usage("run", "--before is not later than --after");
	return 0;
}

/* What the environment says is a number, if it says anything: the command may start the ranks. */
static bool number_valid(const char *name)
{
	const char *value = *name ? getenv(name) : NULL;
	struct number_list n = {0};
	bool ok = !value || !*value ||
		  (numbers_parse(&n, value) && n.count == 1 && n.at[0].first == n.at[0].last &&
		   n.at[0].first < JOB_UNKNOWN);

	free(n.at);
	if (!ok)
		cli_error("--rank-variable: %s is \"%.100s\", which is no number", name, value);
	return ok;
}

/* Before this process is asked for its rank. */
bool check_rank_variable(const char *names)
{
	char rank[JOB_NAME], size[JOB_NAME];
	struct job job;

	if (!names)
		return true;
	if (!job_variable_split(names, rank, size)) {
		cli_error("--rank-variable \"%.200s\": expected the name of a variable, or two, as "
			  "in MY_RANK:MY_SIZE",
			  names);
		return false;
	}
	if (!number_valid(rank) || !number_valid(size))
		return false;
	job_use_variable(names);
	job_of_process(&job, 0);
	if (job.rank != JOB_UNKNOWN || !getenv(rank) || !*getenv(rank))
		return true;
	cli_error("--rank-variable: %s is %s, and there are %s ranks (%s)", rank, getenv(rank),
		  *size && getenv(size) ? getenv(size) : "no", *size ? size : "no variable");
	return false;
}

/* NAME, or NAME#N-M. */
static bool range_valid(const char *option, const char *text)
{
	struct number_list numbers = {0};
	char *name = text ? strdup(text) : NULL;
	bool ok = !name || (*name && numbers_cut(name, &numbers));

	if (!ok && *text)
		cli_error("--%s \"%s\": after # come the numbers of executions, the first one is "
			  "1: NAME#5, NAME#100-110 or NAME#1,3",
			  option, text);
	else if (!ok)
		cli_error("--%s: which range? Give its name", option);
	free(numbers.at);
	free(name);
	return ok;
}

/* Numbers, else a regular expression. */
static bool devices_valid(const char *text)
{
	struct number_list numbers = {0};
	char why[200];
	regex_t regex;
	int error = 0;

	if (!text || numbers_parse(&numbers, text)) {
		free(numbers.at);
		return true;
	}
	free(numbers.at);
	if (!text_regex_bearable(text, why, sizeof(why))) {
		cli_error("--device \"%s\" %s", text, why);
		return false;
	}
	error = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
	regerror(error, &regex, why, sizeof(why));
	if (error)
		cli_error("--device \"%s\" is neither numbers nor a regular expression: %s", text,
			  why);
	else
		regfree(&regex);
	return !error;
}

/* An option that asks for a domain adds it to those of --backends, which may not take it out. 0 or the exit status. */
static int add_domain(struct run_options *o, const char *option, const char *domain)
{
	char less[32];
	struct text all = {0};

	if (knob_list_has(o->backends, domain))
		return 0;
	snprintf(less, sizeof(less), "-%s", domain);
	if (knob_list_names(o->backends, less)) {
		cli_error("--%s records what --backends %s leaves out", option, o->backends);
		return CLI_USAGE;
	}
	if (strcmp(o->backends, "none") != 0)
		text_addf(&all, "%s,", o->backends);
	text_add(&all, domain);
	if (all.failed) {
		cli_error("out of memory");
		return CLI_FAILURE;
	}
	o->backends = all.s; /* for ever */
	return 0;
}

static int settle_domains(struct run_options *o)
{
	int status = o->functions ? add_domain(o, "functions", "function") : 0;

	return !status && o->threads ? add_domain(o, "threads", "pthread") : status;
}

/* What is asked for can be had. 0 or the exit status. */
int check_options(const struct run_options *o)
{
	int status;

	if (o->telemetry_ms > 3600000)
		return cli_usage("run", "--telemetry takes milliseconds, 3600000 at most");
	if (!metrics_take(&run_options_values) || !formulas_take(&run_options_values) ||
	    !events_take(&run_options_values) || !telemetry_valid(o))
		return CLI_USAGE;
	events_read(&run_options_values);
	settle_times(&run_options_values);
	status = check_times(o);
	if (!status)
		status = kill_check(o);
	if (!status)
		status = settle_domains(&run_options_values);
	if (status)
		return status;
	return range_valid("range", o->range) && range_valid("during", o->during) &&
			       devices_valid(o->device)
		       ? 0
		       : CLI_USAGE;
}
