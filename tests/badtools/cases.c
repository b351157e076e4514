/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of tools that do what they must not: throw, jump, end the thread, block, fork, exit,
 * unload. */
#include "badtools.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int count; /* calls of the bad function */

static void *on_thread(void *fn)
{
	((void (*)(void))(uintptr_t)fn)();
	return NULL;
}

static void other_thread(void (*fn)(void))
{
	pthread_t t;

	EQUAL(pthread_create(&t, NULL, on_thread, (void *)(uintptr_t)fn), 0);
	EQUAL(pthread_join(t, NULL), 0);
}

static kymo_context_t victim;

static void destroy_victim(void)
{
	EQUAL(kymo_context_destroy(victim), KYMO_OK);
}

/* Calls are traced as ever, and nothing keeps a context from being destroyed. */
static void all_is_well(void)
{
	struct good before;
	kymo_context_t c = good_start();

	before = good;
	call();
	submit();
	EQUAL(good.enters - before.enters, 2);
	EQUAL(good.exits - before.exits, 2);
	EQUAL(good.completes - before.completes, 1);
	victim = c;
	other_thread(destroy_victim);
}

/* ---- exceptions ---- */

static void throw_callback(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	count++;
	thrower_throw();
}

static void throws_callback(void)
{
	kymo_context_t bad = watch(throw_callback, NULL), c = good_start();

	call();
	submit();
	EQUAL(good.enters, 2); /* who comes after is told */
	EQUAL(good.exits, 2);
	EQUAL(good.completes, 1);
	CHECK(count >= 5);
	EQUAL(thrower_destroyed(), count); /* the tool's own frames were unwound */
	EQUAL(thrower_uncaught(), 0);
	EQUAL(kymo_inner_calls(), 0);
	victim = bad;
	other_thread(destroy_victim);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	all_is_well();
}

static uint64_t throw_request(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	count++;
	thrower_throw();
	return 1;
}

static bool throw_filter(const kymo_work_t *work, void *data)
{
	count++;
	thrower_throw();
	return true;
}

static bool throw_select(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	count++;
	thrower_throw();
	return true;
}

static uint64_t external = 77;

static void look_at_external(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	if (strcmp(r->domain->name, "bad") == 0)
		external = r->external;
}

static void throws_elsewhere(void)
{
	kymo_selection_t filter = {
		.size = sizeof(filter), .domain = "sync", .filter = throw_filter};
	kymo_selection_t select = {.size = sizeof(select), .domain = "bad", .select = throw_select};
	kymo_context_t c = good_start(), bad = {0};

	EQUAL(kymo_context_create(&bad), KYMO_OK);
	EQUAL(kymo_external_push(bad, 5), KYMO_OK);
	EQUAL(kymo_external_request_service(bad, NULL, throw_request, NULL), KYMO_OK);
	EQUAL(kymo_callback_service(bad, &filter, throw_callback, NULL), KYMO_OK);
	EQUAL(kymo_callback_service(bad, &select, throw_callback, NULL), KYMO_OK);
	EQUAL(count, 3); /* one for each op; the answer was no */
	count = 0;
	EQUAL(kymo_callback_service(bad, NULL, look_at_external, NULL), KYMO_OK);
	EQUAL(kymo_context_start(bad), KYMO_OK);
	submit();
	CHECK(count >= 2); /* request and filter */
	EQUAL(external, 0);
	EQUAL(good.enters, 1);
	EQUAL(good.completes, 1);
	EQUAL(thrower_uncaught(), 0);
	victim = bad;
	other_thread(destroy_victim);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	all_is_well();
}

static kymo_context_t made;

static kymo_status_t throw_initialize(void *data)
{
	count++;
	EQUAL(kymo_context_create(&made), KYMO_OK);
	thrower_throw();
	return KYMO_OK;
}

static void throw_data(void *data)
{
	count++;
	thrower_throw();
}

static const kymo_tool_t throwing = {.size = sizeof(throwing),
				     .name = "throws",
				     .initialize = throw_initialize,
				     .finalize = throw_data};
