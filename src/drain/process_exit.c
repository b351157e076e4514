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

/* From what follows the name in /proc/PID/stat: utime and stime are fields 14 and 15, state the third. */
static void read_times(const char *stat, struct process_used *used)
{
	uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long user, system;

	if (sscanf(stat, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) !=
	    2)
		return;
	used->user = user * tick;
	used->system = system * tick;
}

/* Fields of /proc/PID/stat after the name; false when the process is gone. */
static bool read_stat(int pid, char *state, int *status, struct process_used *used)
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
	read_times(p, used);
	/* exit_code is the last of 52 fields; state is the third. */
	p = strrchr(p, ' ');
	*status = p ? atoi(p + 1) : 0;
	free(text);
	return true;
}

bool process_exit_seen(int pid, int pidfd)
{
	struct pollfd p = {pidfd, POLLIN, 0};
	struct process_used used;
	char state;
	int status;

	if (pidfd >= 0)
		return poll(&p, 1, 0) == 1;
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return true;
	return read_stat(pid, &state, &status, &used) && (state == 'Z' || state == 'X');
}

static uint64_t most_resident(int pid)
{
	char path[64], *text, *line;
	unsigned long kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	text = file_read(path, NULL);
	line = text ? strstr(text, "\nVmHWM:") : NULL;
	if (line && sscanf(line + 7, "%lu", &kib) != 1)
		kib = 0;
	free(text);
	return (uint64_t)kib * 1024;
}

/* /proc/PID/schedstat: ns on processors, ns that it waited for one, times. 0: the kernel does not count. */
static uint64_t read_delay(int pid)
{
	char path[64], *text;
	unsigned long long delay = 0;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	text = file_read(path, NULL);
	if (text && sscanf(text, "%*u %llu", &delay) != 1)
		delay = 0;
	free(text);
	return delay;
}

void process_delay_now(int pid, int pidfd, uint64_t *delay)
{
	uint64_t now = read_delay(pid);

	if (now && !process_exit_seen(pid, pidfd))
		*delay = now;
}

void process_used_now(int pid, int pidfd, struct process_used *used)
{
	struct process_used now = {0};
	char state;
	int status;

	if (!read_stat(pid, &state, &status, &now))
		return;
	now.resident = most_resident(pid);
	/* Else it may have been another of its number. */
	now.delay = used->delay;
	if (!process_exit_seen(pid, pidfd) && now.resident)
		*used = now;
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

int process_exit_status(int pid, int pidfd, struct process_used *used)
{
	struct process_used read = {.delay = read_delay(pid)};
	char state;
	int status;

	if (read_stat(pid, &state, &status, &read) && (state == 'Z' || state == 'X')) {
		if (used) {
			used->user = read.user;
			used->system = read.system;
			used->delay = read.delay > used->delay ? read.delay : used->delay;
		}
		return status;
	}
	return status_of_reaped(pidfd);
}
