/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of instrumented kernels: their records, group by group, for those who look at them (core/counter/accesses.h). A launch whose
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
	const struct cap_launch *launch;
	struct ocl_counts c;
	cl_kernel kernel;
	kymo_access_t *records;
	kymo_handler_site_t *sites;
	uint32_t site_count;
	struct cap_accesses *taken; /* NULL: nothing has come yet */
};

/* ---- sites ---- */

static uint32_t number_of(const char *const *names, const char *name)
{
	for (uint32_t i = 1; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

static uint32_t space_of(const char *space)
{
	static const char *const names[] = {[KYMO_SPACE_OTHER] = "",
					    [KYMO_SPACE_GLOBAL] = "global",
					    [KYMO_SPACE_CONSTANT] = "constant",
					    [KYMO_SPACE_LOCAL] = "local",
					    [KYMO_SPACE_PRIVATE] = "private",
					    [KYMO_SPACE_GENERIC] = "generic",
					    [KYMO_SPACE_IMAGE] = "image",
					    NULL};

	return number_of(names, space);
}

static uint32_t kind_of(const char *what)
{
	static const char *const names[] = {
		[KYMO_SITE_NONE] = "",         [KYMO_SITE_LOAD] = "load",
		[KYMO_SITE_STORE] = "store",   [KYMO_SITE_LOAD_STORE] = "rw",
		[KYMO_SITE_ATOMIC] = "atomic", NULL};

	return number_of(names, what);
}

static kymo_handler_site_t site_of(const struct ocl_rewritten_part *p, uint32_t place)
{
	return (kymo_handler_site_t){.place = place,
				     .kind = kind_of(p->what),
				     .space = space_of(p->space),
				     .bytes = (uint32_t)p->bytes,
				     .block = UINT32_MAX,
				     .line = p->line,
				     .column = p->column,
				     .function = p->name,
				     .what = p->what,
				     .file = p->file};
}

/* By the numbers that its records have. False: no memory. */
static bool find_sites(struct recording *r, const struct ocl_twin *t)
{
	const struct ocl_rewritten_list *parts = &t->rewritten.parts;

	r->sites = calloc(parts->count + 1u, sizeof(*r->sites));
	for (uint32_t i = 0; r->sites && i < parts->count; i++) {
		const uint32_t site = parts->at[i].site;

		if (!site || site > parts->count)
			continue;
		r->sites[site - 1] = site_of(&parts->at[i], t->parts[i]);
		r->site_count = site > r->site_count ? site : r->site_count;
	}
	return r->sites != NULL;
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
static const char *take(struct recording *r, size_t count)
{
	if (!ocl_counts_records(&r->c, r->l->queue, r->records, count))
		return "its accesses could not be read";
	if (!r->taken) {
		const kymo_handler_launch_t what = {.group = group_size(r, count),
						    .groups = ocl_launch_groups(r->l),
						    .sites = r->sites,
						    .site_count = r->site_count};

		r->taken = cap_accesses_begin(r->launch, &what);
	}
	return r->taken ? cap_accesses_take(r->taken, r->records, count)
			: "no handler looks at them";
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
static const char *run_all(struct recording *r, struct ocl_twin *t)
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
			why = take(r, recorded);
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

const char *ocl_accesses_run(struct ocl_twin *t, const struct cap_launch *launch,
			     const struct ocl_launch *l, const struct ocl_kept *kept,
			     uint64_t accesses)
{
	struct recording r = {.l = l, .kept = kept, .launch = launch};
	const char *why;

	why = find_sites(&r, t) ? make(&r, t, accesses < RECORDS ? accesses : RECORDS) : no_memory;
	if (!why)
		why = run_all(&r, t);
	unmake(&r);
	cap_accesses_end(r.taken, !why);
	free(r.sites);
	return why;
}
