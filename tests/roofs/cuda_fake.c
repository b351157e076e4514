/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for libcuda.so.1 of machines without a GPU: FAKE_GPUS devices of one name whose memory is the host's, and
 * whose "machine code" (nvrtc_fake.c) is a shared object, its threads run one after the other. Each call is held against
 * what the driver demands: initialised, a context that is current, handles that live, addresses within one allocation,
 * sizes of grids. What is wrong, and what is left when a context is released, ends the process with a message in the file
 * FAKE_LOG, where a line tells each launch, too. FAKE_FAIL=symbol:result:n has the nth and later calls of it fail; result -1:
 * the driver crashes there.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	INVALID = 1,
	NO_MEMORY = 2,
	DEVICES_MOST = 8,
	MULTIPROCESSORS = 2,
	HANDLES = 256,
	ROOM = 256 << 20 /* bytes of a device */
};

static struct {
	unsigned char *at;
	size_t bytes;
} memory[HANDLES];
static void *pinned[HANDLES];
static struct event {
	int live;
	double time;
} events[HANDLES];
static struct module {
	void *library;
	void (*kernel)(double *, double *, uint64_t, unsigned);
	char path[128];
} modules[HANDLES];
static int streams, retained, current, initialised;
static size_t used;

static FILE *log_file(void)
{
	const char *path = getenv("FAKE_LOG");

	return path ? fopen(path, "a") : NULL;
}

static void tell(const char *what)
{
	FILE *f = log_file();

	if (f) {
		fprintf(f, "%s\n", what);
		fclose(f);
	}
}

static void demand(int what, const char *call, const char *why)
{
	FILE *f;

	if (what)
		return;
	f = log_file();
	fprintf(f ? f : stderr, "WRONG %s: %s\n", call, why);
	_exit(70);
}

static int fails(const char *call)
{
	static unsigned calls;
	const char *s = getenv("FAKE_FAIL");
	size_t n = strlen(call);

	if (!s || strncmp(s, call, n) != 0 || s[n] != ':')
		return 0;
	if (++calls < (unsigned)atoi(strchr(s + n + 1, ':') + 1))
		return 0;
	if (atoi(s + n + 1) < 0)
		abort();
	return atoi(s + n + 1);
}

