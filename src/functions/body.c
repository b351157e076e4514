/* SPDX-License-Identifier: Apache-2.0 */
/* All of a function decoded: how many instructions, whether it loops and where to, its jump tables. */
#include <string.h>

#include "functions/judge.h"

enum { TABLE_MOST = 65536 };

struct body {
	struct judge *j;
	struct function *x;
	uint64_t end;
	bool indirect; /* has a jump that a table may be of */
	bool table;    /* has the address of a table with an entry in the covered bytes */
	bool loops_at_entry;
};

/* Entries are distances from the table; the first that leads out of the function ends it. */
static bool table_leads_inside(const struct body *b, uint64_t at)
{
	uint64_t left, target;
	const uint8_t *p = image_at(&b->j->f->image, at, &left);
	int32_t entry;

	for (unsigned i = 0; p && i < TABLE_MOST && left >= 4; i++, p += 4, left -= 4) {
		memcpy(&entry, p, sizeof(entry));
		target = at + (uint64_t)(int64_t)entry;
		if (target - b->x->entry >= b->x->bytes)
			return false;
		if (target - b->x->entry < (uint64_t)b->x->offset + b->x->covered)
			return true;
	}
	return false;
}

static bool begins_function(const struct functions *f, uint64_t at)
{
	uint32_t i = functions_before(f, at);

	return i < f->count && f->items[i].entry == at;
}

static void look_at_branch(struct body *b, const struct decoded *i)
{
	struct function *x = b->x;

	if (i->target - x->entry < x->bytes) {
		if (i->target <= i->at)
			x->flags |= PLAN_LOOPS;
		/* Before the site there is at most a sled, which jumps over itself. */
		b->loops_at_entry |=
			i->target - x->entry <= x->offset && i->at - x->entry >= x->offset;
	} else if (begins_function(b->j->f, i->target)) {
		x->flags |= PLAN_TAIL;
	}
}

static void look_at(struct body *b, const struct decoded *i)
{
	if (decoded_branches(i))
		look_at_branch(b, i);
	else if (i->kind == DECODED_INDIRECT_JUMP)
		b->indirect = true;
	else if (i->lea && i->relative && !b->table)
		b->table = table_leads_inside(b, i->operand);
}

/* Any byte that could begin a jump by register or memory. */
static bool could_jump(const uint8_t *code, uint64_t bytes)
{
	for (uint64_t i = 0; i + 1 < bytes; i++)
		if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x20)
			return true;
	return false;
}

static void finish(struct body *b, const uint8_t *code, uint64_t from)
{
	struct function *x = b->x;

	if (from < b->end) {
		x->instructions = 0;
		if (could_jump(code, b->end - from))
			x->verdict = VERDICT_UNDECODED;
	} else {
		x->flags |= PLAN_DECODED;
	}
	if (b->loops_at_entry)
		x->verdict = VERDICT_LOOP_AT_ENTRY;
	else if (b->indirect && b->table)
		x->verdict = VERDICT_TABLE_INSIDE;
}

void judge_body(struct judge *j, struct function *x)
{
	struct body b = {.j = j, .x = x};
	uint64_t left, at = x->entry;
	const uint8_t *code = image_code(&j->f->image, at, &left);
	struct decoded i;

	if (x->bytes > left || x->bytes > j->budget) {
		x->verdict = VERDICT_UNDECODED;
		return;
	}
	j->budget -= x->bytes;
	for (b.end = at + x->bytes; at < b.end; at += i.length, code += i.length) {
		if (!decode(j->d, code, b.end - at, at, &i))
			break;
		x->instructions++;
		look_at(&b, &i);
	}
	finish(&b, code, at);
}
