/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters: what hardware and systems count, for single calls, threads, kernels and windows of time.
 *
 *   provider   who can count: the operating system, PAPI, a vendor's library. Any library may
 *              register one (kymo_counter_provider_register)
 *   counter    one thing a provider counts on one agent; may have dimensions ("XCC", "CPU", ...):
 *              then there is one value, an instance, for each position in them
 *   choice     a counter as it is, or reduced over some of its dimensions
 *   set        choices that are counted together; made once, attached to contexts
 *   service    a set at work in a context
 *
 * Values are delivered as records of the activity domain "counter" into the context's buffer, where
 * a buffer service selects that domain, and to the service's callback. Nothing is opened while the
 * context is stopped.
 *
 * Threads: every function may be called from any thread at any time, also from callbacks of tools,
 * unless its comment says otherwise. Errors: see kymo/status.h; kymo_counter_error() says in words
 * what was refused and why.
 */
#ifndef KYMO_COUNTER_H
#define KYMO_COUNTER_H

#include <kymo/handler.h>
#include <kymo/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- counters ------------------------------------------------------------------------------- */

/* How a counter can be counted; or'ed. */
enum {
	KYMO_COUNTER_THREAD = 1u,  /* of the calling thread, read at any moment */
	KYMO_COUNTER_AGENT = 2u,   /* of a whole agent; of agent 0: of the whole process */
	KYMO_COUNTER_DISPATCH = 4u /* of single kernels */
};

/* Properties of a counter; or'ed. */
enum {
	KYMO_COUNTER_GAUGE = 1u /* a level, not a count: what was read counts, not a difference */
};

#define KYMO_COUNTER_DIMENSIONS 8u    /* of a counter, at most */
#define KYMO_COUNTER_INSTANCES  4096u /* of all choices of a set together, at most */
#define KYMO_COUNTER_CHOICES    64u   /* of a set, at most */
#define KYMO_COUNTER_ALL        UINT32_MAX

typedef struct kymo_dimension {
	const char *name; /* "XCC" */
	uint32_t size;    /* positions 0 to size - 1 */
} kymo_dimension_t;

/* A counter as its provider describes it. Strings live as long as the provider. */
typedef struct kymo_counter_info {
	size_t size;             /* sizeof(kymo_counter_info_t) */
	const char *name;        /* "page-faults"; unique in its provider and agent */
	const char *description; /* a sentence */
	const char *unit;        /* "ns", "bytes", "" for plain numbers */
	uint32_t agent;          /* id of the agent in this process; 0: the host */
	uint32_t modes;          /* KYMO_COUNTER_THREAD, ...; 0 when unavailable */
	uint32_t flags;          /* KYMO_COUNTER_GAUGE */
	uint32_t dimension_count;
	const kymo_dimension_t *dimensions; /* the last one varies fastest */
	const char *unavailable;            /* why it cannot be counted here; NULL: it can */
	uint32_t read_ns;                   /* what one reading costs, roughly; 0: unknown */
	uint64_t handle;                    /* the provider's own */
} kymo_counter_info_t;

/* A counter of this process; valid until the process ends. */
typedef struct kymo_counter {
	uint64_t handle;
} kymo_counter_t;

typedef kymo_status_t (*kymo_counter_fn)(kymo_counter_t counter, const char *provider,
					 const kymo_counter_info_t *info, void *data);

/*
 * Calls `callback` for every counter of `agent` (KYMO_COUNTER_ALL: of every agent), the unavailable
 * ones too. Nothing is switched on. Stop by returning another status; it is passed on.
 */
KYMO_EXPORT kymo_status_t kymo_counters(uint32_t agent, kymo_counter_fn callback, void *data);

/*
 * "page-faults", or "perf:page-faults" of that provider alone; ":device=..." behind it (kymo_counter_set_parse)
 * means nothing here. ERROR_NOT_FOUND; ERROR_STATE: it is named
 * as counters of a runtime's devices are, whose provider comes when the runtime starts.
 */
KYMO_EXPORT kymo_status_t kymo_counter_find(const char *name, uint32_t agent, kymo_counter_t *out);

KYMO_EXPORT kymo_status_t kymo_counter_describe(kymo_counter_t counter, const char **provider,
						kymo_counter_info_t *out);

/*
 * Instances are numbered row by row: the last dimension varies fastest. `positions` has an element
 * for each dimension. ERROR_LIMIT: outside of a dimension.
 */
KYMO_EXPORT kymo_status_t kymo_counter_instance(kymo_counter_t counter, const uint32_t *positions,
						uint64_t *instance);
KYMO_EXPORT kymo_status_t kymo_counter_positions(kymo_counter_t counter, uint64_t instance,
						 uint32_t *positions);

