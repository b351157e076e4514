/* SPDX-License-Identifier: Apache-2.0 */
/* CSV, a line at a time; see reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/rocprofv3/reader.h"

struct rp_table {
	FILE *file;
	char *line; /* cells without their quotes, one behind the other */
	size_t used;
	struct rp_cell cells[CELLS_MAX];
	size_t starts[CELLS_MAX];
	uint32_t count;
	uint64_t broken;
	bool too_long, cut;
};

struct rp_table *rp_table_open(const char *path)
{
	struct rp_table *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->line = malloc(LINE_MAX_BYTES);
	x->file = x->line ? fopen(path, "re") : NULL;
	if (x->file)
		return x;
	free(x->line);
	free(x);
	return NULL;
}

void rp_table_close(struct rp_table *x)
{
	if (!x)
		return;
	fclose(x->file);
	free(x->line);
	free(x);
}

uint64_t rp_table_broken(const struct rp_table *x)
{
	return x->broken;
}

bool rp_table_cut(const struct rp_table *x)
{
	return x->cut;
}

static void put(struct rp_table *x, int c)
{
	if (x->used < LINE_MAX_BYTES)
		x->line[x->used++] = (char)c;
	else
		x->too_long = true;
}

static void begin_cell(struct rp_table *x)
{
	if (x->count < CELLS_MAX)
		x->starts[x->count++] = x->used;
	else
		x->too_long = true;
}

/* What follows the cell's quote: a quote, or the character behind it. */
static int quoted(struct rp_table *x)
{
	for (;;) {
		int c = getc_unlocked(x->file);

		if (c == EOF)
			return c;
		if (c == '"') {
			c = getc_unlocked(x->file);
			if (c != '"')
				return c;
		}
		put(x, c);
	}
}

/* The line's cells. False: nothing came before the end. */
static bool read_line(struct rp_table *x)
{
	bool fresh = true, any = false;
	int c;

	x->used = x->count = 0;
	x->too_long = false;
	begin_cell(x);
	for (c = getc_unlocked(x->file); c != EOF && c != '\n'; any = true) {
		if (c == '"' && fresh) {
			c = quoted(x);
			fresh = false;
			continue;
		}
		fresh = c == ',';
		if (fresh)
			begin_cell(x);
		else if (c != '\r')
			put(x, c);
		c = getc_unlocked(x->file);
	}
	x->cut |= any && c == EOF;
	return any || c == '\n';
}

static void finish_cells(struct rp_table *x)
{
	for (uint32_t i = 0; i < x->count; i++) {
		size_t end = i + 1 < x->count ? x->starts[i + 1] : x->used;

		x->cells[i] = (struct rp_cell){x->line + x->starts[i], end - x->starts[i]};
	}
}

bool rp_table_next(struct rp_table *x, const struct rp_cell **cells, uint32_t *count)
{
	while (read_line(x)) {
		if (x->too_long) {
			x->broken++;
			continue;
		}
		if (x->count == 1 && !x->used)
			continue; /* an empty line */
		finish_cells(x);
		*cells = x->cells;
		*count = x->count;
		return true;
	}
	return false;
}

bool rp_cell_is(struct rp_cell c, const char *text)
{
	return c.n == strlen(text) && strncasecmp(c.s, text, c.n) == 0;
}

/* Digits, or 0x and hexadecimal ones; a part behind a point is cut off. */
bool rp_cell_unsigned(struct rp_cell c, uint64_t *out)
{
	char text[32], *end;

	if (!c.n || c.n >= sizeof(text) || c.s[0] < '0' || c.s[0] > '9')
		return false;
	memcpy(text, c.s, c.n);
	text[c.n] = 0;
	*out = strtoull(text, &end, c.n > 2 && text[1] == 'x' ? 16 : 10);
	return !*end || (*end == '.' && strspn(end + 1, "0") == strlen(end + 1));
}
