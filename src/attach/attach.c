/* SPDX-License-Identifier: Apache-2.0 */
/* See attach.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "attach/parts.h"
#include "attach/stub.h"
#include "base/clock.h"

enum {
	LOOK_ANEW = 50, /* at what the process has loaded, after so many tries */
	TRIES = 2000,   /* of stopping a thread at a place that will do */
	THREADS = 64,   /* that are looked at */
	PAGE = 4096,
	STACK = 65536,  /* for pthread_create() */
	LOAD_MS = 20000 /* the thread waits for locks like any other */
};

static void nap(void)
{
	const struct timespec t = {0, 1000000};

	nanosleep(&t, NULL);
}

/* ---- which thread ---------------------------------------------------------------------------- */

/* System calls that end with EINTR when their thread is stopped, whatever the program asked for; signal(7). */
static const struct ending {
	long number;
	const char *name;
} endings[] = {{SYS_epoll_wait, "epoll_wait"},
	       {SYS_epoll_pwait, "epoll_pwait"},
	       {SYS_semop, "semop"},
	       {SYS_semtimedop, "semtimedop"},
	       {SYS_io_getevents, "io_getevents"},
	       {SYS_rt_sigtimedwait, "sigtimedwait"},
	       {SYS_read, ""}};

static const char *ends_early(int pid, int tid)
{
	char path[64], text[64] = "";
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; endings[i].name[0]; i++)
		if (text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) == endings[i].number)
			return endings[i].name;
	return NULL;
}

static unsigned list_threads(int pid, int *out)
{
	char path[32];
	unsigned n = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && n < THREADS && (e = readdir(d)))
		if (e->d_name[0] != '.')
			out[n++] = atoi(e->d_name);
	if (d)
		closedir(d);
	return n;
}

/* The next one in turn; at first none that would notice, if there is another. 0: there are none. */
static int choose(int pid, unsigned turn)
{
	int threads[THREADS];
	unsigned n = list_threads(pid, threads);

	for (unsigned i = 0; i < n && turn < TRIES / 2; i++) {
		int tid = threads[(turn + i) % n];

		if (!ends_early(pid, tid))
			return tid;
	}
	return n ? threads[turn % n] : 0;
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void refuse_stop(int pid, int error, struct text *why)
{
	char scope[8] = "";
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, scope, 1) : -1;

	if (fd >= 0)
		close(fd);
	if (error == EPERM && n == 1 && scope[0] != '0')
		text_addf(why,
			  "the system lets nobody trace what they have not started "
			  "(kernel.yama.ptrace_scope is %s): "
			  "\"sysctl kernel.yama.ptrace_scope=0\", as the superuser, or start it "
			  "with \"kymo run\"",
			  scope);
	else if (error == EPERM)
		text_add(why, "the system does not allow that it is traced: it has no dump of "
			      "itself made, or the rules of "
			      "a container or of the site forbid it");
	else if (error == ESRCH)
		text_add(why, "it has ended");
	else
		text_addf(why, "it cannot be stopped: %s", strerror(error));
}

/* A thread that is stopped where it may be led elsewhere. */
static bool stop_somewhere(const struct attach_target *target, struct tracee *t,
			   struct attach_report *r, struct text *why)
{
	struct safe *s = NULL;
	char where[128] = "";
	int error = 0, pid = target->pid;
	bool safe = false;

	for (unsigned turn = 0; turn < TRIES && !safe; turn++) {
		int tid = choose(pid, turn);
		const char *call = tid ? ends_early(pid, tid) : NULL;

		if (turn % LOOK_ANEW == 0) { /* it may have loaded something since */
			safe_close(s);
			s = safe_open(target);
		}
		if (!tid || !s)
			break;
		r->stopped_ns = clock_ns(CLOCK_MONOTONIC);
		if (!tracee_stop(t, target, tid)) {
			error = errno;
			if (error == EPERM)
				break;
			continue;
		}
		safe = safe_here(s, tid, where, sizeof(where));
		if (safe) {
			r->thread = tid;
			snprintf(r->call, sizeof(r->call), "%s", call ? call : "");
		} else {
			tracee_go(t, 0);
			nap();
		}
	}
	safe_close(s);
	if (safe)
		return true;
	if (where[0])
		text_addf(why,
			  "none of its threads was found at a place where Kymo could come in; the "
			  "last was in %s: try "
			  "again",
			  where);
	else
		refuse_stop(pid, error ? error : ESRCH, why);
	return false;
}

/* ---- the pages ------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct attach_request *r)
{
	return (PAGE + sizeof(struct attach_page) + r->bytes + STACK + PAGE - 1) &
	       ~(uint64_t)(PAGE - 1);
}

/* The first for code, the others to be written to. 0: *error. */
static uint64_t map_pages(struct tracee *t, uint64_t bytes, int *error)
{
	const uint64_t map[] = {
		0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0};
	int64_t at = tracee_call(t, SYS_mmap, map, 6), status = 0;

	if (at > 0) {
		const uint64_t protect[] = {(uint64_t)at, PAGE, PROT_READ | PROT_EXEC};

		status = tracee_write(t, (uint64_t)at, stub_code,
				      (size_t)((uintptr_t)stub_end - (uintptr_t)stub_code))
				 ? tracee_call(t, SYS_mprotect, protect, 3)
				 : -EIO;
	}
	*error = at <= 0 ? (int)-at : (int)-status;
	return at > 0 && status == 0 ? (uint64_t)at : 0;
}

