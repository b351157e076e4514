/* SPDX-License-Identifier: Apache-2.0 */
/* A drain in a process of its own, and a reader of raw files that shares no code with it. */
#ifndef UNIT_DRAIN_SUPPORT_H
#define UNIT_DRAIN_SUPPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "drain/drain.h"
#include "support/synth_producer.h"
#include "wire/raw.h"

struct test_drain {
	char trace[64];
	char socket[80];
	pid_t pid;
	int control; /* the launcher's end; -1: orphan */
	struct manifest manifest;
	struct drain_totals totals; /* of the last message */
};

struct test_drain_options {
	bool orphan;
	bool compress;
	uint64_t file_limit; /* RLIMIT_FSIZE, 0 none */
};

void test_drain_start(struct test_drain *d, struct test_drain_options o);
/* Tells the drain about the program, as the launcher does. */
void test_drain_program(struct test_drain *d, pid_t pid);
void test_drain_exited(struct test_drain *d, pid_t pid, int wait_status);
/* Waits for DRAIN_DONE (or the end of an orphan), fails the test after half a minute. */
void test_drain_done(struct test_drain *d);
void test_drain_remove(struct test_drain *d);

/* What a raw file holds. */
struct contents {
	uint32_t pid;
	uint64_t records[SYNTH_THREADS]; /* by thread; checked: ids, values and order have no gap */
	uint64_t all;
	unsigned chunks, compressed, syncs, opens;
	bool has_end;
	struct raw_end end;
	struct raw_open first_open, last_open;
	char error[256]; /* first thing that is not in order, "" */
	uint64_t bytes;
};

/* Reads raw/HOST-pid-n.kyr. False: there is no such file. */
bool contents_read(struct contents *c, const struct test_drain *d, pid_t pid, unsigned n);

#endif
