/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for CUDA: the driver loads the library that CUDA_INJECTION64_PATH names while the
 * program initialises it, and calls InitializeInjection(). From there CUPTI is found, subscribed to
 * and told what is wanted. Whatever fails is said in the trace; the program runs on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/cuda/profile.h"
#include "capture/cuda/twin.h"

/*
 * CUPTI is in use while RUNNING. Once nothing is wanted it is let go of as a whole: LEAVING until a thread of the program leaves
 * a call, which is where CUPTI may be finalized. DETACHED: as if it had never been there, until something is wanted again.
 */
enum { NOT_STARTED, RUNNING, LEAVING, FINALIZING, DETACHED, CLOSED, ASIDE };
enum { REST_NS = 50000000, REST_LOOKS = 25, LISTEN_LOOKS = 2500 /* for 250 ms and more */ };

static _Atomic int state;
static pthread_mutex_t collect_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner;
static void *subscriber;
static struct cap_domain *domains[CUDA_APIS];
/* Of an op's calls: whether their callbacks are on. */
static struct listening {
	_Atomic uint32_t frameless; /* that go on and have no frame */
	_Atomic bool wanted;
	_Atomic bool on; /* and stay so while one goes on that comes in now */
	bool open;       /* one that has a frame goes on */
	bool told;       /* CUPTI was told that they are on */
} * listening[CUDA_APIS];
static uint64_t kinds;       /* activity kinds that are on */
static uint64_t kinds_asked; /* ... that are wanted */
static _Atomic bool
	rest_due; /* some are not wanted any more: what is under way has a moment for its end */
static _Atomic int updates; /* asked for and not yet done */
enum { NOT_YET, BUSY, IDLE, IDLE_LONG };
static _Atomic int
	idle; /* whether nothing is wanted any more, and the collector has looked since */
static _Atomic bool managed;
static _Atomic int *driver_use; /* by op: whether the program itself launches kernels by it */
enum { DRIVER_ON_TRIAL, DRIVER_UNUSED, DRIVER_USED };
#define TRIAL 256u /* launches after which it shows what of the driver the program uses itself */
static _Atomic uint32_t inner_launches; /* by the driver, begun within some by the runtime */
_Atomic bool cuda_inner_launches, cuda_taking_all;

int InitializeInjection(void) __attribute__((visibility("default")));

bool cuda_alive(void)
{
	const int s = atomic_load(&state);

	return s >= RUNNING && s <= CLOSED && getpid() == owner;
}

bool cuda_attached(void)
{
	const int s = atomic_load(&state);

	return s == RUNNING || s == LEAVING;
}

static const char *error_text(cupti_result r)
{
	const char *text = NULL;

	return cupti.GetResultString(r, &text) == CUPTI_OK && text ? text : "unknown error";
}

/* ---- what CUPTI tells ---- */

static void resource(uint32_t cbid, const struct cupti_resource *r)
{
	uint32_t context, device;

	if (cbid == CUPTI_CONTEXT_CREATED && cupti.GetContextId(r->context, &context) == CUPTI_OK &&
	    cupti.GetDeviceId(r->context, &device) == CUPTI_OK)
		cuda_device_context(context, device, r->context);
	if (cbid == CUPTI_MODULE_UNLOAD)
		cuda_flight_code_unloaded();
	cuda_profile_resource(cbid, r);
}

static void trouble(const struct cupti_state *s)
{
	cap_note(3, "cuda", "CUPTI reports: %s: %s", error_text(s->result),
		 s->message ? s->message : "");
}

/* Work that was waited for after the last flush, in handlers that run at exit. */
static void flush_late(int domain, uint32_t cbid, const struct cupti_callback *data)
{
	uint32_t op;

	if (data->site == CUPTI_EXIT && domain == CUPTI_DRIVER && cuda_alive() &&
	    cuda_op_of(CUDA_DRIVER, cbid, &op) &&
	    (cuda_models[CUDA_DRIVER].desc->ops[op].flags & KYMO_OP_WAITS)) {
		cupti.ActivityFlushAll(0);
		cuda_flights_tell(0, CUDA_TELL_OLD);
	}
}

/* Kernels are counted between the tools' callbacks at entry and at exit of a launch. */
static void range_call(int domain, uint32_t cbid, const struct cupti_callback *data, bool enter)
{
	uint32_t op;

	if (domain == CUPTI_DRIVER && (data->site == CUPTI_ENTER) == enter &&
	    cuda_op_of(CUDA_DRIVER, cbid, &op))
		cuda_range_call(cuda_range_role(op), enter, data);
}

