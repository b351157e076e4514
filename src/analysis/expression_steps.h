/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an expression, which expression.c makes and expression_compute.c takes. */
#ifndef ANALYSIS_EXPRESSION_STEPS_H
#define ANALYSIS_EXPRESSION_STEPS_H

#include <stdbool.h>

struct expression_step {
	char what; /* 'n' number, 'c' name, 'v' variable, 'f' function, '?' choice, '~' negation, an operator */
	double number;
	unsigned index; /* of the name, variable or function */
};

enum expression_function_id {
	FUNCTION_MIN2,
	FUNCTION_MAX2,
	FUNCTION_ABS,
	FUNCTION_ROUND,
	FUNCTION_FLOOR,
	FUNCTION_CEIL,
	FUNCTION_MOD,
	FUNCTION_TO_INT,
	FUNCTION_SUM,
	FUNCTION_AVG,
	FUNCTION_MIN,
	FUNCTION_MAX,
	FUNCTION_MEDIAN,
	FUNCTION_STD,
	FUNCTION_COUNT,
	FUNCTION_QUANTILE,
	FUNCTIONS
};

struct expression_function {
	const char *name;
	unsigned arguments;
	bool reduces; /* over rows */
};

extern const struct expression_function expression_functions[];

#endif
