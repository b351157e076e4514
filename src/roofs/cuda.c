/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runners of CUDA devices: the driver and NVRTC, both found by their names. Kernels are compiled for the very device, to
 * machine code: a driver that is older than NVRTC could not read its PTX.
 */
#include "roofs/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kymo/agent.h>

#include "base/clock.h"
#include "base/library.h"
#include "roofs/kernels.h"
#include "roofs/runner.h"

static struct cuda_driver cu;
static struct cuda_compiler nvrtc;
static bool has_nvrtc;
static char no_nvrtc[LIBRARY_WHY];

enum { EVENTS = 2, MODULES_MOST = ROOFS_MOST };

struct cuda {
	int device;
	unsigned major, minor;
	bool retained;
	void *context, *stream, *event[EVENTS];
	cuda_address buffer[RUNNER_BUFFERS];
	struct {
		void *module, *function;
	} modules[MODULES_MOST];
};

static struct cuda *own(struct runner *r)
{
	return r->own;
}

static bool load(char why[ROOF_WHY])
{
#define ROW(member, symbol, arguments)      LIBRARY_FUNCTION(struct cuda_driver, member, #symbol),
#define LATER(member, symbol, arguments)    LIBRARY_OPTIONAL(struct cuda_driver, member, #symbol),
#define COMPILER(member, symbol, arguments) LIBRARY_FUNCTION(struct cuda_compiler, member, #symbol),
	static const struct library_function driver[] = {CUDA_FUNCTIONS(ROW)
								 CUDA_FUNCTIONS_LATER(LATER)};
	static const struct library_function compiler[] = {NVRTC_FUNCTIONS(COMPILER)};
	static const char *const names[] = {"libcuda.so.1", NULL};
	static const char *const compilers[] = {"libnvrtc.so.13",
						"libnvrtc.so.12",
						"libnvrtc.so.11.2",
						"libnvrtc.so",
						"/usr/local/cuda/lib64/libnvrtc.so",
						NULL};
	char what[LIBRARY_WHY];

	if (!library_find(names, NULL, driver, sizeof(driver) / sizeof(driver[0]), &cu, what)) {
		snprintf(why, ROOF_WHY, "%.*s", ROOF_WHY - 1, what);
		return false;
	}
	has_nvrtc = library_find(compilers, NULL, compiler, sizeof(compiler) / sizeof(compiler[0]),
				 &nvrtc, no_nvrtc);
	return true;
}

static bool check(struct runner *r, const char *call, cuda_result result, char why[ROOF_WHY])
{
	const char *text = NULL;

	if (result == 0)
		return true;
	if (result >= CUDA_ILLEGAL_ADDRESS && result < CUDA_NOT_PERMITTED)
		r->dead = true;
	if (cu.error_text(result, &text) != 0 || !text)
		text = "unknown error";
	snprintf(why, ROOF_WHY, "%s: %.120s (%d)", call, text, result);
	return false;
}

/* ---- what the device tells ----------------------------------------------------------------------- */

static uint64_t attribute(int device, enum cuda_attribute what)
{
	int v = 0;

	return cu.attribute(&v, what, device) == 0 && v > 0 ? (uint64_t)v : 0;
}

struct driver_search {
	const char *uuid;
	char *out;
	size_t room;
};

/* The driver's version, as the machine tells: CUDA's own functions tell that of CUDA. */
static kymo_status_t take_version(const kymo_agent_t *a, void *data)
{
	const struct driver_search *s = data;
	char digits[40];
	size_t n = 0;

	for (const char *c = a->uuid && strncmp(a->uuid, "GPU-", 4) == 0 ? a->uuid + 4 : "";
	     *c && n < sizeof(digits) - 1; c++)
		if (*c != '-')
			digits[n++] = *c;
	digits[n] = '\0';
	if (!a->version || strcmp(digits, s->uuid) != 0)
		return KYMO_OK;
	snprintf(s->out, s->room, "%.63s", a->version);
	return KYMO_ERROR_NOT_FOUND; /* no more agents */
}

