/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for NVIDIA's driver and CUPTI, for machines without a GPU: one library that exports
 * CUPTI's functions for Kymo and those below for test programs, which say what "CUDA" does.
 * FAKE_VERSION is what cuptiGetVersion() reports; the sizes of records follow it. FAKE_MULTIPROCESSORS
 * is how many devices have, else they do not say. With FAKE_REPLAY set there is no device but those of records.
 */
#ifndef TESTS_CUDA_FAKE_H
#define TESTS_CUDA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As cuInit(): loads the library that CUDA_INJECTION64_PATH names. */
void fake_init(void);
int cuInit(unsigned flags);
/* One call after the other, nested as begun. `params` as in the call's structure. */
struct fake_call {
	int domain; /* 1 driver, 2 runtime */
	uint32_t cbid;
	const void *params;
	int32_t result;
	uint32_t correlation;
	uint32_t context_id;
	uint64_t data;
	const char *symbol; /* the kernel's name, of launches */
	bool let_in, told; /* was on its way in when nobody listened any more; its begin was told */
	unsigned use;      /* how often CUPTI was finalized before it began */
};
void fake_enter(struct fake_call *c);
void fake_leave(struct fake_call *c, int32_t result);
/* The next correlation number. */
uint32_t fake_correlation(void);
void fake_skip(uint32_t to);
/* A context comes to be; its handle. */
void *fake_context(uint32_t id);
/* What CUPTI tells of a context's resources: "cbid" of domain 3; nothing with it if both are NULL. */
void fake_resource(uint32_t cbid, void *context, void *descriptor);
/* A record into the present buffer, unless its kind is off. */
void fake_record(const void *record, size_t bytes);
/* Hands the buffer over, from a thread that is not the program's. */
void fake_deliver(void);
/* Records that found no room. */
void fake_drop(size_t count);
/* Nanoseconds of the clock that Kymo gave. */
uint64_t fake_now(void);
/* Whether the records of a kind, the callbacks of a function are on. */
bool fake_kind(int kind);
bool fake_enabled(int domain, uint32_t cbid);
/* Bytes of records that Kymo does not have yet. */
size_t fake_held(void);
/* How often all buffers were asked for, but by who asks regularly. With FAKE_STUCK set that never comes back. */
unsigned fake_flushed(void);
/*
 * From here on CUPTI keeps its buffer when it is asked for what is done, as it does while work in it
 * runs: records that have no end. At the end of that they get one.
 */
void fake_hold(bool on);
/* How often who asks regularly has asked since. */
unsigned fake_looked(void);
/* For replays: what records of a kind are long, what number a stream has. */
void fake_size(uint32_t kind, size_t bytes);
void fake_stream(const void *handle, uint32_t id);
/* Called as the callbacks of a function have been switched off, by the thread that does so. */
void fake_between(void (*fn)(int domain, uint32_t cbid));
/* Another tool takes CUPTI before Kymo. */
void fake_other_subscriber(void);

#endif
