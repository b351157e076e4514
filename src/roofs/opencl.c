/* SPDX-License-Identifier: Apache-2.0 */
/* Runners of OpenCL devices: one queue with profiling, the loader found by its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "base/clock.h"
#include "base/library.h"
#include "roofs/kernels.h"
#include "roofs/runner.h"

/* Of headers that are newer than Debian 12's, and of NVIDIA's extension. */
enum {
	DEVICE_UUID = 0x106A,
	DEVICE_PCI = 0x410F,
	DEVICE_PCI_BUS_NV = 0x4008,
	DEVICE_PCI_SLOT_NV = 0x4009,
	DEVICE_PCI_DOMAIN_NV = 0x400A
};

#define FUNCTIONS(X)                                                                               \
	X(clGetPlatformIDs)                                                                        \
	X(clGetPlatformInfo)                                                                       \
	X(clGetDeviceIDs)                                                                          \
	X(clGetDeviceInfo)                                                                         \
	X(clCreateContext)                                                                         \
	X(clReleaseContext)                                                                        \
	X(clCreateCommandQueue)                                                                    \
	X(clReleaseCommandQueue)                                                                   \
	X(clCreateProgramWithSource)                                                               \
	X(clBuildProgram)                                                                          \
	X(clGetProgramBuildInfo)                                                                   \
	X(clReleaseProgram)                                                                        \
	X(clCreateKernel)                                                                          \
	X(clSetKernelArg)                                                                          \
	X(clReleaseKernel)                                                                         \
	X(clCreateBuffer)                                                                          \
	X(clReleaseMemObject)                                                                      \
	X(clEnqueueNDRangeKernel)                                                                  \
	X(clEnqueueReadBuffer)                                                                     \
	X(clEnqueueWriteBuffer)                                                                    \
	X(clEnqueueMapBuffer)                                                                      \
	X(clEnqueueUnmapMemObject)                                                                 \
	X(clGetEventProfilingInfo)                                                                 \
	X(clReleaseEvent)                                                                          \
	X(clFinish)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} cl;

enum { PINNED_MOST = 4 };

struct opencl {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_mem buffer[RUNNER_BUFFERS];
	struct {
		cl_mem buffer;
		void *memory;
	} pinned[PINNED_MOST];
};

static struct opencl *own(struct runner *r)
{
	return r->own;
}

static bool load(char why[ROOF_WHY])
{
#define ROW(name) LIBRARY_FUNCTION(__typeof__(cl), name, #name),
	static const struct library_function rows[] = {FUNCTIONS(ROW)};
#undef ROW
	static const char *const names[] = {"libOpenCL.so.1", NULL};
	char what[LIBRARY_WHY];

	if (library_find(names, "ocl-icd-libopencl1", rows, sizeof(rows) / sizeof(rows[0]), &cl,
			 what))
		return true;
	snprintf(why, ROOF_WHY, "%.*s", ROOF_WHY - 1, what);
	return false;
}

static bool fail(struct runner *r, const char *call, cl_int error, char why[ROOF_WHY])
{
	static const struct {
		cl_int error;
		const char *name;
	} names[] = {{CL_DEVICE_NOT_AVAILABLE, "the device is not available"},
		     {CL_MEM_OBJECT_ALLOCATION_FAILURE, "no memory on the device"},
		     {CL_OUT_OF_RESOURCES, "out of resources"},
		     {CL_OUT_OF_HOST_MEMORY, "out of memory"},
		     {CL_INVALID_BUFFER_SIZE, "more memory than a buffer may have"},
		     {CL_BUILD_PROGRAM_FAILURE, "it does not build"},
		     {CL_INVALID_WORK_GROUP_SIZE, "the work group is too large for it"}};

	if (error == CL_DEVICE_NOT_AVAILABLE)
		r->dead = true;
	snprintf(why, ROOF_WHY, "%s: error %d", call, error);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error)
			snprintf(why, ROOF_WHY, "%s: %s", call, names[i].name);
	return false;
}

/* ---- what the device tells ----------------------------------------------------------------------- */

static cl_ulong number(cl_device_id d, cl_device_info what)
{
	cl_ulong v = 0; /* smaller answers fill its lower half */

	return cl.clGetDeviceInfo(d, what, sizeof(v), &v, NULL) == CL_SUCCESS ? v : 0;
}

