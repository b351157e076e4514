/* SPDX-License-Identifier: Apache-2.0 */
/* The whole of a Perfetto trace, and what is told of it; see reader.h. */
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "formats/perfetto/reader.h"

static void release(struct pfreader *r)
{
	struct map *const maps[] = {&r->known_names,  &r->track_places,    &r->rows,
				    &r->device_names, &r->sequence_places, &r->tree,
				    &r->clock_places};
	struct map *const large[] = {&r->interned,       &r->flows,        &r->ends,
				     &r->sum_places,     &r->stack_places, &r->weights,
				     &r->left_open_items};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		bulk_map_release(large[i]);
	bulk_free(r->events);
	free(r->tracks);
	free(r->sequences);
	free(r->clocks);
	bulk_free(r->sums);
	text_release(&r->notes.texts);
	text_release(&r->end_notes.texts);
	text_release(&r->payload);
	keyed_release(&r->keyed);
	assembly_release(&r->all);
	pfread_close(&r->in);
	trace_free(r->t);
}

static void know_names(struct pfreader *r)
{
	static const char *const names[] = {
#define X(name, text) text,
		PFREAD_NAMES(X)
#undef X
	};

	for (unsigned i = 0; i < NAMES; i++) {
		r->known[i] = keyed_text(&r->keyed, names[i], strlen(names[i]));
		if (!map_set(&r->known_names, r->known[i], i + 1u))
			r->failed = true;
	}
}

static void tell(const struct pfreader *r)
{
	struct unplaced u = r->left_out;

	unplaced_add(&u, "ends without a begin", r->ends_alone);
	unplaced_add(&u, "events whose interned data or time is not known", r->lost);
	unplaced_add(&u, "times of clocks that no snapshot tells", r->no_clock);
	unplaced_add(&u, "times out of range", r->bad_times);
	unplaced_add(&u, "tracks that lie in themselves", r->cyclic);
	unplaced_add(&u, "arguments that the operation's others have not of that kind",
		     r->arguments);
	unplaced_add(&u, "numbers of calls that another call has", r->all.twice);
	unplaced_tell(&u, r->o->log, "left out of what was read");
	if (r->dropped)
		stream_warn(r->o->log,
			    "%s: its writer dropped packets at %llu places: how many is not known; "
			    "a larger buffer there keeps them",
			    r->path, (unsigned long long)r->dropped);
	if (r->left_open)
		stream_warn(r->o->log,
			    "%s: %llu slices have no end: they are taken to last until the end",
			    r->path, (unsigned long long)r->left_open);
	if (r->in.damaged)
		stream_warn(
			r->o->log,
			"%s: %llu compressed packets cannot be unpacked: what they hold is lost",
			r->path, (unsigned long long)r->in.damaged);
	if (r->damaged || r->wrong)
		stream_warn(r->o->log,
			    "%s: passed over: %llu messages that are not whole, %llu fields of "
			    "another type than theirs",
			    r->path, (unsigned long long)r->damaged, (unsigned long long)r->wrong);
	if (r->in.wrong)
		stream_error(r->o->log, "%s: %s: what comes after is lost", r->path, r->in.wrong);
}

/* Where the file says it in the trace's clock: others would lie far from all that was recorded. */
static void set_starts(struct pfreader *r)
{
	const int64_t hour = INT64_C(3600) * 1000000000;

	for (uint32_t i = 0; i < r->track_count; i++) {
		const struct track_in *t = &r->tracks[i];

		if (t->is_process && t->start > 0 && t->start <= r->all.first &&
		    t->start > r->all.first - hour && t->start + r->all.shift > 0)
			r->t->processes[t->process].start = t->start + r->all.shift;
	}
}

/* Kymo's own process that watches a node has no threads, and that name. */
static void find_sampler(struct pfreader *r)
{
	for (uint32_t i = 1; i < r->t->processes_count; i++) {
		struct t_process *p = &r->t->processes[i];
		bool threads = false;

		if (strcmp(p->exe, "telemetry") != 0)
			continue;
		for (uint32_t k = 1; k < r->t->threads_count && !threads; k++)
			threads = r->t->threads[k].process == i;
		p->telemetry = !threads;
	}
}

static void complete(struct pfreader *r)
{
	int64_t start = r->all.first + r->all.shift, end = r->all.last + r->all.shift;

	for (uint32_t i = 1; i < r->t->processes_count; i++) {
		struct t_process *p = &r->t->processes[i];

		if (!r->realtime)
			continue;
		p->realtime_offset = r->realtime - r->all.shift;
		p->start_realtime = start + p->realtime_offset;
	}
	set_starts(r);
	find_sampler(r);
	make_lost(r->t, 0, r->lost, r->damaged + r->in.damaged + r->dropped);
	if (!keyed_complete(&r->keyed, start, end) || !make_complete(r->t))
		r->failed = true;
}

static kymo_status_t read_all(struct pfreader *r, struct stream_sink *sink)
{
	kymo_status_t status;

	make_usual_activities(r->t, &r->model);
	know_names(r);
	pfread_packets(r);
	if (!r->failed)
		pfread_resolve(r);
	if (r->failed || !pfread_match(r) || r->keyed.failed)
		return KYMO_ERROR_NO_MEMORY;
	if (!r->all.count) {
		tell(r);
		return make_no_event(r->o->log, r->path);
	}
	complete(r);
	if (r->failed)
		return KYMO_ERROR_NO_MEMORY;
	status = pfread_emit(r, sink);
	tell(r);
	return r->failed ? KYMO_ERROR_NO_MEMORY : status;
}

kymo_status_t pfread_read(const char *path, const struct stream_filter *filter, bool ordered,
			  struct stream_sink *sink, const struct format_options *o)
{
	struct pfreader *r = calloc(1, sizeof(*r));
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;

	(void)filter;
	(void)ordered;
	if (r)
		r->t = trace_new();
	if (r && r->t) {
		r->o = o;
		r->path = path;
		r->keyed.t = r->t;
		r->last_key = UINT64_C(1) << 31; /* beyond those that tools count */
		r->in.data = (const uint8_t *)"";
		r->t->path = trace_string(r->t, path, strlen(path));
		status = pfread_open(&r->in, path, o) ? read_all(r, sink) : KYMO_ERROR_SYSTEM;
	}
	make_tell_memory(status, o->log, path);
	if (r && r->t)
		release(r);
	free(r);
	return status;
}
