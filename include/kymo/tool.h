/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools interface: contexts, services, buffers, ids, reflection.
 *
 * A tool is any library that exports `kymo_configure` (or passes such a function to
 * kymo_force_configure). It makes contexts, adds services to them (which operations it wants, as
 * callbacks or as buffered records), and starts and stops them at any time. Several tools work
 * side by side; none sees the others.
 *
 * Threads: every function may be called from any thread at any time, also from a tool's own
 * callbacks, unless its comment says otherwise. No function here is async-signal-safe.
 * Errors: every function returns a kymo_status_t; outputs are written only on KYMO_OK.
 * Times are nanoseconds of CLOCK_MONOTONIC_RAW. Strings are borrowed and live until the process
 * ends unless said otherwise.
 */
#ifndef KYMO_TOOL_H
#define KYMO_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/schema.h>
#include <kymo/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_EXPORT __attribute__((visibility("default")))

/* ---- life cycle ----------------------------------------------------------------------------- */

#define KYMO_TOOL_VERSION 1u

typedef struct kymo_tool {
	size_t size;      /* sizeof(kymo_tool_t) */
	const char *name; /* for notes and messages */
	/*
	 * Called once, before any record. Another status than KYMO_OK switches the tool off; the
	 * trace notes it. May be NULL.
	 */
	kymo_status_t (*initialize)(void *data);
	/*
	 * Called once at the end of the process, after the tool's contexts were stopped and
	 * everything was delivered; the tool that came last is called first. Not called if a
	 * delivery callback of the tool has not come back (docs/tools.md). May be NULL: contexts go
	 * on then until the process is gone. kymo_tool_detach() calls it, too, with the contexts as
	 * they are: what is started goes on being told and delivered until they are destroyed after
	 * it.
	 */
	void (*finalize)(void *data);
	/*
	 * Called in a child after fork(), when Kymo is first used there. The child has the
	 * tool's contexts, started or stopped as in the parent; shared buffers are made anew. May
	 * be NULL.
	 */
	void (*fork_child)(void *data);
	void *data;
} kymo_tool_t;

/*
 * Returns the tool's description (borrowed for ever) or NULL if the tool does not want to take
 * part. `version` is KYMO_TOOL_VERSION of the running library, `priority` counts tools from 0.
 */
typedef const kymo_tool_t *(*kymo_configure_fn)(uint32_t version, const char *library_version,
						uint32_t priority);

/*
 * Registers a tool now, whatever runtimes are already up; a tool that is registered already, or does
 * not want to, is KYMO_OK. The library that holds `configure` stays loaded until the tool is detached,
 * whatever dlclose() says. ERROR_INCOMPATIBLE: sizes do not fit. ERROR_FINALIZED: the process ends.
 */
KYMO_EXPORT kymo_status_t kymo_force_configure(kymo_configure_fn configure);

/*
 * Takes the tool out: `finalize` is called (if set, and not yet called at the end of the process),
 * then the contexts that it made from its configure, initialise or callback functions are
 * destroyed, as by kymo_context_destroy(), and no function of it is called any more once this
 * returns; callbacks that are running on other threads are waited for. Contexts that it made
 * elsewhere, on threads of its own for example, stay: it destroys them itself, before. Called from
 * a callback, of this tool or another, callbacks that are running are not waited for and the
 * library stays loaded for good. The same tool may be configured again. ERROR_NOT_FOUND: no such
 * tool. ERROR_BUSY: called from a delivery callback of the tool, or of one whose buffer is served
 * by the same pool, which would have to come back first; nothing has changed. ERROR_STATE: called
 * from a `select`. ERROR_FINALIZED: the process has ended.
 */
KYMO_EXPORT kymo_status_t kymo_tool_detach(const kymo_tool_t *tool);

typedef enum kymo_state {
	KYMO_STATE_NONE = 0, /* nothing has been registered in this process yet */
	KYMO_STATE_RUNNING = 1,
	KYMO_STATE_FINALIZING = 2, /* buffers are being delivered, tools told the end */
	KYMO_STATE_FINALIZED = 3   /* functions that change something return ERROR_FINALIZED */
} kymo_state_t;

