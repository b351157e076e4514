/* SPDX-License-Identifier: Apache-2.0 */
/* See refused.h. */
#include "drain/refused.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/job.h"
#include "drain/rawfile.h"

enum { SPARE = 3 }; /* a connection, a folder or what came with the first, a file */

static int spare[SPARE] = {-1, -1, -1};

void refused_begin(void)
{
	for (int i = 0; i < SPARE; i++) {
		if (spare[i] >= 0)
			close(spare[i]);
		spare[i] = -1;
	}
}

bool refused_end(void)
{
	bool all = true;

	for (int i = 0; i < SPARE; i++) {
		if (spare[i] < 0)
			spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		all &= spare[i] >= 0;
	}
	return all;
}

bool refused_write(const char *trace, int pid, int error)
{
	struct raw_header h = {.magic = RAW_MAGIC,
			       .version = RAW_VERSION,
			       .header_size = sizeof(h),
			       .pid = (uint32_t)pid,
			       .wire_version = WIRE_VERSION,
			       .created_realtime = clock_ns(CLOCK_REALTIME)};
	struct raw_end end = {.how = RAW_END_REFUSED, .status = error, .tick = tick_now()};
	struct rawfile f;
	struct job job;
	bool ok;

	gethostname((char *)h.hostname, sizeof(h.hostname) - 1);
	job_of_process(&job, pid);
	memcpy(h.job, job.world, sizeof(h.job));
	h.rank = job.rank;
	if (!rawfile_create(&f, trace, &h))
		return false;
	rawfile_add(&f, RAW_END, &end, sizeof(end));
	ok = rawfile_flush(&f);
	rawfile_close(&f);
	return ok;
}
