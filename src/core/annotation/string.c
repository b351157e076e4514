/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and categories of foreign annotations; see string.h. */
#include "core/annotation/string.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define BUCKETS        4096u
#define CATEGORIES_MAX 65536u

struct text {
	kymo_string_t string;
	struct text *next;
	size_t length;
	char bytes[];
};

/* Only ever prepended to, so that readers need no lock and a forked child finds it whole. */
static struct text *_Atomic texts[BUCKETS];

static struct text *new_text(const char *s, size_t length)
{
	int saved = errno;
	struct text *t = malloc(sizeof(*t) + length + 1);

	errno = saved;
	if (!t)
		return NULL;
	memcpy(t->bytes, s, length);
	t->bytes[length] = '\0';
	t->length = length;
	t->string = (kymo_string_t){t->bytes, 0, 0};
	return t;
}

kymo_string_t *annotation_string(const char *s)
{
	size_t length = s ? strnlen(s, ANNOTATION_TEXT_MAX) : 0;
	struct text *_Atomic *bucket;
	struct text *t;

	if (!s)
		return NULL;
	bucket = &texts[hash_bytes(s, length) % BUCKETS];
	for (t = atomic_load(bucket); t; t = t->next)
		if (t->length == length && memcmp(t->bytes, s, length) == 0)
			return &t->string;
	t = new_text(s, length);
	if (!t)
		return NULL;
	t->next = atomic_load(bucket);
	while (!atomic_compare_exchange_weak(bucket, &t->next, t))
		;
	return &t->string;
}

/* ---- wide texts ---- */

/* Bytes of one character, 0: none such. */
static size_t encode(char out[4], uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c >= 0xd800 && c < 0xe000)
		c = 0xfffd;
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	if (c > 0x10ffff)
		return encode(out, 0xfffd);
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

const char *annotation_utf8(char *out, size_t size, const wchar_t *text)
{
	size_t used = 0;

	if (!text)
		return NULL;
	for (; *text; text++) {
		char bytes[4];
		size_t n = encode(bytes, (uint32_t)*text);

		if (used + n >= size)
			break;
		memcpy(out + used, bytes, n);
		used += n;
	}
	out[used] = '\0';
	return out;
}

kymo_string_t *annotation_wide_string(const wchar_t *text)
{
	size_t size = text ? 4 * wcsnlen(text, ANNOTATION_TEXT_MAX / 4) + 1 : 0;
	int saved = errno;
	char *out = text ? malloc(size) : NULL;
	kymo_string_t *s = annotation_string(out ? annotation_utf8(out, size, text) : NULL);

	free(out);
	errno = saved;
	return s;
}

/* ---- categories ---- */

struct annotation_category {
	uint32_t number;
	kymo_string_t *_Atomic name;
	struct annotation_category *next;
};

static struct annotation_category *find_category(struct annotation_categories *c, uint32_t number)
{
	struct annotation_category *x = atomic_load(&c->buckets[number % CATEGORY_BUCKETS]);

	while (x && x->number != number)
		x = x->next;
	return x;
}

static void add_category(struct annotation_categories *c, uint32_t number, kymo_string_t *name)
{
	struct annotation_category *_Atomic *bucket = &c->buckets[number % CATEGORY_BUCKETS];
	struct annotation_category *x;
	int saved = errno;

	if (atomic_fetch_add(&c->count, 1) >= CATEGORIES_MAX) {
		atomic_fetch_sub(&c->count, 1);
		return;
	}
	x = malloc(sizeof(*x));
	errno = saved;
	if (!x) {
		atomic_fetch_sub(&c->count, 1);
		return;
	}
	x->number = number;
	x->name = name;
	x->next = atomic_load(bucket);
	while (!atomic_compare_exchange_weak(bucket, &x->next, x))
		;
}

void annotation_category_name(struct annotation_categories *c, uint32_t number, const char *name)
{
	struct annotation_category *x = find_category(c, number);
	kymo_string_t *s = annotation_string(name);

	if (!s || !number)
		return;
	if (x)
		atomic_store(&x->name, s);
	else
		add_category(c, number, s);
}

kymo_string_t *annotation_category(struct annotation_categories *c, uint32_t number)
{
	struct annotation_category *x;
	char text[12];

	if (!number)
		return NULL;
	x = find_category(c, number);
	if (!x) {
		snprintf(text, sizeof(text), "%u", number);
		add_category(c, number, annotation_string(text));
		x = find_category(c, number);
	}
	return x ? atomic_load(&x->name) : NULL;
}
