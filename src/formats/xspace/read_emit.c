/* SPDX-License-Identifier: Apache-2.0 */
/* Records from entries and their events, in the order of their ends; see reader.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bulk.h"
#include "formats/xspace/reader.h"
#include "record/fields.h"
#include "record/value.h"
#include "stream/names.h"
#include "stream/payload.h"

enum { ARGUMENTS_MAX = 64, VALUES_MAX = 2048, VALUE_MAX = 256 /* bytes kept of all, and of one */ };

struct emitter {
	struct reader *r;
	struct stream_sink *sink;
	struct make_fields fields;
	struct text payload;
	struct stats s; /* of the event at hand */
	uint64_t allocations;
};

#define BIT(name) (UINT64_C(1) << STAT_##name)
/* What follows from others, or says where the event belongs. */
#define COMMON                                                                                     \
	(BIT(CORRELATION) | BIT(SCOPE) | BIT(GROUP) | BIT(FLOW) | BIT(PID) | BIT(STATUS) |         \
	 BIT(EXTERNAL) | BIT(LEFT_OPEN))

struct part xread_argument(const struct stat_value *v)
{
	if ((COMMON | BIT(DOMAIN)) >> v->known & 1 && v->known)
		return PART_NONE;
	return part_begins(v->name, "arg:") ? (struct part){v->name.s + 4, v->name.n - 4} : v->name;
}

/* ---- what all have --------------------------------------------------------------------------- */

static struct rec base_of(const struct emitter *m, const struct entry *e)
{
	const struct reader *r = m->r;

	return (struct rec){.process = e->process,
			    .thread = r->lines[e->line].thread,
			    .ok = true,
			    .external = stat_unsigned(&m->s, STAT_EXTERNAL),
			    .start = e->start + r->shift,
			    .end = e->end + r->shift};
}

/* The innermost range, and the innermost call, that it lies in. */
static void set_surroundings(const struct emitter *m, uint32_t up, struct rec *base)
{
	while (up && !(base->scope && base->parent)) {
		const struct entry *x = &m->r->entries[up - 1];

		if (x->kind == ENTRY_RANGE && !base->scope)
			base->scope = x->scope;
		if (x->kind == ENTRY_CALL && !base->parent)
			base->parent = x->key;
		up = x->up;
	}
}

/* The scope that the event names goes before the one that its times tell. */
static struct rec host_base(const struct emitter *m, const struct entry *e)
{
	struct rec base = base_of(m, e);

	base.scope = e->scope;
	set_surroundings(m, e->up, &base);
	return base;
}

static struct rec device_base(const struct emitter *m, const struct entry *e)
{
	struct rec base = base_of(m, e), around = {.scope = e->scope};

	if (e->up) {
		const struct entry *call = &m->r->entries[e->up - 1];

		around.scope = around.scope ? around.scope : call->scope;
		set_surroundings(m, call->up, &around);
		base.thread = m->r->lines[call->line].thread;
	}
	base.scope = around.scope;
	return base;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct arguments {
	struct stat_value of[ARGUMENTS_MAX];
	uint32_t count;
};

static void take_arguments(struct emitter *m, const struct entry *e, struct arguments *a)
{
	struct stat_walk w = xread_stat_walk(m->r, e);
	struct stat_value v;

	a->count = 0;
	while (xread_next_stat(m->r, &w, &v)) {
		v.name = xread_argument(&v);
		if (v.name.n && a->count < ARGUMENTS_MAX)
			a->of[a->count++] = v;
		else if (v.name.n)
			unplaced_add(&m->r->unplaced, "arguments of calls that have too many", 1);
	}
}

static const struct stat_value *argument_named(const struct arguments *a, const char *name)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (part_is(a->of[i].name, name))
			return &a->of[i];
	return NULL;
}

