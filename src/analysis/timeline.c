/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a timeline from a stream of records; see timeline.h. */
#include "analysis/timeline.h"
#include "analysis/file_use.h"
#include "analysis/heap_use.h"
#include "analysis/lock_use.h"
#include "analysis/occa_use.h"
#include "analysis/wait_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "stream/large.h"
#include "stream/trace.h"

/* Flags of calls that are kept one by one. */
#define KEPT (KYMO_OP_SUBMITS | KYMO_OP_WAITS | KYMO_OP_ALLOCATES)

/* Room for one more, or NULL: no memory, or there are too many of them to keep. */
#define TAKE(tl, name)                                                                             \
	((tl)->name##_count < TIMELINE_MOST                                                        \
		 ? vec_reserve(&(tl)->name, &(tl)->name##_room, (tl)->name##_count, 1)             \
			   ? &(tl)->name[(tl)->name##_count++]                                     \
			   : ((tl)->failed = true, NULL)                                           \
		 : ((tl)->cut = true, NULL))

/* Likewise, of those that are many. */
#define TAKE_LARGE(tl, name)                                                                       \
	((tl)->name##_count < TIMELINE_MOST                                                        \
		 ? large_reserve(&(tl)->name, &(tl)->name##_room, (tl)->name##_count)              \
			   ? &(tl)->name[(tl)->name##_count++]                                     \
			   : ((tl)->failed = true, NULL)                                           \
		 : ((tl)->cut = true, NULL))

enum {
	OP_MPI = 1,
	OP_CODE_OBJECT = 2,
	OP_OPENMP = 4,
	OP_PARALLEL = 8,       /* of OpenMP: a region */
	OP_IMPLICIT_TASK = 16, /* what a thread does in it */
	OP_EXPLICIT_TASK = 32,
	OP_TARGET = 64,    /* of OpenMP, for a device */
	OP_ASKS = 128,     /* of MPI: whether messages are there */
	OP_OFF = 256,      /* no call: a thread without a processor */
	OP_USES = 512,     /* of a domain whose objects have tables: files, locks, waits, OCCA's */
	OP_WAIT_SHIFT = 10 /* then what is waited for in it, as CALL_WAIT has it */
};

static struct timeline *of(struct stream_sink *s)
{
	return ((struct timeline_sink *)(void *)s)->timeline;
}

#define FORWARD(s, name, record)                                                                   \
	(((struct timeline_sink *)(void *)(s))->next                                               \
		 ? ((struct timeline_sink *)(void *)(s))                                           \
			   ->next->name(((struct timeline_sink *)(void *)(s))->next, (record))     \
		 : KYMO_OK)

/* Of what there is one in the trace for each. */
#define FORWARD_RECORD(s, name, record) (of(s)->records++, FORWARD(s, name, record))

/* ---- devices ----------------------------------------------------------------------------------- */

/* Devices of several processes and runtimes that are one have one label. Parts are their device. */
static uint32_t device_of(struct timeline *tl, uint32_t agent)
{
	const struct trace *t = tl->trace;
	const char *label;
	uint64_t same;
	uint32_t i;

	agent = trace_whole_device(t, agent);
	i = tl->device_of_agent[agent];
	if (i)
		return i - 1;
	label = t->agents[agent].label;
	map_each(&tl->labels, hash_bytes(label, strlen(label)), same)
		if (strcmp(t->agents[tl->devices[same - 1].agent].label, label) == 0)
			break;
	if (!same) {
		same = (uint64_t)tl->devices_count + 1;
		if (!vec_reserve(&tl->devices, &tl->devices_room, tl->devices_count, 1) ||
		    !map_add(&tl->labels, hash_bytes(label, strlen(label)), same)) {
			tl->failed = true;
			return TIMELINE_NONE;
		}
		tl->devices[tl->devices_count++] = (struct tl_device){.agent = agent};
	}
	tl->device_of_agent[agent] = (uint32_t)same;
	return (uint32_t)same - 1;
}

/* Work in the order of its coming; false: it has no place on a device. */
static bool place(struct timeline *tl, struct tl_work *w, const struct rec_device *r,
		  uint32_t agent)
{
	if (!device_timed(r) || !agent) {
		tl->untimed++;
		return false;
	}
	if (r->end < r->start) {
		tl->backwards++;
		return false;
	}
	w->device = device_of(tl, agent);
	w->start = r->start;
	w->end = r->end;
	w->submit = r->submit;
	w->submitted = r->submitted;
	w->id = r->correlation;
	w->early = r->causal_violation;
	w->failed = r->status != 0;
	tl->early += r->causal_violation;
	return w->device != TIMELINE_NONE;
}

static void take_work(struct timeline *tl, const struct tl_work *w)
{
	struct tl_device *d = &tl->devices[w->device];
	struct tl_work *kept = TAKE_LARGE(tl, work);
	uint64_t user = (uint64_t)(w->device + 1) << 32 | w->process;

	d->number[w->kind]++;
	if (!map_get(&tl->used, user) && !map_set(&tl->used, user, 1))
		tl->failed = true;
	if (kept) {
		*kept = *w;
		d->count++;
	} else if (!intervals_add(w->kind == WORK_KERNEL ? &d->kernels : &d->transfers, w->start,
				  w->end)) {
		tl->failed = true;
	}
}

static uint64_t groups_of(const struct rec_dispatch *r)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < r->dims && i < 3; i++) {
		if (!r->local[i])
			return 0;
		n *= (r->global[i] + r->local[i] - 1) / r->local[i];
	}
	return n;
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct timeline *tl = of(s);
	struct tl_work w = {.process = r->base.process,
			    .queue = r->queue,
			    .kernel = r->kernel,
			    .op = r->base.op,
			    .kind = WORK_KERNEL,
			    .graph = r->launch.graph != 0,
			    .groups = groups_of(r),
			    .items = 1};

	for (uint32_t i = 0; i < r->dims && i < 3; i++)
		w.items *= r->global[i];
	if (place(tl, &w, &r->device, r->agent))
		take_work(tl, &w);
	return FORWARD_RECORD(s, dispatch, r);
}

static uint8_t kind_of_copy(uint32_t number)
{
	switch (number) {
	case COPY_OP_FILL:
		return WORK_FILL;
	case COPY_OP_MAP:
	case COPY_OP_UNMAP:
		return WORK_MAP;
	case COPY_OP_MIGRATE:
	case COPY_OP_FAULT:
		return WORK_MIGRATION;
	default:
		return WORK_COPY;
	}
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct timeline *tl = of(s);
	uint32_t number = tl->trace->ops[r->base.op].number;
	struct tl_work w = {.process = r->base.process,
			    .queue = r->queue,
			    .op = r->base.op,
			    .kind = kind_of_copy(number),
			    .bytes = r->bytes,
			    .source_kind = r->source_kind,
			    .destination_kind = r->destination_kind,
			    .to_device = number == COPY_OP_WRITE || number == COPY_OP_UNMAP,
			    .from_device = number == COPY_OP_READ || number == COPY_OP_MAP,
			    .blocking = r->blocking,
			    .graph = r->graph != 0};

	if (place(tl, &w, &r->device, copy_agent(tl->trace, r)))
		take_work(tl, &w);
	return FORWARD_RECORD(s, copy, r);
}

/* ---- host -------------------------------------------------------------------------------------- */

/* A short call soon after another short one: one burst. */
static bool joins(struct timeline *tl, const struct rec *r, uint16_t flags)
{
	uint32_t last = tl->last[r->thread];
	struct tl_call *c = last ? &tl->calls[last - 1] : NULL;

	if (!c || (c->op_flags & KEPT) || (c->flags & (CALL_NESTED | CALL_FAILED)) ||
	    ((c->flags ^ flags) & (CALL_MPI | CALL_OPENMP | CALL_WAIT)) ||
	    c->end - c->start >= TIMELINE_BURST_NS ||
	    (!(c->flags & CALL_BURST) && c->end - c->start >= TIMELINE_LONG_NS) ||
	    r->start < c->end || r->start - c->end > TIMELINE_PAUSE_NS)
		return false;
	if (!(c->flags & CALL_BURST)) {
		c->waited = (uint64_t)(c->end - c->start);
		c->count = 1;
	}
	c->waited += (uint64_t)(r->end - r->start);
	c->end = r->end;
	c->flags |=
		(uint16_t)(CALL_BURST | (c->op == r->op ? 0 : CALL_MIXED) | (flags & CALL_ASKS));
	c->count++;
	return true;
}

static void team_fields(const struct timeline *tl, const struct rec *r, struct tl_team *team)
{
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields fields;

	rec_fields_init(&fields, tl->trace, r);
	while (rec_fields_next(&fields, &field, &value)) {
		if (strcmp(field->name, "threads") == 0)
			team->threads = (uint32_t)value.u;
		else if (strcmp(field->name, "worked") == 0)
			team->worked = value.u;
		else if (strcmp(field->name, "parallel") == 0)
			team->region = value.u;
	}
}

/* A short region soon after another is no place of its own. */
static bool follows(struct timeline *tl, const struct rec *r)
{
	uint32_t last = tl->last_region[r->thread];
	struct tl_team *before = last ? &tl->teams[last - 1] : NULL;

	if (!before || r->end - r->start >= TIMELINE_LONG_NS || r->start < before->until ||
	    r->start - before->until > TIMELINE_PAUSE_NS)
		return false;
	before->until = r->end;
	return true;
}

static void take_team(struct timeline *tl, const struct rec *r)
{
	bool task = tl->op_is[r->op] & OP_IMPLICIT_TASK;
	struct tl_team *team;

	tl->implicit_tasks |= task;
	tl->explicit_tasks |= (tl->op_is[r->op] & OP_EXPLICIT_TASK) != 0;
	if (!(tl->op_is[r->op] & (OP_PARALLEL | OP_IMPLICIT_TASK)) || r->end < r->start ||
	    (task ? r->end - r->start < TIMELINE_LONG_NS : follows(tl, r)) ||
	    !(team = TAKE(tl, teams)))
		return;
	*team = (struct tl_team){.start = r->start,
				 .end = r->end,
				 .until = r->end,
				 .region = task ? 0 : r->id,
				 .thread = r->thread,
				 .site = r->site,
				 .task = task};
	team_fields(tl, r, team);
	if (!task)
		tl->last_region[r->thread] = tl->teams_count;
}

static bool is_source(const char *field)
{
	return strcmp(field, "src") == 0 || strcmp(field, "srcptr") == 0 ||
	       strcmp(field, "srcHost") == 0;
}

static bool is_destination(const char *field)
{
	return strcmp(field, "dst") == 0 || strcmp(field, "dstptr") == 0 ||
	       strcmp(field, "dstHost") == 0;
}

/* OpenCL names the host's memory alone, whichever of the two it is. */
static bool is_either(const char *field)
{
	return strcmp(field, "ptr") == 0;
}

static void take_addresses(struct timeline *tl, const struct rec *r, struct tl_call *c)
{
	const struct tl_addresses *at = &tl->addresses[r->op];
	struct tl_ends ends = {0}, *kept;
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields fields;

	if (!r->wire)
		return;
	rec_fields_init(&fields, tl->trace, r);
	for (uint32_t i = 1; i <= at->last && rec_fields_next(&fields, &field, &value); i++) {
		if (i == at->source)
			ends.source = value.u;
		if (i == at->destination)
			ends.destination = value.u;
	}
	if ((ends.source || ends.destination) && (kept = TAKE(tl, ends))) {
		*kept = ends;
		c->ends = tl->ends_count;
	}
}

static bool fell_back(const struct timeline *tl, const struct rec *r)
{
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields fields;

	if (!r->wire)
		return false;
	rec_fields_init(&fields, tl->trace, r);
	while (rec_fields_next(&fields, &field, &value))
		if (strcmp(field->name, "host_fallback") == 0)
			return value.u;
	return false;
}

static uint16_t wait_of(uint16_t op_is)
{
	return (uint16_t)(op_is >> OP_WAIT_SHIFT << CALL_WAIT_SHIFT);
}

static uint16_t flags_of_calls(uint16_t op_is)
{
	return (uint16_t)((op_is & OP_MPI ? CALL_MPI : 0) | (op_is & OP_ASKS ? CALL_ASKS : 0) |
			  (op_is & OP_OPENMP ? CALL_OPENMP : 0) |
			  (op_is & OP_TARGET ? CALL_TARGET : 0) | wait_of(op_is));
}

/* Short ones change nothing that is told. */
static void take_off(struct timeline *tl, const struct rec *r)
{
	const uint32_t site = off_use_add(&tl->off, r); /* where the program waits */
	struct tl_call *c = r->end - r->start >= TIMELINE_LONG_NS ? TAKE_LARGE(tl, calls) : NULL;

	if (c)
		*c = (struct tl_call){.start = r->start,
				      .end = r->end,
				      .thread = r->thread,
				      .op = r->op,
				      .site = site,
				      .op_flags = (uint16_t)tl->trace->ops[r->op].flags,
				      .flags = (uint16_t)(CALL_OFF | wait_of(tl->op_is[r->op]))};
}

static void use_call(struct timeline *tl, const struct rec *r)
{
	occa_use_call(tl->occa, r);
	file_use_call(tl->files, r);
	lock_use_call(tl->locks, r);
	wait_use_call(tl->host_waits, r);
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	struct timeline *tl = of(s);
	const struct t_op *op = &tl->trace->ops[r->op];
	bool kept = (op->flags & KEPT) || r->end - r->start >= TIMELINE_LONG_NS || !r->ok;
	uint16_t is = tl->op_is[r->op];
	uint16_t flags = (uint16_t)((r->parent ? CALL_NESTED : 0) | (r->ok ? 0 : CALL_FAILED) |
				    (is ? flags_of_calls(is) : 0) |
				    (is & OP_TARGET && fell_back(tl, r) ? CALL_FALLBACK : 0));
	struct tl_call *c;

	/* In a region of OpenMP what is short and nested is not told from what is short: it is the program's. */
	if ((kept || !r->parent) && !(op->flags & KYMO_OP_TIMED) && r->end >= r->start &&
	    (kept || !joins(tl, r, flags)) && (c = TAKE_LARGE(tl, calls))) {
		*c = (struct tl_call){.start = r->start,
				      .end = r->end,
				      .id = r->id,
				      .thread = r->thread,
				      .op = r->op,
				      .site = r->site,
				      .op_flags = (uint16_t)op->flags,
				      .flags = flags};
		if (tl->addresses[r->op].last)
			take_addresses(tl, r, c);
		tl->last[r->thread] = tl->calls_count;
	}
	if (is & OP_OPENMP)
		take_team(tl, r);
	if (is & OP_OFF)
		take_off(tl, r);
	objects_call(tl->objects, r);
	if (is & OP_USES)
		use_call(tl, r);
	return FORWARD_RECORD(s, call, r);
}

static kymo_status_t on_sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct timeline *tl = of(s);
	struct tl_wait *w = TAKE(tl, waits);

	if (w)
		*w = (struct tl_wait){.start = r->base.start,
				      .end = r->base.end,
				      .id = r->correlation,
				      .event = r->event,
				      .thread = r->base.thread,
				      .op = r->base.op,
				      .queue = r->queue};
	return FORWARD_RECORD(s, sync, r);
}

static kymo_status_t on_comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct timeline *tl = of(s);
	struct tl_message *m = TAKE(tl, messages);

	if (m)
		*m = (struct tl_message){.start = r->base.start,
					 .end = r->base.end,
					 .id = r->correlation,
					 .completed_by = r->completed_by,
					 .match = r->match,
					 .bytes = r->sent > r->received ? r->sent : r->received,
					 .request = r->request,
					 .process = r->base.process,
					 .thread = r->base.thread,
					 .op = r->base.op,
					 .communicator = r->communicator,
					 .peer = r->peer,
					 .tag = r->tag,
					 .kind = (uint8_t)tl->trace->ops[r->base.op].number,
					 .state = r->state};
	return FORWARD_RECORD(s, comm, r);
}

