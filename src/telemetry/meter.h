/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter: takes what sources tell, makes growth of running totals, counts gaps, and hands values
 * to the file and to whoever looks. Sources that may take their time tell it from threads of their
 * own; one lock is over everything that they share.
 */
#ifndef TELEMETRY_METER_H
#define TELEMETRY_METER_H

#include <pthread.h>

#include "telemetry/choice.h"
#include "telemetry/tfile.h"
#include "telemetry/source.h"
#include "telemetry/telemetry.h"

enum { METER_DEVICES = 256, METER_METRICS = 4096 };

struct metric {
	struct metric_info info; /* its texts are owned */
	const struct source *source;
	int number;  /* of the device among those of its source; -1: the node's */
	bool hidden; /* not wanted: it is read, as others may be made of it, and not told */
	/* Only its source's thread: */
	bool begun;      /* there was a reading to compare with */
	bool integrated; /* made of power, not read */
	uint64_t last_raw, last_ns;
	double last_watts;
	/* Under the lock: */
	uint64_t values, gaps;
	const char *why; /* of the first gap */
	double shown;
	bool per_second;
	uint64_t instance;
};

struct device {
	char type[16], name[96], vendor[48], driver[48], pci[24];
	uint8_t uuid[16];
	bool has_pci, has_uuid;
	bool told;
};

struct meter {
	pthread_mutex_t lock;
	const char *root, *events; /* events: of perf, or NULL */
	struct device devices[METER_DEVICES];
	uint32_t device_count;
	struct metric *metrics[METER_METRICS];
	uint32_t metric_count;
	uint64_t refused;            /* devices and metrics that there was no room for */
	struct tfile *output;        /* NULL: nothing is written, or no longer */
	const struct choice *choice; /* NULL: everything is wanted */
	const struct telemetry_visitor *visitor; /* or NULL */
	unsigned (*programs)(void *data, int *pids, unsigned room);
	void *programs_data;
};

struct probe {
	struct meter *meter;
	const struct source *source;
	void *state;
	uint64_t before, next; /* ns; `next` of CLOCK_MONOTONIC */
	uint64_t reads, read_ns, late;
	uint32_t first, last;                          /* metrics */
	uint32_t shown;                                /* how many of them are wanted */
	uint32_t devices[METER_DEVICES], device_count; /* in the order in which it told them */
};

void meter_init(struct meter *m, const char *root);
void meter_release(struct meter *m);

/* For `programs`, where none runs yet: this process stands for it. */
unsigned meter_own_program(void *data, int *pids, unsigned room);

/* Opens the source; false: it is not here. */
bool probe_open(struct probe *p, struct meter *m, const struct source *s);
void probe_read(struct probe *p);
void probe_close(struct probe *p);

/* What a metric is to who chooses. */
struct choice_value meter_value(const struct meter *m, const struct metric *k);

/* What went wrong while it was read, to the file. Under the lock. */
void meter_note_gaps(struct meter *m);

#endif
