/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One traced process image as the drain sees it: its shared buffer, which is untrusted memory, and
 * its raw file. Only the drain's one thread uses these.
 */
#ifndef DRAIN_PRODUCER_H
#define DRAIN_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include <kymo/status.h>

#include "drain/control.h"
#include "drain/journal.h"
#include "drain/process_exit.h"
#include "drain/rawfile.h"
#include "wire/shm.h"

struct session;

struct producer {
	struct producer *next;
	struct session *session; /* through whose door it came (inside.h) */
	void *before;            /* life_page() bytes before the mapping */
	struct shm_header *shm;  /* mapping; anything in it may change at any time */
	size_t bytes;
	int memfd;
	int pidfd;      /* -1: the kernel has none, the pid is polled */
	int place;      /* a descriptor kept for its file until that is there; -1: none */
	int pid;        /* from the socket's credentials */
	uint64_t image; /* as the process says, 0 unknown */
	bool begun;     /* the process records, and there is a file; else only its memory is here */
	bool superseded; /* the same process has connected again: it has called exec */

	/* The geometry, copied and checked once. */
	uint64_t ctl_offset, threads_offset, chunks_offset;
	uint32_t chunk_size, chunk_max;

	uint32_t asked;     /* of it so far, see struct shm_header */
	bool hears;         /* the request that is being served */
	uint32_t heard;     /* value of shm->bell before the last pass */
	uint64_t next_pass; /* CLOCK_MONOTONIC ns of the next one, if the bell is not rung before */
	/* The chunk of definitions being filled, and how much of it has been copied. */
	uint32_t defining; /* SHM_NONE: not known */
	uint64_t defining_seq;
	uint32_t defined;
	struct process_used used; /* as seen from outside */
	uint64_t delay_before;    /* used.delay when it came: of what the process was before */
	uint64_t busy_ns;         /* of the processor, for this process */
	uint64_t next_sync;       /* CLOCK_MONOTONIC ns of the next calibration point */
	uint64_t damaged_chunks;
	struct raw_end told; /* what the last RAW_STATE said */
	bool open_told;      /* there is a RAW_OPEN_CALLS */
	uint64_t born;       /* CLOCK_MONOTONIC ns */
	struct producer_counts counts;
	bool counts_damaged;
	bool refusing; /* the file system takes no more, since then: */
	struct producer_counts known_then;
	bool recorded; /* there are records in the file */
	struct raw_header header;
	struct raw_job job; /* what the environment says of a rank; `by` is empty of none */
	struct rawfile file;
	struct beside_file *beside; /* compresses it; NULL: nobody does yet */

	/* For a drain in the place of this one. */
	struct journal *journal;       /* NULL: there will be none */
	struct journal_producer *kept; /* in there */
	/* Chunks being filled that are in the file as they are, by who was here before. */
	struct journal_chunk *already;
	unsigned already_count;
	bool given; /* its file is not kept */
	bool asked_to_leave;
};

/*
 * Takes over `memfd` of process `pid`. On failure the descriptor is closed and *status is what the
 * process is told.
 */
struct producer *producer_new(int memfd, int pid, struct journal *j, kymo_status_t *status);
/* Tells the process that it has a drain. `number`: none has it that the journal knows. */
void producer_adopt(struct producer *p, uint32_t number);
/* It is the one whose memory this is. */
bool producer_has(const struct producer *p, int memfd);

/*
 * The producer that a drain before this one has left; NULL: errno tells. What has become of it
 * since it came is then the caller's to say: `begun`, `file.path`, `given`.
 */
struct producer *producer_restore(struct journal *j, struct journal_producer *kept);
/* Goes on where that drain has stopped. False: errno tells. */
bool producer_continue(struct producer *p);
/* Lets go of one that was restored: there will be no drain any more. */
void producer_give_up(struct producer *p);
/* Nobody would start another drain if this one died now. */
void producer_alone(struct producer *p);
/* The process has begun to record. */
bool producer_wants(const struct producer *p);
/* Begins its raw file in `trace`. False: errno says why; the process is told. */
bool producer_begin(struct producer *p, const char *trace);
/* The process, which has begun, is told that nobody takes what it records. */
void producer_refuse(struct producer *p, int error);
/* Begins what the process waits to hear of. False: it does not wait any more. */
bool producer_claim(struct producer *p);
/* From now on the process finds no drain when it begins. False: it has begun. */
bool producer_too_late(struct producer *p);
/* Lets go of one that has not begun, or is finished. */
void producer_drop(struct producer *p);

enum {
	PRODUCER_PASS_NS = 250000000
}; /* as long may a chunk wait for others; the beat is seconds */

/* It has rung, or has had no pass for long. */
bool producer_calls(const struct producer *p, uint64_t now);

/* Writes all chunks that are full and gives them back. Returns how many. */
unsigned producer_pass(struct producer *p);

/*
 * The process is gone: writes what is left, the open calls, the end. `wait_status` as from
 * waitpid(), -1 if unknown. Adds to `totals`. Its file's path is left in `path` (PATH_MAX bytes),
 * "" if the job's table has all that was in it: then it is not kept.
 */
void producer_finish(struct producer *p, int wait_status, struct drain_totals *totals,
		     struct raw_end *end, char *path);

/* Asks something of the process (SHM_ASKED_NEXT). */
void producer_ask(struct producer *p, uint32_t asked);
/* It goes on, and writes nothing any more. */
bool producer_left(const struct producer *p);
/* It has done what it was asked for. */
bool producer_answered(const struct producer *p);
/* Somebody in it hears what is asked; else it is done when the process begins to use a runtime. */
bool producer_listens(const struct producer *p);
/* The number of what it did last, or what the process did that made it by fork(); 0: nothing. */
uint32_t producer_stands(struct producer *p);

/* Adds what the process has lost so far. */
void producer_count(struct producer *p, struct drain_totals *totals);

/* The handler that survives memory which a producer takes away from under the drain. */
void producer_guard_memory(void);

#endif
