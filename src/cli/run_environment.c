/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a traced program: Kymo's libraries first, the user's own kept. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"

#define ZE_LAYER_VARIABLE "ZE_ENABLE_VALIDATION_LAYER"

extern char **environ;

bool environment_mentions(const char *path, const char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool found = false;
	void *data;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data != MAP_FAILED) {
			found = memmem(data, (size_t)st.st_size, text, strlen(text)) != NULL;
			munmap(data, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

void environment_opencl_loader(char path[PATH_MAX], bool *layers)
{
	void *handle = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;

	path[0] = '\0';
	*layers = false;
	if (!handle)
		return;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(path, PATH_MAX, "%s", map->l_name);
	dlclose(handle);
	/* Loaders that know layers read this variable. */
	*layers = environment_mentions(path, "OPENCL_LAYERS");
}

/* ---- building ------------------------------------------------------------------------------- */

static bool set(struct environment *e, const char *name, const char *value)
{
	size_t n = strlen(name), size = n + strlen(value) + 2;
	char *word = malloc(size);
	unsigned i = 0;

	if (!word)
		return false;
	snprintf(word, size, "%s=%s", name, value);
	while (i < e->count && !(strncmp(e->words[i], name, n) == 0 && e->words[i][n] == '='))
		i++;
	if (i == e->count)
		e->count++;
	e->words[i] = word;
	e->words[e->count] = NULL;
	e->set[e->set_count++] = word;
	e->set[e->set_count] = NULL;
	return true;
}

static void unset(struct environment *e, const char *name)
{
	size_t n = strlen(name);

	for (unsigned i = 0; i < e->count; i++) {
		if (strncmp(e->words[i], name, n) != 0 || e->words[i][n] != '=')
			continue;
		memmove(e->words + i, e->words + i + 1, (e->count - i) * sizeof(*e->words));
		e->count--;
		return;
	}
}

/* Entries that a Kymo around this one has left. */
static bool is_own(const char *word)
{
	static const char *const own[] = {
		"/libkymo-inject.so",  "/libkymo.so",         "/libkymo-opencl-preload.so",
		"/libkymo-mpi.so",     "/libkymo-threads.so", "/kymo/rocm/libroctx64.so",
		"/libkymo-exports.so", "/kymo/ze/libze_",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strstr(word, own[i]))
			return true;
	return false;
}

static bool is_mpi(const char *word)
{
	const char *name = strrchr(word, '/');

	name = name ? name + 1 : word;
	return strncmp(name, "libmpi.so", 9) == 0 || strncmp(name, "libmpich.so", 11) == 0;
}

/* The user's entries, and the door of MPI: behind other tools of MPI, but before an MPI itself. */
static void add_list(struct text *t, const char *list, const char *separators, const char *mpi_door)
{
	while (list && *list) {
		size_t n = strcspn(list, separators);
		char word[PATH_MAX];

		snprintf(word, sizeof(word), "%.*s", (int)n, list);
		if (*mpi_door && is_mpi(word)) {
			text_addf(t, ":%s", mpi_door);
			mpi_door = "";
		}
		if (n && !is_own(word))
			text_addf(t, "%s%s", t->length ? ":" : "", word);
		list += n + (list[n] != '\0');
	}
	if (*mpi_door)
		text_addf(t, ":%s", mpi_door);
}

static bool set_list(struct environment *e, const char *name, const char *first,
		     const char *mpi_door, const char *separators)
{
	struct text t = {0};
	bool ok;

	text_add(&t, first);
	add_list(&t, getenv(name), separators, mpi_door);
	ok = !t.failed && set(e, name, t.s);
	text_release(&t);
	return ok;
}

/* A library of Kymo's, after the others of the list. False: it is not there. */
static bool add_door(struct text *list, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 80, cli_libdir(), name);
	if (access(path, R_OK) != 0)
		return false;
	text_addf(list, "%s%s", list->length ? ":" : "", path);
	return true;
}

/* Where the loader knows no layers, OpenCL is entered by preloading. */
static bool add_opencl_door(struct text *list)
{
	char loader[PATH_MAX];
	bool layers;

	environment_opencl_loader(loader, &layers);
	return *loader && !layers && add_door(list, "libkymo-opencl-preload.so");
}

/* ---- Level Zero ---- */

/* Whether the object looks for the function `name` when it calls it, so that ours is found first. */
static bool looks_for(const struct link_map *map, const char *name)
{
	const char *strings = NULL;
	const ElfW(Sym) *symbols = NULL;
	const ElfW(Rela) *calls = NULL;
	size_t bytes = 0;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
		else if (d->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_JMPREL)
			calls = (const ElfW(Rela) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_PLTRELSZ)
			bytes = d->d_un.d_val;
	}
	for (size_t i = 0; strings && symbols && calls && i < bytes / sizeof(*calls); i++)
		if (strcmp(strings + symbols[ELF64_R_SYM(calls[i].r_info)].st_name, name) == 0)
			return true;
	return false;
}

