/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Perfetto format: a stream sink that writes a .pftrace file for ui.perfetto.dev and
 * trace_processor. This file holds the sink itself and the host side; see writer.h for the layout.
 *
 * Times are CLOCK_MONOTONIC_RAW nanoseconds, as in the stream, declared as the trace's primary
 * clock; a clock snapshot ties them to realtime.
 */
#include "formats/perfetto/reader.h"
#include "formats/perfetto/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/value.h"
#include "stream/names.h"
#include "stream/reference.h"
#include "stream/spool.h"
#include "record/show_perfetto.inc"
#include "stream/trace.h"

#define SLICE   PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
#define INSTANT PF__TRACK_EVENT__TYPE__TYPE_INSTANT

static struct perfetto *self(struct stream_sink *s)
{
	return (struct perfetto *)s;
}

/* The failure of the file, said once with what the system said. */
static kymo_status_t file_status(struct perfetto *p)
{
	if (p->file.status == KYMO_ERROR_SYSTEM)
		stream_error(p->log, "%s: cannot write: %s", p->path ? p->path : "standard output",
			     strerror(p->file.error));
	return p->file.status;
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	struct perfetto *p = self(s);
	kymo_status_t status;

	p->trace = t;
	status = tracks_init(p);
	if (!status)
		parts_use(p, &p->host);
	return status ? status : file_status(p);
}

static const char *domain_name(const struct trace *t, uint32_t op)
{
	return t->domains[t->ops[op].domain].name;
}

/* A call that never returned: a begin without an end, which viewers draw as such. */
static kymo_status_t on_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct perfetto *p = self(s);
	const struct trace *t = p->trace;
	uint32_t track = track_of_thread(p, 0, c->thread);
	uint64_t uuid;

	if (p->device_only)
		return KYMO_OK;
	timeline_reach(p, &p->host, c->start);
	uuid = lane_open(p, &p->host, track, c->start, INT64_MAX, true);
	packet_begin(&p->packet, &p->host, uuid ? SLICE : INSTANT, c->start,
		     uuid ? uuid : track + 1);
	packet_name(&p->packet, t->ops[c->op].name);
	packet_category(&p->packet, domain_name(t, c->op));
	packet_add_text(&p->packet, "end", "still open when the process ended");
	packet_add_uint(&p->packet, "correlation", c->id);
	if (t->ops[c->op].flags & KYMO_OP_SUBMITS)
		packet_flow(&p->packet, flow_id(t->threads[c->thread].process, c->id));
	slice_end_of_begin(p);
	return file_status(p);
}

/* Begins the event of a host interval, as a slice where that can be drawn. */
static void begin_interval(struct perfetto *p, const struct rec *r, bool instant)
{
	uint32_t track = track_of_thread(p, r->process, r->thread);
	bool drawable = r->start >= 0 && r->end >= r->start;
	uint64_t uuid = 0;

	if (drawable && !instant)
		uuid = lane_open(p, &p->host, track, r->start, r->end, true);
	packet_begin(&p->packet, &p->host, uuid ? SLICE : INSTANT, r->start < 0 ? 0 : r->start,
		     uuid ? uuid : track + 1);
	if (uuid || instant)
		return;
	packet_add_text(&p->packet, "not_drawn",
			drawable       ? "too many at once to draw"
			: r->start < 0 ? "starts before the zero of the clock"
				       : "ends before it starts");
	packet_add_int(&p->packet, "start_ns", r->start);
	packet_add_int(&p->packet, "duration_ns", r->end - r->start);
}

static void write_host(struct perfetto *p, const struct rec *r)
{
	const struct t_op *op = &p->trace->ops[r->op];

	timeline_reach(p, &p->host, r->start);
	begin_interval(p, r, r->end == r->start && !r->id); /* instants are activities */
	packet_name(&p->packet, op->name);
	packet_category(&p->packet, domain_name(p->trace, r->op));
	annotate_record(p, r);
	if (r->id && (op->flags & KYMO_OP_SUBMITS)) {
		packet_flow(&p->packet, flow_id(r->process, r->id));
		p->parts.expected += p->packet.bare ? WORK_BYTES_BARE : WORK_BYTES;
	}
}

/* Calls, and activities of domains this writer knows nothing of. */
static kymo_status_t on_record(struct stream_sink *s, const struct rec *r)
{
	struct perfetto *p = self(s);

	if (r->id && p->trace->ops[r->op].flags & KYMO_OP_SUBMITS)
		around_call(&p->around, r);
	if (p->device_only)
		return KYMO_OK;
	write_host(p, r);
	slice_end_of_begin(p);
	return file_status(p);
}

