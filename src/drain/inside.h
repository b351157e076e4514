/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a drain: of its loop (drain.c), its door (door.c), and where it is taken over (resume.c). */
#ifndef DRAIN_INSIDE_H
#define DRAIN_INSIDE_H

#include "drain/beside.h"
#include "drain/drain.h"
#include "drain/journal.h"
#include "drain/meet.h"
#include "drain/producer.h"
#include "drain/waiter.h"
#include "drain/steer.h"

struct pending_client { /* connected, has not said hello */
	struct pending_client *next;
	struct session *session; /* whose door it came through; NULL: it is a launcher itself */
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
	struct session *session;
	char path[PATH_MAX];
	char *goal;                 /* where a drain that was killed was about to put it; or NULL */
	struct beside_file *beside; /* compresses it; NULL: nobody does yet */
	uint64_t bytes;             /* if nothing of it is compressed */
	struct raw_end end;
	int pid;
};

/*
 * What one launcher has to do with a drain: a program and the processes that it starts. All that come
 * through the door of its socket are of it; what it is told is about these alone, and never waits for
 * those of others.
 */
struct session {
	struct session *next;
	uint32_t number;    /* 0: of whoever started the drain */
	const char *socket; /* path; its own place (place.h) */
	int listener;       /* -1: closed */
	int held;           /* keeps the place, -1: others do */
	int control;        /* to the launcher, -1: there is none */
	bool control_open;  /* it is there to be told */
	bool launched;      /* there is a launcher, or was */
	bool busy_said;
	bool ended;  /* its launcher has been told that all is in the files */
	int program; /* pid, 0 unknown */
	int program_fd;
	bool program_gone;
	bool attached;              /* processes are to leave when the program is gone */
	bool program_told;          /* the launcher has told how it ended, as far as it knows */
	int status;                 /* then: wait status, -1 unknown */
	uint32_t rank;              /* of the launcher, JOB_UNKNOWN */
	char *command;              /* JSON, or NULL: the manifest's */
	struct drain_totals totals; /* of finished processes */
};

struct drain {
	const struct drain_config *config;
	struct journal *journal; /* NULL: nobody would go on in this one's place */
	enum journal_phase phase;
	uint32_t numbers; /* of producers so far */
	struct waiter waiter;
	int epoll;
	struct session first, *sessions; /* all, the first one first */
	uint32_t session_numbers;        /* so far */
	uint32_t turn;                   /* whose the next entries of the journal are */
	int meeting;                     /* where other launchers come, -1: nowhere, or no more */
	struct producer *producers;      /* of all sessions */
	struct pending_client *pending_clients;
	struct steering steering;
	struct file *files, *last_file;
	struct refusal *refusals;
	struct beside *beside; /* NULL: nothing is compressed */
	uint64_t began;
	bool news;          /* the manifest does not say all of the launchers */
	bool missing_pidfd; /* some producer's death must be polled for */
	int hold;           /* descriptor that marks the trace as recorded; -1: the keeper's does */
	bool alone;         /* and they have been told that nobody would */
};

/* ---- session.c ------------------------------------------------------------------------------- */

/* What a drain begins with. */
void session_first(struct drain *d);
/* Adds one with that number; NULL: no memory. */
struct session *session_add(struct drain *d, uint32_t number, const char *socket);
struct session *session_numbered(struct drain *d, uint32_t number);
/* Whose door a connection has come through; NULL: it is a launcher's. */
struct session *session_of(struct drain *d, int fd);
void session_free_all(struct drain *d);

/* Entries of the journal that follow are of this session. */
void session_turn(struct drain *d, const struct session *s);
void *session_note(struct drain *d, const struct session *s, enum journal_type type,
		   const void *data, size_t bytes, const char *text);

/* With those of its processes that run. */
struct drain_totals session_totals(const struct drain *d, const struct session *s);
void session_tell(const struct drain *d, const struct session *s, enum drain_message_type type);
void session_hear(struct drain *d, struct session *s);
/* All that its processes recorded is in the files; its launcher is told, and let go. */
void session_end(struct drain *d, struct session *s);

/* For the manifest, whichever drain writes it. */
void session_complain(struct drain *d, const struct session *s, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* As things stand now; `totals`: all is over. */
bool session_manifest(struct drain *d, const struct drain_totals *totals);

/* ---- door.c ---------------------------------------------------------------------------------- */

/* Lets in who waits at the sessions' doors and where launchers meet. */
void door_accept(struct drain *d);
/* Greets those that have spoken, sends those away that say nothing. */
void door_serve(struct drain *d);
/* At the end of those that wait to be greeted. False: no memory. */
bool door_add(struct drain *d, int fd);
/* A process is lost: that is told where the others' records are, now or at the end. */
void door_refuse(struct drain *d, struct session *s, int pid, int error, const char *why);
/* Room may have been made since. */
void door_write_refusals(struct drain *d);
/* A launcher that has been let in is told so, perhaps again. */
void door_welcome_launcher(const struct drain *d, const struct session *s);

/* ---- drain.c --------------------------------------------------------------------------------- */

/* Lists a finished file; NULL: no memory. */
struct file *drain_add_file(struct drain *d, struct session *s, const char *path);
/* One that has begun to record. False: it cannot be, and is gone from the list. */
bool drain_begin(struct drain *d, struct producer *p);
/* Its process is gone, or another image. */
void drain_finish(struct drain *d, struct producer *p, int wait_status);
/* All whose processes are gone. */
void drain_finish_dead(struct drain *d);
/*
 * A new epoll set. Where the system refuses one nobody would be heard, or seen to end: the drain ends here, which its launcher
 * tells.
 */
int drain_epoll(void);
void drain_watch(const struct drain *d, int fd);
const char *drain_folder(const struct drain *d);

/* ---- resume.c -------------------------------------------------------------------------------- */

/*
 * Rebuilds the state from the journal and goes on with what is recorded; every other descriptor
 * that the dead drain had is closed, and what it was just writing is removed.
 */
void resume(struct drain *d);
/* Tells everybody that is recorded that there will be no drain any more. */
void resume_give_up(struct drain *d);

#endif
