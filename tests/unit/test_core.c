/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Core through the public interface, with a domain of the test's own: what a tool sees of calls
 * that are nested, fail, are left by longjmp, come from several threads, or are made in a child.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
#include <cmocka.h>

#include <kymo/kymo.h>

#include "core/capture.h"

/* ---- a runtime with three functions ---- */

enum { OP_ADD, OP_OUTER, OP_JUMP, OPS };

static const kymo_field_t add_fields[] = {
	{"a", "int", NULL, KYMO_KIND_SIGNED, 0, 4, 0},
	{"b", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"name", "const char *", NULL, KYMO_KIND_STRING, 0, 1, 0},
	{"list", "const int *", NULL, KYMO_KIND_ARRAY, KYMO_KIND_SIGNED, 4, 0},
	{"p", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
};
static const kymo_op_desc_t descs[OPS] = {
	{"add", add_fields, 5, 0, NULL, 0},
	{"outer", NULL, 0, 0, NULL, 0},
	{"jump", NULL, 0, 0, NULL, 0},
};
static const kymo_domain_desc_t desc = {sizeof(desc), "test", "Test", 1, OPS, descs};
static struct cap_op ops[OPS];
static struct cap_domain *domain;

static int real_add(int a, uint64_t b)
{
	return b == 13 ? -5 : 0;
}

static _Thread_local const void
	*expected_site; /* the return address of the last call that was wanted */

static __attribute__((noinline)) int add(int a, uint64_t b, const char *name, const int *list,
					 size_t n, void *p)
{
	struct cap_frame *f = cap_enter(&ops[OP_ADD], __builtin_return_address(0));
	struct wire_enc e;
	int ret;

	if (!f)
		return real_add(a, b);
	expected_site = __builtin_return_address(0);
	if (f->callbacks)
		cap_callbacks(f, NULL, CAP_ENTER);
	ret = real_add(a, b);
	cap_leave(f);
	cap_status(f, ret, 0);
	if (f->callbacks)
		cap_callbacks(f, NULL, CAP_EXIT);
	if (f->buffers && cap_record(f, &e, 5)) {
		wire_signed(&e, 0, a, 4);
		wire_unsigned(&e, 1, b);
		wire_string(&e, 2, name, 256);
		wire_array(&e, 3, list, n, 4, 64);
		wire_pointer(&e, 4, p);
		cap_commit(f, &e);
	}
	cap_done(f);
	return ret;
}

static __attribute__((noinline)) void outer(int inner)
{
	struct cap_frame *f = cap_enter(&ops[OP_OUTER], __builtin_return_address(0));
	struct wire_enc e;

	for (int i = 0; i < inner; i++)
		add(i, 1, NULL, NULL, 0, NULL);
	if (!f)
		return;
	cap_leave(f);
	if (f->buffers && cap_record(f, &e, 0))
		cap_commit(f, &e);
	cap_done(f);
}

static jmp_buf back;

static __attribute__((noinline)) void jump(void)
{
	struct cap_frame *f = cap_enter(&ops[OP_JUMP], __builtin_return_address(0));

	assert_non_null(f);
	longjmp(back, 1);
}

static const struct cap_domain_info info = {.desc = &desc, .ops = ops};

/* ---- a tool ---- */

struct seen {
	const char *op;
	uint64_t id, parent, external, start, end;
	int64_t scope;
	uint32_t thread;
	int32_t status;
	int64_t a;
	uint64_t b, p;
	char name[300];
	uint32_t list_count, list_total;
	bool name_present;
};
#define SEEN_MAX 300000
static struct seen *seen;
static uint32_t seen_count;

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	struct seen *s = &seen[seen_count++];
	kymo_value_t v = {.size = sizeof(v)};

	assert_true(seen_count < SEEN_MAX);
	*s = (struct seen){.op = r->domain->ops[r->op].name,
			   .id = r->correlation,
			   .parent = r->parent,
			   .external = r->external,
			   .start = r->start,
			   .end = r->end,
			   .scope = r->scope,
			   .thread = r->thread,
			   .status = r->status};
	if (r->op != OP_ADD || strcmp(r->domain->name, "test") != 0)
		return;
	assert_int_equal(kymo_record_value(r, 0, &v), KYMO_OK);
	s->a = (int64_t)v.u;
	assert_int_equal(kymo_record_value(r, 1, &v), KYMO_OK);
	s->b = v.u;
	assert_int_equal(kymo_record_value(r, 2, &v), KYMO_OK);
	s->name_present = v.present;
	if (v.present)
		memcpy(s->name, v.data, v.count);
	assert_int_equal(kymo_record_value(r, 3, &v), KYMO_OK);
	s->list_count = v.count;
	s->list_total = v.total;
	assert_int_equal(kymo_record_value(r, 4, &v), KYMO_OK);
	s->p = v.u;
	assert_int_equal(kymo_record_value(r, 5, &v), KYMO_ERROR_NOT_FOUND);
}

