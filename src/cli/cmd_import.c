/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo import`: a trace of what another tool has recorded. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/compress.h"
#include "cli/foreign.h"
#include "cli/input.h"

static struct import_options {
	const char *from, *output;
	bool plain;
} options;

static const struct knob rows[] = {
	{"output", 'o', KNOB_STRING, 0, offsetof(struct import_options, output), "DIR", NULL, NULL,
	 NULL, "Output",
	 "Trace directory to make (default: ./NAME.kymo, of the file's name); it must not be "
	 "there"},
	{"from", 0, KNOB_STRING, 0, offsetof(struct import_options, from), "FORMAT", NULL, NULL,
	 NULL, "Input",
	 "Format of the files, where what is in them does not tell it; see kymo list formats"},
	{"no-compress", 0, KNOB_FLAG, 0, offsetof(struct import_options, plain), NULL, NULL, NULL,
	 NULL, "Output", "Leave the trace's files uncompressed"},
};

static struct knob_table knobs = {.command = "import",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

static const struct format *find_reader(const char *path)
{
	const struct format *f = options.from ? format_find(options.from) : cli_reader(path);

	if (f && strcmp(f->name, "raw") == 0) {
		cli_error("%s: it is a trace already", path);
		return NULL;
	}
	return f;
}

static bool compress(const char *directory)
{
	char raw[PATH_MAX + 8];

	snprintf(raw, sizeof(raw), "%s/raw", directory);
	return options.plain || cli_compress_folder(raw);
}

/* All at once: a call for each of thousands of files takes longer than all else. */
static bool write_to_disk(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && syncfs(fd) == 0;
	int error = errno;

	if (fd >= 0)
		close(fd);
	if (!ok)
		cli_error("%s: it cannot be written: %s", directory, strerror(error));
	return ok;
}

/* Into a folder that takes its place when it is whole. */
static kymo_status_t import_as(const struct format *reader, const char *path, const char *output)
{
	char temporary[PATH_MAX], token[FILE_TOKEN];
	kymo_status_t status;
	uint64_t records = 0;
	struct stat st;

	if (lstat(output, &st) == 0) {
		cli_error("%s is there already; name another one with -o", output);
		return KYMO_ERROR_EXISTS;
	}
	file_token(token);
	if (snprintf(temporary, sizeof(temporary), "%s.%s", output, token) >=
	    (int)sizeof(temporary))
		return KYMO_ERROR_LIMIT;
	temporary_add(temporary);
	cli_log_call(temporary, output);
	status = cli_foreign_import(reader, path, temporary, false, &records);
	if (status == KYMO_OK && (!compress(temporary) || !write_to_disk(temporary)))
		status = KYMO_ERROR_SYSTEM;
	cli_log_call(NULL, NULL);
	if (status == KYMO_OK && rename(temporary, output) != 0) {
		cli_error("%s: %s", output, strerror(errno));
		status = KYMO_ERROR_SYSTEM;
	}
	if (status == KYMO_OK)
		cli_note("%s: %llu record%s of %s (%s)", output, (unsigned long long)records,
			 plural(records), path, reader->name);
	else
		file_remove_tree(temporary);
	temporary_done(temporary);
	return status;
}

static kymo_status_t import_one(const char *path)
{
	const struct format *reader = find_reader(path);
	struct text name = {0};
	kymo_status_t status;

	if (!reader)
		return KYMO_ERROR_NOT_FOUND;
	cli_foreign_name(path, &name);
	status = name.failed ? KYMO_ERROR_NO_MEMORY
			     : import_as(reader, path, options.output ? options.output : name.s);
	text_release(&name);
	cli_log_finish();
	return status;
}

static int run(int argc, char **argv)
{
	const struct format *f = options.from ? format_find(options.from) : NULL;
	kymo_status_t worst = KYMO_OK;

	if (f && !f->read)
		return cli_usage(
			"import",
			"the format \"%s\" can be written only; \"kymo list formats\" says "
			"which can be read",
			f->name);
	if (options.from && !f)
		return cli_usage("import",
				 "there is no format \"%s\"; \"kymo list formats\" lists them",
				 options.from);
	if (argc == 0)
		return cli_usage("import", "which file?");
	if (argc > 1 && options.output)
		return cli_usage("import", "-o names one trace, but there are %d files", argc);
	for (int i = 0; i < argc; i++) {
		kymo_status_t status = import_one(argv[i]);

		worst = status == KYMO_OK ? worst : status;
	}
	return cli_exit(worst);
}

extern const struct command cmd_import;
const struct command cmd_import = {
	.name = "import",
	.operands = "[-o DIR] [OPTION]... FILE...",
	.summary = "Make a trace of what another tool has recorded",
	.about = "The format is told by what is in the file. All commands work on the trace; what "
		 "the format\n"
		 "cannot say is not in it (kymo list formats).",
	.knobs = &knobs,
	.run = run,
};
