/* SPDX-License-Identifier: Apache-2.0 */
/* The drain's loop: connections, producers, the launcher, the end. See drain.h. */
#include "drain/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
#include "drain/compress.h"
#include "drain/process_exit.h"
#include "drain/life.h"
#include "drain/place.h"
#include "drain/refused.h"

enum {
	EVENTS = 64,
	POLL_MS = 250,      /* longest sleep; the heartbeat is seconds */
	STEER_MS = 5,       /* while processes do what was asked of them */
	NO_PIDFD_MS = 50,   /* where the death of processes must be looked for */
	ORPHAN_SECONDS = 5, /* without ever a producer */
	SLIM_MIN_S = 1,     /* time for small files; more after long runs */
	SLIM_MAX = 4 << 20, /* what is larger has lost nothing */
	GRACE_MS = 100      /* what is compressed by then is so when the launcher ends */
};

void drain_watch(const struct drain *d, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.fd = fd}};

	epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* An epoll set cannot be its own member, which the kernel says (EINVAL) where it is asked at all. */
int drain_epoll(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e;

	if (fd >= 0 && epoll_ctl(fd, EPOLL_CTL_DEL, fd, NULL) != 0 && errno == EINVAL &&
	    epoll_wait(fd, &e, 1, 0) == 0)
		return fd;
	_exit(1);
}

const char *drain_folder(const struct drain *d)
{
	return d->config->local ? d->config->local : d->config->trace;
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

bool drain_begin(struct drain *d, struct producer *p)
{
	bool begun;
	int error;

	session_turn(d, p->session);
	refused_begin(); /* its folder is opened, too */
	begun = producer_begin(p, drain_folder(d));
	error = errno;
	refused_end();
	if (!begun) {
		door_refuse(d, p->session, p->pid, error, "");
		take_out(d, p);
		let_go(d, p);
		return false;
	}
	p->session->totals.processes++;
	return true;
}

static void begin_new(struct drain *d)
{
	struct producer *next;

	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (!p->begun && producer_wants(p))
			drain_begin(d, p);
	}
}

struct file *drain_add_file(struct drain *d, struct session *s, const char *path)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->session = s;
	snprintf(f->path, sizeof(f->path), "%s", path);
	if (d->last_file)
		d->last_file->next = f;
	else
		d->files = f;
	d->last_file = f;
	return f;
}

static void list_finished(struct drain *d, struct session *s, const struct journal_finished *done,
			  const char *path, struct beside_file *beside)
{
	struct file *f = drain_add_file(d, s, path);

	if (!f) {
		manifest_process(d->config->manifest, done->pid, s->rank, path, &done->end,
				 done->bytes);
		return;
	}
	f->bytes = done->bytes;
	f->end = done->end;
	f->pid = done->pid;
	f->beside = beside;
}

void drain_finish(struct drain *d, struct producer *p, int wait_status)
{
	struct journal_finished done = {.pid = p->pid};
	struct session *s = p->session;
	char path[PATH_MAX];
	uint64_t before = s->totals.bytes;
	int failed = s->totals.failed;

	if (!p->begun && !producer_too_late(p) && !drain_begin(d, p))
		return;
	take_out(d, p);
	if (!p->begun) {
		let_go(d, p);
		return;
	}
	producer_finish(p, wait_status, &s->totals, &done.end, path);
	if (s->totals.failed && !failed)
		session_complain(d, s, "%s is cut short: %s", path, strerror(s->totals.failed));
	if (!*path)
		s->totals.bytes = before;
	done.number = p->kept ? p->kept->number : 0;
	done.bytes = s->totals.bytes - before;
	done.totals = s->totals;
	session_note(d, s, JOURNAL_FINISHED, &done, sizeof(done), path);
	if (p->beside)
		beside_finished(d->beside, p->beside);
	if (*path)
		list_finished(d, s, &done, path, p->beside);
	producer_drop(p);
}

static void look_at_program(struct drain *d, struct session *s)
{
	if (s->program && !s->program_gone && process_exit_seen(s->program, s->program_fd))
		s->program_gone = true;
	if (s->program_gone && s->program_fd >= 0) {
		session_note(d, s, JOURNAL_PROGRAM_GONE, NULL, 0, NULL);
		close(s->program_fd); /* leaves the epoll set, where it would be ready for ever */
		s->program_fd = -1;
	}
}