/* A range of one thread nests with its calls; one that others may end is the process's. */
static kymo_status_t on_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct perfetto *p = self(s);
	struct rec base = r->base;

	if (r->scope)
		around_range(&p->around, r);
	if (p->device_only)
		return KYMO_OK;
	if (r->starter)
		base.thread = 0;
	timeline_reach(p, &p->host, base.start);
	begin_interval(p, &base, !r->scope);
	marker_put_name(p, r);
	annotate_marker(p, r);
	slice_end_of_begin(p);
	return file_status(p);
}

static kymo_status_t on_sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct perfetto *p = self(s);
	struct rec base = r->base;
	char *text;

	if (p->device_only)
		return KYMO_OK;
	base.wire = NULL; /* its fields are references; written by name here */
	write_host(p, &base);
	if (r->correlation)
		packet_add_uint(&p->packet, "correlation", r->correlation);
	if (r->count)
		packet_add_uint(&p->packet, "events", r->count);
	if (r->event)
		packet_add_pointer(&p->packet, "event", r->event);
	text = packet_room(&p->packet, 256);
	if (text && r->queue && r->queue < p->trace->queues_count) {
		queue_name(p, r->queue, text, 256);
		packet_add_text(&p->packet, "queue", text);
	}
	show_sync(&p->packet, p->trace, r);
	slice_end_of_begin(p);
	return file_status(p);
}

/* "send to 3"; the other side is a rank of the world. */
static const char *comm_name(struct perfetto *p, const struct rec_comm *r)
{
	const char *op = p->trace->ops[r->base.op].name;
	char *text = r->peer >= 0 ? packet_room(&p->packet, 64) : NULL;

	if (!text)
		return op;
	snprintf(text, 64, "%.32s %s %" PRId32, op,
		 strcmp(op, "receive") == 0 || strcmp(op, "get") == 0 ? "from"
		 : strcmp(op, "collective") == 0                      ? "with root"
								      : "to",
		 r->peer);
	return text;
}

static void annotate_comm(struct perfetto *p, const struct rec_comm *r)
{
	const struct t_communicator *c = &p->trace->communicators[r->communicator];

	packet_add_uint(&p->packet, "sent", r->sent);
	packet_add_uint(&p->packet, "received", r->received);
	if (r->tag >= 0)
		packet_add_int(&p->packet, "tag", r->tag);
	if (r->datatype)
		packet_add_text(&p->packet, "datatype", p->trace->strings[r->datatype].text);
	if (r->communicator) {
		packet_add_text(&p->packet, "communicator", *c->name ? c->name : "(no name)");
		packet_add_uint(&p->packet, "communicator_size", c->size);
	}
	packet_add_uint(&p->packet, "correlation", r->correlation);
	if (r->request)
		packet_add_uint(&p->packet, "request", r->request);
	if (r->completed_by)
		packet_add_uint(&p->packet, "completed_by", r->completed_by);
	if (r->state)
		packet_add_text(&p->packet, "state",
				r->state == 1   ? "cancelled"
				: r->state == 2 ? "freed"
						: "never completed");
	show_comm(&p->packet, p->trace, r);
}

/* A receive may begin before the send of its message, but does not end before. */
static void tie_message(struct perfetto *p, const struct rec_comm *r)
{
	bool receives = strcmp(p->trace->ops[r->base.op].name, "receive") == 0;

	if (r->match && receives && p->opened)
		p->opened->flow = flow_of_message(r->match);
	else if (r->match)
		packet_flow(&p->packet, flow_of_message(r->match));
}

static kymo_status_t on_comm(struct stream_sink *s, const struct rec_comm *r)
{
	struct perfetto *p = self(s);

	if (p->device_only)
		return KYMO_OK;
	timeline_reach(p, &p->host, r->base.start);
	begin_interval(p, &r->base, false);
	packet_name(&p->packet, comm_name(p, r));
	packet_category(&p->packet, domain_name(p->trace, r->base.op));
	tie_message(p, r);
	annotate_comm(p, r);
	slice_end_of_begin(p);
	return file_status(p);
}

static kymo_status_t on_dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	return device_dispatch(self(s), r);
}

static kymo_status_t on_copy(struct stream_sink *s, const struct rec_copy *r)
{
	return device_copy(self(s), r);
}

