/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for https://www.speedscope.app, after its published schema (file-format-schema.json): frames that all
 * share, and a sampled profile for each thread, whose weights are nanoseconds of processor time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/format.h"
#include "stream/names.h"
#include "stream/profile.h"

struct speedscope {
	struct profile_writer w; /* first */
	uint32_t *frames;        /* number of a site's frame, plus one; 0: not used */
	uint32_t frame_count;
};

/* ---- frames ---------------------------------------------------------------------------------- */

static void begin_frame(struct speedscope *w)
{
	output_text(&w->w.out, w->frame_count ? ",\n{\"name\":" : "\n{\"name\":");
	w->frame_count++;
}

static void put_frame(struct speedscope *w, const struct symbol *y)
{
	char name[1024];

	begin_frame(w);
	output_json(&w->w.out, symbol_frame(y, name, sizeof(name)));
	if (y->file) {
		output_text(&w->w.out, ",\"file\":");
		output_json(&w->w.out, y->file);
	}
	if (y->file && y->line) {
		output_text(&w->w.out, ",\"line\":");
		output_unsigned(&w->w.out, y->line);
	}
	output_char(&w->w.out, '}');
}

/* The frames of a place are one behind the other, the innermost first. */
static void put_site(struct speedscope *w, uint32_t site)
{
	if (w->frames[site])
		return;
	w->frames[site] = w->frame_count + 1;
	for (const struct symbol *y = symbols_site(w->w.names, site); y; y = y->caller)
		put_frame(w, y);
}

/* The frames of a stack, or the address alone: its row then says which frame that is. */
static void put_frames(struct speedscope *w, struct profile_row *r)
{
	uint32_t count;
	const uint32_t *sites = profile_frames(w->w.names, w->w.of, r, &count);

	for (uint32_t i = 0; i < count; i++)
		put_site(w, sites[i]);
	if (count)
		return;
	begin_frame(w);
	output_text(&w->w.out, "\"");
	output_hex(&w->w.out, r->pc);
	output_text(&w->w.out, "\"}");
	r->pc = w->frame_count;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static void put_stack(struct speedscope *w, const struct profile_row *r)
{
	uint32_t count;
	const uint32_t *sites = profile_frames(w->w.names, w->w.of, r, &count);

	output_char(&w->w.out, '[');
	for (uint32_t i = count; i-- > 0;) {
		uint32_t n = 0;

		for (const struct symbol *y = symbols_site(w->w.names, sites[i]); y; y = y->caller)
			n++;
		while (n-- > 0) {
			output_unsigned(&w->w.out, w->frames[sites[i]] - 1 + n);
			if (i || n)
				output_char(&w->w.out, ',');
		}
	}
	if (!count)
		output_unsigned(&w->w.out, r->pc - 1);
	output_char(&w->w.out, ']');
}

static void put_name(struct speedscope *w, uint32_t thread)
{
	const struct t_thread *th = &w->w.t->threads[thread];
	const struct t_process *p = &w->w.t->processes[th->process];
	char name[512];

	snprintf(name, sizeof(name), "%s[%u] %s%s%u", name_program(p), p->pid, th->name,
		 th->name[0] ? " " : "", th->tid);
	output_json(&w->w.out, name);
}

/* Rows `from` to `to` are of one thread. */
static void put_profile(struct speedscope *w, uint32_t from, uint32_t to)
{
	const struct profile_row *rows = w->w.rows.at;
	struct output *o = &w->w.out;
	uint64_t all = 0;

	for (uint32_t i = from; i < to; i++)
		all += profile_weight(&rows[i]);
	output_text(o, from ? ",\n{\"type\":\"sampled\",\"name\":"
			    : "\n{\"type\":\"sampled\",\"name\":");
	put_name(w, rows[from].thread);
	output_text(o, w->w.of == PROFILE_SAMPLES ? ",\"unit\":\"nanoseconds\""
						  : ",\"unit\":\"bytes\"");
	output_text(o, ",\"startValue\":0,\"endValue\":");
	output_unsigned(o, all);
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
		output_unsigned(o, profile_weight(&rows[i]));
	}
	output_text(o, "]}");
}

static void put_document(struct speedscope *w)
{
	const struct profile_writer *p = &w->w;
	struct output *o = &w->w.out;

	output_text(
		o,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
	output_json(o, w->w.t->command);
	output_text(o,
		    ",\"exporter\":\"kymo\",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < p->rows.count; i++)
		put_frames(w, &p->rows.at[i]);
	output_text(o, "]},\n\"profiles\":[");
	for (uint32_t from = 0, to; from < p->rows.count; from = to) {
		for (to = from + 1;
		     to < p->rows.count && p->rows.at[to].thread == p->rows.at[from].thread; to++)
			;
		put_profile(w, from, to);
	}
	output_text(o, "]}\n");
}

static kymo_status_t put_file(struct profile_writer *p)
{
	struct speedscope *w = (struct speedscope *)(void *)p;

	w->frames = calloc(p->t->sites_count, sizeof(*w->frames));
	if (!w->frames)
		return KYMO_ERROR_NO_MEMORY;
	put_document(w);
	return KYMO_OK;
}

static kymo_status_t speedscope_write(const struct format_options *o, struct stream_sink **sink)
{
	struct speedscope *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->w.put = put_file;
	status = profile_begin(&w->w, "speedscope", o->variant, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		free(w);
		return status;
	}
	*sink = &w->w.sink;
	return KYMO_OK;
}

static void speedscope_free(struct stream_sink *s)
{
	struct speedscope *w = (struct speedscope *)(void *)s;

	profile_release(&w->w);
	free(w->frames);
	free(w);
}

static const struct format_kind kinds[] = {
	{"call", FORMAT_LEAVES, "calls", "it is a profile of samples"},
	{"sample", FORMAT_KEEPS_PART, "times and processors of samples; samples that were lost",
	 "speedscope file format: a sampled profile has stacks and weights"},
	{"*", FORMAT_LEAVES, NULL, "it is a profile of samples"},
	{0}};

extern const struct format format_speedscope;
const struct format format_speedscope = {
	.name = "speedscope",
	.summary = "call stacks of samples, or of malloc(), for speedscope.app",
	.suffix = ".speedscope.json",
	.kinds = kinds,
	.variants = PROFILE_VARIANTS,
	.variant = profile_variant,
	.write = speedscope_write,
	.sink_free = speedscope_free,
};
