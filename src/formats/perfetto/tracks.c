/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of tracks: process > threads, process > agent > queues, and counters beside what they
 * count. Ranks order it: threads first, then each agent with its queues and their counters.
 */
#include "formats/perfetto/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain.h"
#include "stream/names.h"
#include "wire/defs.h"

#define NAME_SIZE 256

enum { ORDER_EXPLICIT = 3, UNIT_COUNT = 2, UNIT_BYTES = 3, MERGE_NONE = 2, MERGE_BY_KEY = 3 };

static uint32_t first_thread(const struct trace *t)
{
	return t->processes_count ? t->processes_count : 1;
}

static uint32_t first_agent(const struct trace *t)
{
	return first_thread(t) + t->threads_count;
}

static uint32_t first_queue(const struct trace *t)
{
	return first_agent(t) + t->agents_count;
}

uint32_t track_of_process(const struct perfetto *p, uint32_t process)
{
	return process < p->trace->processes_count ? process : 0;
}

uint32_t track_of_thread(const struct perfetto *p, uint32_t process, uint32_t thread)
{
	if (thread == 0 || thread >= p->trace->threads_count)
		return track_of_process(p, process);
	return first_thread(p->trace) + thread;
}

uint32_t track_of_queue(const struct perfetto *p, uint32_t process, uint32_t agent, uint32_t queue)
{
	if (queue && queue < p->trace->queues_count)
		return first_queue(p->trace) + queue;
	if (agent && agent < p->trace->agents_count)
		return first_agent(p->trace) + agent;
	return track_of_process(p, process);
}

uint32_t track_of_pauses(const struct perfetto *p, uint32_t process)
{
	return first_queue(p->trace) + p->trace->queues_count + track_of_process(p, process);
}

void queue_name(const struct perfetto *p, uint32_t queue, char *out, size_t size)
{
	const struct t_queue *q = &p->trace->queues[queue];

	snprintf(out, size, "%s%s", q->label,
		 q->flags & QUEUE_OUT_OF_ORDER ? " (out of order)" : "");
}

void agent_name(const struct perfetto *p, uint32_t agent, char *out, size_t size)
{
	const struct t_agent *a = &p->trace->agents[agent];

	snprintf(out, size, "%s %s", *a->type ? a->type : "agent", a->label);
}

/* An escaped copy, so that viewers get text and nothing else. */
static char *plain_copy(const char *s)
{
	struct text t = {0};

	plain_add(&t, s ? s : "", s ? strlen(s) : 0);
	if (s && !t.failed && t.s)
		return t.s;
	text_release(&t);
	return s ? strdup("") : NULL;
}

static void write_packet(struct perfetto *p, Pf__TrackDescriptor *d)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = 1;
	packet.track_descriptor = d;
	packet_write(&p->file, &packet);
}

/*
 * Of siblings, only those of one `merge` (a track's uuid, not 0) are drawn as one: names cannot say
 * it, programs choose them.
 */
static void write_descriptor(struct perfetto *p, Pf__TrackDescriptor *d, uint64_t uuid,
			     uint64_t parent, const char *name, int32_t rank, uint64_t merge)
{
	d->has_uuid = 1;
	d->uuid = uuid;
	d->has_parent_uuid = parent != 0;
	d->parent_uuid = parent;
	d->name = plain_copy(name);
	d->has_sibling_order_rank = 1;
	d->sibling_order_rank = rank;
	d->has_sibling_merge_behavior = name != NULL;
	d->sibling_merge_behavior = merge ? MERGE_BY_KEY : MERGE_NONE;
	d->has_sibling_merge_key_int = merge != 0;
	d->sibling_merge_key_int = merge;
	write_packet(p, d);
	free(d->name);
}

/* ---- numbers of processes ------------------------------------------------------------------- */

#define PID_OWN (1 << 23) /* beyond all pids of Linux */
enum { ENDED_BY_EXEC = 3 };

/* What a process becomes by exec stays one process. */
static bool same_process(const struct t_process *a, const struct t_process *b)
{
	return a->how_ended == ENDED_BY_EXEC && strcmp(a->hostname, b->hostname) == 0;
}

/*
 * Readers take what has one pid for one process. So of those that have the pid of an earlier one, on
 * another node or in another container, each gets a number of its own.
 */
