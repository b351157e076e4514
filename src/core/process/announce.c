/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that Kymo makes: one way to make them, and notice to the tools that asked for it. They
 * take no signals (those are the program's), are named "kymo-...", and are never traced.
 */
#include "base/futex.h"
#include "core/context/context.h"
#include "core/intercept/doors.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"
#include "core/unwind/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOTICES 16u

struct notice {
	kymo_thread_fn before, after;
	void *data;
};

static struct notice notices[NOTICES];
static _Atomic uint32_t notice_count;

kymo_status_t kymo_thread_notify(kymo_thread_fn before, kymo_thread_fn after, void *data)
{
	kymo_status_t status = core_changeable();
	uint32_t n;

	if (!before && !after)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status == KYMO_OK && core_selecting())
		status = KYMO_ERROR_STATE;
	if (status != KYMO_OK)
		return status;
	status = KYMO_ERROR_LIMIT;
	pthread_mutex_lock(&core_live->configure);
	n = atomic_load(&notice_count);
	if (n < NOTICES) {
		notices[n] = (struct notice){before, after, data};
		atomic_store(&notice_count, n + 1);
		status = KYMO_OK;
	}
	pthread_mutex_unlock(&core_live->configure);
	return status;
}

/* The same `count` before and after, so that a tool that comes meanwhile hears no half. */
static void announce(const kymo_thread_info_t *thread, uint32_t count, bool before)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct notice *n = &notices[i];
		kymo_thread_fn fn = before ? n->before : n->after;

		if (fn)
			core_contained(CORE_FUNCTION(fn), CORE_ARGUMENT(thread),
				       CORE_ARGUMENT(n->data), 0);
	}
}

/* On the maker's stack until the thread has said its number. */
struct birth {
	const char *name;
	void (*fn)(void *);
	void *arg;
	bool known;
	_Atomic uint32_t tid;
};

static void *thread_main(void *arg)
{
	struct birth *birth = arg;
	void (*fn)(void *) = birth->fn;
	void *data = birth->arg;
	bool known = birth->known;
	char name[16];

	snprintf(name, sizeof(name), "kymo-%s", birth->name);
	syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0); /* prctl() may be stood before */
	core_life_enter();
	atomic_store(&birth->tid, (uint32_t)syscall(SYS_gettid));
	futex_wake(&birth->tid, 1); /* at worst wakes what lies there by then */
	if (known)
		cap_guard_enter();
	fn(data);
	if (known)
		cap_guard_leave();
	core_life_leave();
	return NULL;
}

static _Thread_local bool making __attribute__((tls_model("initial-exec")));

bool core_thread_making(void)
{
	return making;
}

static int make_thread(struct birth *birth, pthread_t *out)
{
	uint64_t old;
	int error;

	core_signals_block(&old);
	making = true;
	error = pthread_create(out, NULL, thread_main, birth);
	making = false;
	core_signals_restore(&old);
	while (!error && atomic_load(&birth->tid) == 0)
		futex_wait(&birth->tid, 0, 1000000000u);
	return error;
}

bool core_thread_notices(void)
{
	return atomic_load(&notice_count) != 0;
}

/* Once; inside fork() a thread of the parent's may have had the loader's lock. */
static void find_functions(bool in_fork)
{
	static _Atomic bool found;

	if (in_fork || atomic_exchange(&found, true))
		return;
#define FIND(name)                                                                                 \
	if (kymo_door_find_##name)                                                                 \
		kymo_door_find_##name();
	DOORS_EACH(FIND)
	unwind_prepare();
#undef FIND
}

static bool start_thread(const char *name, void (*fn)(void *), void *arg, bool known,
			 pthread_t *joinable)
{
	struct birth birth = {name, fn, arg, known, 0};
	kymo_thread_info_t info = {.size = sizeof(info), .name = name};
	/*
	 * Inside fork() there is no record of the calling thread yet, and nobody who is told; nor while a
	 * child is brought in order, before tools have been told that it is one.
	 */
	bool in_fork = core_generation != (uint32_t)getpid() || atomic_load(&core_live->reviving);
	uint32_t count = in_fork ? 0 : atomic_load(&notice_count);
	int saved = errno, error;
	pthread_t thread;

	find_functions(in_fork);
	if (!in_fork)
		cap_guard_enter();
	announce(&info, count, true);
	error = make_thread(&birth, &thread);
	info.tid = atomic_load(&birth.tid);
	announce(&info, count, false);
	if (!in_fork)
		cap_guard_leave();
	if (!error && joinable)
		*joinable = thread;
	else if (!error)
		pthread_detach(thread);
	errno = saved;
	return error == 0;
}

bool core_thread_start(const char *name, void (*fn)(void *), void *arg, pthread_t *joinable)
{
	return start_thread(name, fn, arg, true, joinable);
}

bool core_helper_start(const char *name, void (*fn)(void *), void *arg, pthread_t *joinable)
{
	return start_thread(name, fn, arg, false, joinable);
}

bool core_sleeper_start(const char *name, void (*fn)(void *), void *arg)
{
	core_life_watched();
	return start_thread(name, fn, arg, false, NULL);
}

/* ---- threads of tools ---- */

struct tool_thread {
	void (*fn)(void *data);
	void *data;
	void *library; /* that holds `fn`: loaded until the thread has left it; or NULL */
};

static void *library_of(void (*fn)(void *data))
{
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)fn, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void tool_thread(void *arg)
{
	struct tool_thread t = *(struct tool_thread *)arg;

	free(arg);
	t.fn(t.data);
	if (t.library)
		dlclose(t.library);
}

kymo_status_t kymo_thread_start(const char *name, void (*fn)(void *data), void *data)
{
	struct tool_thread *t;

	if (!name || !fn)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	t = malloc(sizeof(*t));
	if (!t)
		return KYMO_ERROR_NO_MEMORY;
	*t = (struct tool_thread){fn, data, library_of(fn)};
	if (core_thread_start(name, tool_thread, t, NULL))
		return KYMO_OK;
	if (t->library)
		dlclose(t->library);
	free(t);
	return KYMO_ERROR_SYSTEM;
}
