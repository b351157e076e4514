/* SPDX-License-Identifier: Apache-2.0 */
/* Events of perf_event_open(2); see perf_event.h. */
#include "base/perf_event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The last numbers that may be open are the program's. Closes `fd` where it is one of them. */
static bool leaves_some(int fd)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)fd + PERF_SPARE_FILES < limit.rlim_cur)
		return true;
	close(fd);
	return false;
}

static int sys_open(struct perf_event_attr *attr, pid_t tid, int cpu, int group)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, group, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : leaves_some((int)fd) ? (int)fd : -EMFILE;
}

int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu, int group, bool *user_only)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = sys_open(attr, tid, cpu, group);
	if (user_only)
		*user_only = false;
	if ((fd == -EACCES || fd == -EPERM) && !attr->exclude_kernel) {
		attr->exclude_kernel = 1;
		attr->exclude_hv = 1;
		fd = sys_open(attr, tid, cpu, group);
		if (user_only)
			*user_only = true;
	}
	return fd;
}

static int paranoid(void)
{
	int level = 0;
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");

	if (!f)
		return 99;
	if (fscanf(f, "%d", &level) != 1)
		level = 0;
	fclose(f);
	return level;
}

static bool seccomp_on(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	bool on = false;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "Seccomp:", 8) == 0)
			on = atoi(line + 8) != 0;
	if (f)
		fclose(f);
	return on;
}

void perf_reason(int error, const struct perf_event_attr *attr, const char *event, char *out,
		 size_t size)
{
	int level = paranoid();

	switch (error) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		snprintf(out, size,
			 attr->type == PERF_TYPE_SOFTWARE
				 ? "this kernel does not count %s"
				 : "this machine has no performance counters for %s "
				   "(virtual machines often have none)",
			 event);
		break;
	case EACCES:
	case EPERM:
		if (level > 2)
			snprintf(out, size,
				 "kernel.perf_event_paranoid is %d: %s needs at most 2, "
				 "or CAP_PERFMON",
				 level, event);
		else if (seccomp_on())
			snprintf(out, size,
				 "a seccomp filter forbids perf_event_open (containers "
				 "do by default)");
		else
			snprintf(out, size, "not permitted (kernel.perf_event_paranoid is %d)",
				 level);
		break;
	case ENOSYS:
		snprintf(out, size,
			 seccomp_on() ? "a seccomp filter forbids perf_event_open"
				      : "this kernel has no perf_event_open");
		break;
	case EMFILE:
	case ENFILE:
		snprintf(out, size, "no file descriptor is left for %s", event);
		break;
	default:
		snprintf(out, size, "perf_event_open of %s failed: error %d", event, error);
	}
}

struct perf_fd perf_keep(int fd)
{
	struct perf_fd p = {fd, 0};
	struct rlimit limit;
	int from = 512, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		from = limit.rlim_cur > 65536 ? 32768 : (int)limit.rlim_cur / 2;
	high = fcntl(fd, F_DUPFD_CLOEXEC, from);
	if (high >= 0) {
		close(fd);
		p.fd = high;
	}
	if (ioctl(p.fd, PERF_EVENT_IOC_ID, &p.id) != 0) {
		close(p.fd); /* it has no id by which perf_close() would know it */
		p.fd = -1;
	}
	return p;
}

static bool still_ours(const struct perf_fd *p)
{
	uint64_t id;

	return p->fd >= 0 && ioctl(p->fd, PERF_EVENT_IOC_ID, &id) == 0 && id == p->id;
}

bool perf_read(const struct perf_fd *p, void *data, size_t bytes)
{
	ssize_t n;

	if (!still_ours(p))
		return false;
	do {
		n = read(p->fd, data, bytes);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)bytes;
}

void perf_close(struct perf_fd *p)
{
	if (still_ours(p))
		close(p->fd);
	p->fd = -1;
}

unsigned perf_threads(pid_t *out, unsigned room)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d))) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (tid <= 0)
			continue;
		if (n < room)
			out[n] = tid;
		n++;
	}
	if (d)
		closedir(d);
	return n;
}
