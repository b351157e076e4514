/* SPDX-License-Identifier: Apache-2.0 */
/* What the backend answers for tools: see core/tool/answer.h. */
#ifndef CAPTURE_OPENCL_ANSWER_H
#define CAPTURE_OPENCL_ANSWER_H

#include "capture/opencl/cl.h"
#include "core/tool/answer.h"

/* The queue that the calling thread used last. */
extern _Thread_local cl_command_queue ocl_last_queue __attribute__((tls_model("initial-exec")));

extern const struct cap_answers ocl_answers;

#endif
