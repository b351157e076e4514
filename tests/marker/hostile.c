/* SPDX-License-Identifier: Apache-2.0 */
/* What programs do wrong, and what happens seldom: nothing of it may hurt, all of it is counted. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/marker.h>

#define BIG (10u << 20)

static char *big;
static pthread_barrier_t barrier;

static void null(void)
{
	kymo_marker_t small = {.size = 8, .name = "too small"};
	kymo_marker_t lies = {.size = sizeof(lies), .name = "lies", .payload_count = 1000000};
	kymo_string_t none = {0};

	kymo_mark(NULL);
	kymo_mark_full(NULL);
	kymo_mark_full(&small);
	kymo_mark_full(&lies);
	kymo_range_push(NULL);
	kymo_range_pop();
	kymo_range_push_string(NULL);
	kymo_range_pop();
	kymo_range_push_string(&none);
	kymo_range_pop();
	kymo_range_push_full(NULL);
	kymo_range_pop_domain(NULL);
	kymo_range_add(NULL, 3);
	kymo_name(KYMO_OBJECT_QUEUE, NULL, 1, NULL);
	kymo_name((kymo_object_t)77, "x", 1, "x");
	kymo_control((kymo_control_t)77);
	kymo_range_stop(77);
	kymo_range_stop(UINT64_MAX);
}

static void large(void)
{
	kymo_payload_t values[64];
	kymo_marker_t m = {.size = sizeof(m), .name = big, .payload = values, .payload_count = 64};

	for (int i = 0; i < 64; i++)
		values[i] = i % 2 ? kymo_text(big, big) : kymo_bytes("all", big, BIG);
	values[63].type = 99;
	kymo_range_push(big);
	kymo_range_pop();
	kymo_range_push_full(&m);
	kymo_range_pop();
}

/* More names than have numbers. */
static void many_names(void)
{
	char name[32];

	for (int i = 0; i < 70000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		kymo_range_push(name);
		memset(name, 'x', 4); /* it was copied */
		kymo_range_pop();
	}
}

static void deep(void)
{
	for (int i = 0; i < 300; i++)
		kymo_range_push("deep");
	for (int i = 0; i < 300; i++)
		kymo_range_pop();
	kymo_range_push("after deep");
	kymo_range_pop();
}

static void *pops_others(void *unused)
{
	for (int i = 0; i < 3; i++)
		kymo_range_pop();
	kymo_range_push("left by thread");
	return NULL;
}

static void *stays(void *unused)
{
	kymo_range_push("left by process");
	pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

static void *short_lived(void *unused)
{
	kymo_range_push("short");
	kymo_range_pop();
	return NULL;
}

static void threads(void)
{
	pthread_t t;

	kymo_range_push("held by main");
	pthread_create(&t, NULL, pops_others, NULL);
	pthread_join(t, NULL);
	kymo_range_pop();
	for (int i = 0; i < 2000; i++) {
		pthread_create(&t, NULL, short_lived, NULL);
		pthread_join(t, NULL);
	}
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, stays, NULL);
	pthread_barrier_wait(&barrier);
}

static void forks(void)
{
	pid_t child;

	kymo_range_push("before fork");
	child = fork();
	if (child == 0) {
		kymo_range_push("in child");
		kymo_range_pop();
		kymo_range_pop(); /* the parent's: ignored */
		exit(0);
	}
	waitpid(child, NULL, 0);
	kymo_range_pop();
}

static void process_ranges(void)
{
	static uint64_t ids[66000];
	int open = 0;

	for (int i = 0; i < 66000; i++)
		ids[i] = kymo_range_start("many");
	for (int i = 0; i < 66000; i++)
		open += ids[i] && kymo_range_stop(ids[i]) == 0;
	if (open && kymo_range_stop(ids[0]) != KYMO_MARKER_UNBALANCED)
		puts("an id was stopped twice");
	kymo_range_start("never stopped");
}

int main(void)
{
	big = malloc(BIG + 1);
	memset(big, 'A', BIG);
	big[BIG] = '\0';
	errno = 77;
	null();
	large();
	deep();
	threads();
	forks();
	process_ranges();
	many_names();
	kymo_range_pop();
	kymo_range_push("left by main");
	if (errno != 77)
		printf("errno became %d\n", errno);
	puts("survived");
	exit(0);
}
