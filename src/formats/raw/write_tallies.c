/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and device work of which only sums are known, as a traced program counts them (mode summary). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/raw/writer.h"
#include "record/fields.h"
#include "record/tallies.h"
#include "wire/tally.h"

struct entry {
	struct wire_chunk head;
	struct wire_tally y;
	struct wire_work w;
};

static void put_histogram(const struct t_tally *from, struct wire_tally *to)
{
	for (uint32_t i = 0; i < from->buckets && from->first + i < WIRE_TALLY_BUCKETS; i++) {
		uint64_t n = t_tally_bucket(from, i);

		to->histogram[from->first + i] = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	}
}

static void put_work(const struct t_tally *from, struct entry *e)
{
	static const struct t_work none;
	const struct t_work *x = from->work ? from->work : &none;

	e->y.flags = WIRE_TALLY_WORK;
	e->w.kind = from->kind;
	e->w.bytes = x->bytes;
	e->w.received = x->received;
	e->w.wait = x->wait;
	e->w.untimed = x->untimed;
	e->w.untimed_bytes = x->untimed_bytes;
	if (from->kind == WIRE_TALLY_DISPATCH) {
		e->w.key[WIRE_KEY_DISPATCH_AGENT] = from->key[KEY_DISPATCH_AGENT];
		e->w.key[WIRE_KEY_DISPATCH_QUEUE] = from->key[KEY_DISPATCH_QUEUE];
		e->w.key[WIRE_KEY_DISPATCH_KERNEL] = from->key[KEY_DISPATCH_KERNEL];
	} else {
		e->w.key[WIRE_KEY_COPY_QUEUE] = from->key[KEY_COPY_QUEUE];
		e->w.key[WIRE_KEY_COPY_SOURCE_AGENT] = from->key[KEY_COPY_SOURCE_AGENT];
		e->w.key[WIRE_KEY_COPY_DESTINATION_AGENT] = from->key[KEY_COPY_DESTINATION_AGENT];
		e->w.key[WIRE_KEY_COPY_KINDS] = from->key[KEY_COPY_KINDS];
	}
}

/* The op of kernels: their tallies have none. */
static uint32_t kernel_op(const struct trace *t)
{
	for (uint32_t i = 1; i < t->ops_count; i++)
		if (t->ops[i].number == DISPATCH_OP_KERNEL &&
		    strcmp(t->domains[t->ops[i].domain].name, "dispatch") == 0)
			return i;
	return 0;
}

static uint32_t op_of(const struct trace *t, const struct t_tally *y)
{
	return y->kind == WIRE_TALLY_DISPATCH ? kernel_op(t)
	       : y->kind == WIRE_TALLY_COPY   ? y->key[KEY_COPY_OP]
					      : y->key[KEY_OP];
}

static bool put(struct raw_writer *w, const struct t_tally *y, uint64_t seq)
{
	uint32_t process = w->t->threads[y->thread].process, op = op_of(w->t, y), bytes;
	struct raw_block b = {.type = RAW_CHUNK,
			      .chunk_type = WIRE_CHUNK_TALLY,
			      .thread = y->thread,
			      .seq = seq,
			      .last_tick = UINT64_MAX};
	struct entry *e;
	bool ok;

	if (!op || !raw_out_op(w, process, op))
		return !w->failed;
	e = calloc(1, sizeof(*e));
	if (!e)
		return raw_out_failed(w, w->directory, ENOMEM);
	e->y = (struct wire_tally){.op = w->wire_ops[op],
				   .count = y->count,
				   .errors = y->errors,
				   .total = y->total,
				   .self = y->self,
				   .min = y->min,
				   .max = y->max};
	put_histogram(y, &e->y);
	if (y->kind != WIRE_TALLY_CALL)
		put_work(y, e);
	bytes = (uint32_t)sizeof(e->head) + wire_tally_size(&e->y);
	e->head = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
				      .version = WIRE_VERSION,
				      .header_size = sizeof(e->head),
				      .type = WIRE_CHUNK_TALLY,
				      .thread = y->thread,
				      .tid = w->t->threads[y->thread].tid,
				      .seq = seq,
				      .committed = bytes};
	ok = raw_out_flush(w, &w->processes[process]) &&
	     raw_out_block(w, &w->processes[process], &b, e, bytes);
	free(e);
	return ok;
}

/* Of kinds that readers of other tools' sums make. */
bool raw_out_tallies(struct raw_writer *w)
{
	bool ok = true;

	for (uint32_t i = 1; i < w->t->tallies_count && ok; i++) {
		const struct t_tally *y = &w->t->tallies[i];

		if (y->thread && (y->kind == WIRE_TALLY_CALL || y->kind == WIRE_TALLY_DISPATCH ||
				  y->kind == WIRE_TALLY_COPY))
			ok = put(w, y, i);
	}
	return ok;
}
