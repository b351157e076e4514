/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions: what records refer to. They travel in chunks of type WIRE_CHUNK_DEFINITIONS, are
 * never dropped, and reach the file before the records that use them. They may refer to later ones
 * themselves: read all of them first.
 *
 * A definition is   kind u16 | count u16 | bytes u32   followed by `count` values, each
 *   tag_length u32 (low 4 bits 0: u64, 1: bytes; upper 28 bits: length)   data   padding to 4.
 * The list below gives the values of each kind in order; new ones are appended, a reader takes
 * missing ones as 0 or empty, and skips kinds it does not know. Ids start at 1; 0 is "none".
 * A tick is a value of the process's tick source (PROCESS.tick_source).
 */
#ifndef WIRE_DEFS_H
#define WIRE_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(KIND, number) followed by its values; see enum def_* below for the indexes. */
enum wire_def_kind {
	DEF_PROCESS = 1,
	DEF_DOMAIN = 2,
	DEF_ENUM_SET = 3,
	DEF_OP = 4,
	DEF_THREAD = 5,
	DEF_SITE = 6,
	DEF_STACK = 7,
	DEF_MODULE = 8,
	DEF_AGENT = 9,
	DEF_DEVICE_CONTEXT = 10,
	DEF_QUEUE = 11,
	DEF_PROGRAM = 12,
	DEF_KERNEL = 13,
	DEF_BLOB = 14,
	DEF_CLOCK_SYNC = 15,
	DEF_TICK_SYNC = 16,
	DEF_NOTE = 17,
	DEF_THREAD_END = 18,
	DEF_PROCESS_END = 19,
	DEF_CLOCK = 20,
	DEF_OVERHEAD = 21,
	DEF_STRING = 22,
	DEF_NAME = 23,
	DEF_COUNTER = 24,
	DEF_COMMUNICATOR = 25,
	DEF_RANK = 26,
	DEF_JOB_CLOCK = 27,
	DEF_JOB_TALLY = 28,
	DEF_JOB_GIVEN = 29,
	DEF_CODE = 30,
	DEF_RECORDING = 31,
	DEF_PLACE = 32,
	DEF_COUNT = 33
};

