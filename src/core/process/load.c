/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library's constructor may use a runtime, or make a mark, before the loader has come to Kymo's
 * own constructors: ours run after those of whatever does not depend on us. Then whichever door is
 * first has the loader run them now.
 */

#include <dlfcn.h>
#include <errno.h>

#include "core/capture.h"
#include "core/process/ending.h"

static bool begun;

__attribute__((constructor(101))) static void begin(void)
{
	begun = true;
}

/* To open what is there already runs the constructors that have not run, and does nothing else. */
static void run_constructors_of(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
}

void cap_load(void)
{
	static _Atomic bool done;
	int saved = errno;
	Dl_info self;

	if (cap_likely(atomic_load_explicit(&done, memory_order_relaxed)) ||
	    atomic_exchange(&done, true))
		return;
	if (!begun && dladdr((void *)(uintptr_t)cap_load, &self) && self.dli_fname)
		run_constructors_of(self.dli_fname);
	if (!core_ending_armed()) /* the first thing that the preloaded library does */
		run_constructors_of("libkymo-inject.so");
	errno = saved;
}
