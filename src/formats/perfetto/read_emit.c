/* SPDX-License-Identifier: Apache-2.0 */
/* Items as records, in the order of their ends; see reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/perfetto/reader.h"
#include "record/fields.h"
#include "record/value.h"
#include "stream/payload.h"

enum { VALUE_MAX = 1024, VALUES_MAX = 3500, UNCLEAR = UINT32_MAX };

/* ---- arguments -------------------------------------------------------------------------------- */

static const struct note *note_named(const struct pfreader *r, const struct notes *all,
				     const char *name)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (pfread_is_argument(&all->list[i]) &&
		    pfread_string(r, all->list[i].name) == name)
			return &all->list[i];
	return NULL;
}

static void put_argument(struct pfreader *r, const struct notes *all, const struct note *n,
			 const struct t_field *f)
{
	char text[40];
	int length;

	if (f->kind != KYMO_KIND_STRING && (n->type == NOTE_TEXT || n->type == NOTE_REAL)) {
		r->arguments++;
		make_absent(&r->fields);
	} else if (f->kind != KYMO_KIND_STRING) {
		make_number(&r->fields, n->u);
	} else if (n->type == NOTE_TEXT) {
		make_text(&r->fields, all->texts.s + n->at, n->n);
	} else {
		length = n->type == NOTE_REAL
				 ? snprintf(text, sizeof(text), "%.17g", n->d)
				 : snprintf(text, sizeof(text), "%lld", (long long)n->i);
		make_text(&r->fields, text, (size_t)length);
	}
}

static const struct wire_record *arguments(struct pfreader *r, const struct t_op *op,
					   const struct notes *all)
{
	uint32_t put = 0, own = 0;

	if (!op->field_count)
		return NULL;
	make_fields_begin(&r->fields, op);
	for (uint32_t i = 0; i < op->field_count; i++) {
		const struct note *n = note_named(r, all, op->fields[i].name);

		put += n != NULL;
		if (n)
			put_argument(r, all, n, &op->fields[i]);
		else
			make_absent(&r->fields);
	}
	for (uint32_t i = 0; i < all->count; i++)
		own += pfread_is_argument(&all->list[i]);
	r->arguments += (own > put ? own - put : 0) + all->left_out;
	return make_fields_end(&r->fields);
}

/* ---- calls ------------------------------------------------------------------------------------ */

static kymo_status_t emit_call(struct pfreader *r, struct stream_sink *sink,
			       const struct assembly_item *i, const struct event_in *x)
{
	struct rec c = assembly_base(&r->all, i);
	const struct note *error = pfread_note(x->notes, NAME_ERROR);

	if (i->left_open) {
		uint64_t open = map_get(&r->left_open_items, (uint64_t)(i - r->all.items) + 1);

		return sink->open_call(sink, &r->t->open_calls[open]); /* it stays */
	}
	c.op = i->number;
	c.id = i->key;
	c.external = pfread_number(x->notes, NAME_EXTERNAL);
	c.unwound = pfread_number(x->notes, NAME_UNWOUND) ||
		    pfread_note_text(x->notes, NAME_UNWOUND)[0];
	if (error) {
		c.ok = false;
		c.status = error->type == NOTE_TEXT ? -1 : (int32_t)error->i;
	}
	c.wire = arguments(r, &r->t->ops[c.op], x->notes);
	return sink->call(sink, &c);
}

/* ---- ranges and marks ------------------------------------------------------------------------- */

static void pack_one(struct pfreader *r, const struct notes *all, const struct note *n)
{
	static const uint8_t types[] = {[NOTE_UNSIGNED] = KYMO_PAYLOAD_UINT64,
					[NOTE_POINTER] = KYMO_PAYLOAD_UINT64,
					[NOTE_SIGNED] = KYMO_PAYLOAD_INT64,
					[NOTE_REAL] = KYMO_PAYLOAD_DOUBLE};
	const struct t_string *key = &r->t->strings[n->name];

	if (n->type == NOTE_TEXT)
		payload_put(&r->payload, key->text, key->length, KYMO_PAYLOAD_STRING,
			    all->texts.s + n->at, n->n < VALUE_MAX ? n->n : VALUE_MAX, n->n);
	else
		payload_put(&r->payload, key->text, key->length, types[n->type], &n->u,
			    sizeof(n->u), sizeof(n->u));
}

