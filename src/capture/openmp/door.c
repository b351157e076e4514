/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for OpenMP: a runtime that has OMPT asks for a tool when it starts, in its program and then
 * in the libraries that OMP_TOOL_LIBRARIES names. It takes one tool only. Of its callbacks only
 * those are asked for that somebody wants; what is not called costs nothing.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/tool.h>

#include "capture/openmp/openmp.h"

KYMO_EXPORT struct omp_tool *ompt_start_tool(unsigned omp_version, const char *runtime_version);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static omp_set_callback set_callback; /* under `lock`; NULL before and after the runtime's life */
static bool registered[OMP_EVENTS];
static struct cap_domain *domain;

/* Device work is told by target callbacks, whoever wants to hear of it. */
static bool wanted_callback(const struct omp_callback *c, bool target, uint32_t activities)
{
	const uint32_t device = CAP_ACTIVITY_DISPATCH | CAP_ACTIVITY_COPY | CAP_ACTIVITY_ALLOCATION;

	if (target && (activities & device))
		return true;
	for (unsigned i = 0; c->ops[i] != OMP_OP_COUNT; i++)
		if (omp_wanted(c->ops[i]))
			return true;
	return false;
}

/* Callbacks are only ever added: a begin without its end would be worse than one that is not wanted. */
static void request_callbacks(const struct omp_callback *list, bool target, uint32_t activities)
{
	for (const struct omp_callback *c = list; c->event; c++) {
		if (registered[c->event] || !wanted_callback(c, target, activities))
			continue;
		registered[c->event] = set_callback(c->event, c->function) > OMP_SET_NEVER;
	}
}

static void wanted(uint32_t activities)
{
	pthread_mutex_lock(&lock);
	if (set_callback) {
		request_callbacks(omp_host_callbacks, false, activities);
		request_callbacks(omp_target_callbacks, true, activities);
	}
	pthread_mutex_unlock(&lock);
}

/* libomptarget finds OMPT by opening "libomp.so", which not every installation has by that name. */
static int find_offload(struct dl_phdr_info *object, size_t size, void *found)
{
	if (object->dlpi_name && strstr(object->dlpi_name, "/libomptarget.so"))
		*(bool *)found = true;
	return 0;
}

static void flush(uint64_t deadline)
{
	static _Atomic bool told;
	bool offload = false;

	omp_device_flush();
	dl_iterate_phdr(find_offload, &offload);
	if (offload && !omp_device_any() && !atomic_exchange(&told, true))
		cap_note(2, "openmp",
			 "libomptarget has reported no devices: it looks for OMPT "
			 "in a library named libomp.so; put the folder that has it into "
			 "LD_LIBRARY_PATH");
}

/* ---- runtimes that never asked ---- */

static _Atomic bool asked; /* some runtime has taken us */

enum { RUNTIME_GCC = 1, RUNTIME_LLVM = 2 };

static int find_runtime(struct dl_phdr_info *object, size_t size, void *found)
{
	const char *name = object->dlpi_name ? object->dlpi_name : "";

	if (strstr(name, "/libgomp.so"))
		*(int *)found |= RUNTIME_GCC;
	if (strstr(name, "/libomp.so") || strstr(name, "/libiomp5.so"))
		*(int *)found |= RUNTIME_LLVM;
	return 0;
}

static int at_start; /* runtimes that the program itself is linked with, directly or not */

/*
 * Said where something else was recorded, so that nobody looks for it in vain. Of GCC's only where it
 * is the program's own: interpreters load it later with packages whose users never think of it.
 */
static void say_missing(void)
{
	int saved = errno, found = 0;

	if (cap_wants(UINT32_MAX))
		dl_iterate_phdr(find_runtime, &found);
	if (found & at_start & RUNTIME_GCC)
		cap_note(1, "openmp",
			 "GCC's OpenMP runtime (libgomp) has no tools interface: its "
			 "regions are not recorded; clang's has one");
	if ((found & RUNTIME_LLVM) && !atomic_load(&asked))
		cap_note(1, "openmp",
			 "an OpenMP runtime was loaded and not recorded: it was not used, "
			 "or another tool has the only place, or OMP_TOOL is disabled");
	errno = saved;
}

/* Exit handlers run before core lets go of the process. */
__attribute__((constructor)) static void prepare(void)
{
	dl_iterate_phdr(find_runtime, &at_start);
	atexit(say_missing);
}

static void fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	omp_device_fork_child();
}

CAP_KNOWN_DOMAIN(openmp, packed_describe(OMP_PACKED, 0));

static const struct cap_domain_info info = {.packed = OMP_PACKED,
					    .ops = omp_ops,
					    .wanted = wanted,
					    .flush = flush,
					    .fork_child = fork_child};

static int initialize(omp_lookup lookup, int initial_device, union omp_data *tool)
{
	omp_function set = lookup("ompt_set_callback");
	int saved = errno;

	pthread_mutex_lock(&lock);
	memcpy(&set_callback, &set, sizeof(set));
	memset(registered, 0, sizeof(registered));
	pthread_mutex_unlock(&lock);
	omp_desc = packed_describe(OMP_PACKED, 0);
	if (!set || !omp_desc || (!domain && cap_domain_register(&info, &domain) != KYMO_OK))
		return 0;
	wanted(atomic_load(&cap_activities));
	atomic_store(&asked, true);
	errno = saved;
	return 1;
}

static void finalize(union omp_data *tool)
{
	pthread_mutex_lock(&lock);
	set_callback = NULL;
	pthread_mutex_unlock(&lock);
}

/* The user's own tools stand before us in the list: when we are asked, none of them wanted to be it. */
struct omp_tool *ompt_start_tool(unsigned omp_version, const char *runtime_version)
{
	static struct omp_tool us = {initialize, finalize, {0}};

	return &us;
}
