/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds a run; see bound.h. */
#include "analysis/bound.h"

#include <string.h>

#include "analysis/range_cover.h"
#include "base/units.h"

#define HALF 0.5 /* of the run: it bounds it */
#define MUCH 0.4 /* with this, and LEAD more than anything else, as well */
#define LEAD 0.15
#define SURE 0.2 /* so much of the run may be unknown */

enum { PARTS = BOUND_END + 1 };

const char *bound_name(enum bound_by by)
{
	static const char *const names[] = {[BOUND_UNKNOWN] = "unknown",
					    [BOUND_MIXED] = "mixed",
					    [BOUND_KERNELS] = "kernels",
					    [BOUND_TRANSFERS] = "transfers",
					    [BOUND_STARTUP] = "start-up",
					    [BOUND_HOST] = "host",
					    [BOUND_LAUNCHES] = "launches",
					    [BOUND_BUILDS] = "builds",
					    [BOUND_ALLOCATION] = "allocation",
					    [BOUND_WAITING] = "waiting",
					    [BOUND_COMMUNICATION] = "communication",
					    [BOUND_ABSENT] = "no recorded process",
					    [BOUND_END] = "wind-down"};

	return names[by];
}

uint32_t bound_device(const struct timeline *tl, const struct idle *idle)
{
	uint32_t best = TIMELINE_NONE;
	uint64_t most = 0;

	for (uint32_t i = 0; i < tl->devices_count; i++) {
		uint64_t busy = intervals_length(&tl->devices[i].all) - idle[i].communication;

		if (busy > most) {
			most = busy;
			best = i;
		}
	}
	return best;
}

/* What a process does by its thread that communicates most of its time: ns. */
struct host {
	uint64_t mpi, set_up; /* set_up: of that, MPI_Init and MPI_Finalize */
	uint64_t life;
};

static bool sets_up(const char *op)
{
	return (strncmp(op, "MPI_Init", 8) == 0 && strcmp(op, "MPI_Initialized") != 0) ||
	       strcmp(op, "MPI_Finalize") == 0;
}

static uint64_t set_up_of(const struct timeline *tl, const struct tl_thread *th)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < th->count; i++) {
		const struct tl_call *c = &tl->calls[tl->outer[th->first + i]];

		if (c->end - c->start >= TIMELINE_LONG_NS && c->flags & CALL_MPI &&
		    !(c->flags & CALL_BURST) && sets_up(tl->trace->ops[c->op].name))
			ns += (uint64_t)(c->end - c->start);
	}
	return ns;
}

static struct host host_of(const struct timeline *tl, uint32_t thread)
{
	const struct tl_thread *th = &tl->threads[thread];
	struct host h = {.mpi = th->in[HOST_MPI]};

	for (unsigned s = 0; s < HOST_STATES; s++)
		h.life += th->in[s];
	if (h.mpi)
		h.set_up = set_up_of(tl, th);
	h.set_up = h.set_up < h.mpi ? h.set_up : h.mpi;
	return h;
}

/* False: the process has no MPI. */
static bool find_host(const struct timeline *tl, uint32_t process, struct host *h)
{
	const struct trace *t = tl->trace;

	*h = (struct host){0};
	for (uint32_t i = 1; i < t->threads_count; i++) {
		struct host x;

		if (t->threads[i].process != process || t->threads[i].own)
			continue;
		x = host_of(tl, i);
		if (x.mpi &&
		    (!h->mpi || (double)x.mpi / (double)x.life > (double)h->mpi / (double)h->life))
			*h = x;
	}
	return h->mpi;
}

/* ---- the largest part -------------------------------------------------------------------------- */

