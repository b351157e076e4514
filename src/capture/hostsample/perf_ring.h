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
	int fd;          /* the event's, of a thread with descriptors of its own; -1: closed */
	uint64_t dropped;
};

/*
 * The calling thread gets a table of descriptors of its own, without any: what it opens the program does not find. False: the system
 * does not do that.
 */
bool perf_ring_own_table(void);
/* Keeps `fd`, of an event with `read_format` PERF_RING_DROPPED, open for perf_ring_dropped(), where it is the thread's own and works. */
void perf_ring_keep(struct perf_ring *r, int fd, bool own_table);
#define PERF_RING_DROPPED (1u << 4) /* PERF_FORMAT_LOST of Linux 6.0 */

/*
 * Hands each record since the last time to `take`, whole and aligned, in order. True: it was so full that the kernel may have dropped
 * some.
 */
bool perf_ring_read(struct perf_ring *r, void (*take)(const struct perf_event_header *h));
/*
 * How many it has dropped since the last time, also those that no later record tells of, of threads that have ended; for rings with
 * a descriptor. Running threads are interrupted.
 */
uint64_t perf_ring_dropped(struct perf_ring *r);

#endif
