/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tool would otherwise ask a traced runtime, which it must not call from its callbacks: the
 * call in progress, the queue and device of the calling thread, what a pointer points to; and what
 * the tool itself is to Kymo.
 *
 * The answers come from what Kymo has seen of the program's own calls. No function here calls a
 * runtime, waits for another thread's call or takes a lock that a traced call may hold: all may be
 * called from callbacks, on any thread. Errors: as in tool.h.
 *
 * Arguments come as typed structures too: those of domain "opencl" are in <kymo/args/opencl.h>,
 * those of table domains ("hip", "hsa", ...) are kymo_table_args_t.
 */
#ifndef KYMO_ANSWER_H
#define KYMO_ANSWER_H

#include <kymo/schema.h>
#include <kymo/status.h>
#include <kymo/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values as in fields "kind", "source_kind" and "destination_kind" of records. */
typedef enum kymo_memory_kind {
	KYMO_MEMORY_UNKNOWN = 0,
	KYMO_MEMORY_PAGEABLE = 1, /* the program's own, known to no runtime */
	KYMO_MEMORY_PINNED = 2,   /* of the host, for devices to reach */
	KYMO_MEMORY_DEVICE = 3,
	KYMO_MEMORY_MANAGED = 4, /* moved by the runtime to where it is used */
	KYMO_MEMORY_SHARED = 5   /* one memory that host and device reach */
} kymo_memory_kind_t;

typedef struct kymo_call_info {
	size_t size; /* sizeof(kymo_call_info_t), set by the caller */
	const kymo_domain_desc_t *domain;
	uint32_t op;
	uint32_t thread; /* index, as in records */
	uint64_t correlation;
	uint64_t parent; /* of the traced call it was made from, or 0 */
	uint64_t start;  /* ns */
	int64_t scope;
	const void *call_site;
} kymo_call_info_t;

/*
 * The innermost traced call of the calling thread that has not returned; in a callback at EXIT the
 * call that the callback is about. ERROR_NOT_FOUND: there is none.
 */
KYMO_EXPORT kymo_status_t kymo_current_call(kymo_call_info_t *out);

typedef struct kymo_queue_info {
	size_t size;      /* sizeof(kymo_queue_info_t), set by the caller */
	uint32_t queue;   /* as in fields of type "queue" */
	uint32_t agent;   /* as in fields of type "agent" */
	uint32_t context; /* as in fields of type "device_context" */
	uint64_t handle;  /* the runtime's own */
} kymo_queue_info_t;

/*
 * The queue (stream) of `domain` that the calling thread's call in progress is about, or that it
 * used last in a call that some context wants. kymo_ref_name() may know its name. ERROR_NOT_FOUND:
 * none yet, or it is gone, or there is no such domain. ERROR_UNSUPPORTED: Kymo does not follow the
 * domain's queues.
 */
KYMO_EXPORT kymo_status_t kymo_current_queue(const char *domain, kymo_queue_info_t *out);

/* Likewise its device: the id that fields of type "agent" carry; see kymo_agent_find_record(). */
KYMO_EXPORT kymo_status_t kymo_current_agent(const char *domain, uint32_t *agent);

typedef struct kymo_pointer {
	size_t size; /* sizeof(kymo_pointer_t), set by the caller */
	kymo_memory_kind_t kind;
	const kymo_domain_desc_t *domain; /* of the runtime that owns it; NULL: none does */
	uint64_t base;                    /* of the allocation, or its handle (cl_mem) */
	uint64_t bytes;                   /* of the allocation */
	uint64_t allocation;              /* as in fields "id" of allocations */
	uint32_t agent;   /* as in fields of type "agent"; 0: the host, or a whole device context */
	uint32_t context; /* as in fields of type "device_context", or 0 */
} kymo_pointer_t;

/*
 * What `address` points to: an address within an allocation, or the handle of a memory object.
 * Memory that no traced runtime gave is PAGEABLE, without owner, its base the address itself, its
 * size 0. Allocations made before any context wanted allocations, dispatches or copies may not be
 * known.
 */
KYMO_EXPORT kymo_status_t kymo_pointer_info(const void *address, kymo_pointer_t *out);

/*
 * A time of an agent's clock (`start` of dispatches and copies) on the scale of all other times,
 * and (may be NULL) how far that may be off. `agent`: as in fields of type "agent". It comes from
 * readings of the clock that Kymo takes while the agent works: between two of them the bound is the
 * wider one's; before the first and behind the last it grows with the distance, so a time is known
 * best when the next reading has come (after kymo_drain(), for example). ERROR_NOT_FOUND: no such
 * agent. ERROR_UNSUPPORTED: its clock cannot be read. ERROR_STATE: it has not been read yet.
 */
KYMO_EXPORT kymo_status_t kymo_clock_to_host(uint32_t agent, uint64_t time, uint64_t *host_ns,
					     uint64_t *error_ns);

typedef struct kymo_client_info {
	size_t size; /* sizeof(kymo_client_info_t), set by the caller */
	const char *name;
	uint32_t id;       /* from 1, given once in a process */
	uint32_t priority; /* as told to its configure function */
	uint32_t tools;    /* that take part at present, Kymo's recorder among them */
} kymo_client_info_t;

/*
 * The tool whose function is running on the calling thread. ERROR_STATE: none is. It says nothing
 * of other tools but how many there are.
 */
KYMO_EXPORT kymo_status_t kymo_client_info(kymo_client_info_t *out);

#ifdef __cplusplus
}
#endif
#endif