bool environment_ze_layer(char path[PATH_MAX])
{
	void *loader = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;
	bool found_by_name;

	snprintf(path, PATH_MAX, "%.*s/kymo/ze/libze_validation_layer.so.1", PATH_MAX - 60,
		 cli_libdir());
	if (!loader)
		return false;
	found_by_name = dlinfo(loader, RTLD_DI_LINKMAP, &map) != 0 ||
			looks_for(map, "zeGetGlobalProcAddrTable");
	dlclose(loader);
	return !found_by_name;
}

/* A layer that the user asks for stays what it is; a Kymo around this one asks for ours. */
static bool others_ze_layer(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return getenv(ZE_LAYER_VARIABLE) && !(preload && strstr(preload, "/kymo/ze/libze_"));
}

static bool add_ze_layer(struct text *list, const struct run_options *o)
{
	char path[PATH_MAX];

	if (!knob_list_has(o->backends, "level_zero") || others_ze_layer() ||
	    !environment_ze_layer(path) || access(path, R_OK) != 0)
		return false;
	text_addf(list, ":%s", path);
	return true;
}

static bool rocm_wanted(const struct run_options *o)
{
	static const char *const backends[] = {"roctx", "hip", "hip_compiler", "hsa"};

	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		if (knob_list_has(o->backends, backends[i]))
			return true;
	return false;
}

/* Backends whose runtimes look for names that libkymo.so.1 has: it must be found before theirs. */
static bool found_by_name(const struct run_options *o)
{
	return rocm_wanted(o) || knob_list_has(o->backends, "level_zero");
}

/* MPI is entered by its names, whichever MPI a program will turn out to have. */
static void find_mpi_door(struct text *door, const struct run_options *o)
{
	text_add(door, "");
	if (knob_list_has(o->backends, "mpi"))
		add_door(door, "libkymo-mpi.so");
}

/* Likewise libraries of plain functions. */
static void add_exports_door(struct text *list, const struct run_options *o)
{
	static const char *const backends[] = {"nccl", "cublas", "cublaslt", "cufft", "cudnn"};
	bool wanted = false;

	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		wanted |= knob_list_has(o->backends, backends[i]);
	if (wanted)
		add_door(list, "libkymo-exports.so");
}

/* ROCTx's older library registers no tables: its place is taken when the user names the backend. */
static void add_roctx_door(struct text *list, const struct run_options *o)
{
	if (o->backends && strcmp(o->backends, "all") != 0 && knob_list_has(o->backends, "roctx"))
		add_door(list, "kymo/rocm/libroctx64.so.4");
}

/*
 * libkymo.so.1 comes with libkymo-inject.so anyway. Named before the user's libraries it is found
 * before a profiler among them when ROCm looks for one, and passes the tables on. Level Zero's loader
 * finds the functions there that fill its tables.
 */
