/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting what kernels do, by CUPTI's range profiler: each chosen kernel is a range of its own, runs
 * alone while its launch waits, and is repeated where its metrics do not fit into one pass. So counted
 * launches of all threads go one after the other, from entry to exit of the driver's call; values are
 * there when the launch returns. The profiler is started for such a launch alone: all others run as
 * ever, but none begins meanwhile.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/locks.h"
#include "base/vec.h"
#include "capture/cuda/range.h"
#include "core/counter/lines.h"

#define CONTEXTS   64u
#define RANGES     16u /* of launches that were not seen; the last one is the launch's own */
#define PATIENCE_S 1   /* until launches of other threads have returned */

/* What some sessions count together. */
struct setup {
	uint64_t sessions; /* bit n: that of slot n */
	uint8_t *config, *image;
	size_t config_bytes, image_bytes, passes;
};

struct device_context {
	void *handle; /* NULL: free */
	uint32_t device;
	bool failed;      /* refused: not tried again */
	bool busy;        /* kernels that were not counted may be running */
	uint64_t without; /* launches of which CUPTI gave nothing */
	uint32_t version; /* of the sessions that its setups are of */
	void *profiler;   /* NULL: not enabled */
	struct setup *setups;
	uint32_t count, room;
};

static pthread_mutex_t lock;
static pthread_rwlock_t
	others; /* launches that are not counted hold it to read; taken after `lock` */
static struct device_context contexts[CONTEXTS];
static struct range_session *sessions;
static uint64_t slots;       /* that sessions have */
static uint32_t version = 1; /* changes with the sessions */
static _Atomic unsigned open_sessions;
_Atomic unsigned cuda_range_active;
static unsigned delivering;
static unsigned captures; /* of streams, under way */
static bool ended;

static void lock_init(void)
{
	pthread_mutexattr_t recursive; /* a tool may end counting when it is given values */

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
	pthread_rwlock_init(&others, NULL);
}

void range_profiler_init(void)
{
	lock_init();
}

bool cuda_range_counting(void)
{
	return atomic_load_explicit(&open_sessions, memory_order_relaxed) != 0 ||
	       cuda_sass_in_use();
}

/* ---- what is counted ---- */

bool range_session_add(struct range_session *s)
{
	pthread_mutex_lock(&lock);
	if (!~slots) {
		pthread_mutex_unlock(&lock);
		return false;
	}
	s->slot = (unsigned)__builtin_ctzll(~slots);
	slots |= 1ull << s->slot;
	s->next = sessions;
	sessions = s;
	version++;
	atomic_fetch_add(&open_sessions, 1);
	atomic_fetch_add(&cuda_range_active, 1);
	pthread_mutex_unlock(&lock);
	return true;
}

/* Caller holds the lock. */
static void sweep(void)
{
	struct range_session **at = &sessions, *s;

	while (!delivering && (s = *at)) {
		if (!s->closed) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		slots &= ~(1ull << s->slot);
		range_session_free(s);
	}
}

void range_session_remove(struct range_session *s)
{
	pthread_mutex_lock(&lock);
	s->closed = true;
	version++;
	atomic_fetch_sub(&open_sessions, 1);
	atomic_fetch_sub(&cuda_range_active, 1);
	sweep();
	pthread_mutex_unlock(&lock);
}

/* Names of all metrics that these sessions want, each once. Returns how many; *names is malloc'ed. */
static size_t names_of(uint64_t wanted, const char ***names)
{
	size_t n = 0, room = 1;

	for (const struct range_session *s = sessions; s; s = s->next)
		room += s->count;
	*names = calloc(room, sizeof(**names));
	for (const struct range_session *s = sessions; *names && s; s = s->next) {
		for (size_t i = 0; i < s->count && wanted >> s->slot & 1; i++) {
			size_t k = 0;

			while (k < n && strcmp((*names)[k], s->names[i]) != 0)
				k++;
			if (k == n)
				(*names)[n++] = s->names[i];
		}
	}
	return n;
}

/* ---- a device context; the caller holds the lock ---- */

static void drop_setups(struct device_context *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		free(c->setups[i].config);
		free(c->setups[i].image);
	}
	free(c->setups);
	c->setups = NULL;
	c->count = c->room = 0;
}

