/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private buffers: that every record is delivered, lost or overwritten and counted as that, in
 * order, whoever delivers and whatever the callback does.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kymo/kymo.h>

#include "core/capture.h"

/* ---- a runtime with one function ---- */

static const kymo_field_t fields[] = {
	{"sequence", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"text", "const char *", NULL, KYMO_KIND_STRING, 0, 1, 0},
};
static const kymo_op_desc_t descs[] = {{"call", fields, 2, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "deliver_test", "Test", 1, 1, descs};
static struct cap_op ops[1];
static const struct cap_domain_info domain_info = {.desc = &desc, .ops = ops};

static __attribute__((noinline)) void call(uint64_t sequence, const char *text)
{
	struct cap_frame *f = cap_enter(&ops[0], __builtin_return_address(0));
	struct wire_enc e;

	if (!f)
		return;
	cap_leave(f);
	if (f->buffers && cap_record(f, &e, 2)) {
		wire_unsigned(&e, 0, sequence);
		wire_string(&e, 1, text, 256);
		cap_commit(f, &e);
	}
	cap_done(f);
}

/* ---- what was delivered ---- */

#define THREADS_MAX 65536

static struct {
	_Atomic uint64_t count;
	_Atomic uint64_t first, last; /* sequence numbers, plus 1 */
	_Atomic uint64_t disorder;    /* records that came before an older one of their thread */
	_Atomic uint64_t told_lost, told_overwritten;
	_Atomic uint64_t after[THREADS_MAX];  /* last sequence number of the thread, plus 1 */
	_Atomic uint32_t inside[THREADS_MAX]; /* callbacks at work on the thread's records */
	_Atomic uint64_t overlaps;
} seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void forget(void)
{
	memset(&seen, 0, sizeof(seen));
}

static void look_at(const kymo_record_t *r)
{
	kymo_value_t v = {.size = sizeof(v)};

	if (kymo_record_value(r, 0, &v) != KYMO_OK || r->thread >= THREADS_MAX)
		abort();
	if (v.u + 1 <= atomic_load(&seen.after[r->thread]))
		atomic_fetch_add(&seen.disorder, 1);
	atomic_store(&seen.after[r->thread], v.u + 1);
	if (atomic_load(&seen.first) == 0)
		atomic_store(&seen.first, v.u + 1);
	atomic_store(&seen.last, v.u + 1);
	atomic_fetch_add(&seen.count, 1);
}

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	look_at(r);
}

static void deliver_batch(kymo_buffer_t buffer, const kymo_batch_t *b, void *data)
{
	atomic_fetch_add(&seen.told_lost, b->lost);
	atomic_fetch_add(&seen.told_overwritten, b->overwritten);
	if (atomic_fetch_add(&seen.inside[b->thread], 1) != 0)
		atomic_fetch_add(&seen.overlaps, 1);
	for (size_t i = 0; i < b->count; i++)
		look_at((const kymo_record_t *)((const char *)b->records + i * b->record_size));
	atomic_fetch_sub(&seen.inside[b->thread], 1);
}

static kymo_context_t make(const kymo_buffer_desc_t *like, kymo_buffer_t *buffer)
{
	kymo_selection_t only = {.size = sizeof(only), .domain = "deliver_test"};
	kymo_buffer_desc_t d = *like;
	kymo_context_t c;

	d.size = sizeof(d);
	d.arguments = KYMO_ARGUMENTS_FULL;
	forget();
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &only, *buffer), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	return c;
}

static kymo_buffer_info_t info_of(kymo_buffer_t b)
{
	kymo_buffer_info_t i = {.size = sizeof(i)};

	assert_int_equal(kymo_buffer_info(b, &i), KYMO_OK);
	return i;
}

#define DRAIN(c) assert_int_equal(kymo_drain(c, UINT64_C(60000000000)), KYMO_OK)

