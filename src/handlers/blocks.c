/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of blocks and of regions. The time from a block's start to the next one that its work item starts is that block's; to the item's end
 * that of its last. A region's is from its begin to its end, which are those of one name that are next to each other.
 */
#include "handlers/handlers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define GROUPS  16u
#define DEPTH   32u /* of regions, open at once; deeper ones have no times */
#define FINE    6u  /* bits of a number that a class of the histogram tells apart */
#define CLASSES ((64u - FINE + 1u) << FINE)

/* Times of one site. */
struct times {
	uint64_t count, least, most;
	double sum;
	uint32_t *classes; /* CLASSES of them; NULL: nothing came yet */
};

struct summary {
	uint64_t count, least, most;
	double mean, part[3]; /* percentiles */
};

/* One time of a group. */
struct timed {
	uint32_t site;
	uint64_t ticks;
};

struct group_row {
	uint32_t group, site;
	struct summary s;
};

struct open {
	uint32_t site; /* of the begin */
	uint64_t clock;
};

struct blocks {
	const kymo_handler_launch_t *launch;
	uint64_t most_groups;
	uint64_t *executed, *items, *unfinished; /* by site */
	struct times *times;
	struct timed *timed; /* of the group at hand */
	uint32_t timed_count, timed_room;
	struct group_row *rows;
	uint32_t row_count, row_room;
	uint64_t groups; /* that have come */
	struct open open[DEPTH];
	uint32_t depth;
	bool failed;
};

static const unsigned percents[3] = {50, 90, 99};

/* ---- life -------------------------------------------------------------------------------------- */

static void finish(void *state)
{
	struct blocks *b = state;

	for (uint32_t i = 0; b->times && i < b->launch->site_count; i++)
		free(b->times[i].classes);
	free(b->times);
	free(b->executed);
	free(b->timed);
	free(b->rows);
	free(b);
}

static kymo_status_t init(const kymo_handler_options_t *options,
			  const kymo_handler_launch_t *launch, void **state, char *why, size_t size)
{
	struct blocks *b = calloc(1, sizeof(*b));
	const size_t n = launch->site_count + 1u;

	if (!b)
		return KYMO_ERROR_NO_MEMORY;
	b->launch = launch;
	b->executed = calloc(3 * n, sizeof(*b->executed));
	b->times = calloc(n, sizeof(*b->times));
	*state = b;
	if (b->executed && b->times && handlers_options_known(options, "groups", why, size) &&
	    handlers_option_number(options, "groups", 0, GROUPS, &b->most_groups, why, size)) {
		b->items = b->executed + n;
		b->unfinished = b->items + n;
		return KYMO_OK;
	}
	finish(b);
	return *why ? KYMO_ERROR_INVALID_ARGUMENT : KYMO_ERROR_NO_MEMORY;
}

/* ---- a histogram: classes of at most a 64th of what they hold ---------------------------------- */

static uint32_t class_of(uint64_t v)
{
	const uint32_t shift = v >> FINE ? 63u - FINE - (uint32_t)__builtin_clzll(v) : 0;

	return shift ? (shift << FINE) + (uint32_t)(v >> shift) : (uint32_t)v;
}

/* The middle of a class. */
static double class_value(uint32_t c)
{
	const uint32_t shift = c >> (FINE + 1) ? (c >> FINE) - 1 : 0;
	const uint64_t low = (uint64_t)(c - (shift << FINE)) << shift;

	return (double)low + (double)((1ull << shift) - 1) / 2;
}

static bool add_time(struct times *t, uint64_t ticks)
{
	if (!t->classes)
		t->classes = calloc(CLASSES, sizeof(*t->classes));
	if (!t->classes)
		return false;
	t->classes[class_of(ticks)]++;
	t->least = t->count && t->least < ticks ? t->least : ticks;
	t->most = t->most > ticks ? t->most : ticks;
	t->sum += (double)ticks;
	t->count++;
	return true;
}

/* The smallest value that so many are not above. */
static uint64_t rank_of(unsigned percent, uint64_t count)
{
	return count / 100 * percent + (count % 100 * percent + 99) / 100;
}

static double within(double v, uint64_t least, uint64_t most)
{
	return v < (double)least ? (double)least : v > (double)most ? (double)most : v;
}

