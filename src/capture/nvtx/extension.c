/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's extensions: payloads with a layout and deferred events here, counters in counter.c. A
 * program's copy of an extension asks for its functions as its copy of NVTX does.
 */
#include <stdlib.h>

#include <kymo/status.h>

#include "capture/nvtx/nvtx.h"

KYMO_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);
KYMO_EXPORT int InitializeInjectionNvtxExtensionPreinject(struct nvtx_extension *extension);

/* ---- payloads ---- */

/* Everything of a marker that is in payloads; `values` holds it. */
static kymo_marker_t describe_marker(struct nvtx_domain *d, struct nvtx_values *values,
				     const struct nvtx_blob *blobs, size_t count)
{
	kymo_marker_t m = {.size = sizeof(m), .domain = &d->name};

	nvtx_values_add(values, blobs, count);
	m.name = values->message ? values->message : "";
	m.category = annotation_category(&d->categories, values->category);
	m.color = values->color;
	m.payload = values->values;
	m.payload_count = values->count;
	return m;
}

static __attribute__((noinline)) uint64_t act(enum nvtx_action action, void *domain,
					      const struct nvtx_blob *blobs, size_t count)
{
	struct nvtx_domain *d = nvtx_domain(domain);
	struct nvtx_values *values = nvtx_values_new(d);
	kymo_marker_t m = {.size = sizeof(m), .domain = &d->name, .name = ""};
	uint64_t id;

	if (values)
		m = describe_marker(d, values, blobs, count);
	id = nvtx_act(action, &m);
	free(values);
	return id;
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
	struct nvtx_values *values = nvtx_values_new(nvtx_domain(domain));

	if (values) {
		nvtx_values_add(values, blobs, count);
		if (values->count)
			kymo_range_add(values->values, values->count);
	}
	free(values);
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
	return (int64_t)kymo_time();
}

/* A range if it has two times, a mark of its time or of now. */
static __attribute__((noinline)) void submit_as(void *domain, uint64_t time_domain,
						const struct nvtx_blob *blobs, size_t count)
{
	struct nvtx_domain *d = nvtx_domain(domain);
	struct nvtx_values *values = nvtx_values_new(d);
	kymo_marker_t m;

	if (!values)
		return;
	values->timed = true;
	values->time_domain = time_domain;
	m = describe_marker(d, values, blobs, count);
	if (values->has_begin || values->has_end)
		marker_submit(&m, nvtx_clock(d, values->time_domain),
			      values->has_begin ? values->begin : values->end,
			      values->has_end ? values->end : values->begin);
	else
		kymo_mark_full(&m);
	free(values);
}

static void submit(void *domain, const struct nvtx_blob *blobs, size_t count)
{
	submit_as(domain, 0, blobs, count);
}

static void submit_batch(void *domain, const struct nvtx_event_batch *b)
{
	const struct nvtx_layout *l;
	uint64_t time_domain;

	if (!b || !b->events)
		return;
	l = nvtx_layout_find(nvtx_domain(domain), b->schema);
	if (!l || !l->size)
		return;
	time_domain = nvtx_time_domain_of(domain, b->scope);
	for (size_t at = 0; at + l->size <= b->size; at += l->size) {
		struct nvtx_blob blob = {b->schema, l->size, (const char *)b->events + at};

		submit_as(domain, time_domain, &blob, 1);
	}
}

/* ---- the door ---- */

#define F(f)     ((nvtx_function)(f))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const nvtx_function payload_functions[] = {
	[0] = F(nvtx_schema_register),
	[1] = F(nvtx_enum_register),
	[2] = F(mark),
	[3] = F(push),
	[4] = F(pop),
	[5] = F(start),
	[6] = F(end),
	[7] = F(is_enabled),
	[8] = F(timestamp),
	[9] = F(nvtx_time_domain_register),
	[10] = F(nvtx_timer),
	[11] = F(nvtx_timer_with),
	[12] = F(scope_register),
	[13] = F(nvtx_time_point),
	[14] = F(nvtx_time_points),
	[15] = F(nvtx_time_factor),
	[16] = F(submit),
	[17] = F(submit_batch),
};
static const nvtx_function counter_functions[] = {
	[0] = F(nvtx_counter_register), [1] = F(nvtx_sample_int),  [2] = F(nvtx_sample_double),
	[3] = F(nvtx_sample),           [4] = F(nvtx_sample_none), [5] = F(nvtx_sample_batch),
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
