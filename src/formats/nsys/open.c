/* SPDX-License-Identifier: Apache-2.0 */
/* The file, its tables and their columns; see reader.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "formats/nsys/columns.h"
#include "formats/nsys/reader.h"

#define WORK(start)                                                                                \
	start, "end", "globalPid", "correlationId", "deviceId", "contextId", "streamId",           \
		"graphNodeId"

/* Columns in the order of columns.h. */
static const struct {
	const char *name, *columns[DBTABLE_WANTED];
} wanted[TABLES] = {
	[T_STRING] = {"StringIds", {"id", "value"}},
	[T_PROCESS] = {"PROCESSES", {"globalPid", "pid", "name"}},
	[T_THREAD_NAME] = {"ThreadNames", {"globalTid", "nameId"}},
	[T_GPU] = {"TARGET_INFO_GPU",
		   {"id", "name", "uuid", "cuDevice", "totalMemory", "smCount", "threadsPerWarp",
		    "maxThreadsPerBlock", "maxShmemPerBlock", "maxRegistersPerSm", "maxShmemPerSm",
		    "busLocation"}},
	[T_CUDA_DEVICE] = {"TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}},
	[T_ENVIRONMENT] = {"TARGET_INFO_SYSTEM_ENV", {"globalVid", "name", "value"}},
	[T_START_TIME] = {"TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}},
	[T_DETAILS] = {"ANALYSIS_DETAILS", {"startTime", "stopTime"}},
	[T_METRIC] = {"TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"}},
	[T_RANK] = {"MPI_RANKS", {"globalTid", "rank"}},
	[T_COMMUNICATOR] = {"MPI_COMMUNICATORS",
			    {"rank", "commHandle", "size", "localRank", "commUid"}},
	[T_ENUM_COPY] = {"ENUM_CUDA_MEMCPY_OPER", {"id", "name"}},
	[T_ENUM_MEMORY] = {"ENUM_CUDA_MEM_KIND", {"id", "name"}},
	[T_ENUM_SYNC] = {"ENUM_CUPTI_SYNC_TYPE", {"id", "name"}},
	[T_ENUM_NVTX] = {"ENUM_NSYS_EVENT_TYPE", {"id", "name"}},
	[T_ENUM_USAGE] = {"ENUM_CUDA_DEV_MEM_EVENT_OPER", {"id", "name"}},
	[T_ENUM_SEVERITY] = {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL", {"id", "name"}},
	[T_DIAGNOSTIC] = {"DIAGNOSTIC_EVENT", {"timestamp", "severity", "text"}},
	[T_RUNTIME] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
		       {"start", "end", "globalTid", "nameId", "textId", "eventClass",
			"correlationId", "returnValue"}},
	[T_KERNEL] = {"CUPTI_ACTIVITY_KIND_KERNEL",
		      {WORK("start"), "demangledName", "shortName", "mangledName", "gridX", "gridY",
		       "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
		       "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread",
		       "graphId", "clusterX", "clusterY", "clusterZ"}},
	[T_GRAPH] = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {WORK("start"), "graphId", "graphExecId"}},
	[T_COPY] = {"CUPTI_ACTIVITY_KIND_MEMCPY",
		    {WORK("start"), "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId",
		     "dstDeviceId", "virtualAddress", "migrationCause"}},
	[T_FILL] = {"CUPTI_ACTIVITY_KIND_MEMSET", {WORK("start"), "bytes", "memKind"}},
	[T_SYNC] = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {WORK("start"), "syncType", "eventId"}},
	[T_EVENT] = {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", {WORK("timestamp"), "eventId"}},
	[T_CPU_FAULT] = {"CUDA_UM_CPU_PAGE_FAULT_EVENTS", {WORK("start"), "address"}},
	[T_GPU_FAULT] = {"CUDA_UM_GPU_PAGE_FAULT_EVENTS",
			 {WORK("start"), "address", "numberOfPageFaults"}},
	[T_USAGE] = {"CUDA_GPU_MEMORY_USAGE_EVENTS",
		     {WORK("start"), "address", "bytes", "memKind", "memoryOperationType"}},
	[T_NVTX] = {"NVTX_EVENTS",
		    {"start", "end", "eventType", "globalTid", "text", "textId", "domainId",
		     "category", "color", "uint64Value", "int64Value", "doubleValue", "uint32Value",
		     "int32Value", "floatValue", "jsonText", "jsonTextId", "binaryData"}},
	[T_GPU_METRIC] = {"GPU_METRICS", {"timestamp", "typeId", "metricId", "value"}},
	[T_SAMPLE] = {"COMPOSITE_EVENTS", {"id", "start", "cpu", "globalTid", "cpuCycles"}},
	[T_FRAME] = {"SAMPLING_CALLCHAINS",
		     {"id", "stackDepth", "symbol", "module", "kernelMode", "unresolved",
		      "originalIP"}},
};

