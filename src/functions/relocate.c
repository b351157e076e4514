/* SPDX-License-Identifier: Apache-2.0 */
/* Moving instructions; see relocate.h. */
#include "functions/relocate.h"

#include <string.h>

static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
/* jmp over 9 bytes of nop */
static const uint8_t sled[] = {0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00};

struct move {
	struct relocated *out;
	bool large;
	bool pushes; /* a return address: its place in the code is at `slot_at` */
	uint8_t slot_at;
};

/* ---- writing ---- */

static void put(struct move *m, const void *bytes, unsigned n)
{
	struct relocated *r = m->out;

	if (n > (unsigned)PLAN_CODE_MAX - r->bytes) {
		m->large = true;
		return;
	}
	memcpy(r->code + r->bytes, bytes, n);
	r->bytes = (uint8_t)(r->bytes + n);
}

static void fix(struct move *m, unsigned at, unsigned ends, unsigned kind, uint64_t target)
{
	struct relocated *r = m->out;

	if (r->fixup_count == RELOCATED_FIXUPS) {
		m->large = true;
		return;
	}
	r->fixups[r->fixup_count++] = (struct plan_fixup){
		.target = target, .at = (uint8_t)at, .ends = (uint8_t)ends, .kind = (uint8_t)kind};
}

/* The opcode, then the distance to `target`. */
static void put_near(struct move *m, const void *opcode, unsigned n, uint64_t target)
{
	put(m, opcode, n);
	fix(m, m->out->bytes, 4, PLAN_REL32, target);
	put(m, "\0\0\0\0", 4);
}

static void put_jump(struct move *m, uint64_t target)
{
	put_near(m, "\xe9", 1, target);
}

static void put_as_is(struct move *m, const struct decoded *i)
{
	if (i->relative)
		fix(m, m->out->bytes + i->operand_at, (unsigned)i->length - i->operand_at,
		    PLAN_REL32, i->operand);
	put(m, i->bytes, i->length);
}

/* ---- instructions ---- */

static void put_branch(struct move *m, const struct decoded *i)
{
	uint8_t b = i->bytes[i->opcode_at];
	uint8_t wide[2] = {0x0f, (uint8_t)(0x80 | (b & 0x0f))};

	if (b == 0x0f)
		wide[1] = i->bytes[i->opcode_at + 1];
	put_near(m, wide, sizeof(wide), i->target);
}

/* Over a jump: "loop 1f; jmp 2f; 1: jmp target; 2:". */
static void put_short(struct move *m, const struct decoded *i)
{
	put(m, i->bytes, i->length - 1u);
	put(m, "\x02\xeb\x05", 3);
	put_jump(m, i->target);
}

/* push qword [rip + to the word behind the code]; what it is relative to is known when the code ends. */
static void put_push(struct move *m)
{
	put(m, "\xff\x35", 2);
	m->slot_at = m->out->bytes;
	m->pushes = true;
	put(m, "\0\0\0\0", 4);
}

static void put_call(struct move *m, const struct decoded *i)
{
	put_push(m);
	put_jump(m, i->target);
}

/* The same with the form of FF that jumps. */
static void put_indirect_call(struct move *m, const struct decoded *i)
{
	struct decoded jump = *i;

	put_push(m);
	jump.bytes[i->opcode_at + 1] = (uint8_t)((jump.bytes[i->opcode_at + 1] & ~0x38u) | 0x20);
	put_as_is(m, &jump);
}

static enum verdict check_call(const struct decoded *i, unsigned covered)
{
	if (covered < PLAN_JUMP)
		return VERDICT_CALL_INSIDE;
	if (i->kind == DECODED_INDIRECT_CALL &&
	    (i->by_rsp || i->bytes[i->opcode_at] != 0xff ||
	     (i->bytes[i->opcode_at + 1] & 0xc7) == 0xc4)) /* rsp itself */
		return VERDICT_UNMOVABLE;
	return VERDICT_CHOSEN;
}

static enum verdict put_instruction(struct move *m, const struct decoded *i, unsigned covered)
{
	enum verdict v = VERDICT_CHOSEN;

	switch (i->kind) {
	case DECODED_NOP:
		break;
	case DECODED_JUMP:
		put_jump(m, i->target);
		break;
	case DECODED_BRANCH:
		put_branch(m, i);
		break;
	case DECODED_SHORT:
		put_short(m, i);
		break;
	case DECODED_CALL:
	case DECODED_INDIRECT_CALL:
		v = check_call(i, covered);
		if (v == VERDICT_CHOSEN && i->kind == DECODED_CALL)
			put_call(m, i);
		else if (v == VERDICT_CHOSEN)
			put_indirect_call(m, i);
		break;
	case DECODED_UNMOVABLE:
		return VERDICT_UNMOVABLE;
	default:
		put_as_is(m, i);
	}
	return v;
}

