/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses whose lines, conflicts and missing lanes are known in closed form, in an order that no device would have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lanes/lanes.h"

#define MOST 200000u

static kymo_access_t all[MOST];
static size_t count;

static void access_to(uint32_t site, uint32_t group, uint32_t item, uint32_t occurrence,
		      uint64_t address)
{
	assert_true(count < MOST);
	all[count++] = (kymo_access_t){site, group, item, occurrence, address, 0};
}

/* As threads of a processor might leave them; the same at each run. */
static void shuffle(void)
{
	uint32_t x = 12345;

	for (size_t i = count; i > 1; i--) {
		kymo_access_t swap = all[i - 1];
		size_t other;

		x = x * 1664525u + 1013904223u;
		other = x % i;
		all[i - 1] = all[other];
		all[other] = swap;
	}
}

static struct lanes_count *counted(uint32_t warp, const struct lanes_site *sites, uint32_t n,
				   uint32_t group)
{
	struct lanes *l = lanes_new(lanes_profile_of(warp), sites, n, group);
	struct lanes_count *c = calloc(n, sizeof(*c));

	assert_non_null(l);
	assert_non_null(c);
	shuffle();
	assert_true(lanes_take(l, all, count));
	memcpy(c, lanes_counts(l), n * sizeof(*c));
	lanes_free(l);
	count = 0;
	return c;
}

static void assert_counts(const struct lanes_count *c, struct lanes_count expected)
{
	assert_int_equal(c->accesses, expected.accesses);
	assert_int_equal(c->warps, expected.warps);
	assert_int_equal(c->lanes, expected.lanes);
	assert_int_equal(c->needed, expected.needed);
	assert_int_equal(c->used, expected.used);
	assert_int_equal(c->misaligned, expected.misaligned);
}

/* Structures of 48 bytes are aligned to 16, three floats to 4: wherever an allocation has put them. */
static void alignment(void **state)
{
	const struct lanes_site sites[] = {
		{LANES_GLOBAL, 48}, {LANES_GLOBAL, 12}, {LANES_GLOBAL, 8}};
	struct lanes_count *c;

	for (uint32_t i = 0; i < 32; i++) {
		access_to(0, 0, i, 0, 0x1010 + 48ull * i);
		access_to(1, 0, i, 0, 0x1004 + 12ull * i);
		access_to(2, 0, i, 0, 0x1004 + 8ull * i);
	}
	c = counted(32, sites, 3, 32);
	assert_int_equal(c[0].misaligned, 0);
	assert_int_equal(c[1].misaligned, 0);
	assert_int_equal(c[2].misaligned, 32);
	free(c);
}

/* Of 4 bytes at every s-th element: min(s, 32) lines where one would do. */
static void strides(void **state)
{
	static const struct lanes_site site = {LANES_GLOBAL, 4};

	for (uint32_t s = 0; s <= 40; s++) {
		struct lanes_count *c;
		uint64_t used = s < 32 ? s : 32;

		for (uint32_t group = 0; group < 3; group++)
			for (uint32_t item = 0; item < 128; item++)
				access_to(0, group, item, 0,
					  0x10000 + 4ull * s * (group * 128 + item));
		c = counted(32, &site, 1, 128);
		assert_counts(c, (struct lanes_count){384, 12, 384, 12, 12 * (used ? used : 1), 0});
		free(c);
	}
}

/* A line more where a warp's bytes begin within one, and accesses that reach over the end of a line. */
static void offsets(void **state)
{
	static const struct lanes_site sites[] = {
		{LANES_GLOBAL, 4}, {LANES_GLOBAL, 8}, {LANES_GLOBAL, 16}};
	struct lanes_count *c;

	for (uint32_t item = 0; item < 32; item++) {
		access_to(0, 0, item, 0, 0x1000 + 4 * item + 4);
		access_to(1, 0, item, 0, 0x1000 + 8 * item + 124);
		access_to(2, 0, item, 0, 0x1000 + 16 * item);
	}
	c = counted(32, sites, 3, 32);
	assert_counts(&c[0], (struct lanes_count){32, 1, 32, 1, 2, 0});
	assert_counts(&c[1], (struct lanes_count){32, 1, 32, 2, 3, 32});
	assert_counts(&c[2], (struct lanes_count){32, 1, 32, 4, 4, 0});
	free(c);
}

