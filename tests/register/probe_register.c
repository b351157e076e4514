/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios of Kymo's registration: probe_register SCENARIO RUNTIME TOOL KYMO, libraries by path;
 * they are loaded here where the scenario says so. Environment and preloads are the script's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <kymo/register.h>

#include "check.h"
#include "fake_kymo.h"

#define THREADS   16
#define INSTANCES 20

static const char *runtime_path, *tool_path, *kymo_path;
static int (*reg)(void), (*unreg)(void), (*work)(int), (*wrapped)(void);

static void *symbol(void *library, const char *name)
{
	void *p = library ? dlsym(library, name) : NULL;

	if (!p) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(3);
	}
	return p;
}

static void *load_runtime(void)
{
	void *runtime = dlopen(runtime_path, RTLD_NOW | RTLD_LOCAL);

	reg = symbol(runtime, "fake_kymo_register");
	unreg = symbol(runtime, "fake_kymo_unregister");
	work = symbol(runtime, "fake_kymo_work");
	wrapped = symbol(runtime, "fake_kymo_wrapped");
	return runtime;
}

/* Calls the tool has seen; -1: it is not there. */
static long long seen(const char *domain, const char *op)
{
	void *tool = dlopen(tool_path, RTLD_NOW | RTLD_NOLOAD);
	uint64_t (*count)(const char *, const char *) = tool ? dlsym(tool, "tool_count") : NULL;

	return count ? (long long)count(domain, op) : -1;
}

static kymo_status_t look(const kymo_registration_info_t *info, void *data)
{
	int *states = data;

	CHECK(info->size == sizeof(*info) && info->id.handle && info->entries);
	CHECK(strcmp(info->name, "small") != 0 || (int)info->instance == states[0]++);
	states[info->state]++;
	return KYMO_OK;
}

/* Registrations in each state; those named "small" are counted at 0. */
static void states(int *out)
{
	kymo_status_t (*each)(kymo_registration_fn, void *) = NULL;
	void *library = dlopen(KYMO_REGISTER_LIBRARY, RTLD_NOW | RTLD_NOLOAD);

	memset(out, 0, 6 * sizeof(*out));
	each = symbol(library, "kymo_registrations");
	CHECK_EQUAL(each(look, out), KYMO_OK);
}

/* ---- scenarios: a runtime in its own library ---- */

static void no_library(void)
{
	load_runtime();
	CHECK(reg() != 0);
	CHECK_EQUAL(work(5), 0);
}

static void no_tool(void)
{
	int s[6];

	load_runtime();
	CHECK_EQUAL(reg(), KYMO_OK);
	CHECK_EQUAL(work(5), 0);
	CHECK(!wrapped());
	states(s);
	CHECK_EQUAL(s[KYMO_REGISTRATION_KEPT], 1);
}

/* The script sees what was recorded. */
static void plain(void)
{
	load_runtime();
	CHECK_EQUAL(reg(), KYMO_OK);
	CHECK_EQUAL(work(5), 0);
	CHECK(wrapped());
}

static void check_seen(int calls, int rounds)
{
	CHECK(wrapped());
	CHECK_EQUAL(seen("fake", "twice"), calls);
	CHECK_EQUAL(seen("fake", "nothing"), rounds);
}

static void with_tool(void)
{
	int s[6];

	load_runtime();
	CHECK_EQUAL(reg(), KYMO_OK);
	CHECK_EQUAL(work(5), 0);
	check_seen(5, 1);
	states(s);
	CHECK_EQUAL(s[KYMO_REGISTRATION_TAKEN], 1);
}

static void constructor(void)
{
	load_runtime();
	CHECK_EQUAL(work(5), 0);
	check_seen(5, 1);
}

static void late(void)
{
	load_runtime();
	CHECK_EQUAL(reg(), KYMO_OK);
	CHECK_EQUAL(work(100), 0);
	CHECK(!wrapped());
	setenv("KYMO_TOOLS", tool_path, 1);
	CHECK(dlopen(kymo_path, RTLD_NOW | RTLD_LOCAL));
	CHECK(wrapped());
	CHECK_EQUAL(work(5), 0);
	check_seen(5, 1);
}

