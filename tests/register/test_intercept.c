/* SPDX-License-Identifier: Apache-2.0 */
/* The intercept service: tools' wrappers in tables that Kymo has wrapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/intercept.h>
#include <kymo/register.h>
#include <kymo/tool.h>

#include "capture/rocm/register.h"

kymo_status_t kymo_register_take(const kymo_registration_t *, uint32_t, void **);
void kymo_register_return(void *);

/* ---- a runtime ---- */

static struct table {
	size_t size;
	int (*add)(int a, int b);
	int (*none)(void);
	int (*plain)(int);
} table, second;

static int add(int a, int b)
{
	return a + b;
}

static int plain(int n)
{
	return n + 1;
}

static const struct table originals = {sizeof(struct table), add, NULL, plain};

static const kymo_field_t add_fields[] = {
	{"a", "int", NULL, KYMO_KIND_SIGNED, 0, 4, 0},
	{"b", "int", NULL, KYMO_KIND_SIGNED, 0, 4, 0},
	{"result", "int", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_RESULT},
};
/* The last entry of the table is beyond the description. */
static const kymo_op_desc_t ops[] = {
	{"add", add_fields, 3, 0, NULL, 0},
	{"none", add_fields, 0, 0, NULL, 0},
};
static const kymo_domain_desc_t desc = {sizeof(desc), "sums", "Sums", 1, 2, ops};

static void *token;

static void *take(struct table *t, uint32_t instance)
{
	const kymo_registration_t r = {sizeof(r), "sums", 12, t, &desc};
	void *out = NULL;

	*t = originals;
	assert_int_equal(kymo_register_take(&r, instance, &out), KYMO_OK);
	return out;
}

/* ---- a tool that listens ---- */

struct heard {
	int here, gone;
	kymo_table_info_t info;
};

static void on_table(kymo_table_event_t event, const kymo_table_info_t *info, void *data)
{
	struct heard *h = data;

	h->here += event == KYMO_TABLE_HERE;
	h->gone += event == KYMO_TABLE_GONE;
	h->info = *info;
}

static struct heard heard;
static kymo_listener_t listener;

static int setup(void **state)
{
	token = take(&table, 0);
	memset(&heard, 0, sizeof(heard));
	assert_int_equal(kymo_intercept_listen("sums", on_table, &heard, &listener), KYMO_OK);
	assert_int_equal(heard.here, 1); /* registered earlier */
	return 0;
}

static int teardown(void **state)
{
	if (token)
		kymo_register_return(token);
	assert_memory_equal(&table, &originals, sizeof(table));
	kymo_intercept_ignore(listener);
	return 0;
}

/* ---- wrappers ---- */

static char order[16];
static void note(char c)
{
	size_t n = strlen(order);

	if (n + 1 < sizeof(order))
		order[n] = c;
}

/* As wrappers are to read what they call: it is written while they run. */
typedef int (*add_fn)(int, int);
#define AS_ADD(next) ((add_fn)kymo_intercept_next(&(next)))

