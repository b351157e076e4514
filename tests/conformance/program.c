/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program over a stand-in runtime (tests/register/mock_kymo.c), with ranges and threads: program
 * RUNTIME THREADS CALLS.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <kymo/marker.h>

static int (*work)(int);
static int calls;

static void *run(void *arg)
{
	int wrong = 0;

	kymo_range_push("outer");
	for (int i = 0; i < calls; i++) {
		kymo_range_push("inner");
		wrong += work(2);
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
	*(void **)&reg = dlsym(library, "mock_kymo_register");
	*(void **)&work = dlsym(library, "mock_kymo_work");
	if (reg() != 0)
		return 4;
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