/* Twins run at entry of a launch, when it has been recorded that it began; what calls did is looked at after them. */
static __attribute__((noinline, cold)) void twin_call(int domain, uint32_t cbid,
						      const struct cupti_callback *data)
{
	uint32_t op;

	if (domain == CUPTI_DRIVER && cuda_op_of(CUDA_DRIVER, cbid, &op))
		cuda_twin_call(op, data->site == CUPTI_ENTER, data);
}

static inline bool range_active(void)
{
	return atomic_load_explicit(&cuda_range_active, memory_order_relaxed);
}

static void detach(void);

static __attribute__((noinline, cold)) void call_at_end(int domain, uint32_t cbid,
							const struct cupti_callback *data)
{
	const int s = atomic_load(&state);

	if (s == CLOSED)
		flush_late(domain, cbid, data);
	else if (s == LEAVING && data->site == CUPTI_EXIT)
		detach();
}

/* A call while kernels are counted, or lines of some are wanted. */
static __attribute__((noinline, cold)) void call_beside(int domain, uint32_t cbid, const void *data,
							const void *sp)
{
	const bool twins = cuda_twin_wanted();

	if (twins && cuda_twin_own(domain, cbid, data))
		return;
	if (range_active())
		range_call(domain, cbid, data, false);
	cuda_call(domain == CUPTI_DRIVER ? CUDA_DRIVER : CUDA_RUNTIME, cbid, data, sp);
	if (twins)
		twin_call(domain, cbid, data);
	if (range_active())
		range_call(domain, cbid, data, true);
}

static void on_callback(void *user, int domain, uint32_t cbid, const void *data)
{
	int *const error = &errno, saved = *error;

	if (cap_likely(domain == CUPTI_DRIVER || domain == CUPTI_RUNTIME)) {
		if (cap_unlikely(range_active() || cuda_twin_wanted()))
			call_beside(domain, cbid, data, cap_sp());
		else
			cuda_call(domain == CUPTI_DRIVER ? CUDA_DRIVER : CUDA_RUNTIME, cbid, data,
				  cap_sp());
		if (cap_unlikely(atomic_load_explicit(&state, memory_order_relaxed) != RUNNING))
			call_at_end(domain, cbid, data);
	} else if (domain == CUPTI_RESOURCE) {
		resource(cbid, data);
	} else if (domain == CUPTI_STATE) {
		trouble(data);
	}
	*error = saved;
}

/* ---- what is wanted ---- */

/* The backend needs these calls whoever wants their records. */
static bool role_needed(const struct cuda_role *r, uint16_t flags, bool driver, uint32_t activities)
{
	switch ((enum cuda_role_kind)r->role) {
	case CUDA_ROLE_ALLOCATE:
	case CUDA_ROLE_ALLOCATE_PITCH:
	case CUDA_ROLE_FREE:
		return activities & CAP_ACTIVITY_ALLOCATION;
	case CUDA_ROLE_WAIT_QUEUE:
	case CUDA_ROLE_WAIT_EVENT:
	case CUDA_ROLE_WAIT_DEVICE:
	case CUDA_ROLE_BARRIER:
	case CUDA_ROLE_RECORD:
		return activities & CAP_ACTIVITY_SYNC;
	case CUDA_ROLE_LOAD:
		return activities & CAP_ACTIVITY_CODE_OBJECT;
	case CUDA_ROLE_QUEUE:
	case CUDA_ROLE_QUEUE_END:
		return activities != 0;
	case CUDA_ROLE_FUNCTION:
		return activities & CAP_ACTIVITY_DISPATCH;
	case CUDA_ROLE_CAPTURE:
	case CUDA_ROLE_CAPTURE_END:
		return activities & (CAP_ACTIVITY_DISPATCH | CAP_ACTIVITY_COPY);
	case CUDA_ROLE_START:
	case CUDA_ROLE_STOP:
		return true;
	case CUDA_ROLE_LAUNCH:
	case CUDA_ROLE_NONE:
		break;
	}
	return driver && (flags & KYMO_OP_SUBMITS) &&
	       (activities & (CAP_ACTIVITY_DISPATCH | CAP_ACTIVITY_COPY));
}

/* Buffers that want it, now or when they go on. */
static uint64_t buffers_of(const struct cap_op *o)
{
	return atomic_load(&o->buffers) | atomic_load(&o->paused);
}

/*
 * Others want what a call submits than the call itself: in pauses of those who want the call it is looked at for
 * them. This does not change with the pauses, so that nothing is missed as one begins.
 */
