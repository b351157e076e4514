/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers by RMA events: within a region on a queue, which is the copy then, or by themselves, as Score-P has
 * them. Of what only processes take part in, read_mpi.c makes messages.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/otf2/reader.h"
#include "stream/names.h"

enum { NAMED_VALUES = 32 };

#define WAITING_MAX (1u << 24) /* under way at once */

/* ---- what is under way ----------------------------------------------------------------------- */

static uint32_t room_for_one(struct reader *r, struct waiting *w)
{
	uint32_t place = w->unused;

	if (place) {
		w->unused = w->items[place - 1].next;
		return place;
	}
	if (w->count >= WAITING_MAX || !vec_reserve(&w->items, &w->room, w->count, 1)) {
		r->status = KYMO_ERROR_NO_MEMORY;
		return 0;
	}
	return ++w->count;
}

struct begun *otf2r_wait(struct reader *r, struct waiting *w, uint64_t key)
{
	uint32_t head = (uint32_t)map_get(&w->heads, key), place = room_for_one(r, w);

	if (!place)
		return NULL;
	w->items[place - 1] = (struct begun){.key = key, .last = place};
	if (head) {
		w->items[w->items[head - 1].last - 1].next = place;
		w->items[head - 1].last = place;
	} else if (!map_set(&w->heads, key, place)) {
		r->status = KYMO_ERROR_NO_MEMORY;
		return NULL;
	}
	return &w->items[place - 1];
}

struct begun *otf2r_take(struct waiting *w, uint64_t key)
{
	uint32_t head = (uint32_t)map_get(&w->heads, key);
	struct begun *x = head ? &w->items[head - 1] : NULL;

	if (!x)
		return NULL;
	if (x->next) {
		w->items[x->next - 1].last = x->last;
		map_set(&w->heads, key, x->next); /* replaces: no room is needed */
	} else {
		map_remove(&w->heads, key);
	}
	x->next = w->unused;
	w->unused = head;
	return x;
}

void otf2r_release_waiting(struct waiting *w)
{
	map_release(&w->heads);
	free(w->items);
	*w = (struct waiting){0};
}

/* ---- copies ---------------------------------------------------------------------------------- */

static uint32_t agent_of_group(const struct reader *r, const struct place *p, uint64_t group)
{
	uint32_t i = otf2r_at(&r->groups_at, group);
	const struct group_of_locations *g = i ? &r->groups[i - 1] : NULL;

	return g && g->process == p->process ? g->agent : 0;
}

/* Kymo's copies are named as they are; of others the name may tell the direction, where nothing else does. */
static uint32_t op_of_name(const struct reader *r, const char *name)
{
	static const char *const ops[COPY_OPS] = {"read", "write", "copy",    "fill",
						  "map",  "unmap", "migrate", "fault"};

	for (uint32_t i = 0; r->kymo && i < COPY_OPS; i++)
		if (strcmp(ops[i], name) == 0)
			return i;
	if (strstr(name, "HtoD") || strstr(name, "H2D") || strstr(name, "HOST_TO_DEVICE"))
		return COPY_OP_WRITE;
	if (strstr(name, "DtoH") || strstr(name, "D2H") || strstr(name, "DEVICE_TO_HOST"))
		return COPY_OP_READ;
	return strcasestr(name, "memset") || strcasestr(name, "fill") ? COPY_OP_FILL : COPY_OPS;
}

static void find_ends(const struct reader *r, const struct place *p, const struct frame *f,
		      struct rec_copy *c)
{
	const struct place *other = f->remote ? &r->places[f->remote - 1] : p;
	uint32_t remote = other->process == p->process ? other->agent : 0;

	if (f->transfer) {
		c->source_agent = f->put ? p->agent : remote;
		c->destination_agent = f->put ? remote : p->agent;
	}
	if (said_has(&f->said, ATTRIBUTE_SPACE_SOURCE))
		c->source_agent = agent_of_group(r, p, f->said.of[ATTRIBUTE_SPACE_SOURCE]);
	if (said_has(&f->said, ATTRIBUTE_SPACE_DESTINATION))
		c->destination_agent =
			agent_of_group(r, p, f->said.of[ATTRIBUTE_SPACE_DESTINATION]);
}

