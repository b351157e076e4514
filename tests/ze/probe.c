/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Level Zero program. probe_ze SCENARIO: each prints what its result is, which must not depend on
 * being traced.
 */
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		ze_result_t r_ = (call);                                                           \
		if (r_ != ZE_RESULT_SUCCESS) {                                                     \
			fprintf(stderr, "%s:%d: %s: %x\n", __FILE__, __LINE__, #call, r_);         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_command_queue_handle_t queue;
static ze_module_handle_t module;

static void start(void)
{
	const ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, NULL, 0};
	const ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_module_desc_t m = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
			      .inputSize = 8,
			      .pInputModule = (const uint8_t *)"spirv..",
			      .pBuildFlags = "-O3"};
	uint32_t count = 1;

	CHECK(zeInit(0));
	CHECK(zeDriverGet(&count, &driver));
	CHECK(zeDeviceGet(driver, &count, &device));
	CHECK(zeContextCreate(driver, &desc, &context));
	CHECK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
	CHECK(zeModuleCreate(context, device, &m, &module, NULL));
}

static ze_kernel_handle_t kernel(const char *name, uint32_t x)
{
	const ze_kernel_desc_t desc = {ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, name};
	ze_kernel_handle_t k;

	CHECK(zeKernelCreate(module, &desc, &k));
	CHECK(zeKernelSetGroupSize(k, x, 1, 1));
	return k;
}

static ze_event_pool_handle_t pool(uint32_t flags)
{
	const ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
					   flags | ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 128};
	ze_event_pool_handle_t p;

	CHECK(zeEventPoolCreate(context, &desc, 0, NULL, &p));
	return p;
}

static ze_event_handle_t event(ze_event_pool_handle_t p, uint32_t index)
{
	const ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index,
				      ZE_EVENT_SCOPE_FLAG_HOST, ZE_EVENT_SCOPE_FLAG_HOST};
	ze_event_handle_t e;

	CHECK(zeEventCreate(p, &desc, &e));
	return e;
}

static ze_command_list_handle_t list(void)
{
	const ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_command_list_handle_t l;

	CHECK(zeCommandListCreate(context, device, &desc, &l));
	return l;
}

static ze_command_list_handle_t immediate(void)
{
	const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_handle_t l;

	CHECK(zeCommandListCreateImmediate(context, device, &desc, &l)); /* line: immediate */
	return l;
}

static void launch(ze_command_list_handle_t l, ze_kernel_handle_t k, uint32_t groups,
		   ze_event_handle_t e)
{
	const ze_group_count_t count = {groups, 2, 1};

	CHECK(zeCommandListAppendLaunchKernel(l, k, &count, e, 0, NULL));
}

static void run(ze_command_list_handle_t l)
{
	CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &l, NULL));
}

