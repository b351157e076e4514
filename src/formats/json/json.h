/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the writers of JSON and JSON lines. JSON is one document, streamed:
 *
 *   {"kymo": {"format": 1, "version": ...},
 *    "trace": {"path", "command", "hostname", "started", "origin_ns", "processes": [...], "threads": [...], "agents",
 *              "contexts", "queues", "kernels", "programs", "blobs", "strings", "communicators",
 *              "counters", "codes", "places", "references", "sites", "stacks", "notes"},
 *    "records": [{"kind": "call" | "dispatch" | "copy" | "allocation" | "sync" | "marker" |
 *                         "device_sample" | "device_sample_loss" | "other" | "loss", ...}, ...],
 *    "end": {"end_ns", "processes": [totals], "threads": [totals], "open_calls": [...],
 *            "unfinished": [...], "not_recorded": [...]}}
 *
 * JSON lines have the same objects, one a line, that no line needs another one to be parsed:
 *
 *   {"kymo": {...}, "trace": {"path", "command", "hostname", "started", "origin_ns"}}
 *   {"definition": "process" | "thread" | "agent" | ..., "index": its position, ...}
 *   {"kind": "call" | ... | "loss" | "open_call" | "unfinished", ...}          in the order in which they come
 *   {"kind": "process_end", "index", ...}, {"kind": "not_recorded", ...}
 *   {"kind": "end", "end_ns", "records", "lost_records", "overwritten_records", "lines"}
 *
 * "started" is in seconds since the epoch, by the launcher's host; 0 where that is not known.
 * "open_calls" and "unfinished" are in order of time, and chosen as the records are; the others tell
 * of the whole trace.
 *
 * Times are integers, ns since origin_ns (node time, CLOCK_MONOTONIC_RAW). "start" and "end" of
 * dispatches and copies are the device's; "collected" is when the host heard of them. Those without
 * device times have null for both, and "untimed", the reason.
 * "thread", "agent", "queue", "kernel", "context", "site" of a record are positions in the lists of
 * "trace", which therefore hold null at position 0; so are "args", as "references" says by
 * operation:
 * {"domain", "op", "args": {"datatype": "strings", ...}}. "correlation", "call" and the like are
 * the "id" of a call of the same process. A blob that is the source of a program has "source_of",
 * others have "text". Handles and pointers are strings in hexadecimal, null when zero; enumerators
 * and flags are their names; an argument that was cut is named in "cut" with its true length.
 */
#ifndef FORMATS_JSON_JSON_H
#define FORMATS_JSON_JSON_H

#include "formats/format.h"
#include "stream/output.h"

struct json_writer {
	struct stream_sink sink; /* first */
	struct format_options o;
	struct output out;
	const struct trace *t;
	bool lines; /* the format jsonl: an object a line */
	uint64_t lines_written, records;
	/* What was under way at the end, in order of time, until that is written. */
	const struct t_open_call **open_calls;
	const struct t_unfinished **unfinished;
	uint32_t open_count, open_room, unfinished_count, unfinished_room;
};

static inline struct json_writer *json_writer_of(struct stream_sink *s)
{
	return (struct json_writer *)(void *)s;
}

/* ns since the trace began; 0 stays 0. */
int64_t json_since(const struct trace *t, int64_t ns);

/* "key": after a comma unless `first`. */
void json_key(struct output *o, const char *key, bool first);
/* With a key that needs no escape: one of the writer's own. */
void json_key_text(struct output *o, const char *key, const char *value);
void json_key_unsigned(struct output *o, const char *key, uint64_t v);
void json_key_signed(struct output *o, const char *key, int64_t v);
void json_key_hex(struct output *o, const char *key, uint64_t v); /* null when zero */
void json_key_bool(struct output *o, const char *key, bool v);
void json_key_real(struct output *o, const char *key, double v);

/*
 * frame.c: what lies between objects. Of a list of definitions, whose positions are indexes, with what a line calls
 * element `i`; of a list of anything else; of the records.
 */
void json_open_list(struct json_writer *w, const char *key);
void json_element(struct json_writer *w, const char *what, uint32_t i);
void json_close_element(struct json_writer *w);
void json_close_list(struct json_writer *w, uint32_t count);
void json_item(struct json_writer *w, const char *kind, bool first);
void json_open_record(struct json_writer *w, const char *kind);
kymo_status_t json_close_record(struct json_writer *w);
void json_close_head(struct json_writer *w); /* of lines: "trace", which has no lists there */

/* definitions.c */
kymo_status_t json_definitions(struct json_writer *w);

/* end.c */
void json_open_call(struct json_writer *w, const struct t_open_call *c, bool first);
void json_unfinished(struct json_writer *w, const struct t_unfinished *u, bool first);
void json_end(struct json_writer *w, const struct trace *t);

/* records.c */
void json_set_records(struct stream_sink *s);
/* Records of that domain have keys of their own, and no "args". */
bool json_has_own_keys(const char *domain);

#endif
