/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the OpenCL backend on a fake runtime share: a tool that keeps every record, a
 * program.
 */
#ifndef TESTS_UNIT_OPENCL_FIXTURE_H
#define TESTS_UNIT_OPENCL_FIXTURE_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kymo/kymo.h>

#include "core/activity/activity.h"
#include "core/capture.h"
#include "fakeocl.h"
#include "opencl_ops.h"

struct record {
	const kymo_domain_desc_t *domain;
	const char *op;
	uint64_t id;
	uint64_t values[KYMO_FIELDS_MAX];
};

extern struct record *records;
extern unsigned record_count;
extern kymo_context_t context;
extern kymo_buffer_t buffer;
extern const cl_icd_dispatch *cl; /* as the program sees it */

struct program {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
};

void drain_only(void);
void forget(void);
bool is_of(const struct record *r, const char *domain, const char *op);
const struct record *record(const char *domain, const char *op, unsigned n);
unsigned count(const char *domain, const char *op);
const struct record *dispatch(unsigned n);
cl_command_queue queue_create(cl_context c, cl_command_queue_properties properties);
struct program program_begin(cl_command_queue_properties properties);
cl_event enqueue(const struct program *p, bool with_event);
void program_end(const struct program *p);
void nothing_alive(void);
int reset(void **state);

/* Before the tests: the layer over the fake, with the tool. False: it cannot be had. */
bool fixture_begin(void);

#define TEST(name) cmocka_unit_test_setup(name, reset)

#endif
