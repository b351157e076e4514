/* SPDX-License-Identifier: Apache-2.0 */
/* What rules about devices share; see support.h. */
#include "analysis/rules/support.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/brief_names.h"
#include "analysis/names.h"
#include "analysis/range_cover.h"
#include "base/plain.h"
#include "base/vec.h"
#include "stream/trace.h"

enum { PLACES = 3 /* of a finding that are named */ };

#define COPIED_IN_NS 2.0 /* bytes, by a processor from memory to memory, at least */

/* ---- places ------------------------------------------------------------------------------------ */

struct place *places_at(struct places *g, uint32_t device, uint32_t site, uint32_t op,
			uint32_t kernel)
{
	/* Sites, operations and kernels are far fewer than 2^20 each; what collides is compared. */
	uint64_t key = ((uint64_t)site << 40 ^ (uint64_t)(op + 1) << 20 ^ kernel ^
			(uint64_t)device << 58) +
		       1;
	uint64_t i;

	while ((i = map_get(&g->index, key)) != 0) {
		struct place *p = &g->at[i - 1];

		if (p->device == device && p->site == site && p->op == op && p->kernel == kernel)
			return p;
		key++;
	}
	if (!vec_reserve(&g->at, &g->room, g->count, 1) || !map_set(&g->index, key, g->count + 1)) {
		g->failed = true;
		return NULL;
	}
	g->at[g->count] =
		(struct place){.device = device, .site = site, .op = op, .kernel = kernel};
	return &g->at[g->count++];
}

struct place *places_of_work(struct places *g, const struct diagnosis *d, const struct tl_work *w)
{
	const struct tl_call *c = timeline_call(d->tl, w);

	if (c)
		c = timeline_outermost(d->tl, c);
	return places_at(g, w->device, c ? c->site : 0, c ? c->op : TIMELINE_NONE,
			 w->kind == WORK_KERNEL ? w->kernel : 0);
}

void place_add(struct place *g, uint64_t ns, int64_t start, int64_t end)
{
	if (!g)
		return;
	if (!g->count || end - start > g->end - g->start) {
		g->start = start;
		g->end = end;
	}
	g->count++;
	g->ns += ns;
}

static int most_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

const struct place *places_sort(struct places *g)
{
	if (!g->count)
		return NULL;
	qsort(g->at, g->count, sizeof(*g->at), most_time);
	map_clear(&g->index);
	return g->at;
}

void places_release(struct places *g)
{
	free(g->at);
	map_release(&g->index);
	*g = (struct places){0};
}

void claims_add(struct diagnosis *d, struct claims *c, uint32_t work)
{
	if (!vec_reserve(&c->at, &c->room, c->count, 1))
		d->failed = true;
	else
		c->at[c->count++] = work;
}

void claims_end(struct diagnosis *d, struct claims *c, unsigned what, bool told)
{
	for (uint32_t i = 0; told && i < c->count; i++)
		d->claimed[c->at[i]] |= (uint8_t)what;
	free(c->at);
	*c = (struct claims){0};
}

