/* SPDX-License-Identifier: Apache-2.0 */
/* See unseen.h. */
#include "base/unseen.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static const struct {
	const char *file, *text;
} reasons[UNSEEN_REASONS] = {
	[UNSEEN_OPENCL] =
		{".unseen-opencl",
		 "a library with OpenCL's functions was loaded, such as a driver, but not through a loader "
		 "that Kymo can enter: the loader is linked into the program (statically), or knows no layers"},
	[UNSEEN_OMPT] = {".unseen-ompt", "an OpenMP runtime was loaded whose only place for a tool "
					 "(OMPT) another tool has"},
	[UNSEEN_PRELOAD] =
		{".unseen-preload",
		 "the command sets LD_PRELOAD for processes that it starts, which replaces "
		 "Kymo's: start them with \"kymo run\" inside, or append to $LD_PRELOAD"},
};

void unseen_tell(const char *trace, enum unseen reason)
{
	int folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = -1;

	if (folder >= 0)
		fd = openat(folder, reasons[reason].file,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
}

const char *unseen_told(const char *trace, enum unseen reason)
{
	int folder = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool there;

	if (folder < 0)
		return NULL;
	there = faccessat(folder, reasons[reason].file, F_OK, 0) == 0;
	close(folder);
	return there ? reasons[reason].text : NULL;
}