static bool put_number(struct make_fields *m, const struct stat_value *v)
{
	char digits[32] = "", *end;
	uint64_t u = v->u;

	if (v->type == TYPE_TEXT && v->s.n && v->s.n < sizeof(digits)) {
		memcpy(digits, v->s.s, v->s.n);
		u = strtoull(digits, &end, 0);
		if (*end)
			return false;
	} else if (v->type != TYPE_UNSIGNED && v->type != TYPE_SIGNED) {
		return false;
	}
	make_number(m, u);
	return true;
}

static bool put_text(struct make_fields *m, const struct stat_value *v)
{
	char number[40];

	if (v->type == TYPE_TEXT) {
		make_text(m, (const char *)v->s.s, v->s.n);
		return true;
	}
	if (v->type == TYPE_BYTES)
		return false;
	if (v->type == TYPE_REAL)
		snprintf(number, sizeof(number), "%.17g", v->d);
	else if (v->type == TYPE_UNSIGNED)
		snprintf(number, sizeof(number), "%llu", (unsigned long long)v->u);
	else
		snprintf(number, sizeof(number), "%lld", (long long)v->i);
	make_text(m, number, strlen(number));
	return true;
}

static const struct wire_record *fields_of(struct emitter *m, const struct entry *e)
{
	const struct t_op *op = &m->r->t->ops[e->what];
	struct arguments a;
	uint32_t put = 0;

	take_arguments(m, e, &a);
	make_fields_begin(&m->fields, op);
	for (uint32_t i = 0; i < op->field_count; i++) {
		const struct stat_value *v = argument_named(&a, op->fields[i].name);
		bool text = op->fields[i].kind == KYMO_KIND_STRING;

		if (v && (text ? put_text : put_number)(&m->fields, v))
			put++;
		else
			make_absent(&m->fields);
	}
	if (a.count > put)
		unplaced_add(&m->r->unplaced,
			     "arguments of calls whose operation has none of that name and kind",
			     a.count - put);
	return make_fields_end(&m->fields);
}

