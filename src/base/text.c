/* SPDX-License-Identifier: Apache-2.0 */
/* Growable text and spelling suggestions; see text.h. */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/plain.h"
#include "base/vec.h"

/* Room for `more` bytes and the terminator. */
static bool reserve(struct text *t, size_t more)
{
	if (t->failed)
		return false;
	t->failed = more == SIZE_MAX || !vec_reserve(&t->s, &t->room, t->length, more + 1);
	return !t->failed;
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

void text_add_json_bytes(struct text *t, const char *s, size_t n)
{
	if (n > SIZE_MAX / 8 || !reserve(t, JSON_ESCAPED_MAX(n))) {
		t->failed = true;
		return;
	}
	t->length += json_escape(t->s + t->length, s, n);
	t->s[t->length] = '\0';
}

void text_add_json(struct text *t, const char *s)
{
	text_add_json_bytes(t, s, strlen(s));
}

/* Characters that must not be seen as they are: $'...' of POSIX.1-2024, bash, zsh and ksh. */
static void add_shell_escaped(struct text *t, const char *s)
{
	size_t n = strlen(s), length;
	uint32_t code;

	text_add(t, "$'");
	for (size_t i = 0; i < n; i += length) {
		length = plain_next(s + i, n - i, &code);
		for (size_t k = 0; plain_hidden(code) && k < length; k++)
			text_addf(t, "\\%03o", (unsigned char)s[i + k]);
		if (code == '\'' || code == '\\')
			text_add(t, "\\");
		if (!plain_hidden(code))
			text_add_bytes(t, s + i, length);
	}
	text_add(t, "'");
}

static bool hides_something(const char *s)
{
	size_t n = strlen(s);
	uint32_t code;

	for (size_t i = 0; i < n;) {
		i += plain_next(s + i, n - i, &code);
		if (plain_hidden(code))
			return true;
	}
	return false;
}

void text_add_shell(struct text *t, const char *s)
{
	static const char simple[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"_@%+=:,./-";

	if (*s && strspn(s, simple) == strlen(s)) {
		text_add(t, s);
		return;
	}
	if (hides_something(s)) {
		add_shell_escaped(t, s);
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
	const size_t n = strlen(word), m = strlen(candidate);
	/* "--out" for "--output" is a beginning, not a slip of three letters. */
	const bool begins = n >= 3 && strncmp(word, candidate, n) == 0;
	unsigned d;

	if (!begins && (n > m ? n - m : m - n) > 1 + n / 4)
		return false; /* not nearer than their lengths */
	d = text_distance(word, candidate);
	if (begins && d > 1)
		d = 1;
	if (d > 1 + n / 4 || d >= *best)
		return false;
	*best = d;
	return true;
}

/* ---- regular expressions ------------------------------------------------------------------- */

#define REGEX_SIZE_MAX  4000u
#define REGEX_DEPTH_MAX 100u

/* Behind "{": how many copies "3,20" makes of what stands before it; one more without an end, as "+" does. */
static uint64_t copies_of(const char *s)
{
	uint64_t most = 1, n = 0;

	for (; *s && *s != '}'; s++) {
		n = *s >= '0' && *s <= '9' && n <= REGEX_SIZE_MAX ? n * 10 + (uint64_t)(*s - '0')
								  : 0;
		most = n > most ? n : most;
		if (s[0] == ',' && s[1] == '}')
			most++;
	}
	return most;
}

/* Behind "[": its end, or that of the pattern. */
static const char *bracket_end(const char *s)
{
	s += *s == '^';
	s += *s == ']';
	for (; *s && *s != ']'; s++) {
		const char kind = s[1];

		if (*s != '[' || !kind || !strchr(".:=", kind))
			continue;
		for (s += 2; *s && !(s[0] == kind && s[1] == ']'); s++)
			;
		s += *s != 0; /* at its "]" */
		if (!*s)
			break;
	}
	return s;
}

/* What stands before it is repeated. */
static bool is_repeated(const char *s)
{
	return *s == '{' ? strchr("0123456789,", s[1]) && s[1] && strchr(s, '}')
			 : strchr("*?+", *s) != NULL;
}

/*
 * How many characters a pattern has once its repetitions are written out, as the C library does it: "(ab){3}" has six, "a++" four,
 * as "a+" is "aa*". More than REGEX_SIZE_MAX are not counted. *refers: to a group ("\\1"); UINT64_MAX: groups lie too deep in each
 * other.
 */
static uint64_t regex_size(const char *s, bool *refers)
{
	struct {
		uint64_t sum, last; /* of the group so far; of that its last part */
	} open[REGEX_DEPTH_MAX + 1] = {{0, 0}}, *g = open;

	for (; *s && g->sum <= REGEX_SIZE_MAX; s++) {
		if (is_repeated(s)) {
			uint64_t copies = *s == '{' ? copies_of(s + 1) : *s == '+' ? 2 : 1;

			g->sum += g->last * (copies - 1);
			g->last *= copies;
			s = *s == '{' ? strchr(s, '}') : s;
		} else if (*s == '(') {
			if (++g - open > REGEX_DEPTH_MAX)
				return UINT64_MAX;
			g->sum = g->last = 0;
		} else if (*s == ')' && g > open) {
			g--;
			g->last = g[1].sum + 1;
			g->sum += g->last;
		} else if (*s == '|') {
			g->last = 0;
		} else {
			*refers |= s[0] == '\\' && s[1] >= '1' && s[1] <= '9';
			if (*s == '[')
				s = bracket_end(s + 1);
			else
				s += s[0] == '\\' && s[1];
			g->last = 1;
			g->sum++;
		}
		s += *s ? 0 : -1; /* the loop ends */
	}
	return g->sum;
}

bool text_regex_bearable(const char *pattern, char *why, size_t size)
{
	bool refers = false;
	uint64_t is = regex_size(pattern, &refers);
	const char *wrong =
		refers                             ? "refers back (\\1), which takes too long"
		: is == UINT64_MAX                 ? "has more than 100 groups in each other"
		: strlen(pattern) > REGEX_SIZE_MAX ? "is too long"
		: is > REGEX_SIZE_MAX
			? "repeats too much: without its repetitions it may have 4000 characters"
			: NULL;

	if (wrong && why)
		snprintf(why, size, "%s", wrong);
	return !wrong;
}
