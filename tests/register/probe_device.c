/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of HIP and HSA on the fake for both: probe_device SCENARIO RUNTIME. It checks that
 * calls do what they are for; what Kymo makes of them is the script's to check.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fake_device.h"
#include "places.h"

static void *runtime;
static void **(*entries)(const char *table);

#define NOT_SUPPORTED        801
#define HIP(name, ...)       ((int (*)())entries("hip")[AT_##name])(__VA_ARGS__)
#define COMPILER(name, type) ((type)entries("hip_compiler")[AT_##name])
#define HSA(name, ...)       ((int (*)())entries("hsa_core")[AT_##name])(__VA_ARGS__)
#define AMD(name, ...)       ((int (*)())entries("hsa_amd")[AT_##name])(__VA_ARGS__)

enum { H2H, H2D, D2H, D2D, DEFAULT };

/* ---- kernels: the program's own functions ---- */

static uint64_t scaled, added;

static void scale(uint64_t items, void **args)
{
	scaled += items;
}

static void add(uint64_t items, void **args)
{
	added += items;
}

static void **binary;

static void begin(void)
{
	int (*give)(void);

	runtime = dlopen(getenv("PROBE_RUNTIME"), RTLD_NOW | RTLD_LOCAL);
	if (!runtime) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	entries = dlsym(runtime, "fake_device_entries");
	give = dlsym(runtime, "fake_device_register");
	give();
	binary = COMPILER(__hipRegisterFatBinary, void **(*)(const void *))("binary");
	COMPILER(__hipRegisterFunction, void (*)(void **, const void *, const char *, const char *,
						 unsigned, void *, void *, void *, void *, int *))
	(binary, (void *)scale, "scale", "scale", ~0u, NULL, NULL, NULL, NULL, NULL);
	COMPILER(__hipRegisterFunction, void (*)(void **, const void *, const char *, const char *,
						 unsigned, void *, void *, void *, void *, int *))
	(binary, (void *)add, "_Z3addPfS_i", "_Z3addPfS_i", ~0u, NULL, NULL, NULL, NULL, NULL);
}

static void end(void)
{
	COMPILER(__hipUnregisterFatBinary, void (*)(void **))(binary);
}

static int launch(fake_kernel kernel, struct fake_dim3 blocks, struct fake_dim3 threads,
		  size_t shared, void *stream)
{
	int (*function)(const void *, struct fake_dim3, struct fake_dim3, void **, size_t, void *) =
		entries("hip")[AT_hipLaunchKernel];

	return function((void *)kernel, blocks, threads, NULL, shared, stream);
}

static const struct fake_dim3 grid = {4, 2, 1}, block = {64, 1, 1}, one = {1, 1, 1};

/* ---- scenarios ---- */

static void names(void)
{
	static char prop[2048];

	CHECK_EQUAL(HIP(hipGetDevicePropertiesR0600, prop, 0), 0);
	CHECK_EQUAL(HIP(hipGetDevicePropertiesR0600, prop, 1), 0);
}

static void memory(void)
{
	const struct {
		size_t width, height, depth;
	} extent = {200, 3, 2};
	void *pitched[4];
	static char own[700];
	void *p[8];
	size_t pitch;
	const int bits[] = {32, 32, 0, 0};

	CHECK_EQUAL(HIP(hipMalloc, &p[0], (size_t)4096), 0);
	CHECK_EQUAL(HIP(hipMalloc, &p[1], (size_t)0), 0);
	CHECK_EQUAL(HIP(hipHostMalloc, &p[2], (size_t)1024, 0), 0);
	CHECK_EQUAL(HIP(hipMallocManaged, &p[3], (size_t)512, 1), 0);
	CHECK_EQUAL(HIP(hipMallocPitch, &p[4], &pitch, (size_t)100, (size_t)8), 0);
	CHECK_EQUAL(pitch, 256);
	CHECK_EQUAL(HIP(hipMalloc3D, pitched, extent), 0);
	CHECK_EQUAL((size_t)pitched[1], 256);
	CHECK_EQUAL(HIP(hipMallocArray, &p[5], bits, (size_t)16, (size_t)4, 0), 0);
	CHECK_EQUAL(HIP(hipHostRegister, own, sizeof(own), 0), 0);
	CHECK_EQUAL(HIP(hipMallocAsync, &p[6], (size_t)333, (void *)0), 0);
	HIP(hipFree, p[0]);
	HIP(hipHostFree, p[2]);
	HIP(hipFree, p[3]);
	HIP(hipFree, p[4]);
	HIP(hipFree, pitched[0]);
	HIP(hipFreeArray, p[5]);
	HIP(hipHostUnregister, own);
	HIP(hipFreeAsync, p[6], NULL);
	CHECK_EQUAL(HIP(hipMalloc, &p[7], (size_t)100), 0); /* never freed */
	CHECK_EQUAL(HIP(hipSetDevice, 1), 0);
	CHECK_EQUAL(HIP(hipSetDevice, 7), 101);
	CHECK_EQUAL(HIP(hipMalloc, &p[0], (size_t)2048), 0);
	HIP(hipFree, p[0]);
	CHECK_EQUAL(HIP(hipSetDevice, 0), 0);
}

