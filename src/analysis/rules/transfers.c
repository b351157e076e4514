/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that could run beside kernels; see transfers.h.
 *
 * A copy to the device could go beside the kernels that come after it (until the next such copy), if what it
 * brings does not depend on their results: since the last copy to the device, nothing was read back that
 * the host had the time to use. A copy to the host could go beside the kernels after it, if the host did not
 * use it before it submitted them. Of both lengths the shorter is won.
 */
#include "analysis/rules/transfers.h"

#include <inttypes.h>
#include <string.h>

#include "wire/defs.h"
#include "base/plain.h"

#define LEAST_BYTES      16384 /* what is smaller is no matter of bandwidth */
#define LEAST_NUMBER     3
#define LARGE_BYTES      (1u << 20)
#define PINNED_IS_FASTER 2.5 /* than pageable copies, where the trace has none: 2 to 3 are usual */

/* A copy that is not yet over and done with. */
struct pending {
	uint32_t work;                 /* or TIMELINE_NONE */
	uint64_t kernels, other_queue; /* ns of kernels after it; of those on other queues */
	uint64_t after;                /* gap behind it that goes with the wait */
	uint64_t host;                 /* ns of host code for which the device waited before it */
	enum transfer_reason reason;
	bool depends;
};

struct look {
	struct diagnosis *d;
	uint32_t device;
	enum transfer_reason reason;
	struct transfers *found;
	struct pending pending[2]; /* to the device, from it */
	bool used;                 /* what was read back may be in what is written next */
	double pinned[2];          /* bytes in a ns, 0: none seen */
};

/* ---- how fast pinned memory is ------------------------------------------------------------------- */

static unsigned direction(const struct tl_work *w)
{
	return w->from_device;
}

static unsigned host_kind(const struct tl_work *w)
{
	return w->from_device ? w->destination_kind : w->source_kind;
}

static bool is_copy(const struct tl_work *w)
{
	return (w->kind == WORK_COPY) && (w->to_device || w->from_device) && !w->graph;
}

/* Work within the device: kernels, fills, copies from one of its buffers to another. */
static bool is_within(const struct tl_work *w)
{
	return w->kind == WORK_KERNEL ||
	       ((w->kind == WORK_COPY || w->kind == WORK_FILL) && !w->to_device && !w->from_device);
}

/* The mean is enough: large ones run at one speed, and those that share it are no faster. */
static void find_pinned(struct look *l)
{
	const struct timeline *tl = l->d->tl;
	const struct tl_device *dev = &tl->devices[l->device];
	uint64_t bytes[2] = {0}, ns[2] = {0};

	for (uint32_t i = 0; i < dev->count; i++) {
		const struct tl_work *w = &tl->work[tl->order[dev->first + i]];

		if (is_copy(w) && host_kind(w) == MEMORY_HOST_PINNED && w->bytes >= LARGE_BYTES) {
			bytes[direction(w)] += w->bytes;
			ns[direction(w)] += (uint64_t)(w->end - w->start);
		}
	}
	for (unsigned k = 0; k < 2; k++)
		l->pinned[k] = ns[k] ? (double)bytes[k] / (double)ns[k] : 0;
}

/* ---- what prevents it ---------------------------------------------------------------------------- */

static bool is_default(const struct diagnosis *d, uint32_t queue)
{
	const struct t_queue *q = &d->trace->queues[queue];

	/* The legacy stream of a CUDA context has the number 7 in all of CUPTI's records. */
	return queue < d->trace->queues_count && q->domain && strncmp(q->domain, "cuda", 4) == 0 &&
	       q->name && strcmp(q->name, "stream 7") == 0;
}

static bool is_pageable(const struct look *l, const struct tl_work *w)
{
	return host_kind(w) == MEMORY_HOST_PAGEABLE && !device_is_host(l->d, l->device) &&
	       !device_property(l->d, l->device, "host_unified_memory");
}

/* Kernel `k`, the first after copy `w`. */
static enum transfer_reason reason_of(const struct look *l, const struct tl_work *w,
				      const struct tl_work *k, const struct gap *g)
{
	if (k->submit > w->end || w->blocking)
		return w->blocking || (g && g->wait != TIMELINE_NONE) ? TRANSFER_BLOCKING
								      : TRANSFER_FREE;
	if (w->queue == k->queue)
		return TRANSFER_SAME_QUEUE;
	if (is_default(l->d, w->queue) || is_default(l->d, k->queue))
		return TRANSFER_DEFAULT;
	return TRANSFER_FREE;
}

/* ---- what is won --------------------------------------------------------------------------------- */

static uint64_t exposed(const struct look *l, const struct tl_work *w)
{
	return (uint64_t)(w->end - w->start) -
	       intervals_within(&l->d->tl->devices[l->device].kernels, w->start, w->end);
}

/*
 * A pinned copy does not hold the host: where the device waits for the host's code, that goes on beside it; else,
 * kernels of other queues do.
 */
static uint64_t won_pageable(struct look *l, const struct pending *p, const struct tl_work *w)
{
	double rate = l->pinned[direction(w)];
	uint64_t length = (uint64_t)(w->end - w->start), pinned, beside;

	if (rate <= 0) {
		rate = PINNED_IS_FASTER * (double)w->bytes / (double)(length ? length : 1);
		l->found->rate_assumed = true;
	}
	pinned = (uint64_t)((double)w->bytes / rate);
	l->found->rate = (uint64_t)(rate * 1e6);
	beside = p->host > p->other_queue ? p->host : p->other_queue;
	return (length > pinned ? length - pinned : 0) +
	       (p->depends ? 0 : least(least(pinned, beside), exposed(l, w)));
}

