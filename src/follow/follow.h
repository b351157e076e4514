/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings followed while they are made: what `kymo top` shows. A look reads what has come since the one before: new
 * blocks of the raw files, each once, and what the shared memory of the programs holds that is not in the files yet.
 * Everything is read with pread(): nothing is mapped, written or asked of a program.
 *
 * Sums are of all recordings followed together. `now` is up to the last look, `then` up to the one before.
 */
#ifndef FOLLOW_FOLLOW_H
#define FOLLOW_FOLLOW_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "follow/busy.h"

struct follow_sum {
	double count, ns, bytes;
};

/* A kernel by its name, a call by domain and name, copies of a direction. */
struct follow_row {
	char *name, *domain;
	struct follow_sum now, then;
};

struct follow_rows {
	struct follow_row *at;
	uint32_t count, room;
	struct map names; /* by hash: place + 1 */
};

struct follow_device {
	char *name, *host, *domain;
	uint32_t number; /* among those of its name on its host, from 0 */
	struct busy_union busy;
	double busy_now, busy_then;  /* ns that at least one kernel ran */
	struct follow_sum now, then; /* of kernels */
	uint64_t under_way;          /* commands submitted and not seen complete */
	uint32_t users;              /* agents of processes that are followed */
	bool shared; /* with a recording that was let go: what `busy` holds is not of those left */
};

/*
 * Memory in use of a kind (enum memory_kind) and a device; device 0 of `devices` is no device. The peak is the one since
 * a recording was let go.
 */
struct follow_memory {
	uint32_t device, kind;
	double bytes, peak;
};

struct follow_process; /* process.h */

struct follow_recording {
	char trace[PATH_MAX];
	char *command;             /* JSON; owned, given by who follows, or NULL */
	bool running;              /* a drain is at work on it */
	int64_t folder;            /* when `raw` changed last; -1: it has not been read */
	uint64_t asked;            /* CLOCK_MONOTONIC ns when the drains were asked last */
	struct follow_door *doors; /* drains.c: those of its drains that are on this host */
	uint32_t door_count, door_room;
	uint64_t silent; /* ns that a drain has owed an answer; 0: none does for long */
};

/* Losses as the processes tell them. */
struct follow_losses {
	double records, definitions, overwritten;
};

struct follow {
	struct follow_recording **recordings;
	uint32_t recording_count, recording_room;
	struct follow_process **processes;
	uint32_t process_count, process_room;
	struct follow_rows kernels, calls, copies;
	struct follow_device *devices; /* the first one is none */
	uint32_t device_count, device_room;
	struct follow_memory *memory;
	uint32_t memory_count, memory_room;

	uint64_t looked,
		interval; /* CLOCK_MONOTONIC ns of the last look, and since the one before; 0 of the first */
	uint64_t realtime, tick; /* of the last look */
	double calls_now, calls_then;
	double written_now, written_then; /* bytes of raw files that were seen to be written */
	double read,
		left_out; /* bytes of chunks of records that were looked into, and that were not */
	uint64_t damaged; /* blocks, or stretches of files, that could not be read */
	uint32_t unrecorded; /* processes that were to be recorded and are not */
	bool failed;         /* memory ran out: numbers are too small */
	uint64_t most;       /* bytes of records that a look decodes; 0: FOLLOW_BUDGET */

	/* Of the look that goes on. */
	uint64_t budget, spent;
	uint32_t stride; /* one chunk of so many is looked into */
	struct follow_reading *reading;
};

/*
 * Bytes of records that are looked into for each second, with which following costs less than a hundredth of a
 * processor's time, and at the first look.
 */
#define FOLLOW_BUDGET       (12ull << 20)
#define FOLLOW_BUDGET_FIRST (96ull << 20)

/* False: no memory. */
bool follow_init(struct follow *f);
void follow_release(struct follow *f);

/*
 * Follows the recording in that trace directory, if it is not followed yet; one that had ended there is let go. False:
 * no memory.
 */
bool follow_add(struct follow *f, const char *trace);

/*
 * Recordings that had ended at the last look are followed no longer, and what they added to any sum is taken away: sums
 * are of those that are left.
 */
void follow_let_go(struct follow *f);

/* What has come since the last look. */
void follow_look(struct follow *f);

/* A drain is at work on one of them. */
bool follow_running(const struct follow *f);

/* Memory in use is known: no chunk was left out. */
static inline bool follow_complete(const struct follow *f)
{
	return f->left_out == 0;
}

/* Of all processes. */
struct follow_losses follow_lost(const struct follow *f);

#endif
