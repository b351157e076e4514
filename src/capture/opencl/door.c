/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door: a loader's layer (OPENCL_LAYERS), for ocl-icd and the Khronos loader alike. The preload
 * library comes through the same functions where the loader knows no layers. The first who comes is
 * traced; whoever comes later gets the table back that it brought, so that no call is seen twice.
 */
#include "capture/opencl/answer.h"
#include "capture/opencl/door.h"

#include <string.h>

#include "capture/opencl/backend.h"
#include "capture/opencl/count.h"
#include "capture/opencl/instrument.h"
#include "capture/opencl/memory.h"
#include "capture/opencl/program.h"
#include "capture/opencl/queue.h"
#include "capture/opencl/table.h"

#define EXPORT   __attribute__((visibility("default")))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

cl_icd_dispatch ocl_next;
uint64_t ocl_ticks_10ms;

static cl_icd_dispatch ours;
static struct cap_domain *domain;
static _Atomic bool open_door;

/* This thread probes the loader: 1, and 2 once it is guarded. */
static _Thread_local int probing;

struct cap_domain *ocl_domain(void)
{
	return domain;
}

void ocl_mask(unsigned op)
{
	if (domain && !atomic_load_explicit(&ocl_ops[op].keep, memory_order_relaxed))
		cap_require_wrapper(domain, op, true);
}

/* ---- what is kept though nobody records it ---- */

/*
 * The beginning and end of objects are followed always: a handle whose reuse was not seen would give later
 * work a wrong name. So is what is recorded into command buffers, which may run much later, and which user
 * events wait for the program (count.c).
 */
static const uint16_t lifetime_ops[] = {
	OCL_OP_clCreateSubDevices,
	OCL_OP_clCreateSubDevicesEXT,
	OCL_OP_clRetainDevice,
	OCL_OP_clReleaseDevice,
	OCL_OP_clRetainDeviceEXT,
	OCL_OP_clReleaseDeviceEXT,
	OCL_OP_clGetDeviceIDs,
	OCL_OP_clCreateContext,
	OCL_OP_clCreateContextFromType,
	OCL_OP_clRetainContext,
	OCL_OP_clReleaseContext,
	OCL_OP_clCreateCommandQueue,
	OCL_OP_clCreateCommandQueueWithProperties,
	OCL_OP_clCreateCommandQueueWithPropertiesKHR,
	OCL_OP_clRetainCommandQueue,
	OCL_OP_clReleaseCommandQueue,
	OCL_OP_clCreateProgramWithSource,
	OCL_OP_clCreateProgramWithBinary,
	OCL_OP_clCreateProgramWithIL,
	OCL_OP_clCreateProgramWithILKHR,
	OCL_OP_clCreateProgramWithBuiltInKernels,
	OCL_OP_clLinkProgram,
	OCL_OP_clRetainProgram,
	OCL_OP_clReleaseProgram,
	OCL_OP_clCreateKernel,
	OCL_OP_clCreateKernelsInProgram,
	OCL_OP_clCloneKernel,
	OCL_OP_clRetainKernel,
	OCL_OP_clReleaseKernel,
	OCL_OP_clRetainMemObject,
	OCL_OP_clReleaseMemObject,
	OCL_OP_clEnqueueSVMFree,
	OCL_OP_clEnqueueSVMFreeARM,
	OCL_OP_clCreateUserEvent,
	OCL_OP_clSetUserEventStatus,
	OCL_OP_clCreateCommandBufferKHR,
	OCL_OP_clRetainCommandBufferKHR,
	OCL_OP_clReleaseCommandBufferKHR,
	OCL_OP_clRemapCommandBufferKHR,
	OCL_OP_clUpdateMutableCommandsKHR,
	OCL_OP_clCommandNDRangeKernelKHR,
	OCL_OP_clCommandCopyBufferKHR,
	OCL_OP_clCommandCopyBufferRectKHR,
	OCL_OP_clCommandCopyBufferToImageKHR,
	OCL_OP_clCommandCopyImageKHR,
	OCL_OP_clCommandCopyImageToBufferKHR,
	OCL_OP_clCommandFillBufferKHR,
	OCL_OP_clCommandFillImageKHR,
	OCL_OP_clCommandSVMMemcpyKHR,
	OCL_OP_clCommandSVMMemFillKHR,
};

/* Where device work is submitted, or may be collected. */
static const uint16_t collect_ops[] = {
	OCL_OP_clFlush,
	OCL_OP_clGetEventInfo,
	OCL_OP_clSetEventCallback,
};

static void keep_lives(void)
{
	for (size_t i = 0; i < COUNT(lifetime_ops); i++)
		cap_require_wrapper(domain, lifetime_ops[i], true);
	for (unsigned op = 0; op < OCL_OP_COUNT; op++)
		if (packed_op(OCL_PACKED, op)->flags & KYMO_OP_ALLOCATES)
			cap_require_wrapper(domain, op, true);
}

