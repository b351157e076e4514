/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event stream: what every reader produces and every writer consumes.
 *
 *   reader (formats/raw, formats/store, ...) -> adaptors (filter, window, order, ...) -> writer
 *
 * A reader first hands over the definitions (struct trace: everything records refer to, complete,
 * in memory, small), then the records one by one. Times are nanoseconds of node time
 * (CLOCK_MONOTONIC_RAW of the node; trace->origin is the earliest, subtract it to display).
 * Records are borrowed for the duration of the call.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/schema.h>
#include <kymo/status.h>

#include "record/fields.h"
#include "record/tallies.h"
#include "record/types.h"
#include "wire/wire.h"

/* No count of what is lost or left out is larger: of more, readers believe none. */
#define COUNT_MAX (UINT64_C(1) << 53)

/* ---- definitions: arrays indexed by global index; index 0 of each is "none" --------------- */

struct t_enum_set {
	const char *name;
	kymo_enum_value_t *values; /* ascending by value (trace_sort_enum_set) */
	uint32_t count;
};

struct t_field {
	const char *name;
	const char *type;
	const struct t_enum_set *set; /* or NULL */
	uint8_t kind, element, size, flags;
	uint8_t reference; /* enum record_reference: what its value is the index of */
};

struct t_domain {
	const char *name;  /* "opencl" */
	const char *title; /* "OpenCL" */
};

struct t_op {
	const char *name;
	uint32_t domain; /* index */
	uint32_t number; /* within the domain */
	uint32_t flags;  /* KYMO_OP_* */
	const struct t_enum_set *status_set;
	int32_t status_ok;
	uint32_t field_count;
	struct t_field *fields;
};

/*
 * Ids that the records of a process hold, as a reader finds them: it gives the index of what `id`
 * is, 0 if it is nothing. Calls have no index; their numbers stay as they are.
 */
struct t_ids {
	uint64_t (*index)(const struct t_ids *ids, enum record_reference what, uint64_t id);
};

/* What is known of a process whose file cannot be read, its manifest tells: all records are lost. */
enum file_state { FILE_READ = 0, FILE_MISSING = 1, FILE_UNREADABLE = 2 };

