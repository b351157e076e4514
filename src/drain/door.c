/* SPDX-License-Identifier: Apache-2.0 */
/* The drain's door: who comes, who is let in, who is turned away and counted. See inside.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/peer.h"
#include "drain/inside.h"
#include "drain/place.h"
#include "drain/process_exit.h"
#include "drain/refused.h"

enum {
	HELLO_SECONDS = 5, /* to say hello */
	GREETING_MS = 50,  /* for one that is to be turned away to say who it is */
	LAUNCHERS_AT_ONCE = 64,
	ERRORS = 4095
};

/* ---- who is not recorded --------------------------------------------------------------------- */

/* False: it is not written down. */
static bool write_refusal(struct drain *d, const char *trace, int pid, int error)
{
	struct journal_refused entry = {pid, error};

	if (!refused_write(trace, pid, error))
		return false;
	journal_add(d->journal, JOURNAL_WRITTEN, &entry, sizeof(entry), NULL);
	return true;
}

void door_refuse(struct drain *d, struct session *s, int pid, int error, const char *why)
{
	struct journal_refused entry = {pid, error};
	struct refusal *r;

	session_note(d, s, JOURNAL_REFUSED, &entry, sizeof(entry), NULL);
	if (s->totals.refused++ == 0)
		s->totals.refused_error = error;
	session_complain(d, s, "process %d is not recorded: %s", pid,
			 error ? strerror(error) : why);
	refused_begin();
	r = write_refusal(d, drain_folder(d), pid, error) ? NULL : malloc(sizeof(*r));
	refused_end();
	if (!r)
		return;
	*r = (struct refusal){d->refusals, pid, error};
	d->refusals = r;
}

void door_write_refusals(struct drain *d)
{
	refused_begin();
	while (d->refusals) {
		struct refusal *r = d->refusals;

		write_refusal(d, d->config->trace, r->pid, r->error);
		d->refusals = r->next;
		free(r);
	}
}

static pid_t pid_of(int fd)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	return peer.pid;
}

/* It did not wait to be let in, and asks again: what it shared before is not what it uses. */
static void forget_early(struct drain *d, int pid)
{
	struct producer *next;

	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (p->pid == pid && !p->begun && producer_too_late(p))
			drain_finish(d, p, -1);
	}
	/* 0: many, of somewhere where this process cannot look. */
	for (struct pending_client *g = d->pending_clients; g && pid > 0; g = g->next)
		g->again |= g->session && pid_of(g->fd) == pid;
}

/* A process that Kymo was loaded into. `crowded`: it has lost nothing, but there is no room for it. */
static void note_greeting(struct drain *d, struct session *s, bool crowded)
{
	uint32_t entry = crowded;

	session_note(d, s, JOURNAL_GREETED, &entry, sizeof(entry), NULL);
	s->totals.greeted++;
	s->totals.crowded += crowded;
}

/* ---- greetings ------------------------------------------------------------------------------- */

struct greeting {
	union {
		struct shm_hello hello;
		struct steer_request request;
		struct meet_hello launcher;
	};
	char command[MEET_WORDS];
};

/*
 * Receives what a client has to say, with the descriptor that came along, or -1; *error: errno if there
 * was one and no room for it, or none can be received. Returns its bytes.
 */
static ssize_t receive(int fd, struct greeting *g, int *passed, int *error)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec iov = {g, sizeof(*g)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = peer_receive(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*passed = -1;
	*error = n >= 0 && (m.msg_flags & MSG_CTRUNC) ? EMFILE : 0;
	if (n < 0) { /* who it is can be heard perhaps, but not what it shares */
		*error = errno;
		return recv(fd, g, sizeof(*g), MSG_DONTWAIT);
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		int fds[8];
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || count > 8)
			continue;
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			if (*passed < 0)
				*passed = fds[i];
			else
				close(fds[i]);
		}
	}
	return n;
}

