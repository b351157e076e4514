/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vendor-neutral activity domains: what happened on devices, whatever API asked for it. Their
 * fields are the same for every backend, so readers and tools need no knowledge of a vendor.
 *
 * An activity record's own start and end ticks are host time: for a sync the wait itself, for
 * device work the moment it was harvested. Device times are fields in nanoseconds of the clock of
 * the agent (DEF_AGENT.clock): `start` absolute, the others relative to it, because that is short
 * and loses nothing (queued = start - queued_before, ...).
 *
 * This list is data only: readers find fields by name, fields are appended, never renamed.
 */
#ifndef CORE_ACTIVITY_H
#define CORE_ACTIVITY_H

/* domain "dispatch", op "kernel" */
enum {
	DISPATCH_CORRELATION, /* REF call: the call that submitted it */
	DISPATCH_AGENT,       /* REF agent */
	DISPATCH_QUEUE,       /* REF queue */
	DISPATCH_KERNEL,      /* REF kernel */
	DISPATCH_START,       /* TIME ns, device clock; 0 with `untimed` set */
	DISPATCH_DURATION,    /* TIME ns, signed 64 */
	DISPATCH_QUEUED_BEFORE,    /* TIME ns before start */
	DISPATCH_SUBMITTED_BEFORE, /* TIME ns before start */
	DISPATCH_DIMS,        /* 1..3 */
	DISPATCH_GLOBAL_X, DISPATCH_GLOBAL_Y, DISPATCH_GLOBAL_Z, /* work items */
	DISPATCH_LOCAL_X, DISPATCH_LOCAL_Y, DISPATCH_LOCAL_Z,    /* 0: left to the runtime */
	DISPATCH_OFFSET_X, DISPATCH_OFFSET_Y, DISPATCH_OFFSET_Z,
	DISPATCH_STATUS,      /* SIGNED 32: 0, or the runtime's error code of the command */
	DISPATCH_UNTIMED,     /* UNSIGNED: why there is no device time (enum untimed_reason) */
	DISPATCH_SUBMIT_TICK, /* host tick at which the submitting call began */
	DISPATCH_FIELDS
};

/*
 * domain "dispatch", op "launch": the same for runtimes that tell more of a kernel and nothing of
 * offsets. An op of its own, because every field costs each record of its op.
 */
enum {
	LAUNCH_CORRELATION, LAUNCH_AGENT, LAUNCH_QUEUE, LAUNCH_KERNEL, LAUNCH_START, LAUNCH_DURATION,
	LAUNCH_QUEUED_BEFORE, LAUNCH_SUBMITTED_BEFORE, LAUNCH_DIMS,
	LAUNCH_GLOBAL_X, LAUNCH_GLOBAL_Y, LAUNCH_GLOBAL_Z, /* work items: blocks times threads */
	LAUNCH_LOCAL_X, LAUNCH_LOCAL_Y, LAUNCH_LOCAL_Z,
	LAUNCH_UNTIMED, LAUNCH_SUBMIT_TICK,
	LAUNCH_REGISTERS,      /* of a thread */
	LAUNCH_STATIC_SHARED, LAUNCH_DYNAMIC_SHARED, /* bytes of a block */
	LAUNCH_LOCAL_MEMORY,   /* bytes of a thread */
	LAUNCH_CLUSTER,        /* blocks of a cluster, three numbers; absent: no clusters */
	LAUNCH_GRAPH,          /* the runtime's number of the executable graph, 0: of none */
	LAUNCH_GRAPH_NODE,
	LAUNCH_FIELDS
};
_Static_assert(LAUNCH_FIELDS <= 24, "more fields cost each record 8 bytes");
enum { DISPATCH_OP_KERNEL, DISPATCH_OP_LAUNCH, DISPATCH_OPS };

