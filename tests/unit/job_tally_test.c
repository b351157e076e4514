/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the tallies of ranks: added in any tree they say what all ranks together say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/job_tally.h"
#include "wire/tally.h"

enum { RANKS = 37, OPS = 9 };

/* What a rank spent in an op; a third of the ranks has not called it. */
static uint64_t time_of(uint32_t rank, uint32_t op)
{
	return (rank + op) % 3 ? 1000 + (uint64_t)(rank * 7919 + op * 104729) % 5000 : 0;
}

static struct job_tally_row key_of(uint32_t op, char name[16])
{
	struct job_tally_row key = {.kind = WIRE_TALLY_CALL,
				    .name = {"mpi", "MPI", name, "", "", ""}};

	snprintf(name, 16, "call_%u", op);
	return key;
}

static void make_rank(struct job_tally *t, uint32_t rank)
{
	char name[16];

	job_tally_init(t);
	t->total[JOB_TALLY_RANKS] = 1;
	t->total[JOB_TALLY_WORLD] = RANKS;
	t->total[JOB_TALLY_FIRST_RANK] = t->total[JOB_TALLY_LAST_RANK] = rank;
	t->total[JOB_TALLY_START] = 100 + rank;
	t->total[JOB_TALLY_END] = 5000 - rank;
	t->total[JOB_TALLY_LOST] = rank;
	/* In another order in every rank, as domains are registered. */
	for (uint32_t i = 0; i < OPS; i++) {
		uint32_t op = (i + rank) % OPS;
		uint64_t ns = time_of(rank, op);
		struct job_tally_row key = key_of(op, name), *r;

		if (!ns)
			continue;
		r = job_tally_row(t, &key);
		r->n[JOB_TALLY_COUNT] += 1;
		r->n[JOB_TALLY_TOTAL] += ns;
		r->min = r->max = ns;
		job_tally_bucket(t, r, wire_tally_bucket(ns), 1);
		job_tally_load(t, &key, rank, ns);
	}
}

/* As MPI_Finalize does it: every rank adds its children's tables to its own, through bytes. */
static void reduce(struct job_tally *t, uint32_t rank, uint32_t reach)
{
	make_rank(t, rank);
	for (uint32_t step = 1; step < reach && rank + step < RANKS; step *= 2) {
		struct job_tally child, received;
		size_t bytes;
		uint8_t *data;

		reduce(&child, rank + step, step);
		data = job_tally_encode(&child, &bytes);
		assert_non_null(data);
		assert_true(job_tally_decode(&received, data, bytes));
		job_tally_merge(t, &received);
		job_tally_release(&received);
		job_tally_release(&child);
		free(data);
	}
}

static void check_numbers(struct job_tally *t, uint32_t op)
{
	uint64_t count = 0, sum = 0, min = UINT64_MAX, max = 0, seen = 0;
	char name[16];
	struct job_tally_row key = key_of(op, name), *r;

	for (uint32_t rank = 0; rank < RANKS; rank++) {
		uint64_t ns = time_of(rank, op);

		count += ns != 0;
		sum += ns;
		min = ns && ns < min ? ns : min;
		max = ns > max ? ns : max;
	}
	r = job_tally_row(t, &key);
	assert_int_equal(r->n[JOB_TALLY_COUNT], count);
	assert_int_equal(r->n[JOB_TALLY_TOTAL], sum);
	assert_int_equal(r->min, min);
	assert_int_equal(r->max, max);
	for (uint32_t b = 0; b < r->buckets; b++)
		seen += r->histogram[b];
	assert_int_equal(seen, count);
	assert_int_equal(r->first, wire_tally_bucket(min));
	assert_int_equal(r->first + r->buckets - 1, wire_tally_bucket(max));
}