static kymo_status_t on_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct timeline *tl = of(s);
	struct tl_range *n = r->scope ? TAKE(tl, ranges) : NULL;

	if (n)
		*n = (struct tl_range){r->base.start,  r->base.end, r->scope, r->base.process,
				       r->base.thread, r->name,     r->domain};
	return FORWARD_RECORD(s, marker, r);
}

static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct timeline *tl = of(s);
	struct tl_allocation *a = TAKE(tl, allocations);

	if (a)
		*a = (struct tl_allocation){.time = r->base.start,
					    .id = r->correlation,
					    .bytes = r->bytes,
					    .address = r->address,
					    .allocation = r->allocation,
					    .thread = r->base.thread,
					    .process = r->base.process,
					    .agent = r->agent,
					    .kind = r->kind,
					    .part = r->parent != 0,
					    .what = r->what,
					    .freed = tl->trace->ops[r->base.op].number ==
						     ALLOCATION_OP_FREE};
	return FORWARD_RECORD(s, allocation, r);
}

static void take_build(struct timeline *tl, const struct rec *r)
{
	struct tl_build *b = TAKE(tl, builds);
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields fields;

	if (!b)
		return;
	*b = (struct tl_build){.start = r->start,
			       .end = r->end,
			       .thread = r->thread,
			       .op = r->op,
			       .failed = !r->ok};
	if (!r->wire)
		return;
	rec_fields_init(&fields, tl->trace, r);
	while (rec_fields_next(&fields, &field, &value)) {
		if (strcmp(field->name, "correlation") == 0)
			b->id = value.u;
		else if (strcmp(field->name, "program") == 0)
			b->program = (uint32_t)value.u;
		else if (strcmp(field->name, "options") == 0)
			b->options = (uint32_t)value.u;
		else if (strcmp(field->name, "log") == 0)
			b->log = (uint32_t)value.u;
		else if (strcmp(field->name, "status") == 0)
			b->status = (int32_t)value.i;
	}
	b->failed |= b->status != 0; /* that of all runtimes for success */
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	struct timeline *tl = of(s);

	if (tl->op_is[r->op] & OP_CODE_OBJECT)
		take_build(tl, r);
	return FORWARD_RECORD(s, other, r);
}

