/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about OpenMP (analysis/rules): runs made up of regions in which four threads compute for so long. What is told
 * is what the repaired run would win; runs without the trouble have no finding.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/diagnose.h"
#include "analysis/digest.h"
#include "base/vec.h"
#include "stream/symbol.h"

#define MS 1000000

enum {
	THREADS = 4,
	ALL_THREADS = 6,
	OP_PARALLEL = 1,
	OP_TASK,
	OP_BARRIER,
	OP_EXPLICIT,
	OP_MPI,
	OP_SUBMIT,
	OPS
};

static struct t_domain domains[] = {{"", ""}, {"openmp", "OpenMP"}, {"mpi", "MPI"}};
static struct t_op ops[OPS] = {
	{.name = ""},
	[OP_PARALLEL] = {.name = "parallel", .domain = 1},
	[OP_TASK] = {.name = "implicit_task", .domain = 1},
	[OP_BARRIER] = {.name = "barrier", .domain = 1, .flags = KYMO_OP_WAITS},
	[OP_EXPLICIT] = {.name = "task", .domain = 1},
	[OP_MPI] = {.name = "MPI_Barrier", .domain = 2},
	[OP_SUBMIT] = {.name = "target_transfer_to", .domain = 1, .flags = KYMO_OP_SUBMITS},
};
static struct t_process processes[] = {{0}, {.pid = 1, .start = 1, .rank = UINT32_MAX}};
static struct t_thread threads[] = {{0},
				    {.process = 1, .tid = 11, .main = true},
				    {.process = 1, .tid = 12},
				    {.process = 1, .tid = 13},
				    {.process = 1, .tid = 14},
				    {.process = 1, .tid = 15}, /* of regions beside others */
				    {.process = 1, .tid = 16}};
static struct t_site sites[3] = {{0}};
static struct t_module modules[1] = {{.path = ""}};

struct run {
	struct trace trace;
	struct timeline_sink sink;
	struct diagnosis diagnosis;
	struct symbols *symbols; /* or NULL: sites have no names */
	int64_t now;
	uint64_t id;
};

static void begin(struct run *r)
{
	*r = (struct run){.now = 1000};
	r->trace = (struct trace){.path = "T",
				  .domains = domains,
				  .domains_count = 3,
				  .ops = ops,
				  .ops_count = OPS,
				  .processes = processes,
				  .processes_count = 2,
				  .threads = threads,
				  .threads_count = ALL_THREADS + 1,
				  .sites = sites,
				  .sites_count = 3,
				  .modules = modules,
				  .modules_count = 1,
				  .origin = 1000};
	timeline_sink_init(&r->sink, NULL);
	if (r->sink.sink.begin(&r->sink.sink, &r->trace) != KYMO_OK)
		abort();
}

static void call(struct run *r, uint32_t op, uint32_t thread, int64_t start, int64_t end)
{
	struct rec c = {.process = 1,
			.thread = thread,
			.op = op,
			.ok = true,
			.id = ++r->id,
			.start = start,
			.end = end};

	if (r->sink.sink.call(&r->sink.sink, &c) != KYMO_OK)
		abort();
}

/* Fields are those of a backend: it is put where the sink would put it. */
static void team(struct run *r, const struct tl_team *team)
{
	struct timeline *tl = r->sink.timeline;

	if (!vec_reserve(&tl->teams, &tl->teams_room, tl->teams_count, 1))
		abort();
	tl->teams[tl->teams_count++] = *team;
	if (!team->task)
		tl->last_region[team->thread] = tl->teams_count;
}

/* Meanwhile another thread meets a region, of two threads that compute for so long. */
static void region_beside(struct run *r, uint32_t primary, uint32_t other, int64_t ns, int64_t most)
{
	uint64_t id = ++r->id;

	team(r, &(struct tl_team){.start = r->now,
				  .end = r->now + most,
				  .region = id,
				  .thread = other,
				  .threads = 2,
				  .task = true});
	team(r, &(struct tl_team){.start = r->now,
				  .end = r->now + most,
				  .until = r->now + most,
				  .region = id,
				  .worked = (uint64_t)ns,
				  .thread = primary,
				  .site = 2,
				  .threads = 2});
}

