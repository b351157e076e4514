/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters through the public interface: a provider of the test's own that counts what it is told
 * to, refuses what does not fit, fails and delivers kernels; and the operating system's counters on
 * work whose counts are known.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <kymo/counter.h>

#include "core/capture.h"
#include "core/counter/counter.h"

/* ---- a runtime with two functions ---- */

enum { OP_WORK, OP_REST, OPS };

static const kymo_op_desc_t descs[OPS] = {{"work", NULL, 0, 0, NULL, 0},
					  {"rest", NULL, 0, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "test", "Test", 1, OPS, descs};
static struct cap_op ops[OPS];
static struct cap_domain *domain;
static const struct cap_domain_info info = {.desc = &desc, .ops = ops};

static __attribute__((noinline)) void call(unsigned op, void (*inside)(void *), void *arg)
{
	struct cap_frame *f = cap_enter(&ops[op], __builtin_return_address(0));
	struct wire_enc e;

	if (f && f->callbacks)
		cap_callbacks(f, NULL, CAP_ENTER);
	if (inside)
		inside(arg);
	if (!f)
		return;
	cap_leave(f);
	if (f->callbacks)
		cap_callbacks(f, NULL, CAP_EXIT);
	if (f->buffers && cap_record(f, &e, 0))
		cap_commit(f, &e);
	cap_done(f);
}

/* ---- a provider ---- */

#define FAKE_INSTANCES 6

static _Thread_local double fake_beats; /* of this thread */
static double fake_agent_beats;
static double fake_grid[FAKE_INSTANCES];
static bool fake_read_fails;
static int fake_open_now, fake_opened;
static const kymo_counter_request_t *fake_last;
static void (*fake_deliver)(void *to, const kymo_counter_dispatch_t *d);
static void *fake_to;

enum { FAKE_BEATS, FAKE_GRID, FAKE_WIDE, FAKE_BROKEN, FAKE_LEVEL, FAKE_FOREIGN, FAKE_FAR };

static const kymo_dimension_t grid[] = {{"SE", 2}, {"CU", 3}};

static kymo_status_t fake_list(kymo_counter_list_fn add, void *to, void *data)
{
	static const kymo_counter_info_t infos[] = {
		{sizeof(infos[0]), "beats", "Beats", "", 0,
		 KYMO_COUNTER_THREAD | KYMO_COUNTER_AGENT, 0, 0, NULL, NULL, 10, FAKE_BEATS},
		{sizeof(infos[0]), "grid", "Waves", "waves", 0,
		 KYMO_COUNTER_THREAD | KYMO_COUNTER_AGENT | KYMO_COUNTER_DISPATCH, 0, 2, grid, NULL,
		 10, FAKE_GRID},
		{sizeof(infos[0]), "wide", "Takes the whole agent", "", 0, KYMO_COUNTER_THREAD, 0,
		 0, NULL, NULL, 10, FAKE_WIDE},
		{sizeof(infos[0]), "broken", "Cannot be counted", "", 0, KYMO_COUNTER_THREAD, 0, 0,
		 NULL, "the fuse has blown", 10, FAKE_BROKEN},
		{sizeof(infos[0]), "level", "A level", "", 0, KYMO_COUNTER_THREAD,
		 KYMO_COUNTER_GAUGE, 0, NULL, NULL, 10, FAKE_LEVEL},
		{sizeof(infos[0]), "wide", "The same of another agent", "", 7, KYMO_COUNTER_THREAD,
		 0, 0, NULL, NULL, 10, FAKE_FOREIGN},
		{sizeof(infos[0]), "far", "Of three devices", "", 21, KYMO_COUNTER_AGENT, 0, 0,
		 NULL, NULL, 10, FAKE_FAR},
		{sizeof(infos[0]), "far", "Of three devices", "", 22, KYMO_COUNTER_AGENT, 0, 0,
		 NULL, NULL, 10, FAKE_FAR + 1},
		{sizeof(infos[0]), "far", "Of three devices", "", 23, KYMO_COUNTER_AGENT, 0, 0,
		 NULL, NULL, 10, FAKE_FAR + 2},
	};

	for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++)
		assert_int_equal(add(&infos[i], to), KYMO_OK);
	return KYMO_OK;
}

/* "wide" leaves no room for anything else. */
static kymo_status_t fake_admit(const kymo_counter_request_t *r, void *data)
{
	bool wide = false;

	for (uint32_t i = 0; i < r->count; i++)
		wide |= r->counters[i] == FAKE_WIDE;
	if (!wide || r->count == 1)
		return KYMO_OK;
	snprintf(r->reason, r->reason_size, "there is one register");
	return KYMO_ERROR_LIMIT;
}

