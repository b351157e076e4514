/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo run --functions`: chooses functions before the program runs, lists them, and hands on the plan of patches. `kymo instrument`: likewise, into a file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "cli/cli.h"
#include "cli/run.h"
#ifdef KYMO_HAVE_FUNCTIONS
#include "base/units.h"
#include "functions/build.h"
#include "functions/choose.h"
#include "functions/instrument.h"
#include "functions/modules.h"
#include "report/report.h"
#include "stream/demangle.h"

struct taking {
	const struct run_options *o;
	struct choose choose;
	struct decoder *decoder;
	struct build build;
	struct report report;
	struct table *table; /* of --functions-list, or NULL */
	uint64_t counts[VERDICTS];
	uint64_t matching, fragments;
	bool failed;
};

/* ---- lists ---- */

static void make_table(struct taking *t)
{
	static const char *const titles[] = {"", "Functions that can be patched",
					     "Functions that are chosen",
					     "Functions that cannot be patched"};

	if (t->o->functions_list == RUN_FUNCTIONS_NONE)
		return;
	t->report.alone = true;
	t->table = report_table(&t->report, "functions", titles[t->o->functions_list]);
	if (!t->table)
		return;
	table_column(t->table, "module", "module", CELL_TEXT);
	table_column(t->table, "address", "address", CELL_TEXT);
	table_column(t->table, "bytes", "bytes", CELL_COUNT);
	table_column(t->table, "instructions", "instructions", CELL_COUNT);
	table_column(t->table, "verdict", "verdict", CELL_TEXT);
	table_column(t->table, "function", "function", CELL_TEXT);
	if (t->o->functions_list == RUN_FUNCTIONS_REFUSED)
		table_column(t->table, "reason", "reason", CELL_TEXT);
}

static bool is_listed(const struct taking *t, const struct function *x)
{
	switch (t->o->functions_list) {
	case RUN_FUNCTIONS_AVAILABLE:
		return !verdict_refused(x->verdict);
	case RUN_FUNCTIONS_CHOSEN:
		return x->verdict == VERDICT_CHOSEN;
	case RUN_FUNCTIONS_REFUSED:
		return verdict_refused(x->verdict);
	default:
		return false;
	}
}

static void list_function(struct taking *t, const struct functions *f, const struct function *x)
{
	struct cell *cells = t->table ? table_row(t->table) : NULL;
	const char *slash = f->image.path ? strrchr(f->image.path, '/') : NULL;
	char address[32], *written = x->name ? demangle(x->name) : NULL;

	if (cells) {
		snprintf(address, sizeof(address), "0x%" PRIx64, x->entry);
		cell_text(t->table, &cells[0], slash ? slash + 1 : "");
		cell_text(t->table, &cells[1], address);
		cell_number(&cells[2], x->bytes);
		if (x->instructions)
			cell_number(&cells[3], x->instructions);
		cell_text(t->table, &cells[4], verdict_word(x->verdict));
		cell_text(t->table, &cells[5], written ? written : x->name ? x->name : address);
		if (t->o->functions_list == RUN_FUNCTIONS_REFUSED)
			cell_text(t->table, &cells[6], verdict_text(x->verdict));
	}
	free(written);
}

/* ---- files ---- */

/* Parts of functions that lie elsewhere (.cold) are no functions: they go with those that they are of. */
static void count_functions(struct taking *t, const struct functions *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const struct function *x = &f->items[i];

		if (!x->wanted)
			continue;
		if (x->verdict == VERDICT_FRAGMENT) {
			t->fragments++;
			continue;
		}
		t->matching++;
		t->counts[x->verdict]++;
		if (is_listed(t, x))
			list_function(t, f, x);
	}
}

/* Which functions are recorded was decided when it was made. */
static void take_instrumented(struct taking *t, const struct image *m)
{
	uint64_t count = 0;

	t->failed |= !build_add_instrumented(&t->build, m, &count);
	t->matching += count;
	t->counts[VERDICT_CHOSEN] += count;
	cli_note("functions: %s was instrumented: the %s functions that were chosen then are "
		 "recorded",
		 m->path, UNITS_COUNT(count));
}

static void take_file(struct taking *t, const char *path, bool program)
{
	char why[IMAGE_WHY];
	struct functions f = {0};

	if (!choose_module(&t->choose, path, program))
		return;
	if (*choose_never(path)) {
		cli_note("--functions: none of %s is traced: %s", path, choose_never(path));
		return;
	}
	if (!choose_functions(&t->choose, &f, t->decoder, path, program, why))
		cli_warn("--functions: %s: %s", path, why);
	else if (f.image.instrumented)
		take_instrumented(t, &f.image);
	else if (!build_add(&t->build, &f, t->decoder))
		t->failed = true;
	else
		count_functions(t, &f);
	functions_release(&f);
}

/* Libraries that the program loads later are there only if they are named by their path. */
static bool add_named(const struct choose *c, struct modules *m)
{
	bool ok = true;

	for (uint32_t i = 0; i < c->wanted.count && ok; i++)
		if (c->wanted.items[i].path)
			ok = modules_add(m, c->wanted.items[i].path);
	return ok;
}

static void take_files(struct taking *t, const char *path)
{
	static char file[PATH_MAX];
	struct modules m;

	program_file(path, file);
	if (!modules_find(&m, file) || !add_named(&t->choose, &m))
		t->failed = true;
	for (uint32_t i = 0; i < m.count && !t->failed; i++)
		take_file(t, m.paths[i], i == 0);
	modules_release(&m);
}

/* ---- what is told ---- */

static void tell_refused(const struct taking *t, uint64_t refused)
{
	struct text reasons = {0};

	for (int v = VERDICT_REFUSED_FIRST; v < VERDICTS; v++)
		if (t->counts[v])
			text_addf(&reasons, "%s%s %s", reasons.length ? ", " : "",
				  UNITS_COUNT(t->counts[v]), verdict_word((enum verdict)v));
	if (refused)
		cli_note("functions: %s of %s that match (%.2f %%) cannot be patched: %s; "
			 "--functions-list refused has each",
			 UNITS_COUNT(refused), UNITS_COUNT(t->matching),
			 100.0 * (double)refused / (double)t->matching, reasons.s ? reasons.s : "");
	text_release(&reasons);
}

static void tell_too_many(uint64_t count)
{
	if (count)
		cli_warn("functions: %s are left out: %s", UNITS_COUNT(count),
			 verdict_text(VERDICT_TOO_MANY));
}

static void tell(const struct taking *t)
{
	const uint64_t *n = t->counts, small = n[VERDICT_SMALL] + n[VERDICT_SMALL_LOOP];
	uint64_t refused = 0;

	for (int v = VERDICT_REFUSED_FIRST; v < VERDICTS; v++)
		refused += n[v];
	cli_note("functions: %s of %s that match are chosen", UNITS_COUNT(n[VERDICT_CHOSEN]),
		 UNITS_COUNT(t->matching));
	if (small)
		cli_note("functions: %s are left out because they are small; "
			 "--functions-min-instructions 0 takes them",
			 UNITS_COUNT(small));
	tell_too_many(n[VERDICT_TOO_MANY]);
	tell_refused(t, refused);
}

static int conclude(struct taking *t, struct text *plan)
{
	if (t->failed || t->report.failed || (t->table && t->table->failed)) {
		cli_error("--functions: out of memory");
		return CLI_FAILURE;
	}
	if (!t->matching) {
		cli_error("--functions: no function matches; @MODULE names a library, as in "
			  "'.*@libm', one that is loaded later by its path; --functions . "
			  "--functions-list available has all of the program");
		return CLI_USAGE;
	}
	tell(t);
	if (t->table)
		return report_print(&t->report, (enum report_format)t->o->functions_format, stdout)
			       ? CLI_OK
			       : CLI_FAILURE;
	if (plan && t->build.function_count && !build_finish(&t->build, plan)) {
		cli_error("--functions: out of memory");
		return CLI_FAILURE;
	}
	return -1;
}

/* -1: go on; else the exit status. end() in any case. */
static int begin(struct taking *t)
{
	char why[CHOOSE_WHY];
	int status = CLI_USAGE;

	t->decoder = NULL;
	if (!choose_init(&t->choose, t->o->functions, t->o->functions_exclude, why))
		cli_error("--functions: %s", why);
	else if (!(t->decoder = decoder_new(why, sizeof(why))))
		cli_error("--functions: %s", why);
	else
		status = -1;
	t->choose.min_instructions = (uint64_t)t->o->functions_min_instructions;
	t->choose.min_loop = (uint64_t)t->o->functions_min_loop;
	make_table(t);
	return status;
}

static void end(struct taking *t)
{
	report_release(&t->report);
	build_release(&t->build);
	decoder_free(t->decoder);
	choose_release(&t->choose);
}

static int take(struct taking *t, const char *path, struct text *plan)
{
	int status = begin(t);

	if (status < 0) {
		take_files(t, path);
		status = conclude(t, plan);
	}
	end(t);
	return status;
}

/* ---- a file that is patched on disk ---- */

/* -1: go on, else the exit status. */
static int instrument_file(struct taking *t, const char *path, struct functions *f,
			   struct text *out)
{
	struct instrumented told = {0};
	const char *why = choose_never(path);
	int status = CLI_FAILURE;

	if (!*why && choose_functions(&t->choose, f, t->decoder, path, true, told.why))
		why = instrument_refused(f);
	else if (!*why)
		why = told.why;
	if (why) {
		cli_error("%s cannot be instrumented: %s", path, why);
		return CLI_FAILURE;
	}
	count_functions(t, f);
	status = conclude(t, NULL);
	if (status >= 0)
		return status;
	if (!instrument(f, t->decoder, out, &told)) {
		cli_error("%s cannot be instrumented: %s", path, told.why);
		return CLI_FAILURE;
	}
	tell_too_many(t->counts[VERDICT_CHOSEN] - told.functions);
	if (told.unframed)
		cli_note("the call frame information of %s cannot be moved: stacks end in "
			 "instructions that were",
			 path);
	if (told.unshadowed)
		cli_note("%s could use a shadow stack; the new file does not: moved calls push "
			 "return addresses themselves",
			 path);
	return -1;
}

static int instrument_one(struct taking *t, const char *path, struct text *out)
{
	struct functions f = {0};
	int status = begin(t);

	if (status < 0) {
		status = instrument_file(t, path, &f, out);
		functions_release(&f);
	}
	end(t);
	return status;
}
#endif

int functions_take(const struct run_options *o, const char *path, struct text *plan)
{
	if (!o->functions && o->functions_list == RUN_FUNCTIONS_NONE)
		return -1;
	if (!o->functions)
		return cli_usage("run", "--functions-list lists what --functions matches; "
					"--functions . matches everything of the program");
#ifdef KYMO_HAVE_FUNCTIONS
	return take(&(struct taking){.o = o}, path, plan);
#else
	cli_error("--functions: this Kymo was built without it: it needs x86-64 and Capstone "
		  "(Debian: libcapstone-dev)");
	return CLI_FAILURE;
#endif
}

int functions_instrument(const struct run_options *o, const char *path, struct text *out)
{
#ifdef KYMO_HAVE_FUNCTIONS
	return instrument_one(&(struct taking){.o = o}, path, out);
#else
	cli_error("instrument: this Kymo was built without it: it needs x86-64 and Capstone "
		  "(Debian: libcapstone-dev)");
	return CLI_FAILURE;
#endif
}

bool functions_put(struct run_options *o, const char *trace, const struct text *plan)
{
	struct text path = {0};
	bool ok = true;

	if (!plan->length)
		return true;
	text_addf(&path, "%s/functions-%016" PRIx64 ".plan", trace,
		  hash_bytes(plan->s, plan->length));
	if (path.failed)
		errno = ENOMEM;
	ok = !path.failed && file_replace(path.s, plan->s, plan->length);
	if (ok)
		o->functions_plan = path.s; /* kept */
	else
		text_release(&path);
	return ok;
}