static const kymo_tool_t throwing_late = {.size = sizeof(throwing_late),
					  .name = "throws late",
					  .finalize = throw_data,
					  .fork_child = throw_data};

static const kymo_tool_t *configure_throws(uint32_t v, const char *l, uint32_t p)
{
	thrower_throw();
	return &throwing;
}

static const kymo_tool_t *configure_throwing(uint32_t v, const char *l, uint32_t p)
{
	return &throwing;
}

static const kymo_tool_t *configure_late(uint32_t v, const char *l, uint32_t p)
{
	return &throwing_late;
}

static void throws_life(void)
{
	bool active;
	int status;
	pid_t child;

	EQUAL(kymo_force_configure(configure_throws), KYMO_OK); /* as one that does not want to */
	EQUAL(kymo_force_configure(configure_throwing), KYMO_OK);
	EQUAL(count, 1);
	EQUAL(kymo_context_is_active(made, &active), KYMO_ERROR_NOT_FOUND); /* switched off */
	EQUAL(kymo_force_configure(configure_late), KYMO_OK);
	child = fork();
	if (child == 0) {
		kymo_thread_index(); /* Kymo is used */
		_exit(count == 2 && !wrong ? 0 : 1);
	}
	EQUAL(waitpid(child, &status, 0), child);
	EQUAL(status, 0);
	EQUAL(kymo_tool_detach(&throwing_late), KYMO_OK);
	EQUAL(count, 2);
	EQUAL(kymo_force_configure(configure_late), KYMO_OK); /* throws at the end, too */
	EQUAL(thrower_uncaught(), 0);
	all_is_well();
}

static void throw_delivery(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	count++;
	thrower_throw();
}

static void throw_batch(kymo_buffer_t b, const kymo_batch_t *r, void *data)
{
	count += (int)r->count;
	thrower_throw();
}

static void throws_delivery(void)
{
	for (int batch = 0; batch < 2; batch++) {
		kymo_buffer_desc_t d = {.size = sizeof(d),
					.bytes = 1 << 20,
					.deliver = batch ? NULL : throw_delivery,
					.deliver_batch = batch ? throw_batch : NULL};
		kymo_selection_t s = {.size = sizeof(s), .domain = "bad"};
		kymo_context_t c;
		kymo_buffer_t b;

		count = 0;
		EQUAL(kymo_context_create(&c), KYMO_OK);
		EQUAL(kymo_buffer_create(c, &d, &b), KYMO_OK);
		EQUAL(kymo_buffer_service(c, &s, b), KYMO_OK);
		EQUAL(kymo_context_start(c), KYMO_OK);
		for (int i = 0; i < 100; i++)
			call();
		EQUAL(kymo_drain(c, 5000000000u), KYMO_OK);
		EQUAL(count, 100);
		EQUAL(kymo_context_destroy(c), KYMO_OK);
	}
	all_is_well();
}

static void throw_notice(const kymo_thread_info_t *t, void *data)
{
	count++;
	thrower_throw();
}

static void nothing(void *data)
{
	atomic_fetch_add((_Atomic int *)data, 1);
}

static void throws_notice(void)
{
	_Atomic int ran = 0;

	EQUAL(kymo_thread_notify(throw_notice, throw_notice, NULL), KYMO_OK);
	EQUAL(kymo_thread_start("test", nothing, &ran), KYMO_OK);
	EQUAL(count, 2);
	while (!atomic_load(&ran))
		sched_yield();
	all_is_well();
}

/* The program's own exceptions are none of Kymo's business. */
static void throw_through(void)
{
	call_around(thrower_throw);
}

static void throws_program(void)
{
	kymo_context_t c = good_start();

	EQUAL(thrower_catches(throw_through), 1);
	call();
	EQUAL(good.enters, 2);
	EQUAL(good.exits, 2);
	EQUAL(good.bare, 1);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
}

/* ---- threads that end, jumps ---- */

static int cleaned;

static void clean(void *data)
{
	cleaned++;
}

static void end_thread(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	if (r->phase == KYMO_PHASE_ENTER && strcmp(r->domain->name, "bad") == 0)
		pthread_exit(NULL);
}

