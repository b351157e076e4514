/* SPDX-License-Identifier: Apache-2.0 */
/* Open sessions of a set of counters: one with each provider and agent. */
#include "core/counter/counter.h"
#include "core/process/process.h"

#include <string.h>

static kymo_status_t open_part(struct sessions *s, const struct counter_set *set, uint32_t i,
			       uint32_t mode, struct dispatched *to)
{
	const struct part *p = &set->parts[i];
	char reason[COUNTER_REASON] = "";
	kymo_counter_request_t request = {
		.size = sizeof(request),
		.mode = mode,
		.agent = p->agent,
		.counters = p->handles,
		.count = p->count,
		.reason = reason,
		.reason_size = sizeof(reason),
	};
	kymo_status_t status;

	if (mode == KYMO_COUNTER_DISPATCH) {
		request.deliver = counter_dispatched;
		request.chosen = counter_dispatch_chosen;
		request.to = &to[i];
	}
	status = p->provider->open(&request, &s->session[i], p->provider->data);
	if (status != KYMO_OK)
		counter_refuse("%s cannot count the set \"%s\": %s", p->provider->name, set->name,
			       reason[0] ? reason : kymo_status_text(status));
	return status;
}

kymo_status_t sessions_open(struct sessions *s, const struct counter_set *set, uint32_t mode,
			    struct dispatched *to)
{
	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < set->part_count; i++) {
		kymo_status_t status = open_part(s, set, i, mode, to);

		if (status == KYMO_OK)
			continue;
		while (i-- > 0)
			set->parts[i].provider->close(s->session[i], set->parts[i].provider->data);
		return status;
	}
	s->generation = core_generation;
	return KYMO_OK;
}

bool sessions_read(struct sessions *s, const struct counter_set *set, double *values)
{
	if (s->generation != core_generation)
		return false;
	for (uint32_t i = 0; i < set->part_count; i++) {
		const struct part *p = &set->parts[i];

		if (!p->provider->read ||
		    p->provider->read(s->session[i], values, p->provider->data) != KYMO_OK)
			return false;
		values += p->instances;
	}
	return true;
}

void sessions_close(struct sessions *s, const struct counter_set *set)
{
	for (uint32_t i = 0; s->generation && i < set->part_count; i++)
		set->parts[i].provider->close(s->session[i], set->parts[i].provider->data);
	s->generation = 0;
}
