/* SPDX-License-Identifier: Apache-2.0 */
/* See fake.h. Sizes and names of CUPTI's are facts of its headers, stated here once more. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void (*callback_fn)(void *, int, uint32_t, const void *);

struct callback {
	int site;
	const char *function;
	const void *params;
	const void *result;
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *data;
	uint32_t correlation;
};

static struct {
	callback_fn callback;
	bool other;
	bool enabled[8][1024];
	bool kinds[64];
	bool lost[64]; /* were switched off */
	void (*request)(uint8_t **, size_t *, size_t *);
	void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
	uint64_t (*clock)(void);
	uint8_t *buffer;
	size_t size, used, delivering;
	size_t dropped;
	_Atomic uint32_t correlation, flushed, looked;
	_Atomic bool held;
	_Atomic int inside; /* calls whose begin was told and whose end was not yet */
	pthread_mutex_t lock;
	size_t sizes[64];
	struct {
		const void *handle;
		uint32_t id;
	} streams[256];
	unsigned stream_count;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};
static char contexts[16];
static size_t size_of(uint32_t kind);

static uint32_t setting(const char *name, uint32_t otherwise)
{
	const char *v = getenv(name);

	return v ? (uint32_t)atoi(v) : otherwise;
}

static uint32_t version(void)
{
	return setting("FAKE_VERSION", 130001);
}

/* ---- the program's side ---- */

void fake_init(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
	int (*initialize)(void);

	memcpy(&initialize, &symbol, sizeof(symbol));
	if (initialize)
		initialize();
}

int cuInit(unsigned flags)
{
	fake_init();
	fake_resource(5, NULL, NULL);
	return 0;
}

void fake_resource(uint32_t cbid, void *context, void *descriptor)
{
	struct {
		void *context, *handle, *descriptor;
	} r = {context, NULL, descriptor};

	if (state.callback && state.enabled[3][cbid])
		state.callback(NULL, 3, cbid, context || descriptor ? &r : NULL);
}

void *fake_context(uint32_t id)
{
	fake_resource(1, &contexts[id], NULL);
	return &contexts[id];
}

/*
 * The number of this thread's calls once it has left a call of which it told the begin and, as nobody listened any more,
 * not the end; if nobody listened to any call then, it tells of no call of the thread any more. So does CUPTI 13 (seen
 * on an H200 with cuLaunchKernelEx, and with programs that were attached to again and again).
 */
static _Thread_local uint32_t stuck;
static _Thread_local bool deaf;
static _Thread_local unsigned
	stuck_use; /* valid if it is `uses`: CUPTI that is finalized knows nothing of threads */
static _Atomic unsigned uses;
enum { RUNTIME_LAUNCH = 211 };

static inline __attribute__((always_inline)) void call(struct fake_call *c, int site)
{
	struct callback d = {site,          "function",
			     c->params,     site ? &c->result : NULL,
			     c->symbol,     c->context_id ? &contexts[c->context_id] : NULL,
			     c->context_id, &c->data,
			     c->correlation};

	const unsigned use = uses;
	bool listened;

	if (stuck_use != use)
		stuck = deaf = 0;
	stuck_use = use;
	listened = state.callback && state.enabled[c->domain][c->cbid] && !deaf;
	if (listened || (!site && c->let_in && state.callback))
		state.callback(NULL, c->domain, c->cbid, &d);
	if (!site) {
		c->told = listened || c->let_in;
		c->use = use;
		state.inside += c->told;
	} else if (c->told && c->use == uses) {
		state.inside--;
		if (!listened && !deaf) {
			stuck = c->correlation;
			deaf = !state.enabled[2][RUNTIME_LAUNCH];
		}
	}
}

void fake_enter(struct fake_call *c)
{
	call(c, 0);
}

void fake_leave(struct fake_call *c, int32_t result)
{
	c->result = result;
	call(c, 1);
}

uint32_t fake_correlation(void)
{
	if (stuck && stuck_use == uses)
		return stuck;
	return ++state.correlation;
}

void fake_skip(uint32_t to)
{
	state.correlation = to;
}

void fake_record(const void *record, size_t bytes)
{
	uint32_t kind;
	size_t n = 0;

	memcpy(&kind, record, sizeof(kind));
	if (!state.kinds[kind] || state.lost[kind])
		return;
	pthread_mutex_lock(&state.lock);
	if (state.buffer && state.used + bytes > state.size) {
		pthread_mutex_unlock(&state.lock);
		fake_deliver();
		pthread_mutex_lock(&state.lock);
	}
	if (!state.buffer)
		state.request(&state.buffer, &state.size, &n);
	if (state.buffer && state.used + bytes <= state.size) {
		memcpy(state.buffer + state.used, record, bytes);
		state.used += bytes;
	} else {
		state.dropped++;
	}
	pthread_mutex_unlock(&state.lock);
}

