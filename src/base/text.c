/* SPDX-License-Identifier: Apache-2.0 */
/* Growable text and spelling suggestions; see text.h. */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct text *t, size_t more)
{
	size_t room = t->room ? t->room : 64;
	char *s;

	if (t->failed)
		return false;
	while (room < t->length + more + 1)
		room *= 2;
	if (room == t->room)
		return true;
	s = realloc(t->s, room);
	if (!s) {
		t->failed = true;
		return false;
	}
	t->s = s;
	t->room = room;
	return true;
}

void text_add_bytes(struct text *t, const char *s, size_t n)
{
	if (!reserve(t, n))
		return;
	if (n)
		memcpy(t->s + t->length, s, n);
	t->length += n;
	t->s[t->length] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

void text_addf(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !reserve(t, (size_t)n))
		return;
	va_start(args, format);
	vsnprintf(t->s + t->length, (size_t)n + 1, format, args);
	va_end(args);
	t->length += (size_t)n;
}

/* Length of the valid UTF-8 sequence at `s`, 0 if it is not one. */
static unsigned utf8_length(const unsigned char *s)
{
	unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
		     : s[0] < 0xf5 ? 4 : 0;

	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

void text_add_json(struct text *t, const char *string)
{
	const unsigned char *s = (const unsigned char *)string;

	text_add(t, "\"");
	while (*s) {
		unsigned n = utf8_length(s);

		if (n == 0) {
			text_add(t, "\\ufffd");
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			text_addf(t, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			text_addf(t, "\\u%04x", *s);
		} else {
			text_add_bytes(t, (const char *)s, n);
		}
		s += n;
	}
	text_add(t, "\"");
}

void text_add_shell(struct text *t, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_@%+=:,./-";

	if (*s && strspn(s, plain) == strlen(s)) {
		text_add(t, s);
		return;
	}
	text_add(t, "'");
	for (; *s; s++) {
		if (*s == '\'')
			text_add(t, "'\\''");
		else
			text_add_bytes(t, s, 1);
	}
	text_add(t, "'");
}

void text_release(struct text *t)
{
	free(t->s);
	memset(t, 0, sizeof(*t));
}

#define WORD_MAX 63

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

unsigned text_distance(const char *a, const char *b)
{
	unsigned rows[3][WORD_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2], *spare;
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (unsigned j = 0; j <= m; j++)
		last[j] = j;
	for (unsigned i = 1; i <= n; i++) {
		now[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			now[j] = min3(last[j] + 1, now[j - 1] + 1,
				      last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[m];
}

bool text_nearer(const char *word, const char *candidate, unsigned *best)
{
	size_t n = strlen(word);
	unsigned d = text_distance(word, candidate);

	/* "--out" for "--output" is a beginning, not a slip of three letters. */
	if (n >= 3 && strncmp(word, candidate, n) == 0 && d > 1)
		d = 1;
	if (d > 1 + n / 4 || d >= *best)
		return false;
	*best = d;
	return true;
}
