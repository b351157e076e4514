/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about devices (analysis/rules): gaps before work. Each has a run with its trouble, whose repaired
 * twin shows what is to be won; the rule has to come first and tell that within a quarter. The twin, and a near miss,
 * have no finding.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/bound.h"
#include "analysis/range_cover.h"
#include "base/vec.h"
#include "device_rules_run.h"

/* ---- waits and launches ------------------------------------------------------------------------- */

static void syncs(struct run *r)
{
	for (unsigned i = 0; i < 2000; i++) {
		run_kernel(r, 0, 0, 5000, 100);
		run_finish(r);
	}
}

static void no_syncs(struct run *r)
{
	for (unsigned i = 0; i < 2000; i++)
		run_kernel(r, 0, 0, 5000, 100);
	run_finish(r);
}

static void syncs_of_long(struct run *r)
{
	for (unsigned i = 0; i < 2000; i++) {
		run_kernel(r, 0, 0, 500000, 100);
		run_finish(r);
	}
}

/* A launch takes five times as long where the device has nothing to do. */
static void syncs_that_wake(struct run *r)
{
	for (unsigned i = 0; i < 2020; i++) {
		r->launching = i < 20 ? 0 : 4 * CALL_NS;
		run_kernel(r, 0, 0, CALL_NS + 1000, 100);
		if (i >= 20)
			run_finish(r);
	}
}

static void nobody_to_wake(struct run *r)
{
	for (unsigned i = 0; i < 2020; i++)
		run_kernel(r, 0, 0, CALL_NS + 1000, 100);
	run_finish(r);
}

static void test_too_many_syncs(void **state)
{
	(void)state;
	run_check("too-many-syncs", syncs_that_wake, nobody_to_wake);
	run_check("too-many-syncs", syncs, no_syncs);
	run_length(syncs_of_long, NULL, NULL);
}

/* As many in a graph: what the device takes from one to the next stays. */
static void one_launch(struct run *r)
{
	for (unsigned i = 0; i < 10; i++)
		run_kernel(r, 0, 0, (800 + START_NS) * 500, 100);
}

/* Short ones behind a queue that is full: the device never waits for the host. */
static void short_in_full_queue(struct run *r)
{
	run_kernel(r, 0, 0, 40000000, 100);
	for (unsigned i = 0; i < 5000; i++)
		run_kernel(r, 0, 0, 6000, 100);
}

/* The host is far ahead, but the runtime takes longer from one kernel to the next than a kernel does. */
static void slow_runtime(struct run *r)
{
	r->starting = 3000;
	run_kernel(r, 0, 0, 40000000, 100);
	for (unsigned i = 0; i < 10000; i++)
		run_kernel(r, 0, 0, 2000, 100);
}

static void fused(struct run *r)
{
	r->starting = 3000;
	run_kernel(r, 0, 0, 40000000, 100);
	for (unsigned i = 0; i < 10; i++)
		run_kernel(r, 0, 0, 2000000, 100);
}

static void slow_but_longer(struct run *r)
{
	r->starting = 3000;
	run_kernel(r, 0, 0, 40000000, 100);
	for (unsigned i = 0; i < 10000; i++)
		run_kernel(r, 0, 0, 12000, 100);
}

/* Still shorter ones, in no time after each other: one kernel that does it all has none of these gaps. */
static void shorter_than_gaps(struct run *r)
{
	run_kernel(r, 0, 0, 40000000, 100);
	for (unsigned i = 0; i < 10000; i++)
		run_kernel(r, 0, 0, START_NS * 8 / 10, 100);
}

static void shorter_fused(struct run *r)
{
	run_kernel(r, 0, 0, 40000000, 100);
	run_kernel(r, 0, 0, START_NS * 8 / 10 * 10000, 100);
}

static void longer_than_gaps(struct run *r)
{
	run_kernel(r, 0, 0, 40000000, 100);
	for (unsigned i = 0; i < 10000; i++)
		run_kernel(r, 0, 0, START_NS * 12 / 10, 100);
}

