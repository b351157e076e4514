/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a SQLite file, read without SQLite; see dbfile.h. */
#include "sql/dbfile.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { HEADER = 100, LEAF = 13, INTERIOR = 5, ROW_MAX = 64 << 20 };

static const char magic[16] = "SQLite format 3";

static uint32_t big16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t big32(const uint8_t *p)
{
	return big16(p) << 16 | big16(p + 2);
}

/* Of any length, near the end of a page. Returns the bytes that it took; 0: it reaches behind the end. */
static unsigned long_varint(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 9 && p + i < end; i++) {
		if (i == 8) {
			*out = v << 8 | p[i];
			return 9;
		}
		v = v << 7 | (p[i] & 0x7f);
		if (!(p[i] & 0x80)) {
			*out = v;
			return i + 1;
		}
	}
	return 0;
}

/* The same, of the one to three bytes that most have. */
static inline unsigned varint(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
	if (__builtin_expect(end - p < 3, 0))
		return long_varint(p, end, out);
	if (!(p[0] & 0x80)) {
		*out = p[0];
		return 1;
	}
	if (!(p[1] & 0x80)) {
		*out = (uint64_t)(p[0] & 0x7f) << 7 | p[1];
		return 2;
	}
	if (!(p[2] & 0x80)) {
		*out = (uint64_t)(p[0] & 0x7f) << 14 | (uint64_t)(p[1] & 0x7f) << 7 | p[2];
		return 3;
	}
	return long_varint(p, end, out);
}

/* ---- files ------------------------------------------------------------------------------------- */

static bool fail(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return false;
}

/* What another program has not brought into the file yet lies beside it. */
static bool has_beside(const char *path, const char *suffix)
{
	char name[4200];
	struct stat st;

	return snprintf(name, sizeof(name), "%s%s", path, suffix) < (int)sizeof(name) &&
	       stat(name, &st) == 0 && st.st_size > 0;
}

static bool check_header(struct dbfile *f, char *why, size_t size)
{
	uint32_t page = big16(f->data + 16);

	page = page == 1 ? 65536 : page;
	if (page < 512 || (page & (page - 1)))
		return fail(why, size, "damaged: its pages have no size that SQLite knows");
	if (page - f->data[20] < 480)
		return fail(why, size, "damaged: its pages have no room for rows");
	if (big32(f->data + 56) > 1)
		return fail(why, size, "its text is not UTF-8, which alone is read");
	f->page = page;
	f->usable = page - f->data[20];
	f->pages = (uint32_t)(f->size / page);
	if (!f->pages)
		return fail(why, size, "cut: it has no whole page");
	if (big32(f->data + 28) > f->pages && big32(f->data + 24) == big32(f->data + 92))
		f->missing = big32(f->data + 28) - f->pages;
	return true;
}

