/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a sequence of operations on an array and a map, whose content is
 * compared with lists that are searched one by one; and as a string and a document of JSON, which a
 * JSON parser must read back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* ---- map and array ---- */

#define ENTRIES 4096u

/* What the map must hold. */
static struct {
	struct map_entry entries[ENTRIES];
	uint32_t count;
} model;

/* The first from `i` on with that key; model.count: none. */
static uint32_t model_find(uint32_t i, uint64_t key)
{
	while (i < model.count && model.entries[i].key != key)
		i++;
	return i;
}

/* Few keys of three kinds: dense, aligned, and those that share a place in small maps. */
static uint64_t key_of(uint8_t kind, uint8_t n)
{
	static const uint64_t inverse = 0xf1de83e19937733dull; /* of map_place()'s factor */

	return kind % 3 == 0 ? n : kind % 3 == 1 ? (uint64_t)n << 32 : (n & 31u) * inverse;
}

static void check_key(const struct map *m, uint64_t key)
{
	uint64_t value, sum = 0, wanted = 0;

	map_each(m, key, value)
		sum += value;
	for (uint32_t i = model_find(0, key); i < model.count; i = model_find(i + 1, key))
		wanted += model.entries[i].value;
	must(sum == wanted);
	must((map_get(m, key) != 0) == (wanted != 0));
	must(m->count == model.count);
}

static void model_remove(uint32_t i)
{
	model.entries[i] = model.entries[--model.count];
}

static void operate(struct map *m, const uint8_t *op)
{
	uint64_t key = key_of(op[1], op[2]), value = op[0] + 1u;
	uint32_t i = model_find(0, key), k;

	switch (op[0] & 3) {
	case 0:
		if (i == model.count) {
			must(map_set(m, key, value));
			model.entries[model.count++] = (struct map_entry){key, value};
		} else if (model_find(i + 1, key) == model.count) {
			must(map_set(m, key, value));
			model.entries[i].value = value;
		}
		break;
	case 1:
		must(map_add(m, key, value));
		model.entries[model.count++] = (struct map_entry){key, value};
		break;
	default:
		value = map_remove(m, key);
		must((value != 0) == (i < model.count));
		for (k = i; value && model.entries[k].value != value; k = model_find(k + 1, key))
			must(k < model.count);
		if (value)
			model_remove(k);
		break;
	}
	check_key(m, key);
}

static void run_map(const uint8_t *data, size_t size)
{
	struct map m = {0};

	model.count = 0;
	for (size_t i = 0; i + 3 <= size && model.count < ENTRIES; i += 3)
		operate(&m, data + i);
	for (uint32_t i = 0; i < model.count; i++)
		check_key(&m, model.entries[i].key);
	map_release(&m);
}

/* Pieces appended to an array that must then be the input. */
static void run_vec(const uint8_t *data, size_t size)
{
	uint8_t *bytes = NULL;
	uint32_t room = 0, count = 0;

	while (count < size) {
		size_t n = data[count] & 63, rest = size - count;

		n = n < rest ? n : rest;
		n = n ? n : 1;
		must(vec_reserve(&bytes, &room, count, n) && room >= count + n);
		memcpy(bytes + count, data + count, n);
		count += (uint32_t)n;
	}
	must(!size || memcmp(bytes, data, size) == 0);
	free(bytes);
}

/* ---- JSON ---- */

static void run_string(const char *s, size_t n)
{
	struct text t = {0};
	json_t *value;

	text_add_json_bytes(&t, s, n);
	must(!t.failed && t.length <= JSON_ESCAPED_MAX(n));
	for (size_t i = 0; i < t.length; i++)
		must((unsigned char)t.s[i] >= ' ' && t.s[i] != 0x7f);
	value = json_loadb(t.s, t.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	must(value && json_is_string(value));
	must(json_string_length(value) >= (n + 3) / 4);
	json_decref(value);
	text_release(&t);
}

static void add_value(struct json *j, uint8_t kind, const char *s, size_t n)
{
	uint64_t number = 0;

	memcpy(&number, s, n < sizeof(number) ? n : sizeof(number));
	if (j->depth && j->ends[j->depth - 1] == '}')
		json_name(j, "key");
	switch (kind & 7) {
	case 0:
	case 1:
		if (j->depth < JSON_DEPTH - 1)
			json_open(j, kind & 1 ? '{' : '[');
		else
			json_add_null(j);
		break;
	case 2:
		json_add_signed(j, (int64_t)number);
		break;
	case 3:
		json_add_unsigned(j, number >> 1); /* what the parser has room for */
		break;
	case 4:
		json_add_bool(j, number & 1);
		break;
	default:
		json_add_bytes(j, s, n);
	}
}

static void run_document(const uint8_t *data, size_t size)
{
	struct text t = {0};
	struct json j = {.out = &t, .compact = size & 1};
	json_error_t error;
	json_t *value;

	json_open(&j, '[');
	for (size_t i = 0; i < size;) {
		size_t n = data[i] >> 3, rest = size - i - 1;

		n = n < rest ? n : rest;
		if (data[i] == 0xff && j.depth > 1)
			json_close(&j);
		else
			add_value(&j, data[i], (const char *)data + i + 1, n);
		i += 1 + n;
	}
	while (j.depth)
		json_close(&j);
	value = json_loadb(t.s, t.length, JSON_ALLOW_NUL, &error);
	must(value != NULL);
	json_decref(value);
	text_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_map(data, size);
	run_vec(data, size);
	run_string((const char *)data, size);
	run_document(data, size);
	return 0;
}