static void device_text(cl_device_id d, cl_device_info what, char *out, size_t room)
{
	char text[512] = "";
	const char *s = text;

	if (cl.clGetDeviceInfo(d, what, sizeof(text) - 1, text, NULL) != CL_SUCCESS)
		text[0] = '\0';
	while (*s == ' ')
		s++;
	snprintf(out, room, "%.*s", (int)room - 1, s);
}

static bool has_extension(cl_device_id d, const char *name)
{
	char text[16384] = "";

	return cl.clGetDeviceInfo(d, CL_DEVICE_EXTENSIONS, sizeof(text) - 1, text, NULL) ==
		       CL_SUCCESS &&
	       strstr(text, name);
}

static void read_address(cl_device_id d, struct roof_device *out)
{
	uint32_t at[4] = {0}; /* domain, bus, device, function */
	uint8_t uuid[16];

	if (has_extension(d, "cl_khr_device_uuid") &&
	    cl.clGetDeviceInfo(d, DEVICE_UUID, sizeof(uuid), uuid, NULL) == CL_SUCCESS)
		for (unsigned i = 0; i < sizeof(uuid); i++)
			snprintf(out->uuid + 2 * i, 3, "%02x", uuid[i]);
	if (has_extension(d, "cl_nv_device_attribute_query")) {
		at[0] = (uint32_t)number(d, DEVICE_PCI_DOMAIN_NV);
		at[1] = (uint32_t)number(d, DEVICE_PCI_BUS_NV);
		at[2] = (uint32_t)number(d, DEVICE_PCI_SLOT_NV) >> 3;
	} else if (!has_extension(d, "cl_khr_pci_bus_info") ||
		   cl.clGetDeviceInfo(d, DEVICE_PCI, sizeof(at), at, NULL) != CL_SUCCESS) {
		return;
	}
	snprintf(out->pci, sizeof(out->pci), "%04x:%02x:%02x.%x", at[0] & 0xffffu, at[1] & 0xffu,
		 at[2] & 0xffu, at[3] & 0xfu);
}

