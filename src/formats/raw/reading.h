/* SPDX-License-Identifier: Apache-2.0 */
/* One raw file's definitions while they are read (definitions.c), until ids and ticks are the trace's (resolve.c). */
#ifndef FORMATS_RAW_READING_H
#define FORMATS_RAW_READING_H

#include "formats/raw/internal.h"

struct reading {
	struct raw_process *p;
	struct trace *t;
	struct device_sync *clock_syncs; /* with clock ids in parallel */
	uint64_t *clock_sync_ids;
	uint8_t *clock_sync_host; /* CLOCK_SYNC_* */
	uint32_t clock_sync_count, clock_sync_room, clock_sync_id_room, clock_sync_host_room;
	/* What this file added begins here. */
	uint32_t agents, contexts, queues, programs, kernels, places, modules, sites, notes, clocks;
	bool process_end_seen;
	uint64_t process_end_how, process_end_tick;
	uint64_t end_tick;                 /* of RAW_END, 0 unknown */
	uint64_t seen_tick;                /* of the last block that says when it was written */
	uint32_t open_calls;               /* of the trace before this file */
	uint64_t waiting, beside, loading; /* ticks */
	uint32_t pauses;                   /* of the trace before this process */
	bool on, told;                     /* it records, as far as DEF_RECORDING says so */
	uint64_t record_millis, overhead;  /* ticks: a record * 1000; measured besides */
};

/* When all definitions are there: ids of the process become indexes of the trace, ticks times. `first_open`: of the file's open calls. */
kymo_status_t raw_resolve(struct reading *r, uint32_t first_open);

#endif
