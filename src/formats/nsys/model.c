/* SPDX-License-Identifier: Apache-2.0 */
/* What records refer to, out of the tables that describe it; see reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/vec.h"
#include "formats/nsys/columns.h"
#include "formats/nsys/reader.h"

/* ---- texts ------------------------------------------------------------------------------------- */

uint32_t nsys_text(struct reader *r, int64_t id)
{
	uint64_t known = map_get(&r->strings.kept, (uint64_t)id);
	struct dbvalue all[DBFILE_COLUMNS];
	const struct dbvalue *v;
	uint32_t string = 0;

	if (known)
		return (uint32_t)known - 1;
	v = dbindex_text(&r->strings, id, C_STRING_TEXT, all);
	if (v)
		string = keyed_text(&r->keyed, v->text, v->length);
	if (!map_set(&r->strings.kept, (uint64_t)id, string + UINT64_C(1)))
		r->failed = true;
	return string;
}

static uint32_t keep(struct reader *r, const struct dbvalue *v)
{
	return v->type == DB_TEXT ? keyed_text(&r->keyed, v->text, v->length) : 0;
}

static const char *text_of(struct reader *r, const struct dbvalue *v)
{
	return keyed_string(&r->keyed, keep(r, v));
}

/* ---- enumerations ------------------------------------------------------------------------------ */

struct name {
	const char *end; /* of the file's name of it */
	uint32_t number; /* ours, and the file's where it has no table of names */
};

static const struct name copy_names[] = {{"_UNKNOWN", COPY_KIND_UNKNOWN},
					 {"_HTOD", COPY_KIND_HTOD},
					 {"_DTOH", COPY_KIND_DTOH},
					 {"_HTOA", COPY_KIND_HTOA},
					 {"_ATOH", COPY_KIND_ATOH},
					 {"_ATOA", COPY_KIND_ATOA},
					 {"_ATOD", COPY_KIND_ATOD},
					 {"_DTOA", COPY_KIND_DTOA},
					 {"_DTOD", COPY_KIND_DTOD},
					 {"_HTOH", COPY_KIND_HTOH},
					 {"_PTOP", COPY_KIND_PTOP},
					 {"_UVM_HTOD", COPY_KIND_UVM_HTOD},
					 {"_UVM_DTOH", COPY_KIND_UVM_DTOH},
					 {"_UVM_DTOD", COPY_KIND_UVM_DTOD},
					 {NULL, 0}};
static const struct name memory_names[] = {
	{"_PAGEABLE", 0}, {"_PINNED", 1},        {"_DEVICE", 2},         {"_ARRAY", 3},
	{"_MANAGED", 4},  {"_DEVICE_STATIC", 5}, {"_MANAGED_STATIC", 6}, {NULL, 0}};
static const struct name sync_names[] = {{"_UNKNOWN", WAIT_UNKNOWN},
					 {"_EVENT_SYNCHRONIZE", WAIT_EVENT},
					 {"_STREAM_WAIT_EVENT", WAIT_QUEUE_EVENT},
					 {"_STREAM_SYNCHRONIZE", WAIT_STREAM},
					 {"_CONTEXT_SYNCHRONIZE", WAIT_CONTEXT},
					 {NULL, 0}};
static const struct name nvtx_names[] = {{"NvtxCategory", NVTX_CATEGORY},
					 {"NvtxMark", NVTX_MARK},
					 {"NvtxPushPopRange", NVTX_PUSH_POP},
					 {"NvtxStartEndRange", NVTX_START_END},
					 {"NvtxDomainCreate", NVTX_DOMAIN},
					 {"NvtxDomainDestroy", NVTX_DOMAIN_END},
					 {NULL, 0}};
static const struct name usage_names[] = {
	{"_ALLOCATION", USAGE_ALLOCATE}, {"_DEALLOCATION", USAGE_FREE}, {NULL, 0}};

static const struct name severity_names[] = {{"Warning", SEVERITY_WARNING},
					     {"WARNING", SEVERITY_WARNING},
					     {"Error", SEVERITY_ERROR},
					     {"ERROR", SEVERITY_ERROR},
					     {NULL, 0}};

