/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of kernels: panels as tables. */
#ifndef METRICS_REPORT_H
#define METRICS_REPORT_H

#include "analysis/table.h"
#include "metrics/evaluate.h"

/* Another trace that this one is compared with. */
struct kernel_base {
	const char *name; /* of people */
	struct kernel_data data;
};

struct kernel_report {
	const struct metric_set *set;
	const struct metric_specs *specs;
	const struct kernel_data *data;
	const struct kernel_base *bases;
	uint32_t base_count;
	const char *panels;  /* ids, with commas; NULL: all that has values */
	uint32_t top;        /* kernels that people are shown; 0: all */
	struct store *store; /* for samples */
	struct stream_log *log;
};

/* Of one metric of one kernel in another trace. */
struct kernel_change {
	bool matched; /* the kernel is there */
	/* Where it is there on another kind of device, or on several: its name, or the first's; NULL: it is not so. */
	const char *elsewhere;
	double value;  /* NaN: none */
	double change; /* per cent; NaN: none, as of a value of 0 */
};

/* False: no memory, or the log says why. */
bool kernel_report_make(struct report *r, const struct kernel_report *k);

/* All metrics of the first `top` kernels as one table, for programs. False: no memory. */
bool kernel_report_flat(struct report *r, const struct kernel_report *k);

/* The unit of a metric: of "Flops / $per" what it is divided by with --normalize. */
void kernel_unit(const struct metric_set *set, const struct metric *m, struct text *out);

/* ---- baselines (compare.c) ------------------------------------------------------------------------- */

/*
 * The kernel there that is this one: of the same name, on a device of the same name, or else the only one of its kind.
 * `elsewhere`: the device's name, where it is another one ("H200 #0" and "#1" are one), or where there are several.
 */
const struct kernel_group *kernel_match(const struct kernel_data *base,
					const struct kernel_group *g, const char **elsewhere);

/* Kernels that only one of the traces has, as a table. */
void kernel_only_table(struct report *r, const struct kernel_report *k);
bool kernel_change_of(const struct kernel_report *k, uint32_t base, const struct metric *m,
		      const struct kernel_group *g, const struct metric_value *v,
		      struct kernel_change *out);

/* "METRIC>PERCENT", "METRIC<-PERCENT", with commas. False: `error` says what is wrong with it. */
bool kernel_fail_on_check(const struct metric_set *set, const char *list, char *error, size_t size);
/*
 * Adds a line for each that holds, or that cannot hold as its kernel is gone, and to `unjudged` what cannot be judged: limits
 * that no kernel has a change for, kernels that were on another device. False: no memory.
 */
bool kernel_fails(const struct kernel_report *k, const char *list, struct text *out,
		  struct text *unjudged);

/* ---- parts ------------------------------------------------------------------------------------------ */

/* The picture of a table of style `chart`: lines of at most 120 columns; false: there is nothing to draw. */
bool chart_draw(const struct metric_table *t, const struct metric_value *values, struct text *out);

#define NO_KERNEL_SAMPLES                                                                          \
	"N/A: no samples of kernels were recorded: kymo run --pc-sampling (NVIDIA); of kernels "   \
	"on processors: kymo run --sample, kymo summary --tables kernel_lines,kernel_instructions"

struct sqlite3;
/* The query has a row. */
bool report_any(struct sqlite3 *db, const char *rows);

/* Panel of samples by line, and by instruction. False: the log says why. */
bool samples_table(struct report *r, const struct kernel_report *k, const char *id,
		   const char *title);
bool instructions_table(struct report *r, const struct kernel_report *k, const char *id,
			const char *title);
/* Panel of lines of kernels that were instrumented; likewise. */
bool lines_table(struct report *r, const struct kernel_report *k, const char *id,
		 const char *title);

#endif
