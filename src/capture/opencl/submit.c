/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enqueued commands: the `call` hooks that see to it that every command wanted has an event, and
 * putting the work into its queue once the call has been recorded. Only what must happen inside the
 * call happens there, so that the time recorded for it is the runtime's.
 */
#include "capture/opencl/answer.h"
#include "capture/opencl/command_buffer.h"
#include "capture/opencl/count.h"
#include "capture/opencl/pending.h"
#include "capture/opencl/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "opencl_hooks.h"

#define POOL_STEP  64u
#define CACHE_LINE 64u
#define SPINS      100u

_Thread_local struct ocl_submission ocl_submission __attribute__((tls_model("initial-exec")));

static inline struct ocl_queue *wanted_queue(cl_command_queue queue, uint32_t activity)
{
	ocl_last_queue = queue;
	return cap_call_wants(activity) ? ocl_queue_get(queue) : NULL;
}

/* The call returned: keeps the event for the hook that runs after the record. */
static inline void submitted(struct ocl_queue *q, bool ok, cl_event *event, bool asked)
{
	struct ocl_submission *s = &ocl_submission;

	s->queue = ok ? q : NULL;
	s->event = NULL;
	if (!s->queue || !q->profiled)
		return;
	s->event = *event;
	if (asked && (!*event || ocl_next.clRetainEvent(*event) != CL_SUCCESS))
		s->event = NULL;
}

bool ocl_submit_take(const struct cap_frame *f, struct ocl_work *w)
{
	struct ocl_submission *s = &ocl_submission;

	if (!s->queue)
		return false;
	w->event = s->event;
	w->submit = f->start;
	w->end = f->end;
	w->clock = s->queue->clock;
	w->queue = s->queue->object.id;
	w->agent = s->queue->agent;
	w->blocking = false;
	return true;
}

