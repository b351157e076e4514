/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the state of an open trace. */
#ifndef FORMATS_RAW_INTERNAL_H
#define FORMATS_RAW_INTERNAL_H

#include "base/map.h"
#include "formats/raw/chunk.h"
#include "stream/trace.h"
#include "wire/defs.h"
#include "wire/job_tally.h"

/* A name given to an object, until all objects are known. */
struct raw_name {
	uint32_t what; /* kymo_object_t */
	const char *domain, *name;
	uint64_t handle, tick;
	uint32_t queues, contexts, agents; /* objects of the trace when it was read */
};

struct raw_process {
	struct t_ids ids; /* first */
	struct raw_trace *rt;
	struct raw_file file;
	struct raw_job
		job; /* `by` is empty where the environment says nothing, or an old file has none */
	uint32_t process;   /* global index */
	struct raw_op *ops; /* by wire op; of kind RAW_KIND_NONE where not defined */
	uint32_t op_count;
	struct tick_map ticks;
	struct tick_origin origin;
	struct raw_tick_sync *syncs;
	uint32_t sync_count, sync_room;
	bool no_end; /* the file has none; what its process said of itself may be there */
	struct device_map *clocks; /* by global index - first_clock */
	uint32_t first_clock, clock_count;
	struct map domains, sets, threads, sites, addresses, stacks, agents, clock_ids, contexts,
		queues, programs, kernels, blobs, strings, counters, codes, places;
	struct raw_name *names; /* as the user gave them */
	uint32_t name_count, name_room;
	struct map communicators;
	struct job_point *job_points; /* of the clock of its job */
	uint32_t job_point_count, job_point_room;
	struct map bases;              /* by global domain: wire number of its op 0, plus 1 */
	struct t_enum_set **set_table; /* `sets` gives positions in it, plus 1 */
	uint32_t set_count, set_room;
	uint64_t *lost_seen; /* by global thread index - first_thread: records that the chunks read
				so far say are lost */
	uint32_t first_thread, thread_count;
	bool undefined_op_said, count_said;
	uint32_t first_tally, end_tally; /* in the trace */
	uint8_t *
		job_table; /* DEF_JOB_TALLY as far as it was read; of job_bytes, job_read are there */
	size_t job_bytes, job_read;
	bool merged_into_job;                    /* it has given tallies to its job ... */
	uint32_t first_note, merged_notes;       /* ... and these notes of the trace ... */
	uint64_t given_totals[JOB_TALLY_TOTALS]; /* ... and of its numbers these */
	struct map merged_threads;               /* threads that have given all of theirs */
};

struct raw_restarts { /* of the drains of a node */
	const char *host;
	uint32_t times;
	int32_t signal, status; /* of all of them, where it was the same; 0: not known */
};

#define RESTARTS_MAX 1000000u /* of one drain: more cannot be */

struct raw_trace {
	struct trace *trace;
	struct stream_log *log;
	struct raw_process *processes;
	uint32_t count;
	uint64_t bytes;
	struct map ops;  /* by hash of domain and name: global ops */
	struct map sets; /* by hash: positions in set_list, plus 1 */
	struct t_enum_set **set_list;
	uint32_t set_count, set_room;
	const uint8_t **slots; /* of activities, by global op */
	uint32_t slot_count;
	struct map strings;            /* by hash of text: global strings */
	struct raw_restarts *restarts; /* of drains, by node, until they are a note */
	uint32_t restart_count, restart_room;
	bool listed;         /* its manifest is whole: it lists all that was recorded */
	uint64_t opened;     /* chunks that were looked into, each time: what reading costs */
	struct match *match; /* NULL: not wanted yet, or there are no messages */
};

/* definitions.c: reads all definitions of one file into the trace, references resolved. */
kymo_status_t raw_read_definitions(struct raw_process *p);

/* markers.c */
void raw_add_string(struct raw_process *p, const struct wire_def *d);
void raw_add_name(struct raw_process *p, const struct wire_def *d);
/* Once all objects are known, and times are still ticks. */
void raw_apply_names(struct raw_process *p);
/* An op of domain "marker" whose records are struct rec_marker. */
bool raw_op_is_marker(const struct t_op *op);

/* published.c: an op whose records are timed by their fields */
bool raw_op_is_published(const struct t_op *op);
void raw_decode_published(struct raw_chunk *c, const struct wire_record *w, const struct t_op *op,
			  struct rec *out);

/* definitions.c: node time as the trace has it (that of the job, where there is one). */
int64_t raw_node_ns(const struct raw_process *p, int64_t ns);
/* activity.c: the map of a clock of the process, or NULL. */
const struct device_map *raw_clock_map(const struct raw_process *p, uint32_t clock);

/* measures.c: counters and samples */
void raw_add_counter(struct raw_process *p, const struct wire_def *d);

/* ids.c: lets the fields of its records be resolved. */
void raw_give_ids(struct raw_process *p);

/* job.c: ranks, communicators, the clock of a job */
void raw_add_rank(struct raw_process *p, const struct wire_def *d);
void raw_add_communicator(struct raw_process *p, const struct wire_def *d);
void raw_add_job_clock(struct raw_process *p, const struct wire_def *d);
/* Makes the process's times those of its job; before anything is resolved. */
void raw_align(struct raw_process *p);

/* ranks.c: who of the processes are the ranks; once all files are read. */
void raw_settle_ranks(struct raw_trace *rt);

/* tallies.c: adds the tallies of a process to the trace, after its definitions. */
void raw_read_tallies(struct raw_process *p);
/* live.c */
void raw_read_live(struct raw_process *p);
/* Takes out again what is in the table of its job. */
void raw_drop_merged_tallies(struct raw_process *p);

