/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks arranged in columns come back as they were, and nothing that is read back is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/columns.h"
#include "wire/wire.h"

enum { ROOM = 256 << 10 };

static uint64_t seed;

static uint32_t dice(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

struct chunk {
	uint8_t data[ROOM];
	size_t bytes;
};

static void begin_chunk(struct chunk *c)
{
	struct wire_chunk h = {.magic = WIRE_CHUNK_MAGIC,
			       .version = WIRE_VERSION,
			       .header_size = sizeof(h),
			       .type = WIRE_CHUNK_RECORDS,
			       .thread = 1};

	memcpy(c->data, &h, sizeof(h));
	c->bytes = sizeof(h);
}

/* Of so many shapes; words that stay, that grow evenly, and that are anything. */
static void add_record(struct chunk *c, uint32_t number, uint32_t shapes)
{
	uint32_t shape = dice() % shapes, words = 4 + shape % 250, word;
	struct wire_head h = {.op = (uint16_t)shape, .words = (uint8_t)words};

	for (uint32_t i = 0; i < words; i++) {
		word = i % 3 == 0   ? 7
		       : i % 3 == 1 ? number * 1000000007u
				    : dice() >> dice() % 32 << dice() % 8;
		memcpy(c->data + c->bytes + 4 * i, &word, 4);
	}
	memcpy(c->data + c->bytes, &h, 4);
	word = shape / 250;
	memcpy(c->data + c->bytes + 12, &word, 4);
	c->bytes += 4 * words;
}

static void make_chunk(struct chunk *c, uint32_t records, uint32_t shapes)
{
	begin_chunk(c);
	for (uint32_t i = 0; i < records && c->bytes + 1020 <= ROOM; i++)
		add_record(c, i, shapes);
}

/* ---- there and back -------------------------------------------------------------------------- */

static uint8_t *packed; /* of its bytes alone, so that a reader beyond them is found */
static size_t packed_bytes;

static size_t pack(struct wire_columns *w, const struct chunk *c)
{
	uint8_t *out = malloc(wire_columns_bound(c->bytes));
	size_t n = wire_columns_pack(w, c->data, c->bytes, out);

	assert_true(n <= wire_columns_bound(c->bytes));
	free(packed);
	packed = malloc(n ? n : 1);
	memcpy(packed, out, n);
	free(out);
	packed_bytes = n;
	return n;
}

static bool unpack(struct wire_columns *w, size_t bytes, uint8_t *chunk, size_t size)
{
	uint8_t *exact = malloc(bytes ? bytes : 1);
	bool ok;

	memcpy(exact, packed, bytes);
	ok = wire_columns_unpack(w, exact, bytes, chunk, size);
	free(exact);
	return ok;
}

static void comes_back_as_it_was(void **state)
{
	static const uint32_t shapes[] = {1, 2, 7, 100, 250, 255};
	static struct chunk c;
	struct wire_columns w = {0};

	seed = 1;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (uint32_t records = shapes[i] * 8; records < 3000; records = records * 2 + 1) {
			uint8_t *back;

			make_chunk(&c, records, shapes[i]);
			if (!pack(&w, &c))
				continue; /* too few of a shape, by chance */
			back = malloc(c.bytes);
			assert_true(unpack(&w, packed_bytes, back, c.bytes));
			assert_memory_equal(back, c.data, c.bytes);
			free(back);
		}
	make_chunk(&c, 1000, 5);
	assert_true(pack(&w, &c) > 0);
	wire_columns_release(&w);
}

/* What is alike takes little: a number that stays four bytes, one that grows by a small one a byte. */
static void what_is_alike_is_small(void **state)
{
	static struct chunk c;
	struct wire_columns w = {0};
	const uint32_t records = 1000;
	size_t n;

	begin_chunk(&c);
	for (uint32_t i = 0; i < records; i++) {
		uint32_t words[8] = {0, 100 + i % 3, 0xdeadbeef, 0, 1u << 30 | i * 60, 0, 77, 1};
		struct wire_head h = {.op = 1, .words = 8};

		memcpy(words, &h, 4);
		memcpy(c.data + c.bytes, words, sizeof(words));
		c.bytes += sizeof(words);
	}
	n = pack(&w, &c);
	/* Shape, gap, and the number that grows. */
	assert_in_range(n, 3 * records, 3 * records + sizeof(struct wire_chunk) + 100);
	wire_columns_release(&w);
}

static void what_cannot_be_arranged_is_left(void **state)
{
	static struct chunk c;
	struct wire_columns w = {0};

	seed = 3;
	make_chunk(&c, 0, 1);
	assert_int_equal(pack(&w, &c), 0);
	make_chunk(&c, 10, 100); /* hardly two alike */
	assert_int_equal(pack(&w, &c), 0);
	make_chunk(&c, 4000, 300); /* more shapes than there are numbers */
	assert_int_equal(pack(&w, &c), 0);
	make_chunk(&c, 100, 3);
	assert_true(pack(&w, &c) > 0);
	c.bytes -= 4; /* the last record is not whole */
	assert_int_equal(pack(&w, &c), 0);
	c.bytes = 100;
	assert_int_equal(pack(&w, &c), 0);
	make_chunk(&c, 100, 3);
	for (uint8_t words = 0; words < 4; words++) {
		c.data[sizeof(struct wire_chunk) + offsetof(struct wire_head, words)] = words;
		assert_int_equal(pack(&w, &c), 0);
	}
	wire_columns_release(&w);
}

/* ---- anything -------------------------------------------------------------------------------- */

static void cut_is_damaged(void **state)
{
	static struct chunk c;
	static uint8_t back[ROOM];
	struct wire_columns w = {0};

	seed = 5;
	make_chunk(&c, 60, 5);
	assert_true(pack(&w, &c) > 0);
	for (size_t n = 0; n < packed_bytes; n++)
		assert_false(unpack(&w, n, back, c.bytes));
	assert_false(unpack(&w, packed_bytes, back, c.bytes - 16));
	assert_false(unpack(&w, packed_bytes, back, c.bytes + 16));
	assert_false(unpack(&w, packed_bytes, back, 0));
	assert_true(unpack(&w, packed_bytes, back, c.bytes));
	wire_columns_release(&w);
}

/* Two shapes of one size, whose words are always the same. */
static void make_even_chunk(struct chunk *c)
{
	begin_chunk(c);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t words[6] = {0, 5, 6, 7, 8, 9};
		struct wire_head h = {.op = (uint16_t)(1 + i % 2), .words = 6};

		memcpy(words, &h, 4);
		memcpy(c->data + c->bytes, words, sizeof(words));
		c->bytes += sizeof(words);
	}
}

