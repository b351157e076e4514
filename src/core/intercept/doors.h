/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded libraries that stand before functions of the C library look up what comes after them the first time, which takes
 * the loader's lock. Kymo's threads may come to them before their constructors have run, while the thread that has
 * the lock waits for them. So before there is such a thread all of these libraries look up all of their functions.
 */
#ifndef CORE_INTERCEPT_DOORS_H
#define CORE_INTERCEPT_DOORS_H

#include <dlfcn.h>
#include <string.h>

#include <kymo/tool.h>

/* Each of these libraries defines kymo_door_find_NAME(), which looks up its functions and keeps errno; core calls those that are there. */
#define DOORS_EACH(X) X(function) X(heap) X(lock) X(posix) X(threads) X(wait)

#define DOORS_DECLARE(name) KYMO_EXPORT __attribute__((weak)) void kymo_door_find_##name(void);
DOORS_EACH(DOORS_DECLARE)

/* Has `f`, a pointer to a function, point to the next one of that name. */
#define DOORS_FIND(f, name)                                                                        \
	do {                                                                                       \
		void *symbol = dlsym(RTLD_NEXT, name);                                             \
		memcpy(&(f), &symbol, sizeof(f));                                                  \
	} while (0)

#endif
