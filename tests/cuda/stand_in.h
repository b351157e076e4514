/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for NVIDIA's driver and CUPTI, for machines without a GPU: one library that exports
 * CUPTI's functions for Kymo and those below for test programs, which say what "CUDA" does.
 * STAND_VERSION is what cuptiGetVersion() reports; the sizes of records follow it. With STAND_REPLAY
 * set there is no device but those of records.
 */
#ifndef TESTS_CUDA_STAND_IN_H
#define TESTS_CUDA_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As cuInit(): loads the library that CUDA_INJECTION64_PATH names. */
void stand_init(void);
/* One call after the other, nested as begun. `params` as in the call's structure. */
struct stand_call {
	int domain; /* 1 driver, 2 runtime */
	uint32_t cbid;
	const void *params;
	int32_t result;
	uint32_t correlation;
	uint32_t context_id;
	uint64_t data;
	const char *symbol; /* the kernel's name, of launches */
};
void stand_enter(struct stand_call *c);
void stand_leave(struct stand_call *c, int32_t result);
/* The next correlation number. */
uint32_t stand_correlation(void);
void stand_skip(uint32_t to);
/* A context comes to be; its handle. */
void *stand_context(uint32_t id);
/* What CUPTI tells of a context's resources: "cbid" of domain 3; nothing with it if both are NULL. */
void stand_resource(uint32_t cbid, void *context, void *descriptor);
/* A record into the present buffer, unless its kind is off. */
void stand_record(const void *record, size_t bytes);
/* Hands the buffer over, from a thread that is not the program's. */
void stand_deliver(void);
/* Records that found no room. */
void stand_drop(size_t count);
/* Nanoseconds of the clock that Kymo gave. */
uint64_t stand_now(void);
/* Whether the records of a kind, the callbacks of a function are on. */
bool stand_kind(int kind);
bool stand_enabled(int domain, uint32_t cbid);
/* Bytes of records that Kymo does not have yet. */
size_t stand_held(void);
/* How often all buffers were asked for, but by who asks regularly. With STAND_STUCK set that never comes back. */
unsigned stand_flushed(void);
/*
 * From here on CUPTI keeps its buffer when it is asked for what is done, as it does while work in it
 * runs: records that have no end. At the end of that they get one.
 */
void stand_hold(bool on);
/* How often who asks regularly has asked since. */
unsigned stand_looked(void);
/* For replays: what records of a kind are long, what number a stream has. */
void stand_size(uint32_t kind, size_t bytes);
void stand_stream(const void *handle, uint32_t id);
/* Another tool takes CUPTI before Kymo. */
void stand_other_subscriber(void);

#endif
