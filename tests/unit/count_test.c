/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is counted without a record (core/tally/count.h) is counted as it would be from its record. Each piece of
 * work is told twice, to two entries of the tallies, and the entries are compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/kymo.h>

#include "core/activity/activity.h"
#include "core/activity/comm.h"
#include "core/process/process.h"
#include "core/tally/count.h"
#include "core/tally/job.h"
#include "core/tally/tally.h"

/* ---- a recording in mode summary, of a rank of a job ---- */

static kymo_status_t share(int memfd, uint64_t bytes, void *data)
{
	return KYMO_OK;
}

static bool select_all(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return !(domain->ops[op].flags & KYMO_OP_OBJECT);
}

static int setup(void **state)
{
	const kymo_selection_t all = {.size = sizeof(all), .select = select_all};
	const kymo_buffer_desc_t d = {.size = sizeof(d),
				      .bytes = 4u << 20,
				      .tally = true,
				      .arguments = KYMO_ARGUMENTS_NONE,
				      .share = share};
	kymo_context_t context;
	kymo_buffer_t buffer;

	assert_int_equal(kymo_context_create(&context), KYMO_OK);
	assert_int_equal(kymo_buffer_create(context, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(context, &all, buffer), KYMO_OK);
	assert_true(comm_register());
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	cap_tally_work();
	assert_int_not_equal(atomic_load(&cap_counted), 0);
	return 0;
}

struct wanted {
	uint32_t op, key0;
	struct wire_tally y;
	struct wire_work w;
	unsigned found;
};

static void look(const struct wire_tally *y, const struct wire_work *w, void *data)
{
	struct wanted *x = data;

	if (!w || y->op != x->op || w->key[0] != x->key0)
		return;
	x->y = *y;
	x->w = *w;
	x->found++;
}

/* The entries of an op whose first keys are these differ in nothing else. */
static void check_same(const struct cap_op *op, uint32_t recorded, uint32_t counted, uint64_t count)
{
	struct wanted a = {.op = op->wire, .key0 = recorded}, b = {.op = op->wire, .key0 = counted};

	pthread_mutex_lock(&core_live->tallies);
	core_tally_each(cap_thread_current, look, &a);
	core_tally_each(cap_thread_current, look, &b);
	pthread_mutex_unlock(&core_live->tallies);
	assert_true(a.found == 1 && b.found == 1);
	assert_int_equal(b.y.count, count);
	b.w.key[0] = a.w.key[0];
	assert_memory_equal(&a.y, &b.y, sizeof(a.y));
	assert_memory_equal(&a.w, &b.w, sizeof(a.w));
}

/* ---- work of devices ---- */

struct device_work {
	uint64_t start, duration, wait, bytes;
	int32_t status;
	uint8_t untimed;
};

static const struct device_work works[] = {
	{1000, 10000, 500, 1 << 20, 0, UNTIMED_NO},
	{1000, 0, 0, 0, 0, UNTIMED_NO},
	{1000, UINT64_MAX, UINT64_MAX, 7, -5, UNTIMED_NO}, /* ends before it starts */
	{0, 77, 5, 4096, 0, UNTIMED_NOT_REPORTED},
	{1000, 1ull << 40, 1, 1ull << 33, 0, UNTIMED_NO},
};
#define WORKS (sizeof(works) / sizeof(works[0]))

static void record_copy(const struct device_work *x, uint32_t queue)
{
	const uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	assert_true(cap_activity_begin(&f, &e, &core_copy_ops[COPY_OP_WRITE], NULL, now, now,
				       COPY_FIELDS));
	wire_unsigned(&e, COPY_QUEUE, queue);
	wire_unsigned(&e, COPY_SOURCE_AGENT, 3);
	wire_unsigned(&e, COPY_DESTINATION_AGENT, 300);
	wire_unsigned(&e, COPY_BYTES, x->bytes);
	wire_unsigned(&e, COPY_SOURCE_KIND, MEMORY_HOST_PINNED);
	wire_unsigned(&e, COPY_DESTINATION_KIND, MEMORY_DEVICE);
	wire_unsigned(&e, COPY_START, x->start);
	wire_unsigned(&e, COPY_DURATION, x->duration);
	wire_unsigned(&e, COPY_QUEUED_BEFORE, x->wait);
	wire_signed(&e, COPY_STATUS, x->status, 4);
	wire_unsigned(&e, COPY_UNTIMED, x->untimed);
	cap_activity_commit(&f, &e);
}

static void count_copy(const struct device_work *x, uint32_t queue)
{
	const struct cap_counted c = {.kind = WIRE_TALLY_COPY,
				      .error = x->status != 0,
				      .untimed = x->untimed || !x->start,
				      .key = {[WIRE_KEY_COPY_QUEUE] = queue,
					      [WIRE_KEY_COPY_SOURCE_AGENT] = 3,
					      [WIRE_KEY_COPY_DESTINATION_AGENT] = 300,
					      [WIRE_KEY_COPY_KINDS] = cap_counted_kinds(
						      MEMORY_HOST_PINNED, MEMORY_DEVICE)},
				      .bytes = x->bytes,
				      .duration = x->duration,
				      .wait = x->wait};
	struct cap_submission o;

	assert_true(cap_submission_take(&o, NULL, &core_copy_ops[COPY_OP_WRITE], NULL));
	assert_true(cap_counts(&o) && cap_count(&o, &core_copy_ops[COPY_OP_WRITE], &c));
}

static void copies(void **state)
{
	for (unsigned i = 0; i < WORKS; i++) {
		record_copy(&works[i], 1);
		count_copy(&works[i], 2);
	}
	check_same(&core_copy_ops[COPY_OP_WRITE], 1, 2, WORKS);
}

static void record_kernel(const struct device_work *x, uint32_t agent)
{
	const uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	assert_true(cap_activity_begin(&f, &e, &core_dispatch_ops[DISPATCH_OP_KERNEL], NULL, now,
				       now, DISPATCH_FIELDS));
	wire_unsigned(&e, DISPATCH_AGENT, agent);
	wire_unsigned(&e, DISPATCH_QUEUE, 70000);
	wire_unsigned(&e, DISPATCH_KERNEL, 5);
	wire_unsigned(&e, DISPATCH_START, x->start);
	wire_unsigned(&e, DISPATCH_DURATION, x->duration);
	wire_unsigned(&e, DISPATCH_QUEUED_BEFORE, x->wait);
	wire_unsigned(&e, DISPATCH_UNTIMED, x->untimed);
	cap_activity_commit(&f, &e);
}

static void kernels(void **state)
{
	const struct cap_op *op = &core_dispatch_ops[DISPATCH_OP_KERNEL];

	for (unsigned i = 0; i < WORKS; i++) {
		const struct device_work *x = &works[i];
		const struct cap_counted c = cap_counted_kernel(12, 70000, 5, x->duration, x->wait,
								x->untimed || !x->start);
		struct cap_submission o;

		record_kernel(x, 11);
		assert_true(cap_submission_take(&o, NULL, op, NULL) && cap_count(&o, op, &c));
	}
	check_same(op, 11, 12, WORKS);
}

/* ---- what the host does ---- */

/* By the way of any record: there is more to be kept of the submission. */
static void record_message(uint32_t datatype, uint64_t start, uint64_t end, unsigned state)
{
	struct cap_frame f;
	struct wire_enc e;

	assert_true(
		cap_activity_begin(&f, &e, &comm_ops[COMM_OP_SEND], NULL, start, end, COMM_FIELDS));
	wire_unsigned(&e, COMM_SENT, 100);
	wire_unsigned(&e, COMM_RECEIVED, 23);
	wire_unsigned(&e, COMM_DATATYPE, datatype);
	wire_unsigned(&e, COMM_STATE, state);
	cap_activity_commit(&f, &e);
}

static void messages(void **state)
{
	const uint64_t end = tick_now();

	for (unsigned i = 0; i < 3; i++) {
		struct comm_transfer t = {.op = COMM_OP_SEND,
					  .state = i == 2,
					  .start = end - 1000 * i,
					  .datatype = 22,
					  .sent = 100,
					  .received = 23};

		record_message(21, end - 1000 * i, end, i == 2);
		comm_write(&t, end);
	}
	check_same(&comm_ops[COMM_OP_SEND], 21, 22, 3);
}

static void record_wait(uint32_t queue, const struct cap_frame *of, unsigned op)
{
	struct cap_frame f;
	struct wire_enc e;

	assert_true(cap_activity_begin(&f, &e, &core_sync_ops[op], NULL,
				       op == SYNC_OP_QUEUE ? of->start : of->end, of->end,
				       SYNC_FIELDS));
	wire_unsigned(&e, SYNC_QUEUE, queue);
	cap_activity_commit(&f, &e);
}

static void waits(void **state)
{
	static const unsigned ops[] = {SYNC_OP_QUEUE, SYNC_OP_BARRIER};
	struct cap_frame f = {.id = 1, .end = tick_now()};

	f.start = f.end - 5000;
	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		record_wait(31, &f, ops[i]);
		cap_sync_record(&f, 0, ops[i], 32, 0, NULL);
		check_same(&core_sync_ops[ops[i]], 31, 32, 1);
	}
}

