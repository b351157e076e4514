/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builder of packets, see packet.h. protobuf-c does the encoding; the builder only owns the
 * message structures, so that an event costs no allocation.
 */
#include "formats/perfetto/packet.h"

#include "formats/perfetto/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "base/vec.h"

enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_RAW = 5, CLOCK_ID_SEQUENCE = 64 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 };

void packet_flush(struct packet_file *f)
{
	size_t at = 0;

	while (at < f->used && f->status == KYMO_OK) {
		ssize_t n = write(f->fd, f->buffer + at, f->used - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			f->status = KYMO_ERROR_SYSTEM;
			f->error = n < 0 ? errno : ENOSPC;
			break;
		}
		at += (size_t)n;
	}
	f->written += at;
	f->used = 0;
}

static bool reserve(struct packet_file *f, size_t bytes)
{
	if (f->used + bytes > f->room)
		packet_flush(f);
	if (!vec_reserve(&f->buffer, &f->room, f->used, bytes))
		f->status = KYMO_ERROR_NO_MEMORY;
	return f->status == KYMO_OK;
}

void packet_write(struct packet_file *f, const Pf__TracePacket *packet)
{
	size_t size = protobuf_c_message_get_packed_size(&packet->base), left;

	if (f->status || !reserve(f, size + 11))
		return;
	f->buffer[f->used++] = 0x0a; /* Trace.packet, length delimited */
	for (left = size; left > 0x7f; left >>= 7)
		f->buffer[f->used++] = (uint8_t)(left | 0x80);
	f->buffer[f->used++] = (uint8_t)left;
	f->used += protobuf_c_message_pack(&packet->base, f->buffer + f->used);
	f->packets++;
}

/* packet_write() of an event. */
static void write_event(struct packet_file *f, const Pf__TracePacket *packet)
{
	if (f->status || !reserve(f, encode_bound(packet)))
		return;
	f->used = (size_t)(encode_event(f->buffer + f->used, packet) - f->buffer);
	f->packets++;
}

static void set_clock(Pf__ClockSnapshot__Clock *c, Pf__ClockSnapshot__Clock **list, size_t *count,
		      uint32_t id, int64_t time)
{
	pf__clock_snapshot__clock__init(c);
	c->has_clock_id = c->has_timestamp = 1;
	c->clock_id = id;
	c->timestamp = (uint64_t)time;
	list[(*count)++] = c;
}

void packet_sequence_begin(struct packet_file *f, struct packet_sequence *s, uint32_t id,
			   int64_t base, int64_t realtime_offset)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;
	Pf__TracePacketDefaults defaults = PF__TRACE_PACKET_DEFAULTS__INIT;
	Pf__ClockSnapshot snapshot = PF__CLOCK_SNAPSHOT__INIT;
	Pf__ClockSnapshot__Clock clocks[3], *list[3];

	s->id = id;
	s->begun = true;
	s->base = s->last = base > 0 ? base : 0;
	snapshot.clocks = list;
	set_clock(&clocks[0], list, &snapshot.n_clocks, CLOCK_ID_SEQUENCE, s->base);
	clocks[0].has_is_incremental = clocks[0].is_incremental = 1;
	set_clock(&clocks[1], list, &snapshot.n_clocks, CLOCK_ID_RAW, s->base);
	if (realtime_offset)
		set_clock(&clocks[2], list, &snapshot.n_clocks, CLOCK_ID_REALTIME,
			  s->base + realtime_offset);
	snapshot.has_primary_trace_clock = 1;
	snapshot.primary_trace_clock = CLOCK_ID_RAW;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = CLOCK_ID_SEQUENCE;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = id;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = STATE_CLEARED;
	packet.has_first_packet_on_sequence = packet.first_packet_on_sequence = 1;
	packet.trace_packet_defaults = &defaults;
	packet.clock_snapshot = &snapshot;
	packet_write(f, &packet);
}

