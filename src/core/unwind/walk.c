/* SPDX-License-Identifier: Apache-2.0 */
/* From frame to frame; see unwind.h. */
#include "core/unwind/unwind.h"

#include <stdatomic.h>
#include <string.h>

#include "base/careful.h"

#define RULES 8192u
#define BLOCK 512u /* of a stack of which nothing is known */

/* ---- rules that were needed before ---- */

/*
 * Two words without a lock: `mark` is the address mixed with the rule, so that halves of two rules are none. The generation
 * is in it, too: rules of objects that were there before are found no more.
 */
static struct kept {
	_Atomic uint64_t rule, mark;
} kept[RULES];

static uint64_t mark_of(uint64_t pc, uint32_t generation, uint64_t rule)
{
	return (pc | (uint64_t)generation << 48) ^ rule * 0x9e3779b97f4a7c15ull;
}

static bool rule_at(uint64_t pc, struct cfi_rule *out)
{
	struct kept *k = &kept[pc * 0x9e3779b97f4a7c15ull >> 51];
	uint32_t generation = unwind_generation();
	uint64_t word = atomic_load_explicit(&k->rule, memory_order_relaxed);
	struct cfi_tables t;

	if (atomic_load_explicit(&k->mark, memory_order_relaxed) == mark_of(pc, generation, word)) {
		memcpy(out, &word, sizeof(*out));
		return true;
	}
	if (!unwind_object(pc, &t))
		return false;
	cfi_find(&t, pc, out);
	memcpy(&word, out, sizeof(word));
	atomic_store_explicit(&k->rule, word, memory_order_relaxed);
	atomic_store_explicit(&k->mark, mark_of(pc, generation, word), memory_order_relaxed);
	return true;
}

/* ---- the stack ---- */

struct walk {
	struct unwind_registers r;
	bool fp_lost;
	bool exact;           /* `pc` is where the thread is, and not behind a call */
	uint64_t start, end;  /* known memory */
	uint64_t block, have; /* what was copied */
	uint8_t bytes[BLOCK];
};

static bool word_at(struct walk *w, uint64_t at, uint64_t *out)
{
	if (at & 7)
		return false;
	if (at >= w->start && at < w->end && w->end - at >= 8) {
		*out = *(const uint64_t *)(uintptr_t)at;
		return true;
	}
	if (at < w->block || at - w->block + 8 > w->have) {
		w->block = at;
		w->have = careful_copy(w->bytes, (const void *)(uintptr_t)at, BLOCK);
		if (w->have < 8) {
			w->have = 0;
			return false;
		}
	}
	memcpy(out, w->bytes + (at - w->block), 8);
	return true;
}

/* As the kernel leaves it on x86-64 (struct rt_sigframe without the return address). */
static bool step_signal(struct walk *w)
{
	struct unwind_registers r;

	if (!word_at(w, w->r.sp + 120, &r.fp) || !word_at(w, w->r.sp + 160, &r.sp) ||
	    !word_at(w, w->r.sp + 168, &r.pc))
		return false;
	w->r = r;
	w->fp_lost = false;
	w->exact = true;
	return true;
}

static bool frame_of(struct walk *w, const struct cfi_rule *rule, uint64_t *cfa)
{
	uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;

	if ((rule->cfa == CFI_RBP || rule->cfa == CFI_AT_RBP) && w->fp_lost)
		return false;
	switch (rule->cfa) {
	case CFI_RSP:
		*cfa = w->r.sp + offset;
		return true;
	case CFI_RBP:
		*cfa = w->r.fp + offset;
		return true;
	case CFI_AT_RBP:
		return word_at(w, w->r.fp + offset, cfa);
	case CFI_PLT:
		*cfa = w->r.sp + 8 + ((w->r.pc & 15) >= 11 ? 8 : 0);
		return true;
	default:
		return false;
	}
}

static bool step_rule(struct walk *w, const struct cfi_rule *rule)
{
	uint64_t offset = (uint64_t)(int64_t)rule->rbp_offset, cfa, fp = w->r.fp;

	if (!frame_of(w, rule, &cfa) || cfa <= w->r.sp || !word_at(w, cfa - 8, &w->r.pc))
		return false;
	if ((rule->rbp == CFI_RBP_BELOW && !word_at(w, cfa + offset, &fp)) ||
	    (rule->rbp == CFI_RBP_AT && !word_at(w, w->r.fp + offset, &fp)))
		return false;
	w->fp_lost = rule->rbp == CFI_RBP_LOST || (rule->rbp == CFI_RBP_SAME && w->fp_lost);
	w->r.fp = fp;
	w->r.sp = cfa;
	w->exact = false;
	return true;
}

static bool step_pointer(struct walk *w)
{
	uint64_t fp = w->r.fp, next, pc;

	if (w->fp_lost || fp < w->r.sp || !word_at(w, fp, &next) || !word_at(w, fp + 8, &pc))
		return false;
	w->r = (struct unwind_registers){.pc = pc, .sp = fp + 16, .fp = next};
	w->exact = false;
	return true;
}

/* False: the stack ends here. */
static bool step(struct walk *w, enum unwind_end *end)
{
	struct cfi_rule rule = {.cfa = CFI_NONE};
	bool known = rule_at(w->r.pc - !w->exact, &rule);

	*end = UNWIND_OUTERMOST;
	if (rule.cfa == CFI_OUTERMOST)
		return false;
	*end = UNWIND_MEMORY;
	if (rule.cfa == CFI_SIGNAL)
		return step_signal(w);
	if (rule.cfa != CFI_NONE)
		return step_rule(w, &rule);
	*end = known ? UNWIND_NO_RULE : UNWIND_NO_OBJECT;
	return step_pointer(w) && (!known || !w->r.pc || rule_at(w->r.pc - 1, &rule));
}

uint32_t unwind_stack(const struct unwind_registers *from, uint64_t known_end, uint64_t *out,
		      uint32_t most, enum unwind_end *end)
{
	struct walk w = {.exact = true};
	uint32_t n = 0;

	w.r = *from;
	w.start = from->sp;
	w.end = known_end;
	w.block = w.have = 0;
	while (n < most) {
		out[n++] = w.r.pc;
		if (!step(&w, end))
			return n;
		if (!w.r.pc) { /* who made the stack has put none below it */
			*end = UNWIND_OUTERMOST;
			return n;
		}
	}
	*end = UNWIND_DEPTH;
	return n;
}
