/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that do not fit into one pass, and kernels that are counted one by one: providers of the
 * test's own, of which one has room for two counters of each of its blocks, another for one; one tells
 * of kernels of two devices.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <kymo/counter.h>

#include "core/capture.h"
#include "core/counter/kernel.h"

/* ---- providers ---- */

/* "a1" to "a5" are of block a, "b1" to "b3" of block b; "x" fits nowhere, "dim" has three instances. */
enum { A = 0, B = 10, X = 20, DIM = 21, THREADS = 22, LEVEL = 23, BLOCK_ROOM = 2 };

static double clock_of_test; /* what kernels take; every counter counts it, times its handle + 1 */
static bool reads_fail;
static int open_now;
static unsigned most_together;

static kymo_status_t add_one(kymo_counter_list_fn add, void *to, const char *name, uint64_t handle,
			     uint32_t modes, uint32_t flags)
{
	static const kymo_dimension_t lanes[] = {{"LANE", 3}};
	const kymo_counter_info_t info = {.size = sizeof(info),
					  .name = name,
					  .modes = modes,
					  .flags = flags,
					  .dimension_count = handle == DIM,
					  .dimensions = handle == DIM ? lanes : NULL,
					  .handle = handle};

	return add(&info, to);
}

static kymo_status_t list_blocks(kymo_counter_list_fn add, void *to, void *data)
{
	static const char names[][4] = {"a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3"};

	for (uint64_t i = 0; i < 8; i++)
		add_one(add, to, names[i], i < 5 ? A + i : B + i - 5, KYMO_COUNTER_AGENT, 0);
	add_one(add, to, "x", X, KYMO_COUNTER_AGENT, 0);
	add_one(add, to, "dim", DIM, KYMO_COUNTER_AGENT, 0);
	add_one(add, to, "level", LEVEL, KYMO_COUNTER_AGENT, KYMO_COUNTER_GAUGE);
	return add_one(add, to, "threads", THREADS, KYMO_COUNTER_THREAD, 0);
}

static kymo_status_t list_single(kymo_counter_list_fn add, void *to, void *data)
{
	static const char names[][4] = {"s1", "s2", "s3"};

	for (uint64_t i = 0; i < 3; i++)
		add_one(add, to, names[i], A + i, KYMO_COUNTER_AGENT, 0);
	return KYMO_OK;
}

static kymo_status_t admit_blocks(const kymo_counter_request_t *r, void *data)
{
	unsigned in_block[3] = {0};

	for (uint32_t i = 0; i < r->count; i++)
		if (++in_block[r->counters[i] / 10] > BLOCK_ROOM || r->counters[i] == X) {
			snprintf(r->reason, r->reason_size, "a block has two registers");
			return KYMO_ERROR_LIMIT;
		}
	return KYMO_OK;
}

static kymo_status_t admit_single(const kymo_counter_request_t *r, void *data)
{
	return r->count < 2 ? KYMO_OK : KYMO_ERROR_LIMIT;
}

struct session {
	uint32_t count;
	uint64_t counters[16];
};

static kymo_status_t open_session(const kymo_counter_request_t *r, void **session, void *data)
{
	struct session *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->count = r->count;
	memcpy(s->counters, r->counters, r->count * sizeof(s->counters[0]));
	most_together = r->count > most_together ? r->count : most_together;
	open_now++;
	*session = s;
	return KYMO_OK;
}

static kymo_status_t read_session(void *session, double *values, void *data)
{
	const struct session *s = session;

	for (uint32_t i = 0; i < s->count; i++)
		for (unsigned k = 0; k < (s->counters[i] == DIM ? 3u : 1u); k++)
			*values++ = clock_of_test * (double)(s->counters[i] + 1);
	return reads_fail ? KYMO_ERROR_SYSTEM : KYMO_OK;
}

static void close_session(void *session, void *data)
{
	free(session);
	open_now--;
}

static const kymo_counter_provider_t blocks = {.size = sizeof(blocks),
					       .name = "blocks",
					       .list = list_blocks,
					       .admit = admit_blocks,
					       .open = open_session,
					       .read = read_session,
					       .close = close_session};
