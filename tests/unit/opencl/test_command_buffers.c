/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command buffers against a fake runtime, whose driver has either form of the functions that
 * changed.
 */
#include "fixture.h"

static struct {
	ocl_pfn_clCreateCommandBufferKHR create;
	ocl_pfn_clRetainCommandBufferKHR retain;
	ocl_pfn_clReleaseCommandBufferKHR release;
	ocl_pfn_clFinalizeCommandBufferKHR finalize;
	ocl_pfn_clEnqueueCommandBufferKHR enqueue;
	ocl_pfn_clCommandNDRangeKernelKHR kernel;
	ocl_pfn_clCommandCopyBufferKHR copy;
	ocl_older_clCommandCopyBufferKHR copy_older;
	ocl_pfn_clCommandFillBufferKHR fill;
	ocl_pfn_clUpdateMutableCommandsKHR update;
	ocl_older_clUpdateMutableCommandsKHR update_older;
	ocl_pfn_clRemapCommandBufferKHR remap;
} cb;

static void *by_name(const char *name)
{
	return cl->clGetExtensionFunctionAddressForPlatform((cl_platform_id)1, name);
}

static void command_buffers(cl_version version)
{
	fake.buffers = version;
	cb.create = (ocl_pfn_clCreateCommandBufferKHR)by_name("clCreateCommandBufferKHR");
	cb.retain = (ocl_pfn_clRetainCommandBufferKHR)by_name("clRetainCommandBufferKHR");
	cb.release = (ocl_pfn_clReleaseCommandBufferKHR)by_name("clReleaseCommandBufferKHR");
	cb.finalize = (ocl_pfn_clFinalizeCommandBufferKHR)by_name("clFinalizeCommandBufferKHR");
	cb.enqueue = (ocl_pfn_clEnqueueCommandBufferKHR)by_name("clEnqueueCommandBufferKHR");
	cb.kernel = (ocl_pfn_clCommandNDRangeKernelKHR)by_name("clCommandNDRangeKernelKHR");
	cb.copy = (ocl_pfn_clCommandCopyBufferKHR)by_name("clCommandCopyBufferKHR");
	cb.copy_older = (ocl_older_clCommandCopyBufferKHR)by_name("clCommandCopyBufferKHR");
	cb.fill = (ocl_pfn_clCommandFillBufferKHR)by_name("clCommandFillBufferKHR");
	cb.update = (ocl_pfn_clUpdateMutableCommandsKHR)by_name("clUpdateMutableCommandsKHR");
	cb.update_older =
		(ocl_older_clUpdateMutableCommandsKHR)by_name("clUpdateMutableCommandsKHR");
	cb.remap = (ocl_pfn_clRemapCommandBufferKHR)by_name("clRemapCommandBufferKHR");
	forget();
}

/* A buffer of a kernel (64 x 2 by 8 x 1) and a copy of 40 bytes, not final yet. */
static cl_command_buffer_khr buffer_of(const struct program *p, cl_uint queues,
				       const cl_command_queue *list, cl_mem m,
				       cl_mutable_command_khr *handle)
{
	const size_t global[2] = {64, 2}, local[2] = {8, 1};
	cl_command_queue last = queues > 1 ? list[queues - 1] : NULL;
	cl_sync_point_khr point;
	cl_int error;
	cl_command_buffer_khr b = cb.create(queues, list, NULL, &error);

	assert_int_equal(error, CL_SUCCESS);
	assert_int_equal(cb.kernel(b, NULL, NULL, p->kernel, 2, NULL, global, local, 0, NULL,
				   &point, handle),
			 CL_SUCCESS);
	if (fake.buffers < CL_MAKE_VERSION(0, 9, 5))
		error = cb.copy_older(b, last, m, m, 0, 0, 40, 1, &point, NULL, NULL);
	else
		error = cb.copy(b, last, NULL, m, m, 0, 0, 40, 1, &point, NULL, NULL);
	assert_int_equal(error, CL_SUCCESS);
	return b;
}

