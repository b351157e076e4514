/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See record.h. The chunks of the slice's own thread come first, which mostly have the record; then the others, for what
 * belongs to it: its message, memory, waits, counters, device work.
 */
#include "page/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/json/lines.h"
#include "formats/raw/internal.h"
#include "formats/raw/spans.h"
#include "formats/text/lines.h"
#include "record/fields.h"
#include "stream/symbol.h"

enum {
	FOUND_MOST = 16,
	RELATED_MOST = 64,
	RELATED_MS = 200, /* so long what belongs to a record that is found is looked for */
	VALUE_MOST = 4096 /* bytes of an argument */
};

struct page_records {
	char *path;
	struct stream_log *log;
	struct raw_trace *rt;
	const struct trace *t;
	struct symbols *symbols;
	struct stream_sink *json, *line;
	struct output *json_out, *line_out;
};

struct search {
	struct page_records *p;
	struct page_asked asked; /* its times are node ns */
	struct text found, related;
	uint32_t found_count, related_count;
	struct timespec began;
	bool whole; /* nothing was left out */
};

/* ---- one record -------------------------------------------------------------------------------- */

static bool pack(void *packer, const char *data, size_t n)
{
	struct text *t = packer;

	text_add_bytes(t, data, n);
	return !t->failed;
}

/* What the sink writes of the record, without the end of the line. */
static void written(struct stream_sink *s, struct output *o, enum raw_kind kind,
		    const union raw_any *any, struct text *out)
{
	o->pack = pack;
	o->packer = out;
	raw_deliver(s, kind, any);
	output_flush(o);
	while (out->length && (out->s[out->length - 1] == '\n'))
		out->s[--out->length] = 0;
}

static void put_symbol(const struct symbol *y, struct text *out)
{
	char name[512];

	text_add(out, "{\"text\": ");
	text_add_json(out, symbol_text(y, name, sizeof(name)));
	if (y->function) {
		text_add(out, ", \"function\": ");
		text_add_json(out, symbol_frame(y, name, sizeof(name)));
	}
	if (y->file) {
		text_add(out, ", \"file\": ");
		text_add_json(out, y->file);
		text_addf(out, ", \"line\": %u", y->line);
	}
	text_add(out, ", \"module\": ");
	text_add_json(out, y->module);
	text_addf(out, ", \"offset\": \"0x%" PRIx64 "\"}", y->offset);
}

static void put_place(struct search *s, const struct rec *r, enum symbols_own own, struct text *out)
{
	const uint32_t *sites;
	uint32_t count;

	if (r->site) {
		text_add(out, ", \"site\": ");
		put_symbol(symbols_site(s->p->symbols, r->site), out);
	}
	if (!r->stack)
		return;
	sites = symbols_stack(s->p->symbols, r->stack, own, &count);
	text_add(out, ", \"stack\": [");
	for (uint32_t i = 0; i < count; i++)
		for (const struct symbol *y = symbols_site(s->p->symbols, sites[i]); y;
		     y = y->caller) {
			text_add(out, i || y->number != sites[0] ? ", " : "");
			put_symbol(y, out);
		}
	text_add(out, "]");
}

/* Names, types and values as `kymo show` prints them; of other kinds the record has its fields. */
static void put_arguments(struct search *s, const struct rec *r, struct text *out)
{
	const struct t_field *f;
	struct rec_fields fields;
	struct wire_value v;
	char value[VALUE_MOST];
	bool first = true;

	if (!r->wire || r->wire->no_fields) {
		text_add(out, ", \"arguments\": []");
		return;
	}
	text_add(out, ", \"arguments\": [");
	rec_fields_init(&fields, s->p->t, r);
	while (rec_fields_next(&fields, &f, &v)) {
		if (!r->ok && (f->flags & KYMO_FIELD_OUT))
			continue; /* a call that failed gave none */
		rec_value_text(s->p->t, f, &v, value, sizeof(value));
		text_add(out, first ? "[" : ", [");
		text_add_json(out, f->name);
		text_add(out, ", ");
		text_add_json(out, f->type ? f->type : "");
		text_add(out, ", ");
		text_add_json(out, value);
		text_add(out, "]");
		first = false;
	}
	text_add(out, "]");
}

static void put_name(struct text *out, const char *key, const char *name)
{
	if (!name || !*name)
		return;
	text_addf(out, ", \"%s\": ", key);
	text_add_json(out, name);
}

/* What the numbers of the record stand for. */
static void put_names(struct search *s, enum raw_kind kind, const union raw_any *any,
		      struct text *out)
{
	const struct trace *t = s->p->t;

