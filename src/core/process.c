/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of core in a process: initialisation by the first domain or tool, finalisation at exit, and
 * what a forked child must do before it may record.
 */
#include "core/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIVE_MAGIC 0x4556494c4f4d594bull

struct core_live *core_live;
uint32_t core_generation;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool initialised;
static bool failed;
static _Atomic bool finalized;

static void *wipe_page(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (madvise(p, bytes, MADV_WIPEONFORK) != 0) {
		munmap(p, bytes);
		return NULL;
	}
	return p;
}

/* Held over fork() so that the child finds lists in order. */
static void before_fork(void)
{
	if (!core_live)
		return;
	pthread_mutex_lock(&core_live->configure);
	pthread_mutex_lock(&core_live->define);
	pthread_mutex_lock(&core_live->threads);
}

static void after_fork_parent(void)
{
	if (!core_live)
		return;
	pthread_mutex_unlock(&core_live->threads);
	pthread_mutex_unlock(&core_live->define);
	pthread_mutex_unlock(&core_live->configure);
}

/* The child's page is wiped: locks are free. The rest waits until the child uses a runtime. */
static void after_fork_child(void)
{
	cap_thread_current = NULL;
}

static void initialise(void)
{
	core_live = wipe_page(4096);
	if (!core_live) { /* Linux before 4.14 */
		failed = true;
		return;
	}
	tick_init();
	core_threads_init();
	atomic_store(&core_live->magic, LIVE_MAGIC);
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	core_generation = (uint32_t)getpid();
	core_activities_register();
	core_define_process();
	initialised = true;
}

bool core_init(void)
{
	int saved = errno;

	pthread_once(&once, initialise);
	errno = saved;
	return !failed && core_usable();
}

/* First use in a child: everything that names the parent's rings is dropped, then made anew. */
static void fork_child(void)
{
	pthread_mutex_lock(&core_live->fork);
	if (atomic_load(&core_live->magic) != LIVE_MAGIC) {
		core_generation = (uint32_t)getpid();
		core_sites_fork_child();
		core_buffers_fork_child();
		atomic_store(&finalized, false);
		/* From here on core works; without buffers nothing is recorded yet. */
		atomic_store(&core_live->magic, LIVE_MAGIC);
		core_define_fork_child();
		core_domains_fork_child();
		core_tools_fork_child();
		pthread_mutex_lock(&core_live->configure);
		core_masks_update();
		pthread_mutex_unlock(&core_live->configure);
		core_deliver_threads_start();
	}
	pthread_mutex_unlock(&core_live->fork);
}

bool core_usable(void)
{
	if (!initialised || failed)
		return false;
	if (cap_unlikely(atomic_load_explicit(&core_live->magic, memory_order_acquire) !=
			 LIVE_MAGIC)) {
		int saved = errno;

		fork_child();
		errno = saved;
	}
	return true;
}

/*
 * At exit: harvest, say the end, wake the drain. Recording goes on for what the program still
 * does in later destructors; the drain takes it when the process is gone.
 */
__attribute__((destructor)) static void finalize(void)
{
	if (!initialised || failed || getpid() != (pid_t)core_generation)
		return;
	if (atomic_exchange(&finalized, true))
		return;
	core_domains_flush(tick_now());
	core_marker_finalize();
	core_buffers_deliver();
	core_tools_finalize();
	core_threads_end_all();
	core_define_modules();
	core_define_tick_sync();
	core_define_process_end(1);
	core_buffers_finalize();
}

uint64_t kymo_time(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

const char *kymo_version(void)
{
	return KYMO_VERSION;
}

const char *kymo_status_text(kymo_status_t status)
{
	switch (status) {
#define ENTRY(name, value, text)                                                                   \
	case KYMO_##name:                                                                          \
		return #name ": " text;
		KYMO_STATUS_MAP(ENTRY)
#undef ENTRY
	}
	return "unknown status";
}
