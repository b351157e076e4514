/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of LTTng and THAPI. Events that come in pairs (entry and exit of one name) become calls, of the thread that
 * made them; others become marks with their fields as payload. thapi.c takes from calls of OpenCL, and from
 * the intervals that iprof saves, what devices did.
 */
#ifndef FORMATS_CTF_FOREIGN_H
#define FORMATS_CTF_FOREIGN_H

#include "base/text.h"
#include "formats/ctf/reader.h"

enum {
	FOREIGN_FIELDS = KYMO_FIELDS_MAX / 2, /* of an event that are kept */
	FOREIGN_DEPTH = 4096,
	FOREIGN_TEXT = 200
};

enum foreign_role {
	ROLE_MARK,
	ROLE_ENTRY,
	ROLE_EXIT,
	ROLE_FUNCTION_ENTRY, /* of -finstrument-functions */
	ROLE_FUNCTION_EXIT,
	ROLE_MODULE,
	ROLE_STATE_DUMP,
	ROLE_PROCESS_NAME,
	ROLE_SYSTEM_CALL_EXIT, /* whatever call it is */
	ROLE_SWITCH,           /* of a processor, to another thread */
	ROLE_TASK,             /* a thread, of the state dump of the kernel */
	ROLE_NEW_TASK,
	ROLE_MEMORY,    /* of the C library */
	ROLE_CL_EVENT,  /* names the event of the call under way */
	ROLE_CL_RESULT, /* its times */
	ROLE_CL_KERNEL,
	ROLE_DEVICE_NAME,
	ROLE_HOST, /* intervals of iprof */
	ROLE_DEVICE,
	ROLE_SUM_HOST, /* sums of intervals */
	ROLE_SUM_DEVICE,
	ROLE_SUM_TRAFFIC,
	ROLE_LEFT_OUT
};

struct foreign_value {
	uint8_t kind; /* kymo_kind_t; 0: none that is kept */
	uint64_t u;   /* of texts where they begin */
	uint32_t length;
	const char *name;
};

struct foreign_values {
	struct foreign_value all[FOREIGN_FIELDS];
	uint32_t count;
	struct text texts;
};

struct foreign_frame {
	uint32_t op; /* or FOREIGN_FUNCTION and the number of a function */
	uint64_t id;
	int64_t start;
	struct foreign_values values;
	uint64_t submitted; /* event of device work */
};

#define FOREIGN_FUNCTION (UINT32_C(1) << 31)

struct foreign_thread {
	uint32_t process, thread;
	uint64_t tid;
	const char *host;
	bool placed;  /* its process is known */
	bool entered; /* some call */
	struct foreign_frame *frames;
	uint32_t depth, room;
};

struct foreign_function {
	uint32_t process, op;
	uint64_t address;
};

/* What the runtime told of device work. */
struct foreign_times {
	uint64_t queued, submit, start, end;
	int64_t at; /* when it was told */
	int32_t status;
	bool told; /* times are there */
};

/* Device work of which the call (`submitted`) or the times (`finished`) have come. */
struct foreign_work {
	bool submitted, finished;
	struct foreign_times times;
	uint32_t process, thread, op, queue, kernel;
	uint64_t call, bytes, global[3], local[3];
	int64_t submit;
	uint32_t dims;
	uint32_t next;    /* of places that are free, + 1 */
	bool copy, other; /* `other`: no kernel, no copy */
};

struct ctf_foreign {
	struct keyed keyed;
	struct make_activities model;
	struct map names;                /* hash of names of event classes -> their class */
	struct map streams;              /* classes of streams whose events are there */
	uint32_t graph;                  /* that these are of */
	struct map by_key;               /* of host and thread -> place in threads + 1 */
	struct map running;              /* of host and processor -> tid of the kernel + 1 */
	struct map named;                /* processes -> enum foreign_namer */
	struct map pids, names_of_tasks; /* of host and tid of the kernel -> pid + 1, string */
	uint32_t away[2];                /* ops of threads without a processor, + 1 */
	struct map functions_by_address;
	struct foreign_thread *threads;
	uint32_t thread_count, thread_room;
	struct foreign_function *functions;
	uint32_t function_count, function_room;
	struct map kernels, queues, agents; /* process and handle -> string, t_queue */
	struct map sums;                    /* of thread and name -> tally of copies */
	struct map device_names;            /* process and device -> string */
	struct map work;                    /* process and event -> place in works + 1 */
	struct foreign_work *works;
	uint32_t work_count, work_room, work_free;
	struct foreign_values values; /* of the event at hand */
	struct text payload;
	struct map live, live_bytes; /* of process and address -> allocation, bytes */
	uint64_t allocations;
	uint64_t ids;
	int64_t first, last;
	bool any, timed; /* events; of a time */
};

