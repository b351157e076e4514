/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of any length, of programs of different kinds, to measure how time and memory of a command grow:
 *
 *   host    short calls, one in 32 of them of 20 us; four threads
 *   submit  each call but the eighth starts a kernel, which is recorded, too; the eighth waits for them
 *   ranges  a range around every eight short calls, one of a thousand names
 *   mpi     two ranks that send each other messages: a call, a message
 *   ranks   64 processes, each with a share of the calls of `submit`
 *   names   likewise `ranges`, each range with a name of its own
 *   counted each call starts a kernel of which two counters are told, and lies in a range of its own
 */
#include <stdio.h>
#include <string.h>

#include "support/synth.h"

const char synth_growth_kinds[] = "host submit ranges mpi ranks names counted";

enum { STEP = 1000 /* ns from one call of a thread to the next */, SHORT = 300 };
#define DEVICE_BEGIN 7000000000ull

enum { RANGE_SCOPE, RANGE_NAME, RANGE_FIELDS };

static const kymo_field_t range_fields[RANGE_FIELDS] = {
	{"scope", "u64", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"name", "string", NULL, KYMO_KIND_REF, 0, 4, 0}};
static const kymo_op_desc_t range_ops[] = {
	{"mark", range_fields, RANGE_FIELDS, KYMO_OP_ACTIVITY, NULL, 0},
	{"range", range_fields, RANGE_FIELDS, KYMO_OP_ACTIVITY, NULL, 0}};
static const kymo_domain_desc_t range_domain = {
	sizeof(kymo_domain_desc_t), "marker", "Markers", 1, 2, range_ops};

#define REF(name, what)                                                                            \
	{                                                                                          \
		name, what, NULL, KYMO_KIND_REF, 0, 8, 0                                           \
	}
#define NUMBER(name, type, kind)                                                                   \
	{                                                                                          \
		name, type, NULL, kind, 0, 8, 0                                                    \
	}
static const kymo_field_t message_fields[COMM_FIELDS] = {
	REF("correlation", "call"),
	REF("completed_by", "call"),
	REF("communicator", "communicator"),
	NUMBER("peer", "rank", KYMO_KIND_SIGNED),
	NUMBER("tag", "int", KYMO_KIND_SIGNED),
	NUMBER("sent", "bytes", KYMO_KIND_SIZE),
	NUMBER("received", "bytes", KYMO_KIND_SIZE),
	REF("datatype", "string"),
	NUMBER("request", "u64", KYMO_KIND_UNSIGNED),
	NUMBER("state", "u64", KYMO_KIND_UNSIGNED),
	REF("probe", "call"),
	NUMBER("partitions", "u64", KYMO_KIND_UNSIGNED)};
static const kymo_op_desc_t message_ops[] = {
	{"send", message_fields, COMM_FIELDS, KYMO_OP_ACTIVITY, NULL, 0},
	{"receive", message_fields, COMM_FIELDS, KYMO_OP_ACTIVITY, NULL, 0}};
static const kymo_domain_desc_t message_domain = {
	sizeof(kymo_domain_desc_t), "comm", "Messages", 1, 2, message_ops};

static const kymo_op_desc_t mpi_ops[] = {{"MPI_Send", NULL, 0, 0, NULL, 0},
					 {"MPI_Recv", NULL, 0, 0, NULL, 0}};
static const kymo_domain_desc_t mpi_domain = {
	sizeof(kymo_domain_desc_t), "mpi", "MPI", 1, 2, mpi_ops};

static const kymo_field_t value_fields[COUNTER_FIELDS] = {
	REF("correlation", "call"),
	REF("counter", "counter"),
	NUMBER("instance", "u64", KYMO_KIND_UNSIGNED),
	NUMBER("value", "double", KYMO_KIND_FLOAT),
	NUMBER("op", "u32", KYMO_KIND_UNSIGNED),
	REF("thread", "thread"),
	REF("agent", "agent"),
	NUMBER("duration", "ns", KYMO_KIND_TIME),
	REF("kernel", "kernel")};
