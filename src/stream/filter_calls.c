/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are wanted for what they are on the host (thread, scope, call site, the memory they
 * name), so that the work of devices that they submitted can follow them. Device work is recorded
 * when it has ended, by whichever thread found out: hence a pass ahead, whose memory is 16 to 64
 * bytes for each call that is wanted, not for each that there is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "stream/filter_parts.h"

enum { DEPTH_MAX = 16 }; /* of calls in calls */

/* An allocation while it lived. */
struct object {
	uint32_t process;
	uint64_t id, address, bytes; /* of what has a handle, which is no place in memory: 1 */
	int64_t from, to;
	bool chosen;
	uint64_t parent;
	uint32_t outer; /* once sorted: place + 1 of the last one before it that ends behind it */
};

struct filter_calls {
	struct stream_sink sink; /* first: of the pass */
	struct filter_binding *b;
	const struct trace *trace;
	struct map *ids;       /* by process: of the calls */
	struct object *object; /* that the user named, and those with parents */
	uint32_t object_count, object_room;
	struct map *places; /* by process: allocation to its object + 1 */
	/*
	 * By process: of calls inside of others, the one around, where calls are chosen by what they are: what a
	 * framework's call has a runtime do belongs to it.
	 */
	struct map *around;
	bool handle; /* a call names the very handle that the user did: of an object that is no allocation */
};

struct filter_calls *calls_new(struct filter_binding *b)
{
	struct filter_calls *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->trace = b->trace;
	c->b = b;
	c->ids = calloc(b->trace->processes_count, sizeof(*c->ids));
	c->places = calloc(b->trace->processes_count, sizeof(*c->places));
	c->around = calloc(b->trace->processes_count, sizeof(*c->around));
	if (c->ids && c->places && c->around)
		return c;
	calls_free(c);
	return NULL;
}

void calls_free(struct filter_calls *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->trace->processes_count; i++) {
		if (c->ids)
			map_release(&c->ids[i]);
		if (c->places)
			map_release(&c->places[i]);
		if (c->around)
			map_release(&c->around[i]);
	}
	free(c->ids);
	free(c->places);
	free(c->around);
	free(c->object);
	free(c);
}

bool calls_have(const struct filter_calls *c, uint32_t process, uint64_t id)
{
	for (unsigned depth = 0; id && depth < DEPTH_MAX; depth++) {
		if (map_get(&c->ids[process], id))
			return true;
		id = map_get(&c->around[process], id);
	}
	return false;
}

/* ---- memory -------------------------------------------------------------------------------- */

static struct object *object_of(const struct filter_calls *c, uint32_t process, uint64_t id)
{
	uint64_t i = map_get(&c->places[process], id);

	return i ? &c->object[i - 1] : NULL;
}

bool calls_have_object(const struct filter_calls *c, uint32_t process, uint64_t allocation)
{
	return object_of(c, process, allocation) != NULL;
}

/* Users have a handle of it; what lies behind that is the runtime's own. */
static bool has_handle_only(const struct trace *t, const struct rec_allocation *r)
{
	const char *domain =
		r->context ? t->contexts[r->context].domain : t->agents[r->agent].domain;

	if (r->what == ALLOCATION_IMAGE || r->what == ALLOCATION_PIPE)
		return true;
	return (r->what == ALLOCATION_BUFFER || r->what == ALLOCATION_SUB_BUFFER) && domain &&
	       (strcmp(domain, "opencl") == 0 || strcmp(domain, "occa") == 0);
}

static uint64_t span_of(const struct trace *t, const struct rec_allocation *r)
{
	return has_handle_only(t, r) ? 1 : r->bytes;
}

static bool is_chosen(const struct filter_calls *c, const struct rec_allocation *r)
{
	const struct stream_filter *f = c->b->filter;

	if (f->memory_id)
		return r->allocation == f->memory;
	return f->memory == r->address ||
	       (f->memory > r->address && f->memory - r->address < span_of(c->trace, r));
}

