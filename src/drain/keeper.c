/* SPDX-License-Identifier: Apache-2.0 */
/* See keeper.h. */
#include "drain/keeper.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "drain/journal.h"

enum { DEATHS = 3, DEATHS_SECONDS = 10 }; /* so many within that time: the next would die, too */

/*
 * Not fork(): the two have one table of descriptors, so that what the drain opens is open here. The
 * keeper has one thread, and the drain takes nothing from the C library that knows of processes.
 */
static pid_t start_drain(const struct drain_config *config, struct journal *j, enum drain_task task)
{
#ifdef __s390x__
	pid_t pid = (pid_t)syscall(SYS_clone, NULL, CLONE_FILES | SIGCHLD, NULL, NULL, 0L);
#else
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, 0L);
#endif

	if (pid != 0)
		return pid;
	prctl(PR_SET_NAME, "kymo-drain");
	drain_run(config, j, task);
	_exit(0);
}

static int await_drain(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

/* True: too many have died for another to be of use. */
static bool note_death(struct journal *j, int status)
{
	static uint64_t died[DEATHS - 1];
	uint64_t now = clock_ns(CLOCK_MONOTONIC), *oldest = &died[j->deaths % (DEATHS - 1)];
	bool often = *oldest && now - *oldest < DEATHS_SECONDS * 1000000000ull;
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

	*oldest = now;
	j->mixed = j->deaths && (j->mixed || j->signal != sig || j->status != code);
	j->deaths++;
	j->signal = sig;
	j->status = code;
	return often;
}

static int keep_running(const struct drain_config *config, struct journal *j, pid_t drain)
{
	for (;;) {
		int status = await_drain(drain);

		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return 0;
		if (note_death(j, status) || atomic_load(&j->full))
			break;
		drain = start_drain(config, j, DRAIN_GO_ON);
		if (drain < 0)
			return 1;
	}
	/* Nobody is to wait for another. */
	drain = start_drain(config, j, DRAIN_GIVE_UP);
	if (drain > 0)
		await_drain(drain);
	return 1;
}

int drain_keep(const struct drain_config *config)
{
	struct journal *j = journal_new();
	pid_t drain = -1;

	if (j) {
		prctl(PR_SET_NAME, "kymo-keeper");
		j->keeper = getpid();
		j->held[0] = config->held[0];
		j->held[1] = config->held[1];
		drain = start_drain(config, j, DRAIN_BEGIN);
	}
	if (drain > 0)
		return keep_running(config, j, drain);
	/* One that has nobody to start another. */
	journal_free(j);
	prctl(PR_SET_NAME, "kymo-drain");
	drain_run(config, NULL, DRAIN_BEGIN);
	return 0;
}