void packet_sequence_release(struct packet_sequence *s)
{
	intern_release(&s->names);
	intern_release(&s->categories);
	intern_release(&s->annotations);
	intern_release(&s->strings);
	free(s->sites);
	memset(s, 0, sizeof(*s));
}

/* The running clock cannot go back: such times are written in full, in the trace's own clock. */
static void set_time(Pf__TracePacket *packet, struct packet_sequence *s, int64_t time)
{
	packet->has_timestamp = 1;
	if (time >= s->last) {
		packet->timestamp = (uint64_t)(time - s->last);
		s->last = time;
		return;
	}
	packet->timestamp = (uint64_t)time;
	packet->has_timestamp_clock_id = 1;
	packet->timestamp_clock_id = CLOCK_ID_RAW;
}

void packet_stamp(Pf__TracePacket *packet, struct packet_sequence *s, int64_t time)
{
	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = s->id;
	packet->has_sequence_flags = 1;
	packet->sequence_flags = STATE_NEEDED;
	set_time(packet, s, time);
}

void packet_slice_end(struct packet *p, struct packet_sequence *s, int64_t time, uint64_t track,
		      bool goes_on)
{
	if (goes_on) {
		packet_begin(p, s, PF__TRACK_EVENT__TYPE__TYPE_SLICE_END, time, track);
		packet_add_bool(p, "goes_on", true);
		packet_end(p);
		return;
	}
	if (p->file->status || !reserve(p->file, ENCODE_END_MAX))
		return;
	p->packet.has_timestamp_clock_id = 0;
	packet_stamp(&p->packet, s, time);
	p->file->used = (size_t)(encode_end(p->file->buffer + p->file->used, &p->packet, track) -
				 p->file->buffer);
	p->file->packets++;
}

void packet_slice_end_of_flow(struct packet *p, struct packet_sequence *s, int64_t time,
			      uint64_t track, uint64_t flow)
{
	packet_begin(p, s, PF__TRACK_EVENT__TYPE__TYPE_SLICE_END, time, track);
	packet_flow(p, flow);
	packet_end(p);
}

void packet_begin(struct packet *p, struct packet_sequence *s, Pf__TrackEvent__Type type,
		  int64_t time, uint64_t track)
{
	if (!p->interned.base.descriptor) {
		pf__trace_packet__init(&p->packet);
		pf__interned_data__init(&p->interned);
	}
	p->packet.has_timestamp_clock_id = 0;
	p->packet.interned_data = NULL;
	p->packet.track_event = &p->event;
	packet_stamp(&p->packet, s, time);
	pf__track_event__init(&p->event);
	p->event.has_type = p->event.has_track_uuid = 1;
	p->event.type = type;
	p->event.track_uuid = track;
	p->sequence = s;
	p->name_text = p->category_text = NULL;
	p->interned.n_debug_annotation_string_values = p->interned.n_source_locations = 0;
	p->event.category_iids = p->categories;
	p->event.categories = p->category_texts;
	p->event.debug_annotations = p->annotations;
	p->interned.event_names = p->names.list;
	p->interned.event_categories = (Pf__EventCategory **)p->category_names.list;
	p->interned.debug_annotation_names = (Pf__DebugAnnotationName **)p->annotation_names.list;
	p->interned.debug_annotation_string_values = p->strings;
	p->interned.source_locations = p->locations;
	p->names.count = p->category_names.count = p->annotation_names.count = 0;
	p->element_count = p->text_used = 0;
}

/* Number of an interned string that also is announced when new; 0: write it out in place. */
static uint64_t intern(struct intern *t, const char *text, struct packet_strings *list,
		       void (*init)(struct packet_strings *list))
{
	bool fresh;
	uint32_t iid;
	Pf__EventName *item;

	if (list->count == PACKET_STRINGS)
		return 0;
	iid = intern_get(t, text, &fresh);
	if (!fresh)
		return iid;
	init(list);
	item = &list->item[list->count];
	item->has_iid = 1;
	item->iid = iid;
	item->name = (char *)(uintptr_t)intern_text(t, iid);
	list->list[list->count++] = item;
	return iid;
}