struct t_process {
	uint32_t pid, ppid, rank; /* rank UINT32_MAX: unknown */
	const char *name;         /* what the user called it, or NULL */
	const char *exe;          /* path */
	const char *argv;         /* words joined by spaces, quoted where needed */
	const char *cwd;
	const char *hostname;
	const char *job;         /* or "" */
	const char *file;        /* raw file it came from */
	const char *version;     /* of Kymo in the process */
	int64_t start, end;      /* ns node time; end 0: unknown */
	int64_t start_realtime;  /* ns since the epoch */
	int64_t realtime_offset; /* realtime - node time */
	uint32_t arg_level;
	uint32_t how_ended; /* struct raw_end.how; UINT32_MAX: no end was recorded */
	int32_t exit_status;
	uint64_t lost_records, lost_definitions, untraced_calls, untimed;
	uint64_t overwritten_records; /* of a flight recorder: gave way to newer ones, no loss */
	uint64_t damaged_blocks;      /* blocks of its file that could not be read */
	double clock_error_ns;        /* bound of tick to node time */
	double record_cost_ns;      /* what one record cost, measured in the process; 0: unknown */
	double overhead_ns;         /* timed as it was spent: collecting, definitions, chunks */
	double loading_ns;          /* of Kymo's libraries, reckoned */
	double calls_cost_ns;       /* of its calls, from samples */
	double calls_cost_variance; /* of that: ns squared */
	uint64_t cost_samples;
	double waiting_ns;   /* for room */
	double beside_ns;    /* of processors, by threads that are not the program's */
	double drain_ns;     /* likewise, by the process that takes the records */
	uint32_t ranks;      /* of its job, 0: unknown */
	const char *rank_by; /* of a rank: who says so: "MPI", "NCCL", "torchrun" ...; or "" */
	/* Of a process that is no rank and belongs to one, as a worker that it has started: that; else
	 * UINT32_MAX. */
	uint32_t of_rank;
	uint32_t world;       /* of a rank: its MPI_COMM_WORLD, numbered as they began */
	const char *mpi;      /* implementation, or "" */
	int32_t thread_level; /* 0 single, 1 funneled, 2 serialized, 3 multiple; -1: unknown */
	bool aligned;         /* its clock was compared with that of the job's rank 0 ... */
	uint32_t job_points;  /* ... so many times */
	int64_t job_offset;   /* ns added to its node's time for the job's, at its start */
	double job_error_ns;  /* bound of that */
	int64_t job_measured; /* offset as measured against another rank ... */
	double job_measured_error_ns; /* ... and the bound of the measurement */
	uint32_t merged_ranks; /* ranks whose tallies were added up in the job; 0: a process */
	double thread_time_ns; /* that threads of those ranks were there; below 0, of one of them whose
				     own threads are here as well: that of these */
	bool telemetry;        /* Kymo's sampler on that host: no process of the program */
	uint64_t unwritten_records; /* of those lost: the file system refused them */
	uint64_t unlisted; /* commands never seen to finish that `unfinished` has no room for */
	uint64_t no_memory_records; /* of those lost: the process had no memory for them */
	uint64_t dropped_records;   /* of those lost: the runtime that they are of dropped them */
	uint64_t left_out_rows; /* of the ranks that it stands for: their job's table had no room */
	/*
	 * On processors, in the program and in the system for it, and memory that was resident at most; exec ends
	 * no process: what comes after it has what was before as well.
	 */
	uint64_t user_ns, system_ns, resident_bytes;
	uint32_t usage; /* enum raw_usage: how much is known of these */
	uint64_t
		delay_ns; /* that its main thread was ready to run and had no processor, at least; 0: unknown */
	uint32_t file_state; /* enum file_state */
	uint32_t rank_stage; /* enum rank_stage, 0 unknown: whether it came to MPI_Finalize */
	int64_t seen;        /* ns node time up to which it is known, where there is no end */
	bool recording;      /* has no end because it is still being recorded; then: */
	int64_t quiet_ns;    /* since its file has grown */
	const char *filters; /* options that left something out: "-x '^clGet'", or "" */
	bool some_ranks;     /* of its job alone were recorded (--rank) */
	bool partial; /* of work and calls a part was recorded (-i, -x, -k, --device, --range): gaps are no rest */
	const struct t_ids *ids; /* NULL: records hold indexes */
};

struct t_pause { /* in which its process recorded nothing, though it was there */
	uint32_t process;
	int64_t start, end;
};

struct t_thread {
	uint32_t process; /* index */
	uint32_t index;   /* in the process */
	uint32_t tid;
	const char *name; /* or "" */
	int64_t start, end;
	uint64_t records, lost;
	uint64_t processor_ns; /* 0: unknown */
	bool main;
	bool own; /* Kymo's, or a tool's: no thread of the program */
};

struct t_clock {
	uint32_t process;
	const char *name;
	double error_ns; /* bound of the mapping to node time; < 0: not aligned */
	uint32_t syncs;
};

struct t_agent {
	uint32_t process;
	uint32_t parent; /* index of the device that this is a part of, or 0 */
	uint32_t clock;  /* index */
	const char *type, *name, *vendor, *driver, *domain, *platform;
	const char *properties; /* JSON text */
	uint64_t handle;
	uint8_t uuid[16];
	bool has_uuid;
	bool several; /* its node has other devices of this name; this is the one of: */
	uint32_t
		number; /* the same for all agents that are one device; of parts: in their device */
	const char *given;    /* what a user called it, or NULL */
	const char *hardware; /* name, number, node: two devices never have the same */
	const char *label;    /* that and what users called it; "" of none */
};

struct t_device_context {
	uint32_t process;
	uint64_t handle;
	const char *domain;
	const char *name; /* what the user called it, or NULL */
};

struct t_queue {
	uint32_t process;
	uint32_t agent;   /* index */
	uint32_t context; /* index */
	uint32_t flags;   /* QUEUE_* */
	uint64_t handle, properties;
	const char *domain;
	const char *name;  /* "" or what the user called it */
	uint32_t number;   /* running number within its agent, from 0, for display */
	const char *label; /* "queue 0 (name)": unique in its agent; "" of none */
};

struct t_blob {
	uint32_t process;
	const char *what;
	const char *data;
	uint64_t stored, total; /* stored < total: cut */
};

