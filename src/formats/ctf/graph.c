/* SPDX-License-Identifier: Apache-2.0 */
/* The graph that writes: a source that hands on what the sink of the stream has queued. See writer.h. */
#include <stdio.h>
#include <string.h>

#include "formats/ctf/error.h"
#include "formats/ctf/writer.h"

kymo_status_t ctf_graph_failed(struct ctf_writer *w)
{
	if (!w->failed)
		ctf_tell_error(w->o.log, w->path, "it cannot be written");
	w->failed = true;
	return KYMO_ERROR_SYSTEM;
}

/* ---- the source ------------------------------------------------------------------------------ */

static bt_component_class_initialize_method_status
source_init(bt_self_component_source *source, bt_self_component_source_configuration *c,
	    const bt_value *parameters, void *data)
{
	struct ctf_writer *w = data;

	(void)c;
	(void)parameters;
	w->source = source;
	bt_self_component_set_data(bt_self_component_source_as_self_component(source), w);
	return bt_self_component_source_add_output_port(source, "out", w, NULL) ==
			       BT_SELF_COMPONENT_ADD_PORT_STATUS_OK
		       ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK
		       : BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
}

static bt_message_iterator_class_initialize_method_status
iterator_init(bt_self_message_iterator *iterator, bt_self_message_iterator_configuration *c,
	      bt_self_component_port_output *port)
{
	struct ctf_writer *w =
		bt_self_component_get_data(bt_self_message_iterator_borrow_component(iterator));

	(void)c;
	(void)port;
	w->iterator = iterator;
	return BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_message_iterator_class_next_method_status
iterator_next(bt_self_message_iterator *iterator, bt_message_array_const messages,
	      uint64_t capacity, uint64_t *count)
{
	struct ctf_writer *w =
		bt_self_component_get_data(bt_self_message_iterator_borrow_component(iterator));
	uint64_t n = 0;

	while (n < capacity && w->taken < w->queued)
		messages[n++] = w->queue[w->taken++];
	*count = n;
	if (n)
		return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK;
	return w->ended ? BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END
			: BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_AGAIN;
}

static bool add_source(struct ctf_writer *w, const bt_component_source **out)
{
	bt_message_iterator_class *iterator = bt_message_iterator_class_create(iterator_next);
	bt_component_class_source *class =
		iterator ? bt_component_class_source_create("kymo", iterator) : NULL;
	bool ok = class &&
		  bt_message_iterator_class_set_initialize_method(iterator, iterator_init) == 0 &&
		  bt_component_class_source_set_initialize_method(class, source_init) == 0 &&
		  bt_graph_add_source_component_with_initialize_method_data(
			  w->graph, class, "kymo", NULL, w, BT_LOGGING_LEVEL_NONE, out) == 0;

	bt_component_class_source_put_ref(class);
	bt_message_iterator_class_put_ref(iterator);
	return ok;
}

static bool add_sink(struct ctf_writer *w, const bt_component_sink **out)
{
	const bt_component_class_sink *class;
	const bt_plugin *plugin = ctf_plugin("ctf");
	bt_value *parameters = bt_value_map_create();
	bool ok = false;

	class = plugin ? bt_plugin_borrow_sink_component_class_by_name_const(plugin, "fs") : NULL;
	if (class && parameters)
		ok = bt_value_map_insert_string_entry(parameters, "path", w->path) == 0 &&
		     bt_value_map_insert_bool_entry(parameters, "assume-single-trace", BT_TRUE) ==
			     0 &&
		     bt_value_map_insert_bool_entry(parameters, "quiet", BT_TRUE) == 0 &&
		     bt_graph_add_sink_component(w->graph, class, "ctf", parameters,
						 BT_LOGGING_LEVEL_NONE, out) == 0;
	bt_value_put_ref(parameters);
	bt_plugin_put_ref(plugin);
	return ok;
}

kymo_status_t ctf_graph_open(struct ctf_writer *w)
{
	const bt_component_source *source;
	const bt_component_sink *sink;

	w->graph = bt_graph_create(0);
	if (!w->graph)
		return KYMO_ERROR_NO_MEMORY;
	if (!add_source(w, &source) || !add_sink(w, &sink) ||
	    bt_graph_connect_ports(
		    w->graph, bt_component_source_borrow_output_port_by_index_const(source, 0),
		    bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) != 0)
		return ctf_graph_failed(w);
	return KYMO_OK;
}

/* ---- the trace ------------------------------------------------------------------------------- */

static bool describe_clock(struct ctf_writer *w, bt_self_component *self)
{
	int64_t offset = trace_to_realtime(w->t), seconds = offset / 1000000000;
	int64_t rest = offset % 1000000000;

	w->clock = bt_clock_class_create(self);
	if (!w->clock)
		return false;
	bt_clock_class_set_frequency(w->clock, 1000000000);
	if (rest < 0) {
		rest += 1000000000;
		seconds--;
	}
	bt_clock_class_set_offset(w->clock, seconds, (uint64_t)rest);
	bt_clock_class_set_origin_is_unix_epoch(w->clock, offset != 0);
	return bt_clock_class_set_name(w->clock, "monotonic") == 0;
}

static bool describe_environment(struct ctf_writer *w)
{
	const struct trace *t = w->t;
	const char *host = *t->hostname             ? t->hostname
			   : t->processes_count > 1 ? t->processes[1].hostname
						    : "";
	const char *const rows[][2] = {{"tracer_name", "kymo"},
				       {"tracer_version", t->version},
				       {"hostname", host},
				       {"command", t->command},
				       {"kymo_layout", "1"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (bt_trace_set_environment_entry_string(w->trace, rows[i][0], rows[i][1]) != 0)
			return false;
	return true;
}

static bool describe_context(struct ctf_writer *w)
{
	static const char *const names[] = {"vpid", "vtid"};
	bt_field_class *context = bt_field_class_structure_create(w->trace_class);
	bool ok = context != NULL;

	for (unsigned i = 0; ok && i < 2; i++) {
		bt_field_class *number = bt_field_class_integer_signed_create(w->trace_class);

		if (number)
			bt_field_class_integer_set_field_value_range(number, 32);
		ok = number &&
		     bt_field_class_structure_append_member(context, names[i], number) == 0;
		bt_field_class_put_ref(number);
	}
	ok = ok && bt_stream_class_set_event_common_context_field_class(w->records, context) == 0;
	bt_field_class_put_ref(context);
	return ok;
}

static bt_stream_class *stream_class(struct ctf_writer *w, const char *name)
{
	bt_stream_class *class = bt_stream_class_create(w->trace_class);

	if (!class || bt_stream_class_set_default_clock_class(class, w->clock) != 0 ||
	    bt_stream_class_set_name(class, name) != 0)
		return NULL;
	bt_stream_class_set_supports_packets(class, BT_TRUE, BT_TRUE, BT_TRUE);
	bt_stream_class_set_supports_discarded_events(class, BT_TRUE, BT_TRUE);
	return class;
}

bool ctf_graph_describe(struct ctf_writer *w)
{
	bt_self_component *self = bt_self_component_source_as_self_component(w->source);

	w->trace_class = bt_trace_class_create(self);
	if (!w->trace_class || !describe_clock(w, self))
		return false;
	w->trace = bt_trace_create(w->trace_class);
	w->definitions = stream_class(w, "definitions");
	w->records = stream_class(w, "records");
	return w->trace && w->definitions && w->records && describe_context(w) &&
	       describe_environment(w);
}

/* ---- messages -------------------------------------------------------------------------------- */

static kymo_status_t flush(struct ctf_writer *w)
{
	while (w->taken < w->queued && !w->failed) {
		bt_graph_run_once_status status = bt_graph_run_once(w->graph);

		if (status != BT_GRAPH_RUN_ONCE_STATUS_OK &&
		    status != BT_GRAPH_RUN_ONCE_STATUS_AGAIN)
			return ctf_graph_failed(w);
	}
	w->queued = w->taken = 0;
	return w->failed ? KYMO_ERROR_SYSTEM : KYMO_OK;
}

/* The graph runs once before the first message, so that the iterator is there. */
static kymo_status_t begin(struct ctf_writer *w)
{
	bt_graph_run_once_status status;

	if (w->begun)
		return w->failed ? KYMO_ERROR_SYSTEM : KYMO_OK;
	w->begun = true;
	status = bt_graph_run_once(w->graph);
	return w->iterator && (status == BT_GRAPH_RUN_ONCE_STATUS_OK ||
			       status == BT_GRAPH_RUN_ONCE_STATUS_AGAIN)
		       ? KYMO_OK
		       : ctf_graph_failed(w);
}

kymo_status_t ctf_graph_push(struct ctf_writer *w, const bt_message *m)
{
	if (!m)
		return ctf_graph_failed(w);
	w->queue[w->queued++] = m;
	return w->queued == CTF_QUEUE ? flush(w) : KYMO_OK;
}

static kymo_status_t packet_begin(struct ctf_writer *w, struct ctf_stream *s)
{
	s->packet = bt_packet_create(s->stream);
	s->events = 0;
	s->any = true;
	return s->packet
		       ? ctf_graph_push(
				 w, bt_message_packet_beginning_create_with_default_clock_snapshot(
					    w->iterator, s->packet, s->last))
		       : ctf_graph_failed(w);
}

static kymo_status_t packet_end(struct ctf_writer *w, struct ctf_stream *s)
{
	kymo_status_t status;

	if (!s->packet)
		return KYMO_OK;
	status = ctf_graph_push(w, bt_message_packet_end_create_with_default_clock_snapshot(
					   w->iterator, s->packet, s->last));
	bt_packet_put_ref(s->packet);
	s->packet = NULL;
	return status;
}

static kymo_status_t stream_open(struct ctf_writer *w, unsigned number, uint64_t time)
{
	struct ctf_stream *s = &w->streams[number];
	char name[32];

	if (s->stream)
		return KYMO_OK;
	if (begin(w) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	snprintf(name, sizeof(name), number == CTF_STREAMS ? "definitions" : "records_%u", number);
	s->stream = bt_stream_create(number == CTF_STREAMS ? w->definitions : w->records, w->trace);
	if (!s->stream || bt_stream_set_name(s->stream, name) != 0)
		return ctf_graph_failed(w);
	s->last = time;
	return ctf_graph_push(w, bt_message_stream_beginning_create(w->iterator, s->stream));
}

bt_message *ctf_graph_event(struct ctf_writer *w, unsigned number, bt_event_class *class,
			    int64_t time)
{
	struct ctf_stream *s = &w->streams[number];
	uint64_t at = time > 0 ? (uint64_t)time : 0;

	if (w->failed || !class || stream_open(w, number, at) != KYMO_OK)
		return NULL;
	if (at > s->last)
		s->last = at;
	if (s->packet && s->events >= CTF_PACKET_EVENTS && packet_end(w, s) != KYMO_OK)
		return NULL;
	if (!s->packet && packet_begin(w, s) != KYMO_OK)
		return NULL;
	s->events++;
	return bt_message_event_create_with_packet_and_default_clock_snapshot(w->iterator, class,
									      s->packet, s->last);
}

/*
 * What was discarded lies between two packets and ends with the second one, which is empty here: the
 * counter in the packets' contexts grows by it.
 */
kymo_status_t ctf_graph_lost(struct ctf_writer *w, unsigned number, uint64_t count)
{
	struct ctf_stream *s = &w->streams[number];
	bt_message *m;

	if (stream_open(w, number, s->last) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	if (!s->any && packet_begin(w, s) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	if (packet_end(w, s) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	m = bt_message_discarded_events_create_with_default_clock_snapshots(w->iterator, s->stream,
									    s->last, s->last);
	if (m)
		bt_message_discarded_events_set_count(m, count ? count : 1);
	if (ctf_graph_push(w, m) != KYMO_OK || packet_begin(w, s) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	return packet_end(w, s);
}

kymo_status_t ctf_graph_end(struct ctf_writer *w)
{
	kymo_status_t status = begin(w);

	for (unsigned i = 0; i <= CTF_STREAMS && status == KYMO_OK; i++) {
		struct ctf_stream *s = &w->streams[i];

		if (!s->stream)
			continue;
		status = packet_end(w, s);
		if (status == KYMO_OK)
			status = ctf_graph_push(
				w, bt_message_stream_end_create(w->iterator, s->stream));
	}
	if (status == KYMO_OK)
		status = flush(w);
	w->ended = true;
	if (status == KYMO_OK && bt_graph_run(w->graph) != BT_GRAPH_RUN_STATUS_OK)
		status = ctf_graph_failed(w);
	return status;
}

void ctf_graph_close(struct ctf_writer *w)
{
	while (w->taken < w->queued)
		bt_message_put_ref(w->queue[w->taken++]);
	for (unsigned i = 0; i <= CTF_STREAMS; i++) {
		bt_packet_put_ref(w->streams[i].packet);
		bt_stream_put_ref(w->streams[i].stream);
	}
	for (uint32_t i = 0; w->classes.entries && i <= w->classes.mask; i++)
		if (w->classes.entries[i].value)
			bt_event_class_put_ref(
				(bt_event_class *)(uintptr_t)w->classes.entries[i].value);
	/*
	 * sink.ctf.fs aborts where it cannot write its last packets, which it does as the trace goes: where it
	 * has failed, trace and graph stay until the process ends.
	 */
	if (w->failed) {
		ctf_drop_error();
		return;
	}
	bt_stream_class_put_ref(w->records);
	bt_stream_class_put_ref(w->definitions);
	bt_trace_put_ref(w->trace);
	bt_clock_class_put_ref(w->clock);
	bt_trace_class_put_ref(w->trace_class);
	bt_graph_put_ref(w->graph);
	ctf_drop_error();
}
