/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands, and the calls that have them executed: those of an immediate list are work at once,
 * those of another list each time that it is given to a queue. And the calls that wait.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "capture/ze/ze.h"

/* A call has appended `c`, if it succeeded. */
static void appended(const struct table_call *call, void *list, struct ze_command *c)
{
	struct ze_event *own = ze_signal_taken();
	bool immediate = false, synchronous = false;
	struct ze_agent *agent = NULL;
	uint32_t queue = 0;
	struct ze_list *l;

	if (!ze_succeeded(call))
		return;
	c->own = own;
	ze_objects_lock();
	l = ze_find(ZE_LIST, list);
	if (l && l->immediate) {
		immediate = true;
		synchronous = l->synchronous;
		agent = l->agent;
		queue = l->queue;
	} else if (l && vec_reserve(&l->commands, &l->room, l->count, 1)) {
		if (own)
			own->keep = true;
		l->commands[l->count++] = *c;
	}
	ze_objects_unlock();
	if (!immediate)
		return;
	ze_submit(call->frame, agent, queue, synchronous, c);
	if (synchronous)
		ze_collect(false);
}

/* ---- kernels ---- */

static struct ze_command launch(void *kernel, void *event)
{
	struct ze_command c = {.dispatch = true, .event = event};
	const struct ze_kernel *k;

	ze_objects_lock();
	k = ze_find(ZE_KERNEL, kernel);
	if (k) {
		c.kernel = k->object.id;
		memcpy(c.group, k->group, sizeof(c.group));
	}
	ze_objects_unlock();
	return c;
}

/* Whose numbers of groups the host knows; `first` is the field of the first number. */
static void launched(const struct table_call *call, unsigned list, unsigned kernel, unsigned first,
		     unsigned event)
{
	struct ze_command c = launch(ze_pointer(call, kernel), ze_pointer(call, event));

	for (unsigned i = 0; i < 3; i++)
		c.groups[i] = (uint32_t)ze_arg(call, first + i);
	appended(call, ze_pointer(call, list), &c);
}

void ze_after_zeCommandListAppendLaunchKernel(const struct table_call *call)
{
	launched(call, zeCommandListAppendLaunchKernel_hCommandList,
		 zeCommandListAppendLaunchKernel_hKernel,
		 zeCommandListAppendLaunchKernel_pLaunchFuncArgs_groupCountX,
		 zeCommandListAppendLaunchKernel_hSignalEvent);
}

void ze_after_zeCommandListAppendLaunchCooperativeKernel(const struct table_call *call)
{
	launched(call, zeCommandListAppendLaunchCooperativeKernel_hCommandList,
		 zeCommandListAppendLaunchCooperativeKernel_hKernel,
		 zeCommandListAppendLaunchCooperativeKernel_pLaunchFuncArgs_groupCountX,
		 zeCommandListAppendLaunchCooperativeKernel_hSignalEvent);
}

void ze_after_zeCommandListAppendLaunchKernelWithParameters(const struct table_call *call)
{
	launched(call, zeCommandListAppendLaunchKernelWithParameters_hCommandList,
		 zeCommandListAppendLaunchKernelWithParameters_hKernel,
		 zeCommandListAppendLaunchKernelWithParameters_pGroupCounts_groupCountX,
		 zeCommandListAppendLaunchKernelWithParameters_hSignalEvent);
}

/* Sets the kernel's group size as well. */
void ze_after_zeCommandListAppendLaunchKernelWithArguments(const struct table_call *call)
{
	ze_group_size(call, zeCommandListAppendLaunchKernelWithArguments_hKernel,
		      zeCommandListAppendLaunchKernelWithArguments_groupSizes_groupSizeX);
	launched(call, zeCommandListAppendLaunchKernelWithArguments_hCommandList,
		 zeCommandListAppendLaunchKernelWithArguments_hKernel,
		 zeCommandListAppendLaunchKernelWithArguments_groupCounts_groupCountX,
		 zeCommandListAppendLaunchKernelWithArguments_hSignalEvent);
}

