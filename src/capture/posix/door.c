/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-posix.so: preloaded where the domain "posix" is named. It stands before the C library's functions of files and
 * sockets; what the C library calls inside its own functions does not come here, nor does what Kymo calls.
 */
#include <dlfcn.h>

#include "capture/posix/door.h"

posix_fn *_Atomic posix_next[FUNCTIONS];
_Thread_local uint32_t posix_inside __attribute__((tls_model("initial-exec")));
_Thread_local const void *posix_inside_sp __attribute__((tls_model("initial-exec")));
bool posix_started;

static const char names[FUNCTIONS][20] = {
#define FUNCTION(name) #name,
	POSIX_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

posix_fn *posix_find(enum posix_function f)
{
	int saved = errno;
	void *symbol = dlsym(RTLD_NEXT, names[f]);
	posix_fn *next;

	memcpy(&next, &symbol, sizeof(next));
	atomic_store_explicit(&posix_next[f], next, memory_order_relaxed);
	errno = saved;
	return next;
}

__attribute__((constructor)) static void loaded(void)
{
	int saved = errno;

	/* Now, and not first in a signal's handler. */
	for (unsigned f = 0; f < FUNCTIONS; f++)
		posix_find((enum posix_function)f);
	own_code_find();
	posix_inside = 1;
	posix_inside_sp = cap_sp();
	posix_started = kymo_posix_start();
	posix_inside = 0;
	errno = saved;
}
