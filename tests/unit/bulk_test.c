/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that goes to files where it is much: base/bulk.h. */
#include <errno.h>
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/resource.h>

#include "base/bulk.h"
#include "base/hash.h"

enum { MANY = 600000, BOUND = 1 << 16 };

struct list {
	uint64_t *items;
	uint32_t count, room;
};

static void append(struct list *l, uint64_t x)
{
	assert_true(bulk_reserve(&l->items, &l->room, l->count, 1));
	l->items[l->count++] = x;
}

/* Nothing of it is in the heap or in files when all is free. */
static void check_gone(void)
{
	assert_int_equal(bulk_held(), 0);
	assert_int_equal(bulk_filed(), 0);
}

static void small_arrays_stay_in_the_heap(void **state)
{
	struct list l = {0};

	bulk_memory(BULK_MEMORY);
	for (uint64_t i = 0; i < 1000; i++)
		append(&l, i * i);
	assert_in_range(bulk_held(), 8000, 17000);
	assert_int_equal(bulk_filed(), 0);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(l.items[i], i * i);
	bulk_free(l.items);
	check_gone();
}

static unsigned files_in(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void two_arrays_share_one_bound(void **state)
{
	char place[] = "/tmp/kymo-bulk-XXXXXX";
	struct list l[2] = {0};

	assert_non_null(mkdtemp(place));
	setenv("TMPDIR", place, 1);
	bulk_memory(BOUND);
	for (uint64_t i = 0; i < MANY; i++) {
		append(&l[0], i);
		append(&l[1], ~i);
		assert_in_range(bulk_held(), 0, BOUND);
	}
	assert_in_range(bulk_filed(), 2 * MANY * sizeof(uint64_t), 4 * MANY * sizeof(uint64_t));
	assert_int_equal(files_in(place), 0); /* they have no name */
	bulk_rest();
	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(l[0].items[i], i);
		assert_int_equal(l[1].items[i], ~i);
	}
	bulk_free(l[0].items);
	bulk_free(l[1].items);
	check_gone();
	unsetenv("TMPDIR");
	assert_int_equal(remove(place), 0);
}

static void arrays_are_zero(void **state)
{
	for (uint64_t bound = 0; bound <= BOUND; bound += BOUND) {
		uint64_t *a;

		bulk_memory(bound);
		a = bulk_array(5000, sizeof(*a));
		assert_non_null(a);
		assert_true(bound ? bulk_filed() == 0 : bulk_held() == 0);
		for (unsigned i = 0; i < 5000; i++)
			assert_int_equal(a[i], 0);
		bulk_free(a);
		check_gone();
	}
	assert_null(bulk_array(SIZE_MAX / 2, 8));
}

static void maps_in_files_find_all(void **state)
{
	struct map m = {0};
	uint64_t found, n = 0;

	bulk_memory(BOUND);
	for (uint64_t i = 1; i <= 100000; i++)
		assert_true(bulk_map_set(&m, hash_u64(i), i));
	assert_true(bulk_map_set(&m, hash_u64(7), 8));
	assert_true(bulk_map_add(&m, hash_u64(9), 10));
	assert_true(bulk_filed() > 0);
	for (uint64_t i = 1; i <= 100000; i++)
		if (i != 7 && i != 9)
			assert_int_equal(map_get(&m, hash_u64(i)), i);
	assert_int_equal(map_get(&m, hash_u64(7)), 8);
	map_each(&m, hash_u64(9), found)
		n += found;
	assert_int_equal(n, 19);
	assert_int_equal(map_remove(&m, hash_u64(7)), 8);
	assert_int_equal(map_get(&m, hash_u64(7)), 0);
	assert_int_equal(m.count, 100000);
	bulk_map_release(&m);
	check_gone();
}

/* ---- sorting --------------------------------------------------------------------------------- */

struct item {
	uint32_t time, came;
};