static void let_go(struct device_context *c, bool alive)
{
	struct cupti_range off = {CUPTI_SIZE(cupti_range, profiler), NULL, c->profiler};

	if (c->profiler && alive)
		cupti_range.RangeProfilerDisable(&off);
	c->profiler = NULL;
	drop_setups(c);
	if (c->without)
		cap_note(2, "cuda", "%llu launches of kernels have no values: CUPTI gave none",
			 (unsigned long long)c->without);
	c->without = 0;
}

static cupti_result enable(struct device_context *c)
{
	struct cupti_profiler_init init = {CUPTI_SIZE(cupti_profiler_init, reserved), NULL};
	struct cupti_range_enable on = {.size = CUPTI_SIZE(cupti_range_enable, profiler),
					.context = c->handle};
	cupti_result r = cupti_range.ProfilerInitialize(&init);

	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerEnable(&on);
	if (r == CUPTI_OK)
		c->profiler = on.profiler;
	return r;
}

static cupti_result fill_setup(const struct device_context *c, struct setup *u, const char **names,
			       size_t count)
{
	struct cupti_image_size size = {.size = CUPTI_SIZE(cupti_image_size, bytes),
					.profiler = c->profiler,
					.names = names,
					.count = count,
					.ranges = RANGES,
					.nodes = RANGES};
	cupti_result r =
		range_config(c->device, names, count, &u->config, &u->config_bytes, &u->passes);

	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerGetCounterDataSize(&size);
	if (r != CUPTI_OK)
		return r;
	u->image_bytes = size.bytes;
	u->image = malloc(size.bytes);
	return u->image ? CUPTI_OK : CUPTI_OUT_OF_MEMORY;
}

/* Adds what these sessions count to the setups of the context. */
static cupti_result make_setup(struct device_context *c, uint64_t wanted)
{
	struct setup *u;
	const char **names = NULL;
	size_t count = names_of(wanted, &names);
	cupti_result r = CUPTI_OUT_OF_MEMORY;

	if (count && vec_reserve(&c->setups, &c->room, c->count, 1)) {
		u = &c->setups[c->count++];
		*u = (struct setup){.sessions = wanted};
		r = fill_setup(c, u, names, count);
		if (r == CUPTI_OK && u->passes > 1)
			cap_note(1, "cuda",
				 "kernels of device %u run %zu times each: their counters do not "
				 "fit into fewer passes",
				 c->device, u->passes);
	}
	free(names);
	return r;
}

static struct setup *find_setup(struct device_context *c, uint64_t wanted)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->setups[i].sessions == wanted)
			return &c->setups[i];
	return NULL;
}

static cupti_result start(const struct device_context *c, const struct setup *u)
{
	struct cupti_image image = {CUPTI_SIZE(cupti_image, image), NULL, c->profiler,
				    u->image_bytes, u->image};
	struct cupti_range_config config = {.size = CUPTI_SIZE(cupti_range_config, target_nesting),
					    .profiler = c->profiler,
					    .config_bytes = u->config_bytes,
					    .config = u->config,
					    .image_bytes = u->image_bytes,
					    .image = u->image,
					    .range = CUPTI_AUTO_RANGE,
					    .replay = CUPTI_KERNEL_REPLAY,
					    .ranges = RANGES,
					    .nesting_levels = 1,
					    .least_nesting = 1,
					    .target_nesting = 1};
	struct cupti_range begin = {CUPTI_SIZE(cupti_range, profiler), NULL, c->profiler};
	cupti_result r = cupti_range.RangeProfilerCounterDataImageInitialize(&image);

	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerSetConfig(&config);
	return r == CUPTI_OK ? cupti_range.RangeProfilerStart(&begin) : r;
}

void cuda_context_synchronize(void)
{
	static int (*synchronize)(void);

	if (!synchronize) {
		void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
		void *at = driver ? dlsym(driver, "cuCtxSynchronize") : NULL;

		memcpy(&synchronize, &at, sizeof(at));
	}
	if (synchronize)
		synchronize();
}

/* CUPTI orders what it sees; kernels that were launched before it was started are waited for. */
static void wait_for_others(struct device_context *c)
{
	uint64_t before = tick_now();

	if (!c->busy)
		return;
	cuda_context_synchronize();
	cap_timed_own(tick_now() - before);
	c->busy = false;
}

