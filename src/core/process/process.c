/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of core in a process: initialisation by the first domain or tool, finalisation at exit, and
 * what a forked child must do before it may record.
 */
#include "core/context/context.h"
#include "base/locks.h"
#include "core/define/define.h"
#include "core/deliver/deliver.h"
#include "core/marker/marker.h"
#include "core/process/handler.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/sample/sample.h"
#include "core/tally/tally.h"
#include "core/tool/tool.h"
#include "core/unwind/unwind.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LIVE_MAGIC 0x4556494c4f4d594bull

struct core_live *core_live;
uint32_t core_generation;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool initialised;
static bool failed;
static _Atomic uint32_t state; /* kymo_state_t */
_Atomic bool core_finalized;

/* ---- barriers ---- */

static int barrier_command; /* 0: the system has none */

static void barrier_init(void)
{
	int saved = errno;

	barrier_command = 0;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
		barrier_command = MEMBARRIER_CMD_PRIVATE_EXPEDITED;
	else if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		barrier_command = MEMBARRIER_CMD_GLOBAL;
	errno = saved;
}

/* Without the system's help time must do: no processor holds a store back for milliseconds. */
void core_barrier(void)
{
	const struct timespec pause = {0, 20000000};
	int saved = errno;

	atomic_thread_fence(memory_order_seq_cst);
	if (!barrier_command || syscall(SYS_membarrier, barrier_command, 0, 0) != 0)
		syscall(SYS_nanosleep, &pause, NULL); /* no point of cancellation */
	errno = saved;
}

/* ---- beginning ---- */

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
static void before_fork(void) UNCHECKED_LOCKS
{
	if (!core_live)
		return;
	pthread_mutex_lock(&core_live->configure);
	pthread_mutex_lock(&core_live->define);
	pthread_mutex_lock(&core_live->threads);
}

static void after_fork_parent(void) UNCHECKED_LOCKS
{
	if (!core_live)
		return;
	pthread_mutex_unlock(&core_live->threads);
	pthread_mutex_unlock(&core_live->define);
	pthread_mutex_unlock(&core_live->configure);
}

/*
 * They are free in the child, whose page is wiped. A thread sanitizer that the program brings along has noted that they were
 * taken, and that they are not any more it only knows from this.
 */
static void forget_locks(void) UNCHECKED_LOCKS
{
	pthread_mutex_t *locks[3];

	if (!core_live)
		return;
	locks[0] = &core_live->threads;
	locks[1] = &core_live->define;
	locks[2] = &core_live->configure;
	for (int i = 0; i < 3; i++) {
		pthread_mutex_unlock(locks[i]);
		memset(locks[i], 0, sizeof(*locks[i]));
	}
}

/*
 * The child's page is wiped: locks are free. It shares what it may record into while it can, and
 * listens where nothing that it uses would tell it to start; the rest waits until it uses a runtime.
 */
static void after_fork_child(void)
{
	core_forked = cap_thread_current;
	cap_thread_current = NULL;
	forget_locks();
	if (core_live &&
	    atomic_load(&core_live->magic)) { /* an emulator said yes and did not do it */
		core_threads_wipe();
		memset(core_live, 0, sizeof(*core_live));
	}
	core_life_fork_child();
	core_buffers_share_in_child();
	if (core_live)
		core_steer_start_in_child();
}

static void initialise(void)
{
	core_live = wipe_page(sizeof(*core_live));
	if (!core_live) { /* Linux before 4.14 */
		failed = true;
		return;
	}
	core_life_fork_child(); /* it may be one, of a parent that did not use core */
	tick_init();
	barrier_init();
	core_lines_init();
	core_threads_init();
	atomic_store(&core_live->magic, LIVE_MAGIC);
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	core_generation = (uint32_t)getpid();
	core_activities_register();
	core_define_process();
	core_overhead_loading();
	atomic_store(&state, KYMO_STATE_RUNNING);
	initialised = true;
}

