/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of tables, filled one after the other; see dbappend.h. */
#include "sql/dbappend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum { LEAF = 0x0d, INTERIOR = 0x05 };
enum { LEAF_HEADER = 8, INTERIOR_HEADER = 12 };
#define LOCK_BYTE 0x40000000u /* its page is left alone */

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned varint_length(uint64_t v)
{
	unsigned n = 1;

	while (n < 9 && v >> 7 * n)
		n++;
	return n;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	unsigned n = varint_length(v);

	if (n == 9) {
		p[8] = (uint8_t)v;
		v >>= 8;
		for (int i = 7; i >= 0; i--, v >>= 7)
			p[i] = (uint8_t)(v | 0x80);
		return p + 9;
	}
	for (unsigned i = n; i-- > 0; v >>= 7)
		p[i] = (uint8_t)((v & 0x7f) | (i + 1 < n ? 0x80 : 0));
	return p + n;
}

/* ---- the file ---------------------------------------------------------------------------------- */

static bool failed(struct dbpages *p, int error)
{
	p->error = p->error ? p->error : error ? error : EIO;
	return false;
}

bool dbpages_open(struct dbpages *p, const char *path)
{
	uint8_t header[100];

	*p = (struct dbpages){.fd = open(path, O_RDWR | O_CLOEXEC)};
	if (p->fd < 0 || pread(p->fd, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return failed(p, errno);
	p->size = (uint32_t)header[16] << 8 | header[17];
	p->size = p->size == 1 ? 65536 : p->size;
	p->count = get32(header + 28);
	return true;
}

bool dbpages_close(struct dbpages *p)
{
	uint8_t counter[4], count[4];
	bool ok = p->fd >= 0 && !p->error && pread(p->fd, counter, 4, 24) == 4;

	put32(counter, get32(counter) + 1);
	put32(count, p->count);
	ok = ok && pwrite(p->fd, counter, 4, 24) == 4 && pwrite(p->fd, count, 4, 28) == 4 &&
	     pwrite(p->fd, counter, 4, 92) == 4;
	if (!ok)
		failed(p, errno);
	if (p->fd >= 0 && close(p->fd) != 0)
		ok = failed(p, errno);
	p->fd = -1;
	return ok;
}

static uint32_t page_new(struct dbpages *p)
{
	p->count++;
	if (p->count == LOCK_BYTE / p->size + 1)
		p->count++;
	return p->count;
}

static bool page_write(struct dbpages *p, uint32_t page, const uint8_t *data)
{
	size_t done = 0;

	while (done < p->size) {
		ssize_t n = pwrite(p->fd, data + done, p->size - done,
				   (off_t)((uint64_t)(page - 1) * p->size + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return failed(p, errno);
		done += (size_t)n;
	}
	return true;
}

/* ---- pages of a level -------------------------------------------------------------------------- */

struct dbappend_level {
	uint32_t cells, content; /* content: where the last cell begins */
	int64_t last;            /* greatest id below; of interior ones: of `right` */
	uint32_t right;          /* page of the last child */
	int64_t before;          /* id of the last cell */
	uint8_t page[];
};

static struct dbappend_level *level_of(struct dbappend *a, unsigned depth)
{
	struct dbappend_level *l;

	if (depth >= DBAPPEND_LEVELS)
		return NULL;
	l = a->level[depth];
	if (!l) {
		l = a->level[depth] = calloc(1, sizeof(*l) + a->pages->size);
		if (l)
			l->content = a->pages->size;
	}
	if (!l)
		failed(a->pages, ENOMEM);
	return l;
}

static unsigned header_of(unsigned depth)
{
	return depth ? INTERIOR_HEADER : LEAF_HEADER;
}

static bool level_write(struct dbappend *a, unsigned depth, uint32_t page)
{
	struct dbappend_level *l = a->level[depth];
	uint8_t *end = l->page + header_of(depth) + 2 * (size_t)l->cells;

	l->page[0] = depth ? INTERIOR : LEAF;
	put16(l->page + 1, 0);
	put16(l->page + 3, l->cells);
	put16(l->page + 5, l->content);
	l->page[7] = 0;
	if (depth)
		put32(l->page + 8, l->right);
	memset(end, 0, (size_t)(l->page + l->content - end));
	return page_write(a->pages, page, l->page);
}

static bool has_room(const struct dbappend_level *l, unsigned depth, uint32_t size)
{
	return header_of(depth) + 2 * (l->cells + 1) + size <= l->content;
}

/* Where a cell of that many bytes is to be written. */
static uint8_t *cell_add(struct dbappend_level *l, unsigned depth, uint32_t size)
{
	l->content -= size;
	put16(l->page + header_of(depth) + 2 * (size_t)l->cells++, l->content);
	return l->page + l->content;
}

static void child_cell(struct dbappend_level *l, unsigned depth, uint32_t child, int64_t id)
{
	uint8_t *p = cell_add(l, depth, 4 + varint_length((uint64_t)id));

	put32(p, child);
	put_varint(p + 4, (uint64_t)id);
	l->before = id;
}

static bool child_add(struct dbappend *a, unsigned depth, uint32_t child, int64_t id);

/*
 * A full page of children goes out without its last one: that begins the next page, which has two then, as
 * none may have one alone.
 */
static bool children_out(struct dbappend *a, unsigned depth)
{
	struct dbappend_level *l = a->level[depth];
	uint32_t right = l->right, page = page_new(a->pages);
	int64_t last = l->last, before = l->before;

	l->right = get32(l->page + l->content);
	l->content += 4 + varint_length((uint64_t)before);
	l->cells--;
	if (!level_write(a, depth, page) || !child_add(a, depth + 1, page, before))
		return false;
	l->cells = 0;
	l->content = a->pages->size;
	l->right = right;
	l->last = last;
	return true;
}

static bool child_add(struct dbappend *a, unsigned depth, uint32_t child, int64_t id)
{
	struct dbappend_level *l = level_of(a, depth);

	if (!l)
		return false;
	if (l->right && !has_room(l, depth, 4 + varint_length((uint64_t)l->last)) &&
	    !children_out(a, depth))
		return false;
	if (l->right)
		child_cell(l, depth, l->right, l->last);
	l->right = child;
	l->last = id;
	return true;
}

static bool leaf_out(struct dbappend *a)
{
	struct dbappend_level *l = a->level[0];
	uint32_t page = page_new(a->pages);

	if (!level_write(a, 0, page) || !child_add(a, 1, page, l->last))
		return false;
	l->cells = 0;
	l->content = a->pages->size;
	return true;
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* A row as it is stored: types of the columns, then their values. */
struct record {
	uint8_t head[DBAPPEND_COLUMNS * 5 + 9];
	uint32_t head_length, types[DBAPPEND_COLUMNS], lengths[DBAPPEND_COLUMNS];
	uint64_t length;
};

static uint32_t type_of(int64_t v, uint32_t *length)
{
	static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8};

	*length = 0;
	if (v == 0 || v == 1)
		return 8 + (uint32_t)v;
	for (uint32_t i = 1; i < 6; i++) {
		int64_t most = INT64_C(1) << (8 * sizes[i] - 1);

		*length = sizes[i];
		if (v >= -most && v < most)
			return i;
	}
	*length = 8;
	return 6;
}

static uint32_t cell_type(const struct dbappend *a, unsigned cell, uint32_t *length)
{
	int64_t v = a->cells[cell];

	*length = 0;
	if (v == DBAPPEND_NULL)
		return 0;
	if (a->texts >> cell & 1) {
		*length = (uint32_t)strlen((const char *)(intptr_t)v);
		return 2 * *length + 13;
	}
	if (!(a->reals >> cell & 1))
		return type_of(v, length);
	*length = 8;
	return 7;
}

static void measure(const struct dbappend *a, struct record *r)
{
	uint8_t *p = r->head + 1;

	r->length = 0;
	for (unsigned i = 0; i < a->columns; i++) {
		int cell = a->column[i].cell;

		r->types[i] = a->column[i].type;
		r->lengths[i] = a->column[i].length;
		if (cell >= 0)
			r->types[i] = cell_type(a, (unsigned)cell, &r->lengths[i]);
		p = put_varint(p, r->types[i]);
		r->length += r->lengths[i];
	}
	r->head_length = (uint32_t)(p - r->head);
	if (r->head_length > 127) { /* its own length takes two bytes */
		memmove(r->head + 2, r->head + 1, r->head_length - 1);
		r->head_length++;
	}
	put_varint(r->head, r->head_length);
	r->length += r->head_length;
}

static uint8_t *put_column(const struct dbappend *a, const struct record *r, unsigned i, uint8_t *p)
{
	int cell = a->column[i].cell;
	uint64_t v;

	if (cell < 0) {
		memcpy(p, a->column[i].bytes, r->lengths[i]);
		return p + r->lengths[i];
	}
	if (r->types[i] >= 13) {
		memcpy(p, (const char *)(intptr_t)a->cells[cell], r->lengths[i]);
		return p + r->lengths[i];
	}
	v = (uint64_t)a->cells[cell];
	for (uint32_t k = r->lengths[i]; k-- > 0; v >>= 8)
		p[k] = (uint8_t)v;
	return p + r->lengths[i];
}

static void put_record(const struct dbappend *a, const struct record *r, uint8_t *p)
{
	memcpy(p, r->head, r->head_length);
	p += r->head_length;
	for (unsigned i = 0; i < a->columns; i++)
		if (r->lengths[i])
			p = put_column(a, r, i, p);
}

/* So much of a record lies in its page; the rest in pages of its own. */
static uint32_t local_part(uint64_t length, uint32_t size)
{
	uint64_t most = size - 35, least = (size - 12) * 32 / 255 - 23;
	uint64_t kept = least + (length - least) % (size - 4);

	return (uint32_t)(length <= most ? length : kept <= most ? kept : least);
}

/* The rest of a record, page after page. Returns the first; 0: failed. */
static uint32_t put_rest(struct dbappend *a, const uint8_t *data, uint64_t length)
{
	uint32_t first = page_new(a->pages), page = first, size = a->pages->size;
	uint8_t *out = malloc(size);
	bool ok = out != NULL;

	while (ok && length) {
		uint32_t n = length < size - 4 ? (uint32_t)length : size - 4;
		uint32_t next = length > n ? page_new(a->pages) : 0;

		put32(out, next);
		memcpy(out + 4, data, n);
		memset(out + 4 + n, 0, size - 4 - n);
		ok = page_write(a->pages, page, out);
		data += n;
		length -= n;
		page = next;
	}
	free(out);
	return ok ? first : 0;
}

static bool put_long(struct dbappend *a, const struct record *r, uint8_t *cell, uint32_t local)
{
	uint8_t *whole = malloc(r->length);
	uint32_t rest = 0;

	if (whole) {
		put_record(a, r, whole);
		memcpy(cell, whole, local);
		rest = put_rest(a, whole + local, r->length - local);
		put32(cell + local, rest);
	}
	free(whole);
	return rest || failed(a->pages, ENOMEM);
}

static bool put_row(struct dbappend *a)
{
	struct dbappend_level *l = level_of(a, 0);
	uint64_t id = (uint64_t)a->cells[0];
	struct record r = {0};
	uint32_t local, size;
	uint8_t *p;

	if (!l)
		return false;
	measure(a, &r);
	local = local_part(r.length, a->pages->size);
	size = varint_length(r.length) + varint_length(id) + local + (local < r.length ? 4 : 0);
	if (!has_room(l, 0, size) && !leaf_out(a))
		return false;
	p = put_varint(put_varint(cell_add(l, 0, size), r.length), id);
	l->last = (int64_t)id;
	if (local < r.length)
		return put_long(a, &r, p, local);
	put_record(a, &r, p);
	return true;
}

int64_t *dbappend_row(struct dbappend *a)
{
	if (a->row && !put_row(a))
		return NULL;
	a->row = true;
	a->used = 0;
	return a->cells;
}

/* The level above which there is none lies in the table's root, which SQLite has made. */
bool dbappend_finish(struct dbappend *a)
{
	unsigned depth = 0;

	if (!a->row)
		return true;
	if (!put_row(a))
		return false;
	a->row = false;
	for (; depth + 1 < DBAPPEND_LEVELS && a->level[depth + 1]; depth++) {
		struct dbappend_level *l = a->level[depth];
		uint32_t page = page_new(a->pages);

		if (!level_write(a, depth, page) || !child_add(a, depth + 1, page, l->last))
			return false;
	}
	return level_write(a, depth, a->root);
}

/* ---- columns ----------------------------------------------------------------------------------- */

/* Number of the column among those with commas; -1: it is not there. */
static int place_in(const char *columns, const char *name)
{
	size_t n = strlen(name);
	int at = 0;

	for (;; at++) {
		size_t length = strcspn(columns, ",");

		if (length == n && memcmp(columns, name, n) == 0)
			return at;
		if (!columns[length])
			return -1;
		columns += length + 1;
	}
}

/* What the table says that a column has: NULL, a number or a text in quotes. */
static bool set_default(struct dbappend *a, unsigned i, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	int64_t number = text ? strtoll(text, NULL, 10) : 0;

	if (!n || strcmp(text, "NULL") == 0)
		return true;
	if (text[0] != '\'' && text[0] != '"') {
		a->column[i].type = type_of(number, &a->column[i].length);
		a->column[i].bytes = calloc(1, 8);
		for (uint32_t k = a->column[i].length; a->column[i].bytes && k-- > 0; number >>= 8)
			a->column[i].bytes[k] = (char)number;
		return a->column[i].bytes != NULL;
	}
	a->column[i].length = (uint32_t)n - 2;
	a->column[i].type = 2 * a->column[i].length + 13;
	a->column[i].bytes = strndup(text + 1, n - 2);
	return a->column[i].bytes != NULL;
}

static bool find_columns(struct dbappend *a, sqlite3 *db, const struct dbappend_table *t)
{
	struct text sql = {0};
	sqlite3_stmt *s = NULL;
	bool ok;

	text_addf(&sql, "SELECT name, dflt_value, pk FROM pragma_table_info('%s') ORDER BY cid",
		  t->name);
	ok = !sql.failed && sqlite3_prepare_v2(db, sql.s, -1, &s, NULL) == SQLITE_OK;
	while (ok && sqlite3_step(s) == SQLITE_ROW) {
		int cell = place_in(t->columns, (const char *)sqlite3_column_text(s, 0));
		bool is_id = sqlite3_column_int(s, 2) != 0;

		if (a->columns == DBAPPEND_COLUMNS)
			break;
		a->column[a->columns].cell = is_id ? -1 : cell;
		ok = is_id || cell >= 0 ||
		     set_default(a, a->columns, (const char *)sqlite3_column_text(s, 1));
		a->columns++;
	}
	sqlite3_finalize(s);
	text_release(&sql);
	return ok && a->columns;
}

static bool find_root(struct dbappend *a, sqlite3 *db, const struct dbappend_table *t)
{
	static const char sql[] = "SELECT rootpage FROM sqlite_master WHERE name = ?";
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_text(s, 1, t->name, -1, SQLITE_STATIC);
		if (sqlite3_step(s) == SQLITE_ROW)
			a->root = (uint32_t)sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	return a->root != 0;
}

bool dbappend_init(struct dbappend *a, struct dbpages *pages, sqlite3 *db,
		   const struct dbappend_table *t)
{
	*a = (struct dbappend){.pages = pages, .reals = t->reals, .texts = t->texts};
	a->room = malloc(2 * DBAPPEND_TEXT_MAX);
	return a->room && find_columns(a, db, t) && find_root(a, db, t);
}

void dbappend_release(struct dbappend *a)
{
	for (unsigned i = 0; i < a->columns; i++)
		free(a->column[i].bytes);
	for (unsigned i = 0; i < DBAPPEND_LEVELS; i++)
		free(a->level[i]);
	free(a->room);
	*a = (struct dbappend){0};
}
