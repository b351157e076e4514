/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations and their lifetimes. An object is freed when the program has let go of it and of
 * everything made from it (sub-buffers, images of buffers). The runtime may hold the memory a
 * little longer for commands that still use it.
 */
#include "capture/opencl/memory.h"

#include <stdlib.h>
#include <string.h>

#include "opencl_hooks.h"

/* ---- memory objects ---- */

static void record(const struct cap_frame *f, unsigned op, const struct ocl_mem *m)
{
	const struct cap_allocation a = {(uintptr_t)m->object.handle,
					 m->bytes,
					 m->object.id,
					 m->parent ? m->parent->object.id : 0,
					 m->agent,
					 m->context,
					 m->memory,
					 m->what};

	cap_allocation_record(f, 0, op, &a);
}

static bool ask(cl_mem mem, cl_mem_info what, void *out, size_t size)
{
	return ocl_next.clGetMemObjectInfo(mem, what, size, out, NULL) == CL_SUCCESS;
}

static uint8_t kind_of_flags(cl_mem_flags flags)
{
	return flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR) ? MEMORY_HOST_PINNED
								     : MEMORY_DEVICE;
}

/* Fills in what the runtime says of the object. */
static struct ocl_mem *mem_new(cl_mem mem, uint8_t what, cl_mem parent)
{
	struct ocl_mem *m = ocl_object_new(OCL_MEM);
	cl_context context = NULL;
	struct ocl_context *c;
	cl_mem_flags flags = 0;
	size_t bytes = 0, element = 0;

	if (!m)
		return NULL;
	ask(mem, CL_MEM_SIZE, &bytes, sizeof(bytes));
	ask(mem, CL_MEM_FLAGS, &flags, sizeof(flags));
	ask(mem, CL_MEM_CONTEXT, &context, sizeof(context));
	if (what == ALLOCATION_IMAGE)
		ocl_next.clGetImageInfo(mem, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element,
					NULL);
	c = ocl_context_get(context);
	m->object.handle = mem;
	m->object.id = (uint32_t)cap_new_allocation();
	m->bytes = bytes;
	m->element = (uint32_t)element;
	m->memory = kind_of_flags(flags);
	m->what = what;
	m->context = c ? c->object.id : 0;
	m->agent = c ? c->agent : 0;
	atomic_store(&m->children, 1);
	m->parent = (struct ocl_mem *)ocl_find(OCL_MEM, parent);
	if (m->parent)
		atomic_fetch_add(&m->parent->children, 1);
	return m;
}

/* The program, or a child, let go of `m`; ends it, and what it alone kept. */
static void mem_let_go(const struct cap_frame *f, struct ocl_mem *m)
{
	while (m && atomic_fetch_sub(&m->children, 1) == 1) {
		struct ocl_mem *parent = m->parent;

		record(f, ALLOCATION_OP_FREE, m);
		ocl_object_free(OCL_MEM, &m->object);
		m = parent;
	}
}

static void mem_created(const struct cap_frame *f, cl_mem mem, uint8_t what, cl_mem parent)
{
	struct ocl_mem *m = mem ? mem_new(mem, what, parent) : NULL, *old;

	if (!m)
		return;
	old = (struct ocl_mem *)ocl_insert(OCL_MEM, &m->object, true);
	if (old) /* its end was missed */
		mem_let_go(NULL, old);
	record(f, ALLOCATION_OP_ALLOCATE, m);
}

struct ocl_mem *ocl_mem_get(cl_mem mem)
{
	struct ocl_mem *m = (struct ocl_mem *)ocl_find(OCL_MEM, mem), *old;
	cl_mem_object_type type = 0;

	if (m || !mem || !ask(mem, CL_MEM_TYPE, &type, sizeof(type)))
		return m;
	m = mem_new(mem,
		    type == CL_MEM_OBJECT_BUFFER ? ALLOCATION_BUFFER
		    : type == CL_MEM_OBJECT_PIPE ? ALLOCATION_PIPE
						 : ALLOCATION_IMAGE,
		    NULL);
	if (!m)
		return NULL;
	old = (struct ocl_mem *)ocl_insert(OCL_MEM, &m->object, false);
	return old ? old : m;
}

