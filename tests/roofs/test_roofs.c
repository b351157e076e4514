/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roofs without a device: values and intervals of experiments that are known, what kernels are to do in closed form, files,
 * the cache, whose roofs are meant.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "roofs/estimate.h"
#include "roofs/keep.h"
#include "roofs/measure.h"
#include "roofs/kernels.h"

/* ---- estimates ----------------------------------------------------------------------------------- */

static void test_estimate(void **state)
{
	double even[] = {10, 12, 11, 9, 13}, late[] = {4, 5, 4, 5, 4, 9};
	double burst[] = {3, 100, 4, 101, 5, 102, 6, 99, 7, 98, 100},
	       same[] = {5, 5, 5, 5, 5, 5, 1};
	double few[] = {1, 2, 3, 4};
	struct estimate e;

	(void)state;
	/* The better half is 11, 12, 13, whose deviations' median is 1: within 3 * 1.4826 of 12 are all. */
	assert_true(estimate_of(even, 5, false, &e));
	assert_float_equal(e.value, 11, 1e-12);
	assert_float_equal(e.interval, 1.96 * sqrt(2.5 / 5), 1e-12); /* variance 10 / 4 */
	assert_int_equal(e.used, 5);
	/* Half of them were disturbed; what was not is what counts. */
	assert_true(estimate_of(burst, 11, false, &e));
	assert_float_equal(e.value, 100, 1e-12);
	assert_int_equal(e.dropped, 5);
	assert_float_equal(e.interval, 1.96 * sqrt(10.0 / 5 / 6), 1e-12);
	/* Times: the smaller half. */
	assert_true(estimate_of(late, 6, true, &e));
	assert_float_equal(e.value, 4, 1e-12);
	assert_int_equal(e.dropped, 3);
	assert_true(estimate_of(same, 7, false, &e));
	assert_true(e.value == 5 && e.interval == 0 && e.dropped == 1);
	assert_false(estimate_of(few, 4, false, &e));
}

/* ---- kernels ------------------------------------------------------------------------------------- */

static void test_closed_form(void **state)
{
	const struct runner_launch l = {.groups = 6, .items = 2, .n = 1000, .passes = 3};
	const struct kernel_shape copy = {.kind = KERNEL_COPY, .type = RUNNER_FP64, .width = 4};
	const struct kernel_shape read = {.kind = KERNEL_READ, .type = RUNNER_FP32, .width = 4};
	const struct kernel_shape fma = {
		.kind = KERNEL_FMA, .type = RUNNER_FP32, .width = 8, .chains = 12};
	const struct kernel_shape whole = {
		.kind = KERNEL_FMA, .type = RUNNER_INT32, .width = 1, .chains = 2};
	const struct kernel_shape stream = {.kind = KERNEL_STREAM, .type = RUNNER_FP64, .width = 2};
	struct runner_launch many = l;

	(void)state;
	/* Doubles that are moved: 6 groups x 1000 vectors x 4 x 3 passes, read and written. */
	assert_true(kernel_bytes(&copy, &l) == 2.0 * (6 * 1000 * 4 * 3) * 8);
	assert_true(kernel_bytes(&read, &l) == 6.0 * 1000 * 4 * 3 * 4);
	assert_true(kernel_bytes(&fma, &l) == 0 && kernel_operations(&copy, &l) == 0);
	/* 12 work items, each 12 chains of 8 elements, 4 steps a pass, two operations a step. */
	assert_true(kernel_operations(&fma, &l) == 12.0 * 12 * 8 * 4 * 3 * 2);
	assert_true(kernel_result(&copy, &l, 0) == 4 && kernel_result(&copy, &l, 4) == 1);
	assert_true(kernel_result(&copy, &l, 4000) == 4); /* the second group's first vector */
	assert_true(kernel_results(&copy, &l) == 24000);
	assert_true(kernel_result(&read, &l, 17) == 3 * 500);
	assert_true(kernel_result(&fma, &l, 5) == 12 * (4 * 3) + 66); /* 0 + 1 + ... + 11 */
	many.passes = 1u << 30;
	assert_true(kernel_result(&whole, &many, 0) == 1); /* 2 * 2^32 + 1, of 32 bits */
	/* The largest sum is one that a float holds. */
	many.passes = kernel_passes_most(&fma, 0);
	assert_true(kernel_result(&fma, &many, 0) <= 0x1p24);
	assert_true(kernel_result(&fma, &many, 0) > 0.99 * 0x1p24);
	assert_int_equal(kernel_passes_most(&stream, l.n), 1); /* each vector is moved once */
}

static double half(uint16_t h)
{
	const struct kernel_shape s = {.kind = KERNEL_FMA, .type = RUNNER_FP16, .width = 2};

	return kernel_element(&s, &h, 0);
}

