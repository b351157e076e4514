/* SPDX-License-Identifier: Apache-2.0 */
/* References and times of one raw file's definitions; see reading.h. */
#include <stdlib.h>

#include "formats/raw/reading.h"

static int64_t to_ns(struct reading *r, int64_t tick)
{
	return tick ? tick_map_ns(&r->p->ticks, (uint64_t)tick) : 0;
}

int64_t raw_node_ns(const struct raw_process *p, int64_t ns)
{
	return ns + job_offset(p->job_points, p->job_point_count, ns);
}

/* Of those that lay there one after the other the one that was there when the site was met; `module` is how many were known then. */
static uint32_t module_of(const struct reading *r, const struct t_site *s)
{
	uint32_t found = 0;

	for (uint32_t m = r->modules; m < r->t->modules_count; m++) {
		const struct t_module *x = &r->t->modules[m];

		if (s->address - 1 >= x->start && s->address - 1 < x->end &&
		    (!found || m < s->module))
			found = m;
	}
	return found;
}

static void resolve_references(struct reading *r)
{
	struct raw_process *p = r->p;
	struct trace *t = r->t;

	for (uint32_t i = r->agents; i < t->agents_count; i++) {
		t->agents[i].parent = map_get(&p->agents, t->agents[i].parent);
		t->agents[i].clock = map_get(&p->clock_ids, t->agents[i].clock);
	}
	for (uint32_t i = r->queues; i < t->queues_count; i++) {
		t->queues[i].agent = map_get(&p->agents, t->queues[i].agent);
		t->queues[i].context = map_get(&p->contexts, t->queues[i].context);
	}
	for (uint32_t i = r->programs; i < t->programs_count; i++) {
		t->programs[i].context = map_get(&p->contexts, t->programs[i].context);
		t->programs[i].source = map_get(&p->blobs, t->programs[i].source);
	}
	for (uint32_t i = r->kernels; i < t->kernels_count; i++)
		t->kernels[i].program = map_get(&p->programs, t->kernels[i].program);
	for (uint32_t i = r->places; i < t->places_count; i++)
		t->places[i].program = map_get(&p->programs, t->places[i].program);
	for (uint32_t i = r->sites; i < t->sites_count; i++)
		t->sites[i].module = module_of(r, &t->sites[i]);
}

static double ns_per_tick(const struct raw_process *p)
{
	return (double)p->ticks.segments[0].rate / (double)(1ull << 40);
}

/* What follows the recording of a process that goes on is no pause: it ends when recording stops. */
static void end_with_recording(struct reading *r, struct t_process *p)
{
	const struct t_pause *last = &r->t->pauses[r->t->pauses_count - 1];

	if (p->how_ended != RAW_END_LEFT || r->t->pauses_count == r->pauses || last->end ||
	    !last->start)
		return;
	p->end = to_ns(r, last->start);
	r->t->pauses_count--;
}

static void resolve_pauses(struct reading *r)
{
	const struct t_process *p = &r->t->processes[r->p->process];
	const int64_t end = p->end ? p->end : p->seen;

	for (uint32_t i = r->pauses; i < r->t->pauses_count; i++) {
		struct t_pause *x = &r->t->pauses[i];

		x->start = x->start ? to_ns(r, x->start) : p->start;
		x->end = x->end ? to_ns(r, x->end) : end;
		if (x->end < x->start)
			x->end = x->start;
	}
}