KYMO_EXPORT kymo_state_t kymo_process_state(void);

/* Version of these headers, for #if; that of the library is kymo_version(). */
#define KYMO_VERSION_MAJOR 0
#define KYMO_VERSION_MINOR 1
#define KYMO_VERSION_PATCH 0

/* Version of the library, "0.1.0". */
KYMO_EXPORT const char *kymo_version(void);

/* "ERROR_NO_MEMORY: memory could not be obtained"; never NULL. */
KYMO_EXPORT const char *kymo_status_text(kymo_status_t status);

/*
 * Why the last function that refused a structure on the calling thread did so (a buffer's
 * description whose parts do not fit together, a size that is wrong); "" if none has. Never NULL,
 * valid for ever.
 */
KYMO_EXPORT const char *kymo_error_text(void);

/* Present time in nanoseconds, on the scale of all records. */
KYMO_EXPORT uint64_t kymo_time(void);

/* ---- contexts --------------------------------------------------------------------------------- */

/*
 * A bundle of services, switched on and off as one. As many as memory allows; 64 of them may have
 * buffers at one time.
 */
typedef struct kymo_context {
	uint64_t handle;
} kymo_context_t;

KYMO_EXPORT kymo_status_t kymo_context_create(kymo_context_t *out);

/*
 * Stops and frees it, with its buffer. Callbacks that are running on other threads are waited for,
 * without a limit (not where this is called from a callback: they come back by themselves then,
 * maybe later), and none is called afterwards, not at the exit of calls that it saw enter either.
 * Then what a private buffer holds is delivered; what a shared one holds stays where the other
 * process has mapped it. Calls that have not returned and device work that is not known to be
 * complete leave no record: kymo_drain() first waits for the latter. ERROR_BUSY: called from a
 * delivery callback that would have to come back first; nothing has changed. ERROR_STATE: called
 * from a `select`. ERROR_FINALIZED: the process has ended.
 */
KYMO_EXPORT kymo_status_t kymo_context_destroy(kymo_context_t context);

/* Calls entered from now on are seen. Starting a started context is KYMO_OK. */
KYMO_EXPORT kymo_status_t kymo_context_start(kymo_context_t context);

/* Calls entered from now on are not seen; calls that were entered before still exit. */
KYMO_EXPORT kymo_status_t kymo_context_stop(kymo_context_t context);

KYMO_EXPORT kymo_status_t kymo_context_is_active(kymo_context_t context, bool *active);

/*
 * What is done and submitted from now on is not recorded into the context's buffer, and counts as no loss; or is recorded
 * again. What was submitted before still is. Other than with a context that is stopped, what has to be there before the
 * work (queues that measure times) is made meanwhile, so that recording can go on at any moment; callbacks go on.
 * ERROR_STATE: there is no buffer.
 */
KYMO_EXPORT kymo_status_t kymo_context_pause(kymo_context_t context, bool pause);

/*
 * Of the calling thread alone: what it does and submits from now on is not recorded into the context's buffer,
 * and counts as no loss; or is recorded again. What it submitted before still is. Callbacks go on. ERROR_STATE: there is
 * no buffer.
 */
KYMO_EXPORT kymo_status_t kymo_context_pause_thread(kymo_context_t context, bool pause);

/* ---- services ----------------------------------------------------------------------------------- */

/*
 * A piece of work that is submitted or done, as filters see it. Ids are those that fields of kind
 * KYMO_KIND_REF carry ("agent", "queue", "kernel") and of allocations; 0: none or not known.
 */
typedef struct kymo_work {
	size_t size;                      /* sizeof(kymo_work_t) */
	const kymo_domain_desc_t *domain; /* an activity domain */
	uint32_t op;
	uint32_t agent, queue, kernel;
	uint64_t memory[2]; /* ids of allocations: of a copy source and destination */
	uint64_t bytes;
	uint64_t correlation; /* of the call that submits it, or 0 */
	/* As a framework above the runtime (OCCA) calls the device that it submits to, or NULL. Stays. Its last member:
	 * see `size`. */
	const char *framework_device;
} kymo_work_t;

