/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-function.so: preloaded where functions are traced. It has what compilers call where functions begin and return, before
 * the C library's functions of these names, which do nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "capture/function/function.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void __cyg_profile_func_enter(void *function, void *site);
EXPORT void __cyg_profile_func_exit(void *function, void *site);

static bool started;

static __attribute__((constructor)) void begin(void)
{
	started = kymo_function_start();
}

void __cyg_profile_func_enter(void *function, void *site)
{
	if (started)
		kymo_function_enter(function, site, cap_sp());
}

void __cyg_profile_func_exit(void *function, void *site)
{
	if (started)
		kymo_function_leave(function, site, cap_sp(), __builtin_return_address(0));
}

#if defined(__x86_64__)
/* What -pg calls: registers are as the function found them, so nothing is done here but to go on. */
__asm__(".text\n"
	".macro hook name, to\n"
	".globl \\name\n"
	".type \\name, @function\n"
	"\\name: jmp \\to@PLT\n"
	".size \\name, . - \\name\n"
	".endm\n"
	"hook mcount, kymo_function_mcount\n"
	"hook _mcount, kymo_function_mcount\n"
	"hook __fentry__, kymo_function_fentry\n");
#endif

/* Stubs stand in a stack beside the addresses that they stand for; the first address is this function's. */
EXPORT int backtrace(void **out, int most);

int backtrace(void **out, int most)
{
	static int (*_Atomic next)(void **, int);
	int (*real)(void **, int) = atomic_load_explicit(&next, memory_order_relaxed);
	int count, kept = 0;
	void *symbol;

	if (!real) {
		symbol = dlsym(RTLD_NEXT, "backtrace");
		if (!symbol)
			return 0;
		memcpy(&real, &symbol, sizeof(real));
		atomic_store_explicit(&next, real, memory_order_relaxed);
	}
	count = real(out, most);
	for (int i = 1; i < count; i++)
		if (!kymo_function_stub(out[i]))
			out[kept++] = out[i];
	return kept;
}

EXPORT int dlclose(void *handle);

int dlclose(void *handle)
{
	static int (*_Atomic next)(void *);
	int (*real)(void *) = atomic_load_explicit(&next, memory_order_relaxed);
	void *symbol;
	int result;

	if (!real) {
		symbol = dlsym(RTLD_NEXT, "dlclose");
		if (!symbol)
			return -1;
		memcpy(&real, &symbol, sizeof(real));
		atomic_store_explicit(&next, real, memory_order_relaxed);
	}
	result = real(handle);
	if (started)
		kymo_function_unloaded();
	return result;
}