	text_add(out, ", \"names\": {\"process\": ");
	text_addf(out, "\"%u\"", t->processes[any->rec.process].pid);
	if (any->rec.thread)
		text_addf(out, ", \"thread\": \"%u\"", t->threads[any->rec.thread].tid);
	if (kind == RAW_KIND_DISPATCH) {
		put_name(out, "agent", t->agents[any->dispatch.agent].label);
		put_name(out, "queue", t->queues[any->dispatch.queue].label);
		put_name(out, "kernel", t->kernels[any->dispatch.kernel].name);
	} else if (kind == RAW_KIND_COPY) {
		put_name(out, "queue", t->queues[any->copy.queue].label);
		put_name(out, "source_agent", t->agents[any->copy.source_agent].label);
		put_name(out, "destination_agent", t->agents[any->copy.destination_agent].label);
	} else if (kind == RAW_KIND_ALLOCATION) {
		put_name(out, "agent", t->agents[any->allocation.agent].label);
		put_name(out, "context", t->contexts[any->allocation.context].name);
	} else if (kind == RAW_KIND_SYNC) {
		put_name(out, "queue", t->queues[any->sync.queue].label);
	} else if (kind == RAW_KIND_COUNTER) {
		put_name(out, "counter", t->counters[any->counter.counter].name);
		put_name(out, "agent", t->agents[any->counter.agent].label);
	}
	text_add(out, "}");
}

static void put_record(struct search *s, enum raw_kind kind, const union raw_any *any,
		       struct text *out, bool first)
{
	struct text line = {0};

	text_add(out, first ? "\n{\"record\": " : ",\n{\"record\": ");
	written(s->p->json, s->p->json_out, kind, any, out);
	written(s->p->line, s->p->line_out, kind, any, &line);
	text_add(out, ", \"line\": ");
	text_add_json(out, line.s ? line.s : "");
	if (kind == RAW_KIND_CALL || kind == RAW_KIND_OTHER || kind == RAW_KIND_PUBLISHED ||
	    kind == RAW_KIND_COMM)
		put_arguments(s, &any->rec, out);
	put_names(s, kind, any, out);
	put_place(s, &any->rec, kind == RAW_KIND_SAMPLE ? SYMBOLS_TIME : SYMBOLS_CALLER, out);
	text_add(out, "}");
	out->failed |= line.failed;
	text_release(&line);
}

/* ---- which ------------------------------------------------------------------------------------- */

static bool is_work(const struct page_asked *a, const struct rec_device *d, uint32_t queue)
{
	return device_timed(d) && d->start == a->start && d->end == a->end &&
	       (!a->id || device_call(d) == a->id) && (!a->queue || queue == a->queue);
}

static bool is_it(const struct page_asked *a, enum raw_kind kind, const union raw_any *any)
{
	const struct rec *r = &any->rec;

	if (a->work)
		return kind == RAW_KIND_DISPATCH
			       ? is_work(a, &any->dispatch.device, any->dispatch.queue)
			       : kind == RAW_KIND_COPY &&
					 is_work(a, &any->copy.device, any->copy.queue);
	if (r->start != a->start || r->end != a->end || r->id != a->id ||
	    (a->thread && r->thread != a->thread))
		return false;
	/* These have no slices of their own. */
	switch (kind) {
	case RAW_KIND_SYNC:
		return !any->sync.correlation;
	case RAW_KIND_COMM:
		return !any->comm.correlation;
	case RAW_KIND_DISPATCH:
	case RAW_KIND_COPY:
	case RAW_KIND_ALLOCATION:
	case RAW_KIND_COUNTER:
	case RAW_KIND_SAMPLE:
	case RAW_KIND_HEAP:
	case RAW_KIND_DEVICE_SAMPLE:
	case RAW_KIND_KERNEL_LINE:
		return false;
	default:
		return true;
	}
}

/* It is of the call that was asked for. */
static bool is_related(const struct page_asked *a, enum raw_kind kind, const union raw_any *any)
{
	if (a->work || !a->id)
		return false;
	switch (kind) {
	case RAW_KIND_SYNC:
		return any->sync.correlation == a->id;
	case RAW_KIND_COMM:
		return any->comm.correlation == a->id || any->comm.completed_by == a->id;
	case RAW_KIND_DISPATCH:
		return any->dispatch.device.correlation == a->id;
	case RAW_KIND_COPY:
		return any->copy.device.correlation == a->id;
	case RAW_KIND_ALLOCATION:
		return any->allocation.correlation == a->id;
	case RAW_KIND_COUNTER:
		return any->counter.correlation == a->id;
	default:
		return false;
	}
}

static void take(struct search *s, enum raw_kind kind, const union raw_any *any)
{
	if (is_it(&s->asked, kind, any) && s->found_count < FOUND_MOST) {
		put_record(s, kind, any, &s->found, s->found_count == 0);
		s->found_count++;
	} else if (is_related(&s->asked, kind, any)) {
		if (s->related_count < RELATED_MOST)
			put_record(s, kind, any, &s->related, s->related_count == 0);
		else
			s->whole = false;
		s->related_count += s->related_count < RELATED_MOST;
	}
}

/* ---- where ------------------------------------------------------------------------------------- */

static void read_chunk(struct search *s, struct raw_chunk *c)
{
	struct wire_record w;
	union raw_any any;

	while (raw_chunk_next(c, &w)) {
		enum raw_kind kind = raw_record(c, &w, &any);

		if (kind != RAW_KIND_NONE && any.rec.process == s->asked.process)
			take(s, kind, &any);
	}
}

