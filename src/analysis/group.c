/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping of tallies under labels; see group.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/names.h"
#include "stream/demangle.h"
#include "base/hash.h"
#include "base/vec.h"

bool groups_init(struct groups *g, const struct trace *t, unsigned by)
{
	memset(g, 0, sizeof(*g));
	g->by = by;
	g->numbers = tallies_empty(t);
	return g->numbers != NULL;
}

static void group_free(struct group *x)
{
	free(x->key);
	free(x->queues);
	free(x);
}

void groups_release(struct groups *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		group_free(g->list[i]);
	free(g->list);
	map_release(&g->places);
	tallies_free(g->numbers);
	memset(g, 0, sizeof(*g));
}

static struct group *find_group(const struct groups *g, uint64_t hash, const struct text *key)
{
	uint64_t i;

	map_each(&g->places, hash, i) {
		struct group *x = g->list[i - 1];

		if (x->key_length == key->length && memcmp(x->key, key->s, key->length) == 0)
			return x;
	}
	return NULL;
}

/* A new group; takes the text of its key over. */
static struct group *add_group(struct groups *g, uint64_t hash, struct text *key)
{
	bool room = vec_reserve(&g->list, &g->room, g->count, 1);
	struct group *x = room ? calloc(1, sizeof(*x)) : NULL;
	char *p = key->s;

	if (!x || !map_add(&g->places, hash, g->count + 1)) {
		free(x);
		return NULL;
	}
	x->key = key->s;
	x->key_length = key->length;
	memset(key, 0, sizeof(*key));
	for (unsigned d = 0; d < dimension_count; d++) {
		if (!(g->by & dimensions[d].by))
			continue;
		x->label[d] = p;
		p += strlen(p) + 1;
	}
	x->sum.min = UINT64_MAX;
	g->list[g->count++] = x;
	return x;
}

static bool add_queue(struct group *x, const struct summary *s, uint32_t process, uint32_t queue)
{
	uint32_t n = x->queue_count;
	struct group_queue *last = n ? &x->queues[n - 1] : NULL;

	if (last && last->summary == s && last->process == process && last->queue == queue)
		return true;
	if (!vec_reserve(&x->queues, &x->queue_room, n, 1))
		return false;
	x->queues[x->queue_count++] = (struct group_queue){s, process, queue};
	return true;
}

void groups_add(struct groups *g, const struct summary *s, enum tally_kind kind,
		const struct tally *row)
{
	struct text key = {0};
	struct group *x = NULL;
	uint64_t hash;

	for (unsigned d = 0; d < dimension_count; d++) {
		if (!(g->by & dimensions[d].by))
			continue;
		label_add(&key, s, kind, row, dimensions[d].by);
		text_add_bytes(&key, "", 1);
	}
	if (!key.s)
		text_add_bytes(&key, "", 1); /* one group for everything */
	if (!key.failed && key.s) {
		hash = hash_bytes(key.s, key.length);
		x = find_group(g, hash, &key);
		x = x ? x : add_group(g, hash, &key);
	}
	text_release(&key);
	if (!x) {
		g->failed = true;
		return;
	}
	if (!x->first) {
		x->first = row;
		x->summary = s;
	}
	if (row->first && (!x->earliest || row->first < x->earliest->first)) {
		x->earliest = row;
		x->earliest_summary = s;
	}
	if (g->by & BY_QUEUE && !add_queue(x, s, row->key[KEY_PROCESS], label_queue_of(kind, row)))
		g->failed = true;
	tally_merge(g->numbers, &x->sum, s->tallies, row);
	g->failed |= g->numbers->failed;
}

typedef bool name_change(struct text *out, const char *name);

/* The labels of `x`, that of its operation folded or shortened. */
static void fold_key(const struct groups *g, const struct group *x, name_change *change,
		     struct text *key)
{
	for (unsigned d = 0; d < dimension_count; d++) {
		if (!(g->by & dimensions[d].by))
			continue;
		if (dimensions[d].by & (BY_OP | BY_KERNEL))
			change(key, x->label[d]);
		else
			text_add(key, x->label[d]);
		text_add_bytes(key, "", 1);
	}
}

static void merge_groups(struct groups *g, struct group *to, const struct group *x)
{
	if (!to->first) {
		to->first = x->first;
		to->summary = x->summary;
	}
	if (x->earliest && (!to->earliest || x->earliest->first < to->earliest->first)) {
		to->earliest = x->earliest;
		to->earliest_summary = x->earliest_summary;
	}
	for (uint32_t i = 0; i < x->queue_count; i++)
		g->failed |= !add_queue(to, x->queues[i].summary, x->queues[i].process,
					x->queues[i].queue);
	tally_merge(g->numbers, &to->sum, g->numbers, &x->sum);
	g->failed |= g->numbers->failed;
}