void ocl_post_clCreateBuffer(struct cap_frame *f, cl_context context, cl_mem_flags flags,
			     size_t size, void *host_ptr, cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_BUFFER, NULL);
}

void ocl_post_clCreateBufferWithProperties(struct cap_frame *f, cl_context context,
					   const cl_mem_properties *properties, cl_mem_flags flags,
					   size_t size, void *host_ptr, cl_int *errcode_ret,
					   cl_mem result)
{
	mem_created(f, result, ALLOCATION_BUFFER, NULL);
}

void ocl_post_clCreateBufferWithPropertiesINTEL(struct cap_frame *f, cl_context context,
						const cl_mem_properties_intel *properties,
						cl_mem_flags flags, size_t size, void *host_ptr,
						cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_BUFFER, NULL);
}

void ocl_post_clCreateSubBuffer(struct cap_frame *f, cl_mem buffer, cl_mem_flags flags,
				cl_buffer_create_type buffer_create_type,
				const void *buffer_create_info, cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_SUB_BUFFER, buffer);
}

void ocl_post_clCreateImage(struct cap_frame *f, cl_context context, cl_mem_flags flags,
			    const cl_image_format *image_format, const cl_image_desc *image_desc,
			    void *host_ptr, cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_IMAGE, image_desc ? image_desc->buffer : NULL);
}

void ocl_post_clCreateImageWithProperties(struct cap_frame *f, cl_context context,
					  const cl_mem_properties *properties, cl_mem_flags flags,
					  const cl_image_format *image_format,
					  const cl_image_desc *image_desc, void *host_ptr,
					  cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_IMAGE, image_desc ? image_desc->buffer : NULL);
}

void ocl_post_clCreateImage2D(struct cap_frame *f, cl_context context, cl_mem_flags flags,
			      const cl_image_format *image_format, size_t image_width,
			      size_t image_height, size_t image_row_pitch, void *host_ptr,
			      cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_IMAGE, NULL);
}

void ocl_post_clCreateImage3D(struct cap_frame *f, cl_context context, cl_mem_flags flags,
			      const cl_image_format *image_format, size_t image_width,
			      size_t image_height, size_t image_depth, size_t image_row_pitch,
			      size_t image_slice_pitch, void *host_ptr, cl_int *errcode_ret,
			      cl_mem result)
{
	mem_created(f, result, ALLOCATION_IMAGE, NULL);
}

void ocl_post_clCreatePipe(struct cap_frame *f, cl_context context, cl_mem_flags flags,
			   cl_uint pipe_packet_size, cl_uint pipe_max_packets,
			   const cl_pipe_properties *properties, cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_PIPE, NULL);
}

void ocl_post_clImportMemoryARM(struct cap_frame *f, cl_context context, cl_mem_flags flags,
				const cl_import_properties_arm *properties, void *memory,
				size_t size, cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_BUFFER, NULL);
}

void ocl_post_clCreateBufferNV(struct cap_frame *f, cl_context context, cl_mem_flags flags,
			       cl_ulong flags_NV, size_t size, void *host_ptr, cl_int *errcode_ret,
			       cl_mem result)
{
	mem_created(f, result, ALLOCATION_BUFFER, NULL);
}

/* ---- memory of other APIs, seen through an object of OpenCL ---- */

void ocl_post_clCreateFromGLBuffer(struct cap_frame *f, cl_context context, cl_mem_flags flags,
				   cl_GLuint bufobj, cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_BUFFER, NULL);
}

#define FROM_TEXTURE(name)                                                                         \
	void ocl_post_##name(struct cap_frame *f, cl_context context, cl_mem_flags flags,          \
			     cl_GLenum target, cl_GLint miplevel, cl_GLuint texture,               \
			     cl_int *errcode_ret, cl_mem result)                                   \
	{                                                                                          \
		mem_created(f, result, ALLOCATION_IMAGE, NULL);                                    \
	}

