/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions without pointers: what is made of them, once, whoever asks first. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "base/packed.h"

/* Texts: 0 "", 1 "toy", 5 "Toy", 9 "open", 14 "close", 20 "way", 24 "int", 28 "left", 33 "right" */
#define TEXT "\0toy\0Toy\0open\0close\0way\0int\0left\0right"

struct rows {
	struct packed head;
	struct packed_domain domains[2];
	struct packed_op ops[3];
	struct packed_field fields[2];
	struct packed_set sets[1];
	struct packed_value values[2];
	char text[sizeof(TEXT)];
};

#define ROWS                                                                                       \
	{                                                                                          \
		.head = {.text = offsetof(struct rows, text),                                      \
			 .domains = offsetof(struct rows, domains),                                \
			 .domain_count = 2,                                                        \
			 .ops = offsetof(struct rows, ops),                                        \
			 .op_count = 3,                                                            \
			 .fields = offsetof(struct rows, fields),                                  \
			 .field_count = 2,                                                         \
			 .sets = offsetof(struct rows, sets),                                      \
			 .set_count = 1,                                                           \
			 .values = offsetof(struct rows, values),                                  \
			 .value_count = 2},                                                        \
		.domains = {{1, 5, 7, 0, 1}, {5, 1, 8, 1, 2}},                                     \
		.ops = {{14, 0, 0, KYMO_OP_WAITS, 3, 1}, {9, 1, 2, 0, 0, 0}, {14, 2, 1, 0, 0, 0}}, \
		.fields = {{20, 24, 1, KYMO_KIND_ENUM, 0, 4, KYMO_FIELD_OUT},                      \
			   {28, 24, 0, KYMO_KIND_ARRAY, KYMO_KIND_SIGNED, 8, 0}},                  \
		.sets = {{20, 0, 2}}, .values = {{-1, 28}, {1ll << 40, 33}}, .text = TEXT          \
	}

static const struct rows toy = ROWS, other = ROWS, third = ROWS, fourth = ROWS;

static void test_everything_is_there(void **state)
{
	const kymo_domain_desc_t *d = packed_describe(&toy.head, 0),
				 *e = packed_describe(&toy.head, 1);
	const kymo_field_t *f;

	assert_int_equal(d->size, sizeof(*d));
	assert_string_equal(d->name, "toy");
	assert_string_equal(d->title, "Toy");
	assert_int_equal(d->version, 7);
	assert_int_equal(d->op_count, 1);
	assert_string_equal(d->ops[0].name, "close");
	assert_null(d->ops[0].fields);
	assert_int_equal(d->ops[0].flags, KYMO_OP_WAITS);
	assert_int_equal(d->ops[0].status_ok, 3);
	assert_int_equal(e->op_count, 2);
	assert_string_equal(e->ops[0].name, "open");
	assert_int_equal(e->ops[0].field_count, 2);
	assert_null(e->ops[0].status_set);
	f = e->ops[0].fields;
	assert_string_equal(f[0].name, "way");
	assert_string_equal(f[0].type, "int");
	assert_int_equal(f[0].kind, KYMO_KIND_ENUM);
	assert_int_equal(f[0].size, 4);
	assert_int_equal(f[0].flags, KYMO_FIELD_OUT);
	assert_null(f[1].set);
	assert_int_equal(f[1].element, KYMO_KIND_SIGNED);
	assert_ptr_equal(e->ops[1].fields, &f[1]);
	assert_ptr_equal(d->ops[0].status_set, f[0].set);
	assert_string_equal(f[0].set->name, "way");
	assert_int_equal(f[0].set->count, 2);
	assert_string_equal(f[0].set->values[0].name, "left");
	assert_true(f[0].set->values[0].value == -1);
	assert_true(f[0].set->values[1].value == 1ll << 40);
	assert_ptr_equal(packed_describe_fields(&toy.head, 2), &f[1]);
}

static void test_what_is_not_there(void **state)
{
	assert_null(packed_describe(&toy.head, 2));
	assert_null(packed_describe_fields(&toy.head, 0));
	assert_null(packed_describe_fields(&toy.head, 3));
}

static void test_made_once(void **state)
{
	assert_ptr_equal(packed_describe(&toy.head, 0), packed_describe(&toy.head, 0));
	assert_ptr_not_equal(packed_describe(&toy.head, 0), packed_describe(&other.head, 0));
}

#define THREADS 8

static pthread_barrier_t barrier;

static void *ask(void *arg)
{
	pthread_barrier_wait(&barrier);
	return (void *)(uintptr_t)packed_describe(&third.head, 0);
}

static void test_threads_get_the_same(void **state)
{
	pthread_t threads[THREADS];
	void *got, *first = NULL;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &got);
		assert_non_null(got);
		first = first ? first : got;
		assert_ptr_equal(got, first);
	}
	pthread_barrier_destroy(&barrier);
}

/* It is said, and errno stays; with memory it works again. */
static void test_no_memory(void **state)
{
	struct rlimit was, none;
	const kymo_domain_desc_t *d;

	assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
	none = (struct rlimit){0, was.rlim_max};
	errno = ERANGE;
	setrlimit(RLIMIT_AS, &none);
	d = packed_describe(&fourth.head, 0);
	setrlimit(RLIMIT_AS, &was);
	assert_null(d);
	assert_int_equal(errno, ERANGE);
	assert_non_null(packed_describe(&fourth.head, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_there),
		cmocka_unit_test(test_what_is_not_there),
		cmocka_unit_test(test_made_once),
		cmocka_unit_test(test_threads_get_the_same),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
