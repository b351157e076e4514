/* SPDX-License-Identifier: Apache-2.0 */
/* What only the whole says: which call submitted what, what lies in what, which scopes there are. */
#include <stdlib.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "base/vec.h"
#include "formats/xspace/reader.h"

/* Of intervals that cross each other so many are looked at for one that a further one lies in. */
#define CROSSING_MAX 256
/* So many scopes above one are looked at. */
#define DEPTH_MAX 1024

#define KIND(name)  (1u << ENTRY_##name)
#define DEVICE_WORK (KIND(DISPATCH) | KIND(COPY))
#define RANGES      (KIND(RANGE) | KIND(PROCESS_RANGE) | KIND(SCOPE))

static bool has_kind(const struct entry *e, uint32_t kinds)
{
	return kinds >> e->kind & 1;
}

static uint32_t thread_of(const struct reader *r, const struct entry *e)
{
	return r->lines[e->line].thread;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static const struct entry *entry_of(const void *index, const void *reader)
{
	return &((const struct reader *)reader)->entries[*(const uint32_t *)index];
}

static int in_file(const void *a, const void *b)
{
	return compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* What others lie in comes before them. */
static int by_nesting(const void *a, const void *b, void *r)
{
	const struct entry *x = entry_of(a, r), *y = entry_of(b, r);
	int order = compare(thread_of(r, x), thread_of(r, y));

	order = order ? order : compare(x->start, y->start);
	order = order ? order : compare(y->end, x->end);
	return order ? order : in_file(a, b);
}

/* What lies in others comes before them. */
static int by_end(const void *a, const void *b, void *r)
{
	const struct entry *x = entry_of(a, r), *y = entry_of(b, r);
	int order = compare(x->end, y->end);

	order = order ? order : compare(y->start, x->start);
	return order ? order : in_file(b, a);
}

static uint32_t pick(struct reader *r, uint32_t kinds,
		     int (*order)(const void *, const void *, void *))
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (has_kind(&r->entries[i], kinds))
			r->order[n++] = i;
	r->failed |= !bulk_sort(&r->order, n, sizeof(*r->order), order, r);
	return n;
}

/* ---- the tree of scopes ---------------------------------------------------------------------- */

static uint64_t edge_key(uint32_t input, int64_t child)
{
	return hash_mix(hash_u64(input), (uint64_t)child);
}

static struct edge *find_edge(const struct reader *r, uint32_t input, int64_t child)
{
	uint64_t i;

	map_each(&r->edge_places, edge_key(input, child), i)
		if (r->edges[i - 1].input == input && r->edges[i - 1].child == child)
			return &r->edges[i - 1];
	return NULL;
}

/* As readers of the format do: of two edges of one scope the first one holds. */
void xread_add_edge(struct reader *r, uint32_t input, int64_t child, int64_t parent)
{
	if (find_edge(r, input, child)) {
		unplaced_add(&r->unplaced, "second parents of scopes", 1);
		return;
	}
	if (!bulk_reserve(&r->edges, &r->edge_room, r->edge_count, 1) ||
	    !bulk_map_add(&r->edge_places, edge_key(input, child), (uint64_t)r->edge_count + 1)) {
		r->failed = true;
		return;
	}
	r->edges[r->edge_count++] = (struct edge){child, parent, input, 0};
}

int64_t xread_parent_scope(const struct reader *r, uint32_t input, int64_t child)
{
	const struct edge *e = child ? find_edge(r, input, child) : NULL;

	return e ? e->parent : 0;
}

enum { UNSEEN, ON_WAY, DONE };

/* The edge that closes a circle goes. */
static void follow(struct reader *r, struct edge *first)
{
	struct edge *e = first;

	while (e && e->state == UNSEEN) {
		struct edge *next = find_edge(r, e->input, e->parent);

		e->state = ON_WAY;
		if (next && next->state == ON_WAY) {
			unplaced_add(&r->unplaced, "scopes that would lie in themselves", 1);
			e->parent = 0;
			next = NULL;
		}
		e = next;
	}
	for (e = first; e && e->state == ON_WAY; e = find_edge(r, e->input, e->parent))
		e->state = DONE;
}

static uint64_t scope_key(uint32_t process, int64_t id)
{
	return hash_mix(hash_mix(HASH_START, process), (uint64_t)id);
}

uint32_t xread_own_scope(const struct reader *r, uint32_t process, int64_t id)
{
	uint64_t i;

	map_each(&r->own_scopes, scope_key(process, id), i)
		if (r->entries[i - 1].process == process && r->entries[i - 1].scope == id)
			return (uint32_t)i;
	return 0;
}

/* The range that is this scope; of two that say so it is the first. */
static void own_scopes(struct reader *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entries[i];

		if (!e->scope || !has_kind(e, RANGES))
			continue;
		if (xread_own_scope(r, e->process, e->scope)) {
			unplaced_add(&r->unplaced, "ranges with the scope id of another one", 1);
			e->scope = 0;
		} else if (!bulk_map_add(&r->own_scopes, scope_key(e->process, e->scope),
					 (uint64_t)i + 1)) {
			r->failed = true;
		}
	}
}

