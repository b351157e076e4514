/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of instrumented kernels: their records, group by group, for those who look at them (core/counter/accesses.h). A launch whose
 * records do not fit into the device's buffer is repeated, with other groups each time: nothing is lost, and nothing waits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
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
	const struct ocl_twin *t;
	struct cap_sites sites;         /* records of arguments come behind them */
	kymo_handler_buffer_t *buffers; /* of arguments, as the rewriter names them */
	uint32_t buffer_count;
	struct cap_accesses *taken; /* NULL: nothing has come yet */
};

/* False: no memory. */
static bool find_sites(struct recording *r)
{
	const uint32_t arguments = r->t->counted.rewritten.arguments.count;

	r->buffers = calloc(arguments + 1u, sizeof(*r->buffers));
	return r->buffers && cap_parts_sites(&r->t->counted, &r->sites);
}

/* ---- buffers ---- */

static void add_buffer(struct recording *r, const struct cap_rewritten_part *argument,
		       uint64_t address)
{
	const struct ocl_kernel *k = (struct ocl_kernel *)ocl_find(OCL_KERNEL, r->l->kernel);
	const struct ocl_mem *mem = NULL;

	if (!address)
		return;
	if (k && argument->block < k->argument_count && k->arguments[argument->block].mem)
		mem = (struct ocl_mem *)ocl_find(OCL_MEM, k->arguments[argument->block].mem);
	r->buffers[r->buffer_count++] = (kymo_handler_buffer_t){.base = address,
								.bytes = mem ? mem->bytes : 0,
								.id = mem ? mem->object.id : 0,
								.argument = argument->block,
								.name = argument->what};
}

/* Records that tell where arguments point to are taken out; returns how many others there are. */
static size_t take_arguments(struct recording *r, size_t count)
{
	const struct cap_rewritten_list *arguments = &r->t->counted.rewritten.arguments;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const uint32_t site = r->records[i].site;

		if (site < r->sites.count) {
			r->records[n++] = r->records[i];
			continue;
		}
		for (uint32_t k = 0; k < arguments->count; k++)
			if (arguments->at[k].record == site &&
			    strcmp(arguments->at[k].name, r->launch->name ? r->launch->name : "") ==
				    0 &&
			    r->buffer_count < arguments->count)
				add_buffer(r, &arguments->at[k], r->records[i].address);
	}
	return n;
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

static const char copies[] = "accesses of async_work_group_copy, which have no records";

static struct cap_accesses *begin(struct recording *r, size_t count)
{
	const bool ticks = ocl_twin_ticks(r->t), other = ocl_device_has_clock(r->t->device);
	const kymo_handler_launch_t what = {
		.group = group_size(r, count),
		.groups = ocl_launch_groups(r->l),
		.ticks_per_second = ticks ? (double)tick_rate() : 0,
		.no_clock =
			ticks || other ? NULL : "no clock of this device can be read in kernels",
		.not_recorded = r->t->counted.copies ? copies : NULL,
		.sites = r->sites.at,
		.site_count = r->sites.count,
		.buffers = r->buffers,
		.buffer_count = r->buffer_count};

	return cap_accesses_begin(r->launch, &what);
}

/* What was recorded of whole groups. */
static const char *take(struct recording *r, size_t count)
{
	if (!ocl_counts_records(&r->c, r->l->queue, r->records, count))
		return "its accesses could not be read";
	if (!r->taken) {
		count = take_arguments(r, count);
		r->taken = begin(r, count);
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
	struct recording r = {.l = l, .kept = kept, .launch = launch, .t = t};
	const char *why;

	why = find_sites(&r) ? make(&r, t, accesses < RECORDS ? accesses : RECORDS) : no_memory;
	if (!why)
		why = run_all(&r, t);
	unmake(&r);
	cap_accesses_end(r.taken, !why);
	free(r.sites.at);
	free(r.buffers);
	return why;
}
