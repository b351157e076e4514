/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a folder, each with rows of one kind, which the names of its columns tell; see reader.h. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "base/vec.h"
#include "formats/rocprofv3/reader.h"

/* Columns by name, in the spelling of any version. */
enum column {
	C_AGENT,
	C_QUEUE,
	C_STREAM,
	C_THREAD,
	C_PROCESS,
	C_DISPATCH,
	C_NAME,
	C_CORRELATION,
	C_START,
	C_END,
	C_SHARED,
	C_SCRATCH,
	C_REGISTERS,
	C_GROUP_X,
	C_GROUP_Y,
	C_GROUP_Z,
	C_GRID_X,
	C_GRID_Y,
	C_GRID_Z,
	C_GROUP,
	C_GRID,
	C_KIND,
	C_DIRECTION,
	C_FROM,
	C_TO,
	C_OPERATION,
	C_BYTES,
	C_ADDRESS,
	C_FUNCTION,
	C_COUNTER,
	C_VALUE,
	C_FLAGS,
	C_NODE,
	C_LOGICAL,
	C_TYPE,
	C_AGENT_NAME,
	C_VENDOR,
	C_PRODUCT,
	C_GUID,
	C_UNITS, /* numbers of a device: to C_XCC */
	C_WAVE,
	C_CLOCK,
	C_SIMD,
	C_WAVES,
	C_LDS,
	C_XCC,
	C_CALLS,
	C_SAMPLED,
	COLUMNS
};

static const char *const names[COLUMNS][3] = {
	[C_AGENT] = {"Agent_Id"},
	[C_QUEUE] = {"Queue_Id"},
	[C_STREAM] = {"Stream_Id"},
	[C_THREAD] = {"Thread_Id"},
	[C_PROCESS] = {"Process_Id"},
	[C_DISPATCH] = {"Dispatch_Id"},
	[C_NAME] = {"Kernel_Name"},
	[C_CORRELATION] = {"Correlation_Id"},
	[C_START] = {"Start_Timestamp"},
	[C_END] = {"End_Timestamp"},
	[C_SHARED] = {"LDS_Block_Size", "Group_Segment_Size"},
	[C_SCRATCH] = {"Scratch_Size", "Private_Segment_Size"},
	[C_REGISTERS] = {"VGPR_Count", "Arch_VGPR"},
	[C_GROUP_X] = {"Workgroup_Size_X"},
	[C_GROUP_Y] = {"Workgroup_Size_Y"},
	[C_GROUP_Z] = {"Workgroup_Size_Z"},
	[C_GRID_X] = {"Grid_Size_X"},
	[C_GRID_Y] = {"Grid_Size_Y"},
	[C_GRID_Z] = {"Grid_Size_Z"},
	[C_GROUP] = {"Workgroup_Size"},
	[C_GRID] = {"Grid_Size"},
	[C_KIND] = {"Kind", "Domain"},
	[C_DIRECTION] = {"Direction"},
	[C_FROM] = {"Source_Agent_Id"},
	[C_TO] = {"Destination_Agent_Id"},
	[C_OPERATION] = {"Operation"},
	[C_BYTES] = {"Allocation_Size", "Size", "Bytes"},
	[C_ADDRESS] = {"Address"},
	[C_FUNCTION] = {"Function"},
	[C_COUNTER] = {"Counter_Name"},
	[C_VALUE] = {"Counter_Value"},
	[C_FLAGS] = {"Alloc_Flags"},
	[C_NODE] = {"Node_Id"},
	[C_LOGICAL] = {"Logical_Node_Id"},
	[C_TYPE] = {"Agent_Type"},
	[C_AGENT_NAME] = {"Name"},
	[C_VENDOR] = {"Vendor_Name"},
	[C_PRODUCT] = {"Product_Name"},
	[C_GUID] = {"Guid"},
	[C_UNITS] = {"Cu_Count"},
	[C_WAVE] = {"Wave_Front_Size"},
	[C_CLOCK] = {"Max_Engine_Clk_Fcompute"},
	[C_SIMD] = {"Simd_Per_Cu"},
	[C_WAVES] = {"Max_Waves_Per_Simd"},
	[C_LDS] = {"Lds_Size_In_Kb"},
	[C_XCC] = {"Num_Xcc"},
	[C_CALLS] = {"Calls"},
	[C_SAMPLED] = {"Sample_Timestamp"},
};

