/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drop-in for AMD's librocprofiler-register.so.0: the same functions, codes and environment, so that
 * ROCm's runtimes hand their tables to whatever profiler is there. It differs where AMD's users
 * complain: any number of instances, registrations of several threads or inside each other are all
 * kept and handed over (never DEADLOCK, never EXCESS_API_INSTANCES), names are open to libraries
 * that export the import function of their name, and nothing ends the program.
 */
#include "capture/rocm/register.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "register/find.h"
#include "register/store.h"

#define PROFILER_LIBRARY "librocprofiler-sdk.so"
#define IMPORT_PREFIX    "rocprofiler_register_import_"

/* AMD's numbers: so many for each known name. Ours for everything that has none lie above. */
#define HANDLES_EACH  8u
#define HANDLES_OTHER 65536u

/* Runtimes known by name, and how the files are called that may speak for them. */
static const struct {
	const char *name;
	const char *files[2];
} known[] = {
	{"hsa", {"libhsa-runtime64.so", NULL}},
	{"hip", {"libamdhip64.so", NULL}},
	{"roctx", {"libroctx64.so", "librocprofiler-sdk-roctx.so"}},
	{"hip_compiler", {"libamdhip64.so", NULL}},
	{"rccl", {"librccl.so", NULL}},
	{"rocdecode", {"librocdecode.so", NULL}},
	{"rocjpeg", {"librocjpeg.so", NULL}},
	{"rocshmem", {"librocshmem.so", NULL}},
	{"hipfile", {"libhipfile.so", NULL}},
};

static int known_index(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return (int)i;
	return -1;
}

static bool import_info(rocprofiler_import_fn import, Dl_info *info)
{
	return import && dladdr((void *)(uintptr_t)import, info) && info->dli_fname;
}

/* A name that came after this library: its owner exports the function that goes with it. */
static bool speaks_for(rocprofiler_import_fn import, const char *name)
{
	const size_t prefix = sizeof(IMPORT_PREFIX) - 1;
	Dl_info info;

	return import_info(import, &info) && info.dli_sname &&
	       strncmp(info.dli_sname, IMPORT_PREFIX, prefix) == 0 &&
	       strcmp(info.dli_sname + prefix, name) == 0;
}

/* "libx.so" and "libx.so.1.2" are libx.so's, "libx.so-old" is not. */
static bool file_matches(const char *path, const char *file)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t n = file ? strlen(file) : 0;

	return file && strncmp(base, file, n) == 0 &&
	       (base[n] == '\0' ||
		(base[n] == '.' && base[n + 1 + strspn(base + n + 1, "0123456789.")] == 0));
}

/* Secure mode: the import function must lie in a file that is called like the runtime's library. */
static bool address_trusted(rocprofiler_import_fn import, int index)
{
	char path[PATH_MAX];
	Dl_info info;

	if (!import)
		return true; /* as in AMD's: nothing to check */
	if (index < 0 || !import_info(import, &info) || !realpath(info.dli_fname, path))
		return false;
	return file_matches(path, known[index].files[0]) ||
	       file_matches(path, known[index].files[1]);
}

/* ---- the profiler ---- */

static bool rocm_tool_present(void)
{
	bool force =
		find_setting("ROCPROFILER_REGISTER_LIBRARY") || find_setting("ROCP_TOOL_LIBRARIES");

	return dlsym(RTLD_DEFAULT, "rocprofiler_configure") != NULL ||
	       find_switch("ROCPROFILER_REGISTER_FORCE_LOAD", force);
}

/*
 * Where tables go. Kymo's library comes first; it passes them on to AMD's. Looked up each time: a
 * profiler may come at any moment.
 */
static rocprofiler_set_api_table_fn profiler(void)
{
	const char *library = find_setting("ROCPROFILER_REGISTER_LIBRARY");
	rocprofiler_set_api_table_fn function = NULL;
	void *kymo = find_loaded("kymo_register_take"), *symbol = NULL, *handle;

	if (kymo)
		symbol = find_beside(kymo, "rocprofiler_set_api_table");
	if (!symbol && rocm_tool_present()) {
		symbol = dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table");
		if (!symbol) {
			handle = find_library(library ? library : PROFILER_LIBRARY);
			symbol = handle ? dlsym(handle, "rocprofiler_set_api_table") : NULL;
		}
	}
	memcpy(&function, &symbol, sizeof(function));
	return function;
}

static int set_table(struct store_entry *e, rocprofiler_set_api_table_fn set)
{
	int refused = set(e->name, e->version, e->instance, e->tables, e->table_count);

	/* What was refused stays for a profiler that comes later. */
	store_set(e, refused ? KYMO_REGISTRATION_KEPT : KYMO_REGISTRATION_TAKEN);
	return refused ? ROCP_REG_ROCPROFILER_ERROR : ROCP_REG_SUCCESS;
}

static int hand_over(struct store_entry *e, int from, rocprofiler_set_api_table_fn set)
{
	if (!store_claim(e, from, KYMO_REGISTRATION_HANDING))
		return ROCP_REG_SUCCESS; /* another thread's */
	return set_table(e, set);
}

/*
 * Whether the library behind an entry is still there: this interface has no way to take a
 * registration back. Without an import function there is only the table itself to ask.
 */
static bool still_there(const struct store_entry *e)
{
	Dl_info info;

	return dladdr(e->import ? (void *)(uintptr_t)e->import : (void *)e->tables, &info) != 0;
}

