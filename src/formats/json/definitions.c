/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the JSON document before and after its records. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/json/json.h"
#include "stream/recorded.h"
#include "stream/names.h"
#include "stream/reference.h"
#include "stream/symbol.h"
#include "wire/defs.h"

void json_key(struct output *o, const char *key, bool first)
{
	if (!first)
		output_char(o, ',');
	output_json(o, key);
	output_char(o, ':');
}

void json_key_text(struct output *o, const char *key, const char *value)
{
	json_key(o, key, false);
	output_json(o, value);
}

void json_key_unsigned(struct output *o, const char *key, uint64_t v)
{
	json_key(o, key, false);
	output_unsigned(o, v);
}

void json_key_signed(struct output *o, const char *key, int64_t v)
{
	json_key(o, key, false);
	output_signed(o, v);
}

void json_key_hex(struct output *o, const char *key, uint64_t v)
{
	json_key(o, key, false);
	if (!v) {
		output_text(o, "null");
		return;
	}
	output_char(o, '"');
	output_hex(o, v);
	output_char(o, '"');
}

void json_key_bool(struct output *o, const char *key, bool v)
{
	json_key(o, key, false);
	output_text(o, v ? "true" : "false");
}

void json_key_real(struct output *o, const char *key, double v)
{
	char text[40];

	json_key(o, key, false);
	snprintf(text, sizeof(text), "%.17g", v);
	output_text(o, isfinite(v) ? text : "null");
}

/* Opens element `i` of a list: positions are indexes, hence null at 0. */
static void element(struct output *o, uint32_t i)
{
	if (i == 1)
		output_text(o, "null");
	output_text(o, ",\n  {");
}

static void open_list(struct output *o, const char *key)
{
	output_text(o, ",\n ");
	json_key(o, key, true);
	output_char(o, '[');
}

static void close_list(struct output *o, uint32_t count)
{
	output_text(o, count <= 1 ? "null]" : "]");
}

static int64_t since(const struct trace *t, int64_t ns)
{
	return ns ? (int64_t)((uint64_t)ns - (uint64_t)t->origin) : 0;
}

static void processes(struct output *o, const struct trace *t)
{
	open_list(o, "processes");
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		element(o, i);
		json_key(o, "pid", true);
		output_unsigned(o, p->pid);
		json_key_unsigned(o, "ppid", p->ppid);
		if (p->rank != UINT32_MAX)
			json_key_unsigned(o, "rank", p->rank);
		if (p->rank != UINT32_MAX && t->worlds > 1)
			json_key_unsigned(o, "world", p->world);
		if (p->rank != UINT32_MAX && *p->rank_by)
			json_key_text(o, "rank_by", p->rank_by);
		if (p->of_rank != UINT32_MAX)
			json_key_unsigned(o, "of_rank", p->of_rank);
		if (p->name)
			json_key_text(o, "name", p->name);
		json_key_text(o, "exe", p->exe);
		json_key_text(o, "argv", p->argv);
		json_key_text(o, "cwd", p->cwd);
		json_key_text(o, "hostname", p->hostname);
		json_key_text(o, "kymo_version", p->version);
		json_key_signed(o, "start", since(t, p->start));
		json_key_signed(o, "start_realtime_ns", p->start_realtime);
		json_key_signed(o, "realtime_offset_ns", p->realtime_offset);
		json_key_real(o, "clock_error_ns", p->clock_error_ns);
		output_char(o, '}');
	}
	close_list(o, t->processes_count);
}

static void threads(struct output *o, const struct trace *t)
{
	open_list(o, "threads");
	for (uint32_t i = 1; i < t->threads_count; i++) {
		const struct t_thread *th = &t->threads[i];

		element(o, i);
		json_key(o, "process", true);
		output_unsigned(o, th->process);
		json_key_unsigned(o, "tid", th->tid);
		json_key_text(o, "name", th->name);
		json_key_bool(o, "main", th->main);
		output_char(o, '}');
	}
	close_list(o, t->threads_count);
}

