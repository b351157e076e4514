/* SPDX-License-Identifier: Apache-2.0 */
/* Devices as agents, with their properties, and contexts: both defined when first seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "capture/opencl/instrument.h"
#include "capture/opencl/queue.h"
#include "topology/topology.h"

#include "opencl_hooks.h"

#define TEXT_MAX    16384u /* extensions of the richest devices take about 3 KiB */
#define DEVICES_MAX 64u

#ifndef CL_DEVICE_UUID_KHR
#define CL_DEVICE_UUID_KHR 0x106A
#endif
#ifndef CL_UUID_SIZE_KHR
#define CL_UUID_SIZE_KHR 16
#endif
#ifndef CL_DEVICE_PCI_BUS_INFO_KHR
#define CL_DEVICE_PCI_BUS_INFO_KHR 0x410F
#endif

/* As cl_khr_pci_bus_info has it; headers before 2021 lack it. */
struct pci_info {
	cl_uint domain, bus, device, function;
};

/* ---- asking ---- */

/* A string property of a device, "" if there is none. `size` includes the terminator. */
static const char *device_text(cl_device_id device, cl_device_info what, char *text, size_t size)
{
	if (ocl_next.clGetDeviceInfo(device, what, size - 1, text, NULL) != CL_SUCCESS)
		text[0] = '\0';
	text[size - 1] = '\0';
	return text;
}

/* A number of 1 to 8 bytes; 0 if there is none. */
static uint64_t device_number(cl_device_id device, cl_device_info what)
{
	uint64_t value = 0;

	if (ocl_next.clGetDeviceInfo(device, what, sizeof(value), &value, NULL) != CL_SUCCESS)
		return 0;
	return value;
}

static const char *type_name(uint64_t type)
{
	if (type & CL_DEVICE_TYPE_GPU)
		return "gpu";
	if (type & CL_DEVICE_TYPE_CPU)
		return "cpu";
	return type & CL_DEVICE_TYPE_CUSTOM ? "custom" : "accelerator";
}

/* ---- properties ---- */

static const struct {
	char key[28];
	cl_device_info what;
} numbers[] = {
	{"compute_units", CL_DEVICE_MAX_COMPUTE_UNITS},
	{"clock_mhz", CL_DEVICE_MAX_CLOCK_FREQUENCY},
	{"global_memory_bytes", CL_DEVICE_GLOBAL_MEM_SIZE},
	{"global_cache_bytes", CL_DEVICE_GLOBAL_MEM_CACHE_SIZE},
	{"global_cache_line_bytes", CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE},
	{"local_memory_bytes", CL_DEVICE_LOCAL_MEM_SIZE},
	{"constant_memory_bytes", CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE},
	{"largest_allocation_bytes", CL_DEVICE_MAX_MEM_ALLOC_SIZE},
	{"work_group_size", CL_DEVICE_MAX_WORK_GROUP_SIZE},
	{"address_bits", CL_DEVICE_ADDRESS_BITS},
	{"host_unified_memory", CL_DEVICE_HOST_UNIFIED_MEMORY},
	{"image_support", CL_DEVICE_IMAGE_SUPPORT},
	{"timer_resolution_ns", CL_DEVICE_PROFILING_TIMER_RESOLUTION},
	{"vendor_id", CL_DEVICE_VENDOR_ID},
	{"svm_capabilities", CL_DEVICE_SVM_CAPABILITIES},
	{"sub_devices", CL_DEVICE_PARTITION_MAX_SUB_DEVICES},
};

static const struct {
	char key[28];
	cl_device_info what;
} texts[] = {
	{"version", CL_DEVICE_VERSION},
	{"c_version", CL_DEVICE_OPENCL_C_VERSION},
	{"profile", CL_DEVICE_PROFILE},
	{"extensions", CL_DEVICE_EXTENSIONS},
};

/* False: the platform does not tell, or what it tells is no address. */
static bool pci_address(cl_device_id device, char *scratch, struct pci_info *out)
{
	return strstr(device_text(device, CL_DEVICE_EXTENSIONS, scratch, TEXT_MAX),
		      "cl_khr_pci_bus_info") &&
	       ocl_next.clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(*out), out,
					NULL) == CL_SUCCESS &&
	       out->bus < 256 && out->device < 32 && out->function < 8;
}

