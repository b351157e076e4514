/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that may be larger than memory (stream/large.h): where they lie, that they keep what is in them, and let go. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "stream/large.h"

static const char *place;

/* Files without a name in `place` that this process has open. */
static unsigned files(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		char link[300], to[512];
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/self/fd/%s", e->d_name);
		length = readlink(link, to, sizeof(to) - 1);
		if (length < 0)
			continue;
		to[length] = 0;
		n += strncmp(to, place, strlen(place)) == 0 && strstr(to, "(deleted)");
	}
	closedir(d);
	return n;
}

/* Fills an array of numbers until it has `count`; it is as it was all the while. */
static uint64_t *filled(uint64_t *items, uint32_t *room, uint32_t *count, uint32_t to)
{
	for (; *count < to; ++*count) {
		assert_true(large_reserve(&items, room, *count));
		items[*count] = *count * 0x9E3779B97F4A7C15u;
	}
	for (uint32_t i = 0; i < to; i++)
		if (items[i] != i * 0x9E3779B97F4A7C15u)
			fail_msg("item %u has changed", i);
	return items;
}

enum { SMALL = 1000, LARGE = LARGE_BYTES / sizeof(uint64_t) + 1 };

static void test_in_files(void **state)
{
	uint64_t *items = NULL, *other = NULL;
	uint32_t room = 0, count = 0, other_room = 0, other_count = 0;

	assert_null(large_place(place));
	items = filled(items, &room, &count, SMALL);
	assert_int_equal(files(), 0);
	items = filled(items, &room, &count, LARGE);
	assert_int_equal(files(), 1);
	other = filled(other, &other_room, &other_count, LARGE);
	assert_int_equal(files(), 2);
	items = filled(items, &room, &count, 3 * LARGE); /* it grows where it is */
	assert_int_equal(files(), 2);
	large_free(items);
	assert_int_equal(files(), 1);
	other = filled(other, &other_room, &other_count, LARGE + 1);
	large_free(other);
	assert_int_equal(files(), 0);
	assert_ptr_equal(large_place(NULL), place);
}

static void test_in_memory(void **state)
{
	uint64_t *items = NULL;
	uint32_t room = 0, count = 0;

	large_place(NULL);
	items = filled(items, &room, &count, 2 * LARGE);
	large_place(place); /* what is there stays where it is */
	items = filled(items, &room, &count, 3 * LARGE);
	assert_int_equal(files(), 0);
	large_free(items);
	large_place("/nonexistent");
	items = NULL;
	room = count = 0;
	items = filled(items, &room, &count, 2 * LARGE);
	large_free(items);
	large_place(NULL);
}

/* Where the disk has no room for more an array goes on in memory, with all that was in its file. */
static void test_full(void **state)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit some = {2 * (rlim_t)LARGE_BYTES + 4096, RLIM_INFINITY};
	uint64_t *items = NULL;
	uint32_t room = 0, count = 0;

	large_place(place);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &some), 0);
	items = filled(items, &room, &count, LARGE);
	assert_int_equal(files(), 1);
	items = filled(items, &room, &count, 3 * LARGE);
	assert_int_equal(files(), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	large_free(items);
	large_place(NULL);
}

static void test_new(void **state)
{
	static const size_t sizes[] = {1, SMALL, LARGE_BYTES + 1};

	large_place(place);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		unsigned char *p = large_new(sizes[i]);

		assert_non_null(p);
		assert_int_equal(p[0] | p[sizes[i] - 1], 0);
		assert_int_equal(files(), sizes[i] > LARGE_BYTES);
		memset(p, 1, sizes[i]);
		large_free(p);
	}
	assert_int_equal(files(), 0);
	large_place(NULL);
	large_free(NULL);
	assert_null(large_new(SIZE_MAX));
	assert_null(large_new(SIZE_MAX / 2));
}

/* What cannot grow is as it was. */
static void test_too_large(void **state)
{
	struct wide {
		char bytes[1 << 20];
	} *items = NULL;
	uint32_t room = 0;

	assert_true(large_grow(&items, &room, sizeof(*items)));
	assert_int_equal(room, 16);
	memset(items, 5, sizeof(*items));
	room = UINT32_MAX;
	assert_false(large_grow(&items, &room, sizeof(*items)));
	assert_int_equal(room, UINT32_MAX);
	assert_int_equal(items->bytes[sizeof(*items) - 1], 5);
	large_free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_files),  cmocka_unit_test(test_in_memory),
		cmocka_unit_test(test_full),      cmocka_unit_test(test_new),
		cmocka_unit_test(test_too_large),
	};
	char folder[] = "/tmp/kymo-large.XXXXXX";
	int result;

	place = mkdtemp(folder);
	if (!place)
		return 1;
	result = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return result;
}
