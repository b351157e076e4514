/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of threads, parallel regions, tasks, work sharing, waits and locks. */
#include <stdio.h>

#define KYMO_MARKER_LINKED
#include <kymo/marker.h>

#include "capture/openmp/openmp.h"

typedef union omp_data *data_t;
typedef const void *code_t;

/* ---- threads ---- */

static void thread_begin(int type, data_t thread)
{
	omp_point(OMP_OP_THREAD_BEGIN, NULL, OMP_VALUES_OF((uint64_t)type));
}

static void thread_end(data_t thread)
{
	omp_point(OMP_OP_THREAD_END, NULL, OMP_VALUES_OF(0));
	omp_thread_end();
}

/* ---- parallel regions and their implicit tasks ---- */

/*
 * The runtime keeps a word for each task: of explicit ones their number and what must be known when
 * they are switched, of implicit ones whether there is
 * something to end and whether others wait with it.
 */
enum { TASK_EXPLICIT = 1, TASK_UNTIED = 2, TASK_PRIMARY = 4, TASK_OPEN = 8, TASK_SHIFT = 4 };

enum { PARALLEL_THREADS = 2, PARALLEL_WORKED = 3 }; /* fields that are known later */

static enum omp_op parallel_op(int flags)
{
	return flags & OMP_PARALLEL_LEAGUE ? OMP_OP_TEAMS : OMP_OP_PARALLEL;
}

static void parallel_begin(data_t task, const struct omp_frame *frame, data_t parallel,
			   unsigned requested, int flags, code_t code)
{
	struct omp_region *r =
		omp_begin(parallel_op(flags), 0, code, OMP_VALUES_OF(requested, (uint32_t)flags));

	parallel->value = r ? r->id : 0;
}

static void parallel_end(data_t parallel, data_t task, int flags, code_t code)
{
	omp_end(omp_find(parallel_op(flags), 0));
}

/*
 * An implicit task is over when it reaches the barrier at the end of its region. What a worker does
 * until the runtime calls it out of there, maybe when the next region begins, is no part of it; how
 * long the others waited for the last is the end of the region less the end of their tasks. What the
 * primary thread did is part of the region's own record, which is on the same thread: a record of
 * its task as well is only made for who asks for it.
 */
static void implicit_task_begin(data_t parallel, data_t task, unsigned threads, unsigned number)
{
	enum omp_op op = number ? OMP_OP_IMPLICIT_TASK : OMP_OP_PRIMARY_TASK;
	struct omp_region *region;

	task->value = 0;
	if (!number) {
		region = omp_find(OMP_OP_PARALLEL, 0);
		if (region)
			region->values.v[PARALLEL_THREADS] = threads;
		if (region && threads > 1)
			task->value = TASK_PRIMARY;
	}
	if (!omp_wanted(op))
		return;
	omp_begin(op, (uintptr_t)task, NULL,
		  OMP_VALUES_OF(parallel ? parallel->value : 0, threads, number));
	task->value |= TASK_OPEN;
}

static void implicit_task_end(data_t task)
{
	struct omp_region *r;

	if (task->value & TASK_OPEN) {
		r = omp_find(OMP_OP_IMPLICIT_TASK, (uintptr_t)task);
		omp_end(r ? r : omp_find(OMP_OP_PRIMARY_TASK, (uintptr_t)task));
	}
	if (task->value & TASK_PRIMARY) {
		r = omp_find(OMP_OP_PARALLEL, 0);
		if (r)
			r->values.v[PARALLEL_WORKED] = omp_since(r);
	}
	task->value = 0;
}

static void implicit_task(int endpoint, data_t parallel, data_t task, unsigned threads,
			  unsigned number, int flags)
{
	if (flags & OMP_TASK_INITIAL)
		return;
	if (endpoint & OMP_BEGIN)
		implicit_task_begin(parallel, task, threads, number);
	if (endpoint & OMP_END)
		implicit_task_end(task);
}

