/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of CUPTI's binary interface that samples program counters and counts what kernels do,
 * declared as cupti.h does it. Sources: cupti_pcsampling.h (from CUDA 11.8 on), cupti_target.h,
 * cupti_profiler_target.h, cupti_profiler_host.h, cupti_range_profiler.h (12.6 and later),
 * cupti_sass_metrics.h (12.2 and later).
 *
 * Structures begin with their size, as far as their last member reaches: CUPTI_SIZE().
 */
#ifndef CAPTURE_CUDA_CUPTI_PROFILE_H
#define CAPTURE_CUDA_CUPTI_PROFILE_H

#include "capture/cuda/cupti.h"

#define CUPTI_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

enum { /* results */
       CUPTI_OUT_OF_MEMORY = 8,
       CUPTI_INVALID_METRIC_NAME = 17,
       CUPTI_HARDWARE_BUSY = 26,
       CUPTI_NOT_SUPPORTED = 27,
       CUPTI_VIRTUALIZED_NOT_SUPPORTED = 33,
       CUPTI_INSUFFICIENT_PRIVILEGES = 35,
       CUPTI_VIRTUALIZED_PRIVILEGES = 40,
       CUPTI_CONFIDENTIAL_NOT_SUPPORTED = 41,
       CUPTI_MIG_NOT_SUPPORTED = 43
};

enum { /* callbacks of domain CUPTI_RESOURCE */
       CUPTI_CONTEXT_DESTROY = 2,
       CUPTI_INITIALIZED = 5,
       CUPTI_MODULE_LOADED = 6,
       CUPTI_MODULE_UNLOAD = 7
};

struct cupti_module { /* descriptor of CUPTI_MODULE_LOADED; the code is there during the callback */
	uint32_t id;
	size_t bytes;
	const void *cubin;
};

/* ---- sampling of program counters ---- */

enum { CUPTI_VERSION_PC_CORRELATION = 22 /* CUDA 12.4: struct cupti_pc has its last member */ };

struct cupti_stall {
	uint32_t reason, samples;
};

struct cupti_pc {
	size_t size;
	uint64_t crc, offset;
	uint32_t function_index, padding;
	const char *function;
	size_t stall_count; /* in: room */
	struct cupti_stall *stalls;
	uint32_t correlation; /* in serialized mode */
};

struct cupti_pc_data {
	size_t size;
	size_t room; /* of `pcs` */
	uint64_t samples, dropped;
	size_t count, remaining;
	uint64_t range;
	void *pcs;              /* of struct cupti_pc, which was smaller once */
	uint64_t other_samples; /* of kernels that are not the program's */
	uint8_t full;           /* the device's buffer */
};

enum { CUPTI_PC_PERIOD = 1, CUPTI_PC_MODE = 5, CUPTI_PC_START_STOP = 6, CUPTI_PC_BUFFER = 8 };
enum { CUPTI_PC_CONTINUOUS = 1, CUPTI_PC_SERIALIZED = 2 };

struct cupti_pc_attribute {
	int32_t type;
	cupti_result status;
	union {
		uint64_t data[3];
		uint32_t number;
		void *buffer;
	};
};

struct cupti_pc_configuration {
	size_t size;
	void *reserved;
	void *context;
	size_t count;
	struct cupti_pc_attribute *attributes;
};

struct cupti_pc_context { /* to enable and disable */
	size_t size;
	void *reserved;
	void *context;
};

struct cupti_pc_get {
	size_t size;
	void *reserved;
	void *context;
	struct cupti_pc_data *data;
};

struct cupti_stall_count {
	size_t size;
	void *reserved;
	void *context;
	size_t *count;
};

#define CUPTI_STALL_NAME 128
struct cupti_stall_names {
	size_t size;
	void *reserved;
	void *context;
	size_t count;
	uint32_t *indexes;
	char **names;
};

struct cupti_source {
	size_t size;
	const void *cubin;
	const char *function;
	size_t bytes;
	uint32_t line;
	uint64_t offset;
	char *file, *folder; /* to be freed */
};

struct cupti_crc {
	size_t size;
	size_t bytes;
	const void *cubin;
	uint64_t crc;
};

