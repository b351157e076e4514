/* SPDX-License-Identifier: Apache-2.0 */
/* Where the preprocessed text is in the program: from its line markers. */
#ifndef REWRITE_LINES_H
#define REWRITE_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct line {
	uint32_t offset, number, file;
};

struct lines {
	const char *text;
	struct line *lines;
	uint32_t count, room;
	char **files; /* "": the program's own text */
	uint32_t file_count, file_room;
};

struct line_place {
	const char *file;
	uint32_t line, column;
};

/* False: no memory. */
bool lines_read(struct lines *l, const char *text, uint32_t length);
struct line_place lines_place(const struct lines *l, uint32_t offset);
void lines_release(struct lines *l);

#endif
