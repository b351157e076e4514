/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A drain in the place of one that was killed. The journal says what that one knew; whatever else
 * is in the table of descriptors it had not come to an end with.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drain/inside.h"
#include "drain/place.h"

enum {
	NUMBERS_MAX = 1 << 20, /* of descriptors */
	SMALL = 1024           /* bytes; a raw file that was just being made has less */
};

/* ---- the journal ----------------------------------------------------------------------------- */

static struct producer *by_number(const struct drain *d, const uint32_t *number)
{
	struct producer *p = d->producers;

	while (p && number && p->kept->number != *number)
		p = p->next;
	return number ? p : NULL;
}

static void take_out(struct drain *d, struct producer *p)
{
	struct producer **at = &d->producers;

	while (*at && *at != p)
		at = &(*at)->next;
	if (!p || !*at)
		return;
	*at = p->next;
	free(p); /* its descriptors are closed with all that are not known */
}

/* Whose entries these are. */
static struct session *turn_of(struct drain *d)
{
	return session_numbered(d, d->turn);
}

static void on_adopted(struct drain *d, struct journal_producer *kept)
{
	struct producer *p = kept ? producer_restore(d->journal, kept) : NULL;

	if (!p)
		return;
	if (kept->number > d->numbers)
		d->numbers = kept->number;
	p->session = turn_of(d);
	p->next = d->producers;
	d->producers = p;
}

static void on_begun(struct drain *d, const uint32_t *number, const char *path)
{
	struct producer *p = by_number(d, number);

	turn_of(d)->totals.processes++;
	if (!p)
		return;
	p->begun = true;
	snprintf(p->file.path, sizeof(p->file.path), "%s", path);
}

static void on_given_away(struct drain *d, const uint32_t *number)
{
	struct producer *p = by_number(d, number);

	if (p)
		p->given = true;
}

static void on_finished(struct drain *d, const struct journal_finished *done, const char *path)
{
	struct file *f;

	if (!done)
		return;
	take_out(d, by_number(d, &done->number));
	turn_of(d)->totals = done->totals;
	f = *path ? drain_add_file(d, turn_of(d), path) : NULL;
	if (!f)
		return;
	f->bytes = done->bytes;
	f->end = done->end;
	f->pid = done->pid;
}

static void on_refused(struct drain *d, const struct journal_refused *entry)
{
	struct refusal *r = entry ? malloc(sizeof(*r)) : NULL;
	struct session *s = turn_of(d);

	if (!r)
		return;
	if (s->totals.refused++ == 0)
		s->totals.refused_error = entry->error;
	*r = (struct refusal){d->refusals, entry->pid, entry->error};
	d->refusals = r;
}

static void on_written(struct drain *d, const struct journal_refused *entry)
{
	struct refusal **at = &d->refusals, *r;

	while (entry && *at && ((*at)->pid != entry->pid || (*at)->error != entry->error))
		at = &(*at)->next;
	r = entry ? *at : NULL;
	if (!r)
		return;
	*at = r->next;
	free(r);
}

static void on_session(struct drain *d, const struct journal_session *entry, const char *command)
{
	struct session *s;

	if (!entry || !memchr(entry->socket, '\0', sizeof(entry->socket)))
		return;
	s = session_add(d, entry->number, entry->socket);
	if (!s)
		return;
	if (entry->number > d->session_numbers)
		d->session_numbers = entry->number;
	s->rank = entry->rank;
	s->listener = entry->listener;
	s->control = entry->control;
	s->control_open = true;
	s->held = entry->held;
	s->command = *command ? strdup(command) : NULL;
}

/* Its descriptors may be others by now. */
static void on_ended(struct drain *d)
{
	struct session *s = turn_of(d);

	s->ended = true;
	s->control = -1;
	s->control_open = false;
	if (s != &d->first)
		s->listener = s->held = -1;
}

static void on_program(struct session *s, const struct journal_program *entry)
{
	if (!entry)
		return;
	s->program = entry->pid;
	s->program_fd = entry->fd;
	s->program_gone = entry->gone;
	s->attached = entry->attached;
}

static void on_exited(struct session *s, const int32_t *status)
{
	if (!status)
		return;
	s->program_gone = true;
	s->program_told = true;
	s->status = *status;
}