static bool is_late(const struct search *s)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (now.tv_sec - s->began.tv_sec) * 1000 + (now.tv_nsec - s->began.tv_nsec) / 1000000;
	return ms > (s->found_count ? RELATED_MS : PAGE_RECORD_MS);
}

/* Chunks of the thread, or (`others`) the rest. */
static void read_chunks(struct search *s, struct spans *spans, bool others)
{
	struct raw_buffer buffer = {0};
	struct raw_chunk chunk;

	for (uint32_t i = 0; i < spans->count; i++) {
		const struct span *x = &spans->at[i];
		bool own = s->asked.thread && x->thread == s->asked.thread;

		if (!x->wanted || own == others)
			continue;
		if (s->asked.work && s->found_count)
			break;
		if (is_late(s)) {
			s->whole = false;
			break;
		}
		if (spans_open(spans, i, &buffer, &chunk))
			read_chunk(s, &chunk);
	}
	raw_buffer_release(&buffer);
}

static kymo_status_t look(struct search *s)
{
	struct filter_binding b;
	struct spans spans = {0};
	kymo_status_t status = filter_bind(NULL, s->p->t, &b);

	if (status != KYMO_OK)
		return status;
	b.processes = calloc(s->p->t->processes_count, sizeof(*b.processes));
	if (b.processes) {
		b.processes[s->asked.process] = true;
		b.from = s->asked.start;
		b.to = s->asked.end;
		status = spans_find(&spans, s->p->rt, &b);
	} else {
		status = KYMO_ERROR_NO_MEMORY;
	}
	spans.ahead = true;
	if (status == KYMO_OK) {
		read_chunks(s, &spans, false);
		read_chunks(s, &spans, true);
	}
	spans_release(&spans);
	filter_unbind(&b);
	return status;
}

/* A call that never returned is in a list. */
static void look_for_open(struct search *s)
{
	const struct trace *t = s->p->t;

	for (uint32_t i = 0; i < t->open_calls_count && !s->asked.work; i++) {
		const struct t_open_call *c = &t->open_calls[i];
		struct text line = {0};

		if (t->threads[c->thread].process != s->asked.process || c->id != s->asked.id ||
		    c->start != s->asked.start)
			continue;
		text_add(&s->found, s->found_count++ ? ",\n{\"record\": " : "\n{\"record\": ");
		s->p->json_out->pack = s->p->line_out->pack = pack;
		s->p->json_out->packer = &s->found;
		s->p->line_out->packer = &line;
		s->p->json->open_call(s->p->json, c);
		s->p->line->open_call(s->p->line, c);
		output_flush(s->p->json_out);
		output_flush(s->p->line_out);
		text_add(&s->found, ", \"line\": ");
		text_add_json_bytes(&s->found, line.s ? line.s : "",
				    line.length ? line.length - 1 : 0);
		text_add(&s->found, "}");
		text_release(&line);
	}
}

/* ---- life -------------------------------------------------------------------------------------- */

struct page_records *page_records_new(const char *trace, struct stream_log *log)
{
	struct page_records *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->log = log;
	p->path = strdup(trace);
	if (p->path)
		return p;
	free(p);
	return NULL;
}

static bool open_trace(struct page_records *p)
{
	if (p->line)
		return true;
	if (!p->rt && raw_trace_open(p->path, p->log, &p->rt) != KYMO_OK)
		return false;
	p->t = raw_trace_definitions(p->rt);
	if (!p->symbols)
		p->symbols = symbols_new(p->t, p->log);
	if (!p->json)
		p->json = json_lines_new(p->t, &p->json_out);
	if (p->symbols && p->json)
		p->line = text_lines_new(p->t, p->log, &p->line_out);
	return p->line != NULL;
}

void page_records_free(struct page_records *p)
{
	if (!p)
		return;
	json_lines_free(p->json);
	text_lines_free(p->line);
	symbols_free(p->symbols);
	if (p->rt)
		raw_trace_close(p->rt);
	free(p->path);
	free(p);
}

bool page_records_find(struct page_records *p, const struct page_asked *asked, struct text *out)
{
	struct search s = {.p = p, .asked = *asked, .whole = true};
	bool ok;

	if (!open_trace(p))
		return false;
	if (!asked->process || asked->process >= p->t->processes_count) {
		text_add(out, "{\"records\": [], \"related\": [], \"whole\": true}\n");
		return !out->failed;
	}
	s.asked.start = (int64_t)((uint64_t)asked->start + (uint64_t)p->t->origin);
	s.asked.end = (int64_t)((uint64_t)asked->end + (uint64_t)p->t->origin);
	clock_gettime(CLOCK_MONOTONIC, &s.began);
	ok = look(&s) == KYMO_OK;
	if (ok && !s.found_count)
		look_for_open(&s);
	text_addf(out, "{\"records\": [%s], \"related\": [%s], \"whole\": %s}\n",
		  s.found.s ? s.found.s : "", s.related.s ? s.related.s : "",
		  s.whole ? "true" : "false");
	ok = ok && !s.found.failed && !s.related.failed && !out->failed;
	text_release(&s.found);
	text_release(&s.related);
	return ok;
}
