/* SPDX-License-Identifier: Apache-2.0 */
/* From frame to frame; see unwind.h. */
#include "core/unwind/unwind.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/careful.h"

#define RULES 8192u
#define BLOCK 512u /* of a stack of which nothing is known */
#define SAVED 64u  /* registers of a frame */

/* ---- rules that were needed before ---- */

/*
 * Three words without a lock: `mark` is the address mixed with the rule, so that parts of two rules are none. The generation
 * is in it, too: rules of objects that were there before are found no more.
 */
_Static_assert(sizeof(struct cfi_rule) > 8 && sizeof(struct cfi_rule) <= 16, "a rule is two words");

static struct kept {
	_Atomic uint64_t rule[2], mark;
} kept[RULES];

static uint64_t mark_of(uint64_t pc, uint32_t generation, const uint64_t rule[2])
{
	return (pc | (uint64_t)generation << 48) ^ rule[0] * 0x9e3779b97f4a7c15ull ^
	       rule[1] * 0xc2b2ae3d27d4eb4full;
}

static bool rule_at(uint64_t pc, struct cfi_rule *out)
{
	struct kept *k = &kept[pc * 0x9e3779b97f4a7c15ull >> 51];
	uint32_t generation = unwind_generation();
	uint64_t words[2] = {atomic_load_explicit(&k->rule[0], memory_order_relaxed),
			     atomic_load_explicit(&k->rule[1], memory_order_relaxed)};
	struct cfi_tables t;

	if (atomic_load_explicit(&k->mark, memory_order_relaxed) ==
	    mark_of(pc, generation, words)) {
		memcpy(out, words, sizeof(*out));
		return true;
	}
	if (!unwind_object(pc, &t))
		return false;
	cfi_find(&t, pc, out);
	words[1] = 0;
	memcpy(words, out, sizeof(*out));
	atomic_store_explicit(&k->rule[0], words[0], memory_order_relaxed);
	atomic_store_explicit(&k->rule[1], words[1], memory_order_relaxed);
	atomic_store_explicit(&k->mark, mark_of(pc, generation, words), memory_order_relaxed);
	return true;
}

/* ---- the stack ---- */

struct walk {
	struct unwind_registers r;
	bool fp_lost, bx_lost;
	bool exact;           /* `pc` is where the thread is, and not behind a call */
	bool copied, more;    /* `known` is a copy, and nothing else may be read */
	bool cut;             /* what was wanted lies behind it */
	uint64_t tick;        /* of the stack */
	uint64_t start, end;  /* known memory */
	const uint8_t *known; /* what is there */
	uint64_t block, have; /* what was read of other memory */
	uint8_t bytes[BLOCK];
};

static bool unknown_word(struct walk *w, uint64_t at, uint64_t *out)
{
	if (at < w->block || at - w->block + 8 > w->have) {
		/* Registers are kept below the return address, which is read first. */
		w->block = at < w->r.sp ? at : at - w->r.sp < SAVED ? w->r.sp : at - SAVED;
		w->have = careful_copy(w->bytes, (const void *)(uintptr_t)w->block, BLOCK);
		if (w->have < at - w->block + 8) {
			w->have = 0;
			return false;
		}
	}
	memcpy(out, w->bytes + (at - w->block), 8);
	return true;
}

static bool word_at(struct walk *w, uint64_t at, uint64_t *out)
{
	if (at & 7)
		return false;
	if (at >= w->start && at < w->end && w->end - at >= 8) {
		memcpy(out, w->known + (at - w->start), 8);
		return true;
	}
	w->cut = w->copied && w->more && at >= w->start;
	return !w->copied && unknown_word(w, at, out);
}

/* As the kernel leaves it on x86-64 (struct rt_sigframe without the return address). */
static bool step_signal(struct walk *w)
{
	struct unwind_registers r;

	if (!word_at(w, w->r.sp + 120, &r.fp) || !word_at(w, w->r.sp + 128, &r.bx) ||
	    !word_at(w, w->r.sp + 160, &r.sp) || !word_at(w, w->r.sp + 168, &r.pc))
		return false;
	w->r = r;
	w->fp_lost = w->bx_lost = false;
	w->exact = true;
	return true;
}

