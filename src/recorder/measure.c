/* SPDX-License-Identifier: Apache-2.0 */
/* Counters and samples of a recording; see recorder.h. */
#include <kymo/counter.h>
#include <kymo/sample.h>

#include "recorder/recorder.h"

static void count(kymo_context_t context, const char *list,
		  bool (*counted)(const kymo_domain_desc_t *domain, uint32_t op, void *data))
{
	kymo_selection_t calls = {.size = sizeof(calls), .select = counted};
	kymo_counter_set_t set;

	if (kymo_counter_set_parse("recorder", list, &set) != KYMO_OK)
		return;
	kymo_counter_service(context, &calls, set, NULL, NULL);
	kymo_counter_set_destroy(set);
}

static void sample(kymo_context_t context, uint64_t hz)
{
	kymo_sample_desc_t desc = {.size = sizeof(desc), .interval_ns = 1000000000u / hz};

	kymo_sample_service(context, &desc);
}

void recorder_measure(kymo_context_t context, const struct recorder_options *options,
		      bool (*counted)(const kymo_domain_desc_t *domain, uint32_t op, void *data))
{
	if (options->counters)
		count(context, options->counters, counted);
	if (options->sample_hz)
		sample(context, options->sample_hz);
}
