/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels put into queues: what the call says about them becomes pending work. */
#include <string.h>

#include "capture/opencl/program.h"
#include "capture/opencl/queue.h"

#include "opencl_hooks.h"

OCL_HOT static bool dispatch_begin(const struct cap_frame *f, struct ocl_work *w, uint32_t kernel)
{
	if (!ocl_submit_take(f, w))
		return false;
	w->is_dispatch = true;
	w->kernel = kernel;
	w->dims = 1;
	memset(w->global, 0, sizeof(w->global));
	memset(w->local, 0, sizeof(w->local));
	memset(w->offset, 0, sizeof(w->offset));
	return true;
}

OCL_HOT static void dispatch_submit(const struct cap_frame *f, struct ocl_work *w)
{
	struct cap_subject subject = {.kernel = w->kernel};

	ocl_submit(f, w, &core_dispatch_ops[0], &subject);
}

OCL_HOT void
ocl_post_clEnqueueNDRangeKernel(struct cap_frame *f, cl_command_queue command_queue,
				cl_kernel kernel, cl_uint work_dim,
				const size_t *global_work_offset, const size_t *global_work_size,
				const size_t *local_work_size, cl_uint num_events_in_wait_list,
				const cl_event *event_wait_list, cl_event *event, cl_int result)
{
	struct ocl_work w;

	if (!ocl_submission.queue || !dispatch_begin(f, &w, ocl_kernel_id(kernel)))
		return;
	w.dims = (uint8_t)(work_dim > 3 ? 3 : work_dim);
	for (unsigned i = 0; i < w.dims; i++) {
		w.global[i] = global_work_size ? global_work_size[i] : 0;
		w.local[i] = local_work_size ? local_work_size[i] : 0;
		w.offset[i] = global_work_offset ? global_work_offset[i] : 0;
	}
	dispatch_submit(f, &w);
}

void ocl_post_clEnqueueTask(struct cap_frame *f, cl_command_queue command_queue, cl_kernel kernel,
			    cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			    cl_event *event, cl_int result)
{
	struct ocl_work w;

	if (!ocl_submission.queue || !dispatch_begin(f, &w, ocl_kernel_id(kernel)))
		return;
	w.global[0] = w.local[0] = 1;
	dispatch_submit(f, &w);
}

void ocl_post_clEnqueueNativeKernel(struct cap_frame *f, cl_command_queue command_queue,
				    void (*user_func)(void *), void *args, size_t cb_args,
				    cl_uint num_mem_objects, const cl_mem *mem_list,
				    const void **args_mem_loc, cl_uint num_events_in_wait_list,
				    const cl_event *event_wait_list, cl_event *event, cl_int result)
{
	struct ocl_work w;

	if (!ocl_submission.queue || !dispatch_begin(f, &w, ocl_native_kernel_id()))
		return;
	w.global[0] = w.local[0] = 1;
	dispatch_submit(f, &w);
}
