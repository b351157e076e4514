// SPDX-License-Identifier: Apache-2.0
// Functions in C++ that are inlined, two deep, into one that is not; see inline_program.c.
#include <cstdint>

namespace shop {

template <typename T> struct counter {
	T x;
	__attribute__((always_inline)) inline void add(unsigned n)
	{
		for (unsigned i = 0; i < n; i++)
			__asm__ volatile("imul %1, %0\n add %2, %0"
					 : "+r"(x)
					 : "r"(x | 1), "r"((uint64_t)i));
	}
};

__attribute__((always_inline)) inline uint64_t twice(uint64_t x, unsigned n)
{
	counter<uint64_t> c{x};

	c.add(n);
	c.add(n / 2);
	return c.x;
}

} // namespace shop

extern "C" __attribute__((noinline, visibility("default"))) uint64_t library_spend(uint64_t x,
										     unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		x ^= shop::twice(x + i, 20);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}