/* The process has connected before: it has called exec, or has two buffers. Returns its delay before that. */
static uint64_t supersede(struct drain *d, int pid, uint64_t image)
{
	struct producer *next;
	uint64_t delay_before = 0;

	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (p->pid != pid || process_exit_seen(p->pid, p->pidfd))
			continue;
		if (atomic_load(&p->shm->state) != SHM_EXEC &&
		    (!image || !p->image || p->image == image))
			continue;
		p->superseded = true;
		delay_before = p->delay_before;
		drain_finish(d, p, -1);
	}
	return delay_before;
}

/* False: it cannot be recorded. */
static bool enlist(struct drain *d, struct producer *p, uint64_t image)
{
	p->image = image;
	p->pidfd = process_exit_watch(p->pid);
	d->missing_pidfd = d->missing_pidfd || p->pidfd < 0;
	p->next = d->producers;
	d->producers = p;
	steer_newcomer(&d->steering, p);
	if (p->pidfd >= 0)
		drain_watch(d, p->pidfd);
	session_turn(d, p->session);
	producer_adopt(p, ++d->numbers);
	if (producer_wants(p))
		return drain_begin(d, p);
	p->place = fcntl(d->epoll, F_DUPFD_CLOEXEC, 0);
	return true;
}

/* Its drain was killed before it could answer: the process asks again, with the same memory. */
static struct producer *known(const struct drain *d, int memfd)
{
	struct producer *p = d->journal && d->journal->deaths ? d->producers : NULL;

	while (p && !producer_has(p, memfd))
		p = p->next;
	return p;
}

/* What a process that is let in takes beside its memory: what watches it, and its file. */
static bool has_descriptors(const struct drain *d)
{
	int taken[2];
	size_t n = 0;
	bool ok;

	if (!refused_end())
		return false;
	while (n < 2 && (taken[n] = fcntl(d->epoll, F_DUPFD_CLOEXEC, 0)) >= 0)
		n++;
	ok = n == 2;
	while (n > 0)
		close(taken[--n]);
	return ok;
}

/* Those that have come and gone while the drain was busy are in nobody's way. */
static bool has_room(struct drain *d)
{
	if (has_descriptors(d))
		return true;
	drain_finish_dead(d);
	return has_descriptors(d);
}

/* There is no room for it. One that is early asks again when it begins, unless it has. False: it is lost. */
static bool send_back(struct producer *p, int error, bool early)
{
	bool later = early && producer_too_late(p);

	if (!later)
		producer_refuse(p, error);
	producer_drop(p);
	return later;
}

/*
 * `error`: errno of what there was no room for already; `early`: who is turned away has lost nothing
 * yet, unless it has begun. One that is not early and waits no longer goes on with what it shared early,
 * if anything. False: there is no room for it, and it has lost nothing.
 */
static bool welcome(struct drain *d, const struct pending_client *client,
		    const struct shm_hello *hello, int memfd, int error, bool early)
{
	struct shm_welcome w = {SHM_MAGIC, SHM_VERSION, KYMO_ERROR_INCOMPATIBLE};
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	kymo_status_t status = KYMO_ERROR_INCOMPATIBLE;
	const char *why = "what it shares is not in order";
	struct producer *p = NULL;
	bool again = false, later = early;
	uint64_t delay_before = 0;

	getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	if (peer.uid != geteuid())
		why = "it is another user's";
	else if (hello && hello->version != SHM_VERSION)
		why = "it has another version of Kymo";
	if (hello && hello->version == SHM_VERSION && peer.pid > 0 && peer.uid == geteuid()) {
		p = known(d, memfd);
		again = p != NULL;
		if (again)
			close(memfd);
		else
			delay_before = supersede(d, peer.pid, hello->image);
		status = KYMO_OK;
		if (!again)
			p = producer_new(memfd, peer.pid, d->journal, &status);
		if (status == KYMO_ERROR_NO_MEMORY)
			error = ENOMEM;
		if (p && !again) {
			p->session = client->session;
			p->delay_before = delay_before;
		}
	} else if (memfd >= 0) {
		close(memfd);
	}
	if (p && !early && !producer_claim(p)) {
		if (!again)
			producer_drop(p);
		return true;
	}
	if (!early)
		forget_early(d, peer.pid);
	if (p && !again && !has_room(d)) {
		error = error ? error : EMFILE;
		status = KYMO_ERROR_LIMIT;
		later = send_back(p, error, early);
		p = NULL;
	}
	if (!p && !later)
		door_refuse(d, client->session, peer.pid, error, why);
	if (p && !(again ? p->begun || early || drain_begin(d, p) : enlist(d, p, hello->image)))
		status = KYMO_ERROR_SYSTEM;
	w.status = status;
	peer_say(client->fd, &w, sizeof(w), MSG_DONTWAIT);
	return p || !later;
}

