/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a module of PTX, on stand-ins for CUPTI and the driver: twins.c FILE [cooperative|capture|graph|library|unload|unseen|large]. Prints what its memory holds then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "fake_driver.h"

enum {
	DRIVER = 1,
	RUNTIME = 2,
	CU_LOAD = 20,
	CU_LAUNCH = 307,
	CU_LAUNCH_EX = 652,
	CU_ALLOC = 243,
	CU_UNLOAD = 22,
	CU_LIBRARY = 678,
	CU_GRAPH_LAUNCH = 514,
	RT_LAUNCH = 211,
	GROUPS = 8,
	ITEMS = 64,
	WORDS = 16
};

static const char kernel[] = "_Z5scalePji";
static void *context;
static unsigned groups = GROUPS;

static struct fake_library library;

/* As a module, or as a library, which is loaded by another function. */
static void *load(const char *path, bool as_library)
{
	void *handle = &library;
	char *text = calloc(1, 1 << 20);
	FILE *f = fopen(path, "r");
	void *module = NULL;
	struct {
		void **module;
		const void *image;
		void *more[6];
	} p = {as_library ? &handle : &module, text, {NULL}};
	struct fake_call c = {
		DRIVER, as_library ? CU_LIBRARY : CU_LOAD, &p, 0, fake_correlation(), 1, 0, NULL};

	if (!f || !fread(text, 1, (1 << 20) - 1, f))
		exit(1);
	fclose(f);
	fake_enter(&c);
	if (memcmp(text, "\177ELF", 4) == 0) /* the fake takes text alone */
		cuModuleLoadDataEx(&module, kernel, 0, NULL, NULL);
	else
		cuModuleLoadDataEx(&module, text, 0, NULL, NULL);
	library.module = module;
	fake_leave(&c, 0);
	memset(text, 'x', 1 << 20); /* it is the program's again */
	free(text);
	return module;
}

static uint64_t allocate(size_t bytes)
{
	uint64_t at = 0;
	struct {
		uint64_t *at;
		size_t bytes;
	} p = {&at, bytes};
	struct fake_call c = {DRIVER, CU_ALLOC, &p, 0, fake_correlation(), 1, 0, NULL};

	fake_enter(&c);
	cuMemAlloc_v2(&at, bytes);
	fake_leave(&c, 0);
	return at;
}

static void launch(void *function, uint64_t words, void *stream)
{
	uint32_t n = WORDS;
	void *params[] = {&words, &n};
	struct {
		const void *function;
		uint32_t grid[3], block[3];
		void **args;
		size_t shared;
		void *stream;
	} r = {kernel, {groups, 1, 1}, {ITEMS, 1, 1}, params, 0, stream};
	struct {
		void *f;
		unsigned grid[3], block[3], shared;
		void *stream;
		void **params, **extra;
	} d = {function, {groups, 1, 1}, {ITEMS, 1, 1}, 0, stream, params, NULL};
	uint32_t correlation = fake_correlation();
	struct fake_call outer = {RUNTIME, RT_LAUNCH, &r, 0, correlation, 1, 0, kernel};
	struct fake_call inner = {DRIVER, CU_LAUNCH, &d, 0, correlation, 1, 0, kernel};

	fake_enter(&outer);
	fake_enter(&inner);
	cuLaunchKernel(function, groups, 1, 1, ITEMS, 1, 1, 0, stream, params, NULL);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
}

/* By cuLaunchKernelEx(), with an attribute: of a cooperative launch. */
static void launch_cooperative(void *function, uint64_t words)
{
	uint32_t n = WORDS;
	void *params[] = {&words, &n};
	char attribute[72] = {2, 0, 0, 0, 0, 0, 0, 0, 1};
	struct {
		unsigned grid[3], block[3], shared;
		void *stream;
		const char *attributes;
		unsigned count;
	} config = {{groups, 1, 1}, {ITEMS, 1, 1}, 0, NULL, attribute, 1};
	struct {
		const void *config;
		void *f;
		void **params, **extra;
	} p = {&config, function, params, NULL};
	struct fake_call c = {DRIVER, CU_LAUNCH_EX, &p, 0, fake_correlation(), 1, 0, kernel};

	fake_enter(&c);
	cuLaunchKernel(function, groups, 1, 1, ITEMS, 1, 1, 0, NULL, params, NULL);
	fake_leave(&c, 0);
}

static void unload(void *module)
{
	struct fake_call c = {DRIVER, CU_UNLOAD, &module, 0, fake_correlation(), 1, 0, NULL};

	fake_enter(&c);
	fake_leave(&c, 0);
}

static void launch_graph(void)
{
	void *params[2] = {(void *)0x9, NULL};
	struct fake_call c = {DRIVER, CU_GRAPH_LAUNCH, params, 0, fake_correlation(), 1, 0, NULL};

	fake_enter(&c);
	fake_leave(&c, 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	struct fake_function kernel_of_library = {NULL, NULL, false};
	void *module, *function = NULL;
	uint64_t words, other;

	if (strcmp(how, "large") ==
	    0) /* of so many accesses that they do not fit into a run's room */
		groups = 16384;
	cuInit(0);
	context = fake_context(1);
	module = load(argv[1], strcmp(how, "library") == 0);
	if (strcmp(how, "unseen") == 0) /* nobody was told of it: it was there before */
		cuMemAlloc_v2(&words, WORDS * sizeof(uint32_t));
	else
		words = allocate(WORDS * sizeof(uint32_t));
	other = allocate(64);
	memset((void *)(uintptr_t)other, 7, 64);
	cuModuleGetFunction(&function, module, kernel);
	kernel_of_library.plain = function;
	if (strcmp(how, "library") == 0)
		function = &kernel_of_library;
	for (int i = 0; i < 3; i++) {
		if (i == 2 && strcmp(how, "unload") == 0)
			unload(module);
		if (strcmp(how, "cooperative") == 0)
			launch_cooperative(function, words);
		else
			launch(function, words, strcmp(how, "capture") == 0 ? (void *)0x77 : NULL);
	}
	if (strcmp(how, "graph") == 0)
		launch_graph();
	printf("%u %u, twins %u\n", ((uint32_t *)(uintptr_t)words)[WORDS - 1],
	       ((uint32_t *)(uintptr_t)other)[0], fake_twins());
	return 0;
}