typedef void (*kymo_counter_provider_fn)(const char *provider, void *data);

/*
 * Calls `callback` for every provider, also for those that come later (a GPU's comes with its
 * runtime, on the thread that starts it). ERROR_LIMIT: 16 callbacks at most.
 */
KYMO_EXPORT kymo_status_t kymo_counter_providers(kymo_counter_provider_fn callback, void *data);

/* What the last refusal in this thread was about, in words; never NULL. */
KYMO_EXPORT const char *kymo_counter_error(void);

/* ---- sets ------------------------------------------------------------------------------------ */

typedef enum kymo_reduce {
	KYMO_REDUCE_NONE = 0, /* every instance that is selected */
	KYMO_REDUCE_SUM = 1,
	KYMO_REDUCE_AVERAGE = 2,
	KYMO_REDUCE_MINIMUM = 3,
	KYMO_REDUCE_MAXIMUM = 4
} kymo_reduce_t;

typedef struct kymo_counter_choice {
	size_t size; /* sizeof(kymo_counter_choice_t) */
	kymo_counter_t counter;
	kymo_reduce_t reduce;
	uint32_t keep; /* bit n: dimension n stays; the others are reduced to one value */
	/*
	 * The position selected in each dimension, KYMO_COUNTER_ALL for all of them; NULL: all
	 * instances. A dimension with one position selected is gone.
	 */
	const uint32_t *select;
} kymo_counter_choice_t;

typedef struct kymo_counter_set {
	uint64_t handle;
} kymo_counter_set_t;

/*
 * Makes a set. `name` says whose it is in messages; both are copied. ERROR_UNSUPPORTED: a counter
 * is unavailable (kymo_counter_error() says why).
 */
KYMO_EXPORT kymo_status_t kymo_counter_set_create(const char *name,
						  const kymo_counter_choice_t *choices,
						  uint32_t count, kymo_counter_set_t *out);

/*
 * The same from text, separated by commas: NAME, PROVIDER:NAME, NAME[DIM=2] selects a position, and
 * sum(...), avg(...), min(...), max(...) reduce all dimensions that are left. What is no counter of
 * the host is counted on every agent that has it, or, with ":device=0,2-3" at its end, on those with
 * these numbers among them.
 */
KYMO_EXPORT kymo_status_t kymo_counter_set_parse(const char *name, const char *list,
						 kymo_counter_set_t *out);

/* Bytes of the first item of such a list: "a:device=0,2" of "a:device=0,2,b". Any thread. Since 0.1. */
KYMO_EXPORT size_t kymo_counter_item(const char *list);

/* Services that use it go on. */
KYMO_EXPORT kymo_status_t kymo_counter_set_destroy(kymo_counter_set_t set);

/*
 * What value `index` of a set is: the name of its choice ("sum(wave)"), its unit, and the instance.
 * ERROR_NOT_FOUND: there are no more values.
 */
KYMO_EXPORT kymo_status_t kymo_counter_set_value(kymo_counter_set_t set, uint32_t index,
						 const char **name, const char **unit,
						 uint64_t *instance);

/* ---- services -------------------------------------------------------------------------------- */

/* Op numbers of the domain "counter". */
typedef enum kymo_counter_op {
	KYMO_COUNTER_OP_CALL = 0,     /* of one call: exit minus enter, on its thread */
	KYMO_COUNTER_OP_THREAD = 1,   /* of a thread, since its last such record: add them up */
	KYMO_COUNTER_OP_SAMPLE = 2,   /* of an agent, since its last such record */
	KYMO_COUNTER_OP_DISPATCH = 3, /* of one kernel */
	KYMO_COUNTER_OP_PUBLISHED = 4 /* of a tool's or runtime's own (<kymo/publish.h>) */
} kymo_counter_op_t;

/* Values of one moment. Valid during the callback only. */
typedef struct kymo_counter_values {
	size_t size;
	kymo_counter_op_t op;
	uint32_t thread;      /* index of the thread in the process; 0: none */
	uint32_t agent;       /* of DISPATCH and SAMPLE */
	uint64_t correlation; /* the call, or the call that submitted the kernel; or 0 */
	int64_t scope;
	uint64_t start, end;  /* ns: the time that was counted */
	const double *values; /* in the order of kymo_counter_set_value() */
	uint32_t count;
	uint32_t kernel; /* of DISPATCH: its id, see kymo_ref_name(); 0: unknown */
} kymo_counter_values_t;

typedef void (*kymo_counter_values_fn)(kymo_context_t context, const kymo_counter_values_t *values,
				       void *data);

