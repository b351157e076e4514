// SPDX-License-Identifier: Apache-2.0
// A program of XRay's (clang -fxray-instrument) that has its own handler called in the middle of three rounds. Prints what it saw.
#include <cstdio>
#include <xray/xray_interface.h>

static unsigned long entries, exits;

[[clang::xray_never_instrument]] static void handler(int32_t, XRayEntryType type)
{
	if (type == XRayEntryType::ENTRY)
		entries++;
	else
		exits++;
}

[[clang::xray_always_instrument, gnu::noinline]] unsigned long inner(unsigned long x)
{
	asm volatile("" ::: "memory");
	return x * 7 + 1;
}

[[clang::xray_always_instrument, gnu::noinline]] unsigned long outer(unsigned n)
{
	unsigned long s = n;

	for (unsigned i = 0; i < 10; i++)
		s = inner(s);
	return s;
}

[[clang::xray_never_instrument, gnu::noinline]] static unsigned long calls()
{
	unsigned long s = 0;

	for (unsigned i = 0; i < 5; i++)
		s += outer(i);
	return s;
}

[[clang::xray_never_instrument]] int main()
{
	unsigned long s = calls();

	__xray_set_handler(handler);
	if (__xray_patch() != XRayPatchingStatus::SUCCESS)
		return 1;
	s += calls();
	__xray_unpatch();
	s += calls();
	std::printf("%lu: %lu entries, %lu exits\n", s, entries, exits);
	return 0;
}
