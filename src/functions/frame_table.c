/* SPDX-License-Identifier: Apache-2.0 */
/* Writing call frame information; see frame_table.h. The instructions of an entry: frame_rules.c. */
#include "functions/frame_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "functions/entries.h"
#include "functions/frame_rules.h"

enum {
	HEAD = 12, /* bytes of the table before its rows */
	ROW = 8,
	ALIGN = 8
};

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- reading ---- */

/* Numbers of one width, which can be written again; relative to themselves, or the same everywhere. */
static unsigned width_of(unsigned encoding)
{
	unsigned base = encoding & ENTRY_BASE;

	if (base && base != ENTRY_PC_RELATIVE)
		return 0;
	switch (encoding & ENTRY_FORM) {
	case 0x03:
	case 0x0b:
		return 4;
	case 0x00:
	case 0x04:
	case 0x0c:
		return 8;
	default:
		return 0;
	}
}

/* Absolute addresses of a file that is loaded anywhere are the loader's to correct, where they are now. */
static bool can_move(const struct image *m, const struct entry_common *c)
{
	const unsigned kinds[] = {c->pointers, c->pads, c->personality};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i] != ENTRY_OMIT &&
		    (!width_of(kinds[i]) || (m->kind != ET_EXEC && !(kinds[i] & ENTRY_BASE))))
			return false;
	return !(c->pointers & ENTRY_INDIRECT);
}

static bool add_row(struct frame_table *t, const struct image *m, uint64_t at,
		    const struct entry *e)
{
	struct entry_common common;
	struct entry_function f;

	if (!entry_common(&t->part, e->common, &common) || !can_move(m, &common))
		return false;
	if (e->common == at)
		return true;
	if (!entry_function(e, &common, &f) || !vec_reserve(&t->rows, &t->room, t->count, 1))
		return false;
	t->rows[t->count++] = (struct frame_row){f.at, f.bytes, at};
	return true;
}

/* Some linkers leave ends of lists between entries. `to`: where the last one ends. */
static bool read_rows(struct frame_table *t, const struct image *m, bool section, uint64_t *to)
{
	uint64_t at = 0;
	struct entry e;

	*to = 0;
	while (t->part.size - at >= 4) {
		if (memcmp(t->part.bytes + at, "\0\0\0\0", 4) == 0) {
			if (!section)
				return true;
			at += 4;
			continue;
		}
		if (!entry_at(&t->part, at, &e) || !add_row(t, m, at, &e))
			return false;
		*to = at = e.next;
	}
	return true;
}

