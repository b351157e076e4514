/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the kernel's records that a thread got or lost its processor to the times between. One thread
 * calls all of it.
 */
#ifndef CAPTURE_HOSTSAMPLE_SWITCHES_H
#define CAPTURE_HOSTSAMPLE_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

enum switch_kind {
	SWITCH_IN,
	SWITCH_STACK, /* of a thread that leaves now */
	SWITCH_OUT_WAITS,
	SWITCH_OUT_PREEMPTED,
	SWITCH_THREAD_ENDED
};

/* In any order within a round; `time`: CLOCK_MONOTONIC_RAW. */
void switches_note(enum switch_kind kind, uint32_t tid, uint64_t time, uint32_t cpu);
/* The stack with which a thread leaves at once after that time; `whole`: to its start. */
void switches_stack(uint32_t tid, uint64_t time, uint32_t stack, bool whole);
/*
 * The end of a round: tells what is over of what came before `until`, since later ones may lie in a ring that was
 * read too early, and looks what threads wait for that wait now.
 */
void switches_round(uint64_t until);
/* Records are missing: what is open may have ended meanwhile, and is given up. */
void switches_lost(void);
/* A round to the end; what is not over is told as far as it went, and goes on from there. */
void switches_flush(void);
/* Forgets all. */
void switches_end(void);
/* A child: what there was is the parent's. */
void switches_fork_child(void);

#endif
