/* SPDX-License-Identifier: Apache-2.0 */
/* What there is, is told once to each context: when it comes, or when the context starts. */
#include "tool_support.h"

static struct t_seen seen[2];
static uint32_t delivered;

static void deliver(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	delivered++;
}

static void define_kernel(uint64_t id, const char *name)
{
	struct wire_def d;

	wire_def_init(&d, DEF_KERNEL);
	for (unsigned i = 0; i <= DEF_KERNEL_HANDLE || i <= DEF_KERNEL_NAME ||
			     i <= DEF_KERNEL_PROGRAM || i <= DEF_KERNEL_DOMAIN;
	     i++) {
		if (i == DEF_KERNEL_NAME)
			wire_def_string(&d, name);
		else if (i == DEF_KERNEL_DOMAIN)
			wire_def_string(&d, "t");
		else
			wire_def_u64(&d, i == DEF_KERNEL_ID ? id : 0);
	}
	cap_define(&d);
}

static void test_told_once(void **state)
{
	kymo_context_t early = t_context("kernel_symbol", &seen[0]),
		       late = t_context("kernel_symbol", &seen[1]);

	assert_int_equal(kymo_context_start(early), KYMO_OK);
	kymo_thread_index();
	define_kernel(1, "one");
	define_kernel(2, "two");
	define_kernel(3, "three");
	assert_int_equal(seen[0].count, 3);
	cap_define_end(DEF_KERNEL, 2);
	assert_int_equal(seen[0].count, 4);
	assert_int_equal(seen[0].list[3].op, SYMBOL_OP_UNLOAD);
	assert_int_equal(seen[0].list[3].value, 2);
	assert_int_equal(kymo_context_start(late), KYMO_OK);
	assert_int_equal(seen[1].count, 2); /* two is gone */
	assert_int_equal(seen[1].list[0].value, 1);
	assert_int_equal(seen[1].list[1].value, 3);
	define_kernel(4, "four");
	assert_int_equal(seen[1].count, 3);
	assert_int_equal(kymo_context_start(late), KYMO_OK); /* started already: nothing again */
	assert_int_equal(seen[1].count, 3);
	assert_int_equal(kymo_context_destroy(early), KYMO_OK);
	assert_int_equal(kymo_context_destroy(late), KYMO_OK);
}

/* Appends "name=value " of all fields. */
static void keep_text(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	char *text = data;

	for (uint32_t i = 0; i < op->field_count; i++) {
		kymo_value_t v = {.size = sizeof(v)};
		char value[200];
		size_t length;

		assert_int_equal(kymo_callback_value(r, i, &v), KYMO_OK);
		assert_int_equal(kymo_value_text(&v, value, sizeof(value), &length), KYMO_OK);
		sprintf(text + strlen(text), "%s=%s ", op->fields[i].name, value);
	}
}

/* What is told of an object when it comes: its parts as `types` has them ('u' or 's') are 100, 101, ... or "s100", ... */
static void tells(const char *domain, uint16_t kind, const char *types, const char *wanted)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = domain};
	char told[2000] = "", words[16][8]; /* borrowed by d */
	struct wire_def d;
	kymo_context_t c;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, keep_text, told), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	*told = '\0'; /* others were told before */
	wire_def_init(&d, kind);
	for (unsigned i = 0; types[i]; i++) {
		snprintf(words[i], sizeof(words[i]), "s%u", 100 + i);
		if (types[i] == 's')
			wire_def_string(&d, words[i]);
		else
			wire_def_u64(&d, 100 + i);
	}
	cap_define(&d);
	assert_string_equal(told, wanted);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static void test_values(void **state)
{
	tells("code_object", DEF_PROGRAM, "usuusuus",
	      "program=100 domain=\"s101\" kind=\"s104\" context=103 handle=0x66 replayed=false ");
	tells("kernel_symbol", DEF_KERNEL, "ussuuussss",
	      "kernel=100 domain=\"s101\" name=\"s102\" program=103 handle=0x68 replayed=false ");
	tells("stream", DEF_QUEUE, "usuuuuuus",
	      "queue=100 domain=\"s101\" agent=103 context=104 handle=0x66 replayed=false ");
}