static kymo_status_t on_counter(struct stream_sink *s, const struct rec_counter *r)
{
	return FORWARD_RECORD(s, counter, r);
}

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	return FORWARD_RECORD(s, sample, r);
}

static kymo_status_t on_heap(struct stream_sink *s, const struct rec_heap *r)
{
	heap_use_add(of(s)->heap, r);
	return FORWARD_RECORD(s, heap, r);
}

static kymo_status_t on_device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	return FORWARD_RECORD(s, device_sample, r);
}

static kymo_status_t on_kernel_line(struct stream_sink *s, const struct rec_kernel_line *r)
{
	return FORWARD_RECORD(s, kernel_line, r);
}

static kymo_status_t on_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct timeline *tl = of(s);

	if (!r->count && tl->trace->processes[r->process].overwritten_records)
		tl->overwritten_until =
			r->before > tl->overwritten_until ? r->before : tl->overwritten_until;
	else
		tl->lost += r->count ? r->count : 1;
	return FORWARD(s, loss, r);
}

static kymo_status_t on_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	return FORWARD(s, open_call, c);
}

static kymo_status_t on_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	return FORWARD(s, unfinished, u);
}

/* ---- begin and end ----------------------------------------------------------------------------- */

static uint8_t op_of_openmp(const char *name)
{
	if (strncmp(name, "target", 6) == 0)
		return OP_TARGET;
	return (uint8_t)(OP_OPENMP | (strcmp(name, "parallel") == 0 ? OP_PARALLEL : 0) |
			 (strcmp(name, "implicit_task") == 0 ? OP_IMPLICIT_TASK : 0) |
			 (strcmp(name, "task") == 0 ? OP_EXPLICIT_TASK : 0));
}

