/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and copies on queues, in order of their device start. What overlaps on a queue goes to a
 * further location of the same group. Waits of the host show on the queues they were for as
 * barriers: from the last end of work before to the start of the first work after the wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/otf2/otf2.h"
#include "record/fields.h"
#include "stream/demangle.h"
#include "stream/names.h"

#define CONFIGURATIONS_MAX 65536u

static const char devices_unknown[] = "waits for a device that is not told",
		  configurations[] = "launch configurations", graphs[] = "numbers of graphs",
		  empty_barriers[] = "barriers without time: the clocks contradict";

/* ---- barriers ------------------------------------------------------------------------------ */

static void add_wait(struct otf2 *w, uint32_t queue, const struct rec_sync *r)
{
	bool implied = w->t->ops[r->base.op].number == SYNC_OP_BLOCKING;
	struct queue_state *q = &w->queue_states[queue];
	struct pending *p;

	if (q->pending_count && !q->op_since) {
		p = &q->pending[q->pending_count - 1];
		p->last_h0 = r->base.start;
		p->h1 = r->base.end > p->h1 ? r->base.end : p->h1;
		p->count++;
		p->implied = p->implied && implied;
		return;
	}
	if (!vec_reserve(&q->pending, &q->pending_room, q->pending_count, 1)) {
		archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return;
	}
	p = &q->pending[q->pending_count++];
	*p = (struct pending){r->correlation, r->base.start, r->base.end, r->base.start, 1,
			      implied};
	q->op_since = false;
}

/* Which device is waited for is not told; where the process has one, it is that. */
static void device_wait(struct otf2 *w, const struct rec_sync *r)
{
	const struct trace *t = w->t;
	uint32_t agent = 0;

	for (uint32_t i = 1; i < t->queues_count; i++) {
		if (t->queues[i].process != r->base.process || !w->queue_states[i].used)
			continue;
		if (agent && t->queues[i].agent != agent) {
			unplaced_leave(&w->unplaced, devices_unknown, 1, 1);
			return;
		}
		agent = t->queues[i].agent;
	}
	for (uint32_t i = 1; i < t->queues_count; i++) {
		if (t->queues[i].process == r->base.process && w->queue_states[i].used)
			add_wait(w, i, r);
	}
}

void queue_waited(struct otf2 *w, const struct rec_sync *r)
{
	uint32_t op = w->t->ops[r->base.op].number;

	if (r->base.end < r->base.start)
		return;
	if (op == SYNC_OP_DEVICE)
		device_wait(w, r);
	else if ((op == SYNC_OP_QUEUE || op == SYNC_OP_BLOCKING) && r->queue &&
		 r->queue < w->t->queues_count)
		add_wait(w, r->queue, r);
}

/* Region of the barriers of a queue. */
static uint32_t barrier_region(struct otf2 *w, uint32_t queue, bool implied)
{
	uint32_t *known = &w->queue_states[queue].barrier[implied];

	if (!*known)
		*known = 1 + archive_region(&w->archive, implied ? "IMPLICIT SYNC" : "STREAM SYNC",
					    NULL,
					    implied ? OTF2_REGION_ROLE_IMPLICIT_BARRIER
						    : OTF2_REGION_ROLE_BARRIER,
					    define_paradigm(w->t->queues[queue].domain), ON_DEVICE);
	return *known - 1;
}

/* One for the first `n` waits that are pending. */
static void write_barrier(struct otf2 *w, uint32_t queue, uint32_t n, int64_t end)
{
	const struct pending *p = w->queue_states[queue].pending;
	struct queue_state *q = &w->queue_states[queue];
	int64_t begin = q->used ? q->last_end : p->h0;
	struct row *row = &w->queues[queue];
	uint32_t region, location, count = 0;
	bool implied = true;

	if (row->count && row->lanes[0].last > begin)
		begin = row->lanes[0]
				.last; /* as of work without times, which stands where it was submitted */
	if (end <= begin) {
		unplaced_add(&w->unplaced, empty_barriers, 1);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		count += p[i].count;
		implied = implied && p[i].implied;
	}
	region = barrier_region(w, queue, implied);
	location = row_location(w, row);
	add_u64(w, ATTRIBUTE_CORRELATION_ID, p->correlation);
	archive_check(&w->archive,
		      OTF2_AttributeList_AddUint32(w->attributes, ATTRIBUTE_SYNC_COUNT, count));
	write_enter(w, location, begin, region);
	write_leave(w, location, end, region);
	row->lanes[0].last = end;
}