static kymo_status_t emit_call(struct emitter *m, const struct entry *e)
{
	struct rec r = host_base(m, e);

	r.op = e->what;
	r.id = e->key;
	r.status = (int32_t)stat_unsigned(&m->s, STAT_STATUS);
	r.ok = r.status == 0;
	r.wire = fields_of(m, e);
	return m->sink->call(m->sink, &r);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void pack(struct text *out, const struct stat_value *v)
{
	static const uint8_t types[] = {[TYPE_REAL] = KYMO_PAYLOAD_DOUBLE,
					[TYPE_UNSIGNED] = KYMO_PAYLOAD_UINT64,
					[TYPE_SIGNED] = KYMO_PAYLOAD_INT64,
					[TYPE_TEXT] = KYMO_PAYLOAD_STRING,
					[TYPE_BYTES] = KYMO_PAYLOAD_BYTES};
	bool number = v->type != TYPE_TEXT && v->type != TYPE_BYTES;
	size_t size = number ? sizeof(v->u) : v->s.n;
	uint16_t kept = (uint16_t)(size < VALUE_MAX ? size : VALUE_MAX);
	uint32_t all = (uint32_t)(size < UINT32_MAX ? size : UINT32_MAX);
	uint8_t head[8] = {types[v->type], (uint8_t)(v->name.n < 255 ? v->name.n : 255)};

	memcpy(head + 2, &kept, sizeof(kept));
	memcpy(head + 4, &all, sizeof(all));
	text_add_bytes(out, (const char *)head, sizeof(head));
	text_add_bytes(out, (const char *)v->name.s, head[1]);
	text_add_bytes(out, number ? (const char *)&v->u : (const char *)v->s.s, kept);
}

/* The first byte counts what there was no room for. */
static void pack_values(struct emitter *m, const struct entry *e)
{
	const uint64_t own =
		COMMON | BIT(DOMAIN) | BIT(CATEGORY) | BIT(COLOR) | BIT(MARK) | BIT(ACTIVITY);
	struct stat_walk w = xread_stat_walk(m->r, e);
	unsigned left_out = 0;
	struct stat_value v;

	m->payload.length = 0;
	text_add_bytes(&m->payload, "", 1);
	while (xread_next_stat(m->r, &w, &v)) {
		if (v.known && own >> v.known & 1)
			continue;
		v.name = xread_argument(&v);
		if (m->payload.length + 8 + 255 + VALUE_MAX <= VALUES_MAX)
			pack(&m->payload, &v);
		else
			left_out++;
	}
	if (m->payload.length == 1 && !left_out)
		m->payload.length = 0;
	else if (m->payload.s)
		m->payload.s[0] = (char)(left_out < 255 ? left_out : 255);
}

static uint32_t range_op(struct emitter *m, const struct entry *e)
{
	return make_activity(&m->r->model, RECORD_DOMAIN_marker,
			     e->kind == ENTRY_MARK    ? MARKER_OP_MARK
			     : e->kind == ENTRY_RANGE ? MARKER_OP_RANGE
						      : MARKER_OP_PROCESS_RANGE);
}

static kymo_status_t emit_range(struct emitter *m, const struct entry *e)
{
	uint32_t input = m->r->planes[m->r->lines[e->line].plane].input;
	struct rec_marker r = {.base = base_of(m, e),
			       .scope = e->kind == ENTRY_MARK ? 0 : e->scope};
	struct rec around = {.scope = e->kind == ENTRY_MARK
					      ? e->scope
					      : xread_parent_scope(m->r, input, e->scope)};

	set_surroundings(m, e->up, &around);
	pack_values(m, e);
	r.base.scope = around.scope;
	r.base.op = range_op(m, e);
	r.name = xread_text(m->r, xread_name(m->r, e));
	r.domain = xread_text(m->r, xread_domain(m->r, e, &m->s));
	r.category = xread_text(m->r, stat_text(&m->s, STAT_CATEGORY));
	r.color = (uint32_t)stat_unsigned(&m->s, STAT_COLOR);
	r.left_open = stat_unsigned(&m->s, STAT_LEFT_OPEN) != 0;
	r.text = m->r->t->strings[r.name].text;
	r.text_length = m->r->t->strings[r.name].length;
	r.payload = (const uint8_t *)m->payload.s;
	r.payload_bytes = (uint32_t)m->payload.length;
	return m->sink->marker(m->sink, &r);
}

static kymo_status_t emit_scope(struct emitter *m, const struct entry *e)
{
	uint32_t input = m->r->planes[m->r->lines[e->line].plane].input;
	struct rec_marker r = {.base = base_of(m, e), .scope = e->scope, .name = e->what};

	r.base.thread = 0;
	r.base.external = 0;
	r.base.scope = xread_parent_scope(m->r, input, e->scope);
	r.base.op = range_op(m, e);
	r.domain = m->r->scope_domain;
	r.text = m->r->t->strings[r.name].text;
	r.text_length = m->r->t->strings[r.name].length;
	return m->sink->marker(m->sink, &r);
}

/* ---- device work ----------------------------------------------------------------------------- */

/* Queued when its call began, where the file does not say. */
static struct rec_device times_of(const struct emitter *m, const struct entry *e)
{
	const struct entry *call = e->up ? &m->r->entries[e->up - 1] : NULL;
	int64_t start = e->start + m->r->shift, began = call ? call->start + m->r->shift : 0;
	int64_t queued = (int64_t)stat_unsigned(&m->s, STAT_QUEUED);
	int64_t submitted = (int64_t)stat_unsigned(&m->s, STAT_SUBMITTED);
	int64_t known = began && began < start ? began : 0;

	return (struct rec_device){
		.start = start,
		.end = e->end + m->r->shift,
		.queued = queued > 0 && queued < start ? start - queued : known,
		.submitted = submitted > 0 && submitted < start ? start - submitted : known,
		.status = (int32_t)stat_unsigned(&m->s, STAT_STATUS),
		.correlation = call ? call->key : 0,
		.submit = began,
		.causal_violation = call && e->start < call->start};
}

/* What of the event found no field. */
static void count_rest(struct emitter *m, const struct entry *e)
{
	const uint64_t taken = COMMON | BIT(DEVICE) | BIT(KERNEL_DETAILS) | BIT(MEMCPY_DETAILS) |
			       BIT(MEMSET_DETAILS) | BIT(QUEUED) | BIT(SUBMITTED) |
			       BIT(WORK_ITEMS) | BIT(DIMENSIONS) | BIT(LOCAL_MEMORY) | BIT(GRAPH) |
			       BIT(GRAPH_NODE) | BIT(COPY) | BIT(SOURCE) | BIT(DESTINATION) |
			       BIT(ADDRESS) | BIT(FAULTS) | BIT(ALLOC_DETAILS) | BIT(FREE_DETAILS);
	uint64_t in_scope = BIT(HLO_MODULE) | BIT(HLO_OP) | BIT(NVTX) | BIT(TF_OP) | BIT(PROGRAM);
	struct stat_walk w = xread_stat_walk(m->r, e);
	struct stat_value v;

	/* Names that are in the scopes are told there. */
	in_scope = e->scope ? in_scope : 0;
	while (xread_next_stat(m->r, &w, &v))
		if (!v.known || !((taken | in_scope) >> v.known & 1))
			xread_count_stat(m->r, v.name);
}

static void take_three(struct part text, uint64_t out[3])
{
	char digits[64] = "", *p = digits;

	memcpy(digits, text.s, text.n < 63 ? text.n : 63);
	for (unsigned i = 0; i < 3 && *p >= '0' && *p <= '9'; i++) {
		out[i] = strtoull(p, &p, 10);
		p += *p == ',';
	}
}

/* "4,2,1 of 0,0,0": what is no whole number of groups. */
static void take_sizes(const struct stats *s, struct rec_dispatch *r)
{
	struct part details = stat_text(s, STAT_KERNEL_DETAILS), p, of;
	struct part items = stat_text(s, STAT_WORK_ITEMS);
	uint64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
	const uint8_t *word = items.n ? memchr(items.s, ' ', items.n) : NULL;

	if (xread_detail(details, "grid", &p))
		take_three(p, grid);
	if (xread_detail(details, "block", &p))
		take_three(p, block);
	for (unsigned i = 0; i < 3; i++) {
		r->local[i] = block[i] <= UINT32_MAX ? block[i] : 0;
		r->global[i] =
			grid[i] <= UINT32_MAX ? grid[i] * (r->local[i] ? r->local[i] : 1) : 0;
	}
	if (!word || (size_t)(items.s + items.n - word) < 5)
		return;
	of = (struct part){word + 4, (size_t)(items.s + items.n - word) - 4};
	take_three(items, r->global);
	take_three(of, r->local);
}

static kymo_status_t emit_dispatch(struct emitter *m, const struct entry *e)
{
	const struct line_in *l = &m->r->lines[e->line];
	struct part details = stat_text(&m->s, STAT_KERNEL_DETAILS), regs;
	uint64_t dims = stat_unsigned(&m->s, STAT_DIMENSIONS);
	struct rec_dispatch r = {
		.base = device_base(m, e),
		.device = times_of(m, e),
		.agent = xread_agent(m->r, e->process, l->plane + 1),
		.queue = xread_queue(m->r, e->process, e->line),
		.kernel = xread_kernel(m->r, e->process, xread_name(m->r, e)),
		.dims = dims >= 1 && dims <= 3 ? (uint32_t)dims : 3,
		.launch = {.registers = xread_detail_number(details, "regs"),
			   .static_shared = xread_detail_number(details, "static_shared"),
			   .dynamic_shared = xread_detail_number(details, "dynamic_shared"),
			   .local_memory = stat_unsigned(&m->s, STAT_LOCAL_MEMORY),
			   .graph = stat_unsigned(&m->s, STAT_GRAPH),
			   .graph_node = stat_unsigned(&m->s, STAT_GRAPH_NODE)}};
	bool launch = xread_detail(details, "regs", &regs) && rec_launch_is_set(&r.launch);

	take_sizes(&m->s, &r);
	count_rest(m, e);
	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_dispatch,
				  launch ? DISPATCH_OP_LAUNCH : DISPATCH_OP_KERNEL);
	return m->sink->dispatch(m->sink, &r);
}

