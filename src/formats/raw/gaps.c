/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of definitions are numbered from 0 and all of them are in the file, or counted as lost by
 * who wrote it. Numbers that are missing nonetheless are told here as what they are, since nothing else in
 * the file shows that names, threads or a job's table were cut.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/vec.h"
#include "formats/raw/internal.h"

struct numbers {
	uint64_t *all;
	size_t count, room;
};

/* What comes in several parts has one number. A drain's own notes have none. */
static bool collect(const struct raw_file *f, struct numbers *n)
{
	for (uint32_t i = 0; i < f->block_count; i++) {
		struct raw_block b;

		raw_file_block(f, i, &b);
		if (b.type != RAW_CHUNK || b.chunk_type != WIRE_CHUNK_DEFINITIONS ||
		    b.seq == UINT64_MAX || (n->count && n->all[n->count - 1] == b.seq))
			continue;
		if (!vec_reserve(&n->all, &n->room, n->count, 1))
			return false;
		n->all[n->count++] = b.seq;
	}
	return true;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* They need not be in order: a drain may see a chunk late. */
static uint64_t count_missing(struct numbers *n)
{
	uint64_t missing = 0, next = 0;

	if (n->count)
		qsort(n->all, n->count, sizeof(*n->all), by_number);
	for (size_t i = 0; i < n->count; i++) {
		missing += n->all[i] > next ? n->all[i] - next : 0;
		next = n->all[i] + 1;
	}
	return missing;
}

/* How many definitions were in them nobody knows: one of each at least, unless more are counted. */
bool raw_count_missing_definitions(struct raw_process *p)
{
	struct t_process *tp = &p->rt->trace->processes[p->process];
	struct numbers n = {0};
	bool ok = collect(&p->file, &n);
	uint64_t missing = ok ? raw_count(p, count_missing(&n), raw_most_of(p)) : 0;

	free(n.all);
	if (missing)
		stream_warn(p->rt->log,
			    "%s: %" PRIu64 " of its chunks of definitions are missing: names, or a "
			    "job's table, are not complete",
			    p->file.path, missing);
	if (missing > tp->lost_definitions)
		tp->lost_definitions = missing;
	return ok;
}