static void destroy(kymo_context_t c)
{
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static void expect_exact(kymo_buffer_t b, uint64_t produced)
{
	kymo_buffer_info_t i = info_of(b);

	assert_int_equal(seen.count, i.delivered);
	assert_int_equal(i.delivered + i.lost + i.overwritten, produced);
	assert_int_equal(seen.disorder, 0);
	assert_int_equal(seen.overlaps, 0);
}

/* ---- many producers, small buffers, every policy, every way of delivery ---- */

#define PRODUCERS   6
#define GENERATIONS 5 /* threads of a producer, one after another */
#define EACH        6000

static void *produce(void *arg)
{
	for (uint64_t i = 0; i < EACH; i++)
		call(i, i % 3 ? NULL : "a string makes records of different sizes");
	return NULL;
}

static void *generations(void *arg)
{
	pthread_t t;

	for (int i = 0; i < GENERATIONS; i++) {
		if (pthread_create(&t, NULL, produce, NULL) != 0)
			abort();
		pthread_join(t, NULL);
	}
	return NULL;
}

static _Atomic bool producing;

static void *keep_draining(void *arg)
{
	const kymo_context_t *c = arg;

	while (atomic_load(&producing))
		if (kymo_drain(*c, UINT64_C(60000000000)) != KYMO_OK)
			abort();
	return NULL;
}

static void stress(const kymo_buffer_desc_t *d, bool drain_too)
{
	pthread_t producers[PRODUCERS], drainer;
	kymo_buffer_t b;
	kymo_context_t c = make(d, &b);

	atomic_store(&producing, true);
	if (drain_too)
		assert_int_equal(pthread_create(&drainer, NULL, keep_draining, &c), 0);
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&producers[i], NULL, generations, NULL), 0);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	atomic_store(&producing, false);
	if (drain_too)
		pthread_join(drainer, NULL);
	DRAIN(c);
	expect_exact(b, (uint64_t)PRODUCERS * GENERATIONS * EACH);
	if (d->policy != KYMO_POLICY_OVERWRITE)
		assert_int_equal(info_of(b).overwritten, 0);
	else if (!drain_too)
		assert_true(info_of(b).overwritten > 0);
	if (d->deliver_batch)
		assert_true(seen.told_lost == info_of(b).lost &&
			    seen.told_overwritten == info_of(b).overwritten);
	assert_int_equal(info_of(b).order_bytes == UINT64_MAX, d->parallel);
	destroy(c);
}

static void stress_ways(kymo_policy_t policy, bool drain_too)
{
	kymo_buffer_desc_t d = {.policy = policy, .bytes = 1, .block_ns = 1000000};
	kymo_pool_t pool;

	d.deliver = deliver;
	stress(&d, drain_too);
	d.deliver = NULL;
	d.deliver_batch = deliver_batch;
	stress(&d, drain_too);
	assert_int_equal(kymo_pool_create(3, &pool), KYMO_OK);
	d.pool = pool;
	stress(&d, drain_too);
	d.parallel = true;
	stress(&d, drain_too);
	assert_int_equal(kymo_pool_destroy(pool), KYMO_OK);
}

static void test_exact_block(void **state)
{
	stress_ways(KYMO_POLICY_BLOCK, false);
	stress_ways(KYMO_POLICY_BLOCK, true);
}

static void test_exact_drop(void **state)
{
	stress_ways(KYMO_POLICY_DROP, false);
	stress_ways(KYMO_POLICY_DROP, true);
}

static void test_exact_overwrite(void **state)
{
	stress_ways(KYMO_POLICY_OVERWRITE, false);
	stress_ways(KYMO_POLICY_OVERWRITE, true);
}

/* ---- flight recorder ---- */

