/* SPDX-License-Identifier: Apache-2.0 */
/* Looking around in the preprocessed text: it has no comments and no macros any more, but lines that begin with '#'. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rewrite/tree.h"

void tree_refuse(struct tree *t, uint32_t at, const char *format, ...)
{
	va_list list;

	if (t->why[0])
		return;
	va_start(list, format);
	vsnprintf(t->why, sizeof(t->why), format, list);
	va_end(list);
	t->why_at = at;
}

static uint32_t line_end(const struct tree *t, uint32_t at)
{
	const char *end = memchr(t->text + at, '\n', t->length - at);

	return end ? (uint32_t)(end - t->text) : t->length;
}

/* A '#' that is the first of its line. */
static bool directive(const struct tree *t, uint32_t at)
{
	if (t->text[at] != '#')
		return false;
	while (at > 0 && (t->text[at - 1] == ' ' || t->text[at - 1] == '\t'))
		at--;
	return at == 0 || t->text[at - 1] == '\n';
}

uint32_t tree_skip(const struct tree *t, uint32_t at)
{
	while (at < t->length) {
		if (isspace((unsigned char)t->text[at]))
			at++;
		else if (directive(t, at))
			at = line_end(t, at);
		else
			break;
	}
	return at;
}

/* Behind the text or character that begins at `at`. */
static uint32_t skip_quoted(const struct tree *t, uint32_t at)
{
	char quote = t->text[at++];

	while (at < t->length && t->text[at] != quote)
		at += t->text[at] == '\\' ? 2 : 1;
	return at < t->length ? at + 1 : t->length;
}

uint32_t tree_find(const struct tree *t, uint32_t at, char c)
{
	int depth = 0;

	while ((at = tree_skip(t, at)) < t->length) {
		char now = t->text[at];

		if (now == c && depth == 0)
			return at;
		if (now == '"' || now == '\'') {
			at = skip_quoted(t, at);
			continue;
		}
		depth += now == '(' || now == '[' || now == '{';
		depth -= now == ')' || now == ']' || now == '}';
		if (depth < 0)
			break;
		at++;
	}
	return t->length;
}

uint32_t tree_closing(const struct tree *t, uint32_t open)
{
	return tree_find(t, open + 1, ')');
}

bool tree_word(const struct tree *t, uint32_t at, const char *word)
{
	size_t n = strlen(word);
	char after;

	if (at + n > t->length || memcmp(t->text + at, word, n) != 0)
		return false;
	after = at + n < t->length ? t->text[at + n] : '\0';
	return !isalnum((unsigned char)after) && after != '_';
}

static bool in_word(const struct tree *t, uint32_t at)
{
	return at < t->length && (isalnum((unsigned char)t->text[at]) || t->text[at] == '_');
}

uint32_t tree_next_word(const struct tree *t, uint32_t *at)
{
	uint32_t begin;

	while ((begin = tree_skip(t, *at)) < t->length && !in_word(t, begin))
		*at = t->text[begin] == '"' || t->text[begin] == '\'' ? skip_quoted(t, begin)
								      : begin + 1;
	*at = begin;
	while (in_word(t, *at))
		++*at;
	return begin;
}

uint32_t tree_statement_end(struct tree *t, uint32_t node)
{
	const struct node *n = tree_node(t, node);
	uint32_t at;

	switch (n->kind) {
	case CX_COMPOUND:
	case CX_NULL:
		return n->end;
	case CX_IF:
	case CX_FOR:
	case CX_WHILE:
	case CX_SWITCH:
	case CX_LABEL:
	case CX_CASE:
	case CX_DEFAULT:
	case CX_UNEXPOSED_STMT:
		for (uint32_t i = n->child; i; i = tree_node(t, i)->next)
			if (!tree_node(t, i)->next)
				return tree_statement_end(t, i);
		return n->end;
	default:
		break;
	}
	if (n->end > n->begin && t->text[n->end - 1] == ';')
		return n->end; /* declarations have theirs */
	at = tree_skip(t, n->end);
	if (at < t->length && t->text[at] == ';')
		return at + 1;
	tree_refuse(t, n->begin, "the end of a statement was not found");
	return n->end;
}
