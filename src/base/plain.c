/* SPDX-License-Identifier: Apache-2.0 */
/* Characters that people may see, and forms of text made of them; see plain.h. */
#include "base/plain.h"

#include <ctype.h>
#include <string.h>

/* ---- characters --------------------------------------------------------------------------------
 */

/* Bytes of the sequence that `s` begins, 0 if none begins so. */
static size_t sequence_length(unsigned char c)
{
	return c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
}

size_t plain_next(const char *s, size_t n, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	size_t length = sequence_length(u[0]);
	uint32_t c = length < 2 ? u[0] : u[0] & (0x7fu >> length);

	*code = PLAIN_BAD | u[0];
	if (length == 0 || length > n)
		return 1;
	for (size_t i = 1; i < length; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 1;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 1;
	*code = c;
	return length;
}

bool plain_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x00, 0x1f},
		{0x7f, 0x9f},
		{0xad, 0xad},
		{0x61c, 0x61c},
		{0x180e, 0x180e},
		{0x200b, 0x200b},
		{0x200e, 0x200f},
		{0x2028, 0x202e},
		{0x2060, 0x206f},
		{0xfeff, 0xfeff},
		{0xfff9, 0xfffb},
		{0xe0000, 0xe0fff},
		{PLAIN_BAD, PLAIN_BAD | 0xff},
	};

	if (c >= ' ' && c < 0x7f)
		return false;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

static size_t put_hex(char *out, uint32_t v, unsigned digits)
{
	for (unsigned i = digits; i-- > 0; v >>= 4)
		out[i] = "0123456789abcdef"[v & 15];
	return digits;
}

size_t plain_escape(uint32_t code, char out[PLAIN_ESCAPE_MAX])
{
	out[0] = '\\';
	if (code == '\n' || code == '\t' || code == '\r') {
		out[1] = code == '\n' ? 'n' : code == '\t' ? 't' : 'r';
		return 2;
	}
	out[1] = code & PLAIN_BAD || code < 0x80 ? 'x' : code <= 0xffff ? 'u' : 'U';
	return 2 + put_hex(out + 2, code & ~PLAIN_BAD, out[1] == 'x' ? 2 : out[1] == 'u' ? 4 : 8);
}

size_t plain_escape_json(uint32_t code, char out[2 * PLAIN_ESCAPE_MAX])
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	const char *hit = code && code < 0x80 ? strchr(from, (int)code) : NULL;
	uint32_t rest = code - 0x10000;

	out[0] = '\\';
	if (hit) {
		out[1] = to[hit - from];
		return 2;
	}
	out[1] = 'u';
	if (code & PLAIN_BAD)
		code = 0xfffd;
	if (code <= 0xffff)
		return 2 + put_hex(out + 2, code, 4);
	put_hex(out + 2, 0xd800 + (rest >> 10), 4);
	memcpy(out + 6, "\\u", 2);
	return 8 + put_hex(out + 8, 0xdc00 + (rest & 0x3ff), 4);
}

static bool hidden_ascii(char c)
{
	return (unsigned char)(c - ' ') >= 0x7f - ' ';
}

bool plain_ascii(const char *s, size_t n)
{
	uint64_t eight, hidden = 0;
	size_t i = 0;

	for (; i + 8 <= n && !hidden; i += 8) {
		memcpy(&eight, s + i, 8);
		hidden = plain_eight_hidden(eight);
	}
	for (; i < n && !hidden; i++)
		hidden = hidden_ascii(s[i]);
	return !hidden;
}

bool plain_ascii_without(const char *s, size_t n, const char three[4])
{
	uint64_t eight, found = 0;
	size_t i = 0;

	for (; i + 8 <= n && !found; i += 8) {
		memcpy(&eight, s + i, 8);
		found = plain_eight_hidden(eight) | plain_eight_is(eight, three[0]) |
			plain_eight_is(eight, three[1]) | plain_eight_is(eight, three[2]);
	}
	for (; i < n && !found; i++)
		found = hidden_ascii(s[i]) | (s[i] == three[0]) | (s[i] == three[1]) |
			(s[i] == three[2]);
	return !found;
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static void add_code(struct text *out, const char *s, size_t length, uint32_t code)
{
	char escaped[PLAIN_ESCAPE_MAX];

	if (plain_hidden(code))
		text_add_bytes(out, escaped, plain_escape(code, escaped));
	else
		text_add_bytes(out, s, length);
}

void plain_add(struct text *out, const char *s, size_t n)
{
	uint32_t code;

	if (plain_ascii(s, n)) {
		text_add_bytes(out, s, n);
		return;
	}
	for (size_t i = 0, length; i < n; i += length) {
		length = plain_next(s + i, n - i, &code);
		add_code(out, s + i, length, code);
	}
}

void plain_add_lines(struct text *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t from = i;

		while (i < n && s[i] != '\n' && s[i] != '\t')
			i++;
		plain_add(out, s + from, i - from);
		if (i < n)
			text_add_bytes(out, s + i, 1);
	}
}

/* ---- Markdown ----------------------------------------------------------------------------------
 */

/* '_' inside a word stands for itself, at the edge of one it may emphasise. */
static bool inside_word(const char *s, size_t n, size_t i)
{
	return i && i + 1 < n && isalnum((unsigned char)s[i - 1]) &&
	       isalnum((unsigned char)s[i + 1]);
}