static const kymo_op_desc_t value_ops[COUNTER_OP_DISPATCH + 1] = {
	{"call", value_fields, COUNTER_FIELDS, KYMO_OP_ACTIVITY, NULL, 0},
	{"thread", value_fields, COUNTER_FIELDS, KYMO_OP_ACTIVITY, NULL, 0},
	{"sample", value_fields, COUNTER_FIELDS, KYMO_OP_ACTIVITY, NULL, 0},
	{"dispatch", value_fields, COUNTER_FIELDS, KYMO_OP_ACTIVITY, NULL, 0}};
static const kymo_domain_desc_t value_domain = {
	sizeof(kymo_domain_desc_t), "counter", "Counters", 1, COUNTER_OP_DISPATCH + 1, value_ops};

struct program {
	struct synth *s;
	uint16_t test;
};

static struct program begin(const char *directory, uint32_t pid, uint32_t rank, uint64_t calls)
{
	struct program p = {
		synth_open(&(struct synth_options){
			.directory = directory, .pid = pid, .rank = rank, .ids = calls + 1}),
		0};

	p.test = synth_domain(p.s, &synth_test_domain);
	for (uint32_t i = 1; i <= 4; i++)
		synth_site(p.s, i, 0x401000 + i * 16);
	return p;
}

static void threads(struct program *p, uint32_t pid, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "worker %u", i);
		synth_thread(p->s, pid + i, i ? name : "main");
	}
}

static uint64_t call(struct program *p, uint32_t thread, uint32_t op, uint64_t at, uint64_t ns,
		     int64_t scope)
{
	static const uint64_t global[] = {4096, 16};
	static const struct synth_value launch[] = {V_U(0xb001), V_U(0xc001), V_A(global, 2)};
	static const struct synth_value other[4] = {V_U(0xb001)};
	struct wire_event as = {.scope = scope};
	uint64_t id = synth_enter(p->s, thread, (uint16_t)(p->test + op), at,
				  1 + (uint32_t)(at / STEP) % 4);

	synth_leave_as(p->s, thread, at + ns, &as, op == TEST_LAUNCH ? launch : other);
	return id;
}

static void host(const char *directory, uint64_t calls)
{
	enum { THREADS = 4 };
	struct program p = begin(directory, 6000, RANK_NONE, calls);
	uint64_t at = 0;

	threads(&p, 6000, THREADS);
	for (uint64_t i = 0; i < calls; i++) {
		bool slow = i / THREADS % 32 == 31;

		call(&p, 1 + (uint32_t)(i % THREADS), TEST_QUERY, at, slow ? 20000 : SHORT, 0);
		if (i % THREADS == THREADS - 1)
			at += slow ? 20000 + STEP : STEP;
	}
	synth_close(p.s, 0, 0, at + 1000000);
}

static void devices(struct program *p, uint64_t end)
{
	synth_clock(p->s, 1, "gpu clock");
	synth_clock_sync(p->s, 1, 0, 200, DEVICE_BEGIN + 100);
	synth_clock_sync(p->s, 1, end, end + 200, DEVICE_BEGIN + end + 100);
	synth_agent(p->s, 1, "gpu", "Test GPU", 1);
	synth_context(p->s, 1, 0xd001);
	synth_queue(p->s, 1, 1, 1, 0, "");
	for (uint32_t i = 1; i <= 16; i++) {
		char name[32];

		snprintf(name, sizeof(name), "kernel_%u", i);
		synth_kernel(p->s, i, name, 0);
	}
}

/* A kernel that a call started at `at`; told at `seen`. */
static void kernel(struct program *p, uint64_t id, uint64_t at, uint64_t seen)
{
	const struct synth_value v[DISPATCH_FIELDS + 1] = {
		V_U(id),  V_U(1),   V_U(1),   V_U(1 + id % 16), V_U(DEVICE_BEGIN + at + 400),
		V_U(800), V_U(300), V_U(200), V_U(1),           V_U(4096),
		V_U(0),   V_U(0),   V_U(64)};

	synth_activity(p->s, 1, synth_activity_base(p->s, SYNTH_DISPATCH), seen, seen, v);
}