static void preloaded(struct text *list, const struct run_options *o)
{
	text_addf(list, "%s/libkymo-inject.so", cli_libdir());
	if (found_by_name(o))
		text_addf(list, ":%s/libkymo.so.1", cli_libdir());
	add_exports_door(list, o);
	/* Threads and processes that use nothing else are seen at their making, if that is asked for. */
	if (o->threads)
		add_door(list, "libkymo-threads.so");
	add_roctx_door(list, o);
}

static bool set_layers(struct environment *e)
{
	char layer[PATH_MAX];

	snprintf(layer, sizeof(layer), "%.*s/libkymo.so.1", PATH_MAX - 40, cli_libdir());
	return set_list(e, "OPENCL_LAYERS", layer, "", ":");
}

static bool set_libraries(struct environment *e, const struct run_options *o, struct text *error)
{
	struct text list = {0}, mpi_door = {0};
	const char *libdir = cli_libdir();
	bool opencl = knob_list_has(o->backends, "opencl"), ok;

	if (!*libdir) {
		text_add(error, cli_libdir_error());
		return false;
	}
	if (strpbrk(libdir, " :")) {
		text_addf(error, "\"%s\" cannot be preloaded from: its name has a space or a colon",
			  libdir);
		return false;
	}
	preloaded(&list, o);
	ok = !add_ze_layer(&list, o) || set(e, ZE_LAYER_VARIABLE, "1");
	find_mpi_door(&mpi_door, o);
	if (opencl && !add_opencl_door(&list))
		ok = ok && set_layers(e);
	ok = ok && !list.failed && !mpi_door.failed &&
	     set_list(e, "LD_PRELOAD", list.s, mpi_door.s, " :");
	text_release(&list);
	text_release(&mpi_door);
	return ok;
}

/*
 * Annotation interfaces load the library that their variable names. One that the user has set stays:
 * it belongs to another tool.
 */
static bool set_annotations(struct environment *e, const struct run_options *o)
{
	static const struct {
		const char *backend, *variable;
		char separator; /* of a list of libraries: ours comes last */
	} doors[] = {
		{"nvtx", "NVTX_INJECTION64_PATH", 0},
		{"itt", "INTEL_LIBITTNOTIFY64", 0},
		{"openmp", "OMP_TOOL_LIBRARIES", ':'},
		{"kokkos", "KOKKOS_TOOLS_LIBS", 0},
	};
	char library[PATH_MAX], list[2 * PATH_MAX];

	snprintf(library, sizeof(library), "%.*s/libkymo.so.1", PATH_MAX - 40, cli_libdir());
	for (size_t i = 0; i < sizeof(doors) / sizeof(doors[0]); i++) {
		const char *present = getenv(doors[i].variable);
		bool taken = present && *present;

		if (!knob_list_has(o->backends, doors[i].backend) ||
		    (taken && strstr(present, "/libkymo")))
			continue;
		if (taken && !doors[i].separator) {
			cli_warn("%s is set to %s already: that tool gets what Kymo would record",
				 doors[i].variable, present);
			continue;
		}
		snprintf(list, sizeof(list), "%.*s%.*s%s", PATH_MAX - 2, taken ? present : "",
			 taken ? 1 : 0, &doors[i].separator, library);
		if (!set(e, doors[i].variable, list))
			return false;
	}
	return true;
}

static bool set_default(struct environment *e, const char *name, const char *value)
{
	const char *present = getenv(name);

	return (present && *present) || set(e, name, value);
}

/*
 * AMD's register library looks for a profiler only when told that there is one, and finds Kymo's
 * functions then, since they are preloaded. The name is for children that drop the preload: they
 * would load AMD's profiler otherwise. What the user has set stays.
 */