static void copies(void)
{
	static char host[8192];
	char *device, *other, *pinned;
	uint64_t block3d[20] = {0};

	memset(host, 'x', sizeof(host));
	HIP(hipMalloc, &device, (size_t)8192);
	HIP(hipMalloc, &other, (size_t)8192);
	HIP(hipHostMalloc, &pinned, (size_t)1024, 0);
	CHECK_EQUAL(HIP(hipMemcpy, device, host, (size_t)4096, H2D), 0);
	CHECK_EQUAL(device[4095], 'x');
	CHECK_EQUAL(HIP(hipMemcpy, host, device, (size_t)1000, D2H), 0);
	CHECK_EQUAL(HIP(hipMemcpy, other, device, (size_t)2000, D2D), 0);
	CHECK_EQUAL(HIP(hipMemcpy, other, device, (size_t)2000, 9), 21);
	CHECK_EQUAL(HIP(hipMemcpyAsync, device + 10, host, (size_t)300, DEFAULT, NULL), 0);
	CHECK_EQUAL(HIP(hipMemcpyAsync, pinned, device + 7000, (size_t)1024, DEFAULT, NULL), 0);
	CHECK_EQUAL(HIP(hipMemcpyPeer, other, 1, device, 0, (size_t)64), 0);
	CHECK_EQUAL(
		HIP(hipMemcpy2D, device, (size_t)64, host, (size_t)32, (size_t)16, (size_t)8, H2D),
		0);
	block3d[4] = (uintptr_t)host;
	block3d[5] = block3d[13] = 32;
	block3d[12] = (uintptr_t)device;
	block3d[16] = 10;
	block3d[17] = 3;
	block3d[18] = 2;
	block3d[19] = H2D;
	CHECK_EQUAL(HIP(hipMemcpy3D, block3d), 0);
	CHECK_EQUAL(HIP(hipMemset, device, 0, (size_t)4096), 0);
	CHECK_EQUAL(device[4095], 0);
	CHECK_EQUAL(HIP(hipMemsetD32Async, device, 7, (size_t)10, NULL), 0);
	HIP(hipFree, device);
	HIP(hipFree, other);
	HIP(hipHostFree, pinned);
}

/* hip_Memcpy2D: of each side x, y, memory type, host, device, array, pitch; then width and height.
 */
static void describe(uint64_t *side, uint64_t type, unsigned at, const void *address)
{
	side[2] = type;
	side[at] = (uintptr_t)address;
}

static void copy_2d(uint64_t from, unsigned from_at, const void *source, uint64_t to,
		    unsigned to_at, const void *destination)
{
	static uint64_t width = 100;
	uint64_t d[16] = {[14] = width++, [15] = 1};

	describe(d, from, from_at, source);
	describe(d + 7, to, to_at, destination);
	CHECK_EQUAL(HIP(hipMemcpyParam2D, d), 0);
	if (width == 102) { /* once each */
		d[15] = 10;
		CHECK_EQUAL(HIP(hipDrvMemcpy2DUnaligned, d), 0);
		d[15] = 100;
		CHECK_EQUAL(HIP(hipMemcpyParam2DAsync, d, NULL), 0);
	}
}

