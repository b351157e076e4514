/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list rules`. */
#include "analysis/diagnose.h"
#include "cli/cli.h"

static int run(int argc, char **argv)
{
	if (argc)
		return cli_usage("list", "list rules takes no more words, not \"%s\"", argv[0]);
	for (uint32_t i = 0; i < rules_count; i++) {
		const struct rule *r = rules[i];

		printf("%s: %s\n", r->id, r->what);
		printf("  from %.3g %% of the run: %s\n", 100 * r->threshold, r->why);
		printf("  gain: %s\n", r->cost);
	}
	return CLI_OK;
}

extern const struct list list_rules;
const struct list list_rules = {"rules", "What `kymo diagnose` looks for, and its thresholds", run,
				NULL};
