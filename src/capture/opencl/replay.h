/* SPDX-License-Identifier: Apache-2.0 */
/* Putting aside what a kernel may write, and putting it back, so that it can be repeated. */
#ifndef CAPTURE_OPENCL_REPLAY_H
#define CAPTURE_OPENCL_REPLAY_H

#include "capture/opencl/backend.h"

/* What a kernel may write, as it was before. */
struct ocl_kept;

/* NULL: `*reason`, a literal, says why it cannot be had. All commands of the queue are complete. */
struct ocl_kept *ocl_keep(cl_command_queue queue, const void *context, cl_kernel kernel,
			  const char **reason);
bool ocl_kept_restore(const struct ocl_kept *k);
void ocl_kept_free(struct ocl_kept *k);

#endif