static bool number_processes(struct perfetto *p)
{
	const struct trace *t = p->trace;
	struct map first = {0}; /* by pid: the process that had it last */
	bool ok;

	p->pids = calloc(t->processes_count + 1, sizeof(*p->pids));
	ok = p->pids != NULL;
	for (uint32_t i = 1; ok && i < t->processes_count; i++) {
		const struct t_process *one = &t->processes[i];
		uint64_t other = map_get(&first, one->pid);

		p->pids[i] = other && !same_process(&t->processes[other], one)
				     ? (int32_t)(PID_OWN + i)
				     : (int32_t)one->pid;
		if (!other || p->pids[i] == (int32_t)one->pid)
			ok = map_set(&first, one->pid, i);
	}
	map_release(&first);
	return ok;
}

static bool renumbered(const struct perfetto *p, uint32_t process)
{
	return p->pids[process] != (int32_t)p->trace->processes[process].pid;
}

/* ---- descriptions --------------------------------------------------------------------------- */

static void describe_process(struct perfetto *p, uint32_t i)
{
	const struct t_process *t = &p->trace->processes[i];
	Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;
	Pf__ProcessDescriptor process = PF__PROCESS_DESCRIPTOR__INIT;
	char name[NAME_SIZE], rank[32], *cmdline = plain_copy(t->argv);
	char *labels[2], *host = plain_copy(t->hostname);

	if (t->rank != UINT32_MAX) {
		if (p->trace->worlds > 1)
			snprintf(rank, sizeof(rank), "rank %u.%u", t->world, t->rank);
		else
			snprintf(rank, sizeof(rank), "rank %u", t->rank);
		labels[process.n_process_labels++] = rank;
	} else if (t->of_rank != UINT32_MAX) {
		snprintf(rank, sizeof(rank), "of rank %u", t->of_rank);
		labels[process.n_process_labels++] = rank;
	}
	if (host && *host)
		labels[process.n_process_labels++] = host;
	process.process_labels = labels;
	snprintf(name, sizeof(name), "%s%s%s", name_program(t), t->rank != UINT32_MAX ? " " : "",
		 t->rank != UINT32_MAX ? rank : "");
	if (renumbered(p, i)) {
		size_t n = strlen(name);

		snprintf(name + n, sizeof(name) - n, " (pid %u%s%s)", t->pid,
			 *t->hostname ? " on " : "", t->hostname);
	}
	process.has_pid = 1;
	process.pid = p->pids[i];
	process.process_name = plain_copy(name);
	if (cmdline && *cmdline) {
		process.n_cmdline = 1;
		process.cmdline = &cmdline;
	}
	process.has_start_timestamp_ns = t->start > 0;
	process.start_timestamp_ns = t->start;
	process.has_legacy_sort_index = 1;
	process.legacy_sort_index = (int32_t)i;
	d.process = &process;
	d.has_child_ordering = 1;
	d.child_ordering = ORDER_EXPLICIT;
	write_descriptor(p, &d, track_of_process(p, i) + 1, 0, NULL, (int32_t)i, 0);
	free(process.process_name);
	free(cmdline);
	free(host);
}

static void name_of_thread(const struct perfetto *p, uint32_t i, char *out, size_t size)
{
	const struct t_thread *t = &p->trace->threads[i];

	if (t->name && *t->name)
		snprintf(out, size, "%s", t->name);
	else
		snprintf(out, size, t->main ? "main" : "thread %u", t->index);
}

/* The main thread is known by having the number of its process. */
uint32_t track_tid(const struct perfetto *p, uint32_t thread)
{
	const struct t_thread *t = &p->trace->threads[thread];

	if (t->tid == p->trace->processes[t->process].pid)
		return (uint32_t)p->pids[t->process];
	return t->tid;
}

static void describe_thread(struct perfetto *p, uint32_t i)
{
	const struct t_thread *t = &p->trace->threads[i];
	uint32_t process = track_of_process(p, t->process);
	Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;
	Pf__ThreadDescriptor thread = PF__THREAD_DESCRIPTOR__INIT;
	char name[NAME_SIZE];

	name_of_thread(p, i, name, sizeof(name));
	thread.has_pid = thread.has_tid = 1;
	thread.pid = p->pids[process];
	thread.tid = track_tid(p, i);
	thread.thread_name = plain_copy(name);
	thread.has_legacy_sort_index = 1;
	thread.legacy_sort_index = (int32_t)t->index;
	d.thread = &thread;
	write_descriptor(p, &d, track_of_thread(p, 0, i) + 1, process + 1, NULL, (int32_t)t->index,
			 0);
	free(thread.thread_name);
}

