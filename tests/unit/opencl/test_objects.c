/* SPDX-License-Identifier: Apache-2.0 */
/* Handle tables: against a simple model, and read while they are written; what sources of programs say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <pthread.h>
#include <cmocka.h>

#include <string.h>

#include "capture/opencl/arguments.h"
#include "capture/opencl/objects.h"

#define HANDLES 2000

static char space[HANDLES * 16];

static const void *handle(unsigned i)
{
	return &space[i * 16];
}

static struct ocl_object *add(enum ocl_kind kind, unsigned i, uint32_t id)
{
	struct ocl_object *o = ocl_object_new(kind);

	o->handle = handle(i);
	o->id = id;
	ocl_object_free(kind, ocl_insert(kind, o, true));
	return o;
}

static void like_a_simple_table(void **state)
{
	static uint32_t model[HANDLES], references[HANDLES];

	srand(1);
	for (uint32_t step = 1; step < 400000; step++) {
		unsigned i = (unsigned)rand() % HANDLES;
		struct ocl_object *o = ocl_find(OCL_KERNEL, handle(i));

		if (o ? o->id != model[i] : model[i] != 0)
			fail_msg("step %u: handle %u is %u, not %u", step, i, o ? o->id : 0,
				 model[i]);
		switch (rand() % 4) {
		case 0:
			add(OCL_KERNEL, i, step);
			model[i] = step;
			references[i] = 1;
			break;
		case 1:
			ocl_retain(OCL_KERNEL, handle(i));
			references[i] += model[i] != 0;
			break;
		default:
			o = ocl_release(OCL_KERNEL, handle(i));
			assert_int_equal(o != NULL, model[i] && references[i] == 1);
			ocl_object_free(OCL_KERNEL, o);
			references[i] -= model[i] != 0;
			model[i] = references[i] ? model[i] : 0;
		}
	}
}

static _Atomic bool stop;

static void *reader(void *data)
{
	unsigned long wrong = 0;

	for (unsigned i = 0; !stop; i = (i + 1) % 100) {
		struct ocl_object *o = ocl_find(OCL_MEM, handle(i));

		wrong += !o || o->id != i + 1;
	}
	return (void *)wrong;
}

/* Handles that stay are always found, whatever comes and goes around them. */
static void read_while_written(void **state)
{
	pthread_t t[2];

	for (unsigned i = 0; i < 100; i++)
		add(OCL_MEM, i, i + 1);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, reader, NULL);
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned i = 100; i < HANDLES; i++)
			add(OCL_MEM, i, i + 1);
		for (unsigned i = 100; i < HANDLES; i++)
			ocl_object_free(OCL_MEM, ocl_release(OCL_MEM, handle(i)));
	}
	stop = true;
	for (int i = 0; i < 2; i++) {
		void *wrong;

		pthread_join(t[i], &wrong);
		assert_null(wrong);
	}
}

/* ---- sources ---- */

static void expect_source(const char *source, const char *reason)
{
	char *text = strdup(source);
	const char *why = ocl_source_changes(text);

	if (reason ? !why || !strstr(why, reason) : why != NULL)
		fail_msg("\"%s\": %s, not %s", source, why ? why : "nothing",
			 reason ? reason : "nothing");
	free(text);
}

#define KERNEL "kernel void k(global int *a, local float *b) { int x = 1; { a[0] += x; } }\n"

static void what_a_second_run_would_change(void **state)
{
	static const char *const good[] = {
		KERNEL,
		"",
		"/* printf */ " KERNEL "// printf, global int x;\n",
		"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#define N 3\n" KERNEL,
		"#define TWO(x) do { x; \\\n global int y; } while (0)\n" KERNEL,
		"typedef struct { int a; global int *b; } pair;\nstruct s { int a; };\n" KERNEL,
		"enum { A, B };\nenum kind { C };\nstruct later;\ntypedef global float "
		"*where;\n" KERNEL,
		"constant int table[2] = {1, 2};\n__constant float one = 1;\n" KERNEL,
		"constant sampler_t s = CLK_FILTER_NEAREST;\nconst sampler_t t = "
		"CLK_FILTER_LINEAR;\n" KERNEL,
		"float f(float x);\nfloat f(float x) { return x; }\nglobal int *g(global int *p) { "
		"return p; }\n" KERNEL,
		"__attribute__((reqd_work_group_size(1, 1, 1))) " KERNEL,
		"kernel void k(global int *a) { global int *p = a; local int l; *p = 1; }",
	};
	static const char *const variables[] = {
		"global int x;\n" KERNEL,
		KERNEL "__global int x = 3;\n",
		"int x;\n" KERNEL,
		"unsigned int table[4] = {1, 2, 3, 4};\n" KERNEL,
		"struct s { int a; } v;\nstruct s w;\n" KERNEL,
		"struct s { int a; };\nstruct s w;\n" KERNEL,
		"__attribute__((aligned(16))) float4 v;\n" KERNEL,
		"kernel void k(global int *a) { static global int n; a[0] = n++; }",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect_source(good[i], NULL);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		expect_source(variables[i], "global variables");
	expect_source("#define P printf\n" KERNEL, "printf");
	expect_source("kernel void k() { enqueue_kernel(q, f, n, b); }", "enqueue_kernel");
	expect_source("kernel void k(write_only pipe int p) { }", "pipes");
	expect_source("#include \"other.cl\"\n" KERNEL, "includes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_a_simple_table),
		cmocka_unit_test(read_while_written),
		cmocka_unit_test(what_a_second_run_would_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
