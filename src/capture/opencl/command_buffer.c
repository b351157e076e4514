/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command buffers. What is recorded into one is remembered, and becomes work each time the buffer
 * is enqueued. The runtime has one event for all of it, so that only the whole has device times: it
 * is a dispatch of the kernel "(command buffer)", and what is inside says why it has none.
 */
#include "capture/opencl/command_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "capture/opencl/copy.h"
#include "capture/opencl/dispatch.h"
#include "capture/opencl/program.h"

#include "opencl_hooks.h"

/* A command of a buffer. */
struct ocl_command {
	cl_mutable_command_khr handle; /* NULL: the program did not ask for one */
	uint32_t queue;                /* of the buffer's */
	uint64_t memory[2];            /* ids of allocations: of a copy source and destination */
	struct ocl_work work;          /* as each run begins */
};

static struct ocl_command_buffer *find_command_buffer(cl_command_buffer_khr buffer)
{
	return (struct ocl_command_buffer *)ocl_find(OCL_COMMAND_BUFFER, buffer);
}

cl_command_queue ocl_command_buffer_queue(cl_command_buffer_khr buffer)
{
	const struct ocl_command_buffer *b = find_command_buffer(buffer);

	return b && b->queue_count ? b->queues[0] : NULL;
}

/* ---- lifetimes ---- */

static void buffer_end(struct ocl_command_buffer *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	free(b->queues);
	free(b->commands);
	b->queues = NULL;
	b->commands = NULL;
	b->queue_count = b->count = b->room = 0;
	pthread_mutex_unlock(&b->lock);
	ocl_object_free(OCL_COMMAND_BUFFER, &b->object);
}

static void no_memory(void)
{
	cap_note(1, "opencl", "no memory to remember what is in a command buffer");
}

static struct ocl_command_buffer *buffer_new(cl_command_buffer_khr buffer, cl_uint count,
					     const cl_command_queue *queues)
{
	struct ocl_command_buffer *b = ocl_object_new(OCL_COMMAND_BUFFER);

	if (!b) {
		no_memory();
		return NULL;
	}
	b->object.handle = buffer;
	b->queues = calloc(count, sizeof(*queues));
	if (b->queues) {
		memcpy(b->queues, queues, count * sizeof(*queues));
		b->queue_count = count;
	} else {
		no_memory();
	}
	return b;
}

static void buffer_insert(struct ocl_command_buffer *b)
{
	buffer_end((struct ocl_command_buffer *)ocl_insert(OCL_COMMAND_BUFFER, &b->object, true));
}

void ocl_post_clCreateCommandBufferKHR(struct cap_frame *f, cl_uint num_queues,
				       const cl_command_queue *queues,
				       const cl_command_buffer_properties_khr *properties,
				       cl_int *errcode_ret, cl_command_buffer_khr result)
{
	struct ocl_command_buffer *b = result ? buffer_new(result, num_queues, queues) : NULL;

	if (b)
		buffer_insert(b);
}

void ocl_pre_clRetainCommandBufferKHR(struct cap_frame *f, cl_command_buffer_khr command_buffer)
{
	ocl_retain(OCL_COMMAND_BUFFER, command_buffer);
}

void ocl_pre_clReleaseCommandBufferKHR(struct cap_frame *f, cl_command_buffer_khr command_buffer)
{
	buffer_end((struct ocl_command_buffer *)ocl_release(OCL_COMMAND_BUFFER, command_buffer));
}

/* ---- recording ---- */

static uint32_t queue_index(const struct ocl_command_buffer *b, cl_command_queue queue)
{
	for (uint32_t i = 0; i < b->queue_count; i++)
		if (b->queues[i] == queue)
			return i;
	return 0; /* NULL: there is only one */
}

/* A call has put a command into a buffer. */
struct recording {
	struct ocl_command_buffer *buffer;
	struct ocl_command command;
};

/* False: there is nothing to remember. */
static bool record_begin(struct recording *r, cl_int result, cl_command_buffer_khr buffer,
			 cl_command_queue queue, const cl_mutable_command_khr *handle)
{
	const struct ocl_queue *q;

	r->buffer = result == CL_SUCCESS ? find_command_buffer(buffer) : NULL;
	if (!r->buffer || !r->buffer->queue_count)
		return false;
	r->command = (struct ocl_command){.handle = handle ? *handle : NULL,
					  .queue = queue_index(r->buffer, queue)};
	q = ocl_queue_get(r->buffer->queues[r->command.queue]);
	r->command.work.agent = q ? q->agent : 0;
	return true;
}

