/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: one thread reads the files of the system, one more each vendor's library, which may
 * take its time. Deadlines are absolute: a late reading is counted and does not shift those after
 * it. Of several launchers on a node the one that holds the lock samples; when it ends, the next.
 */
#include "telemetry/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "telemetry/meter.h"

enum { THREAD_STACK = 512 << 10 };

enum {
	SOURCES = 16,
	PROGRAMS_LINE = 12, /* a pid as it stands in the lock file */
	LOCK_RETRY_MS = 200,
	ALONE_MS = 1500, /* a library may take so long to end */
	STOP_MS = 2500
};

struct worker {
	struct telemetry *t;
	pthread_t thread;
	bool ended;
	const struct source *source; /* of a thread to itself */
	struct probe probes[SOURCES];
	unsigned probe_count;
};

struct telemetry {
	struct telemetry_options options;
	struct choice choice;
	struct meter meter;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* stop, or a worker's end */
	bool stop;
	uint64_t begin, end; /* of CLOCK_MONOTONIC; end: UINT64_MAX: with the program */
	int lock_file;
	int error;
	struct worker host;
	struct worker alone[SOURCES];
	unsigned alone_count;
	char trace[PATH_MAX], root[PATH_MAX];
};

/* ---- waiting -------------------------------------------------------------------------------- */

static void timespec_of(uint64_t ns, struct timespec *out)
{
	out->tv_sec = (time_t)(ns / SECOND);
	out->tv_nsec = (long)(ns % SECOND);
}

/* Until `deadline` of CLOCK_MONOTONIC. True: it is time to stop. */
static bool wait_until(struct telemetry *t, uint64_t deadline)
{
	struct timespec at;
	bool stop;

	timespec_of(deadline, &at);
	pthread_mutex_lock(&t->lock);
	while (!t->stop && pthread_cond_timedwait(&t->changed, &t->lock, &at) == 0)
		;
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return stop;
}

/* ---- one worker ----------------------------------------------------------------------------- */

/* The program may be bound to CPUs that it keeps busy: the sampler goes wherever there is room. */
static void become_sampler(void)
{
	unsigned long all[1024 / sizeof(unsigned long)];
	sigset_t every;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, NULL);
	prctl(PR_SET_NAME, "kymo-telemetry");
	memset(all, 0xff, sizeof(all));
	syscall(SYS_sched_setaffinity, 0, sizeof(all), all);
}

static uint64_t interval_of(const struct telemetry *t, const struct probe *p)
{
	return t->options.interval_ns > p->source->interval_ns ? t->options.interval_ns
							       : p->source->interval_ns;
}

static void add_probe(struct worker *w, const struct source *s)
{
	struct probe *p = &w->probes[w->probe_count];

	if (w->probe_count == SOURCES || !choice_source(&w->t->choice, s->name))
		return;
	if (probe_open(p, &w->t->meter, s) && w->t->choice.count && !p->shown) {
		probe_close(p); /* it has not the value that is wanted */
	} else if (p->state) {
		probe_read(p);
		p->next = clock_ns(CLOCK_MONOTONIC) + interval_of(w->t, p);
		w->probe_count++;
	}
}

/* Reads what is due; returns when the next is. */
static uint64_t read_due(struct worker *w)
{
	uint64_t next = clock_ns(CLOCK_MONOTONIC) + SECOND, now;

	for (unsigned i = 0; i < w->probe_count; i++) {
		struct probe *p = &w->probes[i];
		uint64_t step = interval_of(w->t, p);

		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= p->next) {
			probe_read(p);
			now = clock_ns(CLOCK_MONOTONIC);
			p->next += step;
			if (p->next <= now) { /* too late for some */
				uint64_t missed = (now - p->next) / step + 1;

				p->late += missed;
				p->next += missed * step;
			}
		}
		next = p->next < next ? p->next : next;
	}
	pthread_mutex_lock(&w->t->meter.lock);
	if (w->t->meter.output)
		tfile_flush(w->t->meter.output, false);
	pthread_mutex_unlock(&w->t->meter.lock);
	return next;
}

static void run_worker(struct worker *w)
{
	uint64_t next = clock_ns(CLOCK_MONOTONIC);

	do {
		next = read_due(w);
		next = next < w->t->end ? next : w->t->end;
	} while (!wait_until(w->t, next) && clock_ns(CLOCK_MONOTONIC) < w->t->end);
	for (unsigned i = 0; i < w->probe_count; i++)
		probe_read(&w->probes[i]);
}

static void worker_end(struct worker *w)
{
	pthread_mutex_lock(&w->t->lock);
	w->ended = true;
	pthread_cond_broadcast(&w->t->changed);
	pthread_mutex_unlock(&w->t->lock);
}

/* A vendor's library, from its loading to its end. */
static void *run_alone(void *data)
{
	struct worker *w = data;

	become_sampler();
	add_probe(w, w->source);
	if (w->probe_count)
		run_worker(w);
	worker_end(w);
	return NULL;
}

/* The program's limit of stacks may be small, and is that of threads that do not say how much they need. */
static int start_thread(pthread_t *thread, void *(*run)(void *), void *data)
{
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	error = pthread_create(thread, &attributes, run, data);
	pthread_attr_destroy(&attributes);
	return error;
}