/* What all lanes read alike is needed once; what some read alike, once for these. */
static void shared_addresses(void **state)
{
	static const struct lanes_site sites[] = {{LANES_GLOBAL, 8}, {LANES_GLOBAL, 8}};
	struct lanes_count *c;

	for (uint32_t item = 0; item < 64; item++) {
		access_to(0, 7, item, 0, 0x2000);
		access_to(1, 7, item, 0, 0x2000 + 8 * (item / 2));
	}
	c = counted(64, sites, 2, 64);
	assert_counts(&c[0], (struct lanes_count){64, 1, 64, 1, 1, 0});
	assert_counts(&c[1], (struct lanes_count){64, 1, 64, 2, 2, 0});
	free(c);
}

/* Columns of a tile of 32 words are in one bank; padded by one they are in all. */
static void tiles(void **state)
{
	static const struct lanes_site sites[] = {
		{LANES_LOCAL, 4}, {LANES_LOCAL, 4}, {LANES_LOCAL, 4}};
	struct lanes_count *c;

	for (uint32_t y = 0; y < 8; y++)
		for (uint32_t x = 0; x < 32; x++) {
			access_to(0, 0, y * 32 + x, 0, 4 * (y * 32 + x));
			access_to(1, 0, y * 32 + x, 0, 4 * (x * 32 + y));
			access_to(2, 0, y * 32 + x, 0, 4 * (x * 33 + y));
		}
	c = counted(32, sites, 3, 256);
	assert_counts(&c[0], (struct lanes_count){256, 8, 256, 8, 8, 0});
	assert_counts(&c[1], (struct lanes_count){256, 8, 256, 8, 8 * 32, 0});
	assert_counts(&c[2], (struct lanes_count){256, 8, 256, 8, 8, 0});
	free(c);
}

/* Words of 8 and 16 bytes are served to parts of a warp; one word for all is no conflict. */
static void wide_words(void **state)
{
	static const struct lanes_site sites[] = {
		{LANES_LOCAL, 8}, {LANES_LOCAL, 16}, {LANES_LOCAL, 4}, {LANES_LOCAL, 8}};
	struct lanes_count *c;

	for (uint32_t item = 0; item < 32; item++) {
		access_to(0, 0, item, 0, 8 * item);
		access_to(1, 0, item, 0, 16 * item);
		access_to(2, 0, item, 0, 64);
		access_to(3, 0, item, 0, 16 * item);
	}
	c = counted(32, sites, 4, 32);
	assert_counts(&c[0], (struct lanes_count){32, 1, 32, 2, 2, 0});
	assert_counts(&c[1], (struct lanes_count){32, 1, 32, 4, 4, 0});
	assert_counts(&c[2], (struct lanes_count){32, 1, 32, 1, 1, 0});
	assert_counts(&c[3], (struct lanes_count){32, 1, 32, 2, 4, 0});
	free(c);
}

/* Every other lane takes part; the last warp of a group of 40 has 8 lanes; executions are told apart. */
static void missing_lanes(void **state)
{
	static const struct lanes_site sites[] = {{LANES_GLOBAL, 4}, {LANES_OTHER, 0}};
	struct lanes_count *c;

	for (uint32_t group = 100; group < 102; group++)
		for (uint32_t item = 0; item < 40; item++)
			for (uint32_t k = 0; k < 1 + item % 2; k++) {
				access_to(0, group, item, k, 4 * item + 4096 * k);
				access_to(1, group, item, k, 0);
			}
	c = counted(32, sites, 2, 40);
	/* By group: first executions of 32 and 8 lanes, second ones of 16 and 4. */
	assert_counts(&c[0], (struct lanes_count){120, 8, 256, 8, 8, 0});
	assert_counts(&c[1], (struct lanes_count){120, 8, 256, 0, 0, 0});
	free(c);
}

static void what_cannot_be(void **state)
{
	static const struct lanes_site site = {LANES_GLOBAL, 4};
	struct lanes *l = lanes_new(lanes_profile_of(32), &site, 1, 32);
	const kymo_access_t no_site = {1, 0, 0, 0, 0, 0}, no_item = {0, 0, 32, 0, 0, 0};
	const kymo_access_t twice[] = {{0, 0, 5, 1, 4, 0}, {0, 0, 5, 1, 8, 0}};

	assert_false(lanes_take(l, &no_site, 1));
	assert_false(lanes_take(l, &no_item, 1));
	assert_false(lanes_take(l, twice, 2));
	lanes_free(l);
	assert_null(lanes_profile_of(31));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strides),       cmocka_unit_test(alignment),
		cmocka_unit_test(offsets),       cmocka_unit_test(shared_addresses),
		cmocka_unit_test(tiles),         cmocka_unit_test(wide_words),
		cmocka_unit_test(missing_lanes), cmocka_unit_test(what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
