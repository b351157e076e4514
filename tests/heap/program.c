/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates, and says what: program WHAT. Lines "FUNCTION BYTES ALLOCATIONS LEFT_BYTES LEFT", of the function that
 * called the C library. It knows nothing of Kymo.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone, noipa))

struct sum {
	const char *function;
	uint64_t bytes, count, left_bytes, left;
};

static void say(const struct sum *s)
{
	printf("%s %llu %llu %llu %llu\n", s->function, (unsigned long long)s->bytes,
	       (unsigned long long)s->count, (unsigned long long)s->left_bytes,
	       (unsigned long long)s->left);
}

static void *volatile kept;
static volatile size_t half = SIZE_MAX / 2; /* more than there is */

/* What it returns is in use: no compiler may leave it out. */
static void *use(void *p, size_t size)
{
	if (p && size)
		memset(p, 1, size < 64 ? size : 64);
	kept = p;
	return p;
}

/* ---- two: two threads that allocate at two places each, and free of each second one ---- */

enum { ROUNDS = 3000 };

SITE static void *first_site(size_t size)
{
	return use(malloc(size), size);
}

SITE static void *second_site(size_t size)
{
	return use(calloc(1, size), size);
}

struct thread {
	pthread_t thread;
	unsigned number;
	struct sum first, second;
};

static void count(struct sum *s, size_t size, int freed)
{
	s->bytes += size;
	s->count++;
	s->left_bytes += freed ? 0 : size;
	s->left += !freed;
}

static void *allocate(void *data)
{
	struct thread *t = data;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const size_t a = 16 + (i * 37 + t->number) % 3000, b = 1 + i % 977;
		void *p = first_site(a), *q = second_site(b);

		count(&t->first, a, i % 2);
		count(&t->second, b, i % 3 == 0);
		if (i % 2)
			free(p);
		if (i % 3 == 0)
			free(q);
	}
	return NULL;
}

static void add(struct sum *to, const struct sum *from)
{
	to->bytes += from->bytes;
	to->count += from->count;
	to->left_bytes += from->left_bytes;
	to->left += from->left;
}

static void two(void)
{
	struct thread t[2] = {{.number = 1}, {.number = 2}};
	struct sum first = {.function = "first_site"}, second = {.function = "second_site"};

	for (unsigned i = 0; i < 2; i++)
		pthread_create(&t[i].thread, NULL, allocate, &t[i]);
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(t[i].thread, NULL);
		add(&first, &t[i].first);
		add(&second, &t[i].second);
	}
	say(&first);
	say(&second);
}

/* ---- each: every function once or twice ---- */

SITE static void each_malloc(void)
{
	free(use(malloc(100), 100));
	use(malloc(0), 0);
	free(NULL);
}

SITE static void each_calloc(void)
{
	use(calloc(7, 11), 77);
	if (calloc(half, 3) || errno != ENOMEM)
		puts("calloc does not fail");
}

/* Grown in place or not, each is an allocation of what was asked for and an end of what was there. */
SITE static void each_realloc(void)
{
	void *p = realloc(NULL, 50);

	p = realloc(use(p, 50), 5000);
	p = realloc(use(p, 5000), 20);
	use(p, 20);
}

/* It has what it had when more cannot be had; NULL is an end. */
SITE static void each_realloc_fails(void)
{
	char *p = use(malloc(40), 40);

	if (realloc(p, half) || errno != ENOMEM || p[0] != 1)
		puts("realloc does not fail");
	use(realloc(use(malloc(60), 60), 0), 0);
}

SITE static void each_reallocarray(void)
{
	use(reallocarray(NULL, 9, 9), 81);
	if (reallocarray(NULL, half, 3) || errno != ENOMEM)
		puts("reallocarray does not fail");
}

SITE static void each_aligned(void)
{
	void *p = NULL;

	use(memalign(64, 1001), 1001);
	use(aligned_alloc(64, 1024), 1024);
	use(valloc(1003), 1003);
	free(use(pvalloc(4096), 4096));
	if (posix_memalign(&p, 4096, 1005) || (uintptr_t)p % 4096)
		puts("posix_memalign fails");
	use(p, 1005);
	if (posix_memalign(&p, 3, 10) != EINVAL)
		puts("posix_memalign does not fail");
	if (malloc_usable_size(p) < 1005)
		puts("malloc_usable_size is wrong");
}

