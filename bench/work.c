/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime tells of besides its calls: work of devices, waits, memory, messages; see domain.h. */
#include "domain.h"

#include <string.h>

#include <kymo/kymo.h>

#include "core/activity/activity.h"
#include "core/activity/comm.h"
#include "core/marker/marker.h"

static kymo_dispatch_publication_t dispatch = {
	.size = sizeof(dispatch), .dims = 2, .global = {1024, 1024, 1}, .local = {64, 4, 1}};
static kymo_copy_publication_t copy_of = {.size = sizeof(copy_of),
					  .op = KYMO_COPY_WRITE,
					  .source_kind = KYMO_MEMORY_PINNED,
					  .destination_kind = KYMO_MEMORY_DEVICE,
					  .bytes = 1 << 20};
static struct cap_frame wait_of;

static int kernel(void *handle, uint32_t index, size_t size, const void *value)
{
	return kymo_dispatch_publish(&dispatch);
}

static int copy(void *handle, uint32_t index, size_t size, const void *value)
{
	return kymo_copy_publish(&copy_of);
}

/* The call that waits and allocates is one that all record who record the rest. */
static void call_begin(void)
{
	if (cap_unlikely(!wait_of.entered)) {
		wait_of.entered = atomic_load(&core_sync_ops[SYNC_OP_QUEUE].buffers);
		wait_of.buffers = wait_of.entered;
	}
}

static int wait(void *handle, uint32_t index, size_t size, const void *value)
{
	call_begin();
	cap_sync_record(&wait_of, 0, SYNC_OP_QUEUE, 2, 1, handle);
	return 0;
}

static int allocation(void *handle, uint32_t index, size_t size, const void *value)
{
	const struct cap_allocation a = {.address = (uintptr_t)handle,
					 .bytes = 4096,
					 .id = 7,
					 .agent = 1,
					 .kind = MEMORY_DEVICE};

	call_begin();
	cap_allocation_record(&wait_of, 0, index & 1 ? ALLOCATION_OP_FREE : ALLOCATION_OP_ALLOCATE,
			      &a);
	return 0;
}

static int message(void *handle, uint32_t index, size_t size, const void *value)
{
	struct comm_transfer t = {.op = COMM_OP_SEND,
				  .start = tick_now(),
				  .correlation = 1234567,
				  .communicator = 1,
				  .datatype = 3,
				  .peer = 1,
				  .tag = 77,
				  .sent = 65536};

	comm_write(&t, tick_now());
	return 0;
}

static int mark(void *handle, uint32_t index, size_t size, const void *value)
{
	static const kymo_marker_t m = {.size = sizeof(m), .name = "step"};

	marker_mark(&m);
	return 0;
}

static bool publish(void)
{
	const kymo_agent_publication_t agent = {.size = sizeof(agent),
						.domain = "bench",
						.type = KYMO_AGENT_GPU,
						.name = "bench",
						.vendor = "",
						.driver = ""};
	kymo_queue_publication_t queue = {.size = sizeof(queue), .name = "bench"};

	if (kymo_agent_publish(&agent, &queue.agent) != KYMO_OK ||
	    kymo_queue_publish(&queue, &dispatch.queue) != KYMO_OK ||
	    kymo_kernel_publish("bench", "step", 1, &dispatch.kernel) != KYMO_OK)
		return false;
	copy_of.queue = dispatch.queue;
	copy_of.destination = queue.agent;
	dispatch.queued = copy_of.queued = kymo_time();
	dispatch.submitted = copy_of.submitted = dispatch.queued + 100;
	dispatch.start = copy_of.start = dispatch.queued + 200;
	dispatch.end = copy_of.end = dispatch.queued + 10200;
	wait_of.id = 1;
	wait_of.start = tick_now() - 1000;
	wait_of.end = wait_of.start + 1000;
	return comm_register();
}

bench_fn bench_work(const char *what)
{
	static const struct {
		const char *name;
		bench_fn function;
	} works[] = {{"kernel", kernel},         {"copy", copy},       {"wait", wait},
		     {"allocation", allocation}, {"message", message}, {"mark", mark},
		     {"range", bench_range}};

	if (!publish())
		return NULL;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (strcmp(works[i].name, what) == 0)
			return works[i].function;
	return NULL;
}
