/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for HIP and HSA where there is no device: memory is the host's, copies copy, kernels
 * are functions that run at once. HIP works through HSA's table, as AMD's does.
 */
#include "fake_device.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"

typedef uint32_t (*import_fn)(void);
int rocprofiler_register_library_api_table(const char *, import_fn, uint32_t, void **, uint64_t,
					   uint64_t *);

struct version {
	uint32_t major, size, step, reserved;
};

static struct {
	uint64_t size;
	void *entries[COUNT_hip_hip];
} hip = {.size = sizeof(hip)};
static struct {
	uint64_t size;
	void *entries[COUNT_hip_compiler_hip_compiler];
} compiler = {.size = sizeof(compiler)};
static struct {
	struct version v;
	void *entries[COUNT_hsa_core];
} hsa_core = {.v = {2, sizeof(hsa_core), 0, 0}};
static struct {
	struct version v;
	void *entries[COUNT_hsa_amd_ext];
} hsa_amd = {.v = {2, sizeof(hsa_amd), 4, 0}};
static struct {
	struct version v;
	void *tables[6];
} hsa = {{3, sizeof(hsa), 1, 0}, {&hsa_core, &hsa_amd}};

static void fail(void)
{
	fprintf(stderr, "the fake has no such function\n");
	abort();
}

/* ---- HSA ---- */

/* The block given back last, and what is to happen before the call that gave it back returns. */
static void *kept; /* by one thread at a time */
static void (*after_release)(void);

void fake_device_after_release(void (*function)(void))
{
	after_release = function;
}

static int hsa_allocate(uint64_t pool, uint64_t size, uint32_t flags, void **ptr)
{
	*ptr = kept ? kept : malloc(size);
	kept = NULL;
	return *ptr ? 0 : 0x1000;
}

static int hsa_release(void *ptr)
{
	void (*function)(void) = after_release;

	after_release = NULL;
	if (function) {
		kept = ptr;
		function();
	} else {
		free(ptr);
	}
	return 0;
}

static int hsa_copy(void *dst, uint64_t dst_agent, const void *src, uint64_t src_agent, size_t size,
		    uint32_t n, const uint64_t *dependencies, uint64_t signal)
{
	memmove(dst, src, size);
	return 0;
}

static int64_t hsa_wait(uint64_t signal, int condition, int64_t value, uint64_t timeout, int hint)
{
	return value;
}

static int hsa_agent_info(uint64_t agent, int attribute, void *value)
{
	if (attribute == 0)
		snprintf(value, 64, "gfx%u", (unsigned)agent);
	else if (attribute == 17)
		*(uint32_t *)value = agent == 900 ? 1 : 0; /* a GPU, else a CPU */
	return 0;
}

static int hsa_pool_info(uint64_t pool, int attribute, void *value)
{
	if (attribute == 17)
		*(uint32_t *)value = pool == 7;
	return 0;
}

static int hsa_queue(uint64_t agent, uint32_t size, int type, void (*callback)(void), void *data,
		     uint32_t private_size, uint32_t group_size, void **queue)
{
	static char queues[16];
	static int n;

	*queue = &queues[n++ % 16];
	return 0;
}

static int hsa_one(uint64_t handle)
{
	return 0;
}

static int hsa_load(uint64_t executable, uint64_t agent, uint64_t reader, const char *options,
		    uint64_t *loaded)
{
	return 0;
}

static int hsa_symbol(uint64_t executable, const char *name, const uint64_t *agent,
		      uint64_t *symbol)
{
	*symbol = 5000 + strlen(name);
	return 0;
}

static int hsa_symbol_info(uint64_t symbol, int attribute, void *value)
{
	if (attribute == 22)
		*(uint64_t *)value = symbol + 1;
	return 0;
}

/* ---- HIP, by way of HSA ---- */

#define POOL_OF_HIP             7
#define CALL(table, name, type) (*(type *)&table.entries[AT_##name])

static _Thread_local int device;
static int (*between)(fake_allocate, uint64_t size, void **ptr);

void fake_device_between(int (*function)(fake_allocate, uint64_t size, void **ptr))
{
	between = function;
}

