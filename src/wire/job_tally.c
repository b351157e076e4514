/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the tallies of ranks; see job_tally.h. */
#include "wire/job_tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "wire/tally.h"

#define MAGIC 0x4b4a5431u /* the layout's version is its last digit */

void job_tally_init(struct job_tally *t)
{
	memset(t, 0, sizeof(*t));
	t->total[JOB_TALLY_START] = UINT64_MAX;
}

static void row_free(struct job_tally_row *r)
{
	for (unsigned i = 0; i < JOB_TALLY_NAMES; i++)
		free((char *)(uintptr_t)r->name[i]);
	free(r->histogram);
	free(r);
}

void job_tally_release(struct job_tally *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		row_free(t->rows[i]);
	free(t->rows);
	map_release(&t->places);
	memset(t, 0, sizeof(*t));
}

/* ---- rows ----------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct job_tally_row *r)
{
	uint64_t h = hash_mix(hash_u64(r->kind), r->detail);

	for (unsigned i = 0; i < JOB_TALLY_NAMES; i++)
		h = hash_add(h, r->name[i], strlen(r->name[i]));
	return h;
}

static bool same_key(const struct job_tally_row *a, const struct job_tally_row *b)
{
	if (a->kind != b->kind || a->detail != b->detail)
		return false;
	for (unsigned i = 0; i < JOB_TALLY_NAMES; i++)
		if (strcmp(a->name[i], b->name[i]) != 0)
			return false;
	return true;
}

/* The row with that key; NULL: there is none. */
static struct job_tally_row *row_find(const struct job_tally *t, const struct job_tally_row *key,
				      uint64_t hash)
{
	uint64_t i;

	map_each(&t->places, hash, i)
		if (same_key(t->rows[i - 1], key))
			return t->rows[i - 1];
	return NULL;
}

static struct job_tally_row *row_new(const struct job_tally_row *like)
{
	struct job_tally_row *r = calloc(1, sizeof(*r));
	bool ok = r != NULL;

	if (!r)
		return NULL;
	r->kind = like->kind;
	r->detail = like->detail;
	r->number = like->number;
	r->flags = like->flags;
	r->min = UINT64_MAX;
	r->absent = JOB_TALLY_NONE;
	for (unsigned i = 0; i < JOB_TALLY_NAMES; i++) {
		r->name[i] = strdup(like->name[i]);
		ok = ok && r->name[i];
	}
	if (ok)
		return r;
	row_free(r);
	return NULL;
}

struct job_tally_row *job_tally_row(struct job_tally *t, const struct job_tally_row *like)
{
	struct job_tally_row *r;
	uint64_t hash = hash_of(like);

	r = row_find(t, like, hash);
	if (r)
		return r;
	if (t->count == JOB_TALLY_ROWS) {
		t->total[JOB_TALLY_LEFT_OUT]++;
		return NULL;
	}
	r = vec_reserve(&t->rows, &t->room, t->count, 1) ? row_new(like) : NULL;
	if (!r || !map_add(&t->places, hash, t->count + 1)) {
		if (r)
			row_free(r);
		t->failed = true;
		return NULL;
	}
	return t->rows[t->count++] = r;
}

/* Makes buckets `first` to `first + count - 1` part of the row. */
static bool row_widen(struct job_tally_row *r, uint32_t first, uint32_t count)
{
	uint32_t low = r->buckets && r->first < first ? r->first : first;
	uint32_t end = r->buckets && r->first + r->buckets > first + count ? r->first + r->buckets
									   : first + count;
	uint64_t *wider;

	if (end - low == r->buckets)
		return true;
	wider = calloc(end - low, sizeof(*wider));
	if (!wider)
		return false;
	if (r->buckets)
		memcpy(wider + (r->first - low), r->histogram, r->buckets * sizeof(*wider));
	free(r->histogram);
	r->histogram = wider;
	r->first = low;
	r->buckets = end - low;
	return true;
}

void job_tally_bucket(struct job_tally *t, struct job_tally_row *row, uint32_t bucket, uint64_t n)
{
	if (bucket >= WIRE_TALLY_BUCKETS || !row_widen(row, bucket, 1))
		t->failed = true;
	else
		row->histogram[bucket - row->first] += n;
}

void job_tally_load(struct job_tally *t, const struct job_tally_row *like, uint32_t rank,
		    uint64_t ns)
{
	struct job_tally_row key = *like, *r;

	key.kind |= JOB_TALLY_LOAD;
	r = job_tally_row(t, &key);
	if (!r)
		return;
	r->n[JOB_TALLY_COUNT] = 1;
	r->n[JOB_TALLY_TOTAL] += ns;
	r->min = r->max = r->n[JOB_TALLY_TOTAL];
	r->min_rank = r->max_rank = rank;
}

/* ---- adding --------------------------------------------------------------------------------- */

