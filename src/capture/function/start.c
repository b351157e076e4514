/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning: once in a process, when the door's constructor runs or the first hook is called; and libraries that are opened later, of
 * which nothing is patched where a thread may be in them: before dlopen() returns, and only if their constructors have started none.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/locks.h"
#include "capture/function/patch.h"
#include "capture/function/returns.h"

enum { OPENING_SECONDS = 2 };

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

static unsigned running; /* threads, of which any may be in what is loaded */
static bool later;       /* the beginning is over */

static bool to_patch(const struct plan_module *m)
{
	for (uint64_t i = 0; i < m->functions; i++)
		if (function_plan.functions[m->first_function + i].how != PLAN_HOOK)
			return true;
	return false;
}

/* Of each module of the plan: what was last done is done. */
struct done {
	uintptr_t bias;
	bool is, loaded;
	bool left; /* nothing was done, for a reason */
};

static struct done *done;
static _Atomic bool awaited; /* some module was not loaded at some time: it may be opened */
/*
 * Held while a library is opened: others that open it wait until it is patched. A constructor that opens another one has the loader's lock,
 * which who has this one may wait for, so nobody waits for it long.
 */
static pthread_mutex_t opening = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static unsigned depth; /* openings inside each other, of who holds it */

static void patch(uintptr_t bias, const struct plan_module *m)
{
	const char *path = plan_string(&function_plan, m->path);

	if (function_has_slots(m))
		function_fill(bias, m);
	else if (of_ours(path))
		cap_note(2, "function", "functions of %s are not traced: Kymo calls them itself",
			 path);
	else if (running)
		cap_note(2, "function",
			 "functions of %s are not traced: a library has started %u threads %s",
			 path, running, later ? "when it was loaded" : "before");
	else
		function_patch(bias, m);
}

static bool is_done(const struct done *d, uintptr_t bias, const struct plan_module *m)
{
	return d->is && d->bias == bias && (d->left || !function_is_fresh(bias, m));
}

static void patch_once(uintptr_t bias, const struct plan_module *m)
{
	struct done *d = &done[m - function_plan.modules];

	d->loaded = true;
	if (!to_patch(m) || is_done(d, bias, m))
		return;
	*d = (struct done){.bias = bias, .is = true, .loaded = true};
	patch(bias, m);
	d->left = function_is_fresh(bias, m);
}

static void note_loaded(uintptr_t bias, const struct plan_module *m)
{
	done[m - function_plan.modules].loaded = true;
}

/* Looks at what is loaded. What was unloaded is patched again when it comes back. */
static void look(void (*fn)(uintptr_t bias, const struct plan_module *m))
{
	bool missing = false;

	for (uint64_t i = 0; i < function_plan.module_count; i++)
		done[i].loaded = false;
	function_modules_each(fn);
	for (uint64_t i = 0; i < function_plan.module_count; i++) {
		done[i].is = done[i].is && done[i].loaded;
		missing |= !done[i].loaded;
	}
	if (missing)
		atomic_store(&awaited, true);
}

static void start(void)
{
	const char *why = NULL;

	/* Who samples has to know it, from when it begins: by a signal, in the thread (core/unwind). */
	function_returns_usable(&why);
	cap_load();
	if (!function_describe())
		return;
	done = calloc(function_plan.module_count, sizeof(*done));
	if (!done)
		return;
	running = others();
	look(patch_once);
	later = true;
	started = true;
}

bool kymo_function_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;

	if (cap_futex_works())
		pthread_once(&once, start);
	errno = saved;
	return started;
}

static bool take_opening(void) UNCHECKED_LOCKS
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += OPENING_SECONDS;
	return pthread_mutex_timedlock(&opening, &until) == 0;
}

void kymo_function_unloaded(void) UNCHECKED_LOCKS
{
	int saved = errno;

	function_forget();
	if (take_opening()) {
		look(note_loaded);
		pthread_mutex_unlock(&opening);
	}
	errno = saved;
}

/* ---- libraries that are opened later ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folders of DT_RUNPATH are for names that the object itself asks for, those of DT_RPATH also for what these need; the program's are for all. */
static bool has_folders(const struct link_map *map, bool path)
{
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (path ? d->d_tag == DT_RPATH && *map->l_name
			 : d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH)
			return true;
	return false;
}

/* Our own folder, which the loader looks into where we ask. */
static bool lies_here(const char *file)
{
	static char path[1024]; /* by who holds the lock; too large for small stacks */
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)lies_here, &self) || !self.dli_fname)
		return true;
	snprintf(path, sizeof(path), "%.*s%s", (int)(base_name(self.dli_fname) - self.dli_fname),
		 self.dli_fname, file);
	return access(path, F_OK) == 0;
}

/* The loader finds the same whether the caller asks or we. */
static bool found_alike(const char *file, const void *caller)
{
	struct link_map *map = NULL;
	Dl_info info;

	return !strchr(file, '$') && dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) &&
	       map && !has_folders(map, strchr(file, '/') != NULL);
}

static bool is_planned(const char *file)
{
	for (uint64_t i = 0; i < function_plan.module_count; i++)
		if (strcmp(base_name(file),
			   base_name(plan_string(&function_plan, function_plan.modules[i].path))) ==
		    0)
			return true;
	return false;
}

/* Somebody opened it without our seeing it, and may be in it. */
static void note_missed(uintptr_t bias, const struct plan_module *m)
{
	struct done *d = &done[m - function_plan.modules];

	d->loaded = true;
	if (!to_patch(m) || is_done(d, bias, m))
		return;
	if (function_has_slots(m))
		function_fill(bias, m);
	else
		cap_note(2, "function",
			 "functions of %s are not traced: it was opened while others were",
			 plan_string(&function_plan, m->path));
	*d = (struct done){
		.bias = bias, .is = true, .loaded = true, .left = function_is_fresh(bias, m)};
}

/* Ours to open; the lock is held then. */
static bool take_file(const char *file, const void *caller) UNCHECKED_LOCKS
{
	if (!found_alike(file, caller)) {
		if (is_planned(file))
			cap_note(2, "function",
				 "functions of %s are not traced: who opens it has folders of its "
				 "own for libraries (DT_RUNPATH, DT_RPATH)",
				 file);
		return false;
	}
	if (!take_opening())
		return false;
	if (strchr(file, '/') || !lies_here(file))
		return true;
	pthread_mutex_unlock(&opening);
	return false;
}

bool kymo_function_open_begin(const char *file, const void *caller) UNCHECKED_LOCKS
{
	int saved = errno;
	bool ours = started && file && *file &&
		    atomic_load_explicit(&awaited, memory_order_relaxed) && take_file(file, caller);

	if (ours && depth++ == 0)
		look(note_missed);
	errno = saved;
	return ours;
}

void kymo_function_open_end(unsigned threads) UNCHECKED_LOCKS
{
	int saved = errno;

	if (--depth == 0) {
		running = threads;
		look(patch_once);
	}
	pthread_mutex_unlock(&opening);
	errno = saved;
}

void function_start_fork_child(void)
{
	opening = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	depth = 0;
}
