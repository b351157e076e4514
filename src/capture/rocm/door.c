/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for ROCm's runtimes: AMD's register library, or the drop-in for it, calls
 * rocprofiler_set_api_table() with the tables of HSA, HIP, ROCTx and others. Tables start with their
 * size and only grow; what lies beyond the known part, and tables of libraries that are not known
 * at all, run and are counted. AMD's own profiler, if it is there too, gets every table first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/tool.h>

#include "base/elf.h"
#include "capture/rocm/work.h"
#include "capture/rocm/register.h"

#define PARTS            16u
#define PROFILER_LIBRARY "librocprofiler-sdk.so"

static const struct known {
	const char *name;
	struct table_model *model;
	const struct table_piece *tables;
	const unsigned *count;
} known[] = {
	{"roctx", &rocm_model_roctx, rocm_tables_roctx, &rocm_table_count_roctx},
	{"hip", &rocm_model_hip, rocm_tables_hip, &rocm_table_count_hip},
	{"hip_compiler", &rocm_model_hip_compiler, rocm_tables_hip_compiler,
	 &rocm_table_count_hip_compiler},
	{"hsa", &rocm_model_hsa, rocm_tables_hsa, &rocm_table_count_hsa},
};

/* Major versions of HSA's tables that the model describes, in their order. */
static const uint32_t hsa_majors[] = {2, 2, 2, 2, 1, 1};

/* Head of HSA's tables; the others have only a size of 8 bytes. */
struct hsa_version {
	uint32_t major, size, step, reserved;
};

static bool size_valid(uint64_t bytes, size_t head)
{
	return bytes >= head && bytes % sizeof(void *) == 0 &&
	       (bytes - head) / sizeof(void *) <= KYMO_TABLE_ENTRIES_MAX;
}

static const struct known *find_known(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

/* Table `i` of a known runtime; one that came later has no known entries. */
static void part_known(struct table_part *p, const struct known *k, uint64_t i)
{
	if (!k || i >= *k->count) {
		p->name = k ? k->name : "the table";
		p->first_op = p->known = 0;
		return;
	}
	p->name = k->tables[i].name;
	p->first_op = k->tables[i].first;
	p->known = k->tables[i].count;
}

static bool parts_plain(struct table_part *parts, const struct known *k, void **tables,
			uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t bytes;

		if (!tables[i])
			return false;
		memcpy(&bytes, tables[i], sizeof(bytes));
		if (!size_valid(bytes, sizeof(bytes)))
			return false;
		part_known(&parts[i], k, i);
		parts[i].entries = (void **)((char *)tables[i] + sizeof(bytes));
		parts[i].count = (uint32_t)((bytes - sizeof(bytes)) / sizeof(void *));
	}
	return true;
}

/* HSA hands over one table of tables. Returns the number of parts, 0: not as it should be. */
static unsigned parts_hsa(struct table_part *parts, const struct known *k, void *root)
{
	struct hsa_version version;
	unsigned n = 0;
	void **tables;

	memcpy(&version, root, sizeof(version));
	if (!size_valid(version.size, sizeof(version)))
		return 0;
	tables = (void **)((char *)root + sizeof(version));
	for (unsigned i = 0; i < (version.size - sizeof(version)) / sizeof(void *); i++) {
		struct hsa_version v;

		if (!tables[i] || n == PARTS)
			continue;
		memcpy(&v, tables[i], sizeof(v));
		if (!size_valid(v.size, sizeof(v)))
			return 0;
		part_known(&parts[n], k, i);
		if (i < sizeof(hsa_majors) / sizeof(hsa_majors[0]) && v.major != hsa_majors[i])
			parts[n].known = 0;
		parts[n].entries = (void **)((char *)tables[i] + sizeof(v));
		parts[n].count = (uint32_t)((v.size - sizeof(v)) / sizeof(void *));
		n++;
	}
	return n;
}

/* A library that is not known: all its entries under their numbers. */
static kymo_status_t take_unknown(const char *name, struct table_part *parts, unsigned count)
{
	struct table_model *model;
	kymo_status_t status;
	uint32_t entries = 0;
	uint64_t token;

	for (unsigned i = 0; i < count; i++) {
		parts[i].first_op = entries;
		parts[i].known = parts[i].count;
		entries += parts[i].count;
	}
	model = entries <= KYMO_TABLE_ENTRIES_MAX ? table_model_unknown(name, entries) : NULL;
	if (!model)
		return KYMO_ERROR_INVALID_ARGUMENT;
	status = table_take(model, parts, count, &token);
	if (!model->borrowed)
		table_model_free(model);
	return status;
}

