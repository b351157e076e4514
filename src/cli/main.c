/* SPDX-License-Identifier: Apache-2.0 */
/* The kymo program: finds the command, parses its options from its knob table, runs it. */
#include "cli/cli.h"
#include "cli/foreign.h"

#include <signal.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/bulk.h"
#include "base/run_options.h"
#include "base/text.h"
#include "cli/pager.h"
#include "cli/presets.h"
#include "cli/run.h"

#define COMMAND(name) extern const struct command cmd_##name;
#include "cli/commands.list"
#undef COMMAND

const struct command *const command_table[] = {
#define COMMAND(name) &cmd_##name,
#include "cli/commands.list"
#undef COMMAND
	NULL,
};

#define COMMANDS (sizeof(command_table) / sizeof(command_table[0]))
#define OTHERS   64 /* variables that are no options */

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; command_table[i]; i++)
		if (strcmp(command_table[i]->name, name) == 0)
			return command_table[i];
	return NULL;
}

static const char *nearest_command(const char *name)
{
	const char *guess = NULL;
	unsigned best = UINT_MAX;

	for (size_t i = 0; command_table[i]; i++)
		if (!command_table[i]->hidden && text_nearer(name, command_table[i]->name, &best))
			guess = command_table[i]->name;
	return guess;
}

static void print_overview(FILE *out)
{
	fprintf(out, "Usage: kymo [run] [OPTION]... PROGRAM [ARGUMENT]...\n"
		     "       kymo COMMAND [OPTION]... [OPERAND]...\n\n"
		     "Records what a heterogeneous program does and answers questions about it.\n\n"
		     "Commands:\n");
	for (size_t i = 0; command_table[i]; i++)
		if (!command_table[i]->hidden)
			fprintf(out, "  %-10s %s\n", command_table[i]->name,
				command_table[i]->summary);
	fprintf(out,
		"\n\"kymo help COMMAND\" explains a command, \"kymo help selection\" how to choose "
		"records,\n\"kymo --version\" names this version. kymo --no-pager COMMAND: what it "
		"prints goes through no pager.\n");
}

static void print_command(const struct command *c, FILE *out)
{
	fprintf(out, "Usage: kymo %s%s%s\n\n%s.\n", c->name, *c->operands ? " " : "", c->operands,
		c->summary);
	if (c->about)
		fprintf(out, "\n%s\n", c->about);
	if (c->knobs) {
		fputc('\n', out);
		knob_help(c->knobs, out);
	}
}

static int run_help(int argc, char **argv)
{
	const struct command *c;

	if (argc == 0) {
		print_overview(stdout);
		return CLI_OK;
	}
	if (argc > 1)
		return cli_usage("help", "help takes one command, not \"%s\" as well", argv[1]);
	c = find_command(argv[0]);
	if (!c && strcmp(argv[0], "selection") == 0) {
		fputs(cli_selection_help, stdout);
		return CLI_OK;
	}
	if (!c)
		return cli_usage(NULL, "there is no command \"%s\"", argv[0]);
	print_command(c, stdout);
	return CLI_OK;
}

const struct command cmd_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "Explain Kymo or one of its commands",
	.run = run_help,
};

static void unknown_variable(const char *name, const char *guess)
{
	if (guess)
		cli_warn("unknown environment variable %s; did you mean %s?", name, guess);
	else
		cli_warn("unknown environment variable %s is ignored", name);
}

/* Variables that are no options: of Kymo itself, then of backends. NULL terminated. */
static const char *const *other_variables(void)
{
	static const char *names[OTHERS + 1];
	unsigned n = 0;

	for (const struct knob_variable *v = run_other_variables; v->name && n < OTHERS; v++)
		names[n++] = v->name;
	for (const struct kymo_launch *const *l = launch_table; *l; l++)
		for (const struct knob_variable *v = (*l)->variables; v && v->name && n < OTHERS;
		     v++)
			names[n++] = v->name;
	return names;
}

static void check_environment(void)
{
	const struct knob_table *tables[COMMANDS];
	unsigned n = 0;

	for (size_t i = 0; command_table[i]; i++)
		if (command_table[i]->knobs)
			tables[n++] = command_table[i]->knobs;
	tables[n] = NULL;
	knob_check_environment(tables, other_variables(), unknown_variable);
}

/* The configuration file is named by --config of the command, else by KYMO_CONFIG. */
static bool parse_config(struct knob_table *t, char error[KNOB_ERROR_MAX])
{
	int row = knob_find(t, "config");
	const char *path = getenv("KYMO_CONFIG");

	if (row >= 0)
		path = *(const char **)((char *)t->values + t->rows[row].offset);
	if (t == &run_options_table)
		knob_choose_job(run_options_values.config_job);
	return !path || !*path || knob_parse_config(t, path, error);
}