/* Known, and of no use here: numbers of kernels in one process, registers that no record has. */
static const char *const of_no_use[] = {"Kernel_Id", "Accum_VGPR_Count", "SGPR_Count",
					"Kernel_Rename"};

enum file_kind {
	FILE_NONE,
	FILE_AGENTS,
	FILE_CALLS, /* first of those with records: they say their process */
	FILE_KERNELS,
	FILE_COPIES,
	FILE_ALLOCATIONS,
	FILE_COUNTERS, /* behind kernels */
	FILE_SCRATCH,
	FILE_SAMPLES,
	FILE_SUMS,
	FILE_KINDS
};

struct file {
	char *path;
	enum file_kind kind;
};

struct folder {
	struct file *files;
	uint32_t count, room;
	uint64_t passed; /* CSV files of another kind */
	uint64_t cut;    /* of which that cannot be told */
	bool failed;
};

struct table {
	struct rp_reader *r;
	struct rp_table *x;
	const struct rp_cell *cells;
	uint32_t count;
	int at[COLUMNS]; /* -1: it has none */
	uint64_t key;    /* of its source, without what its rows say */
	uint64_t unknown;
	uint32_t pid, host;
};

/* ---- columns --------------------------------------------------------------------------------- */

static bool is_of_no_use(struct rp_cell c)
{
	for (size_t i = 0; i < sizeof(of_no_use) / sizeof(*of_no_use); i++)
		if (rp_cell_is(c, of_no_use[i]))
			return true;
	return false;
}

static bool find_column(struct table *t, uint32_t i)
{
	for (int k = 0; k < COLUMNS; k++)
		for (int n = 0; n < 3 && names[k][n]; n++)
			if (rp_cell_is(t->cells[i], names[k][n])) {
				t->at[k] = t->at[k] < 0 ? (int)i : t->at[k];
				return true;
			}
	return is_of_no_use(t->cells[i]);
}

static void find_columns(struct table *t)
{
	for (int k = 0; k < COLUMNS; k++)
		t->at[k] = -1;
	for (uint32_t i = 0; i < t->count; i++)
		t->unknown += !find_column(t, i);
}

static bool has(const struct table *t, enum column c)
{
	return t->at[c] >= 0;
}

static enum file_kind kind_of(const struct table *t)
{
	bool timed = has(t, C_START) && has(t, C_END);

	if (has(t, C_NODE) && has(t, C_TYPE))
		return FILE_AGENTS;
	if (has(t, C_NAME) && has(t, C_COUNTER))
		return FILE_COUNTERS;
	if (has(t, C_NAME) && timed)
		return FILE_KERNELS;
	if (has(t, C_DIRECTION) && timed)
		return FILE_COPIES;
	if (has(t, C_FLAGS) && has(t, C_OPERATION))
		return FILE_SCRATCH;
	if (has(t, C_SAMPLED))
		return FILE_SAMPLES;
	if (has(t, C_OPERATION) && has(t, C_ADDRESS) && timed)
		return FILE_ALLOCATIONS;
	if (has(t, C_FUNCTION) && has(t, C_KIND) && timed)
		return FILE_CALLS;
	return has(t, C_AGENT_NAME) && has(t, C_CALLS) ? FILE_SUMS : FILE_NONE;
}

static bool open_table(struct table *t, const char *path)
{
	t->x = rp_table_open(path);
	if (!t->x)
		return false;
	if (!rp_table_next(t->x, &t->cells, &t->count))
		t->count = 0;
	find_columns(t);
	return true;
}

static enum file_kind look_at(const char *path)
{
	struct table t = {0};
	enum file_kind kind = FILE_NONE;

