/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies put into queues: how many bytes, from what to what. Copies and maps of memory that host
 * and device share move nothing on some devices; what is recorded is what the program asked for.
 */
#include "capture/opencl/copy.h"
#include "capture/opencl/memory.h"

#include "opencl_hooks.h"

struct ocl_end ocl_end_of_mem(uint32_t agent, cl_mem mem)
{
	const struct ocl_mem *m = ocl_mem_get(mem);

	return (struct ocl_end){agent, m ? m->memory : MEMORY_UNKNOWN, m ? m->object.id : 0};
}

struct ocl_end ocl_end_of_address(uint32_t agent, const void *address)
{
	struct cap_memory m = ocl_range_of(address);
	bool host = m.kind == MEMORY_HOST_PAGEABLE || m.kind == MEMORY_HOST_PINNED;

	return (struct ocl_end){host ? 0 : m.agent ? m.agent : agent, m.kind, (uint32_t)m.id};
}

uint64_t ocl_region_bytes(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

uint64_t ocl_region_pixels(cl_mem image, const size_t *region)
{
	const struct ocl_mem *m = ocl_mem_get(image);

	return ocl_region_bytes(region) * (m ? m->element : 0);
}

unsigned ocl_copy_op(struct ocl_end from, struct ocl_end to)
{
	if (!from.agent && to.agent)
		return COPY_OP_WRITE;
	return from.agent && !to.agent ? COPY_OP_READ : COPY_OP_COPY;
}

static void copy_submit(const struct cap_frame *f, struct ocl_work *w, unsigned op, uint64_t bytes,
			struct ocl_end from, struct ocl_end to, bool blocking)
{
	struct cap_subject subject = {.memory = {from.id, to.id}, .bytes = bytes};

	ocl_copy_describe(w, op, bytes, from, to);
	w->blocking = blocking;
	ocl_submit(f, w, &core_copy_ops[op], &subject);
}

/* A blocking call is also a wait of the host; recorded first, because it ends with the call. */
static void blocking_wait(const struct cap_frame *f, bool blocking)
{
	const struct ocl_queue *q = ocl_submission.queue;

	if (q && blocking && cap_call_wants(CAP_ACTIVITY_SYNC))
		cap_sync_record(f, 0, SYNC_OP_BLOCKING, q->object.id, 1, NULL);
}

static void read_write(const struct cap_frame *f, unsigned op, cl_mem mem, const void *address,
		       uint64_t bytes, bool blocking)
{
	struct ocl_work w;
	struct ocl_end host, device;

	blocking_wait(f, blocking);
	if (!ocl_submit_take(f, &w))
		return;
	host = ocl_end_of_address(w.agent, address);
	device = ocl_end_of_mem(w.agent, mem);
	if (op == COPY_OP_READ)
		copy_submit(f, &w, op, bytes, device, host, blocking);
	else
		copy_submit(f, &w, op, bytes, host, device, blocking);
}

static void mem_to_mem(const struct cap_frame *f, cl_mem from, cl_mem to, uint64_t bytes)
{
	struct ocl_work w;

	if (ocl_submit_take(f, &w))
		copy_submit(f, &w, COPY_OP_COPY, bytes, ocl_end_of_mem(w.agent, from),
			    ocl_end_of_mem(w.agent, to), false);
}

/* A fill has no source; the device makes the values itself. */
static void fill(const struct cap_frame *f, uint64_t bytes, cl_mem mem, const void *address)
{
	struct ocl_work w;
	struct ocl_end to;

	if (!ocl_submit_take(f, &w))
		return;
	to = mem ? ocl_end_of_mem(w.agent, mem) : ocl_end_of_address(w.agent, address);
	copy_submit(f, &w, COPY_OP_FILL, bytes, (struct ocl_end){w.agent, MEMORY_UNKNOWN, 0}, to,
		    false);
}

/* What is only read goes back nowhere when it is unmapped. */
static void map(const struct cap_frame *f, cl_mem mem, const void *address, uint64_t bytes,
		cl_map_flags flags, bool blocking)
{
	const struct ocl_end host = {0, MEMORY_HOST_PAGEABLE, 0};
	struct ocl_work w;

	blocking_wait(f, blocking);
	if (!ocl_submit_take(f, &w))
		return;
	ocl_map_add(mem, address, flags == CL_MAP_READ ? 0 : bytes);
	copy_submit(f, &w, COPY_OP_MAP, bytes,
		    mem ? ocl_end_of_mem(w.agent, mem) : ocl_end_of_address(w.agent, address), host,
		    blocking);
}

static void unmap(const struct cap_frame *f, cl_mem mem, const void *address)
{
	const struct ocl_end host = {0, MEMORY_HOST_PAGEABLE, 0};
	struct ocl_work w;

	if (ocl_submit_take(f, &w))
		copy_submit(f, &w, COPY_OP_UNMAP, ocl_map_take(mem, address), host,
			    mem ? ocl_end_of_mem(w.agent, mem)
				: ocl_end_of_address(w.agent, address),
			    false);
}

/* Where the memory was before is not known. */
static void migrate(const struct cap_frame *f, uint64_t bytes, uint64_t flags, struct ocl_end end)
{
	const struct ocl_end host = {0, MEMORY_UNKNOWN, 0};
	struct ocl_work w;

	if (!ocl_submit_take(f, &w))
		return;
	end.agent = end.agent ? end.agent : w.agent;
	if (flags & CL_MIGRATE_MEM_OBJECT_HOST)
		copy_submit(f, &w, COPY_OP_MIGRATE, bytes, end, host, false);
	else
		copy_submit(f, &w, COPY_OP_MIGRATE, bytes, host, end, false);
}

static void migrate_mem(const struct cap_frame *f, cl_uint count, const cl_mem *mems,
			uint64_t flags)
{
	struct ocl_end end = {0, MEMORY_UNKNOWN, 0};
	uint64_t bytes = 0;

	if (!ocl_submission.queue || !mems)
		return;
	for (cl_uint i = 0; i < count; i++) {
		const struct ocl_mem *m = ocl_mem_get(mems[i]);

		bytes += m ? m->bytes : 0;
		end.kind = m ? m->memory : end.kind;
	}
	migrate(f, bytes, flags, end);
}

/* Between addresses: a read or write where one end is the host's. */
static void address_copy(const struct cap_frame *f, const void *to, const void *from,
			 uint64_t bytes, bool blocking)
{
	struct ocl_end source, destination;
	struct ocl_work w;

	blocking_wait(f, blocking);
	if (!ocl_submit_take(f, &w))
		return;
	source = ocl_end_of_address(w.agent, from);
	destination = ocl_end_of_address(w.agent, to);
	copy_submit(f, &w, ocl_copy_op(source, destination), bytes, source, destination, blocking);
}

/* ---- hooks ---- */

#define PARAMETERS(...) __VA_ARGS__
#define WAIT_LIST       cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event
#define AFTER(name, parameters, statement)                                                         \
	void ocl_post_##name(struct cap_frame *f, cl_command_queue command_queue,                  \
			     PARAMETERS parameters, WAIT_LIST, cl_int result)                      \
	{                                                                                          \
		statement;                                                                         \
	}

