/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime of a toy accelerator: a device with a processor, a memory and a clock of its own,
 * which runs kernels and copies one after the other. No profiler knows it; toy_trace.c is all it
 * takes to be seen. Functions may be called from one thread.
 */
#ifndef TOY_H
#define TOY_H

#include <stddef.h>
#include <stdint.h>

typedef void (*toy_kernel)(float *data, size_t count);

/* Starts the device. 0: it cannot be. */
int toy_open(void);
/* Device memory; NULL: none left. */
float *toy_allocate(size_t count);
/* Each returns when the device has done it. */
void toy_write(float *to, const float *from, size_t count);
void toy_read(float *to, const float *from, size_t count);
void toy_run(const char *name, toy_kernel kernel, float *data, size_t count);
void toy_close(void);

#endif
