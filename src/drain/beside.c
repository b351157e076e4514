/* SPDX-License-Identifier: Apache-2.0 */
/* See beside.h. */
#include "drain/beside.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "drain/compress.h"
#include "drain/rawfile.h"

enum { THREAD_STACK = 1 << 20 }; /* 8 MiB otherwise, which limits of address space count */

enum {
	TICK_MS = 100, /* between looks at files that grow */
	WAIT_MS = 20,  /* between looks of who waits */
	AWAY_MS =
		1000, /* out of the way where others wait for processors, while they are recorded */
	AWAY_AFTER_MS = 50, /* and after that */
	WAITED_NS = 200000, /* for a processor, during a step: there is none to spare */
	SMALL = 64 << 10,   /* not worth a new file */
	REST_MAX = 4 << 20, /* that the drain copies itself */
	TIMES = 4,   /* what is compressed is copied each time: there has to be so much more */
	STUCK = 100, /* looks, at what is not a whole block yet */
	DAY_S = 86400
};

enum state {
	WORKING, /* the thread's */
	OFFERED, /* the drain's: it may go on with the compressed file */
	MOVED,   /* the thread's: it has done so */
	REFUSED, /* the thread's: it could not */
	OVER
};

struct beside_file {
	struct beside_file *_Atomic next;
	_Atomic int state;
	_Atomic bool finished;
	bool refused;    /* nothing more is tried before it is finished */
	bool open;       /* `c` is */
	int folder;      /* borrowed */
	uint64_t packed; /* bytes at its beginning that are compressed */
	unsigned stuck;  /* looks that have found nothing whole behind `c` */
	struct compress c;
	char name[NAME_MAX + 1];
};

struct folder {
	int fd;
	char path[PATH_MAX];
};

struct beside {
	struct beside_file *_Atomic files;
	struct beside_file *last;
	struct folder *folders; /* few: the trace's, the node's */
	uint32_t folder_count, folder_room;
	bool running, failed;
	_Atomic bool ending, hurry;
	_Atomic bool leave; /* the thread goes before the next step; another takes its work */
	_Atomic int tid;
	pthread_t thread;
	sem_t wake; /* the thread */
	sem_t done; /* with what there was */
	int waits;  /* tells how long the thread has waited for processors; -1: nobody does */
	uint64_t waited;
};

/* ---- out of everybody's way ------------------------------------------------------------------- */

/* Until then, or somebody posts it. */
static void sleep_until(sem_t *s, uint64_t ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), realtime = clock_ns(CLOCK_REALTIME);
	struct timespec t;

	if (ns <= now)
		return;
	realtime += ns - now;
	t.tv_sec = (time_t)(realtime / 1000000000u);
	t.tv_nsec = (long)(realtime % 1000000000u);
	sem_timedwait(s, &t);
}

static void sleep_ms(struct beside *b, unsigned ms)
{
	sleep_until(&b->wake, clock_ns(CLOCK_MONOTONIC) + ms * 1000000ull);
}

/* Of the thread; also by the drain, since a thread that gets no processor cannot do it. */
static void set_idle(int tid, bool idle)
{
	const struct sched_param none = {0};
	int io = idle ? IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0) : 0;

	sched_setscheduler(tid, idle ? SCHED_IDLE : SCHED_OTHER, &none);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid, io);
}

static void begin_idle(struct beside *b)
{
	prctl(PR_SET_NAME, "kymo-compress");
	b->tid = (int)syscall(SYS_gettid);
	if (!b->hurry)
		set_idle(b->tid, true);
	b->waits = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	b->waited = 0;
}

/*
 * A thread that gets no processor while the kernel forgets its files in /proc keeps who waits for the process busy, for seconds: so the end is not
 * idle, where the system allows it (CAP_SYS_NICE, RLIMIT_NICE).
 */
static void end_idle(struct beside *b)
{
	set_idle(b->tid, false);
	if (b->waits >= 0)
		close(b->waits);
	b->waits = -1;
}

