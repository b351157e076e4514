/* SPDX-License-Identifier: Apache-2.0 */
/* Memory into which the kernel writes samples: one ring for each processor. */
#ifndef CAPTURE_HOSTSAMPLE_PERF_RING_H
#define CAPTURE_HOSTSAMPLE_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_ring {
	struct perf_event_mmap_page *page;
	size_t bytes;    /* of data, a power of two */
	bool of_leaving; /* stacks of threads that leave their processor, nothing else */
};

/* Hands each record since the last time to `take`, whole and aligned, in order. */
void perf_ring_read(struct perf_ring *r, void (*take)(const struct perf_event_header *h));

#endif
