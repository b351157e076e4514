/* SPDX-License-Identifier: Apache-2.0 */
/* Telling and giving back; see addresses.h. */
#include "core/process/addresses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/process/process.h"
#include "core/ring/ring.h"

#define TOLD_MOST 4u /* a program may try many limits */

static bool is_kymos(const char *line)
{
	return strstr(line, "memfd:kymo") || strstr(line, "/libkymo") ||
	       strstr(line, "[perf_event]");
}

/* What its libraries, buffers and rings of samples have; not the stacks and the heap of its threads. */
static uint64_t own_bytes(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t sum = 0, from, to;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2 && is_kymos(line))
			sum += to - from;
	if (f)
		fclose(f);
	return sum;
}

/* What buffers have not mapped yet, as nothing has been recorded into them. */
static uint64_t give_back(void)
{
	uint64_t more = 0;

	if (pthread_mutex_trylock(&core_live->configure) != 0)
		return 0; /* it is not worth a wait */
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		const struct core_buffer *b = &core_buffers[i];

		if (b->used && b->ready && b->pool)
			core_pool_trim(b->pool);
		else if (b->used && core_buffer_early(b))
			more += core_pool_missing(core_buffer_early(b));
	}
	pthread_mutex_unlock(&core_live->configure);
	return more;
}

__attribute__((visibility("default"))) void kymo_process_limits_addresses(uint64_t bytes)
{
	static _Atomic uint64_t told;
	static _Atomic uint32_t times;
	const int saved = errno;

	/* Of a child the first: it is not brought in order for this. */
	if (core_generation == (uint32_t)getpid() && core_usable() &&
	    kymo_process_state() == KYMO_STATE_RUNNING && atomic_exchange(&told, bytes) != bytes &&
	    atomic_fetch_add(&times, 1) < TOLD_MOST) {
		cap_guard_enter();
		const uint64_t missing = give_back(), own = own_bytes() + missing;

		cap_note(1, "process",
			 "its addresses are limited to %" PRIu64
			 " MiB (ulimit -v, RLIMIT_AS): Kymo's libraries and buffers take %" PRIu64
			 " of these from the program, its threads' stacks and heaps some 15, or "
			 "100 with samples; a smaller --buffer-size leaves it more",
			 bytes >> 20, own >> 20);
		cap_guard_leave();
	}
	errno = saved;
}