static const struct name *names_of(uint32_t which)
{
	return which == T_ENUM_COPY       ? copy_names
	       : which == T_ENUM_MEMORY   ? memory_names
	       : which == T_ENUM_SYNC     ? sync_names
	       : which == T_ENUM_NVTX     ? nvtx_names
	       : which == T_ENUM_SEVERITY ? severity_names
					  : usage_names;
}

/* The one with the longest end that fits: "_UVM_HTOD" ends with "_HTOD", too. */
static const struct name *find_name(const struct name *names, const struct dbvalue *v)
{
	const struct name *best = NULL;

	for (const struct name *n = names; n->end; n++) {
		size_t size = strlen(n->end);

		if (v->length >= size && memcmp(v->text + v->length - size, n->end, size) == 0 &&
		    (!best || size > strlen(best->end)))
			best = n;
	}
	return best;
}

static uint64_t enum_key(uint32_t which, int64_t value)
{
	return hash_mix(hash_u64(which), (uint64_t)value);
}

static void take_enum(struct reader *r, const struct dbrow *row, uint32_t which)
{
	const struct dbvalue *v = dbrow_value(row, C_ENUM_NAME);
	const struct name *n = v->type == DB_TEXT ? find_name(names_of(which), v) : NULL;
	int64_t value = dbrow_has(row, C_ENUM_ID) ? nsys_number(r, row, C_ENUM_ID) : row->id;

	if (n && !map_set(&r->enums, enum_key(which, value), n->number + UINT64_C(1)))
		r->failed = true;
}

uint32_t nsys_enum(const struct reader *r, enum nsys_table which, int64_t value)
{
	uint64_t known = map_get(&r->enums, enum_key(which, value));

	if (known)
		return (uint32_t)known - 1;
	if (r->tables[which].root || value < 0)
		return UINT32_MAX;
	for (const struct name *n = names_of(which); n->end; n++)
		if (n->number == value)
			return n->number;
	return UINT32_MAX;
}

/* ---- processes and threads --------------------------------------------------------------------- */

enum { ID_BITS = 24, ID_MASK = (1 << ID_BITS) - 1 };

uint32_t nsys_process(struct reader *r, int64_t global)
{
	uint64_t key = (uint64_t)global >> ID_BITS;

	return keyed_process(&r->keyed, key, (uint32_t)(key & ID_MASK));
}

uint32_t nsys_thread(struct reader *r, int64_t global)
{
	return keyed_thread(&r->keyed, (uint64_t)global, nsys_process(r, global),
			    (uint32_t)global & ID_MASK);
}

/* Other processes of the machine are listed, too: those are taken that did something. */
static void name_process(struct reader *r, const struct dbrow *row, uint32_t source)
{
	uint64_t key = (uint64_t)nsys_number(r, row, C_PROCESS_GLOBAL) >> ID_BITS;
	uint32_t process = (uint32_t)map_get(&r->keyed.processes, key);
	int64_t pid = nsys_number(r, row, C_PROCESS_PID);

	if (!process)
		return;
	r->t->processes[process].exe = text_of(r, dbrow_value(row, C_PROCESS_NAME));
	if (pid > 0 && pid <= UINT32_MAX)
		r->t->processes[process].pid = (uint32_t)pid;
}

static void name_thread(struct reader *r, const struct dbrow *row, uint32_t source)
{
	uint64_t key = (uint64_t)nsys_number(r, row, C_THREAD_GLOBAL);
	uint32_t thread = (uint32_t)map_get(&r->keyed.threads, key);
	uint32_t name = thread ? nsys_text(r, nsys_number(r, row, C_THREAD_NAME)) : 0;

	if (name)
		r->t->threads[thread].name = keyed_string(&r->keyed, name);
}

static void take_rank(struct reader *r, const struct dbrow *row, uint32_t source)
{
	uint64_t key = (uint64_t)nsys_number(r, row, C_RANK_THREAD) >> ID_BITS;
	uint32_t process = (uint32_t)map_get(&r->keyed.processes, key);
	int64_t rank = nsys_number(r, row, C_RANK_RANK);

	if (!process || rank < 0 || rank >= INT32_MAX)
		return;
	r->t->processes[process].rank = (uint32_t)rank;
	r->t->processes[process].rank_by = "MPI";
}