static void record_end(const struct recording *r)
{
	struct ocl_command_buffer *b = r->buffer;
	bool kept;

	pthread_mutex_lock(&b->lock);
	kept = vec_reserve(&b->commands, &b->room, b->count, 1);
	if (kept)
		b->commands[b->count++] = r->command;
	pthread_mutex_unlock(&b->lock);
	if (!kept)
		no_memory();
}

static void record_copy(struct recording *r, unsigned op, uint64_t bytes, struct ocl_end from,
			struct ocl_end to)
{
	ocl_copy_describe(&r->command.work, op, bytes, from, to);
	r->command.memory[0] = from.id;
	r->command.memory[1] = to.id;
	record_end(r);
}

static void record_mems(struct recording *r, cl_mem from, cl_mem to, uint64_t bytes)
{
	const uint32_t agent = r->command.work.agent;

	record_copy(r, COPY_OP_COPY, bytes, ocl_end_of_mem(agent, from), ocl_end_of_mem(agent, to));
}

/* A fill has no source; the device makes the values itself. */
static void record_fill(struct recording *r, uint64_t bytes, struct ocl_end to)
{
	record_copy(r, COPY_OP_FILL, bytes,
		    (struct ocl_end){r->command.work.agent, MEMORY_UNKNOWN, 0}, to);
}

static void record_addresses(struct recording *r, const void *to, const void *from, uint64_t bytes)
{
	const struct ocl_end source = ocl_end_of_address(r->command.work.agent, from);
	const struct ocl_end destination = ocl_end_of_address(r->command.work.agent, to);

	record_copy(r, ocl_copy_op(source, destination), bytes, source, destination);
}

void ocl_post_clCommandNDRangeKernelKHR(
	struct cap_frame *f, cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
	const cl_properties *properties, cl_kernel kernel, cl_uint work_dim,
	const size_t *global_work_offset, const size_t *global_work_size,
	const size_t *local_work_size, cl_uint num_sync_points_in_wait_list,
	const cl_sync_point_khr *sync_point_wait_list, cl_sync_point_khr *sync_point,
	cl_mutable_command_khr *mutable_handle, cl_int result)
{
	struct recording r;

	if (!record_begin(&r, result, command_buffer, command_queue, mutable_handle))
		return;
	ocl_dispatch_kernel(&r.command.work, ocl_kernel_id(kernel));
	ocl_dispatch_dims(&r.command.work, work_dim);
	ocl_dispatch_sizes(&r.command.work, global_work_offset, global_work_size, local_work_size);
	record_end(&r);
}

#define PARAMETERS(...) __VA_ARGS__
#define RECORDED(name, parameters, statement)                                                      \
	void ocl_post_##name(struct cap_frame *f, cl_command_buffer_khr command_buffer,            \
			     cl_command_queue command_queue, const cl_properties *properties,      \
			     PARAMETERS parameters, cl_uint num_sync_points_in_wait_list,          \
			     const cl_sync_point_khr *sync_point_wait_list,                        \
			     cl_sync_point_khr *sync_point,                                        \
			     cl_mutable_command_khr *mutable_handle, cl_int result)                \
	{                                                                                          \
		struct recording r;                                                                \
                                                                                                   \
		if (record_begin(&r, result, command_buffer, command_queue, mutable_handle))       \
			statement;                                                                 \
	}

RECORDED(clCommandCopyBufferKHR,
	 (cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset, size_t dst_offset, size_t size),
	 record_mems(&r, src_buffer, dst_buffer, size))
RECORDED(clCommandCopyBufferRectKHR,
	 (cl_mem src_buffer, cl_mem dst_buffer, const size_t *src_origin, const size_t *dst_origin,
	  const size_t *region, size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch,
	  size_t dst_slice_pitch),
	 record_mems(&r, src_buffer, dst_buffer, ocl_region_bytes(region)))
RECORDED(clCommandCopyBufferToImageKHR,
	 (cl_mem src_buffer, cl_mem dst_image, size_t src_offset, const size_t *dst_origin,
	  const size_t *region),
	 record_mems(&r, src_buffer, dst_image, ocl_region_pixels(dst_image, region)))