static kymo_context_t make(kymo_policy_t policy, uint64_t bytes, kymo_buffer_t *buffer)
{
	kymo_buffer_desc_t d = {.size = sizeof(d),
				.bytes = bytes,
				.policy = policy,
				.arguments = KYMO_ARGUMENTS_FULL,
				.deliver = deliver};
	kymo_selection_t only = {.size = sizeof(only), .domain = "test"};
	kymo_context_t c;

	seen_count = 0;
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &only, *buffer), KYMO_OK);
	return c;
}

static int setup(void **state)
{
	seen = calloc(SEEN_MAX, sizeof(*seen));
	assert_int_equal(cap_domain_register(&info, &domain), KYMO_OK);
	assert_int_equal(cap_domain_register(&info, &domain), KYMO_ERROR_EXISTS);
	return 0;
}

static int teardown(void **state)
{
	free(seen);
	return 0;
}

#define DRAIN(c) assert_int_equal(kymo_drain(c, UINT64_C(60000000000)), KYMO_OK)

static void test_values(void **state)
{
	kymo_buffer_t b;
	kymo_context_t c = make(KYMO_POLICY_BLOCK, 0, &b);
	int list[100] = {1, 2, 3};
	uint64_t before;

	add(1, 1, "not seen", NULL, 0, NULL);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	before = kymo_time();
	add(-7, 0x123456789abcdefull, "hello", list, 3, list);
	add(5, 13, NULL, list, 100, (void *)~(uintptr_t)0);
	assert_int_equal(kymo_context_stop(c), KYMO_OK);
	add(1, 1, "not seen", NULL, 0, NULL);
	DRAIN(c);
	assert_int_equal(seen_count, 2);
	assert_int_equal(seen[0].a, -7);
	assert_true(seen[0].b == 0x123456789abcdefull);
	assert_string_equal(seen[0].name, "hello");
	assert_int_equal(seen[0].list_count, 3);
	assert_true(seen[0].p == (uintptr_t)list);
	assert_int_equal(seen[0].status, 0);
	assert_int_equal(seen[1].status, -5);
	assert_false(seen[1].name_present);
	assert_int_equal(seen[1].list_count, 64);
	assert_int_equal(seen[1].list_total, 100);
	assert_true(seen[1].p == UINTPTR_MAX);
	assert_int_equal(seen[1].id, seen[0].id + 1);
	assert_true(seen[0].start <= seen[0].end && seen[0].end <= seen[1].start);
	assert_true(seen[0].start + 2000000 > before && seen[1].end < kymo_time() + 2000000);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_ERROR_NOT_FOUND);
}

static void test_nesting_and_ids(void **state)
{
	kymo_buffer_t b;
	kymo_context_t c = make(KYMO_POLICY_BLOCK, 0, &b);
	uint64_t value = 0;
	int64_t scope;

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(kymo_external_push(c, 42), KYMO_OK);
	assert_int_equal(kymo_scope_push(&scope), KYMO_OK);
	outer(3);
	assert_int_equal(kymo_scope_pop(), KYMO_OK);
	assert_int_equal(kymo_scope_pop(), KYMO_ERROR_STATE);
	assert_int_equal(kymo_external_pop(c, &value), KYMO_OK);
	assert_int_equal(value, 42);
	add(9, 1, NULL, NULL, 0, NULL);
	DRAIN(c);
	assert_int_equal(seen_count, 5);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(seen[i].op, "add");
		assert_int_equal(seen[i].parent, seen[3].id);
		assert_int_equal(seen[i].id, seen[3].id + 1 + (uint64_t)i);
		assert_int_equal(seen[i].scope, scope);
	}
	assert_string_equal(seen[3].op, "outer");
	assert_int_equal(seen[3].parent, 0);
	assert_int_equal(seen[3].external, 42);
	assert_true(seen[3].start <= seen[0].start && seen[2].end <= seen[3].end);
	assert_int_equal(seen[4].external, 0);
	assert_int_equal(seen[4].scope, 0);
	assert_int_equal(seen[4].id, seen[3].id + 4);
	kymo_context_destroy(c);
}