/* Work comes after a wait if it was submitted after it, or meanwhile by another thread and starts
 * after it. */
static bool comes_after(const struct rec_device *d, const struct pending *p)
{
	return d->submit ? d->submit >= p->h1 || (d->submit >= p->last_h0 && d->start >= p->h1)
			 : d->start >= p->h1;
}

/* Barriers before work that begins now on the queue. */
static void before_work(struct otf2 *w, uint32_t queue, const struct rec_device *d)
{
	struct queue_state *q = &w->queue_states[queue];
	uint32_t n = 0;

	while (n < q->pending_count && comes_after(d, &q->pending[n]))
		n++;
	if (n) {
		write_barrier(w, queue, n, d->start);
		q->pending_count -= n;
		memmove(q->pending, q->pending + n, q->pending_count * sizeof(*q->pending));
	}
	q->op_since = true;
}

static void after_work(struct otf2 *w, uint32_t queue, int64_t end)
{
	struct queue_state *q = &w->queue_states[queue];

	q->last_end = q->used && q->last_end > end ? q->last_end : end;
	q->used = true;
}

/* Waits that nothing came after. */
void queue_end(struct otf2 *w)
{
	for (uint32_t i = 1; i < w->t->queues_count; i++) {
		struct queue_state *q = &w->queue_states[i];

		if (q->pending_count && q->used &&
		    q->pending[q->pending_count - 1].h1 > q->last_end)
			write_barrier(w, i, q->pending_count, q->pending[q->pending_count - 1].h1);
	}
}

/* ---- work ---------------------------------------------------------------------------------- */

struct work {
	const struct rec *rec;
	const struct rec_device *device;
	uint32_t queue, region;
	int64_t start, end;
	struct row *row;
	struct lane *lane;
};

/* Finds its place and adds what all work says. */
static bool begin_work(struct otf2 *w, struct work *k, uint32_t agent)
{
	const struct rec_device *d = k->device;
	uint8_t flags = d->causal_violation ? FLAG_EARLY : 0;
	bool timed = device_timed(d) && d->end >= d->start;

	k->start = timed ? d->start : d->submit ? d->submit : k->rec->start;
	k->end = timed ? d->end : k->start;
	if (k->start < 0)
		flags |= FLAG_MOVED;
	k->row = row_of_queue(w, k->rec->process, agent, k->queue);
	if (k->queue && k->queue < w->t->queues_count && timed)
		before_work(w, k->queue, d);
	k->lane = row_open(w, k->row, k->start, k->end, false);
	if (!k->lane)
		return false;
	if (d->correlation)
		add_u64(w, ATTRIBUTE_CORRELATION_ID, d->correlation);
	if (!timed) {
		flags |= FLAG_UNTIMED;
		add_u8(w, ATTRIBUTE_UNTIMED,
		       (uint8_t)(d->untimed ? d->untimed : UNTIMED_IMPOSSIBLE));
	}
	if (flags)
		add_u8(w, ATTRIBUTE_FLAGS, flags);
	if (d->status)
		add_status(w, d->status);
	if (d->queued > 0)
		add_u64(w, ATTRIBUTE_QUEUED, (uint64_t)d->queued);
	if (d->submitted > 0)
		add_u64(w, ATTRIBUTE_SUBMITTED, (uint64_t)d->submitted);
	return true;
}

static void end_work(struct otf2 *w, struct work *k)
{
	write_leave(w, k->lane->location, k->end, k->region);
	k->lane->last = k->end;
	if (k->queue && k->queue < w->t->queues_count && device_timed(k->device))
		after_work(w, k->queue, k->end);
}

static void add_graph(struct otf2 *w, uint64_t graph, uint64_t n, uint64_t launch)
{
	if (!graph)
		return;
	add_u64(w, ATTRIBUTE_PARENT, launch);
	add_u64(w, ATTRIBUTE_GRAPH_NODE, n);
}

