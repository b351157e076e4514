/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of JSON text; see span.h. */
#include "stream/span.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define TIME_MAX (INT64_MAX / 2) /* ns: sums of two stay in range */

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

/* Behind the string that begins at p; NULL: it has no end. */
static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return NULL;
}

static const char *bracket_end(const char *p, const char *end)
{
	size_t depth = 0;

	while (p && p < end) {
		if (*p == '"') {
			p = string_end(p, end);
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if ((*p == '}' || *p == ']') && --depth == 0)
			return p + 1;
		p++;
	}
	return NULL;
}

/* Of a number or word; NUL is in none. */
static bool ends_bare(char c)
{
	switch (c) {
	case ',':
	case ':':
	case ']':
	case '}':
	case '"':
	case '{':
	case '[':
	case ' ':
	case '\n':
	case '\t':
	case '\r':
	case 0:
		return true;
	default:
		return false;
	}
}

static const char *value_end(const char *p, const char *end)
{
	const char *from = p;

	if (*p == '"')
		return string_end(p, end);
	if (*p == '{' || *p == '[')
		return bracket_end(p, end);
	while (p < end && !ends_bare(*p))
		p++;
	return p > from ? p : NULL;
}

static bool open_walk(struct span v, char first, struct span_walk *w)
{
	*w = (struct span_walk){v.s, v.s + v.n, false};
	if (v.n < 2 || v.s[0] != first)
		return false;
	w->p++;
	w->end--; /* the bracket that ends it */
	return true;
}

bool span_object(struct span value, struct span_walk *w)
{
	return open_walk(value, '{', w);
}

bool span_array(struct span value, struct span_walk *w)
{
	return open_walk(value, '[', w);
}

static bool broken(struct span_walk *w)
{
	w->broken = true;
	w->p = w->end;
	return false;
}

bool span_element(struct span_walk *w, struct span *value)
{
	const char *from = skip_space(w->p, w->end), *to;

	if (from >= w->end)
		return false;
	to = value_end(from, w->end);
	if (!to)
		return broken(w);
	*value = (struct span){from, (size_t)(to - from)};
	w->p = skip_space(to, w->end);
	if (w->p < w->end && *w->p++ != ',')
		return broken(w);
	return true;
}

bool span_member(struct span_walk *w, struct span *key, struct span *value)
{
	const char *from = skip_space(w->p, w->end), *to;

	if (from >= w->end)
		return false;
	to = *from == '"' ? string_end(from, w->end) : NULL;
	if (!to)
		return broken(w);
	*key = (struct span){from + 1, (size_t)(to - from) - 2};
	w->p = skip_space(to, w->end);
	if (w->p >= w->end || *w->p++ != ':')
		return broken(w);
	return span_element(w, value) || broken(w);
}

bool span_find(struct span object, const char *name, struct span *value)
{
	struct span_walk w;
	struct span key;

	if (!span_object(object, &w))
		return false;
	while (span_member(&w, &key, value))
		if (span_is(key, name))
			return true;
	return false;
}

/* ---- strings --------------------------------------------------------------------------------- */

static bool hex4(const char *p, const char *end, unsigned *out)
{
	*out = 0;
	if (end - p < 4)
		return false;
	for (unsigned i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, p[i] | 0x20);

		if (!d || !*d)
			return false;
		*out = *out << 4 | (unsigned)(d - digits);
	}
	return true;
}

static void add_character(struct text *out, unsigned c)
{
	char b[4];
	unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (unsigned i = n; i-- > 1; c >>= 6)
		b[i] = (char)(0x80 | (c & 0x3f));
	b[0] = (char)(first[n] | c);
	text_add_bytes(out, b, n);
}

