/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a thread is in a signal's handler, also in one that blocks nothing, below functions, and on a stack of its own. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

static void raise_with(int flags)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = flags};

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	look();
	assert_int_equal(seen, 0);
	seen = -1;
	raise(SIGUSR1);
	assert_int_equal(seen, 1);
	look();
	assert_int_equal(seen, 0);
}

static void test_handlers(void **state)
{
	raise_with(0);
	raise_with(SA_RESTART | SA_SIGINFO);
}

static void test_that_block_nothing(void **state)
{
	raise_with(SA_NODEFER);
	raise_with(SA_NODEFER | SA_RESTART | SA_SIGINFO);
	raise_with(0);
}

static void test_alternate_stack(void **state)
{
	static char room[65536];
	const stack_t alternate = {.ss_sp = room, .ss_size = sizeof(room)};
	const stack_t none = {.ss_flags = SS_DISABLE};

	assert_int_equal(sigaltstack(&alternate, NULL), 0);
	raise_with(SA_ONSTACK | SA_NODEFER);
	assert_int_equal(sigaltstack(&none, NULL), 0);
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
