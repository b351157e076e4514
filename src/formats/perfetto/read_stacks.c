/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples' call stacks: numbers of frames, which are numbers of mappings and offsets in their files. Where a file lay
 * is not always said, so each has a place of its own in its process, far from all others: what counts is the
 * offset, by which functions are looked up as those of any module.
 */
#include <string.h>

#include "formats/perfetto/reader.h"

enum { FRAMES_MAX = 512, PLACE_BITS = 40, MODULES_MAX = 1 << 20 };

static bool part_of(const struct pfreader *r, uint32_t generation, enum interned_kind kind,
		    uint64_t iid, struct part *out)
{
	uint64_t place = pfread_interned(r, generation, kind, iid);
	uint64_t length = place & 0xfffff;

	if (!length)
		return false;
	*out = (struct part){r->in.data + (place >> 20), (size_t)length - 1};
	return true;
}

static uint64_t stack_key(uint32_t process, uint32_t what, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(hash_u64((uint64_t)process << 8 | what), a), b);
}

/* Bytes of the stack's pool, for the module. */
static void set_build_id(struct pfreader *r, struct t_module *m, uint32_t string)
{
	const struct t_string *s = &r->t->strings[string];

	m->build_id = (const uint8_t *)s->text;
	m->build_id_length = s->length < 64 ? s->length : 64;
}

static uint32_t module_of(struct pfreader *r, uint32_t process, uint32_t generation, uint64_t iid)
{
	struct part m;
	struct proto_walk w;
	struct proto_field f;
	uint32_t path = 0, build = 0;
	uint64_t key, known;
	struct t_module x = {.process = process};

	if (!part_of(r, generation, INTERNED_MAPPING, iid, &m))
		return 0;
	for (w = proto_walk(m); proto_next(&w, &f);) {
		if (f.number == 2 && f.type == PROTO_NUMBER)
			build = (uint32_t)pfread_interned(r, generation, INTERNED_BUILD_ID, f.v);
		else if (f.number == 7 && f.type == PROTO_NUMBER) /* the last part is the name */
			path = (uint32_t)pfread_interned(r, generation, INTERNED_PATH, f.v);
	}
	key = stack_key(process, 1, path, build);
	known = map_get(&r->stack_places, key);
	if (known || !path || r->t->modules_count >= MODULES_MAX)
		return (uint32_t)known;
	x.path = pfread_string(r, path);
	set_build_id(r, &x, build);
	x.start = x.bias = (uint64_t)r->t->modules_count << PLACE_BITS;
	x.end = x.start + (UINT64_C(1) << PLACE_BITS);
	*trace_add(r->t, modules) = x;
	known = r->t->modules_count - 1;
	if (!map_set(&r->stack_places, key, known))
		r->failed = true;
	return (uint32_t)known;
}

static uint32_t site_at(struct pfreader *r, uint32_t process, uint32_t module, uint64_t offset)
{
	uint64_t address = r->t->modules[module].bias + offset;
	uint64_t key = stack_key(process, 2, address, 0), known = map_get(&r->stack_places, key);

	if (known)
		return (uint32_t)known;
	*trace_add(r->t, sites) =
		(struct t_site){.process = process, .address = address, .module = module};
	known = r->t->sites_count - 1;
	if (!map_set(&r->stack_places, key, known))
		r->failed = true;
	return (uint32_t)known;
}

/* 0: of a frame without a file nothing can be looked up. */
static uint32_t site_of_frame(struct pfreader *r, uint32_t process, uint32_t generation,
			      uint64_t iid)
{
	struct part m;
	struct proto_walk w;
	struct proto_field f;
	uint64_t offset = 0, mapping = 0;
	uint32_t module;

	if (!part_of(r, generation, INTERNED_FRAME, iid, &m))
		return 0;
	for (w = proto_walk(m); proto_next(&w, &f);) {
		if (f.number == 3 && f.type == PROTO_NUMBER)
			mapping = f.v;
		else if (f.number == 4 && f.type == PROTO_NUMBER)
			offset = f.v & ((UINT64_C(1) << PLACE_BITS) - 1);
	}
	module = module_of(r, process, generation, mapping);
	return module ? site_at(r, process, module, offset) : 0;
}

/* Frames stand outermost first. */
static uint32_t add_stack(struct pfreader *r, uint32_t process, uint32_t generation, struct part m)
{
	uint32_t sites[FRAMES_MAX], n = 0;
	struct proto_walk w = proto_walk(m);
	struct proto_field f;
	struct t_stack s = {.process = process};

	while (n < FRAMES_MAX && proto_next(&w, &f)) {
		if (f.number != 2 || f.type != PROTO_NUMBER)
			continue;
		sites[n] = site_of_frame(r, process, generation, f.v);
		if (sites[n])
			n++;
		else
			unplaced_add(&r->left_out, "frames of stacks that lie in no file", 1);
	}
	s.sites = n ? trace_alloc(r->t, n * sizeof(*sites)) : NULL;
	if (!s.sites)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		s.sites[i] = sites[n - 1 - i];
	s.count = n;
	*trace_add(r->t, stacks) = s;
	return r->t->stacks_count - 1;
}

uint32_t pfread_stack(struct pfreader *r, uint32_t process, uint32_t generation, uint64_t iid)
{
	uint64_t key = stack_key(process, 3, generation, iid), known;
	struct part m;

	known = map_get(&r->stack_places, key);
	if (known)
		return (uint32_t)known - 1;
	if (part_of(r, generation, INTERNED_CALLSTACK, iid, &m))
		known = add_stack(r, process, generation, m);
	if (!map_set(&r->stack_places, key, known + 1))
		r->failed = true;
	return (uint32_t)known;
}
