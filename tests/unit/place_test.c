/* SPDX-License-Identifier: Apache-2.0 */
/* Values encoded from their places are, bit by bit, what the encoder makes of them one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "wire/place.h"
#include "wire/value.h"

#define BASE  0x7f1200000000ull
#define MOST  40u
#define BYTES 2048u

static const uint64_t values[] = {0,
				  1,
				  0x7f,
				  0x80,
				  0xff,
				  0x100,
				  0x8000,
				  0xffff,
				  0x10000,
				  0x80000000,
				  0xffffffff,
				  0x100000000,
				  BASE,
				  BASE | 0x80000000,
				  BASE + 0x100000000,
				  0xffffffffffff,
				  0x1000000000000,
				  0x8000000000000000,
				  UINT64_MAX};
#define VALUES (sizeof(values) / sizeof(values[0]))

static const uint8_t kinds[] = {KYMO_KIND_UNSIGNED, KYMO_KIND_SIGNED, KYMO_KIND_FLOAT,
				KYMO_KIND_POINTER,  KYMO_KIND_HANDLE, KYMO_KIND_ENUM,
				KYMO_KIND_BOOL,     KYMO_KIND_SIZE};
static const uint8_t sizes[] = {1, 2, 4, 8};

/* As backends have them: the place first. */
struct field {
	struct wire_place in;
	uint8_t kind;
	uint64_t value;
};

struct record {
	struct field fields[MOST];
	uint64_t inside[MOST + 1];
	char args[(MOST + 1) *
		  sizeof(uint64_t)]; /* as many are read behind the last as it is wide */
	unsigned count, text;
};

static struct wire_stop other(uint8_t *p, uint8_t *limit, uint64_t base, unsigned i,
			      const void *data)
{
	const struct record *r = data;
	const struct field *f = &r->fields[i];

	return wire_put_found(p, limit, base, &f->in, f->kind, f->value, r->text);
}

static void begin(struct wire_enc *e, uint8_t *at, unsigned count)
{
	*e = (struct wire_enc){
		.p = at, .start = at, .limit = at + WIRE_RECORD_MAX - 8 * count, .base = BASE};
}

static uint64_t word_of(const struct field *f)
{
	return f->kind == KYMO_KIND_STRING ? f->value : f->value & wire_masks[f->in.size];
}

static void check(const struct record *r)
{
	uint8_t expected[BYTES] = {0}, got[BYTES] = {0};
	struct wire_enc one, all;
	size_t bytes;

	begin(&one, expected, r->count);
	begin(&all, got, r->count);
	for (unsigned i = 0; i < r->count; i++)
		wire_value(&one, i, r->fields[i].kind, r->fields[i].in.size, word_of(&r->fields[i]),
			   r->text);
	wire_put_places(&all, r->count, r->args, &r->fields->in, sizeof(r->fields[0]), other, r);
	bytes = (size_t)(one.p - expected);
	assert_int_equal(all.p - got, bytes);
	assert_true(all.classes == one.classes && all.classes_hi == one.classes_hi);
	assert_memory_equal(got, expected, bytes);
}

static void put(struct record *r, uint8_t kind, uint8_t size, uint8_t more, uint64_t value)
{
	struct field *f = &r->fields[r->count];
	const uint64_t beside =
		value ^ 0x5a5a5a5a5a5a5a5a; /* behind a narrow one lies something else */
	const uint64_t word =
		size == 8 ? value : (value & wire_masks[size]) | (beside & ~wire_masks[size]);
	const void *inside = &r->inside[r->count];

	*f = (struct field){.in = {.at = (uint16_t)(r->count * 8),
				   .size = size,
				   .way = (uint8_t)(wire_way_of(kind) | more)},
			    .kind = kind,
			    .value = value};
	if (more == WIRE_INSIDE) {
		f->in.behind = 8;
		r->inside[r->count + 1] = word;
		memcpy(r->args + f->in.at, &inside, sizeof(inside));
	} else {
		memcpy(r->args + f->in.at, &word, sizeof(word));
	}
	r->count++;
}

/* Each value of each kind and size, wherever it lies, alone. */
static void alone(void **state)
{
	static const uint8_t mores[] = {0, WIRE_INSIDE, WIRE_OTHER};
	unsigned n = 0;

	for (unsigned v = 0; v < VALUES; v++)
		for (unsigned k = 0; k < sizeof(kinds); k++)
			for (unsigned s = 0; s < sizeof(sizes); s++)
				for (unsigned m = 0; m < sizeof(mores); m++, n++) {
					struct record r = {.text = 256};

					put(&r, kinds[k], sizes[s], mores[m], values[v]);
					check(&r);
				}
	assert_int_equal(n, VALUES * sizeof(kinds) * sizeof(sizes) * sizeof(mores));
}

/* Any number of any of them, in one record. */
static void together(void **state)
{
	uint32_t random = 12345;

	for (unsigned round = 0; round < 4000; round++) {
		struct record r = {.text = 256};
		const unsigned count = round % (MOST + 1);

		while (r.count < count) {
			random = random * 1664525 + 1013904223;
			put(&r, kinds[random >> 8 & 7], sizes[random >> 16 & 3],
			    (random >> 20 & 7) == 0 ? WIRE_OTHER : 0,
			    values[(random >> 24) % VALUES]);
		}
		check(&r);
	}
}

static void null_inside(void **state)
{
	struct record r = {.count = 0};
	uint8_t at[BYTES];
	struct wire_enc e;

	put(&r, KYMO_KIND_UNSIGNED, 4, WIRE_INSIDE, 7);
	put(&r, KYMO_KIND_HANDLE, 8, WIRE_INSIDE, 7);
	memset(r.args, 0, sizeof(r.args));
	begin(&e, at, 2);
	wire_put_places(&e, 2, r.args, &r.fields->in, sizeof(r.fields[0]), other, &r);
	assert_true(e.classes == 0 && e.p == at);
}

static void strings(void **state)
{
	static const size_t lengths[] = {0, 1, 62, 63, 64, 255, 256, 257, 700, 5000};
	char text[5001];

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (unsigned cap = 0; cap <= 256; cap += 128) {
			struct record r = {.text = cap};

			memset(text, 'x', sizeof(text));
			text[lengths[i]] = '\0';
			put(&r, KYMO_KIND_UNSIGNED, 4, 0, 300);
			put(&r, KYMO_KIND_STRING, 8, 0, (uintptr_t)text);
			put(&r, KYMO_KIND_STRING, 8, 0, 0);
			put(&r, KYMO_KIND_STRING, 8, 0, (uintptr_t)text);
			put(&r, KYMO_KIND_POINTER, 8, 0, BASE | 5);
			check(&r);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(together),
		cmocka_unit_test(null_inside),
		cmocka_unit_test(strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
