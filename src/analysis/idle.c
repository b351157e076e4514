/* SPDX-License-Identifier: Apache-2.0 */
/* Why a device did not compute; see idle.h. */
#include "analysis/idle.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "stream/recorded.h"

#define LATENCY_NS                                                                                 \
	50000 /* from submission to start, that nobody asks about: a thread that has to wake up */
#define NEAR_NS                                                                                    \
	50000 /* so soon after another device has finished, work that waited for it starts */

#define STARTUP_WORK  0.01 /* of a device's work, at most, is part of start-up */
#define STARTUP_PAUSE 0.01 /* of the run: shorter pauses change nothing that is told */

const char *idle_name(enum idle_cause cause)
{
	static const char *const names[] = {
		[IDLE_STARTUP] = "start-up",
		[IDLE_HOST] = "host code",
		[IDLE_RUNTIME] = "other API calls",
		[IDLE_BUILD] = "builds",
		[IDLE_THREADS] = "other threads",
		[IDLE_SLEEP] = "host sleeps",
		[IDLE_POLL] = "host polls",
		[IDLE_IO] = "files and sockets",
		[IDLE_BLOCKED] = "other waits",
		[IDLE_PREEMPTED] = "host preempted",
		[IDLE_ALLOCATE] = "allocation",
		[IDLE_LAUNCH] = "launch calls",
		[IDLE_WAIT] = "return from waits",
		[IDLE_DEVICE] = "other devices",
		[IDLE_MPI] = "communication",
		[IDLE_HELD] = "not flushed",
		[IDLE_LATENCY] = "launch latency",
		[IDLE_END] = "after the last work",
		[IDLE_ABSENT] = "no recorded process",
		[IDLE_UNKNOWN] = "unknown",
	};

	return names[cause];
}

const char *idle_column(enum idle_cause cause)
{
	static const char *const names[] = {
		[IDLE_STARTUP] = "idle_startup_ns",   [IDLE_HOST] = "idle_host_ns",
		[IDLE_RUNTIME] = "idle_runtime_ns",   [IDLE_BUILD] = "idle_build_ns",
		[IDLE_THREADS] = "idle_threads_ns",   [IDLE_SLEEP] = "idle_sleep_ns",
		[IDLE_POLL] = "idle_poll_ns",         [IDLE_IO] = "idle_io_ns",
		[IDLE_BLOCKED] = "idle_blocked_ns",   [IDLE_PREEMPTED] = "idle_preempted_ns",
		[IDLE_ALLOCATE] = "idle_allocate_ns", [IDLE_LAUNCH] = "idle_launch_ns",
		[IDLE_WAIT] = "idle_wait_ns",         [IDLE_DEVICE] = "idle_device_ns",
		[IDLE_MPI] = "idle_mpi_ns",           [IDLE_HELD] = "idle_held_ns",
		[IDLE_LATENCY] = "idle_latency_ns",   [IDLE_END] = "idle_end_ns",
		[IDLE_ABSENT] = "idle_absent_ns",     [IDLE_UNKNOWN] = "idle_unknown_ns",
	};

	return names[cause];
}

/* ---- the longest gaps --------------------------------------------------------------------------- */

static int64_t gap_length(const struct idle_gap *g)
{
	return g->end - g->start;
}

/* Of two of one length the earlier one is kept. */
static bool shorter(const struct idle_gap *a, const struct idle_gap *b)
{
	int64_t x = gap_length(a), y = gap_length(b);

	return x != y ? x < y : a->start > b->start;
}

static void swap_gaps(struct idle_gap *a, struct idle_gap *b)
{
	struct idle_gap c = *a;

	*a = *b;
	*b = c;
}

/* The list is a heap while it grows: the shortest is the first. */
static void sink_first(struct idle *idle)
{
	struct idle_gap *h = idle->longest;

	for (uint32_t i = 0, least = 0;; i = least) {
		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2; child++)
			if (child < idle->longest_count && shorter(&h[child], &h[least]))
				least = child;
		if (least == i)
			return;
		swap_gaps(&h[i], &h[least]);
	}
}

static bool is_long(const struct idle *idle, const struct idle_gap *g)
{
	return g->end > g->start &&
	       (idle->longest_count < IDLE_LONGEST || shorter(&idle->longest[0], g));
}