/* A thread that launches all the time is what loses its processor now and then: it is in a launch, mostly. */
static void held_up(struct run *r)
{
	for (unsigned i = 0; i < 5000; i++) {
		r->launching = i % 250 == 249 ? 2000000 : 0;
		run_kernel(r, 0, 0, 800, 100);
	}
}

/* As long as these, and no short ones: something else takes so long. */
static void long_launches(struct run *r)
{
	r->launching = 2000000;
	for (unsigned i = 0; i < 200; i++)
		run_kernel(r, 0, 0, 800, 100);
}

static void test_launch_bound(void **state)
{
	uint64_t gain;

	(void)state;
	run_check("launch-bound", run_launches, one_launch);
	run_length(short_in_full_queue, NULL, NULL);
	run_check("launch-bound", slow_runtime, fused);
	run_length(slow_but_longer, NULL, NULL);
	run_length(slow_runtime, "launch-bound", &gain);
	assert_int_equal(gain, 10000 * (START_NS + 3000));
	run_check("launch-bound", shorter_than_gaps, shorter_fused);
	run_length(longer_than_gaps, NULL, NULL);
	run_check("launch-bound", held_up, one_launch);
	run_length(long_launches, "device-idle", &gain);
}

static void host_late(struct run *r)
{
	for (unsigned i = 0; i < 100; i++) {
		run_kernel(r, 0, 0, 1200000, 100);
		run_finish(r);
		run_host(r, 5000000);
	}
}

static void host_beside(struct run *r)
{
	for (unsigned i = 0; i < 100; i++) {
		run_kernel(r, 0, 0, 1200000, 100);
		run_host(r, 5000000);
		run_finish(r);
	}
}

/* The device works next to nothing: that both go on at once wins as little. */
static void host_alone(struct run *r)
{
	for (unsigned i = 0; i < 100; i++) {
		run_kernel(r, 0, 0, 100000, 100);
		run_finish(r);
		run_host(r, 5000000 + (int64_t)i * 1000);
	}
}

static void test_host_late(void **state)
{
	uint64_t gain, before = run_length(host_late, "host-late", &gain), won;
	struct run r;

	(void)state;
	run_begin(&r, false);
	host_beside(&r);
	won = before - run_end(&r);
	run_release(&r);
	assert_true(gain * 4 >= won * 3 && gain * 4 <= won * 5);
	run_length(host_alone, NULL, NULL);
}

/* Who had no processor for most of the time, and did not wait for one, did not compute. */
static void test_host_late_off_processors(void **state)
{
	static const struct {
		uint64_t processor, delay;
		bool off;
	} cases[] = {{100000000, 0, true},
		     {400000000, 0, false},
		     {100000000, 300000000, false},
		     {0, 0, false}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct finding *f;
		struct run r;

		run_begin(&r, false);
		r.trace.threads[1].processor_ns = cases[i].processor;
		r.trace.processes[1].delay_ns = cases[i].delay;
		host_late(&r);
		run_end(&r);
		r.trace.threads[1].processor_ns = r.trace.processes[1].delay_ns = 0;
		f = run_finding(&r, "host-late");
		assert_non_null(f);
		assert_int_equal(strstr(f->title.s, "the host sleeps or waits between") != NULL,
				 cases[i].off);
		assert_int_equal(strstr(f->evidence.s, "had a processor for 100.0 ms") != NULL,
				 cases[i].off);
		run_release(&r);
	}
}

static int64_t jitter(unsigned *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16 & 0x3ffff; /* up to 0.26 ms */
}

/* `clock`: each begins a multiple of 5 ms after the first, late by some time that does not add up. */
static void pictures(struct run *r, bool clock)
{
	int64_t begin = r->now;
	unsigned seed = 5;

	for (unsigned i = 0; i < 100; i++) {
		run_kernel(r, 0, 0, 1200000, 100);
		run_finish(r);
		if (clock)
			r->now = begin + 5000000 * (int64_t)(i + 1) + jitter(&seed);
		else
			run_host(r, 3700000 + jitter(&seed));
	}
}

