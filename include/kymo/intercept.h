/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers of a tool's own in the tables of runtimes, whichever way Kymo got the table: registered
 * with <kymo/register.h>, through AMD's registration (HSA, HIP, ROCTx, ...), or the dispatch table
 * of the OpenCL loader. A tool listens for tables, is told of those that are there already, and
 * puts wrappers into their entries.
 *
 * From the outside to the inside, a call passes through:
 *
 *   1. the program, or whatever has put itself before Kymo (layers, profilers that came later);
 *   2. Kymo's tracing, if anybody wants the call: it sees what the program passed and what it got;
 *   3. the tools' wrappers, the one chained last first;
 *   4. the function as the runtime registered it, or what others wrapped around it before.
 *
 *   typedef cl_int (*finish_fn)(cl_command_queue);
 *   static void *next;                              // Kymo's to write, at any time
 *   static cl_int my_finish(cl_command_queue queue)
 *   {
 *           return ((finish_fn)kymo_intercept_next(&next))(queue);
 *   }
 *   kymo_intercept_find(info->table, "clFinish", &index);
 *   kymo_intercept_chain(info->table, index, (void *)my_finish, &next, &chain);
 *
 * A wrapper is a function of the type of the entry and serves one entry of one table, since it has
 * one `next`. It may leave the call out, change arguments and result, or call more than once.
 * What it calls through `next` is seen by nobody further out. What it calls as the program does
 * (hipMalloc(), clFinish(), ...) is another call: traced with the present one as its parent, and
 * sent through all wrappers of that entry again, this one included. Entries nobody chains cost what
 * they cost without this interface.
 *
 * Threads: every function may be called from any thread at any time, and from callbacks and
 * wrappers. No lock is held while a tool is called. Errors: ERROR_NOT_FOUND is said of handles that
 * are stale: a table that was unregistered, a chain that was undone, a listener that was stopped.
 * Handles are never given out twice.
 */
#ifndef KYMO_INTERCEPT_H
#define KYMO_INTERCEPT_H

#include <stddef.h>
#include <stdint.h>

#include <kymo/schema.h>
#include <kymo/status.h>
#include <kymo/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers from 1; 0 is none. */
typedef struct kymo_table {
	uint64_t handle;
} kymo_table_t;
typedef struct kymo_chain {
	uint64_t handle;
} kymo_chain_t;
typedef struct kymo_listener {
	uint64_t handle;
} kymo_listener_t;

typedef enum kymo_table_event {
	KYMO_TABLE_HERE = 1, /* registered now, or before the tool listened */
	KYMO_TABLE_GONE = 2  /* about to be given back; its wrappers are out of it already */
} kymo_table_event_t;

typedef struct kymo_table_info {
	size_t size; /* sizeof(kymo_table_info_t) */
	kymo_table_t table;
	const kymo_domain_desc_t *domain; /* valid for ever */
	const char *part;  /* which of a runtime's tables ("core", "amd", ...); valid for ever */
	uint64_t version;  /* as the runtime gave it */
	uint32_t instance; /* of the runtime, from 0; its parts share it */
	uint32_t entries;
	/*
	 * Entry i is op first_op + i of the domain while i < known; those beyond are not described.
	 */
	uint32_t first_op;
	uint32_t known;
	/*
	 * The table as the program has it: what lies there is Kymo's door to the entry or what
	 * somebody has put before that. For reading. NULL where the table was copied (OpenCL).
	 */
	void *const *slots;
} kymo_table_info_t;

/*
 * `info` is valid during the call. Comes on the thread that listens (for what was there) or on the
 * one that registers, before its registration returns unless another thread is telling the tool
 * already. A runtime must not be called from here: it may be in the middle of its initialisation.
 */
typedef void (*kymo_table_fn)(kymo_table_event_t event, const kymo_table_info_t *info, void *data);

/*
 * Tells `callback` of every table of the domain `domain` (NULL: of any), each once, those that are
 * there first. ERROR_UNSUPPORTED: Kymo cannot work in this process.
 */
KYMO_EXPORT kymo_status_t kymo_intercept_listen(const char *domain, kymo_table_fn callback,
						void *data, kymo_listener_t *out);

/* A call of the callback that is running on another thread may still end after this. */
KYMO_EXPORT kymo_status_t kymo_intercept_ignore(kymo_listener_t listener);

/* The entry of an op, by the op's name. ERROR_NOT_FOUND also: the table has no such op. */
KYMO_EXPORT kymo_status_t kymo_intercept_find(kymo_table_t table, const char *op, uint32_t *index);

/*
 * What a wrapper chained now would call: the wrapper chained last, or the function.
 * ERROR_INVALID_ARGUMENT: no entry of that index. ERROR_UNSUPPORTED: the entry is empty.
 */
KYMO_EXPORT kymo_status_t kymo_intercept_read(kymo_table_t table, uint32_t index, void **function);

/*
 * Puts `wrapper` into an entry. `*next` is what it has to call: it is set before any call can
 * reach the wrapper, and again (at once, while calls run, which is why wrappers read it by
 * kymo_intercept_next()) when what lies inside is unchained; it stays the tool's memory and in
 * place until the wrapper cannot run any more. Errors as for kymo_intercept_read(); ERROR_EXISTS:
 * `next` serves another chain.
 */
KYMO_EXPORT kymo_status_t kymo_intercept_chain(kymo_table_t table, uint32_t index, void *wrapper,
					       void **next, kymo_chain_t *out);

/*
 * What a wrapper has to call now. Kymo writes `next` while calls run: it is read so, at each call,
 * and in no other way.
 */
static inline void *kymo_intercept_next(void *const *next)
{
	return __atomic_load_n(next, __ATOMIC_ACQUIRE);
}

/*
 * Takes a wrapper out, also from under others. No new call reaches it when this returns; calls
 * that are in it go on, so that its code and `next` must stay as long as any thread may be inside.
 */
KYMO_EXPORT kymo_status_t kymo_intercept_unchain(kymo_chain_t chain);

#ifdef __cplusplus
}
#endif
#endif