static void annotate_allocation(struct perfetto *p, const struct rec_allocation *r)
{
	const struct trace *t = p->trace;
	struct packet *k = &p->packet;
	char *device = r->agent && r->agent < t->agents_count ? packet_room(k, 256) : NULL;

	packet_add_uint(k, "bytes", r->bytes);
	packet_add_text(k, "what", name_allocation_what(r->what));
	packet_add_text(k, "memory", name_memory_kind(r->kind));
	if (device) {
		agent_name(p, r->agent, device, 256);
		packet_add_text(k, "device", device);
	}
	if (r->context && r->context < t->contexts_count)
		packet_add_pointer(k, "context", t->contexts[r->context].handle);
	if (r->address)
		packet_add_pointer(k, "address", r->address);
	if (r->allocation)
		packet_add_uint(k, "allocation", r->allocation);
	if (r->parent)
		packet_add_uint(k, "part of", r->parent);
	if (r->correlation)
		packet_add_uint(k, "correlation", r->correlation);
}

/* What is in use is a curve beside it. */
static kymo_status_t on_allocation(struct stream_sink *s, const struct rec_allocation *r)
{
	struct perfetto *p = self(s);
	kymo_status_t status = device_allocation(p, r);

	if (status || p->device_only)
		return status;
	timeline_reach(p, &p->host, r->base.start);
	begin_interval(p, &r->base, true);
	packet_name(&p->packet, p->trace->ops[r->base.op].name);
	packet_category(&p->packet, domain_name(p->trace, r->base.op));
	annotate_allocation(p, r);
	slice_end_of_begin(p);
	return file_status(p);
}

static kymo_status_t on_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct perfetto *p = self(s);

	if (!kernel_values_add(&p->kernel_values, p->trace, r))
		return KYMO_ERROR_NO_MEMORY;
	return values_draws(p, r) ? values_add(p, r) : on_record(s, &r->base);
}

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct perfetto *p = self(s);
	kymo_status_t status;

	if (p->device_only)
		return KYMO_OK;
	status = r->lost ? on_record(s, &r->base) : stacks_sample(p, r);
	return status == KYMO_ERROR_SYSTEM ? file_status(p) : status;
}

static kymo_status_t on_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct perfetto *p = self(s);
	uint32_t track = track_of_thread(p, r->process, r->thread);
	int64_t time = r->after > 0 ? r->after : r->before;

	p->packet.bare = false; /* this is no argument of a call */
	parts_use(p, &p->host);
	packet_begin(&p->packet, &p->host, INSTANT, time > 0 ? time : 0, track + 1);
	packet_name(&p->packet, "records lost");
	packet_category(&p->packet, "loss");
	if (r->count)
		packet_add_uint(&p->packet, "count", r->count);
	else
		packet_add_text(&p->packet, "count", "not known: whole chunks are missing");
	packet_add_int(&p->packet, "within_ns", r->before - r->after);
	slice_end_of_begin(p);
	p->packet.bare = p->no_args;
	return file_status(p);
}

static void write_note(struct perfetto *p, const struct t_note *n)
{
	static const char *const severities[] = {"", "info", "warning", "error"};
	const struct trace *t = p->trace;
	uint32_t track = track_of_process(p, n->process);
	int64_t time = n->time > 0 ? n->time : t->origin > 0 ? t->origin : 0;

	parts_go(p, time);
	parts_use(p, &p->host);
	packet_begin(&p->packet, &p->host, INSTANT, time, track + 1);
	packet_name(&p->packet, n->text ? n->text : "note");
	packet_category(&p->packet, "note");
	if (n->severity && n->severity < 4)
		packet_add_text(&p->packet, "severity", severities[n->severity]);
	if (n->part && *n->part)
		packet_add_text(&p->packet, "part", n->part);
	if (n->count > 1)
		packet_add_uint(&p->packet, "count", n->count);
	slice_end_of_begin(p);
}

static const char *how_text(uint32_t how)
{
	static const char *const texts[] = {"finished", "exited without finishing the trace",
					    "killed by a signal", "replaced by exec",
					    "recording stopped first"};

	return how < sizeof(texts) / sizeof(*texts) ? texts[how] : "not known";
}

/* The numbers every trace carries: losses, what was not traced or timed, the clock's error. */
static void write_process_end(struct perfetto *p, uint32_t i)
{
	const struct t_process *t = &p->trace->processes[i];
	struct packet *k = &p->packet;
	int64_t time = t->end > 0 ? t->end : p->trace->end > 0 ? p->trace->end : 0;
	Pf__DebugAnnotation *a;

	parts_go(p, time);
	parts_use(p, &p->host);
	packet_begin(k, &p->host, INSTANT, time, track_of_process(p, i) + 1);
	packet_name(k, "end of process");
	packet_category(k, "note");
	packet_add_text(k, "how", how_text(t->how_ended));
	packet_add_int(k, "exit_status", t->exit_status);
	packet_add_uint(k, "lost_records", t->lost_records);
	packet_add_uint(k, "lost_definitions", t->lost_definitions);
	packet_add_uint(k, "untraced_calls", t->untraced_calls);
	packet_add_uint(k, "untimed", t->untimed);
	packet_add_uint(k, "damaged_blocks", t->damaged_blocks);
	if (t->unlisted)
		packet_add_uint(k, "commands never seen to finish that are not shown", t->unlisted);
	a = packet_annotation(k, "clock_error_ns");
	if (a)
		packet_set_double(a, t->clock_error_ns);
	packet_end(k);
}

