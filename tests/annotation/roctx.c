/* SPDX-License-Identifier: Apache-2.0 */
/* A program annotated with ROCTx: linked to the library, or (argument) with the library opened. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#define FUNCTIONS(X)                                                                               \
	X(int, roctxRangePushA, (const char *))                                                    \
	X(int, roctxRangePop, (void))                                                              \
	X(void, roctxMarkA, (const char *))                                                        \
	X(uint64_t, roctxRangeStartA, (const char *))                                              \
	X(void, roctxRangeStop, (uint64_t))                                                        \
	X(int, roctxProfilerPause, (uint64_t))                                                     \
	X(int, roctxProfilerResume, (uint64_t))                                                    \
	X(int, roctxNameOsThread, (const char *))
#define DECLARE(type, name, parameters)                                                            \
	type name parameters __attribute__((weak));                                                \
	static type(*call_##name) parameters;
#define FIND(type, name, parameters)                                                               \
	if (library)                                                                               \
		*(void **)&call_##name = dlsym(library, #name);                                    \
	else                                                                                       \
		call_##name = name;                                                                \
	if (!call_##name) {                                                                        \
		puts("no " #name);                                                                 \
		return 1;                                                                          \
	}
FUNCTIONS(DECLARE)

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	uint64_t id;
	int outer, inner;

	FUNCTIONS(FIND)
	call_roctxNameOsThread("roctx main");
	outer = call_roctxRangePushA("outer");
	inner = call_roctxRangePushA("inner");
	call_roctxMarkA("here");
	printf("levels %d %d", outer, inner);
	printf(" %d", call_roctxRangePop());
	printf(" %d", call_roctxRangePop());
	printf(" %d\n", call_roctxRangePop());
	id = call_roctxRangeStartA("across");
	call_roctxRangeStop(id);
	call_roctxProfilerPause(0);
	call_roctxMarkA("hidden");
	call_roctxProfilerResume(0);
	call_roctxMarkA("seen");
	return 0;
}