static const kymo_counter_provider_t single = {.size = sizeof(single),
					       .name = "single",
					       .list = list_single,
					       .admit = admit_single,
					       .open = open_session,
					       .read = read_session,
					       .close = close_session};

/* "kernels" of two devices tells of kernels, two values of each. */
enum { DEVICES = 2, FIRST_DEVICE = 7 };

static struct teller {
	void (*deliver)(void *to, const kymo_counter_dispatch_t *d);
	void *to;
} tellers[DEVICES];

static kymo_status_t list_devices(kymo_counter_list_fn add, void *to, void *data)
{
	static const kymo_dimension_t halves[] = {{"HALF", 2}};

	for (uint32_t i = 0; i < DEVICES; i++) {
		const kymo_counter_info_t info = {.size = sizeof(info),
						  .name = "kernels",
						  .agent = FIRST_DEVICE + i,
						  .modes = KYMO_COUNTER_DISPATCH,
						  .dimension_count = 1,
						  .dimensions = halves,
						  .handle = i};

		assert_int_equal(add(&info, to), KYMO_OK);
	}
	return KYMO_OK;
}

static kymo_status_t admit_devices(const kymo_counter_request_t *r, void *data)
{
	return KYMO_OK;
}

static kymo_status_t open_device(const kymo_counter_request_t *r, void **session, void *data)
{
	tellers[r->agent - FIRST_DEVICE] = (struct teller){r->deliver, r->to};
	return open_session(r, session, data);
}

static const kymo_counter_provider_t devices = {.size = sizeof(devices),
						.name = "devices",
						.list = list_devices,
						.admit = admit_devices,
						.open = open_device,
						.close = close_session};

/* ---- what is delivered ---- */

struct got {
	uint64_t correlation, duration;
	uint32_t agent, kernel, count;
	double values[16];
};
static struct got got[64];
static unsigned got_count;

static void on_values(kymo_context_t c, const kymo_counter_values_t *v, void *data)
{
	struct got *g = &got[got_count++];

	assert_int_equal(v->op, KYMO_COUNTER_OP_DISPATCH);
	*g = (struct got){v->correlation, v->end - v->start, v->agent, v->kernel, v->count, {0}};
	memcpy(g->values, v->values, v->count * sizeof(double));
}

static kymo_context_t context;

static int setup(void **state)
{
	got_count = most_together = 0;
	reads_fail = false;
	return kymo_context_create(&context) != KYMO_OK;
}

static int teardown(void **state)
{
	kymo_context_destroy(context);
	return open_now || cap_counts_kernels();
}

static kymo_counter_set_t set_of(const char *list)
{
	kymo_counter_set_t set = {0};

	if (kymo_counter_set_parse("test", list, &set) != KYMO_OK)
		fail_msg("%s: %s", list, kymo_counter_error());
	return set;
}

static kymo_status_t serve(const char *list, kymo_counter_kernel_desc_t desc)
{
	kymo_counter_set_t set = set_of(list);
	kymo_status_t status;

	desc.size = sizeof(desc);
	desc.callback = on_values;
	status = kymo_counter_kernel_service(context, set, &desc);
	kymo_counter_set_destroy(set);
	return status;
}

/* A launch that takes `takes` each time it runs. Returns how often it ran. */
static unsigned launch(uint32_t kernel, uint64_t correlation, double takes)
{
	const struct cap_launch l = {
		.agent = 3, .queue = 4, .kernel = kernel, correlation, .processor = true};
	struct cap_counted_launch c;
	unsigned runs = 0;

	if (!cap_counts_kernels() || !cap_launch_chosen(&c, &l) || !cap_launch_hold(&c))
		return 0;
	while (c.at < c.passes) {
		cap_pass_begin(&c);
		clock_of_test += takes;
		runs++;
		cap_pass_end(&c, true);
	}
	cap_launch_end(&c);
	clock_of_test += 1000; /* of nobody */
	return runs;
}

/* ---- the planner ---- */

