/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of libkymo-posix.so share: the functions that it stands before, and who is recorded. */
#ifndef CAPTURE_POSIX_DOOR_H
#define CAPTURE_POSIX_DOOR_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/own_code.h"
#include "capture/posix/posix.h"
#include "core/capture.h"

#define EXPORT __attribute__((visibility("default")))

/* X(name) of every function; FUNCTION_name is its number. */
/* clang-format off */
#define POSIX_FUNCTIONS(X) \
	X(open) X(open64) X(__open_2) X(__open64_2) X(openat) X(openat64) X(__openat_2) \
	X(__openat64_2) X(creat) X(creat64) X(close) X(close_range) X(closefrom) X(fclose) \
	X(closedir) X(read) X(__read_chk) X(pread) X(pread64) X(__pread_chk) \
	X(__pread64_chk) X(readv) X(preadv) X(preadv64) X(preadv2) X(preadv64v2) X(write) \
	X(pwrite) X(pwrite64) X(writev) X(pwritev) X(pwritev64) X(pwritev2) X(pwritev64v2) \
	X(lseek) X(lseek64) X(fsync) X(fdatasync) X(sync_file_range) X(ftruncate) \
	X(ftruncate64) X(fallocate) X(fallocate64) X(posix_fallocate) X(posix_fallocate64) \
	X(flock) X(lockf) X(lockf64) X(fcntl) X(fcntl64) X(dup) X(dup2) X(dup3) X(mmap) \
	X(mmap64) X(msync) X(sendfile) X(sendfile64) X(copy_file_range) X(splice) \
	X(connect) X(accept) X(accept4) X(send) X(sendto) X(sendmsg) X(sendmmsg) X(recv) \
	X(__recv_chk) X(recvfrom) X(__recvfrom_chk) X(recvmsg) X(recvmmsg) X(shutdown) \
	X(pipe) X(pipe2) X(socket) X(socketpair) X(vfork)
/* clang-format on */

enum posix_function {
#define FUNCTION(name) FUNCTION_##name,
	POSIX_FUNCTIONS(FUNCTION)
#undef FUNCTION
		FUNCTIONS
};

typedef void posix_fn(void);

/* The next definition of a function, looked up the first time. Keeps errno. */
posix_fn *posix_find(enum posix_function f);
extern posix_fn *_Atomic posix_next[FUNCTIONS];

static inline posix_fn *posix_next_of(enum posix_function f)
{
	posix_fn *next = atomic_load_explicit(&posix_next[f], memory_order_relaxed);

	return cap_likely(next != NULL) ? next : posix_find(f);
}

#define NEXT(name) ((__typeof__(&(name)))posix_next_of(FUNCTION_##name))

#define VFORKED 2u
/* 1: the thread is in this library; VFORKED: it has the memory of the parent of a vfork(). */
extern _Thread_local uint32_t posix_inside __attribute__((tls_model("initial-exec")));
/* Whose call it is in this library for. */
extern _Thread_local const void *posix_inside_sp __attribute__((tls_model("initial-exec")));

/* Recording began. */
extern bool posix_started;

static inline bool posix_enter(struct posix_call *c, const void *caller, const void *sp)
{
	bool entered;

	if (!posix_started || own_code_has(caller))
		return false;
	/* A handler may have interrupted it; one that was left by longjmp() has not. */
	if (cap_unlikely(posix_inside) &&
	    (posix_inside == VFORKED || (const char *)sp < (const char *)posix_inside_sp)) {
		if (posix_inside != VFORKED)
			kymo_posix_passed();
		return false;
	}
	posix_inside = 1;
	posix_inside_sp = sp;
	entered = kymo_posix_enter(c, caller, sp);
	posix_inside = 0;
	return entered;
}

static inline void posix_leave_error(struct posix_call *c, int error)
{
	posix_inside = 1;
	kymo_posix_leave(c, error);
	posix_inside = 0;
}

/* `failed`: errno says why. */
static inline void posix_leave(struct posix_call *c, bool failed)
{
	posix_leave_error(c, failed ? errno : 0);
}

/* The same for a call that returned the bytes it moved. */
static inline void posix_leave_moved(struct posix_call *c, int64_t moved)
{
	c->moved = moved < 0 ? 0 : (uint64_t)moved;
	posix_leave(c, moved < 0);
}

/* A descriptor is new, or is about to be closed. */
static inline void posix_forget(int fd)
{
	if (fd >= 0 && posix_inside != VFORKED)
		kymo_posix_forget(fd, fd);
}

#define ENTER(c) posix_enter(&(c), __builtin_return_address(0), cap_sp())

#endif
