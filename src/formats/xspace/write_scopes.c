/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes: every range is one, and names the one around it, so that its list up to the outermost is whole, whoever
 * else is in it: an edge for each range says all. An id that is seen again is another process's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "formats/xspace/writer.h"

/* ---- the table ------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t process, int64_t id)
{
	return hash_mix(hash_u64(process), (uint64_t)id);
}

static struct scope *find(const struct xspace_writer *w, uint32_t process, int64_t id)
{
	uint64_t i;

	map_each(&w->scope_places, key_of(process, id), i) {
		struct scope *s = &w->scopes[i - 1];

		if (s->process == process && s->id == id)
			return s;
	}
	return NULL;
}

const struct scope *scope_find(const struct xspace_writer *w, uint32_t process, int64_t id)
{
	return id ? find(w, process, id) : NULL;
}

const struct scope *scope_above(const struct xspace_writer *w, const struct scope *s)
{
	return scope_find(w, s->process, s->parent);
}

static struct scope *add(struct xspace_writer *w, uint32_t process, int64_t id)
{
	if (!bulk_reserve(&w->scopes, &w->scope_room, w->scope_count, 1) ||
	    !bulk_map_add(&w->scope_places, key_of(process, id), (uint64_t)w->scope_count + 1)) {
		w->failed = true;
		return NULL;
	}
	w->scopes[w->scope_count] = (struct scope){.id = id, .process = process};
	return &w->scopes[w->scope_count++];
}

/* ---- XLA's names ----------------------------------------------------------------------------- */

static uint32_t text_number(struct xspace_writer *w, const char *s, size_t n)
{
	uint32_t i = names_get(&w->texts, &w->scratch, s, n);

	w->failed |= !i;
	return i;
}

static bool number_of(const char *s, size_t n, int64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || v > INT64_MAX / 10 - 1)
			return false;
		v = 10 * v + (uint64_t)(s[i] - '0');
	}
	*out = (int64_t)v;
	return n > 0;
}

static bool is_key(const char *s, size_t n, const char *key)
{
	return strlen(key) == n && memcmp(s, key, n) == 0;
}

static void take_pair(struct xspace_writer *w, struct scope *s, const char *p, size_t n)
{
	const char *equals = memchr(p, '=', n), *value = equals ? equals + 1 : NULL;
	size_t length = equals ? (size_t)(p + n - value) : 0;
	size_t key = equals ? (size_t)(equals - p) : 0;

	if (!length)
		return;
	if (is_key(p, key, "hlo_module"))
		s->module = text_number(w, value, length);
	else if (is_key(p, key, "hlo_op"))
		s->op = text_number(w, value, length);
	else if (is_key(p, key, "program_id"))
		s->has_program = number_of(value, length, &s->program);
	else if (is_key(p, key, "step_num") || is_key(p, key, "group_id"))
		s->has_step = number_of(value, length, &s->step);
}

/* The end of a pair: a comma that stands in no brackets or quotes. */
static const char *pair_end(const char *p, const char *end)
{
	unsigned depth = 0;
	char quote = 0;

	for (; p < end; p++) {
		if (quote)
			quote = *p == quote ? 0 : quote;
		else if (*p == '"' || *p == '\'')
			quote = *p;
		else if (strchr("([{", *p) && *p)
			depth++;
		else if (strchr(")]}", *p) && *p)
			depth -= depth > 0;
		else if (*p == ',' && !depth)
			return p;
	}
	return end;
}

/* "XlaModule:#hlo_module=jit_f,program_id=3#": pairs behind the name, between two marks. */
static void take_name(struct xspace_writer *w, struct scope *s, const char *p, size_t n)
{
	const char *open = memchr(p, '#', n), *end;

	if (!open || p[n - 1] != '#' || open == p + n - 1)
		return;
	end = p + n - 1;
	for (p = open + 1; p < end;) {
		const char *to = pair_end(p, end);

		take_pair(w, s, p, (size_t)(to - p));
		p = to + 1;
	}
}