static void submit_of(const char *directory, uint32_t pid, uint32_t rank, uint64_t calls)
{
	struct program p = begin(directory, pid, rank, calls);
	uint64_t ids[8], at = 0, end = (calls + 8) * STEP;

	threads(&p, pid, 1);
	devices(&p, end);
	for (uint64_t i = 0; i < calls; i++, at += STEP) {
		struct synth_value wait[SYNC_FIELDS] = {V_U(0), V_U(1)};

		if (i % 8 < 7) {
			ids[i % 8] = call(&p, 1, TEST_LAUNCH, at, SHORT, 0);
			continue;
		}
		wait[0].u = call(&p, 1, TEST_WAIT, at, 500, 0);
		for (uint64_t k = 0; k < 7; k++)
			kernel(&p, ids[k], at - (7 - k) * STEP, at + 500);
		synth_activity(p.s, 1, synth_activity_base(p.s, SYNTH_SYNC) + SYNC_OP_QUEUE, at,
			       at + 500, wait);
	}
	synth_close(p.s, 0, 0, end);
}

static void ranks(const char *directory, uint64_t calls)
{
	for (uint32_t i = 0; i < 64; i++)
		submit_of(directory, 6000 + i, i, calls / 64);
}

/* Of letters alone: names that differ in numbers are folded. */
static void name(struct program *p, uint64_t number)
{
	struct wire_def d;
	char text[] = "aaaaaaaa_of_the_program";

	for (uint64_t n = number, i = 8; n; n /= 26)
		text[--i] = (char)('a' + n % 26);
	wire_def_init(&d, DEF_STRING);
	wire_def_u64(&d, number);
	wire_def_string(&d, text);
	wire_def_u64(&d, strlen(text));
	synth_define(p->s, &d);
}

static void ranges_of(const char *directory, uint64_t calls, uint64_t names)
{
	struct program p = begin(directory, 6000, RANK_NONE, calls);
	uint16_t marker = synth_domain(p.s, &range_domain);
	uint64_t at = 0, scope = 1;

	threads(&p, 6000, 1);
	for (uint64_t i = 0; i < calls; i += 8, scope++) {
		struct synth_value v[RANGE_FIELDS] = {V_U(scope), V_U(1 + (scope - 1) % names)};
		uint64_t start = at;

		if (scope <= names)
			name(&p, scope);
		for (uint64_t k = i; k < i + 8 && k < calls; k++, at += STEP)
			call(&p, 1, TEST_QUERY, at + 100, SHORT, (int64_t)scope);
		synth_activity(p.s, 1, (uint16_t)(marker + 1), start, at - 100, v);
	}
	synth_close(p.s, 0, 0, at + 1000000);
}

static void counter(struct program *p, uint32_t id, const char *name)
{
	struct wire_def d;

	wire_def_init(&d, DEF_COUNTER);
	wire_def_u64(&d, id);
	wire_def_string(&d, name);
	wire_def_string(&d, "");
	wire_def_string(&d, "");
	wire_def_string(&d, "test");
	wire_def_u64(&d, 1);
	wire_def_u64(&d, 0);
	wire_def_string(&d, "");
	synth_define(p->s, &d);
}

static void counted(const char *directory, uint64_t calls)
{
	enum { NAMES = 1000, COUNTERS = 2 };
	struct program p = begin(directory, 6000, RANK_NONE, calls);
	uint16_t marker = synth_domain(p.s, &range_domain),
		 values = synth_domain(p.s, &value_domain);
	uint64_t at = 0, end = (calls + 8) * STEP;

	threads(&p, 6000, 1);
	devices(&p, end);
	counter(&p, 1, "waves");
	counter(&p, 2, "reads");
	for (uint64_t i = 1; i <= calls; i++, at += STEP) {
		struct synth_value range[RANGE_FIELDS] = {V_U(i), V_U(1 + (i - 1) % NAMES)};
		uint64_t id;

		if (i <= NAMES)
			name(&p, i);
		id = call(&p, 1, TEST_LAUNCH, at + 100, SHORT, (int64_t)i);
		synth_activity(p.s, 1, (uint16_t)(marker + 1), at, at + STEP - 100, range);
		kernel(&p, id, at, at + STEP);
		for (uint32_t k = 1; k <= COUNTERS; k++) {
			const struct synth_value v[COUNTER_FIELDS] = {
				V_U(id), V_U(k), V_U(0), V_F(k * 10 + id % 3), V_U(0),
				V_U(1),  V_U(1), V_U(0), V_U(1 + id % 16)};

			synth_activity(p.s, 1, (uint16_t)(values + COUNTER_OP_DISPATCH), at + STEP,
				       at + STEP, v);
		}
	}
	synth_close(p.s, 0, 0, end);
}

