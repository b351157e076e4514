/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of samples and of values of counters. */
#include <stdio.h>

#include "formats/text/text.h"

static void add_unsigned(struct text_writer *w, const char *before, uint64_t v)
{
	output_text(&w->out, before);
	output_unsigned(&w->out, v);
}

static void begin_line(struct text_writer *w, const struct rec *r)
{
	if (w->o.entry_exit)
		text_flush_exits(w, r->start);
	text_begin_line(w, r->start, INT64_MIN, w->thread_names[r->thread]);
	output_name(&w->out, w->op_names[r->op]);
}

static kymo_status_t end_line(struct text_writer *w)
{
	output_char(&w->out, '\n');
	return output_status(&w->out);
}

/* Functions from the innermost one outwards. */
kymo_status_t text_sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct text_writer *w = text_writer_of(s);
	const uint32_t *sites;
	uint32_t count;

	if (w->o.device_only)
		return KYMO_OK;
	begin_line(w, &r->base);
	if (r->lost) {
		add_unsigned(w, " *** ", r->lost);
		output_text(&w->out, " samples lost");
		return end_line(w);
	}
	sites = symbols_stack(w->symbols, r->base.stack, SYMBOLS_TIME, &count);
	for (uint32_t i = 0; i < count; i++) {
		output_text(&w->out, i ? " < " : " ");
		text_frames(w, sites[i]);
	}
	if (!count) {
		output_text(&w->out, " ");
		output_hex(&w->out, r->pc);
	}
	if (r->kernel)
		output_text(&w->out, " [kernel]");
	add_unsigned(w, " cpu=", r->cpu);
	if (r->weight) {
		output_text(&w->out, " weight=");
		output_signed(&w->out, r->weight);
		output_text(&w->out, " ns");
	}
	if (r->correlation)
		add_unsigned(w, " call=", r->correlation);
	if (r->base.scope) {
		output_text(&w->out, " in=");
		output_signed(&w->out, r->base.scope);
	}
	return end_line(w);
}

/* Of the device, so shown where only devices are asked for. */
kymo_status_t text_device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	struct text_writer *w = text_writer_of(s);
	const struct t_code *code = &w->t->codes[r->code];

	begin_line(w, &r->base);
	if (r->lost || r->full) {
		add_unsigned(w, " *** ", r->lost);
		output_text(&w->out, " samples lost");
		if (r->full)
			add_unsigned(w,
				     ", and those for which a buffer was full, times: ", r->full);
		return end_line(w);
	}
	output_char(&w->out, ' ');
	output_name(&w->out, code->function);
	add_unsigned(w, "+", code->offset);
	if (code->line) {
		output_text(&w->out, " ");
		output_name(&w->out, code->file);
		add_unsigned(w, ":", code->line);
	}
	output_char(&w->out, ' ');
	output_name(&w->out, w->t->strings[r->reason].text);
	add_unsigned(w, " samples=", r->samples);
	add_unsigned(w, " idle=", r->idle);
	if (r->cycles)
		add_unsigned(w, " cycles=", r->cycles);
	output_text(&w->out, " of ");
	output_name(&w->out, w->t->agents[r->agent].label);
	if (r->correlation)
		add_unsigned(w, " call=", r->correlation);
	return end_line(w);
}

kymo_status_t text_counter(struct stream_sink *s, const struct rec_counter *r)
{
	struct text_writer *w = text_writer_of(s);
	const struct t_counter *c = &w->t->counters[r->counter];
	char value[64];

	if (w->o.device_only)
		return KYMO_OK;
	begin_line(w, &r->base);
	output_char(&w->out, ' ');
	output_name(&w->out, c->name);
	if (*c->dimensions) {
		add_unsigned(w, "[", r->instance);
		output_char(&w->out, ']');
	}
	snprintf(value, sizeof(value), "=%.15g", r->value);
	output_text(&w->out, value);
	if (*c->unit) {
		output_char(&w->out, ' ');
		output_name(&w->out, c->unit);
	}
	if (r->agent) {
		output_text(&w->out, " of ");
		output_name(&w->out, w->t->agents[r->agent].label);
	}
	if (r->duration) { /* a level is of a moment */
		output_text(&w->out, " in ");
		output_duration(&w->out, r->duration, 0);
	}
	if (r->call_op || r->kernel) {
		output_text(&w->out, " by ");
		output_name(&w->out,
			    r->kernel ? w->t->kernels[r->kernel].name : w->t->ops[r->call_op].name);
	}
	if (r->correlation)
		add_unsigned(w, " call=", r->correlation);
	return end_line(w);
}
