/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process that runs no handlers and no destructors: _exit(), quick_exit(). */
#ifndef CORE_PROCESS_ENDING_H
#define CORE_PROCESS_ENDING_H

#include <stdbool.h>

/*
 * Somebody stands before _exit() and will call kymo_process_ending(): backends that collect device
 * work late make a thread for it. Called once, when the library is loaded.
 */
void kymo_process_ending_arm(void);

/*
 * The process is about to end: what the devices have completed is recorded, by a thread that waits
 * for this, within 200 ms. Safe in signal handlers, and in children of fork() and vfork(), where it
 * does nothing unless they use a runtime of their own.
 */
void kymo_process_ending(void);

/* Somebody stands there. */
bool core_ending_armed(void);

#endif
