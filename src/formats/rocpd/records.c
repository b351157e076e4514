/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as rows. Each has an event, which says its category, the call it belongs to (stack_id: the
 * correlation id) and the call around it (parent_stack_id). What an event's extdata holds must be {} or
 * have a "message"; that of other rows is free. Fields that have no column of their own are arguments.
 */
#include "formats/rocpd/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/value.h"
#include "stream/make.h"
#include "stream/names.h"
#include "stream/payload.h"
#include "stream/reference.h"

static const char none[] = "{}";

static struct rocpd *self(struct stream_sink *s)
{
	return (struct rocpd *)s;
}

static int64_t *add_row(struct part *p, enum rocpd_feed feed)
{
	int64_t *c = dbappend_row(&p->feed[feed]);

	if (c)
		c[0] = ++p->last[feed];
	return c;
}

#define PUT_ROW(c, ...)                                                                            \
	memcpy((c) + 1, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}))

static inline int64_t null_if_0(uint64_t v)
{
	return v ? (int64_t)v : DBAPPEND_NULL;
}

static inline int64_t text_cell(const char *s)
{
	return dbappend_text(s);
}

/* ---- JSON in a row ----------------------------------------------------------------------------- */

/* An object in the room that a row has for its texts: {"key":value,...}. */
static struct output json_begin(struct dbappend *f)
{
	return (struct output){.fd = -1, .data = dbappend_room(f), .size = DBAPPEND_TEXT_MAX - 2};
}

static void json_key(struct output *o, const char *key)
{
	output_text(o, o->used ? ",\"" : "{\"");
	output_text(o, key);
	output_put(o, "\":", 2);
}

static void json_number(struct output *o, const char *key, uint64_t v)
{
	if (!v)
		return;
	json_key(o, key);
	output_unsigned(o, v);
}

static void json_signed(struct output *o, const char *key, int64_t v)
{
	if (!v)
		return;
	json_key(o, key);
	output_signed(o, v);
}

static void json_text(struct output *o, const char *key, const char *v)
{
	if (!v || !*v)
		return;
	json_key(o, key);
	output_json(o, v);
}

/* The cell. What is too long for a row is left out, and told. */
static int64_t json_end(struct part *p, struct dbappend *f, struct output *o)
{
	if (!o->used && !o->error)
		return text_cell(none);
	if (o->error) {
		unplaced_add(&p->w->unplaced, "descriptions that are too long", 1);
		return text_cell(none);
	}
	o->data[o->used] = '}';
	o->data[o->used + 1] = '\0';
	return dbappend_written(f, (uint32_t)o->used + 1);
}

/* ---- categories and names ---------------------------------------------------------------------- */

static const struct {
	const char *domain, *op, *category; /* op: what its name begins with */
} categories[] = {
	{"hip", "", "HIP_RUNTIME_API_EXT"},
	{"hip_compiler", "", "HIP_COMPILER_API_EXT"},
	{"hsa", "hsa_amd_", "HSA_AMD_EXT_API"},
	{"hsa", "hsa_ext_image", "HSA_IMAGE_EXT_API"},
	{"hsa", "hsa_ext_program", "HSA_FINALIZE_EXT_API"},
	{"hsa", "", "HSA_CORE_API"},
	{"rccl", "", "RCCL_API"},
	{"rocdecode", "", "ROCDECODE_API_EXT"},
	{"rocjpeg", "", "ROCJPEG_API"},
	{"openmp", "", "OMPT_API"}, /* summaries of `rocpd` leave out "OMPT": no "_" */
	{"dispatch", "", "KERNEL_DISPATCH"},
	{"copy", "", "MEMORY_COPY"},
	{"allocation", "", "MEMORY_ALLOCATION"},
};

/* NULL: no memory. */
static const char *category_of(struct rocpd *w, const struct t_op *op, bool call)
{
	const char *domain = make_own_domain(w->t->domains[op->domain].name);
	char text[80];
	size_t n;

	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		if (strcmp(categories[i].domain, domain) == 0 &&
		    strncmp(op->name, categories[i].op, strlen(categories[i].op)) == 0)
			return categories[i].category;
	}
	n = (size_t)snprintf(text, sizeof(text), "%.60s%s", domain, call ? "_API" : "_EVENT");
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 32) : text[i];
	return rocpd_keep(w, text);
}

