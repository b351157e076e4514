/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of telemetry is wanted: a list of NAME[:device=NUMBERS|NAME][:cpu=NUMBERS][:interface=NAME][:value=NAME]...,
 * where the first name is of a source or of a value. Names of devices and values may have * and ? in them.
 */
#ifndef TELEMETRY_CHOICE_H
#define TELEMETRY_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/numbers.h"

enum { CHOICE_ITEMS = 32, CHOICE_VALUES = 16 };

struct choice_item {
	char *name, *called;              /* called: the device; NULL: any */
	bool interface;                   /* it is called so by interface= */
	struct number_list devices, cpus; /* none: any */
	char *values[CHOICE_VALUES];      /* of a source; none: all */
	unsigned value_count;
};

struct choice {
	struct choice_item items[CHOICE_ITEMS];
	unsigned count; /* 0: everything is wanted */
};

/* False: `error` says why it is no such list. Release it in any case. NULL: everything. */
bool choice_parse(struct choice *c, const char *text, char *error, size_t size);
void choice_release(struct choice *c);

/* False: nothing of this source can be wanted. */
bool choice_source(const struct choice *c, const char *source);
/* Whether values of this one processor are wanted: only where it is listed. */
bool choice_cpu(const struct choice *c, const char *source, uint64_t cpu);

struct choice_value {
	const char *source, *name;
	const char *device; /* its name, or "" */
	int number;         /* of the device among those of its source; -1: the node's */
	bool by_cpu;        /* there is one of each processor */
	int64_t cpu;        /* of these; -1: of some of them */
};

bool choice_named(const struct choice_item *i, const struct choice_value *v);
bool choice_called(const struct choice_item *i, const struct choice_value *v);
bool choice_pattern(const char *pattern, const struct choice_value *v);
bool choice_wants(const struct choice *c, const struct choice_value *v);

#endif
