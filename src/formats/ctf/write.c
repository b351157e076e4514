/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's sink; see writer.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/ctf/read.h"
#include "formats/ctf/writer.h"
#include "stream/output.h"

/* ---- records --------------------------------------------------------------------------------- */

static void put_context(const struct ctf_writer *w, bt_event *e, const struct rec *r)
{
	bt_field *context = bt_event_borrow_common_context_field(e);

	bt_field_integer_signed_set_value(
		bt_field_structure_borrow_member_field_by_index(context, 0),
		(int32_t)w->t->processes[r->process].pid);
	bt_field_integer_signed_set_value(
		bt_field_structure_borrow_member_field_by_index(context, 1),
		(int32_t)w->t->threads[r->thread].tid);
}

static kymo_status_t put_record(struct ctf_writer *w, enum ctf_kind kind, const struct rec *r,
				int64_t time)
{
	bt_event_class *class = ctf_class_of_op(w, kind, r->op);
	bt_message *m = ctf_graph_event(w, r->process % CTF_STREAMS, class, time);
	uint64_t at = 1;
	bt_field *payload;
	bt_event *e;

	w->ended_with.records++;
	if (!m)
		return ctf_graph_failed(w);
	e = bt_message_event_borrow_event(m);
	payload = bt_event_borrow_payload_field(e);
	put_context(w, e, r);
	bt_field_integer_unsigned_set_value(
		bt_field_structure_borrow_member_field_by_index(payload, 0), kind);
	ctf_put_members(payload, &at, &ctf_base_table, r);
	if (ctf_device_offset[kind])
		ctf_put_members(payload, &at, &ctf_device_table,
				(const char *)r + ctf_device_offset[kind]);
	ctf_put_members(payload, &at, &ctf_kind_tables[kind], r);
	if (!ctf_kind_tables[kind].count && op_own_fields(&w->t->ops[r->op]))
		ctf_put_arguments(w, bt_field_structure_borrow_member_field_by_index(payload, at),
				  r);
	return ctf_graph_push(w, m);
}

static int64_t device_time(const struct rec *r, const struct rec_device *d)
{
	return device_timed(d) ? d->start : r->start;
}

static kymo_status_t call(struct stream_sink *s, const struct rec *r)
{
	return ctf_writer_of(s)->o.device_only
		       ? KYMO_OK
		       : put_record(ctf_writer_of(s), CTF_KIND_CALL, r, r->start);
}

static kymo_status_t other(struct stream_sink *s, const struct rec *r)
{
	return ctf_writer_of(s)->o.device_only
		       ? KYMO_OK
		       : put_record(ctf_writer_of(s), CTF_KIND_OTHER, r, r->start);
}

static kymo_status_t dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	return put_record(ctf_writer_of(s), CTF_KIND_DISPATCH, &r->base,
			  device_time(&r->base, &r->device));
}

static kymo_status_t copy(struct stream_sink *s, const struct rec_copy *r)
{
	return put_record(ctf_writer_of(s), CTF_KIND_COPY, &r->base,
			  device_time(&r->base, &r->device));
}

#define HOST_KIND(K, name)                                                                         \
	static kymo_status_t on_##name(struct stream_sink *s, const struct rec_##name *r)          \
	{                                                                                          \
		return ctf_writer_of(s)->o.device_only                                             \
			       ? KYMO_OK                                                           \
			       : put_record(ctf_writer_of(s), CTF_KIND_##K, &r->base,              \
					    r->base.start);                                        \
	}
HOST_KIND(ALLOCATION, allocation)
HOST_KIND(SYNC, sync)
HOST_KIND(MARKER, marker)
HOST_KIND(COMM, comm)
HOST_KIND(COUNTER, counter)
HOST_KIND(SAMPLE, sample)
#undef HOST_KIND

static kymo_status_t device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	return put_record(ctf_writer_of(s), CTF_KIND_DEVICE_SAMPLE, &r->base, r->base.start);
}