/* ---- barriers and other waits ---- */

static enum omp_op sync_op(int kind)
{
	switch (kind) {
	case OMP_BARRIER:
	case OMP_BARRIER_EXPLICIT:
		return OMP_OP_BARRIER;
	case OMP_BARRIER_IMPLICIT:
	case OMP_BARRIER_WORKSHARE:
		return OMP_OP_BARRIER_WORKSHARE;
	case OMP_BARRIER_PARALLEL:
		return OMP_OP_BARRIER_PARALLEL;
	case OMP_TASKWAIT:
		return OMP_OP_TASKWAIT;
	case OMP_TASKGROUP:
		return OMP_OP_TASKGROUP;
	case OMP_SYNC_REDUCTION:
		return OMP_OP_REDUCTION;
	default:
		return OMP_OP_BARRIER_OTHER;
	}
}

static inline void region(enum omp_op op, int endpoint, code_t code, uint64_t kind)
{
	if (endpoint & OMP_BEGIN)
		omp_begin(op, 0, code, OMP_VALUES_OF(kind));
	if (endpoint & OMP_END)
		omp_end(omp_find(op, 0));
}

static void sync_region(int kind, int endpoint, data_t parallel, data_t task, code_t code)
{
	enum omp_op op = sync_op(kind);

	if (kind == OMP_BARRIER_PARALLEL) {
		if (endpoint & OMP_BEGIN)
			implicit_task_end(task);
		/* A worker sits in it between regions: no place to be seen in by default. */
		if (!omp_wanted(op) && !omp_find(op, 0))
			return;
	}
	region(op, endpoint, code, (uint64_t)kind);
}

static void sync_wait(int kind, int endpoint, data_t parallel, data_t task, code_t code)
{
	region(OMP_OP_WAIT, endpoint, code, (uint64_t)kind);
}

static void reduction(int kind, int endpoint, data_t parallel, data_t task, code_t code)
{
	region(OMP_OP_REDUCTION, endpoint, code, (uint64_t)kind);
}

static void masked(int endpoint, data_t parallel, data_t task, code_t code)
{
	region(OMP_OP_MASKED, endpoint, code, 0);
}

/* ---- work sharing ---- */

static enum omp_op work_op(int kind)
{
	static const uint8_t ops[] = {
		[OMP_LOOP] = OMP_OP_LOOP,
		[OMP_SECTIONS] = OMP_OP_SECTIONS,
		[OMP_SINGLE_EXECUTOR] = OMP_OP_SINGLE,
		[OMP_SINGLE_OTHER] = OMP_OP_SINGLE_OTHER,
		[OMP_WORKSHARE] = OMP_OP_WORKSHARE,
		[OMP_DISTRIBUTE] = OMP_OP_DISTRIBUTE,
		[OMP_TASKLOOP] = OMP_OP_TASKLOOP,
		[OMP_SCOPE] = OMP_OP_SCOPE,
	};

	return kind > 0 && (size_t)kind < sizeof(ops) ? ops[kind] : OMP_OP_LOOP;
}

static void work(int kind, int endpoint, data_t parallel, data_t task, uint64_t count, code_t code)
{
	enum omp_op op = work_op(kind);

	if (endpoint & OMP_BEGIN)
		omp_begin(op, 0, code, OMP_VALUES_OF((uint64_t)kind, count));
	if (endpoint & OMP_END)
		omp_end(omp_find(op, 0));
}

enum { DISPATCH_ITERATION = 1, DISPATCH_SECTION = 2 };

static void dispatch(data_t parallel, data_t task, int kind, union omp_data instance)
{
	const struct omp_chunk *chunk = instance.pointer;

	if (kind == DISPATCH_ITERATION || kind == DISPATCH_SECTION || !chunk)
		omp_point(OMP_OP_DISPATCH, NULL, OMP_VALUES_OF((uint64_t)kind, instance.value, 1));
	else
		omp_point(OMP_OP_DISPATCH, NULL,
			  OMP_VALUES_OF((uint64_t)kind, chunk->start, chunk->iterations));
}