static void call_and_clean(void)
{
	pthread_cleanup_push(clean, NULL);
	call();
	pthread_cleanup_pop(0);
	CHECK(!"the thread goes on");
}

static void ends_thread(void)
{
	kymo_context_t c = good_start(), bad = watch(end_thread, NULL);

	other_thread(call_and_clean);
	EQUAL(cleaned, 1);
	EQUAL(good.enters, 1);
	EQUAL(kymo_context_destroy(bad), KYMO_OK);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	all_is_well();
}

static sem_t reached, go_on;

static void block(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	if (r->phase != KYMO_PHASE_ENTER || strcmp(r->domain->name, "bad") != 0 || count++)
		return;
	sem_post(&reached);
	sem_wait(&go_on);
}

static pthread_t blocked_thread(void)
{
	pthread_t t;

	sem_init(&reached, 0, 0);
	sem_init(&go_on, 0, 0);
	EQUAL(pthread_create(&t, NULL, on_thread, (void *)(uintptr_t)call), 0);
	sem_wait(&reached);
	return t;
}

static __attribute__((unused)) void cancels_thread(void)
{
	kymo_context_t bad = watch(block, NULL);
	pthread_t t = blocked_thread();
	void *result;

	EQUAL(pthread_cancel(t), 0);
	EQUAL(pthread_join(t, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
	EQUAL(kymo_context_destroy(bad), KYMO_OK);
	all_is_well();
}

static void *destroy_blocked(void *c)
{
	EQUAL(kymo_context_destroy(*(kymo_context_t *)c), KYMO_OK);
	return NULL;
}

static void blocks(void)
{
	kymo_context_t bad = watch(block, NULL), c;
	pthread_t t = blocked_thread(), destroyer;
	bool active;

	call(); /* other threads go on */
	EQUAL(count, 2);
	c = good_start();
	call();
	EQUAL(good.enters, 1);
	EQUAL(kymo_context_destroy(c), KYMO_OK); /* and other contexts */
	EQUAL(pthread_create(&destroyer, NULL, destroy_blocked, &bad), 0);
	while (kymo_context_is_active(bad, &active) != KYMO_ERROR_NOT_FOUND)
		sched_yield();
	sem_post(&go_on);
	EQUAL(pthread_join(t, NULL), 0);
	EQUAL(pthread_join(destroyer, NULL), 0);
	all_is_well();
}

/* A callback that never comes back does not keep the process from ending. */
static void blocks_at_exit(void)
{
	watch(block, NULL);
	blocked_thread();
	exit(wrong ? 1 : 5);
}

static jmp_buf back;

static void jump(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	if (strcmp(r->domain->name, "bad") == 0 && r->phase == KYMO_PHASE_ENTER)
		longjmp(back, 1);
}

static void jumps(void)
{
	kymo_context_t c = good_start(), bad = watch(jump, NULL);

	for (volatile int i = 0; i < 100; i++)
		if (setjmp(back) == 0)
			call();
	EQUAL(good.enters, 100);
	EQUAL(kymo_context_stop(bad), KYMO_OK);
	call();
	EQUAL(good.enters, 101);
	victim = bad;
	other_thread(destroy_victim);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	all_is_well();
}

static bool jump_select(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	longjmp(back, 1);
}

static __attribute__((noinline)) void select_jumping(kymo_context_t c)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = "bad", .select = jump_select};

	kymo_callback_service(c, &s, jump, NULL);
}

static void jumps_select(void)
{
	kymo_context_t c;

	EQUAL(kymo_context_create(&c), KYMO_OK);
	if (setjmp(back) == 0)
		select_jumping(c);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	all_is_well();
	_exit(wrong ? 1 : 0); /* what Kymo had in hand when it was left is lost */
}

/* ---- traced calls from tools ---- */

static void call_back(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	call();
	submit();
}

static uint64_t call_request(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	call();
	return 0;
}

static bool call_filter(const kymo_work_t *work, void *data)
{
	call();
	return true;
}

