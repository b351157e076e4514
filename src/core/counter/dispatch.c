/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of devices: their provider asks which launches are counted, and delivers the values. */
#include "core/counter/counter.h"

#include <stdlib.h>
#include <string.h>

bool counter_dispatch_chosen(void *to, const kymo_counter_launch_t *launch)
{
	const struct dispatched *where = to;
	const struct counter_kernels *k = where->service->kernels;

	return launch && launch->number &&
	       counter_kernel_in_pass(k, (uint32_t)(where->pass - k->pass), launch->number) &&
	       counter_kernel_chosen(where->service, launch);
}

static uint32_t first_input(const struct counter_set *set, uint32_t part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < part; i++)
		n += set->parts[i].instances;
	return n;
}

/* Which of the service's choices one agent counts in the pass. */
static uint64_t choices_of(const struct counter_set *set, const struct counter_kernel_pass *pass,
			   const struct part *p)
{
	uint64_t choices = 0;

	for (uint32_t i = 0; i < set->choice_count; i++) {
		const struct part *other = &set->parts[set->choices[i].part];

		if (other->provider == p->provider && other->agent == p->agent)
			choices |= pass->choices & 1ull << i;
	}
	return choices;
}

static void count_run(struct counter_kernels *k, uint32_t passes)
{
	uint32_t most = atomic_load(&k->most);

	if (!passes)
		return;
	atomic_fetch_add(&k->alone, 1);
	atomic_fetch_add(&k->ran, passes);
	while (most < passes && !atomic_compare_exchange_weak(&k->most, &most, passes))
		;
}

/* A kernel of one agent: what the others count is not known of it. */
static void deliver(const struct dispatched *where, const kymo_counter_dispatch_t *d, double *in)
{
	const struct counter_set *set = where->pass->set;
	const struct core_counter_service *s = where->service;
	const struct part *p = &set->parts[where->part];
	double *values = in + set->inputs, *out = values + set->outputs;
	const struct counter_event e = {
		.op = KYMO_COUNTER_OP_DISPATCH,
		.agent = p->agent,
		.correlation = d->correlation,
		.kernel = d->size > offsetof(kymo_counter_dispatch_t, kernel) ? d->kernel : 0,
		.start = d->start,
		.end = d->end,
		.choices = choices_of(s->set, where->pass, p)};

	for (uint32_t i = 0; i < set->inputs; i++)
		in[i] = __builtin_nan("");
	memcpy(in + first_input(set, where->part), d->values, p->instances * sizeof(*in));
	counter_set_reduce(set, in, values);
	counter_kernel_spread(s->set, where->pass, values, out);
	counter_deliver(s, &e, out);
}

void counter_dispatched(void *to, const kymo_counter_dispatch_t *d)
{
	const struct dispatched *where = to;
	struct core_counter_service *s = where->service;
	double *room;

	if (!d || d->size < offsetof(kymo_counter_dispatch_t, kernel) || !d->values ||
	    !atomic_load(&s->active))
		return;
	room = malloc((where->pass->set->inputs + where->pass->set->outputs + s->set->outputs) *
		      sizeof(*room));
	if (!room)
		return;
	count_run(s->kernels, d->size > offsetof(kymo_counter_dispatch_t, passes) ? d->passes : 0);
	deliver(where, d, room);
	free(room);
}
