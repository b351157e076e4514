/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering a recording: `kymo ctl` connects to the drain's socket and asks; the drain asks each
 * process that it records, through the buffer they share, and answers when all have done it.
 */
#ifndef DRAIN_STEER_H
#define DRAIN_STEER_H

#include <stdbool.h>
#include <stdint.h>

#include <kymo/tool.h>

#include "drain/producer.h"

#define STEER_MAGIC   0x4c54434f4d594b31ull /* "1KYMOCTL" */
#define STEER_VERSION 1u

/* First message on the drain's socket, in place of a hello. */
struct steer_request {
	uint64_t magic; /* STEER_MAGIC */
	uint32_t version;
	uint32_t what; /* kymo_steer_t */
	uint64_t wait_ns;
};

/*
 * A request of this kind asks nothing of the processes: `kymo top` looks on. For some of those that came after the
 * number `wait_ns` the drain sends struct steer_sight, a path and, with them, their memory, to be read and not
 * written; then a struct steer_answer, whose `answered` are those sent and `waiting` those left.
 */
#define STEER_LOOK 0x10u
enum { STEER_SIGHTS = 32 }; /* sent at once */

struct steer_sight {
	uint64_t magic; /* STEER_MAGIC */
	uint32_t version;
	uint32_t number; /* in order of coming */
	int32_t pid;
	uint32_t path; /* bytes that follow: where its raw file is */
};

struct steer_answer {
	uint64_t magic;
	uint32_t version;
	int32_t status; /* KYMO_OK, ERROR_BUSY: somebody else asks just now, ERROR_INVALID_ARGUMENT */
	uint32_t processes; /* that hear it, */
	uint32_t answered;  /* of which so many have done it */
	int32_t silent;     /* pid of one that has not, or 0 */
	uint32_t waiting; /* those that use nothing that is traced: they do it when they begin to */
};

struct steering {
	int fd;         /* of who asks, -1: nobody */
	uint32_t asked; /* value given to the processes */
	uint64_t deadline;
	uint32_t
		standing; /* the last PAUSE or RESUME: processes that come are asked for it; 0: none */
	struct journal *journal;
};

/* `j`: for a drain in the place of this one; may be NULL. */
void steer_init(struct steering *s, struct journal *j);
/* Takes `fd`, closed once it is answered. True: what processes that come are to do has changed. */
bool steer_begin(struct steering *s, int fd, const struct steer_request *request,
		 struct producer *producers);
/* The recording of the process is over, if it listens; more than once does no harm. */
void steer_leave(struct steering *s, struct producer *p);
/* A process has come. */
void steer_newcomer(struct steering *s, struct producer *p);
/* Answers when all have, or time is up. */
void steer_serve(struct steering *s, struct producer *producers);

#endif
