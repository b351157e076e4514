/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preloaded library that stands before functions of the C library: what comes after it, and who is recorded. Each library
 * has these of its own; its list of functions is X(name) of each:
 *
 *	#define DOOR_FUNCTIONS(X) X(read) X(write)
 *	#include "core/intercept/libc_door.h"
 *	DOOR_STATE(posix)			// in one of its files; the name is of doors.h
 *	EXPORT ssize_t read(...) { ... NEXT(read)(...) ... }
 */
#ifndef CORE_INTERCEPT_LIBC_DOOR_H
#define CORE_INTERCEPT_LIBC_DOOR_H

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/own_code.h"
#include "core/intercept/doors.h"
#include "core/intercept/libc_call.h"

#define EXPORT  __attribute__((visibility("default")))
#define HIDDEN  __attribute__((visibility("hidden"))) /* found without a table of addresses */
#define OWN_TLS _Thread_local __attribute__((tls_model("initial-exec")))

enum door_function { /* FUNCTION_name is its number */
#define FUNCTION(name) FUNCTION_##name,
		     DOOR_FUNCTIONS(FUNCTION)
#undef FUNCTION
			     FUNCTIONS
};

typedef void door_fn(void);

extern HIDDEN door_fn *_Atomic door_next[FUNCTIONS];
extern HIDDEN struct libc_domain *door_domain; /* NULL: nothing is recorded */

/* Whose call the thread is in this library for; a handler may have interrupted it. */
enum { DOOR_INSIDE = 1, DOOR_VFORKED = 2 /* it has the memory of the parent of a vfork() */ };
extern HIDDEN OWN_TLS uint32_t door_inside;
extern HIDDEN OWN_TLS const void *door_inside_sp;

/* The next definition of a function, looked up the first time. Keeps errno. */
HIDDEN door_fn *door_find(enum door_function f);

static inline door_fn *door_next_of(enum door_function f)
{
	door_fn *next = atomic_load_explicit(&door_next[f], memory_order_relaxed);

	return cap_likely(next != NULL) ? next : door_find(f);
}

#define NEXT(name) ((__typeof__(&(name)))door_next_of(FUNCTION_##name))

static inline bool door_enter(struct libc_call *c, const void *caller, const void *sp)
{
	bool entered;

	if (!door_domain || own_code_has(caller))
		return false;
	/* One that was left by longjmp() is above no stack. */
	if (cap_unlikely(door_inside) &&
	    (door_inside == DOOR_VFORKED || (const char *)sp < (const char *)door_inside_sp)) {
		if (door_inside != DOOR_VFORKED)
			kymo_libc_passed(door_domain);
		return false;
	}
	door_inside = DOOR_INSIDE;
	door_inside_sp = sp;
	entered = kymo_libc_enter(door_domain, c, caller, sp);
	door_inside = 0;
	return entered;
}

/* `error`: errno's number, 0: it succeeded. */
static inline void door_leave(struct libc_call *c, int error)
{
	door_inside = DOOR_INSIDE;
	door_inside_sp = cap_sp();
	kymo_libc_leave(door_domain, c, error);
	door_inside = 0;
}

/* Of the calling function. */
#define ENTER(c) door_enter(&(c).base, __builtin_return_address(0), cap_sp())

/* In the library's constructor: finds all functions now, and not first in a signal's handler. */
static inline void door_open(struct libc_domain *(*start)(void))
{
	const int saved = errno;

	for (unsigned f = 0; f < FUNCTIONS; f++)
		door_find((enum door_function)f);
	own_code_find();
	door_inside = DOOR_INSIDE;
	door_inside_sp = cap_sp();
	door_domain = start();
	door_inside = 0;
	errno = saved;
}

/* Conditions have two kinds that do not go together; the older one is for programs of before 2003. */
#define DOOR_STATE(library)                                                                        \
	door_fn *_Atomic door_next[FUNCTIONS];                                                     \
	struct libc_domain *door_domain;                                                           \
	OWN_TLS uint32_t door_inside;                                                              \
	OWN_TLS const void *door_inside_sp;                                                        \
                                                                                                   \
	void kymo_door_find_##library(void)                                                        \
	{                                                                                          \
		for (unsigned f = 0; f < FUNCTIONS; f++)                                           \
			door_find((enum door_function)f);                                          \
	}                                                                                          \
                                                                                                   \
	door_fn *door_find(enum door_function f)                                                   \
	{                                                                                          \
		static const char names[FUNCTIONS][28] = {DOOR_FUNCTIONS(DOOR_NAME)};              \
		const int saved = errno;                                                           \
		void *symbol = strncmp(names[f], "pthread_cond_", 13) == 0                         \
				       ? dlvsym(RTLD_NEXT, names[f], "GLIBC_2.3.2")                \
				       : NULL;                                                     \
		door_fn *next;                                                                     \
                                                                                                   \
		if (!symbol)                                                                       \
			symbol = dlsym(RTLD_NEXT, names[f]);                                       \
		memcpy(&next, &symbol, sizeof(next));                                              \
		atomic_store_explicit(&door_next[f], next, memory_order_relaxed);                  \
		errno = saved;                                                                     \
		return next;                                                                       \
	}
#define DOOR_NAME(name) #name,

#endif
