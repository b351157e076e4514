/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer's memory: mapped and checked, taken over, begun and let go, and what is asked of the process
 * through it. What is in it is taken by producer.c.
 */
#include "base/futex.h"
#include "drain/producer_inside.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/job.h"
#include "drain/life.h"

enum { CHUNK_MIN = 4096, CHUNK_SIZE_MAX = 1 << 24 };
#define BUFFER_MAX (64ull << 30)

/* ---- memory that may go away --------------------------------------------------------------- */

static struct {
	uintptr_t begin, end;
} guarded; /* the copy in progress */

/* A page of the buffer that is no longer there (the file was cut) reads as zeros from now on. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t a = (uintptr_t)info->si_addr, page = a & ~(uintptr_t)4095;

	if (a >= guarded.begin && a < guarded.end &&
	    mmap((void *)page, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		return;
	signal(SIGBUS, SIG_DFL);
}

void producer_guard_memory(void)
{
	struct sigaction sa = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	sigaction(SIGBUS, &sa, NULL);
}

void producer_guard(const struct producer *p)
{
	guarded.begin = (uintptr_t)p->shm;
	guarded.end = guarded.begin + p->bytes;
}

/* ---- beginning ------------------------------------------------------------------------------ */

static bool range_fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t end)
{
	return offset % 8 == 0 && offset >= sizeof(struct shm_header) && offset <= end &&
	       count * size <= end - offset;
}

static bool take_geometry(struct producer *p)
{
	struct shm_header h;

	memcpy(&h, p->shm, sizeof(h));
	if (h.magic != SHM_MAGIC || h.version != SHM_VERSION || h.header_size != sizeof(h) ||
	    h.bytes != p->bytes || h.chunk_max == 0 || h.chunk_max > SHM_CHUNK_MAX ||
	    h.chunk_size < CHUNK_MIN || h.chunk_size > CHUNK_SIZE_MAX || h.chunk_size % 64 != 0)
		return false;
	/* In this order, so that they do not overlap. */
	if (!range_fits(h.ctl_offset, h.chunk_max, sizeof(struct shm_chunk_ctl),
			h.threads_offset) ||
	    !range_fits(h.threads_offset, SHM_THREADS, sizeof(struct shm_thread),
			h.chunks_offset) ||
	    !range_fits(h.chunks_offset, h.chunk_max, h.chunk_size, p->bytes))
		return false;
	p->ctl_offset = h.ctl_offset;
	p->threads_offset = h.threads_offset;
	p->chunks_offset = h.chunks_offset;
	p->chunk_size = h.chunk_size;
	p->chunk_max = h.chunk_max;
	return true;
}