/* `error`: errno of what there was no room for, 0. */
static void greet_process(struct drain *d, const struct pending_client *client, bool known,
			  const struct shm_hello *hello, int memfd, int error)
{
	bool early = known && hello->version == SHM_VERSION && hello->early;
	bool room = welcome(d, client, known && memfd >= 0 ? hello : NULL, memfd, error, early);

	if (known)
		note_greeting(d, client->session, !room);
}

/*
 * A process that is to be recorded, or one that asks for something: that connection is kept. `error`:
 * errno where it is one that is held back, else 0. Who has hung up without a word knows more than we do.
 */
static void greet(struct drain *d, struct pending_client *client, int error)
{
	static struct greeting g;
	int memfd, cut;
	ssize_t n;

	refused_begin();
	n = receive(client->fd, &g, &memfd, &cut);
	if (n == (ssize_t)sizeof(g.request) && g.request.magic == STEER_MAGIC && memfd < 0 &&
	    !error && peer_may_ask(client->fd)) {
		epoll_ctl(d->epoll, EPOLL_CTL_DEL, client->fd, NULL);
		if (steer_begin(&d->steering, client->fd, &g.request, d->producers))
			for (const struct session *s = d->sessions; s; s = s->next)
				place_stands(s->socket, g.request.what);
		client->fd = -1;
	} else if (n > 0) {
		if (n == (ssize_t)sizeof(g.hello) && memfd < 0 && !cut && g.hello.bytes <= ERRORS)
			cut = (int)g.hello.bytes;
		greet_process(d, client,
			      n == (ssize_t)sizeof(g.hello) && g.hello.magic == SHM_MAGIC, &g.hello,
			      memfd, error ? error : cut);
	}
	refused_end();
}

/* ---- launchers ------------------------------------------------------------------------------- */

void door_welcome_launcher(const struct drain *d, const struct session *s)
{
	struct meet_welcome w = {.magic = MEET_MAGIC, .version = MEET_VERSION};

	if (d->config->local)
		strncpy(w.local, d->config->local, sizeof(w.local) - 1);
	if (s->control_open)
		peer_say(s->control, &w, sizeof(w), MSG_DONTWAIT);
}

/* All users can come where launchers meet. */
static bool is_own(int fd)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static bool is_hello(const struct pending_client *client, const struct greeting *g, ssize_t n,
		     int listener)
{
	return n > (ssize_t)sizeof(g->launcher) && listener >= 0 &&
	       g->launcher.magic == MEET_MAGIC && g->launcher.version == MEET_VERSION &&
	       n == (ssize_t)(sizeof(g->launcher) + g->launcher.command) &&
	       memchr(g->launcher.socket, '\0', sizeof(g->launcher.socket)) &&
	       ((const char *)g)[n - 1] == '\0' && is_own(client->fd);
}

/* Who is not understood hears nothing, and finds another drain. Else the connection is the session's. */
static void greet_launcher(struct drain *d, struct pending_client *client)
{
	static struct greeting g;
	struct journal_session entry;
	int listener, error;
	ssize_t n = receive(client->fd, &g, &listener, &error);
	const char *command = (const char *)&g + sizeof(g.launcher);
	struct session *s = NULL;

	if (is_hello(client, &g, n, listener))
		s = session_add(d, ++d->session_numbers, g.launcher.socket);
	if (!s) {
		if (listener >= 0)
			close(listener);
		return;
	}
	s->rank = g.launcher.rank;
	s->command = *command ? strdup(command) : NULL;
	s->listener = listener;
	s->control = client->fd;
	s->control_open = true;
	s->held = place_hold(s->socket);
	client->fd = -1;
	entry = (struct journal_session){.number = s->number,
					 .rank = s->rank,
					 .listener = s->listener,
					 .control = s->control,
					 .held = s->held};
	memcpy(entry.socket, g.launcher.socket, sizeof(entry.socket));
	journal_add(d->journal, JOURNAL_SESSION, &entry, sizeof(entry), command);
	if (d->steering.standing)
		place_stands(s->socket, SHM_ASKED_WHAT(d->steering.standing));
	drain_watch(d, s->listener);
	d->news = true;
	door_welcome_launcher(d, s);
}