/*
 * Which operations a service covers: those of `domain` (NULL: of every domain, also ones that
 * are registered later) for which `select` answers true (NULL: all). `select` is asked once for
 * each op, when the service is added or the domain is registered, by one thread at a time; it must
 * not call functions that change contexts (they return ERROR_STATE). Of activity domains only the
 * work that `filter` accepts is recorded or called back (NULL: all). It is asked when work is
 * submitted, on the thread that submits it. Of calls, callbacks are called in the `phases` that are
 * set: KYMO_PHASE_ENTER | KYMO_PHASE_EXIT, or 0 for both; one alone costs two thirds. Since 0.1.0, as its last
 * member: a smaller `size` leaves it out.
 */
typedef struct kymo_selection {
	size_t size; /* sizeof(kymo_selection_t) */
	const char *domain;
	bool (*select)(const kymo_domain_desc_t *domain, uint32_t op, void *data);
	void *data;
	bool (*filter)(const kymo_work_t *work, void *data);
	uint32_t phases;
} kymo_selection_t;

typedef enum kymo_phase {
	KYMO_PHASE_ENTER = 1,
	KYMO_PHASE_EXIT = 2,
	KYMO_PHASE_COMPLETE = 3 /* activities: called once, when everything about them is known */
} kymo_phase_t;

typedef struct kymo_callback_record {
	size_t size;
	const kymo_domain_desc_t *domain;
	uint32_t op;
	kymo_phase_t phase;
	uint32_t thread;      /* index of the thread in the process, from 1 */
	uint32_t tid;         /* of the operating system */
	uint64_t correlation; /* id of this call */
	uint64_t parent;      /* id of the traced call it was made from, or 0 */
	uint64_t external;    /* value on top of this context's stack for the thread, or 0 */
	int64_t scope;
	const void *call_site;
	int32_t status; /* at EXIT */
	/*
	 * The op's argument structure (size first), or NULL: at the EXIT of a call that was left by
	 * longjmp() or an exception, which is told when the thread's next call shows it. Pointers in
	 * it are the program's own and valid during the callback only.
	 */
	const void *args;
	uint64_t *user; /* a word of the tool's own, kept from ENTER to EXIT of this call */
	uint64_t start; /* of activities: ns */
	uint64_t end;
	const void *internal; /* for kymo_callback_value() */
} kymo_callback_record_t;

typedef void (*kymo_callback_fn)(kymo_context_t context, const kymo_callback_record_t *record,
				 void *data);

/*
 * Calls `callback` at enter and exit of the selected ops, on the thread that makes the call; of
 * activities once, on the thread that finds them complete. Who saw a call enter sees it exit, whatever
 * is started or stopped meanwhile. Calls of traced runtimes made by the callback run untraced and are
 * counted (kymo_inner_calls). Allowed while the context is started.
 *
 * Of this and all other functions of tools:
 * - An exception that leaves one is caught and noted once; the answer is then
 *   0 (false, no value), of `initialize` a failure. Not where the unwinder is linked statically: there
 *   it goes on into the program. pthread_exit() and cancellation end the thread as always.
 * - longjmp() out of one is a mistake that is repaired when the thread next makes a traced call;
 *   until then kymo_context_destroy() on other threads waits for it.
 * - fork(): in the child, later functions of tools are not called for the present call.
 */
KYMO_EXPORT kymo_status_t kymo_callback_service(kymo_context_t context,
						const kymo_selection_t *selection,
						kymo_callback_fn callback, void *data);

/*
 * Calls of the selected ops that the context's shared buffer does not record are counted, by thread:
 * a reader of the trace sees how often what was left out was called. Costs a few nanoseconds a call
 * (54 instructions more than one that nobody wants; more where a runtime hands out tables).
 * Where a runtime hands out calls only to those who record them (CUDA), none are counted.
 */
