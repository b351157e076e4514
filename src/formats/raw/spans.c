/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks and their spans of time; see spans.h. */
#include "formats/raw/spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* How far device times and the host's may be apart where nothing bounds them. */
#define ELSEWHERE_SLACK_NS 100000000

/* ---- from the headers of blocks ------------------------------------------------------------ */

static int64_t first_of(const struct raw_process *p, const struct raw_block *b)
{
	unsigned n = b->flags >> RAW_EARLY_SHIFT & WIRE_EARLY_BITS;
	uint64_t before = n < 64 ? (1ull << n) - 1 : UINT64_MAX;

	if (!(b->flags & RAW_BOUNDED))
		return INT64_MIN;
	return tick_map_ns(&p->ticks, b->first_tick > before ? b->first_tick - before : 0);
}

static struct span *add_span(struct spans *s)
{
	if (!vec_reserve(&s->at, &s->room, s->count, 1))
		return NULL;
	return &s->at[s->count++];
}

/* `last`: of each thread its last chunk so far, by global index - first_thread: place + 1 and
 * number. */
struct last {
	uint32_t place;
	uint64_t seq;
};

static void link_thread(struct spans *s, struct span *x, const struct raw_block *b,
			struct last *last)
{
	x->gap = b->seq != last->seq;
	x->previous = last->place;
	if (last->place && s->at[last->place - 1].end == INT64_MAX)
		s->at[last->place - 1].end = x->base;
	*last = (struct last){(uint32_t)(x - s->at) + 1, b->seq + 1};
}

static bool find_in(struct spans *s, uint32_t process)
{
	struct raw_process *p = &s->rt->processes[process];
	struct last *last = calloc(p->thread_count + 1u, sizeof(*last));

	for (uint32_t i = 0; last && i < p->file.block_count; i++) {
		struct raw_block b;
		struct span *x;

		raw_file_block(&p->file, i, &b);
		if (b.type != RAW_CHUNK || b.chunk_type != WIRE_CHUNK_RECORDS)
			continue;
		x = add_span(s);
		if (!x) {
			free(last);
			return false;
		}
		*x = (struct span){.first = first_of(p, &b),
				   .base = tick_map_ns(&p->ticks, b.first_tick),
				   .end = b.last_tick == UINT64_MAX
						  ? INT64_MAX
						  : tick_map_ns(&p->ticks, b.last_tick),
				   .process = process,
				   .block = i,
				   .thread = map_get(&p->threads, b.thread)};
		if (x->thread)
			link_thread(s, x, &b, &last[x->thread - p->first_thread]);
	}
	free(last);
	return last != NULL;
}

/* ---- which are wanted ---------------------------------------------------------------------- */

static int64_t earlier(int64_t time, int64_t by)
{
	return time < INT64_MIN + by ? INT64_MIN : time - by;
}

/* All of it ends before the window. Devices' times are before the end of the chunk that reports
 * them. */
static bool is_before(const struct span *x, const struct filter_binding *b)
{
	return x->end != INT64_MAX &&
	       x->end < (x->first == INT64_MIN ? earlier(b->from, ELSEWHERE_SLACK_NS) : b->from);
}

/* What it says was lost began then. */
static int64_t lost_after(const struct spans *s, const struct span *x)
{
	return x->previous ? s->at[x->previous - 1].base : s->rt->trace->threads[x->thread].start;
}

/* All of it, and what was lost before it, is after the window. */
static bool is_after(const struct spans *s, const struct span *x, const struct filter_binding *b)
{
	return x->first != INT64_MIN && x->first > b->to && x->thread && lost_after(s, x) > b->to;
}

/* Something of it, or what was lost before it, may touch a window. */
static bool is_in_windows(const struct spans *s, const struct span *x,
			  const struct filter_windows *w)
{
	int64_t from = x->first, to = x->end, slack = w->late;

	if (!x->thread)
		return filter_in_windows(w, INT64_MIN, to);
	if (from == INT64_MIN) {
		from = earlier(x->base, w->late);
		slack = slack < ELSEWHERE_SLACK_NS ? slack : ELSEWHERE_SLACK_NS;
		to = to > INT64_MAX - slack ? INT64_MAX : to + slack;
	}
	return filter_in_windows(w, from < lost_after(s, x) ? from : lost_after(s, x), to);
}

