/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions make, keep and release objects of which kind. The argument that is the object is known by its type:
 * of one that makes what it returns or writes, of others the first. Memory is not here: allocations are records.
 */
#include <fnmatch.h>
#include <string.h>

#include "analysis/objects.h"

struct object_kind {
	const char *name;
	const char *makes, *keeps, *releases; /* patterns of functions, parted by blanks */
	const char *types;                    /* C types, likewise; "_t" is part of them */
	unsigned flags;
};

static const struct object_kind kinds[] = {
	{"OpenCL context", "clCreateContext*", "clRetainContext", "clReleaseContext", "cl_context",
	 OBJECT_COUNTED},
	{"OpenCL queue", "clCreateCommandQueue*", "clRetainCommandQueue", "clReleaseCommandQueue",
	 "cl_command_queue", OBJECT_COUNTED},
	{"OpenCL program", "clCreateProgram* clLinkProgram", "clRetainProgram", "clReleaseProgram",
	 "cl_program", OBJECT_COUNTED},
	{"OpenCL kernel", "clCreateKernel clCreateKernelsInProgram clCloneKernel", "clRetainKernel",
	 "clReleaseKernel", "cl_kernel", OBJECT_COUNTED},
	{"OpenCL event", "clEnqueue* clCreateUserEvent clCreateEventFrom*", "clRetainEvent",
	 "clReleaseEvent", "cl_event", OBJECT_COUNTED},
	{"OpenCL sampler", "clCreateSampler*", "clRetainSampler", "clReleaseSampler", "cl_sampler",
	 OBJECT_COUNTED},
	{"OpenCL command buffer", "clCreateCommandBufferKHR", "clRetainCommandBufferKHR",
	 "clReleaseCommandBufferKHR", "cl_command_buffer_khr", OBJECT_COUNTED},
	{"OpenCL semaphore", "clCreateSemaphoreWithPropertiesKHR", "clRetainSemaphoreKHR",
	 "clReleaseSemaphoreKHR", "cl_semaphore_khr", OBJECT_COUNTED},

	{"CUDA stream", "cuStreamCreate* cudaStreamCreate* cuGreenCtxStreamCreate", "",
	 "cuStreamDestroy* cudaStreamDestroy*", "CUstream cudaStream_t", 0},
	{"CUDA event", "cuEventCreate* cudaEventCreate* cu*IpcOpenEventHandle", "",
	 "cuEventDestroy* cudaEventDestroy*", "CUevent cudaEvent_t", 0},
	{"CUDA context", "cuCtxCreate*", "", "cuCtxDestroy*", "CUcontext", 0},
	{"CUDA module", "cuModuleLoad*", "", "cuModuleUnload", "CUmodule", OBJECT_OUTERMOST},
	{"CUDA library handle", "cuLibraryLoad* cudaLibraryLoad*", "",
	 "cuLibraryUnload cudaLibraryUnload", "CUlibrary cudaLibrary_t", OBJECT_OUTERMOST},
	{"CUDA graph",
	 "cuGraphCreate cudaGraphCreate cuGraphClone cudaGraphClone cuStreamEndCapture* "
	 "cudaStreamEndCapture*",
	 "", "cuGraphDestroy cudaGraphDestroy", "CUgraph cudaGraph_t", 0},
	{"CUDA executable graph", "cuGraphInstantiate* cudaGraphInstantiate*", "",
	 "cuGraphExecDestroy cudaGraphExecDestroy", "CUgraphExec cudaGraphExec_t", 0},
	{"CUDA memory pool",
	 "cuMemPoolCreate cudaMemPoolCreate cu*MemPoolImportFromShareableHandle", "",
	 "cuMemPoolDestroy cudaMemPoolDestroy", "CUmemoryPool cudaMemPool_t", 0},
	{"CUDA texture object", "cuTexObjectCreate cudaCreateTextureObject*", "",
	 "cuTexObjectDestroy cudaDestroyTextureObject", "CUtexObject cudaTextureObject_t", 0},
	{"CUDA surface object", "cuSurfObjectCreate cudaCreateSurfaceObject", "",
	 "cuSurfObjectDestroy cudaDestroySurfaceObject", "CUsurfObject cudaSurfaceObject_t", 0},
	{"CUDA link", "cuLinkCreate*", "", "cuLinkDestroy", "CUlinkState", 0},
	{"CUDA green context", "cuGreenCtxCreate", "", "cuGreenCtxDestroy", "CUgreenCtx", 0},

	{"HIP stream", "hipStreamCreate* hipExtStreamCreateWithCUMask", "", "hipStreamDestroy",
	 "hipStream_t", 0},
	{"HIP event", "hipEventCreate*", "", "hipEventDestroy", "hipEvent_t", 0},
	{"HIP context", "hipCtxCreate", "", "hipCtxDestroy", "hipCtx_t", 0},
	{"HIP module", "hipModuleLoad*", "", "hipModuleUnload", "hipModule_t", OBJECT_OUTERMOST},
	{"HIP graph", "hipGraphCreate hipGraphClone hipStreamEndCapture*", "", "hipGraphDestroy",
	 "hipGraph_t", 0},
	{"HIP executable graph", "hipGraphInstantiate*", "", "hipGraphExecDestroy",
	 "hipGraphExec_t", 0},
	{"HIP memory pool", "hipMemPoolCreate", "", "hipMemPoolDestroy", "hipMemPool_t", 0},

	{"Level Zero context", "zeContextCreate*", "", "zeContextDestroy", "ze_context_handle_t",
	 0},
	{"Level Zero queue", "zeCommandQueueCreate", "", "zeCommandQueueDestroy",
	 "ze_command_queue_handle_t", 0},
	{"Level Zero command list", "zeCommandListCreate*", "", "zeCommandListDestroy",
	 "ze_command_list_handle_t", 0},
	{"Level Zero event pool", "zeEventPoolCreate zeEventPoolOpenIpcHandle", "",
	 "zeEventPoolDestroy zeEventPoolCloseIpcHandle", "ze_event_pool_handle_t", 0},
	{"Level Zero event", "zeEventCreate zeEventCounterBasedCreate", "", "zeEventDestroy",
	 "ze_event_handle_t", 0},
	{"Level Zero fence", "zeFenceCreate", "", "zeFenceDestroy", "ze_fence_handle_t", 0},
	{"Level Zero module", "zeModuleCreate", "", "zeModuleDestroy", "ze_module_handle_t", 0},
	{"Level Zero kernel", "zeKernelCreate", "", "zeKernelDestroy", "ze_kernel_handle_t", 0},
	{"Level Zero sampler", "zeSamplerCreate", "", "zeSamplerDestroy", "ze_sampler_handle_t", 0},

	{"MPI communicator",
	 "MPI_Comm_dup* MPI_Comm_idup* MPI_Comm_create* MPI_Comm_split* MPI_Cart_create "
	 "MPI_Cart_sub MPI_Graph_create MPI_Dist_graph_create* MPI_Intercomm_* MPI_Comm_accept "
	 "MPI_Comm_connect MPI_Comm_join MPI_Comm_spawn*",
	 "", "MPI_Comm_free MPI_Comm_disconnect", "MPI_Comm", OBJECT_COMMUNICATOR},
	{"MPI group",
	 "MPI_Comm_group MPI_Comm_remote_group MPI_Win_get_group MPI_File_get_group "
	 "MPI_Group_union MPI_Group_intersection MPI_Group_difference MPI_Group_incl "
	 "MPI_Group_excl MPI_Group_range_* MPI_Group_from_session_pset",
	 "", "MPI_Group_free", "MPI_Group", OBJECT_COUNTED},
	/* Those of Fortran 90 are the implementation's. */
	{"MPI datatype",
	 "MPI_Type_contiguous* MPI_Type_vector* MPI_Type_hvector MPI_Type_indexed* "
	 "MPI_Type_hindexed MPI_Type_struct MPI_Type_create_[!f]* MPI_Type_dup",
	 "", "MPI_Type_free", "MPI_Datatype", 0},
	{"MPI operation", "MPI_Op_create*", "", "MPI_Op_free", "MPI_Op", 0},
	{"MPI persistent request", "MPI_*_init MPI_*_init_c", "", "MPI_Request_free", "MPI_Request",
	 0},
	{"MPI window", "MPI_Win_create MPI_Win_create_c MPI_Win_create_dynamic MPI_Win_allocate*",
	 "", "MPI_Win_free", "MPI_Win", 0},
	{"MPI file", "MPI_File_open", "", "MPI_File_close", "MPI_File", 0},
};

enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
_Static_assert(sizeof(kinds) / sizeof(*kinds) <= OBJECT_KINDS, "kinds are numbered by a byte");

/* One word of `list` fits. */
static bool fits(const char *list, const char *name, bool (*same)(const char *, const char *))
{
	while (*list) {
		size_t n = strcspn(list, " ");
		char word[64];

		if (n < sizeof(word)) {
			memcpy(word, list, n);
			word[n] = 0;
			if (same(word, name))
				return true;
		}
		list += n + strspn(list + n, " ");
	}
	return false;
}

static bool matches(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, 0) == 0;
}

/* "cl_event *" is a pointer to one. */
static bool is_type(const char *type, const char *of_field)
{
	size_t n = strlen(type);

	return strncmp(of_field, type, n) == 0 && of_field[n + strspn(of_field + n, " *[]")] == 0;
}

static uint8_t field_of(const struct object_kind *k, const struct t_op *op, bool result)
{
	for (uint32_t i = 0; i < op->field_count && i < UINT8_MAX - 1u; i++) {
		const struct t_field *f = &op->fields[i];

		if ((!result || (f->flags & (KYMO_FIELD_OUT | KYMO_FIELD_RESULT)) ||
		     f->kind == KYMO_KIND_ARRAY) &&
		    fits(k->types, f->type, is_type))
			return (uint8_t)(i + 1);
	}
	return 0;
}

static enum object_does does_to(const struct object_kind *k, const struct t_op *op)
{
	if (op->flags & (KYMO_OP_ACTIVITY | KYMO_OP_TIMED))
		return OBJECT_NONE;
	return fits(k->makes, op->name, matches)      ? OBJECT_MAKES
	       : fits(k->keeps, op->name, matches)    ? OBJECT_KEEPS
	       : fits(k->releases, op->name, matches) ? OBJECT_RELEASES
						      : OBJECT_NONE;
}

bool objects_op(const struct t_op *op)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (does_to(&kinds[i], op) != OBJECT_NONE)
			return true;
	return false;
}

struct object_op object_op_of(const struct trace *t, const struct t_op *op)
{
	struct object_op found = {0};

	for (unsigned i = 0; i < KINDS && !found.field; i++) {
		const struct object_kind *k = &kinds[i];
		enum object_does does = does_to(k, op);

		if (does == OBJECT_NONE)
			continue;
		found.field = field_of(k, op, does == OBJECT_MAKES);
		found.kind = (uint8_t)i;
		found.does = (uint8_t)(found.field ? does : OBJECT_NONE);
	}
	return found;
}

const char *objects_kind_name(uint32_t kind)
{
	return kind < KINDS ? kinds[kind].name : "";
}

unsigned object_kind_flags(uint32_t kind)
{
	return kinds[kind].flags;
}
