/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank that Hydra started, recorded with the program in the launcher's place. Hydra takes a rank
 * that ends without MPI_Finalize for a failure and kills the process groups of all ranks; which of
 * their statuses becomes the job's depends on how soon each of its children is gone after its
 * output is closed. With a launcher between Hydra and the program that order is another, and with
 * it the status; and the launcher that would speak for the job is killed, too. So the program
 * becomes Hydra's child, as without Kymo, and an attendant outside of all groups of the job does
 * what is the launcher's work elsewhere: it starts the drain, waits, and tells. It writes where the
 * proxy itself does: an output of the rank that stayed open would make Hydra wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run.h"
#include "drain/process_exit.h"

enum {
	PARKED = 64, /* descriptors that are moved out of the way */
	LOOK_MS = 50 /* where the death of a process is not told */
};

int in_place_output(const struct job *job)
{
	char path[64];

	if (!job->proxy)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/fd/2", job->proxy);
	return open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
}

/* Leaves 0, 1 (nothing), 2 (`output`), 3 (`control`), 4 (`ready`). */
static void arrange_descriptors(int output, int control, int ready)
{
	int null = open("/dev/null", O_RDWR);
	int parked[5] = {null, null, output, control, ready};

	for (int i = 0; i < 5; i++)
		parked[i] = fcntl(parked[i], F_DUPFD, PARKED);
	for (int i = 0; i < 5; i++)
		if (parked[i] < 0 || dup2(parked[i], i) < 0)
			close(i);
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 5u, ~0u, 0u) == 0)
		return;
#endif
	for (int fd = 5; fd < 1024; fd++)
		close(fd);
}

static void await_exit(int pid, int pidfd)
{
	struct pollfd p = {pidfd, POLLIN, 0};

	while (!process_exit_seen(pid, pidfd))
		poll(&p, pidfd >= 0, pidfd >= 0 ? -1 : LOOK_MS);
}

/* Does not return. */
static void attend_program(const struct launch *l, int output, int ready, int program,
			   void (*tell)(void *, struct outcome *), void *data)
{
	struct outcome out = {.control = -1,
			      .drain = -1,
			      .program = program,
			      .shared = l->node.joined >= 0 || l->node.meeting >= 0};
	int pidfd;

	setsid();
	prctl(PR_SET_NAME, "kymo-attendant");
	out.drain = launch_drain(l, &out.control);
	if (out.drain < 0)
		_exit(1);
	launch_tell_drain(out.control, DRAIN_PROGRAM, program, 0);
	arrange_descriptors(output, out.control, ready);
	out.control = 3;
	pidfd = process_exit_watch(program);
	if (write(4, "r", 1) != 1)
		_exit(1);
	close(4);
	await_exit(program, pidfd);
	out.wait_status = process_exit_status(program, pidfd, NULL);
	launch_tell_drain(out.control, DRAIN_EXITED, program, out.wait_status);
	launch_await_drain(&out);
	tell(data, &out);
	fflush(NULL);
	_exit(0);
}

int launch_in_place(const struct launch *l, int output, void (*tell)(void *, struct outcome *),
		    void *data)
{
	int ready[2], program = (int)getpid();
	char word = 0;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) != 0)
		return EAGAIN;
	pid = fork();
	if (pid == 0) {
		/* Not a child of the program: its wait() would see it. */
		if (fork() == 0)
			attend_program(l, output, ready[1], program, tell, data);
		_exit(0);
	}
	close(ready[1]);
	if (pid < 0 || read(ready[0], &word, 1) != 1)
		word = 0;
	if (pid > 0)
		waitpid(pid, NULL, 0);
	close(ready[0]);
	if (word != 'r')
		return EAGAIN;
	launch_restore_size_limit();
	execvpe(l->program, l->argv, l->environment);
	return errno;
}