static void parts_of_device(const struct idle *idle, uint64_t parts[PARTS])
{
	const uint64_t *cause = idle->cause;

	parts[BOUND_KERNELS] = idle->kernels - idle->communication;
	parts[BOUND_TRANSFERS] = idle->transfers;
	parts[BOUND_STARTUP] = cause[IDLE_STARTUP];
	parts[BOUND_HOST] = cause[IDLE_HOST];
	parts[BOUND_LAUNCHES] = cause[IDLE_LAUNCH] + cause[IDLE_LATENCY] + cause[IDLE_HELD];
	parts[BOUND_BUILDS] = cause[IDLE_BUILD];
	parts[BOUND_ALLOCATION] = cause[IDLE_ALLOCATE];
	parts[BOUND_WAITING] = cause[IDLE_WAIT] + cause[IDLE_DEVICE] + cause[IDLE_RUNTIME] +
			       cause[IDLE_THREADS] + cause[IDLE_SLEEP] + cause[IDLE_POLL] +
			       cause[IDLE_IO] + cause[IDLE_BLOCKED] + cause[IDLE_PREEMPTED];
	parts[BOUND_COMMUNICATION] = cause[IDLE_MPI] + idle->communication;
	parts[BOUND_ABSENT] = cause[IDLE_ABSENT];
	parts[BOUND_END] = cause[IDLE_END];
	parts[BOUND_UNKNOWN] = cause[IDLE_UNKNOWN];
}

/*
 * Means of the processes that communicate. Where a process that started them is recorded as well, the run is longer than
 * they are there.
 */
static void parts_of_hosts(const struct timeline *tl, uint64_t parts[PARTS], uint64_t *set_up)
{
	uint64_t processes = 0, run = timeline_length(tl);
	struct host h, sum = {0};

	for (uint32_t p = 1; p < tl->trace->processes_count; p++) {
		if (!find_host(tl, p, &h))
			continue;
		sum.mpi += h.mpi;
		sum.set_up += h.set_up;
		sum.life += h.life < run ? h.life : run;
		processes++;
	}
	if (!processes)
		return;
	*set_up = sum.set_up / processes;
	parts[BOUND_COMMUNICATION] = sum.mpi / processes;
	parts[BOUND_HOST] = (sum.life > sum.mpi ? sum.life - sum.mpi : 0) / processes;
	parts[BOUND_STARTUP] = run - sum.life / processes;
}

struct bound bound_find(const struct timeline *tl, const struct idle *idle)
{
	struct bound b = {.device = bound_device(tl, idle)};
	uint64_t parts[PARTS] = {0}, run = timeline_length(tl);
	double most = 0, second = 0;

	if (!run || tl->cut || tl->apart)
		return b;
	if (b.device != TIMELINE_NONE)
		parts_of_device(&idle[b.device], parts);
	else if (!tl->counted)
		parts_of_hosts(tl, parts, &b.set_up);
	for (unsigned i = BOUND_MIXED + 1; i < PARTS; i++) {
		double share = (double)parts[i] / (double)run;

		if (share > most) {
			second = most;
			most = share;
			b.by = (enum bound_by)i;
			b.ns = parts[i];
		} else if (share > second) {
			second = share;
		}
	}
	b.share = most;
	if (most >= HALF || (most >= MUCH && most - second >= LEAD))
		return b;
	b.by = most > 0 && (double)parts[BOUND_UNKNOWN] <= SURE * (double)run ? BOUND_MIXED
									      : BOUND_UNKNOWN;
	return b;
}

/* ---- the sentence ------------------------------------------------------------------------------ */

/* The little that the device did in it. */
static void add_early(struct text *out, const struct idle *idle)
{
	char time[UNITS_TEXT];

	if (idle->early)
		text_addf(out, "; %u piece%s of work in it take%s %s", idle->early,
			  idle->early == 1 ? "" : "s", idle->early == 1 ? "s" : "",
			  units_time(idle->early_kernels + idle->early_transfers, time));
}

