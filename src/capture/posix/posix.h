/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the preloaded libkymo-posix.so, which stands before the C library's functions of files and
 * sockets, and libkymo, which records their calls.
 *
 *	struct posix_call c = {.base.op = POSIX_READ, .fd = fd, .size = size};
 *
 *	if (!door_enter(&c.base, caller, cap_sp()))
 *		return next(...);
 *	... next ...; c.moved = ...
 *	posix_leave(&c, failed);
 */
#ifndef CAPTURE_POSIX_POSIX_H
#define CAPTURE_POSIX_POSIX_H

#include "core/intercept/libc_call.h"

/* X(ID, name, fields). Numbers of ops are positions: append only. */
#define POSIX_OPS(X)                                                                               \
	X(OPEN, "open", OPEN)                                                                      \
	X(OPENAT, "openat", OPEN)                                                                  \
	X(CREAT, "creat", OPEN)                                                                    \
	X(CLOSE, "close", FD)                                                                      \
	X(READ, "read", MOVE)                                                                      \
	X(PREAD, "pread", MOVE_AT)                                                                 \
	X(READV, "readv", MOVE)                                                                    \
	X(PREADV, "preadv", MOVE_AT)                                                               \
	X(PREADV2, "preadv2", MOVE_AT)                                                             \
	X(WRITE, "write", MOVE)                                                                    \
	X(PWRITE, "pwrite", MOVE_AT)                                                               \
	X(WRITEV, "writev", MOVE)                                                                  \
	X(PWRITEV, "pwritev", MOVE_AT)                                                             \
	X(PWRITEV2, "pwritev2", MOVE_AT)                                                           \
	X(LSEEK, "lseek", AT)                                                                      \
	X(FSYNC, "fsync", FD)                                                                      \
	X(FDATASYNC, "fdatasync", FD)                                                              \
	X(SYNC_FILE_RANGE, "sync_file_range", AT)                                                  \
	X(FTRUNCATE, "ftruncate", AT)                                                              \
	X(FALLOCATE, "fallocate", AT)                                                              \
	X(POSIX_FALLOCATE, "posix_fallocate", AT)                                                  \
	X(FLOCK, "flock", FD)                                                                      \
	X(LOCKF, "lockf", FD)                                                                      \
	X(FCNTL, "fcntl", CONTROL)                                                                 \
	X(DUP, "dup", NEW)                                                                         \
	X(DUP2, "dup2", NEW)                                                                       \
	X(DUP3, "dup3", NEW)                                                                       \
	X(MMAP, "mmap", MAP)                                                                       \
	X(MSYNC, "msync", RANGE)                                                                   \
	X(SENDFILE, "sendfile", COPY)                                                              \
	X(COPY_FILE_RANGE, "copy_file_range", COPY)                                                \
	X(SPLICE, "splice", COPY)                                                                  \
	X(CONNECT, "connect", FD)                                                                  \
	X(ACCEPT, "accept", NEW)                                                                   \
	X(ACCEPT4, "accept4", NEW)                                                                 \
	X(SEND, "send", MOVE)                                                                      \
	X(SENDTO, "sendto", MOVE)                                                                  \
	X(SENDMSG, "sendmsg", MOVE)                                                                \
	X(SENDMMSG, "sendmmsg", MOVE)                                                              \
	X(RECV, "recv", MOVE)                                                                      \
	X(RECVFROM, "recvfrom", MOVE)                                                              \
	X(RECVMSG, "recvmsg", MOVE)                                                                \
	X(RECVMMSG, "recvmmsg", MOVE)                                                              \
	X(SHUTDOWN, "shutdown", FD)

enum posix_op {
#define POSIX_OP(id, name, fields) POSIX_##id,
	POSIX_OPS(POSIX_OP)
#undef POSIX_OP
		POSIX_OP_COUNT
};

/* A call. What its op has no field for is not looked at. */
struct posix_call {
	struct libc_call base;
	bool named;     /* `file` and `to` are known */
	int32_t fd;     /* < 0: none yet */
	int32_t other;  /* the new descriptor, or the one written to */
	uint32_t flags; /* of open(), or the command of fcntl() */
	uint32_t file;  /* string of what `fd` is; 0: not known */
	uint32_t to;    /* of what is written to */
	int64_t offset; /* or length, of ftruncate() and fallocate(); -1: where the file is */
	uint64_t size;  /* bytes asked for; of several messages the sum */
	uint64_t moved; /* bytes */
	uint64_t address;
	const char *path; /* of open(): what it is called where it fails */
};

/* ---- for libkymo-posix.so ---- */

/* NULL: nothing can be recorded. Keeps errno, as all of these. */
KYMO_EXPORT struct libc_domain *kymo_posix_start(void);
/* The string of what the descriptor is, by /proc the first time; 0: not known. */
KYMO_EXPORT uint32_t kymo_posix_file(int fd);
/* The descriptor is about to be closed, or was given to something else. */
KYMO_EXPORT void kymo_posix_forget(int first, int last);

/* ---- inside libkymo ---- */

/* The same; `accepted`: it is a connection that another made to here. */
uint32_t posix_file(int fd, bool accepted);

/* Rings of io_uring that the process has, through which it reads and writes without calls. */
unsigned posix_rings(void);

#endif