static void read_types(struct runner *r, cl_device_id d)
{
	static const cl_device_info native[RUNNER_TYPES] = {
		[RUNNER_FP64] = CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE,
		[RUNNER_FP32] = CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
		[RUNNER_FP16] = CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF,
		[RUNNER_INT32] = CL_DEVICE_NATIVE_VECTOR_WIDTH_INT};

	r->has[RUNNER_FP64] = number(d, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
	r->has[RUNNER_FP32] = r->has[RUNNER_INT32] = true;
	r->has[RUNNER_FP16] = has_extension(d, "cl_khr_fp16");
	for (unsigned i = 0; i < RUNNER_TYPES; i++)
		r->native[i] = (uint8_t)number(d, native[i]);
}

/* Of processors: two multiply-add units as wide as the vectors it likes, which x86 and ARM servers have had for ten years. */
static void guess_peaks(struct runner *r)
{
	enum { PIPES = 2, MULTIPLY_ADD = 2 };

	if (strcmp(r->device.type, "cpu") != 0)
		return;
	for (unsigned i = RUNNER_FP64; i <= RUNNER_FP32; i++)
		if (r->has[i])
			r->ops_per_clock[i] = r->device.units * r->native[i] * PIPES * MULTIPLY_ADD;
}

static void describe(struct runner *r, const char *platform)
{
	struct roof_device *out = &r->device;
	cl_device_id d = own(r)->device;
	cl_ulong type = number(d, CL_DEVICE_TYPE);

	strcpy(out->api, "opencl");
	strcpy(out->type, type & CL_DEVICE_TYPE_GPU   ? "gpu"
			  : type & CL_DEVICE_TYPE_CPU ? "cpu"
						      : "accelerator");
	snprintf(out->platform, sizeof(out->platform), "%.63s", platform);
	device_text(d, CL_DEVICE_NAME, out->name, sizeof(out->name));
	device_text(d, CL_DEVICE_VENDOR, out->vendor, sizeof(out->vendor));
	device_text(d, CL_DRIVER_VERSION, out->driver, sizeof(out->driver));
	read_address(d, out);
	out->units = (uint32_t)number(d, CL_DEVICE_MAX_COMPUTE_UNITS);
	out->clock_mhz = (uint32_t)number(d, CL_DEVICE_MAX_CLOCK_FREQUENCY);
	out->memory_bytes = number(d, CL_DEVICE_GLOBAL_MEM_SIZE);
	out->cache[2] = number(d, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
	out->local_is_cached = (number(d, CL_DEVICE_LOCAL_MEM_TYPE) & 0xffffffffu) == CL_GLOBAL;
	r->language = RUNNER_OPENCL;
	r->group_most = (uint32_t)number(d, CL_DEVICE_MAX_WORK_GROUP_SIZE);
	r->local_bytes = number(d, CL_DEVICE_LOCAL_MEM_SIZE);
	r->buffer_most = number(d, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
	read_types(r, d);
	guess_peaks(r);
}

/* ---- context, buffers ---------------------------------------------------------------------------- */

static bool opencl_open(struct runner *r, char why[ROOF_WHY])
{
	struct opencl *o = own(r);
	cl_int error;

	o->context = cl.clCreateContext(NULL, 1, &o->device, NULL, NULL, &error);
	if (!o->context) {
		r->dead = true;
		return fail(r, "clCreateContext", error, why);
	}
	o->queue =
		cl.clCreateCommandQueue(o->context, o->device, CL_QUEUE_PROFILING_ENABLE, &error);
	if (!o->queue) {
		r->dead = true;
		return fail(r, "clCreateCommandQueue", error, why);
	}
	return true;
}

static void release_buffers(struct opencl *o)
{
	for (unsigned i = 0; i < RUNNER_BUFFERS; i++) {
		if (o->buffer[i])
			cl.clReleaseMemObject(o->buffer[i]);
		o->buffer[i] = NULL;
	}
}

static void opencl_close(struct runner *r)
{
	struct opencl *o = own(r);

	release_buffers(o);
	if (o->queue)
		cl.clReleaseCommandQueue(o->queue);
	if (o->context)
		cl.clReleaseContext(o->context);
	free(o);
	r->own = NULL;
}

static bool opencl_reserve(struct runner *r, uint64_t bytes, char why[ROOF_WHY])
{
	struct opencl *o = own(r);
	cl_int error;

	release_buffers(o);
	for (unsigned i = 0; i < RUNNER_BUFFERS; i++) {
		o->buffer[i] =
			cl.clCreateBuffer(o->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
		if (!o->buffer[i]) {
			release_buffers(o);
			return fail(r, "clCreateBuffer", error, why);
		}
	}
	return true;
}

static bool opencl_put(struct runner *r, enum runner_buffer to, uint64_t at, const void *from,
		       uint64_t bytes, char why[ROOF_WHY])
{
	struct opencl *o = own(r);
	cl_int error = cl.clEnqueueWriteBuffer(o->queue, o->buffer[to], CL_TRUE, at, bytes, from, 0,
					       NULL, NULL);

	return error == CL_SUCCESS || fail(r, "clEnqueueWriteBuffer", error, why);
}

static bool opencl_get(struct runner *r, enum runner_buffer from, uint64_t at, void *to,
		       uint64_t bytes, char why[ROOF_WHY])
{
	struct opencl *o = own(r);
	cl_int error = cl.clEnqueueReadBuffer(o->queue, o->buffer[from], CL_TRUE, at, bytes, to, 0,
					      NULL, NULL);

	return error == CL_SUCCESS || fail(r, "clEnqueueReadBuffer", error, why);
}

/* ---- kernels ------------------------------------------------------------------------------------- */

/* The first line of the compiler's log that tells something. */
static void build_failed(struct runner *r, cl_program program, cl_int error, char why[ROOF_WHY])
{
	char log[4096] = "", *line, *rest = log;

	fail(r, "clBuildProgram", error, why);
	cl.clGetProgramBuildInfo(program, own(r)->device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1,
				 log, NULL);
	while ((line = strsep(&rest, "\n")))
		if (strstr(line, "error")) {
			snprintf(why, ROOF_WHY, "it does not build: %.200s", line);
			return;
		}
}

static void *opencl_build(struct runner *r, const char *source, char why[ROOF_WHY])
{
	struct opencl *o = own(r);
	cl_int error;
	cl_program program = cl.clCreateProgramWithSource(o->context, 1, &source, NULL, &error);
	cl_kernel kernel;

	if (!program) {
		fail(r, "clCreateProgramWithSource", error, why);
		return NULL;
	}
	error = cl.clBuildProgram(program, 1, &o->device, "-cl-mad-enable", NULL, NULL);
	if (error != CL_SUCCESS) {
		build_failed(r, program, error, why);
		cl.clReleaseProgram(program);
		return NULL;
	}
	kernel = cl.clCreateKernel(program, "roof", &error);
	cl.clReleaseProgram(program); /* the kernel keeps it */
	if (!kernel)
		fail(r, "clCreateKernel", error, why);
	return kernel;
}

static void opencl_forget(struct runner *r, void *kernel)
{
	(void)r;
	cl.clReleaseKernel(kernel);
}

static bool enqueue(struct runner *r, const struct runner_launch *l, cl_event *event,
		    char why[ROOF_WHY])
{
	struct opencl *o = own(r);
	size_t global = l->groups * l->items, local = l->items;
	cl_ulong n = l->n;
	cl_uint passes = l->passes;
	cl_int error = cl.clSetKernelArg(l->kernel, 0, sizeof(cl_mem), &o->buffer[RUNNER_A]);

	if (error == CL_SUCCESS)
		error = cl.clSetKernelArg(l->kernel, 1, sizeof(cl_mem), &o->buffer[RUNNER_B]);
	if (error == CL_SUCCESS)
		error = cl.clSetKernelArg(l->kernel, 2, sizeof(n), &n);
	if (error == CL_SUCCESS)
		error = cl.clSetKernelArg(l->kernel, 3, sizeof(passes), &passes);
	if (error != CL_SUCCESS)
		return fail(r, "clSetKernelArg", error, why);
	error = cl.clEnqueueNDRangeKernel(o->queue, l->kernel, 1, NULL, &global, &local, 0, NULL,
					  event);
	return error == CL_SUCCESS || fail(r, "clEnqueueNDRangeKernel", error, why);
}

static bool finish(struct runner *r, char why[ROOF_WHY])
{
	cl_int error = cl.clFinish(own(r)->queue);

	return error == CL_SUCCESS || fail(r, "clFinish", error, why);
}

static double event_seconds(cl_event event)
{
	cl_ulong start = 0, end = 0;

	if (cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start,
				       NULL) != CL_SUCCESS ||
	    cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL) !=
		    CL_SUCCESS)
		return 0;
	return end > start ? (double)(end - start) / 1e9 : 0;
}

static bool timed(struct runner *r, cl_event event, uint64_t before, double *seconds, double *host,
		  char why[ROOF_WHY])
{
	bool ok = finish(r, why);

	*host = (double)(clock_ns(CLOCK_MONOTONIC_RAW) - before) / 1e9;
	*seconds = runner_seconds(r, ok ? event_seconds(event) : 0, *host);
	cl.clReleaseEvent(event);
	return ok;
}

static bool opencl_launch(struct runner *r, const struct runner_launch *l, double *seconds,
			  double *host, char why[ROOF_WHY])
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);
	cl_event event;

	return enqueue(r, l, &event, why) && timed(r, event, before, seconds, host, why);
}