/* ---- explicit tasks ---- */

static uint64_t task_number(data_t task)
{
	return task ? task->value >> TASK_SHIFT : 0;
}

static void task_create(data_t encountering, const struct omp_frame *frame, data_t task, int flags,
			int dependences, code_t code)
{
	static _Atomic uint64_t last;
	uint64_t number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;

	if (flags & OMP_TASK_INITIAL)
		return;
	task->value = number << TASK_SHIFT | (flags & OMP_TASK_EXPLICIT ? TASK_EXPLICIT : 0) |
		      (flags & OMP_TASK_UNTIED ? TASK_UNTIED : 0);
	omp_point(OMP_OP_TASK_CREATE, code,
		  OMP_VALUES_OF(number, (uint32_t)flags, dependences != 0));
}

/* What runs of a task on a thread until it ends or, untied, goes elsewhere. One that waits for others
 * stays open around those that the thread does meanwhile. */
static void task_schedule(data_t prior, int status, data_t next)
{
	struct omp_region *r;

	if (prior && (prior->value & TASK_EXPLICIT) && status != OMP_TASK_LATE_FULFILL &&
	    status != OMP_TASK_EARLY_FULFILL &&
	    ((status != OMP_TASK_SWITCH && status != OMP_TASK_YIELD) ||
	     (prior->value & TASK_UNTIED))) {
		r = omp_find(OMP_OP_TASK, task_number(prior));
		if (r)
			r->values.v[1] = (uint64_t)status;
		omp_end(r);
	}
	if (!next || !(next->value & TASK_EXPLICIT) || status == OMP_TASK_LATE_FULFILL)
		return;
	if (!omp_find(OMP_OP_TASK, task_number(next)))
		omp_begin(OMP_OP_TASK, task_number(next), NULL,
			  OMP_VALUES_OF(task_number(next), 0));
}

static void dependences(data_t task, const struct omp_dependence *on, int count)
{
	static const char types[][16] = {"?",      "in",   "out",     "inout", "mutexinoutset",
					 "source", "sink", "inoutset"};
	char text[256] = "";
	size_t n = 0;

	for (int i = 0; on && i < count && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %p", i ? ", " : "",
				      types[on[i].type > 0 && on[i].type < 8 ? on[i].type : 0],
				      on[i].variable.pointer);
	omp_point(OMP_OP_DEPENDENCES, NULL,
		  OMP_VALUES_OF(task_number(task), (uint32_t)count, (uintptr_t)text));
}

static void task_dependence(data_t source, data_t sink)
{
	omp_point(OMP_OP_TASK_DEPENDENCE, NULL,
		  OMP_VALUES_OF(task_number(source), task_number(sink)));
}

/* ---- locks ---- */

static void held_add(uint64_t wait_id)
{
	struct omp_held *held = omp_held();

	for (unsigned i = 0; held && i < OMP_HELD; i++) {
		if (held[i].wait_id)
			continue;
		held[i].wait_id = wait_id;
		held[i].since = tick_now();
		return;
	}
}

static uint64_t held_remove(uint64_t wait_id)
{
	struct omp_held *held = omp_held();

	for (unsigned i = 0; held && i < OMP_HELD; i++) {
		if (held[i].wait_id != wait_id)
			continue;
		held[i].wait_id = 0;
		return omp_ns(tick_now() - held[i].since);
	}
	return 0;
}

static enum omp_op mutex_op(int kind)
{
	static const uint8_t ops[] = {
		[OMP_MUTEX_LOCK] = OMP_OP_LOCK,
		[OMP_MUTEX_TEST_LOCK] = OMP_OP_LOCK,
		[OMP_MUTEX_NEST_LOCK] = OMP_OP_NEST_LOCK,
		[OMP_MUTEX_TEST_NEST_LOCK] = OMP_OP_NEST_LOCK,
		[OMP_MUTEX_CRITICAL] = OMP_OP_CRITICAL,
		[OMP_MUTEX_ATOMIC] = OMP_OP_ATOMIC,
		[OMP_MUTEX_ORDERED] = OMP_OP_ORDERED,
	};

