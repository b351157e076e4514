/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of the job: which there are, and what /proc says of one. Private to the source `job`. */
#ifndef TELEMETRY_JOB_H
#define TELEMETRY_JOB_H

#include <stdbool.h>
#include <stdint.h>

enum { JOB_PROCESSES = 4096, JOB_PROGRAMS = 1024, JOB_TASKS = 256 };

struct job_counts {
	uint64_t cpu;          /* ns */
	uint64_t minor, major; /* page faults */
};

struct job_stat {
	int pid, ppid;
	uint64_t start; /* clock ticks since the machine's start: tells users of one pid apart */
	struct job_counts own,
		waited; /* its own; of children that ended and that it waited for, and of theirs */
	uint64_t threads, rss; /* bytes */
	bool ended;            /* a zombie: its counts are final, it has no memory */
};

/* What `text`, of a file "stat", says; false: that is no such file. */
bool job_stat_parse(const char *text, struct job_stat *out);
/* Of a process. 0 or an errno. */
int job_stat_read(const char *root, int pid, struct job_stat *out);

struct job_task {
	int tid;
	uint64_t voluntary, involuntary; /* switches */
	uint64_t wait;                   /* ns ready to run */
};

struct job_process {
	int pid;
	uint64_t start;
	bool begun;
	bool shown; /* has values of its own */
	struct job_stat last;
	uint64_t last_at;
	struct job_counts before; /* the recording began: own and waited, not of the job */
	struct job_counts
		inherited;      /* of `waited`, by processes that were in the list, or before */
	bool there;             /* at this reading */
	struct job_task *tasks; /* as read last, by tid */
	unsigned task_count;
	bool tasks_begun;
	bool seen; /* while processes are looked for */
};

/*
 * Adds to `list` of *count (in room for JOB_PROCESSES) the processes below `programs` and those in
 * the list that are not in it yet, and takes out none. Returns how many there was no room for.
 */
unsigned job_find(const char *root, const int *programs, unsigned program_count,
		  struct job_process *list, unsigned *count);

/*
 * The same for the children that main threads of those in the list have made, where the kernel tells of them: quick.
 */
void job_find_children(const char *root, struct job_process *list, unsigned *count);

/*
 * What the tasks' counts grew by since they were read last is added to `growth`; of tasks that were
 * not there before everything, when `whole`. False: there are too many to read, or none.
 */
bool job_tasks_read(const char *root, struct job_process *p, bool whole, struct job_task *growth);

#endif
