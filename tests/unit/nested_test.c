/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the tools interface, called from every kind of function that a tool has, while other
 * threads make traced calls. Each pair is a process of its own, which must come to its end: that it
 * does neither hang nor crash, and that later calls are told as before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <kymo/marker.h>

#include "tool_support.h"

enum kind { ENTER, EXIT, DELIVERY, REQUEST, SELECT, FILTER, FINALIZE, INITIALIZE, KINDS };
static const char *const kinds[KINDS] = {"callback at enter", "callback at exit", "delivery",
					 "request",           "select",           "filter",
					 "finalize",          "initialize"};

static kymo_context_t own, other;
static kymo_buffer_t buffer;
static const kymo_tool_t tool;
static const kymo_selection_t all = {.size = sizeof(all), .domain = "t"};

static void ignore(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
}
static kymo_status_t no_domain(const kymo_domain_desc_t *d, void *data)
{
	return KYMO_OK;
}
static kymo_status_t no_agent(const kymo_agent_t *a, void *data)
{
	return KYMO_OK;
}
static void no_table(kymo_table_event_t e, const kymo_table_info_t *i, void *data)
{
}
static void no_provider(const char *provider, void *data)
{
}
static void no_notice(const kymo_thread_info_t *t, void *data)
{
}
static void no_thread(void *data)
{
}
static kymo_status_t no_counter(kymo_counter_t c, const char *p, const kymo_counter_info_t *i,
				void *data)
{
	return KYMO_OK;
}

static const kymo_tool_t second = {sizeof(second), "second", NULL, NULL, NULL, NULL};
static const kymo_tool_t *configure_second(uint32_t v, const char *l, uint32_t n)
{
	return &second;
}

/* ---- what is tried ---- */

static void destroys(void)
{
	kymo_context_destroy(own);
}
static void drains(void)
{
	kymo_drain(own, 100000000);
}
static void stops(void)
{
	kymo_context_stop(own);
	kymo_context_start(own);
}
static void detaches(void)
{
	kymo_tool_detach(&tool);
}
static void configures(void)
{
	kymo_force_configure(configure_second);
	kymo_tool_detach(&second);
}
static void creates(void)
{
	if (!other.handle && kymo_context_create(&other) == KYMO_OK) {
		kymo_callback_service(other, &all, ignore, NULL);
		kymo_context_start(other);
	}
}
static void calls(void)
{
	t_call(T_CALL, 1, NULL, NULL);
}
static void pushes(void)
{
	kymo_external_push(own, 5);
	kymo_external_pop(own, NULL);
}
static void scopes(void)
{
	int64_t scope;

	if (kymo_scope_push(&scope) == KYMO_OK)
		kymo_scope_pop();
}
static void publishes_kernel(void)
{
	static kymo_clock_t clock;
	uint32_t kernel;

	if (!clock.handle)
		kymo_clock_create("c", "device", 1000, &clock);
	kymo_clock_sync(clock, 1, 1, 2, KYMO_SYNC_SAMPLED);
	kymo_kernel_publish("t", "k", 7, &kernel);
}
static void flushes(void)
{
	kymo_buffer_flush(buffer);
}
static void counts(void)
{
	kymo_counter_set_t set;

	if (kymo_counter_set_parse("test", "page-faults", &set) == KYMO_OK)
		kymo_counter_service(own, &all, set, NULL, NULL);
}
static void asks_buffer(void)
{
	kymo_buffer_info_t i = {.size = sizeof(i)};
	uint64_t lost;
	bool active;

	kymo_buffer_info(buffer, &i);
	kymo_buffer_lost(buffer, &lost);
	kymo_context_is_active(own, &active);
}
static void finds(void)
{
	const kymo_domain_desc_t *d;
	kymo_domain_find("opencl", &d);
}
static void lists(void)
{
	kymo_domains(no_domain, NULL);
}
static void lists_known(void)
{
	kymo_domains_known(no_domain, NULL);
}
static void names(void)
{
	const char *name;
	kymo_ref_name("kernel", 1, &name);
}
static void lists_agents(void)
{
	kymo_agents(no_agent, NULL);
}
static void lists_counters(void)
{
	kymo_counters(KYMO_COUNTER_ALL, no_counter, NULL);
}
static void listens(void)
{
	kymo_listener_t l;
	kymo_intercept_listen("t", no_table, NULL, &l);
}
static void makes_pool(void)
{
	kymo_pool_t p;

	if (kymo_pool_create(2, &p) == KYMO_OK)
		kymo_pool_destroy(p);
}
static void waits_for_providers(void)
{
	kymo_counter_providers(no_provider, NULL);
}
static void asks(void)
{
	kymo_pointer_t p = {.size = sizeof(p)};
	kymo_client_info_t c = {.size = sizeof(c)};

	kymo_pointer_info(&p, &p);
	kymo_client_info(&c);
}
static void starts_thread(void)
{
	kymo_thread_start("t", no_thread, NULL);
	kymo_thread_notify(no_notice, no_notice, NULL);
}
static void marks(void)
{
	kymo_mark("hello");
}
static void publishes(void)
{
	static const kymo_field_t fields[1];
	static const kymo_op_desc_t ops[1] = {{.name = "o", .fields = fields}};
	static const kymo_domain_desc_t d = {
		.size = sizeof(d), .name = "mine", .title = "Mine", .op_count = 1, .ops = ops};
	kymo_published_domain_t domain;

	kymo_domain_publish(&d, &domain);
}
static void samples(void)
{
	kymo_sample_desc_t d = {.size = sizeof(d)};

	kymo_sample_service(own, &d);
}
static void runtime_comes(void)
{
	static const kymo_op_desc_t ops[1] = {{.name = "o"}};
	static const kymo_domain_desc_t d = {.size = sizeof(d),
					     .name = "late",
					     .title = "Late",
					     .version = 1,
					     .op_count = 1,
					     .ops = ops};
	static struct cap_op late_ops[1];
	static const struct cap_domain_info info = {.desc = &d, .ops = late_ops};
	struct cap_domain *domain;

	cap_domain_register(&info, &domain);
}
static void pauses(void)
{
	kymo_context_pause_thread(own, true);
	kymo_context_pause_thread(own, false);
}

