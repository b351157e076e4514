/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What core does when an allocation fails, or when something happens while it allocates: the
 * program's linker has put the functions below in place of malloc(), calloc() and free()
 * (no_memory.cmake).
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/perf_event.h"
#include "core/annotation/map.h"
#include "core/annotation/string.h"
#include "core/ring/ring.h"
#include "core/tally/job.h"
#include "core/tally/tally.h"
#include "wire/job_tally.h"

#include "tool_support.h"

#define GUARD 65536u /* bytes behind memory whose end is watched */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void __real_free(void *p);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void __wrap_free(void *p);

static _Thread_local bool failing;
/* Runs once, in the thread's next allocation, which has a guard behind it. */
static _Thread_local void (*meanwhile)(void);
static struct {
	uint8_t *memory, *end;
	bool intact; /* when it was freed */
} guarded_memory;

static void *guarded(size_t bytes)
{
	void (*fn)(void) = meanwhile;
	uint8_t *p = __real_malloc(bytes + GUARD);

	meanwhile = NULL;
	assert_non_null(p);
	memset(p, 0, bytes);
	memset(p + bytes, 0xa5, GUARD);
	guarded_memory.memory = p;
	guarded_memory.end = p + bytes;
	guarded_memory.intact = false;
	fn();
	return p;
}

void __wrap_free(void *p)
{
	if (p && p == guarded_memory.memory) {
		bool intact = true;

		for (size_t i = 0; i < GUARD; i++)
			intact &= guarded_memory.end[i] == 0xa5;
		guarded_memory.intact = intact;
		guarded_memory.memory = NULL;
	}
	__real_free(p);
}

void *__wrap_malloc(size_t bytes)
{
	if (meanwhile)
		return guarded(bytes);
	return failing ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	if (meanwhile)
		return guarded(count * bytes);
	return failing ? NULL : __real_calloc(count, bytes);
}

/* ---- annotations ---------------------------------------------------------------------------- */

static void test_annotations_are_not_used_up(void **state)
{
	struct annotation_key key = {{77, 1}};
	uint64_t value = 0;

	failing = true;
	for (uint32_t i = 0; i < ANNOTATION_OPEN_MAX; i++)
		assert_false(annotation_open(&key, 5));
	failing = false;
	assert_true(annotation_open(&key, 6));
	assert_true(annotation_close(&key, &value));
	assert_int_equal(value, 6);
}

static void test_categories_are_not_used_up(void **state)
{
	static struct annotation_categories categories;
	kymo_string_t *name;

	assert_non_null(annotation_string("name"));
	failing = true;
	for (uint32_t i = 1; i <= 65536; i++)
		annotation_category_name(&categories, i, "name");
	failing = false;
	annotation_category_name(&categories, 7, "name");
	name = annotation_category(&categories, 7);
	assert_non_null(name);
	assert_string_equal(name->text, "name");
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static unsigned descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1 << 16; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_descriptor_that_is_no_event(void **state)
{
	unsigned before = descriptors();
	struct perf_fd p = perf_keep(open("/dev/null", O_RDONLY | O_CLOEXEC));

	assert_int_equal(p.fd, -1);
	assert_int_equal(descriptors(), before);
}

/* ---- tallies -------------------------------------------------------------------------------- */

#define THREADS 320u /* that begin while the list of threads is made */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t there;
	bool over;
} crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static pthread_t threads[THREADS];

static void *one_of_crowd(void *unused)
{
	assert_non_null(cap_thread_attach());
	pthread_mutex_lock(&crowd.lock);
	crowd.there++;
	pthread_cond_broadcast(&crowd.changed);
	while (!crowd.over)
		pthread_cond_wait(&crowd.changed, &crowd.lock);
	pthread_mutex_unlock(&crowd.lock);
	return NULL;
}

static void crowd_comes(void)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], &small, one_of_crowd, NULL), 0);
	pthread_attr_destroy(&small);
	pthread_mutex_lock(&crowd.lock);
	while (crowd.there < THREADS)
		pthread_cond_wait(&crowd.changed, &crowd.lock);
	pthread_mutex_unlock(&crowd.lock);
}

static void crowd_goes(void)
{
	pthread_mutex_lock(&crowd.lock);
	crowd.over = true;
	pthread_cond_broadcast(&crowd.changed);
	pthread_mutex_unlock(&crowd.lock);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	crowd.over = false;
	crowd.there = 0;
}

static kymo_status_t share(int memfd, uint64_t bytes, void *data)
{
	return KYMO_OK;
}

/* A context whose buffer counts and is shared with nobody who empties it. */
static kymo_context_t tallying(uint64_t bytes)
{
	kymo_buffer_desc_t d = {.size = sizeof(d),
				.bytes = bytes,
				.policy = KYMO_POLICY_DROP,
				.arguments = KYMO_ARGUMENTS_NONE,
				.tally = true,
				.share = share};
	kymo_selection_t s = {.size = sizeof(s), .domain = "t"};
	kymo_buffer_t buffer;
	kymo_context_t c;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &s, buffer), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	t_call(T_CALL, 1, NULL, NULL);
	assert_true(cap_tallies());
	return c;
}