static void expect_plan(const char *list, const char *passes)
{
	uint8_t pass_of[KYMO_COUNTER_CHOICES];
	kymo_counter_set_t set = set_of(list);
	uint32_t count, most = 0;

	assert_int_equal(kymo_counter_passes(set, pass_of, &count), KYMO_OK);
	for (unsigned i = 0; passes[i]; i++) {
		uint32_t expected = (uint32_t)(passes[i] - '0');

		if (pass_of[i] != expected)
			fail_msg("%s: counter %u is in pass %u, not %u", list, i, pass_of[i],
				 expected);
		most = expected > most ? expected : most;
	}
	assert_int_equal(count, most + 1);
	kymo_counter_set_destroy(set);
}

static void first_fit(void **state)
{
	expect_plan("a1", "0");
	expect_plan("a1,a2", "00");
	expect_plan("a1,a2,a3,a4,a5", "00112");
	expect_plan("a5,a3,a1", "001");             /* in the order they are named */
	expect_plan("a1,a2,a3,b1,b2,b3", "001001"); /* a block does not fill another */
	expect_plan("s1,s2,s3", "012");             /* room for one */
	expect_plan("s1,a1,s2,a2,s3,a3", "001021"); /* nor a provider another */
	expect_plan("a1,a2,a3,dim", "0010");
	expect_plan("sum(dim),max(dim),avg(dim)", "000"); /* one counter */
}

static void what_fits_nowhere_is_refused(void **state)
{
	kymo_counter_set_t set = set_of("a1,x");
	uint32_t count;

	assert_int_equal(kymo_counter_passes(set, NULL, &count), KYMO_ERROR_UNSUPPORTED);
	assert_non_null(strstr(kymo_counter_error(), "x of the set"));
	assert_non_null(strstr(kymo_counter_error(), "a block has two registers"));
	kymo_counter_set_destroy(set);
	assert_int_equal(serve("a1,x", (kymo_counter_kernel_desc_t){0}), KYMO_ERROR_UNSUPPORTED);
	assert_int_equal(serve("threads", (kymo_counter_kernel_desc_t){0}), KYMO_ERROR_UNSUPPORTED);
	assert_non_null(strstr(kymo_counter_error(), "whole process"));
	assert_int_equal(serve("a1,a2,a3",
			       (kymo_counter_kernel_desc_t){.replay = KYMO_REPLAY_ONE, .pass = 2}),
			 KYMO_ERROR_LIMIT);
	assert_int_equal(kymo_counter_passes((kymo_counter_set_t){1234567}, NULL, &count),
			 KYMO_ERROR_NOT_FOUND);
}

/* ---- launches ---- */

static bool is_nan(double v)
{
	return v != v;
}

static void each_pass_has_its_values(void **state)
{
	assert_int_equal(serve("a1,a2,s1,a3,s2,level", (kymo_counter_kernel_desc_t){0}), KYMO_OK);
	assert_int_equal(launch(7, 70, 5), 0); /* not started */
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	clock_of_test = 100;
	assert_int_equal(launch(7, 71, 5), 2);
	assert_int_equal(launch(8, 72, 11), 2);
	assert_int_equal(got_count, 4);
	for (unsigned i = 0; i < 4; i++) {
		const double takes = i < 2 ? 5 : 11;
		const double *v = got[i].values;

		assert_int_equal(got[i].correlation, 71 + i / 2);
		assert_int_equal(got[i].kernel, 7 + i / 2);
		assert_int_equal(got[i].agent, 3);
		assert_int_equal(got[i].count, 6);
		for (unsigned k = 0; k < 6; k++) /* a3 and s2 are in the second pass */
			assert_int_equal(is_nan(v[k]), (k == 3 || k == 4) != (i % 2 == 1));
		assert_true(i % 2 || (v[0] == takes && v[1] == 2 * takes && v[2] == takes));
		assert_true(!(i % 2) || (v[3] == 3 * takes && v[4] == 2 * takes));
	}
	assert_true(got[0].values[5] == 105 * (LEVEL + 1)); /* a level, no difference */
	assert_int_equal(most_together, 3);
	assert_int_equal(open_now, 0); /* between launches nothing is counted */
	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(launch(7, 73, 5), 0);
}

