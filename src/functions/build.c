/* SPDX-License-Identifier: Apache-2.0 */
/* Writing plans; see build.h. */
#include "functions/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "functions/relocate.h"
#include "stream/demangle.h"

/* ---- names ---- */

static bool is_taken(const struct build *b, const char *name)
{
	uint64_t at;

	map_each(&b->names, hash_string(name), at)
		if (strcmp(b->strings.s + at - 1, name) == 0)
			return true;
	return false;
}

static uint32_t add_string(struct build *b, const char *s)
{
	uint32_t at;

	if (!b->strings.length)
		text_add_bytes(&b->strings, "", 1);
	at = (uint32_t)b->strings.length;
	text_add_bytes(&b->strings, s, strlen(s) + 1);
	return at;
}

static const char *file_of(const struct functions *f)
{
	const char *slash = f->image.path ? strrchr(f->image.path, '/') : NULL;

	return slash ? slash + 1 : "";
}

/* No two functions of a plan have one name: where they would, the file is added, then the address. */
static uint32_t add_name(struct build *b, const struct functions *f, const struct function *x)
{
	char *written = x->name ? demangle(x->name) : NULL;
	struct text t = {0};
	uint32_t at = 0;

	if (x->name)
		text_add(&t, written ? written : x->name);
	else
		text_addf(&t, "0x%" PRIx64, x->entry);
	if (t.s && is_taken(b, t.s))
		text_addf(&t, " [%s]", file_of(f));
	if (t.s && is_taken(b, t.s))
		text_addf(&t, " [+0x%" PRIx64 "]", x->entry);
	if (t.s && !t.failed) {
		at = add_string(b, t.s);
		b->strings.failed |= !map_add(&b->names, hash_string(t.s), at + 1u);
	}
	b->strings.failed |= t.failed;
	text_release(&t);
	free(written);
	return at;
}

/* ---- functions ---- */

static bool add_moved(struct build *b, struct plan_function *p, const struct relocated *m)
{
	if (!vec_reserve(&b->fixups, &b->fixup_room, b->fixup_count, m->fixup_count) ||
	    !vec_reserve(&b->moves, &b->move_room, b->move_count, m->move_count))
		return false;
	p->site = m->site;
	p->code = (uint32_t)b->code.length;
	p->code_bytes = m->bytes;
	p->first_fixup = b->fixup_count;
	p->fixups = m->fixup_count;
	p->first_move = b->move_count;
	p->moves = m->move_count;
	p->covered = m->covered;
	p->how = m->how;
	for (unsigned i = 0; i < m->fixup_count; i++)
		b->fixups[b->fixup_count++] = m->fixups[i];
	for (unsigned i = 0; i < m->move_count; i++)
		b->moves[b->move_count++] = m->moves[i];
	text_add_bytes(&b->code, (const char *)m->code, m->bytes);
	return !b->code.failed;
}

static bool add_function(struct build *b, const struct functions *f, struct decoder *d,
			 const struct function *x)
{
	struct plan_function p = {.entry = x->entry,
				  .site = x->entry,
				  .bytes = x->bytes,
				  .id = b->function_count + 1,
				  .instructions = x->instructions,
				  .flags = x->flags,
				  .how = PLAN_HOOK};
	struct relocated moved;
	const uint8_t *code;
	uint64_t left;

	if (!vec_reserve(&b->functions, &b->function_room, b->function_count, 1))
		return false;
	if (!f->hook) {
		code = image_code(&f->image, x->entry, &left);
		if (!code || relocate(d, code, x->bytes < left ? x->bytes : left, left, x->entry,
				      f->sleds, &moved) != VERDICT_CHOSEN)
			return true; /* it was otherwise a moment ago: the file has changed */
		memcpy(p.expected, code + (moved.site - x->entry), moved.covered);
		if (!add_moved(b, &p, &moved))
			return false;
	}
	p.name = add_name(b, f, x);
	b->functions[b->function_count++] = p;
	return !b->strings.failed;
}

static bool add_functions(struct build *b, struct functions *f, struct decoder *d)
{
	for (uint32_t i = 0; i < f->count; i++) {
		struct function *x = &f->items[i];

		if (!x->wanted || x->verdict != VERDICT_CHOSEN)
			continue;
		if (b->function_count == BUILD_FUNCTIONS_MAX)
			x->verdict = VERDICT_TOO_MANY;
		else if (!add_function(b, f, d, x))
			return false;
	}
	return true;
}