/* What follows \u; two of them may be one character. Returns how much of it was taken. */
static size_t add_unicode(struct text *out, const char *p, const char *end)
{
	unsigned high, low;

	if (!hex4(p, end, &high)) {
		add_character(out, 0xfffd);
		return 0;
	}
	if (high >= 0xd800 && high < 0xdc00 && end - p >= 10 && p[4] == '\\' && p[5] == 'u' &&
	    hex4(p + 6, end, &low) && low >= 0xdc00 && low < 0xe000) {
		add_character(out, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
		return 10;
	}
	add_character(out, high == 0 || (high >= 0xd800 && high < 0xe000) ? 0xfffd : high);
	return 4;
}

static void unescape(const char *p, const char *end, struct text *out)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";

	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p)), *known;

		if (!slash || slash + 1 >= end) {
			text_add_bytes(out, p, (size_t)(end - p));
			return;
		}
		text_add_bytes(out, p, (size_t)(slash - p));
		p = slash + 2;
		if (slash[1] == 'u') {
			p += add_unicode(out, p, end);
			continue;
		}
		known = slash[1] ? strchr(from, slash[1]) : NULL;
		text_add_bytes(out, known ? &to[known - from] : slash + 1, 1);
	}
}

bool span_string(struct span v, struct text *scratch, struct span *out)
{
	if (!span_is_string(v))
		return false;
	*out = (struct span){v.s + 1, v.n - 2};
	if (!memchr(out->s, '\\', out->n) && !memchr(out->s, 0, out->n))
		return true;
	scratch->length = 0;
	text_add_bytes(scratch, "", 0);
	unescape(out->s, out->s + out->n, scratch);
	*out = (struct span){scratch->s ? scratch->s : "", scratch->length};
	for (size_t i = 0; i < out->n; i++) /* texts end at a 0 */
		if (!scratch->s[i])
			scratch->s[i] = '?';
	return !scratch->failed;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A terminated copy, of strings without their quotes. */
static bool copy_number(struct span v, char *out, size_t size)
{
	if (span_is_string(v))
		v = (struct span){v.s + 1, v.n - 2};
	if (!v.n || v.n >= size || v.s[0] == ' ' || v.s[0] == '+')
		return false;
	memcpy(out, v.s, v.n);
	out[v.n] = 0;
	return true;
}

bool span_unsigned(struct span v, uint64_t *out)
{
	char text[40], *end;
	int base;

	if (!copy_number(v, text, sizeof(text)) || text[0] == '-')
		return false;
	base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
	errno = 0;
	*out = strtoull(text, &end, base);
	return end != text && !*end && !errno;
}

bool span_signed(struct span v, int64_t *out)
{
	char text[40], *end;

	if (!copy_number(v, text, sizeof(text)))
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return end != text && !*end && !errno;
}

bool span_real(struct span v, double *out)
{
	char text[64], *end;

	if (span_is_string(v) || !copy_number(v, text, sizeof(text)))
		return false;
	*out = strtod(text, &end);
	return end != text && !*end && *out - *out == 0;
}

/* Digits as ns, three places behind the point; *p moves behind them. */
static bool decimal_ns(const char **p, const char *end, int64_t *ns)
{
	const char *from = *p;
	bool fraction = false;
	unsigned places = 0;

	*ns = 0;
	for (; *p < end; (*p)++) {
		char c = **p;

		if (c == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		if (places == 3) {
			*ns += c >= '5';
			places++;
		}
		if (places > 3)
			continue;
		if (*ns > (TIME_MAX - 9) / 10)
			return false;
		*ns = *ns * 10 + (c - '0');
		places += fraction;
	}
	for (; places < 3; places++) {
		if (*ns > TIME_MAX / 10)
			return false;
		*ns *= 10;
	}
	return *p > from;
}

/* 1.7e15: what some writers make of large numbers. */
static bool exponent_ns(struct span v, int64_t *ns)
{
	double us;

	if (!span_real(v, &us) || us > (double)TIME_MAX / 1e3 || us < -(double)TIME_MAX / 1e3)
		return false;
	*ns = (int64_t)(us * 1e3);
	return true;
}

bool span_time(struct span v, int64_t *ns)
{
	const char *p = v.s, *end = v.s + v.n;
	bool negative;

	if (span_is_string(v)) {
		p++;
		end--;
	}
	negative = p < end && *p == '-';
	p += negative;
	if (!decimal_ns(&p, end, ns))
		return false;
	if (p < end && (*p == 'e' || *p == 'E'))
		return exponent_ns(v, ns);
	*ns = negative ? -*ns : *ns;
	return p == end;
}
