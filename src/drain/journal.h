/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a drain has to leave to one that is started in its place, in memory that the keeper shares
 * with both: entries in the order in which things happened, each whole before what it describes can
 * be seen by anybody else, or such that doing it again changes nothing. What a producer has lost is
 * a number that changes in place; together with the chunks that the loss frees it is replaced in
 * one step.
 */
#ifndef DRAIN_JOURNAL_H
#define DRAIN_JOURNAL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drain/control.h"
#include "drain/place.h"
#include "wire/raw.h"
#include "wire/shm.h"

enum journal_type {
	JOURNAL_ADOPTED = 1, /* struct journal_producer */
	JOURNAL_BEGUN,       /* uint32_t number; path of its file */
	JOURNAL_GIVEN_AWAY, /* uint32_t number: its file goes, the job's table has what was in it */
	JOURNAL_GONE,       /* uint32_t number: let go of without a file */
	JOURNAL_FINISHED,   /* struct journal_finished; path, "" if it was given away */
	JOURNAL_REFUSED,    /* struct journal_refused */
	JOURNAL_WRITTEN,    /* struct journal_refused: that has its file */
	JOURNAL_ERROR,      /* nothing; text for the manifest */
	JOURNAL_PROGRAM,    /* struct journal_program */
	JOURNAL_PROGRAM_GONE,
	JOURNAL_EXITED,     /* int32_t wait status */
	JOURNAL_STEER,      /* struct journal_steer */
	JOURNAL_COLLECTING, /* uint32_t number of the finished file; where it goes to */
	JOURNAL_GREETED,    /* uint32_t: there was no room for it, and it had lost nothing yet */
	JOURNAL_SESSION,    /* struct journal_session; JSON: a launcher has joined */
	JOURNAL_TURN,  /* uint32_t: number of the session that the entries are of from here on */
	JOURNAL_ENDED, /* nothing: that session */
	JOURNAL_PHASE  /* uint32_t enum journal_phase */
};

enum journal_phase {
	PHASE_RECORDING = 0,
	PHASE_ENDING, /* nobody is recorded any more, and nobody can come */
	PHASE_DONE,   /* the manifest is written */
	PHASE_TOLD    /* nobody waits: who comes next leaves what is not compressed as it is */
};

/* What a process says of itself, as far as it can be. */
struct producer_counts {
	uint64_t no_memory_records, dropped_records, lost_records, lost_definitions,
		overwritten_records, overhead_ticks;
};

struct journal_counts {                          /* change in place */
	uint64_t lost_records, lost_definitions; /* refused by the file system */
	uint64_t damaged_chunks;
	uint64_t busy_ns;
	int32_t failed;
	bool recorded, counts_damaged;
	bool refusing; /* the file system takes no more; then what was lost before: */
	struct producer_counts known_then;
};

struct journal_producer {
	uint32_t number;
	int32_t memfd, pidfd, pid;
	uint64_t image, born;
	uint64_t bytes, ctl_offset, threads_offset, chunks_offset;
	uint32_t chunk_size, chunk_max;
	uint64_t delay_before;
	struct raw_header header;
	struct raw_job job;
	struct journal_counts counts;
};

struct journal_finished {
	uint32_t number;
	int32_t pid;
	uint64_t bytes;
	struct raw_end end;
	struct drain_totals totals; /* with it */
};

struct journal_refused {
	int32_t pid, error;
};

struct journal_program {
	int32_t pid, fd;
	bool gone, attached;
};

struct journal_session {
	uint32_t number, rank;
	int32_t listener, control, held;
	char socket[PLACE_SOCKET];
};

struct journal_steer {
	uint32_t asked, standing;
};

/* A chunk whose content is counted as lost. */
struct journal_chunk {
	uint32_t chunk, thread;
	uint64_t seq;
};

enum { JOURNAL_CHUNKS = 2 * SHM_CHUNK_MAX };

/* A step of a producer's losses: holds as soon as it is valid, whether or not it has been taken. */
struct journal_loss {
	_Atomic uint32_t valid;
	uint32_t number;
	struct journal_counts counts;
	uint32_t defining, defined;
	uint64_t defining_seq;
	uint32_t count;
	struct journal_chunk chunks[JOURNAL_CHUNKS];
};

struct journal {
	uint64_t room;          /* bytes for entries */
	_Atomic uint64_t used;  /* of them: all in there is whole */
	_Atomic uint32_t full;  /* an entry found no room: who comes next does not know all */
	uint32_t deaths;        /* of drains so far, by the keeper */
	int32_t signal, status; /* that ended the last one; signal 0: it went by itself */
	bool mixed;             /* not each of them ended like that */
	int32_t keeper;         /* pid */
	int32_t held[2];        /* descriptors that stay open for what they lock */
	uint64_t began;         /* CLOCK_MONOTONIC ns */
	struct journal_loss loss;
	_Alignas(64) uint8_t entries[];
};

struct journal_entry {
	uint32_t bytes; /* of what follows */
	uint32_t type;
	/* the structure, then text that ends with a zero */
};

/* NULL: there is no memory. */
struct journal *journal_new(void);
void journal_free(struct journal *j);

/*
 * Adds an entry; `text` may be NULL. Returns the structure as it lies in the journal, NULL if there
 * is no room. Without a journal nothing happens.
 */
void *journal_add(struct journal *j, enum journal_type type, const void *data, size_t bytes,
		  const char *text);

/* The entry after `at`, the first for NULL; NULL: there is no other that is whole. */
struct journal_entry *journal_next(struct journal *j, const struct journal_entry *at);
/* What it holds; NULL: less than that. */
void *journal_data(struct journal_entry *e, size_t bytes);
/* The text behind so many bytes, "" if there is none that ends. */
const char *journal_text(struct journal_entry *e, size_t bytes);

#endif