KYMO_EXPORT kymo_status_t kymo_count_service(kymo_context_t context,
					     const kymo_selection_t *selection);

/*
 * The whole call stack with calls of the selected ops (return addresses; the call site alone is
 * always there): in traces, in callbacks at ENTER and EXIT (kymo_callback_stack) and in private
 * buffers (kymo_record_stack). Work has the stack of the call that submitted it, found by its
 * correlation id. Costs microseconds a call.
 */
KYMO_EXPORT kymo_status_t kymo_stack_service(kymo_context_t context,
					     const kymo_selection_t *selection);

/*
 * Messages (domain "comm") that calls of the selected ops start do not go into the context's
 * buffer, which has all others: without it they come whichever calls are recorded. Of a call that
 * nobody wants, nor its messages, nothing is captured. Of a persistent request the call that made
 * it counts.
 */
KYMO_EXPORT kymo_status_t kymo_exclusion_service(kymo_context_t context,
						 const kymo_selection_t *selection);

/*
 * Asks `request` at the enter of the selected ops for the external id of the call: of its records in
 * this context, and of the device work that it submits. It comes in place of the value that was
 * pushed.
 */
typedef uint64_t (*kymo_external_request_fn)(kymo_context_t context,
					     const kymo_callback_record_t *record, void *data);
KYMO_EXPORT kymo_status_t kymo_external_request_service(kymo_context_t context,
							const kymo_selection_t *selection,
							kymo_external_request_fn request,
							void *data);

/* Calls into traced runtimes that tools made from their callbacks, and that ran untraced, so far. */
KYMO_EXPORT uint64_t kymo_inner_calls(void);

/* ---- buffers ------------------------------------------------------------------------------------ */

typedef struct kymo_buffer {
	uint64_t handle;
} kymo_buffer_t;

/* What happens to a record when the buffer is full. */
typedef enum kymo_policy {
	KYMO_POLICY_BLOCK = 1, /* wait at most `block_ns`, then drop */
	KYMO_POLICY_DROP = 2,  /* drop at once; drops are counted exactly */
	/*
	 * A flight recorder: the oldest records of the buffer give way, a chunk (32 KiB) at a time,
	 * and are counted exactly. Nothing is delivered until it is asked for (kymo_drain,
	 * kymo_buffer_flush), the context is destroyed or the process ends. A record is dropped, and counted as lost,
	 * only if every chunk is being filled by a thread of its own or being read.
	 */
	KYMO_POLICY_OVERWRITE = 3
} kymo_policy_t;

/* Threads that deliver; see kymo_pool_create(). */
typedef struct kymo_pool {
	uint64_t handle;
} kymo_pool_t;

/* A buffered record as delivered in the process. Valid during the delivery callback only. */
typedef struct kymo_record {
	size_t size;
	const kymo_domain_desc_t *domain;
	uint32_t op;
	uint32_t thread;
	uint64_t correlation;
	uint64_t parent;
	uint64_t external;
	int64_t scope;
	uint64_t start; /* ns */
	uint64_t end;
	uint64_t call_site;
	int32_t status;
	const void *internal; /* for kymo_record_value() */
} kymo_record_t;

/*
 * Delivery callbacks run on threads of Kymo's. Traced calls that they make run untraced.
 * - They may block: producers follow the buffer's policy meanwhile, and what is lost is counted.
 * - kymo_drain() and kymo_context_destroy() of the buffer's own context, or of one whose buffer is
 *   served by the same pool, are ERROR_BUSY. Contexts may be started and stopped.
 * - They must return: longjmp() must not leave them, nor may the thread be ended.
 * - A child forked inside one consists of this thread alone. When the callback returns in it, the
 *   child ends with status 0.
 */
typedef void (*kymo_delivery_fn)(kymo_buffer_t buffer, const kymo_record_t *record, void *data);

/*
 * Some records of one thread, in order, and what was lost before them. Valid during the delivery
 * callback only. `count` is 0 when there is only a loss to tell: what a thread lost after its last
 * record comes so when the thread ends, at kymo_drain() and when the buffer ends. All `lost`
 * together are `lost` of kymo_buffer_info(), all `overwritten` its `overwritten`.
 */