	return kind > 0 && (size_t)kind < sizeof(ops) ? ops[kind] : OMP_OP_LOCK;
}

/* A test that fails is never acquired: nothing is opened for it. */
static bool is_test(int kind)
{
	return kind == OMP_MUTEX_TEST_LOCK || kind == OMP_MUTEX_TEST_NEST_LOCK;
}

static void mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t wait_id,
			  code_t code)
{
	if (!is_test(kind))
		omp_begin(mutex_op(kind), wait_id, code,
			  OMP_VALUES_OF(wait_id, (uint64_t)kind, hint, implementation));
}

static void mutex_acquired(int kind, uint64_t wait_id, code_t code)
{
	if (is_test(kind))
		omp_point(mutex_op(kind), code, OMP_VALUES_OF(wait_id, (uint64_t)kind));
	else
		omp_end(omp_find(mutex_op(kind), wait_id));
	held_add(wait_id);
}

static void mutex_released(int kind, uint64_t wait_id, code_t code)
{
	omp_point(OMP_OP_RELEASE, code,
		  OMP_VALUES_OF(wait_id, (uint64_t)kind, held_remove(wait_id)));
}

static void lock_init(int kind, unsigned hint, unsigned implementation, uint64_t wait_id,
		      code_t code)
{
	omp_point(OMP_OP_LOCK_INIT, code,
		  OMP_VALUES_OF(wait_id, (uint64_t)kind, hint, implementation));
}

static void lock_destroy(int kind, uint64_t wait_id, code_t code)
{
	omp_point(OMP_OP_LOCK_DESTROY, code, OMP_VALUES_OF(wait_id, (uint64_t)kind));
}

/* Taken or given back by who has it already: nothing more is told of that. */
static void nest_lock(int endpoint, uint64_t wait_id, code_t code)
{
	if (endpoint == OMP_BEGIN)
		omp_end(omp_find(OMP_OP_NEST_LOCK, wait_id));
	omp_point(OMP_OP_NEST_LOCK_SCOPE, code, OMP_VALUES_OF(wait_id, endpoint == OMP_BEGIN));
}

/* ---- the rest ---- */

static void flush(data_t thread, code_t code)
{
	omp_point(OMP_OP_FLUSH, code, OMP_VALUES_OF(0));
}

static void cancel(data_t task, int flags, code_t code)
{
	omp_point(OMP_OP_CANCEL, code, OMP_VALUES_OF((uint32_t)flags));
}

static void error(int severity, const char *message, size_t length, code_t code)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)(length < 255 ? length : 255),
		 message ? message : "");
	omp_point(OMP_OP_ERROR, code, OMP_VALUES_OF((uint64_t)severity, (uintptr_t)text));
}

/* omp_control_tool(): 0 is "as wanted". */
static int control_tool(uint64_t command, uint64_t modifier, void *argument, code_t code)
{
	if (command == OMP_CONTROL_START)
		kymo_resume();
	omp_point(OMP_OP_CONTROL_TOOL, code, OMP_VALUES_OF(command, modifier));
	if (command == OMP_CONTROL_PAUSE || command == OMP_CONTROL_END)
		kymo_pause();
	return 0;
}