static bool frame_of(struct walk *w, const struct cfi_rule *rule, uint64_t *cfa)
{
	uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;

	switch (rule->cfa) {
	case CFI_RSP:
		*cfa = w->r.sp + offset;
		return true;
	case CFI_RBP:
		*cfa = w->r.fp + offset;
		return !w->fp_lost;
	case CFI_RBX:
		*cfa = w->r.bx + offset;
		return !w->bx_lost;
	case CFI_AT_RBP:
		return !w->fp_lost && word_at(w, w->r.fp + offset, cfa);
	case CFI_PLT:
		*cfa = w->r.sp + 8 + ((w->r.pc & 15) >= offset ? 8 : 0);
		return true;
	default:
		return false;
	}
}

/*
 * The caller's value of a register. Rules go on to name its place behind the instruction that has taken it back from there, at
 * the end of functions: the register has it where the place is no longer part of the stack.
 */
static bool kept_of(struct walk *w, uint8_t how, int16_t offset, uint64_t cfa, uint64_t *value,
		    bool *is_lost)
{
	uint64_t by = (uint64_t)(int64_t)offset;

	switch (how) {
	case CFI_SAME:
		return true;
	case CFI_BELOW:
		if (cfa + by < w->r.sp)
			return true;
		*is_lost = false;
		return word_at(w, cfa + by, value);
	case CFI_BY_RBP:
		*is_lost = w->fp_lost;
		return w->fp_lost || word_at(w, w->r.fp + by, value);
	default:
		*is_lost = true;
		return true;
	}
}

static bool step_rule(struct walk *w, const struct cfi_rule *rule)
{
	struct unwind_registers r = w->r;
	bool fp_lost = w->fp_lost;

	/* Where a function has just returned to a stub its return address lies below the stack. */
	if (!frame_of(w, rule, &r.sp) || r.sp < w->r.sp + !w->exact ||
	    !word_at(w, r.sp - 8, &r.pc) ||
	    !kept_of(w, rule->rbx, rule->rbx_offset, r.sp, &r.bx, &w->bx_lost) ||
	    !kept_of(w, rule->rbp, rule->rbp_offset, r.sp, &r.fp, &fp_lost))
		return false;
	w->r = r;
	w->fp_lost = fp_lost;
	w->exact = false;
	return true;
}

static bool step_pointer(struct walk *w)
{
	uint64_t fp = w->r.fp, next, pc;

	if (w->fp_lost || fp < w->r.sp || !word_at(w, fp, &next) || !word_at(w, fp + 8, &pc))
		return false;
	w->r = (struct unwind_registers){.pc = pc, .sp = fp + 16, .fp = next};
	w->bx_lost = true;
	w->exact = false;
	return true;
}

/*
 * Behind the call of a stub of generated code that has eight bytes of the stack and nothing else: those in which Python 3.12 and
 * 3.13 call their evaluation loop ("-X perf").
 */
static bool step_stub(struct walk *w)
{
	static const uint8_t rest[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}; /* add $8, %rsp; ret */
	struct cfi_rule rule = {.cfa = CFI_RSP, .cfa_offset = 16};
	uint8_t code[sizeof(rest)];

	return !w->exact &&
	       careful_copy(code, (const void *)(uintptr_t)w->r.pc, sizeof(code)) == sizeof(code) &&
	       memcmp(code, rest, sizeof(rest)) == 0 && step_rule(w, &rule);
}

/* False: the stack ends here. */
static bool step(struct walk *w, enum stack_end *end)
{
	struct cfi_rule rule = {.cfa = CFI_NONE};
	bool known = rule_at(w->r.pc - !w->exact, &rule);

	*end = STACK_OUTERMOST;
	if (rule.cfa == CFI_OUTERMOST)
		return false;
	*end = STACK_MEMORY;
	if (rule.cfa == CFI_SIGNAL)
		return step_signal(w);
	if (rule.cfa != CFI_NONE)
		return step_rule(w, &rule);
	*end = known ? STACK_NO_RULE : STACK_NO_OBJECT;
	if (!known && step_stub(w))
		return true;
	return step_pointer(w) && (!known || !w->r.pc || rule_at(w->r.pc - 1, &rule));
}