/* What is known of the event at hand. */
struct foreign_event {
	const struct ctf_class *c;
	const bt_event *event;
	const bt_field *payload;
	struct foreign_thread *thread;
	int64_t time;
	uint64_t backend; /* of intervals */
};

void foreign_take(struct foreign_values *v, const bt_field *payload);
const struct foreign_value *foreign_value(const struct foreign_values *v, const char *name);
uint64_t foreign_number(const struct foreign_values *v, const char *name);
const char *foreign_text(const struct foreign_values *v, const char *name);
bool foreign_lost(struct ctf_reader *r, const char *what);

/* Fields of the event that are kept; how many. */
uint32_t foreign_fields(const bt_event_class *class, struct make_field *out);
void foreign_enter(struct ctf_reader *r, const struct foreign_event *e, uint32_t op);
struct foreign_frame *foreign_leave(struct ctf_reader *r, const struct foreign_event *e,
				    uint32_t op);
void foreign_call(struct ctf_reader *r, const struct foreign_event *e,
		  const struct foreign_frame *f, uint32_t op);
void foreign_mark(struct ctf_reader *r, const struct foreign_event *e);

/* ---- threads.c ----------------------------------------------------------------------------- */

const bt_field *foreign_context(const bt_event *e, const char *name);
uint32_t foreign_process(struct ctf_reader *r, const bt_event *e);
/* Who says what a process is called, the best last. */
enum foreign_namer { NAMER_THREAD = 1, NAMER_MAIN_THREAD, NAMER_STATE_DUMP };
void foreign_name_process(struct ctf_reader *r, uint32_t process, const char *name,
			  enum foreign_namer by);
/* That the event is of; NULL: no memory. */
struct foreign_thread *foreign_thread(struct ctf_reader *r, const bt_event *e);
/* The processor of the event goes on with another thread; the one that it leaves. */
struct foreign_thread *foreign_switch(struct ctf_reader *r, const bt_event *e, uint64_t from,
				      uint64_t to);
/* The one that the processor of the event runs, as far as switches tell. */
struct foreign_thread *foreign_thread_running(struct ctf_reader *r, const bt_event *e);
#define FOREIGN_NO_PROCESS UINT64_MAX
/* What the kernel tells of a thread. */
void foreign_kernel_task(struct ctf_reader *r, const bt_event *e, uint64_t tid, uint64_t pid,
			 const char *name);
/* At the end of the first pass. */
void foreign_threads_place(struct ctf_reader *r);

/* ---- memory.c ------------------------------------------------------------------------------ */

bool memory_is_event(const char *name);
void memory_event(struct ctf_reader *r, const struct foreign_event *e);

/* ---- kernel.c ------------------------------------------------------------------------------ */

enum foreign_role kernel_role(const char *name);
void kernel_switch(struct ctf_reader *r, const struct foreign_event *e);
void kernel_task(struct ctf_reader *r, const struct foreign_event *e);
/* That op is of a thread that has no processor. */
bool kernel_is_away(const struct ctf_foreign *f, uint32_t op);

/* ---- thapi.c ------------------------------------------------------------------------------- */

/* The role of an event of THAPI's other than entries and exits; ROLE_MARK: none. */
enum foreign_role thapi_role(const char *name);
/* A call of OpenCL is at its end. */
void thapi_call(struct ctf_reader *r, const struct foreign_event *e, const char *name,
		struct foreign_frame *f);
void thapi_cl_event(struct ctf_reader *r, const struct foreign_event *e);
void thapi_cl_result(struct ctf_reader *r, const struct foreign_event *e);
void thapi_cl_kernel(struct ctf_reader *r, const struct foreign_event *e);
void thapi_device_name(struct ctf_reader *r, const struct foreign_event *e);
/* After the last event of a pass. */
void thapi_end(struct ctf_reader *r);
void thapi_host(struct ctf_reader *r, const struct foreign_event *e);
void thapi_device(struct ctf_reader *r, const struct foreign_event *e);
uint32_t thapi_agent(struct ctf_reader *r, uint32_t process, const char *domain, uint64_t device);
uint32_t thapi_queue(struct ctf_reader *r, uint32_t process, const char *domain, uint32_t agent,
		     uint64_t handle);
const char *thapi_backend(uint64_t number);
uint32_t thapi_copy_op(const char *name); /* UINT32_MAX: it is none of OpenCL's */
bool thapi_is_copy(const char *name);
bool thapi_is_no_work(const char *name);
void thapi_no_work(struct ctf_reader *r, uint64_t count);
void thapi_release(struct ctf_foreign *f);
/* ---- thapi_sums.c -------------------------------------------------------------------------- */

void thapi_sum(struct ctf_reader *r, const struct foreign_event *e);
void thapi_sums_complete(struct ctf_reader *r);

#endif