/* Begins to count with these sessions; NULL: it cannot. */
static struct setup *begin(struct device_context *c, uint64_t wanted)
{
	cupti_result r = CUPTI_OK;
	struct setup *u;
	char text[160];

	if (c->version != version)
		let_go(c, true);
	c->version = version;
	if (!c->profiler)
		r = enable(c);
	u = find_setup(c, wanted);
	if (r == CUPTI_OK && !u) {
		r = make_setup(c, wanted);
		u = find_setup(c, wanted);
	}
	if (r == CUPTI_OK)
		wait_for_others(c);
	if (r == CUPTI_OK)
		r = start(c, u);
	if (r == CUPTI_OK)
		return u;
	let_go(c, true);
	c->failed = true;
	cap_note(2, "cuda", "kernels of device %u are not counted: %s", c->device,
		 cuda_profiler_refusal(r, text, sizeof(text)));
	return NULL;
}

/* ---- values ---- */

static void evaluate(struct range_session *s, const struct device_context *c, const struct setup *u,
		     size_t range, kymo_counter_dispatch_t *d)
{
	struct cupti_evaluation e = {CUPTI_SIZE(cupti_evaluation, values),
				     NULL,
				     range_host(c->device),
				     u->image,
				     u->image_bytes,
				     range,
				     s->names,
				     s->count,
				     s->values};

	if (!e.host || cupti_range.ProfilerHostEvaluateToGpuValues(&e) != CUPTI_OK) {
		if (!s->said)
			cap_note(2, "cuda", "values of kernels of device %u cannot be evaluated",
				 c->device);
		s->said = true;
		return;
	}
	d->values = s->values;
	s->deliver(s->to, d);
}

static void deliver(const struct device_context *c, const struct setup *u, size_t range,
		    uint32_t correlation, const char *symbol)
{
	kymo_counter_dispatch_t d = {.size = sizeof(d),
				     .correlation = cuda_submission_call(correlation),
				     .kernel = cuda_kernel(symbol),
				     .passes = (uint32_t)u->passes};

	delivering++;
	for (struct range_session *s = sessions; s; s = s->next)
		if (u->sessions >> s->slot & 1 && !s->closed)
			evaluate(s, c, u, range, &d);
	delivering--;
	sweep();
}

static void collect_values(struct device_context *c, const struct setup *u, uint32_t correlation,
			   const char *symbol)
{
	struct cupti_range_stop stop = {.size = CUPTI_SIZE(cupti_range_stop, all_submitted),
					.profiler = c->profiler};
	struct cupti_decode decode = {.size = CUPTI_SIZE(cupti_decode, dropped),
				      .profiler = c->profiler};
	struct cupti_image_info info = {.size = CUPTI_SIZE(cupti_image_info, ranges),
					.image = u->image,
					.bytes = u->image_bytes};
	char text[160];
	cupti_result r = cupti_range.RangeProfilerStop(&stop);

	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerDecodeData(&decode);
	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerGetCounterDataInfo(&info);
	if (r == CUPTI_OK && info.ranges)
		deliver(c, u, info.ranges - 1, correlation, symbol);
	else if (r == CUPTI_OK)
		c->without++;
	if (r == CUPTI_OK)
		return;
	cap_note(2, "cuda", "kernels of device %u are counted no further: %s", c->device,
		 cuda_profiler_refusal(r, text, sizeof(text)));
	let_go(c, true);
	c->failed = true;
}

/* ---- launches and contexts ---- */

static struct device_context *context_of(void *handle)
{
	for (uint32_t i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle == handle)
			return &contexts[i];
	return NULL;
}

/* The launch that this thread is in. */
static _Thread_local struct {
	struct device_context *context; /* NULL: it is not counted */
	struct setup *setup;
	struct cap_timed cost;
	uint64_t began, runs;
	uint32_t correlation;
	bool other;       /* it holds `others` to read */
	bool instruments; /* its instructions are counted, without a setup */
} launching;

/* The sessions that count this launch. Caller holds the lock. */
static uint64_t choose(const struct device_context *c, const struct cupti_callback *data)
{
	const struct cap_launch launch = {.agent = cuda_agent(c->device),
					  .kernel = cuda_kernel(data->symbol),
					  .number = *cuda_launch_number(data->correlation)};
	kymo_counter_launch_t l;
	uint64_t wanted = 0;

	cap_launch_describe(&launch, &l);
	for (const struct range_session *s = sessions; s; s = s->next)
		if (s->device == c->device && !s->closed && s->chosen(s->to, &l))
			wanted |= 1ull << s->slot;
	return c->failed ? 0 : wanted;
}

