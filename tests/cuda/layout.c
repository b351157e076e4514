/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled where CUPTI's headers are: what src/capture/cuda/cupti.h declares is what they say. */
#include <stddef.h>

#include <cupti.h>


#include "capture/cuda/cupti.h"

#define SAME(ours, theirs, a, b)                                                                   \
	_Static_assert(offsetof(struct ours, a) == offsetof(theirs, b), #ours "." #a)

SAME(cupti_callback, CUpti_CallbackData, function, functionName);
SAME(cupti_callback, CUpti_CallbackData, params, functionParams);
SAME(cupti_callback, CUpti_CallbackData, result, functionReturnValue);
SAME(cupti_callback, CUpti_CallbackData, symbol, symbolName);
SAME(cupti_callback, CUpti_CallbackData, context_id, contextUid);
SAME(cupti_callback, CUpti_CallbackData, data, correlationData);
SAME(cupti_callback, CUpti_CallbackData, correlation, correlationId);
SAME(cupti_resource, CUpti_ResourceData, handle, resourceHandle);
SAME(cupti_kernel, CUpti_ActivityKernel9, registers, registersPerThread);
SAME(cupti_kernel, CUpti_ActivityKernel9, start, start);
SAME(cupti_kernel, CUpti_ActivityKernel9, device, deviceId);
SAME(cupti_kernel, CUpti_ActivityKernel9, grid, gridX);
SAME(cupti_kernel, CUpti_ActivityKernel9, block, blockX);
SAME(cupti_kernel, CUpti_ActivityKernel9, static_shared, staticSharedMemory);
SAME(cupti_kernel, CUpti_ActivityKernel9, local_thread, localMemoryPerThread);
SAME(cupti_kernel, CUpti_ActivityKernel9, correlation, correlationId);
SAME(cupti_kernel, CUpti_ActivityKernel9, name, name);
SAME(cupti_kernel, CUpti_ActivityKernel9, graph_node, graphNodeId);
SAME(cupti_kernel, CUpti_ActivityKernel9, graph, graphId);
SAME(cupti_kernel, CUpti_ActivityKernel9, cluster, clusterX);
SAME(cupti_kernel, CUpti_ActivityKernel8, cluster, clusterX);
SAME(cupti_kernel, CUpti_ActivityKernel8, name, name);
SAME(cupti_memcpy, CUpti_ActivityMemcpy5, copy_kind, copyKind);
SAME(cupti_memcpy, CUpti_ActivityMemcpy5, flags, flags);
SAME(cupti_memcpy, CUpti_ActivityMemcpy5, device, deviceId);
SAME(cupti_memcpy, CUpti_ActivityMemcpy5, correlation, correlationId);
SAME(cupti_memcpy, CUpti_ActivityMemcpy5, graph_node, graphNodeId);
SAME(cupti_memcpy, CUpti_ActivityMemcpy5, graph, graphId);
SAME(cupti_memcpy2, CUpti_ActivityMemcpyPtoP4, source_device, srcDeviceId);
SAME(cupti_memcpy2, CUpti_ActivityMemcpyPtoP4, destination_device, dstDeviceId);
SAME(cupti_memcpy2, CUpti_ActivityMemcpyPtoP4, correlation, correlationId);
SAME(cupti_memcpy2, CUpti_ActivityMemcpyPtoP4, graph, graphId);
SAME(cupti_memset, CUpti_ActivityMemset4, bytes, bytes);
SAME(cupti_memset, CUpti_ActivityMemset4, correlation, correlationId);
SAME(cupti_memset, CUpti_ActivityMemset4, memory_kind, memoryKind);
SAME(cupti_memset, CUpti_ActivityMemset4, graph, graphId);
SAME(cupti_device, CUpti_ActivityDevice4, l2_bytes, l2CacheSize);
SAME(cupti_device, CUpti_ActivityDevice4, multiprocessors, numMultiprocessors);
SAME(cupti_device, CUpti_ActivityDevice4, major, computeCapabilityMajor);
SAME(cupti_device, CUpti_ActivityDevice4, id, id);
SAME(cupti_device, CUpti_ActivityDevice4, uuid, uuid);
SAME(cupti_device, CUpti_ActivityDevice4, name, name);
SAME(cupti_device, CUpti_ActivityDevice4, mig, isMigEnabled);
SAME(cupti_device, CUpti_ActivityDevice4, mig_uuid, migUuid);
SAME(cupti_context, CUpti_ActivityContext2, device, deviceId);
SAME(cupti_overhead, CUpti_ActivityOverhead, start, start);
SAME(cupti_memory_counter, CUpti_ActivityUnifiedMemoryCounter2, value, value);
SAME(cupti_memory_counter, CUpti_ActivityUnifiedMemoryCounter2, address, address);
SAME(cupti_memory_counter, CUpti_ActivityUnifiedMemoryCounter2, source, srcId);
SAME(cupti_memory_counter, CUpti_ActivityUnifiedMemoryCounter2, flags, flags);
SAME(cupti_counter_config, CUpti_ActivityUnifiedMemoryCounterConfig, enable, enable);
SAME(cupti_graph, CUpti_ActivityGraphTrace, start, start);
SAME(cupti_graph, CUpti_ActivityGraphTrace, graph, graphId);
SAME(cupti_graph, CUpti_ActivityGraphTrace, stream, streamId);
#if CUPTI_API_VERSION >= 130000
SAME(cupti_kernel, CUpti_ActivityKernel10, name, name);
SAME(cupti_kernel, CUpti_ActivityKernel10, cluster, clusterX);
SAME(cupti_memcpy, CUpti_ActivityMemcpy6, graph, graphId);
SAME(cupti_memory_counter, CUpti_ActivityUnifiedMemoryCounter3, flags, flags);
SAME(cupti_subscriber_params, CUpti_SubscriberParams, old_size, oldSubscriberSize);
#endif
_Static_assert((int)CUPTI_CONCURRENT_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kind");
_Static_assert((int)CUPTI_MEMCPY2 == (int)CUPTI_ACTIVITY_KIND_MEMCPY2, "kind");
_Static_assert((int)CUPTI_GRAPH_TRACE == (int)CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "kind");
_Static_assert((int)CUPTI_MULTIPLE_SUBSCRIBERS ==
		       (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "error");
