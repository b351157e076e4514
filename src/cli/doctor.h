/* SPDX-License-Identifier: Apache-2.0 */
/* What `kymo doctor` says of runtimes. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <stdbool.h>

/* A line. `fair`: something does not work or is not here, and the text says why and what to do. */
typedef void doctor_say_fn(bool fair, const char *what, const char *text);

/* Looks without initialising CUDA. `root` is put before paths of /proc. */
void doctor_cuda(const char *root, doctor_say_fn *say);

/* MPI, OpenMP, Level Zero, ROCm, annotations. Libraries are looked at in a process of their own. */
void doctor_runtimes(doctor_say_fn *say);

#endif
