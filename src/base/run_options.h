/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a recording: the one table that `kymo run` parses and hands on, and that the library
 * in the traced program reads from its environment.
 */
#ifndef BASE_RUN_OPTIONS_H
#define BASE_RUN_OPTIONS_H

#include "base/knob.h"

enum run_mode {
	RUN_MODE_SUMMARY = 0,
	RUN_MODE_MINIMAL = 1,
	RUN_MODE_DEFAULT = 2,
	RUN_MODE_FULL = 3
};
enum run_args { RUN_ARGS_NONE = 0, RUN_ARGS_SCALARS = 1, RUN_ARGS_FULL = 2 };
enum run_on_full { RUN_BLOCK = 0, RUN_DROP = 1, RUN_OVERWRITE = 2 };

enum run_sample_clock { RUN_SAMPLE_CPU = 0, RUN_SAMPLE_WALL = 1 };
enum run_functions_list {
	RUN_FUNCTIONS_NONE = 0,
	RUN_FUNCTIONS_AVAILABLE = 1,
	RUN_FUNCTIONS_CHOSEN = 2,
	RUN_FUNCTIONS_REFUSED = 3
};
enum run_replay {
	RUN_REPLAY_KERNEL = 0,
	RUN_REPLAY_APPLICATION = 1,
	RUN_REPLAY_ROTATE = 2,
	RUN_REPLAY_OFF = 3
};

enum run_pauses { RUN_PAUSES_LAST = 0, RUN_PAUSES_COUNT = 1, RUN_PAUSES_IGNORE = 2 };

struct run_options {
	const char *output;
	const char *backends; /* list; NULL: all */
	int mode;             /* enum run_mode */
	int args;             /* enum run_args */
	const char *include;  /* regex, or NULL */
	const char *exclude;
	const char *annotations; /* regexes of the annotation domains that are recorded, or NULL */
	const char *exclude_annotations; /* and of those that are not */
	int on_full;                     /* enum run_on_full */
	uint64_t block_ns;               /* longest wait for room with RUN_BLOCK */
	uint64_t buffer_size;            /* bytes of the shared buffer of each process */
	const char *stacks;              /* regex of ops whose call stack is kept, or NULL */
	bool threads;                    /* all threads and processes, whatever they use */
	bool start_paused;               /* until the program resumes */
	int pauses;                      /* enum run_pauses */
	uint64_t delay_ns;
	uint64_t duration_ns; /* 0: until the end */
	uint64_t after_ns;    /* since the run began, not the process; 0: from its beginning */
	uint64_t before_ns;   /* likewise; 0: until its end */
	const char *period;   /* windows since the run began, or NULL */
	const char *kill;     /* signal for the program when recording is over, or NULL */
	const char *range;    /* NAME, NAME#N-M: threads record in these alone; or NULL */
	const char *during;   /* likewise the process */
	const char *kernel; /* regexes of the kernels whose executions are recorded, or NULL: all */
	const char *exclude_kernel; /* of these, those that are not */
	const char *device;       /* numbers or regex of the devices whose work is, or NULL: all */
	const char *counters;     /* list, or NULL */
	const char *count_kernel; /* regexes of the kernels that NAME:kernel counts, or NULL: all */
	int replay;               /* enum run_replay */
	int64_t replay_pass;      /* of RUN_REPLAY_APPLICATION, from 1; 0: all */
	const char
		*instrument_kernels; /* regexes of the kernels whose lines are counted, or NULL */
	const char *lanes; /* off, 32, 64, a file or its lines: how their accesses are looked at */
	const char *handlers; /* NAME[:key=value]...,...: what looks at their records; or NULL */
	const char *formulas; /* file, or NULL */
	const char *metrics;  /* list of ids, or NULL */
	const char *metrics_file;   /* or NULL */
	const char *formula_lines;  /* those that `counters` named, or NULL */
	int64_t sample_hz;          /* 0: no samples */
	bool off_cpu;               /* the times in which threads have no processor */
	int sample_clock;           /* enum run_sample_clock */
	const char *sample_event;   /* EVENT:N, a sample every N of them; or NULL */
	const char *sample_threads; /* list, or NULL: all */
	uint64_t heap_interval;     /* mean of the bytes between two samples of malloc() */
	const char *functions;      /* expressions of functions that are patched, or NULL */
	const char *functions_exclude;
	int64_t functions_min_instructions, functions_min_loop;
	uint64_t functions_min_ns; /* shorter executions are not recorded */
	int functions_list;        /* enum run_functions_list */
	int functions_format;
	const char
		*functions_plan; /* the file with the plan (wire/plan.h) of `functions`, or NULL */
	int64_t pc_sampling;     /* a sample every 2^n cycles; 0: none of kernels */
	bool pc_serialize;
	int64_t telemetry_ms; /* 0: no telemetry */
	uint64_t telemetry_delay_ns;
	uint64_t telemetry_duration_ns; /* 0: until the end */
	const char *telemetry_only;     /* list of its sources and values, or NULL: all */
	const char *tools;              /* libraries, colons between them, or NULL */
	const char *events;             /* of `counters`, those of whole processors, or NULL */
	const char *config;
	const char *config_job; /* the one of its jobs that is run, or NULL */
	const char *preset;     /* name or file, or NULL */
	bool dry_run;
	bool no_summary;
	bool strict;
	bool no_compress;
	bool force;
	bool untraced;
	const char *ranks;         /* list of a job's ranks that are recorded, or NULL: all */
	const char *rank_variable; /* "NAME" or "NAME:SIZE_NAME" that have rank and size, or NULL */
	const char *node_local;    /* where raw files lie until the end, or NULL: in the trace */
};

/* Values live in run_options_values; see knob.h. */
extern struct knob_table run_options_table;
extern struct run_options run_options_values;

/* Variables that are no options but mean something to some part of Kymo; ends with a name of NULL. Backends have
 * their own (launch/launch.h). */
extern const struct knob_variable run_other_variables[];

#endif