/* A list that runs three times, memory, copies, errors, a fence. */
static void basic(void)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP), plain = pool(0);
	ze_event_handle_t e1 = event(timed, 0), e2 = event(timed, 1), e3 = event(plain, 0);
	ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	ze_host_mem_alloc_desc_t host_desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	ze_module_desc_t bad = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .inputSize = 4};
	ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
	ze_module_build_log_handle_t log;
	ze_kernel_handle_t add = kernel("add", 64), scale = kernel("scale", 32);
	ze_command_list_handle_t l = list();
	ze_module_handle_t none;
	ze_fence_handle_t fence;
	void *memory, *pinned, *shared, *too_much;
	char host[1000] = "hello";

	CHECK(zeMemAllocDevice(context, &desc, 4096, 64, device, &memory));
	CHECK(zeMemAllocHost(context, &host_desc, 512, 64, &pinned));
	CHECK(zeMemAllocShared(context, &desc, &host_desc, 2048, 64, device, &shared));
	printf("%x\n", zeMemAllocDevice(context, &desc, 1ull << 40, 64, device, &too_much));
	printf("%x\n", zeModuleCreate(context, device, &bad, &none, &log));
	CHECK(zeModuleBuildLogDestroy(log));
	CHECK(zeFenceCreate(queue, &fence_desc, &fence));
	CHECK(zeCommandListAppendMemoryCopy(l, memory, host, 1000, e2, 0, NULL));
	CHECK(zeCommandListAppendBarrier(l, NULL, 0, NULL));
	launch(l, add, 3, e1);
	launch(l, scale, 5, e3);
	CHECK(zeCommandListAppendMemoryCopy(l, host, memory, 10, NULL, 0, NULL));
	CHECK(zeCommandListClose(l));
	for (int i = 0; i < 3; i++) {
		CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &l, i == 2 ? fence : NULL));
		if (i == 2)
			CHECK(zeFenceHostSynchronize(fence, UINT64_MAX));
		else
			CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
		CHECK(zeEventHostReset(e1));
		CHECK(zeEventHostReset(e2));
	}
	CHECK(zeCommandListReset(l));
	launch(l, add, 7, e1);
	CHECK(zeCommandListClose(l));
	run(l);
	CHECK(zeEventHostSynchronize(e1, UINT64_MAX));
	printf("%x\n", zeCommandQueueExecuteCommandLists(queue, 1, NULL, NULL));
	CHECK(zeEventDestroy(e1));
	CHECK(zeEventDestroy(e2));
	CHECK(zeEventDestroy(e3));
	CHECK(zeFenceDestroy(fence));
	CHECK(zeMemFree(context, memory));
	CHECK(zeMemFree(context, pinned));
	CHECK(zeCommandListDestroy(l));
	CHECK(zeKernelDestroy(add));
	CHECK(zeKernelDestroy(scale));
	printf("%s\n", host);
}

/* Without a call that says anything of work. */
static void device_time_passes(uint64_t ticks)
{
	uint64_t host, from, now;

	CHECK(zeDeviceGetGlobalTimestamps(device, &host, &from));
	do
		CHECK(zeDeviceGetGlobalTimestamps(device, &host, &now));
	while (now - from < ticks);
}

/* Immediate lists: events that go as soon as they may, some before Kymo has looked at them. */
static void immediate_lists(void)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_command_list_handle_t l = immediate();
	ze_kernel_handle_t k = kernel("step", 16);
	ze_event_handle_t last;

	for (uint32_t i = 0; i < 100; i++) {
		ze_event_handle_t e = event(timed, i);

		launch(l, k, 1 + i % 4, e);
		while (i % 2 && zeEventQueryStatus(e) != ZE_RESULT_SUCCESS)
			;
		if (i % 2 == 0)
			device_time_passes(5000);
		CHECK(zeEventDestroy(e));
	}
	for (uint32_t i = 0; i < 10; i++)
		launch(l, k, 2, NULL);
	last = event(timed, 100);
	launch(l, k, 1, last);
	CHECK(zeEventHostSynchronize(last, UINT64_MAX));
	CHECK(zeCommandListDestroy(l));
}

/* One event for each kernel of a batch, read long after, across the wrap of the timestamps. */
static void batch(void)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_command_list_handle_t l = list();
	ze_kernel_handle_t k = kernel("wrap", 8);
	ze_event_handle_t events[60];

	for (uint32_t i = 0; i < 60; i++) {
		events[i] = event(timed, i);
		launch(l, k, 1 + i % 5, events[i]);
	}
	CHECK(zeCommandListClose(l));
	for (int round = 0; round < 3; round++) {
		run(l);
		CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
		for (uint32_t i = 0; i < 60; i++)
			CHECK(zeEventHostReset(events[i]));
	}
	for (uint32_t i = 0; i < 60; i++)
		CHECK(zeEventDestroy(events[i]));
}

/* The event is reset by the list itself, and the list is given twice without a wait. */
static void overlapping(void)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_event_handle_t e = event(timed, 0);
	ze_command_list_handle_t l = list();
	ze_kernel_handle_t k = kernel("again", 8);

	CHECK(zeCommandListAppendEventReset(l, e));
	launch(l, k, 50, e);
	CHECK(zeCommandListClose(l));
	run(l);
	run(l);
	CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
	run(l);
	CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
	run(l); /* never waited for */
}

