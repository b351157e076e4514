/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enum sets and operations. The processes of one trace mostly describe the same operations: equal
 * ones (domain, name and fields) become one, so that tables and tracks are shared.
 */
#include "formats/raw/schema.h"

#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "stream/reference.h"

/* A cursor over the packed bytes of a definition; reads beyond the end give zeros and `bad`. */
struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t take(struct bytes *b, unsigned n)
{
	uint64_t v = 0;

	if ((size_t)(b->end - b->p) < n) {
		b->bad = true;
		return 0;
	}
	memcpy(&v, b->p, n);
	b->p += n;
	return v;
}

static const char *take_text(struct bytes *b, struct trace *t)
{
	size_t n = take(b, 2);
	const char *s = (const char *)b->p;

	if ((size_t)(b->end - b->p) < n) {
		b->bad = true;
		return "";
	}
	b->p += n;
	return trace_string(t, s, n);
}

static struct bytes bytes_of(const struct wire_def *d, unsigned i)
{
	size_t n;
	const uint8_t *s = (const uint8_t *)wire_def_text(d, i, &n);

	return (struct bytes){s, s + n, false};
}

/* ---- enum sets ----------------------------------------------------------------------------- */

static struct t_enum_set *take_set(struct trace *t, const struct wire_def *d)
{
	struct bytes b = bytes_of(d, DEF_ENUM_SET_VALUES);
	struct t_enum_set *set = trace_alloc(t, sizeof(*set));
	size_t room = (size_t)(b.end - b.p) / 10; /* of the shortest values */
	size_t length;
	const char *name = wire_def_text(d, DEF_ENUM_SET_NAME, &length);

	if (!set)
		return NULL;
	set->name = trace_string(t, name, length);
	set->values = trace_alloc(t, (room + 1) * sizeof(*set->values));
	while (set->values && b.p < b.end && set->count < room) {
		kymo_enum_value_t v;

		v.value = (int64_t)take(&b, 8);
		v.name = take_text(&b, t);
		if (b.bad)
			break;
		set->values[set->count++] = v;
	}
	trace_sort_enum_set(set);
	return set;
}

static uint64_t set_key(const struct t_enum_set *set)
{
	return hash_mix(hash_string(set->name), set->count);
}

static bool same_set(const struct t_enum_set *a, const struct t_enum_set *b)
{
	if (a->count != b->count || strcmp(a->name, b->name) != 0)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->values[i].value != b->values[i].value ||
		    strcmp(a->values[i].name, b->values[i].name) != 0)
			return false;
	return true;
}

/* The processes of a trace mostly have the same sets: one like this one, or this one. */
static struct t_enum_set *shared_set(struct raw_trace *rt, struct t_enum_set *set)
{
	uint64_t key = set_key(set), i;

	map_each(&rt->sets, key, i)
		if (same_set(rt->set_list[i - 1], set))
			return rt->set_list[i - 1];
	if (!vec_reserve(&rt->set_list, &rt->set_room, rt->set_count, 1))
		return set;
	rt->set_list[rt->set_count++] = set;
	map_add(&rt->sets, key, rt->set_count);
	return set;
}

/* Sets are found by id through an array of pointers in the process. */
void schema_add_set(struct raw_process *p, const struct wire_def *d)
{
	struct trace *t = p->rt->trace;
	struct trace_mark mark = trace_mark(t);
	struct t_enum_set *own = take_set(t, d), *set;

	if (!own)
		return;
	set = shared_set(p->rt, own);
	if (set != own)
		trace_go_back(t, mark);
	if (!vec_reserve(&p->set_table, &p->set_room, p->set_count, 1))
		return;
	p->set_table[p->set_count++] = set;
	map_set(&p->sets, wire_def_get(d, DEF_ENUM_SET_ID), p->set_count);
}

/* The values of both, which are in ascending order. */
static uint32_t join_values(const struct t_enum_set *a, const struct t_enum_set *b,
			    kymo_enum_value_t *out)
{
	uint32_t n = 0, i = 0, k = 0;

	while (i < a->count || k < b->count) {
		if (k == b->count || (i < a->count && a->values[i].value <= b->values[k].value)) {
			k += k < b->count && a->values[i].value == b->values[k].value;
			out[n++] = a->values[i++];
		} else {
			out[n++] = b->values[k++];
		}
	}
	return n;
}

/* All that either has: of an enumeration each process keeps the names that it has a use for. */
static const struct t_enum_set *join_sets(struct raw_trace *rt, const struct t_enum_set *a,
					  const struct t_enum_set *b)
{
	struct t_enum_set *set;

	if (!a || !b || a == b || strcmp(a->name, b->name) != 0)
		return a ? a : b;
	set = trace_alloc(rt->trace, sizeof(*set));
	if (!set)
		return a;
	*set = *a;
	set->values =
		trace_alloc(rt->trace, ((size_t)a->count + b->count + 1) * sizeof(*set->values));
	if (!set->values)
		return a;
	set->count = join_values(a, b, set->values);
	return set->count == a->count ? a : shared_set(rt, set);
}

static const struct t_enum_set *set_of(const struct raw_process *p, uint64_t id)
{
	uint32_t i = id ? map_get(&p->sets, id) : 0;

	return i ? p->set_table[i - 1] : NULL;
}

/* ---- operations ---------------------------------------------------------------------------- */

void schema_domain_base(struct raw_process *p, uint32_t domain, uint64_t base)
{
	map_set(&p->bases, domain, (uint32_t)(base & 0xffff) + 1);
}