static int below_allocate(size_t size, void **ptr)
{
	return CALL(hsa_amd, hsa_amd_memory_pool_allocate, fake_allocate)(POOL_OF_HIP, size, 0, ptr)
		       ? 2
		       : 0;
}

static int below_release(void *ptr)
{
	return CALL(hsa_amd, hsa_amd_memory_pool_free, typeof(&hsa_release))(ptr);
}

static int below_copy(void *dst, const void *src, size_t size)
{
	CALL(hsa_amd, hsa_amd_memory_async_copy, typeof(&hsa_copy))
	(dst, 900, src, 901, size, 0, NULL, 3);
	CALL(hsa_core, hsa_signal_wait_scacquire, typeof(&hsa_wait))(3, 0, 0, UINT64_MAX, 0);
	return 0;
}

static int hip_set_device(int id)
{
	if (id > 1)
		return 101; /* hipErrorInvalidDevice */
	device = id;
	return 0;
}

static int hip_properties(char *prop, int id)
{
	memset(prop, 0, 512);
	snprintf(prop, 256, "Fake %d", id);
	*(uint64_t *)(prop + 288) = 16ull << 30;
	*(int *)(prop + 388) = 120 + id;
	return 0;
}

static int hip_malloc(void **ptr, size_t size)
{
	*ptr = NULL;
	return size ? below_allocate(size, ptr) : 0;
}

static int hip_malloc_async(void **ptr, size_t size, void *stream)
{
	return below_allocate(size, ptr);
}

static int hip_malloc_managed(void **ptr, size_t size, unsigned flags)
{
	if (between)
		return between(CALL(hsa_amd, hsa_amd_memory_pool_allocate, fake_allocate), size,
			       ptr);
	return below_allocate(size, ptr);
}

static int hip_malloc_pitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + 255) / 256 * 256;
	return below_allocate(*pitch * height, ptr);
}

struct extent {
	size_t width, height, depth;
};

static int hip_malloc_3d(void **pitched, struct extent e)
{
	size_t pitch = (e.width + 255) / 256 * 256, *of = (size_t *)pitched;

	of[1] = pitch;
	of[2] = e.width;
	of[3] = e.height;
	return below_allocate(pitch * e.height * e.depth, pitched);
}

static int hip_malloc_array(void **array, const int *bits, size_t width, size_t height,
			    unsigned flags)
{
	return below_allocate(64, array);
}

static int hip_host_malloc(void **ptr, size_t size, unsigned flags)
{
	return below_allocate(size, ptr);
}

static int hip_free(void *ptr)
{
	return below_release(ptr);
}

static int hip_free_async(void *ptr, void *stream)
{
	return below_release(ptr);
}

static int hip_register(void *ptr, size_t size, unsigned flags)
{
	return 0;
}

static int hip_one(void *anything)
{
	return 0;
}

static int hip_two(void *a, void *b)
{
	return 0;
}

static int hip_three(void *a, void *b, unsigned flags)
{
	return 0;
}

static int hip_none(void)
{
	return 0;
}

static int hip_refuses(void)
{
	return 801; /* hipErrorNotSupported */
}

static int hip_memcpy(void *dst, const void *src, size_t size, int kind)
{
	return kind > 4 ? 21 /* hipErrorInvalidMemcpyDirection */ : below_copy(dst, src, size);
}

struct job {
	void *dst;
	const void *src;
	size_t size;
};

static void *work(void *data)
{
	struct job *j = data;

	below_copy(j->dst, j->src, j->size);
	return NULL;
}

/* By a thread of HIP's own. */
static int hip_memcpy_async(void *dst, const void *src, size_t size, int kind, void *stream)
{
	struct job j = {dst, src, size};
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &j) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}

static int hip_memcpy_peer(void *dst, int to, const void *src, int from, size_t size)
{
	return below_copy(dst, src, size);
}

static int hip_memcpy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t height, int kind)
{
	for (size_t i = 0; i < height; i++)
		memmove((char *)dst + i * dpitch, (const char *)src + i * spitch, width);
	return 0;
}

static int hip_memcpy_3d(const uint64_t *p)
{
	for (size_t i = 0; i < p[17] * p[18]; i++)
		memmove((char *)p[12] + i * p[13], (const char *)p[4] + i * p[5], p[16]);
	return 0;
}