/* The numbers of groups are known to the device only. */
void ze_after_zeCommandListAppendLaunchKernelIndirect(const struct table_call *call)
{
	struct ze_command c =
		launch(ze_pointer(call, zeCommandListAppendLaunchKernelIndirect_hKernel),
		       ze_pointer(call, zeCommandListAppendLaunchKernelIndirect_hSignalEvent));

	appended(call, ze_pointer(call, zeCommandListAppendLaunchKernelIndirect_hCommandList), &c);
}

/* How many of them run is known to the device only: they are one record, of the first. */
void ze_after_zeCommandListAppendLaunchMultipleKernelsIndirect(const struct table_call *call)
{
	void **kernels = (void **)(uintptr_t)ze_arg(
		call, zeCommandListAppendLaunchMultipleKernelsIndirect_phKernels);
	struct ze_command c = launch(
		ze_succeeded(call) && kernels ? kernels[0] : NULL,
		ze_pointer(call, zeCommandListAppendLaunchMultipleKernelsIndirect_hSignalEvent));

	appended(call,
		 ze_pointer(call, zeCommandListAppendLaunchMultipleKernelsIndirect_hCommandList),
		 &c);
}

/* ---- copies ---- */

static bool on_host(uint8_t kind)
{
	return kind == MEMORY_HOST_PAGEABLE || kind == MEMORY_HOST_PINNED;
}

static uint8_t direction(const struct ze_command *c)
{
	if (on_host(c->kinds[0]) == on_host(c->kinds[1]))
		return COPY_OP_COPY;
	return on_host(c->kinds[0]) ? COPY_OP_WRITE : COPY_OP_READ;
}

static void end_of(struct ze_command *c, unsigned end, const void *address)
{
	const struct cap_memory m = ze_memory_of(address);

	c->kinds[end] = m.kind;
	c->agents[end] = m.agent;
	c->memory[end] = m.id;
}

static void copied(const struct table_call *call, unsigned list, const void *from, const void *to,
		   uint64_t bytes, unsigned event)
{
	struct ze_command c = {.copy = true, .bytes = bytes, .event = ze_pointer(call, event)};

	end_of(&c, 0, from);
	end_of(&c, 1, to);
	c.op = direction(&c);
	appended(call, ze_pointer(call, list), &c);
}

void ze_after_zeCommandListAppendMemoryCopy(const struct table_call *call)
{
	copied(call, zeCommandListAppendMemoryCopy_hCommandList,
	       ze_pointer(call, zeCommandListAppendMemoryCopy_srcptr),
	       ze_pointer(call, zeCommandListAppendMemoryCopy_dstptr),
	       ze_arg(call, zeCommandListAppendMemoryCopy_size),
	       zeCommandListAppendMemoryCopy_hSignalEvent);
}

void ze_after_zeCommandListAppendMemoryCopyFromContext(const struct table_call *call)
{
	copied(call, zeCommandListAppendMemoryCopyFromContext_hCommandList,
	       ze_pointer(call, zeCommandListAppendMemoryCopyFromContext_srcptr),
	       ze_pointer(call, zeCommandListAppendMemoryCopyFromContext_dstptr),
	       ze_arg(call, zeCommandListAppendMemoryCopyFromContext_size),
	       zeCommandListAppendMemoryCopyFromContext_hSignalEvent);
}

void ze_after_zeCommandListAppendMemoryCopyWithParameters(const struct table_call *call)
{
	copied(call, zeCommandListAppendMemoryCopyWithParameters_hCommandList,
	       ze_pointer(call, zeCommandListAppendMemoryCopyWithParameters_srcptr),
	       ze_pointer(call, zeCommandListAppendMemoryCopyWithParameters_dstptr),
	       ze_arg(call, zeCommandListAppendMemoryCopyWithParameters_size),
	       zeCommandListAppendMemoryCopyWithParameters_hSignalEvent);
}

