/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side: calls, with what they submit or wait for; waits; ranges and marks; what was
 * still open when its process ended; losses and pauses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/otf2/otf2.h"
#include "record/fields.h"

#define NAMES_MAX 65536u /* regions of ranges whose names are texts of their own */

static const char crossing[] = "intervals without sound times",
		  names[] = "names of ranges beyond 65,536 different ones";

/* ---- the queue of a call ------------------------------------------------------------------- */

static bool names_queue(const struct t_field *f)
{
	static const char *const types[] = {"cl_command_queue",
					    "cudaStream_t",
					    "CUstream",
					    "hipStream_t",
					    "ze_command_queue_handle_t",
					    "ze_command_list_handle_t"};

	for (size_t i = 0; f->type && i < sizeof(types) / sizeof(*types); i++) {
		if (strcmp(f->type, types[i]) == 0)
			return true;
	}
	return f->reference == REFERENCE_QUEUE;
}

static uint64_t queue_key(uint32_t process, uint64_t handle)
{
	return hash_mix(hash_u64(process), handle);
}

bool host_init(struct otf2 *w)
{
	const struct trace *t = w->t;

	w->queue_fields = malloc(t->ops_count * sizeof(*w->queue_fields));
	w->wait_fields = malloc(t->ops_count * sizeof(*w->wait_fields));
	if (!w->queue_fields || !w->wait_fields)
		return false;
	for (uint32_t i = 0; i < t->ops_count; i++) {
		const struct t_op *op = &t->ops[i];

		w->queue_fields[i] = w->wait_fields[i] = -1;
		for (uint32_t f = op_own_fields(op); f-- > 0;) {
			if (names_queue(&op->fields[f]))
				w->queue_fields[i] = (int32_t)f;
			if (strncmp(op->fields[f].name, "blocking_", 9) == 0)
				w->wait_fields[i] = (int32_t)f;
		}
	}
	for (uint32_t i = 1; i < t->queues_count; i++) {
		const struct t_queue *q = &t->queues[i];

		if (!map_set(&w->queue_handles, queue_key(q->process, q->handle), i))
			return false;
	}
	return true;
}

static uint32_t queue_of_value(struct otf2 *w, const struct rec *r, const struct t_field *field,
			       const struct wire_value *value)
{
	if (field->reference == REFERENCE_QUEUE)
		return value->u < w->t->queues_count ? (uint32_t)value->u : 0;
	return (uint32_t)map_get(&w->queue_handles, queue_key(r->process, value->u));
}

struct submission {     /* what arguments say of it */
	uint32_t queue; /* 0: not known */
	uint8_t mode;   /* 0: not known */
};

static struct submission submission_of(struct otf2 *w, const struct rec *r)
{
	bool may_wait = w->t->ops[r->op].flags & KYMO_OP_WAITS;
	int32_t queue = w->queue_fields[r->op], wait = w->wait_fields[r->op];
	struct submission s = {.mode = may_wait ? MODE_UNKNOWN : MODE_SUBMITS};
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields f;

	if ((queue < 0 && wait < 0) || !r->wire)
		return s;
	rec_fields_init(&f, w->t, r);
	for (int32_t i = 0; (i <= queue || i <= wait) && rec_fields_next(&f, &field, &value); i++) {
		if (value.present && i == queue)
			s.queue = queue_of_value(w, r, field, &value);
		if (value.present && i == wait && may_wait)
			s.mode = value.u ? MODE_WAITS : MODE_SUBMITS;
	}
	return s;
}

/* ---- calls --------------------------------------------------------------------------------- */

static void add_submission(struct otf2 *w, const struct rec *r)
{
	const struct t_op *op = &w->t->ops[r->op];
	const struct role *role = w->op_roles[r->op];
	struct submission s;

	add_u64(w, ATTRIBUTE_CORRELATION_ID, r->id);
	if (!(op->flags & KYMO_OP_SUBMITS))
		return;
	s = submission_of(w, r);
	add_u8(w, ATTRIBUTE_SUBMISSION_MODE, s.mode);
	add_u8(w, ATTRIBUTE_TASK_KIND, role ? role->task : TASK_OTHER);
	if (s.queue)
		add_location(w, ATTRIBUTE_QUEUE, row_location(w, &w->queues[s.queue]));
}

