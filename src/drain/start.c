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

#include "base/file.h"
#include "drain/place.h"

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

static bool is_kept(const struct drain_config *c, int fd)
{
	return fd == c->listener || fd == c->control || (c->meeting && fd == c->meeting) ||
	       fd == c->held[0] || fd == c->held[1];
}

/* Those from `from` up to the next that is kept, or all; returns where to go on. */
static int close_up_to_kept(const struct drain_config *c, int from)
{
	const int kept[] = {c->listener, c->control, c->meeting, c->held[0], c->held[1]};
	int next = -1;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (kept[i] >= from && (next < 0 || kept[i] < next))
			next = kept[i];
#ifdef SYS_close_range
	if (next != from &&
	    syscall(SYS_close_range, (unsigned)from, next < 0 ? ~0u : (unsigned)next - 1, 0u) != 0)
		return -1;
	return next < 0 ? 0 : next + 1;
#else
	return -1;
#endif
}

static void close_others(const struct drain_config *c)
{
	struct rlimit limit;
	int from = 3;

	while (from > 0)
		from = close_up_to_kept(c, from);
	if (from == 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 65536)
		limit.rlim_cur = 65536;
	for (int fd = 3; fd < (int)limit.rlim_cur; fd++)
		if (!is_kept(c, fd))
			close(fd);
}

enum { OFTEN_HELD = 32 };

/*
 * A library that the user has preloaded into all programs, this one too, may still take a descriptor for its own, and close
 * it: libunwind, in tcmalloc, does so with a pipe that it finds broken. No number that it can mean is given to another file.
 */
static void close_and_keep_numbers(const struct drain_config *c, int null)
{
	bool open_before[OFTEN_HELD];

	for (int fd = 3; fd < OFTEN_HELD; fd++)
		open_before[fd] = fd != null && !is_kept(c, fd) && fcntl(fd, F_GETFD) >= 0;
	close_others(c);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 3; null >= 0 && fd < OFTEN_HELD; fd++)
		if (open_before[fd] && fd != null)
			dup3(null, fd, O_CLOEXEC);
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

void drain_detach(struct drain_config *config)
{
	static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ,
				      SIGTSTP, SIGTTIN, SIGTTOU, SIGALRM, SIGUSR1, SIGUSR2};
	sigset_t none;
	int null;

	raise_file_limit();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	config->held[0] = place_hold(config->socket_path);
	config->held[1] = file_hold(config->trace);
	setsid();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		if (!is_kept(config, fd))
			dup2(null, fd);
	close_and_keep_numbers(config, null);
	if (chdir("/") != 0)
		return; /* only keeps a file system busy */
	prctl(PR_SET_NAME, "kymo-drain");
	widen_affinity();
}