/* Flat regions may say that they are 0 deep. */
static uint64_t region_bytes(const struct table_call *call, unsigned width)
{
	const uint64_t height = ze_arg(call, width + 1), depth = ze_arg(call, width + 2);

	return ze_arg(call, width) * (height ? height : 1) * (depth ? depth : 1);
}

void ze_after_zeCommandListAppendMemoryCopyRegion(const struct table_call *call)
{
	copied(call, zeCommandListAppendMemoryCopyRegion_hCommandList,
	       ze_pointer(call, zeCommandListAppendMemoryCopyRegion_srcptr),
	       ze_pointer(call, zeCommandListAppendMemoryCopyRegion_dstptr),
	       region_bytes(call, zeCommandListAppendMemoryCopyRegion_dstRegion_width),
	       zeCommandListAppendMemoryCopyRegion_hSignalEvent);
}

static void filled(const struct table_call *call, unsigned list, unsigned address, unsigned size,
		   unsigned event)
{
	struct ze_command c = {.copy = true,
			       .op = COPY_OP_FILL,
			       .bytes = ze_arg(call, size),
			       .event = ze_pointer(call, event)};

	end_of(&c, 1, ze_pointer(call, address));
	appended(call, ze_pointer(call, list), &c);
}

void ze_after_zeCommandListAppendMemoryFill(const struct table_call *call)
{
	filled(call, zeCommandListAppendMemoryFill_hCommandList, zeCommandListAppendMemoryFill_ptr,
	       zeCommandListAppendMemoryFill_size, zeCommandListAppendMemoryFill_hSignalEvent);
}

void ze_after_zeCommandListAppendMemoryFillWithParameters(const struct table_call *call)
{
	filled(call, zeCommandListAppendMemoryFillWithParameters_hCommandList,
	       zeCommandListAppendMemoryFillWithParameters_ptr,
	       zeCommandListAppendMemoryFillWithParameters_size,
	       zeCommandListAppendMemoryFillWithParameters_hSignalEvent);
}

/* A hint: that the device did anything is not known, and it signals nothing. */
void ze_after_zeCommandListAppendMemoryPrefetch(const struct table_call *call)
{
	struct ze_command c = {.copy = true,
			       .op = COPY_OP_MIGRATE,
			       .bytes = ze_arg(call, zeCommandListAppendMemoryPrefetch_size)};

	end_of(&c, 1, ze_pointer(call, zeCommandListAppendMemoryPrefetch_ptr));
	appended(call, ze_pointer(call, zeCommandListAppendMemoryPrefetch_hCommandList), &c);
}

/* How many bytes an image's element has is not followed: 0 bytes. */
static void image(const struct table_call *call, unsigned list, const void *from, const void *to,
		  unsigned event)
{
	struct ze_command c = {.copy = true,
			       .event = ze_pointer(call, event),
			       .kinds = {MEMORY_DEVICE, MEMORY_DEVICE}};

	if (from)
		end_of(&c, 0, from);
	if (to)
		end_of(&c, 1, to);
	c.op = direction(&c);
	appended(call, ze_pointer(call, list), &c);
}

void ze_after_zeCommandListAppendImageCopy(const struct table_call *call)
{
	image(call, zeCommandListAppendImageCopy_hCommandList, NULL, NULL,
	      zeCommandListAppendImageCopy_hSignalEvent);
}

void ze_after_zeCommandListAppendImageCopyRegion(const struct table_call *call)
{
	image(call, zeCommandListAppendImageCopyRegion_hCommandList, NULL, NULL,
	      zeCommandListAppendImageCopyRegion_hSignalEvent);
}