#define TRY(name)                                                                                  \
	{                                                                                          \
#name, name                                                                        \
	}
static const struct action {
	const char *name;
	void (*run)(void);
} actions[] = {
	TRY(destroys),       TRY(drains),
	TRY(stops),          TRY(detaches),
	TRY(configures),     TRY(creates),
	TRY(calls),          TRY(pushes),
	TRY(scopes),         TRY(publishes_kernel),
	TRY(flushes),        TRY(counts),
	TRY(asks_buffer),    TRY(finds),
	TRY(lists),          TRY(lists_known),
	TRY(names),          TRY(lists_agents),
	TRY(lists_counters), TRY(listens),
	TRY(makes_pool),     TRY(waits_for_providers),
	TRY(asks),           TRY(starts_thread),
	TRY(marks),          TRY(publishes),
	TRY(samples),        TRY(runtime_comes),
	TRY(pauses),
};

/* ---- from where ---- */

static enum kind kind;
static void (*action)(void);
static _Atomic uint32_t tries;

static void maybe(enum kind here)
{
	if (kind == here && atomic_fetch_add(&tries, 1) < 3)
		action();
}

static void callback(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	if (r->phase != KYMO_PHASE_COMPLETE)
		maybe(r->phase == KYMO_PHASE_ENTER ? ENTER : EXIT);
}

static void deliver(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	maybe(DELIVERY);
}

static uint64_t request(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	maybe(REQUEST);
	return 1;
}

static bool selects(const kymo_domain_desc_t *d, uint32_t op, void *data)
{
	maybe(SELECT);
	return strcmp(d->name, "t") == 0 || strcmp(d->name, "sync") == 0;
}

static bool filters(const kymo_work_t *work, void *data)
{
	maybe(FILTER);
	return true;
}

static void end(void *data)
{
	maybe(FINALIZE);
}

static kymo_status_t start(void *data)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = deliver, .watermark = 32768};
	kymo_selection_t s = {.size = sizeof(s), .select = selects, .filter = filters};

	kymo_context_create(&own);
	kymo_buffer_create(own, &d, &buffer);
	kymo_buffer_service(own, &s, buffer);
	kymo_callback_service(own, &all, callback, NULL);
	kymo_external_request_service(own, &all, request, NULL);
	maybe(INITIALIZE);
	return kymo_context_start(own);
}

static const kymo_tool_t tool = {sizeof(tool), "nested", start, end, NULL, NULL};
static const kymo_tool_t *configure(uint32_t v, const char *l, uint32_t n)
{
	return &tool;
}

#define THREADS 4

static void *work(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		struct cap_submission o;
		bool wanted;

		t_call(T_CALL, 1, NULL, NULL);
		if (i % 100 == 0) {
			t_submit(&o, 8, &wanted);
			if (wanted)
				t_complete(&o);
		}
	}
	return NULL;
}

static _Atomic uint64_t later;

static void count(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	atomic_fetch_add(&later, 1);
}

/* 0: well. */
static int child(void)
{
	pthread_t t[THREADS];
	kymo_context_t c;

	alarm(60); /* the machine may be busy */
	t_register();
	if (kymo_force_configure(configure) != KYMO_OK)
		return 3;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, NULL) != 0)
			return 4;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	kymo_drain(own, 1000000000u);
	if (kymo_context_create(&c) != KYMO_OK || kymo_callback_service(c, &all, count, NULL) ||
	    kymo_context_start(c) != KYMO_OK)
		return 5;
	t_call(T_CALL, 1, NULL, NULL);
	if (later != 2)
		return 6;
	if (kind == FINALIZE)
		kymo_tool_detach(&tool);
	return tries || kind == FINALIZE ? 0 : 7;
}

static void try(enum kind k, const struct action *a)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		kind = k;
		action = a->run;
		exit(child());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		fail_msg("%s from %s: status %x", a->name, kinds[k], (unsigned)status);
}

static void test_all(void **state)
{
	for (unsigned k = 0; k < KINDS; k++)
		for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
			try((enum kind)k, &actions[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
