/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list rules`. */
#include <string.h>

#include "analysis/diagnose.h"
#include "cli/cli.h"
#include "cli/site_rules.h"

static void print(const struct rule *r)
{
	printf("%s: %s\n", r->id, r->what);
	printf("  from %.3g %% of %s: %s\n", 100 * r->threshold,
	       r->repeats ? "the time in which devices are at work" : "the run", r->why);
	printf("  gain: %s\n", r->cost);
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
	const char *folder;

	if (!folder_of(argc, argv, &folder))
		return cli_usage("list", "list rules takes --rules DIR or nothing, not \"%s\"",
				 argv[0]);
	for (uint32_t i = 0; i < rules_count; i++)
		print(rules[i]);
	if (!cli_site_rules(folder, &site, error)) {
		if (*error)
			cli_error("%s", error);
		return CLI_FAILURE;
	}
	for (uint32_t i = 0; i < site.count; i++) {
		print(&site.at[i]->rule);
		printf("  from: %s\n", site.at[i]->path);
	}
	site_rules_release(&site);
	return cli_told_errors() ? CLI_FAILURE : CLI_OK;
}

extern const struct list list_rules;
const struct list list_rules = {
	"rules",
	"What `kymo diagnose` looks for, and its thresholds; --rules DIR: a site's as well", run,
	"[--rules DIR]"};
