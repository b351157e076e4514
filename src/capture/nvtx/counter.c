/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's counters: numbers that the program samples, alone or in groups with a layout, now or with
 * times of its own. Each number of a group is a counter, "group.number".
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/annotation/counter.h"
#include "capture/nvtx/nvtx.h"

/* What the program registered. */
struct counter {
	uint64_t id, schema, time_domain;
	struct nvtx_domain *domain;
	kymo_string_t *name;
	struct annotation_counter *alone; /* of one number */
	struct counter *next;
};
static struct counter *_Atomic counters; /* prepended to, never freed */

static struct counter *find_counter(void *domain, uint64_t id)
{
	const struct nvtx_domain *d = nvtx_domain(domain);
	struct counter *c = atomic_load(&counters);

	while (c && (c->id != id || (id < NVTX_ID_DYNAMIC && c->domain != d)))
		c = c->next;
	return c;
}

uint64_t nvtx_counter_register(void *domain, const struct nvtx_counter *given)
{
	int saved = errno;
	struct counter *c;

	if (!given || given->size < offsetof(struct nvtx_counter, id) + sizeof(given->id))
		return 0;
	c = calloc(1, sizeof(*c));
	errno = saved;
	if (!c)
		return 0;
	c->domain = nvtx_domain(domain);
	c->name = annotation_string(given->name ? given->name : "");
	c->schema = given->schema;
	c->time_domain = nvtx_time_semantics(given->semantics);
	if (!c->time_domain)
		c->time_domain = nvtx_time_domain_of(domain, given->scope);
	if (c->schema < NVTX_ID_STATIC)
		c->alone = annotation_counter(c->name, annotation_string(c->domain->name.text),
					      given->description);
	c->id = given->id >= NVTX_ID_STATIC ? given->id : nvtx_new_id();
	c->next = atomic_load(&counters);
	while (!atomic_compare_exchange_weak(&counters, &c->next, c))
		;
	return c->id;
}

/* The counter for one value of a group; NULL: it is no number. */
static struct annotation_counter *member(const struct counter *c, const kymo_payload_t *value)
{
	char name[KYMO_STRING_MAX];

	if (value->type == KYMO_PAYLOAD_STRING || value->type == KYMO_PAYLOAD_BYTES)
		return NULL;
	if (c->alone)
		return c->alone;
	snprintf(name, sizeof(name), "%s.%s", c->name->text, value->key);
	return annotation_counter(annotation_string(name), annotation_string(c->domain->name.text),
				  NULL);
}

/* At `time` of the counter's clock, at a time among the values, or now. */
static void count_blob(const struct counter *c, const void *data, size_t size, bool timed,
		       uint64_t time)
{
	struct nvtx_blob blob = {c->schema, size, data};
	struct nvtx_values *v = nvtx_values_new(c->domain);
	kymo_clock_t clock;

	if (!v)
		return;
	v->timed = true;
	v->time_domain = c->time_domain;
	nvtx_values_add(v, &blob, 1);
	clock = nvtx_clock(c->domain, v->time_domain);
	if (!timed)
		time = v->has_begin ? v->begin : 0;
	for (uint32_t i = 0; i < v->count; i++)
		annotation_count(member(c, &v->values[i]), annotation_number(&v->values[i]), clock,
				 time);
	free(v);
}

void nvtx_sample_int(void *domain, uint64_t id, int64_t value)
{
	const struct counter *c = find_counter(domain, id);

	if (c)
		annotation_count(c->alone, (double)value, (kymo_clock_t){0}, 0);
}

void nvtx_sample_double(void *domain, uint64_t id, double value)
{
	const struct counter *c = find_counter(domain, id);

	if (c)
		annotation_count(c->alone, value, (kymo_clock_t){0}, 0);
}

void nvtx_sample(void *domain, uint64_t id, const void *data, size_t size)
{
	const struct counter *c = find_counter(domain, id);

	if (c && data)
		count_blob(c, data, size, false, 0);
}

/* No value to count: a mark says why. */
void nvtx_sample_none(void *domain, uint64_t id, uint8_t reason)
{
	static const char *const reasons[] = {"zero", "unchanged", "unavailable"};
	const struct counter *c = find_counter(domain, id);
	kymo_payload_t p = kymo_text("value", reason < 3 ? reasons[reason] : "none");
	kymo_marker_t m = {.size = sizeof(m), .payload = &p, .payload_count = 1};

	if (!c)
		return;
	if (reason == 0 && c->alone) {
		annotation_count(c->alone, 0, (kymo_clock_t){0}, 0);
		return;
	}
	m.string = c->name;
	m.domain = &c->domain->name;
	m.category = annotation_string("counter");
	kymo_mark_full(&m);
}

/* Time of sample `i` of `count`; false: the batch says none. */
static bool time_of(const struct nvtx_counter_batch *b, size_t i, size_t count, uint64_t *time)
{
	const int64_t *t = b->times;
	size_t times = b->times_size / sizeof(*t);

	if (!t || times == 0)
		return false;
	if (b->flags & (NVTX_BATCH_FROM_BEGIN | NVTX_BATCH_FROM_END)) {
		if (times < 2)
			return false;
		*time = b->flags & NVTX_BATCH_FROM_BEGIN
				? (uint64_t)t[0] + i * (uint64_t)t[1]
				: (uint64_t)t[0] - (count - 1 - i) * (uint64_t)t[1];
		return true;
	}
	if (i >= times)
		return false;
	*time = (uint64_t)t[i];
	return true;
}

void nvtx_sample_batch(void *domain, const struct nvtx_counter_batch *b)
{
	const struct counter *c = b ? find_counter(domain, b->id) : NULL;
	const struct nvtx_layout *l = c ? nvtx_layout_find(c->domain, c->schema) : NULL;
	size_t size = l ? l->size : c ? nvtx_type_size(c->schema) : 0, count;

	if (!size || !b->values)
		return;
	count = b->size / size;
	for (size_t i = 0; i < count; i++) {
		uint64_t time = 0;
		bool timed = time_of(b, i, count, &time);

		count_blob(c, (const char *)b->values + i * size, size, timed, time);
	}
}
