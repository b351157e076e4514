/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the JSON document before its records. */
#include <stdlib.h>

#include "formats/json/json.h"
#include "stream/reference.h"
#include "stream/symbol.h"
#include "wire/defs.h"

static void processes(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "processes");
	for (uint32_t i = 1; i < t->processes_count; i++) {
		const struct t_process *p = &t->processes[i];

		json_element(w, "process", i);
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
		json_key_signed(o, "start", json_since(t, p->start));
		json_key_signed(o, "start_realtime_ns", p->start_realtime);
		json_key_signed(o, "realtime_offset_ns", p->realtime_offset);
		json_key_real(o, "clock_error_ns", p->clock_error_ns);
		json_close_element(w);
	}
	json_close_list(w, t->processes_count);
}

static void threads(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "threads");
	for (uint32_t i = 1; i < t->threads_count; i++) {
		const struct t_thread *th = &t->threads[i];

		json_element(w, "thread", i);
		json_key(o, "process", true);
		output_unsigned(o, th->process);
		json_key_unsigned(o, "tid", th->tid);
		json_key_text(o, "name", th->name);
		json_key_bool(o, "main", th->main);
		json_close_element(w);
	}
	json_close_list(w, t->threads_count);
}

static void agents(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "agents");
	for (uint32_t i = 1; i < t->agents_count; i++) {
		const struct t_agent *a = &t->agents[i];

		json_element(w, "agent", i);
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
		json_close_element(w);
	}
	json_close_list(w, t->agents_count);
}

static void queues(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "queues");
	for (uint32_t i = 1; i < t->queues_count; i++) {
		const struct t_queue *q = &t->queues[i];

		json_element(w, "queue", i);
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
		json_close_element(w);
	}
	json_close_list(w, t->queues_count);
}

static void kernels(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "kernels");
	for (uint32_t i = 1; i < t->kernels_count; i++) {
		json_element(w, "kernel", i);
		json_key(o, "name", true);
		output_json(o, t->kernels[i].name);
		json_key_unsigned(o, "program", t->kernels[i].program);
		json_close_element(w);
	}
	json_close_list(w, t->kernels_count);
	json_open_list(w, "programs");
	for (uint32_t i = 1; i < t->programs_count; i++) {
		const struct t_blob *b = &t->blobs[t->programs[i].source];

		json_element(w, "program", i);
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
		json_close_element(w);
	}
	json_close_list(w, t->programs_count);
}

static void contexts(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "contexts");
	for (uint32_t i = 1; i < t->contexts_count; i++) {
		const struct t_device_context *c = &t->contexts[i];

		json_element(w, "context", i);
		json_key(o, "process", true);
		output_unsigned(o, c->process);
		json_key_text(o, "domain", c->domain);
		if (c->name)
			json_key_text(o, "name", c->name);
		json_key_hex(o, "handle", c->handle);
		json_close_element(w);
	}
	json_close_list(w, t->contexts_count);
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

static void blobs(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;
	uint32_t *programs = programs_of_blobs(t);

	json_open_list(w, "blobs");
	for (uint32_t i = 1; i < t->blobs_count; i++) {
		const struct t_blob *b = &t->blobs[i];
		uint32_t program = programs ? programs[i] : 0;

		json_element(w, "blob", i);
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
		json_close_element(w);
	}
	json_close_list(w, t->blobs_count);
	free(programs);
}

/* In the document a list of texts. */
static void strings(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "strings");
	for (uint32_t i = 1; i < t->strings_count; i++) {
		if (w->lines) {
			json_element(w, "string", i);
			json_key(o, "text", true);
		} else {
			output_text(o, i == 1 ? "null,\n  " : ",\n  ");
		}
		output_json_bytes(o, t->strings[i].text, t->strings[i].length);
		if (w->lines)
			json_close_element(w);
	}
	json_close_list(w, t->strings_count);
}

