/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roles of regions: the first rule of the domain whose pattern fits. Each domain's last rule says
 * what the rest is, so that no operation of a model is without an answer; a domain that no rule
 * names has none, which is the answer of role_of() for operations that programs publish.
 */
#include "formats/otf2/roles.h"

#include <fnmatch.h>
#include <otf2/otf2.h>
#include <stddef.h>
#include <string.h>

#define HOST   false
#define DEVICE true
#define R(domains, pattern, role, side, task)                                                      \
	{                                                                                          \
		domains, pattern, OTF2_REGION_ROLE_##role, side, TASK_##task                       \
	}
#define CUDAS "cuda|cuda_runtime|hip"

#ifdef KYMO_OTF2_REGION_ROLE_KERNEL
#define ROLE_KERNEL OTF2_REGION_ROLE_KERNEL
#else
#define ROLE_KERNEL OTF2_REGION_ROLE_FUNCTION
#endif

static const struct role roles[] = {
	/* CUDA and HIP */
	R(CUDAS, "*GraphLaunch*", TASK_CREATE, HOST, GRAPH),
	R(CUDAS, "*Graph*", WRAPPER, HOST, OTHER),
	R(CUDAS, "*LaunchHostFunc*|*StreamAddCallback*", TASK_CREATE, HOST, HOST),
	R(CUDAS, "*cuLaunch*|cudaLaunch*|*hipLaunch*|*ModuleLaunch*|*ExtLaunch*|hipLaunchByPtr*",
	  TASK_CREATE, HOST, KERNEL),
	R(CUDAS, "*Memcpy*", DATA_TRANSFER, HOST, COPY),
	R(CUDAS, "*MemPrefetch*|*DiscardAndPrefetch*", DATA_TRANSFER, HOST, COPY),
	R(CUDAS, "*Memset*", DATA_TRANSFER, HOST, FILL),
	R(CUDAS,
	  "*GetMemAllocationPropertiesFromHandle*|*GetAllocationProperties*|"
	  "*GetAllocationGranularity*|*MemRetainAllocationHandle*",
	  WRAPPER, HOST, OTHER),
	R(CUDAS,
	  "cuMemAlloc*|cudaMalloc*|hipMalloc*|hipMemAlloc*|cuMemHostAlloc*|cudaHostAlloc*|"
	  "hipHostMalloc*|hipHostAlloc*|hipExtMalloc*|cuArray*Create*|cuMipmappedArrayCreate*|"
	  "hipArray*Create*|hipMipmappedArrayCreate*|cuMemCreate*|hipMemCreate*|"
	  "cuMemHostRegister*|cudaHostRegister*|hipHostRegister*",
	  ALLOCATE, HOST, OTHER),
	R(CUDAS,
	  "cuMemFree*|cudaFree*|hipFree*|hipMemFree*|hipHostFree*|cuArrayDestroy*|"
	  "hipArrayDestroy*|cuMipmappedArrayDestroy*|hipMipmappedArrayDestroy*|"
	  "cuMemRelease*|hipMemRelease*|cuMemHostUnregister*|cudaHostUnregister*|"
	  "hipHostUnregister*",
	  DEALLOCATE, HOST, OTHER),
	R(CUDAS, "*DeviceSynchronize*|*CtxSynchronize*|*ThreadSynchronize*", BARRIER, HOST, OTHER),
	R(CUDAS, "*StreamSynchronize*|*EventSynchronize*", TASK_WAIT, HOST, OTHER),
	R(CUDAS, "*", WRAPPER, HOST, OTHER),
	/* HSA: packets are written by the program, so few calls submit */
	R("hsa", "*memory_async_copy*|hsa_memory_copy*|*amd_memory_lock_to_pool*", DATA_TRANSFER,
	  HOST, COPY),
	R("hsa", "*memory_fill*|*memory_async_batch*", DATA_TRANSFER, HOST, FILL),
	R("hsa", "hsa_memory_allocate*|*memory_pool_allocate*|*vmem_handle_create*", ALLOCATE, HOST,
	  OTHER),
	R("hsa", "hsa_memory_free*|*memory_pool_free*|*vmem_handle_release*", DEALLOCATE, HOST,
	  OTHER),
	R("hsa", "*signal_wait*", TASK_WAIT, HOST, OTHER),
	R("hsa", "*", WRAPPER, HOST, OTHER),
	/* OpenCL */
	R("opencl", "clEnqueueNDRangeKernel*|clEnqueueTask*|clEnqueueNativeKernel*", TASK_CREATE,
	  HOST, KERNEL),
	R("opencl", "clEnqueueCommandBuffer*", TASK_CREATE, HOST, GRAPH),
	R("opencl", "clEnqueue*Fill*|clEnqueue*Memset*|clEnqueueSVMMemFill*", DATA_TRANSFER, HOST,
	  FILL),
	R("opencl",
	  "clEnqueueMarker*|clEnqueueBarrier*|clEnqueueWait*|clEnqueueAcquire*|"
	  "clEnqueueRelease*|clEnqueueSignal*|clEnqueueSVMFree*",
	  WRAPPER, HOST, OTHER),
	R("opencl", "clEnqueue*", DATA_TRANSFER, HOST, COPY),
	R("opencl",
	  "clCreateBuffer*|clCreateSubBuffer*|clCreateImage*|clCreatePipe*|clSVMAlloc*|"
	  "cl*MemAllocINTEL|clCreateFrom*",
	  ALLOCATE, HOST, OTHER),
	R("opencl", "clReleaseMemObject*|clSVMFree*|clMemFreeINTEL|clMemBlockingFreeINTEL",
	  DEALLOCATE, HOST, OTHER),
	R("opencl", "clFinish*|clWaitForEvents*", TASK_WAIT, HOST, OTHER),
	R("opencl", "*", WRAPPER, HOST, OTHER),
	/* Level Zero */
	R("level_zero|ze", "*AppendLaunch*|*AppendCommandLists*|*QueueExecuteCommandLists*",
	  TASK_CREATE, HOST, KERNEL),
	R("level_zero|ze", "*AppendMemoryFill*", DATA_TRANSFER, HOST, FILL),
	R("level_zero|ze", "*AppendMemoryCopy*|*AppendImageCopy*|*AppendMemoryPrefetch*",
	  DATA_TRANSFER, HOST, COPY),
	R("level_zero|ze", "zeMemAlloc*|zeImageCreate*|zePhysicalMemCreate*", ALLOCATE, HOST,
	  OTHER),
	R("level_zero|ze", "zeMemFree*|zeImageDestroy*|zePhysicalMemDestroy*", DEALLOCATE, HOST,
	  OTHER),
	R("level_zero|ze", "*HostSynchronize*", TASK_WAIT, HOST, OTHER),
	R("level_zero|ze", "*", WRAPPER, HOST, OTHER),
	/* MPI */
	R("mpi", "*_init|*_init_c", WRAPPER, HOST, OTHER),
	R("mpi", "MPI_*barrier|MPI_Barrier", BARRIER, HOST, OTHER),
	R("mpi", "MPI_Bcast*|MPI_Ibcast*|MPI_Scatter*|MPI_Iscatter*", COLL_ONE2ALL, HOST, OTHER),
	R("mpi", "MPI_Gather*|MPI_Igather*|MPI_Reduce|MPI_Reduce_c|MPI_Ireduce|MPI_Ireduce_c",
	  COLL_ALL2ONE, HOST, OTHER),
	R("mpi",
	  "MPI_All*|MPI_Iall*|MPI_Reduce_scatter*|MPI_Ireduce_scatter*|MPI_Neighbor_*|"
	  "MPI_Ineighbor_*",
	  COLL_ALL2ALL, HOST, OTHER),
	R("mpi", "MPI_Scan*|MPI_Iscan*|MPI_Exscan*|MPI_Iexscan*", COLL_OTHER, HOST, OTHER),
	R("mpi", "MPI_*send*|MPI_*Send*|MPI_*recv*|MPI_*Recv*|MPI_Start*|MPI_Pready*", POINT2POINT,
	  HOST, OTHER),
	R("mpi", "MPI_Wait*|MPI_Test|MPI_Testall*|MPI_Testany*|MPI_Testsome*|MPI_*robe*",
	  POINT2POINT, HOST, OTHER),
	R("mpi",
	  "MPI_Put*|MPI_Rput*|MPI_Get|MPI_Get_c|MPI_Rget|MPI_Rget_c|MPI_*ccumulate*|"
	  "MPI_Fetch_and_op|MPI_Compare_and_swap|MPI_Win_*",
	  RMA, HOST, OTHER),
	R("mpi", "MPI_File_*read*|MPI_File_*write*", FILE_IO, HOST, OTHER),
	R("mpi", "MPI_File_*", FILE_IO_METADATA, HOST, OTHER),
	R("mpi", "MPI_Alloc_mem*", ALLOCATE, HOST, OTHER),
	R("mpi", "MPI_Free_mem*", DEALLOCATE, HOST, OTHER),
	R("mpi", "*", WRAPPER, HOST, OTHER),
	/* OpenMP */
	R("openmp", "parallel|teams", PARALLEL, HOST, OTHER),
	R("openmp", "implicit_task|primary_task", FUNCTION, HOST, OTHER),
	R("openmp", "task", TASK, HOST, OTHER),
	R("openmp", "loop|workshare|distribute|taskloop", LOOP, HOST, OTHER),
	R("openmp", "sections", SECTIONS, HOST, OTHER),
	R("openmp", "single|single_other", SINGLE, HOST, OTHER),
	R("openmp", "masked", MASTER, HOST, OTHER),
	R("openmp", "barrier", BARRIER, HOST, OTHER),
	R("openmp", "implicit_barrier|join_barrier|runtime_barrier", IMPLICIT_BARRIER, HOST, OTHER),
	R("openmp", "taskwait|taskgroup|wait", TASK_WAIT, HOST, OTHER),
	R("openmp", "critical|lock|nest_lock|release|nest_lock_again", CRITICAL, HOST, OTHER),
	R("openmp", "atomic", ATOMIC, HOST, OTHER),
	R("openmp", "ordered", ORDERED, HOST, OTHER),
	R("openmp", "flush", FLUSH, HOST, OTHER),
	R("openmp", "task_create", TASK_CREATE, HOST, OTHER),
	R("openmp", "target_submit", TASK_CREATE, HOST, KERNEL),
	R("openmp", "target_transfer_*|target_update", DATA_TRANSFER, HOST, COPY),
	R("openmp", "target_alloc", ALLOCATE, HOST, OTHER),
	R("openmp", "target_delete", DEALLOCATE, HOST, OTHER),
	R("openmp", "*", WRAPPER, HOST, OTHER),
	/* libraries over CUDA and HIP */
	R("nccl", "*AllReduce*|*AllGather*|*ReduceScatter*|*AllToAll*|*Alltoall*", COLL_ALL2ALL,
	  HOST, KERNEL),
	R("nccl", "*Broadcast*|*Bcast*|*Scatter*", COLL_ONE2ALL, HOST, KERNEL),
	R("nccl", "*Reduce|*Gather*", COLL_ALL2ONE, HOST, KERNEL),
	R("nccl", "*Send*|*Recv*", POINT2POINT, HOST, KERNEL),
	R("nccl", "*MemAlloc*", ALLOCATE, HOST, OTHER),
	R("nccl", "*MemFree*", DEALLOCATE, HOST, OTHER),
	R("nccl", "*", WRAPPER, HOST, OTHER),
	R("oneccl", "*allreduce*|*allgather*|*reduce_scatter*|*alltoall*", COLL_ALL2ALL, HOST,
	  KERNEL),
	R("oneccl", "*broadcast*", COLL_ONE2ALL, HOST, KERNEL),
	R("oneccl", "*reduce*", COLL_ALL2ONE, HOST, KERNEL),
	R("oneccl", "*barrier*", BARRIER, HOST, KERNEL),
	R("oneccl", "*send*|*recv*", POINT2POINT, HOST, KERNEL),
	R("oneccl|vaapi", "*", WRAPPER, HOST, OTHER),
	/* one-sided and other messages */
	R("ucx", "ucp_atomic_*", ATOMIC, HOST, OTHER),
	R("ucx", "ucp_get_version*", WRAPPER, HOST, OTHER),
	R("ucx", "ucp_put*|ucp_get*", RMA, HOST, OTHER),
	R("ucx", "ucp_am_send*|ucp_am_recv*|ucp_stream_send_*|ucp_stream_recv_*|ucp_tag_*",
	  POINT2POINT, HOST, OTHER),
	R("ucx", "*", WRAPPER, HOST, OTHER),
	R("openshmem", "*atomic*|*fetch*|*_swap|*_cswap|*_inc|*_add", ATOMIC, HOST, OTHER),
	R("openshmem", "shmem_barrier*|shmem_sync*|shmem_team_sync", BARRIER, HOST, OTHER),
	R("openshmem", "shmem_broadcast*", COLL_ONE2ALL, HOST, OTHER),
	R("openshmem", "*alltoall*|*collect*|*_to_all|*_reduce", COLL_ALL2ALL, HOST, OTHER),
	R("openshmem", "shmem_malloc*|shmem_calloc|shmem_align|shmem_realloc", ALLOCATE, HOST,
	  OTHER),
	R("openshmem", "shmem_free", DEALLOCATE, HOST, OTHER),
	R("openshmem", "shmem_info_get_*|shmem_team_*|*_get_team", WRAPPER, HOST, OTHER),
	R("openshmem", "*put*|*get*|*_p|*_g", RMA, HOST, OTHER),
	R("openshmem", "*", WRAPPER, HOST, OTHER),
	R("numa", "numa_alloc|numa_alloc_*|numa_realloc", ALLOCATE, HOST, OTHER),
	R("numa", "numa_free", DEALLOCATE, HOST, OTHER),
	R("numa", "*", WRAPPER, HOST, OTHER),
	R("cublas|cublaslt|cublasLt|cudnn|cufft|rocblas", "*", WRAPPER, HOST, KERNEL),
	R("nvrtc|hiprtc|hip_compiler|roctx|libfabric", "*", WRAPPER, HOST, OTHER),
	/* activities */
	{"dispatch", "*", ROLE_KERNEL, DEVICE, TASK_KERNEL},
	R("copy", "fill", DATA_TRANSFER, DEVICE, FILL),
	R("copy", "*", DATA_TRANSFER, DEVICE, COPY),
	R("sync", "device", BARRIER, HOST, OTHER),
	R("sync", "blocking*", IMPLICIT_BARRIER, HOST, OTHER),
	R("sync", "barrier|marker|event_record|acquire|release|semaphore_*", TASK_WAIT, HOST,
	  OTHER),
	R("sync", "*", TASK_WAIT, HOST, OTHER),
	R("marker", "*", CODE, HOST, OTHER),
	R("code_object", "*", WRAPPER, HOST, OTHER),
};

