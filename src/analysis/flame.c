/* SPDX-License-Identifier: Apache-2.0 */
/* See flame.h. */
#include "analysis/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

uint32_t flame_name(struct flame_names *n, const char *s, size_t length)
{
	uint64_t hash, i;
	char *copy;

	length = strnlen(s, length);
	if (length > FLAME_NAME)
		for (length = FLAME_NAME; length && (s[length] & 0xc0) == 0x80; length--)
			;
	hash = hash_bytes(s, length);
	map_each(&n->of, hash, i)
		if (strncmp(n->at[i - 1], s, length) == 0 && !n->at[i - 1][length])
			return (uint32_t)i - 1;
	copy = strndup(s, length);
	if (!copy || !vec_reserve(&n->at, &n->room, n->count, 1) ||
	    !map_add(&n->of, hash, n->count + 1u)) {
		free(copy);
		return FLAME_NONE;
	}
	n->at[n->count] = copy;
	return n->count++;
}

void flame_names_release(struct flame_names *n)
{
	for (uint32_t i = 0; i < n->count; i++)
		free(n->at[i]);
	free(n->at);
	map_release(&n->of);
	*n = (struct flame_names){0};
}

static uint32_t make_node(struct flame *f, uint32_t parent, uint32_t name)
{
	if (!vec_reserve(&f->nodes, &f->room, f->count, 1))
		return FLAME_NONE;
	f->nodes[f->count] = (struct flame_node){.parent = parent, .name = name};
	return f->count++;
}

uint32_t flame_child(struct flame *f, uint32_t parent, uint32_t name)
{
	uint64_t hash = hash_mix(hash_u64(parent), name), i;
	uint32_t node;

	if (parent == FLAME_NONE || name == FLAME_NONE)
		return FLAME_NONE;
	if (!f->count && make_node(f, 0, FLAME_NONE) == FLAME_NONE)
		return FLAME_NONE;
	map_each(&f->children, hash, i)
		if (f->nodes[i].parent == parent && f->nodes[i].name == name)
			return (uint32_t)i;
	node = make_node(f, parent, name);
	return node != FLAME_NONE && map_add(&f->children, hash, node) ? node : FLAME_NONE;
}

void flame_add(struct flame *f, uint32_t node, uint64_t first, uint64_t second)
{
	f->nodes[node].value[0] += first;
	f->nodes[node].value[1] += second;
}

void flame_release(struct flame *f)
{
	free(f->nodes);
	map_release(&f->children);
	*f = (struct flame){0};
}

uint64_t *flame_totals(const struct flame *f, unsigned value)
{
	uint64_t *total = calloc(f->count + 1u, sizeof(*total));

	for (uint32_t i = f->count; total && i-- > 0;) {
		total[i] += f->nodes[i].value[value];
		if (i)
			total[f->nodes[i].parent] += total[i];
	}
	return total;
}

static int largest_first(const void *x, const void *y)
{
	const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a < b) - (a > b);
}

/* What more than `most` nodes do not reach; 0: there are no more. */
static bool find_least(const uint64_t *total, uint32_t count, uint32_t most, uint64_t *least)
{
	uint64_t *sorted;

	*least = 0;
	if (count <= most)
		return true;
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return false;
	memcpy(sorted, total, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), largest_first);
	*least = sorted[most];
	free(sorted);
	return true;
}

/* Adds it to the others of a node that stays. */
static bool fold_into(struct flame *to, uint32_t *others, uint32_t node,
		      const struct flame_node *from)
{
	bool any = from->value[0] || from->value[1];

	if (!any)
		return true;
	if (!others[node])
		others[node] = make_node(to, node, FLAME_NONE);
	if (others[node] == FLAME_NONE)
		return false;
	flame_add(to, others[node], from->value[0], from->value[1]);
	to->nodes[others[node]].others++;
	to->folded++;
	return true;
}

/* place: of the node, or of that which stays and it lies in; others: of nodes that stay, by their new numbers. */
static bool copy_kept(struct flame *to, const struct flame *f, const uint64_t *total,
		      uint64_t least, uint32_t *place, uint32_t *others)
{
	bool ok = make_node(to, 0, FLAME_NONE) != FLAME_NONE;

	if (ok)
		to->nodes[0] = f->nodes[0];
	for (uint32_t i = 1; ok && i < f->count; i++) {
		const struct flame_node *n = &f->nodes[i];

		place[i] = place[n->parent];
		if (total[i] <= least) {
			ok = fold_into(to, others, place[i], n);
			continue;
		}
		place[i] = make_node(to, place[i], n->name);
		ok = place[i] != FLAME_NONE;
		if (ok)
			flame_add(to, place[i], n->value[0], n->value[1]);
	}
	return ok;
}

bool flame_fold(struct flame *f, uint32_t most)
{
	struct flame to = {0};
	uint64_t *total, least;
	uint32_t *place, *others;
	bool ok;

	map_release(&f->children);
	if (f->count <= most)
		return true;
	total = flame_totals(f, 0);
	place = calloc(f->count, sizeof(*place));
	others = calloc(2 * (size_t)f->count, sizeof(*others));
	ok = total && place && others && find_least(total, f->count, most, &least) &&
	     copy_kept(&to, f, total, least, place, others);
	free(total);
	free(place);
	free(others);
	if (ok) {
		flame_release(f);
		*f = to;
	} else {
		flame_release(&to);
	}
	return ok;
}