static void communicators(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;
	static const char *const kinds[] = {"communicator", "intercommunicator", "window", "file"};

	json_open_list(w, "communicators");
	for (uint32_t i = 1; i < t->communicators_count; i++) {
		const struct t_communicator *c = &t->communicators[i];

		json_element(w, "communicator", i);
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
		json_close_element(w);
	}
	json_close_list(w, t->communicators_count);
}

static void counters(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "counters");
	for (uint32_t i = 1; i < t->counters_count; i++) {
		const struct t_counter *c = &t->counters[i];

		json_element(w, "counter", i);
		json_key(o, "process", true);
		output_unsigned(o, c->process);
		json_key_unsigned(o, "agent", c->agent);
		json_key_text(o, "name", c->name);
		json_key_text(o, "unit", c->unit);
		json_key_text(o, "description", c->description);
		json_key_text(o, "provider", c->provider);
		json_key_text(o, "dimensions", c->dimensions);
		json_close_element(w);
	}
	json_close_list(w, t->counters_count);
}

static void codes(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "codes");
	for (uint32_t i = 1; i < t->codes_count; i++) {
		const struct t_code *c = &t->codes[i];

		json_element(w, "code", i);
		json_key(o, "process", true);
		output_unsigned(o, c->process);
		json_key_text(o, "function", c->function);
		json_key_unsigned(o, "offset", c->offset);
		json_key_hex(o, "module", c->module);
		if (c->line) {
			json_key_text(o, "file", c->file);
			json_key_unsigned(o, "line", c->line);
		}
		json_close_element(w);
	}
	json_close_list(w, t->codes_count);
}

static void places(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "places");
	for (uint32_t i = 1; i < t->places_count; i++) {
		const struct t_place *p = &t->places[i];

		json_element(w, "place", i);
		json_key(o, "process", true);
		output_unsigned(o, p->process);
		json_key_unsigned(o, "program", p->program);
		json_key_text(o, "function", p->function);
		json_key_text(o, "what", p->what);
		json_key_text(o, "kind", p->kind);
		json_key_unsigned(o, "block", p->block);
		json_key_unsigned(o, "times", p->times);
		json_key_unsigned(o, "bytes", p->bytes);
		json_key_text(o, "file", p->file);
		json_key_unsigned(o, "line", p->line);
		json_key_unsigned(o, "column", p->column);
		json_close_element(w);
	}
	json_close_list(w, t->places_count);
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
static bool op_references(struct json_writer *w, const struct t_op *op, uint32_t later)
{
	struct output *o = &w->out;
	bool any = false;

	for (uint32_t i = 0; i < op_own_fields(op); i++) {
		const char *list = list_of(op->fields[i].reference);

		if (!list)
			continue;
		if (!any) {
			if (w->lines)
				json_element(w, "reference", later + 1);
			else
				output_text(o, later ? ",\n  {" : "\n  {");
			json_key(o, "domain", true);
			output_json(o, w->t->domains[op->domain].name);
			json_key_text(o, "op", op->name);
			output_text(o, ",\"args\":{");
		}
		json_key(o, op->fields[i].name, !any);
		output_json(o, list);
		any = true;
	}
	if (any) {
		output_char(o, '}');
		json_close_element(w);
	}
	return any;
}

static void references(struct json_writer *w, const struct trace *t)
{
	uint32_t count = 0;

	json_open_list(w, "references");
	for (uint32_t i = 1; i < t->ops_count; i++)
		if (!json_has_own_keys(t->domains[t->ops[i].domain].name))
			count += op_references(w, &t->ops[i], count);
	if (!w->lines)
		output_char(&w->out, ']');
}

static void put_line(struct output *o, const struct symbol *y)
{
	if (!y->file)
		return;
	json_key_text(o, "file", y->file);
	json_key_unsigned(o, "line", y->line);
}

/* The functions that that of a site was inlined into, from the innermost out. */
static void put_callers(struct output *o, const struct symbol *y)
{
	if (!y->caller)
		return;
	json_key(o, "inlined_into", false);
	output_char(o, '[');
	for (y = y->caller; y; y = y->caller) {
		output_char(o, '{');
		json_key(o, "function", true);
		output_json(o, y->function ? y->function : "");
		put_line(o, y);
		output_text(o, y->caller ? "}," : "}");
	}
	output_char(o, ']');
}

