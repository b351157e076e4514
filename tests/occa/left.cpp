// SPDX-License-Identifier: Apache-2.0
// Leaves OCCA's functions in other ways than by returning: left HOW. What follows finds the stack as they have left it.
#include <alloca.h>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <ucontext.h>

#include "occa.hpp"
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

extern void (*occa_hook)(); // what kernel "hook" does

enum { N = 64, BYTES = N * 4, LAUNCHES = 20, STACK = 1 << 20 };

static occa::device device;
static occa::memory array;
static occa::kernel fill, hook;
static jmp_buf back;
static ucontext_t home;

// Not of OCCA: it lies in no call of OCCA's.
static void mark()
{
	cl_platform_id platform;
	clGetPlatformIDs(1, &platform, nullptr);
	clUnloadPlatformCompiler(platform);
}

__attribute__((noinline)) static void copy_too_much()
{
	static const occa::json none;
	static float values[N];
	volatile char *room = static_cast<volatile char *>(alloca(40000));

	room[0] = 0;
	array.copyFrom(values, 2 * BYTES, 0, none);
}

static void copy_caught()
{
	try {
		copy_too_much();
	} catch (const std::runtime_error &) {
		mark();
	}
}

// Its frame covers that of what was left, and writes nothing there.
__attribute__((noinline)) static void launch()
{
	volatile char *room = static_cast<volatile char *>(alloca(200000));

	room[0] = 0;
	for (int i = 0; i < LAUNCHES; i++)
		fill(array, i);
	device.finish();
}

static void on_stack(void *stack, void (*function)())
{
	ucontext_t other;

	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = STACK;
	other.uc_link = &home;
	makecontext(&other, function, 0);
	swapcontext(&home, &other);
}

static char *new_stack()
{
	return static_cast<char *>(mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

// The stack that was left lies above, and is there no more.
static void stacks(void (*leave)())
{
	char *a = new_stack(), *b = new_stack();

	on_stack(a > b ? a : b, leave);
	munmap(a > b ? a : b, STACK);
	on_stack(a > b ? b : a, launch);
}

static void *thread(void *)
{
	hook(array, 1);
	return nullptr;
}

static void in_thread()
{
	pthread_t t;

	occa_hook = [] { pthread_exit(nullptr); };
	pthread_create(&t, nullptr, thread, nullptr);
	pthread_join(t, nullptr);
	launch();
}

static void thrown()
{
	occa_hook = [] { throw 1; };
	try {
		hook(array, 1);
	} catch (int) {
		mark();
	}
	launch();
}

__attribute__((noinline)) static void jump()
{
	volatile char *room = static_cast<volatile char *>(alloca(40000));

	room[0] = 0;
	if (setjmp(back) == 0)
		hook(array, 1);
}

int main(int argc, char **argv)
{
	occa_hook = [] { longjmp(back, 1); };
	device.setup(occa::json("mode: Serial"));
	array = device.malloc<void>(BYTES);
	fill = device.buildKernel("left.okl", "fill");
	hook = device.buildKernel("left.okl", "hook");
	if (strcmp(argv[1], "frames") == 0) {
		copy_caught();
		launch();
	} else if (strcmp(argv[1], "stacks") == 0) {
		stacks(copy_caught);
	} else if (strcmp(argv[1], "thread") == 0) {
		in_thread();
	} else if (strcmp(argv[1], "kernel") == 0) {
		thrown();
	} else if (strcmp(argv[1], "jump") == 0) {
		jump();
		launch();
	} else if (strcmp(argv[1], "jump-stacks") == 0) {
		stacks(jump);
	}
	puts("done");
	return 0;
}
