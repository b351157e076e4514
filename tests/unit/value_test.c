/* SPDX-License-Identifier: Apache-2.0 */
/* Reflection: values of arguments in callbacks, their text, elements, and the layout of structures.
 */
#include "tool_support.h"

static int looked;

static void check_text(const kymo_value_t *v, const char *wanted)
{
	char text[64], cut[4];
	size_t length;

	assert_int_equal(kymo_value_text(v, text, sizeof(text), &length), KYMO_OK);
	assert_string_equal(text, wanted);
	assert_int_equal(length, strlen(wanted));
	assert_int_equal(kymo_value_text(v, cut, sizeof(cut), &length), KYMO_OK);
	assert_int_equal(length, strlen(wanted));
	assert_int_equal(strlen(cut), strlen(wanted) < 3 ? strlen(wanted) : 3);
	assert_int_equal(kymo_value_text(v, NULL, 0, &length), KYMO_OK);
}

static void look(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	kymo_value_t v = {.size = sizeof(v)}, e = {.size = sizeof(e)};

	looked++;
	assert_int_equal(kymo_callback_value(r, 0, &v), KYMO_OK);
	assert_int_equal(v.u, 1234);
	assert_string_equal(v.field->name, "number");
	assert_memory_equal(v.address, &v.u, 8);
	check_text(&v, "1234");
	assert_int_equal(kymo_callback_value(r, 1, &v), KYMO_OK);
	check_text(&v, "\"text\"");
	assert_int_equal(kymo_value_element(&v, 1, &e), KYMO_OK);
	assert_int_equal(e.u, 'e');
	assert_int_equal(kymo_value_element(&v, 4, &e), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(kymo_callback_value(r, 2, &v), KYMO_OK);
	if (r->phase == KYMO_PHASE_ENTER) {
		assert_false(v.present); /* the call has not written it */
		check_text(&v, "NULL");
	} else {
		assert_true(v.present);
		check_text(&v, "42");
	}
	assert_int_equal(kymo_callback_value(r, 3, &v), KYMO_ERROR_NOT_FOUND);
}

static void test_callback(void **state)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = "t"};
	kymo_context_t c;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, look, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	t_call(T_CALL, 1234, NULL, NULL);
	assert_int_equal(looked, 2);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

/* A traced call in the destructor of thread-specific data, after Kymo's own was run. */
static pthread_key_t last_key;
static int rounds;

static void last(void *data)
{
	if (++rounds < 3) {
		pthread_setspecific(last_key, data);
		return;
	}
	t_call(T_CALL, 1234, NULL, NULL);
}

static void *ends(void *arg)
{
	pthread_setspecific(last_key, arg);
	t_call(T_CALL, 1234, NULL, NULL);
	return NULL;
}

