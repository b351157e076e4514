/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What descriptors are: the path of a file, the other side of a socket. Found out by /proc when one is opened or first
 * seen, and kept until it is closed. A handful of descriptors at a time is the ordinary case.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hash.h"
#include "capture/posix/posix.h"
#include "core/capture.h"
#include "core/marker/marker.h"
#include "core/process/handler.h"

#define KNOWN 65536 /* descriptors from 0 on; of others the string is looked up at each call */

static _Atomic uint32_t files[KNOWN];

void kymo_posix_forget(int first, int last)
{
	for (int fd = first < 0 ? 0 : first; fd <= last && fd < KNOWN; fd++)
		if (atomic_load_explicit(&files[fd], memory_order_relaxed))
			atomic_store_explicit(&files[fd], 0, memory_order_relaxed);
}

/* ---- sockets ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static const char *kind_of(int fd, sa_family_t family)
{
	int type = 0;
	socklen_t length = sizeof(type);

	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length);
	if (family != AF_INET && family != AF_INET6)
		return "socket";
	return type == SOCK_STREAM ? "tcp" : type == SOCK_DGRAM ? "udp" : "socket";
}

static unsigned port_of(const union address *a)
{
	return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

static void host_of(const union address *a, char *out, socklen_t size)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (a->any.sa_family == AF_INET)
		inet_ntop(AF_INET, &a->v4.sin_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &a->v6.sin6_addr, text, sizeof(text));
	snprintf(out, size, a->any.sa_family == AF_INET6 ? "[%s]" : "%s", text);
}

static bool ask(int fd, int (*get)(int, struct sockaddr *, socklen_t *), union address *a,
		socklen_t *length)
{
	memset(a, 0, sizeof(*a));
	*length = sizeof(*a) - 1; /* a path is terminated */
	return get(fd, &a->any, length) == 0;
}

static void local_text(const union address *a, socklen_t length, char *out, size_t size)
{
	const size_t n = length > offsetof(struct sockaddr_un, sun_path)
				 ? length - offsetof(struct sockaddr_un, sun_path)
				 : 0;

	if (n && a->local.sun_path[0])
		snprintf(out, size, "unix %.*s", (int)n, a->local.sun_path);
	else if (n > 1)
		snprintf(out, size, "unix @%.*s", (int)n - 1, a->local.sun_path + 1);
	else
		snprintf(out, size, "unix socket");
}

#define SYSTEMS_CHOICE 32768u /* ports from here on are mostly those of who connects */

/*
 * Who connected is told by its host, and by the port here: of a server with many connections each would be one of its own
 * else.
 */
static bool connected_here(const union address *peer, const union address *here, bool accepted)
{
	return accepted || (port_of(peer) >= SYSTEMS_CHOICE && port_of(here) < SYSTEMS_CHOICE);
}

static bool peer_text(int fd, bool accepted, char *out, size_t size)
{
	union address peer, here;
	socklen_t length, here_length;
	char host[INET6_ADDRSTRLEN + 2];
	const char *kind;

	if (!ask(fd, getpeername, &peer, &length)) {
		if (!ask(fd, getsockname, &here, &here_length))
			return false;
		if (here.any.sa_family == AF_UNIX)
			local_text(&here, here_length, out, size);
		else if (here.any.sa_family == AF_INET || here.any.sa_family == AF_INET6)
			snprintf(out, size, "%s port %u", kind_of(fd, here.any.sa_family),
				 port_of(&here));
		else
			snprintf(out, size, "socket");
		return true;
	}
	kind = kind_of(fd, peer.any.sa_family);
	if (peer.any.sa_family == AF_UNIX) {
		local_text(&peer, length, out, size);
		if (strcmp(out, "unix socket") == 0 && ask(fd, getsockname, &here, &here_length))
			local_text(&here, here_length, out, size);
	} else if (peer.any.sa_family != AF_INET && peer.any.sa_family != AF_INET6) {
		snprintf(out, size, "socket");
	} else {
		host_of(&peer, host, sizeof(host));
		if (ask(fd, getsockname, &here, &here_length) &&
		    connected_here(&peer, &here, accepted))
			snprintf(out, size, "%s %s to port %u", kind, host, port_of(&here));
		else
			snprintf(out, size, "%s %s:%u", kind, host, port_of(&peer));
	}
	return true;
}

/* ---- names ---- */

/* "pipe:[123]" is any pipe; a file that is gone keeps its name. */
static void tidy(char *text)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(text);

	if (text[0] != '/' && strncmp(text, "anon_inode:", 11) != 0)
		text[strcspn(text, ":")] = '\0';
	else if (text[0] == '/' && n > sizeof(gone) - 1 &&
		 strcmp(text + n - (sizeof(gone) - 1), gone) == 0)
		text[n - (sizeof(gone) - 1)] = '\0';
}

static bool name_of(int fd, bool accepted, char *out, size_t size)
{
	char path[40];
	long n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, out, size - 1);
	if (n < 0)
		return false;
	out[n] = '\0';
	if (strncmp(out, "socket:", 7) == 0)
		return peer_text(fd, accepted, out, size);
	tidy(out);
	return true;
}

#define RECENT 256u

/*
 * Names that were given before are found without a lock: a handler may have interrupted who holds it. What looks like a
 * handler need not be one (a shell that has signals blocked, and the frame of an earlier one on its stack).
 */
static uint32_t number_of(const char *text)
{
	static const struct marker_name *_Atomic recent[RECENT];
	const struct marker_name *_Atomic *place =
		&recent[hash_bytes((const uint8_t *)text, strlen(text)) % RECENT];
	const struct marker_name *name = atomic_load(place);

	if (!name || strcmp(name->text, text) != 0) {
		if (cap_in_handler(cap_sp()))
			return 0;
		name = marker_name(text);
		if (name)
			atomic_store(place, name);
	}
	return name ? name->id : 0;
}

uint32_t posix_file(int fd, bool accepted)
{
	int saved = errno;
	uint32_t id = 0, none = 0;
	char text[1024];

	if (fd < 0)
		return 0;
	if (cap_likely(fd < KNOWN)) {
		id = atomic_load_explicit(&files[fd], memory_order_relaxed);
		if (cap_likely(id != 0))
			return id;
	}
	if (name_of(fd, accepted, text, sizeof(text)))
		id = number_of(text);
	/* Another thread may have closed it and opened something else. */
	if (id && fd < KNOWN && !atomic_compare_exchange_strong(&files[fd], &none, id))
		id = none;
	errno = saved;
	return id;
}

uint32_t kymo_posix_file(int fd)
{
	return posix_file(fd, false);
}

unsigned posix_rings(void)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned count = 0;
	char text[64];

	while (folder && (entry = readdir(folder)))
		count += name_of(atoi(entry->d_name), false, text, sizeof(text)) &&
			 strcmp(text, "anon_inode:[io_uring]") == 0;
	if (folder)
		closedir(folder);
	return count;
}