static void take_fields(struct raw_process *p, struct t_op *op, struct bytes b, uint64_t count)
{
	struct trace *t = p->rt->trace;

	if (count > KYMO_FIELDS_MAX)
		count = KYMO_FIELDS_MAX;
	op->fields = trace_alloc(t, (count + 1) * sizeof(*op->fields));
	while (op->fields && op->field_count < count) {
		struct t_field f;

		f.kind = (uint8_t)take(&b, 1);
		f.element = (uint8_t)take(&b, 1);
		f.size = trace_field_size((uint8_t)take(&b, 1));
		f.flags = (uint8_t)take(&b, 1);
		f.set = set_of(p, take(&b, 4));
		f.name = take_text(&b, t);
		f.type = take_text(&b, t);
		if (b.bad)
			return;
		f.reference = (uint8_t)reference_of(&f, op->flags & KYMO_OP_ACTIVITY);
		op->fields[op->field_count++] = f;
	}
}

static bool same_field(const struct t_field *a, const struct t_field *b)
{
	return a->kind == b->kind && a->element == b->element && a->size == b->size &&
	       a->flags == b->flags && a->reference == b->reference &&
	       strcmp(a->name, b->name) == 0;
}

static bool same_op(const struct t_op *a, const struct t_op *b)
{
	if (a->domain != b->domain || a->field_count != b->field_count ||
	    a->status_ok != b->status_ok || strcmp(a->name, b->name) != 0)
		return false;
	for (uint32_t i = 0; i < a->field_count; i++) {
		if (!same_field(&a->fields[i], &b->fields[i]))
			return false;
	}
	return true;
}

static uint64_t op_key(const struct t_op *op)
{
	return hash_mix(hash_string(op->name), op->domain);
}

/* Index of an op like this one, which is added if there is none. */
static uint32_t merge_op(struct raw_trace *rt, const struct t_op *op)
{
	struct trace *t = rt->trace;
	uint64_t key = op_key(op), i;

	map_each(&rt->ops, key, i) /* of one name, perhaps with other fields */
		if (same_op(&t->ops[i], op))
			return (uint32_t)i;
	i = t->ops_count;
	*trace_add(t, ops) = *op;
	map_add(&rt->ops, key, i);
	return (uint32_t)i;
}

/* An operation of several processes has the names that any of them has. True: it had not all. */
static bool join_op(struct raw_trace *rt, struct t_op *known, const struct t_op *op)
{
	const struct t_enum_set *set = join_sets(rt, known->status_set, op->status_set);
	bool more = set != known->status_set;

	known->status_set = set;
	for (uint32_t i = 0; i < known->field_count; i++) {
		set = join_sets(rt, known->fields[i].set, op->fields[i].set);
		more |= set != known->fields[i].set;
		known->fields[i].set = set;
	}
	return more;
}

uint32_t raw_op_named(struct raw_trace *rt, const struct t_op *like)
{
	const struct trace *t = rt->trace;
	uint64_t i;

	map_each(&rt->ops, op_key(like), i)
		if (t->ops[i].domain == like->domain && strcmp(t->ops[i].name, like->name) == 0)
			return (uint32_t)i;
	return merge_op(rt, like);
}

/* Of one op the same in all processes. */
static const uint8_t *slots_of(struct raw_trace *rt, enum raw_kind kind, uint32_t op)
{
	if (!vec_reserve_zero(&rt->slots, &rt->slot_count, op, 1))
		return NULL;
	if (!rt->slots[op])
		rt->slots[op] = raw_slots(rt->trace, kind, &rt->trace->ops[op]);
	return rt->slots[op];
}

void schema_add_op(struct raw_process *p, const struct wire_def *d)
{
	struct trace *t = p->rt->trace;
	uint64_t wire = wire_def_get(d, DEF_OP_WIRE);
	struct trace_mark mark = trace_mark(t);
	struct t_op op = {0};
	uint32_t known = t->ops_count;
	struct raw_op *ro;
	size_t length;
	const char *name = wire_def_text(d, DEF_OP_NAME, &length);

	if (wire > UINT16_MAX || !vec_reserve_zero(&p->ops, &p->op_count, wire, 1))
		return;
	op.domain = map_get(&p->domains, wire_def_get(d, DEF_OP_DOMAIN));
	op.number = (uint32_t)wire - (map_get(&p->bases, op.domain) - 1);
	op.name = trace_string(t, name, length);
	op.flags = (uint32_t)wire_def_get(d, DEF_OP_FLAGS);
	op.status_set = set_of(p, wire_def_get(d, DEF_OP_STATUS_SET));
	op.status_ok = (int32_t)wire_def_get(d, DEF_OP_STATUS_OK);
	take_fields(p, &op, bytes_of(d, DEF_OP_FIELDS), wire_def_get(d, DEF_OP_FIELD_COUNT));
	ro = &p->ops[wire];
	ro->op = merge_op(p->rt, &op);
	if (ro->op < known && !join_op(p->rt, &t->ops[ro->op], &op))
		trace_go_back(t, mark);
	op = t->ops[ro->op];
	ro->kind = (uint8_t)raw_kind_of_domain(t->domains[op.domain].name);
	if (ro->kind == RAW_KIND_CALL && (op.flags & KYMO_OP_ACTIVITY))
		ro->kind = raw_op_is_published(&op) ? RAW_KIND_PUBLISHED : RAW_KIND_OTHER;
	if (ro->kind == RAW_KIND_MARKER && !raw_op_is_marker(&op))
		ro->kind = RAW_KIND_OTHER;
	ro->fields = (uint8_t)t->ops[ro->op].field_count;
	ro->slots = slots_of(p->rt, (enum raw_kind)ro->kind, ro->op);
	ro->published = raw_op_is_published(&op);
	ro->placed = raw_placed(t->domains[op.domain].name, &op);
}
