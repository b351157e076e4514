/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of libkymo-wait.so share: the functions that it stands before. */
#ifndef CAPTURE_WAIT_DOOR_H
#define CAPTURE_WAIT_DOOR_H

#include "capture/wait/wait.h"

/* clang-format off */
#define DOOR_FUNCTIONS(X) \
	X(nanosleep) X(clock_nanosleep) X(usleep) X(sleep) X(poll) X(__poll_chk) X(ppoll) X(__ppoll_chk) X(select) \
	X(pselect) X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) X(sigwait) X(sigwaitinfo) X(sigtimedwait) \
	X(sigsuspend) X(pause) X(wait) X(waitpid) X(wait3) X(wait4) X(waitid) X(sched_yield) X(syscall)
/* clang-format on */

#include "core/intercept/libc_door.h"

struct timespec;

#define WAIT_NO_LIMIT UINT64_MAX

/* ns; NULL: there is none. */
uint64_t wait_ns(const struct timespec *t);
/* From now on until then. */
uint64_t wait_until(const struct timespec *then, const struct timespec *now);

#endif
