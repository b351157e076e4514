/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the launchers of a job that are on one node come to one drain. They meet at an abstract socket,
 * whose name follows from the trace, the user, the namespaces they live in and what the drain is to do.
 * Who has the name starts a drain, which listens there from then on; the others give it their own
 * listening sockets and speak to it as they would to a drain of their own. The name is free again as
 * soon as the drain lets nobody in any more, or is dead.
 */
#ifndef DRAIN_MEET_H
#define DRAIN_MEET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "drain/place.h"

#define MEET_MAGIC   0x4d59304b4c554e31ull
#define MEET_VERSION 1u

enum { MEET_WORDS = 32 << 10 /* bytes of a command that are told */ };

/* First message of a launcher, with its listening socket. */
struct meet_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t rank;
	char socket[PLACE_SOCKET]; /* path of what it hands over */
	uint32_t command;          /* bytes of JSON that follow, with the zero that ends them */
};

struct meet_welcome {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	char local[PATH_MAX]; /* where raw files lie until the end; "": in the trace */
};

/*
 * The name for launchers that record into `trace`, a directory that exists, with a drain of that `kind`
 * (words of any form).
 */
struct meet_name {
	char text[64];
};
bool meet_name(struct meet_name *n, const char *trace, const char *kind);

/* Takes the name; -1: errno, EADDRINUSE: another has it. */
int meet_take(const struct meet_name *n);

/*
 * Joins the drain that listens there. Returns the connection over which it is told of the program; -1:
 * errno. ECONNREFUSED: there is none any more, EPERM: it is somebody else's.
 */
int meet_join(const struct meet_name *n, int listener, const struct meet_hello *hello,
	      const char *command, char local[PATH_MAX]);

#endif
