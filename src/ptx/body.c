/* SPDX-License-Identifier: Apache-2.0 */
/* See body.h. Text is only inserted, in front of instructions; lines of the source (.loc) are left out. */
#include "ptx/body.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "ptx/names.h"
#include "ptx/rewrite.h"

enum { HEAD = 8, GUARDS = 16, OPERANDS = 8 };

/* Of a body that is being rewritten. */
struct body {
	struct ptx_bodies *all;
	const char *text;
	const struct ptx_item *function;
	struct ptx_names names;
	uint32_t copied; /* the text up to here is in the source */
	uint32_t depth;  /* of scopes */
	uint32_t block;
	const char *
		pending; /* kind of the block that begins with the next instruction; NULL: it goes on */
	struct ptx_place place;
	struct guard { /* blocks of what is executed only if a predicate is so, in this block */
		struct ptx_word name;
		bool negated;
		uint32_t block;
	} guards[GUARDS];
	uint32_t guard_count;
};

static const char prologue[] =
	"\n\t.reg .pred %kymo_p, %kymo_q, %kymo_on;\n"
	"\t.reg .b32 %kymo_m, %kymo_l, %kymo_t, %kymo_u, %kymo_x, %kymo_y, %kymo_g, %kymo_k;\n"
	"\t.reg .b64 %kymo_c, %kymo_n, %kymo_d, %kymo_a, %kymo_i, %kymo_room, %kymo_r;\n"
	"\tld.global.u64 %kymo_c, [kymo_context];\n"
	"\tmov.u32 %kymo_l, %lanemask_lt;\n"
	"\tmov.u32 %kymo_t, %smid;\n"
	"\tld.global.u32 %kymo_m, [%kymo_c+8];\n"
	"\trem.u32 %kymo_t, %kymo_t, %kymo_m;\n"
	"\tld.global.u32 %kymo_m, [%kymo_c+16];\n"
	"\tmul.wide.u32 %kymo_n, %kymo_t, %kymo_m;\n"
	"\tshl.b64 %kymo_n, %kymo_n, 3;\n"
	"\tadd.s64 %kymo_n, %kymo_n, %kymo_c;\n";

/* Which group and item it is, whether its accesses are recorded, and where. */
static const char recording[] = "\tmov.u32 %kymo_g, %ctaid.z;\n"
				"\tmov.u32 %kymo_t, %nctaid.y;\n"
				"\tmov.u32 %kymo_u, %ctaid.y;\n"
				"\tmad.lo.u32 %kymo_g, %kymo_g, %kymo_t, %kymo_u;\n"
				"\tmov.u32 %kymo_t, %nctaid.x;\n"
				"\tmov.u32 %kymo_u, %ctaid.x;\n"
				"\tmad.lo.u32 %kymo_g, %kymo_g, %kymo_t, %kymo_u;\n"
				"\tmov.u32 %kymo_k, %tid.z;\n"
				"\tmov.u32 %kymo_t, %ntid.y;\n"
				"\tmov.u32 %kymo_u, %tid.y;\n"
				"\tmad.lo.u32 %kymo_k, %kymo_k, %kymo_t, %kymo_u;\n"
				"\tmov.u32 %kymo_t, %ntid.x;\n"
				"\tmov.u32 %kymo_u, %tid.x;\n"
				"\tmad.lo.u32 %kymo_k, %kymo_k, %kymo_t, %kymo_u;\n"
				"\tld.global.u64 %kymo_room, [%kymo_c+32];\n"
				"\tld.global.u64 %kymo_r, [%kymo_c+48];\n"
				"\tshl.b64 %kymo_r, %kymo_r, 3;\n"
				"\tadd.s64 %kymo_r, %kymo_r, %kymo_c;\n"
				"\tld.global.v2.u32 {%kymo_t, %kymo_u}, [%kymo_c+56];\n"
				"\tsub.u32 %kymo_t, %kymo_g, %kymo_t;\n"
				"\tsetp.lt.u32 %kymo_on, %kymo_t, %kymo_u;\n"
				"\tsetp.eq.u32 %kymo_p, %kymo_u, 0;\n"
				"\tor.pred %kymo_on, %kymo_on, %kymo_p;\n";

