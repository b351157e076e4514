/* SPDX-License-Identifier: Apache-2.0 */
/* A launch of a twin, on a thread of Kymo's: what it counts in, what it counted, its accesses, and memory as it was. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/cuda/twin.h"
#include "ptx/rewrite.h"

/* The words of the context that a kernel counts in, before its slots: docs/kernel-lines.md. */
enum { VERSION, SLOTS, BLOCKS, OWN_SLOTS, RECORDS, RECORDED, RECORDS_AT, GROUPS, HEAD };

#define SHARED_SLOTS 64u
#define ROOM         (2u << 20)  /* records of a run: 64 MiB */
#define ONE_MAX      (16u << 20) /* of a run with one group; docs/kernel-lines.md names it */

static const char no_memory[] = "there was no memory for its accesses";

struct counting {
	struct cuda_twin_run *r;
	const struct cuda_kept *kept;
	uint64_t *words; /* what lies before the records */
	uint64_t device; /* where it lies there */
	size_t blocks, room;
	kymo_access_t *records;
};

/* Groups whose accesses are recorded; count 0: all. */
struct groups {
	uint32_t first, count;
};

static size_t head_bytes(const struct counting *c)
{
	return (HEAD + SHARED_SLOTS * c->blocks) * sizeof(*c->words);
}

/* ---- what it counts in ---- */

static const char *counting_begin(struct counting *c, size_t room)
{
	c->blocks = c->r->twin->counted.rewritten.blocks.count;
	c->room = room;
	c->words = calloc(1, head_bytes(c));
	c->records = room ? malloc(room * sizeof(*c->records)) : NULL;
	if (!c->words || (room && !c->records))
		return "there was no memory for it";
	if (cuda_driver.MemAlloc(&c->device, head_bytes(c) + room * sizeof(*c->records)) == 0)
		return NULL;
	c->device = 0;
	return "the device had no memory for what it counts";
}

static void counting_end(struct counting *c)
{
	if (c->device)
		cuda_driver.MemFree(c->device);
	free(c->words);
	free(c->records);
	c->words = NULL;
	c->records = NULL;
	c->device = 0;
}

static bool clear(struct counting *c, struct groups groups)
{
	memset(c->words, 0, head_bytes(c));
	c->words[VERSION] = 1;
	c->words[SLOTS] = SHARED_SLOTS;
	c->words[BLOCKS] = c->blocks;
	c->words[RECORDS] = c->room;
	c->words[RECORDS_AT] = HEAD + SHARED_SLOTS * c->blocks;
	c->words[GROUPS] = groups.first | (uint64_t)groups.count << 32;
	return cuda_driver.MemcpyHtoD(c->device, c->words, head_bytes(c)) == 0 &&
	       cuda_driver.MemcpyHtoD(c->r->twin->where, &c->device, sizeof(c->device)) == 0;
}

static const char *launch(const struct counting *c)
{
	const struct cuda_twin_launch *l = c->r->l;
	int result = cuda_driver.LaunchKernel(c->r->twin->function, l->grid[0], l->grid[1],
					      l->grid[2], l->block[0], l->block[1], l->block[2],
					      l->shared, NULL, l->params, l->extra);

	if (result == 0)
		result = cuda_driver.CtxSynchronize();
	return result ? cuda_twin_error("the instrumented kernel did not run", result) : NULL;
}

/* Once, from the memory that the program's launch finds. */
static const char *run(struct counting *c, struct groups groups)
{
	const char *why = cuda_twin_variables(c->r->twin, c->r->l);

	if (!why && !clear(c, groups))
		why = "what it counts in could not be written";
	if (!why)
		why = launch(c);
	if (!why && cuda_driver.MemcpyDtoH(c->words, c->device, head_bytes(c)) != 0)
		why = "what it counted could not be read";
	return why;
}

/* ---- accesses ---- */

static uint64_t groups_of(const struct cuda_twin_launch *l)
{
	return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 33) * 0xff51afd7ed558ccdu;
	return (v ^ v >> 29) * 0xc4ceb9fe1a85ec53u;
}

/* A slot of a table of counters: those that an item has made at a site. */
struct times {
	uint64_t key; /* site, item, group; 0: free */
	uint32_t count;
};

/* From the numbers that the rewritten kernel knows (ptx/rewrite.h) to those of all sites. */
static uint32_t site_of(const struct cap_sites *sites, uint32_t number)
{
	if (!(number & PTX_RECORD_BLOCK))
		return number;
	if (number == PTX_RECORD_END)
		return sites->accesses + sites->blocks;
	if ((number & PTX_RECORD_REGION) == PTX_RECORD_REGION)
		return sites->accesses + sites->blocks + 1 + (number & ~PTX_RECORD_REGION);
	return sites->accesses + (number & ~PTX_RECORD_BLOCK);
}

/*
 * A thread's records come in the order in which it made them: it reserves their places one after the other. So how often it was at
 * a site before is how many of them come before. False: no memory.
 */
static bool number(const struct cap_sites *sites, kymo_access_t *records, size_t count,
		   uint32_t first)
{
	size_t room = 64;
	struct times *all;

	while (room < 2 * count)
		room *= 2;
	all = calloc(room, sizeof(*all));
	for (size_t i = 0; all && i < count; i++) {
		kymo_access_t *a = &records[i];
		a->site = site_of(sites, a->site);
		const uint64_t key = 1 + ((uint64_t)a->site << 10 | (a->item & 1023)) +
				     ((uint64_t)(a->group - first) << 34);
		size_t at = mix(key) & (room - 1);

		while (all[at].key && all[at].key != key)
			at = (at + 1) & (room - 1);
		all[at].key = key;
		a->occurrence = all[at].count++;
	}
	free(all);
	return all != NULL;
}