/* Its Enter and, when it is over, its Leave; NULL: it has no sound times. */
static struct lane *begin(struct otf2 *w, struct row *row, const struct rec *r, uint32_t region)
{
	struct lane *l = r->end >= r->start ? row_open(w, row, r->start, r->end, true) : NULL;
	struct open o = {.end = r->end, .id = r->id, .region = region, .op = r->op};

	if (!l) {
		unplaced_leave(&w->unplaced, crossing, 1, 1);
		return NULL;
	}
	write_enter(w, l->location, r->start, region);
	lane_push(w, l, &o);
	return l;
}

/* What any record may say of itself. */
static void add_common(struct otf2 *w, const struct rec *r)
{
	details_add_path(w, r);
	if (r->external)
		add_u64(w, ATTRIBUTE_EXTERNAL_ID, r->external);
	if (!r->ok)
		add_status(w, r->status);
}

kymo_status_t host_call(struct stream_sink *s, const struct rec *r)
{
	struct otf2 *w = otf2_of(s);
	const struct t_op *op = &w->t->ops[r->op];
	uint32_t region = define_op_region(w, r->op);
	struct row *row;
	struct lane *l;

	if (w->device_only)
		return KYMO_OK;
	if (op->flags & (KYMO_OP_SUBMITS | KYMO_OP_WAITS | KYMO_OP_ALLOCATES))
		add_submission(w, r);
	add_common(w, r);
	row = row_of_thread(w, r->process, r->thread);
	l = begin(w, row, r, region);
	if (l && r->wire)
		details_arguments(w, r, l);
	if (l && w->openmp)
		openmp_entered(w, r, row, l);
	if (l && w->epochs)
		epochs_entered(w, r, row, l);
	return otf2_status(w);
}

kymo_status_t host_other(struct stream_sink *s, const struct rec *r)
{
	struct otf2 *w = otf2_of(s);
	uint32_t region = define_op_region(w, r->op);
	struct lane *l;

	if (w->device_only)
		return KYMO_OK;
	add_common(w, r);
	l = begin(w, row_of_thread(w, r->process, r->thread), r, region);
	if (l)
		details_arguments(w, r, l);
	return otf2_status(w);
}

kymo_status_t host_sync(struct stream_sink *s, const struct rec_sync *r)
{
	struct otf2 *w = otf2_of(s);
	struct row *row = row_of_thread(w, r->base.process, r->base.thread);
	uint32_t region = define_op_region(w, r->base.op);
	struct open *call;

	queue_waited(w, r);
	unplaced_add(&w->unplaced, "numbers of events waited for", r->count != 0);
	if (w->device_only)
		return KYMO_OK;
	if (r->correlation)
		add_u64(w, ATTRIBUTE_CORRELATION_ID, r->correlation);
	add_u8(w, ATTRIBUTE_SYNC_SCOPE, (uint8_t)(w->t->ops[r->base.op].number + 1));
	if (r->queue && r->queue < w->t->queues_count)
		add_location(w, ATTRIBUTE_QUEUE, row_location(w, &w->queues[r->queue]));
	begin(w, row, &r->base, region);
	call = row_find(row, r->correlation);
	if (call && w->t->ops[r->base.op].number == SYNC_OP_BLOCKING)
		call->waited = true;
	return otf2_status(w);
}

kymo_status_t host_open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct otf2 *w = otf2_of(s);
	const struct rec r = {.process = w->t->threads[c->thread].process,
			      .thread = c->thread,
			      .op = c->op,
			      .id = c->id,
			      .start = c->start,
			      .end = INT64_MAX,
			      .ok = true};

	if (w->device_only)
		return KYMO_OK;
	add_u64(w, ATTRIBUTE_CORRELATION_ID, c->id);
	add_u8(w, ATTRIBUTE_FLAGS, FLAG_UNFINISHED);
	begin(w, row_of_thread(w, r.process, r.thread), &r, define_op_region(w, c->op));
	return otf2_status(w);
}

/* ---- markers ------------------------------------------------------------------------------- */

