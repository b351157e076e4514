/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The telemetry's raw file: definitions of devices and counters, and a record for each value, in
 * the form in which a traced process's records of counters are kept. Ticks are nanoseconds of
 * CLOCK_MONOTONIC_RAW. What is written reaches the file within a second, so that it can be read
 * whatever becomes of the launcher. Not safe for threads: the meter's lock is held.
 */
#ifndef TELEMETRY_TFILE_H
#define TELEMETRY_TFILE_H

#include "telemetry/source.h"

struct tfile;

/* NULL: errno tells. */
struct tfile *tfile_open(const char *trace);

void tfile_device(struct tfile *o, uint32_t id, const struct device_info *d);
void tfile_metric(struct tfile *o, uint32_t id, const struct metric_info *m, const char *provider);
enum note_severity { NOTE_INFO = 1, NOTE_WARNING = 2 };
void tfile_note(struct tfile *o, enum note_severity severity, const char *text, uint64_t count);

struct tfile_value {
	uint32_t metric, device;
	uint64_t instance;
	double value;
	uint64_t before, after; /* it was read between these */
	uint64_t duration;      /* ns that it stands for, of what a total grew by */
};
void tfile_value(struct tfile *o, const struct tfile_value *v);

/* Writes what has waited for long, or all. */
void tfile_flush(struct tfile *o, bool all);

/* 0, or the errno of what kept the file from being written; it is usable up to there. */
int tfile_close(struct tfile *o, bool compress);

#endif