#define ENTER(call)                                                                                \
	do {                                                                                       \
		int failed = fails(#call);                                                         \
		demand(initialised, #call, "before cuInit");                                       \
		if (failed)                                                                        \
			return failed;                                                             \
	} while (0)
#define ENTER_CONTEXT(call)                                                                        \
	do {                                                                                       \
		ENTER(call);                                                                       \
		demand(current, #call, "no context is current");                                   \
	} while (0)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- driver, devices ----------------------------------------------------------------------------- */

int cuInit(unsigned flags)
{
	int failed = fails("cuInit");

	demand(flags == 0, "cuInit", "flags");
	initialised = 1;
	return failed;
}

int cuDriverGetVersion(int *out)
{
	*out = 12080;
	return 0;
}

int cuGetErrorString(int error, const char **out)
{
	*out = error == NO_MEMORY ? "out of memory"
	       : error == 719     ? "unspecified launch failure"
				  : "error";
	return 0;
}

static int count(void)
{
	const char *s = getenv("FAKE_GPUS");

	return s ? atoi(s) : 1;
}

int cuDeviceGetCount(int *out)
{
	ENTER(cuDeviceGetCount);
	*out = count();
	return 0;
}

int cuDeviceGet(int *out, int number)
{
	ENTER(cuDeviceGet);
	demand(number >= 0 && number < count(), "cuDeviceGet", "no such device");
	*out = number;
	return 0;
}

int cuDeviceGetName(char *out, int bytes, int device)
{
	(void)device;
	ENTER(cuDeviceGetName);
	snprintf(out, (size_t)bytes, "Fake GPU");
	return 0;
}

int cuDeviceTotalMem_v2(size_t *out, int device)
{
	(void)device;
	ENTER(cuDeviceTotalMem_v2);
	*out = ROOM;
	return 0;
}

int cuDeviceGetUuid(uint8_t *out, int device)
{
	ENTER(cuDeviceGetUuid);
	memset(out, 0xa0 + device, 16);
	return 0;
}

int cuDeviceGetUuid_v2(uint8_t *out, int device)
{
	return cuDeviceGetUuid(out, device);
}

int cuDeviceGetAttribute(int *out, int what, int device)
{
	static const struct {
		int what, value;
	} values[] = {{1, 1024}, {8, 49152},   {13, 1000000}, {16, MULTIPROCESSORS},
		      {34, 0},   {36, 500000}, {37, 256},     {38, 1 << 20},
		      {50, 0},   {75, 9},      {76, 0},       {81, 131072}};

	ENTER(cuDeviceGetAttribute);
	*out = 16 + device; /* 33: the bus */
	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].what == what)
			*out = values[i].value;
	demand(what == 33 || *out != 16 + device, "cuDeviceGetAttribute",
	       "an attribute that nobody needs");
	return 0;
}

/* ---- context, streams, events --------------------------------------------------------------------- */

int cuDevicePrimaryCtxRetain(void **out, int device)
{
	ENTER(cuDevicePrimaryCtxRetain);
	demand(device >= 0 && device < count(), "cuDevicePrimaryCtxRetain", "no such device");
	*out = &retained;
	retained++;
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	ENTER(cuCtxSetCurrent);
	demand(retained && context == &retained, "cuCtxSetCurrent", "no context");
	current = 1;
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	ENTER(cuDevicePrimaryCtxRelease_v2);
	demand(retained-- == 1, "cuDevicePrimaryCtxRelease_v2", "not retained once");
	demand(streams == 0, "cuDevicePrimaryCtxRelease_v2", "a stream is left");
	demand(used == 0, "cuDevicePrimaryCtxRelease_v2", "memory is left");
	for (unsigned i = 0; i < HANDLES; i++) {
		demand(!events[i].live, "cuDevicePrimaryCtxRelease_v2", "an event is left");
		demand(!modules[i].library, "cuDevicePrimaryCtxRelease_v2", "a module is left");
		demand(!pinned[i], "cuDevicePrimaryCtxRelease_v2", "pinned memory is left");
	}
	current = 0;
	tell("released");
	return 0;
}

int cuStreamCreate(void **out, unsigned flags)
{
	ENTER_CONTEXT(cuStreamCreate);
	demand(flags == 0, "cuStreamCreate", "flags");
	*out = &streams;
	streams++;
	return 0;
}

int cuStreamDestroy_v2(void *stream)
{
	demand(stream == &streams && streams == 1, "cuStreamDestroy_v2", "no stream");
	streams--;
	return 0;
}

int cuStreamSynchronize(void *stream)
{
	ENTER_CONTEXT(cuStreamSynchronize);
	demand(stream == &streams && streams, "cuStreamSynchronize", "no stream");
	return 0;
}

static struct event *event_of(void *event, const char *call)
{
	struct event *e = event;

	demand(e >= events && e < events + HANDLES && e->live, call, "no event");
	return e;
}

int cuEventCreate(void **out, unsigned flags)
{
	unsigned i = 0;

	ENTER_CONTEXT(cuEventCreate);
	demand(flags == 0, "cuEventCreate", "without times");
	while (events[i].live)
		i++;
	events[i] = (struct event){1, 0};
	*out = &events[i];
	return 0;
}

int cuEventDestroy_v2(void *event)
{
	event_of(event, "cuEventDestroy_v2")->live = 0;
	return 0;
}

int cuEventRecord(void *event, void *stream)
{
	ENTER_CONTEXT(cuEventRecord);
	demand(stream == &streams, "cuEventRecord", "no stream");
	event_of(event, "cuEventRecord")->time = now();
	return 0;
}

int cuEventElapsedTime(float *out, void *from, void *to)
{
	ENTER_CONTEXT(cuEventElapsedTime);
	*out = (float)((event_of(to, "cuEventElapsedTime")->time -
			event_of(from, "cuEventElapsedTime")->time) *
		       1e3);
	demand(*out >= 0, "cuEventElapsedTime", "the later one first");
	return 0;
}

/* ---- memory -------------------------------------------------------------------------------------- */

int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
	unsigned i = 0;

	ENTER_CONTEXT(cuMemAlloc_v2);
	demand(bytes > 0, "cuMemAlloc_v2", "no bytes");
	if (used + bytes > ROOM)
		return NO_MEMORY;
	while (memory[i].at)
		i++;
	memory[i].at = calloc(1, bytes);
	memory[i].bytes = bytes;
	used += bytes;
	*out = (uint64_t)(uintptr_t)memory[i].at;
	return 0;
}