static void *deliver(void *arg)
{
	uint8_t *buffer;
	size_t size, used;

	pthread_mutex_lock(&state.lock);
	buffer = state.buffer;
	size = state.size;
	used = state.used;
	state.buffer = NULL;
	state.used = 0;
	state.delivering += used;
	pthread_mutex_unlock(&state.lock);
	if (buffer)
		state.complete(NULL, 0, buffer, size, used);
	pthread_mutex_lock(&state.lock);
	state.delivering -= used;
	pthread_mutex_unlock(&state.lock);
	return NULL;
}

void fake_deliver(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, deliver, NULL) == 0)
		pthread_join(t, NULL);
}

void fake_drop(size_t count)
{
	state.dropped += count;
}

uint64_t fake_now(void)
{
	struct timespec t;

	if (state.clock)
		return state.clock();
	clock_gettime(CLOCK_REALTIME, &t); /* as CUPTI does */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool fake_kind(int kind)
{
	return state.kinds[kind];
}

bool fake_enabled(int domain, uint32_t cbid)
{
	return state.enabled[domain][cbid];
}

void fake_size(uint32_t kind, size_t bytes)
{
	state.sizes[kind] = bytes;
}

void fake_stream(const void *handle, uint32_t id)
{
	unsigned i = 0;

	while (i < state.stream_count && state.streams[i].handle != handle)
		i++;
	if (i == sizeof(state.streams) / sizeof(state.streams[0]))
		abort();
	state.streams[i].handle = handle;
	state.streams[i].id = id;
	if (i == state.stream_count)
		state.stream_count++;
}

void fake_other_subscriber(void)
{
	state.other = true;
}

size_t fake_held(void)
{
	size_t held;

	pthread_mutex_lock(&state.lock);
	held = state.used + state.delivering;
	pthread_mutex_unlock(&state.lock);
	return held;
}

void fake_hold(bool on)
{
	const size_t start = 16, end = 24; /* of kernels, copies and sets alike */
	uint64_t now = fake_now(), times[2] = {now, now + 10};
	uint32_t kind;

	pthread_mutex_lock(&state.lock);
	state.held = on;
	state.looked = 0;
	for (size_t at = 0; !on && at < state.used; at += size_of(kind)) {
		memcpy(&kind, state.buffer + at, sizeof(kind));
		if (memcmp(state.buffer + at + end, "\0\0\0\0\0\0\0", 8) == 0)
			memcpy(state.buffer + at + start, times, sizeof(times));
	}
	pthread_mutex_unlock(&state.lock);
}

unsigned fake_looked(void)
{
	return state.looked;
}

unsigned fake_flushed(void)
{
	return state.flushed;
}

/* ---- CUPTI's side ---- */

#define OK       0
#define MULTIPLE 39

#ifdef FAKE_STATIC /* a function that only CUPTI's static library has */
int _nv035946cupti(void);
int _nv035946cupti(void)
{
	return OK;
}
#endif

int cuptiGetVersion(uint32_t *v)
{
	*v = version();
	return OK;
}

int cuptiGetResultString(int result, const char **text)
{
	*text = result == 35         ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
		: result == MULTIPLE ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
				     : "CUPTI_ERROR";
	return OK;
}

int cuptiSubscribe(void **subscriber, callback_fn callback, void *user)
{
	if (setting("FAKE_NO_SUBSCRIBER", 0))
		return (int)setting("FAKE_NO_SUBSCRIBER", 0);
	if (state.other || state.callback)
		return MULTIPLE;
	state.callback = callback;
	*subscriber = &state;
	return OK;
}

struct params {
	size_t size;
	const char *name;
	char *old;
	size_t old_size;
};

int cuptiSubscribe_v2(void **subscriber, callback_fn callback, void *user, struct params *p)
{
	if (state.other)
		strncpy(p->old, "Some Other Profiler", p->old_size - 1);
	return cuptiSubscribe(subscriber, callback, user);
}

int cuptiUnsubscribe(void *subscriber)
{
	state.callback = NULL;
	memset(state.enabled, 0, sizeof(state.enabled));
	return OK;
}

static bool ever[8][1024]; /* enabled, at some time */
static void (*between)(int domain, uint32_t cbid);

void fake_between(void (*fn)(int domain, uint32_t cbid))
{
	between = fn;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t cbid)
{
	if (domain > 7 || cbid > 1023)
		return 1;
	state.enabled[domain][cbid] = on;
	ever[domain][cbid] |= on != 0;
	if (!on && between)
		between(domain, cbid);
	return OK;
}

/* The functions that somebody has listened to, for FAKE_LISTENED: a file. */
__attribute__((destructor)) static void tell_listened(void)
{
	const char *path = getenv("FAKE_LISTENED");
	FILE *f = path ? fopen(path, "w") : NULL;

	for (int domain = 0; f && domain < 8; domain++)
		for (int cbid = 0; cbid < 1024; cbid++)
			if (ever[domain][cbid])
				fprintf(f, "%d %d\n", domain, cbid);
	if (f)
		fclose(f);
}

int cuptiGetTimestamp(uint64_t *ns)
{
	*ns = fake_now();
	return OK;
}

int cuptiGetContextId(void *context, uint32_t *id)
{
	*id = (uint32_t)((char *)context - contexts);
	return OK;
}

/* Contexts are of one device after the other. */
int cuptiGetDeviceId(void *context, uint32_t *id)
{
	uint32_t number = 0;

	cuptiGetContextId(context, &number);
	*id = number > 0 && number <= setting("FAKE_DEVICES", 1) ? number - 1 : 0;
	return OK;
}

int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	for (unsigned i = 0; i < state.stream_count; i++)
		if (state.streams[i].handle == stream) {
			*id = state.streams[i].id;
			return OK;
		}
	*id = stream ? (uint32_t)(uintptr_t)stream & 0xff : 7;
	return OK;
}