static void test_thread_end(void **state)
{
	kymo_selection_t s = {.size = sizeof(s), .domain = "t"};
	kymo_context_t c;
	pthread_t t;

#ifdef __SANITIZE_THREAD__
	skip(); /* its own state of the thread is gone by then */
#endif
	looked = 0;
	pthread_key_create(&last_key, last);
	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_callback_service(c, &s, look, NULL), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(pthread_create(&t, NULL, ends, &rounds), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(looked, 4);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static kymo_value_t value_of(const kymo_field_t *f, uint64_t u)
{
	return (kymo_value_t){
		.size = sizeof(kymo_value_t), .field = f, .present = true, .u = u, .kind = f->kind};
}

static void test_text(void **state)
{
	static const kymo_enum_value_t values[] = {
		{"ONE", 1}, {"TWO", 2}, {"FOUR", 4}, {"LESS", -1}};
	static const kymo_enum_set_t set = {"set", values, 4};
	static const kymo_field_t choice = {"c", "set", &set, KYMO_KIND_ENUM, 0, 4, 0};
	static const kymo_field_t flags = {"f", "set", &set, KYMO_KIND_FLAGS, 0, 8, 0};
	static const kymo_field_t pointer = {"p", "void *", NULL, KYMO_KIND_POINTER, 0, 8, 0};
	static const kymo_field_t number = {"n", "int", NULL, KYMO_KIND_SIGNED, 0, 4, 0};
	static const kymo_field_t yes = {"b", "bool", NULL, KYMO_KIND_BOOL, 0, 1, 0};
	const struct {
		const kymo_field_t *field;
		uint64_t u;
		const char *text;
	} all[] = {
		{&choice, 2, "TWO"},
		{&choice, 9, "9"},
		{&choice, (uint64_t)-1, "LESS"},
		{&choice, 0xffffffffu, "LESS"},
		{&flags, 5, "ONE|FOUR"},
		{&flags, 9, "ONE|0x8"},
		{&flags, 0, "0x0"},
		{&pointer, 0, "NULL"},
		{&pointer, 0x5581, "0x5581"},
		{&number, (uint64_t)-7, "-7"},
		{&yes, 1, "true"},
		{&yes, 0, "false"},
	};
	const char *name;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		kymo_value_t v = value_of(all[i].field, all[i].u);

		check_text(&v, all[i].text);
	}
	assert_int_equal(kymo_enum_name(&set, 4, &name), KYMO_OK);
	assert_string_equal(name, "FOUR");
	assert_int_equal(kymo_enum_name(&set, 3, &name), KYMO_ERROR_NOT_FOUND);
}

static void test_lists(void **state)
{
	static const kymo_field_t ints = {"a", "int[]", NULL, KYMO_KIND_ARRAY, KYMO_KIND_SIGNED,
					  4,   0};
	static const kymo_field_t bytes = {"d", "void *", NULL, KYMO_KIND_BYTES, 0, 1, 0};
	static const int numbers[] = {1, -2, 3};
	kymo_value_t v = value_of(&ints, 0);

	v.data = numbers;
	v.count = 3;
	v.total = 5;
	v.width = 4;
	check_text(&v, "[1, -2, 3, ...]");
	v = value_of(&bytes, 0);
	v.data = "\x01\xff";
	v.count = v.total = 2;
	v.width = 1;
	check_text(&v, "01ff");
}

static void test_names(void **state)
{
	char version[32];
	const kymo_domain_desc_t *d;
	const kymo_structure_t *s;
	uint32_t op;

	assert_int_equal(kymo_domain_find("t", &d), KYMO_OK);
	assert_int_equal(kymo_op_find(d, "submit", &op), KYMO_OK);
	assert_int_equal(op, T_SUBMIT);
	assert_int_equal(kymo_op_find(d, "none", &op), KYMO_ERROR_NOT_FOUND);
	for (uint32_t i = 0; i < d->ops[0].field_count; i++) {
		assert_int_equal(kymo_field_find(&d->ops[0], d->ops[0].fields[i].name, &op),
				 KYMO_OK);
		assert_int_equal(op, i);
	}
	assert_true(d->ops[0].field_count > 1);
	assert_int_equal(kymo_field_find(&d->ops[0], "none", &op), KYMO_ERROR_NOT_FOUND);
	snprintf(version, sizeof(version), "%d.%d.%d", KYMO_VERSION_MAJOR, KYMO_VERSION_MINOR,
		 KYMO_VERSION_PATCH);
	assert_string_equal(kymo_version(), version);
	assert_int_equal(kymo_structure_find("kymo_record_t", &s), KYMO_OK);
	assert_int_equal(s->bytes, sizeof(kymo_record_t));
	for (uint32_t i = 0; i < s->member_count; i++)
		if (strcmp(s->members[i].name, "scope") == 0)
			assert_int_equal(s->members[i].offset, offsetof(kymo_record_t, scope));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callback), cmocka_unit_test(test_thread_end),
		cmocka_unit_test(test_text),     cmocka_unit_test(test_lists),
		cmocka_unit_test(test_names),
	};

	t_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
