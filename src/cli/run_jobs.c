/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a configuration file, its sections [job NAME]: the program is run once for each. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"

#define CONFIG_JOB "--config-job"

static volatile sig_atomic_t child, stopped;

/* The run of the moment ends as if it had got the signal alone; no other one is begun. */
static void pass_on(int number)
{
	stopped = number;
	if (child > 0)
		kill((pid_t)child, number);
}

static void listen_to_signals(void)
{
	struct sigaction action = {.sa_handler = pass_on};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	/* A terminal sends it to the run as well. */
	action.sa_handler = SIG_IGN;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGQUIT, &action, NULL);
}

/* `kymo run OPTION VALUE` and the words that were written. NULL: no memory. */
static char **words_of(const char *option, char *value, bool dry)
{
	size_t count = 0, n = 0;
	char **words;

	while (cli_words[count])
		count++;
	words = calloc(count + 6, sizeof(char *));
	if (!words)
		return NULL;
	words[n++] = (char *)(uintptr_t) "kymo";
	words[n++] = (char *)(uintptr_t) "run";
	words[n++] = (char *)(uintptr_t)option;
	words[n++] = value;
	if (dry)
		words[n++] = (char *)(uintptr_t) "--dry-run";
	memcpy(words + n, cli_words, count * sizeof(char *));
	return words;
}

static void become(const char *option, char *value, bool dry)
{
	char **words = words_of(option, value, dry);
	int null = dry ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (null >= 0)
		dup2(null, STDOUT_FILENO);
	if (words)
		execv(cli_self(), words);
	cli_error("run %s %s: %s", option, value, strerror(errno));
	_exit(CLI_FAILURE);
}

/* Status of a shell: of a signal 128 more. */
static int run_one(const char *option, char *value, bool dry)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(option, value, dry);
	if (pid < 0) {
		cli_error("run %s %s: %s", option, value, strerror(errno));
		return CLI_FAILURE;
	}
	child = pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT))
		stopped = WTERMSIG(status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What is wrong with a job is said before any is run. */
static int check_all(char **names)
{
	for (char **n = names; *n; n++) {
		int status = run_one(CONFIG_JOB, *n, true);

		if (status) {
			cli_error("nothing was run: that is of job %s", *n);
			return status;
		}
	}
	return CLI_OK;
}

static int run_all(char **names)
{
	int first = CLI_OK;

	listen_to_signals();
	for (char **n = names; *n && !stopped; n++) {
		int status;

		cli_note("job %s", *n);
		status = run_one(CONFIG_JOB, *n, false);
		if (status)
			cli_note("job %s ended with status %d", *n, status);
		first = first ? first : status;
	}
	return first;
}

/* Ranks of a job would each run all, and MPI can be begun once. */
static bool of_several_ranks(char *const *argv)
{
	struct job job;

	job_of_process(&job, 0);
	return !starts_ranks(argv) && job.rank != JOB_UNKNOWN && job.size != 1;
}

static int run_jobs(const struct run_options *o, char *const *argv, char **names)
{
	int status;

	if (of_several_ranks(argv))
		return cli_usage("run",
				 "the configuration file has jobs, and a rank of a parallel job "
				 "can be run once: \"kymo run -c FILE mpirun ...\" runs all ranks "
				 "for each, --config-job NAME one of the jobs");
	if (names[1] && o->output && !strstr(o->output, "%config_job%"))
		return cli_usage(
			"run",
			"-o \"%s\" is one name for several jobs: with %%config_job%% in it "
			"each has its own",
			o->output);
	if (o->dry_run) {
		for (status = CLI_OK; *names && status == CLI_OK; names++)
			status = run_one(CONFIG_JOB, *names, false);
		return status;
	}
	status = check_all(names);
	return status ? status : run_all(names);
}

int passes_run(char *const *argv, unsigned passes, const char *const *of_each)
{
	int first = CLI_OK;
	char pass[16];

	if (of_several_ranks(argv))
		return cli_usage(
			"run",
			"the counters take %u passes, and a rank of a parallel job can be run "
			"once: \"kymo run mpirun ...\" runs all ranks for each, --replay-pass "
			"N one of the passes",
			passes);
	listen_to_signals();
	for (unsigned i = 1; i <= passes && !stopped; i++) {
		int status;

		snprintf(pass, sizeof(pass), "%u", i);
		cli_note("pass %u of %u", i, passes);
		setenv(PASS_COUNTERS, of_each[i - 1], 1);
		status = run_one("--replay-pass", pass, false);
		if (status)
			cli_note("pass %u ended with status %d", i, status);
		first = first ? first : status;
	}
	return first;
}

static bool has(char **names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

static void free_names(char **names)
{
	for (char **n = names; *n; n++)
		free(*n);
	free(names);
}

bool jobs_run(const struct run_options *o, char *const *argv, int *status)
{
	const char *path = o->config ? o->config : getenv("KYMO_CONFIG");
	char error[KNOB_ERROR_MAX], **names;
	bool done = true;

	*status = CLI_USAGE;
	if (!path || !*path) {
		if (o->config_job)
			cli_usage("run", "--config-job %s: of which file? -c names it",
				  o->config_job);
		return o->config_job;
	}
	names = knob_config_jobs(path, error);
	if (!names) {
		cli_error("%s", error);
		return true;
	}
	if (o->config_job && !has(names, o->config_job))
		cli_usage("run", "%s has no job \"%s\"", path, o->config_job);
	else if (o->config_job || !*names)
		done = false;
	else
		*status = run_jobs(o, argv, names);
	free_names(names);
	return done;
}