static void agents(struct output *o, const struct trace *t)
{
	open_list(o, "agents");
	for (uint32_t i = 1; i < t->agents_count; i++) {
		const struct t_agent *a = &t->agents[i];

		element(o, i);
		json_key(o, "process", true);
		output_unsigned(o, a->process);
		json_key_text(o, "type", a->type);
		json_key_text(o, "name", a->name);
		json_key_text(o, "label", a->label);
		json_key_text(o, "vendor", a->vendor);
		json_key_text(o, "driver", a->driver);
		json_key_text(o, "domain", a->domain);
		json_key_text(o, "platform", a->platform);
		json_key_unsigned(o, "parent", a->parent);
		json_key_hex(o, "handle", a->handle);
		json_key_text(o, "properties", a->properties);
		if (a->clock && t->clocks[a->clock].error_ns >= 0)
			json_key_real(o, "clock_error_ns", t->clocks[a->clock].error_ns);
		output_char(o, '}');
	}
	close_list(o, t->agents_count);
}

static void queues(struct output *o, const struct trace *t)
{
	open_list(o, "queues");
	for (uint32_t i = 1; i < t->queues_count; i++) {
		const struct t_queue *q = &t->queues[i];

		element(o, i);
		json_key(o, "process", true);
		output_unsigned(o, q->process);
		json_key_unsigned(o, "agent", q->agent);
		json_key_unsigned(o, "context", q->context);
		json_key_text(o, "name", q->label);
		if (t->contexts[q->context].name)
			json_key_text(o, "context_name", t->contexts[q->context].name);
		json_key_hex(o, "handle", q->handle);
		json_key_bool(o, "out_of_order", q->flags & QUEUE_OUT_OF_ORDER);
		json_key_bool(o, "profiling_forced", q->flags & QUEUE_PROFILING_FORCED);
		output_char(o, '}');
	}
	close_list(o, t->queues_count);
}

static void kernels(struct output *o, const struct trace *t)
{
	open_list(o, "kernels");
	for (uint32_t i = 1; i < t->kernels_count; i++) {
		element(o, i);
		json_key(o, "name", true);
		output_json(o, t->kernels[i].name);
		json_key_unsigned(o, "program", t->kernels[i].program);
		output_char(o, '}');
	}
	close_list(o, t->kernels_count);
	open_list(o, "programs");
	for (uint32_t i = 1; i < t->programs_count; i++) {
		const struct t_blob *b = &t->blobs[t->programs[i].source];

		element(o, i);
		json_key(o, "kind", true);
		output_json(o, t->programs[i].kind);
		if (*t->programs[i].name) {
			json_key(o, "name", false);
			output_json(o, t->programs[i].name);
		}
		json_key_unsigned(o, "context", t->programs[i].context);
		json_key(o, "source", false);
		output_json_bytes(o, b->data, b->stored);
		if (b->total > b->stored)
			json_key_unsigned(o, "source_length", b->total);
		output_char(o, '}');
	}
	close_list(o, t->programs_count);
}

static void contexts(struct output *o, const struct trace *t)
{
	open_list(o, "contexts");
	for (uint32_t i = 1; i < t->contexts_count; i++) {
		const struct t_device_context *c = &t->contexts[i];

		element(o, i);
		json_key(o, "process", true);
		output_unsigned(o, c->process);
		json_key_text(o, "domain", c->domain);
		if (c->name)
			json_key_text(o, "name", c->name);
		json_key_hex(o, "handle", c->handle);
		output_char(o, '}');
	}
	close_list(o, t->contexts_count);
}

/* Sources are in their programs already: by blob, a program that has it as its source. NULL: no
 * memory. */
static uint32_t *programs_of_blobs(const struct trace *t)
{
	uint32_t *programs = calloc(t->blobs_count, sizeof(*programs));

	for (uint32_t i = 1; programs && i < t->programs_count; i++)
		programs[t->programs[i].source] = i;
	return programs;
}

