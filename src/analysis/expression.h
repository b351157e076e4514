/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions over counters: those of formulas (formula.h) and of metrics (metrics/metrics.h), one language. A name is a
 * number in each of some rows (dispatches; a formula has one row), a result is a number or a column of them.
 *
 *   numbers, NA, names, "names in quotes", $variables, + - * /, parentheses
 *   A if B < C else D                    in each row, also <= > >= == !=
 *   MIN2 MAX2 ABS ROUND FLOOR CEIL MOD TO_INT          in each row
 *   SUM AVG MIN MAX MEDIAN STD COUNT, QUANTILE(X, Q)   over the rows
 *
 * A minus has a space before it, since names may have one inside ("cache-misses"). What cannot be computed (a division by
 * zero, a value that is missing) is no number: what is made of it in a row is none either, and over rows those are left out.
 */
#ifndef ANALYSIS_EXPRESSION_H
#define ANALYSIS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPRESSION_NAMES = 64, EXPRESSION_STEPS = 256, EXPRESSION_DEPTH = 32 };

struct expression_step;

struct expression {
	char **names; /* of counters and columns; owned */
	char **variables;
	unsigned name_count, variable_count;
	struct expression_step *steps; /* in postfix order */
	unsigned step_count;
	bool reduced; /* all that has rows is within a function over rows: the result is one number */
};

/* What may stand in it. */
struct expression_rules {
	unsigned names, steps; /* at most */
	bool rows;             /* functions over rows, and $variables */
};

/* False: `error` says what is wrong, and where in the text. Release it in any case. */
bool expression_parse(struct expression *e, const char *text, const struct expression_rules *rules,
		      char *error, size_t size);
void expression_release(struct expression *e);

/* Bytes of the name that `s` begins with. */
size_t expression_name_length(const char *s);

/* A number, or one in each row; NaN: none. */
struct expression_value {
	double number;
	double *column; /* owned; NULL: it is `number` */
};

/* Where names and variables have their values; they and `rows` stay while an expression is computed. */
struct expression_source {
	uint32_t rows;
	const uint8_t *chosen; /* rows that count in functions over rows; NULL: all */
	void *data;
	const double *(*column)(void *data, const char *name); /* NULL: nobody knows it */
	/* May be NULL where there are no variables. False: it has no value. */
	bool (*variable)(void *data, const char *name, struct expression_value *out);
	uint32_t
		used; /* set: the least number of rows with a value that a function over rows had */
	const char *why; /* set: why some value could not be had, in words; NULL: it was missing */
};

/* False: there is no memory. A value that cannot be had is NaN. */
bool expression_compute(const struct expression *e, struct expression_source *source,
			struct expression_value *out);

#endif
