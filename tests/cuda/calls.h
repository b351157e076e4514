/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of CUDA and records of what follows from them, said to the fake. */
#ifndef TESTS_CUDA_CALLS_H
#define TESTS_CUDA_CALLS_H

#include "fake.h"

enum { DRIVER = 1, RUNTIME = 2 };
/* CUPTI's numbers of functions. */
enum {
	CU_MEM_ALLOC = 243,
	CU_MEM_FREE = 245,
	CU_MEMCPY_HTOD = 276,
	CU_LAUNCH = 307,
	CU_LAUNCH_EX = 652,
	CU_STREAM_SYNC = 126,
	CU_STREAM_CREATE_PRIORITY = 367,
	CU_MANAGED = 371,
	CU_EVENT_RECORD = 119,
	CU_STREAM_WAIT = 295,
	CU_EVENT_SYNC = 121,
	CU_MEMSET = 249,
	CU_GRAPH_LAUNCH = 514,
	CU_CTX_SYNC = 17,
	CU_MODULE_LOAD = 19,
	CU_LIBRARY_LOAD = 678,
	CU_GET_FUNCTION = 23,
	CU_BEGIN_CAPTURE = 539,
	CU_END_CAPTURE = 497,
	CU_PROFILER_START = 308,
	CU_PROFILER_STOP = 309,
	RT_PROFILER_START = 171,
	RT_PROFILER_STOP = 172,
	RT_LAUNCH = 211,
	RT_MALLOC = 20,
	RT_MEMCPY = 31,
	RT_STREAM_SYNC = 131,
	RT_GET_DEVICE = 17,
	RT_GRAPH_LAUNCH = 311
};

struct kernel {
	uint32_t kind;
	uint8_t cache[2];
	uint16_t registers;
	uint32_t partitioned[2];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3], shared[2];
	uint32_t local[2], correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch[4];
	uint32_t executed;
	uint64_t node;
	uint32_t limit, graph;
	void *policy;
	uint32_t channel[2], cluster[4];
	uint64_t local_total, maximum, last;
};

struct memcpy_record {
	uint32_t kind;
	uint8_t what[3], flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime, pad;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel[2], launched;
	uint64_t count;
};

struct peer_record {
	uint32_t kind;
	uint8_t what[3], flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, source[2], destination[2], correlation;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel[2], pad;
};

struct memset_record {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t pad;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel[2], launched;
};

struct counter_record {
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t source, destination, stream, process, flags, pad;
	uint64_t processors[5];
};

struct jit_record {
	uint32_t kind, entry, operation, device;
	uint64_t start, end;
	uint32_t correlation, pad;
	uint64_t id, cache_bytes;
	const char *path;
	uint32_t process, thread;
};

struct pool_record {
	uint32_t kind, operation, type, correlation, process, device;
	uint64_t least, address, bytes, threshold, time, used, managed;
};

struct overhead_record {
	uint32_t kind, overhead, object, ids[3];
	uint64_t start, end, more[2];
};

struct launch {
	const void *func;
	uint32_t grid[3], block[3];
	void **args;
	size_t shared;
	void *stream;
};

struct driver_launch {
	void *f;
	unsigned grid[3], block[3], shared;
	void *stream;
	void **params, **extra;
};

extern uint32_t context_id;              /* of the calls that are made */
extern _Thread_local const char *symbol; /* of the launch that is made */

/* What is so long in CUPTI 13, 12, 11. */
size_t by_version(size_t v13, size_t v12, size_t v11);
/* A call of a function begins; fake_leave() ends it. */
void begin(struct fake_call *c, int domain, uint32_t cbid, const void *params,
	   uint32_t correlation);
/* A whole call. */
void whole(int domain, uint32_t cbid, const void *params, int32_t result);
/* cudaLaunchKernel() and what follows from it. */
void launch_as(uint32_t correlation, const char *name, void *stream, unsigned blocks);
/* Returns the correlation number. */
uint32_t launch(const char *name, void *stream, unsigned blocks);
/* The record of a kernel. */
void ran(const char *name, uint32_t correlation, uint64_t start, uint64_t end, uint32_t stream,
	 unsigned blocks);
/* One that ran just now. */
void now_ran(const char *name, uint32_t correlation);
/* A copy by the runtime and a memset by the driver, with their records. */
void copies(void);
/* Its handle. */
void *make_stream(int priority);
/* Launches with their records, handed over. */
void many(unsigned count);
/* A launch by the driver, with its record. */
void direct(const char *name);
/* Launches with their records. */
void kernels(const char *name, int count);
/* The record of a copy. */
void copied(uint32_t correlation, uint32_t graph, uint64_t node);

#endif