static bool opencl_launch_many(struct runner *r, const struct runner_launch *l, unsigned count,
			       double *host, char why[ROOF_WHY])
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);

	for (unsigned i = 0; i < count; i++)
		if (!enqueue(r, l, NULL, why))
			return false;
	if (!finish(r, why))
		return false;
	*host = (double)(clock_ns(CLOCK_MONOTONIC_RAW) - before) / 1e9;
	return true;
}

/* ---- transfers ----------------------------------------------------------------------------------- */

/* Pinned memory is what the runtime allocates for the host and maps. */
static void *pinned_new(struct runner *r, uint64_t bytes, char why[ROOF_WHY])
{
	struct opencl *o = own(r);
	unsigned i = 0;
	cl_mem buffer;
	cl_int error;

	while (i < PINNED_MOST - 1 && o->pinned[i].memory)
		i++;
	buffer = cl.clCreateBuffer(o->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
				   NULL, &error);
	if (!buffer) {
		fail(r, "clCreateBuffer", error, why);
		return NULL;
	}
	o->pinned[i].buffer = buffer;
	o->pinned[i].memory =
		cl.clEnqueueMapBuffer(o->queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
				      bytes, 0, NULL, NULL, &error);
	if (!o->pinned[i].memory) {
		fail(r, "clEnqueueMapBuffer", error, why);
		cl.clReleaseMemObject(buffer);
	}
	return o->pinned[i].memory;
}