static void unregister(void)
{
	void *runtime = load_runtime();

	CHECK_EQUAL(reg(), KYMO_OK);
	CHECK_EQUAL(work(5), 0);
	check_seen(5, 1);
	CHECK_EQUAL(unreg(), KYMO_OK);
	CHECK(!wrapped());
	CHECK_EQUAL(work(5), 0);
	CHECK_EQUAL(seen("fake", "twice"), 5);
	CHECK_EQUAL(unreg(), KYMO_ERROR_NOT_FOUND);
	CHECK_EQUAL(dlclose(runtime), 0);
	for (int i = 0; i < 1000; i++) { /* slots are used again */
		runtime = load_runtime();
		CHECK_EQUAL(reg(), KYMO_OK);
		CHECK_EQUAL(work(1), 0);
		CHECK_EQUAL(unreg(), KYMO_OK);
		dlclose(runtime);
	}
	CHECK_EQUAL(seen("fake", "twice"), 1005);
}

/* What is unregistered leaves nothing behind. */
static void memory(void)
{
	size_t before = 0, after;

	load_runtime();
	for (int i = 0; i < 20000; i++) {
		CHECK_EQUAL(reg(), KYMO_OK);
		CHECK_EQUAL(unreg(), KYMO_OK);
		if (i == 1000)
			before = mallinfo2().uordblks;
	}
	after = mallinfo2().uordblks;
	CHECK(after < before + 20000);
}

/* The tool loads another runtime, which registers in its constructor, while the first one does. */
static void nested(void)
{
	int s[6];
	int (*inner)(int);

	load_runtime();
	CHECK_EQUAL(reg(), KYMO_OK);
	states(s);
	CHECK_EQUAL(s[KYMO_REGISTRATION_TAKEN], 2);
	inner = symbol(dlopen(getenv("TOOL_NESTED"), RTLD_NOW | RTLD_NOLOAD), "fake_kymo_work");
	CHECK_EQUAL(work(5), 0);
	CHECK_EQUAL(inner(7), 0);
	check_seen(5, 1);
	CHECK_EQUAL(seen("inner", "twice"), 7);
}

static void secure(void)
{
	CHECK(getauxval(AT_SECURE) != 0);
	load_runtime();
	CHECK_EQUAL(reg(), KYMO_OK);
	CHECK(!wrapped()); /* KYMO_TOOLS is set and must not count */
	CHECK_EQUAL(work(5), 0);
}

/* ---- scenarios: tables of the probe itself ---- */

struct small {
	size_t size;
	uint64_t (*which)(void);
};

static const kymo_field_t which_fields[] = {
	{"result", "uint64_t", NULL, KYMO_KIND_UNSIGNED, 0, 8, KYMO_FIELD_RESULT}};
static const kymo_op_desc_t small_ops[] = {{"which", which_fields, 1, 0, NULL, 0}};
static const kymo_domain_desc_t small_desc = {sizeof(small_desc), "small", "Small", 1, 1,
					      small_ops};

/* clang-format off */
#define WHICH(n)                                                                                   \
	static uint64_t which##n(void)                                                             \
	{                                                                                          \
		return n;                                                                          \
	}
WHICH(0) WHICH(1) WHICH(2) WHICH(3) WHICH(4) WHICH(5) WHICH(6) WHICH(7)
static uint64_t (*const functions[])(void) = {which0, which1, which2, which3,
					      which4, which5, which6, which7};
/* clang-format on */

static kymo_status_t (*add)(const kymo_registration_t *, kymo_registration_id_t *);

static void load_register(void)
{
	add = symbol(dlopen(KYMO_REGISTER_LIBRARY, RTLD_NOW), "kymo_register_table");
}

static kymo_status_t register_small(struct small *t, const char *name, kymo_registration_id_t *id)
{
	const kymo_registration_t r = {sizeof(r), name, 1, t,
				       strcmp(name, "small") == 0 ? &small_desc : NULL};

	return add(&r, id);
}