static uint8_t memory_kind(struct part details, const char *key)
{
	struct part p;

	if (!xread_detail(details, key, &p))
		return MEMORY_UNKNOWN;
	return part_is(p, "pageable")      ? MEMORY_HOST_PAGEABLE
	       : part_is(p, "pinned")      ? MEMORY_HOST_PINNED
	       : part_is(p, "device")      ? MEMORY_DEVICE
	       : part_is(p, "array")       ? MEMORY_DEVICE
	       : part_begins(p, "device_") ? MEMORY_DEVICE
	       : part_begins(p, "managed") ? MEMORY_MANAGED
	       : part_is(p, "shared")      ? MEMORY_SHARED
					   : MEMORY_UNKNOWN;
}

/* As Kymo's own writer names it; else by the name of the event. */
static uint32_t copy_op(const struct emitter *m, const struct entry *e)
{
	static const char *const ops[] = {"read", "write", "copy",    "fill",
					  "map",  "unmap", "migrate", "fault"};
	struct part op = stat_text(&m->s, STAT_COPY), name = xread_name(m->r, e);

	for (uint32_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (part_is(op, ops[i]))
			return i;
	if (stat_of(&m->s, STAT_MEMSET_DETAILS) || part_begins(name, "Memset"))
		return COPY_OP_FILL;
	return memmem(name.s, name.n, "H2D", 3) || memmem(name.s, name.n, "HtoD", 4) ? COPY_OP_WRITE
	       : memmem(name.s, name.n, "D2H", 3) || memmem(name.s, name.n, "DtoH", 4)
		       ? COPY_OP_READ
		       : COPY_OP_COPY;
}

static void take_ends(struct emitter *m, const struct entry *e, uint32_t op, struct rec_copy *r)
{
	const struct line_in *l = &m->r->lines[e->line];
	uint32_t input = m->r->planes[l->plane].input,
		 own = xread_agent(m->r, e->process, l->plane + 1);
	const struct stat_value *from = stat_of(&m->s, STAT_SOURCE),
				*to = stat_of(&m->s, STAT_DESTINATION);
	bool said = from || to || stat_of(&m->s, STAT_COPY);

	r->source_agent =
		said ? xread_agent(m->r, e->process, xread_device_plane(m->r, input, from)) : own;
	r->destination_agent =
		said ? xread_agent(m->r, e->process, xread_device_plane(m->r, input, to)) : own;
	if (!said && op == COPY_OP_WRITE)
		r->source_agent = 0;
	if (!said && op == COPY_OP_READ)
		r->destination_agent = 0;
}

static kymo_status_t emit_copy(struct emitter *m, const struct entry *e)
{
	struct part details = stat_text(&m->s, STAT_MEMCPY_DETAILS), async;
	struct part fill = stat_text(&m->s, STAT_MEMSET_DETAILS);
	uint32_t op = copy_op(m, e);
	struct rec_copy r = {.base = device_base(m, e),
			     .device = times_of(m, e),
			     .queue = xread_queue(m->r, e->process, e->line),
			     .bytes = fill.n ? xread_detail_number(fill, "num_bytes")
					     : xread_detail_number(details, "size"),
			     .source_kind = memory_kind(details, "kind_src"),
			     .destination_kind = fill.n ? memory_kind(fill, "kind")
							: memory_kind(details, "kind_dst"),
			     .graph = stat_unsigned(&m->s, STAT_GRAPH),
			     .graph_node = stat_unsigned(&m->s, STAT_GRAPH_NODE),
			     .address = stat_unsigned(&m->s, STAT_ADDRESS),
			     .faults = stat_unsigned(&m->s, STAT_FAULTS)};

	r.blocking = xread_detail(fill.n ? fill : details, "async", &async) && part_is(async, "0");
	take_ends(m, e, op, &r);
	count_rest(m, e);
	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_copy, op);
	return m->sink->copy(m->sink, &r);
}

