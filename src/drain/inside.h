/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a drain: of its loop (drain.c), and where it is taken over (resume.c). */
#ifndef DRAIN_INSIDE_H
#define DRAIN_INSIDE_H

#include "drain/drain.h"
#include "drain/journal.h"
#include "drain/producer.h"
#include "drain/waiter.h"
#include "drain/steer.h"

struct pending_client { /* connected, has not said hello */
	struct pending_client *next;
	int fd;
	uint64_t since;
	bool again; /* the same process has asked again: what it shares here is not what it uses */
};

struct refusal { /* not written down yet */
	struct refusal *next;
	int pid, error;
};

struct file { /* finished */
	struct file *next;
	char path[PATH_MAX];
	char *goal; /* where a drain that was killed was about to put it; or NULL */
	uint64_t bytes;
	struct raw_end end;
	int pid;
};

struct drain {
	const struct drain_config *config;
	struct journal *journal; /* NULL: nobody would go on in this one's place */
	enum journal_phase phase;
	uint32_t numbers; /* of producers so far */
	struct waiter waiter;
	int epoll;
	struct producer *producers;
	struct pending_client *pending_clients;
	struct steering steering;
	struct file *files, *last_file;
	struct refusal *refusals;
	struct drain_totals totals; /* of finished processes */
	uint64_t began;
	bool control_open;
	bool busy_said;
	int program; /* pid, 0 unknown */
	int program_fd;
	bool program_gone;
	bool program_told;  /* the launcher has told how it ended, as far as it knows */
	bool missing_pidfd; /* some producer's death must be polled for */
	bool alone;         /* and they have been told that nobody would */
};

/* At the end of those that wait to be greeted. False: no memory. */
bool drain_add_client(struct drain *d, int fd);
/* Lists a finished file; NULL: no memory. */
struct file *drain_add_file(struct drain *d, const char *path);

/*
 * Rebuilds the state from the journal and goes on with what is recorded; every other descriptor
 * that the dead drain had is closed, and what it was just writing is removed.
 */
void resume(struct drain *d);
/* Tells everybody that is recorded that there will be no drain any more. */
void resume_give_up(struct drain *d);

#endif