/* `name` is one of the words of `words`, or fits one of its patterns. */
static bool fits(const char *words, const char *name)
{
	char word[128];

	while (*words) {
		size_t n = strcspn(words, "|");

		if (n < sizeof(word)) {
			memcpy(word, words, n);
			word[n] = 0;
			if (fnmatch(word, name, 0) == 0)
				return true;
		}
		words += n + (words[n] == '|');
	}
	return false;
}

const struct role *role_of(const char *domain, const char *name)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		if (fits(roles[i].domains, domain) && fits(roles[i].pattern, name))
			return &roles[i];
	}
	return NULL;
}

const char *role_name(uint8_t role)
{
	static const char *const names[] = {"UNKNOWN",
					    "FUNCTION",
					    "WRAPPER",
					    "LOOP",
					    "CODE",
					    "PARALLEL",
					    "SECTIONS",
					    "SECTION",
					    "WORKSHARE",
					    "SINGLE",
					    "SINGLE_SBLOCK",
					    "MASTER",
					    "CRITICAL",
					    "CRITICAL_SBLOCK",
					    "ATOMIC",
					    "BARRIER",
					    "IMPLICIT_BARRIER",
					    "FLUSH",
					    "ORDERED",
					    "ORDERED_SBLOCK",
					    "TASK",
					    "TASK_CREATE",
					    "TASK_WAIT",
					    "COLL_ONE2ALL",
					    "COLL_ALL2ONE",
					    "COLL_ALL2ALL",
					    "COLL_OTHER",
					    "FILE_IO",
					    "POINT2POINT",
					    "RMA",
					    "DATA_TRANSFER",
					    "ARTIFICIAL",
					    "THREAD_CREATE",
					    "THREAD_WAIT",
					    "TASK_UNTIED",
					    "ALLOCATE",
					    "DEALLOCATE",
					    "REALLOCATE",
					    "FILE_IO_METADATA",
					    "KERNEL"};

	return role < sizeof(names) / sizeof(*names) ? names[role] : "UNKNOWN";
}