static void test_longjmp(void **state)
{
	kymo_buffer_t b;
	kymo_context_t c = make(KYMO_POLICY_BLOCK, 0, &b);

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	if (setjmp(back) == 0)
		jump();
	add(1, 2, NULL, NULL, 0, NULL);
	DRAIN(c);
	assert_int_equal(seen_count, 2);
	assert_string_equal(seen[0].op, "jump");
	assert_string_equal(seen[1].op, "add");
	assert_int_equal(seen[1].parent, 0);
	kymo_context_destroy(c);
}

/* ---- callbacks ---- */

static uint32_t enters, exits, reentered;
static uint64_t last_enter;

static void callback(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	assert_ptr_equal(data, &enters);
	assert_true(r->call_site == expected_site);
	add(1, 1, NULL, NULL, 0, NULL); /* must not come back here */
	if (r->phase == KYMO_PHASE_ENTER) {
		enters++;
		*r->user = last_enter = r->correlation * 3;
	} else {
		exits++;
		assert_true(*r->user == r->correlation * 3);
		reentered += r->status == -5;
	}
}

static void test_callbacks_beside_buffer(void **state)
{
	kymo_buffer_t b;
	kymo_context_t c = make(KYMO_POLICY_BLOCK, 0, &b), d;
	kymo_selection_t only = {.size = sizeof(only), .domain = "test"};

	assert_int_equal(kymo_context_create(&d), KYMO_OK);
	assert_int_equal(kymo_callback_service(d, &only, callback, &enters), KYMO_OK);
	assert_int_equal(kymo_context_start(d), KYMO_OK);
	add(1, 13, NULL, NULL, 0, NULL);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	add(2, 13, NULL, NULL, 0, NULL);
	assert_int_equal(kymo_context_stop(d), KYMO_OK);
	add(3, 13, NULL, NULL, 0, NULL);
	DRAIN(c);
	assert_int_equal(enters, 2);
	assert_int_equal(exits, 2);
	assert_int_equal(reentered, 2);
	assert_int_equal(seen_count, 2);
	kymo_context_destroy(c);
	kymo_context_destroy(d);
}

/* ---- many threads, full buffers ---- */

#define THREADS 8
#define EACH    30000

static void *worker(void *arg)
{
	for (uintptr_t i = 0; i < EACH; i++)
		add((int)(uintptr_t)arg, i, "worker", NULL, 0, NULL);
	return NULL;
}

static void run_workers(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, worker, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void test_threads(void **state)
{
	kymo_buffer_t b;
	kymo_context_t c = make(KYMO_POLICY_BLOCK, 0, &b);
	uint64_t next[THREADS] = {0}, lost = 0;

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	run_workers();
	DRAIN(c);
	assert_int_equal(kymo_buffer_lost(b, &lost), KYMO_OK);
	assert_int_equal(seen_count + lost, THREADS * EACH);
	assert_int_equal(lost, 0);
	for (uint32_t i = 0; i < seen_count; i++) { /* in order within each thread */
		assert_true(seen[i].b == next[seen[i].a]);
		next[seen[i].a]++;
	}
	kymo_context_destroy(c);
}

/* ---- a drain sees what other threads have recorded, and each record once ---- */

static pthread_barrier_t barrier;

static void *recording(void *arg)
{
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 7; i++)
			add(i, (uint64_t)round, "other", NULL, 0, NULL);
		pthread_barrier_wait(&barrier); /* recorded */
		pthread_barrier_wait(&barrier); /* seen */
	}
	return NULL;
}

static void test_drain_of_live_threads(void **state)
{
	kymo_buffer_t b;
	kymo_context_t c = make(KYMO_POLICY_BLOCK, 0, &b);
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(pthread_create(&t, NULL, recording, NULL), 0);
	for (uint32_t round = 0; round < 3; round++) {
		pthread_barrier_wait(&barrier);
		DRAIN(c);
		assert_int_equal(seen_count, 7 * (round + 1));
		for (uint32_t i = 0; i < seen_count; i++)
			assert_true(seen[i].a == (int64_t)(i % 7) && seen[i].b == i / 7);
		pthread_barrier_wait(&barrier);
	}
	pthread_join(t, NULL);
	DRAIN(c);
	assert_int_equal(seen_count, 21);
	kymo_context_destroy(c);
	pthread_barrier_destroy(&barrier);
}

/* ---- a thread outlives a buffer, and another takes its place ---- */