static void put_properties(cl_device_id device, const struct pci_info *pci, struct text *out,
			   char *scratch)
{
	struct json j = {.out = out, .compact = true};
	char address[32];

	json_open(&j, '{');
	if (pci) {
		snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", pci->domain, pci->bus,
			 pci->device, pci->function);
		json_name(&j, "pci");
		json_add_string(&j, address);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		json_name(&j, numbers[i].key);
		json_add_unsigned(&j, device_number(device, numbers[i].what));
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_name(&j, texts[i].key);
		json_add_string(&j, device_text(device, texts[i].what, scratch, TEXT_MAX));
	}
	json_close(&j);
}

/* ---- agents ---- */

static size_t uuid(cl_device_id device, char *scratch, uint8_t *out)
{
	if (!strstr(device_text(device, CL_DEVICE_EXTENSIONS, scratch, TEXT_MAX),
		    "cl_khr_device_uuid") ||
	    ocl_next.clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, CL_UUID_SIZE_KHR, out, NULL) !=
		    CL_SUCCESS)
		return 0;
	return CL_UUID_SIZE_KHR;
}

static void platform_name(cl_device_id device, char *name, size_t size)
{
	cl_platform_id platform = NULL;

	name[0] = '\0';
	if (ocl_next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform,
				     NULL) == CL_SUCCESS &&
	    platform)
		ocl_next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, size - 1, name, NULL);
	name[size - 1] = '\0';
}

static kymo_agent_type_t agent_type(uint64_t type)
{
	if (type & CL_DEVICE_TYPE_GPU)
		return KYMO_AGENT_GPU;
	if (type & CL_DEVICE_TYPE_CPU)
		return KYMO_AGENT_CPU;
	return type & CL_DEVICE_TYPE_CUSTOM ? KYMO_AGENT_OTHER : KYMO_AGENT_ACCELERATOR;
}

/* Place of the device among those of its platform; -1: not told. */
static int64_t ordinal(cl_device_id device)
{
	cl_device_id all[DEVICES_MAX];
	cl_platform_id platform = NULL;
	cl_uint n = 0;

	if (!ocl_next.clGetDeviceIDs ||
	    ocl_next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform,
				     NULL) != CL_SUCCESS ||
	    ocl_next.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, all, &n) !=
		    CL_SUCCESS)
		return -1;
	for (cl_uint i = 0; i < n && i < DEVICES_MAX; i++)
		if (all[i] == device)
			return i;
	return -1;
}

/* Adds what only OpenCL's queries tell, and tells the agents of the machine. */
static void agent_report(const struct ocl_device *a, struct core_agent_report *r,
			 const struct pci_info *pci)
{
	cl_device_id device = (cl_device_id)a->object.handle;

	r->type = agent_type(device_number(device, CL_DEVICE_TYPE));
	r->domain = "opencl";
	r->handle = (uintptr_t)device;
	r->record = a->object.id;
	r->ordinal = ordinal(device);
	r->memory_bytes = device_number(device, CL_DEVICE_GLOBAL_MEM_SIZE);
	r->compute_units = (uint32_t)device_number(device, CL_DEVICE_MAX_COMPUTE_UNITS);
	r->clock_max_hz = device_number(device, CL_DEVICE_MAX_CLOCK_FREQUENCY) * 1000000;
	if (pci) {
		r->pci_domain = pci->domain;
		r->pci_bus = (uint8_t)pci->bus;
		r->pci_device = (uint8_t)pci->device;
		r->pci_function = (uint8_t)pci->function;
	}
	core_agent_report(r, NULL);
}

static void agent_define(const struct ocl_device *a, uint32_t parent, const char *name)
{
	struct core_agent_report r = CORE_AGENT_REPORT_INIT;
	struct pci_info pci_info, *pci;
	cl_device_id device = (cl_device_id)a->object.handle;
	char vendor[256], driver[256], platform[256];
	char *scratch = malloc(TEXT_MAX);
	struct text properties = {0};
	uint8_t id[CL_UUID_SIZE_KHR];
	struct wire_def d;

	if (scratch) {
		pci = pci_address(device, scratch, &pci_info) ? &pci_info : NULL;
		put_properties(device, pci, &properties, scratch);
		platform_name(device, platform, sizeof(platform));
		wire_def_init(&d, DEF_AGENT);
		wire_def_u64(&d, a->object.id);
		wire_def_string(&d, type_name(device_number(device, CL_DEVICE_TYPE)));
		wire_def_string(&d, name);
		wire_def_string(&d, device_text(device, CL_DEVICE_VENDOR, vendor, sizeof(vendor)));
		wire_def_string(&d, device_text(device, CL_DRIVER_VERSION, driver, sizeof(driver)));
		wire_def_string(&d, "opencl");
		wire_def_u64(&d, (uintptr_t)device);
		wire_def_u64(&d, parent);
		wire_def_bytes(&d, properties.s, properties.failed ? 0 : properties.length);
		wire_def_u64(&d, ocl_clock_id(a->clock));
		r.uuid_bytes = uuid(device, scratch, id);
		wire_def_bytes(&d, id, r.uuid_bytes);
		wire_def_string(&d, platform);
		cap_define(&d);
		r.uuid = id;
		r.name = name;
		r.vendor = vendor;
		r.platform = platform;
		r.parent_record = parent;
		agent_report(a, &r, pci);
	}
	free(scratch);
	text_release(&properties);
}