static void resolve_times(struct reading *r, uint32_t first_open)
{
	struct raw_process *p = r->p;
	struct trace *t = r->t;
	struct t_process *tp = &t->processes[p->process];

	for (uint32_t i = p->first_thread; i < t->threads_count; i++) {
		t->threads[i].start = to_ns(r, t->threads[i].start);
		t->threads[i].end = to_ns(r, t->threads[i].end);
	}
	for (uint32_t i = r->notes; i < t->notes_count; i++)
		t->notes[i].time = to_ns(r, t->notes[i].time);
	for (uint32_t i = first_open; i < t->open_calls_count; i++) {
		struct t_open_call *o = &t->open_calls[i];

		o->start = to_ns(r, o->start);
		o->op = o->op < p->op_count ? p->ops[o->op].op : 0;
	}
	/* Of a process that was turned away only the drain's ticks are there, on no scale. */
	if (p->origin.tick || p->sync_count) {
		tp->end = r->end_tick ? to_ns(r, (int64_t)r->end_tick)
				      : to_ns(r, (int64_t)r->process_end_tick);
		tp->seen = r->seen_tick ? to_ns(r, (int64_t)r->seen_tick) : 0;
	}
	tp->clock_error_ns = p->ticks.error_ns;
	tp->record_cost_ns = (double)r->record_millis / 1000 * ns_per_tick(p);
	tp->overhead_ns = (double)r->overhead * ns_per_tick(p);
	tp->waiting_ns = (double)r->waiting * ns_per_tick(p);
	tp->beside_ns = (double)r->beside * ns_per_tick(p);
	tp->loading_ns = (double)r->loading * ns_per_tick(p);
	p->no_end = tp->how_ended == UINT32_MAX;
	if (p->no_end && r->process_end_seen) {
		tp->how_ended = r->process_end_how == 2 ? 3 : 0;
		tp->exit_status = -1;
	}
	if (p->sync_count) {
		tp->realtime_offset = (int64_t)(p->syncs[0].realtime - p->syncs[0].monotonic_raw);
		/* Who lost even the definition of itself began when the drain first saw it. */
		tp->start =
			to_ns(r, (int64_t)(p->origin.tick ? p->origin.tick : p->syncs[0].before));
	}
	/* One that an earlier recording of the process knew was there before this one. */
	for (uint32_t i = p->first_thread; i < t->threads_count; i++)
		if (t->threads[i].start && t->threads[i].start < tp->start)
			t->threads[i].start = tp->start;
	end_with_recording(r, tp);
	resolve_pauses(r);
}

/* Collects the syncs of each clock of this process and builds its map. */
static kymo_status_t build_clocks(struct reading *r)
{
	struct raw_process *p = r->p;
	struct trace *t = r->t;
	uint32_t n = t->clocks_count - r->clocks;
	struct device_sync *one;
	kymo_status_t status = KYMO_OK;

	p->first_clock = r->clocks;
	p->clock_count = n;
	p->clocks = calloc(n + 1, sizeof(*p->clocks));
	one = calloc(r->clock_sync_count + 1, sizeof(*one));
	if (!p->clocks || !one)
		status = KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; status == KYMO_OK && i < n; i++) {
		uint32_t count = 0;

		for (uint32_t k = 0; k < r->clock_sync_count; k++) {
			const struct device_sync *s = &r->clock_syncs[k];

			if (map_get(&p->clock_ids, r->clock_sync_ids[k]) != p->first_clock + i)
				continue;
			one[count] = (struct device_sync){to_ns(r, s->before), to_ns(r, s->after),
							  s->value};
			if (r->clock_sync_host[k] == CLOCK_SYNC_NODE_TIME) {
				one[count].before = raw_node_ns(p, s->before);
				one[count].after = raw_node_ns(p, s->after);
			}
			count++;
		}
		status = device_map_build(&p->clocks[i], one, count);
		t->clocks[p->first_clock + i].syncs = count;
		t->clocks[p->first_clock + i].error_ns = p->clocks[i].error_ns;
	}
	free(one);
	return status;
}

kymo_status_t raw_resolve(struct reading *r, uint32_t first_open)
{
	struct raw_process *p = r->p;
	kymo_status_t status;

	/* Also where it fails below: what is in `module` until then is no index. */
	resolve_references(r);
	status = tick_map_build(&p->ticks, &p->origin, p->syncs, p->sync_count);
	if (status == KYMO_OK) {
		raw_align(p);
		status = build_clocks(r);
	}
	if (status != KYMO_OK)
		return status;
	p->thread_count = r->t->threads_count - p->first_thread;
	p->lost_seen = calloc(p->thread_count + 1u, sizeof(*p->lost_seen));
	if (!p->lost_seen || trace_failed(r->t))
		return KYMO_ERROR_NO_MEMORY;
	raw_apply_names(p);
	resolve_times(r, first_open);
	raw_check_counts(p);
	return KYMO_OK;
}
