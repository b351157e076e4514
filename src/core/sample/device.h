/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of kernels between core and the backends that take them: core holds the services and
 * writes the records, a backend's sampler knows how to get at program counters of its devices.
 */
#ifndef CORE_SAMPLE_DEVICE_H
#define CORE_SAMPLE_DEVICE_H

#include <kymo/sample.h>

#include "core/capture.h"
#include "record/fields.h"

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