static bool submits_for_others(const struct cap_op *o)
{
	const struct cap_op *work[] = {&core_dispatch_ops[DISPATCH_OP_LAUNCH],
				       &core_copy_ops[COPY_OP_READ], &core_copy_ops[COPY_OP_WRITE],
				       &core_copy_ops[COPY_OP_COPY], &core_copy_ops[COPY_OP_FILL]};
	const uint64_t own = buffers_of(o);

	for (unsigned i = 0; own && i < sizeof(work) / sizeof(work[0]); i++)
		if ((buffers_of(work[i]) & ~own) || atomic_load(&work[i]->callbacks))
			return true;
	return false;
}

static void keep_update(enum cuda_api api, uint32_t activities)
{
	const struct cuda_model *m = &cuda_models[api];

	for (uint32_t op = 0; op < m->desc->op_count; op++) {
		bool need = role_needed(&m->roles[op], m->desc->ops[op].flags, api == CUDA_DRIVER,
					activities) ||
			    ((m->desc->ops[op].flags & KYMO_OP_SUBMITS) &&
			     submits_for_others(&m->caps[op]));

		if (need != (atomic_load(&m->caps[op].keep) != 0))
			cap_require_wrapper(domains[api], op, need);
	}
}

/* Or will be soon: CUPTI goes on with its records, which must be told from those that are wanted. */
static bool op_wanted(const struct cap_op *o)
{
	return atomic_load(&o->callbacks) || atomic_load(&o->buffers) || atomic_load(&o->paused);
}

/*
 * A callback of the driver costs each launch some tenths of a microsecond, and inside a launch by
 * the runtime it tells nothing new. So each of the driver's launching functions is listened to only
 * at first, when the program itself uses it, when the runtime's are not recorded (by all who record the
 * driver's), or in mode full.
 */
static bool launches_needed(void)
{
	const struct cuda_model *r = &cuda_models[CUDA_RUNTIME], *d = &cuda_models[CUDA_DRIVER];
	uint64_t by_runtime = UINT64_MAX, by_driver = 0;
	bool needed = false;

	for (uint32_t op = 0; op < r->desc->op_count; op++)
		if (r->roles[op].role == CUDA_ROLE_LAUNCH) {
			needed |= !op_wanted(&r->caps[op]);
			by_runtime &= buffers_of(&r->caps[op]);
		}
	for (uint32_t op = 0; op < d->desc->op_count; op++) {
		needed |= (d->desc->ops[op].flags & KYMO_OP_CHATTY) && op_wanted(&d->caps[op]);
		if (d->roles[op].role == CUDA_ROLE_LAUNCH)
			by_driver |= buffers_of(&d->caps[op]);
	}
	needed |= (by_driver & ~by_runtime) != 0;
	atomic_store(&cuda_inner_launches, needed);
	return needed;
}

static void calls_wanted(enum cuda_api api)
{
	const bool launches = api == CUDA_RUNTIME || launches_needed();
	const struct cuda_model *m = &cuda_models[api];

	for (uint32_t op = 0; op < m->desc->op_count; op++) {
		struct listening *l = &listening[api][op];
		const struct cap_op *o = &m->caps[op];
		bool want = op_wanted(o) || atomic_load(&o->keep);

		if (m->roles[op].role == CUDA_ROLE_LAUNCH && !launches &&
		    atomic_load(&driver_use[op]) == DRIVER_UNUSED)
			want = atomic_load(&o->callbacks) != NULL;
		want |= api == CUDA_DRIVER && cuda_range_counting() && cuda_range_role(op);
		want |= api == CUDA_DRIVER && cuda_twin_wanted() && cuda_twin_role(op);
		atomic_store(&l->wanted, want);
		if (!want)
			atomic_store(&l->on, false);
		l->open = false;
	}
}

static void note_open(const struct cap_op *op, void *unused)
{
	for (int api = 0; api < CUDA_APIS; api++)
		if (op >= cuda_models[api].caps &&
		    op < cuda_models[api].caps + cuda_models[api].desc->op_count)
			listening[api][op - cuda_models[api].caps].open = true;
}

static void note_any(const struct cap_op *op, void *any)
{
	*(bool *)any |= cuda_is_call(op);
}

static bool calls_open(void)
{
	bool any = false;

	cap_open_calls(note_any, &any);
	return any;
}

