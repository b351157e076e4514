/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo compare`: what changed between two runs, or two sets of runs, beyond noise. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/pager.h"
#include "report/report.h"

enum { NAMES_FOLDED, NAMES_FULL };

struct options {
	struct cli_filter filter;
	const char *by, *threshold, *share, *noise;
	int format, names;
	int64_t top;
	bool all;
};

static struct options options;

#define AT(member) offsetof(struct options, member)

static const struct knob rows[] = {
	{"threshold", 0, KNOB_STRING, 0, AT(threshold), "PERCENT", "2", NULL, NULL, "Compare",
	 "The least change that counts, besides being beyond noise"},
	{"share", 0, KNOB_STRING, 0, AT(share), "PERCENT", "1", NULL, NULL, "Compare",
	 "Judge what has so much of the time of its kind (device work, calls, ranges); the more "
	 "is judged, the more each must differ"},
	{"noise", 0, KNOB_STRING, 0, AT(noise), "PERCENT", "3", NULL, NULL, "Compare",
	 "How much runs of one program differ on this machine (standard deviation), which one run "
	 "a side cannot tell; of several it is measured"},
	{"by", 0, KNOB_LIST, 0, AT(by), "LIST", "op", "op|scope|rank|device|iteration", NULL,
	 "Compare",
	 "What is compared with what: operations and kernels, also split by the ranges they are "
	 "in, "
	 "ranks, devices; iteration: the n-th execution of each range"},
	{"format", 'f', KNOB_ENUM, 0, AT(format), "FORMAT", "text", REPORT_FORMATS, NULL, "Compare",
	 "How it is printed; times in csv and json are nanoseconds"},
	{"top", 0, KNOB_INTEGER, 0, AT(top), "N", "10", NULL, NULL, "Compare",
	 "Show so many rows of each table; 0: all. In csv and json all rows are there"},
	{"all", 0, KNOB_FLAG, 0, AT(all), NULL, NULL, NULL, NULL, "Compare",
	 "Show all rows of the tables"},
	{"names", 0, KNOB_ENUM, 0, AT(names), "HOW", "folded", "folded|full", NULL, "Compare",
	 "Take ranges whose names differ only in a counter, a handle or fields (\"step 1\", \"step "
	 "2\") for one, or each for itself"},
	CLI_FILTER_KNOBS(struct options),
};

static struct knob_table table = {.command = "compare",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .separates = true,
				  .values = &options};

/* "2", "0.5": a share of 0.02, 0.005. */
static bool parse_percent(const char *text, const char *option, double *out)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !isfinite(v) || v < 0 || v > 1000) {
		cli_usage("compare", "--%s %s: not a number of per cent", option, text);
		return false;
	}
	*out = v / 100;
	return true;
}

static bool parse_options(struct compare_options *o)
{
	static const struct {
		const char *word;
		unsigned by;
	} words[] = {{"scope", COMPARE_BY_SCOPE},
		     {"rank", COMPARE_BY_RANK},
		     {"device", COMPARE_BY_DEVICE},
		     {"iteration", COMPARE_BY_ITERATION}};

	*o = (struct compare_options){
		.full_names = options.names == NAMES_FULL,
		.people = report_for_people((enum report_format)options.format)};
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		o->by |= knob_list_has(options.by, words[i].word) ? words[i].by : 0;
	return parse_percent(options.threshold, "threshold", &o->threshold) &&
	       parse_percent(options.share, "share", &o->share) &&
	       parse_percent(options.noise, "noise", &o->noise);
}

/* Two words are two runs, more need "--" between the sides. Moves those of B down over it. */
static bool split_sides(int argc, char **argv, int *a, int *b)
{
	int at = -1;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		if (at >= 0) {
			cli_usage("compare", "there are two sides: one \"--\" parts them");
			return false;
		}
		at = i;
	}
	if (at < 0 && argc != 2) {
		cli_usage("compare",
			  argc < 2 ? "which traces? two, or those of A, \"--\", those of B"
				   : "which of these are A, which B? put \"--\" between them: "
				     "kymo compare A1 A2 -- B1 B2");
		return false;
	}
	if (at < 0) {
		*a = *b = 1;
		return true;
	}
	if (at == 0 || at == argc - 1) {
		cli_usage("compare",
			  "a side has no trace: there must be some before and after \"--\"");
		return false;
	}
	argv[at] = NULL;
	*a = cli_distinct(at, argv);
	*b = cli_distinct(argc - at - 1, argv + at + 1);
	memmove(argv + *a, argv + at + 1, (size_t)*b * sizeof(*argv));
	return true;
}

static int print_result(struct compare *c)
{
	struct report r = {.top = options.all || options.top > UINT32_MAX ? 0
									  : (uint32_t)options.top,
			   .more = "--top N, --all"};
	enum report_format format = (enum report_format)options.format;
	int result = CLI_FAILURE;

	if (compare_judge(c) && compare_report(&r, c) == KYMO_OK) {
		/* Where nothing is judged, 0 would claim that nothing takes longer. */
		result = compare_worse(c) ? CLI_NO : c->tests ? CLI_OK : CLI_FAILURE;
		if (format == REPORT_TEXT)
			pager_start(result);
		if (!report_print(&r, format, stdout)) {
			cli_error("the comparison could not be written");
			result = CLI_FAILURE;
		} else if (result == CLI_FAILURE) {
			pager_end();
			cli_error(
				"nothing could be compared: no item and no time is in all runs of "
				"both sides, long and whole enough to judge it; see the reasons "
				"above, kymo info TRACE for what was recorded, --share 0 for what "
				"takes little time");
		}
	} else {
		cli_error("not enough memory for the comparison");
	}
	report_release(&r);
	return result;
}

static int run_compare(int argc, char **argv)
{
	struct format_options o = {.log = &cli_log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Reading"};
	struct compare_options choices;
	struct stream_filter *filter;
	struct compare c;
	kymo_status_t status;
	int a, b, result;
	bool failed;

	if (!parse_options(&choices) || !split_sides(argc, argv, &a, &b))
		return CLI_USAGE;
	filter = cli_filter_new(&options.filter, (unsigned)(a + b), &failed);
	if (failed)
		return CLI_USAGE;
	o.filter = filter;
	status = compare_read(&c, argv, (unsigned)a, (unsigned)b, &choices, &o);
	if (status == KYMO_OK)
		status = stream_filter_finish(filter);
	result = status == KYMO_OK ? print_result(&c) : cli_exit(status);
	cli_log_finish();
	compare_release(&c);
	stream_filter_free(filter);
	return result <= CLI_NO && cli_told_errors() ? CLI_FAILURE : result;
}

const struct command cmd_compare = {
	.name = "compare",
	.operands = "[OPTION]... A B | [OPTION]... A... -- B...",
	.summary = "Show what takes longer in B than in A, beyond noise",
	.about =
		"Compares two runs, or two sets of runs: kernels, copies, calls and ranges by "
		"name,\n"
		"and the runs as a whole. Exit status 1: something takes longer, by more than "
		"noise\n"
		"and --threshold. Several runs a side, recorded by turns, tell far more than one:\n"
		"  kymo compare before-*.kymo -- after-*.kymo\n"
		"Work that only one side has, and amounts of bytes and calls, are listed apart.",
	.knobs = &table,
	.traces = true,
	.run = run_compare,
};
