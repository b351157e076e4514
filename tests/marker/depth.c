/* SPDX-License-Identifier: Apache-2.0 */
/* Marks in ranges of four depths, each range with another number of them, of two threads. */
#include <pthread.h>

#include <kymo/marker.h>

static void marks(int n)
{
	while (n--)
		kymo_mark("here");
}

static void below(const char *outermost, int n)
{
	static const char *const names[] = {"b", "c", "b"};

	kymo_range_push(outermost);
	marks(n);
	for (int i = 0; i < 3; i++) {
		kymo_range_push(names[i]);
		marks(n *= 2);
	}
	for (int i = 0; i < 3; i++)
		kymo_range_pop();
}

static void *thread(void *data)
{
	below("x", 32);
	kymo_range_pop();
	return NULL;
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, NULL, thread, NULL);
	below("a", 1);
	kymo_range_push("d");
	marks(16);
	kymo_range_pop();
	kymo_range_pop();
	pthread_join(other, NULL);
	return 0;
}