static bool is_value(const struct note *n, bool own)
{
	return pfread_is_argument(n) &&
	       !(own && (n->known == NAME_LEFT_OPEN || n->known == NAME_COLOR ||
			 n->known == NAME_STARTED_BY));
}

/* The first byte counts what there was no room for. */
static void pack(struct pfreader *r, const struct notes *all, bool own)
{
	uint32_t left_out = all->left_out;

	r->payload.length = 0;
	text_add_bytes(&r->payload, "", 1);
	for (uint32_t i = 0; i < all->count; i++) {
		const struct note *n = &all->list[i];
		size_t size = n->type == NOTE_TEXT ? n->n : 8;

		if (!is_value(n, own))
			continue;
		if (r->payload.length + r->t->strings[n->name].length +
			    (size < VALUE_MAX ? size : VALUE_MAX) + 16 >
		    VALUES_MAX)
			left_out++;
		else
			pack_one(r, all, n);
	}
	if (r->payload.length == 1 && !left_out)
		r->payload.length = 0;
	else if (r->payload.s)
		r->payload.s[0] = (char)(left_out < 255 ? left_out : 255);
}

static kymo_status_t emit_marker(struct pfreader *r, struct stream_sink *sink,
				 const struct assembly_item *i, const struct event_in *x)
{
	bool own = strcmp(pfread_string(r, x->categories[0]), "marker") == 0;
	bool mark = i->kind == ASSEMBLY_MARK;
	const char *color = pfread_note_text(x->notes, NAME_COLOR);
	struct rec_marker m = {.base = assembly_base(&r->all, i),
			       .scope = mark ? 0 : i->number,
			       .name = x->name,
			       .domain = x->categories[own],
			       .category = x->categories[own + 1],
			       .left_open = i->left_open,
			       .text = pfread_string(r, x->name),
			       .text_length = r->t->strings[x->name].length};

	if (own && *color == '#')
		m.color = (uint32_t)strtoul(color + 1, NULL, 16);
	m.left_open |= own && pfread_note_text(x->notes, NAME_LEFT_OPEN)[0];
	pack(r, x->notes, own);
	m.payload = (const uint8_t *)r->payload.s;
	m.payload_bytes = (uint32_t)r->payload.length;
	m.base.external = pfread_number(x->notes, NAME_EXTERNAL);
	m.base.op = make_activity(&r->model, RECORD_DOMAIN_marker,
				  mark                        ? MARKER_OP_MARK
				  : i->kind == ASSEMBLY_RANGE ? MARKER_OP_RANGE
							      : MARKER_OP_PROCESS_RANGE);
	m.starter = i->kind == ASSEMBLY_PROCESS_RANGE ? i->thread : 0;
	return sink->marker(sink, &m);
}

/* ---- device work ------------------------------------------------------------------------------ */

static const struct track_in *track_of(const struct pfreader *r, const struct assembly_item *i)
{
	return &r->tracks[r->events[i->row].track];
}

static bool is_own(const struct pfreader *r, const struct event_in *x)
{
	const char *category = pfread_string(r, x->categories[0]);

	return strcmp(category, "dispatch") == 0 || strcmp(category, "copy") == 0;
}

/* An event without a duration says when it was submitted: when it ran was not known. */
static struct rec_device device_of(const struct pfreader *r, const struct assembly_item *i,
				   const struct event_in *x)
{
	struct rec_device d = assembly_device(&r->all, i);
	const struct note *queued = pfread_note(x->notes, NAME_QUEUED);
	const struct note *submitted = pfread_note(x->notes, NAME_SUBMITTED);

	if (r->events[i->row].type == EVENT_INSTANT) {
		d.submit = d.submit ? d.submit : i->start;
		d.start = d.end = d.queued = d.submitted = 0;
		d.causal_violation = false;
		d.untimed = UNTIMED_NOT_REPORTED;
		return d;
	}
	if (is_own(r, x)) /* it says when it was queued, where that is known */
		d.queued = d.submitted = 0;
	if (queued && queued->i >= 0 && queued->i < i->start)
		d.queued = i->start - queued->i;
	if (submitted && submitted->i >= 0 && submitted->i < i->start)
		d.submitted = i->start - submitted->i;
	return d;
}

