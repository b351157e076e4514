/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for an OpenCL runtime, for tests of the OpenCL backend: no device, no threads; a
 * command completes when the test says so. It does what programs and devices rarely do: completes
 * out of order, fails, refuses, gives the same handle again at once, and counts what is alive.
 * Only what the tests call is there. Not thread-safe unless `complete_at_once` is set.
 */
#ifndef TESTS_SUPPORT_FAKEOCL_H
#define TESTS_SUPPORT_FAKEOCL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "capture/opencl/cl.h"

enum fake_kind {
	FAKE_DEVICE,
	FAKE_CONTEXT,
	FAKE_QUEUE,
	FAKE_MEM,
	FAKE_PROGRAM,
	FAKE_KERNEL,
	FAKE_EVENT,
	FAKE_KINDS
};

/* How the runtime behaves; zeroed by fake_reset(). */
struct fake_behaviour {
	bool complete_at_once;    /* commands are complete when the call returns */
	bool refuse_profiling;    /* queues with profiling cannot be created */
	bool refuse_times;        /* clGetEventProfilingInfo fails for complete events, too */
	bool offer_timer;         /* clGetDeviceAndHostTimer works */
	bool processor;           /* the devices are processors */
	bool plain_buffers;       /* no command buffers for queues with profiling, and it says so */
	cl_version buffers;       /* version of what is about command buffers, 0: not said */
	cl_int fail_enqueue;      /* error that the next enqueue returns */
	cl_int fail_build;        /* error that clBuildProgram returns */
	_Atomic unsigned queries; /* calls of clGetEventInfo and clGetEventProfilingInfo so far */
};
extern struct fake_behaviour fake;

/* The runtime's dispatch table, as a loader hands it to a layer. */
const cl_icd_dispatch *fake_table(void);

/* Handles lead to this table, as a loader wants it; not needed without one. */
void fake_dispatch(const cl_icd_dispatch *to);

void fake_reset(void);
cl_device_id fake_device(void);

/* Objects alive of a kind, and references to one. */
unsigned fake_alive(enum fake_kind kind);
unsigned fake_references(const void *handle);

/* Event of the n-th last command of a queue, 0: the last; NULL once it is gone. */
cl_event fake_event(cl_command_queue queue, unsigned last);

/* Completes a command, or fails it with a negative status, and calls its callbacks. */
void fake_complete(cl_event event, cl_int status);

/* A command of whatever kind, and a memory object, for parts of the runtime that are elsewhere. */
cl_int fake_enqueue(cl_command_queue queue, cl_event *event);
cl_mem fake_mem(cl_context context, cl_mem_flags flags, size_t size);
bool fake_profiles(cl_command_queue queue);

/* ---- extensions.c ---- */

/* A function by name, in the form that `buffers` says; NULL: there is no such function here. */
void *fake_extension(const char *name);
/* Command buffers alive. */
unsigned fake_command_buffers(void);

/* The device's clock; every question moves it. */
cl_ulong fake_clock(void);

#endif
