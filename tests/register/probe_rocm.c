/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios of AMD's registration: probe_rocm SCENARIO RUNTIME PROFILER, both libraries by path; the
 * profiler is loaded here where the scenario says so. Environment and preloads are the script's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "fake_rocm.h"

#define THREADS 16

static const char *runtime_path, *profiler_path;
static void *runtime;

static int (*reg)(const char *name, void **tables, uint64_t count, uint64_t *id);
static int (*reg_hip)(uint64_t *id);
static int (*reg_roctx)(uint64_t *id);
static int (*reg_hsa)(uint64_t *id);
static void **(*entries)(const char *table);

static void *symbol(void *library, const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(3);
	}
	return p;
}

static void load_runtime(void)
{
	runtime = dlopen(runtime_path, RTLD_NOW | RTLD_LOCAL);
	if (!runtime) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	reg = symbol(runtime, "fake_register");
	reg_hip = symbol(runtime, "fake_register_hip");
	reg_roctx = symbol(runtime, "fake_register_roctx");
	reg_hsa = symbol(runtime, "fake_register_hsa");
	entries = symbol(runtime, "fake_entries");
}

static int hip_malloc(size_t size)
{
	int (*function)(void **, size_t) = entries("hip")[FAKE_HIP_MALLOC];
	void *p = NULL;

	return function(&p, size);
}

static int from_profiler(const char *name)
{
	int (*function)(void) = dlsym(RTLD_DEFAULT, name);
	void *library = function ? NULL : dlopen(profiler_path, RTLD_NOW | RTLD_NOLOAD);

	if (library)
		function = dlsym(library, name);
	return function ? function() : -1;
}

static void (*set_nested(void))(void (*)(void))
{
	return symbol(RTLD_DEFAULT, "fake_profiler_nested");
}

/* Functions of the register library, wherever the runtime got it from. */
static void *in_register(const char *name)
{
	void *library = dlopen("librocprofiler-register.so.0", RTLD_LAZY | RTLD_NOLOAD);

	if (!library) {
		fprintf(stderr, "the register library is not loaded\n");
		exit(3);
	}
	return symbol(library, name);
}

static int count_info(void *info, void *data)
{
	++*(int *)data;
	return 0;
}

static int registered(void)
{
	int (*iterate)(int (*)(void *, void *), void *) =
		in_register("rocprofiler_register_iterate_registration_info");
	int n = 0;

	CHECK_EQUAL(iterate(count_info, &n), 0);
	return n;
}

/* ---- scenarios ---- */

static void no_library(void)
{
	load_runtime();
	CHECK_EQUAL(reg_hip(NULL), FAKE_NO_LIBRARY);
	CHECK_EQUAL(hip_malloc(8), 0);
}

static void no_tool(void)
{
	uint64_t id = 0;

	load_runtime();
	CHECK_EQUAL(reg_hip(&id), 1);
	CHECK(id != 0);
	CHECK_EQUAL(registered(), 1);
	CHECK_EQUAL(hip_malloc(8), 0);
}

static void taken(void)
{
	uint64_t id;

	load_runtime();
	CHECK_EQUAL(reg_hip(&id), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 1);
	CHECK_EQUAL(hip_malloc(8), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_mallocs"), 1);
}

static void constructor(void)
{
	load_runtime();
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 1);
	CHECK_EQUAL(hip_malloc(8), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_mallocs"), 1);
}

static void codes(void)
{
	const char *(*text)(int) = NULL;
	void *table[3] = {(void *)24, NULL, NULL}, *tables[] = {table}, *none[] = {NULL};
	uint64_t id;

	load_runtime();
	CHECK_EQUAL(reg("cuda", tables, 1, &id), 4);
	CHECK_EQUAL(reg("no name", tables, 1, &id), 4);
	CHECK_EQUAL(reg("", tables, 1, &id), 4);
	CHECK_EQUAL(reg("hip", tables, 0, &id), 3);
	CHECK_EQUAL(reg("hip", none, 1, &id), 3);
	CHECK_EQUAL(reg("hip", NULL, 1, &id), 3);
	CHECK_EQUAL(registered(), 0);
	CHECK_EQUAL(reg("hip_compiler", tables, 1, &id), 1);
	CHECK_EQUAL(reg("rccl", tables, 1, &id), 1);
	CHECK_EQUAL(reg("rocdecode", tables, 1, &id), 1);
	CHECK_EQUAL(reg("rocjpeg", tables, 1, &id), 1);
	CHECK_EQUAL(reg("newlib", tables, 1, &id), 1);        /* exports the function of its name */
	CHECK_EQUAL(reg("hip_compiler", tables, 1, NULL), 1); /* takes the place of the first */
	CHECK_EQUAL(registered(), 5);
	text = in_register("rocprofiler_register_error_string");
	for (int i = -1; i < 10; i++)
		CHECK(text(i) && *text(i));
	CHECK(strcmp(text(8), text(99)) == 0 && strcmp(text(7), text(99)) != 0);
}

static void secure(void)
{
	CHECK(getauxval(AT_SECURE) != 0);
	load_runtime();
	CHECK_EQUAL(reg_hip(NULL), 1);
	CHECK_EQUAL(hip_malloc(8), 0);
}

static void disabled(void)
{
	load_runtime();
	CHECK_EQUAL(reg_hip(NULL), 1);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 0);
	CHECK_EQUAL(registered(), 0);
}

