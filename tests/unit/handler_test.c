/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a thread is in a signal's handler, also in one that blocks nothing, below functions, and on a stack of its own. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core/process/handler.h"

static volatile sig_atomic_t seen; /* 1: in a handler, 0: in none, -1: nobody has looked */

static __attribute__((noinline)) void look(void)
{
	seen = cap_in_handler(cap_sp());
}

static __attribute__((noinline)) void deeper(volatile char *room)
{
	volatile char more[2000];

	more[0] = room[0];
	look();
	room[0] = more[0];
}

static void handle(int signal)
{
	volatile char room[1000];

	room[0] = (char)signal;
	deeper(room);
}

/* What was seen before a signal, in its handler and after it. */
struct scene {
	int flags;
	bool alternate;
	int before, inside, after;
};

/* What handlers that have returned left on the stack may be taken for one that blocks nothing (handler.c). */
static __attribute__((noinline)) void clear_below(void)
{
	char room[32768];

	explicit_bzero(room, sizeof(room));
}

static __attribute__((noinline)) void raise_with(struct scene *s)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = s->flags};

	if (sigaction(SIGUSR1, &action, NULL) != 0)
		return;
	look();
	s->before = seen;
	seen = -1;
	raise(SIGUSR1);
	s->inside = seen;
	clear_below();
	look();
	s->after = seen;
}

static void *on_own_stack(void *data)
{
	static char room[65536];
	const stack_t alternate = {.ss_sp = room, .ss_size = sizeof(room)};
	struct scene *s = data;
	stack_t before;

	if (s->alternate && sigaltstack(&alternate, &before) != 0)
		return NULL;
	raise_with(s);
	if (s->alternate) /* the address sanitizer frees the one that stands when a thread ends */
		sigaltstack(&before, NULL);
	return NULL;
}

/* On a stack on which nothing was before: what was lies about in frames that do not use all of their room. */
static void check(int flags, bool alternate)
{
	const size_t size = 1 << 20;
	struct scene s = {flags, alternate, -1, -1, -1};
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	assert_true(stack != MAP_FAILED);
	pthread_attr_init(&attributes);
	assert_int_equal(pthread_attr_setstack(&attributes, stack, size), 0);
	assert_int_equal(pthread_create(&thread, &attributes, on_own_stack, &s), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	munmap(stack, size);
	assert_int_equal(s.before, 0);
	assert_int_equal(s.inside, 1);
	assert_int_equal(s.after, 0);
}

static void test_handlers(void **state)
{
	check(0, false);
	check(SA_RESTART | SA_SIGINFO, false);
}

static void test_that_block_nothing(void **state)
{
	check(SA_NODEFER, false);
	check(SA_NODEFER | SA_RESTART | SA_SIGINFO, false);
	check(0, false);
}

static void test_alternate_stack(void **state)
{
	check(SA_ONSTACK | SA_NODEFER, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handlers),
		cmocka_unit_test(test_that_block_nothing),
		cmocka_unit_test(test_alternate_stack),
	};

	cap_handlers_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
