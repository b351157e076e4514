/* SPDX-License-Identifier: Apache-2.0 */
/* Reading .eh_frame and the tables of landing pads; see frames.h. */
#include "functions/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "functions/entries.h"

enum { REG_RSP = 7, REG_RIP = 16 };

/* ---- entries ---- */

/* Instructions that hold for the first byte of the function: before the first that moves on. */
static void read_beginning(struct cursor c, struct frame *f)
{
	uint64_t reg, offset;

	while (c.left && !c.bad) {
		uint8_t op = (uint8_t)cursor_fixed(&c, 1);

		switch (op >> 6 ? op & 0xc0 : op) {
		case 0x00: /* nop */
			break;
		case 0x80: /* offset */
			cursor_leb(&c, false);
			break;
		case 0x07: /* undefined */
			f->outermost |= cursor_leb(&c, false) == REG_RIP;
			break;
		case 0x0c: /* def_cfa */
			reg = cursor_leb(&c, false);
			offset = cursor_leb(&c, false);
			f->fragment |= reg != REG_RSP || offset != 8;
			break;
		case 0x0e: /* def_cfa_offset */
			f->fragment |= cursor_leb(&c, false) != 8;
			break;
		case 0x0d: /* def_cfa_register, def_cfa_expression, and signed ones */
		case 0x0f:
		case 0x12:
		case 0x13:
			f->fragment = true;
			return;
		default:
			return;
		}
	}
}

static bool read_function(const struct entry *e, const struct entry_common *common,
			  struct frame *out)
{
	struct entry_function f;

	if (!entry_function(e, common, &f))
		return false;
	*out = (struct frame){
		.at = f.at, .bytes = f.bytes, .pads = f.pads, .signal = common->signal};
	/* What all functions of a common entry begin with an assembler may move there. */
	read_beginning(common->beginning, out);
	read_beginning(f.instructions, out);
	return out->at && out->bytes && out->bytes < UINT64_MAX / 4;
}

static bool add(struct frames *out, const struct frame *f)
{
	if (!vec_reserve(&out->items, &out->room, out->count, 1))
		return false;
	out->items[out->count++] = *f;
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

bool frames_read(const struct image *m, struct frames *out)
{
	struct image_part part;
	struct entry_common common;
	struct entry e;
	struct frame f;

	*out = (struct frames){0};
	if (!entries_find(m, &part))
		return true;
	for (uint64_t at = 0; at < part.size && entry_at(&part, at, &e); at = e.next)
		if (e.common != at && entry_common(&part, e.common, &common) &&
		    read_function(&e, &common, &f) && !add(out, &f))
			return false;
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_address);
	return true;
}

void frames_release(struct frames *f)
{
	free(f->items);
	*f = (struct frames){0};
}

/* ---- looking up ---- */

/* The last that begins at the address or before it; count: none. */
static uint32_t last_before(const struct frames *f, uint64_t at)
{
	uint32_t low = 0, high = f->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->items[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : f->count;
}

const struct frame *frames_around(const struct frames *f, uint64_t at)
{
	uint32_t i = last_before(f, at);

	return i < f->count && at - f->items[i].at < f->items[i].bytes ? &f->items[i] : NULL;
}

const struct frame *frames_at(const struct frames *f, uint64_t at)
{
	const struct frame *x = frames_around(f, at);

	return x && x->at == at ? x : NULL;
}

/* ---- landing pads ---- */

bool frame_has_pad(const struct image *m, const struct frame *f, uint64_t from, uint64_t to)
{
	struct cursor c = {0};
	uint64_t base = f->at, pad, bytes;
	unsigned encoding;

	if (!f->pads)
		return false;
	c.at = f->pads;
	c.bytes = image_at(m, f->pads, &c.left);
	if (!c.bytes)
		return true;
	encoding = (unsigned)cursor_fixed(&c, 1);
	if (encoding != ENTRY_OMIT)
		base = cursor_pointer(&c, encoding);
	if (cursor_fixed(&c, 1) != ENTRY_OMIT)
		cursor_leb(&c, false);
	encoding = (unsigned)cursor_fixed(&c, 1);
	bytes = cursor_leb(&c, false);
	if (c.bad || bytes > c.left)
		return true;
	c.left = bytes;
	while (c.left && !c.bad) {
		cursor_value(&c, encoding);
		cursor_value(&c, encoding);
		pad = cursor_value(&c, encoding);
		cursor_leb(&c, false);
		if (pad && base + pad >= from && base + pad < to)
			return true;
	}
	return c.bad;
}