	if (open_table(&t, path))
		kind = kind_of(&t);
	rp_table_close(t.x);
	return kind;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static struct rp_cell cell(const struct table *t, enum column c)
{
	if (t->at[c] < 0 || (uint32_t)t->at[c] >= t->count)
		return (struct rp_cell){"", 0};
	return t->cells[t->at[c]];
}

static uint64_t number(struct table *t, enum column c)
{
	struct rp_cell x = cell(t, c);
	uint64_t v = 0;

	if (x.n && !rp_cell_unsigned(x, &v)) {
		unplaced_add(&t->r->left_out, "cells that are no numbers", 1);
		return 0;
	}
	return v;
}

static uint32_t string(const struct table *t, enum column c)
{
	struct rp_cell x = cell(t, c);

	return rp_text(t->r, x.s, x.n);
}

static int64_t time_at(struct table *t, enum column c)
{
	uint64_t v = number(t, c);

	return v < (UINT64_C(1) << 61) ? (int64_t)v : INT64_MAX;
}

/* "Agent 4", "GPU 0", "CPU 1", or the number of its node. */
static struct rp_ref device(struct table *t, enum column c)
{
	static const struct {
		const char *word;
		enum rp_by by;
	} ways[] = {{"Agent ", BY_LOGICAL},
		    {"GPU ", BY_TYPE_GPU},
		    {"CPU ", BY_TYPE_CPU},
		    {"", BY_NODE}};
	struct rp_cell x = cell(t, c);
	struct rp_ref ref = {0};

	for (size_t i = 0; x.n && i < sizeof(ways) / sizeof(*ways); i++) {
		size_t n = strlen(ways[i].word);

		if (x.n <= n || memcmp(x.s, ways[i].word, n) != 0)
			continue;
		if (!rp_cell_unsigned((struct rp_cell){x.s + n, x.n - n}, &ref.number))
			break;
		ref.by = ways[i].by;
		return ref;
	}
	return ref;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows may say whose they are, in files of several processes. */
static uint32_t source_of(struct table *t)
{
	struct rp_cell guid = cell(t, C_GUID);
	uint64_t key = guid.n ? hash_mix(t->key, hash_bytes(guid.s, guid.n)) : t->key;
	uint32_t source = rp_source(t->r, key);

	if (t->r->failed)
		return source;
	if (!t->r->sources[source].pid)
		t->r->sources[source].pid = t->pid;
	t->r->sources[source].host = t->host;
	return source;
}

static struct rp_row begin_row(struct table *t, enum rp_row_kind what, uint32_t *process)
{
	struct rp_row row = {.what = (uint8_t)what};