static void paced(struct run *r)
{
	pictures(r, true);
}

static void not_paced(struct run *r)
{
	pictures(r, false);
}

static void test_paced(void **state)
{
	uint64_t gain;

	(void)state;
	run_length(paced, NULL, NULL);
	run_length(not_paced, "host-late", &gain);
}

static void early_start(struct run *r)
{
	run_host(r, 200000000);
	run_kernel(r, 0, 0, 4000000000, 100);
	run_finish(r);
}

static void late_start(struct run *r)
{
	run_host(r, 1000000000);
	run_kernel(r, 0, 0, 4000000000, 100);
	run_finish(r);
}

/* Nothing can go on beside it but what the device does. */
static void late_and_little(struct run *r)
{
	run_host(r, 2000000000);
	run_kernel(r, 0, 0, 100000000, 100);
	run_finish(r);
}

static void build_first(struct run *r)
{
	run_build(r, 1, 2000000000);
	early_start(r);
}

static void build_a_little(struct run *r, int64_t ns)
{
	run_build(r, 1, ns);
	run_kernel(r, 0, 0, 500000000, 100);
	run_finish(r);
}

static void build_shortly(struct run *r)
{
	build_a_little(r, 700000000);
}

static void nothing_built(struct run *r)
{
	run_kernel(r, 0, 0, 500000000, 100);
	run_finish(r);
}

/* As long as a compiler takes to load, in a run as short. */
static void compiler_loads(struct run *r)
{
	build_a_little(r, 250000000);
}

/* The compiler has to be loaded for the second program in any case. */
static void build_and_build(struct run *r)
{
	build_a_little(r, 700000000);
	run_build(r, 2, 10000000);
	run_kernel(r, 0, 0, 500000000, 100);
	run_finish(r);
}

/* The same source again, in a ninth of the time: the rest was the compiler's loading. */
static void build_again(struct run *r)
{
	build_a_little(r, 900000000);
	for (unsigned i = 0; i < 3; i++)
		build_a_little(r, 100000000);
}

/* What the host does could go on beside builds or they are kept: not both. */
static void host_and_build(struct run *r)
{
	run_host(r, 2000000000);
	build_a_little(r, 1000000000);
}

static void host_and_short_build(struct run *r)
{
	run_host(r, 2000000000);
	build_a_little(r, 100000000);
}

static void test_startup(void **state)
{
	uint64_t gain;

	(void)state;
	run_check("startup", build_shortly, nothing_built);
	run_length(build_shortly, "startup", &gain);
	assert_int_equal(gain, 700000000);
	run_length(compiler_loads, NULL, NULL);
	run_length(build_and_build, "startup", &gain);
	assert_int_equal(gain, 450000000 + 999000); /* libraries loaded for the rest of 0.25 s */
	run_length(build_again, "rebuild-in-loop", &gain);
	run_length(host_and_build, "startup", &gain);
	assert_int_equal(
		gain, 1000000000 + 500000000); /* built before; the rest beside the device's work */
	run_length(host_and_short_build, "startup", &gain);
	assert_int_equal(gain, 100000000 + 500000000);

	run_check("startup", late_start, early_start);
	run_check("startup", build_first, early_start);
	run_length(late_and_little, NULL, NULL);
}

/* A library has the device do `number` pieces of work that take `ns` each; then the host computes. */
static void library_begins(struct run *r, unsigned number, int64_t ns, int64_t compute)
{
	for (unsigned i = 0; i < number; i++)
		run_copy(r, 0, false, 64, ns, true, MEMORY_HOST_PINNED);
	run_host(r, compute);
}