/* By its name, else by its ends; where neither says it, it stays on the device. */
static uint32_t op_of_copy(const struct reader *r, const struct place *p, const struct frame *f,
			   struct rec_copy *c)
{
	uint32_t op =
		f->region != UINT32_MAX ? op_of_name(r, r->regions[f->region].name) : COPY_OPS;

	if (!c->source_agent && !c->destination_agent) {
		c->source_agent = op == COPY_OP_WRITE || op == COPY_OP_UNMAP ? 0 : p->agent;
		c->destination_agent = op == COPY_OP_READ || op == COPY_OP_MAP ? 0 : p->agent;
	}
	if (op != COPY_OPS)
		return op;
	return !c->source_agent        ? COPY_OP_WRITE
	       : !c->destination_agent ? COPY_OP_READ
				       : COPY_OP_COPY;
}

/* The value that `name_of` has the text for; 0: none has. */
static uint8_t value_named(const struct reader *r, const struct frame *f, unsigned attribute,
			   const char *(*name_of)(uint32_t))
{
	const char *s =
		said_has(&f->said, attribute) ? otf2r_text(r, (uint32_t)f->said.of[attribute]) : "";

	for (unsigned i = 1; *s && i < NAMED_VALUES; i++)
		if (strcmp(name_of(i), s) == 0)
			return (uint8_t)i;
	return 0;
}

static void find_memory(const struct reader *r, const struct frame *f, struct rec_copy *c)
{
	c->source_kind = value_named(r, f, ATTRIBUTE_SOURCE_KIND, name_memory_kind);
	c->destination_kind = value_named(r, f, ATTRIBUTE_DESTINATION_KIND, name_memory_kind);
	c->cause = value_named(r, f, ATTRIBUTE_CAUSE, name_migration_cause);
	c->address = said_of(&f->said, ATTRIBUTE_ADDRESS);
	c->faults = said_of(&f->said, ATTRIBUTE_FAULTS);
	if (r->kymo)
		return;
	c->source_kind = c->source_agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
	c->destination_kind = c->destination_agent ? MEMORY_DEVICE : MEMORY_UNKNOWN;
}

void otf2r_copy(struct reader *r, struct place *p, const struct frame *f)
{
	struct rec_copy c = {.base = otf2r_base(r, p, f->start),
			     .device = {.start = f->start, .end = r->now},
			     .queue = p->queue,
			     .bytes = f->bytes};

	c.base.parent = p->queue ? 0 : c.base.parent;
	if (said_has(&f->said, ATTRIBUTE_BYTES))
		c.bytes = f->said.of[ATTRIBUTE_BYTES];
	c.blocking = said_of(&f->said, ATTRIBUTE_SUBMISSION_MODE) == 2;
	c.graph = said_of(&f->said, ATTRIBUTE_PARENT);
	c.graph_node = said_of(&f->said, ATTRIBUTE_GRAPH_NODE);
	if (said_of(&f->said, ATTRIBUTE_FLAGS) & FLAG_UNTIMED) {
		c.device = (struct rec_device){
			.untimed = (uint32_t)said_of(&f->said, ATTRIBUTE_UNTIMED)};
		c.device.untimed = c.device.untimed ? c.device.untimed : UNTIMED_NOT_REPORTED;
	}
	otf2r_device(r, p, f, &c.base, &c.device);
	find_ends(r, p, f, &c);
	c.base.op = make_activity(&r->model, RECORD_DOMAIN_copy, op_of_copy(r, p, f, &c));
	find_memory(r, f, &c);
	OTF2R_EMIT(r, copy, &c);
}

/* ---- events ---------------------------------------------------------------------------------- */

struct transfer {
	uint32_t window, remote;
	uint64_t sent, received, id;
	uint8_t op; /* of messages */
};

static uint64_t key_of(const struct reader *r, const struct place *p, uint32_t window, uint64_t id)
{
	return hash_mix(hash_mix(hash_u64((uint64_t)(p - r->places)), window), id);
}

