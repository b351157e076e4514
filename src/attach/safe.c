/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a stopped thread is (parts.h): its stack is unwound from outside by the call frame information of what the
 * process has loaded. A thread that allocates memory, loads a library, forks, or ends has locks that
 * pthread_create() may need, or is changing what that reads.
 */
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/parts.h"

enum { FRAMES = 256 };

struct safe {
	Dwfl *dwfl;
	const char *exe;
};

/* What is stripped stays so: nothing is looked for while a thread is stopped. */
static int no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **found)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = no_debuginfo,
};

/* The functions that matter are in the C library; or the program has an allocator of its own. */
static bool has_functions(const struct safe *s, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && (strncmp(slash, "/libc.so.6", 10) == 0 || strcmp(path, s->exe) == 0);
}

/* Tables are read before anybody is stopped. */
static int read_table(Dwfl_Module *m, void **user, const char *path, Dwarf_Addr start, void *data)
{
	Dwarf_Addr bias;

	dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, &path, NULL);
	if (path && has_functions(data, path))
		dwfl_module_getsymtab(m);
	dwfl_module_eh_cfi(m, &bias);
	return DWARF_CB_OK;
}

struct safe *safe_open(const struct attach_target *t)
{
	struct safe *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->exe = t->exe;
	s->dwfl = dwfl_begin(&callbacks);
	if (s->dwfl && dwfl_linux_proc_report(s->dwfl, t->pid) == 0 &&
	    dwfl_report_end(s->dwfl, NULL, NULL) == 0 &&
	    dwfl_linux_proc_attach(s->dwfl, t->pid, true) == 0) {
		dwfl_getmodules(s->dwfl, read_table, s, 0);
		return s;
	}
	safe_close(s);
	return NULL;
}

void safe_close(struct safe *s)
{
	if (s && s->dwfl)
		dwfl_end(s->dwfl);
	free(s);
}

/* Libraries in which no thread may be stopped; the dynamic linker, and who takes the allocator's place. */
static bool is_unsafe_library(const char *path)
{
	static const char *const names[] = {"ld-linux",     "ld64.so",     "libjemalloc",
					    "libtcmalloc",  "libmimalloc", "libhoard",
					    "libtbbmalloc", "libasan",     "libtsan"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_unsafe_function(const char *name)
{
	static const char *const names[] = {"malloc",
					    "free",
					    "calloc",
					    "realloc",
					    "reallocarray",
					    "memalign",
					    "posix_memalign",
					    "aligned_alloc",
					    "valloc",
					    "pvalloc",
					    "cfree",
					    "malloc_trim",
					    "malloc_info",
					    "mallinfo",
					    "mallinfo2",
					    "malloc_stats",
					    "mallopt",
					    "fork",
					    "_Fork",
					    "__fork",
					    "vfork",
					    "__vfork",
					    "posix_spawn",
					    "posix_spawnp",
					    "system",
					    "popen",
					    "dlopen",
					    "dlmopen",
					    "dlclose",
					    "dlsym",
					    "dlvsym",
					    "dlerror",
					    "dladdr",
					    "dladdr1",
					    "dlinfo",
					    "dl_iterate_phdr",
					    "pthread_create",
					    "pthread_exit",
					    "pthread_atfork",
					    "exit",
					    "quick_exit",
					    "_exit",
					    "__cxa_finalize",
					    "__tls_get_addr",
					    "__libc_freeres",
					    "execve",
					    "execv",
					    "execvp",
					    "pthread_getattr_np"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

struct look {
	const struct safe *safe;
	char *where;
	size_t size;
	unsigned frames;
	bool unsafe;
};

static int look_at_frame(Dwfl_Frame *frame, void *data)
{
	struct look *l = data;
	const char *path = NULL, *name = NULL;
	bool activation = false;
	Dwarf_Addr pc;
	Dwfl_Module *m;

	if (!dwfl_frame_pc(frame, &pc, &activation) || l->frames++ == FRAMES)
		return DWARF_CB_ABORT;
	/* A return address is after the call, perhaps of another function. */
	m = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(frame)), activation ? pc : pc - 1);
	if (!m)
		return DWARF_CB_OK;
	dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, &path, NULL);
	if (path && has_functions(l->safe, path))
		name = dwfl_module_addrname(m, activation ? pc : pc - 1);
	l->unsafe = (path && is_unsafe_library(path)) || (name && is_unsafe_function(name));
	if (l->unsafe)
		snprintf(l->where, l->size, "%s", name ? name : path);
	return l->unsafe ? DWARF_CB_ABORT : DWARF_CB_OK;
}

bool safe_here(struct safe *s, pid_t tid, char *where, size_t size)
{
	struct look l = {s, where, size, 0, false};

	dwfl_getthread_frames(s->dwfl, tid, look_at_frame, &l);
	if (!l.frames)
		snprintf(where, size, "a place from which its stack cannot be followed");
	return l.frames && !l.unsafe;
}
