/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for windows that repeat: period_program MS FILE [late]. Two threads mark a numbered tick every
 * millisecond or so, MS long; with "late" a forked child does, too, and then this program anew, which is what
 * comes late. Each tick goes to FILE.PID.THREAD with the clock before and after it, after a line with when the run
 * began, and what both clocks say now.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kymo/marker.h>

static const char *file;
static uint64_t until;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *tick(void *number)
{
	const char *began = getenv("KYMO_BEGAN");
	const struct timespec wait = {0, 1000000};
	char path[4096], name[64];
	unsigned n = 0;
	FILE *out;

	snprintf(path, sizeof(path), "%s.%d.%s", file, getpid(), (const char *)number);
	out = fopen(path, "w");
	if (!out)
		abort();
	fprintf(out, "%s %" PRIu64 " %" PRIu64 "\n", began ? began : "0", now(CLOCK_REALTIME),
		now(CLOCK_MONOTONIC_RAW));
	while (now(CLOCK_MONOTONIC) < until) {
		uint64_t before = now(CLOCK_MONOTONIC_RAW);

		snprintf(name, sizeof(name), "%d.%s.%u", getpid(), (const char *)number, n++);
		kymo_mark(name);
		fprintf(out, "%s %" PRIu64 " %" PRIu64 "\n", name, before,
			now(CLOCK_MONOTONIC_RAW));
		nanosleep(&wait, NULL);
	}
	fclose(out);
	return NULL;
}

static void run(uint64_t ms, char *first, char *second)
{
	pthread_t thread;

	until = now(CLOCK_MONOTONIC) + ms * 1000000u;
	if (pthread_create(&thread, NULL, tick, second) != 0)
		abort();
	tick(first);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	static char first[] = "first", second[] = "second", third[] = "third", fourth[] = "fourth";
	char half[24];
	pid_t child = -1;

	if (argc < 3)
		return 2;
	file = argv[2];
	if (argc > 3 && strcmp(argv[3], "anew") == 0) {
		run(ms, third, fourth);
		return 0;
	}
	if (argc > 3)
		child = fork();
	run(ms, first, second);
	if (child == 0)
		_exit(0);
	if (child < 0)
		return 0;
	waitpid(child, NULL, 0);
	snprintf(half, sizeof(half), "%" PRIu64, ms / 2);
	return execl("/proc/self/exe", argv[0], half, file, "anew", (char *)NULL);
}