struct fake_session {
	uint64_t counters[8];
	uint32_t count, mode;
};

static kymo_status_t fake_open(const kymo_counter_request_t *r, void **session, void *data)
{
	struct fake_session *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	memcpy(s->counters, r->counters, r->count * sizeof(*r->counters));
	s->count = r->count;
	s->mode = r->mode;
	fake_last = r;
	fake_deliver = r->deliver;
	fake_to = r->to;
	*session = s;
	fake_open_now++;
	fake_opened++;
	return KYMO_OK;
}

static kymo_status_t fake_read(void *session, double *values, void *data)
{
	const struct fake_session *s = session;

	if (fake_read_fails)
		return KYMO_ERROR_SYSTEM;
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->counters[i] == FAKE_GRID) {
			memcpy(values, fake_grid, sizeof(fake_grid));
			values += FAKE_INSTANCES;
		} else {
			*values++ = s->mode == KYMO_COUNTER_AGENT ? fake_agent_beats : fake_beats;
		}
	}
	return KYMO_OK;
}

static void fake_close(void *session, void *data)
{
	free(session);
	fake_open_now--;
}

static const kymo_counter_provider_t fake = {
	.size = sizeof(fake),
	.name = "fake",
	.description = "Counts what it is told to",
	.list = fake_list,
	.admit = fake_admit,
	.open = fake_open,
	.read = fake_read,
	.close = fake_close,
};

static void beat(void *n)
{
	fake_beats += *(double *)n;
}

/* ---- what is delivered ---- */

struct got {
	kymo_counter_op_t op;
	uint32_t thread, agent, count;
	uint64_t correlation, start, end;
	double values[16];
};
static struct got got[100000];
static _Atomic uint32_t got_count;

static void on_values(kymo_context_t context, const kymo_counter_values_t *v, void *data)
{
	struct got *g = &got[got_count++];

	assert_true(v->count <= 16);
	*g = (struct got){v->op,          v->thread, v->agent, v->count,
			  v->correlation, v->start,  v->end,   {0}};
	memcpy(g->values, v->values, v->count * sizeof(double));
}

static double sum_of(kymo_counter_op_t op, unsigned index)
{
	double sum = 0;

	for (uint32_t i = 0; i < got_count; i++)
		if (got[i].op == op)
			sum += got[i].values[index];
	return sum;
}

static uint32_t number_of(kymo_counter_op_t op)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < got_count; i++)
		n += got[i].op == op;
	return n;
}

static kymo_context_t context;

static int setup(void **state)
{
	got_count = 0;
	fake_read_fails = false;
	fake_beats = fake_agent_beats = 0;
	memset(fake_grid, 0, sizeof(fake_grid));
	assert_int_equal(kymo_context_create(&context), KYMO_OK);
	return 0;
}

/* Nothing stays open for a context that is gone. */
static int teardown(void **state)
{
	kymo_context_destroy(context);
	return fake_open_now;
}

static kymo_counter_set_t set_of(const char *list)
{
	kymo_counter_set_t set = {0};

	if (kymo_counter_set_parse("test", list, &set) != KYMO_OK)
		fail_msg("%s: %s", list, kymo_counter_error());
	return set;
}

static bool only_work(const kymo_domain_desc_t *d, uint32_t op, void *data)
{
	return op == OP_WORK;
}

static const kymo_selection_t work_calls = {
	.size = sizeof(work_calls), .domain = "test", .select = only_work};

/* ---- counters and sets ---- */

static kymo_status_t look(kymo_counter_t counter, const char *provider,
			  const kymo_counter_info_t *i, void *data)
{
	unsigned *n = data;

	assert_true(counter.handle != 0);
	if (strcmp(provider, "fake") == 0)
		n[i->agent == 0 ? 0 : i->agent == 7 ? 1 : 2]++;
	if (strcmp(i->name, "broken") == 0) {
		assert_string_equal(i->unavailable, "the fuse has blown");
		assert_int_equal(i->modes, 0);
	}
	return KYMO_OK;
}

