/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a program whose use of the processor is known: how they are shared among functions and
 * threads, and what a program that uses signals, timers, forks and short threads notices of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <kymo/sample.h>

#include "base/clock.h"

/* ---- work whose place is known ---- */

extern const char __start_hot_code[], __stop_hot_code[], __start_warm_code[], __stop_warm_code[];

#define WORK(name, place)                                                                          \
	static __attribute__((noinline, section(place))) uint64_t name(unsigned n)                 \
	{                                                                                          \
		uint64_t x = n;                                                                    \
		for (unsigned i = 0; i < n; i++)                                                   \
			__asm__ volatile("" : "+r"(x));                                            \
		return x;                                                                          \
	}
WORK(hot, "hot_code")
WORK(warm, "warm_code")

static void use_cpu(uint64_t (*work)(unsigned), uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		work(1000000);
}

/* ---- a tool ---- */

struct got {
	uint64_t pc, time, weight, stack;
	uint32_t tid, thread;
};
static struct got got[100000];
static uint32_t got_count;
static uint64_t lost, begin_time;

static uint64_t value(const kymo_record_t *r, const char *name)
{
	kymo_value_t v = {.size = sizeof(v)};

	for (uint32_t i = 0; kymo_record_value(r, i, &v) == KYMO_OK; i++)
		if (strcmp(v.field->name, name) == 0)
			return v.u;
	fail_msg("no field %s", name);
	return 0;
}

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	if (strcmp(r->domain->name, "sample") != 0 || got_count == 100000)
		return;
	if (strcmp(r->domain->ops[r->op].name, "lost") == 0) {
		lost += value(r, "count");
		return;
	}
	got[got_count++] = (struct got){
		value(r, "pc"),    value(r, "time"),          value(r, "weight"),
		value(r, "stack"), (uint32_t)value(r, "tid"), (uint32_t)value(r, "thread")};
}

static kymo_context_t context;
static kymo_sample_method_t method;

#define INTERVAL 1000000u

static kymo_sample_desc_t ordinary(void)
{
	return (kymo_sample_desc_t){
		.size = sizeof(kymo_sample_desc_t), .interval_ns = INTERVAL, .method = method};
}

static int setup(void **state)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = deliver};
	kymo_selection_t s = {.size = sizeof(s), .domain = "sample"};
	kymo_sample_desc_t sampling = ordinary();
	kymo_buffer_t buffer;

	got_count = 0;
	lost = 0;
	begin_time = clock_ns(CLOCK_MONOTONIC_RAW);
	assert_int_equal(kymo_context_create(&context), KYMO_OK);
	assert_int_equal(kymo_buffer_create(context, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(context, &s, buffer), KYMO_OK);
	assert_int_equal(kymo_sample_service(context, &sampling), KYMO_OK);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	return 0;
}

static int teardown(void **state)
{
	kymo_context_destroy(context);
	return 0;
}

static void finish(void)
{
	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(kymo_drain(context, 60000000000), KYMO_OK);
}

static bool in_hot(uint64_t pc)
{
	return pc >= (uintptr_t)__start_hot_code && pc < (uintptr_t)__stop_hot_code;
}

static bool in_warm(uint64_t pc)
{
	return pc >= (uintptr_t)__start_warm_code && pc < (uintptr_t)__stop_warm_code;
}

/* ---- what samples say ---- */

static double ms(const struct got *g)
{
	return (double)g->weight / 1e6;
}

static double all_ms(void)
{
	double sum = 0;

	for (uint32_t i = 0; i < got_count; i++)
		sum += ms(&got[i]);
	return sum;
}

