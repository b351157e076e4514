/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider "cuda": the metrics of NVIDIA's devices, of single kernels. CUPTI has some thousand of
 * them for a chip, each in a dozen forms (".sum", ".avg.per_second"): the most usual form is listed,
 * the others are found by name.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cuda/range.h"

#define DEVICES 32u

struct metric {
	uint32_t device;
	char *description, *unit;
	char name[];
};

/* Guards the table and CUPTI's objects of the host. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char *chip;
	void *host;
} devices[DEVICES];
static uint32_t device_count;
static _Atomic bool announced;

/* ---- devices ---- */

static void *host_new(const char *chip)
{
	struct cupti_host_init i = {.size = CUPTI_SIZE(cupti_host_init, host), .chip = chip};

	return cupti_range.ProfilerHostInitialize(&i) == CUPTI_OK ? i.host : NULL;
}

static void host_free(void *host)
{
	struct cupti_host h = {CUPTI_SIZE(cupti_host, host), NULL, host};

	cupti_range.ProfilerHostDeinitialize(&h);
}

/* As many as the driver knows, if it is loaded and initialised; else as many as there may be. */
static uint32_t devices_most(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *symbol = driver ? dlsym(driver, "cuDeviceGetCount") : NULL;
	int (*get_count)(int *);
	int count = 0;

	memcpy(&get_count, &symbol, sizeof(symbol));
	if (!get_count || get_count(&count) != 0 || count < 0 || (uint32_t)count > DEVICES)
		count = DEVICES;
	if (driver)
		dlclose(driver);
	return (uint32_t)count;
}

/* Devices have the numbers that CUDA gives them; CUPTI 13 names a chip of those that are not there, too. Caller holds the lock. */
static void find_devices(void)
{
	const uint32_t most = devices_most();

	for (uint32_t i = device_count; i < most; i++) {
		struct cupti_chip_name c = {.size = CUPTI_SIZE(cupti_chip_name, name), .device = i};

		if (cupti_range.DeviceGetChipName(&c) != CUPTI_OK || !c.name ||
		    strcmp(c.name, "Unknown") == 0)
			break;
		devices[i].chip = strdup(c.name);
		devices[i].host = devices[i].chip ? host_new(devices[i].chip) : NULL;
		device_count = i + 1;
	}
}

void *range_host(uint32_t device)
{
	return device < device_count ? devices[device].host : NULL;
}

static bool device_of(uint32_t agent, uint32_t *device)
{
	for (uint32_t i = 0; i < device_count; i++) {
		*device = i;
		if (cuda_agent(i) == agent)
			return devices[i].host != NULL;
	}
	return false;
}

/* ---- metrics ---- */

static char *copy_text(const char *text)
{
	return strdup(text ? text : "");
}

/* What CUPTI says of it; false: there is no such metric. Caller holds the lock. */
static bool query_metric(struct metric *m)
{
	struct cupti_metric p = {.size = CUPTI_SIZE(cupti_metric, type),
				 .host = devices[m->device].host,
				 .name = m->name};

	if (cupti_range.ProfilerHostGetMetricProperties(&p) != CUPTI_OK)
		return false;
	m->description =
		copy_text(p.description && *p.description ? p.description : p.hardware_unit);
	m->unit = copy_text(p.unit);
	return m->description && m->unit;
}

/* A metric that lives for ever, as the counter's handle. Caller holds the lock. */
static bool describe_metric(uint32_t device, const char *base, const char *form,
			    kymo_counter_info_t *out)
{
	struct metric *m = calloc(1, sizeof(*m) + strlen(base) + strlen(form) + 1);

	if (!m)
		return false;
	m->device = device;
	strcpy(m->name, base);
	strcat(m->name, form);
	if (!query_metric(m)) {
		free(m->description);
		free(m);
		return false;
	}
	*out = (kymo_counter_info_t){.size = sizeof(*out),
				     .name = m->name,
				     .agent = cuda_agent(device),
				     .description = m->description,
				     .unit = m->unit,
				     .modes = KYMO_COUNTER_DISPATCH,
				     .handle = (uintptr_t)m};
	return true;
}

/* Names of the vendor's own tools have parts like these. */
static bool is_plain(const char *name)
{
	return !strchr(name, '.');
}

static kymo_status_t list_type(uint32_t device, int32_t type, kymo_counter_list_fn add, void *to)
{
	static const char *const forms[CUPTI_METRIC_TYPES] = {".sum", ".ratio",
							      ".avg.pct_of_peak_sustained_elapsed"};
	struct cupti_base_metrics b = {.size = CUPTI_SIZE(cupti_base_metrics, count),
				       .host = devices[device].host,
				       .type = type};
	kymo_status_t status = KYMO_OK;

	if (cupti_range.ProfilerHostGetBaseMetrics(&b) != CUPTI_OK)
		return KYMO_ERROR_UNSUPPORTED;
	for (size_t i = 0; i < b.count && status == KYMO_OK; i++) {
		kymo_counter_info_t info;

		if (is_plain(b.names[i]) && describe_metric(device, b.names[i], forms[type], &info))
			status = add(&info, to);
	}
	return status;
}

static kymo_status_t list(kymo_counter_list_fn add, void *to, void *data)
{
	kymo_status_t status = KYMO_OK;

	pthread_mutex_lock(&lock);
	cap_guard_enter();
	find_devices();
	for (uint32_t i = 0; i < device_count && status == KYMO_OK; i++)
		for (int32_t type = 0; type < CUPTI_METRIC_TYPES && devices[i].host; type++)
			status = status == KYMO_OK ? list_type(i, type, add, to) : status;
	cap_guard_leave();
	pthread_mutex_unlock(&lock);
	return status;
}