static void read_driver(struct roof_device *d)
{
	struct driver_search s = {d->uuid, d->driver, sizeof(d->driver)};
	char version[40] = "";
	int number = 0;

	if (cu.version(&number) == 0)
		snprintf(version, sizeof(version), "CUDA %d.%d", number / 1000, number % 1000 / 10);
	kymo_agents(take_version, &s);
	if (*d->driver)
		snprintf(d->driver + strlen(d->driver), sizeof(d->driver) - strlen(d->driver),
			 " (%s)", version);
	else
		snprintf(d->driver, sizeof(d->driver), "%s", version);
}

/* Lanes of a multiprocessor: CUDA C++ Programming Guide, "Arithmetic Instructions", results a clock. */
static const struct {
	unsigned major, minor;
	uint16_t fp64, fp32, fp16, int32;
} lanes[] = {
	{7, 0, 32, 64, 128, 64}, {7, 5, 2, 64, 128, 64},  {8, 0, 32, 64, 256, 64},
	{8, 6, 2, 128, 256, 64}, {8, 9, 2, 128, 256, 64}, {9, 0, 64, 128, 256, 64},
};

static void find_peaks(struct runner *r)
{
	const struct cuda *c = own(r);
	const uint64_t khz = attribute(c->device, CUDA_MEMORY_KHZ);
	const uint64_t bits = attribute(c->device, CUDA_MEMORY_BITS);
	enum { MULTIPLY_ADD = 2, A_CLOCK = 2 /* transfers: double data rate */ };

	r->memory_peak = (double)khz * 1e3 * A_CLOCK * (double)bits / 8;
	for (unsigned i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++) {
		const uint32_t all = r->device.units * MULTIPLY_ADD;

		if (lanes[i].major != c->major || lanes[i].minor != c->minor)
			continue;
		r->ops_per_clock[RUNNER_FP64] = lanes[i].fp64 * all;
		r->ops_per_clock[RUNNER_FP32] = lanes[i].fp32 * all;
		r->ops_per_clock[RUNNER_FP16] = lanes[i].fp16 * all;
		r->ops_per_clock[RUNNER_INT32] = lanes[i].int32 * all;
	}
}

static void read_uuid(int device, char out[40])
{
	uint8_t uuid[16];
	cuda_result result =
		cu.device_uuid_v2 ? cu.device_uuid_v2(uuid, device) : cu.device_uuid(uuid, device);

	for (unsigned i = 0; result == 0 && i < sizeof(uuid); i++)
		snprintf(out + 2 * i, 3, "%02x", uuid[i]);
}

static void describe(struct runner *r)
{
	struct roof_device *d = &r->device;
	struct cuda *c = own(r);
	size_t memory = 0;

	strcpy(d->api, "cuda");
	strcpy(d->type, "gpu");
	strcpy(d->platform, "NVIDIA CUDA");
	strcpy(d->vendor, "NVIDIA");
	if (cu.device_name(d->name, sizeof(d->name), c->device) != 0)
		strcpy(d->name, "NVIDIA GPU");
	read_uuid(c->device, d->uuid);
	snprintf(d->pci, sizeof(d->pci), "%04x:%02x:%02x.0",
		 (unsigned)attribute(c->device, CUDA_PCI_DOMAIN) & 0xffffu,
		 (unsigned)attribute(c->device, CUDA_PCI_BUS) & 0xffu,
		 (unsigned)attribute(c->device, CUDA_PCI_DEVICE) & 0xffu);
	read_driver(d);
	if (cu.device_memory(&memory, c->device) == 0)
		d->memory_bytes = memory;
	d->units = (uint32_t)attribute(c->device, CUDA_MULTIPROCESSORS);
	d->clock_mhz = (uint32_t)(attribute(c->device, CUDA_CLOCK_KHZ) / 1000);
	d->cache[0] = attribute(c->device, CUDA_SHARED_MULTIPROCESSOR); /* of one memory with L1 */
	d->cache[1] = attribute(c->device, CUDA_L2_BYTES);
	c->major = (unsigned)attribute(c->device, CUDA_MAJOR);
	c->minor = (unsigned)attribute(c->device, CUDA_MINOR);
	r->language = RUNNER_CUDA;
	r->group_most = (uint32_t)attribute(c->device, CUDA_GROUP_MOST);
	r->local_bytes = attribute(c->device, CUDA_SHARED_BYTES);
	r->buffer_most = d->memory_bytes / 4;
	for (unsigned i = 0; i < RUNNER_TYPES; i++) {
		r->has[i] = true;
		r->native[i] = i == RUNNER_FP16 ? 2 : 1; /* two halves in a register */
	}
	find_peaks(r);
}

