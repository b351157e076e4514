/* SPDX-License-Identifier: Apache-2.0 */
/* See lines.h. */
#include "rewrite/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* The name as the marker has it, whose end is its quote. */
static char *unquote(const char *s)
{
	size_t n = strcspn(s, "\n"), used = 0;
	char *out = malloc(n + 1);

	while (out && *s && *s != '"' && *s != '\n') {
		if (*s == '\\' && s[1])
			s++;
		out[used++] = *s++;
	}
	if (out)
		out[used] = '\0';
	return out;
}

static bool find_file(struct lines *l, const char *quoted, uint32_t *file)
{
	char *name = unquote(quoted);

	if (name && strcmp(name, "<stdin>") == 0)
		*name = '\0';
	for (uint32_t i = 0; name && i < l->file_count; i++) {
		if (strcmp(l->files[i], name) == 0) {
			free(name);
			*file = i;
			return true;
		}
	}
	if (!name || !vec_reserve(&l->files, &l->file_room, l->file_count, 1)) {
		free(name);
		return false;
	}
	*file = l->file_count;
	l->files[l->file_count++] = name;
	return true;
}

/* # 12 "name" ...: the line that follows is the twelfth of that file. */
static bool read_marker(struct lines *l, const char *line, struct line *next)
{
	char *rest;
	unsigned long number;

	if (line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9')
		return true;
	number = strtoul(line + 2, &rest, 10);
	next->number = (uint32_t)number;
	return rest[0] != ' ' || rest[1] != '"' || find_file(l, rest + 2, &next->file);
}

bool lines_read(struct lines *l, const char *text, uint32_t length)
{
	struct line now = {0, 1, 0};

	*l = (struct lines){.text = text};
	if (!find_file(l, "<stdin>\"", &now.file))
		return false;
	while (now.offset < length) {
		const char *line = text + now.offset,
			   *end = memchr(line, '\n', length - now.offset);

		if (!vec_reserve(&l->lines, &l->room, l->count, 1))
			return false;
		l->lines[l->count++] = now;
		now.number++;
		if (!read_marker(l, line, &now))
			return false;
		now.offset = end ? (uint32_t)(end + 1 - text) : length;
	}
	return true;
}

struct line_place lines_place(const struct lines *l, uint32_t offset)
{
	uint32_t low = 0, high = l->count;

	if (!l->count)
		return (struct line_place){"", 1, 1};
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (l->lines[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return (struct line_place){l->files[l->lines[low].file], l->lines[low].number,
				   offset - l->lines[low].offset + 1};
}

void lines_release(struct lines *l)
{
	for (uint32_t i = 0; i < l->file_count; i++)
		free(l->files[i]);
	free(l->files);
	free(l->lines);
	*l = (struct lines){0};
}
