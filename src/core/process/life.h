/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kymo's own threads: how they are made, and how they never keep a process alive: which they are, how they
 * sleep, and what they do when the program has no thread left but them.
 */
#ifndef CORE_PROCESS_LIFE_H
#define CORE_PROCESS_LIFE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Called by each thread of Kymo's (one that a tool had made too) when it begins and when it ends.
 */
void core_life_enter(void);
void core_life_leave(void);
/* Of one that has called core_life_enter() and is gone without having left: its number is free again. */
void core_life_forget(uint32_t tid);
/* The thread is one of them; the calling thread is. */
bool core_life_own(uint32_t tid);
/* There is one; there is one of which `is` says true. */
bool core_life_any(void);
bool core_life_find(bool (*is)(uint32_t tid, void *data), void *data);
/* The calling thread is the only one but for them. */
bool core_life_alone(void);
/* Waits, a second at most, until those that have called core_life_leave() are gone from the process. */
void core_life_await_gone(void);
/* A thread that core knows ends: if the main one is gone, this one or a later one is the last. */
void core_life_thread_ends(void);
bool core_life_here(void);

/*
 * The processor time that they took since it was last counted becomes overhead beside the program
 * (CAP_COST_BESIDE): of the calling one, which does so now and then as nobody can when the process
 * is killed; of all, when the process ends.
 */
void core_life_count(void);
void core_life_count_all(void);

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

/*
 * In a child, when fork() has returned: brings it in order now where something is recorded that needs no traced call. Not in a
 * signal's handler, where nothing may be allocated: there it waits for the first traced call. Keeps errno.
 */
void kymo_process_forked(void);

/* ---- threads of Kymo (announce.c) ---- */
/*
 * Makes a thread of Kymo's, named "kymo-" and `name` (up to 10 characters): signals masked, calls
 * untraced, tools told. It is detached unless `joinable` is given. Caller holds no lock.
 */
bool core_thread_start(const char *name, void (*fn)(void *), void *arg, pthread_t *joinable);
/*
 * The same for a thread that traces do not know, and whose calls are traced, until it calls
 * cap_guard_enter() or records something: it may begin where a forked child is still being brought in
 * order, for which other threads wait.
 */
bool core_helper_start(const char *name, void (*fn)(void *), void *arg, pthread_t *joinable);
/* The calling thread is about to make one: who stands before pthread_create() leaves it alone. */
bool core_thread_making(void);
/* Tools want to hear of them. */
bool core_thread_notices(void);
/* The same for a thread that sleeps until it is needed, mostly never: traces do not know it until
 * `fn` calls cap_guard_enter(). */
bool core_sleeper_start(const char *name, void (*fn)(void *), void *arg);

#endif