/* One reservation for all threads that are here together, then a record of each: its number, and the address in kymo_a. */
static const char record[] =
	"\tactivemask.b32 %%kymo_m;\n"
	"\tand.b32 %%kymo_t, %%kymo_m, %%kymo_l;\n"
	"\tpopc.b32 %%kymo_t, %%kymo_t;\n"
	"\tpopc.b32 %%kymo_u, %%kymo_m;\n"
	"\tcvt.u64.u32 %%kymo_d, %%kymo_u;\n"
	"\tsetp.eq.u32 %%kymo_q, %%kymo_t, 0;\n"
	"\tmov.u64 %%kymo_i, 0;\n"
	"\t@%%kymo_q atom.global.add.u64 %%kymo_i, [%%kymo_c+40], %%kymo_d;\n"
	"\tbrev.b32 %%kymo_u, %%kymo_m;\n"
	"\tclz.b32 %%kymo_u, %%kymo_u;\n"
	"\tmov.b64 {%%kymo_x, %%kymo_y}, %%kymo_i;\n"
	"\tshfl.sync.idx.b32 %%kymo_x, %%kymo_x, %%kymo_u, 31, %%kymo_m;\n"
	"\tshfl.sync.idx.b32 %%kymo_y, %%kymo_y, %%kymo_u, 31, %%kymo_m;\n"
	"\tmov.b64 %%kymo_i, {%%kymo_x, %%kymo_y};\n"
	"\tcvt.u64.u32 %%kymo_d, %%kymo_t;\n"
	"\tadd.s64 %%kymo_i, %%kymo_i, %%kymo_d;\n"
	"\tsetp.ge.u64 %%kymo_q, %%kymo_i, %%kymo_room;\n"
	"\t@%%kymo_q bra $kymo_%u;\n"
	"\tshl.b64 %%kymo_i, %%kymo_i, 5;\n"
	"\tadd.s64 %%kymo_i, %%kymo_i, %%kymo_r;\n"
	"\tmov.u32 %%kymo_x, %u;\n"
	"\tmov.u32 %%kymo_y, 0;\n"
	"\tst.global.v4.u32 [%%kymo_i], {%%kymo_x, %%kymo_g, %%kymo_k, %%kymo_y};\n"
	"\tmov.u64 %%kymo_d, %%clock64;\n"
	"\tst.global.v2.u64 [%%kymo_i+16], {%%kymo_a, %%kymo_d};\n"
	"$kymo_%u:\n";

/* ---- text ---- */

static void copy(struct body *b, uint32_t up_to)
{
	if (up_to > b->copied)
		text_add_bytes(&b->all->source, b->text + b->copied, up_to - b->copied);
	b->copied = up_to > b->copied ? up_to : b->copied;
}

static void add_word(struct body *b, struct ptx_word w)
{
	text_add_bytes(&b->all->source, b->text + w.at, w.length);
}

/* ---- blocks ---- */

/* To `label` where nothing is recorded, as the guard does not hold, or the group is none of those that are. */
static void skip_unless(struct body *b, const struct ptx_statement *guard, uint32_t label)
{
	struct text *t = &b->all->source;

	if (guard && guard->guard.length) {
		text_addf(t, "\t@%s", guard->negated ? "" : "!");
		add_word(b, guard->guard);
		text_addf(t, " bra $kymo_%u;\n", label);
	}
	text_addf(t, "\t@!%%kymo_on bra $kymo_%u;\n", label);
}

/* Of something that has a time, and no address. */
static void record_time(struct body *b, const struct ptx_statement *guard, uint32_t number)
{
	uint32_t label;

	if (!b->all->times)
		return;
	label = b->all->labels++;
	skip_unless(b, guard, label);
	text_add(&b->all->source, "\tmov.u64 %kymo_a, 0;\n");
	text_addf(&b->all->source, record, label, number, label);
}

static uint32_t block_new(struct body *b, const char *kind)
{
	struct ptx_bodies *a = b->all;

	if (!vec_reserve(&a->blocks, &a->block_room, a->block_count, 1)) {
		a->failed = true;
		return 0;
	}
	a->blocks[a->block_count] = (struct ptx_block){b->function->name, kind, b->place};
	return a->block_count++;
}

