/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for ROCm's runtimes: tables of their layout, registered through AMD's interface in the
 * style STYLE_LINKED, STYLE_WEAK or STYLE_DLOPEN. Built under the names of the real libraries.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_rocm.h"

typedef uint32_t (*import_fn)(void);
typedef int (*register_fn)(const char *, import_fn, uint32_t, void **, uint64_t, uint64_t *);

#if defined(STYLE_LINKED)
int rocprofiler_register_library_api_table(const char *, import_fn, uint32_t, void **, uint64_t,
					   uint64_t *);
static register_fn find(void)
{
	return rocprofiler_register_library_api_table;
}
#elif defined(STYLE_WEAK)
__attribute__((weak)) int rocprofiler_register_library_api_table(const char *, import_fn, uint32_t,
								 void **, uint64_t, uint64_t *);
static register_fn find(void)
{
	return rocprofiler_register_library_api_table;
}
#else
static register_fn find(void)
{
	void *library = dlopen("librocprofiler-register.so.0", RTLD_LAZY);

	return library ? (register_fn)dlsym(library, "rocprofiler_register_library_api_table")
		       : NULL;
}
#endif

uint32_t rocprofiler_register_import_hip(void);
uint32_t rocprofiler_register_import_hip(void)
{
	return 60000;
}

uint32_t rocprofiler_register_import_newlib(void);
uint32_t rocprofiler_register_import_newlib(void)
{
	return 10000;
}

/* What a function was called with comes back in `last`. */
static uint64_t last[16];

const uint64_t *fake_last(void)
{
	return last;
}

static int malloc_impl(void **ptr, size_t size)
{
	*ptr = (void *)0x1000;
	last[0] = size;
	return size ? 0 : 1; /* hipErrorInvalidValue */
}

struct dim3 {
	uint32_t x, y, z;
};

static int launch_impl(const void *function, struct dim3 blocks, struct dim3 threads, void **args,
		       size_t shared, void *stream)
{
	const uint64_t seen[] = {
		(uintptr_t)function, blocks.x,  blocks.y,        blocks.z, threads.x,
		threads.y,           threads.z, (uintptr_t)args, shared,   (uintptr_t)stream};

	memcpy(last, seen, sizeof(seen));
	return 0;
}

static int unknown_impl(uint64_t a, double b)
{
	last[0] = a;
	last[1] = (uint64_t)b;
	return 7;
}

static struct {
	uint64_t size;
	void *entries[FAKE_HIP_ENTRIES];
} hip;

static int mark_impl(const char *text)
{
	return 0;
}

static int depth;
static int push_impl(const char *text)
{
	return depth++;
}

static int pop_impl(void)
{
	return --depth;
}

static uint64_t start_impl(const char *text)
{
	return 77;
}

static void stop_impl(uint64_t id)
{
	last[0] = id;
}

static int tid_impl(uint64_t *tid)
{
	*tid = 4711;
	return 0;
}

static int number_impl(uint64_t n)
{
	return 0;
}

static int name_impl(const char *name, uint64_t what)
{
	return 0;
}

static struct {
	uint64_t size;
	void *entries[6];
} roctx_core = {sizeof(roctx_core),
		{mark_impl, push_impl, pop_impl, start_impl, stop_impl, tid_impl}};
static struct {
	uint64_t size;
	void *entries[2];
} roctx_control = {sizeof(roctx_control), {number_impl, number_impl}};
static struct {
	uint64_t size;
	void *entries[4];
} roctx_name = {sizeof(roctx_name), {name_impl, name_impl, name_impl, name_impl}};

static int init_impl(void)
{
	return 0;
}

static int allocate_impl(uint64_t pool, size_t size, uint32_t flags, void **ptr)
{
	*ptr = (void *)0x2000;
	last[0] = pool;
	return 0;
}

static uint64_t started;

static int sample_impl(uint64_t sampling)
{
	started = sampling;
	return 0;
}

struct version {
	uint32_t major, size, step, reserved;
};
static struct {
	struct version v;
	void *entries[125];
} hsa_core = {{2, sizeof(hsa_core), 0, 0}, {init_impl}};
static struct {
	struct version v;
	void *entries[71];
} hsa_amd = {{2, sizeof(hsa_amd), 4, 0}, {[13] = allocate_impl}};
/* The last of its tables, of another version than the first ones; those between are not there. */
static struct {
	struct version v;
	void *entries[7];
} hsa_sampling = {{1, sizeof(hsa_sampling), 0, 0}, {[4] = sample_impl}};
static struct {
	struct version v;
	void *tables[6];
} hsa = {{3, sizeof(hsa), 1, 0}, {&hsa_core, &hsa_amd, [5] = &hsa_sampling}};

void **fake_entries(const char *table)
{
	if (strcmp(table, "hip") == 0)
		return hip.entries;
	if (strcmp(table, "core") == 0)
		return roctx_core.entries;
	if (strcmp(table, "control") == 0)
		return roctx_control.entries;
	if (strcmp(table, "name") == 0)
		return roctx_name.entries;
	if (strcmp(table, "hsa_sampling") == 0)
		return hsa_sampling.entries;
	return strcmp(table, "hsa_core") == 0 ? hsa_core.entries : hsa_amd.entries;
}

int fake_register(const char *name, void **tables, uint64_t count, uint64_t *id)
{
	register_fn function = find();
	import_fn import = strcmp(name, "newlib") == 0 ? rocprofiler_register_import_newlib
			   : strcmp(name, "cuda") == 0 ? NULL
						       : rocprofiler_register_import_hip;

	return function ? function(name, import, 60000, tables, count, id) : FAKE_NO_LIBRARY;
}

int fake_register_hip(uint64_t *id)
{
	void *tables[] = {&hip};

	hip.size = sizeof(hip);
	hip.entries[FAKE_HIP_MALLOC] = malloc_impl;
	hip.entries[FAKE_HIP_LAUNCH] = launch_impl;
	hip.entries[FAKE_HIP_ENTRIES - 1] = unknown_impl;
	return fake_register("hip", tables, 1, id);
}

int fake_register_roctx(uint64_t *id)
{
	void *tables[] = {&roctx_core, &roctx_control, &roctx_name};

	return fake_register("roctx", tables, 3, id);
}

int fake_register_hsa(uint64_t *id)
{
	void *tables[] = {&hsa};

	return fake_register("hsa", tables, 1, id);
}

#ifdef IN_CONSTRUCTOR
__attribute__((constructor)) static void loaded(void)
{
	uint64_t id;

	fake_register_hip(&id);
}
#endif