static OTF2_CallbackCode code_of(const struct reader *r)
{
	return r->status == KYMO_OK ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static void begin_transfer(struct reader *r, struct place *p, const struct transfer *x)
{
	struct frame *top = p->depth ? &p->frames[p->depth - 1] : NULL;
	uint32_t at = otf2r_at(&r->windows_at, x->window), self = (uint32_t)(p - r->places) + 1;
	uint32_t remote = at ? otf2r_rank(r, r->windows[at - 1].group, x->remote, self) : 0;
	const struct frame *call = otf2r_call(p);
	struct begun *w;

	if (!remote)
		unplaced_add(&r->unplaced, "other sides of transfers that are not defined", 1);
	if (top && top->kind == FRAME_COPY) {
		top->transfer = true;
		top->put = x->op != COMM_OP_GET;
		top->remote = remote;
		top->bytes += x->sent + x->received;
		return;
	}
	w = otf2r_wait(r, &r->transfers, key_of(r, p, x->window, x->id));
	if (!w)
		return;
	w->start = r->now;
	w->scope = otf2r_scope(p);
	w->call = call ? call->id : 0;
	w->place = (uint32_t)(p - r->places);
	w->process = p->process;
	w->thread = p->thread;
	w->communicator = at;
	w->remote = remote;
	w->op = x->op;
	w->sent = x->sent;
	w->received = x->received;
	w->request = x->id;
	w->put = x->op != COMM_OP_GET;
}

static OTF2_CallbackCode on_put(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				OTF2_AttributeList *a, OTF2_RmaWinRef window, uint32_t remote,
				uint64_t bytes, uint64_t id)
{
	const struct transfer x = {window, remote, bytes, 0, id, COMM_OP_PUT};
	struct place *p = otf2r_event(data, l, t);

	if (p)
		begin_transfer(data, p, &x);
	return code_of(data);
}

static OTF2_CallbackCode on_get(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				OTF2_AttributeList *a, OTF2_RmaWinRef window, uint32_t remote,
				uint64_t bytes, uint64_t id)
{
	const struct transfer x = {window, remote, 0, bytes, id, COMM_OP_GET};
	struct place *p = otf2r_event(data, l, t);

	if (p)
		begin_transfer(data, p, &x);
	return code_of(data);
}

static OTF2_CallbackCode on_atomic(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				   OTF2_AttributeList *a, OTF2_RmaWinRef window, uint32_t remote,
				   OTF2_RmaAtomicType type, uint64_t sent, uint64_t received,
				   uint64_t id)
{
	const struct transfer x = {window, remote, sent, received, id, COMM_OP_ACCUMULATE};
	struct place *p = otf2r_event(data, l, t);

	if (p)
		begin_transfer(data, p, &x);
	return code_of(data);
}

static void complete(struct reader *r, struct place *p, uint32_t window, uint64_t id)
{
	const struct begun *w = otf2r_take(&r->transfers, key_of(r, p, window, id));
	struct frame f = {.region = UINT32_MAX, .transfer = true};

	if (!w) {
		if (!p->depth || !p->frames[p->depth - 1].transfer)
			unplaced_add(&r->unplaced, "ends of transfers that did not begin", 1);
		return;
	}
	if (!p->agent && !(w->remote && r->places[w->remote - 1].agent)) {
		otf2r_one_sided(r, w);
		return;
	}
	f.start = w->start;
	f.put = w->put;
	f.remote = w->remote;
	f.bytes = w->sent + w->received;
	otf2r_copy(r, p, &f);
}

static OTF2_CallbackCode on_complete(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				     OTF2_AttributeList *a, OTF2_RmaWinRef window, uint64_t id)
{
	struct place *p = otf2r_event(data, l, t);

	if (p)
		complete(data, p, window, id);
	return code_of(data);
}

void otf2r_listen_transfers(OTF2_GlobalEvtReaderCallbacks *c)
{
	OTF2_GlobalEvtReaderCallbacks_SetRmaPutCallback(c, on_put);
	OTF2_GlobalEvtReaderCallbacks_SetRmaGetCallback(c, on_get);
	OTF2_GlobalEvtReaderCallbacks_SetRmaAtomicCallback(c, on_atomic);
	OTF2_GlobalEvtReaderCallbacks_SetRmaOpCompleteBlockingCallback(c, on_complete);
	OTF2_GlobalEvtReaderCallbacks_SetRmaOpCompleteNonBlockingCallback(c, on_complete);
}
