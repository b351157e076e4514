/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens libraries, calls `work(n)` of each n times, closes and opens them again. Prints what they returned: opened N LIBRARY... With
 * more than 100 rounds (ROUNDS in the environment) two threads do so at one time, and nothing is printed but a sum.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long use(const char *path, unsigned n)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
	unsigned long (*work)(unsigned), sum = 0;

	symbol = library ? dlsym(library, "work") : NULL;
	if (!symbol) {
		printf("%s\n", dlerror());
		exit(1);
	}
	memcpy(&work, &symbol, sizeof(work));
	for (unsigned i = 0; i < n; i++)
		sum += work(i);
	dlclose(library);
	return sum;
}

static int rounds, count;
static char **words;

static void *use_all(void *out)
{
	unsigned long *sum = out;

	for (int round = 0; round < rounds; round++)
		for (int i = 2; i < count; i++)
			*sum += use(words[i], (unsigned)atoi(words[1]));
	return NULL;
}

static void use_in_two(void)
{
	unsigned long sums[2] = {0, 0};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, use_all, &sums[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%lu\n", sums[0] + sums[1]);
}

int main(int argc, char **argv)
{
	const char *text = getenv("ROUNDS");

	rounds = text ? atoi(text) : 2;
	count = argc;
	words = argv;
	if (rounds > 100) {
		use_in_two();
		return 0;
	}
	for (int round = 0; round < rounds; round++)
		for (int i = 2; i < argc; i++)
			printf("%lu\n", use(argv[i], (unsigned)atoi(argv[1])));
	return 0;
}