static int by_time(const void *a, const void *b, void *data)
{
	const struct item *x = a, *y = b;

	++*(uint64_t *)data;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->came > y->came) - (x->came < y->came);
}

/* Times of items by where they come. */
static uint32_t backwards(uint32_t i)
{
	return (MANY - i) / 3; /* three of each */
}

static uint32_t mixed(uint32_t i)
{
	return (uint32_t)(hash_u64(i) % 1000);
}

static uint32_t equal(uint32_t i)
{
	return 5;
}

static uint32_t in_order(uint32_t i)
{
	return i / 2;
}

static void check_sorted(uint32_t count, uint64_t bound, uint32_t (*time)(uint32_t))
{
	struct item *items;
	uint64_t compared = 0, sum = 0;

	bulk_memory(bound);
	items = bulk_array(count + 1u, sizeof(*items));
	assert_non_null(items);
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct item){time(i), i};
	assert_true(bulk_sort(&items, count, sizeof(*items), by_time, &compared));
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(items[i].time, time(items[i].came));
		sum += items[i].came;
		if (!i)
			continue;
		assert_true(
			items[i - 1].time < items[i].time ||
			(items[i - 1].time == items[i].time && items[i - 1].came < items[i].came));
	}
	assert_int_equal(sum, (uint64_t)count * (count - 1u) / 2);
	if (time == in_order || time == equal)
		assert_int_equal(compared, count - 1); /* what is in order is not sorted */
	bulk_free(items);
	check_gone();
}

/* Some are one run, some several, the last one of them short. */
static void all_orders_are_sorted(void **state)
{
	static uint32_t (*const times[])(uint32_t) = {backwards, mixed, equal, in_order};
	static const uint32_t counts[] = {1, 2, 1000, 1 << 18, (1 << 18) + 1, MANY};

	for (unsigned t = 0; t < sizeof(times) / sizeof(*times); t++)
		for (unsigned c = 0; c < sizeof(counts) / sizeof(*counts); c++)
			for (uint64_t bound = 0; bound <= BULK_MEMORY; bound += BULK_MEMORY)
				check_sorted(counts[c], bound, times[t]);
}

/* ---- no room --------------------------------------------------------------------------------- */

static void no_folder_is_told(void **state)
{
	struct list l = {0};
	const char *where;

	setenv("TMPDIR", "/nonexistent/kymo", 1);
	bulk_memory(BOUND);
	while (l.count < BOUND && bulk_reserve(&l.items, &l.room, l.count, 1))
		l.count++;
	assert_in_range(l.count, BOUND / 8 - 8, BOUND / 8);
	assert_int_equal(bulk_error(&where), ENOENT);
	assert_string_equal(where, "/nonexistent/kymo");
	assert_int_equal(bulk_error(&where), 0); /* once */
	unsetenv("TMPDIR");
	bulk_free(l.items);
	check_gone();
}

static void no_room_is_told_and_what_was_there_stays(void **state)
{
	const struct rlimit limit = {3 << 20, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	struct list l = {0};
	const char *where;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	bulk_memory(BOUND);
	while (l.count < MANY && bulk_reserve(&l.items, &l.room, l.count, 1)) {
		l.items[l.count] = l.count;
		l.count++;
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_in_range(l.count, 1 << 17, (3 << 20) / 8);
	assert_int_equal(bulk_error(&where), EFBIG);
	for (uint32_t i = 0; i < l.count; i++)
		assert_int_equal(l.items[i], i);
	append(&l, 1);
	bulk_free(l.items);
	check_gone();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_arrays_stay_in_the_heap),
		cmocka_unit_test(two_arrays_share_one_bound),
		cmocka_unit_test(arrays_are_zero),
		cmocka_unit_test(maps_in_files_find_all),
		cmocka_unit_test(all_orders_are_sorted),
		cmocka_unit_test(no_folder_is_told),
		cmocka_unit_test(no_room_is_told_and_what_was_there_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