/* ---- the whole ---- */

static void note_move(struct relocated *r)
{
	if (r->move_count < RELOCATED_MOVES)
		r->moves[r->move_count++] = (struct plan_move){r->covered, r->bytes};
}

/* Behind the last instruction: the way back, and the return address that is pushed. */
static void finish(struct move *m, bool ended)
{
	struct relocated *r = m->out;
	uint32_t distance;

	if (!ended && !m->pushes) {
		note_move(r);
		put_jump(m, r->site + r->covered);
	}
	if (!m->pushes)
		return;
	distance = (uint32_t)(r->bytes - (m->slot_at + 4));
	fix(m, r->bytes, 8, PLAN_ABS64, r->site + r->covered);
	put(m, "\0\0\0\0\0\0\0\0", 8);
	memcpy(r->code + m->slot_at, &distance, sizeof(distance));
}

static bool is_padding(const struct decoded *i)
{
	return i->kind == DECODED_NOP || (i->length == 1 && i->bytes[0] == 0xcc);
}

static void note_sled(struct relocated *r, const uint8_t *code)
{
	if (r->covered == 11 && code[0] == 0xeb && code[1] == 9) {
		r->how = PLAN_XRAY;
		if (r->site % 2 == 0)
			r->flags |= PLAN_TWO_STEP;
	}
}

/*
 * Instructions until the jump has room. Behind one that nothing follows there may be others, which a branch leads to: who calls has to
 * look for such branches. One of two bytes that jumps over nops is covered with them, as an XRay sled.
 */
static enum verdict move_all(struct decoder *d, struct move *m, const uint8_t *code, uint64_t bytes,
			     uint64_t left)
{
	struct relocated *r = m->out;
	bool ended = false, nops = true;
	enum verdict v = VERDICT_CHOSEN;
	struct decoded i;

	r->flags |= PLAN_FRAMELESS;
	while (r->covered < PLAN_JUMP) {
		if (!decode(d, code + r->covered, left - r->covered, r->site + r->covered, &i))
			return r->covered < bytes ? VERDICT_UNDECODED : VERDICT_SHORT;
		if (r->covered >= bytes && !is_padding(&i))
			return VERDICT_SHORT;
		if (!ended) {
			note_move(r);
			v = put_instruction(m, &i, (unsigned)r->covered + i.length);
			nops &= i.kind == DECODED_NOP;
			if (i.sets_rsp)
				r->flags &= (uint16_t)~PLAN_FRAMELESS;
		}
		if (v != VERDICT_CHOSEN)
			return v;
		ended |= decoded_ends(&i);
		if (r->covered == 0 && i.length >= PLAN_JUMP)
			r->flags |= PLAN_SINGLE;
		r->covered = (uint8_t)(r->covered + i.length);
	}
	r->flags |= ended ? PLAN_RETURNS : 0;
	r->flags |= m->pushes ? PLAN_CALLS : 0;
	r->how = nops ? PLAN_NOPS : PLAN_CODE;
	finish(m, ended);
	return m->large ? VERDICT_LARGE : VERDICT_CHOSEN;
}

/* What stands before the site, and stays. */
struct head {
	const uint8_t *code;
	uint64_t bytes, left;
};

static bool skip(struct head *h, const uint8_t *bytes, uint64_t n, struct relocated *out)
{
	if (h->bytes < n || h->left < n || memcmp(h->code, bytes, n) != 0)
		return false;
	out->site += n;
	h->code += n;
	h->bytes -= n;
	h->left -= n;
	return true;
}

enum verdict relocate(struct decoder *d, const uint8_t *code, uint64_t bytes, uint64_t left,
		      uint64_t entry, bool sleds_stay, struct relocated *out)
{
	struct head h = {code, bytes, left};
	struct move m = {.out = out};
	enum verdict v;

	*out = (struct relocated){.site = entry};
	if (skip(&h, endbr, sizeof(endbr), out))
		out->flags |= PLAN_ENDBR;
	if (sleds_stay)
		skip(&h, sled, sizeof(sled), out);
	if (!h.bytes)
		return VERDICT_SHORT;
	v = move_all(d, &m, h.code, h.bytes, h.left);
	if (v == VERDICT_CHOSEN)
		note_sled(out, h.code);
	return v;
}
