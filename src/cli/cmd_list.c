/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list TOPIC`: backends, options and what other files add to lists.list. */
#include <string.h>

#include "base/run_options.h"
#include "cli/cli.h"
#include "cli/list_output.h"
#include "cli/pager.h"
#include "launch/launch.h"

#define LIST(name) extern const struct list list_##name;
#include "cli/lists.list"
#undef LIST

const struct list *const list_table[] = {
#define LIST(name) &list_##name,
#include "cli/lists.list"
#undef LIST
	NULL,
};

static int list_topics(FILE *out)
{
	fprintf(out, "Topics:\n");
	for (size_t i = 0; list_table[i]; i++)
		fprintf(out, "  %-10s %s\n", list_table[i]->name, list_table[i]->summary);
	return CLI_OK;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_topic(const struct list *l, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (is_help(argv[i])) {
			printf("Usage: kymo list %s%s%s [-f " REPORT_FORMATS "]\n\n%s.\n", l->name,
			       l->operands ? " " : "", l->operands ? l->operands : "", l->summary);
			return CLI_OK;
		}
	}
	if (!list_take_format(&argc, argv))
		return CLI_USAGE;
	if (list_format() == REPORT_TEXT)
		pager_start(CLI_OK);
	return l->run(argc, argv);
}

static int run_list(int argc, char **argv)
{
	if (argc == 0 || is_help(argv[0])) {
		printf("Usage: kymo list TOPIC [-f " REPORT_FORMATS "]\n\n");
		return list_topics(stdout);
	}
	for (size_t i = 0; list_table[i]; i++)
		if (strcmp(list_table[i]->name, argv[0]) == 0)
			return run_topic(list_table[i], argc - 1, argv + 1);
	cli_error("there is no list of \"%s\"", argv[0]);
	list_topics(stderr);
	return CLI_USAGE;
}

const struct command cmd_list = {
	.name = "list",
	.operands = "TOPIC",
	.summary = "List backends, options and more",
	.run = run_list,
	.raw_arguments = true,
};

static int run_backends(int argc, char **argv)
{
	struct list_output o;

	if (argc)
		return cli_usage("list", "list backends takes no operand, not \"%s\"", argv[0]);
	list_begin(&o, "backends", "Backends", (const char *const[]){"name", "description", NULL},
		   (const unsigned[]){12});
#define BACKEND(name, what) LIST_ROW(&o, name, what);
#include "backends.inc"
#undef BACKEND
	return list_end(&o);
}

const struct list list_backends = {"backends", "Runtimes that can be recorded", run_backends, NULL};

static void write_config(void)
{
	printf("# Options of Kymo: read with --config FILE or KYMO_CONFIG=FILE.\n\n");
	for (size_t i = 0; command_table[i]; i++)
		if (command_table[i]->knobs && !command_table[i]->hidden)
			knob_write_config(command_table[i]->knobs, stdout);
}

static void add_options(struct list_output *o)
{
	const char *dashes = list_format() == REPORT_TEXT ? "--" : "";
	char name[80], option[80];

	for (size_t i = 0; command_table[i]; i++) {
		const struct knob_table *t =
			command_table[i]->hidden ? NULL : command_table[i]->knobs;

		for (unsigned j = 0; t && j < t->count; j++) {
			knob_environment_name(t, j, name, sizeof(name));
			snprintf(option, sizeof(option), "%s%s", dashes, t->rows[j].name);
			LIST_ROW(o, command_table[i]->name, option, name, t->rows[j].doc,
				 t->rows[j].fallback);
		}
	}
}

static void add_variables(struct list_output *o, const struct knob_variable *v)
{
	const char *none = list_format() == REPORT_TEXT ? "-" : NULL;

	for (; v && v->name; v++)
		LIST_ROW(o, none, none, v->name, v->what, NULL);
}

/* Options, then variables without one. */
static int list_all_options(void)
{
	struct list_output o;

	list_begin(&o, "options", "Options",
		   (const char *const[]){"command", "option", "variable", "description",
					 list_format() == REPORT_TEXT ? NULL : "default", NULL},
		   (const unsigned[]){8, 18, 26, 0});
	add_options(&o);
	add_variables(&o, run_other_variables);
	for (const struct kymo_launch *const *l = launch_table; *l; l++)
		add_variables(&o, (*l)->variables);
	return list_end(&o);
}

static int run_list_options(int argc, char **argv)
{
	if (argc == 0)
		return list_all_options();
	if (argc > 1 || strcmp(argv[0], "--config") != 0)
		return cli_usage("list", "list options takes --config or nothing, not \"%s\"",
				 argv[argc > 1 && strcmp(argv[0], "--config") == 0]);
	if (list_format() != REPORT_TEXT)
		return cli_usage("list",
				 "--config writes a configuration file: it has no --format");
	write_config();
	return CLI_OK;
}

const struct list list_options = {"options",
				  "Options of all commands; --config writes a configuration file",
				  run_list_options, "[--config]"};
