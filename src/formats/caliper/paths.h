/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths as a tree of labels, and what each process spent on each: memory is by paths, not by records. */
#ifndef FORMATS_CALIPER_PATHS_H
#define FORMATS_CALIPER_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct path_node {
	uint32_t parent; /* plus one; 0: none */
	uint32_t length;
	char *label;
};

struct path_row { /* of a node and process */
	uint32_t node, process;
	uint64_t count;
	uint64_t inclusive, within; /* ns of the host; of that, in what is below */
	uint64_t device, bytes;     /* ns of devices */
	uint64_t untimed;           /* work without device times */
	uint64_t samples, sampled;  /* and ns of processors that they stand for */
};

struct paths {
	struct path_node *nodes;
	struct path_row *rows;
	uint32_t node_count, node_room, row_count, row_room;
	struct map by_label, by_place;
};

/* Returns the node plus one, which is made where there is none; 0: no memory. `parent` likewise plus one, or 0. */
uint32_t paths_node(struct paths *p, uint32_t parent, const char *label, size_t length);

/* The row of a node, plus one, and process; NULL: no memory. Valid until the next one. */
struct path_row *paths_row(struct paths *p, uint32_t node, uint32_t process);

void paths_release(struct paths *p);

#endif