/* A region at a site, in which threads compute for so long; the region ends with the last. */
static void region(struct run *r, uint32_t site, const int64_t ns[THREADS])
{
	uint64_t id = ++r->id;
	int64_t most = 0;

	for (unsigned i = 0; i < THREADS; i++)
		most = ns[i] > most ? ns[i] : most;
	for (unsigned i = 1; i < THREADS; i++)
		team(r, &(struct tl_team){.start = r->now,
					  .end = r->now + ns[i],
					  .region = id,
					  .thread = 1 + i,
					  .threads = THREADS,
					  .task = true});
	team(r, &(struct tl_team){.start = r->now,
				  .end = r->now + most,
				  .until = r->now + most,
				  .region = id,
				  .worked = ns[0] < most ? (uint64_t)ns[0]
							 : 0, /* it waited for nobody */
				  .thread = 1,
				  .site = site,
				  .threads = THREADS});
	r->sink.timeline->implicit_tasks = true;
	r->now += most;
}

static uint64_t end(struct run *r)
{
	r->trace.end = r->now;
	if (r->sink.sink.end(&r->sink.sink, &r->trace) != KYMO_OK ||
	    !diagnose(&r->diagnosis, "T", r->sink.timeline, NULL, r->symbols))
		abort();
	return timeline_length(r->sink.timeline);
}

static void release(struct run *r)
{
	diagnosis_release(&r->diagnosis);
	timeline_free(r->sink.timeline);
}

/* Ends the run: there is this finding and no other, with this gain; NULL: none. */
static void check(struct run *r, const char *rule, uint64_t gain)
{
	end(r);
	for (uint32_t i = 0; i < r->diagnosis.count; i++)
		print_message("  %s: %s\n", r->diagnosis.findings[i].rule->id,
			      r->diagnosis.findings[i].title.s);
	assert_int_equal(r->diagnosis.count, rule ? 1 : 0);
	if (rule) {
		assert_string_equal(r->diagnosis.findings[0].rule->id, rule);
		assert_int_equal(r->diagnosis.findings[0].gain, gain);
	}
	release(r);
}

static bool abstains(const struct run *r, const char *rule)
{
	return r->diagnosis.abstained.s && strstr(r->diagnosis.abstained.s, rule);
}

static const int64_t even[THREADS] = {MS, MS, MS, MS};

static void test_imbalance(void **state)
{
	static const int64_t last[THREADS] = {MS, MS, 5 * MS, MS};
	static const int64_t primary[THREADS] = {5 * MS, MS, MS, MS};
	struct run r;

	(void)state;
	/* Evenly shared each region would take 2 ms: the wall wins 3 of 5, not what three threads wait. */
	begin(&r);
	for (unsigned i = 0; i < 10; i++)
		region(&r, 1, last);
	end(&r);
	assert_int_equal(r.diagnosis.count, 1);
	assert_int_equal(r.diagnosis.findings[0].gain, 30 * MS);
	assert_non_null(strstr(r.diagnosis.findings[0].where.s, "thread 13"));
	release(&r);

	begin(&r);
	for (unsigned i = 0; i < 10; i++)
		region(&r, 1, primary);
	end(&r);
	assert_int_equal(r.diagnosis.findings[0].gain, 30 * MS);
	assert_non_null(strstr(r.diagnosis.findings[0].where.s, "thread 11"));
	release(&r);

	/* Of two places each has a last thread of its own: what they win adds up. */
	begin(&r);
	for (unsigned i = 0; i < 10; i++) {
		region(&r, 1, last);
		region(&r, 2, primary);
	}
	check(&r, "imbalance-threads", 60 * MS);
}

/* Threads that meet regions at once: told is what the one with most to win would, not the sum. */
static void test_imbalance_of_two(void **state)
{
	static const int64_t last[THREADS] = {MS, MS, 5 * MS, MS};
	struct run r;

	(void)state;
	for (unsigned most = 0; most < 2; most++) {
		begin(&r);
		for (unsigned i = 0; i < 10; i++) {
			region_beside(&r, 5, 6, MS, (most ? 9 : 3) * MS);
			region(&r, 1, last);
			r.now += 4 * MS;
		}
		end(&r);
		assert_int_equal(r.diagnosis.count, 1);
		assert_string_equal(r.diagnosis.findings[0].rule->id, "imbalance-threads");
		assert_int_equal(r.diagnosis.findings[0].gain, (most ? 40 : 30) * MS);
		assert_non_null(
			strstr(r.diagnosis.findings[0].where.s, most ? "thread 16" : "thread 13"));
		release(&r);
	}
}

