/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command buffers of the fake runtime: they hold nothing, an enqueued buffer is one command.
 * Functions that the extension has changed are there in both forms.
 */
#include <stdlib.h>
#include <string.h>

#include "fakeocl.h"

struct buffer {
	const void *dispatch;
	unsigned references;
	cl_command_queue queue;
	bool final;
	cl_uint commands;
};

static unsigned alive;

unsigned fake_command_buffers(void)
{
	return alive;
}

static void *answer(cl_int error, void *object, cl_int *to)
{
	if (to)
		*to = error;
	return object;
}

static cl_command_buffer_khr create(cl_uint count, const cl_command_queue *queues,
				    const cl_command_buffer_properties_khr *properties,
				    cl_int *error)
{
	struct buffer *b;

	if (count == 0 || count > 2 || !queues || !queues[0])
		return answer(CL_INVALID_VALUE, NULL, error);
	if (fake.plain_buffers && fake_profiles(queues[0]))
		return answer(-1140, NULL, error); /* CL_INCOMPATIBLE_COMMAND_QUEUE_KHR */
	b = calloc(1, sizeof(*b));
	b->references = 1;
	b->queue = queues[0];
	alive++;
	return answer(CL_SUCCESS, b, error);
}

static cl_int retain(cl_command_buffer_khr buffer)
{
	if (!buffer)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	((struct buffer *)buffer)->references++;
	return CL_SUCCESS;
}

static cl_int release(cl_command_buffer_khr buffer)
{
	struct buffer *b = (struct buffer *)buffer;

	if (!b)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (--b->references == 0) {
		free(b);
		alive--;
	}
	return CL_SUCCESS;
}

static cl_int finalize(cl_command_buffer_khr buffer)
{
	if (!buffer)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	((struct buffer *)buffer)->final = true;
	return CL_SUCCESS;
}

static cl_int run(cl_uint count, cl_command_queue *queues, cl_command_buffer_khr buffer, cl_uint n,
		  const cl_event *list, cl_event *event)
{
	struct buffer *b = (struct buffer *)buffer;

	if (!b)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (!b->final)
		return CL_INVALID_OPERATION;
	if (count > 2 || (count != 0) != (queues != NULL))
		return CL_INVALID_VALUE;
	return fake_enqueue(count ? queues[0] : b->queue, event);
}

/* Any command: only the buffer, and what the caller is given, matter. */
static cl_int add(cl_command_buffer_khr buffer, cl_sync_point_khr *point,
		  cl_mutable_command_khr *handle)
{
	struct buffer *b = (struct buffer *)buffer;

	if (!b)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	if (b->final)
		return CL_INVALID_OPERATION;
	b->commands++;
	if (point)
		*point = b->commands;
	if (handle)
		*handle = (cl_mutable_command_khr)((char *)b + b->commands);
	return CL_SUCCESS;
}

#define TAIL                                                                                       \
	cl_uint points, const cl_sync_point_khr *list, cl_sync_point_khr *point,                   \
		cl_mutable_command_khr *handle

static cl_int add_kernel(cl_command_buffer_khr buffer, cl_command_queue queue,
			 const cl_properties *properties, cl_kernel kernel, cl_uint dims,
			 const size_t *offset, const size_t *global, const size_t *local, TAIL)
{
	return kernel ? add(buffer, point, handle) : CL_INVALID_KERNEL;
}

static cl_int add_copy(cl_command_buffer_khr buffer, cl_command_queue queue,
		       const cl_properties *properties, cl_mem from, cl_mem to, size_t from_offset,
		       size_t to_offset, size_t size, TAIL)
{
	return from && to ? add(buffer, point, handle) : CL_INVALID_MEM_OBJECT;
}

static cl_int add_copy_older(cl_command_buffer_khr buffer, cl_command_queue queue, cl_mem from,
			     cl_mem to, size_t from_offset, size_t to_offset, size_t size, TAIL)
{
	return add_copy(buffer, queue, NULL, from, to, from_offset, to_offset, size, points, list,
			point, handle);
}

static cl_int add_fill(cl_command_buffer_khr buffer, cl_command_queue queue,
		       const cl_properties *properties, cl_mem mem, const void *pattern,
		       size_t pattern_size, size_t offset, size_t size, TAIL)
{
	return mem ? add(buffer, point, handle) : CL_INVALID_MEM_OBJECT;
}

static cl_int add_fill_older(cl_command_buffer_khr buffer, cl_command_queue queue, cl_mem mem,
			     const void *pattern, size_t pattern_size, size_t offset, size_t size,
			     TAIL)
{
	return add_fill(buffer, queue, NULL, mem, pattern, pattern_size, offset, size, points, list,
			point, handle);
}

static cl_int update(cl_command_buffer_khr buffer, cl_uint count, const cl_uint *types,
		     const void **configs)
{
	if (!buffer)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	return (count != 0) == (types && configs) ? CL_SUCCESS : CL_INVALID_VALUE;
}

static cl_int update_older(cl_command_buffer_khr buffer, const void *config)
{
	if (!buffer)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	return config ? CL_SUCCESS : CL_INVALID_VALUE;
}

static cl_command_buffer_khr remap(cl_command_buffer_khr buffer, cl_bool automatic, cl_uint count,
				   const cl_command_queue *queues, cl_uint handles,
				   const cl_mutable_command_khr *given,
				   cl_mutable_command_khr *returned, cl_int *error)
{
	struct buffer *b = (struct buffer *)create(count, queues, NULL, error);

	for (cl_uint i = 0; b && i < handles; i++)
		returned[i] = (cl_mutable_command_khr)((char *)b + (i + 1));
	if (b)
		b->final = true;
	return (cl_command_buffer_khr)b;
}

void *fake_extension(const char *name)
{
	const bool older = fake.buffers < CL_MAKE_VERSION(0, 9, 5);
	const struct {
		const char *name;
		void *function;
	} table[] = {
		{"clCreateCommandBufferKHR", (void *)create},
		{"clRetainCommandBufferKHR", (void *)retain},
		{"clReleaseCommandBufferKHR", (void *)release},
		{"clFinalizeCommandBufferKHR", (void *)finalize},
		{"clEnqueueCommandBufferKHR", (void *)run},
		{"clCommandNDRangeKernelKHR", (void *)add_kernel},
		{"clCommandCopyBufferKHR", older ? (void *)add_copy_older : (void *)add_copy},
		{"clCommandFillBufferKHR", older ? (void *)add_fill_older : (void *)add_fill},
		{"clUpdateMutableCommandsKHR", older ? (void *)update_older : (void *)update},
		{"clRemapCommandBufferKHR", (void *)remap},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, name) == 0)
			return table[i].function;
	return NULL;
}
