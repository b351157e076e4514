/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges to begin and end a recording with: nested ones of one name, a name with a slash, two threads that are in a range
 * at different times, one that another thread ends, one in which the process forks. Marks say what was recorded.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/marker.h>

static pthread_barrier_t barrier;
static uint64_t job;

static void *first(void *data)
{
	kymo_range_push("step");
	kymo_mark("first-in-step");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* the other one has said what it does beside it */
	kymo_range_pop();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* the job has begun */
	kymo_range_stop(job);
	kymo_mark("first-after-job");
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void *second(void *data)
{
	pthread_barrier_wait(&barrier);
	kymo_mark("second-beside-step");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* the step has ended */
	job = kymo_range_start("job");
	kymo_mark("second-in-job");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* it has ended */
	kymo_range_push("step");
	kymo_mark("second-in-step");
	kymo_range_pop();
	return NULL;
}

static void nested(void)
{
	kymo_range_push("a");
	kymo_mark("in-a");
	kymo_range_push("a");
	kymo_mark("in-a-a");
	kymo_range_pop();
	kymo_range_pop();
	kymo_range_push("x/y");
	kymo_mark("in-x-y");
	kymo_range_pop();
	kymo_range_push("x");
	kymo_range_push("y");
	kymo_mark("in-y-of-x");
	kymo_range_pop();
	kymo_range_pop();
	kymo_range_push("a#3");
	kymo_mark("in-a#3");
	kymo_range_pop();
}

static void forked(void)
{
	kymo_range_push("forked");
	if (fork() == 0) {
		kymo_mark("child-in-forked");
		kymo_range_push("a");
		kymo_mark("child-in-a");
		kymo_range_pop();
		exit(0);
	}
	wait(NULL);
	kymo_mark("parent-in-forked");
	kymo_range_pop();
}

int main(void)
{
	pthread_t one, two;

	kymo_mark("outside");
	nested();
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&one, NULL, first, NULL);
	pthread_create(&two, NULL, second, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	forked();
	kymo_mark("outside");
	return 0;
}
