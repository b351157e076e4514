/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing packets: one event is put together in a builder, with what it interns, and packed into
 * the buffer of the file. A sequence is a stream of packets with its own interned strings and its
 * own running clock: times are deltas to the packet before, where they do not go back.
 */
#ifndef FORMATS_PERFETTO_PACKET_H
#define FORMATS_PERFETTO_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/status.h>

#include "formats/perfetto/intern.h"
#include "formats/perfetto/trace.pb-c.h"
#include "stream/stream.h"
#include "stream/symbol.h"

enum packet_limits {
	PACKET_ANNOTATIONS = 96, /* of an event */
	PACKET_ELEMENTS = 1100,  /* of all arrays of an event */
	PACKET_STRINGS = 1100,   /* newly interned by an event, of each kind */
	PACKET_CATEGORIES = 4,
	PACKET_FRAMES = 128,
	PACKET_TEXT = 32768 /* characters of all values of an event */
};

struct packet_file {
	int fd;
	uint8_t *buffer;
	size_t used, room;
	uint64_t written, packets;
	kymo_status_t status; /* first failure, kept; `error` is its errno */
	int error;
};

struct packet_sequence {
	uint32_t id;
	bool begun;
	uint32_t part; /* of the output that it writes to */
	int64_t base;  /* first time its running clock can express */
	int64_t last;  /* time of the packet before */
	struct intern names, categories, annotations, strings;
	uint8_t *sites; /* one bit for each call site already written */
};

/* Newly interned strings of one kind; EventName, EventCategory... all have the same shape. */
struct packet_strings {
	Pf__EventName item[PACKET_STRINGS];
	Pf__EventName *list[PACKET_STRINGS];
	size_t count;
};

struct packet {
	struct packet_file *file;
	struct packet_sequence *sequence;
	bool bare; /* events have no annotations, no places and no call stacks */
	const char *name_text, *category_text; /* of the event, the first one */
	Pf__TracePacket packet;
	Pf__TrackEvent event;
	Pf__InternedData interned;
	uint64_t categories[PACKET_CATEGORIES];
	char *category_texts[PACKET_CATEGORIES];
	uint64_t flow;
	Pf__DebugAnnotation annotation[PACKET_ANNOTATIONS];
	Pf__DebugAnnotation *annotations[PACKET_ANNOTATIONS];
	Pf__DebugAnnotation element[PACKET_ELEMENTS];
	Pf__DebugAnnotation *elements[PACKET_ELEMENTS];
	size_t element_count;
	struct packet_strings names, category_names, annotation_names;
	Pf__InternedString string[PACKET_STRINGS];
	Pf__InternedString *strings[PACKET_STRINGS];
	Pf__SourceLocation location;
	Pf__SourceLocation *locations[1];
	Pf__TrackEvent__InlineCallstack stack;
	Pf__TrackEvent__InlineCallstack__Frame frame[PACKET_FRAMES];
	Pf__TrackEvent__InlineCallstack__Frame *frames[PACKET_FRAMES];
	char text[PACKET_TEXT];
	size_t text_used;
};

/* Appends one packet to the file. Failures stay in file->status. */
void packet_write(struct packet_file *f, const Pf__TracePacket *packet);

void packet_flush(struct packet_file *f);

/*
 * First packet of a sequence: clears its state and sets its clock, which begins at `base`;
 * realtime_offset (node time to realtime) may be 0 for "unknown".
 */
void packet_sequence_begin(struct packet_file *f, struct packet_sequence *s, uint32_t id,
			   int64_t base, int64_t realtime_offset);
void packet_sequence_release(struct packet_sequence *s);

/* Begins an event of the sequence at `time` on track `track`. */
void packet_begin(struct packet *p, struct packet_sequence *s, Pf__TrackEvent__Type type,
		  int64_t time, uint64_t track);
/* Texts live as long as the trace, or are in packet_room(). */
void packet_name(struct packet *p, const char *name);
void packet_category(struct packet *p, const char *category);
void packet_flow(struct packet *p, uint64_t id);
void packet_counter(struct packet *p, int64_t value);
void packet_counter_real(struct packet *p, double value);
void packet_site(struct packet *p, uint32_t index, const struct t_site *site, uint32_t site_count);
/* The stack of a call. */
void packet_stack(struct packet *p, struct symbols *symbols, uint32_t stack);

/*
 * A new annotation (in place: the caller sets its value), or NULL when the event has as many as it
 * can hold. Names and texts are copied or interned.
 */
Pf__DebugAnnotation *packet_annotation(struct packet *p, const char *name);
/* Makes `a` an array of `count` elements, fewer if there is no room; returns how many. */
size_t packet_array(struct packet *p, Pf__DebugAnnotation *a, size_t count);

/* Sets the value of an annotation. */
void packet_set_uint(Pf__DebugAnnotation *a, uint64_t v);
void packet_set_int(Pf__DebugAnnotation *a, int64_t v);
void packet_set_bool(Pf__DebugAnnotation *a, bool v);
void packet_set_double(Pf__DebugAnnotation *a, double v);
void packet_set_pointer(Pf__DebugAnnotation *a, uint64_t v);
void packet_set_interned(struct packet *p, Pf__DebugAnnotation *a, const char *text);
/* `n` bytes, escaped as all texts are that go into an event (base/plain.h). */
void packet_set_text(struct packet *p, Pf__DebugAnnotation *a, const uint8_t *text, size_t n,
		     bool cut);

/* packet_annotation() and the value in one. */
void packet_add_uint(struct packet *p, const char *name, uint64_t v);
void packet_add_int(struct packet *p, const char *name, int64_t v);
void packet_add_bool(struct packet *p, const char *name, bool v);
void packet_add_double(struct packet *p, const char *name, double v);
void packet_add_pointer(struct packet *p, const char *name, uint64_t v);
void packet_add_text(struct packet *p, const char *name, const char *text); /* interned */

/* Room for `n` characters that live until the event is written, or NULL. */
char *packet_room(struct packet *p, size_t n);

/* Writes the event. */
void packet_end(struct packet *p);

/* A whole event without name; `goes_on`: in the next part of the output. */
void packet_slice_end(struct packet *p, struct packet_sequence *s, int64_t time, uint64_t track,
		      bool goes_on);

void packet_slice_end_of_flow(struct packet *p, struct packet_sequence *s, int64_t time,
			      uint64_t track, uint64_t flow);

/* The time of a packet that is not made with packet_begin(), and what else each has. */
void packet_stamp(Pf__TracePacket *packet, struct packet_sequence *s, int64_t time);

#endif
