/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of counters; see formula.h. */
#include "analysis/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const formulas_known[] = {
	"ipc{instructions/cycle} = instructions / cycles # Instructions retired in a cycle",
	"cache-miss-ratio{%} = 100 * cache-misses / cache-references # Of accesses to the last "
	"level "
	"cache",
	"branch-miss-ratio{%} = 100 * branch-misses / branches # Of branches, those foretold "
	"wrongly",
	"l1d-miss-ratio{%} = 100 * l1d-load-misses / l1d-loads # Of loads from the first level "
	"data "
	"cache",
	"llc-miss-ratio{%} = 100 * llc-load-misses / llc-loads # Of loads from the last level "
	"cache",
	"frontend-stalls{%} = 100 * stalled-cycles-frontend / cycles # Of cycles, those without "
	"instructions to issue",
	"backend-stalls{%} = 100 * stalled-cycles-backend / cycles # Of cycles, those in which "
	"instructions could not be issued",
	"clock{GHz} = cycles / task-clock # Cycles in the time on a processor",
	NULL};

/* ---- parsing --------------------------------------------------------------------------------- */

/* Cuts the spaces at the end off. */
static char *trimmed(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = '\0';
	return s;
}

/* NAME{UNIT} = EXPRESSION # description */
static bool split(struct formula *f, char *error, size_t size)
{
	char *comment = strchr(f->text, '#'), *is, *unit, *end;

	f->description = f->unit = f->text + strlen(f->text);
	f->name = f->text;
	if (comment) {
		*comment = '\0';
		f->description = trimmed(comment + 1);
	}
	unit = f->text + strcspn(f->text, "{=");
	end = *unit == '{' ? strchr(unit, '}') : NULL;
	is = strchr(end ? end : unit, '=');
	if (!is || (*unit == '{' && !end)) {
		snprintf(error, size,
			 "\"%.60s\" is no formula: NAME=EXPRESSION or NAME{UNIT}=EXPRESSION",
			 f->text);
		return false;
	}
	*is = '\0';
	f->expression = trimmed(is + 1);
	if (end) {
		*unit = *end = '\0';
		f->unit = trimmed(unit + 1);
	}
	f->name = trimmed(f->text);
	if (*f->name && !strchr(f->name, ':') &&
	    expression_name_length(f->name) == strlen(f->name) &&
	    (!end || end + 1 + strspn(end + 1, " \t") == is))
		return true;
	snprintf(error, size,
		 "\"%.60s\" is no name of a formula: letters, digits, _ . - and a letter first",
		 f->name);
	return false;
}

bool formula_parse(struct formula *f, const char *line, char *error, size_t size)
{
	static const struct expression_rules rules = {.names = FORMULA_NAMES,
						      .steps = FORMULA_STEPS};
	char why[160];
	bool good;

	*f = (struct formula){.text = strdup(line)};
	if (!f->text) {
		snprintf(error, size, "there is no memory");
		return false;
	}
	if (!split(f, error, size))
		return false;
	good = expression_parse(&f->computed, f->expression, &rules, why, sizeof(why));
	if (!good)
		snprintf(error, size, "formula %s: %s", f->name, why);
	f->names = f->computed.names;
	f->name_count = f->computed.name_count;
	return good;
}

void formula_release(struct formula *f)
{
	expression_release(&f->computed);
	free(f->text);
	*f = (struct formula){0};
}

bool formula_begins(const char *text)
{
	size_t n = expression_name_length(text);

	if (!n || memchr(text, ':', n)) /* PROVIDER:NAME, NAME:device=... */
		return false;
	n += strspn(text + n, " \t");
	return text[n] == '=' || text[n] == '{';
}

/* ---- values ---------------------------------------------------------------------------------- */

struct formula_values {
	const struct formula *f;
	const double *at;
};

static const double *value_of(void *data, const char *name)
{
	const struct formula_values *v = data;

	for (unsigned i = 0; i < v->f->name_count; i++)
		if (v->f->names[i] == name)
			return &v->at[i];
	return NULL;
}

bool formula_value(const struct formula *f, const double *values, double *out)
{
	struct formula_values v = {f, values};
	struct expression_source source = {.rows = 1, .data = &v, .column = value_of};
	struct expression_value value;

	if (!expression_compute(&f->computed, &source, &value))
		return false;
	*out = value.column ? value.column[0] : value.number;
	free(value.column);
	return isfinite(*out);
}

bool formula_is_ratio(const struct formula *f, const double *values)
{
	double twice[FORMULA_NAMES], a, b;

	for (unsigned i = 0; i < f->name_count; i++)
		twice[i] = 2 * values[i];
	return formula_value(f, values, &a) && formula_value(f, twice, &b) &&
	       fabs(a - b) <= 1e-9 * fabs(a);
}

/* ---- of a trace ------------------------------------------------------------------------------ */

int formula_counter(const struct formula *f, const char *provider, const char *name)
{
	size_t n = strlen(provider);

	for (unsigned i = 0; i < f->name_count; i++) {
		const char *s = f->names[i];

		if (strcmp(s, name) == 0 ||
		    (strncmp(s, provider, n) == 0 && s[n] == ':' && strcmp(s + n + 1, name) == 0))
			return (int)i;
	}
	return -1;
}

static struct formula *of_words(char *words, unsigned *count)
{
	struct formula *list = NULL, *more;
	char *save = NULL, why[200];

	for (char *l = strtok_r(words, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		more = realloc(list, (*count + 1u) * sizeof(*list));
		if (!more)
			break;
		list = more;
		if (formula_parse(&list[*count], l, why, sizeof(why)) && list[*count].name_count)
			(*count)++;
		else
			formula_release(&list[*count]);
	}
	return list;
}

struct formula *formulas_of(const char *lines, unsigned *count)
{
	char *words = *lines ? strdup(lines) : NULL;
	struct formula *list;

	*count = 0;
	list = words ? of_words(words, count) : NULL;
	free(words);
	return list;
}
