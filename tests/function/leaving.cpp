/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are left otherwise than by returning: exceptions through several of them, caught and thrown again, threads that are
 * cancelled or end themselves, many of those, deep recursions that threads come back from, contexts that are switched between, stacks that are looked at. Prints how often each function was entered, and what it saw.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <ucontext.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function, noinline))
#define KEPT  __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static unsigned long throwers, catchers, rethrowers, guards, waiters, enders, yielders, lookers, sinkers;
static unsigned long destroyed;

struct Guard {
	PLAIN Guard() {}
	PLAIN ~Guard() { destroyed++; }
};

KEPT int thrower(int n)
{
	Guard g;

	throwers++;
	if (n == 0)
		throw std::runtime_error("down");
	return thrower(n - 1) + 1;
}

KEPT int rethrower(int n)
{
	rethrowers++;
	try {
		return thrower(n);
	} catch (const std::runtime_error &) {
		throw;
	}
}

KEPT int catcher(int n)
{
	catchers++;
	try {
		return rethrower(n);
	} catch (const std::exception &e) {
		return e.what()[0];
	}
}

static pthread_barrier_t there;

KEPT void waiter()
{
	Guard g;

	waiters++;
	pthread_barrier_wait(&there);
	for (;;)
		pause();
}

PLAIN static void *cancelled(void *)
{
	waiter();
	return nullptr;
}

KEPT void ender(int n)
{
	Guard g;

	enders++;
	if (n)
		ender(n - 1);
	pthread_exit((void *)7);
}

PLAIN static void *ends(void *n)
{
	ender((int)(intptr_t)n);
	return nullptr;
}

static ucontext_t main_context, contexts[2];
static unsigned long switched;

KEPT unsigned long yielder(unsigned which, int n)
{
	unsigned long s = which;

	yielders++;
	if (n)
		s += yielder(which, n - 1);
	switched++;
	swapcontext(&contexts[which], &main_context);
	return s + 1;
}

PLAIN static void coroutine(unsigned which)
{
	for (int i = 0; i < 4; i++)
		switched += yielder(which, 3);
}

PLAIN static void coroutines()
{
	for (unsigned i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(65536);
		contexts[i].uc_stack.ss_size = 65536;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)())coroutine, 1, i);
	}
	for (int i = 0; i < 17; i++)
		for (unsigned c = 0; c < 2; c++)
			if (i < 16 || switched < 1000000)
				swapcontext(&main_context, &contexts[c]);
}

KEPT unsigned long sinker(unsigned n)
{
	sinkers++;
	return n ? sinker(n - 1) + 1 : 0;
}

PLAIN static void *sinks(void *)
{
	return (void *)sinker(3000);
}

static int depth;

KEPT int looker(int n)
{
	void *at[64];
	int count, found = 0;

	lookers++;
	if (n)
		return looker(n - 1) + 0 * printf("%s", "");
	count = backtrace(at, 64);
	depth = count;
	for (int i = 0; i < count; i++) {
		Dl_info d;

		found += dladdr(at[i], &d) && d.dli_saddr == (void *)looker;
	}
	return found;
}

int main(int argc, char **argv)
{
	pthread_t t;
	void *result;
	int sum = 0;

	for (int i = 0; i < 50; i++)
		sum += catcher(i % 7);
	for (int i = 0; i < 5; i++) {
		pthread_barrier_init(&there, nullptr, 2);
		pthread_create(&t, nullptr, cancelled, nullptr);
		pthread_barrier_wait(&there);
		pthread_cancel(t);
		pthread_join(t, &result);
		sum += result == PTHREAD_CANCELED;
		pthread_create(&t, nullptr, ends, (void *)3);
		pthread_join(t, &result);
		sum += (int)(intptr_t)result;
	}
	/* More than may be open at one time, one after another. */
	for (int i = 0; i < 110; i++) {
		pthread_create(&t, nullptr, ends, (void *)40);
		pthread_join(t, &result);
		sum += (int)(intptr_t)result;
	}
	sum += (int)sinker(3000);
	pthread_create(&t, nullptr, sinks, nullptr);
	pthread_join(t, &result);
	sum += (int)(intptr_t)result;
	coroutines();
	printf("looker saw %d of itself", looker(4));
	printf(" of %d\n", depth);
	printf("sum %d destroyed %lu switched %lu\n", sum, destroyed, switched);
	printf("thrower %lu\ncatcher %lu\nrethrower %lu\nwaiter %lu\nender %lu\nyielder %lu\nlooker %lu\nsinker %lu\n", throwers,
	       catchers, rethrowers, waiters, enders, yielders, lookers, sinkers);
	return 0;
}
