// SPDX-License-Identifier: Apache-2.0
// Threads that build a kernel of one name at once, out of different files, each for a device of its own: race THREADS MODE.
// Thread n launches it 10 n times.
#include <cstdlib>
#include <pthread.h>
#include <thread>

#include "occa.hpp"

extern void (*occa_build_hook)(); // called where a kernel of OpenCL's is about to be made

static pthread_barrier_t barrier;

static void meet()
{
	pthread_barrier_wait(&barrier);
}

static void use(occa::device &d, int number)
{
	occa::memory a = d.malloc<void>(256);
	occa::kernel fill = d.buildKernel("/file_" + std::to_string(number) + ".okl", "fill");
	for (int i = 0; i < 10 * number; i++)
		fill(a, i);
	d.finish();
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;
	int n = argc > 2 ? atoi(argv[1]) : 0;
	std::vector<occa::device> devices(static_cast<size_t>(n));

	pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(n));
	occa_build_hook = meet;
	for (occa::device &d : devices)
		d.setup(occa::json(std::string("mode: ") + argv[2]));
	for (int i = 1; i <= n; i++)
		threads.emplace_back(use, std::ref(devices[static_cast<size_t>(i - 1)]), i);
	for (std::thread &t : threads)
		t.join();
	return 0;
}
