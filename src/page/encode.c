/* SPDX-License-Identifier: Apache-2.0 */
/* See encode.h. */
#include "page/encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/block.h"
#include "page/level.h"

enum {
	GATHER_MOST = 1 << 20,
	CLASSES = 60 * 64, /* of durations */
	SAMPLES = 16       /* blocks that an estimate is made of */
};

/* Small things that share a section. */
struct gather {
	struct text bytes;
	uint32_t section;
	enum section_kind kind;
	bool begun;
};

struct encoder {
	struct page_encoded *e;
	const struct page_data *d;
	const struct page_plan *p;
	struct gather coarse, middle, fine;
	struct block block;
	struct page_slice *slices; /* of one block */
	struct text raw;
	struct text search;
	uint32_t *seen; /* by op: number of the last block that has it */
	uint32_t blocks;
	uint32_t *ops; /* of one block */
};

/* ---- sections ---------------------------------------------------------------------------------- */

static kymo_status_t gather_end(struct encoder *x, struct gather *g)
{
	kymo_status_t status;

	if (!g->begun)
		return KYMO_OK;
	if (g->bytes.failed)
		return KYMO_ERROR_NO_MEMORY;
	status = sections_put(&x->e->sections, g->section, g->kind, g->bytes.s, g->bytes.length);
	g->bytes.length = 0;
	g->begun = false;
	return status;
}

/* What comes next begins at *offset of *section. */
static kymo_status_t gather_begin(struct encoder *x, struct gather *g, uint32_t *section,
				  uint32_t *offset)
{
	kymo_status_t status = g->bytes.length > GATHER_MOST ? gather_end(x, g) : KYMO_OK;

	if (status == KYMO_OK && !g->begun) {
		g->section = sections_reserve(&x->e->sections);
		g->begun = true;
		status = g->section == UINT32_MAX ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
	}
	*section = g->section;
	*offset = (uint32_t)g->bytes.length;
	return status;
}

static kymo_status_t put_raw(struct encoder *x, enum section_kind kind, uint32_t *section)
{
	*section = sections_reserve(&x->e->sections);
	if (x->raw.failed || *section == UINT32_MAX)
		return KYMO_ERROR_NO_MEMORY;
	return sections_put(&x->e->sections, *section, kind, x->raw.s, x->raw.length);
}

