/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the drains of a recording that are on this host for what they look at: drain/steer.h, STEER_LOOK. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/peer.h"
#include "drain/drain.h"
#include "drain/steer.h"
#include "follow/process.h"

enum { CONNECT_MS = 500, ANSWER_MS = 1000 };

struct sight {
	union {
		struct steer_sight sight;
		struct steer_answer answer;
	} u;
	char path[PATH_MAX];
};

/* Returns the bytes; *fd: what came along, or -1. */
static ssize_t receive(int from, struct sight *s, int *fd)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov[] = {{&s->u, sizeof(s->u.sight)}, {s->path, sizeof(s->path) - 1}};
	struct msghdr m = {.msg_iov = iov,
			   .msg_iovlen = 2,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct pollfd p = {from, POLLIN, 0};
	struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	if (poll(&p, 1, ANSWER_MS) != 1)
		return -1;
	n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	return n;
}

/* A message of the drain. False: it was the last one. */
static bool take(struct follow *f, struct follow_recording *r, int from, uint64_t *number)
{
	struct sight s;
	struct follow_process *p = NULL;
	ssize_t n;
	int fd;

	n = receive(from, &s, &fd);
	if (fd < 0)
		return false;
	if (n > (ssize_t)sizeof(s.u.sight) && s.u.sight.magic == STEER_MAGIC &&
	    s.u.sight.version == STEER_VERSION &&
	    n == (ssize_t)(sizeof(s.u.sight) + s.u.sight.path)) {
		s.path[s.u.sight.path] = '\0';
		*number = s.u.sight.number;
		p = follow_process_of(f, r, s.path);
	}
	if (p)
		follow_take_memory(p, fd);
	else
		close(fd);
	return true;
}

static void ask(struct follow *f, struct follow_recording *r, const char *socket_path)
{
	struct steer_request request = {STEER_MAGIC, STEER_VERSION, STEER_LOOK, 0};
	uint64_t before;

	do {
		int fd = peer_connect(socket_path, geteuid() == 0, CONNECT_MS);

		before = request.wait_ns;
		if (fd < 0)
			return;
		if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) == (ssize_t)sizeof(request))
			while (take(f, r, fd, &request.wait_ns))
				;
		close(fd);
	} while (request.wait_ns > before);
}

void follow_ask_drains(struct follow *f, struct follow_recording *r)
{
	char here[PATH_MAX], path[PATH_MAX], socket_path[128];
	DIR *dir = opendir(r->trace);
	struct dirent *e;

	drain_control_prefix(here, sizeof(here));
	while (dir && (e = readdir(dir))) {
		ssize_t n;

		if (strncmp(e->d_name, here, strlen(here)) != 0)
			continue;
		snprintf(path, sizeof(path), "%.*s/%.256s", PATH_MAX - 264, r->trace, e->d_name);
		n = readlink(path, socket_path, sizeof(socket_path) - 1);
		if (n <= 0)
			continue;
		socket_path[n] = '\0';
		ask(f, r, socket_path);
	}
	if (dir)
		closedir(dir);
}