static void add_markdown_char(struct text *out, const char *s, size_t n, size_t i)
{
	char c = s[i];

	if (c == '<')
		text_add(out, "&lt;");
	else if (c == '>')
		text_add(out, "&gt;");
	else if (c == '&')
		text_add(out, "&amp;");
	else if (strchr("\\`*[]|~", c) || (c == '_' && !inside_word(s, n, i)) ||
		 (i == 0 && strchr("#+-=", c)))
		text_addf(out, "\\%c", c);
	else
		text_add_bytes(out, s + i, 1);
}

void plain_add_markdown(struct text *out, const char *s, size_t n)
{
	char escaped[PLAIN_ESCAPE_MAX];
	uint32_t code;

	for (size_t i = 0, length; i < n; i += length) {
		length = plain_next(s + i, n - i, &code);
		if (plain_hidden(code)) {
			text_add(out, "\\"); /* one backslash shows as one where two are written */
			text_add_bytes(out, escaped, plain_escape(code, escaped));
		} else if (length > 1) {
			text_add_bytes(out, s + i, length);
		} else {
			add_markdown_char(out, s, n, i);
		}
	}
}

/* ---- CSV ---------------------------------------------------------------------------------------
 */

/* As spreadsheets write numbers: 12, -1.5, +2e-3. */
static bool is_number(const char *s, size_t n)
{
	size_t i = n && (s[0] == '-' || s[0] == '+'), digits = 0;

	for (; i < n && (isdigit((unsigned char)s[i]) || s[i] == '.'); i++)
		digits += s[i] != '.';
	if (digits && i < n && (s[i] == 'e' || s[i] == 'E')) {
		i++;
		i += i < n && (s[i] == '-' || s[i] == '+');
		for (digits = 0; i < n && isdigit((unsigned char)s[i]); i++)
			digits++;
	}
	return digits && i == n;
}

/* Spreadsheets look past blanks, and take the wide forms of these characters for the same. */
static bool is_formula(const char *s, size_t n)
{
	static const uint32_t first[] = {'=', '+', '-', '@', 0xff1d, 0xff0b, 0xff0d, 0xff20};
	uint32_t code = 0;

	if (is_number(s, n))
		return false;
	for (size_t i = 0; i < n;) {
		i += plain_next(s + i, n - i, &code);
		if (code != ' ' && code != 0xa0 && code != 0x3000 && code != '\'' && code != '"' &&
		    !plain_hidden(code))
			break;
	}
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		if (code == first[i])
			return true;
	return false;
}

void plain_add_csv(struct text *out, const char *s, size_t n)
{
	struct text line = {0};
	bool quote;

	if (is_formula(s, n))
		text_add(&line, "'");
	plain_add(&line, s, n);
	out->failed |= line.failed;
	if (out->failed || !line.length) {
		text_release(&line);
		return;
	}
	quote = strpbrk(line.s, ",\";") || line.s[0] == ' ' || line.s[line.length - 1] == ' ';
	if (quote)
		text_add(out, "\"");
	for (const char *p = line.s; *p;) {
		size_t plain = strcspn(p, "\"");

		text_add_bytes(out, p, plain);
		p += plain;
		if (*p) {
			text_add(out, "\"\"");
			p++;
		}
	}
	if (quote)
		text_add(out, "\"");
	text_release(&line);
}

void plain_add_tsv(struct text *out, const char *s, size_t n)
{
	if (is_formula(s, n))
		text_add(out, "'");
	plain_add(out, s, n);
}

static void add_html(struct text *out, struct text *plain)
{
	out->failed |= plain->failed;
	for (const char *p = plain->s ? plain->s : ""; *p; p++) {
		const char *entity = *p == '&'    ? "&amp;"
				     : *p == '<'  ? "&lt;"
				     : *p == '>'  ? "&gt;"
				     : *p == '"'  ? "&quot;"
				     : *p == '\'' ? "&#39;"
						  : NULL;

		if (entity)
			text_add(out, entity);
		else
			text_add_bytes(out, p, 1);
	}
	text_release(plain);
}

void plain_add_html(struct text *out, const char *s, size_t n)
{
	struct text line = {0};

	plain_add(&line, s, n);
	add_html(out, &line);
}

void plain_add_html_lines(struct text *out, const char *s, size_t n)
{
	struct text lines = {0};

	plain_add_lines(&lines, s, n);
	add_html(out, &lines);
}

/* ---- workbooks ---------------------------------------------------------------------------------
 */

static bool is_workbook_escape(const char *s, size_t n)
{
	return n >= 7 && s[0] == '_' && s[1] == 'x' &&
	       strspn(s + 2, "0123456789abcdefABCDEF") >= 4 && s[6] == '_';
}

bool plain_add_workbook(struct text *out, const char *s, size_t n)
{
	static const char underscore[] = "_x005F_";
	enum { MOST = 32767 };
	struct text line = {0};
	size_t count = 0, length = 0, at;
	uint32_t code;

	if (n)
		plain_add(&line, s, n);
	for (at = 0; at < line.length && !line.failed; at += length) {
		bool escape = is_workbook_escape(line.s + at, line.length - at);

		length = plain_next(line.s + at, line.length - at, &code);
		count += escape ? sizeof(underscore) - 1 : code > 0xffff ? 2 : 1;
		if (count > MOST)
			break;
		if (escape)
			text_add(out, underscore);
		else
			text_add_bytes(out, line.s + at, length);
	}
	out->failed |= line.failed;
	text_release(&line);
	return count <= MOST;
}
