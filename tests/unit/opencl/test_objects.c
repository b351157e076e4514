/* SPDX-License-Identifier: Apache-2.0 */
/* Handle tables: against a simple model, and read while they are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <pthread.h>
#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_a_simple_table),
		cmocka_unit_test(read_while_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
