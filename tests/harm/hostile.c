/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A drain that means harm: it speaks the protocol, takes what programs share with it, and writes
 * into that memory as long as the program lives. hostile SOCKET SEED ATTACK PROCESSES
 *
 *   geometry  each word of the header that says where things lie, once and wrong
 *   lists     chunks that are in use, or are none, are put on the free lists
 *   header, control, chunks, all: random words there
 *
 * Prints "ready" when it listens, then a line for each process with what it wrote.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/shm.h"

enum { PATIENCE_MS = 60000 };

struct victim {
	uint8_t *memory;
	size_t bytes;
	struct shm_header layout; /* as it was */
	int pidfd;
};

static uint64_t state;

static uint64_t number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* What a check might let through, and what none should. */
static uint32_t word(const struct victim *v)
{
	static const uint32_t odd[] = {0,          1,          2,          3,    4,
				       0x7fffffff, 0x80000000, 0xffffffff, 4096, 32768};

	switch (number() % 4) {
	case 0:
		return odd[number() % (sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return (uint32_t)(number() % v->layout.chunk_max);
	case 2:
		return (uint32_t)(number() % 65536);
	default:
		return (uint32_t)number();
	}
}

static void write_word(const struct victim *v, size_t from, size_t to)
{
	size_t at = from + number() % (to - from) / 4 * 4;
	_Atomic uint32_t *p = (_Atomic uint32_t *)(v->memory + at);

	atomic_store_explicit(p, word(v), memory_order_relaxed);
}

/* The heads of chunks more often than what is in them. */
static void write_chunk(const struct victim *v)
{
	size_t chunk =
		v->layout.chunks_offset + number() % v->layout.chunk_max * v->layout.chunk_size;

	write_word(v, chunk, chunk + (number() % 4 ? 256 : v->layout.chunk_size));
}

static void write_lists(const struct victim *v)
{
	struct shm_header *h = (struct shm_header *)v->memory;
	struct shm_chunk_ctl *ctl = (struct shm_chunk_ctl *)(v->memory + v->layout.ctl_offset);
	uint32_t i = (uint32_t)(number() % v->layout.chunk_max);

	atomic_store(&ctl[i].next, word(v));
	atomic_store(&ctl[i].state, word(v) % 8);
	atomic_store(&h->free_list[number() % 2], number() << 32 | word(v));
	atomic_fetch_add(&h->freed, 1);
}

static void write_geometry(const struct victim *v, uint64_t round)
{
	static const size_t words[] = {offsetof(struct shm_header, ctl_offset),
				       offsetof(struct shm_header, threads_offset),
				       offsetof(struct shm_header, chunks_offset),
				       offsetof(struct shm_header, bytes),
				       offsetof(struct shm_header, chunk_size),
				       offsetof(struct shm_header, chunk_max),
				       offsetof(struct shm_header, chunk_count),
				       offsetof(struct shm_header, kept_back),
				       offsetof(struct shm_header, overwrite),
				       offsetof(struct shm_header, listening),
				       offsetof(struct shm_header, wake_threshold)};
	uint32_t value = word(v) | 1u << 30;

	memcpy(v->memory + words[round % (sizeof(words) / sizeof(words[0]))], &value,
	       sizeof(value));
}

static void attack_once(const struct victim *v, const char *attack, uint64_t round)
{
	size_t ctl = v->layout.ctl_offset, threads = v->layout.threads_offset;
	bool all = strcmp(attack, "all") == 0;

	if (strcmp(attack, "geometry") == 0)
		write_geometry(v, round);
	if (strcmp(attack, "lists") == 0 || (all && round % 4 == 0))
		write_lists(v);
	if (strcmp(attack, "header") == 0 || (all && round % 4 == 1))
		write_word(v, 0, sizeof(struct shm_header));
	if (strcmp(attack, "control") == 0 || (all && round % 4 == 2))
		write_word(v, ctl, threads);
	if (strcmp(attack, "chunks") == 0 || (all && round % 4 == 3))
		write_chunk(v);
}

static uint64_t attack_until_gone(const struct victim *v, const char *attack)
{
	struct pollfd p = {v->pidfd, POLLIN, 0};
	uint64_t round = 0;

	do {
		for (unsigned i = 0; i < 64; i++)
			attack_once(v, attack, round++);
	} while (poll(&p, 1, 0) == 0);
	return round;
}

static int receive(int fd, bool *early)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct shm_hello hello;
	struct iovec iov = {&hello, sizeof(hello)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	int memfd = -1;

	if (recvmsg(fd, &m, 0) == (ssize_t)sizeof(hello) && CMSG_FIRSTHDR(&m))
		memcpy(&memfd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(memfd));
	*early = memfd >= 0 && hello.early;
	return memfd;
}

static bool take(int fd, struct victim *v)
{
	struct shm_welcome w = {SHM_MAGIC, SHM_VERSION, 0};
	struct ucred peer;
	socklen_t size = sizeof(peer);
	bool early;
	int memfd = receive(fd, &early);
	struct stat st;

	if (memfd < 0 || fstat(memfd, &st) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return false;
	v->bytes = (size_t)st.st_size;
	v->memory = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	close(memfd);
	v->pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	if (v->memory == MAP_FAILED || v->pidfd < 0)
		return false;
	memcpy(&v->layout, v->memory, sizeof(v->layout));
	atomic_store(&((struct shm_header *)v->memory)->drain_beat, UINT32_MAX); /* is alive */
	/* Who shares early does not wait for the answer. */
	return send(fd, &w, sizeof(w), MSG_NOSIGNAL) == (ssize_t)sizeof(w) || early;
}

/* What is attacked is what the victim uses: it comes again if it began before it was let in. */
static bool take_used(int listener, struct victim *v)
{
	struct pollfd p[] = {{listener, POLLIN, 0}, {-1, POLLIN, 0}};
	bool ok = true;

	while (ok && atomic_load(&((struct shm_header *)v->memory)->begun) != SHM_BEGUN) {
		int fd;

		p[1].fd = v->pidfd;
		if (poll(p, 2, 1) < 1)
			continue;
		if (p[1].revents)
			return false; /* it is gone */
		fd = accept(listener, NULL, NULL);
		munmap(v->memory, v->bytes);
		close(v->pidfd);
		ok = fd >= 0 && take(fd, v);
		close(fd);
	}
	return ok;
}

static int serve(int listener, const char *attack)
{
	struct pollfd p = {listener, POLLIN, 0};
	struct victim v;
	int fd;

	if (poll(&p, 1, PATIENCE_MS) != 1) {
		puts("nobody came");
		return 1;
	}
	fd = accept(listener, NULL, NULL);
	if (fd < 0 || !take(fd, &v)) {
		puts("nothing was shared");
		return 1;
	}
	close(fd);
	if (!take_used(listener, &v)) {
		puts("nothing was used");
		return 1;
	}
	printf("%s: %lu words over %zu bytes\n", attack,
	       (unsigned long)attack_until_gone(&v, attack), v.bytes);
	fflush(stdout);
	munmap(v.memory, v.bytes);
	close(v.pidfd);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), status = 0;

	if (argc != 5)
		return 2;
	strncpy(a.sun_path, argv[1], sizeof(a.sun_path) - 1);
	state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(listener, 8) != 0)
		return 2;
	puts("ready");
	fflush(stdout);
	for (int i = atoi(argv[4]); i > 0 && !status; i--)
		status = serve(listener, argv[3]);
	return status;
}