static uint32_t region_of_text(struct otf2 *w, const char *text, size_t length)
{
	char name[512];

	if (w->archive.region_count >=
	    NAMES_MAX + w->t->ops_count + w->t->kernels_count + w->t->sites_count) {
		unplaced_add(&w->unplaced, names, 1);
		return archive_region(&w->archive, "range", NULL, OTF2_REGION_ROLE_CODE,
				      OTF2_PARADIGM_USER, ON_HOST);
	}
	snprintf(name, sizeof(name), "%.*s", (int)(length > 500 ? 500 : length), text);
	return archive_region(&w->archive, name, NULL, OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER,
			      ON_HOST);
}

static uint32_t region_of_marker(struct otf2 *w, const struct rec_marker *r)
{
	const struct t_string *s;

	if (!r->name || r->name >= w->t->strings_count)
		return r->text ? region_of_text(w, r->text, r->text_length)
			       : define_op_region(w, r->base.op);
	s = &w->t->strings[r->name];
	if (!w->name_regions[r->name])
		w->name_regions[r->name] = 1 + region_of_text(w, s->text, s->length);
	return w->name_regions[r->name] - 1;
}

static void add_name(struct otf2 *w, enum otf2_attribute a, uint32_t name)
{
	const struct t_string *s = &w->t->strings[name < w->t->strings_count ? name : 0];
	char text[512];

	if (!name)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)(s->length > 500 ? 500 : s->length), s->text);
	archive_check(&w->archive, OTF2_AttributeList_AddStringRef(
					   w->attributes, a, archive_string(&w->archive, text)));
}

static void add_marker(struct otf2 *w, const struct rec_marker *r)
{
	add_name(w, ATTRIBUTE_MARKER_DOMAIN, r->domain);
	add_name(w, ATTRIBUTE_MARKER_CATEGORY, r->category);
	if (r->color)
		archive_check(&w->archive,
			      OTF2_AttributeList_AddUint32(w->attributes, ATTRIBUTE_MARKER_COLOR,
							   r->color));
	if (r->left_open)
		add_u8(w, ATTRIBUTE_FLAGS, FLAG_UNFINISHED);
}

kymo_status_t host_marker(struct stream_sink *s, const struct rec_marker *r)
{
	struct otf2 *w = otf2_of(s);
	uint32_t region = region_of_marker(w, r);
	struct row *row = r->starter ? row_of_thread(w, r->base.process, 0)
				     : row_of_thread(w, r->base.process, r->base.thread);
	struct lane *l;

	if (w->device_only)
		return KYMO_OK;
	if (r->scope)
		archive_check(&w->archive, OTF2_AttributeList_AddInt64(w->attributes,
								       ATTRIBUTE_SCOPE, r->scope));
	add_common(w, &r->base);
	add_marker(w, r);
	l = begin(w, row, &r->base, region);
	if (l)
		details_payload(w, r, l);
	return otf2_status(w);
}

/* ---- what is missing ----------------------------------------------------------------------- */

/* Losses are known of when they are over; what was written meanwhile may lie in them. */
kymo_status_t host_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct otf2 *w = otf2_of(s);
	struct row *row = row_of_thread(w, r->process, r->thread);
	uint32_t location = row_location(w, row);
	int64_t from = r->after;

	row_advance(w, row, r->before);
	if (row->count && from < row->lanes[0].last) {
		from = row->lanes[0].last;
		add_u8(w, ATTRIBUTE_FLAGS, FLAG_MOVED);
	}
	add_u64(w, ATTRIBUTE_LOST, r->count);
	archive_check(&w->archive,
		      OTF2_EvtWriter_BufferFlush(archive_events(&w->archive, location),
						 w->attributes, otf2_time(from),
						 otf2_time(r->before > from ? r->before : from)));
	if (row->count)
		row->lanes[0].last = from;
	return otf2_status(w);
}

/* Of the main thread, which stands for all. */
void host_pauses(struct otf2 *w)
{
	const struct trace *t = w->t;

	for (uint32_t i = 0; i < t->pauses_count; i++) {
		const struct t_pause *p = &t->pauses[i];
		struct row *row = &w->processes[p->process];
		const struct point off = {.time = p->start, .kind = POINT_MEASURE, .a = 0};
		const struct point on = {.time = p->end, .kind = POINT_MEASURE, .a = 1};

		if (p->end <= p->start)
			continue;
		for (uint32_t j = 1; j < t->threads_count; j++) {
			if (t->threads[j].process == p->process && t->threads[j].main)
				row = &w->threads[j];
		}
		row_point(w, row, &off);
		row_point(w, row, &on);
	}
}