RECORDED(clCommandCopyImageKHR,
	 (cl_mem src_image, cl_mem dst_image, const size_t *src_origin, const size_t *dst_origin,
	  const size_t *region),
	 record_mems(&r, src_image, dst_image, ocl_region_pixels(src_image, region)))
RECORDED(clCommandCopyImageToBufferKHR,
	 (cl_mem src_image, cl_mem dst_buffer, const size_t *src_origin, const size_t *region,
	  size_t dst_offset),
	 record_mems(&r, src_image, dst_buffer, ocl_region_pixels(src_image, region)))
RECORDED(clCommandFillBufferKHR,
	 (cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size),
	 record_fill(&r, size, ocl_end_of_mem(r.command.work.agent, buffer)))
RECORDED(clCommandFillImageKHR,
	 (cl_mem image, const void *fill_color, const size_t *origin, const size_t *region),
	 record_fill(&r, ocl_region_pixels(image, region),
		     ocl_end_of_mem(r.command.work.agent, image)))
RECORDED(clCommandSVMMemcpyKHR, (void *dst_ptr, const void *src_ptr, size_t size),
	 record_addresses(&r, dst_ptr, src_ptr, size))
RECORDED(clCommandSVMMemFillKHR,
	 (void *svm_ptr, const void *pattern, size_t pattern_size, size_t size),
	 record_fill(&r, size, ocl_end_of_address(r.command.work.agent, svm_ptr)))

/* ---- changes ---- */

/*
 * How a kernel's launch is changed. Declared here because the headers have changed with the
 * extension: before its version 0.9.2 type and next came first, and one structure led to all.
 */
struct config {
	cl_mutable_command_khr command;
	cl_uint num_args, num_svm_args, num_exec_infos;
	cl_uint work_dim;
	const void *arg_list, *arg_svm_list, *exec_info_list;
	const size_t *global_work_offset, *global_work_size, *local_work_size;
};

struct older_config {
	cl_uint type;
	const void *next;
	struct config config;
};

struct older_configs {
	cl_uint type;
	const void *next;
	cl_uint count;
	const struct older_config *list;
};

#define CONFIG_DISPATCH 0u /* CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR since 0.9.2 */

/* Caller holds the buffer's lock. */
static void update(struct ocl_command_buffer *b, const struct config *c)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->commands[i].handle == c->command &&
		    b->commands[i].work.what == OCL_WORK_DISPATCH)
			ocl_dispatch_sizes(&b->commands[i].work, c->global_work_offset,
					   c->global_work_size, c->local_work_size);
}

static void update_all(struct ocl_command_buffer *b, cl_uint count, const cl_uint *types,
		       const void **configs)
{
	for (cl_uint i = 0; i < count; i++)
		if (types[i] == CONFIG_DISPATCH)
			update(b, configs[i]);
}

static void update_all_older(struct ocl_command_buffer *b, const struct older_configs *configs)
{
	for (cl_uint i = 0; i < configs->count; i++)
		update(b, &configs->list[i].config);
}

/* The older form has no `config_types`; its one structure comes as `configs`. */
void ocl_post_clUpdateMutableCommandsKHR(struct cap_frame *f, cl_command_buffer_khr command_buffer,
					 cl_uint num_configs, const cl_uint *config_types,
					 const void **configs, cl_int result)
{
	struct ocl_command_buffer *b =
		result == CL_SUCCESS ? find_command_buffer(command_buffer) : NULL;

	if (!b || !configs)
		return;
	pthread_mutex_lock(&b->lock);
	if (config_types)
		update_all(b, num_configs, config_types, configs);
	else
		update_all_older(b, (const struct older_configs *)configs);
	pthread_mutex_unlock(&b->lock);
}

static cl_mutable_command_khr remapped(cl_mutable_command_khr handle, cl_uint count,
				       const cl_mutable_command_khr *handles,
				       const cl_mutable_command_khr *new_handles)
{
	for (cl_uint i = 0; handle && handles && new_handles && i < count; i++)
		if (handles[i] == handle)
			return new_handles[i];
	return NULL;
}

