/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands share. A command is one file cmd_<name>.c that defines
 * `const struct command cmd_<name>`, and one line COMMAND(<name>) in commands.list.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <kymo/status.h>

#include "base/knob.h"

/* Exit statuses. */
enum {
	CLI_OK = 0,
	CLI_NO = 1,     /* the answer is "no": a comparison failed, losses found with --strict */
	CLI_USAGE = 2,  /* the command line is wrong */
	CLI_FAILURE = 3 /* and up: it could not be done */
};

struct command {
	const char *name;
	const char *operands;     /* "[OPTION]... TRACE..." */
	const char *summary;      /* one line, no full stop */
	const char *about;        /* paragraphs for `kymo help NAME`, or NULL */
	struct knob_table *knobs; /* parsed before `run` is called; NULL: no options */
	/* `argv` holds the operands only, NULL terminated. Returns the exit status. */
	int (*run)(int argc, char **argv);
	bool hidden;        /* not shown in the list of commands */
	bool raw_arguments; /* `run` gets all words unparsed */
	bool traces;        /* operands are traces: files of other tools are made such, ... */
	bool passes_on;     /* ... but of formats whose records it passes on itself */
};

/* What `kymo help selection` prints. */
extern const char cli_selection_help[];

/* What follows the command's name, as it was written. */
extern char **cli_words;

/* NULL terminated, in order of commands.list. */
extern const struct command *const command_table[];

/* Topics of `kymo list`: one line LIST(<topic>) in lists.list, `const struct list list_<topic>`. */
struct list {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv); /* words after the topic */
	const char *operands;              /* what these may be, or NULL */
};
extern const struct list *const list_table[];

/*
 * "kymo: error: ..." on stderr: what went wrong, where, what to do. A newline is added; strings are
 * escaped (base/plain.h).
 */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "kymo: ..." on stderr. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What a stream_log was told: 3 and up are errors, 2 warnings. Its line breaks are its own. */
void cli_message(int severity, const char *lines);

/* An error was among them: what was printed besides is not all, and the status must not be 0. */
bool cli_told_errors(void);

/* Prints the error and a hint at the help of `command`; returns CLI_USAGE. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Warns that an option of one value was given two: the last counts. `both`: how both are written, where that is
 * possible, else NULL. Fits knob_table.again.
 */
void cli_given_again(const char *option, const char *before, const char *now, const char *both);

/*
 * Progress bar on stderr, only on a terminal and only once the work has taken half a second. Fits
 * format_options.progress: `data` is the label, `done` is in [0,1]; at 1 the bar is wiped.
 */
void cli_progress(void *data, double done);

/* Wipes a bar that is being shown, before something else is printed. */
void cli_progress_clear(void);

/* Absolute path of this program, of the folder of its libraries; "" if it cannot be found. */
const char *cli_self(void);
const char *cli_libdir(void);

/* Why it cannot be found. */
const char *cli_libdir_error(void);

#endif
