/* SPDX-License-Identifier: Apache-2.0 */
/* Seeing that a process which is not our child has ended, and how. */
#ifndef DRAIN_PROCESS_EXIT_H
#define DRAIN_PROCESS_EXIT_H

#include <stdbool.h>

/* Descriptor that becomes readable when the process ends; -1: there are none here, or it is gone. */
int process_exit_watch(int pid);

/* Has it ended? Works with and without a descriptor; a zombie has ended. */
bool process_exit_seen(int pid, int pidfd);

/* Wait status of an ended process, as far as the kernel tells; -1: unknown. */
int process_exit_status(int pid, int pidfd);

#endif
