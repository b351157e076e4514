/* SPDX-License-Identifier: Apache-2.0 */
/* A check that prints what failed; a probe's exit status is the number of failures. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>

extern int check_failures;

#define CHECK_EQUAL(a, b)                                                                          \
	do {                                                                                       \
		long long check_a = (long long)(a), check_b = (long long)(b);                      \
		if (check_a != check_b) {                                                          \
			fprintf(stderr, "%s:%d: %s is %lld, expected %s = %lld\n", __FILE__,       \
				__LINE__, #a, check_a, #b, check_b);                               \
			__atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED);                  \
		}                                                                                  \
	} while (0)
#define CHECK(x) CHECK_EQUAL(!!(x), 1)

struct check_scenario {
	const char *name;
	void (*run)(void);
};

/* Runs the scenario that argv[1] names; a name nobody knows is a failure. */
int check_run(const struct check_scenario *scenarios, int argc, char **argv);

#endif