bool producer_map(struct producer *p)
{
	struct stat st;
	void *m;

	if (fstat(p->memfd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < sizeof(struct shm_header) || (uint64_t)st.st_size > BUFFER_MAX)
		return false;
	p->bytes = (size_t)st.st_size;
	p->before = mmap(NULL, life_page() + p->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->before == MAP_FAILED) {
		p->before = NULL;
		return false;
	}
	m = mmap((uint8_t *)p->before + life_page(), p->bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, p->memfd, 0);
	if (m == MAP_FAILED)
		return false;
	if (!p->journal) {       /* else it is for who comes next */
		close(p->memfd); /* descriptors are what there are fewest of */
		p->memfd = -1;
	}
	p->shm = m;
	producer_guard(p);
	return true;
}

/* While the process is there to be asked. */
static void take_header(struct producer *p)
{
	struct raw_header h = {.magic = RAW_MAGIC,
			       .version = RAW_VERSION,
			       .header_size = sizeof(h),
			       .pid = (uint32_t)p->pid,
			       .wire_version = WIRE_VERSION,
			       .created_realtime = clock_ns(CLOCK_REALTIME)};
	struct job_around around;
	struct job job;

	gethostname((char *)h.hostname, sizeof(h.hostname) - 1);
	job_of_process(&job, p->pid);
	memcpy(h.job, job.world, sizeof(h.job));
	h.rank = job.rank;
	p->header = h;
	job_around(&around, &job, p->pid);
	p->job = (struct raw_job){.size = job.size,
				  .restart = job.restart,
				  .count = around.count,
				  .inside = around.inside};
	_Static_assert(sizeof(p->job.above) == sizeof(around.above), "as many");
	_Static_assert(sizeof(p->job.by) == sizeof(job.by), "as long");
	memcpy(p->job.above, around.above, sizeof(around.above));
	memcpy(p->job.by, job.by, sizeof(job.by));
}

void producer_sync(struct producer *p)
{
	struct tick_sync s;
	struct raw_tick_sync raw;

	tick_sync_take(&s);
	raw = (struct raw_tick_sync){s.before, s.after, s.monotonic_raw, s.realtime};
	rawfile_add_needed(&p->file, RAW_TICK_SYNC, &raw, sizeof(raw));
}

void producer_beat(struct producer *p)
{
	atomic_store_explicit(&p->shm->drain_beat, clock_ns(CLOCK_MONOTONIC) / 1000000000u,
			      memory_order_relaxed);
}

static void leave_place(struct producer *p)
{
	if (p->place >= 0)
		close(p->place);
	p->place = -1;
}

void producer_release(struct producer *p)
{
	if (p->before) {
		life_remove(p->before);
		munmap(p->before, life_page() + p->bytes);
	}
	if (p->memfd >= 0)
		close(p->memfd);
	if (p->pidfd >= 0)
		close(p->pidfd);
	leave_place(p);
	free(p->already);
	free(p);
}

struct producer *producer_new(int memfd, int pid, struct journal *j, kymo_status_t *status)
{
	struct producer *p = calloc(1, sizeof(*p));

	*status = KYMO_ERROR_NO_MEMORY;
	if (!p) {
		close(memfd);
		return NULL;
	}
	p->memfd = memfd;
	p->pid = pid;
	p->pidfd = -1;
	p->place = -1;
	p->defining = SHM_NONE;
	p->born = clock_ns(CLOCK_MONOTONIC);
	p->journal = j;
	errno = 0;
	if (!producer_map(p) || !take_geometry(p)) {
		*status = errno == ENOMEM ? KYMO_ERROR_NO_MEMORY : KYMO_ERROR_INCOMPATIBLE;
		producer_release(p);
		return NULL;
	}
	take_header(p);
	*status = KYMO_OK;
	return p;
}

void producer_be_there(struct producer *p)
{
	atomic_store(&p->shm->drain_pid, (uint32_t)getpid());
	atomic_store(&p->shm->drain_kept, p->kept != NULL);
	producer_beat(p);
	life_add(p->before, &p->shm->drain_life);
}

void producer_adopt(struct producer *p, uint32_t number)
{
	struct journal_producer k = {.number = number,
				     .memfd = p->memfd,
				     .pidfd = p->pidfd,
				     .pid = p->pid,
				     .image = p->image,
				     .born = p->born,
				     .bytes = p->bytes,
				     .ctl_offset = p->ctl_offset,
				     .threads_offset = p->threads_offset,
				     .chunks_offset = p->chunks_offset,
				     .chunk_size = p->chunk_size,
				     .chunk_max = p->chunk_max,
				     .header = p->header,
				     .job = p->job};

	process_delay_now(p->pid, p->pidfd, &p->used.delay);
	if (!p->delay_before) /* else of what exec has replaced, as its use of processors */
		p->delay_before = p->used.delay;
	k.delay_before = p->delay_before;
	p->kept = journal_add(p->journal, JOURNAL_ADOPTED, &k, sizeof(k), NULL);
	producer_be_there(p);
}

bool producer_has(const struct producer *p, int memfd)
{
	struct stat own, other;

	return p->memfd >= 0 && fstat(p->memfd, &own) == 0 && fstat(memfd, &other) == 0 &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

void producer_alone(struct producer *p)
{
	producer_guard(p);
	atomic_store(&p->shm->drain_kept, 0);
}

bool producer_wants(const struct producer *p)
{
	return atomic_load(&p->shm->begun) == SHM_BEGUN;
}

bool producer_claim(struct producer *p)
{
	uint32_t begun = SHM_NOT_BEGUN;

	producer_guard(p);
	return atomic_compare_exchange_strong(&p->shm->begun, &begun, SHM_BEGUN) ||
	       begun == SHM_BEGUN;
}

bool producer_too_late(struct producer *p)
{
	uint32_t begun = SHM_NOT_BEGUN;

	producer_guard(p);
	return atomic_compare_exchange_strong(&p->shm->begun, &begun, SHM_TOO_LATE) ||
	       begun != SHM_BEGUN;
}

void producer_drop(struct producer *p)
{
	producer_release(p);
}

void producer_refuse(struct producer *p, int error)
{
	producer_guard(p);
	atomic_store(&p->shm->drain_failed, (uint32_t)error);
	atomic_store(&p->shm->begun, SHM_TOO_LATE);
}

bool producer_begin(struct producer *p, const char *trace)
{
	producer_guard(p);
	leave_place(p);
	if (!rawfile_create(&p->file, trace, &p->header)) {
		producer_refuse(p, errno);
		return false;
	}
	if (p->kept)
		journal_add(p->journal, JOURNAL_BEGUN, &p->kept->number, sizeof(p->kept->number),
			    p->file.path);
	p->begun = true;
	if (p->job.by[0])
		rawfile_add_needed(&p->file, RAW_JOB, &p->job, sizeof(p->job));
	producer_sync(p);
	p->next_sync = clock_ns(CLOCK_MONOTONIC) + SYNC_NS;
	rawfile_flush(&p->file);
	return true;
}

/* ---- what is asked of it --------------------------------------------------------------------- */

void producer_ask(struct producer *p, uint32_t asked)
{
	producer_guard(p);
	p->asked = asked;
	atomic_store(&p->shm->asked, asked);
	futex_wake(&p->shm->asked, FUTEX_ALL);
}

bool producer_left(const struct producer *p)
{
	producer_guard(p);
	return atomic_load(&p->shm->state) == SHM_LEFT;
}

bool producer_answered(const struct producer *p)
{
	producer_guard(p);
	return atomic_load(&p->shm->answered) == p->asked;
}

bool producer_listens(const struct producer *p)
{
	producer_guard(p);
	return p->begun || atomic_load(&p->shm->listening);
}

uint32_t producer_stands(struct producer *p)
{
	producer_guard(p);
	return p->asked = atomic_load(&p->shm->answered);
}
