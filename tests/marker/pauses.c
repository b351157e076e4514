/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses within pauses, resumes within resumes; of the process and of one of two threads. */
#include <pthread.h>

#include <kymo/marker.h>

static void *thread(void *data)
{
	kymo_pause_thread();
	kymo_pause_thread();
	kymo_mark("thread, paused twice");
	kymo_resume_thread();
	kymo_mark("thread, resumed once");
	kymo_resume_thread();
	kymo_mark("thread, resumed twice");
	return NULL;
}

int main(void)
{
	pthread_t other;

	kymo_mark("first");
	kymo_resume();
	kymo_resume();
	kymo_mark("resumed twice");
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	kymo_mark("main");
	kymo_pause();
	kymo_mark("paused once");
	kymo_pause();
	kymo_mark("paused twice");
	kymo_pause();
	kymo_mark("paused three times");
	kymo_resume();
	kymo_mark("last");
	return 0;
}
