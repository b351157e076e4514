/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.json of a trace: what ran, where, how, and the totals of what was lost. The launcher
 * writes it before the program starts, the drain once everything is in the trace. Where several
 * drains of one job share a trace, as on several nodes, each but the first has
 * manifest-HOST-PID-TOKEN.json beside it while it records; each tells of its own processes, `kymo info`
 * of all.
 */
#ifndef DRAIN_MANIFEST_H
#define DRAIN_MANIFEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/job.h"
#include "base/text.h"
#include "drain/control.h"
#include "wire/raw.h"

struct manifest {
	char path[PATH_MAX];
	char *const *command;     /* words of the program, NULL terminated; may be NULL */
	char *const *environment; /* NAME=VALUE that the launcher set; may be NULL */
	char cwd[PATH_MAX];
	char hostname[64];
	struct job job;
	uint64_t started;                       /* realtime ns */
	int pid;                                /* of the program, 0 unknown */
	int status;                             /* its wait status, -1 unknown */
	uint32_t restarts;                      /* of its drain ... */
	int32_t restart_signal, restart_status; /* ... because of this, each time; 0: of several */
	const char *formulas;                   /* of counters, lines, or NULL */
	const char *untraced;                   /* why the program could not be traced, or NULL */
	struct text launchers;                  /* of a job; JSON objects, comma separated */
	struct text processes;                  /* the same */
	struct text errors;                     /* JSON strings, comma separated */
};

/* Fills in place, time, host and job. */
void manifest_init(struct manifest *m);

/* Another launcher's lies in the trace: this one's gets a name beside it that no other has. */
void manifest_join(struct manifest *m, const char *trace);

/*
 * In a job: a launcher whose processes are in this manifest, with its rank, program (0: not known yet),
 * wait status (-1), and command (JSON, NULL: the manifest's own).
 */
void manifest_no_launchers(struct manifest *m);
void manifest_launcher(struct manifest *m, uint32_t rank, int pid, int status, bool complete,
		       const char *command);

/* As JSON. */
void manifest_words(struct text *t, char *const *words);

/* `rank`: of its launcher, JOB_UNKNOWN. `bytes` of its file if nothing of it is compressed. */
void manifest_process(struct manifest *m, int pid, uint32_t rank, const char *file,
		      const struct raw_end *end, uint64_t bytes);
void manifest_error(struct manifest *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* `totals` NULL: the recording is under way. False: errno tells. */
bool manifest_write(const struct manifest *m, const struct drain_totals *totals);

/* Those of other drains go into manifest.json (`nodes`), if all are complete; see merge.c. */
void manifest_merge(const char *trace);
/* It has others in it, and is not written again. */
bool manifest_is_merged(const struct manifest *m);

#endif
