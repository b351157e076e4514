/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kymo reference`, which is for the build and in no list: all commands, their options and the other
 * variables as JSON. tools/gen/gen_manual.py makes of it the pages of the manual and the completions
 * of shells, so that these know what the command line knows.
 */
#include "base/json.h"
#include "base/run_options.h"
#include "cli/cli.h"
#include "formats/format.h"
#include "launch/launch.h"

static void add_member(struct json *j, const char *name, const char *value)
{
	json_name(j, name);
	json_add_string(j, value);
}

/* A format's name is one of those that this kymo can write. */
static void add_values(struct json *j, const struct knob *k)
{
	struct text formats = {0};

	for (const struct format *const *f = format_table;
	     k->metavar && strcmp(k->metavar, "FORMAT") == 0 && !k->values && *f; f++)
		if ((*f)->write)
			text_addf(&formats, "%s%s", formats.length ? "|" : "", (*f)->name);
	add_member(j, "values", formats.s ? formats.s : k->values);
	text_release(&formats);
}

static void add_option(struct json *j, const struct knob_table *t, unsigned row)
{
	const struct knob *k = &t->rows[row];
	const char letter[2] = {k->letter, '\0'};
	char variable[80];

	knob_environment_name(t, row, variable, sizeof(variable));
	json_line(j, 3);
	json_open(j, '{');
	add_member(j, "name", k->name);
	add_member(j, "letter", letter);
	json_name(j, "flag");
	json_add_bool(j, k->type == KNOB_FLAG);
	json_name(j, "optional");
	json_add_bool(j, k->flags & KNOB_OPTIONAL);
	json_name(j, "list");
	json_add_bool(j, k->type == KNOB_LIST);
	add_member(j, "metavar", k->metavar);
	add_values(j, k);
	add_member(j, "default", k->fallback);
	add_member(j, "group", k->group);
	add_member(j, "doc", k->doc);
	add_member(j, "variable", variable);
	json_close(j);
}

static void add_command(struct json *j, const struct command *c)
{
	json_line(j, 2);
	json_open(j, '{');
	add_member(j, "name", c->name);
	add_member(j, "operands", c->operands);
	add_member(j, "summary", c->summary);
	add_member(j, "about", c->about);
	json_name(j, "options");
	json_open(j, '[');
	for (unsigned i = 0; c->knobs && i < c->knobs->count; i++)
		add_option(j, c->knobs, i);
	json_close(j);
	json_close(j);
}

static void add_variables(struct json *j, const struct knob_variable *v)
{
	for (; v && v->name; v++) {
		json_line(j, 2);
		json_open(j, '{');
		add_member(j, "name", v->name);
		add_member(j, "what", v->what);
		json_close(j);
	}
}

static void add_topics(struct json *j)
{
	for (size_t i = 0; list_table[i]; i++) {
		json_line(j, 2);
		json_open(j, '{');
		add_member(j, "name", list_table[i]->name);
		add_member(j, "summary", list_table[i]->summary);
		add_member(j, "operands", list_table[i]->operands);
		json_close(j);
	}
}

static int run_reference(int argc, char **argv)
{
	struct text out = {0};
	struct json j = {.out = &out};

	json_open(&j, '{');
	add_member(&j, "version", KYMO_VERSION);
	json_name(&j, "commands");
	json_open(&j, '[');
	for (size_t i = 0; command_table[i]; i++)
		if (!command_table[i]->hidden)
			add_command(&j, command_table[i]);
	json_close(&j);
	json_name(&j, "topics");
	json_open(&j, '[');
	add_topics(&j);
	json_close(&j);
	json_name(&j, "variables");
	json_open(&j, '[');
	add_variables(&j, run_other_variables);
	for (const struct kymo_launch *const *l = launch_table; *l; l++)
		add_variables(&j, (*l)->variables);
	json_close(&j);
	json_close(&j);
	if (out.failed) {
		cli_error("there is no memory");
		return CLI_FAILURE;
	}
	puts(out.s);
	text_release(&out);
	return CLI_OK;
}

const struct command cmd_reference = {
	.name = "reference",
	.operands = "",
	.summary = "All commands and options as JSON",
	.run = run_reference,
	.hidden = true,
};
