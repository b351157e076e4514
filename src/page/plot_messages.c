/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of messages between ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "page/matrix.h"
#include "page/plot.h"

enum { SIDE = 48, NAMED = 24 /* cells a side with names and numbers */ };

extern const struct plot plot_messages;

/* Neighbouring ranks together, so that there are SIDE rows at most. */
struct cells {
	struct matrix m;
	uint32_t each, side; /* ranks a row, rows */
	uint64_t *bytes, *messages;
};

static bool has_messages(const struct page *p)
{
	return matrix_any(p->read.timeline);
}

static bool find_cells(struct cells *c, const struct timeline *tl)
{
	if (!matrix_find(&c->m, tl, UINT32_MAX))
		return false;
	c->each = c->m.count ? (c->m.count + SIDE - 1) / SIDE : 1;
	c->side = (c->m.count + c->each - 1) / c->each;
	c->bytes = calloc((size_t)c->side * c->side + 1, sizeof(*c->bytes));
	c->messages = calloc((size_t)c->side * c->side + 1, sizeof(*c->messages));
	if (!c->bytes || !c->messages)
		return false;
	for (uint32_t i = 0; i < c->m.pair_count; i++) {
		const struct matrix_pair *x = &c->m.pairs[i];
		size_t at = (size_t)(x->from / c->each) * c->side + x->to / c->each;

		c->bytes[at] += x->bytes;
		c->messages[at] += x->messages;
	}
	return true;
}

static void place_name(char *out, size_t size, const struct cells *c, const struct trace *t,
		       uint32_t row)
{
	uint32_t first = row * c->each, last = first + c->each - 1;
	char a[MATRIX_NAME], b[MATRIX_NAME];

	last = last < c->m.count ? last : c->m.count - 1;
	matrix_name(&c->m, t, first, a);
	matrix_name(&c->m, t, last, b);
	snprintf(out, size, first == last ? "%s" : "%s-%s", a, b);
}

static void draw_cell(struct draw *d, const struct cells *m, const struct plot_box *b, size_t at,
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

static void draw_matrix(struct draw *d, const struct cells *m, const struct page *p, uint64_t most)
{
	const double side = 640, cell = side / m->side;
	const uint32_t every = (m->side + NAMED - 1) / NAMED;
	const struct plot_box b = {480, 140, 480 + side, 140 + side};
	char from[80], to[80], told[300], bytes[UNITS_TEXT];

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
	struct cells c = {0};
	bool ok = find_cells(&c, p->read.timeline);
	uint64_t most = 1;

	for (size_t i = 0; ok && i < (size_t)c.side * c.side; i++)
		most = c.bytes[i] > most ? c.bytes[i] : most;
	if (ok && c.m.elsewhere)
		plot_note(d, "%" PRIu64 " messages with ranks that were not recorded are not here",
			  c.m.elsewhere);
	else if (ok && c.each > 1)
		plot_note(d, "%" PRIu32 " ranks in each row and column: there are %" PRIu32, c.each,
			  c.m.count);
	if (ok)
		draw_matrix(d, &c, p, most);
	matrix_release(&c.m);
	free(c.bytes);
	free(c.messages);
	return ok;
}

const struct plot plot_messages = {
	"messages",
	"Messages between ranks",
	"bytes as the rank that sends, puts or gets them says; a row sends, a column receives",
	has_messages,
	draw_messages,
	NULL};
