/* SPDX-License-Identifier: Apache-2.0 */
/* Computing expressions, step by step on a stack of numbers and columns. */
#include "analysis/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/expression_steps.h"

struct machine {
	const struct expression *e;
	struct expression_source *source;
	struct expression_value stack[EXPRESSION_STEPS];
	unsigned depth;
	bool failed; /* memory ran out */
	bool na;     /* the expression itself says that there is none */
};

static double number_in(const struct expression_value *v, uint32_t row)
{
	return v->column ? v->column[row] : v->number;
}

static void push(struct machine *m, struct expression_value v)
{
	m->stack[m->depth++] = v;
}

/* The value of the step that took the upper `taken` values takes their place. */
static void replace(struct machine *m, unsigned taken, struct expression_value v)
{
	while (taken--)
		free(m->stack[--m->depth].column);
	push(m, v);
}

static double *column_new(struct machine *m)
{
	/* A group of no rows is none. */
	double *c = malloc((m->source->rows + 1u) * sizeof(*c));

	m->failed |= !c;
	return c;
}

/* What comes of values that are there, and is none itself: the first reason is told. */
static double or_nan(struct machine *m, double v, const char *why)
{
	if (!isfinite(v) && why && !m->source->why)
		m->source->why = why;
	return isfinite(v) ? v : NAN;
}

/* ---- in each row -------------------------------------------------------------------------------- */

static double truth(double a, double b, bool is)
{
	return isnan(a) || isnan(b) ? NAN : is;
}

static double of_operator(char what, double a, double b)
{
	switch (what) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return a / b;
	case '<':
		return truth(a, b, a < b);
	case '>':
		return truth(a, b, a > b);
	case 'l':
		return truth(a, b, a <= b);
	case 'g':
		return truth(a, b, a >= b);
	case '=':
		return truth(a, b, a == b);
	default:
		return truth(a, b, a != b);
	}
}

static double of_function(unsigned f, double a, double b)
{
	switch (f) {
	case FUNCTION_MIN2:
		return isnan(a) || isnan(b) ? NAN : fmin(a, b);
	case FUNCTION_MAX2:
		return isnan(a) || isnan(b) ? NAN : fmax(a, b);
	case FUNCTION_ABS:
		return fabs(a);
	case FUNCTION_ROUND:
		return round(a);
	case FUNCTION_FLOOR:
		return floor(a);
	case FUNCTION_CEIL:
		return ceil(a);
	case FUNCTION_MOD:
		return fmod(a, b);
	default:
		return trunc(a);
	}
}

static double of_row(const struct expression_step *s, double a, double b, double c)
{
	switch (s->what) {
	case '~':
		return -a;
	case '?': /* a if b else c */
		return isnan(b) ? NAN : b != 0 ? a : c;
	case 'f':
		return of_function(s->index, a, b);
	default:
		return of_operator(s->what, a, b);
	}
}

/* Why a step has no result though all that it is made of is there; NULL: something is missing. */
static const char *lost(const struct expression_step *s, double a, double b, double c)
{
	const bool divides = s->what == '/' || (s->what == 'f' && s->index == FUNCTION_MOD);

	if (isnan(a) || isnan(b) || isnan(c))
		return NULL;
	return divides && b == 0 ? "a division by zero" : "a number becomes too large";
}

static double row_value(struct machine *m, const struct expression_step *s, double a, double b,
			double c)
{
	return or_nan(m, of_row(s, a, b, c), lost(s, a, b, c));
}

/* `count` values become one, row by row, or at once where none of them is a column. */
static void each_row(struct machine *m, const struct expression_step *s, unsigned count)
{
	const struct expression_value *v = &m->stack[m->depth - count];
	struct expression_value out = {0};
	bool columns = false;

	for (unsigned i = 0; i < count; i++)
		columns |= v[i].column != NULL;
	if (columns) {
		out.column = column_new(m);
		for (uint32_t r = 0; out.column && r < m->source->rows; r++)
			out.column[r] = row_value(m, s, number_in(&v[0], r),
						  count > 1 ? number_in(&v[1], r) : 0,
						  count > 2 ? number_in(&v[2], r) : 0);
	} else {
		out.number = row_value(m, s, v[0].number, count > 1 ? v[1].number : 0,
				       count > 2 ? v[2].number : 0);
	}
	replace(m, count, out);
}

