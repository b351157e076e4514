/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knobs: every option of every command is one row of a table. From the row come the command-line
 * option, the environment variable, the line of the configuration file, the help text and whatever
 * else lists options. Precedence: command line, environment, configuration file,
 * preset (a configuration file that comes along), default.
 *
 * A table describes the members of one options structure; knob_defaults() fills it first.
 */
#ifndef BASE_KNOB_H
#define BASE_KNOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Type of a knob, and of the structure member that `offset` names. */
enum knob_type {
	KNOB_FLAG,     /* bool */
	KNOB_STRING,   /* const char * */
	KNOB_INTEGER,  /* int64_t, not negative */
	KNOB_SIZE,     /* uint64_t bytes; suffix K, M, G */
	KNOB_DURATION, /* uint64_t ns; "1.5", "10ms", "2s", "3m" */
	KNOB_ENUM,     /* int, index into `values` */
	KNOB_REGEX, /* const char *, valid POSIX extended regular expressions (patterns.h); "@FILE": of a file */
	KNOB_KERNELS, /* const char *, likewise; each may end in numbers of executions: "scale#1-3" */
	KNOB_LIST,    /* const char *, comma separated; each word one of `values` if that is set */
	KNOB_PERIOD   /* const char *, a valid period (period.h) */
};

/* Where a value came from; a lower one never replaces a higher one. */
enum knob_source {
	KNOB_DEFAULT = 0,
	KNOB_PRESET = 1,
	KNOB_CONFIG = 2,
	KNOB_ENVIRONMENT = 3,
	KNOB_ARGUMENT = 4
};

enum knob_flags {
	KNOB_OPTIONAL = 1,   /* the value may be left out: --stacks or --stacks=REGEX; `implied` */
	KNOB_HANDED_ON = 2,  /* the launcher hands it to the program in the environment */
	KNOB_NO_FILE = 8,    /* no configuration file says it */
	KNOB_NO_PRESET = 16, /* likewise, no preset */
	KNOB_REPEAT =
		4 /* several on the command line are one value, colons between them, of expressions
				a line for each; the environment variable ends with an S: --tool and KYMO_TOOLS */
};

struct knob {
	const char *name; /* "buffer-size" */
	char letter;      /* 'o', or 0 */
	uint8_t type;     /* enum knob_type */
	uint8_t flags;    /* enum knob_flags */
	size_t offset;    /* of the member in the options structure */
	const char *metavar;
	const char *fallback; /* default as the user would write it; NULL: unset */
	const char *values;   /* "block|drop" */
	const char *implied;  /* KNOB_OPTIONAL: the value when none is given */
	const char *group;    /* heading in the help */
	const char *doc;      /* one sentence, no full stop */
};

#define KNOB_ROWS_MAX 80

/* A name, and what there is to say of it. */
struct knob_variable {
	const char *name, *what;
};

struct knob_table {
	const char *command; /* "" for run: KYMO_NAME; else KYMO_COMMAND_NAME and command.name */
	const struct knob *rows;
	unsigned count;
	bool stop_at_operand; /* options end at the first word that is none */
	bool separates;       /* "--" after an operand is one itself, and parts them */
	const struct knob_variable
		*refused; /* options of other commands that would mean something here: why
						they are not there. Ends with a name of NULL; or NULL */
	void *values;     /* the options structure */
	uint8_t source[KNOB_ROWS_MAX];
	const char *argument[KNOB_ROWS_MAX]; /* what the command line has for a row, so far */
	/* An option of one value is given once more, and that counts. `both`: how to have both values; or NULL. Or NULL. */
	void (*again)(const char *option, const char *before, const char *now, const char *both);
};

#define KNOB_ERROR_MAX 400

/* Sets every member to its default. */
void knob_defaults(struct knob_table *t);

/* Sets one knob from text unless a higher source did. False: `error` says what is wrong. */
bool knob_set(struct knob_table *t, unsigned row, const char *text, enum knob_source source,
	      char error[KNOB_ERROR_MAX]);

/* Row of that name (as on the command line, without dashes), or -1. */
int knob_find(const struct knob_table *t, const char *name);

/*
 * Parses argv[1..]. Operands are moved to the front of argv, from argv[0] on; *operands is their
 * number (argv[*operands] is NULL). Stops with false and an error at the first mistake.
 * "--help"/"-h" sets *help and ends the parsing.
 */
bool knob_parse_arguments(struct knob_table *t, int argc, char **argv, int *operands, bool *help,
			  char error[KNOB_ERROR_MAX]);

bool knob_parse_environment(struct knob_table *t, char error[KNOB_ERROR_MAX]);

/*
 * Reads "name = value" lines. Names of other commands ("summary.format") are left to their tables;
 * unknown names of this command are errors.
 */
bool knob_parse_config(struct knob_table *t, const char *path, char error[KNOB_ERROR_MAX]);

/*
 * A line [job NAME] begins a section, which counts for the options of `kymo run` alone, after what
 * stands before the first section, and only in the job that is chosen here; NULL: in none.
 */
void knob_choose_job(const char *name);

/* Names of jobs in the order of a file, to be freed each, in an array that ends with NULL; NULL: error. */
char **knob_config_jobs(const char *path, char error[KNOB_ERROR_MAX]);
bool knob_parse_preset(struct knob_table *t, const char *path, char error[KNOB_ERROR_MAX]);

/* Name of the environment variable of a row, "KYMO_BUFFER_SIZE". */
void knob_environment_name(const struct knob_table *t, unsigned row, char *out, size_t size);

/* The present value as the user would write it; false: unset. `out` is always terminated. */
bool knob_text(const struct knob_table *t, unsigned row, char *out, size_t size);

/* Options by group, wrapped, with defaults and environment names. */
void knob_help(const struct knob_table *t, FILE *out);

/* A commented configuration file: every row with its default. */
void knob_write_config(const struct knob_table *t, FILE *out);

/* Calls `unknown` for each KYMO_* variable that neither a table nor `others` names; the guess may
 * be NULL. `tables` and `others` end with NULL. */
void knob_check_environment(const struct knob_table *const *tables, const char *const *others,
			    void (*unknown)(const char *name, const char *guess));

/* Reads a number of bytes as knobs have them, "500M"; false: it is none, `error` says why. */
bool knob_size(uint64_t *out, const char *s, char error[KNOB_ERROR_MAX]);

/* Reads a duration as knobs have them; false: it is none. */
bool knob_duration(uint64_t *out, const char *s);

/* True if `word` is in the comma separated `list`; a NULL list or "all" holds every word, "all,-mpi" and "-mpi" all
 * but one. */
bool knob_list_has(const char *list, const char *word);
/* True if `word` itself is in it: "all,posix" names posix, "all" nobody. */
bool knob_list_names(const char *list, const char *word);

#endif
