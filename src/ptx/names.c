/* SPDX-License-Identifier: Apache-2.0 */
/* See names.h. */
#include "ptx/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ---- registers ---- */

static uint32_t bits_of(const char *text, struct ptx_word type)
{
	if (ptx_word_is(text, type, "pred"))
		return 1;
	return type.length > 1 && type.length < 5 && isdigit((unsigned char)text[type.at + 1])
		       ? (uint32_t)strtoul(text + type.at + 1, NULL, 10)
		       : 0;
}

static bool add(struct ptx_names *n, struct ptx_register r)
{
	if (!vec_reserve(&n->registers, &n->register_room, n->register_count, 1))
		return false;
	n->registers[n->register_count++] = r;
	return true;
}

bool ptx_names_declare(struct ptx_names *n, uint32_t at, uint32_t end, uint32_t depth)
{
	struct ptx_register r = {.depth = depth};
	bool type = false;

	while (at < end) {
		struct ptx_word w = ptx_word_next(n->text, &at, end);
		const char first = w.length ? n->text[w.at] : ' ';

		if (type) {
			uint32_t bits = bits_of(n->text, w);

			r.bits = bits ? bits : r.bits;
			type = false;
		} else if (first == '.') {
			type = true;
		} else if (first == '<') {
			w = ptx_word_next(n->text, &at, end);
			r.many = (uint32_t)strtoul(n->text + w.at, NULL, 10);
		} else if (first == ',' || first == ';') {
			if (r.name.length && !add(n, r))
				return false;
			r.name.length = r.many = 0;
		} else if (first != '>') {
			r.name = w;
		}
	}
	return !r.name.length || add(n, r);
}

void ptx_names_leave(struct ptx_names *n, uint32_t depth)
{
	while (n->register_count && n->registers[n->register_count - 1].depth >= depth)
		n->register_count--;
}

static bool is_of(const struct ptx_names *n, const struct ptx_register *r, struct ptx_word name)
{
	uint64_t number = 0;

	if (!r->many)
		return ptx_words_equal(n->text, r->name, name);
	if (name.length <= r->name.length || name.length > r->name.length + 9 ||
	    memcmp(n->text + name.at, n->text + r->name.at, r->name.length) != 0)
		return false;
	for (uint32_t i = r->name.length; i < name.length; i++) {
		if (!isdigit((unsigned char)n->text[name.at + i]))
			return false;
		number = number * 10 + (uint64_t)(n->text[name.at + i] - '0');
	}
	return number < r->many;
}

uint32_t ptx_names_bits(const struct ptx_names *n, struct ptx_word name)
{
	for (uint32_t i = n->register_count; i-- > 0;)
		if (is_of(n, &n->registers[i], name))
			return n->registers[i].bits;
	return 0;
}

/* ---- targets ---- */

static int compare(const char *text, struct ptx_word a, struct ptx_word b)
{
	if (a.length != b.length)
		return a.length < b.length ? -1 : 1;
	return memcmp(text + a.at, text + b.at, a.length);
}

static int by_name(const void *x, const void *y, void *text)
{
	return compare(text, *(const struct ptx_word *)x, *(const struct ptx_word *)y);
}

static bool add_targets(struct ptx_names *n, uint32_t at, uint32_t end)
{
	while (at < end) {
		struct ptx_word w = ptx_word_next(n->text, &at, end);

		if (!w.length || !ptx_named(n->text[w.at]))
			continue;
		if (!vec_reserve(&n->targets, &n->target_room, n->target_count, 1))
			return false;
		n->targets[n->target_count++] = w;
	}
	return true;
}

static bool goes(const struct ptx_names *n, const struct ptx_statement *s)
{
	return (s->kind == PTX_INSTRUCTION && s->name.length >= 3 &&
		memcmp(n->text + s->name.at, "bra", 3) == 0) ||
	       (s->kind == PTX_DIRECTIVE && ptx_word_is(n->text, s->name, ".branchtargets"));
}

bool ptx_names_targets(struct ptx_names *n, uint32_t from, uint32_t to)
{
	struct ptx_scan scan = {n->text, to, from};
	struct ptx_statement s = ptx_next(&scan);

	while (s.kind != PTX_END && s.kind != PTX_BAD) {
		if (goes(n, &s) && !add_targets(n, s.operands, s.end))
			return false;
		s = ptx_next(&scan);
	}
	if (n->target_count)
		qsort_r(n->targets, n->target_count, sizeof(*n->targets), by_name,
			(void *)(uintptr_t)n->text);
	return true;
}

bool ptx_names_is_target(const struct ptx_names *n, struct ptx_word label)
{
	uint32_t low = 0, high = n->target_count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int order = compare(n->text, n->targets[mid], label);

		if (!order)
			return true;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

void ptx_names_release(struct ptx_names *n)
{
	free(n->registers);
	free(n->targets);
	n->registers = NULL;
	n->targets = NULL;
}