static void secure_refused(void)
{
	load_runtime();
	CHECK_EQUAL(reg_hip(NULL), 5);
	CHECK_EQUAL(hip_malloc(8), 0);
}

/* AMD's library knows 8 instances at most. */
static void instances(void)
{
	static uint64_t tables[20][3];
	uint64_t id, seen = 0;

	load_runtime();
	for (int i = 0; i < 20; i++) {
		void *t[] = {tables[i]};

		tables[i][0] = sizeof(tables[i]);
		CHECK_EQUAL(reg("rccl", t, 1, &id), 0);
		CHECK(id != seen);
		seen = id;
	}
	CHECK_EQUAL(registered(), 20);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 20);
}

static pthread_barrier_t barrier;
static uint64_t thread_tables[THREADS][8][2];
static int thread_codes[THREADS];

static void *thread(void *data)
{
	int n = (int)(intptr_t)data;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 8; i++) {
		void *t[] = {thread_tables[n][i]};
		uint64_t id;

		thread_tables[n][i][0] = 16;
		thread_codes[n] |= reg(i % 2 ? "hsa" : "rccl", t, 1, &id);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];

	load_runtime();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQUAL(thread_codes[i], 0);
	CHECK_EQUAL(registered(), 8 * THREADS);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 8 * THREADS);
}

static int nested_code = -1;

static void register_inside(void)
{
	nested_code = reg_roctx(NULL);
}

static void nested(void)
{
	load_runtime();
	set_nested()(register_inside);
	CHECK_EQUAL(reg_hip(NULL), 0);
	CHECK_EQUAL(nested_code, 0);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 2);
}

static void late(void)
{
	int (*hand_over)(void);

	load_runtime();
	CHECK_EQUAL(reg_hip(NULL), 1);
	CHECK_EQUAL(reg_roctx(NULL), 1);
	hip_malloc(8);
	hand_over = in_register("rocprofiler_register_invoke_nonpropagated_registrations");
	CHECK_EQUAL(hand_over(), 1);
	CHECK(dlopen(profiler_path, RTLD_NOW | RTLD_GLOBAL));
	setenv("ROCPROFILER_REGISTER_FORCE_LOAD", "1", 1);
	CHECK_EQUAL(hand_over(), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 2);
	CHECK_EQUAL(hand_over(), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 2); /* only once each */
	hip_malloc(8);
	CHECK_EQUAL(from_profiler("fake_profiler_mallocs"), 1);
	hand_over = in_register("rocprofiler_register_invoke_all_registrations");
	CHECK_EQUAL(hand_over(), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 4);
}

/* Runtimes that are unloaded and come again leave nothing behind. */
static void unloaded(void)
{
	for (int i = 0; i < 200; i++) {
		load_runtime();
		CHECK_EQUAL(reg_hip(NULL), 1);
		CHECK_EQUAL(registered(), 1);
		dlclose(runtime);
	}
}

static void refused(void)
{
	void (*refuse)(int);

	load_runtime();
	refuse = symbol(RTLD_DEFAULT, "fake_profiler_refuse");
	refuse(1);
	CHECK_EQUAL(reg_hip(NULL), 6);
	CHECK_EQUAL(hip_malloc(8), 0);
	CHECK_EQUAL(registered(), 1);
}

/* ---- through Kymo; what it recorded is the script's to check ---- */

static void calls(void)
{
	struct dim3 {
		uint32_t x, y, z;
	} blocks = {1, 2, 3}, size = {64, 1, 1};
	int (*launch)(const void *, struct dim3, struct dim3, void **, size_t, void *) =
		entries("hip")[FAKE_HIP_LAUNCH];
	int (*unknown)(uint64_t, double) = entries("hip")[FAKE_HIP_ENTRIES - 1];
	const uint64_t *(*last)(void) = symbol(runtime, "fake_last");
	const uint64_t expected[] = {0xabc0, 1, 2, 3, 64, 1, 1, 0xdef0, 4096, 0x5000};
	void *p = NULL;

	CHECK_EQUAL(hip_malloc(1024), 0);
	CHECK_EQUAL(hip_malloc(0), 1);
	CHECK_EQUAL(launch((void *)0xabc0, blocks, size, (void **)0xdef0, 4096, (void *)0x5000), 0);
	for (int i = 0; i < 10; i++)
		CHECK_EQUAL(last()[i], expected[i]);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(unknown(5, 6.0), 7);
	CHECK_EQUAL(last()[1], 6);
	if (reg_hsa) {
		int (*init)(void) = entries("hsa_core")[0];
		int (*allocate)(uint64_t, size_t, uint32_t, void **) = entries("hsa_amd")[13];
		int (*sample)(uint64_t) = entries("hsa_sampling")[4];

		CHECK_EQUAL(init(), 0);
		CHECK_EQUAL(allocate(99, 4096, 1, &p), 0);
		CHECK_EQUAL(p, 0x2000);
		CHECK_EQUAL(sample(77), 0);
	}
}

