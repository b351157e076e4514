/* SPDX-License-Identifier: Apache-2.0 */
/* See meet.h. */
#include "drain/meet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/peer.h"

enum { ANSWER_MS = 20000 /* for a busy machine; a drain that has died is known at once */ };

/* Of processes that see each other, by one name, at one time, and the same files. */
static uint64_t add_namespaces(uint64_t hash)
{
	static const char *const names[] = {"user", "pid", "mnt", "uts", "time"};
	char path[32];
	struct stat st;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		hash = hash_mix(hash, stat(path, &st) == 0 ? st.st_ino : 0);
	}
	return hash;
}

bool meet_name(struct meet_name *n, const char *trace, const char *kind)
{
	char host[64] = "";
	uint64_t hash = hash_u64(geteuid());
	struct stat st;

	if (stat(trace, &st) != 0)
		return false;
	gethostname(host, sizeof(host) - 1);
	hash = add_namespaces(hash_mix(hash_mix(hash, st.st_dev), st.st_ino));
	hash = hash_add(hash_add(hash, host, strlen(host)), kind, strlen(kind));
	hash = hash_add(hash, KYMO_VERSION, sizeof(KYMO_VERSION));
	snprintf(n->text, sizeof(n->text), "kymo-node-%u-%016" PRIx64, (unsigned)geteuid(), hash);
	return true;
}

static socklen_t address_of(struct sockaddr_un *a, const struct meet_name *n)
{
	size_t length = strlen(n->text);

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + 1, n->text, length);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static int close_for(int fd, int error)
{
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

int meet_take(const struct meet_name *n)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a;
	socklen_t size = address_of(&a, n);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&a, size) != 0 || listen(fd, SOMAXCONN) != 0)
		return close_for(fd, errno);
	return fd;
}

static bool send_hello(int fd, int listener, const struct meet_hello *hello, const char *command)
{
	const struct iovec parts[] = {{(void *)(uintptr_t)hello, sizeof(*hello)},
				      {(void *)(uintptr_t)command, hello->command}};

	return peer_send(fd, parts, 2, listener);
}

/* Who had the name may be about to end, and sends nothing then. */
static bool await_welcome(int fd, char local[PATH_MAX])
{
	struct pollfd p = {fd, POLLIN, 0};
	struct meet_welcome w;
	ssize_t n;
	int rc;

	do {
		rc = poll(&p, 1, ANSWER_MS);
	} while (rc < 0 && errno == EINTR);
	errno = rc == 0 ? ETIMEDOUT : errno;
	if (rc != 1)
		return false;
	n = recv(fd, &w, sizeof(w), 0);
	if (n == (ssize_t)sizeof(w) && w.magic == MEET_MAGIC && w.version == MEET_VERSION &&
	    memchr(w.local, '\0', sizeof(w.local))) {
		memcpy(local, w.local, PATH_MAX);
		return true;
	}
	errno = n <= 0 ? ECONNREFUSED : EPROTO;
	return false;
}

int meet_join(const struct meet_name *n, int listener, const struct meet_hello *hello,
	      const char *command, char local[PATH_MAX])
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	struct sockaddr_un a;
	socklen_t length = address_of(&a, n);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&a, length) != 0)
		return close_for(fd, errno == EAGAIN ? ECONNREFUSED : errno); /* a full queue */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid())
		return close_for(fd, EPERM);
	fcntl(fd, F_SETFL,
	      0); /* another user's queue that is full is not waited for; ours answers */
	if (!send_hello(fd, listener, hello, command))
		return close_for(fd, errno == EPIPE || errno == ECONNRESET ? ECONNREFUSED : errno);
	if (!await_welcome(fd, local))
		return close_for(fd, errno == ECONNRESET ? ECONNREFUSED : errno);
	return fd;
}
