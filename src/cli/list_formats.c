/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list formats`. */
#include "cli/cli.h"
#include "formats/format.h"

static int run(int argc, char **argv)
{
	if (argc)
		return cli_usage("list", "list formats takes no more words, not \"%s\"", argv[0]);
	for (const struct format *const *f = format_table; *f; f++) {
		printf("%-10s %-4s  %-5s  %-10s %s\n", (*f)->name, (*f)->read ? "read" : "",
		       (*f)->write ? "write" : "", (*f)->suffix, (*f)->summary);
		if ((*f)->variants)
			printf("%-36s --to %s:VARIANT: %s\n", "", (*f)->name, (*f)->variants);
	}
	return CLI_OK;
}

extern const struct list list_formats;
const struct list list_formats = {"formats", "Formats that can be read or written", run, NULL};
