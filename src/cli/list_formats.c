/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list formats`. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/list_output.h"
#include "formats/format.h"

static void add_variants(struct list_output *o, const struct format *f)
{
	char line[400];

	if (list_format() != REPORT_TEXT || !f->variants)
		return;
	snprintf(line, sizeof(line), "--to %s:VARIANT: %s", f->name, f->variants);
	LIST_ROW(o, NULL, NULL, NULL, NULL, line, NULL);
}

static int run(int argc, char **argv)
{
	/* People have the variants in a line of their own. */
	bool apart = list_format() != REPORT_TEXT;
	struct list_output o;

	if (argc)
		return cli_usage("list", "list formats takes no more words, not \"%s\"", argv[0]);
	list_begin(&o, "formats", "Formats",
		   (const char *const[]){"name", "read", "write", "suffix", "description",
					 apart ? "variants" : NULL, NULL},
		   (const unsigned[]){10, 5, 6, 10, 0});
	for (const struct format *const *f = format_table; *f; f++) {
		LIST_ROW(&o, (*f)->name, (*f)->read ? "read" : NULL, (*f)->write ? "write" : NULL,
			 *(*f)->suffix ? (*f)->suffix : NULL, (*f)->summary, (*f)->variants);
		add_variants(&o, *f);
	}
	return list_end(&o);
}

extern const struct list list_formats;
const struct list list_formats = {"formats", "Formats that can be read or written", run, NULL};
