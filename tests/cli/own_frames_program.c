/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that do nothing but call what Kymo stands before: write() and malloc(). */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CPU_NS 150000000u

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void work(int file)
{
	for (unsigned i = 0; i < 500; i++) {
		void *volatile kept = malloc(4000);

		free(kept);
		if (write(file, "", 1) != 1)
			abort();
	}
}

__attribute__((noinline)) void writes_first(int file);
__attribute__((noinline)) void writes_first(int file)
{
	while (cpu_ns() < CPU_NS)
		work(file);
}

__attribute__((noinline)) void writes_second(int file);
__attribute__((noinline)) void writes_second(int file)
{
	while (cpu_ns() < CPU_NS)
		work(file);
}

static void *second(void *argument)
{
	writes_second(*(int *)argument);
	return NULL;
}

int main(void)
{
	int file = open("/dev/null", O_WRONLY);
	pthread_t thread;

	if (file < 0 || pthread_create(&thread, NULL, second, &file) != 0)
		return 1;
	writes_first(file);
	pthread_join(thread, NULL);
	return 0;
}