static void listen(enum cuda_api api)
{
	const int domain = api == CUDA_DRIVER ? CUPTI_DRIVER : CUPTI_RUNTIME;
	const struct cuda_model *m = &cuda_models[api];

	for (uint32_t op = 0; op < m->desc->op_count; op++) {
		struct listening *l = &listening[api][op];
		const bool on = atomic_load(&l->wanted) || l->open || atomic_load(&l->frameless);

		/* A CUPTI older than the model does not know the newest functions. */
		if (on != l->told)
			cupti.EnableCallback(on, subscriber, domain, m->cbids[op]);
		l->told = on;
		atomic_store(&l->on, on);
	}
}

/*
 * CUPTI tells of the end of a call only if it is listened to then; and of a thread that was in one when it
 * ceased to be, CUPTI 13 gives all later calls one correlation number, or tells of none any more. So nobody may be in a
 * call of what is switched off. Who was on his way in finds that it is not on, and asks for it
 * (cuda_call_listen()) and stays until it is; the last one who leaves what nobody wants has it switched off.
 */
static void callbacks_update(void)
{
	for (int api = 0; api < CUDA_APIS; api++)
		calls_wanted(api);
	cap_open_calls(note_open, NULL);
	for (int api = 0; api < CUDA_APIS; api++)
		listen(api);
}

void cuda_modules_wanted(bool on)
{
	cupti.EnableCallback(on, subscriber, CUPTI_RESOURCE, CUPTI_MODULE_LOADED);
}

static bool by_graph(void)
{
	const char *set = secure_getenv("KYMO_CUDA_GRAPHS");

	return set && strcmp(set, "graph") == 0;
}

static uint64_t kinds_wanted(uint32_t activities)
{
	uint64_t want = 0;

	/* CUPTI 13 counts nothing of instructions where kernels are recorded side by side, nor where they are not recorded. */
	if (cuda_sass_in_use() || kinds >> CUPTI_KERNEL & 1)
		want |= 1ull << CUPTI_KERNEL;
	else if (activities & CAP_ACTIVITY_DISPATCH)
		want |= 1ull << CUPTI_CONCURRENT_KERNEL;
	if ((activities & CAP_ACTIVITY_DISPATCH) && by_graph())
		want |= 1ull << CUPTI_GRAPH_TRACE;
	if (activities & CAP_ACTIVITY_COPY) {
		want |= 1ull << CUPTI_MEMCPY | 1ull << CUPTI_MEMCPY2 | 1ull << CUPTI_MEMSET;
		if (atomic_load(&managed))
			want |= 1ull << CUPTI_UNIFIED_MEMORY_COUNTER;
	}
	if (activities & CAP_ACTIVITY_CODE_OBJECT)
		want |= 1ull << CUPTI_JIT;
	if (activities & CAP_ACTIVITY_ALLOCATION)
		want |= 1ull << CUPTI_MEMORY_POOL;
	if (want)
		want |= 1ull << CUPTI_DEVICE | 1ull << CUPTI_CONTEXT | 1ull << CUPTI_OVERHEAD;
	return want;
}

/*
 * None is switched off while CUPTI is in use: of threads that are in a launch just then, CUPTI 13 has no records any more, whatever
 * is switched on later (seen on an H200). What nobody wants is passed over.
 */
static void kinds_update(uint32_t activities)
{
	const uint64_t asked = kinds_wanted(activities), want = asked & ~kinds;

	if (kinds_asked & ~asked)
		atomic_store(&rest_due, true);
	kinds_asked = asked;
	for (int kind = 0; kind < 64; kind++) {
		cupti_result r;

		if (!(want >> kind & 1))
			continue;
		r = cupti.ActivityEnable(kind);
		/* Not every version that is supported knows JIT. */
		if (r != CUPTI_OK && kind != CUPTI_JIT)
			cap_note(2, "cuda", "CUPTI refuses activity records of kind %d: %s", kind,
				 error_text(r));
	}
	kinds |= want;
}

static bool anything_wanted(uint32_t activities)
{
	for (int api = 0; api < CUDA_APIS && !activities; api++)
		for (uint32_t op = 0; op < cuda_models[api].desc->op_count && !activities; op++)
			activities = op_wanted(&cuda_models[api].caps[op]);
	return activities != 0;
}

static bool attach_again(void);

static void update(uint32_t activities)
{
	const bool any = anything_wanted(activities);

	if (atomic_load(&state) == FINALIZING)
		return;
	for (int api = 0; api < CUDA_APIS; api++)
		keep_update(api, activities);
	/* Before the first recording the program's own starts of one are listened to. */
	if (any ? atomic_load(&state) != DETACHED || attach_again()
		: atomic_load(&idle) == NOT_YET) {
		atomic_store(&idle, any ? BUSY : NOT_YET);
		cuda_sass_update(kinds);
		callbacks_update();
		kinds_update(activities);
	} else if (!any && atomic_load(&idle) == BUSY) {
		kinds_asked = 0;
		atomic_store(&rest_due, true);
		atomic_store(&idle, IDLE);
		cuda_collector_wake();
	}
}

