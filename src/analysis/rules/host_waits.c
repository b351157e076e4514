/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device has nothing to do because the thread that feeds it waits: for another thread, in a sleep, for descriptors, in a
 * call of files or sockets, for a processor. Known where that is recorded: domains lock, wait, posix, or --off-cpu.
 *
 * A host that sleeps or polls to keep to a clock idles by intent.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/lock_use.h"
#include "analysis/rules/support.h"
#include "base/plain.h"
#include "stream/names.h"

static const struct {
	const char *does, *advice;
} words[HOST_STATES] = {
	[HOST_THREADS] =
		{"waits for another thread",
		 "hold the lock for less, or submit the next work before it is asked for; kymo "
		 "summary --tables locks has all locks, and who had them"},
	[HOST_SLEEP] = {"sleeps",
			"submit the next work before it sleeps, or wait for what the pause is "
			"meant for instead"},
	[HOST_POLL] = {"waits for descriptors",
		       "submit the next work before it waits, or let another thread wait"},
	[HOST_IO] = {"reads and writes files or sockets",
		     "read ahead and write behind in another thread; kymo summary --tables "
		     "files,sockets has what takes how long"},
	[HOST_BLOCKED] = {"waits for processes, signals or pages",
			  "submit the next work before it waits, or let another thread wait"},
	[HOST_PREEMPTED] = {"has no processor",
			    "run fewer busy threads than there are processors, or bind this one"},
};

/* Waits in a gap, of the thread that ends it, by what it waits for. */
struct waited {
	uint64_t ns[HOST_STATES], all;
	uint32_t longest; /* call, or TIMELINE_NONE */
};

static enum host_state most_of(const struct waited *w)
{
	enum host_state most = HOST_THREADS;

	for (unsigned s = HOST_THREADS; s < HOST_STATES; s++)
		most = w->ns[s] > w->ns[most] ? (enum host_state)s : most;
	return most;
}

/* Nothing is looked for where nothing of the kind was recorded. */
static bool ever_waits(const struct tl_thread *th)
{
	uint64_t all = 0;

	for (unsigned s = HOST_THREADS; s < HOST_STATES; s++)
		all += th->in[s];
	return all != 0;
}

static struct waited look(const struct diagnosis *d, const struct gap *g)
{
	const struct timeline *tl = d->tl;
	const struct tl_call *submit = g->submit == TIMELINE_NONE ? NULL : &tl->calls[g->submit];
	const struct tl_thread *th = submit ? &tl->threads[submit->thread] : NULL;
	struct waited w = {.longest = TIMELINE_NONE};
	uint64_t longest = 0;

	if (!th || !ever_waits(th))
		return w;
	for (uint32_t i = timeline_at(tl, submit->thread, g->start); i < th->count; i++) {
		const struct tl_call *c = &tl->calls[tl->outer[th->first + i]];
		const enum host_state state = timeline_state(c);
		const int64_t from = c->start > g->start ? c->start : g->start;
		const int64_t to = c->end < g->end ? c->end : g->end;
		uint64_t ns = to > from ? (uint64_t)(to - from) : 0;

		if (c->start >= g->end)
			break;
		if (!host_waits(state))
			continue;
		if (c->flags & CALL_BURST && c->end > c->start)
			ns = (uint64_t)((double)ns *
					((double)c->waited / (double)(c->end - c->start)));
		w.ns[state] += ns;
		w.all += ns;
		if (ns > longest) {
			longest = ns;
			w.longest = tl->outer[th->first + i];
		}
	}
	return w;
}

static bool is_waiting(const struct diagnosis *d, const struct gap *g)
{
	return gap_is_open(d, g) && 2 * look(d, g).all > gap_length(g);
}

/* The lock that was waited for longest at this place, where it is known; NULL: it is not. */
static const struct lock_use_row *lock_at(const struct diagnosis *d, uint32_t process,
					  uint32_t site)
{
	const struct lock_use *use = d->tl->locks;
	const struct lock_use_row *best = NULL;

	for (uint32_t i = 0; use && site && i < use->rows_count; i++) {
		const struct lock_use_row *row = &use->rows[i];

		if (row->process == process && row->waits && row->longest_site == site &&
		    (!best || row->ns > best->ns))
			best = row;
	}
	return best;
}

