/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the functions by which a program begins to use CUPTI itself, as PyTorch's profiler,
 * XLA's and other tools do. Only one can use CUPTI in a process, and the program comes first: the
 * first such call makes Kymo leave CUPTI before it reaches the program's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "capture/exports/door.h"
#include "core/intercept/resolve.h"

/* Of libkymo.so.1. */
void kymo_cuda_aside(const char *function, const void *caller);
bool kymo_exports_open(const char *domain, void **entries, uint32_t count);

#define USED EXPORTS_HIDDEN __attribute__((used))

void *cupti_resolve(uint32_t number, const void *caller) USED;
extern const char cupti_thunks[] EXPORTS_HIDDEN, cupti_thunks_end[] EXPORTS_HIDDEN;

#define FUNCTIONS(X)                                                                               \
	X(0, cuptiSubscribe)                                                                       \
	X(1, cuptiSubscribe_v2)                                                                    \
	X(2, cuptiActivityRegisterCallbacks)                                                       \
	X(3, cuptiActivityRegisterCallbacks_v2)                                                    \
	X(4, cuptiActivityRegisterTimestampCallback)                                               \
	X(5, cuptiActivityEnable)                                                                  \
	X(6, cuptiActivityEnable_v2)                                                               \
	X(7, cuptiActivityEnableContext)                                                           \
	X(8, cuptiActivityEnableAndDump)                                                           \
	X(9, cuptiActivityEnableDriverApi)                                                         \
	X(10, cuptiActivityEnableRuntimeApi)                                                       \
	X(11, cuptiEventGroupEnable)                                                               \
	X(12, cuptiEventGroupSetEnable)                                                            \
	X(13, cuptiProfilerBeginSession)                                                           \
	X(14, cuptiRangeProfilerEnable)                                                            \
	X(15, cuptiPCSamplingEnable)                                                               \
	X(16, cuptiPmSamplingEnable)                                                               \
	X(17, cuptiSassMetricsEnable)                                                              \
	X(18, cuptiFinalize)

#define NAME(number, name) [number] = #name,
static const char names[][40] = {FUNCTIONS(NAME)};
#undef NAME

enum { COUNT = sizeof(names) / sizeof(names[0]) };

static void *_Atomic found[COUNT]; /* by dlsym(), for whoever asked last */

#if defined(__x86_64__)
#define JUMP(number) "\tendbr64\n\tmov $" #number ", %r11d\n\tjmp cupti_unbound\n"
#elif defined(__aarch64__)
#define JUMP(number) "\thint #34\n\tmov x17, #" #number "\n\tb cupti_unbound\n"
#endif

#define LABEL(name) "\t.balign 32\n\t.globl " #name "\n\t.hidden " #name "\n" #name ":\n"
#define THUNK(number, name)                                                                        \
	"\t.balign 32\n\t.globl " #name "\n\t.type " #name ", %function\n" #name                   \
	":\n" JUMP(number) "\t.size " #name ", . - " #name "\n"

__asm__(".pushsection .text,\"ax\",%progbits\n" LABEL(cupti_thunks) FUNCTIONS(THUNK)
		LABEL(cupti_thunks_end) "\t.popsection\n");

static uint32_t number_of(const char *name)
{
	uint32_t i = 0;

	while (i < COUNT && strcmp(names[i], name) != 0)
		i++;
	return i;
}

bool cupti_is_thunk(const void *function)
{
	const char *at = function;

	return at >= cupti_thunks && at < cupti_thunks_end;
}

static void *thunk_of(uint32_t number)
{
	return (void *)(uintptr_t)(cupti_thunks + (size_t)number * 32);
}

/* From which copy of CUPTI the caller would have it: there can be several in a process. */
static void *real(const char *name, const void *caller)
{
	void *function = NULL, *library;
	Dl_info info;

	if (dladdr(caller, &info) && info.dli_fname) {
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		function = library ? exports_symbol(library, name) : NULL;
		if (library)
			dlclose(library);
	}
	if (!function)
		function = exports_symbol(RTLD_NEXT, name);
	return function ? function : exports_hunt("libcupti", name);
}

/* What a program gets that was linked to CUPTI weakly, where there is none. */
static int absent(void)
{
	return 15; /* CUPTI_ERROR_NOT_INITIALIZED */
}

static bool same_object(const void *a, const void *b)
{
	Dl_info of_a, of_b;

	return dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

static bool is_kymo(const void *caller)
{
	return same_object((void *)(uintptr_t)kymo_exports_open, caller);
}

/* What CUPTI calls of itself, perhaps on behalf of Kymo, is nobody's beginning. */
void *cupti_resolve(uint32_t number, const void *caller)
{
	void *function = atomic_load(&found[number]);
	int saved = errno;

	if (!function)
		function = real(names[number], caller);
	if (function && !same_object(function, caller) && !is_kymo(caller))
		kymo_cuda_aside(names[number], caller);
	errno = saved;
	return function ? function : (void *)(uintptr_t)absent;
}

RESOLVE_AND_JUMP("cupti_unbound", "cupti_resolve");

void door_opened(unsigned library, const void *called)
{
}

bool door_inner(const void *called, const void *caller)
{
	return false;
}

bool cupti_has(const char *name)
{
	return strncmp(name, "cupti", 5) == 0 && number_of(name) < COUNT;
}

void *cupti_dlsym(void *handle, const char *name, const void *caller)
{
	const uint32_t number = number_of(name);
	void *function = exports_next_dlsym(handle, name);

	if (!function || is_kymo(caller))
		return cupti_is_thunk(function) ? exports_symbol(RTLD_NEXT, name) : function;
	if (!cupti_is_thunk(function))
		atomic_store(&found[number], function);
	else if (!real(name, caller))
		return NULL;
	return thunk_of(number);
}
