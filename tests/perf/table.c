/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime that registers its table of functions, and a program that calls one of them again and
 * again: by shape of its arguments. backends.py runs it under callgrind with two numbers of rounds.
 *
 *   table values ROUNDS    a handle, two numbers and a pointer
 *   table many ROUNDS      eight numbers and four floats, some of them on the stack
 *   table out ROUNDS       a value that the call writes, and one that a pointer leads to
 *   table text ROUNDS      a string
 *   table chatty ROUNDS    what no mode but full records
 *   table paused ROUNDS    as values, while the program has said that nothing is to be recorded
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/marker.h>
#include <kymo/register.h>

static int values(void *handle, uint32_t index, size_t size, const void *value)
{
	return 0;
}

static int64_t many(int8_t a, uint8_t b, int16_t c, double d, uint16_t e, int32_t f, float g,
		    uint32_t h, int64_t i, uint64_t j, double k, float l)
{
	return -9;
}

static int out(uint64_t *value, const uint64_t *in, int flags)
{
	*value = *in;
	return 0;
}

static int text(const char *what, int flags)
{
	return 0;
}

static int chatty(void)
{
	return 0;
}

static struct {
	size_t size;
	int (*values)(void *, uint32_t, size_t, const void *);
	int64_t (*many)(int8_t, uint8_t, int16_t, double, uint16_t, int32_t, float, uint32_t,
			int64_t, uint64_t, double, float);
	int (*out)(uint64_t *, const uint64_t *, int);
	int (*text)(const char *, int);
	int (*chatty)(void);
} table = {sizeof(table), values, many, out, text, chatty};

#define F(name, kind, size, flags)                                                                 \
	{                                                                                          \
		name, "type", NULL, KYMO_KIND_##kind, 0, size, flags                               \
	}
static const kymo_field_t values_fields[] = {F("handle", HANDLE, 8, 0), F("index", UNSIGNED, 4, 0),
					     F("size", SIZE, 8, 0), F("value", POINTER, 8, 0)};
static const kymo_field_t many_fields[] = {F("a", SIGNED, 1, 0),
					   F("b", UNSIGNED, 1, 0),
					   F("c", SIGNED, 2, 0),
					   F("d", FLOAT, 8, 0),
					   F("e", UNSIGNED, 2, 0),
					   F("f", SIGNED, 4, 0),
					   F("g", FLOAT, 4, 0),
					   F("h", UNSIGNED, 4, 0),
					   F("i", SIGNED, 8, 0),
					   F("j", UNSIGNED, 8, 0),
					   F("k", FLOAT, 8, 0),
					   F("l", FLOAT, 4, 0),
					   F("result", SIGNED, 8, KYMO_FIELD_RESULT)};
static const kymo_field_t out_fields[] = {
	F("value", UNSIGNED, 8, KYMO_FIELD_OUT), F("in", POINTER, 8, 0),
	F("*in", UNSIGNED, 8, KYMO_FIELD_DEREF), F("flags", SIGNED, 4, 0)};
static const kymo_field_t text_fields[] = {F("what", STRING, 8, 0), F("flags", SIGNED, 4, 0)};
static const kymo_enum_value_t codes[] = {{"OK", 0}};
static const kymo_enum_set_t status = {"status", codes, 1};
static const kymo_op_desc_t ops[] = {{"values", values_fields, 4, 0, &status, 0},
				     {"many", many_fields, 13, 0, NULL, 0},
				     {"out", out_fields, 4, 0, &status, 0},
				     {"text", text_fields, 2, 0, &status, 0},
				     {"chatty", values_fields, 0, KYMO_OP_CHATTY, &status, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "shapes", "Shapes", 1, 5, ops};

static void call(const char *what, unsigned long rounds)
{
	static char handle[64];
	uint64_t in = 99, value;

	for (unsigned long i = 0; i < rounds; i++) {
		if (*what == 'v' || *what == 'p')
			table.values(handle, (uint32_t)(i & 7), sizeof(value), &value);
		else if (*what == 'm')
			table.many(-1, 255, -300, 1.25, 65535, -70000, 2.5f, 4000000000u,
				   -5000000000ll, 1ull << 63, -0.125, 3.5f);
		else if (*what == 'o')
			table.out(&value, &in, 0);
		else if (*what == 't')
			table.text("what is said", 0);
		else
			table.chatty();
	}
}

int main(int argc, char **argv)
{
	const kymo_registration_t r = {sizeof(r), "shapes", 1, &table, &desc};
	const unsigned long rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc != 3) {
		fputs("usage: table values|many|out|text|chatty|paused ROUNDS\n", stderr);
		return 2;
	}
	if (kymo_register_table(&r, NULL) != KYMO_OK) {
		fputs("table: it could not be registered\n", stderr);
		return 3;
	}
	if (*argv[1] == 'p')
		kymo_control(KYMO_PAUSE_ALL);
	call(argv[1], rounds);
	return 0;
}
