/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that name nothing, sizes that do not fit, calls at the wrong time: each has an error of
 * its own. */
#include "badtools.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void nobody(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
}

static void deliver(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
}

static uint64_t ask(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	return 0;
}

/* What every function says of a context. */
static void context_is(kymo_context_t c, kymo_status_t status)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = deliver};
	uint64_t value = 0;
	kymo_buffer_t b;
	bool active;

	EQUAL(kymo_context_start(c), status);
	EQUAL(kymo_context_stop(c), status);
	EQUAL(kymo_context_is_active(c, &active), status);
	EQUAL(kymo_context_pause(c, true), status);
	EQUAL(kymo_context_pause_thread(c, true), status);
	EQUAL(kymo_callback_service(c, NULL, nobody, NULL), status);
	EQUAL(kymo_external_request_service(c, NULL, ask, NULL), status);
	EQUAL(kymo_stack_service(c, NULL), status);
	EQUAL(kymo_exclusion_service(c, NULL), status);
	EQUAL(kymo_buffer_create(c, &d, &b), status);
	EQUAL(kymo_buffer_service(c, NULL, (kymo_buffer_t){1}), status);
	EQUAL(kymo_drain(c, 0), status);
	EQUAL(kymo_external_push(c, 1), status);
	EQUAL(kymo_external_pop(c, &value), status);
	EQUAL(kymo_external_push_thread(c, kymo_thread_index(), 1), status);
	EQUAL(kymo_external_pop_thread(c, kymo_thread_index(), &value), status);
	EQUAL(kymo_context_destroy(c), status);
}

static void buffer_is(kymo_context_t c, kymo_buffer_t b, kymo_status_t status)
{
	kymo_buffer_info_t info = {.size = sizeof(info)};
	uint64_t lost;

	EQUAL(kymo_buffer_service(c, NULL, b), status);
	EQUAL(kymo_buffer_flush(b), status);
	EQUAL(kymo_buffer_lost(b, &lost), status);
	EQUAL(kymo_buffer_info(b, &info), status);
}

static void contexts(void)
{
	kymo_context_t c, again;

	context_is((kymo_context_t){0}, KYMO_ERROR_INVALID_ARGUMENT);
	context_is((kymo_context_t){0xdeadbeef}, KYMO_ERROR_NOT_FOUND);
	context_is((kymo_context_t){UINT64_MAX}, KYMO_ERROR_NOT_FOUND);
	context_is((kymo_context_t){(uint64_t)1 << 32}, KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	context_is(c, KYMO_ERROR_NOT_FOUND);         /* also destroyed twice */
	EQUAL(kymo_context_create(&again), KYMO_OK); /* has its place */
	CHECK((uint32_t)again.handle == (uint32_t)c.handle && again.handle != c.handle);
	context_is(c, KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_context_destroy(again), KYMO_OK);
	EQUAL(kymo_context_create(NULL), KYMO_ERROR_INVALID_ARGUMENT);
}

static void buffers(void)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = deliver};
	kymo_context_t c, other;
	kymo_buffer_t b, second;

	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_context_create(&other), KYMO_OK);
	buffer_is(c, (kymo_buffer_t){0}, KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_buffer_create(c, &d, &b), KYMO_OK);
	EQUAL(kymo_buffer_create(other, &d, &second), KYMO_OK);
	EQUAL(kymo_buffer_service(c, NULL, second), KYMO_ERROR_NOT_FOUND); /* another's */
	EQUAL(kymo_buffer_create(c, &d, &second), KYMO_ERROR_EXISTS);
	buffer_is(c, (kymo_buffer_t){b.handle + 256}, KYMO_ERROR_NOT_FOUND);
	buffer_is(c, (kymo_buffer_t){c.handle << 8}, KYMO_ERROR_NOT_FOUND); /* of another kind */
	buffer_is(c, (kymo_buffer_t){UINT64_MAX}, KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_context_start(c), KYMO_OK);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	buffer_is(other, b, KYMO_ERROR_NOT_FOUND); /* gone with its context */
	EQUAL(kymo_context_start(other), KYMO_OK);
	EQUAL(kymo_buffer_create(other, &d, &b), KYMO_ERROR_STATE); /* it is started */
	EQUAL(kymo_context_destroy(other), KYMO_OK);
}