static struct tl_addresses addresses_of(const struct t_op *op)
{
	struct tl_addresses at = {0};

	for (uint32_t i = 0; op->flags & KYMO_OP_SUBMITS && i < op->field_count; i++) {
		const char *name = op->fields[i].name;

		if (is_source(name) || is_either(name))
			at.source = at.last = i + 1;
		if (is_destination(name) || is_either(name))
			at.destination = at.last = i + 1;
	}
	return at;
}

struct named_state {
	const char *name; /* NULL: any other */
	enum host_state state;
};

static uint8_t op_of_mpi(const char *name)
{
	static const char *const asks[] = {
		"MPI_Test",   "MPI_Testall", "MPI_Testany",           "MPI_Testsome",
		"MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"};

	for (unsigned i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		if (strcmp(name, asks[i]) == 0)
			return OP_MPI | OP_ASKS;
	return OP_MPI;
}

static uint16_t op_waits(enum host_state state)
{
	return (uint16_t)(call_wait(state) >> CALL_WAIT_SHIFT << OP_WAIT_SHIFT);
}

static uint16_t op_of(const char *name, const struct named_state *known)
{
	for (; known->name; known++)
		if (strcmp(name, known->name) == 0)
			break;
	return known->state == HOST_OTHER ? 0 : op_waits(known->state);
}

/* Domain "wait". Who yields is ready to go on. */
static uint16_t op_of_wait(const char *name)
{
	static const struct named_state known[] = {
		{"nanosleep", HOST_SLEEP},   {"clock_nanosleep", HOST_SLEEP},
		{"usleep", HOST_SLEEP},      {"sleep", HOST_SLEEP},
		{"poll", HOST_POLL},         {"ppoll", HOST_POLL},
		{"select", HOST_POLL},       {"pselect", HOST_POLL},
		{"epoll_wait", HOST_POLL},   {"epoll_pwait", HOST_POLL},
		{"epoll_pwait2", HOST_POLL}, {"futex", HOST_THREADS},
		{"sched_yield", HOST_OTHER}, {NULL, HOST_BLOCKED}};

	return op_of(name, known);
}

static uint16_t op_of_off_cpu(const char *name)
{
	static const struct named_state known[] = {
		{"preempted", HOST_PREEMPTED}, {"wait_lock", HOST_THREADS},
		{"sleep", HOST_SLEEP},         {"wait_descriptors", HOST_POLL},
		{"wait_file", HOST_IO},        {"wait_socket", HOST_IO},
		{NULL, HOST_BLOCKED}};

	return op_of(name, known);
}

static bool has_uses(const struct trace *t, const struct t_op *op)
{
	return occa_use_op(t, op) || file_use_op(t, op) || lock_use_op(t, op) || wait_use_op(t, op);
}

static uint16_t op_is(const struct trace *t, const struct t_op *op)
{
	const char *domain = t->domains[op->domain].name;

	if (strcmp(domain, "openmp") == 0)
		return op_of_openmp(op->name);
	if (strcmp(domain, "mpi") == 0)
		return op_of_mpi(op->name);
	if (strcmp(domain, "lock") == 0)
		return op_waits(HOST_THREADS);
	if (strcmp(domain, "pthread") == 0)
		return strcmp(op->name, "pthread_join") == 0 ? op_waits(HOST_THREADS) : 0;
	if (strcmp(domain, "posix") == 0)
		return op_waits(HOST_IO);
	if (strcmp(domain, "wait") == 0)
		return op_of_wait(op->name);
	if (strcmp(domain, "off_cpu") == 0)
		return OP_OFF | op_of_off_cpu(op->name);
	return strcmp(domain, "code_object") == 0 ? OP_CODE_OBJECT : 0;
}

/* Of these what was handed over is looked at. */
static bool reads_fields(const struct trace *t, const struct t_op *op)
{
	return op->flags & KYMO_OP_SUBMITS ||
	       op_is(t, op) & (OP_CODE_OBJECT | OP_PARALLEL | OP_IMPLICIT_TASK | OP_TARGET) ||
	       objects_op(op) || has_uses(t, op) || op_is(t, op) & OP_OFF;
}

static struct timeline *timeline_new(const struct trace *t)
{
	struct timeline *tl = calloc(1, sizeof(*tl));

	if (!tl)
		return NULL;
	tl->trace = t;
	tl->device_of_agent = calloc(t->agents_count + 1, sizeof(*tl->device_of_agent));
	tl->op_is = calloc(t->ops_count + 1, sizeof(*tl->op_is));
	tl->addresses = calloc(t->ops_count + 1, sizeof(*tl->addresses));
	tl->last = calloc(t->threads_count + 1, sizeof(*tl->last));
	tl->last_region = calloc(t->threads_count + 1, sizeof(*tl->last_region));
	tl->threads = calloc(t->threads_count + 1, sizeof(*tl->threads));
	tl->call_of = calloc(t->processes_count + 1, sizeof(*tl->call_of));
	tl->objects = objects_new(t);
	tl->occa = occa_use_new(t);
	tl->files = file_use_new(t);
	tl->locks = lock_use_new(t);
	tl->host_waits = wait_use_new(t);
	tl->off.trace = t;
	tl->heap = heap_use_new(t);
	if (!tl->objects || !tl->occa || !tl->files || !tl->locks || !tl->host_waits || !tl->heap ||
	    !tl->device_of_agent || !tl->op_is || !tl->addresses || !tl->last || !tl->last_region ||
	    !tl->threads || !tl->call_of) {
		timeline_free(tl);
		return NULL;
	}
	for (uint32_t i = 0; i < t->ops_count; i++) {
		tl->op_is[i] = op_is(t, &t->ops[i]) | (has_uses(t, &t->ops[i]) ? OP_USES : 0);
		tl->addresses[i] = addresses_of(&t->ops[i]);
	}
	return tl;
}

/* Gives back what there is no memory for. */
static void timeline_drop(struct timeline *tl)
{
	void **all[] = {(void **)&tl->waits,  (void **)&tl->builds,      (void **)&tl->messages,
			(void **)&tl->ranges, (void **)&tl->allocations, (void **)&tl->ends};
	void **large[] = {(void **)&tl->work, (void **)&tl->calls, (void **)&tl->order,
			  (void **)&tl->outer};

	tl->failed = true;
	for (unsigned i = 0; i < sizeof(large) / sizeof(*large); i++) {
		large_free(*large[i]);
		*large[i] = NULL;
	}
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		free(*all[i]);
		*all[i] = NULL;
	}
	tl->work_count = tl->calls_count = tl->waits_count = tl->builds_count = tl->ends_count = 0;
	tl->messages_count = tl->ranges_count = tl->allocations_count = 0;
	tl->work_room = tl->calls_room = tl->waits_room = tl->builds_room = tl->ends_room = 0;
	tl->messages_room = tl->ranges_room = tl->allocations_room = 0;
}