/* ---- context, buffers ---------------------------------------------------------------------------- */

static bool cuda_open(struct runner *r, char why[ROOF_WHY])
{
	struct cuda *c = own(r);
	bool ok = check(r, "cuDevicePrimaryCtxRetain", cu.context_retain(&c->context, c->device),
			why);

	c->retained = ok;
	ok = ok && check(r, "cuCtxSetCurrent", cu.context_set(c->context), why) &&
	     check(r, "cuStreamCreate", cu.stream_new(&c->stream, 0), why);
	for (unsigned i = 0; ok && i < EVENTS; i++)
		ok = check(r, "cuEventCreate", cu.event_new(&c->event[i], 0), why);
	r->dead = r->dead || !ok;
	return ok;
}

static void release_buffers(struct cuda *c)
{
	for (unsigned i = 0; i < RUNNER_BUFFERS; i++) {
		if (c->buffer[i])
			cu.release(c->buffer[i]);
		c->buffer[i] = 0;
	}
}

static void cuda_close(struct runner *r)
{
	struct cuda *c = own(r);

	release_buffers(c);
	for (unsigned i = 0; i < EVENTS; i++)
		if (c->event[i])
			cu.event_free(c->event[i]);
	if (c->stream)
		cu.stream_free(c->stream);
	if (c->retained)
		cu.context_release(c->device);
	free(c);
	r->own = NULL;
}

static bool cuda_reserve(struct runner *r, uint64_t bytes, char why[ROOF_WHY])
{
	struct cuda *c = own(r);

	release_buffers(c);
	for (unsigned i = 0; i < RUNNER_BUFFERS; i++)
		if (!check(r, "cuMemAlloc", cu.allocate(&c->buffer[i], bytes), why)) {
			c->buffer[i] = 0;
			release_buffers(c);
			return false;
		}
	return true;
}

static bool finish(struct runner *r, char why[ROOF_WHY])
{
	return check(r, "cuStreamSynchronize", cu.stream_wait(own(r)->stream), why);
}

static bool cuda_put(struct runner *r, enum runner_buffer to, uint64_t at, const void *from,
		     uint64_t bytes, char why[ROOF_WHY])
{
	struct cuda *c = own(r);

	return check(r, "cuMemcpyHtoD", cu.to_device(c->buffer[to] + at, from, bytes, c->stream),
		     why) &&
	       finish(r, why);
}

static bool cuda_get(struct runner *r, enum runner_buffer from, uint64_t at, void *to,
		     uint64_t bytes, char why[ROOF_WHY])
{
	struct cuda *c = own(r);

	return check(r, "cuMemcpyDtoH", cu.to_host(to, c->buffer[from] + at, bytes, c->stream),
		     why) &&
	       finish(r, why);
}

/* ---- kernels ------------------------------------------------------------------------------------- */