/* s: bytes/string, u: u64. */
/* A line for each field would hide what belongs together. */
/* clang-format off */
enum def_process { /* u pid, u ppid, s exe, s argv (NUL separated), s cwd, s hostname,
		      u tick_source (1 TSC, 2 CLOCK_MONOTONIC_RAW ns, 3 CNTVCT), u ticks_per_second
		      (estimate), u start_realtime_ns, u start_monotonic_raw_ns, u start_tick,
		      s environment of interest (NUL separated), u 0 (not used),
		      s kymo_version, u arg level (0 none 1 scalars 2 full), u uid, u role (PROCESS_*) */
	DEF_PROCESS_PID, DEF_PROCESS_PPID, DEF_PROCESS_EXE, DEF_PROCESS_ARGV, DEF_PROCESS_CWD,
	DEF_PROCESS_HOSTNAME, DEF_PROCESS_TICK_SOURCE, DEF_PROCESS_TICK_RATE,
	DEF_PROCESS_START_REALTIME, DEF_PROCESS_START_MONOTONIC, DEF_PROCESS_START_TICK,
	DEF_PROCESS_ENVIRONMENT, DEF_PROCESS_TRACED_PARENT, DEF_PROCESS_VERSION,
	DEF_PROCESS_ARG_LEVEL, DEF_PROCESS_UID, DEF_PROCESS_ROLE
};
enum { PROCESS_TRACED = 0, PROCESS_TELEMETRY = 1 /* the launcher's sampler, no process of the program */ };
enum def_domain { /* u id, s name, s title, u base (wire op = base + op), u op_count, u version */
	DEF_DOMAIN_ID, DEF_DOMAIN_NAME, DEF_DOMAIN_TITLE, DEF_DOMAIN_BASE, DEF_DOMAIN_OPS,
	DEF_DOMAIN_VERSION
};
enum def_enum_set { /* u id, s name, s values: repeated (i64 value, u16 length, name) */
	DEF_ENUM_SET_ID, DEF_ENUM_SET_NAME, DEF_ENUM_SET_VALUES
};
enum def_op { /* u wire op, s name, u flags (KYMO_OP_*), u status enum set id or 0, u field_count,
		 s fields: repeated (u8 kind, u8 element, u8 size, u8 flags, u32 set id,
		 u16 name length, name, u16 type length, type), u status_ok (i32), u domain id */
	DEF_OP_WIRE, DEF_OP_NAME, DEF_OP_FLAGS, DEF_OP_STATUS_SET, DEF_OP_FIELD_COUNT, DEF_OP_FIELDS,
	DEF_OP_STATUS_OK, DEF_OP_DOMAIN
};
enum def_thread { /* u index, u tid, s name, u start tick, u main (1), u made by Kymo (1) */
	DEF_THREAD_INDEX, DEF_THREAD_TID, DEF_THREAD_NAME, DEF_THREAD_START, DEF_THREAD_MAIN,
	DEF_THREAD_OWN
};
enum def_site { /* u id, u address; where a file of another tool told them: s function, s file, u line (the
		   address is a number in its place then) */
	DEF_SITE_ID, DEF_SITE_ADDRESS, DEF_SITE_FUNCTION, DEF_SITE_FILE, DEF_SITE_LINE
};
enum def_stack { /* u id, s addresses (u64 each, innermost first), u why it ends there (enum stack_end) */
	DEF_STACK_ID, DEF_STACK_ADDRESSES, DEF_STACK_END
};
enum def_module { /* u start, u end (addresses), u offset (load bias), s path, s build id (raw),
		     u tick when seen */
	DEF_MODULE_START, DEF_MODULE_END, DEF_MODULE_BIAS, DEF_MODULE_PATH, DEF_MODULE_BUILD_ID,
	DEF_MODULE_TICK
};
enum def_agent { /* u id, s type ("cpu" "gpu" "accelerator" "custom"), s name, s vendor, s driver,
		    s domain ("opencl"), u handle, u parent id (sub-devices), s properties (JSON),
		    u clock id, s uuid (raw), s platform */
	DEF_AGENT_ID, DEF_AGENT_TYPE, DEF_AGENT_NAME, DEF_AGENT_VENDOR, DEF_AGENT_DRIVER,
	DEF_AGENT_DOMAIN, DEF_AGENT_HANDLE, DEF_AGENT_PARENT, DEF_AGENT_PROPERTIES,
	DEF_AGENT_CLOCK, DEF_AGENT_UUID, DEF_AGENT_PLATFORM
};
enum def_device_context { /* u id, s domain, u handle, s agent ids (u64 each), u tick */
	DEF_DEVICE_CONTEXT_ID, DEF_DEVICE_CONTEXT_DOMAIN, DEF_DEVICE_CONTEXT_HANDLE,
	DEF_DEVICE_CONTEXT_AGENTS, DEF_DEVICE_CONTEXT_TICK
};
enum def_queue { /* u id, s domain, u handle, u agent id, u device context id, u properties,
		    u flags (1 out of order, 2 profiling forced on by Kymo, 4 on device), u tick,
		    s name */
	DEF_QUEUE_ID, DEF_QUEUE_DOMAIN, DEF_QUEUE_HANDLE, DEF_QUEUE_AGENT, DEF_QUEUE_CONTEXT,
	DEF_QUEUE_PROPERTIES, DEF_QUEUE_FLAGS, DEF_QUEUE_TICK, DEF_QUEUE_NAME
};
enum { QUEUE_OUT_OF_ORDER = 1, QUEUE_PROFILING_FORCED = 2, QUEUE_ON_DEVICE = 4 };
enum def_program { /* u id, s domain, u handle, u context id, s kind ("source" "binary" "il"
		      "builtin" "linked"), u source blob id, u tick, s name (the user's) */
	DEF_PROGRAM_ID, DEF_PROGRAM_DOMAIN, DEF_PROGRAM_HANDLE, DEF_PROGRAM_CONTEXT,
	DEF_PROGRAM_KIND, DEF_PROGRAM_SOURCE, DEF_PROGRAM_TICK, DEF_PROGRAM_NAME
};
enum def_kernel { /* u id, s domain, s name (the user's), u program id, u handle, u tick; of one that a
		     framework generated: s name in its runtime, s framework, s source file,
		     s device as the framework calls it */
	DEF_KERNEL_ID, DEF_KERNEL_DOMAIN, DEF_KERNEL_NAME, DEF_KERNEL_PROGRAM, DEF_KERNEL_HANDLE,
	DEF_KERNEL_TICK, DEF_KERNEL_SYMBOL, DEF_KERNEL_FRAMEWORK, DEF_KERNEL_SOURCE,
	DEF_KERNEL_DEVICE
};
enum def_blob { /* u id, s what ("source" "build log" "build options" ...), u offset, u total,
		   s data (this piece), u stored (bytes kept in all; < total: cut at the cap) */
	DEF_BLOB_ID, DEF_BLOB_WHAT, DEF_BLOB_OFFSET, DEF_BLOB_TOTAL, DEF_BLOB_DATA, DEF_BLOB_STORED
};
#define DEF_BLOB_PIECE 8192u
enum def_clock { /* u id, s name, s kind ("device" "host"), u nanoseconds per 1000 units */
	DEF_CLOCK_ID, DEF_CLOCK_NAME, DEF_CLOCK_KIND, DEF_CLOCK_RATE
};
enum def_clock_sync { /* u clock id, u tick before, u tick after, u clock value: read between;
			 u method (1 API that samples the clock, 2 bounds from events: the clock
			 value lies between the two ticks), u what before and after are (CLOCK_SYNC_*) */
	DEF_CLOCK_SYNC_CLOCK, DEF_CLOCK_SYNC_BEFORE, DEF_CLOCK_SYNC_AFTER, DEF_CLOCK_SYNC_VALUE,
	DEF_CLOCK_SYNC_METHOD, DEF_CLOCK_SYNC_HOST
};
enum { CLOCK_SYNC_TICKS = 0, CLOCK_SYNC_NODE_TIME = 1 /* ns */ };
enum def_tick_sync { /* u tick before, u tick after, u CLOCK_MONOTONIC_RAW ns, u CLOCK_REALTIME ns */
	DEF_TICK_SYNC_BEFORE, DEF_TICK_SYNC_AFTER, DEF_TICK_SYNC_RAW, DEF_TICK_SYNC_REALTIME
};
enum def_note { /* u severity (1 info, 2 warning, 3 error), s part ("opencl"), s text, u tick,
		   u count (for counted notes) */
	DEF_NOTE_SEVERITY, DEF_NOTE_PART, DEF_NOTE_TEXT, DEF_NOTE_TICK, DEF_NOTE_COUNT
};
enum def_thread_end { /* u index, u tick, u records, u lost, u ns on a processor (0: unknown) */
	DEF_THREAD_END_INDEX, DEF_THREAD_END_TICK, DEF_THREAD_END_RECORDS, DEF_THREAD_END_LOST,
	DEF_THREAD_END_PROCESSOR
};
enum def_process_end { /* u how (1 finalised normally, 2 exec), u tick, u records lost,
			  u definitions lost, u untraced calls (counted), u records not timed */
	DEF_PROCESS_END_HOW, DEF_PROCESS_END_TICK, DEF_PROCESS_END_LOST, DEF_PROCESS_END_DEFS_LOST,
	DEF_PROCESS_END_UNTRACED, DEF_PROCESS_END_UNTIMED
};