static void counters_are_listed(void **state)
{
	unsigned n[3] = {0, 0, 0};
	int opened = fake_opened;

	assert_int_equal(kymo_counters(KYMO_COUNTER_ALL, look, n), KYMO_OK);
	assert_int_equal(n[0], 5);
	assert_int_equal(n[1], 1);
	assert_int_equal(n[2], 3);
	n[0] = n[1] = 0;
	assert_int_equal(kymo_counters(7, look, n), KYMO_OK);
	assert_int_equal(n[0], 0);
	assert_int_equal(n[1], 1);
	assert_int_equal(fake_opened, opened);
	assert_int_equal(kymo_counter_provider_register(&fake), KYMO_ERROR_EXISTS);
}

static void instances_are_numbered_row_by_row(void **state)
{
	uint32_t at[2] = {1, 2};
	kymo_counter_t c;
	uint64_t n;

	assert_int_equal(kymo_counter_find("fake:grid", 0, &c), KYMO_OK);
	assert_int_equal(kymo_counter_instance(c, at, &n), KYMO_OK);
	assert_int_equal(n, 5);
	for (n = 0; n < FAKE_INSTANCES; n++) {
		uint64_t back;

		assert_int_equal(kymo_counter_positions(c, n, at), KYMO_OK);
		assert_int_equal(at[0], n / 3);
		assert_int_equal(at[1], n % 3);
		assert_int_equal(kymo_counter_instance(c, at, &back), KYMO_OK);
		assert_int_equal(back, n);
	}
	assert_int_equal(kymo_counter_positions(c, 6, at), KYMO_ERROR_LIMIT);
	at[1] = 3;
	assert_int_equal(kymo_counter_instance(c, at, &n), KYMO_ERROR_LIMIT);
	assert_int_equal(kymo_counter_find("nothing", 0, &c), KYMO_ERROR_NOT_FOUND);
	assert_non_null(strstr(kymo_counter_error(), "nothing"));
}

static void sets_say_what_is_wrong(void **state)
{
	kymo_counter_set_t set;

	assert_int_equal(kymo_counter_set_parse("t", "broken", &set), KYMO_ERROR_UNSUPPORTED);
	assert_non_null(strstr(kymo_counter_error(), "the fuse has blown"));
	assert_int_equal(kymo_counter_set_parse("t", "grid[XX=1]", &set), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_counter_set_parse("t", "grid[SE=2]", &set), KYMO_ERROR_LIMIT);
	assert_int_equal(kymo_counter_set_parse("t", "grid[SE", &set), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_counter_set_parse("t", "", &set), KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_counter_set_destroy((kymo_counter_set_t){99}), KYMO_ERROR_NOT_FOUND);
}

/* The agents that a list chooses, in the order of the set's parts. */
static unsigned agents_of(const char *list, uint32_t agents[8])
{
	kymo_counter_set_t set = set_of(list);
	struct counter_set *s = counter_set_get(set);
	unsigned n = 0;

	for (; n < 8 && s->parts[n].agent; n++)
		agents[n] = s->parts[n].agent;
	counter_set_put(s);
	kymo_counter_set_destroy(set);
	return n;
}