static void *recording_twice(void *arg)
{
	for (int round = 0; round < 2; round++) {
		pthread_barrier_wait(&barrier); /* the context of this round is started */
		for (int i = 0; i < 5; i++)
			add(i, (uint64_t)round, "twice", NULL, 0, NULL);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void test_buffer_after_buffer(void **state)
{
	kymo_buffer_t b;
	kymo_context_t c;
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&t, NULL, recording_twice, NULL), 0);
	for (uint64_t round = 0; round < 2; round++) {
		c = make(KYMO_POLICY_BLOCK, 0, &b);
		assert_int_equal(kymo_context_start(c), KYMO_OK);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		DRAIN(c);
		assert_int_equal(seen_count, 5);
		assert_true(seen[0].b == round);
		assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	}
	pthread_join(t, NULL);
	pthread_barrier_destroy(&barrier);
}

static void test_drop_is_exact(void **state)
{
	kymo_buffer_t b;
	kymo_context_t c = make(KYMO_POLICY_DROP, 1, &b); /* the smallest pool there is */
	uint64_t lost = 0;

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	run_workers();
	DRAIN(c);
	assert_int_equal(kymo_buffer_lost(b, &lost), KYMO_OK);
	assert_true(lost > 0);
	assert_int_equal(seen_count + lost, THREADS * EACH);
	kymo_context_destroy(c);
}

/* ---- children ---- */

static int in_child(kymo_context_t c)
{
	seen_count = 0;
	for (int i = 0; i < 100; i++)
		add(i, 77, NULL, NULL, 0, NULL);
	if (kymo_drain(c, UINT64_C(60000000000)) != KYMO_OK)
		return 2;
	for (uint32_t i = 0; i < seen_count; i++)
		if (seen[i].b != 77)
			return 3;
	if (seen_count != 100)
		fprintf(stderr, "child saw %u records\n", seen_count);
	return seen_count == 100 ? 0 : 4;
}

static void check_child(kymo_context_t c, long pid)
{
	int status;

	if (pid == 0)
		_exit(in_child(c));
	assert_int_equal(waitpid((pid_t)pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_fork(void **state)
{
#ifdef __SANITIZE_THREAD__
	skip(); /* ThreadSanitizer cannot follow threads made in a child of a threaded process */
#endif
	kymo_buffer_t b;
	kymo_context_t c = make(KYMO_POLICY_BLOCK, 0, &b);

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	add(1, 1, NULL, NULL, 0, NULL);
	check_child(c, fork());
	/* without libc knowing: no atfork handler runs */
	check_child(c, syscall(SYS_clone, 17 /* SIGCHLD */, NULL, NULL, NULL, NULL));
	add(2, 2, NULL, NULL, 0, NULL);
	DRAIN(c);
	assert_int_equal(seen_count, 2);
	assert_int_equal(seen[1].a, 2);
	kymo_context_destroy(c);
}

static void test_bad_arguments(void **state)
{
	kymo_buffer_desc_t d = {.size = sizeof(d)};
	kymo_context_t c = {0}, all[1000];
	kymo_buffer_t b;
	uint32_t n = 0;

	assert_int_equal(kymo_context_create(NULL), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_context_start(c), KYMO_ERROR_INVALID_ARGUMENT);
	c.handle = 0xdeadbeef;
	assert_int_equal(kymo_context_start(c), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_force_configure(NULL), KYMO_ERROR_INVALID_ARGUMENT);
	while (n < 1000 && kymo_context_create(&all[n]) == KYMO_OK)
		n++;
	assert_int_equal(n, 1000);
	assert_int_equal(kymo_buffer_create(all[0], &d, &b), KYMO_ERROR_INVALID_ARGUMENT);
	d.deliver = deliver;
	d.size = 8;
	assert_int_equal(kymo_buffer_create(all[0], &d, &b), KYMO_ERROR_INCOMPATIBLE);
	d.size = sizeof(d);
	assert_int_equal(kymo_buffer_create(all[0], &d, &b), KYMO_OK);
	assert_int_equal(kymo_buffer_create(all[0], &d, &b), KYMO_ERROR_EXISTS);
	b.handle += 256;
	assert_int_equal(kymo_buffer_service(all[0], NULL, b), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_external_pop(all[0], NULL), KYMO_ERROR_STATE);
	while (n--)
		assert_int_equal(kymo_context_destroy(all[n]), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_nesting_and_ids),
		cmocka_unit_test(test_longjmp),
		cmocka_unit_test(test_callbacks_beside_buffer),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_drain_of_live_threads),
		cmocka_unit_test(test_buffer_after_buffer),
		cmocka_unit_test(test_drop_is_exact),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_bad_arguments),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