/* `done`: how many of those that were asked for are. */
static void updates_do(int done)
{
	while (done == 0 || atomic_fetch_sub(&updates, done) != done) {
		done = atomic_load(&updates);
		update(atomic_load(&cap_activities));
	}
}

/*
 * One thread at a time, without a lock: CUPTI may wait for its own thread, which may be on its way
 * here. Who comes meanwhile makes the one at work do it all once more.
 */
static void wanted(uint32_t activities)
{
	if (!cuda_alive() || atomic_fetch_add(&updates, 1) != 0)
		return;
	cap_guard_enter();
	updates_do(0);
	cap_guard_leave();
}

/* By the recorder. What is wanted again stops the leaving, or waits until it is over. */
static void recorder_wants(uint32_t activities)
{
	int leaving = LEAVING;

	while (anything_wanted(activities) && cuda_alive() &&
	       !atomic_compare_exchange_strong(&state, &leaving, RUNNING) &&
	       leaving == FINALIZING) {
		leaving = LEAVING;
		sched_yield();
	}
	wanted(activities);
}

void cuda_launches_changed(void)
{
	wanted(atomic_load(&cap_activities));
}

void cuda_driver_used(uint32_t op)
{
	if (atomic_load(&driver_use[op]) != DRIVER_USED &&
	    atomic_exchange(&driver_use[op], DRIVER_USED) == DRIVER_UNUSED)
		wanted(atomic_load(&cap_activities));
}

void cuda_driver_suspected(void)
{
	static _Atomic bool all;
	const struct cuda_model *m = &cuda_models[CUDA_DRIVER];

	if (atomic_load_explicit(&all, memory_order_relaxed))
		return;
	for (uint32_t op = 0; op < m->desc->op_count; op++)
		if (m->roles[op].role == CUDA_ROLE_LAUNCH)
			cuda_driver_used(op);
	atomic_store(&all, true); /* none becomes unused again */
}

/* What is not used until now is not used. */
static void trial_over(void)
{
	const uint32_t count = cuda_models[CUDA_DRIVER].desc->op_count;

	for (uint32_t op = 0; op < count; op++) {
		int from = DRIVER_ON_TRIAL;

		atomic_compare_exchange_strong(&driver_use[op], &from, DRIVER_UNUSED);
	}
	wanted(atomic_load(&cap_activities));
}

void cuda_driver_inner_launch(void)
{
	if (atomic_fetch_add_explicit(&inner_launches, 1, memory_order_relaxed) == TRIAL)
		trial_over();
}

/* ---- calls that go on ---- */

/*
 * Another thread may be at work on what is wanted, which it does once more; the call may not end before that. Not
 * for ever: that thread may be waiting in CUPTI for something that this one holds.
 */
static __attribute__((noinline, cold)) void listen_again(struct listening *l)
{
	const struct timespec look = {0, 100000};
	const struct cap_thread *t;

	wanted(atomic_load(&cap_activities));
	t = cap_thread_current;
	if (t && t->magic == CAP_THREAD_MAGIC && t->guard) /* this thread is the one */
		return;
	for (int i = 0; i < LISTEN_LOOKS && !atomic_load(&l->on) && atomic_load(&updates) != 0 &&
			atomic_load(&state) == RUNNING;
	     i++)
		syscall(SYS_nanosleep, &look, NULL); /* no point of cancellation */
}

void cuda_call_listen(enum cuda_api api, uint32_t op)
{
	if (cap_unlikely(!atomic_load(&listening[api][op].on)))
		listen_again(&listening[api][op]);
}

void cuda_call_open(enum cuda_api api, uint32_t op)
{
	atomic_fetch_add(&listening[api][op].frameless, 1);
	cuda_call_listen(api, op);
}

void cuda_call_close(enum cuda_api api, uint32_t op)
{
	struct listening *l = &listening[api][op];

	if (atomic_fetch_sub(&l->frameless, 1) == 1 && !atomic_load(&l->wanted))
		wanted(atomic_load(&cap_activities));
}