/* The device works for 2 s. Where start-up was over. */
static int64_t regular_work(struct run *r)
{
	int64_t submit = r->now;

	for (unsigned i = 0; i < 400; i++)
		run_kernel(r, 0, 0, 5000000 - START_NS, 100);
	run_finish(r);
	run_end(r);
	return submit;
}

static void test_startup_goes_on(void **state)
{
	struct run r;
	const struct idle *idle;
	const struct finding *f;
	struct text sentence = {0};
	struct bound b;
	int64_t submit;

	(void)state;
	run_begin(&r, false);
	run_host(&r, 100000000);
	library_begins(&r, 1, 2000, 3000000000);
	submit = regular_work(&r);
	idle = r.diagnosis.idle;
	assert_int_equal(idle->early, 1);
	assert_int_equal(idle->early_transfers, 2000);
	assert_int_equal(idle->early_kernels, 0);
	assert_int_equal(idle->begun, submit + CALL_NS + START_NS);
	assert_int_equal(idle->cause[IDLE_STARTUP],
			 submit - r.sink.timeline->start - CALL_NS - START_NS - 2000);
	assert_int_equal(idle->startup[HOST_OUTSIDE], idle->cause[IDLE_STARTUP] - RETURN_NS);
	assert_int_equal(idle->cause[IDLE_HOST], 0);
	assert_int_equal(r.diagnosis.count, 1);
	f = run_finding(&r, "startup");
	assert_non_null(f);
	assert_string_equal(f->title.s, "next to nothing is done on devices for the first 3.101 s "
					"(host code: 3.101 s)");
	assert_non_null(strstr(f->evidence.s, "1 piece of work before that takes 2.000 us"));
	b = bound_find(r.sink.timeline, idle);
	bound_tell(&sentence, &b, r.sink.timeline, idle);
	assert_string_equal(
		sentence.s,
		"Start-up bounds the run: 3.101 s, 61 %, pass before device work goes "
		"on, 3.101 s of it outside of every recorded API; 1 piece of work in it "
		"takes 2.000 us. In the 2.000 s from there to last device work: kernels "
		"100 %.");
	text_release(&sentence);
	run_release(&r);
}

/* A library begins so, and then again: so many pieces are part of start-up; the pauses after others are told as late. */
static void expect_early(uint32_t early, bool late, unsigned number, int64_t ns, int64_t compute,
			 int64_t again)
{
	struct run r;

	run_begin(&r, false);
	run_host(&r, 100000000);
	library_begins(&r, number, ns, compute);
	if (again)
		library_begins(&r, 1, ns, again);
	regular_work(&r);
	assert_int_equal(r.diagnosis.idle->early, early);
	assert_int_equal(run_finding(&r, "host-late") != NULL, late);
	run_release(&r);
}

/* A program after another, of one trace: 10 ms before the one ends, 3 s, 20 ms after the other begins. */
static void two_programs(struct run *r, struct t_process two[3])
{
	run_begin(r, false);
	timeline_free(r->sink.timeline);
	r->trace.processes = two;
	r->trace.processes_count = 3;
	assert_int_equal(r->sink.sink.begin(&r->sink.sink, &r->trace), KYMO_OK);
	run_kernel(r, 0, 0, 1000000, 100);
	run_finish(r);
	run_host(r, 10000000);
	two[1] = (struct t_process){.pid = 1, .start = 1, .end = r->now, .hostname = "h"};
	run_host(r, 3000000000);
	two[2] = (struct t_process){.pid = 2, .start = r->now, .hostname = "h"};
	run_host(r, 20000000);
	run_kernel(r, 0, 0, 1000000, 100);
	run_finish(r);
}