static void test_in_balance(void **state)
{
	static const int64_t little[THREADS] = {MS, MS, MS + MS / 20, MS};
	static const int64_t short_one[THREADS] = {1000, 1000, 5500, 1000};
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 10; i++)
		region(&r, 1, even);
	check(&r, NULL, 0);

	begin(&r);
	for (unsigned i = 0; i < 10; i++)
		region(&r, 1, little);
	check(&r, NULL, 0);

	/* By turns: what a busy machine does to equal work. */
	begin(&r);
	for (unsigned i = 0; i < 12; i++) {
		int64_t ns[THREADS] = {MS, MS, MS, MS};

		ns[i % THREADS] = 2 * MS;
		region(&r, 1, ns);
	}
	check(&r, NULL, 0);

	/* Short ones: what the runtime takes to begin them. */
	begin(&r);
	for (unsigned i = 0; i < 1000; i++)
		region(&r, 1, short_one);
	check(&r, NULL, 0);
}

/* Thread 13 computes twice as long as the others. Processor times: its own, that of each other thread, and lacked by main. */
static void begin_uneven(struct run *r, uint64_t used, uint64_t others, uint64_t lacked)
{
	static const int64_t last[THREADS] = {MS, MS, 2 * MS, MS};

	for (unsigned i = 1; i <= THREADS; i++)
		threads[i].processor_ns = i == 3 ? used : others;
	processes[1].delay_ns = lacked;
	begin(r);
	for (unsigned i = 0; i < 10; i++)
		region(r, 1, last);
}

static void test_want_of_processors(void **state)
{
	struct run r;

	(void)state;
	/* All have had a processor for as long. */
	begin_uneven(&r, 5 * MS, 5 * MS, 50 * MS);
	check(&r, NULL, 0);
	/* It has had one for half as long again: 20 ms x (7.5 / 20) / (22.5 / 50), less 12.5 ms. */
	begin_uneven(&r, 15 * MS / 2, 5 * MS, 50 * MS);
	end(&r);
	assert_int_equal(r.diagnosis.count, 1);
	assert_in_range(r.diagnosis.findings[0].gain, 4166000, 4168000);
	assert_non_null(strstr(r.diagnosis.findings[0].evidence.s,
			       "computes for 16.67 ms, the mean of the team is 12.50 ms\n"
			       "that is without 3.333 ms more than the others"));
	release(&r);
	/* A quarter longer: of that little is left which is sure. */
	begin_uneven(&r, 6 * MS, 5 * MS, 50 * MS);
	check(&r, NULL, 0);
	/* It sleeps. */
	begin_uneven(&r, MS / 10, 5 * MS, 50 * MS);
	check(&r, "imbalance-threads", 15 * MS / 2);
	/* The machine has processors enough; or nothing is known of that. */
	begin_uneven(&r, 5 * MS, 5 * MS, 5 * MS);
	check(&r, "imbalance-threads", 15 * MS / 2);
	begin_uneven(&r, 0, 0, 0);
	check(&r, "imbalance-threads", 15 * MS / 2);
}

/* Who waits at a barrier, or for another rank, does not compute. */
static void test_waits_inside(void **state)
{
	static const int64_t all[THREADS] = {5 * MS, 5 * MS, 5 * MS, 5 * MS};
	struct run r;

	(void)state;
	for (unsigned op = OP_BARRIER; op <= OP_MPI; op += OP_MPI - OP_BARRIER) {
		begin(&r);
		for (unsigned i = 0; i < 10; i++) {
			int64_t start = r.now;

			region(&r, 1, all);
			for (uint32_t k = 1; k <= THREADS; k++)
				if (k != 3)
					call(&r, op, k, start + MS, start + 5 * MS);
		}
		check(&r, "imbalance-threads", 30 * MS);
	}
}

enum { PHASES = 2 };

