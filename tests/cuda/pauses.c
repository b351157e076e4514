/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes: work in the range "step" and outside of it, where nothing is recorded if steps alone are. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "scenes.h"
#include "calls.h"
#include "../../include/kymo/marker.h"

/* Launches by the runtime, or by the driver itself. */
static void pauses(bool by_driver)
{
	fake_context(1);
	if (by_driver)
		direct("outside");
	kernels("outside", 1000);
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	kymo_range_push("step");
	if (by_driver)
		direct("inside");
	kernels("inside", 3);
	kymo_range_pop();
	kernels("outside", 1000);
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	fake_deliver();
}

/* It has shown in a step that the driver's launches need no listening. */
static void late(void)
{
	fake_context(1);
	kymo_range_push("step");
	kernels("inside", 1000);
	kymo_range_pop();
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	kernels("outside", 1003);
	fake_deliver();
}

/* A number of a call in a step, and then of one outside; and the other way round. */
static void repeats(void)
{
	uint32_t number = fake_correlation();

	fake_context(1);
	kymo_range_push("step");
	launch_as(number, "first", NULL, 1);
	kymo_range_pop();
	launch_as(number, "second", NULL, 1);
	now_ran("first", number);
	fake_deliver();
	number = fake_correlation();
	launch_as(number, "third", NULL, 1);
	kymo_range_push("step");
	launch_as(number, "fourth", NULL, 1);
	kymo_range_pop();
	now_ran("fourth", number);
	number = fake_correlation();
	launch_as(number, "fifth", NULL, 1); /* both outside */
	launch_as(number, "sixth", NULL, 1);
	now_ran("fifth", number);
	fake_deliver();
}

static void *step(void *data)
{
	pthread_barrier_t *barrier = data;

	kymo_range_push("step");
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier); /* the other thread is in a call */
	kymo_range_pop();
	pthread_barrier_wait(barrier);
	return NULL;
}

/* A launch is under way when the step of another thread ends. */
static void across(void)
{
	struct launch p = {"across", {1, 1, 1}, {1, 1, 1}, NULL, 0, NULL};
	const uint32_t number = fake_correlation();
	struct fake_call outer, inner;
	pthread_barrier_t barrier;
	pthread_t other;

	fake_context(1);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&other, NULL, step, &barrier);
	pthread_barrier_wait(&barrier);
	symbol = "across";
	begin(&outer, RUNTIME, RT_LAUNCH, &p, number);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	begin(&inner, DRIVER, CU_LAUNCH, NULL, number);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
	pthread_join(other, NULL);
	now_ran("across", number);
	fake_deliver();
}

/* Of the runtime, which calls the driver's. */
static void profiler(bool on)
{
	const uint32_t number = fake_correlation();
	struct fake_call outer, inner;

	begin(&outer, RUNTIME, on ? RT_PROFILER_START : RT_PROFILER_STOP, NULL, number);
	begin(&inner, DRIVER, on ? CU_PROFILER_START : CU_PROFILER_STOP, NULL, number);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
}

static void *other_thread(void *data)
{
	kernels("other", 2);
	return NULL;
}

/* Work before, between and after; the inner one of two nested ones ends nothing if they count: calls by the runtime once. */
static void controlled(void)
{
	pthread_t other;

	fake_context(1);
	kernels("before", 5);
	profiler(true);
	profiler(true);
	kernels("inside", 3);
	profiler(false);
	kernels("nested", 7);
	pthread_create(&other, NULL, other_thread, NULL);
	pthread_join(other, NULL);
	whole(DRIVER, CU_PROFILER_STOP, NULL, 0);
	printf("kernels wanted %d\n", fake_kind(10));
	kernels("after", 4);
	whole(DRIVER, CU_PROFILER_START, NULL, 0);
	direct("driver");
	whole(DRIVER, CU_PROFILER_STOP, NULL, 0);
	kernels("end", 6);
	fake_deliver();
}

bool pause_scene(const char *scene, int argc)
{
	if (strcmp(scene, "pauses") == 0)
		pauses(argc > 2);
	else if (strcmp(scene, "late_pause") == 0)
		late();
	else if (strcmp(scene, "repeats") == 0)
		repeats();
	else if (strcmp(scene, "controlled") == 0)
		controlled();
	else if (strcmp(scene, "across") == 0)
		across();
	else
		return false;
	return true;
}