/* Copies by descriptor between all kinds of memory: the numbers of the types are HIP's own. */
static void descriptors(void)
{
	enum { AT_HOST = 3, AT_DEVICE, AT_ARRAY };
	const char *set = getenv("FAKE_VERSION");
	const bool old = set && atoi(set) < 60000;
	const uint64_t host = old ? 0 : 1, device = old ? 1 : 2, managed = old ? 4 : 3;
	const uint64_t array = old ? 2 : 10, unified = old ? 3 : 11;
	const int bits[] = {32, 0, 0, 0};
	static char pageable[256];
	void *d, *m, *a, *b, *pinned;

	begin();
	HIP(hipMalloc, &d, (size_t)256);
	HIP(hipMallocManaged, &m, (size_t)256, 1);
	HIP(hipHostMalloc, &pinned, (size_t)256, 0);
	HIP(hipMallocArray, &a, bits, (size_t)16, (size_t)4, 0);
	copy_2d(host, AT_HOST, pageable, device, AT_DEVICE, d);               /* 100 */
	copy_2d(device, AT_DEVICE, d, host, AT_HOST, pageable);               /* 101, 1010, 10100 */
	copy_2d(host, AT_HOST, pageable, array, AT_ARRAY, a);                 /* 102 */
	copy_2d(array, AT_ARRAY, a, host, AT_HOST, pageable);                 /* 103 */
	copy_2d(unified, AT_DEVICE, d, unified, AT_DEVICE, pageable);         /* 104 */
	copy_2d(unified, AT_DEVICE, pinned, unified, AT_DEVICE, d);           /* 105 */
	copy_2d(managed, AT_DEVICE, m, host, AT_HOST, pageable);              /* 106 */
	copy_2d(host, AT_HOST, pageable, managed, AT_DEVICE, m);              /* 107 */
	copy_2d(array, AT_ARRAY, a, device, AT_DEVICE, d);                    /* 108 */
	copy_2d(host, AT_HOST, pageable, managed, AT_DEVICE, pageable + 128); /* 109: nobody's */
	CHECK_EQUAL(HIP(hipSetDevice, 1), 0);
	HIP(hipMallocArray, &b, bits, (size_t)16, (size_t)4, 0);
	CHECK_EQUAL(HIP(hipSetDevice, 0), 0);
	copy_2d(host, AT_HOST, pageable, array, AT_ARRAY, b); /* 110: of the other device */
	end();
}

