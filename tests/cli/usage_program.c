/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses so much of processors and memory: usage_program MIB MAIN_MS OTHER_MS [exec|kill|told]. `exec` begins
 * anew in its place with half of it; `kill` ends it when it has used all; `told` prints how long its main thread had
 * waited for a processor when it began and when it ended, ns.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kymo/marker.h>

static double used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void burn(int ms)
{
	kymo_mark("burns");
	while (used_ms() < ms)
		;
}

static unsigned long long delay_ns(void)
{
	unsigned long long ns = 0;
	FILE *f = fopen("/proc/self/schedstat", "r");

	if (f && fscanf(f, "%*u %llu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns;
}

static void *other(void *ms)
{
	burn((int)(intptr_t)ms);
	return NULL;
}

int main(int argc, char **argv)
{
	int mib = atoi(argv[1]), mine = atoi(argv[2]), others = atoi(argv[3]);
	const char *then = argc > 4 ? argv[4] : "";
	char *memory = malloc((size_t)mib << 20);
	unsigned long long began = delay_ns();
	char half[3][16];
	pthread_t thread;

	if (!memory)
		return 1;
	memset(memory, 1, (size_t)mib << 20);
	pthread_create(&thread, NULL, other, (void *)(intptr_t)others);
	burn(mine);
	pthread_join(thread, NULL);
	if (strcmp(then, "told") == 0)
		printf("%llu %llu\n", began, delay_ns());
	if (strcmp(then, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(then, "exec") == 0) {
		snprintf(half[0], sizeof(half[0]), "%d", mib / 2);
		snprintf(half[1], sizeof(half[1]), "%d", (int)used_ms() + mine / 2);
		snprintf(half[2], sizeof(half[2]), "%d", others / 2);
		execl(argv[0], argv[0], half[0], half[1], half[2], (char *)NULL);
	}
	free(memory);
	return 0;
}
