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
#include "base/vec.h"
#include "formats/otf2/otf2.h"
#include "stream/demangle.h"
#include "stream/names.h"

static const char lost[] = "samples lost", no_stack[] = "places of samples without a stack",
		  device_lost[] = "samples of kernels lost";

struct sample_group { /* a location group of that archive: a process, or a device as it sees it */
	uint32_t process, agent;
	bool device;
	uint32_t twin; /* in the other archive */
};

struct sample_location {
	uint32_t number, twin;
};

struct samples {
	struct archive archive;
	uint32_t *locations, *device_locations; /* of threads, of agents: + 1 */
	int64_t *last, *device_last;            /* likewise: time of the last sample */
	uint32_t *process_groups;               /* of processes: + 1 */
	struct sample_group *groups;
	uint32_t group_count, group_room;
	struct sample_location *twins; /* of threads */
	uint32_t twin_count, twin_room;
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
	x->device_locations = calloc(w->t->agents_count, sizeof(*x->device_locations));
	x->device_last = calloc(w->t->agents_count, sizeof(*x->device_last));
	x->process_groups = calloc(w->t->processes_count, sizeof(*x->process_groups));
	if (!x->locations || !x->last || !x->device_locations || !x->device_last ||
	    !x->process_groups)
		return KYMO_ERROR_NO_MEMORY;
	if (archive_open(&x->archive, w->path, "samples") == KYMO_OK) {
		define_attributes(&x->archive);
		return KYMO_OK;
	}
	stream_error(w->log, "%s: libotf2 cannot make an archive there: %s", w->path,
		     strerror(errno));
	return KYMO_ERROR_SYSTEM;
}

static uint32_t context_of(struct otf2 *w, const struct rec_sample *r)
{
	struct archive *a = &w->samples->archive;
	uint32_t context = details_path(w, a, r->base.stack, SYMBOLS_TIME, 0);

	if (context != OTF2_UNDEFINED_CALLING_CONTEXT)
		return context;
	unplaced_add(&w->unplaced, no_stack, 1);
	return details_context(w, a, context, 0);
}

/* ---- locations ----------------------------------------------------------------------------- */

