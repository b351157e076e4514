/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a source of telemetry is, and what it tells the meter. A source is opened, read again and
 * again by one thread, and closed. It says what it can measure while it is opened; a value that
 * cannot be read later is a gap, never a zero, and does not end the source.
 */
#ifndef TELEMETRY_SOURCE_H
#define TELEMETRY_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#define MILLISECOND 1000000ull
#define SECOND      1000000000ull

struct probe; /* a source at work, with its meter */

struct source {
	const char *name;     /* "nvml" */
	const char *about;    /* "NVIDIA devices, by NVML" */
	uint64_t interval_ns; /* what it reads is not renewed more often */
	bool alone;           /* a library that may take its time: it gets a thread to itself */
	void *(*open)(struct probe *p); /* NULL: not here */
	void (*read)(struct probe *p, void *state);
	void (*close)(void *state);
};

/* All of them, NULL terminated. */
extern const struct source *const telemetry_sources[];

/* ---- while it is opened -------------------------------------------------------------------- */

struct device_info {
	const char *type; /* "gpu", "cpu", "nic", "other", "custom" */
	const char *name, *vendor, *driver;
	const char *pci;     /* "0000:3b:00.0", or NULL */
	const uint8_t *uuid; /* 16 bytes, or NULL */
};

/*
 * The number of a device, from 1; 0: too many. One that another source has told of, by the same
 * address or uuid, is the same device.
 */
uint32_t meter_device(struct probe *p, const struct device_info *d);

enum metric_kind {
	METRIC_LEVEL, /* as it is: W, %, bytes in use */
	METRIC_TOTAL  /* a running total: what it grew by is recorded */
};

struct metric_info {
	const char *name, *unit, *description;
	/* What the instance counts, "pid:4194304" or "cpu:N"; NULL: there is one. */
	const char *dimensions;
	enum metric_kind kind;
	uint32_t device; /* 0: the node */
	double scale;    /* raw value times this is in the unit; 0: 1 */
	uint64_t wrap;   /* raw value after which a total begins again at 0; 0: it never does */
	double most;     /* what can be added in a second: more is no wrap; 0: not known */
};

/* Number of a metric, from 1; 0: too many, and telling its values does nothing. */
uint32_t meter_metric(struct probe *p, const struct metric_info *m);

/* Whether its values are wanted. */
bool meter_shown(struct probe *p, uint32_t metric);

/* Something that could be here is not, and why. */
void meter_missing(struct probe *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Likewise for want of a permission, or by a fault: the trace says so too. */
void meter_denied(struct probe *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What happened, not a fault: the trace says so. */
void meter_told(struct probe *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What stands before /proc and /sys. */
const char *meter_root(const struct probe *p);
/* Counters that are named for perf; NULL: none. */
const char *meter_events(const struct probe *p);
/* Whether values of this one processor are wanted. */
bool meter_cpu(const struct probe *p, uint64_t cpu);
/* Programs whose processes are to be looked at; returns how many there are, fills `room` of them. */
unsigned meter_programs(const struct probe *p, int *pids, unsigned room);

/* ---- while it is read ---------------------------------------------------------------------- */

/* CLOCK_MONOTONIC_RAW; what is told from now on is read after this moment. */
uint64_t meter_before(struct probe *p);

void meter_level(struct probe *p, uint32_t metric, double value);
void meter_level_of(struct probe *p, uint32_t metric, uint64_t instance, double value);

struct growth {
	double value;   /* in the unit */
	double seconds; /* since the reading before */
};

/* The first reading of a total is where it begins: it has no growth, and false is returned. */
bool meter_total(struct probe *p, uint32_t metric, uint64_t raw, struct growth *g);

/* What an instance of a total grew by in so many ns, in the unit, where the source knows. */
void meter_growth_of(struct probe *p, uint32_t metric, uint64_t instance, double value,
		     uint64_t ns);

/* The next reading of a total is where it begins: what counted before was another. */
void meter_again(struct probe *p, uint32_t metric);
/* A total stands at the greatest value that it can have: what it should have counted is not known. */
void meter_full(struct probe *p, uint32_t metric);

/* Energy where there is only power: the sum of power over time, between readings without a gap. */
void meter_integrate(struct probe *p, uint32_t metric, double watts);

/* A reading failed; the first reason of a metric is kept, literal or of strerror(). */
void meter_gap(struct probe *p, uint32_t metric, const char *why);

#endif