/* What stub.S knows of the page. */
#define KNOWN(member, offset) _Static_assert(offsetof(struct attach_page, member) == (offset), "")
KNOWN(state, STUB_STATE);
KNOWN(created, STUB_CREATED);
KNOWN(status, STUB_STATUS);
KNOWN(pthread_create, STUB_CREATE);
KNOWN(dlopen, STUB_OPEN);
KNOWN(dlsym, STUB_SYMBOL);
KNOWN(dlerror, STUB_WHY);
KNOWN(thread, STUB_THREAD);
KNOWN(stub, STUB_STUB);
KNOWN(begin, STUB_BEGIN);
KNOWN(kymo, STUB_KYMO);
KNOWN(library, STUB_LIBRARY);
KNOWN(error, STUB_ERROR);
KNOWN(back, STUB_BACK);
_Static_assert(STUB_ERROR + sizeof(((struct attach_page *)0)->error) == STUB_LAST + 1, "");
_Static_assert(ATTACH_RUNS == 1 && ATTACH_BEGUN == 2 && ATTACH_FAILED == 3, "");
_Static_assert(STUB_CALL == 39 && STUB_SIGN == 0x4b594d4f, "");

static bool fill_pages(const struct tracee *t, const struct attach_target *target,
		       const struct attach_request *r, uint64_t at)
{
	struct attach_page *p = calloc(1, sizeof(*p));
	uint64_t to = at + PAGE;
	bool ok;

	if (!p)
		return false;
	p->pthread_create = target->functions[0];
	p->dlopen = target->functions[1];
	p->dlsym = target->functions[2];
	p->dlerror = target->functions[3];
	p->stub = at + (uint64_t)((uintptr_t)stub_thread - (uintptr_t)stub_code);
	p->back = t->back;
	snprintf(p->begin, sizeof(p->begin), ATTACH_BEGIN);
	snprintf(p->kymo, sizeof(p->kymo), "%s", r->kymo);
	snprintf(p->library, sizeof(p->library), "%s", r->library);
	p->magic = ATTACH_MAGIC;
	p->version = ATTACH_VERSION;
	p->words = r->bytes;
	p->pages = at;
	p->bytes = bytes_of(r);
	ok = tracee_write(t, to, p, sizeof(*p)) &&
	     tracee_write(t, to + sizeof(*p), r->words, r->bytes);
	free(p);
	return ok;
}

static bool read_page(int pid, uint64_t at, struct attach_page *p)
{
	struct iovec here = {p, sizeof(*p)}, there = {(void *)(uintptr_t)at, sizeof(*p)};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof(*p);
}

static void say_seen(int pid, uint64_t at)
{
	uint32_t one = 1;
	struct iovec here = {&one, sizeof(one)},
		     there = {(char *)(uintptr_t)at + offsetof(struct attach_page, seen),
			      sizeof(one)};

	process_vm_writev(pid, &here, 1, &there, 1, 0);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* A stopped thread that has its way back and blocks its signals. */
static bool lead_somebody(const struct attach_target *target, struct tracee *t,
			  struct attach_report *report, struct text *why)
{
	for (int i = 0; i < TRIES; i++) {
		int signal;

		if (!stop_somewhere(target, t, report, why))
			return false;
		if (tracee_lead(t, &signal))
			return true;
		tracee_go(t, signal);
		nap();
	}
	text_add(why,
		 "none of its threads has room on its stack, or time between signals, for Kymo to "
		 "come in: try again");
	return false;
}

/* The thread that the other makes; *page: where it looks. */
static bool make_thread(const struct attach_target *target, const struct attach_request *r,
			struct attach_report *report, uint64_t *page, struct text *why)
{
	static struct tracee t;
	uint64_t at, bytes = bytes_of(r);
	bool ran = false;
	int error = 0;

	if (!lead_somebody(target, &t, report, why))
		return false;
	at = map_pages(&t, bytes, &error);
	if (at && fill_pages(&t, target, r, at))
		ran = tracee_run(&t, at, at + bytes, at + PAGE);
	tracee_go(&t, 0);
	report->stopped_ns = clock_ns(CLOCK_MONOTONIC) - report->stopped_ns;
	if (!at)
		text_addf(why, "it has no memory for what Kymo needs to come in: %s",
			  strerror(error));
	else if (!ran)
		text_add(why, "it could not make a thread; it goes on as it was");
	*page = at + PAGE;
	return ran;
}

static bool await_begun(int pid, uint64_t at, struct attach_page *p, struct text *why)
{
	for (int i = 0; i < LOAD_MS; i++) {
		if (!read_page(pid, at, p)) {
			text_add(why, "it ended while Kymo came in");
			return false;
		}
		if (p->created) {
			text_addf(why, "it could not make a thread: %s", strerror(p->created));
			return false;
		}
		if (atomic_load(&p->state) >= ATTACH_BEGUN)
			return true;
		nap();
	}
	text_addf(why,
		  "its dynamic linker or its allocator was busy for %d seconds; Kymo finds nobody "
		  "to record for "
		  "when it comes in later",
		  LOAD_MS / 1000);
	return false;
}

bool attach_put(const struct attach_target *target, const struct attach_request *r,
		struct attach_report *report, struct text *why)
{
	struct attach_page *p = malloc(sizeof(*p));
	uint64_t at = 0;
	bool ok;

	*report = (struct attach_report){.moment = 0};
	ok = p && make_thread(target, r, report, &at, why) && await_begun(target->pid, at, p, why);
	if (ok && p->state == ATTACH_FAILED) {
		text_addf(why, "Kymo's library could not be loaded there: %.*s", ATTACH_ERROR - 1,
			  p->error);
		ok = false;
	} else if (ok && p->status != 0) {
		text_addf(why, "Kymo could not begin there (status %d)", p->status);
		ok = false;
	}
	if (ok) {
		report->moment = p->moment;
		text_addf(&report->late, "%.*s", ATTACH_LATE - 1, p->late);
	}
	if (at)
		say_seen(target->pid, at);
	free(p);
	return ok;
}