static void what_is_inside_a_command_buffer(void **state)
{
	const cl_version versions[] = {CL_MAKE_VERSION(0, 9, 4), CL_MAKE_VERSION(0, 9, 5)};
	struct program p = program_begin(0);
	const struct record *d;
	cl_int error;
	cl_mem m = cl->clCreateBuffer(p.context, 0, 64, NULL, &error);

	for (unsigned v = 0; v < 2; v++) {
		cl_command_buffer_khr b;
		uint64_t queue;

		command_buffers(versions[v]);
		b = buffer_of(&p, 1, &p.queue, m, NULL);
		assert_int_equal(cb.enqueue(0, NULL, b, 0, NULL, NULL), CL_INVALID_OPERATION);
		cb.finalize(b);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(cb.enqueue(0, NULL, b, 0, NULL, NULL), CL_SUCCESS);
		assert_int_equal(fake_alive(FAKE_EVENT), 2);
		drain_only();
		assert_int_equal(count("dispatch", NULL) + count("copy", NULL), 0);
		cl->clFinish(p.queue);
		assert_int_equal(fake_alive(FAKE_EVENT), 0);
		drain_only();
		assert_int_equal(count("opencl", "clCommandCopyBufferKHR"), 1);
		assert_int_equal(count("dispatch", NULL), 4);
		assert_int_equal(count("copy", NULL), 2);
		for (unsigned i = 0; i < 2; i++) {
			const uint64_t call =
				record("opencl", "clEnqueueCommandBufferKHR", i + 1)->id;
			const struct record *whole = dispatch(2 * i), *k = dispatch(2 * i + 1);
			const struct record *c = record("copy", "copy", i);

			assert_int_equal(whole->values[DISPATCH_CORRELATION], call);
			assert_int_equal(whole->values[DISPATCH_UNTIMED], UNTIMED_NO);
			assert_int_equal(whole->values[DISPATCH_DURATION], 100);
			assert_int_equal(whole->values[DISPATCH_GLOBAL_X], 0);
			assert_int_equal(k->values[DISPATCH_CORRELATION], call);
			assert_int_equal(k->values[DISPATCH_UNTIMED], UNTIMED_IN_BUFFER);
			assert_int_equal(k->values[DISPATCH_START], 0);
			assert_int_not_equal(k->values[DISPATCH_KERNEL],
					     whole->values[DISPATCH_KERNEL]);
			assert_int_equal(k->values[DISPATCH_GLOBAL_Y], 2);
			assert_int_equal(k->values[DISPATCH_LOCAL_X], 8);
			queue = whole->values[DISPATCH_QUEUE];
			assert_int_not_equal(queue, 0);
			assert_int_equal(k->values[DISPATCH_QUEUE], queue);
			assert_int_equal(c->values[COPY_QUEUE], queue);
			assert_int_equal(c->values[COPY_BYTES], 40);
			assert_int_equal(c->values[COPY_SOURCE_KIND], MEMORY_DEVICE);
			assert_int_equal(c->values[COPY_UNTIMED], UNTIMED_IN_BUFFER);
		}
		d = record("opencl", "clEnqueueCommandBufferKHR", 0);
		assert_non_null(d);
		cb.release(b);
	}
	assert_int_equal(fake_command_buffers(), 0);
	cl->clReleaseMemObject(m);
	program_end(&p);
	nothing_alive();
}

/* What the newer headers have; see command_buffer.c for both. */
struct config {
	cl_mutable_command_khr command;
	cl_uint counts[3];
	cl_uint dims;
	const void *lists[3];
	const size_t *offset, *global, *local;
};

static void update_global(cl_command_buffer_khr b, cl_mutable_command_khr handle,
			  const size_t *global)
{
	struct {
		cl_uint type;
		const void *next;
		struct config config;
	} older = {1, NULL, {.command = handle, .global = global}};
	const struct {
		cl_uint type;
		const void *next;
		cl_uint count;
		const void *list;
	} base = {0, NULL, 1, &older};
	const void *configs[] = {&older.config};
	const cl_uint type = 0;
	cl_int error;

	if (fake.buffers < CL_MAKE_VERSION(0, 9, 2))
		error = cb.update_older(b, (const struct _cl_mutable_base_config_khr *)&base);
	else
		error = cb.update(b, 1, &type, configs);
	assert_int_equal(error, CL_SUCCESS);
}