/* How many groups have the same folded labels, by their hash. */
static bool count_folded(const struct groups *g, name_change *change, struct map *counts,
			 uint64_t *hashes)
{
	bool ok = true;

	for (uint32_t i = 0; ok && i < g->count; i++) {
		struct text key = {0};

		fold_key(g, g->list[i], change, &key);
		ok = !key.failed && key.s;
		hashes[i] = ok ? hash_bytes(key.s, key.length) : 0;
		ok = ok && map_set(counts, hashes[i], map_get(counts, hashes[i]) + 1);
		text_release(&key);
	}
	return ok;
}

/* Takes the group's place among those that are left, or adds it to one that is. */
static void put_folded(struct groups *g, struct group *x, name_change *change, uint64_t hash)
{
	struct text key = {0};
	struct group *to;

	fold_key(g, x, change, &key);
	to = key.failed || !key.s ? NULL : find_group(g, hash, &key);
	if (!to && !key.failed && key.s)
		to = add_group(g, hash, &key);
	text_release(&key);
	if (to)
		merge_groups(g, to, x);
	g->failed |= !to;
	group_free(x);
}

/* So many of one changed name are one; `alone`: one of its name has that, too. */
static void change_names(struct groups *g, name_change *change, bool alone)
{
	uint64_t *hashes = calloc(g->count + 1, sizeof(*hashes));
	struct map counts = {0};
	uint32_t count = g->count;

	if (!(g->by & (BY_OP | BY_KERNEL)) || !hashes ||
	    !count_folded(g, change, &counts, hashes)) {
		g->failed |= !hashes;
		count = 0;
	} else {
		map_release(&g->places);
		g->places = (struct map){0};
		g->count = 0;
	}
	for (uint32_t i = 0; i < count; i++) { /* fewer are put than have been taken */
		uint64_t same = map_get(&counts, hashes[i]);

		if (same > NAMES_FEW || (alone && same == 1)) {
			put_folded(g, g->list[i], change, hashes[i]);
			g->folded += same > NAMES_FEW;
		} else {
			g->list[g->count++] = g->list[i];
		}
	}
	map_release(&counts);
	free(hashes);
}

void groups_fold(struct groups *g)
{
	change_names(g, name_fold, false);
}

void groups_shorten(struct groups *g)
{
	change_names(g, name_shorten, true);
}

static int compare_keys(const struct group *a, const struct group *b)
{
	size_t n = a->key_length < b->key_length ? a->key_length : b->key_length;
	int order = memcmp(a->key, b->key, n);

	return order ? order : (a->key_length > b->key_length) - (a->key_length < b->key_length);
}

/* The greater one first. */
static int compare_falling(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* Rows of ranks, and of whom they talk to, are a list or a matrix. */
static int compare_ranks(const struct group *a, const struct group *b)
{
	int order = 0;

	for (unsigned d = 0; d < dimension_count && !order; d++)
		if (dimensions[d].by & (BY_RANK | BY_PEER) && a->label[d])
			order = strverscmp(a->label[d], b->label[d]);
	return order;
}

static int compare_work(const void *x, const void *y)
{
	const struct group *a = *(struct group *const *)x, *b = *(struct group *const *)y;
	int order = compare_falling(a->sum.total, b->sum.total);

	if (!order)
		order = compare_falling(a->sum.count, b->sum.count);
	return order ? order : compare_keys(a, b);
}

static int compare_times(const void *x, const void *y)
{
	const struct group *a = *(struct group *const *)x, *b = *(struct group *const *)y;
	int order = compare_ranks(a, b);

	return order ? order : compare_work(x, y);
}

static int compare_bytes(const void *x, const void *y)
{
	const struct group *a = *(struct group *const *)x, *b = *(struct group *const *)y;
	int order = compare_ranks(a, b);

	if (!order)
		order = compare_falling(a->sum.bytes + a->sum.peak, b->sum.bytes + b->sum.peak);

	return order ? order : compare_times(x, y);
}

/* By the labels from the left; sizes, and numbers in labels, as numbers. */
static int compare_sizes(const void *x, const void *y)
{
	const struct group *a = *(struct group *const *)x, *b = *(struct group *const *)y;

	for (unsigned d = 0; d < dimension_count; d++) {
		uint32_t i = a->first->key[KEY_COPY_SIZE_CLASS],
			 k = b->first->key[KEY_COPY_SIZE_CLASS];
		int order = 0;

		if (dimensions[d].by == BY_SIZE)
			order = (i > k) - (i < k);
		else if (a->label[d])
			order = strverscmp(a->label[d], b->label[d]);
		if (order)
			return order;
	}
	return 0;
}

void groups_sort(struct groups *g, enum groups_order order)
{
	static int (*const compare[])(const void *, const void *) = {[ORDER_TIME] = compare_times,
								     [ORDER_BYTES] = compare_bytes,
								     [ORDER_SIZE] = compare_sizes};

	bool ranks = g->by & (BY_RANK | BY_PEER);

	if (g->count)
		qsort(g->list, g->count, sizeof(*g->list),
		      order == ORDER_TIME && !ranks ? compare_work : compare[order]);
}