/* The programs first: those that they have waited for are dead when they are. */
void drain_finish_dead(struct drain *d)
{
	struct producer *next;

	for (struct session *s = d->sessions; s; s = s->next)
		look_at_program(d, s);
	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (process_exit_seen(p->pid, p->pidfd))
			drain_finish(d, p, process_exit_status(p->pid, p->pidfd, &p->used));
	}
}

/* Of a program that ran before the launcher, the recording ends with what the launcher started. */
static void end_attached(struct drain *d)
{
	struct producer *next;

	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (producer_left(p))
			drain_finish(d, p, -1);
		else if (p->session->attached && p->session->program_gone && p->begun)
			steer_leave(&d->steering, p);
	}
}

static void compress_beside(struct drain *d, struct producer *p)
{
	if (!p->beside && p->begun && p->file.bytes >= BESIDE_GROWN)
		p->beside = beside_add(d->beside, p->file.path);
	beside_move(p->beside, &p->file);
}

static void pass(struct drain *d)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (struct producer *p = d->producers; p; p = p->next) {
		if (producer_calls(p, now))
			producer_pass(p);
		if (d->beside)
			compress_beside(d, p);
	}
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

/* Nobody comes any more and nobody is there, of this session. */
static bool nobody_left(const struct drain *d, const struct session *s)
{
	uint64_t age = clock_ns(CLOCK_MONOTONIC) - d->began;

	for (const struct producer *p = d->producers; p; p = p->next)
		if (p->begun && p->session == s)
			return false;
	for (const struct pending_client *g = d->pending_clients; g; g = g->next)
		if (g->session == s)
			return false;
	/* The launcher, while it lives, always tells how the program ended. */
	if (s->program)
		return s->program_gone && (!s->control_open || s->program_told);
	if (s->launched)
		return !s->control_open;
	return s->totals.processes > 0 || age > ORPHAN_SECONDS * 1000000000ull;
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

/* What has not begun to record by now has to look for another drain when it does. */
static bool nobody_begins(struct drain *d, struct session *s)
{
	struct producer *next;
	bool nobody = true;

	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		if (p->session != s)
			continue;
		if (p->begun || !producer_too_late(p)) {
			nobody = false;
			continue;
		}
		s->totals.later += !process_exit_seen(p->pid, p->pidfd);
		drain_finish(d, p, -1);
	}
	return nobody;
}

static void shut(const struct drain *d, const struct session *s)
{
	if (s == &d->first)
		control_link(d, false);
	place_shut(s->socket);
}

/* Those that listen; some may be so already. */
static void open_all(const struct drain *d)
{
	for (const struct session *s = d->sessions; s; s = s->next)
		if (s->listener >= 0)
			place_open(s->socket);
	control_link(d, true);
}

/*
 * Takes the address away, then looks whether somebody has come through the door meanwhile: a
 * process that connects later finds no drain and starts its own.
 */
static bool closed(struct drain *d, struct session *s)
{
	shut(d, s);
	door_accept(d);
	if (nobody_left(d, s) && nobody_begins(d, s))
		return true;
	place_open(s->socket);
	return false;
}

static unsigned count_open(const struct drain *d)
{
	unsigned n = 0;

	for (const struct session *s = d->sessions; s; s = s->next)
		n += !s->ended;
	return n;
}

static bool all_left(const struct drain *d)
{
	for (const struct session *s = d->sessions; s; s = s->next)
		if (!nobody_left(d, s))
			return false;
	return true;
}

/*
 * A launcher waits for nobody else's processes: what is left to be done to its files is done at the
 * end. The last one waits for that, too.
 */
static void end_sessions(struct drain *d)
{
	unsigned open = count_open(d);
	bool others =
		!all_left(d); /* processes of launchers that have ended, where but one is open */

	for (struct session *s = d->sessions; s; s = s->next) {
		if (s->ended || !nobody_left(d, s) || (open <= 1 && !others))
			continue;
		if (s == &d->first ? !nobody_begins(d, s) : !closed(d, s))
			continue;
		session_end(d, s);
		open--;
	}
}

static bool nobody_comes(const struct drain *d)
{
	return !d->pending_clients && all_left(d);
}

/*
 * Nobody is there, nobody can come. Each look at the doors may let in a launcher: then all addresses stay,
 * those too that were taken away before it came.
 */
static bool all_closed(struct drain *d)
{
	bool done;

	door_accept(d);
	done = nobody_comes(d);
	for (struct session *s = d->sessions; s && done; s = s->next)
		done = (s->listener < 0 || closed(d, s)) && nobody_comes(d);
	if (!done) {
		open_all(d);
		return false;
	}
	/* Who comes from here on finds the name free. */
	if (d->meeting >= 0)
		close(d->meeting);
	d->meeting = -1;
	return true;
}