/* The others are numbered, with numbers that no scope of the file has. */
static void number_ranges(struct reader *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entries[i];

		if (e->scope || !has_kind(e, RANGES))
			continue;
		do
			e->scope = ++r->last_scope[e->process];
		while (map_get(&r->own_scopes, scope_key(e->process, e->scope)));
	}
}

/* ---- scopes that their work alone tells of --------------------------------------------------- */

static struct part first_of(struct part a, struct part b, struct part c)
{
	return a.n ? a : b.n ? b : c;
}

/* The outermost is the execution of a module, the innermost what the work was annotated with. */
static struct part name_of_scope(const struct stats *s, bool innermost, bool outermost)
{
	struct part none = {(const uint8_t *)"scope", 5}, nvtx = stat_text(s, STAT_NVTX);
	struct part op = first_of(nvtx, stat_text(s, STAT_HLO_OP), stat_text(s, STAT_TF_OP));

	if (outermost)
		return first_of(stat_text(s, STAT_HLO_MODULE), op, none);
	return innermost && op.n ? op : none;
}

static uint32_t make_scope(struct reader *r, uint32_t of, int64_t id)
{
	struct entry *e = xread_add_entry(r);
	const struct entry *work = &r->entries[of];

	*e = (struct entry){.start = work->start,
			    .end = work->end,
			    .scope = id,
			    .line = work->line,
			    .process = work->process,
			    .kind = ENTRY_SCOPE};
	if (!r->failed && !bulk_map_add(&r->own_scopes, scope_key(e->process, id), r->count))
		r->failed = true;
	return r->count;
}

/* From the scope of the work outwards; each lasts as long as the work in it. */
static void scopes_of(struct reader *r, uint32_t of)
{
	uint32_t input = r->planes[r->lines[r->entries[of].line].plane].input, depth = 0;
	int64_t id = r->entries[of].scope;
	struct stats s;

	xread_stats(r, &r->entries[of], &s);
	for (; id && !r->failed; depth++) {
		uint32_t at = xread_own_scope(r, r->entries[of].process, id);
		int64_t above = xread_parent_scope(r, input, id);
		struct entry *e;

		if (depth == DEPTH_MAX) {
			unplaced_add(&r->unplaced, "times of scopes above more than 1,024 others",
				     1);
			return;
		}
		at = at ? at : make_scope(r, of, id);
		if (r->failed)
			return;
		e = &r->entries[at - 1];
		if (e->kind == ENTRY_SCOPE) {
			e->start =
				e->start < r->entries[of].start ? e->start : r->entries[of].start;
			e->end = e->end > r->entries[of].end ? e->end : r->entries[of].end;
			if (!e->what)
				e->what = xread_text(r, name_of_scope(&s, !depth, !above));
		}
		id = above;
	}
}

static void find_scopes(struct reader *r)
{
	uint32_t n = r->count;

	for (uint32_t i = 0; i < n && !r->failed; i++)
		if (r->entries[i].scope && !has_kind(&r->entries[i], RANGES | KIND(NONE)))
			scopes_of(r, i);
}

/* ---- calls and their work -------------------------------------------------------------------- */

/* The call with that correlation in that process, + 1. */
uint32_t xread_call(const struct reader *r, uint32_t process, uint64_t key)
{
	uint64_t i;

	map_each(&r->calls, key, i)
		if (r->entries[i - 1].process == process)
			return (uint32_t)i;
	return 0;
}

/* Of two in a process that have the same the second gets a number of its own. */
static bool find_calls(struct reader *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entries[i];

		if (e->kind != ENTRY_CALL || !e->correlated)
			continue;
		if (xread_call(r, e->process, e->key)) {
			unplaced_add(&r->unplaced, "correlations of calls that another call has",
				     1);
			e->correlated = false;
		} else if (!bulk_map_add(&r->calls, e->key, (uint64_t)i + 1)) {
			return false;
		}
	}
	for (uint32_t i = 0; i < r->count; i++)
		if (r->entries[i].kind == ENTRY_CALL && !r->entries[i].correlated)
			r->entries[i].key = ++r->largest_call;
	return true;
}

/* In its process; else, of several of its file, the last one that began before it. */
static uint32_t submitter(const struct reader *r, const struct entry *e)
{
	uint32_t best = xread_call(r, e->process, e->key),
		 input = r->planes[r->lines[e->line].plane].input;
	uint64_t i;

	if (best)
		return best;
	map_each(&r->calls, e->key, i) {
		const struct entry *c = &r->entries[i - 1],
				   *b = best ? &r->entries[best - 1] : NULL;

		if (r->planes[r->lines[c->line].plane].input != input)
			continue;
		if (!b || (c->start <= e->start && (b->start > e->start || b->start < c->start)))
			best = (uint32_t)i;
	}
	return best;
}