/* What the tool says of its own recording, as that it lost something. */
static void take_note(struct reader *r, const struct dbrow *row, uint32_t source)
{
	enum { NOTES_MAX = 100 };
	uint32_t severity =
		nsys_enum(r, T_ENUM_SEVERITY, nsys_number(r, row, C_DIAGNOSTIC_SEVERITY));
	const struct dbvalue *text = dbrow_value(row, C_DIAGNOSTIC_TEXT);

	if (severity > SEVERITY_ERROR || text->type != DB_TEXT)
		return;
	if (r->t->notes_count > NOTES_MAX) {
		unplaced_add(&r->left_out, "further messages of the tool", 1);
		return;
	}
	*trace_add(r->t, notes) = (struct t_note){.process = 1,
						  .severity = severity,
						  .part = "nsys",
						  .text = text_of(r, text),
						  .count = 1};
}

static void take_environment(struct reader *r, const struct dbrow *row, uint32_t source)
{
	uint64_t machine = (uint64_t)nsys_number(r, row, C_ENVIRONMENT_MACHINE) >> 2 * ID_BITS;

	if (!dbvalue_is(dbrow_value(row, C_ENVIRONMENT_NAME), "Hostname"))
		return;
	if (!map_set(&r->hosts, machine,
		     keep(r, dbrow_value(row, C_ENVIRONMENT_VALUE)) + UINT64_C(1)))
		r->failed = true;
}

static void take_start(struct reader *r, const struct dbrow *row, uint32_t source)
{
	int64_t utc = nsys_number(r, row, C_START_UTC);

	if (!r->utc && utc > 0 && assembly_is_time(utc))
		r->utc = utc;
}

/* Times of events count from the session's start, which this table has on the system's clock. */
static void take_details(struct reader *r, const struct dbrow *row, uint32_t source)
{
	int64_t start = nsys_number(r, row, C_DETAILS_START);
	int64_t stop = nsys_number(r, row, C_DETAILS_STOP);

	if (start <= stop && assembly_is_time(start) && assembly_is_time(stop))
		assembly_window(&r->all, 0, stop - start);
}

/* ---- devices ----------------------------------------------------------------------------------- */

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* "GPU-01234567-89ab-...", with or without what is before and between. */
static bool parse_uuid(const struct dbvalue *v, uint8_t out[16])
{
	unsigned n = 0;
	uint32_t i = v->type == DB_TEXT && v->length > 4 && memcmp(v->text, "GPU-", 4) == 0 ? 4 : 0;

	for (; v->type == DB_TEXT && i < v->length && n < 32; i++) {
		int d = digit(v->text[i]);

		if (d < 0 && v->text[i] != '-')
			return false;
		if (d < 0)
			continue;
		out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] | d : d << 4);
		n++;
	}
	return n == 32 && i == v->length;
}

/* Under the names that the rules of `kymo diagnose` know. */
static const char *properties_of(struct reader *r, const struct dbrow *row)
{
	static const struct {
		uint8_t column;
		const char *name;
	} numbers[] = {{C_GPU_ID, "device"},
		       {C_GPU_MEMORY, "memory_bytes"},
		       {C_GPU_SMS, "multiprocessors"},
		       {C_GPU_WARP, "warp"},
		       {C_GPU_THREADS, "threads_per_block"},
		       {C_GPU_SHARED, "shared_bytes_per_block"},
		       {C_GPU_REGISTERS, "registers_per_multiprocessor"},
		       {C_GPU_SHARED_SM, "shared_bytes_per_multiprocessor"}};
	struct text out = {0};
	struct json j = {.out = &out, .compact = true};
	const char *kept;

	json_open(&j, '{');
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!dbrow_has(row, numbers[i].column) ||
		    nsys_number(r, row, numbers[i].column) < 0)
			continue;
		json_name(&j, numbers[i].name);
		json_add_unsigned(&j, (uint64_t)nsys_number(r, row, numbers[i].column));
	}
	json_close(&j);
	kept = trace_string(r->t, out.s ? out.s : "", out.length);
	text_release(&out);
	return kept;
}

