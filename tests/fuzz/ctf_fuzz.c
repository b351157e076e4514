/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a trace of CTF, read into the JSON writer, which looks at all that records refer to. The
 * files of the folder lie one behind the other, each with its length (u32) in front: metadata, then streams.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/format.h"

extern const struct format format_ctf, format_json;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 3 };

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static struct stream_log quiet = {ignore};

/* Every record lies in time, and names what is there. */
static const struct trace *trace;

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	trace = t;
	return KYMO_OK;
}

static void check(const struct rec *r)
{
	if (r->end < r->start || r->process >= trace->processes_count ||
	    r->site >= trace->sites_count || r->stack >= trace->stacks_count ||
	    r->thread >= trace->threads_count || r->op >= trace->ops_count)
		abort();
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

static char folder[] = "/tmp/kymo-fuzz-ctf-XXXXXX";
static const char *const names[FILES] = {"metadata", "a", "b"};

static void remove_files(void)
{
	char path[64];

	for (unsigned i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
}

static void remove_folder(void)
{
	remove_files();
	rmdir(folder);
}

static bool write_files(const uint8_t *data, size_t size)
{
	char path[64];

	for (unsigned i = 0; i < FILES && size >= 4; i++) {
		uint32_t length;
		FILE *f;

		memcpy(&length, data, sizeof(length));
		data += 4;
		size -= 4;
		length = length < size ? length : (uint32_t)size;
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		f = fopen(path, "wb");
		if (!f || fwrite(data, 1, length, f) != length || fclose(f) != 0)
			return false;
		data += length;
		size -= length;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream_sink checks = {.begin = begin, .call = call, .dispatch = dispatch};
	struct format_options o = {.output = "/dev/null", .force = true, .log = &quiet};
	struct stream_sink *sink;
	static bool made;

	if (!made) {
		if (!mkdtemp(folder) || atexit(remove_folder) != 0)
			abort();
		made = true;
	}
	remove_files();
	if (!write_files(data, size) || !format_ctf.probe(folder))
		return 0;
	stream_sink_complete(&checks);
	format_ctf.read(folder, NULL, false, &checks, &o);
	if (format_json.write(&o, &sink) != KYMO_OK)
		abort();
	format_ctf.read(folder, NULL, false, sink, &o);
	format_json.sink_free(sink);
	return 0;
}
