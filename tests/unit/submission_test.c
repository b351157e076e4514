/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions that several records share, as those of the nodes of one launched graph do: each record
 * gets what was captured at submission, and the call's id is retired after the last.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kymo/kymo.h>

#include "core/activity/activity.h"
#include "core/capture.h"

static const kymo_op_desc_t descs[] = {{"submit", NULL, 0, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "submission_test", "Test", 1, 1, descs};
static struct cap_op ops[1];
static const struct cap_domain_info domain_info = {.desc = &desc, .ops = ops};

static unsigned told, retired;
static uint64_t told_call, told_external, retired_call;

static void on_dispatch(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	told++;
	told_call = r->correlation;
	told_external = r->external;
}

static void on_retirement(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	retired++;
	retired_call = r->correlation;
}

static void on_call(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
}

static void listen(kymo_context_t c, const char *domain, kymo_callback_fn fn)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = domain};

	assert_int_equal(kymo_callback_service(c, &s, fn, NULL), KYMO_OK);
}

static uint64_t submit(struct cap_submission *o)
{
	struct cap_frame *f = cap_enter(&ops[0], NULL);
	uint64_t id;

	assert_non_null(f);
	id = f->id;
	assert_true(cap_submission_take(o, f, &core_dispatch_ops[DISPATCH_OP_LAUNCH], NULL));
	cap_leave(f);
	cap_done(f);
	return id;
}

static void record(struct cap_submission *o)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	assert_true(cap_activity_begin(&f, &e, &core_dispatch_ops[DISPATCH_OP_LAUNCH], o, now, now,
				       LAUNCH_FIELDS));
	wire_unsigned(&e, LAUNCH_CORRELATION, o->call);
	for (unsigned i = LAUNCH_CORRELATION + 1; i < LAUNCH_FIELDS; i++) {
		if (i == LAUNCH_CLUSTER)
			wire_array(&e, i, NULL, 3, 4, 3);
		else
			wire_unsigned(&e, i, 0);
	}
	cap_activity_commit(&f, &e);
	cap_submission_end(o);
}

static void test_shared(void **state)
{
	struct cap_submission o, first, second;
	kymo_context_t c;
	uint64_t id;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	listen(c, "submission_test", on_call);
	listen(c, "dispatch", on_dispatch);
	listen(c, "retirement", on_retirement);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(kymo_external_push(c, 42), KYMO_OK);
	id = submit(&o);
	assert_int_equal(kymo_external_pop(c, NULL), KYMO_OK);
	assert_non_null(o.more);
	first = cap_submission_share(&o);
	second = cap_submission_share(&o);
	cap_submission_end(&o);
	assert_int_equal(retired, 0);
	record(&first);
	assert_int_equal(told, 1);
	assert_int_equal(told_external, 42);
	assert_int_equal(retired, 0);
	record(&second);
	assert_int_equal(told, 2);
	assert_int_equal(told_call, id);
	assert_int_equal(told_external, 42);
	assert_int_equal(retired, 1);
	assert_int_equal(retired_call, id);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

/* Nothing to hold where only a buffer records. */
static void test_plain(void **state)
{
	struct cap_submission o = {.call = 7, .scope = 8, .buffers = 1},
			      copy = cap_submission_share(&o);

	assert_int_equal(copy.call, 7);
	assert_null(copy.more);
	cap_submission_end(&copy);
	cap_submission_end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_plain),
	};
	struct cap_domain *d;

	if (cap_domain_register(&domain_info, &d) != KYMO_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
