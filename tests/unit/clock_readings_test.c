/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks told on the host's scale: on the line through their readings, with bounds, in any order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/define/clock_readings.h"

#define MS    ((uint64_t)1000000)
#define S     ((uint64_t)1000000000)
#define EARLY ((uint64_t)1 << 62) /* clocks may begin anywhere */

static void add(struct clock_readings *c, uint64_t before, uint64_t value, uint64_t after)
{
	struct clock_reading r = clock_reading_between(before, value, after);

	clock_readings_add(c, &r);
}

static void expect(const struct clock_readings *c, uint64_t value, uint64_t host, double error)
{
	uint64_t got = 0;
	double off = -1;

	assert_true(clock_readings_host(c, value, &got, &off));
	if (got + 1 < host || got > host + 1 || off < error - 1 || off > error + 1)
		fail_msg("%llu is %llu within %g, not %llu within %g", (unsigned long long)value,
			 (unsigned long long)got, off, (unsigned long long)host, error);
}

static void none(void **state)
{
	struct clock_readings c = {0};
	uint64_t host = 17;
	double error = 17;

	assert_false(clock_readings_host(&c, 1, &host, &error));
	assert_int_equal(host, 17);
	assert_true(error == 17);
}

static void one(void **state)
{
	struct clock_readings c = {0};
	uint64_t host;

	add(&c, S - 100, EARLY, S + 100);
	expect(&c, EARLY, S, 100);
	/* The rate is not known: a ten thousandth of the way. */
	expect(&c, EARLY + S, 2 * S, 100 + 1e5);
	expect(&c, EARLY - S / 2, S / 2, 100 + 5e4);
	assert_true(clock_readings_host(&c, EARLY + 1, &host, NULL));
	assert_int_equal(host, S + 1);
}

static void bracket(void **state)
{
	struct clock_reading r = clock_reading_between(200, 7, 301), turned;

	assert_int_equal(r.value, 7);
	assert_int_equal(r.host, 250);
	assert_true(r.half_width == 50.5);
	turned = clock_reading_between(300, 7, 200);
	assert_int_equal(turned.host, 300);
	assert_true(turned.half_width == 0);
}

/* A tenth too slow at first, then a fifth too fast. */
static void bent(struct clock_readings *c, const unsigned order[3])
{
	static const struct {
		uint64_t host, value, half;
	} r[] = {{S, EARLY, 100}, {2 * S, EARLY + 900 * MS, 300}, {3 * S, EARLY + 2100 * MS, 200}};

	for (unsigned i = 0; i < 3; i++) {
		unsigned k = order[i];

		add(c, r[k].host - r[k].half, r[k].value, r[k].host + r[k].half);
	}
}

static void lines(void **state)
{
	static const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};

	for (unsigned i = 0; i < 3; i++) {
		struct clock_readings c = {0};

		bent(&c, orders[i]);
		/* A stretch is as good as the worse of its ends. */
		expect(&c, EARLY, S, 300);
		expect(&c, EARLY + 450 * MS, S + 500 * MS, 300);
		expect(&c, EARLY + 900 * MS, 2 * S, 300);
		expect(&c, EARLY + 1500 * MS, 2 * S + 500 * MS, 300);
		expect(&c, EARLY + 2100 * MS, 3 * S, 300);
		/* Outside by the rate over all: 2 s of the host are 2.1 s; it is within 300
		 * / 2.1e9. */
		expect(&c, EARLY - 210 * MS, S - 200 * MS, 100 + 30);
		expect(&c, EARLY + 3150 * MS, 4 * S, 200 + 150);
	}
}

static void near_readings(void **state)
{
	struct clock_readings c = {0};

	/* 1 us apart, off by 200 ns: between them that is the line, beyond them it is no rate. */
	add(&c, S, EARLY, S);
	add(&c, S + 1200, EARLY + 1000, S + 1200);
	expect(&c, EARLY + 500, S + 600, 0);
	expect(&c, EARLY + 1000 + S, 2 * S + 1200, 1e5);
	/* Two of one value: the clock did not move. */
	add(&c, S + 4000, EARLY + 1000, S + 4000);
	expect(&c, EARLY + 1000, S + 1200, 0);
}

static void many(void **state)
{
	struct clock_readings c = {0};

	for (unsigned i = 0; i < CLOCK_READINGS_MAX; i++)
		add(&c, i * S, EARLY + i * S, i * S);
	/* Older than all that are kept: it is not. */
	add(&c, 40 * S, EARLY - S, 40 * S);
	expect(&c, EARLY, 0, 0);
	/* One behind pushes out the first; its place is in the middle. */
	add(&c, 10 * S + 600 * MS, EARLY + 10 * S + 500 * MS, 10 * S + 600 * MS);
	assert_int_equal(c.count, CLOCK_READINGS_MAX);
	assert_int_equal(c.readings[0].value, EARLY + S);
	expect(&c, EARLY + 10 * S + 250 * MS, 10 * S + 300 * MS, 0);
	expect(&c, EARLY + 63 * S, 63 * S, 0);
	for (unsigned i = 1; i < c.count; i++)
		assert_true(c.readings[i - 1].value <= c.readings[i].value);
}

/* Readings that cannot be are answered, with a bound that says what they are worth. */
static void wild(void **state)
{
	struct clock_readings c = {0};
	uint64_t host;
	double error;

	add(&c, 0, 0, UINT64_MAX);
	add(&c, UINT64_MAX / 3, 20 * MS, UINT64_MAX);
	for (unsigned bit = 0; bit < 64; bit++) {
		assert_true(clock_readings_host(&c, (uint64_t)1 << bit, &host, &error));
		assert_true(error >= 1e18 && error <= 9e18);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none),  cmocka_unit_test(one),           cmocka_unit_test(bracket),
		cmocka_unit_test(lines), cmocka_unit_test(near_readings), cmocka_unit_test(many),
		cmocka_unit_test(wild),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
