/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI hands a buffer over when it is full: of a program that is killed the latest megabyte would be
 * lost, hours of it if little is done. (Its own flush period passes over buffers that have room.) So a
 * thread asks for what is done every 100 ms, as long as CUPTI has buffers; else it sleeps.
 */
#include <time.h>

#include "base/futex.h"
#include "capture/cuda/backend.h"
#include "core/process/life.h"

#define PERIOD_NS 100000000

static _Atomic uint32_t wanted;

static void collect(void *arg)
{
	const struct timespec period = {0, PERIOD_NS};

	while (cuda_alive()) {
		while (!atomic_load(&wanted))
			if (!core_life_sleep(&wanted, 0))
				return;
		nanosleep(&period, NULL);
		atomic_store(&wanted, 0);
		cuda_aside_look();
		cuda_collect(CUDA_TELL_OLD);
		cuda_detach_when_idle();
		if (cuda_buffers_given()) /* with work that still runs, or new ones */
			atomic_store(&wanted, 1);
	}
}

void cuda_collector_start(void)
{
	if (!core_sleeper_start("cuda", collect, NULL))
		cap_note(2, "cuda",
			 "no thread could be made: device work of the last moments is lost "
			 "if the program is killed");
}

void cuda_collector_wake(void)
{
	if (!atomic_exchange(&wanted, 1))
		futex_wake(&wanted, 1);
}