static int64_t op_category(struct part *p, const struct rec *r)
{
	const char *text;

	if (p->op_category[r->op])
		return p->op_category[r->op];
	text = category_of(p->w, &p->w->t->ops[r->op], r->id != 0);
	return p->op_category[r->op] = text ? (uint32_t)part_string(p, text) : 0;
}

static int64_t op_name(struct part *p, uint32_t op)
{
	if (!p->op_name[op])
		p->op_name[op] = (uint32_t)part_string(p, p->w->t->ops[op].name);
	return p->op_name[op];
}

/* ---- call sites -------------------------------------------------------------------------------- */

static void json_site(struct output *o, const struct rocpd *w, const struct symbol *y,
		      uint32_t site)
{
	json_text(o, "name", y->function ? y->function : "");
	json_key(o, "pc");
	output_char(o, '"');
	output_hex(o, w->t->sites[site].address);
	output_char(o, '"');
	json_text(o, "file", y->file ? y->file : y->module);
	json_number(o, "line", y->line);
}

/* Of a call: the place that it was called from, made once. */
static const char *site_text(struct rocpd *w, uint32_t site)
{
	char data[DBAPPEND_TEXT_MAX / 2];
	struct output o = {.fd = -1, .data = data, .size = sizeof(data) - 2};

	if (!site || site >= w->t->sites_count)
		return none;
	if (w->site_text[site])
		return w->site_text[site];
	json_site(&o, w, symbols_site(w->symbols, site), site);
	if (o.error)
		return none;
	data[o.used] = '}';
	data[o.used + 1] = '\0';
	w->site_text[site] = strdup(data);
	return w->site_text[site] ? w->site_text[site] : none;
}

/* A stack: the innermost place, and those it was called from as long as there is room. */
static int64_t stack_cell(struct part *p, uint32_t stack)
{
	struct dbappend *f = &p->feed[ROCPD_EVENT];
	const struct trace *t = p->w->t;
	const struct t_stack *k = &t->stacks[stack];
	struct output o = json_begin(f);

	o.size = DBAPPEND_TEXT_MAX / 2;
	if (!k->count)
		return text_cell(none);
	json_site(&o, p->w, symbols_site(p->w->symbols, k->sites[0]), k->sites[0]);
	if (k->count > 1)
		json_key(&o, "callers");
	for (uint32_t i = 1; i < k->count; i++) {
		const char *one = site_text(p->w, k->sites[i]);

		if (o.used + strlen(one) + 8 > o.size) {
			unplaced_add(&p->w->unplaced, "frames of deep stacks", k->count - i);
			break;
		}
		output_char(&o, i > 1 ? ',' : '[');
		output_text(&o, one);
	}
	if (k->count > 1 && !o.error)
		o.data[o.used++] = ']';
	return json_end(p, f, &o);
}

/* ---- events ------------------------------------------------------------------------------------ */

struct event {
	int64_t category;
	uint64_t stack, parent;
};

static int64_t message_cell(struct part *p, const struct rec_marker *m);

/* Id of the event; 0: it could not be written. */
static int64_t add_event(struct part *p, const struct rec *r, const struct event *e,
			 const struct rec_marker *marker)
{
	int64_t *c = add_row(p, ROCPD_EVENT), stack;

	if (!c || !e->category)
		return 0;
	stack = r->stack && r->stack < p->w->t->stacks_count ? stack_cell(p, r->stack)
							     : text_cell(site_text(p->w, r->site));
	PUT_ROW(c, e->category, (int64_t)e->stack, (int64_t)e->parent, (int64_t)r->external, stack,
		marker ? message_cell(p, marker) : text_cell(none));
	return c[0];
}

/* ---- arguments --------------------------------------------------------------------------------- */

/* Texts are written as they are, as other writers do; those with something to escape, or that would be NULL, are quoted. */
static size_t plain_text(char *text, size_t n)
{
	if (n < 2 || text[0] != '"' || text[n - 1] != '"' || memchr(text, '\\', n) ||
	    memchr(text + 1, '"', n - 2) || strcmp(text, "\"NULL\"") == 0)
		return n;
	memmove(text, text + 1, n - 2);
	text[n - 2] = '\0';
	return n - 2;
}