static void describe_agent(struct perfetto *p, uint32_t i)
{
	const struct t_agent *a = &p->trace->agents[i];
	Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;
	uint32_t parent = track_of_queue(p, a->process, a->parent, 0);
	char name[NAME_SIZE];

	agent_name(p, i, name, sizeof(name));
	d.has_child_ordering = 1;
	d.child_ordering = ORDER_EXPLICIT;
	write_descriptor(p, &d, first_agent(p->trace) + i + 1, parent + 1, name, (int32_t)i, 0);
}

/* Also of its further lanes, which are drawn as one track with it. */
static void describe_queue(struct perfetto *p, uint32_t i, uint64_t uuid)
{
	const struct t_queue *q = &p->trace->queues[i];
	Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;
	char name[NAME_SIZE];

	queue_name(p, i, name, sizeof(name));
	write_descriptor(p, &d, uuid, track_of_queue(p, q->process, q->agent, 0) + 1, name,
			 (int32_t)(2 * q->number), first_queue(p->trace) + i + 1);
}

void track_describe_lane(struct perfetto *p, uint32_t track, uint64_t uuid)
{
	const struct trace *t = p->trace;
	Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;
	char name[NAME_SIZE] = "overlapping";

	if (track >= first_queue(t) && track < first_queue(t) + t->queues_count) {
		describe_queue(p, track - first_queue(t), uuid);
		return;
	}
	if (track >= first_agent(t) && track < first_queue(t) && !p->by_device) {
		snprintf(name, sizeof(name), "without queue");
	} else if (track > first_thread(t) && track < first_agent(t)) {
		/* Not all viewers draw it below its thread. */
		name_of_thread(p, track - first_thread(t), name, sizeof(name) - 16);
		strcat(name, ", overlapping");
	}
	write_descriptor(p, &d, uuid, track + 1, name, 0, track + 1);
}

static void describe_root(struct perfetto *p)
{
	Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;

	d.has_process_ordering = d.has_thread_ordering = 1;
	d.process_ordering = d.thread_ordering = 1;
	write_descriptor(p, &d, 0, 0, NULL, 0, 0);
}

