/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of the activity domains of activity.h, and writing their records. */
#include "core/activity.h"

#include "core/internal.h"

struct cap_op core_dispatch_ops[DISPATCH_OPS];
struct cap_op core_copy_ops[COPY_OPS];
struct cap_op core_allocation_ops[ALLOCATION_OPS];
struct cap_op core_sync_ops[SYNC_OPS];
struct cap_op core_code_object_ops[1];

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
       {"no time reported", UNTIMED_NONE}, {"impossible time", UNTIMED_IMPOSSIBLE});

#define REF(name, what)  {name, what, NULL, KYMO_KIND_REF, 0, 8, 0}
#define U64(name)        {name, "u64", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0}
#define BYTES_(name)     {name, "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0}
#define TIME(name)       {name, "ns", NULL, KYMO_KIND_TIME, 0, 8, 0}
#define TICK(name)       {name, "tick", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0}
#define ENUM(name, set)  {name, #set, &set, KYMO_KIND_ENUM, 0, 4, 0}
#define I32(name)        {name, "i32", NULL, KYMO_KIND_SIGNED, 0, 4, 0}
#define BOOLEAN(name)    {name, "bool", NULL, KYMO_KIND_BOOL, 0, 1, 0}

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
};
static const kymo_op_desc_t build_descs[] = {OP("build", build_fields)};

#define DOMAIN(name, title, descs, ops_)                                                           \
	static const kymo_domain_desc_t name##_desc = {sizeof(kymo_domain_desc_t), #name, title, 1, \
						       COUNT(descs), descs};                       \
	static const struct cap_domain_info name##_info = {.desc = &name##_desc, .ops = ops_}

DOMAIN(dispatch, "Kernels", dispatch_descs, core_dispatch_ops);
DOMAIN(copy, "Copies", copy_descs, core_copy_ops);
DOMAIN(allocation, "Allocations", allocation_descs, core_allocation_ops);
DOMAIN(sync, "Waits", sync_descs, core_sync_ops);
DOMAIN(code_object, "Programs", build_descs, core_code_object_ops);

void core_activities_register(void)
{
	static const struct cap_domain_info *const all[] = {
		&dispatch_info, &copy_info, &allocation_info, &sync_info, &code_object_info};

	for (size_t i = 0; i < COUNT(all); i++)
		core_domain_add_builtin(all[i]);
}

bool cap_activity_start(struct cap_frame *f, struct wire_enc *e, struct cap_op *op, uint64_t start,
			uint64_t end, unsigned fields)
{
	struct cap_thread *t = cap_thread_current;
	struct wire_event v = {0};
	struct wire_ring *r;

	f->buffers = atomic_load_explicit(&op->buffers, memory_order_relaxed);
	if (!f->buffers)
		return false;
	if (!t || t->magic != CAP_THREAD_MAGIC)
		t = cap_thread_attach();
	if (!t)
		return false;
	r = cap_ring(t, f->buffers);
	if (!r)
		return false;
	f->op = op;
	if (t->next_id == t->id_limit)
		cap_ids_refill(t);
	f->id = t->next_id++;
	f->parent = 0;
	f->scope = t->scope;
	f->end = end;
	f->start = start;
	f->status = 0;
	f->has_status = false;
	f->site = f->stack = 0;
	v.id = f->id;
	v.start = f->start;
	v.end = f->end;
	v.scope = f->scope;
	v.external = t->external[__builtin_ctzll(f->buffers)];
	v.op = op->wire;
	wire_begin(e, r, &v, fields);
	return true;
}
