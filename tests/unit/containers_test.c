/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays, maps and hashes: base/vec.h, base/map.h, base/hash.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

/* ---- memory that runs out ---- */

/* Allocations that still succeed. */
static unsigned left = UINT32_MAX;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_realloc(void *p, size_t n)
{
	return left && left-- ? __real_realloc(p, n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return left && left-- ? __real_calloc(n, size) : NULL;
}

/* ---- vec ---- */

static void append(void **state)
{
	uint64_t *list = NULL;
	uint32_t count = 0, room = 0, allocations = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		uint32_t before = room;

		assert_true(vec_reserve(&list, &room, count, 1));
		allocations += room != before;
		list[count++] = i;
	}
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(list[i], i);
	assert_in_range(room, count, 2 * count);
	assert_in_range(allocations, 1, 20); /* it doubles */
	free(list);
}

static void many_at_once(void **state)
{
	char *text = NULL;
	size_t room = 0;

	assert_true(vec_reserve(&text, &room, 0, 0));
	assert_null(text);
	assert_true(vec_reserve(&text, &room, 10, 5000));
	assert_in_range(room, 5010, 10020);
	memset(text, 'x', 5010);
	free(text);
}

static void zeroed(void **state)
{
	struct pair {
		uint32_t a, b;
	} *list = NULL;
	uint32_t room = 0, old;

	assert_true(vec_reserve_zero(&list, &room, 3, 1));
	for (uint32_t i = 0; i < room; i++)
		assert_true(!list[i].a && !list[i].b);
	old = room;
	memset(list, 0xff, room * sizeof(*list));
	assert_true(vec_reserve_zero(&list, &room, 1000, 1));
	assert_in_range(room, 1001, 2002);
	assert_int_equal(list[old - 1].b, UINT32_MAX);
	for (uint32_t i = old; i < room; i++)
		assert_true(!list[i].a && !list[i].b);
	free(list);
}

/* Nothing changes when there is no memory, or more is wanted than there can be. */
static void no_room(void **state)
{
	struct big {
		char bytes[64];
	} *list = NULL, *same;
	uint32_t room = 0, narrow;
	size_t wide;

	assert_true(vec_reserve(&list, &room, 0, 1));
	same = list;
	narrow = room;
	left = 0;
	assert_false(vec_reserve(&list, &room, room, 1));
	assert_false(vec_reserve_zero(&list, &room, room, 1));
	left = UINT32_MAX;
	assert_true(list == same && room == narrow);
	assert_false(vec_reserve(&list, &room, UINT32_MAX, 1));
	assert_false(vec_reserve(&list, &room, 1, SIZE_MAX));
	wide = room;
	assert_false(vec_reserve(&list, &wide, SIZE_MAX, 1));
	assert_false(vec_reserve(&list, &wide, 0, SIZE_MAX / 64 + 1));
	assert_true(list == same && room == narrow && wide == narrow);
	free(list);
}

/* ---- map ---- */