kymo_status_t tracks_init(struct perfetto *p)
{
	const struct trace *t = p->trace;

	p->track_count = first_queue(t) + t->queues_count + first_thread(t);
	p->next_uuid = p->track_count + 1;
	p->tracks = calloc(p->track_count + 1, sizeof(*p->tracks));
	p->counters[TRACK_OF_QUEUE] = calloc(t->queues_count + 1, sizeof(struct counter));
	p->counters[TRACK_OF_AGENT] = calloc(t->agents_count + 1, sizeof(struct counter));
	p->counters[TRACK_OF_CONTEXT] = calloc(t->contexts_count + 1, sizeof(struct counter));
	p->counters[TRACK_OF_KIND] =
		calloc((size_t)(t->agents_count + 1) * MEMORY_KINDS, sizeof(struct counter));
	p->kinds_seen = calloc(t->agents_count + 1, sizeof(*p->kinds_seen));
	if (!p->tracks || !p->counters[TRACK_OF_QUEUE] || !p->counters[TRACK_OF_AGENT] ||
	    !p->counters[TRACK_OF_CONTEXT] || !p->counters[TRACK_OF_KIND] || !p->kinds_seen)
		return KYMO_ERROR_NO_MEMORY;
	return number_processes(p) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static void describe_pauses(struct perfetto *p)
{
	const struct trace *t = p->trace;

	for (uint32_t i = 0, last = 0; i < t->pauses_count; i++) {
		uint32_t process = t->pauses[i].process;
		Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;

		if (process == last || !process || process >= t->processes_count)
			continue;
		last = process;
		write_descriptor(p, &d, track_of_pauses(p, process) + 1,
				 track_of_process(p, process) + 1, "recording", -1, 0);
	}
}

void tracks_describe(struct perfetto *p)
{
	const struct trace *t = p->trace;
	uint32_t i;

	describe_root(p);
	for (i = 1; i < t->processes_count; i++)
		describe_process(p, i);
	for (i = 1; i < t->threads_count; i++)
		if (!t->processes[t->threads[i].process].telemetry)
			describe_thread(p, i);
	for (i = 1; i < t->agents_count; i++)
		describe_agent(p, i);
	for (i = 1; !p->by_device && i < t->queues_count; i++)
		describe_queue(p, i, first_queue(t) + i + 1);
	describe_pauses(p);
}

static void release_lane(struct lane *l)
{
	for (uint32_t i = 0; i < l->depth; i++)
		free(l->open[i].name);
	free(l->open);
}

void tracks_release(struct perfetto *p)
{
	uint32_t i, k;

	for (i = 0; p->tracks && i < p->track_count; i++) {
		for (k = 0; k < p->tracks[i].lane_count; k++)
			release_lane(&p->tracks[i].lanes[k]);
		free(p->tracks[i].lanes);
	}
	for (i = 0; i < TRACK_OWNERS; i++)
		free(p->counters[i]);
	free(p->pids);
	free(p->tracks);
	free(p->ends);
}

static void describe_counter(struct perfetto *p, uint64_t uuid, uint32_t parent, const char *name,
			     uint32_t unit, int32_t rank)
{
	Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;
	Pf__CounterDescriptor c = PF__COUNTER_DESCRIPTOR__INIT;

	c.has_unit = 1;
	c.unit = unit;
	d.counter = &c;
	write_descriptor(p, &d, uuid, parent + 1, name, rank, 0);
}

void track_describe_value(struct perfetto *p, uint64_t uuid, uint32_t parent, const char *name,
			  const char *unit, int32_t rank)
{
	Pf__TrackDescriptor d = PF__TRACK_DESCRIPTOR__INIT;
	Pf__CounterDescriptor c = PF__COUNTER_DESCRIPTOR__INIT;

	if (strcmp(unit, "bytes") == 0) {
		c.has_unit = 1;
		c.unit = UNIT_BYTES;
	} else if (*unit) {
		c.unit_name = plain_copy(unit);
	} else {
		c.has_unit = 1;
		c.unit = UNIT_COUNT;
	}
	d.counter = &c;
	write_descriptor(p, &d, uuid, parent + 1, name, rank, 0);
	free(c.unit_name);
}

static void describe_set(struct perfetto *p, enum track_owner set, uint32_t i, uint64_t uuid)
{
	const struct trace *t = p->trace;
	char name[NAME_SIZE];

	if (set == TRACK_OF_QUEUE) {
		const struct t_queue *q = &t->queues[i];

		snprintf(name, sizeof(name), "%.200s outstanding", q->label);
		describe_counter(p, uuid, track_of_queue(p, q->process, q->agent, 0), name,
				 UNIT_COUNT, (int32_t)(2 * q->number + 1));
	} else if (set == TRACK_OF_AGENT) {
		describe_counter(p, uuid, first_agent(t) + i, PERFETTO_IN_USE, UNIT_BYTES,
				 -MEMORY_KINDS);
	} else if (set == TRACK_OF_KIND) {
		snprintf(name, sizeof(name), PERFETTO_IN_USE " (%s)",
			 name_memory_kind(i % MEMORY_KINDS));
		describe_counter(p, uuid, first_agent(t) + i / MEMORY_KINDS, name, UNIT_BYTES,
				 (int32_t)(i % MEMORY_KINDS) - MEMORY_KINDS + 1);
	} else {
		const char *user = t->contexts[i].name;

		snprintf(name, sizeof(name), PERFETTO_IN_USE ", context %u%s%.200s%s", i,
			 user ? " \"" : "", user ? user : "", user ? "\"" : "");
		describe_counter(p, uuid, track_of_process(p, t->contexts[i].process), name,
				 UNIT_BYTES, (int32_t)i);
	}
}

struct counter *track_counter(struct perfetto *p, enum track_owner set, uint32_t index)
{
	struct counter *c = &p->counters[set][index];

	if (!c->uuid)
		c->uuid = p->next_uuid++;
	if (c->described != p->parts.now + 1)
		describe_set(p, set, index, c->uuid);
	c->described = p->parts.now + 1;
	return c;
}
