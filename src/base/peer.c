/* SPDX-License-Identifier: Apache-2.0 */
/* See peer.h. */
#include "base/peer.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool uid_of(int fd, uid_t *uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof(peer))
		return false;
	*uid = peer.uid;
	return true;
}

bool peer_may_ask(int fd)
{
	uid_t uid;

	return uid_of(fd, &uid) && (uid == geteuid() || uid == 0);
}

/* A folder of mode 0700 of that owner, and no link to one. */
static bool folder_good(const char *path, uid_t *owner)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *slash = strrchr(path, '/');
	struct stat st;

	errno = EPERM;
	if (!slash || slash == path)
		return false; /* not of one's own */
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	if (lstat(folder, &st) != 0)
		return false;
	*owner = st.st_uid;
	errno = EPERM;
	return S_ISDIR(st.st_mode) && (st.st_mode & 077) == 0;
}

static int open_socket(int wait_ms)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (wait_ms ? 0 : SOCK_NONBLOCK), 0);
	struct timeval t = {wait_ms / 1000, wait_ms % 1000 * 1000};

	if (fd >= 0 && wait_ms)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	return fd;
}

int peer_connect(const char *path, bool any, int wait_ms)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	uid_t owner, uid;
	int fd, saved;

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(a.sun_path, path);
	if (!folder_good(path, &owner))
		return -1;
	fd = open_socket(wait_ms);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
		saved = errno;
		close(fd);
		errno = saved;
		return -1;
	}
	if (fd < 0 || (uid_of(fd, &uid) && uid == owner && (any || uid == geteuid())))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* Not what the other end or a full buffer is the cause of. */
static bool is_refused(void)
{
	return errno != EAGAIN && errno != EINTR && errno != EPIPE && errno != ECONNRESET &&
	       errno != EBADF;
}

static ssize_t send_message(int fd, const struct msghdr *m, int flags)
{
	struct mmsghdr one = {.msg_hdr = *m};
	ssize_t n = sendmsg(fd, m, flags);

	if (n >= 0 || !is_refused())
		return n;
	return sendmmsg(fd, &one, 1, flags) == 1 ? (ssize_t)one.msg_len : -1;
}

bool peer_send(int fd, const struct iovec *parts, size_t count, int descriptor)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)parts,
			   .msg_iovlen = count,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	size_t bytes = 0;
	ssize_t sent;

	for (size_t i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &descriptor, sizeof(int));
	sent = send_message(fd, &m, MSG_NOSIGNAL);
	return sent >= 0 && (size_t)sent == bytes;
}

ssize_t peer_say(int fd, const void *data, size_t size, int flags)
{
	struct iovec part = {(void *)(uintptr_t)data, size};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n = send(fd, data, size, flags | MSG_NOSIGNAL);

	return n < 0 && is_refused() ? send_message(fd, &m, flags | MSG_NOSIGNAL) : n;
}

ssize_t peer_receive(int fd, struct msghdr *m, int flags)
{
	struct mmsghdr one = {.msg_hdr = *m};
	ssize_t n = recvmsg(fd, m, flags);

	if (n >= 0 || !is_refused())
		return n;
	if (recvmmsg(fd, &one, 1, flags, NULL) != 1)
		return -1;
	*m = one.msg_hdr;
	return (ssize_t)one.msg_len;
}
