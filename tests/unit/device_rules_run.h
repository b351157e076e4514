/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs made up for tests of rules: a host thread, devices with queues, a clock. What a call costs is fixed, so
 * that the repaired twin of a run shows what the repair wins.
 */
#ifndef TESTS_UNIT_DEVICE_RULES_RUN_H
#define TESTS_UNIT_DEVICE_RULES_RUN_H

#include "analysis/diagnose.h"

enum {
	CALL_NS = 4000,   /* what a call takes that submits */
	RETURN_NS = 3000, /* from the end of what is waited for to the return */
	START_NS = 1000,  /* from submission to start, and from one kernel to the next */
	QUEUES = 4,       /* of each device */
	DEVICES = 3,
	UNITS = 8 /* of each device */
};

enum run_op {
	OP_NONE,
	OP_LAUNCH,
	OP_FINISH,
	OP_COPY,
	OP_ALLOCATE,
	OP_FREE,
	OP_MAKE_QUEUE,
	OP_DROP_QUEUE,
	OP_BUILD,
	OP_ASK,
	OP_KERNEL, /* activities from here on */
	OP_WRITE,
	OP_READ,
	OP_ALLOCATED,
	OP_FREED,
	OP_SYNC,
	OP_FAULT,
	OPS
};

struct run {
	struct trace trace;
	struct timeline_sink sink;
	struct diagnosis diagnosis;
	int64_t now;                   /* of the host */
	uint32_t thread;               /* that calls; 0: the first */
	int64_t free[DEVICES][QUEUES]; /* when a queue has done its work */
	int64_t kernels[DEVICES];      /* when the device's kernels are done: one at a time */
	uint64_t id, allocations;
	bool beside;       /* kernels of several queues run at once */
	int64_t launching; /* what a launch takes more */
	int64_t starting;  /* what a device takes more from one kernel to the next */
	uint32_t kernel;   /* of the trace, of launches; 0: the first; number n is of program n */
	uint64_t memory;   /* the host's, of copies; 0: not known */
};

/* `cpu`: of a type whose kernels run on the host. */
void run_begin(struct run *r, bool cpu);
/* The host computes. */
void run_host(struct run *r, int64_t ns);
void run_kernel(struct run *r, unsigned device, unsigned queue, int64_t ns, uint64_t groups);
/* `queue`: of all devices. `from`: to the host. `kind`: of the host's memory. Blocking ones return when it is done. */
void run_copy(struct run *r, unsigned queue, bool from, uint64_t bytes, int64_t ns, bool blocking,
	      unsigned kind);
/* Waits for all. */
void run_finish(struct run *r);
/* Another call that takes `ns`; allocation and release leave their records. */
void run_call(struct run *r, enum run_op op, int64_t ns);
uint64_t run_allocate(struct run *r, uint64_t bytes, int64_t ns);
void run_free(struct run *r, uint64_t allocation, uint64_t bytes, int64_t ns);
/* Builds program `program` of the trace. */
void run_build(struct run *r, uint32_t program, int64_t ns);
/* Pages move for `ns` of the device's time, while nothing else is told. */
void run_fault(struct run *r, int64_t start, int64_t ns);
/* The queue's work done. */
int64_t run_done(const struct run *r, unsigned device, unsigned queue);

/* Ends the run and asks the rules. Its length. */
uint64_t run_end(struct run *r);
void run_release(struct run *r);

/* The finding of a rule, or NULL. */
const struct finding *run_finding(const struct run *r, const char *rule);

#define MEGABYTE (1u << 20)

typedef void run_program(struct run *r);

/* Runs it: `rule` alone has a finding, of *gain, or none has, where it is NULL. The length of the run. */
uint64_t run_length(run_program *p, const char *rule, uint64_t *gain);
/* `good` is `bad` repaired: the rule tells what that wins, within a quarter. */
void run_check(const char *rule, run_program *bad, run_program *good);
/* What the rule tells, beside others; 0: nothing. */
uint64_t run_gain(run_program *p, const char *rule, uint64_t *length);

/* Programs of several tests: short kernels in a row; long ones, each awaited. */
void run_launches(struct run *r);
void run_no_other_calls(struct run *r);

#endif
