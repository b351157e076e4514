/* SPDX-License-Identifier: Apache-2.0 */
/* See names.h. */
#include "analysis/names.h"

#include <ctype.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool joins_counters(char c)
{
	return c && strchr("/:.,_x-", c);
}

/* Where the counters begin with which `name` ends: "12", "3/100"; its end if it ends with none. */
static size_t counters_at(const char *name, size_t end)
{
	size_t at = end;

	while (at && is_digit(name[at - 1])) {
		while (at && is_digit(name[at - 1]))
			at--;
		if (at < 2 || !joins_counters(name[at - 1]) || !is_digit(name[at - 2]))
			break;
		at--;
	}
	return at;
}

/* The length of the handle that `s` begins with, or 0. */
static size_t handle_length(const char *s)
{
	size_t n = 2;

	if (s[0] != '0' || (s[1] != 'x' && s[1] != 'X'))
		return 0;
	while (isxdigit((unsigned char)s[n]))
		n++;
	return n > 2 ? n : 0;
}

/* Adds so much of it, handles as stars. */
static bool add_without_handles(struct text *out, const char *s, size_t length)
{
	bool any = false;
	size_t begin = 0, at = 0;

	while (at < length) {
		size_t n = handle_length(s + at);

		if (!n || at + n > length) {
			at++;
			continue;
		}
		text_add_bytes(out, s + begin, at - begin);
		text_add(out, "0x*");
		begin = at += n;
		any = true;
	}
	text_add_bytes(out, s + begin, length - begin);
	return any;
}

/* Where the fields begin that stand between two #, at the end; the name's end if none do. */
static size_t fields_at(const char *name, size_t end)
{
	const char *first = strchr(name, '#');

	if (!first || end < 3 || name[end - 1] != '#' || first == name + end - 1 ||
	    !memchr(first, '=', (size_t)(name + end - first)))
		return end;
	return (size_t)(first - name);
}

bool name_fold(struct text *out, const char *name)
{
	size_t length = strlen(name), end = fields_at(name, length), counters;
	bool folded = end < length;

	counters = folded ? end : counters_at(name, length);
	if (handle_length(name) == length) /* nothing but a handle */
		counters = length;
	folded |= add_without_handles(out, name, counters) || counters < length;
	if (end < length)
		text_add(out, "#*#");
	else if (counters < length)
		text_add(out, "*");
	return folded;
}

const char *name_device(const struct t_agent *agent)
{
	size_t length = agent->given ? strlen(agent->given) : 0;

	return length && fields_at(agent->given, length) < length ? agent->hardware : agent->label;
}