/* 1,000 samples at least, so 5 points are four standard deviations at least. */
static void shares_are_right(void **state)
{
	uint64_t end;
	double hots = 0, warms = 0, missing;

	for (int i = 0; i < 40; i++) {
		use_cpu(hot, 80000000);
		use_cpu(warm, 20000000);
	}
	finish();
	end = clock_ns(CLOCK_MONOTONIC_RAW);
	for (uint32_t i = 0; i < got_count; i++) {
#ifdef __SANITIZE_THREAD__ /* which has a thread of its own */
		if (got[i].tid != (uint32_t)syscall(SYS_gettid))
			continue;
#endif
		hots += in_hot(got[i].pc) ? ms(&got[i]) : 0;
		warms += in_warm(got[i].pc) ? ms(&got[i]) : 0;
		assert_true(got[i].time >= begin_time && got[i].time <= end);
		assert_true(got[i].weight >= INTERVAL && got[i].weight % INTERVAL == 0);
		assert_true(got[i].stack != 0);
		assert_int_equal(got[i].tid, (uint32_t)syscall(SYS_gettid));
	}
	/* Where the thread that reads them has no processor for long some are lost: they are counted. */
	missing = (double)lost * INTERVAL / 1e6;
	print_message("%u samples, %.0f ms hot, %.0f ms warm, %.0f ms lost\n", got_count, hots,
		      warms, missing);
	assert_true(hots + warms >= 0.98 * all_ms());
	assert_true(hots + warms + missing >= 3600 && hots + warms + missing <= 4400);
	assert_true(hots / (hots + warms) > 0.75 && hots / (hots + warms) < 0.85);
	assert_true(missing < 400);
}

static void *use(void *function, uint64_t ns)
{
	use_cpu(function, ns);
	return (void *)(uintptr_t)syscall(SYS_gettid);
}

static void *use_50ms(void *arg)
{
	return use(arg, 50000000);
}

static void *use_400ms(void *arg)
{
	return use(arg, 400000000);
}

static double ms_of(uint32_t tid)
{
	double sum = 0;

	for (uint32_t i = 0; i < got_count; i++)
		sum += got[i].tid == tid ? ms(&got[i]) : 0;
	return sum;
}

/*
 * Method timer finds a thread within 20 ms of its own thread's running: on a busy machine the new one
 * has run for longer by then. Clones may swap what is left of a period.
 */
static void new_threads_are_sampled(void **state)
{
	const bool timer = method == KYMO_SAMPLE_TIMER;
	pthread_t threads[4];
	void *tid[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, timer ? use_400ms : use_50ms, hot), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], &tid[i]);
	finish();
	for (int i = 0; i < 4; i++) {
		double n = ms_of((uint32_t)(uintptr_t)tid[i]);

		print_message("%.0f ms of a new thread\n", n);
		assert_true(n >= (timer ? 200 : 35) && n <= (timer ? 440 : 65));
	}
}

static pthread_barrier_t begun, go;

static void *wait_and_use(void *arg)
{
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&go);
	return method == KYMO_SAMPLE_TIMER ? use_400ms(arg) : use_50ms(arg);
}

/* Threads that were there before, once each, and those that they start. */
static void old_threads_are_sampled_once(void **state)
{
	pthread_t threads[3];
	void *tid[3];

	kymo_context_stop(context);
	pthread_barrier_init(&begun, NULL, 4);
	pthread_barrier_init(&go, NULL, 4);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_and_use, warm), 0);
	pthread_barrier_wait(&begun);
	kymo_context_start(context);
	pthread_barrier_wait(&go);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], &tid[i]);
	finish();
	for (int i = 0; i < 3; i++) {
		const bool timer = method == KYMO_SAMPLE_TIMER; /* finds them late, too */
		double n = ms_of((uint32_t)(uintptr_t)tid[i]);

		assert_true(n >= (timer ? 200 : 35) && n <= (timer ? 440 : 65));
	}
}

/* Method timer finds a thread when its own thread has run, which takes long on a busy machine. */
static uint64_t found_by_then(void)
{
	return method == KYMO_SAMPLE_TIMER ? 400000000 : 20000000;
}

static void *opted_out(void *arg)
{
	assert_int_equal(kymo_sample_thread(false), KYMO_OK);
	return use_50ms(arg);
}

