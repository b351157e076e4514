/* SPDX-License-Identifier: Apache-2.0 */
/* Providers of counters, and the counters they have; see kymo/counter.h. */
#include "core/counter/counter.h"
#include "core/process/process.h"
#include "core/process/refusal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNTERS_MAX 65536u
#define WATCHERS     16u

pthread_mutex_t counters_lock = PTHREAD_MUTEX_INITIALIZER;

static const kymo_counter_provider_t *providers[COUNTER_PROVIDERS];
static uint32_t provider_count, listed_count;
static struct watcher {
	kymo_counter_provider_fn callback;
	void *data;
} watchers[WATCHERS];
static uint32_t watcher_count;
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER; /* one thread asks the providers */

/* Counters never move: handles are positions, pointers stay good. */
#define BLOCK 256u
static struct counter *blocks[COUNTERS_MAX / BLOCK];
static uint32_t counter_count;

void counter_refuse(const char *format, ...)
{
	char text[REFUSAL_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	core_refusal_set(REFUSAL_OF_COUNTER, "%s", text);
}

const char *kymo_counter_error(void)
{
	return core_refusal(REFUSAL_OF_COUNTER);
}

/* ---- providers ---- */

/* Tells those who watch by `count` of a provider. */
static void tell(uint32_t count, const char *provider)
{
	for (uint32_t i = 0; i < count; i++)
		watchers[i].callback(provider, watchers[i].data);
}

kymo_status_t kymo_counter_providers(kymo_counter_provider_fn callback, void *data)
{
	uint32_t count;

	if (!callback)
		return KYMO_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&counters_lock);
	if (watcher_count == WATCHERS) {
		pthread_mutex_unlock(&counters_lock);
		return KYMO_ERROR_LIMIT;
	}
	watchers[watcher_count++] = (struct watcher){callback, data};
	count = provider_count;
	pthread_mutex_unlock(&counters_lock);
	for (uint32_t i = 0; i < count; i++)
		callback(providers[i]->name, data);
	return KYMO_OK;
}

kymo_status_t kymo_counter_provider_register(const kymo_counter_provider_t *p)
{
	kymo_status_t status = KYMO_OK;
	uint32_t watching;

	if (!p || !p->name || !p->list || !p->open || !p->close)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (p->size < offsetof(kymo_counter_provider_t, find))
		return KYMO_ERROR_INCOMPATIBLE;
	pthread_mutex_lock(&counters_lock);
	for (uint32_t i = 0; i < provider_count; i++)
		if (strcmp(providers[i]->name, p->name) == 0)
			status = KYMO_ERROR_EXISTS;
	if (status == KYMO_OK && provider_count == COUNTER_PROVIDERS)
		status = KYMO_ERROR_LIMIT;
	if (status == KYMO_OK)
		providers[provider_count++] = p;
	watching = watcher_count;
	pthread_mutex_unlock(&counters_lock);
	if (status == KYMO_OK)
		tell(watching, p->name);
	return status;
}

static uint32_t instances_of(const kymo_counter_info_t *info)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < info->dimension_count; i++) {
		n *= info->dimensions[i].size;
		if (!n || n > KYMO_COUNTER_INSTANCES)
			return 0;
	}
	return (uint32_t)n;
}

static bool info_valid(const kymo_counter_info_t *info)
{
	return info && info->size >= sizeof(*info) && info->name && *info->name &&
	       info->dimension_count <= KYMO_COUNTER_DIMENSIONS &&
	       (!info->dimension_count || info->dimensions) && instances_of(info);
}

static kymo_status_t add_counter(const kymo_counter_info_t *info, void *to)
{
	struct counter *c;

	if (!info_valid(info))
		return KYMO_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&counters_lock);
	if (counter_count < COUNTERS_MAX && !blocks[counter_count / BLOCK])
		blocks[counter_count / BLOCK] = calloc(BLOCK, sizeof(struct counter));
	if (counter_count == COUNTERS_MAX || !blocks[counter_count / BLOCK]) {
		pthread_mutex_unlock(&counters_lock);
		return KYMO_ERROR_LIMIT;
	}
	c = &blocks[counter_count / BLOCK][counter_count % BLOCK];
	c->provider = to;
	c->info = *info;
	c->info.description = info->description ? info->description : "";
	c->info.unit = info->unit ? info->unit : "";
	c->info.modes = info->unavailable ? 0 : info->modes;
	c->instances = instances_of(info);
	counter_count++;
	pthread_mutex_unlock(&counters_lock);
	return KYMO_OK;
}

/* Asks the next provider that has not been asked. False: all have been. */
static bool list_next(void)
{
	const kymo_counter_provider_t *p;
	kymo_status_t status = KYMO_OK;

	pthread_mutex_lock(&listing);
	pthread_mutex_lock(&counters_lock);
	p = listed_count < provider_count ? providers[listed_count++] : NULL;
	pthread_mutex_unlock(&counters_lock);
	if (p)
		status = p->list(add_counter, (void *)(uintptr_t)p, p->data);
	if (status != KYMO_OK)
		cap_note(2, "counter", "provider %s did not list all its counters: %s", p->name,
			 kymo_status_text(status));
	pthread_mutex_unlock(&listing);
	return p != NULL;
}

/* ---- counters ---- */

static uint32_t count_listed(void)
{
	uint32_t n;

	pthread_mutex_lock(&counters_lock);
	n = counter_count;
	pthread_mutex_unlock(&counters_lock);
	return n;
}

/* Of all providers. */
static uint32_t count_now(void)
{
	while (list_next())
		;
	return count_listed();
}