/* The three kinds differ in their descriptor only. */
static void init_name(struct packet_strings *l)
{
	pf__event_name__init(&l->item[l->count]);
}

_Static_assert(sizeof(Pf__EventCategory) == sizeof(Pf__EventName) &&
		       offsetof(Pf__EventCategory, name) == offsetof(Pf__EventName, name) &&
		       sizeof(Pf__DebugAnnotationName) == sizeof(Pf__EventName) &&
		       offsetof(Pf__DebugAnnotationName, name) == offsetof(Pf__EventName, name),
	       "interned names have one shape");

static void init_category(struct packet_strings *l)
{
	pf__event_category__init((Pf__EventCategory *)&l->item[l->count]);
}

static void init_annotation(struct packet_strings *l)
{
	pf__debug_annotation_name__init((Pf__DebugAnnotationName *)&l->item[l->count]);
}

/* It stays: all but what is put together for the event. */
static bool stays(const struct packet *p, const char *text)
{
	return (uintptr_t)text - (uintptr_t)p->text >= PACKET_TEXT;
}

static void keep_place(struct packet *p, struct intern *t, const char *text, uint64_t iid)
{
	if (iid && stays(p, text))
		*intern_place(t, text) = (struct intern_place){text, (uint32_t)iid};
}

char *packet_room(struct packet *p, size_t n)
{
	char *room = p->text + p->text_used;

	if (n > PACKET_TEXT - p->text_used)
		return NULL;
	p->text_used += n;
	return room;
}

/* Escaped into `out`, which has room for 4 * n; returns its end. */
static char *put_plain(char *out, const char *text, size_t n)
{
	uint32_t code;

	for (size_t i = 0, length; i < n; i += length) {
		length = plain_next(text + i, n - i, &code);
		if (plain_hidden(code)) {
			out += plain_escape(code, out);
		} else {
			memcpy(out, text + i, length);
			out += length;
		}
	}
	return out;
}

static const char *plain_text(struct packet *p, const char *text)
{
	size_t n = strlen(text);
	char *out, *end;

	if (plain_ascii(text, n))
		return text;
	out = packet_room(p, 4 * n + PLAIN_ESCAPE_MAX);
	if (!out)
		return "(too long)";
	end = put_plain(out, text, n);
	*end = '\0';
	p->text_used = (size_t)(end + 1 - p->text);
	return out;
}

void packet_name(struct packet *p, const char *name)
{
	struct intern *t = &p->sequence->names;
	uint64_t iid = intern_known(t, name);

	p->name_text = name;
	if (!iid) {
		name = plain_text(p, name);
		iid = intern(t, name, &p->names, init_name);
		keep_place(p, t, name, iid);
	}
	p->event.name_field_case =
		iid ? PF__TRACK_EVENT__NAME_FIELD_NAME_IID : PF__TRACK_EVENT__NAME_FIELD_NAME;
	if (iid)
		p->event.name_iid = iid;
	else
		p->event.name = (char *)(uintptr_t)name;
}

void packet_category(struct packet *p, const char *category)
{
	struct intern *t = &p->sequence->categories;
	uint64_t iid = intern_known(t, category);

	if (p->event.n_category_iids + p->event.n_categories == PACKET_CATEGORIES)
		return;
	p->category_text = p->category_text ? p->category_text : category;
	if (!iid) {
		category = plain_text(p, category);
		iid = intern(t, category, &p->category_names, init_category);
		keep_place(p, t, category, iid);
	}
	if (iid)
		p->categories[p->event.n_category_iids++] = iid;
	else
		p->category_texts[p->event.n_categories++] = (char *)(uintptr_t)category;
}

void packet_flow(struct packet *p, uint64_t id)
{
	p->flow = id;
	p->event.flow_ids = &p->flow;
	p->event.n_flow_ids = 1;
}

void packet_counter(struct packet *p, int64_t value)
{
	p->event.has_counter_value = 1;
	p->event.counter_value = value;
}

void packet_counter_real(struct packet *p, double value)
{
	p->event.has_double_counter_value = 1;
	p->event.double_counter_value = value;
}

