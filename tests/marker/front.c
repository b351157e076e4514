/* SPDX-License-Identifier: Apache-2.0 */
/* The C front end; links nothing of Kymo. Two files of one program: see second.c. */
#include <pthread.h>

#include <kymo/marker.h>

void second_file(void);

static kymo_string_t often = KYMO_STRING("often"), library = KYMO_STRING("library"),
		     io = KYMO_STRING("io");

static void *worker(void *id)
{
	kymo_name_thread("c worker");
	kymo_range_push("on worker");
	kymo_range_stop(*(const uint64_t *)id);
	kymo_range_pop();
	return NULL;
}

static void full(void)
{
	kymo_payload_t values[] = {kymo_int64("n", -3), kymo_double("x", 0.5),
				   kymo_text("t", "text"), kymo_bytes("b", "\1\0\2", 3),
				   kymo_uint64("big", 1ull << 63)};
	kymo_payload_t more = kymo_int64("more", 1);
	kymo_marker_t m = {.size = sizeof(m),
			   .name = "full",
			   .domain = &library,
			   .category = &io,
			   .color = 0xff112233,
			   .payload = values,
			   .payload_count = 5};

	kymo_range_push_full(&m);
	kymo_range_add(&more, 1);
	kymo_mark("inside");
	kymo_range_push("crosses");
	kymo_range_pop_domain(&library); /* around the one that is open */
	kymo_range_pop();
}

int main(void)
{
	pthread_t thread;
	uint64_t id;

	kymo_name_thread("c main");
	kymo_range_push("whole");
	for (int i = 0; i < 3; i++) {
		kymo_range_push_string(&often);
		second_file();
		kymo_range_pop();
	}
	full();
	id = kymo_range_start("across");
	pthread_create(&thread, NULL, worker, &id);
	pthread_join(thread, NULL);
	kymo_pause();
	kymo_mark("not seen");
	kymo_resume();
	kymo_pause_thread();
	kymo_mark("not seen");
	kymo_resume_thread();
	kymo_range_pop();
	return 0;
}
