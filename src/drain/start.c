/* SPDX-License-Identifier: Apache-2.0 */
/* What a process does to become a drain; see drain.h. */
#include "drain/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

int drain_listen(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	mode_t mask;
	int fd, rc;

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	mask = umask(077);
	rc = bind(fd, (struct sockaddr *)&a, sizeof(a));
	umask(mask);
	if (rc == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	close(fd);
	return -1;
}

static void close_others(int keep1, int keep2)
{
	int low = keep1 < keep2 ? keep1 : keep2, high = keep1 < keep2 ? keep2 : keep1;
	struct rlimit limit;

#ifdef SYS_close_range
	if (low > 3)
		syscall(SYS_close_range, 3u, (unsigned)low - 1, 0u);
	if (high > (low > 2 ? low : 2) + 1)
		syscall(SYS_close_range, (unsigned)(low > 2 ? low : 2) + 1, (unsigned)high - 1, 0u);
	if (syscall(SYS_close_range, (unsigned)(high > 2 ? high : 2) + 1, ~0u, 0u) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 65536)
		limit.rlim_cur = 65536;
	for (int fd = 3; fd < (int)limit.rlim_cur; fd++)
		if (fd != keep1 && fd != keep2)
			close(fd);
}

/* On all CPUs the machine lets us: the program may be bound to one that it keeps busy. */
static void widen_affinity(void)
{
	unsigned long all[1024 / sizeof(unsigned long)];

	memset(all, 0xff, sizeof(all));
	syscall(SYS_sched_setaffinity, 0, sizeof(all), all);
}

/*
 * Three descriptors a process: the usual soft limit of 1,024 would end at 340 of them. Programs
 * have their own limits, which they get from whoever starts them: not from here.
 */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void drain_detach(int keep1, int keep2)
{
	static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ,
				      SIGTSTP, SIGTTIN, SIGTTOU, SIGALRM, SIGUSR1, SIGUSR2};
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		if (fd != keep1 && fd != keep2)
			dup2(null, fd);
	close_others(keep1, keep2);
	raise_file_limit();
	if (chdir("/") != 0)
		return; /* only keeps a file system busy */
	prctl(PR_SET_NAME, "kymo-drain");
	widen_affinity();
}
