/* SPDX-License-Identifier: Apache-2.0 */
/* JSON strings and documents: base/json.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static void expect(const char *s, size_t n, const char *wanted)
{
	char out[JSON_ESCAPED_MAX(64) + 1];
	struct text t = {0};

	out[json_escape(out, s, n)] = '\0';
	assert_string_equal(out, wanted);
	text_add_json_bytes(&t, s, n);
	assert_string_equal(t.s, wanted);
	text_release(&t);
}

static void strings(void **state)
{
	expect("", 0, "\"\"");
	expect("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
	expect("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
	expect("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
	/* as it is: two, three and four bytes */
	expect("\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", 9,
	       "\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\"");
	/* what would steer a terminal or turn the direction of writing */
	expect("\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81", 9, "\"\\u009b\\u202e\\udb40\\udc41\"");
}

/* Each byte that is no text becomes U+FFFD: stray, overlong, surrogate, too large, cut. */
static void no_text(void **state)
{
#define BAD "\xef\xbf\xbd"
	expect("a\xff"
	       "b",
	       3, "\"a" BAD "b\"");
	expect("\x80", 1, "\"" BAD "\"");
	expect("\xc0\xaf", 2, "\"" BAD BAD "\"");
	expect("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\"");
	expect("\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\"");
	expect("\xe2\x82", 2, "\"" BAD BAD "\"");
#undef BAD
}

static void add_all(struct json *j)
{
	json_open(j, '{');
	json_name(j, "a \"key\"");
	json_add_unsigned(j, UINT64_MAX);
	json_name(j, "list");
	json_open(j, '[');
	json_add_signed(j, INT64_MIN);
	json_open(j, '{');
	json_close(j);
	json_add_bool(j, true);
	json_add_bool(j, false);
	json_add_string(j, NULL);
	json_add_bytes(j, "xyz", 2);
	json_close(j);
	json_name(j, "last");
	json_add_null(j);
	json_close(j);
}

static void document(void **state)
{
	struct text t = {0};
	struct json j = {.out = &t};

	add_all(&j);
	assert_string_equal(t.s, "{\"a \\\"key\\\"\": 18446744073709551615, "
				 "\"list\": [-9223372036854775808, {}, true, false, null, \"xy\"], "
				 "\"last\": null}");
	text_release(&t);
	j = (struct json){.out = &t, .compact = true};
	add_all(&j);
	assert_string_equal(t.s, "{\"a \\\"key\\\"\":18446744073709551615,"
				 "\"list\":[-9223372036854775808,{},true,false,null,\"xy\"],"
				 "\"last\":null}");
	text_release(&t);
}

static void lines(void **state)
{
	struct text t = {0};
	struct json j = {.out = &t};

	json_open(&j, '{');
	json_line(&j, 2);
	json_name(&j, "a");
	json_add_unsigned(&j, 1);
	json_line(&j, 2);
	json_name(&j, "b");
	json_open(&j, '[');
	json_line(&j, 0);
	json_close(&j);
	json_name(&j, "c");
	json_add_raw(&j, "1.50");
	json_line(&j, 0);
	json_close(&j);
	assert_string_equal(t.s, "{\n  \"a\": 1,\n  \"b\": [\n], \"c\": 1.50\n}");
	text_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),
		cmocka_unit_test(no_text),
		cmocka_unit_test(document),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
