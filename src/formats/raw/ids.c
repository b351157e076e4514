/* SPDX-License-Identifier: Apache-2.0 */
/* What the ids in records of one process are in the trace; see struct t_ids. */
#include "formats/raw/internal.h"

static uint64_t index_of(const struct t_ids *ids, enum record_reference what, uint64_t id)
{
	const struct raw_process *p = (const struct raw_process *)(const void *)ids;

	switch (what) {
#define LOOK_UP(K, type_name, list)                                                                \
	case REFERENCE_##K:                                                                        \
		return map_get(&p->list, id);
		RECORD_REFERENCES(LOOK_UP)
#undef LOOK_UP
	case REFERENCE_OP:
		return id < p->op_count ? p->ops[id].op : 0;
	default:
		return id;
	}
}

void raw_give_ids(struct raw_process *p)
{
	p->ids.index = index_of;
	p->rt->trace->processes[p->process].ids = &p->ids;
}
