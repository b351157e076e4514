/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches into covered bytes. Any place of the code whose bytes read as a branch with such a target is a suspect, so that none is missed,
 * whatever is decoded or not. Suspects are few; the function that has one is decoded to see whether the branch is there. What cannot be
 * decoded, and what is in no function, is believed.
 */
#include <string.h>

#include "functions/judge.h"

/* What an opcode could begin. */
enum shape { SHAPE_NONE, SHAPE_NEAR, SHAPE_SHORT, SHAPE_TWO, SHAPE_LEA, SHAPE_BEGIN };

static enum shape shape_of(uint8_t b)
{
	if (b == 0xe8 || b == 0xe9)
		return SHAPE_NEAR;
	if (b == 0xeb || (b & 0xf0) == 0x70 || (b & 0xfc) == 0xe0)
		return SHAPE_SHORT;
	return b == 0x0f ? SHAPE_TWO : b == 0x8d ? SHAPE_LEA : b == 0xc7 ? SHAPE_BEGIN : SHAPE_NONE;
}

static uint64_t distance(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return (uint64_t)(int64_t)v;
}

/* Where the bytes lead, if they are such an instruction; `at` itself: they are none. */
static uint64_t leads_to(const uint8_t *p, uint64_t left, uint64_t at, enum shape shape)
{
	switch (shape) {
	case SHAPE_SHORT:
		return left < 2 ? at : at + 2 + (uint64_t)(int64_t)(int8_t)p[1];
	case SHAPE_NEAR:
		return left < 5 ? at : at + 5 + distance(p + 1);
	case SHAPE_TWO:
		return left < 6 || (p[1] & 0xf0) != 0x80 ? at : at + 6 + distance(p + 2);
	case SHAPE_LEA:
		return left < 6 || (p[1] & 0xc7) != 0x05 ? at : at + 6 + distance(p + 2);
	case SHAPE_BEGIN:
		return left < 6 || p[1] != 0xf8 ? at : at + 6 + distance(p + 2);
	default:
		return at;
	}
}

struct scan {
	struct judge *j;
	uint64_t seen;    /* before this address all is decided */
	uint64_t unknown; /* and from there to this one nothing can be decoded */
};

/* What is known to be the beginning of instructions before `at`; the end of it too. */
static bool find_around(const struct functions *f, uint64_t at, uint64_t *from, uint64_t *to)
{
	uint32_t i = functions_before(f, at);
	const struct frame *r;

	if (i < f->count && at - f->items[i].entry < f->items[i].bytes) {
		*from = f->items[i].entry;
		*to = *from + f->items[i].bytes;
		return true;
	}
	r = frames_around(&f->frames, at);
	if (!r)
		return false;
	*from = r->at;
	*to = r->at + r->bytes;
	return true;
}

static void follow(struct scan *s, const struct decoded *i)
{
	if (decoded_branches(i) || i->kind == DECODED_CALL)
		judge_lead(s->j, i->target, VERDICT_BRANCH_INSIDE);
	else if (i->lea && i->relative)
		judge_lead(s->j, i->operand, VERDICT_BRANCH_INSIDE);
}

/* Decodes what is around the suspect. */
static void look(struct scan *s, uint64_t at)
{
	uint64_t from, to, left;
	const uint8_t *code;
	struct decoded i;

	s->seen = s->unknown = at;
	if (!find_around(s->j->f, at, &from, &to))
		return;
	code = image_code(&s->j->f->image, from, &left);
	if (!code)
		return;
	to = from + (to - from < left ? to - from : left);
	s->unknown = to;
	for (; from < to; from += i.length, code += i.length) {
		if (!decode(s->j->d, code, to - from, from, &i))
			break;
		follow(s, &i);
	}
	s->seen = from;
}

static void suspect(struct scan *s, uint64_t at, uint64_t target)
{
	if (at < s->seen)
		return;
	if (at >= s->unknown)
		look(s, at);
	if (at >= s->seen)
		judge_lead(s->j, target, VERDICT_BRANCH_INSIDE);
}

static void scan_segment(struct scan *s, const struct image_part *p)
{
	uint8_t shapes[256];

	for (unsigned b = 0; b < 256; b++)
		shapes[b] = (uint8_t)shape_of((uint8_t)b);
	for (uint64_t i = 0; i < p->size; i++) {
		uint64_t at = p->at + i, target;

		if (shapes[p->bytes[i]] == SHAPE_NONE)
			continue;
		target = leads_to(p->bytes + i, p->size - i, at, shapes[p->bytes[i]]);
		if (target != at && judge_inside(s->j, target))
			suspect(s, at, target);
	}
}

void judge_scan(struct judge *j)
{
	for (unsigned i = 0; i < j->f->image.segment_count; i++) {
		struct scan s = {.j = j};

		if (j->inside[i])
			scan_segment(&s, &j->f->image.segments[i]);
	}
}