static void threads_opt_out(void **state)
{
	pthread_t t;
	void *tid;

	assert_int_equal(pthread_create(&t, NULL, opted_out, hot), 0);
	pthread_join(t, &tid);
	use_cpu(warm, 50000000 + found_by_then());
	finish();
	assert_true(ms_of((uint32_t)(uintptr_t)tid) == 0);
	assert_true(ms_of((uint32_t)syscall(SYS_gettid)) >= 30);
}

static void *short_life(void *arg)
{
	use_cpu(hot, 100000);
	return NULL;
}

/* Threads that end while they are found and looked up; most are too short for a sample. */
static void short_threads_do_no_harm(void **state)
{
	pthread_t threads[8];

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 8; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, short_life, NULL), 0);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
	use_cpu(warm, 20000000 + found_by_then());
	finish();
	assert_true(ms_of((uint32_t)syscall(SYS_gettid)) >= 15);
}

static void nothing_comes_while_stopped(void **state)
{
	uint32_t before;

	use_cpu(hot, found_by_then());
	finish();
	before = got_count;
	assert_true(all_ms() >= 10);
	use_cpu(hot, 50000000);
	kymo_drain(context, 1000000000);
	assert_int_equal(got_count, before);
	kymo_context_start(context);
	use_cpu(hot, found_by_then());
	finish();
	assert_true(got_count > before);
}

static struct {
	unsigned before, after;
	char name[16], comm[32];
} told;

static void before_thread(const kymo_thread_info_t *t, void *data)
{
	told.before++;
}

static void after_thread(const kymo_thread_info_t *t, void *data)
{
	char path[64];
	FILE *f;

	told.after++;
	snprintf(told.name, sizeof(told.name), "%s", t->name);
	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", t->tid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(told.comm, sizeof(told.comm), f));
	fclose(f);
}