static bool set_rocm(struct environment *e, const struct run_options *o)
{
	char library[PATH_MAX];

	if (!rocm_wanted(o))
		return true;
	snprintf(library, sizeof(library), "%.*s/libkymo.so.1", PATH_MAX - 40, cli_libdir());
	return set_default(e, "ROCPROFILER_REGISTER_FORCE_LOAD", "1") &&
	       set_default(e, "ROCPROFILER_REGISTER_LIBRARY", library);
}

/*
 * The driver loads one library only. One that the user has set is handed on to Kymo, which starts it
 * before itself: it comes first in everything.
 */
static bool set_cuda(struct environment *e, const struct run_options *o)
{
	const char *present = getenv("CUDA_INJECTION64_PATH");
	char library[PATH_MAX];

	if (!knob_list_has(o->backends, "cuda") && !knob_list_has(o->backends, "cuda_runtime"))
		return true;
	snprintf(library, sizeof(library), "%.*s/libkymo.so.1", PATH_MAX - 40, cli_libdir());
	if (present && *present && !strstr(present, "/libkymo.so") &&
	    !set(e, "KYMO_CUDA_INJECTION", present))
		return false;
	return set(e, "CUDA_INJECTION64_PATH", library);
}

/*
 * Of programs that bring options of their own for AddressSanitizer, and so are not asked for ours; see
 * inject/sanitizer.c.
 */
static bool set_sanitizer(struct environment *e, const char *program)
{
	const char *present = getenv("ASAN_OPTIONS"), *ours = "verify_asan_link_order=0";
	struct text t = {0};
	bool ok;

	if (!program_names(program, "__asan_default_options") ||
	    (present && strstr(present, "verify_asan_link_order")))
		return true;
	text_addf(&t, "%s%s%s", present ? present : "", present && *present ? ":" : "", ours);
	ok = !t.failed && set(e, "ASAN_OPTIONS", t.s);
	text_release(&t);
	return ok;
}

static bool set_options(struct environment *e, const struct knob_table *t)
{
	char name[80], value[4096];

	for (unsigned i = 0; i < t->count; i++) {
		if (!(t->rows[i].flags & KNOB_HANDED_ON))
			continue;
		knob_environment_name(t, i, name, sizeof(name));
		if (!knob_text(t, i, value, sizeof(value)))
			unset(e, name);
		else if (!set(e, name, value))
			return false;
	}
	return true;
}

/* A rank's launcher hands its job on: the ranks' own parents differ, and with Hydra that is a name. */
static bool set_job(struct environment *e)
{
	struct job job;

	job_of_process(&job, 0);
	return !job.id[0] || job.rank == JOB_UNKNOWN || set(e, "KYMO_JOB", job.id);
}

bool environment_make(struct environment *e, const struct knob_table *options, const char *program,
		      const char *trace, const char *socket, struct text *error)
{
	unsigned n = 0;

	memset(e, 0, sizeof(*e));
	while (environ[n])
		n++;
	e->words = calloc(n + KNOB_ROWS_MAX + 16, sizeof(*e->words));
	e->set = calloc(KNOB_ROWS_MAX + 16, sizeof(*e->set));
	if (!e->words || !e->set) {
		text_add(error, "out of memory");
		return false;
	}
	memcpy(e->words, environ, n * sizeof(*e->words));
	e->count = n;
	if (!socket)
		return true;
	return set_libraries(e, options->values, error) &&
	       set_annotations(e, options->values) && set_rocm(e, options->values) &&
	       set_cuda(e, options->values) && set_sanitizer(e, program) &&
	       set(e, "KYMO_TRACE", trace) &&
	       set(e, "KYMO_DRAIN", socket) && set(e, "KYMO_BIN", cli_self()) && set_job(e) &&
	       set_options(e, options);
}

void environment_release(struct environment *e)
{
	for (unsigned i = 0; i < e->set_count; i++)
		free(e->set[i]);
	free(e->set);
	free(e->words);
}