/* An event that is never reset shows what was, until it is signalled again. */
static void stale(void)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_event_handle_t e = event(timed, 0);
	ze_command_list_handle_t l = list();
	ze_kernel_handle_t k = kernel("stale", 8);

	launch(l, k, 20, e);
	CHECK(zeCommandListClose(l));
	for (int i = 0; i < 4; i++) {
		run(l);
		for (int look = 0; i && look < 3; look++)
			CHECK(zeEventQueryStatus(e)); /* of the time before */
		CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
	}
	CHECK(zeEventDestroy(e));
}

static void *worker(void *data)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_command_list_handle_t l = immediate();
	ze_kernel_handle_t k = kernel("worker", 4);
	ze_event_handle_t e = event(timed, 0);

	for (int i = 0; i < 200; i++) {
		launch(l, k, 1, e);
		CHECK(zeEventHostSynchronize(e, UINT64_MAX));
		CHECK(zeEventHostReset(e));
	}
	CHECK(zeEventDestroy(e));
	CHECK(zeCommandListDestroy(l));
	return data;
}

static void threads(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

/* Work is not over when a child is made, which does some of its own. */
static void forked(void)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_command_list_handle_t l = immediate();
	ze_kernel_handle_t k = kernel("parent", 4), c = kernel("child", 4);
	ze_event_handle_t e = event(timed, 0), f = event(timed, 1);
	pid_t pid;
	int status;

	launch(l, k, 100, e);
	pid = fork();
	if (pid == 0) {
		launch(l, c, 1, f);
		CHECK(zeEventHostSynchronize(f, UINT64_MAX));
		exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(zeEventHostSynchronize(e, UINT64_MAX));
	printf("%d\n", status);
}

/* Work that is done, of which nobody has asked, when the process ends without handlers. */
static void quick(void)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_command_list_handle_t l = immediate();
	ze_kernel_handle_t k = kernel("quick", 4);

	for (uint32_t i = 0; i < 10; i++)
		launch(l, k, 1, event(timed, i));
	device_time_passes(50000);
	_exit(0);
}

#define FOR_EVER 4000000000u /* groups */

/* On a queue, by a thread of its own: a kernel that does not end, and a copy that waits for it. */
static void *hang_queued(void *data)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	static char from[3000], to[3000];
	ze_command_list_handle_t l = list();

	launch(l, kernel("queued", 8), FOR_EVER, event(timed, 0));
	CHECK(zeCommandListAppendMemoryCopy(l, to, from, sizeof(from), event(timed, 1), 0, NULL));
	CHECK(zeCommandListClose(l));
	run(l);
	return data;
}

/* Kernels on an immediate list and on a queue that never end; the process does as it is told. */
static void hang(const char *how)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_command_list_handle_t l = immediate(), short_one = list();
	ze_event_handle_t e = event(timed, 0);
	ze_kernel_handle_t k = kernel("short", 4);
	pthread_t other;

	launch(l, k, 1, e);
	CHECK(zeEventHostSynchronize(e, UINT64_MAX));
	launch(short_one, k, 1, event(timed, 1));
	CHECK(zeCommandListClose(short_one));
	run(short_one);
	CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
	launch(l, kernel("endless", 4), FOR_EVER, event(timed, 2));
	pthread_create(&other, NULL, hang_queued, NULL);
	pthread_join(other, NULL);
	puts("hangs");
	fflush(stdout);
	if (strcmp(how, "live") == 0)
		pause();
	else if (strcmp(how, "_exit") == 0)
		_exit(0);
	else if (strcmp(how, "exit") == 0)
		exit(0);
	raise(atoi(how));
}

static void extension(void)
{
	ze_result_t (*pci)(ze_device_handle_t, ze_pci_ext_properties_t *);
	ze_pci_ext_properties_t p = {.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES};
	void *symbol = NULL;

	CHECK(zeDriverGetExtensionFunctionAddress(driver, "zeDevicePciGetPropertiesExt", &symbol));
	memcpy(&pci, &symbol, sizeof(pci));
	for (int i = 0; i < 5; i++)
		CHECK(pci(device, &p));
	printf("%x %d\n", p.address.bus,
	       zeDriverGetExtensionFunctionAddress(driver, "zexUnknown", &symbol) != 0);
}