static void on_steer(struct drain *d, const struct journal_steer *entry)
{
	if (!entry)
		return;
	d->steering.asked = entry->asked;
	d->steering.standing = entry->standing;
}

static void on_collecting(struct drain *d, const uint32_t *number, const char *goal)
{
	struct file *f = d->files;

	for (uint32_t i = 0; number && f && i < *number; i++)
		f = f->next;
	if (!f || !number)
		return;
	free(f->goal);
	f->goal = strdup(goal);
}

static void replay_entry(struct drain *d, struct journal_entry *e)
{
	const uint32_t *number = journal_data(e, sizeof(*number));

	switch ((enum journal_type)e->type) {
	case JOURNAL_ADOPTED:
		on_adopted(d, journal_data(e, sizeof(struct journal_producer)));
		break;
	case JOURNAL_BEGUN:
		on_begun(d, number, journal_text(e, sizeof(*number)));
		break;
	case JOURNAL_GIVEN_AWAY:
		on_given_away(d, number);
		break;
	case JOURNAL_GONE:
		take_out(d, by_number(d, number));
		break;
	case JOURNAL_FINISHED:
		on_finished(d, journal_data(e, sizeof(struct journal_finished)),
			    journal_text(e, sizeof(struct journal_finished)));
		break;
	case JOURNAL_REFUSED:
		on_refused(d, journal_data(e, sizeof(struct journal_refused)));
		break;
	case JOURNAL_WRITTEN:
		on_written(d, journal_data(e, sizeof(struct journal_refused)));
		break;
	case JOURNAL_ERROR:
		manifest_error(d->config->manifest, "%s", journal_text(e, 0));
		break;
	case JOURNAL_PROGRAM:
		on_program(turn_of(d), journal_data(e, sizeof(struct journal_program)));
		break;
	case JOURNAL_PROGRAM_GONE:
		turn_of(d)->program_gone = true;
		turn_of(d)->program_fd = -1;
		break;
	case JOURNAL_EXITED:
		on_exited(turn_of(d), journal_data(e, sizeof(int32_t)));
		break;
	case JOURNAL_STEER:
		on_steer(d, journal_data(e, sizeof(struct journal_steer)));
		break;
	case JOURNAL_COLLECTING:
		on_collecting(d, number, journal_text(e, sizeof(*number)));
		break;
	case JOURNAL_GREETED:
		turn_of(d)->totals.greeted++;
		turn_of(d)->totals.crowded += number && *number;
		break;
	case JOURNAL_SESSION:
		on_session(d, journal_data(e, sizeof(struct journal_session)),
			   journal_text(e, sizeof(struct journal_session)));
		break;
	case JOURNAL_TURN:
		d->turn = number ? *number : d->turn;
		break;
	case JOURNAL_ENDED:
		on_ended(d);
		break;
	case JOURNAL_PHASE:
		d->phase = number ? (enum journal_phase) * number : d->phase;
		break;
	}
}

static void replay_journal(struct drain *d)
{
	struct journal_entry *e = NULL;

	while ((e = journal_next(d->journal, e)))
		replay_entry(d, e);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool is_known(const struct drain *d, int fd)
{
	const int *held = d->journal->held;

	if (fd <= 2 || fd == d->meeting || fd == held[0] || fd == held[1])
		return true;
	for (const struct session *s = d->sessions; s; s = s->next)
		if (fd == s->listener || fd == s->control || fd == s->held || fd == s->program_fd)
			return true;
	for (const struct producer *p = d->producers; p; p = p->next)
		if (fd == p->memfd || fd == p->pidfd)
			return true;
	return false;
}

static bool is_path_of(const char *path, const struct stat *file)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

static bool is_known_file(const struct drain *d, const struct stat *st)
{
	for (const struct producer *p = d->producers; p; p = p->next)
		if (p->begun && is_path_of(p->file.path, st))
			return true;
	for (const struct file *f = d->files; f; f = f->next)
		if (is_path_of(f->path, st) || (f->goal && is_path_of(f->goal, st)))
			return true;
	return false;
}

static bool is_raw(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && strcmp(dot, ".kyr") == 0;
}

/* A file that was just being made, of which nobody knows, goes. */
static void forget_file(const struct drain *d, int fd)
{
	char link[64], path[PATH_MAX];
	int flags = fcntl(fd, F_GETFL);
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink == 0 ||
	    (flags & O_ACCMODE) == O_RDONLY)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	if (is_path_of(path, &st) &&
	    (!is_raw(path) || (st.st_size <= SMALL && !is_known_file(d, &st))))
		unlink(path);
}

