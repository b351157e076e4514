/* SPDX-License-Identifier: Apache-2.0 */
/* Event packets as bytes; see encode.h. Field numbers are those of trace.proto. */
#include "formats/perfetto/encode.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

/* So many bytes a scalar field takes at most, its tag of two and a length of a message included. */
enum { FIELD_MAX = 16 };

static uint8_t *put_varint(uint8_t *out, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*out++ = (uint8_t)(v | 0x80);
	*out++ = (uint8_t)v;
	return out;
}

static inline uint8_t *put_tag(uint8_t *out, uint32_t field, uint32_t type)
{
	return put_varint(out, field << 3 | type);
}

static inline uint8_t *put_number(uint8_t *out, uint32_t field, uint64_t v)
{
	return put_varint(put_tag(out, field, VARINT), v);
}

static uint8_t *put_fixed(uint8_t *out, uint32_t field, uint64_t bits)
{
	out = put_tag(out, field, FIXED64);
	for (unsigned i = 0; i < 8; i++)
		*out++ = (uint8_t)(bits >> 8 * i);
	return out;
}

static uint8_t *put_double(uint8_t *out, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return put_fixed(out, field, bits);
}

static uint8_t *put_bytes(uint8_t *out, uint32_t field, const void *data, size_t n)
{
	out = put_varint(put_tag(out, field, BYTES), n);
	memcpy(out, data, n);
	return out + n;
}

static uint8_t *put_text(uint8_t *out, uint32_t field, const char *text)
{
	return text ? put_bytes(out, field, text, strlen(text)) : out;
}

/* A message is written behind a length of one byte, and moved if that turns out to need more. */
static inline uint8_t *begin_message(uint8_t *out, uint32_t field)
{
	return put_tag(out, field, BYTES) + 1;
}

static uint8_t *end_message(uint8_t *begin, uint8_t *end)
{
	size_t n = (size_t)(end - begin), more = 0;

	for (size_t left = n >> 7; left; left >>= 7)
		more++;
	if (more)
		memmove(begin + more, begin, n);
	put_varint(begin - 1, n);
	return end + more;
}

/* ---- annotations ------------------------------------------------------------------------------ */

static uint8_t *put_value(uint8_t *out, const Pf__DebugAnnotation *a)
{
	switch (a->value_case) {
	case PF__DEBUG_ANNOTATION__VALUE_BOOL_VALUE:
		return put_number(out, 2, a->bool_value != 0);
	case PF__DEBUG_ANNOTATION__VALUE_UINT_VALUE:
		return put_number(out, 3, a->uint_value);
	case PF__DEBUG_ANNOTATION__VALUE_INT_VALUE:
		return put_number(out, 4, (uint64_t)a->int_value);
	case PF__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE:
		return put_double(out, 5, a->double_value);
	case PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE:
		return put_text(out, 6, a->string_value);
	case PF__DEBUG_ANNOTATION__VALUE_POINTER_VALUE:
		return put_number(out, 7, a->pointer_value);
	case PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID:
		return put_number(out, 17, a->string_value_iid);
	default:
		return out;
	}
}

static uint8_t *put_annotation(uint8_t *out, uint32_t field, const Pf__DebugAnnotation *a)
{
	uint8_t *begin = begin_message(out, field);

	out = begin;
	if (a->name_field_case == PF__DEBUG_ANNOTATION__NAME_FIELD_NAME_IID)
		out = put_number(out, 1, a->name_iid);
	else if (a->name_field_case == PF__DEBUG_ANNOTATION__NAME_FIELD_NAME)
		out = put_text(out, 10, a->name);
	out = put_value(out, a);
	/* Elements have no arrays themselves. */
	for (size_t i = 0; i < a->n_array_values; i++) {
		uint8_t *element = begin_message(out, 12);

		out = end_message(element, put_value(element, a->array_values[i]));
	}
	return end_message(begin, out);
}

/* ---- events ----------------------------------------------------------------------------------- */

static uint8_t *put_callstack(uint8_t *out, const Pf__TrackEvent__InlineCallstack *stack)
{
	uint8_t *begin = begin_message(out, 55);

	out = begin;
	for (size_t i = 0; i < stack->n_frames; i++) {
		const Pf__TrackEvent__InlineCallstack__Frame *f = stack->frames[i];
		uint8_t *frame = begin_message(out, 1);

		out = put_text(frame, 1, f->function_name);
		out = put_text(out, 2, f->source_file);
		out = f->has_line_number ? put_number(out, 3, f->line_number) : out;
		out = end_message(frame, out);
	}
	return end_message(begin, out);
}

