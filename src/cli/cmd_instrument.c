/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo instrument`: a program or library whose functions are patched in its file, for systems where code in memory may not be changed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/run.h"

static struct instrument_options {
	const char *output;
	struct run_options functions;
} options;

#define AT(member) offsetof(struct instrument_options, member)

static const struct knob rows[] = {
	{"output", 'o', KNOB_STRING, 0, AT(output), "FILE", NULL, NULL, NULL, "Output",
	 "File to write; one that is there is replaced"},
	{"functions", 0, KNOB_REGEX, KNOB_REPEAT, AT(functions.functions), "REGEX", ".", NULL, NULL,
	 "Functions", "Functions whose name matches; may be given several times"},
	{"functions-exclude", 0, KNOB_REGEX, KNOB_REPEAT, AT(functions.functions_exclude), "REGEX",
	 NULL, NULL, NULL, "Functions", "Of these, leave out the functions whose name matches"},
	{"functions-min-instructions", 0, KNOB_INTEGER, 0, AT(functions.functions_min_instructions),
	 "N", "200", NULL, NULL, "Functions",
	 "Leave out functions without a loop that have fewer instructions, unless an expression "
	 "is just their name"},
	{"functions-min-loop", 0, KNOB_INTEGER, 0, AT(functions.functions_min_loop), "N", "0", NULL,
	 NULL, "Functions", "The same for functions with a loop"},
	{"functions-list", 0, KNOB_ENUM, 0, AT(functions.functions_list), "LIST", "none",
	 "none|available|chosen|refused", NULL, "Functions",
	 "Write nothing; list which functions match and can be patched, are chosen, or cannot be "
	 "patched and why"},
	{"functions-format", 0, KNOB_ENUM, 0, AT(functions.functions_format), "FORMAT", "text",
	 "text|md|csv|json|html|tsv", NULL, "Functions", "Form of --functions-list"},
};

static struct knob_table knobs = {.command = "instrument",
				  .rows = rows,
				  .count = sizeof(rows) / sizeof(rows[0]),
				  .values = &options};

/* ---- what a copy of a file has not ---- */

static bool has_attribute(const char *path, const char *name)
{
	return getxattr(path, name, NULL, 0) > 0;
}

static void tell_lost(const char *in, const struct stat *st)
{
	if (st->st_mode & (S_ISUID | S_ISGID))
		cli_note("%s runs as another user or group; the new file does not", in);
	if (has_attribute(in, "security.capability"))
		cli_note("%s has capabilities; the new file has none", in);
	if (has_attribute(in, "security.ima") || has_attribute(in, "security.evm"))
		cli_note("%s is signed (IMA); the new file is not, and where unsigned files are "
			 "refused it does not run before it is",
			 in);
}

/* ---- writing ---- */

static bool write_new(const char *path, const struct text *bytes, mode_t mode)
{
	int fd = file_create_own(path, O_WRONLY), saved;
	bool ok = fd >= 0 && file_write_all(fd, bytes->s, bytes->length) == bytes->length &&
		  fchmod(fd, mode) == 0;

	saved = errno;
	if (fd >= 0 && close(fd) != 0 && ok) {
		ok = false;
		saved = errno;
	}
	if (fd >= 0 && !ok)
		unlink(path);
	errno = saved;
	return ok;
}

/* Under another name until it is whole. */
static bool write_file(const char *path, const struct text *bytes, mode_t mode)
{
	char temporary[PATH_MAX], token[FILE_TOKEN];
	bool ok;
	int saved;

	file_token(token);
	if (snprintf(temporary, sizeof(temporary), "%s.%s", path, token) >=
	    (int)sizeof(temporary)) {
		errno = ENAMETOOLONG;
		return false;
	}
	if (!write_new(temporary, bytes, mode))
		return false;
	ok = rename(temporary, path) == 0;
	saved = errno;
	if (!ok)
		unlink(temporary);
	errno = saved;
	return ok;
}

static bool may_replace(const char *in, const struct stat *st)
{
	struct stat there;

	if (lstat(options.output, &there) != 0)
		return true;
	if (stat(options.output, &there) == 0 && there.st_dev == st->st_dev &&
	    there.st_ino == st->st_ino)
		cli_error("%s and %s are one file; name another one with -o", in, options.output);
	else if (!S_ISREG(there.st_mode))
		cli_error("%s is there already, and is no file", options.output);
	else
		return true;
	return false;
}

static int instrument_to(const char *in)
{
	struct text bytes = {0};
	struct stat st;
	int status;

	if (stat(in, &st) != 0) {
		cli_error("%s: %s", in, strerror(errno));
		return CLI_USAGE;
	}
	if (options.output && !may_replace(in, &st))
		return CLI_USAGE;
	status = functions_instrument(&options.functions, in, &bytes);
	if (status < 0) {
		status = CLI_OK;
		tell_lost(in, &st);
		if (!write_file(options.output, &bytes, st.st_mode & 0777)) {
			cli_error("%s: %s", options.output, strerror(errno));
			status = CLI_FAILURE;
		}
	}
	text_release(&bytes);
	return status;
}

static int run(int argc, char **argv)
{
	if (argc != 1)
		return cli_usage("instrument", "which program or library? one at a time");
	if (options.functions.functions_list == RUN_FUNCTIONS_NONE &&
	    (!options.output || !*options.output))
		return cli_usage("instrument", "where to? -o names the file to write");
	return instrument_to(argv[0]);
}

const struct command cmd_instrument = {
	.name = "instrument",
	.operands = "IN -o OUT",
	.summary = "Write a program or library whose functions can be recorded without patching",
	.about = "OUT does what IN does. Under `kymo run` its functions are recorded as by "
		 "--functions, "
		 "without code being\n"
		 "changed in memory: for systems that forbid that. Libraries are found as any, as "
		 "by "
		 "LD_LIBRARY_PATH.\n"
		 "IN is not changed. x86-64, linked dynamically; docs/functions.md.",
	.knobs = &knobs,
	.run = run,
};