static bool add_argument(struct part *p, int64_t event, unsigned position,
			 const struct t_field *field, const struct wire_value *v)
{
	struct dbappend *f = &p->feed[ROCPD_ARG];
	int64_t *c = add_row(p, ROCPD_ARG);
	char *text = c ? dbappend_room(f) : NULL;
	size_t n;

	if (!c)
		return false;
	n = rec_value_text(p->w->t, field, v, text, DBAPPEND_TEXT_MAX - 1);
	n = plain_text(text, n < DBAPPEND_TEXT_MAX - 2 ? n : DBAPPEND_TEXT_MAX - 2);
	PUT_ROW(c, event, position, text_cell(field->type ? field->type : ""),
		text_cell(field->name), dbappend_written(f, (uint32_t)n));
	return true;
}

static bool add_arguments(struct part *p, const struct rec *r, int64_t event)
{
	const struct t_field *field;
	struct rec_fields f;
	struct wire_value v;
	unsigned position = 0;

	if (!r->wire)
		return true;
	rec_fields_init(&f, p->w->t, r);
	while (rec_fields_next(&f, &field, &v)) {
		if (!add_argument(p, event, position++, field, &v))
			return false;
	}
	return true;
}

/* ---- host records ------------------------------------------------------------------------------ */

/* What a call has beside its columns. */
static int64_t region_cell(struct part *p, const struct rec *r)
{
	struct dbappend *f = &p->feed[ROCPD_REGION];
	const struct t_op *op = &p->w->t->ops[r->op];
	struct output o;

	if (__builtin_expect(r->ok && !r->scope && !r->unwound, 1))
		return text_cell(none);
	o = json_begin(f);
	if (!r->ok) {
		json_key(&o, "status");
		output_signed(&o, r->status);
		json_text(&o, "status_name", rec_status_name(op, r->status));
	}
	json_signed(&o, "scope", r->scope);
	if (r->unwound)
		json_number(&o, "unwound", 1);
	return json_end(p, f, &o);
}

static bool add_region(struct part *p, const struct rec *r, int64_t name, int64_t event)
{
	int64_t *c = event && name ? add_row(p, ROCPD_REGION) : NULL;

	if (!c)
		return false;
	PUT_ROW(c, p->node, p->pid, part_thread(p, r->thread), r->start, r->end, name, event,
		region_cell(p, r));
	return true;
}

static bool add_sample(struct part *p, const struct rec *r, int64_t name, int64_t event)
{
	int64_t track = name ? part_track(p, part_thread(p, r->thread), name) : 0;
	int64_t *c = event && track ? add_row(p, ROCPD_SAMPLE) : NULL;

	if (!c)
		return false;
	PUT_ROW(c, track, r->start, event, text_cell(none));
	return true;
}

static kymo_status_t put_call(struct stream_sink *s, const struct rec *r)
{
	struct part *p = part_get(self(s), r->process);
	struct event e = {.stack = r->id, .parent = r->parent};
	int64_t event;

	if (!p)
		return KYMO_ERROR_SYSTEM;
	e.category = op_category(p, r);
	event = add_event(p, r, &e, NULL);
	return event && add_arguments(p, r, event) && add_region(p, r, op_name(p, r->op), event)
		       ? KYMO_OK
		       : part_error(p);
}

/* Of a kind that has no table: a region, or a sample where it takes no time, and all it says. */
static kymo_status_t put_activity(struct rocpd *w, const struct rec *r, uint64_t call)
{
	struct part *p = part_get(w, r->process);
	struct event e = {.stack = call, .parent = call};
	int64_t event;

	if (!p)
		return KYMO_ERROR_SYSTEM;
	e.category = op_category(p, r);
	event = add_event(p, r, &e, NULL);
	return event && add_arguments(p, r, event) &&
			       (r->start == r->end ? add_sample
						   : add_region)(p, r, op_name(p, r->op), event)
		       ? KYMO_OK
		       : part_error(p);
}

static kymo_status_t put_other(struct stream_sink *s, const struct rec *r)
{
	return put_activity(self(s), r, 0);
}