static void end_pending(struct look *l, struct pending *p)
{
	const struct tl_work *w = &l->d->tl->work[p->work == TIMELINE_NONE ? 0 : p->work];
	uint64_t ns = 0;

	if (p->work != TIMELINE_NONE && p->reason == l->reason) {
		if (p->reason == TRANSFER_PAGEABLE)
			ns = won_pageable(l, p, w);
		else if (!p->depends)
			ns = (uint64_t)((double)least(exposed(l, w), p->kernels) *
					copy_overlap(l->d, w)) +
			     p->after;
	}
	if (ns) {
		l->found->gain += ns;
		l->found->number++;
		l->found->bytes += w->bytes;
		l->found->ns += (uint64_t)(w->end - w->start);
		l->found->kernels += p->kernels;
		place_add(places_of_work(&l->found->places, l->d, w), ns, w->start, w->end);
		claims_add(l->d, &l->found->claims, p->work);
	}
	*p = (struct pending){.work = TIMELINE_NONE};
}

/* ---- going through the work ----------------------------------------------------------------------- */

static void on_copy(struct look *l, uint32_t work, const struct tl_work *w, const struct gap *g)
{
	struct pending *p = &l->pending[direction(w)];

	if (w->bytes < LEAST_BYTES) {
		/* A small result that is read is one that decides how it goes on. */
		l->used |= w->from_device;
		return;
	}
	end_pending(l, p);
	if (l->d->claimed[work] & CLAIM_TIME)
		return;
	*p = (struct pending){
		.work = work, .depends = w->to_device && l->used, .host = g ? g->outside : 0};
	if (is_pageable(l, w))
		p->reason = TRANSFER_PAGEABLE;
	if (w->to_device)
		l->used = false;
}

/* More than a little: times of copies and kernels differ by some microseconds. */
static bool is_beside(const struct tl_work *w, const struct tl_work *k)
{
	return k->start < w->end && 10 * (w->end - k->start) > k->end - k->start;
}

/* Of the gap behind a copy what goes with the wait; what the host does otherwise, builds say, it does in any case. */
static uint64_t lost_behind(const struct diagnosis *d, const struct gap *g)
{
	uint64_t otherwise = g->outside + g->other + g->mpi + g->devices;

	return gap_is_open(d, g) && 2 * otherwise < gap_length(g) ? gap_length(g) - otherwise : 0;
}

static void on_kernel(struct look *l, const struct tl_work *k, const struct gap *g)
{
	uint64_t length = (uint64_t)(k->end - k->start);

	for (unsigned i = 0; i < 2; i++) {
		struct pending *p = &l->pending[i];
		const struct tl_work *w;

		if (p->work == TIMELINE_NONE)
			continue;
		w = &l->d->tl->work[p->work];
		if (is_beside(w, k))
			continue; /* not exposed */
		if (p->reason == TRANSFER_FREE && !p->kernels) {
			p->reason = reason_of(l, w, k, g);
			if (g && g->before == p->work && p->reason == TRANSFER_BLOCKING)
				p->after = lost_behind(l->d, g);
		}
		p->kernels += length;
		p->other_queue += k->queue != w->queue ? length : 0;
	}
}

/* The host had the time to use what was read last, before it submitted what comes after gap `g`. */
static void note_use(struct look *l, const struct gap *g)
{
	struct pending *p = &l->pending[1];

	if (p->work == TIMELINE_NONE || p->kernels ||
	    !host_could_use(l->d->tl->work[p->work].bytes, g->outside + g->mpi))
		return;
	l->used = true;
	p->depends = true;
}

void transfers_find(struct diagnosis *d, uint32_t device, enum transfer_reason reason,
		    struct transfers *found)
{
	const struct tl_device *dev = &d->tl->devices[device];
	struct look l = {.d = d,
			 .device = device,
			 .reason = reason,
			 .found = found,
			 .pending = {{.work = TIMELINE_NONE}, {.work = TIMELINE_NONE}}};
	uint32_t next = 0;

	if (!intervals_length(&dev->transfers) || !intervals_length(&dev->kernels))
		return;
	find_pinned(&l);
	for (uint32_t i = 0; i < dev->count; i++) {
		uint32_t work = d->tl->order[dev->first + i];
		const struct tl_work *w = &d->tl->work[work];
		const struct gap *g = gap_before(&d->gaps[device], work, &next);

		if (g)
			note_use(&l, g);
		if (is_copy(w))
			on_copy(&l, work, w, g);
		else if (is_within(w))
			on_kernel(&l, w, g);
	}
	end_pending(&l, &l.pending[0]);
	end_pending(&l, &l.pending[1]);
}

struct finding *transfers_tell(struct diagnosis *d, struct transfers *found, const char *title)
{
	const struct place *most = places_sort(&found->places);
	struct finding *f = NULL;
	char copies[UNITS_TEXT], kernels[UNITS_TEXT], bytes[UNITS_TEXT];

	if (most && found->number >= LEAST_NUMBER)
		f = finding_add(d, found->gain, "%s %s: %s, %s", UNITS_COUNT(found->number), title,
				units_bytes((double)found->bytes, bytes),
				units_time(found->ns, copies));
	if (f) {
		f->count = found->number;
		finding_set_place(d, f, most);
		plain_addf(&f->evidence,
			   "%s of copies, and %s of kernels beside which they could run\n",
			   units_time(found->ns, copies), units_time(found->kernels, kernels));
		finding_add_places(d, f, &found->places, "to win");
	}
	claims_end(d, &found->claims, CLAIM_TIME | CLAIM_GAP, f);
	d->failed |= found->places.failed;
	places_release(&found->places);
	return f;
}
