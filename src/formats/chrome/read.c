/* SPDX-License-Identifier: Apache-2.0 */
/* The file as a whole: an object with a list of events among its members, or that list alone. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bulk.h"
#include "formats/chrome/chrome.h"
#include "formats/chrome/reader.h"
#include "stream/spool.h"

#define PROBED (1u << 20) /* bytes at a time */
#define PROBES 64u        /* in so many a file must show what it is: other members may come first */

/* ---- what it is ------------------------------------------------------------------------------ */

static bool has_events(struct source *s)
{
	static const char name[] = "\"traceEvents\"";
	const size_t length = sizeof(name) - 1;
	char *text = malloc(PROBED + length);
	size_t kept = 0;
	bool has = false;

	gzrewind(s->file);
	for (unsigned i = 0; text && i < PROBES && !has; i++) {
		int n = gzread(s->file, text + kept, PROBED);

		if (n <= 0)
			break;
		kept += (size_t)n;
		has = memmem(text, kept, name, length) != NULL;
		if (kept > length) { /* it may lie across the end */
			memmove(text, text + kept - length, length);
			kept = length;
		}
	}
	free(text);
	return has;
}

/* Writers begin or end their list with one of these, where each event has a comma before or behind it. */
static bool is_filler(struct span value)
{
	return value.n == 2 && value.s[0] == '{';
}

static bool begins_with_event(struct source *s)
{
	struct span value, phase;

	for (unsigned i = 0; i < PROBES; i++) {
		if (source_peek(s) == ',')
			source_take(s);
		if (source_peek(s) != '{' || !source_value(s, &value))
			return false;
		if (!is_filler(value))
			return span_find(value, "ph", &phase);
	}
	return false;
}

