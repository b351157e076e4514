/* SPDX-License-Identifier: Apache-2.0 */
/* A raw file of a header alone; see unrecorded.h. */
#include "inject/unrecorded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/job.h"
#include "wire/raw.h"

static void fill_header(struct raw_header *h, int error)
{
	struct job job;

	*h = (struct raw_header){.magic = RAW_MAGIC,
				 .version = RAW_VERSION,
				 .header_size = sizeof(*h),
				 .pid = (uint32_t)getpid(),
				 .wire_version = WIRE_VERSION,
				 .created_realtime = clock_ns(CLOCK_REALTIME),
				 .unrecorded = error > 0 ? (uint32_t)error : EIO};
	gethostname((char *)h->hostname, sizeof(h->hostname) - 1);
	job_of_process(&job, 0);
	memcpy(h->job, job.world, sizeof(h->job));
	h->rank = job.rank;
}

/* A write beyond the limit of file sizes would end the program with SIGXFSZ. */
static bool may_write(size_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur >= bytes;
}

static void write_header(int folder, const struct raw_header *h)
{
	char host[sizeof(h->hostname)], name[128], own[136], token[FILE_TOKEN];
	bool ok;
	int fd;

	memcpy(host, h->hostname, sizeof(host));
	for (char *c = host; *c; c++)
		if (*c == '/' || (unsigned char)*c <= ' ')
			*c = '_';
	file_token(token);
	snprintf(name, sizeof(name), "%.48s-%u" RAW_UNRECORDED "%s.kyr", host, h->pid, token);
	snprintf(own, sizeof(own), ".%s.tmp", name); /* no file of a trace is without its header */
	fd = openat(folder, own, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	flock(fd, LOCK_EX | LOCK_NB); /* `kymo compress` removes what nobody holds */
	ok = write(fd, h, sizeof(*h)) == (ssize_t)sizeof(*h);
	if (!ok || renameat(folder, own, folder, name) != 0)
		unlinkat(folder, own, 0);
	close(fd);
}

void unrecorded_tell(const char *trace, int error)
{
	struct raw_header h;
	int folder, raw;

	if (!trace || !*trace || !may_write(sizeof(h)))
		return;
	folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	raw = folder >= 0 ? file_open_own(folder, "raw") : -1;
	if (raw >= 0) {
		fill_header(&h, error);
		write_header(raw, &h);
		close(raw);
	}
	if (folder >= 0)
		close(folder);
}
