/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo attach`: records a process that runs already. Checks here, the rest as in `kymo run`. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/attach.h"
#include "base/file.h"
#include "base/run_options.h"
#include "cli/cli.h"
#include "cli/run.h"

#ifdef KYMO_HAVE_ATTACH

/* What is said of a program that is started, and has no meaning for one that runs. */
static const char *const meant_for_run[] = {"untraced",      "dry-run",   "rank",
					    "rank-variable", "kill",      "start-paused",
					    "config-job",    "functions", "replay-pass"};

static const char *unfit_option(void)
{
	for (size_t i = 0; i < sizeof(meant_for_run) / sizeof(*meant_for_run); i++) {
		int row = knob_find(&run_options_table, meant_for_run[i]);

		if (row >= 0 && run_options_table.source[row] == KNOB_ARGUMENT)
			return meant_for_run[i];
	}
	return NULL;
}

static int pid_of(const char *word)
{
	char *end;
	long n = strtol(word, &end, 10);

	return isdigit((unsigned char)word[0]) && *end == '\0' && n > 0 && n < INT_MAX ? (int)n : 0;
}

/* Its command, kept for ever; NULL: no memory. One that has cleared it is called by its file. */
static char **command_of(const struct attach_target *t)
{
	char path[32], *words;
	size_t bytes = 0, n = 0;
	char **argv;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", t->pid);
	words = file_read(path, &bytes);
	argv = calloc(bytes + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	if (!words)
		bytes = 0;
	for (size_t at = 0; at < bytes; at += strlen(words + at) + 1)
		argv[n++] = words + at;
	if (!n || !argv[0][0])
		argv[0] = (char *)(uintptr_t)t->exe;
	return argv;
}

static int run_attach(int argc, char **argv)
{
	static struct attach_target target;
	struct text why = {0};
	const char *unfit = unfit_option();
	char **command;
	int pid;

	if (argc != 1)
		return cli_usage("attach", argc ? "one process at a time" : "no process is named");
	if (unfit)
		return cli_usage("attach", "--%s is for programs that \"kymo run\" starts", unfit);
	pid = pid_of(argv[0]);
	if (!pid)
		return cli_usage("attach", "\"%s\" is no number of a process", argv[0]);
	if (!attach_look(pid, &target, &why)) {
		cli_error("process %d cannot be attached to: %s", pid,
			  why.s ? why.s : "out of memory");
		text_release(&why);
		return CLI_FAILURE;
	}
	command = command_of(&target);
	return command ? run_attached(&target, command) : CLI_FAILURE;
}

#else

static int run_attach(int argc, char **argv)
{
	cli_error("this kymo was built without what attaching needs: an x86-64 processor, libdw "
		  "(elfutils)");
	return CLI_FAILURE;
}

#endif

const struct command cmd_attach = {
	.name = "attach",
	.operands = "[OPTION]... PID",
	.summary = "Record a process that runs already",
	.about =
		"Kymo comes into the process, records from then on, and leaves when --duration is\n"
		"over, by Ctrl-C, or when this command is ended in another way. The process goes "
		"on.\n"
		"It can be attached to again.\n\n"
		"One of its threads is stopped once, for some milliseconds, and makes a thread "
		"that\n"
		"loads Kymo. What is there already and asks for tools but once is listed as not\n"
		"seen. A process that cannot be attached to without harm is refused, with the\n"
		"reason: status 3. The summary goes to standard error.",
	.knobs = &run_options_table,
	.run = run_attach,
};
