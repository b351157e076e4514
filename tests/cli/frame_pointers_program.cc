/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Five ways to one loop, whose turns are all of its time: of 14 parts 4 by a recursion, 3 by a destructor, 2 by a callback of the C library and 1 directly, and 4
 * in another thread. Built with frame pointers and without.
 */
#include <cstdlib>
#include <pthread.h>

#define KEPT __attribute__((noinline, noclone))

namespace
{
const unsigned long PART = 1000000;
const int ROUNDS = 200, DEPTH = 40;
/* Rounds that are all as long as some periods of samples would have these at the same places. */
thread_local unsigned long part = PART;

KEPT unsigned long burn(unsigned long parts)
{
	unsigned long turns = parts * part;

	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(turns));
	return turns + 1;
}

KEPT unsigned long deep(int n)
{
	return n ? deep(n - 1) + 1 : burn(4);
}

struct Grid {
	unsigned long cells;

	KEPT ~Grid()
	{
		cells += burn(3);
	}
};

KEPT unsigned long scope()
{
	Grid g = {1};

	return g.cells + 1;
}

KEPT int compare(const void *a, const void *b)
{
	return static_cast<int>(burn(2)) + (a < b);
}

KEPT unsigned long order()
{
	int two[2] = {1, 2};

	std::qsort(two, 2, sizeof(two[0]), compare);
	return static_cast<unsigned long>(two[0]);
}

KEPT unsigned long solve()
{
	return deep(DEPTH) + scope() + order() + burn(1) + 1;
}

KEPT void *other(void *data)
{
	for (int i = 0; i < ROUNDS; i++)
		*static_cast<unsigned long *>(data) += burn(4) + 1;
	return nullptr;
}
} // namespace

int main()
{
	unsigned long sum = 0, more = 0;
	pthread_t thread;

	pthread_create(&thread, nullptr, other, &more);
	for (unsigned long i = 0; i < ROUNDS; i++) {
		part = PART + i * 7919 % 1000 * (PART / 1000);
		sum += solve();
	}
	pthread_join(thread, nullptr);
	return sum + more == 0;
}