/* A context with a buffer is not told again because another one starts. */
static void test_buffer(void **state)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .bytes = 1 << 20, .deliver = deliver};
	kymo_selection_t s = {.size = sizeof(s), .domain = "kernel_symbol"};
	kymo_context_t c, other = t_context("kernel_symbol", &seen[0]);
	kymo_buffer_t b;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, &b), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &s, b), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(kymo_context_start(other), KYMO_OK);
	define_kernel(5, "five");
	assert_int_equal(seen[0].count, 4);
	assert_int_equal(kymo_drain(c, UINT64_C(60000000000)), KYMO_OK);
	assert_int_equal(delivered, 4);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	assert_int_equal(kymo_context_destroy(other), KYMO_OK);
}

/* ---- a context that starts while others work ---- */

#define KERNELS 4

static struct {
	_Atomic uint32_t kernels, calls,
		early; /* calls told before the last kernel that was there */
} order;

static void *call_and_define(void *arg)
{
	define_kernel(200 + (uint32_t)(uintptr_t)arg, "meanwhile");
	t_call(T_CALL, 1, NULL, NULL);
	return NULL;
}

/* While it is told of what is there another thread defines more, and uses it. */
static void in_order(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	uint32_t n;
	pthread_t t;

	if (strcmp(r->domain->name, "t") == 0) {
		atomic_fetch_add(&order.calls, 1);
		atomic_fetch_add(&order.early, atomic_load(&order.kernels) < KERNELS);
	}
	if (strcmp(r->domain->name, "kernel_symbol") != 0)
		return;
	n = atomic_fetch_add(&order.kernels, 1);
	if (n >= KERNELS)
		return;
	assert_int_equal(pthread_create(&t, NULL, call_and_define, (void *)(uintptr_t)n), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
}

static void test_replayed_first(void **state)
{
	kymo_selection_t s = {.size = sizeof(s)};
	uint32_t told;
	kymo_context_t c;

	for (uint32_t i = 0; i < KERNELS; i++)
		define_kernel(100 + i, "before");
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, in_order, NULL), KYMO_OK);
	memset(&order, 0, sizeof(order));
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(order.early, 0);
	told = order.kernels;
	assert_true(told >= 2 * KERNELS); /* those that came meanwhile, too */
	order.calls = 0;
	t_call(T_CALL, 1, NULL, NULL);
	assert_int_equal(order.calls, 2);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);

	/* The same of a service that is added to a context that has started. */
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	memset(&order, 0, sizeof(order));
	assert_int_equal(kymo_callback_service(c, &s, in_order, NULL), KYMO_OK);
	assert_int_equal(order.early, 0);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static void *live(void *arg)
{
	kymo_thread_index();
	return NULL;
}

static void test_threads(void **state)
{
	kymo_context_t c = t_context("thread", &seen[0]);
	pthread_t t;

	kymo_thread_index();
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_true(seen[0].count >= 1); /* this one, at least */
	seen[0].count = 0;
	assert_int_equal(pthread_create(&t, NULL, live, NULL), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(seen[0].count, 2);
	assert_int_equal(seen[0].list[0].op, THREAD_OP_START);
	assert_int_equal(seen[0].list[1].op, THREAD_OP_END);
	assert_int_equal(seen[0].list[0].value, seen[0].list[1].value);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static pthread_key_t last_key;
static uint32_t index_before, index_after;

static void calls_late(void *arg)
{
	index_after = kymo_thread_index();
	t_call(T_CALL, 1, NULL, NULL);
}

static void *ends_late(void *arg)
{
	index_before = kymo_thread_index();
	pthread_setspecific(last_key, &last_key);
	return NULL;
}

/* What comes when its thread has ended for Kymo, as the program's destructor is called later, is a new thread's. */
static void test_late_thread(void **state)
{
	kymo_context_t c = t_context("t", &seen[0]);
	pthread_t t;

	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(pthread_key_create(&last_key, calls_late), 0);
	assert_int_equal(pthread_create(&t, NULL, ends_late, NULL), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_true(index_after > index_before);
	assert_int_equal(seen[0].count, 2);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
	pthread_key_delete(last_key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_once), cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_threads),   cmocka_unit_test(test_replayed_first),
		cmocka_unit_test(test_values),    cmocka_unit_test(test_late_thread),
	};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
