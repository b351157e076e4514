/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with the smallest stack that there may be, from the first of which everything that is
 * recorded is done: small_stack marker|children|opencl|nvtx. As the program's own code needs little
 * of the stack, what is left is Kymo's to use, but it is not much.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/marker.h>

#ifdef HAVE_OPENCL
#include <CL/cl.h>
#endif
#include "nvtx/fake.h"

#define THREADS 20
#define TIMES   100

#define SMALLEST 16384 /* PTHREAD_STACK_MIN where it is a constant */

static size_t stack = SMALLEST;

static void *marks(void *unused)
{
	for (int i = 0; i < TIMES; i++) {
		kymo_range_push("range");
		kymo_mark("mark");
		kymo_range_pop();
	}
	return NULL;
}

/* A child of a thread with a small stack, whose first mark is its own. */
static void *children(void *unused)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		marks(NULL);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		exit(1);
	return NULL;
}

#ifdef HAVE_OPENCL
static void *calls(void *unused)
{
	for (int i = 0; i < TIMES; i++) {
		cl_uint n = 0;

		clGetPlatformIDs(0, NULL, &n);
	}
	return NULL;
}
#endif

static void *nvtx(void *unused)
{
	nvtxEventAttributes_t e = {0};

	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = 2 /* of wide characters */;
	e.message.unicode = L"wide";
	for (int i = 0; i < TIMES; i++) {
		nvtxRangePushEx(&e);
		nvtxMarkEx(&e);
		nvtxMarkA("mark");
		nvtxRangePop();
	}
	return NULL;
}

static void run(void *(*fn)(void *))
{
	pthread_t t[THREADS];
	pthread_attr_t a;

	pthread_attr_init(&a);
	if (pthread_attr_setstacksize(&a, stack) != 0)
		exit(1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], &a, fn, NULL) != 0)
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc > 2)
		stack = (size_t)atol(argv[2]);
	if (strcmp(what, "marker") == 0)
		run(marks);
	else if (strcmp(what, "children") == 0)
		run(children);
#ifdef HAVE_OPENCL
	else if (strcmp(what, "opencl") == 0)
		run(calls);
#endif
	else if (strcmp(what, "nvtx") == 0)
		run(nvtx);
	else
		return 77;
	return 5;
}
