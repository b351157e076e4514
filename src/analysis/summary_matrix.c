/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages by sender and receiver as people read them: a matrix of bytes, and one of messages. Ranks that
 * are too many for a page are taken together, as many in each row and column.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/labels.h"
#include "analysis/summary_parts.h"
#include "base/units.h"
#include "base/vec.h"

enum {
	PAGE = 8,   /* rows and columns */
	MOST = 256, /* with --all */
	LABELS = 2
};

/* Messages of one pair. */
struct edge {
	char *from, *to; /* owned: labels of ranks */
	uint64_t bytes, count;
};

struct matrix {
	struct edge *edges;
	uint32_t count, room;
	uint64_t others; /* messages that are of no pair */
	const char **ranks;
	uint32_t rank_count;
	uint32_t block, side; /* ranks in a row; rows */
	bool failed;
};

/* 1: the process sent it; -1: it took it from there; 0: it is the other side's, or of no pair. */
static int direction_of(const char *op)
{
	if (strcmp(op, "send") == 0 || strcmp(op, "put") == 0 || strcmp(op, "accumulate") == 0)
		return 1;
	return strcmp(op, "get") == 0 ? -1 : 0;
}

static char *label_of(const struct summary *s, const struct tally *row, unsigned by)
{
	struct text t = {0};

	label_add(&t, s, TALLY_COMM, row, by);
	return t.s;
}

static void add_edge(struct matrix *m, const struct summary *s, const struct tally *row)
{
	const struct trace *t = s->trace;
	uint32_t op = row->key[KEY_OP] < t->ops_count ? row->key[KEY_OP] : 0;
	int way = direction_of(t->ops[op].name);
	struct edge e = {label_of(s, row, BY_RANK), label_of(s, row, BY_PEER),
			 way < 0 ? row->received : row->bytes, row->count};
	bool pair = way && row->key[KEY_COMM_PEER];

	if (!e.from || !e.to || (pair && !vec_reserve(&m->edges, &m->room, m->count, 1)))
		m->failed = true;
	if (m->failed || !pair) {
		/* What another rank has sent is in its row. */
		if (!m->failed && strcmp(t->ops[op].name, "receive") != 0)
			m->others += row->count;
		free(e.from);
		free(e.to);
		return;
	}
	m->edges[m->count++] = way > 0 ? e : (struct edge){e.to, e.from, e.bytes, e.count};
}

static int compare_labels(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static bool find_ranks(struct matrix *m, uint32_t most)
{
	uint32_t n = 0;

	m->ranks = calloc((size_t)m->count * LABELS + 1, sizeof(*m->ranks));
	if (!m->ranks)
		return false;
	for (uint32_t i = 0; i < m->count; i++) {
		m->ranks[n++] = m->edges[i].from;
		m->ranks[n++] = m->edges[i].to;
	}
	if (n)
		qsort(m->ranks, n, sizeof(*m->ranks), compare_labels);
	for (uint32_t i = 0; i < n; i++)
		if (!i || strcmp(m->ranks[i], m->ranks[i - 1]) != 0)
			m->ranks[m->rank_count++] = m->ranks[i];
	m->block = (m->rank_count + most - 1) / most;
	m->side = m->block ? (m->rank_count + m->block - 1) / m->block : 0;
	return true;
}

static uint32_t place_of(const struct matrix *m, const char *rank)
{
	const char **at =
		bsearch(&rank, m->ranks, m->rank_count, sizeof(*m->ranks), compare_labels);

	return at ? (uint32_t)(at - m->ranks) / m->block : 0;
}

/* "3", or "4-7" where several are one row. */
static void add_block(struct text *out, const struct matrix *m, uint32_t i)
{
	uint32_t first = i * m->block, last = first + m->block - 1;

	last = last < m->rank_count ? last : m->rank_count - 1;
	text_add(out, m->ranks[first]);
	if (last > first)
		text_addf(out, "-%s", m->ranks[last]);
}

static bool make_table(struct report *r, const struct matrix *m, const uint64_t *cells, bool bytes)
{
	struct table *t =
		report_table(r, "messages",
			     bytes ? "Bytes sent, from the rank of a row to that of a column"
				   : "Messages sent, likewise");
	struct text label = {0};

	if (!t)
		return false;
	table_column(t, "from", "from \\ to", CELL_TEXT);
	t->columns[0].right = true;
	for (uint32_t k = 0; k < m->side; k++) {
		label.length = 0;
		add_block(&label, m, k);
		table_column(t, table_own(t, label.s), table_own(t, label.s),
			     bytes ? CELL_BYTES : CELL_COUNT);
	}
	for (uint32_t i = 0; i < m->side; i++) {
		struct cell *c = table_row(t);

		if (!c)
			break;
		label.length = 0;
		add_block(&label, m, i);
		cell_text(t, c++, label.s ? label.s : "");
		for (uint32_t k = 0; k < m->side; k++, c++)
			if (cells[(size_t)i * m->side + k])
				cell_number(c, cells[(size_t)i * m->side + k]);
	}
	if (bytes && m->block > 1)
		table_note(t, "%s ranks in a row and column; --all, csv and json have each",
			   UNITS_COUNT(m->block));
	if (bytes && m->others)
		table_note(t,
			   "%s collective transfers and those of files are not in it; --by rank,op "
			   "has them",
			   UNITS_COUNT(m->others));
	text_release(&label);
	return !t->failed;
}

static bool fill(struct report *r, const struct matrix *m)
{
	size_t n = (size_t)m->side * m->side;
	uint64_t *bytes = calloc(n + 1, sizeof(*bytes)), *counts = calloc(n + 1, sizeof(*counts));
	bool ok = bytes && counts;

	for (uint32_t i = 0; ok && i < m->count; i++) {
		const struct edge *e = &m->edges[i];
		size_t at = (size_t)place_of(m, e->from) * m->side + place_of(m, e->to);

		bytes[at] += e->bytes;
		counts[at] += e->count;
	}
	ok = ok && make_table(r, m, bytes, true) && make_table(r, m, counts, false);
	free(bytes);
	free(counts);
	return ok;
}

bool summary_matrix(struct report *r, const struct summary *s, unsigned count)
{
	struct matrix m = {0};
	bool ok;

	for (unsigned i = 0; i < count; i++)
		for (uint32_t k = 0; k < s[i].tallies->set[TALLY_COMM].count; k++)
			add_edge(&m, &s[i], s[i].tallies->set[TALLY_COMM].rows[k]);
	ok = !m.failed && find_ranks(&m, r->top ? PAGE : MOST) && (!m.side || fill(r, &m));
	for (uint32_t i = 0; i < m.count; i++) {
		free(m.edges[i].from);
		free(m.edges[i].to);
	}
	free(m.edges);
	free(m.ranks);
	return ok;
}
