/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of expressions; see expression.h. expression_compute.c computes them. */
#include "analysis/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/expression_steps.h"

const struct expression_function expression_functions[] = {
	{"MIN2", 2, false},  {"MAX2", 2, false}, {"ABS", 1, false},  {"ROUND", 1, false},
	{"FLOOR", 1, false}, {"CEIL", 1, false}, {"MOD", 2, false},  {"TO_INT", 1, false},
	{"SUM", 1, true},    {"AVG", 1, true},   {"MIN", 1, true},   {"MAX", 1, true},
	{"MEDIAN", 1, true}, {"STD", 1, true},   {"COUNT", 1, true}, {"QUANTILE", 2, true},
};
_Static_assert(sizeof(expression_functions) / sizeof(*expression_functions) == FUNCTIONS,
	       "one row for each of enum expression_function_id");

struct parser {
	struct expression *e;
	const struct expression_rules *rules;
	const char *at, *begin;
	unsigned depth;
	bool rows; /* what was read last has a number in each row */
	char *error;
	size_t size;
};

static bool choice(struct parser *p);

static bool fail(struct parser *p, const char *why)
{
	if (!*p->at)
		snprintf(p->error, p->size, "%s at the end of \"%.60s\"", why, p->begin);
	else
		snprintf(p->error, p->size, "%s at \"%.40s\" (character %zu)", why, p->at,
			 (size_t)(p->at - p->begin) + 1);
	return false;
}