static void set_sizes(const struct event_in *x, struct rec_dispatch *d)
{
	unsigned n = pfread_numbers(x->notes, NAME_GLOBAL, d->global);

	if (!n)
		n = pfread_numbers(x->notes, NAME_GRID, d->global);
	d->dims = n ? n : 1;
	if (!pfread_numbers(x->notes, NAME_LOCAL, d->local))
		pfread_numbers(x->notes, NAME_GROUP, d->local);
	pfread_numbers(x->notes, NAME_OFFSET, d->offset);
	d->launch =
		(struct rec_launch){.registers = pfread_number(x->notes, NAME_REGISTERS),
				    .static_shared = pfread_number(x->notes, NAME_STATIC_SHARED) +
						     pfread_number(x->notes, NAME_GROUP_SEGMENT),
				    .dynamic_shared = pfread_number(x->notes, NAME_DYNAMIC_SHARED),
				    .local_memory = pfread_number(x->notes, NAME_LOCAL_MEMORY) +
						    pfread_number(x->notes, NAME_PRIVATE_SEGMENT),
				    .graph = pfread_number(x->notes, NAME_GRAPH),
				    .graph_node = pfread_number(x->notes, NAME_GRAPH_NODE)};
}

static kymo_status_t emit_kernel(struct pfreader *r, struct stream_sink *sink,
				 const struct assembly_item *i, const struct event_in *x)
{
	struct rec_dispatch d = {.base = assembly_base(&r->all, i),
				 .device = device_of(r, i, x),
				 .agent = track_of(r, i)->agent,
				 .queue = track_of(r, i)->queue,
				 .kernel = i->number};

	set_sizes(x, &d);
	d.base.external = pfread_number(x->notes, NAME_EXTERNAL);
	d.base.op = make_activity(&r->model, RECORD_DOMAIN_dispatch,
				  rec_launch_is_set(&d.launch) ? DISPATCH_OP_LAUNCH
							       : DISPATCH_OP_KERNEL);
	return sink->dispatch(sink, &d);
}

/* The op of that name; `otherwise` if there is none. */
static uint32_t op_named(struct pfreader *r, enum record_domain domain, const char *name, size_t n,
			 uint32_t otherwise)
{
	uint32_t first = make_activity(&r->model, domain, 0);

	for (uint32_t i = first;
	     i < r->t->ops_count && r->t->ops[i].domain == r->t->ops[first].domain; i++)
		if (strlen(r->t->ops[i].name) == n && memcmp(r->t->ops[i].name, name, n) == 0)
			return i;
	return first + otherwise;
}

static uint32_t direction(const char *name)
{
	static const struct {
		const char *word;
		uint8_t op;
	} words[] = {{"HOST_TO_DEVICE", COPY_OP_WRITE},
		     {"HtoD", COPY_OP_WRITE},
		     {"H2D", COPY_OP_WRITE},
		     {"M2D", COPY_OP_WRITE},
		     {"HostToDevice", COPY_OP_WRITE},
		     {"WriteBuffer", COPY_OP_WRITE},
		     {"WriteImage", COPY_OP_WRITE},
		     {"DEVICE_TO_HOST", COPY_OP_READ},
		     {"DtoH", COPY_OP_READ},
		     {"D2H", COPY_OP_READ},
		     {"D2M", COPY_OP_READ},
		     {"DeviceToHost", COPY_OP_READ},
		     {"ReadBuffer", COPY_OP_READ},
		     {"ReadImage", COPY_OP_READ},
		     {"memset", COPY_OP_FILL},
		     {"fill", COPY_OP_FILL},
		     {"Unmap", COPY_OP_UNMAP},
		     {"EnqueueMap", COPY_OP_MAP},
		     {"SVMMap", COPY_OP_MAP},
		     {"Migrate", COPY_OP_MIGRATE}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasestr(name, words[i].word))
			return words[i].op;
	return COPY_OP_COPY;
}

