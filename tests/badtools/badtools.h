/* SPDX-License-Identifier: Apache-2.0 */
/* A small runtime, a tool that behaves, and cases that run in children of the test. */
#ifndef BADTOOLS_H
#define BADTOOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <kymo/kymo.h>

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                    \
			wrong++;                                                                   \
		}                                                                                  \
	} while (0)
#define EQUAL(a, b)                                                                                \
	do {                                                                                       \
		long long a_ = (long long)(a), b_ = (long long)(b);                                \
		if (a_ != b_) {                                                                    \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #a,   \
				a_, b_);                                                           \
			wrong++;                                                                   \
		}                                                                                  \
	} while (0)

extern int wrong;
extern const char *folder; /* of the libraries */

/* A traced function that does nothing, one that calls `inside`, one that submits work which is done
 * at once. */
void call(void);
void call_around(void (*inside)(void));
void submit(void);

/* The tool that behaves: what it has been told in this process. */
struct good {
	int enters, exits, completes, bare; /* bare: exits without arguments */
};
extern struct good good;
/* Makes and starts its context. */
kymo_context_t good_start(void);

/* A started context whose callback of all ops is `fn`. */
kymo_context_t watch(kymo_callback_fn fn, void *data);

/* Functions of thrower.so; false: it is not there. */
extern void (*thrower_throw)(void);
extern int (*thrower_destroyed)(void), (*thrower_uncaught)(void);
extern int (*thrower_catches)(void (*fn)(void));
bool thrower_load(void);

struct bad_case {
	const char *name;
	void (*run)(void);
	int status;  /* with which the case ends the process */
	bool throws; /* needs thrower.so */
};
extern const struct bad_case cases[], handle_cases[];

#endif
