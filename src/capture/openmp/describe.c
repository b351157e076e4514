/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "openmp"; the order of fields is that of the values which host.c and target.c pass. */
#include "capture/openmp/openmp.h"

struct cap_op omp_ops[OMP_OP_COUNT];

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define VALUES(name, ...)                                                                          \
	static const kymo_enum_value_t name##_values[] = {__VA_ARGS__};                            \
	static const kymo_enum_set_t name = {"omp_" #name, name##_values, COUNT(name##_values)}

VALUES(thread_type, {"initial", 1}, {"worker", 2}, {"other", 3}, {"unknown", 4});
VALUES(parallel_flags, {"invoker_program", 1}, {"invoker_runtime", 2}, {"league", 0x40000000},
       {"team", 0x80000000});
VALUES(task_flags, {"initial", 1}, {"implicit", 2}, {"explicit", 4}, {"target", 8},
       {"taskwait", 16}, {"undeferred", 0x08000000}, {"untied", 0x10000000}, {"final", 0x20000000},
       {"mergeable", 0x40000000}, {"merged", 0x80000000});
VALUES(task_status, {"complete", 1}, {"yield", 2}, {"cancel", 3}, {"detach", 4},
       {"early_fulfill", 5}, {"late_fulfill", 6}, {"switch", 7}, {"taskwait_complete", 8});
VALUES(work_kind, {"loop", 1}, {"sections", 2}, {"single_executor", 3}, {"single_other", 4},
       {"workshare", 5}, {"distribute", 6}, {"taskloop", 7}, {"scope", 8}, {"loop_static", 10},
       {"loop_dynamic", 11}, {"loop_guided", 12}, {"loop_other", 13});
VALUES(sync_kind, {"barrier", 1}, {"barrier_implicit", 2}, {"barrier_explicit", 3},
       {"barrier_implementation", 4}, {"taskwait", 5}, {"taskgroup", 6}, {"reduction", 7},
       {"barrier_implicit_workshare", 8}, {"barrier_implicit_parallel", 9}, {"barrier_teams", 10});
VALUES(mutex_kind, {"lock", 1}, {"test_lock", 2}, {"nest_lock", 3}, {"test_nest_lock", 4},
       {"critical", 5}, {"atomic", 6}, {"ordered", 7});
VALUES(mutex_impl, {"none", 0}, {"spin", 1}, {"queuing", 2}, {"speculative", 3});
VALUES(dispatch_kind, {"iteration", 1}, {"section", 2}, {"ws_loop_chunk", 3},
       {"taskloop_chunk", 4}, {"distribute_chunk", 5});
VALUES(cancel_flags, {"parallel", 1}, {"sections", 2}, {"loop", 4}, {"taskgroup", 8},
       {"activated", 16}, {"detected", 32}, {"discarded_task", 64});
VALUES(severity, {"warning", 1}, {"fatal", 2});
VALUES(control_command, {"start", 1}, {"pause", 2}, {"flush", 3}, {"end", 4});

#define U32(name)        {name, "unsigned", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0}
#define U64(name)        {name, "u64", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0}
#define I32(name)        {name, "int", NULL, KYMO_KIND_SIGNED, 0, 4, 0}
#define CALL(name)       {name, "call", NULL, KYMO_KIND_REF, 0, 8, 0}
#define BYTES(name)      {name, "size_t", NULL, KYMO_KIND_SIZE, 0, 8, 0}
#define NS(name)         {name, "ns", NULL, KYMO_KIND_TIME, 0, 8, 0}
#define POINTER(name)    {name, "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0}
#define BOOLEAN(name)    {name, "bool", NULL, KYMO_KIND_BOOL, 0, 1, 0}
#define TEXT(name)       {name, "char *", NULL, KYMO_KIND_STRING, 0, 1, 0}
#define ENUM(name, set)  {name, #set, &set, KYMO_KIND_ENUM, 0, 4, 0}
#define FLAGS(name, set) {name, #set, &set, KYMO_KIND_FLAGS, 0, 4, 0}

static const kymo_field_t parallel_fields[] = {U32("requested_threads"),
					       FLAGS("flags", parallel_flags), U32("threads"),
					       NS("worked")};
static const kymo_field_t implicit_fields[] = {CALL("parallel"), U32("threads"), U32("number")};
static const kymo_field_t task_fields[] = {U64("task"), ENUM("ended", task_status)};
static const kymo_field_t work_fields[] = {ENUM("kind", work_kind), U64("count")};
static const kymo_field_t region_fields[] = {ENUM("kind", sync_kind)};
static const kymo_field_t wait_fields[] = {ENUM("kind", sync_kind)};
static const kymo_field_t acquire_fields[] = {U64("wait_id"), ENUM("kind", mutex_kind),
					      U32("hint"), ENUM("implementation", mutex_impl)};
static const kymo_field_t release_fields[] = {U64("wait_id"), ENUM("kind", mutex_kind),
					      NS("held")};
static const kymo_field_t init_fields[] = {U64("wait_id"), ENUM("kind", mutex_kind), U32("hint"),
					   ENUM("implementation", mutex_impl)};
static const kymo_field_t destroy_fields[] = {U64("wait_id"), ENUM("kind", mutex_kind)};
static const kymo_field_t again_fields[] = {U64("wait_id"), BOOLEAN("acquired")};
static const kymo_field_t none_fields[0];
static const kymo_field_t dispatch_fields[] = {ENUM("kind", dispatch_kind), U64("start"),
					       U64("iterations")};
static const kymo_field_t cancel_fields[] = {FLAGS("flags", cancel_flags)};
static const kymo_field_t error_fields[] = {ENUM("severity", severity), TEXT("message")};
static const kymo_field_t control_fields[] = {ENUM("command", control_command), U64("modifier")};
static const kymo_field_t create_fields[] = {U64("task"), FLAGS("flags", task_flags),
					     BOOLEAN("dependences")};
static const kymo_field_t dependences_fields[] = {U64("task"), U32("count"), TEXT("on")};
static const kymo_field_t dependence_fields[] = {U64("source"), U64("sink")};
static const kymo_field_t thread_fields[] = {ENUM("type", thread_type)};
static const kymo_field_t target_fields[] = {I32("device"), BOOLEAN("nowait"), U64("target"),
					     BOOLEAN("host_fallback")};
static const kymo_field_t submit_fields[] = {I32("device"), U64("target"), U32("requested_teams")};
static const kymo_field_t data_fields[] = {
	I32("source_device"), POINTER("source"), I32("destination_device"), POINTER("destination"),
	BYTES("bytes"),       BOOLEAN("async"),  U64("target")};
static const kymo_field_t map_fields[] = {U64("target"), U32("items"), BYTES("bytes")};
static const kymo_field_t device_fields[] = {I32("device"), TEXT("type"), BOOLEAN("traces")};
static const kymo_field_t finalize_fields[] = {I32("device")};
static const kymo_field_t load_fields[] = {I32("device"), TEXT("file"), BYTES("bytes"),
					   U64("module")};
static const kymo_field_t unload_fields[] = {I32("device"), U64("module")};

#define FIELDS_OF(of)          of##_fields, sizeof(of##_fields) / sizeof(kymo_field_t)
#define OP(op, text, of, flag) [OMP_OP_##op] = {text, FIELDS_OF(of), flag, NULL, 0},
static const kymo_op_desc_t ops[OMP_OP_COUNT] = {OMP_OPS(OP)};

const kymo_domain_desc_t omp_domain_desc = {sizeof(omp_domain_desc), "openmp", "OpenMP", 1,
					    OMP_OP_COUNT, ops};
CAP_KNOWN_DOMAIN(openmp, &omp_domain_desc);