static uint64_t minimum(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Ranks of `from` lie above: of equal ones the lower is kept. */
static void merge_row(struct job_tally *t, struct job_tally_row *to,
		      const struct job_tally_row *from)
{
	bool some = to->n[JOB_TALLY_COUNT] != 0;

	if (from->min < to->min) {
		to->min = from->min;
		to->min_rank = from->min_rank;
	}
	if (from->max > to->max || !some) {
		to->max = from->max;
		to->max_rank = from->max_rank;
	}
	for (unsigned i = 0; i < JOB_TALLY_NUMBERS; i++)
		to->n[i] += from->n[i];
	if (from->buckets && !row_widen(to, from->first, from->buckets)) {
		t->failed = true;
		return;
	}
	for (uint32_t i = 0; i < from->buckets; i++)
		to->histogram[from->first - to->first + i] += from->histogram[i];
}

/* Who is the lowest without it, of both tables: a row that one lacks is absent in all its ranks. */
static void merge_absence(struct job_tally *to, const struct job_tally *from, uint32_t before)
{
	uint32_t from_first = from->total[JOB_TALLY_RANKS]
				      ? (uint32_t)from->total[JOB_TALLY_FIRST_RANK]
				      : JOB_TALLY_NONE;

	for (uint32_t i = 0; i < before; i++) {
		struct job_tally_row *r = to->rows[i];
		const struct job_tally_row *same = row_find(from, r, hash_of(r));
		uint32_t there = same ? same->absent : from_first;

		r->absent = (uint32_t)minimum(r->absent, there);
	}
}

static void merge_totals(uint64_t *to, const uint64_t *from)
{
	uint64_t first =
		to[JOB_TALLY_RANKS] ? to[JOB_TALLY_FIRST_RANK] : from[JOB_TALLY_FIRST_RANK];
	uint64_t last = from[JOB_TALLY_RANKS] ? from[JOB_TALLY_LAST_RANK] : to[JOB_TALLY_LAST_RANK];
	uint64_t start = minimum(to[JOB_TALLY_START], from[JOB_TALLY_START]);
	uint64_t end =
		to[JOB_TALLY_END] > from[JOB_TALLY_END] ? to[JOB_TALLY_END] : from[JOB_TALLY_END];
	uint64_t error = to[JOB_TALLY_CLOCK_ERROR] > from[JOB_TALLY_CLOCK_ERROR]
				 ? to[JOB_TALLY_CLOCK_ERROR]
				 : from[JOB_TALLY_CLOCK_ERROR];
	uint64_t world = to[JOB_TALLY_WORLD] ? to[JOB_TALLY_WORLD] : from[JOB_TALLY_WORLD];

	for (unsigned i = 0; i < JOB_TALLY_TOTALS; i++)
		to[i] += from[i];
	to[JOB_TALLY_FIRST_RANK] = first;
	to[JOB_TALLY_LAST_RANK] = last;
	to[JOB_TALLY_START] = start;
	to[JOB_TALLY_END] = end;
	to[JOB_TALLY_CLOCK_ERROR] = error;
	to[JOB_TALLY_WORLD] = world;
}

void job_tally_merge(struct job_tally *to, const struct job_tally *from)
{
	uint32_t before = to->count, to_first = to->total[JOB_TALLY_RANKS]
							? (uint32_t)to->total[JOB_TALLY_FIRST_RANK]
							: JOB_TALLY_NONE;

	merge_absence(to, from, before);
	for (uint32_t i = 0; i < from->count; i++) {
		uint32_t known = to->count;
		struct job_tally_row *r = job_tally_row(to, from->rows[i]);

		if (!r)
			continue;
		if (to->count > known) /* of none of the ranks so far */
			r->absent = (uint32_t)minimum(to_first, from->rows[i]->absent);
		merge_row(to, r, from->rows[i]);
	}
	merge_totals(to->total, from->total);
	to->failed |= from->failed;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

struct out {
	uint8_t *data;
	size_t used, room;
	bool failed;
};

static void put_bytes(struct out *o, const void *data, size_t n)
{
	if (!vec_reserve(&o->data, &o->room, o->used, n)) {
		o->failed = true;
		return;
	}
	memcpy(o->data + o->used, data, n);
	o->used += n;
}

/* Seven bits a byte, the lowest first; the highest bit says that more follow. */
static void put_varint(struct out *o, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	while (v >= 0x80) {
		bytes[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	bytes[n++] = (uint8_t)v;
	put_bytes(o, bytes, n);
}

static void put_row(struct out *o, const struct job_tally_row *r)
{
	put_varint(o, r->kind);
	put_varint(o, r->detail);
	put_varint(o, r->number);
	put_varint(o, r->flags);
	for (unsigned i = 0; i < JOB_TALLY_NAMES; i++) {
		size_t n = strnlen(r->name[i], JOB_TALLY_NAME);

		put_varint(o, n);
		put_bytes(o, r->name[i], n);
	}
	for (unsigned i = 0; i < JOB_TALLY_NUMBERS; i++)
		put_varint(o, r->n[i]);
	put_varint(o, r->min + 1); /* 0: nothing was timed */
	put_varint(o, r->max);
	put_varint(o, r->min_rank);
	put_varint(o, r->max_rank);
	put_varint(o, r->absent + 1u);
	put_varint(o, r->first);
	put_varint(o, r->buckets);
	for (uint32_t i = 0; i < r->buckets; i++)
		put_varint(o, r->histogram[i]);
}

uint8_t *job_tally_encode(const struct job_tally *t, size_t *bytes)
{
	struct out o = {0};

	put_varint(&o, MAGIC);
	put_varint(&o, JOB_TALLY_TOTALS);
	for (unsigned i = 0; i < JOB_TALLY_TOTALS; i++)
		put_varint(&o, t->total[i]);
	put_varint(&o, t->failed);
	put_varint(&o, t->count);
	for (uint32_t i = 0; i < t->count; i++)
		put_row(&o, t->rows[i]);
	*bytes = o.used;
	if (!o.failed)
		return o.data;
	free(o.data);
	return NULL;
}

struct in {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t take_varint(struct in *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (in->p == in->end)
			break;
		v |= (uint64_t)(*in->p & 0x7f) << shift;
		if (!(*in->p++ & 0x80))
			return v;
	}
	in->bad = true;
	return 0;
}

static void take_name(struct in *in, char name[JOB_TALLY_NAME + 1])
{
	uint64_t n = take_varint(in);

	if (n > JOB_TALLY_NAME || n > (size_t)(in->end - in->p)) {
		in->bad = true;
		n = 0;
	}
	memcpy(name, in->p, n);
	name[n] = '\0';
	in->p += n;
}

/* The key of the next row; its names lie in `names`. */
static void take_key(struct in *in, struct job_tally_row *key,
		     char names[JOB_TALLY_NAMES][JOB_TALLY_NAME + 1])
{
	key->kind = (uint8_t)take_varint(in);
	key->detail = (uint32_t)take_varint(in);
	key->number = (uint32_t)take_varint(in);
	key->flags = (uint32_t)take_varint(in);
	for (unsigned i = 0; i < JOB_TALLY_NAMES; i++) {
		take_name(in, names[i]);
		key->name[i] = names[i];
	}
}

static void take_numbers(struct in *in, struct job_tally *t, struct job_tally_row *r)
{
	uint64_t first, buckets;

	for (unsigned i = 0; i < JOB_TALLY_NUMBERS; i++)
		r->n[i] = take_varint(in);
	r->min = take_varint(in) - 1;
	r->max = take_varint(in);
	r->min_rank = (uint32_t)take_varint(in);
	r->max_rank = (uint32_t)take_varint(in);
	r->absent = (uint32_t)take_varint(in) - 1u;
	first = take_varint(in);
	buckets = take_varint(in);
	if (first > WIRE_TALLY_BUCKETS || buckets > WIRE_TALLY_BUCKETS - first ||
	    r->buckets /* a key that comes twice */) {
		in->bad = true;
		return;
	}
	if (buckets && !row_widen(r, (uint32_t)first, (uint32_t)buckets)) {
		t->failed = true;
		return;
	}
	for (uint32_t i = 0; i < buckets; i++)
		r->histogram[i] = take_varint(in);
}

static bool take_totals(struct in *in, struct job_tally *t)
{
	uint64_t totals;

	if (take_varint(in) != MAGIC)
		return false;
	totals = take_varint(in); /* appended by later versions */
	for (uint64_t i = 0; i < totals && !in->bad; i++) {
		uint64_t v = take_varint(in);

		if (i < JOB_TALLY_TOTALS)
			t->total[i] = v;
	}
	t->failed = take_varint(in) != 0;
	return !in->bad;
}

static bool take_rows(struct in *in, struct job_tally *t, char (*names)[JOB_TALLY_NAME + 1])
{
	uint64_t count = take_varint(in);

	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct job_tally_row key = {0}, *r;

		take_key(in, &key, names);
		r = in->bad ? NULL : job_tally_row(t, &key);
		if (!r || t->count != i + 1)
			return false;
		take_numbers(in, t, r);
	}
	return !in->bad && in->p == in->end;
}

bool job_tally_decode(struct job_tally *t, const uint8_t *data, size_t bytes)
{
	char(*names)[JOB_TALLY_NAME + 1] = malloc(JOB_TALLY_NAMES * sizeof(*names));
	struct in in = {data, data + bytes, false};
	bool good;

	job_tally_init(t);
	good = names && take_totals(&in, t) && take_rows(&in, t, names);
	free(names); /* too much for a small stack */
	return good;
}
