// SPDX-License-Identifier: Apache-2.0
// Uses OCCA's C++ interface and counts what it does: program FILE MODE[:DEVICE_ID]... A device of each mode, in turn. It prints
// "call NAME N", "device N MODE LAUNCHES TO FROM PEAK LEFT", "kernel N NAME LAUNCHES", and results of kernels.
#include <alloca.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include "occa.hpp"

static std::map<std::string, int> calls;
static int devices;

static void called(const char *name, int n = 1)
{
	calls[name] += n;
}

struct counts {
	unsigned long to = 0, from = 0, peak = 0, left = 0, now = 0;
	int launches = 0;
	void get(unsigned long bytes)
	{
		now += bytes;
		peak = now > peak ? now : peak;
	}
};

enum { N = 64, BYTES = N * 4 };

__attribute__((noinline)) static occa::memory allocate(occa::device &d, counts &c)
{
	called("device::malloc");
	called("buffer::allocate");
	c.get(BYTES);
	return d.malloc<void>(BYTES);
}

// What is called next finds the stack as an exception has left it.
__attribute__((noinline)) static void launch(occa::kernel &fill, occa::memory &a, int times, counts &c)
{
	volatile char *room = static_cast<volatile char *>(alloca(4096));
	room[0] = 0;
	for (int i = 0; i < times; i++)
		fill(a, i);
	called("kernel::run", times);
	c.launches += times;
}

__attribute__((noinline)) static void use_pool(occa::device &d, counts &c)
{
	occa::memoryPool pool = d.createMemoryPool();
	called("device::createMemoryPool");
	pool.resize(2 * BYTES);
	called("memoryPool::resize");
	called("buffer::allocate");
	c.get(2 * BYTES);
	{
		occa::memory m = pool.reserve(BYTES, occa::dtype::byte);
		called("memoryPool::reserve");
	}
	pool.shrinkToFit(); // the old buffer goes before the new one comes
	called("memoryPool::shrinkToFit");
	called("buffer::free");
	called("buffer::allocate");
	c.now -= 2 * BYTES;
	c.get(BYTES);
	c.now -= BYTES;
	called("buffer::free");
}

static void copy_both_ways(occa::memory &a, occa::memory &b, counts &c)
{
	float values[N];

	for (int i = 0; i < N; i++)
		values[i] = 1;
	b.copyFrom(values, -1, 0, occa::json("async: false"));
	b.copyFrom(values, BYTES / 2, 0, occa::json());
	c.to += BYTES + BYTES / 2;
	called("memory::copyFrom", 2);
	a.copyTo(values);
	c.from += BYTES;
	called("memory::copyTo");
	printf("result %g\n", static_cast<double>(values[N - 1]));
}

__attribute__((noinline)) static void use(occa::device &d, const char *file, const char *mode, int number)
{
	counts c;
	occa::memory a = allocate(d, c), b = allocate(d, c);
	occa::stream one = d.createStream(), two = d.createStream();
	called("device::createStream", 2);
	occa::kernel fill = d.buildKernel(file, "fill"), add = d.buildKernelFromString("add", "add");
	called("device::buildKernel");
	called("device::buildKernelFromString");
	d.setStream(one);
	try { // nothing of OCCA's between this and what launches
		d.buildKernel(file, "broken");
	} catch (const std::runtime_error &) {
		called("device::buildKernel");
	}
	launch(fill, a, 10 * number, c);
	copy_both_ways(a, b, c);
	d.setStream(two);
	called("device::setStream", 2);
	add(a, b, N);
	called("kernel::run");
	c.launches++;
	occa::streamTag from = d.tagStream();
	d.waitFor(from);
	occa::streamTag to = d.tagStream();
	called("device::tagStream", 2);
	called("device::waitFor");
	d.timeBetween(from, to);
	called("device::timeBetween");
	two.finish();
	called("stream::finish");
	d.finish();
	called("device::finish");
	copy_both_ways(a, b, c);
	use_pool(d, c);
	b.free();
	called("memory::free");
	called("buffer::free");
	c.now -= BYTES;
	if (number == 2)
		new occa::memory(a); // never given back
	else
		c.now -= BYTES;
	called("buffer::free", number != 2);
	c.left = c.now;
	printf("device %d %s %d %lu %lu %lu %lu\n", number, mode, c.launches, c.to, c.from, c.peak, c.left);
	printf("kernel %d fill %d\nkernel %d add 1\n", number, 10 * number, number);
}

__attribute__((noinline)) static void use_host_memory(occa::device &d)
{
	static float values[N];
	occa::memory m = d.wrapMemory(values, BYTES, occa::dtype::byte, occa::json());
	called("device::wrapMemory");
	called("buffer::allocate");
	called("buffer::free");
}

// The device that functions without one are for: OCCA makes one of its own first.
__attribute__((noinline)) static void use_default()
{
	occa::setDevice(occa::json("mode: Serial"));
	called("device::setup");
	occa::memory m = occa::malloc(16, occa::dtype::byte, nullptr, occa::json());
	called("device::malloc");
	called("buffer::allocate");
	occa::finish();
	called("device::finish");
	called("buffer::free");
	printf("device %d Serial 0 0 0 16 0\n", ++devices);
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		occa::device d;
		char *number = strchr(argv[i], ':');
		if (number)
			*number++ = '\0';
		d.setup(occa::json(std::string("mode: ") + argv[i] + (number ? std::string(", device_id: ") + number : "")));
		called("device::setup");
		devices++;
		use(d, argv[1], argv[i], devices);
		if (strcmp(argv[i], "OpenCL") != 0)
			use_host_memory(d);
		d.free();
		called("device::free");
	}
	use_default();
	for (const auto &c : calls)
		if (c.second)
			printf("call %s %d\n", c.first.c_str(), c.second);
	return 0;
}
