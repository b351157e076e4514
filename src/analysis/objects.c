/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that were alive at the end; see objects.h. Records of several threads come one thread after the other, so that
 * nothing here depends on their order: of a handle the last maker and the last release are kept, and how often.
 */
#include "analysis/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

enum { OBJECTS_MOST = 24000000 };

static uint64_t communicator_key(uint32_t process, uint64_t handle)
{
	return hash_mix(hash_u64(handle), process);
}

static void know_communicators(struct objects *o)
{
	for (uint32_t i = 1; i < o->trace->communicators_count; i++) {
		const struct t_communicator *c = &o->trace->communicators[i];

		if (!map_set(&o->communicators, communicator_key(c->process, c->handle), i))
			o->failed = true;
	}
}

struct objects *objects_new(const struct trace *t)
{
	struct objects *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->trace = t;
	o->ops = calloc(t->ops_count + 1u, sizeof(*o->ops));
	if (!o->ops) {
		free(o);
		return NULL;
	}
	for (uint32_t i = 0; i < t->ops_count; i++)
		o->ops[i] = object_op_of(t, &t->ops[i]);
	know_communicators(o);
	return o;
}

void objects_free(struct objects *o)
{
	if (!o)
		return;
	map_release(&o->places);
	map_release(&o->line_places);
	map_release(&o->communicators);
	free(o->list);
	free(o->lines);
	free(o->order);
	free(o->ops);
	free(o);
}

/* ---- finding --------------------------------------------------------------------------------------- */

static struct object *object_at(struct objects *o, uint32_t process, uint32_t kind, uint64_t handle)
{
	uint64_t hash = hash_mix(hash_u64(handle), (uint64_t)process << 32 | kind);
	uint64_t i;

	map_each(&o->places, hash, i) {
		struct object *x = &o->list[i - 1];

		if (x->handle == handle && x->process == process && x->kind == kind)
			return x;
	}
	if (o->count >= OBJECTS_MOST) {
		o->cut = true;
		return NULL;
	}
	if (!vec_reserve(&o->list, &o->room, o->count, 1) ||
	    !map_add(&o->places, hash, o->count + 1)) {
		o->failed = true;
		return NULL;
	}
	o->list[o->count] = (struct object){.handle = handle,
					    .process = process,
					    .kind = kind,
					    .made = INT64_MIN,
					    .released = INT64_MIN};
	return &o->list[o->count++];
}

/* Its number from 1; 0: no memory. */
static uint32_t line_at(struct objects *o, uint32_t process, uint32_t kind, uint32_t op,
			uint32_t site)
{
	const uint32_t key[] = {process, kind, op, site};
	uint64_t i, hash = hash_bytes(key, sizeof(key));

	map_each(&o->line_places, hash, i) {
		const struct object_line *l = &o->lines[i - 1];

		if (l->process == process && l->kind == kind && l->op == op && l->site == site)
			return (uint32_t)i;
	}
	if (!vec_reserve(&o->lines, &o->lines_room, o->lines_count, 1) ||
	    !map_add(&o->line_places, hash, o->lines_count + 1)) {
		o->failed = true;
		return 0;
	}
	o->lines[o->lines_count++] = (struct object_line){
		.process = process, .kind = kind, .op = op, .site = site, .first = INT64_MAX};
	return o->lines_count;
}

/* ---- calls ----------------------------------------------------------------------------------------- */

/* An inner call made it, which came just before: this one is what the program called. */
static bool replaces(const struct rec *r, uint64_t inner)
{
	return inner && inner == r->id;
}

static bool is_programs(const struct objects *o, const struct rec *r, uint32_t kind,
			uint64_t handle)
{
	unsigned flags = object_kind_flags(kind);

	if (flags & OBJECT_COMMUNICATOR &&
	    !map_get(&o->communicators, communicator_key(r->process, handle)))
		return false; /* that of a rank which is no member */
	return !(flags & OBJECT_OUTERMOST) || !r->parent;
}

static void make(struct objects *o, const struct rec *r, uint32_t kind, uint64_t handle)
{
	struct object *x;
	uint32_t line;

	if (!is_programs(o, r, kind, handle))
		return;
	x = object_at(o, r->process, kind, handle);
	line = x ? line_at(o, r->process, kind, r->op, r->site) : 0;
	if (!line)
		return;
	if (r->end < x->made && x->line && replaces(r, x->parent))
		return; /* it ends before what it calls does: such times cannot be */
	if (x->line && replaces(r, x->parent))
		o->lines[x->line - 1].made--;
	else
		x->makes++;
	o->lines[line - 1].made++;
	if (r->end < x->made)
		return;
	x->made = r->end;
	x->parent = r->parent;
	x->line = line;
}

static void release(struct objects *o, const struct rec *r, uint32_t kind, uint64_t handle)
{
	struct object *x = object_at(o, r->process, kind, handle);

	if (!x)
		return;
	x->releases += !replaces(r, x->outer);
	if (r->start < x->released && !replaces(r, x->outer))
		return;
	x->released = r->start;
	x->outer = r->parent;
}

static void keep(struct objects *o, const struct rec *r, uint32_t kind, uint64_t handle)
{
	struct object *x = object_at(o, r->process, kind, handle);

	if (x)
		x->keeps++;
}

static void one(struct objects *o, const struct rec *r, uint64_t handle)
{
	const struct object_op *op = &o->ops[r->op];

	if (!handle)
		return;
	if (op->does == OBJECT_MAKES)
		make(o, r, op->kind, handle);
	else if (op->does == OBJECT_KEEPS)
		keep(o, r, op->kind, handle);
	else
		release(o, r, op->kind, handle);
}