/* ---- memory, waits, messages, counters ------------------------------------------------------- */

static uint32_t agent_named(struct emitter *m, const struct entry *e)
{
	const struct line_in *l = &m->r->lines[e->line];
	const struct plane_in *p = &m->r->planes[l->plane];
	uint32_t plane = p->kind == PLANE_DEVICE
				 ? l->plane + 1
				 : xread_device_plane(m->r, p->input, stat_of(&m->s, STAT_DEVICE));

	return xread_agent(m->r, e->process, plane);
}

static uint8_t what_named(struct part text)
{
	for (unsigned i = 1; i <= ALLOCATION_REGISTERED; i++)
		if (part_is(text, name_allocation_what(i)))
			return (uint8_t)i;
	return 0;
}

static kymo_status_t emit_memory(struct emitter *m, const struct entry *e)
{
	struct part freed = stat_text(&m->s, STAT_FREE_DETAILS);
	struct part details = freed.n ? freed : stat_text(&m->s, STAT_ALLOC_DETAILS);
	uint64_t known = stat_unsigned(&m->s, STAT_ALLOCATION);
	bool thread = m->r->lines[e->line].thread;
	struct rec_allocation r = {.base = thread ? host_base(m, e) : device_base(m, e),
				   .agent = agent_named(m, e),
				   .kind = memory_kind(details, "kind"),
				   .what = what_named(stat_text(&m->s, STAT_WHAT)),
				   .bytes = xread_detail_number(details, "num_bytes"),
				   .address = stat_unsigned(&m->s, STAT_ADDRESS),
				   .allocation = known ? known : ++m->allocations};

	r.correlation = thread ? r.base.parent : e->up ? m->r->entries[e->up - 1].key : 0;
	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_allocation,
				  freed.n ? ALLOCATION_OP_FREE : ALLOCATION_OP_ALLOCATE);
	return m->sink->allocation(m->sink, &r);
}

