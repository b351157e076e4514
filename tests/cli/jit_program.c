/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that is made while the program runs, and told to profilers: jit_program map|dump. "map": three functions in
 * /tmp/perf-PID.map, one of which is a stub without a frame of its own. "dump": two functions that take turns at one address, in
 * ./jit-PID.dump. Each is called by a function of the program that has its name, with "call_" before it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef void (*spin_t)(uint64_t turns);
typedef void (*stub_t)(uint64_t turns, uint64_t, uint64_t, spin_t callee);

static const uint8_t spin[] = {0x55, 0x48, 0x89, 0xe5,             /* push %rbp; mov %rsp, %rbp */
			       0x48, 0xff, 0xcf, 0x75, 0xfb,       /* 1: dec %rdi; jnz 1b */
			       0x5d, 0xc3};                        /* pop %rbp; ret */
static const uint8_t stub[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, /* sub $8, %rsp; call *%rcx */
			       0x48, 0x83, 0xc4, 0x08, 0xc3};      /* add $8, %rsp; ret */

#define CALL(name)                                                                                 \
	static __attribute__((noinline)) void call_##name(void *code)                              \
	{                                                                                          \
		((spin_t)code)(2000000);                                                           \
		__asm__ volatile("" ::: "memory");                                                 \
	}

CALL(alpha)
CALL(beta)
CALL(first)
CALL(second)

static __attribute__((noinline)) void spin_in_c(uint64_t turns)
{
	for (volatile uint64_t i = 0; i < turns / 4; i++)
		;
}

static __attribute__((noinline)) void call_stub(void *code)
{
	((stub_t)code)(2000000, 0, 0, spin_in_c);
	__asm__ volatile("" ::: "memory");
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void with_map(uint8_t *code)
{
	uint64_t until = now(CLOCK_PROCESS_CPUTIME_ID) + 400000000u;
	char path[64];
	FILE *f;

	memcpy(code, spin, sizeof(spin));
	memcpy(code + 64, spin, sizeof(spin));
	memcpy(code + 128, stub, sizeof(stub));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	if (!f)
		exit(1);
	fprintf(f,
		"%lx %zx jit_alpha\n%lx %zx Jit beta::run(int)\n%lx %zx py::stub:/some/where.py\n",
		(unsigned long)code, sizeof(spin), (unsigned long)code + 64, sizeof(spin),
		(unsigned long)code + 128, sizeof(stub));
	fclose(f);
	while (now(CLOCK_PROCESS_CPUTIME_ID) < until) {
		call_alpha(code);
		call_beta(code + 64);
		call_stub(code + 128);
	}
	unlink(path);
}

static void put(int fd, const void *data, size_t size)
{
	if (write(fd, data, size) != (ssize_t)size)
		exit(1);
}

static void load(int fd, const void *code, const char *name, uint64_t index)
{
	struct {
		uint32_t id, size;
		uint64_t time;
	} head = {0, 0, now(CLOCK_MONOTONIC)};
	struct {
		uint32_t pid, tid;
		uint64_t vma, address, size, index;
	} l = {(uint32_t)getpid(), (uint32_t)syscall(SYS_gettid),
	       (uintptr_t)code,    (uintptr_t)code,
	       sizeof(spin),       index};

	head.size = (uint32_t)(sizeof(head) + sizeof(l) + strlen(name) + 1 + sizeof(spin));
	put(fd, &head, sizeof(head));
	put(fd, &l, sizeof(l));
	put(fd, name, strlen(name) + 1);
	put(fd, spin, sizeof(spin));
}

static void line(int fd, const void *code, const char *file, uint32_t number)
{
	struct {
		uint32_t id, size;
		uint64_t time;
	} head = {2, 0, now(CLOCK_MONOTONIC)};
	struct {
		uint64_t address, entries, at;
		uint32_t line, discriminator;
	} d = {(uintptr_t)code, 1, (uintptr_t)code, number, 0};

	head.size = (uint32_t)(sizeof(head) + sizeof(d) + strlen(file) + 1);
	put(fd, &head, sizeof(head));
	put(fd, &d, sizeof(d));
	put(fd, file, strlen(file) + 1);
}

static void with_dump(uint8_t *code)
{
	uint64_t until = now(CLOCK_PROCESS_CPUTIME_ID) + 400000000u, index = 0;
	struct {
		uint32_t magic, version, size, machine, reserved, pid;
		uint64_t time, flags;
	} head = {0x4a695444, 1, sizeof(head), 62, 0, (uint32_t)getpid(), now(CLOCK_MONOTONIC), 0};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	if (fd < 0)
		exit(1);
	put(fd, &head, sizeof(head));
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(1);
	memcpy(code, spin, sizeof(spin));
	while (now(CLOCK_PROCESS_CPUTIME_ID) < until) {
		load(fd, code, "first", index++);
		call_first(code);
		line(fd, code, "made.js", 42);
		load(fd, code, "second", index++);
		call_second(code);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	if (argc > 1 && strcmp(argv[1], "dump") == 0)
		with_dump(code);
	else
		with_map(code);
	return 0;
}