/* A region of parts with a barrier behind each but the last; a barrier ends when all have come. */
static void phases(struct run *r, unsigned times, const int64_t ns[PHASES][THREADS])
{
	int64_t start = r->now, length[THREADS] = {0}, sum = 0;

	for (unsigned i = 0; i < times * PHASES; i++) {
		const int64_t *part = ns[i % PHASES];
		int64_t most = 0;

		for (unsigned k = 0; k < THREADS; k++)
			most = part[k] > most ? part[k] : most;
		for (unsigned k = 0; k < THREADS; k++) {
			if (i + 1 < times * PHASES)
				call(r, OP_BARRIER, 1 + k, start + sum + part[k],
				     start + sum + most + 100);
			length[k] = sum + part[k];
		}
		sum += most + 100;
	}
	region(r, 1, length);
}

/* Who is late at one barrier is early at the next: without them a step would take 6 ms, not 10. */
static void test_barriers_by_turns(void **state)
{
	static const int64_t turns[PHASES][THREADS] = {{5 * MS, MS, 5 * MS, MS},
						       {MS, 5 * MS, MS, 5 * MS}};
	static const int64_t back[PHASES][THREADS] = {{MS, 5 * MS, MS, 5 * MS},
						      {5 * MS, MS, 5 * MS, MS}};
	struct run r;

	(void)state;
	begin(&r); /* one region with many barriers */
	phases(&r, 10, turns);
	end(&r);
	assert_int_equal(r.diagnosis.count, 1);
	assert_string_equal(r.diagnosis.findings[0].rule->id, "openmp-barrier");
	assert_int_equal(r.diagnosis.findings[0].gain, 40 * MS);
	assert_int_equal(r.diagnosis.findings[0].count, 19);
	assert_non_null(strstr(r.diagnosis.findings[0].evidence.s, "10 barriers"));
	assert_non_null(strstr(r.diagnosis.findings[0].evidence.s, "thread 13 as the last"));
	assert_non_null(strstr(r.diagnosis.findings[0].evidence.s, "thread 14 as the last"));
	release(&r);

	begin(&r); /* many regions, each with one */
	for (unsigned i = 0; i < 12; i++)
		phases(&r, 1, turns);
	check(&r, "openmp-barrier", 48 * MS);

	begin(&r); /* the thread that meets the regions is the last of each */
	for (unsigned i = 0; i < 12; i++)
		phases(&r, 1, back);
	check(&r, "openmp-barrier", 48 * MS);
}

/* Where a barrier is its finding says, by the region's site. */
static void test_barriers_of_a_site(void **state)
{
	static const int64_t turns[PHASES][THREADS] = {{5 * MS, MS, 5 * MS, MS},
						       {MS, 5 * MS, MS, 5 * MS}};
	struct run r;

	(void)state;
	sites[1] = (struct t_site){
		.process = 1, .address = 1, .function = "solve", .file = "a.c", .line = 7};
	begin(&r);
	r.symbols = symbols_new(&r.trace, NULL);
	assert_non_null(r.symbols);
	phases(&r, 10, turns);
	end(&r);
	assert_int_equal(r.diagnosis.count, 1);
	assert_non_null(strstr(r.diagnosis.findings[0].evidence.s,
			       "10 barriers at solve a.c:7 have thread "));
	release(&r);
	symbols_free(r.symbols);
	sites[1] = (struct t_site){0};
}

/* The part of the thread that meets the region ends with a barrier, and seems some ns shorter than that. */
static void test_barrier_at_the_end(void **state)
{
	const int64_t step = 5 * MS + 100;
	int64_t length[THREADS];
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 20; i++)
		for (unsigned k = 0; k < THREADS; k++)
			call(&r, OP_BARRIER, 1 + k, r.now + step * i + ((i + k) % 2 ? MS : 5 * MS),
			     r.now + step * (i + 1));
	for (unsigned k = 0; k < THREADS; k++)
		length[k] = 20 * step;
	length[0] -= 40;
	region(&r, 1, length);
	check(&r, "openmp-barrier", 40 * MS);
}

