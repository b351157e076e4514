/* SPDX-License-Identifier: Apache-2.0 */
/* Reading .eh_frame and the tables of landing pads; see frames.h. */
#include "functions/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { OMIT = 0xff, PC_RELATIVE = 0x10, INDIRECT = 0x80 };
enum { REG_RSP = 7, REG_RIP = 16 };

/* ---- values ---- */

struct cursor {
	const uint8_t *bytes;
	uint64_t at; /* address of *bytes */
	uint64_t left;
	bool bad;
};

static uint64_t fixed(struct cursor *c, unsigned n)
{
	uint64_t v = 0;

	if (c->bad || n > c->left) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->bytes, n);
	c->bytes += n;
	c->at += n;
	c->left -= n;
	return v;
}

static uint64_t leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = (uint8_t)fixed(c, 1);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && !c->bad);
	if (is_signed && (b & 0x40) && shift < 64)
		v |= ~0ull << shift;
	return v;
}

static uint64_t value(struct cursor *c, unsigned encoding)
{
	switch (encoding & 0x0f) {
	case 0x01:
		return leb(c, false);
	case 0x02:
		return fixed(c, 2);
	case 0x03:
		return fixed(c, 4);
	case 0x00:
	case 0x04:
	case 0x0c:
		return fixed(c, 8);
	case 0x09:
		return leb(c, true);
	case 0x0a:
		return (uint64_t)(int16_t)fixed(c, 2);
	case 0x0b:
		return (uint64_t)(int32_t)fixed(c, 4);
	default:
		c->bad = true;
		return 0;
	}
}

/* An address; 0 is none. */
static uint64_t pointer(struct cursor *c, unsigned encoding)
{
	uint64_t base = (encoding & 0x70) == PC_RELATIVE ? c->at : 0, v = value(c, encoding);

	if ((encoding & INDIRECT) || ((encoding & 0x70) != PC_RELATIVE && (encoding & 0x70) != 0))
		c->bad = true;
	return v ? base + v : 0;
}

static void skip(struct cursor *c, uint64_t n)
{
	if (n > c->left)
		c->bad = true;
	else
		*c = (struct cursor){c->bytes + n, c->at + n, c->left - n, c->bad};
}

static struct cursor part_of(const struct image_part *p, uint64_t offset)
{
	if (offset > p->size)
		return (struct cursor){.bad = true};
	return (struct cursor){p->bytes + offset, p->at + offset, p->size - offset, false};
}

/* ---- entries ---- */

struct common {
	unsigned pointers, pads; /* encodings */
	bool augmented, signal;
	struct cursor beginning; /* instructions that hold for all its functions */
};

/* Length and identification; the cursor is at the latter's end, `left` what the entry has behind it. */
static bool entry_begin(struct cursor *c, uint32_t *id, uint64_t *id_at, uint64_t *next)
{
	uint64_t length = fixed(c, 4);

	if (length == 0xffffffff)
		length = fixed(c, 8);
	if (c->bad || !length || length > c->left || length < 4)
		return false;
	*next = c->at + length;
	*id_at = c->at;
	c->left = length;
	*id = (uint32_t)fixed(c, 4);
	return true;
}

static void read_augmentation(struct cursor *c, const char *letters, struct common *out)
{
	for (; *letters && !c->bad; letters++) {
		unsigned encoding;

		switch (*letters) {
		case 'R':
			out->pointers = (unsigned)fixed(c, 1);
			break;
		case 'L':
			out->pads = (unsigned)fixed(c, 1);
			break;
		case 'P':
			encoding = (unsigned)fixed(c, 1);
			value(c, encoding);
			break;
		case 'S':
			out->signal = true;
			break;
		default:
			break;
		}
	}
}

static bool read_common(struct cursor c, struct common *out)
{
	const char *letters;
	uint64_t next, at;
	uint32_t id;
	unsigned version;

	*out = (struct common){.pads = OMIT};
	if (!entry_begin(&c, &id, &at, &next) || id != 0)
		return false;
	version = (unsigned)fixed(&c, 1);
	letters = (const char *)c.bytes;
	if (c.bad || !memchr(letters, 0, c.left))
		return false;
	skip(&c, strlen(letters) + 1);
	leb(&c, false);
	leb(&c, true);
	if (version == 1)
		fixed(&c, 1);
	else
		leb(&c, false);
	if (letters[0] == 'z') {
		out->augmented = true;
		leb(&c, false);
		read_augmentation(&c, letters + 1, out);
	}
	out->beginning = c;
	return !c.bad;
}

