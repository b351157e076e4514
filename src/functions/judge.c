/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions can be patched; see functions.h. Here: their first bytes, and what stands there besides. */
#include "functions/judge.h"

#include <stdlib.h>
#include <string.h>

#include "functions/relocate.h"

enum { BODY_TIMES = 4 }; /* bytes that are decoded of bodies, in sizes of the code */

/* They return twice, go back to where others were called from, find their callers by their stack, or trace functions themselves. */
static const char *const reserved[] = {"setjmp",
				       "_setjmp",
				       "__setjmp",
				       "sigsetjmp",
				       "__sigsetjmp",
				       "longjmp",
				       "_longjmp",
				       "__longjmp",
				       "siglongjmp",
				       "__longjmp_chk",
				       "____longjmp_chk",
				       "vfork",
				       "__vfork",
				       "__libc_vfork",
				       "getcontext",
				       "setcontext",
				       "swapcontext",
				       "makecontext",
				       "__start_context",
				       "backtrace",
				       "__backtrace",
				       "mcount",
				       "_mcount",
				       "__fentry__",
				       "__cyg_profile_func_enter",
				       "__cyg_profile_func_exit",
				       "__tls_get_addr",
				       "__stack_chk_fail",
				       "__gxx_personality_v0",
				       "__gcc_personality_v0",
				       "__cxa_throw",
				       "__cxa_rethrow",
				       "__cxa_begin_catch",
				       "__cxa_end_catch",
				       "__cxa_get_globals",
				       "__cxa_get_globals_fast"};
static const char *const reserved_begin[] = {"_Unwind_", "uw_",         "__xray_",
					     "_dl_",     "__morestack", "__sanitizer_",
					     "__asan_",  "__tsan_",     "kymo_"};
static const char *const starts[] = {"_start",
				     "_init",
				     "_fini",
				     "__libc_start_main",
				     "__libc_start_call_main",
				     "start_thread",
				     "clone",
				     "__clone",
				     "clone3",
				     "__clone3"};

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}
#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof((list)[0]))

static bool is_reserved(const char *name)
{
	for (size_t i = 0; i < sizeof(reserved_begin) / sizeof(reserved_begin[0]); i++)
		if (strncmp(name, reserved_begin[i], strlen(reserved_begin[i])) == 0)
			return true;
	return IS_ONE_OF(name, reserved);
}

/* GCC: "name.cold", "name.cold.3"; what is called by name has "name.part.0". */
static bool is_cold(const char *name)
{
	const char *p = strstr(name, ".cold");

	return p && (p[5] == '\0' || p[5] == '.');
}

static enum verdict judge_name(const struct function *x)
{
	if (!x->name)
		return VERDICT_CHOSEN;
	if (strcmp(x->name, "__restore_rt") == 0)
		return VERDICT_RESTORER;
	if (IS_ONE_OF(x->name, starts))
		return VERDICT_START;
	if (is_reserved(x->name))
		return VERDICT_RESERVED;
	return is_cold(x->name) ? VERDICT_FRAGMENT : VERDICT_CHOSEN;
}

static enum verdict judge_section(const struct functions *f, uint64_t at)
{
	struct image_part p;
	const char *name;

	for (unsigned i = 0; i < image_sections(&f->image); i++) {
		if (!image_section(&f->image, i, &p) || !p.at || at - p.at >= p.size)
			continue;
		name = image_section_name(&f->image, i);
		if (name && strncmp(name, ".plt", 4) == 0)
			return VERDICT_LINKAGE;
		if (name && (strcmp(name, ".init") == 0 || strcmp(name, ".fini") == 0))
			return VERDICT_START;
		break;
	}
	return VERDICT_CHOSEN;
}

static enum verdict judge_frame(const struct function *x, const struct frame *r)
{
	if (!r)
		return VERDICT_CHOSEN;
	if (r->at != x->entry)
		return VERDICT_OVERLAPS;
	if (r->signal)
		return VERDICT_RESTORER;
	if (r->outermost)
		return VERDICT_START;
	return r->fragment ? VERDICT_FRAGMENT : VERDICT_CHOSEN;
}

/* Does another function begin between `from` and `to`, which this one begins before? */
static bool begins_between(const struct functions *f, uint32_t index, uint64_t from, uint64_t to)
{
	return index + 1 < f->count && f->items[index + 1].entry >= from &&
	       f->items[index + 1].entry < to;
}

