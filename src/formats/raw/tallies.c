/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tallies of calls, which mode "summary" keeps instead of records: read with the definitions,
 * because there is no more of them than of ops and threads.
 */
#include "wire/tally.h"

#include <string.h>

#include "formats/raw/internal.h"

/* Durations of an op lie close together: of a job with many ranks the whole would be gigabytes. */
static void add_histogram(struct trace *t, struct t_tally *out, const struct wire_tally *y)
{
	uint32_t first = 0, end = WIRE_TALLY_BUCKETS;

	while (first < end && !y->histogram[first])
		first++;
	while (end > first && !y->histogram[end - 1])
		end--;
	if (first == end)
		return;
	out->histogram = trace_alloc(t, (end - first) * sizeof(*out->histogram));
	if (!out->histogram)
		return;
	memcpy(out->histogram, y->histogram + first, (end - first) * sizeof(*out->histogram));
	out->first = first;
	out->buckets = end - first;
}

static void add(struct raw_process *p, const struct wire_tally *y, uint32_t thread)
{
	struct trace *t = p->rt->trace;
	uint64_t rate = p->ticks.segments[0].rate;
	double ns = (double)rate / (double)(1ull << 40);
	struct t_tally *out;

	if (y->op >= p->op_count || p->ops[y->op].kind == RAW_KIND_NONE || !y->count)
		return;
	out = trace_add(t, tallies);
	out->thread = thread;
	out->op = p->ops[y->op].op;
	out->count = y->count;
	out->errors = y->errors;
	out->total = (uint64_t)((double)y->total * ns);
	out->self = (uint64_t)((double)y->self * ns);
	out->min = (uint64_t)((double)y->min * ns);
	out->max = (uint64_t)((double)y->max * ns);
	out->ns_per_tick = ns;
	add_histogram(t, out, y);
}

void raw_read_tallies(struct raw_process *p)
{
	struct raw_buffer buffer = {0};

	for (uint32_t i = 0; i < p->file.block_count; i++) {
		struct raw_block b;
		struct wire_chunk h;
		const uint8_t *data;
		size_t bytes;
		uint32_t thread;

		raw_file_block(&p->file, i, &b);
		if (b.type != RAW_CHUNK || b.chunk_type != WIRE_CHUNK_TALLY ||
		    !raw_file_payload(&p->file, i, &buffer, true, &data, &bytes) ||
		    bytes < sizeof(h))
			continue;
		memcpy(&h, data, sizeof(h));
		thread = idmap_get(&p->threads, h.thread);
		for (size_t at = h.header_size; thread && at + sizeof(struct wire_tally) <= bytes;
		     at += sizeof(struct wire_tally)) {
			struct wire_tally y;

			memcpy(&y, data + at, sizeof(y));
			add(p, &y, thread);
		}
	}
	raw_buffer_release(&buffer);
}
