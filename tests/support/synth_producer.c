/* SPDX-License-Identifier: Apache-2.0 */
/* See synth_producer.h. */
#include "support/synth_producer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/bell.h"

enum { KEEP_BACK = 2, FOR_EVER = 2000000 /* then it only lives on: a failed test fills no disk */ };

struct synth_account *synth_account_new(void)
{
	return mmap(NULL, sizeof(struct synth_account), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* ---- the buffer ----------------------------------------------------------------------------- */

struct shm_header *synth_buffer(const struct synth *s, int *memfd)
{
	uint64_t ctl = 4096, threads = ctl + s->chunks * sizeof(struct shm_chunk_ctl);
	uint64_t chunks = (threads + SHM_THREADS * sizeof(struct shm_thread) + 4095) & ~4095ull;
	uint64_t bytes = chunks + (uint64_t)s->chunks * s->chunk_size;
	struct shm_header *h;

	*memfd = memfd_create("synth", MFD_CLOEXEC);
	if (*memfd < 0 || ftruncate(*memfd, (off_t)bytes) != 0)
		return NULL;
	h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *memfd, 0);
	if (h == MAP_FAILED)
		return NULL;
	h->magic = SHM_MAGIC;
	h->version = SHM_VERSION;
	atomic_store(&h->begun, SHM_BEGUN);
	h->header_size = sizeof(*h);
	h->bytes = bytes;
	h->ctl_offset = ctl;
	h->threads_offset = threads;
	h->chunks_offset = chunks;
	h->chunk_size = s->chunk_size;
	h->chunk_max = s->chunks;
	h->pid = (uint32_t)getpid();
	h->wake_threshold = 4;
	h->chunk_count = s->chunks;
	h->free_list[0] = h->free_list[1] = SHM_NONE;
	for (uint32_t i = s->chunks; i-- > 0;) {
		shm_ctl(h)[i].list = i < KEEP_BACK ? SHM_LIST_DEFINITIONS : SHM_LIST_RECORDS;
		shm_push(h, shm_ctl(h), i, shm_ctl(h)[i].list);
	}
	return h;
}

int synth_dial(const char *socket_path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(a.sun_path, socket_path, sizeof(a.sun_path) - 1);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

bool synth_say(int fd, const struct shm_hello *hello, size_t bytes, int memfd)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)hello, bytes};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (memfd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.h.cmsg_level = SOL_SOCKET;
		control.h.cmsg_type = SCM_RIGHTS;
		control.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.h), &memfd, sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)bytes;
}

int synth_hello(int fd, const struct shm_hello *hello, size_t bytes, int memfd)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct shm_welcome w;

	if (!synth_say(fd, hello, bytes, memfd) || poll(&p, 1, 10000) != 1 ||
	    recv(fd, &w, sizeof(w), 0) != (ssize_t)sizeof(w))
		return -1000;
	return w.status;
}

struct shm_header *synth_connect(const struct synth *s, int *memfd, int *status)
{
	struct shm_header *h = synth_buffer(s, memfd);
	struct shm_hello hello = {SHM_MAGIC,        SHM_VERSION, (uint32_t)getpid(),
				  h ? h->bytes : 0, 0,           0};
	int fd = synth_dial(s->socket);

