/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper of tables: arguments of all classes arrive at the function and in the records, results
 * come back, and whatever way a function is left, nothing is damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <kymo/tool.h>

#include "capture/rocm/models.h"
#include "core/table/table.h"
#include "capture/rocm/register.h"

kymo_status_t kymo_register_take(const kymo_registration_t *, uint32_t, void **);
void kymo_register_return(void *);

/* ---- functions of all shapes; each checks its arguments ---- */

static int wrong;
#define EXPECT(x) (wrong += !(x))

/* More integers than registers, of all sizes and signs, and floats in between. */
static int64_t many(int8_t a, uint8_t b, int16_t c, double d, uint16_t e, int32_t f, float g,
		    uint32_t h, int64_t i, uint64_t j, int8_t k, double l, const char *m)
{
	EXPECT(a == -1 && b == 255 && c == -300 && d == 1.25 && e == 65535 && f == -70000);
	EXPECT(g == 2.5f && h == 4000000000u && i == -5000000000ll && j == 1ull << 63);
	EXPECT(k == -8 && l == -0.125 && strcmp(m, "text") == 0);
	return -9;
}

/* More floats than registers. */
static double floats(double a, double b, double c, double d, double e, double f, double g, double h,
		     double i, float j)
{
	EXPECT(a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8);
	EXPECT(i == 9 && j == 10.5f);
	return 0.5;
}

static float small_float(float x)
{
	return x * 2;
}

static int out(uint32_t *value, const uint64_t *in, int fail)
{
	*value = 1234567;
	return fail ? -3 : 0;
}

static void *pointer(void *p)
{
	return p;
}

static uint8_t byte(void)
{
	return 200;
}

static jmp_buf jump;

/* An unwinder passes the wrapper's frame and finds the test behind it. */
static void traced(void **state);
static int frames, frames_of_test;

static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *data)
{
	void *function = _Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(c));

	frames++;
	frames_of_test += function == (void *)(uintptr_t)traced;
	return _URC_NO_REASON;
}

static void leaves(int how)
{
	if (how == 1)
		longjmp(jump, 1);
	if (how == 2)
		pthread_exit((void *)5);
	if (how == 3)
		_Unwind_Backtrace(frame, NULL);
}

static struct table {
	size_t size;
	int64_t (*many)(int8_t, uint8_t, int16_t, double, uint16_t, int32_t, float, uint32_t,
			int64_t, uint64_t, int8_t, double, const char *);
	double (*floats)(double, double, double, double, double, double, double, double, double,
			 float);
	float (*small_float)(float);
	int (*out)(uint32_t *, const uint64_t *, int);
	void *(*pointer)(void *);
	uint8_t (*byte)(void);
	void (*leaves)(int);
	int (*nested)(int);
	int (*opaque)(int, int, int, int, int, int, int, int, double);
} table;

static int nested(int depth)
{
	return depth ? 1 + table.nested(depth - 1) : 0;
}

static int opaque(int a, int b, int c, int d, int e, int f, int g, int h, double i)
{
	EXPECT(a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8);
	EXPECT(i == 9.5);
	return 10;
}

static const struct table originals = {sizeof(table), many, floats, small_float, out,
				       pointer,       byte, leaves, nested,      opaque};

#define F(name, kind, size, flags)                                                                 \
	{                                                                                          \
		name, "type", NULL, KYMO_KIND_##kind, 0, size, flags                               \
	}
static const kymo_field_t many_fields[] = {
	F("a", SIGNED, 1, 0),   F("b", UNSIGNED, 1, 0),
	F("c", SIGNED, 2, 0),   F("d", FLOAT, 8, 0),
	F("e", UNSIGNED, 2, 0), F("f", SIGNED, 4, 0),
	F("g", FLOAT, 4, 0),    F("h", UNSIGNED, 4, 0),
	F("i", SIGNED, 8, 0),   F("j", UNSIGNED, 8, 0),
	F("k", SIGNED, 1, 0),   F("l", FLOAT, 8, 0),
	F("m", STRING, 8, 0),   F("result", SIGNED, 8, KYMO_FIELD_RESULT)};
static const kymo_field_t floats_fields[] = {F("a", FLOAT, 8, 0),
					     F("b", FLOAT, 8, 0),
					     F("c", FLOAT, 8, 0),
					     F("d", FLOAT, 8, 0),
					     F("e", FLOAT, 8, 0),
					     F("f", FLOAT, 8, 0),
					     F("g", FLOAT, 8, 0),
					     F("h", FLOAT, 8, 0),
					     F("i", FLOAT, 8, 0),
					     F("j", FLOAT, 4, 0),
					     F("result", FLOAT, 8, KYMO_FIELD_RESULT)};
