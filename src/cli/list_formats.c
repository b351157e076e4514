/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list formats`, and of one what it does with each kind of record. */
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

static int list_all(void)
{
	/* People have the variants in a line of their own. */
	bool apart = list_format() != REPORT_TEXT;
	struct list_output o;

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

static int list_kinds(const struct format *f)
{
	static const char *const words[] = {
		[FORMAT_LEAVES] = "no", [FORMAT_KEEPS_PART] = "lossy", [FORMAT_KEEPS_ALL] = "yes"};
	struct list_output o;

	list_begin(&o, "kinds", "Kinds of records",
		   (const char *const[]){"kind", "kept", "left_out", "why", NULL},
		   (const unsigned[]){13, 5, 40});
	for (const char *const *kind = format_kinds(); *kind; kind++) {
		const struct format_kind *k = format_kind(f, *kind);

		LIST_ROW(&o, *kind, words[k->keeps],
			 k->told || k->keeps == FORMAT_KEEPS_ALL ? k->told : *kind, k->why);
	}
	return list_end(&o);
}

static int run(int argc, char **argv)
{
	const struct format *f;

	if (argc > 1)
		return cli_usage("list", "list formats takes one format, not also \"%s\"", argv[1]);
	if (!argc)
		return list_all();
	f = format_find(argv[0]);
	if (!f)
		return cli_usage("list", "there is no format \"%s\"; see kymo list formats",
				 argv[0]);
	if (!f->write)
		return cli_usage(
			"list",
			"%s is read, not written; docs/imports.md has what is not taken of it",
			f->name);
	return list_kinds(f);
}

extern const struct list list_formats;
const struct list list_formats = {"formats",
				  "Formats that can be read or written, of one what it leaves out",
				  run, "[FORMAT]"};