/* job_tally.c: the table that ranks have added their tallies to */
void raw_add_job_table(struct raw_process *p, const struct wire_def *d);
void raw_add_given(struct raw_process *p, const struct wire_def *d);
/* Makes each table a process that stands for its ranks; once all files are read. */
void raw_settle_jobs(struct raw_trace *rt);

/* markers.c: the index of a text. */
uint32_t raw_string(struct raw_trace *rt, const char *s, size_t length, uint64_t total);
/* schema.c: the op of that name, added if there is none. */
uint32_t raw_op_named(struct raw_trace *rt, const struct t_op *like);
/* definitions.c: the domain of that name, likewise. */
uint32_t raw_domain(struct trace *t, const char *name, size_t length, const char *title,
		    size_t title_length);

/* activity.c: which typed record a domain's records become, and where its fields go. */
enum raw_kind raw_kind_of_domain(const char *name);
const uint8_t *raw_slots(struct trace *t, enum raw_kind kind, const struct t_op *op);
/* record/decode.c, generated: the fields of a kind; all of a record but what the functions below add. */
struct raw_slot {
	const char *name;
	uint8_t kind; /* kymo_kind_t */
};
const struct raw_slot *raw_slots_of(enum raw_kind kind, unsigned *count);
void raw_decode(struct raw_chunk *c, const struct wire_record *w, const struct raw_op *op,
		uint32_t fields, union raw_any *out);
/* activity.c, markers.c, measures.c: what becomes of several fields, or of what is around the record */
void raw_finish_dispatch(struct raw_chunk *c, const struct record_rest *v,
			 struct rec_dispatch *out);
void raw_finish_copy(struct raw_chunk *c, const struct record_rest *v, struct rec_copy *out);
void raw_finish_marker(struct raw_chunk *c, struct rec_marker *out);
void raw_finish_counter(struct raw_chunk *c, const struct record_rest *v, struct rec_counter *out);
void raw_finish_sample(struct raw_chunk *c, const struct record_rest *v, struct rec_sample *out);
void raw_finish_heap(struct raw_chunk *c, const struct record_rest *v, struct rec_heap *out);
/* match.c */
void raw_finish_comm(struct raw_chunk *c, struct rec_comm *out);
/* Fields of `out` that are no record's own: of them the first `fields` are looked at. */
void raw_decode_activity(struct raw_chunk *c, const struct wire_record *w, const struct raw_op *op,
			 uint32_t fields, union raw_any *out);
/* raw_op.placed of an op of that domain. */
uint8_t raw_placed(const char *domain, const struct t_op *op);

/* counts.c: what can have been lost by one thread in that time; by the whole process. */
uint64_t raw_most_in(int64_t ns);
uint64_t raw_most_of(const struct raw_process *p);
/* `n`; 0 and damage, told once, if it is more than `most`. */
uint64_t raw_count(struct raw_process *p, uint64_t n, uint64_t most);
/* What the definitions and the end of the file say of its process and threads. */
void raw_check_counts(struct raw_process *p);
void raw_check_cost(struct raw_process *p);

/*
 * gaps.c: chunks of definitions that are not in the file are lost; once its times are known, which bound
 * how many. False: no memory.
 */
bool raw_count_missing_definitions(struct raw_process *p);

/* Start key for ordering: device start of device records, start of all others. */
int64_t raw_key(enum raw_kind kind, const union raw_any *any);
/* chunk.c: a record of the process ended then: the trace goes on to it, and so long the process is known. */
void raw_note_end(struct raw_process *p, int64_t end);

/* chunk.c: that of a record whose op is `placed` by its fields. */
int64_t raw_start_elsewhere(struct raw_chunk *c, const struct wire_record *w,
			    const struct raw_op *op);

/* The same of any record, with no more decoding than it needs. */
static inline int64_t raw_start(struct raw_chunk *c, const struct wire_record *w,
				const struct raw_op *op)
{
	return op->placed ? raw_start_elsewhere(c, w, op) : raw_chunk_ns(c, w->start);
}

/* missing_ranks.c: adds ranks of which there is no file and should be; once worlds are numbered. */
void raw_find_missing_ranks(struct raw_trace *rt);

/* open.c: adds a process of whose file there is nothing. */
struct t_process *raw_add_unread(struct raw_trace *rt, const char *path, enum file_state state);

/* manifest.c: the command, how processes ended whose files do not say it, and which files are missing. */
void raw_read_manifest(struct raw_trace *rt, const char *directory);
/* restarts.c: a drain of that node says so; and makes the notes of all that say it one, at the end.
 */
void raw_add_restarts(struct raw_trace *rt, const char *host, uint64_t times, int32_t sig,
		      int32_t status);
void raw_settle_restarts(struct raw_trace *rt);
/*
 * recording.c: which of those that have no end are still being recorded. `at_work`: what
 * raw_being_written() said before the files were read, for a drain may have ended meanwhile.
 */
void raw_find_recording(struct raw_trace *rt, const char *directory, bool at_work);

/*
 * chunk.c: makes the chunk of a block ready to read, but for what was lost before it, of which it
 * has no more than what the chunk says itself; spans.h knows the rest. Damage is said and counted
 * when `count`. False: not a chunk of records, or damaged.
 */
bool raw_chunk_init(struct raw_process *p, uint32_t block, struct raw_buffer *buffer, bool count,
		    struct raw_chunk *out);

/*
 * filters.c: the options of a process (its definition `d`) that left something out, as words of a shell. *partial is set
 * where they leave out some work of what is recorded.
 */
const char *raw_filters(struct trace *t, const struct wire_def *d, bool *partial);

#endif
