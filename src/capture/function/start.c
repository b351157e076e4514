/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning: once in a process, when the door's constructor runs or the first hook is called. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "capture/function/patch.h"
#include "capture/function/returns.h"

static bool started;

/* What Kymo itself calls while it records is not patched. */
static bool of_ours(const char *path)
{
	static const char *const names[] = {"libkymo", "ld-linux",   "ld-2.", "libc.so",
					    "libc-2.", "libpthread", "libdl", "libgcc_s"};
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Threads other than this one and Kymo's own, which are named after it. */
static unsigned others(void)
{
	char path[300], name[32];
	DIR *tasks = opendir("/proc/self/task");
	unsigned count = 0;

	for (struct dirent *e; tasks && (e = readdir(tasks));) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (f && fgets(name, sizeof(name), f) && strncmp(name, "kymo", 4) != 0)
			count++;
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return count ? count - 1 : 0;
}

static unsigned running;

static bool to_patch(const struct plan_module *m)
{
	for (uint64_t i = 0; i < m->functions; i++)
		if (function_plan.functions[m->first_function + i].how != PLAN_HOOK)
			return true;
	return false;
}

static void patch(uintptr_t bias, const struct plan_module *m)
{
	const char *path = plan_string(&function_plan, m->path);

	if (function_has_slots(m)) {
		function_fill(bias, m);
		return;
	}
	if (!to_patch(m))
		return;
	if (of_ours(path))
		cap_note(2, "function", "functions of %s are not traced: Kymo calls them itself",
			 path);
	else if (running)
		cap_note(2, "function",
			 "functions of %s are not traced: a library has started %u threads before",
			 path, running);
	else
		function_patch(bias, m);
}

static void start(void)
{
	const char *why = NULL;

	cap_load();
	if (!function_describe())
		return;
	function_returns_usable(&why);
	running = others();
	function_modules_each(patch);
	started = true;
}

bool kymo_function_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;

	pthread_once(&once, start);
	errno = saved;
	return started;
}

void kymo_function_unloaded(void)
{
	function_forget();
}