void ze_after_zeCommandListAppendImageCopyToMemory(const struct table_call *call)
{
	image(call, zeCommandListAppendImageCopyToMemory_hCommandList, NULL,
	      ze_pointer(call, zeCommandListAppendImageCopyToMemory_dstptr),
	      zeCommandListAppendImageCopyToMemory_hSignalEvent);
}

void ze_after_zeCommandListAppendImageCopyFromMemory(const struct table_call *call)
{
	image(call, zeCommandListAppendImageCopyFromMemory_hCommandList,
	      ze_pointer(call, zeCommandListAppendImageCopyFromMemory_srcptr), NULL,
	      zeCommandListAppendImageCopyFromMemory_hSignalEvent);
}

/* ---- marks in a queue ---- */

void ze_after_zeCommandListAppendBarrier(const struct table_call *call)
{
	struct ze_command c = {.op = SYNC_OP_BARRIER,
			       .event = ze_pointer(call, zeCommandListAppendBarrier_hSignalEvent)};

	appended(call, ze_pointer(call, zeCommandListAppendBarrier_hCommandList), &c);
}

void ze_after_zeCommandListAppendSignalEvent(const struct table_call *call)
{
	struct ze_command c = {.op = SYNC_OP_EVENT_RECORD,
			       .event = ze_pointer(call, zeCommandListAppendSignalEvent_hEvent)};

	appended(call, ze_pointer(call, zeCommandListAppendSignalEvent_hCommandList), &c);
}

/* ---- execution ---- */

/* A copy of the commands of a list, which the caller frees. */
static struct ze_command *commands_of(const void *handle, size_t *count)
{
	struct ze_command *copy = NULL;
	const struct ze_list *l;

	ze_objects_lock();
	l = ze_find(ZE_LIST, handle);
	*count = l ? l->count : 0;
	if (*count)
		copy = malloc(*count * sizeof(*copy));
	if (copy)
		memcpy(copy, l->commands, *count * sizeof(*copy));
	ze_objects_unlock();
	return copy;
}

static void executed(const struct table_call *call, void *const *lists, uint32_t count,
		     struct ze_agent *agent, uint32_t queue, bool blocking)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t n;
		struct ze_command *commands = commands_of(lists[i], &n);

		for (size_t k = 0; commands && k < n; k++)
			ze_submit(call->frame, agent, queue, blocking, &commands[k]);
		free(commands);
	}
	if (blocking)
		ze_collect(false);
}

/* What these lists did when they ran before is read before they run again. */
void ze_before_zeCommandQueueExecuteCommandLists(void *hCommandQueue, uint32_t numCommandLists,
						 void *phCommandLists, void *hFence)
{
	ze_collect(false);
}

void ze_after_zeCommandQueueExecuteCommandLists(const struct table_call *call)
{
	struct ze_agent *agent = NULL;
	bool synchronous = false;
	const struct ze_queue *q;
	uint32_t queue = 0;

	if (!ze_succeeded(call))
		return;
	ze_objects_lock();
	q = ze_find(ZE_QUEUE, ze_pointer(call, zeCommandQueueExecuteCommandLists_hCommandQueue));
	if (q) {
		agent = q->agent;
		queue = q->object.id;
		synchronous = q->synchronous;
	}
	ze_objects_unlock();
	executed(call, ze_pointer(call, zeCommandQueueExecuteCommandLists_phCommandLists),
		 (uint32_t)ze_arg(call, zeCommandQueueExecuteCommandLists_numCommandLists), agent,
		 queue, synchronous);
}

void ze_before_zeCommandListImmediateAppendCommandListsExp(void *hCommandListImmediate,
							   uint32_t numCommandLists,
							   void *phCommandLists, void *hSignalEvent,
							   uint32_t numWaitEvents,
							   void *phWaitEvents)
{
	ze_collect(false);
}

void ze_before_zeCommandListImmediateAppendCommandListsWithParameters(
	void *hCommandListImmediate, uint32_t numCommandLists, void *phCommandLists, void *pNext,
	void *hSignalEvent, uint32_t numWaitEvents, void *phWaitEvents)
{
	ze_collect(false);
}

