// SPDX-License-Identifier: Apache-2.0
// Exceptions in flight, and a function that is chosen when it is first called.
#include <cstdlib>
#include <exception>

extern "C" {
void (*truth_stop)();
int truth_bound(int);
void truth_throw();
void truth_uncaught();
}

namespace
{
struct Leaves {
	~Leaves() { truth_stop(); }
};

__attribute__((noinline)) void throws(int n)
{
	if (n == 0)
		throw n;
	throws(n - 1);
	truth_stop = nullptr; // it is no tail call
}

__attribute__((noinline)) void leaves(int n)
{
	Leaves object;
	throws(n);
}

int chosen(int n)
{
	return n;
}
} // namespace

extern "C" void truth_throw()
{
	try {
		leaves(4);
	} catch (int) {
	}
}

extern "C" void truth_uncaught()
{
	std::set_terminate([] {
		truth_stop();
		std::_Exit(0);
	});
	throws(4);
}

extern "C" int (*choose())(int)
{
	if (truth_stop) // not while the program is loaded
		truth_stop();
	return chosen;
}

int truth_bound(int) __attribute__((ifunc("choose")));