/* ---- kernels ------------------------------------------------------------------------------- */

static uint32_t region_of_kernel(struct otf2 *w, const struct rec_dispatch *r)
{
	uint32_t kernel = r->kernel < w->t->kernels_count ? r->kernel : 0;
	const struct t_kernel *k = &w->t->kernels[kernel];
	const char *name = k->name && *k->name ? k->name : "(unknown kernel)";
	const struct role *role;
	char *plain;

	if (w->kernel_regions[kernel])
		return w->kernel_regions[kernel] - 1;
	role = define_role(w, r->base.op);
	plain = demangle(name);
	w->kernel_regions[kernel] =
		1 + archive_region(&w->archive, plain ? plain : name, name,
				   role ? role->role : OTF2_REGION_ROLE_FUNCTION,
				   define_paradigm(k->domain ? k->domain : ""), ON_DEVICE);
	free(plain);
	return w->kernel_regions[kernel] - 1;
}

static size_t put_size(char *out, size_t room, const char *name, const uint64_t v[3], unsigned dims)
{
	int n = snprintf(out, room, "%s %llu", name, (unsigned long long)v[0]);

	for (unsigned i = 1; i < dims; i++)
		n += snprintf(out + n, room - (size_t)n, "x%llu", (unsigned long long)v[i]);
	return (size_t)n;
}

static uint32_t configuration_text(struct otf2 *w, const struct rec_dispatch *r)
{
	const struct rec_launch *l = &r->launch;
	unsigned dims = r->dims > 3 ? 3 : r->dims ? r->dims : 1;
	char text[400];
	size_t n = put_size(text, sizeof(text), "global", r->global, dims);

	if (r->local[0])
		n += put_size(text + n, sizeof(text) - n, ", local", r->local, dims);
	if (r->offset[0] | r->offset[1] | r->offset[2])
		n += put_size(text + n, sizeof(text) - n, ", offset", r->offset, dims);
	if (l->cluster[0])
		n += put_size(text + n, sizeof(text) - n, ", cluster",
			      (const uint64_t[]){l->cluster[0], l->cluster[1], l->cluster[2]}, 3);
	if (rec_launch_is_set(l))
		snprintf(text + n, sizeof(text) - n,
			 ", registers %llu, shared %llu + %llu, local memory %llu",
			 (unsigned long long)l->registers, (unsigned long long)l->static_shared,
			 (unsigned long long)l->dynamic_shared,
			 (unsigned long long)l->local_memory);
	return archive_string(&w->archive, text);
}

static void take_configuration(const struct rec_dispatch *r, struct configuration *c)
{
	const struct rec_launch *l = &r->launch;
	const uint64_t own[] = {r->dims,         l->registers,  l->static_shared, l->dynamic_shared,
				l->local_memory, l->cluster[0], l->cluster[1],    l->cluster[2]};

	memcpy(c->words, r->global, sizeof(r->global));
	memcpy(c->words + 3, r->local, sizeof(r->local));
	memcpy(c->words + 6, r->offset, sizeof(r->offset));
	memcpy(c->words + 9, own, sizeof(own));
}

/* Most kernels are launched as the one before them. */
static bool is_configuration(const struct rec_dispatch *r, const struct configuration *c)
{
	const uint64_t *v = c->words, *own = v + 9;
	const struct rec_launch *l = &r->launch;
	uint64_t differs = 0;

	for (int i = 0; i < 3; i++)
		differs |= (v[i] ^ r->global[i]) | (v[3 + i] ^ r->local[i]) |
			   (v[6 + i] ^ r->offset[i]) | (own[5 + i] ^ l->cluster[i]);
	differs |= (own[0] ^ r->dims) | (own[1] ^ l->registers) | (own[2] ^ l->static_shared);
	return !(differs | (own[3] ^ l->dynamic_shared) | (own[4] ^ l->local_memory));
}

