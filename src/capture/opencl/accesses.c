/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of instrumented kernels: their records, group by group, and what a device in lockstep makes of them. A launch whose
 * records do not fit into the device's buffer is repeated, with other groups each time: nothing is lost, and nothing waits.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/opencl/instrument.h"

#define RECORDS (2u << 20) /* of a run: 64 MiB */
#define ONE_MAX                                                                                    \
	(16u << 20) /* of a run with one group; make_room() and docs/kernel-lines.md name it */

static const char no_memory[] = "there was no memory for its accesses";

struct recording {
	const struct ocl_launch *l;
	const struct ocl_kept *kept;
	struct ocl_counts c;
	cl_kernel kernel;
	struct lanes_access *records;
	struct lanes *lanes;
};

/* ---- sites ---- */

static enum lanes_space space_of(const char *space)
{
	if (strcmp(space, "local") == 0)
		return LANES_LOCAL;
	return strcmp(space, "global") == 0 || strcmp(space, "constant") == 0 ||
			       strcmp(space, "generic") == 0
		       ? LANES_GLOBAL
		       : LANES_OTHER;
}

/* NULL: no memory. */
static struct lanes_site *sites_new(const struct ocl_rewritten *r, uint32_t *count)
{
	struct lanes_site *sites = calloc(r->parts.count + 1u, sizeof(*sites));

	*count = 0;
	for (uint32_t i = 0; sites && i < r->parts.count; i++) {
		const struct ocl_rewritten_part *p = &r->parts.at[i];

		if (!p->site || p->site > r->parts.count)
			continue;
		sites[p->site - 1] = (struct lanes_site){space_of(p->space), (uint32_t)p->bytes};
		*count = p->site > *count ? p->site : *count;
	}
	return sites;
}

/* ---- runs ---- */

/* Of the groups; `*recorded`: of so many accesses, of which those are stored that there is room for. */
static const char *run(struct recording *r, struct ocl_groups groups, uint64_t *recorded)
{
	const char *why;
	bool taken;

	if (!ocl_kept_restore(r->kept))
		return "what the kernel had written could not be put back";
	if (!ocl_counts_clear(&r->c, r->l->queue, groups))
		return "what it counts in could not be written";
	why = ocl_twin_enqueue(r->kernel, r->l, false, &taken);
	if (why)
		return why;
	*recorded = ocl_counts_recorded(&r->c, r->l->queue);
	return *recorded == UINT64_MAX ? "its accesses could not be read" : NULL;
}

/* With room for so many records. */
static const char *make(struct recording *r, struct ocl_twin *t, size_t records)
{
	const char *why = NULL;

	r->c.records = records;
	r->records = malloc(records * sizeof(*r->records));
	if (!r->records)
		return no_memory;
	r->kernel = ocl_twin_kernel(t, r->l, &r->c, &why);
	return why;
}

static void unmake(struct recording *r)
{
	if (r->kernel)
		ocl_next.clReleaseKernel(r->kernel);
	ocl_counts_release(&r->c);
	free(r->records);
	r->kernel = NULL;
	r->records = NULL;
	r->c = (struct ocl_counts){.buffer = NULL};
}

static uint32_t group_size(const struct recording *r, size_t count)
{
	uint32_t last = 0;

	if (ocl_launch_group(r->l))
		return (uint32_t)ocl_launch_group(r->l);
	for (size_t i = 0; i < count; i++)
		last = r->records[i].item > last ? r->records[i].item : last;
	return last + 1;
}

/* What was recorded of whole groups. */
static const char *take(struct recording *r, const struct lanes_profile *p,
			const struct lanes_site *sites, uint32_t site_count, size_t count)
{
	if (!ocl_counts_records(&r->c, r->l->queue, r->records, count))
		return "its accesses could not be read";
	if (!r->lanes)
		r->lanes = lanes_new(p, sites, site_count, group_size(r, count));
	if (!r->lanes)
		return no_memory;
	return lanes_take(r->lanes, r->records, count) ? NULL
						       : "its accesses are not as they can be";
}

/* There was no room for all of them: fewer groups at a time, or more room for one. */
static const char *make_room(struct recording *r, struct ocl_twin *t, struct ocl_groups *now,
			     uint64_t recorded)
{
	if (now->count > 1) {
		now->count = (uint32_t)((uint64_t)now->count * r->c.records / recorded * 9 / 10);
		now->count += !now->count;
		return NULL;
	}
	if (recorded > ONE_MAX)
		return now->count ? "one of its groups makes more than 16 Mi accesses"
				  : "it makes more than 16 Mi accesses, in groups whose size the "
				    "runtime chooses";
	unmake(r);
	return make(r, t, recorded);
}

/*
 * All groups, as many at a time as have room: a guess, from those before. Where the runtime chooses their size it is not known how many
 * there are: all are one then.
 */
static const char *run_all(struct recording *r, struct ocl_twin *t, const struct lanes_profile *p,
			   const struct lanes_site *sites, uint32_t site_count)
{
	const size_t groups = ocl_launch_groups(r->l);
	struct ocl_groups now = {0, (uint32_t)groups};
	bool done = false;

	if (groups > UINT32_MAX)
		return "it has more groups than are told apart (4 Gi)";
	while (!done) {
		uint64_t recorded = 0;
		const char *why = run(r, now, &recorded);

		if (!why && recorded > r->c.records) {
			why = make_room(r, t, &now, recorded);
		} else if (!why) {
			why = take(r, p, sites, site_count, recorded);
			now.first += now.count;
			done = now.first >= groups;
			if (now.count > groups - now.first)
				now.count = (uint32_t)(groups - now.first);
		}
		if (why)
			return why;
	}
	return NULL;
}

/* By the places that the parts of the program have. */
static void write_all(const struct recording *r, const struct ocl_twin *t,
		      const struct cap_launch *launch, const struct lanes_profile *p)
{
	const struct lanes_count *counts = lanes_counts(r->lanes);

	for (uint32_t i = 0; i < t->rewritten.parts.count; i++) {
		const uint32_t site = t->rewritten.parts.at[i].site;

		if (site && t->parts[i] && counts[site - 1].accesses)
			cap_lines_write_access(launch, t->parts[i], p, &counts[site - 1]);
	}
}

const char *ocl_accesses_run(struct ocl_twin *t, const struct cap_launch *launch,
			     const struct ocl_launch *l, const struct ocl_kept *kept,
			     uint64_t accesses)
{
	const struct lanes_profile *p = cap_lines_lanes();
	struct recording r = {.l = l, .kept = kept};
	struct lanes_site *sites;
	uint32_t site_count;
	const char *why;

	if (!p)
		return NULL; /* nobody wants it any more */
	sites = sites_new(&t->rewritten, &site_count);
	if (!sites)
		return no_memory;
	why = make(&r, t, accesses < RECORDS ? accesses : RECORDS);
	if (!why)
		why = run_all(&r, t, p, sites, site_count);
	if (!why)
		write_all(&r, t, launch, p);
	unmake(&r);
	lanes_free(r.lanes);
	free(sites);
	return why;
}