static int hip_memset(void *dst, int value, size_t size)
{
	memset(dst, value, size);
	return 0;
}

static int hip_memset_32(void *dst, int value, size_t count, void *stream)
{
	for (size_t i = 0; i < count; i++)
		((int *)dst)[i] = value;
	return 0;
}

static int hip_launch(const void *function, struct fake_dim3 blocks, struct fake_dim3 threads,
		      void **args, size_t shared, void *stream)
{
	fake_kernel kernel;

	if (threads.x == 0)
		return 9; /* hipErrorInvalidConfiguration */
	memcpy(&kernel, &function, sizeof(kernel));
	kernel((uint64_t)blocks.x * blocks.y * blocks.z * threads.x * threads.y * threads.z, args);
	return 0;
}

static int hip_module_launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			     unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
			     void **extra)
{
	return 0;
}

static int hip_ext_launch(void *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
			  uint32_t by, uint32_t bz, size_t shared, void *stream, void **args,
			  void **extra, void *start, void *stop, uint32_t flags)
{
	return 0;
}

/* A handle, used again when it was given back. */
static char handles[64];
static bool used[64];

static int hip_handle(void **out)
{
	int i = 0;

	while (i < 63 && used[i])
		i++;
	used[i] = true;
	*out = &handles[i];
	return 0;
}

static int hip_handle_back(void *handle)
{
	bool *of = &used[(char *)handle - handles];

	if (!*of)
		return 400; /* hipErrorInvalidHandle */
	*of = false;
	return 0;
}

static int hip_load(void **module, const void *image)
{
	return hip_handle(module);
}

static int hip_get_function(void **function, void *module, const char *name)
{
	return hip_handle(function);
}

static void *binaries[4];

static void **compiler_binary(const void *data)
{
	return binaries;
}

static void compiler_function(void **modules, const void *host, char *function, const char *name,
			      unsigned threads, void *tid, void *bid, void *block, void *grid,
			      int *wave)
{
}

static void compiler_end(void **modules)
{
}

/* ---- tables ---- */

void **fake_device_entries(const char *table)
{
	if (strcmp(table, "hip") == 0)
		return hip.entries;
	if (strcmp(table, "hip_compiler") == 0)
		return compiler.entries;
	return strcmp(table, "hsa_core") == 0 ? hsa_core.entries : hsa_amd.entries;
}

#define SET(table, name, function) (table.entries[AT_##name] = (void *)(function))

static void fill_hsa(void)
{
	SET(hsa_core, hsa_agent_get_info, hsa_agent_info);
	SET(hsa_core, hsa_queue_create, hsa_queue);
	SET(hsa_core, hsa_queue_destroy, hsa_one);
	SET(hsa_core, hsa_signal_wait_scacquire, hsa_wait);
	SET(hsa_core, hsa_executable_load_agent_code_object, hsa_load);
	SET(hsa_core, hsa_executable_get_symbol_by_name, hsa_symbol);
	SET(hsa_core, hsa_executable_symbol_get_info, hsa_symbol_info);
	SET(hsa_core, hsa_executable_destroy, hsa_one);
	SET(hsa_amd, hsa_amd_memory_pool_get_info, hsa_pool_info);
	SET(hsa_amd, hsa_amd_memory_pool_allocate, hsa_allocate);
	SET(hsa_amd, hsa_amd_memory_pool_free, hsa_release);
	SET(hsa_amd, hsa_amd_memory_async_copy, hsa_copy);
}

