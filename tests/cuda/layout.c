/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled where CUPTI's headers are: what src/capture/cuda/cupti.h declares is what they say. */
#include <stddef.h>

#include <cupti.h>
#include <cupti_pcsampling.h>
#if CUPTI_API_VERSION >= 20
#include <cupti_sass_metrics.h>
#endif

#include "capture/cuda/cupti_profile.h"

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
SAME(cupti_jit, CUpti_ActivityJit2, operation, jitOperationType);
SAME(cupti_jit, CUpti_ActivityJit2, start, start);
SAME(cupti_jit, CUpti_ActivityJit2, correlation, correlationId);
SAME(cupti_jit, CUpti_ActivityJit2, path, cachePath);
SAME(cupti_pool, CUpti_ActivityMemoryPool2, operation, memoryPoolOperationType);
SAME(cupti_pool, CUpti_ActivityMemoryPool2, device, deviceId);
SAME(cupti_pool, CUpti_ActivityMemoryPool2, least, minBytesToKeep);
SAME(cupti_pool, CUpti_ActivityMemoryPool2, time, timestamp);
SAME(cupti_pool, CUpti_ActivityMemoryPool2, used, utilizedSize);
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
SAME(cupti_pool, CUpti_ActivityMemoryPool3, used, utilizedSize);
SAME(cupti_overhead, CUpti_ActivityOverhead3, start, start);
SAME(cupti_device, CUpti_ActivityDevice5, uuid, uuid);
SAME(cupti_subscriber_params, CUpti_SubscriberParams, old_size, oldSubscriberSize);
#endif
_Static_assert((int)CUPTI_CONCURRENT_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kind");
_Static_assert((int)CUPTI_MEMCPY2 == (int)CUPTI_ACTIVITY_KIND_MEMCPY2, "kind");
_Static_assert((int)CUPTI_GRAPH_TRACE == (int)CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "kind");
_Static_assert((int)CUPTI_JIT == (int)CUPTI_ACTIVITY_KIND_JIT, "kind");
_Static_assert((int)CUPTI_MEMORY_POOL == (int)CUPTI_ACTIVITY_KIND_MEMORY_POOL, "kind");
_Static_assert((int)CUPTI_MULTIPLE_SUBSCRIBERS ==
		       (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	       "error");

/* ---- sampling ---- */

SAME(cupti_module, CUpti_ModuleResourceData, cubin, pCubin);
SAME(cupti_pc, CUpti_PCSamplingPCData, function, functionName);
SAME(cupti_pc, CUpti_PCSamplingPCData, stalls, stallReason);
SAME(cupti_pc_data, CUpti_PCSamplingData, dropped, droppedSamples);
SAME(cupti_pc_data, CUpti_PCSamplingData, remaining, remainingNumPcs);
SAME(cupti_pc_data, CUpti_PCSamplingData, pcs, pPcData);
SAME(cupti_pc_data, CUpti_PCSamplingData, other_samples, nonUsrKernelsTotalSamples);
SAME(cupti_pc_attribute, CUpti_PCSamplingConfigurationInfo, status, attributeStatus);
SAME(cupti_pc_attribute, CUpti_PCSamplingConfigurationInfo, data, attributeData);
SAME(cupti_pc_configuration, CUpti_PCSamplingConfigurationInfoParams, attributes,
     pPCSamplingConfigurationInfo);
SAME(cupti_pc_context, CUpti_PCSamplingEnableParams, context, ctx);
SAME(cupti_pc_context, CUpti_PCSamplingDisableParams, context, ctx);
SAME(cupti_pc_get, CUpti_PCSamplingGetDataParams, data, pcSamplingData);
SAME(cupti_stall_count, CUpti_PCSamplingGetNumStallReasonsParams, count, numStallReasons);
SAME(cupti_stall_names, CUpti_PCSamplingGetStallReasonsParams, names, stallReasons);
SAME(cupti_source, CUpti_GetSassToSourceCorrelationParams, offset, pcOffset);
SAME(cupti_source, CUpti_GetSassToSourceCorrelationParams, folder, dirName);
SAME(cupti_crc, CUpti_GetCubinCrcParams, crc, cubinCrc);
_Static_assert(sizeof(struct cupti_pc_attribute) == sizeof(CUpti_PCSamplingConfigurationInfo),
	       "pc");
_Static_assert(sizeof(struct cupti_stall) == sizeof(CUpti_PCSamplingStallReason), "pc");
_Static_assert(sizeof(struct cupti_pc_data) >= sizeof(CUpti_PCSamplingData), "pc");
#if CUPTI_API_VERSION >= 22
SAME(cupti_pc, CUpti_PCSamplingPCData, correlation, correlationId);
_Static_assert(sizeof(struct cupti_pc) == sizeof(CUpti_PCSamplingPCData), "pc");
#else
_Static_assert(offsetof(struct cupti_pc, correlation) == sizeof(CUpti_PCSamplingPCData), "pc");
#endif
_Static_assert((int)CUPTI_MODULE_LOADED == (int)CUPTI_CBID_RESOURCE_MODULE_LOADED, "resource");
_Static_assert((int)CUPTI_CONTEXT_DESTROY == (int)CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
	       "resource");
_Static_assert((int)CUPTI_INITIALIZED == (int)CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, "resource");
_Static_assert((int)CUPTI_PC_BUFFER ==
		       (int)CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
	       "attribute");
_Static_assert((int)CUPTI_INSUFFICIENT_PRIVILEGES == (int)CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
	       "error");
_Static_assert((int)CUPTI_MIG_NOT_SUPPORTED == (int)CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "error");

#if CUPTI_API_VERSION >= 20
SAME(cupti_sass_count, CUpti_SassMetrics_GetNumOfMetrics_Params, count, numOfMetrics);
SAME(cupti_sass_list, CUpti_SassMetrics_GetMetrics_Params, metrics, pMetricsList);
SAME(cupti_sass_metric, CUpti_SassMetrics_MetricDetails, name, pMetricName);
SAME(cupti_sass_choice, CUpti_SassMetrics_Config, granularity, outputGranularity);
SAME(cupti_sass_config, CUpti_SassMetricsSetConfig_Params, choices, pConfigs);
SAME(cupti_sass_config, CUpti_SassMetricsSetConfig_Params, device, deviceIndex);
SAME(cupti_sass_enable, CUpti_SassMetricsEnable_Params, lazy, enableLazyPatching);
SAME(cupti_sass_disable, CUpti_SassMetricsDisable_Params, dropped, numOfDroppedRecords);
SAME(cupti_sass_properties, CUpti_SassMetricsGetDataProperties_Params, instances, numOfInstances);
SAME(cupti_sass_data, CUpti_SassMetrics_Data, function, functionName);
SAME(cupti_sass_data, CUpti_SassMetrics_Data, offset, pcOffset);
SAME(cupti_sass_data, CUpti_SassMetrics_Data, values, pInstanceValues);
SAME(cupti_sass_value, CUpti_SassMetrics_InstanceValue, value, value);
SAME(cupti_sass_flush, CUpti_SassMetricsFlushData_Params, instances, numOfInstances);
SAME(cupti_sass_flush, CUpti_SassMetricsFlushData_Params, data, pMetricsData);
_Static_assert(CUPTI_SIZE(cupti_sass_flush, instances) ==
		       CUpti_SassMetricsFlushData_Params_STRUCT_SIZE,
	       "size");
_Static_assert(sizeof(struct cupti_sass_data) == sizeof(CUpti_SassMetrics_Data), "size");
#endif
