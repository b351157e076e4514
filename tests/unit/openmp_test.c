/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of OpenMP's devices: what is freed has the size with which it was obtained. */
#include "tool_support.h"

#include "capture/openmp/openmp.h"
#include "record/fields.h"

enum { MANY = 6000, BYTES = 64 };

static uint64_t freed, freed_bytes;

static void count(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	kymo_value_t v = {.size = sizeof(v)};

	if (r->op != ALLOCATION_OP_FREE)
		return;
	assert_int_equal(kymo_callback_value(r, ALLOCATION_BYTES, &v), KYMO_OK);
	freed++;
	freed_bytes += v.u;
}

static const void *address(uint64_t i)
{
	return (const void *)(uintptr_t)((i + 1) * 4096);
}

/* More than a small table holds, on two devices that use the same addresses. */
static void test_many(void **state)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = "allocation"};
	kymo_context_t c;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, count, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	for (uint64_t i = 0; i < MANY; i++)
		for (int device = 0; device < 2; device++)
			omp_device_memory(true, device, address(i), BYTES + (uint64_t)device, 0);
	for (uint64_t i = 0; i < MANY; i++)
		for (int device = 0; device < 2; device++)
			omp_device_memory(false, device, address(i), 0, 0);
	omp_device_memory(false, 0, address(0), 0, 0); /* nobody saw it begin */
	assert_int_equal(freed, 2 * MANY + 1);
	assert_int_equal(freed_bytes, MANY * (2 * BYTES + 1));
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
