/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishes what was on two tracks, last first, long after it was; by several threads at once; and
 * what was on a clock that nobody has compared with the host's.
 */
#include <pthread.h>
#include <stdio.h>

#include <kymo/publish.h>

#define STEPS 3000u

static const kymo_field_t fields[] = {{"step", "u32", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0}};
static const kymo_op_desc_t ops[] = {{"work", fields, 1, 0, NULL, 0},
				     {"alarm", NULL, 0, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "robot", "Robot", 1, 2, ops};

static kymo_published_domain_t domain;
static kymo_track_t tracks[2];
static uint64_t origin;

static void publish(unsigned track, unsigned step, kymo_clock_t clock, uint64_t start,
		    uint64_t parent)
{
	kymo_value_t value = {.size = sizeof(value), .present = true, .u = step};
	kymo_publication_t p = {.size = sizeof(p),
				.clock = clock,
				.start = start,
				.end = start + 1500,
				.track = tracks[track],
				.parent = parent,
				.status = step % 100 == 7 ? -1 : 0,
				.values = &value,
				.value_count = 1};

	if (kymo_publish(domain, 0, &p, NULL) != KYMO_OK)
		printf("not published\n");
}

/* A microsecond each, overlapping, last first. */
static void *late(void *arg)
{
	unsigned track = *(unsigned *)arg;

	for (unsigned i = STEPS; i-- > 0;)
		publish(track, i, (kymo_clock_t){0}, origin + i * 1000, 0);
	return NULL;
}

/* Ten values and ten samples of the left arm, last first. */
static int measures(void)
{
	kymo_counter_publication_t c = {.size = sizeof(c),
					.name = "torque",
					.publisher = "robot",
					.unit = "Nm",
					.gauge = true};
	uint32_t counter;

	if (kymo_counter_publish(&c, &counter) != KYMO_OK)
		return 0;
	for (unsigned i = 10; i-- > 0;) {
		const uint64_t addresses[] = {(uint64_t)(uintptr_t)&measures};
		kymo_count_publication_t n = {.size = sizeof(n),
					      .counter = counter,
					      .value = 0.5 * i,
					      .start = origin + i * 100000,
					      .end = origin + i * 100000 + 7,
					      .track = tracks[0]};
		kymo_sample_publication_t s = {.size = sizeof(s),
					       .time = origin + i * 100000,
					       .track = tracks[0],
					       .weight_ns = 100000,
					       .addresses = addresses,
					       .count = 1};

		if (kymo_count_publish(&n) != KYMO_OK || kymo_sample_publish(&s) != KYMO_OK)
			return 0;
	}
	return 1;
}

int main(void)
{
	unsigned numbers[2] = {0, 1};
	pthread_t threads[2];
	kymo_publication_t alarm = {.size = sizeof(alarm)};
	kymo_clock_t unknown;
	uint64_t id = 0;

	if (kymo_domain_publish(&desc, &domain) != KYMO_OK ||
	    kymo_track_create("left arm", &tracks[0]) != KYMO_OK ||
	    kymo_track_create("right arm", &tracks[1]) != KYMO_OK ||
	    kymo_clock_create("unknown", "machine", 1000, &unknown) != KYMO_OK)
		return 1;
	origin = kymo_time();
	for (unsigned i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, late, &numbers[i]) != 0)
			return 1;
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (!measures())
		return 1;
	alarm.start = alarm.end = kymo_time();
	kymo_publish(domain, 1, &alarm, &id);
	publish(0, 9999, unknown, kymo_time(), id);
	printf("%llu\n", (unsigned long long)id);
	return 0;
}
