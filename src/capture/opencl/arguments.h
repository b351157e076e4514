/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a kernel's arguments, and of what its program could write besides. */
#ifndef CAPTURE_OPENCL_ARGUMENTS_H
#define CAPTURE_OPENCL_ARGUMENTS_H

#include "capture/opencl/backend.h"

/* A clone has the arguments of its source. */
void ocl_arguments_clone(cl_kernel source, cl_kernel clone);
/*
 * Why the kernel may not run twice whatever its arguments are, or its arguments are not all known; a
 * literal. NULL: it may.
 */
const char *ocl_kernel_changes(cl_kernel kernel);

/* What others than a kernel's arguments would notice if kernels of this source ran twice; likewise. Changes the text. */
const char *ocl_source_changes(char *text);

#endif
