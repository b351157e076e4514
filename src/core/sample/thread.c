/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of samples. Core knows threads that made traced calls; others get a definition here, with
 * numbers that no thread of core's has. Also: who does not want to be sampled. Threads that record
 * samples, of processors and of memory, may ask at once.
 */
#include "base/locks.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/process/life.h"
#include "core/ring/ring.h"
#include "core/sample/host.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_INDEX (1u << 24) /* above all threads of core's */
#define OUT_MAX     256u

/* All but `out`. Nothing is allocated for the program under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct known {
	uint32_t tid, index;
	bool own; /* defined here */
	bool sampled;
};

static struct known *list;
static uint32_t count, room, next_own;
static struct map places; /* by tid: in the list, plus 1 */

/* Threads that opted out; read by the sampler, written by the threads. */
static _Atomic uint32_t out[OUT_MAX];

/* ---- who is not sampled ---- */

#define ENDED 0x80000000u /* the thread has ended, but samples of it may still come */

static bool opted_out(uint32_t tid)
{
	for (uint32_t i = 0; i < OUT_MAX; i++)
		if ((atomic_load_explicit(&out[i], memory_order_relaxed) & ~ENDED) == tid)
			return true;
	return false;
}

static void change(uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < OUT_MAX; i++) {
		uint32_t expected = from;

		atomic_compare_exchange_strong(&out[i], &expected, to);
	}
}

static void end_thread(void *tid)
{
	change((uint32_t)(uintptr_t)tid, (uint32_t)(uintptr_t)tid | ENDED);
}

extern int __cxa_thread_atexit_impl(void (*function)(void *), void *arg, void *library)
	__attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* Places of threads that have ended are taken when no other is left. */
static bool enter_out(uint32_t tid)
{
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < OUT_MAX; i++) {
			uint32_t old = atomic_load(&out[i]);

			if ((old == 0 || (pass && (old & ENDED))) &&
			    atomic_compare_exchange_strong(&out[i], &old, tid))
				return true;
		}
	}
	return false;
}

kymo_status_t kymo_sample_thread(bool sampled)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	change(tid, 0);
	change(tid | ENDED, 0); /* of a thread that had the number before */
	if (sampled)
		return KYMO_OK;
	if (!enter_out(tid))
		return KYMO_ERROR_LIMIT;
	if (__cxa_thread_atexit_impl)
		__cxa_thread_atexit_impl(end_thread, (void *)(uintptr_t)tid, &__dso_handle);
	return KYMO_OK;
}

/* ---- who is chosen ---- */

static const char *chosen; /* NULL: all */
static uint32_t batch;
/* By tid, of the latest batch that asked: its number times 2, and 1: it is chosen. A name may come late. */
static struct map choices;

static void name_of(uint32_t tid, char *name, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, size - 1);
		close(fd);
	}
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

static bool in_list(const char *word, size_t n, uint32_t tid, const char *name)
{
	char number[12];

	snprintf(number, sizeof(number), "%u", tid);
	return (strlen(number) == n && memcmp(number, word, n) == 0) ||
	       (n == 4 && memcmp(word, "main", 4) == 0 && tid == (uint32_t)getpid()) ||
	       (n && strlen(name) == n && memcmp(name, word, n) == 0);
}

static bool look_up(uint32_t tid, const char *name)
{
	for (const char *word = chosen;; word++) {
		size_t n = strcspn(word, ",");

		if (in_list(word, n, tid, name))
			return true;
		word += n;
		if (!*word)
			return false;
	}
}

/* One that has ended has no name any more: what it was last holds. */
static bool is_chosen(uint32_t tid)
{
	uint64_t known = map_get(&choices, tid);
	char name[32];
	bool yes;

	if (!chosen)
		return true;
	if (known >> 1 == batch)
		return known & 1;
	name_of(tid, name, sizeof(name));
	yes = name[0] || !known ? look_up(tid, name) : known & 1;
	map_set(&choices, tid, (uint64_t)batch << 1 | yes);
	return yes;
}

void sample_thread_named(uint32_t tid, const char *name)
{
	pthread_mutex_lock(&lock);
	if (chosen)
		map_set(&choices, tid, (uint64_t)batch << 1 | look_up(tid, name));
	pthread_mutex_unlock(&lock);
}

void sample_threads_choose(const char *which)
{
	pthread_mutex_lock(&lock);
	chosen = which;
	batch = 1;
	map_clear(&choices);
	pthread_mutex_unlock(&lock);
}

/* ---- numbers of threads ---- */

static struct known *find(uint32_t tid)
{
	uint64_t i = map_get(&places, tid);

	return i ? &list[i - 1] : NULL;
}

static struct known *know(uint32_t tid)
{
	struct known *k = find(tid);

