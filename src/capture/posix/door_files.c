/* SPDX-License-Identifier: Apache-2.0 */
/* Files: the C library's functions, each name of them for itself, as others may stand before one of them as well. */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/posix/door.h"

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);
ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *data, size_t size, off64_t offset, size_t room);

/* ---- opening ---- */

#define MODE(flags, mode)                                                                          \
	do {                                                                                       \
		va_list list;                                                                      \
                                                                                                   \
		va_start(list, flags);                                                             \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)                           \
			mode = va_arg(list, mode_t);                                               \
		va_end(list);                                                                      \
	} while (0)

/* `call`: what the next function is called with. */
#define OPEN(which, how, call)                                                                     \
	do {                                                                                       \
		struct posix_call c = {                                                            \
			.base.op = (which), .fd = -1, .flags = (uint32_t)(how), .path = path};     \
		int fd;                                                                            \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		fd = call;                                                                         \
		posix_forget(fd);                                                                  \
		c.other = fd;                                                                      \
		posix_leave(&c, fd < 0);                                                           \
		return fd;                                                                         \
	} while (0)

#define DEFINE_OPEN(name)                                                                          \
	EXPORT int name(const char *path, int flags, ...)                                          \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
                                                                                                   \
		MODE(flags, mode);                                                                 \
		OPEN(POSIX_OPEN, flags, NEXT(name)(path, flags, mode));                            \
	}
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                                                        \
	EXPORT int name(int folder, const char *path, int flags, ...)                              \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
                                                                                                   \
		MODE(flags, mode);                                                                 \
		OPEN(POSIX_OPENAT, flags, NEXT(name)(folder, path, flags, mode));                  \
	}
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

EXPORT int __open_2(const char *path, int flags)
{
	OPEN(POSIX_OPEN, flags, NEXT(__open_2)(path, flags));
}

EXPORT int __open64_2(const char *path, int flags)
{
	OPEN(POSIX_OPEN, flags, NEXT(__open64_2)(path, flags));
}

EXPORT int __openat_2(int folder, const char *path, int flags)
{
	OPEN(POSIX_OPENAT, flags, NEXT(__openat_2)(folder, path, flags));
}

EXPORT int __openat64_2(int folder, const char *path, int flags)
{
	OPEN(POSIX_OPENAT, flags, NEXT(__openat64_2)(folder, path, flags));
}

EXPORT int creat(const char *path, mode_t mode)
{
	OPEN(POSIX_CREAT, O_CREAT | O_WRONLY | O_TRUNC, NEXT(creat)(path, mode));
}

EXPORT int creat64(const char *path, mode_t mode)
{
	OPEN(POSIX_CREAT, O_CREAT | O_WRONLY | O_TRUNC, NEXT(creat64)(path, mode));
}

/* ---- closing: what the descriptor was is asked for before it is somebody else's ---- */

EXPORT int close(int fd)
{
	struct posix_call c = {.base.op = POSIX_CLOSE, .fd = fd, .named = true};
	int status;

	if (!ENTER(c)) {
		posix_forget(fd);
		return NEXT(close)(fd);
	}
	c.file = kymo_posix_file(fd);
	posix_forget(fd);
	status = NEXT(close)(fd);
	posix_leave(&c, status < 0);
	return status;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (door_inside != DOOR_VFORKED && !(flags & CLOSE_RANGE_CLOEXEC))
		kymo_posix_forget((int)(first & INT32_MAX),
				  last > INT32_MAX ? INT32_MAX : (int)last);
	return NEXT(close_range)(first, last, flags);
}

EXPORT void closefrom(int first)
{
	if (door_inside != DOOR_VFORKED)
		kymo_posix_forget(first, INT32_MAX);
	NEXT(closefrom)(first);
}

EXPORT int fclose(FILE *stream)
{
	FILE *volatile given = stream; /* which the C library says is never NULL */

	if (given)
		posix_forget(fileno(stream));
	return NEXT(fclose)(stream);
}

EXPORT int closedir(DIR *folder)
{
	DIR *volatile given = folder;

	if (given)
		posix_forget(dirfd(folder));
	return NEXT(closedir)(folder);
}

/* ---- moving bytes ---- */