static void markers(void)
{
	void **core = entries("core"), **control = entries("control"), **name = entries("name");
	uint64_t (*start)(const char *) = core[3];
	void (*stop)(uint64_t) = core[4];
	uint64_t tid = 0;

	((int (*)(const char *))core[0])("a mark");
	CHECK_EQUAL(((int (*)(const char *))core[1])("outer"), 0);
	CHECK_EQUAL(((int (*)(const char *))core[1])("inner"), 1);
	hip_malloc(77);
	CHECK_EQUAL(((int (*)(void))core[2])(), 1);
	CHECK_EQUAL(((int (*)(void))core[2])(), 0);
	CHECK_EQUAL(start("a process range"), 77);
	stop(77);
	CHECK_EQUAL(((int (*)(uint64_t *))core[5])(&tid), 0);
	CHECK_EQUAL(tid, 4711);
	((int (*)(const char *, uint64_t))name[0])("the worker", 0);
	((int (*)(const char *, uint64_t))name[2])("the device", 3);
	((int (*)(uint64_t))control[0])(0);
	hip_malloc(4444); /* paused */
	((int (*)(uint64_t))control[1])(0);
	hip_malloc(5555);
	tid = (uint64_t)syscall(SYS_gettid);
	((int (*)(uint64_t))control[0])(tid);
	hip_malloc(6666); /* paused, and no other thread is */
	((int (*)(uint64_t))control[1])(tid);
	hip_malloc(7777);
}

/* AMD's own library writes it whether there is one or not. */
static uint64_t id;

static void kymo(void)
{
	load_runtime();
	CHECK_EQUAL(reg_hip(&id), 0);
	CHECK_EQUAL(reg_roctx(&id), 0);
	CHECK_EQUAL(reg_hsa(&id), 0);
	calls();
	markers();
}

static void kymo_sizes(void)
{
	static uint64_t odd[] = {17, 0, 0}, huge[] = {1u << 30, 0}, empty[] = {8};
	void *t[] = {odd};

	load_runtime();
	CHECK_EQUAL(reg("hip", t, 1, &id), 0); /* not traced, which is no error of the runtime's */
	t[0] = huge;
	CHECK_EQUAL(reg("hip", t, 1, &id), 0);
	t[0] = empty;
	CHECK_EQUAL(reg("hip", t, 1, &id), 0); /* nothing to wrap */
	CHECK_EQUAL(reg_hip(&id), 0);
	CHECK_EQUAL(hip_malloc(1), 0);
}

/* Tables that are not as published; like AMD's own fakes, this program ends with an error if
 * told that they were refused. */
static void kymo_untraced(void)
{
	static uint64_t plain[] = {24, 1, 2}, odd[] = {17, 0, 0};
	void *t[] = {plain}, *u[] = {odd};

	load_runtime();
	CHECK_EQUAL(reg("hsa", t, 1, &id), 0);
	CHECK_EQUAL(plain[1], 1);
	CHECK_EQUAL(reg("rccl", u, 1, &id), 0);
	if (getenv("PROBE_CHAINED"))
		CHECK_EQUAL(from_profiler("fake_profiler_tables"), 2);
}

static void kymo_chained(void)
{
	load_runtime();
	CHECK_EQUAL(reg_hip(&id), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), 1);
	CHECK_EQUAL(hip_malloc(123), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_mallocs"), 1);
}

/* The runtime registers while it is loaded. */
static void kymo_constructor(void)
{
	load_runtime();
	CHECK_EQUAL(hip_malloc(88), 0);
}

static void no_tool_amd(void)
{
	load_runtime();
	CHECK_EQUAL(reg_hip(&id), 1);
	CHECK_EQUAL(hip_malloc(8), 0);
}

/* A tool has the tables, and nothing comes of it. */
static void taken_quietly(void)
{
	load_runtime();
	CHECK_EQUAL(reg_hip(&id), 0);
	CHECK_EQUAL(hip_malloc(8), 0);
	CHECK_EQUAL(from_profiler("fake_profiler_tables"), -1);
}

static const struct check_scenario scenarios[] = {
	{"no-library", no_library},
	{"no-tool", no_tool},
	{"taken", taken},
	{"constructor", constructor},
	{"codes", codes},
	{"disabled", disabled},
	{"secure", secure},
	{"secure-refused", secure_refused},
	{"instances", instances},
	{"threads", threads},
	{"nested", nested},
	{"late", late},
	{"unloaded", unloaded},
	{"refused", refused},
	{"kymo", kymo},
	{"kymo-sizes", kymo_sizes},
	{"kymo-untraced", kymo_untraced},
	{"kymo-chained", kymo_chained},
	{"kymo-constructor", kymo_constructor},
	{"no-tool-amd", no_tool_amd},
	{"taken-quietly", taken_quietly},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: probe_rocm SCENARIO RUNTIME PROFILER\n");
		return 2;
	}
	runtime_path = argv[2];
	profiler_path = argv[3];
	return check_run(scenarios, argc, argv);
}