enum def_overhead { /* u ticks a record costs, times 1000; u ticks measured besides (collecting,
		       definitions) up to now; u ticks of loading (before this member: in those measured): of
		       several definitions the last counts */
	DEF_OVERHEAD_RECORD, DEF_OVERHEAD_MEASURED, DEF_OVERHEAD_LOADING
};
enum def_string { /* u id, s text, u bytes it had (more than `text`: cut), names of markers, of
		     their domains and categories */
	DEF_STRING_ID, DEF_STRING_TEXT, DEF_STRING_TOTAL
};
enum def_name { /* u what (kymo_object_t), s domain, u handle (of threads: tid), s name, u tick: the
		   user's name for an object, from then on */
	DEF_NAME_WHAT, DEF_NAME_DOMAIN, DEF_NAME_HANDLE, DEF_NAME_NAME, DEF_NAME_TICK
};

enum def_counter { /* u id, s name ("sum(wave)"), s unit, s description, s provider, u agent id (0: the
		      host), u flags (KYMO_COUNTER_GAUGE), s dimensions ("XCC:8,SE:4", row by row) */
	DEF_COUNTER_ID, DEF_COUNTER_NAME, DEF_COUNTER_UNIT, DEF_COUNTER_DESCRIPTION,
	DEF_COUNTER_PROVIDER, DEF_COUNTER_AGENT, DEF_COUNTER_FLAGS, DEF_COUNTER_DIMENSIONS
};