#define MOVE(which, descriptor, bytes, at, call)                                                   \
	do {                                                                                       \
		struct posix_call c = {                                                            \
			.base.op = (which), .fd = (descriptor), .size = (bytes), .offset = (at)};  \
		ssize_t moved;                                                                     \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		moved = call;                                                                      \
		posix_leave_moved(&c, moved);                                                      \
		return moved;                                                                      \
	} while (0)

EXPORT ssize_t read(int fd, void *data, size_t size)
{
	MOVE(POSIX_READ, fd, size, -1, NEXT(read)(fd, data, size));
}

EXPORT ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
	MOVE(POSIX_READ, fd, size, -1, NEXT(__read_chk)(fd, data, size, room));
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
	MOVE(POSIX_WRITE, fd, size, -1, NEXT(write)(fd, data, size));
}

#define DEFINE_PREAD(name)                                                                         \
	EXPORT ssize_t name(int fd, void *data, size_t size, off_t offset)                         \
	{                                                                                          \
		MOVE(POSIX_PREAD, fd, size, offset, NEXT(name)(fd, data, size, offset));           \
	}
DEFINE_PREAD(pread)
DEFINE_PREAD(pread64)

EXPORT ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room)
{
	MOVE(POSIX_PREAD, fd, size, offset, NEXT(__pread_chk)(fd, data, size, offset, room));
}

EXPORT ssize_t __pread64_chk(int fd, void *data, size_t size, off64_t offset, size_t room)
{
	MOVE(POSIX_PREAD, fd, size, offset, NEXT(__pread64_chk)(fd, data, size, offset, room));
}

#define DEFINE_PWRITE(name)                                                                        \
	EXPORT ssize_t name(int fd, const void *data, size_t size, off_t offset)                   \
	{                                                                                          \
		MOVE(POSIX_PWRITE, fd, size, offset, NEXT(name)(fd, data, size, offset));          \
	}
DEFINE_PWRITE(pwrite)
DEFINE_PWRITE(pwrite64)

/* Bytes of a vector that the caller can be read of: what is not there is the system's to say. */
static uint64_t bytes_of(const struct iovec *v, int count)
{
	uint64_t sum = 0;

	for (int i = 0; v && i < count && i < 1024; i++)
		sum += v[i].iov_len;
	return sum;
}

/* A vector that cannot be read must fail in the system, not here: its bytes are known from the answer alone. */
#define MOVE_VECTOR(which, descriptor, at, call)                                                   \
	do {                                                                                       \
		struct posix_call c = {.base.op = (which), .fd = (descriptor), .offset = (at)};    \
		ssize_t moved;                                                                     \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		moved = call;                                                                      \
		if (moved >= 0)                                                                    \
			c.size = bytes_of(v, count);                                               \
		posix_leave_moved(&c, moved);                                                      \
		return moved;                                                                      \
	} while (0)

EXPORT ssize_t readv(int fd, const struct iovec *v, int count)
{
	MOVE_VECTOR(POSIX_READV, fd, -1, NEXT(readv)(fd, v, count));
}

EXPORT ssize_t writev(int fd, const struct iovec *v, int count)
{
	MOVE_VECTOR(POSIX_WRITEV, fd, -1, NEXT(writev)(fd, v, count));
}

#define DEFINE_VECTOR(name, which)                                                                 \
	EXPORT ssize_t name(int fd, const struct iovec *v, int count, off_t offset)                \
	{                                                                                          \
		MOVE_VECTOR(which, fd, offset, NEXT(name)(fd, v, count, offset));                  \
	}
DEFINE_VECTOR(preadv, POSIX_PREADV)
DEFINE_VECTOR(preadv64, POSIX_PREADV)
DEFINE_VECTOR(pwritev, POSIX_PWRITEV)
DEFINE_VECTOR(pwritev64, POSIX_PWRITEV)

#define DEFINE_VECTOR2(name, which)                                                                \
	EXPORT ssize_t name(int fd, const struct iovec *v, int count, off_t offset, int flags)     \
	{                                                                                          \
		MOVE_VECTOR(which, fd, offset, NEXT(name)(fd, v, count, offset, flags));           \
	}
DEFINE_VECTOR2(preadv2, POSIX_PREADV2)
DEFINE_VECTOR2(preadv64v2, POSIX_PREADV2)
DEFINE_VECTOR2(pwritev2, POSIX_PWRITEV2)
DEFINE_VECTOR2(pwritev64v2, POSIX_PWRITEV2)