#define PUT_ACTIVITY(name, type)                                                                   \
	static kymo_status_t put_##name(struct stream_sink *s, const struct type *r)               \
	{                                                                                          \
		return put_activity(self(s), &r->base, r->correlation);                            \
	}
PUT_ACTIVITY(sync, rec_sync)
PUT_ACTIVITY(comm, rec_comm)
PUT_ACTIVITY(sample, rec_sample)
PUT_ACTIVITY(device_sample, rec_device_sample)

/* ---- markers ----------------------------------------------------------------------------------- */

static const char *marker_text(const struct trace *t, const struct rec_marker *r, size_t *length)
{
	if (r->name && r->name < t->strings_count) {
		*length = t->strings[r->name].length;
		return t->strings[r->name].text;
	}
	*length = r->text_length;
	return r->text ? r->text : "";
}

static void json_string_of(struct output *o, const struct trace *t, const char *key,
			   uint32_t string)
{
	if (string && string < t->strings_count)
		json_text(o, key, t->strings[string].text);
}

/* What readers show instead of the name. Without the payload where that is too long. */
static int64_t message_cell(struct part *p, const struct rec_marker *m)
{
	struct dbappend *f = &p->feed[ROCPD_EVENT];
	const struct trace *t = p->w->t;
	struct output o = json_begin(f);
	size_t length, brief;
	const char *text = marker_text(t, m, &length);

	json_key(&o, "message");
	output_json_bytes(&o, text, length);
	json_string_of(&o, t, "domain", m->domain);
	json_string_of(&o, t, "category", m->category);
	json_number(&o, "color", m->color);
	brief = o.used;
	if (m->payload_bytes && !o.error) {
		json_key(&o, "payload");
		payload_json(&o, m);
		if (o.error) {
			unplaced_add(&p->w->unplaced, "payloads that are too long", 1);
			o.error = 0;
			o.used = brief;
		}
	}
	return json_end(p, f, &o);
}

static const char *marker_category(const struct rec_marker *r, uint32_t op)
{
	switch (op) {
	case MARKER_OP_RANGE:
	case MARKER_OP_PROCESS_RANGE:
	case MARKER_OP_SUBMITTED_RANGE:
		return "MARKER_CORE_RANGE_API";
	case MARKER_OP_PAUSE:
	case MARKER_OP_RESUME:
		return "MARKER_CONTROL_API";
	default:
		return "MARKER_CORE_API";
	}
}

/* The thread of a range that any thread may end is the one that started it. */
static kymo_status_t put_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct part *p = part_get(self(s), r->base.process);
	uint32_t op = p ? p->w->t->ops[r->base.op].number : 0;
	const char *category = marker_category(r, op);
	bool range = category[12] == 'R' || r->base.start != r->base.end;
	struct event e = {0};
	struct rec base = r->base;
	int64_t event, name;

	if (!p)
		return KYMO_ERROR_SYSTEM;
	base.thread = r->starter ? r->starter : base.thread;
	e.category = part_string(p, category);
	e.stack = r->scope ? (uint64_t)r->scope : 0;
	event = add_event(p, &base, &e, r);
	name = !range ? e.category
	       : r->name && r->name < p->w->t->strings_count
		       ? part_string(p, p->w->t->strings[r->name].text)
		       : op_name(p, base.op);
	return event && (range ? add_region : add_sample)(p, &base, name, event) ? KYMO_OK
										 : part_error(p);
}

/* ---- device work ------------------------------------------------------------------------------- */

/*
 * What has no length takes the shortest that there is: converters of this format to timelines order ends before
 * starts of the same time, and so would close what is not open yet.
 */
static int64_t lasting(int64_t start, int64_t end)
{
	return end > start ? end : start + 1;
}

/* Device work without device times is of no length, when it was submitted. */
static void work_times(struct rocpd *w, const struct rec *r, const struct rec_device *d,
		       int64_t *start, int64_t *end)
{
	if (device_timed(d)) {
		*start = d->start;
		*end = lasting(d->start, d->end);
		return;
	}
	w->untimed++;
	*start = d->submit ? d->submit : r->start;
	*end = lasting(*start, *start);
}