struct t_program {
	uint32_t process, context;
	uint32_t source; /* blob index */
	uint64_t handle;
	const char *domain, *kind;
	const char *name; /* "" or what the user called it */
};

struct t_kernel {
	uint32_t process, program;
	uint64_t handle;
	const char *domain, *name; /* name: the user's */
	/* Of one that a framework generated, else "": its name in the runtime; as the framework has it. */
	const char *symbol, *framework, *source, *device;
};

struct t_module {
	uint32_t process;
	uint64_t start, end, bias;
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_length;
};

struct t_site { /* call site */
	uint32_t process;
	uint64_t address;
	uint32_t module;      /* index, 0 unknown */
	const char *function; /* NULL until resolved (stream/symbol.h) */
	const char *file;
	uint32_t line;
	uint32_t
		caller; /* site that this one's function was inlined into, a higher one; 0: none is known */
};

struct t_stack {
	uint32_t process, count;
	uint32_t *sites; /* indexes, innermost first */
	const char *end; /* why it has no more (enum stack_end, in words); NULL: not told */
};

struct t_note {
	uint32_t process, severity; /* 1 info, 2 warning, 3 error */
	const char *part, *text;
	int64_t time;
	uint64_t count;
};

/* A call that was still open when its process ended. */
struct t_open_call {
	uint32_t thread, op, depth;
	uint64_t id;
	int64_t start;
};

/* Device work that was submitted and was not seen to finish. */
struct t_unfinished {
	uint32_t process, thread, op; /* op of the activity: kernel, read, ... */
	uint32_t agent, queue, kernel;
	uint64_t id; /* of the submitting call, 0: it was not recorded */
	uint64_t bytes;
	int64_t submit;
	uint64_t
		unlisted; /* in a stream: so many more of its process, of which nothing else is known */
};

/* Calls that the mode leaves out. */
struct t_left_out {
	uint32_t process, thread, op;
	uint64_t calls;
};

/* What activities have that calls have not, see struct wire_work. */
struct t_work {
	uint64_t bytes, received, wait, untimed, untimed_bytes, frees, freed, in_use, peak;
};

/* Calls that were counted, not recorded (mode summary), and activities, see docs/format.md. */
struct t_tally {
	uint32_t kind;            /* enum wire_tally_kind */
	uint32_t thread;          /* that counted it */
	bool part;                /* of allocations: of parts of others */
	bool beside;              /* of an op that is recorded: of calls that were not */
	uint32_t key[TALLY_KEYS]; /* enum tally_key, by kind */
	uint64_t count, errors;
	uint64_t total, self, min, max; /* ns */
	void *histogram; /* `buckets` of wire/tally.h from `first` on, u32 each, or u64 where `wide` */
	uint32_t first, buckets;
	bool wide;
	double ns_per_tick;  /* of the histogram's times */
	struct t_work *work; /* or NULL */
};

static inline uint64_t t_tally_bucket(const struct t_tally *y, uint32_t i)
{
	return y->wide ? ((const uint64_t *)y->histogram)[i] : ((const uint32_t *)y->histogram)[i];
}

/* How the ranks of a process that stands for several share one thing, or all of one kind. */
struct t_load {
	uint32_t process, kind;   /* enum wire_tally_kind */
	bool whole;               /* all of the kind; of calls: of the domain */
	uint32_t key[TALLY_KEYS]; /* of a row of it; process and thread mean nothing */
	const char *domain;
	uint64_t sum, min, max; /* ns, over all its ranks: one that has none of it has 0 */
	uint32_t min_rank, max_rank, ranks; /* ranks: that have it */
};

/* Names of markers, of their domains and categories; one text has one index in a trace. */
struct t_ranks { /* first, first + stride, ...; first UINT32_MAX: in another world */
	uint32_t first, count;
	int32_t stride;
};

/* A communicator, or the group of a window or file; of each process its own. */
struct t_communicator {
	uint32_t process, kind; /* COMMUNICATOR_* */
	uint32_t id;            /* in its process */
	const char *name;       /* or "" */
	uint32_t size, remote_size;
	uint32_t parent;      /* index, 0: none */
	uint64_t key, handle; /* key: the same in all members */
	uint32_t own_rank; /* of the process in it + 1 where it may be known by it; 0: not known */
	const struct t_ranks *members, *remote;
	uint32_t member_runs, remote_runs;
};