	*status = fd < 0 ? -1001 : synth_hello(fd, &hello, sizeof(hello), *memfd);
	close(fd);
	return *status == 0 ? h : NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

struct writer {
	const struct synth *s;
	struct shm_header *h;
	unsigned thread; /* from 0 */
	struct wire_ring ring;
	uint32_t chunk;
};

static void put_chunk(struct writer *w)
{
	uint32_t full;

	atomic_store_explicit(&shm_ctl(w->h)[w->chunk].state, SHM_FULL, memory_order_release);
	full = atomic_fetch_add(&w->h->full, 1) + 1;
	if (full % 4 == 0)
		shm_ring(w->h);
	w->ring.cur = NULL;
}

/* False: the drain cannot write any more. */
static bool get_chunk(struct writer *w)
{
	struct wire_chunk *c;
	uint32_t i;

	for (;;) {
		uint32_t freed = atomic_load(&w->h->freed);

		if (atomic_load(&w->h->drain_failed))
			return false;
		i = shm_pop(w->h, shm_ctl(w->h), w->s->chunks, SHM_LIST_RECORDS);
		if (i != SHM_NONE)
			break;
		atomic_fetch_add(&w->h->waiters, 1);
		shm_ring(w->h);
		futex_wait(&w->h->freed, freed, 100000000);
		atomic_fetch_sub(&w->h->waiters, 1);
	}
	atomic_store(&shm_ctl(w->h)[i].state, SHM_FILLING);
	c = shm_chunk(w->h, i);
	memset(c, 0, sizeof(*c));
	c->version = WIRE_VERSION;
	c->header_size = sizeof(*c);
	c->type = WIRE_CHUNK_RECORDS;
	c->thread = w->thread + 1;
	c->tid = (uint32_t)getpid() + w->thread;
	c->seq = w->ring.seq++;
	c->base_tick = w->ring.last_tick = tick_now();
	c->next_id = w->ring.next_id;
	atomic_store(&c->committed, sizeof(*c));
	atomic_thread_fence(memory_order_release);
	c->magic = WIRE_CHUNK_MAGIC;
	w->chunk = i;
	w->ring.chunk = c;
	w->ring.cur = (uint8_t *)(c + 1);
	w->ring.limit = (uint8_t *)c + w->s->chunk_size - WIRE_RECORD_MAX - WIRE_SLACK;
	return true;
}

static void *write_records(void *data)
{
	struct writer *w = data;
	struct synth_account *a = w->s->account;
	struct wire_event v = {.op = 7, .site = 1};
	struct wire_enc e;

	w->ring.next_id = ((uint64_t)w->thread << 40) + 1;
	for (uint64_t i = 0; i < (w->s->records ? w->s->records : FOR_EVER); i++) {
		if (!w->ring.cur || w->ring.cur > w->ring.limit) {
			if (w->ring.cur)
				put_chunk(w);
			if (!get_chunk(w)) {
				atomic_store(&a->drain_failed, 1);
				return NULL;
			}
		}
		v.id = w->ring.next_id;
		v.start = v.end = tick_now();
		wire_begin(&e, &w->ring, &v, 1);
		wire_unsigned(&e, 0, i);
		wire_end(&e, &w->ring);
		atomic_store_explicit(&a->committed[w->thread], i + 1, memory_order_release);
	}
	if (w->ring.cur)
		put_chunk(w);
	return NULL;
}

static void leave_open_calls(const struct synth *s, struct shm_header *h)
{
	for (unsigned t = 0; t < s->threads; t++) {
		struct shm_thread *slot = &shm_threads(h)[t];

		for (unsigned i = 0; i < s->open_calls && i < WIRE_OPEN_MAX; i++)
			slot->open[i] = (struct wire_open){1000 + i, 5000 + i, 7, 1};
		slot->index = t + 1;
		slot->tid = (uint32_t)getpid() + t;
		atomic_store(&slot->depth, s->open_calls);
	}
}

void synth_write(const struct synth *s, struct shm_header *h)
{
	struct writer w[SYNTH_THREADS];
	pthread_t threads[SYNTH_THREADS];

	tick_init();
	if (s->open_calls)
		leave_open_calls(s, h);
	for (unsigned i = 0; i < s->threads; i++) {
		w[i] = (struct writer){.s = s, .h = h, .thread = i};
		pthread_create(&threads[i], NULL, write_records, &w[i]);
	}
	for (unsigned i = 0; i < s->threads; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&h->state, s->state);
}

void synth_own_faults(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGABRT};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		signal(faults[i], SIG_DFL);
}

pid_t synth_start(const struct synth *s)
{
	pid_t pid = fork();
	struct shm_header *h;
	int memfd, status;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	synth_own_faults();
	h = synth_connect(s, &memfd, &status);
	if (!h)
		_exit(90);
	close(memfd);
	atomic_store(&s->account->connected, 1);
	synth_write(s, h);
	while (s->linger || (s->records == 0 && !atomic_load(&s->account->drain_failed)))
		pause();
	_exit(0);
}
