/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the entries of .eh_frame; see entries.h. */
#include "functions/entries.h"

#include <string.h>

/* ---- values ---- */

struct cursor cursor_of(const struct image_part *p, uint64_t offset)
{
	if (offset > p->size)
		return (struct cursor){.bad = true};
	return (struct cursor){p->bytes ? p->bytes + offset : NULL, p->at + offset,
			       p->size - offset, false};
}

uint64_t cursor_fixed(struct cursor *c, unsigned n)
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

uint64_t cursor_leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = (uint8_t)cursor_fixed(c, 1);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && !c->bad);
	if (is_signed && (b & 0x40) && shift < 64)
		v |= ~0ull << shift;
	return v;
}

void cursor_skip(struct cursor *c, uint64_t n)
{
	if (n > c->left)
		c->bad = true;
	else
		*c = (struct cursor){c->bytes + n, c->at + n, c->left - n, c->bad};
}

uint64_t cursor_value(struct cursor *c, unsigned encoding)
{
	switch (encoding & ENTRY_FORM) {
	case 0x01:
		return cursor_leb(c, false);
	case 0x02:
		return cursor_fixed(c, 2);
	case 0x03:
		return cursor_fixed(c, 4);
	case 0x00:
	case 0x04:
	case 0x0c:
		return cursor_fixed(c, 8);
	case 0x09:
		return cursor_leb(c, true);
	case 0x0a:
		return (uint64_t)(int16_t)cursor_fixed(c, 2);
	case 0x0b:
		return (uint64_t)(int32_t)cursor_fixed(c, 4);
	default:
		c->bad = true;
		return 0;
	}
}

uint64_t cursor_pointer(struct cursor *c, unsigned encoding)
{
	uint64_t base = (encoding & ENTRY_BASE) == ENTRY_PC_RELATIVE ? c->at : 0;
	uint64_t v = cursor_value(c, encoding);

	if ((encoding & ENTRY_INDIRECT) ||
	    ((encoding & ENTRY_BASE) != ENTRY_PC_RELATIVE && (encoding & ENTRY_BASE) != 0))
		c->bad = true;
	return v ? base + v : 0;
}

/* ---- entries ---- */

bool entry_at(const struct image_part *p, uint64_t offset, struct entry *out)
{
	struct cursor c = cursor_of(p, offset);
	uint64_t length = cursor_fixed(&c, 4), id_at;
	uint32_t id;

	if (length == 0xffffffff)
		length = cursor_fixed(&c, 8);
	if (c.bad || length < 4 || length > c.left)
		return false;
	id_at = c.at - p->at;
	c.left = length;
	id = (uint32_t)cursor_fixed(&c, 4);
	*out = (struct entry){id ? id_at - id : offset, id_at + length, c};
	return true;
}

static void read_augmentation(struct cursor *c, const char *letters, struct entry_common *out)
{
	for (; *letters && !c->bad; letters++) {
		switch (*letters) {
		case 'R':
			out->pointers = (unsigned)cursor_fixed(c, 1);
			break;
		case 'L':
			out->pads = (unsigned)cursor_fixed(c, 1);
			break;
		case 'P':
			out->personality = (unsigned)cursor_fixed(c, 1);
			out->personality_at = c->at;
			cursor_value(c, out->personality);
			break;
		case 'S':
			out->signal = true;
			break;
		default:
			break;
		}
	}
}

bool entry_common(const struct image_part *p, uint64_t offset, struct entry_common *out)
{
	const char *letters;
	unsigned version;
	struct cursor c;
	struct entry e;

	*out = (struct entry_common){.pads = ENTRY_OMIT, .personality = ENTRY_OMIT};
	if (!entry_at(p, offset, &e) || e.common != offset)
		return false;
	c = e.rest;
	version = (unsigned)cursor_fixed(&c, 1);
	letters = (const char *)c.bytes;
	if (c.bad || !memchr(letters, 0, c.left))
		return false;
	cursor_skip(&c, strlen(letters) + 1);
	out->code_align = cursor_leb(&c, false);
	out->data_align = (int64_t)cursor_leb(&c, true);
	if (version == 1)
		cursor_fixed(&c, 1);
	else
		cursor_leb(&c, false);
	if (letters[0] == 'z') {
		out->augmented = true;
		cursor_leb(&c, false);
		read_augmentation(&c, letters + 1, out);
	}
	out->beginning = c;
	return !c.bad;
}

bool entry_function(const struct entry *e, const struct entry_common *common,
		    struct entry_function *out)
{
	struct cursor c = e->rest;
	uint64_t more;

	*out = (struct entry_function){.at = cursor_pointer(&c, common->pointers)};
	out->bytes = cursor_value(&c, common->pointers & ENTRY_FORM);
	if (common->augmented) {
		more = cursor_leb(&c, false);
		if (c.bad || more > c.left)
			return false;
		if (common->pads != ENTRY_OMIT) {
			struct cursor pads = c;

			out->pads_at = c.at;
			out->pads = cursor_pointer(&pads, common->pads);
		}
		cursor_skip(&c, more);
	}
	out->instructions = c;
	return !c.bad;
}

bool entries_find(const struct image *m, struct image_part *out)
{
	struct cursor c = cursor_of(&m->frame_header, 0);
	unsigned encoding;
	uint64_t left;

	if (image_find_section(m, ".eh_frame", out) && out->at && out->size)
		return true;
	if (cursor_fixed(&c, 1) != 1)
		return false;
	encoding = (unsigned)cursor_fixed(&c, 1);
	cursor_fixed(&c, 2);
	*out = (struct image_part){.at = cursor_pointer(&c, encoding)};
	out->bytes = c.bad ? NULL : image_at(m, out->at, &left);
	out->size = out->bytes ? left : 0;
	return out->bytes != NULL;
}
