/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing: a tool or a runtime adds records of its own to the stream. What it publishes reaches
 * tools in the process, the recorder, the trace, its store and every export as if Kymo had captured
 * it: calls and events of domains with a schema of the publisher's own, and kernels, copies and
 * counters of devices that Kymo has no backend for.
 *
 * Times are on the host's time line (kymo_time()) or on a clock of the publisher's, which is tied
 * to the host's by readings of both. They may be published long after they were, and in any order:
 * the trace shows them where they belong, within the stated error of the clock.
 *
 * Threads: any function, any thread, any time, also from callbacks. Errors: as in tool.h.
 * Structures are size-first; leave what is not known at 0. Strings and arrays are copied, unless
 * said otherwise.
 */
#ifndef KYMO_PUBLISH_H
#define KYMO_PUBLISH_H

#include <kymo/agent.h>
#include <kymo/answer.h>
#include <kymo/schema.h>
#include <kymo/status.h>
#include <kymo/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- clocks -----------------------------------------------------------------------------------
 */

/* Handle 0 is the host's time line: nanoseconds of kymo_time(). */
typedef struct kymo_clock {
	uint64_t handle;
} kymo_clock_t;

/*
 * `kind`: "device", "host", "machine" or what it is. `ns_per_1000`: nanoseconds that 1000 units of
 * the clock nominally take (1000: it counts nanoseconds; 52083: at 19.2 MHz); how far it is off,
 * and how it drifts, follows from its readings. ERROR_LIMIT: there are 256.
 */
KYMO_EXPORT kymo_status_t kymo_clock_create(const char *name, const char *kind,
					    uint64_t ns_per_1000, kymo_clock_t *out);

typedef enum kymo_sync_method {
	KYMO_SYNC_SAMPLED = 1, /* the clock was read between two readings of the host's */
	KYMO_SYNC_BOUNDED = 2  /* it had the value at some moment between two others */
} kymo_sync_method_t;

/*
 * The clock had `value` at a moment between the host times `before` and `after` (kymo_time()). One
 * such reading ties it to the host's; two or more, spread over the run, follow its drift. The
 * tightest interval that can be had is best: half of it is the error that reports state. Readings
 * may come late and in any order. ERROR_INVALID_ARGUMENT: `after` is before `before`.
 */
KYMO_EXPORT kymo_status_t kymo_clock_sync(kymo_clock_t clock, uint64_t before, uint64_t value,
					  uint64_t after, kymo_sync_method_t method);

/* ---- tracks -----------------------------------------------------------------------------------
 */

/*
 * Whose events they are: shown like a thread of the process, beside its threads. Handle 0 is the
 * calling thread.
 */
typedef struct kymo_track {
	uint64_t handle;
} kymo_track_t;

/* ERROR_LIMIT: there are 65536. */
KYMO_EXPORT kymo_status_t kymo_track_create(const char *name, kymo_track_t *out);

/* ---- domains of the publisher's own
 * -------------------------------------------------------------- */

typedef struct kymo_published_domain {
	uint64_t handle;
} kymo_published_domain_t;

/* An op has at most this many fields. */
#define KYMO_PUBLISHED_FIELDS_MAX (KYMO_FIELDS_MAX - 6)

/*
 * Registers a domain. `domain` is as in schema.h: static, it lives as long as the process. Services
 * that cover all domains cover it from now on. What tools see has the flags KYMO_OP_ACTIVITY and
 * KYMO_OP_TIMED, and six more fields at the end of each op (parent, track, clock, start, duration,
 * status); fields of the publisher keep their numbers. ERROR_EXISTS: the name is taken.
 * ERROR_INVALID_ARGUMENT: no ops, or too many fields.
 */
KYMO_EXPORT kymo_status_t kymo_domain_publish(const kymo_domain_desc_t *domain,
					      kymo_published_domain_t *out);

typedef struct kymo_publication {
	size_t size;        /* sizeof(kymo_publication_t) */
	kymo_clock_t clock; /* of start and end */
	uint64_t start;     /* in units of the clock */
	uint64_t end;       /* the same as start: a moment */
	kymo_track_t track;
	uint64_t parent; /* correlation id of the call that it was done by or for, or 0 */
	int32_t status;  /* the op's `status_ok` is success */
	/*
	 * Values of the op's fields, in their order; fewer leave the rest absent. Of each are read:
	 * `present`, and `f` of floats, `data` and `count` of strings, bytes and arrays (elements
	 * of the field's size), `u` of all others (signed ones sign extended).
	 */
	const kymo_value_t *values;
	uint32_t value_count;
} kymo_publication_t;

/*
 * Adds a record. `id` (may be NULL) gets its correlation id, which later records may name as their
 * parent or as the call that submitted them; 0: nobody wants the record now, or it was dropped (and
 * counted). ERROR_NOT_FOUND: no such domain, op, clock or track. ERROR_INVALID_ARGUMENT: it ends
 * before it starts, or has more values than the op has fields. ERROR_STATE: called from a callback
 * about a publication.
 */
KYMO_EXPORT kymo_status_t kymo_publish(kymo_published_domain_t domain, uint32_t op,
				       const kymo_publication_t *record, uint64_t *id);

/* ---- devices -----------------------------------------------------------------------------------
 */

