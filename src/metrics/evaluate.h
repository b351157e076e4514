/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a metric for the dispatches of a kernel, or why there is none. */
#ifndef METRICS_EVALUATE_H
#define METRICS_EVALUATE_H

#include "metrics/data.h"

/* What a user says of devices: NAME=VALUE. */
struct metric_spec {
	char *name;
	double value;
};

struct metric_specs {
	struct metric_spec *at;
	uint32_t count, room;
};

/* "NAME=VALUE", or several with colons between them. False: `error` says what is wrong. */
bool metric_specs_read(struct metric_specs *s, const char *text, char *error, size_t size);
void metric_specs_release(struct metric_specs *s);

/* Each names a variable of a file or one that some formula takes, and is above 0. False: `error` says which is not. */
bool metric_specs_check(const struct metric_specs *s, const struct metric_set *set, char *error,
			size_t size);

struct metric_value {
	const struct metric_formula *formula; /* that it is of; NULL: none */
	double value, least, most, peak;      /* NaN: none */
	uint32_t rows, of;                    /* dispatches that it is of, and that there are */
	struct text why; /* there is no value; else what is to be said of it; may be empty */
	struct text
		no_peak; /* why its formula's peak has no value; empty: it has, or there is none */
};

/* False: no memory. Release `out` in any case. */
bool metric_evaluate(const struct metric_set *set, const struct metric_specs *specs,
		     const struct metric *m, const struct kernel_group *g,
		     struct metric_value *out);
void metric_value_release(struct metric_value *v);

/* Value as a share of the peak, in per cent; NaN: there is none. */
double metric_share(const struct metric_value *v);

#endif