static void devices_are_chosen(void **state)
{
	uint32_t a[8];
	kymo_counter_set_t set;

	assert_int_equal(agents_of("far", a), 3);
	assert_int_equal(agents_of("far:device=0,2", a), 2);
	assert_int_equal(a[0], 21);
	assert_int_equal(a[1], 23);
	assert_int_equal(agents_of("far:device=1", a), 1);
	assert_int_equal(a[0], 22);
	assert_int_equal(agents_of("far:device=1-2,far:device=0", a), 3);
	assert_int_equal(kymo_counter_set_parse("t", "far:device=3", &set), KYMO_ERROR_NOT_FOUND);
	assert_non_null(strstr(kymo_counter_error(), "far is of no device 3: devices that have it "
						     "are numbered 0 to 2"));
	assert_int_equal(kymo_counter_set_parse("t", "far:device=0-18446744073709551615", &set),
			 KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_counter_set_parse("t", "far:device=", &set),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_counter_set_parse("t", "far:device=2-1", &set),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_counter_set_parse("t", "beats:device=0", &set),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_non_null(strstr(kymo_counter_error(), "has no numbers of devices"));
	assert_int_equal(kymo_counter_item("far:device=0,2-3,beats,1"), 16);
	assert_int_equal(kymo_counter_item("beats,far:device=0,2"), 5);
	assert_int_equal(kymo_counter_item(""), 0);
	assert_int_equal(kymo_counter_item(NULL), 0);
}

static void dimensions_are_reduced(void **state)
{
	static const double expected[] = {1,  2,    4, 8,  16, 32, /* grid */
					  63, 10.5, 1, 32,         /* over everything */
					  16,                      /* SE 1, CU 1 */
					  56};                     /* sum of row 1 */
	kymo_counter_set_t set = set_of("grid,sum(grid),avg(grid),min(grid),max(grid),"
					"grid[SE=1][CU=1],sum(grid[SE=1])");
	const char *name, *unit;
	uint64_t instance;

	for (int i = 0; i < FAKE_INSTANCES; i++)
		fake_grid[i] = 100;
	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	assert_int_equal(kymo_counter_set_value(set, 5, &name, &unit, &instance), KYMO_OK);
	assert_string_equal(name, "grid");
	assert_string_equal(unit, "waves");
	assert_int_equal(instance, 5);
	assert_int_equal(kymo_counter_set_value(set, 11, &name, NULL, NULL), KYMO_OK);
	assert_string_equal(name, "sum(grid[SE=1])");
	assert_int_equal(kymo_counter_set_value(set, 12, &name, NULL, NULL), KYMO_ERROR_NOT_FOUND);
	struct cap_frame *f = cap_enter(&ops[OP_WORK], __builtin_return_address(0));
	assert_non_null(f);
	cap_callbacks(f, NULL, CAP_ENTER);
	for (int i = 0; i < FAKE_INSTANCES; i++)
		fake_grid[i] += 1 << i;
	cap_leave(f);
	cap_callbacks(f, NULL, CAP_EXIT);
	cap_done(f);
	assert_int_equal(got_count, 1);
	assert_int_equal(got[0].count, 12);
	for (unsigned i = 0; i < 12; i++)
		assert_true(got[0].values[i] == expected[i]);
	kymo_counter_set_destroy(set);
}

static void dimensions_are_kept(void **state)
{
	kymo_counter_choice_t choice = {
		.size = sizeof(choice), .reduce = KYMO_REDUCE_SUM, .keep = 1u << 1};
	kymo_counter_dispatch_t d = {.size = sizeof(d), .correlation = 77, .start = 5, .end = 9};
	double values[FAKE_INSTANCES] = {1, 2, 4, 8, 16, 32};
	kymo_counter_set_t set;

	assert_int_equal(kymo_counter_find("grid", 0, &choice.counter), KYMO_OK);
	assert_int_equal(kymo_counter_set_create("t", &choice, 1, &set), KYMO_OK);
	assert_int_equal(kymo_counter_dispatch_service(context, set, on_values, NULL), KYMO_OK);
	assert_int_equal(fake_open_now, 0);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	assert_int_equal(fake_open_now, 1);
	d.values = values;
	fake_deliver(fake_to, &d);
	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(fake_open_now, 0);
	fake_deliver(fake_to, &d); /* too late */
	assert_int_equal(got_count, 1);
	assert_int_equal(got[0].op, KYMO_COUNTER_OP_DISPATCH);
	assert_int_equal(got[0].correlation, 77);
	assert_int_equal(got[0].end - got[0].start, 4);
	assert_int_equal(got[0].count, 3);
	assert_true(got[0].values[0] == 9 && got[0].values[1] == 18 && got[0].values[2] == 36);
	kymo_counter_set_destroy(set);
}

/* ---- services ---- */

static void calls_are_counted(void **state)
{
	kymo_counter_set_t set = set_of("beats,level");
	double three = 3, four = 4;

	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	call(OP_WORK, beat, &three);
	assert_int_equal(got_count, 0); /* not started */
	assert_int_equal(fake_open_now, 0);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	call(OP_WORK, beat, &three);
	call(OP_REST, beat, &four);
	call(OP_WORK, beat, &four);
	assert_int_equal(number_of(KYMO_COUNTER_OP_CALL), 2);
	assert_true(got[0].values[0] == 3 && got[1].values[0] == 4);
	assert_true(got[0].values[1] == 6 && got[1].values[1] == 14); /* a level, no difference */
	assert_true(got[0].correlation && got[0].correlation < got[1].correlation);
	assert_true(got[0].end >= got[0].start);
	assert_int_equal(kymo_drain(context, 0), KYMO_OK);
	assert_true(sum_of(KYMO_COUNTER_OP_THREAD, 0) == 11);
	assert_int_equal(kymo_drain(context, 0), KYMO_OK);
	assert_int_equal(number_of(KYMO_COUNTER_OP_THREAD), 1); /* nothing new */
	kymo_counter_set_destroy(set);                          /* the service goes on */
	call(OP_WORK, beat, &three);
	assert_int_equal(number_of(KYMO_COUNTER_OP_CALL), 3);
}

static void nested(void *arg)
{
	double one = 1;

	call(OP_WORK, beat, &one);
	call(OP_WORK, beat, &one);
}

static void calls_nest(void **state)
{
	kymo_counter_set_t set = set_of("beats");

	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(context);
	call(OP_WORK, nested, NULL);
	assert_int_equal(got_count, 3);
	assert_true(got[0].values[0] == 1 && got[1].values[0] == 1 && got[2].values[0] == 2);
	kymo_counter_set_destroy(set);
}

static void *thread_of_test(void *arg)
{
	double two = 2;

	for (int i = 0; i < 100; i++)
		call(OP_WORK, beat, &two);
	fake_beats += 5; /* after its last call, before its end */
	return NULL;
}

static void threads_are_counted(void **state)
{
	kymo_counter_set_t set = set_of("beats");
	pthread_t t[4];

	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(context);
	for (int i = 0; i < 4; i++) { /* the tool's side here is not thread-safe: one by one */
		assert_int_equal(pthread_create(&t[i], NULL, thread_of_test, NULL), 0);
		pthread_join(t[i], NULL);
	}
	assert_int_equal(number_of(KYMO_COUNTER_OP_CALL), 400);
	assert_int_equal(number_of(KYMO_COUNTER_OP_THREAD), 4);
	assert_true(sum_of(KYMO_COUNTER_OP_CALL, 0) == 800);
	assert_true(sum_of(KYMO_COUNTER_OP_THREAD, 0) == 820);
	assert_int_equal(fake_open_now, 0);
	kymo_counter_set_destroy(set);
}

static void agents_are_exclusive(void **state)
{
	kymo_counter_set_t wide = {0}, beats = {0}, foreign = {0};
	kymo_counter_choice_t choice = {.size = sizeof(choice)};
	kymo_context_t other;

	assert_int_equal(kymo_counter_set_parse("first tool", "wide", &wide), KYMO_OK);
	assert_int_equal(kymo_counter_set_parse("second tool", "beats", &beats), KYMO_OK);
	assert_int_equal(kymo_counter_find("wide", 7, &choice.counter), KYMO_OK);
	assert_int_equal(kymo_counter_set_create("third tool", &choice, 1, &foreign), KYMO_OK);
	assert_int_equal(kymo_context_create(&other), KYMO_OK);
	assert_int_equal(kymo_counter_service(context, NULL, wide, NULL, NULL), KYMO_OK);
	assert_int_equal(kymo_counter_service(other, NULL, beats, NULL, NULL), KYMO_ERROR_BUSY);
	assert_non_null(strstr(kymo_counter_error(), "\"first tool\""));
	assert_non_null(strstr(kymo_counter_error(), "there is one register"));
	/* Of another agent: no quarrel. The same counter again: both fit. */
	assert_int_equal(kymo_counter_service(other, NULL, foreign, NULL, NULL), KYMO_OK);
	assert_int_equal(kymo_counter_service(other, NULL, wide, NULL, NULL), KYMO_OK);
	assert_int_equal(kymo_context_destroy(other), KYMO_OK);
	assert_int_equal(kymo_context_destroy(context), KYMO_OK);
	assert_int_equal(kymo_context_create(&context), KYMO_OK);
	assert_int_equal(kymo_counter_service(context, NULL, beats, NULL, NULL), KYMO_OK);
	assert_int_equal(kymo_counter_window_service(context, wide, 0, NULL, NULL),
			 KYMO_ERROR_UNSUPPORTED); /* not by agent */
	assert_int_equal(kymo_counter_service((kymo_context_t){12345}, NULL, beats, NULL, NULL),
			 KYMO_ERROR_NOT_FOUND);
	kymo_counter_set_destroy(wide);
	kymo_counter_set_destroy(beats);
	kymo_counter_set_destroy(foreign);
}

static void failing_reads_end_counting(void **state)
{
	kymo_counter_set_t set = set_of("beats");
	double one = 1;

	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(context);
	call(OP_WORK, beat, &one);
	fake_read_fails = true;
	call(OP_WORK, beat, &one);
	fake_read_fails = false;
	call(OP_WORK, beat, &one); /* what was missed is not known: no more */
	assert_int_equal(number_of(KYMO_COUNTER_OP_CALL), 1);
	kymo_counter_set_destroy(set);
}

static void windows_end_on_request(void **state)
{
	kymo_counter_set_t set = set_of("beats");

	assert_int_equal(kymo_counter_window_service(context, set, 999999, on_values, NULL),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_counter_window_service(context, set, 0, on_values, NULL), KYMO_OK);
	assert_int_equal(kymo_counter_sample(context), KYMO_ERROR_STATE);
	fake_agent_beats = 10;
	kymo_context_start(context);
	fake_agent_beats = 15;
	assert_int_equal(kymo_counter_sample(context), KYMO_OK);
	fake_agent_beats = 17;
	assert_int_equal(kymo_counter_sample(context), KYMO_OK);
	fake_agent_beats = 18;
	kymo_context_stop(context);
	assert_int_equal(got_count, 3);
	assert_true(got[0].values[0] == 5 && got[1].values[0] == 2 && got[2].values[0] == 1);
	assert_true(got[0].end == got[1].start && got[1].end == got[2].start);
	kymo_counter_set_destroy(set);
}

static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t window_cond = PTHREAD_COND_INITIALIZER;
static int window_count;

/* Stops its own context from the thread that is waited for when contexts stop. */
static void on_window(kymo_context_t c, const kymo_counter_values_t *v, void *data)
{
	assert_int_equal(v->op, KYMO_COUNTER_OP_SAMPLE);
	assert_true(v->end - v->start >= 1000000);
	pthread_mutex_lock(&window_lock);
	if (++window_count == 3)
		kymo_context_stop(c);
	pthread_cond_signal(&window_cond);
	pthread_mutex_unlock(&window_lock);
}

static uint32_t counter_threads_before, counter_threads_after;

static void before_thread(const kymo_thread_info_t *t, void *data)
{
	counter_threads_before += strcmp(t->name, "counter") == 0;
}

static void after_thread(const kymo_thread_info_t *t, void *data)
{
	counter_threads_after += strcmp(t->name, "counter") == 0 && t->tid != 0;
}

static void windows_end_by_themselves(void **state)
{
	kymo_counter_set_t set = set_of("beats");

	assert_int_equal(kymo_thread_notify(before_thread, after_thread, NULL), KYMO_OK);
	assert_int_equal(kymo_counter_window_service(context, set, 1000000, on_window, NULL),
			 KYMO_OK);
	kymo_context_start(context);
	assert_int_equal(counter_threads_before, 1);
	assert_int_equal(counter_threads_after, 1);
	pthread_mutex_lock(&window_lock);
	while (window_count < 3)
		pthread_cond_wait(&window_cond, &window_lock);
	pthread_mutex_unlock(&window_lock);
	assert_int_equal(kymo_counter_sample(context), KYMO_ERROR_STATE);
	assert_int_equal(window_count, 3);
	kymo_counter_set_destroy(set);
}

/* ---- records ---- */

static struct {
	uint64_t correlation, instance;
	double value;
	uint32_t thread;
	const char *op;
} records[64];
static uint32_t record_count;

static void on_record(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	kymo_value_t v = {.size = sizeof(v)};

	if (strcmp(r->domain->name, "counter") != 0)
		return;
	assert_true(record_count < 64);
	records[record_count].op = r->domain->ops[r->op].name;
	for (uint32_t i = 0; kymo_record_value(r, i, &v) == KYMO_OK; i++) {
		if (strcmp(v.field->name, "correlation") == 0)
			records[record_count].correlation = v.u;
		else if (strcmp(v.field->name, "instance") == 0)
			records[record_count].instance = v.u;
		else if (strcmp(v.field->name, "value") == 0)
			records[record_count].value = v.f;
	}
	record_count++;
}

static void give_buffer(kymo_context_t c)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = on_record};
	kymo_selection_t s = {.size = sizeof(s), .domain = "counter", .select = NULL};
	kymo_buffer_t buffer;

	assert_int_equal(kymo_buffer_create(c, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &s, buffer), KYMO_OK);
}