static struct device {
	uint32_t kind, flags;
	uint64_t bandwidth, bytes;
	uint32_t numbers[20];
	uint32_t major, minor, id, ecc;
	uint8_t uuid[16];
	const char *name;
	uint8_t visible, mig, reserved[6];
	uint32_t instances[2];
	uint8_t mig_uuid[16];
	uint64_t numa; /* CUDA 13 */
} device = {.kind = 8,
	    .bytes = 1ull << 37,
	    .numbers = {64, 128, 32, 1980000},
	    .major = 9,
	    .uuid = {0xde, 0xad, 0xbe, 0xef, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
	    .name = "Fake GPU"};

static void tell_devices(void)
{
	const uint32_t first = setting("FAKE_FIRST", 0);

	device.mig = (uint8_t)setting("FAKE_MIG", 0);
	if (setting("FAKE_MULTIPROCESSORS", 0)) {
		device.numbers[4] = 2; /* copy engines, warps and blocks of a multiprocessor */
		device.numbers[5] = setting("FAKE_MULTIPROCESSORS", 0);
		device.numbers[7] = 64;
		device.numbers[8] = 32;
	}
	for (uint32_t i = 0; i < setting("FAKE_DEVICES", 1); i++) {
		device.id = i;
		device.uuid[15] = (uint8_t)(16 + first + i);
		device.mig_uuid[0] = (uint8_t)(0xa0 + first + i);
		fake_record(&device, version() >= 130000 ? sizeof(device) : sizeof(device) - 8);
	}
}

int cuptiActivityEnable(int kind)
{
	if (kind == 52 && version() < 19)
		return 1;
	state.kinds[kind] = true;
	if (kind == 8 && !getenv("FAKE_REPLAY"))
		tell_devices();
	return OK;
}

/* If a thread is in a launch then, CUPTI 13 has no records of it any more (seen on an H200); here of no thread. */
int cuptiActivityDisable(int kind)
{
	state.kinds[kind] = false;
	state.lost[kind] |= state.inside > 0;
	return OK;
}

/* As CUPTI 13 does it: it begins anew with the next subscriber. A buffer that was not taken before does not come back. */
int cuptiFinalize(void)
{
	if (!state.callback)
		return 1;
	state.callback = NULL;
	memset(state.enabled, 0, sizeof(state.enabled));
	memset(state.kinds, 0, sizeof(state.kinds));
	memset(state.lost, 0, sizeof(state.lost));
	pthread_mutex_lock(&state.lock);
	state.buffer = NULL;
	state.used = 0;
	pthread_mutex_unlock(&state.lock);
	state.clock = NULL;
	state.correlation = 0;
	state.inside = 0;
	state.dropped = 3; /* of what ran meanwhile */
	uses++;
	return OK;
}

static size_t size_of(uint32_t kind)
{
	const bool v13 = version() >= 130000, v12 = version() >= 19;

	if (state.sizes[kind])
		return state.sizes[kind];
	switch (kind) {
	case 3:
	case 10:
		return v13 ? 216 : v12 ? 208 : 200;
	case 1:
		return v13 ? 96 : 88;
	case 22:
		return 96;
	case 2:
		return 88;
	case 8:
		return v13 ? sizeof(device) : sizeof(device) - 8;
	case 17:
		return v13 ? 56 : v12 ? 48 : 40;
	case 25:
		return v13 ? 104 : 64;
	case 50:
		return v13 ? 80 : 72;
	case 52:
		return v13 ? 72 : 64;
	}
	return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *next = buffer;
	uint32_t kind;

	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		next = (uint8_t *)*record + size_of(kind);
	}
	if (next >= buffer + valid)
		return 12;
	*record = next;
	return OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	*dropped = state.dropped;
	state.dropped = 0;
	return OK;
}

int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
				   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t))
{
	state.request = request;
	state.complete = complete;
	return OK;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	state.looked += strcmp(name, "kymo-cuda") == 0; /* which does so from time to time */
	state.flushed += strcmp(name, "kymo-cuda") != 0;
	while (getenv("FAKE_STUCK"))
		pause();
	if (flag || !state.held)
		fake_deliver();
	return OK;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
	state.clock = clock;
	return OK;
}

int cuptiActivityConfigureUnifiedMemoryCounter(void *config, uint32_t count)
{
	return OK;
}
