/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of libkymo-posix.so share: the functions that it stands before, and who is recorded. */
#ifndef CAPTURE_POSIX_DOOR_H
#define CAPTURE_POSIX_DOOR_H

#include "capture/posix/posix.h"

/* clang-format off */
#define DOOR_FUNCTIONS(X) \
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

#include "core/intercept/libc_door.h"

/* `failed`: errno says why. */
static inline void posix_leave(struct posix_call *c, bool failed)
{
	door_leave(&c->base, failed ? errno : 0);
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
	if (fd >= 0 && door_inside != DOOR_VFORKED)
		kymo_posix_forget(fd, fd);
}

#endif