static struct summary summary_of(const struct times *t)
{
	struct summary s = {.count = t->count, .least = t->least, .most = t->most};
	uint64_t before = 0;
	uint32_t c = 0;

	s.mean = t->count ? t->sum / (double)t->count : NAN;
	for (int p = 0; p < 3; p++) {
		s.part[p] = NAN;
		if (!t->count)
			continue;
		while (before + t->classes[c] < rank_of(percents[p], t->count))
			before += t->classes[c++];
		s.part[p] = within(class_value(c), t->least, t->most);
	}
	return s;
}

/* ---- groups ------------------------------------------------------------------------------------ */

static int by_site(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/* Of times in their order. */
static struct summary summary_exact(const struct timed *t, uint32_t n)
{
	struct summary s = {.count = n, .least = t[0].ticks, .most = t[n - 1].ticks, .mean = 0};

	for (uint32_t i = 0; i < n; i++)
		s.mean += (double)t[i].ticks / n;
	for (int p = 0; p < 3; p++)
		s.part[p] = (double)t[rank_of(percents[p], n) - 1].ticks;
	return s;
}

static void end_group(struct blocks *b, uint32_t group)
{
	uint32_t n;

	b->groups++;
	if (b->timed_count)
		qsort(b->timed, b->timed_count, sizeof(*b->timed), by_site);
	for (uint32_t i = 0; i < b->timed_count; i += n) {
		for (n = 1; i + n < b->timed_count && b->timed[i + n].site == b->timed[i].site;)
			n++;
		if (!vec_reserve(&b->rows, &b->row_room, b->row_count, 1)) {
			b->failed = true;
			break;
		}
		b->rows[b->row_count++] =
			(struct group_row){group, b->timed[i].site, summary_exact(&b->timed[i], n)};
	}
	b->timed_count = 0;
}

/* ---- records ----------------------------------------------------------------------------------- */

static void took(struct blocks *b, uint32_t site, uint64_t from, uint64_t to)
{
	if (!from || to < from)
		return; /* there is no clock, or two processors' differ */
	b->failed |= !add_time(&b->times[site], to - from);
	if (b->groups >= b->most_groups)
		return;
	if (vec_reserve(&b->timed, &b->timed_room, b->timed_count, 1))
		b->timed[b->timed_count++] = (struct timed){site, to - from};
	else
		b->failed = true;
}

static void end_region(struct blocks *b, const kymo_access_t *r)
{
	const char *name = b->launch->sites[r->site].what;

	for (uint32_t i = b->depth; i-- > 0;) {
		const struct open *o = &b->open[i];

		if (strcmp(b->launch->sites[o->site].what, name) != 0)
			continue;
		took(b, o->site, o->clock, r->clock);
		for (uint32_t k = i + 1; k < b->depth; k++)
			b->unfinished[b->open[k].site]++;
		b->depth = i;
		return;
	}
	b->unfinished[r->site]++; /* it was not begun */
}

static void begin_region(struct blocks *b, const kymo_access_t *r)
{
	if (b->depth < DEPTH)
		b->open[b->depth++] = (struct open){r->site, r->clock};
	else
		b->unfinished[r->site]++;
}

/* All of one work item, in the order in which they happened. */
static void take_item(struct blocks *b, const kymo_access_t *records, const uint32_t *order,
		      size_t count)
{
	const kymo_access_t *block = NULL;

	b->depth = 0;
	for (size_t i = 0; i < count; i++) {
		const kymo_access_t *r = &records[order[i]];
		const uint32_t kind = b->launch->sites[r->site].kind;

		b->executed[r->site]++;
		b->items[r->site] += r->occurrence == 0;
		if (kind == KYMO_SITE_REGION_BEGIN)
			begin_region(b, r);
		if (kind == KYMO_SITE_REGION_END)
			end_region(b, r);
		if (kind != KYMO_SITE_BLOCK && kind != KYMO_SITE_END)
			continue;
		if (block)
			took(b, block->site, block->clock, r->clock);
		block = kind == KYMO_SITE_BLOCK ? r : NULL;
	}
	for (uint32_t k = 0; k < b->depth; k++)
		b->unfinished[b->open[k].site]++;
}

static size_t item_end(const kymo_access_t *records, const uint32_t *order, size_t from,
		       size_t count)
{
	const kymo_access_t *r = &records[order[from]];
	size_t to = from + 1;

	while (to < count && records[order[to]].group == r->group &&
	       records[order[to]].item == r->item)
		to++;
	return to;
}

static kymo_status_t on_batch(void *state, const kymo_access_t *records, size_t count)
{
	uint32_t *order = handlers_order(records, count, true);
	struct blocks *b = state;
	size_t to;

	b->failed |= !order;
	for (size_t from = 0; !b->failed && from < count; from = to) {
		const uint32_t group = records[order[from]].group;

		to = item_end(records, order, from, count);
		take_item(b, records, order + from, to - from);
		if (to == count || records[order[to]].group != group)
			end_group(b, group);
	}
	free(order);
	return b->failed ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}

/* ---- report ------------------------------------------------------------------------------------ */

/* Their times, in ticks and, where it is known how long one is, in nanoseconds. */
static uint32_t put_summary(const struct blocks *b, const struct summary *s,
			    kymo_handler_cell_t *out)
{
	const double ns = b->launch->ticks_per_second > 0 ? 1e9 / b->launch->ticks_per_second : NAN;
	uint32_t n = 0;

	if (!s->count) {
		for (; n < 7; n++)
			out[n] = handlers_text(NULL);
		return n;
	}
	out[n++] = handlers_real(s->mean * ns);
	out[n++] = handlers_number(s->least);
	out[n++] = handlers_real(s->mean);
	out[n++] = handlers_number(s->most);
	for (int p = 0; p < 3; p++)
		out[n++] = handlers_real(s->part[p]);
	return n;
}

#define TIME_COLUMNS                                                                               \
	"mean_ns", "min_ticks", "mean_ticks", "max_ticks", "p50_ticks", "p90_ticks", "p99_ticks"

static void put_sites(const struct blocks *b, kymo_handler_writer_t *w, bool regions)
{
	static const char *const columns[] = {"name", "count", "items", "unfinished", TIME_COLUMNS};

	w->table(w, regions ? "regions" : "blocks", columns, 11);
	for (uint32_t i = 0; i < b->launch->site_count; i++) {
		const kymo_handler_site_t *s = &b->launch->sites[i];
		const struct summary sum = summary_of(&b->times[i]);
		kymo_handler_cell_t cells[11];

		if (!b->executed[i] || s->kind == KYMO_SITE_END ||
		    (s->kind == KYMO_SITE_BLOCK) == regions ||
		    (s->kind == KYMO_SITE_REGION_END && !b->unfinished[i]))
			continue;
		cells[0] = handlers_text(s->what);
		cells[1] = handlers_number(b->executed[i]);
		cells[2] = handlers_number(b->items[i]);
		cells[3] = regions ? handlers_number(b->unfinished[i])
				   : handlers_number(b->executed[i] - sum.count);
		put_summary(b, &sum, cells + 4);
		w->row(w, s->place, cells, 11);
	}
}

static void put_groups(const struct blocks *b, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"group", "name", "count", TIME_COLUMNS};

	w->table(w, "groups", columns, 10);
	for (uint32_t i = 0; i < b->row_count; i++) {
		const struct group_row *r = &b->rows[i];
		const kymo_handler_site_t *s = &b->launch->sites[r->site];
		kymo_handler_cell_t cells[10];

		cells[0] = handlers_number(r->group);
		cells[1] = handlers_text(s->what);
		cells[2] = handlers_number(r->s.count);
		put_summary(b, &r->s, cells + 3);
		w->row(w, s->place, cells, 10);
	}
}

static kymo_status_t report(void *state, kymo_handler_writer_t *w)
{
	const struct blocks *b = state;

	put_sites(b, w, false);
	put_sites(b, w, true);
	put_groups(b, w);
	if (b->groups > b->most_groups)
		w->left_out(w, "groups without rows of their own (groups=)",
			    b->groups - b->most_groups);
	if (b->launch->no_clock)
		w->left_out(w, b->launch->no_clock, 1);
	return KYMO_OK;
}

const kymo_handler_t handler_blocks = {
	.size = sizeof(handler_blocks),
	.version = KYMO_HANDLER_VERSION,
	.wants = KYMO_HANDLER_BLOCKS,
	.name = "blocks",
	.description = "how often blocks and regions run and how long they take, in all and by "
		       "group (groups=16)",
	.init = init,
	.on_batch = on_batch,
	.report = report,
	.finish = finish,
};