/* Where no process is there, no code of the host runs. */
static void test_nobody_there(void **state)
{
	struct text sentence = {0};
	struct t_process two[3] = {{0}};
	const struct idle *idle;
	struct bound b;
	struct run r;

	(void)state;
	two_programs(&r, two);
	run_end(&r);
	idle = r.diagnosis.idle;
	assert_int_equal(idle->cause[IDLE_ABSENT], 3000000000);
	assert_int_equal(idle->cause[IDLE_HOST], 30000000);
	assert_int_equal(r.diagnosis.gaps->at[0].outside, 30000000);
	b = bound_find(r.sink.timeline, idle);
	bound_tell(&sentence, &b, r.sink.timeline, idle);
	assert_string_equal(sentence.s,
			    "For most of the run no recorded process is there: 3.000 s, 99 %.");
	text_release(&sentence);
	run_release(&r);

	two_programs(&r, two); /* another one is there meanwhile */
	two[2].start = two[1].end;
	run_end(&r);
	assert_int_equal(r.diagnosis.idle->cause[IDLE_ABSENT], 0);
	assert_int_equal(r.diagnosis.idle->cause[IDLE_HOST], 3030000000);
	run_release(&r);
}

/* The main thread builds for 2 s, and is in a call for 1 s; another one, `born` then, gives the device its work. */
static void built_elsewhere(struct run *r, struct t_thread threads[3], bool born)
{
	run_begin(r, false);
	timeline_free(r->sink.timeline);
	threads[1] = (struct t_thread){.process = 1, .tid = 1, .main = true};
	threads[2] = (struct t_thread){.process = 1, .tid = 2, .start = r->now};
	r->trace.threads = threads;
	r->trace.threads_count = 3;
	assert_int_equal(r->sink.sink.begin(&r->sink.sink, &r->trace), KYMO_OK);
	run_build(r, 1, 2000000000);
	run_call(r, OP_ASK, 1000000000);
	if (born)
		threads[2].start = r->now;
	r->thread = 2;
	run_host(r, 10000000);
	run_kernel(r, 0, 0, 1000000, 100);
	run_finish(r);
	run_end(r);
}

static void test_startup_of_threads(void **state)
{
	struct text sentence = {0};
	struct t_thread threads[3] = {{0}};
	const struct idle *idle;
	struct bound b;
	struct run r;

	(void)state;
	built_elsewhere(&r, threads, true);
	idle = r.diagnosis.idle;
	assert_int_equal(idle->startup[HOST_BUILD], 2000000000);
	assert_int_equal(idle->startup[HOST_OTHER], 1000000000);
	assert_int_equal(idle->startup[HOST_OUTSIDE], 10000000 + 1000000 - 1000);
	b = bound_find(r.sink.timeline, idle);
	bound_tell(&sentence, &b, r.sink.timeline, idle);
	assert_non_null(strstr(sentence.s, "2.000 s of it building or loading programs and 1.000 s "
					   "of it in other API calls"));
	text_release(&sentence);
	run_release(&r);

	built_elsewhere(&r, threads,
			false); /* it was there, and did something itself but for builds */
	idle = r.diagnosis.idle;
	assert_int_equal(idle->startup[HOST_BUILD], 2000000000);
	assert_int_equal(idle->startup[HOST_OTHER], 0);
	assert_int_equal(idle->startup[HOST_OUTSIDE], 1010000000 + 1000000 - 1000);
	run_release(&r);
}

static void test_startup_is_over(void **state)
{
	struct run r;

	(void)state;
	expect_early(4, false, 4, 2000, 3000000000, 0);
	expect_early(0, true, 5, 2000, 3000000000, 0); /* of 405 pieces */
	expect_early(1, false, 1, 20000000, 3000000000, 0);
	expect_early(0, true, 1, 21000000, 3000000000, 0); /* of 2 s */
	expect_early(0, false, 1, 2000, 20000000, 0);      /* a pause that is nothing */
	expect_early(2, false, 1, 2000, 1000000000, 1100000000);
	expect_early(1, true, 1, 2000, 1000000000, 900000000); /* not longer than before */
	run_begin(&r, false); /* the launch takes long, and not the host before it */
	library_begins(&r, 1, 2000, 1000000);
	r.launching = 3000000000;
	run_kernel(&r, 0, 0, 5000000, 100);
	r.launching = 0;
	regular_work(&r);
	assert_int_equal(r.diagnosis.idle->early, 0);
	assert_in_range(r.diagnosis.idle->cause[IDLE_LAUNCH], 3000000000, 4000000000);
	run_release(&r);
}