static void compile_failed(void *program, cuda_result result, char why[ROOF_WHY])
{
	char *log = NULL, *line, *rest;
	size_t size = 0;

	snprintf(why, ROOF_WHY, "nvrtcCompileProgram: error %d", result);
	if (nvrtc.log_size(program, &size) == 0 && size)
		log = calloc(1, size + 1);
	rest = log && nvrtc.log(program, log) == 0 ? log : NULL;
	while (rest && (line = strsep(&rest, "\n")))
		if (strstr(line, "error")) {
			snprintf(why, ROOF_WHY, "it does not build: %.200s", line);
			break;
		}
	free(log);
}

/* Machine code for the device; NULL: `why`. */
static char *compile(struct runner *r, const char *source, char why[ROOF_WHY])
{
	char architecture[48];
	const char *const options[] = {architecture};
	void *program = NULL;
	cuda_result result;
	char *cubin = NULL;
	size_t size = 0;

	if (!has_nvrtc) {
		snprintf(why, ROOF_WHY, "%.*s: CUDA kernels cannot be compiled without it",
			 ROOF_WHY - 60, no_nvrtc);
		return NULL;
	}
	snprintf(architecture, sizeof(architecture), "--gpu-architecture=sm_%u%u", own(r)->major,
		 own(r)->minor);
	result = nvrtc.create(&program, source, "roof.cu", 0, NULL, NULL);
	if (result != 0) {
		snprintf(why, ROOF_WHY, "nvrtcCreateProgram: error %d", result);
		return NULL;
	}
	result = nvrtc.compile(program, 1, options);
	if (result != 0)
		compile_failed(program, result, why);
	else if (nvrtc.cubin_size(program, &size) == 0 && size)
		cubin = malloc(size);
	if (cubin && nvrtc.cubin(program, cubin) != 0) {
		free(cubin);
		cubin = NULL;
	}
	if (result == 0 && !cubin)
		snprintf(why, ROOF_WHY, "NVRTC gives no machine code for %s", architecture);
	nvrtc.destroy(&program);
	return cubin;
}

static void *cuda_build(struct runner *r, const char *source, char why[ROOF_WHY])
{
	struct cuda *c = own(r);
	void *module = NULL, *function = NULL;
	char *cubin = compile(r, source, why);
	unsigned i = 0;
	bool ok = cubin && check(r, "cuModuleLoadData", cu.module_load(&module, cubin), why);

	free(cubin);
	if (!ok)
		return NULL;
	while (i < MODULES_MOST - 1 && c->modules[i].module)
		i++;
	if (!check(r, "cuModuleGetFunction", cu.module_function(&function, module, "roof"), why)) {
		cu.module_unload(module);
		return NULL;
	}
	c->modules[i].module = module;
	c->modules[i].function = function;
	return function;
}

static void cuda_forget(struct runner *r, void *kernel)
{
	struct cuda *c = own(r);

	for (unsigned i = 0; i < MODULES_MOST; i++)
		if (c->modules[i].module && c->modules[i].function == kernel) {
			cu.module_unload(c->modules[i].module);
			c->modules[i].module = NULL;
			return;
		}
}

static bool enqueue(struct runner *r, const struct runner_launch *l, char why[ROOF_WHY])
{
	struct cuda *c = own(r);
	uint64_t n = l->n;
	uint32_t passes = l->passes;
	void *arguments[] = {&c->buffer[RUNNER_A], &c->buffer[RUNNER_B], &n, &passes};

	return check(r, "cuLaunchKernel",
		     cu.launch(l->kernel, (unsigned)l->groups, 1, 1, (unsigned)l->items, 1, 1, 0,
			       c->stream, arguments, NULL),
		     why);
}

/* What is between the two events took so long. */
static bool begin(struct runner *r, char why[ROOF_WHY])
{
	return check(r, "cuEventRecord", cu.event_record(own(r)->event[0], own(r)->stream), why);
}

