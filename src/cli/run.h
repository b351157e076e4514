/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `kymo run`: program, trace directory, environment, processes. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <limits.h>
#include <stdbool.h>

#include "base/job.h"
#include "base/run_options.h"
#include "base/text.h"
#include "drain/control.h"
#include "drain/manifest.h"
#include "drain/place.h"
#include "launch/launch.h"

/* As the shell has them. */
enum { RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

/* ---- run_program.c ---- */

struct program {
	char path[PATH_MAX];   /* what is executed */
	char untraceable[300]; /* why it cannot be traced, "" if it can */
};

/*
 * Finds the program as execvp() would and looks whether it can be traced. False: it cannot be run;
 * `error` says why, *status is what a shell would return.
 */
bool program_find(struct program *p, const char *name, struct text *error, int *status);

/* The ELF file that runs when this one is executed: itself, or the interpreter of a script. */
void program_file(const char *path, char out[PATH_MAX]);

/* The names of libraries and functions that the program is linked with have this text among them. */
bool program_names(const char *path, const char *text);

/* ---- run_trace.c ---- */

/* The folder in whose file system the trace will be; `cwd` is the current one. */
void trace_place(char out[PATH_MAX], const struct run_options *o, const char *cwd);

/* What helps against an error of this machine or shell's, as the end of a message; "": -o may. */
const char *trace_remedy(int error);

/*
 * Makes the trace directory with raw/ in it and a manifest that says "recording"; fills m->path.
 * Ranks of one job share it: whoever finds it made has no manifest in it yet, m->path is "". Who makes
 * it is the first of its node, and has the name in *meeting where the others meet (node_meet); else
 * -1. False: `error` says why.
 */
bool trace_make(char path[PATH_MAX], const struct run_options *o, const char *program,
		struct manifest *m, int *meeting, struct text *error);

/*
 * Waits until `ranks` launchers of the job have written their manifests: a bounded time for those that
 * have not come, `ms` for those that still record. Returns how many are missing.
 */
unsigned trace_await_ranks(const char *path, unsigned ranks, int ms);

/* Processes that reached no drain and said so themselves; *error: errno of the first. */
unsigned trace_unrecorded(const char *path, int *error);

/* When the launcher that made the trace began, in ns of CLOCK_REALTIME; 0: its manifest does not tell. */
uint64_t trace_began(const char *path);

/* Its command, a list in JSON, or that of the first launcher of a job; to be freed. NULL: not known. */
char *trace_command(const char *path);

/* Its words, as they were given, with blanks between them; `short_name`: the program without its folder. */
void trace_command_words(const char *command, bool short_name, struct text *out);

/* ---- run_socket.c ---- */

/* The socket that a recorded process, or `kymo run` of one, was given. False: it has none that can be seen. */
bool run_socket_of(int pid, char *out, size_t size);

/* ---- run_node.c ---- */

/* The launchers of a job on one node have one drain. */
struct node {
	int meeting; /* the drain that is started listens there for others; -1 */
	int joined;  /* to the drain that another has started; -1: one is to be started */
};

/* Where the launchers that record into `trace` meet, taken; -1: errno. */
int node_take(const char *trace, const struct run_options *o, const struct manifest *m);

/*
 * Finds the node's drain, or who has to start it, and writes the manifest of one that is to be started.
 * `meeting` is trace_make()'s, `socket` the place of this launcher, which may be another afterwards.
 * `local` is the folder for raw files of a drain that is joined. False: errno tells.
 */
bool node_find(struct node *n, const char *trace, const struct run_options *o, struct manifest *m,
	       char socket[PLACE_SOCKET], char local[PATH_MAX]);

/* ---- run_jobs.c ---- */

/*
 * The configuration file has several jobs, and none is chosen: each is run by a `kymo run` of its own,
 * and *status is the first that is not 0. False: this is the run of one.
 */
bool jobs_run(const struct run_options *o, char *const *argv, int *status);

/* The environment variable that tells the run of a pass what it counts. */
#define PASS_COUNTERS "KYMO_PASS_COUNTERS"

/*
 * Runs the program once for each of so many passes, with --replay-pass and what passes_take() has found for it; the
 * status of the first that failed.
 */
int passes_run(char *const *argv, unsigned passes, const char *const *of_each);

/* ---- cmd_run.c ---- */

/* The command starts ranks itself: a rank that it is of another launcher's is not meant. */
bool starts_ranks(char *const *argv);

/* Records a process that runs already, whose command is `argv`, as `kymo run` would. Returns the exit status. */
struct attach_target;
int run_attached(const struct attach_target *target, char **argv);

/* ---- run_check.c ---- */

/* `list`, from malloc() or NULL, takes the place of the counters; it is kept until another one does. */
void counters_become(struct run_options *o, char *list);

/* All that is asked for, but for the program and the name of the trace. 0, or the exit status of what was said. */
int check_options(const struct run_options *o);
/* Before this process is asked for its rank. */
bool check_rank_variable(const char *names);
bool check_has_window(const struct run_options *o);

/* ---- run_environment.c ---- */

/* Variables that the launcher may set. */
#define ENVIRONMENT_MOST (KNOB_ROWS_MAX + 64)

/* The environment of the traced `program`. `socket` NULL: it runs untraced. */
bool environment_make(struct launch_environment *e, const struct knob_table *options,
		      const char *program, const char *trace, const char *socket,
		      struct text *error);
void environment_release(struct launch_environment *e);

/* ---- run_process.c ---- */

/* A limit of file sizes is an error as others; to the program it is what it was. */
void launch_bear_size_limit(void);
void launch_restore_size_limit(void);

struct launch {
	const char *program;
	char *const *argv;
	char *const *environment;
	const char *trace;
	const char *socket; /* NULL: no drain */
	struct manifest *manifest;
	bool compress;
	uint64_t telemetry_ns; /* between readings; 0: none */
	uint64_t telemetry_delay_ns, telemetry_duration_ns;
	const char *telemetry_only; /* NULL: everything */
	const char *events;         /* counters of whole processors, or NULL */
	const char *local;          /* folder of collect_begin(), or NULL */
	int kill;                   /* signal for the program when recording is over, or 0 */
	uint64_t kill_ns;           /* when that is, CLOCK_REALTIME */
	struct node node;
	/* Instead of a program: what a process of Kymo's does, and returns to its exit status. */
	int (*instead)(void *data);
	void *data;
	int target; /* then: the process that is recorded, and goes on after it */
};

struct outcome {
	int wait_status;
	int exec_error;    /* errno when the program could not be executed, else 0 */
	bool drained;      /* raw files are complete */
	unsigned left;     /* processes that go on, recorded in the background */
	bool drain_failed; /* the drain ended unexpectedly */
	int interrupted;   /* signal that ended the wait after the program had ended, or 0 */
	struct drain_totals totals;
	unsigned killed;      /* processes that launch.kill was sent to */
	int telemetry;        /* errno of what ended it early, else 0 */
	unsigned unrecorded;  /* processes that say themselves that they reached no drain */
	int unrecorded_error; /* errno of the first of them */
	int control;          /* to the drain, for launch_finish(); -1 */
	int program;          /* pid, not yet waited for */
	int drain;            /* pid; 0: somebody else's */
	bool shared;          /* it may go on for other launchers */
};

/* Starts drain and program, passes signals on, returns when the program has ended. False: errno. */
bool launch(const struct launch *l, struct outcome *out);

/* Waits until the drain is done or `seconds` are over, and lets the program go. */
void launch_finish(struct outcome *out, unsigned seconds);

/* Ends this process as the program ended: status or signal. Returns the status otherwise. */
int launch_pass_on(int wait_status);

/* What launch() does with the drain: starts it (-1: errno), tells it something, waits until the raw
 * files are complete or only processes are left that outlive the program. */
int launch_drain(const struct launch *l, int *control);
void launch_tell_drain(int control, enum drain_message_type type, int pid, int status);
void launch_await_drain(struct outcome *out);

/* ---- run_kill.c ---- */

/* "TERM", "SIGTERM" or "15"; 0: no such signal. */
int kill_signal(const char *text);
/* Whether --kill can be done, with the other options; 0 or the exit status, which is explained. */
int kill_check(const struct run_options *o);

/*
 * When recording is over of a run that began at `began` and whose program was started at `started`, ns of one
 * clock; UINT64_MAX: with the program.
 */
uint64_t kill_moment(const struct run_options *o, uint64_t began, uint64_t started);

/* Sends the signal to the program, then to all processes below it; returns to how many. */
unsigned kill_tree(int program, int number);

/* ---- run_in_place.c ---- */

/* Where the attendant of a rank writes, -1: the rank is not Hydra's, or that cannot be had. */
int in_place_output(const struct job *job);

/*
 * The program takes this process's place. `tell` is called in another process once it has ended, with
 * an outcome for launch_finish(). Returns errno if it could not be.
 */
int launch_in_place(const struct launch *l, int output, void (*tell)(void *, struct outcome *),
		    void *data);

/* ---- list_counters.c ---- */

/* What is to be counted and sampled can be, here. Else says why not; what only a preset wants is dropped. */
bool measures_check(struct run_options *o);

/* ---- run_handlers.c ---- */

/* What --lanes and --handlers name is there; else says why not. */
bool instrumenting_check(struct run_options *o);

/*
 * With --replay application: how many runs the counters of kernels take, and *of_each: what each of them counts; one
 * pass that was asked for leaves but its counters, and is 1. 0: an error was said.
 */
unsigned passes_take(struct run_options *o, const char *const **of_each);

/* ---- run_functions.c ---- */

/*
 * Chooses the functions of --functions, of the program at `path`. -1: go on, *plan is what the program is to be given, or
 * empty; else the exit status: they were listed, or the user was told what is wrong.
 */
int functions_take(const struct run_options *o, const char *path, struct text *plan);

/*
 * The bytes of a file like the one at `path` in which the functions of --functions are patched. -1: they are in *out; else the
 * exit status, as above.
 */
int functions_instrument(const struct run_options *o, const char *path, struct text *out);

/* Writes the plan into the trace and names it in the options; false: errno. */
bool functions_put(struct run_options *o, const char *trace, const struct text *plan);

/* ---- run_formulas.c ---- */

/* Puts counters in the place of formulas in the list; false: a formula is wrong, and the user was told. */
bool formulas_take(struct run_options *o);

/* ---- run_metrics.c ---- */

/* Adds the counters that metrics are made of to the list; false: something is wrong, and the user was told. */
bool metrics_take(struct run_options *o);

/* ---- run_events.c ---- */

/* Takes counters of whole processors out of the list; false: they cannot be read, and the user was told. */
bool events_take(struct run_options *o);
/* Has the telemetry read them. */
void events_read(struct run_options *o);
/* Options of the telemetry; false: they are wrong, or what they name is not here, and the user was told. */
bool telemetry_valid(const struct run_options *o);

#endif
