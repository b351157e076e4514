/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds a run back. A rule is a file in analysis/rules and a line in rules.list: it looks at the run's
 * timeline and adds findings, each with the time that could be won at most. Sites add rules of their own
 * as SQL (site_rules.h).
 *
 * A rule abstains (diagnosis_abstain()) where it cannot know: a finding that may be wrong is worse than none.
 */
#ifndef ANALYSIS_DIAGNOSE_H
#define ANALYSIS_DIAGNOSE_H

#include "analysis/idle.h"
#include "analysis/waits.h"
#include "base/text.h"
#include "stream/symbol.h"
#include "tally/tally.h"

struct rule;

/*
 * One lost second is told by one rule: the more special ones, which rules.list names first, claim what
 * they tell, and the others leave that out.
 */
enum { DIAGNOSIS_LEAST_BASIS = 500000000 /* ns */ };

enum { FINDING_NAME_MOST = 60 /* columns, of a kernel or function, unless names are whole */ };

enum {
	CLAIM_GAP = 1, /* that the device had no work before this one */
	CLAIM_TIME = 2 /* that this work takes its time */
};

/* A device has no work between two pieces of it. What comes next was submitted by a thread that ... */
struct gap {
	int64_t start, end;
	uint32_t next, before; /* indexes of timeline.work */
	uint32_t wait;    /* ... was in this call, waiting, when the gap began, or TIMELINE_NONE */
	uint32_t submit;  /* index of its outermost call that submitted, or TIMELINE_NONE */
	uint64_t outside; /* ... was so long in no call, */
	uint64_t mpi;     /* communicating, */
	uint64_t other;   /* in calls that neither submit nor wait nor communicate */
	uint64_t devices; /* waiting while another device of its process worked */
	uint64_t told : 63;  /* part of it that findings tell, or that is start-up */
	uint64_t queued : 1; /* or had submitted before the gap began */
};

struct gaps {
	struct gap *at;
	uint32_t count, room;
};

struct finding {
	const struct rule *rule;
	uint64_t gain; /* ns of the run that could be won, at most */
	uint64_t
		spent; /* ns of a processor that it costs besides, where nothing of the run is won */
	uint64_t count;     /* how often it happens, 0: has no number */
	int64_t start, end; /* where in time it can be seen best, node ns; 0, 0: all over the run */
	uint32_t agent, thread, process; /* on what; 0: the rule does not tell */
	bool first;                      /* the others may be its doing */
	struct text title;               /* one sentence with its numbers */
	struct text where;               /* function and line, kernel, rank, device; may be empty */
	struct text evidence;            /* lines */
	struct text show;                /* a command that shows the records */
	struct text advice;              /* what to try */
};

/* What rules look at, and what they say. */
struct diagnosis {
	const char *path; /* of the trace, for commands */
	const struct timeline *tl;
	const struct trace *trace;
	struct tallies *tallies;
	struct symbols *symbols;
	struct idle *idle;  /* of each device of the timeline */
	uint64_t work;      /* ns from the first device's end of start-up to the last device work */
	struct gaps *gaps;  /* likewise: when it had no work between its first and its last */
	uint8_t *claimed;   /* by work of the timeline: CLAIM_* */
	struct waits waits; /* of ranks */
	uint32_t unended;   /* the last process that diagnosis_ended() abstained for */
	bool waits_told;    /* why little is known of them has been said */
	struct finding *findings; /* once sorted: the largest gain first */
	uint32_t count, room;
	struct intervals rebuilt; /* when what rebuild-in-loop tells was built */
	uint64_t compiler; /* ns that the first build of a source took longer than a later one */
	double recording;  /* share of the threads' time that it took, if others may be its doing */
	struct text abstained;   /* lines: rule and reason */
	const struct rule *rule; /* that is being asked */
	bool whole_names;        /* nothing is cut: the caller's, all else is found */
	const char *only;        /* names of rules that diagnosis_keep() kept; NULL: all */
	bool failed;
};

struct rule {
	const char *id;   /* "launch-bound" */
	const char *what; /* one line for `kymo list rules` */
	double threshold; /* share of the run below which it says nothing, */
	bool repeats;     /* or of what diagnosis_basis() is of what goes on while devices work */
	const char *why;  /* the reason for the threshold */
	const char *cost; /* how the gain is reckoned */
	/* One of these or both; devices are asked about one after the other, before the rest. */
	void (*find_of_device)(struct diagnosis *d, uint32_t device);
	void (*find)(struct diagnosis *d);
};

/* All rules, in order of rules.list; of two findings with one gain the earlier rule's is first. */
extern const struct rule *const rules[];
extern const uint32_t rules_count;

/*
 * Asks every rule; `d` is zero but for whole_names. `tallies` and `symbols` are borrowed as long as the diagnosis is used. False: no memory.
 */
bool diagnose(struct diagnosis *d, const char *path, const struct timeline *tl,
	      struct tallies *tallies, struct symbols *symbols);
void diagnosis_release(struct diagnosis *d);

/* Leaves what these rules say, a list with commas, which is borrowed. They were asked with all others: a lost second is told by one. */
void diagnosis_keep(struct diagnosis *d, const char *only);

/* Findings from number `first` on were added since: they get what all are told, and all are put in order. */
void diagnosis_settle(struct diagnosis *d, uint32_t first);

/*
 * The process whose main thread was kept from running most, if that was so much of its time that others' use of the
 * machine may be what is seen; else 0. *share: of its time.
 */
uint32_t diagnosis_delayed(const struct timeline *tl, double *share);

/* ---- for rules ----------------------------------------------------------------------------------- */

/*
 * Of what a process has not given back: false where it might still have, as it was not recorded to its end; the rule
 * abstains, once for each process.
 */
bool diagnosis_ended(struct diagnosis *d, uint32_t process);

/* The share of the run that `ns` are. */
double diagnosis_share(const struct diagnosis *d, uint64_t ns);

/*
 * What a rule's threshold is a share of: the run; or, if what it tells repeats as long as devices work, the time in which
 * they do: runs that are recorded are mostly shorter than those that matter, and much of them is start-up. It is at
 * least DIAGNOSIS_LEAST_BASIS, of which the least threshold is 10 ms: so long may a machine busy with something else
 * keep a thread waiting.
 */
uint64_t diagnosis_basis(const struct diagnosis *d, const struct rule *rule);

/* The threshold of the rule that is asked is reached. */
bool diagnosis_is_enough(const struct diagnosis *d, uint64_t ns);

/*
 * A new finding of the rule that is asked, or NULL: its gain is below the threshold (or no memory). The title
 * is a sentence without full stop that names the number.
 */
struct finding *finding_add(struct diagnosis *d, uint64_t gain, const char *title, ...)
	__attribute__((format(printf, 3, 4)));

/* Likewise, of what wins nothing of the run but costs so much of a processor. */
struct finding *finding_add_spent(struct diagnosis *d, uint64_t spent, const char *title, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * A new finding about something that costs no time that could be told: an error, a leak. Findings with a gain come
 * first; among these the order is that of the rules.
 */
struct finding *finding_add_fact(struct diagnosis *d, const char *title, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds "function file.c:12" (or what is known of it) to a text of a finding. */
void finding_add_site(struct diagnosis *d, struct text *out, uint32_t site);

/* Says that the rule that is asked cannot know, and why. */
void diagnosis_abstain(struct diagnosis *d, const char *why, ...)
	__attribute__((format(printf, 2, 3)));

#endif