/* What the host did before the first work, what is more than a quarter of it. */
static void add_startup(struct text *out, const struct timeline *tl, uint32_t device,
			const struct idle *idle)
{
	static const char *const words[] = {[HOST_OUTSIDE] = "outside of every recorded API",
					    [HOST_LAUNCH] = "in calls that submit work",
					    [HOST_WAIT] = "waiting",
					    [HOST_MPI] = "in MPI",
					    [HOST_ALLOCATE] = "allocating",
					    [HOST_BUILD] = "building or loading programs",
					    [HOST_THREADS] = "waiting for other threads",
					    [HOST_SLEEP] = "sleeping",
					    [HOST_POLL] = "polling",
					    [HOST_IO] = "in calls of files and sockets",
					    [HOST_BLOCKED] = "in other waits",
					    [HOST_PREEMPTED] = "ready but without a processor",
					    [HOST_OTHER] = "in other API calls"};
	char time[UNITS_TEXT];
	unsigned told = 0;

	for (unsigned s = 0; s < HOST_STATES; s++) {
		if (4 * idle->startup[s] <= idle->cause[IDLE_STARTUP])
			continue;
		text_addf(out, "%s%s of it %s", told++ ? " and " : ", ",
			  units_time(idle->startup[s], time), words[s]);
		if (s == HOST_OUTSIDE)
			range_cover_tell(out, tl, device, &idle->startup_host);
	}
}

/* One of the parts is so large that add_largest() tells it. */
static bool tells_a_part(const uint64_t parts[PARTS], uint64_t whole)
{
	bool any = false;

	for (unsigned i = BOUND_MIXED + 1; i < PARTS; i++)
		any |= 100 * parts[i] >= whole;
	return any;
}

/* "kernels 48 %, launches 30 %." of `whole`; takes them out. */
static void add_largest(struct text *out, uint64_t parts[PARTS], uint64_t whole, unsigned number)
{
	for (unsigned n = 0; n < number; n++) {
		unsigned most = BOUND_MIXED + 1;

		for (unsigned i = most; i < PARTS; i++)
			most = parts[i] > parts[most] ? i : most;
		if (100 * parts[most] < whole)
			break;
		text_addf(out, "%s%s %.0f %%", n ? ", " : "", bound_name((enum bound_by)most),
			  100 * (double)parts[most] / (double)whole);
		parts[most] = 0;
	}
	text_add(out, ".");
}

/* What the time between the first and the last device work went to, where others are most of the run. */
static void add_between(struct text *out, const struct idle *idle)
{
	uint64_t parts[PARTS] = {0}, between = (uint64_t)(idle->last - idle->begun);
	struct idle within = *idle;
	char time[UNITS_TEXT];

	for (unsigned c = 0; c < IDLE_CAUSES; c++)
		within.cause[c] -= within.before[c];
	within.kernels -= idle->early_kernels;
	within.transfers -= idle->early_transfers;
	parts_of_device(&within, parts);
	parts[BOUND_STARTUP] = parts[BOUND_END] = 0;
	if (!between || !tells_a_part(parts, between))
		return;
	text_addf(out, " In the %s from %s to last device work: ", units_time(between, time),
		  idle->early ? "there" : "first");
	add_largest(out, parts, between, 3);
}

static void tell_mixed(struct text *out, const struct bound *b, const struct timeline *tl,
		       const struct idle *idle)
{
	uint64_t parts[PARTS] = {0}, run = timeline_length(tl), set_up;

	if (b->device != TIMELINE_NONE)
		parts_of_device(&idle[b->device], parts);
	else
		parts_of_hosts(tl, parts, &set_up);
	text_add(out, "No single thing bounds the run: ");
	add_largest(out, parts, run, 3);
}

static void tell_unknown(struct text *out, const struct timeline *tl)
{
	if (tl->cut)
		text_add(out,
			 "What bounds the run cannot be told: it has more records than are kept "
			 "for that.");
	else if (tl->apart)
		text_add(out, "What bounds the run cannot be told: the clocks of its nodes were "
			      "never compared.");
	else if (!tl->devices_count && tl->counted)
		text_add(out,
			 "What bounds the run cannot be told: calls were counted, not recorded "
			 "(mode summary).");
	else if (!tl->devices_count && tl->untimed + tl->backwards)
		text_add(out, "What bounds the run cannot be told: its device work has no device "
			      "times.");
	else if (!tl->devices_count)
		text_add(out, "What bounds the run cannot be told: nothing of devices or MPI was "
			      "recorded.");
	else
		text_add(out, "What bounds the run cannot be told: too much of the devices' idle "
			      "time has no known cause.");
}

