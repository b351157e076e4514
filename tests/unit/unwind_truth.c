/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of calls that is known, through code without frame pointers: unwind_truth SCENE. Where it is deepest it prints its number, its
 * thread's and the stack that it finds, and waits for a byte, so that another unwinder can look at the same stack.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/unwind/unwind.h"

#define MOST 256

extern void (*truth_stop)(void);
int truth_bound(int); /* bound when it is first called: who chooses it stops */
void truth_throw(void), truth_uncaught(void);

static void look(void)
{
	struct unwind_registers here;
	uint64_t out[MOST];
	enum stack_end end;
	uint32_t n;
	char c;

	unwind_look();
	UNWIND_HERE(here);
	n = unwind_stack(&here, 0, out, MOST, &end);
	printf("%d %ld %d", getpid(), syscall(SYS_gettid), end);
	for (uint32_t i = 0; i < n; i++)
		printf(" %" PRIx64, out[i]);
	printf("\n");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		_exit(2);
}

static volatile int depth;

static int compare(const void *a, const void *b)
{
	if (!depth++)
		look();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int number)
{
	look();
}

static __attribute__((noinline, noclone)) int deep(int n, void (*f)(void))
{
	int sum = 0;

	if (n)
		sum = deep(n - 1, f) + n;
	else
		f();
	__asm__ volatile("" : "+r"(sum)); /* no loop is made of it */
	return sum * 3;
}

static __attribute__((noinline, noclone)) void tail_two(void)
{
	look(); /* which is a jump */
}

static __attribute__((noinline, noclone)) void tail(void)
{
	tail_two();
}

static void sort(void)
{
	int list[] = {5, 3, 9, 1};

	qsort(list, 4, sizeof(*list), compare);
	depth += list[0];
}

static void raises(void)
{
	raise(SIGUSR1);
	depth++;
}

static void binds(void)
{
	depth += truth_bound(3);
}

static void *thread_main(void *data)
{
	deep(40, look);
	return NULL;
}

static void threads(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread_main, NULL);
	pthread_join(t, NULL);
}

static void handle(int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

	sigaction(SIGUSR1, &action, NULL);
}

static void raises_aside(void)
{
	static char stack[65536];
	stack_t aside = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&aside, NULL);
	handle(SA_ONSTACK);
	raises();
}

static const struct scene {
	const char *name;
	void (*run)(void);
} scenes[] = {{"sort", sort},      {"signal", raises},     {"aside", raises_aside},
	      {"tail", tail},      {"throw", truth_throw}, {"uncaught", truth_uncaught},
	      {"thread", threads}, {"bind", binds}};

int main(int argc, char **argv)
{
	truth_stop = look;
	handle(0);
	for (unsigned i = 0; argc > 1 && i < sizeof(scenes) / sizeof(*scenes); i++)
		if (strcmp(argv[1], scenes[i].name) == 0)
			return deep(5, scenes[i].run) < 0;
	return 2;
}
