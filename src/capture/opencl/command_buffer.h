/* SPDX-License-Identifier: Apache-2.0 */
/* Command buffers: commands recorded once that run each time the buffer is enqueued. */
#ifndef CAPTURE_OPENCL_COMMAND_BUFFER_H
#define CAPTURE_OPENCL_COMMAND_BUFFER_H

#include <pthread.h>

#include "capture/opencl/objects.h"

struct ocl_command_buffer {
	struct ocl_object object;
	cl_command_queue *queues; /* given when it was made; never changes */
	uint32_t queue_count;
	struct ocl_command *commands; /* those that are work; under `lock` */
	uint32_t count, room;         /* under `lock` */

	pthread_mutex_t lock; /* kept when the object is used again */
};

/* The first queue that a buffer was made for; NULL: nothing is known of the buffer. */
cl_command_queue ocl_command_buffer_queue(cl_command_buffer_khr buffer);

#endif