static const kymo_field_t small_fields[] = {F("x", FLOAT, 4, 0),
					    F("result", FLOAT, 4, KYMO_FIELD_RESULT)};
static const kymo_field_t out_fields[] = {
	F("value", UNSIGNED, 4, KYMO_FIELD_OUT), F("in", POINTER, 8, 0),
	F("*in", UNSIGNED, 8, KYMO_FIELD_DEREF), F("fail", SIGNED, 4, 0)};
static const kymo_field_t pointer_fields[] = {F("p", POINTER, 8, 0),
					      F("result", POINTER, 8, KYMO_FIELD_RESULT)};
static const kymo_field_t byte_fields[] = {F("result", UNSIGNED, 1, KYMO_FIELD_RESULT)};
static const kymo_field_t leaves_fields[] = {F("how", SIGNED, 4, 0)};
static const kymo_field_t nested_fields[] = {F("depth", SIGNED, 4, 0),
					     F("result", SIGNED, 4, KYMO_FIELD_RESULT)};
static const kymo_enum_value_t codes[] = {{"OK", 0}, {"BAD", -3}};
static const kymo_enum_set_t status = {"status", codes, 2};
static const kymo_op_desc_t ops[] = {
	{"many", many_fields, 14, 0, NULL, 0},        {"floats", floats_fields, 11, 0, NULL, 0},
	{"small_float", small_fields, 2, 0, NULL, 0}, {"out", out_fields, 4, 0, &status, 0},
	{"pointer", pointer_fields, 2, 0, NULL, 0},   {"byte", byte_fields, 1, 0, NULL, 0},
	{"leaves", leaves_fields, 1, 0, NULL, 0},     {"nested", nested_fields, 2, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "shapes", "Shapes", 1, 8, ops};

/* ---- a tool ---- */

static struct {
	uint32_t op;
	int enters, exits, status;
	kymo_table_args_t enter, exit;
	uint64_t parent, correlation;
} seen;

static void callback(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	const kymo_table_args_t *args = r->args;

	seen.op = r->op;
	if (r->phase == KYMO_PHASE_ENTER) {
		seen.enters++;
		seen.parent = r->parent;
		seen.correlation = r->correlation;
		memcpy(&seen.enter, args, args->size);
	} else if (r->phase == KYMO_PHASE_EXIT) {
		seen.exits++;
		seen.status = r->status;
		if (args) /* NULL: left by longjmp */
			memcpy(&seen.exit, args, args->size);
	}
}

static kymo_context_t context;
static void *token;

static int setup(void **state)
{
	const kymo_registration_t r = {sizeof(r), "shapes", 1, &table, &desc};

	table = originals;
	assert_int_equal(kymo_register_take(&r, 0, &token), KYMO_OK);
	assert_int_equal(kymo_context_create(&context), KYMO_OK);
	assert_int_equal(kymo_callback_service(context, NULL, callback, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	memset(&seen, 0, sizeof(seen));
	wrong = 0;
	return 0;
}

static int teardown(void **state)
{
	kymo_context_destroy(context);
	kymo_register_return(token);
	assert_memory_equal(&table, &originals, sizeof(table));
	assert_int_equal(wrong, 0);
	return 0;
}

static double as_double(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, 8);
	return d;
}

static float as_float(uint64_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static void check_counts(int n)
{
	assert_int_equal(seen.enters, n);
	assert_int_equal(seen.exits, n);
}

static void integers(void **state)
{
	const uint64_t *v = seen.exit.value;

	assert_int_equal(table.many(-1, 255, -300, 1.25, 65535, -70000, 2.5f, 4000000000u,
				    -5000000000ll, 1ull << 63, -8, -0.125, "text"),
			 -9);
	check_counts(1);
	assert_int_equal(seen.op, 0);
	assert_true((int64_t)v[0] == -1 && v[1] == 255 && (int64_t)v[2] == -300);
	assert_true(as_double(v[3]) == 1.25 && v[4] == 65535 && (int64_t)v[5] == -70000);
	assert_true(as_float(v[6]) == 2.5f && v[7] == 4000000000u);
	assert_true((int64_t)v[8] == -5000000000ll && v[9] == 1ull << 63 && (int64_t)v[10] == -8);
	assert_true(as_double(v[11]) == -0.125);
	assert_string_equal((const char *)(uintptr_t)v[12], "text");
	assert_true((int64_t)v[13] == -9 && seen.enter.value[13] == 0);
	assert_memory_equal(seen.enter.value, v, 13 * 8);
	assert_int_equal(seen.enter.size, 8 + 14 * 8);
}

static void floating(void **state)
{
	const uint64_t *v = seen.exit.value;

	assert_true(table.floats(1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5f) == 0.5);
	check_counts(1);
	for (int i = 0; i < 9; i++)
		assert_true(as_double(v[i]) == i + 1);
	assert_true(as_float(v[9]) == 10.5f && as_double(v[10]) == 0.5);
	assert_true(table.small_float(1.5f) == 3.0f);
	assert_true(as_float(v[0]) == 1.5f && as_float(v[1]) == 3.0f);
}

static void outputs(void **state)
{
	const uint64_t in = 99;
	uint32_t value = 0;

	assert_int_equal(table.out(&value, &in, 0), 0);
	assert_int_equal(value, 1234567);
	assert_int_equal(seen.enter.value[0], 0); /* not known yet */
	assert_int_equal(seen.exit.value[0], 1234567);
	assert_int_equal(seen.exit.value[1], (uintptr_t)&in);
	assert_int_equal(seen.exit.value[2], 99);
	assert_int_equal(table.out(&value, NULL, 1), -3);
	assert_int_equal(seen.status, -3);
	assert_int_equal(seen.exit.value[0], 0); /* a failed call says nothing */
	assert_int_equal(seen.exit.value[2], 0);
	assert_int_equal(seen.exit.value[3], 1);
}

static void results(void **state)
{
	assert_ptr_equal(table.pointer(&table), &table);
	assert_int_equal(seen.exit.value[1], (uintptr_t)&table);
	assert_int_equal(table.byte(), 200);
	assert_int_equal(seen.exit.value[0], 200);
}

static void recursion(void **state)
{
	assert_int_equal(table.nested(20), 20);
	check_counts(21);
	assert_true(seen.parent != 0);
	assert_int_equal(table.nested(100), 100); /* deeper than frames are kept */
	assert_int_equal(seen.enters, seen.exits);
	assert_int_equal(table.nested(0), 0);
	assert_int_equal(seen.parent, 0);
}

static void long_jumps(void **state)
{
	for (volatile int i = 0; i < 200; i++) {
		if (setjmp(jump) == 0)
			table.leaves(1);
	}
	assert_int_equal(seen.enters, 200);
	assert_int_equal(seen.exits, 199); /* each is seen when the next call comes */
	table.byte();                      /* frames left behind do not become parents */
	assert_int_equal(seen.parent, 0);
	assert_int_equal(seen.exits, 201);
}

static void cleaned(void *arg)
{
	*(int *)arg = 1;
}

static int cleanup_ran;

/* pthread_exit unwinds as an exception does: through the wrapper's frame, to the handlers. */
static void *exits(void *arg)
{
	pthread_cleanup_push(cleaned, &cleanup_ran);
	table.leaves(2);
	pthread_cleanup_pop(0);
	return NULL;
}

static void unwinding(void **state)
{
	pthread_t thread;
	void *result;

	cleanup_ran = 0;
	assert_int_equal(pthread_create(&thread, NULL, exits, NULL), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, (void *)5);
	assert_int_equal(cleanup_ran, 1);
}

static void traced(void **state)
{
	frames = frames_of_test = 0;
	table.leaves(3);
	assert_int_equal(frames_of_test, 1);
	assert_true(frames > 4); /* leaves, wrapper, this, cmocka, main, ... */
}

/* How often the entry ran and was only counted, and is not yet reported to core. */
static uint64_t table_calls(uint64_t number, const char *part, uint32_t entry)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < TABLE_SLOTS; i++) {
		const struct table_slot *s = &table_slots[i];

		if (s->next && s->given->token == number && s->entry == entry &&
		    strcmp(s->given->name, part) == 0)
			calls += atomic_load(&s->calls);
	}
	return calls;
}

static void counted(void **state)
{
	const uint64_t number = (uint64_t)(uintptr_t)token;

	for (int i = 0; i < 3; i++)
		assert_int_equal(table.opaque(1, 2, 3, 4, 5, 6, 7, 8, 9.5), 10);
	check_counts(0);
	assert_int_equal(table_calls(number, "the table", 8), 3);
	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(table.opaque(1, 2, 3, 4, 5, 6, 7, 8, 9.5), 10);
	assert_int_equal(table.byte(), 200);
	assert_int_equal(table_calls(number, "the table", 8), 3);
	check_counts(0);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	assert_int_equal(table.byte(), 200);
	check_counts(1);
}

static void forks(void **state)
{
	pid_t child = fork();
	int how;

	if (child == 0) {
		int n = seen.enters;

		table.byte();
		table.nested(3);
		_exit(seen.enters == n + 5 && seen.exits == seen.enters ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_int_equal(how, 0);
}

/* ---- structures by value, as HIP has them ---- */

struct dim3 {
	uint32_t x, y, z;
};
struct extent {
	size_t width, height, depth;
};
struct pitched {
	void *ptr;
	size_t pitch, xsize, ysize;
};

static int launch(const void *f, struct dim3 blocks, struct dim3 threads, void **args,
		  size_t shared, void *stream)
{
	EXPECT(f == (void *)1 && blocks.x == 2 && blocks.y == 3 && blocks.z == 4);
	EXPECT(threads.x == 5 && threads.y == 6 && threads.z == 7 && args == (void **)8);
	EXPECT(shared == 9 && stream == (void *)10);
	return 0;
}

static int memset3d(struct pitched p, int value, struct extent e)
{
	EXPECT(p.ptr == (void *)1 && p.pitch == 2 && p.xsize == 3 && p.ysize == 4 && value == -5);
	EXPECT(e.width == 6 && e.height == 7 && e.depth == 8);
	return 1;
}

static uint32_t hip_op(const char *name)
{
	const kymo_domain_desc_t *d = table_describe(&rocm_model_hip);

	for (uint32_t i = 0; i < d->op_count; i++)
		if (strcmp(d->ops[i].name, name) == 0)
			return i;
	fail_msg("HIP has no %s", name);
	return 0;
}

static void structures(void **state)
{
	static struct {
		uint64_t size;
		void *entries[463];
	} hip = {sizeof(hip), {0}};
	const uint32_t l = hip_op("hipLaunchKernel"), m = hip_op("hipMemset3D");
	int (*call_launch)(const void *, struct dim3, struct dim3, void **, size_t, void *);
	int (*call_memset)(struct pitched, int, struct extent);
	void *tables[] = {&hip};

	hip.entries[l] = (void *)(uintptr_t)launch;
	hip.entries[m] = (void *)(uintptr_t)memset3d;
	assert_int_equal(rocprofiler_set_api_table("hip", 60000, 0, tables, 1), 0);
	memcpy(&call_launch, &hip.entries[l], sizeof(void *));
	memcpy(&call_memset, &hip.entries[m], sizeof(void *));
	assert_ptr_not_equal(call_launch, launch);
	assert_int_equal(call_launch((void *)1, (struct dim3){2, 3, 4}, (struct dim3){5, 6, 7},
				     (void **)8, 9, (void *)10),
			 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(seen.exit.value[i], i + 1);
	assert_int_equal(
		call_memset((struct pitched){(void *)1, 2, 3, 4}, -5, (struct extent){6, 7, 8}), 1);
	assert_int_equal(seen.status, 1);
	for (int i = 0; i < 8; i++)
		assert_int_equal((int64_t)seen.exit.value[i], i == 4 ? -5 : i + 1);
}

/* ---- annotations ---- */

static int annotate(const char *text, uint64_t what)
{
	return text && *text ? 0 : -1;
}

static const void *target_of(void **entry)
{
	for (unsigned i = 0; i < TABLE_SLOTS; i++)
		if (table_slots[i].next && table_slots[i].place == entry)
			return atomic_load(&table_slots[i].target);
	return NULL;
}

/* Calls that become markers cost nothing while nobody listens; names are kept for later tools. */
static void annotations(void **state)
{
	static struct {
		uint64_t size;
		void *entries[6];
	} core = {sizeof(core), {annotate, annotate, annotate, annotate, annotate, annotate}};
	static struct {
		uint64_t size;
		void *entries[2];
	} control = {sizeof(control), {annotate, annotate}};
	static struct {
		uint64_t size;
		void *entries[4];
	} name = {sizeof(name), {annotate, annotate, annotate, annotate}};
	void *tables[] = {&core, &control, &name};

	assert_int_equal(rocprofiler_set_api_table("roctx", 1, 0, tables, 3), 0);
	assert_ptr_equal(target_of(&core.entries[0]), table_traced);
	assert_ptr_equal(target_of(&control.entries[0]), table_traced);
	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_ptr_equal(target_of(&core.entries[0]), annotate);
	assert_ptr_equal(target_of(&control.entries[1]), annotate);
	assert_ptr_equal(target_of(&name.entries[0]), table_traced);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	assert_ptr_equal(target_of(&core.entries[1]), table_traced);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(integers),  TEST(floating),   TEST(outputs),    TEST(results),
		TEST(recursion), TEST(long_jumps), TEST(unwinding),  TEST(traced),
		TEST(counted),   TEST(forks),      TEST(structures), TEST(annotations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
