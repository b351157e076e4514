/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded, makes a process slow to say who it is: the first two messages with a descriptor, which
 * are Kymo's greetings, go out LATE_MS milliseconds later, as on a machine that is busy. With LATE_BEGIN the
 * greetings are not late, but what Kymo does at the first annotation (which enlarges what is shared):
 * LATE_MS later, or once four other threads have come and gone.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

static unsigned count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Threads are four, the main one, and those that have been started for them. */
static void await_threads(void)
{
	const struct timespec step = {0, 20000000};
	unsigned most = 0, now;

	do {
		nanosleep(&step, NULL);
		now = count_threads();
		most = now > most ? now : most;
	} while (most < now + 3);
}

static void be_late(bool begins)
{
	const char *set = getenv("LATE_MS");
	const long ms = set ? atol(set) : 0;
	const struct timespec late = {ms / 1000, ms % 1000 * 1000000};

	if (begins != (getenv("LATE_BEGIN") != NULL))
		return;
	if (begins && !set)
		await_threads();
	nanosleep(&late, NULL);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	static _Atomic int before;
	void *symbol = dlsym(RTLD_NEXT, "sendmsg");
	ssize_t (*next)(int, const struct msghdr *, int);

	memcpy(&next, &symbol, sizeof(next));
	if (m->msg_controllen && before++ < 2)
		be_late(false);
	return next(fd, m, flags);
}

void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	static _Atomic int before;
	void *symbol = dlsym(RTLD_NEXT, "mremap");
	void *(*next)(void *, size_t, size_t, int, ...);

	memcpy(&next, &symbol, sizeof(next));
	if (before++ == 0)
		be_late(true);
	return next(old, old_bytes, bytes, flags);
}
