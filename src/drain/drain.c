/* SPDX-License-Identifier: Apache-2.0 */
/* The drain's loop: connections, producers, the launcher, the end. See drain.h. */
#include "drain/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/peer.h"
#include "drain/collect.h"
#include "drain/process_exit.h"
#include "drain/life.h"
#include "drain/place.h"
#include "drain/refused.h"

enum {
	EVENTS = 64,
	POLL_MS = 250,      /* longest sleep; the heartbeat is seconds */
	STEER_MS = 5,       /* while processes do what was asked of them */
	NO_PIDFD_MS = 50,   /* where the death of processes must be looked for */
	HELLO_SECONDS = 5,  /* to say hello */
	ORPHAN_SECONDS = 5, /* without ever a producer */
	GREETING_MS = 50,   /* for one that is to be turned away to say who it is */
	COMPRESS_MIN_S = 1  /* time for compression; more after long runs */
};

/* ---- the launcher ---------------------------------------------------------------------------- */

static struct drain_totals totals_now(const struct drain *d)
{
	struct drain_totals t = d->totals;

	for (struct producer *p = d->producers; p; p = p->next) {
		if (!p->begun)
			continue;
		producer_count(p, &t);
		t.alive++;
	}
	return t;
}

static void tell(struct drain *d, enum drain_message_type type)
{
	struct drain_message m = {.type = type, .totals = totals_now(d)};

	if (d->control_open)
		send(d->config->control, &m, sizeof(m), MSG_NOSIGNAL);
}

static void watch_fd(struct drain *d, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.fd = fd}};

	epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &e);
}

static void hear_of_program(struct drain *d, int pid)
{
	struct journal_program entry = {.pid = pid, .fd = process_exit_watch(pid)};

	entry.gone = entry.fd < 0 && errno == ESRCH;
	journal_add(d->journal, JOURNAL_PROGRAM, &entry, sizeof(entry), NULL);
	d->program = pid;
	d->config->manifest->pid = pid;
	d->program_fd = entry.fd;
	d->program_gone = entry.gone;
	if (entry.fd >= 0)
		watch_fd(d, entry.fd);
}

static void hear_launcher(struct drain *d)
{
	struct drain_message m;
	ssize_t n;

	/* It is taken once it is in the journal. */
	while ((n = recv(d->config->control, &m, sizeof(m), MSG_DONTWAIT | MSG_PEEK)) ==
	       (ssize_t)sizeof(m)) {
		if (m.type == DRAIN_PROGRAM && !d->program) {
			hear_of_program(d, m.pid);
		} else if (m.type == DRAIN_EXITED) {
			journal_add(d->journal, JOURNAL_EXITED, &m.status, sizeof(m.status), NULL);
			d->program_gone = true;
			d->program_told = true;
			d->config->manifest->status = m.status;
		}
		recv(d->config->control, &m, sizeof(m), MSG_DONTWAIT);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* The launcher is gone: go on for as long as somebody is recorded. */
	epoll_ctl(d->epoll, EPOLL_CTL_DEL, d->config->control, NULL);
	d->control_open = false;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void finish(struct drain *d, struct producer *p, int wait_status);

static const char *where(const struct drain *d)
{
	return d->config->local ? d->config->local : d->config->trace;
}

/* In the manifest, whichever drain writes it. */
__attribute__((format(printf, 2, 3))) static void complain(struct drain *d, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	journal_add(d->journal, JOURNAL_ERROR, NULL, 0, text);
	manifest_error(d->config->manifest, "%s", text);
}

/* False: it is not written down. */
static bool write_refusal(struct drain *d, const char *trace, int pid, int error)
{
	struct journal_refused entry = {pid, error};

	if (!refused_write(trace, pid, error))
		return false;
	journal_add(d->journal, JOURNAL_WRITTEN, &entry, sizeof(entry), NULL);
	return true;
}

/* A process is lost: that is told where the others' records are, now or at the end. */
static void refuse(struct drain *d, int pid, int error, const char *why)
{
	struct journal_refused entry = {pid, error};
	struct refusal *r;

	journal_add(d->journal, JOURNAL_REFUSED, &entry, sizeof(entry), NULL);
	if (d->totals.refused++ == 0)
		d->totals.refused_error = error;
	complain(d, "process %d is not recorded: %s", pid, error ? strerror(error) : why);
	refused_begin();
	r = write_refusal(d, where(d), pid, error) ? NULL : malloc(sizeof(*r));
	refused_end();
	if (!r)
		return;
	*r = (struct refusal){d->refusals, pid, error};
	d->refusals = r;
}

/* Room may have been made since. */
static void write_refusals(struct drain *d)
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
			finish(d, p, -1);
	}
	/* 0: many, of somewhere where this process cannot look. */
	for (struct pending_client *g = d->pending_clients; g && pid > 0; g = g->next)
		g->again |= pid_of(g->fd) == pid;
}

