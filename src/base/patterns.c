/* SPDX-License-Identifier: Apache-2.0 */
/* See patterns.h. */
#include "base/patterns.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

enum { SHOWN = 200 }; /* bytes, for people */

/* The line without spaces around it. */
static char *trimmed(char *s)
{
	char *end;

	s += strspn(s, " \t\r\n");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return s;
}

/* False: there is an end to it. */
static bool add_line(struct text *out, const char *line, unsigned *lines)
{
	if (*line == '\0' || *line == '#')
		return true;
	if (*lines)
		text_add(out, "\n");
	text_add(out, line);
	return ++*lines <= PATTERNS_LINES && out->length <= PATTERNS_MAX;
}

static bool read_lines(struct text *out, FILE *f, char *why, size_t size)
{
	unsigned lines = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	bool ok = true;

	errno = 0;
	while (ok && (n = getline(&line, &room, f)) >= 0) {
		ok = strlen(line) == (size_t)n;
		if (!ok)
			snprintf(why, size, "is no text: it has a byte of value 0");
		else if (!(ok = add_line(out, trimmed(line), &lines)))
			snprintf(why, size, "has more than %u expressions or %u bytes of them",
				 PATTERNS_LINES, PATTERNS_MAX);
	}
	free(line);
	if (ok && ferror(f))
		snprintf(why, size, "cannot be read: %s", strerror(errno));
	else if (ok && !lines)
		snprintf(why, size, "has no expression: comments and empty lines alone");
	return ok && !ferror(f) && lines;
}

char *patterns_read(const char *path, char *why, size_t size)
{
	struct text out = {0};
	FILE *f = fopen(path, "re");
	bool ok = false;

	if (f)
		ok = read_lines(&out, f, why, size) && !out.failed;
	else
		snprintf(why, size, "cannot be read: %s", strerror(errno));
	if (f)
		fclose(f);
	if (ok)
		return out.s;
	if (out.failed)
		snprintf(why, size, "cannot be read: out of memory");
	text_release(&out);
	return NULL;
}

char *patterns_next(const char **s)
{
	const char *at = *s;
	size_t n = strcspn(at, "\n");

	*s = at[n] ? at + n + 1 : NULL;
	return strndup(at, n);
}

static bool check_line(char *line, bool numbered, char *why, size_t size)
{
	struct number_list numbers = {0};
	bool counted = !numbered || numbers_cut(line, &numbers);
	char wrong[128];
	regex_t re;
	int error;

	free(numbers.at);
	if (!counted) {
		snprintf(why, size,
			 "\"%.80s\": after # come the numbers of executions, the first one is 1: "
			 "NAME#5, NAME#100-110 or NAME#1,3",
			 line);
		return false;
	}
	if (!text_regex_bearable(line, wrong, sizeof(wrong))) {
		snprintf(why, size, "the regular expression \"%.80s\" %s", line, wrong);
		return false;
	}
	error = regcomp(&re, line, REG_EXTENDED | REG_NOSUB);
	if (!error) {
		regfree(&re);
		return true;
	}
	regerror(error, &re, wrong, sizeof(wrong));
	snprintf(why, size, "\"%.80s\" is not a regular expression: %s", line, wrong);
	return false;
}

bool patterns_check(const char *text, bool numbered, char *why, size_t size)
{
	bool ok = true;

	for (const char *s = text; s && ok;) {
		char *line = patterns_next(&s);

		ok = line && check_line(line, numbered, why, size);
		if (!line)
			snprintf(why, size, "out of memory");
		free(line);
	}
	return ok;
}

void patterns_show(struct text *out, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n && i < SHOWN; i++)
		text_add_bytes(out, text[i] == '\n' ? "|" : text + i, 1);
	if (n > SHOWN)
		text_add(out, "...");
}
