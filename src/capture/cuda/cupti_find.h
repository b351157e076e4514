/* SPDX-License-Identifier: Apache-2.0 */
/* Where NVIDIA's library for tools is; the same for the backend and for `kymo doctor`. */
#ifndef CAPTURE_CUDA_CUPTI_FIND_H
#define CAPTURE_CUDA_CUPTI_FIND_H

#include <limits.h>

/* Names the library that the driver loads when CUDA starts. */
#define CUDA_INJECTION "CUDA_INJECTION64_PATH"

struct cupti_found {
	void *library; /* from dlopen(); NULL: there is none */
	char path[PATH_MAX];
};

/*
 * It has to fit the program's CUDA, so what lies beside the CUDA libraries of this process comes
 * first, then the toolkit, then whatever the loader finds; KYMO_CUPTI before all. Loading it does not
 * initialise CUDA.
 */
void cupti_find(struct cupti_found *out);

/* The major version of CUDA that a version told by CUPTI belongs to. */
unsigned cupti_cuda_major(unsigned version);

#endif