AFTER(clEnqueueReadBuffer,
      (cl_mem buffer, cl_bool blocking_read, size_t offset, size_t size, void *ptr),
      read_write(f, COPY_OP_READ, buffer, ptr, size, blocking_read))
AFTER(clEnqueueWriteBuffer,
      (cl_mem buffer, cl_bool blocking_write, size_t offset, size_t size, const void *ptr),
      read_write(f, COPY_OP_WRITE, buffer, ptr, size, blocking_write))
AFTER(clEnqueueReadBufferRect,
      (cl_mem buffer, cl_bool blocking_read, const size_t *buffer_origin, const size_t *host_origin,
       const size_t *region, size_t buffer_row_pitch, size_t buffer_slice_pitch,
       size_t host_row_pitch, size_t host_slice_pitch, void *ptr),
      read_write(f, COPY_OP_READ, buffer, ptr, ocl_region_bytes(region), blocking_read))
AFTER(clEnqueueWriteBufferRect,
      (cl_mem buffer, cl_bool blocking_write, const size_t *buffer_origin,
       const size_t *host_origin, const size_t *region, size_t buffer_row_pitch,
       size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, const void *ptr),
      read_write(f, COPY_OP_WRITE, buffer, ptr, ocl_region_bytes(region), blocking_write))
