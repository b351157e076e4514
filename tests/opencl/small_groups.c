/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer that stands in for a device with few registers: an instrumented kernel (of a program with `kymo_context`) may have
 * groups of 16 work items, unless it was compiled for groups of one size. It belongs below Kymo's layer. With SMALL_GROUPS=all it
 * stands in for a runtime that says so of every kernel, and runs larger groups all the same.
 */
#include <CL/cl_layer.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

static const cl_icd_dispatch *below;
static cl_icd_dispatch table;

static bool is_instrumented(cl_kernel kernel)
{
	cl_program program = NULL;
	size_t size = 0;
	char *source;
	bool yes;

	below->clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	below->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size);
	source = calloc(1, size + 1);
	yes = source &&
	      below->clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, source, NULL) ==
		      CL_SUCCESS &&
	      strstr(source, "kymo_context") != NULL;
	free(source);
	return yes;
}

static cl_int CL_API_CALL group_info(cl_kernel kernel, cl_device_id device,
				     cl_kernel_work_group_info what, size_t size, void *value,
				     size_t *size_ret)
{
	cl_int result =
		below->clGetKernelWorkGroupInfo(kernel, device, what, size, value, size_ret);
	const bool all = getenv("SMALL_GROUPS") != NULL;
	size_t compiled[3] = {0}, *most = value;

	if (result != CL_SUCCESS || what != CL_KERNEL_WORK_GROUP_SIZE || !most ||
	    (!all && !is_instrumented(kernel)))
		return result;
	below->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
					sizeof(compiled), compiled, NULL);
	if ((all || !compiled[0]) && *most > MOST)
		*most = MOST;
	return result;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what,
									 size_t size, void *value,
									 size_t *size_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (what != CL_LAYER_API_VERSION || (value && size < sizeof(version)))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, &version, sizeof(version));
	if (size_ret)
		*size_ret = sizeof(version);
	return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint n,
								      const cl_icd_dispatch *from,
								      cl_uint *n_ret,
								      const cl_icd_dispatch **out)
{
	if (n * sizeof(void *) < sizeof(table))
		return CL_INVALID_VALUE;
	below = from;
	table = *from;
	table.clGetKernelWorkGroupInfo = group_info;
	*n_ret = sizeof(table) / sizeof(void *);
	*out = &table;
	return CL_SUCCESS;
}