/* A thread that is interrupted here keeps others from their work: they wait by the clock. */
void ocl_lock_wait(struct ocl_lock *l)
{
	const struct timespec pause = {0, 50000};
	int saved = errno;

	for (unsigned i = 0; i < SPINS; i++) {
		if (!atomic_load_explicit(&l->taken, memory_order_relaxed))
			return;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	syscall(SYS_nanosleep, &pause, NULL); /* no point of cancellation */
	errno = saved;
}

void ocl_work_more(struct ocl_queue *q)
{
	struct ocl_work *w;

	ocl_unlock(&q->lock);
	w = aligned_alloc(CACHE_LINE, POOL_STEP * sizeof(*w));
	for (unsigned i = 0; w && i < POOL_STEP; i++)
		w[i].place = cap_flight_new();
	ocl_lock(&q->lock);
	for (unsigned i = 0; w && i < POOL_STEP; i++) {
		w[i].next = q->free;
		q->free = &w[i];
	}
}

static void in_flight(struct ocl_work *w)
{
	const bool copy = w->what == OCL_WORK_COPY;
	const struct cap_subject subject = {.agent = w->agent,
					    .queue = w->queue,
					    .kernel = copy ? 0 : w->kernel,
					    .bytes = copy ? w->bytes : 0};

	cap_flight_begin(&w->place, copy ? &core_copy_ops[w->op] : &core_dispatch_ops[0],
			 &w->submission, w->submit, &subject);
}

/* A copy of it goes into the list, if there is a node to be had. */
static struct ocl_work *keep(struct ocl_queue *q, const struct ocl_work *w, bool *look)
{
	struct ocl_work *kept;
	uint32_t place;

	ocl_lock(&q->lock);
	kept = ocl_work_new(q);
	if (kept) {
		place = kept->place;
		*kept = *w;
		kept->place = place;
		in_flight(kept);
		*look = ocl_pending_add(q, kept);
	}
	ocl_unlock(&q->lock);
	return kept;
}

static void pend(struct ocl_queue *q, struct ocl_work *w)
{
	bool look = false;

	if (!w->event) {
		ocl_work_untimed(w, q->profiled ? UNTIMED_QUERY : UNTIMED_NO_PROFILING, 0);
	} else if (!keep(q, w, &look)) {
		ocl_next.clReleaseEvent(w->event);
		ocl_work_untimed(w, UNTIMED_LOST, 0);
	} else if (w->blocking) {
		ocl_collect(q, OCL_COMPLETE, OCL_COLLECT_MANY);
	} else if (look) {
		ocl_collect(q, OCL_LOOK, OCL_COLLECT_FEW);
	}
}

void ocl_submit(const struct cap_frame *f, struct ocl_work *w, const struct cap_op *op,
		struct cap_subject *subject)
{
	subject->agent = w->agent;
	subject->queue = w->queue;
	if (cap_unlikely(!cap_submission_take(&w->submission, f, op, subject))) {
		if (w->event) /* contexts that want it were stopped meanwhile, or filter it out */
			ocl_next.clReleaseEvent(w->event);
		return;
	}
	pend(ocl_submission.queue, w);
}

void ocl_submit_taken(struct ocl_work *w)
{
	pend(ocl_submission.queue, w);
}

/* ---- call hooks ---- */

#define PARAMETERS(...) __VA_ARGS__

/*
 * A `call` hook that gives the runtime a place of our own for the event where the program gives
 * none. `ok` is what tells success once `result` is there.
 */
#define SUBMIT_AS(type, ok, activity, name, parameters, arguments)                                 \
	OCL_HOT type ocl_call_##name(struct cap_frame *f, ocl_pfn_##name next,                     \
				     PARAMETERS parameters)                                        \
	{                                                                                          \
		struct ocl_queue *q = wanted_queue(command_queue, activity);                       \
		bool asked = event != NULL;                                                        \
		enum ocl_gate gate = ocl_gate_enter((activity) == CAP_ACTIVITY_DISPATCH);          \
		cl_event own = NULL;                                                               \
		type result;                                                                       \
                                                                                                   \
		(void)f;                                                                           \
		if (q && q->profiled && !asked)                                                    \
			event = &own;                                                              \
		result = next arguments;                                                           \
		ocl_gate_leave(gate);                                                              \
		submitted(q, ok, event, asked);                                                    \
		return result;                                                                     \
	}

#define DISPATCH(name, parameters, arguments)                                                      \
	SUBMIT_AS(cl_int, result == CL_SUCCESS, CAP_ACTIVITY_DISPATCH, name, parameters, arguments)
#define COPY(name, parameters, arguments)                                                          \
	SUBMIT_AS(cl_int, result == CL_SUCCESS, CAP_ACTIVITY_COPY, name, parameters, arguments)
#define MAP(name, parameters, arguments)                                                           \
	SUBMIT_AS(void *, *errcode_ret == CL_SUCCESS, CAP_ACTIVITY_COPY, name, parameters,         \
		  arguments)

#define WAIT_LIST      cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event
#define WAIT_ARGUMENTS num_events_in_wait_list, event_wait_list, event

/* The same, for kernels that may be counted. */
OCL_HOT cl_int ocl_call_clEnqueueNDRangeKernel(struct cap_frame *f,
					       ocl_pfn_clEnqueueNDRangeKernel next,
					       cl_command_queue command_queue, cl_kernel kernel,
					       cl_uint work_dim, const size_t *global_work_offset,
					       const size_t *global_work_size,
					       const size_t *local_work_size, WAIT_LIST)
{
	struct ocl_queue *q = wanted_queue(command_queue, CAP_ACTIVITY_DISPATCH);
	bool asked = event != NULL;
	cl_event own = NULL;
	cl_int result;

	if (q && q->profiled && !asked)
		event = &own;
	if (cap_unlikely(cap_counts_kernels()))
		result = ocl_count_launch(f, &(struct ocl_launch){next, command_queue, kernel,
								  work_dim, global_work_offset,
								  global_work_size, local_work_size,
								  WAIT_ARGUMENTS});
	else
		result = next(command_queue, kernel, work_dim, global_work_offset, global_work_size,
			      local_work_size, WAIT_ARGUMENTS);
	submitted(q, result == CL_SUCCESS, event, asked);
	return result;
}