static struct gather *gather_for(struct encoder *x, uint32_t level, uint32_t count)
{
	return level + 1 == count ? &x->coarse : level ? &x->middle : &x->fine;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static kymo_status_t put_levels(struct encoder *x, struct page_parts *parts, struct levels *l)
{
	if (!levels_finish(l))
		return KYMO_ERROR_NO_MEMORY;
	for (unsigned i = 0; i < l->count; i++) {
		const struct level *v = &l->at[i];
		struct gather *g = gather_for(x, i, l->count);
		struct page_level *place = &parts->levels[parts->level_count++];
		kymo_status_t status = gather_begin(x, g, &place->section, &place->offset);

		if (status != KYMO_OK)
			return status;
		place->shift = v->shift;
		place->bins = v->bins;
		text_add_bytes(&g->bytes, (const char *)v->share, v->bins);
		text_add_bytes(&g->bytes, (const char *)v->op, sizeof(*v->op) * v->bins);
		text_add_bytes(&g->bytes, (const char *)v->count, sizeof(*v->count) * v->bins);
	}
	return KYMO_OK;
}

static void fill_link(const struct encoder *x, uint32_t i, const struct page_slice *s,
		      uint32_t process)
{
	const struct page_call *c = NULL;

	if ((s->flags & PAGE_LINKED) && x->p->links)
		c = page_data_call(x->d, process, s->id);
	x->block.values[BLOCK_SUBMIT_ROW][i] = c ? c->row + 1u : 0;
	x->block.values[BLOCK_SUBMIT_INDEX][i] = c ? c->index : 0;
	x->block.values[BLOCK_BYTES][i] = x->p->links ? s->bytes : 0;
	x->block.values[BLOCK_ID][i] = x->p->ids ? s->id : 0;
}

/* Columns of the slices; their times are cut to multiples, which leaves them in order and apart. */
static void fill_block(struct encoder *x, const struct page_slice *s, uint32_t count,
		       uint32_t process)
{
	unsigned shift = x->p->shift;
	uint64_t before = count ? (uint64_t)s[0].start >> shift : 0;

	x->block.count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t start = (uint64_t)s[i].start >> shift, end = (uint64_t)s[i].end >> shift;

		x->block.values[BLOCK_GAP][i] = start - before;
		x->block.values[BLOCK_DURATION][i] = end - start;
		x->block.values[BLOCK_OP][i] = s[i].op;
		x->block.values[BLOCK_FLAGS][i] = s[i].flags & ~(uint32_t)PAGE_LINKED;
		fill_link(x, i, &s[i], process);
		before = end;
	}
	x->raw.length = 0;
	block_write(&x->block, &x->raw);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The ops of a block, ascending, for those who look for one. */
static void note_ops(struct encoder *x, const struct page_slice *s, uint32_t count)
{
	uint32_t n = 0;
	uint16_t length;

	x->blocks++;
	for (uint32_t i = 0; i < count; i++) {
		if (x->seen[s[i].op] == x->blocks)
			continue;
		x->seen[s[i].op] = x->blocks;
		x->ops[n++] = s[i].op;
	}
	qsort(x->ops, n, sizeof(*x->ops), by_number);
	length = (uint16_t)n;
	text_add_bytes(&x->search, (const char *)&length, sizeof(length));
	text_add_bytes(&x->search, (const char *)x->ops, n * sizeof(*x->ops));
}

static kymo_status_t put_slices(struct encoder *x, struct page_parts *parts, uint32_t row,
				uint32_t count, uint64_t first)
{
	struct page_place *place = &parts->places[parts->place_count++];
	const struct page_slice *s = x->slices;
	uint64_t mask = ~(((uint64_t)1 << x->p->shift) - 1);

	*place = (struct page_place){.count = count, .first = first};
	place->start = (int64_t)((uint64_t)s[0].start & mask);
	place->end = (int64_t)((uint64_t)s[count - 1].end & mask);
	for (uint32_t i = 0; i < count; i++)
		place->busy += (uint64_t)(s[i].end - s[i].start);
	note_ops(x, s, count);
	fill_block(x, s, count, x->d->tracks[x->d->rows[row].track].process);
	return put_raw(x, SECTION_SLICES, &place->section);
}

/* ---- the longest of a row ---------------------------------------------------------------------- */

/* Durations by their highest bits: 64 classes for each power of two. */
static unsigned class_of(uint64_t ns)
{
	unsigned high = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;

	return high < 6 ? (unsigned)ns : (high - 5) * 64 + (unsigned)(ns >> (high - 6) & 63);
}

/* The class from which on there are plan.most slices of the row at most. */
static kymo_status_t find_longest(struct encoder *x, const struct page_chain *c, unsigned *class)
{
	uint64_t *number = calloc(CLASSES, sizeof(*number)), sum = 0;
	kymo_status_t status = number ? KYMO_OK : KYMO_ERROR_NO_MEMORY;

	for (uint32_t i = 0; i < c->block_count && status == KYMO_OK; i++) {
		status = page_chain_read(&x->d->store, c, i, x->slices);
		for (uint32_t k = 0; k < c->blocks[i].count && status == KYMO_OK; k++)
			number[class_of((uint64_t)(x->slices[k].end - x->slices[k].start))]++;
	}
	*class = CLASSES;
	while (status == KYMO_OK && *class && sum + number[*class - 1] <= x->p->most)
		sum += number[--*class];
	free(number);
	return status;
}

/* Those of the block that are long enough move to its begin; how many they are. */
static uint32_t keep_longest(struct encoder *x, uint32_t count, unsigned class)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		if (class_of((uint64_t)(x->slices[i].end - x->slices[i].start)) >= class)
			x->slices[n++] = x->slices[i];
	x->e->shorter += count - n;
	return n;
}

