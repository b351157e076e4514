/* SPDX-License-Identifier: Apache-2.0 */
/* Keys in the name of a trace: `kymo run -o '%host%-%program%.kymo'`. */
#ifndef CLI_TRACE_KEYS_H
#define CLI_TRACE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/job.h"
#include "base/text.h"

struct trace_keys_of {
	char *const *argv;     /* program and arguments */
	const struct job *job; /* of this process; ids of "": none */
	bool around;           /* the program starts the ranks: this process is all there is */
};

/*
 * Adds `name` with the value of each key in its place to `out`. Values are made parts of file names:
 * what is no letter, digit or one of ._+=,@:- becomes an underscore, and so does a dot or dash that a
 * value begins with. False: `error` says why.
 */
bool trace_keys_expand(const struct trace_keys_of *of, const char *name, struct text *out,
		       struct text *error);

struct trace_key {
	const char *name;  /* between the per cent signs */
	const char *shown; /* how it is written */
	const char *what;
	bool varies; /* ranks of one job have values of their own */
	/* Of `argument`, which is "" where none is written; false: `error` says why there is none. */
	bool (*value)(struct text *out, const struct trace_keys_of *of, const char *argument,
		      struct text *error);
	const char *example; /* argument for a list of keys */
	bool braces;         /* it takes one in braces */
};

extern const struct trace_key trace_keys[];
extern const size_t trace_keys_count;

#endif
