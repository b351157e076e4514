/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of messages between ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "page/plot.h"
#include "record/fields.h"

enum { SIDE = 48, NAMED = 24 /* cells a side with names and numbers */ };

extern const struct plot plot_messages;

struct matrix {
	uint32_t *place;     /* of a process that is a rank, in order of worlds and ranks */
	uint32_t *process;   /* at a place */
	uint32_t count;      /* ranks */
	uint32_t each, side; /* ranks a row, rows */
	uint64_t *bytes, *messages;
	uint64_t elsewhere; /* messages with ranks that were not recorded */
};

/* 1: the process sent it; -1: it took it from there; 0: it is the other side's, or of no pair. */
static int direction_of(const struct timeline *tl, const struct tl_message *m)
{
	if (m->peer < 0 || tl->trace->communicators[m->communicator].remote_size)
		return 0;
	if (m->kind == COMM_OP_SEND || m->kind == COMM_OP_PUT || m->kind == COMM_OP_ACCUMULATE)
		return 1;
	return m->kind == COMM_OP_GET ? -1 : 0;
}

static bool has_messages(const struct page *p)
{
	const struct timeline *tl = p->read.timeline;

	for (uint32_t i = 0; i < tl->messages_count; i++)
		if (direction_of(tl, &tl->messages[i]) &&
		    tl->trace->processes[tl->messages[i].process].rank != UINT32_MAX)
			return true;
	return false;
}

static const struct trace *ordered; /* by_rank() */

static int compare_rank(const struct t_process *x, uint32_t world, uint32_t rank)
{
	if (x->world != world)
		return x->world < world ? -1 : 1;
	return (x->rank > rank) - (x->rank < rank);
}

static int by_rank(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct t_process *other = &ordered->processes[y];
	int order = compare_rank(&ordered->processes[x], other->world, other->rank);

	return order ? order : (x > y) - (x < y);
}

/* The place of a rank of a world; count: it has none. */
static uint32_t place_of(const struct matrix *m, const struct trace *t, uint32_t world,
			 uint32_t rank)
{
	uint32_t low = 0, high = m->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_rank(&t->processes[m->process[middle]], world, rank) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < m->count && compare_rank(&t->processes[m->process[low]], world, rank) == 0)
		return low;
	return m->count;
}

static bool find_places(struct matrix *m, const struct trace *t)
{
	m->place = calloc(t->processes_count + 1u, sizeof(*m->place));
	m->process = calloc(t->processes_count + 1u, sizeof(*m->process));
	if (!m->place || !m->process)
		return false;
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (!t->processes[i].telemetry && t->processes[i].rank != UINT32_MAX)
			m->process[m->count++] = i;
	ordered = t;
	qsort(m->process, m->count, sizeof(*m->process), by_rank);
	for (uint32_t i = 0; i < m->count; i++)
		m->place[m->process[i]] = i;
	m->each = m->count ? (m->count + SIDE - 1) / SIDE : 1;
	m->side = (m->count + m->each - 1) / m->each;
	m->bytes = calloc((size_t)m->side * m->side + 1, sizeof(*m->bytes));
	m->messages = calloc((size_t)m->side * m->side + 1, sizeof(*m->messages));
	return m->bytes && m->messages;
}

static void add_messages(struct matrix *m, const struct timeline *tl)
{
	for (uint32_t i = 0; i < tl->messages_count; i++) {
		const struct tl_message *c = &tl->messages[i];
		const struct t_process *process = &tl->trace->processes[c->process];
		int way = direction_of(tl, c);
		uint32_t own, other;
		size_t at;

		if (!way || process->rank == UINT32_MAX)
			continue;
		own = m->place[c->process];
		other = place_of(m, tl->trace, process->world, (uint32_t)c->peer);
		if (other == m->count) {
			m->elsewhere++;
			continue;
		}
		at = (size_t)((way > 0 ? own : other) / m->each) * m->side +
		     (way > 0 ? other : own) / m->each;
		m->bytes[at] += c->bytes;
		m->messages[at]++;
	}
}