/* Its place + 1; 0: there are too many. */
static uint64_t find_configuration(struct otf2 *w, const struct rec_dispatch *r)
{
	struct configuration c;
	uint64_t hash, i;

	if (w->last_configuration &&
	    is_configuration(r, &w->configurations[w->last_configuration - 1]))
		return w->last_configuration;
	take_configuration(r, &c);
	hash = hash_add(HASH_START, c.words, sizeof(c.words));
	map_each(&w->configuration_places, hash, i) {
		if (memcmp(w->configurations[i - 1].words, c.words, sizeof(c.words)) == 0)
			return i;
	}
	if (w->configuration_count >= CONFIGURATIONS_MAX ||
	    !vec_reserve(&w->configurations, &w->configuration_room, w->configuration_count, 1) ||
	    !map_add(&w->configuration_places, hash, w->configuration_count + 1u))
		return 0;
	c.string = configuration_text(w, r);
	w->configurations[w->configuration_count++] = c;
	return w->configuration_count;
}

/* One string for each different way of launching: events refer to it. */
static void add_configuration(struct otf2 *w, const struct rec_dispatch *r)
{
	uint64_t place = r->global[0] ? find_configuration(w, r) : 0;

	unplaced_add(&w->unplaced, graphs, r->launch.graph != 0);
	if (!r->global[0])
		return;
	if (!place) {
		unplaced_add(&w->unplaced, configurations, 1);
		return;
	}
	w->last_configuration = (uint32_t)place;
	archive_check(&w->archive,
		      OTF2_AttributeList_AddStringRef(w->attributes, ATTRIBUTE_CONFIGURATION,
						      w->configurations[place - 1].string));
}

kymo_status_t queue_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	struct otf2 *w = otf2_of(s);
	struct work k = {.rec = &r->base, .device = &r->device, .queue = r->queue};

	k.region = region_of_kernel(w, r);
	if (!begin_work(w, &k, r->agent))
		return otf2_status(w);
	add_configuration(w, r);
	add_graph(w, r->launch.graph, r->launch.graph_node, r->device.correlation);
	write_enter(w, k.lane->location, k.start, k.region);
	end_work(w, &k);
	return otf2_status(w);
}

/* ---- copies -------------------------------------------------------------------------------- */

static uint32_t memory_space(struct otf2 *w, const struct rec_copy *r, uint32_t agent)
{
	const struct trace *t = w->t;
	const struct t_queue *q = &t->queues[r->queue < t->queues_count ? r->queue : 0];

	if (!agent || agent >= t->agents_count)
		return define_process_group(w, r->base.process);
	return define_accelerator(w, agent, q->agent == agent ? q->context : 0);
}

static void add_space(struct otf2 *w, enum otf2_attribute a, uint32_t group)
{
	OTF2_AttributeValue v = {.locationGroupRef = group};

	archive_check(&w->archive, OTF2_AttributeList_AddAttribute(w->attributes, a,
								   OTF2_TYPE_LOCATION_GROUP, v));
}

/* Bytes of what is no transfer are an attribute of the region. */
static bool transfers(uint32_t op)
{
	return op == COPY_OP_READ || op == COPY_OP_WRITE || op == COPY_OP_COPY ||
	       op == COPY_OP_MIGRATE;
}

/* The other side of a transfer: the submitting thread, a location of another device, or itself. */
static uint32_t other_side(struct otf2 *w, const struct rec_copy *r, const struct work *k,
			   uint32_t agent, uint32_t other)
{
	if (!other)
		return row_location(w, row_of_thread(w, r->base.process, r->base.thread));
	if (other == agent || other >= w->t->agents_count)
		return k->lane->location;
	return row_location(w, &w->agents[other]);
}