static const char *const call_columns[] = {
	"start",         "end",         "globalTid",     "nameId", "textId",     "eventClass",
	"correlationId", "returnValue", "commHandle",    "tag",    "remoteRank", "rootRank",
	"size",          "recvSize",    "requestHandle", NULL};

/* ---- tables ------------------------------------------------------------------------------------ */

static bool begins(const struct dbvalue *name, const char *text)
{
	size_t n = strlen(text);

	return name->length >= n && memcmp(name->text, text, n) == 0;
}

static bool ends(const struct dbvalue *name, const char *text)
{
	size_t n = strlen(text);

	return name->length >= n && memcmp(name->text + name->length - n, text, n) == 0;
}

/* What describes others, or says what is not of the program: no records of it are missed. */
static bool is_description(const struct dbvalue *name)
{
	static const char *const first[] = {
		"ENUM_",     "META_DATA_",    "TARGET_INFO_", "sqlite_",        "EXPORT_",
		"ANALYSIS_", "NVTX_PAYLOAD_", "NVTX_SCOPES",  "GENERIC_EVENT_", "ProcessStreams"};

	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		if (begins(name, first[i]))
			return true;
	return false;
}

/* Its calls would be there twice, or are the profiler's own. */
static bool is_other(const struct dbvalue *name)
{
	return begins(name, "CUDA_") || begins(name, "CUPTI_") || begins(name, "PROFILER_") ||
	       !(ends(name, "_API") || ends(name, "_EVENTS"));
}

/* "MPI_P2P_EVENTS" is of mpi. */
static void domain_of(const struct dbvalue *name, char out[40])
{
	uint32_t n = 0;

	for (; n < name->length && n < 39 && name->text[n] != '_'; n++)
		out[n] = (char)tolower((unsigned char)name->text[n]);
	out[n] = '\0';
}

/* A table of calls: intervals of threads with names. */
static bool add_calls(struct reader *r, const struct dbvalue *name, const struct dbtable *t)
{
	struct calls *c = &r->calls[r->calls_count];

	if (r->calls_count == CALLS_MAX || is_other(name) || t->at[C_CALL_START] < 0 ||
	    t->at[C_CALL_END] < 0 || t->at[C_CALL_THREAD] < 0 ||
	    (t->at[C_CALL_NAME] < 0 && t->at[C_CALL_TEXT] < 0))
		return false;
	c->table = *t;
	c->name = trace_string(r->t, name->text, name->length);
	domain_of(name, c->domain);
	r->calls_count++;
	return true;
}

/* Tables that are not known are told by their names. */
static void leave_out(struct reader *r, const struct dbvalue *name, uint32_t root)
{
	if (r->unknown++ < DBTABLE_UNKNOWN)
		unplaced_rows(&r->left_out, r->t, name->text, name->length,
			      dbtable_rows(&r->file, root));
	else
		unplaced_add(&r->left_out, "further tables", 1);
}

static bool add_table(void *data, const struct dbvalue *name, uint32_t root,
		      const struct dbvalue *sql)
{
	struct reader *r = data;
	struct dbtable other = {.root = root};

	for (unsigned i = 0; i < TABLES; i++) {
		if (!dbvalue_is(name, wanted[i].name))
			continue;
		r->tables[i].root = root;
		dbtable_find_columns(&r->tables[i], wanted[i].columns, sql);
		return true;
	}
	dbtable_find_columns(&other, call_columns, sql);
	if (!add_calls(r, name, &other) && !is_description(name))
		leave_out(r, name, root);
	return true;
}

