/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the program has of the driver. */
#include "capture/ze/ze.h"

static struct cap_memories memories = CAP_MEMORIES;
/* What the call in progress frees: by the time it returned, the address may be somebody else's. */
static _Thread_local struct cap_memory freed __attribute__((tls_model("initial-exec")));

struct cap_memory ze_memory_of(const void *address)
{
	return cap_memory_of(&memories, (uintptr_t)address);
}

static void allocated(const struct table_call *call, uint64_t address, uint64_t bytes, void *device,
		      uint8_t kind)
{
	const struct ze_agent *a = ze_succeeded(call) && device ? ze_agent_of(device) : NULL;

	if (ze_succeeded(call))
		cap_memory_allocated(&memories, call->frame,
				     (struct cap_memory){.address = address,
							 .bytes = bytes,
							 .agent = a ? a->id : 0,
							 .kind = kind,
							 .what = ALLOCATION_USM});
}

void ze_after_zeMemAllocDevice(const struct table_call *call)
{
	allocated(call, ze_arg(call, zeMemAllocDevice_pptr), ze_arg(call, zeMemAllocDevice_size),
		  ze_pointer(call, zeMemAllocDevice_hDevice), MEMORY_DEVICE);
}

void ze_after_zeMemAllocHost(const struct table_call *call)
{
	allocated(call, ze_arg(call, zeMemAllocHost_pptr), ze_arg(call, zeMemAllocHost_size), NULL,
		  MEMORY_HOST_PINNED);
}

void ze_after_zeMemAllocShared(const struct table_call *call)
{
	allocated(call, ze_arg(call, zeMemAllocShared_pptr), ze_arg(call, zeMemAllocShared_size),
		  ze_pointer(call, zeMemAllocShared_hDevice), MEMORY_SHARED);
}

static void freed_now(const struct table_call *call)
{
	struct cap_memory m = freed;

	freed = (struct cap_memory){0};
	if (!m.id || !call->frame->op)
		return;
	if (ze_succeeded(call))
		cap_memory_record(call->frame, ALLOCATION_OP_FREE, &m);
	else
		cap_memory_put_back(&memories, &m);
}

static void free_begins(const void *address)
{
	if (!cap_memory_take(&memories, (uintptr_t)address, &freed))
		freed = (struct cap_memory){0};
}

void ze_before_zeMemFree(void *hContext, void *ptr)
{
	free_begins(ptr);
}

void ze_before_zeMemFreeExt(void *hContext, void *pMemFreeDesc, void *ptr)
{
	free_begins(ptr);
}

void ze_after_zeMemFree(const struct table_call *call)
{
	freed_now(call);
}

void ze_after_zeMemFreeExt(const struct table_call *call)
{
	freed_now(call);
}

void ze_memory_lock(void)
{
	cap_memories_lock(&memories);
}

void ze_memory_unlock(void)
{
	cap_memories_unlock(&memories);
}

void ze_memory_fork_child(void)
{
	cap_memories_fork_child(&memories);
}