static void each_claim_is_checked(void **state)
{
	const uint32_t shapes = 12 + sizeof(struct wire_chunk), kinds = shapes + 16;
	static struct chunk c;
	static uint8_t back[ROOM];
	struct wire_columns w = {0};
	uint32_t head, wrong;

	make_even_chunk(&c);
	assert_true(pack(&w, &c) > 0);
	memcpy(&head, packed, 4);
	for (uint32_t i = 0; i < 3; i++) {
		wrong = i == 0 ? UINT32_MAX : i == 1 ? (uint32_t)c.bytes + 1 : 0;
		memcpy(packed, &wrong, 4);
		assert_false(unpack(&w, packed_bytes, back, c.bytes));
	}
	memcpy(packed, &head, 4);
	for (uint8_t words = 0; words < 6; words++) {
		packed[shapes + 2] = words;
		assert_false(unpack(&w, packed_bytes, back, c.bytes));
	}
	packed[shapes + 2] = 6;
	packed[shapes + 8 + 2] = 2; /* the last record is in the chunk, its fourth word is not */
	assert_false(unpack(&w, packed_bytes, back, head + 20 * 16));
	packed[shapes + 8 + 2] = 6;
	packed[kinds] = 2;
	assert_false(unpack(&w, packed_bytes, back, c.bytes));
	memset(packed + kinds, 0, 20); /* the second shape has none */
	assert_false(unpack(&w, packed_bytes, back, c.bytes));
	for (uint32_t i = 0; i < 20; i++)
		packed[kinds + i] = i % 2;
	packed[kinds + 20] = 5; /* bytes of a number */
	assert_false(unpack(&w, packed_bytes, back, c.bytes));
	packed[kinds + 20] = COLUMN_DELTA;
	assert_true(unpack(&w, packed_bytes, back, c.bytes));
	assert_memory_equal(back, c.data, c.bytes);
	packed = realloc(packed, packed_bytes + 1);
	packed[packed_bytes] = 0;
	assert_false(unpack(&w, packed_bytes + 1, back, c.bytes));
	wire_columns_release(&w);
}

/* Found out, or read as something else: but never beyond what is there (as sanitizers see). */
static void damage_does_no_harm(void **state)
{
	static struct chunk c;
	struct wire_columns w = {0};
	unsigned refused = 0;

	seed = 6;
	make_chunk(&c, 60, 5);
	assert_true(pack(&w, &c) > 0);
	for (unsigned i = 0; i < 20000; i++) {
		size_t at = i < 2000 ? i % packed_bytes : dice() % packed_bytes;
		uint8_t *back = malloc(c.bytes), before = packed[at];

		packed[at] = i % 3 ? (uint8_t)dice() : i % 2 ? 0xff : 0;
		refused += !unpack(&w, packed_bytes, back, c.bytes);
		packed[at] = before;
		free(back);
	}
	assert_in_range(refused, 100, 19000);
	wire_columns_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_as_it_was),
		cmocka_unit_test(what_is_alike_is_small),
		cmocka_unit_test(what_cannot_be_arranged_is_left),
		cmocka_unit_test(cut_is_damaged),
		cmocka_unit_test(each_claim_is_checked),
		cmocka_unit_test(damage_does_no_harm),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	free(packed);
	return rc;
}