static kymo_status_t encode_slices(struct encoder *x, uint32_t row)
{
	const struct page_chain *c = x->d->rows[row].slices;
	struct page_parts *parts = &x->e->rows[row];
	kymo_status_t status = KYMO_OK;
	uint64_t first = 0;
	unsigned class = 0;

	if (c->count > x->p->most)
		status = find_longest(x, c, &class);
	for (uint32_t i = 0; i < c->block_count && status == KYMO_OK; i++) {
		uint32_t count = c->blocks[i].count;

		status = page_chain_read(&x->d->store, c, i, x->slices);
		if (status == KYMO_OK)
			count = keep_longest(x, count, class);
		if (status == KYMO_OK && count)
			status = put_slices(x, parts, row, count, first);
		first += count;
	}
	return status;
}

static kymo_status_t encode_levels(struct encoder *x, uint32_t row)
{
	const struct page_chain *c = x->d->rows[row].slices;
	struct page_parts *parts = &x->e->rows[row];
	struct levels l;
	kymo_status_t status = KYMO_OK;

	if (!levels_init(&l, x->d->length, c->count, x->d->op_count))
		status = KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < c->block_count && status == KYMO_OK; i++) {
		status = page_chain_read(&x->d->store, c, i, x->slices);
		for (uint32_t k = 0; k < c->blocks[i].count && status == KYMO_OK; k++)
			levels_add(&l, x->slices[k].start, x->slices[k].end, x->slices[k].op);
	}
	if (status == KYMO_OK)
		status = put_levels(x, parts, &l);
	levels_release(&l);
	return status;
}

/* ---- curves ------------------------------------------------------------------------------------ */

/*
 * Bins of a curve: least, most and last value; without a reading, the value that holds. Until all points are there, the
 * last value is infinite where nothing was measured from there on.
 */
struct bins {
	unsigned shift;
	uint32_t count;
	double *min, *max, *last;
};

static bool bins_init(struct bins *b, uint64_t length, uint64_t points)
{
	uint64_t wanted = points / 4 < LEVEL_COARSE ? LEVEL_COARSE : points / 4;

	wanted = wanted > LEVEL_MOST / 2 ? LEVEL_MOST / 2 : wanted;
	*b = (struct bins){0};
	while (b->shift < 62 && (length >> (b->shift + 1)) >= wanted)
		b->shift++;
	b->count = (uint32_t)((length >> b->shift) + 1);
	b->min = malloc(3u * b->count * sizeof(*b->min));
	b->max = b->min ? b->min + b->count : NULL;
	b->last = b->min ? b->max + b->count : NULL;
	for (uint32_t i = 0; b->min && i < 3 * b->count; i++)
		b->min[i] = NAN;
	return b->min != NULL;
}

static void bins_add(struct bins *b, const struct page_point *p)
{
	uint64_t i = (uint64_t)p->time >> b->shift;

	if (i >= b->count)
		return;
	b->min[i] = fmin(b->min[i], p->value);
	b->max[i] = fmax(b->max[i], p->value);
	b->last[i] = isnan(p->value) ? INFINITY : p->value;
}

static void bins_hold(struct bins *b)
{
	for (uint32_t i = 1; i < b->count; i++) {
		if (!isnan(b->last[i]))
			continue;
		b->last[i] = b->last[i - 1];
		if (isfinite(b->last[i]))
			b->min[i] = b->max[i] = b->last[i];
	}
	for (uint32_t i = 0; i < b->count; i++)
		b->last[i] = isfinite(b->last[i]) ? b->last[i] : NAN;
}