static void release_times(struct tl_device *d)
{
	if (d->all.at != d->kernels.at && d->all.at != d->transfers.at)
		intervals_release(&d->all);
	intervals_release(&d->kernels);
	intervals_release(&d->transfers);
	intervals_release(&d->communication);
	intervals_release(&d->computing);
}

void timeline_free(struct timeline *tl)
{
	if (!tl)
		return;
	for (uint32_t i = 0; i < tl->devices_count; i++)
		release_times(&tl->devices[i]);
	map_release(&tl->labels);
	for (uint32_t i = 0; tl->call_of && i < tl->trace->processes_count; i++)
		large_free(tl->call_of[i].at);
	for (uint32_t i = 0; tl->building && i < tl->trace->processes_count; i++)
		intervals_release(&tl->building[i]);
	free(tl->building);
	map_release(&tl->used);
	objects_free(tl->objects);
	occa_use_free(tl->occa);
	file_use_free(tl->files);
	lock_use_free(tl->locks);
	wait_use_free(tl->host_waits);
	off_use_release(&tl->off);
	heap_use_free(tl->heap);
	intervals_release(&tl->absent);
	free(tl->call_of);
	free(tl->device_of_agent);
	free(tl->op_is);
	free(tl->addresses);
	free(tl->last);
	free(tl->last_region);
	free(tl->threads);
	free(tl->devices);
	large_free(tl->work);
	large_free(tl->calls);
	free(tl->ends);
	free(tl->waits);
	free(tl->builds);
	free(tl->messages);
	free(tl->ranges);
	free(tl->allocations);
	free(tl->teams);
	large_free(tl->order);
	large_free(tl->outer);
	free(tl);
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	struct timeline_sink *ts = (struct timeline_sink *)(void *)s;

	ts->timeline = timeline_new(t);
	if (!ts->timeline)
		return KYMO_ERROR_NO_MEMORY;
	return FORWARD(s, begin, t);
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	objects_finish(of(s)->objects);
	occa_use_finish(of(s)->occa);
	heap_use_finish(of(s)->heap);
	/* Whoever counts as well goes on without it. */
	if (!timeline_finish(of(s), s))
		timeline_drop(of(s));
	return FORWARD(s, end, t);
}

void timeline_sink_init(struct timeline_sink *s, struct stream_sink *next)
{
	*s = (struct timeline_sink){.sink = {.begin = on_begin,
					     .call = on_call,
					     .dispatch = on_dispatch,
					     .copy = on_copy,
					     .allocation = on_allocation,
					     .sync = on_sync,
					     .marker = on_marker,
					     .comm = on_comm,
					     .counter = on_counter,
					     .sample = on_sample,
					     .heap = on_heap,
					     .device_sample = on_device_sample,
					     .kernel_line = on_kernel_line,
					     .other = on_other,
					     .loss = on_loss,
					     .open_call = on_open_call,
					     .unfinished = on_unfinished,
					     .end = on_end,
					     .brief = true,
					     .fields = reads_fields,
					     .lists = true,
					     .whole = true,
					     .from = INT64_MIN,
					     .to = INT64_MAX},
				    .next = next};
	if (next)
		stream_sink_complete(next);
}