/* A process that Kymo was loaded into. `crowded`: it has lost nothing, but there is no room for it. */
static void note_greeting(struct drain *d, bool crowded)
{
	uint32_t entry = crowded;

	journal_add(d->journal, JOURNAL_GREETED, &entry, sizeof(entry), NULL);
	d->totals.greeted++;
	d->totals.crowded += crowded;
}

/* Nobody can be let in; who wants to be recorded is told so, and counted. False: nobody is there. */
static bool turn_away(struct drain *d, int error)
{
	struct shm_welcome w = {SHM_MAGIC, SHM_VERSION, KYMO_ERROR_LIMIT};
	struct shm_hello hello = {0};
	struct pollfd p = {-1, POLLIN, 0};

	refused_begin();
	p.fd = accept4(d->config->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	/* Descriptors that come with it are dropped: there is no room for them here. */
	if (p.fd >= 0 && poll(&p, 1, GREETING_MS) == 1 &&
	    recv(p.fd, &hello, sizeof(hello), MSG_DONTWAIT) > 0 && hello.magic == SHM_MAGIC) {
		pid_t pid = pid_of(p.fd);

		send(p.fd, &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT);
		close(p.fd);
		note_greeting(d, hello.early != 0);
		if (!hello.early) {
			forget_early(d, pid);
			refuse(d, pid, error, "");
		}
	} else if (p.fd >= 0) {
		close(p.fd);
	}
	refused_end();
	return p.fd >= 0;
}

bool drain_add_client(struct drain *d, int fd)
{
	struct pending_client **last = &d->pending_clients, *g = malloc(sizeof(*g));

	if (!g)
		return false;
	while (*last)
		last = &(*last)->next;
	*g = (struct pending_client){NULL, fd, clock_ns(CLOCK_MONOTONIC), false};
	*last = g;
	watch_fd(d, fd);
	return true;
}

/* In the order in which they came: of two of one process the second one counts. */
static void accept_clients(struct drain *d)
{
	int fd;

	for (;;) {
		fd = accept4(d->config->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE) && turn_away(d, errno))
			continue;
		if (fd < 0)
			return;
		if (!drain_add_client(d, fd)) {
			refuse(d, pid_of(fd), ENOMEM, "");
			close(fd);
		}
	}
}

union greeting {
	struct shm_hello hello;
	struct steer_request request;
};

/*
 * Receives what a client has to say, with the memfd of a hello, or -1; *error: errno if there was one and
 * no room for it. Returns its bytes.
 */
static ssize_t receive(int fd, union greeting *g, int *memfd, int *error)
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
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*memfd = -1;
	*error = n >= 0 && (m.msg_flags & MSG_CTRUNC) ? EMFILE : 0;
	if (n < 0)
		return n;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		int fds[8];
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || count > 8)
			continue;
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			if (*memfd < 0)
				*memfd = fds[i];
			else
				close(fds[i]);
		}
	}
	return n;
}

