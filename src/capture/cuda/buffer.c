/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that CUPTI fills with activity records. They are asked for on the program's threads and
 * come back on a thread of CUPTI's own, where they are turned into our records at once, so that
 * memory is bounded by what is in CUPTI's hands.
 */
#include <pthread.h>
#include <stdlib.h>

#include "capture/cuda/backend.h"

#define BUFFER_BYTES (1u << 20)
#define BUFFERS_MAX  512u /* in CUPTI's hands at one time; more are refused, which CUPTI counts */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *spare[16], *given[BUFFERS_MAX];
static unsigned spares, given_count;
static _Atomic uint64_t dropped;
static _Atomic uint64_t sync_due; /* tick of the next reading of the clock */

static void *buffer_take(void)
{
	void *b = NULL;
	bool room;

	pthread_mutex_lock(&lock);
	room = given_count < BUFFERS_MAX;
	if (room && spares)
		b = spare[--spares];
	pthread_mutex_unlock(&lock);
	if (!b && room)
		b = aligned_alloc(4096, BUFFER_BYTES);
	if (!b)
		return NULL;
	pthread_mutex_lock(&lock);
	room = given_count < BUFFERS_MAX;
	if (room)
		given[given_count++] = b;
	pthread_mutex_unlock(&lock);
	if (!room)
		free(b);
	return room ? b : NULL;
}

/* Caller holds the lock. */
static bool was_given(const void *b)
{
	for (unsigned i = 0; i < given_count; i++)
		if (given[i] == b) {
			given[i] = given[--given_count];
			return true;
		}
	return false;
}

static void give_back(void *b)
{
	pthread_mutex_lock(&lock);
	if (was_given(b) && spares < sizeof(spare) / sizeof(spare[0])) {
		spare[spares++] = b;
		b = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(b);
}

void cuda_buffer_request(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = buffer_take();
	*size = *buffer ? BUFFER_BYTES : 0;
	*records = 0; /* as many as fit */
	cuda_collector_wake();
}

unsigned cuda_buffers_given(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = given_count;
	pthread_mutex_unlock(&lock);
	return n;
}

void cuda_buffers_forget(void)
{
	pthread_mutex_lock(&lock);
	given_count = 0;
	pthread_mutex_unlock(&lock);
}

/* Records that CUPTI had no room for, on top of ours that were lost. Those of when it is left are nobody's. */
static void count_dropped(void *context, uint32_t stream)
{
	size_t n = 0;

	if (cupti.ActivityGetNumDroppedRecords(context, stream, &n) != CUPTI_OK || n == 0 ||
	    !cuda_attached())
		return;
	if (atomic_fetch_add(&dropped, n) == 0)
		cap_note(2, "cuda", "CUPTI dropped records of device work: it got no more buffers");
	/* Of what kind, and submitted when, is not told. */
	cap_lost_sometime(&core_dispatch_ops[DISPATCH_OP_LAUNCH], n);
}

uint64_t cuda_dropped(void)
{
	return atomic_load(&dropped);
}

static void clock_keep(void)
{
	uint64_t now = tick_now(), due = atomic_load(&sync_due);

	if (now >= due && atomic_compare_exchange_strong(&sync_due, &due, now + tick_rate()))
		cuda_clock_sync();
}

void cuda_buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			  size_t valid)
{
	void *record = NULL;

	cap_guard_enter();
	clock_keep();
	while (valid && cupti.ActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK)
		cuda_record(record);
	count_dropped(context, stream);
	cuda_submissions_age(tick_now() - tick_rate());
	cap_guard_leave();
	give_back(buffer);
}
