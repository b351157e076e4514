/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process that empties a shared buffer asks of this one: a thread waits for it in the
 * buffer's memory, so that nothing is asked of the program's own threads and no signal is used.
 */
#include "core/internal.h"
#include "core/life.h"

static void obey(void *arg)
{
	struct core_buffer *b = arg;
	struct shm_header *p = b->pool->shm;

	while (!atomic_load(&b->released)) {
		uint32_t asked = atomic_load(&p->asked);

		if (asked == atomic_load(&p->answered)) {
			if (!core_life_sleep(&p->asked, asked))
				break;
			continue;
		}
		cap_guard_enter();
		b->desc.steer((kymo_steer_t)SHM_ASKED_WHAT(asked), b->desc.data);
		cap_guard_leave();
		atomic_store(&p->answered, asked);
	}
	atomic_fetch_sub(&b->users, 1);
}

/* The buffer stays while the thread looks at it. False: it has one, or needs none. */
static bool claim(struct core_buffer *b)
{
	bool yes;

	pthread_mutex_lock(&core_live->configure);
	yes = b->used && b->ready && b->desc.steer && !b->steered && !b->retired;
	if (yes) {
		b->steered = true;
		atomic_fetch_add(&b->users, 1);
	}
	pthread_mutex_unlock(&core_live->configure);
	return yes;
}

void core_steer_start(void)
{
	for (uint32_t i = 0; i < CAP_BUFFERS; i++) {
		struct core_buffer *b = &core_buffers[i];

		if (!claim(b))
			continue;
		if (core_sleeper_start("control", obey, b))
			continue;
		pthread_mutex_lock(&core_live->configure);
		b->steered = false; /* who asks gets no answer */
		atomic_fetch_sub(&b->users, 1);
		pthread_mutex_unlock(&core_live->configure);
	}
}

void core_steer_end(struct core_buffer *b)
{
	atomic_store(&b->released, true);
	if (!b->pool || !b->steered)
		return;
	atomic_fetch_add(&b->pool->shm->asked, SHM_ASKED_NEXT);
	core_futex_wake(&b->pool->shm->asked, 1);
}