static bool begin(struct drain *d, struct producer *p);

/* The process has connected before: it has called exec, or has two buffers. */
static void supersede(struct drain *d, int pid, uint64_t image)
{
	struct producer *next;

	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (p->pid != pid || process_exit_seen(p->pid, p->pidfd))
			continue;
		if (atomic_load(&p->shm->state) != SHM_EXEC &&
		    (!image || !p->image || p->image == image))
			continue;
		p->superseded = true;
		finish(d, p, -1);
	}
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
		watch_fd(d, p->pidfd);
	producer_adopt(p, ++d->numbers);
	return !producer_wants(p) || begin(d, p);
}

/* Its drain was killed before it could answer: the process asks again, with the same memory. */
static struct producer *known(const struct drain *d, int memfd)
{
	struct producer *p = d->journal && d->journal->deaths ? d->producers : NULL;

	while (p && !producer_has(p, memfd))
		p = p->next;
	return p;
}

/*
 * `error`: errno of what is wrong already; `early`: who is turned away has lost nothing yet. One
 * that is not early and waits no longer goes on with what it shared early, if anything. False: there is
 * no room for it.
 */
static bool welcome(struct drain *d, int fd, const struct shm_hello *hello, int memfd, int error,
		    bool early)
{
	struct shm_welcome w = {SHM_MAGIC, SHM_VERSION, KYMO_ERROR_INCOMPATIBLE};
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	kymo_status_t status = KYMO_ERROR_INCOMPATIBLE;
	const char *why = "what it shares is not in order";
	struct producer *p = NULL;
	bool again = false, room;

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
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
			supersede(d, peer.pid, hello->image);
		status = KYMO_OK;
		if (!again)
			p = producer_new(memfd, peer.pid, d->journal, &status);
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
	if (!p && !early)
		refuse(d, peer.pid, error, why);
	room = p != NULL;
	if (p && !(again ? p->begun || early || begin(d, p) : enlist(d, p, hello->image)))
		status = KYMO_ERROR_SYSTEM;
	w.status = status;
	send(fd, &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT);
	return room;
}

/* A process that is to be recorded, or one that asks for something: that connection is kept. */
static void greet(struct drain *d, struct pending_client *client)
{
	union greeting g;
	int memfd, error;
	ssize_t n = receive(client->fd, &g, &memfd, &error);

	if (n == (ssize_t)sizeof(g.request) && g.request.magic == STEER_MAGIC && memfd < 0 &&
	    peer_may_ask(client->fd)) {
		epoll_ctl(d->epoll, EPOLL_CTL_DEL, client->fd, NULL);
		if (steer_begin(&d->steering, client->fd, &g.request, d->producers))
			place_stands(d->config->socket_path, g.request.what);
		client->fd = -1;
	} else {
		bool known = n == (ssize_t)sizeof(g.hello) && g.hello.magic == SHM_MAGIC;

		bool early = known && g.hello.version == SHM_VERSION && g.hello.early;
		bool room = welcome(d, client->fd, known && memfd >= 0 ? &g.hello : NULL, memfd,
				    error, early);

		if (known)
			note_greeting(d, early && !room);
	}
}

/*
 * Greets those that have spoken, sends those away that say nothing. Each is asked: events may come
 * in another order, and not all at once.
 */
