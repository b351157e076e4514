/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program counters of kernels, which the device samples into a buffer of its own and CUPTI decodes on
 * threads of its own. A thread of Kymo's fetches what is decoded, ten times a second, and writes the
 * records; threads of the program pay only when device contexts come and go.
 *
 * CUPTI samples a device context from its creation, or from when sampling is wanted, until it is
 * disabled: pausing disables, which takes some tens of milliseconds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/locks.h"
#include "capture/cuda/profile.h"
#include "core/sample/device.h"
#include "core/sample/helper.h"

#define CONTEXTS 64u
#define FETCH_NS 100000000u
#define ROOM     2048u /* instructions fetched at once */
#define STALLS   256u
#define REASONS  128u

/* The same fact with and without other warps that could go on in its place. */
static const char reason_prefix[] = "smsp__pcsamp_warps_issue_stalled_";
static const char idle_suffix[] = "_not_issued";

struct room {
	struct cupti_pc_data data;
	struct cupti_stall *stalls;
};

struct device_context {
	void *handle; /* NULL: free */
	uint32_t device;
	bool sampled, full;
	size_t stall_count;
	uint64_t fetched;      /* tick up to which samples were fetched */
	struct room now, rest; /* `rest` gets what is there when sampling is disabled */
	struct {
		uint32_t reason; /* position in `reasons`, plus 1 */
		bool idle;
	} stalls[STALLS];
};

/*
 * `lock` guards the contexts. CUPTI is called with it, by the thread that fetches and by callbacks of
 * CUPTI's, which might hold a lock of CUPTI's: these wait for a second at most.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device_context contexts[CONTEXTS];
static struct {
	uint32_t id;
	char name[CUPTI_STALL_NAME];
} reasons[REASONS];
static uint32_t reason_count;
static kymo_device_sample_desc_t config;
static _Atomic bool wanted;
static bool threaded;
static pthread_t thread;
static struct helper helper;

bool cuda_pc_active(void)
{
	return atomic_load(&wanted);
}

/* ---- memory that CUPTI fills ---- */

/* An instruction of CUPTI's, which took less room once. */
static size_t pc_bytes(void)
{
	return cupti.version >= CUPTI_VERSION_PC_CORRELATION
		       ? sizeof(struct cupti_pc)
		       : offsetof(struct cupti_pc, correlation);
}

static struct cupti_pc *pc_at(const struct room *r, size_t i)
{
	return (struct cupti_pc *)(void *)((char *)r->data.pcs + i * pc_bytes());
}

static void room_release(struct room *r)
{
	free(r->data.pcs);
	free(r->stalls);
	*r = (struct room){0};
}

static bool room_make(struct room *r, size_t stalls)
{
	r->data = (struct cupti_pc_data){.size = sizeof(r->data), .room = ROOM};
	r->data.pcs = calloc(ROOM, pc_bytes());
	r->stalls = calloc(ROOM * stalls, sizeof(*r->stalls));
	if (!r->data.pcs || !r->stalls) {
		room_release(r);
		return false;
	}
	for (size_t i = 0; i < ROOM; i++) {
		struct cupti_pc *pc = pc_at(r, i);

		pc->size = pc_bytes();
		pc->stalls = r->stalls + i * stalls;
	}
	return true;
}

/* How many reasons fit is said anew before each fetch: CUPTI writes how many it gave. */
static void room_empty(struct room *r, size_t stalls)
{
	for (size_t i = 0; i < ROOM; i++)
		pc_at(r, i)->stall_count = stalls;
	r->data.count = r->data.remaining = 0;
	r->data.samples = r->data.dropped = 0;
	r->data.full = 0;
}

/* ---- stall reasons ---- */

static uint32_t reason_of(const char *name)
{
	uint32_t i = 0;

	while (i < reason_count && strcmp(reasons[i].name, name) != 0)
		i++;
	if (i == REASONS)
		return 0;
	if (i == reason_count) {
		strncpy(reasons[i].name, name, CUPTI_STALL_NAME - 1);
		reasons[i].id = cap_device_reason(name);
		reason_count++;
	}
	return i + 1;
}

static void stall_name(struct device_context *c, uint32_t index, char *name)
{
	const size_t prefix = sizeof(reason_prefix) - 1, suffix = sizeof(idle_suffix) - 1;
	size_t n;

	name[CUPTI_STALL_NAME - 1] = '\0';
	if (strncmp(name, reason_prefix, prefix) == 0)
		name += prefix;
	n = strlen(name);
	if (index >= STALLS)
		return;
	c->stalls[index].idle = n > suffix && strcmp(name + n - suffix, idle_suffix) == 0;
	if (c->stalls[index].idle)
		name[n - suffix] = '\0';
	c->stalls[index].reason = reason_of(name);
}