static void place(struct reader *r, struct entry *e)
{
	const struct line_in *l = &r->lines[e->line];
	uint32_t input = r->planes[l->plane].input;
	struct stats s;

	e->up = e->correlated ? submitter(r, e) : 0;
	if (e->up) {
		e->process = r->entries[e->up - 1].process;
		r->t->ops[r->entries[e->up - 1].what].flags |= KYMO_OP_SUBMITS;
	}
	xread_agent(r, e->process, l->plane + 1);
	xread_queue(r, e->process, e->line);
	if (e->kind == ENTRY_DISPATCH) {
		xread_kernel(r, e->process, xread_name(r, e));
		return;
	}
	xread_stats(r, e, &s);
	xread_agent(r, e->process, xread_device_plane(r, input, stat_of(&s, STAT_SOURCE)));
	xread_agent(r, e->process, xread_device_plane(r, input, stat_of(&s, STAT_DESTINATION)));
}

/* Devices that only memory and waits name are there as well. */
static void place_host(struct reader *r, const struct entry *e)
{
	const struct plane_in *p = &r->planes[r->lines[e->line].plane];
	struct stats s;

	xread_stats(r, e, &s);
	xread_agent(r, e->process, xread_device_plane(r, p->input, stat_of(&s, STAT_DEVICE)));
}

static void place_all(struct reader *r)
{
	for (uint32_t i = 0; i < r->count && !r->failed; i++) {
		struct entry *e = &r->entries[i];

		if (has_kind(e, DEVICE_WORK) || (has_kind(e, KIND(MEMORY)) && !thread_of(r, e)))
			place(r, e);
		else if (has_kind(e, KIND(MEMORY) | KIND(SYNC)))
			place_host(r, e);
	}
}

/* ---- nesting --------------------------------------------------------------------------------- */

struct nest {
	uint32_t *open;
	uint32_t depth, room;
};

static void close_until(const struct reader *r, struct nest *s, const struct entry *e)
{
	while (s->depth) {
		const struct entry *top = &r->entries[s->open[s->depth - 1]];

		if (thread_of(r, top) == thread_of(r, e) && top->end > e->start)
			break;
		s->depth--;
	}
}

/* What it lies in, + 1: of those still open the innermost that ends no earlier. */
static uint32_t surrounding(const struct reader *r, const struct nest *s, const struct entry *e)
{
	uint32_t looked = 0;

	for (uint32_t i = s->depth; i-- > 0 && looked++ < CROSSING_MAX;)
		if (r->entries[s->open[i]].end >= e->end)
			return s->open[i] + 1;
	return 0;
}

static bool nest(struct reader *r)
{
	uint32_t n = pick(r, KIND(CALL) | KIND(RANGE) | KIND(MARK) | KIND(MEMORY) | KIND(SYNC),
			  by_nesting);
	struct nest s = {0};

	for (uint32_t i = 0; i < n && !r->failed; i++) {
		struct entry *e = &r->entries[r->order[i]];

		if (!thread_of(r, e))
			continue;
		close_until(r, &s, e);
		e->up = surrounding(r, &s, e);
		if (!has_kind(e, KIND(CALL) | KIND(RANGE)))
			continue;
		if (!vec_reserve(&s.open, &s.room, s.depth, 1))
			r->failed = true;
		else
			s.open[s.depth++] = r->order[i];
	}
	free(s.open);
	return !r->failed;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* From the begin of recording to its end, where these are told and can be. */
static void widen(struct reader *r, const struct input *in)
{
	const int64_t day = INT64_C(86400000000000);

	if (in->start < r->window[0] && in->start > r->window[0] - day)
		r->window[0] = in->start;
	if (in->stop > r->window[1] && in->stop < r->window[1] + day)
		r->window[1] = in->stop;
}

/* Times of the trace begin with the first second: before 0 there is no time. */
static void find_window(struct reader *r)
{
	if (r->window[0] > r->window[1])
		r->window[0] = r->window[1] = 0;
	r->dated = r->window[0] >= SINCE_1970;
	for (uint32_t i = 0; i < r->in.count && r->dated; i++)
		widen(r, &r->in.files[i]);
	r->shift = 1000000000 - r->window[0];
}

bool xread_order(struct reader *r)
{
	find_window(r);
	for (uint32_t i = 0; i < r->edge_count; i++)
		follow(r, &r->edges[i]);
	own_scopes(r);
	if (r->failed || !find_calls(r))
		return false;
	place_all(r);
	find_scopes(r);
	r->order = bulk_array((size_t)r->count + 1, sizeof(*r->order));
	r->last_scope = calloc((size_t)r->t->processes_count + 1, sizeof(*r->last_scope));
	r->threads_of = calloc((size_t)r->t->processes_count + 1, sizeof(*r->threads_of));
	if (r->failed || !r->order || !r->last_scope || !r->threads_of)
		return false;
	number_ranges(r);
	if (!nest(r))
		return false;
	r->picked = pick(r, ~KIND(NONE), by_end);
	return !r->failed;
}
