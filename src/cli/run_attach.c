/* SPDX-License-Identifier: Apache-2.0 */
/* See run_attach.h. */
#include "cli/run_attach.h"

#include "cli/cli.h"
#ifdef KYMO_HAVE_ATTACH
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/attach.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

/* One copy for each attach: what was loaded once is not loaded again, and a recorder records once. */
static int copy_library(const char *path)
{
	size_t bytes;
	char *data = file_read(path, &bytes);
	int fd = data ? memfd_create("libkymo-attach.so", MFD_CLOEXEC) : -1;

	if (fd >= 0 && file_write_all(fd, data, bytes) != bytes) {
		close(fd);
		fd = -1;
	}
	free(data);
	return fd;
}

static bool pack_words(char *const *words, struct text *out)
{
	for (; *words; words++)
		text_add_bytes(out, *words, strlen(*words) + 1);
	text_add_bytes(out, "", 1);
	return !out->failed;
}

/* Numbers of descriptors are used again; a name that the process has loaded before is not. */
static int fresh_number(int fd)
{
	int least = 100 + (int)(clock_ns(CLOCK_MONOTONIC) / 1000 % 800);
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, least);

	if (moved < 0)
		return fd;
	close(fd);
	return moved;
}

static bool put(const struct attach_job *job, struct attach_report *report, struct text *why)
{
	char kymo[PATH_MAX], path[PATH_MAX], library[64];
	struct attach_request r = {.kymo = kymo, .library = library};
	struct text words = {0};
	bool ok;
	int fd;

	snprintf(kymo, sizeof(kymo), "%.*s/libkymo.so.1", PATH_MAX - 40, cli_libdir());
	snprintf(path, sizeof(path), "%.*s/libkymo-attach.so", PATH_MAX - 40, cli_libdir());
	if (strlen(kymo) >= 256) {
		text_addf(why, "the path \"%s\" is too long", kymo);
		return false;
	}
	fd = copy_library(path);
	if (fd < 0) {
		text_addf(why, "\"%s\": %s", path, strerror(errno));
		return false;
	}
	fd = fresh_number(fd);
	snprintf(library, sizeof(library), "/proc/%d/fd/%d", (int)getpid(), fd);
	text_addf(&words, "KYMO_ATTACHED_BY=%d", (int)getpid());
	text_add_bytes(&words, "", 1);
	text_addf(&words, "KYMO_ATTACHED_COPY=%s", library);
	text_add_bytes(&words, "", 1);
	text_addf(&words, "KYMO_ATTACHED_LIBRARY=%s", path);
	text_add_bytes(&words, "", 1);
	ok = pack_words(job->words, &words);
	r.words = words.s;
	r.bytes = (uint32_t)words.length;
	ok = ok && attach_put(job->target, &r, report, why);
	text_release(&words);
	close(fd);
	return ok;
}

static void say_late(struct attach_report *r)
{
	char *save = NULL;

	for (char *line = r->late.s ? strtok_r(r->late.s, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		cli_note("not seen, for it was there before: %s", line);
	text_release(&r->late);
}

/* When what is recorded begins, as the clock on the wall shows it. */
static void say_begun(const struct attach_target *t, const struct attach_report *r)
{
	uint64_t ago = clock_ns(CLOCK_MONOTONIC) - r->moment, at = clock_ns(CLOCK_REALTIME) - ago;
	time_t seconds = (time_t)(at / 1000000000u);
	char text[32], early[160] = "";
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	if (r->call[0])
		snprintf(early, sizeof(early), "; its %s() may have returned EINTR", r->call);
	cli_note("process %d is recorded since %s.%03u; its thread %d was stopped for %.1f ms%s. "
		 "Ctrl-C ends the "
		 "recording, not the process",
		 t->pid, text, (unsigned)(at / 1000000 % 1000), r->thread,
		 (double)r->stopped_ns / 1e6, early);
}

static bool is_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

/* How long, in ms; -1: until a signal or the end. */
static int wait_ms(const struct run_options *o, uint64_t begun)
{
	uint64_t all = o->duration_ns ? o->delay_ns + o->duration_ns : 0,
		 gone = clock_ns(CLOCK_MONOTONIC) - begun;

	if (!all)
		return -1;
	return gone >= all ? 0
			   : (int)((all - gone) / 1000000 < 3600000 ? (all - gone) / 1000000 + 1
								    : 3600000);
}

static void wait_for_end(const struct attach_job *job, int signals, uint64_t begun)
{
	int process = (int)syscall(SYS_pidfd_open, job->target->pid, 0);
	struct pollfd p[2] = {{signals, POLLIN, 0}, {process, POLLIN, 0}};
	bool over = process < 0;

	while (!over) {
		struct signalfd_siginfo info;
		int ms = wait_ms(job->options, begun);

		over = ms == 0 || (poll(p, 2, ms) >= 0 && p[1].revents);
		while (!over && p[0].revents &&
		       read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			over = is_end((int)info.ssi_signo);
	}
	if (process >= 0)
		close(process);
}

int attach_job_do(void *data)
{
	const struct attach_job *job = data;
	struct attach_report report;
	struct text why = {0};
	sigset_t ends;
	int signals;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&ends);
	for (int s = 1; s < 32; s++)
		if (is_end(s))
			sigaddset(&ends, s);
	sigprocmask(SIG_BLOCK, &ends, NULL); /* not while a thread is led elsewhere */
	signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (!put(job, &report, &why)) {
		cli_error("process %d cannot be attached to: %s", job->target->pid,
			  why.s ? why.s : strerror(ENOMEM));
		text_release(&why);
		return CLI_FAILURE;
	}
	say_begun(job->target, &report);
	say_late(&report);
	wait_for_end(job, signals, clock_ns(CLOCK_MONOTONIC));
	return CLI_OK;
}
#else
int attach_job_do(void *data)
{
	return CLI_FAILURE;
}
#endif
