/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a page: policy, style, what is read without a script, data, script. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page/page.h"

enum { TABLE_ROWS = 50, FINDINGS = 50 }; /* that are read without a script */

/* ---- without a script -------------------------------------------------------------------------- */

static void lines(FILE *out, const struct text_lines *l)
{
	fputs("<pre>", out);
	for (unsigned i = 0; i < l->count; i++)
		html_text(out, "", l->lines[i], "\n");
	fputs("</pre>\n", out);
}

static void finding(FILE *out, const struct finding *f)
{
	const struct text *parts[] = {&f->where, &f->evidence, &f->show, &f->advice};

	html_text(out, "<li><p>", f->title.s ? f->title.s : "", "</p>");
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i]->length)
			html_text_lines(out, "<pre>", parts[i]->s, "</pre>");
	fputs("</li>\n", out);
}

static void tables(FILE *out, const struct report *r, const char *more)
{
	for (unsigned i = 0; i < r->table_count; i++) {
		const struct table *t = r->tables[i];
		uint32_t shown = t->row_count < TABLE_ROWS ? t->row_count : TABLE_ROWS;

		if (t->hidden)
			continue;
		html_heading(t, out);
		html_rows(t, shown, out);
		html_table_end(out);
		if (t->row_count + t->more > shown)
			fprintf(out, "<p>... %u more (%s)</p>\n", t->row_count + t->more - shown,
				more);
		for (unsigned k = 0; k < t->notes.count; k++)
			html_text(out, "<p>", t->notes.lines[k], "</p>\n");
	}
}

static void plain_part(FILE *out, const struct page *p)
{
	fputs("<noscript>\n<div class=\"plain\">\n<p>The timeline needs JavaScript. What follows "
	      "is the digest, the "
	      "findings and the tables.</p>\n",
	      out);
	lines(out, &p->people.head);
	if (p->diagnosis && p->diagnosis->count) {
		fputs("<h2>Findings</h2>\n<ol>\n", out);
		for (uint32_t i = 0; i < p->diagnosis->count && i < FINDINGS; i++)
			finding(out, &p->diagnosis->findings[i]);
		fputs("</ol>\n", out);
		if (p->diagnosis->count > FINDINGS)
			fprintf(out, "<p>... %u more (kymo diagnose --all)</p>\n",
				p->diagnosis->count - FINDINGS);
	}
	tables(out, &p->people, "kymo summary --all");
	lines(out, &p->people.foot);
	if (page_kernels_people(p->kernels)) {
		fputs("<h2>Kernels</h2>\n", out);
		tables(out, page_kernels_people(p->kernels), "kymo kernels --all");
		lines(out, &page_kernels_people(p->kernels)->foot);
	}
	if (p->comparison.with) {
		html_text(out, "<h2>Comparison with ", p->comparison.name, "</h2>\n");
		lines(out, &p->comparison.people.head);
		tables(out, &p->comparison.people, "kymo compare --all");
		lines(out, &p->comparison.people.foot);
	}
	fputs("</div>\n</noscript>\n", out);
}

/* ---- data -------------------------------------------------------------------------------------- */

/* JSON in which no tag can begin: it is the same text to whoever parses it. */
static void put_json(FILE *out, const char *s, size_t n)
{
	const char *end = s + n;

	while (s < end) {
		const char *sign = memchr(s, '<', (size_t)(end - s));
		size_t before = sign ? (size_t)(sign - s) : (size_t)(end - s);

		fwrite(s, 1, before, out);
		s += before;
		if (sign) {
			fputs("\\u003c", out);
			s++;
		}
	}
}

static void base64(const unsigned char *in, size_t n, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; n >= 3; n -= 3, in += 3) {
		uint32_t v = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];

		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = digits[v >> 6 & 63];
		*out++ = digits[v & 63];
	}
	if (n) {
		uint32_t v = (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0);

		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = n > 1 ? digits[v >> 6 & 63] : '=';
		*out++ = '=';
	}
}