/* How many are not listed is with the end of the process. */
static kymo_status_t on_unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	return u->unlisted ? KYMO_OK : device_unfinished(self(s), u);
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct perfetto *p = self(s);
	kymo_status_t status = KYMO_OK;
	uint32_t i;

	p->trace = t;
	timeline_reach(p, &p->host, INT64_MAX);
	p->packet.bare = false; /* what is said here is no argument of a call */
	for (i = 1; i < t->notes_count; i++)
		write_note(p, &t->notes[i]);
	for (i = 1; i < t->processes_count; i++)
		write_process_end(p, i);
	p->packet.bare = p->no_args;
	for (i = 0; i < t->pauses_count && !status; i++)
		if (t->pauses[i].end > t->pauses[i].start)
			status = device_pause(p, &t->pauses[i]);
	if (!status)
		status = device_finish(p);
	if (status == KYMO_ERROR_SYSTEM)
		spool_tell(p->log, errno);
	packet_flush(&p->file);
	if (!status)
		status = file_status(p);
	unplaced_tell(&p->unplaced, p->log, "Perfetto has no place for");
	p->finished = status == KYMO_OK;
	return status;
}

/* ---- life --------------------------------------------------------------------------------- */

static kymo_status_t init_spools(struct perfetto *p)
{
	char *directory = spool_directory_of(p->path, false);
	kymo_status_t status = directory ? device_init(p, directory) : KYMO_ERROR_NO_MEMORY;

	free(directory);
	return status;
}

/* A file that was not finished is no use to anybody and is removed. */
static void perfetto_free(struct stream_sink *s)
{
	struct perfetto *p = self(s);

	parts_finish(p);
	parts_release(p);
	tracks_release(p);
	spool_release(&p->work);
	spool_release(&p->points);
	live_release(&p->live);
	live_release(&p->kinds);
	free(p->kinds_seen);
	around_release(&p->around);
	stacks_release(&p->stacks);
	packet_sequence_release(&p->sample);
	values_release(p);
	kernel_values_release(&p->kernel_values);
	packet_sequence_release(&p->host);
	packet_sequence_release(&p->device);
	packet_sequence_release(&p->counter);
	free(p->file.buffer);
	free(p->path);
	free(p);
}

static kymo_status_t perfetto_write(const struct format_options *o, struct stream_sink **sink)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	kymo_status_t status;

	if (!p)
		return KYMO_ERROR_NO_MEMORY;
	p->work.fd = p->points.fd = -1;
	p->log = o->log;
	p->device_only = o->device_only;
	p->by_device = o->by_device;
	p->packet.file = &p->file;
	p->sink = (struct stream_sink){.begin = on_begin,
				       .call = on_record,
				       .dispatch = on_dispatch,
				       .copy = on_copy,
				       .allocation = on_allocation,
				       .sync = on_sync,
				       .marker = on_marker,
				       .counter = on_counter,
				       .comm = on_comm,
				       .sample = on_sample,
				       .other = on_record,
				       .loss = on_loss,
				       .open_call = on_open_call,
				       .unfinished = on_unfinished,
				       .end = on_end,
				       .unplaced = &p->unplaced,
				       .matches = true};
	p->packet.bare = p->no_args = o->no_args;
	status = parts_init(p, o);
	if (!status)
		status = init_spools(p);
	if (status) {
		perfetto_free(&p->sink);
		return status;
	}
	*sink = &p->sink;
	return KYMO_OK;
}

static const struct format_kind kinds[] = {{"sample", FORMAT_KEEPS_PART, "weights of samples",
					    "profile_packet.proto, PerfSample: no weight"},
					   {"*", FORMAT_KEEPS_ALL, NULL, NULL},
					   {0}};

const struct format format_perfetto = {
	.name = "perfetto",
	.summary = "timeline for ui.perfetto.dev and trace_processor (protobuf); reads those of "
		   "rocprofiler-systems, rocprofv3, iprof and the SDK, without ftrace",
	.has_rows = true,
	.splits = true,
	.leaves_args = true,
	.suffix = ".pftrace",
	.needs_order = true,
	.probe = pfread_probe,
	.read = pfread_read,
	.kinds = kinds,
	.write = perfetto_write,
	.sink_free = perfetto_free,
};
