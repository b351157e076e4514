/* SPDX-License-Identifier: Apache-2.0 */
/* Regions that are entered and left, as calls, ranges, waits, kernels and copies. See reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "base/vec.h"
#include "formats/otf2/reader.h"

static const char unknown_region[] = "events of regions that are not defined";

/* ---- what is around -------------------------------------------------------------------------- */

struct frame *otf2r_call(const struct place *p)
{
	for (uint32_t i = p->depth; i-- > 0;)
		if (p->frames[i].kind == FRAME_CALL)
			return &p->frames[i];
	return NULL;
}

int64_t otf2r_scope(const struct place *p)
{
	for (uint32_t i = p->depth; i-- > 0;)
		if (p->frames[i].kind == FRAME_RANGE)
			return p->frames[i].scope;
	return 0;
}

/* Of what lies in all that is open on the location. */
struct rec otf2r_base(const struct reader *r, const struct place *p, int64_t start)
{
	const struct frame *call = otf2r_call(p);

	return (struct rec){.process = p->process,
			    .thread = p->thread,
			    .ok = true,
			    .parent = call ? call->id : 0,
			    .scope = otf2r_scope(p),
			    .start = start,
			    .end = r->now};
}

/*
 * What the first reading defined is there. Of a damaged archive libotf2 may find other events each time, as it looks at
 * memory that it has not set.
 */
static bool is_as_before(struct reader *r, uint32_t process, uint32_t defined)
{
	if (!r->sink || defined)
		return true;
	unplaced_add(&r->unplaced, "events that were others when they were read first", 1);
	make_lost(r->t, process, 1, 0);
	return false;
}

static void set_status(struct rec *base, const struct frame *f)
{
	base->status = (int32_t)said_of(&f->said, ATTRIBUTE_STATUS);
	base->ok = !said_has(&f->said, ATTRIBUTE_STATUS);
}

/* Where it was called, and a tool's number of it. A path of one frame is a call site, no stack. */
static void set_common(struct reader *r, const struct place *p, const struct frame *f,
		       struct rec *base)
{
	struct path path;

	base->external = said_of(&f->said, ATTRIBUTE_EXTERNAL_ID);
	if (!said_has(&f->said, ATTRIBUTE_CALL_PATH))
		return;
	path = otf2r_path(r, p->process, (uint32_t)f->said.of[ATTRIBUTE_CALL_PATH]);
	base->site = path.site;
	base->stack = r->t->stacks[path.stack].count > 1 ? path.stack : 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t process, uint64_t id)
{
	return hash_mix(hash_u64(process), id);
}

static struct submitted *find_call(const struct reader *r, uint32_t process, uint64_t id)
{
	uint64_t i;

	map_each(&r->call_at, key_of(process, id), i)
		if (r->calls[i - 1].process == process && r->calls[i - 1].id == id)
			return &r->calls[i - 1];
	return NULL;
}

static void keep_call(struct reader *r, const struct place *p, const struct frame *f)
{
	if (!bulk_reserve(&r->calls, &r->call_room, r->call_count, 1) ||
	    !bulk_map_add(&r->call_at, key_of(p->process, f->id), r->call_count + UINT64_C(1))) {
		r->status = KYMO_ERROR_NO_MEMORY;
		return;
	}
	r->calls[r->call_count++] = (struct submitted){.id = f->id,
						       .process = p->process,
						       .thread = p->thread,
						       .region = f->region,
						       .start = f->start,
						       .scope = otf2r_scope(p)};
}

static uint32_t flags_of(const struct reader *r, const struct frame *f)
{
	OTF2_RegionRole role = r->regions[f->region].role;

	if (!said_has(&f->said, ATTRIBUTE_CORRELATION_ID))
		return 0;
	if (said_has(&f->said, ATTRIBUTE_SUBMISSION_MODE))
		return KYMO_OP_SUBMITS |
		       (said_of(&f->said, ATTRIBUTE_SUBMISSION_MODE) ? 0 : KYMO_OP_WAITS);
	if (role == OTF2_REGION_ROLE_TASK_WAIT || role == OTF2_REGION_ROLE_BARRIER)
		return KYMO_OP_WAITS;
	return role == OTF2_REGION_ROLE_ALLOCATE || role == OTF2_REGION_ROLE_DEALLOCATE
		       ? KYMO_OP_ALLOCATES
		       : 0;
}

