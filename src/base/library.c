/* SPDX-License-Identifier: Apache-2.0 */
/* See library.h. */
#include "base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { LIBRARY_WHAT = LIBRARY_WHY - 40 };

static void *open_first(const char *const *names, char what[LIBRARY_WHAT])
{
	const char *why = NULL;
	void *handle;
	bool gone;

	for (unsigned i = 0; names[i]; i++) {
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (handle)
			return handle;
		why = dlerror();
		gone = !why || (strncmp(why, names[i], strlen(names[i])) == 0 &&
				strstr(why, "No such file"));
		why = gone ? NULL : why; /* it is damaged, or lacks another library */
		if (why)
			break;
	}
	snprintf(what, LIBRARY_WHAT, "%s%s", why ? why : names[0], why ? "" : " was not found");
	return NULL;
}

static bool fail(char why[LIBRARY_WHY], const char *package, const char *what)
{
	if (package)
		snprintf(why, LIBRARY_WHY, "%s (Debian: %s)", what, package);
	else
		snprintf(why, LIBRARY_WHY, "%s", what);
	return false;
}

bool library_find(const char *const *names, const char *package,
		  const struct library_function *functions, size_t count, void *out,
		  char why[LIBRARY_WHY])
{
	char what[LIBRARY_WHAT];
	void *handle = open_first(names, what), *f;

	if (!handle)
		return fail(why, package, what);
	for (size_t i = 0; i < count; i++) {
		f = dlsym(handle, functions[i].name);
		memcpy((char *)out + functions[i].offset, &f, sizeof(f));
		if (!f && !functions[i].optional) {
			snprintf(what, sizeof(what), "%s is too old: it has no function %s",
				 names[0], functions[i].name);
			dlclose(handle);
			return fail(why, package, what);
		}
	}
	return true;
}
