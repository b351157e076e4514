/* SPDX-License-Identifier: Apache-2.0 */
/* Finding what is on the tool's side; see find.h. */
#include "register/find.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *find_setting(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

bool find_switch(const char *name, bool otherwise)
{
	static const char *const no[] = {"0", "false", "off", "no", "n", "f"};
	const char *value = find_setting(name);

	if (!value)
		return otherwise;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strcasecmp(value, no[i]) == 0)
			return false;
	return true;
}

void *find_loaded(const char *symbol)
{
	void *found = dlsym(RTLD_DEFAULT, symbol);
	void *library;

	if (found)
		return found;
	/* It may have been loaded for itself alone, as the layer of some loader. */
	library = dlopen(FIND_TOOL_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	found = dlsym(library, symbol);
	dlclose(library);
	return found;
}

void *find_beside(void *address, const char *symbol)
{
	void *library, *found;
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname)
		return NULL;
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	found = dlsym(library, symbol);
	dlclose(library);
	return found;
}

static void *beside_this(const char *library)
{
	const char *base = strrchr(library, '/');
	char path[PATH_MAX];
	const char *slash;
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)find_library, &info) || !info.dli_fname)
		return NULL;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return NULL;
	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname,
		 base ? base + 1 : library);
	return dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
}

void *find_library(const char *library)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);

	if (!handle)
		handle = dlopen(library, RTLD_LAZY | RTLD_GLOBAL);
	return handle ? handle : beside_this(library);
}
