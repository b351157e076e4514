/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the library that is always preloaded: where a file was instrumented, the library that traces functions is loaded, if the launcher has
 * not preloaded it: who is started by what the launcher starts has not been looked at.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "capture/function/note.h"

static int find(struct dl_phdr_info *o, size_t size, void *data)
{
	struct plan_note note;

	return function_note_of_plan(o, &note);
}

static void load(void)
{
	static char path[PATH_MAX]; /* too large for small stacks */
	const char *slash;
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)load, &self) || !self.dli_fname ||
	    !(slash = strrchr(self.dli_fname, '/')))
		return;
	snprintf(path, sizeof(path), "%.*s/libkymo-function.so", (int)(slash - self.dli_fname),
		 self.dli_fname);
	dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

__attribute__((constructor)) static void on_load(void)
{
	int saved = errno;

	if (dl_iterate_phdr(find, NULL))
		load();
	errno = saved;
}