/* Those that are here together count once: the first of them, for all. With a guard they are those for whom it holds. */
static void count_block(struct body *b, uint32_t block, const struct ptx_statement *guard)
{
	struct text *t = &b->all->source;
	const char *no = guard && guard->negated ? "!" : "";

	text_add(t, "\t");
	if (guard) {
		text_addf(t, "@%s", no);
		add_word(b, guard->guard);
	}
	text_add(t, " activemask.b32 %kymo_m;\n"
		    "\tand.b32 %kymo_t, %kymo_m, %kymo_l;\n"
		    "\tpopc.b32 %kymo_u, %kymo_m;\n"
		    "\tcvt.u64.u32 %kymo_d, %kymo_u;\n");
	if (guard) {
		text_addf(t, "\tsetp.eq.and.u32 %%kymo_q, %%kymo_t, 0, %s", no);
		add_word(b, guard->guard);
		text_add(t, ";\n");
	} else {
		text_add(t, "\tsetp.eq.u32 %kymo_q, %kymo_t, 0;\n");
	}
	text_addf(t, "\t@%%kymo_q red.global.add.u64 [%%kymo_n+%llu], %%kymo_d;\n",
		  8ull * (HEAD + block));
}

static void block_begin(struct body *b, uint32_t at)
{
	if (!b->pending)
		return;
	b->block = block_new(b, b->pending);
	b->pending = NULL;
	b->guard_count = 0;
	copy(b, at);
	count_block(b, b->block, NULL);
	record_time(b, NULL, PTX_RECORD_BLOCK | b->block);
}

/* Of a guarded instruction: which block counts how often it is executed. */
static uint32_t guarded_block(struct body *b, const struct ptx_statement *s)
{
	struct guard *g = b->guards;

	for (uint32_t i = 0; i < b->guard_count; i++)
		if (g[i].negated == s->negated && ptx_words_equal(b->text, g[i].name, s->guard))
			return g[i].block;
	if (b->guard_count == GUARDS)
		b->guard_count = 0;
	g = &b->guards[b->guard_count++];
	*g = (struct guard){s->guard, s->negated, block_new(b, "predicated")};
	copy(b, s->start);
	count_block(b, g->block, s);
	return g->block;
}

/* What is written to ceases to be the predicate of a block: all names in front of the first comma that is in no brackets. */
static void forget_guards(struct body *b, const struct ptx_statement *s)
{
	uint32_t at = s->operands, depth = 0;

	while (b->guard_count && at < s->end) {
		struct ptx_word w = ptx_word_next(b->text, &at, s->end);
		const char c = w.length ? b->text[w.at] : ';';

		depth += c == '{' || c == '(';
		depth -= (c == '}' || c == ')') && depth;
		if (c == ';' || (c == ',' && !depth))
			return;
		for (uint32_t i = 0; i < b->guard_count; i++)
			if (ptx_words_equal(b->text, b->guards[i].name, w))
				b->guards[i--] = b->guards[--b->guard_count];
	}
}

/* ---- accesses ---- */

/* The operands, which commas part. */
static uint32_t operands_of(const struct body *b, const struct ptx_statement *s,
			    struct ptx_word out[OPERANDS])
{
	uint32_t at = s->operands, depth = 0, count = 0, from = at;

	for (; at < s->end && count < OPERANDS; at++) {
		const char c = b->text[at];

		depth += c == '{' || c == '[' || c == '(';
		depth -= (c == '}' || c == ']' || c == ')') && depth;
		if (depth || (c != ',' && c != ';'))
			continue;
		while (from < at && strchr(" \t\r\n", b->text[from]))
			from++;
		out[count++] = (struct ptx_word){from, at - from};
		from = at + 1;
	}
	return count;
}

/* What stands in the n-th brackets; length 0: there are none. */
static struct ptx_word address_of(const struct body *b, const struct ptx_word *o, uint32_t count,
				  uint32_t n)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!o[i].length || b->text[o[i].at] != '[')
			continue;
		if (n-- == 0)
			return (struct ptx_word){o[i].at + 1,
						 o[i].length > 1 ? o[i].length - 2 : 0};
	}
	return (struct ptx_word){0, 0};
}