	*process = 0;
	row.source = source_of(t);
	if (t->r->failed)
		return row;
	*process = rp_process(t->r, row.source, number(t, C_PROCESS));
	row.correlation = number(t, C_CORRELATION);
	row.stream = number(t, C_STREAM);
	t->r->sources[row.source].streams |= row.stream != 0;
	return row;
}

static void add(struct table *t, struct rp_row *row, enum assembly_kind kind, uint32_t process)
{
	uint64_t tid = has(t, C_THREAD) ? number(t, C_THREAD) : UINT64_MAX;

	if (!t->r->failed)
		rp_add_row(t->r, row, kind, process, tid, time_at(t, C_START), time_at(t, C_END),
			   NULL);
}

/* Under the names that devices of other traces have them by; 0 is what the file's writer did not know. */
static uint32_t properties_of(struct table *t)
{
	static const char *const keys[] = {"compute_units", "wave_front_size",    "clock_mhz",
					   "simd_per_cu",   "max_waves_per_simd", "lds_size_in_kb",
					   "num_xcc"};
	struct text all = {0};
	uint32_t made = 0;

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const uint64_t v = has(t, C_UNITS + i) ? number(t, C_UNITS + i) : 0;

		if (v)
			text_addf(&all, "%s\"%s\":%" PRIu64, all.length ? "," : "{", keys[i], v);
	}
	if (all.length) {
		text_add(&all, "}");
		made = rp_text(t->r, all.s, all.length);
	}
	t->r->failed |= all.failed;
	text_release(&all);
	return made;
}

static void take_agent(struct table *t)
{
	struct rp_agent a = {.source = source_of(t)};

	if (t->r->failed)
		return;
	a.node = number(t, C_NODE);
	a.logical = has(t, C_LOGICAL) ? number(t, C_LOGICAL) : a.node;
	a.gpu = rp_cell_is(cell(t, C_TYPE), "GPU");
	a.handle = UINT64_MAX;
	a.name = string(t, C_PRODUCT);
	a.label = string(t, C_AGENT_NAME);
	a.name = a.name ? a.name : a.label;
	a.vendor = string(t, C_VENDOR);
	a.properties = properties_of(t);
	rp_add_agent(t->r, a);
}

/* A function, or the text of a marker. */
static void take_call(struct table *t)
{
	uint32_t process;
	struct rp_row row = begin_row(t, ROW_CALL, &process);
	bool call;
	char domain[64];

	row.name = string(t, C_FUNCTION);
	row.domain = string(t, C_KIND);
	call = rp_domain(keyed_string(&t->r->keyed, row.domain),
			 keyed_string(&t->r->keyed, row.name), domain);
	row.what = call ? ROW_CALL : ROW_MARKER;
	row.stream = 0;
	add(t, &row,
	    call                                       ? ASSEMBLY_CALL
	    : time_at(t, C_START) == time_at(t, C_END) ? ASSEMBLY_MARK
						       : ASSEMBLY_RANGE,
	    process);
}

static void take_launch(struct table *t, struct rp_row *row)
{
	row->agent = device(t, C_AGENT);
	row->queue = number(t, C_QUEUE);
	row->dispatch = number(t, C_DISPATCH);
	row->name = string(t, C_NAME);
	row->shared = number(t, C_SHARED);
	row->scratch = number(t, C_SCRATCH);
	row->registers = number(t, C_REGISTERS);
	for (int i = 0; i < 3; i++) {
		row->grid[i] = number(t, C_GRID_X + i);
		row->group[i] = number(t, C_GROUP_X + i);
	}
	if (has(t, C_GRID) && !has(t, C_GRID_X)) { /* their products */
		row->grid[0] = number(t, C_GRID);
		row->group[0] = number(t, C_GROUP);
	}
}

static uint64_t kernel_key(const struct rp_row *row)
{
	return hash_mix(hash_mix(hash_u64(row->source), 1), row->dispatch);
}

static void take_kernel(struct table *t)
{
	uint32_t process;
	struct rp_row row = begin_row(t, ROW_KERNEL, &process);
	int64_t end;

	if (t->r->failed)
		return;
	t->r->sources[row.source].kernels = true;
	take_launch(t, &row);
	end = time_at(t, C_END);
	if (row.dispatch && end &&
	    !bulk_map_set(&t->r->kernel_ends, kernel_key(&row), (uint64_t)end))
		t->r->failed = true;
	add(t, &row, ASSEMBLY_WORK, process);
}

static void take_copy(struct table *t)
{
	uint32_t process;
	struct rp_row row = begin_row(t, ROW_COPY, &process);

	row.name = string(t, C_DIRECTION);
	row.from = device(t, C_FROM);
	row.agent = device(t, C_TO);
	row.bytes = number(t, C_BYTES);
	t->r->unsized += t->at[C_BYTES] < 0;
	add(t, &row, ASSEMBLY_WORK, process);
}

static void take_memory(struct table *t)
{
	uint32_t process;
	struct rp_row row = begin_row(t, ROW_MEMORY, &process);

	row.name = string(t, C_OPERATION);
	row.agent = device(t, C_AGENT);
	row.bytes = number(t, C_BYTES);
	row.address = number(t, C_ADDRESS);
	add(t, &row, ASSEMBLY_WORK, process);
}

static bool real(struct rp_cell c, double *out)
{
	char text[64], *end;

	if (!c.n || c.n >= sizeof(text))
		return false;
	memcpy(text, c.s, c.n);
	text[c.n] = 0;
	*out = strtod(text, &end);
	return !*end;
}

/* Old files of counters have no times: their kernels are in another file, if anywhere. */
static void take_counter(struct table *t)
{
	uint32_t process;
	struct rp_row row = begin_row(t, ROW_KERNEL, &process);
	uint64_t key;
	int64_t end = time_at(t, C_END);

	if (t->r->failed)
		return;
	take_launch(t, &row);
	key = kernel_key(&row);
	if (!end)
		end = (int64_t)map_get(&t->r->kernel_ends, key);
	else if (!map_get(&t->r->seen_kernels, key)) {
		row.of_counters = true;
		if (!bulk_map_set(&t->r->seen_kernels, key, 1))
			t->r->failed = true;
		add(t, &row, ASSEMBLY_WORK, process);
		row.of_counters = false;
	}
	row.what = ROW_COUNTER;
	row.counter = string(t, C_COUNTER);
	if (!real(cell(t, C_VALUE), &row.value))
		unplaced_add(&t->r->left_out, "counters without a value", 1);
	else
		rp_add_row(t->r, &row, ASSEMBLY_WORK, process, UINT64_MAX, end, end, NULL);
}

static void take_sample(struct table *t)
{
	unplaced_add(&t->r->left_out, "samples of kernels' instructions", 1);
}

static void take_scratch(struct table *t)
{
	unplaced_add(&t->r->left_out, "scratch memory", 1);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void read_file(struct rp_reader *r, struct table *t, enum file_kind kind)
{
	static void (*const takes[FILE_KINDS])(struct table *) = {
		[FILE_AGENTS] = take_agent,       [FILE_CALLS] = take_call,
		[FILE_KERNELS] = take_kernel,     [FILE_COPIES] = take_copy,
		[FILE_ALLOCATIONS] = take_memory, [FILE_COUNTERS] = take_counter,
		[FILE_SCRATCH] = take_scratch,    [FILE_SAMPLES] = take_sample};
	uint32_t columns = t->count;

	if (kind != FILE_AGENTS && kind != FILE_SAMPLES && t->unknown)
		unplaced_add(&r->left_out, "columns that are not known", t->unknown);
	while (!r->failed && rp_table_next(t->x, &t->cells, &t->count)) {
		if (t->count != columns) {
			r->unread++;
			continue;
		}
		takes[kind](t);
	}
	r->unread += rp_table_broken(t->x);
	r->damaged += rp_table_cut(t->x);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What files of one process begin with: all before the words that say what they have. */
static size_t beginning(const char *base)
{
	static const char *const words[] = {"agent_info",
					    "kernel_trace",
					    "counter_collection",
					    "memory_copy_trace",
					    "memory_allocation_trace",
					    "scratch_memory_trace",
					    "hip_api_trace",
					    "hsa_api_trace",
					    "marker_api_trace",
					    "rccl_api_trace",
					    "hip_trace",
					    "hsa_trace",
					    "marker_trace"};
	const char *last;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(base, words[i]))
			return (size_t)(strstr(base, words[i]) - base);
	if (strspn(base, "0123456789-") && base[strspn(base, "0123456789-")] == '_')
		return strspn(base, "0123456789-") + 1; /* 4242_cuda_runtime_api_trace.csv */
	last = strstr(base, "_api_trace");              /* of a domain with a name of one word */
	while (last && last > base && last[-1] != '_')
		last--;
	return last ? (size_t)(last - base) : 0;
}

static bool is_pass(const char *name)
{
	return strncmp(name, "pass_", 5) == 0 || strncmp(name, "pmc_", 4) == 0;
}

/* Whose they are: "HOST/4242_", unless the folder is the one that was named, or that of a pass. */
static void set_source(struct rp_reader *r, struct table *t, const char *path)
{
	const char *base = base_of(path), *folder;
	size_t n = beginning(base), named = strlen(r->path);
	char parent[256] = "";

	t->key = hash_bytes(path, (size_t)(base - path) + n);
	t->pid = n ? (uint32_t)strtoul(base, NULL, 10) : 0;
	if (strncmp(path, r->path, named) != 0 || (size_t)(base - path) <= named + 1)
		return;
	snprintf(parent, sizeof(parent), "%.*s", (int)(base - path - 1 > 250 ? 0 : base - path - 1),
		 path);
	folder = base_of(parent);
	if (*folder && !is_pass(folder))
		t->host = rp_text(r, folder, strlen(folder));
}

static void read_one(struct rp_reader *r, const struct file *f)
{
	struct table t = {.r = r};

	set_source(r, &t, f->path);
	if (open_table(&t, f->path))
		read_file(r, &t, f->kind);
	else
		stream_warn(r->o->log, "%s: %s", f->path, strerror(errno));
	rp_table_close(t.x);
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n > m && strcmp(s + n - m, with) == 0;
}

/* Its header has no end: it was cut, whatever it was. */
static bool is_headless(const char *path)
{
	struct rp_table *x = rp_table_open(path);
	const struct rp_cell *cells;
	uint32_t count;
	bool headless = x && (!rp_table_next(x, &cells, &count) || rp_table_cut(x));

	rp_table_close(x);
	return headless;
}

static void add_file(struct folder *f, const char *path)
{
	enum file_kind kind = look_at(path);

	if (kind == FILE_NONE || kind == FILE_SUMS) { /* sums are those of the rows */
		bool cut = kind == FILE_NONE && is_headless(path);

		f->cut += cut;
		f->passed += kind == FILE_NONE && !cut;
		return;
	}
	if (f->count >= PATHS_MAX || !vec_reserve(&f->files, &f->room, f->count, 1)) {
		f->failed = true;
		return;
	}
	f->files[f->count] = (struct file){.path = strdup(path), .kind = kind};
	if (f->files[f->count].path)
		f->count++;
	else
		f->failed = true;
}

/* CSV files in it and, so deep, in folders in it. `first` stops at one that has records. */
static void walk(struct folder *f, const char *path, unsigned deep, bool first)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && !f->failed && (e = readdir(d))) {
		char name[PATH_MAX];
		struct stat st;

		if (e->d_name[0] == '.' ||
		    snprintf(name, sizeof(name), "%s/%s", path, e->d_name) >= (int)sizeof(name))
			continue;
		if (stat(name, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && deep)
			walk(f, name, deep - 1, first);
		else if (S_ISREG(st.st_mode) && ends(name, ".csv"))
			add_file(f, name);
		if (first && f->count)
			break;
	}
	if (d)
		closedir(d);
}

/* Those of the same process as the file. */
static void walk_beside(struct folder *f, const char *path)
{
	const char *base = base_of(path);
	size_t n = beginning(base);
	struct folder all = {0};
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", (int)(base - path), path);
	if (base == path)
		snprintf(folder, sizeof(folder), ".");
	else if (base - path > 1)
		folder[base - path - 1] = 0;
	if (beginning(base) || strncmp(base, "agent_info", 4) == 0)
		walk(&all, folder, 0, false);
	for (uint32_t i = 0; i < all.count; i++) {
		const char *other = base_of(all.files[i].path);

		if (beginning(other) == n && strncmp(other, base, n) == 0 && !f->failed)
			add_file(f, all.files[i].path);
		free(all.files[i].path);
	}
	f->failed |= all.failed;
	free(all.files);
	if (!f->count)
		add_file(f, path);
}

static void release(struct folder *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		free(f->files[i].path);
	free(f->files);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool rp_csv_probe(const char *path)
{
	struct folder f = {0};
	bool is;

	if (is_folder(path))
		walk(&f, path, 3, true);
	else if (ends(path, ".csv"))
		add_file(&f, path);
	is = f.count > 0;
	release(&f);
	return is;
}

static int compare_files(const void *pa, const void *pb)
{
	const struct file *a = pa, *b = pb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->path, b->path);
}

bool rp_read_csv(struct rp_reader *r, const char *path)
{
	struct folder f = {0};

	if (is_folder(path))
		walk(&f, path, 3, false);
	else
		walk_beside(&f, path);
	if (f.count)
		qsort(f.files, f.count, sizeof(*f.files), compare_files);
	if (f.passed)
		unplaced_add(&r->left_out, "CSV files of another kind", f.passed);
	r->damaged += f.cut;
	for (uint32_t i = 0; i < f.count && !r->failed; i++)
		read_one(r, &f.files[i]);
	r->failed |= f.failed;
	release(&f);
	return true;
}
