/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded, makes a process slow to say who it is: the first two messages with a descriptor, which
 * are Kymo's greetings, go out LATE_MS milliseconds later, as on a machine that is busy.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	static _Atomic int before;
	const char *set = getenv("LATE_MS");
	void *symbol = dlsym(RTLD_NEXT, "sendmsg");
	const long ms = set ? atol(set) : 0;
	const struct timespec late = {ms / 1000, ms % 1000 * 1000000};
	ssize_t (*next)(int, const struct msghdr *, int);

	memcpy(&next, &symbol, sizeof(next));
	if (m->msg_controllen && before++ < 2)
		nanosleep(&late, NULL);
	return next(fd, m, flags);
}
