/* SPDX-License-Identifier: Apache-2.0 */
/* Whole synthetic traces, and the domains they use. */
#include <stdio.h>

#include "support/synth.h"

#define COUNT(a) (uint32_t)(sizeof(a) / sizeof((a)[0]))
#define SET(name, ...)                                                                             \
	static const kymo_enum_value_t name##_values[] = {__VA_ARGS__};                            \
	static const kymo_enum_set_t name = {#name, name##_values, COUNT(name##_values)}

/* ---- activity domains ---------------------------------------------------------------------- */

SET(memory_kind, {"unknown", 0}, {"pageable", 1}, {"pinned", 2}, {"device", 3}, {"managed", 4},
    {"shared", 5});
SET(allocation_what, {"buffer", 1}, {"sub-buffer", 2}, {"image", 3}, {"pipe", 4}, {"svm", 5},
    {"usm", 6});
SET(untimed_reason, {"no", 0}, {"no profiling queue", 1}, {"command failed", 2},
    {"never completed", 3}, {"query refused", 4}, {"not asked for", 5});

#define REF(name, what)                                                                            \
	{                                                                                          \
		name, what, NULL, KYMO_KIND_REF, 0, 8, 0                                           \
	}
#define U64(name)                                                                                  \
	{                                                                                          \
		name, "u64", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0                                     \
	}
#define SIZE(name)                                                                                 \
	{                                                                                          \
		name, "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0                                       \
	}
#define TIME(name)                                                                                 \
	{                                                                                          \
		name, "ns", NULL, KYMO_KIND_TIME, 0, 8, 0                                          \
	}
#define I32(name)                                                                                  \
	{                                                                                          \
		name, "i32", NULL, KYMO_KIND_SIGNED, 0, 4, 0                                       \
	}
#define BOOLEAN(name)                                                                              \
	{                                                                                          \
		name, "bool", NULL, KYMO_KIND_BOOL, 0, 1, 0                                        \
	}
#define ENUM(name, set)                                                                            \
	{                                                                                          \
		name, #set, &set, KYMO_KIND_ENUM, 0, 4, 0                                          \
	}

static const kymo_field_t dispatch_fields[] = {REF("correlation", "call"),
					       REF("agent", "agent"),
					       REF("queue", "queue"),
					       REF("kernel", "kernel"),
					       TIME("start"),
					       TIME("duration"),
					       TIME("queued_before"),
					       TIME("submitted_before"),
					       U64("dims"),
					       U64("global_x"),
					       U64("global_y"),
					       U64("global_z"),
					       U64("local_x"),
					       U64("local_y"),
					       U64("local_z"),
					       U64("offset_x"),
					       U64("offset_y"),
					       U64("offset_z"),
					       I32("status"),
					       ENUM("untimed", untimed_reason),
					       U64("submit_tick"),
					       SIZE("dynamic_shared")};
static const kymo_field_t copy_fields[] = {REF("correlation", "call"),
					   REF("queue", "queue"),
					   REF("source_agent", "agent"),
					   REF("destination_agent", "agent"),
					   SIZE("bytes"),
					   ENUM("source_kind", memory_kind),
					   ENUM("destination_kind", memory_kind),
					   TIME("start"),
					   TIME("duration"),
					   TIME("queued_before"),
					   TIME("submitted_before"),
					   BOOLEAN("blocking"),
					   I32("status"),
					   ENUM("untimed", untimed_reason),
					   U64("submit_tick"),
					   U64("graph"),
					   U64("graph_node"),
					   {"address", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
					   U64("cause"),
					   U64("count")};
static const kymo_field_t allocation_fields[] = {
	REF("correlation", "call"),
	REF("agent", "agent"),
	REF("context", "device_context"),
	ENUM("kind", memory_kind),
	ENUM("what", allocation_what),
	SIZE("bytes"),
	{"address", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	U64("id"),
	U64("parent")};
static const kymo_field_t sync_fields[] = {REF("correlation", "call"),
					   REF("queue", "queue"),
					   U64("count"),
					   {"event", "event", NULL, KYMO_KIND_HANDLE, 0, 8, 0}};
static const kymo_field_t build_fields[] = {REF("correlation", "call"), REF("program", "program"),
					    REF("agent", "agent"),      I32("status"),
					    REF("options", "blob"),     REF("log", "blob")};
_Static_assert(COUNT(dispatch_fields) == DISPATCH_FIELDS + 1, "dispatch");
_Static_assert(COUNT(copy_fields) == COPY_FIELDS, "copy");
_Static_assert(COUNT(allocation_fields) == ALLOCATION_FIELDS, "allocation");
_Static_assert(COUNT(sync_fields) == SYNC_FIELDS, "sync");
_Static_assert(COUNT(build_fields) == BUILD_FIELDS, "build");

#define OP(name, fields)                                                                           \
	{                                                                                          \
		name, fields, COUNT(fields), KYMO_OP_MINIMAL | KYMO_OP_ACTIVITY, NULL, 0           \
	}
static const kymo_op_desc_t dispatch_ops[] = {OP("kernel", dispatch_fields)};
static const kymo_op_desc_t copy_ops[] = {OP("read", copy_fields),   OP("write", copy_fields),
					  OP("copy", copy_fields),   OP("fill", copy_fields),
					  OP("map", copy_fields),    OP("unmap", copy_fields),
					  OP("migrate", copy_fields)};
static const kymo_op_desc_t allocation_ops[] = {OP("allocate", allocation_fields),
						OP("free", allocation_fields)};
static const kymo_op_desc_t sync_ops[] = {
	OP("queue", sync_fields),   OP("events", sync_fields), OP("blocking", sync_fields),
	OP("barrier", sync_fields), OP("marker", sync_fields), OP("user_event", sync_fields)};
static const kymo_op_desc_t build_ops[] = {OP("build", build_fields)};

#define DOMAIN(name, title, ops)                                                                   \
	static const kymo_domain_desc_t name = {sizeof(name), #name, title, 1, COUNT(ops), ops}
DOMAIN(dispatch, "Kernels", dispatch_ops);
DOMAIN(copy, "Copies", copy_ops);
DOMAIN(allocation, "Allocations", allocation_ops);
DOMAIN(sync, "Waits", sync_ops);
DOMAIN(code_object, "Programs", build_ops);

extern const kymo_domain_desc_t *const synth_activity_domains[SYNTH_ACTIVITIES];
const kymo_domain_desc_t *const synth_activity_domains[SYNTH_ACTIVITIES] = {
	&dispatch, &copy, &allocation, &sync, &code_object};

/* ---- domain "test" ------------------------------------------------------------------------- */

SET(test_status, {"TEST_OK", 0}, {"TEST_BAD_VALUE", -30}, {"TEST_NO_DEVICE", -1});
SET(test_mode, {"MODE_B", 2}, {"MODE_A", 1}, {"MODE_HIGH", 0x11f0});
SET(test_flags, {"FLAG_READ", 1}, {"FLAG_WRITE", 2}, {"FLAG_BOTH", 3}, {"FLAG_WIDE", 1ll << 40});

static const kymo_field_t all_fields[] = {
	{"u8", "uint8_t", NULL, KYMO_KIND_UNSIGNED, 0, 1, 0},
	{"u64", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"i16", "int16_t", NULL, KYMO_KIND_SIGNED, 0, 2, 0},
	{"i64", "int64_t", NULL, KYMO_KIND_SIGNED, 0, 8, 0},
	{"f32", "float", NULL, KYMO_KIND_FLOAT, 0, 4, 0},
	{"f64", "double", NULL, KYMO_KIND_FLOAT, 0, 8, 0},
	{"pointer", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	{"handle", "test_object", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"mode", "test_mode", &test_mode, KYMO_KIND_ENUM, 0, 4, 0},
	{"flags", "test_flags", &test_flags, KYMO_KIND_FLAGS, 0, 8, 0},
	{"flag", "bool", NULL, KYMO_KIND_BOOL, 0, 1, 0},
	{"text", "const char *", NULL, KYMO_KIND_STRING, 0, 1, 0},
	{"bytes", "const void *", NULL, KYMO_KIND_BYTES, 0, 1, 0},
	{"sizes", "const size_t *", NULL, KYMO_KIND_ARRAY, KYMO_KIND_UNSIGNED, 8, 0},
	{"modes", "const test_mode *", &test_mode, KYMO_KIND_ARRAY, KYMO_KIND_ENUM, 4, 0},
	{"events", "const test_event *", NULL, KYMO_KIND_ARRAY, KYMO_KIND_HANDLE, 8, 0},
	{"time", "ns", NULL, KYMO_KIND_TIME, 0, 8, 0},
	{"size", "size_t", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	{"queue", "queue", NULL, KYMO_KIND_REF, 0, 8, 0},
	{"*count", "int *", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_OUT | KYMO_FIELD_DEREF},
	{"result", "test_object", NULL, KYMO_KIND_HANDLE, 0, 8,
	 KYMO_FIELD_RESULT | KYMO_FIELD_OUT}};
_Static_assert(COUNT(all_fields) == TEST_FIELDS_MOST, "all_kinds");
static const kymo_field_t open_fields[] = {
	{"name", "const char *", NULL, KYMO_KIND_STRING, 0, 1, 0},
	{"flags", "test_flags", &test_flags, KYMO_KIND_FLAGS, 0, 8, 0},
	{"result", "test_object", NULL, KYMO_KIND_HANDLE, 0, 8,
	 KYMO_FIELD_RESULT | KYMO_FIELD_OUT}};
static const kymo_field_t launch_fields[] = {
	{"queue", "test_queue", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"kernel", "test_kernel", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"global", "const size_t *", NULL, KYMO_KIND_ARRAY, KYMO_KIND_UNSIGNED, 8, 0}};
static const kymo_field_t wait_fields[] = {
	{"queue", "test_queue", NULL, KYMO_KIND_HANDLE, 0, 8, 0}};
static const kymo_field_t copy_call_fields[] = {
	{"queue", "test_queue", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	{"blocking", "bool", NULL, KYMO_KIND_BOOL, 0, 1, 0},
	{"bytes", "size_t", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	{"host", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0}};
static const kymo_field_t query_fields[] = {
	{"what", "uint32_t", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0}};

#define CALL(name, fields, flags)                                                                  \
	{                                                                                          \
		name, fields, COUNT(fields), flags, &test_status, 0                                \
	}
static const kymo_op_desc_t test_ops[TEST_OPS] = {
	[TEST_ALL_KINDS] = CALL("all_kinds", all_fields, 0),
	[TEST_OPEN] = CALL("open", open_fields, KYMO_OP_ALLOCATES),
	[TEST_LAUNCH] = CALL("launch", launch_fields, KYMO_OP_SUBMITS),
	[TEST_WAIT] = CALL("wait", wait_fields, KYMO_OP_WAITS),
	[TEST_COPY] = CALL("copy", copy_call_fields, KYMO_OP_SUBMITS),
	[TEST_QUERY] = CALL("query", query_fields, KYMO_OP_CHATTY)};
const kymo_domain_desc_t synth_test_domain = {
	sizeof(kymo_domain_desc_t), "test", "Test", 1, TEST_OPS, test_ops};

/* ---- the demo ------------------------------------------------------------------------------ */

#define DEVICE0 7000000000ull /* what the device clock shows at the process's beginning */

static void define_devices(struct synth *s)
{
	struct wire_def d;

	synth_clock(s, 1, "gpu clock");
	synth_clock_sync(s, 1, 0, 200, DEVICE0 + 100);
	synth_clock_sync(s, 1, 900000, 900200, DEVICE0 + 900100);
	synth_agent(s, 1, "gpu", "Test GPU", 1);
	synth_agent(s, 2, "cpu", "Test CPU", 0);
	synth_context(s, 1, 0xd001);
	synth_queue(s, 1, 1, 1, QUEUE_PROFILING_FORCED, "compute");
	synth_queue(s, 2, 1, 1, QUEUE_OUT_OF_ORDER, "");
	synth_queue(s, 3, 2, 1, 0, "");
	wire_def_init(&d, DEF_BLOB);
	wire_def_u64(&d, 1);
	wire_def_string(&d, "source");
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 23);
	wire_def_bytes(&d, "kernel void step() { }\n", 23);
	wire_def_u64(&d, 23);
	synth_define(s, &d);
	wire_def_init(&d, DEF_PROGRAM);
	wire_def_u64(&d, 1);
	wire_def_string(&d, "test");
	wire_def_u64(&d, 0xe001);
	wire_def_u64(&d, 1);
	wire_def_string(&d, "source");
	wire_def_u64(&d, 1);
	wire_def_u64(&d, SYNTH_TICK0);
	synth_define(s, &d);
	synth_kernel(s, 1, "step", 1);
	synth_kernel(s, 2, "reduce<float, \"wide\">", 1);
	for (uint32_t i = 1; i <= 4; i++)
		synth_site(s, i, 0x401000 + i * 16);
}

static void all_kinds(struct synth *s, uint32_t t, uint16_t base, uint64_t at)
{
	static const uint64_t sizes[] = {1, 300, 5000000000};
	static const uint32_t modes[] = {1, 2, 77};
	static const uint64_t events[] = {0x7f1200001000, 0, 0x10};
	static const uint8_t bytes[] = {0, 1, 0xfe, 0xff};
	const struct synth_value v[] = {V_U(200),
					V_U(UINT64_MAX),
					V_U(-2),
					V_U(-5000000000),
					V_F(0.1f),
					V_F(-1e300),
					V_U(0x7f1200001234),
					V_U(0x555500000010),
					V_U(0x11f0),
					V_U(3 | 1ull << 40 | 16),
					V_U(1),
					V_S("say \"hi\"\n\t\\ caf\xc3\xa9, \x01"),
					V_A(bytes, 4),
					V_A(sizes, 3),
					V_A(modes, 3),
					{.data = events, .count = 3, .cap = 2},
					V_U(-100),
					V_U(4096),
					V_U(2),
					V_U(-7),
					V_U(0x7f1200005678)};

	synth_enter(s, t, (uint16_t)(base + TEST_ALL_KINDS), at, 1);
	synth_leave(s, t, at + 500, 0, true, v);
}

static void open_calls(struct synth *s, uint32_t t, uint16_t base, uint64_t at)
{
	const struct synth_value good[] = {V_S("data.bin"), V_U(3), V_U(0x7f1200009000)};
	const struct synth_value bad[] = {V_S(""), V_U(0), V_U(0)};
	const struct synth_value none[] = {V_S(NULL), V_U(0), V_U(0)};
	struct wire_event odd = {.unwound = true, .scope = 5, .external = 99, .no_fields = true};

	synth_enter(s, t, (uint16_t)(base + TEST_OPEN), at, 2);
	synth_leave(s, t, at + 1000, 0, true, good);
	synth_enter(s, t, (uint16_t)(base + TEST_OPEN), at + 1500, 2);
	synth_leave(s, t, at + 1600, -30, false, bad);
	synth_enter(s, t, (uint16_t)(base + TEST_OPEN), at + 1700, 70000);
	synth_leave_as(s, t, at + 1800, &odd, none);
}

static void allocate(struct synth *s, uint32_t t, uint64_t at, uint64_t correlation)
{
	uint16_t base = synth_activity_base(s, SYNTH_ALLOCATION);
	const struct synth_value v[ALLOCATION_FIELDS] = {V_U(correlation),
							 V_U(1),
							 V_U(1),
							 V_U(MEMORY_DEVICE),
							 V_U(ALLOCATION_BUFFER),
							 V_U(1 << 20),
							 V_U(0x7f120000a000),
							 V_U(1),
							 V_U(0)};

	synth_activity(s, t, base + ALLOCATION_OP_ALLOCATE, at, at, v);
	synth_activity(s, t, base + ALLOCATION_OP_FREE, at + 700000, at + 700000, v);
}

/* A launch whose kernel runs on `queue` at [start, start + 4000) and is reported at `seen`. */
static uint64_t launch(struct synth *s, uint32_t t, uint16_t base, uint64_t at, uint64_t queue)
{
	static const uint64_t global[] = {1024, 64};
	const struct synth_value v[] = {V_U(0xb000 + queue), V_U(0xc001), V_A(global, 2)};
	uint64_t id = synth_enter(s, t, (uint16_t)(base + TEST_LAUNCH), at, 3);

	synth_leave(s, t, at + 900, 0, true, v);
	return id;
}

static void report_dispatch(struct synth *s, uint32_t t, uint64_t id, uint64_t queue,
			    uint64_t kernel, uint64_t submit, uint64_t start, uint64_t seen,
			    bool timed)
{
	const struct synth_value v[DISPATCH_FIELDS + 1] = {V_U(id),
							   V_U(queue == 3 ? 2 : 1),
							   V_U(queue),
							   V_U(kernel),
							   V_U(timed ? DEVICE0 + start : 0),
							   V_U(timed ? 4000 : 0),
							   V_U(timed ? 800 : 0),
							   V_U(timed ? 500 : 0),
							   V_U(2),
							   V_U(1024),
							   V_U(64),
							   V_U(0),
							   V_U(64),
							   V_U(1),
							   V_U(0),
							   V_U(0),
							   V_U(0),
							   V_U(0),
							   V_U(0),
							   V_U(timed ? 0 : UNTIMED_QUERY),
							   V_U(SYNTH_TICK0 + submit * 2),
							   [DISPATCH_FIELDS] =
								   V_U(queue == 3 ? 512 : 0)};

	synth_activity(s, t, synth_activity_base(s, SYNTH_DISPATCH), seen, seen, v);
}

static void report_copy(struct synth *s, uint32_t t, uint64_t id, uint64_t submit, uint64_t start,
			uint64_t seen)
{
	const struct synth_value v[COPY_FIELDS] = {V_U(id),
						   V_U(1),
						   V_U(0),
						   V_U(1),
						   V_U(65536),
						   V_U(MEMORY_HOST_PAGEABLE),
						   V_U(MEMORY_DEVICE),
						   V_U(DEVICE0 + start),
						   V_U(2500),
						   V_U(300),
						   V_U(200),
						   V_U(1),
						   V_U(0),
						   V_U(0),
						   V_U(SYNTH_TICK0 + submit * 2)};

	synth_activity(s, t, (uint16_t)(synth_activity_base(s, SYNTH_COPY) + COPY_OP_WRITE), seen,
		       seen, v);
}

static void copy_and_wait(struct synth *s, uint32_t t, uint16_t base, uint64_t at)
{
	const struct synth_value copy_args[] = {V_U(0xb001), V_U(1), V_U(65536),
						V_U(0x7f1200002000)};
	const struct synth_value wait_args[] = {V_U(0xb001)};
	const struct synth_value query_args[] = {V_U(7)};
	uint64_t wait = synth_enter(s, t, (uint16_t)(base + TEST_WAIT), at, 4);
	uint64_t id = synth_enter(s, t, (uint16_t)(base + TEST_COPY), at + 100, 4);
	struct synth_value sync_values[SYNC_FIELDS] = {V_U(wait), V_U(1), V_U(0), V_U(0xe001)};

	synth_enter(s, t, (uint16_t)(base + TEST_QUERY), at + 200, 4);
	synth_leave(s, t, at + 250, 0, true, query_args);
	synth_leave(s, t, at + 5000, 0, true, copy_args);
	synth_flush(s, t); /* `wait` is open across chunks */
	report_copy(s, t, id, at + 100, at + 1000, at + 5100);
	synth_leave(s, t, at + 90000, 0, true, wait_args);
	synth_activity(s, t, synth_activity_base(s, SYNTH_SYNC) + SYNC_OP_QUEUE, at, at + 90000,
		       sync_values);
}

static void build(struct synth *s, uint32_t t, uint64_t start, uint64_t end)
{
	const struct synth_value v[BUILD_FIELDS] = {V_U(0),   V_U(1), V_U(1),
						    V_U(-11), V_U(0), V_U(1)};

	synth_activity(s, t, synth_activity_base(s, SYNTH_CODE_OBJECT), start, end, v);
}

static void first_process(const char *directory, bool compress)
{
	struct synth *s = synth_open(&(struct synth_options){
		.directory = directory, .pid = 4242, .rank = RANK_NONE, .compress = compress});
	uint16_t base = synth_domain(s, &synth_test_domain);
	uint32_t main_thread = synth_thread(s, 4242, "demo");
	uint32_t worker = synth_thread(s, 4243, "worker");
	uint64_t a, b, c;

	define_devices(s);
	all_kinds(s, main_thread, base, 1000);
	open_calls(s, main_thread, base, 10000);
	build(s, main_thread, 20000, 60000);
	a = launch(s, main_thread, base, 100000, 1);
	b = launch(s, worker, base, 100300, 2);
	c = launch(s, main_thread, base, 102000, 3);
	report_dispatch(s, worker, b, 2, 2, 100300, 104000, 120000, true);
	report_dispatch(s, main_thread, a, 1, 1, 100000, 103000, 121000, true);
	report_dispatch(s, main_thread, c, 3, 1, 102000, 0, 121500, false);
	a = launch(s, worker, base, 130000, 1);
	report_dispatch(s, worker, a, 1, 1, 130000, 120000, 140000, true); /* before it was asked */
	copy_and_wait(s, main_thread, base, 200000);
	allocate(s, main_thread, 300000, 0);
	synth_drop(s, worker, 17);
	launch(s, worker, base, 400000, 1);
	synth_lose_chunk(s, worker);
	launch(s, worker, base, 500000, 1);
	synth_note(s, 2, "a queue was made a profiling one", 2000);
	synth_close(s, 0, 0, 1100000);
}

/* Killed while two calls were open; nested deeper than the chunk header has room for. */
static void second_process(const char *directory, bool compress)
{
	struct synth *s = synth_open(&(struct synth_options){.directory = directory,
							     .pid = 5151,
							     .rank = 1,
							     .compress = compress,
							     .overwritten = 5});
	uint16_t base = synth_domain(s, &synth_test_domain);
	uint32_t t = synth_thread(s, 5151, "");
	const struct synth_value v[] = {V_U(1)};

	for (uint64_t i = 0; i < 10; i++)
		synth_enter(s, t, (uint16_t)(base + TEST_QUERY), 1000 + i * 10, 0);
	for (uint64_t i = 0; i < 8; i++) {
		synth_leave(s, t, 150000 + i * 10, 0, true, v);
		synth_flush(s, t);
	}
	synth_close(s, 2, 9, 800000);
}

void synth_demo(const char *directory, bool compress)
{
	first_process(directory, compress);
	second_process(directory, compress);
}

/* ---- names --------------------------------------------------------------------------------- */

/* A domain whose operations, fields, statuses and values are named by the test. */
static uint16_t named_domain(struct synth *s, const char *a, const char *b)
{
	static kymo_enum_value_t values[2];
	static kymo_enum_set_t set;
	static kymo_field_t fields[2];
	static kymo_op_desc_t ops[2];
	static kymo_domain_desc_t domain; /* the writer keeps them */

	values[0] = (kymo_enum_value_t){a, 0};
	values[1] = (kymo_enum_value_t){b, 1};
	set = (kymo_enum_set_t){a, values, 2};
	fields[0] = (kymo_field_t){a, "const char *", NULL, KYMO_KIND_STRING, 0, 1, 0};
	fields[1] = (kymo_field_t){"mode", b, &set, KYMO_KIND_ENUM, 0, 4, 0};
	ops[0] = (kymo_op_desc_t){a, fields, 2, 0, &set, 0};
	ops[1] = (kymo_op_desc_t){b, fields, 2, 0, &set, 0};
	domain = (kymo_domain_desc_t){sizeof(domain), "named", a, 1, 2, ops};
	return synth_domain(s, &domain);
}

static void named_devices(struct synth *s, const char *a, const char *b)
{
	synth_clock(s, 1, a);
	synth_clock_sync(s, 1, 0, 200, DEVICE0 + 100);
	synth_clock_sync(s, 1, 900000, 900200, DEVICE0 + 900100);
	synth_agent(s, 1, "gpu", a, 1);
	synth_agent(s, 2, "gpu", b, 1);
	synth_context(s, 1, 0xd001);
	synth_queue(s, 1, 1, 1, 0, a);
	synth_queue(s, 2, 2, 1, 0, b);
	synth_kernel(s, 1, a, 0);
	synth_kernel(s, 2, b, 0);
}

void synth_names(const char *directory, const char *first, const char *second)
{
	struct synth *s = synth_open(&(struct synth_options){.directory = directory,
							     .pid = 4242,
							     .rank = RANK_NONE,
							     .command = first,
							     .exe = second,
							     .host = first});
	uint16_t base = synth_domain(s, &synth_test_domain), named = named_domain(s, first, second);
	uint32_t thread[2] = {synth_thread(s, 4242, first), synth_thread(s, 4243, second)};
	const struct synth_value values[][2] = {{V_S(first), V_U(0)}, {V_S(second), V_U(1)}};
	uint64_t id;

	named_devices(s, first, second);
	for (uint32_t i = 0; i < 2; i++) {
		id = launch(s, thread[i], base, 100000 + i * 1000, 1 + i);
		report_dispatch(s, thread[i], id, 1 + i, 1 + i, 100000, 103000, 121000, true);
		synth_enter(s, thread[i], (uint16_t)(named + i), 200000 + i * 1000, 0);
		synth_leave(s, thread[i], 200500 + i * 1000, (int32_t)i, i == 0, values[i]);
	}
	copy_and_wait(s, thread[0], base, 300000);
	synth_enter(s, thread[0], named, 500000, 0); /* open at the end */
	synth_flush(s, thread[0]);
	synth_note(s, 2, first, 2000);
	synth_note(s, 3, second, 3000);
	synth_close(s, 2, 9, 1100000);
}

void synth_losses(const char *directory, uint64_t each, uint64_t end, uint64_t damaged)
{
	struct synth *s = synth_open(&(struct synth_options){.directory = directory,
							     .pid = 4343,
							     .rank = RANK_NONE,
							     .lost = end,
							     .damaged = damaged});
	uint16_t base = synth_domain(s, &synth_test_domain);
	uint32_t thread[2] = {synth_thread(s, 4343, "first"), synth_thread(s, 4344, "second")};

	for (uint32_t i = 0; i < 2; i++) {
		launch(s, thread[i], base, 100000 + i * 1000, 0);
		synth_drop(s, thread[i], each);
		launch(s, thread[i], base, 400000 + i * 1000, 0);
	}
	synth_close(s, 0, 0, 1100000);
}

/* ---- bulk ---------------------------------------------------------------------------------- */

void synth_bulk(const char *directory, uint32_t threads, uint32_t calls, bool compress)
{
	struct synth *s = synth_open(&(struct synth_options){
		.directory = directory, .pid = 6000, .rank = RANK_NONE, .compress = compress});
	uint16_t base = synth_domain(s, &synth_test_domain);
	static const uint64_t global[] = {4096, 16};
	const struct synth_value v[] = {V_U(0x7f1200003000), V_U(0x7f1200004000), V_A(global, 2)};
	const struct synth_value w[] = {V_U(0x7f1200003000)};

	for (uint32_t i = 0; i < threads; i++) {
		char name[32];

		snprintf(name, sizeof(name), "worker %u", i);
		synth_thread(s, 6000 + i, name);
	}
	for (uint32_t i = 1; i <= 4; i++)
		synth_site(s, i, 0x401000 + i * 16);
	for (uint32_t k = 0; k < calls; k++) {
		for (uint32_t t = 1; t <= threads; t++) {
			uint64_t at = (uint64_t)k * 1000 + t * 3;
			bool wait = k % 8 == 7;

			synth_enter(s, t, (uint16_t)(base + (wait ? TEST_WAIT : TEST_LAUNCH)), at,
				    1 + k % 4);
			synth_leave(s, t, at + 300 + k % 7 * 50, 0, true, wait ? w : v);
		}
	}
	synth_close(s, 0, 0, (uint64_t)calls * 1000 + 1000000);
}
