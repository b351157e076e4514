/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See model.h. The reader uses protobuf-c and nothing of the writer but its schema;
 * tests/golden/perfetto_check.py does the same without either.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/activity/activity.h"
#include "wire/defs.h"

static kymo_enum_value_t status_values[] = {{"CL_INVALID_VALUE", -30}, {"CL_SUCCESS", 0}};
static kymo_enum_value_t flag_values[] = {{"CL_MEM_READ_WRITE", 1}, {"CL_MEM_READ_ONLY", 4}};
static struct t_enum_set sets[] = {{"status", status_values, 2}, {"cl_mem_flags", flag_values, 2}};
static struct t_field enqueue_fields[] = {
	{"command_queue", "cl_command_queue", NULL, KYMO_KIND_HANDLE, 0, 8, 0, 0},
	{"work_dim", "cl_uint", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0, 0},
	{"global_work_size", "const size_t *", NULL, KYMO_KIND_ARRAY, KYMO_KIND_UNSIGNED, 8, 0, 0},
	{"text", "const char *", NULL, KYMO_KIND_STRING, 0, 1, 0, 0},
	{"delta", "cl_int", NULL, KYMO_KIND_SIGNED, 0, 4, 0, 0},
};
static struct t_field create_fields[] = {
	{"flags", "cl_mem_flags", &sets[1], KYMO_KIND_FLAGS, 0, 8, 0, 0},
	{"status", "cl_int", &sets[0], KYMO_KIND_ENUM, 0, 4, 0, 0},
};
static struct t_domain domains[] = {
	{"", ""},           {"opencl", "OpenCL"},          {"dispatch", "Dispatches"},
	{"copy", "Copies"}, {"allocation", "Allocations"}, {"sync", "Waits"}};
static struct t_op ops[] = {
	{.name = ""},
	{.name = "clEnqueueNDRangeKernel",
	 .domain = 1,
	 .flags = KYMO_OP_SUBMITS,
	 .status_set = &sets[0],
	 .field_count = 5,
	 .fields = enqueue_fields},
	{.name = "clCreateBuffer",
	 .domain = 1,
	 .number = 1,
	 .status_set = &sets[0],
	 .field_count = 2,
	 .fields = create_fields},
	{.name = "kernel", .domain = 2},
	{.name = "read", .domain = 3, .number = COPY_OP_READ, .status_set = &sets[0]},
	{.name = "allocate", .domain = 4, .number = ALLOCATION_OP_ALLOCATE},
	{.name = "free", .domain = 4, .number = ALLOCATION_OP_FREE},
	{.name = "finish", .domain = 5, .number = SYNC_OP_QUEUE},
};
static struct t_process processes[] = {{.pid = 0},
				       {.pid = 4711,
					.rank = 3,
					.exe = "/usr/bin/heat",
					.argv = "heat -n 10",
					.hostname = "node7",
					.start = ORIGIN,
					.end = ORIGIN + 1000000,
					.realtime_offset = 1700000000000000000ll}};
static struct t_thread threads[] = {
	{0},
	{.process = 1, .index = 1, .tid = 4711, .main = true, .name = ""},
	{.process = 1, .index = 2, .tid = 4712, .name = "worker"}};
static struct t_agent agents[] = {
	{.type = "", .name = "", .label = ""},
	{.process = 1, .type = "gpu", .name = "Device X", .label = "Device X"}};
static struct t_device_context contexts[] = {{0}, {.process = 1, .domain = "opencl"}};
static struct t_queue queues[] = {
	{.name = "", .label = ""},
	{.process = 1, .agent = 1, .context = 1, .number = 0, .label = "queue 0"},
	{.process = 1,
	 .agent = 1,
	 .context = 1,
	 .number = 1,
	 .flags = QUEUE_OUT_OF_ORDER,
	 .label = "queue 1"}};
static struct t_kernel kernels[] = {
	{.name = ""}, {.process = 1, .name = "step"}, {.process = 1, .name = "reduce"}};
static struct t_module modules[] = {{.path = ""}};
static struct t_site sites[] = {{0},
				{.process = 1, .function = "main", .file = "heat.c", .line = 42},
				{.process = 1, .function = "inner"}};
static uint32_t stack_sites[] = {SITE_INNER, SITE_MAIN};
static struct t_stack stacks[] = {{0}, {.process = 1, .count = 2, .sites = stack_sites}};
static struct t_note notes[] = {{0},
				{.process = 1,
				 .severity = 2,
				 .part = "opencl",
				 .text = "profiling was forced on",
				 .count = 3,
				 .time = ORIGIN + 5}};