#define CUPTI_PC_FUNCTIONS(X)                                                                      \
	X(PCSamplingEnable, (struct cupti_pc_context *))                                           \
	X(PCSamplingDisable, (struct cupti_pc_context *))                                          \
	X(PCSamplingSetConfigurationAttribute, (struct cupti_pc_configuration *))                  \
	X(PCSamplingGetData, (struct cupti_pc_get *))                                              \
	X(PCSamplingGetNumStallReasons, (struct cupti_stall_count *))                              \
	X(PCSamplingGetStallReasons, (struct cupti_stall_names *))                                 \
	X(GetSassToSourceCorrelation, (struct cupti_source *))                                     \
	X(GetCubinCrc, (struct cupti_crc *))

/* ---- counting what kernels do ---- */

struct cupti_profiler_init {
	size_t size;
	void *reserved;
};

struct cupti_chip_name {
	size_t size;
	void *reserved;
	size_t device;
	const char *name;
};

struct cupti_availability {
	size_t size;
	void *reserved;
	void *context;
	size_t bytes; /* in and out */
	uint8_t *image;
};

struct cupti_host_init {
	size_t size;
	void *reserved;
	int32_t profiler; /* 0: of ranges */
	const char *chip;
	const uint8_t *availability;
	void *host; /* out */
};

struct cupti_host {
	size_t size;
	void *reserved;
	void *host;
};

enum { CUPTI_METRIC_TYPES = 3 }; /* counters, ratios, throughputs */

struct cupti_base_metrics {
	size_t size;
	void *reserved;
	void *host;
	int32_t type;
	const char **names; /* out */
	size_t count;       /* out */
};

struct cupti_metric {
	size_t size;
	void *reserved;
	void *host;
	const char *name;
	const char *description, *hardware_unit, *unit; /* out */
	int32_t type;
};

struct cupti_metrics {
	size_t size;
	void *reserved;
	void *host;
	const char **names;
	size_t count;
};

struct cupti_config_size {
	size_t size;
	void *reserved;
	void *host;
	size_t bytes; /* out */
};

struct cupti_config {
	size_t size;
	void *reserved;
	void *host;
	size_t bytes;
	uint8_t *image;
};

struct cupti_passes {
	size_t size;
	void *reserved;
	size_t bytes;
	uint8_t *image;
	size_t passes; /* out */
};

struct cupti_evaluation {
	size_t size;
	void *reserved;
	void *host;
	const uint8_t *image;
	size_t bytes;
	size_t range;
	const char **names;
	size_t count;
	double *values; /* out */
};

struct cupti_range_enable {
	size_t size;
	void *reserved;
	void *context;
	void *profiler; /* out */
};

struct cupti_range { /* to start and disable */
	size_t size;
	void *reserved;
	void *profiler;
};

struct cupti_range_stop {
	size_t size;
	void *reserved;
	void *profiler;
	size_t pass, nesting;
	uint8_t all_submitted;
};

enum { CUPTI_AUTO_RANGE = 1, CUPTI_KERNEL_REPLAY = 2 };

struct cupti_range_config {
	size_t size;
	void *reserved;
	void *profiler;
	size_t config_bytes;
	const uint8_t *config;
	size_t image_bytes;
	uint8_t *image;
	int32_t range, replay;
	size_t ranges; /* at most, in a pass */
	uint16_t nesting_levels, least_nesting;
	size_t pass;
	uint16_t target_nesting;
};

struct cupti_image_size {
	size_t size;
	void *reserved;
	void *profiler;
	const char **names;
	size_t count;
	size_t ranges;
	uint32_t nodes;
	size_t bytes; /* out */
};

struct cupti_image {
	size_t size;
	void *reserved;
	void *profiler;
	size_t bytes;
	uint8_t *image;
};

struct cupti_decode {
	size_t size;
	void *reserved;
	void *profiler;
	size_t dropped; /* out */
};

struct cupti_image_info {
	size_t size;
	void *reserved;
	const uint8_t *image;
	size_t bytes;
	size_t ranges; /* out */
};