static void numbers(void **state)
{
	struct map m = {0};

	assert_int_equal(map_get(&m, 0), 0);
	assert_int_equal(map_remove(&m, 7), 0);
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(map_set(&m, i * 0x1000, i + 1)); /* addresses of pages; 0 is a key */
	assert_int_equal(m.count, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(map_get(&m, i * 0x1000), i + 1);
	assert_int_equal(map_get(&m, 1), 0);
	assert_true(map_set(&m, 0x1000, 77));
	assert_int_equal(map_get(&m, 0x1000), 77);
	assert_int_equal(m.count, 10000);
	for (uint64_t i = 0; i < 10000; i += 2)
		assert_int_not_equal(map_remove(&m, i * 0x1000), 0);
	assert_int_equal(m.count, 5000);
	for (uint64_t i = 2; i < 10000; i++)
		assert_int_equal(map_get(&m, i * 0x1000), i % 2 ? i + 1 : 0);
	map_clear(&m);
	assert_int_equal(map_get(&m, 0x3000), 0);
	assert_int_equal(m.count, 0);
	map_release(&m);
	assert_int_equal(map_get(&m, 0x3000), 0);
}

static void pointers(void **state)
{
	struct map m = {0};
	int a = 0, b = 0;

	assert_true(map_set_pointer(&m, (uintptr_t)&a, &b));
	assert_ptr_equal(map_get_pointer(&m, (uintptr_t)&a), &b);
	assert_ptr_equal(map_remove_pointer(&m, (uintptr_t)&a), &b);
	assert_null(map_get_pointer(&m, (uintptr_t)&a));
	map_release(&m);
}

static unsigned values_under(const struct map *m, uint64_t key, uint64_t *sum)
{
	unsigned n = 0;
	uint64_t value;

	*sum = 0;
	map_each(m, key, value) {
		*sum += value;
		n++;
	}
	return n;
}

/* Things with one hash are all found, and no others. */
static void same_hash(void **state)
{
	struct map m = {0};
	uint64_t sum;

	assert_int_equal(values_under(&m, 5, &sum), 0);
	for (uint64_t i = 1; i <= 40; i++)
		assert_true(map_add(&m, i % 4, i));
	assert_int_equal(values_under(&m, 1, &sum), 10);
	assert_int_equal(sum, 1 + 5 + 9 + 13 + 17 + 21 + 25 + 29 + 33 + 37);
	assert_int_equal(values_under(&m, 0, &sum), 10);
	assert_int_equal(values_under(&m, 4, &sum), 0);
	map_release(&m);
}

static void all_entries(void **state)
{
	struct map m = {0};
	const struct map_entry *e;
	uint64_t keys = 0, values = 0;
	size_t place = 0;

	assert_null(map_entry(&m, &place));
	for (uint64_t i = 0; i < 100; i++)
		assert_true(map_set(&m, i, i + 1));
	for (place = 0; (e = map_entry(&m, &place));) {
		keys += e->key;
		values += e->value;
	}
	assert_int_equal(keys, 4950);
	assert_int_equal(values, 5050);
	map_release(&m);
}

/* What was there before memory ran out is there after. */
static void no_memory(void **state)
{
	struct map m = {0};
	uint64_t i = 0;

	left = 0;
	assert_false(map_set(&m, 1, 1));
	assert_int_equal(map_get(&m, 1), 0);
	left = 3;
	while (map_set(&m, i, i + 1))
		i++;
	assert_int_equal(i, m.count);
	assert_true(map_set(&m, 0, 99)); /* replaces: needs none */
	left = UINT32_MAX;
	assert_int_equal(map_get(&m, 0), 99);
	for (uint64_t k = 1; k < i; k++)
		assert_int_equal(map_get(&m, k), k + 1);
	assert_int_equal(map_get(&m, i), 0);
	assert_true(map_set(&m, i, i + 1));
	map_release(&m);
}

/* ---- hash ---- */

static void hashes(void **state)
{
	static const char text[] = "the length is part of it";
	struct map seen = {0};
	uint64_t value;

	for (size_t n = 0; n < sizeof(text); n++) {
		map_each(&seen, hash_bytes(text, n), value)
			fail();
		assert_true(map_add(&seen, hash_bytes(text, n), 1));
	}
	assert_true(hash_string("ab") == hash_bytes("ab", 2));
	assert_true(hash_bytes("a\0", 2) != hash_bytes("a", 1));
	assert_true(hash_mix(hash_u64(1), 2) != hash_mix(hash_u64(2), 1));
	map_release(&seen);
}

/* Each bit of a number reaches nearly all of its hash. */
static void hash_bits(void **state)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t all = 0;

		for (uint64_t i = 0; i < 256; i++)
			all |= hash_u64(i * 0x123456789abcdefull) ^
			       hash_u64(i * 0x123456789abcdefull ^ 1ull << bit);
		assert_in_range(__builtin_popcountll(all), 60, 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(append),    cmocka_unit_test(many_at_once),
		cmocka_unit_test(zeroed),    cmocka_unit_test(no_room),
		cmocka_unit_test(numbers),   cmocka_unit_test(pointers),
		cmocka_unit_test(same_hash), cmocka_unit_test(all_entries),
		cmocka_unit_test(no_memory), cmocka_unit_test(hashes),
		cmocka_unit_test(hash_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