DISPATCH(clEnqueueTask, (cl_command_queue command_queue, cl_kernel kernel, WAIT_LIST),
	 (command_queue, kernel, WAIT_ARGUMENTS))
DISPATCH(clEnqueueNativeKernel,
	 (cl_command_queue command_queue, void (*user_func)(void *), void *args, size_t cb_args,
	  cl_uint num_mem_objects, const cl_mem *mem_list, const void **args_mem_loc, WAIT_LIST),
	 (command_queue, user_func, args, cb_args, num_mem_objects, mem_list, args_mem_loc,
	  WAIT_ARGUMENTS))

DISPATCH(clEnqueueNDCountKernelINTEL,
	 (cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
	  const size_t *global_work_offset, const size_t *work_group_count,
	  const size_t *local_work_size, WAIT_LIST),
	 (command_queue, kernel, work_dim, global_work_offset, work_group_count, local_work_size,
	  WAIT_ARGUMENTS))

/* The event is that of the whole buffer; it belongs to the first of several queues. */
cl_int ocl_call_clEnqueueCommandBufferKHR(struct cap_frame *f,
					  ocl_pfn_clEnqueueCommandBufferKHR next,
					  cl_uint num_queues, cl_command_queue *queues,
					  cl_command_buffer_khr command_buffer, WAIT_LIST)
{
	cl_command_queue first =
		num_queues && queues ? queues[0] : ocl_command_buffer_queue(command_buffer);
	struct ocl_queue *q = first ? wanted_queue(first, OCL_DEVICE_WORK) : NULL;
	bool asked = event != NULL;
	enum ocl_gate gate = ocl_gate_enter(true);
	cl_event own = NULL;
	cl_int result;

	if (q && q->profiled && !asked)
		event = &own;
	result = next(num_queues, queues, command_buffer, WAIT_ARGUMENTS);
	ocl_gate_leave(gate);
	submitted(q, result == CL_SUCCESS, event, asked);
	return result;
}

COPY(clEnqueueReadBuffer,
     (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_read, size_t offset,
      size_t size, void *ptr, WAIT_LIST),
     (command_queue, buffer, blocking_read, offset, size, ptr, WAIT_ARGUMENTS))
COPY(clEnqueueWriteBuffer,
     (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_write, size_t offset,
      size_t size, const void *ptr, WAIT_LIST),
     (command_queue, buffer, blocking_write, offset, size, ptr, WAIT_ARGUMENTS))
COPY(clEnqueueCopyBuffer,
     (cl_command_queue command_queue, cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset,
      size_t dst_offset, size_t size, WAIT_LIST),
     (command_queue, src_buffer, dst_buffer, src_offset, dst_offset, size, WAIT_ARGUMENTS))
COPY(clEnqueueReadBufferRect,
     (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_read,
      const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
      size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch,
      size_t host_slice_pitch, void *ptr, WAIT_LIST),
     (command_queue, buffer, blocking_read, buffer_origin, host_origin, region, buffer_row_pitch,
      buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, WAIT_ARGUMENTS))
COPY(clEnqueueWriteBufferRect,
     (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_write,
      const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
      size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch,
      size_t host_slice_pitch, const void *ptr, WAIT_LIST),
     (command_queue, buffer, blocking_write, buffer_origin, host_origin, region, buffer_row_pitch,
      buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, WAIT_ARGUMENTS))
COPY(clEnqueueCopyBufferRect,
     (cl_command_queue command_queue, cl_mem src_buffer, cl_mem dst_buffer,
      const size_t *src_origin, const size_t *dst_origin, const size_t *region,
      size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch, size_t dst_slice_pitch,
      WAIT_LIST),
     (command_queue, src_buffer, dst_buffer, src_origin, dst_origin, region, src_row_pitch,
      src_slice_pitch, dst_row_pitch, dst_slice_pitch, WAIT_ARGUMENTS))