/* "gpu NAME (device memory)", "host (pinned)" of Kymo's own files. */
static bool place_of(const struct pfreader *r, const struct assembly_item *i, const char *text,
		     uint32_t *agent, uint8_t *kind)
{
	static const char *const kinds[] = {NULL,       "pageable)", "pinned)", "device memory)",
					    "managed)", "shared)"};
	const char *open = text;
	size_t n = strlen(text);

	if (!n)
		return false;
	for (size_t k = 1; k < sizeof(kinds) / sizeof(*kinds); k++) {
		size_t m = strlen(kinds[k]);

		if (n > m + 2 && strcmp(text + n - m, kinds[k]) == 0 && text[n - m - 1] == '(') {
			*kind = (uint8_t)k;
			n -= m + 2;
			break;
		}
	}
	*agent = pfread_agent_named(r, i->process, open, n);
	return *agent || (n == 4 && strncmp(text, "host", 4) == 0);
}

static void set_places(const struct pfreader *r, const struct assembly_item *i,
		       const struct event_in *x, uint32_t op, struct rec_copy *c)
{
	uint32_t agent = track_of(r, i)->agent;
	bool from = place_of(r, i, pfread_note_text(x->notes, NAME_SOURCE), &c->source_agent,
			     &c->source_kind);
	bool to = place_of(r, i, pfread_note_text(x->notes, NAME_DESTINATION),
			   &c->destination_agent, &c->destination_kind);

	if (from || to)
		return;
	c->source_agent = op == COPY_OP_WRITE || op == COPY_OP_FILL ? 0 : agent;
	c->destination_agent = op == COPY_OP_READ ? 0 : agent;
	c->source_kind = c->source_agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
	c->destination_kind = c->destination_agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
}

static uint32_t copy_op(struct pfreader *r, const struct event_in *x)
{
	const char *name = pfread_string(r, x->name);

	return op_named(r, RECORD_DOMAIN_copy, name, strlen(name), direction(name));
}

static kymo_status_t emit_copy(struct pfreader *r, struct stream_sink *sink,
			       const struct assembly_item *i, const struct event_in *x)
{
	struct rec_copy c = {.base = assembly_base(&r->all, i),
			     .device = device_of(r, i, x),
			     .queue = track_of(r, i)->queue,
			     .bytes = pfread_number(x->notes, NAME_BYTES),
			     .blocking = pfread_number(x->notes, NAME_BLOCKING) != 0,
			     .graph = pfread_number(x->notes, NAME_GRAPH),
			     .graph_node = pfread_number(x->notes, NAME_GRAPH_NODE),
			     .address = pfread_number(x->notes, NAME_ADDRESS)};

	if (!c.bytes)
		c.bytes = pfread_number(x->notes, NAME_COPY_BYTES);
	if (!c.bytes)
		c.bytes = pfread_number(x->notes, NAME_SIZE);
	c.base.op = copy_op(r, x);
	set_places(r, i, x, r->t->ops[c.base.op].number, &c);
	c.base.external = pfread_number(x->notes, NAME_EXTERNAL);
	return sink->copy(sink, &c);
}

void pfread_unfinished(struct pfreader *r, const struct assembly_item *i, struct t_unfinished *out)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	const struct track_in *track = track_of(r, i);
	struct event_in x;

	pfread_event(r, &r->events[i->row], &r->notes, &x);
	*out = (struct t_unfinished){.process = i->process,
				     .thread = call ? call->thread : 0,
				     .agent = track->agent,
				     .queue = track->queue,
				     .id = call ? call->key : 0,
				     .submit = i->start};
	if (i->source == KIND_KERNEL) {
		out->kernel = i->number;
		out->op = make_activity(&r->model, RECORD_DOMAIN_dispatch, DISPATCH_OP_KERNEL);
	} else {
		out->bytes = pfread_number(x.notes, NAME_BYTES);
		out->op = copy_op(r, &x);
	}
}

static kymo_status_t emit_unfinished(struct pfreader *r, struct stream_sink *sink,
				     const struct assembly_item *i)
{
	uint64_t place = map_get(&r->left_open_items, (uint64_t)(i - r->all.items) + 1);

	return sink->unfinished(sink, &r->t->unfinished[place]); /* it stays */
}

/* ---- waits and messages ----------------------------------------------------------------------- */

/* Labels are unique in their device alone. */
static void find_queue_labels(struct pfreader *r)
{
	for (uint32_t i = 1; i < r->t->queues_count; i++) {
		const struct t_queue *q = &r->t->queues[i];
		uint64_t key = hash_add(hash_u64(q->process), q->label, strlen(q->label));
		bool again = map_get(&r->rows, key) != 0;

		if (!map_set(&r->rows, key, again ? UNCLEAR : i))
			r->failed = true;
	}
}

