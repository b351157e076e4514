/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for AMD's profiler: takes tables, counts, and wraps hipMalloc. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_profiler.h"
#include "fake_rocm.h"

static _Atomic int tables_taken, mallocs;
static int (*next_malloc)(void **ptr, size_t size);
static void (*_Atomic nested)(void);
static int refuse;

static int wrapped_malloc(void **ptr, size_t size)
{
	atomic_fetch_add(&mallocs, 1);
	return next_malloc(ptr, size);
}

int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t count)
{
	void (*inside)(void) = atomic_exchange(&nested, NULL);
	void **entry = (void **)((char *)tables[0] + 8) + FAKE_HIP_MALLOC;

	if (inside)
		inside();
	if (refuse)
		return 1;
	atomic_fetch_add(&tables_taken, 1);
	if (strcmp(name, "hip") == 0 && *entry) {
		memcpy(&next_malloc, entry, sizeof(next_malloc));
		*entry = (void *)(uintptr_t)wrapped_malloc;
	}
	return 0;
}

int fake_profiler_tables(void)
{
	return atomic_load(&tables_taken);
}

int fake_profiler_mallocs(void)
{
	return atomic_load(&mallocs);
}

void fake_profiler_nested(void (*function)(void))
{
	nested = function;
}

void fake_profiler_refuse(int on)
{
	refuse = on;
}