static kymo_status_t add_object(struct stream_sink *sink, const struct rec_allocation *r)
{
	struct filter_calls *c = (struct filter_calls *)(void *)sink;
	struct object *o = object_of(c, r->base.process, r->allocation);

	if (!o) {
		if (!is_chosen(c, r) && !r->parent)
			return KYMO_OK;
		if (!vec_reserve(&c->object, &c->object_room, c->object_count, 1))
			return KYMO_ERROR_NO_MEMORY;
		o = &c->object[c->object_count++];
		*o = (struct object){.process = r->base.process,
				     .id = r->allocation,
				     .address = r->address,
				     .bytes = span_of(c->trace, r),
				     .from = INT64_MIN,
				     .to = INT64_MAX,
				     .chosen = is_chosen(c, r),
				     .parent = r->parent};
		if (!map_set(&c->places[r->base.process], r->allocation, c->object_count))
			return KYMO_ERROR_NO_MEMORY;
	}
	/* Chunks of threads come in any order: the release may be first. */
	if (c->trace->ops[r->base.op].number == ALLOCATION_OP_FREE)
		o->to = r->base.end;
	else
		o->from = r->base.start;
	return KYMO_OK;
}

static bool allocates(const struct trace *t, const struct t_op *op)
{
	return strcmp(t->domains[op->domain].name, "allocation") == 0;
}

/* The field has that very handle in it, as one or in an array. */
static bool has_handle(const struct t_field *field, const struct wire_value *v, uint64_t handle)
{
	bool yes = field->kind == KYMO_KIND_HANDLE && v->u == handle;

	for (uint32_t i = 0; field->kind == KYMO_KIND_ARRAY && field->element == KYMO_KIND_HANDLE &&
			     i < v->count && !yes;
	     i++)
		yes = wire_element(v, KYMO_KIND_HANDLE, sizeof(handle), i) == handle;
	return yes;
}

static bool names_handle(const struct filter_calls *c, const struct rec *r)
{
	const struct t_field *field;
	struct wire_value v;
	struct rec_fields f;

	if (!r->wire)
		return false;
	rec_fields_init(&f, c->trace, r);
	while (rec_fields_next(&f, &field, &v))
		if (has_handle(field, &v, c->b->filter->memory))
			return true;
	return false;
}

static kymo_status_t look_for_handle(struct stream_sink *sink, const struct rec *r)
{
	struct filter_calls *c = (struct filter_calls *)(void *)sink;

	c->handle = c->handle || names_handle(c, r);
	return KYMO_OK;
}

/* What follows a call by its site or its arguments is not only the work of devices. */
static bool is_call(const struct trace *t, const struct t_op *op)
{
	return !(op->flags & KYMO_OP_ACTIVITY);
}

static bool allocates_or_calls(const struct trace *t, const struct t_op *op)
{
	return allocates(t, op) || is_call(t, op);
}

struct stream_sink *calls_look_objects(struct filter_calls *c,
				       bool (**wants)(const struct trace *t, const struct t_op *op))
{
	const bool by_number = c->b->filter->memory_id;

	c->sink = (struct stream_sink){.allocation = add_object, .brief = by_number};
	*wants = allocates;
	if (!by_number) {
		c->sink.call = look_for_handle;
		*wants = allocates_or_calls;
	}
	return &c->sink;
}

/* The user means the object of that handle, not memory around the place where that lies. */
static void prefer_exact(struct filter_calls *c)
{
	const uint64_t wanted = c->b->filter->memory;

	for (uint32_t i = 0; i < c->object_count; i++)
		c->object[i].chosen &= c->object[i].address == wanted;
}

static int by_parent(const void *x, const void *y)
{
	const struct object *a = x, *b = y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->parent > b->parent) - (a->parent < b->parent);
}

