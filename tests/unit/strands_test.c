/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of records side by side: stream/strands.h; where temporary files go: stream/spool.h. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/resource.h>

#include "base/temporary.h"
#include "stream/spool.h"
#include "stream/strands.h"

enum { LISTS = 3, RECORDS = 5000 };

struct item {
	uint64_t kind, number, sum, last;
};

static const size_t short_size = offsetof(struct item, sum);

/* Bytes of many lengths, some longer than a block. */
static size_t bytes_of(uint32_t list, uint32_t i, char *out)
{
	size_t n = i % 1000 == 999 ? 20000 + list : i * 7 % 90;

	memset(out, (int)('a' + (i + list) % 26), n);
	return n;
}

/* Every other record is a short one: what comes behind is not written. */
static void add(struct strand *x, uint32_t list, uint32_t i, char *room)
{
	const struct item item = {i % 2, i, UINT64_C(1) << (i % 64), list};
	size_t n = bytes_of(list, i, room);

	assert_int_equal(strand_add(x, &item, i % 2 ? short_size : sizeof(item), room, n), 0);
}

static void check(struct strand *x, uint32_t list, uint32_t count, char *room)
{
	struct item item;
	const void *bytes;
	uint32_t i = 0;
	size_t n;

	assert_int_equal(strand_rewind(x), 0);
	for (; strand_next(x, &item, &bytes, &n); i++) {
		assert_int_equal(item.number, i);
		assert_int_equal(item.kind, i % 2);
		if (i % 2 == 0) {
			assert_int_equal(item.sum, UINT64_C(1) << (i % 64));
			assert_int_equal(item.last, list);
		}
		assert_int_equal(n, bytes_of(list, i, room));
		assert_memory_equal(bytes, room, n);
	}
	assert_int_equal(strand_status(x), 0);
	assert_int_equal(i, count);
}

/* Of the second list a few, of the third none. */
static void lists_come_back_one_by_one(void **state)
{
	static const uint32_t counts[LISTS] = {RECORDS, 3, 0};
	char *room = malloc(32768);
	struct strand lists[LISTS];
	struct strands p;

	assert_int_equal(strands_init(&p, "/tmp"), 0);
	for (uint32_t l = 0; l < LISTS; l++)
		assert_int_equal(strand_begin(&p, &lists[l], sizeof(struct item)), 0);
	for (uint32_t i = 0; i < RECORDS; i++)
		for (uint32_t l = 0; l < LISTS; l++)
			if (i < counts[l])
				add(&lists[l], l, i, room);
	for (uint32_t l = 0; l < LISTS; l++) {
		check(&lists[l], l, counts[l], room);
		check(&lists[l], l, counts[l], room); /* and again */
	}
	for (uint32_t l = 0; l < LISTS; l++)
		strand_release(&lists[l]);
	strands_release(&p);
	free(room);
}

static void full_disks_are_told(void **state)
{
	const struct rlimit small = {32768, RLIM_INFINITY};
	struct item item = {0};
	char text[1000] = "";
	kymo_status_t status = KYMO_OK;
	struct rlimit before;
	struct strands p;
	struct strand x;

	assert_int_equal(strands_init(&p, "/tmp"), 0);
	assert_int_equal(strand_begin(&p, &x, sizeof(item)), 0);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &small);
	for (int i = 0; i < 100 && status == KYMO_OK; i++)
		status = strand_add(&x, &item, sizeof(item), text, sizeof(text));
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(status, KYMO_ERROR_SYSTEM);
	assert_int_not_equal(x.error, 0);
	strand_release(&x);
	strands_release(&p);
}

static void expect_directory(const char *output, bool is_folder, const char *wanted)
{
	char *got = spool_directory_of(output, is_folder);

	assert_string_equal(got, wanted);
	free(got);
}

static void temporary_files_lie_by_the_output(void **state)
{
	unsetenv("TMPDIR");
	assert_string_equal(temporary_directory(), "/tmp");
	expect_directory(NULL, false, "/tmp");
	expect_directory("a/b/c.json", false, "a/b");
	expect_directory("c.json", false, ".");
	expect_directory("/c.json", false, "/");
	expect_directory("a/folder", true, "a/folder");
	setenv("TMPDIR", "", 1);
	expect_directory("a/c.json", false, "a");
	setenv("TMPDIR", "/var/tmp", 1);
	assert_string_equal(temporary_directory(), "/var/tmp");
	expect_directory("a/c.json", false, "/var/tmp");
	expect_directory("a/folder", true, "/var/tmp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_come_back_one_by_one),
		cmocka_unit_test(full_disks_are_told),
		cmocka_unit_test(temporary_files_lie_by_the_output),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests_name("strands", tests, NULL, NULL);
}