/* Connected, and its greeting not yet taken. Others see that they are alone, and ask again. */
static bool has_said_hello(int fd)
{
	socklen_t size = sizeof(int);
	int type = 0;
	char byte;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
	       recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void sort_out(struct drain *d, int fd)
{
	if (fcntl(fd, F_GETFD) < 0 || is_known(d, fd))
		return;
	if (has_said_hello(fd) && door_add(d, fd))
		return;
	forget_file(d, fd);
	close(fd);
}

/* Without /proc, or a descriptor to read it, each number is tried. */
static void sort_out_descriptors(struct drain *d)
{
	DIR *dir = opendir("/proc/self/fd");
	struct rlimit limit;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(dir))
			sort_out(d, atoi(e->d_name));
	if (dir) {
		closedir(dir);
		return;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > NUMBERS_MAX)
		limit.rlim_cur = NUMBERS_MAX;
	for (int fd = 3; fd < (int)limit.rlim_cur; fd++)
		sort_out(d, fd);
}

/* ---- going on -------------------------------------------------------------------------------- */

static void watch_descriptor(struct drain *d, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.fd = fd}};

	if (fd >= 0)
		epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &e);
}

static void go_on(struct drain *d)
{
	struct producer **at = &d->producers;

	while (*at) {
		struct producer *p = *at;

		if (producer_continue(p)) {
			watch_descriptor(d, p->pidfd);
			d->missing_pidfd |= p->pidfd < 0;
			if ((int32_t)(p->asked - d->steering.asked) > 0)
				d->steering.asked = p->asked;
			at = &p->next;
			continue;
		}
		if (!p->session->totals.failed)
			p->session->totals.failed = errno;
		manifest_error(d->config->manifest, "process %d is recorded no more: %s", p->pid,
			       strerror(errno));
		*at = p->next;
		producer_drop(p);
	}
}

/* Files that are under their new name, or had taken no more than that. */
static void settle_collected(struct drain *d)
{
	struct stat st;

	for (struct file *f = d->files; f; f = f->next) {
		if (f->goal && stat(f->goal, &st) == 0 && st.st_size > 0) {
			unlink(f->path);
			snprintf(f->path, sizeof(f->path), "%s", f->goal);
			continue;
		}
		if (f->goal)
			unlink(f->goal);
		free(f->goal);
		f->goal = NULL;
	}
}

/*
 * The manifest tells it from now on, whatever comes: this drain may be killed, too. Of the launchers one
 * is told.
 */
static void tell_restarts(struct drain *d)
{
	struct manifest *m = d->config->manifest;
	struct session *s = d->sessions;

	while (s->next && s->ended)
		s = s->next;
	s->totals.restarts = m->restarts = d->journal->deaths;
	s->totals.signal = d->journal->signal;
	m->restart_signal = d->journal->mixed ? 0 : d->journal->signal;
	m->restart_status = d->journal->mixed ? 0 : d->journal->status;
	if (d->phase < PHASE_DONE)
		session_manifest(d, NULL);
}

/* What the drain before this one was about to tell them they may not know. */
static void resume_session(struct drain *d, struct session *s)
{
	watch_descriptor(d, s->program_fd);
	if (s != &d->first && !s->program && !s->ended)
		door_welcome_launcher(d, s);
	if (d->steering.standing && !s->ended && d->phase == PHASE_RECORDING)
		place_stands(s->socket, SHM_ASKED_WHAT(d->steering.standing));
}

static void resume_sessions(struct drain *d)
{
	for (struct session *s = d->sessions; s; s = s->next)
		resume_session(d, s);
}

void resume(struct drain *d)
{
	replay_journal(d);
	tell_restarts(d);
	sort_out_descriptors(d);
	d->epoll = drain_epoll();
	for (struct pending_client *g = d->pending_clients; g; g = g->next)
		watch_descriptor(d, g->fd);
	resume_sessions(d);
	go_on(d);
	settle_collected(d);
}

void resume_give_up(struct drain *d)
{
	struct producer *next;

	replay_journal(d);
	for (struct producer *p = d->producers; p; p = next) {
		next = p->next;
		producer_give_up(p);
	}
}
