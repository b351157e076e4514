/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the fake driver, and of the program that calls it, know of each other. */
#ifndef TESTS_OPENCL_DRIVER_H
#define TESTS_OPENCL_DRIVER_H

#include <stdint.h>

#include "fakeocl.h"

/* ---- driver: functions.c is generated ---- */

struct fake_function {
	const char *name; /* NULL: the end */
	void *function;
};
extern const struct fake_function functions[];
extern const cl_version fake_buffers_version; /* the extension's, as the headers have it */
extern char fake_memory[4096];

/* ---- program: calls.c is generated ---- */

extern cl_platform_id probe_platform;
extern cl_device_id probe_device;
extern cl_context probe_context;
extern cl_command_queue probe_queue;

void *probe_find(const char *name);
void probe_say(const char *name, int result);
void probe_all(void);

#endif