typedef struct kymo_agent_publication {
	size_t size;
	kymo_agent_type_t type;
	const char *name;
	const char *domain; /* of the runtime that it belongs to */
	const char *vendor, *driver;
	uint64_t handle;    /* the runtime's own */
	kymo_clock_t clock; /* that times of its work are on */
	uint32_t parent;    /* agent id of what it is a part of */
	uint64_t memory_bytes;
	uint32_t compute_units;
} kymo_agent_publication_t;

/*
 * `agent` gets the id that fields of type "agent" carry; kymo_agent_find_record() knows it.
 * ERROR_LIMIT: 1024 are published.
 */
KYMO_EXPORT kymo_status_t kymo_agent_publish(const kymo_agent_publication_t *agent, uint32_t *id);

typedef struct kymo_queue_publication {
	size_t size;
	uint32_t agent;   /* published */
	const char *name; /* or NULL */
	uint64_t handle;  /* the runtime's own */
	bool out_of_order;
} kymo_queue_publication_t;

/* ERROR_LIMIT: 65536 are published. */
KYMO_EXPORT kymo_status_t kymo_queue_publish(const kymo_queue_publication_t *queue, uint32_t *id);

/* A kernel of the runtime `domain`. */
KYMO_EXPORT kymo_status_t kymo_kernel_publish(const char *domain, const char *name, uint64_t handle,
					      uint32_t *id);

/* Times are on the clock of the agent (of a copy: of its queue's), 0: not known. */
typedef struct kymo_dispatch_publication {
	size_t size;
	uint64_t correlation;  /* of the call that submitted it, or 0 */
	uint64_t submitted_by; /* kymo_time() when that call began, or 0: kernels before it are
				  flagged */
	uint32_t queue;        /* published */
	uint32_t kernel;
	uint64_t queued, submitted, start, end;
	uint32_t dims;                           /* 1 to 3 */
	uint64_t global[3], local[3], offset[3]; /* work items */
	int32_t status;                          /* 0, or the runtime's error code */
} kymo_dispatch_publication_t;

/*
 * A kernel that ran on a published queue. ERROR_NOT_FOUND: no such queue. ERROR_INVALID_ARGUMENT:
 * it ends before it starts, or `start` is 0.
 */
KYMO_EXPORT kymo_status_t kymo_dispatch_publish(const kymo_dispatch_publication_t *dispatch);

/* Codes are op numbers of domain "copy". */
typedef enum kymo_copy_op {
	KYMO_COPY_READ = 0,  /* device to host */
	KYMO_COPY_WRITE = 1, /* host to device */
	KYMO_COPY_COPY = 2,  /* within or between devices */
	KYMO_COPY_FILL = 3,
	KYMO_COPY_MAP = 4,
	KYMO_COPY_UNMAP = 5,
	KYMO_COPY_MIGRATE = 6
} kymo_copy_op_t;

typedef struct kymo_copy_publication {
	size_t size;
	kymo_copy_op_t op;
	uint64_t correlation;
	uint64_t submitted_by;
	uint32_t queue;               /* published */
	uint32_t source, destination; /* agent ids, 0: the host */
	kymo_memory_kind_t source_kind, destination_kind;
	uint64_t bytes;
	uint64_t queued, submitted, start, end;
	bool blocking; /* the call waited for it */
	int32_t status;
} kymo_copy_publication_t;

KYMO_EXPORT kymo_status_t kymo_copy_publish(const kymo_copy_publication_t *copy);

/* ---- measures ----------------------------------------------------------------------------------
 */

typedef struct kymo_counter_publication {
	size_t size;
	const char *name;               /* "temperature" */
	const char *publisher;          /* whose counter it is, "toy" */
	const char *unit, *description; /* or NULL */
	uint32_t agent;                 /* of which device it is; 0: the host */
	bool gauge;                     /* a level, not a count */
} kymo_counter_publication_t;

/* `id`: as in fields of type "counter". */
KYMO_EXPORT kymo_status_t kymo_counter_publish(const kymo_counter_publication_t *counter,
					       uint32_t *id);

typedef struct kymo_count_publication {
	size_t size;
	uint32_t counter; /* published */
	uint32_t agent;   /* the counter's */
	double value;     /* what was counted from start to end; of gauges the level at `end` */
	kymo_clock_t clock;
	uint64_t start, end; /* in units of the clock */
	kymo_track_t track;
	uint64_t correlation; /* of the call that it is about, or 0 */
} kymo_count_publication_t;

/* ERROR_NOT_FOUND: no such counter, clock or track. ERROR_INVALID_ARGUMENT: it ends before it
 * starts. */
KYMO_EXPORT kymo_status_t kymo_count_publish(const kymo_count_publication_t *count);

typedef struct kymo_sample_publication {
	size_t size;
	kymo_clock_t clock;
	uint64_t time;             /* in units of the clock */
	kymo_track_t track;        /* who was there */
	uint64_t weight_ns;        /* that the sample stands for */
	uint64_t correlation;      /* of the call around it, or 0 */
	const uint64_t *addresses; /* [0] the program counter, then return addresses */
	uint32_t count;            /* at most KYMO_SAMPLE_DEPTH are kept */
} kymo_sample_publication_t;

/* ERROR_NOT_FOUND: no such clock or track. */
KYMO_EXPORT kymo_status_t kymo_sample_publish(const kymo_sample_publication_t *sample);

#ifdef __cplusplus
}
#endif
#endif
