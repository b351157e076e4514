/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples between core and those who take them: core holds the services and writes the records,
 * samplers (src/capture/hostsample) know how to get at program counters.
 */
#ifndef CORE_SAMPLE_H
#define CORE_SAMPLE_H

#include <kymo/sample.h>

#include "core/capture.h"

/* domain "sample", op "pc": fields */
enum {
	SAMPLE_CORRELATION, /* REF call, 0: not known when it was taken */
	SAMPLE_THREAD,      /* REF thread */
	SAMPLE_TID,
	SAMPLE_TIME,        /* TIME ns, CLOCK_MONOTONIC_RAW */
	SAMPLE_CPU,
	SAMPLE_PC,          /* POINTER: in the program, also while the kernel works for it */
	SAMPLE_STACK,       /* REF stack */
	SAMPLE_WEIGHT,      /* TIME ns that it stands for */
	SAMPLE_KERNEL,      /* BOOL: the kernel was at work for the thread */
	SAMPLE_SCOPE,       /* SIGNED 64 */
	SAMPLE_FIELDS
};
/* op "lost" */
enum { SAMPLE_LOST_COUNT, SAMPLE_LOST_FIELDS };
/* op "published": the same, then those of core/publish.h, which say when and whose it is */
enum {
	SAMPLE_PUBLISHED_CORRELATION, SAMPLE_PUBLISHED_PC, SAMPLE_PUBLISHED_STACK,
	SAMPLE_PUBLISHED_WEIGHT, SAMPLE_PUBLISHED_FIELDS
};
enum { SAMPLE_OP_PC, SAMPLE_OP_LOST, SAMPLE_OP_PUBLISHED, SAMPLE_OPS };

struct cap_sample {
	uint32_t tid, cpu;
	uint64_t time, weight; /* ns */
	uint64_t correlation;
	int64_t scope;
	bool kernel;
	uint32_t count;
	const uint64_t *addresses; /* [0] the program counter, then return addresses */
};

/* Who takes samples. Functions are called by one thread at a time, with no lock held. */
struct cap_sampler {
	const char *name;
	kymo_sample_method_t method;
	/* Works here, with this description; else why not. */
	kymo_status_t (*check)(const kymo_sample_desc_t *desc, char *reason, size_t size);
	/* From now on cap_sample_* may be called, by one thread of the sampler's. */
	kymo_status_t (*start)(const kymo_sample_desc_t *desc, char *reason, size_t size);
	/* All samples taken so far are handed over before it returns. */
	void (*stop)(void);
	void (*flush)(void); /* the same without stopping */
	/* A child: what there was is the parent's. */
	void (*fork_child)(void);
};

void cap_sampler_register(const struct cap_sampler *s);

/* Before a batch of samples: threads are looked up anew. */
void cap_sample_begin(void);
void cap_sample(const struct cap_sample *s);
void cap_sample_lost(uint64_t count);
/* A thread ended (of which samples may still come in this batch). */
void cap_sample_thread_ended(uint32_t tid);

#endif
