/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for https://www.speedscope.app, after its published schema (file-format-schema.json): frames that all
 * share, and a sampled profile for each thread, whose weights are nanoseconds of processor time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/format.h"
#include "stream/names.h"
#include "stream/output.h"
#include "stream/profile.h"
#include "stream/symbol.h"

struct speedscope {
	struct stream_sink sink; /* first */
	const struct format_options *o;
	const struct trace *t;
	struct profile profile;
	uint32_t *frames; /* number of a site's frame, plus one; 0: not used */
	uint32_t frame_count;
	struct output out;
	bool open;
};

static struct speedscope *speedscope(struct stream_sink *s)
{
	return (struct speedscope *)(void *)s;
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	speedscope(s)->t = t;
	return KYMO_OK;
}

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	return profile_add(&speedscope(s)->profile, r) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	speedscope(s)->profile.elsewhere++;
	return KYMO_OK;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void begin_frame(struct speedscope *w)
{
	output_text(&w->out, w->frame_count ? ",\n{\"name\":" : "\n{\"name\":");
	w->frame_count++;
}

static void put_site(struct speedscope *w, struct symbols *names, uint32_t site)
{
	const struct symbol *y = symbols_site(names, site);
	char place[1024];

	if (w->frames[site])
		return;
	begin_frame(w);
	w->frames[site] = w->frame_count;
	output_json(&w->out,
		    y->function ? y->function : symbols_text(names, site, place, sizeof(place)));
	if (y->file) {
		output_text(&w->out, ",\"file\":");
		output_json(&w->out, y->file);
	}
	if (y->file && y->line) {
		output_text(&w->out, ",\"line\":");
		output_unsigned(&w->out, y->line);
	}
	output_char(&w->out, '}');
}

/* The frames of a stack, or the address alone: its row then says which frame that is. */
static void put_frames(struct speedscope *w, struct symbols *names, struct profile_row *r)
{
	uint32_t count;
	const uint32_t *sites = profile_frames(w->t, r, &count);

	for (uint32_t i = 0; i < count; i++)
		put_site(w, names, sites[i]);
	if (count)
		return;
	begin_frame(w);
	output_text(&w->out, "\"");
	output_hex(&w->out, r->pc);
	output_text(&w->out, "\"}");
	r->pc = w->frame_count;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static int64_t weight_of(const struct profile_row *r)
{
	return r->weight > 0 ? r->weight : (int64_t)r->samples;
}

static void put_stack(struct speedscope *w, const struct profile_row *r)
{
	uint32_t count;
	const uint32_t *sites = profile_frames(w->t, r, &count);

	output_char(&w->out, '[');
	for (uint32_t i = count; i-- > 0;) {
		output_unsigned(&w->out, w->frames[sites[i]] - 1);
		if (i)
			output_char(&w->out, ',');
	}
	if (!count)
		output_unsigned(&w->out, r->pc - 1);
	output_char(&w->out, ']');
}

static void put_name(struct speedscope *w, uint32_t thread)
{
	const struct t_thread *th = &w->t->threads[thread];
	const struct t_process *p = &w->t->processes[th->process];
	char name[512];

	snprintf(name, sizeof(name), "%s[%u] %s%s%u", name_program(p), p->pid, th->name,
		 th->name[0] ? " " : "", th->tid);
	output_json(&w->out, name);
}

/* Rows `from` to `to` are of one thread. */
static void put_profile(struct speedscope *w, uint32_t from, uint32_t to)
{
	const struct profile_row *rows = w->profile.rows;
	struct output *o = &w->out;
	int64_t all = 0;

	for (uint32_t i = from; i < to; i++)
		all += weight_of(&rows[i]);
	output_text(o, from ? ",\n{\"type\":\"sampled\",\"name\":"
			    : "\n{\"type\":\"sampled\",\"name\":");
	put_name(w, rows[from].thread);
	output_text(o, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
	output_signed(o, all);
	output_text(o, ",\n\"samples\":[");
	for (uint32_t i = from; i < to; i++) {
		if (i > from)
			output_char(o, ',');
		put_stack(w, &rows[i]);
	}
	output_text(o, "],\n\"weights\":[");
	for (uint32_t i = from; i < to; i++) {
		if (i > from)
			output_char(o, ',');
		output_signed(o, weight_of(&rows[i]));
	}
	output_text(o, "]}");
}

static void put_document(struct speedscope *w, struct symbols *names)
{
	struct profile *p = &w->profile;
	struct output *o = &w->out;

	output_text(
		o,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
	output_json(o, w->t->command);
	output_text(o,
		    ",\"exporter\":\"kymo\",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < p->count; i++)
		put_frames(w, names, &p->rows[i]);
	output_text(o, "]},\n\"profiles\":[");
	for (uint32_t from = 0, to; from < p->count; from = to) {
		for (to = from + 1; to < p->count && p->rows[to].thread == p->rows[from].thread;
		     to++)
			;
		put_profile(w, from, to);
	}
	output_text(o, "]}\n");
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct speedscope *w = speedscope(s);
	kymo_status_t status = profile_check(&w->profile, t, "speedscope", w->o->log);
	struct symbols *names;

	if (status != KYMO_OK)
		return status;
	names = symbols_new(t, w->o->log);
	w->frames = calloc(t->sites_count, sizeof(*w->frames));
	if (!names || !w->frames) {
		symbols_free(names);
		return KYMO_ERROR_NO_MEMORY;
	}
	profile_sort(&w->profile);
	put_document(w, names);
	symbols_free(names);
	w->open = false;
	return output_close(&w->out, w->o->log);
}

static kymo_status_t speedscope_write(const struct format_options *o, struct stream_sink **sink)
{
	struct speedscope *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = o;
	status = output_open(&w->out, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		free(w);
		return status;
	}
	w->open = true;
	w->sink = (struct stream_sink){.begin = on_begin,
				       .call = on_other,
				       .other = on_other,
				       .sample = on_sample,
				       .end = on_end};
	stream_sink_complete(&w->sink);
	*sink = &w->sink;
	return KYMO_OK;
}

static void speedscope_free(struct stream_sink *s)
{
	struct speedscope *w = speedscope(s);

	if (w->open)
		output_close(&w->out, w->o->log);
	profile_release(&w->profile);
	free(w->frames);
	free(w);
}

extern const struct format format_speedscope;
const struct format format_speedscope = {
	.name = "speedscope",
	.summary = "call stacks of samples, for speedscope.app",
	.suffix = ".speedscope.json",
	.write = speedscope_write,
	.sink_free = speedscope_free,
};
