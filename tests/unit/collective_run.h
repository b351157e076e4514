/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs made up for tests of collectives on devices: ranks with a host, a device with a queue for its own kernels and
 * one for collectives, and calls, messages and kernels as NCCL leaves them.
 */
#ifndef TESTS_UNIT_COLLECTIVE_RUN_H
#define TESTS_UNIT_COLLECTIVE_RUN_H

#include "analysis/diagnose.h"

#define MS 1000000LL

enum {
	RANKS = 4,
	QUEUES = 2, /* of each: for its own kernels, for collectives */
	CALL_NS = 4000,
	NCCL_NS = 20000, /* a call of NCCL, which launches in the midst of it */
	START_NS = 1000,
	FULL = 1320, /* blocks: 10 for each unit */
	FEW = 2
};

enum {
	OP_NONE,
	OP_LAUNCH,
	OP_ALLREDUCE,
	OP_BCAST,
	OP_BROADCAST,
	OP_REDUCE,
	OP_GROUP_END,
	OP_KERNEL,
	OP_COLLECTIVE,
	OP_SENT,
	OPS
};

enum { KERNEL_OWN = 1, KERNEL_NCCL, KERNEL_UNNAMED };

/* Rank r is process, thread and agent r + 1. */
extern struct job {
	struct trace trace;
	struct timeline_sink sink;
	struct diagnosis d;
	struct t_process processes[RANKS + 1];
	struct t_thread threads[RANKS + 1];
	struct t_agent agents[RANKS + 1];
	struct t_queue queues[1 + RANKS * QUEUES];
	struct t_communicator communicators[64];
	struct t_site sites[1];
	int64_t now[RANKS], free[RANKS][QUEUES];
	uint64_t id[RANKS];
	uint32_t ranks, kernel; /* kernel: of collectives */
	unsigned op;            /* of collectives */
	int32_t root;
	bool beside;  /* kernels go on beside collectives */
	bool one;     /* process has all devices */
	bool sends;   /* the other of a group is no collective */
	bool no_call; /* collectives are in a graph: their calls are not known */
} job;

void job_begin(uint32_t ranks);

/* Of ranks first to first + count - 1, of `size`; returns the index of the first. */
uint32_t communicator_of(uint64_t key, uint32_t first, uint32_t count, uint32_t size);
uint32_t communicator(uint64_t key, uint32_t first, uint32_t count);

/* A kernel of the program, of so many blocks. */
void computes(uint32_t rank, int64_t ns, uint64_t groups);
void compute(uint32_t rank, int64_t ns);
/* The host computes when its device has done all. */
void host(uint32_t rank, int64_t ns);

void message(uint32_t rank, uint32_t op, uint32_t index, int64_t start, int64_t end, uint64_t id,
	     uint64_t completed_by);
/* `index`: of the first rank's communicator, those of the others follow. */
void collective(uint32_t index, uint32_t first, uint32_t count, int64_t ns);
/* Two collectives of two communicators, or of one, launched by the end of the group that they are in. */
void group(uint32_t one, uint32_t other, uint32_t count, int64_t ns);
/* Those of two devices of one process, each with its communicator: a group launches both. */
void group_of_devices(uint32_t index, int64_t ns);

/* Kernels of collectives have names and calls of NCCL, or not. */
void communicates(bool yes);

/* Ends the job and asks the rules. */
void judge(void);
int64_t length(void);
void job_end(void);

/* The finding of a rule, or NULL. */
const struct finding *finding(const char *rule);
bool says(const struct text *text, const char *what);

#endif