static bool managed_configure(void)
{
	static const uint32_t counters[] = {CUPTI_COUNTER_HTOD, CUPTI_COUNTER_DTOH,
					    CUPTI_COUNTER_CPU_FAULTS, CUPTI_COUNTER_GPU_FAULTS,
					    CUPTI_COUNTER_DTOD};
	const uint32_t count = sizeof(counters) / sizeof(counters[0]);
	struct cupti_counter_config config[sizeof(counters) / sizeof(counters[0])];
	cupti_result r;

	for (uint32_t i = 0; i < count; i++)
		config[i] = (struct cupti_counter_config){1 /* this process */, counters[i], 0, 1};
	r = cupti.ActivityConfigureUnifiedMemoryCounter(config, count);
	if (r != CUPTI_OK)
		cap_note(2, "cuda", "migrations of unified memory are not recorded: %s",
			 error_text(r));
	return r == CUPTI_OK;
}

/* Counting what unified memory does is dear, so it begins when a program has such memory. */
void cuda_managed_memory_seen(void)
{
	if (cap_wants(CAP_ACTIVITY_COPY) && !atomic_exchange(&managed, true) && cuda_alive() &&
	    managed_configure())
		wanted(atomic_load(&cap_activities));
}

/* ---- flush, end, fork ---- */

static void note_losses(void)
{
	if (cuda_dropped())
		cap_note(2, "cuda", "CUPTI dropped %llu records of device work",
			 (unsigned long long)cuda_dropped());
	if (cuda_submissions_missed())
		cap_note(1, "cuda", "%llu pieces of device work are recorded without their call",
			 (unsigned long long)cuda_submissions_missed());
	if (cuda_submissions_shared())
		cap_note(
			1, "cuda",
			"%llu pieces of device work are recorded without their call, because CUPTI "
			"gave several calls their number",
			(unsigned long long)cuda_submissions_shared());
}

/* From a thread of Kymo's: the program may be ending, after which CUPTI must not be called. */
uint32_t cuda_collect(enum cuda_tell tell)
{
	const bool all = tell == CUDA_TELL_LAST || tell == CUDA_TELL_NOTHING;
	uint32_t before, left = 0;

	pthread_mutex_lock(&collect_lock);
	if (cuda_attached()) {
		cap_guard_enter();
		before = cuda_flights_gather();
		atomic_store(&cuda_taking_all, all);
		cupti.ActivityFlushAll(all);
		atomic_store(&cuda_taking_all, false);
		left = cuda_flights_tell(all || cuda_buffers_given() ? 0 : before, tell);
		cap_guard_leave();
	}
	pthread_mutex_unlock(&collect_lock);
	return left;
}

/* What was under way when a recording ended has a moment for its end. */
static void collect_rest(void)
{
	const struct timespec moment = {0, REST_NS / REST_LOOKS};

	for (int i = 0; i < REST_LOOKS && cuda_collect(CUDA_TELL_ALL); i++)
		nanosleep(&moment, NULL);
	cuda_collect(CUDA_TELL_NOTHING);
}

static void flush(uint64_t deadline)
{
	if (!cuda_alive())
		return;
	/* At the very end buffers with work that is still running are taken too. */
	if (atomic_load(&cap_ending))
		cuda_collect(CUDA_TELL_LAST);
	else if (atomic_exchange(&rest_due, false))
		collect_rest();
	else
		cuda_collect(CUDA_TELL_ALL);
	cuda_objects_complete();
	cuda_clock_sync();
	cuda_twin_tell();
	if (atomic_load(&cap_ending)) {
		cuda_submissions_age(UINT64_MAX);
		note_losses();
	}
}

/* The last that is said of device work; `cuda_alive()` still holds. */
static void complete(void)
{
	cuda_submissions_age(UINT64_MAX);
	cuda_objects_complete();
	cuda_clock_sync();
	cuda_twin_tell();
	note_losses();
}

/* Forever: what is wanted from now on changes nothing. Another thread may be at it for a moment. */
static void updates_end(void)
{
	int none = 0;

	while (!atomic_compare_exchange_weak(&updates, &none, 1)) {
		none = 0;
		sched_yield();
	}
}

static void kinds_off(void)
{
	for (int kind = 0; kind < 64; kind++)
		if (kinds >> kind & 1)
			cupti.ActivityDisable(kind);
	cupti.ActivityFlushAll(true);
}

/*
 * In the callback at the end of a call of the program's. It fails where the collector, or a change of what is wanted, is at work:
 * the end of the next call will do.
 */
