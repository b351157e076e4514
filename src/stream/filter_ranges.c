/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of ranges: which scopes are asked for, and when these ranges and marks were. Their records
 * come when they end, hence a pass ahead. Memory: 56 bytes for each execution of any range.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "stream/filter_parts.h"

#define DEPTH_MAX 512u /* of scopes; what a sound trace cannot have */

enum { UNKNOWN, INSIDE, OUTSIDE };

struct node {
	int64_t scope, parent, start, end; /* scope 0: a mark */
	uint32_t process, thread, name;
	uint8_t state; /* enum above: of --range */
	bool taken;    /* by the specification that is being looked at */
};

struct window {
	int64_t from, to;
};

/* Times that are asked for, of each thread or process; at 0 those of all. */
struct windows {
	struct window *at;
	uint32_t *first; /* count + 1 */
	uint32_t count;
};

struct filter_ranges {
	struct stream_sink sink; /* first: of the pass */
	const struct filter_binding *b;
	const struct trace *trace;
	struct node *node;
	uint32_t node_count, node_room;
	struct map *places; /* by process: scope to node + 1 */
	struct map hashes;  /* of names */
	char **names;
	uint32_t name_count, name_room;
	struct windows during, threads;
	bool marks; /* are wanted as well */
};

bool ranges_needed(const struct stream_filter *f)
{
	return f->spec.ranges || f->spec.during || f->after.kind == TIME_RANGE ||
	       f->before.kind == TIME_RANGE;
}

struct filter_ranges *ranges_new(struct filter_binding *b)
{
	struct filter_ranges *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->trace = b->trace;
	r->places = calloc(b->trace->processes_count, sizeof(*r->places));
	r->marks = b->filter->after.kind == TIME_RANGE || b->filter->before.kind == TIME_RANGE;
	if (r->places)
		return r;
	free(r);
	return NULL;
}

static void windows_release(struct windows *w)
{
	free(w->at);
	free(w->first);
}

void ranges_free(struct filter_ranges *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->trace->processes_count; i++)
		map_release(&r->places[i]);
	for (uint32_t i = 0; i < r->name_count; i++)
		free(r->names[i]);
	map_release(&r->hashes);
	windows_release(&r->during);
	windows_release(&r->threads);
	free(r->names);
	free(r->places);
	free(r->node);
	free(r);
}

/* ---- the pass ------------------------------------------------------------------------------ */

static bool name_of(struct filter_ranges *r, const struct rec_marker *m, uint32_t *out)
{
	const struct t_string *named = m->name ? &r->trace->strings[m->name] : NULL;
	const char *text = named ? named->text : m->text ? m->text : "";
	size_t n = named || !m->text ? strlen(text) : m->text_length;
	uint64_t hash = hash_bytes(text, n), i;

	map_each(&r->hashes, hash, i) {
		if (strlen(r->names[i - 1]) == n && memcmp(r->names[i - 1], text, n) == 0) {
			*out = (uint32_t)i - 1;
			return true;
		}
	}
	if (!vec_reserve(&r->names, &r->name_room, r->name_count, 1))
		return false;
	r->names[r->name_count] = strndup(text, n);
	if (!r->names[r->name_count])
		return false;
	*out = r->name_count++;
	return map_add(&r->hashes, hash, *out + 1u);
}

static kymo_status_t add_range(struct stream_sink *sink, const struct rec_marker *m)
{
	struct filter_ranges *r = (struct filter_ranges *)(void *)sink;
	uint32_t process = m->base.process;
	struct node n = {.scope = m->scope,
			 .parent = m->base.scope,
			 .start = m->base.start,
			 .end = m->base.end,
			 .process = process,
			 .thread = m->starter ? m->starter : m->base.thread};

	if (!m->scope && !r->marks)
		return KYMO_OK;
	if (!name_of(r, m, &n.name) || !vec_reserve(&r->node, &r->node_room, r->node_count, 1))
		return KYMO_ERROR_NO_MEMORY;
	r->node[r->node_count++] = n;
	if (m->scope && !map_set(&r->places[process], (uint64_t)m->scope, r->node_count))
		return KYMO_ERROR_NO_MEMORY;
	return KYMO_OK;
}