static cupti_result stall_names(struct device_context *c)
{
	struct cupti_stall_count n = {CUPTI_SIZE(cupti_stall_count, count), NULL, c->handle,
				      &c->stall_count};
	struct cupti_stall_names s = {.size = CUPTI_SIZE(cupti_stall_names, names),
				      .context = c->handle};
	static char texts[STALLS][CUPTI_STALL_NAME];
	static char *names[STALLS];
	static uint32_t indexes[STALLS];
	cupti_result r = cupti_pc.PCSamplingGetNumStallReasons(&n);

	if (r != CUPTI_OK)
		return r;
	if (c->stall_count > STALLS)
		return CUPTI_NOT_SUPPORTED;
	for (size_t i = 0; i < c->stall_count; i++)
		names[i] = texts[i];
	s.count = c->stall_count;
	s.indexes = indexes;
	s.names = names;
	r = cupti_pc.PCSamplingGetStallReasons(&s);
	for (size_t i = 0; r == CUPTI_OK && i < c->stall_count; i++)
		stall_name(c, indexes[i], names[i]);
	return r;
}

/* ---- records ---- */

static void hand_over_pc(const struct device_context *c, const struct cupti_pc *pc, uint64_t end)
{
	struct cap_device_sample s = {.agent = cuda_agent(c->device),
				      .cycles = 1ull << config.period_log2,
				      .start = c->fetched,
				      .end = end};
	uint64_t samples[REASONS] = {0}, idle[REASONS] = {0};

	if (!pc->function)
		return;
	s.code = cuda_pc_code(pc);
	if (cupti.version >= CUPTI_VERSION_PC_CORRELATION && pc->correlation)
		s.correlation = cuda_submission_call(pc->correlation);
	for (size_t i = 0; i < pc->stall_count; i++) {
		uint32_t index = pc->stalls[i].reason;
		uint32_t reason = index < STALLS ? c->stalls[index].reason : 0;

		if (reason && c->stalls[index].idle)
			idle[reason - 1] += pc->stalls[i].samples;
		else if (reason)
			samples[reason - 1] += pc->stalls[i].samples;
	}
	for (uint32_t i = 0; i < reason_count; i++) {
		s.reason = reasons[i].id;
		s.samples = samples[i];
		s.idle = idle[i];
		if (s.samples || s.idle)
			cap_device_sample(&s);
	}
}

static void hand_over(struct device_context *c, const struct room *r)
{
	uint64_t now = tick_now();

	for (size_t i = 0; i < r->data.count && i < ROOM; i++)
		hand_over_pc(c, pc_at(r, i), now);
	cap_device_sample_lost(cuda_agent(c->device), r->data.dropped, 0);
	c->fetched = now;
}

/* ---- one device context; the caller holds the lock ---- */

/* CUPTI gives nothing more once the device's buffer was full. */
static void buffer_full(struct device_context *c)
{
	if (c->full)
		return;
	c->full = true;
	cap_device_sample_lost(cuda_agent(c->device), 0, 1);
	cap_note(2, "cuda",
		 "sampling of device %u has ended: its buffer was full; sample less often "
		 "(--pc-sampling=%u)",
		 c->device, config.period_log2 + 2);
}

static void fetch(struct device_context *c)
{
	struct cupti_pc_get g = {CUPTI_SIZE(cupti_pc_get, data), NULL, c->handle, &c->now.data};
	cupti_result r;

	do {
		room_empty(&c->now, c->stall_count);
		r = cupti_pc.PCSamplingGetData(&g);
		if (r == CUPTI_OUT_OF_MEMORY || c->now.data.full)
			buffer_full(c);
		if (r == CUPTI_OK)
			hand_over(c, &c->now);
	} while (r == CUPTI_OK && c->now.data.remaining && c->now.data.count);
}

static void disable(struct device_context *c)
{
	struct cupti_pc_context p = {CUPTI_SIZE(cupti_pc_context, context), NULL, c->handle};

	if (!c->sampled)
		return;
	c->sampled = false;
	if (!c->full)
		fetch(c);
	room_empty(&c->rest, c->stall_count);
	if (cupti_pc.PCSamplingDisable(&p) == CUPTI_OK) {
		if (c->rest.data.full)
			buffer_full(c);
		hand_over(c, &c->rest);
	}
	room_release(&c->now);
	room_release(&c->rest);
}

static cupti_result configure(struct device_context *c)
{
	struct cupti_pc_attribute a[] = {{.type = CUPTI_PC_MODE,
					  .number = config.mode == KYMO_DEVICE_SAMPLE_SERIALIZED
							    ? CUPTI_PC_SERIALIZED
							    : CUPTI_PC_CONTINUOUS},
					 {.type = CUPTI_PC_START_STOP},
					 {.type = CUPTI_PC_PERIOD, .number = config.period_log2},
					 {.type = CUPTI_PC_BUFFER, .buffer = &c->rest.data}};
	struct cupti_pc_configuration p = {CUPTI_SIZE(cupti_pc_configuration, attributes), NULL,
					   c->handle, sizeof(a) / sizeof(a[0]), a};

	return cupti_pc.PCSamplingSetConfigurationAttribute(&p);
}