/* What happens after some calls; before a model is first used. */
static void prepare(void)
{
	rocm_model_roctx.needed = rocm_roctx_needed;
	rocm_objects_prepare();
	rocm_memory_prepare();
	rocm_hip_prepare();
	rocm_hsa_prepare();
}

static kymo_status_t take(const char *name, uint64_t version, uint64_t instance, void **tables,
			  uint64_t count)
{
	struct table_part parts[PARTS];
	const struct known *k;
	static pthread_once_t prepared = PTHREAD_ONCE_INIT;
	unsigned n = (unsigned)count;
	kymo_status_t status;
	uint64_t token;

	if (!name || !*name || !tables || count == 0 || count > PARTS || !tables[0])
		return KYMO_ERROR_INVALID_ARGUMENT;
	pthread_once(&prepared, prepare);
	k = find_known(name);
	if (k && k->model == &rocm_model_hsa)
		n = parts_hsa(parts, k, tables[0]);
	else if (!parts_plain(parts, k, tables, count))
		n = 0;
	if (n == 0)
		return KYMO_ERROR_INCOMPATIBLE;
	for (unsigned i = 0; i < n; i++) {
		parts[i].version = version;
		parts[i].instance = (uint32_t)instance;
	}
	if (!k)
		return take_unknown(name, parts, n);
	status = table_take(k->model, parts, n, &token);
	if (status == KYMO_OK && k->model == &rocm_model_hip)
		rocm_hip_taken(&parts[0], tables[0]);
	return status;
}

/* ---- AMD's profiler beside us ---- */

static const char *setting(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

/* The name is looked up in the whole program and may lead back here. */
static bool is_ours(const void *symbol)
{
	Dl_info us, it;

	return dladdr(known, &us) && dladdr(symbol, &it) && us.dli_fbase == it.dli_fbase;
}

/* `symbol`, if it is another library's. */
static void *others(void *symbol)
{
	return symbol && !is_ours(symbol) ? symbol : NULL;
}

static void *others_in(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_GLOBAL);

	return library ? others(dlsym(library, "rocprofiler_set_api_table")) : NULL;
}

/* A library that the user named, though the launcher may have named this one. */
static void *asked_for(void)
{
	const char *name = setting("ROCPROFILER_REGISTER_LIBRARY");
	void *symbol = name ? others_in(name) : NULL;

	if (symbol)
		return symbol;
	if (!setting("ROCP_TOOL_LIBRARIES") && !dlsym(RTLD_DEFAULT, "rocprofiler_configure"))
		return NULL;
	return others_in(PROFILER_LIBRARY);
}

static rocprofiler_set_api_table_fn other_profiler(void)
{
	rocprofiler_set_api_table_fn function = NULL;
	void *symbol = others(dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table"));

	if (!symbol)
		symbol = others(dlsym(RTLD_NEXT, "rocprofiler_set_api_table"));
	if (!symbol)
		symbol = asked_for();
	memcpy(&function, &symbol, sizeof(function));
	return function;
}

/*
 * Whatever comes of it: to AMD's library another answer is an error of the profiler, of which it
 * tells the runtime, and runtimes may end the program for it. That a table is not traced the trace
 * says.
 */
int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t count)
{
	int saved = errno;
	rocprofiler_set_api_table_fn other = other_profiler();
	kymo_status_t status;

	if (other)
		other(name, version, instance, tables, count);
	status = take(name, version, instance, tables, count);
	if (status != KYMO_OK) {
		cap_note(2, "rocm", "the tables of %s are not traced: %s", name ? name : "(null)",
			 kymo_status_text(status));
		cap_runtime_seen();
	}
	errno = saved;
	return 0;
}

/* Tables that were registered before this library was loaded. */
__attribute__((constructor)) static void attach(void)
{
	int (*function)(void);
	void *symbol;

	if (elf_find_everywhere("rocprofiler_register_invoke_nonpropagated_registrations", &symbol,
				1) == 0)
		return;
	memcpy(&function, &symbol, sizeof(function));
	function();
}

CAP_KNOWN_DOMAIN(roctx, table_describe(&rocm_model_roctx));
CAP_KNOWN_DOMAIN(hip, table_describe(&rocm_model_hip));
CAP_KNOWN_DOMAIN(hip_compiler, table_describe(&rocm_model_hip_compiler));
CAP_KNOWN_DOMAIN(hsa, table_describe(&rocm_model_hsa));
