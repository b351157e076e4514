/* SPDX-License-Identifier: Apache-2.0 */
/* How wide text is on a terminal; see plain.h. Of the command line: it asks for a locale. */
#include "base/plain.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

/* Widths are those of UTF-8, whatever the user's locale: so is what Kymo prints. */
static int width_of(uint32_t code)
{
	static locale_t utf8;
	locale_t before;
	int width;

	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!utf8)
		return 1;
	before = uselocale(utf8);
	width = wcwidth((wchar_t)code);
	uselocale(before);
	return width;
}

unsigned plain_columns(uint32_t code)
{
	char escaped[PLAIN_ESCAPE_MAX];
	int width;

	if (code >= ' ' && code < 0x7f)
		return 1;
	if (plain_hidden(code))
		return (unsigned)plain_escape(code, escaped);
	width = width_of(code);
	return width < 0 ? 1 : (unsigned)width; /* not assigned when the C library was made */
}

unsigned plain_width(const char *s)
{
	size_t n = strlen(s);
	unsigned columns = 0;
	uint32_t code;

	for (size_t i = 0; i < n;) {
		i += plain_next(s + i, n - i, &code);
		columns += plain_columns(code);
	}
	return columns;
}

unsigned plain_add_cut(struct text *out, const char *s, unsigned columns)
{
	size_t n = strlen(s), i = 0, length;
	unsigned used = 0, width;
	uint32_t code;

	for (; i < n; i += length) {
		length = plain_next(s + i, n - i, &code);
		width = plain_columns(code);
		if (used + width > columns)
			break;
		used += width;
	}
	plain_add(out, s, i);
	return used;
}
