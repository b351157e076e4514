/* SPDX-License-Identifier: Apache-2.0 */
/* See scan.h. */
#include "ptx/scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool ptx_named(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* Behind the string that begins at `at`. */
static size_t string_end(const char *s, size_t at, size_t length)
{
	for (at++; at < length && s[at] != '"'; at++)
		if (s[at] == '\\')
			at++;
	return at < length ? at + 1 : length;
}

static size_t comment_end(const char *s, size_t at, size_t length)
{
	const bool line = s[at + 1] == '/';

	for (at += 2; at < length; at++) {
		if (line && s[at] == '\n')
			return at;
		if (!line && s[at] == '/' && s[at - 1] == '*')
			return at + 1;
	}
	return length;
}

char *ptx_blank(const char *text, size_t length)
{
	char *out = malloc(length + 1);
	size_t at = 0, end;

	if (!out)
		return NULL;
	memcpy(out, text, length);
	out[length] = '\0';
	while (at < length) {
		if (out[at] == '"') {
			at = string_end(out, at, length);
		} else if (out[at] == '/' && at + 1 < length &&
			   (out[at + 1] == '/' || out[at + 1] == '*')) {
			for (end = comment_end(out, at, length); at < end; at++)
				if (out[at] != '\n')
					out[at] = ' ';
		} else {
			if (!out[at])
				out[at] = ' ';
			at++;
		}
	}
	return out;
}

bool ptx_word_is(const char *text, struct ptx_word w, const char *is)
{
	return strlen(is) == w.length && memcmp(text + w.at, is, w.length) == 0;
}

bool ptx_word_begins(const char *text, struct ptx_word w, const char *with)
{
	return strlen(with) <= w.length && memcmp(text + w.at, with, strlen(with)) == 0;
}

bool ptx_words_equal(const char *text, struct ptx_word a, struct ptx_word b)
{
	return a.length == b.length && memcmp(text + a.at, text + b.at, a.length) == 0;
}

static uint32_t skip_blanks(const char *s, uint32_t at, uint32_t end)
{
	while (at < end && isspace((unsigned char)s[at]))
		at++;
	return at;
}

struct ptx_word ptx_word_next(const char *s, uint32_t *at, uint32_t end)
{
	struct ptx_word w = {skip_blanks(s, *at, end), 0};

	if (w.at < end && s[w.at] == '"')
		w.length = (uint32_t)string_end(s, w.at, end) - w.at;
	else
		while (w.at + w.length < end && ptx_named(s[w.at + w.length]))
			w.length++;
	if (!w.length && w.at < end)
		w.length = 1;
	*at = w.at + w.length;
	return w;
}

static bool opens(char c)
{
	return c == '{' || c == '(' || c == '[';
}

static bool closes(char c)
{
	return c == '}' || c == ')' || c == ']';
}

uint32_t ptx_closing(const char *s, uint32_t at, uint32_t length)
{
	uint32_t depth = 0;

	while (at < length) {
		if (s[at] == '"') {
			at = (uint32_t)string_end(s, at, length);
			continue;
		}
		depth += opens(s[at]);
		if (closes(s[at]) && --depth == 0)
			return at + 1;
		at++;
	}
	return 0;
}

/* Behind the ; that ends what begins at `at`; 0: there is none. */
static uint32_t statement_end(const char *s, uint32_t at, uint32_t length)
{
	while (at < length && s[at] != ';') {
		if (closes(s[at]))
			return 0;
		if (opens(s[at]))
			at = ptx_closing(s, at, length);
		else if (s[at] == '"')
			at = (uint32_t)string_end(s, at, length);
		else
			at++;
		if (!at)
			return 0;
	}
	return at < length ? at + 1 : 0;
}

static uint32_t line_end(const char *s, uint32_t at, uint32_t length)
{
	while (at < length && s[at] != '\n')
		at++;
	return at;
}

/* A name with points, and ::. */
static struct ptx_word dotted(const char *s, uint32_t at, uint32_t length)
{
	struct ptx_word w = {at, 0};

	while (at < length && (ptx_named(s[at]) || s[at] == '.' ||
			       (s[at] == ':' && at + 2 < length && s[at + 1] == ':')))
		at += s[at] == ':' ? 2 : 1;
	w.length = at - w.at;
	return w;
}

static bool ends_with_line(const char *s, struct ptx_word name)
{
	static const char *const names[] = {".loc", ".file", ".version", ".target",
					    ".address_size"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ptx_word_is(s, name, names[i]))
			return true;
	return false;
}

static bool lists_targets(const char *s, struct ptx_word name)
{
	return ptx_word_is(s, name, ".branchtargets") || ptx_word_is(s, name, ".calltargets") ||
	       ptx_word_is(s, name, ".callprototype");
}

static struct ptx_statement finish(struct ptx_scan *s, struct ptx_statement o)
{
	if (!o.end || o.end > s->length) {
		o.kind = PTX_BAD;
		o.end = s->length;
	}
	s->at = o.end;
	return o;
}

static struct ptx_statement directive(struct ptx_scan *s, struct ptx_statement o, uint32_t at)
{
	o.kind = PTX_DIRECTIVE;
	o.name = dotted(s->text, at, s->length);
	o.operands = o.name.at + o.name.length;
	o.end = ends_with_line(s->text, o.name) ? line_end(s->text, o.operands, s->length)
						: statement_end(s->text, o.operands, s->length);
	return finish(s, o);
}

/* A label, or what it names is a list. */
static struct ptx_statement label(struct ptx_scan *s, struct ptx_statement o, uint32_t colon)
{
	uint32_t at = skip_blanks(s->text, colon + 1, s->length);

	if (at < s->length && s->text[at] == '.' &&
	    lists_targets(s->text, dotted(s->text, at, s->length)))
		return directive(s, o, at);
	o.kind = PTX_LABEL;
	o.end = colon + 1;
	return finish(s, o);
}

static bool guard(const struct ptx_scan *s, struct ptx_statement *o, uint32_t *at)
{
	*at = skip_blanks(s->text, *at + 1, s->length);
	o->negated = *at < s->length && s->text[*at] == '!';
	*at += o->negated;
	o->guard = ptx_word_next(s->text, at, s->length);
	*at = skip_blanks(s->text, *at, s->length);
	return o->guard.length && ptx_named(s->text[o->guard.at]);
}

struct ptx_statement ptx_next(struct ptx_scan *s)
{
	const char *text = s->text;
	uint32_t at = skip_blanks(text, s->at, s->length);
	struct ptx_statement o = {.kind = PTX_END, .start = at, .end = s->length};

	if (at >= s->length)
		return o;
	o.end = at + 1;
	o.kind = text[at] == '{' ? PTX_OPEN : text[at] == '}' ? PTX_CLOSE : PTX_INSTRUCTION;
	if (o.kind != PTX_INSTRUCTION || text[at] == ';') {
		o.kind = text[at] == ';' ? PTX_DIRECTIVE : o.kind; /* empty */
		return finish(s, o);
	}
	if (text[at] == '.')
		return directive(s, o, at);
	if (text[at] == '@' && !guard(s, &o, &at)) {
		o.end = 0;
		return finish(s, o);
	}
	o.name = dotted(text, at, s->length);
	o.operands = o.name.at + o.name.length;
	at = skip_blanks(text, o.operands, s->length);
	if (!o.guard.length && o.name.length && at < s->length && text[at] == ':')
		return label(s, o, at);
	o.end = o.name.length ? statement_end(text, o.operands, s->length) : 0;
	return finish(s, o);
}
