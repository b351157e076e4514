/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the program's own; see counter.h. */
#include "core/annotation/counter.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/marker/marker.h"

#define BUCKETS 256u

struct annotation_counter {
	kymo_string_t *name, *domain;
	const char *description;
	_Atomic uint32_t id; /* 0: not published yet */
	struct annotation_counter *next;
};

static struct annotation_counter *_Atomic counters[BUCKETS]; /* prepended to, never freed */
static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;

static void fork_child(void)
{
	pthread_mutex_init(&publishing, NULL);
}

__attribute__((constructor)) static void prepare(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

static struct annotation_counter *
find_counter(struct annotation_counter *c, const kymo_string_t *name, const kymo_string_t *domain)
{
	while (c && (c->name != name || c->domain != domain))
		c = c->next;
	return c;
}

struct annotation_counter *annotation_counter(kymo_string_t *name, kymo_string_t *domain,
					      const char *description)
{
	unsigned bucket = (unsigned)((uintptr_t)name >> 4) % BUCKETS;
	struct annotation_counter *c;
	kymo_string_t *about;
	int saved = errno;

	if (!name)
		return NULL;
	c = find_counter(atomic_load(&counters[bucket]), name, domain);
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	errno = saved;
	if (!c)
		return NULL;
	about = annotation_string(description);
	c->name = name;
	c->domain = domain;
	c->description = about ? about->text : NULL;
	c->next = atomic_load(&counters[bucket]);
	while (!atomic_compare_exchange_weak(&counters[bucket], &c->next, c))
		;
	return c;
}

/* Told to the trace with its first value. */
static uint32_t published(struct annotation_counter *c)
{
	kymo_counter_publication_t p = {.size = sizeof(p),
					.name = c->name->text,
					.gauge = true,
					.publisher = c->domain ? c->domain->text : "",
					.description = c->description};
	uint32_t id = atomic_load(&c->id);

	if (id)
		return id;
	pthread_mutex_lock(&publishing);
	id = atomic_load(&c->id);
	if (!id && kymo_counter_publish(&p, &id) == KYMO_OK)
		atomic_store(&c->id, id);
	pthread_mutex_unlock(&publishing);
	return id;
}

void annotation_count(struct annotation_counter *c, double value, kymo_clock_t clock, uint64_t time)
{
	kymo_count_publication_t p = {
		.size = sizeof(p), .value = value, .clock = clock, .start = time, .end = time};

	if (!c || !marker_begin(1))
		return;
	if (!time || !marker_possible(clock, time, time)) {
		p.clock = (kymo_clock_t){0};
		p.start = p.end = kymo_time();
	}
	p.counter = published(c);
	if (p.counter)
		kymo_count_publish(&p);
}