static void test_barriers_in_balance(void **state)
{
	static const int64_t same[PHASES][THREADS] = {{MS, MS, MS, MS},
						      {3 * MS, 3 * MS, 3 * MS, 3 * MS}};
	static const int64_t little[PHASES][THREADS] = {{MS, MS + MS / 5, MS, MS},
							{MS + MS / 5, MS, MS, MS}};
	static const int64_t turns[PHASES][THREADS] = {{5 * MS, MS, 5 * MS, MS},
						       {MS, 5 * MS, MS, 5 * MS}};
	static const int64_t one[PHASES][THREADS] = {{MS, 5 * MS, MS, MS}, {MS, 5 * MS, MS, MS}};
	struct run r;

	(void)state;
	begin(&r);
	phases(&r, 10, same);
	check(&r, NULL, 0);
	begin(&r); /* unevenly by a sixth: what a busy machine does */
	phases(&r, 10, little);
	check(&r, NULL, 0);
	begin(&r); /* nine barriers are no loop */
	phases(&r, 5, turns);
	check(&r, NULL, 0);
	begin(&r); /* a few lose much, of many that lose nothing */
	phases(&r, 40, same);
	phases(&r, 6, turns);
	check(&r, NULL, 0);
	begin(&r); /* always the same thread: it has more to do, with barriers or without */
	phases(&r, 10, one);
	check(&r, "imbalance-threads", 60 * MS);
	begin(&r); /* late as they wait for other ranks: what is left is that two have more to do */
	for (unsigned i = 0; i < 12; i++) {
		int64_t from = r.now;

		phases(&r, 1, turns);
		for (unsigned k = 1; k <= THREADS; k++)
			call(&r, OP_MPI, k, from + MS / 2, from + (k % 2 ? 5 : 1) * MS);
	}
	check(&r, "imbalance-threads", 24 * MS);
}

/* Of the run's tasks, one of so many has no region, as its end was not told. */
static void forget_regions(struct run *r, unsigned one_of)
{
	struct timeline *tl = r->sink.timeline;
	unsigned n = 0;

	for (uint32_t i = 0; i < tl->teams_count; i++)
		if (tl->teams[i].task && n++ % one_of == 0)
			tl->teams[i].region = 0;
}

static void test_not_known(void **state)
{
	static const int64_t last[THREADS] = {MS, MS, 5 * MS, MS};
	struct rec_loss loss = {.process = 1, .thread = 1, .count = 12};
	struct run r;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		begin(&r);
		region(&r, 1, last);
		if (i == 3)
			forget_regions(&r, 1);
		else if (i == 0) /* mode minimal */
			r.sink.timeline->implicit_tasks = false;
		else if (i == 1)
			r.sink.sink.loss(&r.sink.sink, &loss);
		else
			call(&r, OP_EXPLICIT, 2, r.now - MS, r.now);
		end(&r);
		assert_int_equal(r.diagnosis.count, 0);
		assert_true(abstains(&r, "imbalance-threads"));
		release(&r);
	}

	begin(&r); /* the program ended while a few were at work */
	for (unsigned i = 0; i < 20; i++)
		region(&r, 1, last);
	forget_regions(&r, 60);
	end(&r);
	assert_int_equal(r.diagnosis.count, 1);
	assert_string_equal(r.diagnosis.findings[0].rule->id, "imbalance-threads");
	release(&r);
}

/* Between regions of 1 ms the first thread computes for so long, in it waiting for another rank. */
static void serial(struct run *r, unsigned times, int64_t alone, int64_t waiting)
{
	for (unsigned i = 0; i < times; i++) {
		region(r, 1, even);
		if (waiting)
			call(r, OP_MPI, 1, r->now, r->now + waiting);
		r->now += alone + waiting;
	}
	region(r, 1, even);
}

static void test_serial(void **state)
{
	struct run r;

	(void)state;
	/* Start-up and end are long and none of it; four threads leave a quarter. */
	begin(&r);
	r.now += 20 * MS;
	serial(&r, 10, 4 * MS, 0);
	r.now += 20 * MS;
	end(&r);
	assert_int_equal(r.diagnosis.count, 1);
	assert_string_equal(r.diagnosis.findings[0].rule->id, "serial-between-regions");
	assert_int_equal(r.diagnosis.findings[0].gain, 30 * MS);
	assert_string_equal(r.diagnosis.findings[0].title.s,
			    "one thread computes alone between parallel regions for 40.00 ms, 44 % "
			    "of the run");
	release(&r);

	begin(&r); /* waits are not computing */
	serial(&r, 10, 4 * MS, 2 * MS);
	check(&r, "serial-between-regions", 30 * MS);
	begin(&r);
	serial(&r, 10, MS / 100, 2 * MS);
	check(&r, NULL, 0);

	begin(&r); /* nor is giving a device its work: the call may be the copy */
	for (unsigned i = 0; i < 10; i++) {
		region(&r, 1, even);
		call(&r, OP_SUBMIT, 1, r.now, r.now + 4 * MS);
		r.now += 4 * MS;
	}
	region(&r, 1, even);
	check(&r, NULL, 0);

	begin(&r); /* a short part: 9 % of the run, of which 3 quarters */
	serial(&r, 10, MS / 10, 0);
	check(&r, NULL, 0);
	begin(&r); /* what follows at once is one piece of work */
	serial(&r, 10, 40000, 0);
	check(&r, NULL, 0);
	begin(&r); /* once or twice is no pattern */
	serial(&r, 2, 40 * MS, 0);
	check(&r, NULL, 0);
}

