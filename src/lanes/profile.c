/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are known, and those that users describe: what their warps, lines and banks are like. */
#include "lanes/lanes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kymo_lanes_profile_t profiles[] = {
	{32, 128, 4, 32, {32, 16, 8}},
	{64, 128, 4, 32, {32, 16, 8}},
};

const kymo_lanes_profile_t *lanes_profile_at(uint32_t i)
{
	return i < sizeof(profiles) / sizeof(profiles[0]) ? &profiles[i] : NULL;
}

const kymo_lanes_profile_t *lanes_profile_of(uint32_t warp)
{
	for (uint32_t i = 0; lanes_profile_at(i); i++)
		if (profiles[i].warp == warp)
			return &profiles[i];
	return NULL;
}

void lanes_profile_text(const kymo_lanes_profile_t *p, const char *equals, const char *end,
			char out[LANES_TEXT])
{
	snprintf(out, LANES_TEXT, "warp%s%u%sline%s%u%sbank%s%u%sbanks%s%u%stogether%s%u,%u,%u%s",
		 equals, p->warp, end, equals, p->line, end, equals, p->bank, end, equals, p->banks,
		 end, equals, p->together[0], p->together[1], p->together[2], end);
}

/* ---- what users write -------------------------------------------------------------------------- */

/* A number of `key`, from 1 to `most`, of which there are `count` one behind the other in the profile. */
static const struct field {
	const char *key;
	size_t offset;
	uint32_t count, most;
} fields[] = {
	{"warp", offsetof(kymo_lanes_profile_t, warp), 1, LANES_WARP_MAX},
	{"line", offsetof(kymo_lanes_profile_t, line), 1, 65536},
	{"bank", offsetof(kymo_lanes_profile_t, bank), 1, 256},
	{"banks", offsetof(kymo_lanes_profile_t, banks), 1, LANES_BANKS_MAX},
	{"together", offsetof(kymo_lanes_profile_t, together), 3, LANES_WARP_MAX},
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

struct reading {
	kymo_lanes_profile_t p;
	bool given[FIELDS];
	unsigned line;
	char *why;
	size_t size;
};

static bool wrong(const struct reading *r, const char *what, const char *text)
{
	snprintf(r->why, r->size, "line %u: %s%s%.60s%s", r->line, what, *text ? " \"" : "", text,
		 *text ? "\"" : "");
	return false;
}

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = '\0';
	return s;
}

static bool take_numbers(struct reading *r, const struct field *f, char *text)
{
	const char *const all = text;
	uint32_t *out = (uint32_t *)(void *)((char *)&r->p + f->offset);
	char what[96];

	snprintf(what, sizeof(what), "%s is %u whole number%s from 1 to %u%s", f->key, f->count,
		 f->count > 1 ? "s" : "", f->most, *text ? ", not" : "");
	for (uint32_t i = 0; i < f->count; i++) {
		const size_t n = strspn(text, "0123456789");
		const unsigned long v = n && n < 9 ? strtoul(text, NULL, 10) : 0;

		if (!v || v > f->most)
			return wrong(r, what, all);
		out[i] = (uint32_t)v;
		text += n;
		if (i + 1 < f->count) {
			const size_t gap = strspn(text, ", \t");

			if (!gap)
				return wrong(r, what, all);
			text += gap;
		}
	}
	return *text ? wrong(r, what, all) : true;
}

static bool take_line(struct reading *r, char *line)
{
	char *value = strchr(line, '='), *key = line;

	if (!*line)
		return true;
	if (!value)
		return wrong(r, "a line is KEY = VALUE, not", line);
	*value++ = '\0';
	key = trim(key);
	for (uint32_t i = 0; i < FIELDS; i++) {
		if (strcmp(fields[i].key, key) != 0)
			continue;
		if (r->given[i])
			return wrong(r, "it is there twice:", key);
		r->given[i] = true;
		return take_numbers(r, &fields[i], trim(value));
	}
	return wrong(r, "there are warp, line, bank, banks and together, not", key);
}

bool lanes_profile_parse(const char *text, kymo_lanes_profile_t *out, char *why, size_t size)
{
	struct reading r = {.line = 1, .why = why, .size = size};
	char *copy = strdup(text), *next;
	bool good = copy != NULL;

	if (!copy)
		snprintf(why, size, "there is no memory");
	for (char *line = copy; good && line; line = next, r.line++) {
		next = line + strcspn(line, "\n;");
		if (*next)
			*next++ = '\0';
		else
			next = NULL;
		line[strcspn(line, "#")] = '\0';
		good = take_line(&r, trim(line));
	}
	free(copy);
	for (uint32_t i = 0; good && i < FIELDS; i++)
		if (!r.given[i]) {
			snprintf(why, size, "%s is missing", fields[i].key);
			good = false;
		}
	if (good)
		*out = r.p;
	return good;
}
