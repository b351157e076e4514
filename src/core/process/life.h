/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of Kymo's never keep a process alive: which they are, how they sleep, and what they do
 * when the program has no thread left but them.
 */
#ifndef CORE_PROCESS_LIFE_H
#define CORE_PROCESS_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Called by each thread of Kymo's (one that a tool had made too) when it begins and when it ends.
 */
void core_life_enter(void);
void core_life_leave(void);
/* The thread is one of them. */
bool core_life_own(uint32_t tid);

/*
 * A thread of Kymo's waits, once, while *word is `value`; it may come back early. If meanwhile only
 * threads of Kymo's are left the process ends here, with what it would have ended with. False: that
 * cannot be found out (no /proc): the caller ends if it can be done without, so that the C library
 * sees the program's last thread end.
 */
bool core_life_sleep(_Atomic uint32_t *word, uint32_t value);
/* Some thread sleeps so from now on; if there is none, one is made when the main thread leaves. */
void core_life_watched(void);

/* In a child: after fork(), and at the first use, which may be after a clone() of another kind. */
void core_life_fork_child(void);

#endif