/* What is built in start-up is told as that alone, whatever the device has done before. */
static void test_startup_builds(void **state)
{
	struct run r;
	const struct finding *f;

	(void)state;
	run_begin(&r, false);
	for (unsigned i = 0; i < 21; i++)
		run_copy(&r, 0, false, 64, 2000, true, MEMORY_HOST_PINNED);
	run_build(&r, 1, 2000000000);
	for (unsigned i = 0; i < 2100; i++)
		run_kernel(&r, 0, 0, 1000000, 100);
	run_finish(&r);
	run_end(&r);
	assert_int_equal(r.diagnosis.count, 1);
	f = run_finding(&r, "startup");
	assert_non_null(f);
	assert_non_null(strstr(f->evidence.s, "the longest call: build, 2.000 s"));
	run_release(&r);
}

enum { LOAD, LOAD_AGAIN, DECODE, READ, DOMAIN, STRINGS };

static struct t_string strings[1 + STRINGS] = {{0},
					       {.text = "load 1", .length = 6},
					       {.text = "load 2", .length = 6},
					       {.text = "decode", .length = 6},
					       {.text = "read", .length = 4},
					       {.text = "lib", .length = 3}};

/* An annotation of `thread`, from `from` to `to` ms from now on; of thread 3, of a process without work. */
static void range(struct run *r, uint32_t thread, unsigned name, int64_t from, int64_t to)
{
	struct timeline *tl = r->sink.timeline;

	assert_true(vec_reserve(&tl->ranges, &tl->ranges_room, tl->ranges_count, 1));
	tl->ranges[tl->ranges_count++] = (struct tl_range){.start = r->now + from * 1000000,
							   .end = r->now + to * 1000000,
							   .process = thread == 3 ? 2 : 1,
							   .thread = thread,
							   .name = 1 + name,
							   .domain = 1 + DOMAIN};
}

/* 100 times 20 ms of host code, of which main covers so many, and another thread 2 ms beyond that. */
static void annotated(struct run *r, int64_t covered)
{
	run_begin(r, false);
	r->trace.strings = strings;
	r->trace.strings_count = 1 + STRINGS;
	for (unsigned i = 0; i < 100; i++) {
		range(r, 1, DECODE, 1, covered - 1); /* within the next, which ends later */
		range(r, 1, i % 2 ? LOAD : LOAD_AGAIN, 0, covered);
		range(r, 2, LOAD, covered - 4, covered + 2);
		range(r, 3, DECODE, 0, 20);
		run_host(r, 20000000);
		run_kernel(r, 0, 0, 10000000, 100);
		run_finish(r);
	}
	run_end(r);
}