/* Of devices it is their kernels or what the host did meanwhile, of others the time of the hosts. */
static void add_where(struct text *out, const struct bound *b, const struct idle *idle)
{
	uint64_t kernels = b->device == TIMELINE_NONE ? 0 : idle[b->device].communication;

	if (2 * kernels > b->ns)
		text_add(out, ", in which the device's kernels only communicate");
	else
		text_add(out, " of it in MPI");
}

/* Without devices: what ranks do for each other is not what bounds a run that mostly begins and ends them. */
static bool tell_ranks(struct text *out, const struct bound *b)
{
	char time[UNITS_TEXT], of[UNITS_TEXT];

	if (b->by == BOUND_STARTUP)
		text_addf(out,
			  "Start-up bounds the run: %s, %.0f %%, pass before its ranks begin and "
			  "after they end.",
			  units_time(b->ns, time), 100 * b->share);
	else if (b->by == BOUND_COMMUNICATION && 2 * b->set_up > b->ns)
		text_addf(
			out,
			"Starting and ending MPI bounds the run: of %s, %.0f %%, in MPI, %s are in "
			"MPI_Init and MPI_Finalize.",
			units_time(b->ns, time), 100 * b->share, units_time(b->set_up, of));
	else
		return false;
	return true;
}

/* "Kernels bound the run: 4.31 s, 86 % of it" and the like. */
void bound_tell(struct text *out, const struct bound *b, const struct timeline *tl,
		const struct idle *idle)
{
	static const char *const words[] = {
		[BOUND_KERNELS] = "The device bounds the run: its kernels take %s, %.0f %%",
		[BOUND_TRANSFERS] =
			"Transfers bound the run: beside no kernel they take %s, %.0f %%",
		[BOUND_STARTUP] = "Start-up bounds the run: %s, %.0f %%, pass before",
		[BOUND_HOST] = "The host bounds the run: its own code takes %s, %.0f %%",
		[BOUND_LAUNCHES] = "Launching bounds the run: %s, %.0f %%, the device waits for it",
		[BOUND_BUILDS] = "Builds bound the run: for %s, %.0f %%, the device waits for "
				 "programs",
		[BOUND_ALLOCATION] = "Allocation bounds the run: %s, %.0f %%, the device waits for "
				     "it",
		[BOUND_WAITING] =
			"Waiting bounds the run: for %s, %.0f %%, neither device nor host "
			"goes on",
		[BOUND_COMMUNICATION] = "Communication bounds the run: %s, %.0f %%",
		[BOUND_ABSENT] = "For most of the run no recorded process is there: %s, %.0f %%",
		[BOUND_END] = "The time after the last device work bounds the run: %s, %.0f %%"};
	char time[UNITS_TEXT];

	if (b->by == BOUND_UNKNOWN) {
		tell_unknown(out, tl);
		return;
	}
	if (b->by == BOUND_MIXED) {
		tell_mixed(out, b, tl, idle);
		return;
	}
	if (b->device == TIMELINE_NONE && tell_ranks(out, b))
		return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	text_addf(out, words[b->by], units_time(b->ns, time), 100 * b->share);
#pragma GCC diagnostic pop
	if (b->by == BOUND_COMMUNICATION)
		add_where(out, b, idle);
	if (b->by == BOUND_HOST && b->device != TIMELINE_NONE) {
		text_add(out, ", while the device idles");
		range_cover_tell(out, tl, b->device, &idle[b->device].host);
	}
	if (b->by == BOUND_STARTUP) {
		text_add(out,
			 idle[b->device].early ? " device work goes on" : " the first device work");
		add_startup(out, tl, b->device, &idle[b->device]);
		add_early(out, &idle[b->device]);
	}
	text_add(out, ".");
	if (b->by == BOUND_STARTUP || b->by == BOUND_END)
		add_between(out, &idle[b->device]);
}
