/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of raw traces: the directory, its manifest, and the sink. See write.h. */
#include "formats/raw/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "formats/raw/writer.h"

static struct raw_writer *writer(struct stream_sink *s)
{
	return (struct raw_writer *)(void *)s;
}

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct raw_writer *w = writer(s);

	w->t = t;
	w->process_count = t->processes_count;
	w->thread_count = t->threads_count + t->processes_count;
	w->processes = calloc(t->processes_count, sizeof(*w->processes));
	w->threads = calloc(w->thread_count, sizeof(*w->threads));
	if (!w->processes || !w->threads)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = t->threads_count; i-- > 1;) {
		struct raw_out *p = &w->processes[t->threads[i].process];

		w->threads[i].next = p->first_thread;
		p->first_thread = i;
	}
	return raw_out_begin(w) && raw_out_tallies(w) ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static void add_string(struct text *out, const char *name, const char *value)
{
	text_addf(out, "  \"%s\": ", name);
	text_add_json(out, value);
	text_add(out, ",\n");
}

static void add_time(struct text *out, const char *name, int64_t seconds)
{
	time_t s = (time_t)seconds;
	char iso[40] = "";
	struct tm tm;

	if (!seconds || !gmtime_r(&s, &tm))
		return;
	strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%SZ", &tm);
	add_string(out, name, iso);
}

static kymo_status_t write_manifest(struct raw_writer *w)
{
	const struct trace *t = w->t;
	struct text out = {0};
	char path[PATH_MAX + 16];
	bool ok;

	text_add(&out, "{\n  \"format\": \"kymo trace\",\n  \"version\": 1,\n");
	add_string(&out, "kymo", t->version);
	add_string(&out, "state", "complete");
	if (w->origin) {
		text_add(&out, "  \"imported\": {\"file\": ");
		text_add_json(&out, w->origin->file);
		text_add(&out, ", \"format\": ");
		text_add_json(&out, w->origin->format);
		text_add(&out, w->origin->passing ? ", \"passing\": true},\n" : "},\n");
	}
	add_string(&out, "hostname", t->hostname);
	add_time(&out, "started", t->started);
	text_add(&out, "  \"command\": ");
	text_add_json(&out, t->command);
	text_add(&out, "\n}\n");
	snprintf(path, sizeof(path), "%s/manifest.json", w->directory);
	ok = !out.failed && file_replace(path, out.s, out.length);
	if (!ok)
		raw_out_failed(w, path, out.failed ? ENOMEM : errno);
	text_release(&out);
	return ok ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct raw_writer *w = writer(s);

	w->t = t;
	if (!raw_out_find_under_way(w))
		return KYMO_ERROR_SYSTEM;
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (!raw_out_end(w, i))
			return KYMO_ERROR_SYSTEM;
	return write_manifest(w);
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool make_folders(struct raw_writer *w)
{
	char raw[PATH_MAX + 8];

	snprintf(raw, sizeof(raw), "%s/raw", w->directory);
	return (mkdir(w->directory, 0700) == 0 && mkdir(raw, 0700) == 0) ||
	       raw_out_failed(w, w->directory, errno);
}

kymo_status_t raw_writer_new(const char *directory, const struct raw_origin *origin,
			     struct stream_log *log, struct stream_sink **sink)
{
	struct raw_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->log = log;
	w->origin = origin;
	snprintf(w->directory, sizeof(w->directory), "%s", directory);
	if (!make_folders(w)) {
		free(w);
		return KYMO_ERROR_SYSTEM;
	}
	w->sink.begin = begin;
	w->sink.end = end;
	raw_out_sink(w);
	stream_sink_complete(&w->sink);
	*sink = &w->sink;
	return KYMO_OK;
}

void raw_writer_free(struct stream_sink *sink)
{
	struct raw_writer *w = writer(sink);

	for (uint32_t i = 0; w->threads && i < w->thread_count; i++)
		free(w->threads[i].memory);
	for (uint32_t i = 0; w->processes && i < w->process_count; i++) {
		free(w->processes[i].definitions);
		map_release(&w->processes[i].defined);
	}
	free(w->threads);
	free(w->processes);
	free(w->ops);
	free(w->wire_ops);
	free(w->under_way);
	free(w);
}