static void test_halves(void **state)
{
	(void)state;
	assert_true(half(0x3c00) == 1 && half(0xbc00) == -1 && half(0x4f00) == 28);
	assert_true(half(0) == 0 && half(1) == 0x1p-24 && half(0x7bff) == 65504);
	assert_true(isinf(half(0x7c00)) && isnan(half(0x7e00)));
}

/* ---- files --------------------------------------------------------------------------------------- */

static struct roofs made(const char *name, const char *uuid, uint32_t twin, double memory)
{
	struct roofs r = {.count = 3, .load = NAN, .seconds = 1.5};

	strcpy(r.device.api, "opencl");
	strcpy(r.device.type, "gpu");
	snprintf(r.device.name, sizeof(r.device.name), "%s", name);
	snprintf(r.device.uuid, sizeof(r.device.uuid), "%s", uuid);
	gethostname(r.device.host, sizeof(r.device.host) - 1);
	r.device.twin = twin;
	r.device.cache[1] = 1u << 20;
	strcpy(r.date, "2026-01-02T03:04:05+0000");
	r.roofs[0] = (struct roof){.name = "memory",
				   .type = "memory",
				   .kind = ROOF_BANDWIDTH,
				   .value = memory,
				   .interval = memory / 50,
				   .peak = NAN,
				   .experiments = 40,
				   .dropped = 2,
				   .bytes = 1u << 27};
	r.roofs[1] = (struct roof){.name = "fp32x1",
				   .type = "fp32",
				   .kind = ROOF_COMPUTE,
				   .value = 1e9,
				   .interval = 1e6,
				   .peak = 4e9};
	r.roofs[2] = (struct roof){.name = "fp32x8",
				   .type = "fp32",
				   .kind = ROOF_COMPUTE,
				   .value = NAN,
				   .interval = NAN,
				   .peak = NAN,
				   .why = "a \"reason\""};
	return r;
}

static void test_json(void **state)
{
	struct roofs one[2] = {made("a\x1b\"b", "00ff", 0, 5e9), made("c", "", 1, 6e9)};
	const struct roofs_list l = {.list = one, .count = 2};
	struct roofs_list back = {0};
	struct text t = {0};
	char why[ROOF_WHY];

	(void)state;
	roofs_write(&l, &t);
	assert_true(roofs_read(t.s, t.length, &back, why));
	assert_int_equal(back.count, 2);
	assert_string_equal(back.list[0].device.name, "a\x1b\"b");
	assert_int_equal(back.list[1].device.twin, 1);
	assert_int_equal(back.list[0].device.cache[1], 1 << 20);
	assert_true(isnan(back.list[0].load) && back.list[0].seconds == 1.5);
	assert_true(back.list[1].roofs[0].value == 6e9 &&
		    back.list[1].roofs[0].interval == 6e9 / 50);
	assert_int_equal(back.list[0].roofs[0].dropped, 2);
	assert_true(isnan(back.list[0].roofs[2].value));
	assert_string_equal(back.list[0].roofs[2].why, "a \"reason\"");
	assert_true(roofs_value(&back.list[0], "fp32") == 1e9); /* the other was not measured */
	assert_true(isnan(roofs_value(&back.list[0], "fp64")));
	roofs_list_release(&back);
	text_release(&t);
}

static void test_bad_files(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"{\"devices\": 3}",
		"{\"devices\": [{}]}",
		"{\"devices\": [{\"name\": \"x\", \"roofs\": [{\"name\": \"memory\"}]}]}",
		("{\"devices\": [{\"name\": \"x\", \"roofs\": [{\"name\": \"memory\", \"kind\": "
		 "\"bandwidth\", \"value\": -1}]}]}")};
	struct roofs_list l = {0};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char why[ROOF_WHY] = "";

		assert_false(roofs_read(bad[i], strlen(bad[i]), &l, why));
		assert_true(*why && l.count == 0 && !l.list);
	}
}

static void test_text(void **state)
{
	struct roof r = {.kind = ROOF_BANDWIDTH, .value = 12.34e9, .interval = 5e7};
	char out[ROOF_TEXT];

	(void)state;
	assert_string_equal(roof_text(&r, false, out), "12.34 +- 0.05 GB/s");
	assert_string_equal(roof_text(&r, true, out), "12.34 \xc2\xb1 0.05 GB/s");
	r = (struct roof){.kind = ROOF_LATENCY, .value = 4.5e-6, .interval = 1e-7};
	assert_string_equal(roof_text(&r, false, out), "4.500 +- 0.100 us");
	r = (struct roof){
		.kind = ROOF_COMPUTE, .type = "int32", .value = 123.45e12, .interval = 1e12};
	assert_string_equal(roof_text(&r, false, out), "123.5 +- 1.0 TOP/s");
	r.value = NAN;
	assert_string_equal(roof_text(&r, false, out), "N/A");
}

/* ---- the cache ----------------------------------------------------------------------------------- */