static void test_overwrite_keeps_the_newest(void **state)
{
	kymo_buffer_desc_t d = {.policy = KYMO_POLICY_OVERWRITE, .bytes = 1, .deliver = deliver};
	uint64_t produced = 200000, kept;
	kymo_buffer_t b;
	kymo_context_t c = make(&d, &b);

	for (uint64_t i = 0; i < produced; i++)
		call(i, NULL);
	assert_int_equal(info_of(b).delivered, 0); /* nobody has asked */
	assert_int_equal(seen.count, 0);
	DRAIN(c);
	kept = seen.count;
	assert_true(kept > 1000 && kept < produced / 2);
	assert_int_equal(seen.last, produced);
	assert_int_equal(seen.last - seen.first + 1, kept); /* without a hole */
	assert_int_equal(info_of(b).lost, 0);
	expect_exact(b, produced);
	DRAIN(c);
	assert_int_equal(seen.count, kept);
	call(produced, NULL);
	DRAIN(c);
	assert_int_equal(seen.count, kept + 1);
	expect_exact(b, produced + 1);
	destroy(c);
}

/* What was delivered of a chunk before it gave way counts once. */

static pthread_barrier_t steps;

static void *record_around_a_drain(void *arg)
{
	uint64_t i = 0;

	for (; i < 500; i++)
		call(i, NULL);
	pthread_barrier_wait(&steps); /* recorded */
	pthread_barrier_wait(&steps); /* drained */
	for (; i < 100000; i++)
		call(i, NULL);
	return NULL;
}

static void test_overwrite_after_part_was_delivered(void **state)
{
	kymo_buffer_desc_t d = {.policy = KYMO_POLICY_OVERWRITE, .bytes = 1, .deliver = deliver};
	kymo_buffer_t b;
	kymo_context_t c = make(&d, &b);
	pthread_t t;

	pthread_barrier_init(&steps, NULL, 2);
	assert_int_equal(pthread_create(&t, NULL, record_around_a_drain, NULL), 0);
	pthread_barrier_wait(&steps);
	DRAIN(c);
	assert_int_equal(seen.count, 500);
	pthread_barrier_wait(&steps);
	pthread_join(t, NULL);
	DRAIN(c);
	assert_int_equal(seen.last, 100000);
	assert_true(info_of(b).overwritten > 50000);
	expect_exact(b, 100000);
	destroy(c);
	pthread_barrier_destroy(&steps);
}

/* ---- memory ---- */