	if (k)
		return k;
	if (!vec_reserve(&list, &room, count, 1) || !map_set(&places, tid, count + 1))
		return NULL;
	list[count] = (struct known){.tid = tid};
	return &list[count++];
}

static void see(struct cap_thread *t, void *data)
{
	struct known *k = know(t->tid);

	if (k)
		*k = (struct known){.tid = t->tid, .index = t->index, .sampled = k->sampled};
}

/* The number is free for another thread. */
static void end_known(uint32_t tid)
{
	struct known *k = find(tid);
	struct wire_def d;

	change(tid | ENDED, 0);
	if (chosen)
		map_set(&choices, tid, 2); /* of the first batch, and not */
	if (!k)
		return;
	if (k->own) {
		wire_def_init(&d, DEF_THREAD_END);
		wire_def_u64(&d, k->index);
		wire_def_u64(&d, tick_now());
		wire_def_u64(&d, 0);
		wire_def_u64(&d, 0);
		cap_define(&d);
	}
	k->index = 0;
	k->own = false;
	k->sampled = false;
}

/* Samples of a thread may lie in another ring than its end: it has ended when the batch is over. */
static uint32_t *ended;
static uint32_t ended_count, ended_room;

/* Likewise, of those that lived less than an interval. */
static uint32_t *shorts;
static uint32_t short_count, short_room;
static uint64_t short_untold;

void sample_thread_short(uint32_t tid)
{
	pthread_mutex_lock(&lock);
	if (vec_reserve(&shorts, &short_room, short_count, 1))
		shorts[short_count++] = tid;
	pthread_mutex_unlock(&lock);
}

static void count_shorts(void)
{
	for (uint32_t i = 0; i < short_count; i++) {
		const struct known *k = find(shorts[i]);

		short_untold += !(k && k->sampled) && !opted_out(shorts[i]) && is_chosen(shorts[i]);
	}
	short_count = 0;
}

uint64_t sample_threads_short(bool last)
{
	uint64_t n;

	pthread_mutex_lock(&lock);
	if (last)
		count_shorts();
	n = short_untold;
	short_untold = 0;
	pthread_mutex_unlock(&lock);
	return n;
}

void sample_threads_look(void)
{
	pthread_mutex_lock(&lock);
	count_shorts();
	for (uint32_t i = 0; i < ended_count; i++)
		end_known(ended[i]);
	ended_count = 0;
	batch++;
	core_threads_each(see, NULL);
	pthread_mutex_unlock(&lock);
}

void sample_thread_end(uint32_t tid)
{
	pthread_mutex_lock(&lock);
	if (vec_reserve(&ended, &ended_room, ended_count, 1))
		ended[ended_count++] = tid;
	pthread_mutex_unlock(&lock);
}

static void define_thread(const struct known *k)
{
	struct wire_def d;
	char name[32];

	name_of(k->tid, name, sizeof(name));
	wire_def_init(&d, DEF_THREAD);
	wire_def_u64(&d, k->index);
	wire_def_u64(&d, k->tid);
	wire_def_string(&d, name);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, k->tid == (uint32_t)getpid());
	wire_def_u64(&d, core_life_own(k->tid));
	cap_define(&d);
}

static uint32_t index_of(uint32_t tid)
{
	struct known *k = know(tid);

	if (!k)
		return 0;
	if (!k->index) {
		k->own = true;
		k->index = FIRST_INDEX + next_own++;
		define_thread(k);
	}
	return k->index;
}

uint32_t sample_thread_index(uint32_t tid)
{
	uint32_t index = 0;

	pthread_mutex_lock(&lock);
	if (!opted_out(tid) && is_chosen(tid))
		index = index_of(tid);
	if (index)
		find(tid)->sampled = true;
	pthread_mutex_unlock(&lock);
	return index;
}

bool cap_sample_wants(uint32_t tid)
{
	bool wanted;

	pthread_mutex_lock(&lock);
	wanted = !opted_out(tid) && is_chosen(tid);
	pthread_mutex_unlock(&lock);
	return wanted;
}

uint32_t sample_thread_number(uint32_t tid)
{
	uint32_t index;

	pthread_mutex_lock(&lock);
	index = index_of(tid);
	pthread_mutex_unlock(&lock);
	return index;
}

/* Of all who ask for it, the first does it: then threads may have been numbered. */
void sample_threads_fork_child(void)
{
	static pid_t cleared;

	if (cleared == getpid())
		return;
	cleared = getpid();
	pthread_mutex_init(&lock, NULL);
	map_clear(&places);
	map_clear(&choices);
	count = ended_count = short_count = 0;
	short_untold = 0;
	for (uint32_t i = 0; i < OUT_MAX; i++)
		atomic_store(&out[i], 0);
}