static bool is_marker(const struct trace *t, const struct t_op *op)
{
	return strcmp(t->domains[op->domain].name, "marker") == 0;
}

struct stream_sink *ranges_look(struct filter_ranges *r,
				bool (**wants)(const struct trace *t, const struct t_op *op))
{
	r->sink = (struct stream_sink){.marker = add_range, .brief = true};
	*wants = is_marker;
	return &r->sink;
}

/* ---- which executions ---------------------------------------------------------------------- */

static const struct node *parent_of(const struct filter_ranges *r, const struct node *n)
{
	uint64_t i = n->parent ? map_get(&r->places[n->process], (uint64_t)n->parent) : 0;

	return i ? &r->node[i - 1] : NULL;
}

/* It has that name; or `text` is a path, "solve/assemble", that ends here. */
static bool is_named(const struct filter_ranges *r, const struct node *n, const char *text,
		     size_t length)
{
	for (unsigned depth = 0; n && depth < DEPTH_MAX; depth++) {
		const char *name = r->names[n->name];
		size_t m = strlen(name);

		if (m > length || memcmp(text + length - m, name, m) != 0)
			return false;
		if (m == length)
			return true;
		if (text[length - m - 1] != '/' || m == 0)
			return false;
		length -= m + 1;
		n = parent_of(r, n);
	}
	return false;
}

static bool take_named(struct filter_ranges *r, const char *text, bool marks)
{
	bool any = false;

	for (uint32_t i = 0; i < r->node_count; i++) {
		struct node *n = &r->node[i];

		n->taken = (n->scope || marks) && is_named(r, n, text, strlen(text));
		any |= n->taken;
	}
	return any;
}

/* A name is looked at once, however often the range was executed. */
static bool take_matching(struct filter_ranges *r, const struct pattern *p, bool marks)
{
	bool *matches = calloc(r->name_count + 1u, sizeof(*matches));
	bool any = false;

	for (uint32_t i = 0; matches && p->set && i < r->name_count; i++)
		matches[i] = pattern_matches(p, r->names[i]);
	for (uint32_t i = 0; i < r->node_count; i++) {
		struct node *n = &r->node[i];

		n->taken = matches && (n->scope || marks) && matches[n->name];
		any |= n->taken;
	}
	free(matches);
	return any;
}

static int by_thread(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->scope > y->scope) - (x->scope < y->scope);
}

/* Each thread counts its own executions, from 1. Returns the largest number, 0: no memory. */
static uint64_t keep_numbers(struct filter_ranges *r, const struct number_list *numbers)
{
	struct node **taken = malloc((r->node_count + 1u) * sizeof(struct node *));
	uint32_t count = 0;
	uint64_t n = 0, most = 0;

	for (uint32_t i = 0; taken && i < r->node_count; i++)
		if (r->node[i].taken)
			taken[count++] = &r->node[i];
	if (count)
		qsort(taken, count, sizeof(struct node *), by_thread);
	for (uint32_t i = 0; i < count; i++) {
		n = i && taken[i]->thread == taken[i - 1]->thread ? n + 1 : 1;
		most = n > most ? n : most;
	}
	for (uint32_t i = 0; i < count; i++) {
		n = i && taken[i]->thread == taken[i - 1]->thread ? n + 1 : 1;
		taken[i]->taken = numbers_have(numbers, n);
	}
	free(taken);
	return most;
}

static bool any_taken(const struct filter_ranges *r)
{
	for (uint32_t i = 0; i < r->node_count; i++)
		if (r->node[i].taken)
			return true;
	return false;
}

static void list_names(const struct filter_ranges *r, bool marks, struct names_list *has)
{
	bool *used = calloc(r->name_count + 1u, sizeof(*used));

	for (uint32_t i = 0; used && i < r->node_count; i++)
		used[r->node[i].name] |= r->node[i].scope || marks;
	for (uint32_t i = 0; used && i < r->name_count; i++)
		if (used[i])
			names_add(has, r->names[i]);
	free(used);
}