static bool had_to_wait(struct beside *b)
{
	unsigned long long ran, waited = 0;
	char text[64] = "";
	bool had;

	if (b->waits < 0 || pread(b->waits, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%llu %llu", &ran, &waited) != 2)
		return false;
	had = waited > b->waited + WAITED_NS;
	b->waited = waited;
	return had;
}

/*
 * Being idle counts among the threads of a group, and the drain's group may weigh as much as all of the
 * program: so the thread goes away when it sees that processors are wanted.
 */
static void give_way(struct beside *b, bool recording)
{
	if (had_to_wait(b) && !b->hurry)
		sleep_ms(b, recording ? AWAY_MS : AWAY_AFTER_MS);
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* The records have the room first. */
static bool has_room(const struct beside_file *f, uint64_t bytes)
{
	struct statvfs s;

	return fstatvfs(f->folder, &s) == 0 && (uint64_t)s.f_bavail * s.f_frsize >= bytes;
}

static bool is_worth_it(const struct beside_file *f, bool finished)
{
	uint64_t more = f->packed * TIMES > BESIDE_GROWN ? f->packed * TIMES : BESIDE_GROWN, size;
	struct stat st;

	if (fstatat(f->folder, f->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	size = (uint64_t)st.st_size;
	if (finished)
		return size >= SMALL && size > f->packed;
	return !f->refused && size >= f->packed + more && has_room(f, size);
}

static bool open_file(struct beside_file *f)
{
	f->open = f->open || compress_open(&f->c, f->folder, f->name);
	if (f->open && f->c.at == 0)
		f->c.at = f->packed;
	return f->open;
}

static void close_file(struct beside_file *f)
{
	if (f->open)
		compress_close(&f->c);
	f->open = false;
}

/* Little is left that the drain has to copy. */
static bool is_near(const struct beside_file *f)
{
	struct stat st;

	return fstat(f->c.in, &st) == 0 && (uint64_t)st.st_size - f->c.at < REST_MAX / 4;
}

static enum state finish_file(struct beside *b, struct beside_file *f)
{
	enum compress_status status;

	while ((status = compress_step(&f->c)) == COMPRESS_MORE) {
		if (b->leave)
			return WORKING;
		give_way(b, !b->ending);
	}
	if (status == COMPRESS_WAITING)
		compress_finish(&f->c, true);
	return OVER;
}

/* Until the file is finished: there may be room for it then. */
static enum state give_up(struct beside_file *f)
{
	f->refused = true;
	close_file(f);
	return WORKING;
}

/* What comes next is being written, which may take its time; or is none of what is known here. */
static enum state stay(struct beside_file *f)
{
	return ++f->stuck < STUCK ? WORKING : give_up(f);
}

static enum state follow_file(struct beside *b, struct beside_file *f)
{
	enum compress_status status;
	uint64_t at;

	do {
		at = f->c.at;
		status = compress_step(&f->c);
		if (status != COMPRESS_MORE && status != COMPRESS_WAITING)
			return give_up(f);
		if (f->c.at == at && !is_near(f))
			return stay(f);
		f->stuck = 0;
		give_way(b, true);
		if (b->leave || f->finished)
			return WORKING;
	} while (!is_near(f));
	if (f->c.out.fd >= 0 && compress_flush(&f->c) && fdatasync(f->c.out.fd) == 0)
		return OFFERED;
	return give_up(f);
}

/* Something is done when the state changes. */
static enum state advance(struct beside *b, struct beside_file *f)
{
	bool finished = f->finished;

	if (!finished && f->refused)
		return WORKING;
	if (!f->open && !is_worth_it(f, finished))
		return finished ? OVER : WORKING;
	if (!open_file(f))
		return finished ? OVER : give_up(f);
	return finished ? finish_file(b, f) : follow_file(b, f);
}

/* ---- the thread ------------------------------------------------------------------------------- */

/* What is offered is the drain's, until it has finished the file without taking it. */
static bool is_ours(struct beside_file *f)
{
	int state = f->state, offered = OFFERED;

	if (state == OFFERED && f->finished)
		return atomic_compare_exchange_strong(&f->state, &offered, WORKING);
	return state == WORKING || state == MOVED || state == REFUSED;
}

/* What the drain has had in hand is not gone on with. */
static void take_back(struct beside_file *f)
{
	if (f->state == WORKING)
		return;
	f->refused |= f->state == REFUSED;
	close_file(f);
	f->state = WORKING;
}

/* False: there was nothing to do. */
static bool work_round(struct beside *b)
{
	bool worked = false;

	for (struct beside_file *f = b->files; f && !b->leave; f = f->next) {
		enum state state;

		if (!is_ours(f))
			continue;
		take_back(f);
		state = advance(b, f);
		if (state == OVER)
			close_file(f);
		worked |= state != WORKING;
		f->state = state;
	}
	return worked;
}

static void *work(void *data)
{
	struct beside *b = data;
	bool ending;

	begin_idle(b);
	while (!b->leave) {
		ending = b->ending;
		if (work_round(b))
			continue;
		if (b->hurry)
			sem_post(&b->done);
		if (ending)
			break;
		sleep_ms(b, TICK_MS);
	}
	end_idle(b);
	return NULL;
}

/* ---- the drain's side --------------------------------------------------------------------------- */

struct beside *beside_new(void)
{
	struct beside *b = calloc(1, sizeof(*b));

	if (b) {
		sem_init(&b->wake, 0, 0);
		sem_init(&b->done, 0, 0);
		b->waits = -1;
	}
	return b;
}

/* The folder as it is now: another trace may have its name when this one is moved or removed. */
static int folder_of(struct beside *b, const char *path)
{
	size_t length = (size_t)(strrchr(path, '/') - path);
	struct folder *f;

	for (uint32_t i = 0; i < b->folder_count; i++)
		if (strncmp(b->folders[i].path, path, length) == 0 &&
		    b->folders[i].path[length] == '\0')
			return b->folders[i].fd;
	if (!vec_reserve(&b->folders, &b->folder_room, b->folder_count, 1))
		return -1;
	f = &b->folders[b->folder_count];
	snprintf(f->path, sizeof(f->path), "%.*s", (int)length, path);
	f->fd = file_open_own(AT_FDCWD, f->path);
	b->folder_count += f->fd >= 0;
	return f->fd;
}

static bool start(struct beside *b)
{
	pthread_attr_t attributes;

	if (b->running)
		return true;
	b->tid = 0;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	b->running = pthread_create(&b->thread, &attributes, work, b) == 0;
	pthread_attr_destroy(&attributes);
	return b->running;
}

/* Waits for the thread until `deadline`. */
static bool ended_by(struct beside *b, uint64_t deadline)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), most = DAY_S * 1000000000ull, until;
	struct timespec t;

	until = clock_ns(CLOCK_REALTIME) + (deadline > now ? deadline - now : 0);
	if (deadline > now + most)
		until = clock_ns(CLOCK_REALTIME) + most;
	t.tv_sec = (time_t)(until / 1000000000u);
	t.tv_nsec = (long)(until % 1000000000u);
	b->running = pthread_timedjoin_np(b->thread, NULL, &t) != 0;
	return !b->running;
}

/*
 * Only who may do everything can have an idle thread work like others: so another one takes its work,
 * when it comes to the end of a step.
 */
static bool change_threads(struct beside *b, uint64_t deadline)
{
	bool ended;

	b->leave = true;
	sem_post(&b->wake);
	ended = !b->running || ended_by(b, deadline);
	b->leave = false;
	return ended && start(b);
}

void beside_hurry(struct beside *b, uint64_t deadline)
{
	if (b->hurry)
		return;
	b->hurry = true;
	b->hurry = change_threads(b, deadline);
}

static void stop_hurrying(struct beside *b)
{
	b->hurry = false;
	if (b->running && b->tid)
		set_idle(b->tid, true);
}

struct beside_file *beside_add(struct beside *b, const char *path)
{
	int folder = b && !b->failed && start(b) ? folder_of(b, path) : -1;
	struct beside_file *f = folder >= 0 ? calloc(1, sizeof(*f)) : NULL;

	if (!f && b)
		b->failed = true;
	if (!f)
		return NULL;
	f->folder = folder;
	snprintf(f->name, sizeof(f->name), "%s", strrchr(path, '/') + 1);
	if (b->last)
		b->last->next = f;
	else
		b->files = f;
	b->last = f;
	return f;
}

void beside_finished(struct beside *b, struct beside_file *f)
{
	f->finished = true;
	sem_post(&b->wake);
}

void beside_move(struct beside_file *f, struct rawfile *file)
{
	enum state state = WORKING;
	uint64_t packed;

	if (!f || f->state != OFFERED)
		return;
	if (file->bytes - f->c.at <= REST_MAX) {
		packed = f->c.written;
		state = rawfile_move(file, &f->c) ? MOVED : REFUSED;
		f->packed = state == MOVED ? packed : f->packed;
	}
	f->state = state;
}

bool beside_is_done(const struct beside *b)
{
	for (struct beside_file *f = b ? b->files : NULL; f; f = f->next)
		if (f->finished && f->state != OVER)
			return false;
	return true;
}

void beside_wait(struct beside *b, uint64_t deadline)
{
	if (beside_is_done(b))
		return;
	beside_hurry(b, deadline);
	while (b->running && !beside_is_done(b) && clock_ns(CLOCK_MONOTONIC) < deadline)
		sleep_until(&b->done, clock_ns(CLOCK_MONOTONIC) + WAIT_MS * 1000000ull);
	stop_hurrying(b);
}

/* What is left where the thread has gone, and there was no other. */
static void work_alone(struct beside *b)
{
	if (beside_is_done(b))
		return;
	set_idle((int)syscall(SYS_gettid), true);
	while (work_round(b))
		;
}

void beside_end(struct beside *b)
{
	struct beside_file *next;

	if (!b)
		return;
	b->ending = true;
	sem_post(&b->wake);
	if (b->running)
		pthread_join(b->thread, NULL);
	work_alone(b);
	for (struct beside_file *f = b->files; f; f = next) {
		next = f->next;
		close_file(f);
		free(f);
	}
	for (uint32_t i = 0; i < b->folder_count; i++)
		close(b->folders[i].fd);
	free(b->folders);
	sem_destroy(&b->wake);
	sem_destroy(&b->done);
	free(b);
}
