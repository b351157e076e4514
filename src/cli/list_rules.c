/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list rules`. */
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose.h"
#include "cli/cli.h"
#include "cli/list_output.h"
#include "cli/site_rules.h"
#ifdef KYMO_HAVE_METRICS
#include "metrics/findings.h"
#endif

/* People have lines, others a row. */
static void tell(struct list_output *o, const struct rule *r, const char *path)
{
	char threshold[32];

	if (list_format() != REPORT_TEXT) {
		snprintf(threshold, sizeof(threshold), "%.3g", 100 * r->threshold);
		LIST_ROW(o, r->id, r->what, threshold, r->repeats ? "work" : "run", r->why, r->cost,
			 path);
		return;
	}
	printf("%s: %s\n", r->id, r->what);
	if (r->threshold > 0)
		printf("  from %.3g %% of %s: %s\n", 100 * r->threshold,
		       r->repeats ? "the time in which devices are at work" : "the run", r->why);
	else
		printf("  by its own measure: %s\n", r->why);
	printf("  gain: %s\n", r->cost);
	if (path)
		printf("  from: %s\n", path);
}

static bool folder_of(int argc, char **argv, const char **folder)
{
	*folder = NULL;
	if (argc == 2 && strcmp(argv[0], "--rules") == 0)
		*folder = argv[1];
	else if (argc == 1 && strncmp(argv[0], "--rules=", 8) == 0)
		*folder = argv[0] + 8;
	else
		return argc == 0;
	return true;
}

static int run(int argc, char **argv)
{
	char error[KNOB_ERROR_MAX];
	struct site_rules site;
	struct list_output o;
	const char *folder;
	bool known;
	int result;

	if (!folder_of(argc, argv, &folder))
		return cli_usage("list", "list rules takes --rules DIR or nothing, not \"%s\"",
				 argv[0]);
	list_begin(&o, "rules", "Rules",
		   (const char *const[]){"rule", "what", "threshold_percent", "of", "why", "gain",
					 "file", NULL},
		   (const unsigned[]){0, 0, 0, 0, 0, 0});
	for (uint32_t i = 0; i < rules_count; i++)
		tell(&o, rules[i], NULL);
#ifdef KYMO_HAVE_METRICS
	for (uint32_t i = 0; i < kernel_rules_count; i++)
		tell(&o, &kernel_rules[i]->rule, NULL);
#endif
	known = cli_site_rules(folder, &site, error);
	if (!known && *error)
		cli_error("%s", error);
	for (uint32_t i = 0; known && i < site.count; i++)
		tell(&o, &site.at[i]->rule, site.at[i]->path);
	if (known)
		site_rules_release(&site);
	result = list_end(&o);
	return !known || cli_told_errors() ? CLI_FAILURE : result;
}

extern const struct list list_rules;
const struct list list_rules = {
	"rules",
	"What `kymo diagnose` looks for, and its thresholds; --rules DIR: a site's as well", run,
	"[--rules DIR]"};
