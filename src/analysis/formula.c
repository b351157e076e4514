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

struct parser {
	struct formula *f;
	const char *at, *begin;
	unsigned depth;
	char *error;
	size_t size;
};

static bool expression(struct parser *p);

static bool fail(struct parser *p, const char *why)
{
	snprintf(p->error, p->size, "formula %s: %s at \"%.40s\" (character %zu)", p->f->name, why,
		 p->at, (size_t)(p->at - p->begin) + 1);
	return false;
}

static void spaces(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool add_step(struct parser *p, struct formula_step s)
{
	if (p->f->step_count == FORMULA_STEPS)
		return fail(p, "it is too long");
	p->f->steps[p->f->step_count++] = s;
	return true;
}

static bool is_first(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_inner(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* A minus or colon between letters or digits is part of a name. */
static size_t name_length(const char *s)
{
	size_t n = is_first(*s);

	while (n && (is_inner(s[n]) || ((s[n] == '-' || s[n] == ':') && is_inner(s[n + 1]))))
		n++;
	return n;
}

static bool add_name(struct parser *p, const char *name, size_t n)
{
	struct formula *f = p->f;
	unsigned i = 0;

	while (i < f->name_count && (strncmp(f->names[i], name, n) != 0 || f->names[i][n] != '\0'))
		i++;
	if (i == FORMULA_NAMES)
		return fail(p, "it has too many counters");
	if (i == f->name_count) {
		f->names[i] = strndup(name, n);
		if (!f->names[i])
			return fail(p, "there is no memory");
		f->name_count++;
	}
	return add_step(p, (struct formula_step){.what = 'c', .name = i});
}

/* sum(NAME) and its like are what the list of counters calls a counter of all instances. */
static size_t reduced_length(const char *s, size_t n)
{
	static const char *const words[] = {"sum", "avg", "min", "max"};

	for (size_t i = 0; i < 4 && n == 3; i++) {
		size_t inner = s[3] == '(' ? name_length(s + 4) : 0;

		if (strncmp(s, words[i], 3) == 0 && inner && s[4 + inner] == ')')
			return inner + 5;
	}
	return n;
}

static bool number(struct parser *p)
{
	char *end;
	double v = strtod(p->at, &end);

	if (end == p->at || !isfinite(v))
		return fail(p, "a number, a counter or a parenthesis is missing");
	if (is_first(*end))
		return fail(p, "this is neither a number nor a name; such names stand in quotes");
	p->at = end;
	return add_step(p, (struct formula_step){.what = 'n', .number = v});
}

static bool quoted(struct parser *p)
{
	const char *begin = p->at + 1, *end = strchr(begin, '"');

	if (!end || end == begin)
		return fail(p, "a name in quotes has no end, or is empty");
	p->at = end + 1;
	return add_name(p, begin, (size_t)(end - begin));
}

static bool factor(struct parser *p)
{
	bool good;
	size_t n;

	spaces(p);
	if (++p->depth > FORMULA_DEPTH)
		return fail(p, "it is nested too deeply");
	n = reduced_length(p->at, name_length(p->at));
	if (*p->at == '-') {
		p->at++;
		good = factor(p) && add_step(p, (struct formula_step){.what = '~'});
	} else if (*p->at == '(') {
		p->at++;
		good = expression(p) && (*p->at == ')' || fail(p, "a parenthesis is not closed"));
		p->at += good;
	} else if (*p->at == '"') {
		good = quoted(p);
	} else if (n) {
		const char *name = p->at;

		p->at += n;
		good = add_name(p, name, n);
	} else if (isdigit((unsigned char)*p->at) || *p->at == '.') {
		good = number(p);
	} else {
		good = fail(p, "a number, a counter or a parenthesis is missing");
	}
	p->depth--;
	spaces(p);
	return good;
}

static bool term(struct parser *p)
{
	bool good = factor(p);

	while (good && (*p->at == '*' || *p->at == '/')) {
		char what = *p->at++;

		good = factor(p) && add_step(p, (struct formula_step){.what = what});
	}
	return good;
}

static bool expression(struct parser *p)
{
	bool good = term(p);

	while (good && (*p->at == '+' || *p->at == '-')) {
		char what = *p->at++;

		good = term(p) && add_step(p, (struct formula_step){.what = what});
	}
	return good;
}

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
	if (*f->name && !strchr(f->name, ':') && name_length(f->name) == strlen(f->name) &&
	    (!end || end + 1 + strspn(end + 1, " \t") == is))
		return true;
	snprintf(error, size,
		 "\"%.60s\" is no name of a formula: letters, digits, _ . - and a letter first",
		 f->name);
	return false;
}

bool formula_parse(struct formula *f, const char *line, char *error, size_t size)
{
	struct parser p = {.f = f, .error = error, .size = size};

	*f = (struct formula){.text = strdup(line)};
	if (!f->text) {
		snprintf(error, size, "there is no memory");
		return false;
	}
	if (!split(f, error, size))
		return false;
	p.at = p.begin = f->expression;
	if (!expression(&p))
		return false;
	return !*p.at || fail(&p, *p.at == ')' ? "a parenthesis is not open"
					       : "an operator is missing; names with such "
						 "characters stand in quotes");
}

void formula_release(struct formula *f)
{
	for (unsigned i = 0; i < f->name_count; i++)
		free(f->names[i]);
	free(f->text);
	*f = (struct formula){0};
}

bool formula_begins(const char *text)
{
	size_t n = name_length(text);

	if (!n || memchr(text, ':', n)) /* PROVIDER:NAME, NAME:device=... */
		return false;
	n += strspn(text + n, " \t");
	return text[n] == '=' || text[n] == '{';
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool combine(char what, double *a, double b)
{
	switch (what) {
	case '+':
		*a += b;
		break;
	case '-':
		*a -= b;
		break;
	case '*':
		*a *= b;
		break;
	default:
		*a /= b;
	}
	return isfinite(*a);
}

bool formula_value(const struct formula *f, const double *values, double *out)
{
	double stack[FORMULA_STEPS] = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < f->step_count; i++) {
		const struct formula_step *s = &f->steps[i];

		if (s->what == 'n' || s->what == 'c')
			stack[n++] = s->what == 'n' ? s->number : values[s->name];
		else if (s->what == '~')
			stack[n - 1] = -stack[n - 1];
		else if (!combine(s->what, &stack[n - 2], stack[n - 1]))
			return false;
		else
			n--;
	}
	*out = stack[0];
	return n == 1 && isfinite(*out);
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