/* CUPTI describes a metric without its form, too, but counts none so. */
static kymo_status_t find(const char *name, uint32_t agent, kymo_counter_info_t *out, void *data)
{
	kymo_status_t status = KYMO_ERROR_NOT_FOUND;
	uint32_t device;

	if (is_plain(name))
		return status;
	pthread_mutex_lock(&lock);
	if (device_of(agent, &device) && describe_metric(device, name, "", out))
		status = KYMO_OK;
	pthread_mutex_unlock(&lock);
	return status;
}

/* ---- counting ---- */

static cupti_result config_image(void *host, uint8_t **config, size_t *bytes)
{
	struct cupti_config_size size = {.size = CUPTI_SIZE(cupti_config_size, bytes),
					 .host = host};
	struct cupti_config image = {.size = CUPTI_SIZE(cupti_config, image), .host = host};
	cupti_result r = cupti_range.ProfilerHostGetConfigImageSize(&size);

	if (r != CUPTI_OK)
		return r;
	*bytes = image.bytes = size.bytes;
	*config = image.image = malloc(size.bytes);
	return *config ? cupti_range.ProfilerHostGetConfigImage(&image) : CUPTI_OUT_OF_MEMORY;
}

cupti_result range_config(uint32_t device, const char **names, size_t count, uint8_t **config,
			  size_t *bytes, size_t *passes)
{
	struct cupti_metrics add = {CUPTI_SIZE(cupti_metrics, count), NULL, NULL, names, count};
	struct cupti_passes p = {.size = CUPTI_SIZE(cupti_passes, passes)};
	cupti_result r = CUPTI_NOT_SUPPORTED;

	*config = NULL;
	if (device < device_count && devices[device].chip)
		add.host = host_new(devices[device].chip); /* an object takes metrics once */
	if (!add.host)
		return r;
	r = cupti_range.ProfilerHostConfigAddMetrics(&add);
	if (r == CUPTI_OK)
		r = config_image(add.host, config, bytes);
	if (r == CUPTI_OK) {
		p.bytes = *bytes;
		p.image = *config;
		r = cupti_range.ProfilerHostGetNumOfPasses(&p);
		*passes = p.passes;
	}
	host_free(add.host);
	if (r != CUPTI_OK) {
		free(*config);
		*config = NULL;
	}
	return r;
}

void range_session_free(struct range_session *s)
{
	free(s->names);
	free(s->values);
	free(s);
}

static struct range_session *session_new(const kymo_counter_request_t *r)
{
	struct range_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->count = r->count;
	s->names = calloc(r->count, sizeof(*s->names));
	s->values = calloc(r->count, sizeof(*s->values));
	s->deliver = r->deliver;
	s->chosen = r->chosen;
	s->to = r->to;
	if (!s->names || !s->values) {
		range_session_free(s);
		return NULL;
	}
	for (uint32_t i = 0; i < r->count; i++) {
		const struct metric *m = (const struct metric *)(uintptr_t)r->counters[i];

		s->names[i] = m->name;
		s->device = m->device;
	}
	return s;
}

static kymo_status_t admit(const kymo_counter_request_t *r, void *data)
{
	struct range_session *s = session_new(r);
	size_t bytes, passes = 0;
	uint8_t *config = NULL;
	cupti_result result;
	char text[160];

	if (!s)
		return KYMO_ERROR_NO_MEMORY;
	cap_guard_enter();
	result = range_config(s->device, s->names, s->count, &config, &bytes, &passes);
	cap_guard_leave();
	if (result != CUPTI_OK)
		snprintf(r->reason, r->reason_size, "%s",
			 cuda_profiler_refusal(result, text, sizeof(text)));
	else if (r->once && passes > 1)
		snprintf(r->reason, r->reason_size, "that takes %zu passes", passes);
	free(config);
	range_session_free(s);
	return result == CUPTI_OK && (!r->once || passes == 1) ? KYMO_OK : KYMO_ERROR_UNSUPPORTED;
}

static kymo_status_t open_session(const kymo_counter_request_t *r, void **session, void *data)
{
	struct range_session *s;

	if (!cuda_profiler_take(CUDA_PROFILER_RANGES, r->reason, r->reason_size))
		return KYMO_ERROR_BUSY;
	s = session_new(r);
	if (!s)
		return KYMO_ERROR_NO_MEMORY;
	if (!range_session_add(s)) {
		range_session_free(s);
		return KYMO_ERROR_LIMIT;
	}
	cuda_launches_changed();
	*session = s;
	return KYMO_OK;
}

/* In a forked child the session is the parent's, whose launches may have held the lock. */
static void close_session(void *session, void *data)
{
	if (!cuda_alive())
		return;
	range_session_remove(session);
	if (cuda_range_counting())
		return;
	range_profiler_rest();
	cuda_profiler_leave(CUDA_PROFILER_RANGES);
	cuda_launches_changed();
}

/* "sm__warps_active": names of hosts' counters have no two underscores. */
static bool is_metric(const char *name)
{
	return strstr(name, "__") != NULL;
}
COUNTER_LATER(cuda, is_metric);

static const kymo_counter_provider_t provider = {
	.size = sizeof(provider),
	.name = "cuda",
	.description = "What NVIDIA devices count of kernels, through CUPTI's range profiler",
	.list = list,
	.admit = admit,
	.open = open_session,
	.close = close_session,
	.find = find};

void range_counter_announce(void)
{
	if (!atomic_exchange(&announced, true))
		kymo_counter_provider_register(&provider);
}
