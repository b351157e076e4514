/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a job of many processes the timeline has some: they are put together by what they spend their time on, and of each
 * cluster one is drawn, and all that lie far from theirs. A table says of each process which it is like.
 */
#ifndef PAGE_CLUSTERS_H
#define PAGE_CLUSTERS_H

#include "analysis/summary.h"

enum { CLUSTERS_MOST = 16 };

enum cluster_place {
	CLUSTER_MEMBER, /* not drawn */
	CLUSTER_MIDDLE, /* stands for its cluster */
	CLUSTER_ALONE,  /* is a cluster of its own */
	CLUSTER_OUTLIER /* lies farther from it than most */
};

struct cluster_member {
	uint32_t process;
	uint32_t cluster;
	enum cluster_place place;
	/*
	 * From the cluster's mean, 0 to 1: of the kind (calls, ranges, kernels, copies) in which they differ most, half the
	 * sum of the differences of shares. Shares of a kind are of the life of the process; where threads or devices
	 * together spend more on a kind than that, of the most that any process spends on it.
	 */
	double distance;
};

struct clusters {
	struct cluster_member *members; /* processes of the program, by index */
	uint32_t count, clusters, drawn;
	uint32_t alone;    /* clusters of one process */
	uint32_t left_out; /* outliers for which there was no room */
	bool *draws;       /* by process; NULL: all are drawn */
	uint32_t *like;    /* by process: those not drawn that it stands for; NULL: all are drawn */
};

/* Chooses `most` processes at most, all if there are no more. False: no memory. */
bool clusters_find(struct clusters *c, const struct summary *s, uint32_t most);
void clusters_release(struct clusters *c);

/* A table of them, if not all are drawn. */
void clusters_table(const struct clusters *c, const struct trace *t, struct report *r);

#endif
