/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring a device that is made up: what it attains is known, its first launches are slow, as those of a busy machine
 * or of a runtime that compiles then.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "roofs/measure.h"
#include "roofs/plan.h"

#define RATE     1e12 /* operations and bytes a second */
#define STARTING 20e-6
#define SLOW     50e-3

enum { DISTURBED = 4 /* launches of each kernel */, BUFFER = 1 << 20 };

/* A kernel, which its source tells. */
struct kernel {
	struct kernel_shape shape;
	unsigned launched;
};

static const char *slow_name; /* a roof of which a hundredth is attained; "": none */
static struct runner_launch last;
static unsigned builds, builds_before_transfers;

static bool open_it(struct runner *r, char why[ROOF_WHY])
{
	(void)r;
	(void)why;
	return true;
}

static void close_it(struct runner *r)
{
	(void)r;
}

static void *build(struct runner *r, const char *source, char why[ROOF_WHY])
{
	struct kernel *k = calloc(1, sizeof(*k));
	struct runner copy = *r;
	struct plan plan;

	(void)why;
	builds++;
	plan_make(&plan, &copy, false);
	for (unsigned i = 0; k && i < plan.count; i++) {
		struct text t = {0};

		kernel_source(&plan.rows[i].shape, RUNNER_OPENCL, &t);
		if (plan.rows[i].what != ROW_TRANSFER && strcmp(t.s, source) == 0)
			k->shape = plan.rows[i].shape;
		text_release(&t);
	}
	return k;
}

static void forget(struct runner *r, void *kernel)
{
	(void)r;
	free(kernel);
}

static bool reserve(struct runner *r, uint64_t bytes, char why[ROOF_WHY])
{
	(void)r;
	(void)bytes;
	(void)why;
	return true;
}

static bool put(struct runner *r, enum runner_buffer to, uint64_t at, const void *from,
		uint64_t bytes, char why[ROOF_WHY])
{
	(void)r;
	(void)to;
	(void)at;
	(void)from;
	(void)bytes;
	(void)why;
	return true;
}

/* What the kernel is to have written. */
static bool get(struct runner *r, enum runner_buffer from, uint64_t at, void *to, uint64_t bytes,
		char why[ROOF_WHY])
{
	const struct kernel *k = last.kernel;
	const unsigned each = kernel_element_bytes(k->shape.type);

	(void)r;
	(void)from;
	(void)why;
	for (uint64_t i = 0; i < bytes / each; i++) {
		const double d = kernel_result(&k->shape, &last, at / each + i);
		const float f = (float)d;
		const uint32_t u = (uint32_t)d;

		memcpy((char *)to + i * each,
		       k->shape.type == RUNNER_FP64   ? (const void *)&d
		       : k->shape.type == RUNNER_FP32 ? (const void *)&f
						      : (const void *)&u,
		       each);
	}
	return true;
}

static bool launch(struct runner *r, const struct runner_launch *l, double *seconds, double *host,
		   char why[ROOF_WHY])
{
	struct kernel *k = l->kernel;
	const bool slow = *slow_name && k->shape.kind == KERNEL_FMA &&
			  k->shape.type == RUNNER_FP32 && k->shape.width == 1;
	const double work = kernel_operations(&k->shape, l) + kernel_bytes(&k->shape, l);

	(void)r;
	(void)why;
	last = *l;
	*seconds = STARTING + work / RATE * (slow ? 100 : 1);
	if (k->launched++ < DISTURBED)
		*seconds += SLOW;
	*host = *seconds;
	return true;
}

static bool launch_many(struct runner *r, const struct runner_launch *l, unsigned count,
			double *host, char why[ROOF_WHY])
{
	(void)r;
	(void)l;
	(void)why;
	*host = STARTING * count;
	return true;
}

static void *host_new(struct runner *r, bool pinned, uint64_t bytes, char why[ROOF_WHY])
{
	(void)r;
	(void)pinned;
	(void)why;
	if (!builds_before_transfers)
		builds_before_transfers = builds;
	return malloc(bytes);
}

static void host_free(struct runner *r, bool pinned, void *memory)
{
	(void)r;
	(void)pinned;
	free(memory);
}

static bool transfer(struct runner *r, bool to_device, bool pinned, void *memory, uint64_t bytes,
		     double *seconds, char why[ROOF_WHY])
{
	(void)r;
	(void)to_device;
	(void)pinned;
	(void)memory;
	(void)why;
	*seconds = (double)bytes / RATE;
	return true;
}

static void measure(struct roofs *out)
{
	static const struct runner_functions f = {open_it,     close_it, build,     forget,
						  reserve,     put,      get,       launch,
						  launch_many, host_new, host_free, transfer};
	struct runner r = {
		.f = &f,
		.device = {.api = "opencl",
			   .type = "accelerator",
			   .name = "made up",
			   .units = 1,
			   .memory_bytes = 64 * BUFFER},
		.has = {[RUNNER_FP64] = true, [RUNNER_FP32] = true, [RUNNER_INT32] = true},
		.native = {4, 8, 1, 8},
		.local_bytes = 32 << 10,
		.buffer_most = BUFFER};

	measure_device(&r, &(struct measure_limits){.seconds = 600, .rounds = 2}, out);
}

/* What disturbs a few launches does not make little work of a roof: starting it would be most of what is measured. */
static void test_disturbed(void **state)
{
	struct roofs out;
	unsigned checked = 0;

	(void)state;
	slow_name = "";
	builds = builds_before_transfers = 0;
	measure(&out);
	for (unsigned i = 0; i < out.count; i++) {
		const struct roof *r = &out.roofs[i];

		if (r->kind != ROOF_COMPUTE || strncmp(r->name, "fp16", 4) == 0)
			continue;
		if (!(r->value > 0.9 * RATE && r->value <= RATE))
			fail_msg("%s: %g of %g: %s", r->name, r->value, RATE, r->why);
		checked++;
	}
	assert_int_equal(checked, 6);
	assert_string_equal(out.note, "");
	/* Memory and arithmetic before links. */
	assert_int_equal(builds_before_transfers, checked + 2);
}

static void test_odd(void **state)
{
	struct roofs out;

	(void)state;
	slow_name = "fp32x1";
	measure(&out);
	assert_non_null(strstr(out.note, "fp32x1 is far below what fp64x1 leads to expect"));
}

/* Of several measurements of a device the newest holds: each says when it was made, and of what version. */
static void test_dated(void **state)
{
	time_t before = time(NULL), said;
	struct tm tm = {.tm_isdst = -1};
	struct roofs out;
	const char *zone;
	long offset;

	(void)state;
	slow_name = "";
	measure(&out);
	zone = strptime(out.date, "%Y-%m-%dT%H:%M:%S", &tm);
	assert_non_null(zone);
	assert_int_equal(strlen(zone), 5); /* +hhmm */
	offset = strtol(zone, NULL, 10);
	said = timegm(&tm) - (offset / 100 * 60 + offset % 100) * 60;
	assert_in_range(said, before, time(NULL));
	assert_string_equal(out.version, KYMO_VERSION);
	assert_false(out.quick);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_disturbed),
					   cmocka_unit_test(test_odd),
					   cmocka_unit_test(test_dated)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