static void start_alone(struct telemetry *t)
{
	for (uint32_t i = 0; telemetry_sources[i] && t->alone_count < SOURCES; i++) {
		struct worker *w = &t->alone[t->alone_count];

		if (!telemetry_sources[i]->alone)
			continue;
		w->t = t;
		w->source = telemetry_sources[i];
		t->alone_count += start_thread(&w->thread, run_alone, w) == 0;
	}
}

/* ---- the node's lock ------------------------------------------------------------------------ */

static void lock_open(struct telemetry *t)
{
	char host[64] = "", path[PATH_MAX + 128], line[32];
	int n;

	gethostname(host, sizeof(host) - 1);
	for (char *p = host; *p; p++)
		*p = *p == '/' || *p <= ' ' ? '_' : *p;
	snprintf(path, sizeof(path), "%s/raw/%.48s-telemetry.lock", t->trace, host);
	t->lock_file = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	n = snprintf(line, sizeof(line), "%-*d\n", PROGRAMS_LINE - 1, t->options.program);
	if (t->lock_file >= 0 && write(t->lock_file, line, (size_t)n) != n)
		t->error = errno;
}

/* Where files cannot be locked, every launcher samples: better twice than never. */
static bool lock_take(const struct telemetry *t)
{
	return t->lock_file < 0 || flock(t->lock_file, LOCK_EX | LOCK_NB) == 0 ||
	       errno != EWOULDBLOCK;
}

static unsigned traced_processes(void *data, int *pids, unsigned room)
{
	const struct telemetry *t = data;
	char line[PROGRAMS_LINE + 1] = "";
	unsigned n = 0;

	if (t->lock_file < 0 && room)
		pids[n++] = t->options.program;
	while (t->lock_file >= 0 && n < room &&
	       pread(t->lock_file, line, PROGRAMS_LINE, (off_t)n * PROGRAMS_LINE) ==
		       PROGRAMS_LINE) {
		pids[n] = atoi(line);
		n++;
	}
	return n;
}

/* ---- the host's worker, which sees to the others --------------------------------------------- */

static void note_work(struct telemetry *t)
{
	uint64_t readings = 0, ns = 0, late = 0;
	char text[200];

	for (unsigned i = 0; i <= t->alone_count; i++) {
		const struct worker *w = i ? &t->alone[i - 1] : &t->host;

		for (unsigned k = 0; k < w->probe_count; k++) {
			readings += w->probes[k].reads;
			ns += w->probes[k].read_ns;
			late += w->probes[k].late;
		}
	}
	snprintf(text, sizeof(text),
		 "%llu readings beside the program took %.1f ms; %llu were left "
		 "out because others took too long",
		 (unsigned long long)readings, (double)ns / 1e6, (unsigned long long)late);
	tfile_note(t->meter.output, NOTE_INFO, text, 1);
}

/* Waits for the libraries' threads, not for ever. */
static void await_alone(struct telemetry *t)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + ALONE_MS * MILLISECOND;
	struct timespec at;

	timespec_of(deadline, &at);
	for (unsigned i = 0; i < t->alone_count; i++) {
		struct worker *w = &t->alone[i];
		bool ended;

		pthread_mutex_lock(&t->lock);
		while (!w->ended && pthread_cond_timedwait(&t->changed, &t->lock, &at) == 0)
			;
		ended = w->ended;
		pthread_mutex_unlock(&t->lock);
		if (ended) {
			pthread_join(w->thread, NULL);
			probe_close(&w->probes[0]); /* which may never have been opened */
		} else {
			pthread_detach(w->thread);
			pthread_mutex_lock(&t->meter.lock);
			tfile_note(
				t->meter.output, NOTE_WARNING,
				"a vendor's library did not come back; its last values are missing",
				1);
			pthread_mutex_unlock(&t->meter.lock);
		}
	}
}

static void sample_all(struct telemetry *t)
{
	struct tfile *output = tfile_open(t->trace);

	if (!output) {
		t->error = errno;
		return;
	}
	t->meter.output = output;
	for (unsigned i = 0; telemetry_sources[i]; i++)
		if (!telemetry_sources[i]->alone)
			add_probe(&t->host, telemetry_sources[i]);
	start_alone(t);
	run_worker(&t->host);
	await_alone(t);
	pthread_mutex_lock(&t->meter.lock);
	meter_note_gaps(&t->meter);
	note_work(t);
	t->meter.output = NULL;
	pthread_mutex_unlock(&t->meter.lock);
	t->error = tfile_close(output, t->options.compress);
	for (unsigned i = 0; i < t->host.probe_count; i++)
		probe_close(&t->host.probes[i]);
}

