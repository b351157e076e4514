/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes down what CUPTI tells Kymo on a machine with a GPU, for tests without one: replay.c says it
 * again. A library between the two, linked to CUPTI:
 *
 *   cc -shared -fPIC -O2 -Isrc -o libcapture.so tests/cuda/gpu/capture.c -I$CUDA/include \
 *      -L$CUDA/lib64 -Wl,--no-as-needed -lcupti -Wl,-rpath,$CUDA/lib64 -ldl -lpthread
 *   CAPTURE=out.txt KYMO_CUPTI=$PWD/libcapture.so kymo run ./program
 *
 * One line an event, in the order of time, starting with the nanoseconds (of the clock that Kymo
 * gives CUPTI) since the first:
 *
 *   V version start                               of CUPTI; the first nanosecond
 *   T thread context device                       a context was made
 *   S handle per-thread id                        CUPTI's number of a stream
 *   C thread domain cbid site context correlation result function symbol words [place=bytes]...
 *                                                 a call's entry (site 0) or exit: the words of its
 *                                                 parameters, and what those point to
 *   R bytes [name]                                an activity record, and the name it points to
 *   D                                             the buffer that these were in was complete
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "capture/cuda/cupti.h"

#define WORDS   16u
#define POINTED 256u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;
static uint64_t began;
static unsigned threads;
static _Thread_local unsigned thread;
static uint64_t (*clock_of)(void);
static cupti_callback_fn callback;
static cupti_complete_fn complete;

static void *real(const char *name)
{
	static void *library;

	if (!library)
		library = dlopen("libcupti.so.13", RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		library = dlopen("libcupti.so.12", RTLD_LAZY | RTLD_NOLOAD);
	return dlsym(library, name);
}

#define REAL(name, type, ...) ((cupti_result(*) type)real(#name))(__VA_ARGS__)

static uint64_t now(void)
{
	struct timespec t;

	if (clock_of)
		return clock_of();
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* With the lock held. Forked children write nothing: the file is their parent's. */
static bool line(char what)
{
	static pid_t owner;

	if (!out) {
		const char *path = getenv("CAPTURE");

		out = path ? fopen(path, "w") : NULL;
		owner = getpid();
		began = now();
	}
	if (!out || owner != getpid())
		return false;
	fprintf(out, "%llu %c", (unsigned long long)(now() - began), what);
	return true;
}

static void hex(const void *bytes, size_t count)
{
	const uint8_t *b = bytes;

	while (count && !b[count - 1])
		count--; /* what is left out is zero */
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%02x", b[i]);
	if (!count)
		fputs("00", out);
}

static size_t readable(uint64_t address, void *to, size_t bytes)
{
	const struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	ssize_t n = address > 4096 ? process_vm_readv(getpid(), &local, 1, &remote, 1, 0) : 0;

	return n > 0 ? (size_t)n : 0;
}

static void words_of(const void *params)
{
	uint64_t words[WORDS] = {0};
	uint8_t pointed[POINTED];
	size_t n = readable((uintptr_t)params, words, sizeof(words)) / 8;

	fputc(' ', out);
	hex(words, n * 8);
	for (size_t i = 0; i < n; i++) {
		size_t bytes = readable(words[i], pointed, sizeof(pointed));

		if (!bytes)
			continue;
		fprintf(out, " %zu=", i);
		hex(pointed, bytes);
	}
}

static void called(int domain, uint32_t cbid, const struct cupti_callback *d)
{
	if (!thread)
		thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	if (!line('C'))
		return;
	fprintf(out, " %u %d %u %d %u %u %d %s %s", thread, domain, cbid, d->site, d->context_id,
		d->correlation, d->site && d->result ? *(const int *)d->result : 0, d->function,
		d->symbol ? d->symbol : "-");
	words_of(d->params);
	fputc('\n', out);
}

static void resource(const struct cupti_resource *r)
{
	uint32_t context = 0, device = 0;

	REAL(cuptiGetContextId, (void *, uint32_t *), r->context, &context);
	REAL(cuptiGetDeviceId, (void *, uint32_t *), r->context, &device);
	if (!thread)
		thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	if (line('T'))
		fprintf(out, " %u %u %u\n", thread, context, device);
}

static void between(void *user, int domain, uint32_t cbid, const void *data)
{
	pthread_mutex_lock(&lock);
	if (domain == CUPTI_DRIVER || domain == CUPTI_RUNTIME)
		called(domain, cbid, data);
	else if (domain == CUPTI_RESOURCE && cbid == CUPTI_CONTEXT_CREATED)
		resource(data);
	pthread_mutex_unlock(&lock);
	callback(user, domain, cbid, data);
}

static const char *name_of(const struct cupti_record *r)
{
	switch (r->kind) {
	case CUPTI_KERNEL:
	case CUPTI_CONCURRENT_KERNEL:
		return ((const struct cupti_kernel *)r)->name;
	case CUPTI_DEVICE:
		return ((const struct cupti_device *)r)->name;
	}
	return NULL;
}

static void between_buffers(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			    size_t valid)
{
	cupti_result (*next)(uint8_t *, size_t, void **) =
		(cupti_result(*)(uint8_t *, size_t, void **))real("cuptiActivityGetNextRecord");
	void *record = NULL, *after = NULL;

	pthread_mutex_lock(&lock);
	if (valid && next(buffer, valid, &after) == CUPTI_OK)
		for (record = after; record; record = after) {
			bool more = next(buffer, valid, &after) == CUPTI_OK;
			const uint8_t *end = more ? after : buffer + valid;
			const char *name = name_of(record);

			if (!more)
				after = NULL;
			if (!line('R'))
				break;
			fprintf(out, " %zu ", (size_t)(end - (uint8_t *)record));
			hex(record, (size_t)(end - (uint8_t *)record));
			fprintf(out, " %s\n", name ? name : "");
		}
	if (line('D'))
		fputc('\n', out);
	if (out)
		fflush(out);
	pthread_mutex_unlock(&lock);
	complete(context, stream, buffer, size, valid);
}

#define EXPORT __attribute__((visibility("default")))

EXPORT cupti_result cuptiSubscribe(void **subscriber, cupti_callback_fn f, void *user);
EXPORT cupti_result cuptiSubscribe_v2(void **subscriber, cupti_callback_fn f, void *user,
				      struct cupti_subscriber_params *p);
EXPORT cupti_result cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread,
				       uint32_t *id);
EXPORT cupti_result cuptiActivityRegisterCallbacks(cupti_request_fn request, cupti_complete_fn f);
EXPORT cupti_result cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void));

