/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that only intercepts: it counts calls of a few functions of whatever runtime has them, and
 * calls the runtime from one of its wrappers. Built several times, as NAME. When it ends it appends
 * what it counted to the file TOOL_REPORT.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/intercept.h>
#include <kymo/tool.h>

static struct {
	const char *domain, *op;
	void *wrapper;
	void *next;
	kymo_chain_t chain;
	_Atomic unsigned calls;
} points[4];

enum { KERNEL, RELEASE, TWICE, MALLOC, POINTS };

#define COUNT(point) atomic_fetch_add(&points[point].calls, 1)

static int kernel(void *queue, void *k, uint32_t dimensions, const size_t *offset,
		  const size_t *global, const size_t *local, uint32_t n, void *const *events,
		  void **event)
{
	int (*next)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *,
		    uint32_t, void *const *, void **) = kymo_intercept_next(&points[KERNEL].next);

	COUNT(KERNEL);
	return next(queue, k, dimensions, offset, global, local, n, events, event);
}

/* Calls the runtime as a program does, this function among others. */
static int release(void *context)
{
	static _Thread_local int inside;
	int (*next)(void *) = kymo_intercept_next(&points[RELEASE].next);
	int (*retain)(void *) = dlsym(RTLD_DEFAULT, "clRetainContext");
	int (*drop)(void *) = dlsym(RTLD_DEFAULT, "clReleaseContext");

	COUNT(RELEASE);
	if (!inside && retain && drop) {
		inside = 1;
		if (retain(context) == 0)
			drop(context);
		inside = 0;
	}
	return next(context);
}

static int twice(int n)
{
	int (*next)(int) = kymo_intercept_next(&points[TWICE].next);

	COUNT(TWICE);
	return next(n);
}

static int hip_malloc(void **pointer, size_t size)
{
	int (*next)(void **, size_t) = kymo_intercept_next(&points[MALLOC].next);

	COUNT(MALLOC);
	return next(pointer, size);
}

static void on_table(kymo_table_event_t event, const kymo_table_info_t *info, void *data)
{
	uint32_t index;

	for (int i = 0; event == KYMO_TABLE_HERE && i < POINTS; i++)
		if (strcmp(points[i].domain, info->domain->name) == 0 &&
		    kymo_intercept_find(info->table, points[i].op, &index) == KYMO_OK)
			kymo_intercept_chain(info->table, index, points[i].wrapper, &points[i].next,
					     &points[i].chain);
}

static kymo_status_t initialize(void *data)
{
	static kymo_listener_t listener;

	points[KERNEL].domain = points[RELEASE].domain = "opencl";
	points[KERNEL].op = "clEnqueueNDRangeKernel";
	points[KERNEL].wrapper = (void *)kernel;
	points[RELEASE].op = "clReleaseContext";
	points[RELEASE].wrapper = (void *)release;
	points[TWICE].domain = "fake";
	points[TWICE].op = "twice";
	points[TWICE].wrapper = (void *)twice;
	points[MALLOC].domain = "hip";
	points[MALLOC].op = "hipMalloc";
	points[MALLOC].wrapper = (void *)hip_malloc;
	return kymo_intercept_listen(NULL, on_table, NULL, &listener);
}

static void finalize(void *data)
{
	const char *path = getenv("TOOL_REPORT");
	FILE *f = path ? fopen(path, "a") : NULL;

	for (int i = 0; f && i < POINTS; i++)
		if (points[i].chain.handle)
			fprintf(f, "%s %s %u\n", NAME, points[i].op, atomic_load(&points[i].calls));
	if (f)
		fclose(f);
}

static const kymo_tool_t tool = {
	.size = sizeof(tool), .name = NAME, .initialize = initialize, .finalize = finalize};

const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t priority);
const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t priority)
{
	return &tool;
}