/* ---- over rows ---------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Between the two nearest, as most programs have it. */
static double quantile(double *sorted, uint32_t count, double q)
{
	double at = q * (count - 1);
	uint32_t below = (uint32_t)at;

	if (!(q >= 0 && q <= 1))
		return NAN;
	qsort(sorted, count, sizeof(*sorted), compare_numbers);
	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

/* Of a sample: over n - 1. One value has none. */
static double deviation(const double *values, uint32_t count, double sum)
{
	double mean = sum / count, squares = 0;

	for (uint32_t i = 0; i < count; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return count > 1 ? sqrt(squares / (count - 1)) : NAN;
}

static double reduce_values(unsigned f, double *values, uint32_t count, double q)
{
	double sum = 0, least = values[0], most = values[0];

	for (uint32_t i = 0; i < count; i++) {
		sum += values[i];
		least = fmin(least, values[i]);
		most = fmax(most, values[i]);
	}
	switch (f) {
	case FUNCTION_SUM:
		return sum;
	case FUNCTION_AVG:
		return sum / count;
	case FUNCTION_MIN:
		return least;
	case FUNCTION_MAX:
		return most;
	case FUNCTION_STD:
		return deviation(values, count, sum);
	default:
		return quantile(values, count, q);
	}
}

static const char *not_reduced(unsigned f, double q)
{
	if (f == FUNCTION_STD)
		return "STD() of one value";
	if (f == FUNCTION_QUANTILE && !(q >= 0 && q <= 1))
		return "QUANTILE() takes a share from 0 to 1";
	return "a number becomes too large";
}

static void reduce(struct machine *m, unsigned f)
{
	unsigned taken = expression_functions[f].arguments;
	const struct expression_value *v = &m->stack[m->depth - taken];
	double *values = column_new(m), result = NAN, q = taken > 1 ? number_in(&v[1], 0) : 0.5;
	uint32_t count = 0;

	for (uint32_t r = 0; values && r < m->source->rows; r++) {
		double x = number_in(v, r);

		if ((!m->source->chosen || m->source->chosen[r]) && !isnan(x))
			values[count++] = x;
	}
	if (f == FUNCTION_COUNT)
		result = count;
	else if (count)
		result = or_nan(m, reduce_values(f, values, count, q), not_reduced(f, q));
	if (count < m->source->used)
		m->source->used = count;
	free(values);
	replace(m, taken, (struct expression_value){.number = result});
}

/* -------------------------------------------------------------------------------------------------- */

static void push_column(struct machine *m, const char *name)
{
	const double *from = m->source->column(m->source->data, name);
	struct expression_value v = {.number = NAN};

	if (from) {
		v.column = column_new(m);
		if (v.column)
			memcpy(v.column, from, m->source->rows * sizeof(*from));
	}
	push(m, v);
}

static void push_variable(struct machine *m, const char *name)
{
	struct expression_value v = {.number = NAN};

	if (m->source->variable && !m->source->variable(m->source->data, name, &v))
		v = (struct expression_value){.number = NAN};
	push(m, v);
}

static void take(struct machine *m, const struct expression_step *s)
{
	switch (s->what) {
	case 'n':
		m->na |= isnan(s->number);
		push(m, (struct expression_value){.number = s->number});
		break;
	case 'c':
		push_column(m, m->e->names[s->index]);
		break;
	case 'v':
		push_variable(m, m->e->variables[s->index]);
		break;
	case 'f':
		if (expression_functions[s->index].reduces)
			reduce(m, s->index);
		else
			each_row(m, s, expression_functions[s->index].arguments);
		break;
	default:
		each_row(m, s, s->what == '~' ? 1 : s->what == '?' ? 3 : 2);
	}
}

bool expression_compute(const struct expression *e, struct expression_source *source,
			struct expression_value *out)
{
	struct machine m = {.e = e, .source = source};

	source->used = source->rows;
	source->why = NULL;
	*out = (struct expression_value){.number = NAN};
	for (unsigned i = 0; i < e->step_count && !m.failed; i++)
		take(&m, &e->steps[i]);
	if (!m.failed && m.depth == 1)
		*out = m.stack[--m.depth];
	while (m.depth)
		free(m.stack[--m.depth].column);
	if (!source->why && m.na)
		source->why = "it says NA where this is so";
	return !m.failed;
}