struct t_string {
	const char *text;
	uint32_t length;
	uint64_t total; /* bytes it had; more than `length`: it was cut */
};

struct t_counter { /* what values of counters are called */
	uint32_t process;
	uint32_t agent; /* index; 0: the host */
	uint32_t flags; /* KYMO_COUNTER_GAUGE */
	const char *name, *unit, *description, *provider;
	const char *dimensions; /* "XCC:8,SE:4", the last varies fastest; "" none */
};

struct t_code { /* an instruction of a kernel */
	uint32_t process;
	const char *function; /* the symbol it lies in, as written */
	const char *file;     /* or "" */
	uint32_t line;        /* 0: not known */
	uint64_t module;      /* checksum of the binary */
	uint64_t offset;      /* in the function */
};

struct t_place { /* a part of a kernel that was instrumented */
	uint32_t process, program;
	uint32_t block;       /* the place it belongs to; 0: it is a block */
	const char *function; /* as written */
	const char *
		what; /* "block", "load", "store", "rw", "atomic", or its work: "flop_single" ... */
	const char *kind; /* of a block: "function", "then" ...; of an access the address space */
	const char *file; /* "": the program's source */
	uint32_t line, column;
	uint64_t times; /* that an execution of the block does it */
	uint64_t bytes; /* of one access */
};

#define T_ARRAY(type, name)                                                                        \
	type *name;                                                                                \
	uint32_t name##_count, name##_room
struct trace {
	const char *path;               /* of the trace directory or file */
	const char *command;            /* what was run, from the manifest, or "" */
	const char *formulas;           /* of its counters, lines, from the manifest, or "" */
	const char *hostname, *version; /* of its launcher, from the manifest, or "" */
	const char *imported; /* file of another tool that it was made of; NULL: it was recorded */
	const char *imported_format; /* the name of its format */
	int64_t started;             /* likewise: seconds since the epoch; 0: not known */
	uint32_t worlds;             /* jobs of the ranks; more than one where ranks spawn others */
	int64_t origin, end;         /* earliest and latest time, node ns */
	T_ARRAY(struct t_domain, domains);
	T_ARRAY(struct t_op, ops);
	T_ARRAY(struct t_process, processes);
	T_ARRAY(struct t_thread, threads);
	T_ARRAY(struct t_clock, clocks);
	T_ARRAY(struct t_agent, agents);
	T_ARRAY(struct t_device_context, contexts);
	T_ARRAY(struct t_queue, queues);
	T_ARRAY(struct t_blob, blobs);
	T_ARRAY(struct t_program, programs);
	T_ARRAY(struct t_kernel, kernels);
	T_ARRAY(struct t_module, modules);
	T_ARRAY(struct t_site, sites);
	T_ARRAY(struct t_stack, stacks);
	T_ARRAY(struct t_note, notes);
	T_ARRAY(struct t_open_call, open_calls);
	T_ARRAY(struct t_unfinished, unfinished);
	T_ARRAY(struct t_left_out, left_out);
	T_ARRAY(struct t_pause, pauses);
	T_ARRAY(struct t_tally, tallies);
	T_ARRAY(struct t_load, loads);
	T_ARRAY(struct t_string, strings);
	T_ARRAY(struct t_communicator, communicators);
	T_ARRAY(struct t_counter, counters);
	T_ARRAY(struct t_code, codes);
	T_ARRAY(struct t_place, places);
};

/* ---- records: record/record.h, record/types.h ---------------------------------------------- */

struct unplaced;

/*
 * A consumer. Unset functions are filled by stream_sink_complete() with ones that do nothing and
 * return KYMO_OK. Any other status stops the stream and is returned by the reader.
 */
