/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line allocates all through the run what is never freed. What is allocated at the begin and used to the end is no
 * leak: tables, buffers, what a caching allocator has taken for its pool.
 */
#include <inttypes.h>

#include <stdlib.h>

#include "analysis/progress.h"
#include "analysis/rules/support.h"
#include "base/plain.h"

/* Where lines are not known all allocations of one kind are one, so it takes more. */
enum { LEAST = 10, LEAST_UNKNOWN = 50, LEAST_BYTES = 1 << 20 };

static bool complete(struct diagnosis *d)
{
	if (timeline_missing(d->tl) || d->trace->pauses_count > 1) {
		diagnosis_abstain(d, "records are missing: what was not freed is not known");
		return false;
	}
	return true;
}

/* In which parts of its process's run each row was allocated; NULL: no memory. */
static uint8_t *parts_of_rows(struct diagnosis *d, const struct tally_set *set)
{
	uint8_t *in = calloc(set->count + 1u, sizeof(*in));
	struct progresses all = {0};
	struct map places = {0};
	bool ok = in && progresses_find(&all, d->tl);

	for (uint32_t i = 0; ok && i < set->count; i++)
		ok = map_set(&places, (uintptr_t)set->rows[i], i + 1);
	for (uint32_t i = 0; ok && i < d->tallies->live_count; i++) {
		const struct tally_live *l = &d->tallies->live[i];
		uint64_t at = l->row ? map_get(&places, (uintptr_t)l->row) : 0;

		if (at)
			in[at - 1] |= progress_bit(&all, l->process, l->time);
	}
	map_release(&places);
	progresses_release(&all);
	d->failed |= !ok;
	if (ok)
		return in;
	free(in);
	return NULL;
}

static void tell(struct diagnosis *d, const struct tally *y)
{
	const struct t_process *p = &d->trace->processes[y->key[0]];
	uint32_t site = y->key[KEY_LEAK_SITE];
	char bytes[UNITS_TEXT];
	struct finding *f =
		finding_add_fact(d, "%s allocations%s are never freed: %s", UNITS_COUNT(y->count),
				 site ? " of one line" : "", units_bytes((double)y->bytes, bytes));

	if (!f)
		return;
	f->count = y->count;
	f->process = (uint32_t)y->key[0];
	if (p->rank != UINT32_MAX)
		plain_addf(&f->where, "rank %" PRIu32 ", ", p->rank);
	finding_add_site(d, &f->where, site);
	plain_addf(&f->evidence, "they are made all through the run, %s each on average\n",
		   units_bytes((double)y->bytes / (double)y->count, bytes));
	text_add(&f->show, "kymo summary --by site ");
	text_add_shell(&f->show, d->path);
	text_add(&f->advice, "free it, or allocate it once and use it again");
}

static void find(struct diagnosis *d)
{
	const struct tally_set *set = d->tallies ? &d->tallies->set[TALLY_LEAK] : NULL;
	uint8_t *in;

	if (!set || !set->count || !complete(d))
		return;
	in = parts_of_rows(d, set);
	for (uint32_t i = 0; in && i < set->count; i++) {
		const struct tally *y = set->rows[i];
		uint32_t least = y->key[KEY_LEAK_SITE] ? LEAST : LEAST_UNKNOWN;

		if (y->count >= least && y->bytes >= LEAST_BYTES && progress_throughout(in[i]) &&
		    diagnosis_ended(d, y->key[0]))
			tell(d, y);
	}
	free(in);
}

const struct rule rule_leak = {
	.id = "leak",
	.what = "one line allocates all through the run what is never freed",
	.threshold = 0,
	.why = "ten times and 1 MiB or more, in six of eight parts of the run: what is allocated "
	       "at the begin and used to the end is no leak",
	.cost = "no time: memory runs out in a longer run",
	.find = find,
};
