/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a program whose main thread has left before: by pthread_exit(), by the system call, or
 * by returning from the function that clone() was given. The C library ends such a process with its
 * last thread; threads of Kymo's must not be that thread. While the program runs this costs
 * nothing: Kymo's sleeping threads wait for one word more, which the kernel clears when the main
 * thread is gone. From then on they look now and then whether a thread of the program's is left.
 */
#include "base/futex.h"
#include "base/assert.h"
#include "core/process/life.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/deliver/pass.h"
#include "core/process/process.h"
#include "core/ring/ring.h"

#define OWN_MAX   256u /* of threads beyond nothing is known: the process would not end by itself */
#define SECOND_NS UINT64_C(1000000000)
#define LOOK_MIN  UINT64_C(2000000) /* ns between looks at what is left, first and later */
#define LOOK_MAX  UINT64_C(50000000)

enum { GONE_LOOKS = 10000, GONE_LOOK_NS = 100000 };

/* As linux/futex.h has since 5.16. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
struct wait_word {
	uint64_t value, address;
	uint32_t flags, reserved;
};
#define WAIT_32 2u

static pthread_key_t
	main_key; /* set in the main thread: its destructor is the sign of pthread_exit() */
static bool keyed;
static pid_t process; /* that all this is of */
/* Another than `leader_value` when the main thread is gone: 0, or -1 if it was joined. */
static _Atomic uint32_t *_Atomic leader; /* NULL: not known */
static uint32_t leader_value;
static _Atomic uint32_t child_word; /* the same of children that nobody gave one */
static _Atomic uint32_t left;       /* the main thread has called pthread_exit(); futex word */
static sigset_t left_mask;          /* its signals then */
static _Atomic bool others;         /* there was a thread of the program's after its main thread */
static _Atomic bool passed_on, last_comes, watched, no_waitv;
static _Atomic uint32_t own[OWN_MAX];        /* threads of Kymo's that are alive */
static _Atomic uint64_t counted_ns[OWN_MAX]; /* of their processor time */
static _Thread_local uint32_t own_place __attribute__((tls_model("initial-exec"))); /* + 1 */

static uint32_t thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* ---- the main thread ---- */

static void watch(void *unused)
{
	static _Atomic uint32_t never;

	while (core_life_sleep(&never, 0))
		;
}

bool core_life_find(bool (*is)(uint32_t tid, void *data), void *data)
{
	for (uint32_t i = 0; i < OWN_MAX; i++) {
		const uint32_t tid = atomic_load(&own[i]);

		if (tid && is(tid, data))
			return true;
	}
	return false;
}

static bool yes(uint32_t tid, void *unused)
{
	return true;
}

bool core_life_any(void)
{
	return core_life_find(yes, NULL);
}

/* Threads of tools do not sleep here: where there is no other, one is made now. */
static void main_leaves(void *unused)
{
	pthread_sigmask(SIG_SETMASK, NULL, &left_mask);
	atomic_store(&left, 1);
	futex_wake(&left, INT32_MAX);
	if (core_life_any() && !atomic_exchange(&watched, true))
		core_sleeper_start("watch", watch, NULL);
}

/* On the main thread. The C library has the kernel clear a word when a thread ends. */
static void know_main(void)
{
	_Atomic uint32_t *word = NULL;
	int saved = errno;

	if (syscall(SYS_prctl, PR_GET_TID_ADDRESS, &word, 0, 0, 0) == 0 && !word) {
		atomic_store(&child_word, thread_id());
		syscall(SYS_set_tid_address, &child_word);
		word = &child_word;
	}
	if (word)
		leader_value = atomic_load(word);
	atomic_store(&leader, word);
	if (keyed)
		pthread_setspecific(main_key, &main_key);
	errno = saved;
}

__attribute__((constructor(101))) static void begin(void)
{
	keyed = pthread_key_create(&main_key, main_leaves) == 0;
	process = getpid();
	if (thread_id() == (uint32_t)process)
		know_main();
}

