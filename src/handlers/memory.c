/* SPDX-License-Identifier: Apache-2.0 */
/* What a device in lockstep makes of accesses (lanes/lanes.h): lines, conflicts, lanes that take no part. */
#include "handlers/handlers.h"

#include <stdio.h>
#include <stdlib.h>

struct memory {
	const kymo_handler_launch_t *launch;
	kymo_lanes_profile_t profile;
	struct lanes_site *sites;
	struct lanes *lanes;
};

static enum lanes_space space_of(uint32_t space)
{
	switch (space) {
	case KYMO_SPACE_LOCAL:
		return LANES_LOCAL;
	case KYMO_SPACE_GLOBAL:
	case KYMO_SPACE_CONSTANT:
	case KYMO_SPACE_GENERIC:
		return LANES_GLOBAL;
	default:
		return LANES_OTHER;
	}
}

static void finish(void *state)
{
	struct memory *m = state;

	lanes_free(m->lanes);
	free(m->sites);
	free(m);
}

static bool take_options(struct memory *m, const kymo_handler_options_t *o, char *why, size_t size)
{
	const kymo_lanes_profile_t *of;
	uint64_t warp;

	if (!handlers_options_known(o, "warp", why, size) ||
	    !handlers_option_number(o, "warp", 1, 0, &warp, why, size))
		return false;
	of = warp ? lanes_profile_of((uint32_t)(warp > UINT32_MAX ? 0 : warp)) : &m->profile;
	if (of)
		m->profile = *of;
	else
		snprintf(why, size, "warp is 32 or 64");
	return of != NULL;
}

static kymo_status_t init(const kymo_handler_options_t *options,
			  const kymo_handler_launch_t *launch, void **state, char *why, size_t size)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		return KYMO_ERROR_NO_MEMORY;
	m->launch = launch;
	m->profile = launch->profile;
	if (!take_options(m, options, why, size)) {
		finish(m);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	m->sites = calloc(launch->site_count + 1u, sizeof(*m->sites));
	for (uint32_t i = 0; m->sites && i < launch->site_count; i++)
		m->sites[i] = (struct lanes_site){space_of(launch->sites[i].space),
						  launch->sites[i].bytes};
	if (m->sites)
		m->lanes = lanes_new(&m->profile, m->sites, launch->site_count, launch->group);
	if (!m->lanes) {
		finish(m);
		return KYMO_ERROR_NO_MEMORY;
	}
	*state = m;
	return KYMO_OK;
}

static kymo_status_t on_batch(void *state, const kymo_access_t *records, size_t count)
{
	struct memory *m = state;

	return lanes_take(m->lanes, records, count) ? KYMO_OK : KYMO_ERROR_CORRUPT;
}

static kymo_status_t report(void *state, kymo_handler_writer_t *w)
{
	static const char *const columns[] = {"kind",  "memory",    "access_bytes",  "accesses",
					      "warps", "lanes",     "lanes_percent", "needed",
					      "used",  "conflicts", "misaligned",    "warp"};
	const struct memory *m = state;
	const struct lanes_count *counts = lanes_counts(m->lanes);

	w->table(w, "places", columns, 12);
	for (uint32_t i = 0; i < m->launch->site_count; i++) {
		const kymo_handler_site_t *s = &m->launch->sites[i];
		const struct lanes_count *c = &counts[i];
		const bool local = m->sites[i].space == LANES_LOCAL;

		if (!c->accesses)
			continue;
		w->row(w, s->place,
		       (const kymo_handler_cell_t[]){
			       handlers_text(s->what), handlers_text(handlers_space_name(s->space)),
			       handlers_number(s->bytes), handlers_number(c->accesses),
			       handlers_number(c->warps), handlers_number(c->lanes),
			       handlers_real(100.0 * (double)c->accesses / (double)c->lanes),
			       handlers_number(c->needed), handlers_number(c->used),
			       local ? handlers_number(c->used - c->needed) : handlers_text(NULL),
			       handlers_number(c->misaligned), handlers_number(m->profile.warp)},
		       12);
	}
	return KYMO_OK;
}

const struct lanes_count *handler_memory_counts(const void *state,
						const kymo_lanes_profile_t **profile)
{
	const struct memory *m = state;

	*profile = &m->profile;
	return lanes_counts(m->lanes);
}

const kymo_handler_t handler_memory = {
	.size = sizeof(handler_memory),
	.version = KYMO_HANDLER_VERSION,
	.wants = KYMO_HANDLER_ACCESSES,
	.name = "memory",
	.description =
		"lines of memory, bank conflicts and lanes of a device in lockstep (--lanes)",
	.init = init,
	.on_batch = on_batch,
	.report = report,
	.finish = finish,
};