static void add_owner(struct diagnosis *d, struct finding *f, const struct lock_use_row *row)
{
	const struct trace *t = d->trace;
	const bool owned =
		strcmp(row->kind, "mutex") == 0 || strcmp(row->kind, "readers/writer") == 0;
	const char *thread = "";
	char name[64], time[UNITS_TEXT];

	for (uint32_t i = 1; i < t->threads_count; i++)
		if (t->threads[i].process == row->process && t->threads[i].tid == row->tid)
			thread = name_thread(&t->threads[i], name, sizeof(name));
	plain_addf(&f->evidence, "%s 0x%" PRIx64, row->kind, row->object);
	if (row->tid)
		plain_addf(&f->evidence,
			   owned ? ": thread %u %s had it during %s of the waits for it"
				 : ": thread %u %s ended waits of %s for it",
			   row->tid, thread, units_time(row->tid_ns, time));
	text_add(&f->evidence, "\n");
}

static void say(struct diagnosis *d, struct finding *f, const struct waited *sum,
		struct places *places, uint32_t thread)
{
	const enum host_state state = most_of(sum);
	const struct place *most = places_sort(places);
	const struct lock_use_row *row;
	const char *comma = "";
	char time[UNITS_TEXT];

	for (unsigned s = HOST_THREADS; s < HOST_STATES; s++) {
		if (!sum->ns[s])
			continue;
		plain_addf(&f->evidence, "%sit %s", comma, words[s].does);
		plain_addf(&f->evidence, " for %s", units_time(sum->ns[s], time));
		comma = ", ";
	}
	text_add(&f->evidence, "\n");
	text_add(&f->where, "in ");
	finding_set_place(d, f, most);
	finding_add_places(d, f, places, "of waiting");
	row = lock_at(d, d->trace->threads[thread].process, most->site);
	if (row && state == HOST_THREADS)
		add_owner(d, f, row);
	text_add(&f->advice, words[state].advice);
}

static void find_of_device(struct diagnosis *d, uint32_t device)
{
	const struct gaps *gaps = &d->gaps[device];
	struct waited sum = {.longest = TIMELINE_NONE};
	struct places places = {0};
	struct claims claims = {0};
	struct finding *f = NULL;
	uint64_t number = 0;
	uint32_t thread = 0;
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < gaps->count; i++) {
		const struct gap *g = &gaps->at[i];
		const struct waited w = look(d, g);
		const struct tl_call *c;

		if (!gap_is_open(d, g) || 2 * w.all <= gap_length(g))
			continue;
		c = &d->tl->calls[w.longest];
		for (unsigned s = HOST_THREADS; s < HOST_STATES; s++)
			sum.ns[s] += w.ns[s];
		sum.all += w.all;
		number++;
		thread = c->thread;
		place_add(places_at(&places, device, c->site, c->op, 0), w.all, g->start, g->end);
		claims_add(d, &claims, g->next);
	}
	if (number && !((most_of(&sum) == HOST_SLEEP || most_of(&sum) == HOST_POLL) &&
			gaps_keep_to_a_clock(d, device, is_waiting)))
		f = finding_add(d, sum.all, "%s idle for %s: the host %s", device_label(d, device),
				units_time(sum.all, time), words[most_of(&sum)].does);
	if (f) {
		f->count = number;
		say(d, f, &sum, &places, thread);
	}
	claims_end(d, &claims, CLAIM_GAP, f);
	d->failed |= places.failed;
	places_release(&places);
}

const struct rule rule_host_waits = {
	.id = "host-waits",
	.what = "the device idles while the thread that feeds it waits: for threads, in sleeps, "
		"for descriptors, files, a processor",
	.threshold = 0.05,
	.repeats = true,
	.why = "below a twentieth of the run no restructuring of a program pays",
	.cost = "waits of the submitting thread while the device idles, where they are recorded; "
		"nothing where the host sleeps or polls to keep to a clock",
	.find_of_device = find_of_device,
};