enum def_communicator { /* u id, s name, u kind (COMMUNICATOR_*), u members, s members as runs (u32 first
			   rank of the world, u32 count, i32 stride; a rank of 2^32-1 is in another
			   world), u parent id, u key (the same in all its members), u handle, u tick,
			   u members of the remote group, s these as runs, u own rank in it + 1 where that
			   may be the process's (0: unknown): of several definitions of an id the last
			   counts */
	DEF_COMMUNICATOR_ID, DEF_COMMUNICATOR_NAME, DEF_COMMUNICATOR_KIND, DEF_COMMUNICATOR_SIZE,
	DEF_COMMUNICATOR_MEMBERS, DEF_COMMUNICATOR_PARENT, DEF_COMMUNICATOR_KEY,
	DEF_COMMUNICATOR_HANDLE, DEF_COMMUNICATOR_TICK, DEF_COMMUNICATOR_REMOTE_SIZE,
	DEF_COMMUNICATOR_REMOTE, DEF_COMMUNICATOR_OWN_RANK
};
enum { COMMUNICATOR_INTRA = 0, COMMUNICATOR_INTER = 1, COMMUNICATOR_WINDOW = 2, COMMUNICATOR_FILE = 3 };
enum def_rank { /* u rank, u size, s implementation ("Open MPI"), s its version, u thread level + 1 (0:
		   unknown; 1 single, 2 funneled, 3 serialized, 4 multiple in all known ABIs), u tick,
		   s job id, u stage (enum rank_stage, 0 unknown); the last one counts */
	DEF_RANK_RANK, DEF_RANK_SIZE, DEF_RANK_IMPLEMENTATION, DEF_RANK_VERSION, DEF_RANK_THREADS,
	DEF_RANK_TICK, DEF_RANK_JOB, DEF_RANK_STAGE
};
enum rank_stage { RANK_INITIALIZED = 1, RANK_FINALIZING = 2 };
enum def_job_clock { /* u tick, u node time (ns), i offset in ns (job time = node time + offset), u bound of
			its error in ns, u method (JOB_CLOCK_*), i offset as measured against the rank
			below, u bound of that, u that rank, u exchanges made */
	DEF_JOB_CLOCK_TICK, DEF_JOB_CLOCK_NODE, DEF_JOB_CLOCK_OFFSET, DEF_JOB_CLOCK_ERROR,
	DEF_JOB_CLOCK_METHOD, DEF_JOB_CLOCK_MEASURED, DEF_JOB_CLOCK_BOUND, DEF_JOB_CLOCK_AGAINST,
	DEF_JOB_CLOCK_EXCHANGES
};
enum { JOB_CLOCK_SAME = 1, /* the clock of rank 0's node, or of a rank's that is aligned */
       JOB_CLOCK_MEASURED_OFFSET = 2 };