int cuMemFree_v2(uint64_t address)
{
	for (unsigned i = 0; i < HANDLES; i++)
		if (memory[i].at == (void *)(uintptr_t)address && address) {
			free(memory[i].at);
			used -= memory[i].bytes;
			memory[i].at = NULL;
			return 0;
		}
	demand(0, "cuMemFree_v2", "no memory");
	return 0;
}

static void *range(uint64_t address, size_t bytes, const char *call)
{
	for (unsigned i = 0; i < HANDLES; i++) {
		uint64_t from = (uint64_t)(uintptr_t)memory[i].at;

		if (from && address >= from && address + bytes <= from + memory[i].bytes)
			return (void *)(uintptr_t)address;
	}
	demand(0, call, "not within memory of the device");
	return NULL;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	ENTER_CONTEXT(cuMemcpyHtoDAsync_v2);
	demand(stream == &streams, "cuMemcpyHtoDAsync_v2", "no stream");
	memcpy(range(to, bytes, "cuMemcpyHtoDAsync_v2"), from, bytes);
	return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	ENTER_CONTEXT(cuMemcpyDtoHAsync_v2);
	demand(stream == &streams, "cuMemcpyDtoHAsync_v2", "no stream");
	memcpy(to, range(from, bytes, "cuMemcpyDtoHAsync_v2"), bytes);
	return 0;
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
	unsigned i = 0;

	ENTER_CONTEXT(cuMemHostAlloc);
	demand(flags == 0, "cuMemHostAlloc", "flags");
	while (pinned[i])
		i++;
	*out = pinned[i] = malloc(bytes);
	return 0;
}

int cuMemFreeHost(void *p)
{
	for (unsigned i = 0; i < HANDLES; i++)
		if (p && pinned[i] == p) {
			free(p);
			pinned[i] = NULL;
			return 0;
		}
	demand(0, "cuMemFreeHost", "no memory");
	return 0;
}

/* ---- kernels ------------------------------------------------------------------------------------- */

int cuModuleLoadData(void **out, const void *image)
{
	const char *from = image; /* the shared object's path */
	unsigned i = 0;

	ENTER_CONTEXT(cuModuleLoadData);
	while (modules[i].library)
		i++;
	snprintf(modules[i].path, sizeof(modules[i].path), "%s", from);
	modules[i].library = dlopen(from, RTLD_NOW | RTLD_LOCAL);
	demand(modules[i].library != NULL, "cuModuleLoadData", dlerror());
	unlink(from);
	*out = &modules[i];
	return 0;
}

int cuModuleGetFunction(void **out, void *module, const char *name)
{
	struct module *m = module;
	void *f;

	ENTER_CONTEXT(cuModuleGetFunction);
	f = dlsym(m->library, name);
	demand(f != NULL, "cuModuleGetFunction", name);
	memcpy(&m->kernel, &f, sizeof(f));
	*out = m;
	return 0;
}

int cuModuleUnload(void *module)
{
	struct module *m = module;

	demand(m >= modules && m < modules + HANDLES && m->library, "cuModuleUnload", "no module");
	dlclose(m->library);
	m->library = NULL;
	return 0;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **arguments, void **extra)
{
	struct module *m = f;
	unsigned *places;
	uint64_t a, b, n;
	unsigned passes;
	char line[128];

	ENTER_CONTEXT(cuLaunchKernel);
	demand(m >= modules && m < modules + HANDLES && m->library, "cuLaunchKernel", "no kernel");
	demand(stream == &streams && !extra && !shared, "cuLaunchKernel", "stream, extra, shared");
	demand(gx && gy == 1 && gz == 1 && bx && bx <= 1024 && by == 1 && bz == 1, "cuLaunchKernel",
	       "sizes");
	memcpy(&a, arguments[0], 8);
	memcpy(&b, arguments[1], 8);
	memcpy(&n, arguments[2], 8);
	memcpy(&passes, arguments[3], 4);
	range(a, 1, "cuLaunchKernel");
	range(b, 1, "cuLaunchKernel");
	snprintf(line, sizeof(line), "launch %u x %u n %llu passes %u", gx, bx,
		 (unsigned long long)n, passes);
	tell(line);
	places = dlsym(m->library, "fake_places"); /* group, item, groups, items */
	demand(places != NULL, "cuLaunchKernel", "no kernel of the fake");
	places[2] = gx;
	places[3] = bx;
	for (places[0] = 0; places[0] < gx; places[0]++)
		for (places[1] = 0; places[1] < bx; places[1]++)
			m->kernel((double *)(uintptr_t)a, (double *)(uintptr_t)b, n, passes);
	return 0;
}
