/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses are sorted so that those of a warp lie side by side; see lanes.h. */
#include "lanes/lanes.h"

#include <stdlib.h>
#include <string.h>

/* Bits by which is sorted at a time: groups, which mostly come one after the other, and within one, which lies in a cache. */
#define GROUP_DIGIT 16u
#define DIGIT       8u

struct entry {
	uint64_t key; /* site, warp, occurrence, lane: of one group */
	uint64_t address;
};

struct lanes {
	kymo_lanes_profile_t profile;
	const struct lanes_site *sites;
	struct lanes_count *counts;
	uint32_t site_count, group, warp_bits, lane_bits;
	struct entry *entries, *other; /* in turns */
	size_t room;
	uint64_t *words; /* of local memory that a warp asks for at once */
	size_t places[1u << GROUP_DIGIT];
};

/* Sizes are powers of two, as good as always: a division takes longer than all else that is done for an access. */
static inline uint64_t divided(uint64_t v, uint32_t by)
{
	return by & (by - 1) ? v / by : v >> __builtin_ctz(by);
}

static inline uint64_t rest(uint64_t v, uint32_t by)
{
	return by & (by - 1) ? v % by : v & (by - 1);
}

static uint32_t bits_of(uint64_t most)
{
	return most ? 64u - (uint32_t)__builtin_clzll(most) : 0;
}

/* Most of local memory that a warp's access can touch. */
static size_t words_of(const kymo_lanes_profile_t *p, const struct lanes_site *sites,
		       uint32_t count)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		if (sites[i].space == LANES_LOCAL && sites[i].bytes > bytes)
			bytes = sites[i].bytes;
	return (size_t)LANES_WARP_MAX * (bytes / p->bank + 2);
}

struct lanes *lanes_new(const kymo_lanes_profile_t *p, const struct lanes_site *sites,
			uint32_t site_count, uint32_t group)
{
	struct lanes *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->profile = *p;
	l->sites = sites;
	l->site_count = site_count;
	l->group = group;
	l->warp_bits = bits_of((group - 1) / p->warp);
	l->lane_bits = bits_of(p->warp - 1);
	l->counts = calloc(site_count ? site_count : 1, sizeof(*l->counts));
	l->words = malloc(words_of(p, sites, site_count) * sizeof(*l->words));
	if (l->counts && l->words)
		return l;
	lanes_free(l);
	return NULL;
}

void lanes_free(struct lanes *l)
{
	if (!l)
		return;
	free(l->counts);
	free(l->entries);
	free(l->other);
	free(l->words);
	free(l);
}

const struct lanes_count *lanes_counts(const struct lanes *l)
{
	return l->counts;
}

/* ---- side by side ------------------------------------------------------------------------------ */

static bool have_room(struct lanes *l, size_t count)
{
	struct entry *a, *b;

	if (count <= l->room)
		return true;
	a = realloc(l->entries, count * sizeof(*a));
	if (a)
		l->entries = a;
	b = realloc(l->other, count * sizeof(*b));
	if (b)
		l->other = b;
	if (!a || !b)
		return false;
	l->room = count;
	return true;
}

/* How the fields of the keys lie, from what they are at most. */
struct layout {
	uint32_t first_group, last_group;
	uint32_t occurrence_bits, site_bits, bits;
	bool in_order; /* groups come one after the other */
};

static bool lay_out(const struct lanes *l, const kymo_access_t *a, size_t count, struct layout *out)
{
	uint32_t low = UINT32_MAX, high = 0, occurrence = 0;

	out->in_order = true;
	for (size_t i = 0; i < count; i++) {
		if (a[i].site >= l->site_count || a[i].item >= l->group)
			return false;
		low = a[i].group < low ? a[i].group : low;
		out->in_order &= a[i].group >= high;
		high = a[i].group > high ? a[i].group : high;
		occurrence = a[i].occurrence > occurrence ? a[i].occurrence : occurrence;
	}
	out->first_group = low;
	out->last_group = high;
	out->occurrence_bits = bits_of(occurrence);
	out->site_bits = bits_of(l->site_count - 1);
	out->bits = out->site_bits + l->warp_bits + out->occurrence_bits + l->lane_bits;
	return out->bits <= 64;
}