/* The first one, of those sorted by their parents, that is a part of `o`, or would be. */
static uint32_t first_part(const struct filter_calls *c, const struct object *o)
{
	const struct object key = {.process = o->process, .parent = o->id};
	uint32_t low = 0, high = c->object_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (by_parent(&c->object[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Parts of what is chosen are chosen. False: no memory. */
static bool choose_parts(struct filter_calls *c)
{
	uint32_t *chosen = malloc((c->object_count + (size_t)1) * sizeof(*chosen)), n = 0;

	if (!chosen)
		return false;
	if (c->object_count)
		qsort(c->object, c->object_count, sizeof(*c->object), by_parent);
	for (uint32_t i = 0; i < c->object_count; i++)
		if (c->object[i].chosen)
			chosen[n++] = i;
	while (n) {
		const struct object *o = &c->object[chosen[--n]];

		for (uint32_t i = first_part(c, o); i < c->object_count; i++) {
			struct object *part = &c->object[i];

			if (part->process != o->process || part->parent != o->id)
				break;
			if (!part->chosen)
				chosen[n++] = i;
			part->chosen = true;
		}
	}
	free(chosen);
	return true;
}

static int by_address(const void *x, const void *y)
{
	const struct object *a = x, *b = y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* Behind its last byte; of no bytes it is its address alone. */
static uint64_t end_of(const struct object *o)
{
	uint64_t bytes = o->bytes ? o->bytes : 1;

	return o->address > UINT64_MAX - bytes ? UINT64_MAX : o->address + bytes;
}

/* Who is not before it and ends before it does needs no look where a value is behind the end. */
static void link_outer(struct filter_calls *c)
{
	for (uint32_t i = 0; i < c->object_count; i++) {
		struct object *o = &c->object[i];
		uint32_t k = i;

		while (k && c->object[k - 1].process == o->process &&
		       end_of(&c->object[k - 1]) <= end_of(o))
			k = c->object[k - 1].outer;
		o->outer = k && c->object[k - 1].process == o->process ? k : 0;
	}
}

/* What is chosen alone is kept, by its address. */
static bool keep_chosen(struct filter_calls *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->object_count; i++)
		if (c->object[i].chosen)
			c->object[kept++] = c->object[i];
	c->object_count = kept;
	if (kept)
		qsort(c->object, kept, sizeof(*c->object), by_address);
	link_outer(c);
	for (uint32_t i = 0; i < c->trace->processes_count; i++)
		map_clear(&c->places[i]);
	for (uint32_t i = 0; i < kept; i++)
		if (!map_set(&c->places[c->object[i].process], c->object[i].id, i + 1))
			return false;
	return true;
}

kymo_status_t calls_objects_looked(struct filter_calls *c, struct filter_binding *b)
{
	struct names_list none = {0};

	if (c->handle)
		prefer_exact(c);
	if (!choose_parts(c) || !keep_chosen(c))
		return KYMO_ERROR_NO_MEMORY;
	return filter_choose(b, CHOICE_MEMORY, c->object_count != 0 || c->handle,
			     "no allocation has that number or lies there; the view "
			     "memory_allocations of kymo query lists them",
			     &none);
}

/* ---- calls --------------------------------------------------------------------------------- */

/* How many objects are not behind that address, at that address not later than that time. */
static uint32_t places_before(const struct filter_calls *c, uint32_t process, uint64_t address,
			      int64_t time)
{
	const struct object key = {.process = process, .address = address, .from = time};
	uint32_t low = 0, high = c->object_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (by_address(&c->object[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool names_object(const struct filter_calls *c, const struct rec *r, uint64_t value)
{
	uint32_t k = value ? places_before(c, r->process, value, r->end) : 0;

	while (k && c->object[k - 1].process == r->process) {
		const struct object *o = &c->object[k - 1];

		if (value != o->address && value - o->address >= o->bytes)
			k = o->outer;
		else if (r->end >= o->from && r->start <= o->to)
			return true;
		else
			k--;
	}
	return false;
}

/* An argument of it is the object, or lies in it; OpenCL hands objects to kernels as bytes. */
static bool uses_memory(const struct filter_calls *c, const struct rec *r)
{
	const struct t_field *field;
	struct wire_value v;
	struct rec_fields f;

	if (!r->wire)
		return false;
	rec_fields_init(&f, c->trace, r);
	while (rec_fields_next(&f, &field, &v)) {
		uint64_t value = 0;

		if (field->kind == KYMO_KIND_POINTER || field->kind == KYMO_KIND_HANDLE)
			value = v.u;
		else if (field->kind == KYMO_KIND_BYTES && v.count == sizeof(value))
			memcpy(&value, v.data, sizeof(value));
		if (names_object(c, r, value))
			return true;
	}
	return false;
}

static kymo_status_t add_call(struct stream_sink *sink, const struct rec *r)
{
	struct filter_calls *c = (struct filter_calls *)(void *)sink;

	const struct stream_filter_spec *s = &c->b->filter->spec;

	if (r->id && r->parent && (s->sites || s->memory) &&
	    !map_set(&c->around[r->process], r->id, r->parent))
		return KYMO_ERROR_NO_MEMORY;
	if (!r->id || !filter_host(c->b, r) ||
	    (s->memory && !uses_memory(c, r) && !(c->handle && names_handle(c, r))))
		return KYMO_OK;
	return map_set(&c->ids[r->process], r->id, 1) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static bool submits(const struct trace *t, const struct t_op *op)
{
	return op->flags & KYMO_OP_SUBMITS;
}

struct stream_sink *calls_look(struct filter_calls *c,
			       bool (**wants)(const struct trace *t, const struct t_op *op))
{
	const struct stream_filter_spec *s = &c->b->filter->spec;

	c->sink = (struct stream_sink){.call = add_call, .brief = !s->sites && !s->memory};
	*wants = s->sites || s->memory ? is_call : submits;
	return &c->sink;
}