/* Into the context's own buffer alone: another tool that wants counters does not see these. */
static void values_become_records(void **state)
{
	kymo_counter_set_t set = set_of("beats,sum(grid)");
	double nine = 9;
	kymo_context_t other;

	assert_int_equal(kymo_context_create(&other), KYMO_OK);
	give_buffer(context);
	give_buffer(other);
	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(other);
	kymo_context_start(context);
	call(OP_WORK, beat, &nine);
	assert_int_equal(kymo_drain(context, UINT64_C(60000000000)), KYMO_OK);
	assert_int_equal(kymo_drain(other, UINT64_C(60000000000)), KYMO_OK);
	assert_int_equal(record_count, 4);
	assert_string_equal(records[0].op, "call");
	assert_true(records[0].value == 9);
	assert_int_equal(records[0].correlation, got[0].correlation);
	assert_true(records[1].value == 0);
	assert_string_equal(records[2].op, "thread");
	assert_true(records[2].value == 9);
	kymo_context_destroy(other);
	kymo_counter_set_destroy(set);
}

/* ---- fork ---- */

static void a_child_counts_for_itself(void **state)
{
	kymo_counter_set_t set = set_of("beats");
	double one = 1;
	int status;
	pid_t pid;

	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(context);
	call(OP_WORK, beat, &one);
	got_count = 0;
	pid = fork();
	if (pid == 0) {
		call(OP_WORK, beat, &one);
		call(OP_WORK, beat, &one);
		kymo_drain(context, 0);
		_exit(number_of(KYMO_COUNTER_OP_CALL) == 2 &&
				      sum_of(KYMO_COUNTER_OP_CALL, 0) == 2 &&
				      sum_of(KYMO_COUNTER_OP_THREAD, 0) == 2
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	call(OP_WORK, beat, &one);
	assert_int_equal(number_of(KYMO_COUNTER_OP_CALL), 1);
	kymo_counter_set_destroy(set);
}

/* ---- the operating system ---- */

static bool available(const char *name)
{
	kymo_counter_info_t i = {.size = sizeof(i)};
	kymo_counter_t c;

	assert_int_equal(kymo_counter_find(name, 0, &c), KYMO_OK);
	assert_int_equal(kymo_counter_describe(c, NULL, &i), KYMO_OK);
	if (i.unavailable)
		print_message("%s: %s\n", name, i.unavailable);
	return !i.unavailable;
}

#define PAGES 200u

static void touch_pages(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	assert_true(p != MAP_FAILED);
	madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < PAGES; i++)
		((volatile char *)p)[i * page] = 1;
	munmap(p, PAGES * page);
}

static void page_faults(const char *name)
{
	kymo_counter_set_t set;

	if (!available(name))
		skip();
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	print_message("sanitizers touch pages of their own\n");
	skip();
#endif
	set = set_of(name);
	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(context);
	call(OP_WORK, touch_pages, NULL); /* also what Kymo itself touches first */
	call(OP_WORK, touch_pages, NULL);
	call(OP_WORK, NULL, NULL);
	assert_true(got[1].values[0] >= PAGES && got[1].values[0] <= PAGES + 4);
	assert_true(got[2].values[0] <= 4);
	kymo_counter_set_destroy(set);
}

static void page_faults_by_perf(void **state)
{
	page_faults("perf:page-faults");
}

static void page_faults_by_rusage(void **state)
{
	page_faults("rusage:minflt");
}

#define ROUNDS 100

static int to_partner[2], to_me[2];

static void *partner(void *arg)
{
	char c;

	for (int i = 0; i < ROUNDS; i++)
		if (read(to_partner[0], &c, 1) != 1 || write(to_me[1], &c, 1) != 1)
			abort();
	return NULL;
}

static void ping_pong(void *arg)
{
	char c = 0;

	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(write(to_partner[1], &c, 1), 1);
		assert_int_equal(read(to_me[0], &c, 1), 1);
	}
}

