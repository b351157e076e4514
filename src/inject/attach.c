/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-attach.so: `kymo attach` has it loaded into a program that runs already (wire/attach.h). Each attach
 * brings a copy of its own, which records once; libkymo.so.1 stays. A thread of Kymo's waits until the recording
 * is over, enters what the program loads meanwhile, and leaves the program as it was.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define KYMO_MARKER_LINKED
#include <kymo/marker.h>
#include <kymo/kymo.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/variables.h"
#include "core/process/brought.h"
#include "inject/connect.h"
#include "inject/inject.h"
#include "inject/late.h"
#include "recorder/recorder.h"
#include "wire/attach.h"

enum { LOOK_NS = 500000000, SEEN_MS = 10000 };

static _Atomic uint32_t over; /* futex word */
static struct attach_page *page;
static uint32_t entered; /* the thread that was put into the program, and loaded this library */

__attribute__((visibility("default"))) int32_t kymo_attach_begin(struct attach_page *p);

static void leave(void)
{
	atomic_store(&over, 1);
	futex_wake(&over, FUTEX_ALL);
}

/* The launcher looks at the pages from outside. Their thread must be gone before they are. */
static void let_pages_go(void)
{
	const struct timespec nap = {0, 1000000};
	pthread_t thread = (pthread_t)page->thread;

	for (int i = 0; i < SEEN_MS && !atomic_load(&page->seen); i++)
		nanosleep(&nap, NULL);
	pthread_join(thread, NULL);
	munmap((void *)(uintptr_t)page->pages, page->bytes);
	page = NULL;
}

/* Who recorded is gone, and perhaps the drain with it, or what listens to the drain. */
static bool nobody_records(void)
{
	const char *by = variable("KYMO_ATTACHED_BY");
	int saved = errno;
	bool gone = by && kill(atoi(by), 0) != 0 && errno == ESRCH;

	errno = saved;
	return gone;
}

static void serve(void *unused)
{
	let_pages_go();
	while (!atomic_load(&over) && !nobody_records()) {
		futex_wait(&over, 0, LOOK_NS);
		if (!atomic_load(&over)) /* samples of it are read later than it ends */
			kymo_attach_entered(entered);
		if (late_enter_more())
			kymo_attach_modules();
	}
	late_leave();
	kymo_attach_modules();
	recorder_stop();
	kymo_attach_entered(entered);
}

static const char *own_words(const struct attach_page *p)
{
	char *copy = malloc(p->words);

	return copy ? memcpy(copy, p->text, p->words) : NULL;
}

/* On the thread that has loaded this library. */
int32_t kymo_attach_begin(struct attach_page *p)
{
	static _Atomic bool begun;
	const char *words;
	kymo_status_t status;

	if (p->magic != ATTACH_MAGIC || p->version != ATTACH_VERSION)
		return KYMO_ERROR_INCOMPATIBLE;
	if (atomic_exchange(&begun, true))
		return KYMO_ERROR_EXISTS;
	words = own_words(p);
	if (!words)
		return KYMO_ERROR_NO_MEMORY;
	page = p;
	entered = kymo_attach_enter();
	variables_bring(words);
	kymo_variables_bring(words);
	status = inject_start(leave);
	if (status != KYMO_OK)
		return status;
	late_enter(p->late, sizeof(p->late));
	kymo_attach_modules();
	kymo_mark("kymo attach"); /* the recording begins with it: from here on it can be ended */
	p->moment = clock_ns(CLOCK_MONOTONIC);
	status = kymo_thread_start("attach", serve, NULL);
	return status;
}
