/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OMPT as it lies in memory: the tools interface of OpenMP 5.2 (chapter 19: 19.2 activation, 19.4 data
 * types, 19.5 callbacks, 19.6 entry points). Values that are passed to or stored by the runtime have
 * the standard's numbers; check.c compares them with the compiler's omp-tools.h.
 */
#ifndef CAPTURE_OPENMP_OMPT_H
#define CAPTURE_OPENMP_OMPT_H

#include <stddef.h>
#include <stdint.h>

union omp_data {
	uint64_t value;
	void *pointer;
};

struct omp_frame {
	union omp_data exit, enter;
	int exit_flags, enter_flags;
};

typedef void (*omp_function)(void);
typedef omp_function (*omp_lookup)(const char *name);

struct omp_tool {
	int (*initialize)(omp_lookup lookup, int initial_device, union omp_data *tool);
	void (*finalize)(union omp_data *tool);
	union omp_data tool;
};

/* ompt_set_callback */
typedef int (*omp_set_callback)(int event, omp_function callback);
enum { OMP_SET_ERROR = 0, OMP_SET_NEVER = 1 };

/* ompt_callbacks_t */
enum omp_event {
	OMP_THREAD_BEGIN = 1,
	OMP_THREAD_END = 2,
	OMP_PARALLEL_BEGIN = 3,
	OMP_PARALLEL_END = 4,
	OMP_TASK_CREATE = 5,
	OMP_TASK_SCHEDULE = 6,
	OMP_IMPLICIT_TASK = 7,
	OMP_TARGET = 8,
	OMP_TARGET_DATA_OP = 9,
	OMP_TARGET_SUBMIT = 10,
	OMP_CONTROL_TOOL = 11,
	OMP_DEVICE_INITIALIZE = 12,
	OMP_DEVICE_FINALIZE = 13,
	OMP_DEVICE_LOAD = 14,
	OMP_DEVICE_UNLOAD = 15,
	OMP_SYNC_REGION_WAIT = 16,
	OMP_MUTEX_RELEASED = 17,
	OMP_DEPENDENCES = 18,
	OMP_TASK_DEPENDENCE = 19,
	OMP_WORK = 20,
	OMP_MASKED = 21,
	OMP_TARGET_MAP = 22,
	OMP_SYNC_REGION = 23,
	OMP_LOCK_INIT = 24,
	OMP_LOCK_DESTROY = 25,
	OMP_MUTEX_ACQUIRE = 26,
	OMP_MUTEX_ACQUIRED = 27,
	OMP_NEST_LOCK = 28,
	OMP_FLUSH = 29,
	OMP_CANCEL = 30,
	OMP_REDUCTION = 31,
	OMP_DISPATCH = 32,
	OMP_TARGET_EMI = 33,
	OMP_TARGET_DATA_OP_EMI = 34,
	OMP_TARGET_SUBMIT_EMI = 35,
	OMP_TARGET_MAP_EMI = 36,
	OMP_ERROR = 37,
	OMP_EVENTS
};

enum omp_endpoint { OMP_BEGIN = 1, OMP_END = 2, OMP_BEGIN_END = 3 };

/* ompt_sync_region_t */
enum omp_sync {
	OMP_BARRIER = 1,
	OMP_BARRIER_IMPLICIT = 2,
	OMP_BARRIER_EXPLICIT = 3,
	OMP_BARRIER_IMPLEMENTATION = 4,
	OMP_TASKWAIT = 5,
	OMP_TASKGROUP = 6,
	OMP_SYNC_REDUCTION = 7,
	OMP_BARRIER_WORKSHARE = 8,
	OMP_BARRIER_PARALLEL = 9,
	OMP_BARRIER_TEAMS = 10
};

/* ompt_work_t */
enum omp_work {
	OMP_LOOP = 1,
	OMP_SECTIONS = 2,
	OMP_SINGLE_EXECUTOR = 3,
	OMP_SINGLE_OTHER = 4,
	OMP_WORKSHARE = 5,
	OMP_DISTRIBUTE = 6,
	OMP_TASKLOOP = 7,
	OMP_SCOPE = 8,
	OMP_LOOP_STATIC = 10,
	OMP_LOOP_DYNAMIC = 11,
	OMP_LOOP_GUIDED = 12,
	OMP_LOOP_OTHER = 13
};

/* ompt_mutex_t */
enum omp_mutex {
	OMP_MUTEX_LOCK = 1,
	OMP_MUTEX_TEST_LOCK = 2,
	OMP_MUTEX_NEST_LOCK = 3,
	OMP_MUTEX_TEST_NEST_LOCK = 4,
	OMP_MUTEX_CRITICAL = 5,
	OMP_MUTEX_ATOMIC = 6,
	OMP_MUTEX_ORDERED = 7
};

/* ompt_task_flag_t */
enum omp_task_flag {
	OMP_TASK_INITIAL = 1,
	OMP_TASK_IMPLICIT = 2,
	OMP_TASK_EXPLICIT = 4,
	OMP_TASK_TARGET = 8,
	OMP_TASK_TASKWAIT = 16,
	OMP_TASK_UNDEFERRED = 0x08000000,
	OMP_TASK_UNTIED = 0x10000000,
	OMP_TASK_FINAL = 0x20000000,
	OMP_TASK_MERGEABLE = 0x40000000
};
#define OMP_TASK_MERGED 0x80000000u

/* ompt_task_status_t */
enum omp_task_status {
	OMP_TASK_COMPLETE = 1,
	OMP_TASK_YIELD = 2,
	OMP_TASK_CANCEL = 3,
	OMP_TASK_DETACH = 4,
	OMP_TASK_EARLY_FULFILL = 5,
	OMP_TASK_LATE_FULFILL = 6,
	OMP_TASK_SWITCH = 7,
	OMP_TASKWAIT_COMPLETE = 8
};

/* ompt_target_t */
enum omp_target {
	OMP_T_TARGET = 1,
	OMP_T_ENTER_DATA = 2,
	OMP_T_EXIT_DATA = 3,
	OMP_T_UPDATE = 4,
	OMP_T_NOWAIT = 8 /* added to the others */
};

/* ompt_target_data_op_t; 16 more where it is asynchronous */
enum omp_data_op {
	OMP_DATA_ALLOC = 1,
	OMP_DATA_TO = 2,
	OMP_DATA_FROM = 3,
	OMP_DATA_DELETE = 4,
	OMP_DATA_ASSOCIATE = 5,
	OMP_DATA_DISASSOCIATE = 6,
	OMP_DATA_ASYNC = 16
};

/* ompt_parallel_flag_t */
enum { OMP_PARALLEL_LEAGUE = 0x40000000 };

/* ompt_dependence_t */
struct omp_dependence {
	union omp_data variable;
	int type;
};

/* ompt_dispatch_chunk_t */
struct omp_chunk {
	uint64_t start, iterations;
};

/* omp_control_tool_t */
enum { OMP_CONTROL_START = 1, OMP_CONTROL_PAUSE = 2, OMP_CONTROL_FLUSH = 3, OMP_CONTROL_END = 4 };

#endif
