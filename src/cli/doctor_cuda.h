/* SPDX-License-Identifier: Apache-2.0 */
/* What `kymo doctor` says of CUDA. */
#ifndef CLI_DOCTOR_CUDA_H
#define CLI_DOCTOR_CUDA_H

#include <stdbool.h>

/*
 * Looks without initialising CUDA; calls `say` for each thing worth a line. `fair`: something does not
 * work, and the text says why. `root` is put before paths of /proc.
 */
void doctor_cuda(const char *root,
		 void (*say)(bool fair, const char *what, const char *text));

#endif
