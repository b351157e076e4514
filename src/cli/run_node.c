/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One drain a node: of the launchers of a job that come to one node the first starts a drain, the
 * others join it (drain/meet.h). They do if they agree on what it is to do; whoever cannot join, for
 * whatever reason, starts one of its own, which is as good but for what it takes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/run.h"
#include "drain/drain.h"
#include "drain/meet.h"

enum {
	TRIES = 200,
	STEP_MS = 10 /* for a drain that ends to be gone, and one that begins to be there */
};

static bool name_of(struct meet_name *n, const char *trace, const struct run_options *o,
		    const struct manifest *m)
{
	struct text kind = {0};
	bool ok;

	text_addf(&kind, "%d %s %s", o->no_compress, o->node_local ? o->node_local : "",
		  o->node_local ? m->cwd : "");
	ok = !kind.failed && meet_name(n, trace, kind.s);
	text_release(&kind);
	return ok;
}

int node_take(const char *trace, const struct run_options *o, const struct manifest *m)
{
	struct meet_name name;

	return name_of(&name, trace, o, m) ? meet_take(&name) : -1;
}

static int join(const struct meet_name *name, const struct manifest *m, const char *socket,
		char local[PATH_MAX])
{
	struct meet_hello hello = {
		.magic = MEET_MAGIC, .version = MEET_VERSION, .rank = m->job.rank};
	struct text command = {0};
	int listener = drain_listen(socket), fd = -1, saved;

	manifest_words(&command, m->command);
	if (listener >= 0 && !command.failed) {
		const char *words = command.length < MEET_WORDS ? command.s : "";

		snprintf(hello.socket, sizeof(hello.socket), "%s", socket);
		hello.command = (uint32_t)strlen(words) + 1;
		fd = meet_join(name, listener, &hello, words, local);
	}
	saved = errno;
	text_release(&command);
	if (listener >= 0)
		close(listener);
	if (fd < 0)
		unlink(socket);
	errno = saved;
	return fd;
}

/* What was handed over to a drain that did not answer is not used again. */
static bool renew_place(char socket[PLACE_SOCKET], const char *trace)
{
	place_remove(socket);
	return place_make(socket, trace);
}

static bool find(struct node *n, const struct meet_name *name, const char *trace,
		 const struct manifest *m, char socket[PLACE_SOCKET], char local[PATH_MAX])
{
	const struct timespec step = {0, STEP_MS * 1000000};

	for (int i = 0; i < TRIES; i++) {
		n->meeting = meet_take(name);
		if (n->meeting >= 0 || errno != EADDRINUSE)
			return true;
		n->joined = join(name, m, socket, local);
		if (n->joined >= 0)
			return true;
		if (errno != ECONNREFUSED)
			break;
		if (!renew_place(socket, trace))
			return false;
		nanosleep(&step, NULL);
	}
	return renew_place(socket, trace);
}

bool node_find(struct node *n, const char *trace, const struct run_options *o, struct manifest *m,
	       char socket[PLACE_SOCKET], char local[PATH_MAX])
{
	struct meet_name name;

	n->joined = -1;
	local[0] = '\0';
	if (!m->job.id[0] || n->meeting >= 0)
		return true;
	if (name_of(&name, trace, o, m) && !find(n, &name, trace, m, socket, local))
		return false;
	if (n->joined >= 0 || m->path[0])
		return true;
	manifest_join(m, trace);
	manifest_launcher(m, m->job.rank, 0, -1, false, NULL);
	return manifest_write(m, NULL);
}
