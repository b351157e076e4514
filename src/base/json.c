/* SPDX-License-Identifier: Apache-2.0 */
/* JSON; see json.h. */
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/plain.h"

/* ---- strings ---- */

/* Any byte of eight is a control, DEL, a quote, a backslash or no ASCII. */
static bool eight_special(uint64_t v)
{
	return plain_eight_hidden(v) | plain_eight_is(v, '"') | plain_eight_is(v, '\\');
}

/* Copies what stands for itself, as most does: how much of `s` that is. */
static size_t copy_plain(char *out, const char *s, size_t n)
{
	size_t i = 0;

	for (uint64_t eight; i + 8 <= n; i += 8) {
		memcpy(&eight, s + i, 8);
		if (eight_special(eight))
			break;
		memcpy(out + i, &eight, 8);
	}
	for (; i < n && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'; i++)
		out[i] = s[i];
	return i;
}

size_t json_escape(char *out, const char *s, size_t n)
{
	char *p = out;
	uint32_t code;

	*p++ = '"';
	for (size_t i = 0, length; i < n; i += length) {
		length = copy_plain(p, s + i, n - i);
		p += length;
		if (length)
			continue;
		length = plain_next(s + i, n - i, &code);
		if (code & PLAIN_BAD) {
			memcpy(p, "\xef\xbf\xbd", 3);
			p += 3;
		} else if (code == '"' || code == '\\' || plain_hidden(code)) {
			char escaped[2 * PLAIN_ESCAPE_MAX];
			size_t used = plain_escape_json(code, escaped);

			memcpy(p, escaped, used);
			p += used;
		} else {
			memcpy(p, s + i, length);
			p += length;
		}
	}
	*p++ = '"';
	return (size_t)(p - out);
}

/* ---- writer ---- */

static void new_line(struct json *j)
{
	if (j->line)
		text_addf(j->out, "\n%*s", (int)j->line - 1, "");
	j->line = 0;
}

void json_line(struct json *j, unsigned indent)
{
	j->line = indent + 1;
}

/* What comes between the last value and the next. */
static void separate(struct json *j)
{
	bool *later = j->depth ? &j->later[j->depth - 1] : NULL;

	if (j->named) {
		j->named = false;
		return;
	}
	if (later && *later)
		text_add(j->out, j->compact || j->line ? "," : ", ");
	if (later)
		*later = true;
	new_line(j);
}

void json_open(struct json *j, char bracket)
{
	kymo_assert(j->depth < JSON_DEPTH);
	separate(j);
	text_add_bytes(j->out, &bracket, 1);
	j->later[j->depth] = false;
	j->ends[j->depth++] = bracket == '{' ? '}' : ']';
}

void json_close(struct json *j)
{
	kymo_assert(j->depth && !j->named);
	new_line(j);
	text_add_bytes(j->out, &j->ends[--j->depth], 1);
}

void json_name(struct json *j, const char *name)
{
	kymo_assert(j->depth && j->ends[j->depth - 1] == '}' && !j->named);
	separate(j);
	text_add_json(j->out, name);
	text_add(j->out, j->compact ? ":" : ": ");
	j->named = true;
}

void json_add_bytes(struct json *j, const char *s, size_t n)
{
	separate(j);
	text_add_json_bytes(j->out, s, n);
}

void json_add_string(struct json *j, const char *s)
{
	if (s)
		json_add_bytes(j, s, strlen(s));
	else
		json_add_null(j);
}

void json_add_raw(struct json *j, const char *value)
{
	separate(j);
	text_add(j->out, value);
}

void json_add_unsigned(struct json *j, uint64_t v)
{
	separate(j);
	text_addf(j->out, "%" PRIu64, v);
}

void json_add_signed(struct json *j, int64_t v)
{
	separate(j);
	text_addf(j->out, "%" PRId64, v);
}

void json_add_bool(struct json *j, bool v)
{
	json_add_raw(j, v ? "true" : "false");
}

void json_add_null(struct json *j)
{
	json_add_raw(j, "null");
}