/* domain "copy", ops below; fields */
enum {
	COPY_CORRELATION, COPY_QUEUE,
	COPY_SOURCE_AGENT, COPY_DESTINATION_AGENT, /* REF agent, 0: host */
	COPY_BYTES,
	COPY_SOURCE_KIND, COPY_DESTINATION_KIND,   /* ENUM memory_kind */
	COPY_START, COPY_DURATION, COPY_QUEUED_BEFORE, COPY_SUBMITTED_BEFORE,
	COPY_BLOCKING, /* BOOL: the call waited for it */
	COPY_STATUS, COPY_UNTIMED, COPY_SUBMIT_TICK,
	COPY_GRAPH, COPY_GRAPH_NODE, /* as of launches */
	COPY_ADDRESS, /* migrations and faults: where */
	COPY_CAUSE,   /* ENUM migration_cause */
	COPY_COUNT,   /* faults in one */
	COPY_FIELDS
};
/* op numbers of "copy" */
enum {
	COPY_OP_READ,      /* device to host */
	COPY_OP_WRITE,     /* host to device */
	COPY_OP_COPY,      /* within or between devices */
	COPY_OP_FILL, COPY_OP_MAP, COPY_OP_UNMAP, COPY_OP_MIGRATE,
	COPY_OP_FAULT, /* a processor touched pages of unified memory that were elsewhere */
	COPY_OPS
};

/* domain "allocation", ops "allocate", "free" */
enum {
	ALLOCATION_CORRELATION, ALLOCATION_AGENT, /* 0: host or whole device context */
	ALLOCATION_CONTEXT,    /* REF device_context */
	ALLOCATION_KIND,       /* ENUM memory_kind */
	ALLOCATION_WHAT,       /* ENUM allocation_what: buffer, sub-buffer, image, pipe, svm, usm */
	ALLOCATION_BYTES,      /* of frees too, when known */
	ALLOCATION_ADDRESS,    /* POINTER: handle or address, reused over time */
	ALLOCATION_ID,         /* id of this lifetime, the same in allocate and free */
	ALLOCATION_PARENT,     /* id of the parent allocation (sub-buffers), else 0 */
	ALLOCATION_FIELDS
};
enum { ALLOCATION_OP_ALLOCATE, ALLOCATION_OP_FREE, ALLOCATION_OPS };

/* domain "sync", ops below: the host waiting; start and end ticks of the record are the wait */
enum {
	SYNC_CORRELATION, SYNC_QUEUE, /* 0 when several or none */
	SYNC_COUNT, /* events waited for, objects or semaphores */
	SYNC_EVENT, /* HANDLE of the one event, where there is one */
	SYNC_FIELDS
};
enum {
	SYNC_OP_QUEUE,    /* finish */
	SYNC_OP_EVENTS,   /* wait for events */
	SYNC_OP_BLOCKING, /* a blocking copy or map */
	SYNC_OP_BARRIER,  /* queue-side, zero host time */
	SYNC_OP_MARKER,   /* queue-side, zero host time */
	SYNC_OP_USER_EVENT, /* the host completed a user event */
	SYNC_OP_DEVICE,       /* for all work of a device or device context */
	SYNC_OP_EVENT_RECORD, /* an event put into a queue, zero host time */
	/* queue-side, zero host time: memory shared with another API, `count` objects */
	SYNC_OP_ACQUIRE, SYNC_OP_RELEASE,
	/* queue-side, zero host time: `count` semaphores */
	SYNC_OP_SEMAPHORE_WAIT, SYNC_OP_SEMAPHORE_SIGNAL,
	SYNC_OPS
};

/* domain "code_object", op "build": the record's ticks span the build */
enum {
	BUILD_CORRELATION, BUILD_PROGRAM, /* REF program */
	BUILD_AGENT,
	BUILD_STATUS,      /* the runtime's code */
	BUILD_OPTIONS,     /* REF blob */
	BUILD_LOG,         /* REF blob, on failure */
	BUILD_FIELDS
};

/*
 * Domains that tell tools in the process what there is: traces hold it as definitions (and ranges as
 * records of domain "marker"), so the recorder leaves these ops (KYMO_OP_OBJECT) out. A context that
 * starts late is told of what is there by then, `replayed`.
 */
