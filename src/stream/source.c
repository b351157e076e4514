/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a file value by value; see source.h. */
#include "stream/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

bool source_open(struct source *s, const char *path)
{
	struct stat st;

	*s = (struct source){.path = path};
	if (stat(path, &st) != 0)
		return false;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return false;
	}
	s->bytes = (uint64_t)st.st_size;
	s->buffer = malloc(SOURCE_BUFFER);
	s->file = s->buffer ? gzopen(path, "rbe") : NULL;
	if (s->file)
		gzbuffer(s->file, SOURCE_BUFFER);
	return s->file != NULL;
}

void source_close(struct source *s)
{
	if (s->file)
		gzclose_r(s->file);
	free(s->buffer);
	text_release(&s->value);
	*s = (struct source){0};
}

static bool fill(struct source *s)
{
	int n, error;

	if (s->ended)
		return false;
	n = gzread(s->file, s->buffer, SOURCE_BUFFER);
	s->at = 0;
	s->used = n > 0 ? (size_t)n : 0;
	if (n > 0)
		return true;
	s->ended = true;
	gzerror(s->file, &error);
	if (n < 0 || error == Z_BUF_ERROR)
		s->broken = error == Z_BUF_ERROR ? "its compressed data ends too early"
						 : "its compressed data is damaged";
	return false;
}

/* Some writers begin with a mark of the order of bytes, which UTF-8 does not need. */
static void skip_mark(struct source *s)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (s->used >= 3 && memcmp(s->buffer, mark, 3) == 0)
		s->at = 3;
}

int source_peek(struct source *s)
{
	if (!s->begun && !s->used && fill(s))
		skip_mark(s);
	s->begun = true;
	for (;; s->at++) {
		char c;

		if (s->at >= s->used && !fill(s))
			return -1;
		c = s->buffer[s->at];
		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			return (unsigned char)c;
	}
}

double source_done(const struct source *s)
{
	return s->bytes ? (double)gzoffset(s->file) / (double)s->bytes : 1;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* How far the reading of a value has come. */
struct extent {
	uint64_t depth;
	bool string, escaped, bare; /* bare: a number or word */
	bool whole;
};

static bool ends_bare(char c)
{
	return strchr(",]}: \n\t\r", c) != NULL;
}

static bool in_string(struct extent *x, char c)
{
	if (x->escaped) {
		x->escaped = false;
		return false;
	}
	x->escaped = c == '\\';
	if (c != '"')
		return false;
	x->string = false;
	return x->depth == 0;
}

/* The value ends with this character. */
static bool outside(struct extent *x, char c)
{
	if (c == '"')
		x->string = true;
	else if (c == '{' || c == '[')
		x->depth++;
	else if (c == '}' || c == ']')
		return x->depth && --x->depth == 0;
	else if (!x->depth)
		x->bare = true;
	return false;
}

/* How many of n bytes belong to the value. */
static size_t measure(struct extent *x, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (x->bare && ends_bare(p[i])) {
			x->whole = true;
			return i;
		}
		if (x->string ? in_string(x, p[i]) : outside(x, p[i])) {
			x->whole = true;
			return i + 1;
		}
	}
	return n;
}

/* What there is no room for is passed over, not kept. */
static void keep(struct source *s, const char *p, size_t n, bool *large)
{
	if (!*large && s->value.length + n <= SOURCE_VALUE_MAX) {
		text_add_bytes(&s->value, p, n);
		return;
	}
	s->too_large += !*large;
	*large = true;
	s->value.length = 0;
}

bool source_value(struct source *s, struct span *out)
{
	struct extent x = {0};
	bool large = false;

	s->value.length = 0;
	if (source_peek(s) < 0)
		return false;
	while (!x.whole && (s->at < s->used || fill(s))) {
		size_t n = measure(&x, s->buffer + s->at, s->used - s->at);

		keep(s, s->buffer + s->at, n, &large);
		s->at += n;
	}
	*out = (struct span){s->value.s ? s->value.s : "", s->value.length};
	return (x.whole || x.bare) && !s->value.failed;
}