static void detach(void)
{
	int none = 0, leaving = LEAVING;

	if (pthread_mutex_trylock(&collect_lock) != 0)
		return;
	if (!atomic_compare_exchange_strong(&updates, &none, 1)) {
		pthread_mutex_unlock(&collect_lock);
		return;
	}
	cap_guard_enter();
	if (atomic_compare_exchange_strong(&state, &leaving, FINALIZING)) {
		kinds_off();
		cupti.Finalize();
		cuda_buffers_forget();
		atomic_store(&updates, 0); /* nothing is wanted; who wants something now waits */
		atomic_store(&state, DETACHED);
	} else {
		updates_do(1);
	}
	cap_guard_leave();
	pthread_mutex_unlock(&collect_lock);
}

/*
 * The collector looks. Of calls that go on since the recording the end is to be told. Counting and sampling of kernels do not
 * begin twice in a process.
 */
void cuda_detach_when_idle(void)
{
	int at = IDLE, running = RUNNING;

	if (atomic_load(&idle) < IDLE || atomic_load(&state) != RUNNING)
		return;
	cuda_collector_wake();
	if (!atomic_compare_exchange_strong(&idle, &at, IDLE_LONG) && at == IDLE_LONG &&
	    !cuda_profiling() && !calls_open())
		atomic_compare_exchange_strong(&state, &running, LEAVING);
}

/*
 * CUPTI is as if Kymo had never used it: no subscriber, nothing switched on, no buffer of ours, its own
 * clock. Device work that is done is taken before; what still runs comes without times.
 */
bool cuda_leave(void)
{
	int was = DETACHED;

	if (!cuda_alive())
		return false;
	updates_end();
	if (atomic_compare_exchange_strong(&state, &was, ASIDE))
		return true;
	cuda_profile_end();
	cuda_collect(CUDA_TELL_NOTHING);
	pthread_mutex_lock(&collect_lock);
	was = atomic_load(&state);
	if (!cuda_attached() || !atomic_compare_exchange_strong(&state, &was, CLOSED)) {
		pthread_mutex_unlock(&collect_lock);
		return false;
	}
	cap_guard_enter();
	kinds_off();
	cupti.Unsubscribe(subscriber);
	cupti.ActivityRegisterTimestampCallback(cuda_default_clock);
	cap_guard_leave();
	complete();
	atomic_store(&state, ASIDE);
	pthread_mutex_unlock(&collect_lock);
	return true;
}

/* CUPTI must not be called any more once destructors run: this is the last moment. */
static void at_exit(void)
{
	int saved = errno;

	if (cuda_attached() && cuda_alive()) {
		cuda_profile_end();
		cuda_collect(CUDA_TELL_LAST);
		pthread_mutex_lock(&collect_lock);
		atomic_store(&state, CLOSED);
		pthread_mutex_unlock(&collect_lock);
		complete();
	}
	errno = saved;
}

/* CUDA does not work in a child of a process that has initialised it: nothing is asked of it. */
static void fork_child(void)
{
	atomic_store(&updates, 0);
	pthread_mutex_init(&collect_lock, NULL);
	cuda_objects_fork_child();
	cuda_effects_fork_child();
	cuda_submissions_fork_child();
	cuda_flights_fork_child();
	cuda_profile_fork_child();
	cuda_twin_fork_child();
}

/* ---- start ---- */

static struct cap_domain_info infos[CUDA_APIS];

static void note_other(const char *name)
{
	const char *chained = secure_getenv("KYMO_CUDA_INJECTION");

	if (!name || !*name)
		name = chained && *chained ? chained : "another tool in this process";
	cap_note(2, "cuda",
		 "CUDA is not traced: only one tool can use CUPTI, and %s is using it; "
		 "run without it",
		 name);
}

static bool subscribe(void)
{
	char other[128] = "";
	struct cupti_subscriber_params params = {sizeof(params), "Kymo", other, sizeof(other)};
	cupti_result r;

	if (cupti.Subscribe_v2)
		r = cupti.Subscribe_v2(&subscriber, on_callback, NULL, &params);
	else
		r = cupti.Subscribe(&subscriber, on_callback, NULL);
	if (r == CUPTI_OK)
		return true;
	if (r == CUPTI_MULTIPLE_SUBSCRIBERS || r == CUPTI_MAX_LIMIT_REACHED)
		note_other(other);
	else
		cap_note(2, "cuda", "CUDA is not traced: CUPTI refuses: %s", error_text(r));
	return false;
}

static bool activities_prepare(void)
{
	cupti_result r = cupti.ActivityRegisterTimestampCallback(cuda_clock);

	if (r == CUPTI_OK)
		r = cupti.ActivityRegisterCallbacks(cuda_buffer_request, cuda_buffer_complete);
	if (r != CUPTI_OK)
		cap_note(2, "cuda", "CUDA is not traced: CUPTI refuses activity records: %s",
			 error_text(r));
	return r == CUPTI_OK;
}

