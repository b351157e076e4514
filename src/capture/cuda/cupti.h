/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of CUPTI's binary interface that is used, declared here so that nothing of NVIDIA is
 * needed to build. Sources: cupti_callbacks.h, cupti_activity.h, cupti_result.h of CUDA 12 and 13.
 *
 * Activity records only grow at their end from version to version (up to 13.0; tests/cuda checks
 * it against the headers where there are any), so one declaration of what the oldest supported
 * version has serves all.
 */
#ifndef CAPTURE_CUDA_CUPTI_H
#define CAPTURE_CUDA_CUPTI_H

#include <stddef.h>
#include <stdint.h>

typedef int cupti_result; /* 0: success */
enum { CUPTI_OK = 0, CUPTI_MAX_LIMIT_REACHED = 12, CUPTI_MULTIPLE_SUBSCRIBERS = 39 };

/* What cuptiGetVersion() says. */
enum {
	CUPTI_VERSION_MIN = 18 /* CUDA 11.8: has all that is declared here */
};

enum { CUPTI_ENTER = 0, CUPTI_EXIT = 1 };
enum { CUPTI_DRIVER = 1, CUPTI_RUNTIME = 2, CUPTI_RESOURCE = 3, CUPTI_STATE = 6 };
enum { CUPTI_CONTEXT_CREATED = 1 };
enum { CUPTI_FATAL_ERROR = 1, CUPTI_ERROR_STATE = 2 };

struct cupti_callback {
	int site;
	const char *function;
	const void *params;
	const void *result;
	const char *symbol; /* the kernel's name, for launches */
	void *context;
	uint32_t context_id;
	uint64_t *data; /* the same word at entry and exit of a call */
	uint32_t correlation;
};

struct cupti_resource {
	void *context;
	void *handle;
	void *descriptor;
};

struct cupti_state {
	cupti_result result;
	const char *message;
};

struct cupti_subscriber_params { /* of cuptiSubscribe_v2(), CUDA 13 */
	size_t size;
	const char *name;
	char *old_name;
	size_t old_size;
};

typedef void (*cupti_callback_fn)(void *user, int domain, uint32_t cbid, const void *data);
typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				  size_t valid);

/* X(result, name, arguments); all must be there */
#define CUPTI_FUNCTIONS(X)                                                                         \
	X(GetVersion, (uint32_t *))                                                                \
	X(GetResultString, (cupti_result, const char **))                                          \
	X(Subscribe, (void **, cupti_callback_fn, void *))                                         \
	X(Unsubscribe, (void *))                                                                   \
	X(EnableCallback, (uint32_t, void *, int, uint32_t))                                       \
	X(GetContextId, (void *, uint32_t *))                                                      \
	X(GetDeviceId, (void *, uint32_t *))                                                       \
	X(GetStreamIdEx, (void *, void *, uint8_t, uint32_t *))                                    \
	X(ActivityEnable, (int))                                                                   \
	X(ActivityDisable, (int))                                                                  \
	X(ActivityGetNextRecord, (uint8_t *, size_t, void **))                                     \
	X(ActivityGetNumDroppedRecords, (void *, uint32_t, size_t *))                              \
	X(ActivityRegisterCallbacks, (cupti_request_fn, cupti_complete_fn))                        \
	X(ActivityFlushAll, (uint32_t))                                                            \
	X(ActivityRegisterTimestampCallback, (uint64_t(*)(void)))                                  \
	X(ActivityConfigureUnifiedMemoryCounter, (void *, uint32_t))                               \
	X(Finalize, (void))
/* not in every version */
#define CUPTI_FUNCTIONS_LATER(X)                                                                   \
	X(Subscribe_v2, (void **, cupti_callback_fn, void *, struct cupti_subscriber_params *))

struct cupti {
#define MEMBER(name, args) cupti_result(*name) args;
	CUPTI_FUNCTIONS(MEMBER)
	CUPTI_FUNCTIONS_LATER(MEMBER)
#undef MEMBER
	uint32_t version;
};

/* ---- activity records ---- */

enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_KERNEL = 3,
	CUPTI_DEVICE = 8,
	CUPTI_CONTEXT = 9,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_OVERHEAD = 17,
	CUPTI_MEMCPY2 = 22,
	CUPTI_UNIFIED_MEMORY_COUNTER = 25,
	CUPTI_MEMORY_POOL = 50,
	CUPTI_GRAPH_TRACE = 51,
	CUPTI_JIT = 52
};

struct cupti_record {
	uint32_t kind;
};

struct cupti_kernel {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint32_t cache_requested, cache_executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout_requested, carveout, padding;
	uint32_t shared_executed;
	uint64_t graph_node;
	uint32_t shared_limit;
	uint32_t graph;
	void *policy;
	uint32_t channel, channel_type;
	uint32_t cluster[3], cluster_policy;
};

struct cupti_memcpy { /* MEMCPY; MEMCPY2 has the fields up to `stream` in common */
	uint32_t kind;
	uint8_t copy_kind, source_kind, destination_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t correlation, runtime_correlation, padding;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_memcpy2 {
	uint32_t kind;
	uint8_t copy_kind, source_kind, destination_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t source_device, source_context, destination_device, destination_context;
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint16_t flags, memory_kind;
	uint32_t padding;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

enum { CUPTI_ASYNC = 1 }; /* flag of copies and memsets */
enum {
	CUPTI_HTOD = 1,
	CUPTI_DTOH = 2,
	CUPTI_HTOA = 3,
	CUPTI_ATOH = 4,
	CUPTI_HTOH = 9,
	CUPTI_PTOP = 10
};

struct cupti_device {
	uint32_t kind, flags;
	uint64_t memory_bandwidth, memory_bytes; /* kB/s, bytes */
	uint32_t constant_bytes, l2_bytes, warp, clock_khz, copy_engines, multiprocessors, ipc;
	uint32_t warps_per_multiprocessor, blocks_per_multiprocessor, shared_per_multiprocessor;
	uint32_t registers_per_multiprocessor, registers_per_block, shared_per_block;
	uint32_t threads_per_block, block_max[3], grid_max[3];
	uint32_t major, minor, id, ecc;
	uint8_t uuid[16];
	const char *name;
	uint8_t visible, mig, reserved[6];
	uint32_t gpu_instance, compute_instance;
	uint8_t mig_uuid[16];
};

struct cupti_context {
	uint32_t kind, context, device;
	uint16_t api, null_stream;
};

struct cupti_overhead {
	uint32_t kind, overhead, object_kind;
	uint32_t object[3];
	uint64_t start, end;
};

struct cupti_jit {
	uint32_t kind, entry, operation, device;
	uint64_t start, end;
	uint32_t correlation, padding;
	uint64_t id, cache_bytes;
	const char *path; /* of the cache */
};

struct cupti_pool {
	uint32_t kind, operation, type, correlation, process, device;
	uint64_t least, address, bytes, threshold, time, used;
};

struct cupti_memory_counter { /* of unified memory */
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t source, destination; /* devices, or the CPU */
	uint32_t stream, process, flags, padding;
};

enum {
	CUPTI_COUNTER_HTOD = 1,
	CUPTI_COUNTER_DTOH = 2,
	CUPTI_COUNTER_CPU_FAULTS = 3,
	CUPTI_COUNTER_GPU_FAULTS = 4,
	CUPTI_COUNTER_DTOD = 8
};
#define CUPTI_CPU UINT32_MAX /* as source or destination */

struct cupti_counter_config {
	uint32_t scope, counter, device, enable;
};

struct cupti_graph {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
};

#endif
