/* SPDX-License-Identifier: Apache-2.0 */
/* See steer.h. */
#include "drain/steer.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

void steer_init(struct steering *s)
{
	*s = (struct steering){.fd = -1};
}

static void answer(int fd, struct steer_answer *a)
{
	a->magic = STEER_MAGIC;
	a->version = STEER_VERSION;
	send(fd, a, sizeof(*a), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static uint32_t next_number(const struct steering *s, uint32_t what)
{
	return ((s->asked + SHM_ASKED_NEXT) & ~0xffu) | what;
}

void steer_begin(struct steering *s, int fd, const struct steer_request *request,
		 struct producer *producers)
{
	struct steer_answer a = {.status = KYMO_OK};

	if (request->version != STEER_VERSION || request->what < KYMO_STEER_FLUSH ||
	    request->what > KYMO_STEER_RESUME)
		a.status = KYMO_ERROR_INVALID_ARGUMENT;
	else if (s->fd >= 0)
		a.status = KYMO_ERROR_BUSY;
	if (a.status != KYMO_OK) {
		answer(fd, &a);
		return;
	}
	if (request->what != KYMO_STEER_FLUSH)
		s->paused = request->what == KYMO_STEER_PAUSE;
	s->fd = fd;
	s->asked = next_number(s, request->what);
	s->deadline = clock_ns(CLOCK_MONOTONIC) + request->wait_ns;
	for (struct producer *p = producers; p; p = p->next)
		if (p->begun)
			producer_ask(p, s->asked);
}

void steer_newcomer(struct steering *s, struct producer *p)
{
	if (!s->paused)
		return;
	s->asked = next_number(s, KYMO_STEER_PAUSE);
	producer_ask(p, s->asked);
}

void steer_serve(struct steering *s, const struct producer *producers)
{
	struct steer_answer a = {.status = KYMO_OK};

	if (s->fd < 0)
		return;
	for (const struct producer *p = producers; p; p = p->next) {
		if (!p->begun)
			continue;
		a.processes++;
		if (producer_answered(p))
			a.answered++;
		else
			a.silent = p->pid;
	}
	if (a.answered < a.processes && clock_ns(CLOCK_MONOTONIC) < s->deadline)
		return;
	answer(s->fd, &a);
	s->fd = -1;
}