static bool is_wanted(const struct spans *s, const struct span *x, const struct filter_binding *b)
{
	uint32_t process = s->rt->processes[x->process].process;

	if (!filter_chunk(b, process, x->thread))
		return false;
	return !is_before(x, b) && !is_after(s, x, b) &&
	       (!b->windows || is_in_windows(s, x, b->windows));
}

static void choose(struct spans *s, const struct filter_binding *b)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct span *x = &s->at[i];
		struct raw_block block;

		x->wanted = is_wanted(s, x, b);
		if (!x->wanted)
			continue;
		raw_file_block(&s->rt->processes[x->process].file, x->block, &block);
		s->bytes += block.stored;
	}
}

kymo_status_t spans_find(struct spans *s, struct raw_trace *rt, const struct filter_binding *b)
{
	*s = (struct spans){.rt = rt};
	for (uint32_t i = 0; i < rt->count; i++) {
		if (find_in(s, i))
			continue;
		spans_release(s);
		return KYMO_ERROR_NO_MEMORY;
	}
	choose(s, b);
	for (uint32_t i = 0; i < rt->count; i++) {
		struct raw_process *p = &rt->processes[i];

		memset(p->lost_seen, 0, p->thread_count * sizeof(*p->lost_seen));
	}
	return KYMO_OK;
}

void spans_release(struct spans *s)
{
	free(s->at);
	s->at = NULL;
	s->count = s->room = 0;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Whether the chunk can be read. Chunks of a thread are read one after the other, nearly always. */
static bool is_sound(struct spans *s, struct span *x)
{
	if (x->state == SPAN_UNREAD && x->wanted) {
		struct raw_buffer buffer = {0};
		struct raw_chunk c;
		bool ok =
			raw_chunk_init(&s->rt->processes[x->process], x->block, &buffer, true, &c);

		x->state = ok ? SPAN_GOOD : SPAN_BAD;
		raw_buffer_release(&buffer);
	}
	return x->state != SPAN_BAD;
}

/* Records lost before the chunk: what the program counted, or chunks that are not there. */
static void note_loss(struct spans *s, const struct span *x, bool count, struct raw_chunk *c)
{
	struct raw_process *p = c->source;
	uint64_t *seen = &p->lost_seen[x->thread - p->first_thread];
	uint32_t i = x->previous;

	c->missing = x->gap;
	for (; i && !is_sound(s, &s->at[i - 1]); i = s->at[i - 1].previous)
		c->missing = true;
	c->lost_after = i ? s->at[i - 1].base : s->rt->trace->threads[x->thread].start;
	c->lost = raw_count(
		p, c->lost,
		raw_most_in((int64_t)((uint64_t)c->lost_before - (uint64_t)c->lost_after)));
	if (count)
		*seen = raw_count(p, *seen + c->lost, COUNT_MAX);
}

bool spans_open(struct spans *s, uint32_t i, struct raw_buffer *buffer, struct raw_chunk *out)
{
	struct span *x = &s->at[i];
	struct raw_process *p = &s->rt->processes[x->process];
	bool count = !s->ahead && !x->counted;

	if (x->state == SPAN_BAD ||
	    !raw_chunk_init(p, x->block, buffer, count && x->state == SPAN_UNREAD, out)) {
		x->state = s->ahead ? x->state : SPAN_BAD;
		return false;
	}
	out->damaged = !count;
	if (s->ahead) {
		out->missing = x->gap;
		out->lost_after = 0;
		return true;
	}
	x->state = SPAN_GOOD;
	x->counted = true;
	if (x->thread && out->thread == x->thread)
		note_loss(s, x, count, out);
	else
		out->lost = 0;
	return true;
}