/* Short regions are in no list, but were there: the team had work. */
static void test_short_regions(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 10; i++) {
		region(&r, 1, even);
		for (int64_t k = 0; k < 400; k++)
			call(&r, OP_PARALLEL, 1, r.now + k * 10000 + 8000,
			     r.now + k * 10000 + 10000);
		r.now += 4 * MS;
	}
	check(&r, NULL, 0);
}

/* Two threads of one process meet regions: none of them is known to be alone. */
static void test_two_meet(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	serial(&r, 10, 4 * MS, 0);
	team(&r, &(struct tl_team){.start = 2 * MS,
				   .end = 3 * MS,
				   .until = 3 * MS,
				   .region = ++r.id,
				   .thread = 4,
				   .threads = 2});
	end(&r);
	assert_int_equal(r.diagnosis.count, 0);
	assert_true(abstains(&r, "serial-between-regions"));
	release(&r);
}

/* ---- the table of regions ------------------------------------------------------------------- */

/* Stands in for strdup() (rules.cmake). */
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
static const char *refused; /* there is no memory for this text; NULL: for all there is */

char *__wrap_strdup(const char *text)
{
	return refused && strcmp(text, refused) == 0 ? NULL : __real_strdup(text);
}

static void test_table(void **state)
{
	static const int64_t last[THREADS] = {MS, MS, 5 * MS, MS};
	struct report report = {.table_count = 0};
	const struct table *t;
	struct run r;

	(void)state;
	for (unsigned i = 1; i < 3; i++)
		sites[i] = (struct t_site){
			.process = 1, .address = i, .function = "solve", .file = "a.c", .line = i};
	begin(&r);
	region(&r, 1, last);
	region(&r, 2, even);
	region(&r, 1, last);
	end(&r);
	assert_true(summary_regions(&report, &r.diagnosis));
	assert_int_equal(report.table_count, 1);
	t = report.tables[0];
	assert_int_equal(t->row_count, 2);
	/* place, regions, threads, time, waited, % of its threads, at the end: three of four wait for the last */
	assert_string_equal(t->cells[0].s, "solve a.c:1");
	assert_int_equal(t->cells[1].u, 2);
	assert_int_equal(t->cells[2].u, THREADS);
	assert_int_equal(t->cells[3].u, 10 * MS);
	assert_int_equal(t->cells[4].u, 24 * MS);
	assert_true(t->cells[5].f == 60);
	assert_int_equal(t->cells[6].u, 24 * MS);
	assert_string_equal(t->cells[7].s, "solve a.c:2");
	assert_int_equal(t->cells[11].u, 0);
	report_release(&report);

	report = (struct report){.table_count = 0};
	refused = "solve a.c:2";
	assert_false(summary_regions(&report, &r.diagnosis));
	refused = NULL;
	assert_int_equal(report.table_count, 0);
	report_release(&report);
	release(&r);
	memset(sites, 0, sizeof(sites));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_imbalance),
		cmocka_unit_test(test_imbalance_of_two),
		cmocka_unit_test(test_in_balance),
		cmocka_unit_test(test_want_of_processors),
		cmocka_unit_test(test_waits_inside),
		cmocka_unit_test(test_barriers_by_turns),
		cmocka_unit_test(test_barriers_of_a_site),
		cmocka_unit_test(test_barrier_at_the_end),
		cmocka_unit_test(test_barriers_in_balance),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_serial),
		cmocka_unit_test(test_short_regions),
		cmocka_unit_test(test_two_meet),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