void packet_site(struct packet *p, uint32_t index, const struct t_site *site, uint32_t site_count)
{
	struct packet_sequence *s = p->sequence;

	if (p->bare)
		return;
	if (!s->sites)
		s->sites = calloc(1, site_count / 8 + 1);
	if (!s->sites)
		return;
	p->event.has_source_location_iid = 1;
	p->event.source_location_iid = index;
	if (s->sites[index / 8] & 1u << index % 8)
		return;
	s->sites[index / 8] |= (uint8_t)(1u << index % 8);
	pf__source_location__init(&p->location);
	p->location.has_iid = 1;
	p->location.iid = index;
	p->location.function_name =
		(char *)(uintptr_t)(site->function ? plain_text(p, site->function) : NULL);
	p->location.file_name = (char *)(uintptr_t)plain_text(p, site->file ? site->file : "");
	p->location.has_line_number = site->line != 0;
	p->location.line_number = site->line;
	p->locations[0] = &p->location;
	p->interned.n_source_locations = 1;
}

void packet_stack(struct packet *p, struct symbols *symbols, uint32_t stack)
{
	uint32_t i, n;
	const uint32_t *sites = symbols_stack(symbols, stack, SYMBOLS_CALLER, &n);

	if (p->bare)
		return;
	n = n < PACKET_FRAMES ? n : PACKET_FRAMES;
	pf__track_event__inline_callstack__init(&p->stack);
	for (i = 0; i < n; i++) {
		/* Perfetto wants the outermost frame first. */
		const struct symbol *site = symbols_site(symbols, sites[n - 1 - i]);
		Pf__TrackEvent__InlineCallstack__Frame *f = &p->frame[i];

		pf__track_event__inline_callstack__frame__init(f);
		f->function_name =
			(char *)(uintptr_t)plain_text(p, site->function ? site->function : "?");
		f->source_file = (char *)(uintptr_t)(site->file ? plain_text(p, site->file) : NULL);
		f->has_line_number = site->line != 0;
		f->line_number = site->line;
		p->frames[i] = f;
	}
	p->stack.frames = p->frames;
	p->stack.n_frames = n;
	p->event.callstack = n ? &p->stack : NULL;
}

Pf__DebugAnnotation *packet_annotation(struct packet *p, const char *name)
{
	size_t n = p->event.n_debug_annotations;
	Pf__DebugAnnotation *a = &p->annotation[n];
	struct intern *t = &p->sequence->annotations;
	uint64_t iid = intern_known(t, name);

	if (n == PACKET_ANNOTATIONS || p->bare)
		return NULL;
	pf__debug_annotation__init(a);
	if (!iid) {
		name = plain_text(p, name);
		iid = intern(t, name, &p->annotation_names, init_annotation);
		keep_place(p, t, name, iid);
	}
	a->name_field_case = iid ? PF__DEBUG_ANNOTATION__NAME_FIELD_NAME_IID
				 : PF__DEBUG_ANNOTATION__NAME_FIELD_NAME;
	if (iid)
		a->name_iid = iid;
	else
		a->name = (char *)(uintptr_t)name;
	p->annotations[n] = a;
	p->event.n_debug_annotations++;
	return a;
}

size_t packet_array(struct packet *p, Pf__DebugAnnotation *a, size_t count)
{
	size_t i, left = PACKET_ELEMENTS - p->element_count;

	if (count > left)
		count = left;
	a->array_values = &p->elements[p->element_count];
	a->n_array_values = count;
	for (i = 0; i < count; i++) {
		pf__debug_annotation__init(&p->element[p->element_count]);
		p->elements[p->element_count] = &p->element[p->element_count];
		p->element_count++;
	}
	return count;
}

void packet_set_uint(Pf__DebugAnnotation *a, uint64_t v)
{
	a->value_case = PF__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
	a->uint_value = v;
}

void packet_set_int(Pf__DebugAnnotation *a, int64_t v)
{
	a->value_case = PF__DEBUG_ANNOTATION__VALUE_INT_VALUE;
	a->int_value = v;
}