/* Four bins are one of the next level. */
static void bins_coarsen(struct bins *b)
{
	uint32_t count = (b->count + 3) / 4;
	double *max = b->min + count, *last = max + count;

	for (uint32_t i = 0; i < count; i++) {
		double least = NAN, most = NAN, final = NAN;

		for (uint32_t k = 4 * i; k < b->count && k < 4 * i + 4; k++) {
			least = fmin(least, b->min[k]);
			most = fmax(most, b->max[k]);
			final = b->last[k];
		}
		b->min[i] = least; /* those behind are still to be read */
		b->max[i] = most;
		b->last[i] = final;
	}
	memmove(max, b->max, count * sizeof(*max));
	memmove(last, b->last, count * sizeof(*last));
	b->max = max;
	b->last = last;
	b->count = count;
	b->shift += 2;
}

static kymo_status_t put_bins(struct encoder *x, struct page_parts *parts, struct bins *b)
{
	bins_hold(b);
	for (;;) {
		bool end = b->count <= LEVEL_COARSE || parts->level_count == LEVELS_MOST - 1;
		struct gather *g = end ? &x->coarse : parts->level_count ? &x->middle : &x->fine;
		struct page_level *place = &parts->levels[parts->level_count++];
		kymo_status_t status = gather_begin(x, g, &place->section, &place->offset);

		if (status != KYMO_OK)
			return status;
		place->shift = b->shift;
		place->bins = b->count;
		text_add_bytes(&g->bytes, (const char *)b->min, 3u * b->count * sizeof(*b->min));
		if (end)
			return KYMO_OK;
		bins_coarsen(b);
	}
}

static void fill_points(struct encoder *x, const struct page_point *p, uint32_t count)
{
	uint64_t before = count ? (uint64_t)p[0].time : 0;

	for (unsigned i = 1; i < BLOCK_COLUMNS; i++)
		memset(x->block.values[i], 0, count * sizeof(*x->block.values[i]));
	x->block.count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t time = (uint64_t)p[i].time;

		x->block.values[BLOCK_GAP][i] = time - before;
		memcpy(&x->block.values[BLOCK_VALUE][i], &p[i].value, sizeof(double));
		before = time;
	}
	x->raw.length = 0;
	block_write(&x->block, &x->raw);
}

static kymo_status_t encode_curve(struct encoder *x, uint32_t curve)
{
	const struct page_chain *c = x->d->curves[curve].points;
	struct page_parts *parts = &x->e->curves[curve];
	struct page_point *points = calloc(PAGE_BLOCK_MOST, sizeof(*points));
	struct bins b = {0};
	kymo_status_t status = KYMO_OK;

	parts->places = calloc(c->block_count + 1u, sizeof(*parts->places));
	if (!points || !parts->places || !bins_init(&b, x->d->length, c->count))
		status = KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < c->block_count && status == KYMO_OK; i++) {
		struct page_place *place = &parts->places[parts->place_count++];

		status = page_chain_read(&x->d->store, c, i, points);
		if (status != KYMO_OK)
			break;
		place->count = c->blocks[i].count;
		place->start = c->blocks[i].start;
		place->end = c->blocks[i].end;
		for (uint32_t k = 0; k < place->count; k++)
			bins_add(&b, &points[k]);
		fill_points(x, points, place->count);
		status = put_raw(x, SECTION_CURVES, &place->section);
	}
	if (status == KYMO_OK)
		status = put_bins(x, parts, &b);
	free(b.min);
	free(points);
	return status;
}

/* ---- messages ---------------------------------------------------------------------------------- */

static void fill_messages(struct encoder *x, const struct page_message *m, uint32_t count,
			  struct page_place *place)
{
	uint32_t n = 0;

	for (unsigned i = 1; i < BLOCK_COLUMNS; i++)
		memset(x->block.values[i], 0, count * sizeof(*x->block.values[i]));
	for (uint32_t i = 0; i < count; i++) {
		const struct page_call *a = page_data_call(x->d, m[i].from_process, m[i].from);
		const struct page_call *b = page_data_call(x->d, m[i].to_process, m[i].to);

		if (!a || !b)
			continue;
		x->block.values[BLOCK_FROM_ROW][n] = a->row;
		x->block.values[BLOCK_FROM_INDEX][n] = a->index;
		x->block.values[BLOCK_TO_ROW][n] = b->row;
		x->block.values[BLOCK_TO_INDEX][n] = b->index;
		x->block.values[BLOCK_BYTES][n++] = m[i].bytes;
	}
	place->count = x->block.count = n;
	x->raw.length = 0;
	block_write(&x->block, &x->raw);
}

