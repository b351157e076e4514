/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples, as calling contexts. OTF2 forbids these beside Enter and Leave, so they have an archive of
 * their own, samples.otf2 in the same directory, which is made when the first sample comes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/otf2/otf2.h"
#include "stream/names.h"
#include "stream/symbol.h"

static const char lost[] = "samples lost", no_stack[] = "places of samples without a stack";

struct samples {
	struct archive archive;
	struct symbols *symbols;
	uint32_t *locations; /* of threads: + 1 */
	int64_t *last;       /* of threads: time of the last sample */
	struct map contexts; /* parent and site: number + 1 */
	uint32_t context_count;
	int64_t period;
};

static kymo_status_t open_samples(struct otf2 *w)
{
	struct samples *x = calloc(1, sizeof(*x));

	if (!x)
		return KYMO_ERROR_NO_MEMORY;
	w->samples = x;
	x->archive.chunks.fd = -1;
	x->locations = calloc(w->t->threads_count, sizeof(*x->locations));
	x->last = calloc(w->t->threads_count, sizeof(*x->last));
	x->symbols = symbols_new(w->t, w->log);
	if (!x->locations || !x->last || !x->symbols)
		return KYMO_ERROR_NO_MEMORY;
	if (archive_open(&x->archive, w->path, "samples") == KYMO_OK)
		return KYMO_OK;
	stream_error(w->log, "%s: libotf2 cannot make an archive there: %s", w->path,
		     strerror(errno));
	return KYMO_ERROR_SYSTEM;
}

/* Site 0 stands for a place that is not known. */
static uint32_t context_of_site(struct samples *x, uint32_t parent, uint32_t site)
{
	uint64_t key = hash_mix(hash_u64(parent), site), place = map_get(&x->contexts, key);
	struct archive *a = &x->archive;
	char text[512] = "(unknown)";
	uint32_t region;

	if (place)
		return (uint32_t)(place - 1);
	if (site)
		symbols_text(x->symbols, site, text, sizeof(text));
	region = archive_region(a, text, NULL, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_SAMPLING);
	archive_check(a, OTF2_GlobalDefWriter_WriteCallingContext(
				 a->defs, x->context_count, region,
				 OTF2_UNDEFINED_SOURCE_CODE_LOCATION, parent));
	if (!map_set(&x->contexts, key, x->context_count + 1u))
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
	return x->context_count++;
}

static uint32_t context_of(struct otf2 *w, const struct rec_sample *r)
{
	const struct t_stack *s = &w->t->stacks[r->base.stack];
	uint32_t context = OTF2_UNDEFINED_CALLING_CONTEXT;

	for (uint32_t i = s->count; r->base.stack && i-- > 0;)
		context = context_of_site(w->samples, context, s->sites[i]);
	if (context != OTF2_UNDEFINED_CALLING_CONTEXT)
		return context;
	unplaced_add(&w->unplaced, no_stack, 1);
	return context_of_site(w->samples, context, 0);
}

static uint32_t location_of(struct otf2 *w, uint32_t thread)
{
	struct samples *x = w->samples;
	uint32_t process = w->t->threads[thread].process;
	char room[64];

	if (!x->locations[thread])
		x->locations[thread] = 1 + archive_location(&x->archive,
							    name_thread(&w->t->threads[thread],
									room, sizeof(room)),
							    OTF2_LOCATION_TYPE_CPU_THREAD, process);
	return x->locations[thread] - 1;
}

kymo_status_t samples_sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct otf2 *w = otf2_of(s);
	uint32_t thread = r->base.thread, location;
	kymo_status_t status = KYMO_OK;
	struct archive *a;

	if (r->lost) {
		unplaced_add(&w->unplaced, lost, r->lost);
		return KYMO_OK;
	}
	if (!w->samples)
		status = open_samples(w);
	if (status)
		return status;
	a = &w->samples->archive;
	location = location_of(w, thread);
	if (r->base.start > w->samples->last[thread])
		w->samples->last[thread] = r->base.start;
	w->samples->period = w->samples->period ? w->samples->period : r->weight;
	archive_check(a, OTF2_EvtWriter_CallingContextSample(archive_events(a, location), NULL,
							     otf2_time(w->samples->last[thread]),
							     context_of(w, r),
							     OTF2_UNDEFINED_UINT32, 0));
	archive_check(&w->archive, a->error);
	return otf2_status(w);
}

/* Location groups are numbered as processes are. */
static void define_groups(struct otf2 *w, struct archive *a)
{
	char name[300];

	archive_check(a, OTF2_GlobalDefWriter_WriteSystemTreeNode(
				 a->defs, 0, archive_string(a, "job"), archive_string(a, "machine"),
				 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	for (uint32_t i = 0; i < w->t->processes_count; i++) {
		const struct t_process *p = &w->t->processes[i];

		snprintf(name, sizeof(name), "%s (%u)", i ? name_program(p) : "not known", p->pid);
		archive_check(a, OTF2_GlobalDefWriter_WriteLocationGroup(
					 a->defs, i, archive_string(a, name),
					 OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
					 OTF2_UNDEFINED_LOCATION_GROUP));
	}
}

void samples_end(struct otf2 *w)
{
	struct archive *a = w->samples ? &w->samples->archive : NULL;
	uint64_t origin = otf2_time(w->t->origin), end = otf2_time(w->t->end);
	bool timed;

	if (!a)
		return;
	archive_check(a, OTF2_Archive_SetCreator(a->file, "Kymo"));
	archive_check(a, OTF2_GlobalDefWriter_WriteClockProperties(a->defs, 1000000000u, origin,
								   end > origin ? end - origin : 1,
								   OTF2_UNDEFINED_TIMESTAMP));
	timed = w->samples->period > 0; /* else by events */
	archive_check(a, OTF2_GlobalDefWriter_WriteInterruptGenerator(
				 a->defs, 0, archive_string(a, "sampling"),
				 timed ? OTF2_INTERRUPT_GENERATOR_MODE_TIME
				       : OTF2_INTERRUPT_GENERATOR_MODE_COUNT,
				 OTF2_BASE_DECIMAL, timed ? -9 : 0,
				 timed ? (uint64_t)w->samples->period : 1));
	define_groups(w, a);
	archive_close_events(a);
	archive_close(a);
	archive_check(&w->archive, a->error);
}

void samples_release(struct otf2 *w)
{
	if (!w->samples)
		return;
	archive_release(&w->samples->archive);
	symbols_free(w->samples->symbols);
	free(w->samples->locations);
	free(w->samples->last);
	map_release(&w->samples->contexts);
	free(w->samples);
}