static void hear(struct drain *d, int fd)
{
	for (struct session *s = d->sessions; s; s = s->next) {
		if (s->control_open && fd == s->control)
			session_hear(d, s);
	}
}

static void say_busy(struct drain *d)
{
	for (struct session *s = d->sessions; s; s = s->next) {
		if (!s->program_gone || s->busy_said || !session_totals(d, s).alive)
			continue;
		s->busy_said = true;
		session_tell(d, s, DRAIN_BUSY);
	}
}

static void serve(struct drain *d)
{
	int timeout = d->steering.fd >= 0 ? STEER_MS : d->missing_pidfd ? NO_PIDFD_MS : POLL_MS;
	struct epoll_event events[EVENTS];
	int n;

	waiter_wait(&d->waiter, d->producers, until_next_pass(d, timeout));
	n = epoll_wait(d->epoll, events, EVENTS, 0);
	for (int i = 0; i < n; i++)
		hear(d, events[i].data.fd);
	begin_new(d); /* they have been here before those at the door */
	if (n > 0)
		door_accept(d);
	door_serve(d);
	look_at_keeper(d);
	pass(d);
	if (n > 0 || d->missing_pidfd)
		drain_finish_dead(d);
	end_attached(d);
	steer_serve(&d->steering, d->producers);
	say_busy(d);
	if (d->news)
		session_manifest(d, NULL);
}

static uint64_t size_of(const struct file *f)
{
	struct stat st;

	return stat(f->path, &st) == 0 ? (uint64_t)st.st_size : f->bytes;
}

/* A drain before this one may have done it, and did not come to write down what it is now. */
static void slim(struct file *f, uint64_t deadline)
{
	uint64_t size;

	rawfile_slim(f->path, deadline);
	size = size_of(f);
	if (size <= SLIM_MAX)
		f->bytes = compress_plain_size(f->path, size);
}

static void compress(struct drain *d)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), run = now - d->began;
	uint64_t deadline = now + SLIM_MIN_S * 1000000000ull + run / 10;

	for (struct file *f = d->files; f; f = f->next) {
		if (f->beside || f->goal || !d->config->compress)
			continue;
		slim(f, deadline);
		f->beside = beside_add(d->beside, f->path);
		if (f->beside)
			beside_finished(d->beside, f->beside);
	}
}

static void note_goal(void *data, unsigned number, const char *goal)
{
	struct drain *d = data;
	uint32_t n = number;

	journal_add(d->journal, JOURNAL_COLLECTING, &n, sizeof(n), goal);
}

/* Whoever still listens is to tell it. */
static void fail(struct drain *d, int error)
{
	for (struct session *s = d->sessions; s; s = s->next)
		if (!s->totals.failed && (!s->ended || s == &d->first))
			s->totals.failed = error;
}

/* From the node's disk into the trace. What cannot be moved stays, and the manifest says where. */
static void collect(struct drain *d)
{
	struct collect_note note = {note_goal, d, 0};

	for (struct file *f = d->files; f; f = f->next, note.number++) {
		if (f->goal || collect_file(f->path, d->config->trace, &note))
			continue;
		fail(d, errno);
		session_complain(d, f->session, "%s is left there: %s", f->path, strerror(errno));
	}
	collect_end(d->config->local);
}

static void list_files(const struct drain *d)
{
	for (const struct file *f = d->files; f; f = f->next)
		manifest_process(d->config->manifest, f->pid, f->session->rank, f->path, &f->end,
				 f->bytes);
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
	open_all(d); /* a drain before this one may have been about to end */
	for (const struct session *s = d->sessions; s; s = s->next) {
		if (s->listener >= 0)
			drain_watch(d, s->listener);
		if (s->control_open)
			drain_watch(d, s->control);
	}
	if (d->meeting >= 0)
		drain_watch(d, d->meeting);
	for (;;) {
		serve(d);
		end_sessions(d);
		if (all_left(d) && all_closed(d))
			break;
	}
	enter(d, PHASE_ENDING);
}