static void on_one_cpu(cpu_set_t *old)
{
	cpu_set_t one;

	assert_int_equal(sched_getaffinity(0, sizeof(*old), old), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, old))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* On one processor every round makes both wait once. */
static void context_switches(const char *name)
{
	kymo_counter_set_t set;
	double switches = 0;
	cpu_set_t old;
	pthread_t t;

	if (!strchr(name, ',') && !available(name))
		skip();
	set = set_of(name);
	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(context);
	on_one_cpu(&old);
	assert_int_equal(pipe(to_partner), 0);
	assert_int_equal(pipe(to_me), 0);
	assert_int_equal(pthread_create(&t, NULL, partner, NULL), 0);
	call(OP_WORK, ping_pong, NULL);
	pthread_join(t, NULL);
	sched_setaffinity(0, sizeof(old), &old);
	for (unsigned i = 0; i < got[0].count; i++)
		switches += got[0].values[i];
	assert_true(switches >= ROUNDS * 0.9 && switches <= ROUNDS * 3);
	for (int i = 0; i < 2; i++) {
		close(to_partner[i]);
		close(to_me[i]);
	}
	kymo_counter_set_destroy(set);
}

static void context_switches_by_perf(void **state)
{
	context_switches("perf:context-switches");
}

static void context_switches_by_rusage(void **state)
{
	context_switches("rusage:nvcsw,rusage:nivcsw");
}