static struct unwind_stubs stubs;
static _Atomic uint64_t stub_bytes; /* written last */

void unwind_stubs(const struct unwind_stubs *s)
{
	stubs = *s;
	atomic_store(&stub_bytes, s->bytes);
}

bool unwind_has_stubs(void)
{
	return atomic_load(&stub_bytes) != 0;
}

static bool is_stub(uint64_t pc)
{
	return pc - stubs.start < atomic_load_explicit(&stub_bytes, memory_order_acquire);
}

/* The address first: one that comes meanwhile is found with its own time. */
static uint64_t original_of(uint64_t pc, uint64_t *since)
{
	const uint64_t n = (pc - stubs.start) / 8;
	const uint64_t *at =
		(const uint64_t *)((const uint8_t *)stubs.originals + n * stubs.stride);
	const uint64_t original = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	*since = __atomic_load_n(&stubs.since[n], __ATOMIC_RELAXED);
	return original;
}

uint64_t unwind_original(uint64_t pc)
{
	uint64_t since;

	return is_stub(pc) ? original_of(pc, &since) : pc;
}

static void (*_Atomic copies)(struct unwind_registers *r);

void unwind_copies(void (*original)(struct unwind_registers *r))
{
	atomic_store(&copies, original);
}

/* Where the thread would stand if Kymo had copied nothing. */
static void undo_copy(struct walk *w)
{
	void (*original)(struct unwind_registers * r) =
		atomic_load_explicit(&copies, memory_order_acquire);

	if (original)
		original(&w->r);
}

/* Where it would stand, or return to, if Kymo had replaced nothing there. False: that was no longer known when the copy was read. */
static bool undo_stub(struct walk *w)
{
	uint64_t since, original;

	if (!is_stub(w->r.pc))
		return true;
	original = original_of(w->r.pc, &since);
	if (w->copied && since > w->tick)
		return false;
	w->r.pc = original;
	return true;
}

static uint32_t walk(struct walk *w, uint64_t *out, uint32_t most, enum stack_end *end)
{
	uint32_t n = 0;

	w->exact = true;
	if (!undo_stub(w)) {
		out[0] = w->r.pc;
		*end = STACK_REPLACED;
		return 1;
	}
	undo_copy(w);
	while (n < most) {
		out[n++] = w->r.pc;
		w->cut = false;
		if (!step(w, end)) {
			if (w->cut && *end != STACK_OUTERMOST)
				*end = STACK_CUT;
			return n;
		}
		if (!undo_stub(w)) {
			*end = STACK_REPLACED;
			return n;
		}
		if (w->exact)
			undo_copy(w);
		if (!w->r.pc) { /* who made the stack has put none below it */
			*end = STACK_OUTERMOST;
			return n;
		}
	}
	*end = STACK_DEPTH;
	return n;
}

uint32_t unwind_stack(const struct unwind_registers *from, uint64_t known_end, uint64_t *out,
		      uint32_t most, enum stack_end *end)
{
	struct walk w;

	memset(&w, 0, offsetof(struct walk, bytes));
	w.r = *from;
	w.start = from->sp;
	w.end = known_end;
	w.known = (const uint8_t *)(uintptr_t)from->sp;
	return walk(&w, out, most, end);
}

uint32_t unwind_copied(const struct unwind_registers *from, const struct unwind_copy *stack,
		       uint64_t *out, uint32_t most, enum stack_end *end)
{
	struct walk w;

	memset(&w, 0, offsetof(struct walk, bytes));
	w.r = *from;
	w.start = from->sp;
	w.end = from->sp + stack->size;
	w.known = stack->bytes;
	w.copied = true;
	w.more = stack->more;
	w.tick = stack->tick;
	return walk(&w, out, most, end);
}
