/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for moved instructions; see frame_rules.h. They are copied as they are, but for those that move on to an address. Where the frame
 * begins is looked at, since a return address that is pushed changes it.
 */
#include "functions/frame_rules.h"

enum { REG_RSP = 7, STATES = 4 };

/* Where the frame begins. */
struct beginning {
	bool by_rsp;
	int64_t offset;
};

struct rules {
	const struct entry_common *common;
	struct cursor c;
	uint64_t at; /* that the next rule is of */
	struct beginning now, kept[STATES];
	unsigned depth;
};

static void set_register(struct rules *r, uint64_t reg)
{
	r->now.by_rsp = reg == REG_RSP;
}

static void restore(struct rules *r)
{
	if (r->depth)
		r->now = r->kept[--r->depth];
	else
		r->c.bad = true;
}

static void remember(struct rules *r)
{
	if (r->depth < STATES)
		r->kept[r->depth++] = r->now;
	else
		r->c.bad = true;
}

static void skip_expression(struct cursor *c)
{
	cursor_skip(c, cursor_leb(c, false));
}

/* Those that say where the frame begins. False: it is none. */
static bool read_beginning(struct rules *r, uint8_t op)
{
	struct cursor *c = &r->c;

	switch (op) {
	case 0x0c: /* def_cfa */
		set_register(r, cursor_leb(c, false));
		r->now.offset = (int64_t)cursor_leb(c, false);
		return true;
	case 0x12: /* def_cfa_sf */
		set_register(r, cursor_leb(c, false));
		r->now.offset = (int64_t)cursor_leb(c, true) * r->common->data_align;
		return true;
	case 0x0d: /* def_cfa_register */
		set_register(r, cursor_leb(c, false));
		return true;
	case 0x0e: /* def_cfa_offset */
		r->now.offset = (int64_t)cursor_leb(c, false);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		r->now.offset = (int64_t)cursor_leb(c, true) * r->common->data_align;
		return true;
	case 0x0f: /* def_cfa_expression */
		skip_expression(c);
		r->now.by_rsp = false;
		return true;
	case 0x0a:
		remember(r);
		return true;
	case 0x0b:
		restore(r);
		return true;
	default:
		return false;
	}
}

/* Those of one register. */
static void read_register(struct rules *r, uint8_t op)
{
	struct cursor *c = &r->c;

	switch (op) {
	case 0x05: /* offset_extended, register, val_offset, negative_offset_extended */
	case 0x09:
	case 0x11: /* and signed ones */
	case 0x14:
	case 0x15:
	case 0x2f:
		cursor_leb(c, false);
		cursor_leb(c, false);
		break;
	case 0x06: /* restore_extended, undefined, same_value, args_size */
	case 0x07:
	case 0x08:
	case 0x2e:
		cursor_leb(c, false);
		break;
	case 0x10: /* expression, val_expression */
	case 0x16:
		cursor_leb(c, false);
		skip_expression(c);
		break;
	case 0x00:
		break;
	default:
		c->bad = true;
	}
}

/* Moves on to another address. False: it is another rule. */
static bool read_advance(struct rules *r, uint8_t op)
{
	static const uint8_t bytes[] = {[2] = 1, [3] = 2, [4] = 4};

	if (op >> 6 == 1)
		r->at += (op & 0x3f) * r->common->code_align;
	else if (op == 0x01)
		r->at = cursor_pointer(&r->c, r->common->pointers);
	else if (op >= 0x02 && op <= 0x04)
		r->at += cursor_fixed(&r->c, bytes[op]) * r->common->code_align;
	else
		return false;
	return true;
}

/* The next rule; false: it moved on, instead. */
static bool read_rule(struct rules *r)
{
	uint8_t op = (uint8_t)cursor_fixed(&r->c, 1);

	if (read_advance(r, op))
		return false;
	if (op >> 6 == 2)
		cursor_leb(&r->c, false);
	else if (op >> 6 == 0 && !read_beginning(r, op))
		read_register(r, op);
	return true;
}

/* ---- writing ---- */

/* Where in the code that was added what belongs to the address begins. False: nothing does. */
static bool place_of(const struct frame_moved *m, uint64_t at, unsigned *out)
{
	*out = 0;
	if (at <= m->site)
		return true;
	for (unsigned i = 0; i < m->count; i++) {
		*out = (unsigned)m->head + m->moves[i].to;
		if (m->moves[i].from >= at - m->site)
			return true;
	}
	return false;
}

static void advance(struct text *out, unsigned *from, unsigned to)
{
	const uint8_t advance_loc1[] = {0x02, (uint8_t)(to - *from)};

	if (to > *from)
		text_add_bytes(out, (const char *)advance_loc1, sizeof(advance_loc1));
	*from = to;
}

/* The return address that is pushed. */
static void add_pushed(struct text *out, const struct rules *r, unsigned from, unsigned to)
{
	uint64_t offset = (uint64_t)r->now.offset + 8;
	uint8_t def_cfa_offset[11] = {0x0e};
	unsigned n = 1;

	if (!r->now.by_rsp)
		return;
	advance(out, &from, to);
	do {
		def_cfa_offset[n++] = (uint8_t)((offset & 0x7f) | (offset > 0x7f ? 0x80 : 0));
		offset >>= 7;
	} while (offset);
	text_add_bytes(out, (const char *)def_cfa_offset, n);
}

void frame_rules_add(struct text *out, const struct entry_common *common,
		     const struct entry_function *f, const struct frame_moved *m)
{
	struct rules r = {.common = common, .c = common->beginning};
	unsigned place = 0, to = 0;

	while (r.c.left && !r.c.bad)
		read_rule(&r);
	r.c.bad |= f->instructions.bad;
	if (r.c.bad)
		return;
	r.c = f->instructions;
	r.at = f->at;
	while (r.c.left) {
		const uint8_t *rule = r.c.bytes;
		bool says = read_rule(&r);

		if (r.c.bad)
			return;
		if (!says && !place_of(m, r.at, &to))
			break;
		if (!says)
			continue;
		advance(out, &place, to);
		text_add_bytes(out, (const char *)rule, (size_t)(r.c.bytes - rule));
	}
	if (m->pushed)
		add_pushed(out, &r, place, m->pushed);
}
