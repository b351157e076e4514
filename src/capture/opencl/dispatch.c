/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels put into queues: what the call says about them becomes pending work. */
#include "capture/opencl/dispatch.h"
#include "capture/opencl/pending.h"
#include "capture/opencl/program.h"

#include "opencl_hooks.h"

static bool dispatch_begin(const struct cap_frame *f, struct ocl_work *w, uint32_t kernel)
{
	if (!ocl_submit_take(f, w))
		return false;
	ocl_dispatch_kernel(w, kernel);
	return true;
}

static void dispatch_submit(const struct cap_frame *f, struct ocl_work *w)
{
	struct cap_subject subject = {.kernel = w->kernel};

	ocl_submit(f, w, &core_dispatch_ops[0], &subject);
}

/* Somebody is to be asked, or there is no event. */
static void ndrange_any(const struct cap_frame *f, uint32_t kernel, cl_uint dims,
			const size_t *offset, const size_t *global, const size_t *local)
{
	struct ocl_work w;

	if (!dispatch_begin(f, &w, kernel))
		return;
	ocl_dispatch_dims(&w, dims);
	ocl_dispatch_sizes(&w, offset, global, local);
	dispatch_submit(f, &w);
}

OCL_HOT void
ocl_post_clEnqueueNDRangeKernel(struct cap_frame *f, cl_command_queue command_queue,
				cl_kernel kernel, cl_uint work_dim,
				const size_t *global_work_offset, const size_t *global_work_size,
				const size_t *local_work_size, cl_uint num_events_in_wait_list,
				const cl_event *event_wait_list, cl_event *event, cl_int result)
{
	struct cap_subject subject;
	struct ocl_work *w;
	uint32_t id;

	if (!ocl_submission.queue)
		return;
	id = ocl_kernel_id(kernel);
	w = ocl_submit_ordinary(f, &core_dispatch_ops[0]);
	if (cap_unlikely(!w)) {
		ndrange_any(f, id, work_dim, global_work_offset, global_work_size, local_work_size);
		return;
	}
	w->what = OCL_WORK_DISPATCH;
	w->kernel = id;
	ocl_dispatch_dims(w, work_dim);
	for (unsigned i = 0; i < w->dims; i++)
		w->size[i] = (struct ocl_size){
			.global = global_work_size ? global_work_size[i] : 0,
			.local = local_work_size ? local_work_size[i] : 0,
			.offset = global_work_offset ? global_work_offset[i] : 0,
		};
	subject = (struct cap_subject){.agent = w->agent, .queue = w->queue, .kernel = id};
	ocl_submit_end(w, &core_dispatch_ops[0], &subject);
}

/* The sizes are groups here. */
void ocl_post_clEnqueueNDCountKernelINTEL(
	struct cap_frame *f, cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
	const size_t *global_work_offset, const size_t *work_group_count,
	const size_t *local_work_size, cl_uint num_events_in_wait_list,
	const cl_event *event_wait_list, cl_event *event, cl_int result)
{
	struct ocl_work w;

	if (!ocl_submission.queue || !dispatch_begin(f, &w, ocl_kernel_id(kernel)))
		return;
	ocl_dispatch_dims(&w, work_dim);
	ocl_dispatch_sizes(&w, global_work_offset, work_group_count, local_work_size);
	for (unsigned i = 0; i < w.dims; i++)
		w.size[i].global *= w.size[i].local ? w.size[i].local : 1;
	dispatch_submit(f, &w);
}

void ocl_post_clEnqueueTask(struct cap_frame *f, cl_command_queue command_queue, cl_kernel kernel,
			    cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			    cl_event *event, cl_int result)
{
	struct ocl_work w;

	if (!ocl_submission.queue || !dispatch_begin(f, &w, ocl_kernel_id(kernel)))
		return;
	w.size[0].global = w.size[0].local = 1;
	dispatch_submit(f, &w);
}

void ocl_post_clEnqueueNativeKernel(struct cap_frame *f, cl_command_queue command_queue,
				    void (*user_func)(void *), void *args, size_t cb_args,
				    cl_uint num_mem_objects, const cl_mem *mem_list,
				    const void **args_mem_loc, cl_uint num_events_in_wait_list,
				    const cl_event *event_wait_list, cl_event *event, cl_int result)
{
	struct ocl_work w;

	if (!ocl_submission.queue ||
	    !dispatch_begin(f, &w, ocl_placeholder_kernel_id(OCL_KERNEL_NATIVE)))
		return;
	w.size[0].global = w.size[0].local = 1;
	dispatch_submit(f, &w);
}