/* The archive's number of the call, if no other call of its process has it. */
static void number_call(struct reader *r, struct place *p, struct frame *f)
{
	uint64_t id = said_of(&f->said, ATTRIBUTE_CORRELATION_ID);
	uint64_t *largest = &r->largest[p->process];
	bool taken = id && id <= INT64_MAX && !find_call(r, p->process, id);

	if (id && !taken)
		unplaced_add(&r->unplaced, "numbers of calls that another call has", 1);
	if (taken) {
		f->id = id;
		*largest = id > *largest ? id : *largest;
		keep_call(r, p, f);
	} else if (r->sink) {
		f->id = ++r->next[p->process];
	}
}

static void open_call(struct reader *r, const struct place *p, const struct frame *f,
		      uint32_t depth)
{
	if (r->sink) {
		if (++r->opens < r->t->open_calls_count)
			r->t->open_calls[r->opens].id = f->id;
		return;
	}
	*trace_add(r->t, open_calls) = (struct t_open_call){
		.thread = p->thread, .op = f->region, .depth = depth, .start = f->start};
}

static void enter_call(struct reader *r, struct place *p, struct frame *f, OTF2_AttributeList *list)
{
	otf2r_callee(r, f->region)->flags |= flags_of(r, f);
	number_call(r, p, f);
	otf2r_attributes(r, p, list, NULL);
	if (said_of(&f->said, ATTRIBUTE_FLAGS) & FLAG_UNFINISHED)
		open_call(r, p, f, p->depth - 1);
}

/* Memory of the host, or of a device that is not told. */
static uint8_t memory_kind(const struct reader *r, const struct frame *f)
{
	OTF2_Paradigm p = r->regions[f->region].paradigm;

	return p == OTF2_PARADIGM_CUDA || p == OTF2_PARADIGM_HIP || p == OTF2_PARADIGM_OPENCL ||
			       p == OTF2_PARADIGM_OPENACC
		       ? MEMORY_DEVICE
		       : MEMORY_UNKNOWN;
}

static void leave_memory(struct reader *r, const struct place *p, const struct frame *f)
{
	bool gone = said_has(&f->said, ATTRIBUTE_ARGUMENT_ADDRESS) ||
		    said_has(&f->said, ATTRIBUTE_DEALLOCATION_SIZE);
	bool made = said_has(&f->said, ATTRIBUTE_ALLOCATION_SIZE);
	struct rec_allocation a = {.base = otf2r_base(r, p, f->start),
				   .correlation = f->id,
				   .kind = memory_kind(r, f),
				   .what = ALLOCATION_BUFFER};
	uint64_t key;

	if (!gone && !made)
		return;
	a.base.parent = f->id;
	a.bytes = said_of(&f->said, made ? ATTRIBUTE_ALLOCATION_SIZE : ATTRIBUTE_DEALLOCATION_SIZE);
	a.address = said_of(&f->said, made ? ATTRIBUTE_RESULT_ADDRESS : ATTRIBUTE_ARGUMENT_ADDRESS);
	key = key_of(p->process, a.address);
	a.allocation = made ? 0 : map_remove(&r->live, key);
	a.allocation = a.allocation ? a.allocation : ++r->allocations;
	if (made && !map_set(&r->live, key, a.allocation))
		r->status = KYMO_ERROR_NO_MEMORY;
	a.base.op = make_activity(&r->model, RECORD_DOMAIN_allocation,
				  made ? ALLOCATION_OP_ALLOCATE : ALLOCATION_OP_FREE);
	OTF2R_EMIT(r, allocation, &a);
}

/* `p` has what is around it alone. */
static void leave_call(struct reader *r, struct place *p, const struct frame *f)
{
	struct rec c = otf2r_base(r, p, f->start);

	if (said_of(&f->said, ATTRIBUTE_FLAGS) & FLAG_UNFINISHED)
		return;
	leave_memory(r, p, f);
	c.op = r->sink ? otf2r_callee(r, f->region)->op : 0;
	c.id = f->id;
	set_status(&c, f);
	set_common(r, p, f, &c);
	c.wire = otf2r_arguments(r, p, f);
	if (is_as_before(r, p->process, c.op))
		OTF2R_EMIT(r, call, &c);
}