static void take_gpu(struct reader *r, const struct dbrow *row, uint32_t source)
{
	struct gpu g = {.id = nsys_number(r, row, C_GPU_ID),
			.cuda = nsys_number(r, row, C_GPU_CUDA),
			.has_cuda = dbrow_has(row, C_GPU_CUDA)};

	g.agent = (struct t_agent){.type = "gpu",
				   .name = text_of(r, dbrow_value(row, C_GPU_NAME)),
				   .vendor = "NVIDIA",
				   .driver = "",
				   .domain = "cuda",
				   .platform = "",
				   .properties = properties_of(r, row),
				   .handle = (uint64_t)g.id};
	g.agent.has_uuid = parse_uuid(dbrow_value(row, C_GPU_UUID), g.agent.uuid);
	if (vec_reserve(&r->gpus, &r->gpu_room, r->gpu_count, 1))
		r->gpus[r->gpu_count++] = g;
	else
		r->failed = true;
}

static void take_cuda_device(struct reader *r, const struct dbrow *row, uint32_t source)
{
	if (vec_reserve(&r->devices, &r->device_room, r->device_count, 1))
		r->devices[r->device_count++] = (struct cuda_device){
			nsys_number(r, row, C_DEVICE_GPU), nsys_number(r, row, C_DEVICE_CUDA),
			nsys_number(r, row, C_DEVICE_PID)};
	else
		r->failed = true;
}

/* Place in r->gpus of what the process calls `device`; gpu_count: it is not listed. */
static uint32_t find_gpu(const struct reader *r, uint32_t process, int64_t device)
{
	int64_t id = device;
	bool said = false;

	for (uint32_t i = 0; i < r->device_count && !said; i++) {
		said = r->devices[i].cuda == device &&
		       r->devices[i].pid == (int64_t)r->t->processes[process].pid;
		id = said ? r->devices[i].gpu : id;
	}
	for (uint32_t i = 0; i < r->gpu_count && !said; i++)
		if (r->gpus[i].has_cuda && r->gpus[i].cuda == device)
			return i;
	for (uint32_t i = 0; i < r->gpu_count; i++)
		if (r->gpus[i].id == id)
			return i;
	return r->gpu_count;
}

/*
 * Devices of one name without uuid have no other identity than their number: those before it come first, so
 * that it is the same one in all processes.
 */
static uint32_t agent_of(struct reader *r, uint32_t process, uint32_t gpu)
{
	for (uint32_t i = 0; i < gpu; i++)
		if (r->gpus[i].id < r->gpus[gpu].id && !r->gpus[gpu].agent.has_uuid)
			keyed_agent(&r->keyed, process, UINT64_C(1) << 62 | i, &r->gpus[i].agent);
	return keyed_agent(&r->keyed, process, UINT64_C(1) << 62 | gpu, &r->gpus[gpu].agent);
}

static uint32_t unlisted_agent(struct reader *r, uint32_t process, int64_t device)
{
	struct t_agent a = {.type = "gpu",
			    .vendor = "NVIDIA",
			    .driver = "",
			    .domain = "cuda",
			    .platform = "",
			    .properties = "",
			    .handle = (uint64_t)device};
	char name[40];

	snprintf(name, sizeof(name), "device %lld", (long long)device);
	a.name = keyed_string(&r->keyed, keyed_text(&r->keyed, name, strlen(name)));
	return keyed_agent(&r->keyed, process, (uint64_t)device & INT64_MAX, &a);
}

uint32_t nsys_agent(struct reader *r, uint32_t process, int64_t device)
{
	uint64_t key = hash_mix(hash_u64(process), (uint64_t)device);
	uint64_t known = map_get(&r->agents, key);
	uint32_t gpu, agent;

	if (known)
		return (uint32_t)known - 1;
	if (device < 0 || device >= UINT32_MAX) /* of none */
		return 0;
	gpu = find_gpu(r, process, device);
	agent = gpu < r->gpu_count ? agent_of(r, process, gpu) : unlisted_agent(r, process, device);
	if (!map_set(&r->agents, key, agent + UINT64_C(1)))
		r->failed = true;
	return agent;
}