static uint32_t number_of_op(struct reader *r, enum record_domain domain, struct part name,
			     uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t op = make_activity(&r->model, domain, i);

		if (part_is(name, r->t->ops[op].name))
			return op;
	}
	return make_activity(&r->model, domain, 0);
}

/* The queue whose line has that number. */
static uint32_t queue_numbered(struct emitter *m, const struct entry *e)
{
	const struct stat_value *v = stat_of(&m->s, STAT_STREAM);
	uint32_t input = m->r->planes[m->r->lines[e->line].plane].input;

	for (uint32_t i = 0; v && i < m->r->line_count; i++)
		if (m->r->lines[i].what == ROW_QUEUE && m->r->lines[i].id == v->i &&
		    m->r->planes[m->r->lines[i].plane].kind == PLANE_DEVICE &&
		    m->r->planes[m->r->lines[i].plane].input == input)
			return xread_queue(m->r, e->process, i);
	return 0;
}

static kymo_status_t emit_sync(struct emitter *m, const struct entry *e)
{
	struct rec_sync r = {.base = host_base(m, e),
			     .queue = queue_numbered(m, e),
			     .count = stat_unsigned(&m->s, STAT_EVENTS),
			     .event = stat_unsigned(&m->s, STAT_EVENT)};

	r.correlation = r.base.parent;
	r.base.op = number_of_op(m->r, RECORD_DOMAIN_sync, stat_text(&m->s, STAT_SYNC),
				 SYNC_OP_SEMAPHORE_SIGNAL + 1);
	return m->sink->sync(m->sink, &r);
}

