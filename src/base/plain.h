/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from elsewhere on its way to people. Names of kernels, ranges, threads, programs, hosts and
 * files are whatever somebody chose: they may hold sequences that steer a terminal, line breaks
 * that fake lines of a report, marks that turn the direction of writing, bytes that are no text,
 * tags, formulas. All that Kymo prints for people and spreadsheets passes through here.
 *
 * What cannot be shown as it is becomes what a C string would have there: \n, \x1b, \u202e, and
 * \xff for a byte that is not UTF-8. Backslashes are left alone: reports are for reading. JSON
 * carries the very characters, escaped in its own way.
 */
#ifndef BASE_PLAIN_H
#define BASE_PLAIN_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

/* ---- characters --------------------------------------------------------------------------------
 */

#define PLAIN_BAD        0x80000000u /* | byte: no character, a byte that is not UTF-8 */
#define PLAIN_ESCAPE_MAX 10          /* of a character that is escaped */

/* Length in bytes of the character at `s`, where `n` > 0 bytes are; *code is which it is. */
size_t plain_next(const char *s, size_t n, uint32_t *code);

/* Controls (C0, DEL, C1), marks of direction, line and paragraph separators, invisible tags, no
 * text. */
bool plain_hidden(uint32_t code);

/* What stands for a hidden one; returns its length. No terminator. */
size_t plain_escape(uint32_t code, char out[PLAIN_ESCAPE_MAX]);

/* The same in a JSON string, for json_escape(); returns its length. */
size_t plain_escape_json(uint32_t code, char out[2 * PLAIN_ESCAPE_MAX]);

/* Columns that a terminal gives it (plain_width.c): 0, 1 or 2, or those of its escape. */
unsigned plain_columns(uint32_t code);

/*
 * Of eight bytes at once: whether there is such a one, and what is not printable ASCII. Not 0: there is; which bits are
 * set says no more.
 */
#define PLAIN_ONES UINT64_C(0x0101010101010101)

static inline uint64_t plain_eight_is(uint64_t v, char c)
{
	uint64_t x = v ^ PLAIN_ONES * (uint64_t)c;

	return (x - PLAIN_ONES) & ~x & PLAIN_ONES << 7;
}

static inline uint64_t plain_eight_hidden(uint64_t v)
{
	return (((v - PLAIN_ONES * ' ') & ~v) | v | plain_eight_is(v, 0x7f)) & PLAIN_ONES << 7;
}

/* All of `s` is printable ASCII: nothing needs to be looked at one by one. */
bool plain_ascii(const char *s, size_t n);
/* And none of those three is in it. */
bool plain_ascii_without(const char *s, size_t n, const char three[4]);

/* ---- text --------------------------------------------------------------------------------------
 */

/* `s` as a part of one line. */
void plain_add(struct text *out, const char *s, size_t n);

/* As plain_add(), but line breaks and tabs stay: text of several lines, composed by plain_vaddf(). */
void plain_add_lines(struct text *out, const char *s, size_t n);

/* `s` as Markdown that shows it: no tag, link, emphasis or end of a table's cell. */
void plain_add_markdown(struct text *out, const char *s, size_t n);

/*
 * `s` as a field of a CSV line (RFC 4180), quoted where needed. What a spreadsheet would take for a
 * formula (it begins with = + - @, and is no number) gets an apostrophe in front.
 */
void plain_add_csv(struct text *out, const char *s, size_t n);

/* `s` as a field of a line whose fields are apart by tabs: likewise against formulas, never quoted. */
void plain_add_tsv(struct text *out, const char *s, size_t n);

/*
 * `s` as the text of a cell of a workbook (ECMA-376), which has no more than 32,767 characters as UTF-16 counts them;
 * false: it has more and was cut. There _x0041_ stands for a character (22.4.2.4): such an underscore is written as one.
 */
bool plain_add_workbook(struct text *out, const char *s, size_t n);

/* `s` as text of an HTML page or of an attribute in quotes. */
void plain_add_html(struct text *out, const char *s, size_t n);
/* The same of plain_add_lines(). */
void plain_add_html_lines(struct text *out, const char *s, size_t n);

/* Columns that plain_add() of `s` takes on a terminal (plain_width.c). */
unsigned plain_width(const char *s);

/* As plain_add(), but no more than `columns` of them; returns how many it took. */
unsigned plain_add_cut(struct text *out, const char *s, unsigned columns);

/*
 * As printf, but what %s and %c insert passes through plain_add(), and their width and precision
 * are columns of a terminal and bytes, respectively. The format's own text is left as it is.
 */
void plain_vaddf(struct text *out, const char *format, va_list args);
void plain_addf(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void plain_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
