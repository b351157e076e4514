/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list keys`: what the name of a trace may be made of, with the present values. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/list_output.h"
#include "cli/trace_keys.h"

static void add_key(struct list_output *o, const struct trace_keys_of *of,
		    const struct trace_key *k)
{
	struct text written = {0}, value = {0}, error = {0};
	bool known;

	if (k->example && k->braces)
		text_addf(&written, "%%%s{%s}%%", k->name, k->example);
	else
		text_addf(&written, "%%%s%s%%", k->name, k->example ? k->example : "");
	known = trace_keys_expand(of, written.s, &value, &error);
	LIST_ROW(o, k->shown,
		 known                          ? value.s
		 : list_format() == REPORT_TEXT ? "-"
						: NULL,
		 k->varies ? "rank" : "job", k->what, known ? NULL : error.s);
	text_release(&written);
	text_release(&value);
	text_release(&error);
}

static int run(int argc, char **argv)
{
	char *example[] = {(char *)(uintptr_t) "./a.out", (char *)(uintptr_t) "x", NULL};
	struct trace_keys_of of = {.argv = argc ? argv : example};
	struct list_output o;
	struct job job;

	job_of_process(&job, 0);
	of.job = &job;
	list_begin(&o, "keys", "Keys",
		   (const char *const[]){"key", "value", "per", "what", "why_not", NULL},
		   (const unsigned[]){12, 16, 4, 0});
	for (size_t i = 0; i < trace_keys_count; i++)
		add_key(&o, &of, &trace_keys[i]);
	return list_end(&o);
}

extern const struct list list_keys;
const struct list list_keys = {
	"keys", "Keys in names of traces (run -o), with the values that they have now", run,
	"[PROGRAM [ARGUMENT]...]"};