bool build_add(struct build *b, struct functions *f, struct decoder *d)
{
	const struct image *m = &f->image;
	struct plan_module p = {.device = m->device,
				.inode = m->inode,
				.size = m->size,
				.mtime_ns = m->mtime_ns,
				.low = m->low,
				.high = m->high,
				.first_function = b->function_count,
				.build_id_bytes = m->build_id_bytes};

	memcpy(p.build_id, m->build_id, sizeof(p.build_id));
	if (!vec_reserve(&b->modules, &b->module_room, b->module_count, 1) ||
	    !add_functions(b, f, d))
		return false;
	p.functions = b->function_count - p.first_function;
	if (!p.functions)
		return true;
	p.path = add_string(b, m->path ? m->path : "");
	b->modules[b->module_count++] = p;
	return !b->strings.failed;
}

/* ---- the whole ---- */

static void add_table(struct text *out, size_t start, struct plan_table *t, const void *items,
		      size_t count, size_t size)
{
	while ((out->length - start) % 8)
		text_add_bytes(out, "", 1);
	*t = (struct plan_table){out->length - start, count};
	if (count)
		text_add_bytes(out, items, count * size);
}

static bool add_slot(struct build *b, const struct plan *p, const struct plan_function *from)
{
	struct plan_function f = *from;

	if (!vec_reserve(&b->functions, &b->function_room, b->function_count, 1))
		return false;
	if (!vec_reserve(&b->moves, &b->move_room, b->move_count, f.moves))
		return false;
	for (unsigned i = 0; i < f.moves; i++)
		b->moves[b->move_count + i] = p->moves[from->first_move + i];
	f.first_move = b->move_count;
	b->move_count += f.moves;
	f.id = b->function_count + 1;
	f.name = add_string(b, plan_string(p, from->name));
	b->functions[b->function_count++] = f;
	return !b->strings.failed;
}

bool build_add_instrumented(struct build *b, const struct image *m, uint64_t *count)
{
	uint64_t left;
	const uint8_t *bytes = image_at(m, m->plan_at, &left);
	struct plan_module module;
	struct plan p;

	if (!bytes || m->plan_bytes > left || (uintptr_t)bytes % 8 ||
	    !plan_open(&p, bytes, m->plan_bytes) || p.module_count != 1 ||
	    p.function_count > BUILD_FUNCTIONS_MAX - b->function_count)
		return true;
	module = p.modules[0];
	module.first_function = b->function_count;
	for (uint64_t i = 0; i < p.function_count; i++)
		if (!add_slot(b, &p, &p.functions[i]))
			return false;
	if (!vec_reserve(&b->modules, &b->module_room, b->module_count, 1))
		return false;
	module.path = add_string(b, m->path ? m->path : "");
	b->modules[b->module_count++] = module;
	*count += p.function_count;
	return !b->strings.failed;
}

bool build_finish(const struct build *b, struct text *out)
{
	struct plan_header h = {.version = PLAN_VERSION, .bytes = sizeof(h)};
	size_t start = out->length;

	memcpy(h.magic, PLAN_MAGIC, sizeof(h.magic));
	text_add_bytes(out, (const char *)&h, sizeof(h));
	add_table(out, start, &h.modules, b->modules, b->module_count, sizeof(*b->modules));
	add_table(out, start, &h.functions, b->functions, b->function_count, sizeof(*b->functions));
	add_table(out, start, &h.fixups, b->fixups, b->fixup_count, sizeof(*b->fixups));
	add_table(out, start, &h.moves, b->moves, b->move_count, sizeof(*b->moves));
	add_table(out, start, &h.code, b->code.s, b->code.length, 1);
	add_table(out, start, &h.strings, b->strings.length ? b->strings.s : "",
		  b->strings.length ? b->strings.length : 1, 1);
	if (out->failed)
		return false;
	h.size = out->length - start;
	memcpy(out->s + start, &h, sizeof(h));
	return true;
}

void build_release(struct build *b)
{
	free(b->modules);
	free(b->functions);
	free(b->fixups);
	free(b->moves);
	text_release(&b->code);
	text_release(&b->strings);
	map_release(&b->names);
	*b = (struct build){0};
}
