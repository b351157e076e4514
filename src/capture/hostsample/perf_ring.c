/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the kernel's rings; see perf_ring.h. */
#include "capture/hostsample/perf_ring.h"

#include <string.h>

#define RECORD_MAX 65536u /* the kernel's sizes have 16 bits */

static void copy_out(const struct perf_ring *r, uint64_t at, void *to, size_t n)
{
	const uint8_t *data = (const uint8_t *)r->page + r->page->data_offset;
	size_t offset = (size_t)(at & (r->bytes - 1));
	size_t first = n < r->bytes - offset ? n : r->bytes - offset;

	memcpy(to, data + offset, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

void perf_ring_read(struct perf_ring *r, void (*take)(const struct perf_event_header *h))
{
	static _Alignas(8) uint8_t record[RECORD_MAX]; /* one thread reads all rings */
	uint64_t tail = r->page->data_tail;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
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
}
