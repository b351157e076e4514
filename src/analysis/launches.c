/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that work came from; see launches.h. */
#include "analysis/launches.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "formats/raw/read.h"

enum kind {
	KIND_NONE, /* a call, or what came from none */
#define KIND_OF(K, name, type) KIND_##K,
	RECORD_KINDS(KIND_OF)
#undef KIND_OF
		KIND_OTHER
};

struct launches {
	const struct trace *trace;
	const bool *foreign;
	uint8_t *kinds; /* by op: enum kind */
	struct map *of; /* by process: id of a call to its place in `list` */
	struct launch *list;
	uint32_t count, room;
};

struct look {
	struct stream_sink sink; /* first */
	struct launches *launches;
};

static struct launches *of_sink(struct stream_sink *s)
{
	return ((struct look *)(void *)s)->launches;
}

/* ---- which calls ------------------------------------------------------------------------------- */

static const struct {
	const char *domain;
	enum kind kind;
} domain_kinds[] = {
#define DOMAIN_KIND(domain, kind) {domain, KIND_##kind},
	RECORD_DOMAINS(DOMAIN_KIND)
#undef DOMAIN_KIND
};

static enum kind kind_of(const struct trace *t, const struct t_op *op)
{
	for (unsigned i = 0; i < sizeof(domain_kinds) / sizeof(*domain_kinds); i++)
		if (strcmp(t->domains[op->domain].name, domain_kinds[i].domain) == 0)
			return domain_kinds[i].kind;
	return KIND_NONE;
}

/* Of an activity without a structure of its own: a build. */
static uint64_t other_call(const struct trace *t, const struct rec *r)
{
	struct rec_fields f;
	const struct t_field *field;
	struct wire_value v;

	if (!r->wire)
		return 0;
	rec_fields_init(&f, t, r);
	while (rec_fields_next(&f, &field, &v))
		if (strcmp(field->name, "correlation") == 0)
			return v.u;
	return 0;
}

static uint64_t submitter(const struct rec_device *d)
{
	const uint64_t call = device_call(d);

	return call == UINT64_MAX ? 0 : call;
}

#define MEMBER(type, member) (((const struct type *)(const void *)r)->member)

uint64_t launches_call_of(const struct launches *l, const struct rec *r)
{
	switch (r->op < l->trace->ops_count ? l->kinds[r->op] : KIND_NONE) {
	case KIND_DISPATCH:
		return submitter(&MEMBER(rec_dispatch, device));
	case KIND_COPY:
		return submitter(&MEMBER(rec_copy, device));
	case KIND_ALLOCATION:
		return MEMBER(rec_allocation, correlation);
	case KIND_SYNC:
		return MEMBER(rec_sync, correlation);
	case KIND_COMM:
		return MEMBER(rec_comm, correlation);
	case KIND_OTHER:
		return other_call(l->trace, r);
	default:
		return 0;
	}
}

/* Makes a place for the call, to be filled when it is met. */
static kymo_status_t want_call(struct launches *l, uint32_t process, uint64_t call)
{
	if (!call || process >= l->trace->processes_count || map_get(&l->of[process], call))
		return KYMO_OK;
	if (!vec_reserve(&l->list, &l->room, l->count, 1) ||
	    !map_set(&l->of[process], call, l->count))
		return KYMO_ERROR_NO_MEMORY;
	l->list[l->count++] = (struct launch){0};
	return KYMO_OK;
}

static kymo_status_t want(struct stream_sink *s, const struct rec *r)
{
	struct launches *l = of_sink(s);

	return want_call(l, r->process, launches_call_of(l, r));
}

#define WANT(K, name, type)                                                                        \
	static kymo_status_t want_##name(struct stream_sink *s, const struct type *r)              \
	{                                                                                          \
		return want(s, &r->base);                                                          \
	}
RECORD_KINDS(WANT)

static bool is_work(const struct trace *t, const struct t_op *op)
{
	switch (kind_of(t, op)) {
	case KIND_DISPATCH:
	case KIND_COPY:
	case KIND_ALLOCATION:
	case KIND_SYNC:
	case KIND_COMM:
	case KIND_OTHER:
		return true;
	default:
		return false;
	}
}

/* ---- the calls --------------------------------------------------------------------------------- */

static bool is_foreign(const struct launches *l, uint32_t site)
{
	const struct trace *t = l->trace;
	uint32_t module = site < t->sites_count ? t->sites[site].module : 0;

	return !module || module >= t->modules_count || l->foreign[module];
}

/* The calls of a thread come in order of their end: one that another was made in comes later. */
static kymo_status_t add_call(struct stream_sink *s, const struct rec *r)
{
	struct launches *l = of_sink(s);
	uint64_t at =
		r->process < l->trace->processes_count ? map_get(&l->of[r->process], r->id) : 0;

	if (at)
		l->list[at] = (struct launch){r->parent, r->site, r->stack, r->op};
	if (r->parent && (at || is_foreign(l, r->site)))
		return want_call(l, r->process, r->parent);
	return KYMO_OK;
}

static bool is_call(const struct trace *t, const struct t_op *op)
{
	return kind_of(t, op) == KIND_NONE;
}

static kymo_status_t nothing(struct stream_sink *s, const struct rec *r)
{
	return KYMO_OK;
}

struct launches *launches_new(struct raw_trace *rt, const bool *foreign)
{
	struct launches *l = calloc(1, sizeof(*l));
#define SET_WANT(K, name, type) .name = want_##name,
	struct look work = {{RECORD_KINDS(SET_WANT).other = want, .call = nothing}, l},
		    calls = {{.call = add_call, .other = nothing}, l};

	if (!l)
		return NULL;
	l->trace = raw_trace_definitions(rt);
	l->foreign = foreign;
	l->kinds = calloc(l->trace->ops_count, sizeof(*l->kinds));
	l->of = calloc(l->trace->processes_count, sizeof(*l->of));
	if (l->kinds && l->of && vec_reserve(&l->list, &l->room, 0, 1)) {
		l->count = 1; /* index 0 is "none" */
		for (uint32_t i = 0; i < l->trace->ops_count; i++)
			l->kinds[i] = (uint8_t)kind_of(l->trace, &l->trace->ops[i]);
		if (raw_trace_look(rt, is_work, &work.sink) == KYMO_OK &&
		    raw_trace_look(rt, is_call, &calls.sink) == KYMO_OK)
			return l;
	}
	launches_free(l);
	return NULL;
}

void launches_free(struct launches *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; l->of && i < l->trace->processes_count; i++)
		map_release(&l->of[i]);
	free(l->of);
	free(l->kinds);
	free(l->list);
	free(l);
}

const struct launch *launches_find(const struct launches *l, uint32_t process, uint64_t call)
{
	uint64_t at =
		call && process < l->trace->processes_count ? map_get(&l->of[process], call) : 0;

	return at && l->list[at].op ? &l->list[at] : NULL;
}