typedef struct kymo_batch {
	size_t size;
	const kymo_record_t *records;
	size_t count;
	size_t record_size;   /* bytes from one record to the next; sizeof(kymo_record_t) or more */
	uint32_t thread;      /* as in the records; 0: of what was overwritten alone */
	uint64_t lost;        /* records of the thread that were dropped just before these */
	uint64_t overwritten; /* records of the buffer that gave way since the last batch */
} kymo_batch_t;

typedef void (*kymo_batch_fn)(kymo_buffer_t buffer, const kymo_batch_t *batch, void *data);

typedef enum kymo_arguments {
	KYMO_ARGUMENTS_NONE = 0,
	KYMO_ARGUMENTS_SCALARS = 1, /* no strings and arrays */
	KYMO_ARGUMENTS_FULL = 2
} kymo_arguments_t;

/* What the process that empties a shared buffer may ask for. */
typedef enum kymo_steer {
	KYMO_STEER_FLUSH = 1, /* everything recorded is to reach it now: kymo_drain() */
	KYMO_STEER_PAUSE = 2,
	KYMO_STEER_RESUME = 3,
	/*
	 * The recording is over and the process is not: contexts that write into the buffer are to be
	 * destroyed (kymo_tool_detach()), by another thread than the one that is told.
	 */
	KYMO_STEER_LEAVE = 4
} kymo_steer_t;

typedef struct kymo_buffer_desc {
	size_t size;          /* sizeof(kymo_buffer_desc_t) */
	uint64_t bytes;       /* most memory the buffer may take, up to 1 GiB; 0: 64 MiB */
	kymo_policy_t policy; /* 0: BLOCK */
	uint64_t block_ns;    /* 0: 10 ms */
	kymo_arguments_t arguments;
	/*
	 * Calls are not recorded one by one but counted and timed by thread and op, in shared
	 * buffers only and one in a process; `arguments` must be NONE. Activities (device work,
	 * allocations, ...) are recorded all the same.
	 */
	bool tally;
	/*
	 * A private buffer: records are handed to `deliver` (or `deliver_batch`) on a thread of
	 * Kymo's. The records of a thread come in the order in which they ended. Chunks (32 KiB) of
	 * different threads come in the order in which they became full: what another thread
	 * recorded before a record that is delivered, and is not delivered yet, lies in one chunk
	 * at most. kymo_buffer_info() says this bound.
	 */
	kymo_delivery_fn deliver;
	/*
	 * A shared buffer (deliver is NULL): another process empties it. `share` passes the memory
	 * on; the descriptor is Kymo's and closed afterwards. Called when the buffer is first
	 * needed in a process, also in a forked child. Another status than KYMO_OK: nothing is
	 * recorded in this process. Layout: docs/format.md.
	 */
	kymo_status_t (*share)(int memfd, uint64_t bytes, void *data);
	void *data;
	/*
	 * Bytes: delivery begins when so much waits (in whole chunks), when a producer finds no
	 * room, or when it is asked for. 0: 256 KiB. More than `bytes`, or any with OVERWRITE, is
	 * ERROR_INVALID_ARGUMENT.
	 */
	uint64_t watermark;
	kymo_batch_fn deliver_batch; /* instead of `deliver` */
	kymo_pool_t pool;            /* 0: a thread of its own */
	/*
	 * Chunks of different threads may be delivered at the same time, by as many threads as the
	 * pool has: the callback must be thread-safe. Those of one thread stay in order; between
	 * threads there is no order.
	 */
	bool parallel;
	/*
	 * Shared buffers: called, on a thread of Kymo's that is made for it, when the process that
	 * empties the buffer asks for something. It has its answer when this returns. NULL: nothing
	 * can be asked.
	 */
	void (*steer)(kymo_steer_t what, void *data);
	/*
	 * Shared buffers; may be NULL. As `share`, but called when the buffer is made, before the
	 * program can give up what it takes to reach another process (chroot, setuid, seccomp,
	 * limits). The memory stays empty until the first record. If this fails, or the other side
	 * has not taken the memory by then, `share` is called with other memory. In a forked child
	 * it is called before fork() returns: what is not async-signal-safe may not be used.
	 */
	kymo_status_t (*share_early)(int memfd, uint64_t bytes, void *data);
	/*
	 * Shared buffers; may be NULL. Something was to be recorded and nothing of this process will be:
	 * there is no memory that could be shared, or `share` has failed. `error`: errno of that, 0 if
	 * there was none. Called at most once in a process, under the same rules as `share`.
	 */
	void (*unshared)(int error, void *data);
	/* Every thread begins as kymo_context_pause_thread() would leave it. */
	bool threads_paused;
} kymo_buffer_desc_t;