static void commands_change_between_runs(void **state)
{
	const cl_version versions[] = {CL_MAKE_VERSION(0, 9, 0), CL_MAKE_VERSION(0, 9, 5)};
	struct program p = program_begin(0);
	const size_t global[2] = {128, 4};
	cl_int error;
	cl_mem m = cl->clCreateBuffer(p.context, 0, 64, NULL, &error);

	for (unsigned v = 0; v < 2; v++) {
		cl_mutable_command_khr handle = NULL, other;
		cl_command_buffer_khr b, mapped;

		command_buffers(versions[v]);
		b = buffer_of(&p, 1, &p.queue, m, &handle);
		cb.finalize(b);
		cb.enqueue(0, NULL, b, 0, NULL, NULL);
		update_global(b, handle, global); /* the first run is still pending */
		cb.enqueue(0, NULL, b, 0, NULL, NULL);
		mapped = cb.remap(b, CL_FALSE, 1, &p.queue, 1, &handle, &other, &error);
		assert_non_null(mapped);
		cb.release(b);
		update_global(mapped, other, (size_t[]){256, 1});
		cb.enqueue(0, NULL, mapped, 0, NULL, NULL);
		cl->clFinish(p.queue);
		drain_only();
		assert_int_equal(count("dispatch", NULL), 6);
		assert_int_equal(dispatch(1)->values[DISPATCH_GLOBAL_X], 64);
		assert_int_equal(dispatch(3)->values[DISPATCH_GLOBAL_X], 128);
		assert_int_equal(dispatch(3)->values[DISPATCH_GLOBAL_Y], 4);
		assert_int_equal(dispatch(3)->values[DISPATCH_LOCAL_X], 8);
		assert_int_equal(dispatch(5)->values[DISPATCH_GLOBAL_X], 256);
		assert_int_equal(count("copy", NULL), 3);
		cb.release(mapped);
	}
	cl->clReleaseMemObject(m);
	program_end(&p);
	nothing_alive();
}

static void command_buffers_over_queues(void **state)
{
	struct program p = program_begin(0);
	cl_command_queue more = queue_create(p.context, 0);
	cl_command_queue queues[2] = {p.queue, more}, swapped[2] = {more, p.queue};
	cl_int error;
	cl_mem m = cl->clCreateBuffer(p.context, 0, 64, NULL, &error);
	cl_command_buffer_khr b;
	cl_event event;

	command_buffers(CL_MAKE_VERSION(0, 9, 5));
	b = buffer_of(&p, 2, queues, m, NULL);
	cb.retain(b);
	cb.finalize(b);
	cb.release(b);
	assert_int_equal(cb.enqueue(0, NULL, b, 0, NULL, &event), CL_SUCCESS);
	assert_int_equal(cb.enqueue(2, swapped, b, 0, NULL, NULL), CL_SUCCESS);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	assert_int_equal(fake_references(event), 1); /* the program's */
	cl->clReleaseEvent(event);
	cl->clFinish(more);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 4);
	assert_int_equal(dispatch(1)->values[DISPATCH_QUEUE], dispatch(0)->values[DISPATCH_QUEUE]);
	assert_int_not_equal(dispatch(2)->values[DISPATCH_QUEUE],
			     dispatch(0)->values[DISPATCH_QUEUE]);
	assert_int_equal(record("copy", NULL, 0)->values[COPY_QUEUE],
			 dispatch(2)->values[DISPATCH_QUEUE]);
	assert_int_equal(record("copy", NULL, 1)->values[COPY_QUEUE],
			 dispatch(0)->values[DISPATCH_QUEUE]);
	/* The queue goes while the buffer runs. */
	forget();
	cb.enqueue(2, swapped, b, 0, NULL, NULL);
	event = fake_event(more, 0);
	cl->clReleaseCommandQueue(more);
	fake_complete(event, -5);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 2);
	assert_int_equal(dispatch(1)->values[DISPATCH_UNTIMED], UNTIMED_FAILED);
	assert_int_equal((int32_t)dispatch(1)->values[DISPATCH_STATUS], -5);
	cb.release(b);
	cl->clReleaseMemObject(m);
	program_end(&p);
	nothing_alive();
}

