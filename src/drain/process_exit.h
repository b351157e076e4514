/* SPDX-License-Identifier: Apache-2.0 */
/* Seeing that a process which is not our child has ended, and how. */
#ifndef DRAIN_PROCESS_EXIT_H
#define DRAIN_PROCESS_EXIT_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptor that becomes readable when the process ends; -1: there are none here, or it is gone. */
int process_exit_watch(int pid);

/* Has it ended? Works with and without a descriptor; a zombie has ended. */
bool process_exit_seen(int pid, int pidfd);

/*
 * On processors, ns, and bytes resident at most, as far as the kernel tells; 0: it does not. `delay`: ns that its
 * main thread was ready to run and had no processor.
 */
struct process_used {
	uint64_t user, system, resident, delay;
};

/* Wait status of an ended process, as far as the kernel tells; -1: unknown. `used` may be NULL. */
int process_exit_status(int pid, int pidfd, struct process_used *used);

/* What a process that runs has used up to now, without `delay`; left alone when it is gone. */
void process_used_now(int pid, int pidfd, struct process_used *used);

/* The same of `delay` alone, which costs a hundredth of it. */
void process_delay_now(int pid, int pidfd, uint64_t *delay);

#endif