/* Instructions that hold for the first byte of the function: before the first that moves on. */
static void read_beginning(struct cursor c, struct frame *f)
{
	uint64_t reg, offset;

	while (c.left && !c.bad) {
		uint8_t op = (uint8_t)fixed(&c, 1);

		switch (op >> 6 ? op & 0xc0 : op) {
		case 0x00: /* nop */
			break;
		case 0x80: /* offset */
			leb(&c, false);
			break;
		case 0x07: /* undefined */
			f->outermost |= leb(&c, false) == REG_RIP;
			break;
		case 0x0c: /* def_cfa */
			reg = leb(&c, false);
			offset = leb(&c, false);
			f->fragment |= reg != REG_RSP || offset != 8;
			break;
		case 0x0e: /* def_cfa_offset */
			f->fragment |= leb(&c, false) != 8;
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

static bool read_function(struct cursor c, const struct common *common, struct frame *out)
{
	uint64_t more;

	*out = (struct frame){.signal = common->signal};
	out->at = pointer(&c, common->pointers);
	out->bytes = value(&c, common->pointers & 0x0f);
	if (common->augmented) {
		more = leb(&c, false);
		if (c.bad || more > c.left)
			return false;
		if (common->pads != OMIT) {
			struct cursor pads = c;

			out->pads = pointer(&pads, common->pads);
		}
		skip(&c, more);
	}
	/* What all functions of a common entry begin with an assembler may move there. */
	read_beginning(common->beginning, out);
	read_beginning(c, out);
	return !c.bad && out->at && out->bytes && out->bytes < UINT64_MAX / 4;
}

static bool add(struct frames *out, const struct frame *f)
{
	if (!vec_reserve(&out->items, &out->room, out->count, 1))
		return false;
	out->items[out->count++] = *f;
	return true;
}

/* The section, or what the table for searching it leads to. */
static bool find_part(const struct image *m, struct image_part *out)
{
	struct cursor c = part_of(&m->frame_header, 0);
	unsigned encoding;
	uint64_t left;

	if (image_find_section(m, ".eh_frame", out) && out->at && out->size)
		return true;
	if (fixed(&c, 1) != 1)
		return false;
	encoding = (unsigned)fixed(&c, 1);
	fixed(&c, 2);
	*out = (struct image_part){.at = pointer(&c, encoding)};
	out->bytes = c.bad ? NULL : image_at(m, out->at, &left);
	out->size = out->bytes ? left : 0;
	return out->bytes != NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

bool frames_read(const struct image *m, struct frames *out)
{
	struct image_part part;
	struct common common;
	struct frame f;
	uint64_t offset = 0, next, at;
	uint32_t id;

	*out = (struct frames){0};
	if (!find_part(m, &part))
		return true;
	for (; offset < part.size; offset = next - part.at) {
		struct cursor c = part_of(&part, offset);

		if (!entry_begin(&c, &id, &at, &next))
			break;
		if (id && id <= at - part.at &&
		    read_common(part_of(&part, at - part.at - id), &common) &&
		    read_function(c, &common, &f) && !add(out, &f))
			return false;
	}
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
	encoding = (unsigned)fixed(&c, 1);
	if (encoding != OMIT)
		base = pointer(&c, encoding);
	if (fixed(&c, 1) != OMIT)
		leb(&c, false);
	encoding = (unsigned)fixed(&c, 1);
	bytes = leb(&c, false);
	if (c.bad || bytes > c.left)
		return true;
	c.left = bytes;
	while (c.left && !c.bad) {
		value(&c, encoding);
		value(&c, encoding);
		pad = value(&c, encoding);
		leb(&c, false);
		if (pad && base + pad >= from && base + pad < to)
			return true;
	}
	return c.bad;
}