#define CUPTI_RANGE_FUNCTIONS(X)                                                                   \
	X(ProfilerInitialize, (struct cupti_profiler_init *))                                      \
	X(DeviceGetChipName, (struct cupti_chip_name *))                                           \
	X(ProfilerGetCounterAvailability, (struct cupti_availability *))                           \
	X(ProfilerHostInitialize, (struct cupti_host_init *))                                      \
	X(ProfilerHostDeinitialize, (struct cupti_host *))                                         \
	X(ProfilerHostGetBaseMetrics, (struct cupti_base_metrics *))                               \
	X(ProfilerHostGetMetricProperties, (struct cupti_metric *))                                \
	X(ProfilerHostConfigAddMetrics, (struct cupti_metrics *))                                  \
	X(ProfilerHostGetConfigImageSize, (struct cupti_config_size *))                            \
	X(ProfilerHostGetConfigImage, (struct cupti_config *))                                     \
	X(ProfilerHostGetNumOfPasses, (struct cupti_passes *))                                     \
	X(ProfilerHostEvaluateToGpuValues, (struct cupti_evaluation *))                            \
	X(RangeProfilerEnable, (struct cupti_range_enable *))                                      \
	X(RangeProfilerDisable, (struct cupti_range *))                                            \
	X(RangeProfilerSetConfig, (struct cupti_range_config *))                                   \
	X(RangeProfilerStart, (struct cupti_range *))                                              \
	X(RangeProfilerStop, (struct cupti_range_stop *))                                          \
	X(RangeProfilerDecodeData, (struct cupti_decode *))                                        \
	X(RangeProfilerGetCounterDataSize, (struct cupti_image_size *))                            \
	X(RangeProfilerCounterDataImageInitialize, (struct cupti_image *))                         \
	X(RangeProfilerGetCounterDataInfo, (struct cupti_image_info *))

/* ---- counting what instructions do ---- */

struct cupti_sass_count {
	size_t size;
	void *reserved;
	const char *chip;
	size_t count; /* out */
};

struct cupti_sass_metric {
	uint64_t id;
	const char *name, *description;
};

struct cupti_sass_list {
	size_t size;
	void *reserved;
	const char *chip;
	size_t count;
	struct cupti_sass_metric *metrics; /* out */
};

struct cupti_sass_choice {
	uint64_t id;
	uint8_t granularity; /* 0: one value of the whole device */
};

struct cupti_sass_config {
	size_t size;
	void *reserved;
	size_t count;
	struct cupti_sass_choice *choices;
	uint32_t device;
};

struct cupti_sass_unset {
	size_t size;
	void *reserved;
	uint32_t device;
};

struct cupti_sass_enable {
	size_t size;
	void *reserved;
	void *context;
	uint8_t lazy; /* functions are patched as they are launched */
};

struct cupti_sass_disable {
	size_t size;
	void *reserved;
	void *context;
	size_t dropped; /* out */
};

struct cupti_sass_properties {
	size_t size;
	void *reserved;
	void *context;
	size_t records, instances; /* out */
};

struct cupti_sass_value {
	uint64_t metric, value;
};

/* A metric at an instruction. */
struct cupti_sass_data {
	size_t size;
	void *reserved;
	uint32_t crc, function_index;
	const char *function; /* to be freed */
	uint32_t offset;
	struct cupti_sass_value *values; /* of each instance; in: room */
};

struct cupti_sass_flush {
	size_t size; /* up to `instances` */
	void *reserved;
	void *context;
	size_t records, instances;
	struct cupti_sass_data *data;
};

#define CUPTI_SASS_FUNCTIONS(X)                                                                    \
	X(ProfilerInitialize, (struct cupti_profiler_init *))                                      \
	X(DeviceGetChipName, (struct cupti_chip_name *))                                           \
	X(SassMetricsGetNumOfMetrics, (struct cupti_sass_count *))                                 \
	X(SassMetricsGetMetrics, (struct cupti_sass_list *))                                       \
	X(SassMetricsSetConfig, (struct cupti_sass_config *))                                      \
	X(SassMetricsUnsetConfig, (struct cupti_sass_unset *))                                     \
	X(SassMetricsEnable, (struct cupti_sass_enable *))                                         \
	X(SassMetricsDisable, (struct cupti_sass_disable *))                                       \
	X(SassMetricsGetDataProperties, (struct cupti_sass_properties *))                          \
	X(SassMetricsFlushData, (struct cupti_sass_flush *))

struct cupti_pc_functions {
#define MEMBER(name, args) cupti_result(*name) args;
	CUPTI_PC_FUNCTIONS(MEMBER)
};
struct cupti_range_functions {
	CUPTI_RANGE_FUNCTIONS(MEMBER)
};
struct cupti_sass_functions {
	CUPTI_SASS_FUNCTIONS(MEMBER)
#undef MEMBER
};

#endif