static bool keep_gap(struct idle *idle, const struct idle_gap *g)
{
	struct idle_gap *h;

	if (idle->longest_count == IDLE_LONGEST) {
		idle->longest[0] = *g;
		sink_first(idle);
		return true;
	}
	if (!vec_reserve(&idle->longest, &idle->longest_room, idle->longest_count, 1))
		return false;
	h = idle->longest;
	h[idle->longest_count] = *g;
	for (uint32_t i = idle->longest_count++; i && shorter(&h[i], &h[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap_gaps(&h[i], &h[(i - 1) / 2]);
	return true;
}

static int longest_first(const void *a, const void *b)
{
	return shorter(a, b) ? 1 : shorter(b, a) ? -1 : 0;
}

/* ---- causes ------------------------------------------------------------------------------------- */

/* What is worked at: a gap before a piece of work, and the place that submitted it. */
struct gap {
	struct idle *idle;
	const struct timeline *tl;
	uint32_t device;
	const struct tl_call *call; /* that submitted, or NULL */
	struct map *places;         /* site and cause to index + 1 */
	bool failed;
};

static void charge_as(struct gap *g, enum idle_cause cause, int64_t start, int64_t end)
{
	uint64_t key, ns = end > start ? (uint64_t)(end - start) : 0, i;
	struct idle *idle = g->idle;
	struct idle_site *s;

	if (!ns)
		return;
	idle->cause[cause] += ns;
	if (cause == IDLE_HOST)
		g->failed |= !intervals_add(&idle->host, start, end);
	key = ((uint64_t)(g->call ? g->call->site : 0) << 32 |
	       (uint64_t)(g->call ? g->call->op : 0) << 8 | cause) +
	      1;
	i = map_get(g->places, key);
	if (!i) {
		if (!vec_reserve(&idle->sites, &idle->sites_room, idle->sites_count, 1) ||
		    !map_set(g->places, key, idle->sites_count + 1)) {
			g->failed = true;
			return;
		}
		idle->sites[idle->sites_count] =
			(struct idle_site){.site = g->call ? g->call->site : 0,
					   .op = g->call ? g->call->op : 0,
					   .cause = (uint8_t)cause};
		i = ++idle->sites_count;
	}
	s = &idle->sites[i - 1];
	s->gaps++;
	s->ns += ns;
	if (ns > s->longest) {
		s->longest = ns;
		s->longest_start = start;
	}
}

/* What is not known of a host, or in no call, is nobody's where no process is there. */
static void charge(struct gap *g, enum idle_cause cause, int64_t start, int64_t end)
{
	const struct intervals *absent = &g->tl->absent;
	bool anybody = cause == IDLE_HOST || cause == IDLE_UNKNOWN;

	for (uint32_t i = anybody ? intervals_find(absent, start) : absent->count;
	     i < absent->count && absent->at[i].start < end; i++) {
		int64_t from = absent->at[i].start > start ? absent->at[i].start : start;
		int64_t to = absent->at[i].end < end ? absent->at[i].end : end;

		charge_as(g, cause, start, from);
		charge_as(g, IDLE_ABSENT, from, to);
		start = to > start ? to : start;
	}
	charge_as(g, cause, start, end);
}

static enum idle_cause cause_of(enum host_state state)
{
	static const uint8_t causes[] = {[HOST_OUTSIDE] = IDLE_HOST,
					 [HOST_LAUNCH] = IDLE_LAUNCH,
					 [HOST_WAIT] = IDLE_WAIT,
					 [HOST_MPI] = IDLE_MPI,
					 [HOST_ALLOCATE] = IDLE_ALLOCATE,
					 [HOST_BUILD] = IDLE_BUILD,
					 [HOST_THREADS] = IDLE_THREADS,
					 [HOST_OTHER] = IDLE_RUNTIME,
					 [HOST_SLEEP] = IDLE_SLEEP,
					 [HOST_POLL] = IDLE_POLL,
					 [HOST_IO] = IDLE_IO,
					 [HOST_BLOCKED] = IDLE_BLOCKED,
					 [HOST_PREEMPTED] = IDLE_PREEMPTED};

	return (enum idle_cause)causes[state];
}

/*
 * The part of [start, end) in which a device from `device` on worked goes to it, the rest is the return from the
 * wait.
 */
static void charge_wait(struct gap *g, uint32_t device, int64_t start, int64_t end)
{
	const struct timeline *tl = g->tl;
	const struct intervals *busy;

	while (device < tl->devices_count &&
	       (device == g->device ||
		!timeline_uses(tl, device, tl->trace->threads[g->call->thread].process)))
		device++;
	if (device == tl->devices_count) {
		charge(g, IDLE_WAIT, start, end);
		return;
	}
	busy = &tl->devices[device].all;
	for (uint32_t i = intervals_find(busy, start); i < busy->count && busy->at[i].start < end;
	     i++) {
		int64_t from = busy->at[i].start > start ? busy->at[i].start : start;
		int64_t to = busy->at[i].end < end ? busy->at[i].end : end;

		charge_wait(g, device + 1, start, from);
		charge(g, IDLE_DEVICE, from, to);
		start = to;
	}
	charge_wait(g, device + 1, start, end);
}

/* A part of several short calls: as much of it is spent in them as of the whole. */
static void charge_burst(struct gap *g, const struct tl_call *c, int64_t start, int64_t end)
{
	double inside = (double)c->waited / (double)(c->end - c->start + (c->end == c->start));
	int64_t until = start + (int64_t)(inside * (double)(end - start));

	until = until > end ? end : until;
	charge(g, cause_of(timeline_state(c)), start, until);
	charge(g, IDLE_HOST, until, end);
}

/* What threads of the process from `thread` on did before the submitting one began, the first that is in a call. */
static void charge_others(struct gap *g, uint32_t thread, int64_t start, int64_t end)
{
	const struct timeline *tl = g->tl;
	const struct t_thread *threads = tl->trace->threads;
	const struct tl_thread *th;

	while (thread < tl->trace->threads_count &&
	       (threads[thread].process != threads[g->call->thread].process ||
		!tl->threads[thread].count))
		thread++;
	if (thread == tl->trace->threads_count || end <= start) {
		charge(g, IDLE_HOST, start, end);
		return;
	}
	th = &tl->threads[thread];
	for (uint32_t i = timeline_at(tl, thread, start); i < th->count && start < end; i++) {
		const struct tl_call *c = &tl->calls[tl->outer[th->first + i]];
		int64_t from = c->start > start ? c->start : start;
		int64_t to = c->end < end ? c->end : end;

		if (from >= end)
			break;
		charge_others(g, thread + 1, start, from);
		if (c->flags & CALL_BURST)
			charge_burst(g, c, from, to);
		else
			charge(g, cause_of(timeline_state(c)), from, to);
		start = to > start ? to : start;
	}
	charge_others(g, thread + 1, start, end);
}

/* The submitting thread was in no call, or not there yet; nobody built. */
static void charge_unbuilt(struct gap *g, int64_t start, int64_t end)
{
	const struct trace *t = g->tl->trace;
	int64_t born = recorded_thread_start(t, &t->threads[g->call->thread]);

	if (born > start && start < end) {
		born = born < end ? born : end;
		charge_others(g, 1, start, born);
		start = born;
	}
	charge(g, IDLE_HOST, start, end);
}

/* Likewise, but a thread of its process may have built. */
static void charge_outside(struct gap *g, int64_t start, int64_t end)
{
	const struct timeline *tl = g->tl;
	const struct intervals *b = &tl->building[tl->trace->threads[g->call->thread].process];

	for (uint32_t i = intervals_find(b, start); i < b->count && b->at[i].start < end; i++) {
		int64_t from = b->at[i].start > start ? b->at[i].start : start;
		int64_t to = b->at[i].end < end ? b->at[i].end : end;

		charge_unbuilt(g, start, from);
		charge(g, IDLE_BUILD, from, to);
		start = to > start ? to : start;
	}
	charge_unbuilt(g, start, end);
}

/* What the submitting thread did in [start, end). */
static void charge_host(struct gap *g, int64_t start, int64_t end)
{
	const struct timeline *tl = g->tl;
	const struct tl_thread *th;

	if (end <= start)
		return;
	if (!g->call) {
		charge(g, IDLE_UNKNOWN, start, end);
		return;
	}
	th = &tl->threads[g->call->thread];
	for (uint32_t i = timeline_at(tl, g->call->thread, start); i < th->count && start < end;
	     i++) {
		const struct tl_call *c = &tl->calls[tl->outer[th->first + i]];
		int64_t from = c->start > start ? c->start : start,
			to = c->end < end ? c->end : end;

		if (from >= end)
			break;
		charge_outside(g, start, from);
		if (timeline_state(c) == HOST_WAIT)
			charge_wait(g, 0, from, to);
		else if (c->flags & CALL_BURST)
			charge_burst(g, c, from, to);
		else
			charge(g, cause_of(timeline_state(c)), from, to);
		start = to > start ? to : start;
	}
	charge_outside(g, start, end);
}

static bool other_device_until(const struct gap *g, int64_t start, int64_t end)
{
	const struct timeline *tl = g->tl;

	for (uint32_t d = 0; d < tl->devices_count; d++) {
		const struct intervals *busy = &tl->devices[d].all;
		uint32_t i = intervals_find(busy, end - NEAR_NS);

		if (d != g->device &&
		    timeline_uses(tl, d, tl->trace->threads[g->call->thread].process) &&
		    i < busy->count && busy->at[i].start < end && busy->at[i].end > start)
			return true;
	}
	return false;
}

/* Submitted by a call that is over, and not yet started. */
static void charge_submitted(struct gap *g, const struct tl_work *w, int64_t start, int64_t end)
{
	int64_t flushed = w->submitted < end ? w->submitted : end, latency;

	if (flushed > start + LATENCY_NS / 10 && !w->graph) {
		charge(g, IDLE_HELD, start, flushed);
		start = flushed;
	}
	latency = end - start > LATENCY_NS ? start + LATENCY_NS : end;
	if (latency == end) {
		charge(g, IDLE_LATENCY, start, end);
		return;
	}
	if (other_device_until(g, start, end)) {
		charge(g, IDLE_DEVICE, start, end);
		return;
	}
	charge(g, IDLE_UNKNOWN, start, end - LATENCY_NS);
	charge(g, IDLE_LATENCY, end - LATENCY_NS, end);
}

static int64_t clamp(int64_t time, int64_t low, int64_t high)
{
	return time < low ? low : time > high ? high : time;
}

/* [start, end) in which the device has no work, up to `w`. */
static void charge_gap(struct gap *g, const struct tl_work *w, int64_t start, int64_t end)
{
	const struct timeline *tl = g->tl;
	const struct tl_call *inner = timeline_call(tl, w);
	int64_t submit, done;

	g->call = inner ? timeline_outermost(tl, inner) : NULL;
	if (!inner) { /* the call is not there: before it began, the host; more is not known */
		submit = w->submit ? clamp(w->submit, start, end) : start;
		charge(g, IDLE_UNKNOWN, start, submit);
		charge(g, end - submit <= LATENCY_NS ? IDLE_LATENCY : IDLE_UNKNOWN, submit, end);
		return;
	}
	submit = clamp(g->call->start, start, end);
	done = clamp(inner->end, submit, end);
	charge_host(g, start, submit);
	/* A wait for it in the same call (a blocking copy) is no launching. */
	if (w->submitted > submit && w->submitted < done)
		done = w->submitted;
	charge(g, IDLE_LAUNCH, submit, done);
	charge_submitted(g, w, done, end);
}

/* What the thread did from `start` on until it submitted a piece of work that begins the device's, or is near it. */
static void charge_startup(struct gap *g, const struct tl_work *w, int64_t start)
{
	const struct timeline *tl = g->tl;
	const struct tl_call *inner = timeline_call(tl, w);
	const struct tl_call *c = inner ? timeline_outermost(tl, inner) : NULL;
	int64_t until = clamp(idle_submitted(tl, w), start, w->start);
	struct idle scratch = {0};
	struct gap look = {.idle = &scratch, .tl = tl, .device = g->device, .call = c};
	struct map places = {0};

	look.places = &places;
	g->call = c;
	charge(g, IDLE_STARTUP, start, until);
	if (c)
		charge_host(&look, start, until);
	for (unsigned s = 0; s < HOST_STATES; s++)
		g->idle->startup[s] += scratch.cause[cause_of((enum host_state)s)];
	g->idle->startup[HOST_WAIT] += scratch.cause[IDLE_DEVICE];
	for (uint32_t i = 0; i < scratch.host.count; i++)
		g->failed |= !intervals_add(&g->idle->startup_host, scratch.host.at[i].start,
					    scratch.host.at[i].end);
	g->failed |= look.failed;
	intervals_release(&scratch.host);
	map_release(&places);
	free(scratch.sites);
	charge_gap(g, w, until, w->start);
}

/* What was charged since `before` are the causes of this one. */
static void look_at_gap(struct gap *g, struct idle_gap gap, const uint64_t before[IDLE_CAUSES])
{
	for (unsigned c = 0; c < IDLE_CAUSES; c++) {
		uint64_t ns = g->idle->cause[c] - before[c];

		if (ns > gap.ns) {
			gap.ns = ns;
			gap.cause = (uint8_t)c;
		}
	}
	g->failed |= !keep_gap(g->idle, &gap);
}

static void charge_end(struct gap *g, int64_t start, int64_t end)
{
	g->call = NULL;
	charge(g, IDLE_END, start, end);
}

/* Charges [start, end), which ends with piece `next` of the timeline's work, and keeps it if it is long. */
static void charge_one(struct gap *g, uint32_t next, int64_t start, int64_t end, bool startup)
{
	struct idle_gap gap = {.start = start, .end = end, .next = next};
	bool kept = is_long(g->idle, &gap);
	uint64_t before[IDLE_CAUSES];

	if (kept)
		memcpy(before, g->idle->cause, sizeof(before));
	if (next == TIMELINE_NONE)
		charge_end(g, start, end);
	else if (startup)
		charge_startup(g, &g->tl->work[next], start);
	else
		charge_gap(g, &g->tl->work[next], start, end);
	if (kept)
		look_at_gap(g, gap, before);
}

static int most_time(const void *a, const void *b)
{
	const struct idle_site *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

int64_t idle_submitted(const struct timeline *tl, const struct tl_work *w)
{
	const struct tl_call *inner = timeline_call(tl, w);

	if (inner)
		return timeline_outermost(tl, inner)->start;
	return w->submit ? w->submit : w->start;
}

/* Number of the piece of work of a device that its start-up ends with. */
static uint32_t find_begun(const struct timeline *tl, const struct tl_device *d)
{
	double all = (double)intervals_length(&d->all), run = (double)timeline_length(tl);
	uint32_t begun = 0;
	int64_t first = 0, until = 0;
	uint64_t busy = 0;

	for (uint32_t i = 0; i < d->count; i++) {
		const struct tl_work *w = &tl->work[tl->order[d->first + i]];
		int64_t pause;

		if (!i)
			first = until = w->start;
		if (i > STARTUP_WORK * d->count || (double)busy > STARTUP_WORK * all)
			break;
		pause = clamp(idle_submitted(tl, w), until, w->start > until ? w->start : until) -
			until;
		if (i && pause > until - first && (double)pause >= STARTUP_PAUSE * run)
			begun = i;
		if (w->end > until) {
			busy += (uint64_t)(w->end - (w->start > until ? w->start : until));
			until = w->end;
		}
	}
	return begun;
}

/* All that was charged so far came before it. */
static void note_begun(struct idle *idle, const struct timeline *tl, uint32_t device,
		       uint32_t number)
{
	const struct tl_device *d = &tl->devices[device];
	int64_t begun = tl->work[tl->order[d->first + number]].start;

	idle->early = number;
	idle->begun = begun > idle->first ? begun : idle->first;
	idle->early_kernels = intervals_within(&d->kernels, tl->start, idle->begun);
	idle->early_transfers =
		intervals_within(&d->all, tl->start, idle->begun) - idle->early_kernels;
	memcpy(idle->before, idle->cause, sizeof(idle->before));
}

static void charge_all(struct gap *g)
{
	const struct timeline *tl = g->tl;
	const struct tl_device *d = &tl->devices[g->device];
	bool whole = tl->start <= tl->trace->origin; /* a part of the run has no start-up */
	uint32_t begun = whole ? find_begun(tl, d) : 0;
	int64_t first = tl->work[tl->order[d->first]].start, until = tl->start;

	g->idle->first = first > tl->start ? first : tl->start;
	for (uint32_t i = 0; i < d->count; i++) {
		uint32_t work = tl->order[d->first + i];
		const struct tl_work *w = &tl->work[work];

		if (w->start > until)
			charge_one(g, work, until, w->start, whole && i <= begun);
		if (i == begun)
			note_begun(g->idle, tl, g->device, begun);
		until = w->end > until ? w->end : until;
	}
	g->idle->last = until < tl->end ? until : tl->end;
	charge_one(g, TIMELINE_NONE, until, tl->end, false);
}

bool idle_find(struct idle *idle, const struct timeline *tl, uint32_t device)
{
	const struct tl_device *d = &tl->devices[device];
	struct map places = {0};
	struct gap g = {.idle = idle, .tl = tl, .device = device, .places = &places};

	*idle = (struct idle){.kernels = intervals_length(&d->kernels)};
	idle->communication =
		d->communication.count ? idle->kernels - intervals_length(&d->computing) : 0;
	idle->transfers = intervals_length(&d->all) - idle->kernels;
	if (d->count)
		charge_all(&g);
	map_release(&places);
	intervals_unite(&idle->host);
	intervals_unite(&idle->startup_host);
	if (idle->sites_count)
		qsort(idle->sites, idle->sites_count, sizeof(*idle->sites), most_time);
	if (idle->longest_count)
		qsort(idle->longest, idle->longest_count, sizeof(*idle->longest), longest_first);
	return !g.failed;
}

void idle_release(struct idle *idle)
{
	free(idle->sites);
	free(idle->longest);
	intervals_release(&idle->host);
	intervals_release(&idle->startup_host);
	*idle = (struct idle){0};
}