static void *opencl_host_new(struct runner *r, bool pinned, uint64_t bytes, char why[ROOF_WHY])
{
	void *memory = pinned ? pinned_new(r, bytes, why) : malloc(bytes);

	if (!memory && !pinned)
		snprintf(why, ROOF_WHY, "no memory");
	return memory;
}

static void opencl_host_free(struct runner *r, bool pinned, void *memory)
{
	struct opencl *o = own(r);

	if (!pinned)
		free(memory);
	for (unsigned i = 0; pinned && i < PINNED_MOST; i++) {
		if (o->pinned[i].memory != memory)
			continue;
		cl.clEnqueueUnmapMemObject(o->queue, o->pinned[i].buffer, memory, 0, NULL, NULL);
		cl.clFinish(o->queue);
		cl.clReleaseMemObject(o->pinned[i].buffer);
		o->pinned[i].memory = NULL;
		return;
	}
}

static bool opencl_transfer(struct runner *r, bool to_device, bool pinned, void *memory,
			    uint64_t bytes, double *seconds, char why[ROOF_WHY])
{
	struct opencl *o = own(r);
	cl_mem buffer = o->buffer[to_device ? RUNNER_A : RUNNER_B];
	uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);
	double host;
	cl_event event;
	cl_int error = to_device ? cl.clEnqueueWriteBuffer(o->queue, buffer, CL_TRUE, 0, bytes,
							   memory, 0, NULL, &event)
				 : cl.clEnqueueReadBuffer(o->queue, buffer, CL_TRUE, 0, bytes,
							  memory, 0, NULL, &event);

	(void)pinned;
	if (error != CL_SUCCESS)
		return fail(r, to_device ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", error,
			    why);
	return timed(r, event, before, seconds, &host, why);
}

static const struct runner_functions functions = {
	.open = opencl_open,
	.close = opencl_close,
	.build = opencl_build,
	.forget = opencl_forget,
	.reserve = opencl_reserve,
	.put = opencl_put,
	.get = opencl_get,
	.launch = opencl_launch,
	.launch_many = opencl_launch_many,
	.host_new = opencl_host_new,
	.host_free = opencl_host_free,
	.transfer = opencl_transfer,
};

/* ---- finding ------------------------------------------------------------------------------------- */

static void add_devices(cl_platform_id platform, struct runner *list, unsigned *count)
{
	cl_device_id devices[RUNNERS_MOST];
	char name[128] = "";
	cl_uint n = 0;

	cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, RUNNERS_MOST, devices, &n) !=
	    CL_SUCCESS)
		return;
	for (cl_uint i = 0; i < n && i < RUNNERS_MOST && *count < RUNNERS_MOST; i++) {
		struct runner *r = &list[*count];

		*r = (struct runner){.f = &functions, .own = calloc(1, sizeof(struct opencl))};
		if (!r->own)
			return;
		own(r)->device = devices[i];
		describe(r, name);
		++*count;
	}
}

void opencl_runners(struct runner *list, unsigned *count, char why[ROOF_WHY])
{
	cl_platform_id platforms[RUNNERS_MOST];
	unsigned before = *count;
	cl_uint n = 0;

	if (!load(why))
		return;
	if (cl.clGetPlatformIDs(RUNNERS_MOST, platforms, &n) != CL_SUCCESS)
		n = 0;
	for (cl_uint i = 0; i < n && i < RUNNERS_MOST; i++)
		add_devices(platforms[i], list, count);
	if (*count == before)
		snprintf(why, ROOF_WHY,
			 "there is %s (clinfo shows what there is; Debian: pocl-opencl-icd for "
			 "processors)",
			 n ? "a platform, but no device" : "no platform");
}
