/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code whose file grows while samples are read. Functions take turns at one address in a jitdump file of
 * this process; what a sample is called depends on its time alone, not on when the file was read before.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "capture/hostsample/jit.h"
#include "core/sample/sample.h"

#define CODE 0x1000u

/* ---- in the place of the core's ---- */

static char named[64];

uint64_t cap_sample_place(const char *function, const char *file, uint32_t line)
{
	snprintf(named, sizeof(named), "%s %s:%u", function, file, line);
	return 1;
}

/* ---- the file ---- */

static int dump;

static void put(const void *data, size_t size)
{
	assert_int_equal(write(dump, data, size), size);
}

static void load(const char *name)
{
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, size_of_code, index;
	} r = {0, 0, clock_ns(CLOCK_MONOTONIC), (uint32_t)getpid(), 1, CODE, CODE, 16, 0};

	r.size = (uint32_t)(sizeof(r) + strlen(name) + 1);
	put(&r, sizeof(r));
	put(name, strlen(name) + 1);
}

static int begin(void **state)
{
	struct {
		uint32_t magic, version, size, machine, reserved, pid;
		uint64_t time, flags;
	} head = {0x4a695444, 1, sizeof(head), 62, 0, (uint32_t)getpid(), 0, 0};
	char path[64];

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	dump = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	if (dump < 0)
		return 1;
	put(&head, sizeof(head));
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED;
}

static int end(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	return unlink(path);
}

/* ---- tests ---- */

/* The clocks are compared with an error far below this. */
static uint64_t later(void)
{
	uint64_t from = clock_ns(CLOCK_MONOTONIC_RAW), now;

	do
		now = clock_ns(CLOCK_MONOTONIC_RAW);
	while (now - from < 2000000);
	return now;
}

static void assert_named(uint64_t time, const char *expected)
{
	named[0] = '\0';
	assert_int_equal(jit_place(CODE + 8, time), 1);
	assert_string_equal(named, expected);
}

static void names_follow_the_file(void **state)
{
	static const char *const names[] = {"first", "second", "third"};
	uint64_t at[3];
	char expected[64];

	for (int i = 0; i < 3; i++) {
		load(names[i]);
		at[i] = later();
		snprintf(expected, sizeof(expected), "%s :0", names[i]);
		assert_named(at[i], expected);
		later();
	}
	assert_named(at[0], "first :0");
	assert_named(at[1], "second :0");
}

/* What the file has beyond the sample is not what was there. */
static void later_ones_are_not_meant(void **state)
{
	uint64_t before = later();

	later();
	load("fourth");
	assert_named(before, "third :0");
	assert_named(later(), "fourth :0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_follow_the_file),
		cmocka_unit_test(later_ones_are_not_meant),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