/* What the program says that it did while no call was recorded: unions of what is in common, each once. */
static void test_annotations_cover(void **state)
{
	struct run r;
	struct text said = {0};
	struct bound b;

	(void)state;
	annotated(&r, 16);
	assert_int_equal(range_cover(&said, r.sink.timeline, 0, &r.diagnosis.idle->host),
			 99 * 18000000);
	assert_string_equal(said.s, "lib:load *");
	said.length = 0;
	b = bound_find(r.sink.timeline, r.diagnosis.idle);
	bound_tell(&said, &b, r.sink.timeline, r.diagnosis.idle);
	assert_non_null(
		strstr(said.s, ", while the device idles, 1.782 s of it in the range lib:load *."));
	assert_non_null(strstr(run_finding(&r, "host-late")->evidence.s,
			       "\n1.782 s of this host code in the range lib:load *\n"));
	text_release(&said);
	run_release(&r);

	annotated(&r, 7); /* 9 of 20 ms: that does not tell what the host did */
	assert_int_equal(range_cover(&said, r.sink.timeline, 0, &r.diagnosis.idle->host), 0);
	assert_null(strstr(run_finding(&r, "host-late")->evidence.s, "in the range"));
	assert_null(said.s);
	run_release(&r);

	run_begin(&r, false); /* what lies in others does not count: none of these has half */
	r.trace.strings = strings;
	r.trace.strings_count = 1 + STRINGS;
	range(&r, 1, LOAD, 0, 9);
	range(&r, 1, READ, 0, 9);
	range(&r, 1, READ, 10, 18);
	range(&r, 1, DECODE, 9, 18);
	run_host(&r, 20000000);
	run_kernel(&r, 0, 0, 10000000, 100);
	run_end(&r);
	assert_int_equal(range_cover(&said, r.sink.timeline, 0, &r.diagnosis.idle->startup_host),
			 0);
	run_release(&r);

	run_begin(&r, false); /* one name of two libraries is two: the second has more than half */
	r.trace.strings = strings;
	r.trace.strings_count = 1 + STRINGS;
	range(&r, 1, DECODE, 0, 7);
	range(&r, 1, DECODE, 7, 18);
	r.sink.timeline->ranges[1].domain = 1 + READ;
	run_host(&r, 20000000);
	run_kernel(&r, 0, 0, 10000000, 100);
	run_end(&r);
	assert_int_equal(range_cover(&said, r.sink.timeline, 0, &r.diagnosis.idle->startup_host),
			 11000000);
	assert_string_equal(said.s, "read:decode");
	text_release(&said);
	run_release(&r);

	run_begin(&r, false); /* before the first work */
	r.trace.strings = strings;
	r.trace.strings_count = 1 + STRINGS;
	range(&r, 1, DECODE, 100, 1900);
	run_host(&r, 2000000000);
	regular_work(&r);
	assert_non_null(strstr(run_finding(&r, "startup")->evidence.s,
			       "\n1.800 s of this host code in the range lib:decode\n"));
	b = bound_find(r.sink.timeline, r.diagnosis.idle);
	bound_tell(&said, &b, r.sink.timeline, r.diagnosis.idle);
	assert_non_null(strstr(said.s, "outside of every recorded API, 1.800 s of it in the range "
				       "lib:decode. In the"));
	text_release(&said);
	run_release(&r);
}

/* After so long a start-up, 100 kernels of so long, so long after each other. The gain of host-late. */
static uint64_t late_after(int64_t startup, int64_t kernel, int64_t late)
{
	const struct finding *f;
	struct run r;
	uint64_t gain;

	run_begin(&r, false);
	run_host(&r, startup);
	for (unsigned i = 0; i < 100; i++) {
		run_kernel(&r, 0, 0, kernel, 100);
		run_finish(&r);
		if (i < 99)
			run_host(&r, late);
	}
	run_end(&r);
	assert_int_equal(r.diagnosis.work,
			 100 * kernel + 99 * (late + RETURN_NS + CALL_NS + START_NS));
	f = run_finding(&r, "host-late");
	gain = f ? f->gain : 0;
	run_release(&r);
	return gain;
}

/* What repeats is held against the time in which the device works, and not against a start-up that is long. */
static void test_startup_dilutes_nothing(void **state)
{
	(void)state;
	assert_int_equal(late_after(10000000000, 18000000, 1500000), 99 * 1500000); /* 1.2 % */
	assert_int_equal(late_after(10000000000, 18000000, 900000), 0); /* 4.7 % of the work */
	assert_int_equal(late_after(10000000, 18000000, 900000), 0);
	/* Of what is short a little is noise: 20 ms of 0.1 s, but less than a twentieth of 0.5 s. */
	assert_int_equal(late_after(1000000000, 800000, 200000), 0);
	assert_int_equal(late_after(1000000000, 800000, 300000), 99 * 300000);
}