static void blobs(struct output *o, const struct trace *t)
{
	uint32_t *programs = programs_of_blobs(t);

	open_list(o, "blobs");
	for (uint32_t i = 1; i < t->blobs_count; i++) {
		const struct t_blob *b = &t->blobs[i];
		uint32_t program = programs ? programs[i] : 0;

		element(o, i);
		json_key(o, "process", true);
		output_unsigned(o, b->process);
		json_key_text(o, "what", b->what);
		if (program) {
			json_key_unsigned(o, "source_of", program);
		} else {
			json_key(o, "text", false);
			output_json_bytes(o, b->data, b->stored);
		}
		if (b->total > b->stored)
			json_key_unsigned(o, "length", b->total);
		output_char(o, '}');
	}
	close_list(o, t->blobs_count);
	free(programs);
}

static void strings(struct output *o, const struct trace *t)
{
	open_list(o, "strings");
	for (uint32_t i = 1; i < t->strings_count; i++) {
		output_text(o, i == 1 ? "null,\n  " : ",\n  ");
		output_json_bytes(o, t->strings[i].text, t->strings[i].length);
	}
	close_list(o, t->strings_count);
}

static void communicators(struct output *o, const struct trace *t)
{
	static const char *const kinds[] = {"communicator", "intercommunicator", "window", "file"};

	open_list(o, "communicators");
	for (uint32_t i = 1; i < t->communicators_count; i++) {
		const struct t_communicator *c = &t->communicators[i];

		element(o, i);
		json_key(o, "process", true);
		output_unsigned(o, c->process);
		json_key_text(o, "kind", c->kind < 4 ? kinds[c->kind] : "?");
		json_key_text(o, "name", c->name);
		json_key_unsigned(o, "number", c->id);
		json_key_unsigned(o, "size", c->size);
		if (c->remote_size)
			json_key_unsigned(o, "remote_size", c->remote_size);
		json_key_unsigned(o, "parent", c->parent);
		json_key_hex(o, "handle", c->handle);
		output_char(o, '}');
	}
	close_list(o, t->communicators_count);
}

static void counters(struct output *o, const struct trace *t)
{
	open_list(o, "counters");
	for (uint32_t i = 1; i < t->counters_count; i++) {
		const struct t_counter *c = &t->counters[i];

		element(o, i);
		json_key(o, "process", true);
		output_unsigned(o, c->process);
		json_key_unsigned(o, "agent", c->agent);
		json_key_text(o, "name", c->name);
		json_key_text(o, "unit", c->unit);
		json_key_text(o, "description", c->description);
		json_key_text(o, "provider", c->provider);
		json_key_text(o, "dimensions", c->dimensions);
		output_char(o, '}');
	}
	close_list(o, t->counters_count);
}

static void codes(struct output *o, const struct trace *t)
{
	open_list(o, "codes");
	for (uint32_t i = 1; i < t->codes_count; i++) {
		const struct t_code *c = &t->codes[i];

		element(o, i);
		json_key(o, "process", true);
		output_unsigned(o, c->process);
		json_key_text(o, "function", c->function);
		json_key_unsigned(o, "offset", c->offset);
		json_key_hex(o, "module", c->module);
		if (c->line) {
			json_key_text(o, "file", c->file);
			json_key_unsigned(o, "line", c->line);
		}
		output_char(o, '}');
	}
	close_list(o, t->codes_count);
}

/* The list that a field is an index of, NULL: of none. */
static const char *list_of(uint8_t reference)
{
	switch (reference) {
#define LIST(K, type_name, list)                                                                   \
	case REFERENCE_##K:                                                                        \
		return #list;
		RECORD_REFERENCES(LIST)
#undef LIST
	default:
		return NULL;
	}
}