static void fill_hip(void)
{
	SET(hip, hipSetDevice, hip_set_device);
	SET(hip, hipGetDevicePropertiesR0600, hip_properties);
	SET(hip, hipMalloc, hip_malloc);
	SET(hip, hipMallocAsync, hip_malloc_async);
	SET(hip, hipMallocManaged, hip_malloc_managed);
	SET(hip, hipMallocPitch, hip_malloc_pitch);
	SET(hip, hipMalloc3D, hip_malloc_3d);
	SET(hip, hipMallocArray, hip_malloc_array);
	SET(hip, hipHostMalloc, hip_host_malloc);
	SET(hip, hipHostRegister, hip_register);
	SET(hip, hipHostUnregister, hip_one);
	SET(hip, hipFree, hip_free);
	SET(hip, hipHostFree, hip_free);
	SET(hip, hipFreeArray, hip_free);
	SET(hip, hipFreeAsync, hip_free_async);
	SET(hip, hipMemcpy, hip_memcpy);
	SET(hip, hipMemcpyAsync, hip_memcpy_async);
	SET(hip, hipMemcpyPeer, hip_memcpy_peer);
	SET(hip, hipMemcpy2D, hip_memcpy_2d);
	SET(hip, hipMemcpy3D, hip_memcpy_3d);
	SET(hip, hipMemcpyParam2D, hip_one);
	SET(hip, hipDrvMemcpy2DUnaligned, hip_one);
	SET(hip, hipMemcpyParam2DAsync, hip_two);
	SET(hip, hipMemset, hip_memset);
	SET(hip, hipMemsetD32Async, hip_memset_32);
	SET(hip, hipLaunchKernel, hip_launch);
	SET(hip, hipLaunchKernel_spt, hip_launch);
	SET(hip, hipModuleLaunchKernel, hip_module_launch);
	SET(hip, hipExtModuleLaunchKernel, hip_ext_launch);
	SET(hip, hipModuleLoadData, hip_load);
	SET(hip, hipModuleUnload, hip_handle_back);
	SET(hip, hipModuleGetFunction, hip_get_function);
	SET(hip, hipStreamCreate, hip_handle);
	SET(hip, hipStreamDestroy, hip_handle_back);
	SET(hip, hipStreamSynchronize, hip_one);
	SET(hip, hipDeviceSynchronize, hip_none);
	SET(hip, hipProfilerStart, hip_refuses);
	SET(hip, hipProfilerStop, hip_refuses);
	SET(hip, hipEventSynchronize, hip_one);
	SET(hip, hipEventRecord, hip_two);
	SET(hip, hipStreamWaitEvent, hip_three);
	SET(hip, hipStreamBeginCapture, hip_two);
	SET(hip, hipStreamEndCapture, hip_two);
	SET(hip, hipGraphLaunch, hip_two);
	SET(hip, hipEventCreate, hip_handle);
	SET(hip, hipEventDestroy, hip_handle_back);
	SET(hip, hipCtxCreate, hip_handle);
	SET(hip, hipCtxDestroy, hip_handle_back);
	SET(hip, hipGraphCreate, hip_handle);
	SET(hip, hipGraphDestroy, hip_handle_back);
	SET(hip, hipGraphInstantiate, hip_handle);
	SET(hip, hipGraphExecDestroy, hip_handle_back);
	SET(hip, hipMemPoolCreate, hip_handle);
	SET(hip, hipMemPoolDestroy, hip_handle_back);
	SET(compiler, __hipRegisterFatBinary, compiler_binary);
	SET(compiler, __hipRegisterFunction, compiler_function);
	SET(compiler, __hipUnregisterFatBinary, compiler_end);
}

/* 10000 * major + 100 * minor, as runtimes say it. */
static uint32_t version(void)
{
	const char *text = getenv("FAKE_VERSION");

	return text ? (uint32_t)atoi(text) : 60000;
}

uint32_t rocprofiler_register_import_hip(void);
uint32_t rocprofiler_register_import_hip(void)
{
	return version();
}

static int give(const char *name, void *table)
{
	void *tables[] = {table};
	uint64_t id;

	return rocprofiler_register_library_api_table(name, rocprofiler_register_import_hip,
						      version(), tables, 1, &id);
}

int fake_device_register(void)
{
	void **all[] = {hip.entries, compiler.entries, hsa_core.entries, hsa_amd.entries};
	const unsigned counts[] = {COUNT_hip_hip, COUNT_hip_compiler_hip_compiler, COUNT_hsa_core,
				   COUNT_hsa_amd_ext};

	for (unsigned t = 0; t < 4; t++)
		for (unsigned i = 0; i < counts[t]; i++)
			all[t][i] = (void *)fail;
	fill_hsa();
	fill_hip();
	return give("hsa", &hsa) | give("hip", &hip) | give("hip_compiler", &compiler);
}