static void json_device(struct output *o, const struct rec_device *d)
{
	json_signed(o, "queued", d->queued);
	json_signed(o, "submitted", d->submitted);
	json_signed(o, "submit", d->submit);
	json_signed(o, "status", d->status);
	if (!device_timed(d))
		json_text(o, "untimed", name_untimed(d->untimed ? d->untimed : UNTIMED_QUERY));
	if (d->causal_violation)
		json_number(o, "causal_violation", 1);
}

static int64_t add_work_event(struct part *p, const struct rec *r, uint64_t call)
{
	struct event e = {.category = op_category(p, r), .stack = call, .parent = call};

	return add_event(p, r, &e, NULL);
}

static int64_t dispatch_cell(struct part *p, const struct rec_dispatch *r)
{
	struct dbappend *f = &p->feed[ROCPD_DISPATCH];
	struct output o = json_begin(f);

	json_device(&o, &r->device);
	json_number(&o, "dims", r->dims);
	json_number(&o, "offset_x", r->offset[0]);
	json_number(&o, "offset_y", r->offset[1]);
	json_number(&o, "offset_z", r->offset[2]);
	json_number(&o, "registers", r->launch.registers);
	json_number(&o, "static_shared", r->launch.static_shared);
	json_number(&o, "dynamic_shared", r->launch.dynamic_shared);
	json_number(&o, "cluster_x", r->launch.cluster[0]);
	json_number(&o, "cluster_y", r->launch.cluster[1]);
	json_number(&o, "cluster_z", r->launch.cluster[2]);
	json_number(&o, "graph", r->launch.graph);
	json_number(&o, "graph_node", r->launch.graph_node);
	json_signed(&o, "scope", r->base.scope);
	return json_end(p, f, &o);
}

static int64_t size_of(const uint64_t size[3], unsigned i)
{
	return (int64_t)(i && !size[i] ? 1 : size[i]);
}

static kymo_status_t put_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct part *p = part_get(self(s), r->base.process);
	uint32_t kernel = p && r->kernel < p->w->t->kernels_count ? r->kernel : 0;
	int64_t event, start, end, *c;

	if (!p)
		return KYMO_ERROR_SYSTEM;
	work_times(p->w, &r->base, &r->device, &start, &end);
	p->unknown_kernel |= !kernel;
	event = add_work_event(p, &r->base, r->device.correlation);
	c = event ? add_row(p, ROCPD_DISPATCH) : NULL;
	if (!c)
		return part_error(p);
	PUT_ROW(c, p->node, p->pid, part_thread(p, r->base.thread), part_agent(p, r->agent), kernel,
		c[0], r->queue, r->queue, start, end, (int64_t)r->launch.local_memory,
		(int64_t)(r->launch.static_shared + r->launch.dynamic_shared), size_of(r->local, 0),
		size_of(r->local, 1), size_of(r->local, 2), size_of(r->global, 0),
		size_of(r->global, 1), size_of(r->global, 2), 1, event, dispatch_cell(p, r));
	if (p->w->schema.version >= 2) {
		c[22] = (int64_t)r->launch.graph;
		c[23] = (int64_t)r->launch.graph_node;
	}
	return KYMO_OK;
}

/* By the ends, as this format names copies; what is none has a name of its own. */
static const char *copy_name(const struct rec_copy *r, uint32_t op)
{
	static const char *const ends[2][2] = {
		{"MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"},
		{"MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE"}};
	bool from = r->source_agent != 0, to = r->destination_agent != 0;

	switch (op) {
	case COPY_OP_READ:
		return ends[1][0];
	case COPY_OP_WRITE:
		return ends[0][1];
	case COPY_OP_COPY:
		return ends[from][to];
	case COPY_OP_FILL:
		return "MEMORY_FILL";
	case COPY_OP_MAP:
		return "MEMORY_MAP";
	case COPY_OP_UNMAP:
		return "MEMORY_UNMAP";
	case COPY_OP_MIGRATE:
		return "MEMORY_MIGRATE";
	case COPY_OP_FAULT:
		return "MEMORY_FAULT";
	default:
		return "MEMORY_COPY_NONE";
	}
}

