/* SPDX-License-Identifier: Apache-2.0 */
/* The marker core by itself: threads against tools that come and go, records as a tool gets them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kymo/kymo.h>
#define KYMO_MARKER_LINKED
#include <kymo/marker.h>

#define THREADS 4
#define ROUNDS  2000

static kymo_string_t often = KYMO_STRING("often"), library = KYMO_STRING("library");
static _Atomic uint64_t delivered, seen_full;
static _Atomic int enters, exits;

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	kymo_value_t v = {.size = sizeof(v)};

	atomic_fetch_add(&delivered, 1);
	/* Field 6 is the payload. */
	if (strcmp(r->domain->name, "marker") == 0 && r->op == 1 &&
	    kymo_record_value(r, 6, &v) == KYMO_OK && v.present)
		atomic_fetch_add(&seen_full, 1);
}

static void hear(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	const kymo_marker_args_t *a = r->args;

	assert_non_null(a->name);
	if (r->phase == KYMO_PHASE_ENTER) {
		*r->user = (uint64_t)a->scope;
		atomic_fetch_add(&enters, 1);
	} else {
		assert_int_equal(*r->user, a->scope);
		atomic_fetch_add(&exits, 1);
	}
	kymo_mark("from a callback"); /* is not heard: no recursion */
}

static void annotate(int round)
{
	kymo_payload_t p = kymo_int64("round", round);
	kymo_marker_t full = {.size = sizeof(full),
			      .name = "full",
			      .domain = &library,
			      .payload = &p,
			      .payload_count = 1};
	uint64_t id = kymo_range_start("process");

	kymo_range_push("outer");
	kymo_range_push_string(&often);
	kymo_range_push_full(&full);
	kymo_range_pop();
	kymo_range_pop_domain(&library);
	kymo_mark("mark");
	kymo_range_pop();
	kymo_range_stop(id);
}

static void *worker(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		annotate(i);
	return NULL;
}

