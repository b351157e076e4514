/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's state. Events go out as records come: readers of the format sort. Processes are rows by their
 * ids, devices by numbers of their own, with a row for each queue; what submits and what was submitted are tied
 * by flows and by `correlation`, as Kineto does it. docs/chrome.md has the table.
 */
#ifndef FORMATS_CHROME_WRITE_H
#define FORMATS_CHROME_WRITE_H

#include <zlib.h>

#include "base/map.h"
#include "formats/format.h"
#include "stream/kernel_values.h"
#include "stream/output.h"
#include "stream/symbol.h"

/* Work that is drawn in one row, by time; nothing in it overlaps. */
struct chrome_lane {
	struct chrome_work {
		int64_t start, end;
	} * at;
	uint32_t count, room;
};

/* Rows of a device that has one for all of its queues, and more where that is needed. */
struct chrome_lanes {
	struct chrome_lane *at;
	uint32_t count, room;
};

struct chrome_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	struct output out;
	gzFile packer; /* NULL: not compressed */
	const struct trace *t;
	uint32_t *pids;    /* by process: as the file has them */
	uint32_t *devices; /* by agent: number of its device in the file, + 1; 0: none */
	uint32_t device_count;
	struct chrome_lanes *lanes; /* by number of the device; NULL: rows are of queues */
	struct kernel_values values;
	struct map
		counters; /* of devices, by counter and device: 1: it was said whose it is, 2: with its number */
	struct map counter_rows; /* which one has the name in the row, + 1 */
	struct chrome_held {
		struct rec_dispatch *at;
		uint32_t count, room;
	} held; /* kernels that may have been counted: written at the end */
	bool holds;
	bool later;            /* a comma is due before the next event */
	bool later_arg;        /* likewise in args */
	uint64_t messages;     /* so far */
	struct symbols *names; /* of frames of samples */
};

static inline struct chrome_writer *chrome_writer_of(struct stream_sink *s)
{
	return (struct chrome_writer *)(void *)s;
}

/* ---- write_names.c: what stands in front of the events ---------------------------------------- */

kymo_status_t chrome_names(struct chrome_writer *w);
/* What a row is called. */
void chrome_name_row(struct chrome_writer *w, uint32_t pid, uint32_t tid, const char *name);
/* Whose the counter of a device is, before its first value; *apart: its events have its number. False: no memory. */
bool chrome_name_counter(struct chrome_writer *w, const struct rec_counter *r, uint32_t agent,
			 const char *name, bool *apart);
/* Row of a device's work. */
uint32_t chrome_device_pid(const struct chrome_writer *w, uint32_t agent);

/* ---- write_event.c ---------------------------------------------------------------------------- */

/* {"ph":"X","cat":..,"name":..,"pid":..,"tid":..,"ts":..; `category` may be NULL. */
void out_begin(struct chrome_writer *w, char phase, const char *category, const char *name,
	       size_t name_length, uint32_t pid, uint32_t tid, int64_t time);
/* ns as microseconds. */
void out_time(struct chrome_writer *w, int64_t ns);
void out_duration(struct chrome_writer *w, int64_t ns);
/* Opens args, then each adds a member; out_end() closes both. */
void out_args(struct chrome_writer *w);
void out_key(struct chrome_writer *w, const char *name);
void out_unsigned(struct chrome_writer *w, const char *name, uint64_t v);
void out_text(struct chrome_writer *w, const char *name, const char *v);
/* The arguments of the record, by name. */
void out_fields(struct chrome_writer *w, const struct rec *r);
void out_end(struct chrome_writer *w, bool args);

/* ---- write_lanes.c ---------------------------------------------------------------------------- */

/* The first row of the device on which [start, end] overlaps nothing; false: no memory. */
bool chrome_lane(struct chrome_writer *w, uint32_t agent, int64_t start, int64_t end,
		 uint32_t *lane);
void chrome_lanes_free(struct chrome_writer *w);

/* ---- write_records.c -------------------------------------------------------------------------- */

void chrome_set_records(struct stream_sink *s);
/* Those that were held back. */
void chrome_write_held(struct chrome_writer *w);

#endif
