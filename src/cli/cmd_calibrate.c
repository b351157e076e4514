/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo calibrate`: what the memory, arithmetic, links and launches of this machine's devices attain. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "cli/cli.h"
#include "cli/roofline_plot.h"
#include "report/report.h"
#include "roofs/roofs.h"

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

struct calibrate_options {
	const char *device, *roofs, *plot;
	bool again, quick, dark, force;
	int format;
};

static struct calibrate_options options;

#define AT(member) offsetof(struct calibrate_options, member)

static const struct knob rows[] = {
	{"device", 'd', KNOB_STRING, 0, AT(device), "NAME", NULL, NULL, NULL, "Calibrate",
	 "Only devices with this in their names, or by runtime and number: cuda, opencl:0"},
	{"again", 'a', KNOB_FLAG, 0, AT(again), NULL, NULL, NULL, NULL, "Calibrate",
	 "Measure, though this was done before"},
	{"quick", 'q', KNOB_FLAG, 0, AT(quick), NULL, NULL, NULL, NULL, "Calibrate",
	 "Take 3 s for a device, not 14; intervals are wider"},
	{"roofs", 0, KNOB_STRING, 0, AT(roofs), "FILE", NULL, NULL, NULL, "Calibrate",
	 "Show those of this file, of another machine; measure nothing"},
	{"plot", 'p', KNOB_STRING, 0, AT(plot), "FILE", NULL, NULL, NULL, "Calibrate",
	 "Draw them as a roofline instead, in a file that ends with .svg, .png, .jpg or .pdf; -: "
	 "as "
	 "text"},
	{"dark", 0, KNOB_FLAG, 0, AT(dark), NULL, NULL, NULL, NULL, "Calibrate",
	 "Draw it on dark ground"},
	{"force", 0, KNOB_FLAG, 0, AT(force), NULL, NULL, NULL, NULL, "Calibrate",
	 "Replace a file that is there"},
	{"format", 'f', KNOB_ENUM, 0, AT(format), "FORMAT", "text", "text|json|csv", NULL,
	 "Calibrate", "How they are printed"},
};

static struct knob_table table = {.command = "calibrate",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

/* ---- tables -------------------------------------------------------------------------------------- */

static double share(const struct roof *r)
{
	return r->value / r->peak * 100;
}

static void put_real(struct cell *c, double v)
{
	if (isfinite(v))
		cell_real(c, v);
}

static void people_table(struct report *out, const struct roofs *r)
{
	struct table *t = report_table(out, "roofs", "Roofs");
	char text[ROOF_TEXT];

	if (!t)
		return;
	table_column(t, "roof", "roof", CELL_TEXT);
	table_column(t, "value", "attained", CELL_TEXT);
	table_column(t, "share", "% of peak", CELL_PERCENT);
	table_column(t, "about", "by", CELL_TEXT);
	t->columns[1].right = true;
	for (unsigned i = 0; i < r->count; i++) {
		const struct roof *x = &r->roofs[i];
		struct cell *c = table_row(t);

		if (!c)
			return;
		cell_text(t, &c[0], x->name);
		cell_text(t, &c[1], roof_text(x, out->utf8, text));
		put_real(&c[2], share(x));
		cell_text(t, &c[3], isnan(x->value) ? x->why : x->about);
	}
}

static const char *number_text(uint64_t n, const char *unit, char out[32])
{
	if (n)
		snprintf(out, 32, "%llu %s", (unsigned long long)n, unit);
	else
		snprintf(out, 32, "unknown %s", unit);
	return out;
}

/* What is above and below a device's table. */
static void people_lines(struct report *out, const struct roofs *r)
{
	char units[32], clock[32];
	bool peak = false;

	for (unsigned i = 0; i < r->count; i++)
		peak = peak || isfinite(share(&r->roofs[i]));
	report_head(out, "%s (%s, driver %s): %s, %s", r->device.name,
		    *r->device.platform ? r->device.platform : r->device.api, r->device.driver,
		    number_text(r->device.units, "compute units", units),
		    number_text(r->device.clock_mhz, "MHz", clock));
	report_head(out, "measured %s by Kymo %s in %.1f s%s, load %.2f before", r->date,
		    r->version, r->seconds, r->quick ? " (--quick)" : "", r->load);
	if (*r->note)
		report_foot(out, "%s", r->note);
	if (roofs_were_disturbed(r))
		report_foot(out,
			    "the machine was busy (load %.2f, %u units): it attains more. --again "
			    "measures anew when it is idle",
			    r->load, r->device.units);
	if (r->device.local_is_cached)
		report_foot(out, "local memory of this device is ordinary memory: \"local\" is a "
				 "roof of its caches");
	if (peak && strcmp(r->device.type, "cpu") == 0)
		report_foot(out,
			    "peak: %u units x %u MHz x two FMA of the widest vectors a clock; "
			    "a processor that runs faster than it tells exceeds it",
			    r->device.units, r->device.clock_mhz);
}

static bool print_people(const struct roofs *r)
{
	struct report out = {.alone = true, .people = true, .utf8 = report_utf8()};
	bool ok;

	people_lines(&out, r);
	people_table(&out, r);
	ok = report_print(&out, REPORT_TEXT, stdout);
	report_release(&out);
	return ok;
}

static void program_columns(struct table *t)
{
	static const struct {
		const char *name;
		enum cell_unit unit;
	} columns[] = {
		{"device", CELL_TEXT},     {"api", CELL_TEXT},          {"host", CELL_TEXT},
		{"roof", CELL_TEXT},       {"type", CELL_TEXT},         {"value", CELL_NUMBER},
		{"interval", CELL_NUMBER}, {"unit", CELL_TEXT},         {"peak", CELL_NUMBER},
		{"share", CELL_PERCENT},   {"experiments", CELL_COUNT}, {"dropped", CELL_COUNT},
		{"bytes", CELL_COUNT},     {"about", CELL_TEXT},        {"why", CELL_TEXT}};

	for (unsigned i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		table_column(t, columns[i].name, columns[i].name, columns[i].unit);
}

static void program_row(struct table *t, const struct roof_device *d, const struct roof *x)
{
	struct cell *c = table_row(t);

	if (!c)
		return;
	cell_text(t, c++, d->name);
	cell_text(t, c++, d->api);
	cell_text(t, c++, d->host);
	cell_text(t, c++, x->name);
	cell_text(t, c++, x->type);
	put_real(c++, x->value);
	put_real(c++, x->interval);
	cell_text(t, c++, roof_unit(x));
	put_real(c++, x->peak);
	put_real(c++, share(x));
	cell_number(c++, x->experiments);
	cell_number(c++, x->dropped);
	cell_number(c++, x->bytes);
	cell_text(t, c++, x->about);
	cell_text(t, c++, x->why);
}

static bool print_csv(const struct roofs_list *l)
{
	struct report out = {.alone = true};
	struct table *t = report_table(&out, "roofs", "roofs");
	bool ok = t != NULL;

	if (t)
		program_columns(t);
	for (uint32_t i = 0; t && i < l->count; i++)
		for (unsigned k = 0; k < l->list[i].count; k++)
			program_row(t, &l->list[i].device, &l->list[i].roofs[k]);
	ok = ok && report_print(&out, REPORT_CSV, stdout);
	report_release(&out);
	return ok;
}

static bool print_json(const struct roofs_list *l)
{
	struct text t = {0};
	bool ok;

	roofs_write(l, &t);
	ok = !t.failed && fwrite(t.s, 1, t.length, stdout) == t.length;
	text_release(&t);
	return ok;
}

static bool print_all(const struct roofs_list *l)
{
	if (options.format == FORMAT_JSON)
		return print_json(l);
	if (options.format == FORMAT_CSV)
		return print_csv(l);
	for (uint32_t i = 0; i < l->count; i++) {
		if (i)
			putchar('\n');
		if (!print_people(&l->list[i]))
			return false;
	}
	return true;
}

/* ---- the command --------------------------------------------------------------------------------- */

static void tell_waiting(void)
{
	cli_note("another process measures on this machine: waiting for it");
}

static bool measure(struct roofs_list *l)
{
	const struct roofs_options o = {.device = options.device,
					.again = options.again,
					.quick = options.quick,
					.progress = cli_progress,
					.data = (void *)(uintptr_t) "Measuring",
					.waiting = tell_waiting};
	char why[ROOF_WHY];

	if (!roofs_measure(&o, l, why)) {
		cli_error("nothing was measured: %s", why);
		return false;
	}
	if (*l->warning)
		cli_warn("%s", l->warning);
	return true;
}

static bool read_given(struct roofs_list *l)
{
	char why[ROOF_WHY];

	if (roofs_read_file(options.roofs, l, why))
		return true;
	cli_error("%s: %s; kymo calibrate --format json writes such files", options.roofs, why);
	return false;
}

/* One picture is of one device: of several the first, unless --device says which. */
static int plot(const struct roofs_list *l)
{
	if (l->count > 1)
		cli_note("%u devices: the roofline is that of %s; --device chooses", l->count,
			 l->list[0].device.name);
	return roofline_plot(&l->list[0], &(struct roofline_plot){.output = options.plot,
								  .dark = options.dark,
								  .force = options.force});
}

/* True: of some device not one roof could be measured. */
static bool some_failed(const struct roofs_list *l)
{
	bool failed = false;

	for (uint32_t i = 0; i < l->count; i++) {
		bool any = false;

		for (unsigned k = 0; k < l->list[i].count; k++)
			any = any || !isnan(l->list[i].roofs[k].value);
		failed = failed || !any;
	}
	return failed;
}

static int run(int argc, char **argv)
{
	struct roofs_list l = {0};
	int result = CLI_OK;

	if (argc > 0)
		return cli_usage("calibrate", "\"%s\": it takes no operand; --device chooses one",
				 argv[0]);
	if (options.roofs && (options.again || options.quick || options.device))
		return cli_usage("calibrate", "--roofs shows a file: nothing is measured, as "
					      "--again, --quick and --device ask for");
	if (roofline_plot_check("calibrate", "--plot", options.plot) != CLI_OK)
		return CLI_USAGE;
	if (!(options.roofs ? read_given(&l) : measure(&l)))
		return CLI_FAILURE;
	if (options.plot && l.count)
		result = plot(&l);
	else if (!print_all(&l))
		result = CLI_FAILURE;
	else if (some_failed(&l))
		result = CLI_NO;
	roofs_list_release(&l);
	return result;
}

extern const struct command cmd_calibrate;
const struct command cmd_calibrate = {
	.name = "calibrate",
	.operands = "[OPTION]...",
	.summary = "Measure once what memory, arithmetic, links and launches of each device attain",
	.about = "These are the roofs that kernels are held against. Each is measured by a small "
		 "kernel of known\n"
		 "bytes and operations, again and again, until a 95 % interval can be told; what "
		 "is measured\n"
		 "is kept for the device ($XDG_CACHE_HOME/kymo/roofs) and shown from there until "
		 "--again.\n"
		 "Nothing else should run meanwhile. docs/roofline.md has the method and its "
		 "limits.",
	.knobs = &table,
	.run = run,
};
