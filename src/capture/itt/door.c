/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for ITT: a static part lies in each program and library that was built with it. At its
 * first annotation it loads the library that INTEL_LIBITTNOTIFY64 names and hands it the list of its
 * functions, by name and place.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include <kymo/status.h>

#include "capture/itt/itt.h"
#include "core/capture.h"

#define PREFIX        "__itt_"
#define BUILD_OLDEST  20101001ul /* until then entries had no `otherwise` */
#define FUNCTIONS_MAX 4096u

/* __itt_api_info */
struct itt_entry {
	const char *name;
	void **place;
	void *first;     /* what is in the place before */
	void *otherwise; /* what a collector that lacks the function puts there */
	int group;
};

/* The head of __itt_global, which is the same in all versions since. */
struct itt_global {
	unsigned char magic[8];
	unsigned long major, minor, build;
	long initialized, mutex_initialized, counter;
	char mutex[40]; /* pthread_mutex_t */
	void *library;
	void *error_handler;
	const char **path;
	struct itt_entry *functions; /* until name NULL */
	void *next;
	void *threads;
	struct itt_domain *domains;
	struct itt_string *strings;
};

static const unsigned char magic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};

KYMO_EXPORT void __itt_api_init(struct itt_global *global, int groups);

struct wanted {
	const char *name;
	itt_function *function;
};

static void compare(void *data, const char *name, itt_function *function)
{
	struct wanted *w = data;

	if (strcmp(name, w->name) == 0)
		w->function = function;
}

static void *find_function(const char *name)
{
	struct wanted w = {name, NULL};

	if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
		w.name += strlen(PREFIX);
	itt_object_functions(compare, &w);
	itt_task_functions(compare, &w);
	itt_metadata_functions(compare, &w);
	itt_counter_functions(compare, &w);
	itt_sync_functions(compare, &w);
	return (void *)(uintptr_t)w.function;
}

/* LLVM's and Intel's OpenMP tell ITT what they tell OMPT, and OMPT's is the whole of it. */
static bool is_openmp(const struct itt_global *global)
{
	const char *name;
	Dl_info info;

	if (!dladdr(global, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	return strncmp(name, "libomp", 6) == 0 || strncmp(name, "libiomp", 7) == 0;
}

/* Once for each static part, which holds its own lock meanwhile. */
void __itt_api_init(struct itt_global *global, int groups)
{
	int saved = errno;
	bool ours;

	if (!global || memcmp(global->magic, magic, sizeof(magic)) != 0 || !global->functions)
		return;
	if (global->build <= BUILD_OLDEST) {
		cap_note(2, "itt", "annotations of ITT %lu.%lu.%lu are not recorded: it is too old",
			 global->major, global->minor, global->build);
		return;
	}
	ours = !is_openmp(global);
	if (ours)
		itt_adopt(global->domains, global->strings);
	for (unsigned i = 0; i < FUNCTIONS_MAX && global->functions[i].name; i++) {
		struct itt_entry *e = &global->functions[i];
		void *function = ours ? find_function(e->name) : NULL;

		if (e->place)
			*e->place = function ? function : e->otherwise;
	}
	errno = saved;
}
