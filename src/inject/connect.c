/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connection to the drain. Where no launcher has left one, an orphan is started (base/orphan.h).
 */
#include "inject/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/orphan.h"
#include "base/peer.h"
#include "base/variables.h"
#include "inject/unrecorded.h"
#include "wire/shm.h"

#define TIMEOUT_MS 2000

/* Tells what exec() has put in the place of a process from what was there before. */
static uint64_t process_image_id(void)
{
	static _Atomic uint64_t first;
	uint64_t none = 0;

	atomic_compare_exchange_strong(&first, &none, clock_ns(CLOCK_MONOTONIC));
	return atomic_load(&first);
}

static bool send_hello(int fd, int memfd, uint64_t bytes, bool early)
{
	struct shm_hello hello = {SHM_MAGIC, SHM_VERSION,        (uint32_t)getpid(),
				  bytes,     process_image_id(), early};
	const struct iovec part = {&hello, sizeof(hello)};

	return peer_send(fd, &part, 1, memfd);
}

/* Refused: by the drain, which has counted us as lost. Unheard: it has hung up. Else errno tells. */
enum answer { LET_IN, REFUSED, UNHEARD, FAILED };

static enum answer await_welcome(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct shm_welcome w = {0};
	ssize_t got;
	int n;

	do {
		n = poll(&p, 1, TIMEOUT_MS);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		errno = ETIMEDOUT;
	if (n != 1)
		return FAILED;
	got = recv(fd, &w, sizeof(w), 0);
	if (got == 0 || (got < 0 && (errno == ECONNRESET || errno == EPIPE)))
		return UNHEARD;
	if (got != (ssize_t)sizeof(w) || w.magic != SHM_MAGIC) {
		errno = EPROTO;
		return FAILED;
	}
	return w.version == SHM_VERSION && w.status == KYMO_OK ? LET_IN : REFUSED;
}

static enum answer request_ring(int fd, int memfd, uint64_t bytes)
{
	if (send_hello(fd, memfd, bytes, false))
		return await_welcome(fd);
	return errno == EPIPE || errno == ECONNRESET ? UNHEARD : FAILED;
}

/* ---- an orphan drain ---- */

static void trace_path(char *out, size_t size)
{
	const char *set = variable("KYMO_TRACE");
	char now[32];
	time_t t = time(NULL);
	struct tm tm;

	if (set && *set) {
		snprintf(out, size, "%s", set);
		return;
	}
	localtime_r(&t, &tm);
	strftime(now, sizeof(now), "%Y%m%d-%H%M%S", &tm);
	snprintf(out, size, "%s-%s-%d.kymo", program_invocation_short_name, now, (int)getpid());
}

/* Where the drain listens: it says so once it does. */
static bool read_place(int fd, char *out, size_t size)
{
	struct pollfd p = {fd, POLLIN, 0};
	ssize_t got;
	int n;

	do {
		n = poll(&p, 1, TIMEOUT_MS);
	} while (n < 0 && errno == EINTR);
	got = n == 1 ? read(fd, out, size) : -1;
	return got > 1 && out[got - 1] == '\0';
}

/* One thread at a time, which may have a small stack. */
static int start_orphan(void)
{
	static char kymo[PATH_MAX], trace[PATH_MAX];
	char fd_text[] = "3", place[128];
	char *argv[] = {"kymo", "drain", "--orphan", "--trace", trace, "--ready-fd", fd_text, NULL};
	int pipes[2];
	bool ready;

	if (!orphan_kymo(kymo, sizeof(kymo)) || pipe2(pipes, O_CLOEXEC) != 0)
		return -1;
	trace_path(trace, sizeof(trace));
	/* Not even an error of the drain may appear in the program's streams. */
	ready = orphan_start(kymo, argv, (const int[ORPHAN_FDS]){-1, -1, -1, pipes[1]}, 0);
	close(pipes[1]);
	ready = ready && read_place(pipes[0], place, sizeof(place));
	close(pipes[0]);
	return ready ? peer_connect(place, false, TIMEOUT_MS) : -1;
}

static int to_drain(int wait_ms)
{
	const char *path = variable("KYMO_DRAIN");

	return path && *path ? peer_connect(path, false, wait_ms) : -1;
}

/* The drain knows that it has turned this process away. */
static bool counted;

kymo_status_t connect_share(int memfd, uint64_t bytes, void *data)
{
	const uint64_t limit = clock_ns(CLOCK_MONOTONIC) + TIMEOUT_MS * 1000000ull;
	int fd = to_drain(TIMEOUT_MS), error = errno;
	enum answer answer;

	counted = false;
	if (fd < 0)
		fd = start_orphan();
	if (fd < 0) {
		errno = error;
		return KYMO_ERROR_SYSTEM;
	}
	answer = request_ring(fd, memfd, bytes);
	error = answer == UNHEARD ? ECONNRESET : errno;
	close(fd);
	/*
	 * A drain without room waits but a moment for who it is that it turns away. On a busy machine that
	 * may be over before the greeting is sent: it is to hear of us all the same, to count us as lost.
	 */
	while (answer == UNHEARD && clock_ns(CLOCK_MONOTONIC) < limit) {
		fd = to_drain(0);
		if (fd < 0)
			break;
		answer = request_ring(fd, memfd, bytes);
		close(fd);
	}
	counted = answer == REFUSED;
	errno = error;
	return answer == LET_IN ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

/* That there is nothing to share, as where no file may grow. Nothing is written for it. */
static bool tell_drain(int error)
{
	const struct shm_hello hello = {SHM_MAGIC,       SHM_VERSION,        (uint32_t)getpid(),
					(uint64_t)error, process_image_id(), 0};
	int fd = to_drain(TIMEOUT_MS);
	bool told = fd >= 0 && peer_say(fd, &hello, sizeof(hello), 0) == sizeof(hello) &&
		    await_welcome(fd) == REFUSED;

	if (fd >= 0)
		close(fd);
	return told;
}

void connect_unshared(int error, void *data)
{
	if (!counted && !tell_drain(error))
		unrecorded_tell(variable("KYMO_TRACE"), error);
}

/* Forked children cannot ask for it: the environment may just have been changing. */
static char drain[PATH_MAX];

bool connect_has_drain(void)
{
	const char *path = variable("KYMO_DRAIN");

	snprintf(drain, sizeof(drain), "%s", path ? path : "");
	return *drain;
}

kymo_steer_t connect_stands(void)
{
	const char *path = variable("KYMO_DRAIN");
	char link[160], text[16] = ""; /* addresses have 108 bytes at most */
	ssize_t n = -1;

	if (path && *path && strlen(path) + sizeof(SHM_STANDS) <= sizeof(link)) {
		snprintf(link, sizeof(link), "%s" SHM_STANDS, path);
		n = readlink(link, text, sizeof(text) - 1);
	}
	return n > 0 ? (kymo_steer_t)atoi(text) : 0;
}

kymo_status_t connect_share_early(int memfd, uint64_t bytes, void *data)
{
	int fd = peer_connect(drain, false, 0);
	bool ok = fd >= 0 && send_hello(fd, memfd, bytes, true);

	if (fd >= 0)
		close(fd);
	return ok ? KYMO_OK : KYMO_ERROR_SYSTEM;
}