static cupti_result enable(struct device_context *c)
{
	struct cupti_pc_context p = {CUPTI_SIZE(cupti_pc_context, context), NULL, c->handle};
	cupti_result r = cupti_pc.PCSamplingEnable(&p);

	if (r != CUPTI_OK)
		return r;
	r = stall_names(c);
	if (r == CUPTI_OK &&
	    (!room_make(&c->now, c->stall_count) || !room_make(&c->rest, c->stall_count)))
		r = CUPTI_OUT_OF_MEMORY;
	if (r == CUPTI_OK) {
		room_empty(&c->rest, c->stall_count);
		r = configure(c);
	}
	if (r == CUPTI_OK)
		return r;
	cupti_pc.PCSamplingDisable(&p);
	room_release(&c->now);
	room_release(&c->rest);
	return r;
}

static void sample_context(struct device_context *c)
{
	char text[160];
	cupti_result r;

	if (c->sampled || !atomic_load(&wanted))
		return;
	r = enable(c);
	if (r != CUPTI_OK) {
		cap_note(2, "cuda", "kernels of device %u are not sampled: %s", c->device,
			 cuda_profiler_refusal(r, text, sizeof(text)));
		return;
	}
	c->sampled = true;
	c->full = false;
	c->fetched = tick_now();
}

/* ---- the thread that fetches ---- */

static void run(void)
{
	kymo_sample_thread(false);
	helper_ready(&helper, true);
	while (helper_wait(&helper, FETCH_NS)) {
		pthread_mutex_lock(&lock);
		cap_guard_enter();
		for (uint32_t i = 0; i < CONTEXTS; i++)
			if (contexts[i].sampled && !contexts[i].full)
				fetch(&contexts[i]);
		cap_guard_leave();
		pthread_mutex_unlock(&lock);
		helper_done(&helper);
	}
}

/* ---- contexts come and go, in callbacks of CUPTI's ---- */

static bool lock_soon(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	return pthread_mutex_timedlock(&lock, &until) == 0;
}

static struct device_context *context_of(void *handle)
{
	for (uint32_t i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle == handle)
			return &contexts[i];
	return NULL;
}

void cuda_pc_context(void *handle, uint32_t device) UNCHECKED_LOCKS
{
	struct device_context *c;

	if (!lock_soon())
		return;
	c = context_of(handle);
	if (!c)
		c = context_of(NULL);
	if (c) {
		c->handle = handle;
		c->device = device;
		cap_guard_enter();
		sample_context(c);
		cap_guard_leave();
	} else if (atomic_load(&wanted)) {
		cap_note(2, "cuda",
			 "kernels of a device context are not sampled: %u contexts at "
			 "most",
			 CONTEXTS);
	}
	pthread_mutex_unlock(&lock);
}

void cuda_pc_context_end(void *handle) UNCHECKED_LOCKS
{
	struct device_context *c;

	if (!lock_soon())
		return;
	c = context_of(handle);
	if (c) {
		cap_guard_enter();
		disable(c);
		cap_guard_leave();
		*c = (struct device_context){0};
	}
	pthread_mutex_unlock(&lock);
}

/* ---- what core asks for ---- */

static void start(const kymo_device_sample_desc_t *d)
{
	char why[160];

	if (!cuda_alive())
		return;
	if (!cuda_profiler_take(CUDA_PROFILER_PC, why, sizeof(why))) {
		cap_note(2, "cuda", "kernels are not sampled: %s", why);
		return;
	}
	config = *d;
	cuda_modules_wanted(true);
	atomic_store(&wanted, true);
	pthread_mutex_lock(&lock);
	cap_guard_enter();
	for (uint32_t i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle)
			sample_context(&contexts[i]);
	cap_guard_leave();
	pthread_mutex_unlock(&lock);
	threaded = helper_start(&helper, "pc", &thread, run);
	if (!threaded)
		cap_note(2, "cuda", "samples of kernels come only when sampling ends: %s",
			 helper.reason);
}

static void stop(void)
{
	if (!cuda_alive() || !atomic_exchange(&wanted, false))
		return;
	if (threaded)
		helper_stop(&helper, thread);
	threaded = false;
	pthread_mutex_lock(&lock);
	cap_guard_enter();
	for (uint32_t i = 0; i < CONTEXTS; i++)
		disable(&contexts[i]);
	cap_guard_leave();
	pthread_mutex_unlock(&lock);
	cuda_modules_wanted(false);
	cuda_profiler_leave(CUDA_PROFILER_PC);
}

static void flush(void)
{
	if (cuda_alive() && threaded)
		helper_ask(&helper);
}

static const struct cap_device_sampler sampler = {.start = start, .stop = stop, .flush = flush};

void cuda_pc_init(void)
{
	cap_device_sampler_register(&sampler);
}

void cuda_pc_end(void)
{
	stop();
}

/* The thread and what it sampled are the parent's. */
void cuda_pc_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	atomic_store(&wanted, false);
	threaded = false;
}
