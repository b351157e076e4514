/* SPDX-License-Identifier: Apache-2.0 */
/* What takes the program's place in a run of a process that was there before: `kymo attach`. */
#ifndef CLI_RUN_ATTACH_H
#define CLI_RUN_ATTACH_H

#include "base/run_options.h"

struct attach_target;

struct attach_job {
	const struct attach_target *target;
	const struct run_options *options;
	char **words; /* NAME=VALUE that the launcher sets */
};

/*
 * Puts Kymo into the process and waits until the recording is over: by --duration, a signal, or the end of the
 * process. `data` is a struct attach_job. In a process of its own; returns its exit status.
 */
int attach_job_do(void *data);

#endif