static void hostile_command_buffers(void **state)
{
	struct program p = program_begin(0);
	const cl_command_queue none = NULL;
	cl_command_queue queues[16] = {p.queue}; /* as many as a record keeps */
	cl_command_buffer_khr b;
	cl_int error;

	command_buffers(CL_MAKE_VERSION(0, 9, 5));
	assert_null(cb.create(0, NULL, NULL, &error));
	assert_int_equal(error, CL_INVALID_VALUE);
	assert_null(cb.create(1, &none, NULL, NULL));
	assert_null(cb.create(UINT32_MAX, queues, NULL, &error));
	assert_int_equal(cb.enqueue(0, NULL, NULL, 0, NULL, NULL), CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(cb.enqueue(UINT32_MAX, NULL, NULL, 0, NULL, NULL),
			 CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(cb.retain(NULL), CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(cb.release(NULL), CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(
		cb.kernel(NULL, NULL, NULL, p.kernel, 7, NULL, NULL, NULL, 0, NULL, NULL, NULL),
		CL_INVALID_COMMAND_BUFFER_KHR);
	assert_int_equal(cb.update(NULL, UINT32_MAX, NULL, NULL), CL_INVALID_COMMAND_BUFFER_KHR);
	assert_null(cb.remap(NULL, CL_TRUE, 0, NULL, 0, NULL, NULL, NULL));
	/* An empty one, and one given back; its handle means nothing any more. */
	b = cb.create(1, &p.queue, NULL, &error);
	assert_int_equal(cb.kernel(b, NULL, NULL, NULL, 1, NULL, NULL, NULL, 0, NULL, NULL, NULL),
			 CL_INVALID_KERNEL);
	cb.finalize(b);
	cb.enqueue(0, NULL, b, 0, NULL, NULL);
	cb.release(b);
	cl->clFinish(p.queue);
	drain_only();
	assert_int_equal(count("dispatch", NULL), 1);
	assert_int_equal(count("copy", NULL), 0);
	assert_int_equal(fake_command_buffers(), 0);
	program_end(&p);
	nothing_alive();
}

/* Of a driver that does not say what its extension is like, no function that has changed. */
static void what_cannot_be_known_is_left_alone(void **state)
{
	struct program p = program_begin(0);

	fake.buffers = 0;
	assert_ptr_equal(by_name("clCommandFillBufferKHR"),
			 fake_extension("clCommandFillBufferKHR"));
	assert_ptr_not_equal(by_name("clFinalizeCommandBufferKHR"),
			     fake_extension("clFinalizeCommandBufferKHR"));
	program_end(&p);
	nothing_alive();
}

/* Where command buffers need plain queues, ours are plain. */
static void queues_for_command_buffers(void **state)
{
	const cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY, 2, 0};
	cl_command_queue q;
	cl_command_buffer_khr b;
	cl_device_id part;
	cl_context c;
	cl_int error;

	fake.plain_buffers = true;
	cl->clCreateSubDevices(fake_device(), parts, 1, &part, NULL);
	c = cl->clCreateContext(NULL, 1, &part, NULL, NULL, &error);
	q = cl->clCreateCommandQueue(c, part, 0, &error);
	command_buffers(CL_MAKE_VERSION(0, 9, 6));
	b = cb.create(1, &q, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	cb.finalize(b);
	assert_int_equal(cb.enqueue(0, NULL, b, 0, NULL, NULL), CL_SUCCESS);
	cl->clFinish(q);
	drain_only();
	assert_int_equal(dispatch(0)->values[DISPATCH_UNTIMED], UNTIMED_NO_PROFILING);
	cb.release(b);
	cl->clReleaseCommandQueue(q);
	cl->clReleaseContext(c);
	cl->clReleaseDevice(part);
	nothing_alive();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_inside_a_command_buffer),    TEST(commands_change_between_runs),
		TEST(command_buffers_over_queues),        TEST(hostile_command_buffers),
		TEST(what_cannot_be_known_is_left_alone), TEST(queues_for_command_buffers),
	};

	return fixture_begin() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