/* Which "args" of an operation's records are indexes, and of what; false: none. */
static bool op_references(struct output *o, const struct trace *t, const struct t_op *op,
			  bool later)
{
	bool any = false;

	for (uint32_t i = 0; i < op_own_fields(op); i++) {
		const char *list = list_of(op->fields[i].reference);

		if (!list)
			continue;
		if (!any) {
			output_text(o, later ? ",\n  {" : "\n  {");
			json_key(o, "domain", true);
			output_json(o, t->domains[op->domain].name);
			json_key_text(o, "op", op->name);
			output_text(o, ",\"args\":{");
		}
		json_key(o, op->fields[i].name, !any);
		output_json(o, list);
		any = true;
	}
	output_text(o, any ? "}}" : "");
	return any;
}

static void references(struct output *o, const struct trace *t)
{
	bool any = false;

	output_text(o, ",\n ");
	json_key(o, "references", true);
	output_char(o, '[');
	for (uint32_t i = 1; i < t->ops_count; i++)
		if (!json_has_own_keys(t->domains[t->ops[i].domain].name))
			any |= op_references(o, t, &t->ops[i], any);
	output_char(o, ']');
}

static kymo_status_t sites(struct json_writer *w)
{
	const struct trace *t = w->t;
	struct output *o = &w->out;
	struct symbols *symbols = symbols_new(t, w->o.log);

	if (!symbols)
		return KYMO_ERROR_NO_MEMORY;
	open_list(o, "sites");
	for (uint32_t i = 1; i < t->sites_count; i++) {
		const struct symbol *y = symbols_site(symbols, i);

		element(o, i);
		json_key(o, "module", true);
		output_json(o, y->module);
		json_key_hex(o, "offset", y->offset);
		if (y->function)
			json_key_text(o, "function", y->function);
		if (y->file) {
			json_key_text(o, "file", y->file);
			json_key_unsigned(o, "line", y->line);
		}
		output_char(o, '}');
	}
	close_list(o, t->sites_count);
	symbols_free(symbols);
	return KYMO_OK;
}

static void stacks(struct output *o, const struct trace *t)
{
	open_list(o, "stacks");
	for (uint32_t i = 1; i < t->stacks_count; i++) {
		output_text(o, i == 1 ? "null,\n  [" : ",\n  [");
		for (uint32_t k = 0; k < t->stacks[i].count; k++) {
			if (k)
				output_char(o, ',');
			output_unsigned(o, t->stacks[i].sites[k]);
		}
		output_char(o, ']');
	}
	close_list(o, t->stacks_count);
}

static void notes(struct output *o, const struct trace *t)
{
	open_list(o, "notes");
	for (uint32_t i = 1; i < t->notes_count; i++) {
		const struct t_note *n = &t->notes[i];

		element(o, i);
		json_key(o, "time", true);
		output_signed(o, since(t, n->time));
		json_key_unsigned(o, "process", n->process);
		json_key_unsigned(o, "severity", n->severity);
		json_key_text(o, "part", n->part);
		json_key_text(o, "text", n->text);
		json_key_unsigned(o, "count", n->count);
		output_char(o, '}');
	}
	close_list(o, t->notes_count);
}

kymo_status_t json_definitions(struct json_writer *w)
{
	struct output *o = &w->out;
	const struct trace *t = w->t;
	kymo_status_t status;

	output_text(o, "{\"kymo\":{\"format\":1,\"version\":\"" KYMO_VERSION "\"},\n\"trace\":{");
	json_key(o, "path", true);
	output_json(o, t->path);
	json_key_text(o, "command", t->command);
	json_key_signed(o, "origin_ns", t->origin);
	processes(o, t);
	threads(o, t);
	agents(o, t);
	contexts(o, t);
	queues(o, t);
	kernels(o, t);
	blobs(o, t);
	strings(o, t);
	communicators(o, t);
	counters(o, t);
	codes(o, t);
	references(o, t);
	status = sites(w);
	stacks(o, t);
	notes(o, t);
	output_text(o, "},\n\"records\":[");
	return status;
}

