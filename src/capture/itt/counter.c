/* SPDX-License-Identifier: Apache-2.0 */
/* ITT counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/annotation/counter.h"
#include "capture/itt/itt.h"

struct counter {
	kymo_string_t *name, *domain;
	struct annotation_counter *counter;
	_Atomic uint64_t value; /* of those that are counted up and down */
	int type;
	struct counter *next;
};

static struct counter *_Atomic counters; /* prepended to, never freed */

/* The same counter for the same name, whatever static part asks. */
static struct counter *get_counter(kymo_string_t *name, kymo_string_t *domain, int type)
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
	c->counter = annotation_counter(name, domain ? domain : annotation_string("itt"), NULL);
	c->type = type;
	c->next = atomic_load(&counters);
	while (!atomic_compare_exchange_weak(&counters, &c->next, c))
		;
	return c;
}

static struct counter *create(const char *name, const char *domain)
{
	return get_counter(annotation_string(name), annotation_string(domain), ITT_U64);
}

static struct counter *create_typed(const char *name, const char *domain, int type)
{
	return get_counter(annotation_string(name), annotation_string(domain), type);
}

static struct counter *create_v3(const struct itt_domain *domain, const char *name, int type)
{
	return get_counter(annotation_string(name), itt_domain_name(domain), type);
}

static void destroy(struct counter *c)
{
}

static void change(struct counter *c, uint64_t by)
{
	int64_t value;

	if (!c)
		return;
	value = (int64_t)(atomic_fetch_add(&c->value, by) + by);
	annotation_count(c->counter, (double)value, (kymo_clock_t){0}, 0);
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

static void set_at(struct counter *c, unsigned long long time, const void *value)
{
	kymo_payload_t p;

	if (!c || !itt_value(&p, "value", c->type, value, 0))
		return;
	if (c->type <= ITT_S64)
		atomic_store(&c->value, p.value.u);
	annotation_count(c->counter, annotation_number(&p), (kymo_clock_t){0}, time);
}

static void set_value(struct counter *c, void *value)
{
	set_at(c, 0, value);
}

/* Times of clocks of the program's own cannot be told by ours: nobody says when they were read. */
static void set_value_ex(struct counter *c, struct itt_clock *clock, unsigned long long time,
			 void *value)
{
	set_at(c, clock ? 0 : time, value);
}

/* Counters that are named where they are used. */
static struct counter *named(const struct itt_domain *domain, const struct itt_string *name)
{
	return get_counter(itt_string(name), itt_domain_name(domain), ITT_U64);
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

void itt_counter_functions(itt_tell *tell, void *data)
{
	ITT_FUNCTION("counter_create", create);
	ITT_FUNCTION("counter_create_typed", create_typed);
	ITT_FUNCTION("counter_create_v3", create_v3);
	ITT_FUNCTION("counter_destroy", destroy);
	ITT_FUNCTION("counter_inc", inc);
	ITT_FUNCTION("counter_inc_delta", inc_delta);
	ITT_FUNCTION("counter_dec", dec);
	ITT_FUNCTION("counter_dec_delta", dec_delta);
	ITT_FUNCTION("counter_set_value", set_value);
	ITT_FUNCTION("counter_set_value_v3", set_value);
	ITT_FUNCTION("counter_set_value_ex", set_value_ex);
	ITT_FUNCTION("counter_inc_v3", inc_v3);
	ITT_FUNCTION("counter_inc_delta_v3", inc_delta_v3);
	ITT_FUNCTION("counter_dec_v3", dec_v3);
	ITT_FUNCTION("counter_dec_delta_v3", dec_delta_v3);
}
