/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the drains of a recording that are on this host for what they look at: drain/steer.h, STEER_LOOK. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/peer.h"
#include "base/vec.h"
#include "drain/drain.h"
#include "drain/place.h"
#include "drain/steer.h"
#include "follow/process.h"

#define SILENT_NS 1000000000ull

enum { ANSWER_MS = 1000, AGAIN_MS = 20 }; /* for the first answer, and for those that follow */

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
	struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	n = peer_receive(from, &m, MSG_CMSG_CLOEXEC);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	return n;
}

/* ---- a question -------------------------------------------------------------------------------- */

/* A drain that is spoken to. Its answer is waited for once; where it does not come, looks go on, and take it when it has. */
struct follow_door {
	char socket[PLACE_SOCKET];
	int fd;          /* of a question that has no answer yet; -1: none */
	bool here;       /* its link is in the trace */
	bool known;      /* it has answered before */
	uint64_t since;  /* CLOCK_MONOTONIC ns of the question that has no answer; 0: none */
	uint64_t number; /* what came before was sent */
};

enum said { SAID_MORE, SAID_ALL, SAID_NOTHING };

static void close_door(struct follow_door *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	d->since = 0;
	d->known = true;
}

static void ask(struct follow_door *d)
{
	struct steer_request request = {STEER_MAGIC, STEER_VERSION, STEER_LOOK, d->number};
	uint64_t since = d->since ? d->since : clock_ns(CLOCK_MONOTONIC);

	d->fd = peer_connect(d->socket, geteuid() == 0, d->since ? AGAIN_MS : ANSWER_MS);
	if (d->fd >= 0 && peer_say(d->fd, &request, sizeof(request), 0) != (ssize_t)sizeof(request))
		close_door(d);
	else if (d->fd >= 0 || errno == EAGAIN)
		d->since = since; /* EAGAIN: it does not even take questions */
	else
		d->since = 0;
}

/* ---- an answer --------------------------------------------------------------------------------- */

/* A message of the drain, waited for so long. */
static enum said take(struct follow *f, struct follow_recording *r, struct follow_door *d,
		      int wait_ms)
{
	struct pollfd poll_for = {d->fd, POLLIN, 0};
	struct follow_process *p = NULL;
	struct sight s;
	ssize_t n;
	int fd;

	if (poll(&poll_for, 1, wait_ms) != 1)
		return SAID_NOTHING;
	n = receive(d->fd, &s, &fd);
	if (fd < 0)
		return SAID_ALL;
	if (n > (ssize_t)sizeof(s.u.sight) && s.u.sight.magic == STEER_MAGIC &&
	    s.u.sight.version == STEER_VERSION &&
	    n == (ssize_t)(sizeof(s.u.sight) + s.u.sight.path)) {
		s.path[s.u.sight.path] = '\0';
		d->number = s.u.sight.number;
		p = follow_process_of(f, r, s.path);
	}
	if (p)
		follow_take_memory(p, fd);
	else
		close(fd);
	return SAID_MORE;
}

/* All that it has to say; it says so much at once, and is asked for what follows. */
static void hear(struct follow *f, struct follow_recording *r, struct follow_door *d)
{
	int wait_ms = d->known ? AGAIN_MS : ANSWER_MS;

	while (d->fd >= 0) {
		uint64_t before = d->number;
		enum said said;

		do
			said = take(f, r, d, wait_ms);
		while (said == SAID_MORE);
		d->known = true;
		if (said == SAID_NOTHING)
			return;
		close_door(d);
		if (d->number > before)
			ask(d);
	}
}

/* ---- the drains of a recording ----------------------------------------------------------------- */

static struct follow_door *door_of(struct follow *f, struct follow_recording *r,
				   const char *socket_path)
{
	for (uint32_t i = 0; i < r->door_count; i++)
		if (strcmp(r->doors[i].socket, socket_path) == 0)
			return &r->doors[i];
	if (!vec_reserve_zero(&r->doors, &r->door_room, r->door_count, 1)) {
		f->failed = true;
		return NULL;
	}
	r->doors[r->door_count].fd = -1;
	snprintf(r->doors[r->door_count].socket, PLACE_SOCKET, "%s", socket_path);
	return &r->doors[r->door_count++];
}

static void find_doors(struct follow *f, struct follow_recording *r)
{
	char here[PATH_MAX], path[PATH_MAX], socket_path[PLACE_SOCKET];
	DIR *dir = opendir(r->trace);
	struct follow_door *d;
	struct dirent *e;

	for (uint32_t i = 0; i < r->door_count; i++)
		r->doors[i].here = false;
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
		d = door_of(f, r, socket_path);
		if (d)
			d->here = true;
	}
	if (dir)
		closedir(dir);
}

void follow_ask_drains(struct follow *f, struct follow_recording *r, bool again)
{
	if (again)
		find_doors(f, r);
	r->silent = 0;
	for (uint32_t i = 0; i < r->door_count; i++) {
		struct follow_door *d = &r->doors[i];
		uint64_t silent;

		if (!d->here)
			close_door(d);
		else if (again && d->fd < 0) {
			d->number = 0;
			ask(d);
		}
		hear(f, r, d);
		silent = d->since ? clock_ns(CLOCK_MONOTONIC) - d->since : 0;
		if (silent >= SILENT_NS && silent > r->silent)
			r->silent = silent;
	}
}

void follow_close_doors(struct follow_recording *r)
{
	for (uint32_t i = 0; i < r->door_count; i++)
		close_door(&r->doors[i]);
	free(r->doors);
	r->doors = NULL;
	r->door_count = r->door_room = 0;
}
