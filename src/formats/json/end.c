/* SPDX-License-Identifier: Apache-2.0 */
/* What is known at the end: of the processes, and what was under way. */
#include "formats/json/json.h"
#include "stream/names.h"
#include "stream/recorded.h"

/* A list whose positions mean nothing: its elements are lines with a kind of their own. */
static void open_plain_list(struct json_writer *w, const char *key)
{
	if (w->lines)
		return;
	output_text(&w->out, ",\n ");
	json_key(&w->out, key, true);
	output_char(&w->out, '[');
}

static void close_plain_list(struct json_writer *w)
{
	if (!w->lines)
		output_char(&w->out, ']');
}

void json_open_call(struct json_writer *w, const struct t_open_call *c, bool first)
{
	struct output *o = &w->out;
	const struct t_op *op = &w->t->ops[c->op];

	json_item(w, "open_call", first);
	json_key(o, "thread", true);
	output_unsigned(o, c->thread);
	json_key_text(o, "domain", w->t->domains[op->domain].name);
	json_key_text(o, "op", op->name);
	json_key_unsigned(o, "id", c->id);
	json_key_unsigned(o, "depth", c->depth);
	json_key_signed(o, "start", json_since(w->t, c->start));
	json_close_element(w);
}

void json_unfinished(struct json_writer *w, const struct t_unfinished *u, bool first)
{
	struct output *o = &w->out;

	json_item(w, "unfinished", first);
	json_key(o, "op", true);
	output_json(o, w->t->ops[u->op].name);
	if (u->kernel)
		json_key_text(o, "name", w->t->kernels[u->kernel].name);
	json_key_unsigned(o, "process", u->process);
	json_key_unsigned(o, "thread", u->thread);
	json_key_unsigned(o, "agent", u->agent);
	json_key_unsigned(o, "queue", u->queue);
	json_key_unsigned(o, "kernel", u->kernel);
	json_key_unsigned(o, "call", u->id);
	json_key_unsigned(o, "bytes", u->bytes);
	json_key_signed(o, "submit", json_since(w->t, u->submit));
	json_close_element(w);
}

/* Lines had them where they came. */
static void under_way(struct json_writer *w)
{
	open_plain_list(w, "open_calls");
	for (uint32_t i = 0; i < w->open_count; i++)
		json_open_call(w, w->open_calls[i], i == 0);
	close_plain_list(w);
	open_plain_list(w, "unfinished");
	for (uint32_t i = 0; i < w->unfinished_count; i++)
		json_unfinished(w, w->unfinished[i], i == 0);
	close_plain_list(w);
}

static void left_out(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	open_plain_list(w, "not_recorded");
	for (uint32_t i = 1; i < t->left_out_count; i++) {
		const struct t_left_out *l = &t->left_out[i];

		json_item(w, "not_recorded", i == 1);
		json_key(o, "thread", true);
		output_unsigned(o, l->thread);
		json_key_text(o, "domain", t->domains[t->ops[l->op].domain].name);
		json_key_text(o, "op", t->ops[l->op].name);
		json_key_unsigned(o, "calls", l->calls);
		json_close_element(w);
	}
	close_plain_list(w);
}

static void recorded(struct output *o, const struct trace *t, uint32_t process)
{
	const char *filters = t->processes[process].filters;
	struct recorded r = recorded_of(t, process);
	bool first = true;

	json_key_signed(o, "lived", r.lived);
	json_key_signed(o, "recorded", r.ns);
	json_key_text(o, "filters", filters ? filters : "");
	json_key(o, "pauses", false);
	output_char(o, '[');
	for (uint32_t i = 1; i < t->pauses_count; i++) {
		const struct t_pause *p = &t->pauses[i];

		if (p->process != process)
			continue;
		output_text(o, first ? "{" : ",{");
		json_key(o, "start", true);
		output_signed(o, json_since(t, p->start));
		json_key_signed(o, "end", json_since(t, p->end));
		output_char(o, '}');
		first = false;
	}
	output_char(o, ']');
}

static void process_end(struct json_writer *w, const struct trace *t, uint32_t i)
{
	const struct t_process *p = &t->processes[i];
	struct output *o = &w->out;
	char how[64];

	if (w->lines) {
		json_item(w, "process_end", false);
		json_key(o, "index", true);
		output_unsigned(o, i);
		output_char(o, ',');
	} else {
		json_element(w, "process", i);
	}
	json_key(o, "how", true);
	output_json(o, name_process_end(p, how, sizeof(how)));
	json_key_signed(o, "end", json_since(t, p->end));
	json_key_unsigned(o, "lost_records", p->lost_records);
	json_key_unsigned(o, "overwritten_records", p->overwritten_records);
	json_key_unsigned(o, "lost_definitions", p->lost_definitions);
	json_key_unsigned(o, "damaged_blocks", p->damaged_blocks);
	json_key_unsigned(o, "untraced_calls", p->untraced_calls);
	json_key_unsigned(o, "untimed", p->untimed);
	json_key_unsigned(o, "unlisted", p->unlisted);
	recorded(o, t, i);
	json_close_element(w);
}

/* The last line: a file that has none was cut. "lines" counts it as well. */
static void last_line(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;
	uint64_t lost = 0, overwritten = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		lost += t->processes[i].lost_records;
		overwritten += t->processes[i].overwritten_records;
	}
	json_item(w, "end", false);
	json_key(o, "end_ns", true);
	output_signed(o, json_since(t, t->end));
	json_key_unsigned(o, "records", w->records);
	json_key_unsigned(o, "lost_records", lost);
	json_key_unsigned(o, "overwritten_records", overwritten);
	json_key_unsigned(o, "lines", w->lines_written + 1);
	json_close_element(w);
}

void json_end(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	if (!w->lines) {
		output_text(o, "\n],\n\"end\":{");
		json_key(o, "end_ns", true);
		output_signed(o, json_since(t, t->end));
	}
	json_open_list(w, "processes");
	for (uint32_t i = 1; i < t->processes_count; i++)
		process_end(w, t, i);
	json_close_list(w, t->processes_count);
	under_way(w);
	left_out(w, t);
	if (w->lines)
		last_line(w, t);
	else
		output_text(o, "}}\n");
}