AFTER(clEnqueueReadImage,
      (cl_mem image, cl_bool blocking_read, const size_t *origin, const size_t *region,
       size_t row_pitch, size_t slice_pitch, void *ptr),
      read_write(f, COPY_OP_READ, image, ptr, ocl_region_pixels(image, region), blocking_read))
AFTER(clEnqueueWriteImage,
      (cl_mem image, cl_bool blocking_write, const size_t *origin, const size_t *region,
       size_t input_row_pitch, size_t input_slice_pitch, const void *ptr),
      read_write(f, COPY_OP_WRITE, image, ptr, ocl_region_pixels(image, region), blocking_write))
AFTER(clEnqueueCopyBuffer,
      (cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset, size_t dst_offset, size_t size),
      mem_to_mem(f, src_buffer, dst_buffer, size))
AFTER(clEnqueueCopyBufferRect,
      (cl_mem src_buffer, cl_mem dst_buffer, const size_t *src_origin, const size_t *dst_origin,
       const size_t *region, size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch,
       size_t dst_slice_pitch),
      mem_to_mem(f, src_buffer, dst_buffer, ocl_region_bytes(region)))
AFTER(clEnqueueCopyImage,
      (cl_mem src_image, cl_mem dst_image, const size_t *src_origin, const size_t *dst_origin,
       const size_t *region),
      mem_to_mem(f, src_image, dst_image, ocl_region_pixels(src_image, region)))
AFTER(clEnqueueCopyImageToBuffer,
      (cl_mem src_image, cl_mem dst_buffer, const size_t *src_origin, const size_t *region,
       size_t dst_offset),
      mem_to_mem(f, src_image, dst_buffer, ocl_region_pixels(src_image, region)))
AFTER(clEnqueueCopyBufferToImage,
      (cl_mem src_buffer, cl_mem dst_image, size_t src_offset, const size_t *dst_origin,
       const size_t *region),
      mem_to_mem(f, src_buffer, dst_image, ocl_region_pixels(dst_image, region)))
AFTER(clEnqueueFillBuffer,
      (cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size),
      fill(f, size, buffer, NULL))
AFTER(clEnqueueFillImage,
      (cl_mem image, const void *fill_color, const size_t *origin, const size_t *region),
      fill(f, ocl_region_pixels(image, region), image, NULL))
AFTER(clEnqueueUnmapMemObject, (cl_mem memobj, void *mapped_ptr), unmap(f, memobj, mapped_ptr))
AFTER(clEnqueueMigrateMemObjects,
      (cl_uint num_mem_objects, const cl_mem *mem_objects, cl_mem_migration_flags flags),
      migrate_mem(f, num_mem_objects, mem_objects, flags))
AFTER(clEnqueueMigrateMemObjectEXT,
      (cl_uint num_mem_objects, const cl_mem *mem_objects, cl_mem_migration_flags_ext flags),
      migrate_mem(f, num_mem_objects, mem_objects, flags))

#define AFTER_MEMCPY(name)                                                                         \
	AFTER(name, (cl_bool blocking_copy, void *dst_ptr, const void *src_ptr, size_t size),      \
	      address_copy(f, dst_ptr, src_ptr, size, blocking_copy))
#define AFTER_FILL(name)                                                                           \
	AFTER(name, (void *svm_ptr, const void *pattern, size_t pattern_size, size_t size),        \
	      fill(f, size, NULL, svm_ptr))
#define AFTER_MAP(name)                                                                            \
	AFTER(name, (cl_bool blocking_map, cl_map_flags flags, void *svm_ptr, size_t size),        \
	      map(f, NULL, svm_ptr, size, flags, blocking_map))