static void launches_take_turns(void **state)
{
	assert_int_equal(
		serve("a1,a2,a3,a4,a5", (kymo_counter_kernel_desc_t){.replay = KYMO_REPLAY_ROTATE}),
		KYMO_OK);
	kymo_context_start(context);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(launch(9, i, 1), 1);
	assert_int_equal(got_count, 6);
	/* Which launch is the first depends on what ran before. */
	for (unsigned i = 0; i < 3; i++) {
		unsigned values = 0;

		for (unsigned k = 0; k < 5; k++) {
			values += !is_nan(got[i].values[k]);
			assert_int_equal(is_nan(got[i].values[k]), is_nan(got[i + 3].values[k]));
			assert_int_equal(!is_nan(got[0].values[k]) + !is_nan(got[1].values[k]) +
						 !is_nan(got[2].values[k]),
					 1);
		}
		assert_true(values == 1 || values == 2);
	}
}

static void one_pass_alone(void **state)
{
	assert_int_equal(serve("a1,a2,a3",
			       (kymo_counter_kernel_desc_t){.replay = KYMO_REPLAY_ONE, .pass = 1}),
			 KYMO_OK);
	kymo_context_start(context);
	assert_int_equal(launch(9, 1, 4), 1);
	assert_int_equal(got_count, 1);
	assert_true(is_nan(got[0].values[0]) && is_nan(got[0].values[1]));
	assert_true(got[0].values[2] == 12);
}

static uint64_t first_number;

/* The second launch from the first that it was asked about. */
static bool second(const kymo_counter_launch_t *l, void *data)
{
	assert_int_equal(l->agent, 3);
	assert_int_equal(l->queue, 4);
	if (!first_number)
		first_number = l->number;
	return l->number == first_number + 1;
}

static void launches_are_chosen(void **state)
{
	kymo_context_t other;
	kymo_counter_set_t set = set_of("b1");
	const kymo_counter_kernel_desc_t all = {.size = sizeof(all), .callback = on_values};

	first_number = 0;
	assert_int_equal(serve("a1", (kymo_counter_kernel_desc_t){.filter = second}), KYMO_OK);
	kymo_context_start(context);
	assert_int_equal(launch(9, 1, 4), 0);
	assert_int_equal(launch(9, 2, 4), 1);
	assert_int_equal(launch(9, 3, 4), 0);
	assert_int_equal(got_count, 1);
	assert_int_equal(got[0].correlation, 2);
	/* A second tool has passes of its own. */
	assert_int_equal(kymo_context_create(&other), KYMO_OK);
	assert_int_equal(kymo_counter_kernel_service(other, set, &all), KYMO_OK);
	kymo_counter_set_destroy(set);
	kymo_context_start(other);
	first_number = 0;
	assert_int_equal(launch(9, 4, 4), 1);
	assert_int_equal(launch(9, 5, 4), 2);
	assert_int_equal(got_count, 4);
	assert_true(got[2].values[0] == 4 && got[3].values[0] == 4 * (B + 1));
	kymo_context_destroy(other);
	assert_int_equal(launch(9, 6, 4), 0);
}

/* ---- who is in the way ---- */

static void *enqueue_meanwhile(void *arg)
{
	const bool entered = cap_gate_enter();

	*(bool *)arg = entered;
	cap_gate_leave(entered);
	return NULL;
}

static void others_wait_for_a_second(void **state)
{
	const struct cap_launch l = {.agent = 3, .kernel = 9, .processor = true};
	struct cap_counted_launch c;
	bool entered = true;
	pthread_t t;

	assert_int_equal(serve("a1", (kymo_counter_kernel_desc_t){0}), KYMO_OK);
	kymo_context_start(context);
	assert_true((cap_launch_chosen(&c, &l) && cap_launch_hold(&c)));
	assert_false(
		cap_gate_enter()); /* by who counts, as in a callback of the runtime: at once */
	cap_pass_begin(&c);
	assert_int_equal(pthread_create(&t, NULL, enqueue_meanwhile, &entered), 0);
	pthread_join(t, NULL);
	assert_false(entered);
	cap_pass_end(&c, true); /* it enqueued something: the values are not the kernel's */
	cap_launch_end(&c);
	assert_int_equal(got_count, 0);
	assert_int_equal(pthread_create(&t, NULL, enqueue_meanwhile, &entered), 0);
	pthread_join(t, NULL);
	assert_true(entered);
	assert_int_equal(launch(9, 1, 4), 1);
	assert_int_equal(got_count, 1);
}