static uint8_t *put_event(uint8_t *out, const Pf__TrackEvent *e)
{
	uint8_t *begin = begin_message(out, 11);

	out = begin;
	for (size_t i = 0; i < e->n_category_iids; i++)
		out = put_number(out, 3, e->category_iids[i]);
	for (size_t i = 0; i < e->n_debug_annotations; i++)
		out = put_annotation(out, 4, e->debug_annotations[i]);
	out = put_number(out, 9, (uint64_t)e->type);
	if (e->name_field_case == PF__TRACK_EVENT__NAME_FIELD_NAME_IID)
		out = put_number(out, 10, e->name_iid);
	out = put_number(out, 11, e->track_uuid);
	for (size_t i = 0; i < e->n_categories; i++)
		out = put_text(out, 22, e->categories[i]);
	if (e->name_field_case == PF__TRACK_EVENT__NAME_FIELD_NAME)
		out = put_text(out, 23, e->name);
	if (e->has_counter_value)
		out = put_number(out, 30, (uint64_t)e->counter_value);
	if (e->has_source_location_iid)
		out = put_number(out, 34, e->source_location_iid);
	if (e->has_double_counter_value)
		out = put_double(out, 44, e->double_counter_value);
	for (size_t i = 0; i < e->n_flow_ids; i++)
		out = put_fixed(out, 47, e->flow_ids[i]);
	if (e->callstack)
		out = put_callstack(out, e->callstack);
	return end_message(begin, out);
}

uint8_t *encode_event(uint8_t *out, const Pf__TracePacket *packet)
{
	uint8_t *begin = begin_message(out, 1);

	out = put_number(begin, 8, packet->timestamp);
	out = put_number(out, 10, packet->trusted_packet_sequence_id);
	out = put_event(out, packet->track_event);
	if (packet->interned_data) {
		size_t n = protobuf_c_message_get_packed_size(&packet->interned_data->base);

		out = put_varint(put_tag(out, 12, BYTES), n);
		out += protobuf_c_message_pack(&packet->interned_data->base, out);
	}
	out = put_number(out, 13, packet->sequence_flags);
	if (packet->has_timestamp_clock_id)
		out = put_number(out, 58, packet->timestamp_clock_id);
	return end_message(begin, out);
}

uint8_t *encode_end(uint8_t *out, const Pf__TracePacket *packet, uint64_t track)
{
	uint8_t *begin = begin_message(out, 1), *event;

	out = put_number(begin, 8, packet->timestamp);
	out = put_number(out, 10, packet->trusted_packet_sequence_id);
	event = begin_message(out, 11);
	out = put_number(event, 9, PF__TRACK_EVENT__TYPE__TYPE_SLICE_END);
	out = end_message(event, put_number(out, 11, track));
	out = put_number(out, 13, packet->sequence_flags);
	if (packet->has_timestamp_clock_id)
		out = put_number(out, 58, packet->timestamp_clock_id);
	return end_message(begin, out);
}

/* ---- how large -------------------------------------------------------------------------------- */

static size_t text_bound(const char *text)
{
	return text ? strlen(text) + FIELD_MAX : FIELD_MAX;
}

static size_t annotation_bound(const Pf__DebugAnnotation *a)
{
	size_t n = (3 + 2 * a->n_array_values) * (size_t)FIELD_MAX;

	if (a->name_field_case == PF__DEBUG_ANNOTATION__NAME_FIELD_NAME)
		n += text_bound(a->name);
	if (a->value_case == PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE)
		n += text_bound(a->string_value);
	for (size_t i = 0; i < a->n_array_values; i++)
		if (a->array_values[i]->value_case == PF__DEBUG_ANNOTATION__VALUE_STRING_VALUE)
			n += text_bound(a->array_values[i]->string_value);
	return n;
}

size_t encode_bound(const Pf__TracePacket *packet)
{
	const Pf__TrackEvent *e = packet->track_event;
	size_t n = (16 + e->n_category_iids + e->n_flow_ids) * (size_t)FIELD_MAX;

	for (size_t i = 0; i < e->n_debug_annotations; i++)
		n += annotation_bound(e->debug_annotations[i]);
	for (size_t i = 0; i < e->n_categories; i++)
		n += text_bound(e->categories[i]);
	if (e->name_field_case == PF__TRACK_EVENT__NAME_FIELD_NAME)
		n += text_bound(e->name);
	for (size_t i = 0; e->callstack && i < e->callstack->n_frames; i++)
		n += text_bound(e->callstack->frames[i]->function_name) +
		     text_bound(e->callstack->frames[i]->source_file) + 2 * (size_t)FIELD_MAX;
	if (packet->interned_data)
		n += protobuf_c_message_get_packed_size(&packet->interned_data->base);
	return n;
}
