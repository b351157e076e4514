/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drain: a process of its own that empties the shared buffers of traced processes into raw
 * files. It is started by the launcher, or by a traced process that finds none ("orphan"), and
 * lives until its last producer is gone, whatever happens to the launcher.
 */
#ifndef DRAIN_DRAIN_H
#define DRAIN_DRAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "drain/manifest.h"

struct drain_config {
	const char *trace;       /* absolute path; raw/ exists */
	const char *socket_path; /* of `listener`; goes at the end, with its folder (place.h) */
	int listener;
	int control; /* to the launcher, -1: orphan */
	bool compress;
	struct manifest *manifest;
	const char *local; /* folder of collect_begin(), where files lie until the end; or NULL */
	int meeting;       /* where other launchers of the job come (meet.h); 0: nowhere */
	int held[2]; /* set by drain_detach(): what holds the place and the trace; -1: nothing */
};

/* Listening SOCK_SEQPACKET socket, for this user only. -1: errno tells. */
int drain_listen(const char *path);

/*
 * While a drain runs, a link DRAIN_CONTROL HOST-TOKEN in the trace leads to its socket; see
 * place_token(). The part before the token, on hosts of this name:
 */
#define DRAIN_CONTROL "control-"
void drain_control_prefix(char *out, size_t size);

/*
 * Makes this process fit to be a drain: own session, no terminal, no descriptors but those of
 * `config`, all CPUs, signals that end programs ignored. Holds the place and the trace before it lets go
 * of what it inherited: the launcher's own hold may be gone by then, and who sweeps would take them.
 */
void drain_detach(struct drain_config *config);

enum drain_task {
	DRAIN_BEGIN,
	DRAIN_GO_ON,  /* where the journal says that another one was */
	DRAIN_GIVE_UP /* tells those that it recorded that nobody comes any more */
};

struct journal;

/*
 * Returns when nobody is recorded any more. `journal`: of the keeper (keeper.h), or NULL: nobody
 * could go on in its place.
 */
void drain_run(const struct drain_config *config, struct journal *journal, enum drain_task task);

#endif
