/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-wait.so: preloaded where the domain "wait" is named. It stands before the C library's functions in which a thread
 * sleeps, polls, or waits for signals and processes. What the system refuses to read is not read here either: such pointers
 * are followed after the call, unless the C library follows them itself.
 */
#include "capture/wait/door.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

DOOR_STATE(wait)

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t room);

uint64_t wait_ns(const struct timespec *t)
{
	return t && t->tv_sec >= 0 ? (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec
				   : WAIT_NO_LIMIT;
}

uint64_t wait_until(const struct timespec *then, const struct timespec *now)
{
	const uint64_t a = wait_ns(now), b = wait_ns(then);

	return b > a ? b - a : 0;
}

static uint64_t of_ms(int ms)
{
	return ms < 0 ? WAIT_NO_LIMIT : (uint64_t)ms * 1000000u;
}

static int error_of(int result)
{
	return result < 0 ? errno : 0;
}

/* ---- sleeps ---- */

/* Where the rest of the time overwrites what was asked for; rare, and slow beside loads, not beside sleeps. */
static bool copy(struct timespec *out, const struct timespec *from)
{
	const struct iovec here = {out, sizeof(*out)},
			   there = {(void *)(uintptr_t)from, sizeof(*from)};
	const int saved = errno;
	const bool read =
		syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) == sizeof(*out);

	errno = saved;
	return read;
}

static void sleep_begins(struct wait_call *c, const struct timespec *length,
			 const struct timespec *rest, struct timespec *asked)
{
	c->timeout = WAIT_NO_LIMIT;
	*asked = (struct timespec){.tv_sec = -1};
	if (rest == length && length && !copy(asked, length))
		asked->tv_sec = -1;
}

/* What is asked for is readable, as the system has read it. */
static void sleep_ends(struct wait_call *c, const struct timespec *length,
		       const struct timespec *asked, int error)
{
	c->timeout = asked->tv_sec >= 0             ? wait_ns(asked)
		     : error == 0 || error == EINTR ? wait_ns(length)
						    : WAIT_NO_LIMIT;
}

EXPORT int nanosleep(const struct timespec *length, struct timespec *rest)
{
	struct wait_call c = {.base.op = WAIT_NANOSLEEP};
	struct timespec asked;
	int result, error;

	if (!ENTER(c))
		return NEXT(nanosleep)(length, rest);
	sleep_begins(&c, length, rest, &asked);
	result = NEXT(nanosleep)(length, rest);
	error = error_of(result);
	sleep_ends(&c, length, &asked, error);
	door_leave(&c.base, error);
	return result;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *length,
			   struct timespec *rest)
{
	struct wait_call c = {.base.op = WAIT_CLOCK_NANOSLEEP};
	struct timespec asked, now = {0, 0};
	int error;

	if (!ENTER(c))
		return NEXT(clock_nanosleep)(clock, flags, length, rest);
	if (flags & TIMER_ABSTIME)
		clock_gettime(clock, &now);
	sleep_begins(&c, length, flags & TIMER_ABSTIME ? NULL : rest, &asked);
	error = NEXT(clock_nanosleep)(clock, flags, length, rest);
	sleep_ends(&c, length, &asked, error);
	if (flags & TIMER_ABSTIME && c.timeout != WAIT_NO_LIMIT)
		c.timeout = wait_until(length, &now);
	door_leave(&c.base, error);
	return error;
}

EXPORT int usleep(useconds_t us)
{
	struct wait_call c = {.base.op = WAIT_USLEEP, .timeout = (uint64_t)us * 1000u};
	int result;

	if (!ENTER(c))
		return NEXT(usleep)(us);
	result = NEXT(usleep)(us);
	door_leave(&c.base, error_of(result));
	return result;
}

/* What is left is told in whole seconds, rounded down: a sleep(1) that is interrupted returns 0. */
EXPORT unsigned sleep(unsigned seconds)
{
	struct wait_call c = {.base.op = WAIT_SLEEP, .timeout = (uint64_t)seconds * 1000000000u};
	uint64_t begin;
	unsigned left;

	if (!ENTER(c))
		return NEXT(sleep)(seconds);
	begin = clock_ns(CLOCK_MONOTONIC);
	left = NEXT(sleep)(seconds);
	door_leave(&c.base, clock_ns(CLOCK_MONOTONIC) - begin < c.timeout ? EINTR : 0);
	return left;
}