/*
 * Greets those that have spoken, sends those away that say nothing. Each is asked: events may come
 * in another order, and not all at once.
 */
void door_serve(struct drain *d)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct pending_client **at = &d->pending_clients;

	while (*at) {
		struct pending_client *g = *at;
		bool late = g->again || now - g->since > HELLO_SECONDS * 1000000000ull;
		struct pollfd p = {g->fd, POLLIN, 0};
		bool ready = poll(&p, 1, 0) == 1;

		if (ready && !g->session)
			greet_launcher(d, g);
		else if (ready && !g->again)
			greet(d, g, 0);
		else if (late && !g->again && g->session)
			door_refuse(d, g->session, pid_of(g->fd), 0, "it sent nothing");
		if (!ready && !late) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		if (g->fd >= 0)
			close(g->fd);
		free(g);
	}
}

/* ---- coming ---------------------------------------------------------------------------------- */

bool door_add(struct drain *d, int fd)
{
	struct pending_client **last = &d->pending_clients, *g = malloc(sizeof(*g));

	if (!g)
		return false;
	while (*last)
		last = &(*last)->next;
	*g = (struct pending_client){NULL, session_of(d, fd), fd, clock_ns(CLOCK_MONOTONIC), false};
	*last = g;
	drain_watch(d, fd);
	return true;
}

/* Filters of system calls know accept() more often than its younger sister. */
static int take_in(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES && errno != ENOMEM))
		return fd;
	fd = accept(listener, NULL, NULL);
	if (fd >= 0 &&
	    (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Who comes when not even a connection can be had. False: nobody is there. */
static bool turn_away(struct drain *d, struct session *s, int error)
{
	struct pending_client client = {.session = s, .fd = -1};
	struct pollfd p = {-1, POLLIN, 0};

	refused_begin();
	client.fd = p.fd = take_in(s->listener);
	if (p.fd >= 0 && poll(&p, 1, GREETING_MS) == 1)
		greet(d, &client, error);
	if (p.fd >= 0)
		close(p.fd);
	refused_end();
	return p.fd >= 0;
}

/*
 * Each is greeted before the next one is let in: a drain that was busy finds many at the door, whose
 * connections alone would take the descriptors that the first of them need to be recorded.
 */
static bool let_in(struct drain *d, int fd)
{
	if (!door_add(d, fd))
		return false;
	door_serve(d);
	return true;
}

/* In the order in which they came: of two of one process the second one counts. */
static void accept_processes(struct drain *d, struct session *s)
{
	int fd;

	for (;;) {
		fd = take_in(s->listener);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE) && turn_away(d, s, errno))
			continue;
		if (fd < 0)
			return;
		if (!let_in(d, fd)) {
			door_refuse(d, s, pid_of(fd), ENOMEM, "");
			close(fd);
		}
	}
}

/* Who finds no room here starts a drain of its own. Some at a time: other users may come without end. */
static void accept_launchers(struct drain *d)
{
	int fd = -1;

	for (unsigned n = 0; n < LAUNCHERS_AT_ONCE; n++) {
		fd = take_in(d->meeting);
		if (fd < 0)
			break;
		if (!is_own(fd) || !let_in(d, fd))
			close(fd);
	}
	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		return;
	refused_begin();
	fd = take_in(d->meeting);
	if (fd >= 0)
		close(fd);
	refused_end();
}

void door_accept(struct drain *d)
{
	for (struct session *s = d->sessions; s; s = s->next)
		if (s->listener >= 0)
			accept_processes(d, s);
	if (d->meeting >= 0)
		accept_launchers(d);
}