/* To kymo_a: a register or a name, and perhaps a number. False: it is something else. */
static bool add_address(struct body *b, struct ptx_word w)
{
	struct text *t = &b->all->source;
	uint32_t at = w.at, end = w.at + w.length, bits;
	struct ptx_word base = ptx_word_next(b->text, &at, end), rest = {at, end - at};

	if (!base.length || !ptx_named(b->text[base.at]) ||
	    memchr(b->text + rest.at, ',', rest.length))
		return false;
	bits = ptx_names_bits(&b->names, base);
	if (b->text[base.at] == '%' && bits != 32 && bits != 64)
		return false;
	text_add(t, bits == 32 ? "\tcvt.u64.u32 %kymo_a, " : "\tmov.u64 %kymo_a, ");
	add_word(b, base);
	text_add(t, ";\n");
	base = ptx_word_next(b->text, &at, end);
	if (base.length && b->text[base.at] == '+') {
		text_add(t, "\tadd.s64 %kymo_a, %kymo_a, ");
		text_add_bytes(t, b->text + at, end - at);
		text_add(t, ";\n");
	}
	return true;
}

/* Copies that take nothing: their last operand says how many bytes there are, the rest becomes zero. */
static void add_size_check(struct body *b, const struct ptx_site *s, const struct ptx_word *o,
			   uint32_t count, uint32_t label)
{
	if (s->access.operand != 1 || count < 4 || ptx_names_bits(&b->names, o[3]) != 32)
		return;
	text_add(&b->all->source, "\tsetp.eq.u32 %kymo_q, ");
	add_word(b, o[3]);
	text_addf(&b->all->source, ", 0;\n\t@%%kymo_q bra $kymo_%u;\n", label);
}

static void record_access(struct body *b, const struct ptx_statement *s, uint32_t site,
			  const struct ptx_word *o, uint32_t count)
{
	struct text *t = &b->all->source;
	struct ptx_site *is = &b->all->sites[site];
	const struct ptx_word address = address_of(b, o, count, is->access.operand);
	const uint32_t label = b->all->labels++;

	copy(b, s->start);
	skip_unless(b, s, label);
	add_size_check(b, is, o, count, label);
	if (add_address(b, address))
		text_addf(t, record, label, site, label);
	else
		text_addf(t, "$kymo_%u:\n", label);
}

static void add_site(struct body *b, const struct ptx_statement *s, uint32_t block,
		     struct ptx_access access)
{
	struct ptx_bodies *a = b->all;
	struct ptx_word o[OPERANDS];
	const uint32_t count = operands_of(b, s, o);

	if (!access.bytes && count > 2)
		access.bytes = (uint32_t)strtoul(b->text + o[2].at, NULL, 0);
	if (!vec_reserve(&a->sites, &a->site_room, a->site_count, 1)) {
		a->failed = true;
		return;
	}
	a->sites[a->site_count] = (struct ptx_site){block, access, b->place};
	if (a->addresses && access.addressed && strcmp(access.space, "private") != 0)
		record_access(b, s, a->site_count, o, count);
	a->site_count++;
}

static void add_work(struct body *b, uint32_t block, const struct ptx_decoded *d)
{
	struct ptx_bodies *a = b->all;

	if (!vec_reserve(&a->work, &a->work_room, a->work_count, 1)) {
		a->failed = true;
		return;
	}
	a->work[a->work_count++] = (struct ptx_work){block, d->work, d->times, b->place};
}

/* ---- statements ---- */

/* The thread leaves the kernel. */
static bool leaves(const struct body *b, const struct ptx_statement *s)
{
	const char *name = b->text + s->name.at;

	return (s->name.length >= 4 && strncmp(name, "exit", 4) == 0) ||
	       (s->name.length >= 3 && strncmp(name, "ret", 3) == 0 &&
		b->function->kind == PTX_KERNEL);
}

static void instruction(struct body *b, const struct ptx_statement *s)
{
	struct ptx_decoded d;
	uint32_t block;

	ptx_decode(b->text + s->name.at, s->name.length, s->guard.length != 0, &d);
	if (d.refused && !b->all->why)
		b->all->why = d.refused;
	block_begin(b, s->start);
	block = b->block;
	if (s->guard.length && !d.branches && (d.accesses || d.work))
		block = guarded_block(b, s);
	for (uint32_t i = 0; i < d.accesses; i++)
		add_site(b, s, block, d.access[i]);
	if (d.work)
		add_work(b, block, &d);
	if (leaves(b, s)) {
		copy(b, s->start);
		record_time(b, s, PTX_RECORD_END);
	}
	forget_guards(b, s);
	if (d.branches)
		b->pending = "rest";
}