void scopes_add(struct xspace_writer *w, const struct rec_marker *r)
{
	struct scope *s;

	if (!r->scope)
		return;
	s = find(w, r->base.process, r->scope);
	if (s) {
		unplaced_add(&w->unplaced, "ranges with the scope id of another one", 1);
		return;
	}
	s = add(w, r->base.process, r->scope);
	if (!s)
		return;
	s->parent = r->base.scope;
	s->name = text_number(w, r->text, r->text_length);
	s = &w->scopes[w->scope_count - 1];
	take_name(w, s, r->text, r->text_length);
}

/* ---- ids ------------------------------------------------------------------------------------- */

/*
 * Two processes have the same ids. Of several each has those of a thread of its number, as XLA lays them out (bits
 * 62 to 48); what does not fit there is taken from the shared numbers (bits 63 and 62: 10).
 */
int64_t scope_number(struct xspace_writer *w, uint32_t process, int64_t id)
{
	if (!id || w->t->processes_count <= 2)
		return id;
	if (id > 0 && id < INT64_C(1) << 48 && process < 1u << 15)
		return (int64_t)((uint64_t)process << 48 | (uint64_t)id);
	return (int64_t)(UINT64_C(1) << 63 | (key_of(process, id) & (UINT64_MAX >> 2)));
}

/* Likewise of calls. */
uint64_t call_number(const struct xspace_writer *w, uint32_t process, uint64_t id)
{
	if (!id || w->t->processes_count <= 2)
		return id;
	if (id < UINT64_C(1) << 40 && process < 1u << 23)
		return (uint64_t)process << 40 | id;
	return key_of(process, (int64_t)id) & (UINT64_MAX >> 1);
}

/* ---- the tree -------------------------------------------------------------------------------- */

enum { UNSEEN, ON_WAY, DONE };

/* Damaged traces alone have circles: of one the edge that closes it goes. */
static void follow(struct xspace_writer *w, struct scope *s)
{
	struct scope *up = s;

	while (up && up->state == UNSEEN) {
		struct scope *next = up->parent ? find(w, up->process, up->parent) : NULL;

		up->state = ON_WAY;
		if (next && next->state == ON_WAY) {
			unplaced_add(&w->unplaced, "scopes that would lie in themselves", 1);
			up->parent = 0;
			next = NULL;
		}
		up = next;
	}
	for (up = s; up && up->state == ON_WAY;
	     up = up->parent ? find(w, up->process, up->parent) : NULL)
		up->state = DONE;
}

void scopes_finish(struct xspace_writer *w)
{
	w->scopes_of = calloc(w->t->processes_count, sizeof(*w->scopes_of));
	if (!w->scopes_of) {
		w->failed = true;
		return;
	}
	for (uint32_t i = 0; i < w->scope_count; i++)
		follow(w, &w->scopes[i]);
	for (uint32_t i = w->scope_count; i-- > 0;) {
		w->scopes[i].next = w->scopes_of[w->scopes[i].process];
		w->scopes_of[w->scopes[i].process] = i + 1;
	}
}

/*
 * Readers take the outermost scope of a module's kernels for its execution: a range around several of them, as a
 * loop, is none of theirs.
 */
static bool is_root(const struct xspace_writer *w, const struct scope *s)
{
	if (!s->parent || !s->module)
		return !s->parent;
	for (const struct scope *up = scope_above(w, s); up; up = scope_above(w, up))
		if (up->module)
			return false;
	return true;
}

/* An edge is a stat without a name: its metadata_id is the scope, its value the one around it. */
static void pack_edge(struct xspace_writer *w, const struct scope *s, struct text *out)
{
	Xs__Stat edge = XS__STAT__INIT;

	edge.metadata_id = scope_number(w, s->process, s->id);
	edge.value_case = XS__STAT__VALUE_INT64_VALUE;
	edge.int64_value = scope_number(w, s->process, s->parent);
	out->length = 0;
	pack_field(w, out, 6, &edge.base);
}

bool scopes_next(struct xspace_writer *w, uint32_t process, uint32_t *place, struct text *out)
{
	uint32_t i = *place ? w->scopes[*place - 1].next : w->scopes_of[process];

	while (i && is_root(w, &w->scopes[i - 1]))
		i = w->scopes[i - 1].next;
	if (i)
		pack_edge(w, &w->scopes[i - 1], out);
	*place = i;
	return i > 0;
}