#define COPY(which, from, into, bytes, call)                                                       \
	do {                                                                                       \
		struct posix_call c = {                                                            \
			.base.op = (which), .fd = (from), .other = (into), .size = (bytes)};       \
		ssize_t moved;                                                                     \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		moved = call;                                                                      \
		posix_leave_moved(&c, moved);                                                      \
		return moved;                                                                      \
	} while (0)

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t size)
{
	COPY(POSIX_SENDFILE, from, to, size, NEXT(sendfile)(to, from, offset, size));
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *offset, size_t size)
{
	COPY(POSIX_SENDFILE, from, to, size, NEXT(sendfile64)(to, from, offset, size));
}

EXPORT ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *to_at, size_t size,
			       unsigned flags)
{
	COPY(POSIX_COPY_FILE_RANGE, from, to, size,
	     NEXT(copy_file_range)(from, at, to, to_at, size, flags));
}

EXPORT ssize_t splice(int from, off64_t *at, int to, off64_t *to_at, size_t size, unsigned flags)
{
	COPY(POSIX_SPLICE, from, to, size, NEXT(splice)(from, at, to, to_at, size, flags));
}

/* ---- the rest: a status ---- */

#define STATUS(which, descriptor, at, call)                                                        \
	do {                                                                                       \
		struct posix_call c = {.base.op = (which), .fd = (descriptor), .offset = (at)};    \
		int status;                                                                        \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		status = call;                                                                     \
		posix_leave(&c, status < 0);                                                       \
		return status;                                                                     \
	} while (0)

#define DEFINE_LSEEK(name)                                                                         \
	EXPORT off_t name(int fd, off_t offset, int whence)                                        \
	{                                                                                          \
		struct posix_call c = {.base.op = POSIX_LSEEK, .fd = fd};                          \
		off_t at;                                                                          \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return NEXT(name)(fd, offset, whence);                                     \
		at = NEXT(name)(fd, offset, whence);                                               \
		c.offset = at;                                                                     \
		posix_leave(&c, at < 0);                                                           \
		return at;                                                                         \
	}
DEFINE_LSEEK(lseek)
DEFINE_LSEEK(lseek64)

EXPORT int fsync(int fd)
{
	STATUS(POSIX_FSYNC, fd, 0, NEXT(fsync)(fd));
}

EXPORT int fdatasync(int fd)
{
	STATUS(POSIX_FDATASYNC, fd, 0, NEXT(fdatasync)(fd));
}

EXPORT int sync_file_range(int fd, off64_t offset, off64_t size, unsigned flags)
{
	STATUS(POSIX_SYNC_FILE_RANGE, fd, offset, NEXT(sync_file_range)(fd, offset, size, flags));
}

EXPORT int ftruncate(int fd, off_t length)
{
	STATUS(POSIX_FTRUNCATE, fd, length, NEXT(ftruncate)(fd, length));
}

EXPORT int ftruncate64(int fd, off64_t length)
{
	STATUS(POSIX_FTRUNCATE, fd, length, NEXT(ftruncate64)(fd, length));
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t length)
{
	STATUS(POSIX_FALLOCATE, fd, length, NEXT(fallocate)(fd, mode, offset, length));
}

EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
	STATUS(POSIX_FALLOCATE, fd, length, NEXT(fallocate64)(fd, mode, offset, length));
}

/* These return the error. */
#define DEFINE_POSIX_FALLOCATE(name)                                                               \
	EXPORT int name(int fd, off_t offset, off_t length)                                        \
	{                                                                                          \
		struct posix_call c = {                                                            \
			.base.op = POSIX_POSIX_FALLOCATE, .fd = fd, .offset = length};             \
		int error;                                                                         \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return NEXT(name)(fd, offset, length);                                     \
		error = NEXT(name)(fd, offset, length);                                            \
		door_leave(&c.base, error);                                                        \
		return error;                                                                      \
	}
DEFINE_POSIX_FALLOCATE(posix_fallocate)
DEFINE_POSIX_FALLOCATE(posix_fallocate64)

EXPORT int flock(int fd, int operation)
{
	STATUS(POSIX_FLOCK, fd, 0, NEXT(flock)(fd, operation));
}

EXPORT int lockf(int fd, int command, off_t length)
{
	STATUS(POSIX_LOCKF, fd, 0, NEXT(lockf)(fd, command, length));
}

