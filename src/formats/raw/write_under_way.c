/* SPDX-License-Identifier: Apache-2.0 */
/* What was under way when a process ended, and what it counted instead of recording it, into its file. */
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "formats/raw/writer.h"
#include "wire/live.h"

enum kind { OPEN_CALL, UNFINISHED, LEFT_OUT };

static void add(struct raw_writer *w, enum kind kind, uint32_t process, uint32_t index)
{
	w->under_way[w->under_way_count++] = (struct raw_under_way){process, index, kind};
}

static int by_process(const void *a, const void *b)
{
	const struct raw_under_way *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

bool raw_out_find_under_way(struct raw_writer *w)
{
	const struct trace *t = w->t;
	size_t most = (size_t)t->open_calls_count + t->unfinished_count + t->left_out_count + 1;

	w->under_way = malloc(most * sizeof(*w->under_way));
	if (!w->under_way)
		return raw_out_failed(w, w->directory, ENOMEM);
	for (uint32_t i = 1; i < t->open_calls_count; i++)
		add(w, OPEN_CALL, t->threads[t->open_calls[i].thread].process, i);
	for (uint32_t i = 1; i < t->unfinished_count; i++)
		add(w, UNFINISHED, t->unfinished[i].process, i);
	for (uint32_t i = 1; i < t->left_out_count; i++)
		add(w, LEFT_OUT, t->left_out[i].process, i);
	qsort(w->under_way, w->under_way_count, sizeof(*w->under_way), by_process);
	return true;
}

static void put_open_call(const struct raw_writer *w, const struct t_open_call *x,
			  struct text *calls)
{
	const struct raw_open call = {.call = {x->id, (uint64_t)x->start, w->wire_ops[x->op], 0},
				      .thread = x->thread,
				      .tid = w->t->threads[x->thread].tid,
				      .depth = x->depth};

	text_add_bytes(calls, (const char *)&call, sizeof(call));
}

static void put_unfinished(const struct raw_writer *w, const struct t_unfinished *x,
			   struct text *lines)
{
	struct wire_line l = {.kind = WIRE_LINE_FLIGHT,
			      .op = w->wire_ops[x->op],
			      .flight = {.call = x->id,
					 .submit = (uint64_t)x->submit,
					 .bytes = x->bytes,
					 .agent = x->agent,
					 .queue = x->queue,
					 .kernel = x->kernel,
					 .thread = x->thread}};

	l.state = wire_flight_check(l.op, &l.flight);
	text_add_bytes(lines, (const char *)&l, sizeof(l));
}

static void put_count(struct text *lines, enum wire_line_kind kind, uint16_t op, uint64_t calls,
		      uint32_t thread)
{
	const struct wire_line l = {
		.kind = (uint16_t)kind, .op = op, .state = 1, .count = {calls, thread, 0}};

	text_add_bytes(lines, (const char *)&l, sizeof(l));
}

static void put(struct raw_writer *w, const struct raw_under_way *x, struct text *calls,
		struct text *lines)
{
	const struct trace *t = w->t;
	uint32_t op = x->kind == OPEN_CALL    ? t->open_calls[x->index].op
		      : x->kind == UNFINISHED ? t->unfinished[x->index].op
					      : t->left_out[x->index].op;

	if (!raw_out_op(w, x->process, op))
		return;
	if (x->kind == OPEN_CALL)
		put_open_call(w, &t->open_calls[x->index], calls);
	else if (x->kind == UNFINISHED)
		put_unfinished(w, &t->unfinished[x->index], lines);
	else
		put_count(lines, WIRE_LINE_COUNT, w->wire_ops[op], t->left_out[x->index].calls,
			  t->left_out[x->index].thread);
}

/* The lines as one chunk, of what fits in one. */
static bool write_lines(struct raw_writer *w, struct raw_out *p, const struct text *lines)
{
	enum {
		MOST = (RAW_WRITE_CHUNK - WIRE_LIVE_HEADER) / sizeof(struct wire_line) *
		       sizeof(struct wire_line)
	};
	bool ok = true;

	for (size_t at = 0; ok && at < lines->length; at += MOST) {
		size_t n = lines->length - at < MOST ? lines->length - at : MOST;
		struct raw_block b = {
			.type = RAW_CHUNK, .chunk_type = WIRE_CHUNK_LIVE, .seq = at / MOST};
		struct wire_chunk h = {.magic = WIRE_CHUNK_MAGIC,
				       .version = WIRE_VERSION,
				       .header_size = WIRE_LIVE_HEADER,
				       .type = WIRE_CHUNK_LIVE,
				       .seq = b.seq,
				       .committed = (uint32_t)(WIRE_LIVE_HEADER + n)};
		struct text chunk = {0};
		static const char zero[WIRE_LIVE_HEADER];

		text_add_bytes(&chunk, (const char *)&h, sizeof(h));
		text_add_bytes(&chunk, zero, WIRE_LIVE_HEADER - sizeof(h));
		text_add_bytes(&chunk, lines->s + at, n);
		ok = chunk.failed ? raw_out_failed(w, w->directory, ENOMEM)
				  : raw_out_block(w, p, &b, chunk.s, h.committed);
		text_release(&chunk);
	}
	return ok;
}

bool raw_out_under_way(struct raw_writer *w, uint32_t process)
{
	struct raw_out *p = &w->processes[process];
	struct raw_block b = {.type = RAW_OPEN_CALLS};
	struct text calls = {0}, lines = {0};
	bool ok;

	while (w->under_way_next < w->under_way_count &&
	       w->under_way[w->under_way_next].process <= process) {
		const struct raw_under_way *x = &w->under_way[w->under_way_next++];

		if (x->process == process)
			put(w, x, &calls, &lines);
	}
	if (w->t->processes[process].unlisted)
		put_count(&lines, WIRE_LINE_BEYOND, 0, w->t->processes[process].unlisted, 0);
	ok = calls.failed || lines.failed ? raw_out_failed(w, w->directory, ENOMEM)
					  : raw_out_flush(w, p);
	if (ok && calls.length)
		ok = raw_out_block(w, p, &b, calls.s, (uint32_t)calls.length);
	if (ok)
		ok = write_lines(w, p, &lines);
	text_release(&calls);
	text_release(&lines);
	return ok && !w->failed;
}
