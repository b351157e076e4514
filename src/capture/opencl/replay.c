/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel may write is put aside and put back, with commands of our own on its queue: memory
 * objects among its arguments, but those that it may only read. Of sub-buffers the region of what they
 * are part of, once where they overlap. It lies in buffers of our own, or, where the device has no room
 * for them, in memory of the host.
 */
#include "capture/opencl/replay.h"
#include "capture/opencl/arguments.h"
#include "core/counter/kernel.h"

#include <stdlib.h>

#include "base/vec.h"
#include "record/fields.h"

struct region {
	cl_mem mem;
	bool image;
	size_t offset, size; /* bytes of a buffer */
	size_t extent[3];    /* of an image */
	cl_mem copy;         /* NULL: in `host` */
	unsigned char *host;
};

struct ocl_kept {
	cl_command_queue queue;
	struct region *regions;
	uint32_t count, room;
};

/* ---- which memory it is ---- */

static bool ask(cl_mem mem, cl_mem_info what, void *out, size_t size)
{
	return ocl_next.clGetMemObjectInfo(mem, what, size, out, NULL) == CL_SUCCESS;
}

static size_t image_number(cl_mem image, cl_image_info what)
{
	size_t n = 0;

	ocl_next.clGetImageInfo(image, what, sizeof(n), &n, NULL);
	return n;
}

/* Of one level and one sample, as copies want it. */
static const char *image_region(cl_mem mem, cl_mem_object_type type, struct region *r)
{
	cl_uint levels = 0, samples = 0;
	size_t array = image_number(mem, CL_IMAGE_ARRAY_SIZE);

	ocl_next.clGetImageInfo(mem, CL_IMAGE_NUM_MIP_LEVELS, sizeof(levels), &levels, NULL);
	ocl_next.clGetImageInfo(mem, CL_IMAGE_NUM_SAMPLES, sizeof(samples), &samples, NULL);
	if (levels > 1 || samples > 1)
		return "they use images of several levels or samples";
	*r = (struct region){.mem = mem,
			     .image = true,
			     .extent = {image_number(mem, CL_IMAGE_WIDTH),
					image_number(mem, CL_IMAGE_HEIGHT),
					image_number(mem, CL_IMAGE_DEPTH)}};
	if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
		r->extent[1] = array;
	if (type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
		r->extent[2] = array;
	r->size = image_number(mem, CL_IMAGE_ELEMENT_SIZE);
	for (unsigned i = 0; i < 3; i++) {
		r->extent[i] = r->extent[i] ? r->extent[i] : 1;
		r->size *= r->extent[i];
	}
	return NULL;
}

/* One region instead of several that overlap. */
static bool add_buffer(struct ocl_kept *k, struct region r)
{
	for (uint32_t i = 0; i < k->count; i++) {
		struct region *o = &k->regions[i];
		size_t end = r.offset + r.size, other = o->offset + o->size;

		if (o->image || o->mem != r.mem || r.offset > other || o->offset > end)
			continue;
		r.offset = r.offset < o->offset ? r.offset : o->offset;
		r.size = (end > other ? end : other) - r.offset;
		*o = k->regions[--k->count];
		return add_buffer(k, r);
	}
	if (!vec_reserve(&k->regions, &k->room, k->count, 1))
		return false;
	k->regions[k->count++] = r;
	return true;
}

static bool add_image(struct ocl_kept *k, const struct region *r)
{
	for (uint32_t i = 0; i < k->count; i++)
		if (k->regions[i].mem == r->mem)
			return true;
	if (!vec_reserve(&k->regions, &k->room, k->count, 1))
		return false;
	k->regions[k->count++] = *r;
	return true;
}

/* What the program writes there meanwhile would be lost. */
static bool is_mapped(cl_mem mem)
{
	cl_uint count = 0;

	return ask(mem, CL_MEM_MAP_COUNT, &count, sizeof(count)) && count;
}

static const char *add_mem(struct ocl_kept *k, cl_mem mem)
{
	static const char no_memory[] = "there was no memory to put aside what they may write";
	cl_mem_object_type type = 0;
	cl_mem_flags flags = 0;
	cl_mem root = NULL;
	struct region r = {.mem = mem};
	const char *why;

	if (!ask(mem, CL_MEM_TYPE, &type, sizeof(type)) ||
	    !ask(mem, CL_MEM_FLAGS, &flags, sizeof(flags)) ||
	    !ask(mem, CL_MEM_SIZE, &r.size, sizeof(r.size)))
		return "the runtime tells nothing of a memory object";
	if (type == CL_MEM_OBJECT_PIPE)
		return "they use pipes";
	if (flags & CL_MEM_READ_ONLY)
		return NULL;
	ask(mem, CL_MEM_ASSOCIATED_MEMOBJECT, &root, sizeof(root));
	if (is_mapped(mem) || (root && is_mapped(root)))
		return "the program had mapped memory that they may write";
	if (type == CL_MEM_OBJECT_BUFFER && root) {
		ask(mem, CL_MEM_OFFSET, &r.offset, sizeof(r.offset));
		r.mem = root;
	} else if (type != CL_MEM_OBJECT_BUFFER && root) {
		return add_mem(k, root); /* an image of a buffer, or another view of an image */
	} else if (type != CL_MEM_OBJECT_BUFFER) {
		why = image_region(mem, type, &r);
		return why ? why : add_image(k, &r) ? NULL : no_memory;
	}
	return add_buffer(k, r) ? NULL : no_memory;
}

/* Of memory whose making was not seen; where the runtime tells no more of arguments, there is none. */
static bool is_memory(cl_kernel kernel, cl_uint i)
{
	cl_kernel_arg_address_qualifier where = CL_KERNEL_ARG_ADDRESS_PRIVATE;

	return ocl_next.clGetKernelArgInfo &&
	       ocl_next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
					   sizeof(where), &where, NULL) == CL_SUCCESS &&
	       where == CL_KERNEL_ARG_ADDRESS_GLOBAL;
}