static void open_calls(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	output_text(o, ",\n ");
	json_key(o, "open_calls", true);
	output_char(o, '[');
	for (uint32_t i = 0; i < w->open_count; i++) {
		const struct t_open_call *c = w->open_calls[i];

		output_text(o, i == 0 ? "\n  {" : ",\n  {");
		json_key(o, "thread", true);
		output_unsigned(o, c->thread);
		json_key_text(o, "domain", t->domains[t->ops[c->op].domain].name);
		json_key_text(o, "op", t->ops[c->op].name);
		json_key_unsigned(o, "id", c->id);
		json_key_unsigned(o, "depth", c->depth);
		json_key_signed(o, "start", since(t, c->start));
		output_char(o, '}');
	}
	output_char(o, ']');
}

static void unfinished(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	output_text(o, ",\n ");
	json_key(o, "unfinished", true);
	output_char(o, '[');
	for (uint32_t i = 0; i < w->unfinished_count; i++) {
		const struct t_unfinished *u = w->unfinished[i];

		output_text(o, i == 0 ? "\n  {" : ",\n  {");
		json_key(o, "op", true);
		output_json(o, t->ops[u->op].name);
		if (u->kernel)
			json_key_text(o, "name", t->kernels[u->kernel].name);
		json_key_unsigned(o, "process", u->process);
		json_key_unsigned(o, "thread", u->thread);
		json_key_unsigned(o, "agent", u->agent);
		json_key_unsigned(o, "queue", u->queue);
		json_key_unsigned(o, "kernel", u->kernel);
		json_key_unsigned(o, "call", u->id);
		json_key_unsigned(o, "bytes", u->bytes);
		json_key_signed(o, "submit", since(t, u->submit));
		output_char(o, '}');
	}
	output_char(o, ']');
}

static void left_out(struct output *o, const struct trace *t)
{
	output_text(o, ",\n ");
	json_key(o, "not_recorded", true);
	output_char(o, '[');
	for (uint32_t i = 1; i < t->left_out_count; i++) {
		const struct t_left_out *l = &t->left_out[i];

		output_text(o, i == 1 ? "\n  {" : ",\n  {");
		json_key(o, "thread", true);
		output_unsigned(o, l->thread);
		json_key_text(o, "domain", t->domains[t->ops[l->op].domain].name);
		json_key_text(o, "op", t->ops[l->op].name);
		json_key_unsigned(o, "calls", l->calls);
		output_char(o, '}');
	}
	output_char(o, ']');
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
		output_signed(o, since(t, p->start));
		json_key_signed(o, "end", since(t, p->end));
		output_char(o, '}');
		first = false;
	}
	output_char(o, ']');
}

void json_end(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;
	char how[64];

	output_text(o, "\n],\n\"end\":{");
	json_key(o, "end_ns", true);
	output_signed(o, since(t, t->end));
	open_list(o, "processes");
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		element(o, i);
		json_key(o, "how", true);
		output_json(o, name_process_end(p, how, sizeof(how)));
		json_key_signed(o, "end", since(t, p->end));
		json_key_unsigned(o, "lost_records", p->lost_records);
		json_key_unsigned(o, "overwritten_records", p->overwritten_records);
		json_key_unsigned(o, "lost_definitions", p->lost_definitions);
		json_key_unsigned(o, "damaged_blocks", p->damaged_blocks);
		json_key_unsigned(o, "untraced_calls", p->untraced_calls);
		json_key_unsigned(o, "untimed", p->untimed);
		json_key_unsigned(o, "unlisted", p->unlisted);
		recorded(o, t, i);
		output_char(o, '}');
	}
	close_list(o, t->processes_count);
	open_calls(w, t);
	unfinished(w, t);
	left_out(o, t);
	output_text(o, "}}\n");
}