void objects_call_wanted(struct objects *o, const struct rec *r)
{
	const struct t_field *field = NULL;
	struct rec_fields fields;
	struct wire_value value;

	if (!r->ok || !r->wire)
		return;
	rec_fields_init(&fields, o->trace, r);
	for (uint32_t i = 0; i < o->ops[r->op].field; i++)
		if (!rec_fields_next(&fields, &field, &value))
			return;
	if (!value.present)
		return;
	if (field->kind != KYMO_KIND_ARRAY)
		one(o, r, value.u);
	for (uint32_t i = 0; field->kind == KYMO_KIND_ARRAY && i < value.count; i++)
		one(o, r, wire_element(&value, field->element, field->size, i));
}

/* ---- the end --------------------------------------------------------------------------------------- */

/* Of one kind in one process. */
struct sum {
	int64_t refs;                          /* made and kept, less released */
	uint64_t alive;                        /* objects, as far as calls were recorded */
	uint64_t kept_unseen, released_unseen; /* that the mode leaves out: they were counted */
	uint64_t least, told;                  /* alive at least; of them by line */
};

static struct sum *sum_at(struct sum *sums, uint32_t process, uint32_t kind)
{
	return &sums[(size_t)process * OBJECT_KINDS + kind];
}

static void count_unseen(const struct objects *o, struct sum *sums)
{
	for (uint32_t i = 0; i < o->trace->left_out_count; i++) {
		const struct t_left_out *l = &o->trace->left_out[i];
		const struct object_op *op = &o->ops[l->op];
		struct sum *sum = sum_at(sums, l->process, op->kind);

		if (op->does == OBJECT_KEEPS)
			sum->kept_unseen += l->calls;
		else if (op->does == OBJECT_RELEASES)
			sum->released_unseen += l->calls;
	}
}

static bool is_alive(const struct object *x)
{
	if (!x->line)
		return false;
	if (object_kind_flags(x->kind) & OBJECT_COUNTED)
		return x->makes + x->keeps > x->releases;
	return x->made > x->released;
}

static void count_alive(struct objects *o, struct sum *sums)
{
	for (uint32_t i = 0; i < o->count; i++) {
		struct object *x = &o->list[i];
		struct sum *sum = sum_at(sums, x->process, x->kind);
		struct object_line *line = x->line ? &o->lines[x->line - 1] : NULL;

		x->alive = is_alive(x);
		if (!line)
			continue;
		sum->refs += (int64_t)(x->makes + x->keeps) - (int64_t)x->releases;
		sum->alive += x->alive;
		if (!x->alive)
			continue;
		line->alive++;
		line->first = x->made < line->first ? x->made : line->first;
	}
}

static uint64_t less(uint64_t from, uint64_t n)
{
	return from > n ? from - n : 0;
}

/*
 * Where releases were only counted it is known how many are alive, and of each handle that its last object may be: a
 * line has all of them at most, and at least those that the others cannot have. References that were kept may be several
 * of one object.
 */
static void bound_lines(struct objects *o, struct sum *sums)
{
	for (uint32_t i = 0; i < o->lines_count; i++) {
		struct object_line *l = &o->lines[i];
		struct sum *sum = sum_at(sums, l->process, l->kind);
		uint64_t can = l->alive, most, least;

		l->most = can;
		if (!sum->kept_unseen && !sum->released_unseen)
			continue;
		most = less(sum->refs > 0 ? (uint64_t)sum->refs + sum->kept_unseen
					  : sum->kept_unseen,
			    sum->released_unseen);
		least = less(most, sum->kept_unseen);
		l->most = most < can ? most : can;
		l->alive = less(least, sum->alive - can);
		l->alive = l->alive < l->most ? l->alive : l->most;
		sum->least = least;
		sum->told += l->alive;
	}
}

/* Those of which it is not known which line made them. */
static void add_rest(struct objects *o, const struct sum *sums)
{
	uint32_t lines = o->lines_count;

	for (uint32_t i = 0; i < lines; i++) {
		const struct object_line l = o->lines[i];
		const struct sum *sum = &sums[(size_t)l.process * OBJECT_KINDS + l.kind];
		uint32_t rest =
			sum->least > sum->told ? line_at(o, l.process, l.kind, UINT32_MAX, 0) : 0;

		if (!rest)
			continue;
		o->lines[rest - 1].alive = o->lines[rest - 1].most = sum->least - sum->told;
		if (l.most && l.first < o->lines[rest - 1].first)
			o->lines[rest - 1].first = l.first;
	}
}

static int most_alive(const void *a, const void *b)
{
	const struct object_line *x = *(const struct object_line *const *)a,
				 *y = *(const struct object_line *const *)b;

	if (x->alive != y->alive)
		return x->alive > y->alive ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The lines stay where they are, as objects have their numbers. */
static void put_in_order(struct objects *o)
{
	o->order = calloc(o->lines_count + 1u, sizeof(*o->order));
	if (!o->order) {
		o->failed = true;
		return;
	}
	for (uint32_t i = 0; i < o->lines_count; i++)
		if (o->lines[i].alive)
			o->order[o->alive_count++] = &o->lines[i];
	if (o->alive_count)
		qsort(o->order, o->alive_count, sizeof(*o->order), most_alive);
}

void objects_finish(struct objects *o)
{
	struct sum *sums =
		calloc((size_t)o->trace->processes_count * OBJECT_KINDS + 1, sizeof(*sums));

	if (!sums) {
		o->failed = true;
		return;
	}
	count_unseen(o, sums);
	count_alive(o, sums);
	bound_lines(o, sums);
	add_rest(o, sums);
	put_in_order(o);
	free(sums);
}
