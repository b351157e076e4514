/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-opencl-preload.so: the door for loaders that know no layers. It exports the functions of
 * OpenCL; each goes where an entry of one table says. The first call of any of them has the real
 * loader initialise itself, which opens our layer if the loader knows layers: then the table leads
 * straight to the loader, and what is traced is traced there. If not, the loader's functions become
 * the target of our layer, and the table leads through the layer.
 */
#include "capture/opencl/door_preload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "capture/opencl/door.h"

#define LOADER "libOpenCL.so.1"

void *_Atomic ocl_preload_table[OCL_PRELOAD_ENTRIES];

static pthread_once_t opened = PTHREAD_ONCE_INIT;

/* A function that the loader lacks. Only a program built for a newer loader gets here. */
static cl_int missing(void)
{
	return CL_INVALID_OPERATION;
}

/* The program's own loader comes before one that we find. */
static void loader_table(cl_icd_dispatch *out)
{
	void *entries[OCL_PRELOAD_ENTRIES] = {NULL};
	void *loader = NULL;

	if (!dlsym(RTLD_NEXT, "clGetPlatformIDs"))
		loader = dlopen(LOADER, RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; i < OCL_PRELOAD_ENTRIES; i++)
		if (ocl_preload_names[i])
			entries[i] = dlsym(loader ? loader : RTLD_NEXT, ocl_preload_names[i]);
	memcpy(out, entries, sizeof(*out));
}

/* Has the loader initialise itself; true: it has opened our layer. */
static cl_bool layer_opens(const cl_icd_dispatch *loader)
{
	cl_bool open = CL_FALSE;
	cl_uint count;

	clGetLayerInfo(OCL_LAYER_PROBE_BEGIN, sizeof(open), &open, NULL);
	loader->clGetPlatformIDs(0, NULL, &count);
	clGetLayerInfo(OCL_LAYER_PROBE_END, sizeof(open), &open, NULL);
	return open;
}

static void open_door(void)
{
	const cl_icd_dispatch *table;
	void *entries[OCL_PRELOAD_ENTRIES];
	cl_icd_dispatch target;
	cl_uint count;

	loader_table(&target);
	table = &target;
	if (target.clGetPlatformIDs && !layer_opens(&target) &&
	    clInitLayer(OCL_PRELOAD_ENTRIES, &target, &count, &table) != CL_SUCCESS)
		table = &target;
	memcpy(entries, table, sizeof(entries));
	for (size_t i = 0; i < OCL_PRELOAD_ENTRIES; i++)
		atomic_store(&ocl_preload_table[i], entries[i] ? entries[i] : (void *)missing);
}

void *ocl_preload_resolve(size_t entry)
{
	pthread_once(&opened, open_door);
	return atomic_load(&ocl_preload_table[entry]);
}