static void *run_host(void *data)
{
	struct telemetry *t = data;
	bool stop = false;

	become_sampler();
	lock_open(t);
	while (!lock_take(t) && !stop)
		stop = wait_until(t, clock_ns(CLOCK_MONOTONIC) + LOCK_RETRY_MS * MILLISECOND);
	if (!stop && t->begin > clock_ns(CLOCK_MONOTONIC))
		stop = wait_until(t, t->begin);
	if (!stop && t->end > clock_ns(CLOCK_MONOTONIC))
		sample_all(t);
	else if (t->begin > clock_ns(CLOCK_MONOTONIC))
		t->error = ECANCELED;
	while (!stop && !wait_until(t, clock_ns(CLOCK_MONOTONIC) + SECOND))
		; /* its time may be over: none of the others is to go on */
	if (t->lock_file >= 0)
		close(t->lock_file);
	worker_end(&t->host);
	return NULL;
}

/* ---- life ----------------------------------------------------------------------------------- */

struct telemetry *telemetry_start(const struct telemetry_options *o)
{
	struct telemetry *t = calloc(1, sizeof(*t));
	pthread_condattr_t attributes;
	char error_text[200];
	int error;

	if (!t)
		return NULL;
	t->options = *o;
	t->begin = clock_ns(CLOCK_MONOTONIC) + o->delay_ns;
	t->end = o->duration_ns ? t->begin + o->duration_ns : UINT64_MAX;
	snprintf(t->trace, sizeof(t->trace), "%s", o->trace);
	snprintf(t->root, sizeof(t->root), "%s", o->root ? o->root : "");
	if (!choice_parse(&t->choice, o->only, error_text, sizeof(error_text))) {
		choice_release(&t->choice);
		free(t);
		errno = EINVAL;
		return NULL;
	}
	meter_init(&t->meter, t->root);
	t->meter.events = o->events; /* as long as the launcher */
	t->meter.choice = t->choice.count ? &t->choice : NULL;
	t->meter.programs = traced_processes;
	t->meter.programs_data = t;
	t->host.t = t;
	t->lock_file = -1;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	error = start_thread(&t->host.thread, run_host, t);
	if (!error)
		return t;
	meter_release(&t->meter);
	choice_release(&t->choice);
	free(t);
	errno = error;
	return NULL;
}

/* True: all threads are gone, so that nothing refers to it any more. */
static bool all_ended(const struct telemetry *t)
{
	for (unsigned i = 0; i < t->alone_count; i++)
		if (!t->alone[i].ended)
			return false;
	return true;
}

int telemetry_stop(struct telemetry *t)
{
	struct timespec at;
	bool ended, free_it;
	int error;

	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->changed);
	timespec_of(clock_ns(CLOCK_MONOTONIC) + STOP_MS * MILLISECOND, &at);
	while (!t->host.ended && pthread_cond_timedwait(&t->changed, &t->lock, &at) == 0)
		;
	ended = t->host.ended;
	error = ended ? t->error : ETIMEDOUT;
	free_it = ended && all_ended(t);
	pthread_mutex_unlock(&t->lock);
	if (!ended) {
		pthread_detach(t->host.thread); /* it is the kernel that does not answer */
		return error;
	}
	pthread_join(t->host.thread, NULL);
	if (!free_it)
		return error; /* a library's thread still refers to it, until the launcher ends */
	meter_release(&t->meter);
	choice_release(&t->choice);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return error;
}

/* ---- looking -------------------------------------------------------------------------------- */

const char *telemetry_root(void)
{
	const char *root = getenv("KYMO_TELEMETRY_ROOT");

	return root ? root : "";
}

static void tell_values(const struct probe *p, const struct telemetry_visitor *v)
{
	const struct meter *m = p->meter;

	for (uint32_t i = p->first; v->value && i && i <= p->last; i++) {
		const struct metric *k = m->metrics[i - 1];
		struct telemetry_value x = {
			.source = p->source->name,
			.device = k->info.device ? m->devices[k->info.device - 1].name : "",
			.number = k->number,
			.name = k->info.name,
			.unit = k->info.unit,
			.description = k->info.description,
			.instance = k->instance,
			.has_instance = k->info.dimensions != NULL,
			.known = k->values != 0,
			.per_second = k->per_second,
			.value = k->shown,
		};

		v->value(v->data, &x);
		if (k->gaps && v->missing) {
			char text[300];

			snprintf(text, sizeof(text), "%.100s %.60s: %s", x.device, x.name, k->why);
			v->missing(v->data, p->source->name, text, true);
		}
	}
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t;

	timespec_of(ns, &t);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

void telemetry_look(const char *root, const struct telemetry_visitor *visitor)
{
	for (unsigned i = 0; telemetry_sources[i]; i++) {
		const struct source *s = telemetry_sources[i];
		struct meter *m = malloc(sizeof(*m)); /* a fresh one: devices are told by source */
		struct probe p;

		if (!m)
			return;
		meter_init(m, root);
		m->visitor = visitor;
		m->programs = meter_own_program;
		if (probe_open(&p, m, s)) {
			probe_read(&p);
			sleep_ns(s->interval_ns > 500 * MILLISECOND ? 500 * MILLISECOND
								    : s->interval_ns);
			probe_read(&p);
			tell_values(&p, visitor);
			visitor->source(visitor->data, s->name, s->about,
					p.first ? p.last - p.first + 1 : 0, p.read_ns / p.reads);
			probe_close(&p);
		}
		meter_release(m);
		free(m);
	}
}