static void define_rank(struct program *p, uint32_t rank)
{
	static const uint32_t members[] = {0, 2, 1}; /* the first, how many, from one to the next */
	struct wire_def d;

	wire_def_init(&d, DEF_RANK);
	wire_def_u64(&d, rank);
	wire_def_u64(&d, 2);
	wire_def_string(&d, "Open MPI");
	wire_def_string(&d, "4.1");
	wire_def_u64(&d, 2);
	wire_def_u64(&d, SYNTH_TICK0);
	wire_def_string(&d, "growth");
	wire_def_u64(&d, RANK_FINALIZING);
	synth_define(p->s, &d);
	wire_def_init(&d, DEF_COMMUNICATOR);
	wire_def_u64(&d, 1);
	wire_def_string(&d, "MPI_COMM_WORLD");
	wire_def_u64(&d, COMMUNICATOR_INTRA);
	wire_def_u64(&d, 2);
	wire_def_bytes(&d, members, sizeof(members));
	wire_def_u64(&d, 0);
	wire_def_u64(&d, 0x1234);
	wire_def_u64(&d, 0xf001);
	wire_def_u64(&d, SYNTH_TICK0);
	wire_def_u64(&d, 0);
	wire_def_bytes(&d, NULL, 0);
	wire_def_u64(&d, rank + 1);
	synth_define(p->s, &d);
}

/* Two ranks send in turn; the receive ends a little after the send. */
static void mpi(const char *directory, uint64_t calls)
{
	for (uint32_t rank = 0; rank < 2; rank++) {
		struct program p = begin(directory, 6000 + rank, rank, calls);
		uint16_t mpi_base = synth_domain(p.s, &mpi_domain);
		uint16_t messages = synth_domain(p.s, &message_domain);
		uint64_t at = 0;

		threads(&p, 6000 + rank, 1);
		define_rank(&p, rank);
		for (uint64_t i = 0; i < calls / 2; i++, at += 2ull * STEP) {
			uint32_t receives = i % 2 != rank;
			uint64_t end = at + (receives ? 900 : 700);
			struct synth_value v[COMM_FIELDS] = {
				V_U(synth_enter(p.s, 1, (uint16_t)(mpi_base + receives), at, 1)),
				V_U(0),
				V_U(1),
				V_U(1 - rank),
				V_U(7),
				V_U(receives ? 0 : 4096),
				V_U(receives ? 4096 : 0)};

			synth_leave(p.s, 1, end, 0, true, NULL);
			synth_activity(p.s, 1, (uint16_t)(messages + receives), at, end, v);
		}
		synth_close(p.s, 0, 0, at + 1000000);
	}
}

bool synth_growth(const char *directory, const char *kind, uint64_t calls)
{
	if (strcmp(kind, "host") == 0)
		host(directory, calls);
	else if (strcmp(kind, "submit") == 0)
		submit_of(directory, 6000, RANK_NONE, calls);
	else if (strcmp(kind, "ranges") == 0)
		ranges_of(directory, calls, 1000);
	else if (strcmp(kind, "mpi") == 0)
		mpi(directory, calls);
	else if (strcmp(kind, "ranks") == 0)
		ranks(directory, calls);
	else if (strcmp(kind, "counted") == 0)
		counted(directory, calls);
	else if (strcmp(kind, "names") == 0)
		ranges_of(directory, calls, UINT64_MAX);
	else
		return false;
	return true;
}