static const char no_end[] = "launches of other threads did not return in time";

/* False: other threads' launches do not return, perhaps as one waits for what comes after this one. */
static bool keep_others_out(void) UNCHECKED_LOCKS
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	return pthread_rwlock_timedwrlock(&others, &until) == 0;
}

/* Caller holds the lock; with `others` to write it returns what counts the launch. */
static struct setup *begin_alone(struct device_context *c, uint64_t wanted) UNCHECKED_LOCKS
{
	struct setup *u = NULL;

	if (wanted && !keep_others_out()) {
		cap_launch_not_counted(no_end);
	} else if (wanted) {
		u = begin(c, wanted);
		if (!u)
			pthread_rwlock_unlock(&others);
	}
	return u;
}

/* The same for a launch whose instructions are to be counted; false: it runs as ever. */
static bool instrument_alone(struct device_context *c,
			     const struct cupti_callback *data) UNCHECKED_LOCKS
{
	const struct cap_launch launch = {.agent = cuda_agent(c->device),
					  .kernel = cuda_kernel(data->symbol),
					  .number = *cuda_launch_number(data->correlation)};
	kymo_counter_launch_t l;

	cap_launch_describe(&launch, &l);
	if (!cap_lines_chosen(&l))
		return false;
	if (!keep_others_out()) {
		cuda_sass_left_out(no_end);
		return false;
	}
	wait_for_others(c);
	if (cuda_sass_begin(c->handle, c->device))
		return true;
	pthread_rwlock_unlock(&others);
	return false;
}

/* A launch that runs as ever. Caller holds the lock, which it lets go. */
static void other_begins(struct device_context *c, uint32_t correlation) UNCHECKED_LOCKS
{
	if (c)
		c->busy = true;
	pthread_rwlock_rdlock(&others);
	pthread_mutex_unlock(&lock);
	launching.other = true;
	launching.correlation = correlation;
	atomic_fetch_add(&cuda_range_active, 1);
}

static const char captured[] = "they were launched while a stream was being captured into a graph";

static void launch_begins(const struct cupti_callback *data) UNCHECKED_LOCKS
{
	struct device_context *c;
	struct cap_timed cost;
	struct setup *u = NULL;
	bool instruments = false;

	if (launching.context || launching.other)
		return;
	cap_timed_begin(&cost);
	pthread_mutex_lock(&lock);
	c = data->context ? context_of(data->context) : NULL;
	cap_guard_enter();
	if (captures)
		cuda_sass_left_out(captured);
	else if (c && !ended && cuda_sass_in_use())
		instruments = instrument_alone(c, data);
	else if (c && !ended)
		u = begin_alone(c, choose(c, data));
	cap_guard_leave();
	if (!u && !instruments) {
		other_begins(c, data->correlation);
		return;
	}
	launching.context = c;
	launching.setup = u;
	launching.instruments = instruments;
	launching.correlation = data->correlation;
	launching.cost = cost;
	launching.runs = u && u->passes ? u->passes : 1;
	atomic_fetch_add(&cuda_range_active, 1);
	launching.began = tick_now();
}

/* At the end of a call. */
static bool failed(const struct cupti_callback *data)
{
	return data->result && *(const int *)data->result != 0;
}

static void launch_ends(const struct cupti_callback *data) UNCHECKED_LOCKS
{
	struct device_context *c = launching.context;

	if ((!c && !launching.other) || launching.correlation != data->correlation)
		return;
	launching.context = NULL;
	atomic_fetch_sub(&cuda_range_active, 1);
	if (launching.other) {
		launching.other = false;
		pthread_rwlock_unlock(&others);
		return;
	}
	cap_guard_enter();
	if (launching.instruments && !ended && !failed(data))
		cuda_context_synchronize();
	cap_timed_own((tick_now() - launching.began) / launching.runs);
	if (launching.instruments && !ended)
		cuda_sass_end(c->handle, c->device, data, failed(data));
	else if (c->profiler && !ended)
		collect_values(c, launching.setup, data->correlation, data->symbol);
	cap_guard_leave();
	cap_timed_end(&launching.cost, UINT64_MAX);
	pthread_rwlock_unlock(&others);
	pthread_mutex_unlock(&lock);
}