static bool end(struct runner *r, uint64_t before, double *seconds, double *host,
		char why[ROOF_WHY])
{
	struct cuda *c = own(r);
	float ms = 0;

	if (!check(r, "cuEventRecord", cu.event_record(c->event[1], c->stream), why) ||
	    !finish(r, why))
		return false;
	*host = (double)(clock_ns(CLOCK_MONOTONIC_RAW) - before) / 1e9;
	if (!check(r, "cuEventElapsedTime", cu.event_elapsed(&ms, c->event[0], c->event[1]), why))
		return false;
	*seconds = runner_seconds(r, (double)ms / 1e3, *host);
	return true;
}

static bool cuda_launch(struct runner *r, const struct runner_launch *l, double *seconds,
			double *host, char why[ROOF_WHY])
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);

	return begin(r, why) && enqueue(r, l, why) && end(r, before, seconds, host, why);
}

static bool cuda_launch_many(struct runner *r, const struct runner_launch *l, unsigned count,
			     double *host, char why[ROOF_WHY])
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);

	for (unsigned i = 0; i < count; i++)
		if (!enqueue(r, l, why))
			return false;
	if (!finish(r, why))
		return false;
	*host = (double)(clock_ns(CLOCK_MONOTONIC_RAW) - before) / 1e9;
	return true;
}

/* ---- transfers ----------------------------------------------------------------------------------- */

static void *cuda_host_new(struct runner *r, bool pinned, uint64_t bytes, char why[ROOF_WHY])
{
	void *memory = NULL;

	if (pinned) {
		if (!check(r, "cuMemHostAlloc", cu.host_allocate(&memory, bytes, 0), why))
			memory = NULL;
	} else {
		memory = malloc(bytes);
		if (!memory)
			snprintf(why, ROOF_WHY, "no memory");
	}
	return memory;
}

static void cuda_host_free(struct runner *r, bool pinned, void *memory)
{
	(void)r;
	if (pinned)
		cu.host_release(memory);
	else
		free(memory);
}

static bool cuda_transfer(struct runner *r, bool to_device, bool pinned, void *memory,
			  uint64_t bytes, double *seconds, char why[ROOF_WHY])
{
	struct cuda *c = own(r);
	uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);
	double host;
	bool ok = begin(r, why);

	(void)pinned;
	if (ok && to_device)
		ok = check(r, "cuMemcpyHtoDAsync",
			   cu.to_device(c->buffer[RUNNER_A], memory, bytes, c->stream), why);
	else if (ok)
		ok = check(r, "cuMemcpyDtoHAsync",
			   cu.to_host(memory, c->buffer[RUNNER_B], bytes, c->stream), why);
	return ok && end(r, before, seconds, &host, why);
}

static const struct runner_functions functions = {
	.open = cuda_open,
	.close = cuda_close,
	.build = cuda_build,
	.forget = cuda_forget,
	.reserve = cuda_reserve,
	.put = cuda_put,
	.get = cuda_get,
	.launch = cuda_launch,
	.launch_many = cuda_launch_many,
	.host_new = cuda_host_new,
	.host_free = cuda_host_free,
	.transfer = cuda_transfer,
};

/* ---- finding ------------------------------------------------------------------------------------- */

static void add_device(int number, struct runner *list, unsigned *count)
{
	struct runner *r = &list[*count];

	*r = (struct runner){.f = &functions, .own = calloc(1, sizeof(struct cuda))};
	if (!r->own)
		return;
	if (cu.device_get(&own(r)->device, number) != 0) {
		free(r->own);
		return;
	}
	describe(r);
	++*count;
}

void cuda_runners(struct runner *list, unsigned *count, char why[ROOF_WHY])
{
	struct runner none = {0};
	int devices = 0;

	if (!load(why) || !check(&none, "cuInit", cu.init(0), why) ||
	    !check(&none, "cuDeviceGetCount", cu.device_count(&devices), why))
		return;
	if (devices <= 0)
		snprintf(why, ROOF_WHY, "the driver has no device");
	for (int i = 0; i < devices && *count < RUNNERS_MOST; i++)
		add_device(i, list, count);
}