FROM_TEXTURE(clCreateFromGLTexture)
FROM_TEXTURE(clCreateFromGLTexture2D)
FROM_TEXTURE(clCreateFromGLTexture3D)

void ocl_post_clCreateFromGLRenderbuffer(struct cap_frame *f, cl_context context,
					 cl_mem_flags flags, cl_GLuint renderbuffer,
					 cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_IMAGE, NULL);
}

void ocl_post_clCreateFromEGLImageKHR(struct cap_frame *f, cl_context context,
				      CLeglDisplayKHR egldisplay, CLeglImageKHR eglimage,
				      cl_mem_flags flags,
				      const cl_egl_image_properties_khr *properties,
				      cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_IMAGE, NULL);
}

void ocl_post_clCreateFromVA_APIMediaSurfaceINTEL(struct cap_frame *f, cl_context context,
						  cl_mem_flags flags, cl_uint *surface,
						  cl_uint plane, cl_int *errcode_ret, cl_mem result)
{
	mem_created(f, result, ALLOCATION_IMAGE, NULL);
}

void ocl_pre_clRetainMemObject(struct cap_frame *f, cl_mem memobj)
{
	ocl_retain(OCL_MEM, memobj);
}

void ocl_pre_clReleaseMemObject(struct cap_frame *f, cl_mem memobj)
{
	mem_let_go(f, (struct ocl_mem *)ocl_release(OCL_MEM, memobj));
}

/* ---- SVM and USM ---- */

static struct cap_memories ranges = CAP_MEMORIES;

struct cap_memory ocl_range_of(const void *address)
{
	return cap_memory_of(&ranges, (uintptr_t)address);
}

static void range_created(const struct cap_frame *f, const void *address, size_t bytes,
			  cl_context context, uint32_t agent, uint8_t kind, uint8_t what)
{
	struct ocl_context *c = address ? ocl_context_get(context) : NULL;

	cap_memory_allocated(&ranges, f,
			     (struct cap_memory){.address = (uintptr_t)address,
						 .bytes = bytes,
						 .context = c ? c->object.id : 0,
						 .agent = agent,
						 .kind = kind,
						 .what = what});
}

/* Before the call: nobody has the address yet. */
static void range_freed(const struct cap_frame *f, const void *address)
{
	struct cap_memory m;

	if (address && cap_memory_take(&ranges, (uintptr_t)address, &m))
		cap_memory_record(f, ALLOCATION_OP_FREE, &m);
}

void ocl_post_clSVMAlloc(struct cap_frame *f, cl_context context, cl_svm_mem_flags flags,
			 size_t size, cl_uint alignment, void *result)
{
	range_created(f, result, size, context, 0, MEMORY_SHARED, ALLOCATION_SVM);
}

void ocl_post_clSVMAllocARM(struct cap_frame *f, cl_context context, cl_svm_mem_flags_arm flags,
			    size_t size, cl_uint alignment, void *result)
{
	range_created(f, result, size, context, 0, MEMORY_SHARED, ALLOCATION_SVM);
}

void ocl_post_clSVMAllocWithPropertiesKHR(struct cap_frame *f, cl_context context,
					  const cl_properties *properties, cl_uint svm_type_index,
					  size_t size, cl_int *errcode_ret, void *result)
{
	range_created(f, result, size, context, 0, MEMORY_SHARED, ALLOCATION_SVM);
}

void ocl_pre_clSVMFreeWithPropertiesKHR(struct cap_frame *f, cl_context context,
					const cl_properties *properties, cl_ulong flags, void *ptr)
{
	range_freed(f, ptr);
}

void ocl_pre_clSVMFree(struct cap_frame *f, cl_context context, void *svm_pointer)
{
	range_freed(f, svm_pointer);
}

void ocl_pre_clSVMFreeARM(struct cap_frame *f, cl_context context, void *svm_pointer)
{
	range_freed(f, svm_pointer);
}