static uint32_t queue_labelled(const struct pfreader *r, uint32_t process, const char *label)
{
	uint64_t found = map_get(&r->rows, hash_add(hash_u64(process), label, strlen(label)));

	return found == UNCLEAR || found >= r->t->queues_count ? 0 : (uint32_t)found;
}

static kymo_status_t emit_sync(struct pfreader *r, struct stream_sink *sink,
			       const struct assembly_item *i, const struct event_in *x)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	const char *name = pfread_string(r, x->name);
	struct rec_sync y = {
		.base = assembly_base(&r->all, i),
		.correlation = call ? call->key : 0,
		.queue = queue_labelled(r, i->process, pfread_note_text(x->notes, NAME_QUEUE)),
		.count = pfread_number(x->notes, NAME_EVENTS)};

	y.base.op = op_named(r, RECORD_DOMAIN_sync, name, strlen(name), SYNC_OP_QUEUE);
	return sink->sync(sink, &y);
}

/* "send to 3". */
static int32_t peer_of(const char *name)
{
	const char *last = strrchr(name, ' ');

	return last && last[1] >= '0' && last[1] <= '9' ? (int32_t)strtol(last + 1, NULL, 10) : -1;
}

static kymo_status_t emit_comm(struct pfreader *r, struct stream_sink *sink,
			       const struct assembly_item *i, const struct event_in *x)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	const char *name = pfread_string(r, x->name);
	const char *type = pfread_note_text(x->notes, NAME_DATATYPE);
	const struct note *tag = pfread_note(x->notes, NAME_TAG);
	struct rec_comm c = {.base = assembly_base(&r->all, i),
			     .correlation = call ? call->key : 0,
			     .completed_by = pfread_number(x->notes, NAME_COMPLETED_BY),
			     .peer = peer_of(name),
			     .tag = tag ? (int32_t)tag->i : -1,
			     .sent = pfread_number(x->notes, NAME_SENT),
			     .received = pfread_number(x->notes, NAME_RECEIVED),
			     .datatype = keyed_text(&r->keyed, type, strlen(type))};

	if (pfread_note(x->notes, NAME_COMMUNICATOR))
		unplaced_add(&r->left_out, "communicators of messages", 1);
	c.base.op = op_named(r, RECORD_DOMAIN_comm, name, strcspn(name, " "), COMM_OP_COLLECTIVE);
	return sink->comm(sink, &c);
}

/* ---- allocations ----------------------------------------------------------------------------- */

static uint8_t value_named(enum record_set set, const char *name, uint8_t last)
{
	for (uint8_t i = 1; i <= last; i++)
		if (strcmp(record_value_name(set, i), name) == 0)
			return i;
	return 0;
}

static kymo_status_t emit_allocation(struct pfreader *r, struct stream_sink *sink,
				     const struct assembly_item *i, const struct event_in *x)
{
	const struct assembly_item *call = assembly_call(&r->all, i);
	const char *name = pfread_string(r, x->name);
	const char *device = pfread_note_text(x->notes, NAME_DEVICE);
	struct rec_allocation a = {
		.base = assembly_base(&r->all, i),
		.correlation = call ? call->key : 0,
		.agent = pfread_agent_named(r, i->process, device, strlen(device)),
		.kind = value_named(RECORD_SET_memory_kind, pfread_note_text(x->notes, NAME_MEMORY),
				    MEMORY_SHARED),
		.what = value_named(RECORD_SET_allocation_what,
				    pfread_note_text(x->notes, NAME_WHAT), ALLOCATION_REGISTERED),
		.bytes = pfread_number(x->notes, NAME_BYTES),
		.address = pfread_number(x->notes, NAME_ADDRESS),
		.allocation = pfread_number(x->notes, NAME_ALLOCATION),
		.parent = pfread_number(x->notes, NAME_PART_OF)};

	a.base.op =
		op_named(r, RECORD_DOMAIN_allocation, name, strlen(name), ALLOCATION_OP_ALLOCATE);
	return sink->allocation(sink, &a);
}

/* ---- counters --------------------------------------------------------------------------------- */

