/* SPDX-License-Identifier: Apache-2.0 */
/* See matrix.h. */
#include "page/matrix.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/fields.h"

/* 1: the process sent it; -1: it took it from there; 0: it is the other side's, or of no pair. */
static int direction_of(const struct timeline *tl, const struct tl_message *m)
{
	if (m->peer < 0 || tl->trace->communicators[m->communicator].remote_size)
		return 0;
	if (m->kind == COMM_OP_SEND || m->kind == COMM_OP_PUT || m->kind == COMM_OP_ACCUMULATE)
		return 1;
	return m->kind == COMM_OP_GET ? -1 : 0;
}

bool matrix_any(const struct timeline *tl)
{
	for (uint32_t i = 0; tl && i < tl->messages_count; i++)
		if (direction_of(tl, &tl->messages[i]) &&
		    tl->trace->processes[tl->messages[i].process].rank != UINT32_MAX)
			return true;
	return false;
}

/* ---- places of ranks --------------------------------------------------------------------------- */

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

static bool find_places(struct matrix *m, const struct trace *t, uint32_t *place)
{
	m->process = calloc(t->processes_count + 1u, sizeof(*m->process));
	if (!m->process)
		return false;
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (!t->processes[i].telemetry && t->processes[i].rank != UINT32_MAX)
			m->process[m->count++] = i;
	ordered = t;
	qsort(m->process, m->count, sizeof(*m->process), by_rank);
	for (uint32_t i = 0; i < m->count; i++)
		place[m->process[i]] = i;
	return true;
}

/* ---- pairs ------------------------------------------------------------------------------------- */

static bool add(struct matrix *m, struct map *places, uint32_t from, uint32_t to, uint64_t bytes)
{
	uint64_t key = (uint64_t)from << 32 | to, at = map_get(places, key);

	if (!at) {
		if (!vec_reserve(&m->pairs, &m->pair_room, m->pair_count, 1) ||
		    !map_set(places, key, m->pair_count + 1u))
			return false;
		m->pairs[m->pair_count++] = (struct matrix_pair){.from = from, .to = to};
		at = m->pair_count;
	}
	m->pairs[at - 1].messages++;
	m->pairs[at - 1].bytes += bytes;
	return true;
}

static bool add_messages(struct matrix *m, const struct timeline *tl, const uint32_t *place)
{
	struct map places = {0};
	bool ok = true;

	for (uint32_t i = 0; i < tl->messages_count && ok; i++) {
		const struct tl_message *c = &tl->messages[i];
		const struct t_process *process = &tl->trace->processes[c->process];
		int way = direction_of(tl, c);
		uint32_t own, other;

		if (!way || process->rank == UINT32_MAX)
			continue;
		own = place[c->process];
		other = place_of(m, tl->trace, process->world, (uint32_t)c->peer);
		if (other == m->count)
			m->elsewhere++;
		else
			ok = add(m, &places, way > 0 ? own : other, way > 0 ? other : own,
				 c->bytes);
	}
	map_release(&places);
	return ok;
}

static int by_place(const void *a, const void *b)
{
	const struct matrix_pair *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* In order; those of the same places are one. */
static void settle(struct matrix *m)
{
	uint32_t n = 0;

	if (m->pair_count)
		qsort(m->pairs, m->pair_count, sizeof(*m->pairs), by_place);
	for (uint32_t i = 0; i < m->pair_count; i++) {
		if (n && by_place(&m->pairs[n - 1], &m->pairs[i]) == 0) {
			m->pairs[n - 1].messages += m->pairs[i].messages;
			m->pairs[n - 1].bytes += m->pairs[i].bytes;
		} else {
			m->pairs[n++] = m->pairs[i];
		}
	}
	m->pair_count = n;
}

static void coarsen(struct matrix *m)
{
	m->each *= 2;
	for (uint32_t i = 0; i < m->pair_count; i++) {
		m->pairs[i].from /= 2;
		m->pairs[i].to /= 2;
	}
	settle(m);
}

bool matrix_find(struct matrix *m, const struct timeline *tl, uint32_t most)
{
	uint32_t *place = calloc(tl->trace->processes_count + 1u, sizeof(*place));
	bool ok;

	*m = (struct matrix){.each = 1};
	ok = place && find_places(m, tl->trace, place) && add_messages(m, tl, place);
	settle(m);
	while (ok && m->pair_count > most)
		coarsen(m);
	free(place);
	return ok;
}

void matrix_release(struct matrix *m)
{
	free(m->process);
	free(m->pairs);
	*m = (struct matrix){0};
}

void matrix_name(const struct matrix *m, const struct trace *t, uint32_t place,
		 char out[MATRIX_NAME])
{
	const struct t_process *p = &t->processes[m->process[place]];

	if (t->worlds > 1)
		snprintf(out, MATRIX_NAME, "%u.%u", p->world, p->rank);
	else
		snprintf(out, MATRIX_NAME, "%u", p->rank);
}

/* ---- in a page --------------------------------------------------------------------------------- */

kymo_status_t matrix_encode(struct matrix *m, struct sections *s)
{
	struct text raw = {0};
	kymo_status_t status;

	m->section = sections_reserve(s);
	for (uint32_t i = 0; i < m->pair_count; i++)
		text_add_bytes(&raw, (const char *)&m->pairs[i].from, sizeof(uint32_t));
	for (uint32_t i = 0; i < m->pair_count; i++)
		text_add_bytes(&raw, (const char *)&m->pairs[i].to, sizeof(uint32_t));
	for (uint32_t i = 0; i < m->pair_count; i++)
		text_add_bytes(&raw, (const char *)&(double){(double)m->pairs[i].messages},
			       sizeof(double));
	for (uint32_t i = 0; i < m->pair_count; i++)
		text_add_bytes(&raw, (const char *)&(double){(double)m->pairs[i].bytes},
			       sizeof(double));
	status = raw.failed || m->section == UINT32_MAX
			 ? KYMO_ERROR_NO_MEMORY
			 : sections_put(s, m->section, SECTION_MESSAGES, raw.s, raw.length);
	text_release(&raw);
	return status;
}

void matrix_put(FILE *out, const struct matrix *m, const struct trace *t)
{
	char name[MATRIX_NAME];

	if (!m->pair_count && !m->elsewhere) {
		fputs("null", out);
		return;
	}
	fprintf(out,
		"{\"each\": %u, \"pairs\": %u, \"section\": %u, \"elsewhere\": %" PRIu64
		", \"ranks\": [",
		m->each, m->pair_count, m->section, m->elsewhere);
	for (uint32_t i = 0; i < m->count; i++) {
		matrix_name(m, t, i, name);
		fprintf(out, "%s\"%s\"", i ? "," : "", name);
	}
	fputs("]}", out);
}
