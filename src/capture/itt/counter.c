/* SPDX-License-Identifier: Apache-2.0 */
/* ITT counters: each sample is a mark of category "counter" with its value. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/itt/itt.h"

struct counter {
	kymo_string_t *name, *domain;
	_Atomic uint64_t value; /* of those that are counted up and down */
	int type;
	struct counter *next;
};

static struct counter *_Atomic counters; /* prepended to, never freed */

/* The same counter for the same name, whatever static part asks. */
static struct counter *get(kymo_string_t *name, kymo_string_t *domain, int type)
{
	int saved = errno;
	struct counter *c;

	if (!name)
		return NULL;
	for (c = atomic_load(&counters); c; c = c->next)
		if (c->name == name && c->domain == domain)
			return c;
	c = calloc(1, sizeof(*c));
	errno = saved;
	if (!c)
		return NULL;
	c->name = name;
	c->domain = domain;
	c->type = type;
	c->next = atomic_load(&counters);
	while (!atomic_compare_exchange_weak(&counters, &c->next, c))
		;
	return c;
}

static struct counter *create(const char *name, const char *domain)
{
	return get(annotation_string(name), annotation_string(domain), ITT_U64);
}

static struct counter *create_typed(const char *name, const char *domain, int type)
{
	return get(annotation_string(name), annotation_string(domain), type);
}

static struct counter *create_v3(const struct itt_domain *domain, const char *name, int type)
{
	return get(annotation_string(name), itt_domain_name(domain), type);
}

static void destroy(struct counter *c)
{
}

static void sample(const struct counter *c, const kymo_payload_t *value, uint32_t count)
{
	kymo_marker_t m = {.size = sizeof(m), .string = c->name, .domain = c->domain,
			   .payload = value, .payload_count = count};

	m.category = annotation_string("counter");
	kymo_mark_full(&m);
}

static void change(struct counter *c, uint64_t by)
{
	kymo_payload_t p;

	if (!c)
		return;
	p = kymo_int64("value", (int64_t)(atomic_fetch_add(&c->value, by) + by));
	sample(c, &p, 1);
}

static void inc(struct counter *c)
{
	change(c, 1);
}

static void inc_delta(struct counter *c, unsigned long long by)
{
	change(c, by);
}

static void dec(struct counter *c)
{
	change(c, UINT64_MAX);
}

static void dec_delta(struct counter *c, unsigned long long by)
{
	change(c, 0 - by);
}

static void set_value(struct counter *c, void *value)
{
	kymo_payload_t p;

	if (!c || !itt_value(&p, "value", c->type, value, 0))
		return;
	if (c->type <= ITT_S64)
		atomic_store(&c->value, p.value.u);
	sample(c, &p, 1);
}

static void set_value_ex(struct counter *c, struct itt_clock *clock, unsigned long long time,
			 void *value)
{
	kymo_payload_t p[2];

	if (!c || !itt_value(&p[0], "value", c->type, value, 0))
		return;
	p[1] = kymo_uint64("timestamp", time);
	sample(c, p, 2);
}

/* Counters that are named where they are used. */
static struct counter *named(const struct itt_domain *domain, const struct itt_string *name)
{
	return get(itt_string(name), itt_domain_name(domain), ITT_U64);
}

static void inc_v3(const struct itt_domain *domain, const struct itt_string *name)
{
	change(named(domain, name), 1);
}

static void inc_delta_v3(const struct itt_domain *domain, const struct itt_string *name,
			 unsigned long long by)
{
	change(named(domain, name), by);
}

static void dec_v3(const struct itt_domain *domain, const struct itt_string *name)
{
	change(named(domain, name), UINT64_MAX);
}

static void dec_delta_v3(const struct itt_domain *domain, const struct itt_string *name,
			 unsigned long long by)
{
	change(named(domain, name), 0 - by);
}

const struct itt_function itt_counter_functions[] = {
	ITT_FUNCTION("counter_create", create),
	ITT_FUNCTION("counter_create_typed", create_typed),
	ITT_FUNCTION("counter_create_v3", create_v3),
	ITT_FUNCTION("counter_destroy", destroy),
	ITT_FUNCTION("counter_inc", inc),
	ITT_FUNCTION("counter_inc_delta", inc_delta),
	ITT_FUNCTION("counter_dec", dec),
	ITT_FUNCTION("counter_dec_delta", dec_delta),
	ITT_FUNCTION("counter_set_value", set_value),
	ITT_FUNCTION("counter_set_value_v3", set_value),
	ITT_FUNCTION("counter_set_value_ex", set_value_ex),
	ITT_FUNCTION("counter_inc_v3", inc_v3),
	ITT_FUNCTION("counter_inc_delta_v3", inc_delta_v3),
	ITT_FUNCTION("counter_dec_v3", dec_v3),
	ITT_FUNCTION("counter_dec_delta_v3", dec_delta_v3),
	{NULL, NULL},
};
