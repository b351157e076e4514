/* SPDX-License-Identifier: Apache-2.0 */
/* What the launcher and its drain tell each other, over a SOCK_SEQPACKET pair. */
#ifndef DRAIN_CONTROL_H
#define DRAIN_CONTROL_H

#include <stdint.h>

enum drain_message_type {
	/*
	 * launcher: `pid` is the program; `status` 1: it stands for one that was there before, whose recording
	 * ends with it and which goes on
	 */
	DRAIN_PROGRAM = 1,
	DRAIN_EXITED = 2, /* launcher: the program ended with wait status `status` */
	DRAIN_BUSY = 3,   /* drain: the program has ended, `totals.alive` others are recorded */
	DRAIN_EMPTY = 4,  /* drain: nobody is recorded any more; raw files are complete */
	DRAIN_DONE = 5    /* drain: manifest written; `status` 1: it goes on compressing files */
};

struct drain_totals {
	uint32_t processes; /* that connected */
	uint32_t alive;     /* of them */
	uint32_t greeted;   /* that Kymo was loaded into and that could say so */
	uint32_t crowded; /* of these: there was no room for them then; they may have asked again */
	uint32_t later;   /* that had not begun to record when nobody recorded, and run on */
	uint32_t refused; /* processes that asked to be recorded and are not */
	int32_t refused_error; /* errno of the first of them; 0: what it shares was not in order */
	int32_t failed;        /* errno of the first file that could not be written, or 0 */
	uint32_t restarts;     /* drains that ended unexpectedly and were followed by another */
	int32_t signal;        /* that ended the last of them, 0: none did */
	uint64_t lost_records; /* by full buffers and by refused writes */
	uint64_t unwritten_records; /* of these: by refused writes */
	uint64_t no_memory_records; /* of these: the programs had no memory for them */
	uint64_t dropped_records;   /* of these: runtimes dropped them */
	uint64_t lost_definitions;
	uint64_t overwritten_records; /* of flight recorders: gave way to newer ones */
	uint64_t damaged_chunks;
	uint64_t bytes;  /* written to raw files */
	uint64_t stored; /* what they took then, partly compressed */
};

struct drain_message {
	uint32_t type;
	int32_t pid;
	int32_t status;
	uint32_t reserved;
	struct drain_totals totals;
};

#endif