/* Freed in the order of the queue, some time later; recorded where it was asked for. */
void ocl_pre_clEnqueueSVMFree(struct cap_frame *f, cl_command_queue command_queue,
			      cl_uint num_svm_pointers, void **svm_pointers,
			      void (*pfn_free_func)(cl_command_queue queue,
						    cl_uint num_svm_pointers, void *svm_pointers[],
						    void *user_data),
			      void *user_data, cl_uint num_events_in_wait_list,
			      const cl_event *event_wait_list, cl_event *event)
{
	for (cl_uint i = 0; svm_pointers && i < num_svm_pointers; i++)
		range_freed(f, svm_pointers[i]);
}

void ocl_pre_clEnqueueSVMFreeARM(struct cap_frame *f, cl_command_queue command_queue,
				 cl_uint num_svm_pointers, void **svm_pointers,
				 void (*pfn_free_func)(cl_command_queue queue,
						       cl_uint num_svm_pointers,
						       void *svm_pointers[], void *user_data),
				 void *user_data, cl_uint num_events_in_wait_list,
				 const cl_event *event_wait_list, cl_event *event)
{
	for (cl_uint i = 0; svm_pointers && i < num_svm_pointers; i++)
		range_freed(f, svm_pointers[i]);
}

static uint32_t agent_id(cl_device_id device)
{
	struct ocl_device *a = ocl_device_get(device);

	return a ? a->object.id : 0;
}

void ocl_post_clHostMemAllocINTEL(struct cap_frame *f, cl_context context,
				  const cl_mem_properties_intel *properties, size_t size,
				  cl_uint alignment, cl_int *errcode_ret, void *result)
{
	range_created(f, result, size, context, 0, MEMORY_HOST_PINNED, ALLOCATION_USM);
}

void ocl_post_clDeviceMemAllocINTEL(struct cap_frame *f, cl_context context, cl_device_id device,
				    const cl_mem_properties_intel *properties, size_t size,
				    cl_uint alignment, cl_int *errcode_ret, void *result)
{
	range_created(f, result, size, context, agent_id(device), MEMORY_DEVICE, ALLOCATION_USM);
}

void ocl_post_clSharedMemAllocINTEL(struct cap_frame *f, cl_context context, cl_device_id device,
				    const cl_mem_properties_intel *properties, size_t size,
				    cl_uint alignment, cl_int *errcode_ret, void *result)
{
	range_created(f, result, size, context, agent_id(device), MEMORY_MANAGED, ALLOCATION_USM);
}

void ocl_pre_clMemFreeINTEL(struct cap_frame *f, cl_context context, void *ptr)
{
	range_freed(f, ptr);
}

void ocl_pre_clMemBlockingFreeINTEL(struct cap_frame *f, cl_context context, void *ptr)
{
	range_freed(f, ptr);
}

/* ---- mappings ---- */

#define MAP_LISTS 64u

struct map {
	struct map *next;
	const void *object, *address;
	uint64_t bytes;
};

static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static struct map *maps[MAP_LISTS];

static struct map **map_list(const void *address)
{
	return &maps[((uintptr_t)address * 0x9e3779b97f4a7c15ull) >> 58];
}

void ocl_map_add(const void *object, const void *address, uint64_t bytes)
{
	struct map *m = malloc(sizeof(*m)), **list = map_list(address);

	if (!m)
		return;
	pthread_mutex_lock(&map_lock);
	*m = (struct map){*list, object, address, bytes};
	*list = m;
	pthread_mutex_unlock(&map_lock);
}

uint64_t ocl_map_take(const void *object, const void *address)
{
	struct map **at = map_list(address), *m;
	uint64_t bytes = 0;

	pthread_mutex_lock(&map_lock);
	while ((m = *at) && (m->object != object || m->address != address))
		at = &m->next;
	if (m) {
		bytes = m->bytes;
		*at = m->next;
	}
	pthread_mutex_unlock(&map_lock);
	free(m);
	return bytes;
}

void ocl_memory_fork_child(void)
{
	cap_memories_drop(&ranges);
	pthread_mutex_init(&map_lock, NULL);
	memset(maps, 0, sizeof(maps));
}
