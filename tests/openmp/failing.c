/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime that takes no target region, and tells OMPT so of some only: built with LIBRARY it stands for
 * libomp and libomptarget, without it is the program. Regions 1 and 3 of five are told.
 */
#include <stdint.h>
#include <stdio.h>

int __tgt_target_kernel(void *location, int64_t device, int32_t teams, int32_t threads,
			void *kernel, void *arguments);

#ifdef LIBRARY
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { CALLBACK_TARGET = 8, CALLBACK_TARGET_EMI = 33, TARGET = 1, BEGIN = 1, END = 2, ALWAYS = 5 };

typedef void (*function)(void);
typedef void (*target_emi)(int kind, int endpoint, int device, uint64_t *task,
			   uint64_t *target_task, uint64_t *target, const void *code);

struct tool {
	int (*initialize)(function (*lookup)(const char *name), int device, void *data);
	void (*finalize)(void *data);
	uint64_t data;
};

static target_emi told;

static int set_callback(int which, function f)
{
	if (which == CALLBACK_TARGET_EMI)
		told = (target_emi)f;
	return ALWAYS;
}

static function lookup(const char *name)
{
	return strcmp(name, "ompt_set_callback") == 0 ? (function)set_callback : NULL;
}

/* The last of the tools that are named, unless there is to be none. */
__attribute__((constructor)) static void find_tool(void)
{
	const char *list = getenv("OMP_TOOL") ? NULL : getenv("OMP_TOOL_LIBRARIES");
	const char *last = list ? strrchr(list, ':') : NULL;
	void *library = list ? dlopen(last ? last + 1 : list, RTLD_NOW) : NULL;
	struct tool *(*start)(unsigned, const char *), *t;

	if (!library)
		return;
	*(void **)&start = dlsym(library, "ompt_start_tool");
	t = start ? start(201811, "fake") : NULL;
	if (t)
		t->initialize(lookup, 0, &t->data);
}

int __tgt_target_kernel(void *location, int64_t device, int32_t teams, int32_t threads,
			void *kernel, void *arguments)
{
	static int regions;
	uint64_t task = 0, target = 0;
	const void *code = __builtin_return_address(0);

	if (regions++ % 2 && told) {
		told(TARGET, BEGIN, (int)device, &task, NULL, &target, code);
		told(TARGET, END, (int)device, &task, NULL, &target, code);
	}
	return 1;
}
#else
int main(void)
{
	static char kernel;
	int failed = 0;

	for (int i = 0; i < 5; i++)
		failed += __tgt_target_kernel(NULL, 0, 1, 1, &kernel, NULL) != 0;
	printf("%d on the host\n", failed);
	return 0;
}
#endif