static void add_totals(struct drain_totals *t, const struct drain_totals *s)
{
	if (!t->refused)
		t->refused_error = s->refused_error;
	if (!t->failed)
		t->failed = s->failed;
	t->processes += s->processes;
	t->greeted += s->greeted;
	t->crowded += s->crowded;
	t->later += s->later;
	t->refused += s->refused;
	t->lost_records += s->lost_records;
	t->unwritten_records += s->unwritten_records;
	t->no_memory_records += s->no_memory_records;
	t->dropped_records += s->dropped_records;
	t->lost_definitions += s->lost_definitions;
	t->overwritten_records += s->overwritten_records;
	t->damaged_chunks += s->damaged_chunks;
	t->bytes += s->bytes;
	t->stored += s->stored;
}

static void write_manifest(struct drain *d)
{
	struct drain_totals all = {.restarts = d->config->manifest->restarts,
				   .signal = d->first.totals.signal};
	bool written;

	for (struct session *s = d->sessions; s; s = s->next)
		s->totals.stored = 0;
	for (const struct file *f = d->files; f; f = f->next)
		f->session->totals.stored += size_of(f);
	for (const struct session *s = d->sessions; s; s = s->next)
		add_totals(&all, &s->totals);
	list_files(d);
	/* A drain before this one may have been killed when all was done. */
	if (d->journal && d->journal->deaths && manifest_is_merged(d->config->manifest))
		return;
	written = session_manifest(d, &all);
	if (!written) /* there was no memory a moment before: without it nobody knows what was lost */
		written = session_manifest(d, &all);
	if (!written)
		fail(d, errno);
}

static void tell_all(struct drain *d, enum drain_message_type type)
{
	for (const struct session *s = d->sessions; s; s = s->next)
		session_tell(d, s, type);
}

static void end(struct drain *d)
{
	door_write_refusals(d);
	if (d->config->local) {
		compress(d);
		beside_wait(d->beside, UINT64_MAX);
		collect(d);
	}
	tell_all(d, DRAIN_EMPTY);
	compress(d);
	beside_wait(d->beside, clock_ns(CLOCK_MONOTONIC) + GRACE_MS * 1000000ull);
	write_manifest(d);
	enter(d, PHASE_DONE);
	manifest_merge(d->config->trace);
}

/* All was done when the drain before this one was killed: but nobody was told of that. */
static void end_again(struct drain *d)
{
	compress(d);
	write_manifest(d);
}

static void hang_up(struct drain *d)
{
	for (struct session *s = d->sessions; s; s = s->next) {
		if (s->control >= 0)
			close(s->control);
		s->control = -1;
		s->control_open = false;
	}
}

/*
 * Nobody waits for what is left to do, nobody is to take the trace for one that is recorded, and who asks
 * all processes to end is not to wait for this one.
 */
static void let_them_go(struct drain *d)
{
	int *held = d->journal ? &d->journal->held[1] : &d->hold;

	signal(SIGTERM, SIG_DFL);
	enter(d, PHASE_TOLD);
	if (*held >= 0)
		close(*held);
	*held = -1;
	tell_all(d, DRAIN_DONE);
	hang_up(d);
}

static void leave_places(const struct drain *d)
{
	for (const struct session *s = d->sessions; s; s = s->next)
		place_remove(s->socket);
}

static void leave(struct drain *d)
{
	if (!beside_is_done(d->beside))
		let_them_go(d);
	beside_end(d->beside);
	d->beside = NULL;
	leave_places(d);
	tell_all(d, DRAIN_DONE);
	free_files(d);
	session_free_all(d);
}

static void begin_drain(struct drain *d)
{
	char token[PLACE_TOKEN];

	place_token(d->config->socket_path, token);
	rawfile_set_token(token);
	tick_init();
	producer_guard_memory();
	life_begin(offsetof(struct shm_header, drain_life));
}

void drain_run(const struct drain_config *config, struct journal *journal, enum drain_task task)
{
	struct drain d = {
		.config = config,
		.journal = journal,
		.epoll = -1,
		.began = journal ? journal->began : clock_ns(CLOCK_MONOTONIC),
		.hold = config->held[1],
	};

	session_first(&d);
	begin_drain(&d);
	if (task == DRAIN_GIVE_UP) {
		resume_give_up(&d);
		leave_places(&d);
		return;
	}
	steer_init(&d.steering, journal);
	if (task == DRAIN_GO_ON)
		resume(&d);
	else
		d.epoll = drain_epoll();
	refused_end();
	waiter_init(&d.waiter, d.epoll);
	d.beside = config->compress ? beside_new() : NULL;
	if (task == DRAIN_GO_ON && d.phase == PHASE_DONE)
		end_again(&d);
	if (d.phase == PHASE_RECORDING)
		record(&d);
	if (d.phase == PHASE_ENDING)
		end(&d);
	leave(&d);
}