static void write_transfer(struct otf2 *w, const struct rec_copy *r, struct work *k, uint32_t agent)
{
	const struct trace *t = w->t;
	bool gets = r->destination_agent == agent && r->destination_agent;
	uint32_t queue = r->queue < t->queues_count ? r->queue : 0;
	OTF2_Paradigm p =
		define_paradigm(queue ? t->queues[queue].domain : t->agents[agent].domain);
	uint32_t window = window_of(w, r->base.process, p);
	uint32_t other = other_side(w, r, k, agent, gets ? r->source_agent : r->destination_agent);
	uint32_t remote = window_rank(w, window, other);
	OTF2_EvtWriter *e = archive_events(&w->archive, k->lane->location);

	window_rank(w, window, k->lane->location);
	add_space(w, ATTRIBUTE_SPACE_SOURCE, memory_space(w, r, r->source_agent));
	add_space(w, ATTRIBUTE_SPACE_DESTINATION, memory_space(w, r, r->destination_agent));
	archive_check(&w->archive,
		      (gets ? OTF2_EvtWriter_RmaGet : OTF2_EvtWriter_RmaPut)(
			      e, w->attributes, otf2_time(k->start), w->mpi_windows + window,
			      remote, r->bytes, r->device.correlation));
	archive_check(&w->archive, OTF2_EvtWriter_RmaOpCompleteBlocking(e, NULL, otf2_time(k->end),
									w->mpi_windows + window,
									r->device.correlation));
}

static void add_text(struct otf2 *w, enum otf2_attribute a, const char *text)
{
	archive_check(&w->archive, OTF2_AttributeList_AddStringRef(
					   w->attributes, a, archive_string(&w->archive, text)));
}

/* And of migrations and faults: where, why, how many. */
static void add_memory_kinds(struct otf2 *w, const struct rec_copy *r)
{
	if (r->source_kind)
		add_text(w, ATTRIBUTE_SOURCE_KIND, name_memory_kind(r->source_kind));
	if (r->destination_kind)
		add_text(w, ATTRIBUTE_DESTINATION_KIND, name_memory_kind(r->destination_kind));
	if (r->address)
		add_u64(w, ATTRIBUTE_ADDRESS, r->address);
	if (r->cause)
		add_text(w, ATTRIBUTE_CAUSE, name_migration_cause(r->cause));
	if (r->faults)
		add_u64(w, ATTRIBUTE_FAULTS, r->faults);
}

kymo_status_t queue_copy(struct stream_sink *s, const struct rec_copy *r)
{
	struct otf2 *w = otf2_of(s);
	struct work k = {.rec = &r->base, .device = &r->device, .queue = r->queue};
	uint32_t agent = copy_agent(w->t, r), op = w->t->ops[r->base.op].number;
	const char *domain;

	domain = r->queue && r->queue < w->t->queues_count ? w->t->queues[r->queue].domain
							   : w->t->agents[agent].domain;
	k.region = archive_region(&w->archive, w->t->ops[r->base.op].name, NULL,
				  OTF2_REGION_ROLE_DATA_TRANSFER,
				  define_paradigm(domain ? domain : ""), ON_DEVICE);
	if (!begin_work(w, &k, agent))
		return otf2_status(w);
	add_u8(w, ATTRIBUTE_SUBMISSION_MODE, r->blocking ? MODE_WAITS : MODE_SUBMITS);
	unplaced_add(&w->unplaced, graphs, r->graph != 0);
	add_graph(w, r->graph, r->graph_node, r->device.correlation);
	if (!transfers(op))
		add_u64(w, ATTRIBUTE_BYTES, r->bytes);
	add_memory_kinds(w, r);
	write_enter(w, k.lane->location, k.start, k.region);
	if (transfers(op))
		write_transfer(w, r, &k, agent);
	end_work(w, &k);
	return otf2_status(w);
}

/* A region without length, where it was submitted. */
kymo_status_t queue_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	struct otf2 *w = otf2_of(s);
	struct row *row = row_of_queue(w, u->process, u->agent, u->queue);
	uint32_t region;
	struct lane *l;

	if (u->unlisted) {
		unplaced_leave(&w->unplaced,
			       "commands never seen to finish, of which nothing is known",
			       u->unlisted, 1);
		return KYMO_OK;
	}
	l = row_open(w, row, u->submit, u->submit, false);
	if (!l)
		return otf2_status(w);
	region = define_op_region(w, u->op);
	add_u64(w, ATTRIBUTE_CORRELATION_ID, u->id);
	add_u8(w, ATTRIBUTE_FLAGS, FLAG_UNFINISHED);
	write_enter(w, l->location, u->submit, region);
	write_leave(w, l->location, u->submit, region);
	return otf2_status(w);
}
