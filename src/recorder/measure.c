/* SPDX-License-Identifier: Apache-2.0 */
/* Counters and samples of a recording; see recorder.h. */
#include <stdlib.h>
#include <string.h>

#include <kymo/counter.h>
#include <kymo/sample.h>

#include "recorder/parts.h"

/* What only a runtime's provider may have: no counter of the host. */
static char *later;

static void request_counters(kymo_context_t context, const char *list,
			     bool (*counted)(const kymo_domain_desc_t *domain, uint32_t op,
					     void *data))
{
	kymo_selection_t calls = {.size = sizeof(calls), .select = counted};
	kymo_counter_set_t set;

	if (kymo_counter_set_parse("recorder", list, &set) != KYMO_OK)
		return;
	kymo_counter_service(context, &calls, set, NULL, NULL);
	kymo_counter_set_destroy(set);
}

static kymo_status_t is_of_device(kymo_counter_t counter, const char *provider,
				  const kymo_counter_info_t *info, void *wanted)
{
	return info->agent && strcmp(provider, wanted) == 0 ? KYMO_ERROR_EXISTS : KYMO_OK;
}

/* ---- kernels ---- */

#define OF_KERNELS ":kernel"

static const struct recorder_options *kernel_options;
static struct patterns kernel_patterns, line_patterns;

static bool launch_is_chosen(const kymo_counter_launch_t *l, void *data)
{
	const struct patterns *p = data;

	for (uint32_t i = 0; p->given && i < p->given->count; i++) {
		const struct recorder_range *r = &p->given->at[i];

		if (strcmp(r->text, l->name) == 0 || /* "step#5" may be a name */
		    (patterns_one(p, i, l->name) &&
		     (!r->numbers_count ||
		      recorder_numbers_have(r->numbers, r->numbers_count, l->number))))
			return true;
	}
	return !p->given;
}

/* Cuts ":kernel" off. */
static bool is_of_kernels(char *word)
{
	size_t n = strlen(word), suffix = strlen(OF_KERNELS);

	if (n <= suffix || strcmp(word + n - suffix, OF_KERNELS) != 0)
		return false;
	word[n - suffix] = '\0';
	return true;
}

/* Those that are to be counted of kernels; NULL once they are. */
static char *kernel_list;

static bool all_known(const char *list)
{
	char *words = strdup(list);
	bool known = words != NULL;
	kymo_counter_t counter;

	for (char *w = words; w && *w && known;) {
		size_t length = kymo_counter_item(w);
		char *next = w[length] ? w + length + 1 : w + length;

		w[length] = '\0';
		known = kymo_counter_find(w, 0, &counter) == KYMO_OK;
		w = next;
	}
	free(words);
	return known;
}

static void count_list(const kymo_context_t *context, const char *list)
{
	const kymo_counter_kernel_desc_t desc = {.size = sizeof(desc),
						 .replay = kernel_options->replay,
						 .pass = kernel_options->replay_pass,
						 .filter = launch_is_chosen,
						 .data = &kernel_patterns};
	kymo_counter_set_t set;

	if (kymo_counter_set_parse("recorder", list, &set) != KYMO_OK)
		return;
	kymo_counter_kernel_service(*context, set, &desc);
	kymo_counter_set_destroy(set);
}

/* Tools bring providers when they are loaded, which is after the recorder has started. */
static void count_kernels(const char *provider, void *data)
{
	char *list = kernel_list;

	if (!list || !all_known(list))
		return;
	kernel_list = NULL;
	count_list(data, list);
	free(list);
}

/* Counters of devices are counted of kernels. */
static void on_provider(const char *provider, void *data)
{
	if (kymo_counters(KYMO_COUNTER_ALL, is_of_device, (void *)(uintptr_t)provider) ==
	    KYMO_ERROR_EXISTS)
		count_list(data, later);
}

/* ---- all ---- */

/* Of a runtime that has not started. */
static bool is_later(const char *word)
{
	kymo_counter_t counter;

	return kymo_counter_find(word, 0, &counter) == KYMO_ERROR_STATE;
}

static void append_word(char *list, const char *word)
{
	if (*list)
		strcat(list, ",");
	strcat(list, word);
}

/* The host's counters now, those of devices when their runtime comes. */
static void count_all(kymo_context_t context, const char *list,
		      bool (*counted)(const kymo_domain_desc_t *domain, uint32_t op, void *data))
{
	static kymo_context_t whose;
	char *words = strdup(list), *now = calloc(1, strlen(list) + 1);
	char *kernels = calloc(1, strlen(list) + 1);

	later = calloc(1, strlen(list) + 1);
	if (words && now && later && kernels &&
	    patterns_compile(&kernel_patterns, &kernel_options->count_kernels) == KYMO_OK) {
		for (char *w = words; *w;) {
			size_t length = kymo_counter_item(w);
			char *next = w[length] ? w + length + 1 : w + length;

			w[length] = '\0';
			if (length && is_of_kernels(w))
				append_word(kernels, w);
			else if (length)
				append_word(is_later(w) ? later : now, w);
			w = next;
		}
		if (*now)
			request_counters(context, now, counted);
		whose = context;
		if (*kernels) {
			kernel_list = strdup(kernels);
			kymo_counter_providers(count_kernels, &whose);
		}
		if (*later)
			kymo_counter_providers(on_provider, &whose);
	}
	free(words);
	free(now);
	free(kernels);
}

static void request_samples(kymo_context_t context, const struct recorder_options *options)
{
	kymo_sample_desc_t desc = {
		.size = sizeof(desc),
		.interval_ns = options->sample_hz ? 1000000000u / options->sample_hz : 0,
		.clock = options->sample_wall ? KYMO_SAMPLE_WALL : KYMO_SAMPLE_CPU,
		.method = options->sample_wall ? KYMO_SAMPLE_TIMER : KYMO_SAMPLE_QUIET,
		.threads = options->sample_threads,
		.event = options->sample_event,
		.event_period = options->sample_every,
		.off_cpu = !options->off_cpu                             ? KYMO_OFF_CPU_NONE
			   : options->sample_hz || options->sample_event ? KYMO_OFF_CPU_BESIDE
									 : KYMO_OFF_CPU_ALONE};

	kymo_sample_service(context, &desc);
}

static void sample_devices(kymo_context_t context, const struct recorder_options *options)
{
	kymo_device_sample_desc_t desc = {.size = sizeof(desc),
					  .period_log2 = options->pc_sampling,
					  .mode = options->pc_serialize
							  ? KYMO_DEVICE_SAMPLE_SERIALIZED
							  : KYMO_DEVICE_SAMPLE_CONTINUOUS};

	kymo_device_sample_service(context, &desc);
}

static void count_lines(kymo_context_t context, const struct recorder_options *options)
{
	const kymo_kernel_line_desc_t desc = {.size = sizeof(desc),
					      .filter = launch_is_chosen,
					      .data = &line_patterns,
					      .profile = options->lanes,
					      .handlers = options->handlers};

	if (patterns_compile(&line_patterns, &options->instrument_kernels) == KYMO_OK)
		kymo_kernel_line_service(context, &desc);
}

void recorder_measure(kymo_context_t context, const struct recorder_options *options,
		      bool (*counted)(const kymo_domain_desc_t *domain, uint32_t op, void *data))
{
	kernel_options = options;
	if (options->counters)
		count_all(context, options->counters, counted);
	if (options->instrument_kernels.count)
		count_lines(context, options);
	if (options->sample_hz || options->sample_event || options->off_cpu)
		request_samples(context, options);
	if (options->pc_sampling)
		sample_devices(context, options);
}
