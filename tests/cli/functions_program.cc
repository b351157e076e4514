/* SPDX-License-Identifier: Apache-2.0 */
/* Functions to choose among: large and small ones, with and without a loop, of C and of C++, one that cannot be patched, aliases. */
#include <cstdio>

volatile long sink;

#define TWICE(x) x x
#define STORES   TWICE(TWICE(TWICE(TWICE(TWICE(sink = sink + 3;)))))

namespace shop {
__attribute__((noinline)) int big(int a)
{
	STORES STORES STORES
	return a + 1;
}

template <class T> __attribute__((noinline)) T small(T a)
{
	sink = sink + 1;
	return a * 2;
}
} // namespace shop

extern "C" {
__attribute__((noinline)) int with_loop(int n)
{
	int s = 0;

	for (int i = 0; i < n; i++)
		s += (int)sink + i;
	return s;
}
__asm__(".globl other_name\n.set other_name, with_loop\n");

int turns(long n);
__asm__(".globl turns\n.type turns, @function\nturns:\ndec %rdi\njg turns\nmov $7, %eax\nret\n.size turns, . - turns\n");
}

int main()
{
	printf("%d %d %ld %d %d\n", shop::big(1), shop::small(2), shop::small(3L), with_loop(4), turns(5));
	return 0;
}
