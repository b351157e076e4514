/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes: launches by the driver itself, and inside those by the runtime. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scenes.h"
#include "calls.h"

/* Launches by the driver: from the start, or after many by the runtime. */
static void driver(bool late)
{
	struct {
		void **function;
		void *module;
		const char *name;
	} p = {NULL, NULL, "named"};

	fake_context(1);
	if (late)
		many(1000);
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	if (late)
		whole(DRIVER, CU_GET_FUNCTION, &p, 0);
	for (int i = 0; i < 1000; i++)
		direct("direct");
	fake_deliver();
}

struct within {
	struct fake_call outer, inner;
	struct launch p;
	pthread_barrier_t in, go, out;
	uint32_t number;
	bool let_in;
	_Atomic bool left;
};

/* Stays in a launch until it may go, and makes another one. */
static void *within(void *arg)
{
	struct within *w = arg;

	w->number = fake_correlation();
	symbol = "within";
	begin(&w->outer, RUNTIME, RT_LAUNCH, &w->p, w->number);
	if (!w->let_in)
		begin(&w->inner, DRIVER, CU_LAUNCH, NULL, w->number);
	pthread_barrier_wait(&w->in);
	pthread_barrier_wait(&w->go);
	if (w->let_in) {
		w->inner = (struct fake_call){.domain = DRIVER,
					      .cbid = CU_LAUNCH,
					      .correlation = w->number,
					      .symbol = symbol,
					      .let_in = true};
		fake_enter(&w->inner);
		printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	}
	fake_leave(&w->inner, 0);
	fake_leave(&w->outer, 0);
	w->left = true;
	symbol = NULL;
	ran("within", w->number, fake_now(), fake_now() + 10, 7, 1);
	ran("later", launch("later", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	ran("later", launch("later", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	pthread_barrier_wait(&w->out);
	return NULL;
}

static struct within w;

/* That thread comes in as its function has been switched off, and has some time to leave before anything else happens. */
static void come_in(int domain, uint32_t cbid)
{
	const struct timespec look = {0, 1000000};

	if (domain != DRIVER || cbid != CU_LAUNCH)
		return;
	fake_between(NULL);
	pthread_barrier_wait(&w.go);
	for (int i = 0; i < 50 && !w.left; i++)
		nanosleep(&look, NULL);
}

/* What of the driver is used has shown while a thread is in a launch, or on its way into one (`late`, `held`). */
static void trial(bool late, bool held)
{
	pthread_t thread;

	w.let_in = late;
	if (held)
		fake_between(come_in);
	fake_context(1);
	pthread_barrier_init(&w.in, NULL, 2);
	pthread_barrier_init(&w.go, NULL, 2);
	pthread_barrier_init(&w.out, NULL, 2);
	pthread_create(&thread, NULL, within, &w);
	pthread_barrier_wait(&w.in);
	many(1000);
	if (!held) {
		printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
		pthread_barrier_wait(&w.go);
	}
	pthread_barrier_wait(&w.out);
	printf("listened to %d\n", fake_enabled(DRIVER, CU_LAUNCH));
	pthread_join(thread, NULL);
	fake_deliver();
}

/* A launch by the driver, then many by the runtime: that function stays listened to, others do not. */
static void mixed(void)
{
	fake_context(1);
	direct("first");
	many(1000);
	printf("listened to %d %d\n", fake_enabled(DRIVER, CU_LAUNCH),
	       fake_enabled(DRIVER, CU_LAUNCH_EX));
	direct("again");
	fake_deliver();
}

/* Kernels of calls that were not listened to turn listening on again. */
static void unheard(void)
{
	fake_context(1);
	many(1000);
	direct("unheard");
	fake_deliver();
	direct("heard");
	fake_deliver();
}

/* What the callbacks alone cost: nanoseconds a launch. */
static void cost(int count)
{
	uint64_t start;

	fake_context(1);
	for (int i = 0; i < 1000; i++)
		launch("cost", NULL, 1);
	start = fake_now();
	for (int i = 0; i < count; i++)
		launch("cost", NULL, 1);
	fprintf(stderr, "%.1f ns\n", (double)(fake_now() - start) / count);
}

bool driver_scene(const char *scene, int argc, char **argv)
{
	if (strcmp(scene, "driver") == 0)
		driver(argc > 2);
	else if (strcmp(scene, "trial") == 0)
		trial(argc > 2, argc > 2 && strcmp(argv[2], "held") == 0);
	else if (strcmp(scene, "mixed") == 0)
		mixed();
	else if (strcmp(scene, "unheard") == 0)
		unheard();
	else if (strcmp(scene, "cost") == 0)
		cost(argc > 2 ? atoi(argv[2]) : 1000000);
	else
		return false;
	return true;
}
