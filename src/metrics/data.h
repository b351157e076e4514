/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace holds of kernels, for metrics: of each kernel on each device its dispatches, with a column of numbers for
 * what the runtime tells of them (`kernel_columns`) and one for each counter that was recorded of any of them. NaN is
 * what is not known.
 */
#ifndef METRICS_DATA_H
#define METRICS_DATA_H

#include "formats/format.h"
#include "metrics/metrics.h"

struct store;
struct summary;

/* What every dispatch has, where its runtime tells it; docs/metrics.md explains them. */
enum kernel_column {
	KERNEL_START,
	KERNEL_END,
	KERNEL_DURATION,
	KERNEL_GRID_X,
	KERNEL_GRID_Y,
	KERNEL_GRID_Z,
	KERNEL_GROUP_X,
	KERNEL_GROUP_Y,
	KERNEL_GROUP_Z,
	KERNEL_ITEMS,
	KERNEL_GROUP_SIZE,
	KERNEL_GROUPS,
	KERNEL_REGISTERS,
	KERNEL_STATIC_SHARED,
	KERNEL_DYNAMIC_SHARED,
	KERNEL_LOCAL_BYTES,
	KERNEL_PRIVATE_BYTES,
	KERNEL_COLUMNS
};
extern const char *const kernel_columns[KERNEL_COLUMNS];
bool kernel_is_column(const char *name);

struct kernel_device {
	int64_t agent; /* of the store */
	char *label;   /* of all outputs */
	char *properties;
	enum device_class class;
};

struct kernel_counter {
	char *name, *provider;
	double *values; /* of each dispatch */
};

/* Whose a dispatch is. */
struct kernel_place {
	int64_t process, queue, program, source; /* ids of the store; 0: not told */
};

struct kernel_data;

/* Executions of one kernel on one device. */
struct kernel_group {
	char *name;
	const struct kernel_device *device;
	uint32_t count;
	double *columns[KERNEL_COLUMNS];
	struct kernel_counter *counters;
	uint32_t counter_count, counter_room;
	double *times; /* ns; the runtime's, else what CUPTI counted of a dispatch without */
	double total;  /* of them; 0: none */
	struct kernel_place *places;   /* of each dispatch */
	const struct kernel_data *all; /* that it is one of */
	bool counted;                  /* some are CUPTI's */
	bool programs;                 /* they are kernels of several programs, which may differ */
	char *untimed; /* why dispatches have no times, if some have none; or NULL */
};

struct kernel_data {
	struct kernel_device **devices;
	uint32_t device_count, device_room;
	struct kernel_group *groups; /* the one with most time first */
	uint32_t group_count, group_room;
	uint32_t
		ambiguous; /* calls with values that are of one of several dispatches, which is not told */
};

/* False: the log says why. `d` is to be released in any case. */
bool kernel_data_read(struct kernel_data *d, struct store *s, struct stream_log *log);
void kernel_data_release(struct kernel_data *d);

/* The trace has counters of kernels: for those a store is worth its while. */
bool kernel_counters_in(const struct summary *s);

/* The column of that name, or the counter (NAME, PROVIDER:NAME); NULL: there is none. */
const double *kernel_values_of(const struct kernel_group *g, const char *name);

/* How many of its dispatches have that. */
uint32_t kernel_values_count(const struct kernel_group *g, const char *name);

/* A number among the properties of a device, NaN: none. */
double kernel_device_property(const struct kernel_device *d, const char *name);

#endif