static int hand_over_all(bool again)
{
	rocprofiler_set_api_table_fn set = profiler();
	int code = ROCP_REG_SUCCESS, one;

	if (!set)
		return ROCP_REG_NO_TOOLS;
	for (struct store_entry *e = store_first(); e; e = store_next(e)) {
		if (!still_there(e))
			continue;
		one = hand_over(e, KYMO_REGISTRATION_KEPT, set);
		if (again && one == ROCP_REG_SUCCESS)
			one = hand_over(e, KYMO_REGISTRATION_TAKEN, set);
		if (one != ROCP_REG_SUCCESS)
			code = one;
	}
	return code;
}

/* ---- the functions ---- */

static int check_arguments(const char *name, rocprofiler_import_fn import, void **tables,
			   uint64_t count)
{
	int index;

	if (!tables || count < 1)
		return ROCP_REG_BAD_API_TABLE_LENGTH;
	for (uint64_t i = 0; i < count; i++)
		if (!tables[i])
			return ROCP_REG_BAD_API_TABLE_LENGTH;
	if (!find_switch("ROCPROFILER_REGISTER_ENABLED", true))
		return ROCP_REG_NO_TOOLS;
	if (!store_name_valid(name))
		return ROCP_REG_UNSUPPORTED_API;
	index = known_index(name);
	if (index < 0 && !speaks_for(import, name))
		return ROCP_REG_UNSUPPORTED_API;
	if (find_switch("ROCPROFILER_REGISTER_SECURE", false) && !address_trusted(import, index))
		return ROCP_REG_INVALID_API_ADDRESS;
	return ROCP_REG_SUCCESS;
}

/* The array of tables may live on the caller's stack; the tables themselves stay. */
static struct store_entry *entry_new(const char *name, uint32_t version, void **tables,
				     uint64_t count)
{
	struct store_entry *e = store_new(name, version);

	if (!e)
		return NULL;
	e->tables = calloc(count, sizeof(*tables));
	if (!e->tables) {
		store_put(e);
		return NULL;
	}
	memcpy(e->tables, tables, count * sizeof(*tables));
	e->table_count = count;
	return e;
}

/* Takes an entry out, unless it is being handed over at this moment. */
static void remove_entry(struct store_entry *e)
{
	if (store_claim(e, KYMO_REGISTRATION_KEPT, KYMO_REGISTRATION_GONE) ||
	    store_claim(e, KYMO_REGISTRATION_TAKEN, KYMO_REGISTRATION_GONE))
		store_remove(e);
}

/*
 * This interface knows no unregistering: what a library left behind that was unloaded since is
 * forgotten when the next one registers. The same table under the same name is a library that was
 * loaded again where it was.
 */
static void forget_unloaded(const struct store_entry *by)
{
	for (struct store_entry *e = store_first(); e; e = store_next(e))
		if (!still_there(e) ||
		    (strcmp(e->name, by->name) == 0 && e->tables[0] == by->tables[0]))
			remove_entry(e);
}

static uint64_t handle_of(const struct store_entry *e)
{
	int index = known_index(e->name);

	if (index < 0 || e->instance >= HANDLES_EACH)
		return HANDLES_OTHER + e->id;
	return (uint64_t)index * HANDLES_EACH + e->instance;
}

static int add_library(const char *name, rocprofiler_import_fn import, uint32_t version,
		       void **tables, uint64_t count, struct rocprofiler_register_identifier *out)
{
	int code = check_arguments(name, import, tables, count);
	rocprofiler_set_api_table_fn set;
	struct store_entry *e;

	if (code != ROCP_REG_SUCCESS)
		return code;
	e = entry_new(name, version, tables, count);
	if (!e)
		return ROCP_REG_ROCPROFILER_ERROR;
	forget_unloaded(e);
	e->import = import;
	store_append(e);
	if (out)
		out->handle = handle_of(e);
	set = profiler();
	code = set ? hand_over(e, KYMO_REGISTRATION_KEPT, set) : ROCP_REG_NO_TOOLS;
	store_put(e);
	return code;
}

int rocprofiler_register_library_api_table(const char *name, rocprofiler_import_fn import,
					   uint32_t version, void **tables, uint64_t count,
					   struct rocprofiler_register_identifier *out)
{
	int saved = errno;
	int code = add_library(name, import, version, tables, count, out);

	errno = saved;
	return code;
}

const char *rocprofiler_register_error_string(int code)
{
	switch (code) {
	case ROCP_REG_SUCCESS:
		return "success";
	case ROCP_REG_NO_TOOLS:
		return "no tool is present; the table is kept for one that comes later";
	case ROCP_REG_DEADLOCK:
		return "a registration is under way already";
	case ROCP_REG_BAD_API_TABLE_LENGTH:
		return "no tables were passed, or one of them is null";
	case ROCP_REG_UNSUPPORTED_API:
		return "no library of this name may register";
	case ROCP_REG_INVALID_API_ADDRESS:
		return "the import function does not lie in the library of this name (secure mode)";
	case ROCP_REG_ROCPROFILER_ERROR:
		return "the profiler refused the table, or memory could not be obtained";
	case ROCP_REG_EXCESS_API_INSTANCES:
		return "too many instances of one library";
	default:
		return "unknown code";
	}
}

int rocprofiler_register_iterate_registration_info(rocprofiler_info_fn callback, void *data)
{
	struct store_entry *e = callback ? store_first() : NULL;

	while (e) {
		struct rocprofiler_register_info info = {sizeof(info), e->name, e->version,
							 e->table_count};

		if (callback(&info, data) != 0) {
			store_put(e);
			break;
		}
		e = store_next(e);
	}
	return ROCP_REG_SUCCESS;
}

int rocprofiler_register_invoke_nonpropagated_registrations(void)
{
	return hand_over_all(false);
}

int rocprofiler_register_invoke_all_registrations(void)
{
	return hand_over_all(true);
}
