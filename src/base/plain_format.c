/* SPDX-License-Identifier: Apache-2.0 */
/* printf whose strings are escaped; see plain.h. */
#include "base/plain.h"

#include <string.h>

/* One conversion: %[flags][width][.precision][length]type. */
struct conversion {
	char flags[8];
	int width, precision; /* precision -1: none */
	char length;          /* 'l', 'L' for ll and j, 'z' for z and t, 0 */
	char type;
};

struct arguments {
	va_list list;
};

static const char *number(const char *f, int *value, struct arguments *a)
{
	if (*f == '*') {
		*value = va_arg(a->list, int);
		return f + 1;
	}
	for (*value = 0; *f >= '0' && *f <= '9'; f++)
		*value = *value * 10 + (*f - '0');
	return f;
}

static const char *parse(const char *f, struct conversion *c, struct arguments *a)
{
	size_t n = strspn(f, "-+ #0");

	memset(c, 0, sizeof(*c));
	memcpy(c->flags, f, n < sizeof(c->flags) ? n : sizeof(c->flags) - 1);
	f = number(f + n, &c->width, a);
	c->precision = -1;
	if (*f == '.')
		f = number(f + 1, &c->precision, a);
	for (; *f && strchr("hlLjzt", *f); f++) {
		if (*f == 'j' || *f == 'L' || (*f == 'l' && c->length == 'l'))
			c->length = 'L';
		else if (*f != 'h')
			c->length = *f == 't' ? 'z' : *f;
	}
	c->type = *f;
	return *f ? f + 1 : f;
}

/* A precision that ends inside a character ends before it. */
static size_t length_of(const char *s, int precision)
{
	size_t n = precision < 0 ? strlen(s) : strnlen(s, (size_t)precision), last = n;
	uint32_t code;

	if (precision < 0 || n < (size_t)precision)
		return n;
	while (last && n - last < 3 && ((unsigned char)s[last - 1] & 0xc0) == 0x80)
		last--;
	if (last && (unsigned char)s[last - 1] >= 0xc2 &&
	    plain_next(s + last - 1, n - last + 1, &code) == 1)
		n = last - 1;
	return n;
}

static void add_string(struct text *out, const struct conversion *c, const char *s)
{
	bool left = c->width < 0 || strchr(c->flags, '-');
	unsigned room = (unsigned)(c->width < 0 ? -c->width : c->width), used = 0;
	struct text plain = {0};

	s = s ? s : "(null)";
	plain_add(&plain, s, length_of(s, c->precision));
	if (room && plain.s)
		used = plain_width(plain.s);
	if (!left && used < room)
		text_addf(out, "%*s", (int)(room - used), "");
	text_add_bytes(out, plain.s ? plain.s : "", plain.length);
	if (left && used < room)
		text_addf(out, "%*s", (int)(room - used), "");
	out->failed |= plain.failed;
	text_release(&plain);
}

static long long signed_argument(const struct conversion *c, struct arguments *a)
{
	return c->length == 'L'   ? va_arg(a->list, long long)
	       : c->length == 'l' ? va_arg(a->list, long)
	       : c->length == 'z' ? va_arg(a->list, ssize_t)
				  : va_arg(a->list, int);
}

static unsigned long long unsigned_argument(const struct conversion *c, struct arguments *a)
{
	return c->length == 'L'   ? va_arg(a->list, unsigned long long)
	       : c->length == 'l' ? va_arg(a->list, unsigned long)
	       : c->length == 'z' ? va_arg(a->list, size_t)
				  : va_arg(a->list, unsigned int);
}

/* "%" flags "*.*" length type, for printf itself. */
static const char *again(const struct conversion *c, const char *length, char format[24])
{
	snprintf(format, 24, "%%%s*.*%s%c", c->flags, length, c->type);
	return format;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void add_conversion(struct text *out, const struct conversion *c, struct arguments *a)
{
	char format[24], one;

	switch (c->type) {
	case 's':
		add_string(out, c, va_arg(a->list, const char *));
		break;
	case 'c':
		one = (char)va_arg(a->list, int);
		plain_add(out, &one, 1);
		break;
	case 'd':
	case 'i':
		text_addf(out, again(c, "ll", format), c->width, c->precision,
			  signed_argument(c, a));
		break;
	case 'o':
	case 'u':
	case 'x':
	case 'X':
		text_addf(out, again(c, "ll", format), c->width, c->precision,
			  unsigned_argument(c, a));
		break;
	case 'p':
		text_addf(out, "%p", va_arg(a->list, void *));
		break;
	case '%':
		text_add(out, "%");
		break;
	default:
		text_addf(out, again(c, "", format), c->width, c->precision,
			  va_arg(a->list, double));
	}
}

#pragma GCC diagnostic pop

void plain_vaddf(struct text *out, const char *format, va_list args)
{
	struct conversion c;
	struct arguments a;

	va_copy(a.list, args);
	while (*format) {
		size_t n = strcspn(format, "%");

		text_add_bytes(out, format, n);
		format += n;
		if (!*format)
			break;
		format = parse(format + 1, &c, &a);
		add_conversion(out, &c, &a);
	}
	va_end(a.list);
}

void plain_addf(struct text *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	plain_vaddf(out, format, args);
	va_end(args);
}

void plain_printf(FILE *out, const char *format, ...)
{
	struct text text = {0};
	va_list args;

	va_start(args, format);
	plain_vaddf(&text, format, args);
	va_end(args);
	if (text.s)
		fwrite(text.s, 1, text.length, out);
	text_release(&text);
}