enum def_code { /* u id, s function (symbol), s file, u line (0: not known), u module (checksum), u offset
		   in the function: an instruction of a kernel */
	DEF_CODE_ID, DEF_CODE_FUNCTION, DEF_CODE_FILE, DEF_CODE_LINE, DEF_CODE_MODULE, DEF_CODE_OFFSET
};

enum def_place { /* u id, u program id, s function, s what ("block" "load" "store" "rw" "atomic", or the work: "flop_single",
		    "barrier", "branch" ...), s kind of the block ("function" "then" "loop" ...) or address space of the access
		    ("global" ...), u id of the block it belongs to (of a block 0), u times that an execution of the block does it,
		    u bytes of one access, s file ("": the program's source), u line, u column: a part of a kernel */
	DEF_PLACE_ID, DEF_PLACE_PROGRAM, DEF_PLACE_FUNCTION, DEF_PLACE_WHAT, DEF_PLACE_KIND, DEF_PLACE_BLOCK,
	DEF_PLACE_TIMES, DEF_PLACE_BYTES, DEF_PLACE_FILE, DEF_PLACE_LINE, DEF_PLACE_COLUMN
};

enum def_job_tally { /* u offset, u total, s data (this piece): the tallies of ranks, wire/job_tally.h */
	DEF_JOB_TALLY_OFFSET, DEF_JOB_TALLY_TOTAL, DEF_JOB_TALLY_DATA
};
#define DEF_JOB_TALLY_PIECE 16384u
enum def_recording { /* u 1: recording goes on, 0: it stops; u tick, 0: with the process. Of a child by fork()
			those after its DEF_PROCESS count. Without any it is on all the time; before the
			first it is off */
	DEF_RECORDING_ON, DEF_RECORDING_TICK
};
enum def_job_given { /* s indexes of threads that have ended (u32 each): all their tallies, and what
			entries with WIRE_TALLY_GIVEN say, are in the job's DEF_JOB_TALLY if that was
			written; s in the first: the process's numbers that are in it, as job_tally.total */
	DEF_JOB_GIVEN_THREADS, DEF_JOB_GIVEN_TOTALS
};

#define WIRE_DEF_VALUES 24

/* One value while a definition is built or after it was read. Strings are borrowed. */
struct wire_def_value {
	bool is_bytes;
	uint64_t u;
	const char *s;
	size_t length;
};

struct wire_def {
	uint16_t kind;
	uint16_t count;
	struct wire_def_value v[WIRE_DEF_VALUES];
};
/* clang-format on */

static inline void wire_def_init(struct wire_def *d, uint16_t kind)
{
	d->kind = kind;
	d->count = 0;
}

/* Values are added in the order of the kind's list. */
void wire_def_u64(struct wire_def *d, uint64_t value);
void wire_def_string(struct wire_def *d, const char *s); /* NULL is empty */
void wire_def_bytes(struct wire_def *d, const void *data, size_t length);

/* Bytes the definition takes on the wire. */
size_t wire_def_size(const struct wire_def *d);

/* Writes it to `out`, which has wire_def_size() bytes. */
void wire_def_write(const struct wire_def *d, void *out);

/*
 * Reads the definition at *p (4-byte aligned lengths) and advances. 1: read, 0: at the end,
 * -1: damaged. Values borrow from the buffer.
 */
int wire_def_read(const uint8_t **p, const uint8_t *end, struct wire_def *out);

/* Value `i`, 0 or empty where it is missing. */
uint64_t wire_def_get(const struct wire_def *d, unsigned i);
const char *wire_def_text(const struct wire_def *d, unsigned i, size_t *length);

#endif