struct stream_sink {
	kymo_status_t (*begin)(struct stream_sink *s, const struct trace *t);
	kymo_status_t (*call)(struct stream_sink *s, const struct rec *r);
	/* A function for each kind of record. Unset: handed to `other`; nothing may be dropped unnoticed. */
#define STREAM_SINK_KIND(K, name, type)                                                            \
	kymo_status_t (*name)(struct stream_sink * s, const struct type *r);
	RECORD_KINDS(STREAM_SINK_KIND)
#undef STREAM_SINK_KIND
	kymo_status_t (*other)(struct stream_sink *s, const struct rec *r); /* any other activity */
	kymo_status_t (*loss)(struct stream_sink *s, const struct rec_loss *r);
	/* What was under way when its process ended: in order of time, among the records where these
	 * are. It stays until the end, but for that of which only a number is known. */
	kymo_status_t (*open_call)(struct stream_sink *s, const struct t_open_call *c);
	kymo_status_t (*unfinished)(struct stream_sink *s, const struct t_unfinished *u);
	/*
	 * `t` again: totals that were only known at the end are filled in by now. Also where one of the
	 * functions above wanted no more (KYMO_ERROR_LIMIT).
	 */
	kymo_status_t (*end)(struct stream_sink *s, const struct trace *t);
	/*
	 * Of calls it wants the numbers alone, which is much faster: process, thread, op, status,
	 * ids, scope and times are there; site, stack, external id and fields may be 0.
	 */
	bool brief;
	/*
	 * With `brief`: `site` and fields are there as well of records of operations for which it is true, whose
	 * own fields need not be known yet; NULL: of none.
	 */
	bool (*fields)(const struct trace *t, const struct t_op *op);
	/*
	 * Takes what the trace lists itself (tallies, open calls, unfinished work, what was left out): a
	 * selection narrows these in the trace, or is refused where it cannot.
	 */
	bool lists;
	/* Set by readers: of what was allocated and freed, sent and received, one may be left out. */
	bool part;
	/*
	 * Set by the reader before `begin`: it hands over all that `whole` processes did in [from, to]; what only
	 * reaches into that as well.
	 */
	bool whole;
	int64_t from, to;
	/* Set by writers that leave something out: what, until the trace is freed. */
	const struct unplaced *unplaced;
	/* Wants rec_comm.match: where there are messages, a pass over the trace before this one. */
	bool matches;
};

void stream_sink_complete(struct stream_sink *s);

/*
 * The device whose queue and clock a copy is on: that of its queue, else the one it writes to, else
 * the one it reads. 0: not known.
 */
static inline uint32_t copy_agent(const struct trace *t, const struct rec_copy *r)
{
	uint32_t agent = r->queue < t->queues_count ? t->queues[r->queue].agent : 0;

	if (!agent)
		agent = r->destination_agent ? r->destination_agent : r->source_agent;
	return agent < t->agents_count ? agent : 0;
}

/* Fields at the end of an op that is KYMO_OP_TIMED: they say when and where it was. */
#define T_TIMED_FIELDS ((uint32_t)TIMED_FIELDS)

/* Fields that say something of their own. */
static inline uint32_t op_own_fields(const struct t_op *op)
{
	return op->flags & KYMO_OP_TIMED && op->field_count >= T_TIMED_FIELDS
		       ? op->field_count - T_TIMED_FIELDS
		       : op->field_count;
}

/* ---- field access ------------------------------------------------------------------------- */

struct rec_fields {
	const struct t_op *op;
	const struct t_ids *ids;
	struct wire_cursor cursor;
	bool scalars; /* lists, texts and what pointers point to were not recorded */
};

/* Begins the walk over the fields of a record. */
void rec_fields_init(struct rec_fields *f, const struct trace *t, const struct rec *r);

/*
 * Next field: its schema and value, of a reference the index of what it refers to. False at the end
 * (or at damage).
 */
bool rec_fields_next(struct rec_fields *f, const struct t_field **field, struct wire_value *value);

/*
 * Renders a value as text (enum and flag names, handles in hex, strings quoted and escaped, arrays
 * in brackets, "..." where truncated or not recorded, references as reference_name() names them) into `out` of
 * `size` bytes, always terminated. Returns the length it would have had, as snprintf does.
 */
size_t rec_value_text(const struct trace *t, const struct t_field *field,
		      const struct wire_value *v, char *out, size_t size);

/* Name of a status of `op`, e.g. "CL_INVALID_VALUE", or NULL. */
const char *rec_status_name(const struct t_op *op, int32_t status);

/* ---- errors -------------------------------------------------------------------------------- */

/*
 * What went wrong, for the user: readers and writers append "what, where, what to do"; the CLI
 * prints it. Warnings do not stop the stream (damage that was skipped, for instance).
 */
struct stream_log {
	void (*message)(struct stream_log *l, int severity, const char *text);
};

void stream_error(struct stream_log *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void stream_warn(struct stream_log *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
