/* SPDX-License-Identifier: Apache-2.0 */
/* See steer.h. */
#include "drain/steer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/peer.h"

/* Numbers of a drain that was there before, which processes remember, are others. */
void steer_init(struct steering *s, struct journal *j)
{
	*s = (struct steering){.fd = -1,
			       .journal = j,
			       .asked = (uint32_t)(clock_ns(CLOCK_MONOTONIC) / 1000) & ~0xffu};
}

/* For a drain in the place of this one. */
static void journal_steering(const struct steering *s)
{
	struct journal_steer entry = {s->asked, s->standing};

	journal_add(s->journal, JOURNAL_STEER, &entry, sizeof(entry), NULL);
}

static void send_answer(int fd, struct steer_answer *a)
{
	a->magic = STEER_MAGIC;
	a->version = STEER_VERSION;
	peer_say(fd, a, sizeof(*a), MSG_DONTWAIT);
	close(fd);
}

static uint32_t next_number(const struct steering *s, uint32_t what)
{
	return ((s->asked + SHM_ASKED_NEXT) & ~0xffu) | what;
}

/* ---- who looks on ---------------------------------------------------------------------------- */

/* The first one after that number which has a file and memory that can be handed on. */
static struct producer *next_after(struct producer *producers, uint64_t number)
{
	struct producer *found = NULL;

	for (struct producer *p = producers; p; p = p->next)
		if (p->begun && p->kept && p->memfd >= 0 && p->kept->number > number &&
		    (!found || p->kept->number < found->kept->number))
			found = p;
	return found;
}

/* False: it does not take it, or the memory cannot be opened again. */
static bool send_sight(int fd, const struct producer *p)
{
	struct steer_sight s = {STEER_MAGIC, STEER_VERSION, p->kept->number, p->pid,
				(uint32_t)strlen(p->file.path)};
	struct iovec parts[] = {{&s, sizeof(s)}, {(void *)(uintptr_t)p->file.path, s.path}};
	char own[32];
	int memory;
	bool sent;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", p->memfd);
	memory = open(own, O_RDONLY | O_CLOEXEC);
	sent = memory >= 0 && peer_send(fd, parts, 2, memory);
	if (memory >= 0)
		close(memory);
	return sent;
}

/* Who does not read what is sent gets no more: nobody is waited for. */
static void show(int fd, struct producer *producers, uint64_t number)
{
	struct steer_answer a = {.status = KYMO_OK};
	struct producer *p;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	for (p = next_after(producers, number); p && a.answered < STEER_SIGHTS;
	     p = next_after(producers, p->kept->number))
		a.answered += send_sight(fd, p);
	a.waiting = p != NULL;
	for (p = producers; p; p = p->next)
		a.processes += p->begun;
	send_answer(fd, &a);
}

bool steer_begin(struct steering *s, int fd, const struct steer_request *request,
		 struct producer *producers)
{
	struct steer_answer a = {.status = KYMO_OK};

	if (request->version == STEER_VERSION && request->what == STEER_LOOK) {
		show(fd, producers, request->wait_ns);
		return false;
	}
	if (request->version != STEER_VERSION || request->what < KYMO_STEER_FLUSH ||
	    request->what > KYMO_STEER_RESUME)
		a.status = KYMO_ERROR_INVALID_ARGUMENT;
	else if (s->fd >= 0)
		a.status = KYMO_ERROR_BUSY;
	if (a.status != KYMO_OK) {
		send_answer(fd, &a);
		return false;
	}
	s->fd = fd;
	s->asked = next_number(s, request->what);
	if (request->what != KYMO_STEER_FLUSH)
		s->standing = s->asked;
	journal_steering(s);
	s->deadline = clock_ns(CLOCK_MONOTONIC) + request->wait_ns;
	for (struct producer *p = producers; p; p = p->next)
		if (p->begun || request->what != KYMO_STEER_FLUSH)
			producer_ask(p, s->asked);
	return s->standing == s->asked;
}

static bool stands(uint32_t number)
{
	return SHM_ASKED_WHAT(number) == KYMO_STEER_PAUSE ||
	       SHM_ASKED_WHAT(number) == KYMO_STEER_RESUME;
}

static void set_standing(struct steering *s, uint32_t number)
{
	s->standing = number;
	journal_steering(s);
}

void steer_newcomer(struct steering *s, struct producer *p)
{
	uint32_t before = producer_stands(p);

	if (!s->standing && stands(before)) /* another drain was there before this one */
		set_standing(s, before);
	/* A child knows what its parent did, and what that did of itself since then counts more. */
	if (s->standing && s->standing != before)
		producer_ask(p, s->standing);
}

void steer_leave(struct steering *s, struct producer *p)
{
	if (p->asked_to_leave)
		return;
	p->asked_to_leave = true;
	s->asked = next_number(s, KYMO_STEER_LEAVE);
	journal_steering(s);
	producer_ask(p, s->asked);
}

/* There is nothing to flush where nothing was recorded; who does not listen acts when it begins. */
static bool must_answer(const struct steering *s, const struct producer *p)
{
	if (SHM_ASKED_WHAT(s->asked) == KYMO_STEER_FLUSH)
		return p->begun;
	return producer_listens(p) || producer_answered(p);
}

/* It may have called exec() since for a program that Kymo is not in. */
static bool has_kymo(int pid)
{
	char path[32], *maps;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = file_read(path, NULL);
	yes = !maps || strstr(maps, "/libkymo");
	free(maps);
	return yes;
}

/* What is there and not asked to do anything now. */
static uint32_t count_waiting(const struct producer *producers)
{
	uint32_t n = 0;

	for (const struct producer *p = producers; p; p = p->next)
		n += !p->hears && has_kymo(p->pid);
	return n;
}

void steer_serve(struct steering *s, struct producer *producers)
{
	struct steer_answer a = {.status = KYMO_OK};

	if (s->fd < 0)
		return;
	for (struct producer *p = producers; p; p = p->next) {
		p->hears = must_answer(s, p);
		if (!p->hears)
			continue;
		a.processes++;
		if (producer_answered(p))
			a.answered++;
		else
			a.silent = p->pid;
	}
	if (a.answered < a.processes && clock_ns(CLOCK_MONOTONIC) < s->deadline)
		return;
	a.waiting = count_waiting(producers);
	send_answer(s->fd, &a);
	s->fd = -1;
}
