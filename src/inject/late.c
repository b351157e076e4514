/* SPDX-License-Identifier: Apache-2.0 */
/* See late.h. */
#include "inject/late.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf.h"
#include "base/variables.h"
#include "inject/places.h"

enum { DOORS = 16, PATH_SIZE = 1024 };

/* Libraries that export functions which stand before those of others; this one is the first. */
static struct door {
	void *handle;
	ElfW(Addr) base;
} doors[DOORS];
static unsigned door_count;

struct missed {
	char *text;
	size_t size;
};

static void add_missed(const struct missed *m, const char *format, ...)
{
	size_t n = strlen(m->text);
	va_list args;

	va_start(args, format);
	vsnprintf(m->text + n, m->size - n, format, args);
	va_end(args);
	n = strlen(m->text);
	snprintf(m->text + n, m->size - n, "\n");
}

/* ---- doors ----------------------------------------------------------------------------------- */

static void add_door(void *handle)
{
	struct link_map *map = NULL;

	if (!handle || door_count == DOORS || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return;
	doors[door_count++] = (struct door){handle, map->l_addr};
}

static void *own_handle(void)
{
	Dl_info self;

	return dladdr((void *)(uintptr_t)late_enter, &self)
		       ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)
		       : NULL;
}

static bool begins_with(const char *path, const void *library)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, library, strlen(library)) == 0;
}

/* By a function that it has. */
static bool is_loaded(const char *library, const char *function)
{
	void *found;

	return elf_find_in(begins_with, library, function, &found, 1) > 0;
}

/* OCCA's door takes a kilobyte of what the loader has spare for each thread: it is for programs that use OCCA. */
static bool is_of_use(const char *door)
{
	return !strstr(door, "/libkymo-occa.so") ||
	       is_loaded("libocca", "occaCreateDeviceFromString");
}

static void open_door(const char *path, const struct missed *m)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		add_missed(m, "%s cannot be loaded: %s", path, dlerror());
	add_door(handle);
}

/* What the launcher would have preloaded, but for what is here already. */
static void open_preloaded(const struct missed *m)
{
	const char *list = variable("LD_PRELOAD");
	char path[PATH_SIZE];

	while (list && *list) {
		size_t n = strcspn(list, ": ");

		snprintf(path, sizeof(path), "%.*s", (int)n, list);
		if (strstr(path, "/libkymo-") && !strstr(path, "/libkymo-inject.so") &&
		    is_of_use(path))
			open_door(path, m);
		list += n + (list[n] != '\0');
	}
}

static void *door_function(const char *name, void *data)
{
	for (unsigned i = 0; i < door_count; i++) {
		void *found = dlsym(doors[i].handle, name);
		struct link_map *map = NULL;
		Dl_info in;

		if (found && dladdr1(found, &in, (void **)&map, RTLD_DL_LINKMAP) && map &&
		    map->l_addr == doors[i].base)
			return found;
	}
	return NULL;
}

/* ---- runtimes that come to their tools, once ------------------------------------------------- */

/* The layer's functions, by way of the door for loaders that know no layers. */
static void enter_opencl(const struct missed *m)
{
	const char *layer = variable("OPENCL_LAYERS"), *end = layer;
	char path[PATH_SIZE];

	for (const char *p = layer; p && (p = strstr(p, "/libkymo.so")); p++)
		end = p;
	if (!layer || end == layer || !is_loaded("libOpenCL.so", "clGetPlatformIDs"))
		return;
	while (layer < end && memchr(layer, ':', (size_t)(end - layer)))
		layer = (const char *)memchr(layer, ':', (size_t)(end - layer)) + 1;
	snprintf(path, sizeof(path), "%.*s/libkymo-opencl-preload.so", (int)(end - layer), layer);
	open_door(path, m);
	add_missed(m, "OpenCL: queues that are there already have no device times unless the "
		      "program asked for them; what devices, contexts, queues, buffers and kernels "
		      "made before are is known as far as the runtime tells");
}

static void enter_cuda(const struct missed *m)
{
	const char *path = variable("CUDA_INJECTION64_PATH");
	void *kymo, *found;
	int (*begin)(void);

	if (!path || !strstr(path, "/libkymo") || !is_loaded("libcuda.so", "cuInit"))
		return;
	kymo = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	found = kymo ? dlsym(kymo, "InitializeInjection") : NULL;
	memcpy(&begin, &found, sizeof(begin));
	if (!begin || begin() != 1)
		add_missed(m, "CUDA: CUPTI could not be started late; `kymo info` of the trace "
			      "tells why");
	else
		add_missed(m, "CUDA: contexts, streams, graphs and memory that were made before "
			      "are known by their numbers alone");
}

static void tell_mpi(const struct missed *m)
{
	const char *preloaded = variable("LD_PRELOAD");

	if (preloaded && strstr(preloaded, "/libkymo-mpi.so") && is_loaded("libmpi", "PMPI_Init"))
		add_missed(m,
			   "MPI: clocks of ranks are not compared; requests that are under way and "
			   "communicators that were made are known as far as MPI tells");
}

/* What a runtime asks for when it begins, and never again. */
static const struct late {
	const char *variable, *library, *function, *text;
} late[] = {
	{"OMP_TOOL_LIBRARIES", "libomp.so", "omp_get_num_threads",
	 "OpenMP: its runtime asks for tools once, when it begins: regions and tasks"},
	{"OMP_TOOL_LIBRARIES", "libiomp5.so", "omp_get_num_threads",
	 "OpenMP: its runtime asks for tools once, when it begins: regions and tasks"},
	{"OMP_TOOL_LIBRARIES", "libgomp.so", "omp_get_num_threads",
	 "OpenMP: GCC's runtime has no interface for tools: regions and tasks"},
	{"KOKKOS_TOOLS_LIBS", "libkokkoscore.so", "kokkosp_init_library",
	 "Kokkos: it looks for tools once, when it begins: kernels and regions"},
	{NULL, "libze_loader.so", "zeInit",
	 "Level Zero: its loader makes its tables once: calls and kernels"},
	{NULL, "libamdhip64.so", "hipInit",
	 "HIP and HSA: they hand their tables over once, when they are loaded: calls and kernels"},
	{"NVTX_INJECTION64_PATH", "libnvToolsExt.so", "nvtxRangePushA",
	 "NVTX: it looks for who listens once, at the first annotation: marks and ranges"},
};

static void tell_late(const struct missed *m)
{
	const char *before = "";

	for (size_t i = 0; i < sizeof(late) / sizeof(*late); i++) {
		if (late[i].variable && !variable(late[i].variable))
			continue;
		if (strcmp(late[i].text, before) == 0 ||
		    !is_loaded(late[i].library, late[i].function))
			continue;
		before = late[i].text;
		add_missed(m, "%s", before);
	}
}

void late_enter(char *text, size_t size)
{
	struct missed m = {text, size};
	int saved = errno;

	text[0] = '\0';
	add_door(own_handle());
	open_preloaded(&m);
	enter_opencl(&m);
	places_enter(door_function, NULL);
	enter_cuda(&m);
	tell_mpi(&m);
	tell_late(&m);
	errno = saved;
}

bool late_enter_more(void)
{
	int saved = errno;
	bool changed = places_changed();

	if (changed)
		places_enter(door_function, NULL);
	errno = saved;
	return changed;
}

void late_leave(void)
{
	places_restore();
}
