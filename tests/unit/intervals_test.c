/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of time (analysis/intervals.h) against a table of instants. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/intervals.h"

enum { LENGTH = 4000 };

static void check(const struct intervals *s, const bool *in)
{
	uint64_t expected = 0;

	for (uint32_t i = 0; i < LENGTH; i++)
		expected += in[i];
	assert_int_equal(intervals_length(s), expected);
	for (uint32_t i = 0; i < s->count; i++) {
		assert_true(s->at[i].start < s->at[i].end);
		if (i)
			assert_true(s->at[i - 1].end < s->at[i].start);
	}
	for (uint32_t from = 0; from < LENGTH; from += 371)
		for (uint32_t to = from; to < LENGTH; to += 517) {
			expected = 0;
			for (uint32_t i = from; i < to; i++)
				expected += in[i];
			assert_int_equal(intervals_within(s, from, to), expected);
		}
}

/* Adds pieces, in order where `shuffle` is 0, and says in `in` which instants they cover. */
static void fill(struct intervals *s, bool *in, unsigned pieces, unsigned shuffle)
{
	for (unsigned i = 0; i < pieces; i++) {
		int64_t start = shuffle ? rand() % LENGTH : (int64_t)i * LENGTH / pieces;
		int64_t end = start + rand() % 40;

		end = end > LENGTH ? LENGTH : end;
		assert_true(intervals_add(s, start, end));
		memset(in + start, true, (size_t)(end - start));
	}
	intervals_unite(s);
}

static void test_unions(void **state)
{
	srand(7);
	for (unsigned pieces = 1; pieces < 3000; pieces = pieces * 2 + 1)
		for (unsigned shuffle = 0; shuffle < 2; shuffle++) {
			struct intervals s = {0};
			bool in[LENGTH] = {false};

			fill(&s, in, pieces, shuffle);
			check(&s, in);
			intervals_release(&s);
		}
}

static void test_common(void **state)
{
	srand(8);
	for (unsigned pieces = 1; pieces < 200; pieces++) {
		struct intervals a = {0}, b = {0};
		bool in_a[LENGTH] = {false}, in_b[LENGTH] = {false};
		uint64_t expected = 0;

		fill(&a, in_a, pieces, 1);
		fill(&b, in_b, 200 - pieces, 1);
		for (uint32_t i = 0; i < LENGTH; i++)
			expected += in_a[i] && in_b[i];
		assert_int_equal(intervals_common(&a, &b), expected);
		intervals_release(&a);
		intervals_release(&b);
	}
}

/* What overlaps takes no room of its own, in whatever order it comes. */
static void test_memory(void **state)
{
	struct intervals s = {0};

	for (uint32_t i = 0; i < 1000000; i++)
		assert_true(intervals_add(&s, (i * 7919) % 1000, (i * 7919) % 1000 + 10));
	assert_true(s.room < 100000);
	intervals_unite(&s);
	assert_int_equal(s.count, 1);
	assert_int_equal(intervals_length(&s), 1009);
	intervals_release(&s);
}

static void test_empty(void **state)
{
	struct intervals s = {0};

	assert_true(intervals_add(&s, 5, 5));
	assert_true(intervals_add(&s, 6, 4));
	intervals_unite(&s);
	assert_int_equal(s.count, 0);
	assert_int_equal(intervals_length(&s), 0);
	assert_int_equal(intervals_find(&s, 0), 0);
	assert_int_equal(intervals_within(&s, 0, 10), 0);
	intervals_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unions),
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
