/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program over a fake runtime (tests/register/fake_kymo.c) and one of its own, whose
 * functions call each other through their table, with ranges and threads: program RUNTIME THREADS
 * CALLS.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <kymo/marker.h>
#include <kymo/register.h>

static int (*work)(int);
static int calls;

/* ---- a runtime of two functions ---- */

static int inner(int n);
static int outer(int n);

static struct {
	size_t size;
	int (*inner)(int);
	int (*outer)(int);
} table = {sizeof(table), inner, outer};

static int inner(int n)
{
	return n + 1;
}

static int outer(int n)
{
	return n ? table.outer(n - 1) + table.inner(n) : 0;
}

static const kymo_field_t fields[] = {
	{"n", "int", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_IN},
	{"result", "int", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_RESULT}};
static const kymo_op_desc_t ops[] = {{"inner", fields, 2, 0, NULL, 0},
				     {"outer", fields, 2, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "nested", "Nested", 1, 2, ops};

static void register_nested(void)
{
	static kymo_registration_id_t id;
	const kymo_registration_t r = {sizeof(r), "nested", 100, &table, &desc};

	if (kymo_register_table_dynamic(&r, &id) != KYMO_OK)
		fprintf(stderr, "the nested runtime was not registered\n");
}

/* ---- the program ---- */

static void *run(void *arg)
{
	int wrong = 0;

	kymo_range_push("outer");
	for (int i = 0; i < calls; i++) {
		kymo_range_push("inner");
		wrong += work(2) + (table.outer(3) != 9);
		kymo_range_pop();
	}
	kymo_range_pop();
	return (void *)(long)wrong;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int count = argc > 2 ? atoi(argv[2]) : 4;
	void *library, *wrong = NULL;
	int (*reg)(void);

	calls = argc > 3 ? atoi(argv[3]) : 100;
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library || count > 64) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	*(void **)&reg = dlsym(library, "fake_kymo_register");
	*(void **)&work = dlsym(library, "fake_kymo_work");
	if (reg() != 0)
		return 4;
	register_nested();
	run(NULL);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], &wrong);
		if (wrong)
			return 1;
	}
	return 0;
}