static cl_device_id parent_of(cl_device_id device)
{
	cl_device_id parent = NULL;

	if (ocl_next.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent,
				     NULL) != CL_SUCCESS)
		return NULL;
	return parent;
}

/*
 * Whether a command buffer cannot be made for a queue with profiling: then a program whose queue
 * got it from us could make none.
 */
static bool buffers_need_plain_queues(cl_device_id device)
{
	cl_command_queue_properties supported = 0;

	return ocl_next.clGetDeviceInfo(device,
					CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR,
					sizeof(supported), &supported, NULL) == CL_SUCCESS &&
	       !(supported & CL_QUEUE_PROFILING_ENABLE);
}

static struct ocl_device *device_learn(cl_device_id device)
{
	cl_device_id parent = parent_of(device);
	struct ocl_device *up = parent ? ocl_device_get(parent) : NULL, *a, *old;
	char name[256];

	a = ocl_object_new(OCL_DEVICE);
	if (!a)
		return NULL;
	device_text(device, CL_DEVICE_NAME, name, sizeof(name));
	a->object.handle = device;
	a->object.id = cap_new_id(DEF_AGENT);
	a->sub = up != NULL;
	a->leave_queues = buffers_need_plain_queues(device);
	a->processor = (device_number(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
	a->clock = up ? up->clock : ocl_clock_new(device, name);
	agent_define(a, up ? up->object.id : 0, name);
	old = (struct ocl_device *)ocl_insert(OCL_DEVICE, &a->object, false);
	return old ? old : a;
}

struct ocl_device *ocl_device_get(cl_device_id device)
{
	static pthread_mutex_t learning = PTHREAD_MUTEX_INITIALIZER;
	struct ocl_device *a = (struct ocl_device *)ocl_find(OCL_DEVICE, device);
	cl_device_type type;

	if (a || !device ||
	    ocl_next.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL) !=
		    CL_SUCCESS)
		return a;
	if (parent_of(device))
		ocl_device_get(parent_of(device));
	pthread_mutex_lock(&learning);
	a = (struct ocl_device *)ocl_find(OCL_DEVICE, device);
	if (!a)
		a = device_learn(device);
	pthread_mutex_unlock(&learning);
	return a;
}

void ocl_post_clGetDeviceIDs(struct cap_frame *f, cl_platform_id platform,
			     cl_device_type device_type, cl_uint num_entries, cl_device_id *devices,
			     cl_uint *num_devices, cl_int result)
{
	cl_uint n = num_devices ? *num_devices : num_entries;

	if (result != CL_SUCCESS || !devices)
		return;
	for (cl_uint i = 0; i < n && i < num_entries; i++)
		ocl_device_get(devices[i]);
}

/* ---- sub-devices: the only ones that are counted ---- */

static void sub_devices_created(cl_device_id *devices, cl_uint room, const cl_uint *count)
{
	cl_uint n = count ? *count : room;

	for (cl_uint i = 0; devices && i < n && i < room; i++) {
		struct ocl_object *stale = ocl_find(OCL_DEVICE, devices[i]);

		if (stale) { /* its end was missed */
			atomic_store(&stale->refs, 1);
			ocl_object_free(OCL_DEVICE, ocl_release(OCL_DEVICE, devices[i]));
		}
		ocl_device_get(devices[i]);
	}
}

void ocl_post_clCreateSubDevices(struct cap_frame *f, cl_device_id in_device,
				 const cl_device_partition_property *properties,
				 cl_uint num_devices, cl_device_id *out_devices,
				 cl_uint *num_devices_ret, cl_int result)
{
	if (result == CL_SUCCESS)
		sub_devices_created(out_devices, num_devices, num_devices_ret);
}

void ocl_post_clCreateSubDevicesEXT(struct cap_frame *f, cl_device_id in_device,
				    const cl_device_partition_property_ext *properties,
				    cl_uint num_entries, cl_device_id *out_devices,
				    cl_uint *num_devices, cl_int result)
{
	if (result == CL_SUCCESS)
		sub_devices_created(out_devices, num_entries, num_devices);
}

static void device_retain(cl_device_id device)
{
	struct ocl_device *a = (struct ocl_device *)ocl_find(OCL_DEVICE, device);

	if (a && a->sub)
		ocl_retain(OCL_DEVICE, device);
}

static void device_release(cl_device_id device)
{
	struct ocl_device *a = (struct ocl_device *)ocl_find(OCL_DEVICE, device);

	struct ocl_object *last = a && a->sub ? ocl_release(OCL_DEVICE, device) : NULL;

	if (last)
		core_agent_retire("opencl", (uintptr_t)device);
	ocl_object_free(OCL_DEVICE, last);
}

void ocl_pre_clRetainDevice(struct cap_frame *f, cl_device_id device)
{
	device_retain(device);
}

void ocl_pre_clReleaseDevice(struct cap_frame *f, cl_device_id device)
{
	device_release(device);
}

void ocl_pre_clRetainDeviceEXT(struct cap_frame *f, cl_device_id device)
{
	device_retain(device);
}

void ocl_pre_clReleaseDeviceEXT(struct cap_frame *f, cl_device_id device)
{
	device_release(device);
}

/* ---- contexts ---- */

static void context_define(struct ocl_context *c)
{
	cl_context context = (cl_context)c->object.handle;
	cl_device_id devices[DEVICES_MAX];
	uint64_t agents[DEVICES_MAX];
	size_t bytes = 0, n = 0;
	struct wire_def d;

	if (ocl_next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices,
				      &bytes) != CL_SUCCESS)
		bytes = 0;
	for (size_t i = 0; i < bytes / sizeof(devices[0]) && i < DEVICES_MAX; i++) {
		struct ocl_device *a = ocl_device_get(devices[i]);

		if (a)
			agents[n++] = a->object.id;
	}
	c->agent = n == 1 ? (uint32_t)agents[0] : 0;
	wire_def_init(&d, DEF_DEVICE_CONTEXT);
	wire_def_u64(&d, c->object.id);
	wire_def_string(&d, "opencl");
	wire_def_u64(&d, (uintptr_t)context);
	wire_def_bytes(&d, agents, n * sizeof(agents[0]));
	wire_def_u64(&d, tick_now());
	cap_define(&d);
}

