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

/* What its whole source says of it, with all that it includes: as ocl_source_changes(). */
void ocl_kernel_is(cl_kernel kernel, const char *changes);

/* What others than a kernel's arguments would notice if kernels of this source ran twice; likewise. Changes the text. */
const char *ocl_source_changes(char *text);
/* Whether it is for a variable that lasts from kernel to kernel, which another program's kernels would not see. Likewise. */
bool ocl_source_lasts(char *text);

/* Text that the runtime keeps of a program, NULL: none. To be freed. */
char *ocl_program_text(cl_program program, cl_program_info what);

/* Sets the arguments of another kernel to those of this one. NULL: done; else why not, a literal. */
const char *ocl_arguments_copy(cl_kernel from, cl_kernel to);

#endif
