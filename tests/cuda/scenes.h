/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the program of scenes share; main() is in program.c. */
#ifndef TESTS_CUDA_SCENES_H
#define TESTS_CUDA_SCENES_H

#include <stdbool.h>

/* False: the file has no scene of that name. */
bool driver_scene(const char *scene, int argc, char **argv); /* driver.c */
bool link_scene(const char *scene, int argc, char **argv);   /* links.c */
bool pause_scene(const char *scene, int argc);               /* pauses.c */

void objects(bool leaks); /* objects.c */

/* ends.c */
void forked(void);
/* Ten kernels that CUPTI has not handed over. Returns the program's status. */
int ends(const char *how);
/* Kernels on two devices and a memset that do not end, seen to hang; then the process ends as told. Likewise. */
int hang(const char *how, int more);

/* others.c */
/*
 * A program with a profiler of its own, which uses CUPTI for five kernels of ten; `how` it gets at
 * CUPTI, and when: "early" is before CUDA is initialised. `where`: the library to load or ask.
 */
void takes(const char *how, const char *where);
/* A library that has CUPTI in it comes while kernels run. */
void brought(const char *library);

#endif