static void serve_clients(struct drain *d)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct pending_client **at = &d->pending_clients;

	while (*at) {
		struct pending_client *g = *at;
		bool late = g->again || now - g->since > HELLO_SECONDS * 1000000000ull;
		struct pollfd p = {g->fd, POLLIN, 0};
		bool ready = poll(&p, 1, 0) == 1;

		if (ready && !g->again)
			greet(d, g);
		else if (late && !g->again)
			refuse(d, pid_of(g->fd), 0, "it sent nothing");
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

/* ---- producers ------------------------------------------------------------------------------- */

static void take_out(struct drain *d, struct producer *p)
{
	struct producer **at = &d->producers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
}

static void let_go(struct drain *d, struct producer *p)
{
	if (p->kept)
		journal_add(d->journal, JOURNAL_GONE, &p->kept->number, sizeof(p->kept->number),
			    NULL);
	producer_drop(p);
}

/* One that has begun to record. False: it cannot be, and is gone from the list. */
static bool begin(struct drain *d, struct producer *p)
{
	if (!producer_begin(p, where(d))) {
		refuse(d, p->pid, errno, "");
		take_out(d, p);
		let_go(d, p);
		return false;
	}
	d->totals.processes++;
	return true;
}

static void begin_new(struct drain *d)
{
	struct producer *next;

	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (!p->begun && producer_wants(p))
			begin(d, p);
	}
}

struct file *drain_add_file(struct drain *d, const char *path)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	snprintf(f->path, sizeof(f->path), "%s", path);
	if (d->last_file)
		d->last_file->next = f;
	else
		d->files = f;
	d->last_file = f;
	return f;
}

static void list_finished(struct drain *d, const struct journal_finished *done, const char *path)
{
	struct file *f = drain_add_file(d, path);

	if (!f) {
		manifest_process(d->config->manifest, done->pid, path, &done->end);
		return;
	}
	f->bytes = done->bytes;
	f->end = done->end;
	f->pid = done->pid;
}

static void finish(struct drain *d, struct producer *p, int wait_status)
{
	struct journal_finished done = {.pid = p->pid};
	char path[PATH_MAX];
	uint64_t before = d->totals.bytes;
	int failed = d->totals.failed;

	if (!p->begun && !producer_too_late(p) && !begin(d, p))
		return;
	take_out(d, p);
	if (!p->begun) {
		let_go(d, p);
		return;
	}
	producer_finish(p, wait_status, &d->totals, &done.end, path);
	if (d->totals.failed && !failed)
		complain(d, "%s is cut short: %s", path, strerror(d->totals.failed));
	if (!*path)
		d->totals.bytes = before;
	done.number = p->kept ? p->kept->number : 0;
	done.bytes = d->totals.bytes - before;
	done.totals = d->totals;
	journal_add(d->journal, JOURNAL_FINISHED, &done, sizeof(done), path);
	if (*path)
		list_finished(d, &done, path);
	producer_drop(p);
}

/* The program first: those that it has waited for are dead when it is. */
static void finish_dead(struct drain *d)
{
	struct producer *next;

	if (d->program && !d->program_gone && process_exit_seen(d->program, d->program_fd))
		d->program_gone = true;
	if (d->program_gone && d->program_fd >= 0) {
		journal_add(d->journal, JOURNAL_PROGRAM_GONE, NULL, 0, NULL);
		close(d->program_fd); /* leaves the epoll set, where it would be ready for ever */
		d->program_fd = -1;
	}
	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (process_exit_seen(p->pid, p->pidfd))
			finish(d, p, process_exit_status(p->pid, p->pidfd));
	}
}

static void pass(struct drain *d)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (struct producer *p = d->producers; p; p = p->next)
		if (producer_calls(p, now))
			producer_pass(p);
}

/* Until the first of them has waited long enough, in ms, at most `ms`. */
static int until_next_pass(const struct drain *d, int ms)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), first = now + (uint64_t)ms * 1000000u;

	for (const struct producer *p = d->producers; p; p = p->next)
		first = p->next_pass < first ? p->next_pass : first;
	return first > now ? (int)((first - now + 999999) / 1000000u) : 0;
}

/* ---- who wants to steer ---------------------------------------------------------------------- */

void drain_control_prefix(char *out, size_t size)
{
	char host[64] = "";

	gethostname(host, sizeof(host) - 1);
	snprintf(out, size, DRAIN_CONTROL "%s-", host);
}