/* Marks in `taken` the executions that are meant: the whole text is a name, else the numbers count. */
static kymo_status_t choose(struct filter_ranges *r, struct filter_binding *b, enum choice c,
			    const struct range_spec *s, bool marks)
{
	struct names_list has = {0};
	char why[200];
	uint64_t most;
	bool found;

	if (s->numbers.count && take_named(r, s->text, marks))
		return filter_choose(b, c, true, NULL, NULL);
	found = take_named(r, s->name, marks) || take_matching(r, &s->pattern, marks);
	if (!found) {
		list_names(r, marks, &has);
		return filter_choose(b, c, false,
				     has.count
					     ? marks ? "its ranges and marks are" : "its ranges are"
				     : marks ? "it has no ranges and no marks"
					     : "it has no ranges",
				     &has);
	}
	if (!s->numbers.count)
		return filter_choose(b, c, true, NULL, NULL);
	most = keep_numbers(r, &s->numbers);
	if (!most)
		return KYMO_ERROR_NO_MEMORY;
	found = any_taken(r);
	snprintf(why, sizeof(why),
		 "the thread that has most executions of it has %" PRIu64 ", numbered from 1",
		 most);
	if (found && s->numbers.at[s->numbers.count - 1].last > most)
		stream_warn(b->filter->log, "%s: of %s, not all are there: %s", r->trace->path,
			    s->text, why);
	return filter_choose(b, c, found, why, &has);
}

/* ---- below them ---------------------------------------------------------------------------- */

static bool is_inside(struct filter_ranges *r, struct node *n, unsigned depth)
{
	uint64_t i;

	if (n->state != UNKNOWN || depth == DEPTH_MAX)
		return n->state == INSIDE;
	n->state = OUTSIDE; /* ends a cycle, which only a damaged trace has */
	i = n->parent ? map_get(&r->places[n->process], (uint64_t)n->parent) : 0;
	if (i && is_inside(r, &r->node[i - 1], depth + 1))
		n->state = INSIDE;
	return n->state == INSIDE;
}

static void find_inside(struct filter_ranges *r)
{
	for (uint32_t i = 0; i < r->node_count; i++)
		r->node[i].state = r->node[i].taken ? INSIDE : UNKNOWN;
	for (uint32_t i = 0; i < r->node_count; i++)
		is_inside(r, &r->node[i], 0);
}

bool ranges_have(const struct filter_ranges *r, uint32_t process, int64_t scope)
{
	uint64_t i = scope ? map_get(&r->places[process], (uint64_t)scope) : 0;

	return i && r->node[i - 1].state == INSIDE;
}

/* ---- windows ------------------------------------------------------------------------------- */

static int by_from(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Sorts and joins those that overlap. Returns how many are left. */
static uint32_t join_windows(struct window *w, uint32_t count)
{
	uint32_t kept = 0;

	if (count)
		qsort(w, count, sizeof(*w), by_from);
	for (uint32_t i = 0; i < count; i++) {
		if (!kept || w[i].from > w[kept - 1].to)
			w[kept++] = w[i];
		else if (w[i].to > w[kept - 1].to)
			w[kept - 1].to = w[i].to;
	}
	return kept;
}

static uint32_t key_of(const struct node *n, bool by_process)
{
	return by_process ? n->process : n->thread;
}

/* Of the executions that are taken; each is there twice, the second time at 0. */
static bool find_windows(const struct filter_ranges *r, struct windows *w, uint32_t count,
			 bool by_process)
{
	uint32_t *next = calloc(count + 1u, sizeof(*next)), taken = 0, kept = 0;

	w->count = count;
	w->first = calloc(count + 1u, sizeof(*w->first));
	for (uint32_t i = 0; next && i < r->node_count; i++) {
		if (!r->node[i].taken)
			continue;
		next[key_of(&r->node[i], by_process)]++;
		taken++; /* of those of no thread, too */
	}
	w->at = malloc((2 * (size_t)taken + 1) * sizeof(*w->at));
	if (!next || !w->first || !w->at) {
		free(next);
		return false;
	}
	next[0] = taken;
	for (uint32_t i = 0; i < count; i++)
		w->first[i + 1] = w->first[i] + next[i];
	memcpy(next, w->first, count * sizeof(*next));
	for (uint32_t i = 0; i < r->node_count; i++) {
		const struct node *n = &r->node[i];

		if (!n->taken)
			continue;
		w->at[next[0]++] = (struct window){n->start, n->end};
		if (key_of(n, by_process)) /* 0: of no thread, and above it is already */
			w->at[next[key_of(n, by_process)]++] = (struct window){n->start, n->end};
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t first = w->first[i];
		uint32_t n = join_windows(w->at + first, w->first[i + 1] - first);

		memmove(w->at + kept, w->at + first, n * sizeof(*w->at));
		w->first[i] = kept;
		kept += n;
	}
	w->first[count] = kept;
	free(next);
	return true;
}

static bool overlaps(const struct windows *w, uint32_t key, int64_t start, int64_t end)
{
	uint32_t low = w->first[key], high = w->first[key + 1];

	/* The first window that ends at `start` or later. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->at[middle].to < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->first[key + 1] && w->at[low].from <= end;
}

bool ranges_on_thread(const struct filter_ranges *r, uint32_t thread, int64_t time)
{
	return thread && thread < r->threads.count && overlaps(&r->threads, thread, time, time);
}

/* A process without any of them (one that loads data, the sampler of the node) follows the others. */
bool ranges_while(const struct filter_ranges *r, uint32_t process, int64_t start, int64_t end)
{
	const struct windows *w = &r->during;

	if (!w->first)
		return true;
	if (w->first[process] == w->first[process + 1])
		process = 0;
	return overlaps(w, process, start, end);
}

/* ---- after the pass ------------------------------------------------------------------------ */

static int64_t least_start(const struct filter_ranges *r, bool end)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < r->node_count; i++) {
		int64_t at = end ? r->node[i].end : r->node[i].start;

		if (r->node[i].taken && at < least)
			least = at;
	}
	return least;
}

