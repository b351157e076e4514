/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How ranks wait for each other: each wait with the rank that caused it, and the path through the ranks
 * that decides how long the run takes. Waits are those of blocking calls and of calls that complete
 * requests, by the usual definitions (docs/diagnose.md).
 *
 * Time of the run is lost to a cause where the path is on the causing rank and the others wait. A second
 * counts once however many ranks wait, and not at all while another rank still has work.
 */
#ifndef ANALYSIS_WAITS_H
#define ANALYSIS_WAITS_H

#include "analysis/timeline.h"

enum wait_kind {
	WAIT_SENDER,   /* a receive, for the send */
	WAIT_RECEIVER, /* a send, for the receive */
	WAIT_ALL,  /* collective calls that nobody leaves before all have entered, MPI_Finalize */
	WAIT_ROOT, /* for the root: broadcast, scatter; or the root for the others: reduce, gather */
	WAIT_KINDS
};

struct rank_wait {
	int64_t start, end;
	uint32_t rank, cause; /* indexes of waits.ranks */
	uint32_t call;        /* index of timeline.calls: the one that waits */
	uint32_t because;     /* index of timeline.messages: what it waits for, or TIMELINE_NONE */
	uint8_t kind;         /* enum wait_kind */
	bool asked;           /* it had the other do something and does nothing itself meanwhile */
	/* Work of the other does not explain it: that had waited itself, or the message took long. */
	bool handed_on;
	uint64_t more; /* ns that the other worked longer since they last met */
	bool both;     /* both had work since they last met, and give each other messages */
};

struct waits_rank {
	uint32_t process, thread; /* the thread that communicates most */
	uint32_t world;           /* number of struct waits_world */
	uint32_t first, count;    /* its waits: waits.list[first ...], by start, apart */
	int64_t begin, end;       /* from MPI_Init to its last call */
};

/* What a rank takes while the path is on it: ns of the run. */
struct waits_cost {
	uint64_t alone[WAIT_KINDS]; /* all others waited: what is won if it is not late */
	uint64_t even; /* ranks waiting x time / ranks: what is won if the work is shared evenly */
};

/* A part of the path that decides how long a world's run takes: it is on that rank. */
struct waits_section {
	int64_t start, end;
	uint32_t rank;
	uint32_t
		wait; /* index of waits.list: of who waits for it at its end; TIMELINE_NONE: of nobody, the run ends */
};

struct waits_world {
	uint32_t world, ranks; /* its number in the trace */
	uint32_t *members;     /* indexes of waits.ranks */
	int64_t begin, end;
	uint64_t messages;    /* received in it, of which both ends are known */
	uint32_t collectives; /* that all of it took part in */
};

struct waits {
	const struct timeline *tl;
	struct waits_rank *ranks;
	uint32_t ranks_count, ranks_room;
	struct waits_world *worlds;
	uint32_t worlds_count, worlds_room;
	uint32_t *other; /* by message of the timeline: index + 1 of its other end, 0: not known */
	struct rank_wait *list; /* by rank, then start */
	uint32_t count, room;
	uint64_t *before; /* waited by list[i].rank before list[i] */
	uint64_t *
		passed; /* by number in timeline.outer: by its thread in MPI before that, without waiting */
	struct waits_cost *cost;    /* by rank */
	struct waits_section *path; /* of one world after the other, of each the latest first */
	uint32_t path_count, path_room;
	uint32_t unmatched; /* receives that nobody is known to have sent */
	uint32_t below;     /* waits shorter than what clocks may be wrong */
	uint32_t unaligned; /* pairs of ranks whose clocks were not compared have so many */
};

/* Everything. False: no memory. Nothing is found where there are fewer than two ranks. */
bool waits_find(struct waits *w, const struct timeline *tl);
void waits_release(struct waits *w);

/* Time that a rank did not wait in [start, end). */
uint64_t waits_useful(const struct waits *w, uint32_t rank, int64_t start, int64_t end);

/*
 * Of that, the time that it was not in MPI either: what a call takes beside the wait is the message's way and the
 * library's, and its own processor's where others have that. Transfers of files are work.
 */
uint64_t waits_work(const struct waits *w, uint32_t rank, int64_t start, int64_t end);

/* Time that the rank of a world that waits least does not wait: the run cannot be shorter. */
uint64_t waits_busiest(const struct waits *w, uint32_t world);

/* Waits that fall away: those with a cause of these kinds, but not those for one rank. */
struct waits_left_out {
	unsigned kinds; /* bits 1 << WAIT_* */
	uint32_t but;   /* cause, or TIMELINE_NONE */
};

/* How much shorter the run of a world is without them, waits_replay.c. False: no memory. */
bool waits_replay(const struct waits *w, uint32_t world, const struct waits_left_out *out,
		  uint64_t *gain);

/* "rank 3", or "rank 1.3" where there are several worlds. */
const char *waits_rank_text(const struct waits *w, uint32_t rank, char out[32]);

/* ---- in pieces, for waits_find() ---- */

bool waits_add(struct waits *w, struct rank_wait wait);
bool waits_pair(struct waits *w);    /* waits_pair.c: fills other */
bool waits_collect(struct waits *w); /* waits_collect.c: fills list */
bool waits_charge(struct waits *w);  /* waits_path.c: fills cost */

#endif
