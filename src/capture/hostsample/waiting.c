/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that threads wait in; see waiting.h and proc(5), /proc/pid/syscall. */
#include "capture/hostsample/waiting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/hostsample/code.h"
#include "core/unwind/unwind.h"

enum about { ABOUT_NOTHING, ABOUT_FUTEX, ABOUT_DESCRIPTOR };

static const struct call {
	long number;
	const char *name;
	enum cap_off_cpu kind;
	enum about about; /* its first argument */
} calls[] = {
#define CALL(name, kind, about)                                                                    \
	{                                                                                          \
		SYS_##name, #name, CAP_OFF_CPU_##kind, ABOUT_##about                               \
	}
	CALL(futex, LOCK, FUTEX),
#ifdef SYS_futex_waitv
	CALL(futex_waitv, LOCK, NOTHING),
#endif
	CALL(nanosleep, SLEEP, NOTHING),
	CALL(clock_nanosleep, SLEEP, NOTHING),
#ifdef SYS_poll
	CALL(poll, POLL, NOTHING),
	CALL(select, POLL, NOTHING),
	CALL(epoll_wait, POLL, DESCRIPTOR),
	CALL(pause, SLEEP, NOTHING),
#endif
	CALL(ppoll, POLL, NOTHING),
	CALL(pselect6, POLL, NOTHING),
	CALL(epoll_pwait, POLL, DESCRIPTOR),
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2, POLL, DESCRIPTOR),
#endif
	CALL(io_getevents, IO, NOTHING),
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter, IO, NOTHING),
#endif
	CALL(rt_sigtimedwait, SLEEP, NOTHING),
	CALL(rt_sigsuspend, SLEEP, NOTHING),
	CALL(read, IO, DESCRIPTOR),
	CALL(write, IO, DESCRIPTOR),
	CALL(pread64, IO, DESCRIPTOR),
	CALL(pwrite64, IO, DESCRIPTOR),
	CALL(readv, IO, DESCRIPTOR),
	CALL(writev, IO, DESCRIPTOR),
	CALL(preadv, IO, DESCRIPTOR),
	CALL(pwritev, IO, DESCRIPTOR),
	CALL(preadv2, IO, DESCRIPTOR),
	CALL(pwritev2, IO, DESCRIPTOR),
	CALL(fsync, IO, DESCRIPTOR),
	CALL(fdatasync, IO, DESCRIPTOR),
	CALL(sync_file_range, IO, DESCRIPTOR),
	CALL(fallocate, IO, DESCRIPTOR),
	CALL(flock, IO, DESCRIPTOR),
	CALL(fcntl, IO, DESCRIPTOR),
	CALL(ioctl, IO, DESCRIPTOR),
	CALL(sendfile, IO, DESCRIPTOR),
	CALL(copy_file_range, IO, DESCRIPTOR),
	CALL(splice, IO, DESCRIPTOR),
	CALL(openat, IO, NOTHING),
	CALL(close, IO, DESCRIPTOR),
	CALL(recvfrom, NETWORK, DESCRIPTOR),
	CALL(recvmsg, NETWORK, DESCRIPTOR),
	CALL(recvmmsg, NETWORK, DESCRIPTOR),
	CALL(sendto, NETWORK, DESCRIPTOR),
	CALL(sendmsg, NETWORK, DESCRIPTOR),
	CALL(sendmmsg, NETWORK, DESCRIPTOR),
	CALL(accept, NETWORK, DESCRIPTOR),
	CALL(accept4, NETWORK, DESCRIPTOR),
	CALL(connect, NETWORK, DESCRIPTOR),
	CALL(wait4, CHILD, NOTHING),
	CALL(waitid, CHILD, NOTHING),
};

static const struct call *find(long number)
{
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* Other files than those of a file system are named by their kind: "socket:[8123]". */
static void name_descriptor(struct waiting *w)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%llu", (unsigned long long)w->object);
	n = readlink(link, w->path, sizeof(w->path) - 1);
	w->path[n > 0 ? n : 0] = '\0';
	if (w->kind == CAP_OFF_CPU_IO && strncmp(w->path, "socket:", 7) == 0)
		w->kind = CAP_OFF_CPU_NETWORK;
}

static void describe(struct waiting *w, long number, uint64_t first)
{
	const struct call *c = find(number);

	if (!c) {
		w->kind = CAP_OFF_CPU_OTHER;
		snprintf(w->call, sizeof(w->call), "%ld", number);
		return;
	}
	w->kind = c->kind;
	snprintf(w->call, sizeof(w->call), "%s", c->name);
	if (c->about != ABOUT_NOTHING)
		w->object = first;
	if (c->about == ABOUT_DESCRIPTOR)
		name_descriptor(w);
}

static size_t read_file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/*
 * A thread that waits leaves its stack alone. Of its registers the stack pointer is known, and those that functions have put
 * there: a frame that needs one which none has ends the stack.
 */
static void look_at_stack(struct waiting *w, uint64_t sp)
{
	const struct unwind_registers from = {.pc = w->pc, .sp = sp};
	const uint32_t n = unwind_stack(&from, 0, w->addresses, WAITING_DEPTH, &w->end);

	w->count = code_chain(w->addresses, n);
	if (w->count < n)
		w->end = STACK_NO_OBJECT;
}

/* "running"; or the number, six arguments, stack pointer and program counter; or -1 and the latter two. */
bool waiting_look(uint32_t tid, struct waiting *out)
{
	uint64_t words[8] = {0};
	char path[64], text[256], *p = text;
	unsigned n = 0;
	long number;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", tid);
	if (!read_file(path, text, sizeof(text)))
		return false;
	number = strtol(p, &p, 10);
	if (p == text)
		return false;
	for (char *end; n < 8; n++, p = end) {
		words[n] = strtoull(p, &end, 16);
		if (end == p)
			break;
	}
	if (n < 2)
		return false;
	*out = (struct waiting){.kind = CAP_OFF_CPU_FAULT, .pc = words[n - 1]};
	if (number >= 0)
		describe(out, number, words[0]);
	look_at_stack(out, words[n - 2]);
	return true;
}

/* proc(5), /proc/pid/stat: field 39, counted from the state (3) on, as names may have anything in them. */
uint32_t waiting_cpu(uint32_t tid)
{
	char path[64], text[1024], *at;
	unsigned field = 3;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	for (at = at ? strchr(at, ' ') : NULL; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? (uint32_t)strtoul(at, NULL, 10) : 0;
}
