/* SPDX-License-Identifier: Apache-2.0 */
/* What is removed when a signal ends the process; see temporary.h. */
#include "base/temporary.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	volatile sig_atomic_t used;
	char path[PATH_MAX];
} entries[16];

/* What getdents64(2) writes. readdir() takes memory, which a signal handler cannot. */
struct entry64 {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

static void empty_folder(int fd)
{
	_Alignas(struct entry64) char block[2048];
	long n;

	while ((n = syscall(SYS_getdents64, fd, block, sizeof(block))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry64 *e = (const void *)(block + at);

			unlinkat(fd, e->name, 0);
			at += e->size;
		}
	}
}

static void remove_now(const char *path)
{
	int fd;

	if (unlink(path) == 0)
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	empty_folder(fd);
	close(fd);
	rmdir(path);
}

static void on_end(int sig)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].used)
			remove_now(entries[i].path);
	raise(sig); /* the handler is reset */
}

static void watch_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction a = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND}, was;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(ends[i], &a, NULL);
}

void temporary_add(const char *path)
{
	size_t i = 0;

	while (i < sizeof(entries) / sizeof(entries[0]) && entries[i].used)
		i++;
	if (i == sizeof(entries) / sizeof(entries[0]) || strlen(path) >= sizeof(entries[i].path))
		return;
	watch_signals();
	snprintf(entries[i].path, sizeof(entries[i].path), "%s", path);
	atomic_signal_fence(memory_order_release);
	entries[i].used = 1;
}

void temporary_done(const char *path)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].used && strcmp(entries[i].path, path) == 0)
			entries[i].used = 0;
}
