/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the functions that say how a signal is handled: a program that wants the one by which Kymo samples gets it
 * (core/sample/sample.h), before any of Kymo's can come to its handler or end it. What goes past them, by the system call, is seen
 * by the sampler later.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "core/sample/signal.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*handler_fn)(int number);

/* The next function of the name `what`: looked up while that is allowed; before, by who comes early. */
#define NEXT(type, what, parameters)                                                               \
	static type(*next_##what) parameters;                                                      \
                                                                                                   \
	__attribute__((constructor(102))) static void find_##what(void)                            \
	{                                                                                          \
		void *symbol = dlsym(RTLD_NEXT, #what);                                            \
                                                                                                   \
		memcpy(&next_##what, &symbol, sizeof(symbol));                                     \
	}

NEXT(int, sigaction, (int number, const struct sigaction *action, struct sigaction *old))

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	if (!next_sigaction)
		find_sigaction();
	if (!next_sigaction) {
		errno = ENOSYS;
		return -1;
	}
	if (kymo_sample_signal(number, action != NULL)) {
		if (old)
			memset(old, 0, sizeof(*old));
		return 0;
	}
	return next_sigaction(number, action, old);
}

#define STAND_BEFORE(what)                                                                         \
	NEXT(handler_fn, what, (int number, handler_fn handler))                                   \
                                                                                                   \
	EXPORT handler_fn what(int number, handler_fn handler)                                     \
	{                                                                                          \
		if (!next_##what)                                                                  \
			find_##what();                                                             \
		if (!next_##what) {                                                                \
			errno = ENOSYS;                                                            \
			return SIG_ERR;                                                            \
		}                                                                                  \
		kymo_sample_signal(number, true);                                                  \
		return next_##what(number, handler);                                               \
	}

extern handler_fn bsd_signal(int number, handler_fn handler);
extern handler_fn ssignal(int number, handler_fn handler);
extern handler_fn sysv_signal(int number, handler_fn handler);
extern handler_fn __sysv_signal(int number, handler_fn handler);
extern handler_fn sigset(int number, handler_fn handler);

STAND_BEFORE(signal)
STAND_BEFORE(bsd_signal)
STAND_BEFORE(ssignal)
STAND_BEFORE(sysv_signal)
STAND_BEFORE(__sysv_signal)
STAND_BEFORE(sigset)

NEXT(int, sigignore, (int number))

extern int sigignore(int number);

EXPORT int sigignore(int number)
{
	if (!next_sigignore)
		find_sigignore();
	if (!next_sigignore) {
		errno = ENOSYS;
		return -1;
	}
	kymo_sample_signal(number, true);
	return next_sigignore(number);
}
