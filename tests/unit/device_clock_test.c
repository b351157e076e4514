/* SPDX-License-Identifier: Apache-2.0 */
/* Times of two made-up devices on the host's scale, and how far they may be off. */
#include "tool_support.h"

enum { FIRST = 11, SECOND, UNREAD, TIMELESS }; /* agents; their clocks are ten higher */

static uint64_t base; /* host time of the first reading */

static void define_agent(uint32_t id, uint32_t clock)
{
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	for (unsigned i = 0; i <= DEF_AGENT_PLATFORM; i++) {
		if (i == DEF_AGENT_ID || i == DEF_AGENT_CLOCK)
			wire_def_u64(&d, i == DEF_AGENT_ID ? id : clock);
		else if (i == DEF_AGENT_HANDLE || i == DEF_AGENT_PARENT)
			wire_def_u64(&d, 0);
		else
			wire_def_string(&d, i == DEF_AGENT_TYPE ? "gpu" : "made up");
	}
	cap_define(&d);
}

static void define_clock(uint32_t id, uint64_t rate)
{
	struct wire_def d;

	wire_def_init(&d, DEF_CLOCK);
	wire_def_u64(&d, id);
	wire_def_string(&d, "made up");
	wire_def_string(&d, "device");
	wire_def_u64(&d, rate);
	cap_define(&d);
}

/* The clock was `value` at some time from `host` - half to `host` + half. */
static void reading(uint32_t clock, uint64_t host, uint64_t half, uint64_t value)
{
	struct wire_def d;

	wire_def_init(&d, DEF_CLOCK_SYNC);
	wire_def_u64(&d, clock);
	wire_def_u64(&d, host - half);
	wire_def_u64(&d, host + half);
	wire_def_u64(&d, value);
	wire_def_u64(&d, 1);
	wire_def_u64(&d, CLOCK_SYNC_NODE_TIME);
	cap_define(&d);
}

static void expect(uint32_t agent, uint64_t time, uint64_t host, uint64_t error)
{
	uint64_t got = 0, off = 0;

	assert_int_equal(kymo_clock_to_host(agent, time, &got, &off), KYMO_OK);
	assert_true(got + 1 >= host && got <= host + 1);
	assert_true(off >= error && off <= error + 2);
}

static void test_conversion(void **state)
{
	const uint64_t ms = 1000000, s = 1000 * ms;

	define_clock(FIRST + 10, 1000);
	define_clock(SECOND + 10, 500); /* units of half a nanosecond */
	reading(FIRST + 10, base, 100, 5000);
	/* One reading: its own bound, and away from it a rate that is not known. */
	expect(FIRST, 5000, base, 100);
	expect(FIRST, 5000 + s, base + s, 100 + 100000);
	/* This device runs a tenth too slow. */
	reading(FIRST + 10, base + s, 300, 5000 + 900 * ms);
	expect(FIRST, 5000 + 450 * ms, base + 500 * ms, 300);
	expect(FIRST, 5000 + 900 * ms, base + s, 300);
	/* Half as far again: the bound has grown by what both readings leave open of the rate. */
	expect(FIRST, 5000 + 1350 * ms, base + 1500 * ms, 300 + 200);
	expect(FIRST, 5000 - 45, base - 50, 100);
	/* The other device has a clock of its own, which began with the machine. */
	reading(SECOND + 10, base, 10, 2 * base);
	reading(SECOND + 10, base + s, 10, 2 * (base + s));
	expect(SECOND, base + 7 * ms, base + 7 * ms, 10);
	expect(FIRST, 5000 + 450 * ms, base + 500 * ms, 300);
}

static void test_many_readings(void **state)
{
	for (uint64_t i = 0; i < 1000; i++)
		reading(FIRST + 10, base + i * 1000000, 50, i * 1000000 + 77);
	expect(FIRST, 999500077, base + 999500000, 50);
	/* The early ones are gone: further off, but still bounded. */
	expect(FIRST, 936000077, base + 936000000, 50);
}

static void test_errors(void **state)
{
	uint64_t host;

	assert_int_equal(kymo_clock_to_host(FIRST, 1, NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_clock_to_host(0, 1, &host, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_clock_to_host(UNREAD, 1, &host, NULL), KYMO_ERROR_STATE);
	assert_int_equal(kymo_clock_to_host(4711, 1, &host, NULL), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_clock_to_host(UINT32_MAX, 1, &host, NULL), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_clock_to_host(FIRST, 5000, &host, NULL), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversion),
		cmocka_unit_test(test_many_readings),
		cmocka_unit_test(test_errors),
	};

	t_register();
	base = kymo_time();
	define_agent(FIRST, FIRST + 10);
	define_agent(SECOND, SECOND + 10);
	define_agent(UNREAD, UNREAD + 10);
	define_agent(TIMELESS, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
