/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared buffers that go while the program goes on: what other parts of core keep in their memory
 * (open calls, work under way, costs) is written to at any time, and the next buffer has it.
 */
#include <sys/mman.h>

#include "wire/live.h"
#include "wire/shm.h"

#include "tool_support.h"

struct side {
	struct shm_header *shm; /* as the process that empties it sees it */
	uint64_t bytes;
};

static kymo_status_t share(int memfd, uint64_t bytes, void *data)
{
	struct side *s = data;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);

	if (p == MAP_FAILED)
		return KYMO_ERROR_SYSTEM;
	s->shm = p;
	s->bytes = bytes;
	return KYMO_OK;
}

static kymo_context_t begin(struct side *s)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .bytes = 4u << 20, .share = share, .data = s};
	kymo_selection_t all = {.size = sizeof(all), .domain = "t"};
	kymo_selection_t work = {.size = sizeof(work), .domain = "sync"};
	kymo_buffer_t buffer;
	kymo_context_t c;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &all, buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &work, buffer), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	t_call(T_CALL, 1, NULL, NULL);
	assert_non_null(s->shm);
	return c;
}

static void end(struct side *s)
{
	munmap(s->shm, s->bytes);
	*s = (struct side){0};
}

static uint32_t depth_shown(const struct side *s)
{
	const struct shm_thread *t =
		(const void *)((const uint8_t *)s->shm + s->shm->threads_offset);

	return atomic_load(&t[cap_thread_current->index].depth);
}

/* Work that is shown to be under way. */
static uint32_t flights_shown(const struct side *s)
{
	const struct shm_header *h = s->shm;
	uint32_t count = 0;

	for (uint32_t i = 0; i < atomic_load(&h->chunk_count); i++) {
		const struct wire_chunk *c =
			(const void *)((const uint8_t *)h + h->chunks_offset + i * h->chunk_size);
		const struct wire_line *l = (const void *)((const uint8_t *)c + c->header_size);

		for (; c->type == WIRE_CHUNK_LIVE &&
		       (const uint8_t *)(l + 1) <= (const uint8_t *)c + c->committed;
		     l++)
			count += l->kind == WIRE_LINE_FLIGHT && atomic_load(&l->state) != 0;
	}
	return count;
}

static void submit(uint32_t *place, struct cap_submission *o)
{
	struct cap_subject subject = {.bytes = 1};
	bool wanted;

	t_submit(o, 1, &wanted);
	assert_true(wanted);
	cap_flight_begin(place, &core_sync_ops[0], o, tick_now(), &subject);
}

static void complete(uint32_t *place, struct cap_submission *o)
{
	t_complete(o);
	cap_flight_end(place);
}

static void destroy(void *context)
{
	assert_int_equal(kymo_context_destroy(*(kymo_context_t *)context), KYMO_OK);
}

static void look(void *side)
{
	assert_int_equal(depth_shown(side), 1);
}

static void test_calls_and_work_go_on(void **state)
{
	struct side side[3] = {{0}};
	struct cap_submission o, other;
	uint32_t place = 0, second = 0;
	kymo_context_t c = begin(&side[0]);

	t_call(T_CALL, 1, look, &side[0]);
	submit(&place, &o);
	assert_int_equal(flights_shown(&side[0]), 1);
	t_call(T_CALL, 1, destroy, &c); /* its end is shown where the buffer was */
	c = begin(&side[1]);            /* the first is swept, at the latest */
	t_call(T_CALL, 1, look, &side[1]);
	complete(&place, &o); /* of a place that is gone */
	cap_flight_free(&place);
	for (int i = 0; i < 2000; i++) /* some are samples of what calls cost */
		t_call(T_CALL, 1, NULL, NULL);
	submit(&second, &other);
	assert_int_equal(flights_shown(&side[1]), 1);
	destroy(&c);
	t_call(T_CALL, 1, NULL, NULL); /* nobody records */
	complete(&second, &other);
	cap_flight_free(&second);
	c = begin(&side[2]);
	submit(&place, &o);
	assert_int_equal(flights_shown(&side[2]), 1);
	complete(&place, &o);
	assert_int_equal(flights_shown(&side[2]), 0);
	cap_flight_free(&place);
	destroy(&c);
	for (int i = 0; i < 3; i++)
		end(&side[i]);
}

/* The one that was made last shows everything; when it goes the other does. */
static void test_of_two_one_goes(void **state)
{
	struct side side[2] = {{0}};
	kymo_context_t first = begin(&side[0]), last = begin(&side[1]);
	struct cap_submission o;
	uint32_t place = 0;

	t_call(T_CALL, 1, look, &side[1]);
	assert_int_equal(depth_shown(&side[0]), 0);
	destroy(&last);
	t_call(T_CALL, 1, look, &side[0]);
	submit(&place, &o);
	assert_int_equal(flights_shown(&side[0]), 1);
	complete(&place, &o);
	cap_flight_free(&place);
	destroy(&first);
	for (int i = 0; i < 2; i++)
		end(&side[i]);
}

/* Of the process: addresses, memory. */
static void pages(unsigned long *addresses, unsigned long *memory)
{
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", addresses, memory), 2);
	fclose(f);
}

/* Addresses and memory are given back, but for what is still written to. */
static void test_many_come_and_go(void **state)
{
	unsigned long addresses, memory, addresses_then, memory_then;
	struct side side = {0};

	pages(&addresses, &memory);
	for (int i = 0; i < 60; i++) {
		kymo_context_t c = begin(&side);
		struct cap_submission o;
		uint32_t place = 0;

		submit(&place, &o);
		complete(&place, &o);
		cap_flight_free(&place);
		destroy(&c);
		end(&side);
	}
	t_call(T_CALL, 1, NULL, NULL);
	pages(&addresses_then, &memory_then);
	assert_in_range(addresses_then - addresses, 0, 60 * (4u << 20) / 4096);
#ifndef __SANITIZE_THREAD__ /* which keeps memory of its own for each address that was used */
	assert_in_range(memory_then, 0, memory + (16u << 20) / 4096);
#endif
}

static int register_once(void **state)
{
	t_register();
	return 0;
}

/* Handing over is not worth a system call, and a switch to the drain, each time. */
static void test_rings_for_many_chunks(void **state)
{
	enum { CHUNKS = 70, TIMES = 16 }; /* of 128 */
	struct side s = {0};
	kymo_context_t c = begin(&s);

	while (atomic_load(&s.shm->full) < CHUNKS)
		t_call(T_CALL, 1, NULL, NULL);
	assert_int_equal(atomic_load(&s.shm->bell), atomic_load(&s.shm->full) / TIMES);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_and_work_go_on),
		cmocka_unit_test(test_of_two_one_goes),
		cmocka_unit_test(test_many_come_and_go),
		cmocka_unit_test(test_rings_for_many_chunks),
	};

	return cmocka_run_group_tests(tests, register_once, NULL);
}
