/* SPDX-License-Identifier: Apache-2.0 */
/* See process_exit.h. */
#include "drain/process_exit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

int process_exit_watch(int pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, pid, 0);
#else
	errno = ENOSYS;
	return -1;
#endif
}

/* Fields of /proc/PID/stat after the name; false when the process is gone. */
static bool read_stat(int pid, char *state, int *status)
{
	char path[64], *text, *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = file_read(path, NULL);
	p = text ? strrchr(text, ')') : NULL;
	if (!p || p[1] == '\0') {
		free(text);
		return false;
	}
	*state = p[2];
	/* exit_code is the last of 52 fields; state is the third. */
	p = strrchr(p, ' ');
	*status = p ? atoi(p + 1) : 0;
	free(text);
	return true;
}

bool process_exit_seen(int pid, int pidfd)
{
	struct pollfd p = {pidfd, POLLIN, 0};
	char state;
	int status;

	if (pidfd >= 0)
		return poll(&p, 1, 0) == 1;
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return true;
	return read_stat(pid, &state, &status) && (state == 'Z' || state == 'X');
}

/* Since Linux 6.15 the status of a process that was waited for stays with its descriptors. */
static int status_of_reaped(int pidfd)
{
	struct {
		uint64_t mask, cgroup;
		uint32_t ids[11]; /* pid, tgid, ppid, then user and group ids */
		int32_t exit_code;
	} info = {.mask = 1u << 3 /* PIDFD_INFO_EXIT */};

	_Static_assert(sizeof(info) == 64, "first version of the structure");
	if (pidfd < 0 || ioctl(pidfd, _IOWR(0xff, 11, info), &info) != 0 ||
	    !(info.mask & (1u << 3)))
		return -1;
	return info.exit_code;
}

int process_exit_status(int pid, int pidfd)
{
	char state;
	int status;

	if (read_stat(pid, &state, &status) && (state == 'Z' || state == 'X'))
		return status;
	return status_of_reaped(pidfd);
}