/*
 * The buffer belongs to the context and goes with it. ERROR_INVALID_ARGUMENT: parts of the
 * description do not fit together, kymo_error_text() says which. ERROR_LIMIT: a private one of more
 * than 1 GiB, or too many.
 */
KYMO_EXPORT kymo_status_t kymo_buffer_create(kymo_context_t context, const kymo_buffer_desc_t *desc,
					     kymo_buffer_t *out);

/*
 * Records the selected ops into `buffer`, one record for a call, written when it exits. A context
 * has one buffer.
 */
KYMO_EXPORT kymo_status_t kymo_buffer_service(kymo_context_t context,
					      const kymo_selection_t *selection,
					      kymo_buffer_t buffer);

/*
 * Delivers everything recorded by calls that have exited and device work that is complete. KYMO_OK
 * at once when it is, also in `finalize`. ERROR_TIMEOUT: some of it is not there yet after
 * `timeout_ns`. ERROR_BUSY: called from a delivery callback that would have to come back first.
 */
KYMO_EXPORT kymo_status_t kymo_drain(kymo_context_t context, uint64_t timeout_ns);

/*
 * Asks for delivery of what calls that have exited have recorded, and does not wait. Allowed in
 * delivery callbacks. What the calling thread is recording into is delivered as far as it goes.
 */
KYMO_EXPORT kymo_status_t kymo_buffer_flush(kymo_buffer_t buffer);

/* Records dropped by the buffer so far; those that gave way to newer ones are not among them. */
KYMO_EXPORT kymo_status_t kymo_buffer_lost(kymo_buffer_t buffer, uint64_t *lost);

/*
 * Of this process. After kymo_drain() with no call on its way, what was recorded is
 * delivered + lost + overwritten.
 */
typedef struct kymo_buffer_info {
	size_t size; /* sizeof(kymo_buffer_info_t), set by the caller */
	kymo_policy_t policy;
	uint64_t bytes;       /* most memory for records */
	uint64_t memory;      /* taken so far */
	uint64_t delivered;   /* records; private buffers, counted by chunk */
	uint64_t lost;        /* records dropped */
	uint64_t overwritten; /* records that gave way to newer ones */
	/*
	 * Private buffers: most bytes of another thread's records that are delivered after a record
	 * which is newer. UINT64_MAX: no bound.
	 */
	uint64_t order_bytes;
} kymo_buffer_info_t;

KYMO_EXPORT kymo_status_t kymo_buffer_info(kymo_buffer_t buffer, kymo_buffer_info_t *out);

/*
 * `threads` (1 to 16) threads that deliver for any number of buffers; they are made when the first
 * of those is needed, and anew in a forked child. A buffer is served by one of them at a time
 * unless it is `parallel`.
 */
KYMO_EXPORT kymo_status_t kymo_pool_create(uint32_t threads, kymo_pool_t *out);

/* Ends its threads. ERROR_BUSY: a buffer uses it. */
KYMO_EXPORT kymo_status_t kymo_pool_destroy(kymo_pool_t pool);

/* A thread that Kymo makes. */
typedef struct kymo_thread_info {
	size_t size;
	const char *name; /* what it is for, "deliver"; the system knows it as "kymo-deliver" */
	uint32_t tid;     /* after: of the operating system, 0: it could not be made */
} kymo_thread_info_t;

