/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up in the table of formats. */
#include <string.h>

#include "formats/format.h"

static const char *const kinds[] = {"call",          "dispatch",      "copy",        "allocation",
				    "sync",          "marker",        "comm",        "counter",
				    "sample",        "device_sample", "kernel_line", "code_object",
				    "kernel_symbol", "stream",        "thread",      "runtime_init",
				    "scope",         "retirement",    NULL};

const struct format *format_find(const char *name)
{
	for (const struct format *const *f = format_table; *f; f++) {
		if (strcmp((*f)->name, name) == 0)
			return *f;
	}
	return NULL;
}

const char *const *format_kinds(void)
{
	return kinds;
}

const struct format_kind *format_kind(const struct format *f, const char *kind)
{
	static const struct format_kind nothing;
	const struct format_kind *k = f->kinds;

	while (k && k->kind && strcmp(k->kind, kind) != 0 && strcmp(k->kind, "*") != 0)
		k++;
	return k && k->kind ? k : &nothing;
}
