/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of kernels between core and the backends that take them: core holds the services and
 * writes the records, a backend's sampler knows how to get at program counters of its devices.
 */
#ifndef CORE_DEVICE_SAMPLE_H
#define CORE_DEVICE_SAMPLE_H

#include <kymo/sample.h>

#include "core/capture.h"

/* domain "device_sample", op "pc": fields; the record spans the time in which they were taken */
enum {
	DEVICE_SAMPLE_CORRELATION, /* REF call that launched it, 0: not known */
	DEVICE_SAMPLE_AGENT,       /* REF agent */
	DEVICE_SAMPLE_CODE,        /* REF code */
	DEVICE_SAMPLE_REASON,      /* REF string */
	DEVICE_SAMPLE_SAMPLES,
	DEVICE_SAMPLE_IDLE,        /* of them: no warp of the scheduler could issue */
	DEVICE_SAMPLE_CYCLES,      /* between two samples of a multiprocessor */
	DEVICE_SAMPLE_FIELDS
};
/* op "lost" */
enum {
	DEVICE_LOST_AGENT, DEVICE_LOST_COUNT, /* samples, where that is known */
	DEVICE_LOST_FULL, /* times that a buffer was full, with an unknown number of samples */
	DEVICE_LOST_FIELDS
};
enum { DEVICE_SAMPLE_OP_PC, DEVICE_SAMPLE_OP_LOST, DEVICE_SAMPLE_OPS };

struct cap_device_sample {
	uint32_t agent, code, reason;
	uint64_t correlation, samples, idle, cycles;
	uint64_t start, end; /* ticks */
};

/* Who samples devices. Functions are called by one thread at a time, with no lock held. */
struct cap_device_sampler {
	/* From now on all devices, those too that come later. What is refused is noted. */
	void (*start)(const kymo_device_sample_desc_t *desc);
	/* All samples taken so far are handed over before it returns. */
	void (*stop)(void);
	void (*flush)(void); /* the same without stopping */
};

/* When its runtime is there; once. */
void cap_device_sampler_register(const struct cap_device_sampler *s);

void cap_device_sample(const struct cap_device_sample *s);
void cap_device_sample_lost(uint32_t agent, uint64_t count, uint64_t full);

/* Id of a new instruction; the strings are copied. 0: no memory, or too many. Any thread. */
uint32_t cap_device_code(const kymo_device_code_t *code);
/* Id of a stall reason's name. 0: no memory. Any thread. */
uint32_t cap_device_reason(const char *name);

#endif
