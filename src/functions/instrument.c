/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose functions are patched on disk: stubs and the plan; see instrument.h. The file around them: rewrite.c. */
#include "functions/instrument.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "functions/build.h"
#include "functions/frame_table.h"
#include "functions/rewrite.h"

enum {
	HEAD = PLAN_STUB_HEAD, /* cmpq, je, call */
	PUSH = 6,              /* push qword [rip + ...] */
	CALL = 5,
	ADD = 8,
	STUB_ALIGN = 16,
	SLOT = 8
};

struct making {
	struct functions *f;
	struct plan plan; /* of memory; what is left out of it is `left_out` */
	struct rewrite r;
	struct text stubs, table, frames;
};

static bool fail(struct instrumented *told, const char *why)
{
	snprintf(told->why, sizeof(told->why), "%s", why);
	return false;
}

/* ---- stubs ---- */

static void put32(uint8_t *at, uint64_t distance)
{
	uint32_t near = (uint32_t)distance;

	memcpy(at, &near, sizeof(near));
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Where the return address is pushed, in the function's code. */
static unsigned push_at(const struct plan *p, const struct plan_function *f)
{
	return p->moves[f->first_move + f->moves - 1u].to;
}

static unsigned code_bytes(const struct plan_function *f)
{
	return f->flags & PLAN_CALLS ? f->code_bytes - 8u + CALL + ADD - PUSH : f->code_bytes;
}

static size_t stub_bytes(const struct plan_function *f)
{
	return round_up(HEAD + code_bytes(f), STUB_ALIGN);
}

/* The push takes 6 bytes of a word behind the code; call and add take 13, and no word. */
static bool put_code(const struct plan *p, const struct plan_function *f, uint64_t place,
		     uint8_t *out)
{
	uint8_t behind[PLAN_CODE_MAX];
	unsigned push, tail;

	if (!(f->flags & PLAN_CALLS))
		return plan_code(p, f, 0, place, out);
	push = push_at(p, f);
	tail = f->code_bytes - 8u - (push + PUSH);
	if (!plan_code(p, f, 0, place + CALL + ADD - PUSH, behind) ||
	    !plan_code(p, f, 0, place, out) || memcmp(out + push, "\xff\x35", 2) != 0)
		return false;
	memcpy(out + push, "\xe8\0\0\0\0\x48\x81\x04\x24", CALL + 4);
	put32(out + push + CALL + 4, f->site + f->covered - (place + push + CALL));
	memcpy(out + push + CALL + ADD, behind + push + PUSH, tail);
	return true;
}

static bool reaches(uint64_t from, uint64_t to)
{
	return (int64_t)(to - from) == (int32_t)(to - from);
}

static void add_symbol(struct making *m, const struct plan_function *f, uint64_t stub)
{
	const struct function *x = &m->f->items[functions_before(m->f, f->entry)];

	if (x->name)
		rewrite_symbol(&m->r, x->name, stub, HEAD + code_bytes(f));
}

static bool put_stub(struct making *m, const struct plan_function *f, uint64_t stub, uint64_t slot)
{
	uint8_t bytes[HEAD + PLAN_CODE_MAX + CALL + ADD + STUB_ALIGN] = {
		0x48, 0x83, 0x3d, 0, 0, 0, 0, 0, 0x74, 0x06, 0xff, 0x15};

	put32(bytes + 3, slot - (stub + 8));
	put32(bytes + 12, m->r.slots_at - (stub + HEAD));
	memset(bytes + HEAD, 0xcc, sizeof(bytes) - HEAD);
	if (!reaches(f->site, stub) || !reaches(stub, m->r.end) ||
	    !put_code(&m->plan, f, stub + HEAD, bytes + HEAD))
		return false;
	text_add_bytes(&m->stubs, (const char *)bytes, stub_bytes(f));
	add_symbol(m, f, stub);
	return rewrite_jump(&m->r, f->site, stub, f->expected, f->covered);
}

static bool put_stubs(struct making *m)
{
	uint64_t stub = m->r.stubs_at, slot = m->r.slots_at + SLOT;

	for (uint64_t i = 0; i < m->plan.function_count; i++, slot += SLOT) {
		if (!put_stub(m, &m->plan.functions[i], stub, slot))
			return false;
		stub += stub_bytes(&m->plan.functions[i]);
	}
	return !m->stubs.failed;
}

static size_t stubs_bytes(const struct plan *p)
{
	size_t bytes = 0;

	for (uint64_t i = 0; i < p->function_count; i++)
		bytes += stub_bytes(&p->functions[i]);
	return bytes;
}

/* ---- call frame information ---- */

static struct frame_moved moved_of(const struct plan *p, const struct plan_function *f,
				   uint64_t stub)
{
	return (struct frame_moved){
		.at = stub,
		.bytes = HEAD + code_bytes(f),
		.site = f->site,
		.moves = &p->moves[f->first_move],
		.head = HEAD,
		.count = f->moves,
		.pushed = f->flags & PLAN_CALLS ? (uint8_t)(HEAD + push_at(p, f) + CALL) : 0};
}

static bool put_frames(struct making *m, const struct frame_table *t)
{
	uint32_t count = (uint32_t)m->plan.function_count;
	struct frame_moved *moved = calloc(count, sizeof(*moved));
	uint64_t stub = m->r.stubs_at;
	bool ok = moved != NULL;

	for (uint32_t i = 0; ok && i < count; i++) {
		moved[i] = moved_of(&m->plan, &m->plan.functions[i], stub);
		stub += stub_bytes(&m->plan.functions[i]);
	}
	m->frames.length = 0;
	ok = ok && frame_table_write(t, m->r.frames_at, moved, count, &m->frames, &m->r.frames);
	free(moved);
	return ok;
}

/* How long they are is known when they are written: the stubs lie behind them then. */
static bool lay_out(struct making *m)
{
	struct frame_table t;
	bool ok = rewrite_lay_out(&m->r);

	if (frame_table_open(&t, &m->f->image) && ok) {
		ok = put_frames(m, &t);
		m->r.frames_bytes = m->frames.length;
		ok = ok && rewrite_lay_out(&m->r) && put_frames(m, &t);
	}
	frame_table_release(&t);
	return ok;
}

/* ---- the plan in the file ---- */

/* The functions of the plan with slots, whose places are not known until the table's size is. */
static struct build table_of(const struct making *m, struct build *from, uint8_t id[PLAN_NOTE_ID])
{
	struct build b = *from;
	struct plan_module *module = &b.modules[0];
	uint64_t stub = m->r.stubs_at - module->low;

	module->device = module->inode = module->size = module->mtime_ns = 0;
	module->high = m->r.end;
	module->build_id_bytes = PLAN_NOTE_ID;
	memset(module->build_id, 0, sizeof(module->build_id));
	memcpy(module->build_id, id, PLAN_NOTE_ID);
	for (uint32_t i = 0; i < b.function_count; i++) {
		struct plan_function *f = &b.functions[i];
		const struct plan_function *was = &m->plan.functions[i];

		*f = (struct plan_function){.entry = f->entry,
					    .site = m->r.slots_at + SLOT + (uint64_t)SLOT * i,
					    .bytes = f->bytes,
					    .id = f->id,
					    .name = f->name,
					    .instructions = f->instructions,
					    .flags = f->flags,
					    .how = PLAN_SLOT,
					    .code = (uint32_t)stub,
					    .code_bytes = (uint8_t)code_bytes(was),
					    .first_move = was->first_move,
					    .moves = was->moves,
					    .covered = was->covered,
					    .offset = (uint8_t)(was->site - was->entry)};
		stub += stub_bytes(was);
	}
	b.fixup_count = 0;
	b.code = (struct text){0};
	return b;
}

/* Of what was in the file and what is chosen of it. */
static void make_id(const struct making *m, const struct text *plan, uint8_t id[PLAN_NOTE_ID])
{
	uint64_t parts[2] = {hash_bytes(m->f->image.bytes, m->f->image.size),
			     hash_bytes(plan->s, plan->length)};

	memcpy(id, parts, PLAN_NOTE_ID);
}

/* The table has the size that it will have: its numbers have fixed widths. */
static bool make_all(struct making *m, struct build *b, const struct text *plan)
{
	uint8_t id[PLAN_NOTE_ID];
	struct build table;
	struct text first = {0};
	bool ok;

	make_id(m, plan, id);
	m->r.slots_bytes = SLOT * (m->plan.function_count + 1);
	m->r.stubs_bytes = stubs_bytes(&m->plan);
	table = table_of(m, b, id);
	ok = build_finish(&table, &first);
	m->r.plan_bytes = first.length;
	text_release(&first);
	if (!ok || !lay_out(m))
		return false;
	table = table_of(m, b, id);
	return build_finish(&table, &m->table) && put_stubs(m) &&
	       rewrite_finish(&m->r, id, &m->table, &m->frames, &m->stubs);
}

/* ---- what is refused ---- */

const char *instrument_refused(const struct functions *f)
{
	const struct image *m = &f->image;

	if (m->instrumented)
		return "it was instrumented already; take the file that it was made of";
	if (!m->dynamic.size || (m->kind == ET_EXEC && !m->interpreter))
		return "it is static, or packed: Kymo's library cannot be loaded into it";
	if (!m->interpreter && image_dynamic(m, DT_FLAGS_1) & DF_1_PIE)
		return "it is static (static-pie): Kymo's library cannot be loaded into it";
	if (image_dynamic(m, DT_TEXTREL) || image_dynamic(m, DT_FLAGS) & DF_TEXTREL)
		return "the loader changes its code (text relocations), so what lies in the file "
		       "is not "
		       "what runs";
	if (f->hook)
		return "a compiler has put hooks into its functions: `kymo run --functions` "
		       "records "
		       "it as it is";
	return NULL;
}

/* ---- the whole ---- */

bool instrument(struct functions *f, struct decoder *d, struct text *out, struct instrumented *told)
{
	struct making m = {.f = f, .r = {.image = &f->image, .out = out, .why = told->why}};
	struct text plan = {0};
	struct build b = {0};
	const char *refused = instrument_refused(f);
	bool ok;

	*told = (struct instrumented){0};
	if (refused)
		return fail(told, refused);
	fail(told, "there is no memory");
	ok = build_add(&b, f, d) && build_finish(&b, &plan);
	if (ok && !b.function_count)
		ok = fail(told, "no function is chosen");
	if (ok && !plan_open(&m.plan, plan.s, plan.length))
		ok = fail(told, "it is damaged");
	ok = ok && rewrite_open(&m.r) && make_all(&m, &b, &plan);
	told->functions = b.function_count;
	told->unframed = f->image.frame_header.size && !m.r.frames_bytes;
	told->unshadowed = m.r.unshadowed;
	text_release(&m.frames);
	rewrite_release(&m.r);
	text_release(&m.stubs);
	text_release(&m.table);
	text_release(&plan);
	build_release(&b);
	return ok && !out->failed;
}