COPY(clEnqueueReadImage,
     (cl_command_queue command_queue, cl_mem image, cl_bool blocking_read, const size_t *origin,
      const size_t *region, size_t row_pitch, size_t slice_pitch, void *ptr, WAIT_LIST),
     (command_queue, image, blocking_read, origin, region, row_pitch, slice_pitch, ptr,
      WAIT_ARGUMENTS))
COPY(clEnqueueWriteImage,
     (cl_command_queue command_queue, cl_mem image, cl_bool blocking_write, const size_t *origin,
      const size_t *region, size_t input_row_pitch, size_t input_slice_pitch, const void *ptr,
      WAIT_LIST),
     (command_queue, image, blocking_write, origin, region, input_row_pitch, input_slice_pitch, ptr,
      WAIT_ARGUMENTS))
COPY(clEnqueueCopyImage,
     (cl_command_queue command_queue, cl_mem src_image, cl_mem dst_image, const size_t *src_origin,
      const size_t *dst_origin, const size_t *region, WAIT_LIST),
     (command_queue, src_image, dst_image, src_origin, dst_origin, region, WAIT_ARGUMENTS))
COPY(clEnqueueCopyImageToBuffer,
     (cl_command_queue command_queue, cl_mem src_image, cl_mem dst_buffer, const size_t *src_origin,
      const size_t *region, size_t dst_offset, WAIT_LIST),
     (command_queue, src_image, dst_buffer, src_origin, region, dst_offset, WAIT_ARGUMENTS))
COPY(clEnqueueCopyBufferToImage,
     (cl_command_queue command_queue, cl_mem src_buffer, cl_mem dst_image, size_t src_offset,
      const size_t *dst_origin, const size_t *region, WAIT_LIST),
     (command_queue, src_buffer, dst_image, src_offset, dst_origin, region, WAIT_ARGUMENTS))
COPY(clEnqueueFillBuffer,
     (cl_command_queue command_queue, cl_mem buffer, const void *pattern, size_t pattern_size,
      size_t offset, size_t size, WAIT_LIST),
     (command_queue, buffer, pattern, pattern_size, offset, size, WAIT_ARGUMENTS))
COPY(clEnqueueFillImage,
     (cl_command_queue command_queue, cl_mem image, const void *fill_color, const size_t *origin,
      const size_t *region, WAIT_LIST),
     (command_queue, image, fill_color, origin, region, WAIT_ARGUMENTS))
COPY(clEnqueueUnmapMemObject,
     (cl_command_queue command_queue, cl_mem memobj, void *mapped_ptr, WAIT_LIST),
     (command_queue, memobj, mapped_ptr, WAIT_ARGUMENTS))
COPY(clEnqueueMigrateMemObjects,
     (cl_command_queue command_queue, cl_uint num_mem_objects, const cl_mem *mem_objects,
      cl_mem_migration_flags flags, WAIT_LIST),
     (command_queue, num_mem_objects, mem_objects, flags, WAIT_ARGUMENTS))
COPY(clEnqueueMigrateMemObjectEXT,
     (cl_command_queue command_queue, cl_uint num_mem_objects, const cl_mem *mem_objects,
      cl_mem_migration_flags_ext flags, WAIT_LIST),
     (command_queue, num_mem_objects, mem_objects, flags, WAIT_ARGUMENTS))

MAP(clEnqueueMapBuffer,
    (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_map, cl_map_flags map_flags,
     size_t offset, size_t size, WAIT_LIST, cl_int *errcode_ret),
    (command_queue, buffer, blocking_map, map_flags, offset, size, WAIT_ARGUMENTS, errcode_ret))
