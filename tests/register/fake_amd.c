/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for AMD's own register library, as far as a profiler notices: it looks for one only
 * when it is told to, by the symbols of the whole program first and by name then, once; it knows a
 * closed list of names and eight instances of each; and it ends the program when the profiler that
 * it was told of has no entry.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*set_fn)(const char *, uint64_t, uint64_t, void **, uint64_t);

static const char *const names[] = {"hsa",  "hip",       "roctx",  "hip_compiler",
				    "rccl", "rocdecode", "rocjpeg"};
static unsigned instances[7];

static int true_setting(const char *name, int otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strcmp(value, "0") != 0 : otherwise;
}

static int filled(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static int tool_present(void)
{
	return dlsym(RTLD_DEFAULT, "rocprofiler_configure") ||
	       true_setting("ROCPROFILER_REGISTER_FORCE_LOAD",
			    filled("ROCPROFILER_REGISTER_LIBRARY") ||
				    filled("ROCP_TOOL_LIBRARIES"));
}

static void *entry(void)
{
	const char *library = getenv("ROCPROFILER_REGISTER_LIBRARY");
	void *symbol = dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table"), *handle;

	if (symbol)
		return symbol;
	handle = dlopen(library && *library ? library : "librocprofiler-sdk.so",
			RTLD_GLOBAL | RTLD_LAZY);
	return handle ? dlsym(handle, "rocprofiler_set_api_table") : NULL;
}

static set_fn profiler(void)
{
	static set_fn found;
	static int looked;
	void *symbol;

	if (looked)
		return found;
	looked = 1;
	if (!tool_present())
		return NULL;
	symbol = entry();
	if (!symbol)
		abort();
	memcpy(&found, &symbol, sizeof(found));
	return found;
}

int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
					   uint32_t version, void **tables, uint64_t count,
					   uint64_t *id)
{
	set_fn set = profiler();

	if (count < 1)
		return 3;
	for (unsigned i = 0; i < 7; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		if (instances[i] == 8)
			return 7;
		*id = 8 * i + instances[i];
		if (!set)
			return 1;
		return set(name, version, instances[i]++, tables, count) ? 6 : 0;
	}
	return 4;
}
