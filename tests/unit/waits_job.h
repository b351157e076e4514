/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs made up for tests of findings about ranks that wait: of work, messages and collective calls whose times are
 * known.
 */
#ifndef TESTS_UNIT_WAITS_JOB_H
#define TESTS_UNIT_WAITS_JOB_H

#include "analysis/diagnose.h"

#define MS 1000000LL

enum { RANKS = 9, CALLS = 100000, LATENCY = 2000 };

enum {
	OP_NONE,
	OP_INIT,
	OP_SEND,
	OP_RECV,
	OP_BARRIER,
	OP_BCAST,
	OP_REDUCE,
	OP_FINALIZE,
	OP_TEST,
	OP_FILE,
	OP_M_SEND,
	OP_M_RECEIVE,
	OP_M_COLLECTIVE,
	OPS
};

/* A job: ranks 0 to n-1 are processes and threads 1 to n. Communicator 1: all, 2: the first two. */
extern struct job {
	struct trace trace;
	struct timeline tl;
	struct t_process processes[RANKS + 1];
	struct t_thread threads[RANKS + 1];
	struct t_communicator communicators[2 * RANKS + 3];
	int64_t now[RANKS];
	uint32_t ranks;
	uint64_t id, match;
	struct diagnosis d;
} job;

/* What timeline_finish() is told of it. */
extern const struct stream_sink whole_run;

void job_begin(uint32_t ranks, uint32_t worlds);
uint64_t call(uint32_t rank, uint32_t op, int64_t end);
void work(uint32_t rank, int64_t ns);
void add_message(uint32_t rank, uint32_t op, int64_t end, int32_t peer, uint64_t id,
		 uint32_t communicator);
/* `waits`: the send does not end before the receive has begun. */
void message(uint32_t from, uint32_t to, bool waits);
/* Ranks first to first + count - 1. For OP_BCAST the first is the root. */
void collective_of(uint32_t op, uint32_t first, uint32_t count, uint32_t communicator);
void collective(uint32_t op);
void start_all(void);
void finalize(uint32_t first, uint32_t count);
void judge(void);
void job_end(void);
/* Of so many findings the first is of this rule, is worth `ns` within a hundredth, and has `text` in its title. */
void expect_first(uint32_t count, const char *rule, int64_t ns, const char *text);
void expect_one(const char *rule, int64_t ns, const char *text);
void expect_nothing(void);
void expect_silence(const char *reason);

#endif
