/* SPDX-License-Identifier: Apache-2.0 */
/* Counting agents: windows of time, which a thread of Kymo's ends at intervals or a tool when it likes. */
#include "base/futex.h"
#include "core/counter/counter.h"
#include "core/process/life.h"
#include "core/ring/ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/sample.h>

struct counter_window {
	struct core_counter_service *service;
	pthread_mutex_t lock; /* one reading at a time */
	_Atomic uint32_t stop;
	bool threaded;
	pthread_t thread;
	uint64_t interval_ns;
	uint64_t begin; /* ns */
	double *from, *to, *scratch;
};

enum { STOP_NOT, STOP_JOINED, STOP_ALONE };

/* Reads into `out`; the lock keeps readings of several threads apart. */
static bool window_read(struct counter_window *w, struct counter_event *e, double *out)
{
	struct core_counter_service *s = w->service;
	double *swap;
	bool ok;

	pthread_mutex_lock(&w->lock);
	ok = sessions_read(&s->sessions, s->set, w->to);
	if (ok) {
		e->start = w->begin;
		e->end = w->begin = clock_ns(CLOCK_MONOTONIC_RAW);
		counter_set_difference(s->set, w->from, w->to, w->scratch, out);
		swap = w->from;
		w->from = w->to;
		w->to = swap;
	}
	pthread_mutex_unlock(&w->lock);
	return ok;
}

bool counter_window_end(struct core_counter_service *s)
{
	struct counter_event e = {.op = KYMO_COUNTER_OP_SAMPLE, .agent = s->set->parts[0].agent};
	struct counter_window *w = s->window;
	double *out = w ? malloc(s->set->outputs * sizeof(*out)) : NULL;
	bool ok = out && window_read(w, &e, out);

	if (ok)
		counter_deliver(s, &e, out);
	free(out);
	return ok;
}

static void window_free(struct counter_window *w)
{
	pthread_mutex_destroy(&w->lock);
	free(w->from < w->to ? w->from : w->to); /* they change places */
	free(w);
}

/*
 * A callback may stop the context that calls it: then nobody waits for this thread, and its service
 * may be another's when the callback comes back.
 */
static void run(void *arg)
{
	struct counter_window *w = arg;
	struct core_counter_service *s = w->service;

	kymo_sample_thread(false);
	for (;;) {
		core_life_count();
		futex_wait(&w->stop, 0, w->interval_ns);
		if (atomic_load(&w->stop))
			break;
		if (!counter_window_end(s)) {
			cap_note(2, "counter", "windows of the set \"%s\" end: it cannot be read",
				 s->set->name);
			break;
		}
	}
	if (atomic_load(&w->stop) == STOP_ALONE)
		window_free(w);
}

static bool start_thread(struct counter_window *w)
{
	if (!w->service->interval_ns)
		return true;
	w->threaded = core_helper_start("counter", run, w, &w->thread);
	return w->threaded;
}

static struct counter_window *window_new(struct core_counter_service *s)
{
	struct counter_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->from = calloc(3u * s->set->inputs, sizeof(double));
	if (!w->from) {
		free(w);
		return NULL;
	}
	w->to = w->from + s->set->inputs;
	w->scratch = w->to + s->set->inputs;
	w->service = s;
	w->interval_ns = s->interval_ns;
	pthread_mutex_init(&w->lock, NULL);
	return w;
}

static bool window_start(struct core_counter_service *s)
{
	struct counter_window *w = window_new(s);

	if (!w)
		return false;
	w->begin = clock_ns(CLOCK_MONOTONIC_RAW);
	if (sessions_read(&s->sessions, s->set, w->from)) {
		s->window = w;
		if (start_thread(w))
			return true;
		s->window = NULL;
	}
	window_free(w);
	return false;
}

void counter_window_start(struct core_counter_service *s)
{
	if (sessions_open(&s->sessions, s->set, s->mode, NULL) != KYMO_OK) {
		cap_note(2, "counter", "%s", kymo_counter_error());
		return;
	}
	if (!window_start(s)) {
		cap_note(2, "counter", "the counters of the set \"%s\" cannot be read",
			 s->set->name);
		sessions_close(&s->sessions, s->set);
	}
}

void counter_window_stop(struct core_counter_service *s)
{
	struct counter_window *w = s->window;

	if (w && w->threaded && pthread_equal(w->thread, pthread_self())) {
		s->window = NULL;
		pthread_detach(w->thread);
		atomic_store(&w->stop, STOP_ALONE);
	} else if (w) {
		atomic_store(&w->stop, STOP_JOINED);
		futex_wake(&w->stop, 1);
		if (w->threaded)
			pthread_join(w->thread, NULL);
		counter_window_end(s);
		s->window = NULL;
		window_free(w);
	}
	sessions_close(&s->sessions, s->set);
}