/* The same commands for other queues. */
void ocl_post_clRemapCommandBufferKHR(struct cap_frame *f, cl_command_buffer_khr command_buffer,
				      cl_bool automatic, cl_uint num_queues,
				      const cl_command_queue *queues, cl_uint num_handles,
				      const cl_mutable_command_khr *handles,
				      cl_mutable_command_khr *handles_ret, cl_int *errcode_ret,
				      cl_command_buffer_khr result)
{
	struct ocl_command_buffer *from = find_command_buffer(command_buffer);
	struct ocl_command_buffer *b = result ? buffer_new(result, num_queues, queues) : NULL;

	if (!b)
		return;
	if (from) {
		pthread_mutex_lock(&from->lock);
		for (uint32_t i = 0;
		     i < from->count && vec_reserve(&b->commands, &b->room, b->count, 1); i++) {
			struct ocl_command *c = &b->commands[b->count++];

			*c = from->commands[i];
			c->handle = remapped(c->handle, num_handles, handles, handles_ret);
			c->queue = c->queue < b->queue_count ? c->queue : 0;
		}
		pthread_mutex_unlock(&from->lock);
	}
	buffer_insert(b);
}

/* ---- runs ---- */

/* A run of one command of `w`, on one of `queues`. False: nobody wants to know. */
static bool run_begin(struct ocl_work *x, const struct ocl_work *w, const struct cap_frame *f,
		      const struct ocl_command *c, cl_uint count, const cl_command_queue *queues)
{
	const struct ocl_queue *q =
		count > 1 && c->queue < count ? ocl_queue_get(queues[c->queue]) : NULL;
	const bool dispatch = c->work.what == OCL_WORK_DISPATCH;
	const struct cap_subject subject = {.agent = q ? q->agent : w->agent,
					    .queue = q ? q->object.id : w->queue,
					    .kernel = dispatch ? c->work.kernel : 0,
					    .memory = {c->memory[0], c->memory[1]},
					    .bytes = dispatch ? 0 : c->work.bytes};

	*x = c->work;
	x->agent = subject.agent;
	x->queue = subject.queue;
	x->submit = w->submit;
	return cap_submission_take(&x->submission, f,
				   dispatch ? &core_dispatch_ops[0] : &core_copy_ops[x->op],
				   &subject);
}

/* Puts the commands into `w`, which is about to run on `queues`. Without memory they are lost. */
static void unfold(struct ocl_work *w, const struct cap_frame *f,
		   const struct ocl_command_buffer *b, cl_uint count,
		   const cl_command_queue *queues)
{
	struct ocl_work lost;

	w->inside = malloc(b->count * sizeof(*w->inside));
	for (uint32_t i = 0; i < b->count; i++) {
		struct ocl_work *x = w->inside ? &w->inside[w->inside_count] : &lost;

		if (!run_begin(x, w, f, &b->commands[i], count, queues))
			continue;
		if (w->inside)
			w->inside_count++;
		else
			ocl_work_untimed(x, UNTIMED_LOST, 0);
	}
}

void ocl_post_clEnqueueCommandBufferKHR(struct cap_frame *f, cl_uint num_queues,
					cl_command_queue *queues,
					cl_command_buffer_khr command_buffer,
					cl_uint num_events_in_wait_list,
					const cl_event *event_wait_list, cl_event *event,
					cl_int result)
{
	struct ocl_command_buffer *b;
	struct cap_subject subject;
	struct ocl_work w;

	if (!ocl_submission.queue || !ocl_submit_take(f, &w))
		return;
	ocl_dispatch_kernel(&w, ocl_placeholder_kernel_id(OCL_KERNEL_BUFFER));
	w.what = OCL_WORK_BUFFER;
	w.inside = NULL;
	w.inside_count = 0;
	b = find_command_buffer(command_buffer);
	if (b) {
		pthread_mutex_lock(&b->lock);
		if (num_queues == 0 || !queues)
			unfold(&w, f, b, b->queue_count, b->queues);
		else
			unfold(&w, f, b, num_queues, queues);
		pthread_mutex_unlock(&b->lock);
	}
	subject = (struct cap_subject){.agent = w.agent, .queue = w.queue, .kernel = w.kernel};
	if (!cap_submission_take(&w.submission, f, &core_dispatch_ops[0], &subject)) {
		w.submission = (struct cap_submission){0};
		w.kernel = 0;
	}
	ocl_submit_taken(&w);
}
