/* SPDX-License-Identifier: Apache-2.0 */
/* The device is a thread; its clock counts at 19.2 MHz or nearly so, from when it was switched on.
 */
#include "toy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "toy_trace.h"

/* A cheap oscillator: 500 parts in a million slow. */
#define HZ 19190400.0

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t device;
static struct toy_work *work; /* what the device is to do, or does */
static int done, stop;
static struct timespec switched_on;

uint64_t toy_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return 1000 + (uint64_t)(((double)(now.tv_sec - switched_on.tv_sec) +
				  (double)(now.tv_nsec - switched_on.tv_nsec) * 1e-9) *
				 HZ);
}

static void *device_main(void *unused)
{
	pthread_mutex_lock(&lock);
	while (!stop) {
		if (!work || done) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		pthread_mutex_unlock(&lock);
		work->start = toy_clock();
		if (work->kernel)
			work->kernel(work->to, work->count);
		else
			memcpy(work->to, work->from, work->count * sizeof(float));
		work->end = toy_clock();
		pthread_mutex_lock(&lock);
		done = 1;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

static void submit(struct toy_work *w)
{
	toy_trace_enter(w);
	pthread_mutex_lock(&lock);
	w->submitted = toy_clock();
	work = w;
	done = 0;
	pthread_cond_broadcast(&changed);
	while (!done)
		pthread_cond_wait(&changed, &lock);
	work = NULL;
	pthread_mutex_unlock(&lock);
	toy_trace_exit(w);
}

int toy_open(void)
{
	clock_gettime(CLOCK_MONOTONIC_RAW, &switched_on);
	if (pthread_create(&device, NULL, device_main, NULL))
		return 0;
	toy_trace_open();
	return 1;
}

float *toy_allocate(size_t count)
{
	return calloc(count, sizeof(float));
}

void toy_write(float *to, const float *from, size_t count)
{
	struct toy_work w = {.call = TOY_WRITE, .to = to, .from = from, .count = count};

	submit(&w);
}

void toy_read(float *to, const float *from, size_t count)
{
	struct toy_work w = {.call = TOY_READ, .to = to, .from = from, .count = count};

	submit(&w);
}

void toy_run(const char *name, toy_kernel kernel, float *data, size_t count)
{
	struct toy_work w = {
		.call = TOY_RUN, .name = name, .kernel = kernel, .to = data, .count = count};

	submit(&w);
}

void toy_close(void)
{
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(device, NULL);
	toy_trace_close();
}