static void kernels(void)
{
	void *stream, *again, *module, *function;

	CHECK_EQUAL(HIP(hipStreamCreate, &stream), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(launch(scale, grid, block, 4096, NULL), 0);
	CHECK_EQUAL(scaled, 3 * 8 * 64);
	CHECK_EQUAL(launch(add, one, block, 0, stream), 0);
	CHECK_EQUAL(launch(add, one, (struct fake_dim3){0, 0, 0}, 0, stream), 9);
	CHECK_EQUAL(HIP(hipModuleLoadData, &module, "image"), 0);
	CHECK_EQUAL(HIP(hipModuleGetFunction, &function, module, "reduce"), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(HIP(hipModuleLaunchKernel, function, 2, 1, 1, 32, 4, 1, 0, stream, NULL,
				NULL),
			    0);
	CHECK_EQUAL(HIP(hipExtModuleLaunchKernel, function, 256, 1, 1, 64, 1, 1, (size_t)0, stream,
			NULL, NULL, NULL, NULL, 0),
		    0);
	CHECK_EQUAL(HIP(hipModuleUnload, module), 0);
	CHECK_EQUAL(HIP(hipStreamSynchronize, stream), 0);
	CHECK_EQUAL(HIP(hipEventRecord, (void *)0xe0, stream), 0);
	CHECK_EQUAL(HIP(hipStreamWaitEvent, NULL, (void *)0xe0, 0), 0);
	CHECK_EQUAL(HIP(hipEventSynchronize, (void *)0xe0), 0);
	CHECK_EQUAL(HIP(hipDeviceSynchronize), 0);
	CHECK_EQUAL(HIP(hipStreamDestroy, stream), 0);
	CHECK_EQUAL(HIP(hipStreamCreate, &again), 0);
	CHECK(again == stream); /* another one of the same handle */
	CHECK_EQUAL(launch(add, one, one, 0, again), 0);
	CHECK_EQUAL(HIP(hipStreamDestroy, again), 0);
	HIP(hipSetDevice, 1);
	CHECK_EQUAL(launch(scale, one, block, 0, NULL), 0);
	HIP(hipSetDevice, 0);
}

/* Between begin and end nothing runs, neither there nor in streams that wait for it. */
static void graphs(void)
{
	void *stream, *second, *graph = NULL;

	HIP(hipStreamCreate, &stream);
	HIP(hipStreamCreate, &second);
	HIP(hipStreamBeginCapture, stream, 0);
	launch(scale, grid, block, 0, stream);
	HIP(hipEventRecord, (void *)0xe1, stream);
	HIP(hipStreamWaitEvent, second, (void *)0xe1, 0);
	launch(scale, grid, block, 0, second);
	HIP(hipStreamEndCapture, stream, &graph);
	launch(add, one, one, 0, second);
	HIP(hipGraphLaunch, (void *)0xabc, stream);
	HIP(hipStreamDestroy, stream);
	HIP(hipStreamDestroy, second);
}

static void hip_program(void)
{
	begin();
	names();
	memory();
	copies();
	kernels();
	graphs();
	end();
}

/* Launches before, between and after; HIP refuses the calls that say so. */
static void hip_profiler(void)
{
	begin();
	names();
	launch(scale, grid, block, 0, NULL);
	CHECK_EQUAL(HIP(hipProfilerStart), NOT_SUPPORTED);
	launch(add, one, one, 0, NULL);
	launch(add, one, one, 0, NULL);
	CHECK_EQUAL(HIP(hipProfilerStop), NOT_SUPPORTED);
	launch(scale, grid, block, 0, NULL);
	end();
}

/* ---- HSA by itself ---- */

static void hsa_program(void)
{
	static char host[4096];
	char name[64];
	void *p, *q, *queue;
	uint64_t symbol = 0, object = 0, loaded = 0, gpu = 900;
	uint32_t location = 9;

	begin();
	HSA(hsa_agent_get_info, gpu, 0, name);
	HSA(hsa_agent_get_info, gpu, 17, &location);
	HSA(hsa_agent_get_info, (uint64_t)901, 17, &location);
	AMD(hsa_amd_memory_pool_get_info, (uint64_t)7, 17, &location);
	CHECK_EQUAL(location, 1);
	CHECK_EQUAL(AMD(hsa_amd_memory_pool_allocate, (uint64_t)7, (size_t)6000, 0, &p), 0);
	CHECK_EQUAL(AMD(hsa_amd_memory_pool_allocate, (uint64_t)7, (size_t)50, 0, &q),
		    0); /* leaks */
	CHECK_EQUAL(AMD(hsa_amd_memory_async_copy, p, gpu, host, (uint64_t)901, (size_t)4000, 0,
			NULL, (uint64_t)3),
		    0);
	CHECK_EQUAL(AMD(hsa_amd_memory_async_copy, host, (uint64_t)901, p, gpu, (size_t)1500, 0,
			NULL, (uint64_t)3),
		    0);
	HSA(hsa_signal_wait_scacquire, (uint64_t)3, 0, (int64_t)0, UINT64_MAX, 0);
	AMD(hsa_amd_memory_pool_free, p);
	CHECK_EQUAL(HSA(hsa_queue_create, gpu, 64, 0, NULL, NULL, 0, 0, &queue), 0);
	HSA(hsa_queue_destroy, queue);
	CHECK_EQUAL(HSA(hsa_executable_load_agent_code_object, (uint64_t)40, gpu, (uint64_t)41,
			NULL, &loaded),
		    0);
	CHECK_EQUAL(HSA(hsa_executable_get_symbol_by_name, (uint64_t)40, "sum.kd", &gpu, &symbol),
		    0);
	CHECK_EQUAL(HSA(hsa_executable_symbol_get_info, symbol, 22, &object), 0);
	CHECK_EQUAL(object, symbol + 1);
	HSA(hsa_executable_destroy, (uint64_t)40);
	end();
}

/* ---- HIP on HSA ---- */

static int through_us(fake_allocate allocate, uint64_t size, void **ptr)
{
	return allocate(7, size, 0, ptr);
}

/* Each thing once: HIP's call does it, HSA's calls below are how. */
static void layered(void)
{
	void (*between)(int (*)(fake_allocate, uint64_t, void **));
	static char host[2048];
	void *p, *q, *r;

	begin();
	between = dlsym(runtime, "fake_device_between");
	between(through_us);
	HIP(hipMalloc, &p, (size_t)1111);
	HIP(hipMallocManaged, &q, (size_t)2222, 1); /* by another library on the same thread */
	HIP(hipMemcpy, p, host, (size_t)1000, H2D);
	HIP(hipMemcpyAsync, p, host, (size_t)500, H2D, NULL); /* by a thread of HIP's */
	AMD(hsa_amd_memory_pool_allocate, (uint64_t)7, (size_t)3333, 0, &r); /* the program's own */
	HIP(hipFree, p);
	HIP(hipFree, q);
	AMD(hsa_amd_memory_pool_free, r);
	end();
}

/* ---- threads, fork ---- */

#define THREADS 8
#define ROUNDS  2000

/* The same addresses go from thread to thread. */
static void *churn(void *data)
{
	HIP(hipSetDevice, (int)(intptr_t)data % 2);
	for (int i = 0; i < ROUNDS; i++) {
		void *p, *stream;

		HIP(hipMalloc, &p, (size_t)64);
		if (i % 100 == 0) {
			HIP(hipStreamCreate, &stream);
			launch(add, one, one, 0, stream);
			HIP(hipStreamDestroy, stream);
		}
		HIP(hipFree, p);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];

	begin();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, churn, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	end();
}

static void *first, *second;

static void *take_it(void *data)
{
	HIP(hipMalloc, &second, (size_t)65);
	return NULL;
}

static void other_thread_takes_it(void)
{
	pthread_t t;

	pthread_create(&t, NULL, take_it, NULL);
	pthread_join(t, NULL);
}

/* Another thread is given an address before the call that freed it is back. */
static void reused(void)
{
	void (*after_release)(void (*)(void));

	begin();
	after_release = dlsym(runtime, "fake_device_after_release");
	HIP(hipMalloc, &first, (size_t)64);
	after_release(other_thread_takes_it);
	HIP(hipFree, first);
	CHECK(second == first);
	HIP(hipFree, second);
	end();
}

static void forked(void)
{
	int status = -1;
	void *p;
	pid_t child;

	begin();
	launch(scale, one, one, 0, NULL);
	child = fork();
	if (child == 0) {
		launch(scale, one, one, 0, NULL);
		HIP(hipMalloc, &p, (size_t)99);
		HIP(hipFree, p);
		exit(check_failures);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQUAL(status, 0);
	end();
}

/* ---- objects ---- */

static int (*hip_entry(unsigned at))()
{
	return (int (*)())entries("hip")[at];
}

static __attribute__((noinline)) void *made_first(unsigned at)
{
	void *object;

	CHECK_EQUAL(hip_entry(at)(&object, NULL, NULL, NULL, NULL), 0); /* line: first */
	return object;
}

static __attribute__((noinline)) void *made_second(unsigned at)
{
	void *object;

	CHECK_EQUAL(hip_entry(at)(&object, NULL, NULL, NULL, NULL), 0); /* line: second */
	return object;
}

/* Of each kind one is released, and once more in vain; its handle is that of the next, which stays. */
static void make_objects(bool leaks)
{
	static const unsigned kinds[][2] = {
		{AT_hipStreamCreate, AT_hipStreamDestroy},
		{AT_hipEventCreate, AT_hipEventDestroy},
		{AT_hipCtxCreate, AT_hipCtxDestroy},
		{AT_hipModuleLoadData, AT_hipModuleUnload},
		{AT_hipGraphCreate, AT_hipGraphDestroy},
		{AT_hipGraphInstantiate, AT_hipGraphExecDestroy},
		{AT_hipMemPoolCreate, AT_hipMemPoolDestroy},
	};

	begin();
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		void *object = made_first(kinds[i][0]);

		CHECK_EQUAL(hip_entry(kinds[i][1])(object), 0);
		CHECK_EQUAL(hip_entry(kinds[i][1])(object), 400);
		if (!leaks)
			continue;
		CHECK(made_second(kinds[i][0]) == object);
		made_first(kinds[i][0]);
	}
	end();
}

static void objects(void)
{
	make_objects(true);
}

static void no_objects(void)
{
	make_objects(false);
}

static const struct check_scenario scenarios[] = {
	{"hip", hip_program}, {"hip_profiler", hip_profiler},
	{"hsa", hsa_program}, {"layered", layered},
	{"threads", threads}, {"fork", forked},
	{"reused", reused},   {"descriptors", descriptors},
	{"objects", objects}, {"no objects", no_objects},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: PROBE_RUNTIME=LIBRARY probe_device SCENARIO\n");
		return 2;
	}
	return check_run(scenarios, argc, argv);
}