static kymo_context_t listener(void)
{
	kymo_selection_t markers = {.size = sizeof(markers), .domain = "marker"};
	kymo_buffer_desc_t d = {.size = sizeof(d), .bytes = 8u << 20, .deliver = deliver};
	kymo_context_t context;
	kymo_buffer_t buffer;

	assert_int_equal(kymo_context_create(&context), KYMO_OK);
	assert_int_equal(kymo_buffer_create(context, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(context, &markers, buffer), KYMO_OK);
	return context;
}

static void test_nobody(void **state)
{
	assert_int_equal(kymo_range_push("nobody"), KYMO_MARKER_OFF);
	assert_int_equal(kymo_range_pop(), KYMO_MARKER_OFF);
	assert_int_equal(kymo_range_start("nobody"), 0);
}

static void test_records(void **state)
{
	kymo_context_t c = listener();

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	delivered = seen_full = 0;
	for (int i = 0; i < 10; i++)
		annotate(i);
	assert_int_equal(kymo_drain(c, 1000000000), KYMO_OK);
	assert_int_equal(delivered, 50);
	assert_int_equal(seen_full, 10);
	assert_int_equal(kymo_context_pause_thread(c, true), KYMO_OK);
	annotate(0);
	assert_int_equal(kymo_context_pause_thread(c, false), KYMO_OK);
	kymo_mark("again");
	assert_int_equal(kymo_drain(c, 1000000000), KYMO_OK);
	assert_int_equal(delivered, 51);
	assert_int_equal(kymo_context_pause(c, true), KYMO_OK);
	annotate(0);
	assert_int_equal(kymo_context_stop(c), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK); /* it stays paused */
	annotate(0);
	assert_int_equal(kymo_context_pause(c, false), KYMO_OK);
	kymo_mark("again");
	assert_int_equal(kymo_drain(c, 1000000000), KYMO_OK);
	assert_int_equal(delivered, 52);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static void test_callbacks(void **state)
{
	kymo_selection_t markers = {.size = sizeof(markers), .domain = "marker"};
	kymo_context_t c;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &markers, hear, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	enters = exits = 0;
	annotate(1);
	assert_int_equal(enters, 5); /* with the mark */
	assert_int_equal(exits, 4);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	assert_int_equal(kymo_range_push("gone"), KYMO_MARKER_OFF);
}

/* Who hears the begin of a range for which there is no place hears its end. */
static void test_many(void **state)
{
	enum { MANY = 65536 };
	kymo_selection_t markers = {.size = sizeof(markers), .domain = "marker"};
	uint64_t *ids = calloc(MANY, sizeof(*ids));
	kymo_context_t c;

	assert_non_null(ids);
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &markers, hear, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	enters = exits = 0;
	for (unsigned i = 0; i < MANY; i++)
		ids[i] = kymo_range_start("open");
	assert_int_equal(exits, 0);
	assert_int_equal(kymo_range_start("too many"), 0);
	assert_int_equal(enters, MANY + 1);
	assert_int_equal(exits, 1);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(kymo_range_stop(ids[i]), 0);
	assert_int_equal(exits, MANY + 1);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	free(ids);
}

/* ---- one numbering ---- */

enum { IDS = 64 };
static uint64_t told[IDS], recorded[IDS];
static _Atomic unsigned told_count, recorded_count;

static void note_told(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	if (r->phase == KYMO_PHASE_ENTER)
		told[atomic_fetch_add(&told_count, 1)] = r->correlation;
}

static void note_recorded(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	recorded[atomic_fetch_add(&recorded_count, 1)] = r->correlation;
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* What callbacks are told of and what is recorded of it have the same id, pauses too. */
static void test_ids(void **state)
{
	kymo_selection_t markers = {.size = sizeof(markers), .domain = "marker"};
	kymo_buffer_desc_t d = {.size = sizeof(d), .bytes = 1u << 20, .deliver = note_recorded};
	kymo_buffer_t buffer;
	kymo_context_t c;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &markers, buffer), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &markers, note_told, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	annotate(1);
	kymo_pause();
	kymo_resume();
	assert_int_equal(kymo_drain(c, 1000000000), KYMO_OK);
	assert_int_equal(told_count, 7);
	assert_int_equal(recorded_count, 7);
	qsort(told, told_count, sizeof(*told), by_id);
	qsort(recorded, recorded_count, sizeof(*recorded), by_id);
	assert_memory_equal(told, recorded, sizeof(told));
	assert_int_not_equal(told[0], 0);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

/* Ranges nest while a context is stopped: what was open before closes after it. */
static void test_stopped(void **state)
{
	kymo_context_t c = listener();

	delivered = 0;
	assert_int_equal(kymo_range_push("before start"), 0);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(kymo_range_push("inside"), 1);
	assert_int_equal(kymo_context_stop(c), KYMO_OK);
	assert_int_equal(kymo_range_pop(), 1);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(kymo_range_pop(), 0);
	assert_int_equal(kymo_range_pop(), KYMO_MARKER_UNBALANCED);
	assert_int_equal(kymo_drain(c, 1000000000), KYMO_OK);
	assert_int_equal(delivered, 1);
	assert_int_equal(kymo_range_push("left"), 0);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	c = listener();
	assert_int_equal(kymo_range_push("anew"), 0); /* the pop of "left" may have gone unheard */
	assert_int_equal(kymo_range_pop(), 0);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static void test_threads(void **state)
{
	kymo_context_t c = listener();
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, worker, NULL), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(kymo_context_start(c), KYMO_OK);
		annotate(i);
		assert_int_equal(kymo_context_stop(c), KYMO_OK);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody),    cmocka_unit_test(test_records),
		cmocka_unit_test(test_callbacks), cmocka_unit_test(test_ids),
		cmocka_unit_test(test_stopped),   cmocka_unit_test(test_threads),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
