/* SPDX-License-Identifier: Apache-2.0 */
/* The user's pager; see pager.h. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "report/report.h"

extern char **environ;

static bool refused;
static pid_t pager; /* of the shell that runs it; 0: none */
static int status_if_left;

void pager_refuse(void)
{
	refused = true;
}

/* NULL: none. */
static const char *command(void)
{
	const char *name = getenv("KYMO_PAGER");

	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = "if command -v less >/dev/null; then less; else cat; fi";
	return refused || !*name || strcmp(name, "cat") == 0 ? NULL : name;
}

static void wait_for_pager(void)
{
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The user left: nobody reads what is still to come. */
static void on_broken_pipe(int signal)
{
	(void)signal;
	close(STDOUT_FILENO);
	wait_for_pager();
	_exit(cli_told_errors() ? CLI_FAILURE : status_if_left);
}

/* The pager shows what it has, and gives the terminal back, before this process is gone. */
static void on_end(int signal)
{
	close(STDOUT_FILENO);
	wait_for_pager();
	raise(signal); /* the handler is reset */
}

static void handle_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction a = {.sa_handler = on_broken_pipe}, was;

	sigaction(SIGPIPE, &a, NULL);
	a = (struct sigaction){.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			sigaction(ends[i], &a, NULL);
}

/* A shell runs `name` with `in` as its standard input; where there is no such program, cat. */
static bool spawn(const char *name, int in)
{
	posix_spawn_file_actions_t actions;
	struct text script = {0};
	char shell[] = "sh", option[] = "-c";
	char *argv[] = {shell, option, NULL, NULL};
	bool ok;

	text_addf(&script, "%s\n[ $? -ne 127 ] || exec cat", name);
	if (script.failed || posix_spawn_file_actions_init(&actions) != 0) {
		text_release(&script);
		return false;
	}
	argv[2] = script.s;
	ok = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO) == 0 &&
	     posix_spawn(&pager, "/bin/sh", &actions, NULL, argv, environ) == 0;
	posix_spawn_file_actions_destroy(&actions);
	text_release(&script);
	return ok;
}

void pager_start(int status)
{
	const char *name = command();
	struct winsize w;
	int ends[2];

	status_if_left = status;
	if (pager || !name || !isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 ||
	    pipe2(ends, O_CLOEXEC) != 0)
		return;
	/* As git has them: nothing to leave where all fits the screen, colours, the text stays there. */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	if (spawn(name, ends[0])) {
		handle_signals();
		dup2(ends[1], STDOUT_FILENO);
		report_paged(w.ws_col);
	} else {
		pager = 0;
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_end(void)
{
	if (!pager)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	wait_for_pager();
	pager = 0;
}
