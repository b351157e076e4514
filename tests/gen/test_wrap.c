/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generated wrappers, thunks and table at work: a made-up platform is called through the
 * table that a program would get, and what was recorded is read back with the decoder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "capture/opencl/table.h"
#include "fake_core.h"
#include "opencl_args.h"
#include "opencl_ops.h"

static cl_icd_dispatch ours;
static const void *caller; /* return address that the platform saw */
static cl_int finish_result;

/* ---- the platform ---- */

static cl_int CL_API_CALL platform_finish(cl_command_queue queue)
{
	caller = __builtin_return_address(0);
	return finish_result;
}

static cl_int CL_API_CALL platform_devices(cl_platform_id platform, cl_device_type type,
					   cl_uint entries, cl_device_id *devices, cl_uint *count)
{
	for (cl_uint i = 0; devices && i < entries && i < 2; i++)
		devices[i] = (cl_device_id)(uintptr_t)(0xd0 + i);
	if (count)
		*count = 2;
	return CL_SUCCESS;
}

static cl_mem CL_API_CALL platform_buffer(cl_context context, cl_mem_flags flags, size_t size,
					  void *host, cl_int *error)
{
	if (error)
		*error = size ? CL_SUCCESS : CL_INVALID_BUFFER_SIZE;
	return size ? (cl_mem)(uintptr_t)0xb0f : NULL;
}

static cl_int CL_API_CALL platform_arg(cl_kernel kernel, cl_uint index, size_t size,
				       const void *value)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_ndrange(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
					   const size_t *offset, const size_t *global,
					   const size_t *local, cl_uint waits, const cl_event *list,
					   cl_event *event)
{
	if (dims > 3)
		return CL_INVALID_WORK_DIMENSION;
	if (event)
		*event = (cl_event)(uintptr_t)0xe1;
	return CL_SUCCESS;
}

static cl_context CL_API_CALL platform_context(const cl_context_properties *properties,
					       cl_uint count, const cl_device_id *devices,
					       void(CL_CALLBACK *notify)(const char *, const void *,
									 size_t, void *),
					       void *data, cl_int *error)
{
	if (error)
		*error = CL_SUCCESS;
	return (cl_context)(uintptr_t)0xc0;
}

static cl_int CL_API_CALL free_one(cl_context context, void *pointer)
{
	return 1;
}

static cl_int CL_API_CALL free_two(cl_context context, void *pointer)
{
	return 2;
}

/* What was given behind the queue, in both forms. */
static const void *copy_properties;
static size_t copy_size;
static const void *copy_handle;

