/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool: a flight recorder. Everything is recorded into a small buffer whose oldest records give
 * way; nothing is read until a kernel is slower than SLOW_NS (environment, default 10 ms). Then
 * what led up to it is printed, once. Shows KYMO_POLICY_OVERWRITE, a filter of activities by
 * callback, a thread as Kymo makes its own, and kymo_drain().
 *
 *   cc -shared -fPIC flight_recorder.c $(pkg-config --cflags --libs kymo) -o libflight.so
 *   KYMO_TOOLS=./libflight.so OPENCL_LAYERS=$(pkg-config --variable=library kymo) ./a.out
 */
#include <kymo/kymo.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kymo_context_t recorder; /* its buffer takes everything */
static kymo_buffer_t buffer;
static uint64_t slow_ns = 10000000;
static atomic_bool seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long printed; /* while `telling` */
static bool telling;          /* both under `lock` */
static sem_t slow, told;

/* A kernel has completed. Only says so: waiting for the buffer here would hold up the program. */
static void dispatched(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	kymo_value_t v = {.size = sizeof(v)};

	for (uint32_t i = 0; i < op->field_count; i++)
		if (strcmp(op->fields[i].name, "duration") == 0 && !kymo_callback_value(r, i, &v) &&
		    v.u >= slow_ns && !atomic_exchange(&seen, true))
			sem_post(&slow);
}

/*
 * What nobody asked for is delivered at the end of the process, and work that was submitted before
 * the recorder stopped may complete after it: neither is told.
 */
static void last_words(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	pthread_mutex_lock(&lock);
	if (telling) {
		printed++;
		fprintf(stderr, "%llu +%llu ns thread %u %s:%s #%llu\n",
			(unsigned long long)r->start, (unsigned long long)(r->end - r->start),
			r->thread, r->domain->name, r->domain->ops[r->op].name,
			(unsigned long long)r->correlation);
	}
	pthread_mutex_unlock(&lock);
}

static void tell(bool yes)
{
	pthread_mutex_lock(&lock);
	telling = yes;
	pthread_mutex_unlock(&lock);
}

/* A thread of the tool's, which Kymo does not trace. */
static void watch(void *data)
{
	kymo_buffer_info_t info = {.size = sizeof(info)};
	kymo_status_t s;

	while (sem_wait(&slow) != 0)
		;
	tell(true);
	kymo_context_stop(recorder); /* so that what is read stays what led up to it */
	s = kymo_drain(recorder, 1000000000);
	kymo_buffer_info(buffer, &info);
	tell(false);
	fprintf(stderr, "a slow kernel: %lu records kept, %llu had given way, %llu lost (%s)\n",
		printed, (unsigned long long)info.overwritten, (unsigned long long)info.lost,
		kymo_status_text(s));
	sem_post(&told);
}

/* A child has none of its parent's threads. */
static void child(void *data)
{
	atomic_store(&seen, false);
	pthread_mutex_init(&lock, NULL);
	telling = false;
	printed = 0;
	sem_init(&slow, 0, 0);
	sem_init(&told, 0, 0);
	kymo_context_start(recorder);
	kymo_thread_start("flight", watch, NULL);
}

static kymo_status_t start(void *data)
{
	kymo_selection_t dispatches = {.size = sizeof(dispatches), .domain = "dispatch"};
	kymo_buffer_desc_t desc = {.size = sizeof(desc),
				   .bytes = 1 << 20,
				   .policy = KYMO_POLICY_OVERWRITE,
				   .deliver = last_words};
	const char *limit = getenv("SLOW_NS");
	kymo_context_t trigger;
	kymo_status_t s = kymo_context_create(&recorder);

	if (limit)
		slow_ns = strtoull(limit, NULL, 10);
	sem_init(&slow, 0, 0);
	sem_init(&told, 0, 0);
	s = s ? s : kymo_buffer_create(recorder, &desc, &buffer);
	s = s ? s : kymo_buffer_service(recorder, NULL, buffer);
	s = s ? s : kymo_context_create(&trigger);
	s = s ? s : kymo_callback_service(trigger, &dispatches, dispatched, NULL);
	s = s ? s : kymo_thread_start("flight", watch, NULL);
	s = s ? s : kymo_context_start(recorder);
	return s ? s : kymo_context_start(trigger);
}

/* The program ends: what the thread has begun to tell is told to its end. */
static void end(void *data)
{
	while (atomic_load(&seen) && sem_wait(&told) != 0)
		;
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "flight recorder", start, end, child, NULL};

	return &tool;
}
