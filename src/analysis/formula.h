/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas of counters, NAME{UNIT} = EXPRESSION # description (expression.h, without what is over rows). What cannot be
 * computed (a division by zero) has no value.
 */
#ifndef ANALYSIS_FORMULA_H
#define ANALYSIS_FORMULA_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/expression.h"

enum { FORMULA_NAMES = 16, FORMULA_STEPS = 64 };

struct formula {
	char *text; /* owned; the words below are in it */
	char *name, *unit, *description;
	char *expression; /* as it was written */
	struct expression computed;
	char **names; /* those of the expression */
	unsigned name_count;
};

/* One line. False: `error` says what is wrong with it. Release it in any case. */
bool formula_parse(struct formula *f, const char *line, char *error, size_t size);
void formula_release(struct formula *f);

/* Whether a formula's name begins `text`, and = or { follows: "ipc=...", not "NAME[DIM=2]" or "NAME:device=0". */
bool formula_begins(const char *text);

/* Values of counters, in the order of `names`. False: it has no value. */
bool formula_value(const struct formula *f, const double *values, double *out);

/* The position of a counter among the names, as NAME or PROVIDER:NAME; -1: it is none of them. */
int formula_counter(const struct formula *f, const char *provider, const char *name);

/* Of lines, as a trace keeps them; those that cannot be read are left out. Owned: release each, free(). */
struct formula *formulas_of(const char *lines, unsigned *count);

/* Whether its value stays when all counters are twice as much: sums and averages have the same then. */
bool formula_is_ratio(const struct formula *f, const double *values);

/* Lines of those that everybody has; NULL terminated. */
extern const char *const formulas_known[];

#endif
