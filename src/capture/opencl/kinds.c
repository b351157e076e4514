/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of objects.c: how large the objects of each kind are, of which others know more. */
#include <stddef.h>

#include "capture/opencl/command_buffer.h"
#include "capture/opencl/objects.h"
#include "capture/opencl/queue.h"

#define TABLE(kind, object_size, zero_size)                                                        \
	[kind] = {.lock = PTHREAD_MUTEX_INITIALIZER, .size = object_size, .zero = zero_size}
#define WHOLE(kind, type) TABLE(kind, sizeof(struct type), sizeof(struct type))

struct ocl_table ocl_tables[OCL_KINDS] = {
	WHOLE(OCL_DEVICE, ocl_device),
	WHOLE(OCL_CONTEXT, ocl_context),
	WHOLE(OCL_MEM, ocl_mem),
	WHOLE(OCL_PROGRAM, ocl_program),
	TABLE(OCL_KERNEL, sizeof(struct ocl_kernel), offsetof(struct ocl_kernel, argument_room)),
	TABLE(OCL_COMMAND_BUFFER, sizeof(struct ocl_command_buffer),
	      offsetof(struct ocl_command_buffer, lock)),
	TABLE(OCL_QUEUE, sizeof(struct ocl_queue), offsetof(struct ocl_queue, lock)),
};
