/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose clocks step while it runs: `stepping CLOCK SECONDS`. It stands before
 * clock_gettime(), so that everything in the process sees the step, Kymo too; the system's own
 * clocks are left alone. Its ranges are 10 ms long, before and after the step.
 */
#include <dlfcn.h>
#include <kymo/marker.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int stepping = -1;
static long seconds;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*next)(clockid_t, struct timespec *);
	int status;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	status = next(clock, t);
	if (status == 0 && clock == stepping)
		t->tv_sec += seconds;
	return status;
}

static void range(const char *name)
{
	const struct timespec pause = {0, 10000000};

	kymo_range_push(name);
	nanosleep(&pause, NULL);
	kymo_range_pop();
}

int main(int argc, char **argv)
{
	range("before");
	if (argc > 2) {
		seconds = atol(argv[2]);
		stepping = strcmp(argv[1], "realtime") == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC_RAW;
	}
	range("after");
	range("later");
	return 0;
}