static void failures_have_no_values(void **state)
{
	const struct cap_launch l = {.agent = 3, .kernel = 9, .processor = true};
	struct cap_counted_launch c;

	assert_int_equal(serve("a1,a2,a3", (kymo_counter_kernel_desc_t){0}), KYMO_OK);
	kymo_context_start(context);
	reads_fail = true;
	assert_int_equal(launch(9, 1, 4), 2);
	reads_fail = false;
	assert_true((cap_launch_chosen(&c, &l) && cap_launch_hold(&c)));
	cap_launch_first_only(&c, "a reason");
	assert_int_equal(c.passes, 1);
	cap_pass_begin(&c);
	cap_pass_end(&c, false);
	cap_launch_end(&c);
	assert_int_equal(got_count, 0);
	assert_int_equal(launch(9, 1, 4), 2);
	assert_int_equal(got_count, 2);
}

static void stop_inside(kymo_context_t c, const kymo_counter_values_t *v, void *data)
{
	got_count++;
	assert_int_equal(kymo_context_stop(c), KYMO_OK);
}

static void a_callback_may_stop(void **state)
{
	const kymo_counter_kernel_desc_t desc = {.size = sizeof(desc), .callback = stop_inside};
	kymo_counter_set_t set = set_of("a1");

	assert_int_equal(kymo_counter_kernel_service(context, set, &desc), KYMO_OK);
	kymo_counter_set_destroy(set);
	kymo_context_start(context);
	assert_int_equal(launch(9, 1, 4), 1);
	assert_int_equal(got_count, 1);
	assert_int_equal(launch(9, 1, 4), 0);
	kymo_context_start(context);
	assert_int_equal(launch(9, 1, 4), 1);
	assert_int_equal(got_count, 2);
	open_now = 0; /* what was open then stays */
}

static void expect_half(const struct got *g, uint32_t device, double first, double second)
{
	const double *own = &g->values[2 * device], *other = &g->values[2 * (1 - device)];

	assert_int_equal(g->agent, FIRST_DEVICE + device);
	assert_int_equal(g->count, 4);
	assert_true(own[0] == first && own[1] == second);
	assert_true(isnan(other[0]) && isnan(other[1]));
}

/* A kernel of one device has the values of that device; what another counts is not known of it. */
static void kernels_of_two_devices(void **state)
{
	const double first[] = {1, 2}, second[] = {3, 4};
	kymo_counter_set_t set = set_of("kernels");
	kymo_counter_dispatch_t d = {.size = sizeof(d)};

	assert_int_equal(kymo_counter_dispatch_service(context, set, on_values, NULL), KYMO_OK);
	kymo_counter_set_destroy(set);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	d.values = second;
	tellers[1].deliver(tellers[1].to, &d);
	d.values = first;
	tellers[0].deliver(tellers[0].to, &d);
	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(got_count, 2);
	expect_half(&got[0], 1, 3, 4);
	expect_half(&got[1], 0, 1, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_fit),
		TEST(what_fits_nowhere_is_refused),
		TEST(each_pass_has_its_values),
		TEST(launches_take_turns),
		TEST(one_pass_alone),
		TEST(launches_are_chosen),
		TEST(others_wait_for_a_second),
		TEST(failures_have_no_values),
		TEST(kernels_of_two_devices),
		TEST(a_callback_may_stop), /* the last: what was open then stays */
	};

	if (kymo_counter_provider_register(&blocks) != KYMO_OK ||
	    kymo_counter_provider_register(&single) != KYMO_OK ||
	    kymo_counter_provider_register(&devices) != KYMO_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
