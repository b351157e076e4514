/* SPDX-License-Identifier: Apache-2.0 */
/* One line allocates again and again what is never freed. */
#include <inttypes.h>

#include "analysis/diagnose.h"
#include "base/plain.h"
#include "base/units.h"

/* Where lines are not known all allocations of one kind are one, so it takes more. */
enum { LEAST = 10, LEAST_UNKNOWN = 50, LEAST_BYTES = 1 << 20 };

static bool complete(struct diagnosis *d)
{
	if (d->tl->lost || d->trace->pauses_count > 1) {
		diagnosis_abstain(d, "records are missing: what was not freed is not known");
		return false;
	}
	return true;
}

static void find(struct diagnosis *d)
{
	const struct tally_set *set = d->tallies ? &d->tallies->set[TALLY_LEAK] : NULL;

	if (!set || !set->count || !complete(d))
		return;
	for (uint32_t i = 0; i < set->count; i++) {
		const struct tally *y = set->rows[i];
		const struct t_process *p = &d->trace->processes[y->key[0]];
		uint32_t site = y->key[KEY_LEAK_SITE];
		char bytes[UNITS_TEXT];
		struct finding *f;

		if (y->count < (site ? LEAST : LEAST_UNKNOWN) || y->bytes < LEAST_BYTES)
			continue;
		f = finding_add_fact(d, "%" PRIu64 " allocations%s are never freed: %s", y->count,
				     site ? " of one line" : "",
				     units_bytes((double)y->bytes, bytes));
		if (!f)
			return;
		f->count = y->count;
		if (p->rank != UINT32_MAX)
			plain_addf(&f->where, "rank %" PRIu32 ", ", p->rank);
		finding_add_site(d, &f->where, site);
		plain_addf(&f->evidence, "%s each on average\n",
			   units_bytes((double)y->bytes / (double)y->count, bytes));
		text_add(&f->show, "kymo summary --by site ");
		text_add_shell(&f->show, d->path);
		text_add(&f->advice, "free it, or allocate it once and use it again");
	}
}

const struct rule rule_leak = {
	.id = "leak",
	.what = "one line allocates again and again what is never freed",
	.threshold = 0,
	.why = "ten times and 1 MiB or more: what is there until the end once is no leak",
	.cost = "no time: memory runs out in a longer run",
	.find = find,
};
