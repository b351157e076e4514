/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions that several records share, as those of the nodes of one launched graph do: each record
 * gets what was captured at submission, and the call's id is retired after the last. Submissions of calls that begin
 * before, and end after, what records is started, paused or stopped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <kymo/kymo.h>

#include "core/activity/activity.h"
#include "core/capture.h"

static const kymo_op_desc_t descs[] = {{"submit", NULL, 0, KYMO_OP_SUBMITS, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "submission_test", "Test", 1, 1, descs};
static struct cap_op ops[1];
static const struct cap_domain_info domain_info = {.desc = &desc, .ops = ops};

static struct cap_domain *submits;
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
	if (f->callbacks)
		cap_callbacks(f, NULL, CAP_ENTER);
	assert_true(cap_submission_take(o, f, &core_dispatch_ops[DISPATCH_OP_LAUNCH], NULL));
	cap_leave(f);
	if (f->callbacks)
		cap_callbacks(f, NULL, CAP_EXIT);
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

struct asker {
	uint64_t answer, told;
	unsigned asked;
	kymo_context_t context;
};

static uint64_t ask(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	struct asker *a = data;

	a->asked++;
	return a->answer;
}

static void on_work(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	((struct asker *)data)->told = r->external;
}

/* Work has, in each context, the external id that was asked for at its call; nobody is asked when it is told. */
static void test_request(void **state)
{
	const kymo_selection_t work = {.size = sizeof(work), .domain = "dispatch"};
	struct asker askers[2] = {{.answer = 7}, {.answer = 8}};
	struct cap_submission o;

	for (struct asker *a = askers; a < askers + 2; a++) {
		assert_int_equal(kymo_context_create(&a->context), KYMO_OK);
		assert_int_equal(kymo_callback_service(a->context, &work, on_work, a), KYMO_OK);
		assert_int_equal(kymo_external_request_service(a->context, NULL, ask, a), KYMO_OK);
		assert_int_equal(kymo_context_start(a->context), KYMO_OK);
		assert_int_equal(kymo_external_push(a->context, 42), KYMO_OK);
	}
	submit(&o);
	record(&o);
	for (struct asker *a = askers; a < askers + 2; a++) {
		assert_int_equal(a->asked, 1);
		assert_int_equal(a->told, a->answer);
		assert_int_equal(kymo_context_destroy(a->context), KYMO_OK);
	}
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

/* ---- work of calls that begin and end beside recordings ---- */

struct recording {
	kymo_context_t context;
	_Atomic unsigned dispatches;
};

static void on_record(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	struct recording *to = data;

	to->dispatches += strcmp(r->domain->name, "dispatch") == 0;
}

/* Of work, and of its calls unless `alone`. */
static void recording_make(struct recording *r, bool alone,
			   bool (*filter)(const kymo_work_t *, void *))
{
	kymo_selection_t work = {.size = sizeof(work), .domain = "dispatch", .filter = filter};
	kymo_selection_t calls = {.size = sizeof(calls), .domain = "submission_test"};
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = on_record, .data = r};
	kymo_buffer_t b;

	r->dispatches = 0;
	assert_int_equal(kymo_context_create(&r->context), KYMO_OK);
	assert_int_equal(kymo_buffer_create(r->context, &d, &b), KYMO_OK);
	assert_int_equal(kymo_buffer_service(r->context, &work, b), KYMO_OK);
	if (!alone)
		assert_int_equal(kymo_buffer_service(r->context, &calls, b), KYMO_OK);
	assert_int_equal(kymo_context_start(r->context), KYMO_OK);
}

static void recording_expect(struct recording *r, unsigned dispatches)
{
	assert_int_equal(kymo_drain(r->context, UINT64_MAX), KYMO_OK);
	assert_int_equal(r->dispatches, dispatches);
}

static struct cap_frame *enter(void)
{
	struct cap_frame *f = cap_enter(&ops[0], NULL);

	assert_non_null(f);
	return f;
}

/* Whether somebody wants it; it is recorded then. */
static bool submit_by(struct cap_frame *f)
{
	struct cap_submission o;
	bool wanted = cap_submission_take(&o, f, &core_dispatch_ops[DISPATCH_OP_LAUNCH], NULL);

	if (wanted) {
		assert_int_equal(o.call, f->buffers ? f->id : 0);
		record(&o);
	}
	cap_leave(f);
	cap_done(f);
	return wanted;
}

/* A call's work goes where the call was when it began: `alone`, where it is not recorded itself, too. */
static void try_moments(bool alone)
{
	struct recording r, other;
	struct cap_frame *f;

	cap_require_wrapper(submits, 0, true);
	recording_make(&r, alone, NULL);
	f = enter();
	assert_int_equal(kymo_context_stop(r.context), KYMO_OK);
	assert_true(submit_by(f));
	recording_expect(&r, 1);
	f = enter();
	assert_int_equal(kymo_context_start(r.context), KYMO_OK);
	assert_false(submit_by(f));
	f = enter();
	assert_int_equal(kymo_context_pause(r.context, true), KYMO_OK);
	assert_true(submit_by(f));
	f = enter();
	assert_int_equal(kymo_context_pause(r.context, false), KYMO_OK);
	assert_false(submit_by(f));
	recording_expect(&r, 2);
	f = enter();
	recording_make(&other, alone, NULL);
	assert_true(submit_by(f));
	f = enter();
	assert_int_equal(kymo_context_stop(r.context), KYMO_OK);
	assert_true(submit_by(f));
	assert_true(submit_by(enter()));
	recording_expect(&r, 4);
	recording_expect(&other, 2);
	assert_int_equal(kymo_context_destroy(r.context), KYMO_OK);
	assert_int_equal(kymo_context_destroy(other.context), KYMO_OK);
	cap_require_wrapper(submits, 0, false);
}

static void test_moments(void **state)
{
	try_moments(false);
	try_moments(true);
}

static unsigned asked;

static bool wants_none(const kymo_work_t *work, void *data)
{
	asked++;
	return false;
}

/* Filters of a recording that is over are asked as well. */
static void test_filter(void **state)
{
	struct recording r;
	struct cap_frame *f;

	recording_make(&r, false, wants_none);
	f = enter();
	assert_int_equal(kymo_context_stop(r.context), KYMO_OK);
	asked = 0;
	assert_false(submit_by(f));
	assert_int_equal(asked, 1);
	recording_expect(&r, 0);
	assert_int_equal(kymo_context_destroy(r.context), KYMO_OK);
}

static _Atomic int step;

static void *call_late(void *unused)
{
	const struct timespec moment = {0, 50000000};
	struct cap_frame *f = enter();

	step = 1;
	while (step != 2)
		sched_yield();
	nanosleep(&moment, NULL); /* so that it is waited for */
	assert_true(submit_by(f));
	return NULL;
}

/* What has stopped to record waits for the calls that it was in. */
static void test_wait(void **state)
{
	struct recording r;
	pthread_t thread;

	recording_make(&r, false, NULL);
	assert_int_equal(pthread_create(&thread, NULL, call_late, NULL), 0);
	while (step != 1)
		sched_yield();
	assert_int_equal(kymo_context_stop(r.context), KYMO_OK);
	step = 2;
	recording_expect(&r, 1);
	pthread_join(thread, NULL);
	assert_int_equal(kymo_context_destroy(r.context), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),  cmocka_unit_test(test_plain),
		cmocka_unit_test(test_moments), cmocka_unit_test(test_filter),
		cmocka_unit_test(test_wait),    cmocka_unit_test(test_request),
	};

	if (cap_domain_register(&domain_info, &submits) != KYMO_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
