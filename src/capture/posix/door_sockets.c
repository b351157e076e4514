/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets. */
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/posix/door.h"

ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *data, size_t size, size_t room, int flags,
		       struct sockaddr *address, socklen_t *length);

/* ---- connections ---- */

/* A descriptor that came to be in a way that is not recorded. */
EXPORT int socket(int family, int type, int protocol)
{
	int fd = NEXT(socket)(family, type, protocol);

	posix_forget(fd);
	return fd;
}

EXPORT int socketpair(int family, int type, int protocol, int fds[2])
{
	int status = NEXT(socketpair)(family, type, protocol, fds);

	if (status == 0) {
		posix_forget(fds[0]);
		posix_forget(fds[1]);
	}
	return status;
}

/* It has another side from now on. */
EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	struct posix_call c = {.base.op = POSIX_CONNECT, .fd = fd};
	int status;

	if (!ENTER(c))
		return NEXT(connect)(fd, address, length);
	status = NEXT(connect)(fd, address, length);
	posix_forget(fd);
	posix_leave(&c, status < 0);
	return status;
}

/* `file` is that of who was accepted. */
#define ACCEPT(which, listening, call)                                                             \
	do {                                                                                       \
		struct posix_call c = {.base.op = (which), .fd = (listening)};                     \
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

EXPORT int accept(int listening, struct sockaddr *address, socklen_t *length)
{
	ACCEPT(POSIX_ACCEPT, listening, NEXT(accept)(listening, address, length));
}

EXPORT int accept4(int listening, struct sockaddr *address, socklen_t *length, int flags)
{
	ACCEPT(POSIX_ACCEPT4, listening, NEXT(accept4)(listening, address, length, flags));
}

EXPORT int shutdown(int fd, int how)
{
	struct posix_call c = {.base.op = POSIX_SHUTDOWN, .fd = fd};
	int status;

	if (!ENTER(c))
		return NEXT(shutdown)(fd, how);
	status = NEXT(shutdown)(fd, how);
	posix_leave(&c, status < 0);
	return status;
}

/* ---- bytes ---- */

#define MOVE(which, descriptor, bytes, call)                                                       \
	do {                                                                                       \
		struct posix_call c = {.base.op = (which), .fd = (descriptor), .size = (bytes)};   \
		ssize_t moved;                                                                     \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		moved = call;                                                                      \
		posix_leave_moved(&c, moved);                                                      \
		return moved;                                                                      \
	} while (0)

EXPORT ssize_t send(int fd, const void *data, size_t size, int flags)
{
	MOVE(POSIX_SEND, fd, size, NEXT(send)(fd, data, size, flags));
}

EXPORT ssize_t sendto(int fd, const void *data, size_t size, int flags,
		      const struct sockaddr *address, socklen_t length)
{
	MOVE(POSIX_SENDTO, fd, size, NEXT(sendto)(fd, data, size, flags, address, length));
}

EXPORT ssize_t recv(int fd, void *data, size_t size, int flags)
{
	MOVE(POSIX_RECV, fd, size, NEXT(recv)(fd, data, size, flags));
}

EXPORT ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags)
{
	MOVE(POSIX_RECV, fd, size, NEXT(__recv_chk)(fd, data, size, room, flags));
}

EXPORT ssize_t recvfrom(int fd, void *data, size_t size, int flags, struct sockaddr *address,
			socklen_t *length)
{
	MOVE(POSIX_RECVFROM, fd, size, NEXT(recvfrom)(fd, data, size, flags, address, length));
}

EXPORT ssize_t __recvfrom_chk(int fd, void *data, size_t size, size_t room, int flags,
			      struct sockaddr *address, socklen_t *length)
{
	MOVE(POSIX_RECVFROM, fd, size,
	     NEXT(__recvfrom_chk)(fd, data, size, room, flags, address, length));
}

/* The bytes of a message: it was good where the call succeeded. */
static uint64_t bytes_of(const struct msghdr *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->msg_iovlen && i < 1024; i++)
		sum += m->msg_iov[i].iov_len;
	return sum;
}

#define MESSAGE(which, descriptor, call)                                                           \
	do {                                                                                       \
		struct posix_call c = {.base.op = (which), .fd = (descriptor)};                    \
		ssize_t moved;                                                                     \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		moved = call;                                                                      \
		if (moved >= 0)                                                                    \
			c.size = bytes_of(message);                                                \
		posix_leave_moved(&c, moved);                                                      \
		return moved;                                                                      \
	} while (0)

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	MESSAGE(POSIX_SENDMSG, fd, NEXT(sendmsg)(fd, message, flags));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	MESSAGE(POSIX_RECVMSG, fd, NEXT(recvmsg)(fd, message, flags));
}

#define MESSAGES(which, descriptor, call)                                                          \
	do {                                                                                       \
		struct posix_call c = {.base.op = (which), .fd = (descriptor)};                    \
		int done;                                                                          \
                                                                                                   \
		if (!ENTER(c))                                                                     \
			return call;                                                               \
		done = call;                                                                       \
		for (int i = 0; i < done; i++) {                                                   \
			c.size += bytes_of(&messages[i].msg_hdr);                                  \
			c.moved += messages[i].msg_len;                                            \
		}                                                                                  \
		posix_leave(&c, done < 0);                                                         \
		return done;                                                                       \
	} while (0)

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	MESSAGES(POSIX_SENDMMSG, fd, NEXT(sendmmsg)(fd, messages, count, flags));
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
		    struct timespec *timeout)
{
	MESSAGES(POSIX_RECVMMSG, fd, NEXT(recvmmsg)(fd, messages, count, flags, timeout));
}
