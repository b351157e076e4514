/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples' call stacks: numbers of frames, which are numbers of mappings and offsets in their files. Where a file lay
 * is not always said, so each has a place of its own in its process, far from all others: what counts is the
 * offset, by which functions are looked up as those of any module.
 */
#include <string.h>

#include "base/bulk.h"
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
	if (!bulk_map_set(&r->stack_places, key, known))
		r->failed = true;
	return (uint32_t)known;
}

struct frame_in { /* strings */
	uint64_t offset, mapping;
	uint32_t function, file, line;
};

/* Texts that stand where no function is known, as Kymo has them too: "0x7f12", "libc.so+0x12". */
static bool is_address(const char *s)
{
	const char *plus = strrchr(s, '+');

	s = plus ? plus + 1 : s;
	return strncmp(s, "0x", 2) == 0 && s[2] && !s[2 + strspn(s + 2, "0123456789abcdef")];
}

static struct frame_in read_frame(const struct pfreader *r, uint32_t generation, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct frame_in x = {0};
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (f.type != PROTO_NUMBER)
			continue;
		if (f.number == 2)
			x.function =
				(uint32_t)pfread_interned(r, generation, INTERNED_FUNCTION, f.v);
		else if (f.number == 3)
			x.mapping = f.v;
		else if (f.number == 4)
			x.offset = f.v & ((UINT64_C(1) << PLACE_BITS) - 1);
		else if (f.number == 5)
			x.file = (uint32_t)pfread_interned(r, generation, INTERNED_SOURCE, f.v);
		else if (f.number == 6)
			x.line = (uint32_t)f.v;
	}
	if (is_address(pfread_string(r, x.function)))
		x.function = 0;
	return x;
}

/* Another site has the address: of functions inlined into one another only one is at it, as stacks are of addresses. */
static bool is_taken(struct pfreader *r, uint32_t process, uint64_t address)
{
	uint64_t key = stack_key(process, 4, address, 0);

	if (map_get(&r->stack_places, key))
		return true;
	if (!bulk_map_set(&r->stack_places, key, 1))
		r->failed = true;
	return false;
}

/* What the file says of the function stands, and nothing is looked up. */
static uint32_t site_at(struct pfreader *r, uint32_t process, uint32_t module,
			const struct frame_in *x)
{
	struct t_site site = {.process = process,
			      .module = module,
			      .address = r->t->modules[module].bias + x->offset};
	uint64_t key = stack_key(process, 2, site.address, (uint64_t)x->function << 32 | x->file),
		 known;

	key = hash_mix(key, x->line);
	known = map_get(&r->stack_places, key);
	if (known)
		return (uint32_t)known;
	if (x->function) {
		site.function = pfread_string(r, x->function);
		site.file = x->file ? pfread_string(r, x->file) : NULL;
		site.line = x->line;
	}
	if (is_taken(r, process, site.address))
		site.address = r->t->sites_count;
	*trace_add(r->t, sites) = site;
	known = r->t->sites_count - 1;
	if (!bulk_map_set(&r->stack_places, key, known))
		r->failed = true;
	return (uint32_t)known;
}

/* 0: of a frame without a file and a function nothing can be told. */
static uint32_t site_of_frame(struct pfreader *r, uint32_t process, uint32_t generation,
			      uint64_t iid)
{
	struct frame_in x;
	uint32_t module;
	struct part m;

	if (!part_of(r, generation, INTERNED_FRAME, iid, &m))
		return 0;
	x = read_frame(r, generation, m);
	module = module_of(r, process, generation, x.mapping);
	if (module)
		return site_at(r, process, module, &x);
	return x.function ? keyed_site(&r->keyed, process,
				       &(struct keyed_place){x.function, x.file, x.line, 0})
			  : 0;
}

/* Frames stand outermost first. */
static uint32_t add_stack(struct pfreader *r, uint32_t process, uint32_t generation, struct part m)
{
	uint32_t sites[FRAMES_MAX], n = FRAMES_MAX;
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	while (n && proto_next(&w, &f)) {
		if (f.number != 2 || f.type != PROTO_NUMBER)
			continue;
		sites[n - 1] = site_of_frame(r, process, generation, f.v);
		if (sites[n - 1])
			n--;
		else
			unplaced_add(&r->left_out,
				     "frames of stacks that have neither a file nor a function", 1);
	}
	return keyed_stack(&r->keyed, process, sites + n, FRAMES_MAX - n);
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
	if (!bulk_map_set(&r->stack_places, key, known + 1))
		r->failed = true;
	return (uint32_t)known;
}