MAP(clEnqueueMapImage,
    (cl_command_queue command_queue, cl_mem image, cl_bool blocking_map, cl_map_flags map_flags,
     const size_t *origin, const size_t *region, size_t *image_row_pitch, size_t *image_slice_pitch,
     WAIT_LIST, cl_int *errcode_ret),
    (command_queue, image, blocking_map, map_flags, origin, region, image_row_pitch,
     image_slice_pitch, WAIT_ARGUMENTS, errcode_ret))

#define SVM_MEMCPY(name)                                                                           \
	COPY(name,                                                                                 \
	     (cl_command_queue command_queue, cl_bool blocking_copy, void *dst_ptr,                \
	      const void *src_ptr, size_t size, WAIT_LIST),                                        \
	     (command_queue, blocking_copy, dst_ptr, src_ptr, size, WAIT_ARGUMENTS))
#define SVM_FILL(name)                                                                             \
	COPY(name,                                                                                 \
	     (cl_command_queue command_queue, void *svm_ptr, const void *pattern,                  \
	      size_t pattern_size, size_t size, WAIT_LIST),                                        \
	     (command_queue, svm_ptr, pattern, pattern_size, size, WAIT_ARGUMENTS))
#define SVM_MAP(name)                                                                              \
	COPY(name,                                                                                 \
	     (cl_command_queue command_queue, cl_bool blocking_map, cl_map_flags flags,            \
	      void *svm_ptr, size_t size, WAIT_LIST),                                              \
	     (command_queue, blocking_map, flags, svm_ptr, size, WAIT_ARGUMENTS))
#define SVM_UNMAP(name)                                                                            \
	COPY(name, (cl_command_queue command_queue, void *svm_ptr, WAIT_LIST),                     \
	     (command_queue, svm_ptr, WAIT_ARGUMENTS))

SVM_MEMCPY(clEnqueueSVMMemcpy)
SVM_MEMCPY(clEnqueueSVMMemcpyARM)
SVM_MEMCPY(clEnqueueMemcpyINTEL)
SVM_FILL(clEnqueueSVMMemFill)
SVM_FILL(clEnqueueSVMMemFillARM)
SVM_FILL(clEnqueueMemFillINTEL)
SVM_MAP(clEnqueueSVMMap)
SVM_MAP(clEnqueueSVMMapARM)
SVM_UNMAP(clEnqueueSVMUnmap)
SVM_UNMAP(clEnqueueSVMUnmapARM)

COPY(clEnqueueMemsetINTEL,
     (cl_command_queue command_queue, void *dst_ptr, cl_int value, size_t size, WAIT_LIST),
     (command_queue, dst_ptr, value, size, WAIT_ARGUMENTS))
COPY(clEnqueueReadHostPipeINTEL,
     (cl_command_queue command_queue, cl_program program, const char *pipe_symbol,
      cl_bool blocking_read, void *ptr, size_t size, WAIT_LIST),
     (command_queue, program, pipe_symbol, blocking_read, ptr, size, WAIT_ARGUMENTS))
COPY(clEnqueueWriteHostPipeINTEL,
     (cl_command_queue command_queue, cl_program program, const char *pipe_symbol,
      cl_bool blocking_write, const void *ptr, size_t size, WAIT_LIST),
     (command_queue, program, pipe_symbol, blocking_write, ptr, size, WAIT_ARGUMENTS))
COPY(clEnqueueSVMMigrateMem,
     (cl_command_queue command_queue, cl_uint num_svm_pointers, const void **svm_pointers,
      const size_t *sizes, cl_mem_migration_flags flags, WAIT_LIST),
     (command_queue, num_svm_pointers, svm_pointers, sizes, flags, WAIT_ARGUMENTS))
COPY(clEnqueueMigrateMemINTEL,
     (cl_command_queue command_queue, const void *ptr, size_t size, cl_mem_migration_flags flags,
      WAIT_LIST),
     (command_queue, ptr, size, flags, WAIT_ARGUMENTS))
