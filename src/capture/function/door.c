/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-function.so: preloaded where functions are traced. It has what compilers call where functions begin and return, before
 * the C library's functions of these names, which do nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <threads.h>

#include "capture/function/function.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void __cyg_profile_func_enter(void *function, void *site);
EXPORT void __cyg_profile_func_exit(void *function, void *site);

static bool started;
static _Thread_local unsigned made; /* threads, by this one */

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

#if defined(__x86_64__)
/*
 * dlopen() looks at who calls it, so the C library's is jumped to, but where something of the plan is not loaded yet, and it can be called in the
 * place of the caller: then what was loaded is patched before anybody has the handle.
 */
typedef void *open_fn(const char *, int);

__attribute__((visibility("hidden"))) open_fn *door_open_through(const char *file,
								 const void *caller);
__attribute__((visibility("hidden"))) void *door_open(const char *file, int mode);

static open_fn *next_open(void)
{
	static open_fn *_Atomic next;
	open_fn *real = atomic_load_explicit(&next, memory_order_relaxed);
	void *symbol;

	if (!real) {
		symbol = dlsym(RTLD_NEXT, "dlopen");
		memcpy(&real, &symbol, sizeof(real));
		atomic_store_explicit(&next, real, memory_order_relaxed);
	}
	return real;
}

/* NULL: door_open() is to be called. */
open_fn *door_open_through(const char *file, const void *caller)
{
	open_fn *next = next_open();

	return started && kymo_function_open_begin(file, caller) ? NULL : next;
}

void *door_open(const char *file, int mode)
{
	unsigned before = made;
	void *handle = next_open()(file, mode);

	kymo_function_open_end(made - before);
	return handle;
}

/* ---- threads that constructors start ---- */

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);
EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
		   void *argument)
{
	static int (*_Atomic next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		atomic_load_explicit(&next, memory_order_relaxed);
	void *symbol;

	if (!real) {
		symbol = dlsym(RTLD_NEXT, "pthread_create");
		if (!symbol)
			return EAGAIN;
		memcpy(&real, &symbol, sizeof(real));
		atomic_store_explicit(&next, real, memory_order_relaxed);
	}
	made++;
	return real(thread, attributes, function, argument);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	static int (*_Atomic next)(thrd_t *, thrd_start_t, void *);
	int (*real)(thrd_t *, thrd_start_t, void *) =
		atomic_load_explicit(&next, memory_order_relaxed);
	void *symbol;

	if (!real) {
		symbol = dlsym(RTLD_NEXT, "thrd_create");
		if (!symbol)
			return thrd_error;
		memcpy(&real, &symbol, sizeof(real));
		atomic_store_explicit(&next, real, memory_order_relaxed);
	}
	made++;
	return real(thread, function, argument);
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