static void *by_name(const char *name)
{
	void *symbol = NULL;

	CHECK(zeDriverGetExtensionFunctionAddress(driver, name, &symbol));
	return symbol;
}

/* The functions that take all that a command needs at once. */
static void newer(void)
{
	ze_result_t (*launch_with)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t,
				   struct sizes, void **, const void *, ze_event_handle_t, uint32_t,
				   ze_event_handle_t *);
	ze_result_t (*launch_too)(ze_command_list_handle_t, ze_kernel_handle_t,
				  const ze_group_count_t *, const void *, ze_event_handle_t,
				  uint32_t, ze_event_handle_t *);
	ze_result_t (*copy)(ze_command_list_handle_t, void *, const void *, size_t, const void *,
			    ze_event_handle_t, uint32_t, ze_event_handle_t *);
	ze_result_t (*fill)(ze_command_list_handle_t, void *, const void *, size_t, size_t,
			    const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
	ze_result_t (*lists)(ze_command_list_handle_t, uint32_t, ze_command_list_handle_t *,
			     const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
	ze_result_t (*create)(ze_context_handle_t, ze_device_handle_t, const struct counter_based *,
			      ze_event_handle_t *);
	const struct counter_based desc[] = {{.flags = 1 | 1 << 4}, {.flags = 1}};
	const ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	const ze_group_count_t counts = {3, 2, 1};
	const struct sizes sizes = {8, 4, 2};
	ze_command_list_handle_t l = list(), now = immediate();
	ze_kernel_handle_t k = kernel("newer", 16);
	ze_event_handle_t e[4], c[2];
	char from[100] = "copied", to[100] = "";
	void *arguments[] = {from};

	for (uint32_t i = 0; i < 4; i++)
		e[i] = event(timed, i);
	*(void **)&launch_with = by_name("zeCommandListAppendLaunchKernelWithArguments");
	*(void **)&launch_too = by_name("zeCommandListAppendLaunchKernelWithParameters");
	*(void **)&copy = by_name("zeCommandListAppendMemoryCopyWithParameters");
	*(void **)&fill = by_name("zeCommandListAppendMemoryFillWithParameters");
	*(void **)&lists = by_name("zeCommandListImmediateAppendCommandListsWithParameters");
	CHECK(launch_too(l, k, &counts, NULL, e[0], 0, NULL));
	CHECK(launch_with(l, k, counts, sizes, arguments, NULL, e[1], 0, NULL));
	CHECK(copy(l, to, from, sizeof(from), NULL, e[2], 0, NULL));
	CHECK(fill(l, to + 50, "x", 1, 50, NULL, e[3], 0, NULL));
	CHECK(lists(now, 1, &l, NULL, NULL, 0, NULL));
	*(void **)&create = by_name("zeEventCounterBasedCreate");
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(create(context, device, &desc[i], &c[i]));
		launch(now, k, 1, c[i]);
	}
	CHECK(zeEventHostSynchronize(c[0], UINT64_MAX));
	printf("%s %x\n", to,
	       launch_with(l, k, counts, (struct sizes){0, 0, 0}, arguments, NULL, NULL, 0, NULL));
}

/* A kernel on each tile of each device, then one on the whole of the second. */
static void tiles(void)
{
	ze_event_pool_handle_t timed = pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	ze_kernel_handle_t k = kernel("part", 8);
	ze_device_handle_t devices[2], parts[5];
	uint32_t count = 2, number = 2;

	CHECK(zeDeviceGet(driver, &count, devices));
	CHECK(zeDeviceGetSubDevices(devices[1], &number, parts));
	CHECK(zeDeviceGetSubDevices(devices[0], &number, parts + 2));
	parts[4] = devices[1];
	for (uint32_t i = 0; i < 5; i++) {
		ze_event_handle_t e = event(timed, i);
		ze_command_list_handle_t l;

		device = parts[i];
		l = immediate();
		launch(l, k, 1 + i, e);
		CHECK(zeEventHostSynchronize(e, UINT64_MAX));
		CHECK(zeEventDestroy(e));
		CHECK(zeCommandListDestroy(l));
	}
	printf("%u %u\n", count, number);
}