static void each(void)
{
	static const struct sum sums[] = {
		{"each_malloc", 100, 2, 0, 1},       {"each_calloc", 77, 1, 77, 1},
		{"each_realloc", 5070, 3, 20, 1},    {"each_realloc_fails", 100, 2, 40, 1},
		{"each_reallocarray", 81, 1, 81, 1}, {"each_aligned", 8129, 5, 4033, 4},
	};

	each_malloc();
	each_calloc();
	each_realloc();
	each_realloc_fails();
	each_reallocarray();
	each_aligned();
	for (unsigned i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		say(&sums[i]);
}

/* ---- much: small ones and large ones, far more than lie between two samples ---- */

SITE static void much_small(uint64_t count, size_t size)
{
	for (uint64_t i = 0; i < count; i++)
		free(use(malloc(size), 1));
}

SITE static void much_large(uint64_t count, size_t size)
{
	for (uint64_t i = 0; i < count; i++)
		use(malloc(size), 1);
}

static void much(void)
{
	much_small(4 << 20, 256);
	much_large(200, 300000);
	say(&(struct sum){"much_small", 1ull << 30, 4 << 20, 0, 0});
	say(&(struct sum){"much_large", 60000000, 200, 60000000, 200});
}

/* ---- peak: first one has most, then the other ---- */

SITE static void *peak_first(void)
{
	return use(malloc(3000), 3000);
}

SITE static void *peak_second(void)
{
	return use(malloc(1000), 1000);
}

static void peak(void)
{
	void *p[4];

	p[0] = peak_first();
	p[1] = peak_second();
	p[2] = peak_second(); /* 5000: the peak */
	free(p[0]);
	p[3] = peak_second();
	free(p[1]);
	free(p[2]);
	free(p[3]);
}

/* ---- fork: a child of its own, which frees what its parent has allocated ---- */

SITE static void *in_parent(void)
{
	return use(malloc(1234), 1234);
}

SITE static void *in_child(void)
{
	return use(malloc(4321), 4321);
}

static void forks(void)
{
	void *p = in_parent();
	int status = 0;
	pid_t child = fork();

	if (!child) {
		free(p);
		free(in_child());
		in_child();
		exit(7);
	}
	waitpid(child, &status, 0);
	free(in_parent());
	printf("child %d %d\n", (int)child, WEXITSTATUS(status));
}

/* ---- handler: signals at any moment ---- */

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

SITE static void *from_signals(void)
{
	return use(malloc(10), 10);
}

static void handler(void)
{
	const struct itimerval often = {{0, 200}, {0, 200}};
	struct sum sum = {.function = "from_signals"};

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	while (signals < 500) {
		free(from_signals());
		count(&sum, 10, 1);
		if (sum.count == 200000)
			break;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	say(&sum);
}

/* ---- late: after main() ---- */

SITE static void late_site(void)
{
	free(use(malloc(77), 77));
	use(malloc(78), 78);
}

__attribute__((destructor)) static void last(void)
{
	use(malloc(79), 79);
}

/* ---- threads: many that end ---- */

SITE static void *short_site(void *data)
{
	free(use(malloc(200), 200));
	return data;
}

static void threads(void)
{
	struct sum sum = {.function = "short_site"};

	for (unsigned i = 0; i < 200; i++) {
		pthread_t t;

		pthread_create(&t, NULL, short_site, NULL);
		pthread_join(t, NULL);
		count(&sum, 200, 1);
	}
	say(&sum);
}

/* ---- pairs N: what a pair costs ---- */

static void pairs(uint64_t count)
{
	struct timespec t[2];

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[0]);
	much_small(count, 64);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[1]);
	printf("%.2f ns\n",
	       ((double)(t[1].tv_sec - t[0].tv_sec) * 1e9 + (double)(t[1].tv_nsec - t[0].tv_nsec)) /
		       (double)count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char room[4096];

	setvbuf(stdout, room, _IOFBF, sizeof(room));
	if (!strcmp(what, "two"))
		two();
	else if (!strcmp(what, "each"))
		each();
	else if (!strcmp(what, "much"))
		much();
	else if (!strcmp(what, "peak"))
		peak();
	else if (!strcmp(what, "fork"))
		forks();
	else if (!strcmp(what, "handler"))
		handler();
	else if (!strcmp(what, "late"))
		atexit(late_site);
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "pairs"))
		pairs(strtoull(argv[2], NULL, 10));
	else
		return 2;
	fflush(stdout);
	return 0;
}
