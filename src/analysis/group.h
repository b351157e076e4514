/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouping: rows of tallies of one or several traces are added up under the labels of the chosen
 * dimensions.
 */
#ifndef ANALYSIS_GROUP_H
#define ANALYSIS_GROUP_H

#include "analysis/labels.h"
#include "base/map.h"

#define GROUP_LABELS 22 /* as many as there are dimensions */

struct group {
	char *key; /* labels, NUL between them */
	size_t key_length;
	const char *label[GROUP_LABELS]; /* in `key`, in order of `dimensions` */
	const struct summary *summary;   /* of the first row */
	const struct tally *first;
	const struct summary *earliest_summary; /* of the row whose `first` is least */
	const struct tally *earliest;
	struct tally sum;
	struct group_queue { /* of the rows, with --by queue; one may be there again */
		const struct summary *summary;
		uint32_t process, queue;
	} * queues;
	uint32_t queue_count, queue_room;
};

struct groups {
	struct group **list;
	uint32_t count, room;
	struct map places;       /* by hash of the key: index + 1 */
	struct tallies *numbers; /* owns the histograms of the sums */
	unsigned by;             /* dimensions in use */
	uint32_t folded;         /* groups that are part of another now */
	bool failed;
};

bool groups_init(struct groups *g, const struct trace *t, unsigned by);
void groups_release(struct groups *g);

/* Adds a row under its labels; `by` dimensions its kind does not know must not be in g->by. */
void groups_add(struct groups *g, const struct summary *s, enum tally_kind kind,
		const struct tally *row);

/* Adds those up that differ only in instance data of the names of their operations (names.h), if they are many. */
void groups_fold(struct groups *g);

/*
 * Shortens the names of kernels (name_shorten()) where no two are the same then; as many as are worth one row
 * become one.
 */
void groups_shorten(struct groups *g);

/* What comes first: the lowest rank and peer where these are chosen, else the longest time, or the most bytes (moved, or in use at once), else the most calls; or the least size. */
enum groups_order { ORDER_TIME, ORDER_BYTES, ORDER_SIZE };

void groups_sort(struct groups *g, enum groups_order order);

#endif
