/* SPDX-License-Identifier: Apache-2.0 */
/* Our declarations of OMPT against those of the compiler, where it has any. No code. */
#include "capture/openmp/ompt.h"

#if defined(__has_include)
#if __has_include(<omp-tools.h>)
#include <omp-tools.h>

#define SAME(ours, theirs) _Static_assert((uint64_t)(ours) == (uint64_t)(theirs), #theirs)

SAME(sizeof(union omp_data), sizeof(ompt_data_t));
SAME(sizeof(struct omp_frame), sizeof(ompt_frame_t));
SAME(sizeof(struct omp_tool), sizeof(ompt_start_tool_result_t));
SAME(offsetof(struct omp_tool, tool), offsetof(ompt_start_tool_result_t, tool_data));
SAME(sizeof(struct omp_dependence), sizeof(ompt_dependence_t));
SAME(sizeof(struct omp_chunk), sizeof(ompt_dispatch_chunk_t));
SAME(OMP_PARALLEL_BEGIN, ompt_callback_parallel_begin);
SAME(OMP_IMPLICIT_TASK, ompt_callback_implicit_task);
SAME(OMP_CONTROL_TOOL, ompt_callback_control_tool);
SAME(OMP_DEVICE_UNLOAD, ompt_callback_device_unload);
SAME(OMP_SYNC_REGION_WAIT, ompt_callback_sync_region_wait);
SAME(OMP_MUTEX_RELEASED, ompt_callback_mutex_released);
SAME(OMP_DEPENDENCES, ompt_callback_dependences);
SAME(OMP_WORK, ompt_callback_work);
SAME(OMP_MASKED, ompt_callback_masked);
SAME(OMP_SYNC_REGION, ompt_callback_sync_region);
SAME(OMP_LOCK_INIT, ompt_callback_lock_init);
SAME(OMP_MUTEX_ACQUIRED, ompt_callback_mutex_acquired);
SAME(OMP_NEST_LOCK, ompt_callback_nest_lock);
SAME(OMP_CANCEL, ompt_callback_cancel);
SAME(OMP_DISPATCH, ompt_callback_dispatch);
SAME(OMP_TARGET_EMI, ompt_callback_target_emi);
SAME(OMP_TARGET_MAP_EMI, ompt_callback_target_map_emi);
SAME(OMP_ERROR, ompt_callback_error);
SAME(OMP_BEGIN_END, ompt_scope_beginend);
SAME(OMP_BARRIER_TEAMS, ompt_sync_region_barrier_teams);
SAME(OMP_SCOPE, ompt_work_scope);
SAME(OMP_MUTEX_ORDERED, ompt_mutex_ordered);
SAME(OMP_TASK_UNTIED, ompt_task_untied);
SAME(OMP_TASKWAIT_COMPLETE, ompt_taskwait_complete);
SAME(OMP_T_UPDATE, ompt_target_update);
SAME(OMP_T_UPDATE + OMP_T_NOWAIT, ompt_target_update_nowait);
SAME(OMP_DATA_DISASSOCIATE, ompt_target_data_disassociate);
SAME(OMP_DATA_DELETE + OMP_DATA_ASYNC, ompt_target_data_delete_async);
SAME(OMP_PARALLEL_LEAGUE, ompt_parallel_league);
#endif
#endif

typedef int omp_check;