/* An event of its own, and the counter that all tools look at. */
static kymo_status_t loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct ctf_writer *w = ctf_writer_of(s);
	const struct rec place = {.process = r->process, .thread = r->thread};
	unsigned stream = r->process % CTF_STREAMS;
	bt_message *m =
		ctf_graph_event(w, stream, ctf_class_of_table(w, &ctf_loss_table), r->before);
	uint64_t at = 0;
	bt_event *e;

	if (!m)
		return ctf_graph_failed(w);
	e = bt_message_event_borrow_event(m);
	put_context(w, e, &place);
	ctf_put_members(bt_event_borrow_payload_field(e), &at, &ctf_loss_table, r);
	if (ctf_graph_push(w, m) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	return ctf_graph_lost(w, stream, r->count);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static kymo_status_t define(struct ctf_writer *w, const struct ctf_table *table, uint32_t index,
			    const void *s)
{
	bt_message *m = ctf_graph_event(w, CTF_STREAMS, ctf_class_of_table(w, table), w->t->origin);
	uint64_t at = 1;
	bt_field *payload;

	if (!m)
		return ctf_graph_failed(w);
	payload = bt_event_borrow_payload_field(bt_message_event_borrow_event(m));
	bt_field_integer_unsigned_set_value(
		bt_field_structure_borrow_member_field_by_index(payload, 0), index);
	ctf_put_members(payload, &at, table, s);
	return ctf_graph_push(w, m);
}

static kymo_status_t open_call(struct stream_sink *s, const struct t_open_call *c)
{
	struct ctf_writer *w = ctf_writer_of(s);

	return w->o.device_only ? KYMO_OK : define(w, &ctf_lists[CTF_LIST_open_calls].table, 0, c);
}

/* How many are not listed is with the processes. */
static kymo_status_t unfinished(struct stream_sink *s, const struct t_unfinished *u)
{
	return u->unlisted ? KYMO_OK
			   : define(ctf_writer_of(s), &ctf_lists[CTF_LIST_unfinished].table, 0, u);
}

static kymo_status_t define_list(struct ctf_writer *w, const struct ctf_list *l)
{
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 1; i < ctf_list_count(w->t, l) && status == KYMO_OK; i++)
		status = define(w, &l->table, i, ctf_list_element(w->t, l, i));
	return status;
}

/* Number of a set of names, whose values come with its first mention. */
static kymo_status_t define_set(struct ctf_writer *w, const struct t_enum_set *set,
				uint32_t *number)
{
	uint64_t key = (uint64_t)(uintptr_t)set;
	kymo_status_t status = KYMO_OK;

	*number = set ? (uint32_t)map_get(&w->sets, key) : 0;
	if (!set || *number)
		return KYMO_OK;
	*number = w->sets.count + 1;
	if (!map_set(&w->sets, key, *number))
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < set->count && status == KYMO_OK; i++) {
		const struct ctf_value v = {*number, set->name ? set->name : "",
					    set->values[i].name, set->values[i].value};

		status = define(w, &ctf_value_table, i, &v);
	}
	return status;
}

static kymo_status_t define_fields(struct ctf_writer *w, uint32_t number)
{
	const struct t_op *op = &w->t->ops[number];
	kymo_status_t status = KYMO_OK;
	struct ctf_op_field row = {.op = number, .name = "", .type = "", .kind = 0};

	/* Names of statuses: no kind. */
	if (op->status_set) {
		status = define_set(w, op->status_set, &row.set);
		if (status == KYMO_OK)
			status = define(w, &ctf_op_field_table, 0, &row);
	}
	for (uint32_t i = 0; i < op->field_count && status == KYMO_OK; i++) {
		const struct t_field *f = &op->fields[i];

		row = (struct ctf_op_field){.op = number,
					    .name = f->name,
					    .type = f->type ? f->type : "",
					    .kind = f->kind,
					    .element = f->element,
					    .size = f->size,
					    .flags = f->flags,
					    .reference = f->reference};
		status = define_set(w, f->set, &row.set);
		if (status == KYMO_OK)
			status = define(w, &ctf_op_field_table, i + 1, &row);
	}
	return status;
}