/* Each instance leads to its own function. */
static void instances(void)
{
	static struct small tables[INSTANCES];
	kymo_registration_id_t id, last = {0};
	int s[6];

	load_register();
	for (int i = 0; i < INSTANCES; i++) {
		tables[i] = (struct small){sizeof(tables[i]), functions[i % 8]};
		CHECK_EQUAL(register_small(&tables[i], "small", &id), KYMO_OK);
		CHECK(id.handle > last.handle);
		last = id;
	}
	/* The same table again: its entries are wrapped already. */
	CHECK_EQUAL(register_small(&tables[0], "small", &id), KYMO_OK);
	for (int i = 0; i < INSTANCES; i++)
		CHECK_EQUAL(tables[i].which(), i % 8);
	CHECK_EQUAL(seen("small", "which"), INSTANCES);
	states(s);
	CHECK_EQUAL(s[0], INSTANCES + 1);
}

static pthread_barrier_t barrier;
static struct small thread_tables[THREADS][8];
static int thread_failures;

static void *thread(void *data)
{
	int n = (int)(intptr_t)data;
	char name[16];

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 8; i++) {
		struct small *t = &thread_tables[n][i];

		snprintf(name, sizeof(name), i % 2 ? "small" : "own%d", n);
		*t = (struct small){sizeof(*t), functions[i]};
		if (register_small(t, name, NULL) != KYMO_OK)
			__atomic_fetch_add(&thread_failures, 1, __ATOMIC_RELAXED);
		for (int k = 0; k < 50; k++)
			if (t->which() != (uint64_t)i)
				__atomic_fetch_add(&thread_failures, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];
	int s[6];

	load_register();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQUAL(thread_failures, 0);
	states(s);
	CHECK_EQUAL(s[KYMO_REGISTRATION_TAKEN], 8 * THREADS);
	for (int i = 0; i < THREADS; i++)
		for (int k = 1; k < 8; k += 2)
			CHECK_EQUAL(thread_tables[i][k].which(), k);
	/* Calls made before the tool knew the domain may be missing, none may be seen twice. */
	CHECK(seen("small", "which") >= 4 * THREADS);
	CHECK(seen("small", "which") <= 4 * THREADS * 51);
}

