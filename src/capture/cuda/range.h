/* SPDX-License-Identifier: Apache-2.0 */
/* Counting kernels: the provider of counters (range_counter.c) and the profiler (range_profiler.c). */
#ifndef CAPTURE_CUDA_RANGE_H
#define CAPTURE_CUDA_RANGE_H

#include <kymo/counter.h>

#include "capture/cuda/profile.h"

/* Some metrics of one device that are counted for one service. */
struct range_session {
	struct range_session *next;
	uint32_t device;
	unsigned slot; /* its bit, where several are meant */
	bool closed, said;
	size_t count;
	const char **names; /* of the metrics, which live for ever */
	double *values;
	void (*deliver)(void *to, const kymo_counter_dispatch_t *d);
	bool (*chosen)(void *to, const kymo_counter_launch_t *launch);
	void *to;
};

/* ---- range_counter.c ---- */

/* CUPTI's object that knows the device's metrics, or NULL. */
void *range_host(uint32_t device);
/* What CUPTI needs to count these metrics together. *config is malloc'ed. */
cupti_result range_config(uint32_t device, const char **names, size_t count, uint8_t **config,
			  size_t *bytes, size_t *passes);
void range_session_free(struct range_session *s);

/* ---- range_profiler.c ---- */

/* False: there are too many. */
bool range_session_add(struct range_session *s);
/* Frees it, too, as soon as nothing is being delivered to it. */
void range_session_remove(struct range_session *s);
void range_profiler_rest(void);

#endif