static void version(void)
{
	uint32_t v = 0;

	REAL(cuptiGetVersion, (uint32_t *), &v);
	pthread_mutex_lock(&lock);
	if (line('V'))
		fprintf(out, " %u %llu\n", v, (unsigned long long)began);
	pthread_mutex_unlock(&lock);
}

cupti_result cuptiSubscribe(void **subscriber, cupti_callback_fn f, void *user)
{
	callback = f;
	version();
	return REAL(cuptiSubscribe, (void **, cupti_callback_fn, void *), subscriber, between,
		    user);
}

cupti_result cuptiSubscribe_v2(void **subscriber, cupti_callback_fn f, void *user,
			       struct cupti_subscriber_params *p)
{
	callback = f;
	version();
	return REAL(cuptiSubscribe_v2,
		    (void **, cupti_callback_fn, void *, struct cupti_subscriber_params *),
		    subscriber, between, user, p);
}

cupti_result cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	cupti_result r = REAL(cuptiGetStreamIdEx, (void *, void *, uint8_t, uint32_t *), context,
			      stream, per_thread, id);

	pthread_mutex_lock(&lock);
	if (r == CUPTI_OK && line('S'))
		fprintf(out, " %llx %u %u\n", (unsigned long long)(uintptr_t)stream, per_thread,
			*id);
	pthread_mutex_unlock(&lock);
	return r;
}

cupti_result cuptiActivityRegisterCallbacks(cupti_request_fn request, cupti_complete_fn f)
{
	complete = f;
	return REAL(cuptiActivityRegisterCallbacks, (cupti_request_fn, cupti_complete_fn), request,
		    between_buffers);
}

cupti_result cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
	clock_of = clock;
	return REAL(cuptiActivityRegisterTimestampCallback, (uint64_t(*)(void)), clock);
}