void core_life_fork_child(void)
{
	if (process == getpid())
		return;
	process = getpid();
	for (uint32_t i = 0; i < OWN_MAX; i++)
		atomic_store(&own[i], 0);
	atomic_store(&left, 0);
	atomic_store(&passed_on, false);
	atomic_store(&others, false);
	atomic_store(&last_comes, false);
	atomic_store(&watched, false);
	atomic_store(&leader, NULL);
	if (thread_id() == (uint32_t)process)
		know_main();
}

/* What the kernel says of the main thread: its state, and what it ended with. */
static bool look_at_main(char *state, int *status)
{
	char text[1024], *p;
	ssize_t n = -1;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name before may have blanks */
	if (!p || p[1] != ' ')
		return false;
	*state = p[2];
	p = strrchr(p, ' '); /* the last number */
	*status = p ? atoi(p) : 0;
	return true;
}

static bool main_is_gone(void)
{
	_Atomic uint32_t *word = atomic_load(&leader);
	char state = 'R';
	int status;

	if (!word)
		return look_at_main(&state, &status) && (state == 'Z' || state == 'X');
	if (atomic_load(word) == leader_value)
		return false;
	/* Who joins the main thread waits there as well, and the kernel has woken one. */
	if (!atomic_exchange(&passed_on, true))
		futex_wake(word, INT32_MAX);
	return true;
}

/* ---- threads of Kymo's ---- */

void core_life_enter(void)
{
	uint32_t tid = thread_id(), none;

	kymo_assert(!own_place); /* once a thread */
	for (uint32_t i = 0; i < OWN_MAX; i++) {
		none = 0;
		if (atomic_compare_exchange_strong(&own[i], &none, tid)) {
			atomic_store(&counted_ns[i], 0);
			own_place = i + 1;
			return;
		}
	}
}

void core_life_leave(void)
{
	core_life_count();
	if (own_place)
		atomic_store(&own[own_place - 1], 0);
	own_place = 0;
}

void core_life_forget(uint32_t tid)
{
	for (uint32_t i = 0; i < OWN_MAX; i++) {
		uint32_t found = tid;

		atomic_compare_exchange_strong(&own[i], &found, 0);
	}
}

bool core_life_here(void)
{
	return own_place != 0;
}

