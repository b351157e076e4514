/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patching: each function's first instructions become a jump to a trampoline, which calls what records and goes on at a copy of
 * them (wire/plan.h). Only where no thread of the program can be in the module.
 *
 *	at the beginning	address of function_entry_patched
 *	for each function	the op, `call *beginning`, the copy
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture/function/patch.h"
#include "capture/function/returns.h"
#include "core/unwind/unwind.h"

#if defined(__x86_64__)

enum {
	HEAD = 16,
	OP = 8,   /* bytes before the call */
	CALL = 6, /* of the call; entry.S finds the op by both */
	ALIGN = 16
};

enum refusal { PATCHED, CHANGED, OUT_OF_REACH, NOT_WRITTEN, REFUSALS };

static size_t bytes_of(const struct plan_function *f)
{
	return (OP + CALL + (size_t)f->code_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static bool has_code(const struct plan_function *f)
{
	return f->how != PLAN_HOOK;
}

static size_t bytes_of_all(const struct plan_module *m)
{
	size_t bytes = 0;

	for (uint64_t i = 0; i < m->functions; i++) {
		const struct plan_function *f = &function_plan.functions[m->first_function + i];

		if (has_code(f))
			bytes += bytes_of(f);
	}
	return bytes ? bytes + HEAD : 0;
}

static void put32(uint8_t *at, int64_t distance)
{
	int32_t near = (int32_t)distance;

	memcpy(at, &near, sizeof(near));
}

/* ---- which function a place in trampolines is of ---- */

/* Of one module each; for good, as its trampolines are. */
struct area {
	struct area *next;
	uintptr_t start, end, bias;
};

static struct area *_Atomic areas;

static void add_area(struct area *a, const struct near *n, uintptr_t bias)
{
	*a = (struct area){atomic_load(&areas), n->runs, n->runs + n->bytes, bias};
	while (!atomic_compare_exchange_weak(&areas, &a->next, a))
		;
}

static const struct area *area_of(uintptr_t pc)
{
	const struct area *a = atomic_load_explicit(&areas, memory_order_acquire);

	while (a && (pc < a->start + HEAD || pc >= a->end))
		a = a->next;
	return a;
}

/* Whose trampoline begins there; NULL: none does. */
static const struct plan_function *begins(const struct area *a, uintptr_t at)
{
	static const uint8_t call[] = {0xff, 0x15};
	uintptr_t op, number;
	int32_t back;

	memcpy(&op, (const void *)at, sizeof(op));
	memcpy(&back, (const void *)(at + OP + 2), sizeof(back));
	number = (op - (uintptr_t)function_ops) / sizeof(*function_ops);
	return op >= (uintptr_t)function_ops && number < function_plan.function_count &&
			       op == (uintptr_t)&function_ops[number] &&
			       memcmp((const void *)(at + OP), call, sizeof(call)) == 0 &&
			       at + OP + CALL + (uintptr_t)(intptr_t)back == a->start
		       ? &function_plan.functions[number]
		       : NULL;
}

void function_undo_at(struct unwind_registers *r, uintptr_t bias, const struct plan_function *f,
		      uint32_t offset)
{
	uint64_t more;

	r->pc = bias + plan_origin(&function_plan, f, offset, &more);
	r->sp += more;
}

static void undo(struct unwind_registers *r)
{
	const struct area *a = area_of(r->pc);
	const struct plan_function *f = NULL;
	uintptr_t at = r->pc & ~(uintptr_t)(ALIGN - 1), before = 0;

	for (; a && !f && at > a->start && before <= OP + CALL + PLAN_CODE_MAX;
	     at -= ALIGN, before += ALIGN)
		f = begins(a, at);
	if (!f)
		return;
	at = r->pc - (at + ALIGN); /* of the trampoline */
	if (at < OP + CALL + (uintptr_t)f->code_bytes)
		function_undo_at(r, a->bias, f, at < OP + CALL ? 0 : (uint32_t)(at - OP - CALL));
}

void function_undo(struct unwind_registers *r)
{
	undo(r);
	function_undo_slot(r);
}

/* ---- writing ---- */

/* The trampoline of a function at offset `to`. */
static enum refusal write_trampoline(const struct near *n, size_t to, uintptr_t bias,
				     const struct plan_function *f)
{
	const struct cap_op *op = &function_ops[f - function_plan.functions];
	uint8_t *p = n->at + to;

	if (memcmp((const void *)(bias + f->site), f->expected, f->covered) != 0)
		return CHANGED;
	memcpy(p, &op, sizeof(op));
	p[OP] = 0xff; /* call *rel32(%rip) */
	p[OP + 1] = 0x15;
	put32(p + OP + 2, -(int64_t)(to + OP + CALL));
	return plan_code(&function_plan, f, bias, n->runs + to + OP + CALL, p + OP + CALL)
		       ? PATCHED
		       : OUT_OF_REACH;
}

/* The jump to it. */
static enum refusal write_jump(const struct near *n, size_t to, uintptr_t bias,
			       const struct plan_function *f)
{
	uint8_t jump[PLAN_JUMP] = {0xe9};
	uintptr_t site = bias + f->site;

	put32(jump + 1, (int64_t)(n->runs + to + OP - (site + PLAN_JUMP)));
	return near_write(site, jump, sizeof(jump)) ? PATCHED : NOT_WRITTEN;
}

static void tell(const struct plan_module *m, const uint32_t count[REFUSALS])
{
	static const char *const why[REFUSALS] = {
		[CHANGED] = "their code is not what it was when it was looked at",
		[OUT_OF_REACH] = "what they refer to is out of reach of any free memory",
		[NOT_WRITTEN] = "this process may not write code",
	};

	for (unsigned i = PATCHED + 1; i < REFUSALS; i++)
		if (count[i])
			cap_note(2, "function", "%u functions of %s are not traced: %s", count[i],
				 plan_string(&function_plan, m->path), why[i]);
}

/* First all trampolines, then, when they may be run, all jumps. A function without a trampoline has no op there. */
static void patch_all(struct near *n, uintptr_t bias, const struct plan_module *m,
		      uint32_t count[REFUSALS])
{
	struct area *area = malloc(sizeof(*area));
	const void *entry = function_entry_patched;
	const struct plan_function *f = &function_plan.functions[m->first_function];
	size_t to = HEAD;

	memcpy(n->at, &entry, sizeof(entry));
	for (uint64_t i = 0; i < m->functions; i++) {
		enum refusal r = has_code(&f[i]) ? write_trampoline(n, to, bias, &f[i]) : PATCHED;

		count[r]++;
		if (r != PATCHED)
			memset(n->at + to, 0, OP + CALL);
		to += has_code(&f[i]) ? bytes_of(&f[i]) : 0;
	}
	if (!near_close(n)) {
		count[NOT_WRITTEN] = (uint32_t)m->functions;
		free(area);
		return;
	}
	if (area)
		add_area(area, n, bias);
	to = HEAD;
	for (uint64_t i = 0; i < m->functions; i++) {
		if (has_code(&f[i]) && ((const uint8_t *)n->runs)[to + OP])
			count[write_jump(n, to, bias, &f[i])]++;
		to += has_code(&f[i]) ? bytes_of(&f[i]) : 0;
	}
}

void function_patch(uintptr_t bias, const struct plan_module *m)
{
	size_t bytes = bytes_of_all(m);
	uint32_t count[REFUSALS] = {0};
	const char *why;
	struct near n;

	if (!bytes)
		return;
	unwind_copies(function_undo);
	if (!function_returns_usable(&why))
		cap_note(2, "function", "functions of %s are not traced: %s",
			 plan_string(&function_plan, m->path), why);
	else if (!near_open(&n, bias + m->low, bias + m->high, bytes))
		cap_note(2, "function",
			 "functions of %s are not traced: there is no memory near it that may be "
			 "run",
			 plan_string(&function_plan, m->path));
	else
		patch_all(&n, bias, m, count);
	tell(m, count);
}

/* Of the first function that is patched. */
bool function_is_fresh(uintptr_t bias, const struct plan_module *m)
{
	const struct plan_function *f = &function_plan.functions[m->first_function];

	for (uint64_t i = 0; i < m->functions; i++)
		if (f[i].how == PLAN_SLOT)
			return !*(const uint64_t *)(bias + f[i].site);
		else if (has_code(&f[i]))
			return memcmp((const void *)(bias + f[i].site), f[i].expected,
				      f[i].covered) == 0;
	return false;
}
#else
bool function_is_fresh(uintptr_t bias, const struct plan_module *m)
{
	return false;
}

void function_patch(uintptr_t bias, const struct plan_module *m)
{
	if (m->functions)
		cap_note(2, "function", "functions of %s are not patched: only x86-64 is known",
			 plan_string(&function_plan, m->path));
}
#endif