static char folder[] = "/tmp/kymo-test-roofs-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1) != 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return !file_remove_tree(folder);
}

static void put(const struct roofs *r)
{
	char why[ROOF_WHY] = "";

	if (!keep_put(r, why))
		fail_msg("%s", why);
}

/* Two devices of one name are two; so are two drivers, and one device on two hosts that nothing else tells apart. */
static void test_keys(void **state)
{
	struct roofs r[5] = {made("k", "", 0, 1), made("k", "", 1, 1), made("k", "aa", 0, 1),
			     made("k", "", 0, 1), made("k", "", 0, 1)};
	char path[5][PATH_MAX], why[ROOF_WHY];

	(void)state;
	strcpy(r[3].device.driver, "another");
	strcpy(r[4].device.host, "another");
	for (unsigned i = 0; i < 5; i++) {
		assert_true(keep_path(&r[i].device, path[i], why));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(path[i], path[k]);
	}
	strcpy(r[2].device.host, "another"); /* its uuid tells which it is */
	assert_true(keep_path(&r[2].device, path[0], why));
	assert_string_equal(path[0], path[2]);
}

static void test_found(void **state)
{
	const struct roofs first = made("GPU", "a1b2", 0, 1e9),
			   second = made("GPU", "c3d4", 0, 2e9);
	struct roofs lone = made("CPU", "", 0, 3e9), away = made("CPU", "", 0, 4e9), r;
	char why[ROOF_WHY];

	(void)state;
	strcpy(away.device.host, "elsewhere");
	put(&first);
	put(&second);
	put(&lone);
	put(&away);
	assert_true(roofs_of_device(&(struct roofs_wanted){.uuid = "GPU-C3-D4", .name = "GPU"}, &r,
				    why));
	assert_true(roofs_value(&r, "memory") == 2e9);
	assert_true(roofs_of_device(&(struct roofs_wanted){.name = "CPU"}, &r, why));
	assert_true(roofs_value(&r, "memory") == 3e9);
	assert_true(roofs_of_device(&(struct roofs_wanted){.name = "CPU", .host = "elsewhere"}, &r,
				    why));
	assert_true(roofs_value(&r, "memory") == 4e9);
	assert_false(roofs_of_device(&(struct roofs_wanted){.name = "GPU"}, &r, why));
	assert_non_null(strstr(why, "several"));
	assert_false(
		roofs_of_device(&(struct roofs_wanted){.name = "GPU", .uuid = "ffff"}, &r, why));
	assert_false(
		roofs_of_device(&(struct roofs_wanted){.name = "CPU", .host = "third"}, &r, why));
	assert_non_null(strstr(why, "kymo calibrate"));
	/* Measured again: the new ones take their place. */
	lone.roofs[0].value = 9e9;
	put(&lone);
	assert_true(keep_find(&lone.device, &r));
	assert_true(roofs_value(&r, "memory") == 9e9);
}

/* What lacks some roofs is kept where there is nothing better, and gives way to what has all. */
static void test_missing(void **state)
{
	struct roofs some = made("PART", "", 0, 1e9), all = made("PART", "", 0, 2e9), r;
	char why[ROOF_WHY] = "";

	(void)state;
	strcpy(some.roofs[0].why, MEASURE_NO_TIME);
	assert_int_equal(keep_missing(&some), 1);
	put(&some);
	assert_true(keep_find(&some.device, &r));
	assert_int_equal(keep_missing(&r), 1);
	put(&all);
	assert_false(keep_put(&some, why));
	assert_non_null(strstr(why, "which lack none"));
	assert_true(keep_find(&some.device, &r));
	assert_int_equal(keep_missing(&r), 0);
}

static void tell_waiting(void *data)
{
	int *fd = data;

	if (*fd >= 0 && write(*fd, "w", 1) == 1) {
		close(*fd);
		*fd = -1;
	}
}

/* Another process has to wait for its turn, says so, and gets it. */
static void test_lock(void **state)
{
	int lock = keep_lock(tell_waiting, &(int){-1}), ends[2], result;
	char said = 0;
	pid_t child;

	(void)state;
	assert_true(lock >= 0);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		close(lock); /* of the same open file: the parent's stays */
		_exit(keep_lock(tell_waiting, &ends[1]) >= 0 ? (ends[1] < 0 ? 0 : 1) : 2);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &said, 1), 1); /* nothing, if it did not wait */
	close(lock);
	assert_int_equal(waitpid(child, &result, 0), child);
	assert_int_equal(result, 0);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_estimate),  cmocka_unit_test(test_closed_form),
		cmocka_unit_test(test_halves),    cmocka_unit_test(test_json),
		cmocka_unit_test(test_bad_files), cmocka_unit_test(test_text),
		cmocka_unit_test(test_keys),      cmocka_unit_test(test_found),
		cmocka_unit_test(test_missing),   cmocka_unit_test(test_lock),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
