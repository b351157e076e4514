/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for NVTX: each program and library that was compiled with NVTX's headers has a copy of
 * its own, which loads the library that NVTX_INJECTION64_PATH names at its first annotation and asks
 * it to fill in its functions. Functions that are left alone stay without effect.
 */
#include <errno.h>

#include <kymo/status.h>

#include "capture/nvtx/nvtx.h"

KYMO_EXPORT int InitializeInjectionNvtx2(nvtx_export_table export_table);
KYMO_EXPORT int InitializeInjectionNvtx2Preinject(nvtx_export_table export_table);

static void fill_table(const struct nvtx_callbacks *callbacks, int module)
{
	nvtx_function **table = NULL;
	unsigned size = 0;

	if (!callbacks->table(module, &table, &size) || !table)
		return;
	for (unsigned id = 1; id < size; id++) {
		nvtx_function f = nvtx_events_function(module, id);

		if (!f)
			f = nvtx_names_function(module, id);
		if (f && table[id])
			*table[id] = f;
	}
}

/* Once for each copy of NVTX in the process. */
int InitializeInjectionNvtx2(nvtx_export_table export_table)
{
	const struct nvtx_callbacks *callbacks;
	int saved = errno;

	callbacks = export_table ? export_table(NVTX_EXPORT_CALLBACKS) : NULL;
	if (!callbacks || callbacks->size < sizeof(*callbacks) || !callbacks->table)
		return 0;
	for (int module = NVTX_CORE; module <= NVTX_SYNC; module++)
		fill_table(callbacks, module);
	errno = saved;
	return 1;
}

/* Programs may have NVTX look for tools that were preloaded, under this name. */
int InitializeInjectionNvtx2Preinject(nvtx_export_table export_table)
{
	return InitializeInjectionNvtx2(export_table);
}