/* The file begins with an object that has a list of events, or with a list of objects that have phases. */
bool chrome_probe(const char *path)
{
	struct source s;
	int first, n = 0;

	if (!source_open(&s, path)) {
		source_close(&s);
		return false;
	}
	first = source_peek(&s);
	if (first < 0) {
		n = s.broken &&
		    !gzdirect(s.file); /* of what is compressed, the reader says what is wrong */
	} else if (first == '[') {
		source_take(&s);
		n = begins_with_event(&s);
	} else if (first == '{') {
		n = has_events(&s);
	}
	source_close(&s);
	return n != 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void take_event(struct reader *r, struct span value)
{
	struct event e;

	if (event_parse(value, &e))
		reader_event(r, &e);
	else if (value.n && !is_filler(value)) /* empty: it was too large, and is counted as that */
		r->malformed++;
}

static bool stray(int c)
{
	return c == ',' || c == ':' || c == '}' || c == ']';
}

/* Up to the end of the list, or of the file: writers that were killed leave it open. */
static void take_events(struct reader *r)
{
	uint64_t n = 0;
	struct span value;
	int c;

	for (; (c = source_peek(&r->source)) >= 0 && c != ']' && !r->failed; n++) {
		if (stray(c)) {
			source_take(&r->source);
			continue;
		}
		if (!source_value(&r->source, &value)) {
			r->malformed++;
			break;
		}
		take_event(r, value);
		if (r->o->progress && n % 16384 == 0)
			r->o->progress(r->o->progress_data, 0.5 * source_done(&r->source));
	}
	r->open_end = c < 0;
	if (c == ']')
		source_take(&r->source);
}

static void take_member(struct reader *r)
{
	struct span key, value;
	char name[64];
	size_t n;

	if (!source_value(&r->source, &key) || !span_is_string(key)) {
		r->malformed++;
		return;
	}
	n = key.n - 2 < sizeof(name) ? key.n - 2 : sizeof(name) - 1;
	memcpy(name, key.s + 1, n); /* the next value lies where it lay */
	if (source_peek(&r->source) != ':')
		return;
	source_take(&r->source);
	if (n == 11 && memcmp(name, "traceEvents", n) == 0 && source_peek(&r->source) == '[') {
		source_take(&r->source);
		take_events(r);
	} else if (source_value(&r->source, &value)) {
		reader_top_member(r, (struct span){name, n}, value);
	}
}

static void take_file(struct reader *r)
{
	int c = source_peek(&r->source);

	if (c < 0)
		return;
	source_take(&r->source);
	if (c == '[') {
		take_events(r);
		r->trailing = source_peek(&r->source) >= 0;
		return;
	}
	while ((c = source_peek(&r->source)) >= 0 && c != '}' && !r->failed) {
		if (c == ',' || stray(c))
			source_take(&r->source);
		else
			take_member(r);
	}
	r->open_end |= c < 0;
	if (c == '}') {
		source_take(&r->source);
		r->trailing = source_peek(&r->source) >= 0;
	}
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void say_loss(const struct reader *r)
{
	const char *path = r->source.path;
	struct stream_log *log = r->o->log;

	for (uint32_t i = 0; i < r->left_out_count; i++)
		stream_warn(log, "%s: not taken: %s (%" PRIu64 ")", path, r->left_out[i].text,
			    r->left_out[i].count);
	if (r->malformed)
		stream_warn(log, "%s: passed over: what is no event (%" PRIu64 ")", path,
			    r->malformed);
	if (r->source.too_large)
		stream_warn(log, "%s: passed over: values larger than %u MB (%" PRIu64 ")", path,
			    (unsigned)(SOURCE_VALUE_MAX >> 20), r->source.too_large);
	if (r->wrong)
		stream_warn(log,
			    "%s: values that are no numbers from 0 up: read as 0 (%" PRIu64 ")",
			    path, r->wrong);
	if (r->trailing)
		stream_warn(log, "%s: damaged: what comes after its end is not read", path);
	if (r->source.broken)
		stream_error(log, "%s: %s: what comes after is lost", path, r->source.broken);
	else if (r->open_end)
		stream_warn(log,
			    "%s: the list of events has no end: its writer may have been stopped",
			    path);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void release(struct reader *r)
{
	struct map *const maps[] = {&r->ops,           &r->agents,      &r->rows,
				    &r->communicators, &r->device_rows, &r->device_counter_names};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	if (r->mapped)
		munmap((void *)(uintptr_t)r->mapped, r->details_size);
	if (r->details_file >= 0)
		close(r->details_file);
	text_release(&r->scratch);
	text_release(&r->other);
	text_release(&r->packed);
	text_release(&r->details_buffer);
	bulk_map_release(&r->calls);
	bulk_free(r->entries);
	bulk_free(r->placed);
	bulk_free(r->order);
	free(r->devices);
	free(r->device_counters);
	free(r->left_out);
	free(r->scopes);
	keyed_release(&r->keyed);
	source_close(&r->source);
	trace_free(r->t);
}

/* What was not taken stays with the trace: of other kinds of events a note, else as lost. */
static void keep_losses(struct reader *r)
{
	char text[sizeof(r->left_out->text) + 16];

	make_lost(r->t, 0, r->malformed + r->source.too_large,
		  r->trailing + (r->source.broken != NULL));
	for (uint32_t i = 0; i < r->left_out_count && r->t->processes_count > 1; i++) {
		int n = snprintf(text, sizeof(text), "not taken: %s", r->left_out[i].text);

		*trace_add(r->t, notes) = (struct t_note){
			.process = 1,
			.severity = 1,
			.part = "chrome",
			.text = trace_string(r->t, text, (size_t)n),
			.time = r->t->origin,
			.count = r->left_out[i].count,
		};
	}
}

static kymo_status_t read_all(struct reader *r, struct stream_sink *sink)
{
	take_file(r);
	if (!r->failed && !reader_order(r))
		r->failed = true;
	say_loss(r);
	if (r->failed)
		return r->no_room ? KYMO_ERROR_SYSTEM : KYMO_ERROR_NO_MEMORY;
	if (!r->picked)
		return make_no_event(r->o->log, r->source.path);
	reader_complete(r);
	reader_tell_ranks(r);
	keep_losses(r);
	if (r->failed || !make_complete(r->t))
		return KYMO_ERROR_NO_MEMORY;
	stream_sink_complete(sink);
	return reader_emit(r, sink);
}

kymo_status_t chrome_read(const char *path, const struct stream_filter *filter, bool ordered,
			  struct stream_sink *sink, const struct format_options *o)
{
	struct reader r = {.o = o,
			   .details_file = spool_temporary(o->log),
			   .window = {INT64_MAX, INT64_MIN},
			   .rank = UINT32_MAX};
	kymo_status_t status = KYMO_ERROR_SYSTEM;

	(void)filter;
	(void)ordered;
	if (r.details_file < 0)
		return status;
	r.t = r.keyed.t = trace_new();
	if (!r.t) {
		close(r.details_file);
		return KYMO_ERROR_NO_MEMORY;
	}
	if (source_open(&r.source, path)) {
		make_usual_activities(r.t, &r.model);
		make_activity(&r.model, RECORD_DOMAIN_sample, 0);
		make_activity(&r.model, RECORD_DOMAIN_comm, 0);
		status = read_all(&r, sink);
	} else {
		stream_error(o->log, "%s: %s", path, strerror(errno));
	}
	make_tell_memory(status, o->log, path);
	release(&r);
	return status;
}