static bool call_select(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	call();
	return true;
}

static void calls(void)
{
	kymo_selection_t s = {.size = sizeof(s), .select = call_select, .filter = call_filter};
	kymo_context_t c = good_start(), bad;
	uint64_t before;

	EQUAL(kymo_context_create(&bad), KYMO_OK);
	EQUAL(kymo_callback_service(bad, &s, call_back, NULL), KYMO_OK);
	EQUAL(kymo_external_request_service(bad, NULL, call_request, NULL), KYMO_OK);
	EQUAL(kymo_context_start(bad), KYMO_OK);
	before = kymo_inner_calls();
	call();
	submit();
	EQUAL(good.enters, 2); /* theirs were not traced */
	EQUAL(good.exits, 2);
	CHECK(kymo_inner_calls() >= before + 8); /* but counted */
	EQUAL(kymo_context_destroy(bad), KYMO_OK);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	all_is_well();
}

/* ---- forks ---- */

static bool forked;

/* In the child: Kymo works, and nothing of the parent's call is left. */
static void fork_here(void)
{
	pid_t child;
	int status = 0;

	if (forked)
		return;
	forked = true;
	child = fork();
	if (child == 0)
		return; /* as children do */
	EQUAL(waitpid(child, &status, 0), child);
	EQUAL(status, 0);
}

static void fork_callback(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	fork_here();
}

static uint64_t fork_request(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	fork_here();
	return 0;
}

static bool fork_filter(const kymo_work_t *work, void *data)
{
	fork_here();
	return true;
}

static bool fork_select(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	fork_here();
	return true;
}

static void forks(int how)
{
	kymo_selection_t select = {.size = sizeof(select), .select = fork_select};
	kymo_selection_t filter = {.size = sizeof(filter), .filter = fork_filter};
	kymo_context_t bad;
	pid_t self = getpid();

	EQUAL(kymo_context_create(&bad), KYMO_OK);
	if (how == 0)
		EQUAL(kymo_callback_service(bad, NULL, fork_callback, NULL), KYMO_OK);
	else if (how == 1)
		EQUAL(kymo_external_request_service(bad, NULL, fork_request, NULL), KYMO_OK);
	else
		EQUAL(kymo_callback_service(bad, how == 2 ? &filter : &select, call_back, NULL),
		      KYMO_OK);
	EQUAL(kymo_context_start(bad), KYMO_OK);
	submit();
	call();
	CHECK(forked);
	EQUAL(kymo_context_destroy(bad), KYMO_OK);
	all_is_well();
	if (getpid() != self)
		_exit(wrong ? 1 : 0);
}

static void forks_callback(void)
{
	forks(0);
}

static void forks_request(void)
{
	forks(1);
}

static void forks_filter(void)
{
	forks(2);
}

static void forks_select(void)
{
	forks(3);
}

static kymo_status_t fork_initialize(void *data)
{
	fork_here();
	return KYMO_OK;
}

static const kymo_tool_t *configure_fork(uint32_t v, const char *l, uint32_t p)
{
	static const kymo_tool_t tool = {
		.size = sizeof(tool), .name = "forks", .initialize = fork_initialize};

	return &tool;
}

static void forks_initialize(void)
{
	pid_t self = getpid();

	EQUAL(kymo_force_configure(configure_fork), KYMO_OK);
	CHECK(forked);
	all_is_well();
	if (getpid() != self)
		_exit(wrong ? 1 : 0);
}

/* ---- exit() ---- */

static int ends;

static void end(void *data)
{
	if (++ends != 1)
		_exit(9);
}

static const kymo_tool_t *configure_end(uint32_t v, const char *l, uint32_t p)
{
	static const kymo_tool_t tool = {.size = sizeof(tool), .name = "end", .finalize = end};

	return &tool;
}

__attribute__((destructor(200))) static void was_told(void)
{
	if (ends == 0 && count == -1)
		_exit(8);
}

static void leave_process(void)
{
	count = -1; /* was_told() looks */
	exit(wrong ? 1 : 7);
}

static void exit_callback(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	leave_process();
}

