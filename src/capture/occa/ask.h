/* SPDX-License-Identifier: Apache-2.0 */
/* Asking OCCA for names, by functions of its own that change nothing and keep no reference (ask.c). */
#ifndef CAPTURE_OCCA_ASK_H
#define CAPTURE_OCCA_ASK_H

#include "capture/occa/occa.h"

void occa_ask_prepare(void *const *real);

/* Wrappers of OCCA's (occa::device ...), by address; NULL: nothing is in it, or it is not known. */
const void *occa_ask_handle(enum occa_function which, const void *wrapper);
uint64_t occa_ask_bytes(enum occa_function which, const void *wrapper);
/* A std::string of libstdc++. Never NULL. */
const char *occa_text(const void *string);

/* Devices that were not seen to begin begin now. */
/* Memory of the arguments that a program's argument is (most are one), at most `room`; returns how many. */
unsigned occa_ask_memories(const void *argument, uint64_t *out, unsigned room);
/* It has just been set up. */
struct occa_device *occa_ask_new_device(const void *device);
struct occa_device *occa_ask_device(const void *device);
struct occa_kernel *occa_ask_kernel(const void *kernel);
/* The kernel that was built for a device. */
struct occa_kernel *occa_ask_built(const void *kernel, struct occa_device *device);
struct occa_device *occa_ask_memory_device(const void *memory);
/* Bytes of `count` entries of it, all: -1. */
uint64_t occa_ask_entries(const void *memory, int64_t count);
/* Of properties. */
bool occa_ask_async(const void *json);

#endif