EXPORT int sched_yield(void)
{
	struct wait_call c = {.base.op = WAIT_SCHED_YIELD};
	int result;

	if (!ENTER(c))
		return NEXT(sched_yield)();
	result = NEXT(sched_yield)();
	door_leave(&c.base, error_of(result));
	return result;
}

/* ---- descriptors ---- */

static void look_at(struct wait_call *c, int fd)
{
	if (fd >= 0 && c->looked_at_count < WAIT_LOOKED_AT)
		c->looked_at[c->looked_at_count++] = fd;
}

static void poll_ends(struct wait_call *c, const struct pollfd *fds, nfds_t count, int result)
{
	const int saved = errno;

	c->answer = result;
	for (nfds_t i = 0; result >= 0 && i < count && i < WAIT_LOOKED_AT; i++)
		look_at(c, fds[i].fd);
	door_leave(&c->base, result < 0 ? saved : 0);
}

#define POLL(which, limit, call)                                                                   \
	do {                                                                                       \
		struct wait_call c = {                                                             \
			.base.op = (which), .count = (uint32_t)count, .timeout = (limit)};         \
		int result;                                                                        \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		result = call;                                                                     \
		poll_ends(&c, fds, count, result);                                                 \
		return result;                                                                     \
	} while (0)

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	POLL(WAIT_POLL, of_ms(timeout), NEXT(poll)(fds, count, timeout));
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
	POLL(WAIT_POLL, of_ms(timeout), NEXT(__poll_chk)(fds, count, timeout, room));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	POLL(WAIT_PPOLL, wait_ns(timeout), NEXT(ppoll)(fds, count, timeout, mask));
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	POLL(WAIT_PPOLL, wait_ns(timeout), NEXT(__ppoll_chk)(fds, count, timeout, mask, room));
}

/* What is ready is left in the sets: more is not known of what was waited for. */
static void select_ends(struct wait_call *c, int count, fd_set *const sets[3], int result)
{
	const int saved = errno;

	c->answer = result;
	for (int fd = 0; result > 0 && fd < count && fd < FD_SETSIZE; fd++)
		for (unsigned i = 0; i < 3; i++)
			if (sets[i] && FD_ISSET(fd, sets[i])) {
				look_at(c, fd);
				break;
			}
	door_leave(&c->base, result < 0 ? saved : 0);
}

#define SELECT(which, limit, call)                                                                 \
	do {                                                                                       \
		struct wait_call c = {                                                             \
			.base.op = (which), .count = (uint32_t)count, .timeout = (limit)};         \
		fd_set *const sets[3] = {in, out, other};                                          \
		int result;                                                                        \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		result = call;                                                                     \
		select_ends(&c, count, sets, result);                                              \
		return result;                                                                     \
	} while (0)

EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout)
{
	SELECT(WAIT_SELECT,
	       timeout && timeout->tv_sec >= 0 ? (uint64_t)timeout->tv_sec * 1000000000u +
							 (uint64_t)timeout->tv_usec * 1000u
					       : WAIT_NO_LIMIT,
	       NEXT(select)(count, in, out, other, timeout));
}

EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *other,
		   const struct timespec *timeout, const sigset_t *mask)
{
	SELECT(WAIT_PSELECT, wait_ns(timeout), NEXT(pselect)(count, in, out, other, timeout, mask));
}

#define EPOLL(which, limit, later, call)                                                           \
	do {                                                                                       \
		struct wait_call c = {.base.op = (which), .fd = epoll, .timeout = (limit)};        \
		int result, error;                                                                 \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		result = call;                                                                     \
		error = error_of(result);                                                          \
		if (error == 0 || error == EINTR)                                                  \
			later;                                                                     \
		c.answer = result;                                                                 \
		door_leave(&c.base, error);                                                        \
		return result;                                                                     \
	} while (0)

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int room, int timeout)
{
	EPOLL(WAIT_EPOLL_WAIT, of_ms(timeout), (void)0,
	      NEXT(epoll_wait)(epoll, events, room, timeout));
}

EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int room, int timeout,
		       const sigset_t *mask)
{
	EPOLL(WAIT_EPOLL_PWAIT, of_ms(timeout), (void)0,
	      NEXT(epoll_pwait)(epoll, events, room, timeout, mask));
}

EXPORT int epoll_pwait2(int epoll, struct epoll_event *events, int room,
			const struct timespec *timeout, const sigset_t *mask)
{
	EPOLL(WAIT_EPOLL_PWAIT2, WAIT_NO_LIMIT, c.timeout = wait_ns(timeout),
	      NEXT(epoll_pwait2)(epoll, events, room, timeout, mask));
}

/* ---- signals ---- */

EXPORT int sigwait(const sigset_t *set, int *signal)
{
	struct wait_call c = {.base.op = WAIT_SIGWAIT, .timeout = WAIT_NO_LIMIT};
	int error;

	if (!ENTER(c))
		return NEXT(sigwait)(set, signal);
	error = NEXT(sigwait)(set, signal);
	c.answer = error ? 0 : *signal;
	door_leave(&c.base, error);
	return error;
}

#define WAIT_SIGNAL(which, later, next)                                                            \
	do {                                                                                       \
		struct wait_call c = {.base.op = (which), .timeout = WAIT_NO_LIMIT};               \
		int signal, error;                                                                 \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return next;                                                               \
		signal = next;                                                                     \
		error = error_of(signal);                                                          \
		if (error == 0 || error == EAGAIN || error == EINTR)                               \
			later;                                                                     \
		c.answer = signal > 0 ? signal : 0;                                                \
		c.timed_out = error == EAGAIN;                                                     \
		door_leave(&c.base, c.timed_out ? 0 : error);                                      \
		return signal;                                                                     \
	} while (0)

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	WAIT_SIGNAL(WAIT_SIGWAITINFO, (void)0, NEXT(sigwaitinfo)(set, info));
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	WAIT_SIGNAL(WAIT_SIGTIMEDWAIT, c.timeout = wait_ns(timeout),
		    NEXT(sigtimedwait)(set, info, timeout));
}

/* These return when a handler has run: EINTR is how they succeed. */
#define UNTIL_HANDLED(which, next)                                                                 \
	do {                                                                                       \
		struct wait_call c = {.base.op = (which)};                                         \
		int result;                                                                        \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return next;                                                               \
		result = next;                                                                     \
		door_leave(&c.base, errno == EINTR ? 0 : errno);                                   \
		return result;                                                                     \
	} while (0)

EXPORT int sigsuspend(const sigset_t *set)
{
	UNTIL_HANDLED(WAIT_SIGSUSPEND, NEXT(sigsuspend)(set));
}

EXPORT int pause(void)
{
	UNTIL_HANDLED(WAIT_PAUSE, NEXT(pause)());
}

/* ---- processes ---- */

#define WAIT_CHILD(which, next)                                                                    \
	do {                                                                                       \
		struct wait_call c = {.base.op = (which)};                                         \
		pid_t child;                                                                       \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return next;                                                               \
		child = next;                                                                      \
		c.answer = child;                                                                  \
		door_leave(&c.base, error_of(child));                                              \
		return child;                                                                      \
	} while (0)

EXPORT pid_t wait(int *status)
{
	WAIT_CHILD(WAIT_WAIT, NEXT(wait)(status));
}

EXPORT pid_t waitpid(pid_t process, int *status, int options)
{
	WAIT_CHILD(WAIT_WAITPID, NEXT(waitpid)(process, status, options));
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	WAIT_CHILD(WAIT_WAIT3, NEXT(wait3)(status, options, usage));
}

EXPORT pid_t wait4(pid_t process, int *status, int options, struct rusage *usage)
{
	WAIT_CHILD(WAIT_WAIT4, NEXT(wait4)(process, status, options, usage));
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	struct wait_call c = {.base.op = WAIT_WAITID};
	int result;

	if (!ENTER(c))
		return NEXT(waitid)(type, id, info, options);
	result = NEXT(waitid)(type, id, info, options);
	c.answer = result == 0 && info ? info->si_pid : 0;
	door_leave(&c.base, error_of(result));
	return result;
}

__attribute__((constructor)) static void loaded(void)
{
	door_open(kymo_wait_start);
}
