/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo ctl`: steers a running recording, through its drain (drain/steer.h). */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/peer.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "drain/drain.h"
#include "drain/steer.h"

enum { CONNECT_MS = 2000 };

struct ctl_options {
	uint64_t wait_ns;
};

static struct ctl_options options;

static const struct knob rows[] = {
	{"timeout", 0, KNOB_DURATION, 0, offsetof(struct ctl_options, wait_ns), "TIME", "10s", NULL,
	 NULL, "Waiting", "Wait at most so long for the program's processes"},
};

static struct knob_table table = {.command = "ctl", .rows = rows, .count = 1, .values = &options};

static const struct verb {
	const char *name, *done;
	kymo_steer_t what;
} verbs[] = {
	{"flush", "flushed", KYMO_STEER_FLUSH},
	{"pause", "paused", KYMO_STEER_PAUSE},
	{"resume", "recorded again", KYMO_STEER_RESUME},
};

static const struct verb *verb_of(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

/* ---- the drain ------------------------------------------------------------------------------ */

enum { TRIES = 3 };
enum reply { ANSWERED, SILENT, HUNG_UP };

/* Hung up: the drain has ended; if it was killed another one may be there in a moment. */
static enum reply send_request(int fd, const struct verb *v, struct steer_answer *a)
{
	struct steer_request r = {STEER_MAGIC, STEER_VERSION, v->what, options.wait_ns};
	struct pollfd p = {fd, POLLIN, 0};
	uint64_t patience = options.wait_ns / 1000000 + 2000;

	if (peer_say(fd, &r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return HUNG_UP;
	if (poll(&p, 1, patience < INT32_MAX ? (int)patience : INT32_MAX) != 1)
		return SILENT;
	if (recv(fd, a, sizeof(*a), 0) != (ssize_t)sizeof(*a))
		return HUNG_UP;
	return a->magic == STEER_MAGIC && a->version == STEER_VERSION ? ANSWERED : SILENT;
}

static int report_refusal(const char *whom, const struct steer_answer *a)
{
	if (a->status == KYMO_ERROR_BUSY)
		cli_error("%s: another `kymo ctl` is at it; try again", whom);
	else
		cli_error("%s: it is recorded by another version of Kymo; use that one's ctl",
			  whom);
	return CLI_FAILURE;
}

/* Adds up what the drains of a trace say. */
static int add_answer(const struct verb *v, const char *whom, const struct steer_answer *a,
		      struct steer_answer *sum)
{
	if (a->status != KYMO_OK)
		return report_refusal(whom, a);
	sum->processes += a->processes;
	sum->waiting += a->waiting;
	if (a->answered == a->processes)
		return CLI_OK;
	cli_error(
		"%s: %u of %u processes did not answer within the time of --timeout (process %d is "
		"one)",
		whom, a->processes - a->answered, a->processes, a->silent);
	return CLI_FAILURE;
}

static const char *plural_ending(uint32_t n)
{
	return n == 1 ? "" : "es";
}

static int report_result(const struct verb *v, const char *whom, const struct steer_answer *sum)
{
	const uint32_t n = sum->processes, waiting = sum->waiting;

	if (n)
		cli_note("%s: %u process%s %s", whom, n, plural_ending(n), v->done);
	if (n + waiting == 0) {
		cli_error(
			"%s: no process is there that could be %s: try again once the program has "
			"started. Programs that are linked statically, run setuid or clear their "
			"environment have no Kymo in them",
			whom, v->done);
		return CLI_FAILURE;
	}
	if (waiting && v->what != KYMO_STEER_FLUSH)
		cli_note("%s: %u process%s no runtime yet, and will be %s when %s", whom, waiting,
			 waiting == 1 ? " uses" : "es use", v->done,
			 waiting == 1 ? "it does" : "they do");
	else if (!n)
		cli_note("%s: nothing to flush: %u process%s recorded nothing so far", whom,
			 waiting, waiting == 1 ? " has" : "es have");
	return CLI_OK;
}

/* Asking twice does no more than asking once. */
static enum reply ask_again(const char *socket_path, int *fd, const struct verb *v,
			    struct steer_answer *a)
{
	enum reply reply = send_request(*fd, v, a);

	for (int i = 0; i < TRIES && reply == HUNG_UP; i++) {
		int next = peer_connect(socket_path, geteuid() == 0, CONNECT_MS);

		if (next < 0)
			break;
		close(*fd);
		*fd = next;
		reply = send_request(*fd, v, a);
	}
	return reply;
}

/* Asks one drain; its processes are added to `sum`. */
static int steer_drain(const struct verb *v, const char *whom, const char *socket_path,
		       struct steer_answer *sum)
{
	struct steer_answer a;
	int fd = peer_connect(socket_path, geteuid() == 0, CONNECT_MS), status = CLI_FAILURE;

	if (fd < 0 && (errno == EPERM || errno == EACCES)) {
		cli_error("%s: it is recorded by another user, who alone can steer it", whom);
		return CLI_FAILURE;
	}
	if (fd < 0 && errno == EAGAIN) {
		cli_error("%s: its drain takes no connections: it is stopped", whom);
		return CLI_FAILURE;
	}
	if (fd < 0) {
		cli_error("%s: its drain does not listen at %s: %s; the recording has ended or was "
			  "killed",
			  whom, socket_path, strerror(errno));
		return CLI_FAILURE;
	}
	if (ask_again(socket_path, &fd, v, &a) == ANSWERED)
		status = add_answer(v, whom, &a, sum);
	else
		cli_error("%s: no answer; the recording has just ended, or its drain is stopped",
			  whom);
	close(fd);
	return status;
}

/* ---- who is meant ---------------------------------------------------------------------------- */

/* Several launchers of a job may record into one trace, on several hosts. */
static int steer_trace(const struct verb *v, const char *trace)
{
	char here[PATH_MAX], path[PATH_MAX], socket_path[128];
	unsigned found = 0, elsewhere = 0;
	struct steer_answer sum = {0};
	int status = CLI_OK;
	DIR *dir = opendir(trace);
	struct dirent *e;

	if (!dir) {
		cli_error("%s: %s", trace, strerror(errno));
		return CLI_FAILURE;
	}
	drain_control_prefix(here, sizeof(here));
	while ((e = readdir(dir))) {
		ssize_t n;
		int one;

		if (strncmp(e->d_name, DRAIN_CONTROL, strlen(DRAIN_CONTROL)) != 0)
			continue;
		if (strncmp(e->d_name, here, strlen(here)) != 0) {
			elsewhere++;
			continue;
		}
		snprintf(path, sizeof(path), "%.*s/%.256s", PATH_MAX - 264, trace, e->d_name);
		n = readlink(path, socket_path, sizeof(socket_path) - 1);
		if (n <= 0)
			continue;
		socket_path[n] = '\0';
		if (access(socket_path, F_OK) != 0 && errno == ENOENT) {
			elsewhere++; /* on a host of the same name, or killed */
			continue;
		}
		found++;
		one = steer_drain(v, trace, socket_path, &sum);
		status = one ? one : status;
	}
	closedir(dir);
	if (found && !status)
		status = report_result(v, trace, &sum);
	if (elsewhere) {
		cli_error("%s: %u %s into it on other hosts: call this there too", trace, elsewhere,
			  elsewhere == 1 ? "recording is made" : "recordings are made");
		return CLI_FAILURE;
	}
	if (found)
		return status;
	cli_error("%s: nothing is being recorded into it: the trace is complete, or there is none",
		  trace);
	return CLI_FAILURE;
}

static int steer_process(const struct verb *v, const char *word)
{
	struct steer_answer sum = {0};
	char socket_path[128];
	int pid = atoi(word), status;

	if (run_socket_of(pid, socket_path, sizeof(socket_path))) {
		status = steer_drain(v, word, socket_path, &sum);
		return status ? status : report_result(v, word, &sum);
	}
	cli_error("process %s: neither `kymo run` nor a program that it started; where Kymo was "
		  "loaded by "
		  "hand, name the trace directory",
		  word);
	return CLI_FAILURE;
}

static bool is_number(const char *word)
{
	for (; isdigit((unsigned char)*word); word++)
		;
	return *word == '\0';
}

static int run_ctl(int argc, char **argv)
{
	const struct verb *v = argc > 0 ? verb_of(argv[0]) : NULL;

	if (argc != 2)
		return cli_usage("ctl", "what to do, and with which trace or process: two words");
	if (!v)
		return cli_usage("ctl", "\"%s\": flush, pause or resume", argv[0]);
	if (is_number(argv[1]) && access(argv[1], F_OK) != 0)
		return steer_process(v, argv[1]);
	return steer_trace(v, argv[1]);
}

const struct command cmd_ctl = {
	.name = "ctl",
	.operands = "flush|pause|resume TRACE|PID",
	.summary = "Control a running recording",
	.about = "The recording is named by its trace directory, by the process of `kymo run`, or "
		 "by\n"
		 "a process that it records.\n\n"
		 "flush   writes what was recorded so far into the trace, device work that is "
		 "complete\n"
		 "        included; when the command ends, summary, query and export read it while "
		 "the\n"
		 "        program runs on. A flight recorder (--on-full overwrite) writes what it "
		 "holds.\n"
		 "pause   stops recording, also in processes that start later.\n"
		 "resume  continues recording, or starts it: after --start-paused, or before "
		 "--delay is\n"
		 "        over.\n\n"
		 "The last command also holds for processes that start later and for those that "
		 "have\n"
		 "used nothing yet that is traced; --delay and --duration have no effect any "
		 "more.\n\n"
		 "A thread of Kymo in each process does the work; no signal is sent and none of "
		 "the\n"
		 "program's threads is stopped. Exit status 3 if a process did not answer, or "
		 "there is\n"
		 "none.",
	.knobs = &table,
	.run = run_ctl,
};