/* Lists that an immediate one executes. */
static void executed_at_once(const struct table_call *call, unsigned list, unsigned count,
			     unsigned lists)
{
	struct ze_agent *agent = NULL;
	bool synchronous = false;
	const struct ze_list *l;
	uint32_t queue = 0;

	if (!ze_succeeded(call))
		return;
	ze_objects_lock();
	l = ze_find(ZE_LIST, ze_pointer(call, list));
	if (l) {
		agent = l->agent;
		queue = l->queue;
		synchronous = l->synchronous;
	}
	ze_objects_unlock();
	executed(call, ze_pointer(call, lists), (uint32_t)ze_arg(call, count), agent, queue,
		 synchronous);
}

void ze_after_zeCommandListImmediateAppendCommandListsExp(const struct table_call *call)
{
	executed_at_once(call, zeCommandListImmediateAppendCommandListsExp_hCommandListImmediate,
			 zeCommandListImmediateAppendCommandListsExp_numCommandLists,
			 zeCommandListImmediateAppendCommandListsExp_phCommandLists);
}

void ze_after_zeCommandListImmediateAppendCommandListsWithParameters(const struct table_call *call)
{
	executed_at_once(
		call, zeCommandListImmediateAppendCommandListsWithParameters_hCommandListImmediate,
		zeCommandListImmediateAppendCommandListsWithParameters_numCommandLists,
		zeCommandListImmediateAppendCommandListsWithParameters_phCommandLists);
}

/* ---- waits ---- */

void ze_after_zeCommandQueueSynchronize(const struct table_call *call)
{
	const struct ze_queue *q;
	uint32_t queue;

	if (!call->frame->op)
		return;
	ze_objects_lock();
	q = ze_find(ZE_QUEUE, ze_pointer(call, zeCommandQueueSynchronize_hCommandQueue));
	queue = q ? q->object.id : 0;
	ze_objects_unlock();
	cap_sync_record(call->frame, 0, SYNC_OP_QUEUE, queue, 0, NULL);
	ze_collect(false);
}

void ze_after_zeCommandListHostSynchronize(const struct table_call *call)
{
	const struct ze_list *l;
	uint32_t queue;

	if (!call->frame->op)
		return;
	ze_objects_lock();
	l = ze_find(ZE_LIST, ze_pointer(call, zeCommandListHostSynchronize_hCommandList));
	queue = l ? l->queue : 0;
	ze_objects_unlock();
	cap_sync_record(call->frame, 0, SYNC_OP_QUEUE, queue, 0, NULL);
	ze_collect(false);
}

void ze_after_zeFenceHostSynchronize(const struct table_call *call)
{
	const struct ze_fence *f;
	uint32_t queue;

	if (!call->frame->op)
		return;
	ze_objects_lock();
	f = ze_find(ZE_FENCE, ze_pointer(call, zeFenceHostSynchronize_hFence));
	queue = f ? f->queue : 0;
	ze_objects_unlock();
	cap_sync_record(call->frame, 0, SYNC_OP_QUEUE, queue, 0, NULL);
	ze_collect(false);
}

void ze_after_zeEventHostSynchronize(const struct table_call *call)
{
	if (!call->frame->op)
		return;
	cap_sync_record(call->frame, 0, SYNC_OP_EVENTS, 0, 1,
			ze_pointer(call, zeEventHostSynchronize_hEvent));
	ze_collect(false);
}

void ze_after_zeFenceQueryStatus(const struct table_call *call)
{
	if (ze_succeeded(call))
		ze_collect(false);
}

void ze_after_zeEventQueryStatus(const struct table_call *call)
{
	if (ze_succeeded(call))
		ze_collect(false);
}

void ze_after_zeEventQueryKernelTimestamp(const struct table_call *call)
{
	if (ze_succeeded(call))
		ze_collect(false);
}
