/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that brings a provider with five counters of which two fit into one pass. What it counts is
 * memory of the program that a kernel adds to, times 1 to 5: so each value says which launch it is of,
 * and that what the kernel wrote was put back before the next pass.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <kymo/counter.h>

enum { COUNTERS = 5, SLOTS = 2 };

static kymo_status_t list(kymo_counter_list_fn add, void *to, void *data)
{
	static char names[COUNTERS][8];

	for (uint64_t i = 0; i < COUNTERS; i++) {
		kymo_counter_info_t info = {.size = sizeof(info),
					    .name = names[i],
					    .description = "Ticks, so many times",
					    .modes = KYMO_COUNTER_AGENT,
					    .handle = i + 1};

		snprintf(names[i], sizeof(names[i]), "made%d", (int)i + 1);
		add(&info, to);
	}
	return add(&(kymo_counter_info_t){.size = sizeof(kymo_counter_info_t),
					  .name = "lone",
					  .description = "Of the calling thread",
					  .modes = KYMO_COUNTER_THREAD,
					  .handle = COUNTERS + 1},
		   to);
}

static kymo_status_t admit(const kymo_counter_request_t *r, void *data)
{
	if (r->count <= SLOTS)
		return KYMO_OK;
	snprintf(r->reason, r->reason_size, "there are two registers");
	return KYMO_ERROR_LIMIT;
}

struct session {
	uint32_t count;
	uint64_t counters[SLOTS];
};

static kymo_status_t open_session(const kymo_counter_request_t *r, void **session, void *data)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s || r->count > SLOTS)
		abort();
	s->count = r->count;
	for (uint32_t i = 0; i < r->count; i++)
		s->counters[i] = r->counters[i];
	*session = s;
	return KYMO_OK;
}

static kymo_status_t read_session(void *session, double *values, void *data)
{
	const volatile uint32_t *ticks = dlsym(RTLD_DEFAULT, "ocl_replay_ticks");
	const struct session *s = session;

	for (uint32_t i = 0; i < s->count; i++)
		values[i] = ticks ? (double)*ticks * (double)s->counters[i] : 0;
	return KYMO_OK;
}

static void close_session(void *session, void *data)
{
	free(session);
}

static const kymo_counter_provider_t provider = {
	.size = sizeof(provider),
	.name = "made",
	.description = "Of the test's own",
	.list = list,
	.admit = admit,
	.open = open_session,
	.read = read_session,
	.close = close_session,
};

__attribute__((constructor)) static void announce(void)
{
	kymo_counter_provider_register(&provider);
}

/* It counts; it follows nothing itself. */
const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t priority);

__attribute__((visibility("default"))) const kymo_tool_t *
kymo_configure(uint32_t version, const char *library, uint32_t priority)
{
	static const kymo_tool_t tool = {.size = sizeof(tool), .name = "passes provider"};

	return &tool;
}