static void tools_hear_of_the_thread(void **state)
{
	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(kymo_thread_notify(before_thread, after_thread, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	assert_int_equal(told.before, 1);
	assert_int_equal(told.after, 1);
	assert_string_equal(told.name, "sample");
	assert_string_equal(told.comm, "kymo-sample\n");
	use_cpu(hot, found_by_then());
	finish();
	assert_true(got_count > 0);
}

static void a_child_is_sampled_for_itself(void **state)
{
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	print_message("the thread sanitizer allows no threads in a child\n");
	skip();
#endif
	pid = fork();

	if (pid == 0) {
		got_count = 0;
		kymo_drain(context, 0); /* Kymo is used: it begins anew */
		use_cpu(hot, 2 * found_by_then() + 10000000);
		finish();
		_exit(ms_of((uint32_t)getpid()) >= 20 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	use_cpu(hot, found_by_then());
	finish();
	assert_true(ms_of((uint32_t)pid) == 0);
	assert_true(all_ms() >= 10);
}

/* ---- who may sample ---- */

static void descriptions_must_agree(void **state)
{
	kymo_sample_desc_t d = ordinary();
	kymo_context_t other;

	assert_int_equal(kymo_context_create(&other), KYMO_OK);
	d.interval_ns = 2 * INTERVAL;
	assert_int_equal(kymo_sample_service(other, &d), KYMO_ERROR_BUSY);
	assert_non_null(strstr(kymo_sample_error(), "another context"));
	d.interval_ns = 10;
	assert_int_equal(kymo_sample_service(other, &d), KYMO_ERROR_INVALID_ARGUMENT);
	d = ordinary();
	d.threads = "main";
	assert_int_equal(kymo_sample_service(other, &d), KYMO_ERROR_BUSY);
	d = ordinary();
	d.event = "page-faults";
	assert_int_equal(kymo_sample_service(other, &d), KYMO_ERROR_INVALID_ARGUMENT);
	d.event_period = 100;
	assert_int_equal(kymo_sample_service(other, &d),
			 method == KYMO_SAMPLE_TIMER ? KYMO_ERROR_UNSUPPORTED : KYMO_ERROR_BUSY);
	d.event = "nothing";
	assert_int_equal(kymo_sample_service(other, &d), KYMO_ERROR_UNSUPPORTED);
	d = ordinary();
	d.size = offsetof(kymo_sample_desc_t,
			  threads); /* of a tool that was built before they came */
	d.threads = "nobody";
	assert_int_equal(kymo_sample_service(context, &d), KYMO_ERROR_EXISTS);
	assert_int_equal(kymo_sample_service(other, &d), KYMO_OK);
	kymo_context_destroy(context);
	kymo_context_destroy(other);
	assert_int_equal(kymo_context_create(&other), KYMO_OK);
	d.interval_ns = 2 * INTERVAL;
	assert_int_equal(kymo_sample_service(other, &d), KYMO_OK); /* they are gone */
	kymo_context_destroy(other);
}

/* ---- what the program notices ---- */

static unsigned open_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* No descriptor, no handler, no mask, no interrupted call. */
static void the_program_notices_nothing(void **state)
{
	struct sigaction before[65], after;
	sigset_t mask_before, mask_after;
	unsigned descriptors;
	int pipes[2];
	pthread_t t;

	kymo_context_stop(context);
	descriptors = open_descriptors();
	for (int s = 1; s < 65; s++) {
		memset(&before[s], 0, sizeof(before[s]));
		sigaction(s, NULL, &before[s]);
	}
	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	kymo_context_start(context);
	assert_int_equal(open_descriptors(), descriptors);
	for (int s = 1; s < 65; s++) {
		memset(&after, 0, sizeof(after));
		sigaction(s, NULL, &after);
		assert_ptr_equal(after.sa_handler, before[s].sa_handler);
	}
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	assert_memory_equal(&mask_before, &mask_after, 8); /* what the kernel fills */
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pthread_create(&t, NULL, use_50ms, hot), 0);
	for (int i = 0; i < 20; i++) {
		struct pollfd p = {pipes[0], POLLIN, 0};

		errno = 0;
		assert_int_equal(poll(&p, 1, 5), 0); /* -1 and EINTR if a signal came */
		use_cpu(warm, 2000000);
	}
	pthread_join(t, NULL);
	close(pipes[0]);
	close(pipes[1]);
	finish();
	assert_true(all_ms() >= 50);
}

static double process_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e3 * (double)t.tv_sec + (double)t.tv_nsec / 1e6;
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	alarms++;
}

/* A program with a profiler of its own keeps it. */
static void the_programs_timers_go_on(void **state)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, 10000}, {0, 10000}}, off = {{0, 0}, {0, 0}};
	double used = process_ms();

	assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_PROF, &timer, NULL), 0);
	use_cpu(hot, 300000000);
	setitimer(ITIMER_PROF, &off, NULL);
	used = process_ms() - used;
	finish();
	print_message("%d alarms in %.0f ms, %.0f ms of samples\n", (int)alarms, used, all_ms());
	/* One in 10 ms of the process; on a busy machine the system itself merges most of them. */
	assert_true(alarms >= 1 && alarms <= 1.3 * used / 10 + 2);
	assert_int_equal(sigaction(SIGPROF, NULL, &action), 0);
	assert_ptr_equal(action.sa_handler, on_alarm);
	assert_true(all_ms() >= 200);
	signal(SIGPROF, SIG_DFL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(shares_are_right),
		TEST(new_threads_are_sampled),
		TEST(old_threads_are_sampled_once),
		TEST(threads_opt_out),
		TEST(short_threads_do_no_harm),
		TEST(nothing_comes_while_stopped),
		TEST(tools_hear_of_the_thread),
		TEST(a_child_is_sampled_for_itself),
		TEST(descriptions_must_agree),
		TEST(the_programs_timers_go_on),
		TEST(the_program_notices_nothing), /* not with timers: the last one */
	};
	size_t count = sizeof(tests) / sizeof(tests[0]);

	method = argc > 1 && strcmp(argv[1], "timer") == 0 ? KYMO_SAMPLE_TIMER : KYMO_SAMPLE_QUIET;
	if (method == KYMO_SAMPLE_TIMER)
		count--;
	if (kymo_sample_check(method) != KYMO_OK) {
		printf("skipped: %s\n", kymo_sample_error());
		return 77;
	}
	return _cmocka_run_group_tests("sample", tests, count, NULL, NULL);
}