static void control_path(const struct drain *d, char *out, size_t size)
{
	char prefix[96];

	drain_control_prefix(prefix, sizeof(prefix));
	snprintf(out, size, "%.*s/%s%s", PATH_MAX - 128, d->config->trace, prefix, rawfile_token());
}

/* Where links cannot be made, only the processes' environment tells. */
static bool control_link(const struct drain *d, bool there)
{
	char path[PATH_MAX];

	control_path(d, path, sizeof(path));
	return there ? symlink(d->config->socket_path, path) == 0 : unlink(path) == 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool nobody_left(const struct drain *d)
{
	uint64_t age = clock_ns(CLOCK_MONOTONIC) - d->began;

	for (const struct producer *p = d->producers; p; p = p->next)
		if (p->begun)
			return false;
	if (d->pending_clients)
		return false;
	/* The launcher, while it lives, always tells how the program ended. */
	if (d->program)
		return d->program_gone && (!d->control_open || d->program_told);
	if (d->config->control >= 0)
		return !d->control_open;
	return d->totals.processes > 0 || age > ORPHAN_SECONDS * 1000000000ull;
}

/* The keeper is dead, or what is in the journal is not all: nobody is to wait for another drain. */
static void look_at_keeper(struct drain *d)
{
	if (!d->journal || d->alone ||
	    (getppid() == d->journal->keeper && !atomic_load(&d->journal->full)))
		return;
	d->alone = true;
	for (struct producer *p = d->producers; p; p = p->next)
		producer_alone(p);
}

static void serve(struct drain *d)
{
	int timeout = d->steering.fd >= 0 ? STEER_MS : d->missing_pidfd ? NO_PIDFD_MS : POLL_MS;
	struct epoll_event events[EVENTS];
	int n;

	waiter_wait(&d->waiter, d->producers, until_next_pass(d, timeout));
	n = epoll_wait(d->epoll, events, EVENTS, 0);
	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == d->config->listener)
			accept_clients(d);
		else if (d->control_open && events[i].data.fd == d->config->control)
			hear_launcher(d);
	}
	begin_new(d);
	serve_clients(d);
	look_at_keeper(d);
	pass(d);
	if (n > 0 || d->missing_pidfd)
		finish_dead(d);
	steer_serve(&d->steering, d->producers);
	if (d->program_gone && totals_now(d).alive && !d->busy_said) {
		d->busy_said = true;
		tell(d, DRAIN_BUSY);
	}
}

/* What has not begun to record by now has to look for another drain when it does. */
static bool nobody_begins(struct drain *d)
{
	struct producer *next;

	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (p->begun || !producer_too_late(p))
			continue;
		d->totals.later += !process_exit_seen(p->pid, p->pidfd);
		finish(d, p, -1);
	}
	return d->producers == NULL;
}

/*
 * Takes the address away, then looks whether somebody has come through the door meanwhile: a
 * process that connects later finds no drain and starts its own.
 */
static bool closed(struct drain *d)
{
	unlink(d->config->socket_path);
	control_link(d, false);
	accept_clients(d);
	return d->pending_clients == NULL && nobody_begins(d);
}

/* It may have been compressed already. */
static uint64_t size_of(const struct file *f)
{
	struct stat st;

	return stat(f->path, &st) == 0 ? (uint64_t)st.st_size : f->bytes;
}

static void compress(struct drain *d)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), run = now - d->began;
	uint64_t deadline = now + COMPRESS_MIN_S * 1000000000ull + run / 10;

	d->totals.stored = 0;
	for (struct file *f = d->files; f; f = f->next) {
		bool wanted = d->config->compress && !f->goal;
		uint64_t size = wanted ? rawfile_slim(f->path) : 0;

		if (wanted && !size)
			size = rawfile_compress(f->path, deadline);
		d->totals.stored += size ? size : size_of(f);
	}
}