/* Places of records in `to`, those of `from` by the digit of their groups at `shift`; equal ones stay in order. */
static void order_by_digit(struct lanes *l, const kymo_access_t *a, const uint32_t *from,
			   uint32_t *to, size_t count, uint32_t first, uint32_t shift)
{
	const uint32_t mask = (1u << GROUP_DIGIT) - 1;
	size_t sum = 0;

	memset(l->places, 0, sizeof(l->places));
	for (size_t i = 0; i < count; i++)
		l->places[(a[i].group - first) >> shift & mask]++;
	for (size_t d = 0; d <= mask; d++) {
		const size_t n = l->places[d];

		l->places[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++) {
		const uint32_t r = from ? from[i] : (uint32_t)i;

		to[l->places[(a[r].group - first) >> shift & mask]++] = r;
	}
}

/* The order of the records by group, to be freed. NULL: no memory. */
static uint32_t *group_order(struct lanes *l, const kymo_access_t *a, size_t count,
			     const struct layout *f)
{
	uint32_t *to = count < UINT32_MAX ? malloc(count * sizeof(*to)) : NULL, *from = NULL;

	if (to)
		order_by_digit(l, a, NULL, to, count, f->first_group, 0);
	if (to && (f->last_group - f->first_group) >> GROUP_DIGIT) {
		from = to;
		to = malloc(count * sizeof(*to));
		if (to)
			order_by_digit(l, a, from, to, count, f->first_group, GROUP_DIGIT);
	}
	free(from);
	return to;
}

static uint64_t key_of(const struct lanes *l, const kymo_access_t *a, const struct layout *f)
{
	uint64_t key = a->site;

	key = key << l->warp_bits | divided(a->item, l->profile.warp);
	key = key << f->occurrence_bits | a->occurrence;
	return key << l->lane_bits | rest(a->item, l->profile.warp);
}

/* Those of `from` into `to`, by the bits of their keys from `shift` on; equal ones stay in order. */
static void sort_by_digit(const struct entry *from, struct entry *to, size_t count, uint32_t shift)
{
	const uint64_t mask = (1u << DIGIT) - 1;
	size_t places[1u << DIGIT] = {0}, sum = 0;

	for (size_t i = 0; i < count; i++)
		places[from[i].key >> shift & mask]++;
	for (size_t d = 0; d <= mask; d++) {
		const size_t n = places[d];

		places[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[places[from[i].key >> shift & mask]++] = from[i];
}

/* All of a group, which lie in a cache; they are in `entries` afterwards. */
static void sort_group(struct lanes *l, size_t count, const struct layout *f)
{
	for (uint32_t shift = 0; shift < f->bits; shift += DIGIT) {
		struct entry *swap = l->entries;

		sort_by_digit(l->entries, l->other, count, shift);
		l->entries = l->other;
		l->other = swap;
	}
}

/* ---- an access of a warp ----------------------------------------------------------------------- */

struct warp {
	uint64_t addresses[LANES_WARP_MAX];
	uint32_t lanes[LANES_WARP_MAX];
	uint32_t count;
};

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Few, and mostly sorted as they come. */
static void sort(uint64_t *v, uint32_t n)
{
	if (n > LANES_WARP_MAX) {
		qsort(v, n, sizeof(*v), by_number);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		const uint64_t x = v[i];
		uint32_t k = i;

		for (; k && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Pieces of `size` bytes that accesses of `bytes` at sorted addresses touch; `*filled`: as few as would hold the bytes. */
static uint32_t pieces(const uint64_t *sorted, uint32_t n, uint32_t bytes, uint32_t size,
		       uint32_t *filled)
{
	uint64_t end = 0, distinct = 0,
		 next = 0; /* the first byte, and the first piece, that are not counted yet */
	uint32_t touched = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t from = sorted[i] > end || !i ? sorted[i] : end, to = sorted[i] + bytes;
		uint64_t first = divided(sorted[i], size), last = divided(to - 1, size);

		distinct += to > from ? to - from : 0;
		end = to > end || !i ? to : end;
		first = first > next || !i ? first : next;
		if (last + 1 > first || !i)
			touched += (uint32_t)(last + 1 - first);
		next = last + 1 > next || !i ? last + 1 : next;
	}
	*filled = (uint32_t)((distinct + size - 1) / size);
	return touched;
}

static void count_lines(const struct lanes *l, struct lanes_count *c, uint64_t *addresses,
			uint32_t n, uint32_t bytes)
{
	uint32_t needed;

	sort(addresses, n);
	c->used += pieces(addresses, n, bytes, l->profile.line, &needed);
	c->needed += needed;
}

/* How often the busiest bank is asked for different words, by lanes that are served at once. */
static uint32_t rounds(struct lanes *l, const uint64_t *addresses, uint32_t n, uint32_t bytes)
{
	const kymo_lanes_profile_t *p = &l->profile;
	uint32_t count = 0, most = 0, of_bank[LANES_BANKS_MAX] = {0};
	uint64_t *words = l->words; /* there is room for those of a whole warp */

	for (uint32_t i = 0; i < n; i++)
		for (uint64_t w = divided(addresses[i], p->bank);
		     w <= divided(addresses[i] + bytes - 1, p->bank); w++)
			words[count++] = w;
	sort(words, count);
	for (uint32_t i = 0; i < count; i++)
		if (!i || words[i] != words[i - 1]) {
			uint32_t *b = &of_bank[rest(words[i], p->banks)];

			most = ++*b > most ? *b : most;
		}
	return most;
}

static void count_banks(struct lanes *l, struct lanes_count *c, struct warp *w, uint32_t bytes)
{
	const kymo_lanes_profile_t *p = &l->profile;
	uint32_t together = p->together[bytes <= 4 ? 0 : bytes <= 8 ? 1 : 2];

	for (uint32_t i = 0; i < w->count;) {
		uint32_t n = 0, set = w->lanes[i] / together;

		while (i + n < w->count && w->lanes[i + n] / together == set)
			n++;
		c->used += rounds(l, w->addresses + i, n, bytes);
		c->needed++;
		i += n;
	}
}

/* What an access of so many bytes is aligned to at least: of a structure of 48, 16; of a vload3 of floats, 4. */
static uint32_t natural(uint32_t bytes)
{
	return bytes & -bytes;
}

static void count_warp(struct lanes *l, uint32_t site, struct warp *w)
{
	const struct lanes_site *s = &l->sites[site];
	struct lanes_count *c = &l->counts[site];

	c->accesses += w->count;
	c->warps++;
	c->lanes += l->profile.warp;
	for (uint32_t i = 0; s->bytes && i < w->count; i++)
		c->misaligned += (w->addresses[i] & (natural(s->bytes) - 1)) != 0;
	if (s->space == LANES_LOCAL && s->bytes)
		count_banks(l, c, w, s->bytes);
	else if (s->space == LANES_GLOBAL && s->bytes)
		count_lines(l, c, w->addresses, w->count, s->bytes);
}

/* The entries of a warp begin at `from`; how many they are, 0: a lane is there twice. */
static uint32_t gather(const struct lanes *l, size_t from, size_t count, struct warp *w)
{
	const uint64_t lane = (1u << l->lane_bits) - 1, key = l->entries[from].key;

	w->count = 0;
	for (size_t i = from; i < count && l->entries[i].key >> l->lane_bits == key >> l->lane_bits;
	     i++) {
		if (i > from && l->entries[i].key == l->entries[i - 1].key)
			return 0;
		w->lanes[w->count] = (uint32_t)(l->entries[i].key & lane);
		w->addresses[w->count++] = l->entries[i].address;
	}
	return w->count;
}

static bool count_group(struct lanes *l, size_t count, const struct layout *f)
{
	const uint32_t below_site = l->lane_bits + f->occurrence_bits + l->warp_bits;
	struct warp w;
	uint32_t n;

	for (size_t i = 0; i < count; i += n) {
		const uint64_t site = below_site < 64 ? l->entries[i].key >> below_site : 0;

		n = gather(l, i, count, &w);
		if (!n)
			return false;
		count_warp(l, (uint32_t)site, &w);
	}
	return true;
}

/* Records of one group, which are `order`'s, or (NULL) those from `a` on. */
static bool take_group(struct lanes *l, const kymo_access_t *a, const uint32_t *order, size_t count,
		       const struct layout *f)
{
	if (!have_room(l, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		const kymo_access_t *r = order ? &a[order[i]] : &a[i];

		l->entries[i] = (struct entry){key_of(l, r, f), r->address};
	}
	sort_group(l, count, f);
	return count_group(l, count, f);
}

bool lanes_take(struct lanes *l, const kymo_access_t *a, size_t count)
{
	uint32_t *order = NULL;
	struct layout f;
	bool good = true;
	size_t to;

	if (!count)
		return true;
	if (!lay_out(l, a, count, &f))
		return false;
	if (!f.in_order) {
		order = group_order(l, a, count, &f);
		good = order != NULL;
	}
	for (size_t from = 0; good && from < count; from = to) {
		const uint32_t group = a[order ? order[from] : from].group;

		for (to = from + 1; to < count && a[order ? order[to] : to].group == group;)
			to++;
		good = take_group(l, order ? a : a + from, order ? order + from : NULL, to - from,
				  &f);
	}
	free(order);
	return good;
}