/* No option of a command: all that read files of other tools heed it. */
static bool parse_memory(char error[KNOB_ERROR_MAX])
{
	const char *text = getenv("KYMO_READ_MEMORY");
	char why[KNOB_ERROR_MAX];
	uint64_t bytes;

	if (!text || !*text)
		return true;
	if (!knob_size(&bytes, text, why)) {
		snprintf(error, KNOB_ERROR_MAX, "KYMO_READ_MEMORY: %.300s", why);
		return false;
	}
	bulk_memory(bytes);
	return true;
}

static bool parse_preset(struct knob_table *t, char error[KNOB_ERROR_MAX])
{
	const char *preset = run_options_values.preset;
	char path[PATH_MAX];

	if (t != &run_options_table || !preset)
		return true;
	return preset_find(preset, path, error) && knob_parse_preset(t, path, error);
}

static bool is_version(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
}

static int print_version(void)
{
	puts("kymo " KYMO_VERSION);
	return CLI_OK;
}

char **cli_words;

/* The words of a command as they are: parsing puts operands first. */
static bool keep_words(int argc, char **argv)
{
	cli_words = calloc((size_t)argc + 1, sizeof(char *));
	for (int i = 1; cli_words && i < argc; i++)
		cli_words[i - 1] = argv[i];
	return cli_words != NULL;
}

/* argv[0] is the command's name. */
static int run_command(const struct command *c, int argc, char **argv)
{
	char error[KNOB_ERROR_MAX];
	int operands = 0;
	bool help = false;
	struct knob_table none = {.command = c->name, .stop_at_operand = false};
	struct knob_table *t = c->knobs ? c->knobs : &none;

	if (argc > 1 && is_version(argv[1]))
		return print_version();
	if (c->raw_arguments)
		return c->run(argc - 1, argv + 1);
	knob_defaults(t);
	t->again = cli_given_again;
	if (!keep_words(argc, argv)) {
		cli_error("not enough memory");
		return CLI_FAILURE;
	}
	if (!knob_parse_arguments(t, argc, argv, &operands, &help, error))
		return cli_usage(c->name, "%s", error);
	if (help) {
		print_command(c, stdout);
		return CLI_OK;
	}
	if (!knob_parse_environment(t, error) || !parse_config(t, error) ||
	    !parse_preset(t, error) || !parse_memory(error)) {
		cli_error("%s", error);
		return CLI_USAGE;
	}
	check_environment();
	if (c->traces || strcmp(c->name, "import") == 0)
		signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error as others */
	if (c->traces && !cli_foreign_operands(operands, argv, c->passes_on))
		return CLI_FAILURE;
	return c->run(operands, argv);
}

/* The program of `kymo PROGRAM`, unless there is none and the word looks like a command. */
static bool is_program(const char *word)
{
	struct text error = {0};
	struct program p;
	int status;
	bool found;

	if (strchr(word, '/') || !nearest_command(word))
		return true;
	found = program_find(&p, word, &error, &status);
	text_release(&error);
	return found;
}

static int run_named_command(int argc, char **argv)
{
	const struct command *c;

	if (argc > 1 && strcmp(argv[1], "--no-pager") == 0) {
		pager_refuse();
		argc--;
		argv++;
	}
	if (argc < 2) {
		print_overview(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_overview(stdout);
		return CLI_OK;
	}
	if (is_version(argv[1]))
		return print_version();
	c = find_command(argv[1]);
	if (c)
		return run_command(c, argc - 1, argv + 1);
	/* Options or a program right away: `kymo run`. */
	if (argv[1][0] == '-' || is_program(argv[1]))
		return run_command(find_command("run"), argc, argv);
	cli_error("there is no command \"%s\"; did you mean \"%s\"? To run a program of that name: "
		  "kymo run %s",
		  argv[1], nearest_command(argv[1]), argv[1]);
	return CLI_USAGE;
}

/*
 * Where a standard stream is closed, the next file opened would take its place and get our messages.
 * What holds the place can be neither read nor written, and is closed again in the program.
 */
static void hold_standard_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

/* Where addresses are rationed (ulimit -v) all threads share one heap of the C library's: each more takes 64 MiB of them. */
static void spare_addresses(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		mallopt(M_ARENA_MAX, 1);
}

int main(int argc, char **argv)
{
	int status;

	hold_standard_streams();
	spare_addresses();
	status = run_named_command(argc, argv);
	/* A full disk must not look like a short answer. */
	if (status == CLI_OK && (fflush(stdout) != 0 || ferror(stdout))) {
		cli_error("standard output cannot be written: %s", strerror(errno));
		status = CLI_FAILURE;
	}
	pager_end();
	return status;
}
