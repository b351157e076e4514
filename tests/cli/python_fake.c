/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says that it is Python 3.11, and has states of threads that are none: nowhere, of another thread, in the middle of the text,
 * and frames that go round.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN const unsigned long Py_Version = 0x030b0700;
SHOWN int PyCode_Type;
SHOWN void *PyGILState_GetThisThreadState(void);
SHOWN void _PyEval_EvalFrameDefault(void);

static uint64_t ring[64], state[64], cframe[4];
static volatile unsigned turn;

void *PyGILState_GetThisThreadState(void)
{
	switch (turn++ % 5) {
	case 0:
		return NULL;
	case 1:
		return (void *)16;
	case 2:
		return (void *)(uintptr_t)PyGILState_GetThisThreadState;
	case 3:
		return ring;
	default:
		return state;
	}
}

__attribute__((noinline)) void _PyEval_EvalFrameDefault(void)
{
	struct timespec t = {0, 0};

	while (t.tv_sec == 0 && t.tv_nsec < 600000000)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
}

int main(void)
{
	state[160 / 8] = (uint64_t)syscall(SYS_gettid);
	state[56 / 8] = (uint64_t)(uintptr_t)cframe;
	cframe[1] = (uint64_t)(uintptr_t)ring;
	ring[48 / 8] = (uint64_t)(uintptr_t)ring; /* its own caller */
	ring[32 / 8] = (uint64_t)(uintptr_t)ring; /* and code */
	_PyEval_EvalFrameDefault();
	return 0;
}