static void wanted(uint32_t activities)
{
	const bool work =
		(activities & (OCL_DEVICE_WORK | CAP_ACTIVITY_SYNC)) != 0 || cap_counts_kernels();

	if (!domain)
		return;
	for (unsigned op = 0; op < OCL_OP_COUNT; op++)
		if (packed_op(OCL_PACKED, op)->flags & (KYMO_OP_SUBMITS | KYMO_OP_WAITS) &&
		    op != OCL_OP_clEnqueueSVMFree && op != OCL_OP_clEnqueueSVMFreeARM &&
		    !(packed_op(OCL_PACKED, op)->flags & KYMO_OP_ALLOCATES))
			cap_require_wrapper(domain, op, work);
	for (size_t i = 0; i < COUNT(collect_ops); i++)
		cap_require_wrapper(domain, collect_ops[i], work);
	if (cap_counts_kernels())
		ocl_count_begin();
	cap_require_wrapper(domain, OCL_OP_clBuildProgram,
			    (activities & CAP_ACTIVITY_CODE_OBJECT) != 0);
	cap_require_wrapper(domain, OCL_OP_clCompileProgram,
			    (activities & CAP_ACTIVITY_CODE_OBJECT) != 0);
	/* Nobody will look at what is pending any more: let go of what can be let go. */
	if (!(activities & OCL_DEVICE_WORK) && !atomic_load(&ocl_ended))
		ocl_collect_all(NULL);
}

static void flush(uint64_t deadline)
{
	ocl_collect_flush(deadline);
	ocl_clocks_flush(false);
	ocl_instrument_tell();
}

static void fork_child(void)
{
	ocl_collect_fork_child();
	ocl_objects_fork_child();
	ocl_memory_fork_child();
	ocl_programs_fork_child();
	ocl_clocks_fork_child();
	ocl_count_fork_child();
	ocl_twins_fork_child();
	ocl_instrument_fork_child();
}

static const struct cap_domain_info info = {
	.packed = OCL_PACKED,
	.answers = &ocl_answers,
	.encode = ocl_encode,
	.ops = ocl_ops,
	.slots = ocl_slots,
	.slot_count = OCL_LINKS,
	.wanted = wanted,
	.flush = flush,
	.late = true,
	.fork_child = fork_child,
};

/* ---- the layer interface ---- */

/* Answers a query about the layer as OpenCL's queries go. */
static cl_int answer(const void *value, size_t size, size_t room, void *out, size_t *size_ret)
{
	if (out && room < size)
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, value, size);
	if (size_ret)
		*size_ret = size;
	return CL_SUCCESS;
}

/* A guard can only be set once core is there. */
static void probe_guard(void)
{
	if (probing == 1) {
		cap_guard_enter();
		probing = 2;
	}
}

static void probe_set(bool on)
{
	if (probing == 2)
		cap_guard_leave();
	probing = on;
	if (on && atomic_load(&open_door))
		probe_guard();
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, size_t param_value_size,
					 void *param_value, size_t *param_value_size_ret)
{
	static const char name[] = "kymo";
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const cl_bool open = atomic_load(&open_door);

	if (param_name == OCL_LAYER_PROBE_BEGIN || param_name == OCL_LAYER_PROBE_END)
		probe_set(param_name == OCL_LAYER_PROBE_BEGIN);
	switch (param_name) {
	case CL_LAYER_API_VERSION:
		return answer(&version, sizeof(version), param_value_size, param_value,
			      param_value_size_ret);
	case CL_LAYER_NAME:
		return answer(name, sizeof(name), param_value_size, param_value,
			      param_value_size_ret);
	case OCL_LAYER_PROBE_BEGIN:
	case OCL_LAYER_PROBE_END:
		return answer(&open, sizeof(open), param_value_size, param_value,
			      param_value_size_ret);
	default:
		return CL_INVALID_VALUE;
	}
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
				      cl_uint *num_entries_ret,
				      const cl_icd_dispatch **layer_dispatch_ret)
{
	const size_t known = sizeof(cl_icd_dispatch) / sizeof(void *);
	const cl_uint entries = num_entries < known ? num_entries : (cl_uint)known;

	if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
		return CL_INVALID_VALUE;
	*num_entries_ret = entries;
	if (atomic_exchange(&open_door, true)) {
		cap_note(1, "opencl", "a second OpenCL loader of this process is not traced");
		*num_entries_ret = num_entries;
		*layer_dispatch_ret = target_dispatch;
		return CL_SUCCESS;
	}
	tick_init();
	ocl_ticks_10ms = tick_rate() / 100;
	memcpy(&ocl_next, target_dispatch, entries * sizeof(void *));
	ocl_table_install(&ours, target_dispatch, entries);
	*layer_dispatch_ret = &ours;
	if (cap_domain_register(&info, &domain) == KYMO_OK) {
		ocl_table_attach(domain);
		keep_lives();
		wanted(atomic_load(&cap_activities));
		probe_guard();
		ocl_table_announce();
	}
	return CL_SUCCESS;
}

/*
 * The same door in loaders since 2025, which end their layers before they unload the runtimes.
 * Declared here because older headers lack them (cl_layer.h of the OpenCL headers).
 */
EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries,
						    const cl_icd_dispatch *target_dispatch,
						    cl_uint *num_entries_ret,
						    const cl_icd_dispatch **layer_dispatch_ret,
						    const uint64_t *properties);
EXPORT cl_int CL_API_CALL clDeinitLayer(void);

EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries,
						    const cl_icd_dispatch *target_dispatch,
						    cl_uint *num_entries_ret,
						    const cl_icd_dispatch **layer_dispatch_ret,
						    const uint64_t *properties)
{
	return clInitLayer(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret);
}

/* The runtimes are still there, and will not be after this. */
EXPORT cl_int CL_API_CALL clDeinitLayer(void)
{
	ocl_collect_end();
	return CL_SUCCESS;
}

CAP_KNOWN_DOMAIN(opencl, packed_describe(OCL_PACKED, 0));