bool cap_futex_works(void)
{
	static _Atomic int known; /* 1: yes, -1: no */
	uint32_t word = 0;

	if (!atomic_load(&known))
		atomic_store(&known,
			     syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 0, NULL, NULL, 0) < 0
				     ? -1
				     : 1);
	return atomic_load(&known) > 0;
}

bool core_init(void)
{
	int saved = errno;

	if (!cap_futex_works()) {
		errno = saved;
		return false;
	}
	pthread_once(&once, initialise);
	errno = saved;
	return !failed && core_usable();
}

/*
 * First use in a child: everything that names the parent's rings is dropped, then made anew. Other
 * threads wait for that: the one that `kymo ctl` speaks to may be there before the program's own.
 */
static void fork_child(void)
{
	const uint32_t self = (uint32_t)syscall(SYS_gettid);

	if (atomic_load(&core_live->reviving) == self)
		return;
	pthread_mutex_lock(&core_live->fork);
	if (atomic_load(&core_live->magic) != LIVE_MAGIC) {
		/* From here on core works for this thread; without buffers nothing is recorded yet. */
		atomic_store(&core_live->reviving, self);
		core_generation = (uint32_t)getpid();
		core_sites_fork_child();
		core_life_fork_child();
		core_lines_fork_child();
		core_ending_fork_child();
		core_select_fork_child();
		core_stacks_fork_child();
		unwind_fork_child();
		core_buffers_fork_child();
		atomic_store(&state, KYMO_STATE_RUNNING);
		atomic_store(&core_finalized, false);
		barrier_init();
		core_define_fork_child();
		core_tally_fork_child();
		core_domains_fork_child();
		core_tools_fork_child();
		core_steer_catch_up();
		pthread_mutex_lock(&core_live->configure);
		core_masks_update();
		pthread_mutex_unlock(&core_live->configure);
		atomic_store(&core_live->magic, LIVE_MAGIC);
		atomic_store(&core_live->reviving, 0);
		core_deliver_threads_start();
		core_steer_start();
		core_ending_start(NULL);
		core_sample_revived();
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

__attribute__((visibility("default"))) void kymo_process_forked(void)
{
	const int saved = errno;

	if (initialised && !failed && core_domains_follow() && !cap_in_handler(cap_sp()))
		core_usable();
	errno = saved;
}

kymo_status_t core_changeable(void)
{
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	return atomic_load(&state) == KYMO_STATE_FINALIZED ? KYMO_ERROR_FINALIZED : KYMO_OK;
}

kymo_state_t kymo_process_state(void)
{
	return (kymo_state_t)atomic_load(&state);
}

/*
 * At exit: collect, deliver, tell the tools, say the end, wake the drain; no lock is held while tools
 * are called. Recording into shared buffers goes on for what the program still does in later
 * destructors; the drain takes it when the process is gone.
 */
__attribute__((destructor)) static void finalize(void)
{
	uint32_t running = KYMO_STATE_RUNNING;
	struct cap_timed spent;

	if (!initialised || failed || getpid() != (pid_t)core_generation)
		return;
	if (!atomic_compare_exchange_strong(&state, &running, KYMO_STATE_FINALIZING))
		return;
	core_spent_begin(&spent);
	core_domains_flush(tick_now());
	core_marker_finalize();
	core_tools_stop();
	core_deliver_end();
	core_tools_finalize();
	atomic_store(&state, KYMO_STATE_FINALIZED);
	atomic_store(&core_finalized, true);
	core_threads_end_all();
	core_define_modules();
	core_define_tick_sync();
	core_spent_end(&spent);
	core_life_count_all();
	core_define_process_end(1);
	core_usage_show();
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

/* Of the calling thread; constant texts. */
static _Thread_local const char *refusal;

kymo_status_t core_refuse(kymo_status_t status, const char *why)
{
	refusal = why;
	return status;
}

kymo_status_t core_refuse_size(void)
{
	return core_refuse(
		KYMO_ERROR_INCOMPATIBLE,
		"a structure's `size` is not set, or what lies beyond the part that this "
		"version knows is not 0");
}

const char *kymo_error_text(void)
{
	return refusal ? refusal : "";
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