static struct t_open_call open_calls[] = {
	{0}, {.thread = THREAD_WORKER, .op = OP_CREATE, .id = 900, .start = ORIGIN + 500}};

#define SET(t, name) (t).name = name, (t).name##_count = sizeof(name) / sizeof(*name)

const struct trace *model_trace(void)
{
	static struct trace t;

	t.path = "hand-made";
	t.command = "heat -n 10";
	t.origin = ORIGIN;
	t.end = ORIGIN + 1000000;
	SET(t, domains);
	SET(t, ops);
	SET(t, processes);
	SET(t, threads);
	SET(t, agents);
	SET(t, contexts);
	SET(t, queues);
	SET(t, kernels);
	SET(t, modules);
	SET(t, sites);
	SET(t, stacks);
	SET(t, notes);
	SET(t, open_calls);
	return &t;
}

/* ---- reading back ------------------------------------------------------------------------- */

struct raw_event {
	int64_t time;
	size_t order;
	uint32_t sequence;
	const Pf__TrackEvent *event;
};

static int compare(const void *a, const void *b)
{
	const struct raw_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static Pf__Trace *unpack(const char *path, uint64_t *bytes)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	Pf__Trace *t = NULL;
	long size;

	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	data = malloc((size_t)size + 1);
	if (data && fread(data, 1, (size_t)size, f) == (size_t)size)
		t = pf__trace__unpack(NULL, (size_t)size, data);
	*bytes = (uint64_t)size;
	free(data);
	fclose(f);
	return t;
}

/* Absolute time of an event by the rules of the clock snapshots. */
static int64_t time_of(struct drawn *d, const Pf__TracePacket *p, int64_t clocks[8])
{
	if (p->timestamp > INT64_MAX)
		d->broken++;
	if (p->has_timestamp_clock_id)
		return (int64_t)p->timestamp;
	clocks[p->trusted_packet_sequence_id] += (int64_t)p->timestamp;
	return clocks[p->trusted_packet_sequence_id];
}

static size_t collect(struct drawn *d, struct raw_event *out)
{
	int64_t clocks[8] = {0};
	bool begun[8] = {false};
	size_t i, n = 0;

	for (i = 0; i < d->trace->n_packet; i++) {
		const Pf__TracePacket *p = d->trace->packet[i];
		uint32_t s = p->trusted_packet_sequence_id;

		if (s == 0 || s >= 8 || ((p->sequence_flags & 2) && !begun[s]))
			d->broken++;
		if (p->sequence_flags & 1)
			begun[s] = true;
		if (p->clock_snapshot)
			clocks[s] = (int64_t)p->clock_snapshot->clocks[0]->timestamp;
		if (p->track_event)
			out[n] = (struct raw_event){time_of(d, p, clocks), n, s, p->track_event},
			n++;
	}
	return n;
}

static void count_flow(struct drawn *d, const Pf__TrackEvent *e, const struct raw_event *events,
		       size_t i)
{
	size_t k;

	/* The writer gives calls and device work the same id: a pair is a later use of it. */
	for (k = 0; e->n_flow_ids && k < i; k++) {
		if (events[k].event->n_flow_ids && events[k].event->flow_ids[0] == e->flow_ids[0]) {
			d->flow_pairs++;
			return;
		}
	}
}

static void draw_end(struct drawn *d, const struct raw_event *e)
{
	size_t i;

	for (i = d->slice_count; i-- > 0;) {
		if (d->slices[i].track == e->event->track_uuid && d->slices[i].end == INT64_MAX) {
			d->slices[i].end = e->time;
			return;
		}
	}
	d->broken++;
}

static unsigned open_on(const struct drawn *d, uint64_t track)
{
	size_t i;
	unsigned n = 0;

	for (i = 0; i < d->slice_count; i++)
		n += d->slices[i].track == track && d->slices[i].end == INT64_MAX;
	return n;
}

static void draw(struct drawn *d, const struct raw_event *e)
{
	struct drawn_slice s = {e->event->track_uuid, e->time, INT64_MAX, 0, e->event, e->sequence};

	if (!drawn_track(d, s.track))
		d->broken++;
	switch (e->event->type) {
	case PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN:
		s.depth = open_on(d, s.track);
		d->slices[d->slice_count++] = s;
		break;
	case PF__TRACK_EVENT__TYPE__TYPE_SLICE_END:
		draw_end(d, e);
		break;
	case PF__TRACK_EVENT__TYPE__TYPE_INSTANT:
		d->instants[d->instant_count++] = s;
		break;
	case PF__TRACK_EVENT__TYPE__TYPE_COUNTER:
		d->points[d->point_count++] = s;
		break;
	default:
		d->broken++;
	}
}

