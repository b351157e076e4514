/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers and what a drain knows of each; see inside.h. */
#include "drain/inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/peer.h"
#include "drain/place.h"
#include "drain/process_exit.h"

/* ---- the list -------------------------------------------------------------------------------- */

void session_first(struct drain *d)
{
	const struct drain_config *c = d->config;
	const struct manifest *m = c->manifest;

	d->first = (struct session){.socket = c->socket_path,
				    .listener = c->listener,
				    .held = -1,
				    .control = c->control,
				    .control_open = c->control >= 0,
				    .launched = c->control >= 0,
				    .program_fd = -1,
				    .status = -1,
				    .rank = m ? m->job.rank : JOB_UNKNOWN};
	d->sessions = &d->first;
	d->meeting = c->meeting > 0 ? c->meeting : -1;
}

struct session *session_add(struct drain *d, uint32_t number, const char *socket)
{
	struct session *s = calloc(1, sizeof(*s)), *last = d->sessions;
	char *copy = strdup(socket);

	if (!s || !copy) {
		free(s);
		free(copy);
		return NULL;
	}
	*s = (struct session){.number = number,
			      .socket = copy,
			      .listener = -1,
			      .held = -1,
			      .control = -1,
			      .launched = true,
			      .program_fd = -1,
			      .status = -1,
			      .rank = JOB_UNKNOWN};
	while (last->next)
		last = last->next;
	last->next = s;
	return s;
}

struct session *session_numbered(struct drain *d, uint32_t number)
{
	struct session *s = d->sessions;

	while (s && s->number != number)
		s = s->next;
	return s ? s : &d->first;
}

struct session *session_of(struct drain *d, int fd)
{
	struct sockaddr_un a = {0};
	socklen_t size = sizeof(a) - 1;

	if (getsockname(fd, (struct sockaddr *)&a, &size) != 0 || a.sun_path[0] == '\0')
		return d->meeting < 0 ? &d->first : NULL;
	for (struct session *s = d->sessions; s; s = s->next)
		if (strcmp(s->socket, a.sun_path) == 0)
			return s;
	return &d->first;
}

void session_free_all(struct drain *d)
{
	while (d->first.next) {
		struct session *s = d->first.next;

		d->first.next = s->next;
		free(s->command);
		free((char *)(uintptr_t)s->socket);
		free(s);
	}
}

/* ---- the journal ----------------------------------------------------------------------------- */

void session_turn(struct drain *d, const struct session *s)
{
	if (d->turn == s->number)
		return;
	d->turn = s->number;
	journal_add(d->journal, JOURNAL_TURN, &s->number, sizeof(s->number), NULL);
}

void *session_note(struct drain *d, const struct session *s, enum journal_type type,
		   const void *data, size_t bytes, const char *text)
{
	session_turn(d, s);
	return journal_add(d->journal, type, data, bytes, text);
}

void session_complain(struct drain *d, const struct session *s, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	session_note(d, s, JOURNAL_ERROR, NULL, 0, text);
	manifest_error(d->config->manifest, "%s", text);
}

/* ---- its launcher ---------------------------------------------------------------------------- */

struct drain_totals session_totals(const struct drain *d, const struct session *s)
{
	struct drain_totals t = s->totals;

	for (struct producer *p = d->producers; p; p = p->next) {
		if (!p->begun || p->session != s)
			continue;
		producer_count(p, &t);
		t.alive++;
	}
	return t;
}

void session_tell(const struct drain *d, const struct session *s, enum drain_message_type type)
{
	struct drain_message m = {.type = type,
				  .status = type == DRAIN_DONE && !beside_is_done(d->beside),
				  .totals = session_totals(d, s)};

	/* Else the launcher would wait for what a sandbox does not let through. */
	if (s->control_open && peer_say(s->control, &m, sizeof(m), 0) < 0)
		shutdown(s->control, SHUT_RDWR);
}

static void hear_of_program(struct drain *d, struct session *s, int pid, bool attached)
{
	struct journal_program entry = {
		.pid = pid, .fd = process_exit_watch(pid), .attached = attached};

	entry.gone = entry.fd < 0 && errno == ESRCH;
	session_note(d, s, JOURNAL_PROGRAM, &entry, sizeof(entry), NULL);
	s->program = pid;
	s->program_fd = entry.fd;
	s->program_gone = entry.gone;
	s->attached = attached;
	if (entry.fd >= 0)
		drain_watch(d, entry.fd);
}

void session_hear(struct drain *d, struct session *s)
{
	struct drain_message m;
	ssize_t n;

	/* It is taken once it is in the journal. */
	while ((n = recv(s->control, &m, sizeof(m), MSG_DONTWAIT | MSG_PEEK)) ==
	       (ssize_t)sizeof(m)) {
		if (m.type == DRAIN_PROGRAM && !s->program) {
			hear_of_program(d, s, m.pid, m.status == 1);
		} else if (m.type == DRAIN_EXITED) {
			session_note(d, s, JOURNAL_EXITED, &m.status, sizeof(m.status), NULL);
			s->program_gone = true;
			s->program_told = true;
			s->status = m.status;
		}
		recv(s->control, &m, sizeof(m), MSG_DONTWAIT);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* The launcher is gone: go on for as long as somebody is recorded. */
	epoll_ctl(d->epoll, EPOLL_CTL_DEL, s->control, NULL);
	s->control_open = false;
}

/*
 * The first one's door stays open as long as anybody is recorded: it is there that `kymo ctl` asks. It
 * may be that a process of it comes after its launcher has gone. Descriptors are closed once the journal
 * has it, which else would know their numbers as this session's.
 */
void session_end(struct drain *d, struct session *s)
{
	s->ended = true;
	session_manifest(d, NULL);
	session_tell(d, s, DRAIN_EMPTY);
	session_tell(d, s, DRAIN_DONE);
	session_note(d, s, JOURNAL_ENDED, NULL, 0, NULL);
	if (s->control >= 0)
		close(s->control);
	s->control = -1;
	s->control_open = false;
	if (s == &d->first)
		return;
	place_remove(s->socket);
	close(s->listener);
	if (s->held >= 0)
		close(s->held);
	s->listener = s->held = -1;
}

/* ---- the manifest ---------------------------------------------------------------------------- */

/* The ranks of a job mostly run the same. */
static const char *other_command(const struct session *s, const char *first)
{
	return s->command && first && strcmp(s->command, first) == 0 ? NULL : s->command;
}

bool session_manifest(struct drain *d, const struct drain_totals *totals)
{
	struct manifest *m = d->config->manifest;
	/* What lies on the node's disk is not in the trace before all is over. */
	bool local = d->config->local != NULL, ok;
	struct text command = {0};

	d->news = false;
	m->pid = d->first.program;
	m->status = d->first.status;
	manifest_words(&command, m->command);
	manifest_no_launchers(m);
	for (const struct session *s = d->sessions; s; s = s->next)
		if (s->launched)
			manifest_launcher(m, s->rank, s->program, s->status,
					  totals || (s->ended && !local),
					  other_command(s, command.s));
	ok = manifest_write(m, totals);
	text_release(&command);
	return ok;
}