static void check_load(struct job_tally *t, uint32_t op)
{
	uint32_t absent = JOB_TALLY_NONE, least = 0, most = 0;
	char name[16];
	struct job_tally_row key = key_of(op, name), *r;
	uint64_t min = UINT64_MAX, max = 0;

	key.kind |= JOB_TALLY_LOAD;
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		uint64_t ns = time_of(rank, op);

		absent = !ns && absent == JOB_TALLY_NONE ? rank : absent;
		least = ns && ns < min ? rank : least;
		min = ns && ns < min ? ns : min;
		most = ns > max ? rank : most;
		max = ns > max ? ns : max;
	}
	r = job_tally_row(t, &key);
	assert_int_equal(r->absent, absent);
	assert_int_equal(r->min_rank, least);
	assert_int_equal(r->max_rank, most);
	assert_int_equal(r->min, min);
	assert_int_equal(r->max, max);
}

static void tree(void **state)
{
	struct job_tally t;

	reduce(&t, 0, 64);
	assert_int_equal(t.count, 2 * OPS);
	assert_false(t.failed);
	assert_int_equal(t.total[JOB_TALLY_RANKS], RANKS);
	assert_int_equal(t.total[JOB_TALLY_WORLD], RANKS);
	assert_int_equal(t.total[JOB_TALLY_LAST_RANK], RANKS - 1);
	assert_int_equal(t.total[JOB_TALLY_START], 100);
	assert_int_equal(t.total[JOB_TALLY_END], 5000);
	assert_int_equal(t.total[JOB_TALLY_LOST], RANKS * (RANKS - 1) / 2);
	for (uint32_t op = 0; op < OPS; op++) {
		check_numbers(&t, op);
		check_load(&t, op);
	}
	job_tally_release(&t);
}

/* A rank that counts nothing has no part in loads: it is absent from none of them. */
static void rank_of_another_mode(void **state)
{
	struct job_tally t, none;
	char name[16];
	struct job_tally_row key = key_of(1, name);

	make_rank(&t, 0);
	job_tally_init(&none);
	job_tally_merge(&t, &none);
	job_tally_merge(&none, &t);
	key.kind |= JOB_TALLY_LOAD;
	assert_int_equal(job_tally_row(&t, &key)->absent, JOB_TALLY_NONE);
	assert_int_equal(job_tally_row(&none, &key)->absent, JOB_TALLY_NONE);
	assert_int_equal(none.total[JOB_TALLY_RANKS], 1);
	assert_int_equal(none.total[JOB_TALLY_START], 100);
	job_tally_release(&t);
	job_tally_release(&none);
}

static void too_many_rows(void **state)
{
	struct job_tally t;
	char name[16];

	job_tally_init(&t);
	for (uint32_t op = 0; op < JOB_TALLY_ROWS + 5; op++) {
		struct job_tally_row key = key_of(op, name);

		assert_int_equal(job_tally_row(&t, &key) != NULL, op < JOB_TALLY_ROWS);
	}
	assert_int_equal(t.count, JOB_TALLY_ROWS);
	assert_int_equal(t.total[JOB_TALLY_LEFT_OUT], 5);
	job_tally_release(&t);
}

/* Cut or changed anywhere it is refused or read as some table; it is never read beyond its end. */
static void damaged(void **state)
{
	struct job_tally t, out;
	size_t bytes;
	uint8_t *data, *copy;

	reduce(&t, 0, 64);
	data = job_tally_encode(&t, &bytes);
	for (size_t n = 0; n < bytes; n++) {
		copy = malloc(n + 1); /* of its own size, so that a sanitizer sees more */
		memcpy(copy, data, n);
		assert_false(job_tally_decode(&out, copy, n));
		job_tally_release(&out);
		free(copy);
	}
	for (size_t n = 0; n < bytes; n++) {
		data[n] ^= 0xff;
		job_tally_decode(&out, data, bytes);
		job_tally_release(&out);
		data[n] ^= 0xff;
	}
	free(data);
	job_tally_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree),
		cmocka_unit_test(rank_of_another_mode),
		cmocka_unit_test(too_many_rows),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