static void spaces(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool add_step(struct parser *p, struct expression_step s)
{
	if (p->e->step_count == p->rules->steps)
		return fail(p, "it is too long");
	p->e->steps[p->e->step_count++] = s;
	return true;
}

/* ---- names ------------------------------------------------------------------------------------ */

static bool is_first(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_inner(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* A minus or colon between letters or digits is part of a name. */
size_t expression_name_length(const char *s)
{
	size_t n = is_first(*s);

	while (n && (is_inner(s[n]) || ((s[n] == '-' || s[n] == ':') && is_inner(s[n + 1]))))
		n++;
	return n;
}

/* The place of a name in the list, where it is put if it is new; -1: said why not. */
static int place_of(struct parser *p, char **names, unsigned *count, const char *name, size_t n)
{
	unsigned i = 0;

	while (i < *count && (strncmp(names[i], name, n) != 0 || names[i][n] != '\0'))
		i++;
	if (i == p->rules->names) {
		fail(p, "it has too many counters");
		return -1;
	}
	if (i == *count) {
		names[i] = strndup(name, n);
		if (!names[i]) {
			fail(p, "there is no memory");
			return -1;
		}
		++*count;
	}
	return (int)i;
}

static bool add_name(struct parser *p, const char *name, size_t n)
{
	int i = place_of(p, p->e->names, &p->e->name_count, name, n);

	p->rows = true;
	return i >= 0 && add_step(p, (struct expression_step){.what = 'c', .index = (unsigned)i});
}

static bool variable(struct parser *p)
{
	size_t n = 0;
	int i;

	if (!p->rules->rows)
		return fail(p, "variables are of metrics alone");
	while (is_inner(p->at[1 + n]) && p->at[1 + n] != '.')
		n++;
	if (!n)
		return fail(p, "a name is missing after $");
	i = place_of(p, p->e->variables, &p->e->variable_count, p->at + 1, n);
	p->at += 1 + n;
	p->rows = false; /* as far as is known here */
	return i >= 0 && add_step(p, (struct expression_step){.what = 'v', .index = (unsigned)i});
}

/* sum(NAME) and its like are what the list of counters calls a counter of all instances. */
static size_t reduced_length(const char *s, size_t n)
{
	static const char *const words[] = {"sum", "avg", "min", "max"};

	for (size_t i = 0; i < 4 && n == 3; i++) {
		size_t inner = s[3] == '(' ? expression_name_length(s + 4) : 0;

		if (strncmp(s, words[i], 3) == 0 && inner && s[4 + inner] == ')')
			return inner + 5;
	}
	return n;
}

static bool is_word(const char *s, const char *word)
{
	size_t n = strlen(word);

	return expression_name_length(s) == n && strncmp(s, word, n) == 0;
}

/* ---- values ------------------------------------------------------------------------------------ */

static bool number(struct parser *p)
{
	char *end;
	double v = strtod(p->at, &end);

	if (end == p->at || !isfinite(v))
		return fail(p, "a number, a counter or a parenthesis is missing");
	if (is_first(*end))
		return fail(p, "this is neither a number nor a name; such names stand in quotes");
	p->at = end;
	p->rows = false;
	return add_step(p, (struct expression_step){.what = 'n', .number = v});
}

static bool quoted(struct parser *p)
{
	const char *begin = p->at + 1, *end = strchr(begin, '"');

	if (!end || end == begin)
		return fail(p, "a name in quotes has no end, or is empty");
	p->at = end + 1;
	return add_name(p, begin, (size_t)(end - begin));
}

static bool parenthesis(struct parser *p)
{
	bool good;

	p->at++;
	good = choice(p) && (*p->at == ')' || fail(p, "a parenthesis is not closed"));
	p->at += good;
	return good;
}

static int function_named(const char *s, size_t n)
{
	for (int i = 0; i < FUNCTIONS; i++)
		if (strlen(expression_functions[i].name) == n &&
		    strncmp(expression_functions[i].name, s, n) == 0)
			return i;
	return -1;
}

static bool arguments(struct parser *p, const struct expression_function *f)
{
	bool rows = false;

	for (unsigned i = 0; i < f->arguments; i++) {
		p->at++; /* the parenthesis, or the comma */
		if (!choice(p))
			return false;
		rows |= p->rows;
		if (*p->at != (i + 1 == f->arguments ? ')' : ','))
			return fail(p, *p->at == ',' || *p->at == ')'
					       ? "a function has another number of arguments"
					       : "a parenthesis is not closed");
	}
	p->at++;
	p->rows = rows && !f->reduces;
	return true;
}

/* NAME( ... ), of which `n` bytes are the name. */
static bool function(struct parser *p, size_t n)
{
	int i = function_named(p->at, n);

	if (i < 0)
		return fail(p, "there is no such function");
	if (expression_functions[i].reduces && !p->rules->rows)
		return fail(p, "functions over kernels are of metrics alone");
	p->at += n;
	return arguments(p, &expression_functions[i]) &&
	       add_step(p, (struct expression_step){.what = 'f', .index = (unsigned)i});
}

static bool name(struct parser *p, size_t n)
{
	const char *begin = p->at;

	if (begin[n] == '(' && begin[n - 1] != ')')
		return function(p, n);
	if (is_word(begin, "if") || is_word(begin, "else"))
		return fail(p, "a number, a counter or a parenthesis is missing");
	p->at += n;
	if (is_word(begin, "NA")) {
		p->rows = false;
		return add_step(p, (struct expression_step){.what = 'n', .number = NAN});
	}
	return add_name(p, begin, n);
}

static bool factor(struct parser *p)
{
	bool good;
	size_t n;

	spaces(p);
	if (++p->depth > EXPRESSION_DEPTH)
		return fail(p, "it is nested too deeply");
	n = reduced_length(p->at, expression_name_length(p->at));
	if (*p->at == '-') {
		p->at++;
		good = factor(p) && add_step(p, (struct expression_step){.what = '~'});
	} else if (*p->at == '(') {
		good = parenthesis(p);
	} else if (*p->at == '"') {
		good = quoted(p);
	} else if (*p->at == '$') {
		good = variable(p);
	} else if (n) {
		good = name(p, n);
	} else if (isdigit((unsigned char)*p->at) || *p->at == '.') {
		good = number(p);
	} else {
		good = fail(p, "a number, a counter or a parenthesis is missing");
	}
	p->depth--;
	spaces(p);
	return good;
}

/* ---- operators --------------------------------------------------------------------------------- */

/* The right side of an operator, then the operator. */
static bool right_side(struct parser *p, bool (*side)(struct parser *p), char what)
{
	bool rows = p->rows, good = side(p) && add_step(p, (struct expression_step){.what = what});

	p->rows |= rows;
	return good;
}

static bool term(struct parser *p)
{
	bool good = factor(p);

	while (good && (*p->at == '*' || *p->at == '/')) {
		char what = *p->at++;

		good = right_side(p, factor, what);
	}
	return good;
}

static bool sum(struct parser *p)
{
	bool good = term(p);

	while (good && (*p->at == '+' || *p->at == '-')) {
		char what = *p->at++;

		good = right_side(p, term, what);
	}
	return good;
}

static bool comparison(struct parser *p)
{
	static const struct {
		char word[3], what;
	} operators[] = {{"<=", 'l'}, {">=", 'g'}, {"==", '='},
			 {"!=", '!'}, {"<", '<'},  {">", '>'}};

	if (!sum(p))
		return false;
	for (unsigned i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		size_t n = strlen(operators[i].word);

		if (strncmp(p->at, operators[i].word, n) != 0)
			continue;
		p->at += n;
		return right_side(p, sum, operators[i].what);
	}
	return true;
}

/* A [if B else C], to the right. */
static bool choice(struct parser *p)
{
	bool good, rows;

	if (!comparison(p))
		return false;
	if (!is_word(p->at, "if"))
		return true;
	rows = p->rows;
	p->at += strlen("if");
	if (!comparison(p))
		return false;
	rows |= p->rows;
	if (!is_word(p->at, "else"))
		return fail(p, "an if has no else");
	p->at += strlen("else");
	if (++p->depth > EXPRESSION_DEPTH)
		return fail(p, "it is nested too deeply");
	good = choice(p) && add_step(p, (struct expression_step){.what = '?'});
	p->depth--;
	p->rows |= rows;
	return good;
}

bool expression_parse(struct expression *e, const char *text, const struct expression_rules *rules,
		      char *error, size_t size)
{
	struct parser p = {
		.e = e, .rules = rules, .at = text, .begin = text, .error = error, .size = size};

	*e = (struct expression){.names = calloc(rules->names, sizeof(*e->names)),
				 .variables = calloc(rules->names, sizeof(*e->variables)),
				 .steps = calloc(rules->steps, sizeof(*e->steps))};
	if (!e->names || !e->variables || !e->steps)
		return fail(&p, "there is no memory");
	if (!choice(&p))
		return false;
	e->reduced = !p.rows;
	return !*p.at || fail(&p, *p.at == ')' ? "a parenthesis is not open"
					       : "an operator is missing; names with such "
						 "characters stand in quotes");
}

void expression_release(struct expression *e)
{
	for (unsigned i = 0; i < e->name_count; i++)
		free(e->names[i]);
	for (unsigned i = 0; i < e->variable_count; i++)
		free(e->variables[i]);
	free(e->names);
	free(e->variables);
	free(e->steps);
	*e = (struct expression){0};
}
