/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the kernel's rings; see perf_ring.h. */
#include "capture/hostsample/perf_ring.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RECORD_MAX 65536u /* the kernel's sizes have 16 bits */
#define UNSHARE    2u     /* CLOSE_RANGE_UNSHARE of Linux 5.9 */

bool perf_ring_own_table(void)
{
#ifdef SYS_close_range
	return syscall(SYS_close_range, 0u, ~0u, UNSHARE) == 0;
#else
	return false;
#endif
}

static bool dropped_of(int fd, uint64_t *out)
{
	uint64_t told[2]; /* the event's count, and that */

	if (read(fd, told, sizeof(told)) != sizeof(told))
		return false;
	*out = told[1];
	return true;
}

/* Half of the numbers that may be open: the rest is for what else the thread opens. */
void perf_ring_keep(struct perf_ring *r, int fd, bool own_table)
{
	struct rlimit limit;

	r->fd = fd;
	if (own_table && getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / 2 &&
	    dropped_of(fd, &r->dropped))
		return;
	close(fd);
	r->fd = -1;
}

static void copy_out(const struct perf_ring *r, uint64_t at, void *to, size_t n)
{
	const uint8_t *data = (const uint8_t *)r->page + r->page->data_offset;
	size_t offset = (size_t)(at & (r->bytes - 1));
	size_t first = n < r->bytes - offset ? n : r->bytes - offset;

	memcpy(to, data + offset, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

bool perf_ring_read(struct perf_ring *r, void (*take)(const struct perf_event_header *h))
{
	static _Alignas(8) uint8_t record[RECORD_MAX]; /* one thread reads all rings */
	uint64_t tail = r->page->data_tail;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	const bool full = head - tail > r->bytes / 4 * 3; /* it has room for more than four */
	struct perf_event_header h;

	while (head - tail >= sizeof(h)) {
		copy_out(r, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		copy_out(r, tail, record, h.size);
		take((const struct perf_event_header *)record);
		tail += h.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
	return full;
}

uint64_t perf_ring_dropped(struct perf_ring *r)
{
	const uint64_t before = r->dropped;

	return dropped_of(r->fd, &r->dropped) ? r->dropped - before : 0;
}
