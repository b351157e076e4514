/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas in --counters: NAME=EXPRESSION, or the name of one that is known or in the file of --formulas. The counters
 * that they are made of are recorded in their place; the trace keeps the formulas.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/formula.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "telemetry/perf_list.h"

enum { FILE_MOST = 1 << 20, ERROR = 400 };

struct taken {
	char **lines; /* of the file */
	size_t line_count;
	struct text list, formulas;
	char error[ERROR];
};

/* ---- which there are -------------------------------------------------------------------------- */

static bool is_named(const char *line, const char *name, size_t n)
{
	line += strspn(line, " \t");
	return strncmp(line, name, n) == 0 && strchr(" \t{=", line[n]) && line[n];
}

static const char *line_of(const struct taken *t, const char *name, size_t n)
{
	for (size_t i = 0; i < t->line_count; i++)
		if (is_named(t->lines[i], name, n))
			return t->lines[i];
	for (size_t i = 0; formulas_known[i]; i++)
		if (is_named(formulas_known[i], name, n))
			return formulas_known[i];
	return NULL;
}

/* Each line is looked over, and no name stands there twice. */
static bool check_line(struct taken *t, const char *path, size_t number, char *line)
{
	char why[ERROR];
	struct formula f;
	bool good = formula_parse(&f, line, why, sizeof(why));

	for (size_t i = 0; good && i < t->line_count; i++)
		if (is_named(t->lines[i], f.name, strlen(f.name))) {
			snprintf(why, sizeof(why), "formula %s is there twice", f.name);
			good = false;
		}
	formula_release(&f);
	if (good)
		t->lines[t->line_count++] = line;
	else
		cli_error("--formulas %s:%zu: %s", path, number, why);
	return good;
}

static bool read_file(struct taken *t, const char *path, char **text)
{
	size_t number = 0;
	bool good = true;

	*text = file_read_limited(path, FILE_MOST);
	if (!*text) {
		cli_error("--formulas %s cannot be read: %s", path, strerror(errno));
		return false;
	}
	t->lines = calloc(strlen(*text) + 1, sizeof(*t->lines));
	for (char *line = *text, *next; good && t->lines && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		if (line[strspn(line, " \t\r")] && line[strspn(line, " \t")] != '#')
			good = check_line(t, path, number, line);
	}
	return good && t->lines;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Bytes of a definition: commas in quotes, braces, parentheses and between the numbers of processors are in it. */
static size_t definition_length(const char *s)
{
	const char *cpus = NULL;
	bool quotes = false, braces = false;
	unsigned open = 0;
	size_t n = 0;

	for (; s[n]; n++) {
		quotes ^= s[n] == '"';
		braces = s[n] == '{' || (braces && s[n] != '}');
		open += !quotes && s[n] == '(';
		open -= !quotes && s[n] == ')' && open;
		if (!quotes && strncmp(s + n, ":cpu=", 5) == 0)
			cpus = s + n;
		if (s[n] == ',' && !quotes && !braces && !open &&
		    !(cpus && isdigit((unsigned char)s[n + 1])))
			break;
	}
	return n;
}

static bool has_item(const struct text *list, const char *item)
{
	size_t n = strlen(item);

	for (const char *w = list->length ? list->s : NULL; w && *w;) {
		size_t k = perf_item(w);

		if (k == n && strncmp(w, item, n) == 0)
			return true;
		w += k + (w[k] == ',');
	}
	return false;
}

static void add_item(struct taken *t, const char *name, const char *behind)
{
	struct text item = {0};

	text_addf(&item, "%s%s", name, behind);
	if (item.length && !has_item(&t->list, item.s))
		text_addf(&t->list, "%s%s", t->list.length ? "," : "", item.s);
	text_release(&item);
}

/* What stands behind a formula and is said of each of its counters: ":cpu=...", ":kernel", or "". */
static const char *behind_formula(const char *item)
{
	static const char kernel[] = ":kernel";
	const char *cpus = strstr(item, ":cpu="), *end = item + strlen(item);
	const size_t n = sizeof(kernel) - 1;

	if (cpus)
		return cpus;
	return (size_t)(end - item) > n && strcmp(end - n, kernel) == 0 ? end - n : end;
}

static bool add_formula(struct taken *t, const char *line, const char *behind)
{
	struct formula f;
	bool good = formula_parse(&f, line, t->error, sizeof(t->error));

	if (good && !f.name_count) {
		snprintf(t->error, sizeof(t->error), "formula %s names no counter", f.name);
		good = false;
	}
	for (unsigned i = 0; good && i < f.name_count; i++)
		add_item(t, f.names[i], behind);
	formula_release(&f);
	if (good)
		text_addf(&t->formulas, "%s%s", t->formulas.length ? "\n" : "", line);
	return good;
}

static bool take_item(struct taken *t, char *item)
{
	const char *behind = behind_formula(item), *known;
	size_t n = (size_t)(behind - item);
	struct text line = {0};
	bool good = true;

	if (formula_begins(item)) {
		text_add_bytes(&line, item, n);
		good = line.s && add_formula(t, line.s, behind);
		text_release(&line);
		return good;
	}
	known = line_of(t, item, n);
	if (known)
		return add_formula(t, known, behind);
	if (*item)
		add_item(t, item, "");
	return true;
}

static bool take_list(struct taken *t, const char *list)
{
	bool good = true;

	for (const char *w = list; good && *w;) {
		size_t n = formula_begins(w) ? definition_length(w) : perf_item(w);
		char *item = strndup(w, n);

		good = item && take_item(t, item);
		free(item);
		w += n + (w[n] == ',');
	}
	return good;
}

bool formulas_take(struct run_options *o)
{
	struct taken t = {0};
	char *text = NULL;
	bool good = true;

	if (o->formulas && !o->counters) {
		cli_error("--formulas goes with --counters, which names those that are wanted");
		return false;
	}
	if (o->formulas)
		good = read_file(&t, o->formulas, &text);
	if (good && o->counters) {
		good = take_list(&t, o->counters);
		if (!good)
			cli_error("--counters: %s", t.error);
	}
	if (good && t.formulas.length) {
		counters_become(o, t.list.s);
		o->formula_lines = t.formulas.s; /* kept */
	} else {
		text_release(&t.list);
		text_release(&t.formulas);
	}
	free(t.lines);
	free(text);
	return good;
}