static void attach_while_registering(void)
{
	pthread_t t[THREADS];
	int s[6];

	load_register();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i);
	setenv("KYMO_TOOLS", tool_path, 1);
	pthread_barrier_wait(&barrier);
	CHECK(dlopen(kymo_path, RTLD_NOW | RTLD_LOCAL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQUAL(thread_failures, 0);
	states(s);
	CHECK_EQUAL(s[KYMO_REGISTRATION_TAKEN], 8 * THREADS);
}

static void expect(kymo_status_t expected, const kymo_registration_t *r)
{
	kymo_registration_id_t id = {12345};

	errno = 77;
	CHECK_EQUAL(add(r, &id), expected);
	CHECK_EQUAL(errno, 77);
	CHECK(expected == KYMO_OK || id.handle == 12345);
}

static void bad_input(void)
{
	static struct small t = {sizeof(t), which3};
	static size_t sizes[] = {0, 8, 17, (size_t)1 << 40};
	static const char *const names[] = {
		"",    "Small", "1st",
		"a b", NULL,    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"};
	kymo_registration_t good = {sizeof(good), "small", 1, &t, &small_desc}, r;
	kymo_domain_desc_t d;
	int s[6];

	load_register();
	expect(KYMO_ERROR_INVALID_ARGUMENT, NULL);
	for (unsigned i = 0; i < 6; i++) {
		r = good;
		r.name = names[i];
		expect(KYMO_ERROR_INVALID_ARGUMENT, &r);
	}
	for (unsigned i = 0; i < 4; i++) {
		size_t bytes[3] = {sizes[i], 0, 0};

		r = good;
		r.table = bytes;
		expect(KYMO_ERROR_INCOMPATIBLE, &r);
	}
	r = good;
	r.size = 8;
	expect(KYMO_ERROR_INCOMPATIBLE, &r);
	r = good;
	r.table = NULL;
	expect(KYMO_ERROR_INVALID_ARGUMENT, &r);
	r.table = (char *)&t + 1;
	expect(KYMO_ERROR_INVALID_ARGUMENT, &r);
	r = good;
	r.name = "other"; /* not the description's */
	expect(KYMO_ERROR_INVALID_ARGUMENT, &r);
	d = small_desc;
	d.size = 4;
	r = good;
	r.desc = &d;
	expect(KYMO_ERROR_INCOMPATIBLE, &r);
	states(s);
	for (int i = 1; i < 6; i++)
		CHECK_EQUAL(s[i], 0);
	CHECK_EQUAL(t.which(), 3);
}

/* What only the tool's side can know; the table works all the same. */
static void refused(void)
{
	static struct small t = {sizeof(t), which3};
	static const kymo_field_t array[] = {
		{"list", "int *", NULL, KYMO_KIND_ARRAY, KYMO_KIND_SIGNED, 4, 0}};
	static const kymo_field_t nobody[] = {
		{"*none", "int", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_DEREF}};
	static const kymo_field_t odd[] = {{"n", "int", NULL, KYMO_KIND_SIGNED, 0, 3, 0}};
	static const kymo_op_desc_t arrays = {"which", array, 1, 0, NULL, 0},
				    nobodys = {"which", nobody, 1, 0, NULL, 0},
				    odds = {"which", odd, 1, 0, NULL, 0},
				    nameless = {NULL, odd, 1, 0, NULL, 0},
				    many = {"which", odd, 41, 0, NULL, 0},
				    other = {"whatever", which_fields, 1, 0, NULL, 0};
	const kymo_op_desc_t *const bad[] = {&arrays, &nobodys, &odds, &nameless, &many};
	kymo_domain_desc_t d = small_desc;
	kymo_registration_t r = {sizeof(r), "small", 1, &t, &d};
	int s[6];

	load_register();
	for (unsigned i = 0; i < 5; i++) {
		d.ops = bad[i];
		expect(KYMO_ERROR_INVALID_ARGUMENT, &r);
		CHECK_EQUAL(t.which(), 3);
	}
	d.ops = small_ops;
	expect(KYMO_OK, &r);
	d.ops = &other; /* contradicts the first of its name */
	t.which = which4;
	expect(KYMO_ERROR_INCOMPATIBLE, &r);
	CHECK_EQUAL(t.which(), 4);
	r.name = d.name = "copy"; /* a domain of Kymo's own */
	expect(KYMO_ERROR_EXISTS, &r);
	CHECK_EQUAL(t.which(), 4);
	states(s);
	CHECK_EQUAL(s[KYMO_REGISTRATION_REFUSED], 7);
	CHECK_EQUAL(s[KYMO_REGISTRATION_TAKEN], 1);
}

/* More entries than there are thunks: the last table is refused, the others work. */
static void limit(void)
{
	static struct {
		size_t size;
		uint64_t (*entries[3000])(void);
	} big[3];
	kymo_registration_t r = {sizeof(r), "big", 1, NULL, NULL};

	load_register();
	for (int i = 0; i < 3; i++) {
		big[i].size = sizeof(big[i]);
		for (int k = 0; k < 3000; k++)
			big[i].entries[k] = functions[k % 8];
		r.table = &big[i];
		expect(i < 2 ? KYMO_OK : KYMO_ERROR_LIMIT, &r);
	}
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3000; k++)
			CHECK_EQUAL(big[i].entries[k](), k % 8);
}

static const struct check_scenario scenarios[] = {
	{"no-library", no_library},
	{"no-tool", no_tool},
	{"plain", plain},
	{"with-tool", with_tool},
	{"constructor", constructor},
	{"late", late},
	{"unregister", unregister},
	{"memory", memory},
	{"nested", nested},
	{"secure", secure},
	{"instances", instances},
	{"threads", threads},
	{"attach-while-registering", attach_while_registering},
	{"bad-input", bad_input},
	{"refused", refused},
	{"limit", limit},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: probe_register SCENARIO RUNTIME TOOL KYMO\n");
		return 2;
	}
	runtime_path = argv[2];
	tool_path = argv[3];
	kymo_path = argv[4];
	return check_run(scenarios, argc, argv);
}