/*
 * Counts the selected calls (NULL: all of them) while the context is started, and their threads:
 * from the first selected call of a thread to its end. Needs counters of mode THREAD. Each selected
 * call is read twice: kymo_counter_info_t.read_ns says what that costs. `callback` may be NULL.
 * ERROR_BUSY: another set holds the agent and both do not fit; kymo_counter_error() names it.
 */
KYMO_EXPORT kymo_status_t kymo_counter_service(kymo_context_t context,
					       const kymo_selection_t *selection,
					       kymo_counter_set_t set,
					       kymo_counter_values_fn callback, void *data);

/*
 * Counts windows of time, on a thread of Kymo's: every `interval_ns` (at least 1 ms), or only when
 * kymo_counter_sample() asks (0). Needs counters of mode AGENT. Errors as above.
 */
KYMO_EXPORT kymo_status_t kymo_counter_window_service(kymo_context_t context,
						      kymo_counter_set_t set, uint64_t interval_ns,
						      kymo_counter_values_fn callback, void *data);

/* Ends a window of every window service of the context now. ERROR_STATE: none is at work. */
KYMO_EXPORT kymo_status_t kymo_counter_sample(kymo_context_t context);

/*
 * Counts every kernel of the agents in the set, each repeated as often as its provider needs. Needs
 * counters of mode DISPATCH. Errors as above.
 */
KYMO_EXPORT kymo_status_t kymo_counter_dispatch_service(kymo_context_t context,
							kymo_counter_set_t set,
							kymo_counter_values_fn callback,
							void *data);

/* What becomes of counters that do not fit into one pass, when kernels are counted one by one. */
typedef enum kymo_replay {
	/* The kernel is repeated where it must be, and what it may write is put back in between. */
	KYMO_REPLAY_KERNEL = 0,
	/* It runs once, in one pass: launch n of the kernels of a name in pass (n - 1) modulo their number. */
	KYMO_REPLAY_ROTATE = 1,
	KYMO_REPLAY_ONE = 2 /* it runs once, always in the pass that is asked for */
} kymo_replay_t;

/* The launch of a kernel that could be counted. Valid during the call only. */
typedef struct kymo_counter_launch {
	size_t size;                   /* sizeof(kymo_counter_launch_t) */
	uint32_t agent, queue, kernel; /* ids, as fields of records carry them */
	uint64_t number;  /* of the launches of kernels of this name in the process, from 1 */
	const char *name; /* of the kernel */
} kymo_counter_launch_t;

typedef struct kymo_counter_kernel_desc {
	size_t size; /* sizeof(kymo_counter_kernel_desc_t) */
	kymo_replay_t replay;
	uint32_t pass; /* of KYMO_REPLAY_ONE, from 0 */
	/* Which launches are counted, NULL: all. Asked on the thread that launches. */
	bool (*filter)(const kymo_counter_launch_t *launch, void *data);
	kymo_counter_values_fn callback; /* once for each pass; NaN: not of this pass. Or NULL */
	void *data;
} kymo_counter_kernel_desc_t;

/*
 * Counts chosen kernels, which run alone: on processors with the host's counters, while the whole process
 * is counted (counters of mode AGENT of agent 0), or on devices with theirs (counters of mode DISPATCH
 * alone). What cannot be counted, or not be repeated, runs as ever; a note of the trace says how many,
 * and why. A device's counter that does not fit into one pass alone is counted with KYMO_REPLAY_KERNEL
 * only, else it is left out, which is noted. Errors as above; ERROR_LIMIT: there is no such pass. Since 0.1.
 */
KYMO_EXPORT kymo_status_t kymo_counter_kernel_service(kymo_context_t context,
						      kymo_counter_set_t set,
						      const kymo_counter_kernel_desc_t *desc);

typedef struct kymo_kernel_line_desc {
	size_t size; /* sizeof(kymo_kernel_line_desc_t) */
	/* Launches of which kernels, NULL: all. Asked on the thread that launches. */
	bool (*filter)(const kymo_counter_launch_t *launch, void *data);
	void *data;
	/*
	 * Not 0: their accesses are recorded, and looked at as a device makes them that runs so many work items in lockstep;
	 * 32 and 64 are known.
	 */
	uint32_t lanes;
	/* Instead of `lanes`: such a device. Borrowed as long as the context; NULL: none. */
	const kymo_lanes_profile_t *profile;
	/* Handlers that look at their records (kymo/handler.h): NAME[:key=value]..., commas between them. Borrowed likewise; NULL: none. */
	const char *handlers;
} kymo_kernel_line_desc_t;

