/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, as flame graph tools read them: a line for each stack, its frames from the outermost in,
 * separated by ';', a blank, and a number: nanoseconds of processor time.
 */
#include <stdlib.h>

#include "formats/format.h"
#include "stream/names.h"
#include "stream/output.h"
#include "stream/profile.h"
#include "stream/symbol.h"

struct folded {
	struct stream_sink sink; /* first */
	const struct format_options *o;
	const struct trace *t;
	struct profile profile;
	struct output out;
	bool open;
};

static struct folded *folded(struct stream_sink *s)
{
	return (struct folded *)(void *)s;
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	folded(s)->t = t;
	return KYMO_OK;
}

static kymo_status_t on_sample(struct stream_sink *s, const struct rec_sample *r)
{
	return profile_add(&folded(s)->profile, r) ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t on_other(struct stream_sink *s, const struct rec *r)
{
	folded(s)->profile.elsewhere++;
	return KYMO_OK;
}

/* ';' separates frames and a line ends one. */
static void put_frame(struct output *o, const char *name)
{
	for (; *name; name++)
		output_char(o, *name == ';' ? ',' : (unsigned char)*name < ' ' ? '_' : *name);
}

static void put_thread(struct folded *w, uint32_t thread)
{
	const struct t_thread *th = &w->t->threads[thread];
	const struct t_process *p = &w->t->processes[th->process];
	struct output *o = &w->out;

	put_frame(o, name_program(p));
	if (p->rank != UINT32_MAX) {
		output_text(o, " rank ");
		output_unsigned(o, p->rank);
	} else if (w->t->processes_count > 2) {
		output_char(o, ' ');
		output_unsigned(o, p->pid);
	}
	output_text(o, ";");
	put_frame(o, th->name[0] ? th->name : "thread");
	output_char(o, ' ');
	output_unsigned(o, th->tid);
}

static void put_row(struct folded *w, struct symbols *names, const struct profile_row *r)
{
	struct output *o = &w->out;
	uint32_t count;
	const uint32_t *sites = profile_frames(w->t, r, &count);
	char name[1024];

	put_thread(w, r->thread);
	for (uint32_t i = count; i-- > 0;) {
		const struct symbol *y = symbols_site(names, sites[i]);

		output_char(o, ';');
		put_frame(o, y->function ? y->function
					 : symbols_text(names, sites[i], name, sizeof(name)));
	}
	if (!count) {
		output_char(o, ';');
		output_hex(o, r->pc);
	}
	if (r->kernel)
		output_text(o, ";[kernel]");
	output_char(o, ' ');
	output_unsigned(o, r->weight > 0 ? (uint64_t)r->weight : r->samples);
	output_char(o, '\n');
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct folded *w = folded(s);
	kymo_status_t status = profile_check(&w->profile, t, "folded", w->o->log);
	struct symbols *names;

	if (status != KYMO_OK)
		return status;
	names = symbols_new(t, w->o->log);
	if (!names)
		return KYMO_ERROR_NO_MEMORY;
	profile_sort(&w->profile);
	for (uint32_t i = 0; i < w->profile.count; i++)
		put_row(w, names, &w->profile.rows[i]);
	symbols_free(names);
	w->open = false;
	return output_close(&w->out, w->o->log);
}

static kymo_status_t folded_write(const struct format_options *o, struct stream_sink **sink)
{
	struct folded *w = calloc(1, sizeof(*w));
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

static void folded_free(struct stream_sink *s)
{
	struct folded *w = folded(s);

	if (w->open)
		output_close(&w->out, w->o->log);
	profile_release(&w->profile);
	free(w);
}

extern const struct format format_folded;
const struct format format_folded = {
	.name = "folded",
	.summary = "call stacks of samples, one a line, for flame graphs (flamegraph.pl, inferno)",
	.suffix = ".folded",
	.write = folded_write,
	.sink_free = folded_free,
};