static const char *find_regions(struct ocl_kept *k, cl_kernel kernel)
{
	struct ocl_kernel *o = (struct ocl_kernel *)ocl_find(OCL_KERNEL, kernel);
	const char *why = ocl_kernel_changes(kernel);

	for (uint32_t i = 0; !why && i < o->argument_count; i++) {
		const void *mem = o->arguments[i].mem;

		if (mem && ocl_find(OCL_MEM, mem))
			why = add_mem(k, (cl_mem)(uintptr_t)mem);
		else if (mem && is_memory(kernel, i))
			why = "an argument is memory that is not known";
	}
	return why;
}

/* ---- copies ---- */

static const size_t origin[3] = {0, 0, 0};

/* Into, or out of, the buffer of our own. */
static cl_int copy_device(cl_command_queue q, const struct region *r, bool back)
{
	if (r->image)
		return back ? ocl_next.clEnqueueCopyBufferToImage(q, r->copy, r->mem, 0, origin,
								  r->extent, 0, NULL, NULL)
			    : ocl_next.clEnqueueCopyImageToBuffer(q, r->mem, r->copy, origin,
								  r->extent, 0, 0, NULL, NULL);
	return back ? ocl_next.clEnqueueCopyBuffer(q, r->copy, r->mem, 0, r->offset, r->size, 0,
						   NULL, NULL)
		    : ocl_next.clEnqueueCopyBuffer(q, r->mem, r->copy, r->offset, 0, r->size, 0,
						   NULL, NULL);
}

static cl_int copy_host(cl_command_queue q, const struct region *r, bool back)
{
	if (r->image)
		return back ? ocl_next.clEnqueueWriteImage(q, r->mem, CL_TRUE, origin, r->extent, 0,
							   0, r->host, 0, NULL, NULL)
			    : ocl_next.clEnqueueReadImage(q, r->mem, CL_TRUE, origin, r->extent, 0,
							  0, r->host, 0, NULL, NULL);
	return back ? ocl_next.clEnqueueWriteBuffer(q, r->mem, CL_TRUE, r->offset, r->size, r->host,
						    0, NULL, NULL)
		    : ocl_next.clEnqueueReadBuffer(q, r->mem, CL_TRUE, r->offset, r->size, r->host,
						   0, NULL, NULL);
}

/* A device may say only when memory is used that it has none. */
static bool save(cl_command_queue queue, cl_context context, struct region *r)
{
	cl_int error = CL_SUCCESS;

	r->copy = ocl_next.clCreateBuffer(context, CL_MEM_READ_WRITE, r->size, NULL, &error);
	if (r->copy && copy_device(queue, r, false) == CL_SUCCESS &&
	    ocl_next.clFinish(queue) == CL_SUCCESS)
		return true;
	if (r->copy)
		ocl_next.clReleaseMemObject(r->copy);
	r->copy = NULL;
	r->host = malloc(r->size);
	return r->host && copy_host(queue, r, false) == CL_SUCCESS;
}

bool ocl_kept_restore(const struct ocl_kept *k)
{
	bool good = true;

	for (uint32_t i = 0; i < k->count; i++) {
		const struct region *r = &k->regions[i];

		good &= (r->copy ? copy_device(k->queue, r, true) : copy_host(k->queue, r, true)) ==
			CL_SUCCESS;
	}
	return ocl_next.clFinish(k->queue) == CL_SUCCESS && good;
}

void ocl_kept_free(struct ocl_kept *k)
{
	for (uint32_t i = 0; k && i < k->count; i++) {
		if (k->regions[i].copy)
			ocl_next.clReleaseMemObject(k->regions[i].copy);
		free(k->regions[i].host);
	}
	if (k)
		free(k->regions);
	free(k);
}

struct ocl_kept *ocl_keep(cl_command_queue queue, const void *context, cl_kernel kernel,
			  const char **reason)
{
	struct ocl_kept *k = calloc(1, sizeof(*k));
	uint64_t bytes = 0;

	*reason = k ? NULL : "there was no memory to put aside what they may write";
	if (!k)
		return NULL;
	k->queue = queue;
	*reason = find_regions(k, kernel);
	for (uint32_t i = 0; !*reason && i < k->count; i++) {
		bytes += k->regions[i].size;
		if (!save(queue, (cl_context)context, &k->regions[i]))
			*reason = "neither the device nor the host had room to put aside what they "
				  "may write";
	}
	if (*reason) {
		ocl_kept_free(k);
		return NULL;
	}
	cap_launch_saved(bytes);
	return k;
}
