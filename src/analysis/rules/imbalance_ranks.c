/* SPDX-License-Identifier: Apache-2.0 */
/* One rank has more to do than the others, which wait for it wherever they meet. */
#include <inttypes.h>

#include "analysis/waits_tell.h"
#include "base/plain.h"
#include "base/units.h"

static void add_shares(struct diagnosis *d, struct finding *f, const struct waits_balance *b)
{
	const struct waits_world *world = &d->waits.worlds[b->world];
	char max[UNITS_TEXT], mean[UNITS_TEXT], rank[32];

	plain_addf(&f->evidence, "%s was busy for %s, the mean of %s ranks is %s",
		   waits_rank_text(&d->waits, b->most, rank), units_time(b->max, max),
		   UNITS_COUNT(b->ranks), units_time(b->mean, mean));
	if (b->ranks < world->ranks)
		plain_addf(&f->evidence, "; %s that only ha%s others work left out",
			   UNITS_COUNT(world->ranks - b->ranks),
			   world->ranks - b->ranks == 1 ? "s" : "ve");
	text_add(&f->evidence, "\n");
	if (100 * b->evened > b->max)
		plain_addf(&f->evidence,
			   "that is without %s more than the others for which it had no "
			   "processor\n",
			   units_time(b->evened, max));
}

static void find_of_world(struct diagnosis *d, uint32_t world)
{
	struct waits_balance b;
	struct waits_sum s;
	struct finding *f;
	char rank[32], time[UNITS_TEXT];

	waits_balance(&d->waits, world, &b);
	if (b.claims && !b.gain && diagnosis_share(d, b.evened) >= d->rule->threshold)
		diagnosis_abstain(d,
				  "%s was busy for %s more than the mean, for want of a "
				  "processor: rather the machine than the program",
				  waits_rank_text(&d->waits, b.most, rank),
				  units_time(b.evened, time));
	if (!b.gain || !waits_sum(&d->waits, WAITS_ALL_KINDS, b.most, &s))
		return;
	f = finding_add(d, b.gain, "%s has %.0f %% more to do than the mean of %u ranks",
			waits_rank_text(&d->waits, b.most, rank),
			100.0 * (double)(b.max - b.mean) / (double)(b.mean ? b.mean : 1), b.ranks);
	if (!f)
		return;
	add_shares(d, f, &b);
	waits_describe(d, f, &s, b.most);
	text_add(&f->advice, "share the work evenly; what the others wait for is this rank");
}

static void find(struct diagnosis *d)
{
	if (!waits_known(d))
		return;
	for (uint32_t i = 0; i < d->waits.worlds_count; i++)
		find_of_world(d, i);
}

const struct rule rule_imbalance_ranks = {
	.id = "imbalance-ranks",
	.what = "a rank has more to do than the others, which wait for it",
	.threshold = 0.05,
	.why = "shares that differ by less are what machines do to equal work",
	.cost = "time that the busiest rank is outside of MPI, less the mean of all ranks; at most "
		"what ranks wait for it",
	.find = find,
};