static kymo_status_t emit_comm(struct emitter *m, const struct entry *e)
{
	const struct stat_value *peer = stat_of(&m->s, STAT_PEER), *tag = stat_of(&m->s, STAT_TAG);
	struct rec_comm r = {.base = base_of(m, e),
			     .correlation = stat_unsigned(&m->s, STAT_CALL),
			     .peer = peer ? (int32_t)peer->i : -1,
			     .tag = tag ? (int32_t)tag->i : -1,
			     .sent = stat_unsigned(&m->s, STAT_SENT),
			     .received = stat_unsigned(&m->s, STAT_RECEIVED),
			     .datatype = xread_text(m->r, stat_text(&m->s, STAT_DATATYPE))};
	uint32_t call = xread_call(m->r, e->process, r.correlation);

	r.base.scope = e->scope;
	r.base.thread = call ? m->r->lines[m->r->entries[call - 1].line].thread : 0;
	r.base.op = number_of_op(m->r, RECORD_DOMAIN_comm, xread_name(m->r, e), COMM_OP_WRITE + 1);
	return m->sink->comm(m->sink, &r);
}

/* The value has the counter's own name; of several the first number. */
static kymo_status_t emit_counter(struct emitter *m, const struct entry *e)
{
	struct stat_walk w = xread_stat_walk(m->r, e);
	struct rec_counter r = {.base = base_of(m, e), .counter = e->what};
	struct stat_value v;
	bool found = false;

	while (!found && xread_next_stat(m->r, &w, &v)) {
		found = !(COMMON >> v.known & 1 && v.known) && v.type <= TYPE_SIGNED;
		r.value = v.type == TYPE_REAL     ? v.d
			  : v.type == TYPE_SIGNED ? (double)v.i
						  : (double)v.u;
	}
	if (!found) {
		unplaced_lose(&m->r->unplaced, "counters without a number", 1);
		return KYMO_OK;
	}
	r.agent = m->r->t->counters[e->what].agent;
	r.base.scope = e->scope;
	r.base.op = make_activity(&m->r->model, RECORD_DOMAIN_counter, COUNTER_OP_PUBLISHED);
	return m->sink->counter(m->sink, &r);
}

/* ---- all ------------------------------------------------------------------------------------- */

static kymo_status_t emit(struct emitter *m, const struct entry *e)
{
	m->s.there = 0;
	if (e->kind == ENTRY_SCOPE)
		return emit_scope(m, e);
	xread_stats(m->r, e, &m->s);
	switch ((enum entry_kind)e->kind) {
	case ENTRY_CALL:
		return emit_call(m, e);
	case ENTRY_RANGE:
	case ENTRY_PROCESS_RANGE:
	case ENTRY_MARK:
		return emit_range(m, e);
	case ENTRY_DISPATCH:
		return emit_dispatch(m, e);
	case ENTRY_COPY:
		return emit_copy(m, e);
	case ENTRY_SYNC:
		return emit_sync(m, e);
	case ENTRY_MEMORY:
		return emit_memory(m, e);
	case ENTRY_COUNTER:
		return emit_counter(m, e);
	case ENTRY_COMM:
		return emit_comm(m, e);
	default:
		return KYMO_OK;
	}
}

kymo_status_t xread_emit(struct reader *r, struct stream_sink *sink)
{
	struct emitter *m = calloc(1, sizeof(*m));
	uint64_t lost = r->unplaced.lost;
	kymo_status_t status = m ? sink->begin(sink, r->t) : KYMO_ERROR_NO_MEMORY;

	if (!m)
		return status;
	m->r = r;
	m->sink = sink;
	for (uint32_t i = 0; i < r->picked && status == KYMO_OK; i++) {
		status = emit(m, &r->entries[r->order[i]]);
		if (i % 65536 == 0)
			bulk_rest();
		if (r->o->progress && i % 65536 == 0)
			r->o->progress(r->o->progress_data, 0.5 + 0.5 * i / r->picked);
	}
	make_lost(r->t, 0, r->unplaced.lost - lost, 0);
	if (status == KYMO_OK || status == KYMO_ERROR_LIMIT) {
		kymo_status_t end = sink->end(sink, r->t);

		status = status == KYMO_OK ? end : status;
	}
	text_release(&m->payload);
	free(m);
	return status;
}
