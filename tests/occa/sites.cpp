// SPDX-License-Identifier: Apache-2.0
// Calls OCCA through functions of its headers, which are made in the program: inlined or not. It prints its own lines.
#include <cstdio>

#include "occa.hpp"

__attribute__((noinline)) static void one(occa::device &d)
{
	occa::memory a = d.malloc<float>(16);
	printf("one sites.cpp:%d 64\n", __LINE__ - 1);
}

__attribute__((noinline)) static void two(occa::device &d)
{
	occa::memory a = d.malloc<float>(32);
	printf("two sites.cpp:%d 128\n", __LINE__ - 1);
	occa::memory b = occa::malloc<float>(8);
	printf("two sites.cpp:%d 32\n", __LINE__ - 1);
}

int main()
{
	occa::device d;
	d.setup(occa::json("mode: Serial"));
	occa::setDevice(occa::json("mode: Serial"));
	one(d);
	two(d);
	return 0;
}
