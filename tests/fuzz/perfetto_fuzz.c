/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a Perfetto trace, read into the JSON writer, which looks at all that records refer
 * to, and into the writer of the format itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "support/memory_file.h"

extern const struct format format_perfetto, format_json;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static struct stream_log quiet = {ignore};

/* Every record lies in time, and names what is there. */
static const struct trace *trace;
static uint32_t strings; /* that were there before the first record */

static void check(const struct rec *r)
{
	if (r->end < r->start || r->process >= trace->processes_count ||
	    r->thread >= trace->threads_count || r->op >= trace->ops_count)
		abort();
}

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	trace = t;
	strings = t->strings_count;
	return KYMO_OK;
}

static kymo_status_t call(struct stream_sink *s, const struct rec *r)
{
	check(r);
	return KYMO_OK;
}

static kymo_status_t dispatch(struct stream_sink *s, const struct rec_dispatch *r)
{
	check(&r->base);
	if (r->agent >= trace->agents_count || r->queue >= trace->queues_count ||
	    r->kernel >= trace->kernels_count)
		abort();
	return KYMO_OK;
}

static kymo_status_t copy(struct stream_sink *s, const struct rec_copy *r)
{
	check(&r->base);
	if (r->source_agent >= trace->agents_count || r->queue >= trace->queues_count ||
	    r->destination_agent >= trace->agents_count)
		abort();
	return KYMO_OK;
}

static kymo_status_t counter(struct stream_sink *s, const struct rec_counter *r)
{
	check(&r->base);
	if (r->counter >= trace->counters_count || r->agent >= trace->agents_count)
		abort();
	return KYMO_OK;
}

static kymo_status_t other(struct stream_sink *s, const struct rec *r)
{
	check(r);
	return KYMO_OK;
}

static kymo_status_t marker(struct stream_sink *s, const struct rec_marker *r)
{
	check(&r->base);
	if (r->name >= strings || r->domain >= strings || r->category >= strings)
		abort();
	return KYMO_OK;
}

static void read_with(const char *path, const struct format *writer)
{
	struct format_options o = {.output = "/dev/null", .force = true, .log = &quiet};
	struct stream_sink *sink;

	if (writer->write(&o, &sink) != KYMO_OK)
		abort();
	format_perfetto.read(path, NULL, false, sink, &o);
	writer->sink_free(sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream_sink checks = {.begin = begin,
				     .call = call,
				     .dispatch = dispatch,
				     .copy = copy,
				     .counter = counter,
				     .other = other,
				     .marker = marker};
	struct format_options o = {.log = &quiet};
	static struct memory_file file;

	if (!file.path[0] && !memory_file_open(&file))
		abort();
	if (!memory_file_set(&file, data, size))
		return 0;
	format_perfetto.probe(file.path);
	format_perfetto.read(file.path, NULL, false, &checks, &o);
	read_with(file.path, &format_json);
	read_with(file.path, &format_perfetto);
	return 0;
}