enum {
	CODE_OBJECT_OP_BUILD,
	CODE_OBJECT_OP_LOAD,
	CODE_OBJECT_OP_UNLOAD,
	CODE_OBJECT_OP_MODULE, /* a binary that is there is loaded: fields as of a build */
	CODE_OBJECT_OPS
};
/* fields of the latter two */
enum { LOAD_PROGRAM, LOAD_DOMAIN, LOAD_KIND, LOAD_CONTEXT, LOAD_HANDLE, LOAD_REPLAYED, LOAD_FIELDS };

/* domain "kernel_symbol" */
enum { SYMBOL_OP_LOAD, SYMBOL_OP_UNLOAD, SYMBOL_OPS };
enum {
	SYMBOL_KERNEL, SYMBOL_DOMAIN, SYMBOL_NAME, SYMBOL_PROGRAM, SYMBOL_HANDLE, SYMBOL_REPLAYED,
	SYMBOL_FIELDS
};

/* domain "stream" */
enum { STREAM_OP_CREATE, STREAM_OP_DESTROY, STREAM_OPS };
enum {
	STREAM_QUEUE, STREAM_DOMAIN, STREAM_AGENT, STREAM_CONTEXT, STREAM_HANDLE, STREAM_REPLAYED,
	STREAM_FIELDS
};

/* domain "thread": threads that use a traced runtime */
enum { THREAD_OP_START, THREAD_OP_END, THREAD_OPS };
enum { THREAD_INDEX, THREAD_TID, THREAD_NAME, THREAD_REPLAYED, THREAD_FIELDS };

/* domain "runtime_init", op "init": a traced runtime is there */
enum { RUNTIME_DOMAIN, RUNTIME_VERSION, RUNTIME_OPS, RUNTIME_REPLAYED, RUNTIME_FIELDS };

/* domain "scope", op "scope": an execution of a range, when it ends; the record spans it */
enum { SCOPE_ID, SCOPE_PARENT, SCOPE_NAME, SCOPE_DOMAIN, SCOPE_FIELDS };

/* domain "retirement", op "call": the id is carried by nothing new */
enum { RETIREMENT_CORRELATION, RETIREMENT_FIELDS };

enum memory_kind { /* values on the wire */
	MEMORY_UNKNOWN = 0, MEMORY_HOST_PAGEABLE = 1, MEMORY_HOST_PINNED = 2, MEMORY_DEVICE = 3,
	MEMORY_MANAGED = 4, MEMORY_SHARED = 5
};
enum allocation_what {
	ALLOCATION_BUFFER = 1, ALLOCATION_SUB_BUFFER = 2, ALLOCATION_IMAGE = 3, ALLOCATION_PIPE = 4,
	ALLOCATION_SVM = 5, ALLOCATION_USM = 6,
	ALLOCATION_POOL = 7,      /* taken from a memory pool */
	ALLOCATION_PHYSICAL = 8,  /* memory without an address of its own */
	ALLOCATION_REGISTERED = 9 /* the program's own memory, pinned */
};
enum migration_cause { /* values on the wire */
	MIGRATION_UNKNOWN = 0, MIGRATION_USER = 1, MIGRATION_COHERENCE = 2, MIGRATION_PREFETCH = 3,
	MIGRATION_EVICTION = 4, MIGRATION_ACCESS_COUNTERS = 5
};
enum untimed_reason {
	UNTIMED_NO = 0,
	UNTIMED_NO_PROFILING = 1, /* the queue could not be made a profiling one */
	UNTIMED_FAILED = 2,       /* the command failed */
	UNTIMED_LOST = 3,         /* never seen complete before the process ended */
	UNTIMED_QUERY = 4,        /* the runtime refused the profiling query */
	UNTIMED_MODE = 5,         /* device timing was not asked for */
	UNTIMED_NONE = 6,         /* the runtime reported no time */
	UNTIMED_IMPOSSIBLE = 7,   /* the runtime reported an end before the start */
	UNTIMED_NO_TIMER = 8,     /* nothing that Kymo listens to tells when the device works */
	UNTIMED_IN_BUFFER = 9     /* only the command buffer that it is part of has device times */
};

#endif