AFTER_MEMCPY(clEnqueueSVMMemcpy)
AFTER_MEMCPY(clEnqueueSVMMemcpyARM)
AFTER_MEMCPY(clEnqueueMemcpyINTEL)
AFTER_FILL(clEnqueueSVMMemFill)
AFTER_FILL(clEnqueueSVMMemFillARM)
AFTER_FILL(clEnqueueMemFillINTEL)
AFTER_MAP(clEnqueueSVMMap)
AFTER_MAP(clEnqueueSVMMapARM)
AFTER(clEnqueueSVMUnmap, (void *svm_ptr), unmap(f, NULL, svm_ptr))
AFTER(clEnqueueSVMUnmapARM, (void *svm_ptr), unmap(f, NULL, svm_ptr))
AFTER(clEnqueueMemsetINTEL, (void *dst_ptr, cl_int value, size_t size),
      fill(f, size, NULL, dst_ptr))
AFTER(clEnqueueMigrateMemINTEL, (const void *ptr, size_t size, cl_mem_migration_flags flags),
      migrate(f, size, flags,
	      (struct ocl_end){0, ocl_range_of(ptr).kind, (uint32_t)ocl_range_of(ptr).id}))

/* What the other end of a host pipe is, the kernel knows. */
static void pipe(const struct cap_frame *f, unsigned op, const void *address, uint64_t bytes,
		 bool blocking)
{
	struct ocl_end host, device;
	struct ocl_work w;

	blocking_wait(f, blocking);
	if (!ocl_submit_take(f, &w))
		return;
	host = ocl_end_of_address(w.agent, address);
	device = (struct ocl_end){w.agent, MEMORY_UNKNOWN, 0};
	if (op == COPY_OP_READ)
		copy_submit(f, &w, op, bytes, device, host, blocking);
	else
		copy_submit(f, &w, op, bytes, host, device, blocking);
}

AFTER(clEnqueueReadHostPipeINTEL,
      (cl_program program, const char *pipe_symbol, cl_bool blocking_read, void *ptr, size_t size),
      pipe(f, COPY_OP_READ, ptr, size, blocking_read))
AFTER(clEnqueueWriteHostPipeINTEL,
      (cl_program program, const char *pipe_symbol, cl_bool blocking_write, const void *ptr,
       size_t size),
      pipe(f, COPY_OP_WRITE, ptr, size, blocking_write))

void ocl_post_clEnqueueSVMMigrateMem(struct cap_frame *f, cl_command_queue command_queue,
				     cl_uint num_svm_pointers, const void **svm_pointers,
				     const size_t *sizes, cl_mem_migration_flags flags, WAIT_LIST,
				     cl_int result)
{
	uint64_t bytes = 0;

	if (!ocl_submission.queue || !svm_pointers)
		return;
	/* A size of 0, or no sizes: the whole allocation. */
	for (cl_uint i = 0; i < num_svm_pointers; i++)
		bytes += sizes && sizes[i] ? sizes[i] : ocl_range_of(svm_pointers[i]).bytes;
	migrate(f, bytes, flags, (struct ocl_end){0, MEMORY_SHARED, 0});
}

void ocl_post_clEnqueueMapBuffer(struct cap_frame *f, cl_command_queue command_queue, cl_mem buffer,
				 cl_bool blocking_map, cl_map_flags map_flags, size_t offset,
				 size_t size, WAIT_LIST, cl_int *errcode_ret, void *result)
{
	map(f, buffer, result, size, map_flags, blocking_map);
}

void ocl_post_clEnqueueMapImage(struct cap_frame *f, cl_command_queue command_queue, cl_mem image,
				cl_bool blocking_map, cl_map_flags map_flags, const size_t *origin,
				const size_t *region, size_t *image_row_pitch,
				size_t *image_slice_pitch, WAIT_LIST, cl_int *errcode_ret,
				void *result)
{
	map(f, image, result, ocl_region_pixels(image, region), map_flags, blocking_map);
}
