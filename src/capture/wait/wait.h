/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the preloaded libkymo-wait.so, which stands before the C library's functions in which a thread sleeps, polls, or
 * waits for signals and processes, and libkymo, which records their calls.
 */
#ifndef CAPTURE_WAIT_WAIT_H
#define CAPTURE_WAIT_WAIT_H

#include "core/intercept/libc_call.h"

/* X(ID, name, fields, flags). Numbers of ops are positions: append only. */
#define WAIT_OPS(X)                                                                                \
	X(NANOSLEEP, "nanosleep", SLEEP, 0)                                                        \
	X(CLOCK_NANOSLEEP, "clock_nanosleep", SLEEP, 0)                                            \
	X(USLEEP, "usleep", SLEEP, 0)                                                              \
	X(SLEEP, "sleep", SLEEP, 0)                                                                \
	X(POLL, "poll", POLL, 0)                                                                   \
	X(PPOLL, "ppoll", POLL, 0)                                                                 \
	X(SELECT, "select", POLL, 0)                                                               \
	X(PSELECT, "pselect", POLL, 0)                                                             \
	X(EPOLL_WAIT, "epoll_wait", EPOLL, 0)                                                      \
	X(EPOLL_PWAIT, "epoll_pwait", EPOLL, 0)                                                    \
	X(EPOLL_PWAIT2, "epoll_pwait2", EPOLL, 0)                                                  \
	X(SIGWAIT, "sigwait", SIGNAL, 0)                                                           \
	X(SIGWAITINFO, "sigwaitinfo", SIGNAL, 0)                                                   \
	X(SIGTIMEDWAIT, "sigtimedwait", SIGNAL, 0)                                                 \
	X(SIGSUSPEND, "sigsuspend", NOTHING, 0)                                                    \
	X(PAUSE, "pause", NOTHING, 0)                                                              \
	X(WAIT, "wait", CHILD, 0)                                                                  \
	X(WAITPID, "waitpid", CHILD, 0)                                                            \
	X(WAIT3, "wait3", CHILD, 0)                                                                \
	X(WAIT4, "wait4", CHILD, 0)                                                                \
	X(WAITID, "waitid", CHILD, 0)                                                              \
	X(FUTEX, "futex", FUTEX, 0)                                                                \
	X(SCHED_YIELD, "sched_yield", NOTHING, KYMO_OP_CHATTY)

enum wait_op {
#define WAIT_OP(id, name, fields, flags) WAIT_##id,
	WAIT_OPS(WAIT_OP)
#undef WAIT_OP
		WAIT_OP_COUNT
};

#define WAIT_LOOKED_AT 8u /* descriptors, at most, whose kinds are told */

/* A call. What its op has no field for is not looked at. */
struct wait_call {
	struct libc_call base;
	int32_t fd;         /* of epoll */
	int32_t answer;     /* descriptors that are ready, the signal, the process */
	uint32_t count;     /* descriptors that are waited for */
	uint32_t kinds;     /* string: what those that were looked at are; 0: not known */
	uint64_t timeout;   /* ns, as asked; all bits, -1 in the record: none, or not known */
	uint32_t timed_out; /* its limit ended it, where that is told by an error's number */
	const void *object;
	int32_t looked_at[WAIT_LOOKED_AT]; /* descriptors */
	uint32_t looked_at_count;
};

/* For libkymo-wait.so: NULL: nothing can be recorded. Keeps errno. */
KYMO_EXPORT struct libc_domain *kymo_wait_start(void);

#endif
