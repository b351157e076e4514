/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for samples: two threads, "alpha" and "beta", and "gamma" in a process of its own, each meet a known number of
 * page faults and spend processor time, as main does.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, SPEND_MS = 200 };

/* One fault a page: the kernel may not make larger ones of them. */
#define TOUCH(name)                                                                                \
	__attribute__((noinline, noclone)) void touch_##name(volatile char *at, unsigned pages);   \
	void touch_##name(volatile char *at, unsigned pages)                                       \
	{                                                                                          \
		for (unsigned i = 0; i < pages; i++)                                               \
			at[(size_t)i * PAGE] = 1;                                                  \
	}

TOUCH(alpha)
TOUCH(beta)
TOUCH(gamma)

static void spend(void)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < SPEND_MS);
}

static void work(const char *name, void (*touch)(volatile char *, unsigned), unsigned pages)
{
	char *at = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	madvise(at, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
	prctl(PR_SET_NAME, name);
	spend();
	touch(at, pages);
}

static void *alpha(void *data)
{
	work("alpha", touch_alpha, 6000);
	return NULL;
}

static void *beta(void *data)
{
	work("beta", touch_beta, 2000);
	return NULL;
}

static void *gamma_thread(void *data)
{
	work("gamma", touch_gamma, 4000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	pid_t child;

	if (argc > 1) {
		pthread_create(&threads[0], NULL, gamma_thread, NULL);
		pthread_join(threads[0], NULL);
		return 0;
	}
	child = fork();
	if (child == 0) {
		execl("/proc/self/exe", argv[0], "gamma", (char *)NULL);
		_exit(127);
	}
	pthread_create(&threads[0], NULL, alpha, NULL);
	pthread_create(&threads[1], NULL, beta, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	spend();
	waitpid(child, NULL, 0);
	puts("done");
	return 0;
}