/*
 * How often each part of chosen kernels is executed, by source line: where a backend can instrument kernels (OpenCL, of
 * programs made from source), such a launch runs alone, and once more, instrumented. Records of the domain
 * `kernel_line`, and of the domain `counter` what each launch did in all (provider "instrument"). What cannot be instrumented
 * runs as ever; a note of the trace says why. Since 0.1.
 */
KYMO_EXPORT kymo_status_t kymo_kernel_line_service(kymo_context_t context,
						   const kymo_kernel_line_desc_t *desc);

#define KYMO_COUNTER_NO_PASS UINT8_MAX /* of a device's counter that needs several by itself */

/*
 * How the counters of a set share the passes of such a service: each is in the first pass in which it
 * fits, in their order. `pass_of`: for each choice its pass, from 0, or NO_PASS; or NULL. Since 0.1.
 */
KYMO_EXPORT kymo_status_t kymo_counter_passes(kymo_counter_set_t set,
					      uint8_t pass_of[KYMO_COUNTER_CHOICES],
					      uint32_t *passes);

/* ---- providers ------------------------------------------------------------------------------- */

/* A kernel as its provider counted it. */
typedef struct kymo_counter_dispatch {
	size_t size;          /* sizeof(kymo_counter_dispatch_t) */
	uint64_t correlation; /* id of the call that submitted it; 0: unknown */
	uint64_t start, end;  /* ns on the scale of kymo_time(); 0: unknown */
	const double *values; /* as in `read` below */
	uint32_t kernel;      /* as in records; 0: unknown */
	uint32_t passes;      /* how often it ran, alone; 0: not told */
} kymo_counter_dispatch_t;

/* What a provider is asked to count together. Valid during the call only. */
typedef struct kymo_counter_request {
	size_t size; /* sizeof(kymo_counter_request_t) */
	uint32_t mode;
	uint32_t agent;
	const uint64_t *counters; /* handles of kymo_counter_info_t */
	uint32_t count;
	/* Of mode DISPATCH: to be called once for every kernel, on any thread, until `close`. */
	void (*deliver)(void *to, const kymo_counter_dispatch_t *dispatch);
	void *to;
	/* A refusal writes its reason here, terminated. */
	char *reason;
	size_t reason_size;
	/* Asked by `admit`: they must fit into one pass, in which a kernel runs once. */
	bool once;
	/*
	 * Of mode DISPATCH: to be asked before each launch, on its thread, with a `number` of it: false,
	 * and it is not counted, nor runs alone for that. `to` as for `deliver`.
	 */
	bool (*chosen)(void *to, const kymo_counter_launch_t *launch);
} kymo_counter_request_t;

typedef kymo_status_t (*kymo_counter_list_fn)(const kymo_counter_info_t *info, void *to);

/*
 * A provider. Functions of one session are not called from two threads at once. They may not call
 * functions of this header, must not print, not exit, and leave errno and signals alone. Statuses
 * other than KYMO_OK are refusals.
 */
typedef struct kymo_counter_provider {
	size_t size;      /* sizeof(kymo_counter_provider_t) */
	const char *name; /* "perf"; unique */
	const char *description;
	/*
	 * Describes all counters, also those that cannot be used here; switches nothing on. Called
	 * once, when counters are first asked for.
	 */
	kymo_status_t (*list)(kymo_counter_list_fn add, void *to, void *data);
	/*
	 * Whether all these counters (of one agent, of all services that want some) can be counted
	 * at once; asked before a service is added, and where counters are shared out over passes.
	 * NULL: always.
	 */
	kymo_status_t (*admit)(const kymo_counter_request_t *together, void *data);
	/* Begins to count; of mode THREAD: the calling thread. */
	kymo_status_t (*open)(const kymo_counter_request_t *request, void **session, void *data);
	/*
	 * Values since any fixed moment, counter by counter, of each all instances in order. Of mode
	 * THREAD by the thread that opened it. Not used in mode DISPATCH.
	 */
	kymo_status_t (*read)(void *session, double *values, void *data);
	/* Ends counting and frees the session. Any thread, also in a forked child. */
	void (*close)(void *session, void *data);
	void *data;
	/*
	 * Describes a counter of this name that `list` left out, where there are endless variants of
	 * some. ERROR_NOT_FOUND: there is none. NULL: never.
	 */
	kymo_status_t (*find)(const char *name, uint32_t agent, kymo_counter_info_t *out,
			      void *data);
} kymo_counter_provider_t;

/* `provider` is borrowed for ever. ERROR_EXISTS: the name is taken. ERROR_LIMIT: 16 at most. */
KYMO_EXPORT kymo_status_t kymo_counter_provider_register(const kymo_counter_provider_t *provider);

#ifdef __cplusplus
}
#endif
#endif