static uint32_t new_group(struct otf2 *w, uint32_t process, uint32_t agent, bool device)
{
	struct samples *x = w->samples;
	uint32_t twin = device ? define_accelerator(w, agent, 0) : define_process_group(w, process);

	if (!vec_reserve(&x->groups, &x->group_room, x->group_count, 1)) {
		archive_check(&x->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		return 0;
	}
	x->groups[x->group_count] = (struct sample_group){process, agent, device, twin};
	return x->group_count++;
}

static uint32_t process_group(struct otf2 *w, uint32_t process)
{
	struct samples *x = w->samples;

	if (!x->process_groups[process])
		x->process_groups[process] = 1 + new_group(w, process, 0, false);
	return x->process_groups[process] - 1;
}

static uint32_t location_of(struct otf2 *w, uint32_t thread)
{
	struct samples *x = w->samples;
	uint32_t process = w->t->threads[thread].process;
	char room[64];

	if (x->locations[thread])
		return x->locations[thread] - 1;
	x->locations[thread] =
		1 + archive_location(&x->archive,
				     name_thread(&w->t->threads[thread], room, sizeof(room)),
				     OTF2_LOCATION_TYPE_CPU_THREAD, process_group(w, process));
	if (vec_reserve(&x->twins, &x->twin_room, x->twin_count, 1))
		x->twins[x->twin_count++] = (struct sample_location){
			x->locations[thread] - 1,
			row_location(w, row_of_thread(w, process, thread))};
	else
		archive_check(&x->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
	return x->locations[thread] - 1;
}

/* The device's group has a creator, and that a thread, as OTF2 wants them. */
static uint32_t device_location(struct otf2 *w, uint32_t process, uint32_t agent)
{
	const struct t_agent *g = &w->t->agents[agent];
	struct samples *x = w->samples;
	uint32_t before = x->group_count;

	if (x->device_locations[agent])
		return x->device_locations[agent] - 1;
	process_group(w, process);
	if (x->group_count > before)
		archive_location(&x->archive, "no samples", OTF2_LOCATION_TYPE_CPU_THREAD,
				 x->process_groups[process] - 1);
	x->device_locations[agent] =
		1 + archive_location(&x->archive, g->label && *g->label ? g->label : "device",
				     OTF2_LOCATION_TYPE_ACCELERATOR_STREAM,
				     new_group(w, process, agent, true));
	return x->device_locations[agent] - 1;
}

/* ---- samples ------------------------------------------------------------------------------- */

kymo_status_t samples_sample(struct stream_sink *s, const struct rec_sample *r)
{
	struct otf2 *w = otf2_of(s);
	uint32_t thread = r->base.thread, location;
	kymo_status_t status = KYMO_OK;
	struct archive *a;

	if (r->lost) {
		unplaced_leave(&w->unplaced, lost, r->lost, 1);
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

/* The instruction, below the function that it lies in. */
static uint32_t context_of_code(struct otf2 *w, uint32_t number)
{
	const struct t_code *c = &w->t->codes[number < w->t->codes_count ? number : 0];
	const char *name = c->function && *c->function ? c->function : "(unknown kernel)";
	struct archive *a = &w->samples->archive;
	uint64_t key = hash_mix(hash_u64(UINT64_C(1) << 32), number);
	uint32_t context = archive_find_context(a, key), region;
	bool has_line = c->file && *c->file;
	char *plain;

	if (context != OTF2_UNDEFINED_CALLING_CONTEXT)
		return context;
	plain = demangle(name);
	region = archive_region(a, plain ? plain : name, name, OTF2_REGION_ROLE_FUNCTION,
				OTF2_PARADIGM_SAMPLING, ON_DEVICE);
	free(plain);
	return archive_context(a, key, region,
			       has_line ? archive_source_line(a, c->file, c->line)
					: OTF2_UNDEFINED_SOURCE_CODE_LOCATION,
			       OTF2_UNDEFINED_CALLING_CONTEXT);
}

static void add_device_sample(struct otf2 *w, const struct rec_device_sample *r)
{
	struct archive *a = &w->samples->archive;
	const uint64_t numbers[][2] = {{ATTRIBUTE_CORRELATION_ID, r->correlation},
				       {ATTRIBUTE_SAMPLES, r->samples},
				       {ATTRIBUTE_IDLE_SAMPLES, r->idle},
				       {ATTRIBUTE_CYCLES, r->cycles},
				       {ATTRIBUTE_INSTRUCTION, r->code < w->t->codes_count
								       ? w->t->codes[r->code].offset
								       : 0}};
	const struct t_string *reason =
		&w->t->strings[r->reason < w->t->strings_count ? r->reason : 0];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		archive_check(a, OTF2_AttributeList_AddUint64(w->late, (uint32_t)numbers[i][0],
							      numbers[i][1]));
	if (r->reason)
		archive_check(a, OTF2_AttributeList_AddStringRef(
					 w->late, ATTRIBUTE_STALL_REASON,
					 archive_string(a, reason->text ? reason->text : "")));
}

/* Of an instruction of a kernel: how often it was sampled, in one event. */
kymo_status_t samples_device_sample(struct stream_sink *s, const struct rec_device_sample *r)
{
	struct otf2 *w = otf2_of(s);
	uint32_t agent = r->agent < w->t->agents_count ? r->agent : 0, location;
	kymo_status_t status = w->samples ? KYMO_OK : open_samples(w);
	struct samples *x = w->samples;

	if (status)
		return status;
	if (r->lost || r->full)
		unplaced_leave(&w->unplaced, device_lost, r->lost ? r->lost : r->full, !r->samples);
	if (!r->samples)
		return KYMO_OK;
	location = device_location(w, r->base.process, agent);
	if (r->base.start > x->device_last[agent])
		x->device_last[agent] = r->base.start;
	add_device_sample(w, r);
	archive_check(&x->archive, OTF2_EvtWriter_CallingContextSample(
					   archive_events(&x->archive, location), w->late,
					   otf2_time(x->device_last[agent]),
					   context_of_code(w, r->code), OTF2_UNDEFINED_UINT32, 0));
	archive_check(&w->archive, x->archive.error);
	return otf2_status(w);
}

/* ---- definitions --------------------------------------------------------------------------- */

static void define_group(struct otf2 *w, struct archive *a, uint32_t number)
{
	const struct sample_group *g = &w->samples->groups[number];
	const struct t_process *p = &w->t->processes[g->process];
	const char *label = w->t->agents[g->agent].label;
	char name[300];

	if (g->device)
		snprintf(name, sizeof(name), "%s", label && *label ? label : "device not known");
	else
		snprintf(name, sizeof(name), "%s (%u)", g->process ? name_program(p) : "not known",
			 p->pid);
	archive_check(a, OTF2_GlobalDefWriter_WriteLocationGroup(
				 a->defs, number, archive_string(a, name),
				 g->device ? OTF2_LOCATION_GROUP_TYPE_ACCELERATOR
					   : OTF2_LOCATION_GROUP_TYPE_PROCESS,
				 0,
				 g->device ? w->samples->process_groups[g->process] - 1
					   : OTF2_UNDEFINED_LOCATION_GROUP));
}

static void define_groups(struct otf2 *w, struct archive *a)
{
	archive_check(a, OTF2_GlobalDefWriter_WriteSystemTreeNode(
				 a->defs, 0, archive_string(a, "job"), archive_string(a, "machine"),
				 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	for (uint32_t i = 0; i < w->samples->group_count; i++)
		define_group(w, a, i);
}

/* What they are in the other archive, for who reads both. Behind the locations. */
static void define_twins(struct otf2 *w, struct archive *a)
{
	const struct samples *x = w->samples;
	OTF2_AttributeValue v;

	for (uint32_t i = 0; i < x->group_count; i++) {
		v.uint64 = x->groups[i].twin;
		archive_check(a, OTF2_GlobalDefWriter_WriteLocationGroupProperty(
					 a->defs, i, archive_string(a, PROPERTY_GROUP),
					 OTF2_TYPE_UINT64, v));
	}
	for (uint32_t i = 0; i < x->twin_count; i++) {
		v.uint64 = x->twins[i].twin;
		archive_check(a,
			      OTF2_GlobalDefWriter_WriteLocationProperty(
				      a->defs, x->twins[i].number,
				      archive_string(a, PROPERTY_LOCATION), OTF2_TYPE_UINT64, v));
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
	define_twins(w, a);
	archive_close(a);
	archive_check(&w->archive, a->error);
}

void samples_release(struct otf2 *w)
{
	if (!w->samples)
		return;
	archive_release(&w->samples->archive);
	free(w->samples->locations);
	free(w->samples->last);
	free(w->samples->device_locations);
	free(w->samples->device_last);
	free(w->samples->process_groups);
	free(w->samples->groups);
	free(w->samples->twins);
	free(w->samples);
}