static uint64_t resident(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*s %lu", &pages), 1);
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The memory of sanitizers grows with ours: there buffers come and go, and nothing is measured. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MEMORY_ROUNDS 2
#else
#define MEMORY_ROUNDS 12 /* 96 MiB in all */
#endif

static void test_memory_is_given_back(void **state)
{
	kymo_buffer_desc_t d = {
		.policy = KYMO_POLICY_OVERWRITE, .bytes = 8 << 20, .deliver = deliver};
	uint64_t before = 0;

	for (int round = 0; round < MEMORY_ROUNDS; round++) {
		kymo_buffer_t b;
		kymo_context_t c = make(&d, &b);

		for (uint64_t i = 0; i < 500000; i++)
			call(i, NULL);
		assert_int_equal(info_of(b).memory, 8 << 20);
		destroy(c);
		before = round == 1 ? resident() : before;
	}
	if (MEMORY_ROUNDS > 2)
		assert_true(resident() < before + (24 << 20));
}

/* ---- watermark ---- */

static void deliver_and_tell(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	look_at(r);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Until so many have been delivered; the test's time limit is the end of patience. */
static void await(uint64_t count)
{
	pthread_mutex_lock(&lock);
	while (atomic_load(&seen.count) < count)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void test_watermark(void **state)
{
	kymo_buffer_desc_t d = {.bytes = 8 << 20, .deliver = deliver_and_tell};
	uint64_t i = 0;
	kymo_buffer_t b;
	kymo_context_t c;

	d.watermark = 1; /* every chunk */
	c = make(&d, &b);
	for (; i < 4000; i++)
		call(i, NULL);
	await(1000); /* without being asked for */
	destroy(c);
	assert_int_equal(seen.count, 4000);

	d.watermark = 4 << 20;
	c = make(&d, &b);
	for (i = 0; i < 50000; i++) /* about 1 MiB */
		call(i, NULL);
	assert_int_equal(info_of(b).delivered, 0);
	for (; i < 300000; i++)
		call(i, NULL);
	await(100000);
	destroy(c);
	assert_int_equal(seen.count, 300000);
}

/* ---- what callbacks may do ---- */

static kymo_context_t own;
static kymo_context_t other;
static kymo_buffer_t own_buffer;
static kymo_status_t said_drain, said_destroy, said_other, said_stop, said_flush;

static void deliver_misusing(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	for (int i = 0; i < 3; i++)
		call(1000000, "from a callback"); /* neither recorded nor hanging */
	if (atomic_load(&seen.count) == 0) {
		said_drain = kymo_drain(own, 5000000000u);
		said_destroy = kymo_context_destroy(own);
		said_other = kymo_drain(other, 5000000000u);
		said_flush = kymo_buffer_flush(buffer);
		said_stop = kymo_context_stop(own);
	}
	look_at(r);
}

static void test_callback_misuse(void **state)
{
	kymo_buffer_desc_t d = {.deliver = deliver_misusing}, e = {.deliver = deliver};
	kymo_buffer_t b;
	kymo_pool_t pool;

	assert_int_equal(kymo_pool_create(1, &pool), KYMO_OK);
	d.pool = e.pool = pool;
	other = make(&e, &b);
	assert_int_equal(kymo_context_stop(other), KYMO_OK);
	own = make(&d, &own_buffer);
	for (uint64_t i = 0; i < 100; i++)
		call(i, NULL);
	DRAIN(own);
	assert_int_equal(said_drain, KYMO_ERROR_BUSY);
	assert_int_equal(said_destroy, KYMO_ERROR_BUSY);
	assert_int_equal(said_other, KYMO_ERROR_BUSY);
	assert_int_equal(said_flush, KYMO_OK);
	assert_int_equal(said_stop, KYMO_OK);
	call(100, NULL); /* stopped */
	DRAIN(own);
	expect_exact(own_buffer, 100);
	destroy(own);
	destroy(other);
	assert_int_equal(kymo_pool_destroy(pool), KYMO_OK);
}

/* A callback that blocks until it is let go. */
static bool gate_open;
static bool at_gate;

static void gate(bool open)
{
	pthread_mutex_lock(&lock);
	gate_open = open;
	if (!open)
		at_gate = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void deliver_blocking(kymo_buffer_t buffer, const kymo_batch_t *batch, void *data)
{
	pthread_mutex_lock(&lock);
	at_gate = true;
	pthread_cond_broadcast(&changed);
	while (!gate_open)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	deliver_batch(buffer, batch, data);
}

static void await_gate(void)
{
	pthread_mutex_lock(&lock);
	while (!at_gate)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* What a runtime lost is told in-band and in the totals, whether or not records follow. */
static void test_lost_elsewhere(void **state)
{
	kymo_buffer_desc_t d = {.policy = KYMO_POLICY_BLOCK, .deliver_batch = deliver_batch};
	kymo_buffer_t b;
	kymo_context_t c = make(&d, &b);

	call(0, NULL);
	cap_lost(&ops[0], 5);
	call(1, NULL);
	cap_lost(&ops[0], 2);
	DRAIN(c);
	assert_int_equal(seen.count, 2);
	assert_int_equal(info_of(b).lost, 7);
	assert_int_equal(seen.told_lost, 7);
	destroy(c);
	cap_lost(&ops[0], 3); /* nobody is there to be told */
}

static void check_blocked(kymo_policy_t policy)
{
	kymo_buffer_desc_t d = {.policy = policy,
				.bytes = 1,
				.block_ns = 2000000,
				.watermark = policy != KYMO_POLICY_OVERWRITE,
				.deliver_batch = deliver_blocking};
	uint64_t i = 0, lost;
	kymo_buffer_t b;
	kymo_context_t c;

	gate(false);
	c = make(&d, &b);
	for (; i < 2000; i++)
		call(i, NULL);
	if (policy == KYMO_POLICY_OVERWRITE)
		assert_int_equal(kymo_buffer_flush(b), KYMO_OK);
	await_gate();
	for (; i < 60000; i++)
		call(i, NULL);
	if (policy != KYMO_POLICY_OVERWRITE) {
		lost = info_of(b).lost;
		assert_true(lost > 10000);
	} else {
		assert_true(info_of(b).overwritten > 10000);
	}
	assert_int_equal(kymo_drain(c, 1000000), KYMO_ERROR_TIMEOUT);
	gate(true);
	DRAIN(c);
	for (; i < 60100; i++)
		call(i, NULL);
	DRAIN(c);
	expect_exact(b, i);
	assert_int_equal(seen.last, i);
	assert_int_equal(seen.told_lost, info_of(b).lost); /* in-band, all of it */
	assert_int_equal(seen.told_overwritten, info_of(b).overwritten);
	destroy(c);
}

static void test_callback_blocks(void **state)
{
	check_blocked(KYMO_POLICY_DROP);
	check_blocked(KYMO_POLICY_BLOCK);
	check_blocked(KYMO_POLICY_OVERWRITE);
}

/* ---- what is lost after the last record of a thread ---- */

#define TAIL 60000

static pthread_barrier_t produced, may_end;

static void *produce_and_stay(void *arg)
{
	for (uint64_t i = 0; i < TAIL; i++)
		call(i, NULL);
	pthread_barrier_wait(&produced);
	pthread_barrier_wait(&may_end);
	return NULL;
}

/* Nothing is delivered while the threads produce, so that all of them lose their last records. */
static void check_tail(unsigned threads, bool ended, bool parallel)
{
	kymo_buffer_desc_t d = {.policy = KYMO_POLICY_DROP,
				.bytes = 1,
				.watermark = 1,
				.deliver_batch = deliver_blocking,
				.parallel = parallel};
	pthread_t t[16];
	kymo_buffer_t b;
	kymo_context_t c;

	if (parallel)
		assert_int_equal(kymo_pool_create(3, &d.pool), KYMO_OK);
	gate(false);
	c = make(&d, &b);
	pthread_barrier_init(&produced, NULL, threads + 1);
	pthread_barrier_init(&may_end, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&t[i], NULL, produce_and_stay, NULL), 0);
	pthread_barrier_wait(&produced);
	if (ended)
		pthread_barrier_wait(&may_end);
	for (unsigned i = 0; ended && i < threads; i++)
		pthread_join(t[i], NULL);
	gate(true);
	DRAIN(c);
	expect_exact(b, (uint64_t)threads * TAIL);
	assert_true(info_of(b).lost > 0);
	assert_int_equal(seen.told_lost, info_of(b).lost);
	if (!ended)
		pthread_barrier_wait(&may_end);
	for (unsigned i = 0; !ended && i < threads; i++)
		pthread_join(t[i], NULL);
	destroy(c);
	if (parallel)
		assert_int_equal(kymo_pool_destroy(d.pool), KYMO_OK);
}

static void test_last_losses_are_told(void **state)
{
	for (unsigned threads = 1; threads <= 16; threads *= 4) {
		check_tail(threads, false, false);
		check_tail(threads, true, false);
		check_tail(threads, true, true);
	}
}

/* ---- a thread that drains ---- */

/* More than the smallest buffer has chunks. */
#define DRAINING 200

static void *record_drain_and_stay(void *arg)
{
	const kymo_context_t *c = arg;

	call(0, NULL);
	if (kymo_drain(*c, UINT64_C(60000000000)) != KYMO_OK)
		abort();
	pthread_barrier_wait(&steps); /* drained */
	pthread_barrier_wait(&may_end);
	return NULL;
}

/* It keeps no chunk, so that others find one, however many threads have drained. */
static void test_drain_gives_the_chunk_back(void **state)
{
	kymo_buffer_desc_t d = {.policy = KYMO_POLICY_DROP, .bytes = 1, .deliver = deliver};
	pthread_t t[DRAINING];
	kymo_buffer_t b;
	kymo_context_t c = make(&d, &b);

	assert_true(info_of(b).bytes < (uint64_t)DRAINING * info_of(b).order_bytes);
	pthread_barrier_init(&steps, NULL, 2);
	pthread_barrier_init(&may_end, NULL, DRAINING + 1);
	for (unsigned i = 0; i < DRAINING; i++) {
		assert_int_equal(pthread_create(&t[i], NULL, record_drain_and_stay, &c), 0);
		pthread_barrier_wait(&steps);
	}
	pthread_barrier_wait(&may_end);
	for (unsigned i = 0; i < DRAINING; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(info_of(b).lost, 0);
	expect_exact(b, DRAINING);
	destroy(c);
	pthread_barrier_destroy(&steps);
	pthread_barrier_destroy(&may_end);
}

/* The child's copy of the thread must not go on with its parent's records. */
static struct shared {
	_Atomic int child;
	_Atomic uint64_t in_child;
} * shared;
static pid_t parent;

static void deliver_forking(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	look_at(r);
	if (getpid() != parent)
		atomic_fetch_add(&shared->in_child, 1);
	if (atomic_load(&seen.count) == 10 && atomic_load(&shared->child) == 0) {
		pid_t pid = fork();

		if (pid != 0)
			atomic_store(&shared->child, pid);
	}
}

static void test_callback_forks(void **state)
{
	kymo_buffer_desc_t d = {.deliver = deliver_forking};
	kymo_buffer_t b;
	kymo_context_t c;
	int status;

#ifdef __SANITIZE_THREAD__
	skip(); /* ThreadSanitizer ends children of threaded processes */
#endif
	parent = getpid();
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	c = make(&d, &b);
	for (uint64_t i = 0; i < 1000; i++)
		call(i, NULL);
	DRAIN(c);
	expect_exact(b, 1000);
	assert_int_equal(waitpid(atomic_load(&shared->child), &status, 0), shared->child);
	assert_int_equal(status, 0);
	assert_int_equal(shared->in_child, 0);
	destroy(c);
	munmap(shared, 4096);
}

/* ---- pools ---- */

static int deliver_in_child(kymo_context_t c, kymo_buffer_t b)
{
	forget();
	for (uint64_t i = 0; i < 5000; i++)
		call(i, NULL);
	if (kymo_drain(c, UINT64_C(60000000000)) != KYMO_OK)
		return 2;
	return seen.count == 5000 && info_of(b).lost == 0 && seen.disorder == 0 ? 0 : 3;
}

static void test_pool_in_child(void **state)
{
	kymo_buffer_desc_t d = {.deliver = deliver};
	kymo_buffer_t b;
	kymo_context_t c;
	kymo_pool_t pool;
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip(); /* ThreadSanitizer cannot follow threads made in a child of a threaded process */
#endif
	assert_int_equal(kymo_pool_create(2, &pool), KYMO_OK);
	d.pool = pool;
	c = make(&d, &b);
	for (uint64_t i = 0; i < 100; i++)
		call(i, NULL);
	pid = fork();
	if (pid == 0)
		_exit(deliver_in_child(c, b));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	DRAIN(c);
	expect_exact(b, 100);
	destroy(c);
	assert_int_equal(kymo_pool_destroy(pool), KYMO_OK);
}

static void test_pool_handles(void **state)
{
	kymo_buffer_desc_t d = {.deliver = deliver};
	kymo_pool_t pool, none = {0};
	kymo_buffer_t b;
	kymo_context_t c, e;

	assert_int_equal(kymo_pool_create(0, &pool), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_pool_create(1, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_pool_create(17, &pool), KYMO_ERROR_LIMIT);
	assert_int_equal(kymo_pool_destroy(none), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_pool_create(2, &pool), KYMO_OK);
	d.pool = pool;
	c = make(&d, &b);
	assert_int_equal(kymo_pool_destroy(pool), KYMO_ERROR_BUSY);
	destroy(c);
	assert_int_equal(kymo_pool_destroy(pool), KYMO_OK);
	assert_int_equal(kymo_pool_destroy(pool), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_context_create(&e), KYMO_OK);
	d.size = sizeof(d);
	assert_int_equal(kymo_buffer_create(e, &d, &b), KYMO_ERROR_NOT_FOUND);
	destroy(e);
}

/* ---- notice of threads ---- */

static struct {
	int before, after;
	uint32_t tid;
	char name[16], system_name[32];
	bool order;
} noticed;

static void on_before(const kymo_thread_info_t *t, void *data)
{
	noticed.order = noticed.before == noticed.after && t->tid == 0;
	noticed.before++;
}

static void on_after(const kymo_thread_info_t *t, void *data)
{
	char path[64];
	FILE *f;

	noticed.order &= noticed.before == noticed.after + 1;
	noticed.after++;
	noticed.tid = t->tid;
	snprintf(noticed.name, sizeof(noticed.name), "%s", t->name);
	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", t->tid);
	f = fopen(path, "r");
	if (!f)
		return;
	if (!fgets(noticed.system_name, sizeof(noticed.system_name), f))
		noticed.system_name[0] = 0;
	fclose(f);
}

static _Atomic int thread_ran;

static void thread_of_tool(void *data)
{
	call(1, NULL); /* untraced */
	pthread_mutex_lock(&lock);
	atomic_store(&thread_ran, 1);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void test_threads_are_announced(void **state)
{
	kymo_buffer_desc_t d = {.deliver = deliver};
	kymo_buffer_t b;
	kymo_context_t c;

	assert_int_equal(kymo_thread_notify(NULL, NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_thread_notify(on_before, on_after, NULL), KYMO_OK);
	c = make(&d, &b);
	assert_int_equal(noticed.before, 1);
	assert_int_equal(noticed.after, 1);
	assert_true(noticed.order && noticed.tid != 0);
	assert_string_equal(noticed.name, "deliver");
	assert_string_equal(noticed.system_name, "kymo-deliver\n");
	assert_int_equal(kymo_thread_start("mine", thread_of_tool, NULL), KYMO_OK);
	pthread_mutex_lock(&lock);
	while (!atomic_load(&thread_ran))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	assert_int_equal(noticed.after, 2);
	assert_string_equal(noticed.name, "mine");
	call(1, NULL);
	DRAIN(c);
	expect_exact(b, 1);
	destroy(c);
}

/* ---- descriptions ---- */

static kymo_status_t share_nothing(int memfd, uint64_t bytes, void *data)
{
	return KYMO_OK;
}

static kymo_status_t create(kymo_buffer_desc_t d)
{
	kymo_context_t c;
	kymo_status_t status;
	kymo_buffer_t b;

	d.size = d.size ? d.size : sizeof(d);
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	status = kymo_buffer_create(c, &d, &b);
	destroy(c);
	return status;
}

static void steer_nothing(kymo_steer_t what, void *data)
{
}

/* As a tool of a later version has it: what it asks for at the end is not ignored. */
static void test_newer_structures(void **state)
{
	struct {
		kymo_selection_t s;
		uint64_t more[2];
	} selection = {.s = {.size = sizeof(selection)}};
	struct {
		kymo_buffer_desc_t d;
		uint64_t more[2];
	} buffer = {.d = {.size = sizeof(buffer), .deliver = deliver}};
	kymo_context_t c;
	kymo_buffer_t b;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	buffer.more[1] = 1;
	assert_int_equal(kymo_buffer_create(c, &buffer.d, &b), KYMO_ERROR_INCOMPATIBLE);
	assert_true(*kymo_error_text());
	buffer.more[1] = 0;
	assert_int_equal(kymo_buffer_create(c, &buffer.d, &b), KYMO_OK);
	selection.more[0] = 1;
	assert_int_equal(kymo_buffer_service(c, &selection.s, b), KYMO_ERROR_INCOMPATIBLE);
	selection.more[0] = 0;
	assert_int_equal(kymo_buffer_service(c, &selection.s, b), KYMO_OK);
	selection.s.size = 1 << 20; /* nobody's */
	assert_int_equal(kymo_buffer_service(c, &selection.s, b), KYMO_ERROR_INCOMPATIBLE);
	destroy(c);
}

static void test_bad_descriptions(void **state)
{
	kymo_buffer_info_t i = {.size = 8};
	kymo_buffer_t b = {0xdead00};
	const size_t old = offsetof(kymo_buffer_desc_t, watermark);

	assert_int_equal(create((kymo_buffer_desc_t){.deliver = deliver}), KYMO_OK);
	assert_int_equal(create((kymo_buffer_desc_t){.deliver = deliver, .size = old}), KYMO_OK);
	assert_int_equal(create((kymo_buffer_desc_t){.deliver = deliver, .size = old - 1}),
			 KYMO_ERROR_INCOMPATIBLE);
	assert_int_equal(
		create((kymo_buffer_desc_t){.deliver = deliver, .deliver_batch = deliver_batch}),
		KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(create((kymo_buffer_desc_t){
				 .deliver = deliver, .bytes = 1 << 20, .watermark = 2 << 20}),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(
		create((kymo_buffer_desc_t){.deliver = deliver, .policy = (kymo_policy_t)4}),
		KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(create((kymo_buffer_desc_t){.share = share_nothing, .parallel = true}),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(create((kymo_buffer_desc_t){.deliver = deliver,
						     .watermark = 32768,
						     .policy = KYMO_POLICY_OVERWRITE}),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_non_null(strstr(kymo_error_text(), "watermark"));
	assert_int_equal(create((kymo_buffer_desc_t){.deliver = deliver, .steer = steer_nothing}),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_non_null(strstr(kymo_error_text(), "steer"));
	assert_int_equal(create((kymo_buffer_desc_t){.deliver = deliver, .bytes = 1 << 30}),
			 KYMO_OK);
	assert_int_equal(create((kymo_buffer_desc_t){.deliver = deliver, .bytes = (1 << 30) + 1u}),
			 KYMO_ERROR_LIMIT);
	assert_int_equal(kymo_buffer_info(b, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_buffer_info(b, &i), KYMO_ERROR_INCOMPATIBLE);
	i.size = sizeof(i);
	assert_int_equal(kymo_buffer_info(b, &i), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_buffer_flush(b), KYMO_ERROR_NOT_FOUND);
}

static int setup(void **state)
{
	struct cap_domain *domain;

	return cap_domain_register(&domain_info, &domain) == KYMO_OK ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_are_announced),
		cmocka_unit_test(test_bad_descriptions),
		cmocka_unit_test(test_newer_structures),
		cmocka_unit_test(test_pool_handles),
		cmocka_unit_test(test_watermark),
		cmocka_unit_test(test_overwrite_keeps_the_newest),
		cmocka_unit_test(test_overwrite_after_part_was_delivered),
		cmocka_unit_test(test_memory_is_given_back),
		cmocka_unit_test(test_callback_misuse),
		cmocka_unit_test(test_lost_elsewhere),
		cmocka_unit_test(test_callback_blocks),
		cmocka_unit_test(test_last_losses_are_told),
		cmocka_unit_test(test_drain_gives_the_chunk_back),
		cmocka_unit_test(test_exact_block),
		cmocka_unit_test(test_exact_drop),
		cmocka_unit_test(test_exact_overwrite),
		cmocka_unit_test(test_callback_forks),
		cmocka_unit_test(test_pool_in_child),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
