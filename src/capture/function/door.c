/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-function.so: preloaded where functions are traced. It has what compilers call where functions begin and return, before
 * the C library's functions of these names, which do nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

#include "capture/function/function.h"
#include "core/intercept/doors.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void __cyg_profile_func_enter(void *function, void *site);
EXPORT void __cyg_profile_func_exit(void *function, void *site);

static bool started;
static _Thread_local unsigned made; /* threads, by this one */

typedef void *open_fn(const char *, int);

static int (*next_backtrace)(void **, int);
static int (*next_close)(void *);
static open_fn *next_open;
static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*next_thrd_create)(thrd_t *, thrd_start_t, void *);

/* Other constructors may call them before ours has run. */
static void find_functions(void)
{
	if (next_close)
		return;
	DOORS_FIND(next_backtrace, "backtrace");
	DOORS_FIND(next_open, "dlopen");
	DOORS_FIND(next_create, "pthread_create");
	DOORS_FIND(next_thrd_create, "thrd_create");
	DOORS_FIND(next_close, "dlclose");
}

void kymo_door_find_function(void)
{
	int saved = errno;

	find_functions();
	errno = saved;
}

static __attribute__((constructor)) void begin(void)
{
	find_functions();
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

#if defined(__x86_64__)
/*
 * dlopen() looks at who calls it, so the C library's is jumped to, but where something of the plan is not loaded yet, and it can be called in the
 * place of the caller: then what was loaded is patched before anybody has the handle.
 */
__attribute__((visibility("hidden"))) open_fn *door_open_through(const char *file,
								 const void *caller);
__attribute__((visibility("hidden"))) void *door_open(const char *file, int mode);

/* NULL: door_open() is to be called. */
open_fn *door_open_through(const char *file, const void *caller)
{
	find_functions();
	return started && kymo_function_open_begin(file, caller) ? NULL : next_open;
}

void *door_open(const char *file, int mode)
{
	unsigned before = made;
	void *handle = next_open(file, mode);

	kymo_function_open_end(made - before);
	return handle;
}

__asm__(".text\n"
	".globl dlopen\n"
	".type dlopen, @function\n"
	"dlopen:\n"
	".cfi_startproc\n"
	"	pushq %rdi\n"
	".cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	".cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"	movq 24(%rsp), %rsi\n"
	"	call door_open_through\n"
	"	addq $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	".cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	".cfi_adjust_cfa_offset -8\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	jmp *%rax\n"
	"1:	jmp door_open\n"
	".cfi_endproc\n"
	".size dlopen, . - dlopen\n");

/* ---- threads that constructors start ---- */

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);
EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
		   void *argument)
{
	find_functions();
	made++;
	return next_create(thread, attributes, function, argument);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	find_functions();
	made++;
	return next_thrd_create(thread, function, argument);
}
#endif

/* Stubs stand in a stack beside the addresses that they stand for; the first address is this function's. */
EXPORT int backtrace(void **out, int most);

int backtrace(void **out, int most)
{
	int count, kept = 0;

	find_functions();
	count = next_backtrace ? next_backtrace(out, most) : 0;
	for (int i = 1; i < count; i++)
		if (!kymo_function_stub(out[i]))
			out[kept++] = out[i];
	return kept;
}

EXPORT int dlclose(void *handle);

int dlclose(void *handle)
{
	int result;

	find_functions();
	result = next_close(handle);
	if (started)
		kymo_function_unloaded();
	return result;
}