static const struct counter *at(uint32_t i)
{
	return &blocks[i / BLOCK][i % BLOCK];
}

const struct counter *counter_of(kymo_counter_t h)
{
	return h.handle && h.handle <= count_listed() ? at((uint32_t)h.handle - 1) : NULL;
}

kymo_status_t kymo_counters(uint32_t agent, kymo_counter_fn callback, void *data)
{
	kymo_status_t status = KYMO_OK;
	uint32_t n;

	if (!callback)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	n = count_now();
	for (uint32_t i = 0; i < n && status == KYMO_OK; i++)
		if (agent == KYMO_COUNTER_ALL || at(i)->info.agent == agent)
			status = callback((kymo_counter_t){i + 1u}, at(i)->provider->name,
					  &at(i)->info, data);
	return status;
}

uint32_t counter_agents(uint32_t *out, uint32_t most)
{
	uint32_t n = count_now(), found = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t agent = at(i)->info.agent, k = 0;

		while (k < found && out[k] != agent)
			k++;
		if (agent && k == found && found < most)
			out[found++] = agent;
	}
	return found;
}

/* What is left of `name` after "PROVIDER:", where that names this provider. */
static const char *bare_name(const kymo_counter_provider_t *p, const char *name)
{
	size_t n = strlen(p->name);

	return strncmp(name, p->name, n) == 0 && name[n] == ':' ? name + n + 1 : name;
}

static uint32_t find_known(const char *name, uint32_t agent)
{
	uint32_t n = count_listed();

	for (uint32_t i = 0; i < n; i++)
		if (at(i)->info.agent == agent &&
		    strcmp(at(i)->info.name, bare_name(at(i)->provider, name)) == 0)
			return i + 1;
	return 0;
}

/* Providers are asked until one has it: what they load to list theirs (PAPI) is the program's to bear. */
static uint32_t find_listed(const char *name, uint32_t agent)
{
	uint32_t found = find_known(name, agent);

	for (bool more = true; !found && more;) {
		more = list_next();
		found = find_known(name, agent);
	}
	return found;
}

/* Providers that have more than they list are asked; what they describe is known from then on. */
static uint32_t find_unlisted(const char *name, uint32_t agent)
{
	pthread_mutex_lock(&listing);
	for (uint32_t i = 0; i < listed_count; i++) {
		const kymo_counter_provider_t *p = providers[i];
		kymo_counter_info_t info = {.size = sizeof(info)};

		if (p->size >= sizeof(*p) && p->find &&
		    p->find(bare_name(p, name), agent, &info, p->data) == KYMO_OK)
			add_counter(&info, (void *)(uintptr_t)p);
	}
	pthread_mutex_unlock(&listing);
	return find_known(name, agent);
}

extern counter_later_fn *const __start_kymo_later[] __attribute__((weak));
extern counter_later_fn *const __stop_kymo_later[] __attribute__((weak));

/* A backend's provider may know it once its runtime has started. */
static bool is_later(const char *name)
{
	counter_later_fn *const *l = __start_kymo_later;

	while (l < __stop_kymo_later && !(*l)(name))
		l++;
	return l < __stop_kymo_later;
}

kymo_status_t kymo_counter_find(const char *name, uint32_t agent, kymo_counter_t *out)
{
	const char *devices = name ? strstr(name, COUNTER_DEVICES) : NULL;
	char alone[256];
	uint32_t found;

	if (!name || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	if (devices && (size_t)(devices - name) < sizeof(alone)) {
		snprintf(alone, sizeof(alone), "%.*s", (int)(devices - name), name);
		name = alone;
	}
	found = find_listed(name, agent);
	if (!found)
		found = find_unlisted(name, agent);
	out->handle = found;
	if (found)
		return KYMO_OK;
	counter_refuse("no provider has a counter \"%s\" of agent %u", name, agent);
	return is_later(name) ? KYMO_ERROR_STATE : KYMO_ERROR_NOT_FOUND;
}

kymo_status_t kymo_counter_describe(kymo_counter_t counter, const char **provider,
				    kymo_counter_info_t *out)
{
	const struct counter *c = counter_of(counter);

	if (!out || out->size < sizeof(*out))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!c)
		return KYMO_ERROR_NOT_FOUND;
	*out = c->info;
	if (provider)
		*provider = c->provider->name;
	return KYMO_OK;
}

kymo_status_t kymo_counter_instance(kymo_counter_t counter, const uint32_t *positions,
				    uint64_t *instance)
{
	const struct counter *c = counter_of(counter);
	uint64_t n = 0;

	if (!instance || (!positions && c && c->info.dimension_count))
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!c)
		return KYMO_ERROR_NOT_FOUND;
	for (uint32_t i = 0; i < c->info.dimension_count; i++) {
		if (positions[i] >= c->info.dimensions[i].size)
			return KYMO_ERROR_LIMIT;
		n = n * c->info.dimensions[i].size + positions[i];
	}
	*instance = n;
	return KYMO_OK;
}

kymo_status_t kymo_counter_positions(kymo_counter_t counter, uint64_t instance, uint32_t *positions)
{
	const struct counter *c = counter_of(counter);

	if (!positions)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!c)
		return KYMO_ERROR_NOT_FOUND;
	if (instance >= c->instances)
		return KYMO_ERROR_LIMIT;
	for (uint32_t i = c->info.dimension_count; i-- > 0;) {
		positions[i] = (uint32_t)(instance % c->info.dimensions[i].size);
		instance /= c->info.dimensions[i].size;
	}
	return KYMO_OK;
}
