/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo export`: a trace in another format. */
#include "cli/input.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "base/text.h"
#include "cli/foreign.h"
#include "cli/staging.h"
#include "formats/raw/read.h"
#include "stream/output.h"

static struct export_options {
	struct cli_filter filter;
	const char *to, *output;
	const char *split;
	bool force, no_args;
	int rows, as;
	/* Of --split; both 0: it is not given. */
	uint64_t split_ns, split_bytes;
} options;

enum { ROWS_QUEUE, ROWS_DEVICE };
enum { LAYOUT_OWN, LAYOUT_ROCPROFV3 };

static const struct knob rows[] = {
	{"to", 0, KNOB_STRING, 0, offsetof(struct export_options, to), "FORMAT", "perfetto", NULL,
	 NULL, "Output",
	 "Format to write, as FORMAT:VARIANT one of its variants; see kymo list formats"},
	{"layout", 0, KNOB_ENUM, 0, offsetof(struct export_options, as), "LAYOUT", "own",
	 "own|rocprofv3", NULL, "Output",
	 "Of csv and json: Kymo's own tables, or the files and members of AMD's rocprofv3 "
	 "(rocprofv3:csv, rocprofv3:json)"},
	{"output", 'o', KNOB_STRING, 0, offsetof(struct export_options, output), "FILE", NULL, NULL,
	 NULL, "Output",
	 "File or directory to write (default: beside the trace, with the format's "
	 "suffix); - is standard output; DIR/: a folder, of formats that have that variant"},
	{"force", 'f', KNOB_FLAG, 0, offsetof(struct export_options, force), NULL, NULL, NULL, NULL,
	 "Output", "Replace what is there"},
	{"rows", 0, KNOB_ENUM, 0, offsetof(struct export_options, rows), "ROWS", "queue",
	 "queue|device", NULL, "Output",
	 "Of perfetto and chrome: a row for each queue, or one for all queues of a device; work "
	 "that runs at the same time has further rows"},
	{"split", 0, KNOB_STRING, 0, offsetof(struct export_options, split), "LENGTH", NULL, NULL,
	 NULL, "Output",
	 "Of perfetto: several files in a folder, each of so much time (10s, 1m) or about so "
	 "many bytes (500M); each opens alone, and what was under way at its begin goes on in it"},
	{"no-args", 0, KNOB_FLAG, 0, offsetof(struct export_options, no_args), NULL, NULL, NULL,
	 NULL, "Output",
	 "Of perfetto: without arguments of calls, call sites and stacks, sizes of kernels; "
	 "the file is about half the size"},
	CLI_FILTER_KNOBS(struct export_options),
};

static struct knob_table knobs = {.command = "export",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

/* What follows the name of the format; NULL: nothing. */
static const char *variant_of(const char *to)
{
	const char *colon = strchr(to, ':');

	return colon ? colon + 1 : NULL;
}

/* -o DIR/ says that a folder is wanted: of formats that make one on request. */
static const char *chosen_variant(const struct format *f)
{
	const char *variant = variant_of(options.to);
	size_t n = options.output ? strlen(options.output) : 0;
	bool folder = false;

	if (variant || !f->variant || !n || options.output[n - 1] != '/')
		return variant;
	return f->variant("folder", &folder) && folder ? "folder" : NULL;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* FOLDER/NAME.json of another tool becomes FOLDER/NAME.pftrace. */
static void beside_source(const char *file, const struct format *f, struct text *out)
{
	struct text name = {0};
	size_t n = strlen(file);

	while (n > 1 && file[n - 1] == '/')
		n--;
	while (n > 0 && file[n - 1] != '/')
		n--;
	cli_foreign_name(file, &name);
	text_add_bytes(out, file, n);
	text_add_bytes(out, name.s ? name.s : "", name.length > 5 ? name.length - 5 : 0);
	if (f->suffix[0])
		text_add(out, f->suffix);
	else
		text_addf(out, "-%s", f->name);
	out->failed |= name.failed;
	text_release(&name);
}

/* NAME.kymo becomes NAME.pftrace; a format of directories becomes NAME-csv. */
static void default_output(const char *trace, const struct format *f, struct text *out)
{
	size_t n = strlen(trace);

	if (cli_foreign_source(trace)) {
		beside_source(cli_foreign_source(trace), f, out);
		return;
	}
	while (n > 1 && trace[n - 1] == '/')
		n--;
	if (n > 5 && (strncmp(trace + n - 5, ".kymo", 5) == 0))
		n -= 5;
	else if (n > 4 && strncmp(trace + n - 4, ".kyr", 4) == 0)
		n -= 4;
	text_add_bytes(out, trace, n);
	if (f->suffix[0])
		text_add(out, f->suffix);
	else
		text_addf(out, "-%s", f->name);
}

/* Of one trace's output. */
struct place {
	char *const *traces; /* all that are read */
	struct staging staging;
	bool whole; /* it waits to take its place */
};

/* How many records were read, and how many of them the output has; which it has not the writer told. */
static void tell_written(const char *output, const struct format *writer,
			 const struct cli_counter *c)
{
	if (c->left && c->left <= c->count)
		cli_note("%s: wrote %llu of %llu records, %s; %llu had no place", output,
			 (unsigned long long)(c->count - c->left), (unsigned long long)c->count,
			 writer->name, (unsigned long long)c->left);
	else
		cli_note("%s: %llu record%s, %s", output, (unsigned long long)c->count,
			 plural(c->count), writer->name);
}

static kymo_status_t convert_trace(const struct format *reader, const char *path,
				   const struct format *writer, const struct stream_filter *filter,
				   const struct format_options *o, const char *output,
				   const struct staging *place)
{
	struct stream_sink *sink;
	struct cli_counter c;
	kymo_status_t status = writer->write(o, &sink);

	if (status != KYMO_OK)
		return status;
	if (place)
		staging_opened(place);
	cli_counter_init(&c, sink, 0);
	c.path = path;
	c.made = "the output is";
	c.at_work = raw_being_written(path);
	status = reader->read(path, filter, writer->needs_order, &c.sink, o);
	cli_progress_clear();
	if (status == KYMO_OK && output)
		tell_written(output, writer, &c);
	writer->sink_free(sink);
	if (status == KYMO_ERROR_NO_MEMORY && !cli_told_errors())
		output_tell_memory(o->log, output ? output : "standard output");
	else if (status != KYMO_OK && !cli_told_errors())
		cli_error("%s: it could not be written", output ? output : "standard output");
	if (status == KYMO_OK)
		cli_explain_missing(&c, path, filter != NULL);
	return status;
}

/* `o->output` is written beside its place first: that there is nothing to write is found out late. */
static kymo_status_t convert_beside(const struct format *reader, const char *path,
				    const struct format *writer, const struct stream_filter *filter,
				    struct format_options *o, struct place *place)
{
	const char *output = o->output;
	kymo_status_t status =
		staging_begin(&place->staging, output, !writer->suffix[0], o->force, place->traces);

	if (status != KYMO_OK)
		return status;
	o->named = output;
	o->output = place->staging.path;
	o->force = place->staging.as_it_is;
	cli_log_call(place->staging.path, output);
	status = convert_trace(reader, path, writer, filter, o, output, &place->staging);
	cli_log_call(NULL, NULL);
	place->whole = status == KYMO_OK;
	if (!place->whole)
		staging_end(&place->staging, false);
	return status;
}

static kymo_status_t export_one(const char *path, const struct format *writer,
				const struct stream_filter *filter, struct place *place)
{
	const struct format *reader = cli_reader(path);
	struct format_options o = {.force = options.force,
				   .by_device = options.rows == ROWS_DEVICE,
				   .no_args = options.no_args,
				   .split_ns = options.split_ns,
				   .split_bytes = options.split_bytes,
				   .variant = chosen_variant(writer),
				   .log = &cli_log,
				   .progress = cli_progress,
				   .progress_data = (void *)(uintptr_t) "Exporting"};
	struct text name = {0};
	kymo_status_t status;

	if (!reader)
		return KYMO_ERROR_NOT_FOUND;
	if (!options.output)
		default_output(path, writer, &name);
	o.output = options.output ? options.output : name.s;
	if (strcmp(o.output, "-") == 0)
		o.output = NULL;
	if (!o.output && !writer->suffix[0]) {
		cli_error("%s is a directory of files and cannot go to standard output; use -o DIR",
			  writer->name);
		status = KYMO_ERROR_INVALID_ARGUMENT;
	} else if (o.output && writer->suffix[0] && is_directory(o.output)) {
		cli_error("%s is a directory; give a file with -o", o.output);
		status = KYMO_ERROR_INVALID_ARGUMENT;
	} else if (o.output) {
		status = convert_beside(reader, path, writer, filter, &o, place);
	} else {
		status = convert_trace(reader, path, writer, filter, &o, NULL, NULL);
	}
	text_release(&name);
	cli_log_finish();
	return status;
}

/* The variant as a format of its own: one that makes a folder has no suffix. NULL: there is none such. */
static const struct format *choose_variant(const struct format *f)
{
	static struct format chosen;
	const char *variant = chosen_variant(f);
	bool folder = false;

	chosen = *f;
	if (options.split_ns || options.split_bytes)
		chosen.suffix = "";
	if (!variant)
		return &chosen;
	if (!f->variant || !f->variant(variant, &folder)) {
		cli_usage("export",
			  f->variants ? "the format \"%s\" has no variant \"%s\", but %s"
				      : "the format \"%s\" has no variants, as \"%s\"",
			  f->name, variant, f->variants);
		return NULL;
	}
	chosen.suffix = folder ? "" : *f->suffix ? f->suffix : f->variant_suffix;
	return &chosen;
}

static const struct format *find_writer(void)
{
	struct text name = {0};
	const struct format *f;

	text_add_bytes(&name, options.to, strcspn(options.to, ":"));
	f = format_find(name.s ? name.s : "");
	if (!f)
		cli_usage("export", "there is no format \"%s\"; \"kymo list formats\" lists them",
			  name.s ? name.s : "");
	else if (!f->write)
		cli_usage("export", "the format \"%s\" can be read only", f->name);
	text_release(&name);
	return f && f->write ? choose_variant(f) : NULL;
}

/* A duration, or bytes with a unit: "10s", "1min", "500M", "2GB". False: it is neither. */
static bool read_split(void)
{
	const char *s = options.split;
	char error[KNOB_ERROR_MAX], text[32];
	size_t n = strlen(s);

	if (n > 3 && strcmp(s + n - 3, "min") == 0)
		n -= 2;
	else if (n > 1 && s[n - 1] == 'B' && s[n - 2] >= '0' && s[n - 2] <= '9')
		n--;
	if (n < sizeof(text)) {
		snprintf(text, sizeof(text), "%.*s", (int)n, s);
		if (strpbrk(s, "KMGTB")) {
			if (!knob_size(&options.split_bytes, text, error))
				options.split_bytes = 0;
		} else if (!knob_duration(&options.split_ns, text)) {
			options.split_ns = 0;
		}
	}
	return options.split_ns || options.split_bytes;
}

/* Options that are not for every format. */
static bool heeds_options(const struct format *writer)
{
	if (options.rows != ROWS_QUEUE && !writer->has_rows)
		cli_usage("export", "--rows is for timelines: perfetto and chrome, not %s",
			  writer->name);
	else if (options.split && !writer->splits)
		cli_usage("export", "--split is for perfetto; %s cannot be in several files",
			  writer->name);
	else if (options.no_args && !writer->leaves_args)
		cli_usage("export", "--no-args is for perfetto; %s has no such choice",
			  writer->name);
	else
		return true;
	return false;
}

/* A choice that none of several traces has is known after the last one. */
static kymo_status_t export_all(int argc, char **argv, const struct format *writer,
				struct stream_filter *filter)
{
	struct place *places = calloc((size_t)argc, sizeof(*places));
	/* What no output may take the place of: traces, and files of other tools that they are made of. */
	char **read = calloc(2 * (size_t)argc + 1, sizeof(*read));
	kymo_status_t worst = places && read ? KYMO_OK : KYMO_ERROR_NO_MEMORY, chosen;
	int n = 0;

	for (int i = 0; read && i < argc; i++) {
		read[n++] = argv[i];
		if (cli_foreign_source(argv[i]))
			read[n++] = (char *)(uintptr_t)cli_foreign_source(argv[i]);
	}
	for (int i = 0; places && read && i < argc; i++) {
		kymo_status_t status;

		places[i].traces = read;
		status = export_one(argv[i], writer, filter, &places[i]);
		worst = status == KYMO_OK ? worst : status;
	}
	chosen = worst == KYMO_OK ? stream_filter_finish(filter) : KYMO_OK;
	worst = worst == KYMO_OK ? chosen : worst;
	for (int i = 0; places && i < argc; i++) {
		kymo_status_t status = KYMO_OK;

		if (places[i].whole)
			status = staging_end(&places[i].staging, chosen == KYMO_OK);
		worst = status == KYMO_OK ? worst : status;
	}
	free(places);
	free(read);
	return worst;
}

/* A layout is a format that has csv and json as variants. */
static bool apply_layout(void)
{
	bool csv = strcmp(options.to, "csv") == 0;

	if (options.as == LAYOUT_OWN)
		return true;
	if (!csv && strcmp(options.to, "json") != 0) {
		cli_usage("export", "--layout is for --to csv and --to json, not %s", options.to);
		return false;
	}
	options.to = csv ? "rocprofv3:csv" : "rocprofv3:json";
	return true;
}

static int run(int argc, char **argv)
{
	const struct format *writer;
	kymo_status_t worst;
	struct stream_filter *filter;
	bool failed;

	if (options.split && !read_split())
		return cli_usage("export",
				 "--split \"%s\" is neither a time such as 10s or 1m nor a size "
				 "such as 500M",
				 options.split);
	writer = apply_layout() ? find_writer() : NULL;
	if (!writer || !heeds_options(writer))
		return CLI_USAGE;
	if (argc == 0)
		return cli_usage("export", "which trace? Give its directory");
	if (argc > 1 && options.output)
		return cli_usage("export", "-o names one output, but there are %d traces", argc);
	filter = cli_filter_new(&options.filter, (unsigned)argc, &failed);
	if (failed)
		return CLI_USAGE;
	worst = export_all(argc, argv, writer, filter);
	stream_filter_free(filter);
	return cli_exit(worst);
}

extern const struct command cmd_export;
const struct command cmd_export = {
	.name = "export",
	.operands = "[--to FORMAT] [-o FILE] [OPTION]... TRACE...",
	.summary = "Write a trace in another format",
	.about = "The default is a file for the Perfetto viewer (https://ui.perfetto.dev).",
	.knobs = &knobs,
	.traces = true,
	.passes_on = true,
	.run = run,
};