static void record_allocation(const struct cap_allocation *a, uint32_t agent, unsigned op)
{
	const uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	assert_true(cap_activity_begin(&f, &e, &core_allocation_ops[op], NULL, now, now,
				       ALLOCATION_FIELDS));
	wire_unsigned(&e, ALLOCATION_AGENT, agent);
	wire_unsigned(&e, ALLOCATION_KIND, a->kind);
	wire_unsigned(&e, ALLOCATION_WHAT, a->what);
	wire_unsigned(&e, ALLOCATION_BYTES, a->bytes);
	wire_unsigned(&e, ALLOCATION_PARENT, a->parent);
	cap_activity_commit(&f, &e);
}

static void allocations(void **state)
{
	static const uint64_t bytes[] = {4096, 1 << 20, 4096};
	static const unsigned ops[] = {ALLOCATION_OP_ALLOCATE, ALLOCATION_OP_ALLOCATE,
				       ALLOCATION_OP_FREE};
	struct cap_allocation a = {.agent = 42, .kind = MEMORY_DEVICE};
	const uint64_t now = tick_now(); /* the call began while it was recorded */
	struct cap_frame f = {.id = 1, .start = now, .end = now};

	for (unsigned i = 0; i < 3; i++) {
		a.bytes = bytes[i];
		record_allocation(&a, 41, ops[i]);
		cap_allocation_record(&f, 0, ops[i], &a);
	}
	check_same(&core_allocation_ops[ALLOCATION_OP_ALLOCATE], 41, 42, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies), cmocka_unit_test(kernels),     cmocka_unit_test(messages),
		cmocka_unit_test(waits),  cmocka_unit_test(allocations),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