static bool exit_filter(const kymo_work_t *work, void *data)
{
	leave_process();
	return true;
}

static bool exit_select(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	leave_process();
	return true;
}

static void exits_callback(void)
{
	EQUAL(kymo_force_configure(configure_end), KYMO_OK);
	watch(exit_callback, NULL);
	call();
}

static void exits_filter(void)
{
	kymo_selection_t s = {.size = sizeof(s), .filter = exit_filter};
	kymo_context_t c;

	EQUAL(kymo_force_configure(configure_end), KYMO_OK);
	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_callback_service(c, &s, call_back, NULL), KYMO_OK);
	EQUAL(kymo_context_start(c), KYMO_OK);
	submit();
}

static void exits_select(void)
{
	kymo_selection_t s = {.size = sizeof(s), .select = exit_select};
	kymo_context_t c;

	EQUAL(kymo_force_configure(configure_end), KYMO_OK);
	EQUAL(kymo_context_create(&c), KYMO_OK);
	kymo_callback_service(c, &s, call_back, NULL);
}

static kymo_status_t exit_initialize(void *data)
{
	leave_process();
	return KYMO_OK;
}

static const kymo_tool_t *configure_exit(uint32_t v, const char *l, uint32_t p)
{
	static const kymo_tool_t tool = {.size = sizeof(tool),
					 .name = "exits",
					 .initialize = exit_initialize,
					 .finalize = end};

	return &tool;
}

static void exits_initialize(void)
{
	EQUAL(kymo_force_configure(configure_exit), KYMO_OK);
}

static void exit_delivery(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	leave_process();
}

static void exits_delivery(void)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = exit_delivery};
	kymo_context_t c;
	kymo_buffer_t b;

	EQUAL(kymo_force_configure(configure_end), KYMO_OK);
	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_buffer_create(c, &d, &b), KYMO_OK);
	EQUAL(kymo_buffer_service(c, NULL, b), KYMO_OK);
	EQUAL(kymo_context_start(c), KYMO_OK);
	call();
	kymo_drain(c, 10000000000u);
	for (;;) /* else this thread might leave, too, and be first */
		pause();
}

/* ---- unloading ---- */

static void *load_unloader(int detach)
{
	char path[4096];
	kymo_configure_fn configure;
	void *h;

	snprintf(path, sizeof(path), "%s/unloader.so", folder);
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK(h);
	if (!h)
		exit(1);
	*(int *)dlsym(h, "unloader_detach") = detach;
	configure = (kymo_configure_fn)(uintptr_t)dlsym(h, "unloader_configure");
	EQUAL(kymo_force_configure(configure), KYMO_OK);
	return h;
}

static bool unloader_there(void)
{
	char path[4096];
	void *h;

	snprintf(path, sizeof(path), "%s/unloader.so", folder);
	h = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (h)
		dlclose(h);
	return h != NULL;
}

static void unloads(void)
{
	void *h = load_unloader(0);
	int *calls_seen = dlsym(h, "unloader_calls");
	kymo_configure_fn configure = (kymo_configure_fn)(uintptr_t)dlsym(h, "unloader_configure");
	const kymo_tool_t *tool = configure(KYMO_TOOL_VERSION, "", 0);
	int before = *calls_seen;

	call(); /* gives the program's reference away */
	CHECK(unloader_there());
	CHECK(*calls_seen - before >= 2);
	EQUAL(kymo_tool_detach(tool), KYMO_OK);
	CHECK(!unloader_there());
	call();
	all_is_well();
}

static void detaches(void)
{
	void *h = load_unloader(1);
	int *calls_seen = dlsym(h, "unloader_calls"), *told = dlsym(h, "unloader_ends");
	int before = *calls_seen;

	call();
	CHECK(unloader_there()); /* for good: its callback had to come back */
	CHECK(*calls_seen > before);
	EQUAL(*told, 1);
	before = *calls_seen;
	call();
	EQUAL(*calls_seen, before);
	load_unloader(1); /* again */
	call();
	CHECK(*calls_seen > before);
	EQUAL(*told, 2);
	all_is_well();
}

