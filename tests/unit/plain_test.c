/* SPDX-License-Identifier: Apache-2.0 */
/* Names on their way to people: base/plain.h. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/plain.h"

typedef void form(struct text *out, const char *s, size_t n);

static void expect(form *f, const char *s, const char *wanted)
{
	struct text t = {0};

	f(&t, s, strlen(s));
	assert_string_equal(t.s ? t.s : "", wanted);
	text_release(&t);
}

static void lines(void **state)
{
	expect(plain_add, "plain name", "plain name");
	expect(plain_add, "caf\xc3\xa9 \xf0\x9f\x98\x80 \\n", "caf\xc3\xa9 \xf0\x9f\x98\x80 \\n");
	expect(plain_add, "a\033[31m\a\n\r\t\x7f", "a\\x1b[31m\\x07\\n\\r\\t\\x7f");
	expect(plain_add, "\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81", "\\u009b\\u202e\\U000e0041");
	expect(plain_add, "\xff\xc0\xaf\xed\xa0\x80", "\\xff\\xc0\\xaf\\xed\\xa0\\x80");
	expect(plain_add, "\xf4\x90\x80\x80 \xe2\x82", "\\xf4\\x90\\x80\\x80 \\xe2\\x82");
	expect(plain_add_lines, "a\n\tb\033\n", "a\n\tb\\x1b\n");
}

static void markdown(void **state)
{
	expect(plain_add_markdown, "vector_add(int)", "vector_add(int)");
	expect(plain_add_markdown, "<b>&|`*[x](y)~", "&lt;b&gt;&amp;\\|\\`\\*\\[x\\](y)\\~");
	expect(plain_add_markdown, "__init__ #x", "\\_\\_init\\_\\_ #x");
	expect(plain_add_markdown, "# x\n", "\\# x\\\\n");
}

static void csv(void **state)
{
	expect(plain_add_csv, "a,b\"c", "\"a,b\"\"c\"");
	expect(plain_add_csv, " x", "\" x\"");
	expect(plain_add_csv, "-5", "-5");
	expect(plain_add_csv, "+1.5e-9", "+1.5e-9");
	expect(plain_add_csv, "-", "'-");
	expect(plain_add_csv, "-5x", "'-5x");
	expect(plain_add_csv, "=1", "'=1");
	expect(plain_add_csv, "@x", "'@x");
	expect(plain_add_csv, "  \t=1", "'  \\t=1");
	expect(plain_add_csv,
	       "\xef\xbc\x9d"
	       "1",
	       "'\xef\xbc\x9d"
	       "1");
	expect(plain_add_csv, "a=1", "a=1");
	expect(plain_add_csv, "", "");
}

static void json(void **state)
{
	struct text t = {0};

	text_add_json(&t, "\"\\\n\x01\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81\xff\xc3\xa9");
	assert_string_equal(
		t.s, "\"\\\"\\\\\\n\\u0001\\u009b\\u202e\\udb40\\udc41\xef\xbf\xbd\xc3\xa9\"");
	text_release(&t);
}

static void widths(void **state)
{
	struct text t = {0};

	assert_int_equal(plain_width("abc"), 3);
	assert_int_equal(plain_width("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	assert_int_equal(plain_width("e\xcc\x81"), 1);
	assert_int_equal(plain_width("\033\n"), 6);
	assert_int_equal(plain_add_cut(&t, "a\xe6\x97\xa5\xe6\x9c\xac", 4), 3);
	assert_string_equal(t.s, "a\xe6\x97\xa5");
	text_release(&t);
}

static __attribute__((format(printf, 2, 3))) void addf(struct text *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	plain_vaddf(out, format, args);
	va_end(args);
}

static void formats(void **state)
{
	struct text t = {0};

	addf(&t, "%s|%-6s|%6s|%.2s|%c|%%\n", "\033", "\xe6\x97\xa5", "x", "abc", '\r');
	assert_string_equal(t.s, "\\x1b|\xe6\x97\xa5    |     x|ab|\\r|%\n");
	t.length = 0;
	addf(&t, "%d %5u %-5u| %05x %#lx %lld %zu %hhu %.3f %*d %.*s", -1, 2u, 3u, 0xabu, 16ul,
	     -5ll, (size_t)7, (unsigned char)8, 1.5, 4, 9, 3, "a\xe6\x97\xa5");
	assert_string_equal(t.s, "-1     2 3    | 000ab 0x10 -5 7 8 1.500    9 a");
	t.length = 0;
	addf(&t, "%" PRIu64 " %g %e %x %jd %td", UINT64_MAX, 0.1, 1e10, 255u, (intmax_t)-1,
	     (ptrdiff_t)3);
	assert_string_equal(t.s, "18446744073709551615 0.1 1.000000e+10 ff -1 3");
	text_release(&t);
}

static void shell(void **state)
{
	struct text t = {0};

	text_add_shell(&t, "a'b\033\xc3\xa9");
	assert_string_equal(t.s, "$'a\\'b\\033\xc3\xa9'");
	text_release(&t);
}

/* One character that is not like the others, wherever it stands. */
static void ascii_is_told_from_the_rest(void **state)
{
	char s[21];

	for (unsigned c = 0; c < 256; c++)
		for (size_t n = 1; n <= sizeof(s); n++)
			for (size_t at = 0; at < n; at++) {
				bool hidden = c < ' ' || c >= 0x7f;
				bool one = hidden || strchr(",\";", (int)c);

				memset(s, 'x', sizeof(s));
				s[at] = (char)c;
				assert_int_equal(plain_ascii(s, n), !hidden);
				assert_int_equal(plain_ascii_without(s, n, ",\";"), !one);
			}
	assert_true(plain_ascii("", 0));
	assert_true(plain_ascii_without("", 0, ",\";"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ascii_is_told_from_the_rest),
					   cmocka_unit_test(lines),
					   cmocka_unit_test(markdown),
					   cmocka_unit_test(csv),
					   cmocka_unit_test(json),
					   cmocka_unit_test(widths),
					   cmocka_unit_test(formats),
					   cmocka_unit_test(shell)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