struct drawn *drawn_read(const char *path)
{
	struct drawn *d = calloc(1, sizeof(*d));
	struct raw_event *events;
	size_t i, n;

	d->trace = unpack(path, &d->bytes);
	if (!d->trace) {
		free(d);
		return NULL;
	}
	events = calloc(d->trace->n_packet + 1, sizeof(*events));
	d->slices = calloc(d->trace->n_packet + 1, sizeof(*d->slices));
	d->instants = calloc(d->trace->n_packet + 1, sizeof(*d->instants));
	d->points = calloc(d->trace->n_packet + 1, sizeof(*d->points));
	n = collect(d, events);
	qsort(events, n, sizeof(*events), compare);
	for (i = 0; i < n; i++) {
		draw(d, &events[i]);
		count_flow(d, events[i].event, events, i);
	}
	free(events);
	return d;
}

void drawn_free(struct drawn *d)
{
	pf__trace__free_unpacked(d->trace, NULL);
	free(d->slices);
	free(d->instants);
	free(d->points);
	free(d);
}

const Pf__TrackDescriptor *drawn_track(const struct drawn *d, uint64_t uuid)
{
	size_t i;

	for (i = 0; i < d->trace->n_packet; i++) {
		const Pf__TrackDescriptor *t = d->trace->packet[i]->track_descriptor;

		if (t && t->uuid == uuid)
			return t;
	}
	return NULL;
}

enum kind { NAMES, CATEGORIES, ANNOTATIONS, STRINGS };

static const char *find(const Pf__InternedData *in, enum kind kind, uint64_t iid)
{
	size_t i;

	for (i = 0; kind == NAMES && i < in->n_event_names; i++)
		if (in->event_names[i]->iid == iid)
			return in->event_names[i]->name;
	for (i = 0; kind == CATEGORIES && i < in->n_event_categories; i++)
		if (in->event_categories[i]->iid == iid)
			return in->event_categories[i]->name;
	for (i = 0; kind == ANNOTATIONS && i < in->n_debug_annotation_names; i++)
		if (in->debug_annotation_names[i]->iid == iid)
			return in->debug_annotation_names[i]->name;
	for (i = 0; kind == STRINGS && i < in->n_debug_annotation_string_values; i++) {
		static char text[4][512];
		static unsigned at;
		const ProtobufCBinaryData *b = &in->debug_annotation_string_values[i]->str;

		if (in->debug_annotation_string_values[i]->iid != iid)
			continue;
		at = (at + 1) % 4;
		snprintf(text[at], sizeof(text[at]), "%.*s", (int)b->len, (const char *)b->data);
		return text[at];
	}
	return NULL;
}

static const char *interned(const struct drawn *d, uint32_t sequence, enum kind kind, uint64_t iid)
{
	size_t i;

	for (i = 0; i < d->trace->n_packet; i++) {
		const Pf__TracePacket *p = d->trace->packet[i];
		const char *text = NULL;

		if (p->interned_data && p->trusted_packet_sequence_id == sequence)
			text = find(p->interned_data, kind, iid);
		if (text)
			return text;
	}
	return "(unknown)";
}

const char *drawn_name(const struct drawn *d, const struct drawn_slice *s)
{
	if (s->event->name_field_case == PF__TRACK_EVENT__NAME_FIELD_NAME)
		return s->event->name;
	return interned(d, s->sequence, NAMES, s->event->name_iid);
}

const Pf__DebugAnnotation *drawn_annotation(const struct drawn *d, const struct drawn_slice *s,
					    const char *name)
{
	size_t i;

	for (i = 0; i < s->event->n_debug_annotations; i++) {
		const Pf__DebugAnnotation *a = s->event->debug_annotations[i];

		if (!strcmp(interned(d, s->sequence, ANNOTATIONS, a->name_iid), name))
			return a;
	}
	return NULL;
}

const char *drawn_text(const struct drawn *d, const struct drawn_slice *s,
		       const Pf__DebugAnnotation *a)
{
	if (!a)
		return "(absent)";
	if (a->value_case == PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE)
		return a->string_value;
	if (a->value_case != PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID)
		return "(not a text)";
	return interned(d, s->sequence, STRINGS, a->string_value_iid);
}

bool drawn_has_category(const struct drawn *d, const struct drawn_slice *s, const char *category)
{
	size_t i;

	for (i = 0; i < s->event->n_category_iids; i++) {
		if (!strcmp(interned(d, s->sequence, CATEGORIES, s->event->category_iids[i]),
			    category))
			return true;
	}
	return false;
}