/* A thread of the tool goes on when that is detached: its library stays until the thread has ended.
 */
static void leaves_threads(void)
{
	static _Atomic int states[2];
	const kymo_tool_t *tool;
	kymo_configure_fn configure;
	char path[4096];
	void *h;

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/unloader.so", folder);
		h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		CHECK(h);
		if (!h)
			exit(1);
		*(_Atomic int **)dlsym(h, "unloader_thread") = &states[i];
		configure = (kymo_configure_fn)(uintptr_t)dlsym(h, "unloader_configure");
		tool = configure(KYMO_TOOL_VERSION, "", 0);
		EQUAL(kymo_force_configure(configure), KYMO_OK);
		while (states[i] != 2)
			sched_yield();
		EQUAL(kymo_tool_detach(tool), KYMO_OK);
		dlclose(h);
		CHECK(unloader_there());
	}
	states[0] = states[1] = 3;
	while (states[0] != 4 || states[1] != 4)
		sched_yield();
	while (unloader_there())
		sched_yield();
	all_is_well();
}

static const kymo_tool_t *delivering;
static kymo_status_t detach_status = KYMO_OK;

static void detach_delivery(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	detach_status = kymo_tool_detach(delivering);
}

static kymo_context_t delivered;

static kymo_status_t deliver_initialize(void *data)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = detach_delivery};
	kymo_buffer_t b;

	EQUAL(kymo_context_create(&delivered), KYMO_OK);
	EQUAL(kymo_buffer_create(delivered, &d, &b), KYMO_OK);
	EQUAL(kymo_buffer_service(delivered, NULL, b), KYMO_OK);
	return kymo_context_start(delivered);
}

static const kymo_tool_t *configure_delivering(uint32_t v, const char *l, uint32_t p)
{
	static const kymo_tool_t tool = {
		.size = sizeof(tool), .name = "delivering", .initialize = deliver_initialize};

	return delivering = &tool;
}

static void detaches_delivery(void)
{
	EQUAL(kymo_force_configure(configure_delivering), KYMO_OK);
	call();
	EQUAL(kymo_drain(delivered, 5000000000u), KYMO_OK);
	EQUAL(detach_status, KYMO_ERROR_BUSY);
	EQUAL(kymo_tool_detach(delivering), KYMO_OK);
	all_is_well();
}

/* The address sanitizer does not survive it. */
#if defined(__SANITIZE_ADDRESS__)
static void left_out(void)
{
	exit(wrong ? 1 : 0);
}
#define CANCELS left_out
#else
#define CANCELS cancels_thread
#endif

const struct bad_case cases[] = {
	{"throws, callback", throws_callback, 0, true},
	{"throws, elsewhere", throws_elsewhere, 0, true},
	{"throws, life", throws_life, 0, true},
	{"throws, delivery", throws_delivery, 0, true},
	{"throws, notice", throws_notice, 0, true},
	{"throws, program", throws_program, 0, true},
	{"ends the thread", ends_thread, 0, false},
	{"cancels the thread", CANCELS, 0, false},
	{"blocks", blocks, 0, false},
	{"blocks at exit", blocks_at_exit, 5, false},
	{"jumps", jumps, 0, false},
	{"jumps, select", jumps_select, 0, false},
	{"calls", calls, 0, false},
	{"forks, callback", forks_callback, 0, false},
	{"forks, request", forks_request, 0, false},
	{"forks, filter", forks_filter, 0, false},
	{"forks, select", forks_select, 0, false},
	{"forks, initialize", forks_initialize, 0, false},
	{"exits, callback", exits_callback, 7, false},
	{"exits, filter", exits_filter, 7, false},
	{"exits, select", exits_select, 7, false},
	{"exits, initialize", exits_initialize, 7, false},
	{"threads that stay", leaves_threads, 0, false},
	{"exits, delivery", exits_delivery, 7, false},
	{"unloads itself", unloads, 0, false},
	{"detaches itself", detaches, 0, false},
	{"detaches, delivery", detaches_delivery, 0, false},
	{0},
};
