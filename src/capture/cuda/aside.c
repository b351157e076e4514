/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only one user of CUPTI is possible in a process, and the program, or a tool that the user runs it
 * under, comes first. How it is known:
 *
 * - libkymo-exports.so stands before the functions by which CUPTI is taken
 * (capture/exports/cupti.c);
 * - NVIDIA's profilers leave their settings in the environment of what they run;
 * - CUPTI's static library, which nobody can stand before, leaves its names in the file's symbols;
 * - ncu refuses to run what finds CUDA_INJECTION64_PATH set: Kymo takes it back in ncu's process.
 *
 * Where none of this tells, CUPTI itself refuses whoever comes second.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/elf_file.h"
#include "capture/cuda/backend.h"
#include "capture/cuda/cupti_find.h"

static _Atomic bool taken; /* by the program, and Kymo has left */
static char who[256];      /* valid once taken */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void kymo_cuda_aside(const char *function, const void *caller)
	__attribute__((visibility("default")));

/* ---- by a call ---- */

static void leave_to(const char *function, const void *caller)
{
	const char *name = NULL;
	Dl_info info;

	if (dladdr(caller, &info) && info.dli_fname) {
		name = strrchr(info.dli_fname, '/');
		name = name ? name + 1 : info.dli_fname;
	}
	snprintf(who, sizeof(who), "%.128s of this program uses it itself (%.64s)",
		 name && *name ? name : "a library", function);
	if (cuda_leave())
		cap_note(2, "cuda",
			 "CUDA is not traced from here on: only one tool can use CUPTI, "
			 "and %s",
			 who);
}

/* The call goes on to CUPTI when Kymo has left, whichever thread is first. */
void kymo_cuda_aside(const char *function, const void *caller)
{
	if (atomic_load(&taken))
		return;
	pthread_mutex_lock(&lock);
	if (!atomic_load(&taken)) {
		leave_to(function, caller);
		atomic_store(&taken, true);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- by the environment ---- */

static const char *profiler(void)
{
	static const char *const left[][2] = {
		{"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute (ncu)"},
		{"NSYS_PROFILING_SESSION_ID", "Nsight Systems (nsys)"},
	};

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (secure_getenv(left[i][0]))
			return left[i][1];
	return NULL;
}

/* What the user had put there himself is his. */
static void give_back_injection(void)
{
	const char *own = secure_getenv("KYMO_CUDA_INJECTION");

	if (own && *own)
		setenv(CUDA_INJECTION, own, 1);
	else
		unsetenv(CUDA_INJECTION);
}

/* Before main(), so that it is alone in changing the environment. */
__attribute__((constructor)) static void make_room(void)
{
	const char *set = secure_getenv(CUDA_INJECTION);

	if (strcmp(program_invocation_short_name, "ncu") != 0 || !set ||
	    !strstr(set, "/libkymo.so"))
		return;
	give_back_injection();
	cuda_give_way("only one tool can use CUPTI, and in what ncu runs Nsight Compute does");
}

/* ---- by symbols ---- */

/*
 * Names of functions that only the static library has: _nv035946cupti. Those of CUPTI's interface
 * tell nothing, because libraries that load CUPTI when it is wanted define them, too. Source: the
 * symbols of libcupti_static.a of CUDA 11.8.
 */
#define STATIC_BEGIN "_nv"
#define STATIC_END   "cupti" /* and the zero */

static bool is_static_name(const char *name, size_t most)
{
	size_t n = strnlen(name, most);

	return n < most && n >= sizeof(STATIC_BEGIN) + sizeof(STATIC_END) - 2 &&
	       strncmp(name, STATIC_BEGIN, sizeof(STATIC_BEGIN) - 1) == 0 &&
	       strcmp(name + n - (sizeof(STATIC_END) - 1), STATIC_END) == 0;
}

static bool defines(const ElfW(Sym) * symbols, size_t count, const char *strings, size_t bytes,
		    void *unused)
{
	if (!memmem(strings, bytes, STATIC_END, sizeof(STATIC_END)))
		return false;
	for (size_t i = 0; i < count; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < bytes &&
		    is_static_name(strings + symbols[i].st_name, bytes - symbols[i].st_name))
			return true;
	return false;
}

static bool is_expected(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	return strncmp(base, "libcupti", 8) == 0 || strncmp(base, "libkymo", 7) == 0;
}

struct paths {
	unsigned count, skip;
	char at[64][512];
};

/* Files cannot be read while the list of objects is walked: others wait for it. */
static int note_path(struct dl_phdr_info *object, size_t size, void *data)
{
	struct paths *p = data;
	const char *path =
		object->dlpi_name && *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";

	if (p->skip) {
		p->skip--;
		return 0;
	}
	snprintf(p->at[p->count++], sizeof(p->at[0]), "%s", path);
	return p->count == sizeof(p->at) / sizeof(p->at[0]);
}

/* The object that has CUPTI's static library in it. */
static bool find_static(char *path, size_t size)
{
	struct paths *p = calloc(1, sizeof(*p));
	unsigned seen = 0;
	bool found = false;

	while (p && !found) {
		p->count = 0;
		p->skip = seen;
		dl_iterate_phdr(note_path, p);
		seen += p->count;
		for (unsigned i = 0; i < p->count && !found; i++) {
			found = !is_expected(p->at[i]) && elf_file_symbols(p->at[i], defines, NULL);
			snprintf(path, size, "%s", p->at[i]);
		}
		if (p->count < sizeof(p->at) / sizeof(p->at[0]))
			break;
	}
	free(p);
	return found;
}

static bool seen_static(char *text, size_t size)
{
	static _Atomic uint64_t objects;
	uint64_t now = elf_objects_loaded();
	char path[512];

	if (atomic_exchange(&objects, now) == now || !find_static(path, sizeof(path)))
		return false;
	snprintf(text, size, "%.400s has CUPTI linked into it (libcupti_static.a)", path);
	return true;
}

void cuda_aside_look(void)
{
	char text[512];

	if (!cuda_alive() || !seen_static(text, sizeof(text)) || !cuda_leave())
		return;
	cap_note(2, "cuda", "CUDA is not traced from here on: only one tool can use CUPTI, and %s",
		 text);
}

bool cuda_others(char *why, size_t size)
{
	const char *name = profiler();
	char text[512];

	if (atomic_load(&taken))
		snprintf(why, size, "only one tool can use CUPTI, and %s", who);
	else if (name)
		snprintf(why, size, "only one tool can use CUPTI, and this program runs under %s",
			 name);
	else if (seen_static(text, sizeof(text)))
		snprintf(why, size, "only one tool can use CUPTI, and %s", text);
	else
		return false;
	return true;
}