static bool subscribe_prepared(void)
{
	if (!subscribe())
		return false;
	if (!activities_prepare()) {
		cupti.Unsubscribe(subscriber);
		return false;
	}
	return true;
}

static void resources_listen(void)
{
	cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_CONTEXT_CREATED);
	cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_CONTEXT_DESTROY);
	cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_INITIALIZED);
	cupti.EnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_MODULE_UNLOAD);
	cupti.EnableCallback(1, subscriber, CUPTI_STATE, CUPTI_FATAL_ERROR);
	cupti.EnableCallback(1, subscriber, CUPTI_STATE, CUPTI_ERROR_STATE);
}

/* False: it was said why not. Numbers of calls, contexts and streams begin anew. */
static bool attach_again(void)
{
	size_t dropped;

	if (!subscribe_prepared())
		return false;
	cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped); /* when it was left */
	cuda_calls_forget();
	cuda_submissions_forget();
	cuda_flights_forget();
	cuda_objects_forget();
	for (int api = 0; api < CUDA_APIS; api++)
		for (uint32_t op = 0; op < cuda_models[api].desc->op_count; op++)
			listening[api][op] = (struct listening){0};
	kinds = 0;
	if (atomic_load(&managed))
		managed_configure();
	resources_listen();
	atomic_store(&state, RUNNING);
	return true;
}

static bool domains_register(void)
{
	for (int api = 0; api < CUDA_APIS; api++) {
		infos[api] = (struct cap_domain_info){.desc = cuda_models[api].desc,
						      .ops = cuda_models[api].caps};
		if (api == CUDA_RUNTIME) {
			infos[api].wanted = recorder_wants;
			infos[api].flush = flush;
			infos[api].late = true;
			infos[api].fork_child = fork_child;
		}
		listening[api] = calloc(cuda_models[api].desc->op_count, sizeof(*listening[api]));
		if (!listening[api] || cap_domain_register(&infos[api], &domains[api]) != KYMO_OK)
			return false;
	}
	return cuda_driver_domain();
}

/* Without the domains a trace would not have the notes that say what failed. */
static bool prepare(void)
{
	for (uint32_t api = 0; api < CUDA_APIS; api++) {
		cuda_models[api].desc = packed_describe(CUDA_PACKED, api);
		if (!cuda_models[api].desc)
			return false;
	}
	driver_use = calloc(cuda_models[CUDA_DRIVER].desc->op_count, sizeof(*driver_use));
	if (driver_use && domains_register())
		return true;
	cap_note(2, "cuda", "CUDA is not traced: its domains could not be registered");
	return false;
}

void cuda_give_way(const char *why)
{
	if (prepare())
		cap_note(2, "cuda", "CUDA is not traced: %s", why);
}

static void start_capture(void)
{
	char why[512];

	if (!prepare())
		return;
	if (cuda_others(why, sizeof(why))) {
		cap_note(2, "cuda", "CUDA is not traced: %s", why);
		return;
	}
	if (!cuda_load(why, sizeof(why))) {
		cap_note(2, "cuda", "CUDA is not traced: %s", why);
		return;
	}
	if (!cuda_submissions_init() || !cuda_flights_init() || !subscribe_prepared())
		return;
	cuda_calls_init();
	cuda_clock_define();
	cuda_clock_sync();
	resources_listen();
	owner = getpid();
	atomic_store(&state, RUNNING);
	cuda_profile_init();
	cuda_collector_start();
	wanted(atomic_load(&cap_activities));
	atexit(at_exit);
}

/* The library that the user had put there himself comes first. */
static void chain(void)
{
	const char *path = secure_getenv("KYMO_CUDA_INJECTION");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
	int (*initialize)(void);

	memcpy(&initialize, &symbol, sizeof(symbol));
	if (initialize && initialize != InitializeInjection)
		initialize();
}

/* Called by the driver on the thread that initialises it. Non-zero: success. */
int InitializeInjection(void)
{
	static _Atomic pid_t entered;
	int saved = errno;

	if (atomic_exchange(&entered, getpid()) != getpid()) {
		chain();
		start_capture();
	}
	errno = saved;
	return 1;
}

CAP_KNOWN_DOMAIN(cuda, packed_describe(CUDA_PACKED, CUDA_DRIVER));
CAP_KNOWN_DOMAIN(cuda_runtime, packed_describe(CUDA_PACKED, CUDA_RUNTIME));
