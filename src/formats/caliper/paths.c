/* SPDX-License-Identifier: Apache-2.0 */
/* See paths.h. */
#include "formats/caliper/paths.h"

#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

uint32_t paths_node(struct paths *p, uint32_t parent, const char *label, size_t length)
{
	uint64_t hash = hash_mix(hash_bytes(label, length), parent), i;
	struct path_node *n;

	map_each(&p->by_label, hash, i) {
		n = &p->nodes[i - 1];
		if (n->parent == parent && n->length == length &&
		    memcmp(n->label, label, length) == 0)
			return (uint32_t)i;
	}
	if (!vec_reserve(&p->nodes, &p->node_room, p->node_count, 1))
		return 0;
	n = &p->nodes[p->node_count];
	*n = (struct path_node){parent, (uint32_t)length, malloc(length + 1)};
	if (!n->label)
		return 0;
	memcpy(n->label, label, length);
	n->label[length] = '\0';
	if (!map_add(&p->by_label, hash, (uint64_t)p->node_count + 1)) {
		free(n->label);
		return 0;
	}
	return ++p->node_count;
}

struct path_row *paths_row(struct paths *p, uint32_t node, uint32_t process)
{
	uint64_t key = (uint64_t)node << 32 | process, i = map_get(&p->by_place, key);

	if (i)
		return &p->rows[i - 1];
	if (!vec_reserve(&p->rows, &p->row_room, p->row_count, 1) ||
	    !map_set(&p->by_place, key, (uint64_t)p->row_count + 1))
		return NULL;
	p->rows[p->row_count] = (struct path_row){.node = node, .process = process};
	return &p->rows[p->row_count++];
}

void paths_release(struct paths *p)
{
	for (uint32_t i = 0; i < p->node_count; i++)
		free(p->nodes[i].label);
	free(p->nodes);
	free(p->rows);
	map_release(&p->by_label);
	map_release(&p->by_place);
}
