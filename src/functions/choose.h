/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of which files are asked for: the expressions and thresholds of --functions. */
#ifndef FUNCTIONS_CHOOSE_H
#define FUNCTIONS_CHOOSE_H

#include <regex.h>

#include "functions/functions.h"

/* One of "REGEX", "REGEX@MODULE". */
struct choose_pattern {
	regex_t name, module;
	const char *path; /* MODULE with a slash: this file; else NULL */
	bool of_module;   /* has a MODULE; without one it is the program */
	bool literal;     /* no letter of it means anything but itself: thresholds do not count */
	char *text;
};

struct choose_patterns {
	struct choose_pattern *items;
	uint32_t count, room;
};

struct choose {
	struct choose_patterns wanted, excluded;
	uint64_t min_instructions; /* of functions without a loop */
	uint64_t min_loop;         /* of those with one */
};

enum { CHOOSE_WHY = 300 };

/* Expressions, one a line; `excluded` may be NULL. False: `why`. choose_release() in any case. */
bool choose_init(struct choose *c, const char *wanted, const char *excluded, char why[CHOOSE_WHY]);
void choose_release(struct choose *c);

/* Some expression is about functions of the file. `program`: it is the one that runs. */
bool choose_module(const struct choose *c, const char *path, bool program);

/*
 * Finds and judges the functions of a file: afterwards those that are `wanted` have their final verdict. `why` says why
 * functions_find() failed.
 */
bool choose_functions(const struct choose *c, struct functions *f, struct decoder *d,
		      const char *path, bool program, char why[IMAGE_WHY]);

/* Why functions of this file are never traced, "": they are. */
const char *choose_never(const char *path);

#endif
