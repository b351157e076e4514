/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules about ranks have in common: which of them a wait belongs to, and how findings name it. */
#ifndef ANALYSIS_WAITS_TELL_H
#define ANALYSIS_WAITS_TELL_H

#include "analysis/diagnose.h"

enum { WAITS_ALL_KINDS = (1u << WAIT_KINDS) - 1 };

/* How ranks of a world share the work. */
struct waits_balance {
	uint32_t world, most; /* most: index of waits.ranks, the rank that has most to do */
	uint32_t ranks;       /* that share it: those that only have others work do not */
	uint64_t max, mean;   /* ns that they neither waited nor were in MPI */
	uint64_t evened;      /* so much less is `max` than it was, for want of a processor */
	uint64_t gain;        /* 0: waits are not for its sake */
	bool claims;          /* waits for `most` are for that, or for want of a processor */
};

/*
 * Where waits come from uneven shares, which the rule imbalance-ranks claims: the other rules about ranks say
 * nothing of waits for rank `most`.
 */
void waits_balance(const struct waits *w, uint32_t world, struct waits_balance *b);

/* The rule that is asked can tell something of ranks; if not, and nobody has, it says why. */
bool waits_known(struct diagnosis *d);

/*
 * Adds a finding about waits of kinds `kinds` (a mask) for ranks of the world, claimed by no imbalance. `title`
 * has a place for who waits, the time, and for whom.
 */
struct waits_theme {
	unsigned kinds;
	const char *title;  /* "%s waits %s for %s ..." */
	const char *titles; /* the same where several wait */
	const char *advice;
};
void waits_tell(struct diagnosis *d, uint32_t world, const struct waits_theme *theme);

/* Waits of some kinds for one rank: who, where, since when. */
struct waits_sum {
	uint64_t total, longest, number;
	uint32_t ranks, rank; /* how many wait, and the one that waits most */
	uint64_t rank_total;
	uint32_t call;  /* index of timeline.calls: one at the site where most is waited */
	uint32_t worst; /* index of waits.list: the longest */
	int64_t since;  /* node ns: from when on nearly all of it is */
	int64_t until;
};
bool waits_sum(const struct waits *w, unsigned kinds, uint32_t cause, struct waits_sum *s);

/* The parts of a finding that all of them have. */
void waits_describe(struct diagnosis *d, struct finding *f, const struct waits_sum *s,
		    uint32_t cause);

/* A command that shows records of [start, end) that take long enough, of these domains. */
void finding_show(struct diagnosis *d, struct finding *f, const char *domains, int64_t start,
		  int64_t end);

#endif