static kymo_status_t encode_messages(struct encoder *x)
{
	const struct page_chain *c = x->d->messages;
	struct page_parts *parts = &x->e->messages;
	struct page_message *m = calloc(PAGE_BLOCK_MOST, sizeof(*m));
	kymo_status_t status = KYMO_OK;

	free(parts->places);
	parts->place_count = 0;
	parts->places = calloc(c->block_count + 1u, sizeof(*parts->places));
	if (!m || !parts->places)
		status = KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < c->block_count && x->p->links && status == KYMO_OK; i++) {
		struct page_place *place = &parts->places[parts->place_count++];

		status = page_chain_read(&x->d->store, c, i, m);
		if (status != KYMO_OK)
			break;
		place->start = c->blocks[i].start;
		place->end = c->blocks[i].end;
		fill_messages(x, m, c->blocks[i].count, place);
		status = put_raw(x, SECTION_MESSAGES, &place->section);
	}
	free(m);
	return status;
}

/* ---- all --------------------------------------------------------------------------------------- */

static void forget(struct page_encoded *e)
{
	for (uint32_t i = 0; i < e->row_count; i++)
		free(e->rows[i].places);
	for (uint32_t i = 0; i < e->curve_count; i++)
		free(e->curves[i].places);
	free(e->messages.places);
	free(e->rows);
	free(e->curves);
	e->rows = e->curves = NULL;
	e->messages = (struct page_parts){0};
	e->row_count = e->curve_count = 0;
	e->shorter = 0;
}

static bool encoder_init(struct encoder *x, struct page_encoded *e, const struct page_data *d,
			 const struct page_plan *p)
{
	*x = (struct encoder){.e = e, .d = d, .p = p};
	x->slices = calloc(PAGE_BLOCK_MOST, sizeof(*x->slices));
	x->seen = calloc(d->op_count + 1u, sizeof(*x->seen));
	x->ops = calloc(PAGE_BLOCK_MOST, sizeof(*x->ops));
	return block_init(&x->block, (1u << BLOCK_COLUMNS) - 2, d->op_count) && x->slices &&
	       x->seen && x->ops;
}

static void encoder_release(struct encoder *x)
{
	block_release(&x->block);
	free(x->slices);
	free(x->seen);
	free(x->ops);
	text_release(&x->raw);
	text_release(&x->search);
	text_release(&x->coarse.bytes);
	text_release(&x->middle.bytes);
	text_release(&x->fine.bytes);
}

static kymo_status_t end_gathers(struct encoder *x)
{
	kymo_status_t status = gather_end(x, &x->coarse);

	if (status == KYMO_OK)
		status = gather_end(x, &x->middle);
	return status == KYMO_OK ? gather_end(x, &x->fine) : status;
}

kymo_status_t page_encode_init(struct page_encoded *e, struct page_temporary where)
{
	*e = (struct page_encoded){.search = UINT32_MAX};
	return sections_init(&e->sections, where);
}

/* Room for all that is known of rows and curves. */
static kymo_status_t reserve(struct page_encoded *e, const struct page_data *d)
{
	forget(e);
	e->rows = calloc(d->row_count + 1u, sizeof(*e->rows));
	e->curves = calloc(d->curve_count + 1u, sizeof(*e->curves));
	if (!e->rows || !e->curves)
		return KYMO_ERROR_NO_MEMORY;
	e->row_count = d->row_count;
	e->curve_count = d->curve_count;
	for (uint32_t i = 0; i < d->row_count; i++) {
		e->rows[i].places =
			calloc(d->rows[i].slices->block_count + 1u, sizeof(*e->rows[i].places));
		if (!e->rows[i].places)
			return KYMO_ERROR_NO_MEMORY;
	}
	return KYMO_OK;
}

