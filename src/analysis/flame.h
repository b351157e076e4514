/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as a tree: those that begin alike share their first frames, and each frame has what was measured in it alone.
 * What is small is folded, so that any number of stacks has bounded room.
 */
#ifndef ANALYSIS_FLAME_H
#define ANALYSIS_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define FLAME_NONE UINT32_MAX

enum { FLAME_VALUES = 2, FLAME_NAME = 400 /* bytes of a name that are kept */ };

/* Of frames, of several trees. All zero: none. */
struct flame_names {
	char **at;
	uint32_t count, room;
	struct map of; /* by hash */
};

/* FLAME_NONE: no memory. */
uint32_t flame_name(struct flame_names *n, const char *s, size_t length);
void flame_names_release(struct flame_names *n);

struct flame_node {
	uint32_t parent;
	uint32_t name;                /* FLAME_NONE: the root, or others */
	uint32_t others;              /* stacks that were folded into this */
	uint64_t value[FLAME_VALUES]; /* without what the nodes below have */
};

/* All zero: nothing; node 0 is the root, and a parent comes before its children. */
struct flame {
	struct flame_node *nodes;
	uint32_t count, room;
	struct map children; /* by hash of parent and name */
	uint32_t folded;     /* stacks that are in others */
};

/* The child of that name, made if it is new. FLAME_NONE: no memory. */
uint32_t flame_child(struct flame *f, uint32_t parent, uint32_t name);
void flame_add(struct flame *f, uint32_t node, uint64_t first, uint64_t second);
void flame_release(struct flame *f);

/* Values with those below; to be freed. NULL: no memory. */
uint64_t *flame_totals(const struct flame *f, unsigned value);

/*
 * Keeps the `most` nodes at most that have the most of the first value with what is below them; the others are one node
 * of that what they lie in. Afterwards nothing is added. False: no memory.
 */
bool flame_fold(struct flame *f, uint32_t most);

#endif
