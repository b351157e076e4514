/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Much of the run is over before a device gets its first work. Runtimes and their compilers take their time to
 * begin, so that a run which takes no longer than that is no fault. Of one that does, libraries are loaded in any
 * case; programs that are built could be cached, which saves loading their compiler as well, if it is not needed
 * later; and what the host does could be done beside that, or beside the devices' work: no more is won than that takes.
 */
#include "analysis/rules/support.h"
#include "base/plain.h"

#define LOADING_NS 250000000u /* libraries of a program with a device take that to load */

/* The longest that a device worked. */
static uint64_t busiest(const struct diagnosis *d)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < d->tl->devices_count; i++) {
		uint64_t busy = d->idle[i].kernels + d->idle[i].transfers;

		most = busy > most ? busy : most;
	}
	return most;
}

/*
 * The process builds again when devices are at work: its compiler is loaded in any case, as long as the first build
 * of a source takes longer than the next, where that is known.
 */
static bool builds_later(const struct diagnosis *d, uint32_t device)
{
	const struct timeline *tl = d->tl;
	uint32_t process = tl->work[tl->order[tl->devices[device].first]].process;

	for (uint32_t i = 0; i < tl->builds_count; i++)
		if (tl->builds[i].start >= d->idle[device].begun &&
		    d->trace->threads[tl->builds[i].thread].process == process)
			return true;
	return false;
}

/* 0: it is no more than what libraries and a compiler take to load, or too little more. */
static uint64_t won(const struct diagnosis *d, uint32_t first)
{
	const struct idle *idle = &d->idle[first];
	uint64_t host = idle->startup[HOST_OUTSIDE], builds = idle->startup[HOST_BUILD];
	uint64_t loading = least(host, LOADING_NS), busy = busiest(d);
	uint64_t compiler = least(builds, LOADING_NS - loading), beside, kept;

	beside = least(host - loading, busy + builds);
	if (diagnosis_share(d, beside + builds - compiler) < d->rule->threshold)
		return 0;
	kept = builds;
	if (builds_later(d, first))
		kept -= least(builds, d->compiler > compiler ? d->compiler : compiler);
	/* Beside builds that are not there any more nothing goes on. */
	kept += least(beside, busy);
	return kept > beside ? kept : beside;
}

static void add_parts(struct finding *f, const struct idle *idle)
{
	static const char *const names[HOST_STATES] = {[HOST_OUTSIDE] = "host code",
						       [HOST_LAUNCH] = "launch calls",
						       [HOST_WAIT] = "waits",
						       [HOST_MPI] = "communication",
						       [HOST_ALLOCATE] =
							       "allocation and the runtime's begin",
						       [HOST_BUILD] = "builds",
						       [HOST_THREADS] = "other threads",
						       [HOST_SLEEP] = "sleeping",
						       [HOST_POLL] = "polling",
						       [HOST_IO] = "files and sockets",
						       [HOST_BLOCKED] = "other waits",
						       [HOST_PREEMPTED] = "preempted",
						       [HOST_OTHER] = "other calls"};
	const char *comma = "";
	char time[UNITS_TEXT];

	for (unsigned s = 0; s < HOST_STATES; s++) {
		if (!idle->startup[s])
			continue;
		plain_addf(&f->evidence, "%s%s %s", comma, names[s],
			   units_time(idle->startup[s], time));
		comma = ", ";
	}
	text_add(&f->evidence, "\n");
}

/* The call that the thread which begins was in for longest, if that is a tenth of it all; else NULL. */
static const struct tl_call *longest_call(const struct diagnosis *d, uint32_t first, uint64_t *ns)
{
	const struct timeline *tl = d->tl;
	const struct idle *idle = &d->idle[first];
	const struct tl_work *w = &tl->work[tl->order[tl->devices[first].first + idle->early]];
	const struct tl_call *submit = timeline_call(tl, w), *most = NULL;
	const struct tl_thread *th = submit ? &tl->threads[submit->thread] : NULL;

	*ns = idle->cause[IDLE_STARTUP] / 10;
	for (uint32_t i = 0; th && i < th->count; i++) {
		const struct tl_call *c = &tl->calls[tl->outer[th->first + i]];
		int64_t end = c->end < idle->begun ? c->end : idle->begun;

		if (c->start >= idle->begun)
			break;
		if (!(c->flags & CALL_BURST) && (uint64_t)(end - c->start) > *ns) {
			*ns = (uint64_t)(end - c->start);
			most = c;
		}
	}
	return most;
}

/* The first to begin, or TIMELINE_NONE. */
static uint32_t first_device(const struct diagnosis *d)
{
	uint32_t first = TIMELINE_NONE;

	for (uint32_t i = 0; i < d->tl->devices_count; i++)
		if (d->tl->devices[i].count &&
		    (first == TIMELINE_NONE || d->idle[i].begun < d->idle[first].begun))
			first = i;
	return first;
}

static void say(struct diagnosis *d, struct finding *f, uint32_t first, uint64_t gain)
{
	const struct idle *idle = &d->idle[first];
	uint64_t ns;
	const struct tl_call *call = longest_call(d, first, &ns);
	char time[UNITS_TEXT];

	f->start = d->tl->start;
	f->end = idle->begun;
	f->agent = d->tl->devices[first].agent;
	plain_addf(&f->where,
		   idle->early ? "before %s goes on working" : "before the first work of %s",
		   device_label(d, first));
	add_parts(f, idle);
	finding_add_range(d, f, first, &idle->startup_host);
	if (call)
		plain_addf(&f->evidence, "the longest call: %s, %s\n", op_name(d, call->op),
			   units_time(ns, time));
	if (idle->early)
		plain_addf(&f->evidence, "%u piece%s of work before that take%s %s\n", idle->early,
			   idle->early == 1 ? "" : "s", idle->early == 1 ? "s" : "",
			   units_time(idle->early_kernels + idle->early_transfers, time));
	finding_set_show(d, f, "--min-duration 1ms");
	text_add(&f->advice, 2 * idle->startup[HOST_BUILD] > gain
				     ? "keep built programs (binaries, a cache) for the next run"
				     : "read and prepare input while devices are set up, or less "
				       "of it");
}

static void find(struct diagnosis *d)
{
	uint32_t first = first_device(d);
	const struct idle *idle = &d->idle[first == TIMELINE_NONE ? 0 : first];
	const char *works = idle->early ? "next to nothing is done on devices" : "no device works";
	uint64_t host = idle->startup[HOST_OUTSIDE], gain;
	char time[UNITS_TEXT], build[UNITS_TEXT], code[UNITS_TEXT];
	struct finding *f;

	if (first == TIMELINE_NONE)
		return;
	gain = won(d, first);
	if (idle->startup[HOST_BUILD])
		f = finding_add(d, gain, "%s for the first %s (builds: %s, host code: %s)", works,
				units_time(idle->cause[IDLE_STARTUP], time),
				units_time(idle->startup[HOST_BUILD], build),
				units_time(host, code));
	else
		f = finding_add(d, gain, "%s for the first %s (host code: %s)", works,
				units_time(idle->cause[IDLE_STARTUP], time),
				units_time(host, code));
	if (f)
		say(d, f, first, gain);
}

const struct rule rule_startup = {
	.id = "startup",
	.what = "much of the run is over before a device has its first work",
	.threshold = 0.15,
	.why = "short runs consist of it, which no program can help; 0.25 s is what loading "
	       "libraries and a compiler takes",
	.cost = "builds before the first work, and host code beyond 0.25 s, of that at most "
		"what it could go on beside; runtimes beginning are not counted",
	.find = find,
};