/* Nothing if another thread has counted meanwhile, or the thread is gone. */
static void count(uint32_t i)
{
	uint32_t tid = atomic_load(&own[i]);
	uint64_t before = atomic_load(&counted_ns[i]), ns;
	struct timespec now;

	/* As pthread_getcpuclockid() has it, which wants a handle. */
	if (!tid || clock_gettime((clockid_t)(~tid << 3 | 6), &now) != 0)
		return;
	ns = (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
	if (ns > before && atomic_compare_exchange_strong(&counted_ns[i], &before, ns))
		cap_cost(CAP_COST_BESIDE, core_ns_ticks(ns - before));
}

void core_life_count(void)
{
	int saved = errno;

	if (own_place)
		count(own_place - 1);
	errno = saved;
}

void core_life_count_all(void)
{
	int saved = errno;

	for (uint32_t i = 0; i < OWN_MAX; i++)
		count(i);
	errno = saved;
}

bool core_life_own(uint32_t tid)
{
	for (uint32_t i = 0; i < OWN_MAX; i++)
		if (atomic_load_explicit(&own[i], memory_order_relaxed) == tid)
			return true;
	return false;
}

/* ---- the end ---- */

enum alone { ALONE, NOT_ALONE, UNKNOWN };

struct entry { /* what getdents64() gives */
	uint64_t inode;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

/* The names in `text` are threads: some is neither `known` nor Kymo's. */
static bool has_foreign(const char *text, long bytes, uint32_t known)
{
	for (long at = 0; at < bytes;) {
		const struct entry *e = (const void *)(text + at);
		uint32_t tid = e->name[0] == '.' ? known : (uint32_t)strtoul(e->name, NULL, 10);

		if (tid != known && !core_life_own(tid))
			return true;
		at += e->length;
	}
	return false;
}

static enum alone threads_beside(uint32_t known)
{
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct entry) char text[1024];
	enum alone found = ALONE;
	long n = -1;

	if (fd < 0)
		return UNKNOWN;
	while (found == ALONE && (n = syscall(SYS_getdents64, fd, text, sizeof(text))) > 0)
		if (has_foreign(text, n, known))
			found = NOT_ALONE;
	close(fd);
	return n < 0 ? UNKNOWN : found;
}

static enum alone threads_left(void)
{
	const enum alone found = threads_beside((uint32_t)getpid());

	if (found == NOT_ALONE)
		atomic_store(&others, true);
	return found;
}

bool core_life_alone(void)
{
	return threads_beside(thread_id()) == ALONE;
}

void core_life_await_gone(void)
{
	static _Atomic uint32_t never;

	for (int i = 0; i < GONE_LOOKS && threads_beside(thread_id()) == NOT_ALONE; i++)
		futex_wait(&never, 0, GONE_LOOK_NS);
}

/* Threads that the C library ends have 0; since Linux 6.0 the last one's counts, not the main
 * one's. */
static bool last_counts(void)
{
	struct utsname u;

	return atomic_load(&others) && uname(&u) == 0 && atoi(u.release) >= 6;
}

/* A thread that looked too late for the others would take the main one for the last. */
void core_life_thread_ends(void)
{
	if (!own_place && atomic_load(&leader) && main_is_gone())
		atomic_store(&others, true);
}

/* What the last thread of the program would have done. */
static void be_last(void *unused)
{
	char state;
	int status = 0;

	if (atomic_load(&left)) { /* the C library's own words for it */
		syscall(SYS_prctl, PR_SET_NAME, program_invocation_short_name, 0, 0, 0);
		pthread_sigmask(SIG_SETMASK, &left_mask, NULL);
		exit(0);
	}
	/* By the system call, which runs no handlers. */
	look_at_main(&state, &status);
	if (last_counts())
		status = 0;
	core_domains_end();
	for (;;)
		syscall(SYS_exit_group, status >> 8 & 0xff);
}

/* A thread that delivers must be there to the end, which waits for it. */
static void end(void)
{
	char state = 'R';
	int status;

	if (!look_at_main(&state, &status) || (state != 'Z' && state != 'X') ||
	    atomic_exchange(&last_comes, true))
		return;
	if (!core_pool_current())
		be_last(NULL);
	else if (!core_sleeper_start("last", be_last, NULL))
		atomic_store(&last_comes, false);
}

/* ---- sleep ---- */

/* False: the system does not know how. */
static bool wait_any(_Atomic uint32_t *word, uint32_t value)
{
	_Atomic uint32_t *gone = atomic_load(&leader);
	struct wait_word words[] = {
		{value, (uintptr_t)word, WAIT_32, 0},
		{0, (uintptr_t)&left, WAIT_32, 0},
		{leader_value, (uintptr_t)gone, WAIT_32, 0},
	};
	int saved = errno;
	bool ok = syscall(SYS_futex_waitv, words, 3, 0, NULL, 0) >= 0 || errno == EAGAIN ||
		  errno == EINTR;

	errno = saved;
	return ok;
}

bool core_life_sleep(_Atomic uint32_t *word, uint32_t value)
{
	static _Thread_local uint64_t look;
	enum alone alone = NOT_ALONE;

	core_life_count();
	if (main_is_gone()) {
		alone = threads_left();
	} else if (!atomic_load(&left)) { /* else it is about to go, and the kernel wakes but one */
		look = 0;
		if (!atomic_load(&leader) || atomic_load(&no_waitv))
			futex_wait(word, value, SECOND_NS);
		else if (!wait_any(word, value))
			atomic_store(&no_waitv, true);
		return true;
	}
	if (alone == ALONE)
		end();
	if (alone == UNKNOWN)
		return false;
	look = look < LOOK_MIN ? LOOK_MIN : look * 2 < LOOK_MAX ? look * 2 : LOOK_MAX;
	futex_wait(word, value, look);
	return true;
}

void core_life_watched(void)
{
	atomic_store(&watched, true);
}
