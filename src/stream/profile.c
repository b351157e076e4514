/* SPDX-License-Identifier: Apache-2.0 */
/* See profile.h. */
#include "stream/profile.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

static uint64_t row_hash(const struct profile_row *r)
{
	return hash_mix(hash_mix(hash_mix(r->thread, r->stack), r->pc), r->kernel);
}

static bool same_row(const struct profile_row *a, const struct profile_row *b)
{
	return a->thread == b->thread && a->stack == b->stack && a->pc == b->pc &&
	       a->kernel == b->kernel;
}

static struct profile_row *find_row(struct profile *p, const struct profile_row *like)
{
	uint64_t hash = row_hash(like), i;

	map_each(&p->found, hash, i)
		if (same_row(&p->rows[i - 1], like))
			return &p->rows[i - 1];
	if (!vec_reserve(&p->rows, &p->room, p->count, 1) ||
	    !map_add(&p->found, hash, (uint64_t)p->count + 1))
		return NULL;
	p->rows[p->count] = *like;
	return &p->rows[p->count++];
}

bool profile_add(struct profile *p, const struct rec_sample *r)
{
	const struct profile_row like = {.thread = r->base.thread,
					 .stack = r->base.stack,
					 .pc = r->base.stack ? 0 : r->pc,
					 .kernel = r->kernel};
	struct profile_row *row;

	if (r->lost) {
		p->elsewhere++;
		return true;
	}
	row = find_row(p, &like);
	if (!row)
		return false;
	row->samples++;
	row->weight += r->weight;
	return true;
}

void profile_release(struct profile *p)
{
	free(p->rows);
	map_release(&p->found);
	*p = (struct profile){0};
}

static int by_thread(const void *x, const void *y)
{
	const struct profile_row *a = x, *b = y;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->weight < b->weight) - (a->weight > b->weight);
}

void profile_sort(struct profile *p)
{
	if (p->count)
		qsort(p->rows, p->count, sizeof(*p->rows), by_thread);
	map_clear(&p->found);
}

kymo_status_t profile_check(const struct profile *p, const struct trace *t, const char *format,
			    struct stream_log *log)
{
	if (p->count == 0) {
		stream_error(log,
			     "%s: it has no samples of call stacks, of which %s is made: record it "
			     "with --sample",
			     t->path, format);
		return KYMO_ERROR_NOT_FOUND;
	}
	if (p->elsewhere)
		stream_warn(log,
			    "%s: %" PRIu64 " records other than samples are not in it: %s has no "
			    "place for them",
			    t->path, p->elsewhere, format);
	return KYMO_OK;
}

const uint32_t *profile_frames(const struct trace *t, const struct profile_row *r, uint32_t *count)
{
	const struct t_stack *s = &t->stacks[r->stack < t->stacks_count ? r->stack : 0];

	*count = s->count;
	return s->sites;
}
