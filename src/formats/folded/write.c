/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, as flame graph tools read them: a line for each stack, its frames from the outermost in,
 * separated by ';', a blank, and a number: nanoseconds of processor time, or bytes.
 */
#include <stdlib.h>

#include "formats/format.h"
#include "stream/profile.h"

/* ';' separates frames and a line ends one. */
static void put_frame(struct output *o, const char *name)
{
	for (; *name; name++)
		output_char(o, *name == ';' ? ',' : (unsigned char)*name < ' ' ? '_' : *name);
}

static void put_thread(struct profile_writer *w, uint32_t thread)
{
	struct text process = {0}, name = {0};

	profile_add_process(&process, w->t, w->t->threads[thread].process);
	profile_add_thread(&name, w->t, thread);
	put_frame(&w->out, process.s ? process.s : "");
	output_char(&w->out, ';');
	put_frame(&w->out, name.s ? name.s : "");
	text_release(&process);
	text_release(&name);
}

/* Outermost first. */
static void put_frames(struct output *o, const struct symbol *y)
{
	char name[1024];

	if (y->caller)
		put_frames(o, y->caller);
	output_char(o, ';');
	put_frame(o, symbol_frame(y, name, sizeof(name)));
}

static void put_row(struct profile_writer *w, const struct profile_row *r)
{
	struct output *o = &w->out;
	uint32_t count;
	const uint32_t *sites = profile_frames(w->names, w->of, r, &count);

	put_thread(w, r->thread);
	for (uint32_t i = count; i-- > 0;)
		put_frames(o, symbols_site(w->names, sites[i]));
	if (!count) {
		output_char(o, ';');
		output_hex(o, r->pc);
	}
	if (r->kernel)
		output_text(o, ";[kernel]");
	output_char(o, ' ');
	output_unsigned(o, profile_weight(r));
	output_char(o, '\n');
}

static kymo_status_t put_rows(struct profile_writer *w)
{
	for (uint32_t i = 0; i < w->rows.count; i++)
		put_row(w, &w->rows.at[i]);
	return KYMO_OK;
}

static kymo_status_t folded_write(const struct format_options *o, struct stream_sink **sink)
{
	struct profile_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->put = put_rows;
	status = profile_begin(w, "folded", o->variant, o->output, o->force, o->log);
	if (status != KYMO_OK) {
		free(w);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

static void folded_free(struct stream_sink *s)
{
	struct profile_writer *w = (struct profile_writer *)(void *)s;

	profile_release(w);
	free(w);
}

static const struct format_kind kinds[] = {
	{"call", FORMAT_LEAVES, "calls", "it is a profile of samples"},
	{"sample", FORMAT_KEEPS_PART, "times and processors of samples; samples that were lost",
	 "flamegraph.pl: a line has a stack and one number"},
	{"*", FORMAT_LEAVES, NULL, "it is a profile of samples"},
	{0}};

extern const struct format format_folded;
const struct format format_folded = {
	.name = "folded",
	.summary = "call stacks of samples, or of malloc(), one a line, for flame graphs "
		   "(flamegraph.pl, inferno)",
	.suffix = ".folded",
	.kinds = kinds,
	.variants = PROFILE_VARIANTS,
	.variant = profile_variant,
	.write = folded_write,
	.sink_free = folded_free,
};
