/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of ROCm's tables: generated from api/, but for what happens after some calls. */
#ifndef CAPTURE_ROCM_MODELS_H
#define CAPTURE_ROCM_MODELS_H

#include "core/table/table.h"

extern struct table_model rocm_model_roctx, rocm_model_hip, rocm_model_hip_compiler, rocm_model_hsa;
extern const struct table_piece rocm_tables_roctx[], rocm_tables_hip[], rocm_tables_hip_compiler[],
	rocm_tables_hsa[];
extern const unsigned rocm_table_count_roctx, rocm_table_count_hip, rocm_table_count_hip_compiler,
	rocm_table_count_hsa;

/* roctx.c */
/* Names of objects are kept for tools that come later, the rest is for those that listen. */
bool rocm_roctx_needed(const char *op);
void rocm_after_roctxMarkA(const struct table_call *call);
void rocm_after_roctxRangePushA(const struct table_call *call);
void rocm_after_roctxRangePop(const struct table_call *call);
void rocm_after_roctxRangeStartA(const struct table_call *call);
void rocm_after_roctxRangeStop(const struct table_call *call);
void rocm_after_roctxProfilerPause(const struct table_call *call);
void rocm_after_roctxProfilerResume(const struct table_call *call);
void rocm_after_roctxNameOsThread(const struct table_call *call);
void rocm_after_roctxNameHsaAgent(const struct table_call *call);
void rocm_after_roctxNameHipDevice(const struct table_call *call);
void rocm_after_roctxNameHipStream(const struct table_call *call);

#endif
