/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of kernels: panels of tables of metrics, each with formulas over what every dispatch has (data.h) for the kinds
 * of devices that have one. They are read from files (docs/metrics.md); Kymo's own are in the program.
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/expression.h"
#include "base/text.h"

enum device_class {
	DEVICE_ANY, /* of formulas: for all; of devices: none of the others */
	DEVICE_NVIDIA,
	DEVICE_AMD,
	DEVICE_CPU,
	DEVICE_CLASSES
};

extern const char *const device_class_names[DEVICE_CLASSES];

/* As written; `text` is NULL where there is none. */
struct metric_expression {
	char *text;
	struct expression e;
	uint32_t line; /* of the file, 0: of none */
};

/* How one kind of device tells a metric; the first with a value counts. */
struct metric_formula {
	unsigned device;                /* enum device_class */
	struct metric_expression value; /* of all dispatches together */
	struct metric_expression
		each; /* of each of them: least and most; without `value`, their average */
	struct metric_expression peak;
	char *source;  /* who says so */
	char *none;    /* why such devices have none, instead of the expressions; or NULL */
	bool unproven; /* it was never compared with such a device */
};

struct metric_formulas {
	struct metric_formula *at;
	uint32_t count, room;
};

struct metric_texts {
	char **at;
	uint32_t count, room;
};

struct metric {
	unsigned id;
	char *name, *unit, *description;
	struct metric_texts covers; /* what of other profilers' tables it is */
	struct metric_formulas formulas;
};

enum metric_style {
	METRIC_TABLE,
	METRIC_BARS,
	METRIC_CHART,   /* the memory chart; its ids are those of chart.c */
	METRIC_DEVICE,  /* of devices, not of kernels */
	METRIC_KERNELS, /* what the report makes by itself: kernels, dispatches, samples */
	METRIC_DISPATCHES,
	METRIC_SAMPLES,
	METRIC_INSTRUCTIONS,
	METRIC_LINES,
	METRIC_STYLES
};

extern const char *const metric_style_names[METRIC_STYLES];

struct metric_table {
	unsigned id;
	char *title;
	unsigned style; /* enum metric_style */
	uint32_t line;  /* of the file */
	struct metric_texts covers;
	struct metric_list {
		struct metric *at;
		uint32_t count, room;
	} metrics;
};

struct metric_panel {
	unsigned id;
	char *title, *description;
	struct metric_table_list {
		struct metric_table *at;
		uint32_t count, room;
	} tables;
};

/* $NAME in expressions. */
struct metric_variable {
	char *name, *unit, *description;
	struct metric_formulas
		formulas; /* with `value` alone, which may have a number for each dispatch */
};

/* All that is known; in order of their ids. */
struct metric_set {
	struct metric_panel_list {
		struct metric_panel *at;
		uint32_t count, room;
	} panels;
	struct metric_variable_list {
		struct metric_variable *at;
		uint32_t count, room;
	} variables;
	const char *denom; /* borrowed: the variable that $denom is; NULL: per_kernel */
};

/* Kymo's own files; the last has no name. */
struct metric_file {
	const char *name, *text;
};
extern const struct metric_file metric_files[];

/*
 * Adds what a file has: new panels, tables and variables, others in the place of those of the same id or name. False:
 * `error` says what is wrong, with file and line. The set is to be released in any case.
 */
bool metric_set_add(struct metric_set *set, const char *file, const char *text, size_t length,
		    char *error, size_t size);

/* Kymo's own and then those of the file at `path` (NULL: none). */
bool metric_set_read(struct metric_set *set, const char *path, char *error, size_t size);
void metric_set_release(struct metric_set *set);

const struct metric_variable *metric_variable_find(const struct metric_set *set, const char *name);

/* NULL: there is none. */
const struct metric_table *metric_table_find(const struct metric_set *set, unsigned panel,
					     unsigned table);

/* "12.1.3" */
enum { METRIC_ID_TEXT = 40 };
void metric_id(const struct metric_panel *p, const struct metric_table *t, const struct metric *m,
	       char out[METRIC_ID_TEXT]);

/* The list ("2,12.1,12.1.3", NULL: all) names the table or something in it. */
bool metric_list_has_table(const char *list, const struct metric_panel *p,
			   const struct metric_table *t);
/* It names the metric, its table or panel. */
bool metric_list_has(const char *list, const struct metric_panel *p, const struct metric_table *t,
		     const struct metric *m);
/* Each word of the list names something; else the first that does not, with its length. */
const char *metric_list_unknown(const struct metric_set *set, const char *list, size_t *length);

/* The metric of that id or name; NULL: there is none, or (of names) several. */
const struct metric *metric_find(const struct metric_set *set, const char *word, size_t length,
				 const struct metric_panel **panel,
				 const struct metric_table **table);

/* The formulas that a device of the class may take, in the order in which they are tried, from *at on; NULL: no more. */
const struct metric_formula *metric_formula_next(const struct metric_formulas *list,
						 unsigned device, uint32_t *at);

/* Which names there are, and which variables the user gave; NULL as a pointer to it: all, and none. */
struct metric_names_had {
	bool (*has)(void *data, const char *name);
	bool (*given)(void *data, const char *variable);
	void *data;
};

/* What tells a variable on a device of the class: the first formula of which all names are had, else the first; or NULL. */
const struct metric_formula *metric_variable_formula(const struct metric_set *set,
						     const struct metric_variable *v,
						     unsigned device,
						     const struct metric_names_had *had);

/*
 * Calls `each` for every name that the expression needs on a device of the class, also by way of variables, and
 * `variable` (may be NULL) for every variable that no file has.
 */
struct metric_names_sink {
	void (*name)(void *data, const char *name);
	void (*variable)(void *data, const char *name);
	void *data;
};
void metric_names(const struct metric_set *set, const struct expression *e, unsigned device,
		  const struct metric_names_had *had, const struct metric_names_sink *sink);

#endif
