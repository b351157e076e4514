/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted Level Zero driver: no device. Each queue does its commands one after the other, a
 * kernel takes 1,000 ticks of a timer of 12.5 MHz for each group in x, a copy 100. Kernel
 * timestamps have 32 bits; SCRIPT_TIMER sets what the timer starts at, SCRIPT_TILES makes it two devices of two tiles. What it did is written to
 * the file SCRIPT_LOG, a line each: kind, name or bytes, true start and end.
 */
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"

#define FREQUENCY   12500000ull
#define KERNEL_BITS 32
#define TIMER_BITS  36

struct event {
	uint64_t start, end;         /* end 0: not signalled, else when it will be */
	uint64_t old_start, old_end; /* what it shows until then, if it was not reset; 0: nothing */
	bool timed;
};

struct pool {
	bool timed;
};

struct command {
	char kind; /* k kernel, c copy, r reset of an event */
	char name[32];
	uint64_t ticks;
	struct event *event;
};

struct list {
	bool immediate;
	unsigned count;
	uint64_t end; /* immediate: when all is done */
	struct command commands[256];
};

struct queue {
	uint64_t end;
};

struct kernel {
	char name[32];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t origin, offset;
static int the_driver;
/* Devices, then tiles: the second of device 1 is number DEVICES + 1 * TILES + 1. */
enum { DEVICES = 2, TILES = 2 };
static struct device {
	int tile;
} gpus[DEVICES + DEVICES * TILES];
static FILE *script_log;

static uint64_t host_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t timer(void)
{
	return offset + (host_ns() - origin) / 80;
}

static void wait_until(uint64_t end)
{
	while (timer() < end) {
		struct timespec t = {0, 1000};

		nanosleep(&t, NULL);
	}
}

static uint64_t low(uint64_t value, unsigned bits)
{
	return value & ((1ull << bits) - 1);
}

static void execute(uint64_t *end, const struct command *c)
{
	uint64_t now = timer(), start;

	start = *end > now ? *end : now + 10;
	*end = start + c->ticks;
	if (c->kind == 'r') {
		c->event->end = c->event->old_end = 0;
		return;
	}
	if (c->event) {
		if (c->event->end && now >= c->event->end) {
			c->event->old_start = c->event->start;
			c->event->old_end = c->event->end;
		}
		c->event->start = start;
		c->event->end = *end;
	}
	if (script_log) {
		fprintf(script_log, "%c %s %llu %llu\n", c->kind, c->name,
			(unsigned long long)start, (unsigned long long)*end);
		fflush(script_log);
	}
}

static void execute_all(uint64_t *end, const struct list *l)
{
	for (unsigned i = 0; i < l->count; i++)
		execute(end, &l->commands[i]);
}

static ze_result_t append(ze_command_list_handle_t h, struct command c)
{
	struct list *l = (struct list *)h;

	pthread_mutex_lock(&lock);
	if (l->immediate)
		execute(&l->end, &c);
	else if (l->count < 256)
		l->commands[l->count++] = c;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

/* ---- devices ---- */

ze_result_t drv_zeInit(ze_init_flags_t flags)
{
	const char *start = getenv("SCRIPT_TIMER"), *path = getenv("SCRIPT_LOG");

	if (!origin) {
		origin = host_ns();
		offset = start ? strtoull(start, NULL, 0) : 1000;
		script_log = path ? fopen(path, "a") : NULL;
	}
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
	if (drivers && *count)
		drivers[0] = (ze_driver_handle_t)&the_driver;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t hand_out(const struct device *from, uint32_t there, uint32_t *count,
			    ze_device_handle_t *out)
{
	for (uint32_t i = 0; out && i < *count && i < there; i++)
		out[i] = (ze_device_handle_t)(uintptr_t)&from[i];
	*count = !out || *count > there ? there : *count;
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDeviceGet(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *out)
{
	return hand_out(gpus, getenv("SCRIPT_TILES") ? DEVICES : 1, count, out);
}

ze_result_t drv_zeDeviceGetSubDevices(ze_device_handle_t device, uint32_t *count,
				      ze_device_handle_t *out)
{
	const ptrdiff_t number = (struct device *)device - gpus;

	return hand_out(&gpus[DEVICES + number * TILES],
			getenv("SCRIPT_TILES") && number < DEVICES ? TILES : 0, count, out);
}

ze_result_t drv_zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t *p)
{
	const int number = (int)((struct device *)device - gpus);

	p->type = ZE_DEVICE_TYPE_GPU;
	p->flags = number < DEVICES ? 0 : ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
	p->subdeviceId = number < DEVICES ? 0 : (uint32_t)((number - DEVICES) % TILES);
	p->vendorId = 0x8086;
	p->timerResolution = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? FREQUENCY : 80;
	p->timestampValidBits = TIMER_BITS;
	p->kernelTimestampValidBits = KERNEL_BITS;
	p->numSlices = 2;
	p->numSubslicesPerSlice = 3;
	p->numEUsPerSubslice = 4;
	memset(p->uuid.id, 7 + number, sizeof(p->uuid.id));
	strcpy(p->name, "Scripted device");
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDevicePciGetPropertiesExt(ze_device_handle_t device, ze_pci_ext_properties_t *p)
{
	p->address = (ze_pci_address_ext_t){0, 0x4d, 2, 1};
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t *host,
					    uint64_t *dev)
{
	*host = host_ns();
	*dev = low(timer(), TIMER_BITS);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
				ze_context_handle_t *context)
{
	*context = calloc(1, 16);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeContextDestroy(ze_context_handle_t context)
{
	free(context);
	return ZE_RESULT_SUCCESS;
}

/* ---- queues and lists ---- */

ze_result_t drv_zeCommandQueueCreate(ze_context_handle_t context, ze_device_handle_t device,
				     const ze_command_queue_desc_t *desc,
				     ze_command_queue_handle_t *queue)
{
	*queue = calloc(1, sizeof(struct queue));
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandQueueDestroy(ze_command_queue_handle_t queue)
{
	free(queue);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue, uint32_t count,
						  ze_command_list_handle_t *lists,
						  ze_fence_handle_t fence)
{
	struct queue *q = (struct queue *)queue;

	if (!lists)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++)
		execute_all(&q->end, (struct list *)lists[i]);
	if (fence)
		*(uint64_t *)fence = q->end;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout)
{
	wait_until(((struct queue *)queue)->end);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
				    const ze_command_list_desc_t *desc,
				    ze_command_list_handle_t *list)
{
	*list = calloc(1, sizeof(struct list));
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device,
					     const ze_command_queue_desc_t *desc,
					     ze_command_list_handle_t *list)
{
	*list = calloc(1, sizeof(struct list));
	((struct list *)*list)->immediate = true;
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListDestroy(ze_command_list_handle_t list)
{
	free(list);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListReset(ze_command_list_handle_t list)
{
	((struct list *)list)->count = 0;
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeFenceCreate(ze_command_queue_handle_t queue, const ze_fence_desc_t *desc,
			      ze_fence_handle_t *fence)
{
	*fence = calloc(1, 8);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout)
{
	wait_until(*(uint64_t *)fence);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeFenceDestroy(ze_fence_handle_t fence)
{
	free(fence);
	return ZE_RESULT_SUCCESS;
}

/* Handles that are known when they come again: a sampler is destroyed once, and its handle is the next one's. */
static bool samplers[8];

ze_result_t drv_zeSamplerCreate(ze_context_handle_t context, ze_device_handle_t device,
				const ze_sampler_desc_t *desc, ze_sampler_handle_t *sampler)
{
	bool *s = samplers;

	while (*s)
		s++;
	*s = true;
	*sampler = (ze_sampler_handle_t)s;
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeSamplerDestroy(ze_sampler_handle_t sampler)
{
	bool *s = (bool *)sampler;

	if (!*s)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	*s = false;
	return ZE_RESULT_SUCCESS;
}

/* ---- commands ---- */

ze_result_t drv_zeCommandListAppendLaunchKernel(ze_command_list_handle_t list,
						ze_kernel_handle_t kernel,
						const ze_group_count_t *groups,
						ze_event_handle_t event, uint32_t count,
						ze_event_handle_t *waits)
{
	struct command c = {'k', "", 1000, (struct event *)event};

	if (!kernel || !groups)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	c.ticks = 1000 * groups->groupCountX;
	strcpy(c.name, ((struct kernel *)kernel)->name);
	return append(list, c);
}

ze_result_t drv_zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void *to,
					      const void *from, size_t bytes,
					      ze_event_handle_t event, uint32_t count,
					      ze_event_handle_t *waits)
{
	struct command c = {'c', "", 100, (struct event *)event};

	memcpy(to, from, bytes);
	snprintf(c.name, sizeof(c.name), "%zu", bytes);
	return append(list, c);
}

ze_result_t drv_zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void *to,
					      const void *pattern, size_t pattern_bytes,
					      size_t bytes, ze_event_handle_t event, uint32_t count,
					      ze_event_handle_t *waits)
{
	struct command c = {'c', "", 100, (struct event *)event};

	snprintf(c.name, sizeof(c.name), "%zu", bytes);
	return append(list, c);
}

/* Newer than the installed headers may be: to be had by name. */

ze_result_t drv_zeCommandListAppendLaunchKernelWithParameters(
	ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,
	const void *next, ze_event_handle_t event, uint32_t count, ze_event_handle_t *waits)
{
	return drv_zeCommandListAppendLaunchKernel(list, kernel, groups, event, count, waits);
}

ze_result_t drv_zeCommandListAppendLaunchKernelWithArguments(
	ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_group_count_t groups,
	struct sizes group, void **arguments, const void *next, ze_event_handle_t event,
	uint32_t count, ze_event_handle_t *waits)
{
	if (group.x * group.y * group.z == 0 || !arguments || count != 0 || waits)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	return drv_zeCommandListAppendLaunchKernel(list, kernel, &groups, event, count, waits);
}

ze_result_t drv_zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t list, void *to,
							    const void *from, size_t bytes,
							    const void *next,
							    ze_event_handle_t event, uint32_t count,
							    ze_event_handle_t *waits)
{
	return drv_zeCommandListAppendMemoryCopy(list, to, from, bytes, event, count, waits);
}

ze_result_t drv_zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t list, void *to,
							    const void *pattern,
							    size_t pattern_bytes, size_t bytes,
							    const void *next,
							    ze_event_handle_t event, uint32_t count,
							    ze_event_handle_t *waits)
{
	return drv_zeCommandListAppendMemoryFill(list, to, pattern, pattern_bytes, bytes, event,
						 count, waits);
}

ze_result_t drv_zeCommandListImmediateAppendCommandListsWithParameters(
	ze_command_list_handle_t immediate, uint32_t count, ze_command_list_handle_t *lists,
	const void *next, ze_event_handle_t event, uint32_t wait_count, ze_event_handle_t *waits)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++)
		execute_all(&((struct list *)immediate)->end, (struct list *)lists[i]);
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListAppendEventReset(ze_command_list_handle_t list,
					      ze_event_handle_t event)
{
	return append(list, (struct command){'r', "", 0, (struct event *)event});
}

/* ---- events ---- */

ze_result_t drv_zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t *desc,
				  uint32_t count, ze_device_handle_t *devices,
				  ze_event_pool_handle_t *pool)
{
	struct pool *p = calloc(1, sizeof(*p));

	p->timed = (desc->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != 0;
	*pool = (ze_event_pool_handle_t)p;
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeEventPoolDestroy(ze_event_pool_handle_t pool)
{
	free(pool);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
			      ze_event_handle_t *event)
{
	struct event *e = calloc(1, sizeof(*e));

	e->timed = ((struct pool *)pool)->timed;
	*event = (ze_event_handle_t)e;
	return ZE_RESULT_SUCCESS;
}

/* Destroyed events are made useless: whoever looks at one after that is found out. */
ze_result_t drv_zeEventCounterBasedCreate(ze_context_handle_t context, ze_device_handle_t device,
					  const struct counter_based *desc,
					  ze_event_handle_t *event)
{
	struct event *e = calloc(1, sizeof(*e));

	e->timed = desc->flags & 1 << 4; /* device timestamps */
	*event = (ze_event_handle_t)e;
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeEventDestroy(ze_event_handle_t event)
{
	memset((void *)event, 0xee, sizeof(struct event));
	free(event);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeEventHostReset(ze_event_handle_t event)
{
	pthread_mutex_lock(&lock);
	((struct event *)event)->end = ((struct event *)event)->old_end = 0;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static bool over(const struct event *e)
{
	return e->end && timer() >= e->end;
}

ze_result_t drv_zeEventQueryStatus(ze_event_handle_t event)
{
	const struct event *e = (const struct event *)event;
	bool signalled;

	pthread_mutex_lock(&lock);
	signalled = over(e) || e->old_end;
	pthread_mutex_unlock(&lock);
	return signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t drv_zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout)
{
	while (drv_zeEventQueryStatus(event) != ZE_RESULT_SUCCESS)
		wait_until(timer() + 10);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeEventQueryKernelTimestamp(ze_event_handle_t event,
					    ze_kernel_timestamp_result_t *result)
{
	const struct event *e = (const struct event *)event;

	if (drv_zeEventQueryStatus(event) != ZE_RESULT_SUCCESS)
		return ZE_RESULT_NOT_READY;
	if (!e->timed)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&lock);
	result->global.kernelStart = low(over(e) ? e->start : e->old_start, KERNEL_BITS);
	result->global.kernelEnd = low(over(e) ? e->end : e->old_end, KERNEL_BITS);
	pthread_mutex_unlock(&lock);
	result->context = result->global;
	return ZE_RESULT_SUCCESS;
}

/* ---- memory, modules ---- */

ze_result_t drv_zeMemAllocDevice(ze_context_handle_t context,
				 const ze_device_mem_alloc_desc_t *desc, size_t bytes,
				 size_t alignment, ze_device_handle_t device, void **out)
{
	*out = bytes < 1u << 30 ? calloc(1, bytes) : NULL;
	return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

ze_result_t drv_zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc,
			       size_t bytes, size_t alignment, void **out)
{
	*out = calloc(1, bytes);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeMemAllocShared(ze_context_handle_t context,
				 const ze_device_mem_alloc_desc_t *desc,
				 const ze_host_mem_alloc_desc_t *host_desc, size_t bytes,
				 size_t alignment, ze_device_handle_t device, void **out)
{
	*out = calloc(1, bytes);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeMemFree(ze_context_handle_t context, void *address)
{
	free(address);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
			       const ze_module_desc_t *desc, ze_module_handle_t *module,
			       ze_module_build_log_handle_t *log)
{
	*module = calloc(1, 16);
	if (log)
		*log = calloc(1, 16);
	if (desc->inputSize != 4)
		return ZE_RESULT_SUCCESS;
	free(*module);
	*module = NULL;
	return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

ze_result_t drv_zeModuleDestroy(ze_module_handle_t module)
{
	free(module);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *bytes,
					  char *out)
{
	static const char text[] = "error: scripted to fail";

	if (out)
		memcpy(out, text, sizeof(text));
	*bytes = sizeof(text);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
	free(log);
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *desc,
			       ze_kernel_handle_t *kernel)
{
	struct kernel *k = calloc(1, sizeof(*k));

	snprintf(k->name, sizeof(k->name), "%s", desc->pKernelName);
	*kernel = (ze_kernel_handle_t)k;
	return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeKernelDestroy(ze_kernel_handle_t kernel)
{
	free(kernel);
	return ZE_RESULT_SUCCESS;
}

/* Asked for by its name, in a table as well or not. */
ze_result_t drv_zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver, const char *name,
						    void **out)
{
#define NAMED(function)                                                                            \
	{                                                                                          \
#function, (void (*)(void))drv_##function                                          \
	}
	static const struct {
		const char *name;
		void (*function)(void);
	} named[] = {
		NAMED(zeDevicePciGetPropertiesExt),
		NAMED(zeCommandListAppendLaunchKernelWithParameters),
		NAMED(zeCommandListAppendLaunchKernelWithArguments),
		NAMED(zeCommandListAppendMemoryCopyWithParameters),
		NAMED(zeCommandListAppendMemoryFillWithParameters),
		NAMED(zeEventCounterBasedCreate),
		NAMED(zeCommandListImmediateAppendCommandListsWithParameters),
	};

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (strcmp(name, named[i].name) == 0) {
			memcpy(out, &named[i].function, sizeof(*out));
			return ZE_RESULT_SUCCESS;
		}
	*out = NULL;
	return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}
