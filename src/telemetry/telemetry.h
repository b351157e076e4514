/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry: what the node and its devices do while a program is recorded (power, clocks, memory,
 * load, pressure, ...). A sampler in the launcher reads it, never the program, and writes it to a
 * raw file of its own beside those of the processes. One sampler works on a node, however many
 * ranks record there.
 */
#ifndef TELEMETRY_TELEMETRY_H
#define TELEMETRY_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct telemetry_options {
	const char *trace;    /* directory that holds raw/ */
	const char *root;     /* what stands before /proc and /sys: "" */
	uint64_t interval_ns; /* a source may read less often, never more often */
	uint64_t delay_ns;    /* nothing is opened or read before */
	uint64_t duration_ns; /* nor so long after; 0: until the end */
	int program;          /* pid of the program, whose processes are looked at */
	bool compress;        /* the file, when it is complete */
	const char *only;   /* what is read, a list that telemetry_check() took; NULL: everything */
	const char *events; /* counters of whole processors, or NULL: none */
};

struct telemetry;

/* Starts to sample. NULL: errno tells. Call it when nothing will be forked any more. */
struct telemetry *telemetry_start(const struct telemetry_options *o);

/*
 * Reads everything a last time and completes the file, in a bounded time however long a driver
 * takes. 0, or the errno of what kept the file from being written; ECANCELED: the delay was not over.
 */
int telemetry_stop(struct telemetry *t);

/*
 * Whether all that the list names is here; else `error` says what is not, and what is. It opens sources: libraries of
 * vendors are not to be there in a process that forks afterwards.
 */
bool telemetry_check(const char *root, const char *only, const char *events, char *error,
		     size_t size);

/* Whether all counters of the list can be read; else `error` says which cannot, and why. */
bool telemetry_events_check(const char *root, const char *events, char *error, size_t size);

/* Which sources are read less often than that, "cpu, job every 10 ms; hwmon every 100 ms". False: none is. */
bool telemetry_slower(uint64_t interval_ns, const char *only, struct text *out);

/* ---- what there is, for people ------------------------------------------------------------- */

struct telemetry_value {
	const char *source, *device, *name, *unit, *description;
	int number; /* of the device among those of its source; -1: the node's */
	uint64_t instance;
	bool has_instance;
	bool known;      /* it could be read */
	bool per_second; /* a running total: the value is what it grew by in a second */
	double value;
};

struct telemetry_visitor {
	void (*value)(void *data, const struct telemetry_value *v); /* may be NULL */
	/* After the values of a source: how many, what reading them once took, and remarks. */
	void (*source)(void *data, const char *name, const char *about, unsigned values,
		       uint64_t read_ns);
	/* What a source cannot tell, and why; `denied`: for want of a permission. */
	void (*missing)(void *data, const char *source, const char *text, bool denied);
	void *data;
};

/* Opens every source, reads it twice, half a second apart at most, and tells. */
void telemetry_look(const char *root, const struct telemetry_visitor *visitor);

/* The root that tests give in KYMO_TELEMETRY_ROOT, else "". */
const char *telemetry_root(void);

#endif