void packet_set_bool(Pf__DebugAnnotation *a, bool v)
{
	a->value_case = PF__DEBUG_ANNOTATION__VALUE_BOOL_VALUE;
	a->bool_value = v;
}

void packet_set_double(Pf__DebugAnnotation *a, double v)
{
	a->value_case = PF__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE;
	a->double_value = v;
}

void packet_set_pointer(Pf__DebugAnnotation *a, uint64_t v)
{
	a->value_case = PF__DEBUG_ANNOTATION__VALUE_POINTER_VALUE;
	a->pointer_value = v;
}

static void announce_string(struct packet *p, uint32_t iid, const char *text)
{
	size_t n = p->interned.n_debug_annotation_string_values++;
	Pf__InternedString *s = &p->string[n];

	pf__interned_string__init(s);
	s->has_iid = s->has_str = 1;
	s->iid = iid;
	s->str.data = (uint8_t *)(uintptr_t)text;
	s->str.len = strlen(text);
	p->strings[n] = s;
}

/* `text` lives as long as the event at least. */
void packet_set_interned(struct packet *p, Pf__DebugAnnotation *a, const char *text)
{
	struct intern *t = &p->sequence->strings;
	bool fresh = false;
	uint32_t iid = 0;

	text = plain_text(p, text);
	if (p->interned.n_debug_annotation_string_values < PACKET_STRINGS)
		iid = intern_get(t, text, &fresh);
	if (!iid) {
		a->value_case = PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
		a->string_value = (char *)(uintptr_t)text;
		return;
	}
	if (fresh)
		announce_string(p, iid, intern_text(t, iid));
	a->value_case = PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID;
	a->string_value_iid = iid;
}

void packet_set_text(struct packet *p, Pf__DebugAnnotation *a, const uint8_t *text, size_t n,
		     bool cut)
{
	char *out = packet_room(p, 4 * n + PLAIN_ESCAPE_MAX), *end;

	if (!out) {
		packet_set_interned(p, a, "(too long)");
		return;
	}
	end = put_plain(out, (const char *)text, n);
	memcpy(end, cut ? "..." : "", cut ? 4 : 1);
	p->text_used = (size_t)(end + (cut ? 4 : 1) - p->text);
	a->value_case = PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
	a->string_value = out;
}

void packet_add_uint(struct packet *p, const char *name, uint64_t v)
{
	Pf__DebugAnnotation *a = packet_annotation(p, name);

	if (a)
		packet_set_uint(a, v);
}

void packet_add_int(struct packet *p, const char *name, int64_t v)
{
	Pf__DebugAnnotation *a = packet_annotation(p, name);

	if (a)
		packet_set_int(a, v);
}

void packet_add_bool(struct packet *p, const char *name, bool v)
{
	Pf__DebugAnnotation *a = packet_annotation(p, name);

	if (a)
		packet_set_bool(a, v);
}

void packet_add_double(struct packet *p, const char *name, double v)
{
	Pf__DebugAnnotation *a = packet_annotation(p, name);

	if (a)
		packet_set_double(a, v);
}

void packet_add_pointer(struct packet *p, const char *name, uint64_t v)
{
	Pf__DebugAnnotation *a = packet_annotation(p, name);

	if (a)
		packet_set_pointer(a, v);
}

void packet_add_text(struct packet *p, const char *name, const char *text)
{
	Pf__DebugAnnotation *a = packet_annotation(p, name);

	if (a)
		packet_set_interned(p, a, text);
}

void packet_end(struct packet *p)
{
	p->interned.n_event_names = p->names.count;
	p->interned.n_event_categories = p->category_names.count;
	p->interned.n_debug_annotation_names = p->annotation_names.count;
	if (p->names.count || p->category_names.count || p->annotation_names.count ||
	    p->interned.n_debug_annotation_string_values || p->interned.n_source_locations)
		p->packet.interned_data = &p->interned;
	write_event(p->file, &p->packet);
}