/* ---- ranges and waits ------------------------------------------------------------------------ */

static void enter_range(struct reader *r, const struct place *p, struct frame *f)
{
	int64_t *last = &r->scopes[p->process], scope = (int64_t)said_of(&f->said, ATTRIBUTE_SCOPE);
	struct region *x = &r->regions[f->region];

	if (!x->text)
		x->text = keyed_text(&r->keyed, x->name, strlen(x->name));
	if (f->kind == FRAME_MARK)
		return;
	if (scope)
		*last = !r->sink && scope > *last && scope < INT64_MAX / 2 ? scope : *last;
	else if (r->sink)
		scope = ++*last;
	f->scope = scope;
}

static uint32_t name_said(struct reader *r, const struct frame *f, unsigned attribute)
{
	const char *s =
		said_has(&f->said, attribute) ? otf2r_text(r, (uint32_t)f->said.of[attribute]) : "";

	return keyed_text(&r->keyed, s, strlen(s));
}

static void leave_range(struct reader *r, struct place *p, const struct frame *f, bool left_open)
{
	const struct region *x = &r->regions[f->region];
	struct rec_marker m = {.base = otf2r_base(r, p, f->start),
			       .scope = f->scope,
			       .name = x->text,
			       .left_open = left_open};

	m.left_open |= (said_of(&f->said, ATTRIBUTE_FLAGS) & FLAG_UNFINISHED) != 0;
	m.domain = name_said(r, f, ATTRIBUTE_MARKER_DOMAIN);
	m.category = name_said(r, f, ATTRIBUTE_MARKER_CATEGORY);
	m.color = (uint32_t)said_of(&f->said, ATTRIBUTE_MARKER_COLOR);
	otf2r_payload(r, p, f, &m);
	set_common(r, p, f, &m.base);
	if (said_has(&f->said, ATTRIBUTE_STATUS))
		set_status(&m.base, f);
	m.text = r->t->strings[m.name].text;
	m.text_length = r->t->strings[m.name].length;
	m.base.op = make_activity(&r->model, RECORD_DOMAIN_marker,
				  f->kind == FRAME_MARK ? MARKER_OP_MARK : MARKER_OP_RANGE);
	OTF2R_EMIT(r, marker, &m);
}

static uint32_t queue_of(const struct reader *r, const struct place *p, const struct said *s,
			 unsigned attribute)
{
	uint32_t i = said_has(s, attribute) ? otf2r_at(&r->places_at, s->of[attribute]) : 0;
	const struct place *q = i ? &r->places[i - 1] : NULL;

	return q && q->queue && q->process == p->process ? q->queue : 0;
}