static kymo_status_t emit_counter(struct pfreader *r, struct stream_sink *sink,
				  const struct assembly_item *i)
{
	struct rec_counter c = {.base = assembly_base(&r->all, i),
				.counter = i->number,
				.agent = r->t->counters[i->number].agent,
				.value = r->events[i->row].value};

	if (r->allocations &&
	    strncmp(r->t->counters[i->number].name, PERFETTO_IN_USE, strlen(PERFETTO_IN_USE)) == 0)
		return KYMO_OK; /* drawn of the allocations, which are there */
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_counter,
				  c.agent ? COUNTER_OP_SAMPLE : COUNTER_OP_PUBLISHED);
	return sink->counter(sink, &c);
}

/* ---- samples ---------------------------------------------------------------------------------- */

enum { OF_CPU = 1, OF_MODE = 5, MODE_KERNEL = 1 };

static kymo_status_t emit_sample(struct pfreader *r, struct stream_sink *sink,
				 const struct assembly_item *i)
{
	struct rec_sample s = {.base = assembly_base(&r->all, i)};
	struct proto_walk w = proto_walk(pfread_message(r, &r->events[i->row]));
	const struct t_stack *stack = &r->t->stacks[i->number];
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (f.number == OF_CPU && f.type == PROTO_NUMBER)
			s.cpu = (uint32_t)f.v;
		else if (f.number == OF_MODE && f.type == PROTO_NUMBER)
			s.kernel = f.v == MODE_KERNEL;
	}
	s.weight = (int64_t)map_get(&r->weights, r->events[i->row].generation);
	s.correlation = s.base.parent;
	s.base.parent = 0;
	s.base.stack = i->number;
	s.pc = stack->count ? r->t->sites[stack->sites[0]].address : 0;
	s.base.op = make_activity(&r->model, RECORD_DOMAIN_sample, SAMPLE_OP_PC);
	return sink->sample(sink, &s);
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* What an end says besides belongs to its begin. */
static void add_end(struct pfreader *r, const struct assembly_item *i)
{
	uint64_t end = map_get(&r->ends, (uint64_t)(i - r->all.items) + 1);
	struct event_in x;

	if (!end)
		return;
	pfread_event(r, &r->events[end - 1], &r->end_notes, &x);
	for (uint32_t k = 0; k < r->end_notes.count && r->notes.count < NOTES_MAX; k++) {
		struct note n = r->end_notes.list[k];
		uint32_t from = n.at;

		n.at = (uint32_t)r->notes.texts.length;
		if (n.type == NOTE_TEXT)
			text_add_bytes(&r->notes.texts, r->end_notes.texts.s + from, n.n + 1u);
		r->notes.list[r->notes.count++] = n;
	}
}

static kymo_status_t emit(void *data, struct stream_sink *sink, const struct assembly_item *i)
{
	struct pfreader *r = data;
	struct event_in x;

	if (i->source == KIND_COUNTER)
		return emit_counter(r, sink, i);
	if (i->source == KIND_SAMPLE)
		return emit_sample(r, sink, i);
	if (i->left_open && (i->source == KIND_KERNEL || i->source == KIND_COPY))
		return emit_unfinished(r, sink, i);
	pfread_event(r, &r->events[i->row], &r->notes, &x);
	add_end(r, i);
	if (r->failed || r->notes.texts.failed)
		return KYMO_ERROR_NO_MEMORY;
	switch ((enum kind_in)i->source) {
	case KIND_CALL:
		return emit_call(r, sink, i, &x);
	case KIND_KERNEL:
		return emit_kernel(r, sink, i, &x);
	case KIND_COPY:
		return emit_copy(r, sink, i, &x);
	case KIND_SYNC:
		return emit_sync(r, sink, i, &x);
	case KIND_COMM:
		return emit_comm(r, sink, i, &x);
	case KIND_ALLOCATION:
		return emit_allocation(r, sink, i, &x);
	default:
		return emit_marker(r, sink, i, &x);
	}
}

kymo_status_t pfread_emit(struct pfreader *r, struct stream_sink *sink)
{
	map_release(&r->rows); /* those of tracks are no longer needed */
	r->rows = (struct map){0};
	find_queue_labels(r);
	r->notes.brief = false;
	return assembly_hand_on(&r->all, r->t, sink, emit, r, r->o->progress, r->o->progress_data);
}
