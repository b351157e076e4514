/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one scenario of a probe; see check.h. */
#include "check.h"

#include <string.h>

int check_failures;

int check_run(const struct check_scenario *scenarios, int argc, char **argv)
{
	for (; argc > 1 && scenarios->name; scenarios++) {
		if (strcmp(scenarios->name, argv[1]) != 0)
			continue;
		scenarios->run();
		printf("%s: %d failures\n", argv[1], check_failures);
		return check_failures != 0;
	}
	fprintf(stderr, "no scenario %s\n", argc > 1 ? argv[1] : "given");
	return 2;
}
