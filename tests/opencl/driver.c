/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake OpenCL runtime as a driver that the real loader loads: a platform, a dispatch table
 * with the entries that sharing needs, and functions by name. Commands are complete at once.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT   __attribute__((visibility("default")))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static cl_icd_dispatch table;
static struct platform {
	const cl_icd_dispatch *dispatch;
} platform = {&table};
char fake_memory[4096];

static cl_int platform_info(cl_platform_id p, cl_platform_info what, size_t size, void *out,
			    size_t *size_ret)
{
	const char *text = what == CL_PLATFORM_EXTENSIONS       ? "cl_khr_icd"
			   : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "FAKE"
			   : what == CL_PLATFORM_VERSION        ? "OpenCL 3.0 fake"
								: "fake";

	if (out && size <= strlen(text))
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, text, strlen(text) + 1);
	if (size_ret)
		*size_ret = strlen(text) + 1;
	return CL_SUCCESS;
}

static void *by_name(const char *name)
{
	void *function = fake_extension(name);

	for (const struct fake_function *s = functions; !function && s->name; s++)
		if (strcmp(s->name, name) == 0)
			function = s->function;
	return function;
}

static void *by_name_of_platform(cl_platform_id p, const char *name)
{
	return by_name(name);
}

static cl_int platform_ids(cl_uint room, cl_platform_id *out, cl_uint *count)
{
	if (out && room)
		out[0] = (cl_platform_id)&platform;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

/* What loaders reach through the table only. */
#define ENTRY(name) table.name = (void *)by_name(#name)

__attribute__((constructor)) static void start(void)
{
	table = *fake_table();
	table.clGetPlatformInfo = platform_info;
	table.clGetExtensionFunctionAddressForPlatform = by_name_of_platform;
	ENTRY(clCreateFromGLBuffer);
	ENTRY(clCreateFromGLTexture);
	ENTRY(clCreateFromGLTexture2D);
	ENTRY(clCreateFromGLTexture3D);
	ENTRY(clCreateFromGLRenderbuffer);
	ENTRY(clGetGLObjectInfo);
	ENTRY(clGetGLTextureInfo);
	ENTRY(clEnqueueAcquireGLObjects);
	ENTRY(clEnqueueReleaseGLObjects);
	ENTRY(clGetGLContextInfoKHR);
	ENTRY(clCreateEventFromGLsyncKHR);
	ENTRY(clCreateFromEGLImageKHR);
	ENTRY(clEnqueueAcquireEGLObjectsKHR);
	ENTRY(clEnqueueReleaseEGLObjectsKHR);
	ENTRY(clCreateEventFromEGLSyncKHR);
	fake_dispatch(&table);
	fake.complete_at_once = true;
	fake.processor = getenv("FAKE_PROCESSOR") != NULL;
	fake.buffers = fake_buffers_version;
}

EXPORT void *clGetExtensionFunctionAddress(const char *name)
{
	if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
		return (void *)platform_ids;
	if (strcmp(name, "clGetPlatformInfo") == 0)
		return (void *)platform_info;
	return by_name(name);
}
