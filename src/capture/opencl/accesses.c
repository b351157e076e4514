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
	kymo_handler_site_t *sites; /* accesses, blocks, the end, regions; arguments come behind */
	uint32_t site_count, accesses;
	kymo_handler_buffer_t *buffers; /* of arguments, as the rewriter names them */
	uint32_t buffer_count;
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

static kymo_handler_site_t site_of(const struct cap_rewritten_part *p, uint32_t place)
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

static void add_accesses(struct recording *r)
{
	const struct cap_rewritten_list *parts = &r->t->counted.rewritten.parts;

	for (uint32_t i = 0; i < parts->count; i++) {
		const struct cap_rewritten_part *p = &parts->at[i];

		if (!p->site || p->site > r->accesses)
			continue;
		r->sites[p->site - 1] = site_of(p, r->t->counted.parts[i]);
		r->sites[p->site - 1].block = r->accesses + p->block;
	}
}

static void add_blocks(struct recording *r)
{
	const struct cap_rewritten_list *blocks = &r->t->counted.rewritten.blocks;
	kymo_handler_site_t *end = &r->sites[r->accesses + blocks->count];

	for (uint32_t i = 0; i < blocks->count; i++) {
		kymo_handler_site_t *s = &r->sites[r->accesses + i];

		*s = site_of(&blocks->at[i], r->t->counted.blocks[i]);
		s->kind = KYMO_SITE_BLOCK;
	}
	*end = (kymo_handler_site_t){.kind = KYMO_SITE_END,
				     .block = UINT32_MAX,
				     .function = "",
				     .what = "end",
				     .file = ""};
}

static void add_regions(struct recording *r)
{
	const struct cap_rewritten_list *parts = &r->t->counted.rewritten.parts;

	for (uint32_t i = 0; i < parts->count; i++) {
		const struct cap_rewritten_part *p = &parts->at[i];
		kymo_handler_site_t *s = &r->sites[p->record];

		if (!p->record || p->record >= r->site_count)
			continue;
		*s = site_of(p, r->t->counted.parts[i]);
		s->kind = strcmp(p->what, "begin") == 0 ? KYMO_SITE_REGION_BEGIN
							: KYMO_SITE_REGION_END;
		s->what = p->space; /* its name */
		s->block = r->accesses + p->block;
	}
}

/* By the numbers that records have. False: no memory. */
static bool find_sites(struct recording *r)
{
	const struct cap_rewritten *rewritten = &r->t->counted.rewritten;
	uint32_t regions = 0;

	for (uint32_t i = 0; i < rewritten->parts.count; i++) {
		const struct cap_rewritten_part *p = &rewritten->parts.at[i];

		r->accesses = p->site > r->accesses ? p->site : r->accesses;
		regions += p->record != 0;
	}
	r->site_count = r->accesses + rewritten->blocks.count + 1 + regions;
	r->sites = calloc(r->site_count, sizeof(*r->sites));
	r->buffers = calloc(rewritten->arguments.count + 1u, sizeof(*r->buffers));
	if (!r->sites || !r->buffers)
		return false;
	for (uint32_t i = 0; i < r->site_count; i++)
		r->sites[i].function = r->sites[i].what = r->sites[i].file = "";
	add_accesses(r);
	add_blocks(r);
	add_regions(r);
	return true;
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

		if (site < r->site_count) {
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

static struct cap_accesses *begin(struct recording *r, size_t count)
{
	const bool ticks = ocl_twin_ticks(r->t), other = ocl_device_has_clock(r->t->device);
	const kymo_handler_launch_t what = {
		.group = group_size(r, count),
		.groups = ocl_launch_groups(r->l),
		.ticks_per_second = ticks ? (double)tick_rate() : 0,
		.no_clock =
			ticks || other ? NULL : "no clock of this device can be read in kernels",
		.sites = r->sites,
		.site_count = r->site_count,
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
	free(r.sites);
	free(r.buffers);
	return why;
}
