/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens libraries of the current folder one after the other: modules_program exit|kill calls|burn. Says how many files were opened and
 * whether all lay at one address. "clock" instead: asks for the time, for 300 ms.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int (*function)(int n);

static void *last;
static int same = 1, opened;

static function find(void *library, const char *name)
{
	void *found = library ? dlsym(library, name) : NULL;
	function f;

	if (!found) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(1);
	}
	memcpy(&f, &found, sizeof(f));
	return f;
}

static void use(const char *file, const char *name, int n)
{
	void *library = dlopen(file, RTLD_NOW);
	function f = find(library, name);
	Dl_info info;

	if (!dladdr(*(void **)(void *)&f, &info))
		exit(1);
	same = same && (!last || last == info.dli_fbase);
	last = info.dli_fbase;
	opened += f(n);
	dlclose(library);
}

static void ask_clock(void)
{
	struct timespec t = {0};

	while (clock() < CLOCKS_PER_SEC * 3 / 10)
		for (int i = 0; i < 100000; i++)
			clock_gettime(CLOCK_MONOTONIC, &t);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	if (strcmp(argv[2], "burn") == 0) {
		use("./modules_first.so", "first_burn", 500);
	} else if (strcmp(argv[2], "clock") == 0) {
		ask_clock();
	} else {
		use("./modules_first.so", "first_calls", 3);
		use("./modules_second.so", "second_calls", 5);
		use("./modules_first.so", "first_more", 7);
		printf("%d %d\n", opened, same);
		fflush(stdout);
	}
	if (chdir("/") != 0)
		return 1;
	if (strcmp(argv[1], "kill") == 0)
		kill(getpid(), SIGKILL);
	return 0;
}