typedef void (*kymo_thread_fn)(const kymo_thread_info_t *thread, void *data);

/*
 * Calls `before` and `after` (either may be NULL) around the making of every thread that Kymo makes
 * in this process from now on, both on the thread that makes it: what the new thread inherits
 * (affinity, priority) can be set before and put back after. Always in pairs. At most 16.
 */
KYMO_EXPORT kymo_status_t kymo_thread_notify(kymo_thread_fn before, kymo_thread_fn after,
					     void *data);

/*
 * Makes a thread as Kymo makes its own, for a tool's needs: no signals, calls untraced, announced,
 * detached. `name`: at most 10 characters. In a forked child it does not exist. The library that
 * holds `fn` stays loaded until `fn` has returned, also when the tool is detached meanwhile: tell
 * the thread to end in `finalize`.
 */
KYMO_EXPORT kymo_status_t kymo_thread_start(const char *name, void (*fn)(void *data), void *data);

/* ---- ids -------------------------------------------------------------------------------------- */

/*
 * Correlation ids: one for each traced call, unique in the process, carried by everything that the
 * call submits. When the call has returned and all its work is done and recorded, activity domain
 * "retirement" says so, once: nothing carries the id afterwards.
 */

/* A value of the tool's own on the records of this context and the calling thread, as a stack. */
KYMO_EXPORT kymo_status_t kymo_external_push(kymo_context_t context, uint64_t value);
/* `value` may be NULL. ERROR_STATE: nothing was pushed. */
KYMO_EXPORT kymo_status_t kymo_external_pop(kymo_context_t context, uint64_t *value);

/* Index of the calling thread, as in records; 0: Kymo cannot work here. */
KYMO_EXPORT uint32_t kymo_thread_index(void);

/* The same for another thread, by its index. ERROR_NOT_FOUND: it has ended, or was never seen. */
KYMO_EXPORT kymo_status_t kymo_external_push_thread(kymo_context_t context, uint32_t thread,
						    uint64_t value);
KYMO_EXPORT kymo_status_t kymo_external_pop_thread(kymo_context_t context, uint32_t thread,
						   uint64_t *value);

/* Opens a scope (an execution of a range) on the calling thread, child of the innermost one. */
KYMO_EXPORT kymo_status_t kymo_scope_push(int64_t *scope);
KYMO_EXPORT kymo_status_t kymo_scope_pop(void);

/* ---- reflection ----------------------------------------------------------------------------- */

/* Stop by returning another status than KYMO_OK; it is passed on. */
typedef kymo_status_t (*kymo_domain_fn)(const kymo_domain_desc_t *domain, void *data);
KYMO_EXPORT kymo_status_t kymo_domains(kymo_domain_fn callback, void *data);

/*
 * Likewise, and also the domains of this library whose runtime is not in the process (yet): what
 * could be recorded. Of MPI, NCCL and NVIDIA's libraries as far as their modules are installed.
 * NVTX, ITT and Kokkos have none of their own: they are told in "marker" and "scope". Nothing gets
 * initialised.
 */
KYMO_EXPORT kymo_status_t kymo_domains_known(kymo_domain_fn callback, void *data);
KYMO_EXPORT kymo_status_t kymo_domain_find(const char *name, const kymo_domain_desc_t **out);

/*
 * Name of what a field of kind KYMO_KIND_REF refers to: `type` is the field's type ("kernel",
 * "agent", "program", "queue", "string", "code"), `id` its value. Looks through what was defined so far, so keep what
 * it says: the string lives until the process ends, and the same name is the same string. ERROR_NOT_FOUND: no such id, or one without a
 * name.
 */
KYMO_EXPORT kymo_status_t kymo_ref_name(const char *type, uint64_t id, const char **name);

