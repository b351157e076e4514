/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's extensions: payloads with a layout, deferred events, counters. A program's copy of an
 * extension asks for its functions as its copy of NVTX does.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/status.h>

#include "base/clock.h"
#include "capture/nvtx/nvtx.h"

KYMO_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);
KYMO_EXPORT int InitializeInjectionNvtxExtensionPreinject(struct nvtx_extension *extension);

/* ---- payloads ---- */

static __attribute__((noinline)) uint64_t act(enum nvtx_action action, void *domain,
					      const struct nvtx_blob *blobs, size_t count)
{
	struct nvtx_domain *d = nvtx_domain(domain);
	kymo_marker_t m = {.size = sizeof(m), .domain = &d->name};
	struct nvtx_values values;

	nvtx_values_init(&values, d);
	nvtx_values_add(&values, blobs, count);
	m.name = values.message ? values.message : "";
	m.category = annotation_category(&d->categories, values.category);
	m.color = values.color;
	m.payload = values.values;
	m.payload_count = values.count;
	return nvtx_act(action, &m);
}

static void mark(void *domain, const struct nvtx_blob *blobs, size_t count)
{
	act(NVTX_MARK, domain, blobs, count);
}

static int push(void *domain, const struct nvtx_blob *blobs, size_t count)
{
	return (int)act(NVTX_PUSH, domain, blobs, count);
}

static int pop(void *domain, const struct nvtx_blob *blobs, size_t count)
{
	struct nvtx_values values;

	nvtx_values_init(&values, nvtx_domain(domain));
	nvtx_values_add(&values, blobs, count);
	if (values.count)
		kymo_range_add(values.values, values.count);
	return nvtx_pop(domain);
}

static uint64_t start(void *domain, const struct nvtx_blob *blobs, size_t count)
{
	return act(NVTX_START, domain, blobs, count);
}

/* What is known only at the end of a range that any thread may end is a mark in it. */
static void end(void *domain, uint64_t id, const struct nvtx_blob *blobs, size_t count)
{
	if (blobs && count)
		act(NVTX_MARK, domain, blobs, count);
	nvtx_end(id);
}

static uint8_t is_enabled(void *domain)
{
	return 1;
}

static uint64_t scope_register(void *domain, const void *attributes)
{
	return attributes ? nvtx_new_id() : 0;
}

/* ---- deferred events ---- */

static int64_t timestamp(void)
{
	return (int64_t)clock_ns(CLOCK_MONOTONIC_RAW);
}

static uint64_t time_domain(void *domain, const void *attributes)
{
	return attributes ? nvtx_new_id() : 0;
}

/* An event that was timed by the program: a mark of now that carries its values, its time too. */
static void submit(void *domain, const struct nvtx_blob *blobs, size_t count)
{
	act(NVTX_MARK, domain, blobs, count);
}

static void submit_batch(void *domain, const struct nvtx_event_batch *b)
{
	const struct nvtx_layout *l;

	if (!b || !b->events)
		return;
	l = nvtx_layout_find(nvtx_domain(domain), b->schema);
	if (!l || !l->size)
		return;
	for (size_t at = 0; at + l->size <= b->size; at += l->size) {
		struct nvtx_blob blob = {b->schema, l->size, (const char *)b->events + at};

		act(NVTX_MARK, domain, &blob, 1);
	}
}

/* ---- counters ---- */

struct counter {
	uint64_t id, schema;
	kymo_string_t *name;
	struct counter *next;
};
static struct counter *_Atomic counters; /* prepended to, never freed */

static struct counter *counter_find(uint64_t id)
{
	struct counter *c = atomic_load(&counters);

	while (c && c->id != id)
		c = c->next;
	return c;
}

static uint64_t counter_register(void *domain, const struct nvtx_counter *given)
{
	int saved = errno;
	struct counter *c;

	if (!given || given->size < offsetof(struct nvtx_counter, id) + sizeof(given->id))
		return 0;
	c = calloc(1, sizeof(*c));
	errno = saved;
	if (!c)
		return 0;
	c->name = annotation_string(given->name ? given->name : "");
	c->schema = given->schema;
	c->id = given->id >= NVTX_ID_STATIC ? given->id : nvtx_new_id();
	c->next = atomic_load(&counters);
	while (!atomic_compare_exchange_weak(&counters, &c->next, c))
		;
	return c->id;
}

