/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host computes what a device was there for: target regions of OpenMP that no device took, and kernels of OpenCL
 * on the processors while a GPU of the program has nothing to do.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/names.h"
#include "analysis/rules/support.h"
#include "base/plain.h"
#include "base/units.h"

enum { SOON_NS = 50000 }; /* a region that begins so soon after is how the host computes it */

/* A place with target regions: of those on the host and on a device. */
struct search {
	struct places host, device;
	struct intervals times;
	uint64_t unknown; /* regions on the host that nothing follows */
};

static bool is_region(const struct diagnosis *d, const struct tl_call *c)
{
	return c->flags & CALL_TARGET && strcmp(op_name(d, c->op), "target") == 0;
}

/* Until when the host may have computed it; its end where that is not known. */
static int64_t until(const struct timeline *tl, const struct tl_call *c)
{
	const struct tl_call *next = c + 1;

	if (next == tl->calls + tl->calls_count || next->thread != c->thread)
		return c->end;
	return next->flags & CALL_OPENMP && next->start - c->end < SOON_NS ? next->end
									   : next->start;
}

static void add(struct diagnosis *d, struct search *s, const struct tl_call *c)
{
	bool fell_back = c->flags & CALL_FALLBACK;
	int64_t end = fell_back ? until(d->tl, c) : c->end;
	int64_t start = fell_back ? c->end : c->start;
	struct places *p = fell_back ? &s->host : &s->device;

	if (end <= start) {
		s->unknown += fell_back;
		return;
	}
	place_add(places_at(p, TIMELINE_NONE, c->site, c->op, 0), (uint64_t)(end - start), start,
		  end);
	if (fell_back && !intervals_add(&s->times, start, end))
		d->failed = true;
}

/* What the host takes longer than a device, where some regions of the place ran on one. */
static uint64_t gain_of(struct search *s, uint64_t *compared)
{
	uint64_t gain = 0;

	for (uint32_t i = 0; i < s->host.count; i++) {
		const struct place *h = &s->host.at[i];
		const struct place *on = places_at(&s->device, TIMELINE_NONE, h->site, h->op, 0);
		uint64_t device = on && on->count ? on->ns / on->count * h->count : 0;

		*compared += device ? h->count : 0;
		gain += h->ns > device ? h->ns - device : 0;
	}
	return gain;
}

static void tell(struct diagnosis *d, struct search *s)
{
	uint64_t number = s->unknown, compared = 0, gain = gain_of(s, &compared), exposed;
	const struct place *most;
	char time[UNITS_TEXT];
	struct finding *f;

	for (uint32_t i = 0; i < s->host.count; i++)
		number += s->host.at[i].count;
	most = places_sort(&s->host);
	exposed = times_exposed(d, &s->times);
	gain = least(gain, exposed);
	f = most ? finding_add(d, gain, "%s target region%s of OpenMP on the host, for %s",
			       UNITS_COUNT(number), plural(number), units_time(exposed, time))
		 : NULL;
	if (f) {
		f->count = number;
		finding_set_place(d, f, most);
		finding_add_places(d, f, &s->host, "at most");
		text_add(&f->evidence,
			 compared
				 ? "a device takes less: other regions of these places ran on one\n"
				 : "a device would take some of it: how long is not known\n");
		text_add(
			&f->advice,
			"OMP_TARGET_OFFLOAD=mandatory makes it an error and says why; see that "
			"the program was compiled for the device and that omp_get_num_devices() is "
			"not 0");
	}
	claim_gaps(d, &s->times, f);
}

static void find_regions(struct diagnosis *d)
{
	struct search s = {0};

	for (uint32_t i = 0; i < d->tl->calls_count; i++) {
		const struct tl_call *c = &d->tl->calls[i];

		if (!(c->flags & CALL_NESTED) && is_region(d, c))
			add(d, &s, c);
	}
	tell(d, &s);
	d->failed |= s.host.failed || s.device.failed;
	places_release(&s.host);
	places_release(&s.device);
}

/* ---- OpenCL ------------------------------------------------------------------------------------- */

static bool has_work(const struct timeline *tl, const char *label)
{
	for (uint32_t i = 0; i < tl->devices_count; i++)
		if (strcmp(tl->trace->agents[tl->devices[i].agent].label, label) == 0)
			return true;
	return false;
}

/* A GPU of the process without any work, or NULL; *number: how many. */
static const struct t_agent *idle_gpu(const struct diagnosis *d, uint32_t process, uint32_t *number)
{
	const struct t_agent *found = NULL;

	*number = 0;
	for (uint32_t i = 1; i < d->trace->agents_count; i++) {
		const struct t_agent *a = &d->trace->agents[i];

		if (a->process != process || !a->type || strcmp(a->type, "gpu") != 0)
			continue;
		if (has_work(d->tl, a->label))
			return NULL;
		found = found ? found : a;
		++*number;
	}
	return found;
}

static void find_device(struct diagnosis *d, uint32_t device)
{
	const struct tl_device *dev = &d->tl->devices[device];
	uint64_t ns = intervals_within(&dev->kernels, d->tl->start, d->tl->end);
	const struct t_agent *gpu;
	char time[UNITS_TEXT];
	struct finding *f;
	uint32_t number;

	if (!device_is_host(d, device) || diagnosis_share(d, ns) < d->rule->threshold)
		return;
	gpu = idle_gpu(d, d->trace->agents[dev->agent].process, &number);
	if (!gpu)
		return;
	f = finding_add_fact(
		d,
		"kernels run on the processors for %s, %.0f %% of the run, while a GPU "
		"has nothing to do",
		units_time(ns, time), 100 * diagnosis_share(d, ns));
	if (!f)
		return;
	f->count = dev->number[WORK_KERNEL];
	plain_addf(&f->where, "%s", device_label(d, device));
	plain_addf(&f->evidence, "without work: %s", name_device(gpu));
	if (number > 1)
		plain_addf(&f->evidence, " and %s more", UNITS_COUNT(number - 1));
	text_add(&f->evidence, "; how long it would take for them is not known\n");
	text_add(&f->show, "kymo summary --by device ");
	text_add_shell(&f->show, d->path);
	text_add(&f->advice, "choose a device of type GPU (clGetDeviceIDs with "
			     "CL_DEVICE_TYPE_GPU, in all platforms)");
}

static void find(struct diagnosis *d)
{
	find_regions(d);
	for (uint32_t i = 0; i < d->tl->devices_count && !d->tl->partial && !d->tl->chosen; i++)
		find_device(d, i);
}

const struct rule rule_host_fallback = {
	.id = "host-fallback",
	.what = "the host computes what was written for a device",
	.threshold = 0.05,
	.why = "small regions stay on the host on purpose",
	.cost = "from a region that no device took to the next call of its thread, less what "
		"regions of the same place take on a device; of kernels on the processors beside "
		"an idle GPU none is told, as its speed is not known",
	.find = find,
};
