/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting what kernels do, by CUPTI's range profiler: each kernel is a range of its own, runs while
 * its launch waits, and is repeated where its metrics do not fit into one pass. So launches of all
 * threads go one after the other, from entry to exit of the driver's call, while something is
 * counted; values are there when the launch returns.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"
#include "capture/cuda/range.h"

#define CONTEXTS 64u
#define RANGES   16u /* of launches that were not seen; the last one is the launch's own */

struct device_context {
	void *handle; /* NULL: free */
	uint32_t device;
	bool failed;      /* refused: not tried again */
	bool paused;      /* stopped, to be started again */
	uint64_t without; /* launches of which CUPTI gave nothing */
	uint32_t version; /* of what is counted when it was configured; 0: not */
	void *profiler;
	uint8_t *config, *image;
	size_t config_bytes, image_bytes;
};

static pthread_mutex_t lock;
static struct device_context contexts[CONTEXTS];
static struct range_session *sessions;
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
}

void range_profiler_init(void)
{
	lock_init();
}

bool cuda_range_counting(void)
{
	return atomic_load_explicit(&open_sessions, memory_order_relaxed) != 0;
}

/* ---- what is counted ---- */

void range_session_add(struct range_session *s)
{
	pthread_mutex_lock(&lock);
	s->next = sessions;
	sessions = s;
	version++;
	atomic_fetch_add(&open_sessions, 1);
	atomic_fetch_add(&cuda_range_active, 1);
	pthread_mutex_unlock(&lock);
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

/* Names of all metrics that are wanted of a device, each once. Returns how many; *names is malloc'ed. */
static size_t names_of(uint32_t device, const char ***names)
{
	size_t n = 0, room = 1;

	for (const struct range_session *s = sessions; s; s = s->next)
		room += s->count;
	*names = calloc(room, sizeof(**names));
	for (const struct range_session *s = sessions; *names && s; s = s->next) {
		for (size_t i = 0; i < s->count && s->device == device && !s->closed; i++) {
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

static void unconfigure(struct device_context *c, bool alive)
{
	struct cupti_range_stop stop = {.size = CUPTI_SIZE(cupti_range_stop, all_submitted),
					.profiler = c->profiler};
	struct cupti_range off = {CUPTI_SIZE(cupti_range, profiler), NULL, c->profiler};

	if (c->profiler && alive) {
		if (c->version && !c->paused)
			cupti_range.RangeProfilerStop(&stop);
		cupti_range.RangeProfilerDisable(&off);
	}
	if (c->without)
		cap_note(2, "cuda", "%llu launches of kernels have no values: CUPTI gave none",
			 (unsigned long long)c->without);
	c->without = 0;
	c->paused = false;
	free(c->config);
	free(c->image);
	c->profiler = c->config = c->image = NULL;
	c->version = 0;
}

static cupti_result image_prepare(struct device_context *c)
{
	struct cupti_image image = {CUPTI_SIZE(cupti_image, image), NULL, c->profiler,
				    c->image_bytes, c->image};
	struct cupti_range_config config = {.size = CUPTI_SIZE(cupti_range_config, target_nesting),
					    .profiler = c->profiler,
					    .config_bytes = c->config_bytes,
					    .config = c->config,
					    .image_bytes = c->image_bytes,
					    .image = c->image,
					    .range = CUPTI_AUTO_RANGE,
					    .replay = CUPTI_KERNEL_REPLAY,
					    .ranges = RANGES,
					    .nesting_levels = 1,
					    .least_nesting = 1,
					    .target_nesting = 1};
	struct cupti_range start = {CUPTI_SIZE(cupti_range, profiler), NULL, c->profiler};
	cupti_result r = cupti_range.RangeProfilerCounterDataImageInitialize(&image);

	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerSetConfig(&config);
	return r == CUPTI_OK ? cupti_range.RangeProfilerStart(&start) : r;
}

static cupti_result image_make(struct device_context *c, const char **names, size_t count)
{
	struct cupti_image_size size = {.size = CUPTI_SIZE(cupti_image_size, bytes),
					.profiler = c->profiler,
					.names = names,
					.count = count,
					.ranges = RANGES,
					.nodes = RANGES};
	cupti_result r = cupti_range.RangeProfilerGetCounterDataSize(&size);

	if (r != CUPTI_OK)
		return r;
	c->image_bytes = size.bytes;
	c->image = malloc(size.bytes);
	return c->image ? image_prepare(c) : CUPTI_OUT_OF_MEMORY;
}

static cupti_result configure(struct device_context *c, const char **names, size_t count)
{
	struct cupti_profiler_init init = {CUPTI_SIZE(cupti_profiler_init, reserved), NULL};
	struct cupti_range_enable on = {.size = CUPTI_SIZE(cupti_range_enable, profiler),
					.context = c->handle};
	size_t passes;
	cupti_result r =
		range_config(c->device, names, count, &c->config, &c->config_bytes, &passes);

	if (r == CUPTI_OK)
		r = cupti_range.ProfilerInitialize(&init);
	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerEnable(&on);
	if (r != CUPTI_OK)
		return r;
	c->profiler = on.profiler;
	r = image_make(c, names, count);
	if (r != CUPTI_OK)
		return r;
	c->version = version;
	if (passes > 1)
		cap_note(1, "cuda",
			 "kernels of device %u run %zu times each: their counters do not "
			 "fit into fewer passes",
			 c->device, passes);
	return r;
}

/* Makes it count what is wanted now. */
static void follow(struct device_context *c)
{
	const char **names = NULL;
	char text[160];
	size_t count;
	cupti_result r = CUPTI_OK;

	if (c->failed || (c->version == version && !c->paused))
		return;
	if (c->version == version) {
		r = image_prepare(c);
		c->paused = r != CUPTI_OK;
	} else {
		unconfigure(c, true);
		count = names_of(c->device, &names);
		r = count ? configure(c, names, count) : CUPTI_OK;
		free(names);
	}
	if (r == CUPTI_OK)
		return;
	unconfigure(c, true);
	c->failed = true;
	cap_note(2, "cuda", "kernels of device %u are not counted: %s", c->device,
		 cuda_profiler_refusal(r, text, sizeof(text)));
}

/* ---- values ---- */

static void evaluate(struct range_session *s, const struct device_context *c, size_t range,
		     kymo_counter_dispatch_t *d)
{
	struct cupti_evaluation e = {CUPTI_SIZE(cupti_evaluation, values),
				     NULL,
				     range_host(c->device),
				     c->image,
				     c->image_bytes,
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

static void deliver(const struct device_context *c, size_t range, uint32_t correlation,
		    const char *symbol)
{
	kymo_counter_dispatch_t d = {.size = sizeof(d),
				     .correlation = cuda_submission_call(correlation),
				     .kernel = cuda_kernel(symbol)};

	delivering++;
	for (struct range_session *s = sessions; s; s = s->next)
		if (s->device == c->device && !s->closed)
			evaluate(s, c, range, &d);
	delivering--;
	sweep();
}

static void collect_values(struct device_context *c, uint32_t correlation, const char *symbol)
{
	struct cupti_range_stop stop = {.size = CUPTI_SIZE(cupti_range_stop, all_submitted),
					.profiler = c->profiler};
	struct cupti_decode decode = {.size = CUPTI_SIZE(cupti_decode, dropped),
				      .profiler = c->profiler};
	struct cupti_image_info info = {.size = CUPTI_SIZE(cupti_image_info, ranges),
					.image = c->image,
					.bytes = c->image_bytes};
	char text[160];
	cupti_result r = cupti_range.RangeProfilerStop(&stop);

	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerDecodeData(&decode);
	if (r == CUPTI_OK)
		r = cupti_range.RangeProfilerGetCounterDataInfo(&info);
	if (r == CUPTI_OK && info.ranges)
		deliver(c, info.ranges - 1, correlation, symbol);
	else if (r == CUPTI_OK)
		c->without++;
	if (r == CUPTI_OK)
		r = image_prepare(c);
	if (r == CUPTI_OK)
		return;
	cap_note(2, "cuda", "kernels of device %u are counted no further: %s", c->device,
		 cuda_profiler_refusal(r, text, sizeof(text)));
	unconfigure(c, true);
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

/* The launch of this thread that holds the lock. */
static _Thread_local struct {
	struct device_context *context; /* NULL: none does */
	uint32_t correlation;
} launching;

static void launch_begins(const struct cupti_callback *data) UNCHECKED_LOCKS
{
	struct device_context *c;

	pthread_mutex_lock(&lock);
	c = data->context && !ended && !captures ? context_of(data->context) : NULL;
	cap_guard_enter();
	if (c)
		follow(c);
	cap_guard_leave();
	if (!c || !c->version) {
		pthread_mutex_unlock(&lock);
		return;
	}
	launching.context = c;
	launching.correlation = data->correlation;
	atomic_fetch_add(&cuda_range_active, 1);
}

static void launch_ends(const struct cupti_callback *data) UNCHECKED_LOCKS
{
	struct device_context *c = launching.context;

	if (!c || launching.correlation != data->correlation)
		return;
	launching.context = NULL;
	cap_guard_enter();
	if (c->version && !ended)
		collect_values(c, data->correlation, data->symbol);
	cap_guard_leave();
	atomic_fetch_sub(&cuda_range_active, 1);
	pthread_mutex_unlock(&lock);
}

static void pause_context(struct device_context *c)
{
	struct cupti_range_stop stop = {.size = CUPTI_SIZE(cupti_range_stop, all_submitted),
					.profiler = c->profiler};

	if (c->version && !c->paused && !ended && cupti_range.RangeProfilerStop(&stop) == CUPTI_OK)
		c->paused = true;
}

/*
 * While a stream is captured into a graph, what the profiler does to a launch would end the capture;
 * and after a launch of a graph that it saw it gives no values any more. Caller holds the lock.
 */
static void pause_all(void)
{
	static bool said;

	cap_guard_enter();
	for (uint32_t i = 0; i < CONTEXTS; i++)
		pause_context(&contexts[i]);
	cap_guard_leave();
	if (!said)
		cap_note(1, "cuda",
			 "kernels of graphs, and those that are launched while a stream is "
			 "being captured, are not counted");
	said = true;
}

static void graph_begins(void)
{
	pthread_mutex_lock(&lock);
	pause_all();
	pthread_mutex_unlock(&lock);
}

static void capture_begins(void)
{
	pthread_mutex_lock(&lock);
	captures++;
	atomic_fetch_add(&cuda_range_active, 1);
	pause_all();
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
	const bool failed = !enter && data->result && *(const int *)data->result != 0;

	if (role == CUDA_RANGE_LAUNCH && enter)
		launch_begins(data);
	else if (role == CUDA_RANGE_LAUNCH)
		launch_ends(data);
	else if (role == CUDA_RANGE_GRAPH && enter)
		graph_begins();
	else if (role == CUDA_RANGE_CAPTURE && enter)
		capture_begins();
	else if (role == CUDA_RANGE_CAPTURE ? failed : role == CUDA_RANGE_CAPTURED && !enter)
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
		unconfigure(c, !ended);
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
			unconfigure(&contexts[i], !ended);
	pthread_mutex_unlock(&lock);
}

void cuda_range_end(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle)
			unconfigure(&contexts[i], true);
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
}