static void place_name(char *out, size_t size, const struct matrix *m, const struct trace *t,
		       uint32_t row)
{
	uint32_t first = row * m->each, last = first + m->each - 1;
	uint32_t a, b;

	last = last < m->count ? last : m->count - 1;
	a = t->processes[m->process[first]].rank;
	b = t->processes[m->process[last]].rank;
	if (first == last)
		snprintf(out, size, "%" PRIu32, a);
	else
		snprintf(out, size, "%" PRIu32 "-%" PRIu32, a, b);
}

static void draw_cell(struct draw *d, const struct matrix *m, const struct plot_box *b, size_t at,
		      uint64_t most, const char *told)
{
	const double cell = (b->right - b->left) / m->side, gap = cell > 12 ? 2 : 0;
	const double x = b->left + (double)(at % m->side) * cell;
	const size_t row = at / m->side;
	const double y = b->top + (double)row * cell;
	const double share = (double)m->bytes[at] / (double)most;
	char bytes[UNITS_TEXT];

	draw_rect(d, x, y, cell - gap, cell - gap,
		  m->messages[at] ? plot_cividis(share) : DRAW_EMPTY, told);
	if (m->side <= NAMED / 3 && m->messages[at])
		draw_text(d, x + cell / 2, y + cell / 2 + 6, 18, DRAW_PLAIN, DRAW_MIDDLE,
			  share > 0.6 ? DRAW_TEXT : DRAW_WHITE,
			  units_bytes((double)m->bytes[at], bytes));
}

static void draw_matrix(struct draw *d, const struct matrix *m, const struct page *p, uint64_t most)
{
	const double side = 640, cell = side / m->side;
	const uint32_t every = (m->side + NAMED - 1) / NAMED;
	const struct plot_box b = {480, 140, 480 + side, 140 + side};
	char from[48], to[48], told[200], bytes[UNITS_TEXT];

	for (uint32_t a = 0; a < m->side; a++) {
		place_name(from, sizeof(from), m, p->read.trace, a);
		for (uint32_t c = 0; c < m->side; c++) {
			size_t at = (size_t)a * m->side + c;

			place_name(to, sizeof(to), m, p->read.trace, c);
			snprintf(told, sizeof(told),
				 "%s to %s: %" PRIu64 " messages, %" PRIu64 " bytes", from, to,
				 m->messages[at], m->bytes[at]);
			draw_cell(d, m, &b, at, most, told);
		}
		if (a % every)
			continue;
		draw_text(d, b.left - 12, b.top + (a + 0.5) * cell + 6, 18, DRAW_PLAIN, DRAW_RIGHT,
			  DRAW_TEXT, from);
		draw_text_fitted(d, b.left + (a + 0.5) * cell, b.bottom + 26, 18, every * cell,
				 DRAW_MIDDLE, DRAW_TEXT, from);
	}
	draw_text(d, b.left + side / 2, b.bottom + 54, 19, DRAW_PLAIN, DRAW_MIDDLE, DRAW_MUTED,
		  "to rank");
	draw_text(d, 380, b.top + side / 2, 19, DRAW_PLAIN, DRAW_RIGHT, DRAW_MUTED, "from rank");
	plot_scale(d, &(struct plot_box){.right = PLOT_WIDTH - 50}, "0 B",
		   units_bytes((double)most, bytes));
}

static bool draw_messages(const struct page *p, struct draw *d, unsigned picture)
{
	struct matrix m = {0};
	bool ok = find_places(&m, p->read.trace);
	uint64_t most = 1;

	if (ok)
		add_messages(&m, p->read.timeline);
	for (size_t i = 0; ok && i < (size_t)m.side * m.side; i++)
		most = m.bytes[i] > most ? m.bytes[i] : most;
	if (ok && m.elsewhere)
		plot_note(d, "%" PRIu64 " messages with ranks that were not recorded are not here",
			  m.elsewhere);
	else if (ok && m.each > 1)
		plot_note(d, "%" PRIu32 " ranks in each row and column: there are %" PRIu32, m.each,
			  m.count);
	if (ok)
		draw_matrix(d, &m, p, most);
	free(m.place);
	free(m.process);
	free(m.bytes);
	free(m.messages);
	return ok;
}

const struct plot plot_messages = {
	"messages",
	"Messages between ranks",
	"bytes as the rank that sends, puts or gets them says; a row sends, a column receives",
	has_messages,
	draw_messages,
	NULL};