static void leave_wait(struct reader *r, const struct place *p, const struct frame *f)
{
	uint64_t scope = said_of(&f->said, ATTRIBUTE_SYNC_SCOPE);
	struct rec_sync s = {.base = otf2r_base(r, p, f->start),
			     .queue = queue_of(r, p, &f->said, ATTRIBUTE_QUEUE),
			     .correlation = said_of(&f->said, ATTRIBUTE_CORRELATION_ID)};

	if (f->kind == FRAME_BARRIER) {
		s.queue = p->queue;
		scope = SYNC_OP_BARRIER + 1;
	}
	if (!scope || scope > SYNC_OPS) {
		unplaced_add(&r->unplaced, "waits of unknown kinds", 1);
		return;
	}
	s.base.op = make_activity(&r->model, RECORD_DOMAIN_sync, (uint32_t)scope - 1);
	OTF2R_EMIT(r, sync, &s);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Of Kymo as the runtime said; of others the call submitted it at once, as far as is known. */
static void set_queued(const struct reader *r, const struct frame *f, const struct submitted *c,
		       struct rec_device *d)
{
	d->status = (int32_t)said_of(&f->said, ATTRIBUTE_STATUS);
	if (said_has(&f->said, ATTRIBUTE_QUEUED))
		d->queued = otf2r_time(r, f->said.of[ATTRIBUTE_QUEUED]);
	if (said_has(&f->said, ATTRIBUTE_SUBMITTED))
		d->submitted = otf2r_time(r, f->said.of[ATTRIBUTE_SUBMITTED]);
	if (!r->kymo && c && d->start && c->start < d->start)
		d->queued = d->submitted = c->start;
}

/* The call that submitted it: its own number, or the oldest launch of the call path that it names. */
void otf2r_device(struct reader *r, const struct place *p, const struct frame *f, struct rec *base,
		  struct rec_device *d)
{
	uint64_t id = said_of(&f->said, ATTRIBUTE_CORRELATION_ID), site = f->site;
	const struct submitted *c = id ? find_call(r, p->process, id) : NULL;
	struct begun *x = !id && site ? otf2r_take(&r->launches, key_of(p->process, site)) : NULL;
	struct submitted launch;

	if (x) {
		launch = (struct submitted){.id = x->call,
					    .thread = x->thread,
					    .region = x->communicator,
					    .start = x->start,
					    .scope = x->scope};
		c = &launch;
	}
	set_queued(r, f, c, d);
	if (!c)
		return;
	otf2r_callee(r, c->region)->flags |= KYMO_OP_SUBMITS;
	base->thread = c->thread;
	base->scope = c->scope;
	d->correlation = c->id;
	d->submit = c->start;
	d->causal_violation = d->start && d->start < c->start;
}

/* "global 64x64, local 8x8, registers 32, shared 0 + 1024, local memory 0" */
static void take_sizes(const char *s, const char *word, uint64_t out[3], uint32_t *dims)
{
	const char *at = strstr(s, word);
	char *end;

	if (!at)
		return;
	at += strlen(word);
	for (unsigned i = 0; i < 3; i++) {
		out[i] = strtoull(at, &end, 10);
		if (dims)
			*dims = i + 1;
		if (*end != 'x')
			return;
		at = end + 1;
	}
}

static void take_configuration(const struct reader *r, const struct frame *f,
			       struct rec_dispatch *d)
{
	const char *s = said_has(&f->said, ATTRIBUTE_CONFIGURATION)
				? otf2r_text(r, (uint32_t)f->said.of[ATTRIBUTE_CONFIGURATION])
				: "";
	uint64_t one[3] = {0};
	const char *plus = strstr(s, " + ");

	for (unsigned i = 0; i < 3 && !*s; i++) {
		d->local[i] = f->sizes[3 + i];
		d->global[i] = (uint64_t)f->sizes[i] * (f->sizes[3 + i] ? f->sizes[3 + i] : 1);
	}
	d->launch = f->launch;
	d->dims = 3;
	if (!*s)
		return;
	take_sizes(s, "global ", d->global, &d->dims);
	take_sizes(s, "local ", d->local, NULL);
	take_sizes(s, "offset ", d->offset, NULL);
	take_sizes(s, "registers ", one, NULL);
	d->launch.registers = one[0];
	take_sizes(s, "shared ", one, NULL);
	d->launch.static_shared = strstr(s, "shared ") ? one[0] : 0;
	d->launch.dynamic_shared = plus ? strtoull(plus + 3, NULL, 10) : 0;
	one[0] = 0;
	take_sizes(s, "local memory ", one, NULL);
	d->launch.local_memory = one[0];
}

static void leave_kernel(struct reader *r, const struct place *p, const struct frame *f)
{
	const struct region *x = &r->regions[f->region];
	uint64_t flags = said_of(&f->said, ATTRIBUTE_FLAGS);
	struct rec_dispatch d = {.base = otf2r_base(r, p, f->start),
				 .device = {.start = f->start, .end = r->now},
				 .agent = p->agent,
				 .queue = p->queue};

	d.base.parent = 0;
	d.kernel =
		keyed_kernel(&r->keyed, p->process, keyed_text(&r->keyed, x->name, strlen(x->name)),
			     0, otf2r_domain(r, x->paradigm, ""));
	if (flags & FLAG_UNTIMED) {
		d.device = (struct rec_device){
			.untimed = (uint32_t)said_of(&f->said, ATTRIBUTE_UNTIMED)};
		d.device.untimed = d.device.untimed ? d.device.untimed : UNTIMED_NOT_REPORTED;
	}
	otf2r_device(r, p, f, &d.base, &d.device);
	take_configuration(r, f, &d);
	d.launch.graph = said_of(&f->said, ATTRIBUTE_PARENT);
	d.launch.graph_node = said_of(&f->said, ATTRIBUTE_GRAPH_NODE);
	d.base.op = make_activity(&r->model, RECORD_DOMAIN_dispatch,
				  rec_launch_is_set(&d.launch) ? DISPATCH_OP_LAUNCH
							       : DISPATCH_OP_KERNEL);
	if (is_as_before(r, p->process, d.kernel))
		OTF2R_EMIT(r, dispatch, &d);
}

/* Of Kymo "dispatch kernel", "copy write" ...: what else it was is not told. */
static void unfinished(struct reader *r, const struct place *p, const struct frame *f)
{
	const struct region *x = &r->regions[f->region];
	uint64_t id = said_of(&f->said, ATTRIBUTE_CORRELATION_ID);
	const struct submitted *c = find_call(r, p->process, id);
	struct t_unfinished u = {.process = p->process,
				 .thread = c ? c->thread : 0,
				 .agent = p->agent,
				 .queue = p->queue,
				 .id = c ? id : 0,
				 .bytes = f->bytes,
				 .submit = c ? c->start : f->start};
	static const char *const copies[COPY_OPS] = {"copy read", "copy write", "copy copy",
						     "copy fill", "copy map",   "copy unmap"};

	if (r->sink) {
		r->unfinished++;
		return;
	}
	u.op = make_activity(&r->model, RECORD_DOMAIN_dispatch, DISPATCH_OP_KERNEL);
	for (uint32_t i = 0; i < COPY_OPS; i++)
		if (copies[i] && strcmp(copies[i], x->name) == 0)
			u.op = make_activity(&r->model, RECORD_DOMAIN_copy, i);
	if (f->kind == FRAME_COPY && strncmp(x->name, "copy ", 5) != 0)
		u.op = make_activity(&r->model, RECORD_DOMAIN_copy, COPY_OP_COPY);
	else if (f->kind == FRAME_KERNEL && strcmp(x->name, "dispatch kernel") != 0)
		u.kernel = keyed_kernel(&r->keyed, p->process,
					keyed_text(&r->keyed, x->name, strlen(x->name)), 0,
					otf2r_domain(r, x->paradigm, ""));
	*trace_add(r->t, unfinished) = u;
}

/* ---- entering and leaving -------------------------------------------------------------------- */

/* Barriers on queues are Kymo's own deduction from waits, which are there as well. */
static enum frame_kind kind_on_device(struct reader *r, const struct region *x,
				      const struct said *s)
{
	switch (x->role) {
	case OTF2_REGION_ROLE_DATA_TRANSFER:
	case OTF2_REGION_ROLE_RMA:
		return FRAME_COPY;
	case OTF2_REGION_ROLE_BARRIER:
	case OTF2_REGION_ROLE_IMPLICIT_BARRIER:
	case OTF2_REGION_ROLE_TASK_WAIT:
		return r->kymo ? FRAME_SKIP : FRAME_BARRIER;
	case OTF2_REGION_ROLE_ARTIFICIAL:
		unplaced_add(&r->unplaced, "regions in which a device had nothing to do", 1);
		return FRAME_SKIP;
	default:
		return said_of(s, ATTRIBUTE_FLAGS) & FLAG_UNFINISHED &&
				       strncmp(x->name, "copy ", 5) == 0
			       ? FRAME_COPY
			       : FRAME_KERNEL;
	}
}

static enum frame_kind kind_of(struct reader *r, const struct place *p, const struct region *x,
			       const struct said *s)
{
	if (p->queue || (p->agent && p->type != OTF2_LOCATION_TYPE_CPU_THREAD))
		return kind_on_device(r, x, s);
	if (said_has(s, ATTRIBUTE_SYNC_SCOPE))
		return FRAME_WAIT;
	if (x->paradigm == OTF2_PARADIGM_USER)
		return r->kymo && !said_has(s, ATTRIBUTE_SCOPE) ? FRAME_MARK : FRAME_RANGE;
	if (r->kymo && x->paradigm == OTF2_PARADIGM_MEASUREMENT_SYSTEM) {
		unplaced_add(&r->unplaced, "records of Kymo's that are regions alone", 1);
		return FRAME_SKIP;
	}
	return FRAME_CALL;
}

/* `region` is a place + 1. */
void otf2r_enter(struct reader *r, struct place *p, uint32_t region, OTF2_AttributeList *list)
{
	struct frame *f;

	if (!region) {
		unplaced_add(&r->unplaced, unknown_region, 1);
		return;
	}
	if (!vec_reserve(&p->frames, &p->frame_room, p->depth, 1)) {
		r->status = KYMO_ERROR_NO_MEMORY;
		return;
	}
	f = &p->frames[p->depth];
	*f = (struct frame){.region = region - 1,
			    .start = r->now,
			    .site = p->site,
			    .first_argument = p->argument_count};
	p->site = 0;
	otf2r_attributes(r, NULL, list, &f->said);
	f->kind = (uint8_t)kind_of(r, p, &r->regions[region - 1], &f->said);
	p->depth++;
	if (f->kind == FRAME_RANGE || f->kind == FRAME_MARK)
		enter_range(r, p, f);
	if (f->kind == FRAME_CALL)
		enter_call(r, p, f, list);
	else if (list)
		otf2r_attributes(r, p, list, NULL);
}

static void record(struct reader *r, struct place *p, const struct frame *f, bool left_open)
{
	bool device = f->kind == FRAME_KERNEL || f->kind == FRAME_COPY;

	if (device && (left_open || said_of(&f->said, ATTRIBUTE_FLAGS) & FLAG_UNFINISHED))
		unfinished(r, p, f);
	else if (f->kind == FRAME_KERNEL)
		leave_kernel(r, p, f);
	else if (f->kind == FRAME_COPY)
		otf2r_copy(r, p, f);
	else if (f->kind == FRAME_CALL && left_open)
		open_call(r, p, f, p->depth);
	else if (f->kind == FRAME_CALL)
		leave_call(r, p, f);
	else if (f->kind == FRAME_RANGE || f->kind == FRAME_MARK)
		leave_range(r, p, f, left_open);
	else if (f->kind != FRAME_SKIP)
		leave_wait(r, p, f);
}

/* The frame at `at` goes; what lies in it stays. */
static void take_out(struct reader *r, struct place *p, uint32_t at)
{
	struct frame f = p->frames[at];
	uint32_t depth = p->depth, count = p->argument_count,
		 end = at + 1 < depth ? p->frames[at + 1].first_argument : p->argument_count;

	p->depth = at;
	p->argument_count = end; /* the values of those in it are not its own */
	record(r, p, &f, false);
	p->argument_count = count;
	for (uint32_t i = f.first_argument; i < end; i++)
		p->arguments[i].field = UINT32_MAX;
	if (at + 1 == depth)
		p->argument_count = f.first_argument;
	memmove(&p->frames[at], &p->frames[at + 1], (depth - at - 1) * sizeof(*p->frames));
	p->depth = depth - 1;
}

void otf2r_leave(struct reader *r, struct place *p, uint32_t region, OTF2_AttributeList *list)
{
	uint32_t at = p->depth, looked = 0;

	if (!region) {
		unplaced_add(&r->unplaced, unknown_region, 1);
		return;
	}
	while (at && p->frames[at - 1].region != region - 1 && ++looked < CROSSING_MAX)
		at--;
	if (!at || p->frames[at - 1].region != region - 1) {
		unplaced_add(&r->unplaced, "leaves of regions that were not entered", 1);
		return;
	}
	otf2r_attributes(r, at == p->depth ? p : NULL, list, &p->frames[at - 1].said);
	otf2r_sent(r, p);
	take_out(r, p, at - 1);
}

void otf2r_left_open(struct reader *r, struct place *p)
{
	otf2r_sent(r, p);
	while (p->depth) {
		const struct frame f = p->frames[--p->depth];

		if (f.kind != FRAME_CALL || !(said_of(&f.said, ATTRIBUTE_FLAGS) & FLAG_UNFINISHED))
			record(r, p, &f, true);
		p->argument_count = f.first_argument;
	}
}
