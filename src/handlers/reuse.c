/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reuse distance: how many different lines of memory were touched between two touches of a line, as if groups ran one after
 * another. Exact: the times of lines' last touches are marked in a tree of sums (Fenwick's); when there is no room for more times, those
 * that are marked are numbered anew.
 */
#include "handlers/handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define LINE    128u
#define TIMES   (1u << 16) /* at first */
#define BUCKETS 34u        /* cold, 0, 1, 2-3, ... */

struct reuse {
	const kymo_handler_launch_t *launch;
	uint64_t line;                /* bytes */
	uint64_t (*touches)[BUCKETS]; /* by site; behind the last: in all */
	struct map last;              /* of a line: the time of its last touch */
	uint32_t *sums;               /* from 1 on; marks of the times */
	uint64_t *line_at;            /* by time: of marked ones the line, plus one */
	uint32_t times, now;          /* room; the time of the touch before */
};

static void finish(void *state)
{
	struct reuse *r = state;

	map_release(&r->last);
	free(r->touches);
	free(r->sums);
	free(r->line_at);
	free(r);
}

static bool have_times(struct reuse *r, uint32_t times)
{
	free(r->sums);
	free(r->line_at);
	r->times = times;
	r->sums = calloc(times + 1ul, sizeof(*r->sums));
	r->line_at = calloc(times + 1ul, sizeof(*r->line_at));
	return r->sums && r->line_at;
}

static kymo_status_t init(const kymo_handler_options_t *options,
			  const kymo_handler_launch_t *launch, void **state, char *why, size_t size)
{
	struct reuse *r = calloc(1, sizeof(*r));

	if (!r)
		return KYMO_ERROR_NO_MEMORY;
	r->launch = launch;
	r->touches = calloc(launch->site_count + 1u, sizeof(*r->touches));
	*state = r;
	if (r->touches && have_times(r, TIMES) &&
	    handlers_options_known(options, "line", why, size) &&
	    handlers_option_number(options, "line", 1, LINE, &r->line, why, size))
		return KYMO_OK;
	finish(r);
	return *why ? KYMO_ERROR_INVALID_ARGUMENT : KYMO_ERROR_NO_MEMORY;
}

/* ---- the tree ---------------------------------------------------------------------------------- */

static void add(struct reuse *r, uint32_t time, uint32_t n)
{
	for (; time <= r->times; time += time & -time)
		r->sums[time] += n; /* also what is taken away, modulo 2^32 */
}

/* Marks of the times up to this one. */
static uint32_t sum(const struct reuse *r, uint32_t time)
{
	uint32_t n = 0;

	for (; time; time -= time & -time)
		n += r->sums[time];
	return n;
}

/* The lines' last touches get the first numbers, in their order; there are four times as many to come. */
static bool renumber(struct reuse *r)
{
	uint64_t *lines = malloc((r->last.count + 1ul) * sizeof(*lines));
	uint32_t n = 0;
	bool good = lines != NULL && r->last.count < UINT32_MAX / 8;

	for (uint32_t t = 1; good && t <= r->now; t++)
		if (r->line_at[t])
			lines[n++] = r->line_at[t];
	good = good && have_times(r, n * 4 > TIMES ? n * 4 : TIMES);
	for (uint32_t t = 1; good && t <= n; t++) {
		r->line_at[t] = lines[t - 1];
		add(r, t, 1);
		good = map_set(&r->last, lines[t - 1] - 1, t);
	}
	r->now = n;
	free(lines);
	return good;
}

/* ---- touches ----------------------------------------------------------------------------------- */

static uint32_t bucket_of(uint32_t distance)
{
	return distance ? 33u - (uint32_t)__builtin_clz(distance) : 1;
}

static bool touch(struct reuse *r, uint32_t site, uint64_t line)
{
	uint32_t before, bucket = 0;

	if (r->now == r->times && !renumber(r))
		return false;
	before = (uint32_t)map_get(&r->last, line);
	if (before) {
		bucket = bucket_of(sum(r, r->now) - sum(r, before));
		add(r, before, UINT32_MAX);
		r->line_at[before] = 0;
	}
	r->now++;
	add(r, r->now, 1);
	r->line_at[r->now] = line + 1;
	r->touches[site][bucket]++;
	r->touches[r->launch->site_count][bucket]++;
	return map_set(&r->last, line, r->now);
}

static bool take(struct reuse *r, const kymo_access_t *a)
{
	const kymo_handler_site_t *s = &r->launch->sites[a->site];
	const uint64_t end = a->address + (s->bytes ? s->bytes : 1);
	bool good = true;

	if (!handlers_in_memory(s))
		return true;
	for (uint64_t l = a->address / r->line; good && l <= (end - 1) / r->line; l++)
		good = touch(r, a->site, l);
	return good;
}

static kymo_status_t on_batch(void *state, const kymo_access_t *records, size_t count)
{
	uint32_t *order = handlers_order(records, count, false);
	bool good = order != NULL;

	for (size_t i = 0; good && i < count; i++)
		good = take(state, &records[order[i]]);
	free(order);
	return good ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

/* ---- report ------------------------------------------------------------------------------------ */

static void put(const struct reuse *r, kymo_handler_writer_t *w, uint32_t site, uint32_t place)
{
	for (uint32_t b = 0; b < BUCKETS; b++) {
		const uint64_t from = b > 1 ? 1ull << (b - 2) : 0, to = b > 1 ? 2 * from - 1 : 0;
		char text[48] = "cold";

		if (!r->touches[site][b])
			continue;
		if (b)
			snprintf(text, sizeof(text), from == to ? "%llu" : "%llu-%llu",
				 (unsigned long long)from, (unsigned long long)to);
		w->row(w, place,
		       (const kymo_handler_cell_t[]){
			       handlers_text(text), b ? handlers_number(from) : handlers_text(NULL),
			       handlers_number(r->touches[site][b])},
		       3);
	}
}

static kymo_status_t report(void *state, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"distance_lines", "from_lines", "touches"};
	const struct reuse *r = state;

	w->table(w, "all", columns, 3);
	put(r, w, r->launch->site_count, 0);
	w->table(w, "places", columns, 3);
	for (uint32_t i = 0; i < r->launch->site_count; i++)
		put(r, w, i, r->launch->sites[i].place);
	return KYMO_OK;
}

const kymo_handler_t handler_reuse = {
	.size = sizeof(handler_reuse),
	.version = KYMO_HANDLER_VERSION,
	.wants = KYMO_HANDLER_ACCESSES,
	.name = "reuse",
	.description = "reuse distance of lines (line=128), by place and in all",
	.init = init,
	.on_batch = on_batch,
	.report = report,
	.finish = finish,
};
