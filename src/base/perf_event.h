/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening events of perf_event_open(2) inside somebody else's program: what the system permits and
 * why not, descriptors out of the program's way, and reading them only while they are still ours.
 */
#ifndef BASE_PERF_EVENT_H
#define BASE_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_SPARE_FILES 8

struct perf_fd {
	int fd; /* -1: none */
	uint64_t id;
};

/*
 * Opens `attr` (size is filled in) for a thread, without the kernel's part where only that is
 * permitted (*user_only). Negative: -errno; EMFILE where the number is one of the last
 * PERF_SPARE_FILES that the process may have open: they are the program's.
 */
int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu, int group, bool *user_only);

/* Why an open failed, in words. `event`: its name. */
void perf_reason(int error, const struct perf_event_attr *attr, const char *event, char *out,
		 size_t size);

/* Moves a descriptor to high numbers, which programs do not count on. Takes over `fd`. */
struct perf_fd perf_keep(int fd);

/*
 * Programs close descriptors they did not open and get the numbers again: reads only what still is
 * the event it was. False: it is not.
 */
bool perf_read(const struct perf_fd *p, void *data, size_t bytes);
void perf_close(struct perf_fd *p);

/* Threads of the process into `out`; how many there are. */
unsigned perf_threads(pid_t *out, unsigned room);

#endif