const struct omp_callback omp_host_callbacks[] = {
	OMP_CALLBACK(OMP_THREAD_BEGIN, thread_begin, OMP_OP_THREAD_BEGIN),
	OMP_CALLBACK(OMP_THREAD_END, thread_end, OMP_OP_THREAD_END, OMP_OP_PARALLEL,
		     OMP_OP_IMPLICIT_TASK),
	OMP_CALLBACK(OMP_PARALLEL_BEGIN, parallel_begin, OMP_OP_PARALLEL, OMP_OP_TEAMS,
		     OMP_OP_IMPLICIT_TASK, OMP_OP_PRIMARY_TASK),
	OMP_CALLBACK(OMP_PARALLEL_END, parallel_end, OMP_OP_PARALLEL, OMP_OP_TEAMS,
		     OMP_OP_IMPLICIT_TASK),
	OMP_CALLBACK(OMP_IMPLICIT_TASK, implicit_task, OMP_OP_IMPLICIT_TASK, OMP_OP_PRIMARY_TASK),
	OMP_CALLBACK(OMP_SYNC_REGION, sync_region, OMP_OP_IMPLICIT_TASK, OMP_OP_PRIMARY_TASK,
		     OMP_OP_BARRIER, OMP_OP_BARRIER_WORKSHARE, OMP_OP_BARRIER_PARALLEL,
		     OMP_OP_BARRIER_OTHER, OMP_OP_TASKWAIT, OMP_OP_TASKGROUP),
	OMP_CALLBACK(OMP_SYNC_REGION_WAIT, sync_wait, OMP_OP_WAIT),
	OMP_CALLBACK(OMP_REDUCTION, reduction, OMP_OP_REDUCTION),
	OMP_CALLBACK(OMP_MASKED, masked, OMP_OP_MASKED),
	OMP_CALLBACK(OMP_WORK, work, OMP_OP_LOOP, OMP_OP_SECTIONS, OMP_OP_SINGLE,
		     OMP_OP_SINGLE_OTHER, OMP_OP_WORKSHARE, OMP_OP_DISTRIBUTE, OMP_OP_TASKLOOP,
		     OMP_OP_SCOPE),
	OMP_CALLBACK(OMP_DISPATCH, dispatch, OMP_OP_DISPATCH),
	OMP_CALLBACK(OMP_TASK_CREATE, task_create, OMP_OP_TASK_CREATE, OMP_OP_TASK,
		     OMP_OP_DEPENDENCES, OMP_OP_TASK_DEPENDENCE),
	OMP_CALLBACK(OMP_TASK_SCHEDULE, task_schedule, OMP_OP_TASK),
	OMP_CALLBACK(OMP_DEPENDENCES, dependences, OMP_OP_DEPENDENCES),
	OMP_CALLBACK(OMP_TASK_DEPENDENCE, task_dependence, OMP_OP_TASK_DEPENDENCE),
	OMP_CALLBACK(OMP_MUTEX_ACQUIRE, mutex_acquire, OMP_OP_LOCK, OMP_OP_NEST_LOCK,
		     OMP_OP_CRITICAL, OMP_OP_ATOMIC, OMP_OP_ORDERED),
	OMP_CALLBACK(OMP_MUTEX_ACQUIRED, mutex_acquired, OMP_OP_LOCK, OMP_OP_NEST_LOCK,
		     OMP_OP_CRITICAL, OMP_OP_ATOMIC, OMP_OP_ORDERED, OMP_OP_RELEASE),
	OMP_CALLBACK(OMP_MUTEX_RELEASED, mutex_released, OMP_OP_RELEASE),
	OMP_CALLBACK(OMP_LOCK_INIT, lock_init, OMP_OP_LOCK_INIT),
	OMP_CALLBACK(OMP_LOCK_DESTROY, lock_destroy, OMP_OP_LOCK_DESTROY),
	OMP_CALLBACK(OMP_NEST_LOCK, nest_lock, OMP_OP_NEST_LOCK_SCOPE, OMP_OP_NEST_LOCK),
	OMP_CALLBACK(OMP_FLUSH, flush, OMP_OP_FLUSH),
	OMP_CALLBACK(OMP_CANCEL, cancel, OMP_OP_CANCEL),
	OMP_CALLBACK(OMP_ERROR, error, OMP_OP_ERROR),
	OMP_CALLBACK(OMP_CONTROL_TOOL, control_tool, OMP_OP_CONTROL_TOOL),
	{0, {0}, NULL},
};