static kymo_status_t sites(struct json_writer *w)
{
	const struct trace *t = w->t;
	struct output *o = &w->out;
	struct symbols *symbols = symbols_new(t, w->o.log);

	if (!symbols)
		return KYMO_ERROR_NO_MEMORY;
	json_open_list(w, "sites");
	for (uint32_t i = 1; i < t->sites_count; i++) {
		const struct symbol *y = symbols_site(symbols, i);

		json_element(w, "site", i);
		json_key(o, "module", true);
		output_json(o, y->module);
		json_key_hex(o, "offset", y->offset);
		if (y->function)
			json_key_text(o, "function", y->function);
		put_line(o, y);
		put_callers(o, y);
		json_close_element(w);
	}
	json_close_list(w, t->sites_count);
	symbols_free(symbols);
	return KYMO_OK;
}

/* In the document a list of lists. */
static void stacks(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "stacks");
	for (uint32_t i = 1; i < t->stacks_count; i++) {
		if (w->lines) {
			json_element(w, "stack", i);
			json_key(o, "sites", true);
			output_char(o, '[');
		} else {
			output_text(o, i == 1 ? "null,\n  [" : ",\n  [");
		}
		for (uint32_t k = 0; k < t->stacks[i].count; k++) {
			if (k)
				output_char(o, ',');
			output_unsigned(o, t->stacks[i].sites[k]);
		}
		output_char(o, ']');
		if (w->lines && t->stacks[i].end)
			json_key_text(o, "end", t->stacks[i].end);
		if (w->lines)
			json_close_element(w);
	}
	json_close_list(w, t->stacks_count);
}

/* Why each of `stacks` ends where it does, null where that is not told. */
static void stack_ends(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	if (w->lines)
		return;
	json_open_list(w, "stack_ends");
	for (uint32_t i = 1; i < t->stacks_count; i++) {
		output_text(o, i == 1 ? "null,\n  " : ",\n  ");
		if (t->stacks[i].end)
			output_json(o, t->stacks[i].end);
		else
			output_text(o, "null");
	}
	json_close_list(w, t->stacks_count);
}

static void notes(struct json_writer *w, const struct trace *t)
{
	struct output *o = &w->out;

	json_open_list(w, "notes");
	for (uint32_t i = 1; i < t->notes_count; i++) {
		const struct t_note *n = &t->notes[i];

		json_element(w, "note", i);
		json_key(o, "time", true);
		output_signed(o, json_since(t, n->time));
		json_key_unsigned(o, "process", n->process);
		json_key_unsigned(o, "severity", n->severity);
		json_key_text(o, "part", n->part);
		json_key_text(o, "text", n->text);
		json_key_unsigned(o, "count", n->count);
		json_close_element(w);
	}
	json_close_list(w, t->notes_count);
}

kymo_status_t json_definitions(struct json_writer *w)
{
	struct output *o = &w->out;
	const struct trace *t = w->t;
	kymo_status_t status;

	output_text(o, "{\"kymo\":{\"format\":1,\"version\":\"" KYMO_VERSION "\"},");
	output_text(o, w->lines ? "\"trace\":{" : "\n\"trace\":{");
	json_key(o, "path", true);
	output_json(o, t->path);
	json_key_text(o, "command", t->command);
	json_key_text(o, "hostname", t->hostname);
	json_key_signed(o, "started", t->started);
	json_key_signed(o, "origin_ns", t->origin);
	if (w->lines)
		json_close_head(w);
	processes(w, t);
	threads(w, t);
	agents(w, t);
	contexts(w, t);
	queues(w, t);
	kernels(w, t);
	blobs(w, t);
	strings(w, t);
	communicators(w, t);
	counters(w, t);
	codes(w, t);
	places(w, t);
	references(w, t);
	status = sites(w);
	stacks(w, t);
	stack_ends(w, t);
	notes(w, t);
	if (!w->lines)
		output_text(o, "},\n\"records\":[");
	return status;
}