static kymo_status_t encode_basis(struct page_encoded *e, const struct page_data *d, bool levels)
{
	struct encoder x;
	kymo_status_t status = reserve(e, d);

	if (!encoder_init(&x, e, d, NULL))
		status = KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; levels && i < d->row_count && status == KYMO_OK; i++)
		status = encode_levels(&x, i);
	for (uint32_t i = 0; i < d->curve_count && status == KYMO_OK; i++)
		status = encode_curve(&x, i);
	if (status == KYMO_OK)
		status = end_gathers(&x);
	e->levels = sections_mark(&e->sections);
	encoder_release(&x);
	return status;
}

kymo_status_t page_encode_levels(struct page_encoded *e, const struct page_data *d)
{
	return encode_basis(e, d, true);
}

kymo_status_t page_encode_curves(struct page_encoded *e, const struct page_data *d)
{
	return encode_basis(e, d, false);
}

static kymo_status_t put_search(struct encoder *x)
{
	if (!x->search.length)
		return KYMO_OK;
	x->raw.length = 0;
	text_add_bytes(&x->raw, x->search.s, x->search.length);
	return x->search.failed ? KYMO_ERROR_NO_MEMORY : put_raw(x, SECTION_SEARCH, &x->e->search);
}

kymo_status_t page_encode_slices(struct page_encoded *e, const struct page_data *d,
				 const struct page_plan *p,
				 void (*progress)(void *data, double done), void *progress_data)
{
	struct encoder x;
	kymo_status_t status = sections_go_back(&e->sections, &e->levels);
	uint64_t done = 0, all = 1;

	e->search = UINT32_MAX;
	e->shorter = 0;
	for (uint32_t i = 0; i < d->row_count; i++) {
		e->rows[i].place_count = 0;
		all += d->rows[i].slices->count;
	}
	if (!encoder_init(&x, e, d, p))
		status = KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < d->row_count && status == KYMO_OK; i++) {
		status = encode_slices(&x, i);
		done += d->rows[i].slices->count;
		if (progress)
			progress(progress_data, (double)done / (double)all);
	}
	if (status == KYMO_OK)
		status = encode_messages(&x);
	if (status == KYMO_OK)
		status = put_search(&x);
	encoder_release(&x);
	return status;
}

void page_encode_release(struct page_encoded *e)
{
	forget(e);
	sections_release(&e->sections);
}

/* ---- estimates --------------------------------------------------------------------------------- */

/* Packed bytes of a block; below 0: as page_encode_estimate(). */
static double try_block(struct encoder *x, uint32_t row, uint32_t block)
{
	const struct page_chain *c = x->d->rows[row].slices;

	if (page_chain_read(&x->d->store, c, block, x->slices) != KYMO_OK)
		return -1;
	fill_block(x, x->slices, c->blocks[block].count,
		   x->d->tracks[x->d->rows[row].track].process);
	return x->raw.failed ? -1 : (double)sections_try(&x->e->sections, x->raw.s, x->raw.length);
}

double page_encode_estimate(struct page_encoded *e, const struct page_data *d,
			    const struct page_plan *p)
{
	uint64_t all = 0, seen = 0, next = 0, tried = 0;
	struct encoder x;
	double bytes = encoder_init(&x, e, d, p) ? 0 : -1;

	for (uint32_t i = 0; i < d->row_count; i++)
		all += d->rows[i].slices->count;
	for (uint32_t i = 0; i < d->row_count && bytes >= 0; i++) {
		const struct page_chain *c = d->rows[i].slices;

		for (uint32_t k = 0; k < c->block_count && bytes >= 0; k++) {
			double one = 0;

			seen += c->blocks[k].count;
			if (seen <= next)
				continue;
			one = try_block(&x, i, k);
			bytes = one < 0 ? one : bytes + one;
			tried += c->blocks[k].count;
			next += all / SAMPLES + 1;
		}
	}
	encoder_release(&x);
	return bytes > 0 ? bytes * (double)all / (double)tried : bytes;
}