/* The value of a field, as recorded. */
typedef struct kymo_value {
	size_t size; /* sizeof(kymo_value_t), set by the caller */
	const kymo_field_t *field;
	/*
	 * False: NULL pointer, or not recorded. Of buffered records a number behind a NULL pointer
	 * is present, and 0.
	 */
	bool present;
	uint64_t u;       /* integers, enums, pointers, handles; signed ones sign extended */
	double f;         /* KYMO_KIND_FLOAT */
	const void *data; /* strings, bytes, arrays: `count` elements of `width` bytes */
	uint32_t count;   /* elements stored */
	uint32_t total;   /* elements there were */
	uint32_t
		width; /* of an element in `data`; less than its size: unsigned, extend with zero */
	uint8_t kind;  /* kymo_kind_t: the field's, of an element the element's */
	const void
		*address; /* of the value: `data`, or within this structure; `field->size` bytes */
} kymo_value_t;

/* Value of field `index` of a buffered record. ERROR_NOT_FOUND: there is no such field. */
KYMO_EXPORT kymo_status_t kymo_record_value(const kymo_record_t *record, uint32_t index,
					    kymo_value_t *out);

/*
 * Value of field `index` of what a callback was told, during the callback; what the call has not
 * written yet is not present at ENTER. ERROR_UNSUPPORTED: the op's arguments are not known.
 */
KYMO_EXPORT kymo_status_t kymo_callback_value(const kymo_callback_record_t *record, uint32_t index,
					      kymo_value_t *out);

/* Number of a field by its name. */
KYMO_EXPORT kymo_status_t kymo_field_find(const kymo_op_desc_t *op, const char *name,
					  uint32_t *index);

/*
 * The call stack of a buffered record: `count` return addresses, innermost first, valid until the
 * process ends; the same stack is the same pointer. ERROR_NOT_FOUND: none was taken
 * (kymo_stack_service).
 */
KYMO_EXPORT kymo_status_t kymo_record_stack(const kymo_record_t *record, const uint64_t **addresses,
					    uint32_t *count);

/* The same of what a callback was told, at ENTER and EXIT of a call. */
KYMO_EXPORT kymo_status_t kymo_callback_stack(const kymo_callback_record_t *record,
					      const uint64_t **addresses, uint32_t *count);

/*
 * Element `index` of a string, bytes or array: `out` is a scalar of the element's kind, its `field`
 * that of the array. ERROR_NOT_FOUND: not stored.
 */
KYMO_EXPORT kymo_status_t kymo_value_element(const kymo_value_t *value, uint32_t index,
					     kymo_value_t *out);

/*
 * The value as text ("CL_MEM_READ_WRITE", "0x5581...", "[1, 2, 3]", "\"abc\""), terminated, cut to
 * `size` bytes. `length` (may be NULL) gets what the whole text needs, without the terminator.
 */
KYMO_EXPORT kymo_status_t kymo_value_text(const kymo_value_t *value, char *out, size_t size,
					  size_t *length);

/* Number of an op by its name. Numbers and names of a domain stay the same in later versions. */
KYMO_EXPORT kymo_status_t kymo_op_find(const kymo_domain_desc_t *domain, const char *name,
				       uint32_t *op);

/* Name of a value of a set, borrowed for ever. ERROR_NOT_FOUND: it has none. */
KYMO_EXPORT kymo_status_t kymo_enum_name(const kymo_enum_set_t *set, int64_t value,
					 const char **name);

/* Members of the structures that tools are given, for those that cannot include this header. */
typedef struct kymo_member {
	const char *name;
	uint8_t kind; /* kymo_kind_t */
	uint32_t offset, size;
} kymo_member_t;

typedef struct kymo_structure {
	size_t size; /* sizeof(kymo_structure_t) */
	const char *name;
	uint32_t bytes;
	uint32_t member_count;
	const kymo_member_t *members;
} kymo_structure_t;

/* "kymo_record_t", "kymo_callback_record_t", "kymo_work_t" or "kymo_value_t". */
KYMO_EXPORT kymo_status_t kymo_structure_find(const char *name, const kymo_structure_t **out);

#ifdef __cplusplus
}
#endif
#endif