bool dbfile_open(struct dbfile *f, const char *path, char *why, size_t size)
{
	struct stat st;
	int fd = file_open_regular(path);
	void *data;
	bool ok;

	*f = (struct dbfile){0};
	if (fd < 0 || fstat(fd, &st) != 0) {
		fail(why, size, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	data = st.st_size < HEADER ? MAP_FAILED
				   : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return fail(why, size,
			    st.st_size < HEADER ? "cut: no SQLite file is so short"
						: strerror(errno));
	f->data = data;
	f->size = (size_t)st.st_size;
	ok = memcmp(data, magic, sizeof(magic)) == 0 ? check_header(f, why, size)
						     : fail(why, size, "not a SQLite file");
	if (ok && (has_beside(path, "-wal") || has_beside(path, "-journal")))
		ok = fail(
			why, size,
			"a file beside it (-wal or -journal) holds what is not in it yet: open it "
			"once with the program that wrote it, or with sqlite3");
	if (!ok)
		dbfile_close(f);
	return ok;
}

void dbfile_close(struct dbfile *f)
{
	if (f->data)
		munmap((void *)(uintptr_t)f->data, f->size);
	f->data = NULL;
}

/* In UTF-16, in either order of bytes. */
static bool says_wide(const char *data, size_t n, const char *word)
{
	char wide[64] = {0};
	size_t length = strlen(word);

	if (!length || 2 * length > sizeof(wide))
		return false;
	for (size_t i = 0; i < length; i++)
		wide[2 * i] = word[i];
	return memmem(data, n, wide, 2 * length - 1) != NULL;
}

static bool says(const char *data, ssize_t n, const char *word)
{
	return n > 0 &&
	       (memmem(data, (size_t)n, word, strlen(word)) || says_wide(data, (size_t)n, word));
}

enum { FIRST = 256 << 10 };

/* The schema of a file that was filled while tables were made: page 1 has only where its pages are, which may be far from here. */
static bool schema_says(int fd, const uint8_t *first, const char *word)
{
	const uint32_t page = big16(first + 16) == 1 ? 65536 : big16(first + 16);
	const uint32_t cells = big16(first + HEADER + 3);
	char *data = first[HEADER] == INTERIOR && page >= 512 ? malloc(page) : NULL;
	bool is = false;

	for (uint32_t i = 0; data && !is && i <= cells && HEADER + 12 + 2 * i + 2 <= page; i++) {
		const uint32_t at = i < cells ? big16(first + HEADER + 12 + 2 * i) : HEADER + 8;
		const uint32_t child = at + 4 <= page ? big32(first + at) : 0;

		is = child && says(data, pread(fd, data, page, (off_t)(child - 1) * page), word);
	}
	free(data);
	return is;
}

bool dbfile_probe(const char *path, const char *word)
{
	int fd = file_open_regular(path);
	char *data = fd >= 0 ? calloc(1, FIRST) : NULL;
	ssize_t n = data ? read(fd, data, FIRST) : 0;
	bool is = n >= (ssize_t)sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0 &&
		  (says(data, n, word) || schema_says(fd, (const uint8_t *)data, word));

	free(data);
	if (fd >= 0)
		close(fd);
	return is;
}

/* ---- pages ------------------------------------------------------------------------------------- */

/* Numbers begin with 1. NULL: there is no such page. */
static const uint8_t *page_at(const struct dbfile *f, uint32_t number)
{
	return number && number <= f->pages ? f->data + (size_t)(number - 1) * f->page : NULL;
}

/* Pages without rows are roots of tables that have none, and have no text of rows either. */
static bool is_empty(const struct dbfile *f, const struct dbnode *n)
{
	return n->type == INTERIOR || big16(n->head + 5) == (f->usable & 0xffff);
}

static bool read_node(const struct dbfile *f, uint32_t number, struct dbnode *n)
{
	unsigned head = number == 1 ? HEADER : 0;

	n->page = page_at(f, number);
	if (!n->page)
		return false;
	n->head = n->page + head;
	n->type = n->head[0];
	n->cells = big16(n->head + 3);
	n->cell_array = head + (n->type == INTERIOR ? 12 : 8);
	return (n->type == LEAF || n->type == INTERIOR) &&
	       n->cell_array + 2 * n->cells <= f->usable && (n->cells || is_empty(f, n));
}

/* NULL: it lies outside of the page. */
static const uint8_t *cell_at(const struct dbfile *f, const struct dbnode *n, unsigned i)
{
	uint32_t at = big16(n->page + n->cell_array + 2 * i);

	return at + 4 <= f->usable ? n->page + at : NULL;
}

static uint32_t child_of(const struct dbfile *f, const struct dbnode *n, unsigned i)
{
	const uint8_t *cell;

	if (i == n->cells)
		return big32(n->head + 8);
	cell = cell_at(f, n, i);
	return cell ? big32(cell) : 0;
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* The rest of a row lies in a chain of pages. */
static bool read_spill(struct dbwalk *w, const uint8_t *local, uint32_t here, uint64_t size)
{
	const struct dbfile *f = w->file;
	uint32_t next = big32(local + here), done = here;

	if (size > ROW_MAX || size > f->size)
		return false;
	if (w->spill_room < size) {
		uint8_t *more = realloc(w->spill, size);

		if (!more)
			return false;
		w->spill = more;
		w->spill_room = (uint32_t)size;
	}
	memcpy(w->spill, local, here);
	while (done < size) {
		const uint8_t *p = page_at(f, next);
		uint32_t n = (uint32_t)size - done;

		if (!p)
			return false;
		n = n < f->usable - 4 ? n : f->usable - 4;
		memcpy(w->spill + done, p + 4, n);
		next = big32(p);
		done += n;
	}
	w->row = w->spill;
	return true;
}

/* How much of a row of that size lies in the page. */
static uint32_t local_size(const struct dbfile *f, uint64_t size)
{
	uint32_t most = f->usable - 35, least = (f->usable - 12) * 32 / 255 - 23, k;

	if (size <= most)
		return (uint32_t)size;
	k = least + (uint32_t)((size - least) % (f->usable - 4));
	return k <= most ? k : least;
}

static bool read_cell(struct dbwalk *w, const struct dbnode *n, unsigned i)
{
	const struct dbfile *f = w->file;
	const uint8_t *p = cell_at(f, n, i), *end = n->page + f->usable;
	uint64_t size, id;
	unsigned took;
	uint32_t here;

	if (!p || !(took = varint(p, end, &size)))
		return false;
	p += took;
	took = varint(p, end, &id);
	if (!took)
		return false;
	p += took;
	here = local_size(f, size);
	w->id = (int64_t)id;
	w->row_size = (uint32_t)size;
	if (here == size) {
		w->row = p;
		return here <= (size_t)(end - p);
	}
	return here + 4 <= (size_t)(end - p) && read_spill(w, p, here, size);
}

/* ---- walks ------------------------------------------------------------------------------------- */

void dbwalk_init(struct dbwalk *w, struct dbfile *f, uint32_t root)
{
	*w = (struct dbwalk){.file = f, .root = root, .depth = 0, .page = {root}};
}

void dbwalk_release(struct dbwalk *w)
{
	free(w->spill);
	*w = (struct dbwalk){.depth = -1};
}

static void damage(struct dbwalk *w)
{
	w->file->damaged++;
}

/* Up from a page that is done, to the next cell of the one above. */
static void leave_page(struct dbwalk *w)
{
	w->leaf.page = NULL;
	if (--w->depth >= 0)
		w->cell[w->depth]++;
}

static void enter_child(struct dbwalk *w, uint32_t child)
{
	if (w->depth + 1 >= DBFILE_DEPTH || ++w->visited > w->file->pages) {
		damage(w);
		w->depth = w->visited > w->file->pages ? -1 : w->depth;
		if (w->depth >= 0)
			w->cell[w->depth]++;
		return;
	}
	w->depth++;
	w->page[w->depth] = child;
	w->cell[w->depth] = 0;
}

/* The next row of the leaf that it stands on; false: there is no more. */
static bool next_of_leaf(struct dbwalk *w)
{
	while (w->cell[w->depth] < w->leaf.cells) {
		if (read_cell(w, &w->leaf, w->cell[w->depth]++))
			return true;
		damage(w);
	}
	return false;
}

bool dbwalk_next(struct dbwalk *w)
{
	if (w->leaf.page && next_of_leaf(w))
		return true;
	while (w->depth >= 0) {
		struct dbnode n;
		unsigned at = w->cell[w->depth];

		w->leaf.page = NULL;
		if (!read_node(w->file, w->page[w->depth], &n)) {
			damage(w);
			leave_page(w);
		} else if (at >= n.cells + (n.type == INTERIOR)) {
			leave_page(w);
		} else if (n.type == INTERIOR) {
			enter_child(w, child_of(w->file, &n, at));
		} else {
			w->leaf = n;
			if (next_of_leaf(w))
				return true;
		}
	}
	return false;
}

/* The key of a cell, as far as it can be read. */
static bool cell_key(const struct dbfile *f, const struct dbnode *n, unsigned i, int64_t *key)
{
	const uint8_t *p = cell_at(f, n, i), *end = n->page + f->usable;
	uint64_t v;
	unsigned took;

	if (!p)
		return false;
	if (n->type == INTERIOR) {
		p += 4;
	} else {
		took = varint(p, end, &v);
		if (!took)
			return false;
		p += took;
	}
	if (!varint(p, end, &v))
		return false;
	*key = (int64_t)v;
	return true;
}

/* The first cell whose key is not below; the number of cells: none. */
static unsigned find_cell(const struct dbfile *f, const struct dbnode *n, int64_t id)
{
	unsigned lo = 0, hi = n->cells;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		int64_t key;

		if (!cell_key(f, n, mid, &key))
			return n->cells;
		if (key < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The next row is what is looked for, mostly, or one near it, where ids have no gaps. */
static bool is_near(struct dbwalk *w, int64_t id)
{
	int64_t key, at;

	if (!w->leaf.page || __builtin_sub_overflow(id, w->id, &at) ||
	    __builtin_add_overflow(at, w->cell[w->depth] - 1, &at))
		return false;
	if (at < 0 || at >= w->leaf.cells || !cell_key(w->file, &w->leaf, (unsigned)at, &key) ||
	    key != id)
		return false;
	w->cell[w->depth] = (uint16_t)(at + 1);
	return read_cell(w, &w->leaf, (unsigned)at);
}

bool dbwalk_seek(struct dbwalk *w, int64_t id)
{
	struct dbnode n;
	unsigned at;

	if (is_near(w, id))
		return true;
	w->depth = 0;
	w->visited = 0;
	w->page[0] = w->root;
	w->leaf.page = NULL;
	for (;;) {
		int64_t key;

		if (!read_node(w->file, w->page[w->depth], &n))
			return false;
		at = find_cell(w->file, &n, id);
		w->cell[w->depth] = (uint16_t)at;
		if (n.type == LEAF) {
			if (at >= n.cells || !cell_key(w->file, &n, at, &key) || key != id)
				return false;
			w->cell[w->depth]++;
			w->leaf = n;
			return read_cell(w, &n, at);
		}
		if (w->depth + 1 >= DBFILE_DEPTH)
			return false;
		w->page[w->depth + 1] = child_of(w->file, &n, at);
		w->depth++;
	}
}

/* ---- values ------------------------------------------------------------------------------------ */

/* Of 1, 2, 3, 4, 6 or 8 bytes. */
static int64_t signed_of(const uint8_t *p, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return (int8_t)p[0];
	case 2:
		return (int16_t)big16(p);
	case 3:
		return (int64_t)(int8_t)p[0] * 0x10000 + big16(p + 1);
	case 4:
		return (int32_t)big32(p);
	case 6:
		return (int64_t)(int16_t)big16(p) * 0x100000000 + big32(p + 2);
	default:
		return (int64_t)((uint64_t)big32(p) << 32 | big32(p + 4));
	}
}

static void take_real(struct dbvalue *v, const uint8_t *p)
{
	uint64_t bits = (uint64_t)big32(p) << 32 | big32(p + 4);

	v->type = DB_REAL;
	memcpy(&v->real, &bits, sizeof(bits));
	v->integer = v->real > -9.2e18 && v->real < 9.2e18 ? (int64_t)v->real : 0;
}

/* Bytes of a value. */
static inline uint64_t size_of_type(uint64_t type)
{
	static const uint8_t sizes[12] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

	return type < 12 ? sizes[type] : (type - 12) / 2;
}

/* The same of types that take one byte, as most do. */
#define FOUR(first)    (first), (first), (first) + 1, (first) + 1
#define SIXTEEN(first) FOUR(first), FOUR((first) + 2), FOUR((first) + 4), FOUR((first) + 6)
static const uint8_t short_sizes[128] = {
	0,           1,           2,           3,           4,           6,          8,
	8,           0,           0,           0,           0,           FOUR(0),    SIXTEEN(2),
	SIXTEEN(10), SIXTEEN(18), SIXTEEN(26), SIXTEEN(34), SIXTEEN(42), SIXTEEN(50)};
#undef SIXTEEN
#undef FOUR

/* An integer of `size` bytes, where the row has `left`. */
static inline int64_t integer_of(const uint8_t *p, uint64_t size, uint64_t left)
{
	uint64_t bits;

	if (left < sizeof(bits))
		return signed_of(p, (unsigned)size);
	memcpy(&bits, p, sizeof(bits));
	return (int64_t)be64toh(bits) >> (64 - 8 * size);
}

static inline void take_value(struct dbvalue *v, uint64_t type, uint64_t size, const uint8_t *p,
			      uint64_t left)
{
	*v = (struct dbvalue){0};
	if (type >= 12) {
		v->type = type & 1 ? DB_TEXT : DB_BLOB;
		v->text = (const char *)p;
		v->length = (uint32_t)size;
	} else if (type - 1 < 6) {
		v->type = DB_INTEGER;
		v->integer = integer_of(p, size, left);
	} else if (type == 8 || type == 9) {
		v->type = DB_INTEGER;
		v->integer = (int64_t)type - 8;
	} else if (type == 7) {
		take_real(v, p);
	}
}

bool dbwalk_values(struct dbwalk *w, struct dbvalue *values, uint64_t wanted)
{
	const uint8_t *row = w->row, *p = row, *types_end;
	uint64_t at, whole = w->row_size, type, size;
	unsigned took = varint(p, row + whole, &at);

	if (!took || at > whole || at < took)
		return false;
	types_end = row + at;
	for (p += took; wanted && p < types_end; values++, wanted >>= 1) {
		type = *p;
		if (__builtin_expect(type < 128, 1)) {
			size = short_sizes[type];
			p++;
		} else {
			took = varint(p, types_end, &type);
			size = size_of_type(type);
			if (!took || size > whole)
				return false;
			p += took;
		}
		if (wanted & 1) {
			if (at + size > whole)
				return false;
			take_value(values, type, size, row + at, whole - at);
		}
		at += size; /* of at most DBFILE_COLUMNS: cannot wrap */
	}
	for (; wanted; values++, wanted >>= 1)
		if (wanted & 1)
			*values = (struct dbvalue){0};
	return true;
}

/* ---- columns ----------------------------------------------------------------------------------- */

static bool is_constraint(const char *word)
{
	static const char *const words[] = {"FOREIGN", "PRIMARY", "UNIQUE", "CHECK", "CONSTRAINT"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasecmp(words[i], word) == 0)
			return true;
	return false;
}

struct text_cursor {
	const char *p, *end;
};

/* Behind a quoted name or text, which begins at p. */
static void skip_quoted(struct text_cursor *c)
{
	char close = *c->p == '[' ? ']' : *c->p;

	for (c->p++; c->p < c->end && *c->p != close; c->p++)
		;
	if (c->p < c->end)
		c->p++;
}

static void skip_blank(struct text_cursor *c)
{
	while (c->p < c->end) {
		if (c->p + 1 < c->end && c->p[0] == '-' && c->p[1] == '-')
			while (c->p < c->end && *c->p != '\n')
				c->p++;
		else if (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r')
			c->p++;
		else
			return;
	}
}

/* To the comma behind a definition; false: it was the last one. */
static bool skip_definition(struct text_cursor *c)
{
	int depth = 0;

	while (c->p < c->end) {
		skip_blank(c);
		if (c->p >= c->end)
			return false;
		if (strchr("\"'`[", *c->p)) {
			skip_quoted(c);
			continue;
		}
		depth += *c->p == '(' ? 1 : *c->p == ')' ? -1 : 0;
		if (depth < 0)
			return false;
		if (*c->p++ == ',' && !depth)
			return true;
	}
	return false;
}

static size_t take_name(struct text_cursor *c, const char **name)
{
	bool quoted = strchr("\"'`[", *c->p) != NULL;

	*name = c->p + quoted;
	if (quoted) {
		skip_quoted(c);
		return (size_t)(c->p - *name) - 1;
	}
	while (c->p < c->end && !strchr(" \t\r\n,()", *c->p))
		c->p++;
	return (size_t)(c->p - *name);
}

unsigned dbfile_columns(const char *sql, size_t length, char *room, size_t size, const char **names,
			unsigned most)
{
	const char *open = memchr(sql, '(', length), *name;
	struct text_cursor c = {open ? open + 1 : sql + length, sql + length};
	unsigned count = 0;
	size_t used = 0;

	while (count < most) {
		size_t n;

		skip_blank(&c);
		if (c.p >= c.end)
			break;
		n = take_name(&c, &name);
		if (n + 1 > size - used || n > length)
			break;
		memcpy(room + used, name, n);
		room[used + n] = '\0';
		if (!is_constraint(room + used)) {
			names[count++] = room + used;
			used += n + 1;
		}
		if (!skip_definition(&c))
			break;
	}
	return count;
}