static cl_int CL_API_CALL copy_older(cl_command_buffer_khr buffer, cl_command_queue queue,
				     cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
				     size_t size, cl_uint points, const cl_sync_point_khr *list,
				     cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
	copy_properties = NULL;
	copy_size = size;
	copy_handle = handle;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL copy_newer(cl_command_buffer_khr buffer, cl_command_queue queue,
				     const cl_properties *properties, cl_mem from, cl_mem to,
				     size_t from_offset, size_t to_offset, size_t size,
				     cl_uint points, const cl_sync_point_khr *list,
				     cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
	copy_properties = properties;
	copy_size = size;
	copy_handle = handle;
	return CL_SUCCESS;
}

/* Platform 1 has the extension as it was, platform 2 as it is, platform 3 does not say. */
bool ocl_extension_version(cl_platform_id platform, const char *extension, const char *name,
			   const void *function, cl_version *version)
{
	*version =
		platform == (cl_platform_id)1 ? CL_MAKE_VERSION(0, 9, 4) : CL_MAKE_VERSION(0, 9, 5);
	return strcmp(extension, "cl_khr_command_buffer") == 0 && platform != (cl_platform_id)3;
}

static void *CL_API_CALL platform_lookup(cl_platform_id platform, const char *name)
{
	if (strcmp(name, "clMemFreeINTEL") == 0 && platform)
		return platform == (cl_platform_id)1 ? (void *)free_one : (void *)free_two;
	if (strcmp(name, "clCommandCopyBufferKHR") == 0)
		return platform == (cl_platform_id)1 ? (void *)copy_older : (void *)copy_newer;
	return strcmp(name, "clUnknownXYZ") == 0 ? (void *)platform_lookup : NULL;
}

/* ---- helpers ---- */

static int setup(void **state)
{
	cl_icd_dispatch platform = {0};
	static bool installed;

	platform.clFinish = platform_finish;
	platform.clGetDeviceIDs = platform_devices;
	platform.clCreateBuffer = platform_buffer;
	platform.clSetKernelArg = platform_arg;
	platform.clEnqueueNDRangeKernel = platform_ndrange;
	platform.clCreateContext = platform_context;
	platform.clGetExtensionFunctionAddressForPlatform = platform_lookup;
	if (!installed) {
		ocl_table_install(&ours, &platform, OCL_TABLE_ENTRIES);
		ocl_table_attach(fake_domain);
	}
	installed = true;
	for (unsigned i = 0; i < OCL_OP_COUNT; i++)
		fake_want(&ocl_ops[i], true, false);
	fake_reset();
	return 0;
}

/* Reads the next record, which must be of `op`, and its fields into `values`. */
static void expect(struct wire_reader *r, struct wire_record *rec, unsigned op,
		   struct wire_value *values)
{
	const kymo_op_desc_t *desc = &packed_describe(OCL_PACKED, 0)->ops[op];
	struct wire_cursor c;

	assert_int_equal(wire_next(r, rec), 1);
	assert_int_equal(rec->op, op);
	wire_cursor_init(&c, rec);
	for (unsigned i = 0; i < desc->field_count; i++) {
		const kymo_field_t *f = &desc->fields[i];

		assert_true(wire_field(&c, f->kind, f->element, f->size, &values[i]));
	}
}

static unsigned field_of(unsigned op, const char *name)
{
	const kymo_op_desc_t *desc = &packed_describe(OCL_PACKED, 0)->ops[op];

	for (unsigned i = 0; i < desc->field_count; i++)
		if (strcmp(desc->fields[i].name, name) == 0)
			return i;
	fail_msg("%s has no field %s", desc->name, name);
	return 0;
}

#define FIELD(op, name) (&values[field_of(OCL_OP_##op, name)])

/* ---- tests ---- */

static void test_null_stays_null(void **state)
{
	assert_null(ours.clCreateKernel);
	assert_null(ours.clCreateFromGLBuffer);
	assert_non_null(ours.clFinish);
}

static void test_thunk_keeps_return_address(void **state)
{
	struct wire_value values[KYMO_FIELDS_MAX];
	struct wire_record rec;
	struct wire_reader r;
	uintptr_t here, site;

	fake_want(&ocl_ops[OCL_OP_clFinish], false, false);
	ours.clFinish(NULL);
here_label:
	here = (uintptr_t) && here_label;
	assert_in_range((uintptr_t)caller, here - 64, here + 64);

	fake_want(&ocl_ops[OCL_OP_clFinish], true, false);
	finish_result = CL_INVALID_COMMAND_QUEUE;
	assert_int_equal(ours.clFinish((cl_command_queue)7), CL_INVALID_COMMAND_QUEUE);
	fake_read(&r);
	expect(&r, &rec, OCL_OP_clFinish, values);
	site = fake_site(rec.site);
	assert_in_range(site, here, here + 1024);
	assert_true(rec.has_status);
	assert_int_equal(rec.status, CL_INVALID_COMMAND_QUEUE);
	assert_int_equal(values[0].u, 7);
	assert_true(rec.start <= rec.end);
	finish_result = CL_SUCCESS;
}

static void test_out_array_without_counter(void **state)
{
	struct wire_value values[KYMO_FIELDS_MAX];
	struct wire_record rec;
	struct wire_reader r;
	cl_device_id devices[8];

	memset(devices, 0xff, sizeof(devices));
	ours.clGetDeviceIDs((cl_platform_id)5, CL_DEVICE_TYPE_ALL, 8, devices, NULL);
	fake_read(&r);
	expect(&r, &rec, OCL_OP_clGetDeviceIDs, values);
	assert_int_equal(FIELD(clGetDeviceIDs, "devices")->total, 2);
	assert_int_equal(wire_element(FIELD(clGetDeviceIDs, "devices"), KYMO_KIND_HANDLE, 8, 1),
			 0xd1);
	assert_int_equal(FIELD(clGetDeviceIDs, "*num_devices")->u, 2);
	assert_int_equal(FIELD(clGetDeviceIDs, "device_type")->u, CL_DEVICE_TYPE_ALL);
}

static void test_error_code(void **state)
{
	struct wire_value values[KYMO_FIELDS_MAX];
	struct wire_record rec;
	struct wire_reader r;
	cl_int error = 1;

	ours.clCreateBuffer((cl_context)1, CL_MEM_READ_ONLY, 64, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	ours.clCreateBuffer((cl_context)1, CL_MEM_READ_ONLY, 0, NULL, NULL);
	fake_read(&r);
	expect(&r, &rec, OCL_OP_clCreateBuffer, values);
	assert_false(rec.has_status);
	assert_int_equal(FIELD(clCreateBuffer, "result")->u, 0xb0f);
	assert_int_equal(FIELD(clCreateBuffer, "size")->u, 64);
	expect(&r, &rec, OCL_OP_clCreateBuffer, values);
	assert_int_equal(rec.status, CL_INVALID_BUFFER_SIZE);
}

static void test_arrays(void **state)
{
	const size_t global[3] = {64, 32, 16};
	const cl_event waits[2] = {(cl_event)1, (cl_event)2};
	struct wire_value values[KYMO_FIELDS_MAX];
	struct wire_record rec;
	struct wire_reader r;
	cl_event event = NULL;

	ours.clEnqueueNDRangeKernel((cl_command_queue)1, (cl_kernel)2, 3, NULL, global, NULL, 2,
				    waits, &event);
	/* More dimensions than there can be: nothing says how long the arrays are, none is read. */
	ours.clEnqueueNDRangeKernel((cl_command_queue)1, (cl_kernel)2, 200, NULL, global, NULL, 0,
				    NULL, &event);
	fake_read(&r);
	expect(&r, &rec, OCL_OP_clEnqueueNDRangeKernel, values);
	assert_false(FIELD(clEnqueueNDRangeKernel, "local_work_size")->present);
	assert_int_equal(wire_element(FIELD(clEnqueueNDRangeKernel, "global_work_size"),
				      KYMO_KIND_UNSIGNED, 8, 2),
			 16);
	assert_int_equal(FIELD(clEnqueueNDRangeKernel, "event_wait_list")->count, 2);
	assert_int_equal(FIELD(clEnqueueNDRangeKernel, "*event")->u, 0xe1);
	expect(&r, &rec, OCL_OP_clEnqueueNDRangeKernel, values);
	assert_true(FIELD(clEnqueueNDRangeKernel, "global_work_size")->present);
	assert_int_equal(FIELD(clEnqueueNDRangeKernel, "global_work_size")->total, 0);
	assert_int_equal(FIELD(clEnqueueNDRangeKernel, "*event")->u, 0);
	assert_int_equal(rec.status, CL_INVALID_WORK_DIMENSION);
}

static void test_pairs(void **state)
{
	const cl_context_properties list[] = {CL_CONTEXT_PLATFORM, 77, CL_CONTEXT_INTEROP_USER_SYNC,
					      0, 0};
	struct wire_value values[KYMO_FIELDS_MAX];
	struct wire_record rec;
	struct wire_reader r;
	cl_device_id device = (cl_device_id)9;

	ours.clCreateContext(list, 1, &device, NULL, NULL, NULL);
	fake_read(&r);
	expect(&r, &rec, OCL_OP_clCreateContext, values);
	assert_int_equal(FIELD(clCreateContext, "properties")->total, 4);
	assert_int_equal(wire_element(FIELD(clCreateContext, "properties"), KYMO_KIND_ENUM, 8, 1),
			 77);
}

static void test_levels(void **state)
{
	struct wire_value values[KYMO_FIELDS_MAX];
	struct wire_record rec;
	struct wire_reader r;
	int value = 0x01020304;

	ours.clSetKernelArg((cl_kernel)3, 1, sizeof(value), &value);
	ours.clSetKernelArg((cl_kernel)3, 2, 4096, NULL);
	fake_level(&ocl_ops[OCL_OP_clSetKernelArg], 1);
	ours.clSetKernelArg((cl_kernel)3, 1, sizeof(value), &value);
	fake_level(&ocl_ops[OCL_OP_clSetKernelArg], 0);
	ours.clSetKernelArg((cl_kernel)3, 1, sizeof(value), &value);
	assert_int_equal(fake_bare, 1);
	fake_read(&r);
	expect(&r, &rec, OCL_OP_clSetKernelArg, values);
	assert_memory_equal(FIELD(clSetKernelArg, "*arg_value")->data, &value, sizeof(value));
	expect(&r, &rec, OCL_OP_clSetKernelArg, values);
	assert_false(FIELD(clSetKernelArg, "*arg_value")->present);
	assert_int_equal(FIELD(clSetKernelArg, "arg_size")->u, 4096);
	expect(&r, &rec, OCL_OP_clSetKernelArg, values);
	assert_false(FIELD(clSetKernelArg, "*arg_value")->present);
	assert_int_equal(wire_next(&r, &rec), 0);
}

static void test_callbacks(void **state)
{
	struct kymo_opencl_clCreateBuffer_args args;

	fake_want(&ocl_ops[OCL_OP_clCreateBuffer], false, true);
	ours.clCreateBuffer((cl_context)0xc0, CL_MEM_READ_ONLY, 64, NULL, NULL);
	assert_int_equal(fake_phases[CAP_ENTER], 1);
	assert_int_equal(fake_phases[CAP_EXIT], 1);
	memcpy(&args, fake_args, sizeof(args));
	assert_int_equal(args.struct_size, sizeof(args));
	assert_ptr_equal(args.context, (void *)0xc0);
	assert_int_equal(args.flags, CL_MEM_READ_ONLY);
	assert_int_equal(args.size, 64);
	assert_null(args.errcode_ret); /* as the program gave it */
	assert_ptr_equal(args.result, (void *)0xb0f);
}

static void test_unwanted(void **state)
{
	struct wire_record rec;
	struct wire_reader r;

	fake_want(&ocl_ops[OCL_OP_clFinish], false, false);
	ours.clFinish((cl_command_queue)5);
	fake_read(&r);
	assert_int_equal(wire_next(&r, &rec), 0);
}

static void test_extension_of_two_platforms(void **state)
{
	clMemFreeINTEL_fn one, two, again;

	one = (clMemFreeINTEL_fn)ours.clGetExtensionFunctionAddressForPlatform((cl_platform_id)1,
									       "clMemFreeINTEL");
	two = (clMemFreeINTEL_fn)ours.clGetExtensionFunctionAddressForPlatform((cl_platform_id)2,
									       "clMemFreeINTEL");
	again = (clMemFreeINTEL_fn)ours.clGetExtensionFunctionAddressForPlatform((cl_platform_id)1,
										 "clMemFreeINTEL");
	assert_ptr_equal(one, again);
	assert_ptr_not_equal(one, two);
	assert_ptr_not_equal(one, free_one);
	assert_int_equal(one(NULL, NULL), 1);
	assert_int_equal(two(NULL, NULL), 2);
	assert_null(ours.clGetExtensionFunctionAddressForPlatform(NULL, "clMemFreeINTEL"));
	assert_int_equal(fake_untraced, 0);
	assert_ptr_equal(ours.clGetExtensionFunctionAddressForPlatform(NULL, "clUnknownXYZ"),
			 platform_lookup);
	assert_int_equal(fake_untraced, 1);
}

/* One op, whatever the driver's version of the extension; without one nothing is put between. */
static void test_functions_that_changed(void **state)
{
	static const char name[] = "clCommandCopyBufferKHR";
	const cl_properties list[] = {7, 8, 0};
	ocl_older_clCommandCopyBufferKHR was;
	ocl_pfn_clCommandCopyBufferKHR is;
	struct wire_value values[KYMO_FIELDS_MAX];
	cl_mutable_command_khr handle;
	struct wire_record rec;
	struct wire_reader r;

	was = (ocl_older_clCommandCopyBufferKHR)ours.clGetExtensionFunctionAddressForPlatform(
		(cl_platform_id)1, name);
	is = (ocl_pfn_clCommandCopyBufferKHR)ours.clGetExtensionFunctionAddressForPlatform(
		(cl_platform_id)2, name);
	fake_reset(); /* of the lookups */
	assert_int_equal(was(NULL, NULL, NULL, NULL, 1, 2, 3, 0, NULL, NULL, &handle), CL_SUCCESS);
	assert_int_equal(copy_size, 3);
	assert_ptr_equal(copy_handle, &handle);
	assert_int_equal(is(NULL, NULL, list, NULL, NULL, 1, 2, 4, 0, NULL, NULL, &handle),
			 CL_SUCCESS);
	assert_ptr_equal(copy_properties, list);
	assert_int_equal(copy_size, 4);
	assert_ptr_equal(copy_handle, &handle);
	fake_read(&r);
	expect(&r, &rec, OCL_OP_clCommandCopyBufferKHR, values);
	assert_int_equal(FIELD(clCommandCopyBufferKHR, "properties")->total, 0);
	assert_int_equal(FIELD(clCommandCopyBufferKHR, "size")->u, 3);
	expect(&r, &rec, OCL_OP_clCommandCopyBufferKHR, values);
	assert_int_equal(FIELD(clCommandCopyBufferKHR, "properties")->total, 2);
	assert_int_equal(wire_next(&r, &rec), 0);
	assert_int_equal(fake_untraced, 0);
	assert_ptr_equal(ours.clGetExtensionFunctionAddressForPlatform((cl_platform_id)3, name),
			 copy_newer);
	assert_int_equal(fake_untraced, 1);
}

static void test_links_exhausted(void **state)
{
	void *got = NULL;

	for (uintptr_t i = 0; i < OCL_LINKS_PER_OP; i++)
		got = ocl_lookup(NULL, "clSVMAlloc", (void *)(0x1000 + i));
	/* The table's link of a core function stays reserved, so one of them found no link. */
	assert_ptr_equal(got, (void *)(0x1000 + OCL_LINKS_PER_OP - 1));
	assert_int_equal(fake_untraced, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_null_stays_null, setup),
		cmocka_unit_test_setup(test_thunk_keeps_return_address, setup),
		cmocka_unit_test_setup(test_out_array_without_counter, setup),
		cmocka_unit_test_setup(test_error_code, setup),
		cmocka_unit_test_setup(test_arrays, setup),
		cmocka_unit_test_setup(test_pairs, setup),
		cmocka_unit_test_setup(test_levels, setup),
		cmocka_unit_test_setup(test_callbacks, setup),
		cmocka_unit_test_setup(test_unwanted, setup),
		cmocka_unit_test_setup(test_extension_of_two_platforms, setup),
		cmocka_unit_test_setup(test_functions_that_changed, setup),
		cmocka_unit_test_setup(test_links_exhausted, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