static int64_t copy_cell(struct part *p, const struct rec_copy *r)
{
	struct dbappend *f = &p->feed[ROCPD_COPY];
	struct output o = json_begin(f);

	json_device(&o, &r->device);
	if (r->source_kind)
		json_text(&o, "source_kind", name_memory_kind(r->source_kind));
	if (r->destination_kind)
		json_text(&o, "destination_kind", name_memory_kind(r->destination_kind));
	json_number(&o, "blocking", r->blocking);
	json_number(&o, "graph", r->graph);
	json_number(&o, "graph_node", r->graph_node);
	json_number(&o, "address", r->address);
	if (r->cause)
		json_text(&o, "cause", name_migration_cause(r->cause));
	json_number(&o, "faults", r->faults);
	json_signed(&o, "scope", r->base.scope);
	return json_end(p, f, &o);
}

static kymo_status_t put_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct part *p = part_get(self(s), r->base.process);
	int64_t event, name, start, end, *c;

	if (!p)
		return KYMO_ERROR_SYSTEM;
	work_times(p->w, &r->base, &r->device, &start, &end);
	name = part_string(p, copy_name(r, p->w->t->ops[r->base.op].number));
	event = add_work_event(p, &r->base, r->device.correlation);
	c = event && name ? add_row(p, ROCPD_COPY) : NULL;
	if (!c)
		return part_error(p);
	PUT_ROW(c, p->node, p->pid, part_thread(p, r->base.thread), start, end, name,
		part_agent(p, r->destination_agent), null_if_0(r->address),
		part_agent(p, r->source_agent), (int64_t)r->bytes, r->queue, r->queue, 1, event,
		copy_cell(p, r));
	if (p->w->schema.version >= 2) {
		c[16] = (int64_t)r->graph;
		c[17] = (int64_t)r->graph_node;
	}
	return KYMO_OK;
}

static int64_t allocation_cell(struct part *p, const struct rec_allocation *r)
{
	struct dbappend *f = &p->feed[ROCPD_ALLOCATION];
	struct output o = json_begin(f);
	char room[REFERENCE_TEXT];

	if (r->kind)
		json_text(&o, "kind", name_memory_kind(r->kind));
	if (r->what)
		json_text(&o, "what", name_allocation_what(r->what));
	json_number(&o, "allocation", r->allocation);
	json_number(&o, "parent", r->parent);
	json_text(
		&o, "context",
		reference_name(p->w->t, REFERENCE_DEVICE_CONTEXT, r->context, room, sizeof(room)));
	return json_end(p, f, &o);
}

static kymo_status_t put_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct part *p = part_get(self(s), r->base.process);
	bool gone = p && p->w->t->ops[r->base.op].number == ALLOCATION_OP_FREE;
	int64_t event, *c, agent;

	if (!p)
		return KYMO_ERROR_SYSTEM;
	agent = r->agent ? part_agent(p, r->agent) : DBAPPEND_NULL;
	event = add_work_event(p, &r->base, r->correlation);
	c = event ? add_row(p, ROCPD_ALLOCATION) : NULL;
	if (!c)
		return part_error(p);
	PUT_ROW(c, p->node, p->pid, part_thread(p, r->base.thread), agent,
		text_cell(gone ? "FREE" : "ALLOC"),
		text_cell(r->what == ALLOCATION_PHYSICAL ? "VIRTUAL" : "REAL"), r->base.start,
		lasting(r->base.start, r->base.end), (int64_t)r->address, (int64_t)r->bytes, event,
		allocation_cell(p, r));
	return KYMO_OK;
}

/* ---- counters ---------------------------------------------------------------------------------- */

/* "name [device]", as tracks of values are called; made once. */
static const char *counter_text(struct rocpd *w, uint32_t counter, uint64_t instance)
{
	const struct t_counter *c = &w->t->counters[counter];
	const char *device =
		c->agent && c->agent < w->t->agents_count ? w->t->agents[c->agent].label : "";
	struct text text = {0};
	const char *kept;

	if (!instance && w->counter_text[counter])
		return w->counter_text[counter];
	text_add(&text, c->name);
	if (instance)
		text_addf(&text, " %" PRIu64, instance);
	if (device && *device)
		text_addf(&text, " [%s]", device);
	kept = text.failed ? NULL : rocpd_keep(w, text.s);
	text_release(&text);
	if (!instance)
		w->counter_text[counter] = (char *)(uintptr_t)kept;
	return kept;
}

