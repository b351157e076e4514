/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program annotated with ITT: every kind of annotation, and what must not be done. Compiled with
 * ITT's own header and static part, or with -DFAKE with a fake for them.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FAKE
#include "fake.h"
#else
#include <ittnotify.h>
#endif

static __itt_domain *domain;

static void tasks(void)
{
	__itt_id id = __itt_id_make(domain, 1), other = __itt_id_make(domain, 2);
	__itt_string_handle *key = __itt_string_handle_create("rows");
	__itt_string_handle *again = __itt_string_handle_create("rows");
	__itt_domain *same = __itt_domain_create("library");
	unsigned long long rows = 77;
	float part[2] = {0.5f, 0.25f};

	assert(key == again && domain == same);
	__itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("outer"));
	__itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("inner"));
	__itt_metadata_add(domain, __itt_null, key, __itt_metadata_u64, 1, &rows);
	__itt_metadata_add(domain, __itt_null, __itt_string_handle_create("part"),
			   __itt_metadata_float, 2, part);
	__itt_metadata_str_add(domain, __itt_null, __itt_string_handle_create("text"), "value", 0);
	__itt_task_end(domain);
	__itt_marker(domain, __itt_null, __itt_string_handle_create("here"),
		     __itt_marker_scope_process);
	__itt_task_end(domain);
	__itt_task_begin_overlapped(domain, id, __itt_null, __itt_string_handle_create("first"));
	__itt_task_begin_overlapped(domain, other, __itt_null,
				    __itt_string_handle_create("second"));
	__itt_task_end_overlapped(domain, id);
	__itt_task_end_overlapped(domain, other);
	__itt_region_begin(domain, id, __itt_null, __itt_string_handle_create("region"));
	__itt_region_end(domain, id);
	__itt_frame_begin_v3(domain, &id);
	__itt_frame_end_v3(domain, &id);
	__itt_relation_add(domain, id, __itt_relation_is_child_of, other);
}

static void counters(void)
{
	__itt_counter c = __itt_counter_create("queue length", "library");
	__itt_counter t = __itt_counter_create_typed("heat", "library", __itt_metadata_double);
	double heat = 36.5;

	assert(c && t);
	__itt_counter_inc_delta(c, 5);
	__itt_counter_dec(c);
	__itt_counter_set_value(t, &heat);
}

/* What is told of later. */
static void deferred(void)
{
	unsigned long long begin = __itt_get_timestamp(), end;
	__itt_domain *frames = __itt_domain_create("frames"), *wrong = __itt_domain_create("wrong");
	__itt_counter c = __itt_counter_create_typed("late", "library", __itt_metadata_u64);
	unsigned long long value = 9;

	for (end = begin; end < begin + 2000000;)
		end = __itt_get_timestamp();
	__itt_frame_submit_v3(frames, NULL, begin, begin + 1000000);
	__itt_frame_submit_v3(frames, NULL, begin, __itt_timestamp_none);
	__itt_frame_submit_v3(wrong, NULL, end, begin);
	__itt_frame_submit_v3(wrong, NULL, begin, end + (1ull << 50));
	__itt_counter_set_value_ex(c, NULL, begin, &value);
}

static void memory(void)
{
	__itt_heap_function h = __itt_heap_function_create("my_alloc", "library");
	void *p = malloc(4096);

	__itt_heap_allocate_begin(h, 4096, 0);
	__itt_heap_allocate_end(h, &p, 4096, 0);
	__itt_heap_free_begin(h, p);
	__itt_heap_free_end(h, p);
	free(p);
}

static void waiting(void)
{
	int lock;

	__itt_sync_create(&lock, "spin lock", "my lock", 0);
	__itt_sync_prepare(&lock);
	__itt_sync_acquired(&lock);
	__itt_sync_releasing(&lock);
	__itt_sync_prepare(&lock);
	__itt_sync_cancel(&lock);
	__itt_sync_destroy(&lock);
}

static void events(void)
{
	__itt_event e = __itt_event_create("event", 5);

	__itt_event_start(e);
	__itt_event_end(e);
}

static void pauses(void)
{
	__itt_string_handle *hidden = __itt_string_handle_create("hidden");

	__itt_pause();
	__itt_task_begin(domain, __itt_null, __itt_null, hidden);
	__itt_task_end(domain);
	__itt_resume();
	__itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("seen"));
	__itt_task_end(domain);
}

static void hostile(void)
{
	size_t size = 10 << 20;
	char *big = malloc(size);
	__itt_id id = __itt_id_make(domain, 1);

	memset(big, 'A', size - 1);
	big[size - 1] = '\0';
	__itt_task_end(domain);
	__itt_task_begin(domain, __itt_null, __itt_null, NULL);
	__itt_metadata_str_add(domain, __itt_null, __itt_string_handle_create(big), big, size - 1);
	__itt_metadata_add(domain, __itt_null, NULL, __itt_metadata_u64, 1, NULL);
	__itt_metadata_add(domain, __itt_null, __itt_string_handle_create("wrong type"), 99, 1,
			   &id);
	__itt_task_end(domain);
	__itt_region_end(domain, id);
	__itt_frame_end_v3(domain, NULL);
	__itt_event_start(12345);
	__itt_event_end(12345);
	__itt_sync_acquired(big);
	__itt_marker(domain, __itt_null, __itt_string_handle_create(big), 99);
	__itt_thread_set_name(big);
	__itt_counter_inc(NULL);
	free(big);
}

static void *worker(void *arg)
{
	__itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("on worker"));
	__itt_task_end(domain);
	return NULL;
}

static void many_threads(int n)
{
	pthread_t t[50];

	for (int i = 0; i < n; i += 50) {
		for (int k = 0; k < 50; k++)
			assert(pthread_create(&t[k], NULL, worker, NULL) == 0);
		for (int k = 0; k < 50; k++)
			pthread_join(t[k], NULL);
	}
}

int main(int argc, char **argv)
{
	domain = __itt_domain_create("library");
	if (!getenv("INTEL_LIBITTNOTIFY64")) { /* nothing of the rest would work */
		puts("done");
		return 0;
	}
	__itt_thread_set_name("itt main");
	if (argc > 1 && strcmp(argv[1], "hostile") == 0) {
		hostile();
	} else if (argc > 1) {
		many_threads(atoi(argv[1]));
	} else {
		tasks();
		counters();
		deferred();
		memory();
		waiting();
		events();
		pauses();
	}
	puts("done");
	return 0;
}