/* ---- the file ---------------------------------------------------------------------------------- */

/* A table without the columns that its rows begin with cannot be read. */
static bool check_table(struct reader *r, unsigned which, unsigned first, unsigned count)
{
	if (!r->tables[which].root)
		return true;
	for (unsigned i = first; i < first + count; i++) {
		if (r->tables[which].at[i] >= 0)
			continue;
		stream_error(r->o->log,
			     "%s: its table %s has no column %s: export it again with "
			     "`nsys export --type sqlite`",
			     r->path, wanted[which].name, wanted[which].columns[i]);
		return false;
	}
	return true;
}

static bool check_tables(struct reader *r)
{
	bool ok = true;

	for (unsigned i = T_KERNEL; i <= T_SYNC; i++)
		ok = ok && check_table(r, i, C_WORK_START, 2);
	for (unsigned i = T_EVENT; i <= T_USAGE; i++)
		ok = ok && check_table(r, i, C_WORK_START, 1);
	return ok && check_table(r, T_STRING, C_STRING_ID, 2) &&
	       check_table(r, T_RUNTIME, C_CALL_START, 4) &&
	       check_table(r, T_NVTX, C_NVTX_START, 1) &&
	       check_table(r, T_GPU_METRIC, C_METRIC_TIME, 4) &&
	       check_table(r, T_SAMPLE, C_SAMPLE_ID, 4) &&
	       check_table(r, T_FRAME, C_FRAME_SAMPLE, 3);
}

static kymo_status_t refuse(struct reader *r, const char *why)
{
	stream_error(r->o->log, "%s: %s", r->path, why);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

kymo_status_t nsys_open(struct reader *r, const char *path)
{
	char why[200];
	bool any = false;

	r->path = path;
	if (!dbfile_open(&r->file, path, why, sizeof(why)))
		return refuse(r, why);
	dbtable_each(&r->file, add_table, r);
	for (unsigned i = T_RUNTIME; i < TABLES; i++)
		any |= r->tables[i].root != 0;
	if (!any && !r->calls_count)
		return refuse(r, "no table of Nsight Systems with events is in it: export it "
				 "again with `nsys export --type sqlite`");
	if (!check_tables(r))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!r->tables[T_STRING].root)
		return refuse(r, "its table StringIds, which has all names, is missing");
	return dbindex_open(&r->strings, &r->file, &r->tables[T_STRING]) ? KYMO_OK
									 : KYMO_ERROR_NO_MEMORY;
}

struct seen {
	bool strings, events;
};

static bool see_table(void *data, const struct dbvalue *name, uint32_t root,
		      const struct dbvalue *sql)
{
	struct seen *s = data;

	s->strings |= dbvalue_is(name, wanted[T_STRING].name);
	s->events |= begins(name, "CUPTI_ACTIVITY_KIND_") || begins(name, "ENUM_NSYS_EVENT_") ||
		     dbvalue_is(name, "NVTX_EVENTS") || dbvalue_is(name, "OSRT_API") ||
		     dbvalue_is(name, wanted[T_SAMPLE].name);
	return !s->strings || !s->events;
}

/* Its first pages name the tables, or, where there are many, its schema does. */
bool nsys_probe(const char *path)
{
	struct seen seen = {0};
	struct dbfile f;
	char why[200];

	if (dbfile_probe(path, "StringIds") &&
	    (dbfile_probe(path, "CUPTI_ACTIVITY_KIND_") || dbfile_probe(path, "NVTX_EVENTS") ||
	     dbfile_probe(path, "OSRT_API") || dbfile_probe(path, "COMPOSITE_EVENTS")))
		return true;
	if (!dbfile_open(&f, path, why, sizeof(why)))
		return false;
	dbtable_each(&f, see_table, &seen);
	dbfile_close(&f);
	return seen.strings && seen.events;
}

void nsys_each(struct reader *r, uint32_t source, nsys_take take)
{
	struct dbtable *t = nsys_table(r, source);
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbwalk w;
	struct dbrow row;

	if (!t->root)
		return;
	dbwalk_init(&w, &r->file, t->root);
	while (!r->failed && dbwalk_next(&w))
		if (dbrow_read(t, &w, all, &row))
			take(r, &row, source);
	dbwalk_release(&w);
}