static void pools(void)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = deliver};
	kymo_context_t c;
	kymo_buffer_t b;
	kymo_pool_t p;

	EQUAL(kymo_pool_create(0, &p), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_pool_create(1, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_pool_create(17, &p), KYMO_ERROR_LIMIT);
	EQUAL(kymo_pool_create(2, &p), KYMO_OK);
	d.pool = p;
	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_buffer_create(c, &d, &b), KYMO_OK);
	EQUAL(kymo_pool_destroy(p), KYMO_ERROR_BUSY);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	EQUAL(kymo_pool_destroy(p), KYMO_OK);
	EQUAL(kymo_pool_destroy(p), KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_pool_destroy((kymo_pool_t){0}), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_pool_destroy((kymo_pool_t){UINT64_MAX}), KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_buffer_create(c, &d, &b), KYMO_ERROR_NOT_FOUND); /* its pool is gone */
	EQUAL(kymo_context_destroy(c), KYMO_OK);
}

static const kymo_tool_t *small(uint32_t v, const char *l, uint32_t p)
{
	static const kymo_tool_t tool = {.size = 8, .name = "small"};

	return &tool;
}

static int asked;

static void ask_values(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	const size_t old = offsetof(kymo_value_t, address);
	kymo_value_t v = {.size = old - 1}, older = {.size = old, .address = &older};
	kymo_callback_record_t bare = *r;

	if (strcmp(r->domain->name, "sync") != 0)
		return;
	EQUAL(kymo_callback_value(r, 0, &v), KYMO_ERROR_INCOMPATIBLE);
	v.size = sizeof(v);
	EQUAL(kymo_callback_value(r, 0, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_callback_value(NULL, 0, &v), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_callback_value(r, 1000, &v), KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_callback_value(r, 0, &v), KYMO_OK);
	EQUAL(kymo_value_element(&v, 0, &v), KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_callback_value(r, 0, &older), KYMO_OK);
	CHECK(older.size == old && older.u == v.u && older.address == &older);
	bare.internal = NULL;
	EQUAL(kymo_callback_value(&bare, 0, &v), KYMO_ERROR_INVALID_ARGUMENT);
	asked++;
}

static bool never_asked(const kymo_work_t *work, void *data)
{
	wrong++;
	return false;
}

static void sizes(void)
{
	kymo_selection_t s = {.size = offsetof(kymo_selection_t, filter) - 1};
	kymo_buffer_info_t info = {.size = 1};
	kymo_buffer_desc_t d = {.size = 8, .deliver = deliver};
	kymo_value_t v = {.size = sizeof(v)};
	const kymo_structure_t *st;
	kymo_context_t c;
	kymo_buffer_t b;
	char text[4];

	EQUAL(kymo_force_configure(small), KYMO_ERROR_INCOMPATIBLE);
	EQUAL(kymo_force_configure(small), KYMO_ERROR_INCOMPATIBLE); /* it was not kept */
	EQUAL(kymo_force_configure(NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_tool_detach(NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_tool_detach(small(0, "", 0)), KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_callback_service(c, &s, nobody, NULL), KYMO_ERROR_INCOMPATIBLE);
	EQUAL(kymo_callback_service(c, NULL, NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_external_request_service(c, NULL, NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_stack_service(c, &s), KYMO_ERROR_INCOMPATIBLE);
	EQUAL(kymo_exclusion_service(c, &s), KYMO_ERROR_INCOMPATIBLE);
	EQUAL(kymo_buffer_create(c, &d, &b), KYMO_ERROR_INCOMPATIBLE);
	EQUAL(kymo_buffer_create(c, NULL, &b), KYMO_ERROR_INVALID_ARGUMENT);
	d = (kymo_buffer_desc_t){.size = sizeof(d), .deliver = deliver};
	EQUAL(kymo_buffer_create(c, &d, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_buffer_create(c, &d, &b), KYMO_OK);
	EQUAL(kymo_buffer_info(b, &info), KYMO_ERROR_INCOMPATIBLE);
	info = (kymo_buffer_info_t){.size = offsetof(kymo_buffer_info_t, order_bytes),
				    .order_bytes = 77};
	EQUAL(kymo_buffer_info(b, &info), KYMO_OK);
	CHECK(info.size == offsetof(kymo_buffer_info_t, order_bytes) && info.order_bytes == 77);
	EQUAL(info.policy, KYMO_POLICY_BLOCK);
	EQUAL(kymo_buffer_info(b, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_buffer_lost(b, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_context_is_active(c, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_record_value(NULL, 0, &v), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_value_text(NULL, text, sizeof(text), NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_value_text(&v, text, sizeof(text), NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_structure_find("none", &st), KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_scope_push(NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_scope_pop(), KYMO_ERROR_STATE);
	EQUAL(kymo_external_pop(c, NULL), KYMO_ERROR_STATE);
	EQUAL(kymo_external_push_thread(c, 0, 1), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_external_push_thread(c, 99999, 1), KYMO_ERROR_NOT_FOUND);
	EQUAL(kymo_thread_notify(NULL, NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_thread_start(NULL, NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	c = watch(ask_values, NULL);
	submit();
	EQUAL(asked, 1);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
	s = (kymo_selection_t){.size = offsetof(kymo_selection_t, filter),
			       .domain = "sync",
			       .filter = never_asked}; /* of a tool that does not know filters */
	asked = 0;
	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_callback_service(c, &s, ask_values, NULL), KYMO_OK);
	EQUAL(kymo_context_start(c), KYMO_OK);
	submit();
	EQUAL(asked, 1);
	EQUAL(kymo_context_destroy(c), KYMO_OK);
}

/* ---- inside `select` ---- */

static kymo_context_t target, empty;
static kymo_buffer_t target_buffer;
static int selects;

static bool try_all(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	kymo_buffer_info_t info = {.size = sizeof(info)};
	uint64_t lost;
	kymo_pool_t p;
	bool active;

	selects++;
	EQUAL(kymo_context_create(&target), KYMO_ERROR_STATE);
	EQUAL(kymo_context_destroy(target), KYMO_ERROR_STATE);
	EQUAL(kymo_context_start(target), KYMO_ERROR_STATE);
	EQUAL(kymo_context_stop(target), KYMO_ERROR_STATE);
	EQUAL(kymo_context_is_active(target, &active), KYMO_ERROR_STATE);
	EQUAL(kymo_context_pause(target, true), KYMO_ERROR_STATE);
	EQUAL(kymo_context_pause_thread(target, true), KYMO_ERROR_STATE);
	EQUAL(kymo_callback_service(target, NULL, nobody, NULL), KYMO_ERROR_STATE);
	EQUAL(kymo_drain(target, 0), KYMO_ERROR_STATE);
	EQUAL(kymo_buffer_flush(target_buffer), KYMO_ERROR_STATE);
	EQUAL(kymo_buffer_lost(target_buffer, &lost), KYMO_ERROR_STATE);
	EQUAL(kymo_buffer_info(target_buffer, &info), KYMO_ERROR_STATE);
	EQUAL(kymo_pool_create(1, &p), KYMO_ERROR_STATE);
	EQUAL(kymo_pool_destroy((kymo_pool_t){1}), KYMO_ERROR_STATE);
	EQUAL(kymo_force_configure(small), KYMO_ERROR_STATE);
	EQUAL(kymo_tool_detach(small(0, "", 0)), KYMO_ERROR_STATE);
	return true;
}

static void in_select(void)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = deliver};
	kymo_selection_t s = {.size = sizeof(s), .domain = "bad", .select = try_all};

	EQUAL(kymo_context_create(&target), KYMO_OK);
	EQUAL(kymo_buffer_create(target, &d, &target_buffer), KYMO_OK);
	EQUAL(kymo_callback_service(target, &s, nobody, NULL), KYMO_OK);
	EQUAL(selects, 3);
	EQUAL(kymo_context_start(target), KYMO_OK);
	EQUAL(kymo_context_destroy(target), KYMO_OK);
}

/* ---- inside delivery ---- */

static int deliveries;

static void try_delivery(kymo_buffer_t b, const kymo_record_t *r, void *data)
{
	deliveries++;
	EQUAL(kymo_drain(target, 1000), KYMO_ERROR_BUSY);
	EQUAL(kymo_context_destroy(target), KYMO_ERROR_BUSY);
	EQUAL(kymo_buffer_flush(b), KYMO_OK);
}

static void in_delivery(void)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = try_delivery};
	kymo_selection_t s = {.size = sizeof(s), .domain = "bad"};

	EQUAL(kymo_context_create(&target), KYMO_OK);
	EQUAL(kymo_buffer_create(target, &d, &target_buffer), KYMO_OK);
	EQUAL(kymo_buffer_service(target, &s, target_buffer), KYMO_OK);
	EQUAL(kymo_context_start(target), KYMO_OK);
	call();
	EQUAL(kymo_drain(target, UINT64_MAX), KYMO_OK); /* for ever is not at once */
	EQUAL(deliveries, 1);
	EQUAL(kymo_context_destroy(target), KYMO_OK);
}

/* ---- after the end ---- */

static bool look_after;
static kymo_buffer_t kept;

/* Later than Kymo's own, which has no priority. */
__attribute__((destructor(150))) static void after_the_end(void)
{
	kymo_buffer_info_t info = {.size = sizeof(info)};
	const kymo_domain_desc_t *found;
	kymo_pool_t p;

	if (!look_after)
		return;
	EQUAL(kymo_process_state(), KYMO_STATE_FINALIZED);
	EQUAL(kymo_context_create(&empty), KYMO_ERROR_FINALIZED);
	context_is(target, KYMO_ERROR_FINALIZED);
	EQUAL(kymo_force_configure(small), KYMO_ERROR_FINALIZED);
	EQUAL(kymo_tool_detach(small(0, "", 0)), KYMO_ERROR_FINALIZED);
	EQUAL(kymo_pool_create(1, &p), KYMO_ERROR_FINALIZED);
	EQUAL(kymo_pool_destroy((kymo_pool_t){1}), KYMO_ERROR_FINALIZED);
	EQUAL(kymo_thread_notify(NULL, NULL, NULL), KYMO_ERROR_INVALID_ARGUMENT);
	EQUAL(kymo_domain_find("bad", &found), KYMO_OK); /* what only looks still does */
	EQUAL(kymo_buffer_info(kept, &info), KYMO_OK);
	CHECK(info.delivered > 0 && info.lost == 0);
	CHECK(kymo_time() != 0);
	CHECK(strstr(kymo_status_text(KYMO_ERROR_FINALIZED), "ERROR_FINALIZED"));
	call();
	_exit(wrong ? 1 : 6);
}

static void after(void)
{
	const kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = deliver};
	kymo_context_t c;

	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_buffer_create(c, &d, &kept), KYMO_OK);
	EQUAL(kymo_buffer_service(c, NULL, kept), KYMO_OK);
	EQUAL(kymo_context_start(c), KYMO_OK);
	call();
	target = watch(nobody, NULL);
	look_after = true;
	exit(wrong ? 1 : 0);
}

/* ---- many tools ---- */

/* clang-format off */
#define TEN(F, n)     F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define HUNDRED(F, n)                                                                              \
	TEN(F, n##0) TEN(F, n##1) TEN(F, n##2) TEN(F, n##3) TEN(F, n##4)                           \
	TEN(F, n##5) TEN(F, n##6) TEN(F, n##7) TEN(F, n##8) TEN(F, n##9)
#define MANY(F) HUNDRED(F, 1) HUNDRED(F, 2) HUNDRED(F, 3)
/* clang-format on */

static int next_end = 399;

static void ends(void *data)
{
	EQUAL((intptr_t)data, next_end); /* the last first */
	next_end--;
}

#define CONFIGURE(n)                                                                               \
	static const kymo_tool_t *configure_##n(uint32_t v, const char *l, uint32_t p)             \
	{                                                                                          \
		static const kymo_tool_t tool = {.size = sizeof(tool),                             \
						 .name = "many",                                   \
						 .finalize = ends,                                 \
						 .data = (void *)n};                               \
		return &tool;                                                                      \
	}
MANY(CONFIGURE)

static bool look_many;

__attribute__((destructor(150))) static void after_many(void)
{
	if (look_many)
		_exit(wrong || next_end != 99 ? 1 : 6);
}

static void many(void)
{
#define NAME(n) configure_##n,
	static const kymo_configure_fn list[] = {MANY(NAME)};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		EQUAL(kymo_force_configure(list[i]), KYMO_OK);
	look_many = true;
	exit(wrong ? 1 : 0);
}

const struct bad_case handle_cases[] = {
	{"contexts", contexts, 0, false},
	{"buffers", buffers, 0, false},
	{"pools", pools, 0, false},
	{"sizes", sizes, 0, false},
	{"inside select", in_select, 0, false},
	{"inside delivery", in_delivery, 0, false},
	{"after the end", after, 6, false},
	{"many tools", many, 6, false},
	{0},
};