static uint32_t first_gap(const struct gaps *gaps, int64_t time)
{
	uint32_t low = 0, high = gaps->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (gaps->at[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void claim_in(struct gaps *gaps, int64_t start, int64_t end)
{
	for (uint32_t i = first_gap(gaps, start); i < gaps->count && gaps->at[i].start < end; i++) {
		struct gap *g = &gaps->at[i];
		int64_t from = g->start > start ? g->start : start;
		int64_t to = g->end < end ? g->end : end;

		g->told += to > from ? (uint64_t)(to - from) : 0;
	}
}

void claim_gaps(struct diagnosis *d, struct intervals *times, bool told)
{
	intervals_unite(times);
	for (uint32_t i = 0; told && i < times->count; i++)
		for (uint32_t k = 0; k < d->tl->devices_count; k++)
			claim_in(&d->gaps[k], times->at[i].start, times->at[i].end);
	intervals_release(times);
}

bool gap_is_open(const struct diagnosis *d, const struct gap *g)
{
	return !(d->claimed[g->next] & CLAIM_GAP) && 2 * g->told <= gap_length(g);
}

/* ---- names ------------------------------------------------------------------------------------- */

const char *device_label(const struct diagnosis *d, uint32_t device)
{
	return name_device(&d->trace->agents[d->tl->devices[device].agent]);
}

const char *op_name(const struct diagnosis *d, uint32_t op)
{
	return op < d->trace->ops_count ? d->trace->ops[op].name : "work of unknown calls";
}

bool op_asks(const char *name)
{
	static const char *const names[] = {"EventQuery",         "StreamQuery",
					    "clGetEventInfo",     "zeEventQueryStatus",
					    "zeFenceQueryStatus", "EventQueryStatus"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(name, names[i]))
			return true;
	return false;
}

static const char *kernel_name(const struct diagnosis *d, const struct place *g)
{
	return g->kernel && g->kernel < d->trace->kernels_count ? d->trace->kernels[g->kernel].name
								: "";
}

/* As tables have it. */
static void name_kernels(struct diagnosis *d, const struct place *places, unsigned count,
			 struct text *out)
{
	for (unsigned i = 0; i < count; i++)
		text_add(&out[i], kernel_name(d, &places[i]));
	if (!d->whole_names)
		brief_names(out, count, FINDING_NAME_MOST);
	for (unsigned i = 0; i < count; i++)
		d->failed |= out[i].failed;
}

static void add_place(struct diagnosis *d, struct text *out, const struct place *g,
		      struct text *kernel)
{
	if (kernel->length)
		plain_addf(out, "kernel %s, ", kernel->s);
	text_release(kernel);
	plain_addf(out, "%s", op_name(d, g->op));
	if (g->site) {
		text_add(out, " at ");
		finding_add_site(d, out, g->site);
	}
}

void finding_set_show(struct diagnosis *d, struct finding *f, const char *arguments)
{
	int64_t from = f->start - d->trace->origin, to = f->end - d->trace->origin;

	plain_addf(&f->show, "kymo show%s%s", *arguments ? " " : "", arguments);
	if (f->end > f->start)
		plain_addf(&f->show, " --after %.6fs --before %.6fs",
			   (double)(from > 1000 ? from - 1000 : 0) / 1e9,
			   (double)(to + 1000) / 1e9);
	text_add(&f->show, " ");
	text_add_shell(&f->show, d->path ? d->path : "TRACE");
}

void finding_set_place(struct diagnosis *d, struct finding *f, const struct place *most)
{
	struct text kernel = {0};

	name_kernels(d, most, 1, &kernel);
	add_place(d, &f->where, most, &kernel);
	if (most->device < d->tl->devices_count) {
		plain_addf(&f->where, ", %s", device_label(d, most->device));
		f->agent = d->tl->devices[most->device].agent;
	}
	f->start = most->start;
	f->end = most->end;
	finding_set_show(d, f, "");
}

void finding_add_places(struct diagnosis *d, struct finding *f, const struct places *g,
			const char *what)
{
	struct text kernels[PLACES] = {0};
	uint32_t count = 0;
	char time[UNITS_TEXT];

	while (count < g->count && count < PLACES && g->at[count].ns)
		count++;
	name_kernels(d, g->at, count, kernels);
	for (uint32_t i = 0; i < count; i++) {
		plain_addf(&f->evidence,
			   g->at[i].count == 1 ? "%s %s, once: " : "%s %s, %s times: ",
			   units_time(g->at[i].ns, time), what, UNITS_COUNT(g->at[i].count));
		add_place(d, &f->evidence, &g->at[i], &kernels[i]);
		text_add(&f->evidence, "\n");
	}
	if (g->count > PLACES)
		plain_addf(&f->evidence, "and %u more places\n", g->count - PLACES);
}

void finding_add_range(struct diagnosis *d, struct finding *f, uint32_t device,
		       const struct intervals *times)
{
	struct text name = {0};
	uint64_t ns = range_cover(&name, d->tl, device, times);
	char time[UNITS_TEXT];

	if (ns && name.s)
		plain_addf(&f->evidence, "%s of this host code in the range %s\n",
			   units_time(ns, time), name.s);
	d->failed |= name.failed;
	text_release(&name);
}

/* ---- devices ------------------------------------------------------------------------------------ */

uint64_t device_property(const struct diagnosis *d, uint32_t device, const char *name)
{
	const char *p = d->trace->agents[d->tl->devices[device].agent].properties;
	size_t n = strlen(name);

	while (p && (p = strchr(p, '"')) != NULL) {
		p++;
		if (strncmp(p, name, n) == 0 && p[n] == '"' && p[n + 1] == ':')
			return strtoull(p + n + 2, NULL, 10);
	}
	return 0;
}

uint64_t device_units(const struct diagnosis *d, uint32_t device)
{
	static const char *const names[] = {"multiprocessors", "compute_units"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t units = device_property(d, device, names[i]);

		if (units)
			return units;
	}
	return 0;
}

bool work_on_part(const struct diagnosis *d, const struct tl_work *w)
{
	uint32_t agent = d->trace->queues[w->queue].agent;

	return trace_whole_device(d->trace, agent) != agent;
}

bool device_is_host(const struct diagnosis *d, uint32_t device)
{
	const char *type = d->trace->agents[d->tl->devices[device].agent].type;

	return type && strcmp(type, "cpu") == 0;
}

double copy_overlap(const struct diagnosis *d, const struct tl_work *w)
{
	double ns = (double)(w->end - w->start), computing;
	uint64_t units = device_units(d, w->device);

	if (!device_is_host(d, w->device))
		return 1;
	if (units < 2)
		return 0;
	/* It takes one processor away from kernels, as long as that copies; what takes longer waits. */
	computing = (double)w->bytes / COPIED_IN_NS;
	return 1 - (computing < ns ? computing / ns : 1) / (double)units;
}

const struct gap *gap_before(const struct gaps *gaps, uint32_t work, uint32_t *next)
{
	if (*next < gaps->count && gaps->at[*next].next == work)
		return &gaps->at[(*next)++];
	return NULL;
}

uint64_t thread_processor(const struct diagnosis *d, uint32_t thread, uint64_t ns)
{
	uint64_t had = d->trace->threads[thread].processor_ns; /* 0: not known */

	return had ? least(ns, had) : ns;
}

uint64_t gap_launching(const struct diagnosis *d, const struct gap *g)
{
	int64_t from = d->tl->calls[g->submit].start;

	from = from > g->start ? from : g->start;
	return g->end > from ? (uint64_t)(g->end - from) : 0;
}

uint64_t call_exposed(const struct diagnosis *d, int64_t start, int64_t end)
{
	uint64_t length = end > start ? (uint64_t)(end - start) : 0, busy = 0;

	/* Of several devices that which is busiest: they may all wait for this thread. */
	for (uint32_t i = 0; i < d->tl->devices_count; i++) {
		uint64_t ns = intervals_within(&d->tl->devices[i].all, start, end);

		busy = ns > busy ? ns : busy;
	}
	return length - busy;
}

uint64_t times_exposed(const struct diagnosis *d, struct intervals *times)
{
	uint64_t sum = 0;

	intervals_unite(times);
	for (uint32_t i = 0; i < times->count; i++)
		sum += call_exposed(d, times->at[i].start, times->at[i].end);
	return sum;
}