uint32_t nsys_gpu_agent(struct reader *r, uint32_t process, int64_t gpu)
{
	for (uint32_t i = 0; i < r->gpu_count; i++)
		if (r->gpus[i].id == gpu)
			return agent_of(r, process, i);
	return unlisted_agent(r, process, gpu);
}

/* Streams have numbers in their context: a context is part of their handle where it is not the first one. */
uint32_t nsys_queue(struct reader *r, uint32_t process, uint32_t agent, int64_t context,
		    int64_t stream)
{
	struct t_queue q = {.process = process, .agent = agent, .domain = "cuda", .name = ""};

	if (stream < 0 || stream >= UINT32_MAX || context < 0 || context >= UINT32_MAX)
		return 0;
	q.context = keyed_context(&r->keyed, process, (uint64_t)context, "cuda");
	q.handle = (uint64_t)context << 32 | (uint64_t)stream;
	return keyed_queue(&r->keyed, &q);
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void take_metric(struct reader *r, const struct dbrow *row, uint32_t source)
{
	uint64_t key = hash_mix(hash_u64((uint64_t)nsys_number(r, row, C_METRIC_TYPE)),
				(uint64_t)nsys_number(r, row, C_METRIC_ID));

	if (!map_set(&r->metrics, key, keep(r, dbrow_value(row, C_METRIC_NAME)) + UINT64_C(1)))
		r->failed = true;
}

void nsys_model(struct reader *r)
{
	static const struct {
		enum nsys_table table;
		nsys_take take;
	} order[] = {{T_ENUM_COPY, take_enum},          {T_ENUM_MEMORY, take_enum},
		     {T_ENUM_SYNC, take_enum},          {T_ENUM_NVTX, take_enum},
		     {T_ENUM_USAGE, take_enum},         {T_ENUM_SEVERITY, take_enum},
		     {T_ENVIRONMENT, take_environment}, {T_START_TIME, take_start},
		     {T_DETAILS, take_details},         {T_GPU, take_gpu},
		     {T_CUDA_DEVICE, take_cuda_device}, {T_METRIC, take_metric}};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		nsys_each(r, order[i].table, order[i].take);
}

static void complete_process(struct reader *r, uint64_t key, uint32_t process)
{
	struct t_process *p = &r->t->processes[process];
	uint64_t host = map_get(&r->hosts, key >> ID_BITS);

	p->argv = *p->exe ? p->exe : "(no name)";
	p->hostname = host ? keyed_string(&r->keyed, (uint32_t)host - 1) : "";
	p->file = r->t->path;
	p->realtime_offset = r->utc ? r->utc - r->all.shift : 0;
	p->start_realtime = r->utc ? r->utc + r->all.first : 0;
}

static void count_ranks(struct trace *t)
{
	uint32_t ranks = 0;

	for (uint32_t i = 1; i < t->processes_count; i++)
		ranks += t->processes[i].rank != UINT32_MAX;
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].rank != UINT32_MAX)
			t->processes[i].ranks = ranks > t->processes[i].rank ? ranks : 0;
}

void nsys_name(struct reader *r)
{
	nsys_each(r, T_PROCESS, name_process);
	nsys_each(r, T_THREAD_NAME, name_thread);
	nsys_each(r, T_RANK, take_rank);
	nsys_each(r, T_DIAGNOSTIC, take_note);
	count_ranks(r->t);
}

void nsys_complete(struct reader *r)
{
	struct trace *t = r->t;
	const struct map_entry *m;

	for (size_t at = 0; (m = map_entry(&r->keyed.processes, &at));)
		complete_process(r, m->key, (uint32_t)m->value);
	t->command = t->processes_count > 1 ? t->processes[1].argv : "";
	t->hostname = t->processes_count > 1 ? t->processes[1].hostname : "";
	t->version = "";
	t->started = t->processes_count > 1 ? t->processes[1].start_realtime / 1000000000 : 0;
	t->origin = r->all.first + r->all.shift;
	t->end = r->all.last + r->all.shift;
	if (!keyed_complete(&r->keyed, t->origin, t->end) || !make_complete(t))
		r->failed = true;
}