/* 5,000 launches, two of which take 5 ms more: of other kernels for the first time, or of the same. */
static void some_launches_long(struct run *r, bool others)
{
	for (unsigned i = 0; i < 5000; i++) {
		bool longer = i == 2000 || i == 3000;

		r->kernel = !longer || !others ? 1 : i == 2000 ? 2 : 3;
		r->launching = longer ? 5000000 : 0;
		run_kernel(r, 0, 0, 800, 100);
	}
}

static void kernels_loaded(struct run *r)
{
	some_launches_long(r, true);
}

static void launches_held_up(struct run *r)
{
	some_launches_long(r, false);
}

/* What the first launch of a kernel takes to load it is no launch that fewer of would save. */
static void test_loading_is_no_launch(void **state)
{
	uint64_t length, loaded = run_gain(kernels_loaded, "launch-bound", &length);
	uint64_t held_up = run_gain(launches_held_up, "launch-bound", &length);

	(void)state;
	assert_in_range(loaded, 5000000, 25000000);
	assert_in_range(held_up - loaded, 10000000, 10010000);
}

static void other_calls(struct run *r)
{
	for (unsigned i = 0; i < 20; i++) {
		run_kernel(r, 0, 0, 1000000, 100);
		run_finish(r);
		run_call(r, OP_BUILD, 1000000);
	}
}

/* As programs that use a device well have them: a tenth of the run. */
static void short_other_calls(struct run *r)
{
	for (unsigned i = 0; i < 20; i++) {
		run_kernel(r, 0, 0, 1000000, 100);
		run_finish(r);
		run_call(r, OP_BUILD, 100000);
	}
}

static void test_device_idle(void **state)
{
	(void)state;
	run_check("device-idle", other_calls, run_no_other_calls);
	run_length(short_other_calls, NULL, NULL);
}

/* Findings have names of kernels as tables do: no result, no parameters, no arguments of arguments. */
static void test_kernel_names(void **state)
{
	static char longer[300] = "a::";
	static const char *const names[][2] = {
		{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, f<char> "
		 ">(int*)",
		 "kernel internal::gemvx::kernel<int, f<...> >, "},
		{"void at::native::fill<at::native::F<float> >(int, F<float>)",
		 "kernel at::native::fill<at::native::F<...> >, "},
		{"plain", "kernel plain, "},
		{longer, NULL},
	};

	(void)state;
	memset(longer + 3, 'x', sizeof(longer) - 4);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct finding *f;
		struct run r;
		const char *before;

		run_begin(&r, false);
		before = r.trace.kernels[1].name;
		r.trace.kernels[1].name = names[i][0];
		run_launches(&r);
		run_end(&r);
		f = run_finding(&r, "launch-bound");
		assert_non_null(f);
		if (names[i][1]) {
			assert_memory_equal(f->where.s, names[i][1], strlen(names[i][1]));
			assert_non_null(strstr(f->evidence.s, names[i][1]));
		} else {
			assert_non_null(strstr(f->where.s, "xxx..., "));
			assert_true(strlen(f->where.s) < 200);
		}
		r.trace.kernels[1].name = before;
		run_release(&r);
	}
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many_syncs),
		cmocka_unit_test(test_launch_bound),
		cmocka_unit_test(test_host_late),
		cmocka_unit_test(test_host_late_off_processors),
		cmocka_unit_test(test_paced),
		cmocka_unit_test(test_startup),
		cmocka_unit_test(test_startup_goes_on),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_startup_of_threads),
		cmocka_unit_test(test_startup_is_over),
		cmocka_unit_test(test_startup_builds),
		cmocka_unit_test(test_annotations_cover),
		cmocka_unit_test(test_startup_dilutes_nothing),
		cmocka_unit_test(test_loading_is_no_launch),
		cmocka_unit_test(test_device_idle),
		cmocka_unit_test(test_kernel_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