static ze_sampler_handle_t sampler(void)
{
	const ze_sampler_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC};
	ze_sampler_handle_t s;

	CHECK(zeSamplerCreate(context, device, &desc, &s)); /* line: sampler */
	return s;
}

/* One of each kind is released; then `leaks` of it, on two lines where there are several. */
static void make_objects(unsigned leaks)
{
	const ze_context_desc_t c = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, NULL, 0};
	const ze_command_queue_desc_t q = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	const ze_command_list_desc_t cl = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	const ze_event_pool_desc_t ep = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL, 0, 8};
	const ze_event_desc_t e = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
	const ze_fence_desc_t f = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
	const ze_kernel_desc_t k = {ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, "made"};
	const ze_module_desc_t m = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .inputSize = 8};
	ze_context_handle_t a_context;
	ze_command_queue_handle_t a_queue;
	ze_command_list_handle_t a_list;
	ze_event_pool_handle_t a_pool;
	ze_event_handle_t an_event;
	ze_fence_handle_t a_fence;
	ze_module_handle_t a_module;
	ze_kernel_handle_t a_kernel;

	for (unsigned i = 0; i <= leaks; i++) {
		CHECK(zeContextCreate(driver, &c, &a_context));              /* line: context */
		CHECK(zeCommandQueueCreate(context, device, &q, &a_queue));  /* line: queue */
		CHECK(zeCommandListCreate(context, device, &cl, &a_list));   /* line: list */
		CHECK(zeEventPoolCreate(context, &ep, 0, NULL, &a_pool));    /* line: pool */
		CHECK(zeEventCreate(a_pool, &e, &an_event));                 /* line: event */
		CHECK(zeFenceCreate(queue, &f, &a_fence));                   /* line: fence */
		CHECK(zeModuleCreate(context, device, &m, &a_module, NULL)); /* line: module */
		CHECK(zeKernelCreate(module, &k, &a_kernel));                /* line: kernel */
		if (i > 0)
			continue;
		CHECK(zeKernelDestroy(a_kernel));
		CHECK(zeModuleDestroy(a_module));
		CHECK(zeFenceDestroy(a_fence));
		CHECK(zeEventDestroy(an_event));
		CHECK(zeEventPoolDestroy(a_pool));
		CHECK(zeCommandListDestroy(a_list));
		CHECK(zeCommandQueueDestroy(a_queue));
		CHECK(zeContextDestroy(a_context));
	}
	if (leaks) { /* of a second line */
		a_list = immediate();
		CHECK(zeEventCreate(pool(0), &e, &an_event)); /* line: event2 */
	}
}

static void finish(void)
{
	CHECK(zeModuleDestroy(module));
}

/* A sampler is released twice, the second time in vain, and its handle comes again. */
static void objects(void)
{
	ze_sampler_handle_t first = sampler(), again;

	make_objects(2);
	CHECK(zeSamplerDestroy(first));
	printf("%x ", zeSamplerDestroy(first));
	again = sampler();
	printf("%d\n", first == again);
	finish();
}

static void no_objects(void)
{
	make_objects(0);
	CHECK(zeSamplerDestroy(sampler()));
	finish();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenarios[] = {
		{"basic", basic},           {"immediate", immediate_lists},
		{"batch", batch},           {"overlapping", overlapping},
		{"stale", stale},           {"threads", threads},
		{"fork", forked},           {"extension", extension},
		{"newer", newer},           {"quick", quick},
		{"tiles", tiles},           {"objects", objects},
		{"no objects", no_objects},
	};

	if (argc > 1 && strcmp(argv[1], "tiles") == 0)
		setenv("SCRIPT_TILES", "1", 1);
	start();
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (argc > 1 && strcmp(argv[1], scenarios[i].name) == 0)
			scenarios[i].run();
	if (argc > 2 && strcmp(argv[1], "hang") == 0)
		hang(argv[2]);
	if (argc > 1 && strcmp(argv[1], "all") == 0)
		printf("%u\n", call_all());
	CHECK(zeCommandQueueDestroy(queue));
	CHECK(zeContextDestroy(context));
	return 0;
}