/*
 * While a stream is captured into a graph, what the profiler does to a launch would end the capture;
 * and after a launch of a graph that it saw it gives no values any more. Caller holds the lock.
 */
static void tell_of_graphs(void)
{
	static bool said;

	if (!said && !cuda_sass_in_use())
		cap_note(1, "cuda",
			 "kernels of graphs, and those that are launched while a stream is "
			 "being captured, are not counted, and have no numbers for "
			 "--count-kernel NAME#N");
	said = true;
}

static void graph_begins(const struct cupti_callback *data) UNCHECKED_LOCKS
{
	if (launching.context || launching.other)
		return;
	pthread_mutex_lock(&lock);
	tell_of_graphs();
	cuda_sass_left_out("they are of graphs");
	other_begins(data->context ? context_of(data->context) : NULL, data->correlation);
}

static void capture_begins(void)
{
	pthread_mutex_lock(&lock);
	captures++;
	atomic_fetch_add(&cuda_range_active, 1);
	tell_of_graphs();
	pthread_mutex_unlock(&lock);
}

static void capture_ends(void)
{
	pthread_mutex_lock(&lock);
	if (captures) {
		captures--;
		atomic_fetch_sub(&cuda_range_active, 1);
	}
	pthread_mutex_unlock(&lock);
}

static bool begins_with(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

enum cuda_range_role cuda_range_role(uint32_t op)
{
	const struct cuda_model *m = &cuda_models[CUDA_DRIVER];
	const char *name = m->desc->ops[op].name;

	if (m->roles[op].role == CUDA_ROLE_LAUNCH)
		return CUDA_RANGE_LAUNCH;
	if (begins_with(name, "cuGraphLaunch"))
		return CUDA_RANGE_GRAPH;
	if (begins_with(name, "cuStreamBeginCapture"))
		return CUDA_RANGE_CAPTURE;
	return begins_with(name, "cuStreamEndCapture") ? CUDA_RANGE_CAPTURED : CUDA_RANGE_NONE;
}

/* A capture that does not begin is over; one that ends is, whatever its end returns. */
void cuda_range_call(enum cuda_range_role role, bool enter, const struct cupti_callback *data)
{
	const bool in_vain = !enter && failed(data);

	if (role == CUDA_RANGE_LAUNCH && enter)
		launch_begins(data);
	else if (role == CUDA_RANGE_GRAPH && enter)
		graph_begins(data);
	else if (role == CUDA_RANGE_LAUNCH || role == CUDA_RANGE_GRAPH)
		launch_ends(data);
	else if (role == CUDA_RANGE_CAPTURE && enter)
		capture_begins();
	else if (role == CUDA_RANGE_CAPTURE ? in_vain : role == CUDA_RANGE_CAPTURED && !enter)
		capture_ends();
}

void cuda_range_context(void *handle, uint32_t device)
{
	struct device_context *c;

	pthread_mutex_lock(&lock);
	c = context_of(handle);
	if (!c)
		c = context_of(NULL);
	if (c)
		*c = (struct device_context){.handle = handle, .device = device};
	pthread_mutex_unlock(&lock);
}

void cuda_range_context_end(void *handle)
{
	struct device_context *c;

	pthread_mutex_lock(&lock);
	c = context_of(handle);
	if (c) {
		let_go(c, !ended);
		*c = (struct device_context){0};
	}
	pthread_mutex_unlock(&lock);
}

/* Nothing is counted: CUPTI lets go of the devices, and launches go side by side again. */
void range_profiler_rest(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < CONTEXTS && !sessions; i++)
		if (contexts[i].handle)
			let_go(&contexts[i], !ended);
	pthread_mutex_unlock(&lock);
}

void cuda_range_end(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle)
			let_go(&contexts[i], true);
	ended = true;
	pthread_mutex_unlock(&lock);
}

/* The child cannot use CUDA: nothing is asked of it. */
void cuda_range_fork_child(void)
{
	lock_init();
	ended = true;
	captures = 0;
	launching.context = NULL;
	launching.other = false;
}