/* `.loc file line column`: line 0 is of nothing in particular. */
static void location(struct body *b, const struct ptx_statement *s)
{
	uint32_t at = s->operands, number[3] = {0, 0, 0};

	for (int i = 0; i < 3; i++) {
		struct ptx_word w = ptx_word_next(b->text, &at, s->end);

		number[i] = w.length ? (uint32_t)strtoul(b->text + w.at, NULL, 10) : 0;
	}
	if (number[1])
		b->place = (struct ptx_place){number[0], number[1], number[2]};
}

/* A mark of kymo/kernel.h: `.reg .pred kymo_begin_NAME;`. */
static void region(struct body *b, const struct ptx_statement *s)
{
	struct ptx_bodies *a = b->all;
	uint32_t at = s->operands;
	struct ptx_word name;
	bool begins;

	ptx_word_next(b->text, &at, s->end); /* the type: its point and its word */
	ptx_word_next(b->text, &at, s->end);
	name = ptx_word_next(b->text, &at, s->end);
	begins = ptx_word_begins(b->text, name, "kymo_begin_");
	if (!begins && !ptx_word_begins(b->text, name, "kymo_end_"))
		return;
	at = begins ? sizeof("kymo_begin_") - 1 : sizeof("kymo_end_") - 1;
	block_begin(b, s->start);
	copy(b, s->start);
	if (!vec_reserve(&a->regions, &a->region_room, a->region_count, 1)) {
		a->failed = true;
		return;
	}
	a->regions[a->region_count] =
		(struct ptx_region){b->block, begins, {name.at + at, name.length - at}, b->place};
	record_time(b, NULL, PTX_RECORD_REGION | a->region_count++);
}

static void directive(struct body *b, const struct ptx_statement *s)
{
	if (ptx_word_is(b->text, s->name, ".loc")) {
		location(b, s);
		copy(b, s->start);
		b->copied = s->end;
	} else if (ptx_word_is(b->text, s->name, ".reg")) {
		region(b, s);
		b->all->failed |= !ptx_names_declare(&b->names, s->operands, s->end, b->depth);
	}
}

/* The place of the first instruction is not known yet; `.loc` of the function's own line comes first. */
static void open(struct body *b, const struct ptx_statement *s)
{
	if (b->depth++)
		return;
	copy(b, s->end);
	text_add(&b->all->source, prologue);
	if (b->all->addresses || b->all->times)
		text_add(&b->all->source, recording);
	b->pending = "function";
}

static void statement(struct body *b, const struct ptx_statement *s)
{
	switch (s->kind) {
	case PTX_OPEN:
		open(b, s);
		break;
	case PTX_CLOSE:
		ptx_names_leave(&b->names, b->depth);
		b->depth -= b->depth != 0;
		b->guard_count = 0; /* a name may be another one's now */
		break;
	case PTX_LABEL:
		if (ptx_names_is_target(&b->names, s->name))
			b->pending = "label";
		break;
	case PTX_DIRECTIVE:
		directive(b, s);
		break;
	case PTX_INSTRUCTION:
		instruction(b, s);
		break;
	default:
		break;
	}
}

void ptx_body(struct ptx_bodies *all, const struct ptx_item *function)
{
	struct body b = {.all = all,
			 .text = all->m->text,
			 .function = function,
			 .names = {.text = all->m->text},
			 .copied = function->body};
	struct ptx_scan scan = {all->m->text, function->end, function->body};
	struct ptx_statement s;

	all->failed |= !ptx_names_targets(&b.names, function->body, function->end);
	for (s = ptx_next(&scan); s.kind != PTX_END && s.kind != PTX_BAD; s = ptx_next(&scan))
		statement(&b, &s);
	if (s.kind == PTX_BAD && !all->why)
		all->why = "its PTX cannot be read";
	copy(&b, function->end);
	ptx_names_release(&b.names);
	all->failed |= all->source.failed;
}

void ptx_bodies_release(struct ptx_bodies *b)
{
	text_release(&b->source);
	free(b->blocks);
	free(b->sites);
	free(b->work);
	free(b->regions);
}