static void spin(void *arg)
{
	struct timespec t;
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 20000000;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec < end);
}

static void task_clock_is_time(void **state)
{
	kymo_counter_set_t set;
	uint64_t used;

	if (!available("perf:task-clock"))
		skip();
	set = set_of("perf:task-clock,perf:page-faults,rusage:utime,rusage:stime,rusage:maxrss");
	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(context);
	used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	call(OP_WORK, spin, NULL);
	used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - used;
	print_message("%.1f of %.1f ms\n", got[0].values[0] / 1e6, (double)used / 1e6);
	/* On a busy machine the kernel charges what its timer saw: a millisecond more has been seen. */
	assert_true(got[0].values[0] >= 19.9e6 && got[0].values[0] < (double)used * 1.5);
	assert_true(got[0].values[2] + got[0].values[3] >= 15e6);
	assert_true(got[0].values[4] > 1e6); /* a gauge: bytes now */
	kymo_counter_set_destroy(set);
}

static void *spinner(void *arg)
{
	spin(NULL);
	return NULL;
}

/* The process: its threads too, those that begin later as well, but not its children. */
static void the_process_is_counted(void **state)
{
	kymo_counter_set_t set;
	pthread_t t;
	pid_t pid;

	if (!available("perf:task-clock"))
		skip();
	set = set_of("perf:task-clock");
	if (kymo_counter_window_service(context, set, 0, on_values, NULL) != KYMO_OK) {
		print_message("%s\n", kymo_counter_error());
		skip();
	}
	kymo_context_start(context);
	assert_int_equal(pthread_create(&t, NULL, spinner, NULL), 0);
	pthread_join(t, NULL);
	assert_int_equal(kymo_counter_sample(context), KYMO_OK);
	assert_true(got[0].values[0] >= 19.9e6);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 5; i++)
			spin(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(kymo_counter_sample(context), KYMO_OK);
	assert_true(got[1].values[0] < 50e6);
	kymo_counter_set_destroy(set);
}