/* The sections, one behind the other. False: they cannot be read back. */
static bool put_data(FILE *out, const struct sections *s)
{
	enum { PORTION = 3 << 14 };
	unsigned char *in = malloc(PORTION);
	char *text = malloc(PORTION / 3 * 4);
	uint64_t at = 0;
	bool ok = in && text;

	while (ok && at < s->end) {
		size_t n = s->end - at < PORTION ? (size_t)(s->end - at) : PORTION;
		ssize_t got = pread(s->fd, in, n, (off_t)at);

		if (got != (ssize_t)n) {
			errno = got < 0 ? errno : EIO;
			ok = false;
			break;
		}
		base64(in, n, text);
		ok = fwrite(text, 1, (n + 2) / 3 * 4, out) == (n + 2) / 3 * 4;
		at += n;
	}
	free(in);
	free(text);
	return ok;
}

/* ------------------------------------------------------------------------------------------------ */

/* `policy`: whoever serves the page says it as well, where it can say more. */
static void begin(FILE *out, const char *name, bool policy)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
	if (policy)
		fprintf(out,
			"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			"'none'; "
			"script-src '%s'; style-src '%s'; worker-src blob:; img-src data: blob:; "
			"base-uri 'none'; form-action 'none'\">\n",
			page_script.hash, page_style.hash);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n", out);
	html_text(out, "<title>", name, " - Kymo</title>\n<style>");
	fwrite(page_style.data, 1, page_style.bytes, out);
	fputs("</style>\n</head>\n<body>\n<div id=\"kymo\"></div>\n", out);
}

static void put_script(FILE *out)
{
	fputs("<script>", out);
	fwrite(page_script.data, 1, page_script.bytes, out);
	fputs("</script>\n</body>\n</html>\n", out);
}

void page_write_served(const char *name, FILE *out)
{
	begin(out, name, false);
	fputs("<noscript><p>The timeline needs JavaScript; kymo summary and kymo diagnose do "
	      "not.</p></noscript>\n",
	      out);
	put_script(out);
}

static uint64_t since(FILE *out, long *before)
{
	long now = ftell(out);
	uint64_t n = now > *before ? (uint64_t)(now - *before) : 0;

	*before = now;
	return n;
}

/* All in front of the data. */
static bool put_front(FILE *out, const struct page *p, struct page_bytes *bytes)
{
	size_t n = 0;
	char *head = page_head(p, NULL, &n);
	long at = 0;

	if (!head)
		return false;
	begin(out, page_title(p), true);
	bytes->bundle = since(out, &at);
	plain_part(out, p);
	bytes->tables = since(out, &at);
	fputs("<script type=\"application/json\" id=\"kymo-head\">", out);
	put_json(out, head, n);
	fputs("</script>\n<script type=\"application/octet-stream\" id=\"kymo-data\">", out);
	bytes->head = since(out, &at);
	free(head);
	return true;
}

static void put_end(FILE *out)
{
	fputs("</script>\n", out);
	put_script(out);
}

uint64_t page_size(const struct page *p)
{
	struct page_bytes bytes;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	bool ok = out && put_front(out, p, &bytes);

	if (ok)
		put_end(out);
	if (out && fclose(out) != 0)
		ok = false;
	free(text);
	return ok ? n + (p->encoded.sections.end + 2) / 3 * 4 : 0;
}

bool page_write(const struct page *p, FILE *out, struct page_bytes *bytes)
{
	long at;
	bool ok;

	if (!put_front(out, p, bytes)) {
		errno = ENOMEM;
		return false;
	}
	at = ftell(out);
	ok = put_data(out, &p->encoded.sections);
	bytes->data = since(out, &at);
	put_end(out);
	bytes->bundle += since(out, &at);
	return ok && fflush(out) == 0 && !ferror(out);
}
