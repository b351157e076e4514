/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that forgot to free; see leaks.h. */
#include "analysis/leaks.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "formats/raw/read.h"

enum { PARENTS_MAX = 64 };

struct maker {
	uint64_t parent;
	uint32_t site;
};

struct makers {
	struct stream_sink sink; /* first */
	const struct trace *trace;
	struct map *of; /* by process: id of a call to its place in `list` + 1 */
	struct maker *list;
	uint32_t count, room;
	int64_t *since; /* by thread: its earliest allocation that was not freed */
};

static kymo_status_t want_call(struct makers *m, uint32_t process, uint64_t call)
{
	if (!call || process >= m->trace->processes_count || map_get(&m->of[process], call))
		return KYMO_OK;
	if (!vec_reserve(&m->list, &m->room, m->count, 1) ||
	    !map_set(&m->of[process], call, m->count + 1))
		return KYMO_ERROR_NO_MEMORY;
	m->list[m->count++] = (struct maker){0};
	return KYMO_OK;
}

/* The calls of a thread come in order of their end: one that another was made in comes later. */
static kymo_status_t add_call(struct stream_sink *s, const struct rec *r)
{
	struct makers *m = (struct makers *)(void *)s;
	uint64_t at =
		r->process < m->trace->processes_count ? map_get(&m->of[r->process], r->id) : 0;

	if (!at)
		return KYMO_OK;
	m->list[at - 1] = (struct maker){r->parent, r->site};
	return want_call(m, r->process, r->parent);
}

static kymo_status_t nothing(struct stream_sink *s, const struct rec *r)
{
	return KYMO_OK;
}

static bool is_call(const struct trace *t, const struct t_op *op)
{
	return !(op->flags & KYMO_OP_ACTIVITY);
}

static bool may_have(const void *makers, uint32_t thread, int64_t end)
{
	const struct makers *m = makers;

	return thread < m->trace->threads_count && end >= m->since[thread];
}

/* The line of the outermost call: what it did inside is its own affair. */
static uint32_t site_of(void *makers, const struct tally_live *l)
{
	struct makers *m = makers;
	uint64_t call = l->call;
	uint32_t site = 0;

	for (unsigned i = 0; call && i < PARENTS_MAX; i++) {
		uint64_t at = l->process < m->trace->processes_count
				      ? map_get(&m->of[l->process], call)
				      : 0;

		if (!at)
			break;
		site = m->list[at - 1].site ? m->list[at - 1].site : site;
		call = m->list[at - 1].parent;
	}
	return site;
}

static bool want_makers(struct makers *m, const struct tallies *a)
{
	bool ok = true;

	for (uint32_t i = 0; i < m->trace->threads_count; i++)
		m->since[i] = INT64_MAX;
	for (uint32_t i = 0; ok && i < a->live_count; i++) {
		const struct tally_live *l = &a->live[i];

		if (l->freed)
			continue;
		ok = want_call(m, l->process, l->call) == KYMO_OK;
		if (l->thread < m->trace->threads_count && l->time < m->since[l->thread])
			m->since[l->thread] = l->time;
	}
	return ok;
}

bool leaks_find(struct tallies *a, struct raw_trace *rt)
{
	struct makers m = {.sink = {.call = add_call, .other = nothing},
			   .trace = raw_trace_definitions(rt)};
	bool ok;

	if (!a->live_count)
		return true;
	m.of = calloc(m.trace->processes_count + 1u, sizeof(*m.of));
	m.since = calloc(m.trace->threads_count + 1u, sizeof(*m.since));
	ok = m.of && m.since && want_makers(&m, a) &&
	     (!m.count || raw_trace_look_where(rt, is_call, may_have, &m, &m.sink) == KYMO_OK) &&
	     tallies_leaks(a, site_of, &m);
	for (uint32_t i = 0; m.of && i < m.trace->processes_count; i++)
		map_release(&m.of[i]);
	free(m.of);
	free(m.list);
	free(m.since);
	return ok;
}