/* Programs close what they did not open; what they open then must not be read. */
static void descriptors_taken_away_end_counting(void **state)
{
	kymo_counter_set_t set;
	char text[64];
	int fd;

	if (!available("perf:task-clock"))
		skip();
	set = set_of("perf:task-clock");
	assert_int_equal(kymo_counter_service(context, &work_calls, set, on_values, NULL), KYMO_OK);
	kymo_context_start(context);
	call(OP_WORK, NULL, NULL);
	assert_int_equal(pipe2(to_me, O_NONBLOCK), 0);
	assert_int_equal(write(to_me[1], "hello", 5), 5);
	for (fd = 3; fd < 65536; fd++) { /* every perf descriptor becomes the pipe */
		char link[64];
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		if (strstr(text, "perf_event"))
			assert_int_equal(dup2(to_me[0], fd), fd);
	}
	call(OP_WORK, NULL, NULL);
	assert_int_equal(number_of(KYMO_COUNTER_OP_CALL), 1);
	assert_int_equal(read(to_me[0], text, sizeof(text)), 5);
	close(to_me[0]);
	close(to_me[1]);
	kymo_counter_set_destroy(set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counters_are_listed),        TEST(instances_are_numbered_row_by_row),
		TEST(sets_say_what_is_wrong),     TEST(devices_are_chosen),
		TEST(dimensions_are_reduced),     TEST(dimensions_are_kept),
		TEST(calls_are_counted),          TEST(calls_nest),
		TEST(threads_are_counted),        TEST(agents_are_exclusive),
		TEST(failing_reads_end_counting), TEST(windows_end_on_request),
		TEST(windows_end_by_themselves),  TEST(values_become_records),
		TEST(a_child_counts_for_itself),  TEST(page_faults_by_perf),
		TEST(page_faults_by_rusage),      TEST(context_switches_by_perf),
		TEST(context_switches_by_rusage), TEST(task_clock_is_time),
		TEST(the_process_is_counted),     TEST(descriptors_taken_away_end_counting),
	};

	if (cap_domain_register(&info, &domain) != KYMO_OK ||
	    kymo_counter_provider_register(&fake) != KYMO_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