static enum verdict judge_head(struct judge *j, uint32_t index)
{
	struct function *x = &j->f->items[index];
	const struct frame *r = frames_around(&j->f->frames, x->entry);
	enum verdict v = x->entry == j->f->image.start ? VERDICT_START : judge_name(x);
	struct relocated moved;
	const uint8_t *code;
	uint64_t left;

	if (v == VERDICT_CHOSEN && (x->source & FUNCTION_RESOLVER))
		v = VERDICT_RESOLVER;
	if (v == VERDICT_CHOSEN)
		v = judge_section(j->f, x->entry);
	if (v == VERDICT_CHOSEN)
		v = judge_runtime(j, x);
	if (v == VERDICT_CHOSEN)
		v = judge_frame(x, r);
	if (v != VERDICT_CHOSEN)
		return v;
	code = image_code(&j->f->image, x->entry, &left);
	if (!code)
		return VERDICT_NOT_CODE;
	if (!x->bytes)
		return VERDICT_SIZELESS;
	if (judge_unframed(j, x))
		return VERDICT_UNFRAMED;
	v = relocate(j->d, code, x->bytes < left ? x->bytes : left, left, x->entry, j->f->sleds,
		     &moved);
	if (v != VERDICT_CHOSEN)
		return v;
	x->offset = (uint8_t)(moved.site - x->entry);
	x->covered = moved.covered;
	x->flags |= moved.flags;
	if (begins_between(j->f, index, x->entry + 1, moved.site + moved.covered))
		return VERDICT_ENTRY_INSIDE;
	if (r && frame_has_pad(&j->f->image, r, x->entry, moved.site + moved.covered))
		return VERDICT_PAD_INSIDE;
	return VERDICT_CHOSEN;
}

/* ---- covered bytes ---- */

static uint8_t *bit_of(const struct judge *j, uint64_t at, uint8_t *bit)
{
	const struct image *m = &j->f->image;

	for (unsigned i = 0; i < m->segment_count; i++) {
		uint64_t n = at - m->segments[i].at;

		if (!j->inside[i] || n >= m->segments[i].size)
			continue;
		*bit = (uint8_t)(1u << (n & 7));
		return &j->inside[i][n >> 3];
	}
	return NULL;
}

bool judge_inside(const struct judge *j, uint64_t at)
{
	uint8_t bit, *byte = bit_of(j, at, &bit);

	return byte && (*byte & bit);
}

void judge_lead(struct judge *j, uint64_t at, enum verdict v)
{
	uint32_t i;

	if (!judge_inside(j, at))
		return;
	i = functions_before(j->f, at);
	if (i < j->f->count && j->f->items[i].wanted && j->f->items[i].verdict == VERDICT_CHOSEN)
		j->f->items[i].verdict = (uint8_t)v;
}

static bool make_bits(struct judge *j)
{
	const struct image *m = &j->f->image;

	for (unsigned i = 0; i < m->segment_count; i++) {
		if (!(m->segments[i].flags & PF_X))
			continue;
		j->inside[i] = calloc(m->segments[i].size / 8 + 1, 1);
		if (!j->inside[i])
			return false;
		j->budget += m->segments[i].size * BODY_TIMES;
	}
	return true;
}

/* An endbr64 before the site stays, but who jumps behind it is not traced: those bytes count as well, but for the first. */
static void cover(struct judge *j, const struct function *x)
{
	for (unsigned i = 1; i < (unsigned)x->offset + x->covered; i++) {
		uint8_t bit, *byte = bit_of(j, x->entry + i, &bit);

		if (byte && i != x->offset)
			*byte |= bit;
	}
}

static void judge_heads(struct judge *j)
{
	for (uint32_t i = 0; i < j->f->count; i++) {
		struct function *x = &j->f->items[i];

		if (!x->wanted)
			continue;
		x->verdict = (uint8_t)judge_head(j, i);
		if (x->verdict == VERDICT_CHOSEN)
			cover(j, x);
	}
}

bool functions_judge(struct functions *f, struct decoder *d)
{
	struct judge j = {.f = f, .d = d};
	bool ok = make_bits(&j);

	if (ok) {
		judge_resolvers(f);
		judge_runtimes(&j);
		judge_heads(&j);
		judge_scan(&j);
		judge_data(&j);
		for (uint32_t i = 0; i < f->count; i++)
			if (f->items[i].wanted && f->items[i].verdict == VERDICT_CHOSEN)
				judge_body(&j, &f->items[i]);
		judge_listed(f);
	}
	for (unsigned i = 0; i < IMAGE_SEGMENTS; i++)
		free(j.inside[i]);
	return ok;
}
