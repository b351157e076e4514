/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of the activity domains of activity.h. */
#include "core/activity.h"

#include "core/internal.h"

struct cap_op core_dispatch_ops[DISPATCH_OPS];
struct cap_op core_copy_ops[COPY_OPS];
struct cap_op core_allocation_ops[ALLOCATION_OPS];
struct cap_op core_sync_ops[SYNC_OPS];
struct cap_op core_code_object_ops[CODE_OBJECT_OPS];
struct cap_op core_symbol_ops[SYMBOL_OPS];
struct cap_op core_stream_ops[STREAM_OPS];
struct cap_op core_thread_ops[THREAD_OPS];
struct cap_op core_runtime_ops[1];
struct cap_op core_scope_ops[1];
struct cap_op core_retirement_ops[1];

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define VALUES(name, ...)                                                                          \
	static const kymo_enum_value_t name##_values[] = {__VA_ARGS__};                            \
	static const kymo_enum_set_t name = {#name, name##_values, COUNT(name##_values)}

VALUES(memory_kind, {"unknown", MEMORY_UNKNOWN}, {"pageable", MEMORY_HOST_PAGEABLE},
       {"pinned", MEMORY_HOST_PINNED}, {"device", MEMORY_DEVICE}, {"managed", MEMORY_MANAGED},
       {"shared", MEMORY_SHARED});
VALUES(allocation_what, {"buffer", ALLOCATION_BUFFER}, {"sub-buffer", ALLOCATION_SUB_BUFFER},
       {"image", ALLOCATION_IMAGE}, {"pipe", ALLOCATION_PIPE}, {"svm", ALLOCATION_SVM},
       {"usm", ALLOCATION_USM}, {"pool", ALLOCATION_POOL}, {"physical", ALLOCATION_PHYSICAL},
       {"registered", ALLOCATION_REGISTERED});
VALUES(migration_cause, {"unknown", MIGRATION_UNKNOWN}, {"user", MIGRATION_USER},
       {"coherence", MIGRATION_COHERENCE}, {"prefetch", MIGRATION_PREFETCH},
       {"eviction", MIGRATION_EVICTION}, {"access counters", MIGRATION_ACCESS_COUNTERS});
VALUES(untimed_reason, {"no", UNTIMED_NO}, {"no profiling queue", UNTIMED_NO_PROFILING},
       {"command failed", UNTIMED_FAILED}, {"never completed", UNTIMED_LOST},
       {"query refused", UNTIMED_QUERY}, {"not asked for", UNTIMED_MODE},
       {"no time reported", UNTIMED_NONE}, {"impossible time", UNTIMED_IMPOSSIBLE},
       {"no device timer", UNTIMED_NO_TIMER}, {"in a command buffer", UNTIMED_IN_BUFFER});

#define REF(name, what)  {name, what, NULL, KYMO_KIND_REF, 0, 8, 0}
#define U64(name)        {name, "u64", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0}
#define BYTES_(name)     {name, "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0}
#define TIME(name)       {name, "ns", NULL, KYMO_KIND_TIME, 0, 8, 0}
#define TICK(name)       {name, "tick", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0}
#define ENUM(name, set)  {name, #set, &set, KYMO_KIND_ENUM, 0, 4, 0}
#define I32(name)        {name, "i32", NULL, KYMO_KIND_SIGNED, 0, 4, 0}
#define BOOLEAN(name)    {name, "bool", NULL, KYMO_KIND_BOOL, 0, 1, 0}
#define TEXT(name)       {name, "char *", NULL, KYMO_KIND_STRING, 0, 1, 0}
#define HANDLE(name)     {name, "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0}

static const kymo_field_t dispatch_fields[] = {
	[DISPATCH_CORRELATION] = REF("correlation", "call"),
	[DISPATCH_AGENT] = REF("agent", "agent"),
	[DISPATCH_QUEUE] = REF("queue", "queue"),
	[DISPATCH_KERNEL] = REF("kernel", "kernel"),
	[DISPATCH_START] = TIME("start"),
	[DISPATCH_DURATION] = TIME("duration"),
	[DISPATCH_QUEUED_BEFORE] = TIME("queued_before"),
	[DISPATCH_SUBMITTED_BEFORE] = TIME("submitted_before"),
	[DISPATCH_DIMS] = U64("dims"),
	[DISPATCH_GLOBAL_X] = U64("global_x"),
	[DISPATCH_GLOBAL_Y] = U64("global_y"),
	[DISPATCH_GLOBAL_Z] = U64("global_z"),
	[DISPATCH_LOCAL_X] = U64("local_x"),
	[DISPATCH_LOCAL_Y] = U64("local_y"),
	[DISPATCH_LOCAL_Z] = U64("local_z"),
	[DISPATCH_OFFSET_X] = U64("offset_x"),
	[DISPATCH_OFFSET_Y] = U64("offset_y"),
	[DISPATCH_OFFSET_Z] = U64("offset_z"),
	[DISPATCH_STATUS] = I32("status"),
	[DISPATCH_UNTIMED] = ENUM("untimed", untimed_reason),
	[DISPATCH_SUBMIT_TICK] = TICK("submit_tick"),
};

static const kymo_field_t launch_fields[] = {
	[LAUNCH_CORRELATION] = REF("correlation", "call"),
	[LAUNCH_AGENT] = REF("agent", "agent"),
	[LAUNCH_QUEUE] = REF("queue", "queue"),
	[LAUNCH_KERNEL] = REF("kernel", "kernel"),
	[LAUNCH_START] = TIME("start"),
	[LAUNCH_DURATION] = TIME("duration"),
	[LAUNCH_QUEUED_BEFORE] = TIME("queued_before"),
	[LAUNCH_SUBMITTED_BEFORE] = TIME("submitted_before"),
	[LAUNCH_DIMS] = U64("dims"),
	[LAUNCH_GLOBAL_X] = U64("global_x"),
	[LAUNCH_GLOBAL_Y] = U64("global_y"),
	[LAUNCH_GLOBAL_Z] = U64("global_z"),
	[LAUNCH_LOCAL_X] = U64("local_x"),
	[LAUNCH_LOCAL_Y] = U64("local_y"),
	[LAUNCH_LOCAL_Z] = U64("local_z"),
	[LAUNCH_UNTIMED] = ENUM("untimed", untimed_reason),
	[LAUNCH_SUBMIT_TICK] = TICK("submit_tick"),
	[LAUNCH_REGISTERS] = U64("registers"),
	[LAUNCH_STATIC_SHARED] = BYTES_("static_shared"),
	[LAUNCH_DYNAMIC_SHARED] = BYTES_("dynamic_shared"),
	[LAUNCH_LOCAL_MEMORY] = BYTES_("local_memory"),
	[LAUNCH_CLUSTER] = {"cluster", "u32[]", NULL, KYMO_KIND_ARRAY, KYMO_KIND_UNSIGNED, 4, 0},
	[LAUNCH_GRAPH] = U64("graph"),
	[LAUNCH_GRAPH_NODE] = U64("graph_node"),
};

static const kymo_field_t copy_fields[] = {
	[COPY_CORRELATION] = REF("correlation", "call"),
	[COPY_QUEUE] = REF("queue", "queue"),
	[COPY_SOURCE_AGENT] = REF("source_agent", "agent"),
	[COPY_DESTINATION_AGENT] = REF("destination_agent", "agent"),
	[COPY_BYTES] = BYTES_("bytes"),
	[COPY_SOURCE_KIND] = ENUM("source_kind", memory_kind),
	[COPY_DESTINATION_KIND] = ENUM("destination_kind", memory_kind),
	[COPY_START] = TIME("start"),
	[COPY_DURATION] = TIME("duration"),
	[COPY_QUEUED_BEFORE] = TIME("queued_before"),
	[COPY_SUBMITTED_BEFORE] = TIME("submitted_before"),
	[COPY_BLOCKING] = BOOLEAN("blocking"),
	[COPY_STATUS] = I32("status"),
	[COPY_UNTIMED] = ENUM("untimed", untimed_reason),
	[COPY_SUBMIT_TICK] = TICK("submit_tick"),
	[COPY_GRAPH] = U64("graph"),
	[COPY_GRAPH_NODE] = U64("graph_node"),
	[COPY_ADDRESS] = {"address", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	[COPY_CAUSE] = ENUM("cause", migration_cause),
	[COPY_COUNT] = U64("count"),
};

static const kymo_field_t allocation_fields[] = {
	[ALLOCATION_CORRELATION] = REF("correlation", "call"),
	[ALLOCATION_AGENT] = REF("agent", "agent"),
	[ALLOCATION_CONTEXT] = REF("context", "device_context"),
	[ALLOCATION_KIND] = ENUM("kind", memory_kind),
	[ALLOCATION_WHAT] = ENUM("what", allocation_what),
	[ALLOCATION_BYTES] = BYTES_("bytes"),
	[ALLOCATION_ADDRESS] = {"address", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	[ALLOCATION_ID] = U64("id"),
	[ALLOCATION_PARENT] = U64("parent"),
};

static const kymo_field_t sync_fields[] = {
	[SYNC_CORRELATION] = REF("correlation", "call"),
	[SYNC_QUEUE] = REF("queue", "queue"),
	[SYNC_COUNT] = U64("count"),
	[SYNC_EVENT] = {"event", "event", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
};

static const kymo_field_t build_fields[] = {
	[BUILD_CORRELATION] = REF("correlation", "call"),
	[BUILD_PROGRAM] = REF("program", "program"),
	[BUILD_AGENT] = REF("agent", "agent"),
	[BUILD_STATUS] = I32("status"),
	[BUILD_OPTIONS] = REF("options", "blob"),
	[BUILD_LOG] = REF("log", "blob"),
};

static const kymo_field_t load_fields[] = {
	[LOAD_PROGRAM] = REF("program", "program"),
	[LOAD_DOMAIN] = TEXT("domain"),
	[LOAD_KIND] = TEXT("kind"),
	[LOAD_CONTEXT] = REF("context", "device_context"),
	[LOAD_HANDLE] = HANDLE("handle"),
	[LOAD_REPLAYED] = BOOLEAN("replayed"),
};

static const kymo_field_t symbol_fields[] = {
	[SYMBOL_KERNEL] = REF("kernel", "kernel"),
	[SYMBOL_DOMAIN] = TEXT("domain"),
	[SYMBOL_NAME] = TEXT("name"),
	[SYMBOL_PROGRAM] = REF("program", "program"),
	[SYMBOL_HANDLE] = HANDLE("handle"),
	[SYMBOL_REPLAYED] = BOOLEAN("replayed"),
};

static const kymo_field_t stream_fields[] = {
	[STREAM_QUEUE] = REF("queue", "queue"),
	[STREAM_DOMAIN] = TEXT("domain"),
	[STREAM_AGENT] = REF("agent", "agent"),
	[STREAM_CONTEXT] = REF("context", "device_context"),
	[STREAM_HANDLE] = HANDLE("handle"),
	[STREAM_REPLAYED] = BOOLEAN("replayed"),
};

static const kymo_field_t thread_fields[] = {
	[THREAD_INDEX] = U64("thread"),
	[THREAD_TID] = U64("tid"),
	[THREAD_NAME] = TEXT("name"),
	[THREAD_REPLAYED] = BOOLEAN("replayed"),
};

static const kymo_field_t runtime_fields[] = {
	[RUNTIME_DOMAIN] = TEXT("domain"),
	[RUNTIME_VERSION] = U64("version"),
	[RUNTIME_OPS] = U64("ops"),
	[RUNTIME_REPLAYED] = BOOLEAN("replayed"),
};

static const kymo_field_t scope_fields[] = {
	[SCOPE_ID] = U64("id"),
	[SCOPE_PARENT] = U64("parent"),
	[SCOPE_NAME] = TEXT("name"),
	[SCOPE_DOMAIN] = TEXT("domain"),
};

static const kymo_field_t retirement_fields[] = {
	[RETIREMENT_CORRELATION] = REF("correlation", "call"),
};

_Static_assert(COUNT(load_fields) == LOAD_FIELDS, "load fields");
_Static_assert(COUNT(symbol_fields) == SYMBOL_FIELDS, "symbol fields");
_Static_assert(COUNT(stream_fields) == STREAM_FIELDS, "stream fields");
_Static_assert(COUNT(thread_fields) == THREAD_FIELDS, "thread fields");
_Static_assert(COUNT(runtime_fields) == RUNTIME_FIELDS, "runtime fields");
_Static_assert(COUNT(scope_fields) == SCOPE_FIELDS, "scope fields");
_Static_assert(COUNT(retirement_fields) == RETIREMENT_FIELDS, "retirement fields");
_Static_assert(COUNT(dispatch_fields) == DISPATCH_FIELDS, "dispatch fields");
_Static_assert(COUNT(launch_fields) == LAUNCH_FIELDS, "launch fields");
_Static_assert(COUNT(copy_fields) == COPY_FIELDS, "copy fields");
_Static_assert(COUNT(allocation_fields) == ALLOCATION_FIELDS, "allocation fields");
_Static_assert(COUNT(sync_fields) == SYNC_FIELDS, "sync fields");
_Static_assert(COUNT(build_fields) == BUILD_FIELDS, "build fields");

#define OP(name, fields) {name, fields, COUNT(fields), KYMO_OP_MINIMAL | KYMO_OP_ACTIVITY, NULL, 0}

static const kymo_op_desc_t dispatch_descs[DISPATCH_OPS] = {
	[DISPATCH_OP_KERNEL] = OP("kernel", dispatch_fields),
	[DISPATCH_OP_LAUNCH] = OP("launch", launch_fields),
};
static const kymo_op_desc_t copy_descs[COPY_OPS] = {
	[COPY_OP_READ] = OP("read", copy_fields),       [COPY_OP_WRITE] = OP("write", copy_fields),
	[COPY_OP_COPY] = OP("copy", copy_fields),       [COPY_OP_FILL] = OP("fill", copy_fields),
	[COPY_OP_MAP] = OP("map", copy_fields),         [COPY_OP_UNMAP] = OP("unmap", copy_fields),
	[COPY_OP_MIGRATE] = OP("migrate", copy_fields), [COPY_OP_FAULT] = OP("fault", copy_fields),
};
static const kymo_op_desc_t allocation_descs[ALLOCATION_OPS] = {
	[ALLOCATION_OP_ALLOCATE] = OP("allocate", allocation_fields),
	[ALLOCATION_OP_FREE] = OP("free", allocation_fields),
};
static const kymo_op_desc_t sync_descs[SYNC_OPS] = {
	[SYNC_OP_QUEUE] = OP("queue", sync_fields),
	[SYNC_OP_EVENTS] = OP("events", sync_fields),
	[SYNC_OP_BLOCKING] = OP("blocking", sync_fields),
	[SYNC_OP_BARRIER] = OP("barrier", sync_fields),
	[SYNC_OP_MARKER] = OP("marker", sync_fields),
	[SYNC_OP_USER_EVENT] = OP("user_event", sync_fields),
	[SYNC_OP_DEVICE] = OP("device", sync_fields),
	[SYNC_OP_EVENT_RECORD] = OP("event_record", sync_fields),
	[SYNC_OP_ACQUIRE] = OP("acquire", sync_fields),
	[SYNC_OP_RELEASE] = OP("release", sync_fields),
	[SYNC_OP_SEMAPHORE_WAIT] = OP("semaphore_wait", sync_fields),
	[SYNC_OP_SEMAPHORE_SIGNAL] = OP("semaphore_signal", sync_fields),
};
#define OBJECT(name, fields) {name, fields, COUNT(fields), KYMO_OP_OBJECT | KYMO_OP_ACTIVITY, NULL, 0}

static const kymo_op_desc_t code_object_descs[CODE_OBJECT_OPS] = {
	[CODE_OBJECT_OP_BUILD] = OP("build", build_fields),
	[CODE_OBJECT_OP_LOAD] = OBJECT("load", load_fields),
	[CODE_OBJECT_OP_UNLOAD] = OBJECT("unload", load_fields),
	[CODE_OBJECT_OP_MODULE] = OP("load_module", build_fields),
};
static const kymo_op_desc_t symbol_descs[SYMBOL_OPS] = {
	[SYMBOL_OP_LOAD] = OBJECT("load", symbol_fields),
	[SYMBOL_OP_UNLOAD] = OBJECT("unload", symbol_fields),
};
static const kymo_op_desc_t stream_descs[STREAM_OPS] = {
	[STREAM_OP_CREATE] = OBJECT("create", stream_fields),
	[STREAM_OP_DESTROY] = OBJECT("destroy", stream_fields),
};
static const kymo_op_desc_t thread_descs[THREAD_OPS] = {
	[THREAD_OP_START] = OBJECT("start", thread_fields),
	[THREAD_OP_END] = OBJECT("end", thread_fields),
};
static const kymo_op_desc_t runtime_descs[] = {OBJECT("init", runtime_fields)};
static const kymo_op_desc_t scope_descs[] = {OBJECT("scope", scope_fields)};
static const kymo_op_desc_t retirement_descs[] = {OBJECT("call", retirement_fields)};

#define DOMAIN(name, title, descs, ops_)                                                           \
	static const kymo_domain_desc_t name##_desc = {sizeof(kymo_domain_desc_t), #name, title, 1, \
						       COUNT(descs), descs};                       \
	static const struct cap_domain_info name##_info = {.desc = &name##_desc, .ops = ops_}

DOMAIN(dispatch, "Kernels", dispatch_descs, core_dispatch_ops);
DOMAIN(copy, "Copies", copy_descs, core_copy_ops);
DOMAIN(allocation, "Allocations", allocation_descs, core_allocation_ops);
DOMAIN(sync, "Waits", sync_descs, core_sync_ops);
DOMAIN(code_object, "Programs and modules", code_object_descs, core_code_object_ops);
DOMAIN(kernel_symbol, "Kernel symbols", symbol_descs, core_symbol_ops);
DOMAIN(stream, "Streams", stream_descs, core_stream_ops);
DOMAIN(thread, "Threads", thread_descs, core_thread_ops);
DOMAIN(runtime_init, "Runtimes", runtime_descs, core_runtime_ops);
DOMAIN(scope, "Scopes", scope_descs, core_scope_ops);
DOMAIN(retirement, "Retirement", retirement_descs, core_retirement_ops);

void core_activities_register(void)
{
	core_domain_add_builtin(&dispatch_info, CAP_ACTIVITY_DISPATCH);
	core_domain_add_builtin(&copy_info, CAP_ACTIVITY_COPY);
	core_domain_add_builtin(&allocation_info, CAP_ACTIVITY_ALLOCATION);
	core_domain_add_builtin(&sync_info, CAP_ACTIVITY_SYNC);
	core_domain_add_builtin(&code_object_info, CAP_ACTIVITY_CODE_OBJECT);
	core_domain_add_builtin(&kernel_symbol_info, CAP_ACTIVITY_OBJECTS);
	core_domain_add_builtin(&stream_info, CAP_ACTIVITY_OBJECTS);
	core_domain_add_builtin(&thread_info, CAP_ACTIVITY_OBJECTS);
	core_domain_add_builtin(&runtime_init_info, CAP_ACTIVITY_OBJECTS);
	core_domain_add_builtin(&scope_info, CAP_ACTIVITY_SCOPE);
	core_domain_add_builtin(&retirement_info, CAP_ACTIVITY_RETIREMENT);
}