struct batch {
	struct cuda_twin_run *r;
	const kymo_access_t *records;
	size_t count;
	const char *why;
};

static const char *give(struct cuda_twin_run *r, const kymo_access_t *records, size_t count)
{
	const struct cuda_twin_launch *l = r->l;

	if (!r->taken) {
		uint32_t buffers = 0;
		kymo_handler_buffer_t *all = cuda_twin_buffers(l->context, &buffers);

		r->buffers = all;
		r->taken = cap_accesses_begin(
			l->launch,
			&(kymo_handler_launch_t){.group = l->block[0] * l->block[1] * l->block[2],
						 .groups = groups_of(l),
						 .sites = r->sites.at,
						 .site_count = r->sites.count,
						 .buffers = all,
						 .buffer_count = buffers});
	}
	return r->taken ? cap_accesses_take(r->taken, records, count) : "no handler looks at them";
}

static void give_there(void *data)
{
	struct batch *b = data;

	b->why = give(b->r, b->records, b->count);
}

static const char *take(struct counting *c, struct groups now, size_t count)
{
	struct batch b = {c->r, c->records, count, NULL};

	if (count && cuda_driver.MemcpyDtoH(c->records, c->device + head_bytes(c),
					    count * sizeof(*c->records)) != 0)
		return "its accesses could not be read";
	if (!number(&c->r->sites, c->records, count, now.first))
		return no_memory;
	cuda_twin_there(c->r, give_there, &b);
	return b.why;
}

/* There was no room for all: fewer groups at a time, or more room for one. */
static const char *make_room(struct counting *c, struct groups *now, uint64_t recorded)
{
	if (now->count > 1) {
		now->count = (uint32_t)((uint64_t)now->count * c->room / recorded * 9 / 10);
		now->count += !now->count;
		return NULL;
	}
	if (recorded > ONE_MAX)
		return "one of its groups makes more than 16 Mi accesses";
	counting_end(c);
	return counting_begin(c, recorded);
}

static const char *record_groups(struct counting *c)
{
	const uint64_t groups = groups_of(c->r->l);
	/* Of a group's number 30 bits are told apart at a time. */
	struct groups now = {0, groups < 1u << 29 ? (uint32_t)groups : 1u << 29};
	const char *why = NULL;

	if (groups > UINT32_MAX)
		return "it has more groups than are told apart (4 Gi)";
	if (!cap_parts_sites(&c->r->twin->counted, &c->r->sites))
		return no_memory;
	while (!why && now.first < groups) {
		uint64_t recorded;

		if (now.count > groups - now.first)
			now.count = (uint32_t)(groups - now.first);
		if (!cuda_kept_restore(c->kept))
			return "what the kernel had written could not be put back";
		why = run(c, now);
		recorded = c->words ? c->words[RECORDED] : 0;
		if (!why && recorded > c->room) {
			why = make_room(c, &now, recorded);
		} else if (!why) {
			why = take(c, now, recorded);
			now.first += now.count;
		}
	}
	return why;
}

/* ---- all of it ---- */

static const char *sum_up(struct counting *c)
{
	uint64_t *sums = calloc(c->blocks + 1, sizeof(*sums));

	if (!sums)
		return "there was no memory for it";
	for (size_t s = 0; s < SHARED_SLOTS; s++)
		for (size_t b = 0; b < c->blocks; b++)
			sums[b] += c->words[HEAD + s * c->blocks + b];
	c->r->sums = sums;
	return NULL;
}

static void counted_there(void *data)
{
	struct cuda_twin_run *r = data;

	r->counted(r);
}

static void run_kept(struct cuda_twin_run *r, const struct cuda_kept *kept)
{
	struct counting c = {.r = r, .kept = kept};
	uint64_t accesses = 0;

	r->why = counting_begin(&c, 0);
	r->start = clock_ns(CLOCK_MONOTONIC_RAW);
	if (!r->why)
		r->why = run(&c, (struct groups){0, 0});
	r->end = clock_ns(CLOCK_MONOTONIC_RAW);
	if (!r->why)
		r->why = sum_up(&c);
	if (!r->why)
		accesses = c.words[RECORDED];
	counting_end(&c);
	if (r->why)
		return;
	cuda_twin_there(r, counted_there, r);
	if (r->records && accesses) {
		r->no_accesses = counting_begin(&c, accesses < ROOM ? accesses : ROOM);
		if (!r->no_accesses)
			r->no_accesses = record_groups(&c);
		counting_end(&c);
	}
}

void cuda_twin_run(struct cuda_twin_run *r)
{
	const uint64_t before = tick_now();
	struct cuda_kept *kept;
	bool idle;

	idle = cuda_driver.CtxSetCurrent(r->l->context) == 0 && cuda_driver.CtxSynchronize() == 0;
	r->before = tick_now() - before;
	if (!idle) {
		r->why = "its context is not to be had";
		return;
	}
	r->l->function = cuda_twin_function(r->l->function);
	r->twin = cuda_twin_get(r->l, r->records, &r->why);
	if (!r->twin)
		return;
	kept = cuda_keep(r->l, &r->why);
	if (kept) {
		run_kept(r, kept);
		if (!cuda_kept_restore(kept))
			r->why = "what the kernel had written could not be put back";
	}
	cuda_kept_free(kept);
}