static int64_t last_of(const struct filter_ranges *r, bool end)
{
	int64_t most = INT64_MIN;

	for (uint32_t i = 0; i < r->node_count; i++) {
		int64_t at = end ? r->node[i].end : r->node[i].start;

		if (r->node[i].taken && at > most)
			most = at;
	}
	return most;
}

/* The first one that is meant, or of numbered ones those of all threads lie between the moments. */
static kymo_status_t find_moments(struct filter_ranges *r, struct filter_binding *b)
{
	const struct stream_filter *f = b->filter;
	const struct time_spec *after = &f->after, *before = &f->before;
	kymo_status_t status = KYMO_OK;

	if (after->kind == TIME_RANGE) {
		status = choose(r, b, CHOICE_AFTER, &after->range, true);
		if (status == KYMO_OK && !b->nothing)
			b->from = least_start(r, after->range.end);
	}
	if (status == KYMO_OK && !b->nothing && before->kind == TIME_RANGE) {
		status = choose(r, b, CHOICE_BEFORE, &before->range, true);
		if (status == KYMO_OK && !b->nothing)
			b->to = (before->range.numbers.count ? last_of(r, before->range.end)
							     : least_start(r, before->range.end)) -
				1;
	}
	if (status == KYMO_OK && !b->nothing && r->marks)
		status = filter_check_window(b);
	return status;
}

/* The windows bound what is read. */
static void narrow(struct filter_binding *b, const struct windows *w)
{
	int64_t from = w->at[w->first[0]].from, to = w->at[w->first[1] - 1].to;

	b->from = from > b->from ? from : b->from;
	b->to = to < b->to ? to : b->to;
}

kymo_status_t ranges_looked(struct filter_ranges *r, struct filter_binding *b)
{
	const struct stream_filter *f = b->filter;
	kymo_status_t status = find_moments(r, b);

	if (status == KYMO_OK && !b->nothing && f->spec.during) {
		status = choose(r, b, CHOICE_DURING, &f->during, false);
		if (status == KYMO_OK && !b->nothing &&
		    !find_windows(r, &r->during, r->trace->processes_count, true))
			status = KYMO_ERROR_NO_MEMORY;
		if (status == KYMO_OK && !b->nothing)
			narrow(b, &r->during);
	}
	if (status == KYMO_OK && !b->nothing && f->spec.ranges) {
		status = choose(r, b, CHOICE_RANGE, &f->ranges, false);
		if (status == KYMO_OK && !b->nothing &&
		    !find_windows(r, &r->threads, r->trace->threads_count, false))
			status = KYMO_ERROR_NO_MEMORY;
		find_inside(r);
	}
	return status;
}