static void test_threads_begin_while_they_are_listed(void **state)
{
	kymo_context_t c = tallying(4u << 20);
	struct job_tally out;

	meanwhile = crowd_comes;
	cap_tally_take(&out, 0, 1, 0, 0);
	assert_true(guarded_memory.intact);
	assert_int_equal(crowd.there, THREADS);
	assert_int_equal(out.total[JOB_TALLY_RANKS], 1);
	assert_false(out.failed);
	job_tally_release(&out);
	crowd_goes();
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static const struct job_tally_row *note_of(const struct job_tally *t, const char *part)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->rows[i]->kind == JOB_TALLY_NOTE &&
		    strcmp(t->rows[i]->name[JOB_TALLY_DOMAIN], part) == 0)
			return t->rows[i];
	fail_msg("no note of \"%s\"", part);
	return NULL;
}

/* Behind a text whose length is a multiple of four the next value begins at once. */
static void test_notes_end_where_they_end(void **state)
{
	kymo_context_t c = tallying(4u << 20);
	struct job_tally out;

	cap_note(2, "test", "%s", "length is 12");
	cap_tally_take(&out, 0, 1, 0, 0);
	assert_string_equal(note_of(&out, "test")->name[JOB_TALLY_A], "length is 12");
	job_tally_release(&out);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static const struct core_buffer *own_buffer(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++)
		if (core_buffers[i].used && core_buffers[i].ready && core_buffers[i].desc.tally)
			return &core_buffers[i];
	fail_msg("no buffer");
	return NULL;
}

/* Other ranks give their files up when this one says that it has their numbers. */
static void test_table_that_gets_lost(void **state)
{
	kymo_context_t c = tallying(1u << 20);
	static uint8_t blob[16 << 10];
	struct shm_header *shm;
	struct job_tally out;

	cap_tally_take(&out, 0, 1, 0, 0);
	assert_true(cap_tally_write(&out));
	shm = own_buffer()->pool->shm;
	atomic_store(&shm->drain_failed, 1);
	assert_false(cap_tally_write(&out));
	atomic_store(&shm->drain_failed, 0);
	assert_true(cap_tally_write(&out));
	for (uint32_t i = 0; i < 256; i++) {
		memcpy(blob, &i, sizeof(i));
		cap_define_blob("test", blob, sizeof(blob));
	}
	assert_false(cap_tally_write(&out));
	job_tally_release(&out);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

/* ---- work ----------------------------------------------------------------------------------- */

static uint32_t delivered;

static void deliver(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	assert_int_equal(r->external, 77);
	delivered++;
}

/* Not recorded under another external id, nor without it. */
static void test_external_id_has_no_room(void **state)
{
	kymo_buffer_desc_t d = {.size = sizeof(d), .deliver = deliver};
	kymo_selection_t s = {.size = sizeof(s), .domain = "sync"};
	kymo_buffer_info_t info = {.size = sizeof(info)};
	struct cap_submission o;
	kymo_buffer_t buffer;
	kymo_context_t c;
	bool wanted;

	assert_int_equal(kymo_context_create(&c), KYMO_OK);
	assert_int_equal(kymo_buffer_create(c, &d, &buffer), KYMO_OK);
	assert_int_equal(kymo_buffer_service(c, &s, buffer), KYMO_OK);
	assert_int_equal(kymo_context_start(c), KYMO_OK);
	assert_int_equal(kymo_external_push(c, 77), KYMO_OK);
	t_submit(&o, 1, &wanted);
	assert_true(wanted);
	t_complete(&o);
	failing = true;
	t_submit(&o, 1, &wanted);
	failing = false;
	assert_false(wanted);
	assert_int_equal(kymo_drain(c, UINT64_C(60000000000)), KYMO_OK);
	assert_int_equal(delivered, 1);
	assert_int_equal(kymo_buffer_info(buffer, &info), KYMO_OK);
	assert_int_equal(info.lost, 1);
	assert_int_equal(kymo_context_destroy(c), KYMO_OK);
}

static int register_once(void **state)
{
	t_register();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_annotations_are_not_used_up),
		cmocka_unit_test(test_categories_are_not_used_up),
		cmocka_unit_test(test_descriptor_that_is_no_event),
		cmocka_unit_test(test_external_id_has_no_room),
		cmocka_unit_test(test_threads_begin_while_they_are_listed),
		cmocka_unit_test(test_notes_end_where_they_end),
		cmocka_unit_test(test_table_that_gets_lost),
	};

	return cmocka_run_group_tests(tests, register_once, NULL);
}