static void sample(void *domain, uint64_t id, const kymo_payload_t *values, uint32_t count)
{
	const struct counter *c = counter_find(id);
	kymo_marker_t m = {.size = sizeof(m), .domain = &nvtx_domain(domain)->name,
			   .payload = values, .payload_count = count};

	if (!c)
		return;
	m.string = c->name;
	m.category = annotation_string("counter");
	kymo_mark_full(&m);
}

static void sample_int(void *domain, uint64_t id, int64_t value)
{
	kymo_payload_t p = kymo_int64("value", value);

	sample(domain, id, &p, 1);
}

static void sample_double(void *domain, uint64_t id, double value)
{
	kymo_payload_t p = kymo_double("value", value);

	sample(domain, id, &p, 1);
}

static void sample_group(void *domain, uint64_t id, const void *data, size_t size)
{
	const struct counter *c = counter_find(id);
	struct nvtx_blob blob = {c ? c->schema : 0, size, data};
	struct nvtx_values values;

	if (!c || !data)
		return;
	nvtx_values_init(&values, nvtx_domain(domain));
	nvtx_values_add(&values, &blob, 1);
	sample(domain, id, values.values, values.count);
}

static void sample_none(void *domain, uint64_t id, uint8_t reason)
{
	static const char *const reasons[] = {"zero", "unchanged", "unavailable"};
	kymo_payload_t p = kymo_text("value", reason < 3 ? reasons[reason] : "none");

	sample(domain, id, &p, 1);
}

static void sample_batch(void *domain, const struct nvtx_counter_batch *b)
{
	const struct counter *c = b ? counter_find(b->id) : NULL;
	const struct nvtx_layout *l = c ? nvtx_layout_find(nvtx_domain(domain), c->schema) : NULL;
	size_t size = l ? l->size : c ? nvtx_type_size(c->schema) : 0;

	for (size_t i = 0; size && b->values && (i + 1) * size <= b->size; i++) {
		struct nvtx_blob blob = {c->schema, size, (const char *)b->values + i * size};
		struct nvtx_values values;

		nvtx_values_init(&values, nvtx_domain(domain));
		nvtx_values_add(&values, &blob, 1);
		if (b->times && (i + 1) * sizeof(int64_t) <= b->times_size &&
		    values.count < NVTX_VALUES)
			values.values[values.count++] = kymo_int64("timestamp", b->times[i]);
		sample(domain, b->id, values.values, values.count);
	}
}

/* ---- the door ---- */

#define F(f) ((nvtx_function)(f))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const nvtx_function payload_functions[] = {
	[0] = F(nvtx_schema_register), [1] = F(nvtx_enum_register), [2] = F(mark), [3] = F(push),
	[4] = F(pop), [5] = F(start), [6] = F(end), [7] = F(is_enabled), [8] = F(timestamp),
	[9] = F(time_domain), [12] = F(scope_register), [16] = F(submit), [17] = F(submit_batch),
};
static const nvtx_function counter_functions[] = {
	[0] = F(counter_register), [1] = F(sample_int), [2] = F(sample_double), [3] = F(sample_group),
	[4] = F(sample_none), [5] = F(sample_batch),
};

static int fill(struct nvtx_extension *x, const nvtx_function *functions, size_t count)
{
	struct nvtx_segment *s = x->segments;

	if (x->segment_count == 0 || !s || !s->slots)
		return 0;
	for (size_t i = 0; i < count && i < s->slot_count; i++)
		if (functions[i])
			s->slots[i] = (intptr_t)functions[i];
	return 1;
}

int InitializeInjectionNvtxExtension(struct nvtx_extension *x)
{
	if (!x || x->size < offsetof(struct nvtx_extension, export_function))
		return 0;
	if (x->module == NVTX_MODULE_PAYLOAD)
		return fill(x, payload_functions, COUNT(payload_functions));
	if (x->module == NVTX_MODULE_COUNTERS)
		return fill(x, counter_functions, COUNT(counter_functions));
	return 0;
}

int InitializeInjectionNvtxExtensionPreinject(struct nvtx_extension *x)
{
	return InitializeInjectionNvtxExtension(x);
}
