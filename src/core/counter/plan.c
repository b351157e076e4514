/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the counters of a set share passes: first fit. Each choice goes, in the order of the set, into the
 * first pass where its provider can count it beside what is there of its agent; so the same list always
 * gives the same passes. Providers say what fits (`admit`); they know nothing of each other.
 */
#include "core/counter/counter.h"

#include <string.h>

/* What pass `pass` has of the part's counters so far. */
static uint32_t handles_of(const struct counter_set *set, const struct counter_plan *plan,
			   uint32_t choices, uint32_t part, uint32_t pass, uint64_t *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < choices; i++) {
		uint64_t handle = set->choices[i].counter->info.handle;
		uint32_t k = 0;

		if (set->choices[i].part != part || plan->pass_of[i] != pass)
			continue;
		while (k < n && out[k] != handle)
			k++;
		if (k == n)
			out[n++] = handle;
	}
	return n;
}

static bool fits(const struct counter_set *set, uint32_t mode, bool once,
		 const struct counter_plan *plan, uint32_t i, uint32_t pass, char *reason,
		 size_t size)
{
	const struct choice *c = &set->choices[i];
	uint64_t handles[KYMO_COUNTER_CHOICES];
	uint32_t n = handles_of(set, plan, i, c->part, pass, handles);

	for (uint32_t k = 0; k < n; k++)
		if (handles[k] == c->counter->info.handle)
			return true; /* another reduction of the same counter */
	handles[n++] = c->counter->info.handle;
	return counter_ask(&set->parts[c->part], mode, once, handles, n, reason, size) == KYMO_OK;
}

uint32_t counter_kernel_mode(const struct counter_set *set)
{
	const uint32_t modes = set->modes & (KYMO_COUNTER_AGENT | KYMO_COUNTER_DISPATCH);

	return modes == KYMO_COUNTER_DISPATCH ? KYMO_COUNTER_DISPATCH : KYMO_COUNTER_AGENT;
}

/* Of the host, each by the whole process. */
static kymo_status_t check(const struct counter_set *set)
{
	for (uint32_t i = 0; i < set->choice_count; i++) {
		const struct choice *c = &set->choices[i];

		if (set->parts[c->part].agent == 0 && c->counter->info.modes & KYMO_COUNTER_AGENT)
			continue;
		counter_refuse("%s cannot count %s of kernels: these are counted of the whole "
			       "process, and it counts %s",
			       c->counter->provider->name, c->name,
			       set->parts[c->part].agent ? "another agent than the host"
							 : "single threads alone");
		return KYMO_ERROR_UNSUPPORTED;
	}
	return KYMO_OK;
}

static bool all_at_once(const struct counter_set *set, uint32_t mode, bool once)
{
	char reason[COUNTER_REASON];
	bool good = true;

	for (uint32_t i = 0; i < set->part_count && good; i++)
		good = counter_ask(&set->parts[i], mode, once, set->parts[i].handles,
				   set->parts[i].count, reason, sizeof(reason)) == KYMO_OK;
	return good;
}

/* A device's counter may need several passes by itself: then the others are counted without it. */
kymo_status_t counter_plan_make(const struct counter_set *set, uint32_t mode,
				struct counter_plan *out)
{
	char reason[COUNTER_REASON] = "";

	*out = (struct counter_plan){.passes = 0};
	if (mode == KYMO_COUNTER_AGENT && check(set) != KYMO_OK)
		return KYMO_ERROR_UNSUPPORTED;
	if (all_at_once(set, mode, true)) { /* one question instead of one for each */
		out->passes = 1;
		return KYMO_OK;
	}
	for (uint32_t i = 0; i < set->choice_count; i++) {
		const struct choice *c = &set->choices[i];
		uint32_t pass = 0;

		out->pass_of[i] = KYMO_COUNTER_NO_PASS;
		while (pass < out->passes &&
		       !fits(set, mode, true, out, i, pass, reason, sizeof(reason)))
			pass++;
		if (pass == out->passes &&
		    !fits(set, mode, true, out, i, pass, reason, sizeof(reason))) {
			counter_refuse("%s cannot count %s of the set \"%s\", not even alone: %s",
				       c->counter->provider->name, c->name, set->name, reason);
			if (mode == KYMO_COUNTER_DISPATCH)
				continue;
			return KYMO_ERROR_UNSUPPORTED;
		}
		out->pass_of[i] = (uint8_t)pass;
		out->passes += pass == out->passes;
	}
	return out->passes ? KYMO_OK : KYMO_ERROR_UNSUPPORTED;
}

/* CUPTI takes what counts links and PCI Express by themselves, but not beside what counts multiprocessors. */
void counter_plan_one(const struct counter_set *set, uint32_t mode, struct counter_plan *out)
{
	char reason[COUNTER_REASON];
	bool any = false;

	*out = (struct counter_plan){.passes = 1};
	if (all_at_once(set, mode, false))
		return;
	memset(out->pass_of, KYMO_COUNTER_NO_PASS, sizeof(out->pass_of));
	for (uint32_t i = 0; i < set->choice_count; i++)
		if (fits(set, mode, false, out, i, 0, reason, sizeof(reason))) {
			out->pass_of[i] = 0;
			any = true;
		}
	if (!any) /* who counts them is refused, and told why */
		memset(out->pass_of, 0, sizeof(out->pass_of));
}

kymo_status_t kymo_counter_passes(kymo_counter_set_t handle, uint8_t pass_of[KYMO_COUNTER_CHOICES],
				  uint32_t *passes)
{
	struct counter_set *set = counter_set_get(handle);
	struct counter_plan plan;
	kymo_status_t status;

	if (!set)
		return KYMO_ERROR_NOT_FOUND;
	status = counter_plan_make(set, counter_kernel_mode(set), &plan);
	if (status == KYMO_OK && passes)
		*passes = plan.passes;
	if (status == KYMO_OK && pass_of)
		memcpy(pass_of, plan.pass_of, sizeof(plan.pass_of));
	counter_set_put(set);
	return status;
}
