/* SPDX-License-Identifier: Apache-2.0 */
/* Two libraries of one size: the functions of one lie where the other has code that nobody calls. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define JOIN(a, b)     a##_##b
#define NAMED(a, b)    JOIN(a, b)
#define FUNCTION(what) __attribute__((visibility("default"), noinline)) int NAMED(NAME, what)(int n)

#define UNUSED(where)                                                                              \
	__asm__(".text\n.type unused_" where ", @function\nunused_" where                          \
		": .skip 8192, 0x90\n.size unused_" where ", . - unused_" where "\n")

#ifdef IS_second
UNUSED("before");
#endif

FUNCTION(calls);
FUNCTION(more);
FUNCTION(burn);

/* Opens and closes a file so often, from one line. */
static inline __attribute__((always_inline)) int open_files(int n)
{
	int opened = 0;

	for (int i = 0; i < n; i++) {
		int fd = open("/dev/null", O_RDONLY);

		opened += fd >= 0 && close(fd) == 0;
	}
	return opened;
}

FUNCTION(calls)
{
	return open_files(n);
}

FUNCTION(more)
{
	return open_files(n);
}

/* Takes so many milliseconds of processor time. */
FUNCTION(burn)
{
	struct timespec t;
	volatile int rounds = 0;

	do {
		for (int i = 0; i < 100000; i++)
			rounds = rounds + i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < n);
	return rounds;
}

#ifdef IS_first
UNUSED("after");
#endif