EXPORT int lockf64(int fd, int command, off64_t length)
{
	STATUS(POSIX_LOCKF, fd, 0, NEXT(lockf64)(fd, command, length));
}

/* ---- descriptors ---- */

#define DUPLICATE(which, descriptor, call)                                                         \
	do {                                                                                       \
		struct posix_call c = {.base.op = (which), .fd = (descriptor)};                    \
		int fd;                                                                            \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		fd = call;                                                                         \
		posix_forget(fd);                                                                  \
		c.other = fd;                                                                      \
		posix_leave(&c, fd < 0);                                                           \
		return fd;                                                                         \
	} while (0)

EXPORT int dup(int old)
{
	DUPLICATE(POSIX_DUP, old, NEXT(dup)(old));
}

/* What is closed by these is forgotten before and after: another thread may look meanwhile. */
EXPORT int dup2(int old, int new)
{
	if (old != new)
		posix_forget(new);
	DUPLICATE(POSIX_DUP2, old, NEXT(dup2)(old, new));
}

EXPORT int dup3(int old, int new, int flags)
{
	posix_forget(new);
	DUPLICATE(POSIX_DUP3, old, NEXT(dup3)(old, new, flags));
}

static bool duplicates(int command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

/* Of the many commands those that wait or make a descriptor. */
#define DEFINE_FCNTL(name)                                                                         \
	EXPORT int name(int fd, int command, ...)                                                  \
	{                                                                                          \
		struct posix_call c = {.base.op = POSIX_FCNTL,                                     \
				       .fd = fd,                                                   \
				       .flags = (uint32_t)command,                                 \
				       .other = -1};                                               \
		void *argument;                                                                    \
		va_list list;                                                                      \
		int result;                                                                        \
                                                                                                   \
		va_start(list, command);                                                           \
		argument = va_arg(list, void *);                                                   \
		va_end(list);                                                                      \
		if ((!duplicates(command) && command != F_SETLKW && command != F_OFD_SETLKW) ||    \
		    !ENTER(c))                                                                     \
			return NEXT(name)(fd, command, argument);                                  \
		result = NEXT(name)(fd, command, argument);                                        \
		if (duplicates(command)) {                                                         \
			posix_forget(result);                                                      \
			c.other = result;                                                          \
		}                                                                                  \
		posix_leave(&c, result < 0);                                                       \
		return result;                                                                     \
	}
DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

EXPORT int pipe(int fds[2])
{
	int status = NEXT(pipe)(fds);

	if (status == 0) {
		posix_forget(fds[0]);
		posix_forget(fds[1]);
	}
	return status;
}

EXPORT int pipe2(int fds[2], int flags)
{
	int status = NEXT(pipe2)(fds, flags);

	if (status == 0) {
		posix_forget(fds[0]);
		posix_forget(fds[1]);
	}
	return status;
}

/* ---- mapped files: pages are read and written without a call; memory without a file is left alone ---- */

#define DEFINE_MMAP(name)                                                                          \
	EXPORT void *name(void *at, size_t size, int protection, int flags, int fd, off_t offset)  \
	{                                                                                          \
		struct posix_call c = {                                                            \
			.base.op = POSIX_MMAP, .fd = fd, .size = size, .offset = offset};          \
		void *mapped;                                                                      \
                                                                                                   \
		if (fd < 0 || (flags & MAP_ANONYMOUS) || !ENTER(c))                                \
			return NEXT(name)(at, size, protection, flags, fd, offset);                \
		mapped = NEXT(name)(at, size, protection, flags, fd, offset);                      \
		c.address = (uintptr_t)mapped;                                                     \
		posix_leave(&c, mapped == MAP_FAILED);                                             \
		return mapped;                                                                     \
	}
DEFINE_MMAP(mmap)
DEFINE_MMAP(mmap64)

EXPORT int msync(void *at, size_t size, int flags)
{
	struct posix_call c = {.base.op = POSIX_MSYNC,
			       .fd = -1,
			       .named = true,
			       .size = size,
			       .address = (uintptr_t)at};
	int status;

	if (!ENTER(c))
		return NEXT(msync)(at, size, flags);
	status = NEXT(msync)(at, size, flags);
	posix_leave(&c, status < 0);
	return status;
}