#define WRAPPER(name)                                                                              \
	static void *name##_next;                                                                  \
	static int name(int a, int b)                                                              \
	{                                                                                          \
		int sum;                                                                           \
		note(#name[0]);                                                                    \
		sum = AS_ADD(name##_next)(a, b) * 10;                                              \
		note(#name[0] - 'a' + 'A');                                                        \
		return sum;                                                                        \
	}
WRAPPER(x)
WRAPPER(y)
WRAPPER(z)

static kymo_chain_t chain(int (*wrapper)(int, int), void **next)
{
	kymo_chain_t c = {0};

	assert_int_equal(kymo_intercept_chain(heard.info.table, 0, (void *)wrapper, next, &c),
			 KYMO_OK);
	assert_true(c.handle != 0);
	return c;
}

static void expect(const char *through, int sum)
{
	memset(order, 0, sizeof(order));
	assert_int_equal(table.add(3, 4), sum);
	assert_string_equal(order, through);
}

static void *function_now(void)
{
	void *f = NULL;

	assert_int_equal(kymo_intercept_read(heard.info.table, 0, &f), KYMO_OK);
	return f;
}

/* ---- tests ---- */

static void told(void **state)
{
	struct heard all = {0}, other = {0};
	kymo_listener_t a, b;
	void *more;

	assert_int_equal(heard.info.size, sizeof(heard.info));
	assert_string_equal(heard.info.domain->name, "sums");
	assert_int_equal(heard.info.version, 12);
	assert_int_equal(heard.info.instance, 0);
	assert_int_equal(heard.info.entries, 3);
	assert_int_equal(heard.info.known, 2);
	assert_ptr_equal(heard.info.slots, (void **)&table + 1);
	assert_int_equal(kymo_intercept_listen(NULL, on_table, &all, &a), KYMO_OK);
	assert_int_equal(kymo_intercept_listen("other", on_table, &other, &b), KYMO_OK);
	assert_true(all.here >= 1);
	all.here = 0;
	more = take(&second, 1);
	assert_int_equal(heard.here, 2);
	assert_int_equal(heard.info.instance, 1);
	assert_int_equal(all.here, 1);
	kymo_register_return(more);
	assert_int_equal(heard.gone, 1);
	assert_int_equal(all.gone, 1);
	assert_int_equal(other.here + other.gone, 0);
	assert_int_equal(kymo_intercept_ignore(a), KYMO_OK);
	assert_int_equal(kymo_intercept_ignore(a), KYMO_ERROR_NOT_FOUND);
	more = take(&second, 2);
	assert_int_equal(all.here, 1);
	kymo_register_return(more);
	assert_int_equal(kymo_intercept_ignore(b), KYMO_OK);
}

static void chained(void **state)
{
	kymo_chain_t cx, cy, cz;

	assert_ptr_equal(function_now(), add);
	cx = chain(x, &x_next);
	assert_ptr_equal(x_next, add);
	assert_ptr_equal(function_now(), x);
	cy = chain(y, &y_next);
	cz = chain(z, &z_next);
	expect("zyxXYZ", 7000);
	/* from under others */
	assert_int_equal(kymo_intercept_unchain(cy), KYMO_OK);
	assert_ptr_equal(z_next, x);
	expect("zxXZ", 700);
	assert_int_equal(kymo_intercept_unchain(cx), KYMO_OK);
	expect("zZ", 70);
	assert_int_equal(kymo_intercept_unchain(cz), KYMO_OK);
	expect("", 7);
	assert_ptr_equal(function_now(), add);
	cx = chain(x, &x_next);
	expect("xX", 70);
	assert_int_equal(kymo_intercept_unchain(cx), KYMO_OK);
}

static void *more_next;
static int more(int n)
{
	return ((int (*)(int))kymo_intercept_next(&more_next))(n) + 5;
}

/* Entries that nobody has described can be chained too; they run uncounted, or by a jump. */
static void undescribed(void **state)
{
	void *f = NULL;
	kymo_chain_t c;
	uint32_t index;

	assert_int_equal(kymo_intercept_find(heard.info.table, "add", &index), KYMO_OK);
	assert_int_equal(index, 0);
	assert_int_equal(kymo_intercept_read(heard.info.table, 2, &f), KYMO_OK);
	assert_ptr_equal(f, plain);
	assert_int_equal(kymo_intercept_chain(heard.info.table, 2, (void *)more, &more_next, &c),
			 KYMO_OK);
	assert_int_equal(table.plain(1), 7);
	assert_int_equal(kymo_intercept_unchain(c), KYMO_OK);
	assert_int_equal(table.plain(1), 2);
}

static void errors(void **state)
{
	const kymo_table_t stale = {heard.info.table.handle}, nothing = {0};
	kymo_chain_t c = {77}, good, gone;
	uint32_t index;
	void *f;

	assert_int_equal(kymo_intercept_chain(stale, 3, (void *)x, &x_next, &c),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_intercept_chain(stale, 1, (void *)x, &x_next, &c),
			 KYMO_ERROR_UNSUPPORTED);
	assert_int_equal(kymo_intercept_chain(stale, 0, NULL, &x_next, &c),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_intercept_chain(stale, 0, (void *)x, NULL, &c),
			 KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(kymo_intercept_chain(nothing, 0, (void *)x, &x_next, &c),
			 KYMO_ERROR_NOT_FOUND);
	assert_int_equal(c.handle, 77);
	assert_int_equal(kymo_intercept_find(stale, "other", &index), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_intercept_listen("sums", NULL, NULL, &listener),
			 KYMO_ERROR_INVALID_ARGUMENT);
	good = chain(x, &x_next);
	assert_int_equal(kymo_intercept_chain(stale, 0, (void *)y, &x_next, &c), KYMO_ERROR_EXISTS);
	assert_int_equal(kymo_intercept_unchain(good), KYMO_OK);
	assert_int_equal(kymo_intercept_unchain(good), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_intercept_unchain((kymo_chain_t){0}), KYMO_ERROR_NOT_FOUND);
	/* the table goes with a wrapper in it */
	gone = chain(y, &y_next);
	expect("yY", 70);
	kymo_register_return(token);
	token = NULL;
	assert_int_equal(heard.gone, 1);
	assert_ptr_equal(table.add, add);
	expect("", 7);
	assert_int_equal(kymo_intercept_unchain(gone), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_intercept_read(stale, 0, &f), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_intercept_find(stale, "add", &index), KYMO_ERROR_NOT_FOUND);
}

/* ---- beside tracing ---- */

static struct {
	int enters, exits, a, result;
	uint64_t parent, outer;
} seen;

static void callback(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	const kymo_table_args_t *args = r->args;

	if (r->phase == KYMO_PHASE_ENTER) {
		seen.outer = seen.enters ? seen.outer : r->correlation;
		seen.parent = r->parent;
		seen.enters++;
	} else if (r->phase == KYMO_PHASE_EXIT) {
		seen.exits++;
		seen.a = (int)args->value[0];
		seen.result = (int)args->value[2];
	}
}

/* Calls the runtime as the program does; once, or it would not end. */
static void *again_next;
static int again(int a, int b)
{
	int more = a < 100 ? table.add(a + 100, b) : 0;

	return AS_ADD(again_next)(a, b) + more;
}

static void traced(void **state)
{
	kymo_context_t context;
	kymo_chain_t c, cx;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(kymo_context_create(&context), KYMO_OK);
	assert_int_equal(kymo_callback_service(context, NULL, callback, NULL), KYMO_OK);
	cx = chain(x, &x_next);
	expect("xX", 70);
	assert_int_equal(seen.enters, 0);
	assert_int_equal(kymo_context_start(context), KYMO_OK);
	expect("xX", 70);
	assert_int_equal(seen.enters, 1);
	assert_int_equal(seen.exits, 1);
	assert_int_equal(seen.result, 70); /* what the program got */
	assert_int_equal(kymo_intercept_unchain(cx), KYMO_OK);
	memset(&seen, 0, sizeof(seen));
	c = chain(again, &again_next);
	assert_int_equal(table.add(1, 2), 3 + 103);
	assert_int_equal(seen.enters, 2);
	assert_int_equal(seen.exits, 2);
	assert_true(seen.parent != 0 && seen.parent == seen.outer);
	assert_int_equal(kymo_context_stop(context), KYMO_OK);
	assert_int_equal(table.add(1, 2), 3 + 103);
	assert_int_equal(seen.enters, 2);
	assert_int_equal(kymo_intercept_unchain(c), KYMO_OK);
	assert_int_equal(kymo_context_destroy(context), KYMO_OK);
}

/* ---- threads ---- */

static _Atomic bool stop;
static _Atomic int wrong;

static void *quiet_next;
static int quiet(int a, int b)
{
	return AS_ADD(quiet_next)(a, b) + 1000;
}

static void *calls(void *data)
{
	while (!atomic_load(&stop)) {
		int sum = table.add(1, 1);

		if (sum != 2 && sum != 1002 && sum != 20 && sum != 10020 && sum != 1020)
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void *tens_next;
static int tens(int a, int b)
{
	return AS_ADD(tens_next)(a, b) * 10;
}

static void *chains(void *data)
{
	for (int i = 0; i < 2000; i++) {
		kymo_chain_t c;

		if (kymo_intercept_chain(heard.info.table, 0, (void *)tens, &tens_next, &c) !=
			    KYMO_OK ||
		    kymo_intercept_unchain(c) != KYMO_OK)
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void threads(void **state)
{
	pthread_t caller, chainer;

	atomic_store(&stop, false);
	atomic_store(&wrong, 0);
	pthread_create(&caller, NULL, calls, NULL);
	pthread_create(&chainer, NULL, chains, NULL);
	for (int i = 0; i < 2000; i++) {
		kymo_chain_t c = chain(quiet, &quiet_next);

		assert_int_equal(kymo_intercept_unchain(c), KYMO_OK);
	}
	pthread_join(chainer, NULL);
	atomic_store(&stop, true);
	pthread_join(caller, NULL);
	assert_int_equal(wrong, 0);
	expect("", 7);
}

static void forks(void **state)
{
	kymo_chain_t c = chain(x, &x_next);
	pid_t child = fork();
	int how;

	if (child == 0) {
		int with = table.add(3, 4);

#ifdef __SANITIZE_THREAD__ /* it takes locks that the child has wiped for held */
		_exit(with == 70 ? 0 : 1);
#endif
		kymo_intercept_unchain(c);
		_exit(with == 70 && table.add(3, 4) == 7 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_int_equal(how, 0);
	expect("xX", 70);
	assert_int_equal(kymo_intercept_unchain(c), KYMO_OK);
}

/* ---- ROCm's tables ---- */

static int mark(const char *text)
{
	return (int)strlen(text);
}

static void *mark_next;
static int marked;
static int mark_wrapper(const char *text)
{
	marked++;
	return ((int (*)(const char *))kymo_intercept_next(&mark_next))(text);
}

static void parts(kymo_table_event_t event, const kymo_table_info_t *info, void *data)
{
	kymo_chain_t c;
	uint32_t index;

	++*(int *)data;
	assert_int_equal(info->version, 77);
	assert_int_equal(info->instance, 3);
	if (kymo_intercept_find(info->table, "roctxMarkA", &index) == KYMO_OK)
		assert_int_equal(kymo_intercept_chain(info->table, index, (void *)mark_wrapper,
						      &mark_next, &c),
				 KYMO_OK);
}

static void rocm(void **state)
{
	static struct {
		uint64_t size;
		int (*entries[6])(const char *);
	} core = {sizeof(core), {mark, mark, mark, mark, mark, mark}};
	static struct {
		uint64_t size;
		int (*entries[2])(const char *);
	} control = {sizeof(control), {mark, mark}};
	void *tables[] = {&core, &control};
	kymo_listener_t l;
	int told_parts = 0;

	assert_int_equal(kymo_intercept_listen("roctx", parts, &told_parts, &l), KYMO_OK);
	assert_int_equal(rocprofiler_set_api_table("roctx", 77, 3, tables, 2), 0);
	assert_int_equal(told_parts, 2);
	assert_int_equal(core.entries[0]("four"), 4);
	assert_int_equal(core.entries[1]("four"), 4);
	assert_int_equal(marked, 1);
	assert_int_equal(kymo_intercept_ignore(l), KYMO_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(told),   TEST(chained), TEST(undescribed), TEST(errors),
		TEST(traced), TEST(threads), TEST(forks),       TEST(rocm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