static struct ocl_context *context_new(cl_context context, bool replace)
{
	struct ocl_context *c = ocl_object_new(OCL_CONTEXT), *old;

	if (!c)
		return NULL;
	c->object.handle = context;
	c->object.id = cap_new_id(DEF_DEVICE_CONTEXT);
	context_define(c);
	old = (struct ocl_context *)ocl_insert(OCL_CONTEXT, &c->object, replace);
	if (old && replace)
		ocl_object_free(OCL_CONTEXT, &old->object);
	return old && !replace ? old : c;
}

struct ocl_context *ocl_context_get(cl_context context)
{
	struct ocl_context *c = (struct ocl_context *)ocl_find(OCL_CONTEXT, context);

	return c || !context ? c : context_new(context, false);
}

void ocl_post_clCreateContext(struct cap_frame *f, const cl_context_properties *properties,
			      cl_uint num_devices, const cl_device_id *devices,
			      void (*pfn_notify)(const char *errinfo, const void *private_info,
						 size_t cb, void *user_data),
			      void *user_data, cl_int *errcode_ret, cl_context result)
{
	if (result)
		context_new(result, true);
}

void ocl_post_clCreateContextFromType(struct cap_frame *f, const cl_context_properties *properties,
				      cl_device_type device_type,
				      void (*pfn_notify)(const char *errinfo,
							 const void *private_info, size_t cb,
							 void *user_data),
				      void *user_data, cl_int *errcode_ret, cl_context result)
{
	if (result)
		context_new(result, true);
}

void ocl_pre_clRetainContext(struct cap_frame *f, cl_context context)
{
	ocl_retain(OCL_CONTEXT, context);
}

/* Our references to events of its queues must not keep it longer than the program does. */
void ocl_pre_clReleaseContext(struct cap_frame *f, cl_context context)
{
	ocl_collect_all(context);
	if (ocl_is_last(OCL_CONTEXT, context))
		ocl_twins_release(context);
	ocl_object_free(OCL_CONTEXT, ocl_release(OCL_CONTEXT, context));
}