static void note_goal(void *data, unsigned number, const char *goal)
{
	struct drain *d = data;
	uint32_t n = number;

	journal_add(d->journal, JOURNAL_COLLECTING, &n, sizeof(n), goal);
}

/* From the node's disk into the trace. What cannot be moved stays, and the manifest says where. */
static void collect(struct drain *d)
{
	struct collect_note note = {note_goal, d, 0};

	for (struct file *f = d->files; f; f = f->next, note.number++) {
		if (f->goal || collect_file(f->path, d->config->trace, &note))
			continue;
		if (!d->totals.failed)
			d->totals.failed = errno;
		complain(d, "%s is left there: %s", f->path, strerror(errno));
	}
	collect_end(d->config->local);
}

static void list_files(const struct drain *d)
{
	for (const struct file *f = d->files; f; f = f->next)
		manifest_process(d->config->manifest, f->pid, f->path, &f->end);
}

static void free_files(struct drain *d)
{
	while (d->files) {
		struct file *next = d->files->next;

		free(d->files->goal);
		free(d->files);
		d->files = next;
	}
}

static void enter(struct drain *d, enum journal_phase phase)
{
	uint32_t entry = phase;

	journal_add(d->journal, JOURNAL_PHASE, &entry, sizeof(entry), NULL);
	d->phase = phase;
}

static void record(struct drain *d)
{
	control_link(d, true);
	watch_fd(d, d->config->listener);
	if (d->control_open)
		watch_fd(d, d->config->control);
	do {
		serve(d);
	} while (!nobody_left(d) || !closed(d));
	enter(d, PHASE_ENDING);
}

static void write_manifest(struct drain *d)
{
	list_files(d);
	if (!manifest_write(d->config->manifest, &d->totals) && !d->totals.failed)
		d->totals.failed = errno;
}

static void end(struct drain *d)
{
	write_refusals(d);
	if (d->config->local) {
		compress(d);
		collect(d);
	}
	tell(d, DRAIN_EMPTY);
	if (!d->config->local)
		compress(d);
	write_manifest(d);
	enter(d, PHASE_DONE);
}

/* All was done when the drain before this one was killed: but nobody was told of that. */
static void end_again(struct drain *d)
{
	d->totals.stored = 0;
	for (const struct file *f = d->files; f; f = f->next)
		d->totals.stored += size_of(f);
	write_manifest(d);
}

static void begin_drain(struct drain *d)
{
	char token[PLACE_TOKEN];

	place_token(d->config->socket_path, token);
	rawfile_set_token(token);
	if (!d->journal) { /* else the keeper does */
		place_hold(d->config->socket_path);
		file_hold(d->config->trace);
	}
	tick_init();
	producer_guard_memory();
	life_begin(offsetof(struct shm_header, drain_life));
}

void drain_run(const struct drain_config *config, struct journal *journal, enum drain_task task)
{
	struct drain d = {.config = config,
			  .journal = journal,
			  .epoll = -1,
			  .began = journal ? journal->began : clock_ns(CLOCK_MONOTONIC),
			  .control_open = config->control >= 0,
			  .program_fd = -1};

	begin_drain(&d);
	if (task == DRAIN_GIVE_UP) {
		resume_give_up(&d);
		return;
	}
	steer_init(&d.steering, journal);
	if (task == DRAIN_GO_ON)
		resume(&d);
	else
		d.epoll = epoll_create1(EPOLL_CLOEXEC);
	refused_end();
	waiter_init(&d.waiter, d.epoll);
	if (task == DRAIN_GO_ON && d.phase == PHASE_DONE)
		end_again(&d);
	if (d.phase == PHASE_RECORDING)
		record(&d);
	if (d.phase == PHASE_ENDING)
		end(&d);
	place_remove(config->socket_path);
	tell(&d, DRAIN_DONE);
	free_files(&d);
}