static kymo_status_t define_all(struct ctf_writer *w)
{
	kymo_status_t status = define(w, &ctf_trace_table, 0, w->t);

	for (unsigned i = 0; i < CTF_LIST_COUNT && status == KYMO_OK; i++)
		if (i != CTF_LIST_open_calls && i != CTF_LIST_unfinished)
			status = define_list(w, &ctf_lists[i]);
	for (uint32_t i = 1; i < w->t->ops_count && status == KYMO_OK; i++)
		status = define_fields(w, i);
	return status == KYMO_OK ? define(w, &ctf_end_table, 0, &w->ended_with) : status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct ctf_writer *w = ctf_writer_of(s);

	w->t = t;
	return ctf_graph_describe(w) ? KYMO_OK : ctf_graph_failed(w);
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct ctf_writer *w = ctf_writer_of(s);
	kymo_status_t status;

	w->t = t;
	status = define_all(w);
	if (status == KYMO_OK)
		status = ctf_graph_end(w);
	if (t->tallies_count > 1)
		unplaced_add(&w->unplaced, "rows of tallies", t->tallies_count - 1u);
	if (t->loads_count > 1)
		unplaced_add(&w->unplaced, "loads of merged ranks", t->loads_count - 1u);
	unplaced_tell(&w->unplaced, w->o.log, "the CTF writer has no event for");
	return status;
}

static void ctf_free(struct stream_sink *s)
{
	struct ctf_writer *w = ctf_writer_of(s);

	if (!s)
		return;
	ctf_graph_close(w);
	map_release(&w->classes);
	map_release(&w->sets);
	free(w->path);
	free(w);
}

static void set_functions(struct stream_sink *s)
{
	*s = (struct stream_sink){.begin = begin,
				  .call = call,
				  .dispatch = dispatch,
				  .copy = copy,
				  .allocation = on_allocation,
				  .sync = on_sync,
				  .marker = on_marker,
				  .comm = on_comm,
				  .counter = on_counter,
				  .sample = on_sample,
				  .device_sample = device_sample,
				  .other = other,
				  .loss = loss,
				  .open_call = open_call,
				  .unfinished = unfinished,
				  .end = end};
	s->matches = true;
	stream_sink_complete(s);
}

static kymo_status_t ctf_write(const struct format_options *o, struct stream_sink **sink)
{
	struct ctf_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	*sink = NULL;
	if (!w)
		return status;
	w->o = *o;
	set_functions(&w->sink);
	if (o->output) {
		w->path = strdup(o->output);
		status =
			w->path ? output_folder(o->output, o->force, o->log) : KYMO_ERROR_NO_MEMORY;
		/* The library wants to make it itself. */
		if (status == KYMO_OK && rmdir(o->output) != 0) {
			stream_error(o->log, "%s: %s; name another one", o->output,
				     strerror(errno));
			status = KYMO_ERROR_SYSTEM;
		}
	} else {
		stream_error(o->log, "a CTF trace is a directory of files: give it a name");
		status = KYMO_ERROR_INVALID_ARGUMENT;
	}
	if (status == KYMO_OK)
		status = ctf_graph_open(w);
	if (status != KYMO_OK)
		ctf_free(&w->sink);
	else
		*sink = &w->sink;
	return status;
}

extern const struct format format_ctf;
const struct format format_ctf = {
	.name = "ctf",
	.summary =
		"a directory with a CTF 1.8 trace, for Babeltrace and Trace Compass; reads those "
		"of LTTng and THAPI as well",
	.suffix = "",
	.needs_order = true,
	.probe = ctf_probe,
	.read = ctf_read,
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.write = ctf_write,
	.sink_free = ctf_free,
};
