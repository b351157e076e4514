/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of extensions. Provisional extensions change the prototypes of their functions, and what
 * a driver hands out under a name has the parameters of the version that it says it has.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/opencl/backend.h"
#include "capture/opencl/table.h"

#define PLATFORMS_MAX 64u
#define DEVICES_MAX   256u

static bool in_list(const cl_name_version *list, size_t count, const char *extension,
		    cl_version *version)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(list[i].name, extension, sizeof(list[i].name)) == 0) {
			*version = list[i].version;
			return true;
		}
	return false;
}

static bool device_says(cl_device_id device, const char *extension, cl_version *version)
{
	cl_name_version *list;
	size_t bytes = 0;
	bool found;

	if (ocl_next.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, NULL, &bytes) !=
		    CL_SUCCESS ||
	    bytes < sizeof(*list))
		return false;
	list = malloc(bytes);
	found = list &&
		ocl_next.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, bytes, list,
					 NULL) == CL_SUCCESS &&
		in_list(list, bytes / sizeof(*list), extension, version);
	free(list);
	return found;
}

static bool platform_says(cl_platform_id platform, const char *extension, cl_version *version)
{
	cl_device_id devices[DEVICES_MAX];
	cl_uint count = 0;

	if (ocl_next.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &count) !=
	    CL_SUCCESS)
		return false;
	for (cl_uint i = 0; i < count && i < DEVICES_MAX; i++)
		if (device_says(devices[i], extension, version))
			return true;
	return false;
}

/* The platform that hands the function out; NULL: none does. */
static cl_platform_id platform_of(const char *name, const void *function)
{
	cl_platform_id platforms[PLATFORMS_MAX];
	cl_uint count = 0;

	if (!ocl_next.clGetExtensionFunctionAddressForPlatform ||
	    ocl_next.clGetPlatformIDs(PLATFORMS_MAX, platforms, &count) != CL_SUCCESS)
		return NULL;
	for (cl_uint i = 0; i < count && i < PLATFORMS_MAX; i++)
		if (ocl_next.clGetExtensionFunctionAddressForPlatform(platforms[i], name) ==
		    function)
			return platforms[i];
	return NULL;
}

bool ocl_extension_version(cl_platform_id platform, const char *extension, const char *name,
			   const void *function, cl_version *version)
{
	if (!platform)
		platform = platform_of(name, function);
	return platform && platform_says(platform, extension, version);
}
