/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of patches: checking and placing what the planner wrote; see plan.h. Runs in the traced program: allocates nothing. */
#include "wire/plan.h"

#include <string.h>

enum {
	SLOT = 8,
	BEFORE = 15 /* an endbr64 and an XRay sled */
};

/* ---- checking ---- */

static bool table_fits(const struct plan_table *t, size_t element, size_t size)
{
	return t->at % 8 == 0 && t->at <= size && t->count <= (size - t->at) / element;
}

static bool header_good(const struct plan_header *h, size_t size)
{
	if (size < sizeof(*h) || memcmp(h->magic, PLAN_MAGIC, sizeof(h->magic)) != 0)
		return false;
	return h->version == PLAN_VERSION && h->bytes == sizeof(*h) && h->size == size &&
	       table_fits(&h->modules, sizeof(struct plan_module), size) &&
	       table_fits(&h->functions, sizeof(struct plan_function), size) &&
	       table_fits(&h->fixups, sizeof(struct plan_fixup), size) &&
	       table_fits(&h->moves, sizeof(struct plan_move), size) &&
	       table_fits(&h->code, 1, size) && table_fits(&h->strings, 1, size);
}

static bool range_fits(uint64_t first, uint64_t count, uint64_t of)
{
	return first <= of && count <= of - first;
}

static bool fixups_good(const struct plan *p, const struct plan_function *f)
{
	if (!range_fits(f->first_fixup, f->fixups, p->header->fixups.count))
		return false;
	for (unsigned i = 0; i < f->fixups; i++) {
		const struct plan_fixup *x = &p->fixups[f->first_fixup + i];
		unsigned bytes = x->kind == PLAN_ABS64 ? 8 : 4;

		if (x->kind > PLAN_ABS64 || x->at + bytes > f->code_bytes)
			return false;
		if (x->kind == PLAN_REL32 && (x->ends < 4 || x->ends > 15))
			return false;
	}
	return true;
}

static bool moves_good(const struct plan *p, const struct plan_function *f)
{
	const struct plan_move *m = &p->moves[f->first_move];

	if (!range_fits(f->first_move, f->moves, p->header->moves.count))
		return false;
	for (unsigned i = 0; i < f->moves; i++)
		if (m[i].from > f->covered || m[i].to > f->code_bytes ||
		    (i && m[i].to < m[i - 1].to))
			return false;
	return true;
}

/* Nothing of it is moved by who has the plan. */
static bool empty_good(const struct plan *p, const struct plan_module *m,
		       const struct plan_function *f)
{
	if (f->entry < m->low || f->entry >= m->high || f->fixups)
		return false;
	if (f->how == PLAN_HOOK)
		return f->site == f->entry && !f->covered && !f->code_bytes && !f->moves;
	return f->site % SLOT == 0 && f->site >= m->low && f->site < m->high &&
	       m->high - f->site >= SLOT && f->code <= m->high - m->low &&
	       f->covered <= PLAN_COVERED_MAX && f->code_bytes <= PLAN_CODE_MAX &&
	       f->offset <= BEFORE && moves_good(p, f);
}

static uint64_t site_bytes(const struct plan_function *f)
{
	return f->how == PLAN_HOOK ? 1 : f->how == PLAN_SLOT ? SLOT : PLAN_JUMP;
}

static bool function_good(const struct plan *p, const struct plan_module *m,
			  const struct plan_function *f)
{
	if (!f->id || f->how > PLAN_SLOT || f->name >= p->header->strings.count)
		return false;
	if (f->how == PLAN_HOOK || f->how == PLAN_SLOT)
		return empty_good(p, m, f);
	if (f->covered < PLAN_JUMP || f->covered > PLAN_COVERED_MAX || !f->code_bytes ||
	    f->code_bytes > PLAN_CODE_MAX)
		return false;
	if (f->entry < m->low || f->site < f->entry || f->site - f->entry > BEFORE ||
	    f->site >= m->high || f->covered > m->high - f->site)
		return false;
	return range_fits(f->code, f->code_bytes, p->header->code.count) && fixups_good(p, f) &&
	       moves_good(p, f);
}

static bool module_good(const struct plan *p, const struct plan_module *m)
{
	uint64_t least = m->low;

	if (m->path >= p->header->strings.count || m->build_id_bytes > PLAN_BUILD_ID ||
	    m->low >= m->high || !range_fits(m->first_function, m->functions, p->function_count))
		return false;
	for (uint64_t i = 0; i < m->functions; i++) {
		const struct plan_function *f = &p->functions[m->first_function + i];

		if (!function_good(p, m, f) || f->site < least)
			return false;
		least = f->site + site_bytes(f);
	}
	return true;
}

bool plan_open(struct plan *out, const void *bytes, size_t size)
{
	const struct plan_header *h = bytes;
	const char *base = bytes;
	uint64_t next = 0;

	if (!header_good(h, size))
		return false;
	*out = (struct plan){
		.header = h,
		.modules = (const void *)(base + h->modules.at),
		.functions = (const void *)(base + h->functions.at),
		.fixups = (const void *)(base + h->fixups.at),
		.moves = (const void *)(base + h->moves.at),
		.code = (const void *)(base + h->code.at),
		.strings = base + h->strings.at,
		.module_count = h->modules.count,
		.function_count = h->functions.count,
	};
	if (!h->strings.count || out->strings[0] || out->strings[h->strings.count - 1])
		return false;
	for (uint64_t i = 0; i < out->module_count; i++) {
		if (out->modules[i].first_function != next || !module_good(out, &out->modules[i]))
			return false;
		next += out->modules[i].functions;
	}
	return next == out->function_count; /* each was looked at */
}

/* ---- placing ---- */

static bool place_fixup(const struct plan_fixup *x, uint64_t bias, uint64_t place, uint8_t *out)
{
	uint64_t target = x->target + bias;
	int64_t distance = (int64_t)(target - (place + x->at + x->ends));
	int32_t near = (int32_t)distance;

	if (x->kind == PLAN_ABS64) {
		memcpy(out + x->at, &target, sizeof(target));
		return true;
	}
	if (near != distance)
		return false;
	memcpy(out + x->at, &near, sizeof(near));
	return true;
}

bool plan_code(const struct plan *p, const struct plan_function *f, uint64_t bias, uint64_t place,
	       uint8_t *out)
{
	memcpy(out, p->code + f->code, f->code_bytes);
	for (unsigned i = 0; i < f->fixups; i++)
		if (!place_fixup(&p->fixups[f->first_fixup + i], bias, place, out))
			return false;
	return true;
}

uint64_t plan_origin(const struct plan *p, const struct plan_function *f, uint32_t offset,
		     uint64_t *more)
{
	const struct plan_move *m = &p->moves[f->first_move];
	uint64_t site = f->how == PLAN_SLOT ? f->entry + f->offset : f->site, from = 0;

	for (unsigned i = 0; i < f->moves && m[i].to <= offset; i++)
		from = m[i].from;
	/* Of a call the return address was pushed, and the jump is still to come. */
	*more = f->flags & PLAN_CALLS && f->moves && offset > m[f->moves - 1u].to ? 8 : 0;
	return site + from;
}