/* Whoever searches takes the last that begins at an address: not an empty one. */
static int by_address(const void *a, const void *b)
{
	const struct frame_row *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
			      : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* How many functions the file's own table has. */
static uint64_t rows_of(const struct image *m)
{
	struct cursor c = cursor_of(&m->frame_header, 0);
	unsigned where, count;

	if (cursor_fixed(&c, 1) != 1)
		return UINT64_MAX;
	where = (unsigned)cursor_fixed(&c, 1);
	count = (unsigned)cursor_fixed(&c, 1);
	cursor_fixed(&c, 1);
	cursor_value(&c, where);
	return count == ENTRY_OMIT ? 0 : c.bad ? UINT64_MAX : cursor_value(&c, count);
}

bool frame_table_open(struct frame_table *t, const struct image *m)
{
	struct image_part section;
	bool by_section = image_find_section(m, ".eh_frame", &section) && section.size;
	uint64_t to;

	*t = (struct frame_table){0};
	if (!m->frame_header.size || !entries_find(m, &t->part) ||
	    !read_rows(t, m, by_section, &to) || !t->count || t->count < rows_of(m))
		return false;
	t->part.size = to;
	qsort(t->rows, t->count, sizeof(*t->rows), by_address);
	return true;
}

void frame_table_release(struct frame_table *t)
{
	free(t->rows);
	*t = (struct frame_table){0};
}

/* ---- writing ---- */

struct writing {
	const struct frame_table *t;
	struct text *out;
	size_t start;          /* of the table in `out` */
	uint64_t at;           /* its address */
	uint64_t entries;      /* address of the entries */
	struct frame_row *all; /* addresses of entries, in place of offsets */
	uint32_t count;
};

static uint8_t *byte_at(const struct writing *w, uint64_t at)
{
	return (uint8_t *)w->out->s + w->start + (at - w->at);
}

static uint64_t here(const struct writing *w)
{
	return w->at + (w->out->length - w->start);
}

/* `value` as `encoding` has it at address `at`. */
static bool encode(uint8_t *p, unsigned encoding, uint64_t at, uint64_t value)
{
	uint64_t v = (encoding & ENTRY_BASE) == ENTRY_PC_RELATIVE ? value - at : value;
	unsigned width = width_of(encoding);

	memcpy(p, &v, width);
	return width == 8 || v == ((encoding & ENTRY_FORM) == 0x03 ? (uint64_t)(uint32_t)v
								   : (uint64_t)(int32_t)v);
}

/* What was relative to its old place. */
static bool move_pointer(struct writing *w, unsigned encoding, uint64_t old)
{
	struct cursor c = cursor_of(&w->t->part, old - w->t->part.at);
	uint64_t at = w->entries + (old - w->t->part.at), value;

	if (encoding == ENTRY_OMIT)
		return true;
	value = cursor_pointer(&c, encoding & ~(unsigned)ENTRY_INDIRECT);
	return !value || encode(byte_at(w, at), encoding, at, value);
}

static bool move_entry(struct writing *w, uint64_t at, const struct entry *e)
{
	struct entry_common common;
	struct entry_function f;

	entry_common(&w->t->part, e->common, &common);
	if (e->common == at)
		return move_pointer(w, common.personality, common.personality_at);
	entry_function(e, &common, &f);
	return move_pointer(w, common.pointers, e->rest.at) &&
	       (!f.pads || move_pointer(w, common.pads, f.pads_at));
}

static bool copy_entries(struct writing *w)
{
	const struct image_part *p = &w->t->part;
	uint64_t at = 0;
	struct entry e;

	text_add_bytes(w->out, (const char *)p->bytes, p->size);
	if (w->out->failed)
		return false;
	while (p->size - at >= 4) {
		if (memcmp(p->bytes + at, "\0\0\0\0", 4) == 0) {
			at += 4;
			continue;
		}
		if (!entry_at(p, at, &e) || !move_entry(w, at, &e))
			return false;
		at = e.next;
	}
	return true;
}

static const struct frame_row *row_of(const struct frame_table *t, uint64_t at)
{
	uint32_t low = 0, high = t->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->rows[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low && at - t->rows[low - 1].at < t->rows[low - 1].bytes ? &t->rows[low - 1] : NULL;
}

static void put32(struct writing *w, uint64_t value)
{
	uint32_t v = (uint32_t)value;

	text_add_bytes(w->out, (const char *)&v, sizeof(v));
}

static bool put_pointer(struct writing *w, unsigned encoding, uint64_t value)
{
	uint8_t bytes[8] = {0};
	bool ok = encode(bytes, encoding, here(w), value);

	text_add_bytes(w->out, (const char *)bytes, width_of(encoding));
	return ok;
}

/* It has no landing pads: what is moved calls nothing from where it is. */
static bool add_entry(struct writing *w, const struct frame_moved *m, const struct frame_row *row)
{
	struct entry_common common;
	struct entry_function f;
	uint64_t begin = here(w), length;
	struct entry e;
	bool ok;

	entry_at(&w->t->part, row->entry, &e);
	entry_common(&w->t->part, e.common, &common);
	entry_function(&e, &common, &f);
	put32(w, 0);
	put32(w, here(w) - (w->entries + e.common));
	ok = put_pointer(w, common.pointers, m->at) &&
	     put_pointer(w, common.pointers & ENTRY_FORM, m->bytes);
	if (common.augmented) {
		unsigned width = common.pads == ENTRY_OMIT ? 0 : width_of(common.pads);

		text_add_bytes(w->out, (const char *)&(uint8_t){(uint8_t)width}, 1);
		text_add_bytes(w->out, "\0\0\0\0\0\0\0\0", width);
	}
	frame_rules_add(w->out, &common, &f, m);
	while (here(w) % ALIGN)
		text_add_bytes(w->out, "", 1); /* DW_CFA_nop */
	if (w->out->failed)
		return false;
	length = here(w) - begin - 4;
	memcpy(byte_at(w, begin), &length, 4);
	w->all[w->count++] = (struct frame_row){m->at, m->bytes, begin};
	return ok;
}

static bool write_header(struct writing *w)
{
	static const uint8_t kinds[] = {1, 0x1b, 0x03, 0x3b};
	uint8_t *p = byte_at(w, w->at);

	memcpy(p, kinds, sizeof(kinds));
	memcpy(p + 8, &w->count, 4);
	qsort(w->all, w->count, sizeof(*w->all), by_address);
	for (uint32_t i = 0; i < w->count; i++)
		if (!encode(p + HEAD + (size_t)ROW * i, 0x0b, 0, w->all[i].at - w->at) ||
		    !encode(p + HEAD + (size_t)ROW * i + 4, 0x0b, 0, w->all[i].entry - w->at))
			return false;
	return encode(p + 4, 0x1b, w->at + 4, w->entries);
}

static void pad_to(struct writing *w, uint64_t at)
{
	while (!w->out->failed && here(w) < at)
		text_add_bytes(w->out, "", 1);
}

static bool write_all(struct writing *w, const struct frame_moved *moved, uint32_t count)
{
	const struct frame_table *t = w->t;

	for (uint32_t i = 0; i < t->count; i++)
		w->all[w->count++] = (struct frame_row){t->rows[i].at, t->rows[i].bytes,
							w->entries + t->rows[i].entry};
	pad_to(w, w->entries);
	if (w->out->failed || !copy_entries(w))
		return false;
	pad_to(w, round_up(here(w), ALIGN));
	for (uint32_t i = 0; i < count; i++) {
		const struct frame_row *row = row_of(t, moved[i].site);

		if (row && !add_entry(w, &moved[i], row))
			return false;
	}
	put32(w, 0);
	return !w->out->failed && write_header(w);
}

bool frame_table_write(const struct frame_table *t, uint64_t at, const struct frame_moved *moved,
		       uint32_t count, struct text *out, struct frame_places *places)
{
	struct writing w = {.t = t, .out = out, .start = out->length, .at = at};
	uint64_t rows = t->count;
	bool ok;

	for (uint32_t i = 0; i < count; i++)
		rows += row_of(t, moved[i].site) != NULL;
	w.entries = round_up(at + HEAD + ROW * rows, ALIGN);
	w.all = malloc(rows * sizeof(*w.all));
	ok = w.all && write_all(&w, moved, count);
	*places = (struct frame_places){at, w.entries, here(&w)};
	free(w.all);
	return ok;
}