static int64_t value_cell(struct part *p, const struct rec_counter *r)
{
	struct dbappend *f = &p->feed[ROCPD_VALUE];
	struct output o = json_begin(f);
	const struct t_op *op = &p->w->t->ops[r->base.op];

	json_text(&o, "of", op->name);
	json_number(&o, "instance", r->instance);
	json_signed(&o, "duration", r->duration);
	return json_end(p, f, &o);
}

/* Id of the value's row; 0: failed. */
static int64_t add_value(struct part *p, const struct rec_counter *r, int64_t event)
{
	int64_t *c = add_row(p, ROCPD_VALUE), value;

	if (!c)
		return 0;
	memcpy(&value, &r->value, sizeof(value));
	if (value == DBAPPEND_NULL) /* -0.0 */
		value = 0;
	PUT_ROW(c, event, r->counter, value, value_cell(p, r));
	return c[0];
}

/* A database of its own, in memory or a temporary file: that which is written is not SQLite's yet. */
static bool begin_pending(struct part *p)
{
	if (sqlite3_open("", &p->pending_db) != SQLITE_OK ||
	    sqlite3_exec(p->pending_db,
			 "CREATE TABLE pending(id INTEGER PRIMARY KEY, call, kernel); BEGIN", NULL,
			 NULL, NULL) != SQLITE_OK)
		return false;
	return sqlite3_prepare_v2(p->pending_db, "INSERT INTO pending VALUES(?,?,?)", -1,
				  &p->pending, NULL) == SQLITE_OK;
}

/* Its event is that of the kernel, which may come later. */
static bool add_pending(struct part *p, const struct rec_counter *r)
{
	int64_t row = add_value(p, r, DBAPPEND_NULL);
	bool ok;

	if (!row || (!p->pending && !begin_pending(p)))
		return false;
	sqlite3_bind_int64(p->pending, 1, row);
	sqlite3_bind_int64(p->pending, 2, (int64_t)r->correlation);
	sqlite3_bind_int64(p->pending, 3, r->kernel);
	ok = sqlite3_step(p->pending) == SQLITE_DONE;
	sqlite3_reset(p->pending);
	return ok;
}

static kymo_status_t put_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct part *p = part_get(self(s), r->base.process);
	struct event e = {.stack = r->correlation, .parent = r->correlation};
	struct rec at = r->base;
	const char *name;
	int64_t event;

	if (!p)
		return KYMO_ERROR_SYSTEM;
	if (r->counter >= p->w->t->counters_count || !r->counter) {
		unplaced_leave(&p->w->unplaced, "values of unknown counters", 1, 1);
		return KYMO_OK;
	}
	if (p->w->t->ops[at.op].number == COUNTER_OP_DISPATCH && r->correlation)
		return add_pending(p, r) ? KYMO_OK : part_error(p);
	e.category = op_category(p, &at);
	name = counter_text(p->w, r->counter, r->instance);
	event = name ? add_event(p, &at, &e, NULL) : 0;
	return event && add_sample(p, &at, part_string(p, name), event) && add_value(p, r, event)
		       ? KYMO_OK
		       : part_error(p);
}

/* ---- what has no place ------------------------------------------------------------------------- */

static kymo_status_t put_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct rocpd *w = self(s);

	unplaced_add(&w->unplaced, "notes of where records were lost", 1);
	return part_get(w, r->process) ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

static kymo_status_t put_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	unplaced_leave(&self(s)->unplaced, "calls that never returned", 1, 1);
	return KYMO_OK;
}

static kymo_status_t put_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	unplaced_leave(&self(s)->unplaced, "pieces of device work that never finished",
		       u->unlisted ? u->unlisted : 1, 1);
	return KYMO_OK;
}

void rocpd_set_records(struct stream_sink *s)
{
	s->dispatch = put_dispatch;
	s->copy = put_copy;
	s->allocation = put_allocation;
	s->sync = put_sync;
	s->marker = put_marker;
	s->comm = put_comm;
	s->counter = put_counter;
	s->sample = put_sample;
	s->device_sample = put_device_sample;
	s->call = put_call;
	s->other = put_other;
	s->loss = put_loss;
	s->open_call = put_open_call;
	s->unfinished = put_unfinished;
}
